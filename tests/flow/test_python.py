"""PythonInterpreter in whole runs: programs of a model, confined by the real bubblewrap, fresh or in one interpreter for a
run, and what is left of them when the run ends. Where bubblewrap does not work the tests of it skip."""
import json
import os
import shutil
import signal
import subprocess
import time
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

from flow import FlowTest

END = {"text": "<answer>done</answer>"}


def program(code):
    call = '<tool_call>\n{"name": "PythonInterpreter", "arguments": {}}\n<code>\n%s\n</code>\n</tool_call>' % code
    return {"text": "<think>I compute it.</think>\n" + call}


def observations(asked):
    return [message["content"] for message in asked.result["messages"][2:] if message["role"] == "user"]


def is_running(marker):
    for process in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/cmdline" % process, "rb") as file:
                if marker.encode() in file.read().split(b"\0"):
                    return True
        except OSError:
            pass
    return False


class Sandbox(BaseHTTPRequestHandler):
    """A SandboxFusion server that runs nothing."""

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append((self.path, request))
        answer = json.dumps({"status": "Success", "message": "", "run_result": {
            "status": "Finished", "execution_time": 0.1, "return_code": 0, "stdout": "from the server\n", "stderr": ""}})
        self.send_response(self.server.code)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(answer.encode() if self.server.code == 200 else b'{"detail": "down"}')

    def log_message(self, *arguments):
        pass


class Python(FlowTest):
    tools = ("--tools", "python", "--model", "stub")

    def need_bubblewrap(self):
        done = self.run_fathom("doctor", "--no-config", "--tools", "python", "--model", "builtin", "--json")
        checks = {check["name"]: check for check in json.loads(done.stdout)["checks"]}
        if checks["PythonInterpreter"]["status"] != "ok":
            self.skipTest(checks["PythonInterpreter"].get("message") or str(checks["PythonInterpreter"]))

    def test_programs_of_a_run(self):
        self.need_bubblewrap()
        url, _ = self.stub({"replies": [program("print(2 ** 100)"), program("x = 1\nx / 0"), program("print(x)"), END]})
        asked = self.ask(url, *self.tools)
        first, second, third = observations(asked)
        self.assertEqual(first, "<tool_response>\nstdout:\n1267650600228229401496703205376\n</tool_response>")
        self.assertIn("ZeroDivisionError: division by zero (line 2).", second)
        self.assertIn("NameError", third)
        self.assertEqual(asked.result["tool_calls"], {"PythonInterpreter": 3})
        self.assertEqual(asked.result["tool_failures"], 2)

    def test_a_session_lasts_as_long_as_its_run(self):
        self.need_bubblewrap()
        url, _ = self.stub({"replies": [program("x = 41"), program("print(x + 1)"), END]})
        self.assertIn("stdout:\n42", observations(self.ask(url, *self.tools, "--python-session"))[-1])

    def test_a_program_that_is_too_slow(self):
        self.need_bubblewrap()
        url, _ = self.stub({"replies": [program("print('begun')\nwhile True: pass"), END]})
        asked = self.ask(url, *self.tools, "--python-timeout", "4s")
        self.assertIn("stdout:\nbegun\nThe program was stopped after 4 s", observations(asked)[0])

    def test_nothing_of_a_run_is_left(self):
        self.need_bubblewrap()
        for number, how in enumerate((signal.SIGINT, signal.SIGKILL)):
            marker = "%d.0625" % (300000 + 2 * os.getpid() + number)
            url, _ = self.stub({"replies": [program("import os, subprocess\nif os.fork() == 0:\n    os.setsid()\n"
                                                    "subprocess.run(['sleep', '%s'])" % marker), END]})
            process = self.start_fathom("ask", "q", "--no-config", "--base-url", url, *self.tools, "--quiet")
            for _ in range(200):
                if is_running(marker):
                    break
                time.sleep(0.05)
            self.assertTrue(is_running(marker))
            process.send_signal(how)
            process.wait(30)
            for _ in range(100):
                if not is_running(marker):
                    break
                time.sleep(0.05)
            self.assertFalse(is_running(marker), how)

    def test_a_virtual_environment_brings_its_packages(self):
        self.need_bubblewrap()
        python = shutil.which("python3", path="/usr/local/bin:/usr/bin")
        home = self.path("environment")
        os.makedirs(home + "/bin")
        os.symlink(os.path.realpath(python), home + "/bin/python3")
        self.write("environment/pyvenv.cfg", "home = %s\n" % os.path.dirname(os.path.realpath(python)))
        version = subprocess.check_output([python, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"],
                                          text=True).strip()
        self.write("environment/lib/python%s/site-packages/own_package.py" % version, "VALUE = 'of the environment'\n")
        url, _ = self.stub({"replies": [program("import own_package\nprint(own_package.VALUE)"), END]})
        asked = self.ask(url, *self.tools, "--python", home + "/bin/python3")
        self.assertIn("stdout:\nof the environment", observations(asked)[0])

    def test_without_bubblewrap_the_tool_is_absent(self):
        url, log = self.stub({"replies": [program("print(1)"), END]})
        asked = self.ask(url, "--tools", "python,visit", "--model", "stub", env={"PATH": "/nonexistent"})
        self.assertIn("PythonInterpreter is left out: programs cannot be confined: bubblewrap is not installed", asked.stderr)
        self.assertNotIn("print(1)\n", asked.result["messages"][0]["content"])
        self.assertNotIn("stdout:", observations(asked)[0])
        done = self.run_fathom("doctor", "--no-config", "--tools", "python,visit", "--model", "builtin",
                               env={"PATH": "/nonexistent"})
        self.assertEqual(done.returncode, 1)
        self.assertIn("bubblewrap is not installed", " ".join(done.stdout.split()))

    def test_unconfined_only_when_asked(self):
        url, _ = self.stub({"replies": [program("import os\nprint(os.path.exists('/etc/hosts'))"), END]})
        asked = self.ask(url, *self.tools, "--python-sandbox", "none")
        self.assertIn("stdout:\nTrue", observations(asked)[0])

    def test_programs_on_servers(self):
        servers = []
        for code in (503, 200):
            server = ThreadingHTTPServer(("127.0.0.1", 0), Sandbox)
            server.code, server.asked = code, []
            Thread(target=server.serve_forever, daemon=True).start()
            self.addCleanup(server.server_close)
            self.addCleanup(server.shutdown)
            servers.append(server)
        addresses = ",".join("http://127.0.0.1:%d" % server.server_port for server in servers)
        url, _ = self.stub({"replies": [program("print(1)"), END]})
        asked = self.ask(url, *self.tools, env={"SANDBOX_FUSION_ENDPOINT": addresses})
        self.assertIn("stdout:\nfrom the server", observations(asked)[0])
        self.assertEqual(len(servers[0].asked), 1)
        self.assertEqual(servers[1].asked, [("/run_code", {"code": "print(1)", "language": "python", "run_timeout": 50})])
        self.assertNotIn("127.0.0.1", observations(asked)[0])

    def test_wrong_settings(self):
        for arguments, complaint in ((("--python", "/bin/true"), "no Python"),
                                     (("--python-sandbox", "fusion"), "SANDBOX_FUSION_ENDPOINT"),
                                     (("--python-session", "--sandbox-fusion", "http://127.0.0.1:1"), "keeps no state"),
                                     (("--sandbox-fusion", "nonsense"), "nonsense")):
            done = self.run_fathom("ask", "q", "--no-config", "--tools", "python", "--model", "builtin", *arguments)
            self.assertEqual(done.returncode, 2, done)
            self.assertIn(complaint, done.stderr)


if __name__ == "__main__":
    unittest.main()
