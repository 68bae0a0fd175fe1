/* The texts of tokens, out of the table of pieces. */
#include "text/tokenizer/bpe_internal.h"

_Static_assert(offsetof(struct bpe_slot, hi) == 8, "a short text stands in one piece");

/* Wrong for a short text where the machine's words begin with their last byte. */
static struct str text_of(const struct bpe_slot *slot, const char *long_text)
{
    uint32_t length = (slot->meta & BPE_META_LENGTH_MASK) >> BPE_ID_BITS;
    if (length <= BPE_INLINE)
        return str_make((const char *)slot, length);
    memcpy(&length, long_text + slot->hi, sizeof length);
    return str_make(long_text + slot->hi + sizeof length, length);
}

void bpe_find_places(const struct image_writer *image, const struct str *texts, uint32_t count, uint32_t *places)
{
    struct str table = image_added(image, IMAGE_WHOLE);
    const struct bpe_slot *slots = (const void *)table.data;
    const char *long_text = image_added(image, IMAGE_WHOLE_TEXT).data;
    for (uint32_t place = 0; place < table.len / sizeof *slots; place++) {
        uint32_t id = slots[place].meta & BPE_NONE;
        if (id < count && str_equal(text_of(&slots[place], long_text), texts[id]))
            places[id] = place;
    }
}

struct str bpe_text(const struct bpe *bpe, uint32_t place)
{
    return text_of(&bpe->slots[place], bpe->long_text);
}
