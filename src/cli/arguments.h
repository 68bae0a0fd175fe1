/* src/cli/arguments.h
 *
 * The command line of one command: options of its own, options of the table, and arguments. Nothing is printed here but
 * the reason why a command line is wrong.
 */
#ifndef FATHOM_CLI_ARGUMENTS_H
#define FATHOM_CLI_ARGUMENTS_H

#include "api/config.h"
#include "cli/cli.h"

/* What stood on the command line. The public part is what commands see. */
struct arguments {
    struct cli cli;
    struct config *config; /* the flags, then all of it; NULL for commands without configuration */
    const char **list;     /* cli.arguments */
    size_t capacity;
    const char **given; /* by the command's options: the last value, "" for a switch, NULL where it was not given */
    bool help;
    const char *config_path; /* --config */
    bool no_config;          /* --no-config */
};

/* Reads `argv` behind the command's name. False after having said what is wrong. */
bool arguments_parse(struct arguments *arguments, const struct cli_command *command, int argc, char *const *argv);

/* Adds environment and files to the flags and resolves. False after having said what is wrong. */
bool arguments_configure(struct arguments *arguments);

void arguments_finish(struct arguments *arguments);

#endif
