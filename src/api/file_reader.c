#include "api/file_reader.h"

#include <stdlib.h>

#include "readers/reader.h"

static enum status read_file(const char *path, struct str bytes, size_t max_bytes, struct corpus_text *out,
                             struct error *error)
{
    out->alias = reader_man_alias(path, bytes);
    if (out->alias)
        return STATUS_OK;
    char *man_root = reader_man_root(path);
    struct reader_source source = {
        .bytes = bytes,
        .name = str_of(path),
        .man_root = man_root,
        .drop_links = true, /* a page's own links are of no use without the network, and would be searched */
        .max_bytes = max_bytes,
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
