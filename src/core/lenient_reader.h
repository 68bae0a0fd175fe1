/* src/core/lenient_reader.h
 *
 * The state that the two halves of the lenient reader share: lenient_json.c reads structure, numbers and words,
 * lenient_string.c reads strings and decides where a damaged one ends.
 */
#ifndef FATHOM_CORE_LENIENT_READER_H
#define FATHOM_CORE_LENIENT_READER_H

#include "core/lenient_json.h"

/* A container that is open. */
struct lenient_level {
    char close;      /* ']' '}' or ')' */
    bool value_next; /* object: a key and its colon have been read */
    bool comma_last; /* the last thing read was a comma */
    size_t count;    /* members begun */
    size_t out_at;   /* where its bracket stands in the output */
};

struct lenient_reader {
    struct str text;
    size_t i;
    unsigned flags;
    bool guess_quotes; /* the second pass: a quote ends a string only where something may follow a string */
    struct buf *out;
    uint32_t repairs;
    struct lenient_level levels[LENIENT_MAX_DEPTH];
    size_t depth;
    size_t open_braces, open_brackets, open_parens; /* among the levels */
    bool no_comment_end;                            /* no closing comment mark comes any more */
    enum status status;
    size_t error_at;
    const char *message;
};

/* What a string is, for what may follow it. */
enum lenient_place { LENIENT_KEY, LENIENT_MEMBER, LENIENT_ELEMENT, LENIENT_TOP };

/* Notes the first error and returns false. */
bool lenient_fail(struct lenient_reader *reader, enum status status, size_t at, const char *message);

/* Whether `c` is one of the characters of `set`; NUL is none. */
bool lenient_is_one_of(char c, const char *set);

/* The length of the quotation mark at `i` (plain, typographic or a backtick), 0 when there is none. */
size_t lenient_quote_length(struct str text, size_t i);

/* Reads the string at reader->i (with its Python prefix, if any, already passed) and those that follow it directly, and
 * writes one JSON string. */
bool lenient_read_string(struct lenient_reader *reader, enum lenient_place place, bool raw);

/* Adds to the output; false when it is full. */
bool lenient_put(struct lenient_reader *reader, struct str s);

#endif
