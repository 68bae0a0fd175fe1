#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/utf8.h"
#include "text/tokenizer/added.h"
#include "text/tokenizer/added_internal.h"
#include "text/tokenizer/steps.h"
#include "text/tokenizer/unicode_class.h"

/* Longer ones would let a hostile vocabulary make the search slow. */
#define CONTENT_MAX 1024

struct entry {
    const struct added_token *token;
    struct str pattern; /* what is looked for: the content, normalized where the token asks for it */
    uint32_t order;     /* place in the list, by which later ones replace earlier ones */
    uint32_t flags;
};

struct entries {
    struct entry *items;
    size_t count, capacity;
    struct buf patterns; /* owns the normalized ones */
};

static int compare_by_id(const void *a, const void *b)
{
    const struct entry *left = a, *right = b;
    if (left->token->id != right->token->id)
        return left->token->id < right->token->id ? -1 : 1;
    return left->order < right->order ? -1 : 1;
}

/* By id; of several with the same id those that share it, and the last. */
static void collect(const struct tokenizer_spec *spec, struct entries *entries)
{
    for (size_t i = 0; i < spec->n_added; i++) {
        const struct added_token *token = &spec->added[i];
        if (!token->content.len)
            continue;
        entries->items = mem_grow(entries->items, entries->count, &entries->capacity, sizeof *entries->items);
        entries->items[entries->count++] = (struct entry){
            .token = token,
            .pattern = token->content,
            .order = (uint32_t)i,
            .flags = (token->special ? ADDED_SPECIAL : 0u) | (token->single_word ? ADDED_SINGLE_WORD : 0u) |
                     (token->lstrip ? ADDED_LSTRIP : 0u) | (token->rstrip ? ADDED_RSTRIP : 0u),
        };
    }
    if (!entries->count)
        return;
    qsort(entries->items, entries->count, sizeof *entries->items, compare_by_id);
    size_t kept = 0;
    for (size_t i = 0; i < entries->count; i++) {
        const struct added_token *before = kept ? entries->items[kept - 1].token : NULL;
        if (before && before->id == entries->items[i].token->id && !before->shares_id)
            kept--;
        entries->items[kept++] = entries->items[i];
    }
    entries->count = kept;
}

static enum status normalize_patterns(const struct tokenizer_spec *spec, struct entries *entries, struct error *error)
{
    struct steps *steps;
    struct buf scratch;
    enum status status = steps_from_spec(spec, &steps, error);
    if (status != STATUS_OK)
        return status;
    size_t *ends = mem_calloc(entries->count + 1, sizeof *ends);
    buf_init(&scratch, BUF_UNBOUNDED);
    for (size_t i = 0; i < entries->count; i++) {
        const struct added_token *token = entries->items[i].token;
        if (token->normalized)
            buf_add(&entries->patterns, steps_normalize(steps, token->content, &scratch));
        ends[i + 1] = entries->patterns.len;
    }
    for (size_t i = 0; i < entries->count; i++)
        if (entries->items[i].token->normalized)
            entries->items[i].pattern = str_slice(buf_str(&entries->patterns), ends[i], ends[i + 1]);
    buf_finish(&scratch);
    steps_destroy(steps);
    free(ends);
    return STATUS_OK;
}

static void find_anew(struct entries *entries)
{
    struct str *patterns = mem_calloc(entries->count + 1, sizeof *patterns);
    bool *overlapped = mem_calloc(entries->count + 1, sizeof *overlapped);
    bool single_word = false, rstrip = false;
    for (size_t i = 0; i < entries->count; i++) {
        patterns[i] = entries->items[i].pattern;
        single_word |= entries->items[i].token->single_word;
        rstrip |= entries->items[i].token->rstrip;
    }
    added_find_overlaps(patterns, entries->count, overlapped);
    for (size_t i = 0; i < entries->count; i++) {
        struct entry *entry = &entries->items[i];
        size_t len;
        uint32_t first = entry->pattern.len ? utf8_decode(entry->pattern, &len) : 0;
        bool touched = (single_word && unicode_is_word(first)) || (rstrip && unicode_is_whitespace(first));
        if (!(entry->flags & (ADDED_SINGLE_WORD | ADDED_LSTRIP)) && !touched && !overlapped[i])
            entry->flags |= ADDED_ANEW;
    }
    free(patterns);
    free(overlapped);
}

static void add_trie(const struct entries *entries, bool normalized, struct buf *out)
{
    struct byte_trie_key *keys = mem_calloc(entries->count + 1, sizeof *keys);
    size_t count = 0;
    for (size_t i = 0; i < entries->count; i++)
        if (entries->items[i].token->normalized == normalized && entries->items[i].pattern.len)
            keys[count++] = (struct byte_trie_key){entries->items[i].pattern, (uint32_t)i};
    byte_trie_build(keys, count, out);
    free(keys);
}

static void write_image(const struct tokenizer_spec *spec, const struct entries *entries, struct image_writer *image)
{
    struct buf records, texts, units;
    buf_init(&records, BUF_UNBOUNDED);
    buf_init(&texts, BUF_UNBOUNDED);
    buf_init(&units, BUF_UNBOUNDED);
    struct added_head head = {.count = (uint32_t)entries->count, .normalizes = spec->n_normalizers > 0};
    add_trie(entries, false, &units);
    head.raw_units_len = (uint32_t)units.len;
    add_trie(entries, true, &units);
    for (size_t i = 0; i < entries->count; i++)
        if (entries->items[i].pattern.len > head.longest)
            head.longest = (uint32_t)entries->items[i].pattern.len;
    buf_add(&records, str_make((const char *)&head, sizeof head));
    for (size_t i = 0; i < entries->count; i++) {
        const struct entry *entry = &entries->items[i];
        struct added_record record = {.id = entry->token->id,
                                      .flags = entry->flags,
                                      .text = (uint32_t)texts.len,
                                      .text_len = (uint32_t)entry->token->content.len};
        buf_add(&records, str_make((const char *)&record, sizeof record));
        buf_add(&texts, entry->token->content);
    }
    buf_add(&records, buf_str(&texts));
    image_add(image, IMAGE_ADDED, records.data, records.len);
    image_add(image, IMAGE_ADDED_MATCHER, units.data, units.len);
    buf_finish(&records);
    buf_finish(&texts);
    buf_finish(&units);
}

enum status added_tokens_compile(const struct tokenizer_spec *spec, struct image_writer *image, struct error *error)
{
    struct entries entries = {.items = NULL};
    enum status status = STATUS_OK;
    for (size_t i = 0; i < spec->n_added; i++)
        if (spec->added[i].content.len > CONTENT_MAX)
            return error_set(error, STATUS_UNSUPPORTED, "the added token %u is longer than %d bytes",
                             (unsigned)spec->added[i].id, CONTENT_MAX);
    buf_init(&entries.patterns, BUF_UNBOUNDED);
    collect(spec, &entries);
    status = normalize_patterns(spec, &entries, error);
    if (status == STATUS_OK && entries.count) {
        find_anew(&entries);
        write_image(spec, &entries, image);
    }
    buf_finish(&entries.patterns);
    free(entries.items);
    return status;
}
