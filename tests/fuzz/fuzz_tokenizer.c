/* Tokenizers from hostile files. The input is a tokenizer.json or rank file, behind a zero byte a
 * tokenizer_config.json, and behind another one text. What compiles opens; its image does not change; counting and
 * encoding agree; every id is below the vocabulary's size unless the file's post-processor named it; a prefix that
 * fits is a prefix; what was encoded can be decoded. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "text/tokenizer/tokenizer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
    if (!holds)
        abort();
}

static void use(const struct tokenizer *tokenizer, struct str text, unsigned flags)
{
    struct token_ids ids;
    struct buf back;
    token_ids_init(&ids);
    buf_init(&back, (size_t)1 << 24);
    tokenizer_encode(tokenizer, text, flags, &ids);
    check(tokenizer_count(tokenizer, text, flags) == (int64_t)ids.count);
    if (!(flags & TOKENIZER_FRAMED))
        for (size_t i = 0; i < ids.count; i++)
            check(ids.ids[i] < tokenizer_vocabulary(tokenizer));
    size_t fitting = tokenizer_fit(tokenizer, text, flags, 3);
    check(fitting <= text.len);
    enum status status = tokenizer_decode(tokenizer, ids.ids, ids.count, flags, &back, NULL);
    check(status == STATUS_OK || status == STATUS_TOO_BIG || (flags & TOKENIZER_FRAMED));
    buf_finish(&back);
    token_ids_finish(&ids);
}

static void use_image(struct str image, struct str text)
{
    static const unsigned ways[] = {0, TOKENIZER_PLAIN, TOKENIZER_FRAMED};
    struct tokenizer *tokenizer = NULL;
    size_t len = (image.len + 63) / 64 * 64;
    char *aligned = aligned_alloc(64, len);
    check(aligned != NULL);
    memcpy(aligned, image.data, image.len);
    check(tokenizer_open(str_make(aligned, image.len), &tokenizer, NULL) == STATUS_OK);
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++)
        use(tokenizer, text, ways[i]);
    check(memcmp(aligned, image.data, image.len) == 0);
    tokenizer_destroy(tokenizer);
    free(aligned);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str rest = {(const char *)data, size}, parts[3] = {{0}};
    struct buf image;
    for (size_t i = 0; i < 3; i++) {
        size_t end = i < 2 ? str_find_char(rest, '\0', 0) : STR_NONE;
        parts[i] = str_slice(rest, 0, end);
        rest = end == STR_NONE ? (struct str){0} : str_slice(rest, end + 1, rest.len);
    }
    struct tokenizer_source source = {.name = STR("tokenizer.json"), .main = parts[0], .config = parts[1]};
    struct error error = {0};
    buf_init(&image, BUF_UNBOUNDED);
    if (tokenizer_compile(&source, &image, &error) == STATUS_OK)
        use_image(buf_str(&image), parts[2]);
    else
        check(error.message[0] != '\0' && image.len == 0);
    buf_finish(&image);
    return 0;
}
