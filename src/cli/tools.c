/* src/cli/tools.c: fathom tools, what a run would offer, as the model sees it. */
#include "api/option.h"
#include "api/setup.h"
#include "cli/cli.h"
#include "engine/tool.h"
#include "protocol/profile.h"

static void print_tools(struct cli *cli, const struct setup *setup)
{
    const struct tool_signature *signatures[SETUP_MAX_TOOLS];
    json_t *all = json_array();
    for (size_t i = 0; i < setup->n_tools; i++) {
        signatures[i] = setup->tools[i]->signature;
        json_push(all, json_incref(signatures[i]->json));
    }
    if (cli->json) {
        cli_print_json(all);
    } else {
        struct buf text;
        buf_init(&text, BUF_UNBOUNDED);
        profile_render_tools(setup->profile, signatures, setup->n_tools, &text);
        if (text.len) {
            cli_print_text(buf_str(&text));
            cli_print("\n");
        } else {
            cli_say(cli, "A run would have no tools.");
        }
        buf_finish(&text);
    }
    json_decref(all);
}

static int run(struct cli *cli)
{
    struct setup *setup;
    struct error error;
    const struct setup_options options = {.parts = SETUP_TOOLS, .no_probe = true};
    if (setup_create(cli->config, &options, &setup, &error) != STATUS_OK) {
        cli_fail_error(cli, &error);
        return CLI_USAGE;
    }
    int exit_code = CLI_OK;
    if (setup_prepare(setup, &error) == STATUS_OK)
        print_tools(cli, setup);
    else
        exit_code = cli_fail_error(cli, &error);
    setup_destroy(setup);
    return exit_code;
}

const struct cli_command cli_tools = {
    .name = "tools",
    .arguments = "",
    .summary = "Show the tools that a run would offer, exactly as the model sees them",
    .about =
        "The list as the profile writes it into the prompt; the profile is the one that --profile or the model's name "
        "chooses. With --json the signatures as an array.",
    .examples = "  fathom tools --profile qwen3\n  fathom tools --tools search --json",
    .groups = OPTION_GROUP_MODEL | OPTION_GROUP_RUN | OPTION_GROUP_TOOLS | OPTION_GROUP_NETWORK,
    .run = run,
};
