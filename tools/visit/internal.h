/* tools/visit/internal.h
 *
 * The parts of the visit tool. visit.c takes a call through its pages, a few at a time; a page is fetched (fetch.c,
 * jina.c) or taken from the corpus, read on the pool (read.c), and summed up by the model (summary.c) or by picking
 * passages (extract.c); render.c words the whole. address.c makes an address of what a model wrote.
 *
 * A page is worked on by one thing at a time: a request, a job on the pool, or a completion. What belongs to a job is
 * not touched by the loop's thread until the job is over.
 */
#ifndef FATHOM_TOOLS_VISIT_INTERNAL_H
#define FATHOM_TOOLS_VISIT_INTERNAL_H

#include "core/buf.h"
#include "net/guard.h"
#include "protocol/signature.h"
#include "tools/common/corpus_pool.h"
#include "tools/common/line.h"
#include "tools/visit/visit.h"

struct resolve;

struct visit_tool {
    struct tool tool; /* first: the engine hands it back */
    struct tool_signature signature;
    enum visit_summarizer summarizer;
    enum visit_reader reader;
    char *jina_url, *jina_key;
    const struct guard *guard;
    struct corpus_pool *corpus;
    size_t max_bytes, max_parallel;
    int64_t page_timeout_ms, whole_page_tokens;
    int max_redirects;
    unsigned tries;
    uint64_t chance;
};

enum visit_address {
    VISIT_WEB,        /* http or https */
    VISIT_CORPUS,     /* corpus:// */
    VISIT_BAD_SCHEME, /* file:, mailto: … */
    VISIT_NO_ADDRESS, /* nothing that could be one */
};

/* Makes an absolute address without fragment of what a model wrote: a bare host, a Markdown link, an address in quotes
 * or with a sentence's punctuation behind it. `assumed` says that https:// was put in front. Returns a fresh string,
 * also for what is none (then the text as one line, for messages). */
char *visit_address_clean(struct str given, enum visit_address *kind, bool *assumed);

enum page_state {
    PAGE_WAITING,  /* for its turn */
    PAGE_FETCHING, /* request, look-up, or a job that reads it */
    PAGE_SUMMING,  /* a completion of the summary model */
    PAGE_PICKING,  /* a job that picks passages */
    PAGE_DONE,     /* what it says is in evidence and summary */
    PAGE_FAILED,   /* `problem` says why */
};

struct visit_page {
    struct visit_call *call;
    char *url;
    enum visit_address kind;
    bool assumed_scheme;
    enum page_state state;
    char problem[400]; /* for the model: no address but the page's own */
    unsigned tries;
    struct resolve *lookup; /* under way, before Jina Reader may be asked */
    bool not_jina;          /* Jina Reader failed for it */

    /* The document. `text` is clean Markdown. */
    char *title, *base_url, *content_type;
    struct buf body, text;
    bool is_text; /* `body` is the text already */
    bool truncated;
    enum status read_status;
    struct error read_error;

    /* What it says about the goal. */
    unsigned replies; /* unusable ones of the summary model */
    int64_t text_tokens;
    int64_t send_tokens; /* how much of it the model is sent */
    bool by_words;       /* picked, though a model was meant to sum it up */
    struct buf evidence, summary, links;
};

struct visit_call {
    struct visit_tool *tool;
    struct tool_run *run;
    struct str goal; /* borrowed from the arguments */
    struct visit_page *pages;
    size_t n_pages, n_over, n_active;
    size_t evidence_bytes; /* what the passages of one page may take */
    int64_t margin_ms;     /* before the deadline the call ends by itself */
    bool hurried;          /* no more completions are waited for */
};

/* ---- visit.c: what happened to a page ---- */

void visit_page_done(struct visit_page *page);

/* `problem` ends in a full stop; it is told to the model. `detail` (may be NULL) is for the user. */
void visit_page_failed(struct visit_page *page, const char *detail, const char *problem, ...)
    __attribute__((format(printf, 3, 4)));

/* The page's body, or its text, is there. */
void visit_page_fetched(struct visit_page *page);

/* Whether callbacks of the page have nothing to do any more. */
bool visit_page_over(const struct visit_page *page);

/* ---- steps; each calls one of the above in a later turn ---- */

void visit_fetch(struct visit_page *page);
void visit_fetch_jina(struct visit_page *page); /* falls back to visit_fetch when the service fails */
void visit_read(struct visit_page *page);       /* then visit_sum_up */
void visit_read_corpus(struct visit_page *page);
void visit_sum_up(struct visit_page *page); /* by the model where one is wanted and there */
void visit_pick(struct visit_page *page);

/* ---- render.c ---- */

void visit_render(struct visit_call *call, struct buf *out);

#endif
