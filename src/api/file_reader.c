#include "api/file_reader.h"

#include <stdlib.h>
#include <string.h>

#include "readers/reader.h"

static bool is_below(const char *path, const char *folder)
{
    size_t length = strlen(folder);
    return strncmp(path, folder, length) == 0 && path[length] == '/';
}

static enum status read_file(const struct corpus_source *file, struct corpus_text *out, struct error *error)
{
    out->alias = reader_man_alias(file->path, file->bytes);
    if (out->alias && is_below(out->alias, file->folder))
        return STATUS_OK;
    free(out->alias); /* of a page that will not be indexed: then this one is read through its include */
    out->alias = NULL;
    char *man_root = reader_man_root(file->path);
    struct reader_source source = {
        .bytes = file->bytes,
        .name = str_of(file->path),
        .man_root = man_root,
        .drop_links = true, /* a page's own links are of no use without the network, and would be searched */
        .max_bytes = file->max_bytes,
    };
    struct reader_text text;
    enum status status = reader_read(&source, &text, error);
    free(man_root);
    if (status != STATUS_OK)
        return status;
    out->markdown = text.markdown;
    out->title = text.title;
    text.markdown = (struct buf){0};
    text.title = NULL;
    reader_text_finish(&text);
    return STATUS_OK;
}

const struct corpus_reader file_reader = {.wants = reader_wants_name, .read = read_file};
