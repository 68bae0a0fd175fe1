/* src/cli/search.c: fathom search, the tool by itself. */
#include "api/option.h"
#include "cli/cli.h"
#include "cli/one_call.h"

static int run(struct cli *cli)
{
    json_t *arguments = json_object(), *queries = json_array();
    for (size_t i = 0; i < cli->n_arguments; i++) {
        struct str query = str_trim(str_of(cli->arguments[i]));
        if (query.len == 0) {
            json_decref(queries);
            json_decref(arguments);
            return cli_wrong_usage(cli, "a query is empty");
        }
        json_push(queries, json_from_str(query));
    }
    json_put(arguments, "query", queries);
    return one_call(cli, "search", arguments, false);
}

const struct cli_command cli_search = {
    .name = "search",
    .arguments = "QUERY\xE2\x80\xA6",
    .summary = "Search as the model does, and show what it would see",
    .about = "Each argument is a query of its own; all go out at once. The exit code is 1 when the search failed.",
    .examples = "  fathom search \"vfork\" \"copy on write fork\" --corpus manuals.db\n"
                "  SEARXNG_URL=http://127.0.0.1:8888 fathom search --json \"discovery of argon\"",
    .groups = OPTION_GROUP_RUN | OPTION_GROUP_TOOLS | OPTION_GROUP_NETWORK,
    .min_arguments = 1,
    .max_arguments = 10,
    .run = run,
};
