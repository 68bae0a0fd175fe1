/* src/text/tokenizer/read_internal.h
 *
 * What the readers of tokenizer files share: read_json.c goes through a tokenizer.json, read_json_steps.c through its
 * normalizers, pre-tokenizers and decoders, read_json_model.c through its model, with read_cut.c and
 * read_json_vocabulary.c for the large parts of that, read_json_frame.c through its
 * post-processor; read_tiktoken.c reads rank files, read_tiktoken_known.c holds what is known of those. Not for others.
 *
 * The readers take from a file what the `tokenizers` library takes from it (fields it does not know are passed over),
 * and refuse what it refuses. Every complaint begins with the place in the file: "model.type: …".
 */
#ifndef FATHOM_TEXT_TOKENIZER_READ_INTERNAL_H
#define FATHOM_TEXT_TOKENIZER_READ_INTERNAL_H

#include "core/json.h"
#include "text/tokenizer/spec.h"

#define READ_MAX_FILE_BYTES ((size_t)256 << 20)
#define READ_MAX_STEPS      64 /* normalizers, pre-tokenizers or decoders */
#define READ_MAX_DEPTH      8  /* of their sequences */
#define READ_PLACE_BYTES    96

/* A part of a JSON file and where it stands. */
struct read_part {
    const json_t *value;
    char place[READ_PLACE_BYTES];
};

/* The member `key`, or the item `index`; its value is NULL where there is none. */
struct read_part read_member(const struct read_part *part, const char *key);
struct read_part read_item(const struct read_part *part, size_t index);

/* Sets the error "place: …" and returns `status`. `place` may be NULL. */
enum status read_fail(struct error *error, enum status status, const char *place, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* `text` fit for a message: cut, and without what would move a terminal's cursor. */
#define READ_QUOTE_BYTES 64
const char *read_quote(struct str text, char out[READ_QUOTE_BYTES]);

/* Members of a part. `fallback` -1 says that the member must be there. null is no value for either. */
enum status read_bool(const struct read_part *part, const char *key, int fallback, bool *out,
                      struct error *error) STATUS_CHECKED;
enum status read_text(const struct read_part *part, const char *key, struct str *out,
                      struct error *error) STATUS_CHECKED;
/* The string is one character. */
enum status read_character(const struct read_part *part, const char *key, struct str *out,
                           struct error *error) STATUS_CHECKED;
enum status read_count(const struct read_part *part, const char *key, uint32_t *out,
                       struct error *error) STATUS_CHECKED;

/* An id at `place`: an integer from 0 to below SPEC_MAX_ID. */
enum status read_id(const json_t *value, const char *place, uint32_t *out, struct error *error) STATUS_CHECKED;

/* Turns GPT-2's printable stand-ins for bytes back into bytes, in `out` of at least `text.len` bytes; returns their
 * number, or SIZE_MAX when some character stands for none. */
size_t read_stand_ins(struct str text, char *out);

/* The values of a JSON text would take more memory than it may. */
enum status read_check_size(struct str json, struct error *error) STATUS_CHECKED;

/* Each: the value may be missing or null. */
enum status read_normalizers(struct tokenizer_spec *spec, const struct read_part *part,
                             struct error *error) STATUS_CHECKED;
enum status read_pre_tokenizers(struct tokenizer_spec *spec, const struct read_part *part,
                                struct error *error) STATUS_CHECKED;
enum status read_decoders(struct tokenizer_spec *spec, const struct read_part *part,
                          struct error *error) STATUS_CHECKED;
enum status read_post_processor(struct tokenizer_spec *spec, const struct read_part *part,
                                struct error *error) STATUS_CHECKED;

/* A tokenizer.json without its vocabulary and its merges, which stand as 0 in `rest`; they begin at these places of the
 * file, 0 where it has none. */
struct read_cut {
    struct buf rest;
    size_t vocabulary, merges;
    bool keep_places; /* asks for white space in the place of what is cut out, so that places of errors are right */
};

/* Where the text is no object with a model, `rest` is all of it. */
void read_cut_model(struct str json, struct read_cut *cut);

/* After the steps, which say whether the vocabulary is byte-level. `part` is the model without what was cut out. */
enum status read_model(struct tokenizer_spec *spec, const struct read_part *part, struct str json,
                       const struct read_cut *cut, struct error *error) STATUS_CHECKED;

/* The value at `at` of the file. Their errors say line and column. */
enum status read_vocabulary(struct tokenizer_spec *spec, struct str json, size_t at,
                            struct error *error) STATUS_CHECKED;
enum status read_merges(struct tokenizer_spec *spec, struct str json, size_t at, struct error *error) STATUS_CHECKED;

/* One token with the marks of an AddedToken, or NULL-marked defaults where they are missing and `strict` is false. */
enum status read_added_token(const struct read_part *part, bool strict, struct added_token *out,
                             struct error *error) STATUS_CHECKED;

/* ---- .tiktoken ---- */

struct tiktoken_special {
    const char *content; /* with %u where it is one of a series */
    uint32_t id, count;  /* the first id; of how many */
    uint32_t number;     /* the first number of the series */
};

/* A rank file that is known. */
struct tiktoken_known {
    const char *name;
    const char *in_name; /* what the file's name has in it, where the ranks alone do not tell; NULL */
    uint32_t n_ranks, highest;
    const char *pattern;
    bool composed; /* text is brought into normal form C first: as `tokenizers` does it, which knows no marks newer than
                      Unicode 13, not as the Python at hand would */
    const struct tiktoken_special *special;
    size_t n_special;
    const char *begin; /* the special token that is put before a text, NULL */
};

/* NULL when none has so many ranks, up to that one. */
const struct tiktoken_known *tiktoken_find(struct str name, uint32_t n_ranks, uint32_t highest);

/* "cl100k_base (100256 ranks), …", for messages. */
void tiktoken_list(struct buf *out);

#endif
