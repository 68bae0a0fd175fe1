/* src/core/utf8.h
 *
 * UTF-8: decoding, checking and cutting at boundaries. Definitions after Unicode 15, section 3.9 (table 3-7).
 */
#ifndef FATHOM_CORE_UTF8_H
#define FATHOM_CORE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/buf.h"
#include "core/str.h"

#define UTF8_INVALID 0xFFFFFFFFu

/* Decodes the code point at the start of `s` (not empty) and sets *length to the bytes it takes. For an ill-formed
 * sequence returns UTF8_INVALID and sets *length to its maximal ill-formed part (1 to 3 bytes). */
uint32_t utf8_decode(struct str s, size_t *length);

/* Writes a code point (not a surrogate, at most U+10FFFF) to `out` and returns its length, 1 to 4. */
size_t utf8_encode(uint32_t code_point, char out[4]);

bool utf8_is_valid(struct str s);

/* Number of leading bytes below 128. */
size_t utf8_ascii_prefix(struct str s);

/* Number of leading bytes that form valid UTF-8. */
size_t utf8_valid_prefix(struct str s);

/* The largest length <= `limit` that does not cut a sequence of `s` in two. */
size_t utf8_floor(struct str s, size_t limit);

/* Appends `s` with every maximal ill-formed part replaced by U+FFFD. */
enum status utf8_append_valid(struct buf *out, struct str s) STATUS_CHECKED;

/* Bytes at the end of `s` that begin a sequence but do not complete it (0 to 3): keep them until more bytes come. */
size_t utf8_incomplete_tail(struct str s);

#endif
