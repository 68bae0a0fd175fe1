/* src/cli/parse.c: fathom parse, what the program understands of one completion. */
#include <string.h>

#include "cli/cli.h"
#include "protocol/completion.h"

#define MAX_COMPLETION_BYTES (64u << 20)

static const struct cli_option options[] = {
    {.name = "thought",
     .argument = "expected|open|none",
     .help = "Whether the model thinks, and whether its server's template wrote <think> already (default: expected)"},
    {.name = "end",
     .argument = "stop|length|broken",
     .help = "How the completion ended: by itself, at a cap, or with a broken stream (default: stop)"},
};

/* The index of `value` among `words`, 0 for NULL, -1 for another word. */
static int choose(const char *value, const char *const words[3])
{
    for (int i = 0; value && i < 3; i++) {
        if (strcmp(value, words[i]) == 0)
            return i;
    }
    return value ? -1 : 0;
}

static void print_member(const json_t *object, const char *key, const char *label)
{
    const json_t *value = json_object_get(object, key);
    if (json_is_null(value))
        return;
    cli_print("%s", label);
    if (json_is_string(value)) {
        cli_print_text(str_make(json_string_value(value), json_string_length(value)));
        cli_print("\n");
    } else {
        cli_print_json(value);
    }
}

static void print_readable(const json_t *completion)
{
    size_t i;
    json_t *call;
    print_member(completion, "think", "think: ");
    json_array_foreach (json_object_get(completion, "calls"), i, call) {
        cli_print("call: ");
        if (json_is_null(json_object_get(call, "name")))
            cli_print("?\n");
        print_member(call, "name", "");
        print_member(call, "arguments", "  arguments: ");
        print_member(call, "code", "  code: ");
        print_member(call, "error", "  error: ");
    }
    print_member(completion, "answer", "answer: ");
    if (json_is_true(json_object_get(completion, "cut_at_tool_response")))
        cli_print("cut where the model began a <tool_response> itself\n");
    if (json_array_size(json_object_get(completion, "repairs")) > 0)
        print_member(completion, "repairs", "repairs: ");
}

static int run(struct cli *cli)
{
    static const char *const thoughts[] = {"expected", "open", "none"}, *const ends[] = {"stop", "length", "broken"};
    int thought = choose(cli_option(cli, "thought"), thoughts), end = choose(cli_option(cli, "end"), ends);
    if (thought < 0)
        return cli_wrong_usage(cli, "--thought takes expected, open or none");
    if (end < 0)
        return cli_wrong_usage(cli, "--end takes stop, length or broken");
    struct buf text;
    struct error error;
    json_t *completion = NULL;
    int exit_code = CLI_FAILED;
    buf_init(&text, MAX_COMPLETION_BYTES);
    if (cli_read_input(cli, MAX_COMPLETION_BYTES, &text)) {
        struct completion_options reading = {
            .parser = {.thought_expected = thought != 2,
                       .thought_open = thought == 1,
                       .max_element_bytes = MAX_COMPLETION_BYTES},
            .end = end == 0   ? TAG_END_STOP
                   : end == 1 ? TAG_END_LENGTH
                              : TAG_END_BROKEN,
        };
        if (completion_to_json(buf_str(&text), &reading, &completion, &error) != STATUS_OK) {
            cli_fail_error(cli, &error);
        } else {
            if (cli->json)
                cli_print_json(completion);
            else
                print_readable(completion);
            exit_code = CLI_OK;
        }
    }
    json_decref(completion);
    buf_finish(&text);
    return exit_code;
}

const struct cli_command cli_parse = {
    .name = "parse",
    .arguments = "",
    .summary = "Show what is understood of one completion, read from stdin",
    .about =
        "Reads a completion in the tag protocol and shows its thought, its calls as they would be run, its answer, and "
        "what had to be repaired. Any tool name is taken, and arguments are not checked against a schema.",
    .examples = "  fathom parse --json < completion.txt",
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .run = run,
};
