/* Programs that read a format for us, each run to its end with a deadline, a cap on its output and an ear for cancel.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/mem.h"
#include "loop/child.h"
#include "loop/loop.h"
#include "readers/internal.h"

#define POLL_MS    25
#define MAX_ERRORS 4096
#define MAX_ARGV   32

struct run {
    struct loop *loop;
    struct child *child;
    struct loop_timer *timer;
    const atomic_bool *cancel;
    enum status status;
    struct error error;
    struct program_result result;
};

static void on_poll(void *user)
{
    struct run *run = user;
    if (run->child && atomic_load(run->cancel))
        child_cancel(run->child);
    else
        loop_timer_start(run->timer, POLL_MS);
}

static void on_done(void *user, struct child_result *result)
{
    struct run *run = user;
    run->child = NULL;
    run->status = result->status;
    run->error = result->error;
    run->result.output = result->output;
    run->result.errors = result->errors;
    run->result.exit_code = result->exit_code;
    result->output = result->errors = (struct buf){0};
    loop_stop(run->loop);
}

/* The program's arguments with the configured path in front; false when it is not to be run. */
static bool set_program(const struct program_call *call, const char *argv[MAX_ARGV])
{
    if (call->path && !call->path[0])
        return false;
    size_t i = 0;
    for (; call->argv[i] && i + 1 < MAX_ARGV; i++)
        argv[i] = call->argv[i];
    argv[i] = NULL;
    if (call->path)
        argv[0] = call->path;
    return true;
}

static void run_loop(struct run *run, const struct child_options *options)
{
    run->loop = loop_create();
    run->child = child_start(run->loop, options, on_done, run);
    if (run->cancel) {
        run->timer = loop_timer_create(run->loop, on_poll, run);
        loop_timer_start(run->timer, POLL_MS);
    }
    loop_run(run->loop);
    loop_timer_destroy(run->timer);
    loop_destroy(run->loop);
}

enum status program_run(const struct reading *reading, const struct program_call *call, struct program_result *result,
                        struct error *error)
{
    const char *argv[MAX_ARGV];
    if (!set_program(call, argv))
        return error_set(error, STATUS_NOT_FOUND, "%s is not to be run", call->argv[0]);
    enum status status = reading_check(reading, error);
    if (status != STATUS_OK)
        return status;
    struct child_descriptor input = {.number = 3, .ours = -1};
    if (call->input && (input.ours = document_open(call->input, error)) < 0)
        return STATUS_IO;
    struct run run = {.cancel = reading->source->cancel, .status = STATUS_IO};
    struct child_options options = {
        .argv = argv,
        .environment = call->environment,
        .directory = call->directory,
        .input = call->text,
        .timeout_ms = reading->deadline_ms - reading_now_ms() + 1,
        .max_output = call->max_output,
        .max_errors = MAX_ERRORS,
        .descriptors = &input,
        .n_descriptors = call->input ? 1 : 0,
    };
    run_loop(&run, &options);
    if (input.ours >= 0)
        close(input.ours);
    if (run.status == STATUS_TOO_BIG && call->keep_cut_output) {
        run.status = STATUS_OK;
        run.result.exit_code = 0;
        run.result.cut = true;
    }
    if (run.status != STATUS_OK) {
        program_result_finish(&run.result);
        /* not the child's own words: they hold its path */
        const char *what = run.status == STATUS_NOT_FOUND  ? "is not installed"
                           : run.status == STATUS_TIMEOUT  ? "took too long"
                           : run.status == STATUS_CANCELED ? "was stopped"
                           : run.status == STATUS_TOO_BIG  ? "wrote more than it may"
                                                           : "broke down";
        return error_set(error, run.status, "the program %s %s", call->argv[0], what);
    }
    *result = run.result;
    return STATUS_OK;
}

void program_result_finish(struct program_result *result)
{
    buf_finish(&result->output);
    buf_finish(&result->errors);
}

char *program_search_path(void)
{
    const char *path = getenv("PATH");
    return mem_printf("PATH=%s", path && path[0] ? path : "/usr/local/bin:/usr/bin:/bin");
}

/* ---- temporary folders ---- */

char *folder_make(const struct reading *reading, struct error *error)
{
    const char *base = reading->source->temp_dir;
    if (!base)
        base = getenv("TMPDIR");
    char *path = mem_printf("%s/fathom-read-XXXXXX", base && base[0] ? base : "/tmp");
    if (mkdtemp(path))
        return path;
    free(path);
    error_set(error, STATUS_IO, "there is no place for temporary files");
    return NULL;
}

/* Removes what lies in an open folder. Links are removed, never followed. */
static void clear_folder(int folder, int depth)
{
    int copy = dup(folder);
    DIR *listing = copy >= 0 ? fdopendir(copy) : NULL;
    if (!listing) {
        if (copy >= 0)
            close(copy);
        return;
    }
    for (struct dirent *entry; (entry = readdir(listing)) != NULL;) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        if (unlinkat(folder, entry->d_name, 0) == 0 || depth == 0)
            continue;
        int inner = openat(folder, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (inner < 0)
            continue;
        clear_folder(inner, depth - 1);
        close(inner);
        unlinkat(folder, entry->d_name, AT_REMOVEDIR);
    }
    closedir(listing);
}

void folder_remove(char *path)
{
    if (!path)
        return;
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder >= 0) {
        clear_folder(folder, 32);
        close(folder);
    }
    rmdir(path);
    free(path);
}
