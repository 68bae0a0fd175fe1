/* src/cli/terminal.h
 *
 * The terminal: what it can do, how wide it is, and the one live line at the bottom of stderr, which messages are
 * printed above. Everything that other programs, models or pages wrote passes terminal_clean on its way here, so that
 * it cannot send escape sequences or turn text around.
 */
#ifndef FATHOM_CLI_TERMINAL_H
#define FATHOM_CLI_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>

#include "core/buf.h"
#include "core/str.h"

/* Looks at stdout and stderr, TERM and NO_COLOR. To be called once, before anything is written. */
void terminal_init(void);

/* Whether stderr can show a live line: a terminal that understands escape sequences. */
bool terminal_is_live(void);

/* Whether stderr, or stdout, takes colours: live, and NO_COLOR unset or empty. */
bool terminal_has_color(void);
bool terminal_output_has_color(void);
bool terminal_output_is_terminal(void);

/* Columns, asked anew each time; 80 where they are unknown. */
int terminal_width(void);

/* Writes a line to stderr, above the live line if there is one. `line` has no newline and is written as it is. */
void terminal_line(struct str line);

/* Writes the line at whose end the person types, without a newline, where the live line would be. */
void terminal_prompt(struct str line);

/* The person has ended the line: the cursor stands at the beginning of the next. */
void terminal_typed(void);

/* Shows `line` as the live line; empty removes it. Nothing where stderr cannot show one. */
void terminal_live(struct str line);

/* ---- pure ---- */

/* Appends `text` with every control character (C0 but newline and tab, DEL, C1), every line or paragraph separator,
 * every bidirectional override and every ill-formed byte as U+FFFD. With `one_line` newlines and tabs become single
 * blanks. */
void terminal_clean(struct buf *out, struct str text, bool one_line);

/* How many columns the clean text takes. */
size_t terminal_columns(struct str text);

/* Appends clean `text`, cut to `columns` with an ellipsis as its last one. Returns the columns taken. */
size_t terminal_fit(struct buf *out, struct str text, size_t columns);

/* Appends clean `text` wrapped at blanks to `width` columns, each line but the first behind `indent` blanks; no newline
 * at the end. Words that are too long stay whole. */
void terminal_wrap(struct buf *out, struct str text, size_t width, size_t indent);

#endif
