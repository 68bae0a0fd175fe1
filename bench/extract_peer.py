"""One page reader from PyPI, for bench/extract.py, over all pages in one process.

Usage: extract_peer.py NAME PAGES

PAGES holds for each page two lengths (native 32-bit numbers), its address and its bytes. A line of JSON is printed for each:
the text, what it says about itself, the CPU time; then one with the peak memory. Readers get bytes where they take such, as
from a web server, and the options that their manuals name for quality. Where a reader gives HTML, making text of that is not
counted.
"""
import importlib
import json
import logging
import re
import struct
import sys
import time
import warnings

BLOCKS = frozenset("address article aside blockquote br caption dd details div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 "
                   "h5 h6 header hr li main nav ol p pre section table tbody td tfoot th thead tr ul".split())
LANGUAGES = {
    "cs": "Czech", "da": "Danish", "de": "German", "el": "Greek", "en": "English", "es": "Spanish", "fi": "Finnish", "fr": "French",
    "hu": "Hungarian", "it": "Italian", "nl": "Dutch", "no": "Norwegian_Bokmal", "pl": "Polish", "pt": "Portuguese",
    "ro": "Romanian", "ru": "Russian", "sv": "Swedish", "tr": "Turkish", "uk": "Ukrainian"
} # yapf: disable


def text_of(html):
    """The text of a reader's HTML, with a line for each block."""
    tree = importlib.import_module("lxml.html").fromstring(html or "<p></p>")
    parts = []
    for event, node in importlib.import_module("lxml.etree").iterwalk(tree, events=("start", "end", "comment", "pi")):
        named = isinstance(node.tag, str)
        block = named and node.tag in BLOCKS
        if event == "start":
            parts.append("\n" if block else "")
            parts.append(node.text or "" if named and node.tag not in ("script", "style") else "")
        else:
            parts.append("\n" if block else "")
            parts.append(node.tail or "" if node is not tree else "")
    return "".join(parts)


def trafilatura():
    module = importlib.import_module("trafilatura")

    def read(html, url):
        return {"text": module.extract(html, url=url, **OPTIONS)}

    def about(html, url):
        found = module.extract_metadata(html, default_url=url)
        return {"title": found.title, "author": found.author, "date": found.date} if found else {}

    return read, about


def readability():
    module = importlib.import_module("readability")

    def read(html, url):
        document = module.Document(html, url=url)
        return {"html": document.summary(html_partial=True), "title": document.short_title(), "author": document.author()}

    return read, None


def resiliparse():
    extract = importlib.import_module("resiliparse.extract.html2text").extract_plain_text
    parser = importlib.import_module("resiliparse.parse.html").HTMLTree
    detect = importlib.import_module("resiliparse.parse.encoding").detect_encoding

    def read(html, _):
        tree = parser.parse_from_bytes(html, detect(html))
        return {"text": extract(tree, main_content=True, **OPTIONS), "title": tree.title}

    return read, None


def rs_trafilatura():
    module = importlib.import_module("rs_trafilatura")

    def read(html, url):
        found = module.extract_bytes(html, url=url, **OPTIONS)
        return {"text": found.main_content, "title": found.title, "author": found.author, "date": found.date}

    return read, None


def newspaper4k():
    article_type = importlib.import_module("newspaper").Article

    def read(html, url):
        article = article_type(url, fetch_images=False)
        article.download(input_html=html)
        article.parse()
        date = article.publish_date
        return {
            "text": article.text,
            "title": article.title,
            "author": ", ".join(article.authors),
            "date": date.isoformat() if hasattr(date, "isoformat") else date
        }

    return read, None


def justext():
    module = importlib.import_module("justext")
    lists = {}

    def read(html, _):
        at = html.find(b'lang="', html.find(b"<html"))
        code = html[at + 6:at + 8].decode("ascii", "replace").lower() if at >= 0 else "en"
        language = LANGUAGES.get(code, "English")
        if language not in lists:
            lists[language] = module.get_stoplist(language)
        paragraphs = module.justext(html, lists[language])
        return {"text": "\n".join(paragraph.text for paragraph in paragraphs if not paragraph.is_boilerplate)}

    return read, None


def pages(path):
    with open(path, "rb") as file:
        while head := file.read(8):
            n_url, n_html = struct.unpack("=II", head)
            yield file.read(n_url).decode(), file.read(n_html)


def peak_kb():
    with open("/proc/self/status", encoding="ascii") as status:
        return int(re.search(r"VmHWM:\s+(\d+)", status.read())[1])


def timed(function, *arguments):
    start = time.process_time()
    try:
        return function(*arguments), time.process_time() - start, None
    except Exception as problem: # whatever a reader makes of a page
        return {}, time.process_time() - start, f"{type(problem).__name__}: {problem}"


def main():
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    read, about = {"trafilatura": trafilatura, "rs-trafilatura": rs_trafilatura, "readability-lxml": readability,
                   "resiliparse": resiliparse, "newspaper4k": newspaper4k, "justext": justext}[sys.argv[1]]() # yapf: disable
    before = peak_kb()
    for url, html in pages(sys.argv[2]):
        found, seconds, error = timed(read, html, url)
        if about:
            more, about_seconds, _ = timed(about, html, url)
            found = {**found, **more, "about_s": about_seconds}
        if "html" in found:
            try:
                found["text"] = text_of(found.pop("html"))
            except Exception as problem:
                error = error or str(problem)
        print(json.dumps({**found, "cpu_s": seconds, "error": error}, default=str), flush=True)
    print(json.dumps({"before_kb": before, "peak_kb": peak_kb()}))


OPTIONS = json.loads(sys.argv[3]) if len(sys.argv) > 3 else {}
main()
