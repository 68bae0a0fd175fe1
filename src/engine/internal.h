/* src/engine/internal.h
 *
 * What the files of the engine share. A run is taken through its life by runner.c: events come in from the model client
 * (run_model.c), from tools (run_tools.c) and from timers (run_clock.c) through run_event, wait in the run's queue
 * until the journal has them, go to the session one by one, and the effects of each are carried out before the next.
 */
#ifndef FATHOM_ENGINE_INTERNAL_H
#define FATHOM_ENGINE_INTERNAL_H

#include <time.h>

#include "agent/session.h"
#include "core/buf.h"
#include "engine/ask.h"
#include "engine/redact.h"
#include "engine/runner.h"
#include "engine/tool_call.h"
#include "loop/loop.h"
#include "model/client.h"
#include "store/journal.h"

/* Counts up when the same events would give other effects: a run journalled under another number is not resumed. */
#define RUN_LOGIC_VERSION 1

#define ENGINE_SUMMARY_MAX_TOKENS 4096

struct engine {
    struct engine_options options;
    struct loop *loop;
    struct journal *own_journal; /* NULL where the options gave one */
    struct journal *journal;
    struct redaction *redaction;
    struct asker asker; /* as zeroed: nobody is there */
    size_t n_runs;
    uint64_t last_session;
};

/* The model of a role; NULL where there is none. Summaries without a model of their own are the agent's. */
struct model_client *engine_model(const struct engine *engine, enum model_role role);

/* An event on its way to the session, with all that it points to. */
struct run_event {
    struct run_event *next;
    struct run *run;
    struct event event;
    bool committed; /* the journal has it; deltas need not wait */
    struct buf text;
    struct error error;
    struct tool_facts facts;
    struct tool_source *sources;
    const struct tool_signature **signatures; /* TOOLS_CHANGED: what event.tools points to */
    bool *early_start;
};

struct generation {
    struct generation *next;
    struct run *run;
    effect_id id;
    struct model_call *call;
    bool canceled; /* by the session: what still comes is dropped */
    bool waits;    /* in the client's queue */
};

struct run_tool {
    struct run_tool *next; /* in the order of the effects */
    struct run *run;
    effect_id id;
    struct tool *tool;
    struct tool_run *call;      /* NULL while a serial call waits for the one before it */
    bool canceled, done, waits; /* `done`: the session has the outcome, or needs none */
    json_t *arguments;          /* these and `code` while it waits */
    char *code;
    int64_t max_output_tokens;
};

/* How the server's counts of the prompts compare with ours. */
struct run_counts {
    int64_t compared; /* prompts */
    int64_t largest;  /* difference, either way */
    int64_t off;      /* in a row that differ by more than a tokenizer of the server's own could */
    bool warned;
    bool told_inexact; /* that the tokenizer gave up on some text */
};

struct run {
    struct engine *engine;
    struct session *session;
    struct run_options options; /* its strings are the run's copies below */
    char *question, *id, *row_id, *reference_answer, *config_hash, *date;
    struct tool **tools; /* all that the run has had; the ones it began with come first */
    size_t n_tools, tools_capacity;
    uint64_t session_number;
    struct sampling sampling; /* of the completion asked for last */

    struct run_event *first, *last; /* queue */
    bool pump_scheduled;
    const struct effect *held; /* waits until the journal has what it follows from */
    struct buf delta_row;      /* deltas that the journal does not have yet */
    effect_id delta_row_id;
    int64_t delta_row_ms;
    size_t appends;        /* of events, under way: an effect waits for them */
    size_t effect_appends; /* of effects, under way: only the end waits for them */
    bool effects_left;     /* the session was handed text outside the pump; its effects are not taken yet */
    bool journal_failed;

    struct generation *generations;
    struct run_tool *run_tools;

    int64_t started_ms; /* on loop_now_ms */
    struct timespec started_at;
    int64_t paused_ms, pause_began_ms;
    int pauses;
    struct loop_timer *timer;
    int64_t *wakes; /* run_ms, any order */
    size_t n_wakes, wakes_capacity;

    struct run_counts counts;
    struct notice last_notice; /* numbers only, for notices of the runner's own */
    int64_t next_seq;
    bool interrupted, finished;
};

/* ---- runner.c ---- */

/* A fresh event of the run's clock, to be filled and handed to run_event_queue. */
struct run_event *run_event_create(struct run *run, enum event_kind kind, effect_id id);
void run_event_queue(struct run *run, struct run_event *event);

/* More text of a completion. */
void run_delta(struct run *run, effect_id id, struct str text);

/* Hands the session what waits at the head of the queue when that is text of generation `id`; false when text of it is
 * left behind other events. */
bool run_flush_deltas(struct run *run, effect_id id);

/* Has the queue looked at in a turn of its own. */
void run_schedule(struct run *run);

/* Tells the observer; fields that are not of the kind are filled from the session's last notice. */
void run_notice(struct run *run, enum notice_kind kind, const char *name, struct str text);

/* ---- run_counts.c ---- */

/* Takes a notice in that has the two counts of a prompt; warns, once, when they say that the tokenizer is another than
 * the server's. */
void run_compare_counts(struct run *run, const struct notice *notice);

/* Warns, once, when the tokenizer could not cut some text as its patterns say (tokenizer_gave_up). */
void run_check_counter(struct run *run);

/* ---- run_clock.c ---- */

int64_t run_now_ms(const struct run *run);
void run_clock_init(struct run *run);
void run_clock_finish(struct run *run);
void run_wake_at(struct run *run, int64_t run_ms);

/* The run's clock stands still while at least one waits. */
void run_waits(struct run *run, bool waits);

/* ---- run_model.c, run_tools.c ---- */

void run_generate(struct run *run, const struct effect *effect);
bool run_cancel_generation(struct run *run, effect_id id); /* false when there is none */
void run_start_tool(struct run *run, const struct effect *effect);
bool run_cancel_tool(struct run *run, effect_id id);

/* What the model is offered when the run begins: fills the session in. */
struct session *run_create_session(struct run *run);

/* Ends everything under way without further events. */
void run_cancel_generations(struct run *run);
void run_cancel_tools(struct run *run);

/* Tells every tool the run has had that it is over. */
void run_end_tools(struct run *run);

/* ---- result_json.c ---- */

#define RUN_TIME_SIZE 40

/* When the run began, "2026-03-01T12:00:00.000Z". Returns out. */
const char *run_started_at(const struct run *run, char out[RUN_TIME_SIZE]);
void run_put_model(json_t *object, const struct run *run);  /* sets "model" */
json_t *run_sampling_json(const struct sampling *sampling); /* what is set, as a new object */

/* ---- run_journal.c ---- */

/* The record's `data` for an event, as a fresh text; NULL where there is none. */
char *run_event_data(const struct run *run, const struct event *event);
char *run_effect_data(const struct run *run, const struct effect *effect);
const char *run_event_name(enum event_kind kind);
const char *run_effect_name(enum effect_kind kind);

#endif
