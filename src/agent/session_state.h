/* src/agent/session_state.h
 *
 * What a session is made of; for the files session*.c alone. One run is a chain of rounds, and a round passes through
 * these files in this order:
 *
 *     session_ask.c      looks at the limits, writes the prompt, asks for a completion
 *     session_round.c    takes the completion in, judges it: answer, calls, or nothing of use
 *     session_calls.c    carries out the calls and hands their results back as observations
 *     session_result.c   ends the run
 *
 * session.c holds the rest: life cycle, events in, effects out, time. session_notice.c tells whoever watches.
 *
 * The next completion is never asked for while an event is handled: session->due says that it is wanted, and
 * session_next_effect asks for it once all earlier effects were carried out. By then a cancelled request no longer
 * reads the prompt, which may be rewritten.
 */
#ifndef FATHOM_AGENT_SESSION_STATE_H
#define FATHOM_AGENT_SESSION_STATE_H

#include "agent/ledger.h"
#include "agent/limits.h"
#include "agent/result.h"
#include "agent/session.h"
#include "agent/sources.h"
#include "agent/token_meter.h"
#include "core/buf.h"
#include "protocol/call.h"
#include "protocol/profile.h"
#include "protocol/repetition.h"
#include "protocol/tag_parser.h"

enum session_state {
    SESSION_NEW,        /* waits for EVENT_STARTED */
    SESSION_GENERATING, /* a completion is under way or about to be asked for; calls may already be running */
    SESSION_ACTING,     /* the completion was taken, its calls are running */
    SESSION_FORCING,    /* a limit was reached; the completion under way must answer */
    SESSION_DONE,
};

/* A tool of the run. Tools that went stay in the list, since the result counts their calls. */
struct session_tool {
    const struct tool_signature *signature;
    bool early_start;
    int64_t calls;
};

/* The completion under way. */
struct session_round {
    effect_id generation; /* 0 where none is under way */
    int64_t asked_ms;
    int doublings;       /* how often the cap was doubled for this round */
    bool server_stops;   /* the server may stop at <tool_response> */
    bool ending;         /* the message is over; calls found now wait for the verdict */
    struct buf text;     /* as it came */
    size_t complete_len; /* bytes up to the end of the last closed call or answer */
    char *answer;        /* NULL until there is one */
    size_t answer_len;
    struct tag_parser *parser;
    struct repetition *repetition;
};

enum call_progress { CALL_WAITING, CALL_RUNNING, CALL_OVER };

/* One call of the message, and what came of it. */
struct session_call {
    effect_id id; /* 0 until it started */
    enum call_progress progress;
    struct call *call; /* in one of session_calls.lists */
    size_t tool;       /* index into session.tools; of calls that can be carried out */
    enum tool_outcome_status status;
    int64_t started_ms, elapsed_ms;
    size_t n_sources;
    struct buf text;   /* what the tool said: clean, and cut to its cap */
    struct buf notice; /* what the program says about it */
};

struct session_calls {
    struct session_call *items;
    size_t count, capacity;
    struct call_list *lists; /* what call_decode gave */
    size_t n_lists, lists_capacity;
};

/* How often each call was made, to notice a run that goes in circles. */
struct call_count {
    uint64_t hash;
    int64_t times;
};

struct session {
    struct session_config config; /* its strings are owned */
    const struct profile *profile;
    enum session_state state;
    int64_t run_ms;
    effect_id last_id;
    bool due;        /* the next completion is to be asked for */
    bool time_is_up; /* the time limit has passed */
    char *question;
    struct str question_str;

    struct session_tool *tools;
    size_t n_tools;
    const struct tool_signature **offered; /* the signatures of those that are not gone */
    size_t n_offered;

    struct transcript *transcript;
    struct token_meter meter;
    struct prompt_view view;

    struct session_round round;
    struct session_calls calls;
    struct buf words;    /* for the next observation: what the program has to say */
    int dropped;         /* completions of no use, in a row */
    bool notice_due;     /* the model is to be told so */
    bool was_repetition; /* the last one was dropped because it went round in circles */
    int too_long;        /* prompts in a row that a server refused as too long */
    int64_t ceiling;     /* what the next prompt may take after such a refusal; 0 where none was */
    int64_t announced_round;

    enum termination forced_by; /* FORCING: the limit */
    int forced_tries;           /* forced replies of no use */

    struct ledger ledger;
    struct sources *sources;
    struct call_count *call_counts;
    size_t n_call_counts, call_counts_capacity;
    bool warned_tokens, warned_cost;
    char *served_model;
    struct result result; /* counted up during the run, completed by session_finish */
    struct tool_count *tool_counts;
    char *prediction;

    struct effect *effects;
    size_t n_effects, n_taken, effects_capacity;
    char **kept; /* texts that queued effects borrow; freed with the next event */
    size_t n_kept, kept_capacity;
};

/* session.c */
effect_id session_new_id(struct session *session);
struct effect *session_push(struct session *session, enum effect_kind kind, effect_id id);
struct str session_keep(struct session *session, struct str text); /* a copy that lives until the next event */
struct str session_render(struct session *session, enum prompt_id id, const struct prompt_value *values, size_t count,
                          struct buf *out); /* resets `out`, then renders a prompt of the profile; returns its text */
struct buf session_tool_names(const struct session *session); /* "search, visit"; the caller finishes it */
bool session_time_is_up(const struct session *session);

void session_say(struct session *session, struct str text); /* puts words of the program into the next observation */

/* session_ask.c */
void session_count_last(struct session *session); /* a user message was appended */
void session_ask_next(struct session *session);
int64_t session_prompt_limit(const struct session *session);
void session_learn_window(struct session *session, int64_t window);
void session_prompt_refused(struct session *session, int64_t window);

/* session_round.c */
void session_round_init(struct session *session);
void session_round_finish(struct session *session);
void session_round_open(struct session *session, effect_id generation);
enum status session_round_delta(struct session *session, struct str bytes);
void session_round_restart(struct session *session);
void session_round_ended(struct session *session, const struct generation_end *end);
void session_round_failed(struct session *session, const struct generation_failure *failure);
void session_round_time_up(struct session *session);
void session_round_salvage(struct session *session); /* the run ends now: takes what answer there is */

/* session_calls.c */
void session_calls_finish(struct session *session);
void session_calls_clear(struct session *session);
void session_calls_add(struct session *session, const struct tag_event *event);
void session_calls_start(struct session *session); /* all that wait */
void session_calls_done(struct session *session, effect_id id, const struct tool_outcome *outcome);
void session_calls_stop(struct session *session, enum tool_outcome_status status); /* cancels what runs */
enum status session_calls_observe(struct session *session) STATUS_CHECKED;
void session_set_tools(struct session *session, const struct tool_signature *const *tools, const bool *early_start,
                       size_t n_tools);
void session_tools_changed(struct session *session);

/* session_result.c */
void session_predict(struct session *session, struct str prediction, bool answered);
void session_finish(struct session *session, enum termination termination, const struct error *error);

/* session_notice.c */
struct notice *session_notify(struct session *session, enum notice_kind kind, struct str text);
void session_notify_call(struct session *session, enum notice_kind kind, const struct session_call *call);
void session_notify_repairs(struct session *session, unsigned tag_repairs, uint32_t call_repairs);
void session_warn_budget(struct session *session);
bool session_budget_is_used(const struct session *session);

#endif
