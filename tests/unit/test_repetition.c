#include "protocol/repetition.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/buf.h"
#include "support/recorded.h"

/* Where the loop is noticed, 0 for never. */
static size_t offset_of(struct str text, size_t step)
{
    struct repetition *repetition = repetition_create();
    bool found = false;
    for (size_t i = 0; i < text.len; i += step)
        found = repetition_feed(repetition, str_slice(text, i, i + step));
    size_t offset = repetition_offset(repetition);
    assert_int_equal(found, offset > 0);
    repetition_destroy(repetition);
    return offset;
}

static size_t offset_of_repeated(const char *head, const char *unit, size_t times)
{
    struct buf text;
    buf_init(&text, BUF_UNBOUNDED);
    buf_add_text(&text, head);
    for (size_t i = 0; i < times; i++)
        buf_add_text(&text, unit);
    size_t offset = offset_of(buf_str(&text), 7), whole = offset_of(buf_str(&text), text.len ? text.len : 1);
    assert_int_equal(offset, whole);
    buf_finish(&text);
    return offset;
}

#define SENTENCE "Let me search for more information about the question, since this is unclear. " /* 79 */
#define CHINESE \
    "我需要继续搜索更多关于这个问题的信息因为目前的结果还不够清楚所以我再搜索一次看看有没有新的结果吧好的。" /* 51 */

static void repetition__notices_the_sixth_time(void **state)
{
    (void)state;
    static const struct {
        const char *unit;
        size_t wanted; /* bytes of the loop when it is noticed */
    } rows[] = {
        {SENTENCE, 6 * (sizeof SENTENCE - 1)},
        {CHINESE, 6 * (sizeof CHINESE - 1)},
        {"a", 300},
        {"ha", 300},
        {"no, ", 312},                                               /* 13 times 4 is the unit */
        {"0123456789012345678901234567890123456789abcdefghij", 300}, /* 50 */
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        size_t length = strlen(rows[i].unit);
        const char *head = "Something else came before, which does not end like it. ";
        size_t offset = offset_of_repeated(head, rows[i].unit, rows[i].wanted / length + 40);
        /* the head's last characters may happen to continue the loop backwards */
        assert_in_range(offset, strlen(head) + rows[i].wanted - 3, strlen(head) + rows[i].wanted);
        assert_int_equal(offset_of_repeated(head, rows[i].unit, rows[i].wanted / length - 1), 0);
    }
}

static char *pseudo_text(size_t length, unsigned seed)
{
    struct buf text;
    buf_init(&text, BUF_UNBOUNDED);
    while (text.len < length) {
        seed = seed * 1103515245u + 12345u;
        buf_add_char(&text, (char)('a' + (seed >> 16) % 26));
    }
    return buf_take(&text);
}

static void repetition__follows_long_periods(void **state)
{
    (void)state;
    static const size_t periods[] = {51, 99, 500, 1024, 1998, 1999, 2000};
    for (size_t i = 0; i < sizeof periods / sizeof periods[0]; i++) {
        char *unit = pseudo_text(periods[i], 7);
        assert_int_equal(offset_of_repeated("Before. ", unit, 8), 8 + 6 * periods[i]);
        assert_int_equal(offset_of_repeated("Before. ", unit, 5), 0);
        free(unit);
    }
    char *beyond = pseudo_text(2001, 7);
    assert_int_equal(offset_of_repeated("", beyond, 8), 0);
    free(beyond);
}

static void repetition__leaves_ordinary_text_alone(void **state)
{
    (void)state;
    struct buf urls, table, code;
    buf_init(&urls, BUF_UNBOUNDED);
    buf_init(&table, BUF_UNBOUNDED);
    buf_init(&code, BUF_UNBOUNDED);
    for (int i = 0; i < 200; i++) {
        buf_addf(&urls, "https://example.org/a/very/long/path/that/is/always/the/same/for/every/page/%d.html\n", i);
        buf_addf(&table, "| %d | the same text in this column for every row of the table, always | %d |\n", i, i * 7);
        buf_addf(&code, "                                                    case %d:\n", i);
    }
    assert_int_equal(offset_of(buf_str(&urls), 100), 0);
    assert_int_equal(offset_of(buf_str(&table), 100), 0);
    assert_int_equal(offset_of(buf_str(&code), 100), 0);
    buf_finish(&urls);
    buf_finish(&table);
    buf_finish(&code);
    assert_int_equal(offset_of_repeated("", "-", 400), 0);
    assert_int_equal(offset_of_repeated("", "| --- ", 100), 0);
    assert_true(offset_of_repeated("", "\n", 2000) > 0);
}

static void repetition__recovers_after_a_break(void **state)
{
    (void)state;
    struct buf text;
    buf_init(&text, BUF_UNBOUNDED);
    for (int i = 0; i < 20; i++) {
        for (int k = 0; k < 4; k++)
            buf_add_text(&text, SENTENCE);
        buf_addf(&text, "Wait, number %d. ", i);
    }
    assert_int_equal(offset_of(buf_str(&text), 64), 0);
    for (int k = 0; k < 7; k++)
        buf_add_text(&text, SENTENCE);
    assert_true(offset_of(buf_str(&text), 64) > 0);
    buf_finish(&text);
}

static void check_recorded(void *user, struct str text, size_t index)
{
    size_t offset = offset_of(text, 1 + index % 50);
    *(size_t *)user += offset > 0;
    assert_int_equal(offset, offset_of(text, text.len ? text.len : 1));
}

static void repetition__recorded_trajectories_do_not_loop(void **state)
{
    (void)state;
    size_t loops = 0;
    if (!recorded_each_completion(SHARED_DATA "/transcripts/webdancer.jsonl.gz", check_recorded, &loops)) {
        print_message("no recorded completions here\n");
        skip();
    }
    assert_int_equal(loops, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(repetition__notices_the_sixth_time),
        cmocka_unit_test(repetition__follows_long_periods),
        cmocka_unit_test(repetition__leaves_ordinary_text_alone),
        cmocka_unit_test(repetition__recovers_after_a_break),
        cmocka_unit_test(repetition__recorded_trajectories_do_not_loop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
