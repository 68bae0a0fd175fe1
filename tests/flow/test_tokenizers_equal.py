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
WANTED = ("deepseek_v3", "gemma3", "gpt2", "qwen3", "llama2", "llama3_1", "mistral_nemo")
RANKS = ("r50k_base", "p50k_base", "p50k_edit", "cl100k_base", "o200k_base", "o200k_harmony", "qwen")


@unittest.skipUnless(PYTHON.exists(), "scripts/tokenizers has not fetched what to compare with")
class Equal(unittest.TestCase):
    def run_python(self, script, *arguments):
        done = subprocess.run([PYTHON, "-B", SUPPORT / script, *arguments], capture_output=True, text=True, errors="replace",
                              timeout=400, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertNotIn("Sanitizer", done.stdout + done.stderr)

    def compare(self, scale, files):
        """Two at a time: most of it is the peers' work."""
        self.run_python("compare_tokenizers.py", "--scale", scale, "--jobs", "2", BUILD / "tests/tokenize", *files)

    def test_known(self):
        files = [COMPONENTS / name / "tokenizer.json" for name in WANTED]
        files += [COMPONENTS / "ranks" / f"{name}.tiktoken" for name in RANKS]
        missing = [str(file.relative_to(COMPONENTS)) for file in files if not file.exists()]
        self.compare("0.15", [file for file in files if file.exists()])
        if missing:
            self.skipTest("scripts/tokenizers has not fetched " + ", ".join(missing) + "; the others are equal")

    def test_other_shapes(self):
        with tempfile.TemporaryDirectory(prefix="fathom-tokenizers-") as folder:
            self.run_python("make_tokenizers.py", "--random", "4", folder)
            self.compare("0.05", sorted(pathlib.Path(folder).glob("*.json")))


if __name__ == "__main__":
    unittest.main()
