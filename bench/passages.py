#!/usr/bin/env python3
"""How often the answer to a question stands in the passages that rank first: ours beside other cuts and rankers.

    python3 bench/passages.py build/release/bench/bench_passages [FOLDER]

Runs bench_passages, and on the same questions and pages rank_bm25 and bm25s (PyPI, by scripts/manuals --peers) over our
passages and over windows of a fixed size. Their terms: lower-case words, and pairs of Chinese and Japanese characters.
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
WINDOW_BYTES = 1200
PLACES = (1, 3, 5)
TERMS = re.compile(r"[a-z0-9]+|[\u3041-\u30ff\u3400-\u9fff]+")


def terms(text):
    found = []
    for run in TERMS.findall(text.lower()):
        if run[0] < "\u3041" or len(run) == 1:
            found.append(run)
        else:
            found += [run[i:i + 2] for i in range(len(run) - 1)]
    return found


def fold(text):
    """The form in which texts are compared, as tests/support/passage_set.h says."""
    return "".join(c for c in text if c.isascii() and c.isalnum() or not c.isascii()).lower()


def holds(text, answers):
    folded = fold(text)
    return any(all(fold(words) in folded for words in answer) for answer in answers)


def windows(text):
    """Stretches of a fixed size, cut anywhere."""
    out, current, size = [], [], 0
    for character in text:
        current.append(character)
        size += len(character.encode())
        if size >= WINDOW_BYTES:
            out.append("".join(current))
            current, size = [], 0
    return out + ["".join(current)] if current else out


class RankBm25:
    name = "rank_bm25"

    def __init__(self):
        from rank_bm25 import BM25Okapi
        self.ranker = BM25Okapi

    def best(self, pieces, question, limit):
        scores = self.ranker([terms(piece) or ["-"] for piece in pieces]).get_scores(terms(question))
        return sorted(range(len(pieces)), key=lambda i: -scores[i])[:limit]


class Bm25s:
    name = "bm25s"

    def __init__(self):
        import bm25s
        self.library = bm25s

    def best(self, pieces, question, limit):
        ranker = self.library.BM25()
        ranker.index([terms(piece) or ["-"] for piece in pieces], show_progress=False)
        found, _ = ranker.retrieve([terms(question) or ["-"]], k=min(limit, len(pieces)), show_progress=False)
        return [int(i) for i in found[0]]


def peers():
    for peer in (RankBm25, Bm25s):
        try:
            yield peer()
        except ImportError:
            print(f"{peer.name} is not installed: scripts/manuals --peers")


def measure(rows, peer, cut):
    """Per half, how many questions have their answer in the first places; and passages a second."""
    found, count, passages, seconds = {}, {}, 0, 0.0
    for row in rows:
        pieces = [f"{above}\n{text}" for above, text in row["passages"]] if cut == "passages" else windows(row["markdown"])
        bodies = [text for _, text in row["passages"]] if cut == "passages" else pieces
        begin = time.process_time()
        best = peer.best(pieces, row["question"], max(PLACES))
        seconds += time.process_time() - begin
        passages += len(pieces)
        place = next((at for at, i in enumerate(best, 1) if holds(bodies[i], row["answer"])), 0)
        count[row["half"]] = count.get(row["half"], 0) + 1
        shares = found.setdefault(row["half"], [0] * len(PLACES))
        for i, limit in enumerate(PLACES):
            shares[i] += 0 < place <= limit
    line = "   ".join(f"{half} " + " ".join(f"{100 * n / count[half]:6.1f}" for n in shares)
                      for half, shares in found.items())
    print(f"  {peer.name + ' on ' + cut:24} {line}   {passages / seconds:8.0f} passages/s")


def main():
    program, folder = sys.argv[1], sys.argv[2:]
    python = ROOT / "build/components/manuals/venv/bin/python"
    if python.exists() and not sys.prefix.startswith(str(python.parent.parent)):
        sys.exit(subprocess.run([python, __file__, *sys.argv[1:]], check=False).returncode)
    with tempfile.NamedTemporaryFile("r", suffix=".jsonl") as dump:
        status = subprocess.run([program, "--dump", dump.name, *folder], check=False).returncode
        rows = [json.loads(line) for line in dump]
    if not rows:
        sys.exit(status)
    print("peers: answer in the first 1, 3, 5, %")
    for peer in peers():
        for cut in ("passages", "windows"):
            measure(rows, peer, cut)


if __name__ == "__main__":
    main()
