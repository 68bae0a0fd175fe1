#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "loop/internal.h"

/* libuv's set-up calls fail only when the process has no descriptors or memory left. */
static void must(int result, const char *what)
{
    if (result < 0) {
        fprintf(stderr, "fathom: %s: %s\n", what, uv_strerror(result));
        abort();
    }
}

/* ---- deferred and posted calls ---- */

static void calls_add(struct loop_calls *calls, loop_fn fn, void *user)
{
    calls->items = mem_grow(calls->items, calls->count, &calls->capacity, sizeof *calls->items);
    calls->items[calls->count++] = (struct loop_call){fn, user};
}

static void run_deferred(uv_idle_t *idle)
{
    struct loop *loop = idle->data;
    size_t batch = loop->deferred.count; /* what these calls defer belongs to the next turn */
    for (size_t i = 0; i < batch; i++) {
        struct loop_call call = loop->deferred.items[i]; /* the array may move */
        loop->deferred_position = i + 1;
        if (call.fn)
            call.fn(call.user);
    }
    loop->deferred_position = 0;
    loop->deferred.count -= batch;
    memmove(loop->deferred.items, loop->deferred.items + batch, loop->deferred.count * sizeof *loop->deferred.items);
    if (loop->deferred.count == 0)
        uv_idle_stop(idle);
}

void loop_defer(struct loop *loop, loop_fn fn, void *user)
{
    calls_add(&loop->deferred, fn, user);
    if (!uv_is_active((uv_handle_t *)&loop->idle))
        uv_idle_start(&loop->idle, run_deferred);
}

void loop_defer_cancel(struct loop *loop, loop_fn fn, void *user)
{
    for (size_t i = loop->deferred_position; i < loop->deferred.count; i++) {
        struct loop_call *call = &loop->deferred.items[i];
        if (call->fn == fn && call->user == user)
            call->fn = NULL;
    }
}

void loop_post(struct loop *loop, loop_fn fn, void *user)
{
    pthread_mutex_lock(&loop->posted_lock);
    calls_add(&loop->posted, fn, user);
    /* Under the lock: once the loop's thread has seen the call, the loop may be destroyed. */
    uv_async_send(&loop->wake);
    pthread_mutex_unlock(&loop->posted_lock);
}

static void run_posted(uv_async_t *wake)
{
    struct loop *loop = wake->data;
    pthread_mutex_lock(&loop->posted_lock);
    struct loop_calls calls = loop->posted;
    loop->posted = (struct loop_calls){0};
    pthread_mutex_unlock(&loop->posted_lock);
    for (size_t i = 0; i < calls.count; i++)
        calls.items[i].fn(calls.items[i].user);
    free(calls.items);
}

/* ---- the loop ---- */

struct loop *loop_create(void)
{
    signal(SIGPIPE, SIG_IGN);
    struct loop *loop = mem_zalloc(sizeof *loop);
    must(uv_loop_init(&loop->uv), "creating the event loop");
    must(uv_idle_init(&loop->uv, &loop->idle), "creating the event loop");
    must(uv_async_init(&loop->uv, &loop->wake, run_posted), "creating the event loop");
    loop->idle.data = loop;
    loop->wake.data = loop;
    pthread_mutex_init(&loop->posted_lock, NULL);
    return loop;
}

void loop_pending_add(struct loop *loop, struct loop_pending *pending, void (*cancel)(struct loop_pending *))
{
    pending->cancel = cancel;
    pending->previous = NULL;
    pending->next = loop->pending;
    if (loop->pending)
        loop->pending->previous = pending;
    loop->pending = pending;
    if (loop->destroying)
        cancel(pending);
}

void loop_pending_remove(struct loop *loop, struct loop_pending *pending)
{
    if (pending->previous)
        pending->previous->next = pending->next;
    else
        loop->pending = pending->next;
    if (pending->next)
        pending->next->previous = pending->previous;
}

static void close_leftover(uv_handle_t *handle, void *user)
{
    (void)user;
    if (!uv_is_closing(handle))
        uv_close(handle, NULL);
}

void loop_destroy(struct loop *loop)
{
    if (!loop)
        return;
    loop->destroying = true;
    for (struct loop_pending *pending = loop->pending, *next; pending; pending = next) {
        next = pending->next; /* canceling calls nothing back, so the list stays as it is */
        pending->cancel(pending);
    }
    while (loop->pending)
        uv_run(&loop->uv, UV_RUN_ONCE);
    run_posted(&loop->wake); /* such a call may own memory */
    while (loop->signals) {
        struct loop_signal *first = loop->signals;
        loop_on_signal(loop, first->handle.signum, NULL, NULL);
    }
    uv_walk(&loop->uv, close_leftover, NULL);
    while (uv_run(&loop->uv, UV_RUN_DEFAULT) != 0)
        ; /* a stop that nobody has heeded yet cuts the first one short */
    must(uv_loop_close(&loop->uv), "closing the event loop");
    pthread_mutex_lock(&loop->posted_lock); /* a thread that posted last may still be on its way out */
    pthread_mutex_unlock(&loop->posted_lock);
    pthread_mutex_destroy(&loop->posted_lock);
    free(loop->deferred.items);
    free(loop->posted.items);
    free(loop);
}

void loop_run(struct loop *loop)
{
    uv_run(&loop->uv, UV_RUN_DEFAULT);
}

void loop_turn(struct loop *loop)
{
    uv_run(&loop->uv, UV_RUN_NOWAIT);
}

void loop_stop(struct loop *loop)
{
    uv_stop(&loop->uv);
}

int64_t loop_now_ms(const struct loop *loop)
{
    (void)loop;
    return (int64_t)(uv_hrtime() / 1000000);
}

/* ---- timers ---- */

struct loop_timer {
    uv_timer_t handle; /* first, so that closing can free the whole */
    loop_fn fn;
    void *user;
};

static void free_handle(uv_handle_t *handle)
{
    free(handle);
}

static void timer_fired(uv_timer_t *handle)
{
    struct loop_timer *timer = CONTAINER_OF(handle, struct loop_timer, handle);
    timer->fn(timer->user);
}

struct loop_timer *loop_timer_create(struct loop *loop, loop_fn fn, void *user)
{
    struct loop_timer *timer = mem_zalloc(sizeof *timer);
    must(uv_timer_init(&loop->uv, &timer->handle), "creating a timer");
    timer->fn = fn;
    timer->user = user;
    return timer;
}

void loop_timer_destroy(struct loop_timer *timer)
{
    if (timer)
        uv_close((uv_handle_t *)&timer->handle, free_handle);
}

void loop_timer_start(struct loop_timer *timer, int64_t delay_ms)
{
    /* libuv counts from the start of the turn, which may be long ago. Never 0: such a timer, started again by its own
     * callback, would keep libuv in one pass over its timers for ever. */
    uv_update_time(timer->handle.loop);
    must(uv_timer_start(&timer->handle, timer_fired, delay_ms < 1 ? 1 : (uint64_t)delay_ms, 0), "starting a timer");
}

void loop_timer_stop(struct loop_timer *timer)
{
    uv_timer_stop(&timer->handle);
}

bool loop_timer_active(const struct loop_timer *timer)
{
    return uv_is_active((const uv_handle_t *)&timer->handle);
}

/* ---- descriptors ---- */

struct loop_watch {
    uv_poll_t handle; /* first, so that closing can free the whole */
    loop_watch_fn fn;
    void *user;
    int events;
};

static void watch_ready(uv_poll_t *handle, int status, int events)
{
    struct loop_watch *watch = CONTAINER_OF(handle, struct loop_watch, handle);
    if (status < 0)
        watch->fn(watch->user, watch->events);
    else
        watch->fn(watch->user, (events & UV_READABLE ? LOOP_READABLE : 0) | (events & UV_WRITABLE ? LOOP_WRITABLE : 0));
}

struct loop_watch *loop_watch_create(struct loop *loop, int descriptor, loop_watch_fn fn, void *user)
{
    struct loop_watch *watch = mem_zalloc(sizeof *watch);
    must(uv_poll_init(&loop->uv, &watch->handle, descriptor), "watching a descriptor");
    watch->fn = fn;
    watch->user = user;
    return watch;
}

void loop_watch_set(struct loop_watch *watch, int events)
{
    if (events == watch->events)
        return;
    watch->events = events;
    if (events == 0)
        uv_poll_stop(&watch->handle);
    else
        must(uv_poll_start(&watch->handle,
                           (events & LOOP_READABLE ? UV_READABLE : 0) | (events & LOOP_WRITABLE ? UV_WRITABLE : 0),
                           watch_ready),
             "watching a descriptor");
}

void loop_watch_destroy(struct loop_watch *watch)
{
    if (watch)
        uv_close((uv_handle_t *)&watch->handle, free_handle);
}

/* ---- signals ---- */

static void signal_came(uv_signal_t *handle, int number)
{
    (void)number;
    struct loop_signal *entry = CONTAINER_OF(handle, struct loop_signal, handle);
    entry->fn(entry->user);
}

void loop_on_signal(struct loop *loop, int signal_number, loop_fn fn, void *user)
{
    struct loop_signal **link = &loop->signals;
    while (*link && (*link)->handle.signum != signal_number)
        link = &(*link)->next;
    struct loop_signal *entry = *link;
    if (fn && !entry) {
        entry = *link = mem_zalloc(sizeof *entry);
        must(uv_signal_init(&loop->uv, &entry->handle), "watching a signal");
        must(uv_signal_start(&entry->handle, signal_came, signal_number), "watching a signal");
    }
    if (fn) {
        entry->fn = fn;
        entry->user = user;
    } else if (entry) {
        *link = entry->next;
        uv_close((uv_handle_t *)&entry->handle, free_handle);
    }
}
