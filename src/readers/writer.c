#include "readers/writer.h"

#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/utf8.h"

void writer_init(struct writer *writer, struct buf *out)
{
    *writer = (struct writer){.out = out};
}

void writer_raw(struct writer *writer, struct str text)
{
    if (writer->full || !text.len)
        return;
    if (buf_append_str(writer->out, text) == STATUS_OK)
        return;
    writer->full = true;
    size_t fits = utf8_floor(text, writer->out->cap - writer->out->len);
    if (buf_append_str(writer->out, str_slice(text, 0, fits)) != STATUS_OK)
        return;
}

void writer_rawf(struct writer *writer, const char *format, ...)
{
    struct buf text;
    buf_init(&text, BUF_UNBOUNDED);
    va_list arguments;
    va_start(arguments, format);
    buf_addv(&text, format, arguments);
    va_end(arguments);
    writer_raw(writer, buf_str(&text));
    buf_finish(&text);
}

static size_t newlines_at_end(const struct buf *out)
{
    size_t count = 0;
    while (count < out->len && out->data[out->len - 1 - count] == '\n')
        count++;
    return count;
}

void writer_line(struct writer *writer)
{
    if (writer->out->len && newlines_at_end(writer->out) == 0)
        writer_raw(writer, STR("\n"));
}

void writer_break(struct writer *writer)
{
    if (!writer->out->len)
        return;
    for (size_t have = newlines_at_end(writer->out); have < 2 && !writer->full; have++)
        writer_raw(writer, STR("\n"));
}

void append_line(struct buf *out, struct str text)
{
    bool blank = false;
    for (size_t i = 0; i < text.len; i++) {
        if (ascii_is_space(text.data[i])) {
            blank = out->len > 0;
            continue;
        }
        if ((blank && buf_append_char(out, ' ') != STATUS_OK) || buf_append_char(out, text.data[i]) != STATUS_OK)
            return;
        blank = false;
    }
}

void writer_heading(struct writer *writer, int level, struct str title)
{
    struct buf line;
    buf_init(&line, 2000);
    append_line(&line, title);
    struct str text = str_slice(buf_str(&line), 0, utf8_floor(buf_str(&line), line.len));
    if (text.len) {
        level = level < 1 ? 1 : level > 6 ? 6 : level;
        writer_break(writer);
        writer_raw(writer, str_slice(STR("######"), 0, (size_t)level));
        writer_raw(writer, STR(" "));
        writer_raw(writer, text);
        writer_break(writer);
    }
    buf_finish(&line);
}

/* Whether a line would be taken for a heading, a quote, a fence or an item of a list. */
static bool looks_like_mark(struct str line)
{
    size_t hashes = 0;
    while (hashes < line.len && line.data[hashes] == '#')
        hashes++;
    if (hashes && hashes <= 6)
        return hashes == line.len || line.data[hashes] == ' ';
    if (str_starts_with(line, STR(">")) || str_starts_with(line, STR("```")) || str_starts_with(line, STR("~~~")))
        return true;
    return line.len > 1 && strchr("-+*", line.data[0]) && line.data[1] == ' ';
}

/* Lines of a block, those behind the first with `indent` spaces before them. */
static void write_lines(struct writer *writer, struct str text, size_t indent)
{
    struct str line;
    for (bool first = true; str_split_next(&text, '\n', &line); first = false) {
        if (!first)
            writer_raw(writer, STR("\n"));
        for (size_t i = 0; !first && i < indent; i++)
            writer_raw(writer, STR(" "));
        if (looks_like_mark(line))
            writer_raw(writer, STR("\\"));
        writer_raw(writer, line);
    }
}

void writer_paragraph(struct writer *writer, struct str text)
{
    text = str_trim(text);
    if (!text.len)
        return;
    writer_break(writer);
    write_lines(writer, text, 0);
    writer_break(writer);
}

void writer_item(struct writer *writer, int depth, struct str mark, struct str text)
{
    text = str_trim(text);
    if (!text.len)
        return;
    writer_line(writer);
    depth = depth < 0 ? 0 : depth > 12 ? 12 : depth;
    for (int i = 0; i < depth; i++)
        writer_raw(writer, STR("  "));
    writer_raw(writer, mark);
    writer_raw(writer, STR(" "));
    write_lines(writer, text, 2 * (size_t)depth + 2);
    writer_raw(writer, STR("\n"));
}

/* How many marks a line has that opens or closes fenced code; 0 for other lines. */
static size_t fence_length(struct str line)
{
    size_t blank = 0, length = 0;
    while (blank < line.len && blank < 4 && line.data[blank] == ' ')
        blank++;
    line = str_slice(line, blank, line.len);
    while (length < line.len && (line.data[0] == '`' || line.data[0] == '~') && line.data[length] == line.data[0])
        length++;
    return length >= 3 ? length : 0;
}

int fences_heading(struct fences *fences, struct str line)
{
    size_t length = fence_length(line), hashes = 0;
    if (length) {
        char mark = str_trim_start(line).data[0];
        if (!fences->length)
            *fences = (struct fences){length, mark};
        else if (mark == fences->mark && length >= fences->length)
            fences->length = 0;
    }
    while (!fences->length && hashes < line.len && line.data[hashes] == '#')
        hashes++;
    return hashes >= 1 && hashes <= 6 && hashes < line.len && line.data[hashes] == ' ' ? (int)hashes : 0;
}

void writer_document(struct writer *writer, struct str markdown, int levels)
{
    struct str line;
    struct fences fences = {0};
    while (!writer->full && str_split_next(&markdown, '\n', &line)) {
        int level = fences_heading(&fences, line);
        if (level) {
            writer_raw(writer, str_slice(STR("######"), 0, (size_t)(level + levels)));
            line = str_slice(line, (size_t)level, line.len);
        }
        writer_raw(writer, line);
        writer_raw(writer, STR("\n"));
    }
    if (fences.length) {
        for (size_t i = 0; i < fences.length && !writer->full; i++)
            writer_raw(writer, str_make(&fences.mark, 1));
        writer_raw(writer, STR("\n"));
    }
}

void writer_fence(struct writer *writer, struct str language, struct str text)
{
    size_t longest = 0, run = 0;
    for (size_t i = 0; i < text.len; i++) {
        run = text.data[i] == '`' ? run + 1 : 0;
        longest = run > longest ? run : longest;
    }
    size_t length = longest < 3 ? 3 : longest + 1;
    writer_break(writer);
    for (size_t i = 0; i < length; i++)
        writer_raw(writer, STR("`"));
    writer_raw(writer, language);
    writer_raw(writer, STR("\n"));
    writer_raw(writer, str_trim_end(text));
    writer_raw(writer, STR("\n"));
    for (size_t i = 0; i < length; i++)
        writer_raw(writer, STR("`"));
    writer_break(writer);
}

/* ---- tables ---- */

#define CELL_CHARGE sizeof(struct grid_cell)
#define MAX_MERGED  100000

void grid_init(struct grid *grid, size_t max_charge)
{
    *grid = (struct grid){.max_charge = max_charge};
    buf_init(&grid->text, max_charge);
}

void grid_finish(struct grid *grid)
{
    buf_finish(&grid->text);
    free(grid->cells);
    *grid = (struct grid){0};
}

void grid_reset(struct grid *grid)
{
    buf_reset(&grid->text);
    grid->n_cells = 0;
    grid->charge = 0;
    grid->unordered = grid->full = false;
}

static int compare(const struct grid_cell *a, const struct grid_cell *b)
{
    if (a->row != b->row)
        return a->row < b->row ? -1 : 1;
    return a->column < b->column ? -1 : a->column > b->column;
}

static bool push(struct grid *grid, const struct grid_cell *cell, size_t charge)
{
    if (grid->full || charge > grid->max_charge - grid->charge) {
        grid->full = true;
        return false;
    }
    if (grid->n_cells && compare(&grid->cells[grid->n_cells - 1], cell) >= 0)
        grid->unordered = true;
    grid->cells = mem_grow(grid->cells, grid->n_cells, &grid->capacity, sizeof *grid->cells);
    grid->cells[grid->n_cells++] = *cell;
    grid->charge += charge;
    return true;
}

bool grid_add(struct grid *grid, uint32_t row, uint32_t column, struct str text)
{
    text = str_trim(text);
    if (!text.len)
        return !grid->full;
    const struct grid_cell cell = {row, column, grid->text.len, text.len};
    return push(grid, &cell, text.len + CELL_CHARGE) && buf_append_str(&grid->text, text) == STATUS_OK;
}

struct numbered {
    struct grid_cell cell;
    size_t number;
};

static int compare_numbered(const void *a, const void *b)
{
    const struct numbered *x = a, *y = b;
    int order = compare(&x->cell, &y->cell);
    return order ? order : (x->number < y->number ? -1 : 1);
}

/* Brings the cells into order; of several at one place the first stays. */
static void put_in_order(struct grid *grid)
{
    if (!grid->unordered)
        return;
    struct numbered *all = mem_calloc(grid->n_cells, sizeof *all);
    for (size_t i = 0; i < grid->n_cells; i++)
        all[i] = (struct numbered){grid->cells[i], i};
    qsort(all, grid->n_cells, sizeof *all, compare_numbered);
    size_t kept = 0;
    for (size_t i = 0; i < grid->n_cells; i++)
        if (!kept || compare(&grid->cells[kept - 1], &all[i].cell) != 0)
            grid->cells[kept++] = all[i].cell;
    grid->n_cells = kept;
    grid->unordered = false;
    free(all);
}

/* Index of the first cell that does not come before the place. */
static size_t lower_bound(const struct grid *grid, size_t count, uint32_t row, uint32_t column)
{
    const struct grid_cell place = {.row = row, .column = column};
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare(&grid->cells[middle], &place) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool row_has(const struct grid *grid, size_t count, uint32_t row)
{
    size_t at = lower_bound(grid, count, row, 0);
    return at < count && grid->cells[at].row == row;
}

/* Whether the row holds a cell outside of the range's columns. */
static bool row_has_other(const struct grid *grid, size_t count, const struct grid_range *range)
{
    size_t first = lower_bound(grid, count, range->row, 0);
    size_t behind = lower_bound(grid, count, range->row, range->last_column + 1);
    return (first < count && grid->cells[first].row == range->row && grid->cells[first].column < range->column) ||
           (behind < count && grid->cells[behind].row == range->row);
}

void grid_merge(struct grid *grid, const struct grid_range *ranges, size_t n_ranges)
{
    put_in_order(grid);
    size_t count = grid->n_cells;
    if (!count)
        return;
    uint32_t last_row = grid->cells[count - 1].row, last_column = 0;
    for (size_t i = 0; i < count; i++)
        if (grid->cells[i].column > last_column)
            last_column = grid->cells[i].column;
    int budget = MAX_MERGED;
    for (size_t i = 0; i < n_ranges && budget > 0; i++) {
        struct grid_range range = ranges[i];
        size_t at = lower_bound(grid, count, range.row, range.column);
        if (at == count || grid->cells[at].row != range.row || grid->cells[at].column != range.column)
            continue;
        if (range.last_column > last_column)
            range.last_column = last_column;
        if (range.last_row > last_row)
            range.last_row = last_row;
        if (!row_has_other(grid, count, &range))
            range.last_column = range.column;
        struct grid_cell cell = grid->cells[at];
        for (cell.row = range.row; cell.row <= range.last_row && budget > 0; cell.row++, budget--) {
            if (!row_has(grid, count, cell.row))
                continue;
            for (cell.column = range.column; cell.column <= range.last_column && budget > 0; cell.column++, budget--)
                if ((cell.row != range.row || cell.column != range.column) && !push(grid, &cell, CELL_CHARGE))
                    return;
        }
    }
}

/* A cell's text on one line, with what would end the cell escaped. */
static void write_cell(struct writer *writer, struct str text)
{
    size_t from = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] != '|' && text.data[i] != '\n')
            continue;
        writer_raw(writer, str_slice(text, from, i));
        writer_raw(writer, text.data[i] == '|' ? STR("\\|") : STR("<br>"));
        from = i + 1;
    }
    writer_raw(writer, str_slice(text, from, text.len));
}

static struct str cell_text(const struct grid *grid, const struct grid_cell *cell)
{
    return str_slice(buf_str(&grid->text), cell->offset, cell->offset + cell->length);
}

/* Index behind the last cell of the row that begins at `from`. */
static size_t row_end(const struct grid *grid, size_t from)
{
    size_t end = from;
    while (end < grid->n_cells && grid->cells[end].row == grid->cells[from].row)
        end++;
    return end;
}

/* Writes the row of cells [from, to); `places` maps columns to their place in the table. */
static void write_row(struct grid *grid, size_t from, size_t to, const uint32_t *places, struct writer *writer)
{
    uint32_t width = places[0]; /* see find_places */
    writer_raw(writer, STR("|"));
    for (uint32_t place = 0; place < width && !writer->full; place++) {
        writer_raw(writer, STR(" "));
        if (from < to && places[1 + grid->cells[from].column] == place)
            write_cell(writer, cell_text(grid, &grid->cells[from++]));
        writer_raw(writer, STR(" |"));
    }
    writer_raw(writer, STR("\n"));
}

/* Numbers the columns that hold something: [0] is how many, [1 + column] the place of each. */
static uint32_t *find_places(const struct grid *grid)
{
    uint32_t last = 0;
    for (size_t i = 0; i < grid->n_cells; i++)
        last = grid->cells[i].column > last ? grid->cells[i].column : last;
    uint32_t *places = mem_calloc((size_t)last + 2, sizeof *places);
    for (size_t i = 0; i < grid->n_cells; i++)
        places[1 + grid->cells[i].column] = 1;
    uint32_t width = 0;
    for (uint32_t column = 0; column <= last; column++)
        places[1 + column] = places[1 + column] ? width++ : 0;
    places[0] = width;
    return places;
}

void grid_write(struct grid *grid, struct writer *writer)
{
    put_in_order(grid);
    if (!grid->n_cells)
        return;
    uint32_t *places = find_places(grid);
    size_t at = 0, end;
    writer_break(writer);
    while (at < grid->n_cells && (end = row_end(grid, at)) == at + 1) { /* titles, or a table of one column */
        if (places[0] == 1)
            writer_line(writer);
        else
            writer_break(writer);
        write_lines(writer, cell_text(grid, &grid->cells[at]), 0);
        at = end;
    }
    if (at < grid->n_cells)
        writer_break(writer);
    for (bool head = true; at < grid->n_cells && !writer->full; at = end, head = false) {
        end = row_end(grid, at);
        write_row(grid, at, end, places, writer);
        if (!head)
            continue;
        writer_raw(writer, STR("|"));
        for (uint32_t i = 0; i < places[0]; i++)
            writer_raw(writer, STR(" --- |"));
        writer_raw(writer, STR("\n"));
    }
    writer_break(writer);
    free(places);
}
