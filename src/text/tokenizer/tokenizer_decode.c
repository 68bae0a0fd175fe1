#include <stdlib.h>

#include "core/mem.h"
#include "core/utf8.h"
#include "text/tokenizer/tokenizer_open.h"

enum status tokenizer_decode(const struct tokenizer *tokenizer, const uint32_t *ids, size_t count, unsigned flags,
                             struct buf *out, struct error *error)
{
    struct str *texts = mem_calloc(count, sizeof *texts);
    struct buf joined;
    enum status status = STATUS_OK;
    size_t kept = 0;
    buf_init(&joined, BUF_UNBOUNDED);
    for (size_t i = 0; i < count; i++) {
        struct str content;
        bool special = false;
        if (!tokenizer_text_at(tokenizer, ids[i], &texts[kept])) {
            status = error_set(error, STATUS_INVALID, "the vocabulary has no token %u", ids[i]);
            goto done;
        }
        if ((flags & TOKENIZER_SKIP_SPECIAL) == 0 || !added_tokens_at(tokenizer->added, ids[i], &content, &special) ||
            !special)
            kept++;
    }
    steps_decode(tokenizer->steps, texts, kept, &joined);
    status = utf8_append_valid(out, buf_str(&joined));
    if (status != STATUS_OK)
        error_set(error, status, "the text of %zu tokens is too long", count);
done:
    buf_finish(&joined);
    free(texts);
    return status;
}

/* How many bytes of `text` the first `n` tokens are. STR_NONE where they do not end between two characters, or where
 * their text is another than what was read; *apart then says whether the difference is not at the end only. */
static size_t bytes_of(const struct tokenizer *tokenizer, struct str text, const uint32_t *ids, size_t n, bool *apart)
{
    struct buf decoded;
    size_t same = 0;
    buf_init(&decoded, BUF_UNBOUNDED);
    if (tokenizer_decode(tokenizer, ids, n, 0, &decoded, NULL) != STATUS_OK)
        abort(); /* the ids are our own, the buffer has no bound */
    while (same < decoded.len && same < text.len && decoded.data[same] == text.data[same])
        same++;
    bool whole = same == decoded.len && utf8_floor(text, same) == same;
    *apart = same + 16 < decoded.len;
    buf_finish(&decoded);
    return whole ? same : STR_NONE;
}

/* Where the tokens' text is not the text that was read, and so no token's end is known: by halving. */
static size_t fit_by_halves(const struct tokenizer *tokenizer, struct str text, unsigned flags, int64_t tokens)
{
    size_t fits = 0, over = text.len;
    for (;;) {
        size_t middle = utf8_floor(text, fits + (over - fits) / 2), length;
        if (middle <= fits) {
            (void)utf8_decode(str_slice(text, fits, text.len), &length);
            middle = fits + length;
        }
        if (middle >= over)
            return fits;
        if (tokenizer_count(tokenizer, str_slice(text, 0, middle), flags) <= tokens)
            fits = middle;
        else
            over = middle;
    }
}

/* A prefix may have fewer tokens than the whole text has there, since what decides about its last ones is gone: a few
 * more are tried. */
#define FIT_MORE 3

size_t tokenizer_fit(const struct tokenizer *tokenizer, struct str text, unsigned flags, int64_t tokens)
{
    struct token_ids ids;
    token_ids_init(&ids);
    tokenizer_encode(tokenizer, text, flags & ~(unsigned)TOKENIZER_FRAMED, &ids);
    int64_t frame = (flags & TOKENIZER_FRAMED) != 0 ? tokenizer->about->n_before + tokenizer->about->n_after : 0;
    size_t fits = 0;
    if (tokens - frame >= (int64_t)ids.count) {
        fits = text.len;
    } else if (tokens > frame) {
        size_t n = (size_t)(tokens - frame) + FIT_MORE;
        n = n < ids.count ? n : ids.count;
        for (bool apart = false; n > 0; n--) {
            size_t length = bytes_of(tokenizer, text, ids.ids, n, &apart);
            if (apart) {
                fits = fit_by_halves(tokenizer, text, flags, tokens);
                break;
            }
            if (length == STR_NONE || tokenizer_count(tokenizer, str_slice(text, 0, length), flags) > tokens)
                continue;
            fits = length;
            break;
        }
    }
    token_ids_finish(&ids);
    return fits;
}
