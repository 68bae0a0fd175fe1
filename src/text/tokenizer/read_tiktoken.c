/* Rank files of tiktoken: a token in base64, a space and its rank on every line; the rank is the id. */
#include "text/tokenizer/read_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base64.h"
#include "core/mem.h"
#include "text/tokenizer/tokenizer_internal.h"

struct rank_walk {
    struct tokenizer_spec *spec;
    unsigned char *seen; /* by id */
    struct buf token;
    uint32_t highest;
};

static enum status read_line(struct rank_walk *walk, struct str line, int number, struct error *error)
{
    struct str encoded;
    int64_t rank;
    buf_reset(&walk->token);
    bool fits = str_split_next(&line, ' ', &encoded) && encoded.len && str_to_int64(line, &rank) && rank >= 0 &&
                base64_decode(&walk->token, encoded) == STATUS_OK;
    if (!fits) {
        error_set(error, STATUS_SYNTAX, "not a token in base64, a space and a rank");
        error_at(error, NULL, number, 1);
        return STATUS_SYNTAX;
    }
    if (rank >= SPEC_MAX_ID || walk->seen[rank]) {
        enum status status = rank >= SPEC_MAX_ID ? STATUS_TOO_BIG : STATUS_SYNTAX;
        error_set(error, status, "the rank %lld is %s", (long long)rank,
                  status == STATUS_SYNTAX ? "there twice" : "higher than any model's");
        error_at(error, NULL, number, 1);
        return status;
    }
    walk->seen[rank] = 1;
    walk->highest = (uint32_t)rank > walk->highest ? (uint32_t)rank : walk->highest;
    struct str text = tokenizer_spec_text(walk->spec, buf_str(&walk->token));
    tokenizer_spec_add_model_token(walk->spec, (struct spec_token){.text = text, .id = (uint32_t)rank});
    return STATUS_OK;
}

static enum status read_lines(struct rank_walk *walk, struct str ranks, struct error *error)
{
    enum status status = STATUS_OK;
    struct str line;
    for (int number = 1; status == STATUS_OK && str_split_next(&ranks, '\n', &line); number++) {
        line = str_trim(line);
        if (line.len)
            status = read_line(walk, line, number, error);
    }
    return status;
}

static int compare_texts(const void *a, const void *b)
{
    const struct spec_token *x = a, *y = b;
    return str_compare(x->text, y->text);
}

static int compare_ids(const void *a, const void *b)
{
    const struct spec_token *x = a, *y = b;
    return x->id < y->id ? -1 : x->id > y->id;
}

/* Every byte is a token, and no token is there twice: else some text would have no ids, or two. Leaves the tokens in
 * the order of their ids. */
static enum status check_tokens(struct model_spec *model, struct error *error)
{
    size_t bytes = 0;
    enum status status = STATUS_OK;
    qsort(model->tokens, model->n_tokens, sizeof model->tokens[0], compare_texts);
    for (size_t i = 0; i < model->n_tokens; i++) {
        bytes += model->tokens[i].text.len == 1;
        if (i && str_equal(model->tokens[i - 1].text, model->tokens[i].text))
            status = error_set(error, STATUS_SYNTAX, "the tokens with the ranks %u and %u are the same",
                               model->tokens[i - 1].id, model->tokens[i].id);
    }
    if (status == STATUS_OK && bytes != 256)
        status = error_set(error, STATUS_SYNTAX, "%zu of the 256 bytes are tokens; all must be", bytes);
    qsort(model->tokens, model->n_tokens, sizeof model->tokens[0], compare_ids);
    return status;
}

/* tiktoken gives its special tokens ids of their own choice, so they are put down as they are. */
static void add_special(struct tokenizer_spec *spec, const struct tiktoken_known *known)
{
    for (size_t i = 0; i < known->n_special; i++) {
        const struct tiktoken_special *special = &known->special[i];
        for (uint32_t k = 0; k < special->count; k++) {
            char number[16];
            snprintf(number, sizeof number, "%u", special->number + k);
            struct str content = str_of(special->content);
            size_t sign = str_find(content, STR("%u"), 0);
            struct buf name;
            buf_init(&name, BUF_UNBOUNDED);
            buf_add(&name, str_slice(content, 0, sign));
            if (sign != STR_NONE) {
                buf_add_text(&name, number);
                buf_add(&name, str_slice(content, sign + 2, content.len));
            }
            /* Where text is composed first, that is done before special tokens are looked for, not after. */
            struct added_token token = {
                .content = tokenizer_spec_text(spec, buf_str(&name)),
                .id = special->id + k,
                .special = true,
                .normalized = known->composed,
                .shares_id = true,
            };
            buf_finish(&name);
            spec->added = mem_grow(spec->added, spec->n_added, &spec->added_capacity, sizeof token);
            spec->added[spec->n_added++] = token;
            if (known->begin && str_equal(token.content, str_of(known->begin))) {
                spec->before.ids =
                    mem_grow(spec->before.ids, spec->before.count, &spec->before.capacity, sizeof token.id);
                spec->before.ids[spec->before.count++] = token.id;
            }
        }
    }
}

static void fill_in(struct tokenizer_spec *spec, const struct tiktoken_known *known)
{
    struct spec_pattern pattern = {.text = str_of(known->pattern), .is_regex = true, .is_tiktoken = true};
    if (known->composed)
        tokenizer_spec_add_normalizer(spec, (struct normalizer_step){.kind = NORMALIZER_NFC});
    tokenizer_spec_add_pre_tokenizer(spec, (struct pre_tokenizer_step){
                                               .kind = PRE_TOKENIZER_SPLIT,
                                               .pattern = pattern,
                                               .behavior = SPLIT_REMOVED,
                                               .invert = true,
                                           });
    tokenizer_spec_add_pre_tokenizer(spec, (struct pre_tokenizer_step){.kind = PRE_TOKENIZER_BYTE_LEVEL});
    tokenizer_spec_add_decoder(spec, (struct decoder_step){.kind = DECODER_BYTE_LEVEL});
    spec->model.kind = MODEL_BPE;
    spec->model.byte_level = spec->model.merge_by_rank = spec->model.ignore_merges = true;
    add_special(spec, known);
}

enum status tokenizer_read_tiktoken(struct tokenizer_spec *spec, struct str name, struct str ranks, struct error *error)
{
    if (ranks.len > READ_MAX_FILE_BYTES)
        return error_set(error, STATUS_TOO_BIG, "larger than the %zu MiB allowed here", READ_MAX_FILE_BYTES >> 20);
    struct rank_walk walk = {.spec = spec, .seen = mem_zalloc(SPEC_MAX_ID)};
    buf_init(&walk.token, (size_t)1 << 16);
    enum status status = read_lines(&walk, ranks, error);
    buf_finish(&walk.token);
    free(walk.seen);
    if (status != STATUS_OK)
        return status;
    uint32_t count = (uint32_t)spec->model.n_tokens;
    const struct tiktoken_known *known = tiktoken_find(name, count, walk.highest);
    if (!known) {
        struct buf list;
        buf_init(&list, BUF_UNBOUNDED);
        tiktoken_list(&list);
        status = error_set(error, STATUS_UNSUPPORTED,
                           "a rank file of %u ranks up to %u is not known, so neither are its pattern and special "
                           "tokens; known are %s: use the model's tokenizer.json",
                           count, walk.highest, list.data);
        buf_finish(&list);
        return status;
    }
    status = check_tokens(&spec->model, error);
    if (status == STATUS_OK)
        fill_in(spec, known);
    return status;
}
