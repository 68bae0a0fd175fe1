#include "text/markdown.h"

#include <string.h>

#include "core/utf8.h"

struct line_writer {
    struct buf *out;
    size_t start;
    bool space; /* white space is due before the next character */
};

static enum status put(struct line_writer *writer, struct str bytes)
{
    if (writer->space && writer->out->len > writer->start) {
        enum status status = buf_append_char(writer->out, ' ');
        if (status != STATUS_OK)
            return status;
    }
    writer->space = false;
    return buf_append_str(writer->out, bytes);
}

static bool is_word_byte(char c)
{
    return ascii_is_alnum(c) || (unsigned char)c >= 0x80;
}

/* The length of `](target)` at `at`, which ends the text of a link; 0 when it is something else. A target is at most 2
 * KB long and on one line, so that looking for its end stays linear. */
static size_t link_tail(struct str s, size_t at)
{
    if (at + 1 >= s.len || s.data[at] != ']' || s.data[at + 1] != '(')
        return 0;
    size_t depth = 0;
    for (size_t i = at + 1; i < s.len && i < at + 2048 && s.data[i] != '\n'; i++) {
        if (s.data[i] == '(')
            depth++;
        else if (s.data[i] == ')' && --depth == 0)
            return i + 1 - at;
    }
    return 0;
}

/* Length of the mark of a heading, quote, list item or table rule at the start of a line. */
static size_t line_mark(struct str line)
{
    size_t at = 0;
    for (;;) {
        while (at < line.len && (line.data[at] == ' ' || line.data[at] == '\t' || line.data[at] == '>'))
            at++;
        size_t mark = at;
        while (mark < line.len && line.data[mark] == '#')
            mark++;
        if (mark == at && mark < line.len && strchr("-*+", line.data[mark]))
            mark++;
        if (mark == at || mark >= line.len || line.data[mark] != ' ')
            return at;
        at = mark;
    }
}

static bool is_rule(struct str line)
{
    for (size_t i = 0; i < line.len; i++)
        if (!strchr("|-: \t=", line.data[i]))
            return false;
    return true;
}

static enum status write_line(struct line_writer *writer, struct str line)
{
    enum status status = STATUS_OK;
    for (size_t i = 0; i < line.len && status == STATUS_OK;) {
        char c = line.data[i], next = i + 1 < line.len ? line.data[i + 1] : '\0';
        size_t tail = link_tail(line, i);
        bool inside_word = i > 0 && is_word_byte(line.data[i - 1]) && is_word_byte(next);
        if (ascii_is_space(c) || c == '|') {
            writer->space = true;
            i++;
        } else if (tail) {
            i += tail;
        } else if (c == '\\' && next && !ascii_is_alnum(next) && (unsigned char)next < 0x80) {
            status = put(writer, str_slice(line, i + 1, i + 2));
            i += 2;
        } else if (c == '!' && next == '[') {
            i += 2;
        } else if (c == '[' || c == '`' || (c == '*' && next != ' ') ||
                   (c == '*' && i > 0 && line.data[i - 1] == '*') || (c == '*' && i > 0 && line.data[i - 1] != ' ') ||
                   (c == '_' && !inside_word)) {
            /* a bracket that opens no link is kept: its end is not followed by a target */
            size_t close = c == '[' ? str_find_char(str_slice(line, 0, i + 1024), ']', i) : 0;
            if (c == '[' && (close == STR_NONE || !link_tail(line, close)))
                status = put(writer, str_slice(line, i, i + 1));
            i++;
        } else {
            size_t length = utf8_floor(str_slice(line, i, line.len), 4);
            size_t one;
            utf8_decode(str_slice(line, i, line.len), &one);
            status = put(writer, str_slice(line, i, i + (one < length || !length ? one : length)));
            i += one;
        }
    }
    writer->space = true;
    return status;
}

enum status markdown_to_line(struct str markdown, struct buf *out)
{
    struct line_writer writer = {.out = out, .start = out->len};
    struct str line;
    enum status status = STATUS_OK;
    while (status == STATUS_OK && str_split_next(&markdown, '\n', &line)) {
        struct str trimmed = str_trim(line);
        if (is_rule(trimmed) || str_starts_with(trimmed, STR("```")))
            continue;
        status = write_line(&writer, str_slice(line, line_mark(line), line.len));
    }
    return status;
}
