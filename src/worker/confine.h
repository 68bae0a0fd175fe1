/* src/worker/confine.h
 *
 * How the worker locks itself up before it looks at a document. What it has no use for it gives away for good, and what
 * it starts afterwards (pdftotext, soffice, tesseract) inherits all of it:
 *
 *     no_new_privs   no set-user-ID program gives anything back
 *     Landlock       files can be read where programs, libraries, fonts and their settings lie; written in one
 *                    temporary folder; nothing else can be opened. No TCP, no abstract sockets and no signals to
 *                    processes outside, where the kernel knows these rules
 *     seccomp        no sockets to the outside, no tracing, mounting, namespaces, kernel keys, BPF, io_uring, …
 *     rlimits        memory, processor time, size of files, number of processes and descriptors; no core dumps
 *
 * A kernel may lack Landlock or seccomp: then the rest holds, and the description says what does.
 */
#ifndef FATHOM_WORKER_CONFINE_H
#define FATHOM_WORKER_CONFINE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/buf.h"
#include "core/status.h"

struct worker_limits {
    const char *temp_dir; /* may be written to; NULL: nowhere */
    int64_t memory_bytes; /* for each process; 0: no limit */
    int64_t cpu_seconds;  /* for each process; 0: no limit */
    bool namespaced;      /* a process namespace ends all children with the worker. Without one they are kept from
                             leaving its process group, which is how they are ended then */
};

/* Confines this process and all it will start. Appends to `held` what holds now ("limits, Landlock 7, seccomp").
 * STATUS_IO when the kernel has a means and refuses its use: then nothing must be read. Only one thread may run. */
enum status worker_confine(const struct worker_limits *limits, struct buf *held, struct error *error) STATUS_CHECKED;

/* Which version of Landlock the kernel has; 0 for none. */
int worker_landlock_version(void);

#endif
