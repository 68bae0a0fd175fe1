/* src/protocol/clean.h
 *
 * Makes text from outside (a page, a program's output, an error of a server) harmless before a model reads it:
 * protocol.md, "What tools return".
 *
 *   - invalid UTF-8 becomes U+FFFD; CR LF and lone CR become LF; other control characters (C0 but newline and tab, DEL,
 * C1) and characters that cannot be seen and could hide a tag (zero-width, bidirectional controls, soft hyphen, tag
 *     characters, the byte order mark) go where they stand inside or beside a tag; elsewhere joiners that scripts need
 * stay;
 *   - every protocol tag (think, tool_call, tool_response, answer, code, tools, function, parameter), opening, closing,
 * with attributes, blanks or in any case, has its "<" turned into "&lt;";
 *   - every control token of a chat template has its first bracket turned into an entity: <|…|> and its full-width
 * form, <s> </s> <bos> <eos> <pad> <unk> <mask>, <start_of_turn> and its like, [INST] [/INST] <<SYS>> [TOOL_CALLS] …
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
