#include "core/utf8.h"

#include <string.h>

uint32_t utf8_decode(struct str s, size_t *length)
{
    const unsigned char *p = (const unsigned char *)s.data;
    unsigned char lead = p[0];
    *length = 1;
    if (lead < 0x80)
        return lead;
    size_t needed;
    uint32_t value;
    unsigned char low = 0x80, high = 0xBF; /* what the second byte may be */
    if (lead >= 0xC2 && lead <= 0xDF) {
        needed = 2;
        value = lead & 0x1Fu;
    } else if (lead >= 0xE0 && lead <= 0xEF) {
        needed = 3;
        value = lead & 0x0Fu;
        if (lead == 0xE0)
            low = 0xA0;
        if (lead == 0xED)
            high = 0x9F;
    } else if (lead >= 0xF0 && lead <= 0xF4) {
        needed = 4;
        value = lead & 0x07u;
        if (lead == 0xF0)
            low = 0x90;
        if (lead == 0xF4)
            high = 0x8F;
    } else {
        return UTF8_INVALID;
    }
    for (size_t i = 1; i < needed; i++) {
        if (i >= s.len || p[i] < low || p[i] > high) {
            *length = i;
            return UTF8_INVALID;
        }
        value = value << 6 | (p[i] & 0x3Fu);
        low = 0x80;
        high = 0xBF;
    }
    *length = needed;
    return value;
}

size_t utf8_encode(uint32_t code_point, char out[4])
{
    if (code_point < 0x80) {
        out[0] = (char)code_point;
        return 1;
    }
    if (code_point < 0x800) {
        out[0] = (char)(0xC0 | code_point >> 6);
        out[1] = (char)(0x80 | (code_point & 0x3F));
        return 2;
    }
    if (code_point < 0x10000) {
        out[0] = (char)(0xE0 | code_point >> 12);
        out[1] = (char)(0x80 | (code_point >> 6 & 0x3F));
        out[2] = (char)(0x80 | (code_point & 0x3F));
        return 3;
    }
    out[0] = (char)(0xF0 | code_point >> 18);
    out[1] = (char)(0x80 | (code_point >> 12 & 0x3F));
    out[2] = (char)(0x80 | (code_point >> 6 & 0x3F));
    out[3] = (char)(0x80 | (code_point & 0x3F));
    return 4;
}

size_t utf8_ascii_prefix(struct str s)
{
    size_t i = 0;
    for (uint64_t four[4]; s.len - i >= sizeof four; i += sizeof four) {
        memcpy(four, s.data + i, sizeof four);
        if ((four[0] | four[1] | four[2] | four[3]) & 0x8080808080808080u)
            break;
    }
    for (uint64_t eight; s.len - i >= sizeof eight; i += sizeof eight) {
        memcpy(&eight, s.data + i, sizeof eight);
        if (eight & 0x8080808080808080u)
            break;
    }
    while (i < s.len && (unsigned char)s.data[i] < 0x80)
        i++;
    return i;
}

size_t utf8_valid_prefix(struct str s)
{
    size_t i = 0;
    while (i < s.len) {
        if ((unsigned char)s.data[i] < 0x80) {
            i += utf8_ascii_prefix(str_make(s.data + i, s.len - i));
            continue;
        }
        size_t length;
        if (utf8_decode(str_slice(s, i, s.len), &length) == UTF8_INVALID)
            break;
        i += length;
    }
    return i;
}

bool utf8_is_valid(struct str s)
{
    return utf8_valid_prefix(s) == s.len;
}

size_t utf8_floor(struct str s, size_t limit)
{
    if (limit >= s.len)
        return s.len;
    return limit - utf8_incomplete_tail(str_slice(s, 0, limit));
}

enum status utf8_append_valid(struct buf *out, struct str s)
{
    size_t start = out->len;
    while (s.len) {
        size_t good = utf8_valid_prefix(s);
        enum status status = buf_append(out, s.data, good);
        if (status == STATUS_OK && good < s.len) {
            status = buf_append_str(out, STR("\xEF\xBF\xBD"));
            size_t bad;
            utf8_decode(str_slice(s, good, s.len), &bad);
            good += bad;
        }
        if (status != STATUS_OK) {
            buf_truncate(out, start);
            return status;
        }
        s = str_slice(s, good, s.len);
    }
    return STATUS_OK;
}

size_t utf8_incomplete_tail(struct str s)
{
    for (size_t back = 1; back <= 3 && back <= s.len; back++) {
        unsigned char c = (unsigned char)s.data[s.len - back];
        if (c < 0x80)
            return 0;
        if (c >= 0xC0) {
            size_t needed = c >= 0xF0 ? 4 : c >= 0xE0 ? 3 : 2, length;
            uint32_t decoded = utf8_decode(str_slice(s, s.len - back, s.len), &length);
            return decoded == UTF8_INVALID && length == back && needed > back ? back : 0;
        }
    }
    return 0;
}
