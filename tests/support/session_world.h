/* tests/support/session_world.h
 *
 * A world for one session: a scripted model, scripted tools and a clock that stands still until it is told to go on.
 * Every effect is carried out at once, written into a log, and checked against what must hold whatever happens.
 */
#ifndef FATHOM_TESTS_SUPPORT_SESSION_WORLD_H
#define FATHOM_TESTS_SUPPORT_SESSION_WORLD_H

#include "agent/result.h"
#include "agent/session.h"
#include "core/buf.h"
#include "protocol/profile.h"
#include "protocol/signature.h"
#include "protocol/transcript.h"

#define WORLD_TOOLS 3
#define WORLD_CALLS 4096

/* Pieces of what a model writes. */
#define THINK       "<think>hm</think>\n"
#define SEARCHES(q) "<tool_call>\n{\"name\": \"search\", \"arguments\": {\"query\": [\"" q "\"]}}\n</tool_call>"
#define VISITS                                                                                     \
    "<tool_call>\n{\"name\": \"visit\", \"arguments\": {\"url\": [\"https://a.org/\"], \"goal\": " \
    "\"g\"}}\n</tool_call>"
#define RUNS(program) \
    "<tool_call>\n{\"name\": \"PythonInterpreter\", \"arguments\": {}}\n<code>\n" program "\n</code>\n</tool_call>"

/* The tools: search and visit may start early, PythonInterpreter may not. */
enum { SEARCH, VISIT, PYTHON };

struct world_call {
    effect_id id;
    char *name, *arguments, *code;
    bool canceled, done;
};

struct world {
    struct session *session;
    struct session_config config; /* to be changed before world_start */
    struct profile profile;       /* a copy of the loaded one; its settings may be changed before world_start */
    struct profile *loaded;
    struct tool_signature signatures[WORLD_TOOLS];
    const struct tool_signature *tools[WORLD_TOOLS];
    struct usage usage; /* what world_end reports */
    int64_t now;

    /* What the session wanted. */
    effect_id generation; /* under way; 0 for none */
    effect_id last_generation;
    bool forced, server_stops;
    int64_t max_tokens, deadline, wake_ms;
    struct sampling sampling;
    int n_generations, n_cancels;
    struct world_call calls[WORLD_CALLS];
    size_t n_calls;
    bool finished;
    int n_notices[NOTICE_RUN_FINISHED + 1];
    int64_t context_limit;
    struct buf last_notice[NOTICE_RUN_FINISHED + 1]; /* the text of the last of each kind */
    struct buf log;                                  /* all effects but thought, which follows the cuts of the stream */
    struct buf thought;
    int64_t prompt_tokens; /* of the last prompt, by the estimate, without what a template adds */
};

/* Loads the profile and the tools; limits and profile are protocol.md's. */
void world_init(struct world *world, const char *profile);
void world_finish(struct world *world);

/* The same as set-up and tear-down of a cmocka test: *state is a world of the generic profile. */
int world_setup(void **state);
int world_teardown(void **state);

/* Creates the session and starts the run. */
void world_start(struct world *world, const char *question);

/* Hands one event in, carries out all that follows. `id` and `run_ms` are filled in by the caller. */
enum status world_event(struct world *world, const struct event *event);

void world_delta(struct world *world, const char *text);
void world_delta_str(struct world *world, effect_id id, struct str text);
void world_end(struct world *world, enum finish_reason reason);
void world_say(struct world *world, const char *text); /* a whole completion that ends by itself */
void world_fail(struct world *world, enum model_failure failure, int64_t window, const char *message);
void world_tool(struct world *world, size_t call, enum tool_outcome_status status, const char *text);
void world_tool_facts(struct world *world, size_t call, struct str text, const struct tool_facts *facts);
void world_interrupt(struct world *world);
void world_clock(struct world *world, int64_t now); /* sets the time and sends EVENT_CLOCK */

/* The plain text of message `index` of the transcript (negative: from the end) or of the prompt; owned by the world and
 * good until the next call. */
const char *world_message(struct world *world, int index);
const char *world_prompt_message(struct world *world, int index);
size_t world_prompt_count(const struct world *world);
const struct transcript *world_transcript(const struct world *world);

const struct result *world_result(const struct world *world);

/* Running calls: started, neither done nor cancelled. */
size_t world_running(const struct world *world);

/* A text of about `tokens` tokens by the estimate, lines of English words. The caller frees. */
char *world_text(int64_t tokens);

void assert_str(struct str actual, const char *expected);
void assert_begins(const char *text, const char *prefix);
void assert_contains(const char *text, const char *part);
void assert_lacks(const char *text, const char *part);

#endif
