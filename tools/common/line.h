/* tools/common/line.h
 *
 * Text from outside as one line: valid UTF-8, white space and control characters as single blanks, none at the ends,
 * cut with "…". For titles, snippets, addresses in messages.
 */
#ifndef FATHOM_TOOLS_COMMON_LINE_H
#define FATHOM_TOOLS_COMMON_LINE_H

#include "core/buf.h"
#include "core/str.h"

/* Appends at most `max_bytes` of it, and "…" where that cut something. */
void line_add(struct buf *out, struct str text, size_t max_bytes);

/* The same as a fresh NUL-terminated string. */
char *line_make(struct str text, size_t max_bytes);

#endif
