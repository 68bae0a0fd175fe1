#include "cli/arguments.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/mem.h"

static const char *const common_names[] = {"help", "json", "quiet", "verbose"};
static const char *const config_names[] = {"config", "no-config"};

const char *cli_option(const struct cli *cli, const char *name)
{
    const struct arguments *arguments = (const struct arguments *)cli; /* cli is its first member */
    for (size_t i = 0; i < cli->command->n_options; i++) {
        if (strcmp(cli->command->options[i].name, name) == 0)
            return arguments->given[i];
    }
    abort(); /* a command asks for an option that it does not declare */
}

/* ---- one option ---- */

/* Where parsing stands. */
struct cursor {
    int argc, at;
    char *const *argv;
};

/* An option as it stood on the command line: "--name", "--name=value", or a letter of "-abc". */
struct typed {
    struct str name;
    char letter;          /* 0 for a long one */
    const char *shown;    /* "--name" or "-n", for messages */
    const char *attached; /* value in the same word, NULL when there is none */
};

/* The option's value: attached, or the next word. NULL after having said that it is missing. */
static const char *take_value(struct arguments *arguments, struct cursor *cursor, const struct typed *typed,
                              const char *wanted)
{
    if (typed->attached != NULL)
        return typed->attached;
    if (cursor->at + 1 < cursor->argc)
        return cursor->argv[++cursor->at];
    cli_wrong_usage(&arguments->cli, "%s needs a value: %s", typed->shown, wanted);
    return NULL;
}

static bool refuse_value(struct arguments *arguments, const struct typed *typed)
{
    if (typed->attached == NULL || typed->letter != 0)
        return true;
    cli_wrong_usage(&arguments->cli, "%s takes no value", typed->shown);
    return false;
}

static bool is(const struct typed *typed, const char *name, char letter)
{
    return typed->letter != 0 ? typed->letter == letter : str_equal(typed->name, str_of(name));
}

enum taken { TAKEN, TAKEN_WITH_VALUE, NOT_MINE, WRONG };

static enum taken take_common(struct arguments *arguments, struct cursor *cursor, const struct typed *typed)
{
    if (is(typed, "help", 'h'))
        arguments->help = true;
    else if (is(typed, "json", 0))
        arguments->cli.json = true;
    else if (is(typed, "quiet", 'q'))
        arguments->cli.quiet = true;
    else if (is(typed, "verbose", 'v'))
        arguments->cli.verbose++;
    else if (is(typed, "no-config", 0) && arguments->cli.command->groups != 0)
        arguments->no_config = true;
    else if (is(typed, "config", 0) && arguments->cli.command->groups != 0) {
        arguments->config_path = take_value(arguments, cursor, typed, "FILE");
        return arguments->config_path != NULL ? TAKEN_WITH_VALUE : WRONG;
    } else
        return NOT_MINE;
    return refuse_value(arguments, typed) ? TAKEN : WRONG;
}

static enum taken take_own(struct arguments *arguments, struct cursor *cursor, const struct typed *typed)
{
    for (size_t i = 0; i < arguments->cli.command->n_options; i++) {
        const struct cli_option *option = &arguments->cli.command->options[i];
        if (!is(typed, option->name, option->letter))
            continue;
        const char *value = "";
        if (option->argument == NULL) {
            if (!refuse_value(arguments, typed))
                return WRONG;
        } else if ((value = take_value(arguments, cursor, typed, option->argument)) == NULL) {
            return WRONG;
        }
        arguments->given[i] = value;
        return option->argument != NULL ? TAKEN_WITH_VALUE : TAKEN;
    }
    return NOT_MINE;
}

static enum taken take_table(struct arguments *arguments, struct cursor *cursor, const struct typed *typed)
{
    const struct option_spec *spec = typed->letter != 0 ? NULL : option_find(typed->name);
    if (spec == NULL || (spec->group & arguments->cli.command->groups) == 0)
        return NOT_MINE;
    bool bare = spec->type == OPTION_FLAG && typed->attached == NULL;
    const char *value = bare ? "yes" : take_value(arguments, cursor, typed, spec->argument);
    struct error error;
    if (value == NULL)
        return WRONG;
    if (config_set(arguments->config, spec->id, str_of(value), &error) != STATUS_OK) {
        char text[800];
        cli_wrong_usage(&arguments->cli, "%s", error_text(&error, text, sizeof text));
        return WRONG;
    }
    return bare ? TAKEN : TAKEN_WITH_VALUE;
}

static void say_unknown(struct arguments *arguments, const struct typed *typed)
{
    const struct cli_command *command = arguments->cli.command;
    const char *names[OPTION_COUNT + 64];
    size_t count = 0;
    for (size_t i = 0; i < sizeof common_names / sizeof common_names[0]; i++)
        names[count++] = common_names[i];
    for (size_t i = 0; command->groups != 0 && i < sizeof config_names / sizeof config_names[0]; i++)
        names[count++] = config_names[i];
    for (size_t i = 0; i < command->n_options && count < 64; i++)
        names[count++] = command->options[i].name;
    for (int i = 0; i < OPTION_COUNT; i++) {
        const struct option_spec *spec = option_spec((enum option_id)i);
        if ((spec->group & command->groups) != 0)
            names[count++] = spec->name;
    }
    const char *nearest = typed->letter != 0 ? NULL : suggest_nearest(typed->name, names, count);
    const struct option_spec *elsewhere = typed->letter != 0 ? NULL : option_find(typed->name);
    if (elsewhere != NULL)
        cli_wrong_usage(&arguments->cli, "%s has no use here", typed->shown);
    else if (nearest != NULL)
        cli_wrong_usage(&arguments->cli, "unknown option %s; did you mean --%s?", typed->shown, nearest);
    else
        cli_wrong_usage(&arguments->cli, "unknown option %s", typed->shown);
}

static enum taken take(struct arguments *arguments, struct cursor *cursor, const struct typed *typed)
{
    enum taken taken = take_common(arguments, cursor, typed);
    if (taken == NOT_MINE)
        taken = take_own(arguments, cursor, typed);
    if (taken == NOT_MINE)
        taken = take_table(arguments, cursor, typed);
    if (taken == NOT_MINE)
        say_unknown(arguments, typed);
    return taken;
}

static bool take_long(struct arguments *arguments, struct cursor *cursor)
{
    const char *word = cursor->argv[cursor->at] + 2, *equals = strchr(word, '=');
    char shown[80];
    struct typed typed = {.name = equals != NULL ? str_make(word, (size_t)(equals - word)) : str_of(word),
                          .shown = shown,
                          .attached = equals != NULL ? equals + 1 : NULL};
    snprintf(shown, sizeof shown, "--%.*s", STR_ARG(str_slice(typed.name, 0, 60)));
    enum taken taken = take(arguments, cursor, &typed);
    return taken == TAKEN || taken == TAKEN_WITH_VALUE;
}

/* "-v", "-vq", "-oFILE". */
static bool take_letters(struct arguments *arguments, struct cursor *cursor)
{
    for (const char *word = cursor->argv[cursor->at] + 1; *word != '\0'; word++) {
        char shown[3] = {'-', *word, '\0'};
        struct typed typed = {.letter = *word, .shown = shown, .attached = word[1] != '\0' ? word + 1 : NULL};
        switch (take(arguments, cursor, &typed)) {
        case TAKEN:
            break;
        case TAKEN_WITH_VALUE:
            return true;
        case NOT_MINE:
        case WRONG:
            return false;
        }
    }
    return true;
}

/* ---- all of them ---- */

static bool check_count(struct arguments *arguments)
{
    const struct cli *cli = &arguments->cli;
    if (arguments->help)
        return true;
    if (cli->n_arguments < cli->command->min_arguments) {
        cli_wrong_usage(cli, "%s is missing", cli->command->arguments);
        return false;
    }
    if (cli->n_arguments > cli->command->max_arguments) {
        const char *extra = cli->arguments[cli->command->max_arguments];
        if (cli->command->max_arguments == 0)
            cli_wrong_usage(cli, "it takes no arguments, but was given \"%s\"", extra);
        else
            cli_wrong_usage(cli, "\"%s\" is one argument too many; words that belong together need quotes", extra);
        return false;
    }
    return true;
}

bool arguments_parse(struct arguments *arguments, const struct cli_command *command, int argc, char *const *argv)
{
    *arguments = (struct arguments){.cli = {.command = command}};
    arguments->given = mem_calloc(command->n_options + 1, sizeof *arguments->given);
    if (command->groups != 0)
        arguments->config = config_create();
    struct cursor cursor = {.argc = argc, .argv = argv};
    bool options = true;
    for (; cursor.at < argc; cursor.at++) {
        const char *word = argv[cursor.at];
        if (options && strcmp(word, "--") == 0) {
            options = false;
        } else if (options && strncmp(word, "--", 2) == 0) {
            if (!take_long(arguments, &cursor))
                return false;
        } else if (options && word[0] == '-' && word[1] != '\0') {
            if (!take_letters(arguments, &cursor))
                return false;
        } else {
            struct cli *cli = &arguments->cli;
            arguments->list =
                mem_grow(arguments->list, cli->n_arguments, &arguments->capacity, sizeof *arguments->list);
            arguments->list[cli->n_arguments++] = word;
            cli->arguments = arguments->list;
        }
    }
    return check_count(arguments);
}

bool arguments_configure(struct arguments *arguments)
{
    struct error error;
    enum status status = STATUS_OK;
    struct config *config = arguments->config;
    if (config == NULL)
        return true;
    const char *named = getenv("FATHOM_CONFIG");
    const char *path = arguments->config_path != NULL      ? arguments->config_path
                       : named != NULL && named[0] != '\0' ? named
                                                           : NULL;
    if (arguments->config_path != NULL || (path != NULL && !arguments->no_config))
        status = config_load_file(config, path, &error);
    else if (!arguments->no_config)
        status = config_load_usual_file(config, &error);
    if (status == STATUS_OK)
        status = config_load_environment(config, (const char *const *)environ, &error);
    if (status == STATUS_OK)
        status = config_resolve(config, &error);
    if (status != STATUS_OK) {
        cli_fail_error(&arguments->cli, &error);
        return false;
    }
    arguments->cli.config = config;
    return true;
}

void arguments_finish(struct arguments *arguments)
{
    free(arguments->given);
    free(arguments->list);
    config_destroy(arguments->config);
}
