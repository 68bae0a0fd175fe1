#!/usr/bin/env python3
"""Counts prompts as a server would: the model's own chat template, evaluated by Jinja, and Hugging Face's tokenizers.

    count_prompts.py FOLDER <REQUESTS.json >COUNTS.json

FOLDER holds tokenizer.json and tokenizer_config.json; REQUESTS is a list of bodies of chat completion requests.
"""
import datetime
import json
import pathlib
import sys

import jinja2
import jinja2.ext
import jinja2.sandbox
import tokenizers


def chat_template(config):
    def fail(message):
        raise jinja2.TemplateError(message)

    environment = jinja2.sandbox.ImmutableSandboxedEnvironment(trim_blocks=True,
                                                               lstrip_blocks=True,
                                                               extensions=[jinja2.ext.loopcontrols])
    environment.filters["tojson"] = lambda value, **more: json.dumps(value, ensure_ascii=False, **more)
    environment.globals["raise_exception"] = fail
    environment.globals["strftime_now"] = lambda form: datetime.datetime.now().strftime(form)
    template = environment.from_string(config["chat_template"])

    def text_of(token):
        return token["content"] if isinstance(token, dict) else token

    special = {
        name: text_of(token)
        for name, token in config.items() if name.endswith("_token") and isinstance(token, (dict, str))
    }
    return lambda body: template.render(
        messages=body["messages"], add_generation_prompt=True, **special, **body.get("chat_template_kwargs", {}))


def main():
    folder = pathlib.Path(sys.argv[1])
    config = json.loads((folder / "tokenizer_config.json").read_text(encoding="utf-8"))
    tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    render = chat_template(config)
    texts = [render(body) for body in json.load(sys.stdin)]
    json.dump([len(tokenizer.encode(text, add_special_tokens=False).ids) for text in texts], sys.stdout)


if __name__ == "__main__":
    main()
