"""Own tools: programs of the user's, confined or not, in a run of the whole program."""
import json
import os
import shutil
import socket
import subprocess
import tempfile
import threading
import time
import unittest

from flow import FlowTest, completions

PARAMETERS = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
ANSWER = {"text": "<think>Enough.</think>\n<answer>42</answer>"}


def can_confine():
    """Whether bubblewrap works here, asked of bubblewrap itself."""
    if not shutil.which("bwrap"):
        return False
    return subprocess.run(["bwrap", "--unshare-all", "--ro-bind", "/", "/", "true"], capture_output=True,
                          check=False).returncode == 0


CONFINES = can_confine()


class OwnTest(FlowTest):
    def tool(self, name, program, **signature):
        """A folder with a tool; gives its path."""
        self.write(f"{name}/signature.json", json.dumps(
            {"name": name, "description": f"Does {name}.", "parameters": PARAMETERS, **signature}))
        os.chmod(self.write(f"{name}/run", program), 0o755)
        return self.path(name)

    def call(self, name, **arguments):
        call = json.dumps({"name": name, "arguments": arguments})
        return {"text": f"<think>I call.</think>\n<tool_call>\n{call}\n</tool_call>"}

    def run_with(self, tools, *replies, arguments=(), **more):
        url, log = self.stub({"replies": [*replies, ANSWER]})
        config = self.write("config.yaml", json.dumps({"own-tools": tools, "tools": "visit"}))
        done = self.run_fathom("ask", "What is it?", "--json", "--config", config, "--base-url", url, *arguments, **more)
        self.assertNotIn("Sanitizer", done.stderr)
        self.assertEqual(json.loads(done.stdout)["prediction"] if done.stdout else None, "42", done.stderr)
        messages = completions(log)[-1]["messages"]
        self.system = messages[0]["content"]
        return done, [m["content"] for m in messages[1:] if "<tool_response>" in m["content"]]

    def names(self, tools, code=0, name="config.yaml"):
        config = self.write(name, json.dumps({"own-tools": tools, "tools": "visit"}))
        done = self.expect(code, "tools", "--json", *([] if name == "fathom.yaml" else ["--config", config]))
        return [t["name"] for t in json.loads(done.stdout)] if done.stdout else [], done.stderr


class Own(OwnTest):
    def test_a_program_is_a_tool(self):
        folder = self.tool("shout", "#!/bin/sh\ntr a-z A-Z\n")
        done, seen = self.run_with({"shout": {"directory": folder, "confinement": "none"}}, self.call("shout", text="hello"),
                                   self.call("shout", txt="x"))
        self.assertIn('{"TEXT":"HELLO"}', seen[0])
        self.assertIn("text", seen[1])
        self.assertNotIn("TXT", seen[1])
        self.assertIn("Does shout.", self.system)
        self.assertEqual(json.loads(done.stdout)["tool_calls"]["shout"], 1)

    def test_code_goes_with_the_arguments(self):
        folder = self.tool("calc", "#!/bin/sh\ncat\n", takes_code=True, parameters={"type": "object", "properties": {}})
        program = "<think>I call.</think>\n<tool_call>\n{\"name\": \"calc\", \"arguments\": {}}\n<code>\n1 + 1\n</code>\n</tool_call>"
        _, seen = self.run_with({"calc": {"directory": folder, "confinement": "none"}}, {"text": program})
        self.assertIn('{"code":"1 + 1', seen[0])

    def test_a_failure_is_told_to_both_in_their_words(self):
        folder = self.tool("fail", "#!/bin/sh\necho half; echo \"no file $0\" >&2; exit 4\n")
        done, seen = self.run_with({"fail": {"directory": folder, "confinement": "none"}}, self.call("fail", text="x"))
        self.assertIn("exit code 4", seen[0])
        self.assertIn("half", seen[0])
        self.assertNotIn(self.folder, seen[0])
        self.assertIn("no file", done.stderr)
        self.assertEqual(json.loads(done.stdout)["tool_failures"], 1)

    def test_time_is_limited(self):
        folder = self.tool("slow", "#!/bin/sh\ntrap '' TERM\nsleep 100\n")
        _, seen = self.run_with({"slow": {"directory": folder, "confinement": "none", "timeout": "300ms"}},
                                self.call("slow", text="x"))
        self.assertIn("slow was stopped", seen[0])

    def test_it_may_stand_in_for_a_built_in_one(self):
        folder = self.tool("visit", "#!/bin/sh\necho my own way\n")
        done, seen = self.run_with({"visit": {"directory": folder, "confinement": "none"}}, self.call("visit", text="x"))
        self.assertIn("my own way", seen[0])
        self.assertIn("takes the place of the built-in one", done.stderr)

    def test_flag(self):
        folder = self.tool("shout", "#!/bin/sh\ntr a-z A-Z\n")
        done = self.expect(0, "tools", "--json", "--no-config", "--tools", "visit", "--own-tool", folder)
        expected = ["visit", "shout"] if CONFINES else ["visit"]
        self.assertEqual([t["name"] for t in json.loads(done.stdout)], expected)

    def test_mistakes_name_their_place(self):
        folder = self.tool("shout", "#!/bin/sh\n")
        _, said = self.names({"shout": {"directory": folder, "timeout": "soon"}}, code=2)
        self.assertIn("own-tools.shout.timeout: a time like", said)
        self.assertIn("config.yaml", said)
        _, said = self.names({"shout": {"directory": folder, "confinment": "none"}}, code=2)
        self.assertIn('did you mean "confinement"?', said)

    def test_denied_and_none(self):
        folder = self.tool("shout", "#!/bin/sh\n")
        self.assertEqual(self.names({"shout": {"directory": folder, "permission": "deny"}})[0], ["visit"])

    def test_a_key_on_the_command_line_is_given_and_blotted_out(self):
        tool = {"directory": self.tool("show", "unused\n"), "command": ["echo", "--key=${SERVICE_TOKEN}"], "confinement": "none"}
        done, seen = self.run_with({"show": tool}, self.call("show", text="x"), env={"SERVICE_TOKEN": "sesame-open-12345"})
        self.assertIn("--key=[removed]", seen[0])
        self.assertNotIn("sesame", done.stdout + done.stderr)

    def test_permission_without_a_person_refuses(self):
        folder = self.tool("mark", "#!/bin/sh\ntouch " + self.path("done") + "\n")
        _, seen = self.run_with({"mark": {"directory": folder, "confinement": "none", "permission": "ask"}},
                                self.call("mark", text="x"))
        self.assertFalse(os.path.exists(self.path("done")))
        self.assertIn("mark", seen[0])

    def test_a_found_file_starts_nothing_unconfined(self):
        folder = self.tool("mark", "#!/bin/sh\necho\n")
        _, said = self.names({"mark": {"directory": folder, "confinement": "none"}}, code=2, name="fathom.yaml")
        self.assertIn("merely found", said)

    def test_a_found_file_shows_no_other_files(self):
        private = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, private)
        secret = os.path.join(private, "signature.json")
        shutil.copy(os.path.join(self.tool("mark", "#!/bin/sh\necho\n"), "signature.json"), secret)
        os.chmod(shutil.copy(self.path("mark/run"), private), 0o755)
        os.symlink(secret, self.path("mark/linked.json"))
        inside = {"directory": "mark", "command": ["cat", "run"]}
        for more in ({"readable": [private]}, {"directory": private}, {"command": ["cat", secret]},
                     {"command": ["cat", "linked.json"]}, {"signature": secret}, {"signature": "linked.json"}):
            _, said = self.names({"mark": {**inside, **more}}, code=2, name="fathom.yaml")
            self.assertIn("merely found", said, more)
        self.write("fathom.yaml", json.dumps({"own-tool": [private], "tools": "visit"}))
        self.assertIn("merely found", self.expect(2, "tools").stderr)
        if CONFINES:
            self.assertEqual(self.names({"mark": inside}, name="fathom.yaml")[0], ["visit", "mark"])


@unittest.skipUnless(CONFINES, "bubblewrap does not work here")
class Confined(OwnTest):
    def look(self, program, **settings):
        folder = self.tool("look", program)
        _, seen = self.run_with({"look": {"directory": folder, **settings}}, self.call("look", text="x"))
        return seen[0]

    def test_strict_is_the_default(self):
        self.write("secret.txt", "not for you")
        self.write("look/data.txt", "its own data")
        text = self.look(f"#!/bin/sh\ncat data.txt; cat {self.path('secret.txt')}; touch here && echo wrote\n"
                         f"touch /tmp/x && echo private; ls {self.folder} /root /home; env; kill -9 1; true\n",
                         environment={"UNITS": "metric"})
        self.assertIn("its own data", text)
        self.assertIn("private", text)
        self.assertIn("UNITS=metric", text)
        for part in ("not for you", "wrote", "secret.txt", "OPENAI"):
            self.assertNotIn(part, text)
        self.assertFalse(os.path.exists(self.path("look/here")))

    def reach(self, **settings):
        """What a confined program learns of a server of ours on loopback."""
        server = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(server.close)

        def serve():
            try:
                while True:
                    peer, _ = server.accept()
                    peer.sendall(b"here I am\n")
                    peer.close()
            except OSError:
                pass

        threading.Thread(target=serve, daemon=True).start()
        program = ("#!/usr/bin/env python3\nimport socket\n"
                   f"try: print(socket.create_connection(('127.0.0.1', {server.getsockname()[1]}), 2).recv(99).decode())\n"
                   "except OSError as error: print('unreachable', error)\n")
        return self.look(program, **settings)

    def test_no_network_unless_it_is_given(self):
        self.assertIn("unreachable", self.reach())
        self.assertIn("here I am", self.reach(confinement="network"))

    def test_folders_that_are_given(self):
        self.write("shared/in.txt", "to be read")
        os.mkdir(self.path("out"))
        program = (f"#!/bin/sh\ncat {self.path('shared/in.txt')}; touch {self.path('shared/x')} || echo no\n"
                   f"echo written > {self.path('out/result')}\n")
        text = self.look(program, readable=["shared"], writable=["out"])
        self.assertIn("to be read", text)
        self.assertIn("no", text)
        with open(self.path("out/result"), encoding="utf-8") as file:
            self.assertEqual(file.read(), "written\n")

    def test_a_lone_program_and_the_files_of_its_command(self):
        self.write("tell.py", "import json, sys\nprint('told', json.load(sys.stdin)['text'])\n")
        self.write("config.secret", "key")
        signature = {"name": "tell", "description": "Tells.", "parameters": PARAMETERS}
        _, seen = self.run_with({"tell": {"command": ["python3", "tell.py"], "signature": signature}},
                                self.call("tell", text="it"))
        self.assertIn("told it", seen[0])

    def test_a_version_managers_program_does_not_hide_the_systems(self):
        self.tool("look", "unused\n")
        shims = os.path.dirname(self.write("shims/env", "#!/bin/sh\nexit 127\n"))
        os.chmod(os.path.join(shims, "env"), 0o755)
        _, seen = self.run_with({"look": {"directory": self.path("look"), "command": ["env"]}}, self.call("look", text="x"),
                                env={"PATH": shims + ":" + os.environ["PATH"]})
        self.assertIn("HOME=/tmp", seen[0])

    def test_what_it_leaves_behind_ends_with_it(self):
        mark = self.path("out/late")
        os.mkdir(self.path("out"))
        text = self.look(f"#!/bin/sh\nsetsid sh -c 'sleep 0.4; touch {mark}' >/dev/null 2>&1 &\necho started\n",
                         writable=["out"])
        self.assertIn("started", text)
        time.sleep(0.6)
        self.assertFalse(os.path.exists(mark))


class Unconfinable(OwnTest):
    def test_it_is_absent_with_the_reason(self):
        folder = self.tool("shout", "#!/bin/sh\ntr a-z A-Z\n")
        self.write("config.yaml", json.dumps({"own-tools": {"shout": {"directory": folder}}, "tools": "visit"}))
        done = self.expect(0, "tools", "--json", "--config", self.path("config.yaml"), env={"PATH": "/nowhere"})
        self.assertEqual([t["name"] for t in json.loads(done.stdout)], ["visit"])
        self.assertIn("own-tools.shout is left out: it cannot be confined here", done.stderr)
        doctor = self.run_fathom("doctor", "--config", self.path("config.yaml"), "--model", "builtin",
                                 env={"PATH": "/nowhere"})
        self.assertIn("own-tools.shout: it cannot be confined here", " ".join(doctor.stdout.split()))


if __name__ == "__main__":
    unittest.main()
