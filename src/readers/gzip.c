#include <limits.h>
#include <zlib.h>

#include "readers/internal.h"

bool gzip_is(struct str bytes)
{
    return bytes.len >= 18 && str_starts_with(bytes, STR("\x1F\x8B\x08"));
}

/* Inflates one member and sets *used to its length. */
static enum status inflate_member(z_stream *stream, struct str bytes, struct buf *out, size_t *used)
{
    stream->next_in = (Bytef *)(uintptr_t)bytes.data; /* zlib does not write there */
    stream->avail_in = (uInt)(bytes.len < UINT_MAX ? bytes.len : UINT_MAX);
    uInt given = stream->avail_in;
    for (;;) {
        char chunk[32768];
        stream->next_out = (Bytef *)chunk;
        stream->avail_out = sizeof chunk;
        int result = inflate(stream, Z_NO_FLUSH);
        if (result != Z_OK && result != Z_STREAM_END)
            return STATUS_SYNTAX; /* Z_BUF_ERROR too: all input was given, so the file is cut off */
        enum status status = buf_append(out, chunk, sizeof chunk - stream->avail_out);
        if (status != STATUS_OK)
            return status;
        if (result == Z_STREAM_END) {
            *used = given - stream->avail_in;
            return STATUS_OK;
        }
    }
}

enum status gzip_decompress(struct str bytes, struct buf *out, struct error *error)
{
    z_stream stream = {0};
    if (inflateInit2(&stream, 16 + MAX_WBITS) != Z_OK)
        return error_set(error, STATUS_IO, "zlib cannot be used");
    enum status status = STATUS_OK;
    bool first = true;
    while (status == STATUS_OK && (first || gzip_is(bytes))) {
        size_t used = 0;
        status = inflate_member(&stream, bytes, out, &used);
        bytes = str_slice(bytes, used, bytes.len);
        first = false;
        inflateReset(&stream);
    }
    inflateEnd(&stream);
    if (status == STATUS_SYNTAX)
        error_set(error, status, "the gzip stream is damaged or cut off");
    else if (status == STATUS_TOO_BIG)
        error_set(error, status, "larger than %zu bytes when decompressed", out->cap);
    return status;
}

void gzip_peek(struct str bytes, struct buf *out)
{
    z_stream stream = {0};
    if (inflateInit2(&stream, 16 + MAX_WBITS) != Z_OK)
        return;
    stream.next_in = (Bytef *)(uintptr_t)bytes.data; /* zlib does not write there */
    stream.avail_in = (uInt)(bytes.len < UINT_MAX ? bytes.len : UINT_MAX);
    int result = Z_OK;
    while (result == Z_OK && out->len < out->cap) {
        char chunk[8192];
        stream.next_out = (Bytef *)chunk;
        stream.avail_out = sizeof chunk;
        result = inflate(&stream, Z_NO_FLUSH);
        size_t got = sizeof chunk - stream.avail_out, room = out->cap - out->len;
        if (!got || buf_append(out, chunk, got < room ? got : room) != STATUS_OK)
            break;
    }
    inflateEnd(&stream);
}
