/* What the session makes of completions: protocol.md, "Reading a completion", row by row. */
#include "support/session_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- the plain case ---- */

static void session__searches_and_answers(void **state)
{
    struct world *world = *state;
    world_start(world, "Who?");
    assert_contains(world_prompt_message(world, 0), "\"name\": \"search\"");
    assert_string_equal(world_prompt_message(world, 1), "Who?");
    assert_int_equal(world->max_tokens, 10000);
    assert_true(world->server_stops);
    assert_true(world->sampling.has_temperature);
    world_say(world, THINK SEARCHES("a"));
    assert_int_equal(world->n_calls, 1);
    assert_string_equal(world->calls[0].name, "search");
    assert_string_equal(world->calls[0].arguments, "{\"query\":[\"a\"]}");
    world->now = 700;
    world_tool(world, 0, OUTCOME_OK, "1. A page");
    assert_string_equal(world_prompt_message(world, -2), THINK SEARCHES("a"));
    assert_string_equal(world_prompt_message(world, -1), "<tool_response>\n1. A page\n</tool_response>");
    world_say(world, THINK "<answer> 42 </answer>");

    const struct result *result = world_result(world);
    assert_int_equal(result->termination, TERMINATION_ANSWER);
    assert_true(result->answered);
    assert_str(result->prediction, "42");
    assert_int_equal(result->rounds, 2);
    assert_int_equal(result->model_calls, 2);
    assert_int_equal(result->n_tool_calls, WORLD_TOOLS);
    assert_string_equal(result->tool_calls[SEARCH].name, "search");
    assert_int_equal(result->tool_calls[SEARCH].calls, 1);
    assert_int_equal(result->tool_calls[VISIT].calls, 0);
    assert_int_equal(result->tool_ms, 700);
    assert_int_equal(result->elapsed_ms, 700);
    assert_int_equal(result->n_finish_reasons, 2);
    assert_int_equal(result->finish_reasons[0], FINISH_STOP);
    assert_int_equal(result->format_repairs, 0);
    assert_str(result->served_model, "model-1");
    assert_int_equal(transcript_count(result->transcript), 5);
    assert_string_equal(world_message(world, -1), THINK "<answer> 42 </answer>");
    assert_str(buf_str(&world->last_notice[NOTICE_ANSWER]), "42");
    assert_int_equal(world->n_notices[NOTICE_RUN_STARTED], 1);
    assert_int_equal(world->n_notices[NOTICE_ROUND_STARTED], 2);
    assert_int_equal(world->n_notices[NOTICE_TOOL_STARTED], 1);
    assert_int_equal(world->n_notices[NOTICE_TOOL_FINISHED], 1);
    assert_int_equal(world->n_notices[NOTICE_RUN_FINISHED], 1);
    assert_str(buf_str(&world->thought), "hmhm");
}

static void session__keeps_the_order_of_its_life(void **state)
{
    struct world *world = *state;
    const bool early_start[WORLD_TOOLS] = {true, true, false};
    world->session = session_create(&world->config, world->tools, early_start, WORLD_TOOLS);
    const struct event clock = {.kind = EVENT_CLOCK, .run_ms = 5}, late = {.kind = EVENT_CLOCK, .run_ms = 4};
    const struct event started = {.kind = EVENT_STARTED, .run_ms = 5, .question = STR("q")};
    assert_int_equal(session_handle(world->session, &clock), STATUS_ORDER);
    assert_null(session_next_effect(world->session));
    assert_int_equal(session_handle(world->session, &started), STATUS_OK);
    assert_int_equal(session_handle(world->session, &clock), STATUS_ORDER); /* effects wait to be taken */
    while (session_next_effect(world->session))
        ;
    assert_int_equal(session_handle(world->session, &started), STATUS_ORDER);
    assert_int_equal(session_handle(world->session, &late), STATUS_ORDER);
    assert_int_equal(session_handle(world->session, &clock), STATUS_OK);
    assert_null(session_result(world->session));
}

/* ---- thought ---- */

static void thought__may_lack_its_opening_tag(void **state)
{
    struct world *world = *state;
    world_start(world, "q");
    world_delta(world, "<tool_call>not a call</tool_call> so </think>" SEARCHES("a"));
    assert_int_equal(world->n_calls, 1); /* known to be outside thought, so it starts early */
    world_end(world, FINISH_STOP);
    world_tool(world, 0, OUTCOME_OK, "r");
    world_say(world, "x</think><answer>1</answer>");
    assert_int_equal(world_result(world)->format_repairs, 0);
}

static void thought__never_closed_gives_up_a_call_at_the_end(void **state)
{
    struct world *world = *state;
    world_start(world, "q");
    world_delta(world, "<think>I will " SEARCHES("a"));
    assert_int_equal(world->n_calls, 0);
    world_end(world, FINISH_STOP);
    assert_int_equal(world->n_calls, 1);
    world_tool(world, 0, OUTCOME_OK, "r");
    world_say(world, "<think>I know: <answer>1</answer>");
    assert_str(world_result(world)->prediction, "1");
    assert_int_equal(world_result(world)->format_repairs, 2);
}

static void thought__is_never_acted_on(void **state)
{
    struct world *world = *state;
    world_start(world, "q");
    world_say(world, "<think>" SEARCHES("no") "<answer>no</answer><tool_response>no</think>" SEARCHES("yes"));
    assert_int_equal(world->n_calls, 1);
    assert_string_equal(world->calls[0].arguments, "{\"query\":[\"yes\"]}");
    assert_int_equal(world->n_cancels, 0);
}

static void thought__cut_by_length_is_sampled_again_with_a_doubled_cap(void **state)
{
    struct world *world = *state;
    world_start(world, "q");
    size_t before = world_prompt_count(world);
    world_delta(world, "<think>so long");
    world_end(world, FINISH_LENGTH);
    assert_int_equal(world->max_tokens, 20000);
    world_delta(world, "<think>so very long");
    world_end(world, FINISH_LENGTH);
    assert_int_equal(world->max_tokens, 40000);
    assert_int_equal(world_prompt_count(world), before); /* the same prompt, no user message */
    assert_string_equal(world_prompt_message(world, -1), "q");
    world_say(world, THINK SEARCHES("a"));
    world_tool(world, 0, OUTCOME_OK, "r");
    assert_int_equal(world->max_tokens, 10000); /* for this round alone */
    world_say(world, "<answer>1</answer>");
    assert_int_equal(world_result(world)->truncated_responses, 2);
    assert_int_equal(world_result(world)->format_repairs, 2);
    assert_int_equal(world_result(world)->model_calls, 4);
    assert_int_equal(world_result(world)->rounds, 2);
}

static void thought__grows_no_further_than_the_window(void **state)
{
    struct world *world = *state;
    world->config.limits.window_tokens = 16384;
    world_start(world, "q");
    assert_int_equal(world->max_tokens, 4096);
    world_delta(world, "<think>so long");
    world_end(world, FINISH_LENGTH);
    world_delta(world, "<think>so long");
    world_end(world, FINISH_LENGTH);
    assert_true(world->max_tokens > 8192 && world->max_tokens < 16384 - 4608);
}

static void thought__ended_by_the_stop_string_is_sampled_without_it(void **state)
{
    struct world *world = *state;
    world_start(world, "q");
    assert_true(world->server_stops);
    world_say(world, "<think>the tool will write ");
    assert_false(world->server_stops);
    assert_int_equal(world->max_tokens, 10000);
    world_say(world, "<think>the tool will write <tool_response>, fine</think>" SEARCHES("a"));
    assert_int_equal(world->n_calls, 1); /* inside thought it is no invention */
    world_tool(world, 0, OUTCOME_OK, "r");
    assert_true(world->server_stops);
}

static void thought__opened_by_the_template_is_thought_from_the_start(void **state)
{
    struct world *world = *state;
    world->profile.thought = THOUGHT_OPENED;
    world_start(world, "q");
    world_delta(world, "so long");
    assert_str(buf_str(&world->thought), "so long");
    world_end(world, FINISH_LENGTH);
    assert_int_equal(world->max_tokens, 20000);
}

static void thought__opened_twice_is_one(void **state)
{
    struct world *world = *state;
    world->profile.thought = THOUGHT_OPENED;
    world->profile.history = THOUGHT_FIELD;
    world_start(world, "q");
    world_say(world, "<think>x</think>" SEARCHES("a"));
    assert_str(buf_str(&world->thought), "x");
    world_tool(world, 0, OUTCOME_OK, "r");
    const struct prompt_view *view = session_prompt(world->session);
    assert_str(view->messages[2].wire_thought, "x");
}

/* ---- answers ---- */

static void answer__may_lack_its_closing_tag_only_when_the_model_stopped(void **state)
{
    static const struct {
        enum finish_reason reason;
        bool accepted;
    } rows[] = {{FINISH_STOP, true}, {FINISH_LENGTH, false}, {FINISH_BROKEN, false}, {FINISH_CONTENT_FILTER, false}};
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        struct world world;
        world_init(&world, "generic");
        world_start(&world, "q");
        world_delta(&world, THINK "<answer>Berlin");
        world_end(&world, rows[i].reason);
        assert_int_equal(world.finished, rows[i].accepted);
        if (world.finished)
            assert_str(world_result(&world)->prediction, "Berlin");
        world_finish(&world);
    }
}

static void answer__counts_although_the_stream_breaks_behind_it(void **state)
{
    struct world *world = *state;
    world_start(world, "q");
    world_delta(world, THINK "<answer>Berlin</answer> and so");
    assert_false(session_may_restart(world->session, world->generation));
    world_end(world, FINISH_BROKEN);
    assert_true(world_result(world)->answered);
    assert_string_equal(world_message(world, -1), THINK "<answer>Berlin</answer>");
}

/* ---- completions of no use ---- */

static void dropped__is_sampled_again_twice_then_noticed_then_forced(void **state)
{
    struct world *world = *state;
    world_start(world, "q");
    world_say(world, THINK SEARCHES("a"));
    world_tool(world, 0, OUTCOME_OK, "r");
    const char *observation = "<tool_response>\nr\n</tool_response>";
    for (int i = 0; i < 2; i++) {
        world_say(world, i == 0 ? THINK "I do not know." : "");
        assert_string_equal(world_prompt_message(world, -1), observation);
    }
    world_say(world, THINK "I still do not know.");
    char *noticed = strdup(world_prompt_message(world, -1));
    assert_true(strncmp(noticed, observation, strlen(observation)) == 0);
    assert_begins(noticed + strlen(observation), "\n<tool_response>\n");
    assert_contains(noticed, "neither a call nor an answer");
    assert_int_equal(world_prompt_count(world), 4);
    for (int i = 0; i < 2; i++) {
        world_say(world, "no");
        assert_string_equal(world_prompt_message(world, -1), noticed);
        assert_false(world->forced);
    }
    free(noticed);
    world_say(world, "no");
    assert_true(world->forced);
    assert_contains(world_prompt_message(world, -1), "could not be used");
    world_say(world, "<answer>1</answer>");
    const struct result *result = world_result(world);
    assert_int_equal(result->termination, TERMINATION_STUCK);
    assert_true(result->answered);
    assert_int_equal(result->model_calls, 8);
    assert_int_equal(result->rounds, 2);
    assert_int_equal(result->format_repairs, 6);
    assert_int_equal(result->n_finish_reasons, 8);
}

static void dropped__is_noticed_behind_the_question_in_the_first_round(void **state)
{
    struct world *world = *state;
    world_start(world, "Who?");
    for (int i = 0; i < 3; i++)
        world_say(world, "no");
    assert_int_equal(world_prompt_count(world), 2);
    const char *question = world_prompt_message(world, -1);
    assert_begins(question, "Who?\n\n<tool_response>\n");
    assert_contains(question, "neither a call nor an answer");
}

static void dropped__in_a_row_only(void **state)
{
    struct world *world = *state;
    world_start(world, "q");
    for (size_t i = 0; i < 5; i++) {
        for (int k = 0; k < 5; k++)
            world_say(world, "no");
        assert_false(world->forced);
        world_say(world, THINK SEARCHES("a"));
        world_tool(world, i, OUTCOME_OK, "r");
    }
    assert_false(world->forced);
}

static void dropped__moves_a_fixed_seed_on(void **state)
{
    struct world *world = *state;
    world->config.sampling = (struct sampling){.has_seed = true, .seed = 7};
    world_start(world, "q");
    assert_int_equal(world->sampling.seed, 7);
    world_say(world, "no");
    assert_int_equal(world->sampling.seed, 8);
    world_say(world, THINK SEARCHES("a"));
    world_tool(world, 0, OUTCOME_OK, "r");
    assert_int_equal(world->sampling.seed, 7);
}

static void say_loop(struct world *world, const char *start)
{
    effect_id id = world->generation;
    world_delta(world, start);
    for (int i = 0; i < 40 && world->generation == id; i++)
        world_delta(world, "The quick brown fox jumps over the lazy dog, and then again. ");
    assert_true(world->generation != id); /* cut at once, without waiting for the end */
}

static void repetition__is_cut_at_once(void **state)
{
    struct world *world = *state;
    world_start(world, "q");
    for (int i = 0; i < 3; i++)
        say_loop(world, i == 1 ? THINK : "<think>");
    assert_int_equal(world->n_cancels, 3);
    assert_contains(world_prompt_message(world, -1), "repeated itself");
    world_say(world, "<answer>1</answer>");
    assert_int_equal(world_result(world)->finish_reasons[0], FINISH_CANCELED);
    assert_int_equal(world_result(world)->format_repairs, 3);
}

static void repetition__behind_a_call_ends_the_message_there(void **state)
{
    struct world *world = *state;
    world_start(world, "q");
    say_loop(world, THINK SEARCHES("a"));
    world_tool(world, 0, OUTCOME_OK, "r");
    assert_string_equal(world_prompt_message(world, -2), THINK SEARCHES("a"));
}

static void invention__of_a_tool_response_cuts_the_stream(void **state)
{
    struct world *world = *state;
    world_start(world, "q");
    effect_id id = world->generation;
    world_delta(world, THINK SEARCHES("a") "\n<tool_resp");
    assert_int_equal(world->generation, id);
    world_delta(world, "onse>\n1. invented <answer>wrong</answer>");
    assert_int_equal(world->generation, 0);
    assert_int_equal(world->n_cancels, 1);
    world_delta_str(world, id, STR(" more of it <answer>wrong</answer>"));
    world_tool(world, 0, OUTCOME_OK, "r");
    assert_string_equal(world_prompt_message(world, -2), THINK SEARCHES("a") "\n");
    world_say(world, "<answer>1</answer>");
    assert_str(world_result(world)->prediction, "1");
    assert_int_equal(world_result(world)->finish_reasons[0], FINISH_STOP);
}

static void invention__without_a_call_is_dropped(void **state)
{
    struct world *world = *state;
    world_start(world, "q");
    world_delta(world, THINK "let us see <tool_response>");
    assert_int_equal(world->n_generations, 2);
    assert_int_equal(world->n_cancels, 1);
}

/* Letters that do not repeat. The caller frees. */
static char *make_noise(size_t size)
{
    char *noise = malloc(size);
    uint64_t random = 1;
    for (size_t i = 0; i < size; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        noise[i] = (char)('a' + (random >> 33) % 26);
    }
    return noise;
}

static void oversize__is_cut_and_counted(void **state)
{
    struct world *world = *state;
    size_t size = 6u << 20;
    char *noise = make_noise(size);
    world_start(world, "q");
    const struct event event = {.kind = EVENT_DELTA, .id = world->generation, .delta = {noise, size}};
    assert_int_equal(world_event(world, &event), STATUS_TOO_BIG);
    free(noise);
    assert_int_equal(world->n_cancels, 1);
    world_say(world, "<answer>1</answer>");
    assert_int_equal(world_result(world)->finish_reasons[0], FINISH_LENGTH);
    assert_int_equal(world_result(world)->truncated_responses, 1);
}

static void oversize__behind_a_call_leaves_the_call(void **state)
{
    struct world *world = *state;
    size_t size = 6u << 20;
    char *noise = make_noise(size);
    world_start(world, "q");
    world_delta(world, THINK SEARCHES("a") "<tool_call>{\"name\": \"");
    world_delta_str(world, world->generation, str_make(noise, size));
    free(noise);
    assert_int_equal(world->n_cancels, 1);
    world_tool(world, 0, OUTCOME_OK, "r");
    assert_string_equal(world_prompt_message(world, -2), THINK SEARCHES("a"));
}

/* ---- streams that break ---- */

static void broken__counts_up_to_the_last_complete_call(void **state)
{
    static const enum finish_reason reasons[] = {FINISH_BROKEN, FINISH_LENGTH, FINISH_CONTENT_FILTER};
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct world world;
        world_init(&world, "generic");
        world_start(&world, "q");
        world_delta(&world, THINK SEARCHES("a") "\nand now <tool_call>{\"name\": \"visit\", \"argum");
        world_end(&world, reasons[i]);
        assert_int_equal(world.n_calls, 1);
        world_tool(&world, 0, OUTCOME_OK, "r");
        assert_string_equal(world_prompt_message(&world, -2), THINK SEARCHES("a"));
        world_finish(&world);
    }
}

static void broken__may_begin_anew_only_before_a_call(void **state)
{
    struct world *world = *state;
    world_start(world, "q");
    effect_id id = world->generation;
    world_delta(world, THINK "now");
    assert_true(session_may_restart(world->session, id));
    assert_false(session_may_restart(world->session, id + 1000));
    const struct event restarted = {.kind = EVENT_RESTARTED, .id = id};
    assert_int_equal(world_event(world, &restarted), STATUS_OK);
    world_delta(world, THINK SEARCHES("a"));
    assert_false(session_may_restart(world->session, id));
    assert_int_equal(world_event(world, &restarted), STATUS_OK); /* against the rule: what there is counts */
    assert_int_equal(world->generation, 0);
    assert_int_equal(world->n_calls, 1);
    world_tool(world, 0, OUTCOME_OK, "r");
    assert_true(session_may_restart(world->session, world->generation));
    assert_string_equal(world_prompt_message(world, -2), THINK SEARCHES("a"));
    world_say(world, "<answer>1</answer>");
    assert_int_equal(world_result(world)->finish_reasons[0], FINISH_BROKEN);
}

static void broken__for_good_behind_a_call_goes_on_with_it(void **state)
{
    struct world *world = *state;
    world_start(world, "q");
    world_delta(world, THINK SEARCHES("a"));
    world_fail(world, MODEL_UNAVAILABLE, 0, "gone");
    assert_false(world->finished);
    world_tool(world, 0, OUTCOME_OK, "r");
    assert_int_equal(world->n_generations, 2);
}

static void unavailable__ends_the_run_and_says_why(void **state)
{
    static const enum model_failure failures[] = {MODEL_UNAVAILABLE, MODEL_REJECTED, MODEL_PROMPT_CUT};
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct world world;
        world_init(&world, "generic");
        world_start(&world, "q");
        world_fail(&world, failures[i], 0, "why it failed");
        const struct result *result = world_result(&world);
        assert_int_equal(result->termination, TERMINATION_MODEL_ERROR);
        assert_string_equal(result->error.message, "why it failed");
        assert_int_equal(result->prediction.len, 0);
        assert_false(result->answered);
        assert_int_equal(result->model_calls, 0);
        world_finish(&world);
    }
}

static void silent_cut__of_the_prompt_stops_the_run_with_the_remedy(void **state)
{
    struct world *world = *state;
    world_start(world, "q");
    world->usage = (struct usage){900, 20, -1, -1};
    world_say(world, THINK SEARCHES("a"));
    char *text = world_text(9000);
    world_tool(world, 0, OUTCOME_OK, text);
    free(text);
    world->usage.prompt = 4096;
    world_say(world, THINK SEARCHES("b"));
    const struct result *result = world_result(world);
    assert_int_equal(result->termination, TERMINATION_MODEL_ERROR);
    assert_contains(result->error.message, "OLLAMA_CONTEXT_LENGTH");
    assert_true(world->calls[1].canceled);
}

/* ---- other events ---- */

static void interrupt__ends_the_run_at_once_wherever_it_stands(void **state)
{
    (void)state;
    for (int where = 0; where < 5; where++) {
        struct world world;
        world_init(&world, "generic");
        world.config.limits.max_calls = where == 3 ? 1 : 100;
        world_start(&world, "q");
        if (where == 1)
            world_delta(&world, THINK SEARCHES("a") "and");
        if (where == 2)
            world_say(&world, THINK SEARCHES("a") RUNS("x"));
        if (where == 3)
            world_delta(&world, "<think>so</think>It is Berlin");
        if (where == 4)
            world_delta(&world, THINK "<answer>Berlin</answer> as");
        world.now = 1234;
        world_interrupt(&world);
        const struct result *result = world_result(&world);
        assert_int_equal(result->termination, TERMINATION_INTERRUPTED);
        assert_int_equal(result->elapsed_ms, 1234);
        assert_int_equal(world.n_cancels, where == 1 ? 2 : where == 2 ? 2 : 1);
        assert_str(result->prediction, where == 3 ? "It is Berlin" : where == 4 ? "Berlin" : "");
        assert_int_equal(result->answered, where == 4);
        if (where == 1)
            assert_string_equal(world_message(&world, -2), THINK SEARCHES("a"));
        world_finish(&world);
    }
}

static void tools__may_change_and_the_model_is_told(void **state)
{
    struct world *world = *state;
    world_start(world, "q");
    world_say(world, THINK VISITS);
    const bool early_start[1] = {true};
    const struct event event = {.kind = EVENT_TOOLS_CHANGED,
                                .tools = {.tools = world->tools, .early_start = early_start, .n_tools = 1}};
    assert_int_equal(world_event(world, &event), STATUS_OK);
    world_tool(world, 0, OUTCOME_OK, "r");
    const char *last = world_prompt_message(world, -1);
    assert_begins(last, "<tool_response>\nr\n\n");
    assert_contains(last, "The tools have changed");
    assert_contains(last, "\"search\"");
    assert_lacks(last, "\"visit\"");
    world_say(world, THINK VISITS);
    assert_int_equal(world->n_calls, 1);
    assert_contains(world_prompt_message(world, -1), "visit");
    world_say(world, "<answer>1</answer>");
    assert_int_equal(world_result(world)->tool_calls[VISIT].calls, 1);
}

static void events__with_other_ids_change_nothing(void **state)
{
    struct world *world = *state;
    world_start(world, "q");
    effect_id id = world->generation;
    world_delta_str(world, id + 77, STR("<answer>1</answer>"));
    world_delta_str(world, 0, STR("<answer>1</answer>"));
    world_say(world, THINK SEARCHES("a"));
    world_delta_str(world, id, STR("<answer>1</answer>")); /* over */
    const struct event ended = {.kind = EVENT_GENERATED, .id = id, .generated = {.reason = FINISH_STOP}};
    assert_int_equal(world_event(world, &ended), STATUS_OK);
    assert_int_equal(world->n_generations, 1);
    world_tool(world, 0, OUTCOME_OK, "r");
    world_tool(world, 0, OUTCOME_OK, "twice");
    assert_string_equal(world_prompt_message(world, -1), "<tool_response>\nr\n</tool_response>");
    world_say(world, "<answer>1</answer>");
    size_t logged = world->log.len;
    world_delta_str(world, world->last_generation, STR("more"));
    world_tool(world, 0, OUTCOME_OK, "late");
    world_interrupt(world);
    world_clock(world, 100000000);
    assert_int_equal(world->log.len, logged);
    assert_int_equal(world_result(world)->elapsed_ms, 0);
}

static void history__goes_back_in_the_form_the_profile_wants(void **state)
{
    static const struct {
        const char *content;
        enum thought_history history;
        bool field, split;
    } rows[] = {
        {THINK SEARCHES("a"), THOUGHT_INLINE, false, true},
        {SEARCHES("a"), THOUGHT_FIELD, true, false},
        {SEARCHES("a"), THOUGHT_DROP, false, false},
    };
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct world world;
        world_init(&world, "generic");
        world.profile.history = rows[i].history;
        world_start(&world, "q");
        world_say(&world, THINK SEARCHES("a"));
        world_tool(&world, 0, OUTCOME_OK, "r");
        assert_string_equal(world_prompt_message(&world, -2), rows[i].content);
        const struct prompt_view *view = session_prompt(world.session);
        const struct prompt_message *message = &view->messages[view->count - 2];
        assert_str(message->wire_thought, rows[i].field ? "hm" : "");
        assert_str(message->split_thought, rows[i].split ? "hm" : "");
        world_finish(&world);
    }
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(session__searches_and_answers),
        CASE(session__keeps_the_order_of_its_life),
        CASE(thought__may_lack_its_opening_tag),
        CASE(thought__never_closed_gives_up_a_call_at_the_end),
        CASE(thought__is_never_acted_on),
        CASE(thought__cut_by_length_is_sampled_again_with_a_doubled_cap),
        CASE(thought__grows_no_further_than_the_window),
        CASE(thought__ended_by_the_stop_string_is_sampled_without_it),
        CASE(thought__opened_by_the_template_is_thought_from_the_start),
        cmocka_unit_test(answer__may_lack_its_closing_tag_only_when_the_model_stopped),
        CASE(thought__opened_twice_is_one),
        CASE(answer__counts_although_the_stream_breaks_behind_it),
        CASE(dropped__is_sampled_again_twice_then_noticed_then_forced),
        CASE(dropped__is_noticed_behind_the_question_in_the_first_round),
        CASE(dropped__in_a_row_only),
        CASE(dropped__moves_a_fixed_seed_on),
        CASE(repetition__is_cut_at_once),
        CASE(repetition__behind_a_call_ends_the_message_there),
        CASE(invention__of_a_tool_response_cuts_the_stream),
        CASE(invention__without_a_call_is_dropped),
        CASE(oversize__is_cut_and_counted),
        CASE(oversize__behind_a_call_leaves_the_call),
        cmocka_unit_test(broken__counts_up_to_the_last_complete_call),
        CASE(broken__may_begin_anew_only_before_a_call),
        CASE(broken__for_good_behind_a_call_goes_on_with_it),
        cmocka_unit_test(unavailable__ends_the_run_and_says_why),
        CASE(silent_cut__of_the_prompt_stops_the_run_with_the_remedy),
        cmocka_unit_test(interrupt__ends_the_run_at_once_wherever_it_stands),
        CASE(tools__may_change_and_the_model_is_told),
        CASE(events__with_other_ids_change_nothing),
        cmocka_unit_test(history__goes_back_in_the_form_the_profile_wants),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
