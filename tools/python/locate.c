/* Which Python runs the programs, and what must be shown to it inside a confinement. The system's own lies below /usr,
 * which is there anyhow; one of the user's (pyenv, conda, a virtual environment) brings its folders with it. */
#include "tools/python/internal.h"

#include "core/mem.h"
#include "loop/loop.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TRIAL_TIMEOUT_MS 15000

/* ---- one program, waited for ---- */

struct trial {
    struct loop *loop;
    bool good;
    char *output;
    char *complaint;
};

static void trial_ended(void *user, enum confine_end end, struct child_result *result)
{
    struct trial *trial = user;
    trial->good = end == CONFINE_END_NONE && result->status == STATUS_OK && result->exit_code == 0;
    trial->output = str_dup(buf_str(&result->output));
    struct str complaint = str_trim(buf_str(&result->errors));
    if (complaint.len == 0)
        complaint = str_of(result->status == STATUS_OK ? "it ended without a word" : result->error.message);
    size_t last_line = str_rfind_char(complaint, '\n');
    trial->complaint = str_dup(str_slice(complaint, last_line == STR_NONE ? 0 : last_line + 1, complaint.len));
    loop_stop(trial->loop);
}

static void trial_child_ended(void *user, struct child_result *result)
{
    trial_ended(user, CONFINE_END_NONE, result);
}

/* Runs `code` and waits for its end; `confinement` NULL runs it as it is. To be finished with trial_finish. */
static struct trial try_out(const char *path, const char *code, const struct confinement *confinement)
{
    const char *const argv[] = {path, "-I", "-B", "-c", code, NULL};
    const struct child_options options = {
        .argv = argv, .timeout_ms = TRIAL_TIMEOUT_MS, .max_output = 65536, .directory = confinement ? NULL : "/"};
    struct trial trial = {.loop = loop_create()};
    if (confinement)
        confine_start(trial.loop, confinement, &options, trial_ended, &trial);
    else
        child_start(trial.loop, &options, trial_child_ended, &trial);
    loop_run(trial.loop);
    loop_destroy(trial.loop);
    return trial;
}

static void trial_finish(struct trial *trial)
{
    free(trial->output);
    free(trial->complaint);
}

/* ---- where it is ---- */

static char *find_in_path(const char *name)
{
    const char *path = getenv("PATH");
    struct str rest = str_of(path ? path : "/usr/local/bin:/usr/bin:/bin"), folder;
    while (str_split_next(&rest, ':', &folder)) {
        char *file = mem_printf("%.*s/%s", STR_ARG(folder), name);
        if (folder.len > 0 && folder.data[0] == '/' && access(file, X_OK) == 0)
            return file;
        free(file);
    }
    return NULL;
}

static char *find_interpreter(const char *name)
{
    if (!name)
        return access("/usr/bin/python3", X_OK) == 0 ? mem_strdup("/usr/bin/python3") : find_in_path("python3");
    if (!strchr(name, '/'))
        return find_in_path(name);
    char *absolute = realpath(name, NULL);
    if (!absolute || access(absolute, X_OK) != 0) {
        free(absolute);
        return NULL;
    }
    free(absolute);
    if (name[0] == '/')
        return mem_strdup(name);
    /* A virtual environment's python is a link, and knows its environment by the name it was called by. */
    char *folder = getcwd(NULL, 0);
    char *path = mem_printf("%s/%s", folder ? folder : "", name);
    free(folder);
    return path;
}

static bool is_below(struct str path, struct str folder)
{
    return str_starts_with(path, folder) && (path.len == folder.len || path.data[folder.len] == '/');
}

static void add_bind(struct python_location *location, struct str folder)
{
    if (folder.len < 2 || folder.data[0] != '/' || is_below(folder, STR("/usr")))
        return;
    for (size_t i = 0; i < location->n_binds; i++) {
        if (is_below(folder, str_of(location->binds[i].source)))
            return;
    }
    location->binds[location->n_binds++] = (struct confine_bind){.source = str_dup(folder)};
}

/* Asks the interpreter itself, unconfined, which is as safe as it is to have it. */
static enum status ask_interpreter(struct python_location *location, struct error *error)
{
    static const char question[] = "import os, sys, platform\n"
                                   "print(platform.python_version(), sys.executable, sys.prefix, sys.base_prefix, "
                                   "os.path.dirname(os.path.dirname(os.path.realpath(sys.executable))), sep='\\n')\n"
                                   "sys.exit(sys.version_info < (3, 7))";
    struct trial trial = try_out(location->path, question, NULL);
    struct str rest = str_of(trial.output), version, path, folder;
    enum status status = STATUS_OK;
    if (!trial.good || !str_split_next(&rest, '\n', &version) || !str_split_next(&rest, '\n', &path) || path.len == 0) {
        status = error_set(error, STATUS_UNSUPPORTED, "%s is no Python of version 3.7 or newer: %s", location->path,
                           trial.complaint);
    } else {
        location->version = str_dup(version);
        free(location->path);
        location->path = str_dup(path);
        while (location->n_binds < 3 && str_split_next(&rest, '\n', &folder))
            add_bind(location, folder);
    }
    trial_finish(&trial);
    return status;
}

static enum status try_confined(struct python_location *location, struct error *error)
{
    struct confinement confinement = {.binds = location->binds, .n_binds = location->n_binds};
    struct trial trial = try_out(location->path, "import json, linecache, traceback", &confinement);
    enum status status = STATUS_OK;
    if (!trial.good)
        status = error_set(error, STATUS_UNSUPPORTED,
                           "%s does not run confined (%s); take the system's python3, or name another with --python",
                           location->path, trial.complaint);
    trial_finish(&trial);
    return status;
}

enum status python_locate(const char *interpreter, bool confined, struct python_location *out, struct error *error)
{
    struct error reason = {0};
    if (confined && !confine_available(&reason))
        return error_set(error, STATUS_UNSUPPORTED, "programs cannot be confined: %s", reason.message);
    struct python_location location = {.path = find_interpreter(interpreter)};
    if (!location.path)
        return error_set(error, STATUS_UNSUPPORTED, "there is no %s; install python3, or name another with --python",
                         interpreter ? interpreter : "python3");
    enum status status = ask_interpreter(&location, error);
    if (status == STATUS_OK && confined)
        status = try_confined(&location, error);
    if (status == STATUS_OK)
        *out = location;
    else
        python_location_finish(&location);
    return status;
}

void python_location_finish(struct python_location *location)
{
    free(location->path);
    free(location->version);
    for (size_t i = 0; i < location->n_binds; i++)
        free((char *)(uintptr_t)location->binds[i].source);
    *location = (struct python_location){0};
}
