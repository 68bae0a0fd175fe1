#include "cli/terminal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <utf8proc.h>

#include "core/utf8.h"

#define REPLACEMENT "\xEF\xBF\xBD"
#define ELLIPSIS    "\xE2\x80\xA6"

static struct {
    bool live, color, output_color, output_terminal;
    struct buf line; /* the live line on the screen */
} terminal;

void terminal_init(void)
{
    const char *term = getenv("TERM"), *no_color = getenv("NO_COLOR");
    bool escapes = term != NULL && term[0] != '\0' && strcmp(term, "dumb") != 0;
    bool color = escapes && (no_color == NULL || no_color[0] == '\0');
    terminal.live = isatty(STDERR_FILENO) && escapes;
    terminal.color = terminal.live && color;
    terminal.output_terminal = isatty(STDOUT_FILENO);
    terminal.output_color = terminal.output_terminal && color;
    buf_init(&terminal.line, BUF_UNBOUNDED);
}

bool terminal_is_live(void)
{
    return terminal.live;
}

bool terminal_has_color(void)
{
    return terminal.color;
}

bool terminal_output_has_color(void)
{
    return terminal.output_color;
}

bool terminal_output_is_terminal(void)
{
    return terminal.output_terminal;
}

int terminal_width(void)
{
    struct winsize size;
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    return 80;
}

/* Writes all of it at once, so that the pieces of a redraw are not seen apart. */
static void write_error_stream(struct str bytes)
{
    fwrite(bytes.data, 1, bytes.len, stderr);
    fflush(stderr);
}

void terminal_line(struct str line)
{
    struct buf out;
    buf_init(&out, BUF_UNBOUNDED);
    if (terminal.line.len > 0)
        buf_add_text(&out, "\r\x1b[K");
    buf_add(&out, line);
    buf_add_char(&out, '\n');
    buf_add(&out, buf_str(&terminal.line));
    write_error_stream(buf_str(&out));
    buf_finish(&out);
}

void terminal_prompt(struct str line)
{
    terminal_live(STR(""));
    write_error_stream(line);
    if (terminal.live)
        buf_add(&terminal.line, line);
}

void terminal_typed(void)
{
    buf_reset(&terminal.line);
}

void terminal_live(struct str line)
{
    if (!terminal.live || (line.len == 0 && terminal.line.len == 0))
        return;
    struct buf out;
    buf_init(&out, BUF_UNBOUNDED);
    buf_add_text(&out, "\r");
    buf_add(&out, line);
    buf_add_text(&out, "\x1b[K"); /* behind the text, so that nothing flickers */
    write_error_stream(buf_str(&out));
    buf_finish(&out);
    buf_reset(&terminal.line);
    buf_add(&terminal.line, line);
}

/* ---- pure ---- */

static bool is_dangerous(uint32_t c)
{
    return c < 0x20 || (c >= 0x7F && c < 0xA0) || c == 0x2028 || c == 0x2029 || (c >= 0x202A && c <= 0x202E) ||
           (c >= 0x2066 && c <= 0x2069) || c == UTF8_INVALID;
}

void terminal_clean(struct buf *out, struct str text, bool one_line)
{
    bool blank = false;
    for (size_t at = 0; at < text.len;) {
        size_t length;
        uint32_t c = utf8_decode(str_slice(text, at, text.len), &length);
        bool space = c == '\n' || c == '\t' || (one_line && c == ' ') ||
                     (c == '\r' && at + 1 < text.len && text.data[at + 1] == '\n');
        if (space && one_line) {
            if (!blank)
                buf_add_char(out, ' ');
        } else if (c == '\r' && space) {
            /* of a CRLF the newline is enough */
        } else if (!space && is_dangerous(c)) {
            buf_add_text(out, REPLACEMENT);
        } else {
            buf_add(out, str_slice(text, at, at + length));
        }
        blank = space;
        at += length;
    }
}

static size_t columns_of(uint32_t c)
{
    int width = c == UTF8_INVALID ? 1 : utf8proc_charwidth((utf8proc_int32_t)c);
    return width > 0 ? (size_t)width : 0;
}

size_t terminal_columns(struct str text)
{
    size_t columns = 0, length;
    for (size_t at = 0; at < text.len; at += length)
        columns += columns_of(utf8_decode(str_slice(text, at, text.len), &length));
    return columns;
}

size_t terminal_fit(struct buf *out, struct str text, size_t columns)
{
    size_t taken = 0, keep = 0, kept = 0, length;
    for (size_t at = 0; at < text.len; at += length) {
        size_t width = columns_of(utf8_decode(str_slice(text, at, text.len), &length));
        if (taken + width > columns) {
            if (columns == 0)
                return 0;
            buf_add(out, str_slice(text, 0, keep));
            buf_add_text(out, ELLIPSIS);
            return kept + 1;
        }
        taken += width;
        if (taken < columns) { /* there would be room for the ellipsis behind it */
            keep = at + length;
            kept = taken;
        }
    }
    buf_add(out, text);
    return taken;
}

void terminal_wrap(struct buf *out, struct str text, size_t width, size_t indent)
{
    size_t column = indent;
    bool first = true;
    for (size_t at = 0; at < text.len;) {
        while (at < text.len && text.data[at] == ' ')
            at++;
        size_t end = at;
        while (end < text.len && text.data[end] != ' ')
            end++;
        struct str word = str_slice(text, at, end);
        size_t columns = terminal_columns(word);
        if (word.len > 0 && !first && column + 1 + columns > width) {
            buf_addf(out, "\n%*s", (int)indent, "");
            column = indent;
        } else if (word.len > 0 && !first) {
            buf_add_char(out, ' ');
            column++;
        }
        buf_add(out, word);
        column += columns;
        first = first && word.len == 0;
        at = end;
    }
}
