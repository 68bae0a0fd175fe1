#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "loop/loop.h"
#include "support/tool_world.h"
#include "tools/common/chain.h"

#include <stdlib.h>
#include <string.h>

/* A tool with one query at a time over back ends that do what a letter each says, in order; the last letter stands for
 * all tries that follow:
 *     r  has three results       e  has none
 *     f  fails for good          d  the same, and needs rest (denied)
 *     t  may pass                l  may pass, in a minute
 *     h  never answers */
struct scripted {
    struct chain_backend backend; /* first: the chain hands it back */
    const char *script;
    size_t asked;
};

static struct scripted all[3];
static struct chain_backend *order[3];
static size_t n_backends;
static unsigned tries;

static struct query {
    struct tool_run *run;
    struct chain chain;
} query;

static void answer(void *user)
{
    struct chain *chain = &((struct query *)user)->chain;
    struct scripted *scripted = (struct scripted *)chain_backend(chain);
    if (tool_canceled(query.run))
        return;
    size_t last = strlen(scripted->script) - 1, turn = scripted->asked < last ? scripted->asked : last;
    char what = scripted->script[turn];
    scripted->asked++;
    if (what == 'h')
        return;
    if (what == 'r' || what == 'e') {
        chain_answered(chain, what == 'r' ? 3 : 0);
        return;
    }
    chain_fail(chain, "told to the model", "%s is told to the person", scripted->backend.name);
    chain->failure.may_pass = what == 't' || what == 'l';
    chain->failure.rests = what == 'd';
    if (what != 'f')
        chain->failure.retry_after_ms = what == 'l' ? 60000 : 0;
    chain_failed(chain);
}

static void ask(void *user)
{
    tool_wait(query.run, 0, answer, user);
}

static void settled(void *user)
{
    struct query *self = user;
    static const char *const names[] = {"asking", "found", "empty", "failed"};
    struct buf text;
    buf_init(&text, BUF_UNBOUNDED);
    buf_addf(&text, "%s|%s|", names[self->chain.state], chain_backend(&self->chain)->name);
    chain_tell(&self->chain, &text);
    tool_finish(self->run, TOOL_OK, buf_str(&text));
    buf_finish(&text);
}

static void on_late(void *user)
{
    struct query *self = user;
    if (!tool_canceled(self->run))
        chain_give_up(&self->chain);
}

static void free_query(void *state)
{
    chain_finish(&((struct query *)state)->chain);
}

static void start(struct tool *self, struct tool_run *run)
{
    (void)self;
    query = (struct query){.run = run};
    tool_set_state(run, &query, free_query);
    const struct chain_options options = {
        .run = run,
        .what = "look for \"x\"",
        .backends = order,
        .n_backends = n_backends,
        .tries = tries,
        .settled = settled,
        .user = &query,
    };
    chain_init(&query.chain, &options);
    chain_start(&query.chain);
    tool_wait(run, tool_time_left_ms(run) - 50, on_late, &query);
}

static struct tool_world world;
static struct tool_signature signature;

static void end_tool(struct tool *tool)
{
    signature_finish((struct tool_signature *)(uintptr_t)tool->signature);
}

static void begin(const char *const *scripts, size_t count)
{
    static const char *const names[] = {"one", "two", "three"};
    static struct tool tool = {.signature = &signature, .timeout_ms = 30000, .start = start, .destroy = end_tool};
    tool_world_init(&world, "generic", NULL, NULL, 0);
    assert_int_equal(signature_load(STR("{\"name\": \"look\", \"description\": \"d\", \"parameters\": {\"type\": "
                                        "\"object\", \"properties\": {}}}"),
                                    &signature, NULL),
                     STATUS_OK);
    world.tool = &tool;
    n_backends = count;
    tries = 3;
    for (size_t i = 0; i < count; i++) {
        all[i] = (struct scripted){.backend = {.name = names[i], .ask = ask}, .script = scripts[i]};
        order[i] = &all[i].backend;
    }
}

static void chain__asks_in_order(void **state)
{
    (void)state;
    static const struct {
        const char *scripts[3], *text;
        size_t asked[3];
    } cases[] = {
        {{"r", "r", "r"}, "found|one|", {1, 0, 0}},
        {{"f", "r", "r"}, "found|two|(one failed; these results come from two.)", {1, 1, 0}},
        {{"e", "r", "r"}, "found|two|(one found nothing; these results come from two.)", {1, 1, 0}},
        {{"e", "f", "r"}, "found|three|(one found nothing, two failed; these results come from three.)", {1, 1, 1}},
        {{"tr", "r", "r"}, "found|one|", {2, 0, 0}},
        {{"t", "r", "r"}, "found|two|(one failed; these results come from two.)", {3, 1, 0}},
        {{"l", "r", "r"}, "found|two|(one failed; these results come from two.)", {1, 1, 0}}, /* a minute is too long */
        {{"f", "f", "f"}, "failed|three|", {1, 1, 1}},
        {{"f", "e", "f"}, "empty|three|", {1, 1, 1}},
        {{"e", "e", "e"}, "empty|three|", {1, 1, 1}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        begin(cases[i].scripts, 3);
        assert_string_equal(tool_world_call(&world, "{}"), cases[i].text);
        for (size_t j = 0; j < 3; j++) {
            assert_int_equal(all[j].asked, cases[i].asked[j]);
            char said[64];
            snprintf(said, sizeof said, "look for \"x\": %s is told to the person", all[j].backend.name);
            if (strpbrk(cases[i].scripts[j], "fl") && all[j].asked > 0)
                assert_holds(world.notices.data, said);
        }
        tool_world_finish(&world);
    }
}

/* A service that refused for good is not asked by the queries that follow, as long as there is another. */
static void chain__leaves_in_peace_who_refused(void **state)
{
    (void)state;
    begin((const char *const[]){"d", "r", "d"}, 2);
    assert_string_equal(tool_world_call(&world, "{}"), "found|two|(one failed; these results come from two.)");
    assert_string_equal(tool_world_call(&world, "{}"), "found|two|(one failed; these results come from two.)");
    assert_int_equal(all[0].asked, 1);
    all[0].backend.rest_until_ms = 0; /* rested */
    all[0].script = "r";
    assert_string_equal(tool_world_call(&world, "{}"), "found|one|");
    tool_world_finish(&world);

    begin((const char *const[]){"d", "d"}, 2);
    assert_string_equal(tool_world_call(&world, "{}"), "failed|two|");
    assert_string_equal(tool_world_call(&world, "{}"), "failed|one|"); /* all at rest: the first, which may be back */
    assert_int_equal(all[0].asked, 2);
    tool_world_finish(&world);
}

static void chain__keeps_a_distance(void **state)
{
    (void)state;
    begin((const char *const[]){"r"}, 1);
    all[0].backend.gap_ms = 60;
    int64_t began = loop_now_ms(world.loop);
    for (int i = 0; i < 3; i++)
        tool_world_call(&world, "{}");
    assert_true(loop_now_ms(world.loop) - began >= 120);
    assert_int_equal(all[0].asked, 3);
    tool_world_finish(&world);
}

/* A turn that would come too late is left to those who can use it; the next service is asked at once. */
static void chain__takes_no_turn_that_comes_too_late(void **state)
{
    (void)state;
    begin((const char *const[]){"r", "r"}, 2);
    all[0].backend.gap_ms = 20000;
    assert_string_equal(tool_world_call(&world, "{}"), "found|one|");
    int64_t free_ms = all[0].backend.free_ms, began = loop_now_ms(world.loop);
    world.timeout_ms = 5000;
    assert_string_equal(tool_world_call(&world, "{}"), "found|two|(one failed; these results come from two.)");
    assert_true(loop_now_ms(world.loop) - began < 2000);
    assert_int_equal(all[0].backend.free_ms, free_ms);
    assert_holds(world.notices.data, "so many requests wait for one, which takes one every 20.0 s");
    n_backends = 1;
    assert_string_equal(tool_world_call(&world, "{}"), "failed|one|");
    assert_int_equal(all[0].asked, 1);
    tool_world_finish(&world);
}

static void chain__gives_up_in_time(void **state)
{
    (void)state;
    begin((const char *const[]){"h", "r"}, 2);
    world.timeout_ms = 150;
    assert_string_equal(tool_world_call(&world, "{}"), "failed|one|");
    assert_holds(world.notices.data, "one did not answer in time");
    tool_world_finish(&world);
}

static void chain__ends_with_the_call(void **state)
{
    (void)state;
    begin((const char *const[]){"t", "r"}, 2);
    tool_world_call_off(&world, "{}", 1);
    assert_true(all[0].asked <= 1);
    assert_int_equal(all[1].asked, 0);
    tool_world_finish(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chain__asks_in_order),    cmocka_unit_test(chain__leaves_in_peace_who_refused),
        cmocka_unit_test(chain__keeps_a_distance), cmocka_unit_test(chain__takes_no_turn_that_comes_too_late),
        cmocka_unit_test(chain__gives_up_in_time), cmocka_unit_test(chain__ends_with_the_call),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
