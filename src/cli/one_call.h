/* src/cli/one_call.h
 *
 * One tool call outside a run, for `fathom search` and `fathom visit`: what the model would see, on stdout.
 */
#ifndef FATHOM_CLI_ONE_CALL_H
#define FATHOM_CLI_ONE_CALL_H

#include "cli/cli.h"

/* Calls `tool` with `arguments` (the reference is taken) and prints its text, or with --json {"tool", "arguments",
 * "status", "text", "sources", "truncated", "elapsed_ms"}. With `with_model` a model is set up for it. Returns the exit
 * code: 0 when the tool did what was asked. */
int one_call(struct cli *cli, const char *tool, json_t *arguments, bool with_model);

#endif
