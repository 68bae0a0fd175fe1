#include <string.h>

#include "text/tokenizer/steps_internal.h"

struct writer {
    struct buf records, texts;
};

static uint32_t flag(bool set, enum step_flags flag)
{
    return set ? (uint32_t)flag : 0;
}

static uint32_t add_text(struct writer *writer, struct str text)
{
    uint32_t at = (uint32_t)writer->texts.len;
    buf_add(&writer->texts, text);
    return at;
}

static void add_record(struct writer *writer, struct step_record record, struct spec_pattern pattern, struct str text)
{
    record.flags |= flag(pattern.is_regex, STEP_REGEX) | flag(pattern.is_tiktoken, STEP_TIKTOKEN);
    record.pattern = add_text(writer, pattern.text);
    record.pattern_len = (uint32_t)pattern.text.len;
    record.text = add_text(writer, text);
    record.text_len = (uint32_t)text.len;
    buf_add(&writer->records, str_make((const char *)&record, sizeof record));
}

static void add_normalizer(struct writer *writer, const struct normalizer_step *step)
{
    struct step_record record = {.kind = step->kind,
                                 .flags = flag(step->left, STEP_LEFT) | flag(step->right, STEP_RIGHT)};
    add_record(writer, record, step->pattern, step->text);
}

static void add_pre_tokenizer(struct writer *writer, const struct pre_tokenizer_step *step)
{
    struct step_record record = {
        .kind = step->kind,
        .flags = flag(step->invert, STEP_INVERT) | flag(step->add_prefix_space, STEP_PREFIX_SPACE) |
                 flag(step->use_regex, STEP_USE_REGEX) | flag(step->individual, STEP_INDIVIDUAL) |
                 flag(step->split, STEP_SPLIT),
        .behavior = step->behavior,
        .prepend = step->prepend,
    };
    add_record(writer, record, step->pattern, step->text);
}

static void add_decoder(struct writer *writer, const struct decoder_step *step)
{
    struct step_record record = {
        .kind = step->kind, .prepend = step->prepend, .start = step->start, .stop = step->stop};
    add_record(writer, record, step->pattern, step->text);
}

/* The place of a Metaspace that puts its replacement only in front of what begins the text; -1 where there is none. */
static int64_t find_first_scheme(const struct tokenizer_spec *spec)
{
    for (size_t i = 0; i < spec->n_pre_tokenizers; i++)
        if (spec->pre_tokenizers[i].kind == PRE_TOKENIZER_METASPACE &&
            spec->pre_tokenizers[i].prepend == METASPACE_FIRST)
            return (int64_t)i;
    return -1;
}

static bool is_one_character(struct str text)
{
    size_t len = 0;
    if (text.len)
        (void)character_at(text, 0, &len);
    return text.len && len == text.len;
}

/* One character for one always keeps its place; what begins with a space or its replacement gets none in front. */
static bool is_clear_replace(const struct normalizer_step *step, struct str replacement, bool is_cut)
{
    bool one = !step->pattern.is_regex && is_one_character(step->pattern.text);
    bool marked = str_starts_with(step->text, STR(" ")) || str_starts_with(step->text, replacement);
    return (one || marked) && step->text.len && (!is_cut || is_one_character(step->text));
}

/* Whether a piece begins the text is asked of the text before its normalization: where the first character is removed,
 * none does; where it becomes several and is cut between them, each of these does. Such a normalizer's name, or NULL.
 */
static const char *name_unclear_beginning(const struct normalizer_step *step, struct str replacement, bool is_cut)
{
    switch (step->kind) {
    case NORMALIZER_STRIP:
        return step->left ? "Strip on the left" : NULL;
    case NORMALIZER_STRIP_ACCENTS:
        return "StripAccents";
    case NORMALIZER_NMT:
        return "Nmt";
    case NORMALIZER_REPLACE:
        return is_clear_replace(step, replacement, is_cut) ? NULL : "Replace";
    case NORMALIZER_NFC:
    case NORMALIZER_NFD:
    case NORMALIZER_NFKC:
    case NORMALIZER_NFKD:
        return is_cut ? "NFC, NFD, NFKC or NFKD" : NULL;
    case NORMALIZER_LOWERCASE:
        return is_cut ? "Lowercase" : NULL;
    case NORMALIZER_PREPEND:
        return is_cut ? "Prepend" : NULL;
    case NORMALIZER_PRECOMPILED:
        return is_cut ? "Precompiled" : NULL;
    case NORMALIZER_BYTE_LEVEL:
        return is_cut ? "ByteLevel" : NULL;
    }
    return NULL;
}

static enum status check_beginning(const struct tokenizer_spec *spec, struct error *error)
{
    int64_t place = find_first_scheme(spec);
    for (size_t i = 0; place >= 0 && i < spec->n_normalizers; i++) {
        struct str replacement = spec->pre_tokenizers[place].text;
        const char *name = name_unclear_beginning(&spec->normalizers[i], replacement, place > 0);
        if (name)
            return error_set(error, STATUS_UNSUPPORTED,
                             "the normalizer %s with the pre-tokenizer Metaspace's scheme \"first\"%s is not supported",
                             name, place > 0 ? " behind another pre-tokenizer" : "");
    }
    return STATUS_OK;
}

/* A file whose normalizers multiply text without end would take all memory for a short one. */
#define GROWTH_MOST 4096

/* How many times as long a step may make text, at most. */
static size_t growth_of(const struct normalizer_step *step)
{
    size_t longest = 0, length = 0;
    if (step->kind == NORMALIZER_REPLACE)
        return step->pattern.is_regex ? step->text.len + 1 : step->text.len / step->pattern.text.len + 1;
    if (step->kind != NORMALIZER_PRECOMPILED)
        return 1;
    struct charsmap map;
    if (!charsmap_open(&map, step->text))
        return 1; /* refused elsewhere */
    for (size_t i = 0; i < map.replacements.len; i++) {
        length = map.replacements.data[i] ? length + 1 : 0;
        longest = length > longest ? length : longest;
    }
    return longest;
}

static enum status check_growth(const struct tokenizer_spec *spec, struct error *error)
{
    size_t growth = 1;
    for (size_t i = 0; i < spec->n_normalizers; i++) {
        size_t step = growth_of(&spec->normalizers[i]);
        growth *= step > 1 ? step : 1;
        if (step > GROWTH_MOST || growth > GROWTH_MOST)
            return error_set(error, STATUS_UNSUPPORTED,
                             "normalizers that may make text more than %d times as long are not supported",
                             GROWTH_MOST);
    }
    return STATUS_OK;
}

/* An empty pattern matches between all characters in Hugging Face's library. Nobody means that. */
static enum status check_spec(const struct tokenizer_spec *spec, struct error *error)
{
    for (size_t i = 0; i < spec->n_normalizers; i++)
        if (spec->normalizers[i].kind == NORMALIZER_REPLACE && !spec->normalizers[i].pattern.text.len)
            return error_set(error, STATUS_UNSUPPORTED, "the normalizer Replace has an empty pattern");
    for (size_t i = 0; i < spec->n_decoders; i++)
        if (spec->decoders[i].kind == DECODER_REPLACE && !spec->decoders[i].pattern.text.len)
            return error_set(error, STATUS_UNSUPPORTED, "the decoder Replace has an empty pattern");
    for (size_t i = 0; i < spec->n_pre_tokenizers; i++) {
        const struct pre_tokenizer_step *step = &spec->pre_tokenizers[i];
        if (step->kind == PRE_TOKENIZER_SPLIT && !step->pattern.text.len)
            return error_set(error, STATUS_UNSUPPORTED, "the pre-tokenizer Split has an empty pattern");
        if (step->kind == PRE_TOKENIZER_BYTE_LEVEL && i + 1 < spec->n_pre_tokenizers)
            return error_set(error, STATUS_UNSUPPORTED, "a pre-tokenizer after ByteLevel is not supported");
    }
    enum status status = check_growth(spec, error);
    return status == STATUS_OK ? check_beginning(spec, error) : status;
}

static void write_steps(const struct tokenizer_spec *spec, struct buf *out)
{
    struct writer writer;
    buf_init(&writer.records, BUF_UNBOUNDED);
    buf_init(&writer.texts, BUF_UNBOUNDED);
    struct steps_head head = {
        .n_normalizers = (uint32_t)spec->n_normalizers,
        .n_pre_tokenizers = (uint32_t)spec->n_pre_tokenizers,
        .n_decoders = (uint32_t)spec->n_decoders,
        .byte_level = spec->model.byte_level,
    };
    for (size_t i = 0; i < spec->n_normalizers; i++)
        add_normalizer(&writer, &spec->normalizers[i]);
    for (size_t i = 0; i < spec->n_pre_tokenizers; i++)
        add_pre_tokenizer(&writer, &spec->pre_tokenizers[i]);
    for (size_t i = 0; i < spec->n_decoders; i++)
        add_decoder(&writer, &spec->decoders[i]);
    buf_add(out, str_make((const char *)&head, sizeof head));
    buf_add(out, buf_str(&writer.records));
    buf_add(out, buf_str(&writer.texts));
    buf_finish(&writer.records);
    buf_finish(&writer.texts);
}

enum status steps_from_spec(const struct tokenizer_spec *spec, struct steps **out, struct error *error)
{
    struct buf section;
    enum status status = check_spec(spec, error);
    if (status != STATUS_OK)
        return status;
    buf_init(&section, BUF_UNBOUNDED);
    write_steps(spec, &section);
    status = steps_open_section(buf_str(&section), out, error);
    if (status == STATUS_OK)
        (*out)->own = section;
    else
        buf_finish(&section);
    return status;
}

/* Opens what it writes, so that a pattern that cannot be used is found now. */
enum status steps_compile(const struct tokenizer_spec *spec, struct image_writer *image, struct error *error)
{
    struct steps *steps;
    enum status status = steps_from_spec(spec, &steps, error);
    if (status != STATUS_OK)
        return status;
    image_add(image, IMAGE_STEPS, steps->own.data, steps->own.len);
    steps_destroy(steps);
    return STATUS_OK;
}
