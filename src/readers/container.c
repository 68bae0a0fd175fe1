#include "readers/container.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <locale.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/utf8.h"

#define READ_BYTES 65536

struct container {
    struct reading *reading;
    const struct document *document;
    struct archive *archive;
    uint64_t offset;
    char *chunk;
    struct buf name;
    bool encrypted;
    enum status status;
    struct error error;
};

/* libarchive converts names by the thread's locale, and gives none where it cannot. */
static locale_t utf8_locale;

static void make_locale(void)
{
    utf8_locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
}

static locale_t enter_locale(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_locale);
    return utf8_locale ? uselocale(utf8_locale) : (locale_t)0;
}

static void leave_locale(locale_t before)
{
    if (before)
        uselocale(before);
}

static la_ssize_t on_read(struct archive *archive, void *user, const void **out)
{
    struct container *container = user;
    ssize_t count = document_read_at(container->document, container->offset, container->chunk, READ_BYTES);
    if (count < 0) {
        archive_set_error(archive, EIO, "read");
        return -1;
    }
    container->offset += (uint64_t)count;
    *out = container->chunk;
    return count;
}

static la_int64_t on_skip(struct archive *archive, void *user, la_int64_t count)
{
    (void)archive;
    struct container *container = user;
    uint64_t left = container->document->size - container->offset;
    uint64_t step = count < 0 ? 0 : (uint64_t)count < left ? (uint64_t)count : left;
    container->offset += step;
    return (la_int64_t)step;
}

static la_int64_t on_seek(struct archive *archive, void *user, la_int64_t offset, int whence)
{
    (void)archive;
    struct container *container = user;
    int64_t size = (int64_t)container->document->size;
    int64_t base = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? (int64_t)container->offset : size;
    int64_t to = base + offset;
    to = to < 0 ? 0 : to > size ? size : to;
    container->offset = (uint64_t)to;
    return to;
}

static void choose_formats(struct archive *archive, enum container_set set)
{
    if (set == CONTAINER_ZIP) {
        archive_read_support_format_zip(archive);
        return;
    }
    archive_read_support_filter_gzip(archive);
    archive_read_support_filter_bzip2(archive);
    archive_read_support_filter_xz(archive);
    archive_read_support_filter_lzma(archive);
    archive_read_support_filter_zstd(archive);
    archive_read_support_filter_compress(archive);
    if (set == CONTAINER_STREAM) {
        archive_read_support_format_raw(archive);
        return;
    }
    archive_read_support_format_zip(archive);
    archive_read_support_format_tar(archive);
    archive_read_support_format_7zip(archive);
    archive_read_support_format_cpio(archive);
    archive_read_support_format_ar(archive);
}

enum status container_open(struct reading *reading, const struct document *document, enum container_set set,
                           struct container **out, struct error *error)
{
    enum status status = reading_check(reading, error);
    if (status != STATUS_OK)
        return status;
    struct container *container = mem_zalloc(sizeof *container);
    container->reading = reading;
    container->document = document;
    container->chunk = mem_alloc(READ_BYTES);
    buf_init(&container->name, BUF_UNBOUNDED);
    container->archive = archive_read_new();
    locale_t before = enter_locale();
    choose_formats(container->archive, set);
    archive_read_set_read_callback(container->archive, on_read);
    archive_read_set_skip_callback(container->archive, on_skip);
    archive_read_set_seek_callback(container->archive, on_seek);
    archive_read_set_callback_data(container->archive, container);
    int result = archive_read_open1(container->archive);
    leave_locale(before);
    if (result < ARCHIVE_WARN) {
        container_close(container);
        return error_set(error, STATUS_SYNTAX, "it is damaged, or no archive of a kind that is read here");
    }
    *out = container;
    return STATUS_OK;
}

void container_close(struct container *container)
{
    if (!container)
        return;
    locale_t before = enter_locale();
    archive_read_free(container->archive);
    leave_locale(before);
    free(container->chunk);
    buf_finish(&container->name);
    free(container);
}

static enum status fail(struct container *container, enum status status, const char *message)
{
    container->status = error_set(&container->error, status, "%s", message);
    return container->status;
}

enum status container_status(const struct container *container, struct error *error)
{
    if (container->status != STATUS_OK && error)
        *error = container->error;
    return container->status;
}

/* The entry's name in UTF-8: what it is by itself, else by guessing its character set. */
static void take_name(struct container *container, struct archive_entry *entry)
{
    buf_reset(&container->name);
    const char *name = archive_entry_pathname_utf8(entry);
    if (!name)
        name = archive_entry_pathname(entry);
    struct str raw = str_slice(str_of(name), 0, 4096);
    struct buf decoded;
    buf_init(&decoded, 65536);
    if (!utf8_is_valid(raw) && decode_text(raw, (struct str){0}, false, &decoded) == STATUS_OK)
        raw = buf_str(&decoded);
    for (size_t i = 0; i < raw.len; i++) /* a line break in a name could pass for text of ours */
        buf_add_char(&container->name, (unsigned char)raw.data[i] < 32 || raw.data[i] == 127 ? '?' : raw.data[i]);
    buf_add_text(&container->name, "");
    buf_finish(&decoded);
}

enum status container_next(struct container *container, struct container_entry *out, struct error *error)
{
    enum status status = reading_check(container->reading, error);
    if (status != STATUS_OK)
        return status;
    container->status = STATUS_OK;
    struct archive_entry *entry;
    locale_t before = enter_locale();
    int result = archive_read_next_header(container->archive, &entry);
    if (result == ARCHIVE_OK || result == ARCHIVE_WARN)
        take_name(container, entry);
    leave_locale(before);
    if (result == ARCHIVE_EOF)
        return STATUS_NOT_FOUND;
    if (result != ARCHIVE_OK && result != ARCHIVE_WARN)
        return error_set(error, STATUS_SYNTAX, "it is damaged or cut off");
    if (container->reading->entries_left-- <= 0)
        return error_set(error, STATUS_TOO_BIG, "it holds more files than are read");
    container->encrypted = archive_entry_is_encrypted(entry) != 0;
    *out = (struct container_entry){
        .name = container->name.data ? container->name.data : "",
        .size = archive_entry_size_is_set(entry) ? archive_entry_size(entry) : -1,
        .is_file = archive_entry_filetype(entry) == AE_IFREG || archive_entry_filetype(entry) == 0,
        .encrypted = container->encrypted,
    };
    return STATUS_OK;
}

ssize_t container_read(void *user, char *out, size_t size)
{
    struct container *container = user;
    if (container->status != STATUS_OK)
        return -1;
    if (container->encrypted) {
        fail(container, STATUS_DENIED, "it is encrypted: unpack it with its password first");
        return -1;
    }
    enum status status = reading_check(container->reading, &container->error);
    la_ssize_t count = 0;
    if (status == STATUS_OK) {
        count = archive_read_data(container->archive, out, size);
        if (count < 0) {
            fail(container, STATUS_SYNTAX, "it is damaged or cut off");
            return -1;
        }
        status = reading_count_unpacked(container->reading, (size_t)count, &container->error);
    }
    container->status = status;
    return status == STATUS_OK ? (ssize_t)count : -1;
}

enum status container_load(struct container *container, struct buf *out, bool *cut, struct error *error)
{
    *cut = false;
    for (;;) {
        char chunk[32768];
        ssize_t count = container_read(container, chunk, sizeof chunk);
        if (count < 0)
            return container_status(container, error);
        if (count == 0)
            return STATUS_OK;
        size_t room = out->cap - out->len, taken = (size_t)count < room ? (size_t)count : room;
        if (buf_append(out, chunk, taken) != STATUS_OK || taken < (size_t)count) {
            *cut = true;
            return STATUS_OK;
        }
    }
}
