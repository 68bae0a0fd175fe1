#include "text/tokenizer/read_scan.h"

#include <string.h>

#include "core/utf8.h"

void json_scan_init(struct json_scan *scan, struct str json, size_t at)
{
    *scan = (struct json_scan){.json = json, .at = at};
    buf_init(&scan->texts[0], BUF_UNBOUNDED);
    buf_init(&scan->texts[1], BUF_UNBOUNDED);
}

void json_scan_finish(struct json_scan *scan)
{
    buf_finish(&scan->texts[0]);
    buf_finish(&scan->texts[1]);
}

char json_scan_peek(struct json_scan *scan)
{
    while (scan->at < scan->json.len && strchr(" \t\r\n", scan->json.data[scan->at]) && scan->json.data[scan->at])
        scan->at++;
    return scan->at < scan->json.len ? scan->json.data[scan->at] : '\0';
}

bool json_scan_take(struct json_scan *scan, char c)
{
    bool there = json_scan_peek(scan) == c;
    scan->at += there;
    return there;
}

bool json_scan_next(struct json_scan *scan, char closing, bool *first)
{
    bool was_first = *first;
    *first = false;
    scan->closed = json_scan_take(scan, closing);
    if (scan->closed)
        return false;
    return was_first || json_scan_take(scan, ',');
}

/* ---- strings ---- */

static bool hex4(struct str s, size_t at, uint32_t *out)
{
    uint32_t value = 0;
    if (at + 4 > s.len)
        return false;
    for (size_t i = at; i < at + 4; i++) {
        char c = s.data[i], lower = ascii_lower(c);
        if (!ascii_is_digit(c) && (lower < 'a' || lower > 'f'))
            return false;
        value = value << 4 | (uint32_t)(ascii_is_digit(c) ? c - '0' : lower - 'a' + 10);
    }
    *out = value;
    return true;
}

/* What follows \u, surrogates in pairs. */
static bool take_code_point(struct json_scan *scan, struct buf *text)
{
    uint32_t code = 0, low = 0;
    char utf8[4];
    if (!hex4(scan->json, scan->at, &code))
        return false;
    scan->at += 4;
    if (code >= 0xD800 && code < 0xE000) {
        if (code >= 0xDC00 || !str_starts_with(str_slice(scan->json, scan->at, scan->json.len), STR("\\u")) ||
            !hex4(scan->json, scan->at + 2, &low) || low < 0xDC00 || low >= 0xE000)
            return false;
        code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
        scan->at += 6;
    }
    buf_add(text, str_make(utf8, utf8_encode(code, utf8)));
    return true;
}

/* Behind a backslash. */
static bool take_escape(struct json_scan *scan, struct buf *text)
{
    static const char letters[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    char c = scan->at < scan->json.len ? scan->json.data[scan->at++] : '\0';
    const char *known = c ? strchr(letters, c) : NULL;
    if (known)
        buf_add_char(text, values[known - letters]);
    return known || (c == 'u' && take_code_point(scan, text));
}

/* Bytes from `at` up to a quote, a backslash or what may not stand in a string. */
static size_t plain_end(struct str s, size_t at)
{
    while (at < s.len && (unsigned char)s.data[at] >= 0x20 && s.data[at] != '"' && s.data[at] != '\\')
        at++;
    return at;
}

bool json_scan_string(struct json_scan *scan, struct str *out)
{
    struct buf *text = &scan->texts[scan->turn++ & 1];
    if (!json_scan_take(scan, '"'))
        return false;
    buf_reset(text);
    for (bool whole = true;; whole = false) {
        size_t end = plain_end(scan->json, scan->at);
        struct str run = str_slice(scan->json, scan->at, end);
        if (end == scan->json.len || !utf8_is_valid(run))
            return false;
        scan->at = end + 1;
        if (scan->json.data[end] == '"' && whole) {
            *out = run;
            return true;
        }
        buf_add(text, run);
        if (scan->json.data[end] == '"') {
            *out = buf_str(text);
            return true;
        }
        if (scan->json.data[end] != '\\' || !take_escape(scan, text))
            return false;
    }
}

/* ---- others ---- */

bool json_scan_number(struct json_scan *scan, double *out)
{
    json_scan_peek(scan);
    size_t from = scan->at, at = from;
    while (at < scan->json.len && at < from + 400 && scan->json.data[at] &&
           strchr("+-.0123456789eE", scan->json.data[at]))
        at++;
    struct str text = str_slice(scan->json, from, at);
    if (text.len == 0 || (text.data[0] != '-' && !ascii_is_digit(text.data[0])) || !str_to_double(text, out))
        return false;
    scan->at = at;
    return true;
}

bool json_scan_skip(struct json_scan *scan)
{
    size_t depth = 0;
    do {
        char c = json_scan_peek(scan);
        struct str text;
        if (c == '"') {
            if (!json_scan_string(scan, &text))
                return false;
        } else if (c == '{' || c == '[') {
            depth++;
            scan->at++;
        } else if (depth && (c == '}' || c == ']')) {
            depth--;
            scan->at++;
        } else if (depth && (c == ',' || c == ':')) {
            scan->at++;
        } else {
            size_t from = scan->at;
            while (scan->at < scan->json.len &&
                   (ascii_is_alnum(scan->json.data[scan->at]) ||
                    (scan->json.data[scan->at] && strchr("+-.", scan->json.data[scan->at]))))
                scan->at++;
            if (scan->at == from)
                return false;
        }
    } while (depth);
    return true;
}

enum status json_scan_fail(const struct json_scan *scan, const char *message, struct error *error)
{
    int line = 1;
    size_t start = 0, at = scan->at < scan->json.len ? scan->at : scan->json.len;
    for (size_t i = 0; i < at; i++)
        if (scan->json.data[i] == '\n') {
            line++;
            start = i + 1;
        }
    error_set(error, STATUS_SYNTAX, "%s", message);
    error_at(error, NULL, line, (int)(at - start) + 1);
    return STATUS_SYNTAX;
}
