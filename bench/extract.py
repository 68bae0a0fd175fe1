#!/usr/bin/env python3
"""What reading web pages gives and costs, beside other readers, on the same pages in the same run, each reader in one process on
one core: how near the main text comes to what people marked as such, also by kind of page; title, author and date; pages and
MB/s of CPU time without the start of the program; peak memory. Nothing is kept between runs.

scrapinghub is scored by its own rule (multisets of four words in a row; precision and recall averaged over pages),
wcxb too (multisets of lower-case words, F1 averaged over pages). The addresses of links in our Markdown are not
counted as text. A title is right when its words are the true ones, an author as well, a date when it is the same day.

Usage: bench/extract.py BENCH_EXTRACT [--pages N] [--only NAME,…], after scripts/extractors
"""
import argparse
import collections
import email.utils
import gzip
import json
import os
import pathlib
import re
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
import time

TOP = pathlib.Path(__file__).resolve().parent.parent
COMPONENTS = TOP / "build/components/extract"
ARTICLES = TOP.parent / "shared/data/articles"
PYTHON = COMPONENTS / "venv/bin/python"
WORD = re.compile(r"\w+")
LINK = re.compile(r"\]\([^()\s]*\)")
OURS = {"fathom, Markdown": "markdown", "fathom, text": "text"}
PYTHON_PEERS = {
    "trafilatura": {"include_comments": False},
    "rs-trafilatura": {},
    "readability-lxml": {},
    "resiliparse": {"alt_texts": False},
    "newspaper4k": {},
    "justext": {},
} # yapf: disable
NODE_PEERS = {"Readability.js": "readability", "defuddle": "defuddle"}
TIME_FORMATS = ("%B %d, %Y", "%b %d, %Y", "%d %B %Y", "%d %b %Y", "%Y/%m/%d", "%m/%d/%Y", "%d.%m.%Y")
HOUR = 3600

# ---- pages and truths ----

Truth = collections.namedtuple("Truth", "url kind text title author date")


def truth_of_wcxb(path):
    page = json.loads(path.read_text(encoding="utf-8"))
    truth, kind = page["ground_truth"], page["_internal"]["page_type"]["primary"]
    return Truth(page.get("url", ""), "collection" if kind == "category" else kind, truth.get("main_content") or "",
                 truth.get("title"), truth.get("author"), truth.get("publish_date"))


def truths(name):
    folder = ARTICLES / name
    if name == "wcxb":
        return {path.stem: truth_of_wcxb(path) for path in sorted((folder / "ground-truth").glob("*.json"))}
    pages = json.loads((folder / "ground-truth.json").read_text(encoding="utf-8"))
    return {key: Truth(page["url"], "article", page["articleBody"], None, None, None) for key, page in sorted(pages.items())}


def spread(items, count):
    return items if not count or count >= len(items) else [items[n * len(items) // count] for n in range(count)]


def write_pages(name, chosen, path):
    size = 0
    with open(path, "wb") as file:
        for key, truth in chosen:
            html = gzip.open(ARTICLES / name / f"html/{key}.html.gz").read()
            url = truth.url.encode()
            file.write(struct.pack("=II", len(url), len(html)) + url + html)
            size += len(html)
    return size


# ---- scores ----


def shingles(text):
    words = WORD.findall(text)
    return collections.Counter(tuple(words[at:at + 4]) for at in range(max(1, len(words) - 3)) if words)


def bag(text):
    return collections.Counter(WORD.findall(text.lower()))


def harmonic(precision, recall):
    return 2 * precision * recall / (precision + recall) if precision and recall else 0.0


def page_score(text, truth, pieces, absent):
    """Precision and recall of one page; `absent` where there is nothing to divide by."""
    found, wanted = pieces(text), pieces(truth)
    both, n_found, n_wanted = ((found & wanted).total(), found.total(), wanted.total())
    if not n_found and not n_wanted:
        return 1.0, 1.0
    return both / n_found if n_found else absent, both / n_wanted if n_wanted else absent


def mean(values):
    values = [value for value in values if value is not None]
    return statistics.fmean(values) if values else 0.0


def quality(name, chosen, results):
    """F1, precision, recall, and F1 by kind of page."""
    scrapinghub = name == "scrapinghub"
    pieces, absent = (shingles, None) if scrapinghub else (bag, 0.0)
    pairs = [page_score(result.get("text") or "", truth.text, pieces, absent) for (_, truth), result in zip(chosen, results)]
    precision, recall = (mean(pair[side] for pair in pairs) for side in (0, 1))
    if scrapinghub:
        return harmonic(precision, recall), precision, recall, {}
    kinds = collections.defaultdict(list)
    for (_, truth), pair in zip(chosen, pairs):
        kinds[truth.kind].append(harmonic(*pair))
    return mean(harmonic(*pair) for pair in pairs), precision, recall, {kind: mean(values) for kind, values in kinds.items()}


def words(text):
    return WORD.findall((text or "").casefold())


def day(text):
    """The day that a date names, as 2023-05-01; the text itself where it is of no known form."""
    text = (text or "").strip()
    if found := re.search(r"(\d{4})-(\d\d)-(\d\d)", text):
        return found[0]
    for form in TIME_FORMATS:
        try:
            return time.strftime("%Y-%m-%d", time.strptime(text, form))
        except ValueError:
            pass
    parsed = email.utils.parsedate(text)
    return time.strftime("%Y-%m-%d", parsed) if parsed else text


def about_scores(chosen, results):
    """What share of the true titles, authors and dates was found; None where a reader has none at all."""
    scores = []
    for field, form in (("title", words), ("author", words), ("date", day)):
        known = [(getattr(truth, field), result.get(field)) for (_, truth), result in zip(chosen, results) if getattr(truth, field)]
        if not known or not any(found for _, found in known):
            scores.append(None)
        else:
            scores.append(mean(form(wanted) == form(found) for wanted, found in known))
    return scores


# ---- readers ----


def commands(program, pages, only):
    table = {name: [program, form, pages] for name, form in OURS.items()}
    for name, options in PYTHON_PEERS.items():
        table[name] = [PYTHON, "-B", TOP / "bench/extract_peer.py", name, pages, json.dumps(options)]
    for name, peer in NODE_PEERS.items():
        table[name] = ["node", TOP / "bench/extract_peer.mjs", peer, pages, COMPONENTS]
    return {name: command for name, command in table.items() if not only or name in only or name in OURS}


def run(command, count):
    """A result for each page, and the memory. A reader that dies leaves the rest of the pages as errors."""
    done = subprocess.run([str(part) for part in command], capture_output=True, timeout=HOUR, check=False)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    memory = lines.pop() if lines and "peak_kb" in lines[-1] else {"before_kb": 0, "peak_kb": 0}
    if len(lines) < count:
        problem = (done.stderr.decode("utf-8", "replace").strip().splitlines() or ["it ended too early"])[-1]
        if not lines:
            raise RuntimeError(problem)
        lines += [{"cpu_s": 0.0, "error": problem}] * (count - len(lines))
    return lines, memory


def show(value, form=".3f"):
    return "  –  " if value is None else format(value, form)


class Measured:
    def __init__(self, name, chosen, size, results, memory):
        self.seconds = sum(result["cpu_s"] for result in results)
        self.score, self.precision, self.recall, self.kinds = quality(name, chosen, results)
        self.about = about_scores(chosen, results)
        self.pages_s, self.mb_s = len(results) / max(self.seconds, 1e-9), size / 1e6 / max(self.seconds, 1e-9)
        self.peak, self.before = memory["peak_kb"] / 1e3, memory["before_kb"] / 1e3
        self.errors = sum(bool(result.get("error")) for result in results)

    def line(self, reader, ours):
        return (f"{reader:18} {self.score:.4f}  {self.precision:.3f}  {self.recall:.3f}   {self.pages_s:8.1f} {self.mb_s:8.2f} "
                f"{ours.mb_s / self.mb_s:8.1f}   {self.peak:7.1f} {self.before:7.1f}   {self.errors:3}")


def without_addresses(results):
    for result in results:
        if result.get("text"):
            result["text"] = LINK.sub("]", result["text"])


def measure(name, program, folder, arguments):
    chosen = spread(list(truths(name).items()), arguments.pages)
    pages = pathlib.Path(folder) / f"{name}.pages"
    size = write_pages(name, chosen, pages)
    print(f"\n{name}, {len(chosen)} pages, {size / 1e6:.1f} MB\n"
          f"{'':18} F1      prec.  recall    pages/s     MB/s  ours is ×  peak MB  at start  errors")
    table = {}
    for reader, command in commands(program, pages, arguments.only).items():
        try:
            results, memory = run(command, len(chosen))
        except (OSError, RuntimeError, subprocess.TimeoutExpired) as problem:
            print(f"{reader:18} not measured: {str(problem):.150}")
            continue
        if reader in OURS:
            without_addresses(results)
        table[reader] = Measured(name, chosen, size, results, memory)
        print(table[reader].line(reader, next(iter(table.values()))), flush=True)
    if name == "wcxb":
        show_details(table, chosen)
    show_below(table)


def show_details(table, chosen):
    kinds = collections.Counter(truth.kind for _, truth in chosen)
    print("\nF1 by kind         " + " ".join(f"{kind[:9]:>9}" for kind in kinds) + "   title  author   date  (share right)")
    for reader, measured in table.items():
        print(f"{reader:18} " + " ".join(f"{measured.kinds[kind]:9.3f}" for kind in kinds) + "   " +
              "  ".join(f"{show(value):>5}" for value in measured.about))
    print(f"{'pages':18} " + " ".join(f"{count:9}" for count in kinds.values()))


def show_below(table):
    """Where a peer is better than ours."""
    ours = table.get("fathom, text")
    for reader, measured in table.items():
        if reader in OURS or not ours:
            continue
        better = [f"F1 {measured.score:.3f} > {ours.score:.3f}"] if measured.score > ours.score else []
        better += [f"{kind} {score:.3f} > {ours.kinds[kind]:.3f}" for kind, score in measured.kinds.items() if score > ours.kinds[kind]]
        better += [f"{field} {theirs:.3f} > {mine or 0:.3f}"
                   for field, theirs, mine in zip(("title", "author", "date"), measured.about, ours.about)
                   if theirs is not None and theirs > (mine or 0)]
        if better:
            print(f"{reader} is better at: {', '.join(better)}")


def held_out():
    """What the head of the model says of pages that it was not trained on."""
    head = (TOP / "src/text/html/content_model.inc").read_text(encoding="utf-8").split("*/")[0]
    scores = [line[3:] for line in head.splitlines() if re.match(r" \* \w+ 0\.", line)]
    return "Our model of content has learnt from these pages. F1 on pages of sites that it has not seen: " + ", ".join(scores)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--pages", type=int, default=0, help="of each set, evenly spread")
    parser.add_argument("--only", type=lambda text: text.split(","), help="peers to run")
    arguments = parser.parse_args()
    if not ARTICLES.exists():
        print("pages: not measured, the shared data is not here")
        return 0
    if not shutil.which("node") or not PYTHON.exists():
        print("bench/extract.py: scripts/extractors fetches the peers", file=sys.stderr)
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    print(held_out())
    with tempfile.TemporaryDirectory(prefix="fathom-extract-") as folder:
        for name in ("scrapinghub", "wcxb"):
            measure(name, arguments.program, folder, arguments)
    return 0


if __name__ == "__main__":
    sys.exit(main())
