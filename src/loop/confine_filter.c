/* The filter of system calls: what a program that computes never needs, and what widens its rights, is refused. The
 * namespaces are the wall; this keeps the program away from those parts of the kernel where walls have had holes. */
#include <errno.h>
#include <linux/sched.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "loop/confine_internal.h"

struct refused {
    const char *name;
    int error; /* what the program is told */
};

static const struct refused refused_calls[] = {
    /* Other processes. */
    {"ptrace", EPERM},
    {"process_vm_readv", EPERM},
    {"process_vm_writev", EPERM},
    {"process_madvise", EPERM},
    {"pidfd_getfd", EPERM},
    {"kcmp", EPERM},
    {"perf_event_open", EPERM},
    /* Namespaces and mounts. clone3 hides its flags from a filter; "unknown" makes the C library use clone. */
    {"unshare", EPERM},
    {"setns", EPERM},
    {"clone3", ENOSYS},
    {"mount", EPERM},
    {"umount", EPERM},
    {"umount2", EPERM},
    {"pivot_root", EPERM},
    {"chroot", EPERM},
    {"open_tree", EPERM},
    {"move_mount", EPERM},
    {"fsopen", EPERM},
    {"fsconfig", EPERM},
    {"fsmount", EPERM},
    {"fspick", EPERM},
    {"mount_setattr", EPERM},
    {"open_by_handle_at", EPERM},
    {"name_to_handle_at", EPERM},
    {"fanotify_init", EPERM},
    {"quotactl", EPERM},
    {"quotactl_fd", EPERM},
    /* Wide doors into the kernel. */
    {"bpf", EPERM},
    {"userfaultfd", EPERM},
    {"io_uring_setup", ENOSYS},
    {"io_uring_enter", ENOSYS},
    {"io_uring_register", ENOSYS},
    {"add_key", EPERM},
    {"request_key", EPERM},
    {"keyctl", EPERM},
    {"modify_ldt", EPERM},
    {"vm86", EPERM},
    {"vm86old", EPERM},
    {"personality", EPERM},
    {"lookup_dcookie", EPERM},
    {"uselib", EPERM},
    {"ustat", EPERM},
    {"sysfs", EPERM},
    {"_sysctl", EPERM},
    {"vmsplice", EPERM},
    {"move_pages", EPERM},
    {"migrate_pages", EPERM},
    {"mbind", EPERM},
    {"set_mempolicy", EPERM},
    /* The machine. */
    {"kexec_load", EPERM},
    {"kexec_file_load", EPERM},
    {"init_module", EPERM},
    {"finit_module", EPERM},
    {"delete_module", EPERM},
    {"create_module", EPERM},
    {"reboot", EPERM},
    {"swapon", EPERM},
    {"swapoff", EPERM},
    {"acct", EPERM},
    {"syslog", EPERM},
    {"iopl", EPERM},
    {"ioperm", EPERM},
    {"settimeofday", EPERM},
    {"clock_settime", EPERM},
    {"clock_adjtime", EPERM},
    {"adjtimex", EPERM},
    {"stime", EPERM},
    {"sethostname", EPERM},
    {"setdomainname", EPERM},
    {"vhangup", EPERM},
    {"nfsservctl", EPERM},
    /* Memory that no process maps is memory that no limit counts. */
    {"memfd_create", ENOSYS},
    {"memfd_secret", ENOSYS},
    {"shmget", ENOSYS},
    {"msgget", ENOSYS},
    {"semget", ENOSYS},
    {"mq_open", ENOSYS},
};

/* ioctl requests that write into a terminal's input or belong to its console. */
static const unsigned terminal_requests[] = {TIOCSTI, TIOCLINUX, TIOCSETD};

#define NEW_NAMESPACES \
    (CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET)

/* The kernel looks at the lower half of these arguments only, so the filter does too. */
#define LOWER_HALF 0xffffffffu

static bool refuse_calls(scmp_filter_ctx filter)
{
    for (size_t i = 0; i < sizeof refused_calls / sizeof refused_calls[0]; i++) {
        int number = seccomp_syscall_resolve_name(refused_calls[i].name);
        if (number == __NR_SCMP_ERROR) /* newer than the library: nobody here knows its number */
            continue;
        int result = seccomp_rule_add(filter, SCMP_ACT_ERRNO((uint16_t)refused_calls[i].error), number, 0);
        if (result < 0 && result != -EDOM) /* a call that this processor does not have */
            return false;
    }
    return true;
}

static bool refuse_namespaces(scmp_filter_ctx filter)
{
    for (unsigned bit = 0; bit < 32; bit++) {
        unsigned flag = 1u << bit;
        if (!(NEW_NAMESPACES & flag))
            continue;
        if (seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone), 1,
                             SCMP_A0(SCMP_CMP_MASKED_EQ, flag, flag)) < 0)
            return false;
    }
    return true;
}

static bool refuse_terminal(scmp_filter_ctx filter)
{
    for (size_t i = 0; i < sizeof terminal_requests / sizeof terminal_requests[0]; i++) {
        if (seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(ioctl), 1,
                             SCMP_A1(SCMP_CMP_MASKED_EQ, LOWER_HALF, terminal_requests[i])) < 0)
            return false;
    }
    return true;
}

/* Sockets between processes, and those of the network where there is one: every other family is a driver. */
static bool is_family_allowed(unsigned family, bool network)
{
    if (family == AF_UNIX)
        return true;
    return network && (family == AF_INET || family == AF_INET6 || family == AF_NETLINK);
}

static bool refuse_sockets(scmp_filter_ctx filter, bool network)
{
    /* "Network is unreachable" is true, and says it in words that every program and every model knows. */
    const uint32_t action = SCMP_ACT_ERRNO(ENETUNREACH);
    for (unsigned family = 0; family < AF_MAX; family++) {
        if (is_family_allowed(family, network))
            continue;
        if (seccomp_rule_add(filter, action, SCMP_SYS(socket), 1, SCMP_A0(SCMP_CMP_MASKED_EQ, LOWER_HALF, family)) < 0)
            return false;
    }
    return seccomp_rule_add(filter, action, SCMP_SYS(socket), 1, SCMP_A0(SCMP_CMP_GE, AF_MAX)) == 0;
}

int confine_filter_open(bool network)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    if (!filter)
        return -1;
    int file = confine_memory_file("filter", (struct str){0});
    bool good = file >= 0 && refuse_calls(filter) && refuse_namespaces(filter) && refuse_terminal(filter) &&
                refuse_sockets(filter, network) && seccomp_export_bpf(filter, file) == 0 &&
                lseek(file, 0, SEEK_SET) == 0;
    seccomp_release(filter);
    if (good)
        return file;
    if (file >= 0)
        close(file);
    return -1;
}
