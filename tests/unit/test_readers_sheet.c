/* XLSX and ODS: values by type and format, merged and repeated cells, hidden sheets; and the bombs of both. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/mem.h"
#include "support/zip.h"

#define S "xmlns=\"http://schemas.openxmlformats.org/spreadsheetml/2006/main\""
#define R "xmlns:r=\"http://schemas.openxmlformats.org/officeDocument/2006/relationships\""
#define RELATION(id, type, target)                                                                                 \
    "<Relationship Id=\"" id "\" Type=\"http://schemas.openxmlformats.org/officeDocument/2006/relationships/" type \
    "\" Target=\"" target "\"/>"

static const char content_types[] =
    "<Types xmlns=\"http://schemas.openxmlformats.org/package/2006/content-types\"><Override "
    "PartName=\"/xl/workbook.xml\" ContentType=\"application/"
    "vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml\"/></Types>";
static const char package_relations[] =
    "<Relationships xmlns=\"http://schemas.openxmlformats.org/package/2006/relationships\">" RELATION(
        "rId1", "officeDocument", "/xl/workbook.xml") "</Relationships>";
static const char book_relations[] =
    "<Relationships xmlns=\"http://schemas.openxmlformats.org/package/2006/relationships\">" RELATION(
        "rId1", "worksheet", "worksheets/sheet1.xml") RELATION("rId2", "worksheet", "worksheets/sheet2.xml")
        RELATION("rId3", "styles", "styles.xml")
            RELATION("rId4", "sharedStrings", "sharedStrings.xml") "</Relationships>";
/* cell formats: 0 general, 1 date, 2 percent, 3 time, 4 date and time, 5 custom date, 6 elapsed, 7 no date, 8 text in
 * quotes, 9 colour and locale, 10 months alone */
static const char styles[] =
    "<styleSheet " S "><numFmts><numFmt numFmtId=\"164\" formatCode=\"dd/mm/yyyy\"/>"
    "<numFmt numFmtId=\"165\" formatCode=\"[h]:mm:ss\"/><numFmt numFmtId=\"166\" formatCode=\"0.00E+00\"/>"
    "<numFmt numFmtId=\"167\" formatCode=\"0 &quot;days&quot;\"/>"
    "<numFmt numFmtId=\"168\" formatCode=\"[Red][$-409]d\\ mmm\\ yyyy;@\"/><numFmt numFmtId=\"169\" "
    "formatCode=\"mmm\"/>"
    "</numFmts><cellStyleXfs><xf numFmtId=\"14\"/></cellStyleXfs><cellXfs><xf numFmtId=\"0\"/><xf numFmtId=\"14\"/>"
    "<xf numFmtId=\"10\"/><xf numFmtId=\"20\"/><xf numFmtId=\"22\"/><xf numFmtId=\"164\"/><xf numFmtId=\"165\"/>"
    "<xf numFmtId=\"166\"/><xf numFmtId=\"167\"/><xf numFmtId=\"168\"/><xf numFmtId=\"169\"/></cellXfs></styleSheet>";
static const char strings[] =
    "<sst " S "><si><t>first</t></si><si><r><t>ri</t></r><r><t>ch</t></r><rPh><t>phonetic</t></rPh></si></sst>";

/* A workbook with one visible sheet, and a second one that is hidden. `properties` stands in workbookPr. */
static struct buf make_xlsx(const char *rows, const char *properties)
{
    char *book = mem_printf("<workbook " S " " R "><workbookPr %s/><sheets><sheet name=\"One\" r:id=\"rId1\"/><sheet "
                            "name=\"Two\" state=\"veryHidden\" r:id=\"rId2\"/></sheets></workbook>",
                            properties);
    char *sheet = mem_printf("<worksheet " S ">%s</worksheet>", rows);
    const struct zip_part parts[] = {
        ZIP_PART("[Content_Types].xml", content_types),
        ZIP_PART("_rels/.rels", package_relations),
        {"xl/workbook.xml", str_of(book)},
        ZIP_PART("xl/_rels/workbook.xml.rels", book_relations),
        {"xl/worksheets/sheet1.xml", str_of(sheet)},
        ZIP_PART("xl/worksheets/sheet2.xml", "<worksheet " S "><sheetData/></worksheet>"),
        ZIP_PART("xl/styles.xml", styles),
        ZIP_PART("xl/sharedStrings.xml", strings),
    };
    struct buf zip = archive_make("zip", parts, sizeof parts / sizeof parts[0]);
    free(book);
    free(sheet);
    return zip;
}

static void assert_sheet(struct str bytes, const char *name, enum reader_kind kind, const char *cells)
{
    char *expected = mem_printf("## One\n\n%s\n\n## Two (hidden sheet)\n\n(empty)", cells);
    assert_markdown(bytes, name, kind, expected);
    free(expected);
}

static void xlsx__shows_values_by_type_and_format(void **state)
{
    (void)state;
    static const struct {
        const char *cell, *shown;
    } cases[] = {
        {"<c t=\"s\"><v>0</v></c>", "first"},
        {"<c t=\"s\"><v>1</v></c>", "rich"},
        {"<c t=\"s\"><v>2</v></c>", "(missing text)"},
        {"<c t=\"s\"><v>-1</v></c>", "(missing text)"},
        {"<c t=\"s\"><v>99999999999999999999</v></c>", "(missing text)"},
        {"<c t=\"inlineStr\"><is><t>in</t><r><t>line</t></r></is></c>", "inline"},
        {"<c t=\"str\"><f>A1&amp;B1</f><v>joined</v></c>", "joined"},
        {"<c t=\"b\"><v>1</v></c>", "TRUE"},
        {"<c t=\"e\"><v>#DIV/0!</v></c>", "#DIV/0!"},
        {"<c t=\"d\"><v>2024-05-06</v></c>", "2024-05-06"},
        {"<c><v>0.30000000000000004</v></c>", "0.3"},
        {"<c><v>12345678901</v></c>", "12345678901"},
        {"<c><v>-1.5E-7</v></c>", "-1.5e-07"},
        {"<c s=\"77\"><v>5</v></c>", "5"},
        {"<c s=\"1\"><v>45351</v></c>", "2024-02-29"},
        {"<c s=\"1\"><v>1</v></c>", "1900-01-01"},
        {"<c s=\"1\"><v>59</v></c>", "1900-02-28"},
        {"<c s=\"1\"><v>60</v></c>", "1900-02-29"},
        {"<c s=\"1\"><v>61</v></c>", "1900-03-01"},
        {"<c s=\"1\"><v>2958465</v></c>", "9999-12-31"},
        {"<c s=\"1\"><v>-3</v></c>", "-3"},
        {"<c s=\"1\"><v>1e300</v></c>", "1e+300"},
        {"<c s=\"2\"><v>0.125</v></c>", "12.5%"},
        {"<c s=\"3\"><v>0.5625</v></c>", "13:30"},
        {"<c s=\"4\"><v>45351.99999</v></c>", "2024-02-29 23:59:59"},
        {"<c s=\"5\"><v>45351</v></c>", "2024-02-29"},
        {"<c s=\"6\"><v>1.5</v></c>", "36:00:00"},
        {"<c s=\"7\"><v>45351</v></c>", "45351"},
        {"<c s=\"8\"><v>3</v></c>", "3"},
        {"<c s=\"9\"><v>45351</v></c>", "2024-02-29"},
        {"<c s=\"10\"><v>45351</v></c>", "2024-02-29"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *rows = mem_printf("<sheetData><row>%s</row></sheetData>", cases[i].cell);
        struct buf xlsx = make_xlsx(rows, "");
        assert_sheet(buf_str(&xlsx), "a.xlsx", READER_XLSX, cases[i].shown);
        buf_finish(&xlsx);
        free(rows);
    }
    struct buf since_1904 =
        make_xlsx("<sheetData><row><c s=\"1\"><v>43889</v></c></row></sheetData>", "date1904=\"1\"");
    assert_sheet(buf_str(&since_1904), "a.xlsx", READER_XLSX, "2024-02-29");
    buf_finish(&since_1904);
}

#define STRING(place, text) "<c r=\"" place "\" t=\"inlineStr\"><is><t>" text "</t></is></c>"

static void xlsx__lays_cells_out(void **state)
{
    (void)state;
    static const struct {
        const char *rows, *shown;
    } cases[] = {
        {"<row r=\"1\">" STRING("A1", "Report of May") "</row><row r=\"3\">" STRING("A3", "h1")
             STRING("C3", "h2") "</row><row r=\"4\">" STRING("C4", "x|y") "</row><row>" STRING("A5", "z")
                 STRING("C5", "1&#10;2") "</row>",
         "Report of May\n\n| h1 | h2 |\n| --- | --- |\n|  | x\\|y |\n| z | 1<br>2 |"},
        {"<row>" STRING("A1", "a")
             STRING("XFD1", "b") "</row><row r=\"1048576\">" STRING("XFD1048576", "last") "</row>",
         "| a | b |\n| --- | --- |\n|  | last |"},
        {"<row r=\"2\">" STRING("B2", "second") "</row><row r=\"1\">" STRING("B1", "first") STRING("A1", "id") "</row>",
         "| id | first |\n| --- | --- |\n|  | second |"},
        {"<row>" STRING("A1", "a") STRING("ZZZZ9", "odd") STRING("A0", "odd2") "</row>",
         "| a | odd | odd2 |\n| --- | --- | --- |"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *rows = mem_printf("<sheetData>%s</sheetData>", cases[i].rows);
        struct buf xlsx = make_xlsx(rows, "");
        assert_sheet(buf_str(&xlsx), "a.xlsx", READER_XLSX, cases[i].shown);
        buf_finish(&xlsx);
        free(rows);
    }
}

static void xlsx__repeats_merged_cells(void **state)
{
    (void)state;
    struct buf xlsx = make_xlsx(
        "<sheetData><row>" STRING("A1", "Title over all") "</row><row>" STRING("A2", "g")
            STRING("B2", "group") "</row><row>" STRING("B3", "x") STRING(
                "C3", "y") "</row></sheetData><mergeCells><mergeCell ref=\"A1:C1\"/><mergeCell ref=\"A2:A3\"/>"
                           "<mergeCell ref=\"B2:C2\"/><mergeCell ref=\"A2:XFD1048576\"/><mergeCell ref=\"B9:A1\"/>"
                           "</mergeCells>",
        "");
    assert_sheet(buf_str(&xlsx), "a.xlsx", READER_XLSX,
                 "Title over all\n\n| g | group | group |\n| --- | --- | --- |\n| g | x | y |");
    buf_finish(&xlsx);
}

static void xlsx__says_how_much_there_is(void **state)
{
    (void)state;
    struct buf rows;
    buf_init(&rows, BUF_UNBOUNDED);
    buf_add_text(&rows, "<sheetData>");
    for (int i = 0; i < 20000; i++)
        buf_addf(&rows, "<row><c><v>%d</v></c><c><v>%d</v></c></row>", i, 2 * i);
    buf_add_text(&rows, "</sheetData>");
    struct buf xlsx = make_xlsx(rows.data, "");
    struct reader_source source = {.bytes = buf_str(&xlsx), .confined = true, .max_bytes = 10000};
    struct reader_text text;
    assert_int_equal(reader_read(&source, &text, NULL), STATUS_OK);
    assert_true(text.truncated);
    assert_true(text.markdown.len <= 10000);
    assert_non_null(strstr(text.notice, "\"One\" has 20000 rows"));
    reader_text_finish(&text);
    buf_finish(&xlsx);
    buf_finish(&rows);
}

static void xlsx__survives_being_cut_anywhere(void **state)
{
    (void)state;
    struct buf xlsx = make_xlsx("<sheetData><row>" STRING("A1", "a") "<c t=\"s\"><v>1</v></c></row></sheetData>", "");
    for (size_t length = 0; length < xlsx.len; length += 5) {
        char *copy = str_dup(str_slice(buf_str(&xlsx), 0, length));
        struct reader_text text;
        if (read_confined(str_make(copy, length), "a.xlsx", &text, NULL) == STATUS_OK)
            reader_text_finish(&text);
        free(copy);
    }
    for (size_t at = 0; at < xlsx.len; at += 3) {
        char saved = xlsx.data[at];
        struct reader_text text;
        xlsx.data[at] = (char)(saved ^ 0x21);
        if (read_confined(buf_str(&xlsx), "a.xlsx", &text, NULL) == STATUS_OK)
            reader_text_finish(&text);
        xlsx.data[at] = saved;
    }
    buf_finish(&xlsx);
}

/* ---- ODS ---- */

#define ODS_SPACES                                                       \
    "xmlns:office=\"urn:oasis:names:tc:opendocument:xmlns:office:1.0\" " \
    "xmlns:table=\"urn:oasis:names:tc:opendocument:xmlns:table:1.0\" "   \
    "xmlns:text=\"urn:oasis:names:tc:opendocument:xmlns:text:1.0\" "     \
    "xmlns:style=\"urn:oasis:names:tc:opendocument:xmlns:style:1.0\""

static struct buf make_ods(const char *rows)
{
    char *content =
        mem_printf("<office:document-content " ODS_SPACES "><office:automatic-styles><style:style style:name=\"ta2\" "
                   "style:family=\"table\"><style:table-properties "
                   "table:display=\"false\"/></style:style></office:automatic-styles>"
                   "<office:body><office:spreadsheet><table:table table:name=\"One\">%s</table:table><table:table "
                   "table:name=\"Two\" "
                   "table:style-name=\"ta2\"/></office:spreadsheet></office:body></office:document-content>",
                   rows);
    const struct zip_part parts[] = {
        ZIP_PART("mimetype", "application/vnd.oasis.opendocument.spreadsheet"),
        {"content.xml", str_of(content)},
    };
    struct buf zip = archive_make("zip", parts, 2);
    free(content);
    return zip;
}

#define ODS_TEXT(text) "<table:table-cell office:value-type=\"string\"><text:p>" text "</text:p></table:table-cell>"
#define ODS_ROW(cells) "<table:table-row>" cells "</table:table-row>"

static void ods__shows_values(void **state)
{
    (void)state;
    static const struct {
        const char *rows, *shown;
    } cases[] = {
        {ODS_ROW(ODS_TEXT("a") ODS_TEXT("b<text:s text:c=\"2\"/>c")) ODS_ROW(
             "<table:table-cell office:value-type=\"date\" office:date-value=\"2024-02-29T13:45:00\"><text:p>29.02.24"
             "</text:p></table:table-cell><table:table-cell office:value-type=\"float\" "
             "office:value=\"0.1\"><text:p>0,1"
             "</text:p></table:table-cell>"),
         "| a | b c |\n| --- | --- |\n| 2024-02-29 13:45 | 0.1 |"},
        {ODS_ROW(
             "<table:table-cell table:number-columns-repeated=\"3\" office:value-type=\"float\" office:value=\"7\"/>"),
         "| 7 | 7 | 7 |\n| --- | --- | --- |"},
        {"<table:table-row table:number-rows-repeated=\"2\">" ODS_TEXT("x") ODS_TEXT("y") "</table:table-row>",
         "| x | y |\n| --- | --- |\n| x | y |"},
        {ODS_ROW("<table:table-cell table:number-columns-repeated=\"1000000\"/>" ODS_TEXT("far"))
             ODS_ROW(ODS_TEXT("near")),
         "near"},
        {"<table:table-row table:number-rows-repeated=\"1048570\"><table:table-cell/></table:table-row>" ODS_ROW(
             ODS_TEXT("low") ODS_TEXT("er")),
         "| low | er |\n| --- | --- |"},
        {ODS_ROW("<table:table-cell table:number-rows-spanned=\"2\"><text:p>t</text:p></table:table-cell>" ODS_TEXT(
             "1")) ODS_ROW("<table:covered-table-cell/>" ODS_TEXT("2")),
         "| t | 1 |\n| --- | --- |\n| t | 2 |"},
        {ODS_ROW("<table:table-cell office:value-type=\"time\" office:time-value=\"PT26H05M09S\"/>"), "26:05:09"},
        {ODS_ROW("<table:table-cell office:value-type=\"boolean\" office:boolean-value=\"false\"/>"), "FALSE"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct buf ods = make_ods(cases[i].rows);
        assert_sheet(buf_str(&ods), "a.ods", READER_ODS, cases[i].shown);
        buf_finish(&ods);
    }
}

static void ods__bounds_what_is_repeated(void **state)
{
    (void)state;
    struct buf ods = make_ods("<table:table-row table:number-rows-repeated=\"1048576\"><table:table-cell "
                              "table:number-columns-repeated=\"16384\" office:value-type=\"float\" office:value=\"1\"/>"
                              "</table:table-row>");
    struct reader_source source = {.bytes = buf_str(&ods), .confined = true, .max_bytes = 1 << 20};
    struct reader_text text;
    assert_int_equal(reader_read(&source, &text, NULL), STATUS_OK);
    assert_true(text.truncated && text.markdown.len <= 1 << 20);
    assert_non_null(strstr(text.notice, "1048576 rows"));
    reader_text_finish(&text);
    buf_finish(&ods);
}

static void ods__names_what_is_encrypted(void **state)
{
    (void)state;
    const struct zip_part parts[] = {
        ZIP_PART("mimetype", "application/vnd.oasis.opendocument.spreadsheet"),
        ZIP_PART("content.xml", "\1\2\3 garbage"),
        ZIP_PART(
            "META-INF/manifest.xml",
            "<manifest:manifest xmlns:manifest=\"urn:oasis:names:tc:opendocument:xmlns:manifest:1.0\">"
            "<manifest:file-entry manifest:full-path=\"content.xml\"><manifest:encryption-data/></manifest:file-entry>"
            "</manifest:manifest>")};
    struct buf zip = archive_make("zip", parts, 3);
    assert_refused(buf_str(&zip), "a.ods", STATUS_DENIED, "without a password");
    buf_finish(&zip);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(xlsx__shows_values_by_type_and_format),
        cmocka_unit_test(xlsx__lays_cells_out),
        cmocka_unit_test(xlsx__repeats_merged_cells),
        cmocka_unit_test(xlsx__says_how_much_there_is),
        cmocka_unit_test(xlsx__survives_being_cut_anywhere),
        cmocka_unit_test(ods__shows_values),
        cmocka_unit_test(ods__bounds_what_is_repeated),
        cmocka_unit_test(ods__names_what_is_encrypted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
