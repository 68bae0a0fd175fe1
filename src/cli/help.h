/* src/cli/help.h
 *
 * --help, made from the tables: the command's own and the option table. Readable at 80 columns, whatever the terminal.
 */
#ifndef FATHOM_CLI_HELP_H
#define FATHOM_CLI_HELP_H

#include "cli/cli.h"
#include "core/buf.h"

/* `fathom` alone and `fathom help`: what it is, the commands, where to go on. */
void help_overview(struct buf *out);

/* `fathom COMMAND --help`. */
void help_command(const struct cli_command *command, struct buf *out);

#endif
