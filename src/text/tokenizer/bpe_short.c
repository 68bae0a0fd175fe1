#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "core/utf8.h"
#include "text/tokenizer/bpe_internal.h"

/* A short text is merged as it is defined, the best pair sought among all that there are. The table of pairs is too
 * large for the nearer caches: so several texts are merged in turns, and what each needs next is on its way while the
 * others are at work. Nothing is read as a vector that was written a moment ago, which would have to wait, too. */

#define ABREAST  8
#define FEW      16        /* symbols whose orders are always compared */
#define NOWHERE  BPE_SHORT /* the symbol before the first and behind the last */
#define NO_MERGE 0x7f000000

/* An order is as great an integer as it is a float, and none is so small that it is no normal float. */
#define LEAST_ORDER 0x01000000

#define ROW8(n) (n), (n) + 1, (n) + 2, (n) + 3, (n) + 4, (n) + 5, (n) + 6, (n) + 7
static const uint16_t places_before[BPE_SHORT] = {NOWHERE, 0,        1,        2,        3,        4,        5,       6,
                                                  ROW8(7), ROW8(15), ROW8(23), ROW8(31), ROW8(39), ROW8(47), ROW8(55)};
static const uint16_t places_after[BPE_SHORT] = {ROW8(1),  ROW8(9),  ROW8(17), ROW8(25),
                                                 ROW8(33), ROW8(41), ROW8(49), ROW8(57)};
static const uint64_t no_split = 0;

static size_t symbol_length(const struct bpe *bpe, const char *at, size_t rest)
{
    size_t length = 1;
    if (!bpe->head->byte_level)
        (void)utf8_decode(str_make(at, rest), &length);
    return length;
}

uint32_t bpe_symbol_at(const struct bpe *bpe, const char *at, size_t rest, size_t *length)
{
    *length = symbol_length(bpe, at, rest);
    if (*length == 1)
        return bpe->head->single[(unsigned char)*at];
    struct bpe_key key = bpe_key_slowly(bpe->head->whole.seed, at, *length);
    const struct bpe_slot *slot = bpe_find_slot(bpe, key.hash);
    if ((slot->meta & BPE_WHOLE_ONLY) != 0 || !bpe_slot_is(bpe, slot, key, at, *length))
        return BPE_NONE;
    return slot->meta & BPE_NONE;
}

static inline int32_t order_of(unsigned place, uint32_t rank)
{
    return rank == 0 ? NO_MERGE : (int32_t)((rank << 6) + place + LEAST_ORDER);
}

static inline struct bpe_look look_up(const struct bpe_pairs *pairs, const struct bpe_short *s, unsigned place,
                                      unsigned next)
{
    uint64_t pair = BPE_SPLIT_PAIR(s->ids[place], s->ids[next]);
    const uint64_t *split = bpe_pair_place(pairs, pair);
    __builtin_prefetch(split);
    return (struct bpe_look){pair, split, place};
}

static inline int32_t order_found(const struct bpe_look *look)
{
    return order_of(look->place, bpe_pair_rank(*look->split, look->pair));
}

/* BPE_CHARACTER, or 0. Merges across its ends are left out of account only where no ASCII stands before it. */
static inline uint64_t character_at(const struct bpe *bpe, const unsigned char *text, size_t at, size_t rest)
{
    const unsigned char *bytes = text + at;
    if (bytes[0] >> 4 != 14 || rest < 3 || !bpe_continues(bytes[1]) || !bpe_continues(bytes[2]) ||
        (rest > 3 && bpe_continues(bytes[3])) || (at > 0 && bytes[-1] < 0x80))
        return 0;
    uint32_t block = bpe->blocks[(bytes[0] & 15u) << 6 | (bytes[1] & 63u)];
    return bpe->characters[block << 6 | (bytes[2] & 63u)];
}

static inline void add_symbol(struct bpe_short *s, uint32_t id, size_t from)
{
    s->ids[s->count] = id;
    s->from[s->count++] = (uint8_t)from;
}

/* The symbol that was added last, and the one before it. */
static inline void look_back(const struct bpe_pairs *pairs, struct bpe_short *s)
{
    s->looks[s->n_looks++] = look_up(pairs, s, s->count - 2, s->count - 1);
}

/* No symbols yet; as many orders as are ever compared for a text of that length. */
static inline void clear(struct bpe_short *s, size_t length)
{
    s->count = s->n_looks = 0;
    for (size_t i = 0; i < FEW || i < length; i += 4)
        for (size_t lane = 0; lane < 4; lane++)
            s->order.at[i + lane] = NO_MERGE;
}

/* Text of which all bytes and all merges of two are near at hand; false for other text. */
static bool begin_ascii(const struct bpe *bpe, struct bpe_short *s, const unsigned char *bytes, size_t length)
{
    if (bytes[0] >= 0x80)
        return false;
    clear(s, length);
    const uint32_t *single = bpe->head->single;
    const uint16_t *doubles = bpe->doubles;
    unsigned last = (unsigned)length - 1, elsewhere = bytes[last] >> 7;
    for (unsigned i = 0; i < last; i++) {
        uint32_t rank = doubles[bytes[i] << 8 | bytes[i + 1]];
        s->order.at[i] = order_of(i, rank);
        elsewhere |= (rank + 1) >> 16 | bytes[i] >> 7;
    }
    for (unsigned i = 0; i < length; i++) {
        s->ids[i] = single[bytes[i]];
        elsewhere |= (s->ids[i] + 1) >> BPE_ID_BITS;
    }
    for (unsigned i = 0; i < length; i++)
        s->from[i] = (uint8_t)i;
    s->count = (unsigned)length;
    return elsewhere == 0;
}

static void add_byte(const struct bpe *bpe, struct bpe_short *s, const unsigned char *bytes, size_t at, bool alone)
{
    add_symbol(s, bpe->head->single[bytes[at]], at);
    if (alone)
        return;
    uint32_t rank = bpe->doubles[bytes[at - 1] << 8 | bytes[at]];
    if (rank == BPE_DOUBLE_ELSEWHERE)
        look_back(&bpe->pairs, s);
    else
        s->order.at[s->count - 2] = order_of(s->count - 2, rank);
}

static bool begin_bytes(const struct bpe *bpe, struct bpe_short *s, const unsigned char *bytes, size_t length)
{
    bool wide = false, closed = true; /* the symbol before is of a character; has no merges with what is behind it */
    uint32_t unknown = 0;
    clear(s, length);
    for (size_t at = 0; at < length;) {
        uint64_t entry = character_at(bpe, bytes, at, length - at);
        if (entry == 0) {
            add_byte(bpe, s, bytes, at, closed || wide);
            unknown |= s->ids[s->count - 1] == BPE_NONE;
            if (wide && !closed)
                look_back(&bpe->pairs, s);
            wide = closed = false;
            at++;
            continue;
        }
        add_symbol(s, BPE_CHARACTER_FIRST(entry), at);
        if (!closed && (entry & BPE_CHARACTER_MERGES_BEFORE) != 0)
            look_back(&bpe->pairs, s);
        if (BPE_CHARACTER_LENGTH(entry) < 3)
            add_symbol(s, BPE_CHARACTER_SECOND(entry), at + BPE_CHARACTER_LENGTH(entry));
        wide = true;
        closed = (entry & BPE_CHARACTER_MERGES_BEHIND) == 0;
        at += 3;
    }
    return unknown == 0;
}

static bool begin_characters(const struct bpe *bpe, struct bpe_short *s, const char *text, size_t length)
{
    clear(s, length);
    for (size_t at = 0, step; at < length; at += step) {
        uint32_t id = bpe_symbol_at(bpe, text + at, length - at, &step);
        if (id == BPE_NONE)
            return false;
        add_symbol(s, id, at);
        if (s->count > 1)
            look_back(&bpe->pairs, s);
    }
    return true;
}

/* False when some symbol is unknown. */
static bool begin(const struct bpe *bpe, struct bpe_short *s, const char *text, size_t length)
{
    const unsigned char *bytes = (const unsigned char *)text;
    bool known = bpe->head->byte_level ? begin_ascii(bpe, s, bytes, length) || begin_bytes(bpe, s, bytes, length)
                                       : begin_characters(bpe, s, text, length);
    if (!known)
        return false;
    for (size_t i = 0; i < s->count; i += 8) {
        memcpy(s->before + i, places_before + i, 8 * sizeof *s->before);
        memcpy(s->after + i, places_after + i, 8 * sizeof *s->after);
    }
    s->after[s->count - 1] = NOWHERE;
    s->ids[NOWHERE] = BPE_NONE;
    s->next[0] = s->next[1] = (struct bpe_look){0, &no_split, NOWHERE};
    return true;
}

static inline int32_t least_of(const struct bpe_short *s)
{
#if defined(__SSE2__)
    __m128 first = _mm_load_ps(s->order.wide), second = _mm_load_ps(s->order.wide + 4);
    __m128 third = _mm_load_ps(s->order.wide + 8), fourth = _mm_load_ps(s->order.wide + 12);
    __m128 least = _mm_min_ps(_mm_min_ps(first, second), _mm_min_ps(third, fourth));
    for (size_t i = FEW; i < s->count; i += 4)
        least = _mm_min_ps(least, _mm_load_ps(s->order.wide + i));
    least = _mm_min_ps(least, _mm_movehl_ps(least, least));
    least = _mm_min_ss(least, _mm_shuffle_ps(least, least, 1));
    return _mm_cvtsi128_si32(_mm_castps_si128(least));
#else
    int32_t least = NO_MERGE;
    for (unsigned i = 0; i < s->count; i++)
        least = s->order.at[i] < least ? s->order.at[i] : least;
    return least;
#endif
}

/* The next merge; false when there is none. */
static inline bool step(const struct bpe_pairs *pairs, struct bpe_short *s)
{
    if (s->n_looks > 0) {
        for (unsigned i = 0; i < s->n_looks; i++)
            s->order.at[s->looks[i].place] = order_found(&s->looks[i]);
        s->n_looks = 0;
        return true;
    }
    int32_t least = least_of(s), new0 = order_found(&s->next[0]), new1 = order_found(&s->next[1]);
    least = least < new0 ? least : new0;
    least = least < new1 ? least : new1;
    s->order.at[s->next[0].place] = new0;
    s->order.at[s->next[1].place] = new1;
    if (least == NO_MERGE)
        return false;
    unsigned left = (unsigned)least % BPE_SHORT, right = s->after[left], after = s->after[right];
    unsigned before = s->before[left];
    s->ids[left] = bpe_merged(pairs, (uint32_t)(least - LEAST_ORDER) >> 6);
    s->order.at[left] = s->order.at[right] = s->order.at[before] = NO_MERGE;
    s->after[left] = (uint16_t)after;
    s->before[after] = (uint16_t)left;
    s->next[0] = look_up(pairs, s, left, after);
    s->next[1] = look_up(pairs, s, before, left);
    return true;
}

bool bpe_short_merge(const struct bpe *bpe, struct bpe_short *s, const char *text, size_t length)
{
    const struct bpe_pairs pairs = bpe->pairs;
    if (!begin(bpe, s, text, length))
        return false;
    while (step(&pairs, s))
        ;
    return true;
}

static void add_tokens(const struct bpe_short *s, struct bpe_job *job, struct bpe_found *found)
{
    job->from = found->count;
    bpe_found_reserve(found, BPE_SHORT);
    uint32_t *to = found->ids + found->count;
    for (unsigned i = 0; i != NOWHERE; i = s->after[i])
        *to++ = s->ids[i];
    found->count = (size_t)(to - found->ids);
    job->count = found->count - job->from;
}

/* The next of the jobs that is for `s`; others are done at once. NULL when none is left. */
static struct bpe_job *next_job(const struct bpe *bpe, struct bpe_short *s, struct bpe_job *job,
                                const struct bpe_job *end, struct bpe_found *found)
{
    for (; job < end; job++) {
        if (job->length > 0 && job->length <= BPE_SHORT && begin(bpe, s, job->text, job->length))
            return job;
        job->from = found->count;
        bpe_cover(bpe, job->text, job->length, found);
        job->count = found->count - job->from;
    }
    return NULL;
}

void bpe_merge_jobs(const struct bpe *bpe, struct bpe_job *jobs, size_t n, struct bpe_found *found)
{
    const struct bpe_pairs pairs = bpe->pairs;
    struct bpe_short shorts[ABREAST], *active[ABREAST];
    struct bpe_job *job_of[ABREAST], *next = jobs, *end = jobs + n;
    unsigned n_active = 0;
    while (n_active < ABREAST && (next = next_job(bpe, &shorts[n_active], next, end, found)) != NULL) {
        active[n_active] = &shorts[n_active];
        job_of[n_active++] = next++;
    }
    while (n_active > 0)
        for (unsigned i = 0; i < n_active;) {
            if (step(&pairs, active[i])) {
                i++;
                continue;
            }
            add_tokens(active[i], job_of[i], found);
            if (next != NULL)
                next = next_job(bpe, active[i], next, end, found);
            if (next != NULL) {
                job_of[i] = next++;
            } else {
                active[i] = active[--n_active];
                job_of[i] = job_of[n_active];
            }
        }
}
