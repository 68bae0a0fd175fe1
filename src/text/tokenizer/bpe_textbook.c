#include "core/mem.h"
#include "text/tokenizer/bpe_internal.h"

/* Merging as it is defined: always the pair that comes first in the list, the leftmost of equals. Candidates wait in a
 * binary heap; one whose symbols have changed since is passed over. */

struct candidate {
    uint64_t order; /* rank << 32 | index of the left symbol */
    uint32_t id, left, right;
};

struct heap {
    struct candidate *items;
    size_t count;
};

static void push(struct heap *heap, struct candidate item)
{
    size_t at = heap->count++;
    while (at > 0 && heap->items[(at - 1) / 2].order > item.order) {
        heap->items[at] = heap->items[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap->items[at] = item;
}

static struct candidate pop(struct heap *heap)
{
    struct candidate top = heap->items[0], last = heap->items[--heap->count];
    size_t at = 0;
    for (size_t child; (child = 2 * at + 1) < heap->count; at = child) {
        if (child + 1 < heap->count && heap->items[child + 1].order < heap->items[child].order)
            child++;
        if (heap->items[child].order >= last.order)
            break;
        heap->items[at] = heap->items[child];
    }
    heap->items[at] = last;
    return top;
}

struct merging {
    struct bpe_symbol *symbols;
    struct heap heap;
    bpe_rank_fn rank;
    const void *user;
};

static void consider(struct merging *m, uint32_t left, uint32_t right)
{
    if (left == UINT32_MAX || right == UINT32_MAX)
        return;
    uint64_t found = m->rank(m->user, &m->symbols[left], &m->symbols[right]);
    if (found != UINT64_MAX)
        push(&m->heap, (struct candidate){(found & ~(uint64_t)UINT32_MAX) | left, (uint32_t)found, m->symbols[left].id,
                                          m->symbols[right].id});
}

static void join(struct merging *m, uint32_t at, const struct candidate *with)
{
    struct bpe_symbol *left = &m->symbols[at], *right = &m->symbols[left->after];
    *left = (struct bpe_symbol){.id = with->id,
                                .from = left->from,
                                .to = right->to,
                                .left = with->left,
                                .right = with->right,
                                .rank = (uint32_t)(with->order >> 32),
                                .before = left->before,
                                .after = right->after};
    right->id = BPE_NONE;
    if (left->after != UINT32_MAX)
        m->symbols[left->after].before = at;
    consider(m, left->before, at);
    consider(m, at, left->after);
}

size_t bpe_merge_symbols(struct bpe_symbol *symbols, size_t count, bpe_rank_fn rank, const void *user)
{
    /* Every merge takes one symbol away and brings at most two candidates. */
    struct merging m = {symbols, {mem_calloc(3 * count + 1, sizeof(struct candidate)), 0}, rank, user};
    for (uint32_t i = 0; i < count; i++) {
        symbols[i].left = symbols[i].right = BPE_NONE;
        symbols[i].before = i == 0 ? UINT32_MAX : i - 1;
        symbols[i].after = i + 1 == count ? UINT32_MAX : i + 1;
    }
    for (uint32_t i = 0; i + 1 < count; i++)
        consider(&m, i, i + 1);
    while (m.heap.count > 0) {
        struct candidate top = pop(&m.heap);
        uint32_t at = (uint32_t)top.order;
        if (symbols[at].id == top.left && symbols[at].after != UINT32_MAX && symbols[symbols[at].after].id == top.right)
            join(&m, at, &top);
    }
    free(m.heap.items);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (symbols[i].id != BPE_NONE)
            symbols[kept++] = symbols[i];
    return kept;
}
