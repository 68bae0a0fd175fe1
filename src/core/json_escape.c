/* The inside of JSON strings (RFC 8259, section 7): every text of a conversation goes through here, there and back. */
#include "core/json.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "core/utf8.h"

#define ESCAPE_PART 256 /* bytes of text at a time */
#define ESCAPE_MOST 6   /* bytes that one becomes at most */

/* The letter after the backslash for characters that JSON escapes, 'u' for control characters without one, else 0. */
static char escape_letter(unsigned char c)
{
    switch (c) {
    case '"':
    case '\\':
        return (char)c;
    case '\n':
        return 'n';
    case '\t':
        return 't';
    case '\r':
        return 'r';
    case '\b':
        return 'b';
    case '\f':
        return 'f';
    default:
        return c < 0x20 ? 'u' : 0;
    }
}

/* How many of 8 bytes stand before the first that is escaped. */
static size_t plain_bytes(uint64_t eight)
{
    const uint64_t ones = 0x0101010101010101u, highs = 0x8080808080808080u;
    uint64_t quote = eight ^ (ones * '"'), slash = eight ^ (ones * '\\');
    uint64_t special = ((eight - ones * 0x20) & ~eight) | ((quote - ones) & ~quote) | ((slash - ones) & ~slash);
    special &= highs;
    return special ? (size_t)__builtin_ctzll(special) / 8 : 8;
}

/* Of at most ESCAPE_PART bytes of valid text; `to` has room for 8 bytes more than they can become. */
static size_t escape_part(const char *text, size_t len, char *to)
{
    static const char digits[] = "0123456789abcdef";
    char *start = to;
    for (size_t i = 0; i < len;) {
        if (len - i >= 8) {
            uint64_t eight;
            memcpy(&eight, text + i, 8);
            memcpy(to, &eight, 8);
            size_t plain = plain_bytes(le64toh(eight));
            i += plain;
            to += plain;
            if (plain == 8)
                continue;
        }
        unsigned char c = (unsigned char)text[i++];
        char letter = escape_letter(c);
        if (letter)
            *to++ = '\\';
        *to++ = letter ? letter : (char)c;
        if (letter == 'u') {
            const char code[] = {'0', '0', digits[c >> 4], digits[c & 15]};
            memcpy(to, code, sizeof code);
            to += sizeof code;
        }
    }
    return (size_t)(to - start);
}

static enum status escape_valid(struct buf *out, struct str text)
{
    char escaped[ESCAPE_PART * ESCAPE_MOST + 8];
    enum status status = STATUS_OK;
    for (size_t i = 0; i < text.len && status == STATUS_OK; i += ESCAPE_PART) {
        size_t len = text.len - i < ESCAPE_PART ? text.len - i : ESCAPE_PART;
        status = buf_append(out, escaped, escape_part(text.data + i, len, escaped));
    }
    return status;
}

enum status json_escape(struct buf *out, struct str text)
{
    size_t start = out->len, length;
    enum status status = STATUS_OK;
    (void)buf_reserve(out, text.len + text.len / 16); /* what most text needs; no matter when the cap forbids it */
    for (size_t i = 0; i < text.len && status == STATUS_OK;) {
        size_t valid = utf8_valid_prefix(str_slice(text, i, text.len));
        status = escape_valid(out, str_slice(text, i, i + valid));
        i += valid;
        if (i >= text.len || status != STATUS_OK)
            break;
        (void)utf8_decode(str_slice(text, i, text.len), &length);
        status = buf_append_str(out, STR("\xEF\xBF\xBD"));
        i += length;
    }
    if (status != STATUS_OK)
        buf_truncate(out, start);
    return status;
}

char json_unescape_one(struct str wire, size_t *at)
{
    char c = wire.data[*at + 1], digits[5] = {0};
    size_t from = *at + 2;
    *at = from;
    switch (c) {
    case 'n':
        return '\n';
    case 't':
        return '\t';
    case 'r':
        return '\r';
    case 'b':
        return '\b';
    case 'f':
        return '\f';
    case 'u':
        memcpy(digits, wire.data + from, wire.len - from < 4 ? wire.len - from : 4);
        *at = from + 4 < wire.len ? from + 4 : wire.len;
        return (char)strtol(digits, NULL, 16); /* json_escape writes \u for control characters alone */
    default:
        return c;
    }
}

/* From `at` on, which is moved: at most ESCAPE_PART bytes. */
static size_t unescape_part(struct str wire, size_t *at, char to[ESCAPE_PART])
{
    size_t n = 0;
    while (n < ESCAPE_PART && *at < wire.len) {
        size_t most = wire.len - *at < ESCAPE_PART - n ? wire.len - *at : ESCAPE_PART - n;
        const char *from = wire.data + *at, *slash = memchr(from, '\\', most);
        size_t plain = slash ? (size_t)(slash - from) : most;
        memcpy(to + n, from, plain);
        n += plain;
        *at += plain;
        if (!slash)
            continue;
        if (*at + 1 == wire.len)
            *at = wire.len;
        else
            to[n++] = json_unescape_one(wire, at);
    }
    return n;
}

enum status json_unescape(struct buf *out, struct str wire)
{
    char part[ESCAPE_PART];
    size_t start = out->len;
    (void)buf_reserve(out, wire.len); /* no matter when the cap forbids it */
    for (size_t at = 0; at < wire.len;) {
        enum status status = buf_append(out, part, unescape_part(wire, &at, part));
        if (status != STATUS_OK) {
            buf_truncate(out, start);
            return status;
        }
    }
    return STATUS_OK;
}
