#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/utf8.h"
#include "text/tokenizer/steps_internal.h"

/* The texts between two decoders. New text goes into `bytes`; what keeps its text stays where it was. */
struct tokens {
    struct str *items;
    size_t count;
    struct buf bytes;
};

static void add_valid(struct buf *out, struct str text)
{
    if (utf8_append_valid(out, text) != STATUS_OK)
        abort(); /* the buffer has no bound */
}

/* Makes one token of all. */
static void fuse(struct tokens *tokens, bool valid)
{
    struct buf joined, out;
    buf_init(&joined, BUF_UNBOUNDED);
    buf_init(&out, BUF_UNBOUNDED);
    for (size_t i = 0; i < tokens->count; i++)
        buf_add(&joined, tokens->items[i]);
    if (valid)
        add_valid(&out, buf_str(&joined));
    else
        buf_add(&out, buf_str(&joined));
    buf_finish(&joined);
    buf_finish(&tokens->bytes);
    tokens->bytes = out;
    if (tokens->count)
        tokens->items[0] = buf_str(&tokens->bytes);
    tokens->count = tokens->count ? 1 : 0;
}

/* Where the new text of each token ends, for tokens whose text is being rewritten. */
static void take_ends(struct tokens *tokens, struct buf *bytes, const size_t *ends, size_t count)
{
    for (size_t i = 0; i < count; i++)
        tokens->items[i] = str_slice(buf_str(bytes), i ? ends[i - 1] : 0, ends[i]);
    tokens->count = count;
    buf_finish(&tokens->bytes);
    tokens->bytes = *bytes;
}

static void replace_all(const struct step *step, struct tokens *tokens)
{
    struct buf bytes, scratch;
    size_t *ends = mem_calloc(tokens->count + 1, sizeof *ends);
    buf_init(&bytes, BUF_UNBOUNDED);
    buf_init(&scratch, BUF_UNBOUNDED);
    for (size_t i = 0; i < tokens->count; i++) {
        buf_reset(&scratch);
        buf_add(&bytes, step_replace(step, tokens->items[i], &scratch));
        ends[i] = bytes.len;
    }
    take_ends(tokens, &bytes, ends, tokens->count);
    buf_finish(&scratch);
    free(ends);
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = ascii_lower(c);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The byte that a token such as <0x0A> stands for; -1. */
static int fallback_byte(struct str token)
{
    if (token.len != 6 || memcmp(token.data, "<0x", 3) != 0 || token.data[5] != '>')
        return -1;
    int high = hex_digit(token.data[3]), low = hex_digit(token.data[4]);
    return high < 0 || low < 0 ? -1 : high * 16 + low;
}

/* A run of bytes is one token where it is UTF-8, else one U+FFFD for each byte. */
static size_t add_run(struct buf *bytes, struct str run, size_t *ends, size_t count)
{
    if (utf8_is_valid(run)) {
        buf_add(bytes, run);
        ends[count] = bytes->len;
        return count + 1;
    }
    for (size_t i = 0; i < run.len; i++) {
        buf_add_text(bytes, "\xEF\xBF\xBD");
        ends[count++] = bytes->len;
    }
    return count;
}

static void byte_fallback(struct tokens *tokens)
{
    struct buf bytes, run;
    size_t *ends = mem_calloc(tokens->count + 1, sizeof *ends), count = 0;
    buf_init(&bytes, BUF_UNBOUNDED);
    buf_init(&run, BUF_UNBOUNDED);
    for (size_t i = 0; i <= tokens->count; i++) {
        int byte = i < tokens->count ? fallback_byte(tokens->items[i]) : -1;
        if (byte >= 0) {
            buf_add_char(&run, (char)byte);
            continue;
        }
        if (run.len)
            count = add_run(&bytes, buf_str(&run), ends, count);
        buf_reset(&run);
        if (i == tokens->count)
            break;
        buf_add(&bytes, tokens->items[i]);
        ends[count++] = bytes.len;
    }
    take_ends(tokens, &bytes, ends, count);
    buf_finish(&run);
    free(ends);
}

static void strip(const struct step *step, struct tokens *tokens)
{
    struct str content = step->text;
    for (size_t i = 0; i < tokens->count && content.len; i++) {
        struct str *text = &tokens->items[i];
        for (uint32_t n = 0; n < step->record->start && str_starts_with(*text, content); n++)
            *text = str_slice(*text, content.len, text->len);
        for (uint32_t n = 0; n < step->record->stop && str_ends_with(*text, content); n++)
            *text = str_slice(*text, 0, text->len - content.len);
    }
}

/* The replacement becomes a space, but in the first token nothing where one had been put in front. */
static void metaspace(const struct step *step, struct tokens *tokens)
{
    struct buf bytes;
    size_t *ends = mem_calloc(tokens->count + 1, sizeof *ends);
    buf_init(&bytes, BUF_UNBOUNDED);
    for (size_t i = 0; i < tokens->count; i++) {
        struct str text = tokens->items[i], space = STR(" ");
        size_t from = 0;
        if (i == 0 && step->record->prepend != METASPACE_NEVER)
            space.len = 0;
        for (size_t at; (at = str_find(text, step->text, from)) != STR_NONE; from = at + step->text.len) {
            buf_add(&bytes, str_slice(text, from, at));
            buf_add(&bytes, space);
        }
        buf_add(&bytes, str_slice(text, from, text.len));
        ends[i] = bytes.len;
    }
    take_ends(tokens, &bytes, ends, tokens->count);
    free(ends);
}

/* Appends the bytes that the characters of `token` stand for, or its own where one stands for none. */
static void add_bytes(struct buf *bytes, struct str token)
{
    size_t start = bytes->len;
    for (size_t at = 0, len; at < token.len; at += len) {
        int byte = byte_level_byte(character_at(token, at, &len));
        if (byte < 0) {
            buf_truncate(bytes, start);
            buf_add(bytes, token);
            return;
        }
        buf_add_char(bytes, (char)byte);
    }
}

static void byte_level(const struct steps *steps, struct tokens *tokens)
{
    struct buf bytes;
    if (steps->head->byte_level) {
        fuse(tokens, true);
        return;
    }
    size_t *ends = mem_calloc(tokens->count + 1, sizeof *ends);
    buf_init(&bytes, BUF_UNBOUNDED);
    for (size_t i = 0; i < tokens->count; i++) {
        add_bytes(&bytes, tokens->items[i]);
        ends[i] = bytes.len;
    }
    take_ends(tokens, &bytes, ends, tokens->count);
    free(ends);
    fuse(tokens, true);
}

static void decode(const struct steps *steps, const struct step *step, struct tokens *tokens)
{
    switch ((enum decoder_kind)step->record->kind) {
    case DECODER_BYTE_LEVEL:
        byte_level(steps, tokens);
        break;
    case DECODER_REPLACE:
        replace_all(step, tokens);
        break;
    case DECODER_BYTE_FALLBACK:
        byte_fallback(tokens);
        break;
    case DECODER_FUSE:
        fuse(tokens, false);
        break;
    case DECODER_STRIP:
        strip(step, tokens);
        break;
    case DECODER_METASPACE:
        metaspace(step, tokens);
        break;
    }
}

/* Without decoders the texts of tokens stand between spaces, as in Hugging Face's library. */
void steps_decode(const struct steps *steps, const struct str *texts, size_t count, struct buf *out)
{
    struct tokens tokens = {.items = mem_calloc(count + 1, sizeof *tokens.items), .count = count};
    bool spaced = steps->head->n_decoders == 0;
    buf_init(&tokens.bytes, BUF_UNBOUNDED);
    if (count)
        memcpy(tokens.items, texts, count * sizeof *texts);
    for (uint32_t i = 0; i < steps->head->n_decoders; i++)
        decode(steps, &steps->decoders[i], &tokens);
    for (size_t i = 0; i < tokens.count; i++) {
        if (spaced && i)
            buf_add_char(out, ' ');
        buf_add(out, tokens.items[i]);
    }
    buf_finish(&tokens.bytes);
    free(tokens.items);
}
