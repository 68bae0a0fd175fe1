#include "cli/record.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/file.h"
#include "core/mem.h"

static enum status refuse(const char *path, int code, struct error *error)
{
    error_set(error, STATUS_IO, "cannot be written: %s", strerror(code));
    error_at(error, path, 0, 0);
    return STATUS_IO;
}

static enum status open_for_writing(const char *path, int flags, int *out, struct error *error)
{
    int descriptor = strcmp(path, "-") == 0 ? dup(STDOUT_FILENO) : open(path, O_WRONLY | O_CLOEXEC | flags, 0666);
    if (descriptor < 0)
        return refuse(path, errno, error);
    *out = descriptor;
    return STATUS_OK;
}

/* Whether a new file can take the place of `path`: makes one beside it and removes it again. */
static enum status try_replacing(const char *path, struct error *error)
{
    char *beside = mem_printf("%s.XXXXXX", path);
    int descriptor = mkstemp(beside);
    enum status status = descriptor < 0 ? refuse(path, errno, error) : STATUS_OK;
    if (descriptor >= 0) {
        close(descriptor);
        unlink(beside);
    }
    free(beside);
    return status;
}

static enum status open_output(struct record *record, struct error *error)
{
    struct stat info;
    const char *path = record->output_path;
    size_t length = strlen(path);
    if (length == 0)
        return refuse("--output", ENOENT, error);
    if (strcmp(path, "-") == 0)
        return open_for_writing(path, 0, &record->output, error);
    if (stat(path, &info) == 0) {
        if (S_ISDIR(info.st_mode))
            return refuse(path, EISDIR, error);
        if (!S_ISREG(info.st_mode)) /* a device or pipe is written, not replaced */
            return open_for_writing(path, 0, &record->output, error);
        if (access(path, W_OK) != 0)
            return refuse(path, errno, error);
    } else if (path[length - 1] == '/') {
        return refuse(path, EISDIR, error);
    }
    return try_replacing(path, error);
}

enum status record_open(struct record *record, const char *events_path, const char *output_path, struct error *error)
{
    *record = (struct record){.events_path = events_path, .output_path = output_path, .events = -1, .output = -1};
    enum status status = STATUS_OK;
    if (output_path != NULL)
        status = open_output(record, error);
    if (status == STATUS_OK && events_path != NULL)
        status = open_for_writing(events_path, O_CREAT | O_TRUNC, &record->events, error);
    if (status != STATUS_OK)
        record_close(record);
    return status;
}

void record_close(struct record *record)
{
    if (record->events >= 0)
        close(record->events);
    if (record->output >= 0)
        close(record->output);
    record->events = record->output = -1;
}

static enum status write_line(int descriptor, const char *path, const json_t *value, struct error *error)
{
    struct buf line;
    enum status status = STATUS_OK;
    buf_init(&line, BUF_UNBOUNDED);
    if (json_write(&line, value) != STATUS_OK)
        abort(); /* an unbounded buffer cannot refuse */
    buf_add_char(&line, '\n');
    for (size_t at = 0; at < line.len && status == STATUS_OK;) {
        ssize_t written = write(descriptor, line.data + at, line.len - at);
        if (written > 0)
            at += (size_t)written;
        else if (errno != EINTR)
            status = refuse(path, errno, error);
    }
    buf_finish(&line);
    return status;
}

enum status record_event(struct record *record, const json_t *event, struct error *error)
{
    if (record->events < 0 || record->events_failed)
        return STATUS_OK;
    enum status status = write_line(record->events, record->events_path, event, error);
    record->events_failed = status != STATUS_OK;
    return status;
}

enum status record_result(struct record *record, const json_t *result, struct error *error)
{
    if (record->output_path == NULL)
        return STATUS_OK;
    if (record->output >= 0)
        return write_line(record->output, record->output_path, result, error);
    struct buf text;
    buf_init(&text, BUF_UNBOUNDED);
    if (json_write(&text, result) != STATUS_OK)
        abort();
    buf_add_char(&text, '\n');
    enum status status = file_write(record->output_path, buf_str(&text), error);
    buf_finish(&text);
    return status;
}
