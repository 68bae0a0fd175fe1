#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "support/tool_world.h"

#include <stdlib.h>
#include <string.h>

/* A world whose tool is a fake one that does what the test says. */
static struct fake_tool fake;

static void start(struct tool_world *world, void (*act)(struct fake_tool *, struct tool_run *),
                  const struct fake_reply *replies, size_t n_replies)
{
    tool_world_init(world, "generic", NULL, replies, n_replies);
    fake_tool_init(&fake, "search", "text");
    fake.act = act;
    world->tool = &fake.tool;
}

static void finish(struct tool_world *world)
{
    world->tool = NULL;
    tool_world_finish(world);
    fake_tool_finish(&fake);
}

static void finish_at_once(struct fake_tool *tool, struct tool_run *run)
{
    assert_string_equal(json_string_value(json_array_get(json_object_get(tool_arguments(run), "query"), 0)), "x");
    assert_true(str_equal(tool_question(run), STR("What is asked?")));
    tool_report_source(run, STR("https://a.example/"), STR("A"));
    tool_report_source(run, STR("https://a.example/"), STR("A again"));
    tool_report_notice(run, "said %d\nthings", 2);
    tool_finish(run, TOOL_OK, STR("first"));
    tool_finish(run, TOOL_FAILED, STR("second"));
    tool_report_source(run, STR("https://late.example/"), STR("late"));
    assert_true(tool_canceled(run));
    assert_int_equal(tool_time_left_ms(run), 0);
    (void)tool;
}

static void tool__may_finish_inside_start(void **state)
{
    (void)state;
    struct tool_world world;
    start(&world, finish_at_once, NULL, 0);
    assert_string_equal(tool_world_call(&world, "{\"query\": [\"x\"]}"), "first");
    assert_int_equal(world.status, OUTCOME_OK);
    assert_int_equal(world.n_sources, 1);
    assert_string_equal(world.notices.data, "said 2 things\n");
    finish(&world);
}

/* ---- everything that is under way at the end is cancelled, and its `done` still comes ---- */

struct many {
    struct tool_run *run;
    int requests, works, waits, completions;
    bool freed;
} many;

static void on_response(void *user, struct http_response *response)
{
    (void)user;
    assert_int_equal(response->status, STATUS_CANCELED);
    many.requests++;
}

static void on_completion(void *user, const struct tool_completion *completion)
{
    (void)user;
    assert_int_equal(completion->status, STATUS_CANCELED);
    many.completions++;
}

static void work(void *user)
{
    struct tool_run *run = user;
    while (!tool_canceled(run))
        ;
}

static void on_worked(void *user)
{
    (void)user;
    many.works++;
}

static void on_waited(void *user)
{
    (void)user;
    many.waits++;
}

static void free_many(void *user)
{
    ((struct many *)user)->freed = true;
}

static void begin_everything(struct tool_run *run)
{
    const struct http_options options = {.traffic = HTTP_CONFIGURED, .url = "http://127.0.0.1:1/"};
    tool_request(run, &options, on_response, NULL);
    tool_work(run, work, on_worked, run);
    tool_wait(run, 100000, on_waited, NULL);
    tool_complete(run, STR("prompt"), 0, on_completion, NULL);
}

static void do_everything(struct fake_tool *tool, struct tool_run *run)
{
    (void)tool;
    many = (struct many){.run = run};
    tool_set_state(run, &many, free_many);
    begin_everything(run);
}

static void check_everything(int each)
{
    assert_int_equal(many.requests, each);
    assert_int_equal(many.works, each);
    assert_int_equal(many.waits, each);
    assert_int_equal(many.completions, each);
    assert_true(many.freed);
}

static const struct fake_reply hold[] = {{.text = "x", .end = FAKE_HOLD}};

static void tool__ends_all_work_when_cancelled(void **state)
{
    (void)state;
    struct tool_world world;
    start(&world, do_everything, hold, 1);
    tool_call_cancel(tool_world_start(&world, "{\"query\": [\"x\"]}"));
    assert_false(many.freed);
    tool_world_until_released(&world);
    check_everything(1);
    assert_int_equal(fake.canceled, 1);
    assert_int_equal(world.n_done, 0);
    finish(&world);
}

static void do_everything_and_finish(struct fake_tool *tool, struct tool_run *run)
{
    do_everything(tool, run);
    tool_finish(run, TOOL_OK, STR("enough"));
    begin_everything(run); /* what begins after the end ends soon */
}

static void tool__ends_all_work_when_it_finishes(void **state)
{
    (void)state;
    struct tool_world world;
    start(&world, do_everything_and_finish, hold, 1);
    assert_string_equal(tool_world_call(&world, "{\"query\": [\"x\"]}"), "enough");
    check_everything(2);
    assert_int_equal(fake.canceled, 0);
    finish(&world);
}

static void do_nothing(struct fake_tool *tool, struct tool_run *run)
{
    (void)tool;
    assert_in_range(tool_time_left_ms(run), 1, 1500);
}

static void tool__is_stopped_at_its_deadline(void **state)
{
    (void)state;
    struct tool_world world;
    start(&world, do_nothing, NULL, 0);
    world.timeout_ms = 20;
    assert_holds(tool_world_call(&world, "{\"query\": [\"x\"]}"), "search was stopped after 1 seconds");
    assert_int_equal(world.status, OUTCOME_TIMEOUT);
    assert_int_equal(fake.canceled, 1);
    finish(&world);
}

static void on_late_completion(void *user, const struct tool_completion *completion)
{
    assert_int_equal(completion->status, STATUS_OK);
    tool_finish(user, TOOL_OK, completion->text);
}

static void ask(struct fake_tool *tool, struct tool_run *run)
{
    (void)tool;
    tool_complete(run, STR("a prompt of some words"), 0, on_late_completion, run);
}

static void tool__does_not_pay_for_the_model_queue(void **state)
{
    (void)state;
    static const struct fake_reply replies[] = {{.text = "<think>hm</think> said late", .wait_ms = 200}};
    struct tool_world world;
    start(&world, ask, replies, 1);
    world.timeout_ms = 100;
    assert_string_equal(tool_world_call(&world, "{\"query\": [\"x\"]}"), "said late");
    assert_int_equal(world.completions, 1);
    assert_true(world.usage.prompt > 0 && world.usage.completion > 0);
    finish(&world);
}

static void tool__starts_a_broken_completion_anew(void **state)
{
    (void)state;
    static const struct fake_reply replies[] = {{.text = "half", .end = FAKE_BREAK}, {.text = "whole"}};
    struct tool_world world;
    start(&world, ask, replies, 2);
    assert_string_equal(tool_world_call(&world, "{\"query\": [\"x\"]}"), "whole");
    finish(&world);
}

static void on_refused(void *user, const struct tool_completion *completion)
{
    assert_int_equal(completion->status, STATUS_UNSUPPORTED);
    tool_finish(user, TOOL_FAILED, str_of(completion->error->message));
}

static void ask_nobody(struct fake_tool *tool, struct tool_run *run)
{
    (void)tool;
    assert_false(tool_can_complete(run));
    tool_complete(run, STR("prompt"), 0, on_refused, run);
}

static void tool__says_that_there_is_no_model(void **state)
{
    (void)state;
    struct tool_world world;
    start(&world, ask_nobody, NULL, 0);
    assert_holds(tool_world_call(&world, "{\"query\": [\"x\"]}"), "no language model");
    assert_int_equal(world.status, OUTCOME_FAILED);
    finish(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tool__may_finish_inside_start),
        cmocka_unit_test(tool__ends_all_work_when_cancelled),
        cmocka_unit_test(tool__ends_all_work_when_it_finishes),
        cmocka_unit_test(tool__is_stopped_at_its_deadline),
        cmocka_unit_test(tool__does_not_pay_for_the_model_queue),
        cmocka_unit_test(tool__starts_a_broken_completion_anew),
        cmocka_unit_test(tool__says_that_there_is_no_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
