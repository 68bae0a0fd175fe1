#include "text/tokenizer/unigram.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/mem.h"
#include "text/tokenizer/byte_trie.h"
#include "text/tokenizer/normalize.h"

/* A character without a token scores this much less than the worst token. */
#define UNKNOWN_PENALTY 10.0

#define NONE UINT32_MAX

/* IMAGE_UNIGRAM: this, the score of each token, the id of each token. The values of the trie are their indexes. */
struct unigram_head {
    double unknown_score;
    uint32_t unknown; /* id */
    uint32_t byte_fallback;
    uint32_t count;
    uint32_t bytes[256]; /* ids of <0x00> … <0xFF>; NONE */
    uint32_t reserved;
};

struct unigram {
    const struct unigram_head *head;
    const double *scores;
    const uint32_t *ids;
    struct byte_trie trie;
};

/* The best way to reach a place in the text: its score, and the last token of it. */
struct node {
    double score;
    uint32_t from;  /* NONE: not reached yet */
    uint32_t token; /* index; NONE for a character without one */
};

/* Enough for nearly all pieces without memory from the heap. */
#define NODES_AT_HAND 512

static void add_trie(const struct model_spec *model, struct buf *units)
{
    struct byte_trie_key *keys = mem_calloc(model->n_tokens + 1, sizeof *keys);
    size_t count = 0;
    for (size_t i = 0; i < model->n_tokens; i++)
        if (model->tokens[i].text.len)
            keys[count++] = (struct byte_trie_key){model->tokens[i].text, (uint32_t)i};
    byte_trie_build(keys, count, units);
    free(keys);
}

static void fill_head(struct unigram_head *head, const struct model_spec *model, const struct byte_trie *trie)
{
    double least = INFINITY;
    for (size_t i = 0; i < model->n_tokens; i++)
        least = model->tokens[i].score < least ? model->tokens[i].score : least;
    *head = (struct unigram_head){
        .unknown_score = least - UNKNOWN_PENALTY,
        .unknown = (uint32_t)model->unknown,
        .byte_fallback = model->byte_fallback,
        .count = (uint32_t)model->n_tokens,
    };
    for (unsigned byte = 0; byte < 256; byte++) {
        char name[8];
        snprintf(name, sizeof name, "<0x%02X>", byte);
        uint32_t index = byte_trie_find(trie, str_of(name));
        head->bytes[byte] = index == BYTE_TRIE_NONE ? NONE : model->tokens[index].id;
    }
}

enum status unigram_compile(const struct model_spec *model, struct image_writer *image, struct error *error)
{
    if (model->unknown < 0)
        return error_set(error, STATUS_UNSUPPORTED, "a Unigram model without unk_id is not supported");
    struct unigram_head head;
    struct buf section, units;
    buf_init(&section, BUF_UNBOUNDED);
    buf_init(&units, BUF_UNBOUNDED);
    add_trie(model, &units);
    struct byte_trie trie = byte_trie_open(buf_str(&units));
    fill_head(&head, model, &trie);
    buf_add(&section, str_make((const char *)&head, sizeof head));
    for (size_t i = 0; i < model->n_tokens; i++)
        buf_add(&section, str_make((const char *)&model->tokens[i].score, sizeof(double)));
    for (size_t i = 0; i < model->n_tokens; i++)
        buf_add(&section, str_make((const char *)&model->tokens[i].id, sizeof(uint32_t)));
    image_add(image, IMAGE_UNIGRAM, section.data, section.len);
    image_add(image, IMAGE_UNIGRAM_TRIE, units.data, units.len);
    buf_finish(&section);
    buf_finish(&units);
    return STATUS_OK;
}

struct unigram *unigram_open(const struct image *image)
{
    struct str section = image_section(image, IMAGE_UNIGRAM);
    struct unigram *unigram = mem_zalloc(sizeof *unigram);
    unigram->head = (const struct unigram_head *)(const void *)section.data;
    unigram->scores = (const double *)(const void *)(unigram->head + 1);
    unigram->ids = (const uint32_t *)(const void *)(unigram->scores + unigram->head->count);
    unigram->trie = byte_trie_open(image_section(image, IMAGE_UNIGRAM_TRIE));
    return unigram;
}

void unigram_destroy(struct unigram *unigram)
{
    free(unigram);
}

static void reach(struct node *node, double score, uint32_t from, uint32_t token)
{
    if (node->from == NONE || score > node->score)
        *node = (struct node){score, from, token};
}

/* All tokens that begin at `at`, the shortest first. Of ways with equal scores the one found first stays. */
static void extend(const struct unigram *unigram, struct str text, uint32_t at, struct node *nodes)
{
    const struct byte_trie *trie = &unigram->trie;
    double score = nodes[at].score;
    bool alone = false;
    size_t len;
    character_at(text, at, &len);
    uint32_t place = BYTE_TRIE_ROOT;
    for (uint32_t i = at; i < text.len && trie->units; i++) {
        place = byte_trie_step(trie, place, (unsigned char)text.data[i]);
        if (place == BYTE_TRIE_NONE)
            break;
        uint32_t token = trie->units[place].value;
        if (token == BYTE_TRIE_NONE)
            continue;
        reach(&nodes[i + 1], unigram->scores[token] + score, at, token);
        alone |= i + 1 - at == len;
    }
    if (!alone)
        reach(&nodes[at + len], unigram->head->unknown_score + score, at, NONE);
}

/* Turns the links around: each node on the best way then says where its next token ends and which it is. */
static void turn_around(struct node *nodes, uint32_t end)
{
    uint32_t next = NONE, next_token = NONE;
    for (uint32_t at = end;;) {
        uint32_t from = nodes[at].from, token = nodes[at].token;
        nodes[at].from = next;
        nodes[at].token = next_token;
        if (at == 0)
            return;
        next = at;
        next_token = token;
        at = from;
    }
}

static int64_t emit(struct token_ids *out, uint32_t id)
{
    if (out) {
        out->ids = mem_grow(out->ids, out->count, &out->capacity, sizeof *out->ids);
        out->ids[out->count++] = id;
    }
    return 1;
}

/* Characters without a token that stand together: a token after all, as together they may be one; else their bytes;
 * else the one unknown token. */
static int64_t emit_unknown(const struct unigram *unigram, struct str run, struct token_ids *out)
{
    const struct unigram_head *head = unigram->head;
    uint32_t token = byte_trie_find(&unigram->trie, run);
    int64_t count = 0;
    if (token != BYTE_TRIE_NONE)
        return emit(out, unigram->ids[token]);
    bool spelled = head->byte_fallback;
    for (size_t i = 0; i < run.len && spelled; i++)
        spelled = head->bytes[(unsigned char)run.data[i]] != NONE;
    if (!spelled)
        return emit(out, head->unknown);
    for (size_t i = 0; i < run.len; i++)
        count += emit(out, head->bytes[(unsigned char)run.data[i]]);
    return count;
}

static int64_t encode_piece(const struct unigram *unigram, struct str text, struct node *nodes, struct token_ids *out)
{
    uint32_t end = (uint32_t)text.len;
    size_t len;
    for (uint32_t i = 0; i <= end; i++)
        nodes[i] = (struct node){0, NONE, NONE};
    for (uint32_t at = 0; at < end; at += (uint32_t)len) {
        extend(unigram, text, at, nodes);
        character_at(text, at, &len);
    }
    turn_around(nodes, end);
    int64_t count = 0;
    for (uint32_t at = 0, run = 0; at < end; at = nodes[at].from) {
        uint32_t token = nodes[at].token, to = nodes[at].from;
        bool unknown = token == NONE || unigram->ids[token] == unigram->head->unknown;
        if (!unknown)
            count += emit(out, unigram->ids[token]);
        if (!unknown)
            run = to;
        else if (to == end || !(nodes[to].token == NONE || unigram->ids[nodes[to].token] == unigram->head->unknown))
            count += emit_unknown(unigram, str_slice(text, run, to), out);
    }
    return count;
}

int64_t unigram_encode(const struct unigram *unigram, const char *text, const struct split_piece *pieces, size_t n,
                       struct token_ids *out)
{
    struct node at_hand[NODES_AT_HAND], *nodes = at_hand;
    size_t capacity = NODES_AT_HAND;
    int64_t count = 0;
    for (size_t i = 0; i < n; i++) {
        size_t len = pieces[i].to - pieces[i].from;
        if (len + 1 > capacity) {
            capacity = len + 1;
            nodes = mem_realloc(nodes == at_hand ? NULL : nodes, capacity, sizeof *nodes);
        }
        count += encode_piece(unigram, str_make(text + pieces[i].from, len), nodes, out);
    }
    if (nodes != at_hand)
        free(nodes);
    return count;
}
