/* ODS (ODF 1.3 part 3, 9): sheets as tables. Rows and columns may be said to repeat a million times; what repeats
 * nothing costs nothing, the rest is bounded by the cap of the Markdown. */
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "readers/odf_styles.h"

#define MAX_VALUE 32768 /* bytes of one cell */

struct ods {
    const struct package *package;
    struct writer writer;
    struct odf_styles styles;
    bool in_body;

    struct buf name; /* of the sheet */
    bool in_sheet, hidden;
    int sheets, tables; /* tables: nesting, those inside a cell's table are ignored */
    struct grid grid;
    uint32_t row, column;
    size_t row_start; /* first cell of the row at hand */
    int64_t row_repeat, repeat, width, height;
    uint64_t rows;

    struct buf value, text; /* what the cell's attributes say; its paragraphs */
    bool in_cell, in_paragraph;
    size_t skip;
    struct grid_range *merges;
    size_t n_merges, merge_capacity;
};

static int64_t count_of(const struct xml_element *element, const char *name, int64_t most)
{
    int64_t count = xml_integer(element, name, 1);
    return count < 1 ? 1 : count > most ? most : count;
}

/* "PT13H05M00S" as 13:05:00; other durations as they are. */
static void write_duration(struct buf *out, struct str duration)
{
    int64_t parts[3] = {0};
    struct str rest = str_slice(duration, 2, duration.len);
    for (int i = 0; i < 3; i++) {
        size_t digits = 0;
        while (digits < rest.len && ascii_is_digit(rest.data[digits]))
            digits++;
        if (digits < rest.len && rest.data[digits] == "HMS"[i] && digits && digits < 7) {
            if (!str_to_int64(str_slice(rest, 0, digits), &parts[i]))
                break;
            rest = str_slice(rest, digits + 1, rest.len);
        }
    }
    if (rest.len || !str_starts_with(duration, STR("PT")))
        buf_add(out, duration);
    else
        buf_addf(out, parts[2] ? "%02d:%02d:%02d" : "%02d:%02d", (int)parts[0], (int)parts[1], (int)parts[2]);
}

/* The value that the attributes give, where it says more than the text, which is in the writer's locale. */
static void take_value(struct ods *ods, const struct xml_element *element)
{
    struct str type = xml_attribute(element, "value-type");
    struct str value = xml_attribute_of(element, ":office:1.0", "value");
    double number;
    buf_reset(&ods->value);
    if (str_equal(type, STR("date"))) {
        struct str date = xml_attribute(element, "date-value");
        size_t at = str_find_char(date, 'T', 0);
        buf_add(&ods->value, str_slice(date, 0, at));
        struct str clock = at == STR_NONE ? (struct str){0} : str_slice(date, at + 1, date.len);
        if (clock.len && !str_equal(clock, STR("00:00:00"))) {
            buf_add_char(&ods->value, ' ');
            buf_add(&ods->value, str_ends_with(clock, STR(":00")) ? str_slice(clock, 0, clock.len - 3) : clock);
        }
    } else if (str_equal(type, STR("time"))) {
        write_duration(&ods->value, xml_attribute(element, "time-value"));
    } else if (str_equal(type, STR("boolean"))) {
        buf_add(&ods->value, office_is_off(xml_attribute(element, "boolean-value")) ? STR("FALSE") : STR("TRUE"));
    } else if (str_equal(type, STR("percentage")) && str_to_double(value, &number)) {
        number_write(&ods->value, number, NUMBER_PERCENT, false);
    } else if (str_equal(type, STR("float")) && str_to_double(value, &number)) {
        number_write(&ods->value, number, NUMBER_PLAIN, false);
    }
    if (ods->value.len > MAX_VALUE)
        buf_truncate(&ods->value, MAX_VALUE);
}

static void begin_sheet(struct ods *ods, const struct xml_element *element)
{
    grid_reset(&ods->grid);
    ods->grid.max_charge = ods->writer.out->cap - ods->writer.out->len;
    buf_reset(&ods->name);
    append_line(&ods->name, xml_attribute(element, "name"));
    const struct odf_style *style = odf_style(&ods->styles, 's', xml_attribute(element, "style-name"));
    ods->hidden = style && style->hidden;
    ods->in_sheet = true;
    ods->sheets++;
    ods->row = ods->column = 0;
    ods->row_start = 0;
    ods->rows = 0;
    ods->n_merges = 0;
}

static void end_sheet(struct ods *ods)
{
    ods->in_sheet = false;
    if (ods->writer.full)
        return;
    if (ods->hidden && buf_append_str(&ods->name, STR(" (hidden sheet)")) != STATUS_OK)
        return;
    writer_heading(&ods->writer, 2, ods->name.len ? buf_str(&ods->name) : STR("Sheet"));
    grid_merge(&ods->grid, ods->merges, ods->n_merges);
    grid_write(&ods->grid, &ods->writer);
    if (ods->grid.full || ods->writer.full)
        reading_note(ods->package->reading, "The sheet \"%s\" has %llu rows; the first of them are shown.",
                     ods->name.data ? ods->name.data : "", (unsigned long long)ods->rows);
    if (!ods->grid.n_cells)
        writer_paragraph(&ods->writer, STR("(empty)"));
    ods->writer.full = ods->writer.full || ods->grid.full;
}

static void end_row(struct ods *ods)
{
    size_t count = ods->grid.n_cells - ods->row_start;
    ods->rows += count ? (uint64_t)ods->row_repeat : 0;
    for (int64_t i = 1; count && i < ods->row_repeat && ods->row + i < OFFICE_MAX_ROWS; i++) {
        for (size_t k = 0; k < count; k++) {
            struct grid_cell cell = ods->grid.cells[ods->row_start + k];
            struct str text = str_slice(buf_str(&ods->grid.text), cell.offset, cell.offset + cell.length);
            char *copy = str_dup(text); /* the grid's own text may move */
            bool fits = grid_add(&ods->grid, (uint32_t)(ods->row + i), cell.column, str_make(copy, text.len));
            free(copy);
            if (!fits)
                return;
        }
    }
}

static void next_row(struct ods *ods)
{
    int64_t row = ods->row + ods->row_repeat;
    ods->row = row < OFFICE_MAX_ROWS ? (uint32_t)row : OFFICE_MAX_ROWS;
    ods->column = 0;
}

static void end_cell(struct ods *ods)
{
    ods->in_cell = false;
    struct str shown = ods->value.len ? buf_str(&ods->value) : buf_str(&ods->text);
    shown = str_trim(shown);
    if (shown.len && (ods->width > 1 || ods->height > 1) && ods->n_merges < 20000) {
        ods->merges = mem_grow(ods->merges, ods->n_merges, &ods->merge_capacity, sizeof *ods->merges);
        ods->merges[ods->n_merges++] = (struct grid_range){
            ods->row, ods->column, (uint32_t)(ods->row + ods->height - 1), (uint32_t)(ods->column + ods->width - 1)};
    }
    for (int64_t i = 0; shown.len && i < ods->repeat && ods->column + i < OFFICE_MAX_COLUMNS; i++)
        if (ods->row >= OFFICE_MAX_ROWS || !grid_add(&ods->grid, ods->row, (uint32_t)(ods->column + i), shown))
            break;
    int64_t column = ods->column + ods->repeat;
    ods->column = column < OFFICE_MAX_COLUMNS ? (uint32_t)column : OFFICE_MAX_COLUMNS;
}

static void on_table_start(struct ods *ods, const struct xml_element *element)
{
    if (xml_is(element, "table")) {
        if (ods->tables++ == 0)
            begin_sheet(ods, element);
    } else if (ods->tables != 1) {
        return;
    } else if (xml_is(element, "table-row")) {
        ods->row_repeat = count_of(element, "number-rows-repeated", OFFICE_MAX_ROWS);
        ods->row_start = ods->grid.n_cells;
        ods->column = 0;
    } else if (xml_is(element, "table-cell") || xml_is(element, "covered-table-cell")) {
        ods->repeat = count_of(element, "number-columns-repeated", OFFICE_MAX_COLUMNS);
        ods->width = count_of(element, "number-columns-spanned", OFFICE_MAX_COLUMNS);
        ods->height = count_of(element, "number-rows-spanned", OFFICE_MAX_ROWS);
        ods->in_cell = true;
        buf_reset(&ods->text);
        take_value(ods, element);
    } else if (xml_is(element, "shapes")) {
        ods->skip = 1;
    }
}

static void add_text(struct ods *ods, struct str text)
{
    if (ods->in_cell && ods->in_paragraph && ods->text.len + text.len <= MAX_VALUE)
        buf_add(&ods->text, text);
}

static void on_start(void *user, const struct xml_element *element)
{
    struct ods *ods = user;
    if (!ods->in_body) {
        odf_styles_start(&ods->styles, element);
        ods->in_body = xml_is(element, "body");
        return;
    }
    if (ods->skip || xml_is(element, "annotation") || xml_is(element, "tracked-changes") || xml_is(element, "frame")) {
        ods->skip++;
    } else if (xml_in(element, ":table:1.0")) {
        on_table_start(ods, element);
    } else if (xml_is(element, "p")) {
        ods->in_paragraph = true;
        if (ods->text.len)
            add_text(ods, STR("\n"));
    } else if (xml_is(element, "s")) {
        add_text(ods, STR(" "));
    } else if (xml_is(element, "line-break")) {
        add_text(ods, STR("\n"));
    }
}

static void on_end(void *user, const char *name)
{
    struct ods *ods = user;
    if (!ods->in_body) {
        odf_styles_end(&ods->styles, name);
    } else if (ods->skip) {
        ods->skip--;
    } else if (strcmp(name, "p") == 0) {
        ods->in_paragraph = false;
    } else if (strcmp(name, "table") == 0 && ods->tables > 0) {
        if (--ods->tables == 0)
            end_sheet(ods);
    } else if (ods->tables == 1 && strcmp(name, "table-row") == 0) {
        end_row(ods);
        next_row(ods);
    } else if (ods->in_cell && ods->tables == 1 &&
               (strcmp(name, "table-cell") == 0 || strcmp(name, "covered-table-cell") == 0)) {
        end_cell(ods);
    }
}

static void on_text(void *user, struct str text)
{
    struct ods *ods = user;
    if (!ods->skip)
        add_text(ods, text);
}

enum status ods_read(const struct package *package, struct reader_text *out, struct error *error)
{
    static const struct xml_handler handler = {on_start, on_end, on_text};
    struct ods ods = {.package = package};
    writer_init(&ods.writer, &out->markdown);
    buf_init(&ods.name, 2000);
    buf_init(&ods.value, BUF_UNBOUNDED);
    buf_init(&ods.text, BUF_UNBOUNDED);
    grid_init(&ods.grid, out->markdown.cap);
    enum status status = package_parse(package, STR("content.xml"), &handler, &ods, error);
    if (ods.in_sheet) /* it was cut off */
        end_sheet(&ods);
    out->pages = ods.sheets;
    out->truncated = out->truncated || ods.writer.full;
    odf_styles_finish(&ods.styles);
    buf_finish(&ods.name);
    buf_finish(&ods.value);
    buf_finish(&ods.text);
    grid_finish(&ods.grid);
    free(ods.merges);
    return status;
}
