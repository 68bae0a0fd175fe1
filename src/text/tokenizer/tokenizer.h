/* src/text/tokenizer/tokenizer.h
 *
 * A model's own tokenizer: text to token ids, ids to text, and the number of tokens without the ids. The same ids as
 * Hugging Face's `tokenizers` gives for a tokenizer.json, and as `tiktoken` gives for a .tiktoken rank file.
 *
 * A tokenizer is made in two steps. tokenizer_compile reads the files' bytes and writes an image: one block of bytes
 * without pointers, meant to be kept in a file and mapped (store/tokenizer_store.h does that). tokenizer_open checks
 * the image's hash and uses it where it lies. All of it is pure: no files, no globals.
 *
 * An open tokenizer never changes to its users, and any number of threads may use it at the same time.
 *
 * Text is UTF-8 of less than 4 GiB (more aborts). Every maximal ill-formed part counts as one U+FFFD, as in Python's
 * decode("utf-8", "replace").
 */
#ifndef FATHOM_TEXT_TOKENIZER_TOKENIZER_H
#define FATHOM_TEXT_TOKENIZER_TOKENIZER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/buf.h"
#include "core/status.h"
#include "core/str.h"

struct tokenizer;

/* The bytes of the files that make a tokenizer. */
struct tokenizer_source {
    struct str name;   /* the main file's name, without its folder: for errors, and to tell .tiktoken files apart */
    struct str main;   /* tokenizer.json or a .tiktoken rank file; what it is shows in its bytes */
    struct str config; /* tokenizer_config.json, which may add tokens; empty where there is none */
    struct str chat_template; /* chat_template.jinja, which goes before that of `config`; empty where there is none */
};

/* How text is read. Zero: what stands in the text as an added or special token is that token (as Hugging Face reads
 * text), and nothing is put around it. */
enum tokenizer_flags {
    TOKENIZER_PLAIN = 1,  /* special tokens are ordinary text: tiktoken's encode_ordinary, Hugging Face's
                             encode_special_tokens */
    TOKENIZER_FRAMED = 2, /* with what the post-processor puts around a text, such as the token that begins it: Hugging
                             Face's add_special_tokens */
    TOKENIZER_SKIP_SPECIAL = 4, /* decoding leaves special tokens out */
};

struct token_ids {
    uint32_t *ids;
    size_t count;
    size_t capacity;
};

void token_ids_init(struct token_ids *ids);
void token_ids_finish(struct token_ids *ids);

/* Appends the image to `image` (unbounded). STATUS_SYNTAX with line and column where a file is broken;
 * STATUS_UNSUPPORTED, with the name of the piece, where the tokenizer needs something that is not here: a tokenizer is
 * exact or refused. */
enum status tokenizer_compile(const struct tokenizer_source *source, struct buf *image,
                              struct error *error) STATUS_CHECKED;

/* `image` is borrowed until tokenizer_destroy and begins at a multiple of 64 bytes, as a mapping does. It is checked as
 * a whole against the hash it carries: STATUS_INVALID when it is damaged, from another version or another kind of
 * machine; then compile anew. */
enum status tokenizer_open(struct str image, struct tokenizer **out, struct error *error) STATUS_CHECKED;

/* NULL is allowed. */
void tokenizer_destroy(struct tokenizer *tokenizer);

/* What the image was compiled from: SHA-256 of the source in hexadecimal. Borrowed. */
const char *tokenizer_hash(const struct tokenizer *tokenizer);

/* Largest id + 1. */
uint32_t tokenizer_vocabulary(const struct tokenizer *tokenizer);

/* A token as the vocabulary has it, in a byte-level one its bytes; empty for an id that is no token. Borrowed. */
struct str tokenizer_text(const struct tokenizer *tokenizer, uint32_t id);

/* The model's chat template as its tokenizer_config.json or tokenizer.json's folder gives it (Jinja, not evaluated
 * here); empty where it gives none. Borrowed. */
struct str tokenizer_chat_template(const struct tokenizer *tokenizer);

/* The number of ids that tokenizer_encode would give, without making them. */
int64_t tokenizer_count(const struct tokenizer *tokenizer, struct str text, unsigned flags);

/* Appends the ids of `text`. */
void tokenizer_encode(const struct tokenizer *tokenizer, struct str text, unsigned flags, struct token_ids *out);

/* Whether some text since the tokenizer was opened needed more tries of a pattern than any text may, and which pattern:
 * borrowed. What stands behind that place was not cut by the pattern, so ids and counts of that text are not exact; the
 * libraries fail there, or do not come to an end. Hostile tokenizers have such patterns. */
bool tokenizer_gave_up(const struct tokenizer *tokenizer, struct str *pattern);

/* Appends the text of `ids`, as the tokenizer's decoder joins it; bytes that form no UTF-8 are written as U+FFFD.
 * STATUS_INVALID when an id is not in the vocabulary, and nothing appended; STATUS_TOO_BIG by the buffer's cap. */
enum status tokenizer_decode(const struct tokenizer *tokenizer, const uint32_t *ids, size_t count, unsigned flags,
                             struct buf *out, struct error *error) STATUS_CHECKED;

/* Truncation: the longest prefix of `text`, in bytes, that ends where one of its tokens ends and between characters,
 * and whose own count is at most `tokens`. The whole length where all fits. Where the tokens do not say the text that
 * was read (it was normalized, or has characters that are in no token), a prefix between characters whose count is at
 * most `tokens`, though a longer one may be too. */
size_t tokenizer_fit(const struct tokenizer *tokenizer, struct str text, unsigned flags, int64_t tokens);

/* Whether counts add up at this place: `text` begins with an added token that takes nothing from what stands before it,
 * so for every text T, count(T text) = count(T) + count(text). The boundary between two chat messages mostly is such a
 * place. */
bool tokenizer_begins_anew(const struct tokenizer *tokenizer, struct str text);

#endif
