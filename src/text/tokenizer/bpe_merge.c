#include "core/mem.h"
#include "core/utf8.h"
#include "text/tokenizer/bpe_internal.h"

/* A short text is merged as it is defined, the best pair sought among all that there are. A long one is read through
 * windows that overlap: of each, the tokens before its end are kept, and the next begins behind them. That both sides
 * of such a place are encodings makes the whole one if the two tokens that meet there stay what they are. */

#define SHORT    64 /* bytes; the bits of a word */
#define NO_MERGE INT32_MAX
#define LANES    4
#define FEW      8 /* tokens of a window that might be shorter */

__extension__ typedef int32_t lanes __attribute__((vector_size(LANES * sizeof(int32_t))));

/* Symbols in order; one that was merged into its left neighbour is passed over. */
struct short_text {
    union {
        lanes wide[SHORT / LANES];
        int32_t at[SHORT]; /* of a symbol and its right neighbour: rank of the merge << 6 | place; NO_MERGE */
    } order;
    uint32_t ids[SHORT], merged[SHORT]; /* merged: what the two become */
    uint8_t from[SHORT];                /* where the symbol begins in the text */
    unsigned count;
    uint64_t left; /* bits: the symbols that are still there */
};

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
    struct bpe_key key = bpe_key_slowly(bpe->head->seed, at, *length);
    const struct bpe_slot *slot = bpe_find_slot(bpe, key.hash);
    if ((slot->meta & BPE_WHOLE_ONLY) != 0 || !bpe_slot_is(bpe, slot, key, at, *length))
        return BPE_NONE;
    return slot->meta & BPE_NONE;
}

/* Where ids are in the order of the merges, any of them says which comes first. */
static inline uint32_t rank_of(const struct bpe *bpe, uint32_t id)
{
    return bpe->head->ranked ? id : BPE_SPLIT_RANK(bpe->splits[id]);
}

static inline void set_merge(const struct bpe *bpe, struct short_text *s, unsigned place, uint32_t merged)
{
    s->merged[place] = merged;
    s->order.at[place] = merged == BPE_NONE ? NO_MERGE : (int32_t)(rank_of(bpe, merged) << 6 | place);
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

static inline void add_symbol(struct short_text *s, uint32_t id, size_t from)
{
    s->ids[s->count] = id;
    s->from[s->count++] = (uint8_t)from;
}

static uint32_t merge_bytes(const struct bpe *bpe, const struct short_text *s, unsigned place, const char *text)
{
    const unsigned char *bytes = (const unsigned char *)text + s->from[place];
    uint32_t merged = bpe->doubles[bytes[0] << 8 | bytes[1]];
    if (merged < BPE_DOUBLE_ELSEWHERE)
        return merged;
    return merged == BPE_DOUBLE_NONE ? BPE_NONE : bpe_merged(bpe, s->ids[place], s->ids[place + 1]);
}

static bool begin_bytes(const struct bpe *bpe, struct short_text *s, const char *text, size_t length)
{
    const unsigned char *bytes = (const unsigned char *)text;
    uint32_t unknown = 0;
    uint64_t wide = 0, apart = 0; /* bits: symbols of characters, and those that do not merge with the next one */
    bool closed = false;          /* the symbol before is one of those */
    for (size_t at = 0; at < length;) {
        uint64_t entry = character_at(bpe, bytes, at, length - at), symbol = UINT64_C(1) << s->count;
        if (entry == 0) {
            unknown |= bpe->head->single[bytes[at]] == BPE_NONE;
            add_symbol(s, bpe->head->single[bytes[at]], at);
            closed = false;
            at++;
            continue;
        }
        closed |= (entry & BPE_CHARACTER_MERGES_BEFORE) == 0;
        apart |= closed ? symbol >> 1 : 0;
        wide |= symbol;
        add_symbol(s, BPE_CHARACTER_FIRST(entry), at);
        if (BPE_CHARACTER_LENGTH(entry) < 3) {
            apart |= symbol;
            wide |= symbol << 1;
            add_symbol(s, BPE_CHARACTER_SECOND(entry), at + BPE_CHARACTER_LENGTH(entry));
        }
        closed = (entry & BPE_CHARACTER_MERGES_BEHIND) == 0;
        at += 3;
    }
    wide |= wide >> 1;
    for (unsigned i = 0; i + 1 < s->count; i++) {
        uint64_t bit = UINT64_C(1) << i;
        set_merge(bpe, s, i,
                  (apart & bit) != 0  ? BPE_NONE
                  : (wide & bit) != 0 ? bpe_merged(bpe, s->ids[i], s->ids[i + 1])
                                      : merge_bytes(bpe, s, i, text));
    }
    return unknown == 0;
}

static bool begin_characters(const struct bpe *bpe, struct short_text *s, const char *text, size_t length)
{
    for (size_t at = 0, step; at < length; at += step) {
        uint32_t id = bpe_symbol_at(bpe, text + at, length - at, &step);
        if (id == BPE_NONE)
            return false;
        add_symbol(s, id, at);
    }
    for (unsigned i = 0; i + 1 < s->count; i++)
        set_merge(bpe, s, i, bpe_merged(bpe, s->ids[i], s->ids[i + 1]));
    return true;
}

static inline int32_t least_of(const struct short_text *s)
{
    lanes least = s->order.wide[0];
    for (size_t i = 1; i < (s->count + LANES - 1) / LANES; i++) {
        lanes less = s->order.wide[i] < least;
        least = (s->order.wide[i] & less) | (least & ~less);
    }
    int32_t low = least[0] < least[1] ? least[0] : least[1], high = least[2] < least[3] ? least[2] : least[3];
    return low < high ? low : high;
}

/* At most SHORT bytes; false when some symbol is unknown. */
static bool merge_short(const struct bpe *bpe, struct short_text *s, const char *text, size_t length)
{
    s->count = 0;
    s->left = 0;
    if (!(bpe->head->byte_level ? begin_bytes(bpe, s, text, length) : begin_characters(bpe, s, text, length)))
        return false;
    for (size_t i = s->count - 1; i < SHORT && (i == s->count - 1 || i % LANES != 0); i++)
        s->order.at[i] = NO_MERGE;
    if (s->count == 0)
        return true;
    uint64_t rest = ~UINT64_C(0) >> (SHORT - s->count);
    for (int32_t least; (least = least_of(s)) != NO_MERGE;) {
        unsigned left = (unsigned)least % SHORT;
        uint32_t id = s->ids[left] = s->merged[left];
        uint64_t behind = rest & (~UINT64_C(1) << left), before = rest & ((UINT64_C(1) << left) - 1);
        s->order.at[__builtin_ctzll(behind)] = NO_MERGE;
        rest ^= behind & -behind;
        behind &= behind - 1;
        set_merge(bpe, s, left, behind == 0 ? BPE_NONE : bpe_merged(bpe, id, s->ids[__builtin_ctzll(behind)]));
        if (before != 0) {
            unsigned at = 63 - (unsigned)__builtin_clzll(before);
            set_merge(bpe, s, at, bpe_merged(bpe, s->ids[at], id));
        }
    }
    s->left = rest;
    return true;
}

uint32_t bpe_merged_slowly(const struct bpe *bpe, uint64_t pair)
{
    uint64_t hash = bpe_pair_hash(pair);
    size_t n_places = (size_t)bpe->head->n_buckets * BPE_BUCKET;
    size_t at = (size_t)bpe_pair_bucket(hash, bpe->head->n_buckets) * BPE_BUCKET;
    for (uint32_t place; (place = bpe->pairs[at]) != BPE_PAIR_EMPTY; at = at + 1 < n_places ? at + 1 : 0)
        if ((place & ~BPE_NONE) == bpe_pair_tag(hash) && (bpe->splits[place & BPE_NONE] & BPE_SPLIT_PAIR_MASK) == pair)
            return place & BPE_NONE;
    return BPE_NONE;
}

void bpe_found_add(struct bpe_found *found, uint32_t id)
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

static bool add_short(const struct bpe *bpe, const char *text, size_t length, struct bpe_found *found)
{
    struct short_text s;
    if (!merge_short(bpe, &s, text, length))
        return false;
    for (uint64_t left = s.left; left != 0; left &= left - 1)
        bpe_found_add(found, s.ids[__builtin_ctzll(left)]);
    return true;
}

static uint64_t rank_of_pair(const void *user, const struct bpe_symbol *left, const struct bpe_symbol *right)
{
    const struct bpe *bpe = user;
    uint32_t merged = bpe_merged(bpe, left->id, right->id);
    return merged == BPE_NONE ? UINT64_MAX : (uint64_t)BPE_SPLIT_RANK(bpe->splits[merged]) << 32 | merged;
}

/* Of any length. `symbols` has room for as many as there are bytes; gives how many there are, 0 when one is unknown. */
static size_t merge_long(const struct bpe *bpe, const char *text, size_t length, struct bpe_symbol *symbols)
{
    size_t count = 0;
    for (size_t at = 0, step; at < length; at += step) {
        uint32_t id = bpe_symbol_at(bpe, text + at, length - at, &step);
        if (id == BPE_NONE)
            return 0;
        symbols[count++] = (struct bpe_symbol){.id = id, .from = (uint32_t)at, .to = (uint32_t)(at + step)};
    }
    return bpe_merge_symbols(symbols, count, rank_of_pair, bpe);
}

static bool add_whole(const struct bpe *bpe, const char *text, size_t length, struct bpe_found *found)
{
    struct bpe_symbol *symbols = mem_calloc(length, sizeof *symbols);
    size_t count = merge_long(bpe, text, length, symbols);
    for (size_t i = 0; i < count; i++)
        bpe_found_add(found, symbols[i].id);
    free(symbols);
    return count > 0;
}

/* Whether merging the text of the two gives the two: their merges are taken back, the last first, and at no time may
 * the symbols at the edge have had a merge of their own that came before the next one. */
static bool fit_together(const struct bpe *bpe, uint32_t left, uint32_t right)
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

/* The window that was read last: its tokens, and where they begin in it. */
struct window {
    const char *text;
    size_t length, count;
    size_t capacity; /* of the arrays, in bytes of text */
    uint32_t *ids, *from;
    struct bpe_symbol *symbols; /* NULL while windows are short */
};

static void window_reserve(struct window *window, size_t length)
{
    if (length <= window->capacity)
        return;
    window->capacity = length;
    window->ids = mem_realloc(window->ids, length, sizeof *window->ids);
    window->from = mem_realloc(window->from, length, sizeof *window->from);
    if (length > SHORT)
        window->symbols = mem_realloc(window->symbols, length, sizeof *window->symbols);
}

/* False when some symbol is unknown. The same text as before has the same tokens. */
static bool window_read(struct window *window, const struct bpe *bpe, const char *text, size_t length)
{
    if (window->length == length && memcmp(window->text, text, length) == 0) {
        window->text = text;
        return true;
    }
    window_reserve(window, length);
    window->text = text;
    window->length = length;
    window->count = 0;
    if (length > SHORT) {
        window->count = merge_long(bpe, text, length, window->symbols);
        for (size_t i = 0; i < window->count; i++) {
            window->ids[i] = window->symbols[i].id;
            window->from[i] = window->symbols[i].from;
        }
        return window->count > 0;
    }
    struct short_text s;
    if (!merge_short(bpe, &s, text, length))
        return false;
    for (uint64_t left = s.left; left != 0; left &= left - 1) {
        window->from[window->count] = s.from[__builtin_ctzll(left)];
        window->ids[window->count++] = s.ids[__builtin_ctzll(left)];
    }
    return true;
}

/* How many tokens of a window to keep: those that end some way before its end, after which text may change them. */
static size_t tokens_to_keep(const struct window *window)
{
    size_t keep = window->count, most = window->length - window->length / 4;
    while (keep > 0 && (keep == window->count || window->from[keep] > most))
        keep--;
    return keep;
}

/* The end of a window of at most `length` bytes: before a character, where those are the symbols. */
static size_t window_length(const struct bpe *bpe, const char *text, size_t rest, size_t length)
{
    if (length >= rest)
        return rest;
    while (!bpe->head->byte_level && length > 1 && bpe_continues((unsigned char)text[length]))
        length--;
    return length;
}

/* False when the windows do not fit together; where that is because one ended too soon, it is read again, longer. A
 * window of which no token can be kept grows, too. */
static bool read_windows(const struct bpe *bpe, struct window *window, const char *text, size_t length,
                         struct bpe_found *found)
{
    size_t size = SHORT, at = 0, before = 0, first = found->count, n_before = first;
    for (;;) {
        size_t part = window_length(bpe, text + at, length - at, size);
        if (!window_read(window, bpe, text + at, part))
            return false;
        if (found->count > first && !fit_together(bpe, found->ids[found->count - 1], window->ids[0])) {
            if (before == at)
                return false;
            at = before;
            found->count = n_before;
            size *= 2;
            continue;
        }
        size_t keep = at + part == length ? window->count : tokens_to_keep(window);
        before = at;
        n_before = found->count;
        for (size_t i = 0; i < keep; i++)
            bpe_found_add(found, window->ids[i]);
        if (at + part == length)
            return true;
        /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): a window that was read has all its arrays */
        at += window->from[keep];
        if (keep == 0)
            size *= 2;
        else if (keep >= FEW && size > SHORT)
            size /= 2;
    }
}

static bool add_windows(const struct bpe *bpe, const char *text, size_t length, struct bpe_found *found)
{
    struct window window = {.text = text};
    bool read = read_windows(bpe, &window, text, length, found);
    free(window.ids);
    free(window.from);
    free(window.symbols);
    return read;
}

bool bpe_merge_text(const struct bpe *bpe, const char *text, size_t length, struct bpe_found *found)
{
    size_t first = found->count;
    if (length <= SHORT)
        return add_short(bpe, text, length, found);
    if (bpe->head->ordered && add_windows(bpe, text, length, found))
        return true;
    found->count = first;
    return add_whole(bpe, text, length, found);
}
