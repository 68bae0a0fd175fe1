/* src/model/builtin_internal.h
 *
 * What the files of the built-in reader share.
 *
 *     builtin.c         the client: streams a completion
 *     builtin_read.c    what the conversation holds: question, tools, calls made, results, pages
 *     builtin_query.c   search queries made from a question
 *     builtin_write.c   the next completion
 */
#ifndef FATHOM_MODEL_BUILTIN_INTERNAL_H
#define FATHOM_MODEL_BUILTIN_INTERNAL_H

#include <stdbool.h>

#include "core/buf.h"
#include "core/str.h"
#include "model/builtin.h"
#include "text/evidence.h"

#define READER_MAX_RESULTS 400
#define READER_MAX_PAGES   100
#define READER_MAX_CALLS   100

/* A page that a search found. All text is borrowed from reader.text. */
struct reader_result {
    struct str url, title, snippet;
    size_t place;  /* in its list, from 0 */
    size_t found;  /* times it was listed */
    double weight; /* sum over its places */
};

/* A page that was read. */
struct reader_page {
    struct str url, title, evidence, summary;
};

/* What the conversation holds. Zeroed is empty. */
struct reader {
    struct buf text; /* all messages, unescaped */
    struct str question;
    bool has_search, has_visit;
    bool demanded; /* the last message asks for the answer */

    /* Our own earlier calls. */
    char *queries[READER_MAX_CALLS];
    size_t n_queries;
    char *visited[READER_MAX_CALLS];
    size_t n_visited;
    size_t n_searches, n_visits; /* calls, not their arguments */

    struct reader_result results[READER_MAX_RESULTS];
    size_t n_results;
    struct reader_page pages[READER_MAX_PAGES];
    size_t n_pages;
};

/* Reads the conversation. The reader is large: keep it on the heap. */
void reader_init(struct reader *reader, const struct prompt_view *prompt);
void reader_finish(struct reader *reader);

bool reader_was_visited(const struct reader *reader, struct str url);
bool reader_was_asked(const struct reader *reader, struct str query);

/* ---- builtin_query.c ---- */

#define QUERIES_MAX 5

struct queries {
    char *items[QUERIES_MAX];
    size_t count;
};

/* Queries for a question, the most telling first: its words of content, its names and quoted strings, the question
 * itself; of a long question its sentences. */
void reader_queries_make(struct str question, struct queries *out);

/* One query more, from what the results so far have in common beside the question; none when there is nothing. */
void reader_queries_widen(const struct reader *reader, struct queries *out);
void reader_queries_finish(struct queries *queries);

/* Appends the words of `text` that a search needs, joined by blanks, at most `max_words`. Returns how many. */
size_t query_content_words(struct str text, size_t max_words, struct buf *out);

/* What the question wants to be told, by the words it asks with. */
enum answer_kind query_answer_kind(struct str question);

/* The word behind "which" or "what", the sort of thing that is asked for; empty when there is none. */
struct str query_answer_type(struct str question);

/* Whether `text` has the words and names of the question: the share of them, 0 to 1. */
double query_coverage(struct str question, struct str text);

/* ---- builtin_write.c ---- */

void reader_write(struct reader *reader, struct buf *out);

#endif
