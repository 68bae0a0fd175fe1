/* src/core/base64.h
 *
 * Base64 (RFC 4648, section 4: the usual alphabet, padded, no line breaks), for bytes inside JSON.
 */
#ifndef FATHOM_CORE_BASE64_H
#define FATHOM_CORE_BASE64_H

#include "core/buf.h"
#include "core/status.h"
#include "core/str.h"

/* Appends the encoded form of `bytes`. STATUS_TOO_BIG when `out`'s cap would be passed; nothing is appended then. */
enum status base64_append(struct buf *out, struct str bytes) STATUS_CHECKED;

/* Appends the bytes that `text` encodes. STATUS_SYNTAX when it is not such text, to the last padding character;
 * STATUS_TOO_BIG as above. Nothing is appended then. */
enum status base64_decode(struct buf *out, struct str text) STATUS_CHECKED;

#endif
