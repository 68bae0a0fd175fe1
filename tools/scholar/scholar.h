/* tools/scholar/scholar.h
 *
 * The tool `google_scholar`: every query of a call goes out at once; each gives a numbered list of papers with link or
 * PDF, authors, venue, year, citations and the beginning of the abstract, in the words of the run's profile.
 *
 * Services are asked in the order given (tools/common/chain.h): a later one when those before it failed or found
 * nothing for that query. Their rules are kept: arXiv gets a request every 3 s, Crossref and Semantic Scholar one a
 * second, so several queries wait for each other there.
 */
#ifndef FATHOM_TOOLS_SCHOLAR_SCHOLAR_H
#define FATHOM_TOOLS_SCHOLAR_SCHOLAR_H

#include <stddef.h>
#include <stdint.h>

#include "core/status.h"
#include "engine/tool.h"

#define SCHOLAR_SERPER_URL           "https://google.serper.dev/scholar"
#define SCHOLAR_OPENALEX_URL         "https://api.openalex.org/works"
#define SCHOLAR_SEMANTIC_SCHOLAR_URL "https://api.semanticscholar.org/graph/v1/paper/search"
#define SCHOLAR_CROSSREF_URL         "https://api.crossref.org/works"
#define SCHOLAR_ARXIV_URL            "https://export.arxiv.org/api/query"
#define SCHOLAR_DEFAULT_RESULTS      10

enum scholar_backend {
    SCHOLAR_SERPER,           /* Google Scholar through serper.dev: needs a key */
    SCHOLAR_OPENALEX,         /* a few searches a day without a key, a thousand with a free one */
    SCHOLAR_SEMANTIC_SCHOLAR, /* without a key all users share one rate */
    SCHOLAR_CROSSREF,         /* needs none; a mail address gives a better rate */
    SCHOLAR_ARXIV,            /* needs none */
    SCHOLAR_BACKENDS,
};

/* Everything is copied. */
struct scholar_options {
    enum scholar_backend backends[SCHOLAR_BACKENDS]; /* best first; none twice */
    size_t n_backends;                               /* 0: Serper where there is a key, then all the others */
    const char *url[SCHOLAR_BACKENDS];               /* NULL: the one above */
    const char *key[SCHOLAR_BACKENDS];               /* NULL: none. Crossref and arXiv have no use for one */
    const char *mailto;         /* the user's mail address, for OpenAlex and Crossref; NULL: none */
    struct str signature;       /* as in signature.json; empty: the embedded one */
    int results;                /* most papers of a query; 0: SCHOLAR_DEFAULT_RESULTS */
    int tries;                  /* requests for one query and service, for what may pass; 0: 3 */
    int64_t gap_ms;             /* between two requests to a service that wants them apart; 0: what it wants */
    int64_t request_timeout_ms; /* of one request; 0: 20,000 */
    int64_t timeout_ms;         /* of a whole call; 0: 60,000 */
};

/* "serper", "openalex", "semantic-scholar", "crossref", "arxiv". */
const char *scholar_backend_name(enum scholar_backend backend);

/* STATUS_INVALID when Serper is named without a key (the error names the option), or a service twice. */
enum status scholar_tool_create(const struct scholar_options *options, struct tool **out,
                                struct error *error) STATUS_CHECKED;

#endif
