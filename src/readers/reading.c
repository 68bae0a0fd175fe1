/* One call of reader_read: its clock, its limits, and access to the bytes of a document. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "readers/internal.h"

#define MAX_NOTICE 4000

/* Below this much output no ratio is suspicious: sparse sheets and logs compress very well. */
#define RATIO_FREE ((size_t)64 << 20)
#define MAX_RATIO  200

int64_t reading_now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

enum status reading_check(const struct reading *reading, struct error *error)
{
    const atomic_bool *cancel = reading->source->cancel;
    if (cancel && atomic_load_explicit(cancel, memory_order_relaxed))
        return error_set(error, STATUS_CANCELED, "the reading was stopped");
    if (reading_now_ms() >= reading->deadline_ms)
        return error_set(error, STATUS_TIMEOUT, "reading the document took too long");
    return STATUS_OK;
}

void reading_note(struct reading *reading, const char *format, ...)
{
    char sentence[512];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    if (length <= 0)
        return;
    struct str text = str_of(sentence);
    if (str_find(buf_str(&reading->notice), text, 0) != STR_NONE)
        return; /* said already */
    if (reading->notice.len + text.len + 1 > MAX_NOTICE)
        return;
    if (reading->notice.len)
        buf_add_char(&reading->notice, ' ');
    buf_add(&reading->notice, text);
}

enum status reading_count_unpacked(struct reading *reading, size_t bytes, struct error *error)
{
    reading->unpacked += bytes;
    if (reading->unpacked > RATIO_FREE && reading->unpacked / MAX_RATIO > reading->packed)
        return error_set(error, STATUS_REFUSED, "it unpacks to more than %d times its size, as archive bombs do",
                         MAX_RATIO);
    if (reading->unpacked > reading->max_unpacked)
        return error_set(error, STATUS_TOO_BIG, "it unpacks to more than %zu MB", reading->max_unpacked >> 20);
    return STATUS_OK;
}

ssize_t document_read_at(const struct document *document, uint64_t offset, char *out, size_t size)
{
    if (offset >= document->size)
        return 0;
    if (!document->from_descriptor) {
        struct str piece = str_slice(document->bytes, (size_t)offset, document->bytes.len);
        if (piece.len > size)
            piece.len = size;
        memcpy(out, piece.data, piece.len);
        return (ssize_t)piece.len;
    }
    for (;;) {
        ssize_t count = pread(document->descriptor, out, size, (off_t)offset);
        if (count >= 0 || errno != EINTR)
            return count;
    }
}

/* Appends up to `limit` bytes from the start of a descriptor; false when a read failed. */
static bool load(const struct document *document, size_t limit, struct buf *out)
{
    uint64_t offset = 0;
    while (out->len < limit) {
        size_t want = limit - out->len < 262144 ? limit - out->len : 262144;
        char *room = buf_reserve(out, want);
        if (!room)
            return true;
        ssize_t count = document_read_at(document, offset, room, want);
        if (count < 0)
            return false;
        if (count == 0)
            return true;
        buf_commit(out, (size_t)count);
        offset += (uint64_t)count;
    }
    return true;
}

struct str document_head(const struct document *document, struct buf *scratch)
{
    if (!document->from_descriptor)
        return str_slice(document->bytes, 0, SNIFF_BYTES);
    buf_finish(scratch);
    buf_init(scratch, SNIFF_BYTES);
    load(document, SNIFF_BYTES, scratch);
    return buf_str(scratch);
}

enum status document_load(const struct document *document, size_t max_bytes, struct buf *scratch, struct str *out,
                          struct error *error)
{
    if (document->size > max_bytes)
        return error_set(error, STATUS_TOO_BIG, "larger than %zu bytes", max_bytes);
    if (!document->from_descriptor) {
        *out = document->bytes;
        return STATUS_OK;
    }
    buf_finish(scratch);
    buf_init(scratch, max_bytes);
    if (!load(document, max_bytes, scratch))
        return error_set(error, STATUS_IO, "the file cannot be read");
    *out = buf_str(scratch);
    return STATUS_OK;
}

int document_open(const struct document *document, struct error *error)
{
    int descriptor = document->from_descriptor ? dup(document->descriptor) : memfd_create("document", MFD_CLOEXEC);
    struct str rest = document->from_descriptor ? (struct str){0} : document->bytes;
    while (descriptor >= 0 && rest.len) {
        ssize_t count = write(descriptor, rest.data, rest.len);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0) {
            close(descriptor);
            descriptor = -1;
            break;
        }
        rest = str_slice(rest, (size_t)count, rest.len);
    }
    if (descriptor >= 0 && lseek(descriptor, 0, SEEK_SET) == 0)
        return descriptor;
    if (descriptor >= 0)
        close(descriptor);
    error_set(error, STATUS_IO, "the document cannot be handed to a program");
    return -1;
}
