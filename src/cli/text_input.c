#include "cli/text_input.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/file.h"

/* Smaller files are read: nothing that happens to them afterwards can be felt. */
#define MAP_FROM_BYTES ((off_t)64 << 20)

/* What is read needs as much memory, and a device such as /dev/zero has no end. */
#define MAX_READ_BYTES ((size_t)1 << 30)

static int fail_with_errno(const struct cli *cli, const char *name, const char *what)
{
    cli_fail(cli, "%s: cannot %s: %s", name, what, strerror(errno));
    return -1;
}

/* Opens `path` or takes stdin; *name is what messages call it. -1 after having said what is wrong. */
static int open_descriptor(const struct cli *cli, const char *path, const char **name)
{
    struct stat info;
    bool standard = strcmp(path, "-") == 0;
    *name = standard ? "standard input" : path;
    int descriptor = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (descriptor < 0)
        return fail_with_errno(cli, *name, "open");
    if (fstat(descriptor, &info) != 0 || !S_ISDIR(info.st_mode))
        return descriptor;
    if (!standard)
        close(descriptor);
    errno = EISDIR;
    return fail_with_errno(cli, *name, "read");
}

static void close_descriptor(int descriptor)
{
    if (descriptor != STDIN_FILENO)
        close(descriptor);
}

/* A mapped file that becomes shorter has pages that are no longer there. */
static void on_shortened(int signal_number)
{
    static const char message[] = "fathom: the file became shorter while it was read\n";
    (void)signal_number;
    ssize_t written = write(STDERR_FILENO, message, sizeof message - 1);
    (void)written;
    _exit(CLI_FAILED);
}

static bool map(int descriptor, size_t size, struct text_input *out)
{
    void *mapped = mmap(NULL, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (mapped == MAP_FAILED)
        return false;
    signal(SIGBUS, on_shortened);
    madvise(mapped, size, MADV_SEQUENTIAL);
    out->mapped = mapped;
    out->text = str_make(mapped, size);
    return true;
}

bool text_input_open(const struct cli *cli, const char *path, size_t max_bytes, struct text_input *out)
{
    struct stat info;
    struct error error;
    *out = (struct text_input){0};
    int descriptor = open_descriptor(cli, path, &out->name);
    if (descriptor < 0)
        return false;
    bool regular = fstat(descriptor, &info) == 0 && S_ISREG(info.st_mode);
    bool opened = regular && info.st_size >= MAP_FROM_BYTES && (size_t)info.st_size <= max_bytes &&
                  lseek(descriptor, 0, SEEK_CUR) == 0 && map(descriptor, (size_t)info.st_size, out);
    if (!opened) {
        buf_init(&out->read, max_bytes < MAX_READ_BYTES ? max_bytes : MAX_READ_BYTES);
        opened = file_read_descriptor(descriptor, out->name, &out->read, &error) == STATUS_OK;
        out->text = buf_str(&out->read);
        if (!opened)
            cli_fail_error(cli, &error);
    }
    close_descriptor(descriptor);
    if (!opened)
        text_input_close(out);
    return opened;
}

void text_input_close(struct text_input *input)
{
    if (input->mapped != NULL)
        munmap(input->mapped, input->text.len);
    buf_finish(&input->read);
    *input = (struct text_input){0};
}

bool text_input_stream(const struct cli *cli, const char *path, text_input_fn take, void *user)
{
    const char *name;
    char piece[65536];
    ssize_t got;
    int descriptor = open_descriptor(cli, path, &name);
    if (descriptor < 0)
        return false;
    do {
        got = read(descriptor, piece, sizeof piece);
        if (got > 0)
            take(user, str_make(piece, (size_t)got));
    } while (got > 0 || (got < 0 && errno == EINTR));
    if (got < 0)
        fail_with_errno(cli, name, "read");
    close_descriptor(descriptor);
    return got == 0;
}
