"""MCP servers at an address, servers of the newest revision, and real ones from npm."""
import contextlib
import json
import os
import pathlib
import shutil
import socket
import subprocess
import unittest

from flow import Terminal, read_lines
from mcp_world import McpTest, call, tool

REAL = pathlib.Path(os.environ["FATHOM_SOURCE"], "build/components/mcp/node_modules/@modelcontextprotocol")
HAVE_REAL = shutil.which("node") is not None and (REAL / "server-everything").exists()


class Web(McpTest):
    def test_streams_and_plain_answers(self):
        for as_json in (False, True):
            server, log = self.web_script(json=as_json, tools=[tool("greet", {"echo": True})])
            _, seen = self.run_with({"web": server}, call("greet", a=1))
            self.assertIn('"a": 1', seen[0])
            requests = read_lines(log)
            posts = [r for r in requests if r["http"] == "POST"]
            self.assertEqual([r["message"].get("method") for r in posts],
                             ["initialize", "notifications/initialized", "tools/list", "tools/call"])
            self.assertEqual(posts[0]["headers"]["accept"], "application/json, text/event-stream")
            self.assertNotIn("mcp-session-id", posts[0]["headers"])
            for request in requests[1:]:
                self.assertEqual(request["headers"]["mcp-protocol-version"], "2025-11-25")
                self.assertIn("mcp-session-id", request["headers"])
            self.assertEqual(requests[-1]["http"], "DELETE")
            self.assertIn("GET", [r["http"] for r in requests])

    def test_without_sessions_and_without_talk(self):
        server, log = self.web_script(session=False, talk=False, tools=[tool("greet", {"echo": True})])
        _, seen = self.run_with({"web": server}, call("greet", a=1))
        self.assertIn('"a": 1', seen[0])
        self.assertNotIn("DELETE", [r["http"] for r in read_lines(log)])

    def test_an_answer_that_is_too_large_ends_its_call(self):
        for as_json in (False, True):
            server, _ = self.web_script(json=as_json, tools=[tool("look", {"text": "y" * (17 << 20)})])
            _, seen = self.run_with({"web": {**server, "timeout": "20s"}}, call("look"))
            self.assertIn("its answer is too large", seen[0])

    def test_a_broken_stream_is_taken_up_again(self):
        steps = [{"progress": 1}, {"cut": True}, {"sleep": 100}, {"text": "the rest"}]
        server, log = self.web_script(tools=[tool("look", *steps)])
        _, seen = self.run_with({"web": server}, call("look"))
        self.assertIn("the rest", seen[0])
        self.assertTrue(any("last-event-id" in r["headers"] for r in read_lines(log)))
        self.assertEqual(len([r for r in read_lines(log) if (r["message"] or {}).get("method") == "tools/call"]), 1)

    def test_a_forgotten_session_is_begun_anew_once(self):
        server, log = self.web_script(session=1, tools=[tool("greet", {"echo": True})])
        _, seen = self.run_with({"web": server}, call("greet", a=1), call("greet", a=2))
        self.assertIn('"a": 2', seen[1])
        methods = [(r["message"] or {}).get("method") for r in read_lines(log)]
        self.assertEqual(methods.count("initialize"), 2)
        self.assertEqual(methods.count("tools/call"), 3)

    def test_keys_are_sent_and_a_missing_one_is_explained(self):
        server, _ = self.web_script(key="Bearer sesame-open-12345", tools=[tool("greet", {"echo": True})])
        _, said = self.tools({"web": server})
        self.assertIn("HTTP 401", said)
        self.assertIn("OAuth is not supported", said)
        server["headers"] = {"Authorization": "Bearer ${KEY_OF_WEB}"}
        config = self.write("config.yaml", json.dumps({"mcp-servers": {"web": server}, "tools": "visit"}))
        done = self.expect(0, "tools", "--json", "--config", config, env={"KEY_OF_WEB": "sesame-open-12345"})
        self.assertIn("greet", done.stdout)
        self.assertNotIn("sesame", done.stdout + done.stderr)
        done = self.expect(2, "tools", "--json", "--config", config)
        self.assertIn("mcp-servers.web.headers: the variable KEY_OF_WEB is not set", done.stderr)

    def test_what_is_no_server_is_said(self):
        for code, words in ((404, "no MCP endpoint"), (500, "HTTP 500")):
            server, _ = self.web_script(status=code)
            _, said = self.tools({"web": server})
            self.assertIn(words, said)
        _, said = self.tools({"web": {"url": "http://127.0.0.1:9/mcp"}})
        self.assertIn("web is left out", said)

    def test_a_change_over_the_servers_own_stream(self):
        more = [tool("fresh", {"text": "new and shiny"})]
        server, _ = self.web_script(tools=[tool("grow", {"sleep": 200}, {"tools": more, "add": True}, {"listed": True},
                                                {"sleep": 500}, {"text": "grown"})])
        _, seen = self.run_with({"web": server}, call("grow"), call("fresh"))
        self.assertIn("new and shiny", seen[1])


class Stateless(McpTest):
    """Servers of revision 2026-07-28 alone, which know no handshake."""

    def test_over_stdio(self):
        servers = {"stub": self.script("stub", stateless=True, tools=[tool("greet", {"echo": True}), tool("hang", {"hang": 1})])}
        servers["stub"]["timeout"] = "400ms"
        _, seen = self.run_with(servers, call("greet", a=1), call("hang"))
        self.assertIn('"a": 1', seen[0])
        self.assertIn("no sign of life", seen[1])
        log = [m for m in self.log("stub") if "method" in m]
        self.assertEqual([m["method"] for m in log], ["initialize", "server/discover", "tools/list", "subscriptions/listen",
                                                      "tools/call", "tools/call", "notifications/cancelled"])
        self.assertEqual(log[4]["params"]["_meta"]["io.modelcontextprotocol/clientInfo"]["name"], "fathom")

    def test_at_an_address(self):
        schema = {"type": "object", "properties": {
            "region": {"type": "string", "x-mcp-header": "Region"}, "n": {"type": "integer", "x-mcp-header": "N"},
            "deep": {"type": "object", "properties": {"on": {"type": "boolean", "x-mcp-header": "On"}}}}}
        wrong = {"type": "object", "properties": {"a": {"type": "number", "x-mcp-header": "A"}}}
        server, log = self.web_script(stateless=True, tools=[tool("greet", {"echo": True}, inputSchema=schema),
                                                             tool("wrong", inputSchema=wrong)])
        done, seen = self.run_with({"web": server}, call("greet", region="Ożarów", n=7, deep={"on": True}),
                                   call("greet", region="plain"))
        self.assertIn('"n": 7', seen[0])
        self.assertIn("its tool wrong is left out", done.stderr)
        requests = read_lines(log)
        self.assertEqual({r["http"] for r in requests}, {"POST"})
        calls = [r["headers"] for r in requests if r["message"]["method"] == "tools/call"]
        self.assertEqual((calls[0]["mcp-name"], calls[0]["mcp-method"]), ("greet", "tools/call"))
        self.assertEqual((calls[0]["mcp-param-region"], calls[0]["mcp-param-n"], calls[0]["mcp-param-on"]),
                         ("=?base64?T8W8YXLDs3c=?=", "7", "true"))
        self.assertEqual(calls[1]["mcp-param-region"], "plain")
        self.assertNotIn("mcp-param-n", calls[1])

    def test_questions_inside_a_result(self):
        schema = {"type": "object", "properties": {"city": {"type": "string"}}}
        asked = {"where": {"method": "elicitation/create", "params": {"message": "Where?", "requestedSchema": schema}},
                 "roots": {"method": "roots/list"}}
        server = self.script("stub", stateless=True, tools=[tool("look", {"input": asked, "state": "opaque"}, {"answer": True})])
        _, seen = self.run_with({"stub": {**server, "roots": ["/data"]}}, call("look"))
        self.assertIn('"where": {"action": "decline"}', seen[0])
        self.assertIn('"roots": {"roots": [{"uri": "file:///data"}]}', seen[0])
        self.assertIn('"state": "opaque"', seen[0])
        config = self.write("config.yaml", json.dumps({"mcp-servers": {"stub": server}, "tools": "visit"}))
        terminal = Terminal(self, "tools", "call", "look", "--config", config)
        self.assertTrue(terminal.read_until("Where?"), terminal.output)
        os.write(terminal.master, b"Oslo\r")
        self.assertIn('"where": {"action": "accept", "content": {"city": "Oslo"}}', terminal.finish()[1])

    def test_a_server_that_never_stops_asking(self):
        forever = [{"result": {"resultType": "input_required", "requestState": "more"}}]
        server = self.script("stub", stateless=True, tools=[tool("look", *forever), tool("odd", {"result": {"resultType": "x"}})])
        _, seen = self.run_with({"stub": server}, call("look"), call("odd"))
        self.assertIn("not understood", seen[0])
        self.assertIn("not understood", seen[1])

    def test_a_change_over_a_subscription(self):
        more = [tool("fresh", {"text": "new and shiny"})]
        tools = [tool("grow", {"sleep": 200}, {"tools": more, "add": True}, {"listed": True}, {"sleep": 500}, {"text": "grown"})]
        for server in (self.script("stub", stateless=True, tools=tools), self.web_script(stateless=True, tools=tools)[0]):
            _, seen = self.run_with({"any": server}, call("grow"), call("fresh"))
            self.assertIn("new and shiny", seen[1])


@unittest.skipUnless(HAVE_REAL, "the servers from npm are not there: scripts/mcp-servers installs them")
class Real(McpTest):
    def everything(self):
        return {"command": "node", "args": [str(REAL / "server-everything/dist/index.js")]}

    @contextlib.contextmanager
    def everything_at_an_address(self):
        for _ in range(20):
            with socket.create_server(("127.0.0.1", 0)) as free:
                port = free.getsockname()[1]
            server = subprocess.Popen(["node", str(REAL / "server-everything/dist/index.js"), "streamableHttp"],
                                      env={"PATH": os.environ["PATH"], "PORT": str(port)}, stdout=subprocess.DEVNULL,
                                      stderr=subprocess.PIPE, text=True)
            try:
                for line in server.stderr:
                    if "listening" in line.lower():
                        break
                else:
                    continue
                # It says so before it knows whether somebody else has taken the port meanwhile.
                with contextlib.suppress(subprocess.TimeoutExpired):
                    server.wait(timeout=0.5)
                    continue
                yield {"url": f"http://127.0.0.1:{port}/mcp"}
                return
            finally:
                server.kill()
                server.wait()
                server.stderr.close()

    def check_everything(self, servers):
        done, seen = self.run_with(servers, call("echo", message="hello there"), call("get-sum", a=2, b=40),
                                   call("trigger-long-running-operation", duration=1, steps=4),
                                   call("get-structured-content", location="Chicago"), call("get-tiny-image"),
                                   call("get-resource-links", count=2))
        self.assertIn("hello there", seen[0])
        self.assertIn("42", seen[1])
        self.assertIn("completed", seen[2])
        self.assertIn("temperature", seen[3])
        self.assertIn("image/png", seen[4])
        self.assertIn("](demo://resource", seen[5])
        self.assertEqual(json.loads(done.stdout)["tool_failures"], 0)

    def test_everything_over_stdio(self):
        self.check_everything({"everything": self.everything()})

    def test_everything_over_http(self):
        with self.everything_at_an_address() as server:
            self.check_everything({"everything": server})

    def test_filesystem(self):
        self.write("data/notes.txt", "The lighthouse was built in 1871.\n")
        self.write("secret.txt", "not for you\n")
        servers = {"files": {"command": "node", "args": [str(REAL / "server-filesystem/dist/index.js"), self.path("data")]}}
        done, seen = self.run_with(servers, call("list_directory", path=self.path("data")),
                                   call("read_text_file", path=self.path("data/notes.txt")),
                                   call("read_text_file", path=self.path("secret.txt")))
        self.assertIn("notes.txt", seen[0])
        self.assertIn("built in 1871", seen[1])
        self.assertIn("denied", seen[2].lower())
        self.assertNotIn("not for you", seen[2])
        self.assertEqual(json.loads(done.stdout)["tool_failures"], 1)


if __name__ == "__main__":
    unittest.main()
