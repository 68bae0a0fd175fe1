/* Jupyter notebooks (nbformat 3 and 4): Markdown as it is, code and its text output fenced. */
#include "core/json.h"
#include "readers/internal.h"
#include "readers/writer.h"

#define MAX_OUTPUT 20000 /* bytes of one output that are shown */

/* A text that is a string or a list of lines. */
static void join(const json_t *value, struct buf *out)
{
    buf_reset(out);
    if (json_is_string(value)) {
        buf_add(out, str_make(json_string_value(value), json_string_length(value)));
        return;
    }
    size_t index;
    const json_t *line;
    json_array_foreach (value, index, line)
        if (json_is_string(line))
            buf_add(out, str_make(json_string_value(line), json_string_length(line)));
}

/* Terminal colours are of no use in text. */
static void drop_escapes(struct buf *text)
{
    size_t kept = 0;
    for (size_t i = 0; i < text->len; i++) {
        if (text->data[i] == '\x1B' && i + 1 < text->len && text->data[i + 1] == '[') {
            for (i += 2; i < text->len && !ascii_is_alpha(text->data[i]);)
                i++;
            continue;
        }
        text->data[kept++] = text->data[i];
    }
    buf_truncate(text, kept);
}

static void write_output(struct writer *writer, const json_t *output, struct buf *text)
{
    const json_t *data = json_object_get(output, "data");
    const json_t *plain = json_object_get(data, "text/plain");
    if (json_is_array(json_object_get(output, "traceback")))
        join(json_object_get(output, "traceback"), text);
    else
        join(plain ? plain : json_object_get(output, "text"), text);
    if (!text->len && json_object_get(data, "image/png"))
        buf_add_text(text, "(a picture)");
    drop_escapes(text);
    if (text->len > MAX_OUTPUT) {
        buf_truncate(text, MAX_OUTPUT);
        buf_add_text(text, "\n…");
    }
    if (!text->len)
        return;
    writer_paragraph(writer, STR("Output:"));
    writer_fence(writer, STR(""), buf_str(text));
}

static void write_cell(struct writer *writer, const json_t *cell, struct str language, struct buf *text)
{
    struct str type = json_get_str(cell, "cell_type");
    const json_t *source = json_object_get(cell, "source"), *output;
    join(source ? source : json_object_get(cell, "input"), text);
    struct str body = str_trim(buf_str(text));
    size_t index;
    if (str_equal(type, STR("code"))) {
        if (body.len)
            writer_fence(writer, language, body);
        json_array_foreach (json_object_get(cell, "outputs"), index, output)
            write_output(writer, output, text);
    } else if (str_equal(type, STR("heading"))) {
        writer_heading(writer, (int)json_get_int(cell, "level", 1), body);
    } else if (body.len) {
        writer_break(writer);
        writer_document(writer, body, 0);
        writer_break(writer);
    }
}

enum status notebook_read(struct str text, struct reader_text *out)
{
    json_t *notebook;
    if (json_parse(text, &notebook, NULL) != STATUS_OK)
        return STATUS_SYNTAX;
    const json_t *metadata = json_object_get(notebook, "metadata"), *cell;
    const json_t *cells = json_object_get(notebook, "cells");
    if (!cells) /* version 3 has sheets, of which programs write one */
        cells = json_object_get(json_array_get(json_object_get(notebook, "worksheets"), 0), "cells");
    struct str language = json_get_str(json_object_get(metadata, "kernelspec"), "language");
    if (!language.len)
        language = json_get_str(json_object_get(metadata, "language_info"), "name");
    struct writer writer;
    struct buf scratch;
    size_t index;
    bool known = json_is_array(cells);
    writer_init(&writer, &out->markdown);
    buf_init(&scratch, BUF_UNBOUNDED);
    language = str_slice(language, 0, 30);
    json_array_foreach (cells, index, cell)
        write_cell(&writer, cell, language, &scratch);
    out->truncated = out->truncated || writer.full;
    buf_finish(&scratch);
    json_decref(notebook);
    return known ? STATUS_OK : STATUS_SYNTAX;
}
