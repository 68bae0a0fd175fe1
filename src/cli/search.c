/* src/cli/search.c: fathom search, the tool by itself. */
#include "api/option.h"
#include "cli/cli.h"
#include "cli/one_call.h"

static int run(struct cli *cli)
{
    return one_call_queries(cli, "search");
}

const struct cli_command cli_search = {
    .name = "search",
    .arguments = "QUERY\xE2\x80\xA6",
    .summary = "Search as the model does, and show what it would see",
    .about =
        "Each argument is a query of its own; all go out at once. Which service answered is said, and why another did "
        "not. The exit code is 1 when the search failed.",
    .examples = "  fathom search \"vfork\" \"copy on write fork\" --corpus manuals.db\n"
                "  fathom search \"discovery of argon\" --search wikipedia,duckduckgo\n"
                "  SEARXNG_URL=http://127.0.0.1:8888 fathom search --json \"discovery of argon\"",
    .groups = OPTION_GROUP_RUN | OPTION_GROUP_TOOLS | OPTION_GROUP_NETWORK,
    .min_arguments = 1,
    .max_arguments = 10,
    .run = run,
};
