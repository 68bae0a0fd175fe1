/* src/text/charset_internal.h
 *
 * What the files of the charset module say to each other. Names of sets are those of charset_of_label: static strings.
 */
#ifndef FATHOM_TEXT_CHARSET_INTERNAL_H
#define FATHOM_TEXT_CHARSET_INTERNAL_H

#include "text/charset.h"

/* The value behind `name` "=" at or after `from`, without quotes; empty when there is none. Borrowed. */
struct str charset_parameter(struct str s, struct str name, size_t from);

/* What markup says of itself: an XML declaration, else the first <meta> that names a known set outside comments,
 * scripts and the like (https://html.spec.whatwg.org/#prescan-a-byte-stream-to-determine-its-encoding, but over more
 * bytes). NULL when it says nothing. */
const char *charset_declared(struct str bytes);

/* What the bytes themselves show, of the first so many above 127. */
struct charset_survey {
    size_t high;     /* bytes above 127 that were looked at */
    size_t good;     /* well-formed UTF-8 sequences among them */
    size_t weight;   /* their bytes but for the first of each */
    size_t bad;      /* ill-formed ones; what may go on behind the end does not count */
    size_t accents;  /* ill-formed ones of one byte that would be a letter in most sets */
    size_t adjacent; /* bytes above 127 next to another */
    bool whole;      /* all bytes were looked at */
};

struct charset_survey charset_survey(struct str bytes);

/* "utf-16le" or "utf-16be" when the NULs stand as in text of that kind, else NULL. */
const char *charset_of_zeros(struct str bytes);

/* Whether bytes can hardly be in a set that somebody claims. */
bool charset_contradicts(const char *name, const struct charset_survey *survey, struct str bytes, bool markup);

/* Whether bytes without one above 127 switch to Japanese as ISO-2022-JP does. */
bool charset_has_jis_escapes(struct str bytes);

/* uchardet's guess, where it bears a second look; NULL without one. */
const char *charset_guess(struct str bytes, bool markup);

/* Whether every byte of the set is a character by itself, so that a table of 256 converts it. */
bool charset_is_single_byte(const char *name);

/* The characters of a single-byte set, U+FFFD where there is none. False when iconv does not know it. */
bool charset_table(const char *name, uint32_t table[256]);

#endif
