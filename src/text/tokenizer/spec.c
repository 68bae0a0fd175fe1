#include "text/tokenizer/spec.h"

#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "text/tokenizer/read_internal.h"
#include "text/tokenizer/text_map.h"

#define BLOCK_BYTES ((size_t)256 * 1024)

/* Texts lie behind one another in blocks; none is freed alone. */
struct text_block {
    struct text_block *next;
    size_t used, size;
    char bytes[];
};

struct text_pool {
    struct text_block *blocks; /* the one in use first */
};

void tokenizer_spec_init(struct tokenizer_spec *spec)
{
    memset(spec, 0, sizeof *spec);
    spec->model.unknown = -1;
    spec->texts = mem_zalloc(sizeof *spec->texts);
    spec->added_at = text_map_create();
    token_ids_init(&spec->before);
    token_ids_init(&spec->after);
}

void tokenizer_spec_finish(struct tokenizer_spec *spec)
{
    while (spec->texts && spec->texts->blocks) {
        struct text_block *block = spec->texts->blocks;
        spec->texts->blocks = block->next;
        free(block);
    }
    free(spec->texts);
    free(spec->normalizers);
    free(spec->pre_tokenizers);
    free(spec->decoders);
    free(spec->model.tokens);
    free(spec->model.unreached);
    free(spec->model.merges);
    free(spec->added);
    token_ids_finish(&spec->before);
    token_ids_finish(&spec->after);
    text_map_destroy(spec->vocabulary);
    text_map_destroy(spec->unreached);
    text_map_destroy(spec->added_at);
    memset(spec, 0, sizeof *spec);
}

struct str tokenizer_spec_text(struct tokenizer_spec *spec, struct str text)
{
    struct text_block *block = spec->texts->blocks;
    if (text.len == 0)
        return STR("");
    if (!block || block->size - block->used < text.len) {
        size_t size = text.len > BLOCK_BYTES ? text.len : BLOCK_BYTES;
        block = mem_alloc(sizeof *block + size);
        *block = (struct text_block){.next = spec->texts->blocks, .size = size};
        spec->texts->blocks = block;
    }
    char *at = block->bytes + block->used;
    memcpy(at, text.data, text.len);
    block->used += text.len;
    return str_make(at, text.len);
}

void tokenizer_spec_add_normalizer(struct tokenizer_spec *spec, struct normalizer_step step)
{
    spec->normalizers = mem_grow(spec->normalizers, spec->n_normalizers, &spec->normalizers_capacity, sizeof step);
    spec->normalizers[spec->n_normalizers++] = step;
}

void tokenizer_spec_add_pre_tokenizer(struct tokenizer_spec *spec, struct pre_tokenizer_step step)
{
    spec->pre_tokenizers =
        mem_grow(spec->pre_tokenizers, spec->n_pre_tokenizers, &spec->pre_tokenizers_capacity, sizeof step);
    spec->pre_tokenizers[spec->n_pre_tokenizers++] = step;
}

void tokenizer_spec_add_decoder(struct tokenizer_spec *spec, struct decoder_step step)
{
    spec->decoders = mem_grow(spec->decoders, spec->n_decoders, &spec->decoders_capacity, sizeof step);
    spec->decoders[spec->n_decoders++] = step;
}

void tokenizer_spec_add_model_token(struct tokenizer_spec *spec, struct spec_token token)
{
    struct model_spec *model = &spec->model;
    model->tokens = mem_grow(model->tokens, model->n_tokens, &model->tokens_capacity, sizeof token);
    model->tokens[model->n_tokens++] = token;
}

void tokenizer_spec_add_unreached(struct tokenizer_spec *spec, struct spec_token token)
{
    struct model_spec *model = &spec->model;
    model->unreached = mem_grow(model->unreached, model->n_unreached, &model->unreached_capacity, sizeof token);
    model->unreached[model->n_unreached++] = token;
}

/* ---- added tokens ---- */

int64_t tokenizer_spec_find(const struct tokenizer_spec *spec, struct str content)
{
    int64_t added = text_map_find(spec->added_at, content);
    if (added >= 0)
        return spec->added[added].id;
    if (!spec->model.byte_level)
        return text_map_find(spec->vocabulary, content);
    char *bytes = mem_alloc(content.len);
    size_t length = read_stand_ins(content, bytes);
    int64_t id = length == SIZE_MAX ? text_map_find(spec->unreached, content)
                                    : text_map_find(spec->vocabulary, str_make(bytes, length));
    free(bytes);
    return id;
}

/* Behind the model's tokens, of which there are so many (whatever their largest id), and behind the added ones. */
static uint32_t next_id(const struct tokenizer_spec *spec)
{
    uint32_t size = (uint32_t)(spec->model.n_tokens + spec->model.n_unreached);
    return spec->n_added && (spec->highest_added >= size || size == 0) ? spec->highest_added + 1 : size;
}

enum status tokenizer_spec_add_token(struct tokenizer_spec *spec, struct added_token token, struct error *error)
{
    if (token.content.len == 0)
        return STATUS_OK;
    int64_t known = tokenizer_spec_find(spec, token.content);
    token.id = known >= 0 ? (uint32_t)known : next_id(spec);
    if (token.id >= SPEC_MAX_ID || spec->n_added >= SPEC_MAX_ADDED)
        return error_set(error, STATUS_TOO_BIG, "more than %u tokens are added", SPEC_MAX_ADDED);
    int64_t at = text_map_find(spec->added_at, token.content);
    if (at >= 0) {
        struct added_token *old = &spec->added[at];
        token.content = old->content;
        *old = token;
        return STATUS_OK;
    }
    token.content = tokenizer_spec_text(spec, token.content);
    text_map_add(spec->added_at, token.content, (uint32_t)spec->n_added);
    spec->highest_added = spec->n_added && spec->highest_added > token.id ? spec->highest_added : token.id;
    spec->added = mem_grow(spec->added, spec->n_added, &spec->added_capacity, sizeof token);
    spec->added[spec->n_added++] = token;
    return STATUS_OK;
}
