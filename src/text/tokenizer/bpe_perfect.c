#include "core/mem.h"
#include "text/tokenizer/bpe_compile_internal.h"

/* Keys fall into small buckets, and for each bucket, the greatest first, a seed is sought that sends all its keys to
 * free places. Keys that are so regular that all buckets are of one size need more free places at the end: every try
 * has more of them. */

#define TRIES 24
#define SEEDS 65536u
#define KEYS  3  /* of a bucket, by and large */
#define STEPS 64 /* by key in one try; real vocabularies take 9 to 28, and then their first try is good */

struct builder {
    struct bpe_perfect_table *table;
    size_t count;
    uint64_t *hashes;
    uint32_t *order;   /* keys, ordered by bucket */
    uint32_t *begins;  /* by bucket, into `order`; one more than there are buckets */
    uint32_t *buckets; /* the fullest first */
    uint64_t steps;    /* that are left */
};

static void sort_into_buckets(struct builder *b)
{
    uint32_t n_buckets = b->table->shape.n_buckets, largest = 0;
    memset(b->begins, 0, (n_buckets + 1) * sizeof *b->begins);
    for (size_t i = 0; i < b->count; i++)
        b->begins[bpe_bucket(b->hashes[i], n_buckets) + 1]++;
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
        uint32_t bucket = bpe_bucket(b->hashes[i], n_buckets);
        b->order[b->begins[bucket] + next[bucket]++] = i;
    }
    free(next);
}

static bool place_bucket(struct builder *b, uint32_t bucket)
{
    uint32_t first = b->begins[bucket], last = b->begins[bucket + 1], n_places = b->table->shape.n_places;
    uint32_t *owners = b->table->owners;
    for (uint32_t seed = 0; seed < SEEDS && b->steps > 0; seed++) {
        uint32_t placed = first;
        while (placed < last && b->steps > 0) {
            b->steps--;
            uint32_t place = bpe_place_of(b->hashes[b->order[placed]], seed, n_places);
            if (owners[place] != UINT32_MAX)
                break;
            owners[place] = b->order[placed++];
        }
        if (placed == last) {
            b->table->seeds[bucket] = (uint16_t)seed;
            return true;
        }
        while (placed > first)
            owners[bpe_place_of(b->hashes[b->order[--placed]], seed, n_places)] = UINT32_MAX;
    }
    return false;
}

static bool place_all(struct builder *b)
{
    sort_into_buckets(b);
    memset(b->table->owners, 0xff, b->table->shape.n_places * sizeof *b->table->owners);
    for (uint32_t i = 0; i < b->table->shape.n_buckets; i++)
        if (!place_bucket(b, b->buckets[i]))
            return false;
    return true;
}

bool bpe_perfect_make(struct bpe_perfect_table *table, size_t count, bpe_hash_fn hash, const void *user)
{
    struct bpe_perfect *shape = &table->shape;
    size_t most_places = count * 2 + 64, n_buckets = count / KEYS + 1;
    shape->n_buckets = (uint32_t)n_buckets;
    table->seeds = mem_calloc(n_buckets, sizeof *table->seeds);
    table->owners = mem_calloc(most_places, sizeof *table->owners);
    struct builder b = {
        .table = table,
        .count = count,
        .hashes = mem_calloc(count, sizeof *b.hashes),
        .order = mem_calloc(count, sizeof *b.order),
        .begins = mem_calloc(n_buckets + 1, sizeof *b.begins),
        .buckets = mem_calloc(n_buckets, sizeof *b.buckets),
    };
    bool placed = false;
    for (uint32_t i = 0; i < TRIES && !placed; i++) {
        size_t spare = 1 + (i < 2 ? count / 32 : count * i / TRIES);
        shape->n_places = (uint32_t)(count + spare);
        shape->seed = bpe_mix(i + 1, UINT64_C(0x9e3779b97f4a7c15)) | 1;
        for (size_t key = 0; key < count; key++)
            b.hashes[key] = hash(user, key, shape->seed);
        b.steps = (uint64_t)STEPS * (count + SEEDS);
        placed = place_all(&b);
    }
    free(b.hashes);
    free(b.order);
    free(b.begins);
    free(b.buckets);
    if (!placed)
        bpe_perfect_finish(table);
    return placed;
}

void bpe_perfect_finish(struct bpe_perfect_table *table)
{
    free(table->seeds);
    free(table->owners);
}

void bpe_perfect_write_seeds(const struct bpe_perfect_table *table, enum image_section section,
                             struct image_writer *image)
{
    image_add(image, section, table->seeds, table->shape.n_buckets * sizeof *table->seeds);
}
