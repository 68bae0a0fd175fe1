/* The model of a tokenizer.json: BPE or Unigram. */
#include "text/tokenizer/read_internal.h"

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

static enum status read_bpe(struct tokenizer_spec *spec, const struct read_part *part, struct str json,
                            const struct read_cut *cut, struct error *error)
{
    spec->model.kind = MODEL_BPE;
    enum status status = refuse_other_bpe(part, error);
    if (status == STATUS_OK)
        status = read_bool(part, "ignore_merges", 0, &spec->model.ignore_merges, error);
    if (status == STATUS_OK)
        status = read_vocabulary(spec, json, cut->vocabulary, error);
    if (status == STATUS_OK && cut->merges == 0)
        status = read_fail(error, STATUS_SYNTAX, "model.merges", "must be there");
    if (status == STATUS_OK)
        status = read_merges(spec, json, cut->merges, error);
    return status == STATUS_OK ? read_unknown(spec, part, error) : status;
}

static enum status read_unigram(struct tokenizer_spec *spec, const struct read_part *part, struct str json,
                                const struct read_cut *cut, struct error *error)
{
    struct model_spec *model = &spec->model;
    struct read_part unknown = read_member(part, "unk_id");
    model->kind = MODEL_UNIGRAM;
    if (model->byte_level)
        return read_fail(error, STATUS_UNSUPPORTED, part->place, "Unigram over ByteLevel text is not supported");
    enum status status = read_vocabulary(spec, json, cut->vocabulary, error);
    if (status == STATUS_OK)
        status = read_bool(part, "byte_fallback", 0, &model->byte_fallback, error);
    if (status != STATUS_OK)
        return status;
    if (!json_is_integer(unknown.value) || json_integer_value(unknown.value) < 0 ||
        json_integer_value(unknown.value) >= (json_int_t)model->n_tokens)
        return read_fail(error, STATUS_UNSUPPORTED, unknown.place,
                         "must be the id of the unknown token, since some text has no other");
    model->unknown = json_integer_value(unknown.value);
    model->fuse_unknown = true;
    return STATUS_OK;
}

/* Files of before 2020 do not say what the model is; its fields do. */
static struct str model_kind(const struct read_part *part, struct str json, const struct read_cut *cut)
{
    if (json_is_string(json_object_get(part->value, "type")))
        return json_get_str(part->value, "type");
    if (cut->merges)
        return STR("BPE");
    if (cut->vocabulary && json.data[cut->vocabulary] == '[')
        return STR("Unigram");
    return json_object_get(part->value, "max_input_chars_per_word") ? STR("WordPiece") : STR("WordLevel");
}

enum status read_model(struct tokenizer_spec *spec, const struct read_part *part, struct str json,
                       const struct read_cut *cut, struct error *error)
{
    struct str kind = model_kind(part, json, cut);
    char quoted[READ_QUOTE_BYTES];
    bool bpe = str_equal(kind, STR("BPE"));
    if (!bpe && !str_equal(kind, STR("Unigram")))
        return read_fail(error, STATUS_UNSUPPORTED, "model.type",
                         "%s is not supported; BPE and Unigram are: leave --tokenizer away, and the server counts",
                         read_quote(kind, quoted));
    if (cut->vocabulary == 0)
        return read_fail(error, STATUS_SYNTAX, "model.vocab", "must be there");
    return bpe ? read_bpe(spec, part, json, cut, error) : read_unigram(spec, part, json, cut, error);
}
