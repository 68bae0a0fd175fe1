#include "text/markdown.h"

#include <string.h>

#include "core/utf8.h"

#define MAX_TARGET  ((size_t)2048) /* bytes of a link's address and title */
#define MAX_FORMULA 1024

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

/* White space becomes single blanks, nothing else changes; cut at a character. */
static enum status put_words(struct line_writer *writer, struct str text)
{
    enum status status = STATUS_OK;
    for (size_t i = 0; i < text.len && status == STATUS_OK;) {
        if (ascii_is_space(text.data[i])) {
            writer->space = true;
            i++;
            continue;
        }
        size_t one;
        utf8_decode(str_slice(text, i, text.len), &one);
        status = put(writer, str_slice(text, i, i + one));
        i += one;
    }
    return status;
}

static bool is_word_byte(char c)
{
    return ascii_is_alnum(c) || (unsigned char)c >= 0x80;
}

/* ---- marks within a line; each gives how many bytes of the line belong to it, 0 when there is none at `at` ---- */

/* `](target "title")`, which ends the text of a link. A target is on one line and not long, so that looking for its end
 * stays linear. */
static size_t link_tail(struct str s, size_t at)
{
    if (at + 1 >= s.len || s.data[at] != ']' || s.data[at + 1] != '(')
        return 0;
    if (!memchr(s.data + at, ')', s.len - at < MAX_TARGET ? s.len - at : MAX_TARGET))
        return 0;
    size_t depth = 0;
    bool quoted = false;
    for (size_t i = at + 1; i < s.len && i < at + MAX_TARGET && s.data[i] != '\n'; i++) {
        char c = s.data[i];
        if (c == '"' && (quoted || s.data[i - 1] == ' '))
            quoted = !quoted;
        else if (c == '(' && !quoted)
            depth++;
        else if (c == ')' && !quoted && --depth == 0)
            return i + 1 - at;
    }
    return 0;
}

static size_t run_at(struct str s, size_t at)
{
    size_t n = 1;
    while (at + n < s.len && s.data[at + n] == s.data[at])
        n++;
    return n;
}

/* A span of code: as many backticks at its end as at its beginning. */
static size_t code_span(struct str s, size_t at, struct str *code)
{
    size_t ticks = run_at(s, at), limit = at + 4 * MAX_TARGET < s.len ? at + 4 * MAX_TARGET : s.len;
    for (size_t i = at + ticks; i < limit;) {
        size_t run = s.data[i] == '`' ? run_at(s, i) : 0;
        if (run == ticks) {
            *code = str_slice(s, at + ticks, i);
            return i + run - at;
        }
        i += run ? run : 1;
    }
    return 0;
}

/* A formula between dollar signs, told from prices by what TeX has and they do not. */
static size_t formula(struct str s, size_t at)
{
    size_t marks = run_at(str_slice(s, 0, at + 3), at);
    bool tex = marks == 2;
    if (marks > 2 || at + marks >= s.len || s.data[at + marks] == ' ')
        return 0;
    for (size_t i = at + marks; i < s.len && i < at + MAX_FORMULA; i++) {
        if (s.data[i] == '$' && run_at(str_slice(s, 0, i + 3), i) == marks)
            return tex ? i + marks - at : 0;
        tex = tex || strchr("\\^_{", s.data[i]);
        i += s.data[i] == '\\';
    }
    return 0;
}

/* "<http://...>" and the line end in a cell. */
static size_t angle(struct str s, size_t at, struct str *text)
{
    struct str rest = str_slice(s, at, at + MAX_TARGET);
    *text = STR(" ");
    if (str_starts_with(rest, STR("<br>")))
        return 4;
    if (!str_starts_with(rest, STR("<http://")) && !str_starts_with(rest, STR("<https://")))
        return 0;
    size_t end = str_find_char(rest, '>', 0);
    *text = str_slice(rest, 1, end == STR_NONE ? 1 : end);
    return end == STR_NONE || str_find_char(*text, ' ', 0) != STR_NONE ? 0 : end + 1;
}

/* "[^1]", with ":" behind it at the beginning of the note. */
static size_t note_mark(struct str s, size_t at)
{
    struct str rest = str_slice(s, at, at + 32);
    if (!str_starts_with(rest, STR("[^")))
        return 0;
    size_t end = str_find_char(rest, ']', 0);
    if (end == STR_NONE || end < 3 || str_find_char(str_slice(rest, 0, end), ' ', 0) != STR_NONE)
        return 0;
    return end + 1 + (end + 1 < rest.len && rest.data[end + 1] == ':');
}

/* ---- lines ---- */

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

/* Whether the character is the mark of an emphasis or of the beginning of a link. */
static bool is_mark(struct str line, size_t i)
{
    char c = line.data[i], next = i + 1 < line.len ? line.data[i + 1] : '\0', last = i ? line.data[i - 1] : ' ';
    switch (c) {
    case '*':
        return next != ' ' || last != ' ';
    case '_':
        return !(is_word_byte(last) && is_word_byte(next));
    case '~':
        return next == '~' || last == '~';
    case '[': { /* one that opens no link is kept: its end is not followed by a target */
        size_t close = str_find_char(str_slice(line, 0, i + 1024), ']', i);
        return close != STR_NONE && link_tail(line, close);
    }
    default:
        return false;
    }
}

static enum status write_line(struct line_writer *writer, struct str line)
{
    enum status status = STATUS_OK;
    for (size_t i = 0; i < line.len && status == STATUS_OK;) {
        char c = line.data[i], next = i + 1 < line.len ? line.data[i + 1] : '\0';
        struct str inside = {0};
        size_t skip = 0;
        if (c == ']')
            skip = link_tail(line, i);
        else if (c == '[')
            skip = note_mark(line, i);
        else if (c == '<')
            skip = angle(line, i, &inside);
        else if (c == '`')
            skip = code_span(line, i, &inside);
        else if (c == '$' && (skip = formula(line, i)))
            inside = str_slice(line, i, i + skip);
        if (skip) {
            status = put_words(writer, inside);
            i += skip;
        } else if (ascii_is_space(c) || c == '|') {
            writer->space = true;
            i++;
        } else if (c == '\\' && next && !ascii_is_alnum(next) && (unsigned char)next < 0x80) {
            status = put(writer, str_slice(line, i + 1, i + 2));
            i += 2;
        } else if (c == '!' && next == '[') {
            i += 2;
        } else if (c == '`') {
            i += run_at(line, i);
        } else if (is_mark(line, i)) {
            i++;
        } else {
            size_t one;
            utf8_decode(str_slice(line, i, line.len), &one);
            status = put(writer, str_slice(line, i, i + one));
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
    bool code = false; /* within a fence everything is text */
    enum status status = STATUS_OK;
    while (status == STATUS_OK && str_split_next(&markdown, '\n', &line)) {
        struct str trimmed = str_trim(line);
        if (str_starts_with(trimmed, STR("```"))) {
            code = !code && str_find_char(markdown, '`', 0) != STR_NONE;
            continue;
        }
        if (code)
            status = put_words(&writer, line);
        else if (!is_rule(trimmed))
            status = write_line(&writer, str_slice(line, line_mark(line), line.len));
        writer.space = true;
    }
    return status;
}
