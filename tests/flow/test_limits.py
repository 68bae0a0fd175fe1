"""Limits of a run: each ends in a forced answer, within its grace, and says which it was (protocol.md, "Limits")."""
import json
import signal
import subprocess
import time
import unittest

from flow import FlowTest, completions, read_lines

ANSWER = {"text": "<think>Enough.</think>\n<answer>Built in 1857.</answer>"}
TOOL_CALL = '<tool_call>\n{"name": "%s", "arguments": %s}\n</tool_call>'
# Says what it says for ever, but answers when it is told that no further tool will run.
FORCED = {"when": "no further tool will run"}
UNLIKE = " ".join(f"{n} makes {n * n * 7919 % 10007}" for n in range(2000))  # text that does not repeat itself
LINE = "The lighthouse of the island was built by hand in 1857. "


def search(*queries):
    return {"text": "<think>Look.</think>\n" + TOOL_CALL % ("search", json.dumps({"query": list(queries)}))}


def visit(*urls):
    return {"text": "<think>Read.</think>\n" + TOOL_CALL % ("visit", json.dumps({"url": list(urls), "goal": "when"}))}


def prompt_bytes(request):
    return sum(len(message["content"].encode()) for message in request["messages"])


class LimitTest(FlowTest):
    def setUp(self):
        super().setUp()
        results = {f"huge {k}": [{"title": f"Result {n}", "link": f"http://example.org/{k}/{n}", "snippet": LINE * 60}
                                 for n in range(10)] for k in range(9)}
        self.web, self.web_log = self.stub_web({
            "queries": results, "pages": {"/long": {"type": "text/plain", "repeat": [LINE + "\n", 8000]}}})

    def play(self, *replies, forced=ANSWER, arguments=(), termination="answer", script=None, **more):
        rules = [{**forced, **FORCED}] if forced else []
        url, log = self.stub({"rules": rules, "replies": list(replies), **(script or {})})
        tools = ("--tools", "search,visit", "--search", "searxng", "--search-url", self.web, "--allow-address", "127.0.0.1", "--summarizer",
                 "extractive", "--profile", "generic")
        asked = self.ask(url, *tools, *arguments, termination=termination, **more)
        return asked, completions(log)

    def assert_forced(self, asked, requests, limit, answer="Built in 1857."):
        """The last request demands the answer inside a block of the last message, and got it."""
        self.assertEqual(asked.code, 0, asked)
        self.assertEqual((asked.result["prediction"], asked.result["answered"]), (answer, True))
        self.assertEqual([e["limit"] for e in asked.events_of("limit_reached")], [limit])
        last = requests[-1]["messages"][-1]
        self.assertEqual(last["role"], "user")
        self.assertIn("no further tool will run", last["content"])
        for message in [m for m in requests[-1]["messages"] if m["role"] == "user"][1:]:
            self.assertTrue(message["content"].startswith("<tool_response>"))
            self.assertTrue(message["content"].endswith("</tool_response>"))
        self.assertFalse(any("no further tool will run" in m["content"] for r in requests[:-1] for m in r["messages"]))


class Calls(LimitTest):
    def test_the_last_call_is_the_forced_answer(self):
        asked, requests = self.play(search("one"), search("two"), search("three"), arguments=("--max-calls", "3"),
                                    termination="call_limit")
        self.assert_forced(asked, requests, "call_limit")
        self.assertEqual((len(requests), asked.result["rounds"], asked.result["tool_calls"]["search"]), (3, 3, 2))

    def test_one_call_is_an_answer(self):
        asked, requests = self.play(search("one"), arguments=("--max-calls", "1"), termination="call_limit")
        self.assertEqual((len(requests), asked.result["prediction"]), (1, "Built in 1857."))
        self.assertEqual([m["role"] for m in requests[0]["messages"]], ["system", "user"])

    def test_dropped_completions_do_not_count(self):
        asked, requests = self.play({"text": "Hm."}, search("one"), {"text": "Hm."}, search("two"),
                                    arguments=("--max-calls", "3"), termination="call_limit")
        self.assert_forced(asked, requests, "call_limit")
        self.assertEqual((asked.result["rounds"], asked.result["model_calls"]), (3, 5))

    def test_calls_in_the_forced_reply_are_not_made(self):
        asked, _ = self.play(search("one"), forced={"text": search("two")["text"] + ANSWER["text"]},
                             arguments=("--max-calls", "2"), termination="call_limit")
        self.assertEqual((asked.result["prediction"], asked.result["tool_calls"]["search"]), ("Built in 1857.", 1))

    def test_completions_of_tools_do_not_count(self):
        page = {"text": json.dumps({"rational": "r", "evidence": "e", "summary": "Built by hand."}), "when": "/page/a"}
        rules = [{**ANSWER, **FORCED}, {**page, "times": 2}]
        url, log = self.stub({"rules": rules, "replies": [visit(f"{self.web}/page/a")] * 3})
        asked = self.ask(url, "--tools", "visit", "--allow-address", "127.0.0.1", "--max-calls", "2",
                         "--summarizer", "model", termination="call_limit")
        self.assertEqual(asked.result["rounds"], 2)
        self.assertEqual(asked.result["tokens"]["by_role"]["agent"]["calls"], 2)
        self.assertGreaterEqual(asked.result["tokens"]["by_role"]["summary"]["calls"], 1)
        self.assertGreater(asked.result["tokens"]["by_role"]["summary"]["prompt"], 0)

    def test_forced_reply_without_an_answer(self):
        asked, _ = self.play(search("one"), forced={"text": "<think>Hm.</think>\nIt was 1857, I believe."},
                             arguments=("--max-calls", "2"), termination="call_limit")
        self.assertEqual((asked.code, asked.result["prediction"], asked.result["answered"]),
                         (0, "It was 1857, I believe.", False))

    def test_forced_reply_of_no_use(self):
        asked, _ = self.play(search("one"), forced={"text": "<think>Hm.</think>"}, arguments=("--max-calls", "2"),
                             termination="call_limit")
        self.assertEqual((asked.code, asked.result["prediction"], asked.result["answered"]), (1, "", False))


class Context(LimitTest):
    def test_grows_until_the_limit(self):
        calls = [search(f"query {n} {LINE}", f"query {n} again") for n in range(60)]
        asked, requests = self.play(*calls, arguments=("--context-limit", "5000"), termination="token_limit")
        self.assert_forced(asked, requests, "token_limit")
        self.assertGreater(len(requests), 3)
        for request in requests:
            self.assertLess(prompt_bytes(request) / 5, 5000)

    def test_one_huge_observation(self):
        asked, requests = self.play(search(*[f"huge {n}" for n in range(9)]), arguments=("--context-limit", "6000"),
                                    termination="token_limit")
        self.assert_forced(asked, requests, "token_limit")
        self.assertEqual(len(requests), 2)
        self.assertLess(prompt_bytes(requests[1]) / 5, 6000)
        self.assertGreater(prompt_bytes(requests[1]) / 3, 4000)  # shortened to what fits, not thrown away
        self.assertGreaterEqual(asked.result["truncated_observations"], 1)
        self.assertIn("left out", requests[1]["messages"][3]["content"])

    def test_several_share_the_room(self):
        text = "<think>Read.</think>\n" + "\n".join(
            TOOL_CALL % ("visit", json.dumps({"url": [f"{self.web}{path}"], "goal": "built lighthouse"}))
            for path in ("/long?1", "/page/a", "/long?2"))
        asked, requests = self.play({"text": text}, arguments=("--context-limit", "4000"), termination="token_limit")
        self.assert_forced(asked, requests, "token_limit")
        blocks = requests[1]["messages"][3]["content"].split("<tool_response>")[1:]
        self.assertEqual(len(blocks), 4)  # the last is the demand for the answer
        self.assertIn("Maria Oswin", blocks[1])  # the smallest is served whole
        self.assertTrue(all(len(block) > 200 for block in blocks), [len(block) for block in blocks])

    def test_window_of_8192(self):
        for argument in (("--context-window", "8192"), ()):
            with self.subTest(argument=argument):
                models = {"models": [{"id": "small", "max_model_len": 8192}]} if not argument else {}
                asked, requests = self.play(visit(f"{self.web}/long"), visit(f"{self.web}/long?2"), visit(f"{self.web}/page/a"),
                                            arguments=argument, termination="token_limit", script=models)
                self.assert_forced(asked, requests, "token_limit")
                for request in requests:
                    self.assertLessEqual(prompt_bytes(request) / 5 + request["max_tokens"], 8192)
                self.assertEqual({request["max_tokens"] for request in requests[:-1]}, {2048})
                self.assertGreaterEqual(requests[-1]["max_tokens"], 4096)

    def test_one_observation_has_a_cap(self):
        asked, requests = self.play(visit(*[f"{self.web}/long?{n}" for n in range(8)]), ANSWER,
                                    arguments=("--observation-tokens", "500"))
        observation = requests[1]["messages"][3]["content"]
        self.assertLess(len(observation), 500 * 6)
        self.assertIn("left out", observation)
        self.assertEqual(asked.result["truncated_observations"], 1)


class Time(LimitTest):
    """The deadline cancels what is under way; the forced answer has a grace of its own."""

    def check(self, *replies, arguments=(), **more):
        began = time.monotonic()
        asked, requests = self.play(*replies, arguments=("--time-limit", "1500ms", *arguments), termination="time_limit",
                                    **more)
        took = time.monotonic() - began
        self.assertGreaterEqual(took, 1.5)
        self.assertLess(took, 20)
        return asked, requests

    def forced_by_time(self, *replies, **more):
        asked, requests = self.check(*replies, forced=None, script={"rules": [{**ANSWER, "when": "The time is over"}]}, **more)
        self.assertEqual((asked.code, asked.result["prediction"], asked.result["answered"]), (0, "Built in 1857.", True))
        self.assertEqual([e["limit"] for e in asked.events_of("limit_reached")], ["time_limit"])
        return asked, requests

    def test_before_the_first_byte(self):
        self.forced_by_time({"hang": True})

    def test_mid_stream(self):
        asked, _ = self.forced_by_time({"text": "<think>" + UNLIKE, "stall_after": 4000})
        self.assertEqual([m["role"] for m in asked.result["messages"]], ["system", "user", "assistant"])

    def test_mid_stream_behind_a_closed_call(self):
        text = search("one")["text"] + "\n" + UNLIKE
        asked, requests = self.forced_by_time({"text": text, "chunk": 4000, "delay_ms": 600})
        self.assertEqual(asked.result["messages"][2]["content"].strip(), search("one")["text"])
        self.assertEqual(asked.result["tool_calls"]["search"], 1)

    def test_mid_tool(self):
        asked, requests = self.forced_by_time(visit(f"{self.web}/hang"))
        self.assertEqual([e["status"] for e in asked.events_of("tool_finished")], ["timeout"])
        self.assertIn("visit was stopped", requests[1]["messages"][3]["content"])

    def test_forced_answer_that_hangs_ends_with_the_grace(self):
        asked, _ = self.check({"hang": True}, forced=None, script={"rules": [{"hang": True, "when": "The time is over"}]},
                              arguments=("--grace", "1s"))
        self.assertEqual((asked.code, asked.result["answered"]), (1, False))
        self.assertLess(asked.result["elapsed_ms"], 15000)

    def test_forced_answer_that_never_ends(self):
        endless = {"text": "<think>So.</think>\nIt was " + "built in 1857, as I said. " * 400, "stall_after": 6000,
                   "when": "The time is over"}
        asked, _ = self.check({"hang": True}, forced=None, script={"rules": [endless]}, arguments=("--grace", "1s"))
        self.assertTrue(asked.result["prediction"].startswith("It was built"))
        self.assertFalse(asked.result["answered"])

    def test_a_tool_has_its_own(self):
        asked, requests = self.play(visit(f"{self.web}/hang"), ANSWER, arguments=("--tool-timeout", "1s"))
        self.assertIn("no time left", requests[1]["messages"][3]["content"])
        self.assertEqual(asked.result["tool_failures"], 1)
        self.assertLess(asked.result["tool_ms"], 15000)


class Budget(LimitTest):
    USAGE = {"prompt_tokens": 900, "completion_tokens": 100, "total_tokens": 1000}

    def check(self, *arguments):
        calls = [{**search(f"query {n}"), "usage": self.USAGE} for n in range(20)]
        asked, requests = self.play(*calls, forced={**ANSWER, "usage": self.USAGE}, arguments=arguments, termination="budget")
        self.assert_forced(asked, requests, "budget")
        return asked, requests

    def test_total_tokens(self):
        asked, requests = self.check("--total-tokens", "5000")
        self.assertEqual(len(requests), 6)
        warnings = asked.events_of("budget_warning")
        self.assertEqual([(e["model_calls"], e["text"]) for e in warnings], [(4, "tokens: 4000 of 5000")])
        self.assertTrue(any("4000" in m["content"] for m in requests[4]["messages"] if m["role"] == "user"))

    def test_cost(self):
        asked, requests = self.check("--max-cost", "0.02", "--price-prompt", "1", "--price-completion", "41")
        self.assertEqual(len(requests), 5)  # 0.005 a call
        self.assertAlmostEqual(asked.result["cost_usd"], 0.025)
        self.assertEqual([e["model_calls"] for e in asked.events_of("budget_warning")], [4])

    def test_no_prices_no_cost(self):
        asked, _ = self.play(ANSWER)
        self.assertIsNone(asked.result["cost_usd"])
        self.expect(2, "ask", "x", "--max-cost", "1", "--base-url", "http://127.0.0.1:9/v1", "--model", "m", "--no-config")


class Stuck(LimitTest):
    def test_nothing_of_use_for_six_times(self):
        asked, requests = self.play(*[{"text": "Well."}] * 9, termination="stuck", forced={"text": "<answer>1857</answer>"})
        self.assertEqual((asked.result["prediction"], asked.result["answered"], asked.code), ("1857", True, 0))
        self.assertEqual(len(requests), 7)


class Interrupt(LimitTest):
    def start(self, *replies):
        url, log = self.stub({"replies": list(replies)})
        process = self.start_fathom("ask", "When?", "--base-url", url, "--json", "--no-config", "--events", "events.jsonl",
                                    "--search", "searxng", "--search-url", self.web, "--allow-address", "127.0.0.1",
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        return process, log

    def wait_for(self, log, path):
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            if any(path in line["path"] for line in read_lines(log)):
                return
            time.sleep(0.02)
        self.fail(f"{path} was never asked for")

    def check(self, process):
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=20)
        self.assertLess(time.monotonic() - began, 15)
        self.assertEqual(process.returncode, 130, errors)
        result = json.loads(output)
        self.assertEqual((result["termination"], result["prediction"], result["answered"]), ("interrupted", "", False))
        events = read_lines(self.path("events.jsonl"))
        self.assertEqual((events[-1]["type"], events[-1]["termination"]), ("run_finished", "interrupted"))
        return result

    def test_in_a_stream(self):
        process, log = self.start({"text": "<think>" + UNLIKE, "stall_after": 3000})
        self.wait_for(log, "completions")
        self.check(process)

    def test_in_a_tool(self):
        process, _ = self.start(visit(f"{self.web}/hang"))
        self.wait_for(self.web_log, "/hang")
        result = self.check(process)
        self.assertEqual(result["rounds"], 1)
        self.assertEqual(result["messages"][2]["role"], "assistant")

    def test_in_a_back_off(self):
        process, log = self.start({"status": 429, "headers": {"Retry-After": "60"}, "body": ""})
        self.wait_for(log, "completions")
        time.sleep(0.3)
        self.check(process)

    def test_twice_is_at_once(self):
        url, log = self.stub({"replies": [{"hang": True}]})
        question = self.write("question.txt", UNLIKE * 20)
        with open(question, encoding="utf-8") as file:
            process = self.start_fathom("ask", "-", "--base-url", url, "--json", "--no-config", "--tools", "none", stdin=file,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.wait_for(log, "completions")
        process.send_signal(signal.SIGINT)
        time.sleep(0.5)
        self.assertIsNone(process.poll())  # the result is larger than a pipe that nobody reads: its orderly end waits
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(timeout=20), 130)


if __name__ == "__main__":
    unittest.main()
