/* src/cli/tokens_show.c: how `fathom tokens` shows what it found. */
#include "cli/tokens_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <utf8proc.h>

#include "cli/terminal.h"
#include "core/utf8.h"
#include "text/token_estimate.h"

/* Long lists go out in pieces of this size. */
#define OUTPUT_BYTES ((size_t)65536)

/* A text is cut by tokens in a beginning of this size first. */
#define FIT_BYTES ((size_t)1 << 20)

int64_t tokens_count(const struct tokens *tokens, struct str text)
{
    return tokens->tokenizer != NULL ? tokenizer_count(tokens->tokenizer, text, tokens->flags)
                                     : token_estimate_text(text);
}

/* ---- JSON ---- */

/* The line up to, without, its closing brace. */
static void begin_line(const struct tokens *tokens, const char *name, int64_t count, const json_t *facts,
                       struct buf *out)
{
    json_t *object = json_object();
    json_put(object, "file", name != NULL ? json_from_str(str_of(name)) : NULL);
    json_put(object, "tokens", json_integer(count));
    json_put_str(object, "method", tokens->tokenizer != NULL ? STR("tokenizer") : STR("estimate"));
    if (facts != NULL)
        json_object_update(object, (json_t *)(uintptr_t)facts);
    if (json_write(out, object) != STATUS_OK)
        abort(); /* the buffer has no cap */
    buf_truncate(out, out->len - 1);
    json_decref(object);
}

static void flush(struct buf *out)
{
    fwrite(out->data, 1, out->len, stdout);
    buf_reset(out);
}

/* ---- one token ---- */

static bool is_shown_as_it_is(uint32_t code_point)
{
    switch (utf8proc_category((utf8proc_int32_t)code_point)) {
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
        return false;
    case UTF8PROC_CATEGORY_ZS:
        return code_point == ' ';
    default: /* utf8proc's own */
        return true;
    }
}

/* A token's bytes so that every byte can be told from every other. */
static void add_escaped(struct buf *out, struct str bytes)
{
    for (size_t i = 0, length; i < bytes.len; i += length) {
        struct str rest = str_slice(bytes, i, bytes.len);
        uint32_t code_point = utf8_decode(rest, &length);
        if (code_point == UTF8_INVALID) {
            for (size_t k = 0; k < length; k++)
                buf_addf(out, "\\x%02X", (unsigned char)rest.data[k]);
        } else if (code_point == '\n' || code_point == '\t' || code_point == '\r') {
            buf_addf(out, "\\%c", code_point == '\n' ? 'n' : code_point == '\t' ? 't' : 'r');
        } else if (code_point == '"' || code_point == '\\') {
            buf_addf(out, "\\%c", (char)code_point);
        } else if (is_shown_as_it_is(code_point)) {
            buf_add(out, str_slice(rest, 0, length));
        } else {
            buf_addf(out, "\\u{%X}", (unsigned)code_point);
        }
    }
}

static void add_piece(const struct tokens *tokens, uint32_t id, struct buf *scratch, struct buf *out)
{
    struct str escaped;
    buf_reset(scratch);
    add_escaped(scratch, tokenizer_text(tokens->tokenizer, id));
    escaped = buf_str(scratch);
    if (!tokens->cli->json) {
        buf_addf(out, "%7u  \"", (unsigned)id);
        buf_add(out, escaped);
        buf_add_text(out, "\"\n");
        return;
    }
    buf_add_char(out, '"');
    if (json_escape(out, escaped) != STATUS_OK)
        abort(); /* the buffer has no cap */
    buf_add_char(out, '"');
}

/* ---- lists ---- */

static void add_id(struct buf *out, uint32_t id)
{
    char digits[12];
    size_t at = sizeof digits;
    do {
        digits[--at] = (char)('0' + id % 10);
    } while ((id /= 10) != 0);
    buf_add(out, str_make(digits + at, sizeof digits - at));
}

static void show_list(const struct tokens *tokens, const char *name, const struct token_ids *ids, const json_t *facts)
{
    bool json = tokens->cli->json, pieces = tokens->mode == TOKENS_PIECES;
    const char *separator = json ? "," : pieces ? "" : " ";
    struct buf out, scratch;
    buf_init(&out, BUF_UNBOUNDED);
    buf_init(&scratch, BUF_UNBOUNDED);
    if (json) {
        begin_line(tokens, name, (int64_t)ids->count, facts, &out);
        buf_add_text(&out, pieces ? ",\"pieces\":[" : ",\"ids\":[");
    }
    for (size_t i = 0; i < ids->count && tokens_output_is_open(); i++) {
        if (i > 0)
            buf_add_text(&out, separator);
        if (pieces)
            add_piece(tokens, ids->ids[i], &scratch, &out);
        else
            add_id(&out, ids->ids[i]);
        if (out.len >= OUTPUT_BYTES)
            flush(&out);
    }
    buf_add_text(&out, json ? "]}\n" : pieces ? "" : "\n");
    flush(&out);
    buf_finish(&scratch);
    buf_finish(&out);
}

/* ---- the modes ---- */

void tokens_show_count(struct tokens *tokens, const char *name, int64_t count, const json_t *facts)
{
    tokens->total += count;
    if (tokens->cli->json) {
        struct buf line;
        buf_init(&line, BUF_UNBOUNDED);
        begin_line(tokens, name, count, facts, &line);
        buf_add_text(&line, "}\n");
        flush(&line);
        buf_finish(&line);
    } else if (name != NULL) {
        cli_print("%8lld ", (long long)count);
        cli_print_text(str_of(name));
        cli_print("\n");
    } else {
        cli_print("%lld\n", (long long)count);
    }
}

void tokens_show_text(struct tokens *tokens, const char *name, struct str text, int64_t count, const json_t *facts)
{
    if (!tokens->cli->json) {
        cli_print_text(text);
        if (terminal_output_is_terminal() && text.len > 0 && text.data[text.len - 1] != '\n')
            cli_print("\n");
        return;
    }
    struct buf line;
    buf_init(&line, BUF_UNBOUNDED);
    begin_line(tokens, name, count, facts, &line);
    buf_add_text(&line, ",\"text\":\"");
    if (json_escape(&line, text) != STATUS_OK)
        abort(); /* the buffer has no cap */
    buf_add_text(&line, "\"}\n");
    flush(&line);
    buf_finish(&line);
}

/* tokenizer_fit, without reading a long text to its end: what stands far behind the cut does not move it. */
static size_t fit(const struct tokens *tokens, struct str text)
{
    size_t window = FIT_BYTES;
    while (window < text.len) {
        struct str beginning = str_slice(text, 0, utf8_floor(text, window));
        size_t fits = tokenizer_fit(tokens->tokenizer, beginning, tokens->flags, tokens->limit);
        if (fits < window / 2)
            return fits;
        window *= 4;
    }
    return tokenizer_fit(tokens->tokenizer, text, tokens->flags, tokens->limit);
}

static void show_beginning(struct tokens *tokens, const char *name, struct str text)
{
    size_t fits = fit(tokens, text);
    struct str beginning = str_slice(text, 0, fits);
    json_t *facts = NULL;
    int64_t count = 0;
    if (tokens->cli->json) {
        facts = json_object();
        json_put(facts, "bytes", json_integer((json_int_t)fits));
        json_put(facts, "truncated", json_boolean(fits < text.len));
        count = tokens_count(tokens, beginning);
    }
    tokens_show_text(tokens, name, beginning, count, facts);
    json_decref(facts);
}

void tokens_show(struct tokens *tokens, const char *name, struct str text, const json_t *facts)
{
    struct token_ids ids;
    switch (tokens->mode) {
    case TOKENS_COUNT:
        tokens_show_count(tokens, name, tokens_count(tokens, text), facts);
        break;
    case TOKENS_IDS:
    case TOKENS_PIECES:
        token_ids_init(&ids);
        tokenizer_encode(tokens->tokenizer, text, tokens->flags, &ids);
        show_list(tokens, name, &ids, facts);
        token_ids_finish(&ids);
        break;
    case TOKENS_TRUNCATE:
        show_beginning(tokens, name, text);
        break;
    case TOKENS_RENDER:
        tokens_show_text(tokens, name, text, tokens->cli->json ? tokens_count(tokens, text) : 0, facts);
        break;
    case TOKENS_DECODE: /* tokens_decode.c */
        break;
    }
}
