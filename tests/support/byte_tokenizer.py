"""A small tokenizer and the chat templates of made-up servers, for tests that count to the token.

Byte-level byte-pair encoding over the 256 bytes, a few merges and the special tokens below: `write` makes its
tokenizer.json, `encode` gives the ids that this file must give.
"""
import json
import re

SPECIAL = ["<|im_start|>", "<|im_end|>", "<|endoftext|>", "<|begin|>", "<|say|>", "<|over|>"]
# Each is made of bytes and earlier merges, so that applying them one after the other is byte-pair encoding.
MERGES = [(b"t", b"h"), (b"th", b"e"), (b" ", b"the"), (b"i", b"n"), (b"e", b"r"), (b"\n", b"\n"), (b"l", b"i"),
          (b" ", b"li"), (b"<", b"t"), (b"<t", b"h")]


def letters():
    """The characters that byte-level vocabularies write bytes as."""
    kept = [*range(ord("!"), ord("~") + 1), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    table, shifted = {}, 0
    for byte in range(256):
        if byte in kept:
            table[byte] = chr(byte)
        else:
            table[byte] = chr(256 + shifted)
            shifted += 1
    return table


LETTERS = letters()
TOKENS = [bytes([byte]) for byte in range(256)] + [left + right for left, right in MERGES]
IDS = {token: number for number, token in enumerate(TOKENS)}
SPECIAL_IDS = {content: len(TOKENS) + number for number, content in enumerate(SPECIAL)}


def spelled(token):
    return "".join(LETTERS[byte] for byte in token)


def tokenizer_json(merges=MERGES):
    tokens = TOKENS[:256 + len(merges)]
    added = [{"id": SPECIAL_IDS[content], "content": content, "single_word": False, "lstrip": False, "rstrip": False,
              "normalized": False, "special": True} for content in SPECIAL]
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": added, "normalizer": None,
            "pre_tokenizer": byte_level, "post_processor": None, "decoder": byte_level,
            "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": "",
                      "end_of_word_suffix": "", "fuse_unk": False, "byte_fallback": False, "ignore_merges": False,
                      "vocab": {spelled(token): number for number, token in enumerate(tokens)},
                      "merges": [f"{spelled(left)} {spelled(right)}" for left, right in merges]}}


def write(path, merges=MERGES):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(tokenizer_json(merges), file)
    return str(path)


def encode(text):
    ids = []
    for part in re.split("(" + "|".join(map(re.escape, SPECIAL)) + ")", text):
        if part in SPECIAL_IDS:
            ids.append(SPECIAL_IDS[part])
            continue
        tokens = [bytes([byte]) for byte in part.encode("utf-8", "replace")]
        for left, right in MERGES:
            merged, i = [], 0
            while i < len(tokens):
                if tokens[i] == left and tokens[i + 1:i + 2] == [right]:
                    merged.append(left + right)
                    i += 2
                else:
                    merged.append(tokens[i])
                    i += 1
            tokens = merged
        ids += [IDS[token] for token in tokens]
    return ids


# ---- chat templates ----


def chatml(messages, _):
    return "".join(f"<|im_start|>{m['role']}\n{m['content']}<|im_end|>\n" for m in messages) + "<|im_start|>assistant\n"


def split_thought(message):
    content, thought = message["content"], message.get("reasoning_content") or ""
    if not thought and "</think>" in content:
        thought = content.split("</think>")[0].rstrip("\n").split("<think>")[-1].lstrip("\n")
        content = content.split("</think>")[-1].lstrip("\n")
    return thought, content


def qwen3(messages, _):
    """Thought before the last question is not shown to the model again."""
    queries = [i for i, m in enumerate(messages) if m["role"] == "user" and not
               (m["content"].startswith("<tool_response>") and m["content"].endswith("</tool_response>"))]
    last_query, text = queries[-1] if queries else len(messages) - 1, ""
    for i, message in enumerate(messages):
        content = message["content"]
        if message["role"] == "assistant":
            thought, content = split_thought(message)
            if i > last_query and (i == len(messages) - 1 or thought):
                content = "<think>\n" + thought.strip("\n") + "\n</think>\n\n" + content.lstrip("\n")
        text += f"<|im_start|>{message['role']}\n{content}<|im_end|>\n"
    return text + "<|im_start|>assistant\n"


def harbour(messages, begin):
    """No model's: a sequence that begins, roles by other names, contents without blanks at their ends."""
    names = {"system": "rules", "user": "asked", "assistant": "pilot"}
    said = [f"<|say|>{names[m['role']]}: {m['content'].strip()} <|over|>\n" for m in messages]
    return ("<|begin|>" if begin else "") + "".join(said) + "<|say|>pilot: "


TEMPLATES = {"chatml": chatml, "qwen3": qwen3, "harbour": harbour}


def render(name, messages, begin=True):
    """The prompt that a server with this template makes; `begin` writes the token that begins a sequence, if any."""
    return TEMPLATES[name](messages, begin)


def count(name, messages):
    return len(encode(render(name, messages)))
