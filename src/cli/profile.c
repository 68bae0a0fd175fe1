/* src/cli/profile.c: fathom profile, the forms of the protocol: list them, show one, make one from a clone of the
 * reference. */
#include "protocol/profile.h"

#include <stdlib.h>
#include <string.h>

#include "api/config.h"
#include "api/option.h"
#include "cli/cli.h"
#include "protocol/profile_import.h"

static const struct cli_option options[] = {
    {.name = "into", .argument = "DIR", .help = "import: the folder of the new profile; it is made and must be empty"},
};

static int list(struct cli *cli, const struct profile_source *source)
{
    char **names = profile_list(source);
    json_t *all = json_array();
    struct error error;
    int exit_code = CLI_OK;
    for (size_t i = 0; names[i]; i++) {
        struct profile *profile;
        if (profile_load(names[i], source, &profile, &error) != STATUS_OK) {
            exit_code = cli_fail_error(cli, &error);
            continue;
        }
        json_t *whole = profile_to_json(profile), *entry = json_object();
        static const char *const keys[] = {"name", "description", "origin", "hash"};
        for (size_t k = 0; k < 4; k++)
            json_put(entry, keys[k], json_incref(json_object_get(whole, keys[k])));
        json_put(entry, "models", json_incref(json_object_get(json_object_get(whole, "settings"), "models")));
        json_push(all, entry);
        if (!cli->json)
            cli_print("%-12s %s\n", profile->name, profile->description);
        json_decref(whole);
        profile_destroy(profile);
    }
    if (cli->json)
        cli_print_json(all);
    json_decref(all);
    profile_list_free(names);
    return exit_code;
}

static void print_value(const char *key, const json_t *value)
{
    char *text = json_to_text(value);
    cli_print("%s: %s\n", key, text);
    free(text);
}

static void print_texts(const char *prefix, json_t *texts)
{
    const char *key;
    json_t *entry;
    json_object_foreach (texts, key, entry) {
        const char *syntax = json_get_string(entry, "syntax"), *append = json_get_string(entry, "append");
        cli_print("\n---- %s%s (%s%s%s)\n", prefix, key, json_get_string(entry, "origin"), syntax ? ", " : "",
                  syntax ? syntax : "");
        struct str text = json_get_str(entry, "text");
        if (text.len)
            cli_print_text(text);
        cli_print("\n");
        if (append)
            cli_print("[followed by %s]\n", append);
    }
}

static int show(struct cli *cli, const struct profile_source *source)
{
    struct profile *profile;
    struct error error;
    if (profile_load(cli->arguments[1], source, &profile, &error) != STATUS_OK)
        return cli_fail_error(cli, &error);
    json_t *whole = profile_to_json(profile);
    if (cli->json) {
        cli_print_json(whole);
    } else {
        const char *key;
        json_t *value;
        cli_print("%s: %s (%s)\n", profile->name, profile->description, profile->origin);
        json_object_foreach (json_object_get(whole, "settings"), key, value)
            print_value(key, value);
        cli_print("hash: %s\n", profile->hash);
        print_texts("", json_object_get(whole, "prompts"));
        print_texts("tools/", json_object_get(whole, "tools"));
    }
    json_decref(whole);
    profile_destroy(profile);
    return CLI_OK;
}

/* One prompt of an import: a line, or a member of `object`. */
static void report_prompt(struct cli *cli, json_t *object, const char *prompt, const char *name, size_t bytes)
{
    if (!name) {
        json_put(object, prompt, NULL);
        return;
    }
    json_t *entry = json_object();
    json_put_str(entry, "from", str_of(name));
    json_put(entry, "bytes", json_integer((json_int_t)bytes));
    json_put(object, prompt, entry);
    if (!cli->json)
        cli_print("%-12s from %s, %zu bytes\n", prompt, name, bytes);
}

static int report_import(struct cli *cli, const struct profile_import *report, const char *into)
{
    json_t *object = json_object();
    json_put_str(object, "source", str_of(report->source));
    json_put_str(object, "into", str_of(into));
    if (!cli->json)
        cli_print("read %s\n", report->source);
    report_prompt(cli, object, "system", report->system_name, report->system_bytes);
    report_prompt(cli, object, "question", report->question_name, report->question_bytes);
    report_prompt(cli, object, "page-summary", report->summary_name, report->summary_bytes);
    if (!report->summary_name)
        cli_say(cli, "There is no EXTRACTOR_PROMPT in it; page summaries are asked for with the built-in prompt.");
    if (report->others.len)
        cli_say(cli, "There are more, which can be imported by their paths:\n%s", report->others.data);
    cli_say(cli, "The tools in its text are those it was written for; use it with --profile %s%s", into,
            strchr(into, '/') ? "" : "/");
    if (cli->json)
        cli_print_json(object);
    json_decref(object);
    return CLI_OK;
}

static int import(struct cli *cli)
{
    const char *into = cli_option(cli, "into");
    if (!into || !*into)
        return cli_wrong_usage(cli, "import needs --into DIR, the folder of the new profile");
    struct profile_import report;
    struct error error;
    int exit_code = profile_import(cli->arguments[1], into, &report, &error) == STATUS_OK
                        ? report_import(cli, &report, into)
                        : cli_fail_error(cli, &error);
    profile_import_finish(&report);
    return exit_code;
}

static int run(struct cli *cli)
{
    const struct profile_source source = {.prompts_dir = config_text(cli->config, OPTION_PROMPTS)};
    const char *verb = cli->arguments[0];
    bool takes_one = strcmp(verb, "show") == 0 || strcmp(verb, "import") == 0;
    if (!takes_one && strcmp(verb, "list") != 0)
        return cli_wrong_usage(cli, "profile takes list, show or import");
    if (cli->n_arguments != (takes_one ? 2u : 1u))
        return cli_wrong_usage(cli, takes_one ? "profile %s takes one name or folder" : "profile %s takes nothing more",
                               verb);
    if (strcmp(verb, "list") == 0)
        return list(cli, &source);
    return strcmp(verb, "show") == 0 ? show(cli, &source) : import(cli);
}

const struct cli_command cli_profile = {
    .name = "profile",
    .arguments = "list|show NAME|import DIR",
    .summary = "List, show and import profiles: prompts and formats by kind of model",
    .about = "A profile holds every sentence that is said to a model and the form of the protocol it was trained on. "
             "The model's name chooses one, unless --profile does.\n\n"
             "list names the profiles there are. show prints one whole: settings, prompts, formats, and where each "
             "comes from. import makes one out of the prompt.py in your own clone of the reference "
             "(github.com/Alibaba-NLP/DeepResearch), byte for byte, so that published results can be reproduced.",
    .examples = "  fathom profile show qwen3\n"
                "  fathom profile import ~/DeepResearch --into ./reference\n"
                "  fathom ask --profile ./reference \"Who designed the first iron bridge?\"",
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .groups = OPTION_GROUP_RUN,
    .min_arguments = 1,
    .max_arguments = 2,
    .run = run,
};
