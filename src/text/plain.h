/* src/text/plain.h
 *
 * A short piece of HTML or XML as plain text: for titles and snippets that services send with <strong> marks, <jats:p>
 * and entities. Pages go through text/html/html.h.
 */
#ifndef FATHOM_TEXT_PLAIN_H
#define FATHOM_TEXT_PLAIN_H

#include "core/buf.h"
#include "core/str.h"

/* Appends `markup` without tags, comments and the insides of script and style; what a browser shows as a break (br, p,
 * div, li, td, headings …) becomes a blank, inline marks nothing. HTML's named entities and numeric ones are decoded,
 * once; an unknown one, and a "<" that begins no tag ("a < b"), stay as they are. Invalid UTF-8 stays too.
 * STATUS_TOO_BIG when the cap of `out` is reached; what was appended stays then. */
enum status plain_from_markup(struct buf *out, struct str markup) STATUS_CHECKED;

#endif
