/* Children that are talked with: streams, writing, further descriptors, signals. One-shot children are in test_loop.c.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/buf.h"
#include "loop/child.h"
#include "loop/loop.h"

struct talk {
    struct loop *loop;
    struct child *child;
    struct buf output, errors; /* as streamed */
    size_t n_pieces, n_done, collected;
    void (*act)(struct talk *talk); /* on each piece of output */
    enum status status, written;
    int exit_code;
};

static void on_output(void *user, struct str bytes)
{
    struct talk *talk = user;
    talk->n_pieces++;
    buf_add(&talk->output, bytes);
    if (talk->act)
        talk->act(talk);
}

static void on_errors(void *user, struct str bytes)
{
    buf_add(&((struct talk *)user)->errors, bytes);
}

static void on_done(void *user, struct child_result *result)
{
    struct talk *talk = user;
    talk->n_done++;
    talk->status = result->status;
    talk->exit_code = result->exit_code;
    talk->collected = result->output.len + result->errors.len;
    loop_stop(talk->loop);
}

static void start(struct talk *talk, struct loop *loop, struct child_options options, const char *script)
{
    const char *const shell[] = {"sh", "-c", script, NULL};
    talk->loop = loop;
    buf_init(&talk->output, BUF_UNBOUNDED);
    buf_init(&talk->errors, BUF_UNBOUNDED);
    options.argv = shell;
    options.on_output = on_output;
    talk->child = child_start(loop, &options, on_done, talk);
}

static void run(struct talk *talk)
{
    if (talk->n_done == 0)
        loop_run(talk->loop);
    assert_int_equal(talk->n_done, 1);
}

static void finish(struct talk *talk)
{
    buf_finish(&talk->output);
    buf_finish(&talk->errors);
}

static int setup(void **state)
{
    *state = loop_create();
    return 0;
}

static int teardown(void **state)
{
    loop_destroy(*state);
    return 0;
}

/* Answers each answer with the next word, until there is none. */
static void say_next(struct talk *talk)
{
    static const char *const words[] = {"one\n", "two\n", "three\n"};
    if (!str_ends_with(buf_str(&talk->output), STR("\n")))
        return;
    size_t next = 0;
    for (size_t i = 0; i < talk->output.len; i++)
        next += talk->output.data[i] == '\n';
    if (next <= 3)
        assert_int_equal(child_write(talk->child, str_of(words[next - 1])), STATUS_OK);
    else
        child_close_input(talk->child);
}

static void child__is_talked_with(void **state)
{
    struct talk talk = {.act = say_next};
    start(&talk, *state, (struct child_options){.keep_input = true, .input = STR("zero\n")},
          "while read word; do echo got $word; done; echo end");
    run(&talk);
    assert_int_equal(talk.status, STATUS_OK);
    assert_string_equal(talk.output.data, "got zero\ngot one\ngot two\ngot three\nend\n");
    assert_true(talk.n_pieces >= 4); /* each came before the next was asked for */
    assert_int_equal(talk.collected, 0);
    finish(&talk);
}

static void child__streams_errors_apart(void **state)
{
    struct talk talk = {0};
    start(&talk, *state, (struct child_options){.on_errors = on_errors, .max_errors = 4},
          "echo a; echo bcdefgh >&2; exit 3");
    run(&talk);
    assert_int_equal(talk.exit_code, 3);
    assert_string_equal(talk.output.data, "a\n");
    assert_string_equal(talk.errors.data, "bcdefgh\n"); /* the cap is for what is kept */
    finish(&talk);
}

static void child__large_writes_arrive_whole(void **state)
{
    enum { LEN = 3000000 };
    char *bytes = malloc(LEN);
    for (size_t i = 0; i < LEN; i++)
        bytes[i] = (char)(i * 7 + i / 256);
    struct talk talk = {0};
    start(&talk, *state, (struct child_options){.keep_input = true, .max_unread = 2 * LEN}, "cat");
    assert_int_equal(child_write(talk.child, str_make(bytes, 1)), STATUS_OK);
    assert_int_equal(child_write(talk.child, (struct str){0}), STATUS_OK);
    assert_int_equal(child_write(talk.child, str_make(bytes + 1, LEN - 1)), STATUS_OK);
    child_close_input(talk.child); /* not before it was all taken */
    child_close_input(talk.child);
    assert_int_equal(child_write(talk.child, STR("late")), STATUS_IO);
    run(&talk);
    assert_int_equal(talk.status, STATUS_OK);
    assert_int_equal(talk.output.len, LEN);
    assert_memory_equal(talk.output.data, bytes, LEN);
    free(bytes);
    finish(&talk);
}

static void child__that_does_not_read_is_no_leak(void **state)
{
    static const char bytes[1000];
    struct talk talk = {0};
    start(&talk, *state, (struct child_options){.keep_input = true, .max_unread = 100000}, "sleep 1000");
    enum status status;
    size_t written = 0;
    while ((status = child_write(talk.child, str_make(bytes, sizeof bytes))) == STATUS_OK) {
        written += sizeof bytes;
        loop_turn(talk.loop);
        assert_true(written < 1000000);
    }
    assert_int_equal(status, STATUS_TOO_BIG);
    assert_true(written >= 100000);
    assert_true(child_unread(talk.child) > 99000 && child_unread(talk.child) <= 100000);
    child_cancel(talk.child);
    assert_int_equal(child_write(talk.child, STR("x")), STATUS_IO);
    run(&talk);
    assert_int_equal(talk.status, STATUS_CANCELED);
    finish(&talk);
}

static void write_again(struct talk *talk)
{
    talk->written = child_write(talk->child, STR("x"));
}

static void child__that_closed_its_input_says_so(void **state)
{
    struct talk talk = {.act = write_again};
    start(&talk, *state, (struct child_options){.keep_input = true},
          "exec </dev/null; echo a; sleep 0.05; echo b; sleep 0.05; echo c");
    run(&talk);
    assert_int_equal(talk.status, STATUS_OK);
    assert_string_equal(talk.output.data, "a\nb\nc\n");
    assert_int_equal(talk.written, STATUS_IO); /* the first write found out */
    finish(&talk);
}

static void child__gets_descriptors_by_number(void **state)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], "through seven", 13), 13);
    close(ends[1]);
    const struct child_descriptor descriptors[] = {{.number = 7, .ours = ends[0]}, {.number = 9, .ours = ends[0]}};
    struct talk talk = {0};
    start(&talk, *state, (struct child_options){.descriptors = descriptors, .n_descriptors = 2},
          "cat <&7; for n in 3 4 5 6 7 8 9 10; do test -e /proc/self/fd/$n && echo \" $n\"; done");
    close(ends[0]);
    run(&talk);
    assert_string_equal(talk.output.data, "through seven 7\n 9\n");
    finish(&talk);

    const struct child_descriptor wrong[] = {{.number = 2, .ours = 0}, {.number = CHILD_MAX_DESCRIPTOR + 1}};
    for (size_t i = 0; i < 2; i++) {
        struct talk refused = {0};
        start(&refused, *state, (struct child_options){.descriptors = &wrong[i], .n_descriptors = 1}, "true");
        assert_int_equal(refused.n_done, 0);
        run(&refused);
        assert_int_equal(refused.status, STATUS_IO);
        finish(&refused);
    }
}

static void child__stream_can_be_capped(void **state)
{
    struct talk talk = {0};
    start(&talk, *state, (struct child_options){.max_output = 100000}, "yes");
    run(&talk);
    assert_int_equal(talk.status, STATUS_TOO_BIG);
    assert_int_equal(talk.output.len, 100000);
    finish(&talk);
}

static void cancel_it(struct talk *talk)
{
    child_cancel(talk->child);
}

static void child__cancel_from_its_own_stream(void **state)
{
    struct talk talk = {.act = cancel_it};
    start(&talk, *state, (struct child_options){.keep_input = true}, "yes");
    run(&talk);
    assert_int_equal(talk.status, STATUS_CANCELED);
    assert_int_equal(talk.n_pieces, 1); /* nothing comes after it */
    finish(&talk);
}

static void ask_to_end(struct talk *talk)
{
    child_signal(talk->child, SIGTERM);
}

static void child__can_be_asked_to_end(void **state)
{
    struct talk talk = {.act = ask_to_end};
    start(&talk, *state, (struct child_options){0}, "trap 'exit 5' TERM; echo ready; while :; do sleep 0.01; done");
    assert_true(child_process_id(talk.child) > 1);
    run(&talk);
    assert_int_equal(talk.exit_code, 5);
    finish(&talk);
}

static void child__destroying_the_loop_ends_a_talk(void **state)
{
    (void)state;
    struct loop *loop = loop_create();
    struct talk talk = {0};
    start(&talk, loop, (struct child_options){.keep_input = true, .input = STR("x")}, "sleep 1000");
    loop_destroy(loop);
    assert_int_equal(talk.n_done, 1);
    assert_int_equal(talk.status, STATUS_CANCELED);
    finish(&talk);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(child__is_talked_with),
        TEST(child__streams_errors_apart),
        TEST(child__large_writes_arrive_whole),
        TEST(child__that_does_not_read_is_no_leak),
        TEST(child__that_closed_its_input_says_so),
        TEST(child__gets_descriptors_by_number),
        TEST(child__stream_can_be_capped),
        TEST(child__cancel_from_its_own_stream),
        TEST(child__can_be_asked_to_end),
        TEST(child__destroying_the_loop_ends_a_talk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
