/* PPTX, ODP and ODT, and EPUB: order, titles, lists, tables, notes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/mem.h"
#include "support/zip.h"

#define P                                                                     \
    "xmlns:p=\"http://schemas.openxmlformats.org/presentationml/2006/main\" " \
    "xmlns:a=\"http://schemas.openxmlformats.org/drawingml/2006/main\" "      \
    "xmlns:r=\"http://schemas.openxmlformats.org/officeDocument/2006/relationships\""
#define RELATIONS(items) \
    "<Relationships xmlns=\"http://schemas.openxmlformats.org/package/2006/relationships\">" items "</Relationships>"
#define RELATION(id, type, target)                                                                                 \
    "<Relationship Id=\"" id "\" Type=\"http://schemas.openxmlformats.org/officeDocument/2006/relationships/" type \
    "\" Target=\"" target "\"/>"

#define LINE(properties, text) "<a:p><a:pPr " properties "/><a:r><a:t>" text "</a:t></a:r></a:p>"
#define SHAPE(placeholder, lines) \
    "<p:sp><p:nvSpPr><p:nvPr>" placeholder "</p:nvPr></p:nvSpPr><p:txBody>" lines "</p:txBody></p:sp>"
#define SLIDE(attributes, shapes) "<p:sld " P " " attributes "><p:cSld><p:spTree>" shapes "</p:spTree></p:cSld></p:sld>"

static const char types[] = "<Types xmlns=\"http://schemas.openxmlformats.org/package/2006/content-types\"><Override "
                            "PartName=\"/ppt/presentation.xml\" ContentType=\"application/"
                            "vnd.openxmlformats-officedocument.presentationml.presentation.main+xml\"/></Types>";

/* The second file is the first slide. */
static const struct zip_part slides[] = {
    ZIP_PART("[Content_Types].xml", types),
    ZIP_PART("_rels/.rels", RELATIONS(RELATION("r1", "officeDocument", "ppt/presentation.xml"))),
    ZIP_PART("ppt/presentation.xml", "<p:presentation " P "><p:sldIdLst><p:sldId id=\"256\" r:id=\"rId2\"/><p:sldId "
                                     "id=\"257\" r:id=\"rId1\"/><p:sldId id=\"258\" r:id=\"gone\"/></p:sldIdLst>"
                                     "</p:presentation>"),
    ZIP_PART("ppt/_rels/presentation.xml.rels",
             RELATIONS(RELATION("rId1", "slide", "slides/slide1.xml") RELATION("rId2", "slide", "slides/slide2.xml")
                           RELATION("rId9", "slideMaster", "slideMasters/m.xml"))),
    ZIP_PART(
        "ppt/slides/slide1.xml",
        SLIDE(
            "show=\"0\"",
            SHAPE("", LINE("", "A box")) "<p:graphicFrame><a:graphic><a:graphicData><a:tbl><a:tr>"
                                         "<a:tc gridSpan=\"2\"><a:txBody>" LINE(
                                             "", "wide") "</a:txBody></a:tc><a:tc hMerge=\"1\"/>"
                                                         "<a:tc><a:txBody>" LINE(
                                                             "", "c") "</a:txBody></a:tc></"
                                                                      "a:tr><a:tr><a:tc><a:txBody>" LINE(
                                                                          "", "1") "</a:txBody></"
                                                                                   "a:tc><a:tc><a:txBody>" LINE("", "2")
                                                                                       LINE("",
                                                                                            "zwei") "</a:txBody></"
                                                                                                    "a:tc><a:tc/></"
                                                                                                    "a:tr></a:tbl></"
                                                                                                    "a:graphicData></"
                                                                                                    "a:graphic></"
                                                                                                    "p:graphicFrame>")),
    ZIP_PART(
        "ppt/slides/slide2.xml",
        SLIDE(
            "",
            SHAPE("<p:ph idx=\"1\"/>",
                  LINE("", "top") LINE(
                      "lvl=\"1\"",
                      "below") "<a:p><a:pPr><a:buNone/></a:pPr><a:r><a:t>plain"
                               "</a:t></a:r></a:p><a:p><a:pPr><a:buAutoNum type=\"arabicPeriod\"/></a:pPr><a:r><a:t>n1"
                               "</a:t></a:r></a:p><a:p><a:pPr><a:buAutoNum type=\"arabicPeriod\"/></a:pPr><a:r><a:rPr "
                               "b=\"1\"><a:hlinkClick r:id=\"h\"/></a:rPr><a:t>n2</a:t></a:r></a:p>")
                SHAPE("<p:ph type=\"title\"/>", LINE("", "The title")) SHAPE(
                    "<p:ph type=\"sldNum\"/>",
                    LINE("", "7")) "<p:pic><p:nvPicPr><p:cNvPr id=\"4\" descr=\"A glacier\"/></p:nvPicPr></p:pic>")),
    ZIP_PART("ppt/slides/_rels/slide2.xml.rels",
             RELATIONS(RELATION("n", "notesSlide",
                                "../notesSlides/n1.xml") "<Relationship Id=\"h\" Type=\"x/hyperlink\" "
                                                         "Target=\"https://l.example/\" TargetMode=\"External\"/>")),
    ZIP_PART("ppt/notesSlides/n1.xml",
             "<p:notes " P "><p:cSld><p:spTree>" SHAPE("<p:ph type=\"sldImg\"/>", LINE("", "picture"))
                 SHAPE("<p:ph type=\"body\"/>", LINE("", "Say this."))
                     SHAPE("<p:ph type=\"sldNum\"/>", LINE("", "7")) "</p:spTree></p:cSld></p:notes>"),
};

static void pptx__shows_slides_in_order(void **state)
{
    (void)state;
    struct buf pptx = zip_make(slides, sizeof slides / sizeof slides[0]);
    assert_markdown(
        buf_str(&pptx), "a.pptx", READER_PPTX,
        "## Slide 1: The title\n\n- top\n  - below\n\nplain\n\n1. n1\n2. [**n2**](https://l.example/)\n\n[image: A "
        "glacier]\n\n### Notes\n\nSay this.\n\n## Slide 2 (hidden): A box\n\n| wide | wide | c |\n"
        "| --- | --- | --- |\n| 1 | 2<br>zwei |  |");
    struct reader_text text;
    assert_int_equal(read_confined(buf_str(&pptx), "a.pptx", &text, NULL), STATUS_OK);
    assert_int_equal(text.pages, 2);
    assert_int_equal(text.n_sections, 3);
    reader_text_finish(&text);
    buf_finish(&pptx);
}

static void pptx__survives_being_cut_anywhere(void **state)
{
    (void)state;
    struct buf pptx = zip_make(slides, sizeof slides / sizeof slides[0]);
    for (size_t length = 0; length < pptx.len; length += 11) {
        char *copy = str_dup(str_slice(buf_str(&pptx), 0, length));
        struct reader_text text;
        if (read_confined(str_make(copy, length), "a.pptx", &text, NULL) == STATUS_OK)
            reader_text_finish(&text);
        free(copy);
    }
    for (size_t at = 0; at < pptx.len; at += 7) {
        char saved = pptx.data[at];
        struct reader_text text;
        pptx.data[at] = '<';
        if (read_confined(buf_str(&pptx), "a.pptx", &text, NULL) == STATUS_OK)
            reader_text_finish(&text);
        pptx.data[at] = saved;
    }
    buf_finish(&pptx);
}

/* ---- OpenDocument ---- */

#define ODF                                                                                       \
    "xmlns:office=\"urn:oasis:names:tc:opendocument:xmlns:office:1.0\" "                          \
    "xmlns:text=\"urn:oasis:names:tc:opendocument:xmlns:text:1.0\" "                              \
    "xmlns:table=\"urn:oasis:names:tc:opendocument:xmlns:table:1.0\" "                            \
    "xmlns:draw=\"urn:oasis:names:tc:opendocument:xmlns:drawing:1.0\" "                           \
    "xmlns:style=\"urn:oasis:names:tc:opendocument:xmlns:style:1.0\" "                            \
    "xmlns:fo=\"urn:oasis:names:tc:opendocument:xmlns:xsl-fo-compatible:1.0\" "                   \
    "xmlns:xlink=\"http://www.w3.org/1999/xlink\" xmlns:dc=\"http://purl.org/dc/elements/1.1/\" " \
    "xmlns:svg=\"urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0\" "                     \
    "xmlns:presentation=\"urn:oasis:names:tc:opendocument:xmlns:presentation:1.0\""

static struct buf make_odf(const char *mimetype, const char *styles, const char *body)
{
    char *content = mem_printf("<office:document-content " ODF "><office:automatic-styles>%s</office:automatic-styles>"
                               "<office:body>%s</office:body></office:document-content>",
                               styles, body);
    const struct zip_part parts[] = {
        {"mimetype", str_of(mimetype)}, {"content.xml", str_of(content)}, ZIP_PART("META-INF/manifest.xml", "<m/>")};
    struct buf zip = zip_make(parts, 3);
    free(content);
    return zip;
}

static void odt__becomes_markdown(void **state)
{
    (void)state;
    static const char styles[] =
        "<style:style style:name=\"P1\" style:family=\"paragraph\" style:parent-style-name=\"Title\"/>"
        "<style:style style:name=\"B\" style:family=\"text\"><style:text-properties "
        "fo:font-weight=\"bold\"/></style:style>"
        "<style:style style:name=\"BN\" style:family=\"text\" style:parent-style-name=\"B\"><style:text-properties "
        "fo:font-weight=\"normal\" fo:font-style=\"italic\"/></style:style>"
        "<text:list-style style:name=\"L\"><text:list-level-style-number text:level=\"1\" style:num-format=\"1\" "
        "style:num-suffix=\".\"/><text:list-level-style-number text:level=\"2\" style:num-format=\"A\" "
        "text:display-levels=\"2\"/></text:list-style>";
    static const struct {
        const char *body, *markdown;
    } cases[] = {
        {"<text:p text:style-name=\"P1\">Big</text:p><text:h text:outline-level=\"2\"><text:number>1.</text:number>Part"
         "</text:h><text:p>x<text:s text:c=\"3\"/>y<text:tab/>z<text:line-break/>w</text:p>",
         "# Big\n\n## Part\n\nx   y\tz\nw"},
        {"<text:p><text:span text:style-name=\"B\">bold</text:span> <text:span text:style-name=\"BN\">it</text:span> "
         "<text:a "
         "xlink:href=\"http://l.example/\">l</text:a></text:p>",
         "**bold** *it* [l](http://l.example/)"},
        {"<text:list "
         "text:style-name=\"L\"><text:list-item><text:p>a</text:p><text:p>more</text:p><text:list><text:list-item>"
         "<text:p>b</text:p></text:list-item></text:list></text:list-item><text:list-item "
         "text:start-value=\"5\"><text:p>c"
         "</text:p></text:list-item></text:list><text:p>between</text:p><text:list text:style-name=\"L\" "
         "text:continue-numbering=\"true\"><text:list-item><text:p>d</text:p></text:list-item></text:list>",
         "1. a\n  more\n  1.A b\n5. c\n\nbetween\n\n6. d"},
        {"<text:p>a<text:note text:note-class=\"footnote\"><text:note-citation>1</text:note-citation><text:note-body>"
         "<text:p>note</text:p></text:note-body></text:note>b<office:annotation><dc:creator>Ada</"
         "dc:creator><dc:date>2024"
         "</dc:date><text:p>why?</text:p></office:annotation></text:p>",
         "a[^1]b[^2]\n\n[^1]: note\n[^2]: Comment by Ada – why?"},
        {"<text:tracked-changes><text:changed-region><text:deletion><text:p>old</text:p></text:deletion></"
         "text:changed-region>"
         "</text:tracked-changes><text:table-of-content><text:index-body><text:p>Part ... 1</text:p></text:index-body>"
         "</text:table-of-content><text:p>kept</text:p>",
         "kept"},
        {"<table:table><table:table-row><table:table-cell><text:p>h</text:p></"
         "table:table-cell><table:table-cell><text:p>k"
         "</text:p></table:table-cell></table:table-row><table:table-row><table:table-cell "
         "table:number-columns-repeated="
         "\"2\"/></table:table-row></table:table>",
         "| h | k |\n| --- | --- |"},
        {"<text:p>before<draw:frame><draw:text-box><text:p>boxed</text:p></draw:text-box></draw:frame></text:p>"
         "<text:p><draw:frame><draw:image/><svg:desc>A map</svg:desc></draw:frame></text:p>",
         "boxed\n\nbefore\n\n[image: A map]"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *body = mem_printf("<office:text>%s</office:text>", cases[i].body);
        struct buf odt = make_odf("application/vnd.oasis.opendocument.text", styles, body);
        assert_markdown(buf_str(&odt), "a.odt", READER_ODT, cases[i].markdown);
        buf_finish(&odt);
        free(body);
    }
}

static void odt__costs_linear_time_at_any_depth(void **state)
{
    (void)state;
    static const char *const tags[] = {"text:p", "text:list", "table:table", "text:span", "draw:frame", "text:note"};
    struct buf body;
    buf_init(&body, BUF_UNBOUNDED);
    for (size_t tag = 0; tag < sizeof tags / sizeof tags[0]; tag++) {
        buf_reset(&body);
        buf_add_text(&body, "<office:text>");
        for (int i = 0; i < 100000; i++)
            buf_addf(&body, "<%s>", tags[tag]);
        for (int i = 0; i < 100000; i++)
            buf_addf(&body, "</%s>", tags[tag]);
        buf_add_text(&body, "<text:p>after</text:p></office:text>");
        struct buf odt = make_odf("application/vnd.oasis.opendocument.text", "", body.data);
        struct reader_text text;
        assert_int_equal(read_confined(buf_str(&odt), "a.odt", &text, NULL), STATUS_OK);
        assert_non_null(strstr(text.markdown.data, "after"));
        reader_text_finish(&text);
        buf_finish(&odt);
    }
    buf_finish(&body);
}

static void odp__shows_slides_with_notes(void **state)
{
    (void)state;
    static const char body[] =
        "<office:presentation><draw:page><draw:frame "
        "presentation:class=\"outline\"><draw:text-box><text:list><text:list-item>"
        "<text:p>point</text:p></text:list-item></text:list></draw:text-box></draw:frame><draw:frame "
        "presentation:class=\"title\"><draw:text-box><text:p>Title</text:p></draw:text-box></"
        "draw:frame><presentation:notes>"
        "<draw:page-thumbnail/><draw:frame presentation:class=\"notes\"><draw:text-box><text:p>Say it.</text:p>"
        "</draw:text-box></draw:frame></presentation:notes></"
        "draw:page><draw:page><draw:frame><draw:text-box><text:p>Alone"
        "</text:p></draw:text-box></draw:frame><presentation:notes/></draw:page></office:presentation>";
    struct buf odp = make_odf("application/vnd.oasis.opendocument.presentation", "", body);
    assert_markdown(buf_str(&odp), "a.odp", READER_ODP,
                    "## Slide 1: Title\n\n- point\n\n### Notes\n\nSay it.\n\n## Slide 2: Alone");
    buf_finish(&odp);
}

/* ---- EPUB ---- */

static const char opf[] =
    "<package xmlns=\"http://www.idpf.org/2007/opf\"><metadata "
    "xmlns:dc=\"http://purl.org/dc/elements/1.1/\"><dc:title>The "
    "Book</dc:title><dc:creator>Ada</dc:creator></metadata><manifest><item id=\"c2\" href=\"two%20x.xhtml\" "
    "media-type=\"application/xhtml+xml\"/><item id=\"c1\" href=\"one.xhtml\" "
    "media-type=\"application/xhtml+xml\"/><item "
    "id=\"nav\" properties=\"nav\" href=\"nav.xhtml\" media-type=\"application/xhtml+xml\"/></manifest><spine><itemref "
    "idref=\"nav\"/><itemref idref=\"c1\"/><itemref idref=\"c2\"/><itemref idref=\"gone\"/></spine></package>";

static void epub__follows_the_spine(void **state)
{
    (void)state;
    struct zip_part parts[] = {
        ZIP_PART("mimetype", "application/epub+zip"),
        ZIP_PART("META-INF/container.xml",
                 "<container xmlns=\"urn:oasis:names:tc:opendocument:xmlns:container\"><rootfiles>"
                 "<rootfile full-path=\"OPS/b.opf\"/></rootfiles></container>"),
        ZIP_PART("OPS/b.opf", opf),
        ZIP_PART("OPS/nav.xhtml",
                 "<html xmlns=\"http://www.w3.org/1999/xhtml\" xmlns:epub=\"http://www.idpf.org/2007/ops\">"
                 "<body><nav epub:type=\"toc\"><ol><li><a href=\"one.xhtml\">First</a></li><li><a "
                 "href=\"two%20x.xhtml#a\">Second</a></li></ol></nav></body></html>"),
        ZIP_PART("OPS/two x.xhtml", "<html><body><p>no heading here</p></body></html>"),
        ZIP_PART("OPS/one.xhtml",
                 "<html><body><h1>Chapter one</h1><p>It begins, see <a href=\"two.xhtml\">there</a>.</p>"
                 "</body></html>"),
        ZIP_PART("META-INF/encryption.xml",
                 "<encryption xmlns=\"urn:oasis:names:tc:opendocument:xmlns:container\"><EncryptionMethod "
                 "Algorithm=\"http://www.idpf.org/2008/embedding\"/></encryption>"),
    };
    struct buf epub = zip_make(parts, 6);
    assert_markdown(buf_str(&epub), "b.epub", READER_EPUB,
                    "# Chapter one\n\nIt begins, see there.\n\n# Second\n\nno heading here");
    buf_finish(&epub);
    parts[6].bytes = STR("<encryption><EncryptionMethod Algorithm=\"http://www.w3.org/2001/04/xmlenc#aes128-cbc\"/>"
                         "</encryption>");
    epub = zip_make(parts, 7);
    assert_refused(buf_str(&epub), "b.epub", STATUS_DENIED, "copy protection");
    buf_finish(&epub);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pptx__shows_slides_in_order),  cmocka_unit_test(pptx__survives_being_cut_anywhere),
        cmocka_unit_test(odt__becomes_markdown),        cmocka_unit_test(odt__costs_linear_time_at_any_depth),
        cmocka_unit_test(odp__shows_slides_with_notes), cmocka_unit_test(epub__follows_the_spine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
