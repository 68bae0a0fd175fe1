/* One completion: taken in as it streams, judged when it ends (protocol.md, "Reading a completion"). */
#include <stdlib.h>

#include "agent/session_state.h"
#include "protocol/completion.h"

/* More than any completion cap allows: only a server that ignores the cap gets there. */
#define MAX_COMPLETION_BYTES (4u << 20)

/* Forced replies of no use before the run ends without a prediction. */
#define MAX_FORCED_TRIES 3

/* Why a completion ended. All but the first are the session's own doing: the generation has to be cancelled. */
enum ending {
    ENDED_BY_ITSELF, /* as the finish reason says */
    ENDED_RESPONSE,  /* the model began to write tool results */
    ENDED_REPEATED,  /* the text went round in circles */
    ENDED_TOO_BIG,
    ENDED_BROKEN, /* the stream would begin anew, but calls have started */
    ENDED_LIMIT,  /* time is up, or the run ends */
};

static void on_tag(void *user, const struct tag_event *event)
{
    struct session *session = user;
    struct session_round *round = &session->round;
    switch (event->kind) {
    case TAG_THOUGHT:
        session_notify(session, NOTICE_THINK, session_keep(session, event->text));
        break;
    case TAG_TEXT:
    case TAG_CUT:
        break;
    case TAG_CALL:
        if (session->state != SESSION_FORCING)
            session_calls_add(session, event);
        break;
    case TAG_ANSWER:
        if (round->answer || event->text.len == 0)
            break;
        round->answer = str_dup(event->text);
        round->answer_len = event->text.len;
        round->complete_len = event->end;
        break;
    }
}

static struct tag_parser_options parser_options(const struct session *session)
{
    enum thought_rule rule = session->profile->thought;
    return (struct tag_parser_options){
        .thought_expected = rule != THOUGHT_NONE,
        .thought_open = rule == THOUGHT_OPENED,
    };
}

void session_round_init(struct session *session)
{
    struct session_round *round = &session->round;
    const struct tag_parser_options options = parser_options(session);
    buf_init(&round->text, MAX_COMPLETION_BYTES);
    round->parser = tag_parser_create(&options, on_tag, session);
    round->repetition = repetition_create();
    round->server_stops = true;
}

static void forget_text(struct session_round *round)
{
    buf_reset(&round->text);
    tag_parser_reset(round->parser);
    repetition_reset(round->repetition);
    free(round->answer);
    round->answer = NULL;
    round->complete_len = 0;
    round->ending = false;
}

void session_round_finish(struct session *session)
{
    struct session_round *round = &session->round;
    free(round->answer);
    buf_finish(&round->text);
    tag_parser_destroy(round->parser);
    repetition_destroy(round->repetition);
}

void session_round_open(struct session *session, effect_id generation)
{
    struct session_round *round = &session->round;
    forget_text(round);
    round->generation = generation;
    round->asked_ms = session->run_ms;
}

/* Accounting of one completion, whatever becomes of it. */

static enum finish_reason recorded_reason(enum ending ending, enum finish_reason reason)
{
    switch (ending) {
    case ENDED_BY_ITSELF:
        return reason;
    case ENDED_RESPONSE:
        return FINISH_STOP; /* what a server does that was given the stop string */
    case ENDED_TOO_BIG:
        return FINISH_LENGTH;
    case ENDED_BROKEN:
        return FINISH_BROKEN;
    case ENDED_REPEATED:
    case ENDED_LIMIT:
        break;
    }
    return FINISH_CANCELED;
}

static void account(struct session *session, enum finish_reason reason, const struct usage *reported)
{
    struct usage usage = *reported;
    if (usage.prompt <= 0)
        usage.prompt = token_meter_prompt(&session->meter);
    if (usage.completion <= 0)
        usage.completion = token_meter_count(&session->meter, buf_str(&session->round.text));
    ledger_add(&session->ledger, MODEL_AGENT, &usage, 1);
    ledger_add_reason(&session->ledger, reason);
    session->result.model_calls++;
    session->result.model_ms += session->run_ms - session->round.asked_ms;
    session->result.truncated_responses += reason == FINISH_LENGTH;
    session_warn_budget(session);
}

static enum tag_end tag_end_of(enum ending ending, enum finish_reason reason)
{
    if (ending == ENDED_RESPONSE || (ending == ENDED_BY_ITSELF && reason == FINISH_STOP))
        return TAG_END_STOP;
    return ending == ENDED_BY_ITSELF && reason == FINISH_LENGTH ? TAG_END_LENGTH : TAG_END_BROKEN;
}

/* The generation is over: it is stopped where it was not its own end, what only the end decides is read, and it is
 * accounted for. Afterwards session_round.text and .answer and the calls say what came of it. */
static void close_generation(struct session *session, enum ending ending, const struct generation_end *end)
{
    struct session_round *round = &session->round;
    if (ending != ENDED_BY_ITSELF)
        session_push(session, EFFECT_CANCEL, round->generation);
    round->generation = 0;
    round->ending = true;
    enum status status = tag_parser_end(round->parser, tag_end_of(ending, end->reason));
    (void)status; /* an element that outgrew its cap is never reported; what was complete before it counts */
    account(session, recorded_reason(ending, end->reason), &end->usage);
    unsigned repairs = tag_parser_outcome(round->parser)->repairs;
    session->result.format_repairs += __builtin_popcount(repairs);
    session_notify_repairs(session, repairs, 0);
    if (end->served_model.len > 0) {
        free(session->served_model);
        session->served_model = str_dup(end->served_model);
    }
}

/* What became of it. */

/* Bytes of the completion that belong to the transcript: all of it when the model ended it, else as far as calls and
 * answers were complete. */
static size_t kept_length(const struct session_round *round, enum ending ending, enum finish_reason reason)
{
    size_t length = tag_parser_outcome(round->parser)->length;
    return tag_end_of(ending, reason) == TAG_END_STOP ? length : round->complete_len;
}

/* Where the thought at the start of the completion stands; a thought further inside stays with the text around it. */
static struct thought_range leading_thought(const struct session_round *round, size_t length)
{
    const struct tag_outcome *outcome = tag_parser_outcome(round->parser);
    struct thought_range none = {0};
    if (outcome->n_thoughts == 0)
        return none;
    const struct tag_range *first = &outcome->thoughts[0];
    if (first->end > length || str_trim(str_slice(buf_str(&round->text), 0, first->start)).len > 0)
        return none;
    return (struct thought_range){first->text_start, first->text_end, first->end};
}

/* Puts the first `length` bytes of the completion into the transcript. `completion_tokens` is the server's count of the
 * whole, -1 where it gave none. */
static void accept_text(struct session *session, size_t length, int64_t completion_tokens)
{
    struct session_round *round = &session->round;
    struct str text = str_slice(buf_str(&round->text), 0, length);
    struct thought_range range = leading_thought(round, length);
    if (transcript_append_assistant(session->transcript, text, &range) != STATUS_OK)
        return; /* what follows it does not fit either, and says so */
    struct str thought = str_slice(text, range.from, range.to), rest = str_slice(text, range.rest, text.len);
    token_meter_append_completion(&session->meter, thought, rest, length == round->text.len ? completion_tokens : -1);
    buf_finish(&round->text); /* from here on the transcript has it */
    buf_init(&round->text, MAX_COMPLETION_BYTES);
    session->result.rounds++;
    session->dropped = 0;
    round->doublings = 0;
    round->server_stops = true;
}

static const char *drop_text(enum ending ending, enum finish_reason reason, const struct tag_outcome *outcome)
{
    if (ending == ENDED_REPEATED)
        return "dropped: the same text over and over";
    if (outcome->length == 0)
        return "dropped: empty";
    if (outcome->inside == TAG_INSIDE_THOUGHT)
        return reason == FINISH_LENGTH ? "dropped: cut inside thought" : "dropped: ended inside thought";
    return "dropped: neither call nor answer";
}

/* The completion is of no use and stays out of the transcript. The same prompt is sampled again; halfway to the demand
 * for the answer the model is told what was wrong. */
static void drop(struct session *session, enum ending ending, enum finish_reason reason)
{
    struct session_round *round = &session->round;
    const struct tag_outcome *outcome = tag_parser_outcome(round->parser);
    session->due = true;
    if (ending == ENDED_LIMIT)
        return;
    session->result.format_repairs++;
    session_notify(session, NOTICE_FORMAT_REPAIR, str_of(drop_text(ending, reason, outcome)));
    if (outcome->inside == TAG_INSIDE_THOUGHT && ending == ENDED_BY_ITSELF) {
        round->doublings += reason == FINISH_LENGTH;
        if (reason == FINISH_STOP)
            round->server_stops = false;
    }
    if (session->state == SESSION_FORCING)
        return;
    session->dropped++;
    session->was_repetition = ending == ENDED_REPEATED;
    session->notice_due = session->dropped == (session->config.limits.answer_tries + 1) / 2;
}

/* The answer of a reply that was to be one but does not say so to its end: an answer that was begun, else the text
 * outside thought and calls. `no_template`: not even the thought that the server's template is known to open is taken
 * for granted. */
static struct buf plain_reply(struct session *session, bool no_template)
{
    struct completion_options options = {.parser = parser_options(session), .end = TAG_END_STOP};
    if (no_template)
        options.parser.thought_open = false;
    struct str text = str_slice(buf_str(&session->round.text), 0, tag_parser_outcome(session->round.parser)->length);
    struct buf plain;
    json_t *read = NULL;
    buf_init(&plain, BUF_UNBOUNDED); /* part of a text that has a cap */
    if (completion_to_json(text, &options, &read, NULL) == STATUS_OK)
        buf_add(&plain, json_get_str(read, "answer"));
    if (plain.len == 0 && completion_plain_text(text, &options, &plain) != STATUS_OK)
        buf_reset(&plain);
    json_decref(read);
    return plain;
}

/* A forced reply without an answer: its plain text is the prediction. Without any, or when it went round in circles, it
 * is asked for again, a few times. */
static void judge_forced(struct session *session, enum ending ending, const struct generation_end *end)
{
    bool last_try = ++session->forced_tries >= MAX_FORCED_TRIES;
    struct buf plain = plain_reply(session, last_try && tag_end_of(ending, end->reason) == TAG_END_STOP);
    bool usable = plain.len > 0 && (ending != ENDED_REPEATED || last_try);
    if (usable) {
        accept_text(session, tag_parser_outcome(session->round.parser)->length, end->usage.completion);
        session_predict(session, buf_str(&plain), false);
    }
    if (!usable)
        drop(session, ending, end->reason);
    if (usable || last_try)
        session_finish(session, session->forced_by, NULL);
    buf_finish(&plain);
}

static void judge(struct session *session, enum ending ending, const struct generation_end *end)
{
    struct session_round *round = &session->round;
    if (round->answer) {
        accept_text(session, kept_length(round, ending, end->reason), end->usage.completion);
        session_predict(session, str_make(round->answer, round->answer_len), true);
        bool forced = session->state == SESSION_FORCING;
        session_finish(session, forced ? session->forced_by : TERMINATION_ANSWER, NULL);
    } else if (session->state == SESSION_FORCING) {
        judge_forced(session, ending, end);
    } else if (session->calls.count > 0) {
        accept_text(session, kept_length(round, ending, end->reason), end->usage.completion);
        session->state = SESSION_ACTING;
        session_calls_start(session);
    } else {
        drop(session, ending, end->reason);
    }
}

static void cut(struct session *session, enum ending ending)
{
    const struct generation_end end = {.usage = {-1, -1, -1, -1}, .reason = recorded_reason(ending, FINISH_CANCELED)};
    close_generation(session, ending, &end);
    judge(session, ending, &end);
}

/* Events. */

enum status session_round_delta(struct session *session, struct str bytes)
{
    struct session_round *round = &session->round;
    size_t room = round->text.cap - round->text.len;
    bool too_big = bytes.len > room;
    bytes.len = too_big ? room : bytes.len;

    /* Of a loop and an invented result in the same piece, what comes first counts: the parser gets no more than the
     * bytes up to the loop. */
    size_t before = round->text.len;
    bool repeated = repetition_feed(round->repetition, bytes);
    if (repeated && repetition_offset(round->repetition) - before < bytes.len)
        bytes.len = repetition_offset(round->repetition) - before;
    if (buf_append_str(&round->text, bytes) != STATUS_OK)
        abort(); /* there was room */
    too_big |= tag_parser_feed(round->parser, str_slice(buf_str(&round->text), before, round->text.len)) != STATUS_OK;

    if (tag_parser_outcome(round->parser)->cut) {
        cut(session, ENDED_RESPONSE);
    } else if (repeated) {
        cut(session, ENDED_REPEATED);
    } else if (too_big) {
        cut(session, ENDED_TOO_BIG);
        return STATUS_TOO_BIG;
    }
    return STATUS_OK;
}

void session_round_restart(struct session *session)
{
    if (session_may_restart(session, session->round.generation))
        forget_text(&session->round);
    else
        cut(session, ENDED_BROKEN);
}

static bool prompt_was_cut(struct session *session)
{
    int64_t own, server;
    if (!token_meter_is_cut(&session->meter, &own, &server))
        return false;
    struct error error;
    error_set(&error, STATUS_UNSUPPORTED,
              "the server cuts the prompt silently: of about %lld tokens it took %lld. Give it a larger context window "
              "(Ollama: OLLAMA_CONTEXT_LENGTH), or say with --context-window what it has",
              (long long)own, (long long)server);
    session_finish(session, TERMINATION_MODEL_ERROR, &error);
    return true;
}

/* Takes the server's count of the prompt in, and says how it compares with ours. */
static void compare_tokens(struct session *session, const struct generation_end *end)
{
    const char *method = token_meter_method(&session->meter);
    int64_t counted, reported;
    token_meter_reported(&session->meter, &end->usage);
    if (end->thought_field)
        token_meter_thought_field(&session->meter);
    if (end->usage.prompt <= 0 || !token_meter_compared(&session->meter, &counted, &reported))
        return;
    struct notice *notice = session_notify(session, NOTICE_THINK, (struct str){0});
    notice->counted_tokens = counted;
    notice->reported_tokens = reported;
    notice->count_method = method;
}

void session_round_ended(struct session *session, const struct generation_end *end)
{
    compare_tokens(session, end);
    close_generation(session, ENDED_BY_ITSELF, end);
    if (prompt_was_cut(session))
        return;
    judge(session, ENDED_BY_ITSELF, end);
}

void session_round_failed(struct session *session, const struct generation_failure *failure)
{
    struct session_round *round = &session->round;
    if (session->calls.count > 0 || round->answer) {
        const struct generation_end end = {.usage = {-1, -1, -1, -1}, .reason = FINISH_BROKEN};
        close_generation(session, ENDED_BY_ITSELF, &end);
        judge(session, ENDED_BY_ITSELF, &end);
        return;
    }
    round->generation = 0;
    session->result.model_ms += session->run_ms - round->asked_ms;
    switch (failure->failure) {
    case MODEL_CONTEXT_TOO_LONG:
        session_prompt_refused(session, failure->window);
        break;
    case MODEL_OK:
    case MODEL_PROMPT_CUT:
    case MODEL_REJECTED:
    case MODEL_UNAVAILABLE:
        session_finish(session, TERMINATION_MODEL_ERROR, failure->error);
        break;
    }
}

void session_round_time_up(struct session *session)
{
    cut(session, ENDED_LIMIT);
    session_calls_stop(session, OUTCOME_TIMEOUT);
    session->due = session->state != SESSION_DONE;
}

void session_round_salvage(struct session *session)
{
    struct session_round *round = &session->round;
    if (round->generation == 0)
        return;
    const struct generation_end end = {.usage = {-1, -1, -1, -1}, .reason = FINISH_CANCELED};
    close_generation(session, ENDED_LIMIT, &end);
    if (round->answer || session->calls.count > 0)
        accept_text(session, round->complete_len, -1);
    if (round->answer) {
        session_predict(session, str_make(round->answer, round->answer_len), true);
    } else if (session->state == SESSION_FORCING) {
        struct buf plain = plain_reply(session, false);
        session_predict(session, buf_str(&plain), false);
        buf_finish(&plain);
    }
}
