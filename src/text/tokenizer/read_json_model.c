/* The model of a tokenizer.json: BPE or Unigram. */
#include "text/tokenizer/read_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"

#define MAX_TOKEN_BYTES ((size_t)1 << 16)
#define MAX_TEXT_BYTES  ((size_t)1 << 30)

struct vocabulary_walk {
    struct tokenizer_spec *spec;
    unsigned char *seen; /* by id: 1 a token, 2 one that no text leads to */
    size_t bytes;
    struct error *error;
};

#define SEEN_TOKEN     1
#define SEEN_UNREACHED 2

static enum status add_token(struct vocabulary_walk *walk, struct str written, struct spec_token token,
                             const char *place)
{
    struct tokenizer_spec *spec = walk->spec;
    struct model_spec *model = &spec->model;
    char bytes[MAX_TOKEN_BYTES], quoted[READ_QUOTE_BYTES];
    size_t length = written.len;
    if (walk->seen[token.id])
        return read_fail(walk->error, STATUS_UNSUPPORTED, place, "\"%s\" has the id %u of another token",
                         read_quote(written, quoted), token.id);
    walk->bytes += written.len;
    if (written.len > sizeof bytes || walk->bytes > MAX_TEXT_BYTES)
        return read_fail(walk->error, STATUS_TOO_BIG, place, "the token \"%s\" is longer than any model's",
                         read_quote(written, quoted));
    bool reached = !model->byte_level || (length = read_stand_ins(written, bytes)) != SIZE_MAX;
    walk->seen[token.id] = reached ? SEEN_TOKEN : SEEN_UNREACHED;
    token.text = tokenizer_spec_text(spec, reached && model->byte_level ? str_make(bytes, length) : written);
    if (reached) {
        tokenizer_spec_add_model_token(spec, token);
    } else {
        model->unreached = mem_grow(model->unreached, model->n_unreached, &model->unreached_capacity, sizeof token);
        model->unreached[model->n_unreached++] = token;
    }
    return STATUS_OK;
}

/* ---- BPE ---- */

static enum status read_bpe_vocabulary(struct vocabulary_walk *walk, const struct read_part *part)
{
    struct read_part vocabulary = read_member(part, "vocab");
    enum status status = STATUS_OK;
    const char *key;
    size_t length;
    json_t *value;
    if (!json_is_object(vocabulary.value))
        return read_fail(walk->error, STATUS_SYNTAX, vocabulary.place, "must be an object of tokens and their ids");
    json_object_keylen_foreach((json_t *)(uintptr_t)vocabulary.value, key, length, value)
    {
        struct spec_token token = {0};
        status = read_id(value, vocabulary.place, &token.id, walk->error);
        if (status == STATUS_OK)
            status = add_token(walk, str_make(key, length), token, vocabulary.place);
        if (status != STATUS_OK)
            return status;
    }
    walk->spec->vocabulary = json_incref((json_t *)(uintptr_t)vocabulary.value);
    return status;
}

/* A merge is "left right" in older files, where a token with a space cannot be part of one, and ["left", "right"] in
 * newer ones. False when it is neither. */
static bool split_merge(const json_t *merge, bool pairs, struct str *left, struct str *right)
{
    if (pairs) {
        const json_t *a = json_array_get(merge, 0), *b = json_array_get(merge, 1);
        *left = str_make(json_string_value(a), json_string_length(a));
        *right = str_make(json_string_value(b), json_string_length(b));
        return json_array_size(merge) == 2 && json_is_string(a) && json_is_string(b);
    }
    struct str text = str_make(json_string_value(merge), json_string_length(merge));
    size_t space = str_find_char(text, ' ', 0);
    *left = str_slice(text, 0, space);
    *right = str_slice(text, space == STR_NONE ? text.len : space + 1, text.len);
    return json_is_string(merge) && space != STR_NONE && str_find_char(text, ' ', space + 1) == STR_NONE;
}

static enum status merge_id(struct vocabulary_walk *walk, struct str text, const struct read_part *merges, size_t i,
                            uint32_t *out)
{
    char quoted[READ_QUOTE_BYTES];
    const json_t *id = json_object_getn(walk->spec->vocabulary, text.data ? text.data : "", text.len);
    struct read_part place = read_item(merges, i);
    if (!id)
        return read_fail(walk->error, STATUS_SYNTAX, place.place, "the token \"%s\" is not in the vocabulary",
                         read_quote(text, quoted));
    *out = (uint32_t)json_integer_value(id);
    return STATUS_OK;
}

static enum status read_merge(struct vocabulary_walk *walk, const struct read_part *merges, size_t i, bool pairs)
{
    struct model_spec *model = &walk->spec->model;
    struct spec_merge merge;
    struct str left, right;
    char joined[2 * MAX_TOKEN_BYTES];
    const json_t *value = json_array_get(merges->value, i);
    if (!split_merge(value, pairs, &left, &right)) {
        struct read_part place = read_item(merges, i);
        return read_fail(walk->error, STATUS_SYNTAX, place.place, "must be two tokens, %s",
                         pairs ? "[\"a\", \"b\"]" : "\"a b\"");
    }
    enum status status = merge_id(walk, left, merges, i, &merge.left);
    if (status == STATUS_OK)
        status = merge_id(walk, right, merges, i, &merge.right);
    if (status != STATUS_OK)
        return status;
    memcpy(joined, left.data, left.len); /* both are tokens, so there is room */
    memcpy(joined + left.len, right.data, right.len);
    status = merge_id(walk, str_make(joined, left.len + right.len), merges, i, &merge.merged);
    if (status != STATUS_OK || walk->seen[merge.left] != SEEN_TOKEN || walk->seen[merge.right] != SEEN_TOKEN)
        return status;
    model->merges = mem_grow(model->merges, model->n_merges, &model->merges_capacity, sizeof merge);
    model->merges[model->n_merges++] = merge;
    return STATUS_OK;
}

struct placed_merge {
    uint64_t pair;
    size_t at;
};

static int compare_placed(const void *a, const void *b)
{
    const struct placed_merge *x = a, *y = b;
    if (x->pair != y->pair)
        return x->pair < y->pair ? -1 : 1;
    return x->at < y->at ? -1 : 1;
}

/* Of merges of the same two tokens the last one gives the rank. */
static void drop_repeated_merges(struct model_spec *model)
{
    struct placed_merge *placed = mem_calloc(model->n_merges, sizeof *placed);
    bool *repeated = mem_calloc(model->n_merges, sizeof *repeated);
    size_t kept = 0;
    for (size_t i = 0; i < model->n_merges; i++)
        placed[i] = (struct placed_merge){(uint64_t)model->merges[i].left << 32 | model->merges[i].right, i};
    qsort(placed, model->n_merges, sizeof *placed, compare_placed);
    for (size_t i = 0; i + 1 < model->n_merges; i++)
        repeated[placed[i].at] = placed[i].pair == placed[i + 1].pair;
    for (size_t i = 0; i < model->n_merges; i++)
        if (!repeated[i])
            model->merges[kept++] = model->merges[i];
    model->n_merges = kept;
    free(repeated);
    free(placed);
}

static enum status read_merges(struct vocabulary_walk *walk, const struct read_part *part)
{
    struct read_part merges = read_member(part, "merges");
    enum status status = STATUS_OK;
    if (!json_is_array(merges.value))
        return read_fail(walk->error, STATUS_SYNTAX, merges.place, "must be a list of pairs of tokens");
    bool pairs = json_is_array(json_array_get(merges.value, 0));
    for (size_t i = 0; i < json_array_size(merges.value) && status == STATUS_OK; i++) {
        const char *line = json_string_value(json_array_get(merges.value, i));
        if (!pairs && line && strncmp(line, "#version", 8) == 0) /* the first line of a merges.txt */
            continue;
        status = read_merge(walk, &merges, i, pairs);
    }
    if (status == STATUS_OK && walk->spec->model.n_merges)
        drop_repeated_merges(&walk->spec->model);
    return status;
}

static bool has_every_byte(const struct model_spec *model)
{
    bool has[256] = {false};
    size_t count = 0;
    for (size_t i = 0; i < model->n_tokens; i++)
        if (model->tokens[i].text.len == 1 && !has[(unsigned char)model->tokens[i].text.data[0]]) {
            has[(unsigned char)model->tokens[i].text.data[0]] = true;
            count++;
        }
    return count == 256;
}

/* What becomes of text without a token. A byte-level vocabulary with a token for every byte never asks. */
static enum status read_unknown(struct tokenizer_spec *spec, const struct read_part *part, struct error *error)
{
    struct model_spec *model = &spec->model;
    struct read_part unknown = read_member(part, "unk_token"), fallback = read_member(part, "byte_fallback");
    char quoted[READ_QUOTE_BYTES];
    enum status status = read_bool(part, "fuse_unk", 0, &model->fuse_unknown, error);
    if (status == STATUS_OK)
        status = read_bool(part, "byte_fallback", 0, &model->byte_fallback, error);
    if (status != STATUS_OK)
        return status;
    if (model->byte_level && has_every_byte(model)) {
        model->byte_fallback = false;
        return STATUS_OK;
    }
    if (model->byte_level && model->byte_fallback)
        return read_fail(error, STATUS_UNSUPPORTED, fallback.place,
                         "not supported with a ByteLevel vocabulary that has not got every byte");
    if (!json_is_string(unknown.value))
        return !unknown.value || json_is_null(unknown.value)
                   ? STATUS_OK
                   : read_fail(error, STATUS_SYNTAX, unknown.place, "must be a string or null");
    struct str text = json_get_str(part->value, "unk_token");
    model->unknown = tokenizer_spec_find(spec, text);
    if (model->unknown < 0)
        return read_fail(error, STATUS_UNSUPPORTED, unknown.place, "\"%s\" is not in the vocabulary",
                         read_quote(text, quoted));
    return STATUS_OK;
}

static enum status refuse_other_bpe(const struct read_part *part, struct error *error)
{
    static const char *const affixes[] = {"continuing_subword_prefix", "end_of_word_suffix"};
    struct read_part dropout = read_member(part, "dropout");
    if (dropout.value && !json_is_null(dropout.value) && json_number_value(dropout.value) != 0.0)
        return read_fail(error, STATUS_UNSUPPORTED, dropout.place,
                         "merges that are left out by chance are not supported; set it to null, as for inference");
    for (size_t i = 0; i < sizeof affixes / sizeof affixes[0]; i++) {
        struct read_part affix = read_member(part, affixes[i]);
        if (affix.value && !json_is_null(affix.value) &&
            (!json_is_string(affix.value) || json_string_length(affix.value)))
            return read_fail(error, STATUS_UNSUPPORTED, affix.place,
                             "not supported; only tokenizers without it can be read");
    }
    return STATUS_OK;
}

static enum status read_bpe(struct vocabulary_walk *walk, const struct read_part *part)
{
    struct model_spec *model = &walk->spec->model;
    model->kind = MODEL_BPE;
    enum status status = refuse_other_bpe(part, walk->error);
    if (status == STATUS_OK)
        status = read_bool(part, "ignore_merges", 0, &model->ignore_merges, walk->error);
    if (status == STATUS_OK)
        status = read_bpe_vocabulary(walk, part);
    if (status == STATUS_OK)
        status = read_merges(walk, part);
    return status == STATUS_OK ? read_unknown(walk->spec, part, walk->error) : status;
}

/* ---- Unigram ---- */

static enum status read_unigram_vocabulary(struct vocabulary_walk *walk, const struct read_part *part)
{
    struct read_part vocabulary = read_member(part, "vocab");
    size_t count = json_array_size(vocabulary.value);
    enum status status = STATUS_OK;
    char quoted[READ_QUOTE_BYTES];
    if (!json_is_array(vocabulary.value) || count >= SPEC_MAX_ID)
        return read_fail(walk->error, STATUS_SYNTAX, vocabulary.place, "must be a list of tokens and their scores");
    walk->spec->vocabulary = json_object();
    for (size_t i = 0; i < count && status == STATUS_OK; i++) {
        const json_t *entry = json_array_get(vocabulary.value, i), *text = json_array_get(entry, 0);
        const json_t *score = json_array_get(entry, 1);
        struct read_part place = read_item(&vocabulary, i);
        struct spec_token token = {.id = (uint32_t)i, .score = json_number_value(score)};
        struct str written = str_make(json_string_value(text), json_string_length(text));
        if (json_array_size(entry) != 2 || !json_is_string(text) || !json_is_number(score) || !isfinite(token.score))
            return read_fail(walk->error, STATUS_SYNTAX, place.place, "must be a token and its score");
        if (json_object_getn(walk->spec->vocabulary, written.data, written.len))
            return read_fail(walk->error, STATUS_UNSUPPORTED, place.place, "the token \"%s\" is there twice",
                             read_quote(written, quoted));
        json_object_setn_new_nocheck(walk->spec->vocabulary, written.data, written.len, json_integer((json_int_t)i));
        status = add_token(walk, written, token, place.place);
    }
    return status;
}

static enum status read_unigram(struct vocabulary_walk *walk, const struct read_part *part)
{
    struct model_spec *model = &walk->spec->model;
    struct read_part unknown = read_member(part, "unk_id");
    model->kind = MODEL_UNIGRAM;
    if (model->byte_level)
        return read_fail(walk->error, STATUS_UNSUPPORTED, part->place, "Unigram over ByteLevel text is not supported");
    enum status status = read_unigram_vocabulary(walk, part);
    if (status == STATUS_OK)
        status = read_bool(part, "byte_fallback", 0, &model->byte_fallback, walk->error);
    if (status != STATUS_OK)
        return status;
    if (!json_is_integer(unknown.value) || json_integer_value(unknown.value) < 0 ||
        json_integer_value(unknown.value) >= (json_int_t)model->n_tokens)
        return read_fail(walk->error, STATUS_UNSUPPORTED, unknown.place,
                         "must be the id of the unknown token, since some text has no other");
    model->unknown = json_integer_value(unknown.value);
    model->fuse_unknown = true;
    return STATUS_OK;
}

/* ---- which of them ---- */

/* Files of before 2020 do not say what the model is; its fields do. */
static struct str model_kind(const struct read_part *part)
{
    if (json_is_string(json_object_get(part->value, "type")))
        return json_get_str(part->value, "type");
    if (json_object_get(part->value, "merges"))
        return STR("BPE");
    if (json_is_array(json_object_get(part->value, "vocab")))
        return STR("Unigram");
    return json_object_get(part->value, "max_input_chars_per_word") ? STR("WordPiece") : STR("WordLevel");
}

enum status read_model(struct tokenizer_spec *spec, const struct read_part *part, struct error *error)
{
    struct vocabulary_walk walk = {.spec = spec, .seen = mem_zalloc(SPEC_MAX_ID), .error = error};
    struct str kind = model_kind(part);
    char quoted[READ_QUOTE_BYTES];
    enum status status;
    if (str_equal(kind, STR("BPE")))
        status = read_bpe(&walk, part);
    else if (str_equal(kind, STR("Unigram")))
        status = read_unigram(&walk, part);
    else
        status = read_fail(error, STATUS_UNSUPPORTED, "model.type",
                           "%s is not supported; BPE and Unigram are: leave --tokenizer away, and the server counts",
                           read_quote(kind, quoted));
    if (status == STATUS_OK && spec->model.n_tokens == 0)
        status = read_fail(error, STATUS_SYNTAX, "model.vocab", "there are no tokens");
    free(walk.seen);
    return status;
}
