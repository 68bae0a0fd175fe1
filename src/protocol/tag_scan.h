/* src/protocol/tag_scan.h
 *
 * What the tag parser knows of single tags and of the text of a call while it grows. For tag_parser.c alone.
 */
#ifndef FATHOM_PROTOCOL_TAG_SCAN_H
#define FATHOM_PROTOCOL_TAG_SCAN_H

#include <stdbool.h>
#include <stddef.h>

#include "core/str.h"

enum tag {
    TAG_NONE,
    TAG_THINK_OPEN,
    TAG_THINK_CLOSE,
    TAG_CALL_OPEN,
    TAG_CALL_CLOSE,
    TAG_CODE_OPEN,
    TAG_CODE_CLOSE,
    TAG_ANSWER_OPEN,
    TAG_ANSWER_CLOSE,
    TAG_RESPONSE_OPEN,
};

#define TAG_MAX_BYTES 16

struct str tag_text(enum tag tag);

/* How many bytes at the start of `s` (which begins with '<') begin a tag; at least 1, and none after the first is a
 * '<'. *tag is the tag when it is whole, else TAG_NONE. */
size_t tag_match(struct str s, enum tag *tag);

/* Follows the brackets and strings of a call's object so that a tag's name inside a string can be told from a tag. Only
 * active when the text begins with a bracket: prose has apostrophes. */
struct call_lexer {
    bool begun, active;
    bool complete; /* the first bracket was closed */
    bool escape;
    char quote; /* of the open string, else 0 */
    char last;  /* the last byte outside strings that is not blank */
    size_t depth;
};

void call_lexer_feed(struct call_lexer *lexer, struct str bytes);

/* Whether `text`, which no </tool_call> ended, was meant as a call: an object, a list, a dialect or a fence, not prose.
 */
bool call_text_is_meant(struct str text);

#endif
