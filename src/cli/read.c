/* src/cli/read.c: fathom read, the tool parse_file by itself. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/config.h"
#include "cli/cli.h"
#include "cli/one_call.h"
#include "core/mem.h"

/* Where the path ends in "report.pdf#page=3": at the last "#", unless there is a file of the whole name. */
static size_t path_length(const char *given)
{
    const char *hash = strrchr(given, '#');
    return hash == NULL || access(given, F_OK) == 0 ? strlen(given) : (size_t)(hash - given);
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

/* Files of one name would be told apart by names that nobody has given. */
static bool names_differ(char *const *paths, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < i; j++) {
            if (strcmp(paths[i], paths[j]) != 0 && strcmp(base_name(paths[i]), base_name(paths[j])) == 0)
                return false;
        }
    }
    return true;
}

static int run(struct cli *cli)
{
    size_t count = cli->n_arguments;
    const char *question = cli_option(cli, "question");
    char **paths = mem_calloc(count, sizeof *paths);
    json_t *arguments = json_object(), *names = json_array();
    for (size_t i = 0; i < count; i++) {
        size_t length = path_length(cli->arguments[i]);
        paths[i] = str_dup(str_make(cli->arguments[i], length));
        char *name = mem_printf("%s%s", base_name(paths[i]), cli->arguments[i] + length);
        json_push(names, json_from_str(str_of(name)));
        free(name);
    }
    json_put(arguments, "files", names);
    int code;
    if (names_differ(paths, count)) {
        code = one_call_files(cli, arguments, (const char *const *)paths, count, str_of(question));
    } else {
        json_decref(arguments);
        code = cli_wrong_usage(cli, "two of the files have the same name: read them one after the other");
    }
    for (size_t i = 0; i < count; i++)
        free(paths[i]);
    free(paths);
    return code;
}

static const struct cli_option options[] = {
    {.name = "question",
     .letter = 'g',
     .argument = "TEXT",
     .help = "what you want to know; long files are searched for it"},
};

const struct cli_command cli_read = {
    .name = "read",
    .arguments = "FILE\xE2\x80\xA6",
    .summary = "Read files as the model does, and show what it would see",
    .about =
        "PDF, office files, books, archives, pictures and text become Markdown. Of a long file the contents and the "
        "passages that bear on the question are shown; a suffix asks for a part of it: #part=2, #page=3-5, "
        "#section=TITLE. Pictures go to the model of --vision-model, sound and film to that of "
        "--transcription-model. The exit code is 1 when no file could be read.",
    .examples = "  fathom read report.pdf --question \"what did it cost\"\n"
                "  fathom read report.pdf#page=12-15 data.xlsx",
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .groups = OPTION_GROUPS_ALL,
    .min_arguments = 1,
    .max_arguments = 20,
    .run = run,
};
