#include "support/session_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/embed.h"
#include "core/mem.h"
#include "protocol/prompt_view.h"
#include "text/token_estimate.h"

static const char python_signature[] =
    "{\"name\": \"PythonInterpreter\", \"description\": \"Runs a program.\", \"parameters\": {\"type\": \"object\", "
    "\"properties\": {}}, \"takes_code\": true}";

static void load_signature(struct world *world, size_t index, const char *path)
{
    struct str text = str_of(python_signature);
    if (path)
        assert_true(embed_find(path, &text));
    struct error error;
    assert_int_equal(signature_load(text, &world->signatures[index], &error), STATUS_OK);
    world->tools[index] = &world->signatures[index];
}

void world_init(struct world *world, const char *profile)
{
    memset(world, 0, sizeof *world);
    struct error error = {0};
    if (profile_load(profile, NULL, &world->loaded, &error) != STATUS_OK)
        fail_msg("profile %s: %s", profile, error.message);
    world->profile = *world->loaded;
    load_signature(world, SEARCH, "tools/search/signature.json");
    load_signature(world, VISIT, "tools/visit/signature.json");
    load_signature(world, PYTHON, NULL);
    session_limits_init(&world->config.limits);
    world->config.run_id = STR("run");
    world->config.date = STR("2026-03-01");
    world->config.profile = &world->profile;
    world->usage = (struct usage){-1, -1, -1, -1};
    buf_init(&world->log, BUF_UNBOUNDED);
    buf_init(&world->thought, BUF_UNBOUNDED);
    for (size_t i = 0; i <= NOTICE_RUN_FINISHED; i++)
        buf_init(&world->last_notice[i], BUF_UNBOUNDED);
}

void world_finish(struct world *world)
{
    session_destroy(world->session);
    for (size_t i = 0; i < world->n_calls; i++) {
        free(world->calls[i].name);
        free(world->calls[i].arguments);
        free(world->calls[i].code);
    }
    for (size_t i = 0; i <= NOTICE_RUN_FINISHED; i++)
        buf_finish(&world->last_notice[i]);
    buf_finish(&world->log);
    buf_finish(&world->thought);
    for (size_t i = 0; i < WORLD_TOOLS; i++)
        signature_finish(&world->signatures[i]);
    profile_destroy(world->loaded);
}

/* Effects. */

static uint64_t hash_str(uint64_t hash, struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        hash = (hash ^ (unsigned char)s.data[i]) * 1099511628211u;
    return hash;
}

/* By the estimate, without what a template adds. */
static int64_t count_prompt(const struct prompt_view *view)
{
    struct buf text;
    int64_t tokens = 0;
    buf_init(&text, BUF_UNBOUNDED);
    for (size_t i = 0; i < view->count; i++) {
        buf_reset(&text);
        assert_int_equal(json_unescape(&text, view->messages[i].wire), STATUS_OK);
        tokens += token_estimate_text(buf_str(&text));
    }
    buf_finish(&text);
    return tokens;
}

static void take_generate(struct world *world, const struct effect *effect)
{
    const struct prompt_view *view = session_prompt(world->session);
    uint64_t hash = 14695981039346656037u;
    assert_true(world->generation == 0);
    assert_true(view->count > 0);
    for (size_t i = 0; i < view->count; i++) {
        enum message_role role = view->messages[i].role;
        size_t turn = i - (view->messages[0].role == MESSAGE_SYSTEM);
        if (i > 0 || role != MESSAGE_SYSTEM)
            assert_int_equal(role, turn % 2 == 0 ? MESSAGE_USER : MESSAGE_ASSISTANT);
        hash = hash_str(hash_str(hash, view->messages[i].wire), STR("|"));
    }
    assert_int_equal(view->messages[view->count - 1].role, MESSAGE_USER);
    world->prompt_tokens = count_prompt(view);
    assert_true(effect->generate.max_tokens > 0);
    if (world->forced)
        assert_true(effect->generate.forced); /* nothing leads back from the demand */
    world->generation = world->last_generation = effect->id;
    world->forced = effect->generate.forced;
    world->server_stops = effect->generate.server_stops;
    world->max_tokens = effect->generate.max_tokens;
    world->deadline = effect->generate.deadline_run_ms;
    world->sampling = effect->generate.sampling;
    world->n_generations++;
    buf_addf(&world->log, "generate %llu forced=%d stops=%d max=%lld prompt=%zu/%016llx\n",
             (unsigned long long)effect->id, world->forced, world->server_stops, (long long)world->max_tokens,
             view->count, (unsigned long long)hash);
}

static void take_start(struct world *world, const struct effect *effect)
{
    assert_false(world->forced);
    assert_true(world->n_calls < WORLD_CALLS);
    struct world_call *call = &world->calls[world->n_calls++];
    *call = (struct world_call){.id = effect->id, .name = mem_strdup(effect->tool.signature->name)};
    call->arguments = json_to_text(effect->tool.arguments);
    call->code = str_dup(effect->tool.code);
    buf_addf(&world->log, "start %llu %s %s <%s>\n", (unsigned long long)effect->id, call->name, call->arguments,
             call->code);
}

static void take_cancel(struct world *world, effect_id id)
{
    buf_addf(&world->log, "cancel %llu\n", (unsigned long long)id);
    world->n_cancels++;
    if (id == world->generation) {
        world->generation = 0;
        return;
    }
    for (size_t i = 0; i < world->n_calls; i++) {
        if (world->calls[i].id != id)
            continue;
        assert_false(world->calls[i].done || world->calls[i].canceled);
        world->calls[i].canceled = true;
        return;
    }
    fail_msg("cancelled what is not under way: %llu", (unsigned long long)id);
}

static void take_notice(struct world *world, const struct notice *notice)
{
    world->n_notices[notice->kind]++;
    world->context_limit = notice->context_limit;
    if (notice->kind == NOTICE_THINK) {
        buf_add(&world->thought, notice->text);
        return;
    }
    buf_reset(&world->last_notice[notice->kind]);
    buf_add(&world->last_notice[notice->kind], notice->text);
    buf_addf(&world->log, "notice %d round=%lld calls=%lld tokens=%lld id=%llu text=%.*s\n", notice->kind,
             (long long)notice->round, (long long)notice->model_calls, (long long)notice->context_tokens,
             (unsigned long long)notice->id, STR_ARG(notice->text));
}

static void take_effects(struct world *world)
{
    const struct effect *effect;
    while ((effect = session_next_effect(world->session)) != NULL) {
        assert_false(world->finished); /* nothing follows FINISH */
        switch (effect->kind) {
        case EFFECT_GENERATE:
            take_generate(world, effect);
            break;
        case EFFECT_START_TOOL:
            take_start(world, effect);
            break;
        case EFFECT_CANCEL:
            take_cancel(world, effect->id);
            break;
        case EFFECT_ASK:
            fail_msg("nothing is asked yet");
            break;
        case EFFECT_WAKE:
            world->wake_ms = effect->wake_ms;
            buf_addf(&world->log, "wake %lld\n", (long long)effect->wake_ms);
            break;
        case EFFECT_NOTIFY:
            take_notice(world, &effect->notice);
            break;
        case EFFECT_FINISH:
            world->finished = true;
            buf_addf(&world->log, "finish %s\n", termination_name(session_result(world->session)->termination));
            break;
        }
    }
    assert_int_equal(world->finished, session_result(world->session) != NULL);
    if (world->finished) {
        assert_true(world->generation == 0);
        assert_int_equal(world_running(world), 0);
    } else {
        assert_true(world->generation != 0 || world_running(world) > 0); /* a run never waits for nothing */
    }
}

/* Events. */

enum status world_event(struct world *world, const struct event *event)
{
    if (event->id == world->generation && (event->kind == EVENT_GENERATED || event->kind == EVENT_GENERATE_ERROR))
        world->generation = 0;
    if (event->kind == EVENT_TOOL_DONE)
        for (size_t i = 0; i < world->n_calls; i++)
            if (world->calls[i].id == event->id && !world->calls[i].canceled)
                world->calls[i].done = true;
    enum status status = session_handle(world->session, event);
    take_effects(world);
    return status;
}

int world_setup(void **state)
{
    struct world *world = mem_zalloc(sizeof *world);
    world_init(world, "generic");
    *state = world;
    return 0;
}

int world_teardown(void **state)
{
    world_finish(*state);
    free(*state);
    return 0;
}

void world_start(struct world *world, const char *question)
{
    const bool early_start[WORLD_TOOLS] = {true, true, false};
    world->session = session_create(&world->config, world->tools, early_start, WORLD_TOOLS);
    const struct event event = {.kind = EVENT_STARTED, .run_ms = world->now, .question = str_of(question)};
    assert_int_equal(world_event(world, &event), STATUS_OK);
}

void world_delta_str(struct world *world, effect_id id, struct str text)
{
    const struct event event = {.kind = EVENT_DELTA, .run_ms = world->now, .id = id, .delta = text};
    enum status status = world_event(world, &event);
    assert_true(status == STATUS_OK || status == STATUS_TOO_BIG);
}

void world_delta(struct world *world, const char *text)
{
    assert_true(world->generation != 0);
    world_delta_str(world, world->generation, str_of(text));
}

void world_end(struct world *world, enum finish_reason reason)
{
    assert_true(world->generation != 0);
    const struct event event = {
        .kind = EVENT_GENERATED,
        .run_ms = world->now,
        .id = world->generation,
        .generated = {.usage = world->usage, .reason = reason, .served_model = STR("model-1")},
    };
    assert_int_equal(world_event(world, &event), STATUS_OK);
}

void world_say(struct world *world, const char *text)
{
    world_delta(world, text);
    world_end(world, FINISH_STOP);
}

void world_fail(struct world *world, enum model_failure failure, int64_t window, const char *message)
{
    struct error error;
    error_set(&error, STATUS_NETWORK, "%s", message);
    const struct event event = {
        .kind = EVENT_GENERATE_ERROR,
        .run_ms = world->now,
        .id = world->generation,
        .failed = {.failure = failure, .window = window, .error = &error},
    };
    assert_true(world->generation != 0);
    assert_int_equal(world_event(world, &event), STATUS_OK);
}

static void tool_event(struct world *world, size_t call, enum tool_outcome_status status, struct str text,
                       const struct tool_facts *facts)
{
    assert_true(call < world->n_calls);
    const struct event event = {
        .kind = EVENT_TOOL_DONE,
        .run_ms = world->now,
        .id = world->calls[call].id,
        .tool = {.status = status, .text = text, .facts = facts},
    };
    assert_int_equal(world_event(world, &event), STATUS_OK);
}

void world_tool(struct world *world, size_t call, enum tool_outcome_status status, const char *text)
{
    tool_event(world, call, status, str_of(text), NULL);
}

void world_tool_facts(struct world *world, size_t call, struct str text, const struct tool_facts *facts)
{
    tool_event(world, call, OUTCOME_OK, text, facts);
}

void world_interrupt(struct world *world)
{
    const struct event event = {.kind = EVENT_INTERRUPTED, .run_ms = world->now};
    assert_int_equal(world_event(world, &event), STATUS_OK);
}

void world_clock(struct world *world, int64_t now)
{
    world->now = now;
    const struct event event = {.kind = EVENT_CLOCK, .run_ms = now};
    assert_int_equal(world_event(world, &event), STATUS_OK);
}

/* Looking. */

const char *world_prompt_message(struct world *world, int index)
{
    static struct buf text;
    const struct prompt_view *view = session_prompt(world->session);
    size_t at = index < 0 ? view->count - (size_t)-index : (size_t)index;
    assert_true(at < view->count);
    buf_finish(&text);
    buf_init(&text, BUF_UNBOUNDED);
    buf_add_text(&text, "");
    assert_int_equal(json_unescape(&text, view->messages[at].wire), STATUS_OK);
    return text.data ? text.data : "";
}

size_t world_prompt_count(const struct world *world)
{
    return session_prompt(world->session)->count;
}

const struct transcript *world_transcript(const struct world *world)
{
    assert_true(world->finished);
    return session_result(world->session)->transcript;
}

const char *world_message(struct world *world, int index)
{
    static struct buf text;
    const struct transcript *transcript = world_transcript(world);
    size_t at = index < 0 ? transcript_count(transcript) - (size_t)-index : (size_t)index;
    assert_true(at < transcript_count(transcript));
    buf_finish(&text);
    buf_init(&text, BUF_UNBOUNDED);
    assert_int_equal(transcript_read(transcript, at, &text), STATUS_OK);
    return text.data ? text.data : "";
}

const struct result *world_result(const struct world *world)
{
    assert_true(world->finished);
    return session_result(world->session);
}

size_t world_running(const struct world *world)
{
    size_t running = 0;
    for (size_t i = 0; i < world->n_calls; i++)
        running += !world->calls[i].done && !world->calls[i].canceled;
    return running;
}

char *world_text(int64_t tokens)
{
    static const char *const words[] = {"river",   "the",   "ministry", "of",     "granite",
                                        "archive", "seven", "and",      "harbour"};
    struct buf text;
    buf_init(&text, BUF_UNBOUNDED);
    for (int64_t i = 0; i < tokens; i++) {
        buf_add_text(&text, words[(i * 7 + i / 9) % 9]);
        buf_add_char(&text, i % 12 == 11 ? '\n' : ' ');
    }
    return buf_take(&text);
}

void assert_str(struct str actual, const char *expected)
{
    char *text = str_dup(actual);
    assert_string_equal(text, expected);
    free(text);
}

void assert_begins(const char *text, const char *prefix)
{
    if (strncmp(text, prefix, strlen(prefix)) != 0)
        fail_msg("\"%.2000s\" does not begin with \"%s\"", text, prefix);
}

void assert_contains(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("\"%s\" is not in \"%.2000s\"", part, text);
}

void assert_lacks(const char *text, const char *part)
{
    if (strstr(text, part))
        fail_msg("\"%s\" is in \"%.2000s\"", part, text);
}
