/* src/protocol/template_learn.h
 *
 * A chat template learnt from a server. The server renders a few probe conversations, whose contents are words that
 * stand nowhere else; from the texts follows what its template writes around each message, what it strips, where it
 * puts the system prompt and what it makes of earlier thought. What was learnt gives every rendering back to the byte,
 * or nothing is learnt.
 */
#ifndef FATHOM_PROTOCOL_TEMPLATE_LEARN_H
#define FATHOM_PROTOCOL_TEMPLATE_LEARN_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/status.h"
#include "core/str.h"
#include "protocol/prompt_view.h"
#include "protocol/template.h"

#define TEMPLATE_PROBE_COUNT 8

/* The messages of a probe, index < TEMPLATE_PROBE_COUNT: what is to be sent as "messages", contents alone, with the
 * generation prompt asked for and no tools. Static. The first is the shape of all our conversations; the others may
 * fail on a server. */
const struct prompt_view *template_probe(size_t index);

/* `rendered[i]` is the text that the server made of probe i, special tokens written out, without what it would put
 * around a text beyond its template; data NULL where it gave none. Gives a named template where one fits, else a new
 * one; template_destroy frees either. STATUS_UNSUPPORTED, with the reason, when no set of pieces gives all texts
 * back. */
enum status template_learn(const struct str rendered[TEMPLATE_PROBE_COUNT], const struct chat_template **out,
                           struct error *error) STATUS_CHECKED;

/* Whether both write the same; of learnt ones too. */
bool template_equal(const struct chat_template *a, const struct chat_template *b);

/* A template as JSON, for the journal of a run: the name of a named one, all pieces of one that was learnt. New
 * reference. */
json_t *template_to_json(const struct chat_template *chat_template);

/* The way back. STATUS_INVALID. template_destroy frees it. */
enum status template_from_json(const json_t *json, const struct chat_template **out,
                               struct error *error) STATUS_CHECKED;

#endif
