#!/usr/bin/env python3
"""Makes small tokenizers of shapes that the well-known vocabularies do not have, for compare_tokenizers.py.

    make_tokenizers.py [--seed N] [--random N] FOLDER

writes FOLDER/NAME.json for each shape below and FOLDER/random-K.json for N combinations by chance. Run it with a Python that
has `tokenizers` and `sentencepiece`.
"""
import argparse
import json
import pathlib
import random
import tempfile

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

import token_corpus

BYTE_TOKENS = [f"<0x{byte:02X}>" for byte in range(256)]
ADDED = [
    AddedToken("<s>", special=True),
    AddedToken("</s>", special=True),
    AddedToken("<|left|>", lstrip=True, special=True),
    AddedToken("<|right|>", rstrip=True, special=True),
    AddedToken("<|both|>", lstrip=True, rstrip=True, special=True, normalized=False),
    AddedToken("word", single_word=True),
    AddedToken("wordy", single_word=True, lstrip=True),
    AddedToken("Ünï", normalized=True),
    AddedToken("Éa", normalized=False),
    AddedToken("  ", normalized=False),
    AddedToken("\n\n", normalized=True),
    AddedToken("<|left", normalized=False),
    AddedToken("[MASK]", lstrip=True, special=True),
    AddedToken("ﬁx", normalized=True),
    AddedToken("中文", rstrip=True, normalized=False),
]
# The library reads a token of which its normalizers leave nothing as one that is everywhere, and then breaks.
VISIBLE = [token for token in ADDED if token.content.strip()]
PATTERN = r"(?i:'s|'t|'re)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,2}| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"


def lines():
    for text in token_corpus.LANGUAGES.values():
        yield from [text, text.lower(), text.replace(" ", "  ")] * 3
    for path in sorted(token_corpus.SOURCE.glob("src/core/*.c"))[::4]:
        yield path.read_text(encoding="utf-8")[:8000]


def bpe(vocab=900, byte_level=False, byte_fallback=False, normalizer=None, pre_tokenizer=None, added=(), **options):
    tokenizer = Tokenizer(models.BPE(unk_token=None if byte_level else "<unk>", byte_fallback=byte_fallback, **options))
    if normalizer:
        tokenizer.normalizer = normalizer
    if pre_tokenizer:
        tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer.train_from_iterator(
        lines(),
        trainers.BpeTrainer(vocab_size=vocab,
                            show_progress=False,
                            special_tokens=[] if byte_level else ["<unk>", *(BYTE_TOKENS if byte_fallback else ())],
                            limit_alphabet=300,
                            initial_alphabet=pre_tokenizers.ByteLevel.alphabet() if byte_level else []))
    if byte_fallback:
        tokenizer = without_added(tokenizer)
    tokenizer.add_tokens(list(added))
    return tokenizer


def without_added(tokenizer):
    """The bytes of byte fallback are in the vocabulary, they are no added tokens."""
    document = json.loads(tokenizer.to_str())
    document["added_tokens"] = [t for t in document["added_tokens"] if not t["content"].startswith("<0x")]
    return Tokenizer.from_str(json.dumps(document))


def unigram(vocab=900, normalizer=None, pre_tokenizer=None, decoder=None, added=(), byte_fallback=False):
    tokenizer = Tokenizer(models.Unigram())
    if normalizer:
        tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre_tokenizer or pre_tokenizers.Metaspace()
    tokenizer.train_from_iterator(
        lines(), trainers.UnigramTrainer(vocab_size=vocab, show_progress=False, unk_token="<unk>", special_tokens=["<unk>"]))
    document = json.loads(tokenizer.to_str())
    if byte_fallback:
        document["model"]["vocab"] += [[token, -20.0] for token in BYTE_TOKENS]
        document["model"]["byte_fallback"] = True
    tokenizer = Tokenizer.from_str(json.dumps(document))
    if decoder:
        tokenizer.decoder = decoder
    tokenizer.add_tokens(list(added))
    return tokenizer


def fields(message):
    """(number, value) of a protocol buffer's fields; value is a number or bytes."""
    def number(at):
        value = shift = 0
        while True:
            byte = message[at]
            value |= (byte & 127) << shift
            at, shift = at + 1, shift + 7
            if byte < 128:
                return value, at

    at = 0
    while at < len(message):
        key, at = number(at)
        if key & 7 == 0:
            value, at = number(at)
        elif key & 7 == 2:
            length, at = number(at)
            value, at = message[at:at + length], at + length
        else:
            length = 8 if key & 7 == 1 else 4
            value, at = message[at:at + length], at + length
        yield key >> 3, value


def sentencepiece(kind):
    """A model of SentencePiece's with its precompiled normalization, as converters write it."""
    import base64
    import struct

    import sentencepiece as library
    with tempfile.TemporaryDirectory() as folder:
        library.SentencePieceTrainer.train(sentence_iterator=iter([line for text in lines() for line in text.splitlines()]),
                                           model_prefix=f"{folder}/m",
                                           vocab_size=1200,
                                           model_type=kind,
                                           character_coverage=0.98,
                                           normalization_rule_name="nmt_nfkc",
                                           minloglevel=2)
        message = pathlib.Path(folder, "m.model").read_bytes()
    pieces, charsmap = [], b""
    for field, value in fields(message):
        if field == 1:
            piece = dict(fields(value))
            pieces.append((piece[1].decode(), struct.unpack("<f", piece[2])[0]))
        elif field == 3:
            charsmap = dict(fields(value))[2]
    tokenizer = Tokenizer(models.Unigram(pieces, unk_id=0))
    document = json.loads(tokenizer.to_str())
    document["normalizer"] = {
        "type": "Sequence",
        "normalizers": [{
            "type": "Precompiled",
            "precompiled_charsmap": base64.b64encode(charsmap).decode()
        }, {
            "type": "Replace",
            "pattern": {
                "Regex": " {2,}"
            },
            "content": " "
        }]
    }
    document["pre_tokenizer"] = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}
    document["decoder"] = document["pre_tokenizer"]
    return Tokenizer.from_str(json.dumps(document))


def shapes():
    space = normalizers.Replace(" ", "▁")
    fallback = decoders.Sequence(
        [decoders.Replace("▁", " "),
         decoders.ByteFallback(),
         decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False)

    def with_decoder(tokenizer, decoder, post=None):
        tokenizer.decoder = decoder
        if post:
            tokenizer.post_processor = post
        return tokenizer

    frame = processors.TemplateProcessing(single="<s> $A </s>", special_tokens=[("<s>", 1200), ("</s>", 1201)])
    yield "llama", with_decoder(
        bpe(byte_fallback=True, fuse_unk=True, normalizer=normalizers.Sequence([normalizers.Prepend("▁"), space])), fallback)
    yield "gemma", with_decoder(
        bpe(byte_fallback=True,
            fuse_unk=True,
            normalizer=space,
            added=ADDED,
            pre_tokenizer=pre_tokenizers.Split(" ", "merged_with_previous")), fallback)
    yield "unknown-fused", with_decoder(bpe(fuse_unk=True, normalizer=space, vocab=500), decoders.Fuse())
    yield "unknown", with_decoder(bpe(fuse_unk=False, normalizer=space, vocab=500), decoders.Fuse())
    for scheme in ("always", "first", "never"):
        for split in (True, False):
            yield f"metaspace-{scheme}-{split}", with_decoder(
                bpe(pre_tokenizer=pre_tokenizers.Metaspace(prepend_scheme=scheme, split=split),
                    added=ADDED,
                    byte_fallback=True), decoders.Metaspace(prepend_scheme=scheme, split=split))
    for number, normalizer in enumerate([normalizers.NFC(), normalizers.NFD(), normalizers.NFKC(), normalizers.NFKD()]):
        yield f"normal-{number}", with_decoder(
            bpe(byte_level=True, normalizer=normalizer, pre_tokenizer=byte_level, added=ADDED), decoders.ByteLevel())
    yield "lower", with_decoder(
        bpe(byte_level=True,
            normalizer=normalizers.Sequence(
                [normalizers.Lowercase(),
                 normalizers.NFD(),
                 normalizers.StripAccents(),
                 normalizers.Strip()]),
            pre_tokenizer=byte_level,
            added=VISIBLE), decoders.ByteLevel())
    yield "prefix", with_decoder(
        bpe(byte_level=True, pre_tokenizer=pre_tokenizers.ByteLevel(add_prefix_space=True), added=ADDED),
        decoders.ByteLevel())
    yield "whole", with_decoder(bpe(byte_level=True, ignore_merges=True, pre_tokenizer=byte_level), decoders.ByteLevel())
    for behavior in ("removed", "isolated", "merged_with_previous", "merged_with_next", "contiguous"):
        for invert in (True, False):
            yield f"split-{behavior}-{invert}", with_decoder(
                bpe(byte_level=True,
                    pre_tokenizer=pre_tokenizers.Sequence([
                        pre_tokenizers.Split(Regex(PATTERN if invert else r"[aeiou ]|\d{2}"), behavior, invert),
                        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
                    ])), decoders.ByteLevel())
    for number, step in enumerate([
            pre_tokenizers.Digits(True),
            pre_tokenizers.Digits(False),
            pre_tokenizers.Punctuation("isolated"),
            pre_tokenizers.Punctuation("merged_with_next"),
            pre_tokenizers.Punctuation("removed"),
            pre_tokenizers.Whitespace(),
            pre_tokenizers.WhitespaceSplit(),
            pre_tokenizers.CharDelimiterSplit("a")
    ]):
        yield f"step-{number}", with_decoder(
            bpe(byte_level=True,
                pre_tokenizer=pre_tokenizers.Sequence(
                    [step, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=number % 2 == 0)])),
            decoders.ByteLevel())
    yield "unigram", unigram(decoder=decoders.Metaspace(), added=ADDED)
    yield "unigram-nfkc", unigram(normalizer=normalizers.Sequence([normalizers.Nmt(), normalizers.NFKC()]),
                                  decoder=decoders.Metaspace())
    yield "unigram-fallback", unigram(byte_fallback=True,
                                      pre_tokenizer=pre_tokenizers.Metaspace(prepend_scheme="first", split=False),
                                      decoder=fallback)
    yield "sentencepiece", sentencepiece("unigram")
    framed = bpe(byte_level=True, pre_tokenizer=byte_level)
    framed.add_special_tokens(["<s>", "</s>"])
    yield "framed", with_decoder(
        framed, decoders.ByteLevel(),
        processors.TemplateProcessing(single="<s> $A </s>",
                                      special_tokens=[(token, framed.token_to_id(token)) for token in ("<s>", "</s>")]))


def by_chance(source):
    steps = [
        normalizers.NFC, normalizers.NFD, normalizers.NFKC, normalizers.NFKD, normalizers.Lowercase, normalizers.StripAccents,
        normalizers.Nmt, lambda: normalizers.Strip(source.random() < .5,
                                                   source.random() < .5), lambda: normalizers.Prepend(source.choice("▁ a")),
        lambda: normalizers.Replace(source.choice([" ", "a", "''", "ll"]), source.choice(["▁", "", "xy"])),
        lambda: normalizers.Replace(Regex(source.choice([r"\s+", r"[0-9]", r"\p{L}\p{M}", r"^\s", r"\s+$", "(?i)the"])),
                                    source.choice([" ", "", "N"]))
    ]
    behaviors = ["removed", "isolated", "merged_with_previous", "merged_with_next", "contiguous"]
    cuts = [
        lambda: pre_tokenizers.Digits(source.random() < .5), lambda: pre_tokenizers.Punctuation(source.choice(behaviors)),
        pre_tokenizers.WhitespaceSplit, pre_tokenizers.Whitespace,
        lambda: pre_tokenizers.CharDelimiterSplit(source.choice("a -")),
        lambda: pre_tokenizers.Split(source.choice([" ", "a", ", "]), source.choice(behaviors),
                                     source.random() < .3),
        lambda: pre_tokenizers.Split(
            Regex(source.choice([PATTERN, r"\s", r"\p{L}+", r"[^\s]+", r"\d{1,3}(?=(\d{3})*\b)", r"\w+|[^\w\s]+"])),
            source.choice(behaviors),
            source.random() < .3)
    ]
    byte_level = source.random() < .5
    normalizer = normalizers.Sequence([source.choice(steps)() for _ in range(source.randint(0, 3))])
    before = [source.choice(cuts)() for _ in range(source.randint(0, 3))]
    schemes = ["always", "never"] if len(normalizer) else ["always", "first", "never"]  # else it may be refused
    if byte_level:
        before.append(pre_tokenizers.ByteLevel(add_prefix_space=source.random() < .3, use_regex=source.random() < .5))
    elif source.random() < .6:
        before.append(
            pre_tokenizers.Metaspace(prepend_scheme=source.choice(schemes), split=source.random() < .5))
    added = source.sample(VISIBLE, source.randint(0, len(VISIBLE)))
    common = {"normalizer": normalizer, "pre_tokenizer": pre_tokenizers.Sequence(before), "added": added}
    if not byte_level and source.random() < .3:
        tokenizer = unigram(byte_fallback=source.random() < .5, **common)
    else:
        tokenizer = bpe(byte_level=byte_level,
                        byte_fallback=not byte_level and source.random() < .6,
                        ignore_merges=source.random() < .3,
                        fuse_unk=source.random() < .5,
                        vocab=600,
                        **common)
    pieces = [
        lambda: decoders.Replace("▁", " "), decoders.ByteFallback, decoders.Fuse,
        lambda: decoders.Strip(" ", source.randint(0, 2), source.randint(0, 1)),
        lambda: decoders.Metaspace(prepend_scheme=source.choice(["always", "first", "never"]))
    ]
    tokenizer.decoder = decoders.ByteLevel() if byte_level else decoders.Sequence(
        [source.choice(pieces)() for _ in range(source.randint(1, 4))])
    return tokenizer


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--random", type=int, default=10)
    parser.add_argument("folder", type=pathlib.Path)
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    for name, tokenizer in shapes():
        tokenizer.save(str(arguments.folder / f"{name}.json"))
    for number in range(arguments.random):
        by_chance(random.Random(f"{arguments.seed} {number}")).save(str(arguments.folder / f"random-{number}.json"))


if __name__ == "__main__":
    main()
