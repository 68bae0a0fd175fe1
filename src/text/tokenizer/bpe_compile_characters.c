/* What the characters of three bytes become on their own, ahead of every text: IMAGE_CHARACTERS. Nearly all of Chinese,
 * Japanese and Korean text is of these. */
#include "core/mem.h"
#include "text/tokenizer/bpe_compile_internal.h"

/* The rank of the first merge that a token has with what stands before it, and with what stands behind it: not with
 * ASCII before it, and in UTF-8, in which no character is followed by a continuing byte. Then the same for a part of a
 * character, with the rest of the character and more beyond that. */
struct edges {
    uint32_t before, behind, before_inside, behind_inside;
};

static bool is_ascii(char byte)
{
    return (unsigned char)byte < 0x80;
}

static void set_least(uint32_t *least, uint32_t rank)
{
    *least = rank < *least ? rank : *least;
}

static void add_edges(const struct bpe_compiler *c, struct edges *edges, uint64_t split)
{
    uint32_t id = BPE_SPLIT_LEFT(split), next = BPE_SPLIT_RIGHT(split), rank = BPE_SPLIT_RANK(split);
    struct str left = c->by_id[id]->text, right = c->by_id[next]->text;
    size_t last = left.len - 1, first = 0; /* where characters begin */
    while (last > 0 && bpe_continues((unsigned char)left.data[last]))
        last--;
    while (first < right.len && bpe_continues((unsigned char)right.data[first]))
        first++;
    if (!is_ascii(left.data[left.len - 1]))
        set_least(&edges[next].before, rank);
    if (first == 0)
        set_least(&edges[id].behind, rank);
    else if (last > 0 && !is_ascii(left.data[last - 1]))
        set_least(&edges[next].before_inside, rank);
    if (first > 0 && first < right.len)
        set_least(&edges[id].behind_inside, rank);
}

static struct edges *find_edges(const struct bpe_compiler *c)
{
    struct edges *edges = mem_calloc(c->n_ids, sizeof *edges);
    memset(edges, 0xff, c->n_ids * sizeof *edges);
    for (uint32_t id = 0; id < c->n_ids; id++)
        if (BPE_SPLIT_RANK(c->splits[id]) > 0)
            add_edges(c, edges, c->splits[id]);
    return edges;
}

/* Whether no merge with what stands before the token takes a part of it before it is whole; with the text before its
 * character, or with another token of that and more. */
static bool begins_alone(const struct bpe_compiler *c, const struct edges *edges, uint32_t id, bool inside)
{
    for (uint32_t rank; (rank = BPE_SPLIT_RANK(c->splits[id])) > 0;) {
        id = BPE_SPLIT_LEFT(c->splits[id]);
        if ((inside ? edges[id].before_inside : edges[id].before) <= rank)
            return false;
    }
    return true;
}

static bool ends_alone(const struct bpe_compiler *c, const struct edges *edges, uint32_t id, bool inside)
{
    for (uint32_t rank; (rank = BPE_SPLIT_RANK(c->splits[id])) > 0;) {
        id = BPE_SPLIT_RIGHT(c->splits[id]);
        if ((inside ? edges[id].behind_inside : edges[id].behind) <= rank)
            return false;
    }
    return true;
}

/* BPE_CHARACTER, or 0. */
static uint64_t make_character(const struct bpe_compiler *c, const struct edges *edges, uint32_t character)
{
    const char bytes[3] = {(char)(0xe0 | character >> 12), (char)(0x80 | (character >> 6 & 63)),
                           (char)(0x80 | (character & 63))};
    struct bpe_symbol symbols[3];
    for (uint32_t i = 0; i < 3; i++) {
        symbols[i] = (struct bpe_symbol){.id = c->head->single[(unsigned char)bytes[i]], .from = i, .to = i + 1};
        if (symbols[i].id == BPE_NONE)
            return 0;
    }
    size_t count = bpe_compile_merge(c, symbols, 3, bytes);
    uint32_t first = symbols[0].id, last = symbols[count - 1].id;
    if (count > 2 || !begins_alone(c, edges, first, false) || !ends_alone(c, edges, last, false))
        return 0;
    if (count == 2 && !(begins_alone(c, edges, last, true) && ends_alone(c, edges, first, true)))
        return 0;
    return BPE_CHARACTER(first, count == 2 ? last : 0, symbols[0].to) |
           (edges[first].before != UINT32_MAX ? BPE_CHARACTER_MERGES_BEFORE : 0) |
           (edges[last].behind != UINT32_MAX ? BPE_CHARACTER_MERGES_BEHIND : 0);
}

/* Blocks in which no character is a token, which are of rare ones, are left out. */
void bpe_compile_characters(const struct bpe_compiler *c, struct image_writer *image)
{
    uint16_t of_block[BPE_BLOCKS] = {0}, n_blocks = 1;
    uint64_t block[64] = {0};
    struct edges *edges = find_edges(c);
    struct buf blocks;
    buf_init(&blocks, BUF_UNBOUNDED);
    buf_add(&blocks, str_make((const char *)of_block, sizeof of_block));
    buf_add(&blocks, str_make((const char *)block, sizeof block));
    for (uint32_t at = 0x800 / 64; at < BPE_BLOCKS && c->head->ordered; at++) {
        bool common = false;
        for (uint32_t i = 0; i < 64; i++) {
            block[i] = make_character(c, edges, at << 6 | i);
            common = common || BPE_CHARACTER_LENGTH(block[i]) == 3;
        }
        if (!common)
            continue;
        of_block[at] = n_blocks++;
        buf_add(&blocks, str_make((const char *)block, sizeof block));
    }
    memcpy(blocks.data, of_block, sizeof of_block);
    image_add(image, IMAGE_CHARACTERS, blocks.data, blocks.len);
    buf_finish(&blocks);
    free(edges);
}
