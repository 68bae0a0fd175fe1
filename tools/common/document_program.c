/* Programs other than the worker over a document. Without namespaces the worker confines itself and becomes them. */
#include <stdlib.h>

#include "core/mem.h"
#include "loop/loop.h"
#include "tools/common/document_cell.h"
#include "tools/common/document_internal.h"

struct document_program {
    const struct documents *documents;
    struct loop *loop;
    child_done_fn done;
    void *user;
    struct confined *confined; /* or */
    struct child *child;
    char *folder; /* without namespaces */
};

static void remove_folder(struct loop_work *work, void *user)
{
    (void)work;
    cell_remove_folder(user);
}

static void on_removed(void *user, enum status status)
{
    (void)status;
    free(user);
}

static void ended(struct document_program *program, struct child_result *result)
{
    program->done(program->user, result);
    if (program->folder)
        loop_work_start(program->loop, remove_folder, on_removed, program->folder);
    free(program);
}

static void on_confined_end(void *user, enum confine_end end, struct child_result *result)
{
    (void)end; /* the error names it */
    if (result->exit_code > 128)
        result->status = error_set(&result->error, STATUS_IO, "it was ended by signal %d",
                                   result->signal_number = result->exit_code - 128);
    ended(user, result);
}

static void on_child_end(void *user, struct child_result *result)
{
    ended(user, result);
}

/* "fathom-worker --exec FOLDER MEMORY SECONDS PROGRAM ARGUMENT…" */
static void start_by_worker(struct document_program *program, struct child_options *options)
{
    const struct documents *documents = program->documents;
    size_t count = 0;
    while (options->argv[count])
        count++;
    char *memory = mem_printf("%lld", (long long)documents->memory_bytes);
    const int64_t most = 2 * (options->timeout_ms / 1000 + 1);
    char *seconds = mem_printf("%lld", (long long)most);
    const char *const front[] = {documents->worker, "--exec", program->folder ? program->folder : "", memory, seconds};
    const size_t n_front = sizeof front / sizeof front[0];
    const char **argv = mem_calloc(n_front + count + 1, sizeof *argv);
    for (size_t i = 0; i < n_front; i++)
        argv[i] = front[i];
    for (size_t i = 0; i < count; i++)
        argv[n_front + i] = options->argv[i];
    options->argv = argv;
    program->child = child_start(program->loop, options, on_child_end, program);
    free(argv);
    free(memory);
    free(seconds);
}

struct document_program *document_program_start(struct documents *documents, struct loop *loop,
                                                const struct document_program_options *options, child_done_fn done,
                                                void *user)
{
    struct document_program *program = mem_zalloc(sizeof *program);
    *program = (struct document_program){.documents = documents, .loop = loop, .done = done, .user = user};
    bool namespaced = !documents->no_bubblewrap && confine_available(NULL);
    if (!namespaced)
        program->folder = cell_make_folder();
    const char *folder = namespaced ? CELL_FOLDER_INSIDE : program->folder;
    struct cell_environment environment;
    cell_environment_init(&environment, folder ? folder : "/");
    const struct child_descriptor document = {WORKER_DOCUMENT, options->descriptor};
    struct child_options child = {
        .argv = options->argv,
        .environment = environment.list,
        .directory = folder,
        .timeout_ms = options->timeout_ms,
        .max_output = options->max_output,
        .descriptors = &document,
        .n_descriptors = 1,
    };
    if (namespaced)
        program->confined = cell_start(documents, loop, &child, on_confined_end, program);
    else
        start_by_worker(program, &child);
    cell_environment_finish(&environment);
    return program;
}

void document_program_cancel(struct document_program *program)
{
    if (program->confined)
        confine_cancel(program->confined);
    else
        child_cancel(program->child);
}
