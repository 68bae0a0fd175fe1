/* JSON as pages embed it, read loosely and fast: most of it is of no interest, and much of it is broken. */
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/utf8.h"
#include "text/html/meta_internal.h"

static uint32_t add(struct ld *ld, enum ld_kind kind, uint32_t parent, struct str key, struct str text)
{
    ld->values = mem_grow(ld->values, ld->count, &ld->capacity, sizeof *ld->values);
    ld->values[ld->count] = (struct ld_value){(uint8_t)kind, parent, ld->count + 1, key, text};
    return ld->count++;
}

void ld_init(struct ld *ld)
{
    *ld = (struct ld){0};
    add(ld, LD_ARRAY, 0, (struct str){0}, (struct str){0});
}

void ld_finish(struct ld *ld)
{
    free(ld->values);
    *ld = (struct ld){0};
}

/* The end of the string that begins at `from`, behind its quotation mark: the next one that something follows that can
 * follow a string. One in the middle of a sentence is part of it. */
static size_t string_end(struct str json, size_t from)
{
    for (size_t i = from; i < json.len; i++) {
        if (json.data[i] == '\\') {
            i++;
            continue;
        }
        if (json.data[i] != '"')
            continue;
        size_t next = i + 1;
        bool line_end = false;
        while (next < json.len && ascii_is_space(json.data[next]))
            line_end |= json.data[next++] == '\n';
        if (next == json.len || memchr(",:]}/", json.data[next], 5) || (line_end && json.data[next] == '"'))
            return i;
    }
    return json.len;
}

/* Behind a comment that begins at `at`, or one further. */
static size_t skip_comment(struct str json, size_t at)
{
    struct str rest = str_slice(json, at, json.len);
    size_t end = STR_NONE;
    if (str_starts_with(rest, STR("//")))
        end = str_find_char(json, '\n', at);
    else if (str_starts_with(rest, STR("/*")))
        end = str_find(json, STR("*/"), at + 2);
    else
        return at + 1;
    return end == STR_NONE ? json.len : end + 1;
}

static size_t word_end(struct str json, size_t at)
{
    while (at < json.len && !ascii_is_space(json.data[at]) && !memchr(",:]}[{\"", json.data[at], 7))
        at++;
    return at;
}

static size_t skip_blank(struct str json, size_t at)
{
    while (at < json.len && ascii_is_space(json.data[at]))
        at++;
    return at;
}

void ld_read(struct ld *ld, struct str json)
{
    uint32_t open[LD_MAX_DEPTH] = {0};
    size_t depth = 0, deeper = 0;
    struct str key = {0};
    json = str_slice(json, 0, LD_MAX_BYTES - ld->bytes);
    ld->bytes += json.len;
    for (size_t i = 0; i < json.len && ld->count < LD_MAX_VALUES;) {
        char c = json.data[i];
        bool in_object = depth && ld->values[open[depth]].kind == LD_OBJECT;
        if (c == '{' || c == '[') {
            if (depth + 1 == LD_MAX_DEPTH || deeper) {
                deeper++;
            } else {
                uint32_t value = add(ld, c == '{' ? LD_OBJECT : LD_ARRAY, open[depth], key, (struct str){0});
                open[++depth] = value;
            }
            key = (struct str){0};
            i++;
        } else if (c == '}' || c == ']') {
            if (deeper)
                deeper--;
            else if (depth)
                ld->values[open[depth--]].end = ld->count;
            key = (struct str){0};
            i++;
        } else if (c == '"') {
            size_t end = string_end(json, i + 1), next = skip_blank(json, end + 1);
            struct str text = str_slice(json, i + 1, end);
            bool is_key = in_object && next < json.len && json.data[next] == ':';
            if (is_key)
                key = text;
            else if (!deeper)
                add(ld, LD_STRING, open[depth], key, text);
            i = is_key ? next + 1 : end + 1;
        } else if (c == '/') {
            i = skip_comment(json, i);
        } else if (ascii_is_space(c) || c == ':' || c == ',') {
            if (c == ',')
                key = (struct str){0};
            i++;
        } else {
            size_t end = word_end(json, i);
            if (!deeper && depth)
                add(ld, LD_OTHER, open[depth], key, str_slice(json, i, end));
            i = end > i ? end : i + 1;
        }
    }
    while (depth)
        ld->values[open[depth--]].end = ld->count;
    ld->values[0].end = ld->count;
}

uint32_t ld_get(const struct ld *ld, uint32_t object, const char *key)
{
    if (ld->values[object].kind != LD_OBJECT)
        return 0;
    for (uint32_t i = object + 1; i < ld->values[object].end; i = ld->values[i].end)
        if (str_equal(ld->values[i].key, str_of(key)))
            return i;
    return 0;
}

struct str ld_text(const struct ld *ld, uint32_t value)
{
    static const char *const members[] = {"@value", "name", "@id"};
    const struct ld_value *at = &ld->values[value];
    if (value == 0)
        return (struct str){0};
    if (at->kind == LD_STRING || (at->kind == LD_OTHER && !str_equal(at->text, STR("null"))))
        return at->text;
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        uint32_t member = ld_get(ld, value, members[i]);
        if (member && ld->values[member].kind == LD_STRING)
            return ld->values[member].text;
    }
    return (struct str){0};
}

/* The four hexadecimal digits behind "\u"; UTF8_INVALID when there are none. */
static uint32_t hex_unit(struct str text, size_t at)
{
    uint32_t value = 0;
    if (at + 4 > text.len)
        return UTF8_INVALID;
    for (size_t i = at; i < at + 4; i++) {
        char c = ascii_lower(text.data[i]);
        if (!ascii_is_digit(c) && (c < 'a' || c > 'f'))
            return UTF8_INVALID;
        value = value * 16 + (uint32_t)(ascii_is_digit(c) ? c - '0' : c - 'a' + 10);
    }
    return value;
}

/* Writes the character of the "\u" at `at`, and returns where the text goes on. */
static size_t unescape_unit(struct str text, size_t at, struct buf *out)
{
    uint32_t value = hex_unit(text, at + 2);
    if (value == UTF8_INVALID)
        return at + 2;
    at += 6;
    if (value >= 0xD800 && value < 0xDC00 && str_starts_with(str_slice(text, at, text.len), STR("\\u"))) {
        uint32_t low = hex_unit(text, at + 2);
        if (low >= 0xDC00 && low < 0xE000) {
            value = 0x10000 + ((value - 0xD800) << 10) + (low - 0xDC00);
            at += 6;
        }
    }
    if ((value >= 0xD800 && value < 0xE000) || value == 0)
        value = 0xFFFD;
    char bytes[4];
    buf_add(out, str_make(bytes, utf8_encode(value, bytes)));
    return at;
}

void ld_unescape(struct str text, struct buf *out)
{
    for (size_t i = 0; i < text.len;) {
        size_t end = str_find_char(text, '\\', i);
        buf_add(out, str_slice(text, i, end));
        if (end == STR_NONE || end + 1 >= text.len)
            return;
        char c = text.data[end + 1];
        i = end + 2;
        if (c == 'u')
            i = unescape_unit(text, end, out);
        else if (c == 'n' || c == 'r')
            buf_add_char(out, '\n');
        else
            buf_add_char(out, memchr("tbf", c, 3) ? ' ' : c);
    }
}
