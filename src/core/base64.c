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
