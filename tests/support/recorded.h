/* tests/support/recorded.h
 *
 * Reads the recorded material that tests run on: gzip files, JSON Lines of completions, tar archives of small files.
 */
#ifndef FATHOM_TESTS_RECORDED_H
#define FATHOM_TESTS_RECORDED_H

#include <stdbool.h>
#include <stddef.h>

#include "core/str.h"

/* The unpacked contents, NUL-terminated; the caller frees. NULL when the file is absent. */
char *recorded_read(const char *path, size_t *length);

/* Calls `each` for every regular file of a .tar.gz. False when the archive is absent. */
bool recorded_each_file(const char *path, void (*each)(void *user, const char *name, struct str contents), void *user);

/* Calls `each` for every completion of a .jsonl.gz: the member "completion", or the assistant's "messages". False when
 * the file is absent. */
bool recorded_each_completion(const char *path, void (*each)(void *user, struct str text, size_t index), void *user);

#endif
