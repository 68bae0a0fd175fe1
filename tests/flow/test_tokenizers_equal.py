"""Our tokenizer beside Hugging Face's and OpenAI's, token by token. scripts/tokenizers fetches them and the vocabularies;
tests/support/compare_tokenizers.py does the work, and can be run by hand over more."""
import os
import pathlib
import subprocess
import tempfile
import unittest

SOURCE, BUILD = pathlib.Path(os.environ["FATHOM_SOURCE"]), pathlib.Path(os.environ["FATHOM_BUILD"])
COMPONENTS = SOURCE / "build/components/tokenizers"
SUPPORT = SOURCE / "tests/support"
PYTHON = COMPONENTS / "venv/bin/python"
WANTED = ("gpt2", "qwen2_5", "qwen3", "llama3_1", "deepseek_v3", "gemma2", "mistral_nemo", "llama2", "yi")
RANKS = ("r50k_base", "cl100k_base", "o200k_base", "qwen")


@unittest.skipUnless(PYTHON.exists(), "scripts/tokenizers has not fetched what to compare with")
class Equal(unittest.TestCase):
    def run_python(self, script, *arguments):
        done = subprocess.run([PYTHON, "-B", SUPPORT / script, *arguments], capture_output=True, text=True, errors="replace",
                              timeout=280, check=False)
        return done.returncode, done.stdout + done.stderr

    def compare(self, files):
        for file in files:
            with self.subTest(file=f"{file.parent.name}/{file.name}"):
                code, output = self.run_python("compare_tokenizers.py", "--scale", "0.3", BUILD / "tests/tokenize", file)
                self.assertEqual(code, 0, output)
                self.assertNotIn("Sanitizer", output)

    def have(self, files):
        there = [file for file in files if file.exists()]
        if len(there) < len(files):
            print("not here:", ", ".join(str(file.relative_to(COMPONENTS)) for file in files if file not in there))
        if not there:
            self.skipTest("scripts/tokenizers has not fetched any of them")
        return there

    def test_hugging_face(self):
        self.compare(self.have([COMPONENTS / name / "tokenizer.json" for name in WANTED]))

    def test_tiktoken(self):
        self.compare(self.have([COMPONENTS / "ranks" / f"{name}.tiktoken" for name in RANKS]))

    def test_other_shapes(self):
        with tempfile.TemporaryDirectory(prefix="fathom-tokenizers-") as folder:
            code, output = self.run_python("make_tokenizers.py", "--random", "0", folder)
            self.assertEqual(code, 0, output)
            code, output = self.run_python("compare_tokenizers.py", "--scale", "0.05", BUILD / "tests/tokenize",
                                           *sorted(pathlib.Path(folder).glob("*.json")))
            self.assertEqual(code, 0, output)
            self.assertNotIn("Sanitizer", output)


if __name__ == "__main__":
    unittest.main()
