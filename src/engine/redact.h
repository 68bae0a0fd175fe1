/* src/engine/redact.h
 *
 * What must not leave with a text: keys, which nobody may read, and places, which the person in front of the program
 * may read but no file that is kept or passed on. Both look for what they know; they are the last line, behind tools
 * and clients that do not write such things into their texts.
 */
#ifndef FATHOM_ENGINE_REDACT_H
#define FATHOM_ENGINE_REDACT_H

#include "core/buf.h"
#include "core/str.h"

struct redaction; /* what is known of one configuration; read by any thread once made */

/* Everything is copied. `secrets`: keys and passwords; those shorter than 8 bytes are not looked for. They are found as
 * they are and percent-encoded. `places`: an absolute path stands for itself and all below it, anything else for a host
 * of that name. */
struct redaction *redaction_create(const char *const *secrets, size_t n_secrets, const char *const *places,
                                   size_t n_places);
void redaction_destroy(struct redaction *redaction); /* NULL is allowed */

/* The text with "[removed]" for every secret: `text` itself where there is none, else what is in `copy` then. */
struct str redact_secrets(const struct redaction *redaction, struct str text, struct buf *copy);

/* Appends the text with "[internal address]" for every address that is not on the public internet (literals, with their
 * port; localhost; names below .local, .internal, .lan and the like; the hosts among the places, behind "//" or before
 * a port) and "[local path]" for what begins as paths of this machine do, or with one of the places. Linear. `out` has
 * no cap. */
void redact_places(const struct redaction *redaction, struct str text, struct buf *out);

#endif
