/* src/core/file.h
 *
 * Whole files in and out of memory, capped. Blocking; for configuration, prompts and command-line input.
 */
#ifndef FATHOM_CORE_FILE_H
#define FATHOM_CORE_FILE_H

#include "core/buf.h"
#include "core/status.h"

/* Appends the contents of the regular file `path` to `out`. STATUS_NOT_FOUND, STATUS_IO (also for a directory),
 * STATUS_TOO_BIG when `out`'s cap is passed; the error names the path. */
enum status file_read(const char *path, struct buf *out, struct error *error) STATUS_CHECKED;

/* Appends everything up to the end of an open file descriptor. `name` is used in errors. */
enum status file_read_descriptor(int descriptor, const char *name, struct buf *out, struct error *error) STATUS_CHECKED;

/* Writes `contents` to `path` through a temporary file beside it and rename, so readers see the old or the new whole.
 */
enum status file_write(const char *path, struct str contents, struct error *error) STATUS_CHECKED;

#endif
