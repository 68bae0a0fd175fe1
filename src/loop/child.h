/* src/loop/child.h
 *
 * Child processes: a program, bytes in, bytes out, and an end that always comes.
 *
 * A child is started without a shell, in a session and process group of its own, with no descriptor but the three
 * standard ones. Whatever ends it (exit, time-out, cancel, too much output), the whole group is killed, so nothing
 * that it started in the same group lives on.
 */
#ifndef FATHOM_LOOP_CHILD_H
#define FATHOM_LOOP_CHILD_H

#include "core/buf.h"
#include "core/status.h"
#include "core/str.h"
#include "loop/loop.h"

struct child;

struct child_options {
    const char *const *argv;        /* argv[0] is searched in PATH unless it holds a slash; ends in NULL */
    const char *const *environment; /* "NAME=value", ends in NULL; NULL hands over our own, an empty list nothing */
    const char *directory;          /* to run in; NULL: ours */
    struct str input;               /* for its stdin, which is closed behind it; copied. Empty: /dev/null */
    int64_t timeout_ms;             /* 0: none */
    size_t max_output;              /* bytes of stdout; more ends the child. 0: 10 MB */
    size_t max_errors;              /* bytes of stderr that are kept; more is dropped. 0: 64 KB */
};

/* What became of a child. Borrowed until the done callback returns; the buffers may be taken with buf_take.
 *
 * STATUS_OK         it exited by itself; see exit_code
 * STATUS_NOT_FOUND  no such program or directory
 * STATUS_IO         it could not be started, or was killed by a signal that did not come from us; see signal_number
 * STATUS_TIMEOUT    timeout_ms passed
 * STATUS_TOO_BIG    it wrote more than max_output; output holds the beginning
 * STATUS_CANCELED   child_cancel or loop_destroy */
struct child_result {
    enum status status;
    struct error error; /* names the program, unless status is STATUS_OK */
    int exit_code;      /* -1 when it did not exit by itself */
    int signal_number;  /* 0 when no signal ended it */
    struct buf output;  /* what came on stdout, also when status is not STATUS_OK */
    struct buf errors;  /* the same for stderr */
    int64_t elapsed_ms;
};

typedef void (*child_done_fn)(void *user, struct child_result *result);

/* Starts a child. `done` comes exactly once, never from inside this call, after the process was reaped. The handle is
 * valid until then. */
struct child *child_start(struct loop *loop, const struct child_options *options, child_done_fn done, void *user);

/* Kills the child's group; `done` comes with STATUS_CANCELED in a later turn. */
void child_cancel(struct child *child);

#endif
