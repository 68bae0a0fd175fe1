#include "core/embed.h"

#include <stdlib.h>
#include <string.h>

static int compare_path(const void *path, const void *file)
{
    return strcmp(path, ((const struct embedded_file *)file)->path);
}

bool embed_find(const char *path, struct str *contents)
{
    size_t count;
    const struct embedded_file *files = embed_files(&count);
    const struct embedded_file *hit = bsearch(path, files, count, sizeof *files, compare_path);
    if (hit)
        *contents = hit->contents;
    return hit != NULL;
}
