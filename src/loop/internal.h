/* src/loop/internal.h
 *
 * What the files of this room share. Not for other rooms.
 */
#ifndef FATHOM_LOOP_INTERNAL_H
#define FATHOM_LOOP_INTERNAL_H

#include <pthread.h>
#include <stddef.h>
#include <uv.h>

#include "loop/loop.h"

/* Something that must come to its end before the loop may go: pool work and child processes. Linked into the loop from
 * its start until its done callback was called. */
struct loop_pending {
    struct loop_pending *previous, *next;
    void (*cancel)(struct loop_pending *pending); /* may be called more than once */
};

struct loop_call {
    loop_fn fn; /* NULL: canceled */
    void *user;
};

struct loop_calls {
    struct loop_call *items;
    size_t count, capacity;
};

struct loop_signal {
    uv_signal_t handle;
    loop_fn fn;
    void *user;
    struct loop_signal *next;
};

struct loop {
    uv_loop_t uv;
    uv_idle_t idle; /* active while something is deferred, so that the loop does not sleep */
    uv_async_t wake;
    bool destroying;

    struct loop_calls deferred;
    size_t deferred_position; /* index of the call that runs now, and what precedes it has run */

    pthread_mutex_t posted_lock;
    struct loop_calls posted; /* under posted_lock */

    struct loop_signal *signals;
    struct loop_pending *pending;

    char scratch[65536]; /* for reads whose bytes are copied on before the next read */
};

void loop_pending_add(struct loop *loop, struct loop_pending *pending, void (*cancel)(struct loop_pending *));
void loop_pending_remove(struct loop *loop, struct loop_pending *pending);

#define CONTAINER_OF(pointer, type, member) ((type *)(void *)((char *)(pointer)-offsetof(type, member)))

#endif
