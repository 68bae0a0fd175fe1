/* Limits: calls, context, time, tokens and cost; each ends in a forced answer (protocol.md, "Limits"). */
#include "support/session_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MINUTE 60000LL

/* One round that takes `model_ms` and `tool_ms`; the text of the observation is `tokens` long. */
static void go_round(struct world *world, int64_t model_ms, int64_t tool_ms, int64_t tokens)
{
    char call[128], *text = world_text(tokens);
    size_t before = world->n_calls;
    snprintf(call, sizeof call, THINK SEARCHES("%zu"), world->n_calls);
    world->now += model_ms;
    world_say(world, call);
    world->now += tool_ms;
    assert_int_equal(world->n_calls, before + 1);
    world_tool(world, before, OUTCOME_OK, text);
    free(text);
}

/* ---- calls ---- */

static void calls__end_with_the_hundredth(void **state)
{
    struct world *world = *state;
    world_start(world, "q");
    for (int i = 0; i < 99; i++) {
        assert_false(world->forced);
        go_round(world, 40000, 20000, 300);
    }
    assert_true(world->forced);
    assert_int_equal(world->n_generations, 100);
    assert_str(buf_str(&world->last_notice[NOTICE_LIMIT_REACHED]), "call_limit");
    assert_contains(world_prompt_message(world, -1), "\n</tool_response>\n<tool_response>\nThis was the last call");
    world_say(world, THINK "<answer>1</answer>");
    const struct result *result = world_result(world);
    assert_int_equal(result->termination, TERMINATION_CALL_LIMIT);
    assert_true(result->answered);
    assert_int_equal(result->rounds, 100);
    assert_int_equal(result->model_calls, 100);
    assert_int_equal(result->tool_calls[SEARCH].calls, 99);
    assert_int_equal(result->model_ms, 99 * 40000);
    assert_int_equal(result->tool_ms, 99 * 20000);
    assert_int_equal(result->elapsed_ms, 99 * MINUTE);
}

static void calls__may_be_only_the_forced_one(void **state)
{
    struct world *world = *state;
    world->config.limits.max_calls = 1;
    world_start(world, "Who?");
    assert_true(world->forced);
    assert_int_equal(world_prompt_count(world), 2);
    assert_begins(world_prompt_message(world, -1), "Who?\n\nThis was the last call");
    world_say(world, "<answer>1</answer>");
    assert_int_equal(world_result(world)->termination, TERMINATION_CALL_LIMIT);
}

static void calls__that_were_dropped_do_not_count(void **state)
{
    struct world *world = *state;
    world->config.limits.max_calls = 3;
    world_start(world, "q");
    for (int i = 0; i < 4; i++)
        world_say(world, "nothing");
    go_round(world, 0, 0, 10);
    go_round(world, 0, 0, 10);
    assert_true(world->forced);
    world_say(world, "<answer>1</answer>");
    assert_int_equal(world_result(world)->rounds, 3);
    assert_int_equal(world_result(world)->model_calls, 7);
}

/* ---- the demand and the forced reply ---- */

static void demand__stands_where_the_profile_wants_it(void **state)
{
    static const struct {
        enum demand_place place;
        const char *begins;
    } rows[] = {
        {DEMAND_INSIDE, "<tool_response>\nriver \n\nThis was the last call"},
        {DEMAND_APPEND, "<tool_response>\nriver \n</tool_response>\n<tool_response>\nThis was the last call"},
        {DEMAND_REPLACE, "<tool_response>\nThis was the last call"},
    };
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct world world;
        world_init(&world, "generic");
        world.profile.demand = rows[i].place;
        world.config.limits.max_calls = 2;
        world_start(&world, "q");
        go_round(&world, 0, 0, 1);
        const char *last = world_prompt_message(&world, -1);
        if (strncmp(last, rows[i].begins, strlen(rows[i].begins)) != 0)
            fail_msg("row %zu: %s", i, last);
        assert_true(str_ends_with(str_of(last), STR("</tool_response>")));
        world_finish(&world);
    }
}

static void forced__reply_without_an_answer_is_the_prediction(void **state)
{
    static const struct {
        const char *text;
        enum finish_reason reason;
        const char *prediction;
    } rows[] = {
        {THINK "It is Berlin.", FINISH_STOP, "It is Berlin."},
        {THINK "It is Berlin." SEARCHES("more"), FINISH_STOP, "It is Berlin."},
        {"It is Berlin.", FINISH_STOP, "It is Berlin."},
        {THINK "It is Berlin, bec", FINISH_LENGTH, "It is Berlin, bec"},
        {THINK "It is Berlin.<tool_response>\nmore", FINISH_STOP, "It is Berlin."},
        {THINK "So: <answer>It is Berlin, bec", FINISH_LENGTH, "It is Berlin, bec"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct world world;
        world_init(&world, "generic");
        world.config.limits.max_calls = 1;
        world_start(&world, "q");
        world_delta(&world, rows[i].text);
        if (!world.finished)
            world_end(&world, rows[i].reason);
        const struct result *result = world_result(&world);
        assert_int_equal(result->termination, TERMINATION_CALL_LIMIT);
        assert_str(result->prediction, rows[i].prediction);
        assert_false(result->answered);
        assert_int_equal(result->rounds, 1);
        assert_int_equal(world.n_calls, 0);
        world_finish(&world);
    }
}

static void forced__reply_of_no_use_is_asked_for_again_and_the_run_ends(void **state)
{
    struct world *world = *state;
    world->config.limits.max_calls = 1;
    world_start(world, "q");
    char *prompt = strdup(world_prompt_message(world, -1));
    world_say(world, "");
    assert_string_equal(world_prompt_message(world, -1), prompt);
    free(prompt);
    world_delta(world, "<think>still thinking");
    world_end(world, FINISH_LENGTH);
    assert_int_equal(world->max_tokens, 20000);
    world_say(world, THINK SEARCHES("one more"));
    const struct result *result = world_result(world);
    assert_int_equal(result->termination, TERMINATION_CALL_LIMIT);
    assert_int_equal(result->prediction.len, 0);
    assert_false(result->answered);
    assert_int_equal(result->model_calls, 3);
    assert_int_equal(result->rounds, 0);
    assert_int_equal(transcript_count(result->transcript), 2);
}

static void forced__reply_that_goes_in_circles_is_the_last_resort(void **state)
{
    struct world *world = *state;
    world->config.limits.max_calls = 1;
    world_start(world, "q");
    for (int try = 1; try <= 3; try++) {
        assert_false(world->finished);
        for (int i = 0; i < 20 && world->n_cancels < try; i++)
            world_delta(world, "It is Berlin, the capital of Germany, as all the pages that were read agree. ");
        assert_int_equal(world->n_cancels, try);
    }
    assert_contains(world_result(world)->prediction.data, "It is Berlin");
    assert_int_equal(world_result(world)->model_calls, 3);
}

static void forced__reply_that_cannot_be_had_is_a_model_error(void **state)
{
    struct world *world = *state;
    world->config.limits.max_calls = 1;
    world_start(world, "q");
    world_fail(world, MODEL_UNAVAILABLE, 0, "down");
    assert_int_equal(world_result(world)->termination, TERMINATION_MODEL_ERROR);
    assert_string_equal(world_result(world)->error.message, "down");
}

/* ---- time ---- */

static void time__forces_the_answer_mid_stream(void **state)
{
    struct world *world = *state;
    world_start(world, "q");
    assert_int_equal(world->wake_ms, 150 * MINUTE);
    assert_int_equal(world->deadline, 150 * MINUTE);
    go_round(world, MINUTE, MINUTE, 100);
    world_delta(world, "<think>a long th");
    int generations = world->n_generations;
    world_clock(world, 150 * MINUTE);
    assert_int_equal(world->n_cancels, 1);
    assert_int_equal(world->n_generations, generations + 1);
    assert_true(world->forced);
    assert_int_equal(world->deadline, 152 * MINUTE);
    assert_int_equal(world->wake_ms, 152 * MINUTE);
    assert_int_equal(world_prompt_count(world), 4); /* what was cut is not in it */
    assert_contains(world_prompt_message(world, -1), "The time is over");
    world->now += 1000;
    world_say(world, "<answer>1</answer>");
    const struct result *result = world_result(world);
    assert_int_equal(result->termination, TERMINATION_TIME_LIMIT);
    assert_true(result->answered);
    assert_int_equal(result->format_repairs, 0);
    assert_int_equal(result->model_calls, 3);
    assert_int_equal(result->finish_reasons[1], FINISH_CANCELED);
}

static void time__stops_tools_and_says_so(void **state)
{
    struct world *world = *state;
    world_start(world, "q");
    world_say(world, THINK SEARCHES("a") SEARCHES("b"));
    world_tool(world, 0, OUTCOME_OK, "first");
    world_clock(world, 150 * MINUTE + 5);
    assert_true(world->calls[1].canceled);
    assert_true(world->forced);
    const char *last = world_prompt_message(world, -1);
    assert_begins(last, "<tool_response>\nfirst\n</tool_response>\n<tool_response>\nsearch was stopped");
    assert_contains(last, "The time is over");
    world_tool(world, 1, OUTCOME_OK, "late");
    assert_false(world->finished);
}

static void time__keeps_a_cut_completion_whose_call_had_closed(void **state)
{
    struct world *world = *state;
    world_start(world, "q");
    world_delta(world, THINK SEARCHES("a") " and then " SEARCHES("b") "<tool_call>{\"na");
    world_tool(world, 0, OUTCOME_OK, "first");
    world_clock(world, 150 * MINUTE);
    assert_true(world->forced);
    assert_string_equal(world_prompt_message(world, -2), THINK SEARCHES("a") " and then " SEARCHES("b"));
    assert_begins(world_prompt_message(world, -1), "<tool_response>\nfirst\n</tool_response>\n<tool_response>\n");
}

static void time__takes_a_closed_answer(void **state)
{
    struct world *world = *state;
    world_start(world, "q");
    world_delta(world, THINK "<answer>1</answer> and");
    world_clock(world, 150 * MINUTE);
    assert_int_equal(world_result(world)->termination, TERMINATION_ANSWER);
}

static void time__is_kept_by_every_event_and_starts_nothing_new(void **state)
{
    struct world *world = *state;
    world_start(world, "q");
    world->now = 150 * MINUTE - 1;
    world_delta(world, SEARCHES("a"));
    world->now++; /* the end arrives in the very moment: the reply counts, but its call is not made */
    world_end(world, FINISH_STOP);
    assert_int_equal(world->n_calls, 0);
    assert_true(world->forced);
    assert_contains(world_prompt_message(world, -1), "search was interrupted");
}

static void time__never_runs_beyond_the_grace(void **state)
{
    struct world *world = *state;
    world_start(world, "q");
    world_clock(world, 150 * MINUTE);
    assert_true(world->forced);
    world_delta(world, THINK "<answer>It is Ber");
    world_clock(world, 152 * MINUTE - 1);
    assert_false(world->finished);
    world_clock(world, 152 * MINUTE);
    const struct result *result = world_result(world);
    assert_int_equal(result->termination, TERMINATION_TIME_LIMIT);
    assert_str(result->prediction, "It is Ber"); /* what exists */
    assert_false(result->answered);
    assert_int_equal(result->elapsed_ms, 152 * MINUTE);
}

static void time__of_a_forced_answer_is_not_cut_at_the_limit(void **state)
{
    struct world *world = *state;
    world->config.limits.max_calls = 1;
    world_start(world, "q");
    world->now = 149 * MINUTE;
    world_delta(world, THINK "It is");
    world_clock(world, 150 * MINUTE);
    assert_int_equal(world->n_cancels, 0);
    assert_int_equal(world->wake_ms, 152 * MINUTE);
    world_say(world, " Berlin");
    assert_int_equal(world_result(world)->termination, TERMINATION_CALL_LIMIT);
    assert_str(world_result(world)->prediction, "It is Berlin");
}

static void time__of_a_forced_answer_ends_with_the_grace(void **state)
{
    struct world *world = *state;
    world->config.limits.max_calls = 1;
    world_start(world, "q");
    world_delta(world, THINK "It is");
    world_clock(world, 152 * MINUTE);
    assert_int_equal(world_result(world)->termination, TERMINATION_CALL_LIMIT);
    assert_str(world_result(world)->prediction, "It is");
}

static void time__asks_for_another_wake_when_woken_early(void **state)
{
    struct world *world = *state;
    world_start(world, "q");
    world->wake_ms = 0;
    world_clock(world, 10);
    assert_int_equal(world->wake_ms, 150 * MINUTE);
    world_clock(world, 150 * MINUTE);
    world->wake_ms = 0;
    world_clock(world, 151 * MINUTE);
    assert_int_equal(world->wake_ms, 152 * MINUTE);
}

static void time__may_have_no_limit(void **state)
{
    struct world *world = *state;
    world->config.limits.time_ms = 0;
    world_start(world, "q");
    assert_int_equal(world->wake_ms, 0);
    assert_int_equal(world->deadline, 0);
    world_clock(world, (int64_t)1 << 50);
    assert_false(world->forced);
}

/* ---- tokens and cost ---- */

static void budget__warns_at_80_percent_and_forces_at_100(void **state)
{
    (void)state;
    for (int by_cost = 0; by_cost < 2; by_cost++) {
        struct world world;
        world_init(&world, "generic");
        world.config.price[MODEL_AGENT] = (struct model_price){10, 10, -1};
        world.config.limits.total_tokens = by_cost ? 0 : 10000;
        world.config.limits.max_cost_usd = by_cost ? 0.1 : 0;
        world.usage = (struct usage){2400, 100, 0, 0};
        world_start(&world, "q");
        for (int i = 1; i <= 3; i++) {
            go_round(&world, 0, 0, 10);
            assert_int_equal(world.n_notices[NOTICE_BUDGET_WARNING], 0);
        }
        world.usage.prompt = 3499;
        world.usage.completion = 1;
        world_say(&world, THINK SEARCHES("x"));
        assert_int_equal(world.n_notices[NOTICE_BUDGET_WARNING], 1);
        assert_str(buf_str(&world.last_notice[NOTICE_BUDGET_WARNING]),
                   by_cost ? "cost: $0.1100 of $0.1000" : "tokens: 11000 of 10000");
        world_tool(&world, 3, OUTCOME_OK, "r");
        assert_true(world.forced);
        assert_contains(world_prompt_message(&world, -1), "The budget of this run is used up");
        world_say(&world, "<answer>1</answer>");
        assert_int_equal(world_result(&world)->termination, TERMINATION_BUDGET);
        assert_int_equal(world.n_notices[NOTICE_BUDGET_WARNING], 1);
        world_finish(&world);
    }
}

static void budget__counts_what_tools_use_and_tells_the_model(void **state)
{
    struct world *world = *state;
    world->config.limits.total_tokens = 100000;
    world->usage = (struct usage){1000, 100, 0, 0};
    world_start(world, "q");
    world_say(world, THINK SEARCHES("x"));
    struct tool_facts facts = {0};
    facts.role_usage[MODEL_SUMMARY] = (struct usage){85000, 1000, 0, 0};
    facts.role_calls[MODEL_SUMMARY] = 1;
    world_tool_facts(world, 0, STR("r"), &facts);
    assert_int_equal(world->n_notices[NOTICE_BUDGET_WARNING], 1);
    assert_false(world->forced);
    assert_begins(world_prompt_message(world, -1), "<tool_response>\nr\n\n[Note: 87100 of 100000 tokens");
}

/* ---- context ---- */

static void context__one_huge_observation_is_shortened_to_what_fits(void **state)
{
    struct world *world = *state;
    world->config.limits.observation_tokens = 1000000;
    world_start(world, "q");
    go_round(world, 0, 0, 300000);
    assert_true(world->forced);
    assert_str(buf_str(&world->last_notice[NOTICE_LIMIT_REACHED]), "token_limit");
    const char *last = world_prompt_message(world, -1);
    assert_contains(last, "left out.]");
    assert_contains(last, "as long as it can be");
    assert_true(world->prompt_tokens <= 112640);
    assert_true(world->prompt_tokens > 90000); /* and not much shorter than it could be */
    world_say(world, "<answer>1</answer>");
    assert_int_equal(world_result(world)->termination, TERMINATION_TOKEN_LIMIT);
    assert_int_equal(world_result(world)->truncated_observations, 1);
}

static void context__fills_up_round_by_round(void **state)
{
    struct world *world = *state;
    world_start(world, "q");
    int rounds = 0;
    while (!world->forced && rounds < 50) {
        go_round(world, 0, 0, 9000);
        rounds++;
        assert_true(world->prompt_tokens <= 112640);
    }
    assert_in_range(rounds, 8, 13);
    assert_true(world->max_tokens >= 4096);
    assert_true(world->prompt_tokens + world->max_tokens <= 131072);
}

static void context__is_shared_with_the_smallest_served_first(void **state)
{
    struct world *world = *state;
    world->config.limits.context_tokens = 8000;
    world_start(world, "q");
    world_say(world, THINK SEARCHES("a") SEARCHES("b") SEARCHES("c"));
    char *large = world_text(20000), *small = world_text(300);
    world_tool(world, 0, OUTCOME_OK, large);
    world_tool(world, 1, OUTCOME_OK, small);
    world_tool(world, 2, OUTCOME_OK, large);
    assert_true(world->forced);
    const char *last = world_prompt_message(world, -1);
    assert_contains(last, small); /* whole */
    const char *first_note = strstr(last, "left out.]");
    assert_non_null(first_note);
    assert_non_null(strstr(first_note + 1, "left out.]"));
    assert_true(world->prompt_tokens <= 8000);
    free(large);
    free(small);
}

static void context__works_in_a_tiny_window(void **state)
{
    struct world *world = *state;
    world->config.limits.window_tokens = 8192;
    world_start(world, "Who was it?");
    assert_false(world->forced); /* there is room for one round */
    assert_in_range(world->max_tokens, 1024, 2048);
    assert_true(world->prompt_tokens + world->max_tokens <= 8192 - 4608);
    go_round(world, 0, 0, 20000);
    assert_true(world->forced);
    assert_contains(world_prompt_message(world, -1), "river"); /* something of the observation is left */
    assert_true(world->max_tokens >= 4096);
    assert_true(world->prompt_tokens + world->max_tokens <= 8192);
    world_say(world, "<answer>1</answer>");
    assert_int_equal(world_result(world)->termination, TERMINATION_TOKEN_LIMIT);
}

static void context__follows_a_window_that_becomes_known(void **state)
{
    struct world *world = *state;
    world_start(world, "q");
    go_round(world, 0, 0, 20000);
    assert_false(world->forced);
    const struct event event = {.kind = EVENT_WINDOW, .window = 16384};
    assert_int_equal(world_event(world, &event), STATUS_OK);
    world_say(world, THINK SEARCHES("b"));
    assert_int_equal(world->n_generations, 2);
    world_tool(world, 1, OUTCOME_OK, "r");
    assert_true(world->forced); /* the earlier observation cannot be taken back, so there is no room left */
    assert_int_equal(world->context_limit, 16384 - 4096 - 4608);
}

static void too_long__is_learnt_from_and_never_a_model_error(void **state)
{
    static const int64_t windows[] = {0, 32768, 16384, 1000000};
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        struct world world;
        world_init(&world, "generic");
        world_start(&world, "q");
        go_round(&world, 0, 0, 30000);
        int64_t before = world.prompt_tokens;
        world_fail(&world, MODEL_CONTEXT_TOO_LONG, windows[i], "too long");
        assert_true(world.forced);
        assert_int_equal(world.n_generations, 3);
        int64_t after = world.prompt_tokens;
        if (after > before)
            fail_msg("row %zu: %lld after %lld", i, (long long)after, (long long)before);
        if (windows[i] == 0 || windows[i] == 1000000)
            assert_true(after <= before / 4 * 3);
        if (windows[i] == 16384 || windows[i] == 32768)
            assert_true(after + world.max_tokens <= windows[i]);
        world_fail(&world, MODEL_CONTEXT_TOO_LONG, windows[i], "too long");
        assert_true(world.prompt_tokens < before / 10 * 8);
        world_say(&world, "<answer>1</answer>");
        const struct result *result = world_result(&world);
        assert_int_equal(result->termination, TERMINATION_TOKEN_LIMIT);
        assert_true(result->answered);
        assert_int_equal(result->model_calls, 2);
        world_finish(&world);
    }
}

static void too_long__at_the_beginning_goes_on_where_a_smaller_cap_fits(void **state)
{
    struct world *world = *state;
    world_start(world, "q");
    world_fail(world, MODEL_CONTEXT_TOO_LONG, 16384, "too long");
    assert_false(world->forced);
    assert_int_equal(world->n_generations, 2);
    assert_int_equal(world->max_tokens, 4096);
    world_fail(world, MODEL_CONTEXT_TOO_LONG, 16384, "too long"); /* nothing new: it does not help */
    assert_true(world->forced);
}

static void too_long__for_ever_ends_the_run(void **state)
{
    struct world *world = *state;
    world_start(world, "q");
    go_round(world, 0, 0, 3000);
    int64_t tokens = world->prompt_tokens, cap = world->max_tokens;
    int asked = 0;
    while (!world->finished && asked < 100) {
        world_fail(world, MODEL_CONTEXT_TOO_LONG, 0, "too long");
        asked++;
        assert_true(world->prompt_tokens < tokens || world->max_tokens < cap || asked == 1 || world->finished);
        tokens = world->prompt_tokens;
        cap = world->max_tokens;
    }
    assert_in_range(asked, 3, 8);
    assert_int_equal(world_result(world)->termination, TERMINATION_TOKEN_LIMIT);
    assert_contains(world_result(world)->error.message, "too long");
}

static void too_long__with_nothing_to_shorten_asks_for_a_shorter_reply(void **state)
{
    struct world *world = *state;
    world_start(world, "q");
    int64_t cap = INT64_MAX;
    for (int i = 0; i < 5; i++) {
        world_fail(world, MODEL_CONTEXT_TOO_LONG, 0, "too long");
        assert_true(world->forced);
        assert_true(world->max_tokens < cap);
        cap = world->max_tokens;
    }
    world_say(world, "<answer>1</answer>");
    assert_int_equal(world_result(world)->termination, TERMINATION_TOKEN_LIMIT);
}

static void context__of_a_question_that_is_too_long_still_gets_a_demand(void **state)
{
    struct world *world = *state;
    world->config.limits.context_tokens = 3000;
    char *question = world_text(5000);
    world_start(world, question);
    free(question);
    assert_true(world->forced);
    assert_contains(world_prompt_message(world, -1), "as long as it can be");
    world_say(world, "<answer>1</answer>");
    assert_int_equal(world_result(world)->termination, TERMINATION_TOKEN_LIMIT);
}

/* ---- a whole run by the clock ---- */

static void run__of_150_minutes_ends_in_time(void **state)
{
    struct world *world = *state;
    world->config.limits.max_calls = 1000;
    world_start(world, "q");
    while (!world->forced) {
        go_round(world, 70000, 30000, 200);
        if (world->now + 70000 >= 150 * MINUTE && !world->forced)
            world_clock(world, 150 * MINUTE);
    }
    world_clock(world, 152 * MINUTE);
    const struct result *result = world_result(world);
    assert_int_equal(result->termination, TERMINATION_TIME_LIMIT);
    assert_int_equal(result->rounds, 90);
    assert_int_equal(result->elapsed_ms, 152 * MINUTE);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(calls__end_with_the_hundredth),
        CASE(calls__may_be_only_the_forced_one),
        CASE(calls__that_were_dropped_do_not_count),
        cmocka_unit_test(demand__stands_where_the_profile_wants_it),
        cmocka_unit_test(forced__reply_without_an_answer_is_the_prediction),
        CASE(forced__reply_of_no_use_is_asked_for_again_and_the_run_ends),
        CASE(forced__reply_that_goes_in_circles_is_the_last_resort),
        CASE(forced__reply_that_cannot_be_had_is_a_model_error),
        CASE(time__forces_the_answer_mid_stream),
        CASE(time__stops_tools_and_says_so),
        CASE(time__keeps_a_cut_completion_whose_call_had_closed),
        CASE(time__takes_a_closed_answer),
        CASE(time__is_kept_by_every_event_and_starts_nothing_new),
        CASE(time__never_runs_beyond_the_grace),
        CASE(time__of_a_forced_answer_is_not_cut_at_the_limit),
        CASE(time__of_a_forced_answer_ends_with_the_grace),
        CASE(time__asks_for_another_wake_when_woken_early),
        CASE(time__may_have_no_limit),
        cmocka_unit_test(budget__warns_at_80_percent_and_forces_at_100),
        CASE(budget__counts_what_tools_use_and_tells_the_model),
        CASE(context__one_huge_observation_is_shortened_to_what_fits),
        CASE(context__fills_up_round_by_round),
        CASE(context__is_shared_with_the_smallest_served_first),
        CASE(context__works_in_a_tiny_window),
        CASE(context__follows_a_window_that_becomes_known),
        cmocka_unit_test(too_long__is_learnt_from_and_never_a_model_error),
        CASE(too_long__at_the_beginning_goes_on_where_a_smaller_cap_fits),
        CASE(too_long__for_ever_ends_the_run),
        CASE(too_long__with_nothing_to_shorten_asks_for_a_shorter_reply),
        CASE(context__of_a_question_that_is_too_long_still_gets_a_demand),
        CASE(run__of_150_minutes_ends_in_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
