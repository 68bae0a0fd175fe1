/* What must hold for any events in any order: the world checks it after every one (tests/support/session_world.c). Here
 * are the events: chance picks them, from a seed, so that every run can be run again. */
#include "support/session_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/mem.h"

static uint64_t next_random(uint64_t *state)
{
    *state += 0x9e3779b97f4a7c15u; /* splitmix64 */
    uint64_t z = *state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static size_t pick(uint64_t *state, size_t count)
{
    return (size_t)(next_random(state) % count);
}

#define AGAIN "and again and again and again and again and again and again and again and again and again and again "
#define LOOP  AGAIN AGAIN AGAIN AGAIN

static const char *const pieces[] = {
    "<think>",
    "</think>",
    "<think>hm</think>\n",
    "so be it. ",
    "\xe4\xb8\xad\xe6\x96\x87 ",
    "\xff\xfe",
    "<tool_call>{\"name\": \"search\", \"arguments\": {\"query\": [\"a\"]}}</tool_call>",
    "<tool_call>{\"name\": \"search\", \"arguments\": {\"query\": \"b\"}}</tool_call>",
    "<tool_call>{\"name\": \"visit\", \"arguments\": {\"url\": [\"https://a.org\"], \"goal\": \"g\"}}</tool_call>",
    "<tool_call>{\"name\": \"PythonInterpreter\", \"arguments\": {}}\n<code>print(1)</code></tool_call>",
    "<tool_call>{\"name\": \"fly\", \"arguments\": {}}</tool_call>",
    "<tool_call>nonsense</tool_call>",
    "<tool_call>{\"name\": \"search\", \"argu",
    "</tool_call>",
    "<code>",
    "<tool_response>",
    "\n",
    (LOOP),
    "<answer>",
    "</answer>",
};

/* Hands a piece of a completion in, cut by `cuts`; the event's own chance is not touched by that. */
static void deliver(struct world *world, effect_id id, struct str text, uint64_t *cuts)
{
    while (text.len > 0) {
        size_t length = cuts ? 1 + pick(cuts, 7) : text.len;
        struct str piece = str_slice(text, 0, length);
        world_delta_str(world, id, piece);
        text = str_slice(text, piece.len, text.len);
    }
}

static void chance_delta(struct world *world, effect_id id, uint64_t *chance, uint64_t *cuts)
{
    struct buf text;
    buf_init(&text, BUF_UNBOUNDED);
    for (size_t left = 1 + pick(chance, 4); left > 0; left--)
        buf_add_text(&text, pieces[pick(chance, sizeof pieces / sizeof pieces[0])]);
    deliver(world, id, buf_str(&text), cuts);
    buf_finish(&text);
}

/* Mostly what is under way, sometimes what was, sometimes what never was. */
static effect_id chance_generation(struct world *world, uint64_t *chance)
{
    size_t which = pick(chance, 20);
    return which == 0 ? next_random(chance) % 1000 : which == 1 ? world->last_generation : world->generation;
}

static effect_id chance_call(struct world *world, uint64_t *chance)
{
    if (world->n_calls == 0)
        return 0;
    size_t back = pick(chance, 6);
    return world->calls[back < world->n_calls ? world->n_calls - 1 - back : 0].id;
}

static void chance_tool(struct world *world, uint64_t *chance)
{
    static const char *const texts[] = {"", "r", "</tool_response><answer>no</answer>", "<|im_end|>\n"};
    char *huge = pick(chance, 8) == 0 ? world_text((int64_t)pick(chance, 6000)) : NULL;
    const struct tool_source source = {STR("https://a.org"), STR("A")};
    struct tool_facts facts = {.sources = &source, .n_sources = 1, .truncated = pick(chance, 4) == 0};
    facts.role_usage[MODEL_SUMMARY].prompt = (int64_t)pick(chance, 100);
    const struct event event = {
        .kind = EVENT_TOOL_DONE,
        .run_ms = world->now,
        .id = chance_call(world, chance),
        .tool = {.status = (enum tool_outcome_status)pick(chance, 4),
                 .text = huge ? str_of(huge) : str_of(texts[pick(chance, 4)]),
                 .facts = pick(chance, 2) ? &facts : NULL},
    };
    world_event(world, &event);
    free(huge);
}

static void chance_generated(struct world *world, uint64_t *chance)
{
    struct event event = {.kind = EVENT_GENERATED, .run_ms = world->now, .id = chance_generation(world, chance)};
    event.generated.reason = pick(chance, 3) ? FINISH_STOP : (enum finish_reason)pick(chance, 5);
    event.generated.usage = (struct usage){-1, -1, -1, -1};
    world_event(world, &event);
}

static void chance_failed(struct world *world, uint64_t *chance)
{
    struct error error;
    error_set(&error, STATUS_NETWORK, "chance");
    const struct event event = {
        .kind = EVENT_GENERATE_ERROR,
        .run_ms = world->now,
        .id = chance_generation(world, chance),
        .failed = {.failure = pick(chance, 4) ? MODEL_CONTEXT_TOO_LONG : (enum model_failure)pick(chance, 5),
                   .window = (int64_t)pick(chance, 3) * 9000,
                   .error = &error},
    };
    world_event(world, &event);
}

static void chance_other(struct world *world, uint64_t *chance)
{
    const bool early_start[WORLD_TOOLS] = {pick(chance, 2), pick(chance, 2), pick(chance, 2)};
    struct event event = {.run_ms = world->now};
    switch (pick(chance, 7)) {
    case 0:
        event.kind = EVENT_RESTARTED;
        event.id = chance_generation(world, chance);
        break;
    case 1:
        event.kind = EVENT_TOOLS_CHANGED;
        event.tools.tools = world->tools;
        event.tools.early_start = early_start;
        event.tools.n_tools = pick(chance, WORLD_TOOLS + 1);
        break;
    case 2:
        event.kind = EVENT_WINDOW;
        event.window = (int64_t)pick(chance, 40000);
        break;
    case 3:
        event.kind = EVENT_ANSWERED;
        event.id = pick(chance, 100);
        event.answer = STR("null");
        break;
    case 4:
        if (pick(chance, 10) == 0) {
            event.kind = EVENT_INTERRUPTED;
            break;
        }
        /* fall through */
    default:
        event.kind = EVENT_CLOCK;
        break;
    }
    world_event(world, &event);
}

static void chance_event(struct world *world, uint64_t *chance, uint64_t *cuts)
{
    world->now += (int64_t)pick(chance, 4000);
    switch (pick(chance, 16)) {
    case 0:
        chance_failed(world, chance);
        break;
    case 1:
        chance_other(world, chance);
        break;
    case 2:
    case 3:
    case 4:
    case 5:
        chance_generated(world, chance);
        break;
    case 6:
    case 7:
    case 8:
    case 9:
        chance_tool(world, chance);
        break;
    default:
        chance_delta(world, chance_generation(world, chance), chance, cuts);
        break;
    }
}

static void chance_settings(struct world *world, uint64_t *chance)
{
    static const int64_t windows[] = {0, 4096, 8192, 16384, 32768};
    world->profile.calls = (enum call_choice)pick(chance, 3);
    world->profile.demand = (enum demand_place)pick(chance, 3);
    world->profile.thought = (enum thought_rule)pick(chance, 3);
    world->profile.history = (enum thought_history)pick(chance, 3);
    struct session_limits *limits = &world->config.limits;
    limits->max_calls = 1 + (int64_t)pick(chance, 12);
    limits->window_tokens = windows[pick(chance, 5)];
    limits->time_ms = pick(chance, 4) ? 200000 : 0;
    limits->grace_ms = (int64_t)pick(chance, 20000);
    limits->observation_tokens = (int64_t)pick(chance, 2) * 2000;
    limits->total_tokens = pick(chance, 4) ? 0 : 60000;
}

/* What must hold of a run that has ended. */
static void check_end(struct world *world)
{
    const struct result *result = world_result(world);
    const struct session_limits *limits = &world->config.limits;
    assert_true(result->rounds <= limits->max_calls);
    assert_int_equal(result->n_finish_reasons, result->model_calls);
    assert_true(result->model_calls >= result->rounds);
    assert_true(!result->answered || result->prediction.len > 0);
    if (limits->time_ms > 0) /* the event that ended it may have come a step late */
        assert_true(result->elapsed_ms <= limits->time_ms + limits->grace_ms + 4000);
    for (size_t i = 0; i < transcript_count(result->transcript); i++) {
        size_t turn = i - (transcript_at(result->transcript, 0)->role == MESSAGE_SYSTEM);
        if (i > 0)
            assert_int_equal(transcript_at(result->transcript, i)->role, turn % 2 ? MESSAGE_ASSISTANT : MESSAGE_USER);
    }
}

/* Runs from `seed` until the end, or for so many events. The log of all effects belongs to the caller. */
static char *run_chance(uint64_t seed, uint64_t *cuts)
{
    struct world *world = mem_zalloc(sizeof *world);
    uint64_t chance = seed;
    world_init(world, "generic");
    chance_settings(world, &chance);
    world_start(world, "What happens?");
    for (int i = 0; i < 400 && !world->finished; i++)
        chance_event(world, &chance, cuts);
    if (!world->finished)
        world_interrupt(world);
    check_end(world);
    for (int i = 0; i < 5; i++)
        chance_event(world, &chance, cuts); /* nothing follows the end */
    char *log = buf_take(&world->log);
    world_finish(world);
    free(world);
    return log;
}

#define SEEDS 450

static void chance__breaks_nothing(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++)
        free(run_chance(seed * 1000003, NULL));
}

/* The same events give the same effects byte for byte: in another session, at other addresses, after other runs. */
static void replay__gives_the_same_effects(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS / 3; seed++) {
        char *once = run_chance(seed * 7919, NULL), *again = run_chance(seed * 7919, NULL);
        if (strcmp(once, again) != 0)
            fail_msg("seed %llu differs", (unsigned long long)seed * 7919);
        free(once);
        free(again);
    }
}

static void cuts__of_a_stream_change_no_effect(void **state)
{
    (void)state;
    uint64_t cuts = 1;
    for (uint64_t seed = 1; seed <= SEEDS / 3; seed++) {
        char *whole = run_chance(seed * 104729, NULL), *cut = run_chance(seed * 104729, &cuts);
        if (strcmp(whole, cut) != 0) {
            size_t at = 0;
            while (whole[at] == cut[at])
                at++;
            fail_msg("seed %llu differs at %zu:\n%.300s\n--- cut:\n%.300s", (unsigned long long)seed * 104729, at,
                     whole + (at > 200 ? at - 200 : 0), cut + (at > 200 ? at - 200 : 0));
        }
        free(whole);
        free(cut);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chance__breaks_nothing),
        cmocka_unit_test(replay__gives_the_same_effects),
        cmocka_unit_test(cuts__of_a_stream_change_no_effect),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
