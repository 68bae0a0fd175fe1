/* tests/support/tool_world.h
 *
 * One tool at work against a stub server on loopback, with a scripted model for summaries.
 */
#ifndef FATHOM_TESTS_SUPPORT_TOOL_WORLD_H
#define FATHOM_TESTS_SUPPORT_TOOL_WORLD_H

#include "net/guard.h"
#include "net/http.h"
#include "support/engine_world.h"
#include "support/http_stub.h"

struct tool_world {
    struct loop *loop;
    struct guard guard; /* lets loopback through */
    struct http_client *http;
    struct fake_model model;
    struct engine *engine;
    struct profile *profile;
    struct http_stub *stub;
    char base[64];     /* "http://127.0.0.1:PORT" */
    struct tool *tool; /* destroyed with the world */
    int64_t timeout_ms;
    struct str code;  /* of the next calls: between <code> and </code> */
    uint64_t session; /* of the next calls: tool_session */

    /* Of the last call. */
    size_t n_done, n_released;
    enum tool_outcome_status status;
    char *text;
    bool truncated;
    size_t n_sources;
    char *first_source;
    struct usage usage; /* of the summary role */
    int64_t completions;
    struct buf notices; /* one a line */
};

/* `replies` may be NULL: then there is no model at all. */
void tool_world_init(struct tool_world *world, const char *profile, http_stub_fn handler,
                     const struct fake_reply *replies, size_t n_replies);
void tool_world_finish(struct tool_world *world);

/* Calls the tool with arguments in JSON (printf-like) and takes the loop round until all of the call is gone. Returns
 * the text. */
const char *tool_world_call(struct tool_world *world, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same in two steps. */
struct tool_run *tool_world_start(struct tool_world *world, const char *arguments);
void tool_world_until_released(struct tool_world *world);

/* Starts a call, cancels it after so many turns of the loop, twice, and checks that it ends without a word. */
void tool_world_call_off(struct tool_world *world, const char *arguments, int turns);

#define assert_holds(text, part)                              \
    do {                                                      \
        if (!strstr(text, part))                              \
            fail_msg("\"%s\" is missing in: %s", part, text); \
    } while (0)
#define assert_lacks(text, part)                               \
    do {                                                       \
        if (strstr(text, part))                                \
            fail_msg("\"%s\" must not be in: %s", part, text); \
    } while (0)

#endif
