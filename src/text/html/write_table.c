/* Tables. One that holds data becomes rows of cells, spans unrolled; one that only lays things out becomes the blocks
 * that are in it. There is no table in a table: the cells of the inner one stand in the cell of the outer one. */
#include "core/mem.h"
#include "text/html/write_internal.h"

#define MAX_SPAN     100
#define MAX_REPEATED 80 /* bytes of text that are repeated where a cell spans */

/* What the rows of a table are like. */
struct survey {
    uint32_t rows, cells, headers, blocks, inner_tables, width;
    uint32_t text, longest, first_row_digits, digits;
    bool caption, first_is_header, first_is_bold, code;
};

static bool is_cell(uint8_t element)
{
    return element == HTML_TD || element == HTML_TH;
}

static uint32_t span_of(const struct writer *w, uint32_t node, enum html_attribute attribute, uint32_t most)
{
    struct str value = str_trim(writer_attribute(w, node, attribute));
    uint32_t span = 0;
    for (size_t i = 0; i < value.len && ascii_is_digit(value.data[i]) && span < 100000; i++)
        span = span * 10 + (uint32_t)(value.data[i] - '0');
    return span < 1 ? 1 : span > most ? most : span;
}

/* ---- what it is ---- */

struct row_survey {
    uint32_t cells, headers, bold, text;
    bool in_head;
};

static void end_row(struct survey *s, const struct row_survey *row)
{
    if (!row->cells || !row->text)
        return;
    s->headers += row->headers;
    if (!s->rows) {
        s->first_is_header = row->in_head || row->headers == row->cells;
        s->first_is_bold = row->bold == row->cells;
        s->first_row_digits = s->digits;
    }
    s->rows++;
}

static bool has_digit(struct str text)
{
    for (size_t i = 0; i < text.len && i < 64; i++)
        if (ascii_is_digit(text.data[i]))
            return true;
    return false;
}

/* Whether a cell's text begins in bold. */
static bool is_bold(const struct writer *w, uint32_t cell)
{
    uint32_t i = cell + 1;
    while (i < w->nodes[cell].end && (w->nodes[i].element == HTML_P || w->nodes[i].element == HTML_SPAN ||
                                      w->nodes[i].element == HTML_DIV || w->nodes[i].element == HTML_FONT))
        i++;
    return i < w->nodes[cell].end && (w->nodes[i].element == HTML_B || w->nodes[i].element == HTML_STRONG);
}

/* Looks at everything but what is in tables inside, so that all surveys of a page together are linear. Columns are
 * counted as the rows are written, cells from above left out of account: too few only mean that a row ends sooner. */
static struct survey survey_table(const struct writer *w, uint32_t node)
{
    struct survey s = {0};
    struct row_survey row = {0};
    uint32_t end = w->nodes[node].end, head_end = 0, cell_end = 0, cell_text = 0;
    bool bold_cell = false;
    for (uint32_t i = node + 1; i < end;) {
        const struct html_node *n = &w->nodes[i];
        if (cell_end && i >= cell_end) {
            row.bold += bold_cell;
            s.longest = cell_text > s.longest ? cell_text : s.longest;
            cell_end = 0;
        }
        if (writer_is_marked(w, i)) {
            i = n->end;
            continue;
        }
        unsigned flags = html_flags(n->element);
        if (n->element == HTML_TABLE) {
            s.inner_tables++;
            i = n->end;
            continue;
        }
        if (n->element == HTML_TEXT) {
            uint32_t len = (uint32_t)str_trim(n->text).len;
            s.text += len;
            cell_text += len;
            row.text += len;
            s.digits += len && has_digit(n->text);
        } else if (n->element == HTML_THEAD) {
            head_end = n->end;
        } else if (n->element == HTML_TR) {
            end_row(&s, &row);
            row = (struct row_survey){.in_head = i < head_end};
        } else if (is_cell(n->element)) {
            s.cells++;
            row.cells++;
            row.headers += n->element == HTML_TH;
            cell_end = n->end;
            cell_text = 0;
            bold_cell = is_bold(w, i);
        } else if (n->element == HTML_CAPTION) {
            s.caption = true;
        } else if (n->element == HTML_PRE) {
            s.code = true;
        } else if (flags & (ELEMENT_HEADING | ELEMENT_FURNITURE) || n->element == HTML_UL || n->element == HTML_OL ||
                   n->element == HTML_FORM || n->element == HTML_BLOCKQUOTE || n->element == HTML_HR) {
            s.blocks++;
        }
        i++;
    }
    row.bold += cell_end && bold_cell;
    s.longest = cell_text > s.longest ? cell_text : s.longest;
    end_row(&s, &row);
    return s;
}

/* The number of columns: where the last cell of a row begins at most, spans before it counted. Leaves the columns as
 * it found them, all empty. */
static uint32_t count_columns(struct writer *w, uint32_t node)
{
    struct column *columns = w->table.columns;
    uint32_t end = w->nodes[node].end, column = 0, widest = 0;
    for (uint32_t i = node + 1; i < end;) {
        const struct html_node *n = &w->nodes[i];
        if (writer_is_marked(w, i)) {
            i = n->end;
            continue;
        }
        if (n->element == HTML_TR) {
            column = 0;
        } else if (is_cell(n->element)) {
            while (column < MAX_COLUMNS && columns[column].rows) {
                columns[column].rows--;
                column++;
            }
            uint32_t span = span_of(w, i, HTML_ATTRIBUTE_COLSPAN, MAX_SPAN);
            uint32_t rows = span_of(w, i, HTML_ATTRIBUTE_ROWSPAN, 65534);
            widest = column + 1 > widest ? column + 1 : widest;
            for (uint32_t k = 0; k < span && column + k < MAX_COLUMNS && rows > 1; k++)
                columns[column + k].rows = rows - 1;
            column += span;
            i = n->end;
            continue;
        }
        i++;
    }
    memset(columns, 0, MAX_COLUMNS * sizeof *columns);
    return widest;
}

static bool is_data(const struct writer *w, uint32_t node, const struct survey *s)
{
    struct str role = writer_attribute(w, node, HTML_ATTRIBUTE_ROLE);
    if (str_equal_ascii_nocase(role, STR("presentation")) || str_equal_ascii_nocase(role, STR("none")))
        return false;
    if (s->rows < 2 || s->cells < s->rows + 1 || s->code)
        return false;
    if (s->headers > 1 || s->caption)
        return s->longest < 4000;
    return !s->inner_tables && s->blocks * 4 <= s->cells && s->text <= s->cells * 200 && s->longest < 1000;
}

void writer_enter_table(struct writer *w, uint32_t node)
{
    struct table *table = &w->table;
    if (w->single != LINE_FREE) {
        writer_want(w, DUE_LINE);
        return;
    }
    writer_want(w, DUE_BLANK);
    if (table->end)
        return;
    struct survey s = survey_table(w, node);
    if (!is_data(w, node, &s))
        return;
    if (!table->columns)
        table->columns = mem_calloc(MAX_COLUMNS, sizeof *table->columns);
    table->node = node;
    table->end = w->nodes[node].end;
    table->width = count_columns(w, node);
    table->rows = 0;
    table->in_row = false;
    table->cell = 0;
    bool digits_below = !s.first_row_digits && s.digits >= s.rows - 1;
    table->has_header = s.first_is_header || (!s.headers && (s.first_is_bold || digits_below));
}

void writer_leave_table(struct writer *w, uint32_t node)
{
    if (w->table.end && w->table.node == node) {
        memset(w->table.columns, 0, MAX_COLUMNS * sizeof *w->table.columns);
        w->table.end = 0;
    }
    writer_want(w, w->single == LINE_FREE ? DUE_BLANK : DUE_LINE);
}

/* ---- rows ---- */

static bool writes_rows(const struct writer *w)
{
    return w->table.end && !w->table.cell;
}

static void put_rule(struct writer *w)
{
    writer_next_line(w, DUE_LINE);
    writer_put_char(w, '|');
    for (uint32_t i = 0; i < w->table.width && !w->full; i++)
        writer_put(w, " --- |", 6);
}

void writer_enter_row(struct writer *w)
{
    struct table *table = &w->table;
    if (!writes_rows(w)) {
        writer_want(w, DUE_BREAK);
        return;
    }
    table->in_row = true;
    table->row_open = false; /* its line begins with its first cell */
    table->column = 0;
    table->row_text = 0;
}

/* Forgets a row whose cells are all empty. */
static void take_back_row(struct writer *w)
{
    const struct row_start *start = &w->table.row_start;
    if (w->full)
        return;
    w->out->len = start->len;
    w->due = start->due;
    w->rule = start->rule;
    w->line_open = start->line_open;
    w->n_marked = start->n_marked;
    w->line_at = w->plain_from = start->len;
}

void writer_leave_row(struct writer *w)
{
    struct table *table = &w->table;
    if (!writes_rows(w)) {
        writer_want(w, DUE_BREAK);
        return;
    }
    table->in_row = false;
    if (!table->row_open)
        return;
    w->single = LINE_FREE;
    w->space = SPACE_NONE;
    w->due = DUE_NOTHING;
    if (!table->row_text) {
        take_back_row(w);
        return;
    }
    if (!table->rows++ && table->has_header && !w->options.plain_text) {
        for (; table->column < table->width && !w->full; table->column++)
            writer_put(w, "  |", 3);
        put_rule(w);
    }
    writer_want(w, DUE_LINE);
}

static bool in_header_row(const struct writer *w)
{
    return w->table.has_header && !w->table.rows;
}

static void begin_row(struct writer *w)
{
    struct table *table = &w->table;
    bool plain = w->options.plain_text;
    if (w->n_marks)
        writer_suspend_marks(w);
    table->row_open = true;
    table->row_start = (struct row_start){
        .len = w->out->len, .due = w->due, .rule = w->rule, .line_open = w->line_open, .n_marked = w->n_marked};
    writer_next_line(w, table->rows ? DUE_LINE : DUE_BLANK);
    if (!table->rows && !table->has_header && !plain) {
        writer_put_char(w, '|');
        for (uint32_t i = 0; i < table->width && !w->full; i++)
            writer_put(w, "  |", 3);
        put_rule(w);
        writer_next_line(w, DUE_LINE);
    }
    if (!plain)
        writer_put_char(w, '|');
}

/* ---- cells ---- */

static void begin_cell(struct writer *w)
{
    if (!w->options.plain_text)
        writer_put_char(w, ' ');
    else if (w->table.column)
        writer_put(w, " | ", 3);
}

static void end_cell(struct writer *w)
{
    if (!w->options.plain_text)
        writer_put(w, " |", 2);
    w->table.column++;
}

/* One more cell of the row with a text that stands elsewhere, too. */
static void put_filler(struct writer *w, size_t at, size_t length)
{
    begin_cell(w);
    if (length && length <= MAX_REPEATED && !w->options.plain_text && !w->full) {
        char text[MAX_REPEATED];
        memcpy(text, w->out->data + at, length);
        writer_put(w, text, length);
    }
    end_cell(w);
    w->fillers -= length + 3 < w->fillers ? length + 3 : w->fillers;
}

static void put_cells_from_above(struct writer *w)
{
    struct table *table = &w->table;
    while (table->column < MAX_COLUMNS && table->columns[table->column].rows && w->fillers && !w->full) {
        struct column *column = &table->columns[table->column];
        column->rows--;
        put_filler(w, column->at, column->length);
    }
}

void writer_enter_cell(struct writer *w, uint32_t node)
{
    struct table *table = &w->table;
    if (!writes_rows(w) || !table->in_row) {
        w->space = SPACE_FIXED;
        return;
    }
    if (!table->row_open)
        begin_row(w);
    put_cells_from_above(w);
    begin_cell(w);
    table->cell = node;
    table->cell_at = w->line_at = w->plain_from = w->out->len;
    w->single = LINE_CELL;
    w->line_open = true;
    w->space = SPACE_NONE;
    w->due = DUE_NOTHING;
    if (in_header_row(w))
        w->n_strong++;
}

void writer_leave_cell(struct writer *w, uint32_t node)
{
    struct table *table = &w->table;
    if (table->cell != node || !node) {
        w->space = SPACE_FIXED;
        return;
    }
    if (w->n_marks)
        writer_suspend_marks(w);
    if (in_header_row(w))
        w->n_strong--;
    table->cell = 0;
    w->space = SPACE_FIXED; /* before text that stands beside the cells */
    w->due = DUE_NOTHING;
    size_t length = w->full ? 0 : w->out->len - table->cell_at;
    table->row_text += length;
    uint32_t first = table->column, room = first < table->width ? table->width - first : 1;
    uint32_t span = span_of(w, node, HTML_ATTRIBUTE_COLSPAN, MAX_SPAN < room ? MAX_SPAN : room);
    uint32_t rows = span_of(w, node, HTML_ATTRIBUTE_ROWSPAN, 65534);
    end_cell(w);
    bool whole_row = first == 0 && span == table->width && table->rows + !table->has_header > 0;
    for (uint32_t i = 1; i < span && w->fillers && !w->full; i++)
        put_filler(w, table->cell_at, whole_row ? 0 : length);
    for (uint32_t i = first; i < first + span && i < MAX_COLUMNS && rows > 1; i++)
        table->columns[i] =
            (struct column){.rows = rows - 1, .at = table->cell_at, .length = (uint32_t)(whole_row ? 0 : length)};
}
