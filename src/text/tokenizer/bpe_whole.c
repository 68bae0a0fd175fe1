#include "core/mem.h"
#include "text/tokenizer/bpe_internal.h"

/* A perfect hash (Belazzougui, Botelho, Dietzfelbinger, "Hash, displace, and compress", 2009): keys fall into small
 * buckets, and for each bucket, the greatest first, a seed is sought that sends all its keys to free slots. Tokens that
 * are so regular that all buckets are of one size need more free slots at the end: every try has more of them. */

#define TRIES 24
#define SEEDS 65536u

struct builder {
    const struct bpe_whole_token *tokens;
    size_t count;
    struct bpe_key *keys;
    uint32_t *order;   /* tokens, ordered by bucket */
    uint32_t *begins;  /* by bucket, into `order`; one more than there are buckets */
    uint32_t *buckets; /* the fullest first */
    uint16_t *seeds;
    uint32_t *owners; /* by slot: index of the token, UINT32_MAX */
};

#define BYTES(n) ((n) >= 8 ? UINT64_MAX : (UINT64_C(1) << (8 * ((n)&7))) - 1)

const uint64_t bpe_masks_lo[17] = {BYTES(0), BYTES(1), BYTES(2), BYTES(3), BYTES(4), BYTES(5),
                                   BYTES(6), BYTES(7), BYTES(8), BYTES(8), BYTES(8), BYTES(8),
                                   BYTES(8), BYTES(8), BYTES(8), BYTES(8), BYTES(8)};
const uint64_t bpe_masks_hi[17] = {[9] = BYTES(1), BYTES(2), BYTES(3), BYTES(4),
                                   BYTES(5),       BYTES(6), BYTES(7), BYTES(8)};

struct bpe_key bpe_key_slowly(uint64_t seed, const char *at, size_t length)
{
    uint64_t lo = bpe_load(at, length), hi = length > 8 ? bpe_load(at + 8, length - 8) : 0;
    uint64_t hash = bpe_hash_words(seed, lo, hi, length);
    for (size_t i = 16; i < length; i += 8)
        hash = bpe_mix(hash ^ bpe_load(at + i, length - i), UINT64_C(0x8bb84b93962eacc9));
    return (struct bpe_key){lo, hi, hash};
}

static void sort_into_buckets(struct builder *b, const struct bpe_head *head)
{
    uint32_t n_buckets = 1u << head->bucket_bits, largest = 0;
    memset(b->begins, 0, (n_buckets + 1) * sizeof *b->begins);
    for (size_t i = 0; i < b->count; i++)
        b->begins[bpe_bucket(b->keys[i].hash, head->bucket_bits) + 1]++;
    for (uint32_t i = 0; i < n_buckets; i++)
        largest = b->begins[i + 1] > largest ? b->begins[i + 1] : largest;
    uint32_t at = 0;
    for (uint32_t size = largest + 1; size-- > 0;)
        for (uint32_t i = 0; i < n_buckets; i++)
            if (b->begins[i + 1] == size)
                b->buckets[at++] = i;
    for (uint32_t i = 0; i < n_buckets; i++)
        b->begins[i + 1] += b->begins[i];
    uint32_t *next = mem_calloc(n_buckets, sizeof *next);
    for (uint32_t i = 0; i < b->count; i++) {
        uint32_t bucket = bpe_bucket(b->keys[i].hash, head->bucket_bits);
        b->order[b->begins[bucket] + next[bucket]++] = i;
    }
    free(next);
}

static bool place_bucket(struct builder *b, const struct bpe_head *head, uint32_t bucket)
{
    uint32_t first = b->begins[bucket], last = b->begins[bucket + 1];
    for (uint32_t seed = 0; seed < SEEDS; seed++) {
        uint32_t placed = first;
        while (placed < last) {
            uint32_t slot = bpe_slot_of(b->keys[b->order[placed]].hash, seed, head->n_slots);
            if (b->owners[slot] != UINT32_MAX)
                break;
            b->owners[slot] = b->order[placed++];
        }
        if (placed == last) {
            b->seeds[bucket] = (uint16_t)seed;
            return true;
        }
        while (placed > first)
            b->owners[bpe_slot_of(b->keys[b->order[--placed]].hash, seed, head->n_slots)] = UINT32_MAX;
    }
    return false;
}

static bool place_all(struct builder *b, const struct bpe_head *head)
{
    for (size_t i = 0; i < b->count; i++)
        b->keys[i] = bpe_key_slowly(head->seed, b->tokens[i].text.data, b->tokens[i].text.len);
    sort_into_buckets(b, head);
    memset(b->owners, 0xff, head->n_slots * sizeof *b->owners);
    for (uint32_t i = 0; i < 1u << head->bucket_bits; i++)
        if (!place_bucket(b, head, b->buckets[i]))
            return false;
    return true;
}

static void write_slots(const struct builder *b, const struct bpe_head *head, struct image_writer *image)
{
    struct bpe_slot *slots = mem_calloc(head->n_slots, sizeof *slots);
    struct buf texts;
    buf_init(&texts, BUF_UNBOUNDED);
    for (uint32_t i = 0; i < head->n_slots; i++) {
        if (b->owners[i] == UINT32_MAX)
            continue;
        struct str text = b->tokens[b->owners[i]].text;
        const struct bpe_key *key = &b->keys[b->owners[i]];
        slots[i] = (struct bpe_slot){key->lo, (uint32_t)key->hi, b->tokens[b->owners[i]].meta};
        if (text.len > BPE_INLINE) {
            uint32_t length = (uint32_t)text.len;
            slots[i].hi = (uint32_t)texts.len;
            buf_add(&texts, str_make((const char *)&length, sizeof length));
            buf_add(&texts, text);
        }
    }
    image_add(image, IMAGE_WHOLE, slots, head->n_slots * sizeof *slots);
    image_add(image, IMAGE_WHOLE_SEEDS, b->seeds, (size_t)(1u << head->bucket_bits) * sizeof *b->seeds);
    image_add(image, IMAGE_WHOLE_TEXT, texts.data, texts.len);
    buf_finish(&texts);
    free(slots);
}

enum status bpe_whole_compile(struct bpe_head *head, const struct bpe_whole_token *tokens, size_t count,
                              struct image_writer *image, struct error *error)
{
    size_t most_slots = count * 2 + 64;
    head->bucket_bits = 1;
    while (head->bucket_bits < BPE_ID_BITS && ((size_t)4 << head->bucket_bits) < count)
        head->bucket_bits++;
    size_t n_buckets = (size_t)1 << head->bucket_bits;
    struct builder b = {
        .tokens = tokens,
        .count = count,
        .keys = mem_calloc(count, sizeof *b.keys),
        .order = mem_calloc(count, sizeof *b.order),
        .begins = mem_calloc(n_buckets + 1, sizeof *b.begins),
        .buckets = mem_calloc(n_buckets, sizeof *b.buckets),
        .seeds = mem_calloc(n_buckets, sizeof *b.seeds),
        .owners = mem_calloc(most_slots, sizeof *b.owners),
    };
    bool placed = false;
    for (uint32_t i = 0; i < TRIES && !placed; i++) {
        size_t spare = 1 + (i < 2 ? count / 32 : count * i / TRIES);
        head->n_slots = (uint32_t)(count + spare);
        head->seed = bpe_mix(i + 1, UINT64_C(0x9e3779b97f4a7c15));
        placed = place_all(&b, head);
    }
    if (placed)
        write_slots(&b, head, image);
    free(b.keys);
    free(b.order);
    free(b.begins);
    free(b.buckets);
    free(b.seeds);
    free(b.owners);
    if (!placed)
        return error_set(error, STATUS_UNSUPPORTED, "no table without collisions was found for the vocabulary");
    return STATUS_OK;
}
