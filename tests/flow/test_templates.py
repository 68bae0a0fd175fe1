"""The named chat templates against the models' own: random conversations of our shape, rendered by Jinja as a server
does it and by render_template, byte for byte. Needs what scripts/tokenizers fetches."""
import datetime
import json
import os
import pathlib
import random
import subprocess
import sys
import unittest

BUILD = pathlib.Path(os.environ["FATHOM_BUILD"])
SOURCE = pathlib.Path(os.environ["FATHOM_SOURCE"])
RENDER = BUILD / "tests" / "render_template"
TOKENIZERS = SOURCE / "build" / "components" / "tokenizers"

for packages in TOKENIZERS.glob("venv/lib/python3*/site-packages"):
    sys.path.append(str(packages))
try:
    import jinja2.sandbox
except ImportError:
    jinja2 = None

DAY = datetime.date(2026, 3, 1)

# Which named template each model's own is. Those of Llama 3 and 3.1 in these packages are the short one.
MODELS = {"chatglm3": "chatglm3", "deepseek_v3": "deepseek", "gemma3": "gemma", "gpt4": "chatml", "internlm2": "internlm2",
          "llama3": "llama3", "llama3_1": "llama3", "llama3_2": "llama3.2", "mistral_nemo": "mistral-tekken",
          "qwen1_5": "qwen1.5", "qwen2_5": "qwen2.5", "qwen3": "qwen3"}


def chat_template(model):
    path = TOKENIZERS / model / "tokenizer_config.json"
    if not path.exists():
        return None, None
    config = json.loads(path.read_text())
    tokens = {key: value["content"] if isinstance(value, dict) else value
              for key, value in config.items() if key in ("bos_token", "eos_token") and value}
    return config.get("chat_template"), tokens


def compiled(text):
    """Set up as transformers' apply_chat_template does."""
    def raise_exception(message):
        raise jinja2.exceptions.TemplateError(message)

    environment = jinja2.sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"])
    environment.filters["tojson"] = lambda value, **_: json.dumps(value, ensure_ascii=False)
    environment.globals["raise_exception"] = raise_exception
    environment.globals["strftime_now"] = lambda form: DAY.strftime(form)
    return environment.from_string(text)


def rendered(template, tokens, messages):
    return template.render(messages=messages, add_generation_prompt=True, **tokens)


def ours(requests):
    lines = "".join(json.dumps(request) + "\n" for request in requests)
    done = subprocess.run([RENDER], input=lines.encode(), capture_output=True, timeout=120)
    if done.returncode != 0 or b"Sanitizer" in done.stderr:
        raise AssertionError(done.stderr.decode())
    return [json.loads(line) for line in done.stdout.decode().splitlines()]


class Conversations:
    PIECES = ["", " ", "\n", "\n\n", "\t", "a", "Where is Bern?", "\\n", "\\", "\"", "\u00a0", "\u3000", "\x1f", "中文", "é",
              "🏔️", "<think>", "</think>", "<think>\nhm\n</think>\n\n", "<tool_response>", "</tool_response>", "<|im_end|>",
              "<tool_call>{}</tool_call>", "x\\", "\r\n", "\x00"]

    def __init__(self, seed):
        self.random = random.Random(seed)

    def text(self):
        return "".join(self.random.choices(self.PIECES, k=self.random.randrange(6)))

    def reply(self):
        kind, space = self.random.randrange(6), self.random.choice(["", "\n", "\n\n", " \n"])
        if kind == 0:
            return self.text()
        if kind == 1:  # the template opened the thought
            return space + self.text() + "\n</think>" + space + self.text()
        return f"<think>{space}{self.text()}{space}</think>{self.random.choice(['', space])}{self.text()}"

    def results(self):
        blocks = [f"<tool_response>\n{self.text()}\n</tool_response>" for _ in range(self.random.randrange(1, 4))]
        return "\n".join(blocks)

    def messages(self):
        messages = [{"role": "user", "content": self.text()}]
        if self.random.random() < 0.8:
            messages.insert(0, {"role": "system", "content": self.text() or "S"})
        for _ in range(self.random.randrange(5)):
            reply = {"role": "assistant", "content": self.reply()}
            if self.random.random() < 0.2:
                reply["reasoning_content"] = self.text().strip("\n") or "t"
            messages.append(reply)
            messages.append({"role": "user", "content": self.text() if self.random.random() < 0.2 else self.results()})
        return messages


@unittest.skipUnless(jinja2 and TOKENIZERS.exists(), "SKIPPED: jinja2 or build/components/tokenizers is missing; "
                                                     "scripts/tokenizers fetches them")
class Rendering(unittest.TestCase):
    def compare(self, text, tokens, name, conversations=400):
        template, source = compiled(text), Conversations(7)
        inputs = [source.messages() for _ in range(conversations)]
        replies = ours([{"template": name, "date": DAY.isoformat(), "messages": messages} for messages in inputs])
        for messages, reply in zip(inputs, replies):
            self.assertEqual(rendered(template, tokens, messages), reply["text"], messages)

    def test_models(self):
        for model, name in MODELS.items():
            text, tokens = chat_template(model)
            with self.subTest(model):
                if not text:
                    self.skipTest(f"SKIPPED: no chat template of {model}")
                self.compare(text, tokens, name)

    def test_detection(self):
        for model, name in MODELS.items():
            text, _ = chat_template(model)
            with self.subTest(model):
                if not text:
                    self.skipTest(f"SKIPPED: no chat template of {model}")
                spread = text.replace("{%- else %}", "{#- a comment #}\n    {%-   else   %}").replace("\n", "\r\n")
                found, other, spaced, cut = ours([{"detect": t} for t in (
                    text, text.replace("messages", "message", 1), spread, text[:-5])])
                self.assertEqual(found["name"], name)
                self.assertIsNone(other["name"])
                self.assertIsNone(cut["name"])
                if "\r\n'" not in spread and "'\r\n" not in spread:
                    self.assertEqual(spaced["name"], name)

    def learnt(self, text, tokens, name, conversations=60):
        """What template_learn makes of a server that renders the probes."""
        template, source = compiled(text), Conversations(11)
        probes, = ours([{"probes": True}])
        renderings = []
        for messages in probes:
            try:
                renderings.append(rendered(template, tokens, messages))
            except jinja2.exceptions.TemplateError:
                renderings.append(None)
        inputs = []
        while len(inputs) < conversations:
            messages = source.messages()
            for message in messages:
                message.pop("reasoning_content", None)
            if messages[0]["role"] == "system" or renderings[1]:
                inputs.append(messages)
        replies = ours([{"learn": renderings, "messages": messages} for messages in inputs])
        for messages, reply in zip(inputs, replies):
            self.assertEqual(reply["name"], name, reply)
            self.assertEqual(rendered(template, tokens, messages), reply["text"], messages)

    def test_learning(self):
        for model, name in MODELS.items():
            text, tokens = chat_template(model)
            with self.subTest(model):
                if not text:
                    self.skipTest(f"SKIPPED: no chat template of {model}")
                self.learnt(text, tokens, "learnt" if "strftime_now" in text else name)
                # An own version of it: other words for the same places.
                other = text.replace("<|im_start|>", "<|turn|>").replace("<start_of_turn>", "<|turn|>").replace(
                    "<|start_header_id|>", "<h>").replace("[INST]", "[USER]").replace("<｜", "<|").replace(
                    "[gMASK]", "[M]").replace("{{ bos_token }}", "{{ bos_token }}Today is Sunday.")
                self.learnt(other, tokens, "learnt")


if __name__ == "__main__":
    unittest.main()
