/* src/cli/scholar.c: fathom scholar, the tool google_scholar by itself. */
#include "api/option.h"
#include "cli/cli.h"
#include "cli/one_call.h"

static int run(struct cli *cli)
{
    return one_call_queries(cli, "google_scholar");
}

const struct cli_command cli_scholar = {
    .name = "scholar",
    .arguments = "QUERY\xE2\x80\xA6",
    .summary = "Search for papers as the model does, and show what it would see",
    .about = "Each argument is a query of its own; all go out at once. No key is needed: OpenAlex, Semantic Scholar, "
             "Crossref "
             "and arXiv are asked in turn until one finds something. The exit code is 1 when the search failed.",
    .examples = "  fathom scholar \"discovery of argon\" \"Rayleigh Ramsay 1895\"\n"
                "  fathom scholar --scholar arxiv,crossref --search-results 3 \"attention is all you need\"",
    .groups = OPTION_GROUP_RUN | OPTION_GROUP_TOOLS | OPTION_GROUP_NETWORK,
    .min_arguments = 1,
    .max_arguments = 10,
    .run = run,
};
