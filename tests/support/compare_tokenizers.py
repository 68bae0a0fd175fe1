#!/usr/bin/env python3
"""Compares our tokenizer with the ones it must equal, id by id, over a corpus of texts.

    compare_tokenizers.py [--all] [--seed N] [--scale N] [--jobs N] DRIVER FILE…

DRIVER is the program tokenize (tests/support/tokenize.c). A tokenizer.json is compared with Hugging Face's `tokenizers`, a
.tiktoken file with `tiktoken`; run it with a Python that has both. --all reads all of the shared data instead of a sample.
Prints what was compared and each difference, cut to the shortest text that shows it. Exit code 1 when there is one.
"""
import argparse
import collections
import hashlib
import json
import multiprocessing
import os
import pathlib
import random
import sys
import tempfile
import time

import tiktoken
import tokenizers
from tiktoken.load import load_tiktoken_bpe

import token_corpus
from tokenize_driver import FRAMED, PLAIN, SKIP_SPECIAL, Driver, Refused

SHOWN = 2  # of each kind
INSIDE = {bytes([byte]) for byte in range(0x80, 0xC0)}  # bytes that begin no character
QWEN_PATTERN = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|"
                r"\s+(?!\S)|\s+")
RANKS_OF = {"p50k_edit": "p50k_base", "o200k_harmony": "o200k_base"}  # encodings with the ranks of another
QWEN_SPECIALS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", *(f"<|extra_{n}|>" for n in range(205))]


class HuggingFace:
    name = "tokenizers"
    framed = True

    def __init__(self, path):
        self.tokenizer = tokenizers.Tokenizer.from_file(str(path))
        self.tokenizer.no_truncation()
        self.tokenizer.no_padding()
        self._add_configured(path.parent / "tokenizer_config.json")
        added = self.tokenizer.get_added_tokens_decoder()
        self.specials = sorted(t.content for t in added.values())
        self.known = sorted(self.tokenizer.get_vocab(True).values())

    def _add_configured(self, path):
        """What Transformers adds beyond tokenizer.json: those of added_tokens_decoder, in the order of their ids."""
        if not path.exists():
            return
        tokens = json.loads(path.read_text(encoding="utf-8")).get("added_tokens_decoder", {})
        have = self.tokenizer.get_added_tokens_decoder()
        for number, token in sorted(tokens.items(), key=lambda item: int(item[0])):
            if int(number) not in have:
                flags = {
                    key: token[key]
                    for key in ("single_word", "lstrip", "rstrip", "normalized", "special") if key in token
                }
                self.tokenizer.add_tokens([tokenizers.AddedToken(token["content"], **flags)])

    def encode(self, texts, flags=0):
        self.tokenizer.encode_special_tokens = bool(flags & PLAIN)
        out = []
        for start in range(0, len(texts), 64):
            out += self._some(texts[start:start + 64], bool(flags & FRAMED))
        self.tokenizer.encode_special_tokens = False
        return out

    def _some(self, texts, framed):
        """Some texts make it panic: they have no ids."""
        try:
            return [e.ids for e in self.tokenizer.encode_batch_fast(texts, add_special_tokens=framed)]
        except BaseException as problem:  # its panics are no Exceptions
            if type(problem).__name__ != "PanicException":
                raise
            if len(texts) == 1:
                return [None]
            return [ids for text in texts for ids in self._some([text], framed)]

    def decode(self, many_ids, skip):
        try:
            return self.tokenizer.decode_batch(many_ids, skip_special_tokens=skip) if many_ids else []
        except BaseException as problem:
            if type(problem).__name__ != "PanicException":
                raise
            if len(many_ids) == 1:
                return [None]
            return [text for ids in many_ids for text in self.decode([ids], skip)]

    def token_bytes(self):
        vocabulary = list(self.tokenizer.get_vocab(False))
        stand_in = byte_stand_ins()
        return [bytes(stand_in[c] for c in t) if all(c in stand_in for c in t) else t.encode() for t in vocabulary]


class Tiktoken:
    name = "tiktoken"
    framed = False

    def __init__(self, path):
        name = path.name.removesuffix(".tiktoken")
        self.normalize = str
        if name == "qwen":
            ranks = load_tiktoken_bpe(str(path))
            specials = {token: len(ranks) + n for n, token in enumerate(QWEN_SPECIALS)}
            self.normalize = tokenizers.normalizers.NFC().normalize_str  # as Qwen's own code does before it
            self.encoding = tiktoken.Encoding(name, pat_str=QWEN_PATTERN, mergeable_ranks=ranks, special_tokens=specials)
        else:
            self.encoding = self._official(name, path)
        self.specials = sorted(self.encoding.special_tokens_set)
        self.known = sorted([*self.encoding._mergeable_ranks.values(), *self.encoding._special_tokens.values()])

    def _official(self, name, path):
        """tiktoken's own definition of an encoding, its file taken from its cache, where we have put ours."""
        with tempfile.TemporaryDirectory() as cache:
            url = f"https://openaipublic.blob.core.windows.net/encodings/{RANKS_OF.get(name, name)}.tiktoken"
            pathlib.Path(cache, hashlib.sha1(url.encode()).hexdigest()).write_bytes(path.read_bytes())
            os.environ["TIKTOKEN_CACHE_DIR"] = cache
            return tiktoken.get_encoding(name)

    def encode(self, texts, flags=0):
        if flags & PLAIN:
            return [self.encoding.encode_ordinary(self.normalize(text)) for text in texts]
        return [self.encoding.encode(self.normalize(text), allowed_special="all") for text in texts]

    def decode(self, many_ids, skip):
        special = set(self.encoding._special_tokens.values()) if skip else ()
        return [self.encoding.decode([i for i in ids if i not in special]) for ids in many_ids]

    def token_bytes(self):
        return self.encoding.token_byte_values()


def byte_stand_ins():
    """The printable character that stands for each byte in a byte-level vocabulary, inverted."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    stand_in = {chr(b): b for b in printable}
    stand_in.update({chr(256 + n): b for n, b in enumerate(sorted(set(range(256)) - set(printable)))})
    return stand_in


def sampled(scale):
    return int(100_000 * scale)


def batches(texts, size=4_000_000):
    part, total = [], 0
    for kind, text in texts:
        part.append((kind, text))
        total += len(text)
        if total > size:
            yield part
            part, total = [], 0
    if part:
        yield part


class Comparison:
    def __init__(self, driver, peer, seed):
        self.driver, self.peer = driver, peer
        self.seed, self.source = seed, random.Random(seed)
        self.texts = self.bytes = self.tokens = self.differences = self.panics = 0
        self.kinds = collections.Counter()

    def differ(self, what, text, detail):
        self.differences += 1
        self.kinds[what] += 1
        if self.kinds[what] <= SHOWN:
            print(f"  DIFFERENCE: {what}: {text!r}\n    {detail}")

    def same_ids(self, text, flags):
        return self.driver.encode([text], flags)[0] == self.peer.encode([text.decode("utf-8", "replace")], flags)[0]

    def shorten(self, text, differs):
        """The shortest piece of a text for which differs(piece) still holds, by halves."""
        step = len(text) // 2
        while step:
            at = 0
            while at < len(text):
                shorter = text[:at] + text[at + step:]
                if shorter and differs(shorter):
                    text = shorter
                else:
                    at += step
            step //= 2
        return text

    def ids(self, part, flags):
        """Ids, their number, and what they are when decoded; gives ours."""
        texts = [text for _, text in part]
        decoded = [text.decode("utf-8", "replace") for text in texts]
        ours, theirs = self.driver.encode(texts, flags), self.peer.encode(decoded, flags)
        counts = self.driver.count(texts, flags)
        for (kind, text), mine, other, count in zip(part, ours, theirs, counts):
            if other is None:
                self.panics += 1
                continue
            self.texts += 1
            self.bytes += len(text)
            self.tokens += len(other)
            if mine != other:
                if self.kinds[f"ids, {kind}, flags {flags}"] < SHOWN:
                    text = self.shorten(text, lambda t: not self.same_ids(t, flags))
                    mine, other = self.driver.encode([text], flags)[0], self.peer.encode([text.decode("utf-8", "replace")],
                                                                                         flags)[0]
                self.differ(f"ids, {kind}, flags {flags}", text, f"ours {mine[:60]}\n    theirs {other[:60]}")
            elif count != len(mine):
                if self.kinds[f"count, {kind}, flags {flags}"] < SHOWN:
                    text = self.shorten(text,
                                        lambda t: self.driver.count([t], flags)[0] != len(self.driver.encode([t], flags)[0]))
                self.differ(
                    f"count, {kind}, flags {flags}", text, f"{self.driver.count([text], flags)[0]} counted, "
                    f"{len(self.driver.encode([text], flags)[0])} ids")
        return [mine for mine, other in zip(ours, theirs) if other is not None]

    def decoding(self, many_ids):
        for skip in (False, True):
            ours = self.driver.decode(many_ids, SKIP_SPECIAL if skip else 0)
            for ids, mine, other in zip(many_ids, ours, self.peer.decode(many_ids, skip)):
                if other is not None and mine != other.encode():
                    if self.kinds[f"decoding, skip {skip}"] < SHOWN:
                        ids = self.shorten(
                            ids, lambda i: self.driver.decode([i], SKIP_SPECIAL
                                                              if skip else 0)[0] != self.peer.decode([i], skip)[0].encode())
                        mine, other = self.driver.decode([ids], SKIP_SPECIAL if skip else 0)[0], self.peer.decode([ids],
                                                                                                                  skip)[0]
                    self.differ(f"decoding, skip {skip}", ids[:60], f"ours {mine!r:.300}\n    theirs {other.encode()!r:.300}")

    def random_ids(self, count):
        """Tokens in any order, also such as no text gives."""
        return [[self.source.choice(self.peer.known) for _ in range(self.source.randint(1, 20))] for _ in range(count)]

    def fitting(self, part):
        """What fits is a prefix between characters whose own count is within the limit; and where tokens say the text that
        was read, of the whole and of the prefix, none that ends where a token ends is longer."""
        texts = [text.decode("utf-8", "replace").encode()[:160].decode("utf-8", "ignore").encode() for _, text in part]
        many_ids = self.driver.encode(texts)
        limits = [self.source.randint(0, len(ids) + 1) for ids in many_ids]
        many_fits = self.driver.fit(texts, limits)
        kept = [text[:fits].decode("utf-8", "ignore") for text, fits in zip(texts, many_fits)]
        ends = self.token_ends(texts, many_ids)
        for text, limit, fits, prefix, theirs, longest in zip(texts, limits, many_fits, kept, self.peer.encode(kept),
                                                             self.longest_fits(ends, limits)):
            if len(prefix.encode()) != fits:
                self.differ("fit", text, f"{fits} bytes is no place between characters")
            elif theirs is not None and len(theirs) > limit:
                self.differ("fit", text, f"limit {limit}: {fits} bytes are {len(theirs)} tokens")
            elif theirs is not None and fits < longest:
                self.differ("fit", text, f"limit {limit}: {fits} bytes, though {longest} fit")

    def token_ends(self, texts, many_ids):
        """For each text its prefixes that end where a token does; none where its tokens do not say the text."""
        said = iter(self.driver.decode([ids[:n] for ids in many_ids for n in range(len(ids) + 1)]))
        out = []
        for text, ids in zip(texts, many_ids):
            prefixes = [next(said) for _ in range(len(ids) + 1)]
            out.append([
                prefix for prefix in prefixes
                if text == prefixes[-1] and prefix == text[:len(prefix)] and text[len(prefix):len(prefix) + 1] not in INSIDE
            ])
        return out

    def longest_fits(self, many_ends, limits):
        """Of each text's prefixes the longest, in bytes, that is within its limit and whose tokens say it; 0 for none."""
        alone = self.driver.encode([end for ends in many_ends for end in ends])
        tokens, said = iter(alone), iter(self.driver.decode(alone))
        return [
            max([len(end) for end, own, same in [(end, next(tokens), next(said)) for end in ends]
                 if len(own) <= limit and same == end],
                default=0) for ends, limit in zip(many_ends, limits)
        ]

    def boundaries(self, part):
        """Where a text says that counts add up, they do."""
        if not self.peer.specials:
            return
        texts = [text.decode("utf-8", "replace").encode()[:500].decode("utf-8", "ignore").encode() for _, text in part]
        seconds = [(self.source.choice(self.peer.specials) + self.source.choice(["", " ", "\n", "a"])).encode() + text
                   for text in self.source.sample(texts, len(texts))]
        anew = self.driver.begins_anew(seconds)
        pairs = [(a, b) for a, b, new in zip(texts, seconds, anew) if new]
        whole = self.peer.encode([(a + b).decode() for a, b in pairs])
        for (a, b), ids, left, right in zip(pairs, whole, self.driver.count([a for a, _ in pairs]),
                                            self.driver.count([b for _, b in pairs])):
            if ids is not None and len(ids) != left + right:
                self.differ("boundary", (a, b), f"{left} + {right} tokens alone, {len(ids)} together")
        return len(pairs)

    def run(self, everything, scale):
        soup = token_corpus.vocabulary_soup(self.peer.token_bytes(), self.seed, int(300 * scale))
        specials = list(token_corpus.special_soup(self.peer.specials, self.seed, int(200 * scale)))
        made = [*token_corpus.made(scale, self.seed), *soup, *specials]
        for part in batches(made):
            ours = self.ids(part, 0)
            self.decoding(ours)
        self.ids(specials + made[::7], PLAIN)
        if self.peer.framed:
            self.decoding(self.ids(specials + made[::7], FRAMED))
        self.decoding([[i] for i in self.peer.known[::1 if everything else 7]])
        self.decoding(self.random_ids(int(300 * scale)))
        self.fitting([made[i] for i in self.source.sample(range(len(made)), min(len(made), int(400 * min(1, scale**.5))))] +
                     specials[:50])
        self.boundaries(made[::5])
        for part in batches(token_corpus.recorded() if everything else token_corpus.sample(sampled(scale), self.seed)):
            self.ids(part, 0)


def compare(driver, path, arguments):
    start = time.monotonic()
    try:
        ours = Driver(driver, path)
    except Refused as refused:
        print(f"{path}: refused: {refused}")
        return 1
    peer = Tiktoken(path) if path.suffix == ".tiktoken" else HuggingFace(path)
    comparison = Comparison(ours, peer, arguments.seed)
    comparison.run(arguments.all, arguments.scale)
    ours.close()
    panics = f", which panics over {comparison.panics} texts" if comparison.panics else ""
    print(f"{path.parent.name}/{path.name}: {comparison.texts} texts, {comparison.bytes / 1e6:.1f} MB, {comparison.tokens} tokens: "
          f"{comparison.differences} differences from {peer.name}{panics} ({time.monotonic() - start:.1f} s)", flush=True)
    return comparison.differences


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--scale", type=float, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("driver", type=pathlib.Path)
    parser.add_argument("files", type=pathlib.Path, nargs="+")
    arguments = parser.parse_args()
    os.environ["RUST_BACKTRACE"] = "0"  # the peers' panics are counted, not looked into
    token_corpus.made(arguments.scale, arguments.seed)  # all jobs share it
    if not arguments.all:
        token_corpus.sample(sampled(arguments.scale), arguments.seed)
    with multiprocessing.get_context("fork").Pool(arguments.jobs) as pool:
        differences = pool.starmap(compare, [(arguments.driver, path, arguments) for path in arguments.files], chunksize=1)
    return 1 if sum(differences) else 0


if __name__ == "__main__":
    sys.exit(main())
