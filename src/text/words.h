/* src/text/words.h
 *
 * Text to search terms: the words that ranking and the corpus index count.
 *
 * Letters and digits make words; they are put in lower case and stripped of accents and width (Unicode NFKD and case
 * folding), English endings are taken off (Porter's algorithm) and English stop words left out. Chinese, Japanese,
 * Thai, Lao, Khmer and Burmese, which do not separate words, give overlapping pairs of characters; a lone character
 * gives itself. Equal text gives equal terms everywhere, which an index on disk relies on: WORDS_VERSION changes when
 * terms do. Any thread.
 */
#ifndef FATHOM_TEXT_WORDS_H
#define FATHOM_TEXT_WORDS_H

#include "core/str.h"

#define WORDS_VERSION  1
#define WORD_MAX_BYTES 64 /* longer terms are cut, at a character */

struct words {
    struct str text;
    size_t at;            /* next byte to read */
    bool keep_stop_words; /* set after words_init where stop words are wanted too */
    bool paired;          /* the character at `at` has been the second of a pair */
    bool has_compound;    /* the last two words have a compound that is to come next */
    size_t from, to;      /* where the last word stands */
    size_t length;        /* of its term, before the ending was taken off */
    char term[WORD_MAX_BYTES + 1];
    size_t before_from, before_length; /* the word before it */
    char before[WORD_MAX_BYTES + 1];
};

struct word {
    char term[WORD_MAX_BYTES + 1]; /* normal form, NUL-terminated; letters and digits of any script, nothing else */
    size_t length;                 /* bytes of the term */
    size_t from, to;               /* where it stands in the text */
};

/* Starts at the beginning of `text`, which is borrowed. Bytes that are not UTF-8 separate words. */
void words_init(struct words *words, struct str text);

/* The next term into `out`; false at the end. */
bool words_next(struct words *words, struct word *out);

/* Takes the ending off an English word in lower case ASCII letters, in place, by M. F. Porter's algorithm of 1980 ("An
 * algorithm for suffix stripping", Program 14, with the two departures of his own published program). Returns the new
 * length. */
size_t stem_english(char *word, size_t length);

#endif
