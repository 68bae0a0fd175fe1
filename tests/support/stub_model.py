#!/usr/bin/env python3
"""A scripted model server for tests of the whole program: OpenAI's wire format over real sockets, standard library only.

    stub_model.py --script FILE.json [--port 0] [--log FILE.jsonl]
    stub_model.py --replay TRAJECTORIES.jsonl[.gz] [--port 0] [--log FILE.jsonl]

Prints its port on stdout, as one line, once it listens. Ends on SIGTERM and SIGINT, and with --watch-stdin when its stdin is
closed. Every request is logged as one JSON line: {"n", "at_ms", "method", "path", "headers", "body"}, and "parts" for the parts of a form.

A script is an object:

    "models"    what GET …/models lists: a list of names or objects; absent: ["stub"]; null: 404
    "get"       further replies to GET by path, {"/props": {…}}; a value that is a reply object with "status" is played
    "replies"   one for each completion request, in order; the last serves all that follow, unless "repeat_last" is false
                (then: 500)
    "post"      replies to POST by path in the same way
    "chat"      how the server writes and counts a chat: {"template": a name of byte_tokenizer.py, "tokenize": true (it has
                vLLM's /tokenize), "apply": true (it has llama.cpp's /apply-template), "more": tokens that the server adds to
                each prompt beyond that}; with it "usage" "counted" is exact
    "rules"     replies with "when": the first rule whose text occurs in the last message, and that has been used fewer than
                "times" times (default: any), goes before the list
    "check"     what every completion request must hold, else it is answered with 418 and logged under "problem":
                "alternate" (roles), "stop" (a <tool_response> stop string), "bearer" ("KEY", or null: no key at all),
                "stream" (true or false), "blocks" (user messages after the first are tool_response blocks)

A reply is one of

    {"text": …}         a completion, streamed when the request says so. With
                        "reasoning", "reasoning_field" (default reasoning_content), "tool_calls" (as in a whole message),
                        "finish_reason" (default "stop"; null: none), "model", "done" (false: no [DONE]),
                        "usage" (object, null, "counted" by the reference tokenizer, or "auto": some four bytes a token, the
                default), "usage_in" ("last", "every",
                        "own": a chunk without choices, the default), "chunk" (bytes of text for each event, default 24),
                        "role_chunk" (false: leave it out), "json" (true: one JSON object although a stream was asked for)
    {"events": […]}     the data of each event, as text or as a value; no [DONE] is added
    {"body": …}         text or value, with "type" (default application/json)
    {"hang": true}      nothing at all, until the client leaves
    {"echo": true}      the request itself, as a completion's text
    {"close": true}     the connection is closed without a response

and any of them may have "status" (default 200), "headers" {…}, "first_delay_ms" (before the head), "delay_ms" (between
events), "comments" (that many ": keep-alive" events before the first), "comment_ms" (between them), "cut_after" (bytes of the
body, then the connection is closed), "stall_after" (bytes of the body, then silence), "split" (bytes for each write; 1 sends
one byte at a time).

With --replay the k-th completion of a conversation is the k-th assistant message of the recorded trajectory whose question
the request holds.
"""
import argparse
import gzip
import json
import os
import re
import signal
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import byte_tokenizer

OPEN, CLOSE = "<tool_response>", "</tool_response>"


def form_parts(content_type, body):
    """The parts of a multipart/form-data body: the text of a field, the length and first bytes of a file."""
    boundary = re.fullmatch(r"multipart/form-data; boundary=(\S+)", content_type)
    parts = {}
    for part in body.split(b"--" + boundary[1].encode())[1:-1] if boundary else ():
        head, _, content = part.strip(b"\r\n").partition(b"\r\n\r\n")
        name = re.search(rb'name="([^"]*)"', head)[1].decode()
        file = re.search(rb'filename="([^"]*)"', head)
        parts[name] = {"filename": file[1].decode(), "length": len(content), "begins": content[:4].hex()} if file \
            else content.decode()
    return parts


class Cut(Exception):
    """The script ends the connection here."""


class Script:
    def __init__(self, document):
        self.document = document
        self.lock = threading.Lock()
        self.next = 0
        self.used = {}

    def reply(self, request, last_message):
        with self.lock:
            for index, rule in enumerate(self.document.get("rules", [])):
                if rule["when"] in last_message and self.used.get(index, 0) < rule.get("times", 1 << 60):
                    self.used[index] = self.used.get(index, 0) + 1
                    return rule
            replies = self.document.get("replies", [])
            if self.next >= len(replies):
                if not replies or not self.document.get("repeat_last", True):
                    return {"status": 500, "body": {"error": {"message": "the script is at its end"}}}
                return replies[-1]
            self.next += 1
            return replies[self.next - 1]

    def models(self):
        return self.document.get("models", ["stub"])

    def get(self, path):
        return self.document.get("get", {}).get(path)

    def post(self, path, request):
        given, chat = self.document.get("post", {}).get(path), self.document.get("chat", {})
        if given is None and isinstance(request, dict) and "messages" in request:
            if path == "/tokenize" and chat.get("tokenize"):
                ids = byte_tokenizer.encode(byte_tokenizer.render(chat["template"], request["messages"]))
                return {"count": len(ids), "max_model_len": 65536, "tokens": ids, "token_strs": None}
            if path == "/apply-template" and chat.get("apply"):
                return {"prompt": byte_tokenizer.render(chat["template"], request["messages"], begin=False)}
        if given is None and chat.get("apply") and path == "/tokenize":
            front = [byte_tokenizer.SPECIAL_IDS["<|begin|>"]] if chat["template"] == "harbour" else []
            return {"tokens": front if request.get("add_special") else []}
        return given

    def counted(self, request, text):
        template = self.document["chat"]["template"]
        prompt = len(byte_tokenizer.encode(request["prompt"])) if "prompt" in request else \
            byte_tokenizer.count(template, request["messages"])
        prompt += self.document["chat"].get("more", 0)
        completion = len(byte_tokenizer.encode(text)) + 1  # the token that ends a turn
        return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}

    def check(self):
        return self.document.get("check", {})


class Replay:
    """Answers with what a real model wrote."""

    def __init__(self, path):
        opener = gzip.open if path.endswith(".gz") else open
        self.trajectories = []
        with opener(path, "rt", encoding="utf-8") as lines:
            for line in lines:
                messages = json.loads(line)["messages"]
                first = next(m["content"] for m in messages if m["role"] == "user")
                answers = [m["content"] for m in messages if m["role"] == "assistant"]
                self.trajectories.append((question_of(first), answers))
        self.trajectories.sort(key=lambda item: -len(item[0]))  # of two that both occur the longer is meant

    def reply(self, request, last_message):
        messages = request.get("messages", [])
        asked = next((m["content"] for m in messages if m["role"] == "user"), request.get("prompt", ""))
        turn = sum(m["role"] == "assistant" for m in messages)
        for question, answers in self.trajectories:
            if question in asked:
                if turn < len(answers):
                    return {"text": answers[turn], "chunk": 200}
                return {"status": 500, "body": {"error": {"message": "the recording has only %d turns" % len(answers)}}}
        return {"status": 500, "body": {"error": {"message": "no recording of this question"}}}

    def models(self):
        return ["recorded"]

    def get(self, path):
        return None

    def post(self, path, request):
        return None

    def check(self):
        return {}


def question_of(first_user_message):
    """What the user asked, without the instructions that a recording's first message begins with."""
    tail = re.split(r"</tools>|\nUser: |\nUser:|\nQuestion: ", first_user_message)[-1]
    return tail.strip().split("\n\n")[-1].strip()


def problems(check, request, headers):
    messages = request.get("messages", [])
    roles = [m.get("role") for m in messages]
    if check.get("alternate"):
        turns = roles[1:] if roles[:1] == ["system"] else roles
        if turns != [("user", "assistant")[i % 2] for i in range(len(turns))] or turns[-1:] != ["user"]:
            yield "roles do not alternate: %s" % roles
    if check.get("stop") and not any(OPEN in stop for stop in request.get("stop") or []):
        yield "no stop string"
    if "bearer" in check:
        expected = "Bearer " + check["bearer"] if check["bearer"] else None
        if headers.get("authorization") != expected:
            yield "authorization is not what it should be"
    if "stream" in check and request.get("stream", False) != check["stream"]:
        yield "stream is %r" % request.get("stream")
    if check.get("blocks"):
        for message in [m for m in messages if m["role"] == "user"][1:]:
            if not message["content"].startswith(OPEN) or not message["content"].endswith(CLOSE):
                yield "a later user message is no tool response"


def pieces(text, size):
    """Cuts text into pieces of about `size` bytes, between characters."""
    piece, used = [], 0
    for char in text:
        piece.append(char)
        used += len(char.encode())
        if used >= size:
            yield "".join(piece)
            piece, used = [], 0
    if piece:
        yield "".join(piece)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "stub"

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.note(None)
        path = self.path.split("?")[0]
        given = self.server.source.get(path)
        if given is not None:
            self.play(given if "status" in given or "hang" in given else {"body": given}, {})
        elif path.endswith("/models") and self.server.source.models() is not None:
            data = [m if isinstance(m, dict) else {"id": m, "object": "model", "owned_by": "stub"}
                    for m in self.server.source.models()]
            self.play({"body": {"object": "list", "data": data}}, {})
        else:
            self.play({"status": 404, "body": {"error": {"message": "no such path"}}}, {})

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        try:
            request = json.loads(body)
        except ValueError:
            request = None
        path = self.path.split("?")[0]
        if not path.endswith("/completions"):
            self.note(request, parts=form_parts(self.headers.get("Content-Type") or "", body))
            self.do_other(path, request)
            return
        headers = {key.lower(): value for key, value in self.headers.items()}
        found = ["the body is no JSON object"] if not isinstance(request, dict) else \
            list(problems(self.server.source.check(), request, headers))
        self.note(request, found)
        if found:
            self.play({"status": 418, "body": {"error": {"message": "; ".join(found)}}}, {})
            return
        messages = request.get("messages") or [{"content": request.get("prompt", "")}]
        self.play(self.server.source.reply(request, messages[-1].get("content") or ""), request)

    def do_other(self, path, request):
        given = self.server.source.post(path, request)
        given = self.server.source.get(path) if given is None else given
        if given is None:
            self.play({"status": 404, "body": "no such path"}, {})
        else:
            self.play(given if isinstance(given, dict) and ("status" in given or "hang" in given) else {"body": given}, {})

    def note(self, request, found=(), parts=None):
        entry = {"n": 0, "at_ms": int(time.monotonic() * 1000), "method": self.command, "path": self.path,
                 "headers": {key.lower(): value for key, value in self.headers.items()}, "body": request}
        if parts:
            entry["parts"] = parts
        if found:
            entry["problem"] = "; ".join(found)
        self.server.write_log(entry)

    # ---- playing a reply ----

    def play(self, reply, request):
        self.reply, self.sent = reply, 0
        try:
            if reply.get("close"):
                raise Cut
            if reply.get("hang"):
                self.wait_for_client()
                raise Cut
            time.sleep(reply.get("first_delay_ms", 0) / 1000)
            if "events" in reply:
                self.stream(d if isinstance(d, str) else json.dumps(d, ensure_ascii=False) for d in reply["events"])
            elif "body" in reply or "status" in reply and "text" not in reply:
                self.whole(reply.get("body", ""))
            elif request.get("stream") and not reply.get("json"):
                self.stream(self.completion_events(request))
            else:
                self.whole(self.completion_object(request))
        except (Cut, BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def completion_text(self, request):
        return json.dumps(request, ensure_ascii=False) if self.reply.get("echo") else self.reply["text"]

    def usage(self, request, text):
        usage = self.reply.get("usage", "auto")
        if usage == "counted":
            return self.server.source.counted(request, text)
        if usage != "auto":
            return usage
        prompt = sum(len((m.get("content") or "").encode()) for m in request.get("messages", [])) or \
            len(request.get("prompt", "").encode())
        return {"prompt_tokens": prompt // 4 + 8, "completion_tokens": len(text.encode()) // 4 + 1,
                "total_tokens": prompt // 4 + len(text.encode()) // 4 + 9}

    def frame(self, request, choices, usage=None):
        chat = "messages" in request
        frame = {"id": "stub-1", "object": "chat.completion.chunk" if chat else "text_completion", "created": 1,
                 "model": self.reply.get("model", request.get("model", "stub")), "choices": choices}
        if usage is not None:
            frame["usage"] = usage
        return frame

    def completion_object(self, request):
        text = self.completion_text(request)
        choice = {"index": 0, "finish_reason": self.reply.get("finish_reason", "stop")}
        if "messages" in request:
            choice["message"] = {"role": "assistant", "content": text}
            if "reasoning" in self.reply:
                choice["message"][self.reply.get("reasoning_field", "reasoning_content")] = self.reply["reasoning"]
            if "tool_calls" in self.reply:
                choice["message"]["tool_calls"] = self.reply["tool_calls"]
        else:
            choice["text"] = text
        return self.frame(request, [choice], self.usage(request, text))

    def completion_events(self, request):
        chat, reply = "messages" in request, self.reply
        text, size = self.completion_text(request), reply.get("chunk", 24)
        usage = self.usage(request, text)
        every = usage if reply.get("usage_in") == "every" else None

        def event(delta, reason=None, counted=every):
            choice = {"index": 0, "finish_reason": reason}
            choice.update({"delta": delta} if chat else {"text": delta.get("content", "")})
            return json.dumps(self.frame(request, [choice], counted), ensure_ascii=False)

        if chat and reply.get("role_chunk", True):
            yield event({"role": "assistant", "content": ""})
        for piece in pieces(reply.get("reasoning", ""), size):
            yield event({reply.get("reasoning_field", "reasoning_content"): piece})
        for piece in pieces(text, size):
            yield event({"content": piece})
        for index, call in enumerate(reply.get("tool_calls", [])):
            function = call["function"]
            yield event({"tool_calls": [{"index": index, "id": call.get("id", "c%d" % index), "type": "function",
                                         "function": {"name": function["name"], "arguments": ""}}]})
            for piece in pieces(function["arguments"], size):
                yield event({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
        reason = reply.get("finish_reason", "stop")
        if reason is not None:
            yield event({}, reason, usage if reply.get("usage_in") in ("last", "every") else None)
        wanted = (request.get("stream_options") or {}).get("include_usage")
        if usage is not None and reply.get("usage_in", "own") == "own" and wanted:
            yield json.dumps(self.frame(request, [], usage))
        if reply.get("done", True):
            yield "[DONE]"

    def head(self, media_type, length):
        self.send_response(self.reply.get("status", 200))
        headers = {"Content-Type": media_type}
        headers.update(self.reply.get("headers", {}))
        for name, value in headers.items():
            self.send_header(name, value)
        if length is None:
            self.send_header("Transfer-Encoding", "chunked")
        else:
            self.send_header("Content-Length", str(length))
        self.end_headers()

    def stream(self, events):
        self.head(self.reply.get("type", "text/event-stream"), None)
        for _ in range(self.reply.get("comments", 0)):
            self.put(b": keep-alive\n\n", True)
            time.sleep(self.reply.get("comment_ms", 10) / 1000)
        for data in events:
            self.put(("data: %s\n\n" % data).encode(), True)
            if self.reply.get("delay_ms"):
                time.sleep(self.reply["delay_ms"] / 1000)
        self.wfile.write(b"0\r\n\r\n")

    def whole(self, body):
        data = (body if isinstance(body, str) else json.dumps(body, ensure_ascii=False)).encode()
        self.head(self.reply.get("type", "application/json"), len(data))
        self.put(data, False)

    def put(self, data, chunked):
        """Writes body bytes, in as many writes as the script says, and ends where it says."""
        size = self.reply.get("split") or len(data) or 1
        for start in range(0, len(data), size):
            piece = data[start:start + size]
            for key in ("cut_after", "stall_after"):
                limit = self.reply.get(key)
                if limit is not None and self.sent + len(piece) >= limit:
                    self.put_raw(piece[:limit - self.sent], chunked)
                    if key == "stall_after":
                        self.wait_for_client()
                    raise Cut
            self.put_raw(piece, chunked)
            self.sent += len(piece)

    def put_raw(self, piece, chunked):
        if piece:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece) if chunked else piece)
            self.wfile.flush()

    def wait_for_client(self):
        """Says nothing until the client closes the connection."""
        self.wfile.flush()
        self.connection.settimeout(600)
        try:
            while self.connection.recv(4096):
                pass
        except OSError:
            pass


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 1024

    def __init__(self, address, source, log):
        super().__init__(address, Handler)
        self.source, self.log, self.count, self.lock = source, log, 0, threading.Lock()

    def handle_error(self, request, client_address):
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)

    def write_log(self, entry):
        with self.lock:
            self.count += 1
            entry["n"] = self.count
            if self.log:
                self.log.write(json.dumps(entry, ensure_ascii=False) + "\n")
                self.log.flush()


def main():
    parser = argparse.ArgumentParser(description="A scripted model server for tests.")
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--script", help="a script, or - for stdin")
    source.add_argument("--replay", help="recorded trajectories")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--log", help="append every request to this file")
    parser.add_argument("--watch-stdin", action="store_true", help="end when stdin is closed")
    options = parser.parse_args()
    if options.replay:
        replies = Replay(options.replay)
    else:
        with (sys.stdin if options.script == "-" else open(options.script, encoding="utf-8")) as file:
            replies = Script(json.load(file))
    log = open(options.log, "a", encoding="utf-8") if options.log else None
    server = Server((options.host, options.port), replies, log)

    def stop(*_):
        threading.Thread(target=server.shutdown, daemon=True).start()

    def watch():
        while os.read(0, 4096):
            pass
        stop()

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    if options.watch_stdin:
        threading.Thread(target=watch, daemon=True).start()
    print(server.server_address[1], flush=True)
    server.serve_forever(poll_interval=0.05)
    server.server_close()


if __name__ == "__main__":
    main()
