/* src/text/rank.h
 *
 * Which parts of a text bear on a question: BM25 over its passages or sentences, in memory, over the terms of
 * text/words.h. For extractive summaries, snippets and the built-in reader. Pure; linear in the text; equal scores keep
 * the order of the text.
 */
#ifndef FATHOM_TEXT_RANK_H
#define FATHOM_TEXT_RANK_H

#include "core/buf.h"
#include "text/passages.h"
#include "text/sentences.h"

struct ranked {
    size_t index; /* into what was ranked */
    double score; /* > 0 */
};

/* The at most `limit` passages of `text` that bear on `query` most, best first; passages without any term of it are
 * left out. Headings count as part of their passages, addresses of links do not. Terms that stand close together count
 * more; a passage has a share in what its neighbours score, since what it speaks of is often named before it, and the
 * first ones are a little ahead. Writes to `out` and returns how many. Any query is allowed; one without a term (empty,
 * or stop words only) gives 0. */
size_t rank_passages(struct str text, const struct passages *passages, struct str query, struct ranked *out,
                     size_t limit);

/* The same for independent pieces of text, e.g. search results or sentences of several pages. */
size_t rank_texts(const struct str *texts, size_t n_texts, struct str query, struct ranked *out, size_t limit);

struct ranked_sentence {
    struct sentence sentence;
    double score;
};

/* The at most `limit` sentences of `text` that bear on `query` most, best first. Code and headings are left out, and of
 * sentences that say the same words the first is kept. */
size_t rank_sentences(struct str text, struct str query, struct ranked_sentence *out, size_t limit);

/* Appends the part of `text` that bears on `query` most, at most about `max_bytes` long: the best sentence and its
 * neighbours, as one line with Markdown marks taken off, "…" where something was left out. The beginning of the text
 * when nothing bears on it. */
enum status rank_snippet(struct str text, struct str query, size_t max_bytes, struct buf *out) STATUS_CHECKED;

#endif
