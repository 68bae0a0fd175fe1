#include "readers/span.h"

#include <stdlib.h>
#include <string.h>

#include "core/mem.h"

static const struct {
    unsigned flag;
    const char *mark;
} marks_table[] = {{SPAN_BOLD, "**"}, {SPAN_ITALIC, "*"}, {SPAN_STRIKE, "~~"}};

#define N_MARKS (sizeof marks_table / sizeof marks_table[0])

void span_init(struct span *span, size_t cap)
{
    *span = (struct span){0};
    buf_init(&span->text, cap);
}

void span_finish(struct span *span)
{
    buf_finish(&span->text);
    free(span->link);
    *span = (struct span){0};
}

void span_reset(struct span *span)
{
    buf_reset(&span->text);
    free(span->link);
    span->link = NULL;
    span->open = 0;
    span->link_at = 0;
}

/* What does not fit is dropped: the paragraph is longer than the whole document may be. */
static void put(struct span *span, struct str text)
{
    if (buf_append_str(&span->text, text) != STATUS_OK)
        return;
}

static bool is_blank(struct str text)
{
    return str_trim(text).len == 0;
}

/* Closing marks stand right behind a word, so white space at the end moves behind them. */
static void close_marks(struct span *span)
{
    if (!span->open)
        return;
    size_t end = span->text.len;
    while (end && (span->text.data[end - 1] == ' ' || span->text.data[end - 1] == '\n'))
        end--;
    char *blank = str_dup(str_slice(buf_str(&span->text), end, span->text.len));
    buf_truncate(&span->text, end);
    for (size_t i = N_MARKS; i-- > 0;)
        if (span->open & marks_table[i].flag)
            put(span, str_of(marks_table[i].mark));
    put(span, str_of(blank));
    free(blank);
    span->open = 0;
}

void span_text(struct span *span, struct str text, unsigned marks)
{
    if (!text.len)
        return;
    if (is_blank(text) || marks == span->open) {
        put(span, text);
        return;
    }
    close_marks(span);
    struct str rest = str_trim_start(text);
    put(span, str_slice(text, 0, text.len - rest.len));
    for (size_t i = 0; i < N_MARKS; i++)
        if (marks & marks_table[i].flag)
            put(span, str_of(marks_table[i].mark));
    span->open = marks;
    put(span, rest);
}

void span_link_begin(struct span *span, struct str address)
{
    if (span->link_at || !address.len || address.len > 4000)
        return;
    close_marks(span);
    put(span, STR("["));
    span->link_at = span->text.len;
    free(span->link);
    span->link = str_dup(address);
}

void span_link_end(struct span *span)
{
    if (!span->link_at || span->link_at > span->text.len)
        return;
    close_marks(span);
    struct str label = str_slice(buf_str(&span->text), span->link_at, span->text.len);
    if (is_blank(label)) {
        buf_truncate(&span->text, span->link_at - 1);
    } else if (str_equal(label, str_of(span->link))) { /* an address that names itself */
        buf_truncate(&span->text, span->link_at - 1);
        put(span, str_of(span->link));
    } else {
        put(span, STR("]("));
        for (const char *c = span->link; *c; c++) /* what would end the address */
            put(span, *c == ' ' ? STR("%20") : *c == ')' ? STR("%29") : str_make(c, 1));
        put(span, STR(")"));
    }
    free(span->link);
    span->link = NULL;
    span->link_at = 0;
}

struct str span_end(struct span *span)
{
    span_link_end(span);
    close_marks(span);
    return buf_str(&span->text);
}

/* ---- formulas ---- */

static const struct {
    const char *name, *before, *after;
} math[] = {
    {"num", "", "/"}, {"den", "", ""}, {"sup", "^", ""}, {"sub", "_", ""}, {"rad", "√", ""}, {"d", "(", ")"},
};

bool span_math_begin(struct span *span, const char *name, size_t *start)
{
    for (size_t i = 0; i < sizeof math / sizeof math[0]; i++) {
        if (strcmp(name, math[i].name) != 0)
            continue;
        put(span, str_of(math[i].before));
        *start = span->text.len;
        return true;
    }
    return false;
}

/* Whether a part of a formula can do without parentheses. */
static bool is_atom(struct str text)
{
    size_t letters = 0;
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.data[i];
        if (c < 0x80 && !ascii_is_alnum((char)c) && c != '.')
            return false;
        letters += (c & 0xC0) != 0x80;
    }
    return letters <= 12;
}

void span_math_end(struct span *span, const char *name, size_t start)
{
    for (size_t i = 0; i < sizeof math / sizeof math[0]; i++) {
        if (strcmp(name, math[i].name) != 0)
            continue;
        struct str part = str_slice(buf_str(&span->text), start, span->text.len);
        if (strcmp(name, "d") != 0 && !is_atom(part)) {
            char *copy = str_dup(part);
            buf_truncate(&span->text, start);
            put(span, STR("("));
            put(span, str_of(copy));
            put(span, STR(")"));
            free(copy);
        }
        put(span, str_of(math[i].after));
        return;
    }
}
