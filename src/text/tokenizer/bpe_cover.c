#include "core/mem.h"
#include "text/tokenizer/bpe_internal.h"

/* What becomes of characters that the vocabulary does not have. The text between them is merged as if it stood alone.
 */

/* What waits to be written as one unknown token: it is written in front of the next known character, while bytes that
 * come meanwhile go before it. So does Hugging Face's implementation. */
static void end_unknown(const struct bpe *bpe, struct bpe_found *found, bool *waiting)
{
    if (*waiting)
        bpe_found_add(found, bpe->head->unknown);
    *waiting = false;
}

/* Whether all bytes of an unknown character have tokens to be written with. */
static bool has_bytes(const struct bpe_head *head, const char *at, size_t length)
{
    bool known = head->byte_fallback;
    for (size_t i = 0; i < length && known; i++)
        known = head->bytes[(unsigned char)at[i]] != BPE_NONE;
    return known;
}

static void add_unknown(const struct bpe *bpe, const char *at, size_t length, struct bpe_found *found, bool *waiting)
{
    if (has_bytes(bpe->head, at, length)) {
        for (size_t i = 0; i < length; i++)
            bpe_found_add(found, bpe->head->bytes[(unsigned char)at[i]]);
        return;
    }
    if (!bpe->head->fuse_unknown)
        end_unknown(bpe, found, waiting);
    *waiting = true;
}

static void cover_with_unknown(const struct bpe *bpe, const char *at, size_t length, struct bpe_found *found)
{
    bool waiting = false;
    size_t known_from = 0;
    for (size_t i = 0, step = 1; i <= length; i += step) {
        if (i < length && bpe_symbol_at(bpe, at + i, length - i, &step) != BPE_NONE)
            continue;
        if (known_from < i) {
            end_unknown(bpe, found, &waiting);
            if (!bpe_merge_text(bpe, at + known_from, i - known_from, found))
                abort(); /* every character was looked up */
        }
        if (i < length)
            add_unknown(bpe, at + i, step, found, &waiting);
        known_from = i + step;
    }
    end_unknown(bpe, found, &waiting);
}

/* Without a token for the unknown, a character that has none disappears, and its neighbours become each other's. */
static void cover_without_unknown(const struct bpe *bpe, const char *at, size_t length, struct bpe_found *found)
{
    char *kept = mem_alloc(length);
    size_t n = 0;
    for (size_t i = 0, step; i < length; i += step) {
        if (bpe_symbol_at(bpe, at + i, length - i, &step) == BPE_NONE && !has_bytes(bpe->head, at + i, step))
            continue;
        memcpy(kept + n, at + i, step);
        n += step;
    }
    cover_with_unknown(bpe, kept, n, found);
    free(kept);
}

void bpe_cover(const struct bpe *bpe, const char *at, size_t length, struct bpe_found *found)
{
    if (length == 0 || bpe_merge_text(bpe, at, length, found))
        return;
    if (bpe->head->unknown != BPE_NONE)
        cover_with_unknown(bpe, at, length, found);
    else
        cover_without_unknown(bpe, at, length, found);
}
