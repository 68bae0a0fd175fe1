/* src/protocol/clean.h
 *
 * Makes text from outside (a page, a program's output, an error of a server) harmless before a model reads it:
 * protocol.md, "What tools return".
 *
 *   - invalid UTF-8 becomes U+FFFD; CR LF and lone CR become LF; other control characters (C0 but newline and tab,
 *     DEL, C1), Unicode's tag characters and bidirectional overrides go, before tags are looked for, so that none hides
 *     one;
 *   - every protocol tag (think, tool_call, tool_response, answer, code, tools, function, parameter, and those of the
 *     dialects), opening, closing, with attributes, blanks, in any case, or with zero-width characters in its name, has
 *     its "<" turned into "&lt;";
 *   - every control token of a chat template has its first bracket turned into an entity: <|…|> and its full-width
 * form, <s> </s> <bos> <eos>, <start_of_turn> and its like, [INST] [/INST] <<SYS>> [TOOL_CALLS] …
 *
 * What is clean stays as it is: cleaning twice changes nothing more.
 */
#ifndef FATHOM_PROTOCOL_CLEAN_H
#define FATHOM_PROTOCOL_CLEAN_H

#include "core/buf.h"
#include "core/status.h"
#include "core/str.h"

/* Appends the clean form of `text`. STATUS_TOO_BIG when `out`'s cap is passed; nothing is appended then. */
enum status clean_text(struct buf *out, struct str text) STATUS_CHECKED;

#endif
