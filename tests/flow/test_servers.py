"""Model servers of every kind, failing in every way: protocol.md, "Servers", over real sockets."""
import json
import socket
import threading
import time
import unittest

from flow import FlowTest, completions, read_lines
from private_network import in_private_network

ANSWER = {"text": "<think>It is in my notes.</think>\n<answer>Built in 1857.</answer>"}
CALL_TEXT = '<think>Search.</think>\n<tool_call>\n{"name": "search", "arguments": {"query": ["lighthouse"]}}\n</tool_call>'
CALL = {"text": CALL_TEXT}
NO_TOOLS = ("--tools", "none")
NOW = {"Retry-After": "0.02"}
KEY = "sk-very-secret-00017f"


def refusal(message, status=400, **more):
    return {"status": status, "body": {"error": {"message": message, "type": "invalid_request_error", **more}}}


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class ServerTest(FlowTest):
    def play(self, *replies, arguments=NO_TOOLS, termination="answer", script=None, **more):
        """One run against these replies; gives (Asked, bodies of the completion requests)."""
        url, log = self.stub({"replies": list(replies), "repeat_last": False, **(script or {})})
        asked = self.ask(url, *arguments, termination=termination, **more)
        return asked, completions(log)

    def play_with_search(self, *replies, queries=None, arguments=(), **more):
        web, _ = self.stub_web({"queries": queries} if queries else {})
        return self.play(*replies, arguments=("--tools", "search", "--search", "searxng", "--search-url", web, *arguments),
                         **more)

    def assert_answered(self, asked):
        self.assertEqual(asked.code, 0, asked)
        self.assertEqual((asked.result["prediction"], asked.result["answered"]), ("Built in 1857.", True))


class Retried(ServerTest):
    """What may pass is tried again, and said."""

    def check(self, *bad, contains="", arguments=()):
        asked, requests = self.play(*bad, ANSWER, arguments=(*NO_TOOLS, *arguments))
        self.assert_answered(asked)
        self.assertEqual(len(requests), len(bad) + 1, asked)
        self.assertTrue(all(request == requests[0] for request in requests))
        retries = [e for e in asked.events_of("retry") if e["of"] == "model"]
        self.assertEqual(len(retries), len(bad), asked.events)
        self.assertIn(contains, asked.texts_of("retry"))
        self.assertEqual(asked.result["model_calls"], 1)
        self.assertEqual(asked.result["messages"][-1]["content"].strip(), ANSWER["text"].strip())
        return asked

    def test_retry_after_is_kept(self):
        began = time.monotonic()
        self.check({"status": 429, "headers": {"Retry-After": "2"}, "body": {"error": {"message": "slow down"}}},
                   contains="slow down")
        self.assertGreaterEqual(time.monotonic() - began, 2)

    def test_back_off_doubles(self):
        began = time.monotonic()
        self.check({"status": 429, "body": ""}, {"status": 429, "body": ""})
        self.assertGreaterEqual(time.monotonic() - began, 1.5)  # half of 1 s, half of 2 s

    def test_5xx(self):
        for status in (500, 502, 503, 504, 529):
            with self.subTest(status=status):
                self.check({"status": status, "headers": NOW, "body": "upstream is away"}, contains=str(status))

    def test_gateway_page(self):
        page = "<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>"
        self.check({"status": 502, "headers": NOW, "type": "text/html", "body": page}, contains="502 Bad Gateway")

    def test_connection_closed(self):
        asked, requests = self.play({"close": True}, {"close": True}, ANSWER)
        self.assert_answered(asked)
        # A connection that had served before and dies without a byte is replaced within the same try.
        self.assertEqual(len(requests), 3)
        self.assertGreaterEqual(len(asked.events_of("retry")), 1)

    def test_empty_body(self):
        self.check({"body": "", "headers": NOW}, contains="nothing")

    def test_garbage(self):
        self.check({"body": "\x01\x02 not json", "headers": NOW})
        self.check({"body": '{"choices": [', "headers": NOW})
        self.check({"events": ["{broken"], "headers": NOW})

    def test_html_with_200(self):
        self.check({"body": "<!doctype html><title>Welcome to nginx!</title>", "type": "text/html", "headers": NOW},
                   contains="web page")

    def test_cut_before_a_call_is_closed(self):
        for cut in (400, 700, 1100):
            with self.subTest(cut=cut):
                self.check({"text": "<think>" + "word " * 300 + "</think>", "cut_after": cut, "headers": NOW})

    def test_stalled(self):
        began = time.monotonic()
        self.check({"text": ANSWER["text"], "stall_after": 600}, arguments=("--stall-timeout", "2s"))
        self.assertLess(time.monotonic() - began, 30)

    def test_no_first_byte(self):
        self.check({"hang": True}, arguments=("--first-byte-timeout", "2s"))

    def test_error_object_inside_a_200(self):
        self.check({"body": {"error": {"message": "the engine is loading", "code": 503}}, "headers": NOW},
                   contains="the engine is loading")

    def test_error_object_inside_an_event(self):
        frame = {"choices": [{"index": 0, "delta": {"content": "<think>so"}, "finish_reason": None}]}
        self.check({"events": [frame, {"error": {"message": "CUDA ran away", "type": "InternalServerError", "code": 500}}],
                    "headers": NOW}, contains="CUDA ran away")

    def test_finish_reason_abort_and_error(self):
        for reason in ("abort", "error"):
            with self.subTest(reason=reason):
                self.check({"text": "<think>I was", "finish_reason": reason, "headers": NOW})

    def test_end_without_finish_reason(self):
        self.check({"text": "<think>I was", "finish_reason": None, "headers": NOW})
        self.check({"text": "<think>I was", "finish_reason": None, "done": False, "headers": NOW})

    def test_tries_are_counted(self):
        asked, requests = self.play(*[{"status": 503, "headers": NOW, "body": "busy"}] * 9, termination="model_error",
                                    arguments=(*NO_TOOLS, "--model-tries", "3"))
        self.assertEqual((asked.code, len(requests)), (1, 3))
        self.assertIn("503", asked.result["error"])
        self.assertEqual((asked.result["prediction"], asked.result["answered"]), ("", False))

    def test_ten_tries_unless_said_otherwise(self):
        asked, requests = self.play(*[{"status": 503, "headers": NOW, "body": "busy"}] * 20, termination="model_error")
        self.assertEqual((asked.code, len(requests)), (1, 10))


class Believed(ServerTest):
    """What is odd, and no failure."""

    def test_a_server_that_never_gives_a_reason(self):
        open_end = {"text": ANSWER["text"].replace("</answer>", ""), "finish_reason": None}
        asked, requests = self.play(open_end, open_end)
        self.assert_answered(asked)
        self.assertEqual(len(requests), 2)

    def test_empty_completions_are_handed_on(self):
        asked, requests = self.play(*[{"text": ""}] * 3, ANSWER)
        self.assert_answered(asked)
        self.assertEqual((len(requests), asked.result["model_calls"]), (4, 2))
        self.assertGreaterEqual(asked.result["format_repairs"], 1)

    def test_content_filter_is_asked_once_more(self):
        filtered = {"text": "<think>I", "finish_reason": "content_filter"}
        asked, requests = self.play(filtered, ANSWER)
        self.assert_answered(asked)
        self.assertIn("content filter", asked.texts_of("retry"))
        asked, requests = self.play(filtered, filtered, ANSWER)
        self.assert_answered(asked)
        self.assertEqual((asked.texts_of("retry").count("content filter"), len(requests)), (1, 3))

    def test_one_byte_at_a_time(self):
        text = "<think>Zażółć 灯塔 🗼</think><answer>1857 年建成 🗼.</answer>"
        asked, _ = self.play({"text": text, "split": 1, "chunk": 7})
        self.assertEqual(asked.result["prediction"], "1857 年建成 🗼.")
        asked, _ = self.play({"text": text, "split": 1, "json": True})
        self.assertEqual(asked.result["prediction"], "1857 年建成 🗼.")

    def test_comments_reset_the_stall_timer(self):
        asked, requests = self.play({**ANSWER, "comments": 6, "comment_ms": 400},
                                    arguments=(*NO_TOOLS, "--stall-timeout", "2s", "--first-byte-timeout", "2s"))
        self.assert_answered(asked)
        self.assertEqual(len(requests), 1)

    def test_no_usage(self):
        asked, _ = self.play({**ANSWER, "usage": None})
        self.assert_answered(asked)
        self.assertEqual(asked.result["tokens"]["method"], "estimate")
        self.assertGreater(asked.result["tokens"]["prompt"], 100)
        self.assertGreater(asked.result["tokens"]["completion"], 5)

    def test_usage_wherever_it_comes(self):
        for place in ("last", "every", "own"):
            with self.subTest(place=place):
                usage = {"prompt_tokens": 900, "completion_tokens": 11, "total_tokens": 911}
                asked, _ = self.play({**ANSWER, "usage": usage, "usage_in": place})
                tokens = asked.result["tokens"]
                self.assertEqual((tokens["prompt"], tokens["completion"], tokens["method"]), (900, 11, "server"))

    def test_plain_json_although_a_stream_was_asked(self):
        asked, requests = self.play({**ANSWER, "json": True})
        self.assert_answered(asked)
        self.assertEqual(len(requests), 1)

    def test_stream_is_not_closed_after_its_end(self):
        frames = [{"choices": [{"index": 0, "delta": {"content": ANSWER["text"]}, "finish_reason": "stop"}]}, "[DONE]"]
        body = "".join(f"data: {f if isinstance(f, str) else json.dumps(f)}\n\n" for f in frames)
        began = time.monotonic()
        asked, _ = self.play({"body": body + ":" + " " * 64, "type": "text/event-stream", "stall_after": len(body)})
        self.assert_answered(asked)
        self.assertLess(time.monotonic() - began, 30)


class AfterAClosedCall(ServerTest):
    def test_a_stream_that_breaks_is_not_retried(self):
        for fault in ({"cut_after": 1}, {"stall_after": 1}):
            with self.subTest(fault=fault):
                head = {"choices": [{"index": 0, "delta": {"content": CALL_TEXT + "\nand then"}, "finish_reason": None}]}
                body = f"data: {json.dumps(head)}\n\n"
                name = next(iter(fault))
                broken = {"body": body + "data: ", "type": "text/event-stream", name: len(body)}
                asked, requests = self.play_with_search(broken, ANSWER, arguments=("--stall-timeout", "2s"))
                self.assert_answered(asked)
                self.assertEqual((len(requests), asked.result["rounds"]), (2, 2))
                self.assertEqual(asked.result["tool_calls"], {"search": 1})
                self.assertEqual(asked.result["messages"][2]["content"].strip(), CALL_TEXT)


class ReasoningField(ServerTest):
    """Reasoning in a field of its own is thought, once, and goes back as the server wants it."""
    THOUGHT = "Search first."

    def run_with(self, call, *arguments):
        asked, requests = self.play_with_search(call, ANSWER, arguments=arguments)
        self.assert_answered(asked)
        said = asked.result["messages"][2]["content"]
        self.assertEqual(said.count("Search first."), 1, said)
        self.assertRegex(said, r"^<think>\s*Search first\.\s*</think>\s*<tool_call>")
        self.assertEqual(asked.texts_of("think").count("Search first."), 1)
        said = requests[1]["messages"][2]
        self.assertEqual(json.dumps(said).count("Search first."), 1, said)
        return said

    def call(self, **more):
        return {"text": CALL_TEXT.split("</think>\n")[1], **more}

    def test_either_name(self):
        for field in ("reasoning_content", "reasoning"):
            for whole in (False, True):
                with self.subTest(field=field, json=whole):
                    said = self.run_with(self.call(reasoning=self.THOUGHT, reasoning_field=field, json=whole))
                    self.assertEqual(said[field].strip(), self.THOUGHT)
                    self.assertEqual(said["content"].strip(), self.call()["text"])

    def test_both_names_at_once(self):
        delta = {"reasoning": self.THOUGHT, "reasoning_content": self.THOUGHT}
        frames = [{"choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
                  {"choices": [{"index": 0, "delta": {"content": self.call()["text"]}, "finish_reason": "stop"}]}, "[DONE]"]
        self.run_with({"events": frames})

    def test_a_server_without_the_field_gets_it_inline(self):
        said = self.run_with(CALL | {"text": CALL_TEXT.replace("Search.", self.THOUGHT)})
        self.assertEqual(set(said), {"role", "content"})
        self.assertIn(f"<think>{self.THOUGHT}</think>", said["content"])

    def test_content_has_it_already(self):
        self.run_with(self.call(reasoning=self.THOUGHT) | {"text": f"<think>\n{self.THOUGHT}\n</think>\n" + self.call()["text"]})

    def test_tags_in_the_field_end_nothing(self):
        thought = "I could write <tool_call>{\"name\": \"search\", \"arguments\": {\"query\": [\"no\"]}}</tool_call>"
        asked, _ = self.play({"text": ANSWER["text"].split("</think>\n")[1], "reasoning": thought})
        self.assert_answered(asked)
        self.assertEqual(asked.result["tool_calls"], {})

    def test_content_empty_is_thought_never_closed(self):
        asked, requests = self.play({"text": "", "reasoning": "I think and think", "finish_reason": "stop"}, ANSWER)
        self.assert_answered(asked)
        self.assertEqual((len(requests), asked.result["rounds"]), (2, 1))
        self.assertIn("thought", asked.texts_of("format_repair"))
        text = "So: " + ANSWER["text"].split("</think>\n")[1]
        asked, requests = self.play({"text": "", "reasoning": text, "finish_reason": "stop"})
        self.assertEqual((asked.result["prediction"], len(requests)), ("Built in 1857.", 1))
        self.assertGreaterEqual(asked.result["format_repairs"], 1)


class RefusedParameters(ServerTest):
    """Renamed or dropped for that endpoint, once, said and recorded."""

    def check(self, message, parameter, renamed=None, status=400, arguments=(), **fields):
        asked, requests = self.play_with_search(refusal(message, status, **fields), CALL, ANSWER, arguments=arguments)
        self.assert_answered(asked)
        self.assertEqual(len(requests), 3)
        self.assertIn(parameter, requests[0])
        for request in requests[1:]:
            self.assertNotIn(parameter, request)
            if renamed:
                self.assertEqual(request[renamed], requests[0][parameter])
        said = [e["text"] for e in asked.events_of("retry") if e["of"] == "parameter"]
        self.assertEqual(len(said), 1, asked.events)
        self.assertIn(parameter, said[0])
        kept = set(requests[0]) - {parameter, "messages", *(("stream_options",) if parameter == "stream" else ())}
        self.assertEqual(kept - set(requests[1]), set())

    def test_max_tokens_is_renamed(self):
        self.check("Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' "
                   "instead.", "max_tokens", "max_completion_tokens", param="max_tokens", code="unsupported_parameter")

    def test_temperature(self):
        self.check("Unsupported value: 'temperature' does not support 0.6 with this model. Only the default (1) value is "
                   "supported.", "temperature", param="temperature", code="unsupported_value")

    def test_stop(self):
        self.check("Unsupported parameter: 'stop' is not supported with this model.", "stop", param="stop")

    def test_presence_penalty(self):
        self.check("Argument not supported on this model: presence_penalty", "presence_penalty",
                   arguments=("--presence-penalty", "1.1"))

    def test_stream_options(self):
        self.check("Unrecognized request argument supplied: stream_options", "stream_options")

    def test_stream(self):
        self.check("Your organization must be verified to stream this model.", "stream", param="stream",
                   code="unsupported_value")

    def test_pydantic(self):
        body = {"detail": [{"type": "extra_forbidden", "loc": ["body", "top_k"], "msg": "Extra inputs are not permitted"}]}
        asked, requests = self.play({"status": 422, "body": body}, ANSWER, arguments=(*NO_TOOLS, "--top-k", "20"))
        self.assert_answered(asked)
        self.assertEqual(("top_k" in requests[0], "top_k" in requests[1]), (True, False))

    def test_several_one_after_the_other(self):
        asked, requests = self.play(refusal("Unknown parameter: stream_options"), refusal("Unknown parameter: top_p"),
                                    refusal("Unsupported parameter: max_tokens", param="max_tokens"), ANSWER,
                                    arguments=(*NO_TOOLS, "--model-tries", "1"))
        self.assert_answered(asked)
        self.assertEqual(set(requests[0]) - set(requests[3]), {"stream_options", "top_p", "max_tokens"})

    def test_refused_for_ever_is_final(self):
        asked, requests = self.play(*[refusal("Unknown parameter: messages", param="messages")] * 9,
                                    termination="model_error")
        self.assertEqual((asked.code, len(requests)), (1, 1))


class Final(ServerTest):
    """No second try, and the remedy is said."""

    def check(self, reply, *words):
        asked, requests = self.play(*[reply] * 5, termination="model_error", env={"FATHOM_API_KEY": KEY})
        self.assertEqual((asked.code, len(requests)), (1, 1))
        for word in words:
            self.assertIn(word, asked.result["error"])
            self.assertIn(word, asked.stderr)
        self.assertNotIn(KEY, asked.everything)
        self.assertNotIn(KEY[3:16], asked.everything)
        return asked

    def test_401_never_shows_the_key(self):
        asked = self.check(refusal(f"Incorrect API key provided: {KEY}. Also sk-very-********017f.", 401), "401",
                           "--api-key")
        self.assertNotIn("017f", asked.everything)

    def test_402(self):
        self.check(refusal("Insufficient credits", 402), "402", "credit")

    def test_403(self):
        self.check(refusal("Project has no access", 403), "403", "--model")

    def test_404_names_the_models(self):
        self.check(refusal("The model does not exist", 404), "404", "--model", "stub", "--base-url")

    def test_413(self):
        self.check({"status": 413, "type": "text/html", "body": "<title>413 Request Entity Too Large</title>"}, "413",
                   "--context-limit")

    def test_other_400(self):
        self.check(refusal("I do not like this"), "400", "I do not like this")

    def test_no_credit_is_not_waited_for(self):
        self.check(refusal("You exceeded your current quota", 429, code="insufficient_quota"), "quota", "credit")

    def test_redirects_are_not_followed(self):
        other, other_log = self.stub({"replies": [ANSWER]})
        self.check({"status": 307, "headers": {"Location": f"{other}/chat/completions"}, "body": ""})
        self.assertEqual(read_lines(other_log), [])

    def test_it_costs_one_endpoint_only(self):
        bad, bad_log = self.stub({"replies": [refusal("no", 401)]})
        good, good_log = self.stub({"replies": [ANSWER]})
        for _ in range(3):
            self.assert_answered(self.ask(bad, "--base-url", good, *NO_TOOLS))
        self.assertEqual(len(completions(good_log)), 3)
        self.assertLessEqual(len(completions(bad_log)), 3)


TOO_LONG = {
    "OpenAI": refusal("This model's maximum context length is 8192 tokens. However, your messages resulted in 12034 tokens. "
                      "Please reduce the length of the messages.", param="messages", code="context_length_exceeded"),
    "vLLM": {"status": 400, "body": {
        "object": "error", "message": "This model's maximum context length is 8192 tokens. However, you requested 14000 "
        "tokens (12000 in the messages, 2000 in the completion). Please reduce the length of the messages or completion.",
        "type": "BadRequestError", "param": None, "code": 400}},
    "vLLM, newer": {"status": 400, "body": {"error": {
        "message": "'max_tokens' or 'max_completion_tokens' is too large: 2048. This model's maximum context length is 8192 "
        "tokens and your request has 12000 input tokens (2048 > 8192 - 12000).", "type": "BadRequestError", "code": 400}}},
    "llama.cpp": {"status": 400, "body": {"error": {
        "code": 400, "message": "the request exceeds the available context size, try increasing it",
        "type": "exceed_context_size_error", "n_prompt_tokens": 12000, "n_ctx": 8192}}},
    "SGLang": {"status": 400, "body": {
        "object": "error", "message": "The input (12000 tokens) is longer than the model's context length (8192 tokens).",
        "type": "BadRequestError", "param": None, "code": 400}},
    "LM Studio": {"status": 400, "body": {
        "error": "The number of tokens to keep from the initial prompt is greater than the context length (n_keep: 12000>= "
        "n_ctx: 8192). Try to load the model with a larger context length, or provide a shorter input."}},
    "Anthropic": {"status": 400, "body": {"type": "error", "error": {
        "type": "invalid_request_error", "message": "prompt is too long: 12000 tokens > 8192 maximum"}}},
    "Gemini": {"status": 400, "body": [{"error": {
        "code": 400, "message": "The input token count (12000) exceeds the maximum number of tokens allowed (8192).",
        "status": "INVALID_ARGUMENT"}}]},
    "TGI": {"status": 422, "body": {
        "error": "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8192. Given: 12000 `inputs` tokens "
        "and 2048 `max_new_tokens`", "error_type": "validation"}},
    "Mistral": {"status": 400, "body": {
        "object": "error", "message": "Prompt contains 12000 tokens and 0 draft tokens, too large for model with 8192 maximum "
        "context length", "type": "invalid_request_prompt", "param": None, "code": "3051"}},
    "in an event": {"events": [{"error": {
        "message": "This endpoint's maximum context length is 8192 tokens. However, you requested about 12000 tokens.",
        "code": 400}}]},
}
UNNUMBERED = refusal("Please reduce the length of the messages or completion.", param="messages",
                     code="context_length_exceeded")


def prompt_bytes(request):
    return sum(len(message["content"].encode()) for message in request["messages"])


class ContextTooLong(ServerTest):
    """The window is learnt, the last observation shortened, the answer forced; never model_error."""
    QUERIES = {name: [{"title": f"Result {n}", "link": f"http://example.org/{name}/{n}",
                       "snippet": "The lighthouse of the island was built by hand. " * 90} for n in range(10)]
               for name in ("one", "two", "three", "four")}
    CALL = {"text": CALL_TEXT.replace('["lighthouse"]', json.dumps(list(QUERIES)))}

    def check(self, refused, tokens):
        asked, requests = self.play_with_search(self.CALL, refused, ANSWER, queries=self.QUERIES, termination="token_limit")
        self.assert_answered(asked)
        self.assertEqual(len(requests), 3)
        last = requests[2]
        self.assertGreater(prompt_bytes(requests[1]), 4 * 8192)
        self.assertLess(prompt_bytes(last), prompt_bytes(requests[1]) * 0.8)
        if tokens:
            self.assertLess(prompt_bytes(last) / 5 + last["max_tokens"], tokens)
        self.assertEqual([m["role"] for m in last["messages"]], ["system", "user", "assistant", "user"])
        self.assertTrue(last["messages"][3]["content"].startswith("<tool_response>"))
        self.assertTrue(last["messages"][3]["content"].endswith("</tool_response>"))
        self.assertIn("<answer>", last["messages"][3]["content"])
        self.assertEqual(asked.events_of("limit_reached")[0]["limit"], "token_limit")
        self.assertGreaterEqual(asked.result["truncated_observations"], 1)

    def test_in_the_words_of_each_server(self):
        for server, refused in TOO_LONG.items():
            with self.subTest(server=server):
                self.check(refused, 8192)

    def test_without_a_number(self):
        self.check(UNNUMBERED, None)

    def test_refused_until_it_fits(self):
        asked, requests = self.play_with_search(self.CALL, UNNUMBERED, UNNUMBERED, UNNUMBERED, ANSWER, queries=self.QUERIES,
                                                termination="token_limit")
        self.assert_answered(asked)
        sizes = [prompt_bytes(request) for request in requests[1:]]
        self.assertEqual(sizes, sorted(set(sizes), reverse=True))

    def test_refused_for_ever(self):
        asked, _ = self.play_with_search(self.CALL, *[UNNUMBERED] * 20, queries=self.QUERIES, termination="token_limit")
        self.assertEqual((asked.code, asked.result["answered"]), (1, False))


class SilentTruncation(ServerTest):
    def test_the_run_stops_and_names_the_remedy(self):
        usage = {"prompt_tokens": 2048, "completion_tokens": 20, "total_tokens": 2068}
        question = "Which of these words is the odd one? " + "lighthouse keeper island winter engineer " * 1000
        asked, requests = self.play({**ANSWER, "usage": usage}, termination="model_error", question=question)
        self.assertEqual((asked.code, len(requests)), (1, 1))
        self.assertIn("OLLAMA_CONTEXT_LENGTH", asked.result["error"])
        self.assertIn("OLLAMA_CONTEXT_LENGTH", asked.stderr)

    def test_in_a_later_round(self):
        usage = {"prompt_tokens": 2048, "completion_tokens": 20, "total_tokens": 2068}
        asked, requests = self.play_with_search(ContextTooLong.CALL, {**CALL, "usage": usage}, ANSWER,
                                                queries=ContextTooLong.QUERIES, termination="model_error")
        self.assertEqual(len(requests), 2)
        self.assertIn("OLLAMA_CONTEXT_LENGTH", asked.result["error"])


class Unreachable(ServerTest):
    def test_dead_port(self):
        asked = self.ask(f"http://127.0.0.1:{free_port()}/v1", "--model", "m", *NO_TOOLS, "--model-tries", "2",
                         termination="model_error")
        self.assertEqual(asked.code, 1)
        self.assertRegex(asked.result["error"], "(?i)connect|refused")
        self.assertEqual(len([e for e in asked.events_of("retry") if e["of"] == "model"]), 1)

    def test_no_such_host(self):
        asked = self.ask("http://no-such-host.invalid/v1", "--model", "m", *NO_TOOLS, "--model-tries", "1",
                         termination="model_error")
        self.assertEqual(asked.code, 1)
        self.assertIn("no-such-host.invalid", asked.result["error"])

    @in_private_network({"silent.test": None})
    def test_a_lookup_that_never_answers(self):
        began = time.monotonic()
        asked = self.ask("http://silent.test/v1", "--model", "m", *NO_TOOLS, "--model-tries", "1", "--first-byte-timeout",
                         "2s", termination="model_error")
        self.assertEqual(asked.code, 1)
        self.assertIn("silent.test", asked.result["error"])
        self.assertLess(time.monotonic() - began, 25)
        began = time.monotonic()
        self.ask("http://silent.test/v1", "--model", "m", *NO_TOOLS, "--time-limit", "1s", "--grace", "1s",
                 termination="time_limit")
        self.assertLess(time.monotonic() - began, 25)

    def test_a_listener_that_never_answers(self):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            began = time.monotonic()
            url = f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
            asked = self.ask(url, "--model", "m", *NO_TOOLS, "--model-tries", "1", "--first-byte-timeout", "1s",
                             termination="model_error")
        self.assertEqual(asked.code, 1)
        self.assertLess(time.monotonic() - began, 25)


class Pool(ServerTest):
    def test_failover(self):
        good, log = self.stub({"replies": [CALL, ANSWER]})
        web, _ = self.stub_web()
        dead = f"http://127.0.0.1:{free_port()}/v1"
        asked = self.ask(dead, "--base-url", good, "--tools", "search", "--searxng-url", web, "--model-tries", "1")
        self.assert_answered(asked)
        self.assertEqual(len(completions(log)), 2)

    def test_one_that_fails_is_left_at_once(self):
        began = time.monotonic()
        for _ in range(4):  # whichever endpoint a run is drawn to
            bad, _ = self.stub({"replies": [{"status": 500, "body": "no"}]})
            good, log = self.stub({"replies": [ANSWER]})
            self.assert_answered(self.ask(bad, "--base-url", good, *NO_TOOLS))
            self.assertEqual(len(completions(log)), 1)
        self.assertLess(time.monotonic() - began, 25)

    def test_a_run_keeps_to_its_endpoint(self):
        web, _ = self.stub_web()
        for _ in range(3):
            replies = {"rules": [{**CALL, "when": "n the lighthouse", "times": 1}], "replies": [CALL, CALL, CALL, ANSWER]}
            first, first_log = self.stub(replies)
            second, second_log = self.stub(replies)
            asked = self.ask(first, "--base-url", second, "--tools", "search", "--searxng-url", web)
            counts = sorted([len(completions(first_log)), len(completions(second_log))])
            self.assertEqual(counts, [0, asked.result["model_calls"]])
            self.assertGreaterEqual(counts[1], 4)

    def test_all_down_waits_without_burning_tries(self):
        ports = [free_port(), free_port()]
        urls = [f"http://127.0.0.1:{port}/v1" for port in ports]
        late = threading.Timer(1.5, lambda: self.stub({"replies": [ANSWER]}, "--port", str(ports[1])))
        late.start()
        self.addCleanup(late.join)
        asked = self.ask(urls[0], "--base-url", urls[1], "--model", "m", *NO_TOOLS, "--model-tries", "1")
        self.assert_answered(asked)
        self.assertIn("waiting", [e["of"] for e in asked.events_of("retry")])


class NativeCalls(ServerTest):
    def test_are_rewritten_as_text(self):
        call = {"id": "c1", "type": "function",
                "function": {"name": "search", "arguments": json.dumps({"query": ["lighthouse", "日本"]})}}
        for whole in (False, True):
            with self.subTest(json=whole):
                native = {"text": "<think>Search.</think>", "tool_calls": [call], "finish_reason": "tool_calls",
                          "json": whole}
                asked, requests = self.play_with_search(native, ANSWER)
                self.assert_answered(asked)
                self.assertEqual([e["arguments"] for e in asked.events_of("tool_started")], [{"query": ["lighthouse", "日本"]}])
                said = requests[1]["messages"][2]
                self.assertRegex(said["content"], r"<tool_call>[^<]*\"search\"[^<]*</tool_call>")
                self.assertNotIn("tool_calls", said)
                self.assertNotIn("tools", requests[0])

    def test_two_at_once_and_no_content(self):
        calls = [{"id": f"c{n}", "type": "function",
                  "function": {"name": "search", "arguments": json.dumps({"query": [f"query {n}"]})}} for n in range(2)]
        asked, _ = self.play_with_search({"text": "", "tool_calls": calls, "finish_reason": "tool_calls"}, ANSWER)
        self.assertEqual([e["arguments"]["query"] for e in asked.events_of("tool_started")], [["query 0"], ["query 1"]])


class Window(ServerTest):
    """16,384 tokens, found out from the server: completion cap W/4, prompt limit W - cap - 4,608."""
    MODELS = {
        "vLLM": ([{"id": "m", "object": "model", "owned_by": "vllm", "max_model_len": 16384}], {}),
        "SGLang": ([{"id": "m", "object": "model", "owned_by": "sglang", "max_model_len": 16384}], {}),
        "llama.cpp": ([{"id": "m", "owned_by": "llamacpp", "meta": {"n_ctx_train": 131072}}],
                      {"/props": {"default_generation_settings": {"n_ctx": 16384}, "total_slots": 4}}),
        "Ollama": ([{"id": "m:latest", "owned_by": "library"}],
                   {"/api/ps": {"models": [{"name": "m:latest", "model": "m:latest", "context_length": 16384}]}}),
        "LM Studio": ([{"id": "m", "owned_by": "organization_owner"}],
                      {"/api/v0/models": {"data": [{"id": "other", "state": "loaded", "loaded_context_length": 2048},
                                                   {"id": "m", "state": "loaded", "max_context_length": 131072,
                                                    "loaded_context_length": 16384}]}}),
        "OpenRouter": ([{"id": "other", "context_length": 2048},
                        {"id": "m", "context_length": 16384, "top_provider": {"context_length": 16384}}], {}),
    }

    def limits(self, *arguments, **script):
        asked, requests = self.play(ANSWER, arguments=(*NO_TOOLS, "--model", "m", *arguments), script=script)
        return asked.events_of("round_started")[0]["context_limit"], requests[0]["max_tokens"]

    def test_of_each_server(self):
        for server, (models, get) in self.MODELS.items():
            with self.subTest(server=server):
                self.assertEqual(self.limits(models=models, get=get), (16384 - 4096 - 4608, 4096))

    def test_option(self):
        self.assertEqual(self.limits("--context-window", "16k"), (16384 - 4096 - 4608, 4096))

    def test_unknown_is_128k(self):
        self.assertEqual(self.limits(), (110 * 1024, 10000))
        self.assertEqual(self.limits("--context-limit", "1M"), (128 * 1024 - 10000 - 4608, 10000))

    def test_unknown_is_said(self):
        asked, _ = self.play(ANSWER)
        self.assertRegex(asked.stderr, r"window.* 131072 tokens are assumed; --context-window")
        asked, _ = self.play(ANSWER, script={"models": [{"id": "m", "max_model_len": 32768}]})
        self.assertNotIn("assumed", asked.stderr)


class Probing(ServerTest):
    """Only where neither an address nor a key is configured; a server that was found gets no key."""

    def serve_at(self, port, **script):
        return self.stub({"replies": [ANSWER], **script}, "--port", str(port))[1]

    @in_private_network()
    def test_a_local_server_is_found_and_said(self):
        for port, server in ((8000, "vLLM"), (8080, "llama.cpp"), (11434, "Ollama"), (1234, "LM Studio"), (30000, "SGLang")):
            with self.subTest(server=server):
                address, log = self.serve("stub_model.py", {"replies": [ANSWER] * 2}, "--port", str(port))
                asked = self.ask(None, *NO_TOOLS, "--header", "X-Secret: never-to-be-sent")
                self.assert_answered(asked)
                self.assertIn(f"{address}/v1", asked.stderr)
                self.assertIn(server, asked.stderr)
                self.assertEqual(asked.result["model"], "stub")
                for line in read_lines(log):
                    self.assertNotIn("authorization", line["headers"])
                    self.assertNotIn("x-secret", line["headers"])
                self.doCleanups()
                self.setUp()

    @in_private_network()
    def test_a_key_means_no_probing(self):
        log = self.serve_at(8000)
        self.expect(2, "ask", "x", *NO_TOOLS, env={"OPENAI_API_KEY": KEY})
        self.run_fathom("ask", "x", *NO_TOOLS, "--model", "m", "--model-tries", "1", env={"OPENAI_API_KEY": KEY})
        self.assertEqual(read_lines(log), [])

    @in_private_network()
    def test_an_address_means_no_probing(self):
        log = self.serve_at(8000)
        other, _ = self.stub({"replies": [ANSWER]})
        self.assert_answered(self.ask(other, *NO_TOOLS))
        self.assertEqual(read_lines(log), [])

    @in_private_network()
    def test_what_is_no_model_server_is_left_alone(self):
        log = self.serve_at(8000, models=None)
        self.serve_at(8080, get={"/v1/models": {"hello": "world"}})
        asked = self.ask(None, *NO_TOOLS, termination=None)
        self.assertIn("built-in reader", asked.stderr)
        self.assertEqual([line["method"] for line in read_lines(log)], ["GET"])


class Protocols(ServerTest):
    def test_completions_with_templates(self):
        marks = {"chatml": "<|im_start|>user", "llama3": "<|start_header_id|>user", "mistral": "[INST]",
                 "gemma": "<start_of_turn>user", "plain": "lighthouse"}
        for template, mark in marks.items():
            with self.subTest(template=template):
                url, log = self.stub({"replies": [CALL, ANSWER]})
                web, _ = self.stub_web()
                asked = self.ask(url, "--protocol", "completions", "--template", template, "--tools", "search",
                                 "--searxng-url", web)
                self.assert_answered(asked)
                bodies = completions(log)
                self.assertTrue(all("messages" not in body for body in bodies))
                self.assertIn(mark, bodies[0]["prompt"])
                self.assertIn("When was the lighthouse built?", bodies[0]["prompt"])
                self.assertTrue(bodies[1]["prompt"].startswith(bodies[0]["prompt"].rstrip()[:-20]))

    def test_extra_body_and_headers(self):
        url, log = self.stub({"replies": [ANSWER]})
        self.ask(url, *NO_TOOLS, "--extra-body", '{"chat_template_kwargs": {"enable_thinking": true}, "top_p": null}',
                 "--header", "X-Team: research", "--seed", "7", "--max-tokens", "500")
        body = completions(log)[0]
        self.assertEqual(body["chat_template_kwargs"], {"enable_thinking": True})
        self.assertNotIn("top_p", body)
        self.assertEqual((body["seed"], body["max_tokens"], body["stream"]), (7, 500, True))
        self.assertIn("<tool_response>", body["stop"])
        self.assertTrue(all(line["headers"].get("x-team") == "research" for line in read_lines(log)))


if __name__ == "__main__":
    unittest.main()
