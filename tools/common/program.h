/* tools/common/program.h
 *
 * Programs that the user names: own tools and MCP servers. Says how much of this machine such a program gets to see and
 * what it is started with, so that both kinds mean the same by the same words.
 *
 * A program never gets our own environment, which holds keys: it gets PATH, HOME, LANG and their like, and what is
 * configured for it. Confined, HOME and the folder for temporary files are a private one that is gone afterwards, and
 * of the user's files it sees its own executable, the files that its command names, and the folders that it is given.
 */
#ifndef FATHOM_TOOLS_COMMON_PROGRAM_H
#define FATHOM_TOOLS_COMMON_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>

#include "core/buf.h"
#include "core/status.h"
#include "core/str.h"
#include "loop/child.h"

enum program_confinement {
    PROGRAM_STRICT,  /* no network; the system and what it is given read-only; nothing else of the user's files */
    PROGRAM_NETWORK, /* the same, with network, the host's own included */
    PROGRAM_NONE,    /* all that the user may do */
};

/* Strings are copied by program_create. Lists end in NULL; a list that is NULL is empty. Paths are absolute. */
struct program_options {
    const char *const *command;     /* command[0] is searched in PATH unless it holds a slash; where it is to be
                                       confined, among the system's programs first */
    const char *const *environment; /* "NAME=value", in addition */
    const char *directory;          /* to run in, and to be seen; NULL: the private /tmp, or ours where nothing is
                                       confined */
    const char *const *readable;    /* files and folders to be seen */
    const char *const *writable;    /* the same, to be changed too */
    enum program_confinement confinement;
};

struct program;

/* Looks the program up and, where it is to be confined, whether confinement works here.
 *
 * STATUS_INVALID      the command is empty
 * STATUS_NOT_FOUND    there is no such program or directory
 * STATUS_UNSUPPORTED  it is to be confined, and that cannot be done here; the error says why and what to do */
enum status program_create(const struct program_options *options, struct program **out,
                           struct error *error) STATUS_CHECKED;

/* Nothing of the program may be running. NULL is allowed. */
void program_destroy(struct program *program);

struct process;

/* Starts it: `options` are those of child_start but for argv, environment, directory and descriptors, which are filled
 * in here. `done` comes exactly once, never from inside this call; with a limit of the confinement passed the result's
 * status is STATUS_CANCELED and its error names the limit. `user` goes to the callbacks of `options`, too. */
struct process *program_start(const struct program *program, struct loop *loop, const struct child_options *options,
                              child_done_fn done, void *user);

/* As their namesakes of child.h; until `done` has come. */
enum status process_write(struct process *process, struct str bytes) STATUS_CHECKED;
void process_close_input(struct process *process);
void process_signal(struct process *process, int signal_number);
void process_cancel(struct process *process);

/* Appends the last lines of what a program said on stderr as one line for a person: at most `max` bytes, control
 * characters and terminal sequences gone, lines joined by " / ". Appends nothing where there is nothing. */
void program_last_words(struct str errors, size_t max, struct buf *out);

#endif
