/* tools/scholar/internal.h
 *
 * The parts of the scholar tool: scholar.c takes a call through its queries, ask.c talks to the services, paper.c,
 * services.c and atom.c read their answers, render.c words what was found.
 */
#ifndef FATHOM_TOOLS_SCHOLAR_INTERNAL_H
#define FATHOM_TOOLS_SCHOLAR_INTERNAL_H

#include "core/buf.h"
#include "protocol/signature.h"
#include "tools/common/chain.h"
#include "tools/common/queries.h"
#include "tools/scholar/paper.h"
#include "tools/scholar/scholar.h"

#define SCHOLAR_MAX_RESULTS 50

struct scholar_tool {
    struct tool tool; /* first: the engine hands it back */
    struct tool_signature signature;
    struct chain_backend backends[SCHOLAR_BACKENDS]; /* by enum scholar_backend */
    struct chain_backend *order[SCHOLAR_BACKENDS];
    size_t n_order, n_results;
    char *url[SCHOLAR_BACKENDS], *key[SCHOLAR_BACKENDS], *mailto;
    unsigned tries;
    int64_t request_timeout_ms;
};

struct scholar_query {
    struct query base; /* first */
    struct scholar_call *call;
    struct papers papers;
};

struct scholar_call {
    struct scholar_tool *tool;
    struct tool_run *run;
    struct queries asked;
    struct scholar_query *queries; /* its items */
};

/* ---- ask.c ---- */

/* Name, way to ask and distance between requests of a service. */
struct chain_backend scholar_service(enum scholar_backend backend, const struct scholar_options *options);

/* Appends the query as arXiv wants it: all its words, stop words aside, and phrases in quotes, in any field. */
void scholar_arxiv_terms(struct buf *out, struct str query);

/* ---- render.c ---- */

/* Appends the text of all queries and reports the papers shown as sources. */
void scholar_render(struct scholar_call *call, struct buf *out);

#endif
