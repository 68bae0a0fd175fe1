/* src/cli/one_call.h
 *
 * One tool call outside a run, for `fathom search`, `scholar`, `visit`, `read` and `tools call`: what the model would
 * see, on stdout.
 */
#ifndef FATHOM_CLI_ONE_CALL_H
#define FATHOM_CLI_ONE_CALL_H

#include "cli/cli.h"
#include "tools/visit/visit.h"

/* Calls `tool` with `arguments` (the reference is taken) and prints its text, or with --json {"tool", "arguments",
 * "status", "text", "sources", "truncated", "elapsed_ms"}. With `with_model` a model is set up for it. Returns the exit
 * code: 0 when the tool did what was asked. */
int one_call(struct cli *cli, const char *tool, json_t *arguments, bool with_model);

/* The same for a tool whose arguments are {"query": […]}: each argument of the command is one. */
int one_call_queries(struct cli *cli, const char *tool);

/* Calls parse_file with `arguments` (the reference is taken) for these files in place of those of the configuration; a
 * model is set up where one is named for images or sound. */
int one_call_files(struct cli *cli, json_t *arguments, const char *const *files, size_t n_files, struct str question);

/* Calls visit with `arguments` (the reference is taken) and prints nothing: `take` gets each page. Returns the exit
 * code: 0 when any page was had. */
int one_call_pages(struct cli *cli, json_t *arguments, visit_take_fn take, void *user);

/* Calls the tool of the configured run that goes by `name`, own tools and those of MCP servers included, as a model
 * would: `arguments` is JSON as forgivingly read as a model's, and has to fit the tool's schema. */
int one_call_named(struct cli *cli, const char *name, struct str arguments, struct str code);

#endif
