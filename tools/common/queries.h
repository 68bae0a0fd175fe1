/* tools/common/queries.h
 *
 * The queries of one call, each on a chain of its own (tools/common/chain.h), all at once: taking them from the
 * arguments, starting them, and ending the call when the last has settled or time is nearly over. Loop thread only.
 */
#ifndef FATHOM_TOOLS_COMMON_QUERIES_H
#define FATHOM_TOOLS_COMMON_QUERIES_H

#include "tools/common/chain.h"

/* One of them: the first member of the tool's own. */
struct query {
    struct queries *queries;
    char *text; /* one line */
    char *what; /* for notices: "search for", and the text in quotes */
    struct chain chain;
};

struct queries_options {
    struct tool_run *run;
    size_t query_size; /* of the tool's struct that begins with a struct query */
    size_t max_bytes;  /* of one text; longer ones are cut */
    const char *what;  /* "search for" */
    struct chain_backend *const *backends;
    size_t n_backends;
    unsigned tries;
    void (*settled)(void *query);                /* a chain has settled; may be NULL */
    void (*render)(void *user, struct buf *out); /* the observation, once all have settled */
    void *user;                                  /* lives as long as the call's state */
};

struct queries {
    struct queries_options options;
    size_t count, n_settled;
    void *items;       /* zeroed but for their struct query */
    int64_t margin_ms; /* before the deadline the call ends by itself, so that answers that are there are not lost */
};

/* Takes the distinct texts of the call's "query" from its arguments; blank ones are left out. `queries` stays where it
 * is until queries_finish. */
void queries_init(struct queries *queries, const struct queries_options *options);
void queries_finish(struct queries *queries);

/* Starts every chain, and the clock; the last one that settles renders and ends the call. Without a query the call
 * fails in words, in a later turn. */
void queries_start(struct queries *queries);

#endif
