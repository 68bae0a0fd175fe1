/* src/loop/child.h
 *
 * Child processes: a program, bytes in, bytes out, and an end that always comes.
 *
 * A child is started without a shell, in a session and process group of its own, with no descriptor but the three
 * standard ones and those it is handed by name. Whatever ends it (exit, time-out, cancel, too much output), the whole
 * group is killed, so nothing that it started in the same group lives on.
 *
 * Two ways of use. One shot: `input` goes in, what comes out is collected and handed to `done`. Conversation:
 * `on_output` gets each piece as it comes, and with `keep_input` child_write says more until child_close_input.
 */
#ifndef FATHOM_LOOP_CHILD_H
#define FATHOM_LOOP_CHILD_H

#include "core/buf.h"
#include "core/status.h"
#include "core/str.h"
#include "loop/loop.h"

struct child;

/* A piece of what a child writes, as it arrives: borrowed until the callback returns, cut anywhere. The callback may
 * write to the child, close its input and cancel it. Nothing comes after child_cancel. */
typedef void (*child_bytes_fn)(void *user, struct str bytes);

/* The highest descriptor number that can be handed to a child. */
#define CHILD_MAX_DESCRIPTOR 31

/* A descriptor of ours that the child gets under a number of its own. */
struct child_descriptor {
    int number; /* in the child: 3 … CHILD_MAX_DESCRIPTOR, each once */
    int ours;   /* stays ours; may be closed as soon as child_start has returned */
};

struct child_options {
    const char *const *argv;        /* argv[0] is searched in PATH unless it holds a slash; ends in NULL */
    const char *const *environment; /* "NAME=value", ends in NULL; NULL hands over our own, an empty list nothing */
    const char *directory;          /* to run in; NULL: ours */
    struct str input;               /* for its stdin, which is closed behind it; copied. Empty: /dev/null */
    int64_t timeout_ms;             /* 0: none */
    size_t max_output;              /* bytes of stdout; more ends the child. 0: 10 MB, or no limit with on_output */
    size_t max_errors;              /* bytes of stderr that are kept; more is dropped. 0: 64 KB */

    int64_t user; /* > 0: become this user and this group, and leave all others. Only root can */

    bool keep_input;          /* stdin stays open behind `input`, for child_write */
    size_t max_unread;        /* bytes written to stdin that the child has not taken yet. 0: 1 MB */
    child_bytes_fn on_output; /* gets stdout in place of child_result.output; called with the user of child_start */
    child_bytes_fn on_errors; /* gets stderr in place of child_result.errors, without a limit */
    const struct child_descriptor *descriptors;
    size_t n_descriptors;
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
    struct buf output;  /* what came on stdout, also when status is not STATUS_OK; empty with on_output */
    struct buf errors;  /* the same for stderr */
    int64_t elapsed_ms;
};

typedef void (*child_done_fn)(void *user, struct child_result *result);

/* Starts a child. `done` comes exactly once, never from inside this call, after the process was reaped. The handle is
 * valid until then. */
struct child *child_start(struct loop *loop, const struct child_options *options, child_done_fn done, void *user);

/* Queues bytes for the child's stdin, behind what was queued before; copied. For a child with `keep_input`.
 *
 * STATUS_OK       the child will get them if it goes on reading; whether it did, only its answer tells
 * STATUS_TOO_BIG  the child does not read: max_unread would be passed. Nothing was queued
 * STATUS_IO       its stdin is closed, by child_close_input, by the child, or because it has ended */
enum status child_write(struct child *child, struct str bytes) STATUS_CHECKED;

/* How many bytes of child_write and `input` the child has not taken yet. */
size_t child_unread(const struct child *child);

/* Closes the child's stdin once it has taken what was queued. May be called more than once. */
void child_close_input(struct child *child);

/* Sends a signal to the child's group, to ask it to end before child_cancel makes it. Nothing happens when it has
 * ended. */
void child_signal(struct child *child, int signal_number);

/* The child's process id; 0 once it was reaped, or when it was never started. */
int child_process_id(const struct child *child);

/* Kills the child's group; `done` comes with STATUS_CANCELED in a later turn. */
void child_cancel(struct child *child);

#endif
