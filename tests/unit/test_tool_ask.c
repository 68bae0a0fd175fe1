/* Questions of a tool, and the consent that a call may need. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "engine/ask.h"
#include "support/tool_world.h"

#include <stdlib.h>
#include <string.h>

/* A person who says what the test wants. */
static struct person {
    struct loop *loop;
    enum ask_outcome outcome;
    const char *answer;
    int64_t thinks_ms; /* 0: answers at once; -1: never */
    struct ask *asked;
    struct loop_timer *timer;
    int n_asked, n_withdrawn;
    char question[200];
} person;

static struct fake_tool fake;

static void answer(void *user)
{
    (void)user;
    struct ask *ask = person.asked;
    person.asked = NULL;
    ask_answer(ask, person.outcome, str_of(person.answer));
}

static void on_ask(void *user, struct ask *ask)
{
    (void)user;
    const struct ask_question *question = ask_question(ask);
    snprintf(person.question, sizeof person.question, "%s %s %.*s", question->tool,
             question->purpose == ASK_FOR_PERMISSION ? "wants to run" : "asks", STR_ARG(question->text));
    person.asked = ask;
    person.n_asked++;
    if (person.thinks_ms == 0)
        answer(NULL);
    else if (person.thinks_ms > 0)
        loop_timer_start(person.timer, person.thinks_ms);
}

static void on_withdraw(void *user, struct ask *ask)
{
    (void)user;
    assert_ptr_equal(ask, person.asked);
    person.asked = NULL;
    person.n_withdrawn++;
}

static void start(struct tool_world *world, void (*act)(struct fake_tool *, struct tool_run *),
                  enum ask_outcome outcome, const char *text)
{
    static const struct asker asker = {.ask = on_ask, .withdraw = on_withdraw};
    tool_world_init(world, "generic", NULL, NULL, 0);
    fake_tool_init(&fake, "search", "text");
    fake.act = act;
    world->tool = &fake.tool;
    person = (struct person){.loop = world->loop, .outcome = outcome, .answer = text};
    person.timer = loop_timer_create(world->loop, answer, NULL);
    engine_set_asker(world->engine, &asker);
}

static void finish(struct tool_world *world)
{
    loop_timer_destroy(person.timer);
    world->tool = NULL;
    tool_world_finish(world);
    fake_tool_finish(&fake);
}

static void on_answer(void *user, enum ask_outcome outcome, struct str text)
{
    static const char *const words[] = {"answered", "declined", "nobody"};
    char said[100];
    snprintf(said, sizeof said, "%s: %.*s", words[outcome], STR_ARG(text));
    tool_finish(user, TOOL_OK, str_of(said));
}

static void ask(struct fake_tool *tool, struct tool_run *run)
{
    (void)tool;
    tool_ask(run, STR("Which one?"), NULL, on_answer, run);
}

static void ask__brings_the_answer(void **state)
{
    (void)state;
    struct tool_world world;
    start(&world, ask, ASK_ANSWERED, "the red one");
    assert_string_equal(tool_world_call(&world, "{\"query\": [\"x\"]}"), "answered: the red one");
    assert_string_equal(person.question, "search asks Which one?");
    person.outcome = ASK_DECLINED;
    assert_string_equal(tool_world_call(&world, "{\"query\": [\"x\"]}"), "declined: ");
    engine_set_asker(world.engine, NULL);
    assert_string_equal(tool_world_call(&world, "{\"query\": [\"x\"]}"), "nobody: ");
    assert_int_equal(person.n_asked, 2);
    finish(&world);
}

static void ask__stops_the_clock(void **state)
{
    (void)state;
    struct tool_world world;
    start(&world, ask, ASK_ANSWERED, "late");
    world.timeout_ms = 50;
    person.thinks_ms = 150;
    assert_string_equal(tool_world_call(&world, "{\"query\": [\"x\"]}"), "answered: late");
    finish(&world);
}

static void ask__is_withdrawn_with_the_call(void **state)
{
    (void)state;
    struct tool_world world;
    start(&world, ask, ASK_ANSWERED, "");
    person.thinks_ms = -1;
    tool_call_cancel(tool_world_start(&world, "{\"query\": [\"x\"]}"));
    tool_world_until_released(&world);
    assert_int_equal(person.n_withdrawn, 1);
    assert_int_equal(fake.canceled, 1);
    finish(&world);
}

static void permission__is_asked_for_each_call(void **state)
{
    (void)state;
    struct tool_world world;
    start(&world, NULL, ASK_ANSWERED, "once");
    fake.tool.permission = TOOL_ASK_FIRST;
    assert_string_equal(tool_world_call(&world, "{\"query\": [\"x\"]}"), "text");
    assert_string_equal(person.question, "search wants to run ");
    assert_string_equal(tool_world_call(&world, "{\"query\": [\"x\"]}"), "text");
    assert_int_equal(person.n_asked, 2);
    person.answer = "always";
    tool_world_call(&world, "{\"query\": [\"x\"]}");
    tool_world_call(&world, "{\"query\": [\"x\"]}");
    assert_int_equal(person.n_asked, 3);
    assert_int_equal(fake.started, 4);
    finish(&world);
}

static void permission__keeps_a_call_from_running(void **state)
{
    (void)state;
    struct tool_world world;
    start(&world, NULL, ASK_DECLINED, "");
    fake.tool.permission = TOOL_ASK_FIRST;
    assert_holds(tool_world_call(&world, "{\"query\": [\"x\"]}"), "the user did not allow this call");
    assert_int_equal(world.status, OUTCOME_FAILED);
    engine_set_asker(world.engine, NULL);
    assert_holds(tool_world_call(&world, "{\"query\": [\"x\"]}"), "nobody can be asked in this run");
    assert_int_equal(fake.started, 0);
    finish(&world);
}

static void permission__may_be_cancelled_before_the_tool_knows(void **state)
{
    (void)state;
    struct tool_world world;
    start(&world, NULL, ASK_ANSWERED, "once");
    fake.tool.permission = TOOL_ASK_FIRST;
    person.thinks_ms = -1;
    tool_call_cancel(tool_world_start(&world, "{\"query\": [\"x\"]}"));
    tool_world_until_released(&world);
    assert_int_equal(person.n_withdrawn, 1);
    assert_int_equal(fake.started, 0);
    assert_int_equal(fake.canceled, 0);
    finish(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ask__brings_the_answer),
        cmocka_unit_test(ask__stops_the_clock),
        cmocka_unit_test(ask__is_withdrawn_with_the_call),
        cmocka_unit_test(permission__is_asked_for_each_call),
        cmocka_unit_test(permission__keeps_a_call_from_running),
        cmocka_unit_test(permission__may_be_cancelled_before_the_tool_knows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
