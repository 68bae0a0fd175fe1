/* src/cli/cli.h
 *
 * What a command is to the program, and what the program is to a command.
 *
 * Every command is one file with one `const struct cli_command`, named in the table of commands.c. main() finds the
 * command, parses its options (its own, and those of the groups of the one option table that it names, api/option.h),
 * resolves the configuration, answers --help, and calls `run`, whose result is the exit code. Results go to stdout,
 * everything else to stderr. Only this room writes to the terminal.
 */
#ifndef FATHOM_CLI_CLI_H
#define FATHOM_CLI_CLI_H

#include <stdbool.h>
#include <stddef.h>

#include "core/buf.h"
#include "core/json.h"
#include "core/status.h"
#include "core/str.h"

struct config; /* api/config.h */

enum cli_exit {
    CLI_OK = 0,
    CLI_FAILED = 1,        /* the work failed */
    CLI_USAGE = 2,         /* wrong usage or configuration */
    CLI_INTERRUPTED = 130, /* by Ctrl-C */
};

/* An option that only one command has. Options that also stand in configuration files belong to api/option.c. */
struct cli_option {
    const char *name;     /* without dashes: "into" */
    char letter;          /* short form, 0 for none */
    const char *argument; /* "FILE.db"; NULL for a switch */
    const char *help;     /* one sentence without a full stop */
};

struct cli;

struct cli_command {
    const char *name;
    const char *arguments; /* as --help shows them: "QUESTION", "DIR…"; "" for none */
    const char *summary;   /* one line for the list of commands */
    const char *about;     /* paragraphs for --help, separated by empty lines; wrapped there. NULL for none */
    const char *examples;  /* lines for --help, shown as they are; NULL for none */
    const struct cli_option *options;
    size_t n_options;
    unsigned groups;             /* OPTION_GROUP_… of api/option.h; 0: the command takes no configuration */
    size_t min_arguments;        /* fewer, or more than max_arguments, is wrong usage */
    size_t max_arguments;        /* SIZE_MAX for any number */
    int (*run)(struct cli *cli); /* returns an enum cli_exit */
};

/* The invocation. Everything is borrowed until main() ends. --json, --quiet, --verbose and --help are understood by
 * every command and need no entry. */
struct cli {
    const struct cli_command *command;
    const char *const *arguments; /* what is not an option; everything behind "--" */
    size_t n_arguments;
    const struct config *config; /* resolved; NULL when the command names no groups */
    bool json;                   /* --json: machine-readable results */
    bool quiet;                  /* -q: errors only */
    int verbose;                 /* -v, several times for more */
};

/* The last value of one of the command's own options, "" for a switch that was given, NULL when it was not. */
const char *cli_option(const struct cli *cli, const char *name);

/* ---- saying things; stderr unless said otherwise ---- */

/* "fathom index: message"; returns CLI_FAILED, so that `return cli_fail(cli, "…")` reads well. A message may come from
 * a server or a file: control characters in it are shown as U+FFFD. */
int cli_fail(const struct cli *cli, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same for an error with its place. */
int cli_fail_error(const struct cli *cli, const struct error *error);

/* The message, and where to find help; returns CLI_USAGE. */
int cli_wrong_usage(const struct cli *cli, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* One line of progress or advice; nothing with --quiet. */
void cli_say(const struct cli *cli, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Writes to stdout; failures are noticed by main(), which then ends with CLI_FAILED. cli_print_text is for text from
 * models and pages: on a terminal its control characters (but newline and tab) are shown as U+FFFD. */
void cli_print(const char *format, ...) __attribute__((format(printf, 1, 2)));
void cli_print_text(struct str text);
void cli_print_json(const json_t *value); /* compact, one line */

/* Reads stdin to its end, at most `max_bytes`; false after having said why not. */
bool cli_read_input(const struct cli *cli, size_t max_bytes, struct buf *out);

/* ---- the commands ---- */

extern const struct cli_command cli_ask, cli_doctor, cli_extract, cli_index, cli_parse, cli_profile, cli_scholar,
    cli_search, cli_read, cli_tokens, cli_tools, cli_visit;

/* All commands in the order of the help; NULL at the end. */
extern const struct cli_command *const cli_commands[];

#endif
