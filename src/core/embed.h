/* src/core/embed.h
 *
 * Files that are part of the program: prompts, tool signatures, SQL. The build turns each into a C array under its path
 * in the source tree ("prompts/generic/system.md", "tools/search/signature.json"), so an installed binary needs no data
 * directory. A directory given with --prompts takes precedence for paths below "prompts/".
 */
#ifndef FATHOM_CORE_EMBED_H
#define FATHOM_CORE_EMBED_H

#include <stdbool.h>

#include "core/str.h"

struct embedded_file {
    const char *path;
    struct str contents; /* followed by a NUL that does not count */
};

/* All embedded files, sorted by path. */
const struct embedded_file *embed_files(size_t *count);

/* The contents of an embedded file. False when there is none at this path. */
bool embed_find(const char *path, struct str *contents);

#endif
