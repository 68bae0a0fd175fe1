/* The loop: deferred and posted calls, timers, descriptors, work, signals, children. */
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/buf.h"
#include "core/mem.h"
#include "loop/child.h"
#include "loop/loop.h"

/* Writes down what happened, one letter each. */
static char trace[256];

static void note(char c)
{
    size_t len = strlen(trace);
    assert_true(len + 1 < sizeof trace);
    trace[len] = c;
    trace[len + 1] = '\0';
}

static int setup(void **state)
{
    trace[0] = '\0';
    *state = loop_create();
    return 0;
}

static int teardown(void **state)
{
    loop_destroy(*state);
    return 0;
}

static void stop(void *user)
{
    loop_stop(user);
}

static void note_a(void *user)
{
    (void)user;
    note('a');
}

static void note_b(void *user)
{
    (void)user;
    note('b');
}

/* ---- deferred and posted ---- */

static void defer_again(void *user)
{
    note('1');
    loop_defer(user, note_b, NULL);
    loop_defer(user, stop, user);
    note('2');
}

static void loop__deferred_calls_come_later_and_in_order(void **state)
{
    loop_defer(*state, note_a, NULL);
    loop_defer(*state, defer_again, *state);
    loop_defer(*state, note_a, NULL);
    assert_string_equal(trace, "");
    loop_run(*state);
    assert_string_equal(trace, "a12ab");
}

static void cancel_a(void *user)
{
    loop_defer_cancel(user, note_a, NULL);
}

static void loop__deferred_calls_can_be_canceled(void **state)
{
    loop_defer(*state, note_a, NULL);
    loop_defer_cancel(*state, note_a, NULL);
    loop_defer(*state, note_b, NULL);
    loop_defer(*state, cancel_a, *state); /* in the midst of the batch */
    loop_defer(*state, note_a, NULL);
    loop_defer(*state, note_a, *state); /* another user */
    loop_defer(*state, stop, *state);
    loop_run(*state);
    assert_string_equal(trace, "ba");
}

static void loop__deferred_calls_may_be_dropped(void **state)
{
    loop_defer(*state, note_a, NULL);
}

static void *post_many(void *user)
{
    for (int i = 0; i < 50; i++)
        loop_post(user, note_a, NULL);
    loop_post(user, stop, user);
    return NULL;
}

static void loop__other_threads_post(void **state)
{
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, post_many, *state), 0);
    loop_run(*state);
    pthread_join(thread, NULL);
    assert_int_equal(strlen(trace), 50);
}

static void loop__posted_calls_are_made_before_the_end(void **state)
{
    loop_post(*state, note_a, NULL);
    loop_destroy(*state);
    assert_string_equal(trace, "a");
    *state = loop_create();
}

static void loop__a_turn_does_not_wait(void **state)
{
    loop_turn(*state);
    loop_stop(*state);
    loop_run(*state);  /* the stop came before it */
    loop_stop(*state); /* and one that nobody heeds */
}

/* ---- timers ---- */

struct timers {
    struct loop *loop;
    struct loop_timer *a, *b, *again;
    int count;
};

static void fire_a(void *user)
{
    struct timers *timers = user;
    note('a');
    loop_timer_destroy(timers->a); /* itself */
    loop_timer_stop(timers->b);
}

static void fire_again(void *user)
{
    struct timers *timers = user;
    note('r');
    if (++timers->count < 3)
        loop_timer_start(timers->again, 0);
    else
        loop_stop(timers->loop);
}

static void loop__timers_fire_once_and_in_time(void **state)
{
    struct timers timers = {.loop = *state};
    timers.a = loop_timer_create(*state, fire_a, &timers);
    timers.b = loop_timer_create(*state, note_b, NULL);
    timers.again = loop_timer_create(*state, fire_again, &timers);
    assert_false(loop_timer_active(timers.b));
    int64_t before = loop_now_ms(*state);
    loop_timer_start(timers.b, 1);
    loop_timer_start(timers.b, 15); /* the later start counts */
    loop_timer_start(timers.a, 5);
    loop_timer_start(timers.again, 30);
    assert_true(loop_timer_active(timers.b));
    loop_run(*state);
    assert_string_equal(trace, "arrr");
    assert_in_range(loop_now_ms(*state) - before, 30, 5000);
    assert_false(loop_timer_active(timers.b));
    loop_timer_destroy(timers.b);
    loop_timer_destroy(timers.again);
    loop_timer_destroy(NULL);
}

static void loop__a_timer_counts_from_its_start(void **state)
{
    struct timers timers = {.loop = *state, .count = 2};
    timers.again = loop_timer_create(*state, fire_again, &timers);
    loop_turn(*state);
    usleep(30000); /* the loop's own notion of now is old */
    int64_t before = loop_now_ms(*state);
    loop_timer_start(timers.again, 20);
    loop_run(*state);
    assert_true(loop_now_ms(*state) - before >= 20);
    loop_timer_destroy(timers.again);
}

/* ---- descriptors ---- */

struct watched {
    struct loop *loop;
    struct loop_watch *watch;
    int descriptor;
};

static void read_byte(void *user, int events)
{
    struct watched *watched = user;
    char c;
    assert_true(events & LOOP_READABLE);
    if (read(watched->descriptor, &c, 1) == 1) {
        note(c);
        return;
    }
    loop_watch_destroy(watched->watch);
    loop_stop(watched->loop);
}

static void loop__descriptors_are_watched(void **state)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    struct watched watched = {.loop = *state, .descriptor = ends[0]};
    watched.watch = loop_watch_create(*state, ends[0], read_byte, &watched);
    assert_int_equal(write(ends[1], "xyz", 3), 3);
    loop_turn(*state);
    assert_string_equal(trace, ""); /* not set yet */
    loop_watch_set(watched.watch, LOOP_READABLE);
    loop_turn(*state);
    assert_string_equal(trace, "x");
    loop_watch_set(watched.watch, 0);
    loop_turn(*state);
    assert_string_equal(trace, "x");
    loop_watch_set(watched.watch, LOOP_READABLE);
    close(ends[1]);
    loop_run(*state);
    assert_string_equal(trace, "xyz");
    close(ends[0]);
    loop_watch_destroy(NULL);
}

/* ---- work ---- */

struct job {
    struct loop *loop;
    atomic_int begun;
    atomic_bool go;
    bool saw_cancel;
    int done;
    enum status status;
};

static void work_briefly(struct loop_work *work, void *user)
{
    struct job *job = user;
    assert_false(loop_work_canceled(work));
    atomic_fetch_add(&job->begun, 1);
}

static void work_until_canceled(struct loop_work *work, void *user)
{
    struct job *job = user;
    atomic_fetch_add(&job->begun, 1);
    while (!loop_work_canceled(work))
        usleep(200);
    job->saw_cancel = true;
}

static void job_done(void *user, enum status status)
{
    struct job *job = user;
    job->done++;
    job->status = status;
    loop_stop(job->loop);
}

static void loop__work_runs_on_the_pool(void **state)
{
    struct job job = {.loop = *state};
    loop_work_start(*state, work_briefly, job_done, &job);
    assert_int_equal(job.done, 0);
    loop_run(*state);
    assert_int_equal(job.done, 1);
    assert_int_equal(job.status, STATUS_OK);
    assert_int_equal(atomic_load(&job.begun), 1);
}

static void loop__running_work_sees_its_cancel(void **state)
{
    struct job job = {.loop = *state};
    struct loop_work *work = loop_work_start(*state, work_until_canceled, job_done, &job);
    while (atomic_load(&job.begun) == 0)
        usleep(200);
    loop_work_cancel(work);
    loop_work_cancel(work);
    assert_int_equal(job.done, 0);
    loop_run(*state);
    assert_int_equal(job.done, 1);
    assert_int_equal(job.status, STATUS_CANCELED);
    assert_true(job.saw_cancel);
}

static void loop__destroy_waits_for_work(void **state)
{
    struct job jobs[12] = {0}; /* more than the pool has threads, so some are still queued */
    for (int i = 0; i < 12; i++) {
        jobs[i].loop = *state;
        loop_work_start(*state, work_until_canceled, job_done, &jobs[i]);
    }
    loop_work_start(*state, work_until_canceled, NULL, &jobs[0]);
    loop_destroy(*state);
    for (int i = 0; i < 12; i++) {
        assert_int_equal(jobs[i].done, 1);
        assert_int_equal(jobs[i].status, STATUS_CANCELED);
    }
    *state = loop_create();
}

/* ---- signals ---- */

static void loop__signals_arrive(void **state)
{
    loop_on_signal(*state, SIGUSR1, note_a, NULL);
    loop_on_signal(*state, SIGUSR2, stop, *state);
    raise(SIGUSR1);
    loop_turn(*state);
    assert_string_equal(trace, "a");
    loop_on_signal(*state, SIGUSR1, note_b, NULL); /* in its place */
    raise(SIGUSR1);
    loop_turn(*state);
    raise(SIGUSR2);
    loop_run(*state);
    assert_string_equal(trace, "ab");
    loop_on_signal(*state, SIGUSR1, NULL, NULL);
    loop_on_signal(*state, SIGUSR1, NULL, NULL);
    struct sigaction action;
    assert_int_equal(sigaction(SIGUSR1, NULL, &action), 0);
    assert_true(action.sa_handler == SIG_DFL);
    assert_int_equal(sigaction(SIGPIPE, NULL, &action), 0);
    assert_true(action.sa_handler == SIG_IGN);
}

/* ---- children ---- */

struct outcome {
    struct loop *loop;
    int count, exit_code, signal_number;
    enum status status;
    char *output, *errors, message[512];
    size_t output_len, errors_len;
    int64_t elapsed_ms;
};

static void child_ended(void *user, struct child_result *result)
{
    struct outcome *outcome = user;
    outcome->count++;
    outcome->status = result->status;
    outcome->exit_code = result->exit_code;
    outcome->signal_number = result->signal_number;
    outcome->output_len = result->output.len;
    outcome->errors_len = result->errors.len;
    outcome->output = buf_take(&result->output);
    outcome->errors = buf_take(&result->errors);
    outcome->elapsed_ms = result->elapsed_ms;
    if (result->status != STATUS_OK)
        memcpy(outcome->message, result->error.message, sizeof outcome->message);
    loop_stop(outcome->loop);
}

static void forget(struct outcome *outcome)
{
    free(outcome->output);
    free(outcome->errors);
    *outcome = (struct outcome){0};
}

static struct outcome run_child(struct loop *loop, struct child_options options, const char *script)
{
    const char *const shell[] = {"sh", "-c", script, NULL};
    struct outcome outcome = {.loop = loop};
    if (!options.argv)
        options.argv = shell;
    child_start(loop, &options, child_ended, &outcome);
    assert_int_equal(outcome.count, 0);
    loop_run(loop);
    assert_int_equal(outcome.count, 1);
    return outcome;
}

static void child__bytes_in_and_out(void **state)
{
    char *input = mem_alloc(1000000);
    for (size_t i = 0; i < 1000000; i++)
        input[i] = (char)(i * 7 + i / 256);
    struct outcome outcome =
        run_child(*state, (struct child_options){.input = {input, 1000000}}, "echo warning >&2; cat; exit 3");
    assert_int_equal(outcome.status, STATUS_OK);
    assert_int_equal(outcome.exit_code, 3);
    assert_int_equal(outcome.signal_number, 0);
    assert_int_equal(outcome.output_len, 1000000);
    assert_memory_equal(outcome.output, input, 1000000);
    assert_string_equal(outcome.errors, "warning\n");
    forget(&outcome);
    free(input);
}

static void child__standard_streams_can_be_opened_by_name(void **state)
{
    struct outcome outcome =
        run_child(*state, (struct child_options){.input = STR("hello")}, "cat /dev/stdin >/dev/stdout");
    assert_string_equal(outcome.output, "hello");
    forget(&outcome);
    outcome = run_child(*state, (struct child_options){0}, "cat; echo end"); /* no input is an empty one */
    assert_string_equal(outcome.output, "end\n");
    forget(&outcome);
}

static void child__unread_input_is_no_failure(void **state)
{
    char *input = mem_zalloc(1000000);
    struct outcome outcome = run_child(*state, (struct child_options){.input = {input, 1000000}}, "echo done");
    assert_int_equal(outcome.status, STATUS_OK);
    assert_string_equal(outcome.output, "done\n");
    forget(&outcome);
    free(input);
}

static void child__gets_no_descriptor_and_the_environment_it_was_given(void **state)
{
    int leaked = open("/dev/null", O_RDONLY); /* without close-on-exec, like one inherited from a shell */
    assert_int_equal(dup2(leaked, 42), 42);
    static const char *const environment[] = {"ONE=1", "PATH=/usr/bin:/bin", NULL}, *const empty[] = {NULL};
    struct outcome outcome = run_child(*state, (struct child_options){.environment = environment, .directory = "/"},
                                       "ls /proc/self/fd | wc -l; env; pwd");
    assert_int_equal(atoi(outcome.output), 4); /* 0, 1, 2, and the folder that ls reads */
    assert_non_null(strstr(outcome.output, "ONE=1\n"));
    assert_null(strstr(outcome.output, "HOME="));
    assert_non_null(strstr(outcome.output, "\n/\n"));
    forget(&outcome);
    const char *const env[] = {"/usr/bin/env", NULL};
    outcome = run_child(*state, (struct child_options){.argv = env, .environment = empty}, NULL);
    assert_int_equal(outcome.status, STATUS_OK);
    assert_string_equal(outcome.output, "");
    forget(&outcome);
    setenv("FATHOM_TEST_VARIABLE", "here", 1);
    outcome = run_child(*state, (struct child_options){0}, "echo $FATHOM_TEST_VARIABLE");
    assert_string_equal(outcome.output, "here\n");
    forget(&outcome);
    close(leaked);
    close(42);
}

static void child__starting_can_fail(void **state)
{
    static const char *const nothing[] = {"/nonexistent/program", NULL}, *const folder[] = {"/tmp", NULL};
    struct outcome outcome = run_child(*state, (struct child_options){.argv = nothing}, NULL);
    assert_int_equal(outcome.status, STATUS_NOT_FOUND);
    assert_int_equal(outcome.exit_code, -1);
    assert_non_null(strstr(outcome.message, "/nonexistent/program"));
    forget(&outcome);
    outcome = run_child(*state, (struct child_options){.argv = folder, .input = STR("x")}, NULL);
    assert_int_equal(outcome.status, STATUS_IO);
    forget(&outcome);
    outcome = run_child(*state, (struct child_options){.directory = "/nonexistent"}, "true");
    assert_int_equal(outcome.status, STATUS_NOT_FOUND);
    forget(&outcome);
}

static void child__a_signal_is_a_failure(void **state)
{
    struct outcome outcome = run_child(*state, (struct child_options){0}, "echo some; kill -SEGV $$");
    assert_int_equal(outcome.status, STATUS_IO);
    assert_int_equal(outcome.signal_number, SIGSEGV);
    assert_int_equal(outcome.exit_code, -1);
    assert_string_equal(outcome.output, "some\n");
    forget(&outcome);
}

static void child__output_is_capped(void **state)
{
    struct child_options options = {.max_output = 100000, .max_errors = 10};
    struct outcome outcome = run_child(*state, options, "echo 0123456789abcdef >&2; yes");
    assert_int_equal(outcome.status, STATUS_TOO_BIG);
    assert_int_equal(outcome.output_len, 100000);
    assert_string_equal(outcome.errors, "0123456789");
    forget(&outcome);
    outcome = run_child(*state, (struct child_options){.max_output = 4}, "echo abc");
    assert_int_equal(outcome.status, STATUS_OK);
    assert_string_equal(outcome.output, "abc\n");
    forget(&outcome);
}

/* A zombie runs no more: reaping it is the affair of whoever inherited it. */
static bool process_runs(const char *number)
{
    char path[64], line[256] = "";
    snprintf(path, sizeof path, "/proc/%d/stat", atoi(number));
    FILE *file = fopen(path, "r");
    if (!file)
        return false;
    const char *read_line = fgets(line, sizeof line, file);
    fclose(file);
    const char *name_end = read_line ? strrchr(line, ')') : NULL;
    return name_end && name_end[2] != 'Z' && name_end[2] != 'X';
}

/* Waits until the process with this number is gone, a second at most: killed processes vanish a little later. */
static void assert_gone(const char *number)
{
    assert_true(atoi(number) > 1);
    for (int i = 0; i < 1000 && process_runs(number); i++)
        usleep(1000);
    assert_false(process_runs(number));
}

static void child__time_out_ends_the_whole_group(void **state)
{
    struct outcome outcome =
        run_child(*state, (struct child_options){.timeout_ms = 50}, "sleep 1000 & echo $!; trap '' TERM; wait");
    assert_int_equal(outcome.status, STATUS_TIMEOUT);
    assert_true(outcome.elapsed_ms >= 50 && outcome.elapsed_ms < 5000);
    assert_gone(outcome.output);
    forget(&outcome);
}

static void child__what_it_leaves_behind_is_ended(void **state)
{
    struct outcome outcome = run_child(*state, (struct child_options){0}, "sleep 1000 & echo $!");
    assert_int_equal(outcome.status, STATUS_OK); /* and the pipe that sleep holds keeps nobody waiting */
    assert_gone(outcome.output);
    forget(&outcome);
}

static void child__cancel_ends_it(void **state)
{
    static const char *const argv[] = {"sleep", "1000", NULL};
    struct outcome outcome = {.loop = *state};
    struct child_options options = {.argv = argv};
    struct child *child = child_start(*state, &options, child_ended, &outcome);
    child_cancel(child);
    child_cancel(child);
    assert_int_equal(outcome.count, 0);
    loop_run(*state);
    assert_int_equal(outcome.count, 1);
    assert_int_equal(outcome.status, STATUS_CANCELED);
    forget(&outcome);
}

static void child__destroying_the_loop_ends_it(void **state)
{
    static const char *const argv[] = {"sleep", "1000", NULL}, *const nothing[] = {"/nonexistent/program", NULL};
    struct outcome one = {.loop = *state}, two = {.loop = *state};
    child_start(*state, &(struct child_options){.argv = argv, .input = STR("x")}, child_ended, &one);
    child_start(*state, &(struct child_options){.argv = nothing}, child_ended, &two);
    loop_destroy(*state);
    assert_int_equal(one.count, 1);
    assert_int_equal(one.status, STATUS_CANCELED);
    assert_int_equal(two.count, 1);
    assert_int_equal(two.status, STATUS_NOT_FOUND);
    forget(&one);
    forget(&two);
    *state = loop_create();
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(loop__deferred_calls_come_later_and_in_order),
        TEST(loop__deferred_calls_can_be_canceled),
        TEST(loop__deferred_calls_may_be_dropped),
        TEST(loop__other_threads_post),
        TEST(loop__posted_calls_are_made_before_the_end),
        TEST(loop__a_turn_does_not_wait),
        TEST(loop__timers_fire_once_and_in_time),
        TEST(loop__a_timer_counts_from_its_start),
        TEST(loop__descriptors_are_watched),
        TEST(loop__work_runs_on_the_pool),
        TEST(loop__running_work_sees_its_cancel),
        TEST(loop__destroy_waits_for_work),
        TEST(loop__signals_arrive),
        TEST(child__bytes_in_and_out),
        TEST(child__standard_streams_can_be_opened_by_name),
        TEST(child__unread_input_is_no_failure),
        TEST(child__gets_no_descriptor_and_the_environment_it_was_given),
        TEST(child__starting_can_fail),
        TEST(child__a_signal_is_a_failure),
        TEST(child__output_is_capped),
        TEST(child__time_out_ends_the_whole_group),
        TEST(child__what_it_leaves_behind_is_ended),
        TEST(child__cancel_ends_it),
        TEST(child__destroying_the_loop_ends_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
