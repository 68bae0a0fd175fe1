/* src/text/tokenizer/bpe_internal.h
 *
 * What the compiled form of a BPE model holds, and how it is looked up. Only for bpe*.c.
 *
 * The merge of a piece is a function of its text alone, and whatever part of the piece a token covers was merged as if
 * it stood alone: else some merge would have crossed the token's edge. Three things follow, for any list of merges:
 *
 * - A token that appears at all is always merged from the same two. Of all merges that give it only that one ever
 *   happens, and the others need not be kept.
 * - The encoding of a text is the one sequence of tokens in which every two neighbours, encoded alone, stay what they
 *   are. It may be put together out of encodings of its parts: bpe_merge.c reads a long text through windows.
 * - Where every merge comes later in the list than those that made its two parts (`ordered`), two neighbours are
 *   checked by taking back their merges from the last to the first, along the edge between them.
 */
#ifndef FATHOM_TEXT_TOKENIZER_BPE_INTERNAL_H
#define FATHOM_TEXT_TOKENIZER_BPE_INTERNAL_H

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "text/tokenizer/bpe.h"

#define BPE_ID_BITS 20
#define BPE_NONE    ((1u << BPE_ID_BITS) - 1) /* no token; ids are below it */

/* A token as a piece. Up to BPE_INLINE bytes of it stand in `lo` and `hi`, zeros behind them; of a longer one `lo` has
 * the first 8, and `hi` says where in IMAGE_WHOLE_TEXT its uint32_t length and all of it stand. */
#define BPE_INLINE 12
struct bpe_slot {
    uint64_t lo;
    uint32_t hi;
    uint32_t meta; /* id; length << 20, 255 for all above; BPE_WHOLE_ONLY */
};

/* The token is taken where it is a whole piece; merges never give it. */
#define BPE_WHOLE_ONLY          (1u << 28)
#define BPE_META_LENGTH(length) ((uint32_t)((length) < 255 ? (length) : 255) << BPE_ID_BITS)
#define BPE_META_LENGTH_MASK    (255u << BPE_ID_BITS)

/* What a token was merged from: left | right << 20 | rank << 40. Ranks count from 1; 0 is a token that no merge makes.
 * Where ids are in the order of the merges (`ranked`) a rank is the id it gives + 1, else IMAGE_MERGED has that id, by
 * rank - 1. */
#define BPE_SPLIT_LEFT(split)       ((uint32_t)(split)&BPE_NONE)
#define BPE_SPLIT_RIGHT(split)      ((uint32_t)((split) >> BPE_ID_BITS) & BPE_NONE)
#define BPE_SPLIT_RANK(split)       ((uint32_t)((split) >> (2 * BPE_ID_BITS)))
#define BPE_SPLIT_PAIR(left, right) ((uint64_t)(left) | (uint64_t)(right) << BPE_ID_BITS)
#define BPE_SPLIT_PAIR_MASK         ((UINT64_C(1) << (2 * BPE_ID_BITS)) - 1)

/* IMAGE_PAIRS: the splits of all tokens that merges make, each in the one place where its pair can be, so that one look
 * tells whether two tokens merge; 0 in places that are free, one at least. IMAGE_SPLITS: which place is a token's, by
 * id (uint32_t); a free one for a token that no merge makes. */

/* IMAGE_DOUBLES: the rank of the merge of two bytes, by first << 8 | second; 0 where they do not merge. */
#define BPE_DOUBLE_ELSEWHERE UINT16_MAX /* to be found in IMAGE_PAIRS: it is too great */

/* IMAGE_CHARACTERS: what the characters of three bytes become before any merge of a part of them with what stands
 * beside them: by the first 10 bits of the code point, in which block of 64 it is (uint16_t), and the blocks
 * (uint64_t): one token or two, how many bytes are the first's, and whether it has merges at all with what stands
 * before it, and the last with what stands behind it; 0 where it is not so. The first block has none. */
#define BPE_BLOCKS                           1024u
#define BPE_CHARACTER(first, second, length) ((uint64_t)(first) | (uint64_t)(second) << 20 | (uint64_t)(length) << 40)
#define BPE_CHARACTER_FIRST(entry)           ((uint32_t)(entry)&BPE_NONE)
#define BPE_CHARACTER_SECOND(entry)          ((uint32_t)((entry) >> 20) & BPE_NONE)
#define BPE_CHARACTER_LENGTH(entry)          ((unsigned)((entry) >> 40) & 3u)
#define BPE_CHARACTER_MERGES_BEFORE          (UINT64_C(1) << 42)
#define BPE_CHARACTER_MERGES_BEHIND          (UINT64_C(1) << 43)

/* Whether a byte of UTF-8 is not the first of its character. */
static inline bool bpe_continues(unsigned char byte)
{
    return byte >> 6 == 2;
}

/* A perfect hash: keys fall into buckets by the first bits of their hash, and each bucket has a seed that makes of the
 * hashes of its keys places that no other key has. */
struct bpe_perfect {
    uint64_t seed; /* of the hash itself */
    uint32_t n_places, n_buckets;
};

/* IMAGE_BYTES. */
struct bpe_head {
    struct bpe_perfect whole, pairs;
    uint32_t max_length; /* of a token, in bytes */
    uint8_t byte_level, whole_first, fuse_unknown, byte_fallback, ordered;
    uint8_t ranked;            /* of two tokens that merges make, the one with the lower id is merged first */
    uint8_t cuts;              /* no token has U+2581 behind a byte but those of `before_space` */
    uint8_t before_space[256]; /* by the last byte before it */
    uint32_t unknown;          /* or BPE_NONE */
    uint32_t bytes[256];       /* the tokens <0x00> to <0xFF> that stand for bytes */
    uint32_t single[256];      /* the tokens of one byte */
};

struct bpe_cache;

/* Where pairs are found. */
struct bpe_pairs {
    uint64_t seed;
    uint32_t n_places, n_buckets;
    const uint16_t *seeds;
    const uint64_t *splits; /* by place */
    const uint32_t *merged; /* NULL where ids are in the order of the merges */
};

struct bpe {
    const struct bpe_head *head;
    const struct bpe_slot *slots;
    const uint16_t *seeds;
    const char *long_text;
    struct bpe_pairs pairs;
    const uint32_t *places;           /* in them, by id */
    const uint16_t *doubles, *blocks; /* where the symbols are bytes */
    const uint64_t *characters;
    struct bpe_cache *cache;
};

__extension__ typedef unsigned __int128 bpe_wide;

static inline uint64_t bpe_mix(uint64_t a, uint64_t b)
{
    bpe_wide product = (bpe_wide)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* The first and second 8 bytes of a text, zeros behind its end, and its hash. */
struct bpe_key {
    uint64_t lo, hi, hash;
};

static inline uint64_t bpe_hash_words(uint64_t seed, uint64_t lo, uint64_t hi, size_t length)
{
    return bpe_mix(lo ^ seed, hi ^ UINT64_C(0xa0761d6478bd642f) ^ (uint64_t)length * UINT64_C(0xe7037ed1a0b428db));
}

static inline uint64_t bpe_load(const char *at, size_t length)
{
    uint64_t word = 0;
    if (length >= 8)
        memcpy(&word, at, 8);
    else
        memcpy(&word, at, length);
    return le64toh(word);
}

/* Of the first `length` bytes of a word; all of them from 8 on. */
static inline uint64_t bpe_mask(size_t length)
{
    return length >= 8 ? UINT64_MAX : (UINT64_C(1) << (8 * length)) - 1;
}

extern const uint64_t bpe_masks_lo[17], bpe_masks_hi[17]; /* bpe_whole.c: of a text of so many bytes */

/* Of any length. `readable` bytes may be read. */
struct bpe_key bpe_key_slowly(uint64_t seed, const char *at, size_t length);

static inline struct bpe_key bpe_key_of(uint64_t seed, const char *at, size_t length, size_t readable)
{
    if (length > 16 || readable < 16)
        return bpe_key_slowly(seed, at, length);
    uint64_t lo, hi;
    memcpy(&lo, at, 8);
    memcpy(&hi, at + 8, 8);
    lo = le64toh(lo) & bpe_masks_lo[length];
    hi = le64toh(hi) & bpe_masks_hi[length];
    return (struct bpe_key){lo, hi, bpe_hash_words(seed, lo, hi, length)};
}

static inline uint32_t bpe_bucket(uint64_t hash, uint32_t n_buckets)
{
    return (uint32_t)(((hash >> 32) * n_buckets) >> 32);
}

/* `seed`: of the hash's bucket. */
static inline uint32_t bpe_place_of(uint64_t hash, uint32_t seed, uint32_t n_places)
{
    uint32_t mixed = ((uint32_t)(hash >> 12) ^ seed << 16) * 0x85ebca6bu;
    return (uint32_t)(((uint64_t)mixed * n_places) >> 32);
}

/* Whether a slot is the token that is written as `at`, of which `key` was made. */
static inline bool bpe_slot_is(const struct bpe *bpe, const struct bpe_slot *slot, struct bpe_key key, const char *at,
                               size_t length)
{
    if (slot->lo != key.lo || (slot->meta & BPE_META_LENGTH_MASK) != BPE_META_LENGTH(length))
        return false;
    if (length <= BPE_INLINE)
        return slot->hi == (uint32_t)key.hi;
    uint32_t whole;
    memcpy(&whole, bpe->long_text + slot->hi, sizeof whole);
    return whole == length && memcmp(bpe->long_text + slot->hi + sizeof whole, at, length) == 0;
}

static inline const struct bpe_slot *bpe_find_slot(const struct bpe *bpe, uint64_t hash)
{
    uint32_t seed = bpe->seeds[bpe_bucket(hash, bpe->head->whole.n_buckets)];
    return bpe->slots + bpe_place_of(hash, seed, bpe->head->whole.n_places);
}

/* `seed` is odd. All that is asked of the hash's lower bits is that keys of one bucket differ. */
static inline uint64_t bpe_pair_hash(uint64_t pair, uint64_t seed)
{
    return pair * seed;
}

/* Where the split of what two tokens merge into is, if they do. */
static inline const uint64_t *bpe_pair_place(const struct bpe_pairs *pairs, uint64_t pair)
{
    uint64_t hash = bpe_pair_hash(pair, pairs->seed);
    uint32_t seed = pairs->seeds[bpe_bucket(hash, pairs->n_buckets)];
    return pairs->splits + bpe_place_of(hash, seed, pairs->n_places);
}

static inline uint64_t bpe_split(const struct bpe *bpe, uint32_t id)
{
    return bpe->pairs.splits[bpe->places[id]];
}

/* The rank of the merge of a pair, of which `split` is in its place; or 0. */
static inline uint32_t bpe_pair_rank(uint64_t split, uint64_t pair)
{
    return (split & BPE_SPLIT_PAIR_MASK) == pair ? BPE_SPLIT_RANK(split) : 0;
}

static inline uint32_t bpe_rank(const struct bpe *bpe, uint32_t left, uint32_t right)
{
    uint64_t pair = BPE_SPLIT_PAIR(left, right);
    return bpe_pair_rank(*bpe_pair_place(&bpe->pairs, pair), pair);
}

/* What the merge with a rank gives. */
static inline uint32_t bpe_merged(const struct bpe_pairs *pairs, uint32_t rank)
{
    return pairs->merged == NULL ? rank - 1 : pairs->merged[rank - 1];
}

/* bpe_whole.c: the table of pieces. */
struct bpe_whole_token {
    struct str text;
    uint32_t meta;
};
enum status bpe_whole_compile(struct bpe_head *head, const struct bpe_whole_token *tokens, size_t count,
                              struct image_writer *image, struct error *error) STATUS_CHECKED;

/* bpe_textbook.c: merging as it is defined. */
struct bpe_symbol {
    uint32_t id;          /* BPE_NONE once its text is another's */
    uint32_t from, to;    /* in bytes; for the ranking */
    uint32_t left, right; /* what it was merged from; BPE_NONE */
    uint32_t rank;
    uint32_t before, after; /* indexes, UINT32_MAX */
};

/* What two neighbours merge into: rank << 32 | id, or UINT64_MAX. */
typedef uint64_t (*bpe_rank_fn)(const void *user, const struct bpe_symbol *left, const struct bpe_symbol *right);

/* Merges `symbols` in place, of which id, from and to are set, and returns how many are left, moved to the front. */
size_t bpe_merge_symbols(struct bpe_symbol *symbols, size_t count, bpe_rank_fn rank, const void *user);

/* The tokens of a text; bpe_merge.c. */
struct bpe_found {
    uint32_t *ids; /* `heap` or `room` */
    size_t count, capacity;
    uint32_t *heap; /* NULL while `room` is enough */
    uint32_t room[2048];
};
void bpe_found_init(struct bpe_found *found);
void bpe_found_finish(struct bpe_found *found);
void bpe_found_reserve(struct bpe_found *found, size_t more);
void bpe_found_add(struct bpe_found *found, uint32_t id);

/* bpe_short.c: a text of at most BPE_SHORT bytes while it is merged, and then. */
#define BPE_SHORT 64

/* A pair of neighbours, and where its split is, if they merge. */
struct bpe_look {
    uint64_t pair;
    const uint64_t *split;
    uint32_t place; /* of the left symbol */
};

struct bpe_short {
    union {
        _Alignas(16) float wide[BPE_SHORT];
        int32_t at[BPE_SHORT + 1]; /* of a symbol and the next one: by the rank of their merge, then by place */
    } order;
    uint32_t ids[BPE_SHORT + 1];
    uint16_t before[BPE_SHORT + 1], after[BPE_SHORT + 1]; /* the first symbol is 0; BPE_SHORT where there is none */
    uint8_t from[BPE_SHORT];                              /* where the symbol begins in the text */
    unsigned count, n_looks;
    struct bpe_look looks[BPE_SHORT], next[2];
};

/* False when some symbol is unknown. */
bool bpe_short_merge(const struct bpe *bpe, struct bpe_short *s, const char *text, size_t length);

/* Adds the tokens of pieces, in any order, and says of each which are its own. */
struct bpe_job {
    const char *text;
    size_t length;
    size_t from, count; /* of the tokens found */
};
void bpe_merge_jobs(const struct bpe *bpe, struct bpe_job *jobs, size_t n, struct bpe_found *found);

/* Adds the tokens of a text that is not empty; false, and nothing is added, when it has symbols that are unknown. */
bool bpe_merge_text(const struct bpe *bpe, const char *text, size_t length, struct bpe_found *found);

/* The symbol that `at` begins with, or BPE_NONE: a byte or a character, of `length` bytes. */
uint32_t bpe_symbol_at(const struct bpe *bpe, const char *at, size_t rest, size_t *length);

/* bpe_cover.c: adds the tokens of one piece, whatever is in it. */
void bpe_cover(const struct bpe *bpe, const char *at, size_t length, struct bpe_found *found);

/* bpe_cache.c: the tokens of pieces seen before, for all threads. Keys of at most BPE_CACHE_LENGTH bytes. */
#define BPE_CACHE_LENGTH 24
#define BPE_CACHE_TOKENS 8
struct bpe_cache *bpe_cache_create(void);
void bpe_cache_destroy(struct bpe_cache *cache);
/* The number of tokens, 0 where it is not known; the rest of `ids` is of no use. */
size_t bpe_cache_get(struct bpe_cache *cache, const struct bpe_key *key, const char *at, size_t length,
                     uint32_t ids[BPE_CACHE_TOKENS]);
void bpe_cache_put(struct bpe_cache *cache, const struct bpe_key *key, const char *at, size_t length,
                   const uint32_t *ids, size_t count);
void bpe_cache_prefetch(struct bpe_cache *cache, uint64_t hash);

#endif
