/* The table of contents of a Markdown text: its headings outside of fenced code. */
#include <stdlib.h>

#include "core/mem.h"
#include "readers/internal.h"
#include "readers/writer.h"
#include "text/markdown.h"

#define MAX_SECTIONS 20000
#define MAX_TITLE    300

void sections_find(struct reader_text *out)
{
    struct str rest = buf_str(&out->markdown), line;
    struct fences fences = {0};
    size_t capacity = 0;
    struct buf title;
    buf_init(&title, MAX_TITLE);
    while (out->n_sections < MAX_SECTIONS && str_split_next(&rest, '\n', &line)) {
        int level = fences_heading(&fences, line);
        if (!level)
            continue;
        buf_reset(&title);
        if (markdown_to_line(line, &title) != STATUS_OK || !title.len)
            continue;
        out->sections = mem_grow(out->sections, out->n_sections, &capacity, sizeof *out->sections);
        out->sections[out->n_sections++] = (struct reader_section){
            .title = str_dup(buf_str(&title)), .level = level, .offset = (size_t)(line.data - out->markdown.data)};
    }
    buf_finish(&title);
}
