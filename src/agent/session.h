/* src/agent/session.h
 *
 * One research job as a state machine that does no input or output.
 *
 * The runner tells the session what happened (session_handle) and carries out what the session wants done
 * (session_next_effect). The session never reads a clock: every event says how long the run has been going. It never
 * fails for lack of a network, a file or a thread, since it has none; the same events in the same order give the same
 * effects, byte for byte. Resume and replay rest on that, so nothing here may depend on addresses, iteration order of a
 * hash, locale, or time.
 *
 * A session is used by one thread at a time. It owns its transcript; effects borrow from it until the next call of
 * session_handle.
 *
 *         GENERATING ── call closed ──> ACTING ── all results in ──┐
 *           ^   │                                                  │
 *           │   └── answer ──> DONE <── answer or plain text ──┐   │
 *           └────────────── below every limit ─────────────────┼───┘
 *                              at a limit ──> FORCING ─────────┘
 */
#ifndef FATHOM_AGENT_SESSION_H
#define FATHOM_AGENT_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/config.h"
#include "core/json.h"
#include "core/status.h"
#include "core/str.h"
#include "protocol/generation.h"
#include "protocol/prompt_view.h"
#include "protocol/signature.h"

struct session;
struct result; /* agent/result.h */

/* Names one generation, tool call or question to the outside. Never 0, never used twice in a run. */
typedef uint64_t effect_id;

enum event_kind {
    EVENT_STARTED,        /* the run begins: question, tools and configuration are fixed */
    EVENT_DELTA,          /* more of a completion's text; any cut, also inside a UTF-8 sequence */
    EVENT_RESTARTED,      /* the completion begins anew: its deltas so far are void */
    EVENT_GENERATED,      /* a completion ended: usage and finish reason */
    EVENT_GENERATE_ERROR, /* it could not be had, and the model client has no tries left */
    EVENT_TOOL_DONE,      /* a tool's text, or its failure, and what it reported */
    EVENT_ANSWERED,       /* a hook, a permission, the user or a route answered an EFFECT_ASK */
    EVENT_TOOLS_CHANGED,  /* a tool appeared or went */
    EVENT_WINDOW,         /* the model's context window became known */
    EVENT_CLOCK,          /* time passed; due EFFECT_WAKEs are over */
    EVENT_INTERRUPTED,    /* someone wants the run to end now */
};

enum tool_outcome_status { OUTCOME_OK, OUTCOME_FAILED, OUTCOME_TIMEOUT, OUTCOME_INTERRUPTED };

/* "ok", "failed", "timeout", "interrupted", as events and results name it. */
const char *tool_outcome_name(enum tool_outcome_status status);

/* A page that a tool showed to the model. */
struct tool_source {
    struct str url, title;
};

/* What a tool reported beside its text. */
struct tool_facts {
    const struct tool_source *sources;
    size_t n_sources;
    bool truncated;                            /* the tool itself or the engine cut the text */
    int64_t quotes, unfound_quotes;            /* looked for in their pages, and of them not found there */
    struct usage role_usage[MODEL_ROLE_COUNT]; /* completions it asked for; zeroes where none */
    int64_t role_calls[MODEL_ROLE_COUNT];
    int64_t elapsed_ms;
};

/* What happened. `run_ms` counts the milliseconds spent in this run, sleep between two processes and waiting in the
 * model client's own queue not among them; it never goes back. `id` is the effect that this event answers, 0 where it
 * answers none. All pointers are the caller's and need to live only as long as the call. */
struct event {
    enum event_kind kind;
    int64_t run_ms;
    effect_id id;
    union {
        struct str question; /* STARTED */
        struct str delta;
        struct generation_end {
            struct usage usage;
            enum finish_reason reason;
            bool thought_field;      /* from now on the server gets earlier thought in a field of its own */
            struct str served_model; /* empty where the reply did not say */
        } generated;
        struct generation_failure {
            enum model_failure failure;
            int64_t window; /* CONTEXT_TOO_LONG: tokens the server takes, 0 unknown */
            const struct error *error;
        } failed;
        struct tool_outcome {
            enum tool_outcome_status status;
            struct str text; /* any bytes; the session cleans it and cuts it to the cap of an observation */
            const struct tool_facts *facts; /* NULL when there are none */
        } tool;
        struct str answer; /* ANSWERED: JSON of the asked form */
        struct {
            const struct tool_signature *const *tools; /* all there are from now on; must outlive the session */
            const bool *early_start;
            size_t n_tools;
        } tools;
        int64_t window; /* WINDOW: tokens */
    };
};

enum effect_kind {
    EFFECT_GENERATE,   /* ask the model for a completion of session_prompt() */
    EFFECT_START_TOOL, /* run one call; several may be under way */
    EFFECT_CANCEL,     /* stop generation or tool `id`; whatever it still sends is ignored */
    EFFECT_ASK,        /* ask a hook, a permission, the user or a route */
    EFFECT_WAKE,       /* send EVENT_CLOCK at `wake_ms` at the latest */
    EFFECT_NOTIFY,     /* tell whoever watches; needs no answer and is not journalled */
    EFFECT_FINISH,     /* the result is ready: session_result(); no effect follows */
};

enum ask_kind { ASK_HOOK, ASK_PERMISSION, ASK_USER, ASK_ROUTE };

/* The notices of a run, named as the types of the event log (design: Events). */
enum notice_kind {
    NOTICE_RUN_STARTED,
    NOTICE_ROUND_STARTED,
    NOTICE_THINK,          /* a piece of thought as it streams: text; the last of a completion has the two counts of its
                              prompt */
    NOTICE_TOOL_STARTED,   /* name, arguments, id */
    NOTICE_TOOL_FINISHED,  /* name, id, text = the observation as it enters the transcript, status, elapsed_ms */
    NOTICE_FORMAT_REPAIR,  /* text = what was repaired, or why a completion was dropped */
    NOTICE_RETRY,          /* the runner's: a model try failed */
    NOTICE_CLARIFICATION,  /* the runner's: a tool asks the person: name, text */
    NOTICE_PERMISSION,     /* the runner's: a call waits for the person's consent: name */
    NOTICE_BUDGET_WARNING, /* text */
    NOTICE_LIMIT_REACHED,  /* text = "call_limit", "token_limit", … */
    NOTICE_LOOP_DETECTED,
    NOTICE_ANSWER, /* text = the prediction */
    NOTICE_RUN_FINISHED,
};

struct notice {
    enum notice_kind kind;
    int64_t round; /* from 1 */
    int64_t model_calls;
    int64_t context_tokens; /* of the prompt, as the meter has it */
    int64_t context_limit;
    double cost_usd;         /* negative where no price is set */
    effect_id id;            /* of the tool call */
    const char *name;        /* of the tool; NULL elsewhere */
    const json_t *arguments; /* of the call; NULL elsewhere */
    struct str code;
    struct str text;
    enum tool_outcome_status status;
    int64_t elapsed_ms; /* of the tool */
    size_t n_sources;

    /* Of the prompt of a completion that has ended: what the meter had when it was sent, and what the server says it
     * was; `count_method` says how we counted, as in the result. NULL and zeroes elsewhere. */
    int64_t counted_tokens, reported_tokens;
    const char *count_method;
};

struct effect {
    enum effect_kind kind;
    effect_id id; /* its own; for CANCEL the one to stop; 0 for WAKE and NOTIFY, which nothing answers and which the
                     cuts of a stream may change */
    union {
        struct {
            bool forced; /* the answer is demanded */
            bool server_stops;
            int64_t max_tokens;
            int64_t deadline_run_ms; /* run_ms past which the session will cancel; 0 for none */
            struct sampling sampling;
        } generate;
        struct {
            const struct tool_signature *signature;
            const json_t *arguments;
            struct str code;
            int64_t max_output_tokens;
        } tool;
        struct {
            enum ask_kind kind;
            struct str text;
        } ask;
        int64_t wake_ms; /* run_ms */
        struct notice notice;
    };
};

/* Creates a session that waits for EVENT_STARTED. `config` is copied but for its profile; the tools' signatures must
 * outlive the session. `early_start[i]` says that calls of tools[i] may start while the model still writes (idempotent
 * tools). */
struct session *session_create(const struct session_config *config, const struct tool_signature *const *tools,
                               const bool *early_start, size_t n_tools);

/* Ends the session and all it lent. NULL is allowed. */
void session_destroy(struct session *session);

/* Takes one event in and queues what follows from it. An event with an unknown or cancelled id, and any event after
 * EFFECT_FINISH, changes nothing. All effects of one event are taken and carried out before the next event is handed
 * in: some decisions wait for that, since a prompt may be rewritten only once nobody reads the old one.
 *
 * STATUS_OK          taken
 * STATUS_ORDER       EVENT_STARTED missing, or given twice, or run_ms went back, or effects are left to be taken;
 * nothing changed STATUS_TOO_BIG     the delta would grow the completion beyond its cap; the completion is cancelled
 * and counted as cut */
STATUS_CHECKED enum status session_handle(struct session *session, const struct event *event);

/* The next effect in order, or NULL when the session waits. Asking for it says that the one before was carried out. The
 * effect and the texts of a notice are borrowed until the next call of this function, all else that it points to until
 * the next session_handle. */
const struct effect *session_next_effect(struct session *session);

/* What is to be sent for the generation that was asked for last: roles alternate, the first is `system` unless the
 * profile has none. Valid and unchanged until that generation ended or its cancellation was taken by
 * session_next_effect. */
const struct prompt_view *session_prompt(const struct session *session);

/* Whether a broken completion may be started again: false once one of its calls has started (or has closed outside
 * thought), when it is kept instead. */
bool session_may_restart(const struct session *session, effect_id generation);

/* The outcome, after EFFECT_FINISH; NULL before. Borrowed until session_destroy. */
const struct result *session_result(const struct session *session);

#endif
