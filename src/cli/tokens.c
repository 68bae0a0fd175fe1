/* src/cli/tokens.c: fathom tokens, how many tokens a text has, and which. */
#include "cli/tokens_internal.h"

#include <stdio.h>
#include <stdlib.h>

#include "api/config.h"
#include "api/token_setup.h"
#include "cli/text_input.h"
#include "protocol/template.h"
#include "text/token_estimate.h"

/* What the tokenizer takes: places in a text are 32-bit numbers. */
#define MAX_TEXT_BYTES ((size_t)UINT32_MAX - 1)

/* JSON is read whole, and becomes several times as large in memory. */
#define MAX_CHAT_BYTES ((size_t)1 << 30)

static const struct cli_option options[] = {
    {.name = "ids", .help = "print the ids of the tokens, the text of each file on one line"},
    {.name = "pieces",
     .help = "print the tokens one by one: id and text, with what cannot be shown as \\xE4 or \\u{200D}"},
    {.name = "truncate", .argument = "N", .help = "print the longest beginning of the text that has at most N tokens"},
    {.name = "decode", .help = "the other way round: read ids, print their text"},
    {.name = "chat",
     .help =
         "the text is a list of messages, an object with \"messages\", or such on every line: count the prompt that "
         "the chat template makes of them"},
    {.name = "render", .help = "with --chat: print the prompt"},
    {.name = "special", .help = "add the tokens that the tokenizer puts around a text"},
    {.name = "plain", .help = "take special tokens in the text, such as <|im_end|>, for ordinary text"},
    {.name = "skip-special", .help = "with --decode: leave special tokens out"},
};

bool tokens_output_is_open(void)
{
    return !ferror(stdout);
}

/* ---- options ---- */

/* The modes, and what each cannot go with. Returns false after having said what is wrong. */
static bool choose_mode(struct tokens *tokens)
{
    static const struct {
        const char *name;
        enum tokens_mode mode;
    } modes[] = {{"ids", TOKENS_IDS},
                 {"pieces", TOKENS_PIECES},
                 {"truncate", TOKENS_TRUNCATE},
                 {"decode", TOKENS_DECODE},
                 {"render", TOKENS_RENDER}};
    const struct cli *cli = tokens->cli;
    const char *chosen = NULL;
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        if (cli_option(cli, modes[i].name) == NULL)
            continue;
        if (chosen != NULL) {
            cli_wrong_usage(cli, "--%s and --%s exclude each other", chosen, modes[i].name);
            return false;
        }
        chosen = modes[i].name;
        tokens->mode = modes[i].mode;
    }
    return true;
}

static bool check_together(const struct tokens *tokens)
{
    const struct cli *cli = tokens->cli;
    bool special = cli_option(cli, "special") != NULL, plain = cli_option(cli, "plain") != NULL;
    bool decode = tokens->mode == TOKENS_DECODE;
    const char *problem = NULL;
    if (tokens->mode == TOKENS_RENDER && !tokens->chat)
        problem = "--render goes with --chat";
    else if (tokens->chat && (decode || tokens->mode == TOKENS_TRUNCATE))
        problem = decode ? "--chat and --decode exclude each other" : "--chat and --truncate exclude each other";
    else if (tokens->chat && (special || plain))
        problem = "--chat reads prompts as a server does: --special and --plain have no use with it";
    else if (decode && (special || plain))
        problem = "--special and --plain are about texts: --decode has --skip-special";
    else if (!decode && cli_option(cli, "skip-special") != NULL)
        problem = "--skip-special goes with --decode";
    if (problem != NULL)
        cli_wrong_usage(cli, "%s", problem);
    return problem == NULL;
}

static bool read_options(struct tokens *tokens)
{
    const struct cli *cli = tokens->cli;
    const char *limit = cli_option(cli, "truncate");
    tokens->chat = cli_option(cli, "chat") != NULL;
    if (!choose_mode(tokens) || !check_together(tokens))
        return false;
    if (limit != NULL && !config_parse_tokens(str_of(limit), &tokens->limit)) {
        cli_wrong_usage(cli, "--truncate takes a number of tokens, 4096 or 4k, not \"%s\"", limit);
        return false;
    }
    tokens->flags = (cli_option(cli, "special") != NULL ? (unsigned)TOKENIZER_FRAMED : 0) |
                    (cli_option(cli, "plain") != NULL ? (unsigned)TOKENIZER_PLAIN : 0) |
                    (cli_option(cli, "skip-special") != NULL ? (unsigned)TOKENIZER_SKIP_SPECIAL : 0);
    return true;
}

/* What only a tokenizer can do. */
static bool check_tokenizer(const struct tokens *tokens)
{
    const struct cli *cli = tokens->cli;
    if (tokens->tokenizer != NULL || tokens->mode == TOKENS_RENDER)
        return true;
    if (tokens->mode != TOKENS_COUNT || tokens->flags != 0) {
        cli_fail(cli, "this needs the model's tokenizer: --tokenizer PATH, a tokenizer.json, a .tiktoken file or a "
                      "folder that holds one");
        return false;
    }
    cli_say(cli, "No tokenizer is configured: the counts are estimates, made for current models and rather too high. "
                 "--tokenizer PATH counts exactly.");
    return true;
}

static bool check_template(struct tokens *tokens, const struct token_setup *setup)
{
    if (!tokens->chat || tokens->chat_template != NULL)
        return true;
    if (tokens->tokenizer == NULL && tokens->mode == TOKENS_COUNT) {
        tokens->chat_template = template_find(STR("chatml")); /* near enough for an estimate */
        return true;
    }
    cli_fail(tokens->cli, "%s: --chat-template NAME",
             setup->unknown_template ? "the chat template in the tokenizer's files is none that is known here"
                                     : "nothing says which chat template the model has");
    return false;
}

/* ---- texts ---- */

static void take_piece(void *user, struct str piece)
{
    token_estimate_feed(user, piece);
}

/* An estimate needs no more memory for a longer text. */
static bool estimate_stream(struct tokens *tokens, const char *path, const char *shown)
{
    struct token_estimate estimate;
    token_estimate_init(&estimate);
    if (!text_input_stream(tokens->cli, path, take_piece, &estimate))
        return false;
    tokens_show_count(tokens, shown, token_estimate_count(&estimate), NULL);
    return true;
}

static bool do_file(struct tokens *tokens, const char *path, const char *shown)
{
    if (tokens->tokenizer == NULL && !tokens->chat)
        return estimate_stream(tokens, path, shown);
    struct text_input input;
    bool json = tokens->chat || tokens->mode == TOKENS_DECODE, worked = true;
    if (!text_input_open(tokens->cli, path, json ? MAX_CHAT_BYTES : MAX_TEXT_BYTES, &input))
        return false;
    if (tokens->chat)
        worked = tokens_chats(tokens, input.name, shown, input.text);
    else if (tokens->mode == TOKENS_DECODE)
        worked = tokens_decode(tokens, input.name, shown, input.text);
    else
        tokens_show(tokens, shown, input.text, NULL);
    text_input_close(&input);
    return worked;
}

static bool check_exact(const struct tokens *tokens)
{
    struct str pattern;
    if (tokens->tokenizer == NULL || !tokenizer_gave_up(tokens->tokenizer, &pattern))
        return true;
    cli_fail(tokens->cli, "this is not exact: a pattern of the tokenizer needs too many tries on such text: %.*s",
             STR_ARG(pattern));
    return false;
}

static int do_files(struct tokens *tokens)
{
    const struct cli *cli = tokens->cli;
    bool worked = true;
    size_t count = cli->n_arguments;
    if (count == 0)
        return do_file(tokens, "-", NULL) && check_exact(tokens) ? CLI_OK : CLI_FAILED;
    for (size_t i = 0; i < count && tokens_output_is_open(); i++)
        worked = do_file(tokens, cli->arguments[i], count > 1 || cli->json ? cli->arguments[i] : NULL) && worked;
    if (count > 1 && tokens->mode == TOKENS_COUNT && !cli->json)
        cli_print("%8lld total\n", (long long)tokens->total);
    return worked && check_exact(tokens) ? CLI_OK : CLI_FAILED;
}

static int run(struct cli *cli)
{
    struct tokens tokens = {.cli = cli};
    struct token_setup setup;
    struct error error = {0};
    if (!read_options(&tokens))
        return CLI_USAGE;
    if (token_setup_open(cli->config, &setup, &error) != STATUS_OK) {
        cli_fail_error(cli, &error);
        return CLI_USAGE;
    }
    tokens.tokenizer = setup.tokenizer;
    tokens.chat_template = setup.chat_template;
    if (cli->verbose > 0 && token_setup_notice(&setup) != NULL)
        cli_say(cli, "%s", token_setup_notice(&setup));
    int code = CLI_USAGE;
    if (check_tokenizer(&tokens) && check_template(&tokens, &setup))
        code = do_files(&tokens);
    token_setup_close(&setup);
    return code;
}

const struct cli_command cli_tokens = {
    .name = "tokens",
    .arguments = "[FILE\xE2\x80\xA6]",
    .summary = "Count the tokens of texts and chats as the model does, show or decode them",
    .about =
        "Reads files, or stdin where none is named (-), as UTF-8. With the model's tokenizer the ids are those that "
        "the "
        "model sees: what stands in the text as a special token is that token, and nothing is put around it; --special "
        "and --plain change that. Without a tokenizer the count is an estimate.\n\n"
        "--chat takes the messages of a request, or the result of ask --json, and counts the prompt with the opening "
        "of the next reply, as the server does when it is asked for one. With --json each text gives a line: "
        "{\"file\", "
        "\"tokens\", \"method\", \xE2\x80\xA6}.",
    .examples = "  fathom tokens --tokenizer Qwen3-8B/ notes.txt *.md\n"
                "  fathom ask \"\xE2\x80\xA6\" --json | fathom tokens --tokenizer Qwen3-8B/ --chat\n"
                "  echo 'Hello, world' | fathom tokens --tokenizer o200k_base.tiktoken --pieces\n"
                "  fathom tokens --tokenizer tokenizer.json --truncate 4k long.txt > short.txt",
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .groups = OPTION_GROUP_TOKENS,
    .max_arguments = SIZE_MAX,
    .run = run,
};
