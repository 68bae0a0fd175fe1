/* What a tree of processes uses up, as /proc tells it. Read from outside: what runs inside cannot lie about it. */
#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "loop/confine_internal.h"

/* More processes than this are a flood, whatever the limit is. */
#define MAX_PROCESSES 1024

/* Memory that the kernel holds for a program and that no process maps: a file in memory has an inode and an entry in a
 * folder, whatever its size; what waits in a socket may be as much as net.core.wmem_max of most systems. */
#define FILE_BYTES   INT64_C(1280)
#define SOCKET_BYTES (INT64_C(208) * 1024)

/* Room for /proc/PID/status, also of a user with a thousand groups, which stand before what is looked for. */
#define MAX_STATUS 16384

struct tree {
    int processes[MAX_PROCESSES];
    size_t count;
    size_t threads;
    bool more;
};

/* Reads a small file of /proc, NUL-terminated; false when the process is gone, or hides it. */
static bool read_small(const char *path, char *out, size_t size)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return false;
    size_t len = 0;
    ssize_t got;
    while (len < size - 1 && (got = read(file, out + len, size - 1 - len)) > 0)
        len += (size_t)got;
    close(file);
    out[len] = '\0';
    return len > 0;
}

static void add_numbers(struct tree *tree, const char *text)
{
    char *end;
    for (long number = strtol(text, &end, 10); end != text; text = end, number = strtol(text, &end, 10)) {
        if (tree->count == MAX_PROCESSES) {
            tree->more = true;
            return;
        }
        tree->processes[tree->count++] = (int)number;
    }
}

/* Each thread has children of its own. */
static void add_children(struct tree *tree, int process_id)
{
    char path[64 + NAME_MAX], children[MAX_PROCESSES * 8];
    snprintf(path, sizeof path, "/proc/%d/task", process_id);
    DIR *threads = opendir(path);
    if (!threads)
        return;
    const struct dirent *entry;
    while ((entry = readdir(threads))) {
        if (entry->d_name[0] == '.')
            continue;
        tree->threads++;
        snprintf(path, sizeof path, "/proc/%d/task/%s/children", process_id, entry->d_name);
        if (read_small(path, children, sizeof children))
            add_numbers(tree, children);
    }
    closedir(threads);
}

/* All descendants, each behind its parent. A process whose parent ends meanwhile moves to the first of its namespace,
 * which ends last: the next look finds it there. */
static void list_tree(struct tree *tree, int process_id)
{
    *tree = (struct tree){0};
    add_children(tree, process_id);
    tree->threads = 0;
    for (size_t i = 0; i < tree->count; i++)
        add_children(tree, tree->processes[i]);
}

/* A line "Name:  123 kB" of a text, in bytes; 0 where there is none. */
static int64_t line_bytes(const char *text, const char *name)
{
    const char *line = strstr(text, name);
    return line ? strtoll(line + strlen(name), NULL, 10) * 1024 : 0;
}

/* What cannot be shared: what was swapped out, and page tables, which alone can fill a machine. */
static int64_t own_bytes(const char *status)
{
    return line_bytes(status, "\nVmSwap:") + line_bytes(status, "\nVmPTE:");
}

static int64_t resident_bytes(int process_id)
{
    char path[64], status[MAX_STATUS];
    snprintf(path, sizeof path, "/proc/%d/status", process_id);
    if (!read_small(path, status, sizeof status))
        return 0;
    return line_bytes(status, "\nVmRSS:") + own_bytes(status);
}

/* The files that are in a folder's file system in memory; 0 when that is not one of the confinement's own, which the
 * first process has only once it has settled. */
static int64_t count_files(int process_id, const char *folder)
{
    char path[64];
    struct stat inner, outer;
    struct statfs system;
    snprintf(path, sizeof path, "/proc/%d/root%s", process_id, folder);
    if (stat(path, &inner) < 0 || (stat(folder, &outer) == 0 && inner.st_dev == outer.st_dev) ||
        statfs(path, &system) < 0 || system.f_type != TMPFS_MAGIC || system.f_files < system.f_ffree)
        return 0;
    return (int64_t)(system.f_files - system.f_ffree);
}

/* The sockets of the confinement; 0 when it has the host's network and they cannot be told apart. */
static int64_t count_sockets(int process_id)
{
    char path[64], text[1024];
    struct stat inner, outer;
    long long count;
    snprintf(path, sizeof path, "/proc/%d/ns/net", process_id);
    if (stat(path, &inner) < 0 || stat("/proc/self/ns/net", &outer) < 0 || inner.st_ino == outer.st_ino)
        return 0;
    snprintf(path, sizeof path, "/proc/%d/net/sockstat", process_id);
    if (!read_small(path, text, sizeof text) || sscanf(text, "sockets: used %lld", &count) != 1)
        return 0;
    return (int64_t)count;
}

static int64_t kernel_bytes(const struct tree *tree)
{
    if (tree->count == 0)
        return 0;
    int first = tree->processes[0];
    return (count_files(first, "/tmp") + count_files(first, "/dev/shm")) * FILE_BYTES +
           count_sockets(first) * SOCKET_BYTES;
}

/* proc(5): fields 14 to 17 are the time of the process and of the children it waited for, in ticks. */
static int64_t cpu_ms(int process_id)
{
    char path[64], text[1024];
    long long user, system, children_user, children_system;
    snprintf(path, sizeof path, "/proc/%d/stat", process_id);
    if (!read_small(path, text, sizeof text))
        return 0;
    const char *name_end = strrchr(text, ')');
    if (!name_end || sscanf(name_end + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lld %lld %lld %lld", &user,
                            &system, &children_user, &children_system) != 4)
        return 0;
    return (int64_t)(user + system + children_user + children_system) * 1000 / sysconf(_SC_CLK_TCK);
}

void confine_measure(int process_id, struct confine_use *use)
{
    struct tree tree;
    list_tree(&tree, process_id);
    *use = (struct confine_use){.processes = tree.count, .threads = tree.threads, .more = tree.more};
    use->resident = kernel_bytes(&tree);
    for (size_t i = 0; i < tree.count; i++) {
        use->resident += resident_bytes(tree.processes[i]);
        use->cpu_ms += cpu_ms(tree.processes[i]);
    }
}

/* Its share of the memory in use; what a process hides counts in full. */
static int64_t proportional_bytes(int process_id)
{
    char path[64], status[MAX_STATUS], text[2048];
    snprintf(path, sizeof path, "/proc/%d/smaps_rollup", process_id);
    if (!read_small(path, text, sizeof text) || !strstr(text, "\nPss:"))
        return resident_bytes(process_id);
    snprintf(path, sizeof path, "/proc/%d/status", process_id);
    if (!read_small(path, status, sizeof status))
        status[0] = '\0';
    return line_bytes(text, "\nPss:") + own_bytes(status);
}

int64_t confine_measure_memory(int process_id)
{
    struct tree tree;
    list_tree(&tree, process_id);
    int64_t sum = kernel_bytes(&tree);
    for (size_t i = 0; i < tree.count; i++)
        sum += proportional_bytes(tree.processes[i]);
    return sum;
}

int confine_open_process(int process_id)
{
    return (int)syscall(SYS_pidfd_open, process_id, 0);
}

int confine_kill_children(int process_id)
{
    struct tree tree = {0};
    add_children(&tree, process_id);
    int first = tree.count > 0 ? confine_open_process(tree.processes[0]) : -1;
    for (size_t i = 0; i < tree.count; i++)
        kill(tree.processes[i], SIGKILL);
    return first;
}

bool confine_can_watch(void)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)gettid());
    return access(path, R_OK) == 0;
}
