"""Tokens: fathom tokens, the cache of compiled tokenizers, and runs that count with one. The tokenizers are tiny ones, written
here, whose ids can be worked out by hand."""
import base64
import json
import os
import pathlib
import subprocess
import unittest

import flow

QWEN3 = pathlib.Path(os.environ["FATHOM_SOURCE"], "build/components/tokenizers/qwen3")
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
MERGES = ["h e", "l l", "he ll", "hell o", "Ġ w", "o r", "Ġw or", "l d", "Ġwor ld", "Ġ Ġ"]


def byte_letters():
    """The printable letters that stand for the 256 bytes in byte-level vocabularies."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in plain]
    return {**{byte: chr(byte) for byte in plain}, **{byte: chr(256 + n) for n, byte in enumerate(others)}}


LETTERS = byte_letters()


def tokenizer(**changes):
    """A byte-level tokenizer.json: a token for every byte (its number is its id), then one for each merge, then special ones."""
    vocabulary = {LETTERS[byte]: byte for byte in range(256)}
    for merge in MERGES:
        vocabulary[merge.replace(" ", "")] = len(vocabulary)
    added = [{"id": len(vocabulary) + n, "content": content, "single_word": False, "lstrip": False, "rstrip": False,
              "normalized": False, "special": True} for n, content in enumerate(SPECIAL)]
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": added, "normalizer": None,
            "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
            "post_processor": {"type": "TemplateProcessing",
                               "single": [{"SpecialToken": {"id": SPECIAL[0], "type_id": 0}},
                                          {"Sequence": {"id": "A", "type_id": 0}}],
                               "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
                               "special_tokens": {SPECIAL[0]: {"id": SPECIAL[0], "ids": [266], "tokens": [SPECIAL[0]]}}},
            "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
            "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
                      "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False, "vocab": vocabulary,
                      "merges": MERGES},
            **changes}


# "hello world": hello, Ġworld
HELLO, WORLD, ENDOFTEXT, IM_START, IM_END = 259, 264, 266, 267, 268
CHAT = [{"role": "system", "content": "hello"}, {"role": "user", "content": "hello world"}]
CHATML = "<|im_start|>system\nhello<|im_end|>\n<|im_start|>user\nhello world<|im_end|>\n<|im_start|>assistant\n"


class TokensTest(flow.FlowTest):
    def setUp(self):
        super().setUp()
        self.tokenizer = self.write("tiny/tokenizer.json", json.dumps(tokenizer()))

    def tokens(self, *arguments, code=0, stdin="", named=True, **more):
        named = ("--tokenizer", self.tokenizer) if named else ()
        return self.expect(code, "tokens", *named, *arguments, stdin=stdin, **more)

    def raw(self, *arguments, stdin=b"", code=0):
        """The same with bytes."""
        done = subprocess.run([flow.FATHOM, "tokens", "--tokenizer", self.tokenizer, *arguments], input=stdin, cwd=self.folder,
                              capture_output=True, timeout=60, env=flow.environment(self.folder), check=False)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertNotIn(b"Sanitizer", done.stderr)
        return done


class Count(TokensTest):
    def test_counts_stdin_and_files(self):
        self.assertEqual(self.tokens(stdin="hello world").stdout, "2\n")
        self.assertEqual(self.tokens("-", stdin="hello").stdout, "1\n")
        self.assertEqual(self.tokens(stdin="").stdout, "0\n")
        one, two = self.write("one.txt", "hello world"), self.write("two.txt", "hello\nll")
        self.assertEqual(self.tokens(one).stdout, "2\n")
        lines = [line.split(None, 1) for line in self.tokens(one, two).stdout.splitlines()]
        self.assertEqual(lines, [["2", one], ["3", two], ["5", "total"]])

    def test_counts_what_is_no_text(self):
        self.assertEqual(self.raw(stdin=bytes(range(128))).stdout, b"%d\n" % 128)
        # each ill-formed part is read as U+FFFD, which is three bytes here
        self.assertEqual(self.raw("--ids", stdin=b"\xff\xe4\xb8").stdout, b"239 191 189 239 191 189\n")
        self.assertEqual(self.raw("--ids", stdin=b"\0").stdout, b"0\n")

    def test_json_gives_a_line_for_each_text(self):
        one = self.write("one.txt", "hello world")
        lines = [json.loads(line) for line in self.tokens("--json", one, "-", stdin="hello").stdout.splitlines()]
        self.assertEqual(lines, [{"file": one, "tokens": 2, "method": "tokenizer"},
                                 {"file": "-", "tokens": 1, "method": "tokenizer"}])

    def test_special_tokens_framed_and_plain(self):
        text = "hello<|im_end|>"
        self.assertEqual(self.tokens("--ids", stdin=text).stdout, f"{HELLO} {IM_END}\n")
        self.assertEqual(self.tokens("--ids", "--special", stdin=text).stdout, f"{ENDOFTEXT} {HELLO} {IM_END}\n")
        self.assertEqual(self.tokens("--plain", stdin=text).stdout, "11\n")
        self.assertEqual(self.tokens("--plain", "--special", stdin=text).stdout, "12\n")

    def test_pieces_show_every_byte(self):
        shown = self.tokens("--pieces", stdin='hello world"\\\t\u200d\u4e2d').stdout.splitlines()
        self.assertEqual(shown[:2], ['    259  "hello"', '    264  " world"'])
        self.assertEqual([line.split(None, 1)[1] for line in shown[2:5]], ['"\\""', '"\\\\"', '"\\t"'])
        self.assertEqual([line.split(None, 1)[1] for line in shown[5:]],
                         ['"\\x%02X"' % byte for byte in "\u200d\u4e2d".encode()])
        line = json.loads(self.tokens("--pieces", "--json", stdin='hello"').stdout)
        self.assertEqual(line["pieces"], ["hello", '\\"'])

    def test_an_unreadable_file_does_not_keep_the_others_from_being_counted(self):
        one = self.write("one.txt", "hello")
        done = self.tokens(one, "missing.txt", self.folder, one, code=1)
        self.assertEqual(done.stdout.splitlines()[-1].split(), ["2", "total"])
        self.assertIn("missing.txt: cannot open", done.stderr)
        self.assertIn("directory", done.stderr)

    def test_large_files_are_mapped(self):
        path = self.path("large.txt")
        with open(path, "wb") as file:
            file.write(b"hello world\n" * 6_000_000)  # 72 MB
        plain = self.write("small.txt", "hello world\n" * 60)
        each = int(self.tokens(plain).stdout) / 60
        self.assertEqual(int(self.tokens(path).stdout), each * 6_000_000)
        with open(path, "rb") as file:
            done = subprocess.run([flow.FATHOM, "tokens", "--tokenizer", self.tokenizer], stdin=file, capture_output=True,
                                  text=True, timeout=120, env=flow.environment(self.folder), check=False)
        self.assertEqual(int(done.stdout), each * 6_000_000)

    def test_what_has_no_end_is_refused_in_time(self):
        done = self.tokens("/dev/zero", code=1)
        self.assertIn("/dev/zero: larger than the 1024 MiB allowed here", done.stderr)

    def test_a_reader_that_leaves_ends_it_quietly(self):
        text = self.write("text.txt", "a b c d e f g h " * 100_000)
        process = self.start_fathom("tokens", "--tokenizer", self.tokenizer, "--ids", text, stdout=subprocess.PIPE,
                                    stderr=subprocess.PIPE)
        process.stdout.read(100)
        process.stdout.close()
        self.assertEqual((process.wait(timeout=60), process.stderr.read()), (1, b""))

    def test_a_full_disk_is_no_success(self):
        with open("/dev/full", "wb") as full:
            process = self.start_fathom("tokens", "--tokenizer", self.tokenizer, "--ids", self.tokenizer, stdout=full,
                                        stderr=subprocess.PIPE)
            self.assertEqual(process.wait(timeout=60), 1)
        self.assertIn(b"cannot write", process.stderr.read())

    def test_a_file_that_shrinks_is_said(self):
        path = self.path("shrinking.txt")
        with open(path, "wb") as file:
            file.truncate(3 << 30)
        process = self.start_fathom("tokens", "--tokenizer", self.tokenizer, path, stdout=subprocess.PIPE,
                                    stderr=subprocess.PIPE)
        while process.poll() is None:
            maps = pathlib.Path(f"/proc/{process.pid}/maps").read_text(encoding="utf-8")
            if path in maps:
                os.truncate(path, 4096)
                break
        self.assertEqual(process.wait(timeout=60), 1)
        self.assertIn(b"became shorter", process.stderr.read())


class Estimate(TokensTest):
    def test_without_a_tokenizer_the_count_is_an_estimate_and_says_so(self):
        done = self.tokens(stdin="hello world " * 100, named=False)
        self.assertTrue(180 <= int(done.stdout) <= 320, done.stdout)
        self.assertIn("--tokenizer", done.stderr)
        line = json.loads(self.tokens("--json", "-q", stdin="hello", named=False).stdout)
        self.assertEqual(line["method"], "estimate")
        chat = self.tokens("--chat", stdin=json.dumps(CHAT), named=False)
        self.assertTrue(10 <= int(chat.stdout) <= 60)

    def test_what_only_a_tokenizer_knows_is_refused(self):
        for options in (["--ids"], ["--pieces"], ["--decode"], ["--truncate", "3"], ["--special"], ["--plain"]):
            with self.subTest(options):
                done = self.tokens(*options, code=2, named=False)
                self.assertEqual(done.stdout, "")
                self.assertIn("--tokenizer PATH", done.stderr)


class Decode(TokensTest):
    def test_ids_come_back_as_they_were(self):
        text = "hello  wörld\n\t\U0001f600 <|im_end|>\n"
        ids = self.tokens("--ids", stdin=text).stdout
        self.assertEqual(self.tokens("--decode", stdin=ids).stdout, text)
        listed = json.dumps([int(word) for word in ids.split()])
        self.assertEqual(self.tokens("--decode", stdin=listed).stdout, text)
        self.assertEqual(self.tokens("--decode", stdin=f"{HELLO},{IM_END},{WORLD}").stdout, "hello<|im_end|> world")
        self.assertEqual(self.tokens("--decode", "--skip-special", stdin=f"{HELLO},{IM_END},{WORLD}").stdout, "hello world")
        self.assertEqual(self.tokens("--decode", stdin="").stdout, "")
        line = json.loads(self.tokens("--decode", "--json", stdin=f"{HELLO} {WORLD}").stdout)
        self.assertEqual((line["tokens"], line["text"]), (2, "hello world"))

    def test_what_is_no_id_is_refused_with_its_place(self):
        for text, problem in (("259 x", ":1:5: x is no id"), ("1\n2\n -3", ":3:2: -3 is no id"), ("1.5", ":1:1: 1.5 is no id"),
                              ("269", ":1:1: 269 is not in the vocabulary, whose last id is 268"),
                              ("4294967297", ":1:1: 4294967297 is not in"), ("9" * 100, "is not in the vocabulary"),
                              ("12a", ":1:1: 12a is no id"), ("9999999999x", "9999999999x")):
            with self.subTest(text):
                done = self.tokens("--decode", stdin=text, code=1)
                self.assertEqual(done.stdout, "")
                self.assertIn(problem, done.stderr)

    def test_half_a_character_becomes_a_mark(self):
        self.assertEqual(self.tokens("--decode", stdin="228 184").stdout, "\ufffd")


class Truncate(TokensTest):
    def test_the_longest_beginning_that_fits(self):
        text = "hello world hello world"
        for limit, kept in ((0, ""), (1, "hello"), (2, "hello world"), (3, None), (100, text)):
            beginning = self.tokens("--truncate", str(limit), stdin=text).stdout
            self.assertTrue(text.startswith(beginning))
            if kept is not None:
                self.assertEqual(beginning, kept)
            self.assertLessEqual(int(self.tokens(stdin=beginning).stdout), limit)

    def test_characters_stay_whole(self):
        text = "\u4e2d\u6587"
        self.assertEqual(self.tokens("--truncate", "5", stdin=text).stdout, "\u4e2d")
        line = json.loads(self.tokens("--truncate", "5", "--json", stdin=text).stdout)
        self.assertEqual((line["tokens"], line["bytes"], line["truncated"], line["text"]), (3, 3, True, "\u4e2d"))

    def test_of_a_long_text_only_the_beginning_is_read(self):
        text = "hello world " * 400_000
        for limit in (1, 1000, 500_000, 1_000_000, 10_000_000):
            beginning = self.tokens("--truncate", str(limit), stdin=text).stdout
            self.assertTrue(text.startswith(beginning))
            count = int(self.tokens(stdin=beginning).stdout)
            self.assertTrue(count == limit or beginning == text, (limit, count))

    def test_a_limit_must_be_one(self):
        for limit in ("-1", "x", "1.5", ""):
            self.assertIn("--truncate takes", self.tokens("--truncate", limit, code=2).stderr)


class Chat(TokensTest):
    def chat(self, value, *arguments, **more):
        text = value if isinstance(value, str) else json.dumps(value)
        return self.tokens("--chat", "--chat-template", "chatml", *arguments, stdin=text, **more)

    def test_a_chat_is_rendered_and_counted(self):
        self.assertEqual(self.chat(CHAT, "--render").stdout, CHATML)
        count = int(self.tokens(stdin=CHATML).stdout)
        self.assertEqual(self.chat(CHAT).stdout, f"{count}\n")
        self.assertEqual(self.chat({"model": "x", "messages": CHAT}).stdout, f"{count}\n")
        self.assertEqual(len(self.chat(CHAT, "--ids").stdout.split()), count)
        line = json.loads(self.chat(CHAT, "--json").stdout)
        self.assertEqual(line, {"file": None, "tokens": count, "method": "tokenizer", "messages": 2, "template": "chatml"})

    def test_contents_may_be_parts(self):
        parts = [{"type": "text", "text": "hel"}, {"type": "text", "text": "lo"}]
        self.assertEqual(self.chat([{"role": "system", "content": parts}, CHAT[1]], "--render").stdout, CHATML)

    def test_json_lines_give_a_count_each(self):
        lines = json.dumps(CHAT) + "\n\n" + json.dumps({"messages": CHAT[1:]}) + "\n"
        counts = [int(line.split()[0]) for line in self.chat(lines).stdout.splitlines()]
        self.assertEqual((len(counts), counts[0] > counts[1] > 0), (2, True))
        lines = [json.loads(line) for line in self.chat(lines, "--json").stdout.splitlines()]
        self.assertEqual([line["line"] for line in lines], [1, 3])

    def test_what_cannot_be_counted_is_refused_with_its_place(self):
        good = json.dumps(CHAT)
        for text, problem in (("", "invalid JSON"), ("[\n{,}]", ":2:2: invalid JSON"),
                              ("\ufeff{,}", ":1:5: invalid JSON"), ("\ufeff[\n{,}]", ":2:2: invalid JSON"),
                              ("[]", "there are no messages"),
                              ("{}", "neither a list of messages"), ("7", "neither a list"),
                              ('[{"role": "tool", "content": "x"}]', 'message 1: the role "tool" is none of'),
                              ('[{"content": "x"}]', "message 1: there is no role"), ("[7]", "message 1: is no object"),
                              ('[{"role": "user", "content": 7}]', "message 1: the content is neither"),
                              ('[{"role": "user", "content": [{"type": "image_url"}]}]', "only parts that are text"),
                              ('[{"role": "assistant", "tool_calls": [{"id": 1}]}]', "calls in a field of their own"),
                              ('{"messages": [{"role": "user", "content": ""}], "tools": [{}]}', "tools that the server"),
                              (good + "\n{broken\n" + good, ":2:7: invalid JSON"), (good + "\n7\n", ":2: neither a list"),
                              ("[" * 5000, "invalid JSON")):
            with self.subTest(text[:60]):
                self.assertIn(problem, self.chat(text, code=1).stderr)

    def test_a_template_must_be_known(self):
        done = self.tokens("--chat", stdin=json.dumps(CHAT), code=2)
        self.assertIn("--chat-template NAME", done.stderr)
        self.write("tiny/tokenizer_config.json", json.dumps({"chat_template": "{{ something_else(messages) }}"}))
        self.assertIn("none that is known", self.tokens("--chat", stdin=json.dumps(CHAT), code=2).stderr)
        self.assertIn("not one of", self.tokens("--chat", "--chat-template", "chatmll", code=2).stderr)

    def test_what_ask_prints_can_be_counted(self):
        url, _ = self.stub({"replies": [{"text": "<think>Known.</think>\n<answer>1857</answer>"}]})
        asked = self.ask(url, "--tools", "none")
        count = int(self.chat(json.dumps(asked.result)).stdout)
        self.assertGreater(count, 100)


class Options(TokensTest):
    def test_what_excludes_each_other_is_said(self):
        for options in (["--ids", "--pieces"], ["--decode", "--ids"], ["--render"], ["--chat", "--decode"],
                        ["--chat", "--truncate", "3"], ["--chat", "--plain"], ["--decode", "--special"], ["--skip-special"]):
            with self.subTest(options):
                done = self.tokens(*options, code=2)
                self.assertIn("See fathom tokens --help", done.stderr)

    def test_the_tokenizer_comes_from_folder_variable_or_file(self):
        folder = os.path.dirname(self.tokenizer)
        self.assertEqual(self.tokens("--tokenizer", folder, stdin="hello", named=False).stdout, "1\n")
        self.assertEqual(self.tokens(stdin="hello", named=False, env={"FATHOM_TOKENIZER": folder}).stdout, "1\n")
        self.assertEqual(self.tokens("--tokenizer", "~/tiny", stdin="hello", named=False).stdout, "1\n")
        config = self.write("elsewhere/config.yaml", "tokenizer: ../tiny\n")
        for cwd in (self.folder, "/"):
            self.assertEqual(self.tokens("--config", config, stdin="hello", named=False, cwd=cwd).stdout, "1\n")
        done = self.tokens("--config", config, "--tokenizer", "none", stdin="hello", named=False)
        self.assertIn("No tokenizer is configured", done.stderr)

    def test_what_cannot_be_used_is_refused(self):
        done = self.tokens("--tokenizer", "missing", named=False, code=2)
        self.assertIn("missing: No such file or directory; a tokenizer.json", done.stderr)
        self.assertIn("did you mean tokenizer.json?", self.tokens("--tokenizer", "tiny/tokeniser.json", named=False, code=2).stderr)
        self.write("model/config.json", "{}")
        self.write("model/model.safetensors", "")
        done = self.tokens("--tokenizer", "model", named=False, code=2)
        self.assertIn("config.json", done.stderr)
        self.write("broken.json", '{"version": "1.0",\n"model": }')
        done = self.tokens("--tokenizer", "broken.json", named=False, code=2)
        self.assertIn("broken.json:2:", done.stderr)
        strange = tokenizer(pre_tokenizer={"type": "Hieroglyphs"})
        done = self.tokens("--tokenizer", self.write("strange.json", json.dumps(strange)), named=False, code=2)
        self.assertIn("Hieroglyphs", done.stderr)
        ranks = "".join(f"{base64.b64encode(bytes([n])).decode()} {n}\n" for n in range(256))
        done = self.tokens("--tokenizer", self.write("own.tiktoken", ranks), named=False, code=2)
        self.assertIn("own.tiktoken", done.stderr)
        config = self.write("elsewhere/config.yaml", "\ntokenizer: nowhere\n")
        self.assertIn("config.yaml:2:", self.tokens("--config", config, named=False, code=2).stderr)

    def test_a_pattern_that_takes_forever_is_given_up_by_name(self):
        pattern = {"type": "Split", "pattern": {"Regex": "a*b"}, "behavior": "Isolated", "invert": False}
        byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
        steps = {"type": "Sequence", "pretokenizers": [pattern, byte_level]}
        hostile = self.write("hostile.json", json.dumps(tokenizer(pre_tokenizer=steps)))
        done = self.tokens("--tokenizer", hostile, stdin="a" * 300_000, named=False, code=1)
        self.assertIn("not exact: a pattern of the tokenizer needs too many tries on such text: a*b", done.stderr)
        self.assertEqual(self.tokens("--tokenizer", hostile, stdin="aab", named=False).stdout, "3\n")


class Cache(TokensTest):
    def cached(self):
        return sorted(pathlib.Path(self.folder, ".cache/fathom/tokenizers").glob("*"))

    def doctor(self, *arguments, **more):
        """What doctor says of the tokenizer."""
        done = self.run_fathom("doctor", "--json", "--no-config", "--model", "builtin", "--tools", "none", "--tokenizer",
                               self.tokenizer, *arguments, **more)
        checks = json.loads(done.stdout)["checks"]
        return next(check for check in checks if check["area"] == "tokens" and check["name"] == "tokenizer")

    def test_the_second_start_uses_it(self):
        self.assertNotIn("from the cache", self.doctor()["text"])
        self.assertEqual(len(self.cached()), 1)
        self.assertIn("from the cache", self.doctor()["text"])
        self.assertEqual(self.tokens(stdin="hello").stdout, "1\n")
        self.assertEqual(len(self.cached()), 1)

    def test_a_damaged_one_is_made_anew(self):
        self.tokens(stdin="hello")
        path = self.cached()[0]
        whole = path.read_bytes()
        for damaged in (b"", whole[:100], whole[:-1], whole[:len(whole) // 2] + b"\xff" + whole[len(whole) // 2 + 1:],
                        b"\0" * len(whole), whole + b"x"):
            path.write_bytes(damaged)
            self.assertEqual(self.tokens("--ids", stdin="hello world").stdout, f"{HELLO} {WORLD}\n")
            self.assertEqual(len(self.cached()[0].read_bytes()), len(whole))
            self.assertIn("from the cache", self.doctor()["text"])

    def test_a_changed_source_is_noticed(self):
        self.assertEqual(self.tokens(stdin="hello").stdout, "1\n")
        changed = tokenizer()
        changed["model"]["merges"] = MERGES[:3]
        self.write("tiny/tokenizer.json", json.dumps(changed))
        self.assertEqual(self.tokens(stdin="hello").stdout, "2\n")

    def test_a_cache_that_cannot_be_written_does_no_harm(self):
        for folder in ("/proc/nowhere", "/dev/null"):
            self.assertEqual(self.tokens(stdin="hello", env={"XDG_CACHE_HOME": folder}).stdout, "1\n")
            self.assertIn(f"not cached: {folder}/", self.tokens("-v", stdin="hello", env={"XDG_CACHE_HOME": folder}).stderr)
        self.assertEqual(self.tokens(stdin="hello", env={"HOME": ""}).stdout, "1\n")

    def test_xdg_cache_home_is_where_it_goes(self):
        self.tokens(stdin="hello", env={"XDG_CACHE_HOME": self.path("other")})
        self.assertEqual((len(list(pathlib.Path(self.folder, "other/fathom/tokenizers").glob("*"))), self.cached()), (1, []))

    def test_many_starts_at_once_agree(self):
        processes = [self.start_fathom("tokens", "--tokenizer", self.tokenizer, self.tokenizer, stdout=subprocess.PIPE)
                     for _ in range(6)]
        counts = {process.communicate(timeout=60)[0] for process in processes}
        self.assertEqual((len(counts), len(self.cached())), (1, 1))


class Doctor(TokensTest):
    def checks(self, *arguments):
        done = self.run_fathom("doctor", "--json", "--no-config", "--tools", "none", *arguments)
        return {check["name"]: check for check in json.loads(done.stdout)["checks"]}

    def test_doctor_names_tokenizer_and_template(self):
        url, _ = self.stub({"replies": [{"text": "ok"}]})
        checks = self.checks("--base-url", url, "--tokenizer", self.tokenizer, "--chat-template", "chatml")
        self.assertIn("269 tokens", checks["tokenizer"]["text"])
        self.assertEqual((checks["tokenizer"]["status"], checks["chat template"]["status"]), ("ok", "ok"))
        self.assertIn("chatml", checks["chat template"]["text"])
        folder = os.path.dirname(self.tokenizer)
        self.assertIn(f"{folder}/tokenizer.json, ", self.checks("--tokenizer", f"{folder}//")["tokenizer"]["text"])
        checks = self.checks("--base-url", url, "--tokenizer", self.tokenizer)
        self.assertEqual(checks["chat template"]["status"], "note")
        self.assertIn("--chat-template", checks["chat template"]["remedy"])

    def test_doctor_says_what_to_do_without_one(self):
        url, _ = self.stub({"replies": [{"text": "ok"}]})
        check = self.checks("--base-url", url)["tokenizer"]
        self.assertEqual(check["status"], "note")
        self.assertIn("--tokenizer", check["remedy"])


@unittest.skipUnless(QWEN3.exists(), "scripts/tokenizers has not fetched Qwen3's")
class RealModel(TokensTest):
    def test_the_template_in_the_files_is_recognized(self):
        done = self.tokens("--tokenizer", str(QWEN3), "--chat", "--json", stdin=json.dumps(CHAT), named=False)
        line = json.loads(done.stdout)
        self.assertEqual((line["template"], line["messages"]), ("qwen3", 2))
        done = self.tokens("--tokenizer", str(QWEN3), "--chat", "--render", stdin=json.dumps(CHAT), named=False)
        self.assertEqual(done.stdout, CHATML)
        url, _ = self.stub({"replies": [{"text": "ok"}]})
        done = self.run_fathom("doctor", "--json", "--no-config", "--tools", "none", "--base-url", url, "--tokenizer", str(QWEN3))
        check = next(check for check in json.loads(done.stdout)["checks"] if check["name"] == "chat template")
        self.assertEqual((check["status"], check["text"]), ("ok", "qwen3, which the tokenizer's files hold"))

    def test_earlier_thought_counts_as_the_template_has_it(self):
        chat = [CHAT[1], {"role": "assistant", "content": "<think>\nlong thought\n</think>\n\nhello"}, CHAT[1]]
        field = [CHAT[1], {"role": "assistant", "reasoning_content": "long thought", "content": "hello"}, CHAT[1]]
        texts = [self.tokens("--tokenizer", str(QWEN3), "--chat", "--render", stdin=json.dumps(messages), named=False).stdout
                 for messages in (chat, field)]
        self.assertNotIn("long thought", texts[0])
        self.assertEqual(texts[0], texts[1])


class Ask(TokensTest):
    def test_a_run_counts_exactly(self):
        call = '<think>Look.</think>\n<tool_call>\n{"name": "visit", "arguments": {"url": ["%s"], "goal": "when"}}\n</tool_call>'
        web, _ = self.stub_web({"pages": {"/page": {"type": "text/plain", "body": "The lighthouse was built in 1857.\n" * 40}}})
        url, log = self.stub({"replies": [{"text": call % f"{web}/page", "usage": None},
                                          {"text": "<think>Known.</think>\n<answer>1857</answer>", "usage": None}]})
        asked = self.ask(url, "--tools", "visit", "--allow-address", "127.0.0.1", "--summarizer", "extractive", "--profile",
                         "generic", "--tokenizer", self.tokenizer, "--chat-template", "chatml")
        self.assertEqual(asked.result["tokens"]["method"], "tokenizer")
        last = json.dumps(flow.completions(log)[-1]["messages"])
        counted = int(self.tokens("--chat", "--chat-template", "chatml", stdin=last).stdout)
        self.assertEqual(asked.result["tokens"]["context"], counted)

    def test_a_run_says_that_a_pattern_was_given_up(self):
        pattern = {"type": "Split", "pattern": {"Regex": "(?:a+)+$"}, "behavior": "Isolated", "invert": False}
        byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
        steps = {"type": "Sequence", "pretokenizers": [pattern, byte_level]}
        hostile = self.write("hostile.json", json.dumps(tokenizer(pre_tokenizer=steps)))
        url, _ = self.stub({"replies": [{"text": "<answer>" + "a" * 60 + "b</answer>"}]})
        asked = self.ask(url, "--tools", "none", "--tokenizer", hostile, "--chat-template", "chatml", question="a" * 60 + "b")
        self.assertIn("not exact: a pattern of the tokenizer needs too many tries", asked.stderr)

    def test_a_tokenizer_that_cannot_be_used_ends_it_before_it_begins(self):
        done = self.expect(2, "ask", "When?", "--model", "builtin", "--tokenizer", "missing")
        self.assertEqual(done.stdout, "")
        self.assertIn("--tokenizer: ", done.stderr)

    def test_a_run_without_a_template_says_so(self):
        url, _ = self.stub({"replies": [{"text": "<think>Known.</think>\n<answer>1857</answer>"}]})
        asked = self.ask(url, "--tools", "none", "--tokenizer", self.tokenizer)
        self.assertIn("--chat-template", asked.stderr)


if __name__ == "__main__":
    unittest.main()
