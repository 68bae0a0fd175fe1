/* tools/search/internal.h
 *
 * The parts of the search tool: search.c takes a call through its queries, the back ends (serper.c, searxng.c,
 * corpus.c) ask and read answers, results.c keeps what was found, render.c words it.
 */
#ifndef FATHOM_TOOLS_SEARCH_INTERNAL_H
#define FATHOM_TOOLS_SEARCH_INTERNAL_H

#include "core/buf.h"
#include "core/json.h"
#include "protocol/signature.h"
#include "tools/common/corpus_pool.h"
#include "tools/common/line.h"
#include "tools/search/search.h"

#define SEARCH_MAX_RESULTS  50
#define SEARCH_MAX_RESPONSE ((size_t)4 * 1024 * 1024)

/* One result. Fields are single lines of valid UTF-8, capped; empty where unknown, but for `url`. */
struct search_result {
    char *title, *url, *date, *source, *snippet;
};

struct search_results {
    struct search_result *items;
    size_t count, limit;
};

/* Why a back end gave nothing for a query. */
struct search_failure {
    char model[256];        /* what the model is told: no address, no key, what to do next */
    char person[512];       /* what the user is told: the remedy */
    bool may_pass;          /* worth another try */
    int64_t retry_after_ms; /* as the server named it; -1 where it did not */
};

struct search_tool {
    struct tool tool; /* first: the engine hands it back */
    struct tool_signature signature;
    enum search_backend backends[SEARCH_MAX_BACKENDS];
    size_t n_backends, n_results;
    char *serper_url, *serper_key, *searxng_url;
    struct corpus_pool *corpus;
    unsigned tries;
    int64_t request_timeout_ms;
    uint64_t chance;
};

struct search_query {
    struct search_call *call;
    char *text;
    size_t backend; /* the one being asked, an index */
    unsigned tries; /* of it */
    bool done, failed;
    struct search_results results;
    struct search_failure failure;
    struct buf notice;           /* for the model, where its profile has a place for it */
    struct search_results found; /* by a job on the pool, until it is over */
    enum status corpus_status;
    struct error corpus_error;
};

struct search_call {
    struct search_tool *tool;
    struct tool_run *run;
    struct search_query *queries;
    size_t n_queries, n_done;
    int64_t margin_ms; /* before the deadline the call ends by itself, so that the queries that were answered are not
                          lost */
};

/* ---- results.c ---- */

void search_results_init(struct search_results *results, size_t limit);
void search_results_finish(struct search_results *results);

/* Takes one result from a server's object: the members of these names (NULL for none). What is not a web or corpus
 * address, is there already, or passes the limit is left out. Members of wrong types count as absent. */
struct search_fields {
    const char *title, *url, *date, *source, *snippet;
};
void search_results_add_json(struct search_results *results, const json_t *object, const struct search_fields *fields);

/* The same from texts; `url` decides. */
void search_results_add(struct search_results *results, struct str title, struct str url, struct str date,
                        struct str source, struct str snippet);

/* ---- back ends: ask for `query`, later call search_answered or search_failed ---- */

void search_serper_ask(struct search_query *query);
void search_searxng_ask(struct search_query *query);
void search_corpus_ask(struct search_query *query);

void search_answered(struct search_query *query);
void search_failed(struct search_query *query);

/* What tells one web back end from another: its name for a person, the remedies for 401/403 (`denied`) and 429
 * (`quota`), the member of its answer that lists the results, the members of a result, and `note`, which takes from the
 * answer what else it says. */
struct search_service {
    const char *name, *denied, *quota, *list;
    struct search_fields fields;
    void (*note)(struct search_query *query, const json_t *root);
};

/* Ends the query with what a web back end responded: its results, or a failure in words for model and person. Does
 * nothing once the call is cancelled. */
void search_take_response(struct search_query *query, const struct http_response *response,
                          const struct search_service *service);

/* Sets the query's failure; search_failed is still to be called. */
void search_fail(struct search_query *query, bool may_pass, const char *model, const char *person, ...)
    __attribute__((format(printf, 4, 5)));

/* ---- render.c ---- */

/* Appends the text of all queries and reports the shown results as sources. */
void search_render(struct search_call *call, struct buf *out);

#endif
