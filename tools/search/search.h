/* tools/search/search.h
 *
 * The tool `search`: every query of a call goes out at once; each gives a numbered list of results with title, link,
 * date, source and snippet, in the words of the run's profile.
 *
 * Back ends are asked in the order given, a later one only when those before it failed for that query; a failure is
 * told to whoever watches and, where no other back end helps, to the model. A failed query does not take the others
 * with it.
 */
#ifndef FATHOM_TOOLS_SEARCH_H
#define FATHOM_TOOLS_SEARCH_H

#include <stddef.h>
#include <stdint.h>

#include "core/status.h"
#include "engine/tool.h"

#define SEARCH_SERPER_URL      "https://google.serper.dev/search"
#define SEARCH_DEFAULT_RESULTS 10
#define SEARCH_MAX_BACKENDS    4

enum search_backend {
    SEARCH_SERPER,  /* Google's results through serper.dev: needs a key */
    SEARCH_SEARXNG, /* a SearXNG server with its JSON format switched on: needs its address */
    SEARCH_CORPUS,  /* a file made by `fathom index` */
};

/* Everything is copied. */
struct search_options {
    enum search_backend backends[SEARCH_MAX_BACKENDS];
    size_t n_backends;       /* >= 1 */
    const char *serper_url;  /* NULL: SEARCH_SERPER_URL */
    const char *serper_key;  /* NULL: none; a call then fails with the remedy */
    const char *searxng_url; /* the server's address, with or without /search */
    const char *corpus_path; /* of SEARCH_CORPUS */
    struct str signature;    /* as in signature.json; empty: the embedded one */
    int results;             /* most results of a query; 0: SEARCH_DEFAULT_RESULTS */
    int tries; /* requests for one query and back end, for what may pass (429, 5xx, no connection); 0: 3 */
    int64_t request_timeout_ms; /* of one request; 0: 20,000 */
    int64_t timeout_ms;         /* of a whole call; 0: 60,000 */
};

/* STATUS_INVALID when a back end lacks what it needs to be asked at all (the error names the option); a corpus is
 * opened by the first call only. */
enum status search_tool_create(const struct search_options *options, struct tool **out,
                               struct error *error) STATUS_CHECKED;

#endif
