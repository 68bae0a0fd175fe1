/* tools/visit/visit.h
 *
 * The tool `visit`: reads pages and says what each has to say about a goal.
 *
 * Pages of a call are read in parallel. A page comes through the guarded HTTP client, from the local corpus (corpus://
 * links), or through Jina Reader; its main text is made Markdown on the pool. Then either the summary model is asked
 * for evidence and summary, or the passages that bear on the goal are picked (which needs no model). What came before
 * the deadline is delivered; what did not is named.
 */
#ifndef FATHOM_TOOLS_VISIT_H
#define FATHOM_TOOLS_VISIT_H

#include <stddef.h>
#include <stdint.h>

#include "core/status.h"
#include "engine/tool.h"

struct guard;

#define VISIT_JINA_URL              "https://r.jina.ai"
#define VISIT_DEFAULT_MAX_BYTES     ((size_t)10 * 1024 * 1024)
#define VISIT_DEFAULT_TIMEOUT_MS    50000
#define VISIT_DEFAULT_MAX_REDIRECTS 10
#define VISIT_WHOLE_PAGE_TOKENS     95000

enum visit_summarizer { VISIT_SUMMARY_MODEL, VISIT_SUMMARY_EXTRACTIVE };
enum visit_reader { VISIT_READER_OWN, VISIT_READER_JINA };

/* Strings are copied. */
struct visit_options {
    enum visit_summarizer summarizer; /* MODEL falls back to EXTRACTIVE where there is no language model */
    enum visit_reader reader;         /* corpus:// links are read from the corpus with either */
    const char *jina_url;             /* NULL: VISIT_JINA_URL */
    const char *jina_key;             /* NULL: none, which that service serves at a lower rate */
    const struct guard
        *guard;              /* what Jina Reader may be asked for; borrowed until the tool goes. NULL: no exemptions */
    const char *corpus_path; /* NULL: corpus:// links are refused in words */
    struct str signature;    /* as in signature.json; empty: the embedded one */
    size_t max_bytes;        /* decoded, of one page; 0: VISIT_DEFAULT_MAX_BYTES */
    int64_t page_timeout_ms; /* for fetching one page; 0: VISIT_DEFAULT_TIMEOUT_MS */
    int64_t timeout_ms;      /* of a whole call; 0: 200,000 */
    int max_redirects;       /* 0: VISIT_DEFAULT_MAX_REDIRECTS */
    int max_parallel;        /* pages of a call under way at once; 0: 6 */
    int tries;               /* of a fetch, for what may pass (429, 5xx, no connection); 0: 2 */
    int64_t whole_page_tokens; /* pages up to this go to the summary model whole; 0: VISIT_WHOLE_PAGE_TOKENS */
};

/* STATUS_INVALID for options that contradict each other. A corpus is opened by the first call that needs it. */
enum status visit_tool_create(const struct visit_options *options, struct tool **out,
                              struct error *error) STATUS_CHECKED;

#endif
