/* src/engine/runner.h
 *
 * Runs sessions: carries out what a session wants (completions, tools, timers) and tells it what happened. One engine
 * serves any number of runs at once on one loop; everything happens on that loop's thread.
 *
 * Every event goes through the journal before the session sees it; effects are drained in the runner's own turn of the
 * loop, never inside a library's callback.
 */
#ifndef FATHOM_ENGINE_RUNNER_H
#define FATHOM_ENGINE_RUNNER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/config.h"
#include "agent/session.h"
#include "core/json.h"
#include "core/str.h"

struct engine;
struct run;
struct loop;
struct http_client;
struct journal;
struct model_client;
struct token_counter; /* agent/token_meter.h */
struct transcription_client;
struct tool;

/* All pointers are borrowed until engine_destroy. */
struct engine_options {
    struct loop *loop;
    struct http_client *http;                      /* NULL is allowed where no tool sends requests */
    struct journal *journal;                       /* NULL: one in memory that keeps nothing */
    struct model_client *models[MODEL_ROLE_COUNT]; /* NULL for summary takes the agent's; none for transcription */
    struct transcription_client *transcription;    /* NULL: no sound is transcribed */
    struct sampling summary_sampling;              /* of completions that tools ask for */
    int64_t summary_max_tokens;                    /* their cap where the tool names none; 0: 4,096 */
    const struct token_counter *summary_counter;   /* of their model's own tokens; NULL: the agent's where it serves
                                                      them, else an estimate */
    struct sampling vision_sampling;               /* of what is said of images */
    int64_t vision_max_tokens;                     /* 0: 4,096 */

    /* Keys that no observation may show: they are blotted out should a server echo one. Shorter ones than 8 bytes are
     * not looked for. NULL where n_secrets is 0. */
    const char *const *secrets;
    size_t n_secrets;

    /* Folders of this machine (absolute) and names of inner hosts that events and results do not show
     * (engine/redact.h). NULL where n_places is 0. */
    const char *const *places;
    size_t n_places;
};

struct engine *engine_create(const struct engine_options *options);

/* All runs must have ended. NULL is allowed. */
void engine_destroy(struct engine *engine);

struct run_options {
    struct str question;
    struct session_config config; /* copied */
    struct tool *const *tools; /* what the run has, in the order the model is shown; borrowed until the run is gone */
    size_t n_tools;
    int64_t tool_timeout_ms; /* > 0 replaces every tool's own */

    /* For the result only; all copied. */
    struct str row_id;           /* of the data set; empty gives null */
    int64_t rollout;             /* from 1; 0 gives null */
    struct str reference_answer; /* empty gives null */
    struct str config_hash;      /* SHA-256 of the resolved configuration, hex */

    /* Every notice of the run, in order, from the loop's thread. `event` as JSON is made by run_event_json. The
     * runner's own notices are of the kind NOTICE_RETRY, and `name` says what they are about: "model" (a try failed,
     * another follows), "waiting" and "resumed" (in the model client's queue; the run's clock stands still),
     * "parameter" (the server refused one), "tokenizer" (it is not the server's, or its counts are not exact), else a
     * tool (something went wrong that the tool got over, or tells the model in other words). NULL is allowed. */
    void (*observe)(void *user, const struct run *run, const struct notice *notice);

    /* Once, last; never from inside run_start. `result` is borrowed until it returns; then the run is gone. */
    void (*done)(void *user, struct run *run, const struct result *result);
    void *user;
};

/* Starts a run on its own session. Never fails: what is wrong ends the run with a result that says so. */
struct run *run_start(struct engine *engine, const struct run_options *options);

/* Replaces what the run offers the model, which is told with its next observation. Calls of tools that went and were
 * made before still reach them. `tools` is copied; what it points to, and every tool of an earlier list, must live
 * until the run is gone. */
void run_set_tools(struct run *run, struct tool *const *tools, size_t n_tools);

/* Ends the run soon with an orderly result, termination "interrupted". */
void run_interrupt(struct run *run);

const char *run_id(const struct run *run);
int64_t run_elapsed_ms(const struct run *run); /* run_ms: waiting in the model client's queue left out */

/* How many runs of the engine have not ended. */
size_t engine_runs(const struct engine *engine);

/* One line of the event log (design: Events) as a new JSON object: seq, at_ms, run_id, type, and what belongs to the
 * type. `seq` counts up with every call. Inside `observe` only. */
json_t *run_event_json(struct run *run, const struct notice *notice);

/* The result as the design's contract says, as a new JSON object. Inside `done` only. */
json_t *run_result_json(const struct run *run, const struct result *result);

#endif
