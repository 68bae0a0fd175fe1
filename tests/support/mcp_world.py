"""What the tests of MCP servers share: scripted servers (stub_mcp.py) in a run of the whole program."""
import json
import sys

from flow import SUPPORT, FlowTest, completions, read_lines

STUB = str(SUPPORT / "stub_mcp.py")


def call(name, /, **arguments):
    return {"text": f"<think>I call.</think>\n<tool_call>\n{json.dumps({'name': name, 'arguments': arguments})}\n</tool_call>"}


ANSWER = {"text": "<think>Enough.</think>\n<answer>42</answer>"}


def tool(name, /, *steps, **more):
    return {"name": name, "description": f"Does {name}.", "inputSchema": {"type": "object", "properties": {}}, **more,
            "do": list(steps) or [{"echo": True}]}


class McpTest(FlowTest):
    """Runs with the servers of a configuration; what the model was told is the observation of each of its calls."""

    def script(self, name, **script):
        """A scripted stdio server: its entry of mcp-servers. Its log is `name`.jsonl."""
        path = self.write(f"{name}.script.json", json.dumps(script))
        return {"command": sys.executable, "args": ["-B", STUB, "--script", path, "--log", self.path(f"{name}.jsonl")]}

    def web_script(self, **script):
        address, log = self.serve("stub_mcp.py", script, "--http")
        return {"url": f"{address}/mcp"}, log

    def log(self, name):
        return read_lines(self.path(f"{name}.jsonl"))

    def run_with(self, servers, *replies, termination="answer", timeout=60, **settings):
        """A run whose model gives these replies and then answers; gives (Asked, its observations)."""
        url, log = self.stub({"replies": [*replies, ANSWER]})
        config = self.write("config.yaml", json.dumps({"mcp-servers": servers, "tools": "visit", **settings}))
        events = self.path("events.jsonl")
        done = self.run_fathom("ask", "What is it?", "--json", "--config", config, "--events", events, "--base-url", url,
                               timeout=timeout)
        self.assertNotIn("Sanitizer", done.stderr)
        self.assertEqual(json.loads(done.stdout)["termination"] if done.stdout else None, termination, done.stderr)
        messages = completions(log)[-1]["messages"]
        self.system = messages[0]["content"]
        return done, [m["content"] for m in messages[1:] if "<tool_response>" in m["content"]]

    def tools(self, servers, *arguments, code=0, **settings):
        config = self.write("config.yaml", json.dumps({"mcp-servers": servers, "tools": "visit", **settings}))
        done = self.expect(code, "tools", "--json", "--config", config, *arguments)
        return [t["name"] for t in json.loads(done.stdout)] if done.stdout else [], done.stderr
