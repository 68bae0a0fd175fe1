"""Takes as much as it gets of one thing, named by the first argument, and says how much that was."""
import mmap
import os
import socket
import subprocess
import sys
import time


def flood():
    count = 0
    try:
        while True:
            if os.fork() == 0:
                time.sleep(1000)
            count += 1
    except OSError as error:
        print(count, "processes:", error.strerror)


def bomb():
    """Every process makes two."""
    while True:
        try:
            os.fork()
        except OSError:
            pass


def memory():
    try:
        print(len(bytearray(400_000_000)))
    except MemoryError:
        print("MemoryError")


def memories(shared):
    """Eight processes of 60 MB each; or eight that share one piece of 60 MB."""
    piece = b"x" * 60_000_000 if shared else None
    for _ in range(7):
        if os.fork() == 0:
            break
    if not shared:
        piece = b"x" * 60_000_000
    time.sleep(0.5)
    print(len(piece) * 0 + 1)
    try:
        while True:
            os.wait()
    except ChildProcessError:
        pass


def map_shared():
    """Memory that the limit on data does not count."""
    piece = mmap.mmap(-1, 2_000_000_000)
    for at in range(0, 2_000_000_000, 1 << 20):
        piece[at:at + (1 << 20)] = b"x" * (1 << 20)
    print("2 GB")


def page_tables():
    """Looks here and there into an empty space: all see the same page of zeroes, but each look has its page of tables."""
    no_reserve = 0x4000
    place = mmap.mmap(-1, 1 << 40, flags=mmap.MAP_PRIVATE | no_reserve, prot=mmap.PROT_READ)
    for at in range(0, 1 << 40, 1 << 21):
        place[at]
    print("all looked at")


def sockets():
    """What was sent and is never received."""
    kept = []
    for _ in range(20):
        try:
            for _ in range(100):
                kept.append(socket.socketpair())
                for end in kept[-1]:
                    end.setblocking(False)
                    try:
                        while True:
                            end.send(bytes(65536))
                    except BlockingIOError:
                        pass
        except OSError:
            pass
        if os.fork() > 0:
            time.sleep(1000)
        kept.clear()
    print("all sent")


def empty_files(folder):
    for number in range(1_000_000):
        os.close(os.open("%s/%d" % (folder, number), os.O_CREAT | os.O_WRONLY))
    print("all made")


def cpu(processes):
    for _ in range(processes - 1):
        if os.fork() == 0:
            break
    while True:
        pass


def fill(folder):
    written = 0
    try:
        for number in range(1000):
            with open("%s/%d" % (folder, number), "wb", 0) as file:
                for _ in range(4):
                    written += file.write(b"x" * 1_000_000)
    except OSError as error:
        print(written, "bytes:", error.strerror)


def file():
    import signal
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    written = 0
    try:
        with open("/tmp/large", "wb", 0) as out:
            while True:
                written += out.write(b"x" * 1_000_000)
    except OSError as error:
        print(written, "bytes:", error.strerror)


def files():
    kept = []
    try:
        while True:
            kept.append(open("/dev/null"))
    except OSError as error:
        print(len(kept), "files:", error.strerror)


def daemon(marker):
    """A grandchild in a session of its own that holds on to nothing of ours."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            null = os.open("/dev/null", os.O_RDWR)
            for number in range(3):
                os.dup2(null, number)
            subprocess.run(["sleep", marker])
        os._exit(0)
    time.sleep(0.1)
    print("left behind", flush=True)
    if len(sys.argv) > 3:
        time.sleep(1000)


{
    "flood": flood,
    "bomb": bomb,
    "memory": memory,
    "memories": lambda: memories(False),
    "sharing": lambda: memories(True),
    "mapping": map_shared,
    "tables": page_tables,
    "sockets": sockets,
    "empty": lambda: empty_files(sys.argv[2]),
    "cpu": lambda: cpu(1),
    "cpus": lambda: cpu(6),
    "fill": lambda: fill(sys.argv[2]),
    "file": file,
    "files": files,
    "daemon": lambda: daemon(sys.argv[2]),
}[sys.argv[1]]()
