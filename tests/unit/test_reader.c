/* Files to text: what they are, how they are decompressed, manual pages, and what is refused. */
#include "readers/reader.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <cmocka.h>

#include "core/file.h"
#include "core/mem.h"

static struct buf gzip(struct str bytes)
{
    struct buf out;
    buf_init(&out, BUF_UNBOUNDED);
    z_stream stream = {0};
    assert_int_equal(deflateInit2(&stream, 9, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
    stream.next_in = (Bytef *)(uintptr_t)bytes.data;
    stream.avail_in = (uInt)bytes.len;
    int result;
    do {
        char chunk[4096];
        stream.next_out = (Bytef *)chunk;
        stream.avail_out = sizeof chunk;
        result = deflate(&stream, Z_FINISH);
        buf_add(&out, str_make(chunk, sizeof chunk - stream.avail_out));
    } while (result == Z_OK);
    assert_int_equal(result, Z_STREAM_END);
    deflateEnd(&stream);
    return out;
}

static void assert_reads(struct str bytes, const char *name, const char *type, enum reader_kind kind, const char *title,
                         const char *part)
{
    struct reader_source source = {.bytes = bytes, .name = str_of(name), .content_type = str_of(type)};
    struct reader_text text;
    assert_int_equal(reader_read(&source, &text, NULL), STATUS_OK);
    assert_int_equal(text.kind, kind);
    assert_string_equal(text.title, title);
    assert_non_null(strstr(text.markdown.data ? text.markdown.data : "", part));
    reader_text_finish(&text);
}

static void reader__tells_kinds_apart(void **state)
{
    (void)state;
    assert_reads(STR("plain words"), "dir/notes.txt", "", READER_TEXT, "notes.txt", "plain words");
    assert_reads(STR("The Title\n\nThen text."), "n.txt", "", READER_TEXT, "The Title", "Then text.");
    assert_reads(STR("# Head *x*\n\ntext"), "n.md", "", READER_MARKDOWN, "Head x", "# Head");
    assert_reads(STR("---\ntitle: \"Front\"\n---\n# Head"), "n.md", "", READER_MARKDOWN, "Front", "# Head");
    assert_reads(STR("<!DOCTYPE html><title>T</title><p>caf\xE9"), "x", "text/html; charset=latin1", READER_HTML, "T",
                 "café");
    assert_reads(STR("<p>no doctype</p>"), "x.html", "", READER_HTML, "x.html", "no doctype");
    assert_reads(STR("<!DOCTYPE html><p>x"), "", "", READER_HTML, "", "x");
    assert_reads(STR("{\"title\": \"J\", \"b\": [1]}"), "x", "application/json", READER_JSON, "J", "\"b\": [");
    assert_reads(STR("{broken"), "x.json", "", READER_JSON, "x.json", "{broken");
    assert_reads(STR("<?xml version='1.0'?><rss/>"), "feed", "", READER_XML, "feed", "<rss/>");
    assert_reads(STR("not a page"), "lib.so.1", "", READER_TEXT, "lib.so.1", "not a page");
    assert_reads(STR("\xFF\xFEh\0i\0"), "u.txt", "", READER_TEXT, "u.txt", "hi");
    assert_reads(STR("a\r\nb\rc\x07"), "u.txt", "", READER_TEXT, "u.txt", "a\nb\nc");
    assert_reads(STR(""), "empty.txt", "", READER_TEXT, "empty.txt", "");
}

static void reader__refuses_by_name_what_it_cannot_read(void **state)
{
    (void)state;
    static const struct {
        struct str bytes;
        const char *what;
    } cases[] = {
        {{"%PDF-1.7 ...", 12}, "PDF"},
        {{"PK\x03\x04 etc", 8}, "ZIP"},
        {{"\x89PNG\r\n\x1A\n", 8}, "PNG"},
        {{"\x7F"
          "ELF\2\1\1",
          7},
         "program"},
        {{"SQLite format 3\0", 16}, "SQLite"},
        {{"ab\0\1\2\3\4\5\6", 9}, "binary"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct reader_source source = {.bytes = cases[i].bytes, .name = STR("innocent.txt")};
        struct reader_text text;
        struct error error;
        assert_int_equal(reader_read(&source, &text, &error), STATUS_UNSUPPORTED);
        assert_non_null(strstr(error.message, cases[i].what));
    }
    assert_false(reader_wants_name(STR("a/b.PNG")));
    assert_false(reader_wants_name(STR("x.tar.gz")));
    assert_true(reader_wants_name(STR("README")));
    assert_true(reader_wants_name(STR("open.2.gz")));
}

static void reader__unpacks_gzip_within_its_cap(void **state)
{
    (void)state;
    struct buf packed = gzip(STR("packed words"));
    assert_reads(buf_str(&packed), "n.txt.gz", "", READER_TEXT, "n.txt", "packed words");
    struct buf twice;
    buf_init(&twice, BUF_UNBOUNDED);
    buf_add(&twice, buf_str(&packed));
    buf_add(&twice, buf_str(&packed));
    buf_add_text(&twice, "garbage");
    assert_reads(buf_str(&twice), "n.txt.gz", "", READER_TEXT, "n.txt", "packed wordspacked words");
    buf_finish(&twice);

    struct reader_text text;
    struct reader_source cut = {.bytes = str_slice(buf_str(&packed), 0, packed.len - 4)};
    assert_int_equal(reader_read(&cut, &text, NULL), STATUS_SYNTAX);
    packed.data[packed.len - 6] ^= 1; /* the checksum */
    struct reader_source damaged = {.bytes = buf_str(&packed)};
    assert_int_equal(reader_read(&damaged, &text, NULL), STATUS_SYNTAX);
    buf_finish(&packed);

    char *zeros = mem_zalloc(64 << 20);
    memset(zeros, 'x', 64 << 20);
    struct buf bomb = gzip(str_make(zeros, 64 << 20));
    free(zeros);
    assert_true(bomb.len < 100000);
    struct reader_source source = {.bytes = buf_str(&bomb), .max_bytes = 1 << 20};
    assert_int_equal(reader_read(&source, &text, NULL), STATUS_TOO_BIG);
    buf_finish(&bomb);
    struct reader_source large = {.bytes = STR("more than four"), .max_bytes = 4};
    assert_int_equal(reader_read(&large, &text, NULL), STATUS_TOO_BIG);
}

static void reader__knows_manual_page_names(void **state)
{
    (void)state;
    static const char *const yes[] = {"open.2", "open.2.gz", "/usr/share/man/man3/exp.3perl.gz", "a.b.7", "x.1ssl"};
    static const char *const no[] = {"open", ".2", "open.0", "a.txt", "v1.25", "x.2.txt", "open.2.", "1"};
    for (size_t i = 0; i < sizeof yes / sizeof yes[0]; i++)
        assert_true(reader_is_man_name(str_of(yes[i])));
    for (size_t i = 0; i < sizeof no / sizeof no[0]; i++)
        assert_false(reader_is_man_name(str_of(no[i])));
}

static bool has_mandoc(void)
{
    return access("/usr/bin/mandoc", X_OK) == 0 || access("/bin/mandoc", X_OK) == 0;
}

static const char page[] =
    ".\\\" comment\n.TH FROB 1\n.SH NAME\nfrob \\- turn things around\n.SH OPTIONS\n.TP\n.B \\-f\n"
    "Force it, whatever the cost.\n";

static void reader__reads_manual_pages(void **state)
{
    (void)state;
    if (!has_mandoc())
        skip();
    assert_reads(STR(page), "man1/frob.1", "", READER_MAN, "frob(1) - turn things around", "Force it");
    struct reader_text text;
    struct reader_source source = {.bytes = STR(page), .name = STR("man1/frob.1")};
    assert_int_equal(reader_read(&source, &text, NULL), STATUS_OK);
    assert_true(str_starts_with(buf_str(&text.markdown), STR("# NAME"))); /* no running header */
    assert_int_equal(str_find(buf_str(&text.markdown), STR("| --- |"), 0), STR_NONE);
    reader_text_finish(&text);
    struct buf packed = gzip(STR(".Dd January 1, 2024\n.Dt KNOB 3x\n.Os\n.Sh NAME\n.Nm knob\n.Nd a thing to turn\n"));
    assert_reads(buf_str(&packed), "knob.3x.gz", "", READER_MAN, "knob(3x) - a thing to turn", "NAME");
    buf_finish(&packed);
    assert_reads(STR("just text"), "notes.1", "", READER_TEXT, "notes.1", "just text");
    /* without a folder, an include must not reach a file */
    assert_reads(STR(".TH A 1\n.SH NAME\na \\- b\n.SH X\n.so etc/passwd\nend\n"), "a.1", "", READER_MAN, "a(1) - b",
                 "end");
}

static void reader__stops_when_canceled(void **state)
{
    (void)state;
    if (!has_mandoc())
        skip();
    atomic_bool cancel = true;
    struct reader_source source = {.bytes = STR(page), .name = STR("frob.1"), .cancel = &cancel};
    struct reader_text text;
    enum status status = reader_read(&source, &text, NULL); /* it may be done before anybody looks */
    if (status == STATUS_OK)
        reader_text_finish(&text);
    else
        assert_int_equal(status, STATUS_CANCELED);
}

static void reader__finds_what_a_page_includes(void **state)
{
    (void)state;
    char folder[] = "/tmp/fathom-reader-XXXXXX";
    assert_non_null(mkdtemp(folder));
    char *man1 = mem_printf("%s/man1", folder), *real = mem_printf("%s/man1/frob.1", folder);
    char *other = mem_printf("%s/man1/brof.1", folder);
    assert_int_equal(mkdir(man1, 0700), 0);
    assert_int_equal(file_write(real, STR(page), NULL), STATUS_OK);
    char *target = reader_man_alias(other, STR(".\\\" note\n.so man1/frob.1\n"));
    assert_string_equal(target, real);
    free(target);
    assert_null(reader_man_alias(other, STR(".so man1/missing.1\n")));
    assert_null(reader_man_alias(other, STR(".so man1/frob.1\n.SH MORE\n")));
    assert_null(reader_man_alias(real, STR(".so man1/frob.1\n")));
    unlink(real);
    rmdir(man1);
    rmdir(folder);
    free(man1);
    free(real);
    free(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reader__tells_kinds_apart),
        cmocka_unit_test(reader__refuses_by_name_what_it_cannot_read),
        cmocka_unit_test(reader__unpacks_gzip_within_its_cap),
        cmocka_unit_test(reader__knows_manual_page_names),
        cmocka_unit_test(reader__reads_manual_pages),
        cmocka_unit_test(reader__stops_when_canceled),
        cmocka_unit_test(reader__finds_what_a_page_includes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
