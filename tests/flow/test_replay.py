"""What real models wrote, replayed: whole trajectories from a stub server, and the calls that they got wrong."""
import ast
import collections
import concurrent.futures
import gzip
import json
import os
import pathlib
import re
import unittest

from flow import FlowTest
from stub_model import question_of

TRANSCRIPTS = pathlib.Path(os.environ["FATHOM_SOURCE"]).parent / "shared" / "data" / "transcripts"
WELL_FORMED, DIRTY = TRANSCRIPTS / "webdancer.jsonl.gz", TRANSCRIPTS / "dirty.jsonl.gz"
AT_ONCE = 4


def lines_of(path):
    if not path.exists():
        raise unittest.SkipTest(f"{path} is not here")
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def many(work, items):
    """Does `work` for every item, several at once; gives the results in order."""
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(work, items))


def asked_in(trajectory):
    return question_of(next(m["content"] for m in trajectory["messages"] if m["role"] == "user"))


class Trajectories(FlowTest):
    """Every recorded run, by the profile that the model was trained on and by the generic one."""

    def serve_all(self, trajectories):
        """Servers that replay them, as (address, trajectory): of two recordings of a question each has its own server."""
        groups = []
        for trajectory in trajectories:
            question = asked_in(trajectory)
            group = next((g for g in groups if question not in g), None)
            if group is None:
                group = {}
                groups.append(group)
            group[question] = trajectory
        served = []
        for number, group in enumerate(groups):
            path = self.write(f"replay-{number}.jsonl", "".join(json.dumps(t) + "\n" for t in group.values()))
            model, _ = self.stub(None, "--replay", path)
            served += [(model, trajectory) for trajectory in group.values()]
        return served

    def replay(self, model, trajectory, web, profile):
        recorded = [m["content"] for m in trajectory["messages"] if m["role"] == "assistant"]
        question = asked_in(trajectory)
        asked = self.ask(model, "--profile", profile, "--search", "searxng", "--search-url", web, "--reader", "jina",
                         "--jina-url", f"{web}/jina", "--summarizer", "extractive", "--model-tries", "1",
                         question=question)
        return recorded, asked

    def check(self, recorded, asked):
        calls = [json.loads(call) for text in recorded for call in re.findall(r"<tool_call>(.*?)</tool_call>", text, re.S)]
        result, started = asked.result, asked.events_of("tool_started")
        self.assertEqual(asked.code, 0)
        self.assertTrue(result["answered"])
        self.assertEqual(result["prediction"], re.findall(r"<answer>(.*?)</answer>", recorded[-1], re.S)[-1].strip())
        self.assertEqual([(e["name"], e["arguments"]) for e in started], [(c["name"], c["arguments"]) for c in calls])
        counts = {name: count for name, count in result["tool_calls"].items() if count}
        self.assertEqual(counts, dict(collections.Counter(c["name"] for c in calls)))
        self.assertEqual((result["format_repairs"], result["tool_failures"]), (0, 0))
        self.assertEqual((result["rounds"], result["model_calls"]), (len(recorded), len(recorded)))
        said = [m["content"] for m in result["messages"] if m["role"] == "assistant"]
        self.assertEqual([text.strip() for text in said], [text.strip() for text in recorded])
        results = [m["content"] for m in result["messages"] if m["role"] == "user"][1:]
        self.assertEqual(len(results), len(calls))
        self.assertTrue(all(t.startswith("<tool_response>") and t.endswith("</tool_response>") for t in results))

    def test_trajectories_end_as_recorded(self):
        trajectories = lines_of(WELL_FORMED)
        self.assertGreater(len(trajectories), 0)
        web, _ = self.stub_web()
        served = self.serve_all(trajectories)
        self.assertEqual(len(served), len(trajectories))
        for profile in ("websailor", "generic"):
            runs = many(lambda item: self.replay(*item, web, profile), served)
            for number, run in enumerate(runs):
                with self.subTest(profile=profile, trajectory=number):
                    self.check(*run)


def blocks_of(completion):
    """What stands behind each opening tag, as far as the closing one or the next opening one."""
    for piece in completion.split("<tool_call>")[1:]:
        block = piece.split("</tool_call>")[0].strip()
        if block:
            yield block


def strict(block):
    try:
        json.loads(block)
    except ValueError:
        return False
    return True


def understood(block):
    """The block as Python reads it, when that is one call with a name and arguments; else None."""
    for read in (lambda text: json.loads(text, strict=False), ast.literal_eval):
        try:
            value = read(block)
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            continue
        if isinstance(value, dict) and isinstance(value.get("name"), str) and isinstance(value.get("arguments"), dict):
            return value
    return None


def plain(value):
    """A Python value as JSON can say it."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value


def leaves(value):
    """Every key and every text or number."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from leaves(item)
    elif isinstance(value, list):
        for item in value:
            yield from leaves(item)
    elif isinstance(value, str):
        yield value
    elif not isinstance(value, bool) and value is not None:
        yield value


def letters(text):
    """Letters and digits alone: what no escape, quote or space changes."""
    text = re.sub(r"\\u([0-9a-fA-F]{4})", lambda match: chr(int(match.group(1), 16)), text)
    return re.sub(r"[\W_]", "", re.sub(r"\\[nrtbf]", "", text))


NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")


class DirtyCalls(FlowTest):
    """Malformed calls of real models, through `fathom parse`."""

    def parse(self, block):
        done = self.run_fathom("parse", "--json", stdin=f"<tool_call>\n{block}\n</tool_call>")
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_nine_of_ten_are_recovered_and_none_is_invented(self):
        blocks = [block for line in lines_of(DIRTY) for block in blocks_of(line["completion"]) if not strict(block)]
        self.assertGreater(len(blocks), 500)
        recovered = compared = 0
        for block, read in zip(blocks, many(self.parse, blocks)):
            with self.subTest(block=block[:300]):
                call = read["calls"][0] if read["calls"] else {"error": "no call", "name": None, "arguments": None}
                if call["error"] is not None or not call["name"] or not isinstance(call["arguments"], dict):
                    self.assertTrue(call["error"])
                    self.assertIsNone(understood(block), call["error"])
                    continue
                recovered += 1
                self.assertTrue(read["repairs"], "a malformed call was read, and no repair counted")
                expected = understood(block)
                if expected:
                    compared += 1
                    self.assertEqual((call["name"], call["arguments"]), (expected["name"], plain(expected["arguments"])))
                source, numbers = letters(block), {float(n) for n in NUMBER.findall(block)}
                for leaf in [call["name"], *leaves(call["arguments"])]:
                    if isinstance(leaf, str):
                        self.assertIn(letters(leaf), source)
                    else:
                        self.assertIn(float(leaf), numbers)
        share = recovered / len(blocks)
        print(f"{len(blocks)} malformed blocks, {recovered} recovered ({share:.2%}), {compared} compared with Python's reading")
        self.assertGreaterEqual(share, 0.92)
        self.assertGreater(compared, 200)


if __name__ == "__main__":
    unittest.main()
