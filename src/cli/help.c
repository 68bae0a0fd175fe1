#include "cli/help.h"

#include <string.h>

#include "api/option.h"
#include "cli/terminal.h"

#define WIDTH  79
#define INDENT 28

/* "  -o, --output FILE" and the text beside it, or below it where the left side is too long. */
static void add_entry(struct buf *out, char letter, const char *name, const char *argument, struct str text)
{
    struct buf left;
    buf_init(&left, BUF_UNBOUNDED);
    if (letter != 0)
        buf_addf(&left, "  -%c, --%s", letter, name);
    else
        buf_addf(&left, "      --%s", name);
    if (argument != NULL)
        buf_addf(&left, " %s", argument);
    buf_add(out, buf_str(&left));
    size_t columns = terminal_columns(buf_str(&left));
    if (columns + 2 > INDENT)
        buf_addf(out, "\n%*s", INDENT, "");
    else
        buf_addf(out, "%*s", (int)(INDENT - columns), "");
    terminal_wrap(out, text, WIDTH, INDENT);
    buf_add_char(out, '\n');
    buf_finish(&left);
}

static void add_spec(struct buf *out, const struct option_spec *spec)
{
    struct buf text;
    buf_init(&text, BUF_UNBOUNDED);
    buf_add_text(&text, spec->help);
    const char *fallback = spec->shown != NULL ? spec->shown : spec->fallback;
    if (spec->type == OPTION_CHOICE) {
        buf_add_text(&text, ": ");
        for (const char *c = spec->choices; *c != '\0'; c++) {
            if (*c == '|')
                buf_add_text(&text, ", ");
            else
                buf_add_char(&text, *c);
        }
    }
    if (fallback != NULL)
        buf_addf(&text, " (default: %s)", fallback);
    struct str rest = str_of(spec->environment), name;
    while (str_split_next(&rest, ' ', &name))
        buf_addf(&text, " [%.*s]", STR_ARG(name));
    add_entry(out, 0, spec->name, spec->argument, buf_str(&text));
    buf_finish(&text);
}

static void add_paragraphs(struct buf *out, const char *text)
{
    struct str rest = str_of(text);
    while (rest.len > 0) {
        size_t end = str_find(rest, STR("\n\n"), 0);
        struct str paragraph = str_slice(rest, 0, end);
        terminal_wrap(out, paragraph, WIDTH, 0);
        buf_add_text(out, "\n\n");
        rest = end == STR_NONE ? STR("") : str_slice(rest, end + 2, rest.len);
    }
}

static void add_group(struct buf *out, enum option_group group)
{
    buf_addf(out, "\n%s\n", option_group_title(group));
    for (int i = 0; i < OPTION_COUNT; i++) {
        const struct option_spec *spec = option_spec((enum option_id)i);
        if (spec->group == group)
            add_spec(out, spec);
    }
}

void help_command(const struct cli_command *command, struct buf *out)
{
    static const enum option_group groups[] = {OPTION_GROUP_RUN,    OPTION_GROUP_TOOLS,   OPTION_GROUP_MODEL,
                                               OPTION_GROUP_TOKENS, OPTION_GROUP_SUMMARY, OPTION_GROUP_MEDIA,
                                               OPTION_GROUP_NETWORK};
    buf_addf(out, "Usage: fathom %s [OPTION]\xE2\x80\xA6%s%s\n\n", command->name,
             command->arguments[0] != '\0' ? " " : "", command->arguments);
    terminal_wrap(out, str_of(command->summary), WIDTH, 0);
    buf_add_text(out, ".\n\n");
    if (command->about != NULL)
        add_paragraphs(out, command->about);
    buf_add_text(out, "Options\n");
    for (size_t i = 0; i < command->n_options; i++) {
        const struct cli_option *option = &command->options[i];
        add_entry(out, option->letter, option->name, option->argument, str_of(option->help));
    }
    add_entry(out, 0, "json", NULL, STR("print machine-readable results"));
    add_entry(out, 'q', "quiet", NULL, STR("say nothing but errors"));
    add_entry(out, 'v', "verbose", NULL, STR("say more; twice for even more"));
    if (command->groups != 0) {
        add_entry(out, 0, "config", "FILE",
                  STR("read this configuration instead of ./fathom.yaml or ~/.config/fathom/config.yaml "
                      "[FATHOM_CONFIG]"));
        add_entry(out, 0, "no-config", NULL, STR("read no configuration file"));
    }
    add_entry(out, 'h', "help", NULL, STR("show this help"));
    for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++) {
        if ((command->groups & groups[i]) != 0)
            add_group(out, groups[i]);
    }
    if (command->groups != 0) {
        buf_add_char(out, '\n');
        add_paragraphs(out,
                       "Every option from the groups can also be a line of the configuration file (max_calls: 50) or a "
                       "variable (FATHOM_MAX_CALLS=50). Flags win over variables, variables over the file.");
        buf_truncate(out, out->len - 1);
    }
    if (command->examples != NULL)
        buf_addf(out, "\nExamples\n%s\n", command->examples);
}

void help_overview(struct buf *out)
{
    buf_add_text(out, "Fathom researches a question with a language model and answers it with sources.\n\n"
                      "Usage: fathom COMMAND [OPTION]\xE2\x80\xA6\n\n"
                      "Commands\n");
    for (const struct cli_command *const *command = cli_commands; *command != NULL; command++)
        buf_addf(out, "  %-10s %s\n", (*command)->name, (*command)->summary);
    buf_add_text(out, "  help       Show this, or the help of a command\n\n"
                      "Try\n"
                      "  fathom doctor                         what is configured, what works, what is missing\n"
                      "  fathom ask \"Who discovered argon?\"    research a question\n"
                      "  fathom ask --help                     everything that can be set\n");
}
