"""Profiles and tools from outside: what is listed and shown, what an import of a clone gives, and what a run makes of it."""
import json
import pathlib

from flow import FlowTest, completions

PROMPTS = '''"""Prompts."""
SYSTEM_PROMPT = """You \\"search\\" \\u4e2d\\n
<tools>
{"name": "search"}
</tools>

Current date: """

EXTRACTOR_PROMPT = ("Page {webpage_content} "  # the page
                    'Goal {goal} as {{"evidence": ""}}')
'''


class Profiles(FlowTest):
    def test_list(self):
        names = [entry["name"] for entry in json.loads(self.expect(0, "profile", "list", "--json").stdout)]
        self.assertEqual(names, ["generic", "qwen3", "r1", "tongyi", "websailor"])
        text = self.expect(0, "profile", "list").stdout
        self.assertEqual([line.split()[0] for line in text.splitlines()], names)

    def test_show(self):
        shown = json.loads(self.expect(0, "profile", "show", "tongyi", "--json").stdout)
        self.assertEqual(shown["settings"]["separators"]["search"], "\n=======\n")
        self.assertIn("## Web Results", shown["prompts"]["search-block"]["text"])
        text = self.expect(0, "profile", "show", "tongyi").stdout
        self.assertIn("temperature\":0.6", text)
        for prompt in shown["prompts"]:
            self.assertIn(f"---- {prompt} (", text)

    def test_wrong_usage(self):
        for arguments, code, said in (
            ((), 2, "profile"),
            (("frob",), 2, "list, show or import"),
            (("list", "x"), 2, "nothing more"),
            (("show",), 2, "one name"),
            (("import", "/tmp"), 2, "--into"),
            (("show", "nonesuch"), 1, "generic, qwen3, r1, tongyi, websailor"),
            (("import", "/nonesuch", "--into", "x"), 1, "prompt.py"),
        ):
            with self.subTest(arguments=arguments):
                self.assertIn(said, self.expect(code, "profile", *arguments).stderr)

    def test_import_is_byte_equal_and_used(self):
        clone = pathlib.Path(self.folder) / "clone" / "inference"
        into = pathlib.Path(self.folder) / "reference"
        clone.mkdir(parents=True)
        (clone / "prompt.py").write_text(PROMPTS, encoding="utf-8")
        python = {}
        exec(PROMPTS, python)  # what CPython makes of it
        said = json.loads(self.expect(0, "profile", "import", str(clone.parent), "--into", str(into), "--json").stdout)
        self.assertEqual(said["system"], {"from": "SYSTEM_PROMPT", "bytes": len(python["SYSTEM_PROMPT"].encode())})
        self.assertEqual((into / "system.txt").read_bytes(), python["SYSTEM_PROMPT"].encode())
        self.assertEqual((into / "page-summary.txt").read_bytes(), python["EXTRACTOR_PROMPT"].encode())

        url, log = self.stub({"replies": [{"text": "<think>x</think><answer>Done.</answer>"}]})
        self.ask(url, "--model", "m", "--profile", str(into), "--date", "2026-03-01", "--tools", "none",
                 question="Why {date}?")
        messages = completions(log)[-1]["messages"]
        self.assertEqual(messages[0]["content"], python["SYSTEM_PROMPT"] + "2026-03-01")
        self.assertEqual(messages[1], {"role": "user", "content": "Why {date}?"})

    def test_prompts_folder_replaces_one_sentence(self):
        folder = pathlib.Path(self.folder) / "prompts"
        (folder / "generic").mkdir(parents=True)
        (folder / "generic" / "question.md").write_text("Q: {question}\n", encoding="utf-8")
        shown = json.loads(self.expect(0, "profile", "show", "qwen3", "--prompts", str(folder), "--json").stdout)
        self.assertEqual(shown["prompts"]["question"]["text"], "Q: {question}")
        (folder / "generic" / "question.md").write_text("Q:\n  {answer}\n", encoding="utf-8")
        done = self.expect(1, "profile", "show", "qwen3", "--prompts", str(folder))
        self.assertIn("question.md:2:3:", done.stderr)


class Tools(FlowTest):
    def test_as_the_model_sees_them(self):
        lines = self.expect(0, "tools", "--tools", "search,visit", "--profile", "qwen3").stdout.splitlines()
        self.assertEqual([json.loads(line)["function"]["name"] for line in lines], ["search", "visit"])
        signatures = json.loads(self.expect(0, "tools", "--tools", "search,visit", "--json").stdout)
        self.assertEqual([json.loads(line)["function"] for line in lines], signatures)
        self.assertTrue(self.expect(0, "tools", "--profile", "r1").stdout.startswith("- search(query: array of string): "))
        only = json.loads(self.expect(0, "tools", "--tools", "visit", "--json").stdout)
        self.assertEqual([tool["name"] for tool in only], ["visit"])
        self.assertEqual(self.expect(0, "tools", "--tools", "none").stdout, "")
