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

struct text_map;
struct text_pool;

/* Ids, of the model's and of added tokens, are below this. */
#define SPEC_MAX_ID ((uint32_t)1 << 24)

/* Speech models add some 70,000 tokens, others a few. */
#define SPEC_MAX_ADDED ((uint32_t)1 << 17)

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
    PRE_TOKENIZER_SPLIT,       /* pattern, behavior, invert */
    PRE_TOKENIZER_BYTE_LEVEL,  /* add_prefix_space, use_regex (GPT-2's pattern) */
    PRE_TOKENIZER_METASPACE,   /* text: the replacement character; prepend; split */
    PRE_TOKENIZER_DIGITS,      /* individual */
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
    DECODER_BYTE_LEVEL, /* where model.byte_level says so, texts are what this would make of them */
    DECODER_REPLACE,    /* pattern, text */
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

/* left + right -> merged, by ids; the order of the list is the rank. No pair is listed twice. */
struct spec_merge {
    uint32_t left, right, merged;
};

struct model_spec {
    enum model_kind kind;
    bool byte_level;           /* text is bytes (GPT-2, Llama 3, Qwen, all of tiktoken); else characters */
    bool merge_by_rank;        /* tiktoken: any two tokens whose joined text is a token may merge, the lowest id first;
                                  `merges` is empty */
    bool ignore_merges;        /* a piece that is a token as a whole is taken as it is, whatever the merges say */
    bool byte_fallback;        /* what has no token becomes <0x00> … <0xFF> */
    bool fuse_unknown;         /* adjacent unknown characters become one unknown token */
    int64_t unknown;           /* id of the unknown token, -1 */
    struct spec_token *tokens; /* no id and no text is there twice */
    size_t n_tokens, tokens_capacity;
    /* Tokens of a byte-level vocabulary that are not written in stand-ins: no text leads to them, only their ids can be
     * decoded. `text` as the file has it. */
    struct spec_token *unreached;
    size_t n_unreached, unreached_capacity;
    struct spec_merge *merges;
    size_t n_merges, merges_capacity;
};

/* `content` is as it is looked for in text: UTF-8, also where the vocabulary is byte-level. */
struct added_token {
    struct str content;
    uint32_t id;
    bool special;
    bool single_word, lstrip, rstrip, normalized;
    bool shares_id; /* is found in text, though another one has its id as well; else only the last one with an id is */
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
    struct text_pool *texts;     /* owns the text of all of it */
    struct text_map *vocabulary; /* the model's tokens -> id; NULL for .tiktoken */
    struct text_map *unreached;  /* model.unreached -> id */
    struct text_map *added_at;   /* contents of added tokens -> place in `added` */
    uint32_t highest_added;      /* the largest id of an added token, where there are any */
};

void tokenizer_spec_init(struct tokenizer_spec *spec);
void tokenizer_spec_finish(struct tokenizer_spec *spec);

/* A copy that lives as long as the spec. */
struct str tokenizer_spec_text(struct tokenizer_spec *spec, struct str text);

void tokenizer_spec_add_normalizer(struct tokenizer_spec *spec, struct normalizer_step step);
void tokenizer_spec_add_pre_tokenizer(struct tokenizer_spec *spec, struct pre_tokenizer_step step);
void tokenizer_spec_add_decoder(struct tokenizer_spec *spec, struct decoder_step step);
void tokenizer_spec_add_model_token(struct tokenizer_spec *spec, struct spec_token token);
void tokenizer_spec_add_unreached(struct tokenizer_spec *spec, struct spec_token token);

/* Adds a token as Hugging Face's AddedVocabulary does: one whose content is known, to the model or as an added token,
 * keeps that id, and the new marks (special, lstrip, …) take the place of older ones; else it gets the id behind all
 * others. What its own file says of its id (`token.id`) is not looked at there, nor here. STATUS_TOO_BIG when the ids
 * run out. The content is copied; an empty one is left out. */
enum status tokenizer_spec_add_token(struct tokenizer_spec *spec, struct added_token token,
                                     struct error *error) STATUS_CHECKED;

/* The id of the token that is written so in the file, an added one or the model's; -1. */
int64_t tokenizer_spec_find(const struct tokenizer_spec *spec, struct str content);

/* Each reads its kind of file into `spec` (initialized). STATUS_SYNTAX, STATUS_UNSUPPORTED with a message that names
 * the piece and the remedy. */
enum status tokenizer_read_json(struct tokenizer_spec *spec, struct str json, struct error *error) STATUS_CHECKED;
enum status tokenizer_read_tiktoken(struct tokenizer_spec *spec, struct str name, struct str ranks,
                                    struct error *error) STATUS_CHECKED;
/* tokenizer_config.json, after the main file: tokens that are added beyond those of tokenizer.json, the chat template.
 * Of a .tiktoken file's only the chat template counts. */
enum status tokenizer_read_config(struct tokenizer_spec *spec, struct str json, struct error *error) STATUS_CHECKED;

#endif
