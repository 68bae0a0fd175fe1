"""The command line from outside: help, usage, configuration, output, signals."""
import json
import os
import pathlib
import re
import signal
import subprocess
import time
import unittest

from flow import FlowTest, Terminal

COMMANDS = ("ask", "search", "visit", "index", "parse", "tools", "profile", "doctor")
ANSWER = {"replies": [{"text": "<think>I know this.</think><answer>Forty-two.</answer>"}]}
SLOW = {"replies": [{"hang": True}]}
NO_SEARCH = ("--tools", "none")


class Usage(FlowTest):
    def test_version(self):
        for word in ("--version", "version"):
            self.assertRegex(self.expect(0, word).stdout, r"^fathom \d+\.\d+\.\d+\n$")

    def test_help_names_every_command(self):
        for arguments in ((), ("help",), ("--help",), ("-h",)):
            done = self.expect(0, *arguments)
            for command in COMMANDS:
                self.assertRegex(done.stdout, rf"(?m)^  {command} ")
            self.assertEqual(done.stderr, "")

    def test_help_of_every_command_fits_80_columns(self):
        for command in COMMANDS:
            with self.subTest(command=command):
                done = self.expect(0, command, "--help")
                self.assertEqual(done.stdout, self.expect(0, "help", command).stdout)
                self.assertTrue(done.stdout.startswith(f"Usage: fathom {command}"), done.stdout)
                self.assertIn("--json", done.stdout)
                long = [line for line in done.stdout.splitlines() if len(line) > 80]
                self.assertEqual(long, [])

    def test_ask_has_all_options(self):
        text = self.expect(0, "ask", "--help").stdout
        for name in ("json events output base-url model profile protocol template temperature top-p top-k seed max-tokens "
                     "extra-body header max-calls context-limit context-window time-limit max-cost model-tries "
                     "stall-timeout tools tool-timeout search search-url corpus summarizer allow-address date prompts "
                     "config no-config").split():
            self.assertRegex(text, rf"(?m)^  .*--{name}\b")

    def test_the_manual_names_every_option(self):
        source = pathlib.Path(os.environ["FATHOM_SOURCE"])
        manual = (source / "docs" / "configuration.md").read_text(encoding="utf-8")
        text = self.expect(0, "ask", "--help").stdout
        names = re.findall(r"(?m)^      --([a-z-]+)", text[text.index("\nRun\n"):])
        self.assertGreater(len(names), 60)
        self.assertEqual([name for name in names if f"| `{name}` |" not in manual], [])

    def test_wrong_usage(self):
        cases = [
            (("aks", "x"), "did you mean ask?"),
            (("frobnicate",), 'no command "frobnicate"'),
            (("help", "aks"), "did you mean ask?"),
            (("ask",), "QUESTION is missing"),
            (("ask", "two", "words"), "need quotes"),
            (("ask", "  "), "the question is empty"),
            (("ask", "x", "--modle", "m"), "did you mean --model?"),
            (("ask", "x", "--frobnicate"), "unknown option --frobnicate"),
            (("ask", "x", "-Z"), "unknown option -Z"),
            (("ask", "x", "--model"), "--model needs a value"),
            (("ask", "x", "--json=yes"), "--json takes no value"),
            (("ask", "x", "--time-limit", "90"), "lacks a unit"),
            (("ask", "x", "--max-calls", "0"), "too small"),
            (("ask", "x", "--temperature=hot"), "not a number"),
            (("ask", "x", "--protocol", "grpc"), "chat or completions"),
            (("ask", "x", "--extra-body", "{"), "not valid JSON"),
            (("ask", "x", "--extra-body", "[]"), "must be a JSON object"),
            (("ask", "x", "--extra-body", '{"messages": []}'), "--extra-body: "),
            (("ask", "x", "--header", "content-length: 3"), "--header: "),
            (("ask", "x", "--header", "X: a\r\nY: b"), "control characters"),
            (("ask", "x", "--base-url", "localhost:8000"), "must begin with http"),
            (("ask", "x", "--allow-address", "nowhere"), "--allow-address"),
            (("ask", "x", "--tools", "serach"), "did you mean search?"),
            (("ask", "x", "--search", "corpus"), "--corpus FILE.db"),
            (("ask", "x", "--corpus", "none.db"), "fathom index"),
            (("ask", "x", "--corpus", "/dev/null"), "not a corpus"),
            (("search", "x", "--corpus", "none.db"), "fathom index"),
            (("ask", "x", "--search", "serper"), "SERPER_API_KEY"),
            (("ask", "x", "--search", "searxng"), "SEARXNG_URL"),
            (("ask", "x", "--profile", "nonesuch"), "nonesuch"),
            (("ask", "x", "--date", "2026-02-30"), "not a date"),
            (("ask", "x", "--config", "/no/such.yaml"), "/no/such.yaml"),
            (("ask", "x", "--output", "/no/such/folder/out.json"), "/no/such/folder/out.json"),
            (("ask", "x", "--output", "/"), "/"),
            (("ask", "x", "--events", "/no/such/folder/out.jsonl"), "/no/such/folder/out.jsonl"),
            (("doctor", "now"), "takes no arguments"),
            (("parse", "--corpus", "x"), "--corpus has no use here"),
            (("visit", "http://x/"), "--goal is missing"),
            (("search",), "is missing"),
            (("search", " "), "a query is empty"),
        ]
        for arguments, message in cases:
            with self.subTest(arguments=arguments):
                done = self.expect(2, *arguments)
                self.assertIn(message, done.stderr)
                self.assertEqual(done.stdout, "")

    def test_dash_dash_ends_the_options(self):
        url, log = self.stub(ANSWER)
        self.expect(0, "ask", "--base-url", url, *NO_SEARCH, "-q", "--", "--help")
        self.assertIn("--help", log.read_text())


class Configuration(FlowTest):
    def test_errors_name_the_place(self):
        self.write("fathom.yaml", "model: m\nmodle: x\n")
        done = self.expect(2, "ask", "x")
        self.assertIn('fathom.yaml:2:1: unknown key "modle"; did you mean "model"?', done.stderr)
        self.expect(2, "doctor")
        done = self.expect(2, "ask", "x", "--no-config", env={"FATHOM_TIME_LIMIT": "soon"})
        self.assertIn("FATHOM_TIME_LIMIT: ", done.stderr)

    def test_sources_in_their_rank(self):
        self.write("fathom.yaml", "max_calls: 11\ntime_limit: 11m\ncontext_limit: 11k\n")
        done = self.run_fathom("doctor", "--json", "--model", "builtin", "--tools", "none", "--max-calls", "33",
                               env={"FATHOM_MAX_CALLS": "22", "FATHOM_TIME_LIMIT": "22m"})
        values = {v["name"]: v for v in json.loads(done.stdout)["configuration"]}
        self.assertEqual((values["max-calls"]["value"], values["max-calls"]["origin"]), ("33", "--max-calls"))
        self.assertEqual((values["time-limit"]["value"], values["time-limit"]["origin"]), ("22m", "FATHOM_TIME_LIMIT"))
        self.assertEqual((values["context-limit"]["value"], values["context-limit"]["origin"]),
                         ("11k", "fathom.yaml:3:16"))

    def test_prompts_and_signatures_are_replaceable(self):
        signature = {"name": "visit", "description": "Opens doors.",
                     "parameters": {"type": "object", "properties": {"url": {"type": "array"}}}}
        self.write("own/tools/visit/signature.json", json.dumps(signature))
        self.write("own/generic/question.md", "Riddle: {question}\n")
        shown = json.loads(self.expect(0, "tools", "--prompts", "own", "--tools", "visit", "--json").stdout)
        self.assertEqual(shown, [signature])
        url, log = self.stub(ANSWER)
        self.expect(0, "ask", "x", "--base-url", url, "--prompts", "own", "--tools", "visit")
        self.assertIn("Riddle: x", log.read_text())
        self.assertIn("Opens doors.", log.read_text())
        self.write("own/tools/visit/signature.json", '{"name": "open", "description": "", "parameters": {}}')
        done = self.expect(2, "ask", "x", "--base-url", url, "--prompts", "own", "--tools", "visit")
        self.assertIn("own/tools/visit/signature.json", done.stderr)

    def test_user_file_and_named_file(self):
        self.write("xdg/fathom/config.yaml", "max_calls: 5\n")
        self.write("other.yaml", "max_calls: 6\n")
        def value(*arguments, **env):
            done = self.run_fathom("doctor", "--json", "--model", "builtin", "--tools", "none", *arguments, env=env)
            return [v["value"] for v in json.loads(done.stdout)["configuration"] if v["name"] == "max-calls"]
        xdg = self.path("xdg")
        self.assertEqual(value(XDG_CONFIG_HOME=xdg), ["5"])
        self.assertEqual(value("--no-config", XDG_CONFIG_HOME=xdg), [])
        self.assertEqual(value("--config", "other.yaml", XDG_CONFIG_HOME=xdg), ["6"])
        self.assertEqual(value(FATHOM_CONFIG="other.yaml", XDG_CONFIG_HOME=xdg), ["6"])
        self.assertEqual(value(), [])

    def test_misspelt_variable_is_said(self):
        done = self.run_fathom("doctor", "--model", "builtin", "--tools", "none", env={"FATHOM_MAX_CALL": "3"})
        self.assertIn("did you mean FATHOM_MAX_CALLS?", done.stderr)


class Ask(FlowTest):
    def test_answer_goes_to_stdout_and_progress_to_stderr(self):
        url, _ = self.stub(ANSWER)
        done = self.expect(0, "ask", "What is six times seven?", "--base-url", url, *NO_SEARCH)
        self.assertEqual(done.stdout, "Forty-two.\n")
        self.assertIn("Model stub", done.stderr)
        self.assertNotIn("\x1b", done.stderr)
        self.assertEqual(self.expect(0, "ask", "Why?", "--base-url", url, *NO_SEARCH, "--quiet").stderr, "")

    def test_json_and_files(self):
        url, _ = self.stub(ANSWER)
        done = self.expect(0, "ask", "-", "--json", "--base-url", url, *NO_SEARCH, "--output", "out.json", "--events",
                           "events.jsonl", stdin="  What is\nsix times seven? \n")
        result = json.loads(done.stdout)
        self.assertEqual(result["question"], "What is\nsix times seven?")
        self.assertEqual(result["prediction"], "Forty-two.")
        self.assertEqual(result["termination"], "answer")
        self.assertRegex(result["config_hash"], "^[0-9a-f]{64}$")
        with open(self.path("out.json"), encoding="utf-8") as file:
            self.assertEqual(json.load(file), result)
        with open(self.path("events.jsonl"), encoding="utf-8") as file:
            events = [json.loads(line) for line in file]
        self.assertEqual([e["seq"] for e in events], list(range(1, len(events) + 1)))
        self.assertEqual((events[0]["type"], events[-1]["type"]), ("run_started", "run_finished"))
        self.assertEqual([f for f in os.listdir(self.folder) if f.startswith("out.json.")], [])

    def test_failure_is_exit_code_1(self):
        url, _ = self.stub({"replies": [{"status": 401, "body": {"error": {"message": "bad key"}}}]})
        done = self.expect(1, "ask", "x", "--base-url", url, *NO_SEARCH, "--json", "--output", "out.json")
        self.assertEqual(json.loads(done.stdout)["termination"], "model_error")
        with open(self.path("out.json"), encoding="utf-8") as file:
            self.assertEqual(json.load(file)["termination"], "model_error")

    def test_keys_are_sent_where_they_belong_and_never_shown(self):
        url, log = self.stub(ANSWER)
        key = "sk-very-secret-0001"
        done = self.expect(0, "ask", "x", "--base-url", url, *NO_SEARCH, "--json", "-v", env={"OPENAI_API_KEY": key})
        self.assertIn(f"Bearer {key}", log.read_text())
        self.assertNotIn(key, done.stdout + done.stderr)
        log.write_text("")
        done = self.expect(0, "ask", "x", "--base-url", url, *NO_SEARCH, "--json",
                           env={"OPENAI_API_KEY": key, "OPENAI_BASE_URL": "http://127.0.0.1:9/v1"})
        self.assertNotIn(key, log.read_text() + done.stdout + done.stderr)
        self.assertIn("OPENAI_API_KEY is not sent to", done.stderr)
        self.write("fathom.yaml", f"base_url: {url}\n")
        done = self.expect(0, "ask", "x", *NO_SEARCH, env={"OPENAI_API_KEY": key})
        self.assertNotIn(key, log.read_text())
        self.assertIn("--config fathom.yaml", done.stderr)
        self.expect(0, "ask", "x", *NO_SEARCH, "--config", "fathom.yaml", env={"OPENAI_API_KEY": key})
        self.assertIn(key, log.read_text())

    def test_a_key_without_address_needs_a_model(self):
        done = self.expect(2, "ask", "x", env={"OPENAI_API_KEY": "k"})
        self.assertIn("--model", done.stderr)

    def test_without_anything_the_choice_is_said(self):
        done = self.run_fathom("ask", "x", "--model", "builtin")
        self.assertIn("nothing to search in", done.stderr)
        self.assertIn("SEARXNG_URL", done.stderr)

    def test_closed_stdout_is_no_crash(self):
        url, _ = self.stub(ANSWER)
        reader, writer = os.pipe()
        os.close(reader)
        process = self.start_fathom("ask", "x", "--base-url", url, *NO_SEARCH, "--quiet", stdout=writer,
                                    stderr=subprocess.PIPE)
        os.close(writer)
        _, errors = process.communicate(timeout=30)
        self.assertEqual(process.returncode, 1)
        self.assertEqual(errors, b"")

    def test_closed_descriptors_are_not_mistaken_for_files(self):
        url, _ = self.stub(ANSWER)
        process = self.start_fathom("ask", "x", "--base-url", url, *NO_SEARCH, "--output", "out.json", "--events",
                                    "events.jsonl", preexec_fn=lambda: (os.close(0), os.close(1), os.close(2)))
        self.assertEqual(process.wait(timeout=30), 1)
        with open(self.path("out.json"), encoding="utf-8") as file:
            self.assertEqual(json.load(file)["prediction"], "Forty-two.")
        with open(self.path("events.jsonl"), encoding="utf-8") as file:
            self.assertTrue(all(json.loads(line)["seq"] for line in file))

    def test_full_disk_is_said(self):
        url, _ = self.stub(ANSWER)
        with open("/dev/full", "w", encoding="utf-8") as full:
            process = self.start_fathom("ask", "x", "--base-url", url, *NO_SEARCH, "-q", stdout=full, stderr=subprocess.PIPE)
            _, errors = process.communicate(timeout=30)
        self.assertEqual(process.returncode, 1)
        self.assertIn(b"cannot write the results", errors)


class Interrupt(FlowTest):
    def start(self, *more):
        url, log = self.stub(SLOW)
        process = self.start_fathom("ask", "x", "--base-url", url, *NO_SEARCH, "--json", "--output", "out.json", "--events",
                                    "events.jsonl", *more, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline and not (log.exists() and "completions" in log.read_text()):
            time.sleep(0.02)
        return process

    def test_first_signal_ends_in_order(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(signal=number):
                process = self.start()
                process.send_signal(number)
                output, _ = process.communicate(timeout=20)
                self.assertEqual(process.returncode, 130)
                self.assertEqual(json.loads(output)["termination"], "interrupted")
                with open(self.path("out.json"), encoding="utf-8") as file:
                    self.assertEqual(json.load(file)["termination"], "interrupted")
                with open(self.path("events.jsonl"), encoding="utf-8") as file:
                    self.assertEqual(json.loads(file.readlines()[-1])["type"], "run_finished")

    def test_second_signal_quits_at_once(self):
        process = self.start()
        process.send_signal(signal.SIGSTOP)  # so that both are there before the program can end in order
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGCONT)
        for _ in range(200):
            if process.poll() is not None:
                break
            process.send_signal(signal.SIGINT)
            time.sleep(0.005)
        self.assertEqual(process.wait(timeout=10), 130)


class OnATerminal(FlowTest):
    def test_live_line_and_answer(self):
        thought = " ".join(f"Step {n} of {n * n}." for n in range(40))
        script = {"replies": [{"text": f"<think>{thought}</think><answer>Forty-two.</answer>", "delay_ms": 60}]}
        url, _ = self.stub(script)
        terminal = Terminal(self, "ask", "x", "--base-url", url, *NO_SEARCH, columns=60)
        self.assertTrue(terminal.read_until("tokens"))
        terminal.resize(30)
        code, text = terminal.finish()
        self.assertEqual(code, 0)
        self.assertIn("Forty-two.", text)
        self.assertRegex(text, r"round 1")
        live = re.findall(r"\r([^\r\n\x1b]+)\x1b\[K", text)
        self.assertTrue(live)
        self.assertLessEqual(max(len(line) for line in live), 59)

    def test_no_color_and_dumb(self):
        url, _ = self.stub(ANSWER)
        _, text = Terminal(self, "ask", "x", "--base-url", url, *NO_SEARCH, env={"TERM": "dumb"}).finish()
        self.assertNotIn("\x1b", text)
        _, text = Terminal(self, "ask", "x", "--base-url", url, *NO_SEARCH, "-v", env={"NO_COLOR": "1"}).finish()
        self.assertNotRegex(text, r"\x1b\[[0-9;]*m")

    def test_escapes_of_models_stay_harmless(self):
        evil = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202edesrever"
        url, _ = self.stub({"replies": [{"text": f"<think>{evil}</think><answer>a {evil} b</answer>"}]})
        code, text = Terminal(self, "ask", "x", "--base-url", url, *NO_SEARCH, "-v").finish()
        self.assertEqual(code, 0)
        self.assertIn("owned", text)
        for bad in ("\x1b]0;", "\x1b[2J", "\x07", "\x9b", "\u202e"):
            self.assertNotIn(bad, text)

    def test_ctrl_c(self):
        url, _ = self.stub(SLOW)
        terminal = Terminal(self, "ask", "x", "--base-url", url, *NO_SEARCH)
        self.assertTrue(terminal.read_until("round 1"))
        terminal.process.send_signal(signal.SIGINT)
        code, text = terminal.finish()
        self.assertEqual(code, 130)
        self.assertIn("interrupted", text)


class Doctor(FlowTest):
    def test_ready(self):
        url, log = self.stub(ANSWER)
        done = self.expect(0, "doctor", "--base-url", url, "--tools", "none")
        self.assertIn("Ready.", done.stdout)
        self.assertIn("--base-url", done.stdout)
        self.assertIn("completions", log.read_text())

    def test_says_what_fails_and_what_to_do(self):
        done = self.expect(1, "doctor", "--base-url", "http://127.0.0.1:9/v1", "--model", "m", "--model-tries", "1",
                           "--tools", "search", "--json")
        report = json.loads(done.stdout)
        self.assertFalse(report["ok"])
        failed = [c for c in report["checks"] if c["status"] == "failed"]
        self.assertEqual({c["area"] for c in failed}, {"model", "tools"})
        self.assertTrue(all(c["remedy"] for c in failed))

    def test_secrets_are_not_shown(self):
        done = self.run_fathom("doctor", "--model", "builtin", "--tools", "none",
                               env={"OPENAI_API_KEY": "sk-secret-1", "SERPER_API_KEY": "sk-secret-2"})
        self.assertNotIn("sk-secret", done.stdout + done.stderr)
        self.assertIn("api-key: set (OPENAI_API_KEY)", done.stdout)

    def test_missing_corpus(self):
        done = self.expect(1, "doctor", "--model", "builtin", "--corpus", "none.db")
        self.assertIn("fathom index", done.stdout)


if __name__ == "__main__":
    unittest.main()
