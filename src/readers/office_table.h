/* src/readers/office_table.h
 *
 * A table of a text document or a slide while its cells come in.
 */
#ifndef FATHOM_READERS_OFFICE_TABLE_H
#define FATHOM_READERS_OFFICE_TABLE_H

#include "readers/writer.h"

struct office_table {
    struct grid grid;
    struct buf cell;      /* text of the cell at hand, its paragraphs on lines */
    uint32_t row, column; /* row counts from 1 */
    struct grid_range *merges;
    size_t n_merges, merge_capacity;
};

void office_table_init(struct office_table *table, size_t max_bytes);
void office_table_finish(struct office_table *table);

void office_table_row(struct office_table *table);

/* Adds a paragraph to the cell at hand; a cell has room for 64 KB. */
void office_table_text(struct office_table *table, struct str before, struct str text);

/* Ends the cell at hand, which covers `width` columns and `height` rows, at the present column, and goes `step` columns
 * on. Returns the index of the merge that it made + 1, or 0. */
size_t office_table_cell(struct office_table *table, uint32_t width, uint32_t height, uint32_t step);

/* Writes the table, or, with `outer`, adds its rows as lines to the cell at hand there. */
void office_table_write(struct office_table *table, struct office_table *outer, struct writer *writer);

#endif
