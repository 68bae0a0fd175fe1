#!/usr/bin/env python3
"""How long tools take beside the services they wait for: searches of five queries and a visit of five pages, each request of
which takes 300 ms. The call itself is compared with a Python thread pool that sends the same requests, the whole command with
curl --parallel; medians over alternating runs.

Usage: tools.py PROGRAM"""
import asyncio
import concurrent.futures
import contextlib
import json
import os
import pathlib
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request

TOP = pathlib.Path(__file__).resolve().parent.parent
DELAY_MS = 300
RUNS = 15
AIM = 1.15
QUERIES = [f"question {i}" for i in range(5)]
HOSTS = [f"127.0.0.{i + 1}" for i in range(5)]  # five sites: one alone would be asked four times at once at most
WORDS = "The lighthouse of the northern cape was built in 1857 and its lamp can be seen from 21 miles away. "


def replies():
    """What the server says to a path, without its query."""
    results = [{"title": f"Result {n}", "url": f"https://site{n}.example/{n}", "content": WORDS * 2} for n in range(10)]
    papers = [{"display_name": f"Paper {n}", "doi": f"https://doi.org/10.5555/{n}", "publication_year": 1998,
               "cited_by_count": n, "authorships": [{"author": {"display_name": "Maria Oswin"}}],
               "abstract_inverted_index": {word: [at] for at, word in enumerate((WORDS * 2).split())}} for n in range(10)]
    page = "".join(f"<h2>Part {n}</h2><p>{WORDS * 10}</p>" for n in range(30))
    return {"/search": ("application/json", json.dumps({"results": results})),
            "/works": ("application/json", json.dumps({"results": papers})),
            "/page": ("text/html", f"<html><head><title>Lights</title></head><body><article>{page}</article></body></html>")}


class Server:
    """An HTTP server in a process of its own, for the time of a `with`: each reply goes out in one piece, 300 ms after its
    request."""

    def __enter__(self):
        listener = socket.create_server(("0.0.0.0", 0), backlog=64)
        self.port = listener.getsockname()[1]
        self.process = os.fork()
        if self.process == 0:
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            asyncio.run(self.serve(listener))
            os._exit(0)
        listener.close()
        return self

    def __exit__(self, *_):
        os.kill(self.process, signal.SIGKILL)
        os.waitpid(self.process, 0)

    async def serve(self, listener):
        said = {path: b"HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s"
                % (kind.encode(), len(body.encode()), body.encode()) for path, (kind, body) in replies().items()}

        async def answer(reader, writer):
            with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
                while head := await reader.readuntil(b"\r\n\r\n"):
                    await asyncio.sleep(DELAY_MS / 1000)
                    writer.write(said[head.split()[1].decode().split("?")[0]])
            writer.close()

        server = await asyncio.start_server(answer, sock=listener)
        await server.serve_forever()

    def address(self, host="127.0.0.1"):
        return f"http://{host}:{self.port}"


def timed(work):
    started = time.perf_counter()
    result = work()
    return (time.perf_counter() - started) * 1e3, result


def command(arguments, folder):
    """Runs one; gives what it printed."""
    clean = {"PATH": os.environ["PATH"], "HOME": folder, "LANG": "C.UTF-8"}
    done = subprocess.run(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder, env=clean)
    if done.returncode != 0:
        sys.exit(f"{' '.join(arguments[:3])} … failed: {done.stdout}{done.stderr}")
    return done.stdout


def fetch(url):
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(url) as response:
        return response.read()


def measure(name, ours, urls, folder):
    """Alternates Fathom, the thread pool and curl, and prints the medians."""
    calls, wholes, pools, curls = [], [], [], []
    curl = ["curl", "--silent", "--fail", "--parallel", "--parallel-immediate"]
    for number, url in enumerate(urls):
        curl += ["--output", str(pathlib.Path(folder, f"curl-{number}")), url]
    for _ in range(RUNS):
        whole, output = timed(lambda: command(ours, folder))
        wholes.append(whole)
        calls.append(json.loads(output)["elapsed_ms"])
        with concurrent.futures.ThreadPoolExecutor(len(urls)) as pool:
            pools.append(timed(lambda: list(pool.map(fetch, urls)))[0])
        curls.append(timed(lambda: command(curl, folder))[0])
    call, whole, pool, peer = (statistics.median(times) for times in (calls, wholes, pools, curls))
    print(f"{name}: the call {call:.0f} ms, {call / DELAY_MS:.3f} x {DELAY_MS} ms (aim: at most {AIM}); a Python thread pool "
          f"{pool:.0f} ms, ratio {call / pool:.2f}")
    print(f"{' ' * len(name)}  the command {whole:.0f} ms, {whole / DELAY_MS:.3f} x {DELAY_MS} ms; curl --parallel "
          f"{peer:.0f} ms, ratio {whole / peer:.2f}", flush=True)


def main():
    fathom = str(pathlib.Path(sys.argv[1]).resolve())
    with Server() as server, tempfile.TemporaryDirectory(prefix="fathom-bench-") as folder:
        base = server.address()
        pages = [f"{server.address(host)}/page" for host in HOSTS]
        search = [f"{base}/search?{urllib.parse.urlencode({'q': query, 'format': 'json'})}" for query in QUERIES]
        papers = [f"{base}/works?{urllib.parse.urlencode({'search': query})}" for query in QUERIES]
        measure("search of 5 queries", [fathom, "search", "--json", "--no-config", "--search", "searxng", "--search-url", base,
                                        *QUERIES], search, folder)
        measure("scholar of 5 queries", [fathom, "scholar", "--json", "--no-config", "--scholar", "openalex", "--openalex-url",
                                         f"{base}/works", *QUERIES], papers, folder)
        measure("visit of 5 pages", [fathom, "visit", "--json", "--no-config", "--no-cache", "--summarizer", "extractive", "--allow-address",
                                     "127.0.0.0/8", "--goal", "when was the lighthouse built", *pages], pages, folder)


main()
