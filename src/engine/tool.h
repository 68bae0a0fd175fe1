/* src/engine/tool.h
 *
 * What a tool is to the rest of the program, and what the program is to a tool.
 *
 * A tool says what it is (struct tool), starts work when asked and reports back once. It runs on the loop's thread and must
 * not block it: requests go through tool_fetch or tool_request, heavy parsing to tool_work. A tool never sees other sessions,
 * or an address that the guard refuses. One struct tool serves all sessions of a process at once; what belongs to one call
 * hangs on its struct tool_run.
 */
#ifndef FATHOM_ENGINE_TOOL_H
#define FATHOM_ENGINE_TOOL_H

#include <stdbool.h>
#include <stdint.h>

#include "core/buf.h"
#include "core/json.h"
#include "core/status.h"
#include "core/str.h"
#include "net/http.h"
#include "protocol/signature.h"

struct tool_run; /* one call under way; made by the engine, handed to start, gone after tool_finish */
struct loop;
struct profile;

enum tool_status {
    TOOL_OK,
    TOOL_FAILED,   /* the tool did not do what was asked; its text says why and what to do next */
    TOOL_TIMEOUT,  /* set by the engine */
    TOOL_CANCELED, /* set by the engine */
};

struct tool {
    const struct tool_signature *signature; /* name, description and JSON Schema, as the model sees them */
    bool idempotent;                        /* may start early, may be answered from an earlier equal call */
    bool serial;                            /* keeps state: the calls of one session run one after another, in order */
    int64_t timeout_ms;                     /* > 0; past it the engine cancels and tells the model */
    int64_t max_output_tokens;              /* the observation is cut to this; 0 takes the run's cap */

    /* Begins the work. Arguments have passed the schema. Returns without waiting; tool_finish comes later, exactly once,
     * also when starting failed, and never from inside start. */
    void (*start)(struct tool *self, struct tool_run *run);

    /* Stops the work of `run` for good: no child, request or pool job of it goes on afterwards, but for pool jobs, which poll
     * tool_canceled and whose `done` is still called so that they can free. tool_finish may still be called and is ignored. */
    void (*cancel)(struct tool *self, struct tool_run *run);

    /* What `fathom doctor` says of the tool: one line, and whether it can work. NULL where there is nothing to check. */
    bool (*check)(struct tool *self, struct buf *line);

    void (*destroy)(struct tool *self); /* NULL is allowed where there is nothing to free */
};

/* What was asked. Borrowed until tool_finish. `tool_code` is the text between <code> and </code>, empty where there is none. */
const json_t *tool_arguments(const struct tool_run *run);
struct str tool_code(const struct tool_run *run);
struct str tool_question(const struct tool_run *run);
const struct profile *tool_profile(const struct tool_run *run); /* observation wording and summary prompt */
struct loop *tool_loop(const struct tool_run *run);

/* The tool's own state of this call, NULL at first. Freed by `free_state` when the run goes. */
void tool_set_state(struct tool_run *run, void *state, void (*free_state)(void *state));
void *tool_state(const struct tool_run *run);

/* How many milliseconds are left before the engine cancels; 0 when it has. Loop thread only. */
int64_t tool_time_left_ms(const struct tool_run *run);

/* Whether the call was cancelled or timed out. Any thread, for work on the pool. */
bool tool_canceled(const struct tool_run *run);

/* Sends a request under the run's deadline: guarded (whatever a model or a page names) or configured (a search API), as
 * options->traffic says. `done` as in http_request_start: exactly once, never from inside this call, with STATUS_CANCELED
 * after a cancel. All requests of a run are cancelled with it. */
void tool_request(struct tool_run *run, const struct http_request_options *options, http_done_fn done, void *user);

/* Runs `work` on the pool, then `done` on the loop's thread: exactly once, also after a cancel. The run stays valid for
 * both. `work` polls tool_canceled. */
void tool_work(struct tool_run *run, void (*work)(void *user), void (*done)(void *user), void *user);

/* What a completion of another model role came to. Borrowed. */
struct tool_completion {
    enum status status;       /* STATUS_OK; STATUS_TOO_BIG when the prompt does not fit the window; else see error */
    struct str text;          /* outside thought */
    bool cut;                 /* ended at the completion cap */
    const struct error *error;
};
typedef void (*tool_complete_fn)(void *user, const struct tool_completion *completion);

/* Asks the model that has the `summary` role for a completion of one user message. Its tokens and cost count for the run,
 * not its calls. `done` exactly once, never from inside this call, also after a cancel. */
void tool_complete(struct tool_run *run, struct str prompt, int64_t max_tokens, tool_complete_fn done, void *user);

/* Notes a page that the model gets to see, so that an answer's sources can be traced to it. Both are copied. */
void tool_report_source(struct tool_run *run, struct str url, struct str title);

/* Tells whoever watches, not the model: a backend failed, a page was cut. Copied. */
void tool_report_notice(struct tool_run *run, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Ends the call. `text` is copied, cleaned of protocol tags and cut by the engine. On failure `text` says to the model what
 * it can do next; it holds no key, path or internal address. */
void tool_finish(struct tool_run *run, enum tool_status status, struct str text);

#endif
