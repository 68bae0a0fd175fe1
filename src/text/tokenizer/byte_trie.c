#include "text/tokenizer/byte_trie.h"

#include <stdlib.h>
#include <string.h>

#include "core/mem.h"

/* A node whose children are still to be placed: keys [from, to) share their first `depth` bytes. */
struct branch {
    size_t from, to;
    size_t depth;
    uint32_t node;
};

struct builder {
    const struct byte_trie_key *keys;
    struct byte_trie_unit *units;
    unsigned char *used; /* by unit */
    size_t count;        /* units that may be in use, from the front */
    size_t allocated;
    size_t first_free;
    struct branch *stack;
    size_t n_stack, stack_capacity;
};

/* A search for room gives up on the front of the array after this many tries, as it is as good as full. */
#define TRIES_MAX 256

static int compare_keys(const void *a, const void *b)
{
    const struct byte_trie_key *left = a, *right = b;
    return str_compare(left->text, right->text);
}

static void builder_reserve(struct builder *builder, size_t count)
{
    if (count <= builder->allocated)
        return;
    size_t enlarged = count + count / 2 + 1024;
    builder->units = mem_realloc(builder->units, enlarged, sizeof *builder->units);
    builder->used = mem_realloc(builder->used, enlarged, 1);
    for (size_t i = builder->allocated; i < enlarged; i++)
        builder->units[i] = (struct byte_trie_unit){0, BYTE_TRIE_NONE, BYTE_TRIE_NONE};
    memset(builder->used + builder->allocated, 0, enlarged - builder->allocated);
    builder->allocated = enlarged;
}

static bool fits(const struct builder *builder, size_t base, const unsigned char *bytes, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (builder->used[base + bytes[i]])
            return false;
    return true;
}

/* The smallest base, from where room is left, at which all `bytes` (ascending) find a free unit. */
static size_t find_base(struct builder *builder, const unsigned char *bytes, size_t n)
{
    size_t at = builder->first_free > bytes[0] ? builder->first_free : (size_t)bytes[0] + 1;
    for (size_t tries = 0;; at++) {
        builder_reserve(builder, at + 512);
        if (builder->used[at])
            continue;
        if (fits(builder, at - bytes[0], bytes, n))
            return at - bytes[0];
        if (++tries == TRIES_MAX)
            builder->first_free = at;
    }
}

static void place_children(struct builder *builder, struct branch branch)
{
    unsigned char bytes[256];
    size_t starts[257], n = 0;
    size_t i = branch.from;
    if (builder->keys[i].text.len == branch.depth)
        builder->units[branch.node].value = builder->keys[i++].value;
    for (; i < branch.to; i++) {
        unsigned char byte = (unsigned char)builder->keys[i].text.data[branch.depth];
        if (n && bytes[n - 1] == byte)
            continue;
        bytes[n] = byte;
        starts[n++] = i;
    }
    if (!n)
        return;
    starts[n] = branch.to;
    size_t base = find_base(builder, bytes, n);
    builder->units[branch.node].base = (uint32_t)base;
    for (size_t c = 0; c < n; c++) {
        size_t child = base + bytes[c];
        builder->used[child] = 1;
        builder->units[child].parent = branch.node;
        if (child + 1 > builder->count)
            builder->count = child + 1;
        builder->stack = mem_grow(builder->stack, builder->n_stack, &builder->stack_capacity, sizeof *builder->stack);
        builder->stack[builder->n_stack++] =
            (struct branch){starts[c], starts[c + 1], branch.depth + 1, (uint32_t)child};
    }
    while (builder->first_free < builder->count && builder->used[builder->first_free])
        builder->first_free++;
}

/* Of keys with the same text, leaves the one that was last before sorting. */
static size_t drop_doubles(struct byte_trie_key *keys, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (kept && str_equal(keys[kept - 1].text, keys[i].text))
            kept--;
        keys[kept++] = keys[i];
    }
    return kept;
}

/* Stable, so that the last of several equal keys stays the last. */
static void sort_keys(struct byte_trie_key *keys, size_t count)
{
    if (count < 2)
        return;
    size_t half = count / 2;
    sort_keys(keys, half);
    sort_keys(keys + half, count - half);
    if (compare_keys(&keys[half - 1], &keys[half]) <= 0)
        return;
    struct byte_trie_key *left = mem_calloc(half, sizeof *left);
    memcpy(left, keys, half * sizeof *left);
    size_t l = 0, r = half, out = 0;
    while (l < half)
        keys[out++] = r < count && compare_keys(&keys[r], &left[l]) < 0 ? keys[r++] : left[l++];
    free(left);
}

void byte_trie_build(struct byte_trie_key *keys, size_t count, struct buf *out)
{
    if (!count)
        return;
    sort_keys(keys, count);
    count = drop_doubles(keys, count);
    struct builder builder = {.keys = keys, .count = 1, .first_free = 1};
    builder_reserve(&builder, 1024);
    builder.used[BYTE_TRIE_ROOT] = 1;
    builder.stack = mem_grow(builder.stack, 0, &builder.stack_capacity, sizeof *builder.stack);
    builder.stack[builder.n_stack++] = (struct branch){0, count, 0, BYTE_TRIE_ROOT};
    while (builder.n_stack)
        place_children(&builder, builder.stack[--builder.n_stack]);
    builder_reserve(&builder, builder.count + 256);
    buf_add(out, str_make((const char *)builder.units, (builder.count + 256) * sizeof *builder.units));
    free(builder.units);
    free(builder.used);
    free(builder.stack);
}

struct byte_trie byte_trie_open(struct str bytes)
{
    return (struct byte_trie){bytes.len ? (const struct byte_trie_unit *)(const void *)bytes.data : NULL};
}

uint32_t byte_trie_find(const struct byte_trie *trie, struct str text)
{
    uint32_t node = trie->units ? BYTE_TRIE_ROOT : BYTE_TRIE_NONE;
    for (size_t i = 0; i < text.len && node != BYTE_TRIE_NONE; i++)
        node = byte_trie_step(trie, node, (unsigned char)text.data[i]);
    return node == BYTE_TRIE_NONE ? BYTE_TRIE_NONE : trie->units[node].value;
}

uint32_t byte_trie_longest(const struct byte_trie *trie, struct str text, size_t *len)
{
    uint32_t node = trie->units ? BYTE_TRIE_ROOT : BYTE_TRIE_NONE, value = BYTE_TRIE_NONE;
    for (size_t i = 0; i < text.len && node != BYTE_TRIE_NONE; i++) {
        node = byte_trie_step(trie, node, (unsigned char)text.data[i]);
        if (node != BYTE_TRIE_NONE && trie->units[node].value != BYTE_TRIE_NONE) {
            value = trie->units[node].value;
            *len = i + 1;
        }
    }
    return value;
}
