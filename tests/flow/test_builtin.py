"""The built-in reader on real pages: questions over Debian's manual pages, half of which its making never looked at."""
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import unittest

from flow import FlowTest

QUESTIONS = pathlib.Path(os.environ["FATHOM_SOURCE"], "tests/data/questions/man.jsonl")
PACKAGES = ("manpages", "manpages-dev")
NOTHING = "No passage found"

# Shares that must be reached on each half, a little below what is: pages cited, first sentence right, any sentence right,
# and questions without an answer that are left without one.
FLOORS = {"develop": (0.82, 0.50, 0.75, 0.8), "check": (0.60, 0.36, 0.58, 0.8)}


def pages_of_packages():
    """The manual pages of the two packages; empty where they are not installed."""
    if not shutil.which("dpkg-query") or not shutil.which("mandoc"):
        return []
    done = subprocess.run(["dpkg-query", "-L", *PACKAGES], capture_output=True, text=True, check=False)
    return [path for path in done.stdout.splitlines()
            if re.fullmatch(r"/usr/share/man/man[234578]/[^/]+", path) and os.path.isfile(path)]


class Tally:
    """What came of the questions of one half."""

    def __init__(self):
        self.asked = self.cited = self.first = self.anywhere = self.unanswerable = self.refused = 0
        self.missed = []

    def add(self, row, prediction):
        quotes = re.sub(r"[*`]", "", prediction).split("\n\n")
        refused = quotes[0].startswith(NOTHING)
        if not row["pages"]:
            self.unanswerable += 1
            self.refused += refused
            return
        self.asked += 1
        pattern = re.compile(row["pattern"], re.IGNORECASE | re.DOTALL)
        from_page = [any(f"/{page}." in quote for page in row["pages"]) for quote in quotes]
        first = from_page[0] and bool(pattern.search(quotes[0]))
        self.cited += any(from_page)
        self.first += first
        self.anywhere += not refused and any(map(pattern.search, quotes))
        if not first:
            self.missed.append(row["question"])

    def shares(self):
        return (self.cited / self.asked, self.first / self.asked, self.anywhere / self.asked,
                self.refused / self.unanswerable)


class ManualPages(FlowTest):
    def test_answers_hold_what_is_asked(self):
        pages = pages_of_packages()
        if len(pages) < 1000:
            self.skipTest("the packages manpages and manpages-dev, or mandoc, are not installed")
        for page in pages:
            folder = os.path.join(self.folder, pathlib.Path(page).parent.name)
            os.makedirs(folder, exist_ok=True)
            shutil.copy(page, folder, follow_symlinks=False)
        folders = sorted(name for name in os.listdir(self.folder) if name.startswith("man"))
        self.expect(0, "index", *folders, "--into", "man.db", timeout=280)
        rows = [json.loads(line) for line in QUESTIONS.read_text(encoding="utf-8").splitlines()]

        def predict(row):
            done = self.expect(0, "ask", row["question"], "--no-config", "--model", "builtin", "--corpus", "man.db",
                               "--json")
            return json.loads(done.stdout)["prediction"]

        tallies = {half: Tally() for half in FLOORS}
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for row, prediction in zip(rows, pool.map(predict, rows)):
                tallies[row["half"]].add(row, prediction)
        done = self.expect(0, "ask", "Which flag makes open(2) fail when the file already exists?", "--no-config", "--model",
                           "builtin", "--corpus", "man.db")
        self.assertTrue(done.stdout.startswith("O_EXCL: Ensure that this call creates the file"), done.stdout)
        for half, tally in tallies.items():
            shares = tally.shares()
            print(f"{half}: page {shares[0]:.2f}, first {shares[1]:.2f}, anywhere {shares[2]:.2f}, "
                  f"left without an answer {tally.refused} of {tally.unanswerable}")
            for name, share, floor in zip(("page", "first", "anywhere", "refused"), shares, FLOORS[half]):
                with self.subTest(half=half, share=name):
                    self.assertGreaterEqual(share, floor, tally.missed)


class OtherLanguages(FlowTest):
    def test_chinese_questions(self):
        self.write("zh/changjiang.md", "# 长江\n\n长江是亚洲第一长河，全长约6300公里，发源于青藏高原的唐古拉山脉。\n\n"
                                       "三峡大坝于2006年全线建成，位于湖北省宜昌市。电站总装机容量为2250万千瓦。\n")
        self.write("zh/huanghe.md", "# 黄河\n\n黄河是中国第二长河，全长约5464公里，发源于青海省巴颜喀拉山脉。\n\n"
                                    "小浪底水利枢纽位于河南省，2001年竣工。\n")
        self.write("zh/libai.md", "# 李白\n\n李白（701年—762年），字太白，唐代诗人，被称为诗仙。\n")
        self.expect(0, "index", "zh", "--into", "zh.db")
        for question, pattern in (("长江有多长？", "6300"), ("三峡大坝是什么时候建成的？", "2006"),
                                  ("黄河发源于哪里？", "青海省"), ("谁被称为诗仙？", "李白"),
                                  ("小浪底水利枢纽在哪个省？", "河南省"), ("法国的首都是哪里？", NOTHING),
                                  ("如何安装打印机？", NOTHING)):
            with self.subTest(question=question):
                done = self.expect(0, "ask", question, "--no-config", "--model", "builtin", "--corpus", "zh.db")
                self.assertIn(pattern, done.stdout.split("\n\n")[0])


if __name__ == "__main__":
    unittest.main()
