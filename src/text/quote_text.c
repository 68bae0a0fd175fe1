/* Text to the normal form in which quotations are looked for: what a text says, without how it is set. */
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#include "core/utf8.h"
#include "text/html/entity.h"
#include "text/quote_internal.h"

/* The depth bounds how often a byte is looked at where brackets never close. */
enum { MAX_TARGET = 2048, MAX_DEPTH = 8, MAX_TAG = 300 };

/* What a byte belongs to. */
enum { NOTHING, LETTER, DIGIT, SIGN, CHARACTER /* of a script without blanks between words */ };

void quote_text_init(struct quote_text *text, size_t cap)
{
    *text = (struct quote_text){.last = NOTHING};
    buf_init(&text->bytes, cap);
    buf_init(&text->edges, BUF_UNBOUNDED);
}

void quote_text_finish(struct quote_text *text)
{
    buf_finish(&text->bytes);
    buf_finish(&text->edges);
}

bool quote_is_edge(const struct quote_text *text, size_t at)
{
    if (at == 0 || at >= text->bytes.len)
        return true;
    return (unsigned char)text->edges.data[at / 8] >> (at % 8) & 1;
}

/* ---- writing ---- */

static void put_byte(struct quote_text *text, char byte, bool edge)
{
    size_t at = text->bytes.len;
    if (at / 8 >= text->edges.len)
        buf_add_char(&text->edges, '\0');
    if (edge)
        text->edges.data[at / 8] = (char)((unsigned char)text->edges.data[at / 8] | 1u << (at % 8));
    buf_add_char(&text->bytes, byte);
}

/* Letters run together however they were set apart, digits do not: "12 3" is not "123", nor "1 23". */
static void put(struct quote_text *text, uint32_t c, int kind)
{
    char bytes[4];
    size_t length = utf8_encode(c, bytes);
    bool first = text->bytes.len == text->part;
    bool edge = text->apart || first || kind != text->last || kind == CHARACTER || kind == SIGN;
    /* "abc123" and "4x" are one word each */
    if (edge && !text->apart && !first && (kind == LETTER || kind == DIGIT) &&
        (text->last == LETTER || text->last == DIGIT))
        edge = false;
    if (!first && text->apart && kind == DIGIT && text->last == DIGIT)
        put_byte(text, ' ', true);
    for (size_t i = 0; i < length; i++)
        put_byte(text, bytes[i], edge && i == 0);
    text->apart = false;
    text->last = kind;
}

static bool is_unspaced(uint32_t c)
{
    return (c >= 0x0E00 && c <= 0x0EFF) || (c >= 0x1000 && c <= 0x11FF) || /* Thai, Lao, Burmese, Jamo */
           (c >= 0x1780 && c <= 0x17FF) || (c >= 0x2E80 && c <= 0xA4CF) || (c >= 0xAC00 && c <= 0xD7FF) ||
           (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x20000 && c <= 0x3FFFD);
}

/* What changes the meaning of a number that stands next to it. */
static bool is_sign(uint32_t c)
{
    return c == '%' || c == 0x2030 || c == 0xB0 || c == 0xB1 || c == 0xD7 || c == 0x2264 || c == 0x2265 ||
           c == 0x2248 || utf8proc_category((utf8proc_int32_t)c) == UTF8PROC_CATEGORY_SC;
}

static void put_plain(struct quote_text *text, uint32_t c)
{
    if (c < 0x80 ? ascii_is_alpha((char)c) : false) {
        put(text, c, LETTER);
        return;
    }
    if (is_sign(c)) {
        put(text, c, SIGN);
        return;
    }
    switch (utf8proc_category((utf8proc_int32_t)c)) {
    case UTF8PROC_CATEGORY_ND:
        put(text, c, DIGIT);
        break;
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO:
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
        put(text, c, is_unspaced(c) ? CHARACTER : LETTER);
        break;
    default:
        text->apart = true;
    }
}

/* Compatibility forms as what they stand for: "ﬁ" is fi, "５" is 5. "10²" is no 102. */
static void put_character(struct quote_text *text, uint32_t c)
{
    if (c < 0x80) {
        put_plain(text, c);
        return;
    }
    utf8proc_int32_t parts[32];
    int bound = 0;
    bool raised = utf8proc_category((utf8proc_int32_t)c) == UTF8PROC_CATEGORY_NO;
    utf8proc_ssize_t n = utf8proc_decompose_char((utf8proc_int32_t)c, parts, 32,
                                                 UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT | UTF8PROC_IGNORE, &bound);
    text->apart = text->apart || raised;
    for (utf8proc_ssize_t i = 0; i < n && i < 32; i++)
        put_plain(text, (uint32_t)parts[i]);
    text->apart = text->apart || raised;
}

/* ---- what is skipped; each gives a length, 0 where there is nothing to skip ---- */

size_t quote_address_length(struct str text, size_t at)
{
    struct str rest = str_slice(text, at, text.len);
    size_t end = str_starts_with(rest, STR("https://")) ? 8 : str_starts_with(rest, STR("http://")) ? 7 : 0;
    if (end == 0)
        return 0;
    size_t open = 0;
    for (; end < rest.len && (unsigned char)rest.data[end] > ' ' && (unsigned char)rest.data[end] < 0x80; end++) {
        if (strchr("<>\"]|`\\", rest.data[end]) || (rest.data[end] == ')' && open == 0))
            break;
        open += rest.data[end] == '(';
        open -= rest.data[end] == ')';
    }
    return end;
}

/* "](target)" */
static size_t link_tail(struct str text, size_t at)
{
    if (at + 1 >= text.len || text.data[at] != ']' || text.data[at + 1] != '(')
        return 0;
    size_t depth = 0;
    for (size_t i = at + 1; i < text.len && i < at + MAX_TARGET && text.data[i] != '\n'; i++) {
        if (text.data[i] == '(' && ++depth > MAX_DEPTH)
            return 0;
        if (text.data[i] == ')' && --depth == 0)
            return i + 1 - at;
    }
    return 0;
}

/* "![what it shows](target)" */
static size_t image_length(struct str text, size_t at)
{
    if (text.data[at] != '!' || at + 1 >= text.len || text.data[at + 1] != '[')
        return 0;
    size_t depth = 0;
    for (size_t i = at + 2; i < text.len && i < at + MAX_TARGET && text.data[i] != '\n'; i++) {
        if (text.data[i] == '[' && ++depth > MAX_DEPTH)
            return 0;
        if (text.data[i] == ']') {
            size_t tail = link_tail(text, i);
            return tail > 0 ? i + tail - at : 0;
        }
    }
    return 0;
}

/* "[12]", "\[12\]", "[^1]", "[\[12\]](target)": marks of footnotes and references. */
static size_t footnote_length(struct str text, size_t at)
{
    size_t i = at, digits = 0, open = 0, close = 0;
    while (i < text.len && open <= 2 &&
           (text.data[i] == '[' || (text.data[i] == '\\' && i + 1 < text.len && text.data[i + 1] == '[')))
        open += text.data[i++] == '[';
    if (open == 0 || open > 2)
        return 0;
    i += i < text.len && text.data[i] == '^';
    while (i < text.len && ascii_is_digit(text.data[i])) {
        digits++;
        i++;
    }
    while (i < text.len && close < open &&
           (text.data[i] == ']' || (text.data[i] == '\\' && i + 1 < text.len && text.data[i + 1] == ']')))
        close += text.data[i++] == ']';
    if (digits == 0 || digits > 3 || close != open)
        return 0;
    size_t tail = link_tail(text, i - 1);
    return i - at + (tail > 0 ? tail - 1 : 0);
}

static bool is_tag_name(struct str name)
{
    static const char *const names[] = {"a",     "abbr",  "b",  "br", "code",  "dd",   "div",    "dl",  "dt",
                                        "em",    "h1",    "h2", "h3", "h4",    "hr",   "i",      "img", "li",
                                        "ol",    "p",     "q",  "s",  "small", "span", "strong", "sub", "sup",
                                        "table", "tbody", "td", "th", "thead", "tr",   "u",      "ul"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (str_equal_ascii_nocase(name, str_of(names[i])))
            return true;
    }
    return false;
}

static size_t tag_length(struct str text, size_t at)
{
    size_t from = at + 1 + (at + 1 < text.len && text.data[at + 1] == '/'), to = from;
    while (to < text.len && ascii_is_alnum(text.data[to]))
        to++;
    if (to == from || !is_tag_name(str_slice(text, from, to)))
        return 0;
    for (size_t i = to; i < text.len && i < at + MAX_TAG; i++) {
        if (text.data[i] == '>')
            return i + 1 - at;
        if (text.data[i] == '<')
            return 0;
    }
    return 0;
}

/* "&amp;", "&#39;", "&#x27;": what they take; 0 without the semicolon, and for a name of two characters. */
static size_t entity_length(struct str text, size_t at, uint32_t *c)
{
    char bytes[HTML_ENTITY_MAX_BYTES];
    size_t used, length, written = html_entity_decode(str_slice(text, at, text.len), false, bytes, &used);
    if (written == 0 || text.data[at + used - 1] != ';')
        return 0;
    uint32_t code = utf8_decode(str_make(bytes, written), &length);
    if (length != written)
        return 0;
    *c = code;
    return used;
}

/* ---- one text ---- */

struct reading {
    struct str text;
    size_t at;
    bool line_start;  /* only white space and marks of quotes so far */
    bool after_digit; /* the last character that is no blank */
};

static bool is_digit_at(const struct reading *reading, size_t at)
{
    return at < reading->text.len && ascii_is_digit(reading->text.data[at]);
}

/* Whether a number follows, perhaps after a blank, perhaps as ".05". */
static bool number_follows(const struct reading *reading, size_t at)
{
    if (at < reading->text.len && reading->text.data[at] == ' ')
        at++;
    return is_digit_at(reading, at) ||
           (at < reading->text.len && reading->text.data[at] == '.' && is_digit_at(reading, at + 1));
}

static bool is_dash(uint32_t c)
{
    return c == '-' || (c >= 0x2010 && c <= 0x2013) || c == 0x2212 || c == 0xFE63 || c == 0xFF0D;
}

static bool is_invisible(uint32_t c)
{
    return c == 0xAD || (c >= 0x200B && c <= 0x200D) || c == 0x2060 || c == 0xFEFF;
}

/* Takes one decoded character that ends before `next`. */
static void take(struct quote_text *out, struct reading *reading, uint32_t c, size_t next)
{
    bool joined = out->last == DIGIT && !out->apart && out->bytes.len > out->part;
    bool glued = out->bytes.len > out->part && !out->apart;
    if (is_invisible(c))
        return;
    if ((c == '.' || c == ',') && joined && is_digit_at(reading, next))
        put(out, c, DIGIT);
    else if (is_dash(c) && !glued && !reading->after_digit && is_digit_at(reading, next))
        put(out, '-', SIGN);
    else if ((c == '<' || c == '>' || c == '=') && !reading->line_start && number_follows(reading, next))
        put(out, c, SIGN);
    else
        put_character(out, c);
    if (c == '\n')
        reading->line_start = true;
    else if (c != ' ' && c != '\t' && c != '>')
        reading->line_start = false;
    if (c != ' ' && c != '\t' && c != '\n' && c != 0xA0)
        reading->after_digit = out->last == DIGIT && !out->apart;
}

/* The length of what is not read at `at`; what it stood between is apart. */
static size_t skipped(const struct reading *reading)
{
    struct str text = reading->text;
    size_t at = reading->at, length = 0;
    switch (text.data[at]) {
    case 'h':
        return quote_address_length(text, at);
    case '!':
        return image_length(text, at);
    case '[':
        return footnote_length(text, at);
    case '\\':
        length = footnote_length(text, at);
        return length;
    case ']':
        return link_tail(text, at);
    case '<':
        return tag_length(text, at);
    default:
        return 0;
    }
}

void quote_text_add(struct quote_text *out, struct str markdown)
{
    struct reading reading = {.text = markdown, .line_start = true};
    out->part = out->bytes.len;
    out->apart = false;
    out->last = NOTHING;
    while (reading.at < markdown.len) {
        size_t length = skipped(&reading);
        if (length > 0) {
            reading.at += length;
            out->apart = true;
            continue;
        }
        char byte = markdown.data[reading.at],
             behind = reading.at + 1 < markdown.len ? markdown.data[reading.at + 1] : 'a';
        uint32_t c = (unsigned char)byte;
        length = 1;
        if (byte == '\\' && (unsigned char)behind < 0x80 && !ascii_is_alnum(behind) && !ascii_is_space(behind)) {
            reading.at++; /* what it escapes counts */
            continue;
        }
        if (byte == '&' && entity_length(markdown, reading.at, &c) > 0)
            length = entity_length(markdown, reading.at, &c);
        else if (c >= 0x80)
            c = utf8_decode(str_slice(markdown, reading.at, markdown.len), &length);
        reading.at += length;
        if (c == UTF8_INVALID)
            out->apart = true;
        else
            take(out, &reading, c, reading.at);
    }
}
