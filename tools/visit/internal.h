/* tools/visit/internal.h
 *
 * The parts of the visit tool. visit.c takes a call through its pages, a few at a time; a page is had by the first of
 * several ways that works (ways.c: fetch.c, jina.c, archive.c) or taken from the corpus, read on the pool (read.c), and
 * summed up by the model (summary.c, check.c) or by picking passages (extract.c); links.c finds where to go on from it;
 * render.c words the whole. address.c makes an address of what a model wrote, rewrite.c finds better ones.
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

struct documents;
struct fetching;
struct network;
struct resolve;
struct selection;

struct visit_tool {
    struct tool tool; /* first: the engine hands it back */
    struct tool_signature signature;
    enum visit_summarizer summarizer;
    enum visit_reader reader;
    enum visit_fallback fallbacks[VISIT_MAX_FALLBACKS];
    size_t n_fallbacks;
    char *jina_url, *jina_key, *archive_url;
    const struct guard *guard;
    struct corpus_pool *corpus;
    size_t max_bytes, max_parallel;
    int64_t page_timeout_ms, whole_page_tokens;
    int max_redirects;
    unsigned tries;
    uint64_t chance;
    struct documents *documents;
    struct network *network; /* page cache, politeness and robots.txt: tools/visit/network.h */
    visit_take_fn take;      /* NULL: pages are summed up */
    void *take_user;
};

enum visit_address {
    VISIT_WEB,        /* http or https */
    VISIT_CORPUS,     /* corpus:// */
    VISIT_BAD_SCHEME, /* file:, mailto: … */
    VISIT_NO_ADDRESS, /* nothing that could be one */
};

/* Makes an absolute address of what a model wrote: a bare host, a Markdown link, an address in quotes or with a
 * sentence's punctuation behind it, an identifier (doi:10.1000/182, arXiv:2301.00001). `assumed` says that https:// was
 * put in front. Returns a fresh string without the fragment and without user and password (which are not sent, and say
 * too much where addresses are told on), also for what is none (then the text as one line, for messages). `fragment`
 * gets what stood behind "#", fresh, or NULL; it may be NULL. */
char *visit_address_clean(struct str given, enum visit_address *kind, bool *assumed, char **fragment);

/* ---- rewrite.c: other addresses of the same contents; pure ---- */

/* The address inside one that only leads on (a search engine's link, a reader service, an AMP cache), as a fresh
 * string; NULL where `url` is not of that kind. */
char *visit_unwrap(struct str url);

/* Another address of the same contents that is read better: the raw file of a repository's page, the export of a
 * document, the desktop page of a mobile one. `fragment` may be empty. A fresh string; NULL where there is none. */
char *visit_readable(struct str url, struct str fragment);

/* The page that a link to a copy in the Internet Archive is a copy of: the part of `url` behind "/web/TIME/", and its
 * time of 4 to 14 digits in `time`. Empty where `url` is no such link. */
struct str visit_archived(struct str url, struct str *time);

/* How a page can be had. The ways of a page are tried in order, each only where it can mend what made the last fail. */
enum visit_way {
    VISIT_WAY_READABLE, /* at its other address */
    VISIT_WAY_DIRECT,
    VISIT_WAY_JINA,
    VISIT_WAY_ARCHIVE, /* the Internet Archive's last copy */
};

#define VISIT_MAX_WAYS 4

/* Why a page could not be had by one way. */
enum visit_fault {
    VISIT_FAULT_FINAL, /* no other way helps, or none may: refused by the guard or robots.txt, no address, too large */
    VISIT_FAULT_GONE,  /* 404, 410: another address of it, or a copy of the past, may help */
    VISIT_FAULT_BLOCKED, /* it is there, but not for this way: 401, 403, 429, 5xx, time-out, dead name, a page made by
                            scripts or that asks for proof of a person */
};

enum page_state {
    PAGE_WAITING,   /* for its turn */
    PAGE_FETCHING,  /* request, look-up, or a job that reads it */
    PAGE_SELECTING, /* a job that chooses what of a long page the model is sent */
    PAGE_SUMMING,   /* a completion of the summary model */
    PAGE_PICKING,   /* a job that picks passages, or checks what the model picked */
    PAGE_DONE,      /* what it says is in evidence and summary */
    PAGE_FAILED,    /* `problem` says why */
};

struct visit_page {
    struct visit_call *call;
    size_t index;   /* of its address among those that were given */
    char *url;      /* as the model gave it, made whole: what is shown and reported */
    char *key;      /* tells it from the call's others */
    char *address;  /* the page itself: `url`, or what that only leads to */
    char *readable; /* its other address; NULL where there is none */
    char *target;   /* what is fetched now: one of these, or the archive's copy. NULL before the first fetch */
    enum visit_address kind;
    bool assumed_scheme;
    enum page_state state;
    char problem[400]; /* for the model: no address but the page's own */
    enum visit_way ways[VISIT_MAX_WAYS];
    size_t n_ways, way;        /* the one under way, from 0 */
    unsigned tried;            /* a bit for each way that was begun: 1 << way */
    int64_t copied_at;         /* seconds since 1970: from the page cache, as it was then; 0: just fetched */
    bool outdated;             /* that copy is past its time, and the site gave no newer one */
    struct fetching *fetching; /* how far `target` is: tools/visit/network.h; NULL before */
    unsigned tries;            /* of fetching `target` */
    struct resolve *lookup;    /* under way, before an outside service may be asked */
    const struct guard *outside_guard;
    void (*outside_ask)(struct visit_page *page);
    char archive_day[16]; /* "2023-05-01", of the copy that is read; empty otherwise */

    /* The document. `text` is clean Markdown. The strings are NULL where unknown. */
    char *title, *author, *date, *base_url, *content_type;
    struct buf body, text;
    bool is_text;     /* `body` is the text already */
    bool is_document; /* `body` is for the worker to read */
    bool is_shell;    /* next to no text, but scripts that would make it */
    bool truncated;
    enum status read_status;
    struct error read_error;

    /* What it says about the goal. */
    unsigned replies; /* unusable ones of the summary model */
    int64_t text_tokens;
    int64_t send_tokens;         /* how much of it the model is sent */
    struct selection *selection; /* over `text`; NULL until a part is chosen */
    struct buf part;             /* of `text`, which is longer than that */
    size_t part_passages, text_passages;
    bool by_words; /* picked, though a model was meant to sum it up */
    struct buf evidence, summary;
    struct buf links;        /* "- [label](url)", one a line */
    size_t n_quotes;         /* sentences of the model's evidence that were looked for in the page */
    size_t n_unfound_quotes; /* of them, that do not occur in it */
};

struct visit_call {
    struct visit_tool *tool;
    struct tool_run *run;
    struct str goal; /* borrowed from the arguments */
    struct visit_page *pages;
    size_t n_pages, n_over, n_active;
    char **
        visited; /* the identities of the pages' addresses (url_identity), `n_visited` of them; set before they start */
    size_t n_visited;
    size_t evidence_bytes; /* what the passages of one page may take */
    int64_t margin_ms;     /* before the deadline the call ends by itself */
    bool hurried;          /* no more completions are waited for */
};

/* ---- visit.c and ways.c: what happened to a page ---- */

void visit_page_done(struct visit_page *page);

/* The way under way has failed: the next that may help is tried in a later turn, or the page has failed. `problem` ends
 * in a full stop; it is told to the model. `detail` (may be NULL) is for the user. */
void visit_page_lost(struct visit_page *page, enum visit_fault fault, const char *detail, const char *problem, ...)
    __attribute__((format(printf, 4, 5)));

/* The same with VISIT_FAULT_FINAL. */
void visit_page_failed(struct visit_page *page, const char *detail, const char *problem, ...)
    __attribute__((format(printf, 3, 4)));

/* The page's body, or its text, is there. */
void visit_page_fetched(struct visit_page *page);

/* `text` is there, clean and not empty. */
void visit_page_read(struct visit_page *page);

/* https:// was a guess of ours and does not answer: from now on the page is one of http://. */
void visit_page_use_plain(struct visit_page *page);

/* Whether callbacks of the page have nothing to do any more. */
bool visit_page_over(const struct visit_page *page);

/* The page is over, and `problem` says why. */
void visit_page_give_up(struct visit_page *page);

/* Hands a page over that was read, or could not be, to who takes pages; `take` must be set. */
void visit_page_hand_over(const struct visit_page *page);

/* ---- wall.c: what sites show to whom they do not let in; pure ---- */

enum visit_wall {
    VISIT_WALL_NONE,
    VISIT_WALL_PROOF,   /* it asks for proof that a person is reading */
    VISIT_WALL_SCRIPTS, /* it asks to switch JavaScript on */
};

/* Whether a page's text is no more than such a wall. Long texts never are: they may speak about one. */
enum visit_wall visit_wall_find(struct str title, struct str text);

/* ---- ways.c ---- */

/* Which ways there are for a page whose addresses are known, and the first of them. */
void visit_plan_ways(struct visit_page *page);
void visit_start_way(struct visit_page *page);

/* ---- outside.c ---- */

/* Whether an address is inside a network by its looks: a numeric address that is not public, or a name without
 * meaning elsewhere. Any thread. */
bool visit_is_inside(struct str url);

/* Calls `ask`, perhaps in a later turn, when the outside service at the configured address `service` may be told of
 * `target`: a public page, or one that the user exempted where the service is inside the network too. */
void visit_ask_outside(struct visit_page *page, const char *service, void (*ask)(struct visit_page *page));

/* ---- steps; each calls one of the above in a later turn ---- */

void visit_fetch(struct visit_page *page); /* `target`, through the guarded client */
void visit_fetch_jina(struct visit_page *page);
void visit_fetch_archive(struct visit_page *page);
void visit_read(struct visit_page *page); /* then visit_page_read */
void visit_read_corpus(struct visit_page *page);
void visit_sum_up(struct visit_page *page); /* by the model where one is wanted and there */
void visit_pick(struct visit_page *page);
void visit_check_quotes(struct visit_page *page); /* the model's evidence; then visit_page_done */

/* ---- links.c; on the pool ---- */

/* Fills `links` from `text`. */
void visit_pick_links(struct visit_page *page);

/* What stands in front of a quotation that does not occur in its page. */
#define VISIT_UNFOUND_MARK "[not found in the page]"

/* ---- render.c ---- */

void visit_render(struct visit_call *call, struct buf *out);

#endif
