/* src/core/str.h
 *
 * A borrowed piece of bytes. It owns nothing, need not end in NUL, and lives as long as what it points into. A zeroed
 * one is the empty string.
 */
#ifndef FATHOM_CORE_STR_H
#define FATHOM_CORE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct str {
    const char *data; /* NULL only when len is 0 */
    size_t len;       /* bytes */
};

/* From a string literal. */
#define STR(literal) ((struct str){(literal), sizeof(literal) - 1})

/* For printf: printf("%.*s", STR_ARG(s)). Cut at INT_MAX bytes. */
#define STR_ARG(s) (int)((s).len > 0x7fffffff ? 0x7fffffff : (s).len), ((s).data ? (s).data : "")

/* From a NUL-terminated string; NULL gives the empty one. */
struct str str_of(const char *text);
struct str str_make(const char *data, size_t len);

bool str_equal(struct str a, struct str b);
bool str_equal_ascii_nocase(struct str a, struct str b);
int str_compare(struct str a, struct str b); /* by bytes, like memcmp; the shorter first */
bool str_starts_with(struct str s, struct str prefix);
bool str_ends_with(struct str s, struct str suffix);
bool str_starts_with_nocase(struct str s, struct str prefix);

#define STR_NONE SIZE_MAX

/* Offset of the first occurrence at or after `from`, or STR_NONE. str_find with an empty needle finds `from`. */
size_t str_find(struct str haystack, struct str needle, size_t from);
size_t str_find_nocase(struct str haystack, struct str needle, size_t from); /* ASCII letters */
size_t str_find_char(struct str s, char c, size_t from);
size_t str_rfind_char(struct str s, char c);

/* The bytes from `from` up to but not including `to`, both clamped to the length. */
struct str str_slice(struct str s, size_t from, size_t to);

/* Without ASCII white space at both ends, or at one. */
struct str str_trim(struct str s);
struct str str_trim_start(struct str s);
struct str str_trim_end(struct str s);

/* Takes the next piece up to `separator` off the front of `*rest` into `*piece`. False when nothing is left. "a,,b"
 * gives "a", "", "b"; a trailing separator gives no last empty piece. */
bool str_split_next(struct str *rest, char separator, struct str *piece);

/* Fresh NUL-terminated copy; the caller frees. */
char *str_dup(struct str s);

/* Reads a whole decimal integer (optional sign, nothing around it). False when it is not one or does not fit. */
bool str_to_int64(struct str s, int64_t *out);

/* Reads a whole decimal number as strtod does in the C locale. False when it is not one. */
bool str_to_double(struct str s, double *out);

bool ascii_is_space(char c);
bool ascii_is_digit(char c);
bool ascii_is_alpha(char c);
bool ascii_is_alnum(char c);
char ascii_lower(char c);

#endif
