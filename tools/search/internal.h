/* tools/search/internal.h
 *
 * The parts of the search tool: search.c is the tool, call.c takes a call through its queries, request.c is what the
 * back ends share that ask over the network (one file for each), locale.c is how they name languages, render.c words
 * what was found.
 */
#ifndef FATHOM_TOOLS_SEARCH_INTERNAL_H
#define FATHOM_TOOLS_SEARCH_INTERNAL_H

#include "core/buf.h"
#include "core/json.h"
#include "protocol/signature.h"
#include "tools/common/chain.h"
#include "tools/common/corpus_pool.h"
#include "tools/common/line.h"
#include "tools/common/queries.h"
#include "tools/common/web_answer.h"
#include "tools/common/web_results.h"
#include "tools/search/search.h"

/* A back end as the program knows it. */
struct search_kind {
    const char *name;     /* "brave" */
    const char *url;      /* where it is unless configured; NULL where it must be, or there is none */
    const char *key_name; /* the variable of its key where it needs one: "BRAVE_API_KEY" */

    /* chain_backend.ask: begins a try for a struct search_query, which ends with search_answered, or with one of the
     * failures of chain.h and web_answer.h. */
    void (*ask)(void *query);
};
extern const struct search_kind search_kinds[SEARCH_BACKENDS];

struct search_tool {
    struct tool tool; /* first: the engine hands it back */
    struct tool_signature signature;
    struct chain_backend *order[SEARCH_BACKENDS]; /* into `backends` */
    size_t n_backends, n_results;
    struct chain_backend backends[SEARCH_BACKENDS];
    char *url[SEARCH_BACKENDS], *key[SEARCH_BACKENDS];
    struct corpus_pool *corpus;
    bool tell_backend;
    bool brave_plain; /* the plan of Brave's key knows no further passages */
    unsigned tries;
    int64_t request_timeout_ms;
};

struct search_query {
    struct query base; /* first */
    struct search_call *call;
    struct web_results results; /* of the try under way, at last of the back end that answered */
    bool brave_extras;          /* Brave was asked for further passages */
    struct buf notice;          /* what else that one said; for the model, where its profile has a place for it */

    /* Of a job on the pool, until it is over. */
    struct web_results found;
    enum status corpus_status;
    struct error corpus_error;
};

struct search_call {
    struct search_tool *tool;
    struct tool_run *run;
    struct queries asked;
    struct search_query *queries; /* its items */
};

/* ---- call.c ---- */

/* tool.start. */
void search_start(struct tool *self, struct tool_run *run);

/* The back end answered: query->results and query->notice are complete. */
void search_answered(struct search_query *query);

/* Makes a list for results of this run: repeated pages are left out where the profile has a place to say so. */
void search_results_init(const struct search_query *query, struct web_results *results);

/* ---- request.c ---- */

/* Sends a configured request for the query; url, body and headers are taken from `options`. */
void search_request(struct search_query *query, struct http_options *options, http_done_fn done);

/* Whether the back end has its key. Where not, the try is ended in a later turn. */
bool search_has_key(struct search_query *query, enum search_backend backend);

/* Adds the objects of `list` (any type; only an array has any) to the query's results. */
void search_take_list(struct search_query *query, const json_t *list, const struct web_fields *fields);

/* Notes a short answer that the service shows above its results, with where it has it from; nothing when it is empty.
 */
void search_note_answer(struct search_query *query, struct str answer, struct str link);

/* The query's text up to `max_characters` and `max_words`, cut between words where there are any. */
struct str search_text(const struct search_query *query, size_t max_characters, size_t max_words);

/* Appends "?name=value" or "&name=value" to an address. The buffer has no cap. */
void search_add_parameter(struct buf *url, const char *name, struct str value);

/* Appends `text` without "!" and "\\" at the beginning of words, with which search pages are told to go elsewhere. */
void search_add_without_bangs(struct buf *out, struct str text);

/* ---- locale.c ---- */

/* How the services name the language and country of a query; NULL where a service does not know it. */
struct search_locale {
    const char *language;       /* ISO 639-1; Wikipedia, SearXNG */
    const char *google_country; /* gl */
    const char *google_language;
    const char *brave_country; /* "ALL" where it does not know the country */
    const char *brave_language;
    const char *duckduckgo; /* kl */
    const char *tavily;     /* country, as a word */
};

/* That of the script of `text`; NULL for Latin letters, where a service's own default serves best. */
const struct search_locale *search_locale(struct str text);

/* ---- back ends ---- */

void search_serper_ask(void *query);
void search_brave_ask(void *query);
void search_tavily_ask(void *query);
void search_searxng_ask(void *query);
void search_wikipedia_ask(void *query);
void search_duckduckgo_ask(void *query);
void search_corpus_ask(void *query);

/* ---- render.c ---- */

/* Appends the text of all queries and reports the shown results as sources. */
void search_render(struct search_call *call, struct buf *out);

#endif
