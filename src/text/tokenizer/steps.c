#include "text/tokenizer/steps.h"

#include <stdlib.h>

#include "core/mem.h"
#include "text/tokenizer/steps_internal.h"

static enum status open_pattern(struct step *step, struct spec_pattern pattern, struct error *error)
{
    return splitter_create(pattern, SPLITTER_AUTO, &step->splitter, error);
}

static enum status open_step(struct step *step, const struct step_record *record, const char *texts,
                             struct error *error)
{
    *step = (struct step){
        .record = record,
        .pattern = str_make(texts + record->pattern, record->pattern_len),
        .text = str_make(texts + record->text, record->text_len),
    };
    if (!record->pattern_len)
        return STATUS_OK;
    struct spec_pattern pattern = {
        .text = step->pattern,
        .is_regex = record->flags & STEP_REGEX,
        .is_tiktoken = record->flags & STEP_TIKTOKEN,
    };
    return open_pattern(step, pattern, error);
}

static enum status open_normalizer(struct step *step, struct error *error)
{
    if (step->record->kind != NORMALIZER_PRECOMPILED)
        return STATUS_OK;
    step->charsmap = mem_alloc(sizeof *step->charsmap);
    if (!charsmap_open(step->charsmap, step->text))
        return error_set(error, STATUS_SYNTAX, "the normalizer Precompiled has a precompiled_charsmap that is damaged");
    return STATUS_OK;
}

static enum status open_pre_tokenizer(struct step *step, struct error *error)
{
    if (step->record->kind != PRE_TOKENIZER_BYTE_LEVEL || !(step->record->flags & STEP_USE_REGEX))
        return STATUS_OK;
    return open_pattern(step, splitter_gpt2(), error);
}

/* Whether the step cuts into the matches of its pattern, and nothing else where the pattern leaves nothing out. */
static bool gives_matches(const struct step *step)
{
    bool invert = step->record->flags & STEP_INVERT;
    return step->record->kind == PRE_TOKENIZER_SPLIT && step->splitter &&
           (step->record->behavior == SPLIT_ISOLATED || (step->record->behavior == SPLIT_REMOVED && invert));
}

static const struct splitter *join(const struct step *first, uint32_t count)
{
    const struct splitter *splitters[8];
    if (count > sizeof splitters / sizeof splitters[0])
        return NULL;
    for (uint32_t i = 0; i < count; i++) {
        if (!gives_matches(&first[i]) || first[i].record->behavior != SPLIT_ISOLATED)
            return NULL;
        splitters[i] = first[i].splitter;
    }
    return splitter_join(splitters, count);
}

static const struct splitter *find_single(const struct steps *steps)
{
    uint32_t count = steps->head->n_pre_tokenizers;
    if (!count)
        return NULL;
    const struct step *first = &steps->pre_tokenizers[0], *last = &steps->pre_tokenizers[count - 1];
    uint32_t changes = last->record->flags & (STEP_PREFIX_SPACE | STEP_USE_REGEX);
    bool byte_level = last->record->kind == PRE_TOKENIZER_BYTE_LEVEL;
    if (count == 1 && byte_level)
        return changes == STEP_USE_REGEX && splitter_covers_all(last->splitter) ? last->splitter : NULL;
    if (byte_level && changes)
        return NULL;
    uint32_t cuts = byte_level ? count - 1 : count;
    if (cuts == 1)
        return gives_matches(first) && splitter_covers_all(first->splitter) ? first->splitter : NULL;
    return join(first, cuts);
}

enum status steps_open(const struct image *image, struct steps **out, struct error *error)
{
    return steps_open_section(image_section(image, IMAGE_STEPS), out, error);
}

enum status steps_open_section(struct str section, struct steps **out, struct error *error)
{
    static const struct steps_head none;
    struct steps *steps = mem_zalloc(sizeof *steps);
    steps->head = section.len ? (const struct steps_head *)(const void *)section.data : &none;
    const struct steps_head *head = steps->head;
    size_t count = (size_t)head->n_normalizers + head->n_pre_tokenizers + head->n_decoders;
    steps->all = mem_calloc(count + 1, sizeof *steps->all);
    steps->normalizers = steps->all;
    steps->pre_tokenizers = steps->normalizers + head->n_normalizers;
    steps->decoders = steps->pre_tokenizers + head->n_pre_tokenizers;
    const struct step_record *records = (const struct step_record *)(const void *)(head + 1);
    enum status status = STATUS_OK;
    for (size_t i = 0; i < count && status == STATUS_OK; i++)
        status = open_step(&steps->all[i], &records[i], (const char *)(records + count), error);
    for (size_t i = 0; i < head->n_normalizers && status == STATUS_OK; i++)
        status = open_normalizer(&steps->normalizers[i], error);
    for (size_t i = 0; i < head->n_pre_tokenizers && status == STATUS_OK; i++)
        status = open_pre_tokenizer(&steps->pre_tokenizers[i], error);
    if (status != STATUS_OK) {
        steps_destroy(steps);
        return status;
    }
    steps->single = find_single(steps);
    *out = steps;
    return STATUS_OK;
}

void steps_destroy(struct steps *steps)
{
    if (!steps)
        return;
    size_t count = (size_t)steps->head->n_normalizers + steps->head->n_pre_tokenizers + steps->head->n_decoders;
    for (size_t i = 0; i < count; i++) {
        splitter_destroy(steps->all[i].splitter);
        free(steps->all[i].charsmap);
    }
    buf_finish(&steps->own);
    free(steps->all);
    free(steps);
}

const struct splitter *steps_splitter(const struct steps *steps)
{
    return steps->single;
}

bool steps_gave_up(const struct steps *steps, struct str *pattern)
{
    size_t count = (size_t)steps->head->n_normalizers + steps->head->n_pre_tokenizers + steps->head->n_decoders;
    for (size_t i = 0; i < count; i++)
        if (steps->all[i].splitter && splitter_gave_up(steps->all[i].splitter)) {
            *pattern = steps->all[i].pattern;
            return true;
        }
    return false;
}

static struct str replace_byte(char byte, struct str with, struct str text, struct buf *out)
{
    size_t count = 0, first = str_find_char(text, byte, 0);
    if (first == STR_NONE)
        return text;
    for (size_t i = first; i < text.len; i++)
        count += text.data[i] == byte;
    char *start = buf_reserve(out, text.len - count + count * with.len), *at = start;
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] != byte) {
            *at++ = text.data[i];
            continue;
        }
        for (size_t k = 0; k < with.len; k++)
            *at++ = with.data[k];
    }
    buf_commit(out, (size_t)(at - start));
    return buf_str(out);
}

struct str step_replace(const struct step *step, struct str text, struct buf *out)
{
    if (step->pattern.len == 1 && !(step->record->flags & STEP_REGEX))
        return replace_byte(step->pattern.data[0], step->text, text, out);
    struct rewrite rewrite = {.text = text, .out = out};
    struct split_piece pieces[SPLITTER_BATCH];
    struct split_walk walk;
    split_walk_begin(&walk, step->splitter, text);
    for (size_t n; text.len && (n = split_walk_next(&walk, pieces)) > 0;)
        for (size_t i = 0; i < n; i++)
            rewrite_replace(&rewrite, pieces[i].from, pieces[i].to, step->text);
    split_walk_end(&walk);
    return rewrite_end(&rewrite);
}

static struct str prepend(struct str with, struct str text, struct buf *out)
{
    if (!text.len || !with.len)
        return text;
    buf_reserve(out, text.len + with.len);
    buf_add(out, with);
    buf_add(out, text);
    return buf_str(out);
}

static struct str normalize(const struct step *step, struct str text, struct buf *out)
{
    enum normalizer_kind kind = (enum normalizer_kind)step->record->kind;
    switch (kind) {
    case NORMALIZER_NFC:
    case NORMALIZER_NFD:
    case NORMALIZER_NFKC:
    case NORMALIZER_NFKD:
        return normalize_form(kind, text, out);
    case NORMALIZER_LOWERCASE:
        return normalize_lowercase(text, out);
    case NORMALIZER_STRIP:
        return normalize_strip(text, step->record->flags & STEP_LEFT, step->record->flags & STEP_RIGHT);
    case NORMALIZER_STRIP_ACCENTS:
        return normalize_strip_accents(text, out);
    case NORMALIZER_REPLACE:
        return step_replace(step, text, out);
    case NORMALIZER_PREPEND:
        return prepend(step->text, text, out);
    case NORMALIZER_NMT:
        return normalize_nmt(text, out);
    case NORMALIZER_PRECOMPILED:
        return normalize_charsmap(step->charsmap, text, out);
    case NORMALIZER_BYTE_LEVEL:
        return normalize_byte_level(text, out);
    }
    return text;
}

static void swap(struct buf *a, struct buf *b)
{
    struct buf kept = *a;
    *a = *b;
    *b = kept;
}

static bool lies_in(struct str text, const struct buf *buf)
{
    return text.len && buf->data && text.data >= buf->data && text.data < buf->data + buf->len;
}

/* The text lies in `scratch` or outside of both buffers; each step writes into the other one. */
static struct str normalize_all(const struct steps *steps, struct str text, bool composed, struct buf *scratch)
{
    struct buf other;
    const char *original = text.data;
    buf_init(&other, BUF_UNBOUNDED);
    buf_reset(scratch);
    for (uint32_t i = 0; i < steps->head->n_normalizers && text.len; i++) {
        if (composed && text.data == original && steps->normalizers[i].record->kind == NORMALIZER_NFC)
            continue;
        bool kept = lies_in(text, scratch);
        struct buf *target = kept ? &other : scratch;
        buf_reset(target);
        text = normalize(&steps->normalizers[i], text, target);
        if (kept && lies_in(text, &other))
            swap(scratch, &other);
    }
    buf_finish(&other);
    return text;
}

struct str steps_normalize(const struct steps *steps, struct str text, struct buf *scratch)
{
    return normalize_all(steps, text, false, scratch);
}

struct str steps_normalize_composed(const struct steps *steps, struct str text, struct buf *scratch)
{
    return normalize_all(steps, text, true, scratch);
}
