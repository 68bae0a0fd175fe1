/* src/engine/runner.h
 *
 * Runs sessions: carries out what a session wants (completions, tools, timers) and tells it what happened. One engine serves
 * any number of runs at once on one loop; everything happens on that loop's thread.
 *
 * Every event goes through the journal before the session sees it; effects are drained in the runner's own turn of the loop,
 * never inside a library's callback.
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
struct model_client;
struct tool;

struct engine_options {
    struct loop *loop;                             /* borrowed */
    struct http_client *http;                      /* borrowed */
    struct model_client *models[MODEL_ROLE_COUNT]; /* borrowed; NULL for summary takes the agent's */
};

struct engine *engine_create(const struct engine_options *options);

/* All runs must have ended. NULL is allowed. */
void engine_destroy(struct engine *engine);

struct run_options {
    struct str question;
    struct session_config config; /* copied */
    struct tool *const *tools;    /* what the run has, in the order the model is shown; borrowed until the run is gone */
    size_t n_tools;
    int64_t tool_timeout_ms;      /* > 0 replaces every tool's own */

    /* Every notice of the run, with its place in the event log: `seq` from 1, `at_ms` since the run began. `event` as JSON is
     * made by run_event_json. NULL is allowed. */
    void (*observe)(void *user, const struct run *run, const struct notice *notice);

    /* Once, last; never from inside run_start. `result` is borrowed until it returns; then the run is gone. */
    void (*done)(void *user, struct run *run, const struct result *result);
    void *user;
};

/* Starts a run on its own session. Never fails: what is wrong ends the run with a result that says so. */
struct run *run_start(struct engine *engine, const struct run_options *options);

/* Ends the run soon with an orderly result, termination "interrupted". */
void run_interrupt(struct run *run);

const char *run_id(const struct run *run);
int64_t run_elapsed_ms(const struct run *run);

/* One line of the event log (design: Events) as a new JSON object: seq, at_ms, run_id, type, and what belongs to the type.
 * `seq` counts up with every call. */
json_t *run_event_json(struct run *run, const struct notice *notice);

/* The result as the design's contract says, as a new JSON object. Inside `done` only. */
json_t *run_result_json(const struct run *run, const struct result *result);

#endif
