/* src/cli/tools.c: fathom tools, what a run would offer, as the model sees it. */
#include "api/option.h"
#include "api/setup.h"
#include "cli/cli.h"
#include "cli/one_call.h"
#include "core/file.h"
#include "core/mem.h"
#include "engine/tool.h"
#include "protocol/profile.h"

#include <stdlib.h>
#include <string.h>

#define MAX_CODE_BYTES ((size_t)1024 * 1024)

static void print_tools(struct cli *cli, const struct setup *setup)
{
    const struct tool_signature **signatures = mem_calloc(setup->n_tools + 1, sizeof(struct tool_signature *));
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
    free(signatures);
}

static void on_say(void *user, const char *sentence)
{
    cli_say(user, "%s", sentence);
}

/* fathom tools call NAME [ARGUMENTS] */
static int call(struct cli *cli)
{
    const char *arguments = cli->n_arguments > 2 ? cli->arguments[2] : "{}", *file = cli_option(cli, "code");
    struct buf code;
    struct error error;
    int exit_code = CLI_FAILED;
    if (cli->n_arguments < 2)
        return cli_wrong_usage(cli, "call needs the name of a tool");
    buf_init(&code, MAX_CODE_BYTES);
    bool read = file == NULL || (strcmp(file, "-") == 0 && cli_read_input(cli, MAX_CODE_BYTES, &code));
    if (!read && strcmp(file, "-") != 0) {
        read = file_read(file, &code, &error) == STATUS_OK;
        if (!read)
            cli_fail_error(cli, &error);
    }
    if (read)
        exit_code = one_call_named(cli, cli->arguments[1], str_of(arguments), buf_str(&code));
    buf_finish(&code);
    return exit_code;
}

static int list(struct cli *cli)
{
    struct setup *setup;
    struct error error;
    const struct setup_options options = {.parts = SETUP_TOOLS, .no_probe = true, .say = on_say, .user = cli};
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

static int run(struct cli *cli)
{
    if (cli->n_arguments == 0)
        return list(cli);
    if (strcmp(cli->arguments[0], "call") == 0)
        return call(cli);
    return cli_wrong_usage(cli, "tools takes nothing, or call NAME [ARGUMENTS]");
}

static const struct cli_option options[] = {
    {.name = "code",
     .argument = "FILE",
     .help = "the program for a call of a tool that takes one; - reads it from stdin"},
};

const struct cli_command cli_tools = {
    .name = "tools",
    .arguments = "[call NAME [ARGUMENTS]]",
    .summary = "Show the tools that a run would offer, exactly as the model sees them, or call one",
    .about =
        "The list as the profile writes it into the prompt; the profile is the one that --profile or the model's name "
        "chooses. With --json the signatures as an array.\n\n"
        "call runs one tool, your own and those of MCP servers included, and shows what the model would see. ARGUMENTS "
        "is a JSON object, checked as a model's would be. The exit code is 1 when the tool failed.",
    .examples = "  fathom tools --profile qwen3\n  fathom tools --tools search --json\n"
                "  fathom tools call search '{\"query\": [\"vfork\"]}' --corpus manuals.db\n"
                "  echo 'print(2 ** 100)' | fathom tools call python --code - --tools python",
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .groups = OPTION_GROUPS_ALL,
    .max_arguments = 3,
    .run = run,
};
