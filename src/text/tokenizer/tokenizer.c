#include "text/tokenizer/tokenizer_open.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "core/mem.h"

void token_ids_init(struct token_ids *ids)
{
    *ids = (struct token_ids){NULL, 0, 0};
}

void token_ids_finish(struct token_ids *ids)
{
    if (ids == NULL)
        return;
    free(ids->ids);
    token_ids_init(ids);
}

enum status tokenizer_open(struct str image, struct tokenizer **out, struct error *error)
{
    struct tokenizer *tokenizer = mem_zalloc(sizeof *tokenizer);
    enum status status = image_open(&tokenizer->image, image, error);
    if (status == STATUS_OK)
        status = steps_open(&tokenizer->image, &tokenizer->steps, error);
    if (status != STATUS_OK) {
        free(tokenizer);
        return status;
    }
    tokenizer->about = (const void *)image_section(&tokenizer->image, IMAGE_ABOUT).data;
    tokenizer->texts = image_section(&tokenizer->image, IMAGE_TOKEN_TEXT).data;
    tokenizer->places = (const void *)image_section(&tokenizer->image, IMAGE_TOKEN_PLACES).data;
    tokenizer->added = added_tokens_open(&tokenizer->image);
    if (tokenizer->about->model == MODEL_BPE)
        tokenizer->bpe = bpe_open(&tokenizer->image);
    else
        tokenizer->unigram = unigram_open(&tokenizer->image);
    *out = tokenizer;
    return STATUS_OK;
}

void tokenizer_destroy(struct tokenizer *tokenizer)
{
    if (tokenizer == NULL)
        return;
    bpe_destroy(tokenizer->bpe);
    unigram_destroy(tokenizer->unigram);
    added_tokens_destroy(tokenizer->added);
    steps_destroy(tokenizer->steps);
    free(tokenizer);
}

uint64_t tokenizer_quick_hash(struct str bytes, uint64_t seed)
{
    return XXH3_64bits_withSeed(bytes.data, bytes.len, seed);
}

const char *tokenizer_hash(const struct tokenizer *tokenizer)
{
    return image_source_hash(&tokenizer->image);
}

uint32_t tokenizer_vocabulary(const struct tokenizer *tokenizer)
{
    return tokenizer->about->vocabulary;
}

struct str tokenizer_chat_template(const struct tokenizer *tokenizer)
{
    return image_section(&tokenizer->image, IMAGE_CHAT_TEMPLATE);
}

bool tokenizer_text_at(const struct tokenizer *tokenizer, uint32_t id, struct str *text)
{
    uint32_t place = id < tokenizer->about->vocabulary ? tokenizer->places[id] : TOKENIZER_NO_TOKEN, length;
    if ((place & TOKENIZER_NO_TOKEN) != 0)
        return false;
    if ((place & TOKENIZER_APART) == 0) {
        *text = bpe_text(tokenizer->bpe, place);
        return true;
    }
    const char *at = tokenizer->texts + (place & ~TOKENIZER_APART);
    memcpy(&length, at, sizeof length);
    *text = str_make(at + sizeof length, length);
    return true;
}

struct str tokenizer_text(const struct tokenizer *tokenizer, uint32_t id)
{
    struct str text = {0};
    return tokenizer_text_at(tokenizer, id, &text) ? text : STR("");
}

bool tokenizer_gave_up(const struct tokenizer *tokenizer, struct str *pattern)
{
    return steps_gave_up(tokenizer->steps, pattern);
}

bool tokenizer_begins_anew(const struct tokenizer *tokenizer, struct str text)
{
    return added_tokens_begin_anew(tokenizer->added, text);
}
