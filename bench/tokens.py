#!/usr/bin/env python3
"""What counting and encoding costs, beside other tokenizers, on the same bytes in the same run: MB/s on one core in a fresh
process (cold: the first pass) and after it (warm), runs of one letter and the like, readiness and memory, and a conversation
that grows to the context limit. Ids are compared first; where ours differ the exit code is 1.

Usage: bench/tokens.py BENCH_TOKENS [KIND…], after scripts/tokenizers --peers
"""
import base64
import gzip
import json
import os
import pathlib
import random
import struct
import subprocess
import sys
import sysconfig
import tempfile

TOP = pathlib.Path(__file__).resolve().parent.parent
COMPONENTS = TOP / "build/components/tokenizers"
SHARED = TOP.parent / "shared" / "data"
PYTHON = COMPONENTS / "venv/bin/python"
PEER = TOP / "bench/tokens_peer.py"
ROUNDS = 5
MOST_BYTES = 4_000_000
VOCABULARIES = [("qwen3/tokenizer.json", ["tokenizers", "gigatoken"]),
                ("ranks/qwen.tiktoken", ["tiktoken", "quicktok", "gigatoken"]),
                ("ranks/cl100k_base.tiktoken", ["tiktoken", "quicktok", "gigatoken", "bpe-openai"]),
                ("ranks/o200k_base.tiktoken", ["tiktoken", "quicktok", "gigatoken", "bpe-openai"])]
CHINESE = ("的 了 是 在 我 有 和 人 这 中 大 为 上 个 国 他 到 说 们 时候 出来 可以 问题 研究 没有 公司 发展 工作 技术 社会 经济 政府 进行 市场 系统 管理 文化 "
           "历史 学生 教育 科学 能够 重要 世界 关系 影响 生活 环境 城市 数据 模型 语言 计算机 人工智能 互联网 灯塔 海洋 天气 季节 北京 上海 一九五七年 第三 非常 但是 "
           "因为 所以 如果 虽然 已经 开始 之后 其中 根据 认为 表示 通过 成为 需要 提供 包括 主要 部分 方面 情况 结果 时间 地方 方法 条件 过程 作用").split(" ")


def lines_of(path):
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def conversations():
    return [row["messages"] for row in lines_of(SHARED / "transcripts/webdancer.jsonl.gz")]


def english():
    with gzip.open(next(SHARED.glob("retrieval/scifact/corpus*.gz")), "rt", encoding="utf-8") as lines:
        return [json.loads(line)["text"] for line in lines]


def chinese():
    """Made: common words by Zipf's law, with punctuation. None of the shared data is Chinese."""
    source = random.Random(1)
    weights = [1 / (n + 3) for n in range(len(CHINESE))]
    return [
        "".join(word + source.choice(["", "", "", "", "，", "。", "、", "\n"])
                for word in source.choices(CHINESE, weights, k=600)) for _ in range(600)
    ]


def code():
    return [
        path.read_text(encoding="utf-8", errors="replace")
        for path in sorted(pathlib.Path(sysconfig.get_path("stdlib")).glob("*.py"))
    ]


def pages():
    return [gzip.open(path).read().decode("utf-8", "replace") for path in sorted(SHARED.glob("articles/wcxb/html/*.gz"))[::7]]


def traces():
    return [m["content"] for messages in conversations() for m in messages]


def long_run():
    """One prompt that grows: every round is read from its beginning."""
    texts, whole = [], ""
    for message in (m["content"] for messages in conversations()[:30] for m in messages):
        whole += message + "\n"
        texts.append(whole)
    return texts[::10]


KINDS = {
    "English": english,
    "Chinese (made)": chinese,
    "code": code,
    "pages": pages,
    "traces": traces,
    "a growing prompt": long_run
}


def hostile():
    source = random.Random(2)
    million = 1_000_000
    return {
        "a": "a" * million,
        "spaces": " " * million,
        "newlines": "\n" * million,
        "中": "中" * (million // 3),
        "ab": "ab" * (million // 2),
        "CJK by chance": "".join(chr(source.randrange(0x4E00, 0x9FA5)) for _ in range(million // 3)),
        "base64": base64.b64encode(source.randbytes(million * 3 // 4)).decode(),
        "=": "=" * million,
        "digits": "7" * million,
        "letters by chance": "".join(source.choices("abcdefghijklmnopqrstuvwxyz", k=million))
    }


def write_documents(path, texts):
    total = 0
    with open(path, "wb") as file:
        for text in texts:
            data = text.encode("utf-8", "replace")
            total += len(data)
            if total > MOST_BYTES and total != len(data):
                total -= len(data)
                break
            file.write(struct.pack("=I", len(data)) + data)
    return total


def run(*command, timeout=600):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=timeout, check=False)
    if done.returncode:
        raise RuntimeError((done.stderr.strip().splitlines() or ["failed"])[-1])
    return json.loads(done.stdout)


def peer(name, *rest):
    try:
        return run(PYTHON, "-B", PEER, name, *rest)
    except (RuntimeError, subprocess.TimeoutExpired) as problem:
        print(f"    {name}: {str(problem):.150}")
        return None


class Bench:
    def __init__(self, program, folder, wanted):
        self.program, self.folder, self.wanted = program, pathlib.Path(folder), wanted
        self.images, self.failed = {}, False

    def image(self, vocabulary):
        if vocabulary not in self.images:
            path = self.folder / (vocabulary.replace("/", "-") + ".image")
            self.images[vocabulary] = (path, run(self.program, "compile", COMPONENTS / vocabulary, path))
        return self.images[vocabulary]

    def ours(self, operation, vocabulary, documents):
        plain = ["plain"] if vocabulary.endswith(".tiktoken") else []
        return run(self.program, operation, self.image(vocabulary)[0], documents, ROUNDS, *plain)

    def documents(self):
        for kind, make in KINDS.items():
            if self.wanted and kind not in self.wanted:
                continue
            try:
                path = self.folder / f"{kind.replace(' ', '-')}.documents"
                yield kind, path, write_documents(path, make())
            except (OSError, StopIteration):
                print(f"{kind}: not measured, the shared data is not here")

    def check(self, name, ours, other):
        if ours["hash"] == other["hash"] and ours["tokens"] == other["tokens"]:
            return ""
        if name in ("tiktoken", "tokenizers"):
            self.failed = True
            return "  OUR IDS DIFFER"
        return "  (its ids differ)"

    def speed(self, kind, path, size):
        print(f"\n{kind}, {size / 1e6:.1f} MB" + " " * 30 + "cold MB/s   warm MB/s   ours is × cold, warm")
        for vocabulary, peers in VOCABULARIES:
            if not (COMPONENTS / vocabulary).exists():
                continue
            ids, count = self.ours("ids", vocabulary, path), self.ours("count", vocabulary, path)
            if count["tokens"] != ids["tokens"]:
                self.failed = True
                print("    OUR COUNT IS NOT THE NUMBER OF OUR IDS")

            def row(name, result, more=""):
                cold, warm = (size / result[key] / 1e6 for key in ("cold", "warm"))
                print(f"  {vocabulary:27} {name:16} {cold:10.1f}  {warm:10.1f}   {more}", flush=True)

            row("ours, ids", ids)
            row("ours, count", count)
            for name in peers:
                result = peer(name, COMPONENTS / vocabulary, path, 2)
                if result:
                    times = f"{result['cold'] / ids['cold']:6.1f} {result['warm'] / ids['warm']:7.1f}"
                    row(name, result, times + self.check(name, ids, result))

    def runs(self):
        vocabulary = "ranks/cl100k_base.tiktoken"
        print("\nA megabyte of one kind in a row, ms, first time (cl100k; tiktoken on a hundredth of it, where it is not yet "
              "quadratic)")
        for name, text in hostile().items():
            path, part = self.folder / "run.documents", self.folder / "part.documents"
            write_documents(path, [text])
            write_documents(part, [text[:len(text) // 100]])
            ids, count = self.ours("ids", vocabulary, path), self.ours("count", vocabulary, path)
            qwen, small = self.ours("ids", "qwen3/tokenizer.json", path), self.ours("ids", vocabulary, part)
            result = peer("tiktoken", COMPONENTS / vocabulary, part, 0)
            beside = f", tiktoken {result['cold'] * 1e3:8.2f}{self.check('tiktoken', small, result)}" if result else ""
            print(
                f"  {name:18} ids {ids['cold'] * 1e3:7.1f}   count {count['cold'] * 1e3:7.1f}   "
                f"Qwen3 {qwen['cold'] * 1e3:7.1f}   a hundredth: ours {small['cold'] * 1e3:6.2f}{beside}",
                flush=True)

    def readiness(self):
        print("\nReady                          from the source ms   image MB   mapped ms   memory MB: mapped, after traces")
        path = self.folder / "ready.documents"
        write_documents(path, traces())
        for vocabulary, _ in VOCABULARIES:
            image, about = self.image(vocabulary)
            results = [self.ours("count", vocabulary, path) for _ in range(3)]
            ready = min(result["ready_ms"] for result in results)
            print(f"  {vocabulary:28} {about['compile_ms']:15.0f} {about['image_bytes'] / 1e6:12.1f} {ready:11.3f}"
                  f" {results[0]['ready_kb'] / 1e3:12.1f} {results[0]['rss_kb'] / 1e3:10.1f}")

    def conversation(self, rounds=34, tokens=114_614):
        """As long as the one that the reference was measured with."""
        image, _ = self.image("qwen3/tokenizer.json")
        messages = grow(conversations(), rounds, tokens)
        path, listed = self.folder / "conversation.documents", self.folder / "conversation.json"
        write_documents(path, [m["content"] for m in messages])
        listed.write_text(json.dumps(messages), encoding="utf-8")
        fresh = [run(self.program, "meter", image, "qwen3", path) for _ in range(5)]
        ours = sorted(fresh, key=lambda one: one["cpu_ms"])[2]
        theirs = run(PYTHON, "-B", PEER, "reference", COMPONENTS / "qwen3/tokenizer.json", listed)
        if ours["rounds"] != theirs["rounds"]:
            self.failed = True
            print(f"    OUR COUNTS DIFFER: {ours['rounds']} {theirs['rounds']}")
        counted = ours["rounds"]
        print(f"\nA conversation of {len(counted)} rounds to {counted[-1]} tokens, counted before each completion, CPU\n"
              f"  the token meter       {ours['cpu_ms']:10.2f} ms   (the median of five new processes)\n"
              f"  the reference's way   {theirs['cpu_ms']:10.0f} ms   × {theirs['cpu_ms'] / ours['cpu_ms']:.0f}   "
              f"(loading {theirs['load_ms']:.0f}, reading {theirs['read_ms']:.0f})")


def grow(trajectories, rounds, tokens):
    """One conversation out of many: system, question, and then pairs of a completion and observations, several put together so
    that it comes to about so many tokens (3.58 bytes each) in so many rounds."""
    first = trajectories[0]
    pairs = [(messages[at]["content"], messages[at + 1]["content"]) for messages in trajectories
             for at in range(2,
                             len(messages) - 1, 2)]
    messages, used, size = first[:2], 0, len(first[0]["content"] + first[1]["content"])
    for n in range(1, rounds):
        said, shown = pairs[used % len(pairs)]
        used += 1
        while size + len(said) + len(shown) < tokens * 3.58 * (n + 1) / rounds:
            shown += "\n" + pairs[used % len(pairs)][1]
            used += 1
        size += len(said) + len(shown)
        messages += [{"role": "assistant", "content": said}, {"role": "user", "content": shown}]
    return messages


def main():
    if not PYTHON.exists():
        raise SystemExit("bench/tokens.py: run scripts/tokenizers --peers first")
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    with tempfile.TemporaryDirectory(prefix="fathom-tokens-") as folder:
        bench = Bench(sys.argv[1], folder, sys.argv[2:])
        for kind, path, size in bench.documents():
            bench.speed(kind, path, size)
        if not bench.wanted:
            bench.runs()
            bench.readiness()
            bench.conversation()
    return 1 if bench.failed else 0


if __name__ == "__main__":
    sys.exit(main())
