#include <stdio.h>
#include <time.h>
#include <xxhash.h>

#include "core/mem.h"
#include "core/utf8.h"
#include "text/tokenizer/bpe_internal.h"

#define NO_RANK UINT32_MAX

/* Places in use behind one another in a table with open addressing: with a vocabulary that is not made to have many,
 * some hundred at most. A search goes through all of them. */
#define RUN_MOST   8192
#define STEPS_MOST (UINT32_C(1) << 26) /* past places in use, while a table is filled */

/* Open addressing: tokens by text, merges by what they join. A slot is an index + 1. */
struct table {
    uint32_t *slots;
    size_t mask;
};

struct compiler {
    const struct model_spec *model;
    struct table by_text, by_pair;
    uint64_t seed; /* of both; not to be foreseen by who makes a vocabulary */
    struct bpe_head *head;
    uint32_t n_ids;
    const struct spec_token **by_id; /* NULL where there is none */
    struct bpe_symbol *made;         /* by id: how the token is merged from its own text; id BPE_NONE where it is not */
    uint64_t *splits;
    struct error *error;
};

static void table_init(struct table *table, size_t count)
{
    size_t size = 16;
    while (size < count * 2)
        size *= 2;
    *table = (struct table){mem_calloc(size, sizeof *table->slots), size - 1};
}

static uint32_t find_text(const struct compiler *c, struct str text)
{
    size_t at = XXH3_64bits_withSeed(text.data, text.len, c->seed) & c->by_text.mask;
    for (uint32_t slot; (slot = c->by_text.slots[at]) != 0; at = (at + 1) & c->by_text.mask)
        if (str_equal(c->model->tokens[slot - 1].text, text))
            return c->model->tokens[slot - 1].id;
    return BPE_NONE;
}

static enum status add_tokens(struct compiler *c)
{
    const struct model_spec *model = c->model;
    for (size_t i = 0; i < model->n_tokens; i++) {
        if (model->tokens[i].id >= BPE_NONE)
            return error_set(c->error, STATUS_UNSUPPORTED, "token ids of %u and above are not supported", BPE_NONE);
        c->n_ids = model->tokens[i].id >= c->n_ids ? model->tokens[i].id + 1 : c->n_ids;
    }
    c->by_id = mem_calloc(c->n_ids, sizeof *c->by_id);
    table_init(&c->by_text, model->n_tokens);
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
static uint32_t *pair_slot(const struct compiler *c, uint32_t left, uint32_t right)
{
    size_t at = bpe_pair_hash(BPE_SPLIT_PAIR(left, right) ^ c->seed) & c->by_pair.mask;
    for (uint32_t slot; (slot = c->by_pair.slots[at]) != 0; at = (at + 1) & c->by_pair.mask)
        if (c->model->merges[slot - 1].left == left && c->model->merges[slot - 1].right == right)
            break;
    return &c->by_pair.slots[at];
}

/* Whether a token stands for what has no token: merging it is something that no model does. */
static bool stands_in(const struct compiler *c, uint32_t id)
{
    if (c->head->byte_fallback)
        for (size_t i = 0; i < 256; i++)
            if (c->head->bytes[i] == id)
                return true;
    return id == c->head->unknown;
}

static enum status add_merges(struct compiler *c)
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

static void find_bytes(struct compiler *c)
{
    for (unsigned i = 0; i < 256; i++) {
        char name[8];
        snprintf(name, sizeof name, "<0x%02X>", i);
        c->head->bytes[i] = find_text(c, str_of(name));
    }
}

static uint64_t rank_by_list(const void *user, const struct bpe_symbol *left, const struct bpe_symbol *right)
{
    const struct compiler *c = user;
    uint32_t slot = *pair_slot(c, left->id, right->id);
    return slot == 0 ? UINT64_MAX : (uint64_t)(slot - 1) << 32 | c->model->merges[slot - 1].merged;
}

struct text_of {
    const struct compiler *compiler;
    const char *text;
};

static uint64_t rank_by_text(const void *user, const struct bpe_symbol *left, const struct bpe_symbol *right)
{
    const struct text_of *of = user;
    uint32_t id = find_text(of->compiler, str_make(of->text + left->from, right->to - left->from));
    return id == BPE_NONE ? UINT64_MAX : (uint64_t)id << 32 | id;
}

/* How a token's own text is merged; id BPE_NONE where not into that token. */
static struct bpe_symbol make_token(const struct compiler *c, const struct spec_token *token)
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
    struct text_of of = {c, token->text.data};
    if (c->model->merge_by_rank)
        count = bpe_merge_symbols(symbols, count, rank_by_text, &of);
    else
        count = bpe_merge_symbols(symbols, count, rank_by_list, c);
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

/* Ranks anew, without gaps, those merges that happen. */
static size_t make_splits(struct compiler *c)
{
    const struct bpe_symbol **used = mem_calloc(c->n_ids, sizeof *used);
    size_t n_used = 0;
    c->splits = mem_calloc(c->n_ids, sizeof *c->splits);
    for (uint32_t id = 0; id < c->n_ids; id++)
        if (c->made[id].id != BPE_NONE && c->made[id].rank != NO_RANK)
            used[n_used++] = &c->made[id];
    qsort(used, n_used, sizeof(*used), by_rank);
    for (size_t i = 0; i < n_used; i++)
        c->splits[used[i]->id] = BPE_SPLIT_PAIR(used[i]->left, used[i]->right) | (uint64_t)(i + 1) << (2 * BPE_ID_BITS);
    c->head->ordered = 1;
    for (size_t i = 0; i < n_used; i++)
        if (BPE_SPLIT_RANK(c->splits[used[i]->left]) > i || BPE_SPLIT_RANK(c->splits[used[i]->right]) > i)
            c->head->ordered = 0;
    free(used);
    return n_used;
}

static enum status too_long_run(const struct compiler *c)
{
    return error_set(c->error, STATUS_UNSUPPORTED, "the vocabulary's tokens collide as those of no model do");
}

static enum status write_pairs(struct compiler *c, size_t n_used, struct image_writer *image)
{
    size_t run = 0, longest = 0, steps = 0;
    uint32_t bits = 4;
    while (((size_t)1 << bits) * 2 < n_used * 3)
        bits++;
    c->head->pair_bits = bits;
    uint32_t mask = (1u << bits) - 1;
    uint32_t *pairs = mem_calloc((size_t)mask + 1, sizeof *pairs);
    memset(pairs, 0xff, ((size_t)mask + 1) * sizeof *pairs);
    for (uint32_t id = 0; id < c->n_ids; id++) {
        if (BPE_SPLIT_RANK(c->splits[id]) == 0)
            continue;
        uint64_t hash = bpe_pair_hash(c->splits[id] & BPE_SPLIT_PAIR_MASK);
        uint32_t at = (uint32_t)(hash >> 32) & mask;
        while (pairs[at] != BPE_PAIR_EMPTY && steps++ < STEPS_MOST)
            at = (at + 1) & mask;
        pairs[at] = (uint32_t)hash << BPE_ID_BITS | id;
    }
    for (size_t i = 0; i <= mask; i++) {
        run = pairs[i] != BPE_PAIR_EMPTY ? run + 1 : 0;
        longest = run > longest ? run : longest;
    }
    bool good = longest <= RUN_MOST && steps <= STEPS_MOST;
    if (good)
        image_add(image, IMAGE_PAIRS, pairs, ((size_t)mask + 1) * sizeof *pairs);
    free(pairs);
    return good ? STATUS_OK : too_long_run(c);
}

static int by_length(const void *a, const void *b)
{
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    return left > right ? -1 : left < right;
}

/* Bytes that may have to be looked at in one place of a text. */
#define LENGTHS_SUM_MOST ((size_t)1 << 18)

/* The greatest first, each once. Too many different lengths are refused: no vocabulary has them. */
static enum status add_long_length(struct compiler *c, uint32_t length)
{
    struct bpe_head *head = c->head;
    size_t sum = length;
    for (uint32_t i = 0; i < head->n_lengths; i++) {
        if (head->lengths[i] == length)
            return STATUS_OK;
        sum += head->lengths[i];
    }
    if (head->n_lengths == BPE_LENGTHS_MAX || sum > LENGTHS_SUM_MOST)
        return error_set(c->error, STATUS_UNSUPPORTED, "the vocabulary has tokens of too many different lengths");
    head->lengths[head->n_lengths++] = length;
    qsort(head->lengths, head->n_lengths, sizeof head->lengths[0], by_length);
    return STATUS_OK;
}

/* A table of IMAGE_LENGTHS while it is made. */
struct length_index {
    uint32_t bits;
    size_t used, steps;
    uint32_t *masks;
    uint16_t *tags;
};

static void index_init(struct length_index *index, size_t count)
{
    *index = (struct length_index){.bits = BPE_INDEX_BITS_MIN};
    while (((size_t)1 << index->bits) * 2 < 3 * count)
        index->bits++;
    index->masks = mem_calloc((size_t)1 << index->bits, sizeof *index->masks);
    index->tags = mem_calloc((size_t)1 << index->bits, sizeof *index->tags);
}

static void index_finish(struct length_index *index)
{
    free(index->masks);
    free(index->tags);
}

static void index_add(struct length_index *index, uint64_t hash, uint16_t tag, uint32_t mask)
{
    size_t at = (size_t)(hash >> (64 - index->bits));
    while (index->tags[at] != 0 && index->tags[at] != tag && index->steps++ < STEPS_MOST)
        at = (at + 1) & (((size_t)1 << index->bits) - 1);
    index->used += index->tags[at] == 0;
    index->tags[at] = tag;
    index->masks[at] |= mask;
}

static enum status index_token(struct compiler *c, uint32_t id, struct length_index *three, struct length_index *five)
{
    struct str text = c->by_id[id]->text;
    uint64_t word = bpe_load(text.data, text.len), hash;
    if (text.len == 1) {
        c->head->single[word] = id;
    } else if (text.len == 2) {
        c->head->doubles[word / 64] |= UINT64_C(1) << (word & 63);
    } else if (text.len < BPE_LONG_FIRST) {
        hash = bpe_prefix_hash(word, 3);
        index_add(three, hash, BPE_SHORT_TAG(hash), 1u << (text.len - 3));
    } else {
        hash = bpe_prefix_hash(word, 5);
        bool longer = text.len > BPE_LONG_LAST;
        index_add(five, hash, BPE_LONG_TAG(hash), longer ? BPE_LONGER : UINT32_C(1) << (text.len - BPE_LONG_FIRST));
        if (longer)
            return add_long_length(c, (uint32_t)text.len);
    }
    return STATUS_OK;
}

/* Tables for at most so many beginnings. */
static enum status index_tokens(struct compiler *c, size_t n_three, size_t n_five, struct length_index *three,
                                struct length_index *five)
{
    enum status status = STATUS_OK;
    index_init(three, n_three);
    index_init(five, n_five);
    for (size_t i = 0; i < 256; i++)
        c->head->single[i] = BPE_NONE;
    for (uint32_t id = 0; id < c->n_ids && status == STATUS_OK; id++)
        if (c->made[id].id != BPE_NONE)
            status = index_token(c, id, three, five);
    return status;
}

static bool index_is_good(const struct length_index *index)
{
    size_t run = 0, longest = 0;
    for (size_t i = 0; i < (size_t)1 << index->bits; i++) {
        run = index->tags[i] != 0 ? run + 1 : 0;
        longest = run > longest ? run : longest;
    }
    return longest <= RUN_MOST && index->steps <= STEPS_MOST;
}

static void write_index(struct compiler *c, const struct length_index *three, const struct length_index *five,
                        struct image_writer *image)
{
    struct buf section;
    buf_init(&section, BUF_UNBOUNDED);
    size_t n_three = (size_t)1 << three->bits, n_five = (size_t)1 << five->bits;
    c->head->three_bits = three->bits;
    c->head->five_bits = five->bits;
    buf_add(&section, str_make((const char *)five->masks, n_five * sizeof *five->masks));
    buf_add(&section, str_make((const char *)five->tags, n_five * sizeof *five->tags));
    for (size_t i = 0; i < n_three; i++)
        three->tags[i] |= (uint16_t)three->masks[i];
    buf_add(&section, str_make((const char *)three->tags, n_three * sizeof *three->tags));
    image_add(image, IMAGE_LENGTHS, section.data, section.len);
    buf_finish(&section);
}

/* Twice: the first time shows how many beginnings there are. */
static enum status write_lengths(struct compiler *c, struct image_writer *image)
{
    struct length_index three, five;
    enum status status = index_tokens(c, c->n_ids, c->n_ids, &three, &five);
    size_t n_three = three.used, n_five = five.used;
    index_finish(&three);
    index_finish(&five);
    if (status != STATUS_OK)
        return status;
    status = index_tokens(c, n_three, n_five, &three, &five);
    if (status == STATUS_OK && !(index_is_good(&three) && index_is_good(&five)))
        status = too_long_run(c);
    if (status == STATUS_OK)
        write_index(c, &three, &five, image);
    index_finish(&three);
    index_finish(&five);
    return status;
}

/* Where text can be cut in front of U+2581: behind all bytes that no token has before it. */
static void find_cuts(struct compiler *c)
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

static enum status write_whole(struct compiler *c, struct image_writer *image)
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

static enum status read_model(struct compiler *c)
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
    struct compiler c = {.model = model,
                         .seed = (uint64_t)now.tv_nsec * UINT64_C(0x9e3779b97f4a7c15) ^ (uint64_t)(uintptr_t)&now,
                         .head = mem_zalloc(sizeof(struct bpe_head)),
                         .error = error};
    enum status status = read_model(&c);
    if (status == STATUS_OK) {
        c.made = mem_calloc(c.n_ids, sizeof *c.made);
        for (uint32_t id = 0; id < c.n_ids; id++)
            c.made[id] = c.by_id[id] != NULL ? make_token(&c, c.by_id[id]) : (struct bpe_symbol){.id = BPE_NONE};
        status = write_pairs(&c, make_splits(&c), image);
        image_add(image, IMAGE_SPLITS, c.splits, c.n_ids * sizeof *c.splits);
        find_cuts(&c);
    }
    if (status == STATUS_OK)
        status = write_lengths(&c, image);
    if (status == STATUS_OK)
        status = write_whole(&c, image);
    if (status == STATUS_OK)
        image_add(image, IMAGE_BYTES, c.head, sizeof *c.head);
    free(c.by_text.slots);
    free(c.by_pair.slots);
    free(c.by_id);
    free(c.made);
    free(c.splits);
    free(c.head);
    return status;
}
