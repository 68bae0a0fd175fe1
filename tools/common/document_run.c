/* One document through a worker: how it is started, and what its end means. */
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/mem.h"
#include "core/utf8.h"
#include "loop/child.h"
#include "loop/confine.h"
#include "loop/loop.h"
#include "tools/common/document_cell.h"
#include "tools/common/document_internal.h"

#define MAX_WORDS 400 /* of a failure, for a person */

enum { EXIT_NOT_CONFINED = 70 };

/* ---- the verdict ---- */

static void blame(struct document_job *job, enum status status, const char *sentence)
{
    if (job->result.status == STATUS_OK)
        job->result.status = error_set(&job->result.error, status, "%s", sentence);
}

static void judge_signal(struct document_job *job, int signal_number)
{
    struct str words = buf_str(&job->errors);
    if (signal_number == SIGXCPU)
        blame(job, STATUS_TIMEOUT, "reading it took too long");
    else if (signal_number == SIGKILL || str_find(words, STR("out of memory"), 0) != STR_NONE)
        blame(job, STATUS_TOO_BIG, "reading it takes more memory than a document may have");
    else
        blame(job, STATUS_IO, "the file made the program that reads it crash; it may be broken");
}

static void judge_end(struct document_job *job, enum confine_end end)
{
    switch (end) {
    case CONFINE_END_NONE:
        return;
    case CONFINE_END_MEMORY:
        blame(job, STATUS_TOO_BIG, "reading it takes more memory than a document may have");
        return;
    case CONFINE_END_CPU:
        blame(job, STATUS_TIMEOUT, "reading it took too long");
        return;
    case CONFINE_END_PROCESSES:
        blame(job, STATUS_REFUSED, "reading it started more programs than a document may have");
        return;
    }
}

/* How the worker ended, before anybody looks at what it wrote. */
static void judge_child(struct document_job *job, enum confine_end end, struct child_result *child)
{
    judge_end(job, end);
    switch (child->status) {
    case STATUS_TIMEOUT:
        blame(job, STATUS_TIMEOUT, "reading it took too long");
        return;
    case STATUS_TOO_BIG:
        blame(job, STATUS_TOO_BIG, "it holds more text than can be taken in");
        return;
    case STATUS_CANCELED:
        blame(job, STATUS_CANCELED, "the reading of the document was stopped");
        return;
    case STATUS_NOT_FOUND:
    case STATUS_UNSUPPORTED:
        blame(job, STATUS_IO, "the program that reads such files could not be started");
        return;
    case STATUS_OK:
    case STATUS_IO:
    case STATUS_INVALID:
    case STATUS_SYNTAX:
    case STATUS_NETWORK:
    case STATUS_REFUSED:
    case STATUS_DENIED:
    case STATUS_ORDER:
        break;
    }
    if (child->signal_number > 0)
        judge_signal(job, child->signal_number);
    else if (job->confined && child->exit_code > 128)
        judge_signal(job, child->exit_code - 128);
    else if (child->exit_code == EXIT_NOT_CONFINED)
        blame(job, STATUS_IO, "the program that reads such files could not be confined, so it read nothing");
    else if (child->status != STATUS_OK || child->exit_code != 0)
        blame(job, STATUS_IO, "the program that reads such files failed");
}

/* The worker's words, for a person: one line. */
static void keep_detail(struct document_job *job, const struct child_result *child)
{
    char words[sizeof child->error.message + sizeof child->error.place + 32];
    if (job->result.status == STATUS_OK)
        return;
    if (job->errors.len == 0 && child->status != STATUS_OK &&
        buf_append_str(&job->errors, str_of(error_text(&child->error, words, sizeof words))) != STATUS_OK)
        return;
    struct str detail = str_trim(buf_str(&job->errors));
    job->result.detail = str_slice(detail, 0, utf8_floor(detail, MAX_WORDS));
}

static void take_reply(struct document_job *job)
{
    struct document_result *result = &job->result;
    struct worker_reply *reply = &job->reply;
    struct error error;
    size_t body = 0;
    job->has_reply = worker_reply_parse(buf_str(&job->output), reply, &body, &error) == STATUS_OK;
    if (!job->has_reply) {
        result->status =
            error_set(&result->error, STATUS_IO, "the program that reads such files gave nothing that can be used");
        return;
    }
    result->kind = &reply->kind;
    result->status = reply->status;
    result->error = reply->error;
    result->title = reply->title;
    result->author = reply->author;
    result->date = reply->date;
    result->language = reply->language;
    result->notice = reply->notice;
    result->sections = reply->sections;
    result->n_sections = reply->n_sections;
    result->pages = reply->pages;
    result->truncated = reply->truncated;
    buf_consume(&job->output, body);
    result->markdown = job->output;
    job->output = (struct buf){0};
}

/* A worker that is what it should be writes UTF-8. What a document made of it may write anything, and offsets into
 * replaced text would be wrong. */
static void check_text(struct document_job *job)
{
    struct document_result *result = &job->result;
    if (result->status != STATUS_OK || utf8_is_valid(buf_str(&result->markdown)))
        return;
    struct buf valid;
    buf_init(&valid, BUF_UNBOUNDED);
    if (utf8_append_valid(&valid, buf_str(&result->markdown)) != STATUS_OK)
        abort(); /* the buffer has no cap */
    buf_finish(&result->markdown);
    result->markdown = valid;
    result->n_sections = 0;
}

/* On the pool: large texts and full folders take their time. */
static void settle(struct loop_work *work, void *user)
{
    (void)work;
    struct document_job *job = user;
    if (job->temp_dir)
        cell_remove_folder(job->temp_dir);
    if (job->result.status != STATUS_OK)
        return;
    take_reply(job);
    check_text(job);
}

static void on_settled(void *user, enum status status)
{
    struct document_job *job = user;
    if (status != STATUS_OK && job->temp_dir)
        rmdir(job->temp_dir); /* the job may not have run; then this does what it can */
    job->canceled = job->canceled || status != STATUS_OK;
    document_ran(job);
}

static void ended(struct document_job *job, enum confine_end end, struct child_result *child)
{
    job->output = child->output;
    job->errors = child->errors;
    child->output = child->errors = (struct buf){0};
    judge_child(job, end, child);
    keep_detail(job, child);
    job->confined = NULL;
    job->child = NULL;
    loop_work_start(job->loop, settle, on_settled, job);
}

static void on_confined_end(void *user, enum confine_end end, struct child_result *child)
{
    ended(user, end, child);
}

static void on_child_end(void *user, struct child_result *child)
{
    ended(user, CONFINE_END_NONE, child);
}

/* ---- the start ---- */

void document_run(struct document_job *job)
{
    const struct documents *documents = job->documents;
    bool namespaced = !documents->no_bubblewrap && confine_available(NULL);
    if (!namespaced)
        job->temp_dir = cell_make_folder();
    const char *temp_dir = namespaced ? CELL_FOLDER_INSIDE : job->temp_dir;
    const struct worker_request request = {
        .name = str_of(job->name),
        .content_type = str_of(job->content_type),
        .url = str_of(job->url),
        .temp_dir = str_of(temp_dir),
        .whole_page = job->whole_page,
        .namespaced = namespaced,
        .max_text = job->max_text,
        .timeout_ms = job->timeout_ms,
        .memory_bytes = documents->memory_bytes,
    };
    char *text = worker_request_write(&request);
    struct cell_environment environment;
    cell_environment_init(&environment, temp_dir ? temp_dir : "/");
    const char *const argv[] = {namespaced ? CELL_WORKER_INSIDE : documents->worker, NULL};
    const struct child_descriptor document = {WORKER_DOCUMENT, job->descriptor};
    struct child_options options = {
        .argv = argv,
        .environment = environment.list,
        .directory = temp_dir,
        .input = str_of(text),
        .timeout_ms = job->timeout_ms,
        .max_output = job->max_text + WORKER_MAX_HEAD,
        .descriptors = &document,
        .n_descriptors = 1,
    };
    if (namespaced)
        job->confined = cell_start(documents, job->loop, &options, on_confined_end, job);
    else
        job->child = child_start(job->loop, &options, on_child_end, job);
    cell_environment_finish(&environment);
    free(text);
}

void document_run_cancel(struct document_job *job)
{
    if (job->confined)
        confine_cancel(job->confined);
    else if (job->child)
        child_cancel(job->child);
}
