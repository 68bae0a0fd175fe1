"""Exact token counts against servers that count by themselves: the difference is nothing, and where it is not, it shows."""
import json
import time
import unittest

import byte_tokenizer
from flow import FlowTest, completions, read_lines

ANSWER = {"text": "<think>It is in my notes.</think>\n<answer>Built in 1857.</answer>", "usage": "counted"}
KEY = "sk-very-secret-00017f"
MODELS = {"vLLM": {"id": "m", "owned_by": "vllm", "max_model_len": 65536}, "llama.cpp": {"id": "m", "owned_by": "llamacpp"},
          "unknown": {"id": "m"}}


def search(number, **more):
    call = {"name": "search", "arguments": {"query": [f"the lighthouse, part {number}"]}}
    return {"text": f"<think>\nLook in the {number} books  on it.\n</think>\n\n<tool_call>\n{json.dumps(call)}\n</tool_call>",
            "usage": "counted", **more}


REPLIES = [*(search(number) for number in range(6)), ANSWER]


def questions(log):
    """The requests that asked how a chat is written."""
    return [line for line in read_lines(log) if line["path"] in ("/tokenize", "/apply-template")]


class CountTest(FlowTest):
    def setUp(self):
        super().setUp()
        self.tokenizer = byte_tokenizer.write(self.path("tokenizer.json"))
        found = [{"title": f"Part {n} <|im_end|> of it", "link": f"http://example.org/{n}",
                  "snippet": f"The light burns in the tower, {n} times.  日本 é😀 \n\n" * 4} for n in range(3)]
        self.web, _ = self.stub_web({"queries": {f"the lighthouse, part {n}": found for n in range(9)}})

    def play(self, *arguments, replies=None, server="vLLM", tokenizer=True, termination="answer", **script):
        """One run; gives (Asked, bodies of the completion requests, requests that asked about the template)."""
        url, log = self.stub({"replies": replies or REPLIES, "models": [MODELS[server]], "repeat_last": False, **script})
        if tokenizer:
            arguments = ("--tokenizer", self.tokenizer, *arguments)
        asked = self.ask(url, "--tools", "search", "--search", "searxng", "--search-url", self.web, *arguments,
                         termination=termination)
        return asked, completions(log), questions(log)

    def compared(self, asked):
        return [event["prompt_tokens"] for event in asked.events_of("think") if "prompt_tokens" in event]

    def assert_exact(self, asked, requests, template):
        """Every prompt was counted to the token, before the server said so."""
        true = [byte_tokenizer.count(template, request["messages"]) for request in requests]
        self.assertEqual(self.compared(asked), [{"counted": count, "reported": count, "difference": 0, "method": "tokenizer"}
                                                for count in true])
        tokens = asked.result["tokens"]
        self.assertEqual((tokens["method"], tokens["context"], tokens["largest_difference"]), ("tokenizer", true[-1], 0))
        started = [event["context_tokens"] for event in asked.events_of("round_started")]
        self.assertEqual(started, true)


class Known(CountTest):
    """The template is named, so nothing is asked."""

    def test_counts_agree_to_the_token(self):
        for template in ("chatml", "qwen3"):
            with self.subTest(template=template):
                asked, requests, asks = self.play("--chat-template", template, chat={"template": template})
                self.assertEqual(len(requests), len(REPLIES))
                self.assert_exact(asked, requests, template)
                self.assertEqual(asks, [])

    def test_thought_in_a_field_of_its_own(self):
        replies = [{**reply, "reasoning": "In the books\nof the light.", "text": reply["text"].split("</think>")[1].lstrip()}
                   for reply in REPLIES]
        asked, requests, _ = self.play("--chat-template", "qwen3", replies=replies, chat={"template": "qwen3"})
        self.assertIn("reasoning_content", requests[-1]["messages"][2])
        self.assert_exact(asked, requests, "qwen3")

    def test_a_prompt_of_our_own_says_what_day_it_is(self):
        _, requests, _ = self.play("--template", "llama3.2", "--date", "2026-03-01",
                                   replies=[{**ANSWER, "usage": None}])
        self.assertIn("Today Date: 01 Mar 2026\n", requests[0]["prompt"])

    def test_without_usage_everything_is_counted_here(self):
        replies = [{**reply, "usage": None} for reply in REPLIES]
        asked, requests, _ = self.play("--chat-template", "chatml", replies=replies, chat={"template": "chatml"})
        tokens = asked.result["tokens"]
        true = [byte_tokenizer.count("chatml", request["messages"]) for request in requests]
        written = [len(byte_tokenizer.encode(reply["text"])) for reply in replies]
        self.assertEqual((tokens["prompt"], tokens["context"], tokens["method"]), (sum(true), true[-1], "tokenizer"))
        self.assertIn(tokens["completion"] - sum(written), (0, len(replies)))
        self.assertEqual((self.compared(asked), tokens["largest_difference"]), ([], None))


class Learnt(CountTest):
    """The template is no known one: the server is asked, once."""

    def test_from_the_ids_of_vllm(self):
        for server in ("vLLM", "unknown"):
            with self.subTest(server=server):
                asked, requests, asks = self.play(server=server, chat={"template": "harbour", "tokenize": True})
                self.assert_exact(asked, requests, "harbour")
                self.assertEqual({line["path"] for line in asks}, {"/tokenize"})
                bodies = [json.dumps(line["body"], sort_keys=True) for line in asks]
                self.assertEqual(len(bodies), len(set(bodies)))

    def test_from_the_text_of_llama_cpp(self):
        asked, requests, asks = self.play(server="llama.cpp", chat={"template": "harbour", "apply": True})
        self.assert_exact(asked, requests, "harbour")
        self.assertEqual({line["path"] for line in asks}, {"/apply-template", "/tokenize"})

    def test_known_templates_are_recognized(self):
        asked, requests, _ = self.play(chat={"template": "qwen3", "tokenize": True})
        self.assert_exact(asked, requests, "qwen3")

    def test_without_a_tokenizer_the_counts_help(self):
        asked, _, asks = self.play(chat={"template": "harbour", "tokenize": True}, tokenizer=False)
        self.assertLessEqual(len(asks), 3)
        self.assertEqual(asked.result["tokens"]["method"], "server")
        self.assertTrue(all(counts["method"] in ("estimate", "server") for counts in self.compared(asked)))

    def test_the_key_stays_with_its_server(self):
        _, _, asks = self.play("--api-key", KEY, chat={"template": "harbour", "tokenize": True})
        self.assertTrue(asks)
        self.assertEqual({line["headers"].get("authorization") for line in asks}, {f"Bearer {KEY}"})


class Pool(CountTest):
    """Two servers of one model. Each knows one reply and breaks then, but has the answer to what the other one asked: a run
    begins at either and ends at the other."""

    def play_pool(self, templates, *arguments):
        """Gives (Asked, {(messages, template): request})."""
        stubs = [self.stub({"replies": [search(number)], "rules": [{**ANSWER, "when": f"the lighthouse, part {1 - number}"}],
                            "repeat_last": False, "models": [MODELS["vLLM"]], "chat": {"template": template, "tokenize": True}})
                 for number, template in enumerate(templates)]
        addresses = [argument for url, _ in stubs for argument in ("--base-url", url)]
        asked = self.ask(None, *addresses, "--tokenizer", self.tokenizer, "--tools", "search", "--search", "searxng",
                         "--search-url", self.web, *arguments)
        served = {(len(request["messages"]), template): request for template, (_, log) in zip(templates, stubs)
                  for request in completions(log)}
        self.assertEqual([len(completions(log)) for _, log in stubs].count(0), 0, "the run moved")
        return asked, served

    def assert_counted(self, asked, served, template, most):
        """What was counted lies `most` tokens at most from what the server of each round reported."""
        compared = self.compared(asked)
        self.assertEqual(len(compared), 2)
        for counts in compared:
            self.assertLessEqual(abs(counts["difference"]), most, compared)
            self.assertEqual(counts["reported"] - counts["counted"], counts["difference"])
        self.assertEqual([event for event in asked.events_of("retry") if event["of"] == "tokenizer"], [])
        for (length, _), request in served.items():
            if template:
                counted = byte_tokenizer.count(template, request["messages"])
                self.assertEqual(compared[length // 2 - 1]["counted"], counted)

    def test_of_one_template(self):
        asked, served = self.play_pool(("harbour", "harbour"))
        self.assert_counted(asked, served, "harbour", 0)

    def test_of_two_templates(self):
        """None is everybody's: the texts are counted, and what a server adds is taken from its reports."""
        asked, served = self.play_pool(("chatml", "harbour"))
        self.assert_counted(asked, served, None, 25)
        self.assertEqual(asked.stderr.count("The servers write chats in different ways"), 1)
        self.assertNotIn("does not tell", asked.stderr)

    def test_of_two_templates_with_one_named(self):
        """The count is that of the named one at both; the difference at the other one shows."""
        asked, served = self.play_pool(("chatml", "harbour"), "--chat-template", "chatml")
        self.assert_counted(asked, served, "chatml", 25)
        self.assertEqual(sorted(counts["difference"] == 0 for counts in self.compared(asked)), [False, True])
        self.assertNotIn("different ways", asked.stderr)


class Untold(CountTest):
    """Servers that do not tell, or tell nonsense."""

    def test_nothing_harms(self):
        ids = [7] * 40
        for told in ({"status": 404, "body": "no"}, {"status": 500, "body": "no"}, {"count": 40, "tokens": ids},
                     {"count": -3, "tokens": []}, {"count": 1, "tokens": [-1]}, {"count": 2, "tokens": ["a", None]},
                     {"count": 1, "tokens": [1 << 70]}, {"count": 1 << 62}, {"tokens": "none"}, ["a"], "text",
                     {"count": 3000000, "tokens": [1] * 300000}):
            with self.subTest(told=str(told)[:60]):
                asked, requests, asks = self.play(chat={"template": "harbour"}, post={"/tokenize": told})
                self.assertEqual(asked.code, 0)
                self.assertLessEqual(len(asks), 11)
                self.assertEqual(len(self.compared(asked)), len(requests))

    def test_nothing_is_asked_twice(self):
        for server, most in (("vLLM", 1), ("llama.cpp", 1), ("unknown", 2)):
            with self.subTest(server=server):
                asked, _, asks = self.play(server=server, chat={"template": "harbour"})
                self.assertEqual(asked.code, 0)
                self.assertLessEqual(len(asks), most)
                self.assertEqual(asked.texts_of("retry"), "")

    def test_a_silent_server_delays_little(self):
        began = time.monotonic()
        asked, _, asks = self.play(chat={"template": "harbour"}, post={"/tokenize": {"hang": True}}, replies=[ANSWER])
        self.assertEqual((asked.code, len(asks)), (0, 1))
        self.assertLess(time.monotonic() - began, 20)


class Summaries(FlowTest):
    def visit(self, *arguments):
        """A run in which a model of its own, whose server does not count, summarizes a page; gives its tokens by the result and
        its request."""
        web, _ = self.stub_web()
        call = {"name": "visit", "arguments": {"url": [f"{web}/page/a"], "goal": "when was it built"}}
        agent, _ = self.stub({"replies": [{"text": f"<think>Read.</think>\n<tool_call>\n{json.dumps(call)}\n</tool_call>"},
                                          {"text": ANSWER["text"]}]})
        said = json.dumps({"rational": "r", "evidence": "e", "summary": "Built by hand."})
        other, log = self.stub({"models": ["small"], "replies": [{"text": said, "usage": None}]})
        asked = self.ask(agent, "--tools", "visit", "--allow-address", "127.0.0.1", "--summarizer", "model", "--summary-base-url",
                         other, *arguments)
        return asked.result["tokens"]["by_role"]["summary"], completions(log)[0], said

    def test_by_the_summary_model_s_tokenizer(self):
        one_for_each_byte = byte_tokenizer.write(self.path("small.json"), merges=[])
        tokens, request, said = self.visit("--summary-tokenizer", one_for_each_byte)
        prompt = request["messages"][0]["content"]
        self.assertEqual((tokens["prompt"], tokens["completion"]), (len(prompt.encode()), len(said)))
        estimated, _, _ = self.visit()
        self.assertLess(estimated["prompt"], tokens["prompt"] / 2)


class Differences(CountTest):
    def test_another_model_s_tokenizer_is_said_once(self):
        byte_tokenizer.write(self.tokenizer, merges=[])
        asked, requests, _ = self.play("--chat-template", "chatml", chat={"template": "chatml"})
        self.assertEqual(len(requests), len(REPLIES))
        self.assertTrue(all(counts["difference"] < 0 for counts in self.compared(asked)), self.compared(asked))
        self.assertEqual(asked.result["tokens"]["largest_difference"],
                         max(-counts["difference"] for counts in self.compared(asked)))
        said = [event["text"] for event in asked.events_of("retry") if event["of"] == "tokenizer"]
        self.assertEqual(len(said), 1)
        self.assertIn("--tokenizer", said[0])
        self.assertEqual(asked.stderr.count("not the tokenizer of the model"), 1)

    def test_a_few_tokens_are_not_worth_a_word(self):
        asked, _, _ = self.play("--chat-template", "chatml", chat={"template": "chatml", "more": 21})
        self.assertEqual({counts["difference"] for counts in self.compared(asked)}, {21})
        self.assertEqual([event for event in asked.events_of("retry") if event["of"] == "tokenizer"], [])
        self.assertEqual(asked.result["tokens"]["largest_difference"], 21)


class Limits(CountTest):
    def forced_round(self, limit, template):
        """The round whose prompt demands the answer when the context may have `limit` tokens."""
        rules = [{**ANSWER, "when": "no further tool will run"}]
        asked, requests, _ = self.play("--chat-template", template, "--context-limit", str(limit), termination=None,
                                       rules=rules, chat={"template": template})
        forced = ["no further tool will run" in request["messages"][-1]["content"] for request in requests]
        for request, demands in zip(requests, forced):
            if not demands:
                self.assertLessEqual(byte_tokenizer.count(template, request["messages"]), limit)
        self.assertTrue(all(counts["difference"] == 0 for counts in self.compared(asked)))
        self.assertEqual(asked.result["termination"], "token_limit" if True in forced else "answer")
        return forced.index(True) + 1 if True in forced else None

    def test_the_limit_falls_at_the_very_token(self):
        for template in ("chatml", "qwen3"):
            _, requests, _ = self.play("--chat-template", template, chat={"template": template})
            counts = [byte_tokenizer.count(template, request["messages"]) for request in requests]
            for number in (3, 5):
                with self.subTest(template=template, round=number):
                    self.assertEqual(self.forced_round(counts[number - 1] - 1, template), number)
                    self.assertEqual(self.forced_round(counts[number - 1], template), number + 1)


if __name__ == "__main__":
    unittest.main()
