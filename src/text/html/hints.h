/* src/text/html/hints.h
 *
 * What a page says elsewhere about its text: its title, its descriptions, the bodies that JSON-LD repeats (schema.org
 * articleBody, text, reviewBody), and of what kind it is (og:type, schema.org types). Only hashes of words are kept, so
 * a block can be asked how much of it is told there.
 */
#ifndef FATHOM_TEXT_HTML_HINTS_H
#define FATHOM_TEXT_HTML_HINTS_H

#include "text/html/tree.h"

#define HINT_TITLE_BITS 4096
#define HINT_GRAM_BITS  131072

enum html_page_kind {
    KIND_ARTICLE = 1, /* schema.org Article and its kinds */
    KIND_PRODUCT = 2,
    KIND_FORUM = 4, /* QAPage, DiscussionForumPosting, or <body> or <main> is named "thread" or "forum" */
    KIND_LIST = 8,  /* ItemList, CollectionPage, SearchResultsPage */
    KIND_FAQ = 16,
    KIND_OG_ARTICLE = 32,
    KIND_OG_PRODUCT = 64,
    KIND_OG_OTHER = 128,
};

struct html_hints {
    uint64_t title[HINT_TITLE_BITS / 64];
    uint64_t bodies[HINT_GRAM_BITS / 64];
    uint64_t descriptions[HINT_GRAM_BITS / 64];
    uint32_t title_size; /* words in the title */
    uint32_t body_size;  /* runs of words in bodies */
    unsigned kinds;      /* bits of enum html_page_kind */
};

/* The words of a text one by one: lower-case letters and digits, everything outside ASCII that is no punctuation. */
struct word_reader {
    uint32_t hash;       /* of the word being read, 0 between words */
    uint32_t history[3]; /* of the words before, the last first */
    uint32_t words;
};

/* The hash of the last four words, 0 when there were not as many. Called when a word has ended. */
uint32_t word_reader_gram(const struct word_reader *reader);

/* Ends the word being read; gives its hash, 0 when there is none. */
uint32_t word_reader_end(struct word_reader *reader);

static inline void word_reader_add(struct word_reader *reader, unsigned char byte)
{
    reader->hash = ((reader->hash ? reader->hash : 2166136261u) ^ byte) * 16777619u;
}

static inline bool hint_has(const uint64_t *bits, uint32_t n_bits, uint32_t hash)
{
    uint32_t bit = (hash ^ hash >> 15) & (n_bits - 1);
    return bits[bit / 64] >> (bit % 64) & 1;
}

/* `hints` is overwritten. Linear in the page's head and its JSON-LD. */
void html_hints_read(const struct html_tree *tree, struct html_hints *hints);

#endif
