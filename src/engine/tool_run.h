/* src/engine/tool_run.h
 *
 * The inside of a tool call, for the files that carry out what a tool asks for. Each piece of work under way is a task
 * on the call's list; the call is released when it is over and the list is empty.
 */
#ifndef FATHOM_ENGINE_TOOL_RUN_H
#define FATHOM_ENGINE_TOOL_RUN_H

#include "engine/internal.h"

struct tool_task {
    struct tool_task *previous, *next;
    struct tool_run *run;

    /* Makes the task end soon; its end still comes. Called once, when the call is over. */
    void (*cancel)(struct tool_task *task);
};

struct tool_run {
    struct engine *engine;
    struct tool_call_options options; /* strings are the copies below */
    json_t *arguments;
    char *question, *code;
    void *state;
    void (*free_state)(void *state);
    atomic_bool over; /* finished, cancelled or late; read by the pool */
    bool canceled;    /* by the owner: no outcome is wanted */
    bool started;     /* the tool knows of the call; not while a person is asked for consent */
    bool delivered, release_scheduled;
    struct tool_task *tasks;
    struct loop_timer *deadline;
    int64_t timeout_ms, started_ms;
    int64_t left_ms; /* until the deadline, while the clock stands still */
    int waits;       /* completions waiting in the model client's queue */
    enum tool_outcome_status status;
    struct buf text; /* the outcome */
    struct tool_facts facts;
    struct tool_source *sources;
    size_t sources_capacity;
};

void tool_task_add(struct tool_run *run, struct tool_task *task, void (*cancel)(struct tool_task *task));

/* Takes a task off the list. To be followed by tool_run_check once its `done` has been called. */
void tool_task_remove(struct tool_task *task);

/* Has the call released, in a turn of its own, when nothing of it is left. */
void tool_run_check(struct tool_run *run);

/* What counts the tokens of the agent's model; never NULL. */
const struct token_counter *tool_run_counter(const struct tool_run *run);

/* Asks a person whether the call may run; `done` gets the call as its user. */
void tool_run_ask_permission(struct tool_run *run, tool_ask_fn done);

/* The deadline's clock stands still while at least one completion waits. */
void tool_run_waits(struct tool_run *run, bool waits);

#endif
