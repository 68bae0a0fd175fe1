#include "readers/office_table.h"

#include <stdlib.h>

#include "core/mem.h"

#define MAX_CELL_BYTES 65536
#define MAX_COLUMN     16383
#define MAX_MERGES     20000

void office_table_init(struct office_table *table, size_t max_bytes)
{
    *table = (struct office_table){0};
    grid_init(&table->grid, max_bytes);
    buf_init(&table->cell, BUF_UNBOUNDED);
}

void office_table_finish(struct office_table *table)
{
    grid_finish(&table->grid);
    buf_finish(&table->cell);
    free(table->merges);
    *table = (struct office_table){0};
}

void office_table_row(struct office_table *table)
{
    table->row++;
    table->column = 0;
    buf_reset(&table->cell);
}

void office_table_text(struct office_table *table, struct str before, struct str text)
{
    if (!text.len || table->cell.len + before.len + text.len + 1 > MAX_CELL_BYTES)
        return;
    if (table->cell.len)
        buf_add_char(&table->cell, '\n');
    buf_add(&table->cell, before);
    buf_add(&table->cell, text);
}

size_t office_table_cell(struct office_table *table, uint32_t width, uint32_t height, uint32_t step)
{
    size_t merge = 0;
    if (table->column <= MAX_COLUMN) {
        grid_add(&table->grid, table->row, table->column, buf_str(&table->cell));
        if ((width > 1 || height > 1) && table->n_merges < MAX_MERGES) {
            table->merges = mem_grow(table->merges, table->n_merges, &table->merge_capacity, sizeof *table->merges);
            table->merges[table->n_merges++] =
                (struct grid_range){table->row, table->column, table->row + height - 1, table->column + width - 1};
            merge = table->n_merges;
        }
    }
    buf_reset(&table->cell);
    table->column = table->column > MAX_COLUMN ? table->column : table->column + step;
    return merge;
}

/* A table inside a cell becomes lines of it. */
static void flatten(struct office_table *inner, struct office_table *outer)
{
    struct buf line;
    buf_init(&line, BUF_UNBOUNDED);
    for (size_t i = 0; i < inner->grid.n_cells; i++) {
        const struct grid_cell *cell = &inner->grid.cells[i];
        if (i && cell->row != cell[-1].row) {
            office_table_text(outer, STR(""), buf_str(&line));
            buf_reset(&line);
        }
        if (line.len)
            buf_add_text(&line, "; ");
        append_line(&line, str_slice(buf_str(&inner->grid.text), cell->offset, cell->offset + cell->length));
    }
    office_table_text(outer, STR(""), buf_str(&line));
    buf_finish(&line);
}

void office_table_write(struct office_table *table, struct office_table *outer, struct writer *writer)
{
    if (outer) {
        flatten(table, outer);
        return;
    }
    grid_merge(&table->grid, table->merges, table->n_merges);
    grid_write(&table->grid, writer);
    writer->full = writer->full || table->grid.full;
}
