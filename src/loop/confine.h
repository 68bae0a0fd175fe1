/* src/loop/confine.h
 *
 * Confined children: programs that are not trusted, or that read what nobody should trust, run where they can do no
 * harm. Bubblewrap gives them namespaces of their own, seccomp takes away the system calls that widen them, resource
 * limits and a watch over the whole tree of processes bound what they use up. What is held back and what remains is
 * docs/security.md.
 *
 * A confined program sees: /usr and its links (/bin, /lib …) and the few files of /etc that programs need, read-only;
 * a /tmp and /dev/shm of its own, the only places it can write to; its own processes; no network, unless it is given
 * one; a new host name, no capability, no terminal; the binds it was given; and no environment but the one it was
 * given. It cannot see the home folders, other processes or the rest of the system. When it ends, for whatever reason,
 * every process it started ends, also one that left its session.
 *
 * When this program runs as root, the confined one first becomes a user of its own that nobody else is, because a limit
 * on the number of processes does not hold for root.
 */
#ifndef FATHOM_LOOP_CONFINE_H
#define FATHOM_LOOP_CONFINE_H

#include "loop/child.h"

/* A file or folder of ours that the confined program sees too. */
struct confine_bind {
    const char *source; /* absolute */
    const char *target; /* absolute; NULL: the same */
    bool writable;
    bool optional; /* left out when there is no source; else the start fails */
};

/* 0 takes the default of each limit; CONFINE_UNLIMITED takes none. */
#define CONFINE_UNLIMITED INT64_MAX

struct confine_limits {
    int64_t cpu_seconds; /* of the whole tree, all threads and cores together. 60 */
    int64_t memory;      /* bytes of data of one process: more is refused to it. 1 GB */
    int64_t tree_memory; /* bytes in use by the whole tree: more ends it. As `memory`, and a quarter more */
    int64_t processes;   /* processes and threads. 64 */
    int64_t file_size;   /* bytes of one file. As tmp_size */
    int64_t tmp_size;    /* bytes of /tmp, and of /dev/shm. 64 MB */
    int64_t open_files;  /* descriptors of one process. 256 */
};

struct confinement {
    struct confine_limits limits;
    const struct confine_bind *binds; /* in this order: a later one hides an earlier one */
    size_t n_binds;
    bool network;    /* the host's network, loopback included; the address guard does not apply to it */
    bool no_seccomp; /* for programs that need what the filter refuses */

    /* When we are root: do not become another user, so that folders of root's can be written. It happens by itself
     * where root alone can reach what is bound. The limit on processes is then kept by the watch alone. */
    bool keep_user;
};

/* Why a confined program was ended from outside, or that it was not. */
enum confine_end {
    CONFINE_END_NONE,      /* see child_result */
    CONFINE_END_MEMORY,    /* tree_memory */
    CONFINE_END_CPU,       /* cpu_seconds */
    CONFINE_END_PROCESSES, /* far more than `processes`, where the system does not refuse them itself */
};

struct confined;

/* `result` as child.h says, borrowed until this returns; what it says of bubblewrap's own failure to start the program
 * is STATUS_IO with the reason. `exit_code` above 128 is 128 + the signal that ended the program: bubblewrap passes it
 * on so. With an `end`, result->status is STATUS_CANCELED and its error names the limit. */
typedef void (*confined_done_fn)(void *user, enum confine_end end, struct child_result *result);

/* Whether programs can be confined here. Found out by running one the first time, which takes some 50 ms, and known
 * from then on. When not, `reason` says why and what a person can do about it (STATUS_UNSUPPORTED). Any thread. */
bool confine_available(struct error *reason);

/* Starts options->argv confined. As child_start, with these differences: argv[0] is looked for inside, in
 * /usr/local/bin:/usr/bin:/bin; `environment` NULL gives PATH, HOME=/tmp and LANG=C.UTF-8; `directory` is inside, NULL
 * is /tmp; the numbers of `descriptors` end at CONFINE_MAX_DESCRIPTOR. Where confine_available says no, `done` comes
 * with STATUS_UNSUPPORTED: nothing ever runs unconfined. */
#define CONFINE_MAX_DESCRIPTOR (CHILD_MAX_DESCRIPTOR - 8)
struct confined *confine_start(struct loop *loop, const struct confinement *confinement,
                               const struct child_options *options, confined_done_fn done, void *user);

/* The child, for child_write and the like; valid as long as the confined one. NULL when it could not be started. Its
 * process is bubblewrap's, not the program's. */
struct child *confined_child(const struct confined *confined);

/* Ends the program and all it started; `done` comes with STATUS_CANCELED in a later turn. */
void confine_cancel(struct confined *confined);

#endif
