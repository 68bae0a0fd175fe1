#include <stdio.h>
#include <time.h>
#include <xxhash.h>

#include "core/mem.h"
#include "core/utf8.h"
#include "text/tokenizer/bpe_compile_internal.h"

#define NO_RANK UINT32_MAX

static void table_init(struct bpe_table *table, size_t count)
{
    size_t size = 16;
    while (size < count * 2)
        size *= 2;
    *table = (struct bpe_table){mem_calloc(size, sizeof *table->slots), size - 1};
}

static uint32_t find_text(const struct bpe_compiler *c, struct str text)
{
    size_t at = XXH3_64bits_withSeed(text.data, text.len, c->seed) & c->by_text.mask;
    for (uint32_t slot; (slot = c->by_text.slots[at]) != 0; at = (at + 1) & c->by_text.mask)
        if (str_equal(c->model->tokens[slot - 1].text, text))
            return c->model->tokens[slot - 1].id;
    return BPE_NONE;
}

static enum status add_tokens(struct bpe_compiler *c)
{
    const struct model_spec *model = c->model;
    table_init(&c->by_text, model->n_tokens);
    for (size_t i = 0; i < model->n_tokens; i++) {
        if (model->tokens[i].id >= BPE_NONE)
            return error_set(c->error, STATUS_UNSUPPORTED, "token ids of %u and above are not supported", BPE_NONE);
        c->n_ids = model->tokens[i].id >= c->n_ids ? model->tokens[i].id + 1 : c->n_ids;
    }
    c->by_id = mem_calloc(c->n_ids, sizeof *c->by_id);
    for (size_t i = 0; i < model->n_tokens; i++) {
        const struct spec_token *token = &model->tokens[i];
        if (c->by_id[token->id] != NULL)
            return error_set(c->error, STATUS_INVALID, "two tokens of the vocabulary have the id %u", token->id);
        c->by_id[token->id] = token;
        if (find_text(c, token->text) != BPE_NONE)
            return error_set(c->error, STATUS_INVALID, "the vocabulary has the token \"%.*s\" more than once",
                             STR_ARG(token->text));
        size_t at = XXH3_64bits_withSeed(token->text.data, token->text.len, c->seed) & c->by_text.mask;
        while (c->by_text.slots[at] != 0)
            at = (at + 1) & c->by_text.mask;
        c->by_text.slots[at] = (uint32_t)i + 1;
    }
    return STATUS_OK;
}

/* The slot of a pair, or the free one where it belongs. */
static uint32_t *pair_slot(const struct bpe_compiler *c, uint32_t left, uint32_t right)
{
    size_t at = bpe_mix(BPE_SPLIT_PAIR(left, right) ^ c->seed, UINT64_C(0x589965cc75374cc3)) & c->by_pair.mask;
    for (uint32_t slot; (slot = c->by_pair.slots[at]) != 0; at = (at + 1) & c->by_pair.mask)
        if (c->model->merges[slot - 1].left == left && c->model->merges[slot - 1].right == right)
            break;
    return &c->by_pair.slots[at];
}

/* Whether a token stands for what has no token: merging it is something that no model does. */
static bool stands_in(const struct bpe_compiler *c, uint32_t id)
{
    if (c->head->byte_fallback)
        for (size_t i = 0; i < 256; i++)
            if (c->head->bytes[i] == id)
                return true;
    return id == c->head->unknown;
}

static enum status add_merges(struct bpe_compiler *c)
{
    table_init(&c->by_pair, c->model->n_merges);
    for (size_t i = 0; i < c->model->n_merges; i++) {
        const struct spec_merge *merge = &c->model->merges[i];
        if (merge->left >= c->n_ids || merge->right >= c->n_ids || merge->merged >= c->n_ids ||
            c->by_id[merge->left] == NULL || c->by_id[merge->right] == NULL || c->by_id[merge->merged] == NULL)
            return error_set(c->error, STATUS_INVALID, "merge %zu is of tokens that the vocabulary does not have", i);
        struct str left = c->by_id[merge->left]->text, right = c->by_id[merge->right]->text;
        struct str merged = c->by_id[merge->merged]->text;
        if (merged.len != left.len + right.len || !str_starts_with(merged, left) || !str_ends_with(merged, right))
            return error_set(c->error, STATUS_UNSUPPORTED, "merge %zu gives \"%.*s\", which is not its two parts", i,
                             STR_ARG(merged));
        if (stands_in(c, merge->left) || stands_in(c, merge->right))
            return error_set(c->error, STATUS_UNSUPPORTED, "merge %zu has a token of unknown text or of a byte", i);
        *pair_slot(c, merge->left, merge->right) = (uint32_t)i + 1; /* the last of equals counts */
    }
    return STATUS_OK;
}

static void find_bytes(struct bpe_compiler *c)
{
    for (unsigned i = 0; i < 256; i++) {
        char name[8];
        snprintf(name, sizeof name, "<0x%02X>", i);
        c->head->bytes[i] = find_text(c, str_of(name));
    }
}

static uint64_t rank_by_list(const void *user, const struct bpe_symbol *left, const struct bpe_symbol *right)
{
    const struct bpe_compiler *c = user;
    uint32_t slot = *pair_slot(c, left->id, right->id);
    return slot == 0 ? UINT64_MAX : (uint64_t)(slot - 1) << 32 | c->model->merges[slot - 1].merged;
}

struct text_of {
    const struct bpe_compiler *compiler;
    const char *text;
};

static uint64_t rank_by_text(const void *user, const struct bpe_symbol *left, const struct bpe_symbol *right)
{
    const struct text_of *of = user;
    uint32_t id = find_text(of->compiler, str_make(of->text + left->from, right->to - left->from));
    return id == BPE_NONE ? UINT64_MAX : (uint64_t)id << 32 | id;
}

size_t bpe_compile_merge(const struct bpe_compiler *c, struct bpe_symbol *symbols, size_t count, const char *text)
{
    struct text_of of = {c, text};
    return c->model->merge_by_rank ? bpe_merge_symbols(symbols, count, rank_by_text, &of)
                                   : bpe_merge_symbols(symbols, count, rank_by_list, c);
}

/* How a token's own text is merged; id BPE_NONE where not into that token. */
static struct bpe_symbol make_token(const struct bpe_compiler *c, const struct spec_token *token)
{
    struct bpe_symbol *symbols = mem_calloc(token->text.len, sizeof *symbols);
    struct bpe_symbol made = {.id = BPE_NONE};
    size_t count = 0;
    for (size_t at = 0, length = 1; at < token->text.len; at += length) {
        if (!c->model->byte_level)
            (void)utf8_decode(str_slice(token->text, at, token->text.len), &length);
        uint32_t id = find_text(c, str_slice(token->text, at, at + length));
        if (id == BPE_NONE)
            goto done;
        symbols[count++] = (struct bpe_symbol){.id = id, .from = (uint32_t)at, .to = (uint32_t)(at + length)};
    }
    bool alone = count == 1;
    count = bpe_compile_merge(c, symbols, count, token->text.data);
    if (count == 1 && symbols[0].id == token->id) {
        made = symbols[0];
        made.rank = alone ? NO_RANK : made.rank;
    }
done:
    free(symbols);
    return made;
}

static int by_rank(const void *a, const void *b)
{
    const struct bpe_symbol *left = *(const struct bpe_symbol *const *)a, *right = *(const struct bpe_symbol *const *)b;
    return left->rank < right->rank ? -1 : left->rank > right->rank;
}

/* Ranks anew those merges that happen. */
static void make_splits(struct bpe_compiler *c)
{
    const struct bpe_symbol **used = mem_calloc(c->n_ids, sizeof *used);
    uint32_t n_used = 0;
    c->splits = mem_calloc(c->n_ids, sizeof *c->splits);
    for (uint32_t id = 0; id < c->n_ids; id++)
        if (c->made[id].id != BPE_NONE && c->made[id].rank != NO_RANK)
            used[n_used++] = &c->made[id];
    qsort(used, n_used, sizeof(*used), by_rank);
    c->head->ordered = c->head->ranked = 1;
    for (uint32_t i = 1; i < n_used; i++)
        if (used[i]->id < used[i - 1]->id)
            c->head->ranked = 0;
    c->by_rank = mem_calloc(n_used, sizeof *c->by_rank);
    c->n_ranks = n_used;
    for (uint32_t i = 0; i < n_used; i++) {
        uint64_t rank = c->head->ranked ? used[i]->id + 1 : i + 1;
        c->by_rank[i] = used[i]->id;
        c->splits[used[i]->id] = BPE_SPLIT_PAIR(used[i]->left, used[i]->right) | rank << (2 * BPE_ID_BITS);
    }
    for (uint32_t i = 0; i < n_used; i++) {
        uint32_t rank = BPE_SPLIT_RANK(c->splits[used[i]->id]);
        if (BPE_SPLIT_RANK(c->splits[used[i]->left]) >= rank || BPE_SPLIT_RANK(c->splits[used[i]->right]) >= rank)
            c->head->ordered = 0;
    }
    free(used);
}

static uint64_t hash_split(const void *user, size_t i, uint64_t seed)
{
    const struct bpe_compiler *c = user;
    return bpe_pair_hash(c->splits[c->by_rank[i]] & BPE_SPLIT_PAIR_MASK, seed);
}

/* Where the split of each token is; of those that have none, in a place that is free. */
static void write_places(const struct bpe_compiler *c, const struct bpe_perfect_table *table,
                         struct image_writer *image)
{
    uint32_t *places = mem_calloc(c->n_ids, sizeof *places), free_one = 0;
    while (table->owners[free_one] != UINT32_MAX)
        free_one++;
    for (uint32_t id = 0; id < c->n_ids; id++)
        places[id] = free_one;
    for (uint32_t i = 0; i < table->shape.n_places; i++)
        if (table->owners[i] != UINT32_MAX)
            places[c->by_rank[table->owners[i]]] = i;
    image_add(image, IMAGE_SPLITS, places, c->n_ids * sizeof *places);
    free(places);
}

static enum status write_pairs(struct bpe_compiler *c, struct image_writer *image)
{
    struct bpe_perfect_table table;
    if (!bpe_perfect_make(&table, c->n_ranks, hash_split, c))
        return error_set(c->error, STATUS_UNSUPPORTED, "no table without collisions was found for the merges");
    c->head->pairs = table.shape;
    uint64_t *pairs = mem_calloc(table.shape.n_places, sizeof *pairs);
    for (uint32_t i = 0; i < table.shape.n_places; i++)
        pairs[i] = table.owners[i] == UINT32_MAX ? 0 : c->splits[c->by_rank[table.owners[i]]];
    image_add(image, IMAGE_PAIRS, pairs, table.shape.n_places * sizeof *pairs);
    bpe_perfect_write_seeds(&table, IMAGE_PAIR_SEEDS, image);
    write_places(c, &table, image);
    if (!c->head->ranked)
        image_add(image, IMAGE_MERGED, c->by_rank, c->n_ranks * sizeof *c->by_rank);
    free(pairs);
    bpe_perfect_finish(&table);
    return STATUS_OK;
}

static void write_symbols(struct bpe_compiler *c, struct image_writer *image)
{
    size_t n_doubles = 1 << 16;
    uint16_t *doubles = mem_calloc(n_doubles, sizeof *doubles);
    for (size_t i = 0; i < 256; i++)
        c->head->single[i] = BPE_NONE;
    for (uint32_t id = 0; id < c->n_ids; id++) {
        if (c->made[id].id == BPE_NONE)
            continue;
        const unsigned char *bytes = (const unsigned char *)c->by_id[id]->text.data;
        uint32_t rank = BPE_SPLIT_RANK(c->splits[id]);
        if (c->by_id[id]->text.len == 1)
            c->head->single[bytes[0]] = id;
        else if (c->by_id[id]->text.len == 2)
            doubles[bytes[0] << 8 | bytes[1]] = rank < BPE_DOUBLE_ELSEWHERE ? (uint16_t)rank : BPE_DOUBLE_ELSEWHERE;
    }
    if (c->model->byte_level) {
        image_add(image, IMAGE_DOUBLES, doubles, n_doubles * sizeof *doubles);
        bpe_compile_characters(c, image);
    }
    free(doubles);
}

/* Where text can be cut in front of U+2581: behind all bytes that no token has before it. */
static void find_cuts(struct bpe_compiler *c)
{
    struct str space = STR("\xe2\x96\x81");
    uint32_t id = find_text(c, space);
    bool disappear = c->head->unknown == BPE_NONE; /* unknown characters, and what stood around them would touch */
    if (disappear && c->head->byte_fallback) {
        disappear = false;
        for (size_t i = 0; i < 256; i++)
            disappear = disappear || c->head->bytes[i] == BPE_NONE;
    }
    c->head->cuts = !c->model->byte_level && !c->head->whole_first && id != BPE_NONE && !disappear;
    for (id = 0; id < c->n_ids; id++) {
        if (c->made[id].id == BPE_NONE)
            continue;
        struct str text = c->by_id[id]->text;
        for (size_t at = 1; (at = str_find(text, space, at)) != STR_NONE; at++)
            c->head->before_space[(unsigned char)text.data[at - 1]] = 1;
    }
}

static enum status write_whole(struct bpe_compiler *c, struct image_writer *image)
{
    struct bpe_whole_token *tokens = mem_calloc(c->n_ids, sizeof *tokens);
    size_t count = 0;
    for (uint32_t id = 0; id < c->n_ids; id++) {
        bool made = c->by_id[id] != NULL && c->made[id].id != BPE_NONE;
        if (c->by_id[id] == NULL || c->by_id[id]->text.len == 0 || (!made && !c->head->whole_first))
            continue;
        struct str text = c->by_id[id]->text;
        tokens[count++] = (struct bpe_whole_token){text, id | BPE_META_LENGTH(text.len) | (made ? 0 : BPE_WHOLE_ONLY)};
        c->head->max_length = text.len > c->head->max_length ? (uint32_t)text.len : c->head->max_length;
    }
    enum status status = bpe_whole_compile(c->head, tokens, count, image, c->error);
    free(tokens);
    return status;
}

static enum status read_model(struct bpe_compiler *c)
{
    const struct model_spec *model = c->model;
    struct bpe_head *head = c->head;
    enum status status = add_tokens(c);
    if (status != STATUS_OK)
        return status;
    find_bytes(c);
    head->byte_level = model->byte_level;
    head->whole_first = model->ignore_merges || model->merge_by_rank;
    head->fuse_unknown = model->fuse_unknown;
    head->byte_fallback = model->byte_fallback && !model->byte_level;
    head->unknown = model->unknown < 0 ? BPE_NONE : (uint32_t)model->unknown;
    if (model->unknown >= (int64_t)c->n_ids)
        return error_set(c->error, STATUS_INVALID, "the unknown token is not in the vocabulary");
    for (size_t i = 0; i < 256 && model->byte_level && model->byte_fallback; i++)
        if (find_text(c, str_make(&(char){(char)i}, 1)) == BPE_NONE)
            return error_set(c->error, STATUS_UNSUPPORTED,
                             "byte_fallback where the vocabulary is of bytes but has "
                             "no token for some");
    return add_merges(c);
}

enum status bpe_compile(const struct model_spec *model, struct image_writer *image, struct error *error)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    struct bpe_compiler c = {.model = model,
                             .seed = (uint64_t)now.tv_nsec * UINT64_C(0x9e3779b97f4a7c15) ^ (uint64_t)(uintptr_t)&now,
                             .head = mem_zalloc(sizeof(struct bpe_head)),
                             .error = error};
    enum status status = read_model(&c);
    if (status == STATUS_OK) {
        c.made = mem_calloc(c.n_ids, sizeof *c.made);
        for (uint32_t id = 0; id < c.n_ids; id++)
            c.made[id] = c.by_id[id] != NULL ? make_token(&c, c.by_id[id]) : (struct bpe_symbol){.id = BPE_NONE};
        make_splits(&c);
        status = write_pairs(&c, image);
        find_cuts(&c);
        write_symbols(&c, image);
    }
    if (status == STATUS_OK)
        status = write_whole(&c, image);
    if (status == STATUS_OK)
        image_add(image, IMAGE_BYTES, c.head, sizeof *c.head);
    free(c.by_text.slots);
    free(c.by_pair.slots);
    free(c.by_id);
    free(c.made);
    free(c.splits);
    free(c.by_rank);
    free(c.head);
    return status;
}
