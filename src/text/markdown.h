/* src/text/markdown.h
 *
 * Markdown back to plain text, for snippets and quotations.
 */
#ifndef FATHOM_TEXT_MARKDOWN_H
#define FATHOM_TEXT_MARKDOWN_H

#include "core/buf.h"
#include "core/str.h"

/* Appends `markdown` as one line of plain text: links and images become their text, marks of emphasis, code, headings,
 * quotes, lists and tables go, escapes are undone, white space becomes single spaces. Stops at a character when the cap
 * of `out` is reached (STATUS_TOO_BIG). Linear. */
enum status markdown_to_line(struct str markdown, struct buf *out) STATUS_CHECKED;

#endif
