/* tokenizer_config.json, beside a tokenizer.json. What it changes is what transformers (5.23, TokenizersBackend, and
 * its PreTrainedTokenizerFast before) makes of both files:
 *
 * - The tokens of "added_tokens_decoder", by their ids, are added where tokenizer.json has not got them with the same
 *   marks; their ids come out as they come out (tokenizer_spec_add_token), not as the file says.
 * - Then the tokens that have a role (bos_token and so on) and those in additional_special_tokens or
 *   extra_special_tokens are added as special ones. Those that were added before keep their marks when they are
 *   written as plain strings, since "added" means "not there yet".
 * - add_bos_token and add_eos_token do nothing: where there is a tokenizer.json, its post-processor says what stands
 *   around a text. (Before version 5 some classes, LlamaTokenizerFast among them, went by these.)
 * - add_prefix_space changes a pre-tokenizer that is ByteLevel and nothing else, as the classes of GPT-2's kind do.
 * - split_special_tokens makes text of special tokens: refused.
 * - "legacy", "use_fast", "clean_up_tokenization_spaces", "sp_model_kwargs" and the like are about slow tokenizers,
 *   about conversion, or about text on its way back; tokenizer.json holds the outcome. "model_max_length" and
 *   "padding_side" do not change a count.
 * - The class ("tokenizer_class") is not looked at: some versions of transformers build another pipeline than that of
 *   tokenizer.json for some classes, and servers go by tokenizer.json.
 *
 * The chat template is a string, or a list of {"name", "template"}, of which "default" is taken. */
#include "text/tokenizer/read_internal.h"

#include <stdlib.h>

#include "core/mem.h"
#include "text/tokenizer/text_map.h"

/* A role's token is a string or an AddedToken. */
static struct str role_content(const json_t *value)
{
    if (json_is_string(value))
        return str_make(json_string_value(value), json_string_length(value));
    return json_get_str(value, "content");
}

/* ---- added_tokens_decoder ---- */

struct decoder_entry {
    int64_t id;
    const char *key;
};

static int compare_entries(const void *a, const void *b)
{
    const struct decoder_entry *x = a, *y = b;
    return x->id < y->id ? -1 : x->id > y->id;
}

static enum status read_decoder_entry(struct tokenizer_spec *spec, const struct read_part *part, const char *key,
                                      struct error *error)
{
    struct read_part entry = read_member(part, key);
    struct added_token token = {0};
    enum status status = read_added_token(&entry, false, &token, error);
    return status == STATUS_OK ? tokenizer_spec_add_token(spec, token, error) : status;
}

static enum status read_decoder_tokens(struct tokenizer_spec *spec, const struct read_part *part, struct error *error)
{
    size_t count = json_object_size(part->value), i = 0;
    enum status status = STATUS_OK;
    const char *key;
    json_t *value;
    if (count > SPEC_MAX_ADDED)
        return read_fail(error, STATUS_TOO_BIG, part->place, "more than %u tokens", SPEC_MAX_ADDED);
    struct decoder_entry *entries = mem_calloc(count, sizeof *entries);
    json_object_foreach ((json_t *)(uintptr_t)part->value, key, value) {
        entries[i].key = key;
        if (!str_to_int64(str_of(key), &entries[i].id) || entries[i].id < 0 || entries[i].id >= SPEC_MAX_ID) {
            char quoted[READ_QUOTE_BYTES];
            status =
                read_fail(error, STATUS_SYNTAX, part->place, "\"%s\" is not an id", read_quote(str_of(key), quoted));
            break;
        }
        i++;
    }
    if (status == STATUS_OK)
        qsort(entries, count, sizeof *entries, compare_entries);
    for (i = 0; i < count && status == STATUS_OK; i++)
        status = read_decoder_entry(spec, part, entries[i].key, error);
    free(entries);
    return status;
}

/* ---- special tokens by role ---- */

static enum status add_role(struct tokenizer_spec *spec, const json_t *value, const char *place, struct error *error)
{
    struct str content = role_content(value);
    struct read_part part = {.value = value};
    struct added_token token = {.content = content, .special = true};
    bool plain = json_is_string(value);
    if (content.len == 0 || (plain && text_map_find(spec->added_at, content) >= 0))
        return STATUS_OK;
    if (!plain) {
        enum status status = read_added_token(&part, false, &token, error);
        if (status != STATUS_OK)
            return read_fail(error, status, place, "not a token");
        token.special = true;
    }
    return tokenizer_spec_add_token(spec, token, error);
}

static enum status add_roles(struct tokenizer_spec *spec, const struct read_part *whole, struct error *error)
{
    static const char *const roles[] = {"bos_token", "eos_token", "unk_token", "sep_token",
                                        "pad_token", "cls_token", "mask_token"};
    static const char *const lists[] = {"additional_special_tokens", "extra_special_tokens"};
    enum status status = STATUS_OK;
    for (size_t i = 0; i < sizeof roles / sizeof roles[0] && status == STATUS_OK; i++)
        status = add_role(spec, json_object_get(whole->value, roles[i]), roles[i], error);
    for (size_t i = 0; i < sizeof lists / sizeof lists[0] && status == STATUS_OK; i++) {
        const json_t *list = json_object_get(whole->value, lists[i]);
        const char *key;
        json_t *value;
        for (size_t k = 0; k < json_array_size(list) && status == STATUS_OK; k++)
            status = add_role(spec, json_array_get(list, k), lists[i], error);
        json_object_foreach ((json_t *)(uintptr_t)list, key, value) {
            if (status == STATUS_OK)
                status = add_role(spec, value, lists[i], error);
        }
    }
    return status;
}

/* ---- the rest ---- */

static void read_prefix_space(struct tokenizer_spec *spec, const struct read_part *whole)
{
    const json_t *value = json_object_get(whole->value, "add_prefix_space");
    if (json_is_boolean(value) && spec->n_pre_tokenizers == 1 &&
        spec->pre_tokenizers[0].kind == PRE_TOKENIZER_BYTE_LEVEL)
        spec->pre_tokenizers[0].add_prefix_space = json_is_true(value);
}

static void read_chat_template(struct tokenizer_spec *spec, const struct read_part *whole)
{
    const json_t *value = json_object_get(whole->value, "chat_template");
    if (json_is_string(value))
        spec->chat_template = tokenizer_spec_text(spec, json_get_str(whole->value, "chat_template"));
    for (size_t i = 0; i < json_array_size(value); i++) {
        const json_t *named = json_array_get(value, i);
        if (str_equal(json_get_str(named, "name"), STR("default")))
            spec->chat_template = tokenizer_spec_text(spec, json_get_str(named, "template"));
    }
}

static enum status apply(struct tokenizer_spec *spec, const struct read_part *whole, struct error *error)
{
    struct read_part tokens = read_member(whole, "added_tokens_decoder");
    if (!json_is_object(whole->value))
        return read_fail(error, STATUS_SYNTAX, NULL, "must be an object");
    read_chat_template(spec, whole);
    if (!spec->vocabulary)
        return STATUS_OK;
    if (json_is_true(json_object_get(whole->value, "split_special_tokens")))
        return read_fail(error, STATUS_UNSUPPORTED, "split_special_tokens",
                         "true is not supported; take it out, and special tokens are read as such");
    read_prefix_space(spec, whole);
    enum status status = read_decoder_tokens(spec, &tokens, error);
    return status == STATUS_OK ? add_roles(spec, whole, error) : status;
}

enum status tokenizer_read_config(struct tokenizer_spec *spec, struct str json, struct error *error)
{
    json_t *value = NULL;
    enum status status = read_check_size(json, error);
    if (status == STATUS_OK)
        status = json_parse(json, &value, error);
    if (status == STATUS_OK) {
        struct read_part whole = {.value = value};
        status = apply(spec, &whole, error);
    }
    json_decref(value);
    return status;
}
