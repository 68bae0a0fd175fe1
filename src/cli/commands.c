/* src/cli/commands.c: the table of commands, in the order of the help. */
#include "cli/cli.h"

const struct cli_command *const cli_commands[] = {
    &cli_ask,    &cli_search, &cli_scholar, &cli_visit,   &cli_read,   &cli_extract, &cli_index,
    &cli_tokens, &cli_parse,  &cli_tools,   &cli_profile, &cli_doctor, NULL,
};
