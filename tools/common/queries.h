/* tools/common/queries.h
 *
 * The queries of one call, each on a chain of its own (tools/common/chain.h), all at once: taking them from the
 * arguments, starting them, and ending the call when the last has settled or time is nearly over. Loop thread only.
 */
#ifndef FATHOM_TOOLS_COMMON_QUERIES_H
#define FATHOM_TOOLS_COMMON_QUERIES_H

#include "core/json.h"
#include "tools/common/chain.h"

struct queries {
    /* To be set before queries_start. */
    struct tool_run *run;
    size_t count;
    struct chain *(*chain_of)(void *user, size_t index);
    void (*render)(void *user, struct buf *out); /* the observation, once all have settled */
    void *user;                                  /* lives as long as the call's state */

    size_t n_settled;
    int64_t margin_ms; /* before the deadline the call ends by itself, so that answers that are there are not lost */
};

/* The distinct texts of a list, each as one line of at most `max_bytes`; blank ones are left out. A fresh array of
 * *count fresh strings. */
char **queries_take(const json_t *list, size_t max_bytes, size_t *count);

/* Starts every chain, and the clock. Without a query the call fails in words, in a later turn. */
void queries_start(struct queries *queries);

/* A chain has settled: to be called once for each. The last one renders and ends the call. */
void queries_settled(struct queries *queries);

#endif
