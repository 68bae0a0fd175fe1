"""Keys, places on this machine and addresses of the inner network stay away from the model, the events and the result, however
tools fail. What a person reads on stderr may name a file or an address, which is the remedy; never a key."""
import concurrent.futures
import json
import os
import sys
import threading
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import flow

KEYS = {
    "OPENAI_API_KEY": "sk-agent-5c1d77e0", "FATHOM_SUMMARY_API_KEY": "sk-summary-0e8842aa", "SERPER_API_KEY": "serper-91ab20c4",
    "BRAVE_API_KEY": "brave-77ce0193", "TAVILY_API_KEY": "tvly-3310fa6b", "JINA_API_KEY": "jina-c0ffee42",
    "OPENALEX_API_KEY": "openalex+58/d2=e9", "SEMANTIC_SCHOLAR_API_KEY": "s2-e6b2a870",
    "FATHOM_VISION_API_KEY": "vision-9f01d3c5", "FATHOM_TRANSCRIPTION_API_KEY": "hear-64be10a2",
}
PASSWORD = "hunter-and-gatherer-2"
IN_URL = "in-the-address-40b7"
INSIDE = "127.0.0.7"  # where the configured services are
DEEPER = "127.0.0.8"  # what nobody but a redirect or a service's words name
WORDS = f"the pool at http://{DEEPER}:6379/ refused /srv/private-folder/queue.sock"


class Talkative(BaseHTTPRequestHandler):
    """Services that answer every request as the test says, with words that hold all that they were sent."""
    protocol_version = "HTTP/1.1"
    reply = {}
    key = ""

    def log_message(self, format, *arguments):
        pass

    def answer(self):
        sent = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode("utf-8", "replace")
        told = f"{WORDS}; got {self.path} {dict(self.headers)} {sent} {' '.join(KEYS.values())}"
        body = self.reply.get("body", json.dumps({"message": told, "error": told, "detail": told, "title": told}))
        body = body.replace("{told}", told).encode()
        self.send_response(self.reply.get("status", 200))
        self.send_header("Content-Type", self.reply.get("type", "application/json"))
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Retry-After", "0")
        self.send_header("X-Told", told.encode("latin-1", "replace").decode("latin-1").replace("\n", " "))
        if "location" in self.reply:
            self.send_header("Location", self.reply["location"])
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = answer


class Secrecy(flow.FlowTest):
    def setUp(self):
        super().setUp()
        self.home = os.path.join(self.folder, "private-folder")
        os.mkdir(self.home)

    def talkative(self, host=INSIDE, **reply):
        """Starts them; gives their address."""
        handler = type("Handler", (Talkative,), {"reply": reply})
        server = ThreadingHTTPServer((host, 0), handler)
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        for step in (thread.join, server.server_close, server.shutdown):
            self.addCleanup(step)
        return f"http://{host}:{server.server_port}"

    def model(self, *replies, **script):
        """A scripted model in the inner network; gives (base URL, path of its request log)."""
        answer = {"text": "<think>enough</think><answer>Done.</answer>"}
        url, log = self.stub({"replies": [*replies, answer], **script}, "--host", INSIDE)
        return url.replace("127.0.0.1", INSIDE), log

    def calls(self, *calls):
        """A completion with these calls, each (name, arguments)."""
        return {"text": "<think>so</think>" + "".join(
            f"\n<tool_call>\n{json.dumps({'name': name, 'arguments': arguments})}\n</tool_call>" for name, arguments in calls)}

    def settings(self, services, jina=False):
        """Everything that can be configured at `services`, and the reader."""
        urls = {name: f"{services}/{name}" for name in (
            "serper-url", "brave-url", "tavily-url", "searxng-url", "wikipedia-url", "duckduckgo-url", "serper-scholar-url",
            "openalex-url", "semantic-scholar-url", "crossref-url", "arxiv-url", "jina-url")}
        urls["searxng-url"] = urls["searxng-url"].replace("http://", f"http://someone:{PASSWORD}@")
        urls["brave-url"] += f"?api_key={IN_URL}"
        return [*(f"--{name}={url}" for name, url in urls.items()), "--search", "serper,brave,tavily,searxng,wikipedia,duckduckgo",
                "--tools", "search,google_scholar,visit", "--reader", "jina" if jina else "direct", "--scholar-mailto",
                "me@home.example"]

    def absent(self, word, text, message):
        at = text.find(word)
        if at >= 0:
            self.fail(f"{message}: …{text[max(0, at - 300):at + 100]}…")

    def check(self, asked, log, places=()):
        """No secret where it should not be; `places` are further words that must not show."""
        told = {"model": "\n".join(json.dumps(line["body"], ensure_ascii=False) for line in flow.read_lines(log)
                                   if line["method"] == "POST"),
                "result": asked.stdout, "events": "\n".join(map(json.dumps, asked.events)), "stderr": asked.stderr}
        self.assertIn("</tool_call>", told["model"])
        for where, text in told.items():
            for name, key in KEYS.items():
                self.absent(key, text, f"{name} shows in {where}")
            self.absent(PASSWORD, text, f"a password shows in {where}")
            self.absent(IN_URL, text, f"a key of an address shows in {where}")
            if where == "stderr":
                continue
            for word in (INSIDE, DEEPER, "private-folder", self.folder, "home.example", *places):
                self.absent(word, text, f"{word} shows in {where}")

    def run_ask(self, url, *arguments, **more):
        more.setdefault("env", KEYS)
        return self.ask(None, f"--base-url={url}", *arguments, cwd=self.home, **more)

    SEARCHES = (("search", {"query": ["lighthouse", "lamp"]}), ("google_scholar", {"query": ["lens"]}))

    def test_services_that_fail(self):
        replies = {
            "no such key": {"status": 401}, "forbidden": {"status": 403}, "paid": {"status": 402}, "rejected": {"status": 400},
            "elsewhere": {"status": 404}, "busy": {"status": 429}, "broken": {"status": 500},
            "an error with 200": {"body": '{"error": "{told}", "errors": ["{told}"]}'}, "no JSON": {"body": "{told}"},
            "a page": {"body": "<html><title>{told}</title>{told}</html>", "type": "text/html"},
            "redirected": {"status": 302, "location": f"http://{DEEPER}/elsewhere?key={KEYS['SERPER_API_KEY']}"},
        }
        # Most of the time is spent waiting before tries.
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            jobs = {}
            for name, reply in replies.items():
                url, log = self.model(self.calls(*self.SEARCHES))
                jobs[name] = log, pool.submit(self.run_ask, url, *self.settings(self.talkative(**reply)))
        for name, (log, job) in jobs.items():
            with self.subTest(name):
                asked = job.result()
                self.assertEqual(asked.result["tool_failures"], 2, asked)
                self.check(asked, log)

    def test_services_that_are_not_there(self):
        url, log = self.model(self.calls(*self.SEARCHES, ("visit", {"url": ["https://nowhere.invalid/"], "goal": "x"})))
        asked = self.run_ask(url, *self.settings(f"http://{INSIDE}:1", jina=True), "--tool-timeout", "4s")
        self.check(asked, log)

    def test_results_that_hold_what_was_sent(self):
        found = {"title": "T {told}", "link": "https://a.example/?q={key}", "snippet": "S {told}"}
        key = KEYS["SERPER_API_KEY"]
        body = json.dumps({"organic": [{name: text.replace("{told}", f"{key} {KEYS['OPENALEX_API_KEY']}").replace("{key}", key)
                                        for name, text in found.items()}]})
        url, log = self.model(self.calls(*self.SEARCHES))
        asked = self.run_ask(url, *self.settings(self.talkative(body=body)), "--scholar", "serper")
        self.assertIn("[removed]", asked.stdout)
        self.check(asked, log)

    def test_pages_that_fail(self):
        """What a model asks for, it may read again; what only a redirect or a look-up named, it may not."""
        inner = self.talkative("127.0.0.1")
        to_inner = self.talkative("127.0.0.9", status=302, location=f"http://{DEEPER}:{inner.rsplit(':', 1)[1]}/private-folder")
        words = self.talkative("127.0.0.9", status=500)
        port = inner.rsplit(":", 1)[1]
        pages = [f"{to_inner}/a", f"http://localhost:{port}/b", f"{words}/c", "file:///etc/passwd", "https://nowhere.invalid/",
                 "corpus:/etc/passwd", "not a page", "http://[::1/"]
        url, log = self.model(self.calls(("visit", {"url": pages, "goal": "the secret"})))
        for reader in (False, True):
            with self.subTest(jina=reader):
                asked = self.run_ask(url, *self.settings(self.talkative(status=500), jina=reader), "--allow-address", "127.0.0.9")
                self.check(asked, log, ["127.0.0.1", "root:x"])
                url, log = self.model(self.calls(("visit", {"url": pages, "goal": "the secret"})))

    def test_a_proxy_that_fails(self):
        url, log = self.model(self.calls(("visit", {"url": ["http://93.184.216.34/"], "goal": "x"})))
        asked = self.run_ask(url, *self.settings(f"http://{INSIDE}:1"), "--proxy", f"http://someone:{PASSWORD}@{INSIDE}:1")
        self.check(asked, log)

    def test_a_corpus_that_is_gone(self):
        documents = os.path.join(self.home, "documents")
        os.mkdir(documents)
        with open(os.path.join(documents, "kell.txt"), "w", encoding="utf-8") as file:
            file.write("The lighthouse of Kell was built in 1857.\n")
        corpus = os.path.join(self.home, "corpus.db")
        self.expect(0, "index", documents, "--into", corpus)
        calls = self.calls(("search", {"query": ["lighthouse"]}),
                           ("visit", {"url": ["corpus:nothing", "corpus://documents/kell.txt", "corpus://../../etc/passwd"], "goal": "x"}))
        options = "--corpus", corpus, "--tools", "search,visit"
        url, log = self.model(calls)
        asked = self.run_ask(url, *options)
        self.assertIn("kell.txt", asked.stdout)
        self.check(asked, log, ["root:x"])
        with open(corpus, "r+b") as file:
            file.seek(4096)
            file.write(b"\xff" * 20000)
        url, log = self.model(calls)
        asked = self.run_ask(url, *options, termination=None)
        if asked.result:
            self.check(asked, log)
        else:
            self.assertEqual(asked.code, 2, asked)

    def test_programs_of_the_model(self):
        program = ("import os, sys, traceback\nprint(dict(os.environ), os.getcwd(), sys.argv, sys.path, os.listdir('/tmp'))\n"
                   "def fail(): raise ValueError('no')\ntry:\n    fail()\nexcept ValueError:\n    traceback.print_exc()\n"
                   "print(open('/proc/self/cmdline').read(), file=sys.stderr)\nfail()")
        call = '<think>so</think>\n<tool_call>\n{"name": "PythonInterpreter", "arguments": {}}\n<code>\n%s\n</code>\n</tool_call>'
        url, log = self.model({"text": call % program}, {"text": call % "import socket\nsocket.create_connection(('%s', 1))" % INSIDE},
                              {"text": call % "while True: pass"})
        asked = self.run_ask(url, "--tools", "python", "--python-timeout", "4s", termination=None)
        if not asked.result or "PythonInterpreter" not in asked.result["tool_calls"]:
            self.skipTest("PythonInterpreter does not work here: " + asked.stderr[-300:])
        self.assertIn("ValueError: no", asked.stdout)
        for text in (asked.stdout, json.dumps(asked.events)):
            for word in (*KEYS.values(), "private-folder", self.folder, "home.example"):
                self.absent(word, text, f"{word} shows")
        url, log = self.model({"text": call % program})
        asked = self.run_ask(url, "--tools", "python", "--sandbox-fusion", f"{self.talkative(status=500)}/run_code")
        self.check(asked, log)

    def test_files_that_cannot_be_read(self):
        broken = {"broken.pdf": b"%PDF-1.4\n1 0 obj\n<<", "broken.docx": b"PK\3\4nothing", "broken.zip": b"PK\3\4" + bytes(100),
                  "broken.png": b"\x89PNG\r\n\x1a\nxx", "broken.wav": b"RIFF\0\0\0\0WAVEjunk", "nothing.bin": bytes(range(256))}
        given = []
        for name, content in broken.items():
            with open(os.path.join(self.home, name), "wb") as file:
                file.write(content)
            given += ["--file", os.path.join(self.home, name)]
        os.symlink("/etc/passwd", os.path.join(self.home, "linked.txt"))
        names = [*broken, "linked.txt", "../../etc/passwd", "/etc/passwd", "/proc/self/environ", "gone.txt", "."]
        silent = self.talkative(status=500)
        for source in (given, ["--file-root", self.home]):
            with self.subTest(source[0]):
                url, log = self.model(self.calls(("parse_file", {"files": names})))
                asked = self.run_ask(url, "--tools", "parse_file", *source, "--vision-base-url", f"{silent}/v1", "--vision-model", "eyes",
                                     "--transcription-base-url", f"{silent}/v1", "--tool-timeout", "20s")
                self.assertIn("broken.pdf", asked.stdout)
                self.check(asked, log, ["root:x"])

    def test_tools_of_the_user(self):
        """They get no keys of ours, and what they are given to identify themselves is not repeated. (They do get HOME.)"""
        own = "own-secret-77aa01"
        folder = os.path.join(self.home, "own-tool")
        os.mkdir(folder)
        with open(os.path.join(folder, "signature.json"), "w", encoding="utf-8") as file:
            json.dump({"name": "teller", "description": "Tells.", "parameters": {"type": "object", "properties": {}}}, file)
        with open(os.path.join(folder, "run"), "w", encoding="utf-8") as file:
            file.write('#!/bin/sh\nenv | grep -v -e ^PWD -e ^HOME\necho "I am $TELLER" >&2\nexit 3\n')
        os.chmod(os.path.join(folder, "run"), 0o755)
        scripted = self.write("private-folder/mcp.json", json.dumps({"tools": [
            {"name": name, "description": "x", "inputSchema": {"type": "object", "properties": {}}, "do": steps} for name, steps in (
                ("environ", [{"environment": True}]), ("fails", [{"error": {"code": -32000, "message": f"no {own}"}}]),
                ("dies", [{"crash": 3, "stderr": f"{WORDS} {own}"}]))]}))
        mcp = {"inner": {"command": sys.executable, "args": ["-B", str(flow.SUPPORT / "stub_mcp.py"), "--script", scripted],
                         "env": {"TOKEN": own, "NODE_ENV": "production"}},
               "gone": {"url": f"http://{INSIDE}:1/mcp?key=shown-nowhere-at-all", "headers": {"Authorization": f"Bearer {own}"}}}
        config = self.write("private-folder/config.yaml", json.dumps({
            "own-tools": {"teller": {"directory": folder, "confinement": "none", "environment": {"TELLER": own}}},
            "mcp-servers": mcp, "tools": "visit"}))
        url, log = self.model(self.calls(*((name, {}) for name in ("teller", "environ", "fails", "dies"))))
        events = os.path.join(self.folder, "events.jsonl")
        done = self.run_fathom("ask", "What is it?", "--json", "--config", config, "--events", events, f"--base-url={url}",
                               env=KEYS, cwd=self.home)
        asked = flow.Asked(done, events)
        self.assertEqual(asked.result["tool_failures"], 3, asked)
        bodies = "\n".join(json.dumps(line["body"]) for line in flow.read_lines(log) if line["method"] == "POST")
        self.assertIn("NODE_ENV=production", bodies)
        for where, text in (("model", bodies), ("result", asked.stdout), ("events", json.dumps(asked.events)), ("stderr", asked.stderr)):
            for word in (own, "shown-nowhere", *KEYS.values(), *(() if where == "stderr" else (INSIDE, DEEPER))):
                self.absent(word, text, f"{word} shows in {where}")

    def test_a_model_that_fails(self):
        told = f"{WORDS}; got {' '.join(KEYS.values())} {PASSWORD}"
        for reply in ({"status": 500, "body": {"error": {"message": told}}, "headers": {"Retry-After": "0"}},
                      {"status": 401, "body": {"error": {"message": told}}}, {"events": [{"error": {"message": told}}]},
                      {"body": told, "type": "text/html"}):
            with self.subTest(json.dumps(reply)[:40]):
                url, _ = self.model(reply, reply, repeat_last=False)
                asked = self.run_ask(url, *self.settings(f"http://{INSIDE}:1"), "--model-tries", "1", termination=None)
                self.assertIsNotNone(asked.result, asked)
                for where, text in (("result", asked.stdout), ("events", json.dumps(asked.events)), ("stderr", asked.stderr)):
                    for word in (*KEYS.values(), *(() if where == "stderr" else (INSIDE, DEEPER, "private-folder"))):
                        self.absent(word, text, f"{word} shows in {where}")


if __name__ == "__main__":
    unittest.main()
