#include "core/mem.h"
#include "text/tokenizer/bpe_compile_internal.h"

#define BYTES(n) ((n) >= 8 ? UINT64_MAX : (UINT64_C(1) << (8 * ((n)&7))) - 1)

const uint64_t bpe_masks_lo[17] = {BYTES(0), BYTES(1), BYTES(2), BYTES(3), BYTES(4), BYTES(5),
                                   BYTES(6), BYTES(7), BYTES(8), BYTES(8), BYTES(8), BYTES(8),
                                   BYTES(8), BYTES(8), BYTES(8), BYTES(8), BYTES(8)};
const uint64_t bpe_masks_hi[17] = {[9] = BYTES(1), BYTES(2), BYTES(3), BYTES(4),
                                   BYTES(5),       BYTES(6), BYTES(7), BYTES(8)};

struct bpe_key bpe_key_slowly(uint64_t seed, const char *at, size_t length)
{
    uint64_t lo = bpe_load(at, length), hi = length > 8 ? bpe_load(at + 8, length - 8) : 0;
    uint64_t hash = bpe_hash_words(seed, lo, hi, length);
    for (size_t i = 16; i < length; i += 8)
        hash = bpe_mix(hash ^ bpe_load(at + i, length - i), UINT64_C(0x8bb84b93962eacc9));
    return (struct bpe_key){lo, hi, hash};
}

static uint64_t hash_token(const void *user, size_t i, uint64_t seed)
{
    const struct bpe_whole_token *tokens = user;
    return bpe_key_slowly(seed, tokens[i].text.data, tokens[i].text.len).hash;
}

static void write_slots(const struct bpe_perfect_table *table, const struct bpe_whole_token *tokens,
                        struct image_writer *image)
{
    uint32_t n_slots = table->shape.n_places;
    struct bpe_slot *slots = mem_calloc(n_slots, sizeof *slots);
    struct buf texts;
    buf_init(&texts, BUF_UNBOUNDED);
    for (uint32_t i = 0; i < n_slots; i++) {
        if (table->owners[i] == UINT32_MAX)
            continue;
        const struct bpe_whole_token *token = &tokens[table->owners[i]];
        struct str text = token->text;
        struct bpe_key key = bpe_key_slowly(table->shape.seed, text.data, text.len);
        slots[i] = (struct bpe_slot){key.lo, (uint32_t)key.hi, token->meta};
        if (text.len > BPE_INLINE) {
            uint32_t length = (uint32_t)text.len;
            slots[i].hi = (uint32_t)texts.len;
            buf_add(&texts, str_make((const char *)&length, sizeof length));
            buf_add(&texts, text);
        }
    }
    image_add(image, IMAGE_WHOLE, slots, n_slots * sizeof *slots);
    image_add(image, IMAGE_WHOLE_TEXT, texts.data, texts.len);
    buf_finish(&texts);
    free(slots);
}

enum status bpe_whole_compile(struct bpe_head *head, const struct bpe_whole_token *tokens, size_t count,
                              struct image_writer *image, struct error *error)
{
    struct bpe_perfect_table table;
    if (!bpe_perfect_make(&table, count, hash_token, tokens))
        return error_set(error, STATUS_UNSUPPORTED, "no table without collisions was found for the vocabulary");
    head->whole = table.shape;
    write_slots(&table, tokens, image);
    bpe_perfect_write_seeds(&table, IMAGE_WHOLE_SEEDS, image);
    bpe_perfect_finish(&table);
    return STATUS_OK;
}
