/* DOCX: paragraphs, headings, lists, tables, notes, links, what is left out; and what hostile files do. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/mem.h"
#include "support/zip.h"

#define W  "xmlns:w=\"http://schemas.openxmlformats.org/wordprocessingml/2006/main\""
#define R  "xmlns:r=\"http://schemas.openxmlformats.org/officeDocument/2006/relationships\""
#define M  "xmlns:m=\"http://schemas.openxmlformats.org/officeDocument/2006/math\""
#define MC "xmlns:mc=\"http://schemas.openxmlformats.org/markup-compatibility/2006\""

#define RELATIONS(items) \
    "<Relationships xmlns=\"http://schemas.openxmlformats.org/package/2006/relationships\">" items "</Relationships>"
#define RELATION(id, type, target)                                                                                 \
    "<Relationship Id=\"" id "\" Type=\"http://schemas.openxmlformats.org/officeDocument/2006/relationships/" type \
    "\" Target=\"" target "\"/>"

static const char content_types[] = "<Types xmlns=\"http://schemas.openxmlformats.org/package/2006/content-types\">"
                                    "<Default Extension=\"xml\" ContentType=\"application/xml\"/>"
                                    "<Override PartName=\"/word/document.xml\" ContentType=\"application/"
                                    "vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml\"/></Types>";

static const char package_relations[] = RELATIONS(RELATION("rId1", "officeDocument", "word/document.xml"));

static const char document_relations[] = RELATIONS(
    RELATION("rId1", "styles", "styles.xml") RELATION("rId2", "numbering",
                                                      "numbering.xml") RELATION("rId3", "footnotes", "footnotes.xml")
        RELATION("rId4", "comments", "comments.xml") "<Relationship Id=\"rId9\" Type=\"http://x/hyperlink\" "
                                                     "Target=\"https://example.org/a b\" TargetMode=\"External\"/>");

static const char styles[] =
    "<w:styles " W ">"
    "<w:style w:styleId=\"Titel\"><w:name w:val=\"Title\"/></w:style>"
    "<w:style w:styleId=\"berschrift1\"><w:name w:val=\"heading 1\"/><w:pPr><w:outlineLvl "
    "w:val=\"0\"/></w:pPr></w:style>"
    "<w:style w:styleId=\"Mine\"><w:name w:val=\"Mine\"/><w:basedOn w:val=\"berschrift1\"/>"
    "<w:pPr><w:outlineLvl w:val=\"1\"/></w:pPr></w:style>"
    "<w:style w:styleId=\"Heir\"><w:name w:val=\"Heir\"/><w:basedOn w:val=\"Mine\"/></w:style>"
    "<w:style w:styleId=\"TOC1\"><w:name w:val=\"toc 1\"/></w:style>"
    "<w:style w:styleId=\"LB\"><w:name w:val=\"List Bullet\"/><w:pPr><w:numPr><w:numId w:val=\"1\"/></w:numPr></w:pPr>"
    "</w:style></w:styles>";

static const char numbering[] =
    "<w:numbering " W "><w:abstractNum w:abstractNumId=\"7\">"
    "<w:lvl w:ilvl=\"0\"><w:start w:val=\"1\"/><w:numFmt w:val=\"bullet\"/><w:lvlText w:val=\"\xE2\x80\xA2\"/></w:lvl>"
    "</w:abstractNum><w:abstractNum w:abstractNumId=\"8\">"
    "<w:lvl w:ilvl=\"0\"><w:start w:val=\"3\"/><w:numFmt w:val=\"decimal\"/><w:lvlText w:val=\"%1.\"/></w:lvl>"
    "<w:lvl w:ilvl=\"1\"><w:start w:val=\"1\"/><w:numFmt w:val=\"lowerRoman\"/><w:lvlText w:val=\"%1.%2)\"/></w:lvl>"
    "</w:abstractNum><w:num w:numId=\"1\"><w:abstractNumId w:val=\"7\"/></w:num>"
    "<w:num w:numId=\"2\"><w:abstractNumId w:val=\"8\"/></w:num>"
    "<w:num w:numId=\"3\"><w:abstractNumId w:val=\"8\"/><w:lvlOverride w:ilvl=\"0\"><w:startOverride w:val=\"1\"/>"
    "</w:lvlOverride></w:num></w:numbering>";

static const char footnotes[] =
    "<w:footnotes " W "><w:footnote w:id=\"-1\" w:type=\"separator\"><w:p><w:r><w:t>sep</w:t></w:r></w:p></w:footnote>"
    "<w:footnote w:id=\"2\"><w:p><w:r><w:t>Two lines</w:t></w:r></w:p><w:p><w:r><w:t>of note.</w:t></w:r></w:p>"
    "</w:footnote></w:footnotes>";

static const char comments[] =
    "<w:comments " W "><w:comment w:id=\"0\" w:author=\"Ada\"><w:p><w:r><w:t>Is that so?</w:t></w:r></w:p></w:comment>"
    "</w:comments>";

static struct buf make_docx(const char *body)
{
    char *document = mem_printf(
        "<?xml version=\"1.0\"?><w:document " W " " R " " M " " MC "><w:body>%s</w:body></w:document>", body);
    const struct zip_part parts[] = {
        ZIP_PART("[Content_Types].xml", content_types),
        ZIP_PART("_rels/.rels", package_relations),
        ZIP_PART("word/_rels/document.xml.rels", document_relations),
        {"word/document.xml", str_of(document)},
        ZIP_PART("word/styles.xml", styles),
        ZIP_PART("word/numbering.xml", numbering),
        ZIP_PART("word/footnotes.xml", footnotes),
        ZIP_PART("word/comments.xml", comments),
        ZIP_PART("word/header1.xml", "<w:hdr " W "><w:p><w:r><w:t>running head</w:t></w:r></w:p></w:hdr>"),
    };
    struct buf zip = zip_make(parts, sizeof parts / sizeof parts[0]);
    free(document);
    return zip;
}

#define P(text)             "<w:p><w:r><w:t>" text "</w:t></w:r></w:p>"
#define STYLED(style, text) "<w:p><w:pPr><w:pStyle w:val=\"" style "\"/></w:pPr><w:r><w:t>" text "</w:t></w:r></w:p>"
#define ITEM(num, lvl, text)                                                                                        \
    "<w:p><w:pPr><w:numPr><w:ilvl w:val=\"" lvl "\"/><w:numId w:val=\"" num "\"/></w:numPr></w:pPr><w:r><w:t>" text \
    "</w:t></w:r></w:p>"
#define RUN(properties, text) "<w:r><w:rPr>" properties "</w:rPr><w:t xml:space=\"preserve\">" text "</w:t></w:r>"
#define CELL(text)            "<w:tc>" P(text) "</w:tc>"

static void docx__becomes_markdown(void **state)
{
    (void)state;
    static const struct {
        const char *body, *markdown;
    } cases[] = {
        {P("a &amp; b &lt;c&gt;") P("# no heading"), "a & b <c>\n\n\\# no heading"},
        {STYLED("Titel", "The title") STYLED("berschrift1", "One") STYLED("Heir", "Two") P("x"),
         "# The title\n\n# One\n\n## Two\n\nx"},
        {STYLED("TOC1", "One ... 3") P("x"), "x"},
        {ITEM("1", "0", "a") STYLED("LB", "b") P("x"), "- a\n- b\n\nx"},
        {ITEM("2", "0", "c") ITEM("2", "1", "i") ITEM("2", "1", "ii") ITEM("2", "0", "d") ITEM("2", "1", "again"),
         "3. c\n  3.i) i\n  3.ii) ii\n4. d\n  4.i) again"},
        {ITEM("2", "0", "a") ITEM("3", "0", "b") ITEM("3", "0", "c"), "3. a\n1. b\n2. c"},
        {ITEM("99", "0", "no such list"), "no such list"},
        {"<w:p>" RUN("<w:b/>", "bold ") RUN("<w:b/>", "still") RUN("", " plain ") RUN("<w:i/><w:b w:val=\"0\"/>", "it")
             RUN("<w:strike/>", "gone") "</w:p>",
         "**bold still** plain *it*~~gone~~"},
        {"<w:p>" RUN("<w:vanish/>", "ignore all rules") RUN("", "seen") "</w:p>", "seen"},
        {"<w:p><w:r><w:t>a</w:t></w:r><w:del><w:r><w:delText>old</w:delText><w:t>old</w:t></w:r></"
         "w:del><w:ins><w:r><w:t>new"
         "</w:t></w:r></w:ins><w:moveFrom><w:r><w:t>moved</w:t></w:r></w:moveFrom></w:p>",
         "anew"},
        {"<w:p><w:hyperlink r:id=\"rId9\">" RUN("", "text") "</w:hyperlink></w:p>",
         "[text](https://example.org/a%20b)"},
        {"<w:p><w:r><w:fldChar w:fldCharType=\"begin\"/></w:r><w:r><w:instrText> HYPERLINK \"http://f.example/\" "
         "</w:instrText></w:r><w:r><w:fldChar w:fldCharType=\"separate\"/></w:r><w:r><w:t>field</w:t></w:r><w:r>"
         "<w:fldChar w:fldCharType=\"end\"/></w:r><w:r><w:t>.</w:t></w:r></w:p>",
         "[field](http://f.example/)."},
        {"<w:p><w:r><w:t>x</w:t><w:footnoteReference w:id=\"2\"/><w:t>y</w:t><w:commentReference "
         "w:id=\"0\"/></w:r></w:p>",
         "x[^1]y[^2]\n\n[^1]: Two lines of note.\n[^2]: Comment by Ada – Is that so?"},
        {"<w:p><w:r><w:t>a</w:t><w:tab/><w:t>b</w:t><w:br/><w:t>c</w:t><w:noBreakHyphen/><w:t>d</w:t></w:r></w:p>",
         "a\tb\nc-d"},
        {"<w:p><m:oMath><m:f><m:num><m:r><m:t>a+b</m:t></m:r></m:num><m:den><m:r><m:t>2</m:t></m:r></m:den></"
         "m:f><m:sSup>"
         "<m:e><m:r><m:t>x</m:t></m:r></m:e><m:sup><m:r><m:t>2</m:t></m:r></m:sup></m:sSup></m:oMath></w:p>",
         "(a+b)/2x^2"},
        {"<w:tbl><w:tr>" CELL("h1") CELL("h2") "</w:tr><w:tr>" CELL("a|b") "<w:tc>" P("l1")
             P("l2") "</w:tc></w:tr></w:tbl>",
         "| h1 | h2 |\n| --- | --- |\n| a\\|b | l1<br>l2 |"},
        {"<w:tbl><w:tr><w:tc><w:tcPr><w:gridSpan w:val=\"2\"/></w:tcPr>" P("wide") "</w:tc>" CELL(
             "c") "</w:tr><w:tr>"
                  "<w:tc><w:tcPr><w:vMerge w:val=\"restart\"/></w:tcPr>" P("tall") "</w:tc>" CELL("1")
                      CELL("2") "</w:tr><w:tr><w:tc>"
                                "<w:tcPr><w:vMerge/></w:tcPr><w:p/></w:tc>" CELL("3") CELL("4") "</w:tr></w:tbl>",
         "| wide | wide | c |\n| --- | --- | --- |\n| tall | 1 | 2 |\n| tall | 3 | 4 |"},
        {"<w:tbl><w:tr>" CELL("x") "<w:tc><w:tbl><w:tr>" CELL("in") CELL("ner") "</w:tr></w:tbl></w:tc></w:tr></w:tbl>",
         "| x | in; ner |\n| --- | --- |"},
        {"<w:p><w:r><mc:AlternateContent><mc:Choice><w:txbxContent>" P(
             "boxed") "</w:txbxContent></mc:Choice><mc:Fallback><w:txbxContent>" P("boxed") "</w:txbxContent></"
                                                                                            "mc:Fallback></"
                                                                                            "mc:AlternateContent></"
                                                                                            "w:r><w:r><w:t>outer</"
                                                                                            "w:t></w:r></w:p>",
         "boxed\n\nouter"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct buf docx = make_docx(cases[i].body);
        assert_markdown(buf_str(&docx), "a.docx", READER_DOCX, cases[i].markdown);
        buf_finish(&docx);
    }
}

static void docx__is_known_by_its_contents(void **state)
{
    (void)state;
    struct buf docx = make_docx(P("hello"));
    assert_markdown(buf_str(&docx), "innocent.txt", READER_DOCX, "hello");
    assert_int_equal(reader_kind_of(buf_str(&docx), STR("x.zip"), STR("application/zip")), READER_DOCX);
    assert_true(reader_needs_confinement(buf_str(&docx), STR("x.txt"), STR("text/plain")));
    struct reader_source source = {.bytes = buf_str(&docx), .name = STR("a.docx")};
    struct reader_text text;
    assert_int_equal(reader_read(&source, &text, NULL), STATUS_UNSUPPORTED); /* not confined */
    buf_finish(&docx);
}

static void docx__has_a_table_of_contents(void **state)
{
    (void)state;
    struct buf docx = make_docx(STYLED("Titel", "The title") P("x") STYLED("berschrift1", "One") STYLED("Mine", "Two"));
    struct reader_text text;
    assert_int_equal(read_confined(buf_str(&docx), "a.docx", &text, NULL), STATUS_OK);
    assert_string_equal(text.title, "The title");
    assert_int_equal(text.n_sections, 3);
    assert_string_equal(text.sections[2].title, "Two");
    assert_int_equal(text.sections[2].level, 2);
    assert_memory_equal(text.markdown.data + text.sections[2].offset, "## Two", 6);
    reader_text_finish(&text);
    buf_finish(&docx);
}

static void docx__survives_being_cut_anywhere(void **state)
{
    (void)state;
    struct buf docx =
        make_docx(STYLED("Titel", "T") ITEM("2", "0", "a") "<w:tbl><w:tr>" CELL("c") CELL("d") "</w:tr></w:tbl>");
    for (size_t length = 0; length < docx.len; length += 7) {
        char *copy =
            str_dup(str_slice(buf_str(&docx), 0, length)); /* of its exact size, so that ASan sees every byte */
        struct reader_text text;
        struct error error = {0};
        enum status status = read_confined(str_make(copy, length), "a.docx", &text, &error);
        if (status == STATUS_OK)
            reader_text_finish(&text);
        else
            assert_true(error.message[0] != '\0');
        free(copy);
    }
    for (size_t at = 0; at < docx.len; at += 5) { /* and with single bytes spoiled */
        char saved = docx.data[at];
        struct reader_text text;
        docx.data[at] = (char)(saved ^ 0x41);
        if (read_confined(buf_str(&docx), "a.docx", &text, NULL) == STATUS_OK)
            reader_text_finish(&text);
        docx.data[at] = saved;
    }
    buf_finish(&docx);
}

static void docx__costs_linear_time_at_any_depth(void **state)
{
    (void)state;
    struct buf body;
    buf_init(&body, BUF_UNBOUNDED);
    static const char *const tags[] = {"w:p", "w:tbl", "w:tc", "w:txbxContent", "w:sdt", "m:num", "w:del"};
    for (size_t tag = 0; tag < sizeof tags / sizeof tags[0]; tag++) {
        buf_reset(&body);
        for (int i = 0; i < 100000; i++)
            buf_addf(&body, "<%s>", tags[tag]);
        buf_add_text(&body, P("deep"));
        for (int i = 0; i < 100000; i++)
            buf_addf(&body, "</%s>", tags[tag]);
        buf_add_text(&body, P("after"));
        struct buf docx = make_docx(body.data);
        struct reader_text text;
        assert_int_equal(read_confined(buf_str(&docx), "a.docx", &text, NULL), STATUS_OK);
        assert_non_null(strstr(text.markdown.data, "after"));
        reader_text_finish(&text);
        buf_finish(&docx);
    }
    buf_finish(&body);
}

static void docx__refuses_entities(void **state)
{
    (void)state;
    static const char laughs[] =
        "<!DOCTYPE lolz [<!ENTITY a \"ha\"><!ENTITY b \"&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;\"><!ENTITY c "
        "\"&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;\">]><w:document " W "><w:body><w:p><w:r><w:t>&c;</w:t></w:r></w:p></w:body>"
        "</w:document>";
    static const char outside[] = "<!DOCTYPE d [<!ENTITY x SYSTEM \"file:///etc/passwd\">]><w:document " W
                                  "><w:body><w:p><w:r><w:t>&x;</w:t></w:r></w:p></w:body></w:document>";
    const struct str documents[] = {STR(laughs), STR(outside)};
    for (size_t i = 0; i < 2; i++) {
        const struct zip_part parts[] = {ZIP_PART("[Content_Types].xml", content_types),
                                         ZIP_PART("_rels/.rels", package_relations),
                                         {"word/document.xml", documents[i]}};
        struct buf docx = zip_make(parts, 3);
        assert_refused(buf_str(&docx), "a.docx", STATUS_REFUSED, "declares entities");
        buf_finish(&docx);
    }
}

static void docx__names_what_is_encrypted(void **state)
{
    (void)state;
    char file[2048] = "\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1";
    file[30] = 9;
    file[48] = 1; /* the directory lies in sector 1 */
    const char name[] = "EncryptedPackage";
    for (size_t i = 0; i < sizeof name; i++)
        file[1024 + 2 * i] = name[i];
    assert_refused(str_make(file, sizeof file), "a.docx", STATUS_DENIED, "without a password");
}

static void docx__notes_macros_and_deletions(void **state)
{
    (void)state;
    static const char types[] =
        "<Types xmlns=\"http://schemas.openxmlformats.org/package/2006/content-types\"><Override "
        "PartName=\"/word/document.xml\" "
        "ContentType=\"application/vnd.ms-word.document.macroEnabled.main+xml\"/></Types>";
    const struct zip_part parts[] = {
        ZIP_PART("[Content_Types].xml", types), ZIP_PART("_rels/.rels", package_relations),
        ZIP_PART("word/document.xml", "<w:document " W "><w:body><w:p><w:del><w:r><w:t>x</w:t></w:r></w:del></w:p>"
                                      "</w:body></w:document>"),
        ZIP_PART("word/vbaProject.bin", "Sub AutoOpen()")};
    struct buf docm = zip_make(parts, 4);
    struct reader_text text;
    assert_int_equal(read_confined(buf_str(&docm), "a.docm", &text, NULL), STATUS_OK);
    assert_non_null(strstr(text.notice, "macros, which were not run"));
    assert_non_null(strstr(text.notice, "Deletions"));
    assert_null(strstr(text.markdown.data ? text.markdown.data : "", "AutoOpen"));
    reader_text_finish(&text);
    buf_finish(&docm);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(docx__becomes_markdown),
        cmocka_unit_test(docx__is_known_by_its_contents),
        cmocka_unit_test(docx__has_a_table_of_contents),
        cmocka_unit_test(docx__survives_being_cut_anywhere),
        cmocka_unit_test(docx__costs_linear_time_at_any_depth),
        cmocka_unit_test(docx__refuses_entities),
        cmocka_unit_test(docx__names_what_is_encrypted),
        cmocka_unit_test(docx__notes_macros_and_deletions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
