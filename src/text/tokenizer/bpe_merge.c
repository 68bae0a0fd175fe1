#include "core/mem.h"
#include "text/tokenizer/bpe_internal.h"

/* A long text is read through windows that overlap: of each, the tokens before its end are kept, and the next begins
 * behind them. That both sides of such a place are encodings makes the whole one if the two tokens that meet there stay
 * what they are. */

#define FEW 8 /* tokens of a window that might be shorter */

void bpe_found_init(struct bpe_found *found)
{
    found->ids = found->room;
    found->count = 0;
    found->capacity = sizeof found->room / sizeof found->room[0];
    found->heap = NULL;
}

void bpe_found_finish(struct bpe_found *found)
{
    free(found->heap);
}

void bpe_found_reserve(struct bpe_found *found, size_t more)
{
    if (found->capacity - found->count >= more)
        return;
    found->capacity = found->capacity * 2 + more;
    uint32_t *heap = mem_realloc(found->heap, found->capacity, sizeof *heap);
    if (found->heap == NULL)
        memcpy(heap, found->room, found->count * sizeof *heap);
    found->ids = found->heap = heap;
}

void bpe_found_add(struct bpe_found *found, uint32_t id)
{
    bpe_found_reserve(found, 1);
    found->ids[found->count++] = id;
}

static bool add_short(const struct bpe *bpe, const char *text, size_t length, struct bpe_found *found)
{
    struct bpe_short s;
    if (!bpe_short_merge(bpe, &s, text, length))
        return false;
    for (unsigned i = 0; i != BPE_SHORT; i = s.after[i])
        bpe_found_add(found, s.ids[i]);
    return true;
}

static uint64_t rank_of_pair(const void *user, const struct bpe_symbol *left, const struct bpe_symbol *right)
{
    const struct bpe *bpe = user;
    uint32_t rank = bpe_rank(bpe, left->id, right->id);
    return rank == 0 ? UINT64_MAX : (uint64_t)rank << 32 | bpe_merged(&bpe->pairs, rank);
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
    uint64_t left_split = bpe_split(bpe, left), right_split = bpe_split(bpe, right);
    uint32_t limit = UINT32_MAX;
    for (;;) {
        uint32_t rank = bpe_rank(bpe, left, right);
        if (rank != 0 && rank < limit)
            return false;
        uint32_t left_rank = BPE_SPLIT_RANK(left_split), right_rank = BPE_SPLIT_RANK(right_split);
        if (left_rank == 0 && right_rank == 0)
            return true;
        if (left_rank > right_rank) {
            limit = left_rank;
            left = BPE_SPLIT_RIGHT(left_split);
            left_split = bpe_split(bpe, left);
        } else {
            limit = right_rank + 1;
            right = BPE_SPLIT_LEFT(right_split);
            right_split = bpe_split(bpe, right);
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
    if (length > BPE_SHORT)
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
    if (length > BPE_SHORT) {
        window->count = merge_long(bpe, text, length, window->symbols);
        for (size_t i = 0; i < window->count; i++) {
            window->ids[i] = window->symbols[i].id;
            window->from[i] = window->symbols[i].from;
        }
        return window->count > 0;
    }
    struct bpe_short s;
    if (!bpe_short_merge(bpe, &s, text, length))
        return false;
    for (unsigned i = 0; i != BPE_SHORT; i = s.after[i]) {
        window->from[window->count] = s.from[i];
        window->ids[window->count++] = s.ids[i];
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
    size_t size = BPE_SHORT, at = 0, before = 0, first = found->count, n_before = first;
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
        else if (keep >= FEW && size > BPE_SHORT)
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
    if (length <= BPE_SHORT)
        return add_short(bpe, text, length, found);
    if (bpe->head->ordered && add_windows(bpe, text, length, found))
        return true;
    found->count = first;
    return add_whole(bpe, text, length, found);
}
