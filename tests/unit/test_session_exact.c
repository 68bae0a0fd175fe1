/* Whole sessions with a tokenizer and a template: every limit decision rests on what tokenizing the whole prompt
 * gives. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "agent/token_meter.h"
#include "core/buf.h"
#include "core/json.h"
#include "protocol/prompt_view.h"
#include "protocol/template.h"
#include "support/session_world.h"
#include "support/small_tokenizer.h"

#define CALL                                                                                              \
    "<think>\nWhat is left?\n</think>\n\n<tool_call>\n{\"name\": \"search\", \"arguments\": {\"query\": " \
    "[\"x\"]}}\n</tool_call>"

struct exact_world {
    struct world world;
    struct small_tokenizer small;
    struct token_counter *counter;
};

static int setup(void **state)
{
    struct exact_world *exact = calloc(1, sizeof *exact);
    world_init(&exact->world, "generic");
    small_tokenizer_init(&exact->small, SMALL_BYTES, true);
    exact->counter = token_counter_create(exact->small.tokenizer);
    exact->world.config.counter = exact->counter;
    exact->world.config.chat_template = template_find(STR("qwen3"));
    *state = exact;
    return 0;
}

static int teardown(void **state)
{
    struct exact_world *exact = *state;
    world_finish(&exact->world);
    token_counter_destroy(exact->counter);
    small_tokenizer_finish(&exact->small);
    free(exact);
    return 0;
}

/* Of the prompt that was asked for last. */
static int64_t count_whole(const struct exact_world *exact)
{
    const struct session_config *config = &exact->world.config;
    const struct template_options options = {.chat = !config->completions,
                                             .bos = config->template_bos,
                                             .open_think = config->reopen_thought,
                                             .date = config->date};
    struct template_pieces pieces;
    struct buf text;
    template_pieces_init(&pieces);
    buf_init(&text, BUF_UNBOUNDED);
    template_render(config->chat_template, session_prompt(exact->world.session), &options, &pieces);
    for (size_t i = 0; i < pieces.count; i++)
        assert_int_equal(json_unescape(&text, pieces.pieces[i]), STATUS_OK);
    int64_t tokens = tokenizer_count(exact->small.tokenizer, buf_str(&text), 0);
    buf_finish(&text);
    template_pieces_finish(&pieces);
    return tokens;
}

static void say_and_get(struct exact_world *exact, int64_t tokens)
{
    struct world *world = &exact->world;
    size_t call = world->n_calls;
    world_say(world, CALL);
    char *text = world_text(tokens);
    world_tool(world, call, OUTCOME_OK, text);
    free(text);
}

static void session_exact__the_limit_is_kept_to_the_token(void **state)
{
    struct exact_world *exact = *state;
    struct world *world = &exact->world;
    world->config.limits.context_tokens = 20000;
    world_start(world, "Who was it?");
    int64_t before = 0;
    for (int round = 0; round < 50 && !world->forced; round++) {
        before = count_whole(exact);
        assert_true(before <= 20000);
        say_and_get(exact, 300);
    }
    assert_true(world->forced);
    assert_str(buf_str(&world->last_notice[NOTICE_LIMIT_REACHED]), "token_limit");
    world_say(world, "<think>\nSo.\n</think>\n\n<answer>1</answer>");
    assert_int_equal(world_result(world)->termination, TERMINATION_TOKEN_LIMIT);
    assert_string_equal(world_result(world)->count_method, "tokenizer");
    assert_int_equal(world_result(world)->context_tokens, count_whole(exact));
}

static void session_exact__an_observation_is_cut_to_what_fits(void **state)
{
    struct exact_world *exact = *state;
    struct world *world = &exact->world;
    world->config.limits.observation_tokens = 1000000;
    world->config.limits.context_tokens = 20000;
    world->config.limits.window_tokens = 24608; /* the forced prompt may take as much as any */
    world_start(world, "Who was it?");
    say_and_get(exact, 60000);
    assert_true(world->forced);
    int64_t whole = count_whole(exact);
    assert_true(whole <= 20000);
    assert_true(whole > 20000 - 120); /* a line of world_text */
    assert_contains(world_prompt_message(world, -1), "left out.]");
    assert_contains(world_prompt_message(world, -1), "as long as it can be");
    world_say(world, "<answer>1</answer>");
    assert_int_equal(world_result(world)->context_tokens, whole);
    assert_int_equal(world_result(world)->truncated_observations, 1);
}

static void session_exact__whatever_the_room_it_is_used(void **state)
{
    (void)state;
    for (int64_t limit = 20000; limit < 20400; limit += 31) {
        void *own;
        setup(&own);
        struct exact_world *exact = own;
        struct world *world = &exact->world;
        world->config.limits.observation_tokens = 1000000;
        world->config.limits.context_tokens = limit;
        world->config.limits.window_tokens = limit + 4608;
        world_start(world, "Who was it?");
        say_and_get(exact, 60000);
        assert_true(world->forced);
        assert_in_range(count_whole(exact), limit - 120, limit);
        world_say(world, "<answer>1</answer>");
        teardown(&own);
    }
}

static void session_exact__what_the_server_adds_is_learnt(void **state)
{
    struct exact_world *exact = *state;
    struct world *world = &exact->world;
    world->config.limits.context_tokens = 20000;
    world_start(world, "Who was it?");
    for (int round = 0; round < 50 && !world->forced; round++) {
        int64_t whole = count_whole(exact);
        assert_true(whole + (round > 0 ? 17 : 0) <= 20000);
        world->usage = (struct usage){whole + 17, -1, -1, -1};
        say_and_get(exact, 300);
    }
    assert_true(world->forced);
    world_say(world, "<answer>1</answer>");
    assert_int_equal(world_result(world)->context_tokens, count_whole(exact) + 17);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(session_exact__the_limit_is_kept_to_the_token, setup, teardown),
        cmocka_unit_test_setup_teardown(session_exact__an_observation_is_cut_to_what_fits, setup, teardown),
        cmocka_unit_test(session_exact__whatever_the_room_it_is_used),
        cmocka_unit_test_setup_teardown(session_exact__what_the_server_adds_is_learnt, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
