"""Tests in a network of their own: nothing but loopback, names that a test makes up, and addresses that look public.

A test that is decorated runs once more in a process with its own user, mount and network namespaces (util-linux's unshare; no
privilege is needed where the kernel lets users have namespaces, else the test is skipped). There all ports are free, also
53, and the C library asks the decorator's name server."""
import fcntl
import functools
import os
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import unittest

INSIDE = "FATHOM_TEST_PRIVATE_NETWORK"
SIOCSIFFLAGS, SIOCSIFADDR, SIOCSIFNETMASK, IFF_UP = 0x8914, 0x8916, 0x891C, 1
UNSHARE = ("unshare", "--user", "--map-root-user", "--net", "--mount")


@functools.lru_cache(maxsize=None)
def is_possible():
    try:
        return subprocess.run([*UNSHARE, "true"], capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def interface_request(name, request, payload):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        fcntl.ioctl(control, request, struct.pack("16s16s", name.encode(), payload))


def add_address(number, address):
    """Gives the loopback interface one more address."""
    name = f"lo:{number}"
    interface_request(name, SIOCSIFADDR, struct.pack("HH4s8x", socket.AF_INET, 0, socket.inet_aton(address)))
    interface_request(name, SIOCSIFNETMASK, struct.pack("HH4s8x", socket.AF_INET, 0, b"\xff\xff\xff\xff"))


class NameServer:
    """Answers A queries. `names` maps a name to None (never answered) or to a list of answers, each a list of addresses;
    they are given in turn, the last for ever. Other names do not exist; other types have no records."""

    def __init__(self, names):
        self.names, self.asked = names, {}
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 53))
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            query, sender = self.socket.recvfrom(512)
            reply = self.answer(query)
            if reply:
                self.socket.sendto(reply, sender)

    def answer(self, query):
        labels, at = [], 12
        while query[at]:
            labels.append(query[at + 1:at + 1 + query[at]].decode())
            at += 1 + query[at]
        question, name = query[12:at + 5], ".".join(labels).lower()
        if name not in self.names:
            return self.reply(query, question, 3, [])
        if self.names[name] is None:
            return None
        if struct.unpack("!H", question[-4:-2])[0] != 1:
            return self.reply(query, question, 0, [])
        turns = self.names[name]
        turn = self.asked[name] = self.asked.get(name, 0) + 1
        return self.reply(query, question, 0, turns[min(turn, len(turns)) - 1])

    @staticmethod
    def reply(query, question, code, addresses):
        head = query[:2] + struct.pack("!HHHHH", 0x8180 | code, 1, len(addresses), 0, 0)
        records = b"".join(b"\xc0\x0c" + struct.pack("!HHIH", 1, 1, 0, 4) + socket.inet_aton(a) for a in addresses)
        return head + question + records


def enter(names, addresses):
    interface_request("lo", SIOCSIFFLAGS, struct.pack("H14x", IFF_UP))
    for number, address in enumerate(addresses, 1):
        add_address(number, address)
    with tempfile.NamedTemporaryFile("w", suffix=".conf", delete=False) as file:
        file.write("nameserver 127.0.0.1\noptions timeout:30 attempts:1\n")
    os.chmod(file.name, 0o644)
    subprocess.run(["mount", "--bind", file.name, "/etc/resolv.conf"], check=True)
    os.unlink(file.name)
    return NameServer(names)


def in_private_network(names=None, addresses=()):
    """Runs a test method in a network of its own, where `names` resolve as NameServer says and `addresses` are local."""

    def decorate(method):
        @functools.wraps(method)
        def run(self):
            if os.environ.get(INSIDE) == self.id():
                self.name_server = enter(names or {}, addresses)
                method(self)
                return
            if not is_possible():
                raise unittest.SkipTest("this machine does not let us have a network namespace")
            done = subprocess.run([*UNSHARE, sys.executable, "-B", "-m", "unittest", self.id()], capture_output=True,
                                  text=True, timeout=120, env={**os.environ, INSIDE: self.id()}, check=False)
            if done.returncode != 0:
                self.fail(f"in the private network:\n{done.stdout}\n{done.stderr}")

        return run

    return decorate
