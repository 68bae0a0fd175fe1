#include "api/own_config.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/file.h"
#include "core/mem.h"

#define MAX_SIGNATURE ((size_t)64 * 1024)

static const char *const names[] = {
    "command",     "signature", "directory", "timeout",  "max-output-tokens", "confinement", "permission",
    "environment", "env",       "readable",  "writable", "idempotent",        "serial",
};

size_t permission_read(struct settings *settings)
{
    static const char *const choices[] = {
        [PERMISSION_ALLOW] = "allow", [PERMISSION_ASK] = "ask", [PERMISSION_DENY] = "deny"};
    return settings_choice(settings, "permission", choices, 3, PERMISSION_ALLOW);
}

enum program_confinement confinement_read(struct settings *settings, enum program_confinement fallback)
{
    static const char *const choices[] = {
        [PROGRAM_STRICT] = "strict", [PROGRAM_NETWORK] = "network", [PROGRAM_NONE] = "none"};
    return (enum program_confinement)settings_choice(settings, "confinement", choices, 3, fallback);
}

/* ---- the program of a folder ---- */

/* Whether `file` is `name`, or `name` with an ending. */
static bool is_called(const char *file, const char *name)
{
    size_t length = strlen(name);
    return strncmp(file, name, length) == 0 && (file[length] == '\0' || file[length] == '.');
}

/* How well an executable file of a folder fits to be its program: `run` best, then one that is called like the folder,
 * any other only where it is alone. */
static int rank_of(const char *file, const char *folder)
{
    return is_called(file, "run") ? 2 : is_called(file, folder) ? 1 : 0;
}

static bool is_program(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISREG(about.st_mode) && access(path, X_OK) == 0 && (about.st_mode & 0111) != 0;
}

/* The program of a folder, or NULL where there is none or it is not clear which. Of two equal ones the first by name.
 */
static const char *find_program(struct settings_memory *memory, const char *folder)
{
    const char *slash = strrchr(folder, '/'), *name = slash != NULL ? slash + 1 : folder;
    DIR *directory = opendir(folder);
    char *best = NULL;
    int best_rank = -1;
    size_t count = 0;
    for (struct dirent *entry; directory != NULL && (entry = readdir(directory)) != NULL;) {
        char *path = mem_printf("%s/%s", folder, entry->d_name);
        int rank = rank_of(entry->d_name, name);
        bool fits = is_program(path);
        count += fits;
        if (fits && (rank > best_rank || (rank == best_rank && strcmp(path, best) < 0))) {
            char *worse = best;
            best = path;
            best_rank = rank;
            path = worse;
        }
        free(path);
    }
    if (directory != NULL)
        closedir(directory);
    bool clear = best_rank > 0 || count == 1;
    const char *kept = clear ? settings_keep(memory, best) : NULL;
    if (!clear)
        free(best);
    return kept;
}

/* ---- files that were merely found ---- */

#define FOUND_MAY                                                                                                 \
    "a file that was merely found in this folder may only name tools with confinement strict, and files of this " \
    "folder; name it with --config to say that you trust it"

/* Whether the path, its links followed, lies in the folder, or everybody sees it anyhow. What is not there is nobody's
 * secret. */
static bool is_shareable(const char *folder, const char *path)
{
    char *real = realpath(path, NULL), *inside = realpath(folder, NULL);
    size_t length = inside != NULL ? strlen(inside) : 0;
    bool fine = real == NULL || (inside != NULL && strncmp(real, inside, length) == 0 &&
                                 (real[length] == '/' || real[length] == '\0' || strcmp(inside, "/") == 0));
    fine = fine || strncmp(real, "/usr/", 5) == 0;
    free(real);
    free(inside);
    return fine;
}

/* A stranger's file must not have a tool read the user's other files to the model, which may hand them on. */
static void check_found(struct settings *settings, const struct program_options *program)
{
    bool fine = program->confinement == PROGRAM_STRICT && program->writable == NULL && program->readable == NULL;
    if (program->directory != NULL)
        fine = fine && is_shareable(settings->folder, program->directory);
    for (size_t i = 0; program->command != NULL && program->command[i] != NULL; i++)
        fine = fine && (program->command[i][0] != '/' || is_shareable(settings->folder, program->command[i]));
    if (!fine)
        settings_refuse(settings, NULL, "%s", FOUND_MAY);
}

/* ---- one tool ---- */

/* The signature's text: a file's, or that of the object itself. */
static void read_signature(struct settings *settings, const char *folder, struct own_tool_options *options)
{
    const json_t *member = settings_get(settings, "signature");
    if (json_is_object(member)) {
        options->signature = str_of(settings_keep(settings->memory, json_to_text(member)));
        return;
    }
    if (member == NULL && options->program.directory == NULL) {
        settings_refuse(settings, NULL, "a \"signature\" is missing: what the model is shown, a file or an object");
        return;
    }
    const char *file = member != NULL ? settings_text(settings, "signature") : "signature.json";
    if (file == NULL)
        return;
    struct buf text;
    struct error error = {0};
    const char *path = settings_absolute(settings->memory, folder, file);
    if (settings->no_variables && !is_shareable(settings->folder, path)) {
        settings_refuse(settings, "signature", "%s", FOUND_MAY);
        return;
    }
    buf_init(&text, MAX_SIGNATURE);
    if (file_read(path, &text, &error) != STATUS_OK) {
        char words[sizeof error.message + sizeof error.place + 32];
        settings_refuse(settings, "signature", "%s", error_text(&error, words, sizeof words));
        buf_finish(&text);
        return;
    }
    options->signature = str_of(settings_keep(settings->memory, buf_take(&text)));
}

/* A word of the command that is a path, or names a file that stands in `folder`, is meant from there. */
static void read_command(struct settings *settings, const char *folder, struct own_tool_options *options)
{
    size_t count;
    const char *const *words = settings_list(settings, "command", &count);
    const char **command = settings_keep(settings->memory, mem_calloc(count + 2, sizeof *command));
    options->program.command = command;
    if (words == NULL || count == 0) {
        command[0] = options->program.directory != NULL ? find_program(settings->memory, folder) : NULL;
        if (command[0] == NULL && options->program.directory == NULL)
            settings_refuse(settings, NULL, "a \"command\" is missing");
        else if (command[0] == NULL)
            settings_refuse(settings, NULL,
                            "%s holds no program, or several: make one executable (chmod +x) and call it run", folder);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        const char *path = settings_absolute(settings->memory, folder, words[i]);
        bool is_path = i == 0 ? strchr(words[i], '/') != NULL : access(path, F_OK) == 0 && words[i][0] != '-';
        command[i] = is_path ? path : words[i];
    }
}

static void read_tool(struct settings *settings, struct own_config_tool *tool)
{
    struct own_tool_options *options = &tool->options;
    size_t count;
    settings_check_names(settings, names, sizeof names / sizeof names[0]);
    options->program.directory = settings_path(settings, "directory");
    const char *folder = options->program.directory != NULL ? options->program.directory : settings->folder;
    if (settings->status == STATUS_OK)
        read_command(settings, folder, options);
    if (settings->status == STATUS_OK)
        read_signature(settings, folder, options);
    options->program.confinement = confinement_read(settings, PROGRAM_STRICT);
    options->program.environment =
        settings_pairs(settings, settings_get(settings, "environment") != NULL ? "environment" : "env", '=', &count);
    options->program.readable = settings_paths(settings, "readable", &count);
    options->program.writable = settings_paths(settings, "writable", &count);
    options->timeout_ms = settings_duration(settings, "timeout", 0);
    options->max_output_tokens = settings_integer(settings, "max-output-tokens", 64, 0);
    options->idempotent = settings_flag(settings, "idempotent", false);
    options->serial = settings_flag(settings, "serial", false);
    size_t permission = permission_read(settings);
    options->permission = permission == PERMISSION_ASK ? TOOL_ASK_FIRST : TOOL_PERMITTED;
    tool->denied = permission == PERMISSION_DENY;
    if (settings->no_variables)
        check_found(settings, &options->program);
}

static struct own_config_tool *add_tool(struct own_config *config)
{
    config->tools = mem_grow(config->tools, config->count, &config->capacity, sizeof *config->tools);
    struct own_config_tool *tool = &config->tools[config->count++];
    *tool = (struct own_config_tool){0};
    return tool;
}

enum status own_config_read(struct own_config *config, const json_t *object, const struct config_place *where,
                            struct error *error)
{
    const char *name;
    json_t *member;
    if (!json_is_object(object))
        return error_set(error, STATUS_INVALID, "own-tools: names of tools with their settings are wanted here");
    json_object_foreach ((json_t *)(uintptr_t)object, name, member) {
        struct own_config_tool *tool = add_tool(config);
        tool->place = settings_keep(&config->memory, mem_printf("own-tools.%.64s", name));
        struct settings settings = {.object = member,
                                    .place = tool->place,
                                    .folder = where->folder,
                                    .foreign = where->foreign,
                                    .no_variables = where->found,
                                    .memory = &config->memory,
                                    .error = error};
        tool->options.name = settings_keep(&config->memory, mem_strdup(name));
        if (!own_tool_name_is_valid(str_of(name)))
            settings_refuse(&settings, NULL,
                            "a tool's name begins with a letter and has at most 64 letters, digits, _ - .");
        read_tool(&settings, tool);
        if (settings.status != STATUS_OK)
            return settings.status;
    }
    return STATUS_OK;
}

enum status own_config_add_folder(struct own_config *config, const char *folder, bool found, struct error *error)
{
    struct own_config_tool *tool = add_tool(config);
    char *here = getcwd(NULL, 0);
    json_t *nothing = json_object();
    tool->place = settings_keep(&config->memory, mem_printf("own-tool %.160s", folder));
    struct settings settings = {.object = nothing,
                                .place = tool->place,
                                .folder = here,
                                .no_variables = found,
                                .memory = &config->memory,
                                .error = error};
    char *plain = mem_strdup(folder);
    for (size_t length = strlen(plain); length > 1 && plain[length - 1] == '/';)
        plain[--length] = '\0';
    tool->options.program.directory =
        settings_absolute(&config->memory, here != NULL ? here : "/", settings_keep(&config->memory, plain));
    read_command(&settings, tool->options.program.directory, &tool->options);
    if (settings.status == STATUS_OK)
        read_signature(&settings, tool->options.program.directory, &tool->options);
    if (found && settings.status == STATUS_OK)
        check_found(&settings, &tool->options.program);
    free(here);
    json_decref(nothing);
    return settings.status;
}

void own_config_finish(struct own_config *config)
{
    settings_memory_finish(&config->memory);
    free(config->tools);
    *config = (struct own_config){0};
}
