"""What the tests of the whole program share: running it in a clean environment, stub servers, and a terminal."""
import contextlib
import fcntl
import json
import os
import pathlib
import pty
import select
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unittest

FATHOM = os.environ["FATHOM"]
SUPPORT = pathlib.Path(__file__).resolve().parent


def environment(home, **more):
    """An environment in which nothing of the user's own configuration shows."""
    clean = {"PATH": os.environ["PATH"], "HOME": home, "LANG": "C.UTF-8", "TERM": "dumb"}
    clean.update({k: v for k, v in os.environ.items() if k.startswith(("ASAN_", "UBSAN_", "LSAN_"))})
    clean.update({k: v for k, v in more.items() if v is not None})
    return clean


@contextlib.contextmanager
def stub_server(program, script, folder, *arguments):
    """A server of this folder for the time of a `with`, scripted unless `script` is None; gives (its address, path of its
    request log)."""
    script_path, log = pathlib.Path(folder, "script.json"), pathlib.Path(folder, "requests.jsonl")
    if script is not None:
        script_path.write_text(json.dumps(script), encoding="utf-8")
        arguments = ("--script", str(script_path), *arguments)
    server = subprocess.Popen(
        [sys.executable, str(SUPPORT / program), *arguments, "--log", str(log), "--watch-stdin"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        port = int(server.stdout.readline())
        yield f"http://127.0.0.1:{port}", log
    finally:
        server.stdin.close()
        server.stdout.close()
        server.wait(timeout=10)


def read_lines(path):
    """The values of a JSONL file; none where there is no file. A line without its end is still being written."""
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.endswith("\n")]


def completions(log):
    """The bodies of the completion requests that a model server has logged."""
    return [line["body"] for line in read_lines(log) if line["path"].endswith("/completions")]


class Asked:
    """What came of one `fathom ask`: exit code, result, events, and all that was written."""

    def __init__(self, done, events_path):
        self.code, self.stdout, self.stderr = done.returncode, done.stdout, done.stderr
        self.result = json.loads(done.stdout) if done.stdout else None
        self.events = read_lines(events_path)
        with open(events_path, encoding="utf-8") as file:
            self.everything = done.stdout + done.stderr + file.read()

    def __str__(self):
        return f"exit code {self.code}\n{self.stdout[:4000]}\n{self.stderr}"

    def events_of(self, kind):
        return [event for event in self.events if event["type"] == kind]

    def texts_of(self, kind):
        """The texts of the events of a kind, as one."""
        return "\n".join(event.get("text", "") for event in self.events_of(kind))


class FlowTest(unittest.TestCase):
    """A test with a folder of its own, which is the working directory and the home of every run."""

    def setUp(self):
        holder = tempfile.TemporaryDirectory(prefix="fathom-flow-")
        self.addCleanup(holder.cleanup)
        self.folder = holder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        path = pathlib.Path(self.folder, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return str(path)

    def run_fathom(self, *arguments, stdin="", timeout=60, env=None, cwd=None):
        """Runs to the end; gives the CompletedProcess with text streams."""
        return subprocess.run([FATHOM, *arguments], input=stdin, capture_output=True, text=True, timeout=timeout,
                              errors="replace", cwd=cwd or self.folder, env=environment(self.folder, **(env or {})),
                              check=False)

    def expect(self, code, *arguments, **more):
        """The same, and the exit code must be as said."""
        done = self.run_fathom(*arguments, **more)
        self.assertEqual(done.returncode, code, f"fathom {' '.join(arguments)}\n{done.stdout}\n{done.stderr}")
        self.assertNotIn("Sanitizer", done.stderr)
        return done

    def start_fathom(self, *arguments, env=None, **popen):
        """Starts without waiting; the process is killed at the end of the test."""
        process = subprocess.Popen([FATHOM, *arguments], cwd=self.folder, env=environment(self.folder, **(env or {})),
                                   **popen)

        def end():
            if process.poll() is None:
                process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout, process.stderr):
                if stream:
                    stream.close()

        self.addCleanup(end)
        return process

    def ask(self, url, *arguments, question="When was the lighthouse built?", termination="answer", **more):
        """Asks the model at `url` (None: wherever the arguments say) with nothing of this machine's own settings; gives
        an Asked, whose run must have ended as said (None: anyhow)."""
        events = tempfile.NamedTemporaryFile(suffix=".jsonl", dir=self.folder, delete=False)
        events.close()
        address = ("--base-url", url) if url else ()
        asked = Asked(self.run_fathom("ask", question, "--json", "--no-config", "--events", events.name, *address, *arguments,
                                      **more), events.name)
        self.assertNotIn("Sanitizer", asked.stderr)
        if termination:
            self.assertIsNotNone(asked.result, asked)
            self.assertEqual(asked.result["termination"], termination, asked)
        return asked

    def serve(self, program, script, *arguments):
        """A server until the test ends, scripted unless `script` is None; gives (its address, path of its request log)."""
        stack = contextlib.ExitStack()
        self.addCleanup(stack.close)
        return stack.enter_context(
            stub_server(program, script, tempfile.mkdtemp(prefix="stub-", dir=self.folder), *arguments))

    def stub(self, script, *arguments):
        """A scripted model server (stub_model.py); gives (base URL, path of its request log)."""
        address, log = self.serve("stub_model.py", script, *arguments)
        return f"{address}/v1", log

    def stub_web(self, script=None):
        """A scripted web of search services and pages (stub_search.py)."""
        return self.serve("stub_search.py", script or {})


class Terminal:
    """A program on a pseudo-terminal: what a person would see."""

    def __init__(self, test, *arguments, columns=80, env=None, stdout=None):
        self.master, slave = pty.openpty()
        self.resize(columns)
        variables = {"TERM": "xterm-256color"}
        variables.update(env or {})
        self.process = subprocess.Popen([FATHOM, *arguments], stdin=slave, stdout=stdout or slave, stderr=slave,
                                        cwd=test.folder, env=environment(test.folder, **variables), start_new_session=True)
        os.close(slave)
        test.addCleanup(self.end)
        self.output = b""

    def resize(self, columns):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))

    def read_until(self, text, timeout=20):
        """Reads until `text` was written; false when the program ended or the time is over before that."""
        deadline = time.monotonic() + timeout
        while text is None or text.encode() not in self.output:
            ready, _, _ = select.select([self.master], [], [], max(0, deadline - time.monotonic()))
            if not ready:
                return False
            try:
                data = os.read(self.master, 65536)
            except OSError:
                data = b""
            if not data:
                return False
            self.output += data
        return True

    def finish(self, timeout=20):
        """Reads to the end; gives (exit code, everything that was written)."""
        self.read_until(None, timeout)
        return self.process.wait(timeout=timeout), self.output.decode("utf-8", "replace")

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self.master)
