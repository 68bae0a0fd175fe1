/* Work for libuv's thread pool. */
#include <stdatomic.h>
#include <stdlib.h>

#include "core/mem.h"
#include "loop/internal.h"

struct loop_work {
    uv_work_t request;
    struct loop_pending pending;
    struct loop *loop;
    loop_work_fn work;
    loop_work_done_fn done;
    void *user;
    atomic_bool canceled;
};

static void run(uv_work_t *request)
{
    struct loop_work *work = CONTAINER_OF(request, struct loop_work, request);
    work->work(work, work->user);
}

static void ran(uv_work_t *request, int result)
{
    struct loop_work *work = CONTAINER_OF(request, struct loop_work, request);
    bool canceled = result == UV_ECANCELED || loop_work_canceled(work);
    loop_pending_remove(work->loop, &work->pending);
    if (work->done)
        work->done(work->user, canceled ? STATUS_CANCELED : STATUS_OK);
    free(work);
}

static void cancel_pending(struct loop_pending *pending)
{
    loop_work_cancel(CONTAINER_OF(pending, struct loop_work, pending));
}

struct loop_work *loop_work_start(struct loop *loop, loop_work_fn fn, loop_work_done_fn done, void *user)
{
    struct loop_work *work = mem_zalloc(sizeof *work);
    work->loop = loop;
    work->work = fn;
    work->done = done;
    work->user = user;
    atomic_init(&work->canceled, false);
    uv_queue_work(&loop->uv, &work->request, run, ran); /* fails only for a missing callback */
    loop_pending_add(loop, &work->pending, cancel_pending);
    return work;
}

void loop_work_cancel(struct loop_work *work)
{
    atomic_store_explicit(&work->canceled, true, memory_order_relaxed);
    uv_cancel((uv_req_t *)&work->request); /* succeeds while it is still queued; otherwise the flag has to do */
}

bool loop_work_canceled(const struct loop_work *work)
{
    return atomic_load_explicit(&work->canceled, memory_order_relaxed);
}
