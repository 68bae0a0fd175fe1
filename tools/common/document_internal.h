/* tools/common/document_internal.h
 *
 * The two halves of document.h: document.c keeps the queue and tells the outcome, document_run.c takes one document
 * through a worker.
 */
#ifndef FATHOM_TOOLS_COMMON_DOCUMENT_INTERNAL_H
#define FATHOM_TOOLS_COMMON_DOCUMENT_INTERNAL_H

#include "tools/common/document.h"
#include "worker/wire.h"

struct child;
struct confined;

struct documents {
    char *worker; /* NULL where none was found */
    size_t max_parallel, running;
    int64_t memory_bytes;
    bool no_bubblewrap;
    struct document_job *first, *last; /* waiting for their turn */
};

struct document_job {
    struct documents *documents;
    struct loop *loop;
    document_done_fn done;
    void *user;
    struct document_job *next; /* in the queue */
    bool queued, running, canceled;

    int descriptor; /* ours, of the document */
    char *name, *content_type, *url;
    bool whole_page;
    size_t max_text;
    int64_t timeout_ms, started_ms;

    /* the run */
    struct confined *confined; /* or */
    struct child *child;
    char *temp_dir;    /* of a worker without namespaces; removed after it */
    struct buf output; /* what it wrote */
    struct buf errors; /* and said */

    /* the outcome; `status` and `error` are those of `result` */
    struct worker_reply reply;
    bool has_reply;
    struct document_result result;
};

/* Starts the worker. document_ran follows, never from inside. */
void document_run(struct document_job *job);

/* Kills it. */
void document_run_cancel(struct document_job *job);

/* document.c: the outcome is in `result`. */
void document_ran(struct document_job *job);

#endif
