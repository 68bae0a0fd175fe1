/* Life cycle of a session; events in, effects out; time. What an event means stands in the other session_*.c. */
#include "agent/session.h"

#include <stdlib.h>
#include <string.h>

#include "agent/prompt_count.h"
#include "agent/session_state.h"
#include "core/mem.h"
#include "protocol/template.h"

/* Far above what any window takes; the question and the observations are capped one by one before. */
#define MAX_TRANSCRIPT_BYTES (256u << 20)

static struct str own_str(struct str s)
{
    return str_make(str_dup(s), s.len);
}

static void init_meter(struct session *session)
{
    const struct session_config *config = &session->config;
    const struct chat_template *chat_template = config->chat_template;
    int64_t message_tokens = config->message_tokens, prompt_tokens = config->prompt_tokens;
    token_meter_init(&session->meter, config->counter ? config->counter : token_counter_estimate(),
                     message_tokens > 0 ? message_tokens : template_message_tokens(chat_template),
                     prompt_tokens > 0 ? prompt_tokens : template_prompt_tokens(chat_template),
                     session->profile->history == THOUGHT_DROP);
    if (!config->counter || !config->counter->tokenizer || !chat_template)
        return;
    const struct prompt_count_options options = {
        .tokenizer = config->counter->tokenizer,
        .chat_template = chat_template,
        .transcript = session->transcript,
        .shown = {.thought = session->profile->history, .reopen_thought = config->reopen_thought},
        .rendering = {.bos = config->template_bos,
                      .open_think = config->reopen_thought,
                      .chat = !config->completions,
                      .date = config->date},
    };
    token_meter_count_exactly(&session->meter, &options);
}

struct session *session_create(const struct session_config *config, const struct tool_signature *const *tools,
                               const bool *early_start, size_t n_tools)
{
    struct session *session = mem_zalloc(sizeof *session);
    session->config = *config;
    session->config.run_id = own_str(config->run_id);
    session->config.date = own_str(config->date);
    session->profile = config->profile;
    struct session_limits *limits = &session->config.limits;
    if (limits->context_tokens <= 0)
        limits->context_tokens = SESSION_DEFAULT_CONTEXT_LIMIT;
    if (limits->answer_tries <= 0)
        limits->answer_tries = SESSION_ANSWER_TRIES;
    session->transcript = transcript_create(MAX_TRANSCRIPT_BYTES);
    session->sources = sources_create();
    buf_init(&session->words, BUF_UNBOUNDED);
    prompt_view_init(&session->view);
    session_set_tools(session, tools, early_start, n_tools);
    session_round_init(session);

    init_meter(session);
    return session;
}

static void free_kept(struct session *session)
{
    for (size_t i = 0; i < session->n_kept; i++)
        free(session->kept[i]);
    session->n_kept = 0;
}

void session_destroy(struct session *session)
{
    if (!session)
        return;
    free_kept(session);
    free(session->kept);
    free(session->effects);
    free(session->prediction);
    free(session->tool_counts);
    free(session->served_model);
    free(session->call_counts);
    sources_destroy(session->sources);
    ledger_finish(&session->ledger);
    buf_finish(&session->words);
    session_calls_finish(session);
    session_round_finish(session);
    prompt_view_finish(&session->view);
    token_meter_finish(&session->meter);
    transcript_destroy(session->transcript);
    free(session->offered);
    free(session->tools);
    free(session->question);
    free((char *)session->config.date.data);
    free((char *)session->config.run_id.data);
    free(session);
}

/* What the files of the session share. */

effect_id session_new_id(struct session *session)
{
    return ++session->last_id;
}

struct effect *session_push(struct session *session, enum effect_kind kind, effect_id id)
{
    session->effects =
        mem_grow(session->effects, session->n_effects, &session->effects_capacity, sizeof *session->effects);
    struct effect *effect = &session->effects[session->n_effects++];
    memset(effect, 0, sizeof *effect);
    effect->kind = kind;
    effect->id = id;
    return effect;
}

struct str session_keep(struct session *session, struct str text)
{
    session->kept = mem_grow(session->kept, session->n_kept, &session->kept_capacity, sizeof *session->kept);
    char *copy = str_dup(text);
    session->kept[session->n_kept++] = copy;
    return str_make(copy, text.len);
}

struct str session_render(struct session *session, enum prompt_id id, const struct prompt_value *values, size_t count,
                          struct buf *out)
{
    buf_reset(out);
    if (profile_render(session->profile, id, values, count, out) != STATUS_OK)
        abort(); /* the buffer has no cap, and nothing else can fail */
    return buf_str(out);
}

struct buf session_tool_names(const struct session *session)
{
    struct buf names;
    buf_init(&names, BUF_UNBOUNDED);
    for (size_t i = 0; i < session->n_offered; i++) {
        buf_add_text(&names, i > 0 ? ", " : "");
        buf_add_text(&names, session->offered[i]->name);
    }
    return names;
}

void session_say(struct session *session, struct str text)
{
    buf_add_text(&session->words, session->words.len > 0 && text.len > 0 ? "\n\n" : "");
    buf_add(&session->words, text);
}

bool session_time_is_up(const struct session *session)
{
    int64_t limit = session->config.limits.time_ms;
    return session->time_is_up || (limit > 0 && session->run_ms >= limit);
}

/* Events. */

static void wake_at(struct session *session, int64_t run_ms)
{
    session_push(session, EFFECT_WAKE, 0)->wake_ms = run_ms;
}

static void append_start(struct session *session)
{
    struct buf system, user;
    buf_init(&system, BUF_UNBOUNDED);
    buf_init(&user, BUF_UNBOUNDED);
    const struct profile_start start = {.question = session->question_str,
                                        .date = session->config.date,
                                        .tools = session->offered,
                                        .n_tools = session->n_offered};
    profile_render_start(session->profile, &start, &system, &user);
    enum status status = STATUS_OK;
    if (system.len > 0) {
        status = transcript_append(session->transcript, MESSAGE_SYSTEM, buf_str(&system));
        token_meter_append(&session->meter, buf_str(&system));
    }
    if (status == STATUS_OK)
        status = transcript_append(session->transcript, MESSAGE_USER, buf_str(&user));
    token_meter_append(&session->meter, buf_str(&user));
    buf_finish(&user);
    buf_finish(&system);
    if (status != STATUS_OK) {
        struct error error;
        error_set(&error, status, "the question is too long");
        session_finish(session, TERMINATION_TOKEN_LIMIT, &error);
    }
}

static void handle_started(struct session *session, struct str question)
{
    session->state = SESSION_GENERATING;
    session->question = str_dup(question);
    session->question_str = str_make(session->question, question.len);
    session_notify(session, NOTICE_RUN_STARTED, (struct str){0});
    session->due = true;
    append_start(session);
    if (session->state != SESSION_DONE && session->config.limits.time_ms > 0)
        wake_at(session, session->config.limits.time_ms);
}

static void handle_clock(struct session *session)
{
    int64_t limit = session->config.limits.time_ms;
    if (limit <= 0)
        return;
    if (session->run_ms < limit)
        wake_at(session, limit); /* too early: that wake is over, and the time still has to be kept */
    else if (session->time_is_up && session->run_ms < limits_end_ms(&session->config.limits))
        wake_at(session, limits_end_ms(&session->config.limits));
}

static void handle_interrupted(struct session *session)
{
    struct error error;
    error_set(&error, STATUS_CANCELED, "the run was interrupted");
    session_round_salvage(session);
    session_finish(session, TERMINATION_INTERRUPTED, &error);
}

static enum status dispatch(struct session *session, const struct event *event)
{
    bool of_generation = event->id != 0 && event->id == session->round.generation;
    switch (event->kind) {
    case EVENT_STARTED:
        handle_started(session, event->question);
        break;
    case EVENT_DELTA:
        return of_generation ? session_round_delta(session, event->delta) : STATUS_OK;
    case EVENT_RESTARTED:
        if (of_generation)
            session_round_restart(session);
        break;
    case EVENT_GENERATED:
        if (of_generation)
            session_round_ended(session, &event->generated);
        break;
    case EVENT_GENERATE_ERROR:
        if (of_generation)
            session_round_failed(session, &event->failed);
        break;
    case EVENT_TOOL_DONE:
        session_calls_done(session, event->id, &event->tool);
        break;
    case EVENT_ANSWERED:
        break; /* nothing is asked yet, so every answer is to an unknown id */
    case EVENT_TOOLS_CHANGED:
        session_set_tools(session, event->tools.tools, event->tools.early_start, event->tools.n_tools);
        session_tools_changed(session);
        break;
    case EVENT_WINDOW:
        session_learn_window(session, event->window);
        break;
    case EVENT_CLOCK:
        handle_clock(session);
        break;
    case EVENT_INTERRUPTED:
        handle_interrupted(session);
        break;
    }
    return STATUS_OK;
}

/* Ends what the time allows no longer. */
static void keep_time(struct session *session)
{
    int64_t limit = session->config.limits.time_ms, end = limits_end_ms(&session->config.limits);
    if (session->state == SESSION_DONE || limit <= 0 || session->run_ms < limit)
        return;
    if (session->run_ms >= end) {
        bool was_forced = session->state == SESSION_FORCING;
        session_round_salvage(session);
        session_finish(session, was_forced ? session->forced_by : TERMINATION_TIME_LIMIT, NULL);
        return;
    }
    if (session->time_is_up)
        return;
    session->time_is_up = true;
    wake_at(session, end);
    if (session->state == SESSION_GENERATING && session->round.generation != 0) {
        session_round_time_up(session);
    } else if (session->state == SESSION_ACTING) {
        session_calls_stop(session, OUTCOME_TIMEOUT);
        session->due = true;
    }
}

enum status session_handle(struct session *session, const struct event *event)
{
    bool started = session->state != SESSION_NEW;
    if ((event->kind == EVENT_STARTED) == started)
        return STATUS_ORDER;
    if (session->n_taken < session->n_effects || session->due)
        return STATUS_ORDER;
    if (session->state == SESSION_DONE)
        return STATUS_OK;
    if (event->run_ms < session->run_ms)
        return STATUS_ORDER;
    session->run_ms = event->run_ms;
    session->n_effects = session->n_taken = 0;
    free_kept(session);

    /* A reply or a result that comes in the last moment still counts. Not so a piece of a stream: how much of it would
     * count would depend on how it was cut. */
    if (event->kind == EVENT_DELTA)
        keep_time(session);
    enum status status = dispatch(session, event);
    keep_time(session);
    return status;
}

const struct effect *session_next_effect(struct session *session)
{
    if (session->n_taken == session->n_effects && session->due) {
        session->due = false;
        session_ask_next(session);
    }
    return session->n_taken < session->n_effects ? &session->effects[session->n_taken++] : NULL;
}

const struct prompt_view *session_prompt(const struct session *session)
{
    return &session->view;
}

const struct result *session_result(const struct session *session)
{
    return session->state == SESSION_DONE ? &session->result : NULL;
}

bool session_may_restart(const struct session *session, effect_id generation)
{
    return generation != 0 && generation == session->round.generation && session->calls.count == 0 &&
           !session->round.answer;
}
