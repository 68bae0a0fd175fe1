/* src/core/lenient_json.h
 *
 * Reads JSON as language models write it: JSON5, Python literals, and damage that leaves no doubt about what was meant.
 * The reader turns the text into strict JSON, which jansson then parses: jansson has the last word.
 *
 * Nothing is invented. Brackets that are missing after complete values are supplied; a value, key or string that breaks
 * off is not, and the text is refused. Valid JSON passes unchanged and without repairs. Linear in the text, no
 * recursion.
 */
#ifndef FATHOM_CORE_LENIENT_JSON_H
#define FATHOM_CORE_LENIENT_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/buf.h"
#include "core/json.h"
#include "core/status.h"
#include "core/str.h"

#define LENIENT_MAX_DEPTH 512

/* Repairs, a set. */
enum lenient_repair {
    LENIENT_JSON5 = 1 << 0,       /* comments, single quotes, unquoted keys, trailing commas, hexadecimal, +1, .5, 5. */
    LENIENT_PYTHON = 1 << 1,      /* True False None, tuples, prefixes, triple quotes, adjacent strings */
    LENIENT_RAW_CONTROL = 1 << 2, /* raw control characters in strings */
    LENIENT_BAD_ESCAPE = 1 << 3, /* a backslash that begins no escape (kept as a backslash), lone surrogates (U+FFFD) */
    LENIENT_QUOTES = 1 << 4,     /* typographic delimiters, unescaped quotes inside a string, a missing closing quote */
    LENIENT_BRACKETS = 1 << 5,   /* brackets missing, too many or of the wrong kind */
    LENIENT_SEPARATORS = 1 << 6, /* commas or colons missing or doubled */
    LENIENT_BARE_WORDS = 1 << 7, /* unquoted strings as values, with LENIENT_ALLOW_BARE */
    LENIENT_NON_FINITE = 1 << 8, /* NaN, Infinity: JSON has none; they become strings */
    LENIENT_INVALID_UTF8 = 1 << 9, /* replaced by U+FFFD */
};

enum lenient_flag {
    LENIENT_NO_COMPLETION = 1 << 0, /* the text may have been cut at its end: supply no closing bracket there */
};

struct lenient_result {
    uint32_t repairs; /* enum lenient_repair */
    size_t consumed;  /* bytes up to the end of the value (without what follows it) */
};

/* Reads the first value in `text`, which must begin with it but for white space and comments, into strict JSON appended
 * to `out`. What follows the value is left to the caller. STATUS_SYNTAX with line and column in `text`; STATUS_TOO_BIG
 * when nested deeper than LENIENT_MAX_DEPTH or `out` is full. */
enum status lenient_json_repair(struct str text, unsigned flags, struct buf *out, struct lenient_result *result,
                                struct error *error) STATUS_CHECKED;

/* The same, parsed: a new reference in *out. */
enum status lenient_json_parse(struct str text, unsigned flags, json_t **out, struct lenient_result *result,
                               struct error *error) STATUS_CHECKED;

#endif
