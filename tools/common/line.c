#include "tools/common/line.h"

#include "core/utf8.h"

#include <stdlib.h>

void line_add(struct buf *out, struct str text, size_t max_bytes)
{
    struct buf valid;
    size_t start = out->len;
    buf_init(&valid, BUF_UNBOUNDED);
    bool cut = text.len > 4 * max_bytes;
    if (cut)
        text = str_slice(text, 0, utf8_floor(text, 4 * max_bytes));
    if (utf8_append_valid(&valid, text) != STATUS_OK)
        abort(); /* the buffer has no cap */
    for (size_t i = 0; i < valid.len; i++) {
        unsigned char c = (unsigned char)valid.data[i];
        if (c > ' ' && c != 0x7f)
            buf_add_char(out, (char)c);
        else if (out->len > start && out->data[out->len - 1] != ' ')
            buf_add_char(out, ' ');
    }
    buf_finish(&valid);
    if (out->len > start && out->data[out->len - 1] == ' ')
        buf_truncate(out, out->len - 1);
    struct str line = str_slice(buf_str(out), start, out->len);
    if (line.len > max_bytes) {
        buf_truncate(out, start + utf8_floor(line, max_bytes));
        cut = true;
        while (out->len > start && out->data[out->len - 1] == ' ')
            buf_truncate(out, out->len - 1);
    }
    if (cut)
        buf_add_text(out, "…");
}

char *line_make(struct str text, size_t max_bytes)
{
    struct buf line;
    buf_init(&line, BUF_UNBOUNDED);
    line_add(&line, text, max_bytes);
    return buf_take(&line);
}
