"""The pages say what the program does: every command, option and file they name exists."""
import json
import os
import pathlib
import re
import unittest

import flow

SOURCE = pathlib.Path(os.environ["FATHOM_SOURCE"])
PAGES = sorted([SOURCE / "README.md", *SOURCE.glob("docs/*.md"), *SOURCE.glob("docs/*.scd")])
OPTION = re.compile(r"^ {2}(?:-\w, | {4})--([a-z-]+)", re.M)
FOREIGN = {"preset", "build", "install", "prefix"}  # cmake's


class Docs(flow.FlowTest):
    def help_of(self, command):
        done = self.run_fathom(command, "--help")
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def commands(self):
        return re.findall(r"^  ([a-z]+)  ", self.run_fathom("help").stdout, re.M)

    def test_configuration_lists_every_option_once(self):
        page = (SOURCE / "docs/configuration.md").read_text("utf-8")
        written = re.findall(r"^\| `([a-z-]+)` \|", page, re.M)
        usual = {"output", "events", "json", "quiet", "verbose", "config", "no-config", "help"}
        self.assertEqual(written, [name for name in OPTION.findall(self.help_of("ask")) if name not in usual])

    def test_configuration_gives_the_defaults_that_help_gives(self):
        page = (SOURCE / "docs/configuration.md").read_text("utf-8")
        blocks = re.split(r"^ {2}(?:-\w, | {4})--(?=[a-z])", self.help_of("ask"), flags=re.M)[1:]
        helps = {block.split(None, 1)[0]: " ".join(block.split("\n\n")[0].split()) for block in blocks}
        for name, default in re.findall(r"^\| `([a-z-]+)` \|.*\| (.*?) \|$", page, re.M):
            if default:
                self.assertIn(f"(default: {default})", helps[name])

    def test_every_named_command_and_option_exists(self):
        commands = self.commands()
        self.assertGreaterEqual(len(commands), 8)
        options = {name for command in commands if command != "help" for name in OPTION.findall(self.help_of(command))}
        for page in PAGES:
            text = page.read_text("utf-8")
            for command in re.findall(r"[`*]fathom ([a-z]+)", text):
                self.assertIn(command, commands, page.name)
            for option in re.findall(r"(?<![\w-])--([a-z][a-z-]+)", text):
                self.assertIn(option, options | FOREIGN | {"version"}, page.name)

    def test_every_linked_or_named_file_exists(self):
        for page in PAGES:
            text = page.read_text("utf-8")
            links = re.findall(r"\]\(([\w./-]+)\)", text)
            for link in links:
                self.assertTrue((page.parent / link).exists(), f"{page.name}: {link}")
            for path in re.findall(r"`((?:src|scripts|tests|prompts|bench|tools|cmake|\.ci)/[\w./-]+)`", text):
                self.assertTrue((SOURCE / path.replace("NAME", "search")).exists(), f"{page.name}: {path}")

    def test_protocol_shows_what_parse_prints(self):
        page = (SOURCE / "docs/protocol.md").read_text("utf-8")
        text, shown = re.search(r"printf '%s' \"(.*?)\" \| fathom parse --json\n +(.*?)…", page).groups()
        done = self.run_fathom("parse", "--json", stdin=text)
        self.assertTrue(done.stdout.startswith(shown), done.stdout)
        self.assertEqual(json.loads(done.stdout)["calls"][0]["name"], "search")

    def test_protocol_lists_every_key_of_a_profile(self):
        page = (SOURCE / "docs/protocol.md").read_text("utf-8")
        written = set(re.findall(r"^\| `([a-z_]+)` \|", page.split("| key of", 1)[1], re.M))
        settings = json.loads(self.run_fathom("profile", "show", "tongyi", "--json").stdout)["settings"]
        self.assertLessEqual(set(settings), written)


if __name__ == "__main__":
    unittest.main()
