/* tools/visit/visit.h
 *
 * The tool `visit`: reads pages and says what each has to say about a goal.
 *
 * Pages of a call are read in parallel. A page comes through the guarded HTTP client, from the local corpus (corpus://
 * links), through Jina Reader, or as a copy from the Internet Archive; addresses that have a form that is read better
 * (a repository's raw file, the export of a document) are read there. The main text is made Markdown on the pool. Then
 * either the summary model is asked for evidence and summary, and its evidence is looked for in the page, or the
 * passages that bear on the goal are picked (which needs no model). What came before the deadline is delivered; what
 * did not is named.
 */
#ifndef FATHOM_TOOLS_VISIT_H
#define FATHOM_TOOLS_VISIT_H

#include <stddef.h>
#include <stdint.h>

#include "core/status.h"
#include "engine/tool.h"

struct documents;
struct guard;

#define VISIT_JINA_URL              "https://r.jina.ai"
#define VISIT_ARCHIVE_URL           "https://archive.org"
#define VISIT_DEFAULT_MAX_BYTES     ((size_t)10 * 1024 * 1024)
#define VISIT_DEFAULT_TIMEOUT_MS    50000
#define VISIT_DEFAULT_MAX_REDIRECTS 10
#define VISIT_WHOLE_PAGE_TOKENS     95000

#define VISIT_DEFAULT_MAX_DOCUMENT_BYTES ((size_t)50 * 1024 * 1024)
#define VISIT_DEFAULT_CACHE_BYTES        (INT64_C(512) * 1024 * 1024)
#define VISIT_DEFAULT_CACHE_AGE_MS       (INT64_C(30) * 24 * 3600 * 1000)
#define VISIT_DEFAULT_SITE_PARALLEL      4
#define VISIT_DEFAULT_SITE_GAP_MS        100

enum visit_summarizer { VISIT_SUMMARY_MODEL, VISIT_SUMMARY_EXTRACTIVE };
enum visit_reader { VISIT_READER_OWN, VISIT_READER_JINA };

/* What is tried when a page cannot be read directly. */
enum visit_fallback {
    VISIT_FALLBACK_JINA,
    VISIT_FALLBACK_ARCHIVE, /* the Internet Archive; also for pages that are gone */
};

#define VISIT_MAX_FALLBACKS 2

/* A page that a caller reads itself. All is borrowed until the callback returns. */
struct visit_taken {
    size_t index;                  /* of its address among the call's; a page named twice comes once, at the first */
    struct str url;                /* the page's own address, made whole */
    const char *problem;           /* for a person, why it could not be had; NULL: it was, and what follows is set */
    struct str base_url;           /* where it was found, behind redirects; the original's for an archived page */
    struct str content_type, body; /* as the server sent them; empty where only `text` is there */
    struct str text, title, author, date; /* as visit reads it: Markdown; empty where unknown */
    bool truncated;                       /* there was more than max_bytes */
};
typedef void (*visit_take_fn)(void *user, const struct visit_taken *page);

/* Strings are copied. */
struct visit_options {
    enum visit_summarizer summarizer; /* MODEL falls back to EXTRACTIVE where there is no language model */
    enum visit_reader reader;         /* corpus:// links are read from the corpus with either */
    enum visit_fallback fallbacks[VISIT_MAX_FALLBACKS]; /* in the order in which they are tried */
    size_t n_fallbacks;
    const char *jina_url;      /* NULL: VISIT_JINA_URL */
    const char *jina_key;      /* NULL: none, which that service serves at a lower rate */
    const char *archive_url;   /* of its availability API; NULL: VISIT_ARCHIVE_URL */
    const struct guard *guard; /* what a reader or archive inside our network may be asked for, others only for what is
                                  public; borrowed until the tool goes. NULL: no exemptions */
    const char *corpus_path;   /* NULL: corpus:// links are refused in words */
    struct str signature;      /* as in signature.json; empty: the embedded one */
    size_t max_bytes;          /* decoded, of one page; 0: VISIT_DEFAULT_MAX_BYTES */
    int64_t page_timeout_ms;   /* for fetching one page; 0: VISIT_DEFAULT_TIMEOUT_MS */
    int64_t timeout_ms;        /* of a whole call; 0: 200,000 */
    int max_redirects;         /* 0: VISIT_DEFAULT_MAX_REDIRECTS */
    int max_parallel;          /* pages of a call under way at once; 0: 6 */
    int tries;                 /* of a fetch, for what may pass (429, 5xx, no connection); 0: 2 */

    const char *cache_path; /* of the page cache (store/page_cache.h); NULL: none is kept */
    int64_t cache_bytes;    /* of it on disk; 0: VISIT_DEFAULT_CACHE_BYTES */
    int64_t cache_age_ms;   /* past it a copy is not used at all; 0: VISIT_DEFAULT_CACHE_AGE_MS */
    int site_parallel;      /* requests to one site at once; 0: VISIT_DEFAULT_SITE_PARALLEL, but any number to this
                               machine's own loopback addresses (net/politeness.h) */
    int64_t site_gap_ms;    /* between the starts of two; 0: VISIT_DEFAULT_SITE_GAP_MS, the same exception; -1: none */
    bool robots;            /* heed robots.txt */
    struct documents *documents; /* reads PDF, office files, archives … (tools/common/document.h); borrowed until the
                                    tool goes. NULL: these are refused in words */
    size_t max_document_bytes;   /* of one PDF, office file, archive …; 0: VISIT_DEFAULT_MAX_DOCUMENT_BYTES */

    visit_take_fn take; /* each page goes there in place of being summed up, on the loop's thread; NULL: none does */
    void *take_user;

    int64_t whole_page_tokens; /* pages up to this go to the summary model whole; 0: VISIT_WHOLE_PAGE_TOKENS */
};

/* STATUS_INVALID for options that contradict each other. A corpus is opened by the first call that needs it. */
enum status visit_tool_create(const struct visit_options *options, struct tool **out,
                              struct error *error) STATUS_CHECKED;

#endif
