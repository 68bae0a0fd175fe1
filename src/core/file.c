#include "core/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/mem.h"

#define MIB ((size_t)1 << 20)

static enum status file_error(struct error *error, enum status status, const char *path, const char *what)
{
    error_set(error, status, "cannot %s: %s", what, strerror(errno));
    error_at(error, path, 0, 0);
    return status;
}

enum status file_read_descriptor(int descriptor, const char *name, struct buf *out, struct error *error)
{
    for (;;) {
        char chunk[65536];
        ssize_t got = read(descriptor, chunk, sizeof chunk);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return file_error(error, STATUS_IO, name, "read");
        if (got == 0)
            return STATUS_OK;
        if (buf_append(out, chunk, (size_t)got) != STATUS_OK) {
            bool round = out->cap % MIB == 0;
            error_set(error, STATUS_TOO_BIG, "larger than the %zu %s allowed here", round ? out->cap / MIB : out->cap,
                      round ? "MiB" : "bytes");
            error_at(error, name, 0, 0);
            return STATUS_TOO_BIG;
        }
    }
}

enum status file_read(const char *path, struct buf *out, struct error *error)
{
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (descriptor < 0)
        return file_error(error, errno == ENOENT ? STATUS_NOT_FOUND : STATUS_IO, path, "open");
    struct stat info;
    enum status status;
    if (fstat(descriptor, &info) == 0 && S_ISDIR(info.st_mode)) {
        errno = EISDIR;
        status = file_error(error, STATUS_IO, path, "read");
    } else {
        status = file_read_descriptor(descriptor, path, out, error);
    }
    close(descriptor);
    return status;
}

static enum status write_all(int descriptor, struct str contents)
{
    while (contents.len) {
        ssize_t put = write(descriptor, contents.data, contents.len);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return STATUS_IO;
        contents = str_slice(contents, (size_t)put, contents.len);
    }
    return STATUS_OK;
}

enum status file_write(const char *path, struct str contents, struct error *error)
{
    struct stat info;
    if (stat(path, &info) == 0 && !S_ISREG(info.st_mode)) { /* /dev/stdout, a pipe: nothing to rename over */
        int descriptor = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
        if (descriptor < 0)
            return file_error(error, STATUS_IO, path, "open for writing");
        enum status status = write_all(descriptor, contents);
        if (status != STATUS_OK)
            file_error(error, status, path, "write");
        close(descriptor);
        return status;
    }
    char *temporary = mem_printf("%s.XXXXXX", path);
    int descriptor = mkostemp(temporary, O_CLOEXEC);
    enum status status = STATUS_OK;
    if (descriptor < 0) {
        status = file_error(error, STATUS_IO, path, "create a file beside it");
        goto done;
    }
    mode_t mask = umask(0);
    umask(mask);
    if (write_all(descriptor, contents) != STATUS_OK || fchmod(descriptor, 0666 & ~mask) != 0 ||
        fsync(descriptor) != 0 || rename(temporary, path) != 0) {
        status = file_error(error, STATUS_IO, path, "write");
        unlink(temporary);
    }
    close(descriptor);
done:
    free(temporary);
    return status;
}
