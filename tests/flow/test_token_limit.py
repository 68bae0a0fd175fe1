"""A long run with the model's own tokenizer: the count before every call is that of tokenizing the whole prompt as the model's own
template writes it, and the limit is decided by it, to the token."""
import gzip
import json
import os
import pathlib
import re
import subprocess
import unittest

from flow import FlowTest, completions

SOURCE = pathlib.Path(os.environ["FATHOM_SOURCE"])
COMPONENTS = SOURCE / "build/components/tokenizers"
PYTHON, QWEN = COMPONENTS / "venv/bin/python", COMPONENTS / "qwen3"
RECORDED = SOURCE.parent / "shared/data/transcripts/webdancer.jsonl.gz"
WINDOW = 400_000
LIMIT = 110 * 1024
ROUNDS = 34
BLOCK = re.compile(r"<tool_response>\n?(.*?)\n?</tool_response>", re.S)


def recorded_pairs():
    """(thought, what the tools gave) out of all recorded runs, one after the other."""
    with gzip.open(RECORDED, "rt", encoding="utf-8") as lines:
        for line in lines:
            messages = json.loads(line)["messages"]
            for said, shown in zip(messages[2::2], messages[3::2]):
                thought = re.search(r"<think>(.*?)</think>", said["content"], re.S)
                yield thought.group(1) if thought else "\nI look further.\n", "\n\n".join(BLOCK.findall(shown["content"]))


def long_run(tokens):
    """What the model says and what its tool gives in ROUNDS rounds, some `tokens` tokens in all: recorded thought, and recorded
    observations, several in one."""
    pairs, rounds, size = recorded_pairs(), [], 0
    for number in range(ROUNDS - 1):
        thought, shown = next(pairs)
        while size + len(thought) + len(shown) < tokens * 3.6 * (number + 1) / ROUNDS:
            shown += "\n\n" + next(pairs)[1]
        size += len(thought) + len(shown)
        call = json.dumps({"name": "recall", "arguments": {"number": number}})
        rounds.append((f"<think>{thought}</think>\n<tool_call>\n{call}\n</tool_call>", shown))
    return rounds


@unittest.skipUnless(PYTHON.exists() and QWEN.exists(), "scripts/tokenizers has not fetched Qwen3's vocabulary")
@unittest.skipUnless(RECORDED.exists(), f"{RECORDED} is not here")
class TokenLimit(FlowTest):
    def prepare(self, tokens):
        """A tool that gives the recorded observations; the model's replies."""
        rounds = long_run(tokens)
        for number, (_, shown) in enumerate(rounds):
            self.write(f"shown/{number}", shown)
        self.write(
            "recall/signature.json",
            json.dumps({
                "name": "recall",
                "description": "Gives what was noted under a number.",
                "parameters": {
                    "type": "object",
                    "properties": {
                        "number": {
                            "type": "integer"
                        }
                    },
                    "required": ["number"]
                }
            }))
        os.chmod(self.write("recall/run", f"#!/bin/sh\ncat {self.folder}/shown/$(tr -dc 0-9)\n"), 0o755)
        self.config = self.write(
            "config.yaml",
            json.dumps({
                "own-tools": {
                    "recall": {
                        "directory": self.path("recall"),
                        "confinement": "none"
                    }
                },
                "tools": "visit"
            }))
        return [text for text, _ in rounds]

    def replay(self, said, limit, usage=None, profile="generic", arguments=()):
        """Gives the result, the events and the bodies of the requests. `usage`: prompt tokens that the server reports."""
        replies = [{
            "text": text,
            "chunk": 4000,
            "usage": usage and {
                "prompt_tokens": usage[n],
                "completion_tokens": 50
            } if usage and n < len(usage) else None
        } for n, text in enumerate(said)]
        answer = {"text": "<think>So.</think>\n<answer>42</answer>", "usage": None}
        demand = (SOURCE / "prompts/generic/demand-context.md").read_text(encoding="utf-8").split(":")[0]
        url, log = self.stub({"models": [{"id": "qwen3", "max_model_len": WINDOW}], "replies": [*replies, answer],
                              "rules": [{**answer, "when": demand}]})
        events = self.path(f"events-{limit}.jsonl")
        done = self.run_fathom("ask",
                               "What is it?",
                               "--json",
                               "--config",
                               self.config,
                               "--base-url",
                               url,
                               "--profile",
                               profile,
                               "--tokenizer",
                               str(QWEN),
                               "--context-limit",
                               str(limit),
                               "--date",
                               "2026-03-01",
                               "--events",
                               events,
                               *arguments,
                               timeout=240)
        self.assertNotIn("Sanitizer", done.stderr)
        self.assertTrue(done.stdout, done.stderr)
        with open(events, encoding="utf-8") as lines:
            return json.loads(done.stdout), [json.loads(line) for line in lines], completions(log)

    def exact(self, requests):
        done = subprocess.run([PYTHON, "-B", SOURCE / "tests/support/count_prompts.py", QWEN],
                              input=json.dumps(requests),
                              capture_output=True,
                              text=True,
                              timeout=240,
                              check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def counted(self, events):
        return [event["context_tokens"] for event in events if event["type"] == "round_started"]

    def limits_reached(self, events):
        return [event["limit"] for event in events if event["type"] == "limit_reached"]

    def test_every_round_of_a_long_run(self):
        said = self.prepare(125_000)
        free, events, requests = self.replay(said, WINDOW - 20_000)
        exact = self.exact(requests)
        self.assertEqual(self.counted(events), exact)
        self.assertGreater(exact[-1], LIMIT)
        self.assertEqual(free["tokens"]["method"], "tokenizer")
        self.assertEqual(free["tokens"]["context"], exact[-1])

        crossing = next(n for n, tokens in enumerate(exact) if tokens > LIMIT)
        result, events, limited = self.replay(said, LIMIT)
        self.assertEqual(result["termination"], "token_limit")
        self.assertEqual(self.limits_reached(events), ["token_limit"])
        self.assertEqual(len(limited), crossing + 1)
        self.assertEqual([r["messages"] for r in limited[:-1]], [r["messages"] for r in requests[:crossing]])
        self.assertEqual(limited[-1]["messages"][:-1], requests[crossing]["messages"][:-1])
        last = self.exact(limited)
        self.assertEqual(self.counted(events), last)
        self.assertLessEqual(last[-1], LIMIT)
        self.assertGreater(last[-1], LIMIT - 500)  # shortened, and not by more than a line and the demand

    def test_to_the_token(self):
        said = self.prepare(125_000)[:8]
        _, _, requests = self.replay(said, WINDOW - 20_000)
        exact = self.exact(requests)
        for at in (2, 6):
            _, events, allowed = self.replay(said, exact[at])
            self.assertEqual(allowed[at]["messages"], requests[at]["messages"], "a prompt at the limit is sent as it is")
            _, events, forced = self.replay(said, exact[at] - 1)
            self.assertEqual(len(forced), at + 1)
            self.assertEqual(self.limits_reached(events), ["token_limit"])
            self.assertLessEqual(self.exact(forced)[-1], exact[at] - 1)

    def test_the_server_agrees(self):
        said = self.prepare(125_000)[:6]
        _, _, requests = self.replay(said, WINDOW - 20_000)
        exact = self.exact(requests)
        result, events, again = self.replay(said, WINDOW - 20_000, usage=exact)
        self.assertEqual([r["messages"] for r in again], [r["messages"] for r in requests])
        self.assertEqual(self.counted(events), exact)
        compared = [event["prompt_tokens"] for event in events if "prompt_tokens" in event]
        self.assertGreaterEqual(len(compared), len(said))
        self.assertEqual({c["difference"] for c in compared}, {0})

    def test_profiles(self):
        """Thought that a profile leaves out, or sends in a field of its own."""
        said = self.prepare(125_000)[:10]
        for profile in ("qwen3", "tongyi"):
            with self.subTest(profile=profile):
                _, events, requests = self.replay(said, WINDOW - 20_000, profile=profile)
                self.assertEqual(self.counted(events), self.exact(requests))


if __name__ == "__main__":
    unittest.main()
