/* src/text/tokenizer/splitter_internal.h
 *
 * What the implementations of a splitter share.
 */
#ifndef FATHOM_TEXT_TOKENIZER_SPLITTER_INTERNAL_H
#define FATHOM_TEXT_TOKENIZER_SPLITTER_INTERNAL_H

#include "core/buf.h"
#include "text/tokenizer/splitter.h"

struct splitter_regex;

typedef size_t (*splitter_next_fn)(struct split_walk *walk, struct split_piece *pieces);

struct splitter {
    splitter_next_fn next;
    bool covers_all;
    char *literal; /* text that is no pattern */
    size_t literal_len;
    struct splitter_regex *regex;
};

/* A splitter written by hand, known by its pattern. */
struct splitter_known {
    const char *pattern;
    splitter_next_fn next;
    bool tiktoken_only; /* the same text in a tokenizer.json means something else */
    bool covers_all;
};

/* The three patterns of DeepSeek V3, one after the other. */
size_t splitter_numbers_next(struct split_walk *walk, struct split_piece *pieces);
size_t splitter_deepseek_cjk_next(struct split_walk *walk, struct split_piece *pieces);
size_t splitter_deepseek_next(struct split_walk *walk, struct split_piece *pieces);

/* NULL for a pattern that has none. */
const struct splitter_known *splitter_known_find(struct spec_pattern pattern);

/* In order, for tests; NULL behind the last. */
const struct splitter_known *splitter_known_at(size_t index);

/* PCRE2's side. A walk's state lives from its first piece to splitter_regex_end (NULL is allowed). */
enum status splitter_regex_create(struct spec_pattern pattern, struct splitter_regex **out,
                                  struct error *error) STATUS_CHECKED;
void splitter_regex_destroy(struct splitter_regex *regex);
size_t splitter_regex_next(struct split_walk *walk, struct split_piece *pieces);
void splitter_regex_end(void *state);
bool splitter_regex_gave_up(const struct splitter_regex *regex);

/* Appends the pattern as PCRE2 has to see it, with UTF and newlines that are LF. STATUS_SYNTAX, STATUS_UNSUPPORTED. */
enum status splitter_rewrite(struct spec_pattern pattern, struct buf *out, struct error *error) STATUS_CHECKED;

#endif
