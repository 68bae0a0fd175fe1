"""One tokenizer, not ours, over one file of documents, in a fresh process; run by tokens.py with the Python that has it.

    tokens_peer.py PEER VOCABULARY-FILE DOCUMENTS ROUNDS
    tokens_peer.py reference VOCABULARY-FILE MESSAGES.json

Prints one JSON object: CPU seconds of the first pass and of the best of ROUNDS more, tokens, SHA-256 of the ids. The second form
counts a conversation as the reference does: every round the tokenizer is loaded and the whole of it is read again.
"""
import array
import hashlib
import json
import os
import pathlib
import struct
import sys
import tempfile
import time
import unicodedata

os.environ.update(RAYON_NUM_THREADS="1", TOKENIZERS_PARALLELISM="false", OMP_NUM_THREADS="1")


def cpu():
    return time.clock_gettime(time.CLOCK_PROCESS_CPUTIME_ID)


def documents_of(path):
    data, at, out = pathlib.Path(path).read_bytes(), 0, []
    while at < len(data):
        length = struct.unpack_from("=I", data, at)[0]
        out.append(data[at + 4:at + 4 + length].decode())
        at += 4 + length
    return out


def tiktoken_encoding(path):
    import tiktoken
    name = path.stem
    if name == "qwen":
        from tiktoken.load import load_tiktoken_bpe
        ranks = load_tiktoken_bpe(str(path))
        pattern = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|"
                   r"\s+(?!\S)|\s+")
        specials = {"<|endoftext|>": len(ranks), "<|im_start|>": len(ranks) + 1, "<|im_end|>": len(ranks) + 2}
        return tiktoken.Encoding(name, pat_str=pattern, mergeable_ranks=ranks, special_tokens=specials)
    with tempfile.TemporaryDirectory() as cache:
        url = f"https://openaipublic.blob.core.windows.net/encodings/{name}.tiktoken"
        pathlib.Path(cache, hashlib.sha1(url.encode()).hexdigest()).write_bytes(path.read_bytes())
        os.environ["TIKTOKEN_CACHE_DIR"] = cache
        return tiktoken.get_encoding(name)


def flat(many):
    return [i for ids in many for i in ids]


def make(peer, path):
    """A function from documents to something that holds their ids, and one from that to the ids."""
    if peer == "tiktoken":
        encoding = tiktoken_encoding(path)
        if path.stem == "qwen":  # as Qwen's own code does
            return lambda texts: [encoding.encode_ordinary(unicodedata.normalize("NFC", text)) for text in texts], flat
        return lambda texts: [encoding.encode_ordinary(text) for text in texts], flat
    if peer == "tokenizers":
        import tokenizers
        tokenizer = tokenizers.Tokenizer.from_file(str(path))
        return (lambda texts: tokenizer.encode_batch_fast(texts, add_special_tokens=False)), \
            lambda many: flat(e.ids for e in many)
    if peer in ("quicktok", "quicktok count"):
        import quicktok
        encoding = quicktok.get_encoding({"qwen": "qwen3"}.get(path.stem, path.stem))
        if peer.endswith("count"):
            return (lambda texts: quicktok.count_batch(encoding, texts, threads=1)), None
        return (lambda texts: encoding.encode_batch(texts, threads=1)), lambda both: [int(i) for i in both[0]]
    if peer == "bpe-openai":
        import bpe_openai
        encoding = bpe_openai.get_encoding(path.stem)
        return lambda texts: [encoding.encode_ordinary(text) for text in texts], flat
    if peer == "gigatoken":
        import gigatoken
        if path.suffix == ".json":
            tokenizer = gigatoken.Tokenizer(path)
        elif path.stem == "qwen":
            tokenizer = gigatoken.Tokenizer.from_tiktoken(path, pretokenizer="qwen2")
        else:
            tokenizer = gigatoken.Tokenizer.from_tiktoken(path, pretokenizer=path.stem.removesuffix("_base"))
        return (
            lambda texts: tokenizer.encode_batch(texts, parallel=False)), lambda many: [int(i) for ids in many for i in ids]
    raise SystemExit(f"no such peer: {peer}")


def measure(peer, path, documents, rounds):
    texts = documents_of(documents)
    work, ids_of = make(peer, pathlib.Path(path))
    warm = float("inf")
    start = cpu()
    result = work(texts)
    cold = cpu() - start
    for _ in range(rounds):
        del result
        start = cpu()
        result = work(texts)
        warm = min(warm, cpu() - start)
    if ids_of is None:
        return {"cold": cold, "warm": warm, "tokens": int(sum(result)), "hash": ""}
    ids = array.array("I", ids_of(result))
    return {"cold": cold, "warm": warm, "tokens": len(ids), "hash": hashlib.sha256(ids.tobytes()).hexdigest()}


def reference(path, messages):
    import jinja2
    import jinja2.ext
    import jinja2.sandbox
    import tokenizers
    config = json.loads(pathlib.Path(path).with_name("tokenizer_config.json").read_text(encoding="utf-8"))
    environment = jinja2.sandbox.ImmutableSandboxedEnvironment(trim_blocks=True,
                                                               lstrip_blocks=True,
                                                               extensions=[jinja2.ext.loopcontrols])
    template = environment.from_string(config["chat_template"])
    messages = json.loads(pathlib.Path(messages).read_text(encoding="utf-8"))
    rounds, load, read = [], 0.0, 0.0
    for count in range(2, len(messages) + 1, 2):
        start = cpu()
        tokenizer = tokenizers.Tokenizer.from_file(path)
        load += cpu() - start
        start = cpu()
        text = template.render(messages=messages[:count], add_generation_prompt=True)
        rounds.append(len(tokenizer.encode(text, add_special_tokens=False).ids))
        read += cpu() - start
    return {"rounds": rounds, "cpu_ms": (load + read) * 1e3, "load_ms": load * 1e3, "read_ms": read * 1e3}


if __name__ == "__main__":
    if sys.argv[1] == "reference":
        print(json.dumps(reference(*sys.argv[2:])))
    else:
        print(json.dumps(measure(*sys.argv[1:4], int(sys.argv[4]))))
