/* src/cli/visit.c: fathom visit, the tool by itself. */
#include <string.h>

#include "api/config.h"
#include "cli/cli.h"
#include "cli/one_call.h"

static int run(struct cli *cli)
{
    const char *goal = cli_option(cli, "goal");
    if (goal == NULL || str_trim(str_of(goal)).len == 0)
        return cli_wrong_usage(cli, "--goal is missing: what do you want to learn from the page?");
    json_t *arguments = json_object(), *urls = json_array();
    for (size_t i = 0; i < cli->n_arguments; i++)
        json_push(urls, json_from_str(str_of(cli->arguments[i])));
    json_put(arguments, "url", urls);
    json_put_str(arguments, "goal", str_of(goal));
    bool extractive = strcmp(config_text(cli->config, OPTION_SUMMARIZER), "extractive") == 0;
    return one_call(cli, "visit", arguments, !extractive);
}

static const struct cli_option options[] = {
    {.name = "goal", .letter = 'g', .argument = "TEXT", .help = "what you want to learn from the pages"},
};

const struct cli_command cli_visit = {
    .name = "visit",
    .arguments = "URL\xE2\x80\xA6",
    .summary = "Read pages as the model does, and show what it would see",
    .about = "Pages are read in parallel; corpus:// links come from the file given with --corpus. The exit code is 1 "
             "when no page could be read.",
    .examples = "  fathom visit https://example.org/ --goal \"who runs this site\"\n"
                "  fathom visit corpus://man2/vfork.2.gz --goal \"what it shares\" --corpus man.db",
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .groups = OPTION_GROUPS_ALL,
    .min_arguments = 1,
    .max_arguments = 20,
    .run = run,
};
