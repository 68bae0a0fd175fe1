/* The calls of one message: decoded, started, their results made into observations. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/session_state.h"
#include "core/mem.h"
#include "core/utf8.h"
#include "protocol/clean.h"

/* Calls of one message that are carried out; a model that writes more has lost its way. */
#define MAX_CALLS_OF_MESSAGE 64

/* What a text may have above its cap before it is cut. One that was cut elsewhere carries a note and may have been
 * counted by another scale; it is not cut again for that. */
#define TOLERANCE(cap, cut_before) (64 + ((cut_before) ? (cap) / 8 : 0))

/* The same call this often is a loop. */
#define LOOP_TIMES 3

/* The most of the model's own words that are shown to it again. */
#define MAX_QUOTE_BYTES 200

/* ---- the run's tools ---- */

/* The tool's place in the list, or n_tools. */
static size_t find_tool(const struct session *session, const char *name)
{
    size_t i = 0;
    while (i < session->n_tools && strcmp(session->tools[i].signature->name, name) != 0)
        i++;
    return i;
}

void session_set_tools(struct session *session, const struct tool_signature *const *tools, const bool *early_start,
                       size_t n_tools)
{
    session->tools = mem_realloc(session->tools, session->n_tools + n_tools + 1, sizeof *session->tools);
    session->offered = mem_realloc(session->offered, n_tools + 1, sizeof(void *));
    session->n_offered = 0;
    for (size_t i = 0; i < n_tools; i++) {
        size_t index = find_tool(session, tools[i]->name);
        struct session_tool *tool = &session->tools[index];
        if (index == session->n_tools) {
            session->n_tools++;
            tool->calls = 0;
        }
        tool->signature = tools[i];
        tool->early_start = early_start && early_start[i];
        session->offered[session->n_offered++] = tools[i];
    }
}

void session_tools_changed(struct session *session)
{
    if (session->state == SESSION_DONE)
        return;
    struct buf names = session_tool_names(session), list, text;
    buf_init(&list, BUF_UNBOUNDED);
    buf_init(&text, BUF_UNBOUNDED);
    profile_render_tools(session->profile, session->offered, session->n_offered, &list);
    const struct prompt_value values[] = {{"tools", buf_str(&list)}, {"tool_names", buf_str(&names)}};
    session_say(session, session_render(session, PROMPT_NOTICE_TOOLS, values, 2, &text));
    buf_finish(&text);
    buf_finish(&list);
    buf_finish(&names);
}

/* Life of the list. */

void session_calls_clear(struct session *session)
{
    struct session_calls *calls = &session->calls;
    for (size_t i = 0; i < calls->count; i++) {
        buf_finish(&calls->items[i].text);
        buf_finish(&calls->items[i].notice);
    }
    for (size_t i = 0; i < calls->n_lists; i++)
        call_list_finish(&calls->lists[i]);
    calls->count = calls->n_lists = 0;
}

void session_calls_finish(struct session *session)
{
    session_calls_clear(session);
    free(session->calls.items);
    free(session->calls.lists);
}

static bool all_over(const struct session *session)
{
    for (size_t i = 0; i < session->calls.count; i++)
        if (session->calls.items[i].progress != CALL_OVER)
            return false;
    return true;
}

/* Starting. */

static uint64_t hash_bytes(uint64_t hash, struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        hash = (hash ^ (unsigned char)s.data[i]) * 1099511628211u; /* FNV-1a */
    return (hash ^ 0xff) * 1099511628211u;
}

static struct str code_of(const struct call *call)
{
    return call->code ? str_make(call->code, call->code_len) : (struct str){0};
}

/* How often the run has made this very call, this time included. */
static int64_t count_call(struct session *session, const struct call *call)
{
    char *arguments = json_to_text(call->arguments);
    uint64_t hash = hash_bytes(14695981039346656037u, str_of(call->name));
    hash = hash_bytes(hash_bytes(hash, str_of(arguments)), code_of(call));
    free(arguments);
    for (size_t i = 0; i < session->n_call_counts; i++)
        if (session->call_counts[i].hash == hash)
            return ++session->call_counts[i].times;
    session->call_counts = mem_grow(session->call_counts, session->n_call_counts, &session->call_counts_capacity,
                                    sizeof *session->call_counts);
    session->call_counts[session->n_call_counts++] = (struct call_count){hash, 1};
    return 1;
}

static void say_of_tool(struct session *session, struct session_call *call, enum prompt_id id, const char *name,
                        struct str value)
{
    const struct prompt_value values[] = {{"tool", str_of(call->call->name)}, {name, value}};
    session_render(session, id, values, 2, &call->notice);
}

static void start(struct session *session, struct session_call *call)
{
    if (session_time_is_up(session)) {
        call->progress = CALL_OVER;
        say_of_tool(session, call, PROMPT_NOTICE_INTERRUPTED, "seconds", (struct str){0});
        return;
    }
    call->id = session_new_id(session);
    call->progress = CALL_RUNNING;
    call->started_ms = session->run_ms;
    session->tools[call->tool].calls++;
    struct effect *effect = session_push(session, EFFECT_START_TOOL, call->id);
    effect->tool.signature = call->call->signature;
    effect->tool.arguments = call->call->arguments;
    effect->tool.code = code_of(call->call);
    effect->tool.max_output_tokens = session->config.limits.observation_tokens;
    session_notify_call(session, NOTICE_TOOL_STARTED, call);
    if (count_call(session, call->call) >= LOOP_TIMES)
        session_notify_call(session, NOTICE_LOOP_DETECTED, call);
}

void session_calls_start(struct session *session)
{
    for (size_t i = 0; i < session->calls.count; i++)
        if (session->calls.items[i].progress == CALL_WAITING)
            start(session, &session->calls.items[i]);
    session->due = all_over(session);
}

/* A call that cannot be carried out: the model is told what is wrong, where, and what would be right. What it wrote
 * itself comes back to it as harmless as a tool's text. */
static void refuse(struct session *session, struct session_call *call)
{
    struct call *bad = call->call;
    struct buf names = session_tool_names(session), problem, clean;
    buf_init(&problem, BUF_UNBOUNDED);
    buf_init(&clean, BUF_UNBOUNDED);
    bool unknown = bad->error.status == STATUS_NOT_FOUND && bad->name;
    if (unknown) {
        struct str name = str_of(bad->name);
        buf_add(&problem, str_slice(name, 0, utf8_floor(name, MAX_QUOTE_BYTES)));
    } else {
        char text[sizeof bad->error.message + 64];
        buf_add_text(&problem, error_text(&bad->error, text, sizeof text));
        if (bad->expected[0])
            buf_addf(&problem, "; expected %s", bad->expected);
    }
    if (clean_text(&clean, buf_str(&problem)) != STATUS_OK)
        abort(); /* the buffer has no cap */
    const struct prompt_value values[] = {{unknown ? "name" : "problem", buf_str(&clean)},
                                          {"example", str_of(bad->example)},
                                          {"tool_names", buf_str(&names)}};
    session_render(session, unknown ? PROMPT_NOTICE_TOOL : PROMPT_NOTICE_CALL, values, 3, &call->notice);
    call->progress = CALL_OVER;
    session->result.format_repairs++;
    session_notify(session, NOTICE_FORMAT_REPAIR, session_keep(session, buf_str(&clean)));
    buf_finish(&clean);
    buf_finish(&problem);
    buf_finish(&names);
}

static void add_call(struct session *session, struct call *decoded)
{
    struct session_calls *calls = &session->calls;
    if (calls->count == MAX_CALLS_OF_MESSAGE) {
        session_notify(session, NOTICE_FORMAT_REPAIR, STR("more calls in one message than are carried out"));
        return;
    }
    calls->items = mem_grow(calls->items, calls->count, &calls->capacity, sizeof *calls->items);
    struct session_call *call = &calls->items[calls->count++];
    *call = (struct session_call){.call = decoded};
    buf_init(&call->text, BUF_UNBOUNDED);
    buf_init(&call->notice, BUF_UNBOUNDED);
    session->result.format_repairs += __builtin_popcount(decoded->repairs);
    session_notify_repairs(session, 0, decoded->repairs);
    if (decoded->error.status != STATUS_OK) {
        refuse(session, call);
        return;
    }
    call->tool = find_tool(session, decoded->signature->name);
    bool early = session->tools[call->tool].early_start && session->profile->calls != CALLS_LAST;
    if (early && !session->round.ending)
        start(session, call);
}

void session_calls_add(struct session *session, const struct tag_event *event)
{
    struct session_calls *calls = &session->calls;
    enum call_choice choice = session->profile->calls;
    if (choice == CALLS_FIRST && calls->count > 0)
        return;
    const struct call_text text = {event->json, event->code, event->has_code, event->closed};
    const struct call_options options = {session->offered, session->n_offered};
    struct call_list list = {0};
    call_decode(&text, &options, &list);
    if (!event->closed && list.items[0].error.status != STATUS_OK) {
        call_list_finish(&list); /* an unclosed call counts only if it is whole */
        return;
    }
    if (choice == CALLS_LAST)
        session_calls_clear(session);
    calls->lists = mem_grow(calls->lists, calls->n_lists, &calls->lists_capacity, sizeof *calls->lists);
    calls->lists[calls->n_lists++] = list;
    session->round.complete_len = event->end;
    size_t from = choice == CALLS_LAST ? list.count - 1 : 0, to = choice == CALLS_FIRST ? 1 : list.count;
    for (size_t i = from; i < to; i++)
        add_call(session, &list.items[i]);
}

/* Ending. */

/* Makes a tool's text harmless and cuts it to the cap of one observation. */
static void take_text(struct session *session, struct session_call *call, struct str text, bool cut_before)
{
    struct buf clean;
    buf_init(&clean, BUF_UNBOUNDED);
    if (clean_text(&clean, text) != STATUS_OK)
        abort(); /* the buffer has no cap */
    struct str all = buf_str(&clean);
    int64_t cap = session->config.limits.observation_tokens;
    size_t fits = all.len;
    bool is_short = token_meter_is_exact(&session->meter) && (int64_t)all.len <= cap; /* a token has a byte or more */
    if (cap > 0 && !is_short && token_meter_count(&session->meter, all) > cap + TOLERANCE(cap, cut_before))
        fits = token_meter_fit(&session->meter, all, cap);
    bool cut = profile_cut_observation(session->profile, all, fits, &call->text) > 0;
    session->result.truncated_observations += cut || cut_before;
    buf_finish(&clean);
}

static void take_facts(struct session *session, struct session_call *call, const struct tool_facts *facts)
{
    for (size_t i = 0; i < facts->n_sources; i++)
        sources_add(session->sources, facts->sources[i].url, facts->sources[i].title, session->announced_round);
    for (size_t role = 0; role < MODEL_ROLE_COUNT; role++)
        ledger_add(&session->ledger, (enum model_role)role, &facts->role_usage[role], facts->role_calls[role]);
    call->n_sources = facts->n_sources;
    session->result.quotes += facts->quotes;
    session->result.unfound_quotes += facts->unfound_quotes;
    session_warn_budget(session);
}

const char *tool_outcome_name(enum tool_outcome_status status)
{
    switch (status) {
    case OUTCOME_OK:
        return "ok";
    case OUTCOME_FAILED:
        return "failed";
    case OUTCOME_TIMEOUT:
        return "timeout";
    case OUTCOME_INTERRUPTED:
        return "interrupted";
    }
    return "";
}

static void over(struct session *session, struct session_call *call, enum tool_outcome_status status)
{
    char seconds[24];
    int64_t elapsed_ms = session->run_ms - call->started_ms;
    int length = snprintf(seconds, sizeof seconds, "%lld", (long long)((elapsed_ms + 500) / 1000));
    bool silent = str_trim(buf_str(&call->text)).len == 0;
    switch (status) {
    case OUTCOME_OK:
        if (silent)
            say_of_tool(session, call, PROMPT_NOTICE_EMPTY, "problem", (struct str){0});
        break;
    case OUTCOME_FAILED:
        if (silent)
            say_of_tool(session, call, PROMPT_NOTICE_FAILED, "problem", (struct str){0});
        break;
    case OUTCOME_TIMEOUT:
        say_of_tool(session, call, PROMPT_NOTICE_TIMEOUT, "seconds", str_make(seconds, (size_t)length));
        break;
    case OUTCOME_INTERRUPTED:
        say_of_tool(session, call, PROMPT_NOTICE_INTERRUPTED, "problem", (struct str){0});
        break;
    }
    call->progress = CALL_OVER;
    call->status = status;
    call->elapsed_ms = elapsed_ms;
    session->result.tool_failures += status == OUTCOME_FAILED || status == OUTCOME_TIMEOUT;
    session->result.tool_ms += elapsed_ms;
    session_notify_call(session, NOTICE_TOOL_FINISHED, call);
}

void session_calls_done(struct session *session, effect_id id, const struct tool_outcome *outcome)
{
    for (size_t i = 0; i < session->calls.count && id != 0; i++) {
        struct session_call *call = &session->calls.items[i];
        if (call->id != id || call->progress != CALL_RUNNING)
            continue;
        take_text(session, call, outcome->text, outcome->facts && outcome->facts->truncated);
        if (outcome->facts)
            take_facts(session, call, outcome->facts);
        over(session, call, outcome->status);
        session->due = session->state == SESSION_ACTING && all_over(session);
        return;
    }
}

void session_calls_stop(struct session *session, enum tool_outcome_status status)
{
    for (size_t i = 0; i < session->calls.count; i++) {
        struct session_call *call = &session->calls.items[i];
        if (call->progress == CALL_RUNNING) {
            session_push(session, EFFECT_CANCEL, call->id);
            over(session, call, status);
        }
    }
}

/* Hands the results to the model, in call order, as the blocks of one message; what the program has to say stands
 * inside the last one. */
enum status session_calls_observe(struct session *session)
{
    struct session_calls *calls = &session->calls;
    if (calls->count == 0)
        return STATUS_OK;
    struct observation *observations = mem_calloc(calls->count, sizeof *observations);
    for (size_t i = 0; i < calls->count; i++)
        observations[i] = (struct observation){buf_str(&calls->items[i].text), buf_str(&calls->items[i].notice)};
    struct str *last = &observations[calls->count - 1].notice;
    struct buf notice; /* effects still borrow the call's own */
    buf_init(&notice, BUF_UNBOUNDED);
    buf_add(&notice, *last);
    buf_add_text(&notice, last->len > 0 && session->words.len > 0 ? "\n\n" : "");
    buf_add(&notice, buf_str(&session->words));
    *last = buf_str(&notice);
    enum status status = transcript_append_observations(session->transcript, observations, calls->count);
    buf_reset(&session->words);
    buf_finish(&notice);
    free(observations);
    if (status == STATUS_OK)
        session_count_last(session);
    return status;
}
