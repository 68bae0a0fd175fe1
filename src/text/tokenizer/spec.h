/* src/text/tokenizer/spec.h
 *
 * What a tokenizer's files say, read but not yet compiled: the steps text goes through, the vocabulary, the tokens that
 * were added. The readers (read_json.c, read_tiktoken.c) fill it, the compiler (compile.c) makes an image of it.
 *
 * Steps and names follow Hugging Face's tokenizer.json (huggingface.co/docs/tokenizers, "The tokenization pipeline"):
 * added tokens are cut out, then normalizers, pre-tokenizers, the model, the post-processor; decoders lead back.
 *
 * All text is owned by the spec and freed by tokenizer_spec_finish.
 */
#ifndef FATHOM_TEXT_TOKENIZER_SPEC_H
#define FATHOM_TEXT_TOKENIZER_SPEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/str.h"
#include "text/tokenizer/tokenizer.h"

/* Either literal text or a regular expression: in Oniguruma's syntax, as tokenizer.json has it, or as tiktoken's
 * fancy-regex reads it, which is not the same (there `{1,3}+` is possessive). */
struct spec_pattern {
    struct str text;
    bool is_regex;
    bool is_tiktoken;
};

enum normalizer_kind {
    NORMALIZER_NFC,
    NORMALIZER_NFD,
    NORMALIZER_NFKC,
    NORMALIZER_NFKD,
    NORMALIZER_LOWERCASE,
    NORMALIZER_STRIP,         /* left, right */
    NORMALIZER_STRIP_ACCENTS, /* removes marks (Mn) */
    NORMALIZER_REPLACE,       /* pattern, text */
    NORMALIZER_PREPEND,       /* text; nothing before an empty segment */
    NORMALIZER_NMT,
    NORMALIZER_PRECOMPILED, /* text: SentencePiece's precompiled_charsmap, decoded from base64 */
    NORMALIZER_BYTE_LEVEL,
};

struct normalizer_step {
    enum normalizer_kind kind;
    struct spec_pattern pattern;
    struct str text;
    bool left, right;
};

/* What a split does with what its pattern matches. */
enum split_behavior {
    SPLIT_REMOVED,
    SPLIT_ISOLATED,
    SPLIT_MERGED_WITH_PREVIOUS,
    SPLIT_MERGED_WITH_NEXT,
    SPLIT_CONTIGUOUS,
};

enum metaspace_prepend { METASPACE_ALWAYS, METASPACE_NEVER, METASPACE_FIRST };

enum pre_tokenizer_kind {
    PRE_TOKENIZER_SPLIT,      /* pattern, behavior, invert */
    PRE_TOKENIZER_BYTE_LEVEL, /* add_prefix_space, use_regex (GPT-2's pattern) */
    PRE_TOKENIZER_METASPACE,  /* text: the replacement character; prepend; split */
    PRE_TOKENIZER_DIGITS,     /* individual */
    PRE_TOKENIZER_PUNCTUATION, /* behavior */
    PRE_TOKENIZER_WHITESPACE,  /* \w+|[^\w\s]+ */
    PRE_TOKENIZER_WHITESPACE_SPLIT,
    PRE_TOKENIZER_DELIMITER, /* text: one character, removed */
};

struct pre_tokenizer_step {
    enum pre_tokenizer_kind kind;
    struct spec_pattern pattern;
    enum split_behavior behavior;
    enum metaspace_prepend prepend;
    struct str text;
    bool invert, add_prefix_space, use_regex, individual, split;
};

enum decoder_kind {
    DECODER_BYTE_LEVEL,
    DECODER_REPLACE, /* pattern, text */
    DECODER_BYTE_FALLBACK,
    DECODER_FUSE,
    DECODER_STRIP,     /* text: one character; start, stop: how many at most */
    DECODER_METASPACE, /* text, prepend */
};

struct decoder_step {
    enum decoder_kind kind;
    struct spec_pattern pattern;
    enum metaspace_prepend prepend;
    struct str text;
    uint32_t start, stop;
};

enum model_kind {
    MODEL_BPE,
    MODEL_UNIGRAM,
};

/* A token of the vocabulary. `text` is raw bytes: where `model.byte_level` says so, the reader has turned the
 * printable stand-ins of ByteLevel (GPT-2's bytes_to_unicode) back into the bytes they stand for. */
struct spec_token {
    struct str text;
    uint32_t id;
    double score; /* Unigram: logarithm of the probability */
};

/* left + right -> merged, by ids; the order of the list is the rank. */
struct spec_merge {
    uint32_t left, right, merged;
};

struct model_spec {
    enum model_kind kind;
    bool byte_level;    /* text is bytes (GPT-2, Llama 3, Qwen, all of tiktoken); else characters */
    bool merge_by_rank; /* tiktoken: any two tokens whose joined text is a token may merge, the lowest id first;
                           `merges` is empty */
    bool ignore_merges; /* a piece that is a token as a whole is taken as it is, whatever the merges say */
    bool byte_fallback; /* what has no token becomes <0x00> … <0xFF> */
    bool fuse_unknown;  /* adjacent unknown characters become one unknown token */
    int64_t unknown;    /* id of the unknown token, -1 */
    struct spec_token *tokens;
    size_t n_tokens, tokens_capacity;
    struct spec_merge *merges;
    size_t n_merges, merges_capacity;
};

struct added_token {
    struct str content;
    uint32_t id;
    bool special;
    bool single_word, lstrip, rstrip, normalized;
};

struct tokenizer_spec {
    struct normalizer_step *normalizers;
    size_t n_normalizers, normalizers_capacity;
    struct pre_tokenizer_step *pre_tokenizers;
    size_t n_pre_tokenizers, pre_tokenizers_capacity;
    struct decoder_step *decoders;
    size_t n_decoders, decoders_capacity;
    struct model_spec model;
    struct added_token *added;
    size_t n_added, added_capacity;
    struct token_ids before, after; /* what the post-processor puts around one text */
    struct str chat_template;
    struct text_pool *texts; /* owns the text of all of it */
};

void tokenizer_spec_init(struct tokenizer_spec *spec);
void tokenizer_spec_finish(struct tokenizer_spec *spec);

/* A copy that lives as long as the spec. */
struct str tokenizer_spec_text(struct tokenizer_spec *spec, struct str text);

/* Each reads its kind of file into `spec` (initialized). STATUS_SYNTAX, STATUS_UNSUPPORTED with a message that names
 * the piece and the remedy. */
enum status tokenizer_read_json(struct tokenizer_spec *spec, struct str json, struct error *error) STATUS_CHECKED;
enum status tokenizer_read_tiktoken(struct tokenizer_spec *spec, struct str name, struct str ranks,
                                    struct error *error) STATUS_CHECKED;
/* tokenizer_config.json: tokens that are added beyond those of tokenizer.json, the chat template. */
enum status tokenizer_read_config(struct tokenizer_spec *spec, struct str json, struct error *error) STATUS_CHECKED;

#endif
