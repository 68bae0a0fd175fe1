/* tools/common/document_cell.h
 *
 * The cell that programs which look at documents run in: bubblewrap's namespaces where those work, else a private
 * folder and what the worker confines itself with.
 */
#ifndef FATHOM_TOOLS_COMMON_DOCUMENT_CELL_H
#define FATHOM_TOOLS_COMMON_DOCUMENT_CELL_H

#include <stdint.h>

#include "loop/child.h"
#include "loop/confine.h"

struct documents;

#define CELL_WORKER_INSIDE "/run/fathom/fathom-worker" /* where a namespace shows it */
#define CELL_FOLDER_INSIDE "/tmp"

/* Starts a program in namespaces of its own; options->timeout_ms bounds its processor time, too. */
struct confined *cell_start(const struct documents *documents, struct loop *loop, const struct child_options *options,
                            confined_done_fn done, void *user);

/* A fresh private folder for a program without namespaces; NULL when there can be none. The caller frees. */
char *cell_make_folder(void);

/* Removes it with all that lies in it. Blocks: for the pool. */
void cell_remove_folder(const char *path);

/* Nothing of ours but where programs and the data of text recognition are. */
struct cell_environment {
    char *texts[6];
    const char *list[7];
};
void cell_environment_init(struct cell_environment *environment, const char *folder);
void cell_environment_finish(struct cell_environment *environment);

#endif
