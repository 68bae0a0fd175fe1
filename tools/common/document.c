#include "tools/common/document.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/mem.h"
#include "engine/tool.h"
#include "loop/confine.h"
#include "loop/loop.h"
#include "tools/common/document_internal.h"
#include "worker/confine.h"

#define MOST_WORKERS 4

/* ---- the worker ---- */

static bool is_program(const char *path)
{
    struct stat what;
    return stat(path, &what) == 0 && S_ISREG(what.st_mode) && access(path, X_OK) == 0;
}

/* Beside this program, as the build lays them, or where an installation that was moved has it. */
static char *find_near(void)
{
    static const char *const places[] = {"fathom-worker", "../libexec/fathom/fathom-worker"};
    char self[4096];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self);
    struct str path = str_make(self, length > 0 && (size_t)length < sizeof self ? (size_t)length : 0);
    size_t slash = str_rfind_char(path, '/');
    for (size_t i = 0; slash != STR_NONE && i < sizeof places / sizeof places[0]; i++) {
        char *candidate = mem_printf("%.*s/%s", STR_ARG(str_slice(path, 0, slash)), places[i]);
        char *found = is_program(candidate) ? realpath(candidate, NULL) : NULL;
        free(candidate);
        if (found)
            return found;
    }
    return NULL;
}

static char *find_worker(const char *configured)
{
    if (configured)
        return realpath(configured, NULL);
    static const char installed[] = FATHOM_LIBEXEC_DIR "/fathom-worker";
    char *near = find_near();
    return near || !is_program(installed) ? near : mem_strdup(installed);
}

struct documents *documents_create(const struct documents_options *options)
{
    const struct documents_options defaults = {0};
    if (!options)
        options = &defaults;
    struct documents *documents = mem_zalloc(sizeof *documents);
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    documents->worker = find_worker(options->worker);
    documents->max_parallel = options->max_parallel;
    if (documents->max_parallel == 0)
        documents->max_parallel = processors > 1 && processors < MOST_WORKERS ? (size_t)processors : MOST_WORKERS;
    documents->memory_bytes = options->memory_bytes > 0 ? options->memory_bytes : DOCUMENT_DEFAULT_MEMORY;
    documents->no_bubblewrap = options->no_bubblewrap;
    return documents;
}

void documents_destroy(struct documents *documents)
{
    if (!documents)
        return;
    free(documents->worker);
    free(documents);
}

bool documents_check(struct documents *documents, struct buf *line)
{
    struct error reason;
    if (!documents->worker) {
        buf_add_text(line, "PDF, office files and pictures cannot be read: the program fathom-worker is missing");
        return false;
    }
    bool bubblewrap = !documents->no_bubblewrap && confine_available(&reason);
    int landlock = worker_landlock_version();
    buf_addf(line, "documents are read by %s, confined by %s", documents->worker, bubblewrap ? "bubblewrap, " : "");
    if (landlock > 0)
        buf_addf(line, "Landlock %d and ", landlock);
    buf_addf(line, "seccomp%s", landlock > 0 ? "" : "; this kernel has no Landlock");
    if (!bubblewrap)
        buf_addf(line, "; without bubblewrap%s%s", documents->no_bubblewrap ? "" : ": ",
                 documents->no_bubblewrap ? "" : reason.message);
    return true;
}

/* ---- one document ---- */

static void free_job(struct document_job *job)
{
    if (job->descriptor >= 0)
        close(job->descriptor);
    if (job->has_reply)
        worker_reply_finish(&job->reply);
    buf_finish(&job->result.markdown);
    buf_finish(&job->output);
    buf_finish(&job->errors);
    free(job->name);
    free(job->content_type);
    free(job->url);
    free(job->temp_dir);
    free(job);
}

static void finish(void *user)
{
    struct document_job *job = user;
    if (job->canceled)
        job->result.status = error_set(&job->result.error, STATUS_CANCELED, "the reading of the document was stopped");
    if (job->result.status != STATUS_OK)
        buf_reset(&job->result.markdown);
    job->result.elapsed_ms = job->started_ms > 0 ? loop_now_ms(job->loop) - job->started_ms : 0;
    job->done(job->user, &job->result);
    free_job(job);
}

static void start_next(struct documents *documents)
{
    while (documents->first && documents->running < documents->max_parallel) {
        struct document_job *job = documents->first;
        documents->first = job->next;
        if (!documents->first)
            documents->last = NULL;
        job->queued = false;
        job->running = true;
        job->started_ms = loop_now_ms(job->loop);
        documents->running++;
        document_run(job);
    }
}

void document_ran(struct document_job *job)
{
    struct documents *documents = job->documents;
    job->running = false;
    documents->running--;
    finish(job);
    start_next(documents);
}

static void put_in_queue(struct document_job *job)
{
    struct documents *documents = job->documents;
    job->queued = true;
    if (documents->last)
        documents->last->next = job;
    else
        documents->first = job;
    documents->last = job;
    start_next(documents);
}

static void take_from_queue(struct document_job *job)
{
    struct documents *documents = job->documents;
    struct document_job *before = NULL, **link = &documents->first;
    while (*link != job) {
        before = *link;
        link = &before->next;
    }
    *link = job->next;
    if (documents->last == job)
        documents->last = before;
    job->queued = false;
}

void document_cancel(struct document_job *job)
{
    if (job->canceled)
        return;
    job->canceled = true;
    if (job->running) {
        document_run_cancel(job);
    } else if (job->queued) {
        take_from_queue(job);
        loop_defer(job->loop, finish, job);
    }
}

/* Bytes as a file that the worker can seek in and nobody can change any more. */
static int file_of_bytes(struct str bytes)
{
    int descriptor = memfd_create("document", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    while (descriptor >= 0 && bytes.len > 0) {
        ssize_t count = write(descriptor, bytes.data, bytes.len);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0) {
            close(descriptor);
            return -1;
        }
        bytes = str_slice(bytes, (size_t)count, bytes.len);
    }
    if (descriptor >= 0)
        fcntl(descriptor, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE);
    return descriptor;
}

/* What can be said before a worker is asked. */
static enum status look_at(struct document_job *job, struct error *error)
{
    struct stat what;
    if (!job->documents->worker)
        return error_set(error, STATUS_IO,
                         "this installation cannot read such files: its part fathom-worker is missing");
    if (job->descriptor < 0 || fstat(job->descriptor, &what) != 0)
        return error_set(error, STATUS_IO, "the file could not be handed to its reader: %s", strerror(errno));
    if (!S_ISREG(what.st_mode))
        return error_set(error, STATUS_INVALID, "it is no regular file");
    if (what.st_size > DOCUMENT_DEFAULT_MAX_FILE)
        return error_set(error, STATUS_TOO_BIG, "it is larger than %lld GB",
                         (long long)(DOCUMENT_DEFAULT_MAX_FILE >> 30));
    return STATUS_OK;
}

struct document_job *document_start(struct documents *documents, struct loop *loop,
                                    const struct document_request *request, document_done_fn done, void *user)
{
    struct document_job *job = mem_zalloc(sizeof *job);
    job->documents = documents;
    job->loop = loop;
    job->done = done;
    job->user = user;
    job->descriptor =
        request->descriptor >= 0 ? fcntl(request->descriptor, F_DUPFD_CLOEXEC, 3) : file_of_bytes(request->bytes);
    job->name = str_dup(request->name);
    job->content_type = str_dup(request->content_type);
    job->url = str_dup(request->url);
    job->whole_page = request->whole_page;
    job->max_text = request->max_text > 0 ? request->max_text : DOCUMENT_DEFAULT_MAX_TEXT;
    job->timeout_ms = request->timeout_ms > 0 ? request->timeout_ms : DOCUMENT_DEFAULT_TIMEOUT_MS;
    job->result.status = look_at(job, &job->result.error);
    if (job->result.status == STATUS_OK)
        put_in_queue(job);
    else
        loop_defer(loop, finish, job);
    return job;
}

/* ---- as a part of a tool's call ---- */

struct call_part {
    struct tool_hold *hold;
    struct document_job *job;
    document_done_fn done;
    void *user;
};

static void part_canceled(void *user)
{
    document_cancel(((struct call_part *)user)->job);
}

static void part_done(void *user, struct document_result *result)
{
    struct call_part *part = user;
    part->done(part->user, result);
    tool_hold_end(part->hold);
    free(part);
}

void tool_document(struct tool_run *run, struct documents *documents, const struct document_request *request,
                   document_done_fn done, void *user)
{
    struct call_part *part = mem_zalloc(sizeof *part);
    part->done = done;
    part->user = user;
    part->job = document_start(documents, tool_loop(run), request, part_done, part);
    part->hold = tool_hold_begin(run, part_canceled, part);
}
