/* Strings, buffers, errors, UTF-8, JSON and embedded files. */
#include "core/buf.h"
#include "core/embed.h"
#include "core/json.h"
#include "core/status.h"
#include "core/utf8.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void assert_str(struct str actual, const char *expected)
{
    char *text = str_dup(actual);
    assert_string_equal(text, expected);
    free(text);
}

static void str__finds_and_slices(void **state)
{
    (void)state;
    struct str s = STR("one two one");
    assert_int_equal(str_find(s, STR("one"), 1), 8);
    assert_int_equal(str_find(s, STR("three"), 0), STR_NONE);
    assert_int_equal(str_find(s, STR(""), 11), 11);
    assert_int_equal(str_find(s, STR(""), 12), STR_NONE);
    assert_int_equal(str_find_nocase(STR("xTWO"), STR("two"), 0), 1);
    assert_str(str_slice(s, 4, 7), "two");
    assert_str(str_slice(s, 9, 400), "ne");
    assert_str(str_slice(s, 9, 2), "");
    assert_str(str_trim(STR(" \t x y\n")), "x y");
    struct str rest = STR("a,,b"), piece;
    assert_true(str_split_next(&rest, ',', &piece));
    assert_str(piece, "a");
    assert_true(str_split_next(&rest, ',', &piece));
    assert_str(piece, "");
    assert_true(str_split_next(&rest, ',', &piece));
    assert_str(piece, "b");
    assert_false(str_split_next(&rest, ',', &piece));
    assert_true(str_compare(STR("ab"), STR("abc")) < 0);
}

static void str__reads_numbers(void **state)
{
    (void)state;
    int64_t i;
    assert_true(str_to_int64(STR("-9223372036854775808"), &i));
    assert_true(i == INT64_MIN);
    assert_false(str_to_int64(STR("9223372036854775808"), &i));
    assert_false(str_to_int64(STR("12x"), &i));
    assert_false(str_to_int64(STR("-"), &i));
    double d;
    assert_true(str_to_double(STR("0.25"), &d));
    assert_true(d == 0.25);
    assert_false(str_to_double(STR(" 1"), &d));
    assert_false(str_to_double(STR("1,5"), &d));
}

static void buf__keeps_its_cap(void **state)
{
    (void)state;
    struct buf buf;
    buf_init(&buf, 5);
    assert_int_equal(buf_append_str(&buf, STR("abc")), STATUS_OK);
    assert_int_equal(buf_append_str(&buf, STR("def")), STATUS_TOO_BIG);
    assert_str(buf_str(&buf), "abc");
    assert_int_equal(buf_append_str(&buf, STR("de")), STATUS_OK);
    buf_consume(&buf, 2);
    assert_str(buf_str(&buf), "cde");
    char *taken = buf_take(&buf);
    assert_string_equal(taken, "cde");
    free(taken);
    assert_int_equal(buf.len, 0);
    buf_finish(&buf);
}

static void error__names_the_place(void **state)
{
    (void)state;
    struct error error;
    char text[800];
    error_set(&error, STATUS_SYNTAX, "bad %s", "thing");
    error_at(&error, "fathom.yaml", 3, 7);
    assert_string_equal(error_text(&error, text, sizeof text), "fathom.yaml:3:7: bad thing");
    char longer[700];
    memset(longer, 'x', sizeof longer);
    memcpy(longer + 510, "\xC3\xA4", 2);
    longer[699] = '\0';
    error_set(&error, STATUS_SYNTAX, "%s", longer);
    assert_int_equal(strlen(error.message), 510); /* not half of the ä */
}

static void utf8__decodes_and_replaces(void **state)
{
    (void)state;
    static const struct {
        const char *in, *valid;
    } cases[] = {
        {"plain", "plain"},
        {"\xE4\xBD\xA0\xE5\xA5\xBD", "\xE4\xBD\xA0\xE5\xA5\xBD"},
        {"a\xFFz", "a\xEF\xBF\xBDz"},
        {"\xF0\x9F\x98", "\xEF\xBF\xBD"},                         /* one maximal part */
        {"\xC0\x80", "\xEF\xBF\xBD\xEF\xBF\xBD"},                 /* overlong */
        {"\xED\xA0\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"}, /* surrogate */
        {"\xF4\x90\x80\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"},
        {"0123456789\xE2\x82z", "0123456789\xEF\xBF\xBDz"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct buf out;
        buf_init(&out, 100);
        assert_int_equal(utf8_append_valid(&out, str_of(cases[i].in)), STATUS_OK);
        assert_str(buf_str(&out), cases[i].valid);
        buf_finish(&out);
    }
    assert_int_equal(utf8_floor(STR("a\xC3\xA4"), 2), 1);
    assert_int_equal(utf8_incomplete_tail(STR("a\xF0\x9F\x98")), 3);
    assert_int_equal(utf8_incomplete_tail(STR("a\xC3\xA4")), 0);
    for (uint32_t c = 1; c < 0x110000; c += 77) {
        if (c >= 0xD800 && c < 0xE000)
            continue;
        char bytes[4];
        size_t n = utf8_encode(c, bytes), length;
        assert_int_equal(utf8_decode(str_make(bytes, n), &length), c);
        assert_int_equal(length, n);
    }
}

static void json__keeps_large_integers(void **state)
{
    (void)state;
    json_t *value = NULL;
    struct error error;
    struct str text =
        STR("{\"id\": 123456789012345678901234567890, \"s\": \"99999999999999999999\\\"\", \"n\": [-1, 1e999]}");
    assert_int_equal(json_parse(text, &value, &error), STATUS_OK);
    assert_string_equal(json_get_string(value, "id"), "123456789012345678901234567890");
    assert_string_equal(json_get_string(value, "s"), "99999999999999999999\"");
    char *again = json_to_text(json_object_get(value, "n"));
    assert_string_equal(again, "[-1,\"1e999\"]");
    free(again);
    json_decref(value);
}

static void json__writes_reals_as_short_as_they_can_be(void **state)
{
    (void)state;
    static const char *const texts[] = {"[0.6,0.95]", "{\"a\":[1.0,0.1]}", "0.30000000000000004", "[1e300,5e-324]"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        json_t *value, *again;
        assert_int_equal(json_parse(str_of(texts[i]), &value, NULL), STATUS_OK);
        char *text = json_to_text(value);
        assert_int_equal(json_parse(str_of(text), &again, NULL), STATUS_OK);
        assert_true(json_equal(value, again));
        if (i < 3)
            assert_string_equal(text, texts[i]);
        free(text);
        json_decref(again);
        json_decref(value);
    }
}

static void json__says_where(void **state)
{
    (void)state;
    json_t *value = NULL;
    struct error error;
    assert_int_equal(json_parse(STR("{\"a\":\n  oops}"), &value, &error), STATUS_SYNTAX);
    assert_int_equal(error.line, 2);
    assert_null(value);
    static const char *const wrong[] = {"1111111111111111111111-11", "[99999999999999999999 1]", "1e999e1", "-1e999.5",
                                        "99999999999999999999."};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_int_equal(json_parse(str_of(wrong[i]), &value, &error), STATUS_SYNTAX);
    struct buf deep;
    buf_init(&deep, 1 << 20);
    for (int i = 0; i < 100000; i++)
        assert_int_equal(buf_append_char(&deep, '['), STATUS_OK);
    assert_int_equal(json_parse(buf_str(&deep), &value, &error), STATUS_TOO_BIG);
    buf_finish(&deep);
}

static void json__escapes_any_bytes(void **state)
{
    (void)state;
    char bytes[600];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (char)(i * 7 % 128);
    for (size_t from = 0; from < 40; from++) {
        struct buf wire, back, quoted;
        buf_init(&wire, BUF_UNBOUNDED);
        buf_init(&back, BUF_UNBOUNDED);
        buf_init(&quoted, BUF_UNBOUNDED);
        struct str in = str_make(bytes + from, sizeof bytes - from);
        assert_int_equal(json_escape(&wire, in), STATUS_OK);
        assert_int_equal(json_unescape(&back, buf_str(&wire)), STATUS_OK);
        assert_true(str_equal(buf_str(&back), in));
        buf_addf(&quoted, "\"%.*s\"", STR_ARG(buf_str(&wire)));
        json_t *parsed = NULL;
        assert_int_equal(json_parse(buf_str(&quoted), &parsed, NULL), STATUS_OK);
        assert_true(str_equal(str_make(json_string_value(parsed), json_string_length(parsed)), in));
        json_decref(parsed);
        buf_finish(&wire);
        buf_finish(&back);
        buf_finish(&quoted);
    }
    struct buf small;
    buf_init(&small, 3);
    assert_int_equal(json_escape(&small, STR("ab\n")), STATUS_TOO_BIG);
    assert_int_equal(small.len, 0);
    buf_finish(&small);
}

static void embed__is_sorted(void **state)
{
    (void)state;
    size_t count;
    const struct embedded_file *files = embed_files(&count);
    for (size_t i = 1; i < count; i++)
        assert_true(strcmp(files[i - 1].path, files[i].path) < 0);
    struct str contents;
    assert_false(embed_find("no/such/file", &contents));
    assert_true(embed_find("tools/search/signature.json", &contents));
    json_t *signature = NULL;
    assert_int_equal(json_parse(contents, &signature, NULL), STATUS_OK);
    json_decref(signature);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(str__finds_and_slices),
        cmocka_unit_test(str__reads_numbers),
        cmocka_unit_test(buf__keeps_its_cap),
        cmocka_unit_test(error__names_the_place),
        cmocka_unit_test(utf8__decodes_and_replaces),
        cmocka_unit_test(json__keeps_large_integers),
        cmocka_unit_test(json__writes_reals_as_short_as_they_can_be),
        cmocka_unit_test(json__says_where),
        cmocka_unit_test(json__escapes_any_bytes),
        cmocka_unit_test(embed__is_sorted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
