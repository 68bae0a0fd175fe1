/* src/protocol/template_wire.h
 *
 * What chat templates do to text, on text in wire form (the inside of a JSON string). Results are slices of the
 * argument.
 */
#ifndef FATHOM_PROTOCOL_TEMPLATE_WIRE_H
#define FATHOM_PROTOCOL_TEMPLATE_WIRE_H

#include <stdbool.h>

#include "core/str.h"

/* Without white space at both ends, at the start, at the end: Jinja's trim; Python's str.strip, lstrip and rstrip. */
struct str wire_trim(struct str s);
struct str wire_trim_start(struct str s);
struct str wire_trim_end(struct str s);

/* Without newlines at the start, at the end. */
struct str wire_strip_newlines_start(struct str s);
struct str wire_strip_newlines_end(struct str s);

/* What stands before the first `mark`, behind the first, behind the last; all of it where there is none. */
struct str wire_before_first(struct str s, struct str mark);
struct str wire_behind_first(struct str s, struct str mark);
struct str wire_behind_last(struct str s, struct str mark);

#endif
