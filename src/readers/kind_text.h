/* src/readers/kind_text.h
 *
 * Kinds of text, and the readers for the smaller of them.
 */
#ifndef FATHOM_READERS_KIND_TEXT_H
#define FATHOM_READERS_KIND_TEXT_H

#include "readers/internal.h"

/* The kind of what is no binary file. `text` may be in any character set; `name` is a bare file name. */
enum reader_kind text_kind_of(struct str text, struct str name, struct str content_type);

/* "text/html" of "Text/HTML; charset=x" */
struct str media_type(struct str content_type);

#endif
