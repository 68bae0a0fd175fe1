/* tests/support/engine_world.h
 *
 * An engine on a real loop with a scripted model and scripted tools: whole runs in milliseconds.
 */
#ifndef FATHOM_TESTS_SUPPORT_ENGINE_WORLD_H
#define FATHOM_TESTS_SUPPORT_ENGINE_WORLD_H

#include "agent/result.h"
#include "core/buf.h"
#include "engine/runner.h"
#include "engine/tool.h"
#include "engine/tool_call.h"
#include "loop/loop.h"
#include "model/client.h"
#include "protocol/profile.h"
#include "protocol/signature.h"
#include "store/journal.h"

/* ---- the model ---- */

enum fake_end {
    FAKE_STOP,   /* ends by itself */
    FAKE_LENGTH, /* cut by the cap */
    FAKE_HOLD,   /* says nothing more until it is cancelled */
    FAKE_BREAK,  /* asks to begin anew; then the next reply of the script comes, else it ends as broken */
    FAKE_FAIL,   /* `failure` */
};

/* What the model says to one request. */
struct fake_reply {
    const char *text;
    enum fake_end end;
    size_t piece; /* bytes a turn; 0: all at once */
    enum model_failure failure;
    int64_t wait_ms;    /* waits in the client's queue before it begins */
    struct usage usage; /* as zeroed: reports none */
    int64_t window;     /* > 0: says so before it begins */
};

struct fake_model {
    struct model_client client;
    struct loop *loop;
    const struct fake_reply *replies; /* one after another; the last again and again */
    size_t n_replies, next;
    int64_t window;
    size_t started, canceled, in_flight;
    struct buf last_prompt; /* the last message of the last request, wire form */
    struct sampling last_sampling;
    int64_t last_max_tokens;
};

void fake_model_init(struct fake_model *model, struct loop *loop, const struct fake_reply *replies, size_t n_replies);
void fake_model_finish(struct fake_model *model);

/* ---- tools ---- */

struct fake_tool {
    struct tool tool;
    struct tool_signature signature;
    const char *text; /* what it gives */
    enum tool_status status;
    int64_t delay_ms;                                          /* before it does; -1: never */
    void (*act)(struct fake_tool *self, struct tool_run *run); /* in place of the above */
    size_t started, canceled, running, most_running;
    size_t ended;                    /* runs */
    uint64_t session, ended_session; /* of the last call, and of the run that ended last */
    struct buf log;                  /* the first query of each start and end: "+a-a+b-b" */
};

/* A tool with search's or visit's shape: {"query": [strings]}. */
void fake_tool_init(struct fake_tool *tool, const char *name, const char *text);
void fake_tool_finish(struct fake_tool *tool);

/* ---- the world ---- */

#define WORLD_TOOLS 3

struct engine_world {
    struct loop *loop;
    struct fake_model model;
    struct fake_tool tools[WORLD_TOOLS]; /* search, visit (idempotent), PythonInterpreter (serial) */
    struct tool *tool_list[WORLD_TOOLS];
    struct profile *profile;
    struct journal *journal; /* keeps; NULL unless asked for */
    struct engine *engine;
    struct run_options options; /* to be changed before world_run */
    struct run *run;
    size_t n_done;
    json_t *result; /* of the last run that ended */
    json_t *events; /* of all runs */
    int64_t elapsed_ms;
};

void engine_world_init(struct engine_world *world, const struct fake_reply *replies, size_t n_replies);
void engine_world_finish(struct engine_world *world);

/* Starts a run and takes the loop round until it is done. Returns its result. */
const json_t *engine_world_run(struct engine_world *world, const char *question);

/* Takes the loop round until `*flag` is at least `value`; fails the test after 10 s. */
void engine_world_until(struct engine_world *world, const size_t *flag, size_t value);

/* How many events of this type there were. */
size_t engine_world_events(const struct engine_world *world, const char *type);

/* The content of message `index` of the result; negative: from the end. */
const char *engine_world_message(const struct engine_world *world, int index);

#define CALL(name, arguments) "<tool_call>\n{\"name\": \"" name "\", \"arguments\": " arguments "}\n</tool_call>"
#define THINK(text)           "<think>" text "</think>\n"

#endif
