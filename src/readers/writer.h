/* src/readers/writer.h
 *
 * Markdown from the events of an office file: blocks separated by blank lines, and tables that are collected sparsely
 * and written in one go. All output goes into a capped buffer; once that is full the rest is dropped and `full` says
 * so.
 */
#ifndef FATHOM_READERS_WRITER_H
#define FATHOM_READERS_WRITER_H

#include "core/buf.h"
#include "core/str.h"

struct writer {
    struct buf *out; /* borrowed */
    bool full;       /* something did not fit */
};

void writer_init(struct writer *writer, struct buf *out);

/* Raw Markdown, as it is. */
void writer_raw(struct writer *writer, struct str text);
void writer_rawf(struct writer *writer, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Ends the block at hand: what follows stands behind one blank line. */
void writer_break(struct writer *writer);

/* Ends the line at hand. */
void writer_line(struct writer *writer);

/* A heading of level 1 to 6 (others are brought into that range) on a line of its own. White space in `title`
 * collapses; an empty one writes nothing. */
void writer_heading(struct writer *writer, int level, struct str title);

/* A paragraph; line breaks in `text` stay. A mark that Markdown would take for that of a block is escaped. */
void writer_paragraph(struct writer *writer, struct str text);

/* One item of a list: `depth` from 0, `mark` like "-" or "3.". Lines behind the first are indented. */
void writer_item(struct writer *writer, int depth, struct str mark, struct str text);

/* Appends another document's Markdown, its headings lowered by `levels` (those in fenced code stay). */
void writer_document(struct writer *writer, struct str markdown, int levels);

/* Text as a fenced block, with a fence that the text does not hold. */
void writer_fence(struct writer *writer, struct str language, struct str text);

/* Where a walk through Markdown's lines stands: inside fenced code, or not (zeroed). */
struct fences {
    size_t length;
    char mark;
};

/* The level of the heading that the next line is; 0 for all other lines. */
int fences_heading(struct fences *fences, struct str line);

/* One line of text with white space collapsed and no line break. */
void append_line(struct buf *out, struct str text);

/* ---- tables ---- */

struct grid_cell {
    uint32_t row, column;
    size_t offset, length; /* in `text` */
};

/* Cells with a text, by row and column from 0. Those without one are not kept. */
struct grid {
    struct buf text;
    struct grid_cell *cells;
    size_t n_cells, capacity;
    size_t charge, max_charge; /* bytes that are held, and the most that may be */
    bool unordered;            /* a cell came before an earlier one */
    bool full;
};

void grid_init(struct grid *grid, size_t max_charge);
void grid_finish(struct grid *grid);
void grid_reset(struct grid *grid);

/* Keeps a cell; its text is copied. False once the grid is full. */
bool grid_add(struct grid *grid, uint32_t row, uint32_t column, struct str text);

/* Rows and columns, both ends included. */
struct grid_range {
    uint32_t row, column, last_row, last_column;
};

/* Merged cells: repeats the cell at the first corner of each range over the range's empty cells, in rows that hold
 * something and columns up to the last that does; across only where the row has other cells, so that a title over the
 * whole width stays one. At most 100,000 in all. Once, after all cells were added. */
void grid_merge(struct grid *grid, const struct grid_range *ranges, size_t n_ranges);

/* Writes what was collected as a table: columns and rows without any text are left out, leading rows with one cell in
 * a wider table become paragraphs, and one column alone becomes lines. */
void grid_write(struct grid *grid, struct writer *writer);

#endif
