/* src/protocol/completion.h
 *
 * A whole completion at once: parser and decoder together, for `fathom parse`, replay and tests. The session uses the
 * parts.
 */
#ifndef FATHOM_PROTOCOL_COMPLETION_H
#define FATHOM_PROTOCOL_COMPLETION_H

#include "core/buf.h"
#include "core/json.h"
#include "core/status.h"
#include "core/str.h"
#include "protocol/call.h"
#include "protocol/tag_parser.h"

struct completion_options {
    struct tag_parser_options parser;
    enum tag_end end;
    struct call_options calls; /* zeroed: any name, no schema */
};

/* Reads one completion into a new object: {"think", "calls": [{"name", "arguments", "code", "error"}], "answer",
 * "cut_at_tool_response", "repairs": [names]}, null where something is absent. `options` NULL reads as a model that
 * thinks and ended by itself. STATUS_TOO_BIG when an element outgrows the parser's cap. */
enum status completion_to_json(struct str text, const struct completion_options *options, json_t **out,
                               struct error *error) STATUS_CHECKED;

/* Appends what stands outside thought and outside calls, trimmed: the prediction of a forced reply without an answer.
 */
enum status completion_plain_text(struct str text, const struct completion_options *options,
                                  struct buf *out) STATUS_CHECKED;

#endif
