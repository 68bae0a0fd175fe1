/* src/model/reply_frame.h
 *
 * A short way for the events of a stream: from one token to the next all their bytes are the same but for the token.
 * What stands around the token in an event that was read in full is kept; an event that has the same around a plain
 * string needs no JSON parser. Everything else goes the long way, so the result is the same.
 */
#ifndef FATHOM_MODEL_REPLY_FRAME_H
#define FATHOM_MODEL_REPLY_FRAME_H

#include <stdbool.h>

#include "core/buf.h"
#include "core/json.h"
#include "core/str.h"

#define REPLY_FRAME_MAX ((size_t)4096) /* longer events are not worth it */

struct reply_frame {
    struct buf before, behind; /* the event up to the token's first byte, and from its closing quote on */
    const char *key;           /* the member that holds the token: static; NULL while nothing is known */
};

void reply_frame_init(struct reply_frame *frame);
void reply_frame_finish(struct reply_frame *frame); /* NULL and zeroed are allowed */

/* Looks at an event that was read in full: `object` is what `event` holds. */
void reply_frame_learn(struct reply_frame *frame, struct str event, const json_t *object);

/* Whether `event` is like the one learnt but for its token; sets *token, which points into it and needs no unescaping.
 */
bool reply_frame_match(const struct reply_frame *frame, struct str event, struct str *token);

#endif
