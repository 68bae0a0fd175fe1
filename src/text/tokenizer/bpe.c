#include "text/tokenizer/bpe_internal.h"

#include "core/mem.h"

#define BATCH 256

struct lookup {
    struct bpe_key key;
    const struct bpe_slot *slot;
};

struct bpe *bpe_open(const struct image *image)
{
    struct bpe *bpe = mem_zalloc(sizeof *bpe);
    *bpe = (struct bpe){
        .head = (const void *)image_section(image, IMAGE_BYTES).data,
        .slots = (const void *)image_section(image, IMAGE_WHOLE).data,
        .seeds = (const void *)image_section(image, IMAGE_WHOLE_SEEDS).data,
        .long_text = image_section(image, IMAGE_WHOLE_TEXT).data,
        .splits = (const void *)image_section(image, IMAGE_SPLITS).data,
        .pairs = (const void *)image_section(image, IMAGE_PAIRS).data,
        .doubles = (const void *)image_section(image, IMAGE_DOUBLES).data,
        .blocks = (const void *)image_section(image, IMAGE_CHARACTERS).data,
        .cache = bpe_cache_create(),
    };
    bpe->n_splits = image_section(image, IMAGE_SPLITS).len / sizeof *bpe->splits;
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

static void append(struct token_ids *out, const uint32_t *ids, size_t count)
{
    if (count == 0)
        return;
    reserve(out, count);
    memcpy(out->ids + out->count, ids, count * sizeof *ids);
    out->count += count;
}

/* A piece that is not one token, or a long one. */
static size_t encode_piece(const struct bpe *bpe, const struct lookup *found, struct str piece, struct token_ids *out)
{
    bool short_enough = piece.len <= BPE_CACHE_LENGTH;
    uint32_t *known = NULL;
    size_t count = 0;
    if (out != NULL) {
        reserve(out, BPE_CACHE_TOKENS);
        known = out->ids + out->count;
    }
    if (piece.len > BPE_INLINE && bpe_slot_is(bpe, found->slot, found->key, piece.data, piece.len)) {
        count = 1;
        if (known != NULL)
            known[0] = found->slot->meta & BPE_NONE;
    } else if (short_enough) {
        count = bpe_cache_get(bpe->cache, &found->key, piece.data, piece.len, known);
    }
    if (count > 0) {
        if (out != NULL)
            out->count += count;
        return count;
    }
    struct bpe_found parts;
    bpe_cover(bpe, piece.data, piece.len, &parts);
    count = parts.count;
    if (short_enough && count > 0 && count <= BPE_CACHE_TOKENS)
        bpe_cache_put(bpe->cache, &found->key, piece.data, piece.len, parts.ids, count);
    if (out != NULL)
        append(out, parts.ids, count);
    free(parts.heap);
    return count;
}

/* Where each piece would be in the table, so that the table's lines are on their way before they are needed. */
static void look_up(const struct bpe *bpe, const char *text, const struct split_piece *pieces, size_t n,
                    struct lookup *found)
{
    size_t end = pieces[n - 1].to, longest = bpe->head->max_length;
    uint64_t seed = bpe->head->seed;
    uint32_t bucket_bits = bpe->head->bucket_bits, n_slots = bpe->head->n_slots;
    const struct bpe_slot *slots = bpe->slots;
    const uint16_t *seeds = bpe->seeds;
    for (size_t i = 0; i < n; i++) {
        size_t length = pieces[i].to - pieces[i].from;
        if (length > longest && length > BPE_CACHE_LENGTH)
            length = 1; /* is no token: which slot is looked at does not matter */
        struct bpe_key key = bpe_key_of(seed, text + pieces[i].from, length, end - pieces[i].from);
        const struct bpe_slot *slot = slots + bpe_slot_of(key.hash, seeds[bpe_bucket(key.hash, bucket_bits)], n_slots);
        __builtin_prefetch(slot);
        found[i] = (struct lookup){key, slot};
    }
}

/* At most BATCH pieces. Those that are short and one token, which most are, go without a jump; the others are listed,
 * and come in their turn. */
static int64_t encode_batch(const struct bpe *bpe, const char *text, const struct split_piece *pieces, size_t n,
                            struct token_ids *out)
{
    struct lookup found[BATCH];
    uint32_t ids[BATCH + STRIDE];
    uint16_t others[BATCH];
    size_t n_others = 0, from = 0;
    look_up(bpe, text, pieces, n, found);
    if (out != NULL)
        reserve(out, n + STRIDE);
    for (size_t i = 0; i < n; i++) {
        const struct bpe_slot *slot = found[i].slot;
        uint32_t length = pieces[i].to - pieces[i].from;
        uint64_t differs = (slot->lo ^ found[i].key.lo) | (slot->hi ^ found[i].key.hi) |
                           ((slot->meta & BPE_META_LENGTH_MASK) ^ (length << BPE_ID_BITS));
        ids[i] = slot->meta & BPE_NONE;
        others[n_others] = (uint16_t)i;
        n_others += (differs != 0) | (length > BPE_INLINE);
    }
    for (size_t i = 0; i < n_others; i++)
        bpe_cache_prefetch(bpe->cache, found[others[i]].key.hash);
    int64_t total = (int64_t)(n - n_others);
    for (size_t i = 0; i < n_others; i++) {
        const struct split_piece *piece = &pieces[others[i]];
        if (out != NULL)
            append_few(out, ids + from, others[i] - from);
        total +=
            (int64_t)encode_piece(bpe, &found[others[i]], str_make(text + piece->from, piece->to - piece->from), out);
        from = others[i] + 1u;
        if (out != NULL)
            reserve(out, n - from + STRIDE);
    }
    if (out != NULL)
        append_few(out, ids + from, n - from);
    return total;
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
