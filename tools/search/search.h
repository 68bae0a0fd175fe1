/* tools/search/search.h
 *
 * The tool `search`: every query of a call goes out at once; each gives a numbered list of results with title, link,
 * date, source and snippet, in the words of the run's profile.
 *
 * Back ends are asked in the order given (tools/common/chain.h): a later one when those before it failed, have used up
 * their quota or found nothing for that query. A failure is told to whoever watches and, where no other back end helps,
 * to the model; a failed query does not take the others with it. Services that know languages are asked in that of the
 * query's script.
 */
#ifndef FATHOM_TOOLS_SEARCH_H
#define FATHOM_TOOLS_SEARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/status.h"
#include "engine/tool.h"

#define SEARCH_SERPER_URL      "https://google.serper.dev/search"
#define SEARCH_BRAVE_URL       "https://api.search.brave.com/res/v1/web/search"
#define SEARCH_TAVILY_URL      "https://api.tavily.com/search"
#define SEARCH_WIKIPEDIA_URL   "https://{language}.wikipedia.org/w/api.php"
#define SEARCH_DUCKDUCKGO_URL  "https://html.duckduckgo.com/html/"
#define SEARCH_DEFAULT_RESULTS 10

enum search_backend {
    SEARCH_SERPER,     /* Google's results through serper.dev: needs a key */
    SEARCH_BRAVE,      /* Brave Search's API: needs a key */
    SEARCH_TAVILY,     /* needs a key */
    SEARCH_SEARXNG,    /* a SearXNG or searx server with its JSON format switched on: needs its address */
    SEARCH_WIKIPEDIA,  /* articles alone, in the language of the query's script; or another MediaWiki. Needs nothing */
    SEARCH_DUCKDUCKGO, /* its page for browsers without scripts. Needs nothing, but programs are often turned away */
    SEARCH_CORPUS,     /* a file made by `fathom index` */
    SEARCH_BACKENDS,
};

/* Everything is copied. */
struct search_options {
    enum search_backend backends[SEARCH_BACKENDS]; /* best first; none twice */
    size_t n_backends;                             /* >= 1 */

    /* NULL: the one above. SearXNG's is the server's address, with or without /search; Wikipedia's is that of a
     * MediaWiki's api.php, where {language} stands for the language's code. */
    const char *url[SEARCH_BACKENDS];

    const char *key[SEARCH_BACKENDS]; /* NULL: none; a service that needs one then fails with the remedy */
    const char *corpus_path;          /* of SEARCH_CORPUS */
    struct str signature;             /* as in signature.json; empty: the embedded one */
    bool tell_backend;                /* tell whoever watches which back end answered, also when it was the first */
    int results;                      /* most results of a query; 0: SEARCH_DEFAULT_RESULTS */
    int tries; /* requests for one query and back end, for what may pass (429, 5xx, no connection); 0: 3 */
    int64_t request_timeout_ms; /* of one request; 0: 20,000 */
    int64_t timeout_ms;         /* of a whole call; 0: 60,000 */
};

/* "serper", "brave", "tavily", "searxng", "wikipedia", "duckduckgo", "corpus". */
const char *search_backend_name(enum search_backend backend);

/* The back end of this name; false when there is none. */
bool search_backend_find(const char *name, enum search_backend *backend);

/* STATUS_INVALID when a back end is named twice, or lacks what it needs to be asked at all (the error names the
 * option); a corpus is opened by the first call only. */
enum status search_tool_create(const struct search_options *options, struct tool **out,
                               struct error *error) STATUS_CHECKED;

#endif
