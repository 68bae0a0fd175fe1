"""Pages to Markdown, and the Markdown rendered again by cmark-gfm (CommonMark and GitHub's extensions): the page that
comes out has the same text and becomes the same Markdown again, so headings, lists, cells, code, links and footnotes
are where they were. Made pages, pages put together at random, and the pages of ../shared/data/articles where they are."""
import collections
import gzip
import os
import pathlib
import random
import re
import shutil
import subprocess
import tempfile
import unittest
import urllib.parse

BUILD = pathlib.Path(os.environ["FATHOM_BUILD"])
ARTICLES = pathlib.Path(os.environ["FATHOM_SOURCE"]) / "../shared/data/articles"
RENDERER = shutil.which("cmark-gfm")
RENDER = (RENDERER, "--unsafe", "-e", "table", "-e", "strikethrough", "-e", "tasklist", "-e", "footnotes")

PAGES = (
    "<h1>One <b>two</b> #</h1><h2>C#</h2><p>Text<br>more<br><br>end",
    "<p>a <b>bold</b>, <i> lean </i>and <em></em>none <b>x</b><b>y</b><i>z</i> a<b>(b)</b>c <s>gone</s>",
    "<p>中<b>“重点”</b>很<i>重要。</i>吧 <b>「引」</b>用<b>：</b>好",
    "<p>**a** *b* _c_ snake_case __init__ ~~d~~ `e` [f](g) [h]: i &lt;b> &amp;amp; &amp;#65; a\\b \\* 5 * 3 ![x](y)",
    "<p># one<p>#two<p>- three<p>+ four<p>1. five<p>2) six<p>> seven<p>---<p>===<p>```<p>~~~<p>* * *<p>| a | b",
    "<p>line<br># x<br>- y<br>---<br>===<br>1. z<br>| a |<br>|---|<br>> q<br>+<br>___",
    "<p><span>1</span>. x<p><span>#</span> y<p><b>-</b> z<p>a!<a href='http://x.org/'>b</a> [<a href='http://x.org/'>c</a>](d)",
    "<p><a href='http://x.org/a_(b)'>p</a> <a href='http://x.org/a(b'>q</a> <a href='http://x.org/'>[r] ] s</a> "
    "<a href='http://x.org/'>http://x.org/</a> <a href='http://x.org/' title='A &amp; \"b\"'>t</a> "
    "<a href='http://x.org/' title='What it is'>u</a>",
    "<p><a href='http://x.org/'><b>a</b> <code>b`c</code></a> <b><a href='http://x.org/'>d</a></b>e",
    "<p><code>a`b</code> <code>``</code> <code> c </code><code>d</code><code>e</code> <code>|</code> <code>\\</code>",
    "<ul><li>a<li>b<ul><li>c<ol start=4><li>d<li>e</ol></ul><li>f</ul><ul><li>other</ul>text",
    "<ol><li><p>a</p><p>b</p><li>c<pre>x\n\n  y</pre><li><blockquote>q</blockquote><li># no<li>- no</ol>",
    "<ul><li><h3>a</h3><p>b</p></li><li><ul><li>c</ul></li><li><table><tr><th>d<th>e<tr><td>f<td>g</table></ul>",
    "<ul><li>a<ul><li>b</li></ul>c</li><ul><li>stray</ul>text in a list<li>d</ul>",
    "<ul><li><input type=checkbox checked> done<li><input type=checkbox> open</ul>",
    "<blockquote><p>a</p><blockquote>b</blockquote><ul><li>c<p>d</ul><pre>e\n\nf</pre></blockquote><blockquote>g</blockquote>",
    "<pre><code class='language-c'>int a;\n\n\tb();\n```\n</code></pre><pre>````</pre><pre>~~~\n# x\n    y</pre>",
    "<table><tr><th>a|b<th>`c`<tr><td>d<br>e<td><code>f|g</code><tr><td><ul><li>h<li>i</ul><td><p>j<p>k</table>",
    "<table><caption>What</caption><tr><th>a<td>b<tr><th>c<td>d</table><table><tr><td>1<td>2<tr><td>3<td>4</table>",
    "<table><thead><tr><th>a<th>b<th>c</thead><tr><td colspan=2>d<td>e<tr><td><td><td>f<tr><td>g</table>",
    "<p>a<hr><p>b<ul><li>c</ul><hr><blockquote>d</blockquote><hr>",
    "<p>x<sup id=r1><a href='#f1'>[1]</a></sup> y<sup id=r2><a href='#f2'>2</a></sup><ol><li id=f1>One <a href='#r1'>^</a>"
    "<li id=f2><p>Two</p><p>more <a href='#r2'>↩</a></p></ol>",
    "<p><img src='http://x.org/i.png' alt='a [b] *c*'> <a href='http://x.org/'><img src=i alt='d'></a>",
)

INLINE = ("b", "i", "s", "em", "span", "a href='http://x.org/y'", "code", "u")
BLOCK = ("p", "div", "blockquote", "ul", "ol", "h2", "h4", "pre", "section")
BITS = ("1. ", "- ", "# ", "**", "_x_", "`", "|", "\n", "。", "中文", "\\", "[x](y)", "<", "&amp;lt;", "~~", "&nbsp;", "!",
        "===", "---", "+ ", "> ", "*", "(", "]", "[", ":", "…", "“", "”", "€", "#", "=", "1", ".", "&", "_", "~")


class Maker:
    """Pages at random, every word another one."""

    def __init__(self, seed):
        self.random, self.count = random.Random(seed), 0

    def word(self):
        self.count += 1
        bit = self.random.choice(BITS) if self.random.random() < 0.5 else ""
        end = self.random.choice((" ", "", "\n", "<br>" if self.random.random() < 0.2 else " "))
        text = f"{bit}w{self.count}{self.random.choice(('', '.', '!', '）', ','))}"
        return text.replace("<", "&lt;") + end

    def inline(self, depth):
        out = []
        for _ in range(self.random.randint(1, 5)):
            if depth and self.random.random() < 0.4:
                tag = self.random.choice(INLINE)
                out.append(f"<{tag}>{self.inline(depth - 1)}</{tag.split()[0]}>")
            else:
                out.append(self.word())
        return "".join(out)

    def block(self, depth):
        tag = self.random.choice(BLOCK)
        if tag in ("ul", "ol"):
            items = ("<li>" + (self.inline(1) if self.random.random() < 0.7 else "") +
                     (self.block(depth - 1) if depth and self.random.random() < 0.5 else "") + "</li>"
                     for _ in range(self.random.randint(1, 4)))
            return f"<{tag}>{''.join(items)}</{tag}>"
        if tag in ("p", "h2", "h4", "pre") or not depth:
            return f"<p>{self.inline(2)}</p>" if tag not in ("h2", "h4", "pre") else f"<{tag}>{self.inline(2)}</{tag}>"
        return f"<{tag}>{''.join(self.block(depth - 1) for _ in range(self.random.randint(1, 3)))}</{tag}>"

    def table(self):
        rows = ("<tr>" + "".join(f"<td>{self.inline(2)}</td>" for _ in range(3)) + "</tr>" for _ in range(3))
        return f"<table><tr><th>{self.word()}<th>{self.word()}<th>{self.word()}</tr>{''.join(rows)}</table>"

    def page(self):
        return "".join(self.table() if self.random.random() < 0.15 else self.block(3) for _ in range(6))


def same(markdown):
    """What may differ between two forms of the same Markdown: empty lines, the bullets and numbers of lists, escapes that
    would not be needed, empty cells at the end of rows, the coding of addresses; footnotes go to the end."""
    markdown = urllib.parse.unquote(re.sub(r"\\([!-/:-@[-`{-~])", r"\1", markdown).replace("&amp;", "&"))
    lines, notes = [], []
    for line in re.sub(r"\n+: ", " : ", markdown).split("\n"):
        line = re.sub(r"^((?:[ >]|[-*] |\d+[.)] )*)", lambda m: re.sub(r"\d+[.)]|\*(?= )", "-", m.group()), line)
        line = re.sub(r"(\|  )+\|$", "|", line.rstrip(" ")).replace("*", "")
        if line.strip(" >-|"):
            (notes if line.startswith("[^") else lines).append(re.sub(r" +", " ", line))
    return lines + sorted(notes)


def characters(words):
    return collections.Counter(re.findall(r"\w", words))


@unittest.skipUnless(RENDERER, "cmark-gfm is not installed")
class RoundTrip(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="fathom-pages-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, name, files):
        """(Markdown, text of the tree) of every page, in one run."""
        if not files:
            return []
        done = subprocess.run([BUILD / "tests/page_markdown", "--words", *files], capture_output=True, timeout=200, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, b""), name)
        parts = done.stdout.decode("utf-8").split("\0")
        self.assertEqual(len(parts), 2 * len(files) + 1)
        return list(zip(parts[0::2], parts[1::2]))

    def render(self, markdown):
        done = subprocess.run(RENDER, input=markdown.encode(), capture_output=True, timeout=60, check=True)
        return b"<meta charset=utf-8>" + done.stdout

    def check(self, files, strictly):
        first = self.write("the pages", files)
        again = []
        for i, (markdown, _) in enumerate(first):
            again.append(self.folder / f"again{i}.html")
            again[-1].write_bytes(self.render(markdown))
        for file, (markdown, words), (second, rendered) in zip(files, first, self.write("their Markdown", again)):
            with self.subTest(page=file.name):
                if strictly:
                    self.assertEqual(second, markdown)
                self.assertEqual(same(second), same(markdown))
                text, rendered_text = (re.sub(r"[\W_]+", "", t) for t in (words, rendered))
                if "[^" not in markdown and "colspan" not in (page := file.read_text("utf-8", "replace")) and "rowspan" not in page:
                    self.assertEqual(text, rendered_text)
                else:  # notes move to the end, cells are repeated
                    numbers = characters("0123456789")
                    lost = characters(words) - characters(rendered)
                    self.assertFalse([c for c in lost if c not in numbers and c != "_"])

    def make(self, pages):
        files = []
        for i, page in enumerate(pages):
            files.append(self.folder / f"page{i}.html")
            files[-1].write_text("<meta charset=utf-8>" + page, encoding="utf-8")
        return files

    def test_constructs(self):
        self.check(self.make(PAGES), strictly=False)

    def test_random_pages(self):
        self.check(self.make(Maker(seed).page() for seed in range(150)), strictly=False)

    @unittest.skipUnless(ARTICLES.exists(), "../shared/data/articles is absent")
    def test_real_pages(self):
        files = []
        for packed in sorted(ARTICLES.glob("*/html/*.html.gz")):
            files.append(self.folder / packed.name[:-3])
            files[-1].write_bytes(gzip.decompress(packed.read_bytes()))
        self.assertGreater(len(files), 400)
        self.check(files, strictly=False)


if __name__ == "__main__":
    unittest.main()
