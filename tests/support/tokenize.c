/* Answers requests about one tokenizer through pipes, so that tests compare it with others without a process for each
 * text. Usage: tokenize FILE, a tokenizer.json (tokenizer_config.json beside it is read too) or a .tiktoken file.
 *
 * All numbers are of this machine. First it writes uint32_t status and, when that is not 0, uint32_t length and the
 * error. A request is struct request and its bytes; answers may be held back while `more` requests follow. They are
 *
 *     e  encode       uint32_t count, uint32_t ids…
 *     c  count        int64_t
 *     f  fit          uint64_t bytes
 *     b  begins anew  uint32_t
 *     d  decode       bytes are uint32_t ids; uint32_t length (UINT32_MAX when refused), text
 */
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/file.h"
#include "core/mem.h"
#include "text/tokenizer/tokenizer.h"

struct request {
    int64_t limit;
    uint32_t operation, flags, length, more;
};

static void put(const void *bytes, size_t length)
{
    if (length > 0)
        fwrite(bytes, 1, length, stdout);
}

static void put_u32(uint32_t value)
{
    put(&value, sizeof value);
}

/* The image, at an address as a mapping has it. */
static char *compile(const char *path, struct buf *image, struct error *error)
{
    struct buf main, config;
    char *folder = mem_strdup(path), *name = mem_strdup(path);
    char *beside = mem_printf("%s/tokenizer_config.json", dirname(folder));
    buf_init(&main, BUF_UNBOUNDED);
    buf_init(&config, BUF_UNBOUNDED);
    enum status status = file_read(path, &main, error);
    if (status == STATUS_OK && strstr(path, ".json") && file_read(beside, &config, NULL) != STATUS_OK)
        buf_reset(&config);
    if (status == STATUS_OK) {
        struct tokenizer_source source = {
            .name = str_of(basename(name)), .main = buf_str(&main), .config = buf_str(&config)};
        status = tokenizer_compile(&source, image, error);
    }
    char *aligned = NULL;
    if (status == STATUS_OK) {
        aligned = aligned_alloc(64, (image->len + 63) / 64 * 64);
        memcpy(aligned, image->data, image->len);
    }
    buf_finish(&main);
    buf_finish(&config);
    free(beside);
    free(folder);
    free(name);
    return aligned;
}

static void put_decoded(const struct tokenizer *tokenizer, const struct request *request, const char *bytes)
{
    struct buf text;
    buf_init(&text, BUF_UNBOUNDED);
    size_t count = request->length / sizeof(uint32_t);
    uint32_t *ids = mem_calloc(count + 1, sizeof *ids);
    memcpy(ids, bytes, count * sizeof *ids);
    if (tokenizer_decode(tokenizer, ids, count, request->flags, &text, NULL) != STATUS_OK) {
        put_u32(UINT32_MAX);
    } else {
        put_u32((uint32_t)text.len);
        put(text.data, text.len);
    }
    free(ids);
    buf_finish(&text);
}

static void put_encoded(const struct tokenizer *tokenizer, const struct request *request, struct str text)
{
    struct token_ids ids;
    token_ids_init(&ids);
    tokenizer_encode(tokenizer, text, request->flags, &ids);
    put_u32((uint32_t)ids.count);
    put(ids.ids, ids.count * sizeof *ids.ids);
    token_ids_finish(&ids);
}

static void answer(const struct tokenizer *tokenizer, const struct request *request, const char *bytes)
{
    struct str text = str_make(bytes, request->length);
    if (request->operation == 'e') {
        put_encoded(tokenizer, request, text);
    } else if (request->operation == 'd') {
        put_decoded(tokenizer, request, bytes);
    } else if (request->operation == 'c') {
        int64_t count = tokenizer_count(tokenizer, text, request->flags);
        put(&count, sizeof count);
    } else if (request->operation == 'f') {
        uint64_t fits = tokenizer_fit(tokenizer, text, request->flags, request->limit);
        put(&fits, sizeof fits);
    } else if (request->operation == 'b') {
        put_u32(tokenizer_begins_anew(tokenizer, text));
    }
}

int main(int count, char **arguments)
{
    struct buf image;
    struct error error = {0};
    struct tokenizer *tokenizer = NULL;
    buf_init(&image, BUF_UNBOUNDED);
    if (count != 2) {
        fputs("usage: tokenize FILE\n", stderr);
        return 2;
    }
    char *aligned = compile(arguments[1], &image, &error);
    if (!aligned || tokenizer_open(str_make(aligned, image.len), &tokenizer, &error) != STATUS_OK) {
        put_u32((uint32_t)error.status);
        put_u32((uint32_t)strlen(error.message));
        put(error.message, strlen(error.message));
    } else {
        struct request request;
        put_u32(STATUS_OK);
        fflush(stdout);
        while (fread(&request, sizeof request, 1, stdin) == 1) {
            /* Exactly as long as the text, so that a sanitizer sees a read past its end. */
            char *bytes = mem_alloc(request.length);
            if (fread(bytes, 1, request.length, stdin) == request.length)
                answer(tokenizer, &request, bytes);
            free(bytes);
            if (!request.more)
                fflush(stdout);
        }
    }
    int status = tokenizer ? 0 : 1;
    tokenizer_destroy(tokenizer);
    buf_finish(&image);
    free(aligned);
    return status;
}
