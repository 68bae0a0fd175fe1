#include <stdlib.h>

#include "text/tokenizer/steps_internal.h"
#include "text/tokenizer/unicode_class.h"

/* The pre-tokenizers are run through depth first: a piece that one of them gives goes through all that follow before
 * the next piece is looked at, so that no list of pieces is ever longer than a batch. */
struct cutter {
    const struct steps *steps;
    steps_take_fn take;
    void *user;
    const char *text; /* what the pieces of the batch are of */
    struct split_piece batch[SPLITTER_BATCH];
    size_t n;
};

static void flush(struct cutter *cutter)
{
    if (cutter->n)
        cutter->take(cutter->user, cutter->text, cutter->batch, cutter->n);
    cutter->n = 0;
}

/* One step at work on a text, of which it gives pieces in order. */
struct cut {
    struct cutter *cutter;
    uint32_t step;
    struct str text; /* what `held` and the matches are places of */
    size_t base;     /* `text` begins here in the text whose pieces go into the batch */
    const char *whole;
    int64_t lead; /* see run_step */
    enum split_behavior behavior;
    bool matched_before;
    bool holds;
    struct split_piece held; /* not given yet: what comes next may join it */
};

/* `lead`: how many bytes of the piece were put in front of what the whole text begins with; -1 where the piece begins
 * somewhere else in it. */
static void run_step(struct cutter *cutter, uint32_t step, const char *whole, struct split_piece piece, int64_t lead);

/* A piece to the step behind `step`. */
static void give(struct cutter *cutter, uint32_t step, const char *whole, struct split_piece piece, int64_t lead)
{
    if (piece.from == piece.to)
        return;
    if (step + 1 < cutter->steps->head->n_pre_tokenizers) {
        run_step(cutter, step + 1, whole, piece, lead);
        return;
    }
    if (cutter->text != whole || cutter->n == SPLITTER_BATCH)
        flush(cutter);
    cutter->text = whole;
    cutter->batch[cutter->n++] = piece;
}

static void release(struct cut *cut)
{
    struct split_piece piece = {(uint32_t)(cut->base + cut->held.from), (uint32_t)(cut->base + cut->held.to)};
    if (cut->holds)
        give(cut->cutter, cut->step, cut->whole, piece, cut->lead >= cut->held.from ? cut->lead - cut->held.from : -1);
    cut->holds = false;
}

/* The next stretch of the text: a match, or what lies between two. */
static void feed(struct cut *cut, size_t from, size_t to, bool matched)
{
    bool joins = false;
    switch (cut->behavior) {
    case SPLIT_REMOVED:
    case SPLIT_ISOLATED:
        break;
    case SPLIT_MERGED_WITH_PREVIOUS:
        joins = matched && !cut->matched_before;
        break;
    case SPLIT_MERGED_WITH_NEXT:
        joins = !matched && cut->matched_before;
        break;
    case SPLIT_CONTIGUOUS:
        joins = matched == cut->matched_before;
        break;
    }
    cut->matched_before = matched;
    if (joins && cut->holds) {
        cut->held.to = (uint32_t)to;
        return;
    }
    release(cut);
    cut->holds = !(matched && cut->behavior == SPLIT_REMOVED);
    cut->held = (struct split_piece){(uint32_t)from, (uint32_t)to};
}

static void cut_by_pattern(struct cut *cut, const struct splitter *splitter, bool invert)
{
    struct split_piece pieces[SPLITTER_BATCH];
    struct split_walk walk;
    size_t at = 0;
    split_walk_begin(&walk, splitter, cut->text);
    for (size_t n; (n = split_walk_next(&walk, pieces)) > 0;)
        for (size_t i = 0; i < n; i++) {
            if (pieces[i].from > at)
                feed(cut, at, pieces[i].from, invert);
            feed(cut, pieces[i].from, pieces[i].to, !invert);
            at = pieces[i].to;
        }
    split_walk_end(&walk);
    if (at < cut->text.len)
        feed(cut, at, cut->text.len, invert);
    release(cut);
}

/* Every character of the kind is a match. */
static void cut_by_character(struct cut *cut, bool (*is_match)(uint32_t))
{
    size_t from = 0, len;
    for (size_t at = 0; at < cut->text.len; at += len) {
        if (!is_match(character_at(cut->text, at, &len)))
            continue;
        if (from < at)
            feed(cut, from, at, false);
        feed(cut, at, at + len, true);
        from = at + len;
    }
    if (from < cut->text.len)
        feed(cut, from, cut->text.len, false);
    release(cut);
}

/* Every occurrence of a character, which `text` holds, is a match. */
static void cut_by_text(struct cut *cut, struct str text)
{
    size_t from = 0;
    for (size_t at; (at = str_find(cut->text, text, from)) != STR_NONE; from = at + text.len) {
        if (from < at)
            feed(cut, from, at, false);
        feed(cut, at, at + text.len, true);
    }
    if (from < cut->text.len)
        feed(cut, from, cut->text.len, false);
    release(cut);
}

/* Words and runs of other characters; white space goes. */
static void cut_by_words(struct cut *cut)
{
    size_t from = 0, len;
    int before = 0; /* 0 white space, 1 word, 2 other */
    cut->behavior = SPLIT_ISOLATED;
    for (size_t at = 0; at < cut->text.len; at += len) {
        uint32_t character = character_at(cut->text, at, &len);
        int kind = unicode_is_word(character) ? 1 : unicode_is_whitespace(character) ? 0 : 2;
        if (kind == before)
            continue;
        if (before)
            feed(cut, from, at, true);
        from = at;
        before = kind;
    }
    if (before)
        feed(cut, from, cut->text.len, true);
    release(cut);
}

/* Spaces become the replacement, and one may be put in front. */
static struct str metaspace_text(const struct step *step, struct str text, int64_t *lead, struct buf *out)
{
    struct rewrite rewrite = {.text = text, .out = out};
    enum metaspace_prepend prepend = (enum metaspace_prepend)step->record->prepend;
    bool begins = text.len && (text.data[0] == ' ' || str_starts_with(text, step->text));
    if (!begins && (prepend == METASPACE_ALWAYS || (prepend == METASPACE_FIRST && *lead >= 0))) {
        rewrite_replace(&rewrite, 0, 0, step->text);
        *lead += *lead < 0 ? 0 : (int64_t)step->text.len;
    }
    for (size_t at = 0; (at = str_find_char(text, ' ', at)) != STR_NONE; at++)
        rewrite_replace(&rewrite, at, at + 1, step->text);
    return rewrite_end(&rewrite);
}

static void cut_metaspace(struct cut *cut, const struct step *step)
{
    struct buf changed;
    buf_init(&changed, BUF_UNBOUNDED);
    struct str text = metaspace_text(step, cut->text, &cut->lead, &changed);
    if (changed.len) {
        cut->whole = text.data;
        cut->base = 0;
    }
    cut->text = text;
    if (step->record->flags & STEP_SPLIT)
        cut_by_text(cut, step->text);
    else
        give(cut->cutter, cut->step, cut->whole,
             (struct split_piece){(uint32_t)cut->base, (uint32_t)(cut->base + text.len)}, cut->lead);
    if (changed.len)
        flush(cut->cutter);
    buf_finish(&changed);
}

static void cut_byte_level(struct cut *cut, const struct step *step)
{
    struct buf changed;
    buf_init(&changed, BUF_UNBOUNDED);
    if ((step->record->flags & STEP_PREFIX_SPACE) && cut->text.data[0] != ' ') {
        buf_reserve(&changed, cut->text.len + 1);
        buf_add_char(&changed, ' ');
        buf_add(&changed, cut->text);
        cut->text = buf_str(&changed);
        cut->whole = cut->text.data;
        cut->base = 0;
    }
    if (step->splitter)
        cut_by_pattern(cut, step->splitter, false);
    else
        give(cut->cutter, cut->step, cut->whole,
             (struct split_piece){(uint32_t)cut->base, (uint32_t)(cut->base + cut->text.len)}, cut->lead);
    if (changed.len)
        flush(cut->cutter);
    buf_finish(&changed);
}

static void run_step(struct cutter *cutter, uint32_t index, const char *whole, struct split_piece piece, int64_t lead)
{
    const struct step *step = &cutter->steps->pre_tokenizers[index];
    const struct step_record *record = step->record;
    struct cut cut = {
        .cutter = cutter,
        .step = index,
        .text = str_make(whole + piece.from, piece.to - piece.from),
        .base = piece.from,
        .whole = whole,
        .lead = lead,
        .behavior = (enum split_behavior)record->behavior,
    };
    switch ((enum pre_tokenizer_kind)record->kind) {
    case PRE_TOKENIZER_SPLIT:
        cut_by_pattern(&cut, step->splitter, record->flags & STEP_INVERT);
        break;
    case PRE_TOKENIZER_BYTE_LEVEL:
        cut.behavior = SPLIT_ISOLATED;
        cut_byte_level(&cut, step);
        break;
    case PRE_TOKENIZER_METASPACE:
        cut.behavior = SPLIT_MERGED_WITH_NEXT;
        cut_metaspace(&cut, step);
        break;
    case PRE_TOKENIZER_DIGITS:
        cut.behavior = record->flags & STEP_INDIVIDUAL ? SPLIT_ISOLATED : SPLIT_CONTIGUOUS;
        cut_by_character(&cut, unicode_is_numeric);
        break;
    case PRE_TOKENIZER_PUNCTUATION:
        cut_by_character(&cut, unicode_is_punctuation);
        break;
    case PRE_TOKENIZER_WHITESPACE:
        cut_by_words(&cut);
        break;
    case PRE_TOKENIZER_WHITESPACE_SPLIT:
        cut.behavior = SPLIT_REMOVED;
        cut_by_character(&cut, unicode_is_whitespace);
        break;
    case PRE_TOKENIZER_DELIMITER:
        cut.behavior = SPLIT_REMOVED;
        cut_by_text(&cut, step->text);
        break;
    }
}

void steps_pre_tokenize(const struct steps *steps, struct str text, bool first, steps_take_fn take, void *user)
{
    struct cutter cutter = {.steps = steps, .take = take, .user = user};
    struct split_piece whole = {0, (uint32_t)text.len};
    if (!text.len)
        return;
    if (steps->head->n_pre_tokenizers)
        run_step(&cutter, 0, text.data, whole, first ? 0 : -1);
    else
        give(&cutter, 0, text.data, whole, first ? 0 : -1);
    flush(&cutter);
}
