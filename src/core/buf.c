#include "core/buf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"

void buf_init(struct buf *buf, size_t cap)
{
    *buf = (struct buf){.cap = cap < BUF_UNBOUNDED ? cap : BUF_UNBOUNDED};
}

void buf_finish(struct buf *buf)
{
    if (!buf)
        return;
    free(buf->data);
    *buf = (struct buf){0};
}

void buf_reset(struct buf *buf)
{
    buf_truncate(buf, 0);
}

char *buf_take(struct buf *buf)
{
    char *data = buf->data ? buf->data : mem_strdup("");
    *buf = (struct buf){.cap = buf->cap};
    return data;
}

struct str buf_str(const struct buf *buf)
{
    return (struct str){buf->data, buf->len};
}

char *buf_reserve(struct buf *buf, size_t more)
{
    if (more > buf->cap - buf->len)
        return NULL;
    size_t needed = buf->len + more + 1;
    if (needed > buf->allocated) {
        size_t wanted = buf->allocated + buf->allocated / 2;
        if (wanted < needed)
            wanted = needed;
        if (wanted < 64)
            wanted = 64;
        if (wanted > buf->cap + 1)
            wanted = buf->cap + 1;
        buf->data = mem_realloc(buf->data, wanted, 1);
        buf->allocated = wanted;
        buf->data[buf->len] = '\0';
    }
    return buf->data + buf->len;
}

void buf_commit(struct buf *buf, size_t written)
{
    buf->len += written;
    if (buf->data)
        buf->data[buf->len] = '\0';
}

enum status buf_append(struct buf *buf, const void *bytes, size_t len)
{
    char *end = buf_reserve(buf, len);
    if (!end)
        return STATUS_TOO_BIG;
    if (len)
        memcpy(end, bytes, len);
    buf_commit(buf, len);
    return STATUS_OK;
}

enum status buf_append_str(struct buf *buf, struct str s)
{
    return buf_append(buf, s.data, s.len);
}

enum status buf_append_char(struct buf *buf, char c)
{
    return buf_append(buf, &c, 1);
}

void buf_add(struct buf *buf, struct str s)
{
    if (buf_append(buf, s.data, s.len) != STATUS_OK) {
        fprintf(stderr, "fathom: a buffer of at most %zu bytes was filled with %zu more\n", buf->cap, s.len);
        abort();
    }
}

void buf_add_text(struct buf *buf, const char *text)
{
    buf_add(buf, str_of(text));
}

void buf_add_char(struct buf *buf, char c)
{
    buf_add(buf, (struct str){&c, 1});
}

void buf_addf(struct buf *buf, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    buf_addv(buf, format, arguments);
    va_end(arguments);
}

void buf_addv(struct buf *buf, const char *format, va_list arguments)
{
    char small[256];
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(small, sizeof small, format, arguments);
    if (length >= 0 && (size_t)length < sizeof small) {
        buf_add(buf, (struct str){small, (size_t)length});
    } else if (length >= 0) {
        char *large = mem_alloc((size_t)length + 1);
        vsnprintf(large, (size_t)length + 1, format, again);
        buf_add(buf, (struct str){large, (size_t)length});
        free(large);
    }
    va_end(again);
}

void buf_truncate(struct buf *buf, size_t len)
{
    if (len >= buf->len)
        return;
    buf->len = len;
    buf->data[len] = '\0';
}

void buf_consume(struct buf *buf, size_t count)
{
    if (count == 0)
        return;
    if (count >= buf->len) {
        buf_reset(buf);
        return;
    }
    memmove(buf->data, buf->data + count, buf->len - count);
    buf_truncate(buf, buf->len - count);
}
