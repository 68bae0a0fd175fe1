/* tokenizer.json as a whole.
 *
 * Two of its members are passed over: "truncation" and "padding" say how a batch of texts is brought to one length for
 * training, and a count is that of the text as it is. */
#include "text/tokenizer/read_internal.h"

/* Of Gemma 3's 33 MB, the largest part of which is vocabulary and merges, one is left; a large charsmap is half one. */
#define MAX_REST_BYTES ((size_t)64 << 20)

enum status read_added_token(const struct read_part *part, bool strict, struct added_token *out, struct error *error)
{
    struct added_token token = {0};
    enum status status = read_text(part, "content", &token.content, error);
    int without = strict ? -1 : 0;
    if (status == STATUS_OK)
        status = read_bool(part, "special", without, &token.special, error);
    if (status == STATUS_OK)
        status = read_bool(part, "single_word", without, &token.single_word, error);
    if (status == STATUS_OK)
        status = read_bool(part, "lstrip", without, &token.lstrip, error);
    if (status == STATUS_OK)
        status = read_bool(part, "rstrip", without, &token.rstrip, error);
    if (status == STATUS_OK)
        status = read_bool(part, "normalized", strict ? -1 : !token.special, &token.normalized, error);
    if (status == STATUS_OK)
        *out = token;
    return status;
}

static enum status read_added(struct tokenizer_spec *spec, const struct read_part *part, struct error *error)
{
    enum status status = STATUS_OK;
    if (part->value && !json_is_array(part->value))
        return read_fail(error, STATUS_SYNTAX, part->place, "must be a list");
    for (size_t i = 0; i < json_array_size(part->value) && status == STATUS_OK; i++) {
        struct read_part item = read_item(part, i);
        struct read_part id = read_member(&item, "id");
        struct added_token token;
        status = read_id(id.value, id.place, &token.id, error);
        if (status == STATUS_OK)
            status = read_added_token(&item, true, &token, error);
        if (status == STATUS_OK)
            status = tokenizer_spec_add_token(spec, token, error);
    }
    return status;
}

static enum status read_version(const struct read_part *part, struct error *error)
{
    char quoted[READ_QUOTE_BYTES];
    struct str version = str_make(json_string_value(part->value), json_string_length(part->value));
    if (!part->value || str_equal(version, STR("1.0")))
        return STATUS_OK;
    return read_fail(error, STATUS_UNSUPPORTED, part->place, "\"%s\" is not known; 1.0 is",
                     read_quote(version, quoted));
}

static enum status read_whole(struct tokenizer_spec *spec, const json_t *value, struct str json,
                              const struct read_cut *cut, struct error *error)
{
    struct read_part whole = {.value = value};
    struct read_part version = read_member(&whole, "version"), normalizer = read_member(&whole, "normalizer");
    struct read_part pre_tokenizer = read_member(&whole, "pre_tokenizer"), decoder = read_member(&whole, "decoder");
    struct read_part model = read_member(&whole, "model"), added = read_member(&whole, "added_tokens");
    struct read_part post_processor = read_member(&whole, "post_processor");
    if (json_is_array(json_object_get(value, "vocab")) && json_object_get(value, "config"))
        return read_fail(error, STATUS_UNSUPPORTED, NULL,
                         "a tekken.json is not supported; use the model's tokenizer.json");
    if (!json_is_object(model.value))
        return read_fail(error, STATUS_UNSUPPORTED, NULL,
                         "not a tokenizer.json: there is no \"model\" in it; use the model's tokenizer.json");
    enum status status = read_version(&version, error);
    if (status == STATUS_OK)
        status = read_normalizers(spec, &normalizer, error);
    if (status == STATUS_OK)
        status = read_pre_tokenizers(spec, &pre_tokenizer, error);
    if (status == STATUS_OK)
        status = read_decoders(spec, &decoder, error);
    if (status == STATUS_OK)
        status = read_post_processor(spec, &post_processor, error);
    if (status == STATUS_OK)
        status = read_model(spec, &model, json, cut, error);
    return status == STATUS_OK ? read_added(spec, &added, error) : status;
}

/* What is left without vocabulary and merges. Where it is broken, it is parsed once more with places as in the file. */
static enum status parse_rest(struct str json, struct read_cut *cut, json_t **value, struct error *error)
{
    read_cut_model(json, cut);
    if (cut->rest.len > MAX_REST_BYTES)
        return error_set(error, STATUS_TOO_BIG, "more than %zu MiB beside the vocabulary and the merges",
                         MAX_REST_BYTES >> 20);
    enum status status = read_check_size(buf_str(&cut->rest), error);
    if (status != STATUS_OK || json_parse(buf_str(&cut->rest), value, NULL) == STATUS_OK)
        return status;
    cut->keep_places = true;
    read_cut_model(json, cut);
    return json_parse(buf_str(&cut->rest), value, error);
}

enum status tokenizer_read_json(struct tokenizer_spec *spec, struct str json, struct error *error)
{
    struct read_cut cut = {0};
    json_t *value = NULL;
    if (json.len > READ_MAX_FILE_BYTES)
        return error_set(error, STATUS_TOO_BIG, "larger than the %zu MiB allowed here", READ_MAX_FILE_BYTES >> 20);
    buf_init(&cut.rest, BUF_UNBOUNDED);
    enum status status = parse_rest(json, &cut, &value, error);
    if (status == STATUS_OK)
        status = read_whole(spec, value, json, &cut, error);
    json_decref(value);
    buf_finish(&cut.rest);
    return status;
}
