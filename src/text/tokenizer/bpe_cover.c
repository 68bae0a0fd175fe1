#include "core/mem.h"
#include "core/utf8.h"
#include "text/tokenizer/bpe_internal.h"

/* The tokens of a piece from left to right: the longest token that its left neighbour allows, and where none is left
 * to try, one step back. A place that was given up is never tried again, because the text before it has one encoding
 * only: so the work is proportional to the length of the text. */

struct step {
    uint32_t id, from;
};

#define ROOM 128

struct cover {
    const struct bpe *bpe;
    const char *text;
    size_t length, readable;
    struct step *steps; /* `room`, or `heap` */
    size_t depth, capacity;
    uint64_t *dead; /* bits, by place; `dead_room`, or `dead_heap` */
    struct step *heap;
    uint64_t *dead_heap;
    struct step room[ROOM];
    uint64_t dead_room[ROOM / 8];
};

/* A place in the text: its next 16 bytes, and the lengths that a token may have there, from the longest. */
struct place {
    const char *at;
    size_t readable;
    uint64_t lo, hi;
    uint64_t mask;         /* lengths up to BPE_LONG_LAST */
    uint32_t longer, last; /* into head->lengths */
};

static uint64_t short_lengths(const struct bpe *bpe, uint64_t word)
{
    uint64_t hash = bpe_prefix_hash(word, 3);
    uint32_t size = 1u << bpe->head->three_bits;
    for (uint64_t i = hash >> (64 - bpe->head->three_bits);; i = (i + 1) & (size - 1)) {
        uint16_t found = bpe->lengths.three[i];
        if (found == 0)
            return 0;
        if ((found & ~7u) == BPE_SHORT_TAG(hash))
            return (uint64_t)(found & 7u) << 3;
    }
}

static uint32_t long_lengths(const struct bpe *bpe, uint64_t word)
{
    uint64_t hash = bpe_prefix_hash(word, 5);
    uint32_t size = 1u << bpe->head->five_bits;
    for (uint64_t i = hash >> (64 - bpe->head->five_bits);; i = (i + 1) & (size - 1)) {
        if (bpe->lengths.tags[i] == 0)
            return 0;
        if (bpe->lengths.tags[i] == BPE_LONG_TAG(hash))
            return bpe->lengths.masks[i];
    }
}

static struct place place_at(const struct cover *c, size_t from, size_t most)
{
    const struct bpe_head *head = c->bpe->head;
    struct place place = {.at = c->text + from, .readable = c->readable - from};
    if (place.readable >= 16) {
        memcpy(&place.lo, place.at, 8);
        memcpy(&place.hi, place.at + 8, 8);
        place.lo = le64toh(place.lo);
        place.hi = le64toh(place.hi);
    } else {
        place.lo = bpe_load(place.at, place.readable);
        place.hi = place.readable > 8 ? bpe_load(place.at + 8, place.readable - 8) : 0;
    }
    place.mask = 2 | (head->doubles[(place.lo & 0xffff) / 64] >> (place.lo & 63) & 1) << 2;
    if (most >= 3)
        place.mask |= short_lengths(c->bpe, place.lo);
    if (most >= BPE_LONG_FIRST) {
        uint32_t lengths = long_lengths(c->bpe, place.lo);
        place.mask |= (uint64_t)(lengths & ~BPE_LONGER) << BPE_LONG_FIRST;
        place.last = (lengths & BPE_LONGER) != 0 ? head->n_lengths : 0;
    }
    if (most < BPE_LONG_LAST)
        place.mask &= (UINT64_C(2) << most) - 1;
    while (place.longer < place.last && head->lengths[place.longer] > most)
        place.longer++;
    return place;
}

static size_t next_length(const struct bpe_head *head, struct place *place)
{
    if (place->longer < place->last)
        return head->lengths[place->longer++];
    if (place->mask == 0)
        return 0;
    size_t length = 63 - (size_t)__builtin_clzll(place->mask);
    place->mask &= ~(UINT64_C(1) << length);
    return length;
}

static uint32_t token_of(const struct bpe *bpe, const struct place *place, size_t length)
{
    if (length == 1)
        return bpe->head->single[place->lo & 255];
    uint64_t seed = bpe->head->seed;
    struct bpe_key key;
    if (length <= 16) {
        key.lo = place->lo & bpe_mask(length);
        key.hi = length > 8 ? place->hi & bpe_mask(length - 8) : 0;
        key.hash = bpe_hash_words(seed, key.lo, key.hi, length);
    } else {
        key = bpe_key_slowly(seed, place->at, length);
    }
    const struct bpe_slot *slot = bpe_find_slot(bpe, key.hash);
    if (!bpe_slot_is(bpe, slot, key, place->at, length) || (slot->meta & BPE_WHOLE_ONLY) != 0)
        return BPE_NONE;
    return slot->meta & BPE_NONE;
}

/* Whether merging the text of the two gives the two: their merges are taken back, the last first, and at no time may
 * the symbols at the edge have had a merge of their own that came before the next one. */
static bool check_together(const struct bpe *bpe, uint32_t left, uint32_t right)
{
    uint64_t left_split = bpe->splits[left], right_split = bpe->splits[right];
    uint32_t limit = UINT32_MAX;
    for (;;) {
        uint32_t merged = bpe_merged(bpe, left, right);
        if (merged != BPE_NONE && BPE_SPLIT_RANK(bpe->splits[merged]) < limit)
            return false;
        uint32_t left_rank = BPE_SPLIT_RANK(left_split), right_rank = BPE_SPLIT_RANK(right_split);
        if (left_rank == 0 && right_rank == 0)
            return true;
        if (left_rank > right_rank) {
            limit = left_rank;
            left = BPE_SPLIT_RIGHT(left_split);
            left_split = bpe->splits[left];
        } else {
            limit = right_rank + 1;
            right = BPE_SPLIT_LEFT(right_split);
            right_split = bpe->splits[right];
        }
    }
}

static bool fit_together(const struct bpe *bpe, uint32_t left, uint32_t right)
{
    int known = bpe_cache_get_pair(bpe->cache, BPE_SPLIT_PAIR(left, right));
    if (known >= 0)
        return known;
    bool fit = check_together(bpe, left, right);
    bpe_cache_put_pair(bpe->cache, BPE_SPLIT_PAIR(left, right), fit);
    return fit;
}

static uint32_t token_at(const struct cover *c, size_t from, size_t length)
{
    const char *at = c->text + from;
    struct bpe_key key = bpe_key_of(c->bpe->head->seed, at, length, c->readable - from);
    const struct bpe_slot *slot = bpe_find_slot(c->bpe, key.hash);
    if ((slot->meta & BPE_WHOLE_ONLY) != 0 || !bpe_slot_is(c->bpe, slot, key, at, length))
        return BPE_NONE;
    return slot->meta & BPE_NONE;
}

static bool is_dead(const struct cover *c, size_t place)
{
    return (c->dead[place / 64] >> (place % 64) & 1) != 0;
}

static void add_step(struct cover *c, uint32_t id, size_t from)
{
    if (c->depth == c->capacity) {
        c->capacity *= 2;
        struct step *heap = mem_realloc(c->heap, c->capacity, sizeof *heap);
        if (c->heap == NULL)
            memcpy(heap, c->room, sizeof c->room);
        c->steps = c->heap = heap;
    }
    c->steps[c->depth++] = (struct step){id, (uint32_t)from};
}

/* Adds the longest token of at most `most` bytes that may stand at `from`; returns its length, 0 where there is none.
 */
static size_t extend(struct cover *c, size_t from, size_t most)
{
    struct place place = place_at(c, from, most);
    for (size_t length; (length = next_length(c->bpe->head, &place)) != 0;) {
        if (is_dead(c, from + length))
            continue;
        uint32_t id = token_of(c->bpe, &place, length);
        if (id == BPE_NONE || (c->depth > 0 && !fit_together(c->bpe, c->steps[c->depth - 1].id, id)))
            continue;
        add_step(c, id, from);
        return length;
    }
    return 0;
}

/* False when some character has no token. */
static bool cover_from_left(struct cover *c)
{
    size_t at = 0, most = c->length;
    while (at < c->length) {
        size_t length = extend(c, at, most);
        if (length > 0) {
            at += length;
            most = c->length - at;
        } else if (c->depth == 0) {
            return false;
        } else {
            c->dead[at / 64] |= UINT64_C(1) << (at % 64);
            struct step last = c->steps[--c->depth];
            most = at - last.from - 1;
            at = last.from;
        }
    }
    return true;
}

static uint64_t rank_of(const void *user, const struct bpe_symbol *left, const struct bpe_symbol *right)
{
    const struct bpe *bpe = user;
    uint32_t merged = bpe_merged(bpe, left->id, right->id);
    return merged == BPE_NONE ? UINT64_MAX : (uint64_t)BPE_SPLIT_RANK(bpe->splits[merged]) << 32 | merged;
}

static size_t symbol_length(const struct cover *c, size_t at)
{
    size_t length = 1;
    if (!c->bpe->head->byte_level)
        (void)utf8_decode(str_make(c->text + at, c->length - at), &length);
    return length;
}

/* For vocabularies whose merges are in no order. */
static bool cover_by_merging(struct cover *c)
{
    struct bpe_symbol *symbols = mem_calloc(c->length, sizeof *symbols);
    size_t count = 0;
    bool known = true;
    for (size_t at = 0, length; at < c->length && known; at += length) {
        length = symbol_length(c, at);
        uint32_t id = token_at(c, at, length);
        known = id != BPE_NONE;
        symbols[count++] = (struct bpe_symbol){.id = id, .from = (uint32_t)at, .to = (uint32_t)(at + length)};
    }
    if (known) {
        count = bpe_merge_symbols(symbols, count, rank_of, c->bpe);
        for (size_t i = 0; i < count; i++)
            add_step(c, symbols[i].id, symbols[i].from);
    }
    free(symbols);
    return known;
}

static void add_found(struct bpe_found *found, uint32_t id)
{
    if (found->count == found->capacity) {
        found->capacity *= 2;
        uint32_t *heap = mem_realloc(found->heap, found->capacity, sizeof *heap);
        if (found->heap == NULL)
            memcpy(heap, found->room, sizeof found->room);
        found->ids = found->heap = heap;
    }
    found->ids[found->count++] = id;
}

/* A part of a piece, in which all characters are known or it is not covered at all. */
static bool cover_part(const struct bpe *bpe, const char *at, size_t length, size_t readable, struct bpe_found *found)
{
    struct cover c;
    c.bpe = bpe;
    c.text = at;
    c.length = length;
    c.readable = readable;
    c.steps = c.room;
    c.depth = 0;
    c.capacity = ROOM;
    c.heap = NULL;
    c.dead_heap = NULL;
    c.dead = c.dead_room;
    if (length / 64 + 1 > sizeof c.dead_room / sizeof c.dead_room[0])
        c.dead = c.dead_heap = mem_calloc(length / 64 + 1, sizeof *c.dead);
    else
        memset(c.dead_room, 0, (length / 64 + 1) * sizeof *c.dead);
    bool known = bpe->head->ordered ? cover_from_left(&c) : cover_by_merging(&c);
    for (size_t i = 0; known && i < c.depth; i++)
        add_found(found, c.steps[i].id);
    free(c.heap);
    free(c.dead_heap);
    return known;
}

/* What waits to be written as one unknown token: it is written in front of the next known character, while bytes that
 * come meanwhile go before it. So does Hugging Face's implementation. */
static void end_unknown(const struct bpe *bpe, struct bpe_found *found, bool *waiting)
{
    if (*waiting)
        add_found(found, bpe->head->unknown);
    *waiting = false;
}

/* Whether all bytes of an unknown character have tokens to be written with. */
static bool has_bytes(const struct bpe_head *head, const char *at, size_t length)
{
    bool known = head->byte_fallback;
    for (size_t i = 0; i < length && known; i++)
        known = head->bytes[(unsigned char)at[i]] != BPE_NONE;
    return known;
}

static void add_unknown(const struct bpe *bpe, const char *at, size_t length, struct bpe_found *found, bool *waiting)
{
    if (has_bytes(bpe->head, at, length)) {
        for (size_t i = 0; i < length; i++)
            add_found(found, bpe->head->bytes[(unsigned char)at[i]]);
        return;
    }
    if (!bpe->head->fuse_unknown)
        end_unknown(bpe, found, waiting);
    *waiting = true;
}

static void cover_with_unknown(const struct bpe *bpe, const char *at, size_t length, size_t readable,
                               struct bpe_found *found)
{
    struct cover c = {.bpe = bpe, .text = at, .length = length, .readable = readable};
    bool waiting = false;
    size_t known_from = 0;
    for (size_t i = 0, step; i <= length; i += step) {
        step = i < length ? symbol_length(&c, i) : 1;
        if (i < length && token_at(&c, i, step) != BPE_NONE)
            continue;
        if (known_from < i) {
            end_unknown(bpe, found, &waiting);
            if (!cover_part(bpe, at + known_from, i - known_from, readable - known_from, found))
                abort(); /* every character was looked up */
        }
        if (i < length)
            add_unknown(bpe, at + i, step, found, &waiting);
        known_from = i + step;
    }
    end_unknown(bpe, found, &waiting);
}

/* Without a token for the unknown, a character that has none disappears, and its neighbours become each other's. */
static void cover_without_unknown(const struct bpe *bpe, const char *at, size_t length, struct bpe_found *found)
{
    struct cover c = {.bpe = bpe, .text = at, .length = length, .readable = length};
    char *kept = mem_alloc(length);
    size_t n = 0;
    for (size_t i = 0, step; i < length; i += step) {
        step = symbol_length(&c, i);
        if (token_at(&c, i, step) == BPE_NONE && !has_bytes(bpe->head, at + i, step))
            continue;
        memcpy(kept + n, at + i, step);
        n += step;
    }
    cover_with_unknown(bpe, kept, n, n, found);
    free(kept);
}

void bpe_cover(const struct bpe *bpe, const char *at, size_t length, size_t readable, struct bpe_found *found)
{
    found->ids = found->room;
    found->count = 0;
    found->capacity = sizeof found->room / sizeof found->room[0];
    found->heap = NULL;
    if (length == 0 || cover_part(bpe, at, length, readable, found))
        return;
    if (bpe->head->unknown != BPE_NONE)
        cover_with_unknown(bpe, at, length, readable, found);
    else
        cover_without_unknown(bpe, at, length, found);
}
