/* The server's counts beside ours: in the events, in the result, and the word about a tokenizer that is another's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "agent/token_meter.h"
#include "core/mem.h"
#include "core/utf8.h"
#include "protocol/template.h"
#include "support/engine_world.h"
#include "support/small_tokenizer.h"

#include <stdlib.h>
#include <string.h>

#define USAGE(n)                                                       \
    {                                                                  \
        .prompt = (n), .completion = 10, .cached = -1, .reasoning = -1 \
    }
#define MORE CALL("search", "{\"query\": [\"x\"]}")

#define REPLIES(...)                                          \
    static const struct fake_reply replies[] = {__VA_ARGS__}; \
    struct engine_world world;                                \
    engine_world_init(&world, replies, sizeof replies / sizeof replies[0])

/* A tokenizer whose tokens are bytes. */
static int64_t count_bytes(const struct token_counter *counter, struct str text, int64_t *least)
{
    (void)counter;
    return *least = (int64_t)text.len;
}

static size_t fit_bytes(const struct token_counter *counter, struct str text, int64_t tokens)
{
    (void)counter;
    return (size_t)tokens < text.len ? utf8_floor(text, (size_t)tokens) : text.len;
}

static const struct token_counter bytes = {
    .method = "tokenizer", .exact = true, .count = count_bytes, .fit = fit_bytes};

/* The counts of the n-th completion, from 0; NULL when there is none. */
static const json_t *compared(const struct engine_world *world, size_t n)
{
    size_t i;
    json_t *event;
    json_array_foreach (world->events, i, event) {
        const json_t *counts = json_object_get(event, "prompt_tokens");
        if (!counts)
            continue;
        assert_string_equal(json_get_string(event, "type"), "think");
        assert_string_equal(json_get_string(event, "text"), "");
        if (n-- == 0)
            return counts;
    }
    return NULL;
}

static size_t said(const struct engine_world *world)
{
    size_t i, times = 0;
    json_t *event;
    json_array_foreach (world->events, i, event) {
        const char *of = json_get_string(event, "of");
        times += of && strcmp(of, "tokenizer") == 0;
    }
    return times;
}

static void run_counts__the_difference_is_in_the_events(void **state)
{
    (void)state;
    REPLIES({.text = THINK("a") MORE, .usage = USAGE(20000)}, {.text = THINK("b") MORE},
            {.text = THINK("c") "<answer>done</answer>", .usage = USAGE(21000)});
    engine_world_run(&world, "q");
    const json_t *first = compared(&world, 0), *last = compared(&world, 1);
    assert_int_equal(json_get_int(first, "reported", 0), 20000);
    assert_string_equal(json_get_string(first, "method"), "estimate");
    assert_int_equal(json_get_int(last, "reported", 0), 21000);
    assert_string_equal(json_get_string(last, "method"), "server");
    int64_t largest = 0;
    for (size_t i = 0; i < 2; i++) {
        int64_t difference = json_get_int(compared(&world, i), "difference", 0);
        assert_int_equal(difference, json_get_int(compared(&world, i), "reported", 0) -
                                         json_get_int(compared(&world, i), "counted", 0));
        largest = llabs(difference) > largest ? llabs(difference) : largest;
    }
    assert_null(compared(&world, 2)); /* a completion without usage has nothing to compare */
    assert_int_equal(json_get_int(json_object_get(world.result, "tokens"), "largest_difference", -1), largest);
    assert_int_equal(said(&world), 0); /* an estimate may be off */
    engine_world_finish(&world);
}

static void run_counts__without_usage_there_is_nothing_to_compare(void **state)
{
    (void)state;
    REPLIES({.text = "<answer>done</answer>"});
    engine_world_run(&world, "q");
    assert_null(compared(&world, 0));
    assert_true(json_is_null(json_object_get(json_object_get(world.result, "tokens"), "largest_difference")));
    engine_world_finish(&world);
}

static void run_counts__another_tokenizer_is_said_once(void **state)
{
    (void)state;
    REPLIES({.text = MORE, .usage = USAGE(20000)}, {.text = MORE, .usage = USAGE(24000)},
            {.text = MORE, .usage = USAGE(28000)}, {.text = MORE, .usage = USAGE(32000)},
            {.text = MORE, .usage = USAGE(36000)}, {.text = "<answer>done</answer>", .usage = USAGE(40000)});
    world.options.config.counter = &bytes;
    engine_world_run(&world, "q");
    assert_string_equal(json_get_string(compared(&world, 0), "method"), "tokenizer");
    assert_non_null(compared(&world, 5));
    assert_int_equal(said(&world), 1);
    engine_world_finish(&world);
}

static void run_counts__what_is_off_now_and_then_is_not_said(void **state)
{
    (void)state;
    REPLIES({.text = MORE, .usage = USAGE(20000)}, {.text = MORE, .usage = USAGE(24000)}, {.text = MORE},
            {.text = MORE, .usage = USAGE(24100)}, {.text = MORE, .usage = USAGE(28000)},
            {.text = "<answer>done</answer>", .usage = USAGE(28100)});
    world.options.config.counter = &bytes;
    engine_world_run(&world, "q");
    size_t i, far = 0;
    json_t *event;
    json_array_foreach (world.events, i, event) {
        int64_t difference = json_get_int(json_object_get(event, "prompt_tokens"), "difference", 0);
        far += llabs(difference) > 1000;
    }
    assert_int_equal(far, 3);
    assert_int_equal(said(&world), 0);
    engine_world_finish(&world);
}

static void run_counts__outputs_of_tools_are_cut_by_the_counter(void **state)
{
    (void)state;
    REPLIES({.text = MORE}, {.text = "<answer>done</answer>"});
    char *text = mem_zalloc(4001);
    for (size_t i = 0; i < 4000; i++)
        text[i] = i % 40 == 39 ? '\n' : 'a';
    world.tools[0].text = text;
    world.tools[0].tool.max_output_tokens = 1000;
    engine_world_run(&world, "q");
    size_t by_estimate = strlen(engine_world_message(&world, -2));
    engine_world_finish(&world);

    engine_world_init(&world, replies, 2);
    world.tools[0].text = text;
    world.tools[0].tool.max_output_tokens = 1000;
    world.options.config.counter = &bytes;
    engine_world_run(&world, "q");
    size_t by_bytes = strlen(engine_world_message(&world, -2));
    assert_true(by_bytes > 800 && by_bytes < 1100);
    assert_true(by_estimate > by_bytes);
    assert_int_equal(json_get_int(world.result, "truncated_observations", 0), 1);
    engine_world_finish(&world);
    free(text);
}

static void run_counts__the_journal_knows_the_tokenizer(void **state)
{
    (void)state;
    REPLIES({.text = "<answer>done</answer>"});
    struct small_tokenizer small;
    small_tokenizer_init(&small, SMALL_BYTES, true);
    struct token_counter *counter = token_counter_create(small.tokenizer);
    world.journal = journal_memory_create(world.loop, true);
    world.options.config.counter = counter;
    world.options.config.chat_template = template_find(STR("qwen3"));
    engine_world_run(&world, "q");
    json_t *data;
    assert_int_equal(json_parse(journal_memory_at(world.journal, 0)->data, &data, NULL), STATUS_OK);
    const json_t *config = json_object_get(data, "config");
    assert_string_equal(json_get_string(config, "tokenizer_hash"), tokenizer_hash(small.tokenizer));
    assert_string_equal(json_get_string(config, "chat_template"), "qwen3");
    json_decref(data);
    assert_string_equal(json_get_string(json_object_get(world.result, "tokens"), "method"), "tokenizer");
    engine_world_finish(&world);
    token_counter_destroy(counter);
    small_tokenizer_finish(&small);
}

/* How often a run says it, of a question that has the tokenizer try ever more, or not. */
static size_t told_of_pattern(const char *question)
{
    static const char file[] =
        "{\"added_tokens\": [], \"pre_tokenizer\": {\"type\": \"Split\", \"pattern\": {\"Regex\": \"(?:a+)+$\"}, "
        "\"behavior\": \"Isolated\", \"invert\": false}, \"model\": {\"type\": \"BPE\", \"unk_token\": \"<unk>\", "
        "\"vocab\": {\"<unk>\": 0, \"a\": 1}, \"merges\": []}}";
    REPLIES({.text = MORE}, {.text = MORE}, {.text = "<answer>done</answer>"});
    struct small_tokenizer small;
    small_tokenizer_open(&small, STR(file));
    struct token_counter *counter = token_counter_create(small.tokenizer);
    world.options.config.counter = counter;
    engine_world_run(&world, question);
    size_t i, times = 0;
    json_t *event;
    json_array_foreach (world.events, i, event) {
        const char *of = json_get_string(event, "of");
        if (!of || strcmp(of, "tokenizer") != 0)
            continue;
        assert_non_null(strstr(json_get_string(event, "text"), "(?:a+)+$"));
        assert_true(i > 0 && i + 1 < json_array_size(world.events)); /* the run's start and end stay where they are */
        times++;
    }
    engine_world_finish(&world);
    token_counter_destroy(counter);
    small_tokenizer_finish(&small);
    return times;
}

static void run_counts__a_pattern_that_was_given_up_is_said_once(void **state)
{
    (void)state;
    assert_int_equal(told_of_pattern("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab"), 1);
    assert_int_equal(told_of_pattern("ab"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(run_counts__the_difference_is_in_the_events),
        cmocka_unit_test(run_counts__without_usage_there_is_nothing_to_compare),
        cmocka_unit_test(run_counts__another_tokenizer_is_said_once),
        cmocka_unit_test(run_counts__what_is_off_now_and_then_is_not_said),
        cmocka_unit_test(run_counts__outputs_of_tools_are_cut_by_the_counter),
        cmocka_unit_test(run_counts__the_journal_knows_the_tokenizer),
        cmocka_unit_test(run_counts__a_pattern_that_was_given_up_is_said_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
