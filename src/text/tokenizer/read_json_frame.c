/* The post-processor of a tokenizer.json: which ids it puts around one text. */
#include "text/tokenizer/read_internal.h"

#include "core/mem.h"
#include "text/tokenizer/tokenizer_internal.h"

static enum status add_frame(struct token_ids *ids, const json_t *value, const char *place, struct error *error)
{
    uint32_t id = 0;
    enum status status = read_id(value, place, &id, error);
    if (status != STATUS_OK)
        return status;
    if (ids->count == TOKENIZER_FRAME_MAX)
        return read_fail(error, STATUS_TOO_BIG, place, "more than %d tokens around a text", TOKENIZER_FRAME_MAX);
    ids->ids = mem_grow(ids->ids, ids->count, &ids->capacity, sizeof ids->ids[0]);
    ids->ids[ids->count++] = id;
    return STATUS_OK;
}

/* "single" is what is done with one text: special tokens by name, and the text, A. "pair" is for two. */
static enum status read_template(struct tokenizer_spec *spec, const struct read_part *part, struct error *error)
{
    struct read_part single = read_member(part, "single"), special = read_member(part, "special_tokens");
    size_t texts = 0;
    for (size_t i = 0; i < json_array_size(single.value); i++) {
        struct read_part item = read_item(&single, i);
        const json_t *sequence = json_object_get(item.value, "Sequence");
        const json_t *token = json_object_get(item.value, "SpecialToken");
        const char *name = json_get_string(token, "id");
        if (sequence && json_get_string(sequence, "id") && str_equal(json_get_str(sequence, "id"), STR("A"))) {
            texts++;
            continue;
        }
        struct read_part entry = read_member(&special, name ? name : "");
        struct read_part ids = read_member(&entry, "ids");
        if (!name || !json_is_array(ids.value))
            return read_fail(error, STATUS_SYNTAX, item.place, "neither the sequence A nor one of special_tokens");
        for (size_t k = 0; k < json_array_size(ids.value); k++) {
            enum status status =
                add_frame(texts ? &spec->after : &spec->before, json_array_get(ids.value, k), ids.place, error);
            if (status != STATUS_OK)
                return status;
        }
    }
    if (texts != 1)
        return read_fail(error, STATUS_UNSUPPORTED, single.place, "the sequence A must be in it once");
    return STATUS_OK;
}

/* BertProcessing and RobertaProcessing: "cls" before a text, "sep" after it, both as [token, id]. */
static enum status read_pair_of_tokens(struct tokenizer_spec *spec, const struct read_part *part, struct error *error)
{
    struct read_part cls = read_member(part, "cls"), sep = read_member(part, "sep");
    enum status status = add_frame(&spec->before, json_array_get(cls.value, 1), cls.place, error);
    return status == STATUS_OK ? add_frame(&spec->after, json_array_get(sep.value, 1), sep.place, error) : status;
}

static enum status read_processor(struct tokenizer_spec *spec, const struct read_part *part, int depth,
                                  struct error *error)
{
    struct str kind;
    char quoted[READ_QUOTE_BYTES];
    enum status status = read_text(part, "type", &kind, error);
    if (status != STATUS_OK)
        return status;
    if (str_equal(kind, STR("ByteLevel"))) /* about places in the text alone */
        return STATUS_OK;
    if (str_equal(kind, STR("Sequence"))) {
        struct read_part members = read_member(part, "processors");
        if (!json_is_array(members.value) || depth == READ_MAX_DEPTH)
            return read_fail(error, STATUS_SYNTAX, members.place, "not a list, or nested too deeply");
        for (size_t i = 0; i < json_array_size(members.value) && status == STATUS_OK; i++) {
            struct read_part item = read_item(&members, i);
            status = read_processor(spec, &item, depth + 1, error);
        }
        return status;
    }
    if (spec->before.count || spec->after.count)
        return read_fail(error, STATUS_UNSUPPORTED, part->place,
                         "a second post-processor that puts tokens around a text is not supported");
    if (str_equal(kind, STR("TemplateProcessing")))
        return read_template(spec, part, error);
    if (str_equal(kind, STR("BertProcessing")) || str_equal(kind, STR("RobertaProcessing")))
        return read_pair_of_tokens(spec, part, error);
    return read_fail(error, STATUS_UNSUPPORTED, part->place,
                     "%s is not supported; text can be counted after this "
                     "post-processor is set to null, without the tokens that it puts around a text",
                     read_quote(kind, quoted));
}

enum status read_post_processor(struct tokenizer_spec *spec, const struct read_part *part, struct error *error)
{
    bool present = part->value && !json_is_null(part->value);
    return present ? read_processor(spec, part, 0, error) : STATUS_OK;
}
