#!/usr/bin/env python3
"""Scripted services of scholarly search for tests of the whole program, standard library only.

    stub_scholar.py [--script FILE.json] [--port 0] [--host 127.0.0.1] [--log FILE.jsonl] [--watch-stdin]

Prints its port on stdout, as one line, once it listens. Ends on SIGTERM and SIGINT, and with --watch-stdin when its stdin is
closed. Every request is logged as one JSON line: {"at_ms", "method", "path", "headers", "body"}.

    POST /serper      Serper's scholar; the key must be the script's "serper_key" when it has one
    GET  /openalex    OpenAlex's works; /s2 Semantic Scholar's paper/search; /crossref Crossref's works; /arxiv arXiv's query

Each answers in its documented form, with the files of tests/data/scholar. A script is an object; each member may be left out:

    "serper_key"      what Serper asks for
    "replies"         {"serper" | "openalex" | "s2" | "crossref" | "arxiv": {"status", "headers", "body", "delay_ms"}}
"""
import argparse
import json
import os
import pathlib
import signal
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

DATA = pathlib.Path(__file__).resolve().parent.parent / "data" / "scholar"
SAMPLES = {"serper": "serper.json", "openalex": "openalex.json", "s2": "semantic_scholar.json", "crossref": "crossref.json",
           "arxiv": "arxiv.xml"}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    script = {}
    log_file = None
    lock = threading.Lock()
    began = time.monotonic()

    def log_message(self, format, *arguments):
        pass

    def answer(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        line = {"at_ms": int((time.monotonic() - self.began) * 1000), "method": self.command, "path": self.path,
                "headers": dict(self.headers), "body": body.decode("utf-8", "replace")}
        with self.lock:
            if self.log_file:
                self.log_file.write(json.dumps(line) + "\n")
                self.log_file.flush()
        service = self.path.lstrip("/").split("?")[0]
        reply = self.script.get("replies", {}).get(service)
        key = self.script.get("serper_key")
        if reply is None and service == "serper" and key is not None and self.headers.get("X-API-KEY") != key:
            reply = {"status": 403, "body": '{"message": "Unauthorized.", "statusCode": 403}'}
        if reply is None and service in SAMPLES:
            reply = {"body": (DATA / SAMPLES[service]).read_text("utf-8")}
        self.send(reply or {"status": 404, "body": "no such service"}, service)

    def send(self, reply, service):
        time.sleep(reply.get("delay_ms", 0) / 1000)
        data = reply.get("body", "").encode()
        self.send_response(reply.get("status", 200))
        self.send_header("Content-Type", "application/atom+xml" if service == "arxiv" else "application/json")
        self.send_header("Content-Length", str(len(data)))
        for name, value in reply.get("headers", {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST = answer


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--script")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--log")
    parser.add_argument("--watch-stdin", action="store_true")
    options = parser.parse_args()
    if options.script:
        Handler.script = json.loads(pathlib.Path(options.script).read_text("utf-8"))
    if options.log:
        Handler.log_file = open(options.log, "w", encoding="utf-8")
    server = ThreadingHTTPServer((options.host, options.port), Handler)
    server.daemon_threads = True
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: os._exit(0))
    print(server.server_address[1], flush=True)
    if options.watch_stdin:
        threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
    server.serve_forever()


if __name__ == "__main__":
    main()
