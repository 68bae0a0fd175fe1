/* The vocabulary and the merges of a tokenizer.json, without building JSON values of them. */
#include "text/tokenizer/read_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "text/tokenizer/read_scan.h"
#include "text/tokenizer/text_map.h"

#define MAX_TOKEN_BYTES ((size_t)1 << 13)  /* the longest of any model are of some hundred characters */
#define MAX_TEXT_BYTES  ((size_t)64 << 20) /* the largest vocabularies have 3 MiB */
#define MAX_MERGES      ((size_t)1 << 24)

struct vocabulary_walk {
    struct tokenizer_spec *spec;
    struct json_scan scan;
    bool *seen; /* by id */
    size_t bytes;
    struct error *error;
};

/* Here, with line and column; about `text` where it is not empty. */
static enum status fail_here(const struct vocabulary_walk *walk, enum status status, const char *message,
                             struct str text)
{
    char quoted[READ_QUOTE_BYTES], whole[200];
    bool about = text.len != 0;
    snprintf(whole, sizeof whole, "%s%s%s%s", message, about ? ": \"" : "", about ? read_quote(text, quoted) : "",
             about ? "\"" : "");
    json_scan_fail(&walk->scan, whole, walk->error);
    if (walk->error)
        walk->error->status = status;
    return status;
}

static enum status add_token(struct vocabulary_walk *walk, struct str written, struct spec_token token)
{
    struct tokenizer_spec *spec = walk->spec;
    char bytes[MAX_TOKEN_BYTES];
    size_t length = written.len;
    if (walk->seen[token.id])
        return fail_here(walk, STATUS_UNSUPPORTED, "model.vocab: the id is that of another token", written);
    walk->bytes += written.len;
    if (written.len > sizeof bytes || walk->bytes > MAX_TEXT_BYTES)
        return fail_here(walk, STATUS_TOO_BIG, "model.vocab: a token longer than any model's", written);
    bool byte_level = spec->model.byte_level;
    bool reached = !byte_level || (length = read_stand_ins(written, bytes)) != SIZE_MAX;
    walk->seen[token.id] = true;
    token.text = tokenizer_spec_text(spec, reached && byte_level ? str_make(bytes, length) : written);
    if (!text_map_add(reached ? spec->vocabulary : spec->unreached, token.text, token.id))
        return fail_here(walk, STATUS_UNSUPPORTED, "model.vocab: a token that is there twice", written);
    if (reached)
        tokenizer_spec_add_model_token(spec, token);
    else
        tokenizer_spec_add_unreached(spec, token);
    return STATUS_OK;
}

/* BPE: an object of tokens and their ids. */
static enum status read_pairs(struct vocabulary_walk *walk)
{
    struct json_scan *scan = &walk->scan;
    struct str text = {0};
    bool first = true;
    if (!json_scan_take(scan, '{'))
        return fail_here(walk, STATUS_SYNTAX, "model.vocab must be an object of tokens and their ids", text);
    while (json_scan_next(scan, '}', &first)) {
        struct spec_token token = {0};
        double id;
        if (!json_scan_string(scan, &text) || !json_scan_take(scan, ':') || !json_scan_number(scan, &id))
            return fail_here(walk, STATUS_SYNTAX, "model.vocab: a token and its id must be here", text);
        if (id < 0 || id != floor(id))
            return fail_here(walk, STATUS_SYNTAX, "model.vocab: the id must be an integer from 0 up", text);
        if (id >= SPEC_MAX_ID)
            return fail_here(walk, STATUS_TOO_BIG, "model.vocab: the id is higher than any model's", text);
        token.id = (uint32_t)id;
        enum status status = add_token(walk, text, token);
        if (status != STATUS_OK)
            return status;
    }
    return scan->closed ? STATUS_OK : fail_here(walk, STATUS_SYNTAX, "model.vocab: , or } must be here", text);
}

/* Unigram: a list of [token, score]. */
static enum status read_scores(struct vocabulary_walk *walk)
{
    struct json_scan *scan = &walk->scan;
    struct str text = {0};
    bool first = true;
    if (!json_scan_take(scan, '['))
        return fail_here(walk, STATUS_SYNTAX, "model.vocab must be a list of tokens and their scores", text);
    while (json_scan_next(scan, ']', &first)) {
        struct spec_token token = {.id = (uint32_t)walk->spec->model.n_tokens};
        if (!json_scan_take(scan, '[') || !json_scan_string(scan, &text) || !json_scan_take(scan, ',') ||
            !json_scan_number(scan, &token.score) || !isfinite(token.score) || !json_scan_take(scan, ']'))
            return fail_here(walk, STATUS_SYNTAX, "model.vocab: [token, score] must be here", text);
        if (token.id >= SPEC_MAX_ID)
            return fail_here(walk, STATUS_TOO_BIG, "model.vocab: more tokens than any model has", text);
        enum status status = add_token(walk, text, token);
        if (status != STATUS_OK)
            return status;
    }
    return scan->closed ? STATUS_OK : fail_here(walk, STATUS_SYNTAX, "model.vocab: , or ] must be here", text);
}

enum status read_vocabulary(struct tokenizer_spec *spec, struct str json, size_t at, struct error *error)
{
    struct vocabulary_walk walk = {.spec = spec, .seen = mem_zalloc(SPEC_MAX_ID), .error = error};
    json_scan_init(&walk.scan, json, at);
    spec->vocabulary = text_map_create();
    spec->unreached = text_map_create();
    enum status status = spec->model.kind == MODEL_BPE ? read_pairs(&walk) : read_scores(&walk);
    if (status == STATUS_OK && spec->model.n_tokens == 0)
        status = fail_here(&walk, STATUS_SYNTAX, "model.vocab: there are no tokens", STR(""));
    json_scan_finish(&walk.scan);
    free(walk.seen);
    return status;
}

/* ---- merges ---- */

/* A merge is "left right" in older files, where no token with a space can be part of one, and ["left", "right"] in
 * newer ones. False when it is neither.  */
static bool read_parts(struct json_scan *scan, bool lists, struct str *left, struct str *right)
{
    if (lists)
        return json_scan_take(scan, '[') && json_scan_string(scan, left) && json_scan_take(scan, ',') &&
               json_scan_string(scan, right) && json_scan_take(scan, ']');
    struct str text;
    if (!json_scan_string(scan, &text))
        return false;
    size_t space = str_find_char(text, ' ', 0);
    *left = str_slice(text, 0, space);
    *right = str_slice(text, space == STR_NONE ? text.len : space + 1, text.len);
    if (str_starts_with(text, STR("#version"))) /* the first line of a merges.txt */
        return true;
    return space != STR_NONE && str_find_char(text, ' ', space + 1) == STR_NONE;
}

/* A token's id by the text that the file gives, and its text as the spec has it, behind what `joined` holds. A token
 * that no text leads to has neither. */
static enum status find_part(struct vocabulary_walk *walk, struct str text, char *joined, size_t *length, int64_t *id)
{
    struct tokenizer_spec *spec = walk->spec;
    size_t bytes = text.len;
    *id = -1;
    if (text.len > MAX_TOKEN_BYTES)
        return fail_here(walk, STATUS_SYNTAX, "model.merges: a token that is not in the vocabulary", text);
    if (spec->model.byte_level)
        bytes = read_stand_ins(text, joined + *length);
    else if (text.len)
        memcpy(joined + *length, text.data, text.len);
    if (bytes != SIZE_MAX)
        *id = text_map_find(spec->vocabulary, str_make(joined + *length, bytes));
    if (*id < 0 && (bytes != SIZE_MAX || text_map_find(spec->unreached, text) < 0))
        return fail_here(walk, STATUS_SYNTAX, "model.merges: a token that is not in the vocabulary", text);
    *length += *id < 0 ? 0 : bytes;
    return STATUS_OK;
}

static enum status read_merge(struct vocabulary_walk *walk, bool lists)
{
    struct model_spec *model = &walk->spec->model;
    struct str left = {0}, right = {0};
    char joined[2 * MAX_TOKEN_BYTES];
    size_t length = 0;
    int64_t left_id, right_id;
    if (!read_parts(&walk->scan, lists, &left, &right))
        return fail_here(walk, STATUS_SYNTAX,
                         "model.merges: two tokens must be here, all as \"a b\" or all as [\"a\", \"b\"]", left);
    if (!lists && str_starts_with(left, STR("#version")))
        return STATUS_OK;
    enum status status = find_part(walk, left, joined, &length, &left_id);
    if (status == STATUS_OK)
        status = find_part(walk, right, joined, &length, &right_id);
    if (status != STATUS_OK || left_id < 0 || right_id < 0)
        return status;
    int64_t merged = text_map_find(walk->spec->vocabulary, str_make(joined, length));
    if (merged < 0)
        return fail_here(walk, STATUS_SYNTAX, "model.merges: what is merged is not in the vocabulary",
                         str_make(joined, length));
    if (model->n_merges == MAX_MERGES)
        return fail_here(walk, STATUS_TOO_BIG, "model.merges: more than any model has", left);
    model->merges = mem_grow(model->merges, model->n_merges, &model->merges_capacity, sizeof model->merges[0]);
    model->merges[model->n_merges++] = (struct spec_merge){(uint32_t)left_id, (uint32_t)right_id, (uint32_t)merged};
    return STATUS_OK;
}

struct placed_merge {
    uint64_t pair;
    size_t at;
};

static int compare_placed(const void *a, const void *b)
{
    const struct placed_merge *x = a, *y = b;
    if (x->pair != y->pair)
        return x->pair < y->pair ? -1 : 1;
    return x->at < y->at ? -1 : 1;
}

/* Of merges of the same two tokens the last one gives the rank. */
static void drop_repeated_merges(struct model_spec *model)
{
    struct placed_merge *placed = mem_calloc(model->n_merges, sizeof *placed);
    bool *repeated = mem_calloc(model->n_merges, sizeof *repeated);
    size_t kept = 0;
    for (size_t i = 0; i < model->n_merges; i++)
        placed[i] = (struct placed_merge){(uint64_t)model->merges[i].left << 32 | model->merges[i].right, i};
    qsort(placed, model->n_merges, sizeof *placed, compare_placed);
    for (size_t i = 0; i + 1 < model->n_merges; i++)
        repeated[placed[i].at] = placed[i].pair == placed[i + 1].pair;
    for (size_t i = 0; i < model->n_merges; i++)
        if (!repeated[i])
            model->merges[kept++] = model->merges[i];
    model->n_merges = kept;
    free(repeated);
    free(placed);
}

enum status read_merges(struct tokenizer_spec *spec, struct str json, size_t at, struct error *error)
{
    struct vocabulary_walk walk = {.spec = spec, .error = error};
    enum status status = STATUS_OK;
    bool first = true;
    json_scan_init(&walk.scan, json, at);
    if (!json_scan_take(&walk.scan, '['))
        status = fail_here(&walk, STATUS_SYNTAX, "model.merges must be a list of pairs of tokens", STR(""));
    bool lists = json_scan_peek(&walk.scan) == '[';
    while (status == STATUS_OK && json_scan_next(&walk.scan, ']', &first))
        status = read_merge(&walk, lists);
    if (status == STATUS_OK && !walk.scan.closed)
        status = fail_here(&walk, STATUS_SYNTAX, "model.merges: , or ] must be here", STR(""));
    if (status == STATUS_OK && spec->model.n_merges)
        drop_repeated_merges(&spec->model);
    json_scan_finish(&walk.scan);
    return status;
}
