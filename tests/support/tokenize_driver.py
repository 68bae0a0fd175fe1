"""Talks to tests/support/tokenize.c."""
import array
import struct
import subprocess
import threading

PLAIN, FRAMED, SKIP_SPECIAL = 1, 2, 4
REFUSED = 0xFFFFFFFF


class Refused(Exception):
    """The tokenizer cannot be had; says why."""


class Driver:
    def __init__(self, program, file):
        self.process = subprocess.Popen([str(program), str(file)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        status = self._u32()
        if status:
            message = self._read(self._u32()).decode("utf-8", "replace")
            self.close()
            raise Refused(message)

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        if self.process.wait(timeout=60) not in (0, 1):
            raise AssertionError(f"the program ended with {self.process.returncode}")

    def _read(self, length):
        data = self.process.stdout.read(length)
        if len(data) != length:
            raise AssertionError(f"the program ended in the middle of an answer, with {self.process.wait(timeout=60)}")
        return data

    def _u32(self):
        return struct.unpack("=I", self._read(4))[0]

    def _ask(self, operation, texts, flags, limits=None):
        """Sends all requests while the caller reads the answers."""
        def send():
            try:
                for n, text in enumerate(texts):
                    head = struct.pack("=qIIII", limits[n] if limits else 0, ord(operation), flags, len(text), n + 1 < len(texts))
                    self.process.stdin.write(head + text)
                self.process.stdin.flush()
            except BrokenPipeError:
                pass  # whoever reads says what happened

        sender = threading.Thread(target=send)
        sender.start()
        return sender

    def _all(self, operation, texts, flags, read, limits=None):
        texts = list(texts)
        if not texts:
            return []
        sender = self._ask(operation, texts, flags, limits)
        try:
            return [read() for _ in texts]
        finally:
            sender.join()

    def _ids(self):
        count = self._u32()
        return list(array.array("I", self._read(4 * count)))

    def _text(self):
        length = self._u32()
        return None if length == REFUSED else self._read(length)

    def encode(self, texts, flags=0):
        return self._all("e", texts, flags, self._ids)

    def count(self, texts, flags=0):
        return self._all("c", texts, flags, lambda: struct.unpack("=q", self._read(8))[0])

    def fit(self, texts, limits, flags=0):
        return self._all("f", texts, flags, lambda: struct.unpack("=Q", self._read(8))[0], list(limits))

    def begins_anew(self, texts):
        return [bool(b) for b in self._all("b", texts, 0, self._u32)]

    def decode(self, many_ids, flags=0):
        """Bytes each; None where it was refused."""
        return self._all("d", [array.array("I", ids).tobytes() for ids in many_ids], flags, self._text)
