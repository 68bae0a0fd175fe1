/* Tables as text, feeds, notebooks, mail: formats that are read in any process. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/mem.h"
#include "readers/table.h"
#include "support/zip.h"

static void csv__becomes_a_table(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        struct str bytes;
        const char *shown;
    } cases[] = {
        {"a.csv", STR("k,v\na,1\nb,2"), "2 rows, 2 columns.\n\n| k | v |\n| --- | --- |\n| a | 1 |\n| b | 2 |"},
        {"a.csv", STR("k;v\r\na;1,5\r\n"), "1 rows, 2 columns.\n\n| k | v |\n| --- | --- |\n| a | 1,5 |"},
        {"a.tsv", STR("k\tv\na, b\t1\n"), "1 rows, 2 columns.\n\n| k | v |\n| --- | --- |\n| a, b | 1 |"},
        {"a.csv", STR("k|v\na|b\n"), "1 rows, 2 columns.\n\n| k | v |\n| --- | --- |\n| a | b |"},
        {"a.csv", STR("k,v\n\"a\"\"q\",\"two\nlines\"\n\n\"x,y\",\"a|b\"\n"),
         "2 rows, 2 columns.\n\n| k | v |\n| --- | --- |\n| a\"q | two<br>lines |\n| x,y | a\\|b |"},
        {"a.csv", STR("sep=;\nk;v\n1;2\n"), "1 rows, 2 columns.\n\n| k | v |\n| --- | --- |\n| 1 | 2 |"},
        {"a.csv", STR("k,v\na\nb,2,extra\n"),
         "2 rows, 2 columns.\n\n| k | v |\n| --- | --- |\n| a |  |\n| b | 2 | extra |"},
        {"a.csv", STR("\xEF\xBB\xBFname,v\ncaf\xC3\xA9,1\n"),
         "1 rows, 2 columns.\n\n| name | v |\n| --- | --- |\n| café | 1 |"},
        {"a.csv", STR("name,v\ncaf\xE9 au lait,1\n"),
         "1 rows, 2 columns.\n\n| name | v |\n| --- | --- |\n| café au lait | 1 |"},
        {"a.csv", STR("\xFF\xFEk\0,\0v\0\n\0a\0,\0001\0\n\0"),
         "1 rows, 2 columns.\n\n| k | v |\n| --- | --- |\n| a | 1 |"},
        {"a.csv", STR("only\n"), "0 rows, 1 columns.\n\n| only |\n| --- |"},
        {"a.csv", STR(""), "0 rows, 0 columns."},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_markdown(cases[i].bytes, cases[i].name, READER_TABLE, cases[i].shown);
}

struct collected {
    struct buf text;
};

static void collect(void *user, const struct table_record *record)
{
    struct collected *collected = user;
    for (size_t i = 0; i < record->n_fields; i++)
        buf_addf(&collected->text, "[%.*s]", STR_ARG(record->fields[i]));
    buf_add_char(&collected->text, '\n');
}

static void csv__is_the_same_however_it_is_cut(void **state)
{
    (void)state;
    static const char text[] = "a,\"b\"\"c\",d\r\n\"x\ny\"z,,\"\"\r\n\n\"open";
    struct table_parser *parser = mem_alloc(sizeof *parser);
    struct buf whole = {0};
    for (size_t cut = 0; cut <= sizeof text - 1; cut++) {
        struct collected collected = {0};
        buf_init(&collected.text, BUF_UNBOUNDED);
        table_parser_init(parser, ',', collect, &collected);
        table_parser_feed(parser, str_make(text, cut));
        table_parser_feed(parser, str_make(text + cut, sizeof text - 1 - cut));
        table_parser_end(parser);
        table_parser_finish(parser);
        if (cut == 0)
            whole = collected.text;
        else
            assert_string_equal(collected.text.data, whole.data);
        if (cut > 0)
            buf_finish(&collected.text);
    }
    assert_string_equal(whole.data, "[a][b\"c][d]\n[x\nyz][][]\n[open]\n");
    buf_finish(&whole);
    free(parser);
}

/* A large file comes from a descriptor, and is far larger than what may be held. */
static void csv__is_summed_up_when_large(void **state)
{
    (void)state;
    int descriptor = memfd_create("csv", 0);
    FILE *file = fdopen(descriptor, "w");
    fputs("id,day,colour,price\n", file);
    for (int i = 0; i < 60000; i++)
        fprintf(file, "%d,2024-%02d-01,%s,%d.5\n", i, 1 + i % 12, i % 3 ? "red" : "green", i % 100);
    fflush(file);
    struct reader_source source = {
        .from_descriptor = true, .descriptor = descriptor, .name = STR("big.csv"), .max_bytes = 400000};
    struct reader_text text;
    assert_int_equal(reader_read(&source, &text, NULL), STATUS_OK);
    assert_true(text.truncated && text.markdown.len < 400000);
    assert_non_null(strstr(text.markdown.data, "60000 rows, 4 columns."));
    assert_non_null(strstr(text.markdown.data, "| id | 60000 | number | 0 to 59999, mean 29999.5 |"));
    assert_non_null(strstr(text.markdown.data, "| day | 60000 | date | 2024-01-01 to 2024-12-01 |"));
    assert_non_null(strstr(text.markdown.data, "| colour | 60000 | text | green (20000), red (40000) |"));
    assert_non_null(strstr(text.markdown.data, "| price | 60000 | number | 0.5 to 99.5, mean 50"));
    assert_non_null(strstr(text.markdown.data, "| 0 | 2024-01-01 | green | 0.5 |"));
    reader_text_finish(&text);
    fclose(file);
}

static void csv__survives_quotes_that_stay_open(void **state)
{
    (void)state;
    struct buf text;
    buf_init(&text, BUF_UNBOUNDED);
    buf_add_text(&text, "a,b\n\"never closed,");
    for (int i = 0; i < 200000; i++)
        buf_add_text(&text, "x,y,z\n,1\n");
    struct reader_text result;
    assert_int_equal(read_confined(buf_str(&text), "q.csv", &result, NULL), STATUS_OK);
    assert_non_null(strstr(result.notice, "not closed"));
    assert_true(result.markdown.len < 10000);
    reader_text_finish(&result);
    buf_finish(&text);
}

static void feed__lists_its_items(void **state)
{
    (void)state;
    static const char rss[] =
        "<?xml version=\"1.0\"?><rss version=\"2.0\" xmlns:content=\"http://purl.org/rss/1.0/modules/content/\" "
        "xmlns:dc=\"http://purl.org/dc/elements/1.1/\"><channel><title>News &amp; "
        "more</title><link>https://n.example/</link>"
        "<description>All of it</description><item><title>One</title><link>https://n.example/1</link><pubDate>Tue, 05 "
        "Mar "
        "2024 10:00:00 GMT</pubDate><dc:creator>Ada</dc:creator><description>&lt;p&gt;Short &lt;b&gt;text&lt;/b&gt;."
        "&lt;/p&gt;</description></item><item><title>Two&nbsp;x</title><link>https://n.example/2</link>"
        "<description>short</description><content:encoded><![CDATA[<h2>Long</h2><p>text</p>]]></content:encoded></item>"
        "</channel></rss>";
    assert_markdown(
        STR(rss), "feed.xml", READER_FEED,
        "# News & more\n\nAll of it\n\n## One\n\nhttps://n.example/1 · Tue, 05 Mar 2024 10:00:00 GMT · Ada\n\n"
        "Short **text**.\n\n## Two\xC2\xA0x\n\nhttps://n.example/2\n\n#### Long\n\ntext");
    static const char atom[] = "<feed xmlns=\"http://www.w3.org/2005/Atom\"><title>Log</title><entry><title "
                               "type=\"html\">A &amp;lt; B</title><link "
                               "rel=\"self\" href=\"https://a.example/self\"/><link "
                               "href=\"https://a.example/1\"/><updated>2024-01-02T00:00:00Z"
                               "</updated><author><name>Bo</name></author><content type=\"xhtml\"><div "
                               "xmlns=\"http://www.w3.org/1999/xhtml\"><p>x "
                               "<a href=\"https://l.example/\">l</a></p></div></content></entry></feed>";
    assert_markdown(
        STR(atom), "", READER_FEED,
        "# Log\n\n## A < B\n\nhttps://a.example/1 · 2024-01-02T00:00:00Z · Bo\n\nx [l](https://l.example/)");
    assert_refused(STR("<!DOCTYPE rss [<!ENTITY a \"x\">]><rss><channel/></rss>"), "f.xml", STATUS_REFUSED, "entities");
}

static void feed__costs_bounded_time(void **state)
{
    (void)state;
    struct buf text;
    buf_init(&text, BUF_UNBOUNDED);
    buf_add_text(&text, "<rss x=\"'>\" ");
    for (int i = 0; i < 300000; i++)
        buf_addf(&text, "a%d='' ", i);
    buf_add_text(&text, "/>");
    assert_refused(buf_str(&text), "f.xml", STATUS_REFUSED, "thousands of attributes");
    buf_reset(&text);
    buf_add_text(&text, "<rss><!-- ' --><channel><![CDATA[ <a ' ]]></channel><x ");
    for (int i = 0; i < 300000; i++)
        buf_addf(&text, "a%d=\"\" ", i);
    buf_add_text(&text, "/></rss>");
    assert_refused(buf_str(&text), "f.xml", STATUS_REFUSED, "thousands of attributes");
    buf_reset(&text);
    buf_add_text(&text, "<rss>");
    for (int i = 0; i < 300000; i++) /* each is looked for among all that are open */
        buf_addf(&text, "<a xmlns:n%d='u'>", i);
    struct reader_source source = {.bytes = buf_str(&text), .name = STR("f.xml"), .timeout_ms = 1500};
    struct reader_text result;
    enum status status = reader_read(&source, &result, NULL);
    if (status == STATUS_OK)
        reader_text_finish(&result);
    else
        assert_int_equal(status, STATUS_TIMEOUT);
    buf_finish(&text);
}

static void notebook__shows_cells_and_outputs(void **state)
{
    (void)state;
    static const char notebook[] =
        "{\"cells\": [{\"cell_type\": \"markdown\", \"source\": [\"# Study\\n\", \"text\"]}, {\"cell_type\": \"code\", "
        "\"source\": \"print(1)\", \"outputs\": [{\"output_type\": \"stream\", \"text\": [\"1\\n\"]}, "
        "{\"output_type\": "
        "\"error\", \"traceback\": [\"\\u001b[31mValueError\\u001b[0m\"]}, {\"data\": {\"image/png\": \"aaaa\"}}]}], "
        "\"metadata\": {\"kernelspec\": {\"language\": \"python\"}}, \"nbformat\": 4}";
    assert_markdown(
        STR(notebook), "n.ipynb", READER_NOTEBOOK,
        "# Study\ntext\n\n```python\nprint(1)\n```\n\nOutput:\n\n```\n1\n```\n\nOutput:\n\n```\nValueError\n```\n\n"
        "Output:\n\n```\n(a picture)\n```");
    struct reader_text text;
    assert_int_equal(read_confined(STR("{broken"), "n.ipynb", &text, NULL), STATUS_OK);
    assert_string_equal(text.markdown.data, "{broken");
    reader_text_finish(&text);
}

static void mail__shows_text_and_attachments(void **state)
{
    (void)state;
    static const char mail[] =
        "From: =?utf-8?B?SsO8cmdlbg==?= <j@x.example>\r\nTo: ada@y.example\r\nSubject: =?iso-8859-1?Q?Caf=E9?=\r\n "
        "=?iso-8859-1?Q?_list?=\r\nDate: Tue, 5 Mar 2024 10:00:00 +0000\r\nMIME-Version: 1.0\r\nContent-Type: "
        "multipart/mixed; boundary=\"b1\"\r\n\r\npreamble\r\n--b1\r\nContent-Type: multipart/alternative; "
        "boundary=b2\r\n\r\n"
        "--b2\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: "
        "quoted-printable\r\n\r\nGr=C3=BC=\r\n"
        "=C3=9Fe\r\n--b2\r\nContent-Type: text/html\r\n\r\n<p>html</p>\r\n--b2--\r\n--b1\r\nContent-Type: text/csv\r\n"
        "Content-Disposition: attachment; filename=\"t.csv\"\r\nContent-Transfer-Encoding: "
        "base64\r\n\r\nayx2CmEsMQo=\r\n"
        "--b1--\r\n";
    assert_markdown(
        STR(mail), "m.eml", READER_MAIL,
        "# Café list\n\nFrom: Jürgen <j@x.example>\nTo: ada@y.example\nDate: Tue, 5 Mar 2024 10:00:00 +0000\n\n"
        "Grüße\n\n## t.csv\n\n1 rows, 2 columns.\n\n| k | v |\n| --- | --- |\n| a | 1 |");
    for (size_t length = 0; length < sizeof mail - 1; length += 3) {
        char *copy = str_dup(str_make(mail, length));
        struct reader_source source = {
            .bytes = {copy, length}, .name = STR("m.eml"), .content_type = STR("message/rfc822")};
        struct reader_text text;
        assert_int_equal(reader_read(&source, &text, NULL), STATUS_OK);
        reader_text_finish(&text);
        free(copy);
    }
}

static void kinds__are_told_apart(void **state)
{
    (void)state;
    static const struct {
        struct str bytes;
        const char *name, *type;
        enum reader_kind kind;
    } cases[] = {
        {STR("%PDF-1.4"), "x.txt", "text/plain", READER_PDF},
        {STR("\x89PNG\r\n\x1A\n"), "", "", READER_IMAGE},
        {STR("RIFF\0\0\0\0WEBP"), "", "", READER_IMAGE},
        {STR("RIFF\0\0\0\0WAVE"), "", "", READER_AUDIO},
        {STR("RIFF\0\0\0\0AVI "), "", "", READER_VIDEO},
        {STR("\0\0\0\x20"
             "ftypisom"),
         "", "", READER_VIDEO},
        {STR("\0\0\0\x20"
             "ftypM4A "),
         "", "", READER_AUDIO},
        {STR("\0\0\0\x20"
             "ftypheic"),
         "", "", READER_IMAGE},
        {STR("\xFF\xFB\x90\x64\0\0\0\0\0\0\0\0"), "", "", READER_AUDIO},
        {STR("{\\rtf1\\ansi}"), "x.doc", "", READER_OFFICE},
        {STR("PK\3\4rest"), "x.txt", "", READER_ARCHIVE},
        {STR("Rar!\x1A\7\0"), "x.rar", "", READER_BINARY},
        {STR("a,b\n1,2\n"), "x.csv", "", READER_TABLE},
        {STR("<!DOCTYPE html><p>"), "x.csv", "text/html", READER_HTML},
        {STR("{}\n{}\n"), "x.jsonl", "", READER_JSON_LINES},
        {STR("<rss version='2.0'>"), "x", "", READER_FEED},
        {STR("<?xml version='1.0'?><!-- c --><feed xmlns='http://www.w3.org/2005/Atom'>"), "x", "", READER_FEED},
        {STR("<feedback>"), "x.xml", "", READER_XML},
        {STR("words"), "x", "", READER_TEXT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_int_equal(reader_kind_of(cases[i].bytes, str_of(cases[i].name), str_of(cases[i].type)), cases[i].kind);
    for (int kind = 0; kind <= READER_BINARY; kind++)
        assert_true(strlen(reader_kind_name((enum reader_kind)kind)) > 2);
}

static void xml__in_one_line_is_broken_up(void **state)
{
    (void)state;
    struct buf text;
    buf_init(&text, BUF_UNBOUNDED);
    buf_add_text(&text, "<all>");
    for (int i = 0; i < 300; i++)
        buf_addf(&text, "<one n=\"%d\"/>", i);
    buf_add_text(&text, "</all>");
    struct reader_text result;
    assert_int_equal(read_confined(buf_str(&text), "x.xml", &result, NULL), STATUS_OK);
    assert_non_null(strstr(result.markdown.data, "<all>\n<one n=\"0\"/>\n<one n=\"1\"/>\n"));
    reader_text_finish(&result);
    buf_finish(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(csv__becomes_a_table),
        cmocka_unit_test(csv__is_the_same_however_it_is_cut),
        cmocka_unit_test(csv__is_summed_up_when_large),
        cmocka_unit_test(csv__survives_quotes_that_stay_open),
        cmocka_unit_test(feed__lists_its_items),
        cmocka_unit_test(feed__costs_bounded_time),
        cmocka_unit_test(notebook__shows_cells_and_outputs),
        cmocka_unit_test(mail__shows_text_and_attachments),
        cmocka_unit_test(kinds__are_told_apart),
        cmocka_unit_test(xml__in_one_line_is_broken_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
