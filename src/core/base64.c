#include "core/base64.h"

#include <stdint.h>

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* One to three bytes as four characters. */
static void encode(const char *bytes, size_t count, char out[4])
{
    uint32_t bits = (uint32_t)(unsigned char)bytes[0] << 16;
    if (count > 1)
        bits |= (uint32_t)(unsigned char)bytes[1] << 8;
    if (count > 2)
        bits |= (unsigned char)bytes[2];
    out[0] = alphabet[bits >> 18];
    out[1] = alphabet[bits >> 12 & 63];
    out[2] = count > 1 ? alphabet[bits >> 6 & 63] : '=';
    out[3] = count > 2 ? alphabet[bits & 63] : '=';
}

enum status base64_append(struct buf *out, struct str bytes)
{
    size_t length = bytes.len / 3 * 4 + (bytes.len % 3 ? 4 : 0);
    if (length == 0)
        return STATUS_OK;
    char *place = buf_reserve(out, length);
    if (!place)
        return STATUS_TOO_BIG;
    for (size_t i = 0; i < bytes.len; i += 3)
        encode(bytes.data + i, bytes.len - i < 3 ? bytes.len - i : 3, place + i / 3 * 4);
    buf_commit(out, length);
    return STATUS_OK;
}

static int sextet(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* Four characters as `count` bytes; false when one is not of the alphabet, or bits are left over that are not 0. */
static bool decode(const char *in, size_t count, char out[3])
{
    uint32_t bits = 0;
    for (size_t i = 0; i < 4; i++) {
        int value = i <= count ? sextet(in[i]) : 0;
        if (value < 0)
            return false;
        bits = bits << 6 | (uint32_t)value;
    }
    for (size_t i = 0; i < 3; i++)
        out[i] = (char)(bits >> (16 - 8 * i) & 0xFF);
    return count == 3 || (bits & (count == 2 ? 0xFFu : 0xFFFFu)) == 0;
}

enum status base64_decode(struct buf *out, struct str text)
{
    size_t padding = str_ends_with(text, STR("==")) ? 2 : str_ends_with(text, STR("=")) ? 1 : 0, start = out->len;
    if (text.len % 4)
        return STATUS_SYNTAX;
    for (size_t i = 0; i < text.len; i += 4) {
        size_t count = i + 4 == text.len ? 3 - padding : 3;
        char bytes[3];
        enum status status = decode(text.data + i, count, bytes) ? buf_append(out, bytes, count) : STATUS_SYNTAX;
        if (status != STATUS_OK) {
            buf_truncate(out, start);
            return status;
        }
    }
    return STATUS_OK;
}
