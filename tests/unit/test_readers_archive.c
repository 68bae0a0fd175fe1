/* Archives: every form, nesting, names that mean harm, and bombs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/mem.h"
#include "support/zip.h"

static const struct zip_part two_files[] = {ZIP_PART("a/notes.txt", "plain words"),
                                            ZIP_PART("b.md", "# Head\n\ntext ```x``` end")};

static const char two_files_read[] =
    "# x\n\n2 files, 35 bytes unpacked:\n\n- a/notes.txt (11 bytes)\n- b.md (24 bytes)\n\n"
    "## a/notes.txt\n\n```\nplain words\n```\n\n## b.md\n\n### Head\n\ntext ```x``` end";

static void archive__reads_every_form(void **state)
{
    (void)state;
    static const char *const forms[] = {"zip", "tar", "7z", "tar.gz", "tar.bz2", "tar.xz", "tar.zst"};
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        struct buf archive = archive_make(forms[i], two_files, 2);
        assert_true(reader_needs_confinement(buf_str(&archive), STR("x"), STR("")));
        assert_markdown(buf_str(&archive), "dir/x", READER_ARCHIVE, two_files_read);
        buf_finish(&archive);
    }
}

static void archive__reads_single_compressed_files(void **state)
{
    (void)state;
    static const char *const forms[] = {"gz", "bz2", "xz", "zst"};
    static const struct zip_part table = ZIP_PART("t.csv", "k,v\na,1\n");
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        struct buf packed = archive_make(forms[i], &table, 1);
        char *name = mem_printf("t.csv.%s", forms[i]);
        assert_markdown(buf_str(&packed), name, READER_TABLE,
                        "1 rows, 2 columns.\n\n| k | v |\n| --- | --- |\n| a | 1 |");
        free(name);
        buf_finish(&packed);
    }
}

static void archive__opens_archives_inside(void **state)
{
    (void)state;
    struct buf inner = archive_make("tar.gz", two_files, 1);
    const struct zip_part parts[] = {{"in.tar.gz", buf_str(&inner)}, ZIP_PART("z.txt", "last")};
    struct buf outer = archive_make("zip", parts, 2);
    char *expected =
        mem_printf("# o.zip\n\n2 files, %zu bytes unpacked:\n\n- in.tar.gz (%zu bytes)\n- z.txt (4 bytes)\n\n"
                   "## in.tar.gz\n\n1 file, 11 bytes unpacked:\n\n- a/notes.txt (11 bytes)\n\n"
                   "#### a/notes.txt\n\n```\nplain words\n```\n\n## z.txt\n\n```\nlast\n```",
                   inner.len + 4, inner.len);
    assert_markdown(buf_str(&outer), "o.zip", READER_ARCHIVE, expected);
    free(expected);
    buf_finish(&inner);
    buf_finish(&outer);
}

static void archive__stops_at_a_depth(void **state)
{
    (void)state;
    struct buf packed = archive_make("zip", two_files, 1);
    for (int i = 0; i < 30; i++) {
        const struct zip_part part = {"in.zip", buf_str(&packed)};
        struct buf outer = archive_make("zip", &part, 1);
        buf_finish(&packed);
        packed = outer;
    }
    struct reader_text text;
    assert_int_equal(read_confined(buf_str(&packed), "deep.zip", &text, NULL), STATUS_OK);
    assert_non_null(strstr(text.markdown.data, "nested too deep"));
    assert_null(strstr(text.markdown.data, "plain words"));
    reader_text_finish(&text);
    buf_finish(&packed);
}

static void archive__takes_names_for_names(void **state)
{
    (void)state;
    static const struct zip_part parts[] = {ZIP_PART("../../etc/passwd", "x"), ZIP_PART("/abs.txt", "y"),
                                            ZIP_PART("line\n## Fake heading", "z"),
                                            ZIP_PART("gr\xC3\xBC\xC3\x9F.txt", "u")};
    struct buf archive = archive_make("tar", parts, 4);
    struct reader_text text;
    assert_int_equal(read_confined(buf_str(&archive), "n.tar", &text, NULL), STATUS_OK);
    assert_non_null(strstr(text.markdown.data, "- ../../etc/passwd (1 bytes)"));
    assert_non_null(strstr(text.markdown.data, "- line?## Fake heading"));
    assert_non_null(strstr(text.markdown.data, "grüß.txt"));
    reader_text_finish(&text);
    buf_finish(&archive);
}

/* The name's field of a local header and of the directory, overwritten in place. */
static void archive__survives_odd_names_in_zips(void **state)
{
    (void)state;
    static const struct zip_part parts[] = {ZIP_PART("AAAAAAAA", "x"), ZIP_PART("b.txt", "found")};
    struct buf archive = zip_make(parts, 2);
    for (size_t at = 0; (at = str_find(buf_str(&archive), STR("AAAAAAAA"), at)) != STR_NONE; at += 8)
        memcpy(archive.data + at, "\0\0\xFF\xFE\n|#x", 8);
    struct reader_text text;
    assert_int_equal(read_confined(buf_str(&archive), "n.zip", &text, NULL), STATUS_OK);
    assert_non_null(strstr(text.markdown.data, "found"));
    reader_text_finish(&text);
    buf_finish(&archive);
}

static void archive__says_why_a_file_is_not_read(void **state)
{
    (void)state;
    static const struct zip_part parts[] = {ZIP_PART("p", "\x7F"
                                                          "ELF\2\1\1"),
                                            ZIP_PART("broken.pdf", "%PDF-1.7 nothing"), ZIP_PART("t.txt", "read")};
    struct buf archive = archive_make("zip", parts, 3);
    struct reader_text text;
    assert_int_equal(read_confined(buf_str(&archive), "n.zip", &text, NULL), STATUS_OK);
    assert_non_null(strstr(text.markdown.data, "- p (7 bytes; not read: a program or library is not read here)"));
    assert_non_null(strstr(text.markdown.data, "- broken.pdf (16 bytes; not read: "));
    assert_non_null(strstr(text.markdown.data, "read\n"));
    reader_text_finish(&text);
    buf_finish(&archive);
}

static enum status read_limited(struct str bytes, size_t max_unpacked, struct reader_text *text, struct error *error)
{
    const struct reader_source source = {
        .bytes = bytes, .name = STR("bomb"), .confined = true, .max_unpacked = max_unpacked, .max_bytes = 1 << 20};
    return reader_read(&source, text, error);
}

static void archive__refuses_bombs(void **state)
{
    (void)state;
    struct str zeros = {mem_zalloc(96 << 20), 96 << 20};
    const struct zip_part part = {"zeros.txt", zeros};
    static const char *const forms[] = {"zip", "tar.xz", "7z", "bz2", "zst", "gz"};
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        struct buf bomb = archive_make(forms[i], &part, 1);
        struct reader_text text;
        struct error error = {0};
        assert_true(bomb.len < 200000);
        enum status status = read_limited(buf_str(&bomb), 0, &text, &error);
        if (status == STATUS_OK) { /* its beginning, which is all that is ever unpacked */
            assert_true(text.markdown.len <= 1 << 20);
            reader_text_finish(&text);
        } else {
            assert_true(status == STATUS_TOO_BIG || status == STATUS_REFUSED || status == STATUS_UNSUPPORTED);
        }
        buf_finish(&bomb);
    }
    free((void *)(uintptr_t)zeros.data);
}

/* Like 42.zip: an archive of archives, each of them many times the same. */
static void archive__refuses_nested_bombs(void **state)
{
    (void)state;
    char *words = mem_zalloc(900000);
    memset(words, 'x', 900000);
    const struct zip_part leaf = {"leaf.txt", {words, 900000}};
    struct buf packed = archive_make("zip", &leaf, 1);
    free(words);
    for (int level = 0; level < 3; level++) {
        struct zip_part parts[16];
        char names[16][16];
        for (size_t i = 0; i < 16; i++) {
            snprintf(names[i], sizeof names[i], "part%zu.zip", i);
            parts[i] = (struct zip_part){names[i], buf_str(&packed)};
        }
        struct buf outer = archive_make("zip", parts, 16);
        buf_finish(&packed);
        packed = outer;
    }
    struct reader_text text;
    struct error error = {0};
    enum status status = read_limited(buf_str(&packed), 0, &text, &error);
    if (status == STATUS_OK) {
        assert_true(text.truncated);
        reader_text_finish(&text);
    } else {
        assert_true(status == STATUS_REFUSED || status == STATUS_TOO_BIG);
    }
    buf_finish(&packed);
}

static void archive__stops_at_its_caps(void **state)
{
    (void)state;
    struct buf words;
    buf_init(&words, BUF_UNBOUNDED);
    for (int i = 0; i < 50000; i++)
        buf_addf(&words, "%d ", i * 7919);
    const struct zip_part parts[] = {
        {"a.txt", buf_str(&words)}, {"b.txt", buf_str(&words)}, {"c.txt", buf_str(&words)}};
    struct buf archive = archive_make("zip", parts, 3);
    struct reader_text text;
    assert_int_equal(read_limited(buf_str(&archive), words.len + 1000, &text, NULL), STATUS_OK);
    assert_true(text.truncated);
    assert_non_null(strstr(text.notice, "Not all of the archive was read"));
    reader_text_finish(&text);
    const struct reader_source source = {.bytes = buf_str(&archive), .confined = true, .max_entries = 2};
    assert_int_equal(reader_read(&source, &text, NULL), STATUS_OK);
    assert_non_null(strstr(text.notice, "more files than are read"));
    reader_text_finish(&text);
    buf_finish(&archive);
    buf_finish(&words);
}

static void archive__survives_being_cut_anywhere(void **state)
{
    (void)state;
    static const char *const forms[] = {"zip", "tar", "7z", "tar.gz", "xz"};
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        struct buf archive = archive_make(forms[i], two_files, strchr(forms[i], 'x') == forms[i] ? 1 : 2);
        for (size_t length = 0; length < archive.len; length += 1 + archive.len / 200) {
            char *copy = str_dup(str_slice(buf_str(&archive), 0, length));
            struct reader_text text;
            struct error error = {0};
            if (read_confined(str_make(copy, length), "a", &text, &error) == STATUS_OK)
                reader_text_finish(&text);
            else
                assert_true(error.message[0] != '\0');
            free(copy);
        }
        buf_finish(&archive);
    }
}

static void archive__can_be_canceled(void **state)
{
    (void)state;
    struct buf archive = archive_make("zip", two_files, 2);
    atomic_bool cancel = true;
    const struct reader_source source = {.bytes = buf_str(&archive), .confined = true, .cancel = &cancel};
    struct reader_text text;
    assert_int_equal(reader_read(&source, &text, NULL), STATUS_CANCELED);
    buf_finish(&archive);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(archive__reads_every_form),
        cmocka_unit_test(archive__reads_single_compressed_files),
        cmocka_unit_test(archive__opens_archives_inside),
        cmocka_unit_test(archive__stops_at_a_depth),
        cmocka_unit_test(archive__takes_names_for_names),
        cmocka_unit_test(archive__survives_odd_names_in_zips),
        cmocka_unit_test(archive__says_why_a_file_is_not_read),
        cmocka_unit_test(archive__refuses_bombs),
        cmocka_unit_test(archive__refuses_nested_bombs),
        cmocka_unit_test(archive__stops_at_its_caps),
        cmocka_unit_test(archive__survives_being_cut_anywhere),
        cmocka_unit_test(archive__can_be_canceled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
