/* From the bytes of a tokenizer's files to its image. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "text/tokenizer/added.h"
#include "text/tokenizer/bpe.h"
#include "text/tokenizer/image.h"
#include "text/tokenizer/read_internal.h"
#include "text/tokenizer/spec.h"
#include "text/tokenizer/steps.h"
#include "text/tokenizer/tokenizer_internal.h"
#include "text/tokenizer/unigram.h"

/* ---- reading ---- */

/* Says which file it was about, and leaves line and column. */
static enum status in_file(struct error *error, enum status status, struct str name)
{
    char place[sizeof error->place];
    snprintf(place, sizeof place, "%.*s", STR_ARG(str_slice(name, 0, sizeof place - 1)));
    if (status != STATUS_OK && error)
        error_at(error, place, error->line, error->column);
    return status;
}

/* SentencePiece's model is a protobuf whose first field, a message, is its list of pieces: a tag and a length, and
 * then the pieces' scores, which are no text. */
static bool is_sentencepiece(struct str main)
{
    return main.len > 2 && main.data[0] == '\n' && memchr(main.data, '\0', main.len < 4096 ? main.len : 4096);
}

static enum status read_main(struct tokenizer_spec *spec, const struct tokenizer_source *source, struct error *error)
{
    struct str main = source->main, trimmed = str_trim_start(main);
    if (trimmed.len == 0)
        return error_set(error, STATUS_SYNTAX, "empty");
    if (trimmed.data[0] == '{')
        return tokenizer_read_json(spec, main, error);
    if (is_sentencepiece(main))
        return error_set(error, STATUS_UNSUPPORTED,
                         "a SentencePiece model is not supported; use the tokenizer.json of the same model");
    if (!ascii_is_alnum(main.data[0]) && main.data[0] != '+' && main.data[0] != '/')
        return error_set(error, STATUS_UNSUPPORTED,
                         "neither a tokenizer.json nor a .tiktoken file: use one of those of the model");
    return tokenizer_read_tiktoken(spec, source->name, main, error);
}

static enum status read_source(struct tokenizer_spec *spec, const struct tokenizer_source *source, struct error *error)
{
    enum status status = in_file(error, read_main(spec, source, error), source->name);
    if (status == STATUS_OK && source->config.len)
        status = in_file(error, tokenizer_read_config(spec, source->config, error), STR("tokenizer_config.json"));
    if (status == STATUS_OK && source->chat_template.len)
        spec->chat_template = tokenizer_spec_text(spec, source->chat_template);
    return status;
}

void tokenizer_source_hash(const struct tokenizer_source *source, char hex[HASH_HEX_SIZE])
{
    struct hash *hash = hash_begin();
    hash_add_field(hash, source->name); /* tells rank files apart */
    hash_add_field(hash, source->main);
    hash_add_field(hash, source->config);
    hash_add_field(hash, source->chat_template);
    hash_end(hash, hex);
}

/* ---- token texts ---- */

/* What each id is decoded to. */
struct token_texts {
    struct str *texts;
    bool *taken;
    uint32_t count;
};

static void raise_count(struct token_texts *texts, const struct spec_token *tokens, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (tokens[i].id >= texts->count)
            texts->count = tokens[i].id + 1;
}

static void put(struct token_texts *texts, uint32_t id, struct str text)
{
    texts->texts[id] = text;
    texts->taken[id] = true;
}

/* A token that is looked for in normalized text is decoded to its own text normalized. */
static struct str added_content(struct tokenizer_spec *spec, const struct steps *steps, const struct added_token *token,
                                struct buf *scratch)
{
    if (!token->normalized || !steps)
        return token->content;
    return tokenizer_spec_text(spec, steps_normalize(steps, token->content, scratch));
}

static void collect(struct token_texts *texts, struct tokenizer_spec *spec)
{
    const struct model_spec *model = &spec->model;
    struct steps *steps;
    struct buf scratch;
    if (steps_from_spec(spec, &steps, NULL) != STATUS_OK)
        steps = NULL; /* steps_compile says what is wrong */
    buf_init(&scratch, BUF_UNBOUNDED);
    raise_count(texts, model->tokens, model->n_tokens);
    raise_count(texts, model->unreached, model->n_unreached);
    for (size_t i = 0; i < spec->n_added; i++)
        if (spec->added[i].id >= texts->count)
            texts->count = spec->added[i].id + 1;
    texts->texts = mem_calloc(texts->count, sizeof *texts->texts);
    texts->taken = mem_calloc(texts->count, sizeof *texts->taken);
    for (size_t i = 0; i < model->n_tokens; i++)
        put(texts, model->tokens[i].id, model->tokens[i].text);
    for (size_t i = 0; i < model->n_unreached; i++)
        put(texts, model->unreached[i].id, model->unreached[i].text);
    for (size_t i = 0; i < spec->n_added; i++) {
        struct str content = added_content(spec, steps, &spec->added[i], &scratch);
        char *bytes = mem_alloc(content.len);
        size_t length = model->byte_level ? read_stand_ins(content, bytes) : SIZE_MAX;
        put(texts, spec->added[i].id,
            length == SIZE_MAX ? content : tokenizer_spec_text(spec, str_make(bytes, length)));
        free(bytes);
    }
    buf_finish(&scratch);
    steps_destroy(steps);
}

/* Those that the model's sections do not hold. */
static enum status write_apart(const struct token_texts *texts, uint32_t *places, struct image_writer *image,
                               struct error *error)
{
    struct buf apart;
    buf_init(&apart, TOKENIZER_APART - 1);
    for (uint32_t id = 0; id < texts->count; id++) {
        if (places[id] != TOKENIZER_APART)
            continue;
        uint32_t length = (uint32_t)texts->texts[id].len;
        places[id] |= (uint32_t)apart.len;
        if (buf_append(&apart, &length, sizeof length) != STATUS_OK ||
            buf_append_str(&apart, texts->texts[id]) != STATUS_OK) {
            buf_finish(&apart);
            return error_set(error, STATUS_TOO_BIG, "the tokens' texts are too long");
        }
    }
    image_add(image, IMAGE_TOKEN_TEXT, apart.data, apart.len);
    buf_finish(&apart);
    return STATUS_OK;
}

/* Once the model is written. */
static enum status write_texts(struct tokenizer_spec *spec, struct image_writer *image, uint32_t *count,
                               struct error *error)
{
    struct token_texts texts = {0};
    collect(&texts, spec);
    uint32_t *places = mem_calloc(texts.count, sizeof *places);
    for (uint32_t id = 0; id < texts.count; id++)
        places[id] = texts.taken[id] ? TOKENIZER_APART : TOKENIZER_NO_TOKEN;
    if (spec->model.kind == MODEL_BPE)
        bpe_find_places(image, texts.texts, texts.count, places);
    enum status status = write_apart(&texts, places, image, error);
    if (status == STATUS_OK) {
        image_add(image, IMAGE_TOKEN_PLACES, places, texts.count * sizeof *places);
        *count = texts.count;
    }
    free(places);
    free(texts.texts);
    free(texts.taken);
    return status;
}

/* ---- the image ---- */

static void write_about(const struct tokenizer_spec *spec, uint32_t vocabulary, struct image_writer *image)
{
    struct tokenizer_about about;
    memset(&about, 0, sizeof about);
    about.model = spec->model.kind;
    about.byte_level = spec->model.byte_level;
    about.vocabulary = vocabulary;
    about.n_before = (uint32_t)spec->before.count;
    about.n_after = (uint32_t)spec->after.count;
    for (size_t i = 0; i < spec->before.count; i++)
        about.frame[i] = spec->before.ids[i];
    for (size_t i = 0; i < spec->after.count; i++)
        about.frame[spec->before.count + i] = spec->after.ids[i];
    image_add(image, IMAGE_ABOUT, &about, sizeof about);
}

static enum status write_image(struct tokenizer_spec *spec, struct image_writer *image, struct error *error)
{
    uint32_t vocabulary = 0;
    enum status status = steps_compile(spec, image, error); /* patterns fail soonest */
    if (status == STATUS_OK)
        status = added_tokens_compile(spec, image, error);
    if (status == STATUS_OK)
        status = spec->model.kind == MODEL_BPE ? bpe_compile(&spec->model, image, error)
                                               : unigram_compile(&spec->model, image, error);
    if (status == STATUS_OK)
        status = write_texts(spec, image, &vocabulary, error);
    if (status != STATUS_OK)
        return status;
    write_about(spec, vocabulary, image);
    if (spec->chat_template.len)
        image_add(image, IMAGE_CHAT_TEMPLATE, spec->chat_template.data, spec->chat_template.len);
    return STATUS_OK;
}

enum status tokenizer_compile(const struct tokenizer_source *source, struct buf *image, struct error *error)
{
    struct tokenizer_spec spec;
    struct image_writer writer;
    char hash[HASH_HEX_SIZE];
    size_t start = image->len;
    tokenizer_spec_init(&spec);
    enum status status = read_source(&spec, source, error);
    if (status == STATUS_OK) {
        tokenizer_source_hash(source, hash);
        image_begin(&writer, image, hash);
        status = in_file(error, write_image(&spec, &writer, error), source->name);
        if (status == STATUS_OK)
            image_end(&writer);
        else
            buf_truncate(image, start);
    }
    tokenizer_spec_finish(&spec);
    return status;
}
