#!/usr/bin/env python3
"""A scripted MCP server for tests of the whole program, over stdio or streamable HTTP, standard library only.

    stub_mcp.py --script FILE.json [--log FILE.jsonl]
    stub_mcp.py --script FILE.json --http [--port 0] [--log FILE.jsonl] [--watch-stdin]

Over HTTP it prints its port on stdout once it listens. Every message that comes is logged as one JSON line, over HTTP as
{"method" of HTTP, "headers", "message"}; the start, the end of stdin and SIGTERM are logged as {"event": …}.

A script is an object; all members may be absent:

    "version"       the revision it answers with (default: the one it is asked for)
    "capabilities"  default {"tools": {"listChanged": true}}
    "initialize"    "hang", or an error object to answer with
    "hello"         raw lines before anything else
    "exit"          {"code", "stderr"}: ends at once; with "times" only in its first starts (counted in the script's folder)
    "stateless"     revision 2026-07-28 and no other: no initialize, metadata in every request (and over HTTP in headers)
    "deaf"          does not end when stdin is closed or on SIGTERM
    "page"          tools in one page of tools/list; "loop": true gives the same cursor for ever
    "tools"         [{"name", "description", "inputSchema", …, "do": […]}]: "do" is what a call does, step by step

A step is one of

    {"result": …}  {"text": …}   answers: a whole result, or one text
    {"error": {"code", "message"}}
    {"echo": true}               answers with the arguments
    {"environment": true}        answers with the environment
    {"progress": N, "ms": M}     N notifications with M ms before each
    {"sleep": MS}  {"hang": true}
    {"notify": [method, params]}
    {"ask": [method, params]}    a request to the client; its answer is what {"answer": true} answers with
    {"answer": true}
    {"raw": TEXT}                bytes as they are (stdio: with a newline), "{id}" is the request's number
    {"flood": N}                 N lines of a notification
    {"tools": […]}               has these tools from now on, and says so
    {"listed": true}             waits until the client has asked for them, and its answer was sent
    {"crash": CODE, "stderr": …} ends, in the first call of the first start only when "once"
    {"input": {…}, "state": …}   asks inside a result, unless the call comes with answers: {"answer": true} gives those
    {"cut": true}                HTTP: the stream ends here; the rest comes on the one that asks for more

and over HTTP the script may hold

    "json"     answers are JSON objects, not streams
    "session"  false: no session; a number: the session is forgotten after so many requests, once
    "status"   every request is answered with this code
    "key"      the Authorization header that is asked for, else 401
    "talk"     false: GET is answered with 405
"""
import argparse
import json
import os
import pathlib
import queue
import signal
import sys
import threading
import time
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Server:
    """What both transports share. A channel is where the answer to one request goes: `send` takes a message or raw text."""

    def __init__(self, script, log):
        self.script, self.log_path, self.lock = script, log, threading.Lock()
        self.tools, self.waiting, self.asked = script.get("tools", []), {}, 0
        self.listed = threading.Event()
        self.broadcast = lambda message: None

    def log(self, entry):
        with self.lock:
            if self.log_path:
                with open(self.log_path, "a", encoding="utf-8") as file:
                    file.write(json.dumps(entry) + "\n")

    def handle(self, message, channel):
        if "method" not in message:
            box = self.waiting.pop(message.get("id"), None)
            if box:
                box.put(message)
        elif "id" in message:
            threading.Thread(target=self.answer, args=(message, channel), daemon=True).start()

    def answer(self, message, channel):
        method, params = message["method"], message.get("params") or {}
        stateless = self.script.get("stateless")
        if stateless and (method == "initialize" or not self.has_metadata(params)):
            self.reply(message, channel, error={"code": -32602, "message": "this server speaks 2026-07-28"})
        elif method == "initialize":
            self.initialize(message, params, channel)
        elif stateless and method == "server/discover":
            self.reply(message, channel, {"resultType": "complete", "supportedVersions": ["2026-07-28"],
                                          "capabilities": {"tools": {"listChanged": True}}})
        elif stateless and method == "subscriptions/listen":
            meta = {"io.modelcontextprotocol/subscriptionId": message["id"]}
            channel.send({"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged",
                          "params": {"_meta": meta, "notifications": {"toolsListChanged": True}}})
            self.broadcast = lambda news: channel.send({**news, "params": {"_meta": meta}})
        elif method == "tools/list":
            self.list(message, params, channel)
        elif method == "tools/call":
            self.call(message, params, channel)
        elif method in ("ping", "logging/setLevel"):
            self.reply(message, channel, {})
        else:
            self.reply(message, channel, error={"code": -32601, "message": f"Method not found: {method}"})

    @staticmethod
    def has_metadata(params):
        meta = params.get("_meta", {})
        return meta.get("io.modelcontextprotocol/protocolVersion") == "2026-07-28" and \
            isinstance(meta.get("io.modelcontextprotocol/clientCapabilities"), dict)

    def reply(self, message, channel, result=None, error=None):
        answer = {"jsonrpc": "2.0", "id": message["id"]}
        answer.update({"error": error} if error else {"result": result})
        channel.send(answer)
        channel.end()

    def initialize(self, message, params, channel):
        how = self.script.get("initialize")
        if how == "hang":
            return
        self.reply(message, channel, {
            "protocolVersion": self.script.get("version", params.get("protocolVersion")),
            "capabilities": self.script.get("capabilities", {"tools": {"listChanged": True}}),
            "serverInfo": {"name": "stub", "version": "1"}}, error=how)

    def list(self, message, params, channel):
        shown = [{k: v for k, v in tool.items() if k != "do"} if isinstance(tool, dict) else tool for tool in self.tools]
        size = self.script.get("page", len(shown) or 1)
        start = int(params.get("cursor", "0"))
        result = {"tools": shown[start:start + size]}
        if self.script.get("loop"):
            result["nextCursor"] = "0"
        elif start + size < len(shown):
            result["nextCursor"] = str(start + size)
        self.reply(message, channel, result)
        if "nextCursor" not in result:
            self.listed.set()

    def call(self, message, params, channel):
        tool = next((t for t in self.tools if isinstance(t, dict) and t.get("name") == params.get("name")), None)
        if tool is None:
            self.reply(message, channel, error={"code": -32602, "message": f"Unknown tool: {params.get('name')}"})
            return
        said = None
        for step in tool.get("do", [{"echo": True}]):
            if "input" in step:
                said = {"responses": params.get("inputResponses"), "state": params.get("requestState")}
                if not params.get("inputResponses"):
                    self.reply(message, channel, {"resultType": "input_required", "inputRequests": step["input"],
                                                  "requestState": step.get("state")})
                    return
            else:
                said = self.step(step, message, params, channel, said)

    def step(self, step, message, params, channel, said):
        text = None
        if "result" in step:
            self.reply(message, channel, step["result"])
        elif "error" in step:
            self.reply(message, channel, error=step["error"])
        elif "text" in step:
            text = step["text"]
        elif "echo" in step:
            text = json.dumps(params.get("arguments"), sort_keys=True)
        elif "environment" in step:
            text = "\n".join(f"{k}={v}" for k, v in sorted(os.environ.items()))
        elif "answer" in step:
            text = json.dumps(said, sort_keys=True)
        elif "progress" in step:
            for i in range(step["progress"]):
                time.sleep(step.get("ms", 0) / 1000)
                channel.send({"jsonrpc": "2.0", "method": "notifications/progress", "params": {
                    "progressToken": params["_meta"]["progressToken"], "progress": i + 1, "total": step["progress"],
                    "message": f"step {i + 1}"}})
        elif "sleep" in step:
            time.sleep(step["sleep"] / 1000)
        elif "hang" in step:
            time.sleep(3600)
        elif "notify" in step:
            channel.send({"jsonrpc": "2.0", "method": step["notify"][0], "params": step["notify"][1]})
        elif "ask" in step:
            self.asked += 1
            number, box = f"q{self.asked}", queue.Queue()
            self.waiting[number] = box
            channel.send({"jsonrpc": "2.0", "id": number, "method": step["ask"][0], "params": step["ask"][1]})
            answer = box.get(timeout=30)
            said = answer.get("result", answer.get("error"))
        elif "raw" in step:
            channel.send(step["raw"].replace("{id}", str(message["id"])))
        elif "flood" in step:
            for _ in range(step["flood"]):
                channel.send({"jsonrpc": "2.0", "method": "notifications/message",
                              "params": {"level": "error", "data": "flood " * 20}})
        elif "listed" in step:
            assert self.listed.wait(30), "nobody asks for the new tools"
        elif "tools" in step:
            self.listed.clear()
            self.tools = step["tools"] + self.tools if step.get("add") else step["tools"]
            self.broadcast({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
        elif "crash" in step:
            if not step.get("once") or not self.was_here("crashed"):
                sys.stderr.write(step.get("stderr", ""))
                sys.stderr.flush()
                os._exit(step["crash"])
        elif "cut" in step:
            channel.cut()
        if text is not None:
            self.reply(message, channel, {"content": [{"type": "text", "text": text}]})
        return said

    def was_here(self, name):
        """Whether this was asked before, by this process or an earlier one."""
        mark = pathlib.Path(self.log_path + "." + name)
        with self.lock:
            here = mark.exists()
            mark.touch()
        return here


# ---- stdio ----

class Stdio:
    def __init__(self):
        self.lock = threading.Lock()

    def send(self, message):
        line = message if isinstance(message, str) else json.dumps(message)
        with self.lock:
            sys.stdout.buffer.write(line.encode("utf-8", "surrogateescape") + b"\n")
            sys.stdout.buffer.flush()

    def end(self):
        pass

    cut = end


def serve_stdio(server):
    channel = Stdio()
    server.broadcast = channel.send
    script = server.script
    if script.get("deaf"):
        signal.signal(signal.SIGTERM, lambda *_: server.log({"event": "SIGTERM"}))
    server.log({"event": "start", "pid": os.getpid(), "cwd": os.getcwd()})
    leave = script.get("exit")
    if leave and (not leave.get("times") or not server.was_here("left")):
        sys.stderr.write(leave.get("stderr", ""))
        sys.stderr.flush()
        sys.exit(leave.get("code", 1))
    for line in script.get("hello", []):
        channel.send(line)
    for line in sys.stdin.buffer:
        message = json.loads(line)
        server.log(message)
        server.handle(message, channel)
    server.log({"event": "end of stdin"})
    while script.get("deaf"):
        time.sleep(1)


# ---- HTTP ----

class Stream:
    """The answer to one POST: a stream of events, of which a later GET may ask for the rest."""

    def __init__(self, as_json):
        self.queue, self.as_json, self.sent, self.number = queue.Queue(), as_json, [], uuid.uuid4().hex[:8]

    def send(self, message):
        self.queue.put(message)

    def end(self):
        self.queue.put(None)

    def cut(self):
        self.queue.put(Ellipsis)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "stub_mcp"

    def log_message(self, *arguments):
        pass

    def respond(self, code, body=b"", kind="application/json", headers=()):
        self.send_response(code)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def refused(self, message):
        """Whether the script wants the request refused; it is answered then."""
        stub, script = self.server.stub, self.server.stub.script
        stub.log({"http": self.command, "headers": {k.lower(): v for k, v in self.headers.items()}, "message": message})
        if "status" in script:
            self.respond(script["status"], b"no")
        elif "key" in script and self.headers.get("Authorization") != script["key"]:
            self.respond(401, b"who are you")
        elif script.get("stateless") and (message is None or not self.has_headers(message)):
            self.respond(400 if message else 405, json.dumps({"jsonrpc": "2.0", "id": None, "error": {
                "code": -32020, "message": "Header mismatch"}}).encode())
        elif self.server.session and not (message or {}).get("method") == "initialize" and \
                self.headers.get("Mcp-Session-Id") != self.server.session:
            self.respond(404 if self.headers.get("Mcp-Session-Id") else 400, b"no such session")
        else:
            return False
        return True

    def has_headers(self, message):
        name = (message.get("params") or {}).get("name")
        given = self.headers.get("Mcp-Name")
        return self.headers.get("MCP-Protocol-Version") == "2026-07-28" and \
            self.headers.get("Mcp-Method") == message.get("method") and (name is None or given == name)

    def begin_stream(self, headers=()):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        self.close_connection = True

    def event(self, data, number=None):
        prefix = f"id: {number}\n" if number else ""
        text = data if isinstance(data, str) else json.dumps(data)
        self.wfile.write(f"{prefix}data: {text}\n\n".encode("utf-8", "surrogateescape"))
        self.wfile.flush()

    def pour(self, stream):
        """Passes a stream on until it ends or is cut."""
        while True:
            message = stream.queue.get()
            if message is None:
                return
            if message is Ellipsis:
                self.server.cut[stream.number] = stream
                self.wfile.write(f"id: {stream.number}\nretry: 60\ndata:\n\n".encode())
                self.wfile.flush()
                return
            self.event(message)

    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        stub, script, server = self.server.stub, self.server.stub.script, self.server
        if self.refused(message):
            return
        if "id" not in message or "method" not in message:
            stub.handle(message, None)
            self.respond(202)
            return
        headers = []
        if message["method"] == "initialize" and script.get("session") is not False and not script.get("stateless"):
            server.session = uuid.uuid4().hex
            headers = [("Mcp-Session-Id", server.session)]
        elif message["method"] == "tools/call" and isinstance(script.get("session"), int) and script.get("session"):
            server.calls += 1
            if server.calls > script["session"]:
                server.session, server.calls = "gone-" + uuid.uuid4().hex, -1000000
                self.respond(404, b"no such session")
                return
        stream = Stream(script.get("json"))
        stub.handle(message, stream)
        if script.get("json"):
            answer = stream.queue.get()
            while not (isinstance(answer, dict) and "id" in answer and "method" not in answer):
                answer = stream.queue.get()
            self.respond(200, json.dumps(answer).encode(), headers=headers)
            return
        self.begin_stream(headers)
        self.pour(stream)

    def do_GET(self):
        if self.refused(None):
            return
        stream = self.server.cut.pop(self.headers.get("Last-Event-ID"), None)
        if stream:
            self.begin_stream()
            self.pour(stream)
        elif self.server.stub.script.get("talk") is False:
            self.respond(405)
        else:
            self.begin_stream()
            talk = Stream(False)
            self.server.stub.broadcast = talk.send
            self.pour(talk)

    def do_DELETE(self):
        if not self.refused(None):
            self.respond(200)


class WebServer(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        pass  # a client that left


def serve_http(server, port, watch_stdin):
    web = WebServer(("127.0.0.1", port), Handler)
    web.stub, web.session, web.calls, web.cut = server, None, 0, {}
    print(web.server_address[1], flush=True)
    if watch_stdin:
        threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
    web.serve_forever()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--script", required=True)
    parser.add_argument("--log")
    parser.add_argument("--http", action="store_true")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--watch-stdin", action="store_true")
    options = parser.parse_args()
    with open(options.script, encoding="utf-8") as file:
        server = Server(json.load(file), options.log)
    if options.http:
        serve_http(server, options.port, options.watch_stdin)
    else:
        serve_stdio(server)


if __name__ == "__main__":
    main()
