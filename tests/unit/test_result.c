#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "support/engine_world.h"

#include <stdlib.h>
#include <string.h>

static void check_keys(json_t *object, const char *const *keys, size_t count)
{
    size_t at = 0;
    const char *key;
    json_t *value;
    json_object_foreach (object, key, value) {
        if (at == count)
            fail_msg("unexpected key \"%s\"", key);
        assert_string_equal(key, keys[at++]);
    }
    assert_int_equal(at, count);
}

#define CHECK_KEYS(object, ...)                            \
    check_keys(object, (const char *const[]){__VA_ARGS__}, \
               sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))

static void run(struct engine_world *world)
{
    static const struct fake_reply replies[] = {
        {.text = "<think>t</think>\n" CALL("search", "{\"query\": [\"x\"]}"), .usage = {1000, 20, 100, 5}},
        {.text = "<answer>As https://a.example/ says: \xc3\xa9</answer>", .usage = {1100, 30, 1000, 0}},
    };
    engine_world_init(world, replies, 2);
}

static void result__has_every_key_in_order(void **state)
{
    (void)state;
    struct engine_world world;
    run(&world);
    engine_world_run(&world, "q");
    CHECK_KEYS(world.result, "run_id", "id", "rollout", "question", "answer", "prediction", "termination", "answered",
               "error", "messages", "rounds", "model_calls", "tool_calls", "tool_failures", "tokens", "finish_reasons",
               "truncated_responses", "truncated_observations", "messages_trimmed", "format_repairs", "quotes",
               "unfound_quotes", "started_at", "elapsed_ms", "model_ms", "tool_ms", "cost_usd", "sources", "version",
               "model", "served_model", "profile", "sampling", "prompts_hash", "config_hash");
    CHECK_KEYS(json_object_get(world.result, "tokens"), "context", "prompt", "completion", "cached", "method",
               "by_role", "largest_difference");
    CHECK_KEYS(json_object_get(json_object_get(world.result, "tokens"), "by_role"), "agent", "summary", "vision",
               "transcription");
    CHECK_KEYS(json_object_get(world.result, "tool_calls"), "search", "visit", "PythonInterpreter");
    engine_world_finish(&world);
}

static void result__says_what_is_unknown(void **state)
{
    (void)state;
    static const char *const nulls[] = {"id", "rollout", "answer", "error", "cost_usd", "config_hash"};
    struct engine_world world;
    run(&world);
    engine_world_run(&world, "q");
    for (size_t i = 0; i < sizeof nulls / sizeof nulls[0]; i++)
        assert_true(json_is_null(json_object_get(world.result, nulls[i])));
    engine_world_finish(&world);
}

static void report(struct fake_tool *tool, struct tool_run *run)
{
    (void)tool;
    tool_report_source(run, STR("https://a.example/"), STR("A"));
    tool_report_source(run, STR("https://b.example/"), STR("B"));
    tool_finish(run, TOOL_OK, STR("found"));
}

static void result__has_values(void **state)
{
    (void)state;
    struct engine_world world;
    run(&world);
    world.tools[0].act = report;
    world.options.row_id = STR("row-7");
    world.options.rollout = 2;
    world.options.reference_answer = STR("\xc3\xa9");
    world.options.config_hash = STR("abc");
    world.options.config.price[MODEL_AGENT] = (struct model_price){1, 10, 0.5};
    world.options.config.price[MODEL_SUMMARY] = (struct model_price){1, 10, 0.5};
    world.options.config.sampling.has_temperature = true;
    world.options.config.sampling.temperature = 0.25;
    json_t *result = json_incref((json_t *)(uintptr_t)engine_world_run(&world, "q"));
    assert_string_equal(json_get_string(result, "run_id"), "run-1");
    assert_string_equal(json_get_string(result, "id"), "row-7");
    assert_int_equal(json_get_int(result, "rollout", 0), 2);
    assert_string_equal(json_get_string(result, "answer"), "\xc3\xa9");
    assert_string_equal(json_get_string(result, "prediction"), "As https://a.example/ says: \xc3\xa9");
    assert_true(json_is_true(json_object_get(result, "answered")));
    assert_int_equal(json_get_int(result, "rounds", 0), 2);
    assert_int_equal(json_get_int(result, "model_calls", 0), 2);
    assert_int_equal(json_get_int(json_object_get(result, "tool_calls"), "search", 0), 1);
    const json_t *tokens = json_object_get(result, "tokens");
    assert_int_equal(json_get_int(tokens, "prompt", 0), 2100);
    assert_int_equal(json_get_int(tokens, "completion", 0), 50);
    assert_int_equal(json_get_int(tokens, "cached", 0), 1100);
    assert_true(json_get_number(result, "cost_usd", -1) > 0);
    const json_t *reasons = json_object_get(result, "finish_reasons");
    assert_int_equal(json_array_size(reasons), 2);
    assert_string_equal(json_string_value(json_array_get(reasons, 0)), "stop");
    const json_t *sources = json_object_get(result, "sources");
    assert_int_equal(json_array_size(sources), 2);
    const json_t *first = json_array_get(sources, 0);
    assert_string_equal(json_get_string(first, "url"), "https://a.example/");
    assert_string_equal(json_get_string(first, "title"), "A");
    assert_int_equal(json_get_int(first, "first_seen_round", 0), 1);
    assert_true(json_is_true(json_object_get(first, "cited")));
    assert_true(json_is_false(json_object_get(json_array_get(sources, 1), "cited")));
    assert_string_equal(json_get_string(result, "model"), "fake-model");
    assert_string_equal(json_get_string(result, "served_model"), "fake-served");
    assert_string_equal(json_get_string(result, "profile"), "generic");
    assert_true(json_get_number(json_object_get(result, "sampling"), "temperature", 0) == 0.25);
    assert_int_equal(strlen(json_get_string(result, "prompts_hash")), 64);
    const char *started = json_get_string(result, "started_at");
    assert_int_equal(strlen(started), strlen("2026-03-01T12:00:00.000Z"));
    assert_int_equal(started[10], 'T');
    assert_int_equal(started[23], 'Z');
    json_decref(result);
    engine_world_finish(&world);
}

static void result__lists_messages_as_they_were(void **state)
{
    (void)state;
    struct engine_world world;
    run(&world);
    engine_world_run(&world, "What?\n\"quoted\" \\ \xe2\x82\xac");
    json_t *messages = json_object_get(world.result, "messages");
    static const char *const roles[] = {"system", "user", "assistant", "user", "assistant"};
    assert_int_equal(json_array_size(messages), 5);
    for (size_t i = 0; i < 5; i++) {
        CHECK_KEYS(json_array_get(messages, i), "role", "content");
        assert_string_equal(json_get_string(json_array_get(messages, i), "role"), roles[i]);
    }
    assert_non_null(strstr(engine_world_message(&world, 1), "What?\n\"quoted\" \\ \xe2\x82\xac"));
    assert_string_equal(engine_world_message(&world, 2), "<think>t</think>\n" CALL("search", "{\"query\": [\"x\"]}"));
    assert_string_equal(engine_world_message(&world, 3), "<tool_response>\nwhat the tool found\n</tool_response>");
    engine_world_finish(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(result__has_every_key_in_order),
        cmocka_unit_test(result__says_what_is_unknown),
        cmocka_unit_test(result__has_values),
        cmocka_unit_test(result__lists_messages_as_they_were),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
