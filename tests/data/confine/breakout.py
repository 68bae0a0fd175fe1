"""Tries to get out, or to see out. Each attempt prints "held NAME" or "BROKEN NAME: what it got".

Arguments: PORT (something listens there on the host's loopback), NAME (of an abstract socket of the host), PID (of a
process of the host), FILE (one that only the host may read), MARKER (the value of an environment variable there).
"""
import ctypes
import errno
import fcntl
import os
import pty
import signal
import socket
import sys
import termios

PORT, NAME, PID, FILE, MARKER = int(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4], sys.argv[5]
if os.uname().machine != "x86_64":
    sys.exit("the numbers of system calls below are those of x86-64")
libc = ctypes.CDLL(None, use_errno=True)


def attempt(name):
    """Runs the function; an OSError is a wall, None is nothing found, anything else is a hole."""

    def run(function):
        try:
            found = function()
        except OSError as error:
            print("held", name, "-", error.strerror)
            return
        print("held %s" % name if found is None else "BROKEN %s: %r" % (name, found))

    return run


def call(number, *arguments):
    """A system call by its number on x86-64."""
    result = libc.syscall(number, *[ctypes.c_long(a) if isinstance(a, int) else a for a in arguments])
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


@attempt("network by loopback")
def _():
    return socket.create_connection(("127.0.0.1", PORT), 2)


@attempt("network by its interfaces")
def _():
    others = [name for _, name in socket.if_nameindex() if name != "lo"]
    return others or None


@attempt("network by a datagram")
def _():
    return socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", PORT))


@attempt("abstract socket of the host")
def _():
    connection = socket.socket(socket.AF_UNIX)
    connection.connect("\0" + NAME)
    return connection


@attempt("process of the host in /proc")
def _():
    with open("/proc/%d/cmdline" % PID, "rb") as file:
        text = file.read()
    return text if b"test_confine" in text else None


@attempt("signal to a process of the host")
def _():
    os.kill(PID, 0)
    with open("/proc/%d/comm" % PID) as file:  # the number may be one of ours
        return "sent" if "test_confine" in file.read() else None


@attempt("other processes")
def _():
    seen = [n for n in os.listdir("/proc") if n.isdigit()]
    return seen if len(seen) > 6 else None


@attempt("file of the host")
def _():
    with open(FILE) as file:
        return file.read()


@attempt("file of the host through the first process")
def _():
    with open("/proc/1/root" + FILE) as file:
        return file.read()


@attempt("passwords and users")
def _():
    with open("/etc/passwd") as file:
        names = [line.split(":")[0] for line in file]
    return None if sorted(names) == ["nobody", "user"] else names


for path in ("/etc/shadow", "/root", "/home", "/work", "/var/log", "/run", "/sys", "/boot", "/mnt", "/srv"):

    @attempt("reading " + path)
    def _():
        return os.listdir(path) if os.path.isdir(path) else open(path).read()


@attempt("environment of the parent")
def _():
    found = [name for name, value in os.environ.items() if MARKER in value]
    for process in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/environ" % process, "rb") as file:
                if MARKER.encode() in file.read():
                    found.append(process)
        except OSError:
            pass
    return found or None


@attempt("paths of the host on a command line")
def _():
    with open("/proc/1/cmdline", "rb") as file:
        text = file.read().split(b"--\0")[0]
    return text if b"bind" in text else None


for path in ("/x", "/usr/x", "/usr/bin/x", "/etc/x", "/dev/x", "/proc/sys/kernel/core_pattern", "/proc/sys/vm/drop_caches",
             "/proc/sysrq-trigger", "/proc/1/oom_score_adj", "/proc/self/oom_score_adj",
             "/var/x", os.path.dirname(FILE) + "/x"):

    @attempt("writing " + path)
    def _():
        with open(path, "w" if path.endswith("/x") else "a"):  # what is opened in this way stays as it is
            return "opened"


@attempt("inherited descriptors")
def _():
    extra = []
    for number in range(3, 64):
        try:
            extra.append(os.readlink("/proc/self/fd/%d" % number))
        except OSError:
            pass
    return extra or None


@attempt("descriptors of the first process")
def _():
    found = []
    for number in os.listdir("/proc/1/fd"):
        target = os.readlink("/proc/1/fd/" + number)
        if not target.startswith(("pipe:", "/dev/null", "anon_inode:")):
            found.append(target)
    return found or None


@attempt("tracing the first process")
def _():
    return "attached" if libc.ptrace(16, 1, 0, 0) == 0 else None


@attempt("tracing a child")
def _():
    child = os.fork()
    if child == 0:
        signal.pause()
    try:
        return call(101, 16, child, 0, 0)
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


@attempt("mount")
def _():
    return call(165, b"none", b"/tmp", b"tmpfs", 0, None)


@attempt("unmounting /usr")
def _():
    return call(166, b"/usr", 2)


@attempt("making the root writable")
def _():
    return call(165, None, b"/", None, 32 | 4096, None)  # MS_REMOUNT | MS_BIND


for name, flag in (("user", 0x10000000), ("mount", 0x00020000), ("network", 0x40000000), ("process", 0x20000000)):

    @attempt("new %s namespace by unshare" % name)
    def _():
        return call(272, flag)

    @attempt("new %s namespace by clone" % name)
    def _():
        child = call(56, flag | signal.SIGCHLD, 0, 0, 0, 0)
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)
        return child

    @attempt("new %s namespace by clone3" % name)
    def _():
        arguments = (ctypes.c_uint64 * 11)(flag, 0, 0, 0, signal.SIGCHLD)
        child = call(435, arguments, ctypes.sizeof(arguments))
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)
        return child


@attempt("another process's namespaces")
def _():
    return call(308, os.open("/proc/1/ns/mnt", os.O_RDONLY), 0)


@attempt("keys, bpf, perf, io_uring, userfaultfd, kernel modules, memory without a file")
def _():
    got = []
    for number, arguments in ((250, (0, -3, 0)), (248, (b"user", b"k", b"v", 1, -3)), (321, (0, None, 0)),
                              (298, (None, 0, -1, -1, 0)), (425, (1, None)), (323, (0,)), (175, (None, 0, b"")),
                              (319, (b"x", 0)), (29, (0, 4096, 0o1666)), (447, (0,)), (246, (0, 0, None, 0)),
                              (310, (1, None, 0, None, 0, 0)), (169, (0, 0, 0, None)), (135, (0x0040000,))):
        try:
            got.append((number, call(number, *arguments)))
        except OSError as error:
            if error.errno not in (errno.EPERM, errno.ENOSYS):
                got.append((number, error.errno))
    return got or None


@attempt("sockets of other families")
def _():
    got = []
    for family in (socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK, socket.AF_PACKET, socket.AF_VSOCK, 38, 44, 60):
        try:
            got.append(socket.socket(family, socket.SOCK_DGRAM))
        except OSError as error:
            if error.errno != errno.ENETUNREACH:
                got.append((family, error.errno))
    return got or None


@attempt("typing into a terminal")
def _():
    _, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSTI, b"x")
    return "typed"


@attempt("typing into a terminal with upper bits in the request")
def _():
    _, terminal = pty.openpty()
    return call(16, terminal, 0x100000000 | termios.TIOCSTI, b"x")


@attempt("the terminal of whoever started us")
def _():
    return os.open("/dev/tty", os.O_RDWR)


@attempt("becoming root")
def _():
    for change in (lambda: os.setuid(0), lambda: os.setgid(0), lambda: os.setgroups([0])):
        try:
            change()
            return "changed"
        except OSError:
            pass


@attempt("rights")
def _():
    with open("/proc/self/status") as file:
        status = dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)
    rights = {name: status[name] for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")}
    if any(int(value, 16) for value in rights.values()) or status["NoNewPrivs"] != "1" or status["Seccomp"] != "2":
        return rights, status["NoNewPrivs"], status["Seccomp"]


@attempt("raising a limit")
def _():
    import resource
    for limit in (resource.RLIMIT_NPROC, resource.RLIMIT_DATA, resource.RLIMIT_FSIZE, resource.RLIMIT_CPU):
        hard = resource.getrlimit(limit)[1]
        try:
            resource.setrlimit(limit, (hard + 1, hard + 1))
            return limit
        except (OSError, ValueError):
            pass


@attempt("devices")
def _():
    os.mknod("/tmp/disk", 0o660 | 0o060000, os.makedev(8, 0))
    return "made"


@attempt("killing everything there is")
def _():
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    os.kill(-1, signal.SIGKILL)


print("all tried")
