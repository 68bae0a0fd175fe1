#include "text/tokenizer/bpe_internal.h"

#include "core/mem.h"

#define BATCH 256

struct lookup {
    struct bpe_key key;
    const struct bpe_slot *slot;
};

/* The pieces of a batch that are not one short token. */
struct others {
    struct bpe_job jobs[BATCH];
    uint16_t at[BATCH], missing[BATCH]; /* which pieces they are; which jobs are not found */
    size_t count, n_missing;
    struct bpe_found found;
};

struct bpe *bpe_open(const struct image *image)
{
    struct bpe *bpe = mem_zalloc(sizeof *bpe);
    *bpe = (struct bpe){
        .head = (const void *)image_section(image, IMAGE_BYTES).data,
        .slots = (const void *)image_section(image, IMAGE_WHOLE).data,
        .seeds = (const void *)image_section(image, IMAGE_WHOLE_SEEDS).data,
        .long_text = image_section(image, IMAGE_WHOLE_TEXT).data,
        .places = (const void *)image_section(image, IMAGE_SPLITS).data,
        .doubles = (const void *)image_section(image, IMAGE_DOUBLES).data,
        .blocks = (const void *)image_section(image, IMAGE_CHARACTERS).data,
        .cache = bpe_cache_create(),
    };
    bpe->pairs = (struct bpe_pairs){
        .seed = bpe->head->pairs.seed,
        .n_places = bpe->head->pairs.n_places,
        .n_buckets = bpe->head->pairs.n_buckets,
        .seeds = (const void *)image_section(image, IMAGE_PAIR_SEEDS).data,
        .splits = (const void *)image_section(image, IMAGE_PAIRS).data,
        .merged = bpe->head->ranked ? NULL : (const void *)image_section(image, IMAGE_MERGED).data,
    };
    bpe->characters = (const void *)(bpe->blocks + BPE_BLOCKS);
    return bpe;
}

void bpe_destroy(struct bpe *bpe)
{
    if (bpe == NULL)
        return;
    bpe_cache_destroy(bpe->cache);
    free(bpe);
}

static void reserve(struct token_ids *out, size_t more)
{
    if (out->capacity - out->count >= more)
        return;
    size_t capacity = out->capacity + out->capacity / 2 + more;
    out->ids = mem_realloc(out->ids, capacity, sizeof *out->ids);
    out->capacity = capacity;
}

#define STRIDE BPE_CACHE_TOKENS

/* May read and write up to STRIDE ids more than there are, for which there is room. */
static inline void append_few(struct token_ids *out, const uint32_t *ids, size_t count)
{
    uint32_t *to = out->ids + out->count;
    for (size_t i = 0; i < count; i += STRIDE)
        memcpy(to + i, ids + i, STRIDE * sizeof *ids);
    out->count += count;
}

/* Where each piece would be in the table, so that the table's lines are on their way before they are needed. */
static void look_up(const struct bpe *bpe, const char *text, const struct split_piece *pieces, size_t n,
                    struct lookup *found)
{
    size_t end = pieces[n - 1].to, longest = bpe->head->max_length;
    const struct bpe_perfect whole = bpe->head->whole;
    const struct bpe_slot *slots = bpe->slots;
    const uint16_t *seeds = bpe->seeds;
    for (size_t i = 0; i < n; i++) {
        size_t length = pieces[i].to - pieces[i].from;
        if (length > longest && length > BPE_CACHE_LENGTH)
            length = 1; /* is no token: which slot is looked at does not matter */
        struct bpe_key key = bpe_key_of(whole.seed, text + pieces[i].from, length, end - pieces[i].from);
        uint32_t seed = seeds[bpe_bucket(key.hash, whole.n_buckets)];
        const struct bpe_slot *slot = slots + bpe_place_of(key.hash, seed, whole.n_places);
        __builtin_prefetch(slot);
        found[i] = (struct lookup){key, slot};
    }
}

static void merge_missing(const struct bpe *bpe, const struct lookup *found, struct others *others)
{
    struct bpe_job jobs[BATCH];
    for (size_t i = 0; i < others->n_missing; i++)
        jobs[i] = others->jobs[others->missing[i]];
    bpe_merge_jobs(bpe, jobs, others->n_missing, &others->found);
    for (size_t i = 0; i < others->n_missing; i++) {
        const struct bpe_job *job = &jobs[i];
        size_t at = others->missing[i];
        others->jobs[at] = *job;
        if (job->length <= BPE_CACHE_LENGTH && job->count > 0 && job->count <= BPE_CACHE_TOKENS)
            bpe_cache_put(bpe->cache, &found[others->at[at]].key, job->text, job->length, others->found.ids + job->from,
                          job->count);
    }
}

static void find_other(const struct bpe *bpe, const struct lookup *found, struct bpe_job *job, struct bpe_found *ids)
{
    job->count = 0;
    job->from = ids->count;
    if (job->length > BPE_INLINE && bpe_slot_is(bpe, found->slot, found->key, job->text, job->length)) {
        ids->ids[ids->count] = found->slot->meta & BPE_NONE;
        job->count = 1;
    } else if (job->length <= BPE_CACHE_LENGTH) {
        job->count = bpe_cache_get(bpe->cache, &found->key, job->text, job->length, ids->ids + ids->count);
    }
    ids->count += job->count;
}

/* The pieces that are not one short token: out of the table, or the cache, or merged. */
static void find_others(const struct bpe *bpe, const char *text, const struct split_piece *pieces,
                        const struct lookup *found, struct others *others)
{
    for (size_t i = 0; i < others->count; i++)
        bpe_cache_prefetch(bpe->cache, found[others->at[i]].key.hash);
    others->n_missing = 0;
    bpe_found_init(&others->found);
    for (size_t i = 0; i < others->count; i++) {
        const struct split_piece *piece = &pieces[others->at[i]];
        others->jobs[i] = (struct bpe_job){.text = text + piece->from, .length = piece->to - piece->from};
        find_other(bpe, &found[others->at[i]], &others->jobs[i], &others->found);
        others->missing[others->n_missing] = (uint16_t)i;
        others->n_missing += others->jobs[i].count == 0;
    }
    if (others->n_missing > 0)
        merge_missing(bpe, found, others);
    bpe_found_reserve(&others->found, STRIDE);
}

/* At most BATCH pieces. Those that are short and one token, which most are, go without a jump; the others are listed,
 * and put between them. */
static int64_t encode_batch(const struct bpe *bpe, const char *text, const struct split_piece *pieces, size_t n,
                            struct token_ids *out)
{
    struct lookup found[BATCH];
    uint32_t ids[BATCH + STRIDE];
    struct others others;
    look_up(bpe, text, pieces, n, found);
    size_t n_others = 0, from = 0;
    for (size_t i = 0; i < n; i++) {
        const struct bpe_slot *slot = found[i].slot;
        uint32_t length = pieces[i].to - pieces[i].from;
        uint64_t differs = (slot->lo ^ found[i].key.lo) | (slot->hi ^ found[i].key.hi) |
                           ((slot->meta & BPE_META_LENGTH_MASK) ^ (length << BPE_ID_BITS));
        ids[i] = slot->meta & BPE_NONE;
        others.at[n_others] = (uint16_t)i;
        n_others += (differs != 0) | (length > BPE_INLINE);
    }
    others.count = n_others;
    find_others(bpe, text, pieces, found, &others);
    size_t total = n - n_others + others.found.count;
    if (out != NULL) {
        reserve(out, total + STRIDE);
        for (size_t i = 0; i < n_others; i++) {
            append_few(out, ids + from, others.at[i] - from);
            append_few(out, others.found.ids + others.jobs[i].from, others.jobs[i].count);
            from = others.at[i] + 1u;
        }
        append_few(out, ids + from, n - from);
    }
    bpe_found_finish(&others.found);
    return (int64_t)total;
}

/* Where U+2581, which stands for a space, begins at or after `from` and no token goes across; else `to`. */
static uint32_t next_cut(const struct bpe_head *head, const char *text, uint32_t from, uint32_t to)
{
    for (const char *at = text + from, *end = text + to; end - at >= 3; at++) {
        at = memchr(at, 0xe2, (size_t)(end - at) - 2);
        if (at == NULL)
            break;
        if (at > text + from && at[1] == '\x96' && at[2] == '\x81' && head->before_space[(unsigned char)at[-1]] == 0)
            return (uint32_t)(at - text);
    }
    return to;
}

/* Text that no pre-tokenizer has cut: into words, where that changes nothing. */
static int64_t encode_cut(const struct bpe *bpe, const char *text, struct split_piece piece, struct token_ids *out)
{
    int64_t total = 0;
    while (piece.from < piece.to) {
        struct split_piece words[BATCH];
        size_t n = 0;
        for (; n < BATCH && piece.from < piece.to; n++) {
            words[n].from = piece.from;
            piece.from = words[n].to = next_cut(bpe->head, text, piece.from, piece.to);
        }
        total += encode_batch(bpe, text, words, n, out);
    }
    return total;
}

int64_t bpe_encode(const struct bpe *bpe, const char *text, const struct split_piece *pieces, size_t n,
                   struct token_ids *out)
{
    int64_t total = 0;
    if (bpe->head->cuts) {
        for (size_t i = 0; i < n; i++)
            total += encode_cut(bpe, text, pieces[i], out);
        return total;
    }
    for (size_t i = 0; i < n; i += BATCH)
        total += encode_batch(bpe, text, pieces + i, n - i < BATCH ? n - i : BATCH, out);
    return total;
}
