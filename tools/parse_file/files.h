/* tools/parse_file/files.h
 *
 * The files that the user handed over, and the only way to them. Names go in, descriptors of regular files come out;
 * no path of this machine is ever shown, and none that a model writes is opened as it stands.
 *
 * Below a folder the kernel itself refuses every way out (openat2 with RESOLVE_BENEATH): "..", absolute paths, links
 * that lead outside, also when something is moved while it is looked up. On kernels without it each step of a path is
 * opened by itself and links are not followed at all. Pipes, devices and sockets are never opened for reading. Hidden
 * files and folders (".env", ".git") are neither listed nor opened.
 *
 * Filled once by the loop's thread; after that any thread may look.
 */
#ifndef FATHOM_TOOLS_PARSE_FILE_FILES_H
#define FATHOM_TOOLS_PARSE_FILE_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/buf.h"
#include "core/status.h"
#include "core/str.h"

struct files;

/* The longest name that is looked at, in bytes. */
#define FILES_MAX_NAME 1024

struct files *files_create(void);
void files_destroy(struct files *files); /* NULL is allowed */

/* For tests: as on a kernel without openat2. */
void files_walk_by_hand(struct files *files);

/* Opens one file, to be known by its base name ("report-2.pdf" where that is taken). STATUS_NOT_FOUND, STATUS_IO,
 * STATUS_INVALID for what is no regular file; the error names the path, for the user. */
enum status files_add_file(struct files *files, const char *path, struct error *error) STATUS_CHECKED;

/* Opens a folder. Its files are known by their paths below it; with several folders the name of the folder stands in
 * front. */
enum status files_add_root(struct files *files, const char *path, struct error *error) STATUS_CHECKED;

/* A file that was found; to be given to found_file_finish. */
struct found_file {
    char *name;     /* as it is shown */
    int descriptor; /* open for reading, at 0 */
    uint64_t device, inode;
    int64_t size, modified_ns;
};

/* Opens the file that is meant by `name`: as it is listed, else without regard to case, else the base name of a path
 * whose file was handed over by itself. Blocks on the disk.
 *
 * STATUS_NOT_FOUND  no such file; the message says which names come near
 * STATUS_REFUSED    the name leads outside, or to something that is no file
 * STATUS_IO         it cannot be read */
enum status files_open(const struct files *files, struct str name, struct found_file *out,
                       struct error *error) STATUS_CHECKED;
void found_file_finish(struct found_file *file); /* NULL and zeroed are allowed */

/* Appends what there is, "report.pdf (1.2 MB)" and so on, one each line with `before` in front, at most `limit` of them
 * and how many more there are. Blocks on the disk. Returns how many there are. */
size_t files_list(const struct files *files, size_t limit, const char *before, struct buf *out);

#endif
