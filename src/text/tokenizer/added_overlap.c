/* Which added tokens may overlap others in a text. By the links of Aho and Corasick ("Efficient string matching",
 * 1975), in time and memory proportional to the patterns, as a file may have a hundred thousand of them. */
#include <stdlib.h>

#include "core/mem.h"
#include "text/tokenizer/added_internal.h"

/* A node of the trie is the text that leads to it. All arrays are by node. */
struct overlaps {
    struct byte_trie trie;
    size_t n_nodes; /* units of the trie, those not in use too */
    uint32_t *depths;
    uint32_t *links;  /* the longest text that ends as this one does, begins later and is a node; the root when none */
    bool *is_end;     /* a pattern */
    bool *is_inside;  /* occurs in a longer node, not at its beginning */
    bool *is_tail;    /* a pattern that begins earlier ends so */
    uint32_t *sorted; /* the nodes but the root, the shortest first */
    size_t n_sorted;
};

static uint32_t node_of(const struct byte_trie *trie, struct str text)
{
    uint32_t node = BYTE_TRIE_ROOT;
    for (size_t i = 0; i < text.len; i++)
        node = byte_trie_step(trie, node, (unsigned char)text.data[i]);
    return node;
}

/* Takes in the nodes that lead to `pattern`; returns its length. */
static size_t add_pattern(struct overlaps *o, struct str pattern)
{
    uint32_t node = BYTE_TRIE_ROOT;
    for (size_t i = 0; i < pattern.len; i++) {
        node = byte_trie_step(&o->trie, node, (unsigned char)pattern.data[i]);
        o->depths[node] = (uint32_t)i + 1;
    }
    o->is_end[node] |= node != BYTE_TRIE_ROOT;
    return pattern.len;
}

static void sort_by_depth(struct overlaps *o, size_t longest)
{
    size_t *begins = mem_calloc(longest + 2, sizeof *begins);
    for (size_t i = 0; i < o->n_nodes; i++)
        begins[o->depths[i] + 1] += o->depths[i] > 0;
    for (size_t depth = 1; depth <= longest + 1; depth++)
        begins[depth] += begins[depth - 1];
    o->n_sorted = begins[longest + 1];
    for (size_t i = 0; i < o->n_nodes; i++)
        if (o->depths[i] > 0)
            o->sorted[begins[o->depths[i]]++] = (uint32_t)i;
    free(begins);
}

static uint32_t find_link(const struct overlaps *o, uint32_t node)
{
    uint32_t parent = o->trie.units[node].parent, from = o->links[parent];
    unsigned char byte = (unsigned char)(node - o->trie.units[parent].base);
    if (parent == BYTE_TRIE_ROOT)
        return BYTE_TRIE_ROOT;
    for (;; from = o->links[from]) {
        uint32_t child = byte_trie_step(&o->trie, from, byte);
        if (child != BYTE_TRIE_NONE)
            return child;
        if (from == BYTE_TRIE_ROOT)
            return BYTE_TRIE_ROOT;
    }
}

/* Afterwards `is_tail` also holds for what begins with such an end. */
static void follow_links(struct overlaps *o)
{
    for (size_t i = 0; i < o->n_sorted; i++) {
        uint32_t node = o->sorted[i];
        o->links[node] = find_link(o, node);
        o->is_inside[o->links[node]] = true;
    }
    for (size_t i = o->n_sorted; i-- > 0;) {
        uint32_t node = o->sorted[i];
        o->is_tail[o->links[node]] |= o->is_end[node] || o->is_tail[node];
    }
    o->is_tail[BYTE_TRIE_ROOT] = false;
    for (size_t i = 0; i < o->n_sorted; i++)
        o->is_tail[o->sorted[i]] |= o->is_tail[o->trie.units[o->sorted[i]].parent];
}

void added_find_overlaps(const struct str *patterns, size_t count, bool *overlapped)
{
    struct byte_trie_key *keys = mem_calloc(count + 1, sizeof *keys);
    struct buf units;
    size_t n_keys = 0, longest = 0;
    buf_init(&units, BUF_UNBOUNDED);
    for (size_t i = 0; i < count; i++)
        if (patterns[i].len > 0)
            keys[n_keys++] = (struct byte_trie_key){patterns[i], 0};
    byte_trie_build(keys, n_keys, &units);
    free(keys);
    size_t n = units.len / sizeof(struct byte_trie_unit) + 1;
    struct overlaps o = {
        .trie = byte_trie_open(buf_str(&units)),
        .n_nodes = n,
        .depths = mem_calloc(n, sizeof *o.depths),
        .links = mem_calloc(n, sizeof *o.links),
        .is_end = mem_calloc(n, sizeof *o.is_end),
        .is_inside = mem_calloc(n, sizeof *o.is_inside),
        .is_tail = mem_calloc(n, sizeof *o.is_tail),
        .sorted = mem_calloc(n, sizeof *o.sorted),
    };
    for (size_t i = 0; i < count; i++) {
        size_t length = add_pattern(&o, patterns[i]);
        longest = length > longest ? length : longest;
    }
    sort_by_depth(&o, longest);
    follow_links(&o);
    for (size_t i = 0; i < count; i++) {
        uint32_t node = node_of(&o.trie, patterns[i]);
        overlapped[i] = node != BYTE_TRIE_ROOT && (o.is_inside[node] || o.is_tail[node]);
    }
    free(o.depths);
    free(o.links);
    free(o.is_end);
    free(o.is_inside);
    free(o.is_tail);
    free(o.sorted);
    buf_finish(&units);
}
