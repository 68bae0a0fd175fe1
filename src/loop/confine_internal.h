/* src/loop/confine_internal.h
 *
 * The parts of a confinement: the filter of system calls, the command, the watch over the tree. Not for other rooms.
 */
#ifndef FATHOM_LOOP_CONFINE_INTERNAL_H
#define FATHOM_LOOP_CONFINE_INTERNAL_H

#include <stddef.h>

#include "core/buf.h"
#include "loop/confine.h"

/* How this system confines. */
struct confine_way {
    bool works;
    char *bubblewrap;
    bool change_user; /* root becomes another user before */
    struct error why; /* it does not work, and what a person can do */
};

struct confine_callback {
    confined_done_fn done;
    void *user;
};

/* ---- confine.c ---- */

/* confine_start by a way that need not be the known one. */
struct confined *confine_start_by(const struct confine_way *way, struct loop *loop,
                                  const struct confinement *confinement, const struct child_options *options,
                                  struct confine_callback callback);

/* ---- confine_probe.c ---- */

/* Found out by the first call; valid as long as the process. Any thread. */
const struct confine_way *confine_known_way(void);

/* ---- confine_filter.c ---- */

/* A file in memory that holds the filter as the kernel reads it, ready for bubblewrap's --seccomp. The caller closes
 * it. -1 when the library refuses. */
int confine_filter_open(bool network);

/* ---- confine_command.c ---- */

/* The numbers of our own descriptors in bubblewrap; it closes them before the program starts. */
enum {
    CONFINE_FD_ARGUMENTS = CHILD_MAX_DESCRIPTOR,
    CONFINE_FD_FILTER = CHILD_MAX_DESCRIPTOR - 1,
    CONFINE_FD_STATUS = CHILD_MAX_DESCRIPTOR - 2,
    CONFINE_FD_PASSWD = CHILD_MAX_DESCRIPTOR - 3,
    CONFINE_FD_GROUP = CHILD_MAX_DESCRIPTOR - 4,
};

/* All limits as they hold: defaults filled in. */
struct confine_limits confine_limits_filled(const struct confine_limits *limits);

/* Bubblewrap's options, each ended by NUL, for --args. `limits` are filled. */
void confine_write_arguments(const struct confinement *confinement, const struct confine_limits *limits,
                             const char *directory, struct buf *out);

/* What stands on the command line: bubblewrap, prlimit with the limits, then the program's own arguments. Ends in NULL;
 * the caller frees with confine_free_command. */
char **confine_make_command(const char *bubblewrap, const struct confine_limits *limits, const char *const *argv);
void confine_free_command(char **command);

/* A file in memory with these bytes, at its beginning. The caller closes it. -1 when there is no descriptor left. */
int confine_memory_file(const char *name, struct str contents);

/* ---- confine_watch.c ---- */

struct confine_use {
    size_t processes, threads;
    int64_t resident; /* bytes, shared pages counted for each process that maps them, with page tables and what else
                         the kernel holds for the tree */
    int64_t cpu_ms;   /* of living processes and of those they waited for */
    bool more;        /* there are more processes than were looked at */
};

/* Adds up what the descendants of a process use. */
void confine_measure(int process_id, struct confine_use *use);

/* The bytes really in use, shared pages counted once: slower, since the kernel walks the page tables. */
int64_t confine_measure_memory(int process_id);

/* Kills the direct children of a process, the roots of their process namespaces. Returns a descriptor of the first of
 * them, as confine_open_process. */
int confine_kill_children(int process_id);

/* A descriptor that is readable once the process has ended; the caller closes it. -1 when it is gone, or when the
 * kernel has no such descriptors. */
int confine_open_process(int process_id);

/* Whether the kernel tells the children of a process at all. */
bool confine_can_watch(void);

#endif
