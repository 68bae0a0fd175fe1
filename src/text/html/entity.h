/* src/text/html/entity.h
 *
 * Character references of HTML: `&eacute;`, `&#233;`, `&#xE9;`, after the HTML Standard, section 13.2.5.72 and its list
 * of named references (section 13.5), the old ones without a semicolon too.
 */
#ifndef FATHOM_TEXT_HTML_ENTITY_H
#define FATHOM_TEXT_HTML_ENTITY_H

#include "core/str.h"

#define HTML_ENTITY_MAX_BYTES 8 /* that one reference can stand for */

/* Decodes the reference that `s` begins with ('&' is its first byte) to `out` as UTF-8 and returns the length of that;
 * `*used` is set to the bytes of `s` it takes. 0 when it begins with no reference: then '&' is a character. In an
 * attribute, old names without a semicolon before a letter, a digit or '=' are none. */
size_t html_entity_decode(struct str s, bool in_attribute, char out[HTML_ENTITY_MAX_BYTES], size_t *used);

/* The room that html_decode needs for a text of that length. */
#define HTML_DECODED_ROOM(length) ((length) + (length) / 4 + HTML_ENTITY_MAX_BYTES)

/* Copies `s` to `out` with all references decoded; returns the length. */
size_t html_decode(struct str s, bool in_attribute, char *out);

#endif
