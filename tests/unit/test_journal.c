#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "loop/loop.h"
#include "store/journal.h"

#include <string.h>

struct seen {
    struct journal *journal;
    int order[8];
    int count;
    enum status status;
};

struct tag {
    struct seen *seen;
    int number;
};

static void done(void *user, enum status status, const struct error *error)
{
    struct tag *tag = user;
    assert_non_null(error);
    tag->seen->order[tag->seen->count++] = tag->number;
    tag->seen->status = status;
}

static struct journal_record record(const char *name, const char *text)
{
    return (struct journal_record){
        .kind = JOURNAL_EVENT, .run = "r", .name = name, .id = 7, .run_ms = 9, .text = str_of(text)};
}

static void journal__answers_in_the_next_turn_and_in_order(void **state)
{
    (void)state;
    struct loop *loop = loop_create();
    struct seen seen = {.journal = journal_memory_create(loop, false)};
    struct tag tags[3] = {{&seen, 0}, {&seen, 1}, {&seen, 2}};
    assert_false(seen.journal->keeps);
    for (int i = 0; i < 3; i++) {
        const struct journal_record one = record("delta", "x");
        journal_append(seen.journal, &one, done, &tags[i]);
    }
    assert_int_equal(seen.count, 0);
    loop_turn(loop);
    assert_int_equal(seen.count, 3);
    assert_int_equal(seen.status, STATUS_OK);
    for (int i = 0; i < 3; i++)
        assert_int_equal(seen.order[i], i);
    assert_int_equal(journal_memory_count(seen.journal), 0);
    journal_destroy(seen.journal);
    loop_destroy(loop);
}

static void append_again(void *user, enum status status, const struct error *error)
{
    struct tag *tag = user;
    done(user, status, error);
    if (tag->number++ < 3 && status == STATUS_OK) {
        const struct journal_record one = record("clock", "");
        journal_append(tag->seen->journal, &one, append_again, tag);
    }
}

static void journal__takes_appends_from_inside_done(void **state)
{
    (void)state;
    struct loop *loop = loop_create();
    struct seen seen = {.journal = journal_memory_create(loop, true)};
    struct tag tag = {&seen, 0};
    const struct journal_record one = record("clock", "");
    journal_append(seen.journal, &one, append_again, &tag);
    loop_turn(loop);
    assert_int_equal(seen.count, 1);
    for (int i = 0; i < 4; i++)
        loop_turn(loop);
    assert_int_equal(seen.count, 4);
    assert_int_equal(journal_memory_count(seen.journal), 4);
    journal_destroy(seen.journal);
    loop_destroy(loop);
}

static void journal__keeps_copies(void **state)
{
    (void)state;
    struct loop *loop = loop_create();
    struct seen seen = {.journal = journal_memory_create(loop, true)};
    struct tag tag = {&seen, 0};
    char text[] = "a\0b", run[] = "run";
    const struct journal_record one = {
        .kind = JOURNAL_EFFECT, .run = run, .name = "finish", .id = 1, .run_ms = 2, .text = {text, 3}};
    journal_append(seen.journal, &one, done, &tag);
    memset(text, 'x', sizeof text - 1);
    memset(run, 'x', sizeof run - 1);
    const struct journal_record *kept = journal_memory_at(seen.journal, 0);
    assert_true(str_equal(kept->text, ((struct str){"a\0b", 3})));
    assert_string_equal(kept->run, "run");
    assert_int_equal(kept->kind, JOURNAL_EFFECT);
    assert_int_equal(kept->run_ms, 2);
    journal_destroy(seen.journal);
    assert_int_equal(seen.count, 1);
    assert_int_equal(seen.status, STATUS_CANCELED);
    loop_destroy(loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(journal__answers_in_the_next_turn_and_in_order),
        cmocka_unit_test(journal__takes_appends_from_inside_done),
        cmocka_unit_test(journal__keeps_copies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
