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

#endif
