#include "protocol/template_wire.h"

#include "core/json.h"
#include "core/utf8.h"

/* White space as the templates' trim, Python's str.strip, has it. */
static bool is_space(uint32_t c)
{
    return (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20) || c == 0x85 || c == 0xA0 || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

static uint32_t escaped_value(struct str wire, size_t at)
{
    return (unsigned char)json_unescape_one(wire, &at);
}

/* Bytes of the wire character at the start of `s` (not empty). */
static size_t first_length(struct str s, uint32_t *value)
{
    size_t length = 1;
    if (s.data[0] == '\\' && s.len >= 2) {
        length = s.data[1] == 'u' && s.len >= 6 ? 6 : 2;
        *value = escaped_value(s, 0);
    } else {
        *value = utf8_decode(s, &length);
    }
    return length;
}

/* Whether the backslash at `at` begins an escape: it does unless it is the second of a pair. */
static bool begins_escape(struct str s, size_t at)
{
    size_t before = 0;
    while (before < at && s.data[at - 1 - before] == '\\')
        before++;
    return s.data[at] == '\\' && before % 2 == 0;
}

/* Bytes of the wire character at the end of `s` (not empty). */
static size_t last_length(struct str s, uint32_t *value)
{
    for (size_t length = 2; length <= 6; length += 4) {
        if (s.len >= length && (length == 6) == (s.data[s.len - length + 1] == 'u') &&
            begins_escape(s, s.len - length)) {
            *value = escaped_value(s, s.len - length);
            return length;
        }
    }
    size_t length = 1;
    while (length < 4 && length < s.len && ((unsigned char)s.data[s.len - length] & 0xC0) == 0x80)
        length++;
    *value = utf8_decode(str_slice(s, s.len - length, s.len), &length);
    return length;
}

struct str wire_trim(struct str s)
{
    return wire_trim_end(wire_trim_start(s));
}

struct str wire_trim_start(struct str s)
{
    uint32_t value;
    while (s.len > 0) {
        size_t length = first_length(s, &value);
        if (!is_space(value))
            break;
        s = str_slice(s, length, s.len);
    }
    return s;
}

struct str wire_trim_end(struct str s)
{
    uint32_t value;
    while (s.len > 0) {
        size_t length = last_length(s, &value);
        if (!is_space(value))
            break;
        s.len -= length;
    }
    return s;
}

struct str wire_strip_newlines_start(struct str s)
{
    while (str_starts_with(s, STR("\\n")))
        s = str_slice(s, 2, s.len);
    return s;
}

struct str wire_strip_newlines_end(struct str s)
{
    while (str_ends_with(s, STR("\\n")) && begins_escape(s, s.len - 2))
        s.len -= 2;
    return s;
}

struct str wire_before_first(struct str s, struct str mark)
{
    size_t at = str_find(s, mark, 0);
    return at == STR_NONE ? s : str_slice(s, 0, at);
}

struct str wire_behind_first(struct str s, struct str mark)
{
    size_t at = str_find(s, mark, 0);
    return at == STR_NONE ? s : str_slice(s, at + mark.len, s.len);
}

struct str wire_behind_last(struct str s, struct str mark)
{
    for (size_t at; (at = str_find(s, mark, 0)) != STR_NONE;)
        s = str_slice(s, at + mark.len, s.len);
    return s;
}
