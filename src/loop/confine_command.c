/* A confinement as bubblewrap's command. Options go through a file in memory and not onto the command line: the first
 * process inside is bubblewrap's own, and its command line would tell the program where on the host its binds lie. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/mem.h"
#include "loop/confine_internal.h"

#define MEGABYTE            (INT64_C(1024) * 1024)
#define DEFAULT_CPU_SECONDS 60
#define DEFAULT_MEMORY      (1024 * MEGABYTE)
#define DEFAULT_PROCESSES   64
#define DEFAULT_TMP_SIZE    (64 * MEGABYTE)
#define DEFAULT_OPEN_FILES  256

/* Bubblewrap's first process and prlimit, until it is the program. */
#define OWN_PROCESSES 2

/* The kernel's limit on CPU time ends a program a little after the watch would, should the watch be late. */
#define CPU_GRACE_SECONDS 2

static const char inner_user[] = "1000";

/* Folders of the root that are links into /usr, or, on older systems, folders of their own. */
static const char *const usr_links[] = {"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"};

/* What programs need of /etc: where libraries are, which alternative is meant, fonts, types of files. */
static const char *const etc_files[] = {
    "/etc/ld.so.cache", "/etc/ld.so.conf",    "/etc/ld.so.conf.d",  "/etc/alternatives",
    "/etc/fonts",       "/etc/papersize",     "/etc/mime.types",    "/etc/python3",
    "/etc/libreoffice", "/etc/ImageMagick-6", "/etc/ImageMagick-7", "/etc/matplotlibrc",
};

/* What it takes to find a host and trust it. */
static const char *const network_files[] = {
    "/etc/resolv.conf", "/etc/hosts",     "/etc/host.conf", "/etc/nsswitch.conf",   "/etc/gai.conf",
    "/etc/services",    "/etc/protocols", "/etc/ssl",       "/etc/ca-certificates", "/etc/pki",
};

static int64_t filled(int64_t value, int64_t fallback)
{
    return value == 0 ? fallback : value;
}

struct confine_limits confine_limits_filled(const struct confine_limits *limits)
{
    int64_t memory = filled(limits->memory, DEFAULT_MEMORY);
    int64_t tmp_size = filled(limits->tmp_size, DEFAULT_TMP_SIZE);
    return (struct confine_limits){
        .cpu_seconds = filled(limits->cpu_seconds, DEFAULT_CPU_SECONDS),
        .memory = memory,
        .tree_memory =
            filled(limits->tree_memory, memory == CONFINE_UNLIMITED ? CONFINE_UNLIMITED : memory + memory / 4),
        .processes = filled(limits->processes, DEFAULT_PROCESSES),
        .file_size = filled(limits->file_size, tmp_size),
        .tmp_size = tmp_size,
        .open_files = filled(limits->open_files, DEFAULT_OPEN_FILES),
    };
}

static void add_argument(struct buf *out, const char *argument)
{
    buf_add(out, str_make(argument, strlen(argument) + 1));
}

static void add_arguments(struct buf *out, const char *first, const char *second, const char *third)
{
    add_argument(out, first);
    add_argument(out, second);
    if (third)
        add_argument(out, third);
}

static void add_number(struct buf *out, const char *option, int64_t number)
{
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)number);
    add_arguments(out, option, text, NULL);
}

static void add_data(struct buf *out, int descriptor, const char *target)
{
    char number[16];
    snprintf(number, sizeof number, "%d", descriptor);
    add_arguments(out, "--ro-bind-data", number, target);
}

static void add_tmpfs(struct buf *out, const char *target, const char *mode, int64_t size)
{
    add_arguments(out, "--perms", mode, NULL);
    if (size != CONFINE_UNLIMITED)
        add_number(out, "--size", size);
    add_arguments(out, "--tmpfs", target, NULL);
}

static void add_usr_link(struct buf *out, const char *path)
{
    char target[256];
    struct stat info;
    if (lstat(path, &info) < 0)
        return;
    if (S_ISDIR(info.st_mode)) {
        add_arguments(out, "--ro-bind", path, path);
        return;
    }
    ssize_t len = readlink(path, target, sizeof target - 1);
    if (len <= 0)
        return;
    target[len] = '\0';
    add_arguments(out, "--symlink", target, path);
}

static void add_system(struct buf *out, bool network)
{
    add_arguments(out, "--ro-bind", "/usr", "/usr");
    for (size_t i = 0; i < sizeof usr_links / sizeof usr_links[0]; i++)
        add_usr_link(out, usr_links[i]);
    for (size_t i = 0; i < sizeof etc_files / sizeof etc_files[0]; i++)
        add_arguments(out, "--ro-bind-try", etc_files[i], etc_files[i]);
    for (size_t i = 0; network && i < sizeof network_files / sizeof network_files[0]; i++)
        add_arguments(out, "--ro-bind-try", network_files[i], network_files[i]);
    add_data(out, CONFINE_FD_PASSWD, "/etc/passwd");
    add_data(out, CONFINE_FD_GROUP, "/etc/group");
}

static void add_bind(struct buf *out, const struct confine_bind *bind)
{
    const char *option =
        bind->writable ? (bind->optional ? "--bind-try" : "--bind") : (bind->optional ? "--ro-bind-try" : "--ro-bind");
    add_arguments(out, option, bind->source, bind->target ? bind->target : bind->source);
}

void confine_write_arguments(const struct confinement *confinement, const struct confine_limits *limits,
                             const char *directory, struct buf *out)
{
    static const char *const isolation[] = {
        "--unshare-user",       "--unshare-ipc",     "--unshare-pid", "--unshare-uts",
        "--unshare-cgroup-try", "--die-with-parent", "--new-session",
    };
    for (size_t i = 0; i < sizeof isolation / sizeof isolation[0]; i++)
        add_argument(out, isolation[i]);
    if (!confinement->network)
        add_argument(out, "--unshare-net");
    add_arguments(out, "--cap-drop", "ALL", NULL);
    add_arguments(out, "--hostname", "sandbox", NULL);
    add_arguments(out, "--uid", inner_user, NULL);
    add_arguments(out, "--gid", inner_user, NULL);

    add_system(out, confinement->network);
    add_arguments(out, "--proc", "/proc", NULL);
    add_arguments(out, "--dev", "/dev", NULL);
    add_tmpfs(out, "/dev/shm", "1777", limits->tmp_size);
    add_tmpfs(out, "/tmp", "1777", limits->tmp_size);
    add_arguments(out, "--symlink", "../tmp", "/var/tmp");
    for (size_t i = 0; i < confinement->n_binds; i++)
        add_bind(out, &confinement->binds[i]);
    /* The root and /dev are file systems in memory too, without a limit of their own; and through /proc/sys root, even
     * without its rights, changes settings of the host. */
    add_arguments(out, "--remount-ro", "/proc", NULL);
    add_arguments(out, "--remount-ro", "/dev", NULL);
    add_arguments(out, "--remount-ro", "/", NULL);
    add_arguments(out, "--chdir", directory, NULL);

    if (!confinement->no_seccomp)
        add_number(out, "--seccomp", CONFINE_FD_FILTER);
    add_number(out, "--json-status-fd", CONFINE_FD_STATUS);
}

static char *limit_option(const char *name, int64_t limit)
{
    return mem_printf("--%s=%lld:%lld", name, (long long)limit, (long long)limit);
}

char **confine_make_command(const char *bubblewrap, const struct confine_limits *limits, const char *const *argv)
{
    const struct {
        const char *name;
        int64_t value, added;
    } resources[] = {
        {"cpu", limits->cpu_seconds, CPU_GRACE_SECONDS},
        {"data", limits->memory, 0},
        {"nproc", limits->processes, OWN_PROCESSES},
        {"fsize", limits->file_size, 0},
        {"nofile", limits->open_files, 0},
        {"core", 0, 0},
        {"msgqueue", 0, 0},
    };
    const size_t n_resources = sizeof resources / sizeof resources[0];
    size_t count = 0, n_argv = 0;
    while (argv[n_argv])
        n_argv++;
    char **command = mem_calloc(6 + n_resources + n_argv + 1, sizeof *command);
    command[count++] = mem_strdup(bubblewrap);
    command[count++] = mem_strdup("--args");
    command[count++] = mem_printf("%d", CONFINE_FD_ARGUMENTS);
    command[count++] = mem_strdup("--");
    command[count++] = mem_strdup("/usr/bin/prlimit");
    for (size_t i = 0; i < n_resources; i++) {
        if (resources[i].value != CONFINE_UNLIMITED)
            command[count++] = limit_option(resources[i].name, resources[i].value + resources[i].added);
    }
    command[count++] = mem_strdup("--");
    for (size_t i = 0; i < n_argv; i++)
        command[count++] = mem_strdup(argv[i]);
    return command;
}

void confine_free_command(char **command)
{
    for (size_t i = 0; command && command[i]; i++)
        free(command[i]);
    free(command);
}

int confine_memory_file(const char *name, struct str contents)
{
    int file = memfd_create(name, MFD_CLOEXEC);
    if (file < 0)
        return -1;
    while (contents.len > 0) {
        ssize_t written = write(file, contents.data, contents.len);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0) {
            close(file);
            return -1;
        }
        contents = str_slice(contents, (size_t)written, contents.len);
    }
    if (lseek(file, 0, SEEK_SET) < 0) {
        close(file);
        return -1;
    }
    return file;
}
