/* The steps of a tokenizer.json: normalizers, pre-tokenizers, decoders. Kinds and fields are those of the `tokenizers`
 * library (docs.rs/tokenizers, modules normalizers, pre_tokenizers and decoders). */
#include "text/tokenizer/read_internal.h"

#include <string.h>

#include "core/base64.h"

/* Reads one step that is no sequence. `kind` is its "type". STATUS_NOT_FOUND for a kind that is not here. */
typedef enum status (*read_step_fn)(struct tokenizer_spec *spec, const struct read_part *part, struct str kind,
                                    struct error *error);

struct step_list {
    const char *members; /* what a Sequence calls its steps */
    read_step_fn read;
    const char *remedy;
    size_t count;
};

static enum status read_steps(struct tokenizer_spec *spec, const struct read_part *part, struct step_list *list,
                              int depth, struct error *error)
{
    struct str kind;
    char quoted[READ_QUOTE_BYTES];
    if (!part->value || json_is_null(part->value))
        return STATUS_OK;
    enum status status = read_text(part, "type", &kind, error);
    if (status != STATUS_OK)
        return status;
    if (!str_equal(kind, STR("Sequence"))) {
        if (list->count++ == READ_MAX_STEPS)
            return read_fail(error, STATUS_TOO_BIG, part->place, "more than %d steps", READ_MAX_STEPS);
        status = list->read(spec, part, kind, error);
        if (status == STATUS_NOT_FOUND)
            return read_fail(error, STATUS_UNSUPPORTED, part->place, "%s is not supported; %s",
                             read_quote(kind, quoted), list->remedy);
        return status;
    }
    struct read_part members = read_member(part, list->members);
    if (!json_is_array(members.value))
        return read_fail(error, STATUS_SYNTAX, members.place, "a Sequence must have this list");
    if (depth == READ_MAX_DEPTH)
        return read_fail(error, STATUS_TOO_BIG, part->place, "Sequences in more than %d others", READ_MAX_DEPTH);
    for (size_t i = 0; i < json_array_size(members.value) && status == STATUS_OK; i++) {
        struct read_part item = read_item(&members, i);
        status = json_is_object(item.value) ? read_steps(spec, &item, list, depth + 1, error)
                                            : read_fail(error, STATUS_SYNTAX, item.place, "an object must be here");
    }
    return status;
}

/* ---- what steps share ---- */

static enum status read_pattern(struct tokenizer_spec *spec, const struct read_part *part, struct spec_pattern *out,
                                struct error *error)
{
    struct read_part pattern = read_member(part, "pattern");
    const json_t *text = json_object_get(pattern.value, "String"), *regex = json_object_get(pattern.value, "Regex");
    if (json_object_size(pattern.value) != 1 || (!json_is_string(text) && !json_is_string(regex)))
        return read_fail(error, STATUS_SYNTAX, pattern.place, "must be {\"String\": …} or {\"Regex\": …}");
    *out = (struct spec_pattern){
        .text = tokenizer_spec_text(spec, json_get_str(pattern.value, regex ? "Regex" : "String")),
        .is_regex = regex != NULL,
    };
    return STATUS_OK;
}

static enum status read_owned_text(struct tokenizer_spec *spec, const struct read_part *part, const char *key,
                                   struct str *out, struct error *error)
{
    enum status status = read_text(part, key, out, error);
    if (status == STATUS_OK)
        *out = tokenizer_spec_text(spec, *out);
    return status;
}

static enum status read_owned_character(struct tokenizer_spec *spec, const struct read_part *part, const char *key,
                                        struct str *out, struct error *error)
{
    enum status status = read_character(part, key, out, error);
    if (status == STATUS_OK)
        *out = tokenizer_spec_text(spec, *out);
    return status;
}

static enum status read_behavior(const struct read_part *part, bool needed, enum split_behavior *out,
                                 struct error *error)
{
    static const char *const names[] = {
        [SPLIT_REMOVED] = "Removed",
        [SPLIT_ISOLATED] = "Isolated",
        [SPLIT_MERGED_WITH_PREVIOUS] = "MergedWithPrevious",
        [SPLIT_MERGED_WITH_NEXT] = "MergedWithNext",
        [SPLIT_CONTIGUOUS] = "Contiguous",
    };
    const json_t *value = json_object_get(part->value, "behavior");
    for (size_t i = 0; i < sizeof names / sizeof names[0] && value; i++)
        if (json_is_string(value) && strcmp(json_string_value(value), names[i]) == 0) {
            *out = (enum split_behavior)i;
            return STATUS_OK;
        }
    if (value || needed)
        return read_fail(error, STATUS_SYNTAX, part->place,
                         "\"behavior\" must be Removed, Isolated, MergedWithPrevious, MergedWithNext or Contiguous");
    *out = SPLIT_ISOLATED;
    return STATUS_OK;
}

/* Files of before 2023 say add_prefix_space, which is "always" or "never"; later ones say prepend_scheme. */
static enum status read_prepend(const struct read_part *part, enum metaspace_prepend *out, struct error *error)
{
    static const char *const names[] = {
        [METASPACE_ALWAYS] = "always",
        [METASPACE_NEVER] = "never",
        [METASPACE_FIRST] = "first",
    };
    const json_t *value = json_object_get(part->value, "prepend_scheme");
    *out = json_is_false(json_object_get(part->value, "add_prefix_space")) ? METASPACE_NEVER : METASPACE_ALWAYS;
    if (!value)
        return STATUS_OK;
    bool prefix_refused = *out == METASPACE_NEVER;
    for (size_t i = 0; i < sizeof names / sizeof names[0] && json_is_string(value); i++)
        if (strcmp(json_string_value(value), names[i]) == 0) {
            *out = (enum metaspace_prepend)i;
            if (prefix_refused && *out != METASPACE_NEVER)
                break;
            return STATUS_OK;
        }
    return read_fail(error, STATUS_SYNTAX, part->place,
                     "\"prepend_scheme\" must be always, never or first, and never where add_prefix_space is false");
}

static bool is(struct str kind, const char *name)
{
    return str_equal(kind, str_of(name));
}

/* ---- normalizers ---- */

static enum status read_charsmap(struct tokenizer_spec *spec, const struct read_part *part,
                                 struct normalizer_step *step, struct error *error)
{
    struct str encoded;
    struct buf map;
    enum status status = read_text(part, "precompiled_charsmap", &encoded, error);
    if (status != STATUS_OK)
        return status;
    buf_init(&map, BUF_UNBOUNDED);
    if (base64_decode(&map, encoded) != STATUS_OK || map.len == 0)
        status = read_fail(error, STATUS_SYNTAX, part->place, "\"precompiled_charsmap\" is not a map in base64");
    else
        step->text = tokenizer_spec_text(spec, buf_str(&map));
    buf_finish(&map);
    return status;
}

static const struct {
    const char *name;
    enum normalizer_kind kind;
} normalizer_kinds[] = {
    {"NFC", NORMALIZER_NFC},
    {"NFD", NORMALIZER_NFD},
    {"NFKC", NORMALIZER_NFKC},
    {"NFKD", NORMALIZER_NFKD},
    {"Lowercase", NORMALIZER_LOWERCASE},
    {"Strip", NORMALIZER_STRIP},
    {"StripAccents", NORMALIZER_STRIP_ACCENTS},
    {"Replace", NORMALIZER_REPLACE},
    {"Prepend", NORMALIZER_PREPEND},
    {"Nmt", NORMALIZER_NMT},
    {"Precompiled", NORMALIZER_PRECOMPILED},
    {"ByteLevel", NORMALIZER_BYTE_LEVEL},
};

static enum status read_normalizer(struct tokenizer_spec *spec, const struct read_part *part, struct str kind,
                                   struct error *error)
{
    struct normalizer_step step = {0};
    enum status status = STATUS_OK;
    size_t i = 0, n = sizeof normalizer_kinds / sizeof normalizer_kinds[0];
    while (i < n && !is(kind, normalizer_kinds[i].name))
        i++;
    if (i == n)
        return STATUS_NOT_FOUND;
    step.kind = normalizer_kinds[i].kind;
    if (step.kind == NORMALIZER_STRIP) {
        status = read_bool(part, "strip_left", -1, &step.left, error);
        if (status == STATUS_OK)
            status = read_bool(part, "strip_right", -1, &step.right, error);
    } else if (step.kind == NORMALIZER_REPLACE) {
        status = read_pattern(spec, part, &step.pattern, error);
        if (status == STATUS_OK)
            status = read_owned_text(spec, part, "content", &step.text, error);
    } else if (step.kind == NORMALIZER_PREPEND) {
        status = read_owned_text(spec, part, "prepend", &step.text, error);
    } else if (step.kind == NORMALIZER_PRECOMPILED) {
        status = read_charsmap(spec, part, &step, error);
    }
    if (status == STATUS_OK)
        tokenizer_spec_add_normalizer(spec, step);
    return status;
}

enum status read_normalizers(struct tokenizer_spec *spec, const struct read_part *part, struct error *error)
{
    struct step_list list = {"normalizers", read_normalizer,
                             "such a tokenizer's tokens can only be counted by its server, without --tokenizer", 0};
    return read_steps(spec, part, &list, 0, error);
}

/* ---- pre-tokenizers ---- */

static const struct {
    const char *name;
    enum pre_tokenizer_kind kind;
} pre_tokenizer_kinds[] = {
    {"Split", PRE_TOKENIZER_SPLIT},
    {"ByteLevel", PRE_TOKENIZER_BYTE_LEVEL},
    {"Metaspace", PRE_TOKENIZER_METASPACE},
    {"Digits", PRE_TOKENIZER_DIGITS},
    {"Punctuation", PRE_TOKENIZER_PUNCTUATION},
    {"Whitespace", PRE_TOKENIZER_WHITESPACE},
    {"WhitespaceSplit", PRE_TOKENIZER_WHITESPACE_SPLIT},
    {"CharDelimiterSplit", PRE_TOKENIZER_DELIMITER},
};

static enum status read_pre_tokenizer_fields(struct tokenizer_spec *spec, const struct read_part *part,
                                             struct pre_tokenizer_step *step, struct error *error)
{
    enum status status = STATUS_OK;
    switch (step->kind) {
    case PRE_TOKENIZER_SPLIT:
        status = read_pattern(spec, part, &step->pattern, error);
        if (status == STATUS_OK)
            status = read_behavior(part, true, &step->behavior, error);
        return status == STATUS_OK ? read_bool(part, "invert", -1, &step->invert, error) : status;
    case PRE_TOKENIZER_BYTE_LEVEL: /* trim_offsets is about places in the text alone */
        status = read_bool(part, "add_prefix_space", -1, &step->add_prefix_space, error);
        return status == STATUS_OK ? read_bool(part, "use_regex", 1, &step->use_regex, error) : status;
    case PRE_TOKENIZER_METASPACE:
        status = read_owned_character(spec, part, "replacement", &step->text, error);
        if (status == STATUS_OK)
            status = read_prepend(part, &step->prepend, error);
        return status == STATUS_OK ? read_bool(part, "split", 1, &step->split, error) : status;
    case PRE_TOKENIZER_DIGITS:
        return read_bool(part, "individual_digits", -1, &step->individual, error);
    case PRE_TOKENIZER_PUNCTUATION:
        return read_behavior(part, false, &step->behavior, error);
    case PRE_TOKENIZER_DELIMITER:
        return read_owned_character(spec, part, "delimiter", &step->text, error);
    case PRE_TOKENIZER_WHITESPACE:
    case PRE_TOKENIZER_WHITESPACE_SPLIT:
        break;
    }
    return status;
}

static enum status read_pre_tokenizer(struct tokenizer_spec *spec, const struct read_part *part, struct str kind,
                                      struct error *error)
{
    struct pre_tokenizer_step step = {0};
    size_t i = 0, n = sizeof pre_tokenizer_kinds / sizeof pre_tokenizer_kinds[0];
    while (i < n && !is(kind, pre_tokenizer_kinds[i].name))
        i++;
    if (i == n)
        return STATUS_NOT_FOUND;
    step.kind = pre_tokenizer_kinds[i].kind;
    /* Behind ByteLevel the library's text is stand-ins for bytes, and what splits by characters would see those. */
    if (spec->n_pre_tokenizers && spec->pre_tokenizers[spec->n_pre_tokenizers - 1].kind == PRE_TOKENIZER_BYTE_LEVEL)
        return read_fail(error, STATUS_UNSUPPORTED, part->place,
                         "a pre-tokenizer behind ByteLevel is not supported; only one that ends with it is");
    enum status status = read_pre_tokenizer_fields(spec, part, &step, error);
    if (status == STATUS_OK)
        tokenizer_spec_add_pre_tokenizer(spec, step);
    return status;
}

enum status read_pre_tokenizers(struct tokenizer_spec *spec, const struct read_part *part, struct error *error)
{
    struct step_list list = {"pretokenizers", read_pre_tokenizer,
                             "such a tokenizer's tokens can only be counted by its server, without --tokenizer", 0};
    enum status status = read_steps(spec, part, &list, 0, error);
    size_t n = spec->n_pre_tokenizers;
    spec->model.byte_level = n && spec->pre_tokenizers[n - 1].kind == PRE_TOKENIZER_BYTE_LEVEL;
    return status;
}

/* ---- decoders ---- */

static enum status read_decoder(struct tokenizer_spec *spec, const struct read_part *part, struct str kind,
                                struct error *error)
{
    struct decoder_step step = {0};
    enum status status = STATUS_OK;
    if (is(kind, "ByteLevel")) {
        step.kind = DECODER_BYTE_LEVEL;
    } else if (is(kind, "ByteFallback")) {
        step.kind = DECODER_BYTE_FALLBACK;
    } else if (is(kind, "Fuse")) {
        step.kind = DECODER_FUSE;
    } else if (is(kind, "Replace")) {
        step.kind = DECODER_REPLACE;
        status = read_pattern(spec, part, &step.pattern, error);
        if (status == STATUS_OK)
            status = read_owned_text(spec, part, "content", &step.text, error);
    } else if (is(kind, "Strip")) {
        step.kind = DECODER_STRIP;
        status = read_owned_character(spec, part, "content", &step.text, error);
        if (status == STATUS_OK)
            status = read_count(part, "start", &step.start, error);
        if (status == STATUS_OK)
            status = read_count(part, "stop", &step.stop, error);
    } else if (is(kind, "Metaspace")) {
        step.kind = DECODER_METASPACE;
        status = read_owned_character(spec, part, "replacement", &step.text, error);
        if (status == STATUS_OK)
            status = read_prepend(part, &step.prepend, error);
    } else {
        return STATUS_NOT_FOUND;
    }
    if (status == STATUS_OK)
        tokenizer_spec_add_decoder(spec, step);
    return status;
}

enum status read_decoders(struct tokenizer_spec *spec, const struct read_part *part, struct error *error)
{
    struct step_list list = {"decoders", read_decoder, "its tokens could be counted, but not be read back", 0};
    enum status status = read_steps(spec, part, &list, 0, error);
    bool plain = spec->n_decoders == 1 && spec->decoders[0].kind == DECODER_BYTE_LEVEL;
    if (status == STATUS_OK && spec->model.byte_level && !plain)
        return read_fail(error, STATUS_UNSUPPORTED, part->place,
                         "the pre-tokenizer is ByteLevel, so the decoder must be ByteLevel and nothing else");
    return status;
}
