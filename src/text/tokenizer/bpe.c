#include "text/tokenizer/bpe_internal.h"

#include "core/mem.h"

#define BATCH 256

struct bpe *bpe_open(const struct image *image)
{
    struct bpe *bpe = mem_zalloc(sizeof *bpe);
    *bpe = (struct bpe){
        .head = (const void *)image_section(image, IMAGE_BYTES).data,
        .slots = (const void *)image_section(image, IMAGE_WHOLE).data,
        .seeds = (const void *)image_section(image, IMAGE_WHOLE_SEEDS).data,
        .long_text = image_section(image, IMAGE_WHOLE_TEXT).data,
        .splits = (const void *)image_section(image, IMAGE_SPLITS).data,
        .pairs = (const void *)image_section(image, IMAGE_PAIRS).data,
        .lengths = (const void *)image_section(image, IMAGE_LENGTHS).data,
        .cache = bpe_cache_create(),
    };
    return bpe;
}

void bpe_destroy(struct bpe *bpe)
{
    if (bpe == NULL)
        return;
    bpe_cache_destroy(bpe->cache);
    free(bpe);
}

static void reserve(struct token_ids *out, size_t more)
{
    if (out->capacity - out->count >= more)
        return;
    size_t capacity = out->capacity + out->capacity / 2 + more;
    out->ids = mem_realloc(out->ids, capacity, sizeof *out->ids);
    out->capacity = capacity;
}

/* A piece that is not one token. Leaves room for `rest` ids behind its own. */
static size_t encode_parts(const struct bpe *bpe, const struct bpe_key *key, struct str piece, size_t readable,
                           struct token_ids *out, size_t rest)
{
    size_t count;
    if (piece.len <= BPE_CACHE_LENGTH) {
        uint32_t known[BPE_CACHE_TOKENS];
        count = bpe_cache_get(bpe->cache, key, piece.data, piece.len, out != NULL ? known : NULL);
        if (count > 0) {
            if (out != NULL) {
                reserve(out, count + rest);
                memcpy(out->ids + out->count, known, count * sizeof *known);
                out->count += count;
            }
            return count;
        }
    }
    struct bpe_found found;
    bpe_cover(bpe, piece.data, piece.len, readable, &found);
    count = found.count;
    if (piece.len <= BPE_CACHE_LENGTH && count > 0 && count <= BPE_CACHE_TOKENS)
        bpe_cache_put(bpe->cache, key, piece.data, piece.len, found.ids, count);
    if (out != NULL) {
        reserve(out, count + rest);
        memcpy(out->ids + out->count, found.ids, count * sizeof *found.ids);
        out->count += count;
    }
    free(found.heap);
    return count;
}

/* At most BATCH pieces: first where each is looked up, so that the table's lines are on their way, then what is there. */
static int64_t encode_batch(const struct bpe *bpe, const char *text, const struct split_piece *pieces, size_t n,
                            struct token_ids *out)
{
    struct bpe_key keys[BATCH];
    const struct bpe_slot *slots[BATCH];
    size_t end = pieces[n - 1].to, longest = bpe->head->max_length;
    uint64_t seed = bpe->head->seed;
    for (size_t i = 0; i < n; i++) {
        size_t length = pieces[i].to - pieces[i].from;
        if (length > longest && length > BPE_CACHE_LENGTH)
            length = 1; /* is no token: which slot is looked at does not matter */
        keys[i] = bpe_key_of(seed, text + pieces[i].from, length, end - pieces[i].from);
        slots[i] = bpe_find_slot(bpe, keys[i].hash);
        __builtin_prefetch(slots[i]);
    }
    if (out != NULL)
        reserve(out, n);
    int64_t total = 0;
    for (size_t i = 0; i < n; i++) {
        struct str piece = str_make(text + pieces[i].from, pieces[i].to - pieces[i].from);
        if (__builtin_expect(bpe_slot_is(bpe, slots[i], keys[i], piece.data, piece.len), 1)) {
            if (out != NULL)
                out->ids[out->count++] = slots[i]->meta & BPE_NONE;
            total++;
        } else {
            total += (int64_t)encode_parts(bpe, &keys[i], piece, end - pieces[i].from, out, n - i);
        }
    }
    return total;
}

/* Where U+2581, which stands for a space, begins at or after `from` and no token goes across; else `to`. */
static uint32_t next_cut(const struct bpe_head *head, const char *text, uint32_t from, uint32_t to)
{
    for (const char *at = text + from, *end = text + to; end - at >= 3; at++) {
        at = memchr(at, 0xe2, (size_t)(end - at) - 2);
        if (at == NULL)
            break;
        if (at > text + from && at[1] == '\x96' && at[2] == '\x81' && head->before_space[(unsigned char)at[-1]] == 0)
            return (uint32_t)(at - text);
    }
    return to;
}

/* Text that no pre-tokenizer has cut: into words, where that changes nothing. */
static int64_t encode_cut(const struct bpe *bpe, const char *text, struct split_piece piece, struct token_ids *out)
{
    int64_t total = 0;
    while (piece.from < piece.to) {
        struct split_piece words[BATCH];
        size_t n = 0;
        for (; n < BATCH && piece.from < piece.to; n++) {
            words[n].from = piece.from;
            piece.from = words[n].to = next_cut(bpe->head, text, piece.from, piece.to);
        }
        total += encode_batch(bpe, text, words, n, out);
    }
    return total;
}

int64_t bpe_encode(const struct bpe *bpe, const char *text, const struct split_piece *pieces, size_t n,
                   struct token_ids *out)
{
    int64_t total = 0;
    if (bpe->head->cuts) {
        for (size_t i = 0; i < n; i++)
            total += encode_cut(bpe, text, pieces[i], out);
        return total;
    }
    for (size_t i = 0; i < n; i += BATCH)
        total += encode_batch(bpe, text, pieces + i, n - i < BATCH ? n - i : BATCH, out);
    return total;
}
