"""A person at the terminal: consent to a call, and who is asked when nobody is there."""
import json
import os
import signal
import unittest

from flow import FlowTest, Terminal

GREET = """own-tools:
  greet:
    command: [/bin/sh, -c, 'read -r line; echo "greeted with $line"']
    confinement: none
    permission: ask
    signature:
      name: greet
      description: Greets.
      parameters: {type: object, properties: {who: {type: string}}, required: [who]}
"""
CALL = '<think>greet</think><tool_call>{"name": "greet", "arguments": {"who": "Kell"}}</tool_call>'
SCRIPT = {"replies": [{"text": CALL}, {"text": CALL}, {"text": "<think>done</think><answer>Greeted.</answer>"}]}


class Asking(FlowTest):
    def setUp(self):
        super().setUp()
        self.config = self.write("fathom-test.yaml", GREET)

    def type_into(self, terminal, prompt, line):
        self.assertTrue(terminal.read_until(prompt), terminal.output)
        terminal.output = b""
        os.write(terminal.master, line.encode() + b"\n")

    def call_by_hand(self, *more):
        return Terminal(self, "tools", "call", "greet", '{"who": "Kell"}', "--config", self.config, "--tools", "visit",
                        "--model", "builtin", *more)

    def test_a_call_runs_with_consent(self):
        terminal = self.call_by_hand()
        self.assertTrue(terminal.read_until("greet wants to run with"), terminal.output)
        self.assertIn(b"Kell", terminal.output)
        self.type_into(terminal, "n for no: ", "what?")
        self.type_into(terminal, "n for no: ", "y")
        code, text = terminal.finish()
        self.assertEqual(code, 0, text)
        self.assertIn('greeted with {"who":', text.replace('{"who": "', '{"who":"'))

    def test_a_call_does_not_run_without(self):
        for line in ("n", "-", "\x04"):
            terminal = self.call_by_hand()
            self.type_into(terminal, "n for no: ", line)
            code, text = terminal.finish()
            self.assertEqual(code, 1, text)
            self.assertIn("the user did not allow this call", text)
            self.assertNotIn("greeted", text)

    def test_nobody_is_asked_where_nobody_sits(self):
        done = self.expect(1, "tools", "call", "greet", '{"who": "Kell"}', "--config", self.config, "--tools", "visit",
                           "--model", "builtin")
        self.assertIn("nobody can be asked in this run", done.stdout)
        terminal = self.call_by_hand("--ask-user", "never")
        code, text = terminal.finish()
        self.assertEqual(code, 1)
        self.assertIn("nobody can be asked in this run", text)

    def test_built_in_tools_can_need_consent_too(self):
        def call(*more):
            return ("tools", "call", "visit", '{"url": ["http://127.0.0.1:1/"], "goal": "g"}', "--no-config", "--tools", "visit",
                    "--model", "builtin", *more)
        self.assertNotIn("nobody can be asked", self.expect(1, *call()).stdout)
        self.assertIn("nobody can be asked", self.expect(1, *call("--consent", "visit")).stdout)
        terminal = Terminal(self, *call("--consent", "visit"))
        self.type_into(terminal, "n for no: ", "n")
        code, text = terminal.finish()
        self.assertEqual(code, 1, text)
        self.assertIn("the user did not allow this call", text)
        self.assertIn('no tool "vist"', self.expect(2, *call("--consent", "vist")).stderr)

    def test_always_holds_for_the_run(self):
        url, _ = self.stub(SCRIPT)
        result = self.path("result.json")
        terminal = Terminal(self, "ask", "x", "--base-url", url, "--config", self.config, "--tools", "visit", "--output", result)
        self.type_into(terminal, "n for no: ", "a")
        code, text = terminal.finish()
        self.assertEqual(code, 0, text)
        self.assertIn("Greeted.", text)
        with open(result, encoding="utf-8") as file:
            answer = json.load(file)
        self.assertEqual(answer["tool_calls"]["greet"], 2)
        self.assertEqual(answer["tool_failures"], 0)

    def test_an_interrupted_run_withdraws_its_question(self):
        url, _ = self.stub(SCRIPT)
        terminal = Terminal(self, "ask", "x", "--base-url", url, "--config", self.config, "--tools", "visit")
        self.assertTrue(terminal.read_until("n for no: "), terminal.output)
        terminal.process.send_signal(signal.SIGINT)
        code, text = terminal.finish()
        self.assertEqual(code, 130, text)
        self.assertIn("no answer is needed any more", text)


if __name__ == "__main__":
    unittest.main()
