/* src/engine/tool.h
 *
 * What a tool is to the rest of the program, and what the program is to a tool.
 *
 * A tool says what it is (struct tool), starts work when asked and reports back once. It runs on the loop's thread and
 * must not block it: requests go through tool_fetch or tool_request, heavy parsing to tool_work. A tool never sees
 * other sessions, or an address that the guard refuses. One struct tool serves all sessions of a process at once; what
 * belongs to one call hangs on its struct tool_run.
 */
#ifndef FATHOM_ENGINE_TOOL_H
#define FATHOM_ENGINE_TOOL_H

#include <stdatomic.h>
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

enum tool_permission {
    TOOL_PERMITTED, /* runs when the model calls it */
    TOOL_ASK_FIRST, /* each call needs a person's consent; without a person to ask it is refused */
};

struct tool {
    const struct tool_signature *signature; /* name, description and JSON Schema, as the model sees them */
    bool idempotent;                        /* may start early, may be asked twice after a crash */
    bool serial;                            /* keeps state: the calls of one session run one after another, in order */
    int64_t timeout_ms;                     /* > 0; past it the engine cancels and tells the model */
    int64_t max_output_tokens;              /* the observation is cut to this; 0 takes the run's cap */
    enum tool_permission permission;        /* the engine turns it to PERMITTED when the person says "always" */

    /* Begins the work. Arguments have passed the schema. Returns without waiting; tool_finish comes later, exactly
     * once, also when starting failed, and never from inside start. */
    void (*start)(struct tool *self, struct tool_run *run);

    /* Stops what the tool began by its own means (a timer, a child); what went through tool_request, tool_work and
     * tool_complete the engine stops itself. Called when the call is cancelled or late, not after tool_finish.
     * tool_finish may still be called and is ignored. NULL is allowed where there is nothing to stop. */
    void (*cancel)(struct tool *self, struct tool_run *run);

    /* A run in which the tool was offered has ended: what the tool keeps for `session` (tool_session) goes. No call of
     * that run is left. NULL is allowed. */
    void (*run_ended)(struct tool *self, uint64_t session);

    /* What `fathom doctor` says of the tool: one line, and whether it can work. NULL where there is nothing to check.
     */
    bool (*check)(struct tool *self, struct buf *line);

    void (*destroy)(struct tool *self); /* NULL is allowed where there is nothing to free */
};

/* Frees a tool through its table. NULL is allowed. */
void tool_destroy(struct tool *tool);

/* ---- what was asked; borrowed until the call's state is freed ---- */

const json_t *tool_arguments(const struct tool_run *run);
struct str tool_code(const struct tool_run *run);     /* between <code> and </code>; empty where there is none */
struct str tool_question(const struct tool_run *run); /* the question of the whole run */
const struct profile *tool_profile(const struct tool_run *run); /* observation wording and summary prompt */
struct loop *tool_loop(const struct tool_run *run);

/* The run that the call belongs to: a number that no other run of the engine has; 0 for a call outside a run. What a
 * tool keeps under it lasts until run_ended. */
uint64_t tool_session(const struct tool_run *run);

/* The tool's own state of this call, NULL at first. Freed by `free_state` when the call is over and no request, job or
 * completion of it is under way any more: its callbacks may use it, also after tool_finish or a cancel. */
void tool_set_state(struct tool_run *run, void *state, void (*free_state)(void *state));
void *tool_state(const struct tool_run *run);

/* How many milliseconds are left before the engine cancels; 0 when it has, or when the call has ended. */
int64_t tool_time_left_ms(const struct tool_run *run);

/* Whether the call is over: finished, cancelled or late. Any thread, for work on the pool. The flag behind it lives as
 * long as the tool's state. */
bool tool_canceled(const struct tool_run *run);
const atomic_bool *tool_cancel_flag(const struct tool_run *run);

/* ---- work; `done` comes exactly once, never from inside the call that starts it, also after a cancel ---- */

/* Sends a request: guarded (whatever a model or a page names) or configured (a search API), as options->traffic says.
 * It is cancelled with the call (`done` with STATUS_CANCELED). All callbacks of `options` get `user`, too. */
void tool_request(struct tool_run *run, const struct http_options *options, http_done_fn done, void *user);

/* Runs `work` on the pool, then `done` on the loop's thread. `work` polls tool_canceled; it may not run at all when the
 * call is over before its turn comes. */
void tool_work(struct tool_run *run, void (*work)(void *user), void (*done)(void *user), void *user);

/* Calls `done` on the loop's thread after `delay_ms`, or soon when the call is over before. */
void tool_wait(struct tool_run *run, int64_t delay_ms, void (*done)(void *user), void *user);

/* What a completion of another model role came to. Borrowed. */
struct tool_completion {
    enum status
        status; /* STATUS_OK; STATUS_TOO_BIG when the prompt does not fit the window; STATUS_CANCELED; else see error */
    struct str text;           /* outside thought */
    bool cut;                  /* ended at the completion cap */
    const struct error *error; /* when status is not STATUS_OK */
};
typedef void (*tool_complete_fn)(void *user, const struct tool_completion *completion);

/* Whether there is a language model to ask (the built-in reader is none). */
bool tool_can_complete(const struct tool_run *run);

/* Asks the model that has the `summary` role for a completion of one user message. Its tokens and cost count for the
 * run, not its calls; time spent waiting in the model's queue does not count against the call's deadline. `max_tokens`
 * 0 takes the role's own cap. */
void tool_complete(struct tool_run *run, struct str prompt, int64_t max_tokens, tool_complete_fn done, void *user);

/* An image for the model that has the `vision` role; `prompt` says what is wanted of it. */
struct tool_image {
    struct str bytes;      /* copied */
    struct str media_type; /* "image/png" */
};

/* Whether there is a model to show images to. */
bool tool_can_see(const struct tool_run *run);

/* As tool_complete. STATUS_UNSUPPORTED when there is no such model. */
void tool_see(struct tool_run *run, struct str prompt, const struct tool_image *image, tool_complete_fn done,
              void *user);

/* A piece of sound for the service that has the `transcription` role. */
struct tool_sound {
    struct str bytes;      /* copied; services take some 25 MB */
    struct str name;       /* "sound.ogg": services go by its ending */
    struct str media_type; /* "audio/ogg" */
};

bool tool_can_transcribe(const struct tool_run *run);

/* As tool_complete; `text` is what was said. */
void tool_transcribe(struct tool_run *run, const struct tool_sound *sound, tool_complete_fn done, void *user);

/* Work of the tool's own that the engine knows nothing of (a child process): it keeps the call's state alive until
 * tool_hold_end, and `cancel` is called once when the call is over, never from inside tool_hold_begin; if the call is
 * over already, in a later turn. */
struct tool_hold;
struct tool_hold *tool_hold_begin(struct tool_run *run, void (*cancel)(void *user), void *user);
void tool_hold_end(struct tool_hold *hold);

/* ---- the person who started the run ---- */

enum ask_outcome {
    ASK_ANSWERED,
    ASK_DECLINED, /* the person does not want to answer */
    ASK_NOBODY,   /* there is nobody to ask, or the call is over */
};

/* `answer` is what the person wrote: text, or where a schema was given an object that fits it, as JSON. Borrowed. */
typedef void (*tool_ask_fn)(void *user, enum ask_outcome outcome, struct str answer);

/* Whether somebody can be asked. */
bool tool_can_ask(const struct tool_run *run);

/* Asks the person; `question` and `schema` are copied. `schema` (NULL for a free text) is an object schema whose
 * properties are strings, numbers, booleans or choices. `done` comes once, never from inside, also when nobody can be
 * asked. While the person thinks, neither the call's nor the run's clock goes on. */
void tool_ask(struct tool_run *run, struct str question, const json_t *schema, tool_ask_fn done, void *user);

/* ---- reports ---- */

/* Notes a page that the model gets to see, so that an answer's sources can be traced to it. Both are
 * copied; a page noted before is not noted again. */
void tool_report_source(struct tool_run *run, struct str url, struct str title);

/* Notes that the tool left out part of what it had. */
void tool_report_truncated(struct tool_run *run);

/* Notes that of a model's quotations `checked` were looked for in their page, and `unfound` of them are not in it. */
void tool_report_quotes(struct tool_run *run, size_t checked, size_t unfound);

/* Tells whoever watches, not the model: a backend failed, a page was cut. Copied. No key, no newline. */
void tool_report_notice(struct tool_run *run, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Ends the call; what is still under way is cancelled. `status` is TOOL_OK or TOOL_FAILED. `text` is copied, cleaned of
 * protocol tags and cut by the engine. On failure `text` says to the model what it can do next; it holds no key, path
 * or internal address. A second tool_finish is ignored. */
void tool_finish(struct tool_run *run, enum tool_status status, struct str text);

#endif
