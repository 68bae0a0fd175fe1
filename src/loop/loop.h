/* src/loop/loop.h
 *
 * The event loop: everything that waits for time, a descriptor, a thread, a child process or a signal goes through it.
 *
 * A loop belongs to the thread that runs it. All functions are called on that thread, except loop_post, which any
 * thread may call, and loop_work_canceled, which is made for the pool's threads. Callbacks run on the loop's thread
 * and must not block.
 *
 * What the functions here create keeps working until it is destroyed; destroying is allowed inside every callback, the
 * object's own included. Owners destroy what they made before loop_destroy.
 */
#ifndef FATHOM_LOOP_LOOP_H
#define FATHOM_LOOP_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include "core/status.h"

struct loop;

typedef void (*loop_fn)(void *user);

/* Creates a loop. From the first call on the process ignores SIGPIPE, so that writing to a peer that went away is an
 * error and not the end. Aborts when the system has no descriptors left. */
struct loop *loop_create(void);

/* Ends the loop. Work and children still under way are canceled and waited for; their done callbacks come before this
 * returns, and so do posted calls. Deferred calls that have not run are dropped. Not to be called inside a callback.
 * NULL is allowed. */
void loop_destroy(struct loop *loop);

/* Runs until loop_stop, also while there is nothing to wait for. */
void loop_run(struct loop *loop);

/* Handles what is ready now, without waiting. */
void loop_turn(struct loop *loop);

/* Makes loop_run return at the end of this turn. Before loop_run: makes the next one return at once. */
void loop_stop(struct loop *loop);

/* Milliseconds of a clock that never goes back; its start means nothing. Read afresh on every call. */
int64_t loop_now_ms(const struct loop *loop);

/* Calls `fn` once in a later turn, never from inside this call, in the order of the calls. */
void loop_defer(struct loop *loop, loop_fn fn, void *user);

/* Drops every deferred call of `fn` with `user` that has not run yet. */
void loop_defer_cancel(struct loop *loop, loop_fn fn, void *user);

/* The same as loop_defer, from any thread. The loop must outlive the call. */
void loop_post(struct loop *loop, loop_fn fn, void *user);

/* ---- timers: one shot ---- */

struct loop_timer;

struct loop_timer *loop_timer_create(struct loop *loop, loop_fn fn, void *user);
void loop_timer_destroy(struct loop_timer *timer); /* NULL is allowed */

/* Calls `fn` once, `delay_ms` from now; 0 or less means in a later turn. An earlier start is forgotten. */
void loop_timer_start(struct loop_timer *timer, int64_t delay_ms);
void loop_timer_stop(struct loop_timer *timer);
bool loop_timer_active(const struct loop_timer *timer);

/* ---- descriptors ---- */

enum { LOOP_READABLE = 1, LOOP_WRITABLE = 2 };

struct loop_watch;

/* `events` are the LOOP_… flags that hold; an error or hang-up of the descriptor sets all that were asked for. */
typedef void (*loop_watch_fn)(void *user, int events);

/* Watches a descriptor, which stays the caller's and must stay open until loop_watch_destroy. Nothing is reported
 * before loop_watch_set; `events` 0 pauses. Level-triggered. */
struct loop_watch *loop_watch_create(struct loop *loop, int descriptor, loop_watch_fn fn, void *user);
void loop_watch_set(struct loop_watch *watch, int events);
void loop_watch_destroy(struct loop_watch *watch); /* NULL is allowed */

/* ---- work for the thread pool ---- */

struct loop_work;

/* Runs on a thread of the pool. It must return soon after loop_work_canceled(work) turned true: a thread cannot be
 * stopped from outside. */
typedef void (*loop_work_fn)(struct loop_work *work, void *user);

/* Runs on the loop's thread. STATUS_OK when the work ran and nobody canceled it; STATUS_CANCELED when it was canceled,
 * whether or not it ran. `work` is gone afterwards. */
typedef void (*loop_work_done_fn)(void *user, enum status status);

/* Queues `work` for the pool. `done` comes exactly once, never from inside this call; NULL is allowed. */
struct loop_work *loop_work_start(struct loop *loop, loop_work_fn work, loop_work_done_fn done, void *user);

/* Asks the work to stop; `done` still comes, later. */
void loop_work_cancel(struct loop_work *work);

/* Whether somebody asked the work to stop. Any thread; cheap. */
bool loop_work_canceled(const struct loop_work *work);

/* ---- signals ---- */

/* Calls `fn` on the loop's thread whenever the process receives `signal_number`, in place of what it did before. `fn`
 * NULL restores the system's default. One handler for each signal and loop. */
void loop_on_signal(struct loop *loop, int signal_number, loop_fn fn, void *user);

#endif
