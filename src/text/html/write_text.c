/* Characters: white space collapsed, what has no width left out, what looks like Markdown escaped. Runs of plain bytes
 * are copied at once. */
#include <utf8proc.h>

#include "core/utf8.h"
#include "text/html/write_internal.h"

/* Kinds of bytes. */
enum { PLAIN, BLANK, LINE_END, CONTROL, LEAD, MARKUP };

#define COMMON_CLASSES                                                                                         \
    [1 ... 8] = CONTROL, ['\t'] = BLANK, ['\n'] = LINE_END, [11] = CONTROL, ['\f'] = BLANK, ['\r'] = LINE_END, \
           [14 ... 31] = CONTROL, [' '] = BLANK, [127] = CONTROL, [0xC2] = LEAD, [0xE2] = LEAD, [0xE3] = LEAD, \
           [0xEE] = LEAD, [0xEF] = LEAD, [0xF3] = LEAD, [0xF4] = LEAD

static const uint8_t markdown_classes[256] = {
    COMMON_CLASSES, ['\\'] = MARKUP, ['`'] = MARKUP, ['*'] = MARKUP, ['_'] = MARKUP, ['~'] = MARKUP, ['['] = MARKUP,
    [']'] = MARKUP, ['('] = MARKUP,  [':'] = MARKUP, ['<'] = MARKUP, ['&'] = MARKUP, ['|'] = MARKUP, ['$'] = MARKUP,
};

static const uint8_t plain_classes[256] = {COMMON_CLASSES};

const uint8_t *writer_classes(bool plain)
{
    return plain ? plain_classes : markdown_classes;
}

/* ---- kinds of characters ---- */

static enum char_class char_class_of(uint32_t c)
{
    if (c < 0x80) {
        if (c <= ' ')
            return CHAR_SPACE;
        return ascii_is_alnum((char)c) ? CHAR_WORD : CHAR_PUNCTUATION;
    }
    if (c == UTF8_INVALID)
        return CHAR_WORD;
    switch (utf8proc_category((utf8proc_int32_t)c)) {
    case UTF8PROC_CATEGORY_ZS:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
        return CHAR_SPACE;
    case UTF8PROC_CATEGORY_PC:
    case UTF8PROC_CATEGORY_PD:
    case UTF8PROC_CATEGORY_PS:
    case UTF8PROC_CATEGORY_PE:
    case UTF8PROC_CATEGORY_PI:
    case UTF8PROC_CATEGORY_PF:
    case UTF8PROC_CATEGORY_PO:
        return CHAR_PUNCTUATION;
    case UTF8PROC_CATEGORY_SM:
    case UTF8PROC_CATEGORY_SC:
    case UTF8PROC_CATEGORY_SK:
    case UTF8PROC_CATEGORY_SO:
        return CHAR_SYMBOL;
    default:
        return CHAR_WORD;
    }
}

static uint32_t first_of(struct str text)
{
    size_t length;
    return (unsigned char)text.data[0] < 0x80 ? (unsigned char)text.data[0] : utf8_decode(text, &length);
}

enum char_class char_class_first(struct str text)
{
    return text.len ? char_class_of(first_of(text)) : CHAR_SPACE;
}

/* The last character of the line that is being written; a line end when there is none yet. */
static uint32_t last_of(const struct writer *w)
{
    const struct buf *out = w->out;
    if (out->len <= w->line_at)
        return '\n';
    size_t at = out->len - 1;
    while (at > w->line_at && ((unsigned char)out->data[at] & 0xC0) == 0x80)
        at--;
    return first_of((struct str){out->data + at, out->len - at});
}

enum char_class writer_last_class(const struct writer *w)
{
    return char_class_of(last_of(w));
}

/* Whether a line break beside a character is nothing: bopomofo, kana, ideographs, and the forms and punctuation that go
 * with them. Hangul has blanks between words. */
static bool char_is_cjk(uint32_t c)
{
    return (c >= 0x2E80 && c <= 0x312F) || (c >= 0x3190 && c <= 0x9FFF) || (c >= 0xF900 && c <= 0xFAFF) ||
           (c >= 0xFE30 && c <= 0xFE4F) || (c >= 0xFF01 && c <= 0xFF9F) || (c >= 0x1F200 && c <= 0x1F2FF) ||
           (c >= 0x20000 && c <= 0x3FFFF);
}

/* Bidirectional controls, joiners without effect, soft hyphens, byte order marks, fillers, private characters (icons),
 * and tags and selectors of variants, in which whole texts can be hidden, are nothing; ZWJ and ZWNJ are kept, they
 * matter in emoji and Persian, and so are the two selectors of emoji. */
enum sequence sequence_at(struct str s, size_t *length)
{
    uint32_t c = utf8_decode(s, length);
    switch (c >> 8) {
    case 0x00:
        return c == 0xA0 ? SEQUENCE_FIXED : c == 0xAD || (c >= 0x80 && c < 0xA0) ? SEQUENCE_NOTHING : SEQUENCE_TEXT;
    case 0x20:
        if (c <= 0x200A || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F)
            return SEQUENCE_FIXED;
        if (c == 0x200B || c == 0x200E || c == 0x200F || (c >= 0x202A && c <= 0x202E) || (c >= 0x2060 && c <= 0x206F))
            return SEQUENCE_NOTHING;
        return SEQUENCE_TEXT;
    case 0x30:
        return c == 0x3000 ? SEQUENCE_FIXED : SEQUENCE_TEXT;
    case 0x31:
        return c == 0x3164 ? SEQUENCE_NOTHING : SEQUENCE_TEXT;
    case 0xFE:
        return c == 0xFEFF || (c >= 0xFE00 && c <= 0xFE0D) ? SEQUENCE_NOTHING : SEQUENCE_TEXT;
    case 0xFF:
        return c == 0xFFA0 || (c >= 0xFFF0 && c <= 0xFFFB) ? SEQUENCE_NOTHING : SEQUENCE_TEXT;
    default:
        return (c >= 0xE000 && c <= 0xF8FF) || c >= 0xE0000 ? SEQUENCE_NOTHING : SEQUENCE_TEXT;
    }
}

/* ---- escapes ---- */

static bool blank_or_end(const char *p, const char *end)
{
    size_t length;
    return p >= end || ascii_is_space(*p) ||
           (plain_classes[(unsigned char)*p] == LEAD &&
            sequence_at((struct str){p, (size_t)(end - p)}, &length) != SEQUENCE_TEXT);
}

static size_t run_length(const char *p, const char *end)
{
    size_t n = 1;
    while (p + n < end && p[n] == *p)
        n++;
    return n;
}

/* Writes a backslash where the first characters of a line would be the mark of a block. */
static const char *begin_line(struct writer *w, const char *p, const char *end)
{
    size_t run = run_length(p, end), digits = 0;
    bool escape = false;
    switch (*p) {
    case '#':
        escape = run <= 6 && blank_or_end(p + run, end);
        break;
    case '>':
        escape = true;
        break;
    case '+':
        escape = blank_or_end(p + 1, end);
        break;
    case '-':
        escape = blank_or_end(p + run, end) || (w->continues && (p[run] == '|' || p[run] == ':'));
        break;
    case '=':
        escape = w->continues && blank_or_end(p + run, end);
        break;
    case ':':
    case '|':
        escape = w->continues || *p == '|';
        break;
    case '*':
    case '_':
        escape = blank_or_end(p + run, end);
        break;
    case '~':
        escape = run >= 3;
        break;
    case '[':
        escape = end - p >= 3 && p[2] == ']' && strchr(" xX", p[1]);
        break;
    default:
        while (digits < 9 && p + digits < end && ascii_is_digit(p[digits]))
            digits++;
        if (digits && p + digits < end && (p[digits] == '.' || p[digits] == ')') && blank_or_end(p + digits + 1, end)) {
            writer_put(w, p, digits);
            p += digits;
            escape = true;
        }
    }
    if (escape) {
        writer_put_char(w, '\\');
        writer_put_char(w, *p++);
    }
    return p;
}

/* "1" of one element and ". " of the next are the mark of an item, too. */
static bool ends_number(const struct writer *w, const char *p, const char *end)
{
    size_t digits = w->out->len - w->line_at;
    if ((*p != '.' && *p != ')') || !digits || digits > 9 || !blank_or_end(p + 1, end))
        return false;
    for (size_t i = w->line_at; i < w->out->len; i++)
        if (!ascii_is_digit(w->out->data[i]))
            return false;
    return true;
}

bool is_entity(const char *p, const char *end)
{
    const char *at = p + 1;
    if (at < end && *at == '#')
        at++;
    const char *name = at;
    while (at < end && at - p < 34 && ascii_is_alnum(*at))
        at++;
    return at > name && at < end && *at == ';';
}

/* Runs of * _ ~ by the rules of emphasis (CommonMark, section 6.2), for the neighbours they have. A run at the end of
 * its text is taken for either. */
static bool emphasizes(const struct writer *w, const char *run, const char *behind, const char *end)
{
    char mark = *run;
    enum char_class before = writer_last_class(w);
    bool open_end = behind >= end;
    enum char_class after = open_end ? CHAR_WORD : char_class_first((struct str){behind, (size_t)(end - behind)});
    if (mark == '*')
        return before != CHAR_SPACE || after != CHAR_SPACE;
    if (mark == '~' && behind - run == 2)
        return before != CHAR_SPACE || after != CHAR_SPACE;
    if (before == CHAR_SPACE)
        return false; /* can only open, and what could close it is escaped */
    if (before == CHAR_PUNCTUATION && after == CHAR_WORD && !open_end)
        return false; /* the same */
    return mark == '~' || open_end || before != CHAR_WORD || after != CHAR_WORD;
}

static bool in_link(const struct writer *w)
{
    for (size_t i = 0; i < w->n_marks; i++)
        if (w->inline_marks[i].kind == INLINE_LINK && w->inline_marks[i].written)
            return true;
    return false;
}

/* Writes the character at `p` (or a run of it), escaped where it would be a mark; returns what is behind. */
static const char *put_markup(struct writer *w, const char *p, const char *end)
{
    size_t run = 1;
    bool escape = false;
    bool first = w->out->len == w->line_at;
    char last = first ? '\n' : w->out->data[w->out->len - 1];
    switch (*p) {
    case '\\':
        run = writer_formula_length(w, (struct str){p, (size_t)(end - p)});
        if (run) {
            writer_text_formula(w, (struct str){p, run});
            return p + run;
        }
        run = 1;
        escape = p + 1 >= end || ((unsigned char)p[1] < 0x80 && !ascii_is_alnum(p[1]) && p[1] != ' ');
        break;
    case '$':
        run = writer_formula_length(w, (struct str){p, (size_t)(end - p)});
        if (run) {
            writer_text_formula(w, (struct str){p, run});
            return p + run;
        }
        run = 1;
        break;
    case '`':
        escape = true;
        break;
    case '*':
    case '_':
    case '~':
        run = run_length(p, end);
        escape = emphasizes(w, p, p + run, end);
        break;
    case '[':
        escape = in_link(w) || (w->n_notes && p + 1 < end && p[1] == '^');
        break;
    case ']':
        escape = in_link(w);
        break;
    case '(':
        escape = last == ']';
        break;
    case ':':
        escape = last == ']' && w->out->data[w->line_at] == '[';
        break;
    case '<':
        escape = p + 1 >= end || ascii_is_alpha(p[1]) || strchr("/!?", p[1]);
        break;
    case '&':
        escape = is_entity(p, end);
        break;
    case '|':
        escape = w->single == LINE_CELL;
        break;
    }
    for (size_t i = 0; i < run; i++) {
        if (escape)
            writer_put_char(w, '\\');
        writer_put_char(w, *p);
    }
    return p + run;
}

/* ---- text ---- */

/* Skips white space and what is nothing. */
static const char *skip_blanks(struct writer *w, const char *p, const char *end)
{
    uint8_t space = SPACE_NONE;
    for (; p < end; p++) {
        uint8_t class = w->classes[(unsigned char)*p];
        if (class == LINE_END) {
            space = space < SPACE_BREAK ? SPACE_BREAK : space;
        } else if (class == BLANK) {
            space = space < SPACE_BLANK ? SPACE_BLANK : space;
        } else if (class == LEAD) {
            size_t length;
            enum sequence sequence = sequence_at((struct str){p, (size_t)(end - p)}, &length);
            if (sequence == SEQUENCE_TEXT)
                break;
            if (sequence == SEQUENCE_FIXED)
                space = SPACE_FIXED;
            p += length - 1;
        } else if (class != CONTROL) {
            break;
        }
    }
    if (w->space < space)
        w->space = space;
    return p;
}

/* The end of the run of characters that are copied as they are; single blanks between them belong to it. */
static const char *plain_run(const struct writer *w, const char *p, const char *end)
{
    const uint8_t *classes = w->classes;
    while (p < end) {
        uint8_t class = classes[(unsigned char)*p];
        if (class == PLAIN) {
            p++;
        } else if (*p == ' ') {
            if (p + 1 == end || classes[(unsigned char)p[1]] != PLAIN)
                break;
            p += 2;
        } else if (class == LEAD) {
            size_t length;
            if (sequence_at((struct str){p, (size_t)(end - p)}, &length) != SEQUENCE_TEXT)
                break;
            p += length;
        } else {
            break;
        }
    }
    return p;
}

static void begin(struct writer *w, struct str text)
{
    uint32_t c = first_of(text);
    if (w->space == SPACE_BREAK && c >= 0x2E80 && char_is_cjk(c) && char_is_cjk(last_of(w)))
        w->space = SPACE_NONE;
    writer_begin(w, char_class_of(c));
}

void writer_text(struct writer *w, struct str text)
{
    const char *p = text.data, *end = text.data + text.len;
    bool plain = w->options.plain_text;
    memset(w->searched, 0, sizeof w->searched);
    while (!w->full) {
        p = skip_blanks(w, p, end);
        if (p == end)
            return;
        begin(w, (struct str){p, (size_t)(end - p)});
        if (!plain && w->single == LINE_FREE) {
            if (w->out->len == w->line_at)
                p = begin_line(w, p, end);
            else if (ends_number(w, p, end))
                writer_put_char(w, '\\');
        }
        do {
            const char *run = plain_run(w, p, end);
            if (w->pending && run > p) {
                /* an opening mark that cannot stand before punctuation waits for the next character */
                size_t length;
                utf8_decode((struct str){p, (size_t)(end - p)}, &length);
                run = p + length;
            }
            writer_put(w, p, (size_t)(run - p));
            p = run;
            if (p == end || w->classes[(unsigned char)*p] != MARKUP)
                break;
            p = put_markup(w, p, end);
        } while (p < end && !w->pending && !w->full);
    }
}
