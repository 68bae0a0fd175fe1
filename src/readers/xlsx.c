/* XLSX and XLSM (ECMA-376 part 1, 18): each sheet's cells as a table. Sheets and shared strings are streamed; what is
 * held is bounded by the cap of the Markdown, and by MAX_STRINGS. */
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "readers/office.h"

#define MAX_STRINGS ((size_t)128 << 20)
#define MAX_VALUE   32768 /* bytes of one cell, which Excel bounds too */
#define MAX_SHEETS  2000
#define MAX_STYLES  100000
#define MAX_MERGES  20000

struct sheet {
    char *name, *part;
    bool hidden;
};

struct number_format {
    int64_t id;
    enum number_style style;
};

struct xlsx {
    const struct package *package;
    struct writer writer;
    struct relations relations;

    struct sheet *sheets;
    size_t n_sheets, sheet_capacity;
    bool since_1904;

    struct buf strings;  /* all shared strings, one behind the other */
    size_t *string_ends; /* where each ends */
    size_t n_strings, string_capacity;
    bool strings_cut;

    struct number_format *formats;
    size_t n_formats, format_capacity;
    enum number_style *styles; /* by index of the cell's s attribute */
    size_t n_styles, style_capacity;
    bool in_cell_formats;

    /* the sheet at hand */
    struct grid grid;
    struct buf value;
    uint32_t row, column;
    uint64_t rows; /* that hold cells */
    bool row_counted;
    enum number_style style;
    char type[12];
    bool taking, phonetic;
    struct grid_range *merges;
    size_t n_merges, merge_capacity;
};

bool xlsx_wants(struct str name)
{
    if (str_find_nocase(name, STR("xl/worksheets/sheet"), 0) == 0 ||
        str_find_nocase(name, STR("sharedStrings"), 0) != STR_NONE)
        return false;
    return str_ends_with(name, STR("workbook.xml")) || str_ends_with(name, STR("styles.xml")) ||
           str_find_nocase(name, STR("docProps/"), 0) == 0 || str_ends_with(name, STR("workbook.xml.rels")) ||
           str_equal(name, STR("_rels/.rels"));
}

/* ---- workbook.xml ---- */

static void on_workbook(void *user, const struct xml_element *element)
{
    struct xlsx *xlsx = user;
    if (xml_is(element, "workbookPr")) {
        struct str value = xml_attribute(element, "date1904");
        xlsx->since_1904 = value.len && !office_is_off(value);
    } else if (xml_is(element, "sheet") && xlsx->n_sheets < MAX_SHEETS) {
        const struct relation *relation =
            relations_by_id(&xlsx->relations, xml_attribute_of(element, "/relationships", "id"));
        if (!relation || relation->external)
            return;
        struct str state = xml_attribute(element, "state");
        xlsx->sheets = mem_grow(xlsx->sheets, xlsx->n_sheets, &xlsx->sheet_capacity, sizeof *xlsx->sheets);
        xlsx->sheets[xlsx->n_sheets++] = (struct sheet){
            .name = str_dup(xml_attribute(element, "name")),
            .part = mem_strdup(relation->target),
            .hidden = str_equal(state, STR("hidden")) || str_equal(state, STR("veryHidden")),
        };
    }
}

/* ---- styles.xml ---- */

static enum number_style style_of_format(const struct xlsx *xlsx, int64_t id)
{
    for (size_t i = 0; i < xlsx->n_formats; i++)
        if (xlsx->formats[i].id == id)
            return xlsx->formats[i].style;
    return id >= 0 && id < 164 ? number_style_of_id((int)id) : NUMBER_PLAIN;
}

static void on_styles(void *user, const struct xml_element *element)
{
    struct xlsx *xlsx = user;
    if (xml_is(element, "numFmt") && xlsx->n_formats < 2000) {
        xlsx->formats = mem_grow(xlsx->formats, xlsx->n_formats, &xlsx->format_capacity, sizeof *xlsx->formats);
        xlsx->formats[xlsx->n_formats++] = (struct number_format){
            xml_integer(element, "numFmtId", -1), number_style_of_code(xml_attribute(element, "formatCode"))};
    } else if (xml_is(element, "cellXfs")) {
        xlsx->in_cell_formats = true;
    } else if (xlsx->in_cell_formats && xml_is(element, "xf") && xlsx->n_styles < MAX_STYLES) {
        xlsx->styles = mem_grow(xlsx->styles, xlsx->n_styles, &xlsx->style_capacity, sizeof *xlsx->styles);
        xlsx->styles[xlsx->n_styles++] = style_of_format(xlsx, xml_integer(element, "numFmtId", 0));
    }
}

static void on_styles_end(void *user, const char *name)
{
    struct xlsx *xlsx = user;
    if (strcmp(name, "cellXfs") == 0)
        xlsx->in_cell_formats = false;
}

/* ---- sharedStrings.xml ---- */

static void on_string_start(void *user, const struct xml_element *element)
{
    struct xlsx *xlsx = user;
    if (xml_is(element, "t"))
        xlsx->taking = !xlsx->phonetic;
    else if (xml_is(element, "rPh"))
        xlsx->phonetic = true;
}

static void on_string_end(void *user, const char *name)
{
    struct xlsx *xlsx = user;
    if (strcmp(name, "t") == 0) {
        xlsx->taking = false;
    } else if (strcmp(name, "rPh") == 0) {
        xlsx->phonetic = false;
    } else if (strcmp(name, "si") == 0) {
        if (xlsx->n_strings * sizeof(size_t) >= MAX_STRINGS) {
            xlsx->strings_cut = true;
            return;
        }
        xlsx->string_ends =
            mem_grow(xlsx->string_ends, xlsx->n_strings, &xlsx->string_capacity, sizeof *xlsx->string_ends);
        xlsx->string_ends[xlsx->n_strings++] = xlsx->strings.len;
    }
}

static void on_string_text(void *user, struct str text)
{
    struct xlsx *xlsx = user;
    if (xlsx->taking && buf_append_str(&xlsx->strings, text) != STATUS_OK)
        xlsx->strings_cut = true;
}

static bool shared_string(const struct xlsx *xlsx, struct str index, struct str *out)
{
    int64_t i;
    if (!str_to_int64(str_trim(index), &i) || i < 0 || (uint64_t)i >= xlsx->n_strings)
        return false;
    *out = str_slice(buf_str(&xlsx->strings), i ? xlsx->string_ends[i - 1] : 0, xlsx->string_ends[i]);
    return true;
}

/* ---- a sheet ---- */

/* "BC17" to column 54 and row 16, from 0. False for what is no place of a cell; a missing row is left. */
static bool parse_place(struct str text, uint32_t *row, uint32_t *column)
{
    uint64_t letters = 0, digits = 0;
    size_t i = 0;
    for (; i < text.len && i < 4 && ascii_is_alpha(text.data[i]); i++)
        letters = letters * 26 + (uint64_t)(ascii_lower(text.data[i]) - 'a' + 1);
    for (; i < text.len && ascii_is_digit(text.data[i]) && digits < 10000000; i++)
        digits = digits * 10 + (uint64_t)(text.data[i] - '0');
    if (i != text.len || letters < 1 || letters > OFFICE_MAX_COLUMNS || digits < 1 || digits > OFFICE_MAX_ROWS)
        return false;
    *column = (uint32_t)letters - 1;
    *row = (uint32_t)digits - 1;
    return true;
}

static void start_cell(struct xlsx *xlsx, const struct xml_element *element)
{
    uint32_t row = xlsx->row, column = xlsx->column + 1;
    struct str place = xml_attribute(element, "r");
    if (place.len && !parse_place(place, &row, &column))
        column = xlsx->column + 1;
    xlsx->row = row;
    xlsx->column = column;
    struct str type = str_slice(xml_attribute(element, "t"), 0, sizeof xlsx->type - 1);
    for (size_t i = 0; i < type.len; i++)
        xlsx->type[i] = type.data[i];
    xlsx->type[type.len] = '\0';
    int64_t style = xml_integer(element, "s", 0);
    xlsx->style = style >= 0 && (uint64_t)style < xlsx->n_styles ? xlsx->styles[style] : NUMBER_PLAIN;
    buf_reset(&xlsx->value);
}

static void add_merge(struct xlsx *xlsx, struct str range)
{
    struct grid_range merge;
    size_t colon = str_find_char(range, ':', 0);
    if (xlsx->n_merges >= MAX_MERGES || colon == STR_NONE ||
        !parse_place(str_slice(range, 0, colon), &merge.row, &merge.column) ||
        !parse_place(str_slice(range, colon + 1, range.len), &merge.last_row, &merge.last_column))
        return;
    xlsx->merges = mem_grow(xlsx->merges, xlsx->n_merges, &xlsx->merge_capacity, sizeof *xlsx->merges);
    xlsx->merges[xlsx->n_merges++] = merge;
}

static void on_cell_start(void *user, const struct xml_element *element)
{
    struct xlsx *xlsx = user;
    if (xml_is(element, "row")) {
        int64_t row = xml_integer(element, "r", (int64_t)xlsx->row + 2);
        if (row >= 1 && row <= OFFICE_MAX_ROWS)
            xlsx->row = (uint32_t)row - 1;
        xlsx->column = UINT32_MAX; /* the next one is 0 */
        xlsx->row_counted = false;
    } else if (xml_is(element, "c")) {
        start_cell(xlsx, element);
    } else if (xml_is(element, "v") || xml_is(element, "t")) {
        xlsx->taking = !xlsx->phonetic;
    } else if (xml_is(element, "rPh")) {
        xlsx->phonetic = true;
    } else if (xml_is(element, "mergeCell")) {
        add_merge(xlsx, xml_attribute(element, "ref"));
    }
}

static void on_cell_text(void *user, struct str text)
{
    struct xlsx *xlsx = user;
    if (xlsx->taking && xlsx->value.len + text.len <= MAX_VALUE)
        buf_add(&xlsx->value, text);
}

static void end_cell(struct xlsx *xlsx)
{
    struct str value = buf_str(&xlsx->value), shown = value;
    double number;
    struct buf text;
    buf_init(&text, BUF_UNBOUNDED);
    if (!value.len || xlsx->column >= OFFICE_MAX_COLUMNS)
        return;
    if (strcmp(xlsx->type, "s") == 0) {
        if (!shared_string(xlsx, value, &shown))
            shown = STR("(missing text)");
    } else if (strcmp(xlsx->type, "b") == 0) {
        shown = str_equal(value, STR("0")) ? STR("FALSE") : STR("TRUE");
    } else if ((!xlsx->type[0] || strcmp(xlsx->type, "n") == 0) && str_to_double(str_trim(value), &number)) {
        number_write(&text, number, xlsx->style, xlsx->since_1904);
        shown = buf_str(&text);
    } /* else "str", "inlineStr", "e" and "d" are what they say */
    if (!xlsx->row_counted)
        xlsx->rows++;
    xlsx->row_counted = true;
    grid_add(&xlsx->grid, xlsx->row, xlsx->column, shown);
    buf_finish(&text);
}

static void on_cell_end(void *user, const char *name)
{
    struct xlsx *xlsx = user;
    if (strcmp(name, "v") == 0 || strcmp(name, "t") == 0)
        xlsx->taking = false;
    else if (strcmp(name, "rPh") == 0)
        xlsx->phonetic = false;
    else if (strcmp(name, "c") == 0)
        end_cell(xlsx);
}

static enum status read_sheet(struct xlsx *xlsx, const struct sheet *sheet, struct error *error)
{
    static const struct xml_handler handler = {on_cell_start, on_cell_end, on_cell_text};
    struct buf title;
    grid_reset(&xlsx->grid);
    xlsx->grid.max_charge = xlsx->writer.out->cap - xlsx->writer.out->len;
    xlsx->n_merges = 0;
    xlsx->rows = 0;
    xlsx->row = 0;
    xlsx->column = UINT32_MAX;
    xlsx->taking = xlsx->phonetic = false;
    enum status status = package_parse(xlsx->package, str_of(sheet->part), &handler, xlsx, error);
    if (status == STATUS_NOT_FOUND) {
        reading_note(xlsx->package->reading, "The sheet \"%s\" is missing in the file.", sheet->name);
        return STATUS_OK;
    }
    if (status != STATUS_OK)
        return status;
    buf_init(&title, BUF_UNBOUNDED);
    buf_addf(&title, "%s%s", sheet->name[0] ? sheet->name : "Sheet", sheet->hidden ? " (hidden sheet)" : "");
    writer_heading(&xlsx->writer, 2, buf_str(&title));
    buf_finish(&title);
    grid_merge(&xlsx->grid, xlsx->merges, xlsx->n_merges);
    grid_write(&xlsx->grid, &xlsx->writer);
    if (xlsx->grid.full || xlsx->writer.full)
        reading_note(xlsx->package->reading, "The sheet \"%s\" has %llu rows; the first of them are shown.",
                     sheet->name, (unsigned long long)xlsx->rows);
    if (!xlsx->rows)
        writer_paragraph(&xlsx->writer, STR("(empty)"));
    xlsx->writer.full = xlsx->writer.full || xlsx->grid.full;
    return STATUS_OK;
}

static struct str target_of(const struct xlsx *xlsx, const char *type)
{
    const struct relation *relation = relations_by_type(&xlsx->relations, type);
    return relation ? str_of(relation->target) : (struct str){0};
}

static enum status read_parts(struct xlsx *xlsx, struct str main, struct error *error)
{
    static const struct xml_handler workbook = {.start = on_workbook};
    static const struct xml_handler styles = {.start = on_styles, .end = on_styles_end};
    static const struct xml_handler strings = {on_string_start, on_string_end, on_string_text};
    enum status status = relations_load(xlsx->package, main, &xlsx->relations, error);
    if (status == STATUS_OK)
        status = package_parse(xlsx->package, main, &workbook, xlsx, error);
    struct str part = target_of(xlsx, "styles");
    if (status == STATUS_OK && part.len && package_has(xlsx->package, part))
        status = package_parse(xlsx->package, part, &styles, xlsx, error);
    part = target_of(xlsx, "sharedStrings");
    if (status == STATUS_OK && part.len && package_has(xlsx->package, part))
        status = package_parse(xlsx->package, part, &strings, xlsx, error);
    return status;
}

static void finish(struct xlsx *xlsx)
{
    for (size_t i = 0; i < xlsx->n_sheets; i++) {
        free(xlsx->sheets[i].name);
        free(xlsx->sheets[i].part);
    }
    free(xlsx->sheets);
    buf_finish(&xlsx->strings);
    free(xlsx->string_ends);
    free(xlsx->formats);
    free(xlsx->styles);
    grid_finish(&xlsx->grid);
    buf_finish(&xlsx->value);
    free(xlsx->merges);
    relations_finish(&xlsx->relations);
}

enum status xlsx_read(const struct package *package, struct str main, struct reader_text *out, struct error *error)
{
    struct xlsx xlsx = {.package = package};
    writer_init(&xlsx.writer, &out->markdown);
    buf_init(&xlsx.strings, MAX_STRINGS);
    buf_init(&xlsx.value, BUF_UNBOUNDED);
    grid_init(&xlsx.grid, out->markdown.cap);
    enum status status = read_parts(&xlsx, main, error);
    for (size_t i = 0; status == STATUS_OK && i < xlsx.n_sheets && !xlsx.writer.full; i++)
        status = read_sheet(&xlsx, &xlsx.sheets[i], error);
    if (status == STATUS_OK && !xlsx.n_sheets)
        status = error_set(error, STATUS_SYNTAX, "the workbook names no sheets");
    if (xlsx.strings_cut)
        reading_note(package->reading,
                     "The workbook holds more text than is read; some cells show \"(missing text)\".");
    out->pages = (int)xlsx.n_sheets;
    out->truncated = out->truncated || xlsx.writer.full;
    finish(&xlsx);
    return status;
}
