#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/utf8.h"
#include "text/tokenizer/normalize.h"
#include "text/tokenizer/tokenizer_open.h"

/* One text on its way through the steps. */
struct run {
    const struct tokenizer *tokenizer;
    bool plain;
    struct token_ids *out; /* NULL: only count */
    int64_t total;
    const char *composed; /* NFC leaves what ends here or before as it is */
    struct buf scratch;   /* what the normalizers write */
};

static void take_id(struct run *run, uint32_t id)
{
    run->total++;
    if (run->out == NULL)
        return;
    run->out->ids = mem_grow(run->out->ids, run->out->count, &run->out->capacity, sizeof *run->out->ids);
    run->out->ids[run->out->count++] = id;
}

static void take_pieces(void *user, const char *text, const struct split_piece *pieces, size_t n)
{
    struct run *run = user;
    if (run->tokenizer->bpe != NULL)
        run->total += bpe_encode(run->tokenizer->bpe, text, pieces, n, run->out);
    else
        run->total += unigram_encode(run->tokenizer->unigram, text, pieces, n, run->out);
}

/* Lengths and places are 32 bits wide from here on: no model reads a text of 4 GiB. */
static void check_length(struct str text)
{
    if (text.len >= UINT32_MAX)
        abort();
}

/* Text without tokens to cut out. `first`: it begins what was given to be read. */
static void encode_normalized(struct run *run, struct str text, bool first)
{
    if (text.len == 0)
        return;
    const struct splitter *splitter = steps_splitter(run->tokenizer->steps);
    if (splitter == NULL) {
        steps_pre_tokenize(run->tokenizer->steps, text, first, take_pieces, run);
        return;
    }
    struct split_piece pieces[SPLITTER_BATCH];
    struct split_walk walk;
    split_walk_begin(&walk, splitter, text);
    for (size_t n; (n = split_walk_next(&walk, pieces)) > 0;)
        take_pieces(run, text.data, pieces, n);
    split_walk_end(&walk);
}

static void encode_segment(struct run *run, struct str raw, bool first)
{
    if (raw.len == 0)
        return;
    const struct added_tokens *added = run->tokenizer->added;
    bool composed = raw.data + raw.len <= run->composed;
    struct str text = composed ? steps_normalize_composed(run->tokenizer->steps, raw, &run->scratch)
                               : steps_normalize(run->tokenizer->steps, raw, &run->scratch);
    check_length(text);
    size_t at = 0;
    for (struct added_match match; added_tokens_next(added, text, at, true, run->plain, &match); at = match.to) {
        encode_normalized(run, str_slice(text, at, match.from), first && at == 0);
        take_id(run, match.id);
    }
    encode_normalized(run, str_slice(text, at, text.len), first && at == 0);
}

static int64_t encode(const struct tokenizer *tokenizer, struct str text, unsigned flags, struct token_ids *out)
{
    check_length(text);
    struct run run = {.tokenizer = tokenizer, .plain = (flags & TOKENIZER_PLAIN) != 0, .out = out};
    struct buf valid;
    buf_init(&run.scratch, BUF_UNBOUNDED);
    buf_init(&valid, BUF_UNBOUNDED);
    struct text_look look = text_look_over(text);
    if (!look.valid) {
        if (utf8_append_valid(&valid, text) != STATUS_OK)
            abort(); /* the buffer has no bound */
        text = buf_str(&valid);
        check_length(text);
        look = text_look_over(text);
    }
    run.composed = text.len ? text.data + look.composed : NULL;
    const struct tokenizer_about *about = tokenizer->about;
    bool framed = (flags & TOKENIZER_FRAMED) != 0;
    for (uint32_t i = 0; framed && i < about->n_before; i++)
        take_id(&run, about->frame[i]);
    size_t at = 0;
    for (struct added_match match; added_tokens_next(tokenizer->added, text, at, false, run.plain, &match);
         at = match.to) {
        encode_segment(&run, str_slice(text, at, match.from), at == 0);
        take_id(&run, match.id);
    }
    encode_segment(&run, str_slice(text, at, text.len), at == 0);
    for (uint32_t i = 0; framed && i < about->n_after; i++)
        take_id(&run, about->frame[about->n_before + i]);
    buf_finish(&run.scratch);
    buf_finish(&valid);
    return run.total;
}

int64_t tokenizer_count(const struct tokenizer *tokenizer, struct str text, unsigned flags)
{
    return encode(tokenizer, text, flags, NULL);
}

void tokenizer_encode(const struct tokenizer *tokenizer, struct str text, unsigned flags, struct token_ids *out)
{
    (void)encode(tokenizer, text, flags, out);
}
