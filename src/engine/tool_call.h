/* src/engine/tool_call.h
 *
 * One call of a tool, with deadline, cancellation, cleaning and capping: what the runner uses for the calls of a
 * session and commands use to try a tool by itself. The tool's side of it is engine/tool.h. Loop thread only.
 */
#ifndef FATHOM_ENGINE_TOOL_CALL_H
#define FATHOM_ENGINE_TOOL_CALL_H

#include <stdint.h>

#include "agent/session.h"
#include "core/json.h"
#include "core/str.h"
#include "engine/ask.h"
#include "engine/tool.h"

struct engine;
struct token_counter; /* agent/token_meter.h */

/* What a call came to. Borrowed until the callback returns. */
struct tool_call_outcome {
    enum tool_outcome_status status;
    struct str text;                /* clean and capped; never empty */
    const struct tool_facts *facts; /* never NULL */
};

struct tool_call_options {
    struct tool *tool;             /* borrowed until `released` */
    const struct profile *profile; /* the same */
    struct str question;           /* copied; empty outside a run */
    const json_t *arguments;       /* have passed the schema; a reference is taken */
    struct str code;               /* copied */
    int64_t timeout_ms;            /* 0: the tool's own */
    int64_t max_output_tokens;     /* 0: the tool's own; else the smaller of both */
    uint64_t session;              /* tool_session; makes completions stick to an endpoint; 0 for none */

    /* Counts the tokens of what the agent's model reads and writes. Borrowed until `released`; NULL takes the estimate.
     */
    const struct token_counter *counter;

    /* The outcome: once, never from inside tool_call_start, not at all after tool_call_cancel. */
    void (*done)(void *user, const struct tool_call_outcome *outcome);

    /* The tool has something to say to a person. NULL is allowed. */
    void (*notice)(void *user, struct str text);

    /* A person is asked. NULL is allowed. */
    void (*asked)(void *user, const struct ask_question *question);

    /* A completion that the tool asked for begins (true) or ends to wait in the model client's queue; the same for a
     * person's answer. NULL is allowed. */
    void (*waiting)(void *user, bool waits);

    /* Once, last, in a turn of its own, also after a cancel: nothing of the call is left. NULL is allowed. */
    void (*released)(void *user);
    void *user;
};

/* Starts a call. The handle is valid until `released`. */
struct tool_run *tool_call_start(struct engine *engine, const struct tool_call_options *options);

/* Ends the call without an outcome; `released` comes. Further calls change nothing. */
void tool_call_cancel(struct tool_run *run);

#endif
