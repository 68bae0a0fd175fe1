#include "worker/confine.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/str.h"

/* Rules that the kernel's headers may be too old to know; the numbers are its interface. */
#define ACCESS_TRUNCATE   (1ULL << 14) /* version 3 */
#define ACCESS_IOCTL_DEV  (1ULL << 15) /* version 5 */
#define ACCESS_BIND_TCP   (1ULL << 0)  /* version 4 */
#define ACCESS_CONNECT    (1ULL << 1)
#define SCOPE_ABSTRACT    (1ULL << 0) /* version 6: sockets */
#define SCOPE_SIGNAL      (1ULL << 1)
#define MAX_FILE_BYTES    ((rlim_t)2 * 1024 * 1024 * 1024)
#define MAX_DESCRIPTORS   256
#define MORE_PROCESSES    192
#define ADDRESS_PER_BYTE  4 /* of memory: libraries map more than they use */
#define MIN_ADDRESS_BYTES ((rlim_t)6 * 1024 * 1024 * 1024)

struct ruleset {
    uint64_t files, network, scoped;
};

#define READ_FILES (LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
#define WRITE_FILES                                                                                 \
    (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR | LANDLOCK_ACCESS_FS_WRITE_FILE |   \
     LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_DIR | \
     LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO |    \
     LANDLOCK_ACCESS_FS_MAKE_SYM)

/* Where programs, libraries, fonts and what they need to start lie. No home, no /var but caches of fonts, and of /etc
 * what has no secret. A document that takes a parser over finds nothing here that every installation does not have. */
static const char *const readable[] = {
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/opt",
    "/nix/store",
    "/gnu/store",
    "/etc/alternatives",
    "/etc/fonts",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/libreoffice",
    "/etc/locale.alias",
    "/etc/localtime",
    "/etc/nsswitch.conf",
    "/etc/papersize",
    "/etc/passwd",
    "/etc/poppler",
    "/etc/java",
    "/var/cache/fontconfig",
    "/var/lib/libreoffice",
    "/var/spool/libreoffice",
    "/proc/cpuinfo",
    "/proc/meminfo",
    "/proc/filesystems",
    "/proc/version",
    "/proc/stat",
    "/proc/sys/kernel/ngroups_max",
    "/proc/sys/vm/overcommit_memory",
    "/sys/devices/system/cpu",
    "/sys/kernel/mm/transparent_hugepage",
    "/dev/urandom",
    "/dev/random",
    "/dev/zero",
};

/* ---- Landlock ---- */

int worker_landlock_version(void)
{
    long version = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    return version > 0 ? (int)version : 0;
}

/* What the rules of this version can forbid. All of it is. */
static struct ruleset ruleset_of(int version)
{
    struct ruleset rules = {.files = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1};
    if (version >= 2)
        rules.files |= LANDLOCK_ACCESS_FS_REFER;
    if (version >= 3)
        rules.files |= ACCESS_TRUNCATE;
    if (version >= 4)
        rules.network = ACCESS_BIND_TCP | ACCESS_CONNECT;
    if (version >= 5)
        rules.files |= ACCESS_IOCTL_DEV;
    if (version >= 6)
        rules.scoped = SCOPE_ABSTRACT | SCOPE_SIGNAL;
    return rules;
}

/* Allows what can be allowed of `access` below `path`. A path that is not there needs no rule. */
static bool allow(int ruleset, const char *path, uint64_t access)
{
    int descriptor = open(path, O_PATH | O_CLOEXEC);
    if (descriptor < 0)
        return errno == ENOENT || errno == ENOTDIR || errno == EACCES;
    struct stat what;
    struct landlock_path_beneath_attr rule = {.allowed_access = access, .parent_fd = descriptor};
    bool known = fstat(descriptor, &what) == 0;
    if (known && !S_ISDIR(what.st_mode))
        rule.allowed_access &=
            LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE | ACCESS_TRUNCATE;
    bool done = known && syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) == 0;
    close(descriptor);
    return done;
}

static bool allow_paths(int ruleset, const struct ruleset *rules, const char *temp_dir)
{
    const uint64_t write = (WRITE_FILES | LANDLOCK_ACCESS_FS_REFER | ACCESS_TRUNCATE) & rules->files;
    for (size_t i = 0; i < sizeof readable / sizeof readable[0]; i++)
        if (!allow(ruleset, readable[i], READ_FILES & rules->files))
            return false;
    return allow(ruleset, "/dev/null", (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE) & rules->files) &&
           (!temp_dir || allow(ruleset, temp_dir, write));
}

static enum status confine_files(const struct worker_limits *limits, struct buf *held, struct error *error)
{
    int version = worker_landlock_version();
    if (version == 0)
        return STATUS_OK;
    struct ruleset rules = ruleset_of(version);
    size_t size = version >= 6 ? sizeof rules : version >= 4 ? offsetof(struct ruleset, scoped) : sizeof rules.files;
    long ruleset = syscall(SYS_landlock_create_ruleset, &rules, size, 0);
    bool done = ruleset >= 0 && allow_paths((int)ruleset, &rules, limits->temp_dir) &&
                syscall(SYS_landlock_restrict_self, (int)ruleset, 0) == 0;
    int cause = errno;
    if (ruleset >= 0)
        close((int)ruleset);
    if (!done)
        return error_set(error, STATUS_IO, "Landlock cannot be set up: %s", strerror(cause));
    buf_addf(held, ", Landlock %d", version);
    return STATUS_OK;
}

/* ---- seccomp ---- */

/* System calls that no reader of documents has a use for, each a way out, into other processes, or into the depths of
 * the kernel. They fail as if the kernel did not have them or forbade them to this user. */
static const int forbidden[] = {
    SCMP_SYS(accept),
    SCMP_SYS(accept4),
    SCMP_SYS(connect),
    SCMP_SYS(sendmmsg),
    SCMP_SYS(recvmmsg),
    SCMP_SYS(ptrace),
    SCMP_SYS(process_vm_readv),
    SCMP_SYS(process_vm_writev),
    SCMP_SYS(process_madvise),
    SCMP_SYS(process_mrelease),
    SCMP_SYS(kcmp),
    SCMP_SYS(pidfd_open),
    SCMP_SYS(pidfd_getfd),
    SCMP_SYS(pidfd_send_signal),
    SCMP_SYS(mount),
    SCMP_SYS(umount2),
    SCMP_SYS(pivot_root),
    SCMP_SYS(chroot),
    SCMP_SYS(move_mount),
    SCMP_SYS(open_tree),
    SCMP_SYS(fsopen),
    SCMP_SYS(fsconfig),
    SCMP_SYS(fsmount),
    SCMP_SYS(fspick),
    SCMP_SYS(mount_setattr),
    SCMP_SYS(unshare),
    SCMP_SYS(setns),
    SCMP_SYS(bpf),
    SCMP_SYS(perf_event_open),
    SCMP_SYS(userfaultfd),
    SCMP_SYS(add_key),
    SCMP_SYS(request_key),
    SCMP_SYS(keyctl),
    SCMP_SYS(io_uring_setup),
    SCMP_SYS(io_uring_enter),
    SCMP_SYS(io_uring_register),
    SCMP_SYS(init_module),
    SCMP_SYS(finit_module),
    SCMP_SYS(delete_module),
    SCMP_SYS(kexec_load),
    SCMP_SYS(kexec_file_load),
    SCMP_SYS(reboot),
    SCMP_SYS(swapon),
    SCMP_SYS(swapoff),
    SCMP_SYS(sethostname),
    SCMP_SYS(setdomainname),
    SCMP_SYS(settimeofday),
    SCMP_SYS(clock_settime),
    SCMP_SYS(clock_adjtime),
    SCMP_SYS(adjtimex),
    SCMP_SYS(acct),
    SCMP_SYS(quotactl),
    SCMP_SYS(quotactl_fd),
    SCMP_SYS(iopl),
    SCMP_SYS(ioperm),
    SCMP_SYS(syslog),
    SCMP_SYS(vhangup),
    SCMP_SYS(open_by_handle_at),
    SCMP_SYS(name_to_handle_at),
    SCMP_SYS(fanotify_init),
    SCMP_SYS(fanotify_mark),
    SCMP_SYS(lookup_dcookie),
    SCMP_SYS(nfsservctl),
    SCMP_SYS(vmsplice),
    SCMP_SYS(mknod),
    SCMP_SYS(mknodat),
    SCMP_SYS(shmget),
    SCMP_SYS(shmat),
    SCMP_SYS(shmctl),
    SCMP_SYS(msgget),
    SCMP_SYS(semget),
    SCMP_SYS(mq_open),
    SCMP_SYS(migrate_pages),
    SCMP_SYS(move_pages),
    SCMP_SYS(modify_ldt),
};

/* LibreOffice makes a local socket by which further ones would find it, and gives up where it cannot. It gets one that
 * leads nowhere. */
static int filter_sockets(scmp_filter_ctx filter)
{
    const struct scmp_arg_cmp not_local = SCMP_A0(SCMP_CMP_NE, (scmp_datum_t)AF_UNIX);
    return seccomp_rule_add(filter, SCMP_ACT_ERRNO(EACCES), SCMP_SYS(socket), 1, not_local) ||
           seccomp_rule_add(filter, SCMP_ACT_ERRNO(EACCES), SCMP_SYS(socketpair), 1, not_local) ||
           seccomp_rule_add(filter, SCMP_ACT_ERRNO(0), SCMP_SYS(bind), 0) ||
           seccomp_rule_add(filter, SCMP_ACT_ERRNO(0), SCMP_SYS(listen), 0);
}

static int filter_namespaces(scmp_filter_ctx filter)
{
    static const unsigned flags[] = {CLONE_NEWNS,  CLONE_NEWUSER, CLONE_NEWPID,   CLONE_NEWNET,
                                     CLONE_NEWIPC, CLONE_NEWUTS,  CLONE_NEWCGROUP};
    int failed = 0;
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++)
        failed |= seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone), 1,
                                   SCMP_A0(SCMP_CMP_MASKED_EQ, flags[i], flags[i]));
    /* Its flags are in memory, where a filter cannot look; the C library falls back to clone. */
    return failed | seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
}

static int filter_terminal(scmp_filter_ctx filter)
{
    const scmp_datum_t low = 0xffffffff; /* the kernel looks at these bits alone */
    return seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(ioctl), 1,
                            SCMP_A1(SCMP_CMP_MASKED_EQ, low, TIOCSTI)) ||
           seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(ioctl), 1,
                            SCMP_A1(SCMP_CMP_MASKED_EQ, low, TIOCLINUX));
}

/* Children believe that they lead a session, and stay in our group, which ends with us. */
static int filter_sessions(scmp_filter_ctx filter)
{
    return seccomp_rule_add(filter, SCMP_ACT_ERRNO(0), SCMP_SYS(setsid), 0) ||
           seccomp_rule_add(filter, SCMP_ACT_ERRNO(0), SCMP_SYS(setpgid), 0);
}

static enum status confine_calls(const struct worker_limits *limits, struct buf *held, struct error *error)
{
    if (prctl(PR_GET_SECCOMP, 0, 0, 0, 0) < 0)
        return STATUS_OK; /* the kernel has none */
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    int failed = filter == NULL;
    for (size_t i = 0; !failed && i < sizeof forbidden / sizeof forbidden[0]; i++)
        failed = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), forbidden[i], 0);
    failed = failed || filter_sockets(filter) || filter_namespaces(filter) || filter_terminal(filter) ||
             (!limits->namespaced && filter_sessions(filter));
    int result = failed ? -EINVAL : seccomp_load(filter);
    if (filter)
        seccomp_release(filter);
    if (failed || result < 0)
        return error_set(error, STATUS_IO, "the system call filter cannot be set up: %s", strerror(-result));
    buf_add_text(held, ", seccomp");
    return STATUS_OK;
}

/* ---- limits ---- */

/* Lowers a limit for good; `more` is what lies between being told and being stopped. */
static bool limit_softly(unsigned resource, rlim_t value, rlim_t more)
{
    struct rlimit now, wanted = {value, value + more};
    if (getrlimit(resource, &now) != 0)
        return false;
    if (wanted.rlim_max > now.rlim_max)
        wanted.rlim_max = now.rlim_max;
    if (wanted.rlim_cur > wanted.rlim_max)
        wanted.rlim_cur = wanted.rlim_max;
    return setrlimit(resource, &wanted) == 0;
}

static bool limit(unsigned resource, rlim_t value)
{
    return limit_softly(resource, value, 0);
}

/* Threads that run as this user: what RLIMIT_NPROC is compared with. */
static rlim_t count_threads(void)
{
    rlim_t count = 0;
    DIR *folder = opendir("/proc");
    for (struct dirent *entry; folder && (entry = readdir(folder)) != NULL;) {
        char path[64];
        struct stat what;
        if (!ascii_is_digit(entry->d_name[0]))
            continue;
        snprintf(path, sizeof path, "/proc/%.20s/task", entry->d_name);
        if (stat(path, &what) == 0 && what.st_uid == getuid())
            count += what.st_nlink > 2 ? what.st_nlink - 2 : 1; /* one link for each thread */
    }
    if (folder)
        closedir(folder);
    return count;
}

static bool limit_memory(const struct worker_limits *limits)
{
#if defined(__SANITIZE_ADDRESS__)
    (void)limits; /* it maps terabytes, of which it uses little */
    return true;
#else
    rlim_t memory = (rlim_t)limits->memory_bytes, address = memory * ADDRESS_PER_BYTE;
    return memory == 0 ||
           (limit(RLIMIT_DATA, memory) && limit(RLIMIT_AS, address > MIN_ADDRESS_BYTES ? address : MIN_ADDRESS_BYTES));
#endif
}

static enum status confine_resources(const struct worker_limits *limits, struct buf *held, struct error *error)
{
    bool done = limit(RLIMIT_CORE, 0) && limit(RLIMIT_FSIZE, MAX_FILE_BYTES) && limit(RLIMIT_MEMLOCK, 0) &&
                limit(RLIMIT_NOFILE, MAX_DESCRIPTORS) && limit(RLIMIT_NPROC, count_threads() + MORE_PROCESSES) &&
                limit_memory(limits) &&
                (limits->cpu_seconds == 0 || limit_softly(RLIMIT_CPU, (rlim_t)limits->cpu_seconds, 5));
    signal(SIGXFSZ, SIG_IGN); /* a write past the limit fails with an error */
    if (!done)
        return error_set(error, STATUS_IO, "limits cannot be set: %s", strerror(errno));
    buf_add_text(held, "limits");
    return STATUS_OK;
}

enum status worker_confine(const struct worker_limits *limits, struct buf *held, struct error *error)
{
    /* Whoever started it may be killed in a way that leaves it no time to say goodbye. */
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return error_set(error, STATUS_IO, "privileges cannot be given up: %s", strerror(errno));
    enum status status = confine_resources(limits, held, error);
    if (status == STATUS_OK)
        status = confine_files(limits, held, error);
    if (status == STATUS_OK)
        status = confine_calls(limits, held, error);
    return status;
}
