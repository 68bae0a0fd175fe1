#include "text/tokenizer/added.h"

#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/utf8.h"
#include "text/tokenizer/added_internal.h"
#include "text/tokenizer/unicode_class.h"

/* One of the two sets of tokens: those looked for in raw text, those looked for in normalized text. */
struct matcher {
    struct byte_trie trie;
    bool begins[256]; /* by first byte: some token begins so */
    int only;         /* the one byte that all begin with; -1 when there are several */
};

struct added_tokens {
    const struct added_head *head;
    const struct added_record *records; /* by id, ascending */
    const char *texts;
    struct matcher matchers[2]; /* by `normalized` */
};

static void matcher_open(struct matcher *matcher, struct str units)
{
    int count = 0;
    matcher->trie = byte_trie_open(units);
    matcher->only = -1;
    for (int byte = 0; byte < 256 && matcher->trie.units; byte++) {
        matcher->begins[byte] = byte_trie_step(&matcher->trie, BYTE_TRIE_ROOT, (unsigned char)byte) != BYTE_TRIE_NONE;
        if (matcher->begins[byte])
            matcher->only = count++ ? -1 : byte;
    }
}

struct added_tokens *added_tokens_open(const struct image *image)
{
    struct str about = image_section(image, IMAGE_ADDED), units = image_section(image, IMAGE_ADDED_MATCHER);
    struct added_tokens *added = mem_zalloc(sizeof *added);
    static const struct added_head none;
    added->head = about.len ? (const struct added_head *)(const void *)about.data : &none;
    if (about.len) {
        added->records = (const struct added_record *)(const void *)(about.data + sizeof *added->head);
        added->texts = (const char *)(added->records + added->head->count);
    }
    size_t raw = added->head->raw_units_len;
    matcher_open(&added->matchers[false], str_slice(units, 0, raw));
    matcher_open(&added->matchers[true], str_slice(units, raw, units.len));
    return added;
}

void added_tokens_destroy(struct added_tokens *added)
{
    free(added);
}

/* The first place at or after `at` where a token may begin. */
static size_t next_candidate(const struct matcher *matcher, struct str text, size_t at)
{
    const unsigned char *bytes = (const unsigned char *)text.data;
    const bool *begins = matcher->begins;
    if (at >= text.len)
        return text.len;
    if (matcher->only >= 0) {
        const unsigned char *found = memchr(bytes + at, matcher->only, text.len - at);
        return found ? (size_t)(found - bytes) : text.len;
    }
    for (; at + 8 <= text.len; at += 8)
        if (begins[bytes[at]] | begins[bytes[at + 1]] | begins[bytes[at + 2]] | begins[bytes[at + 3]] |
            begins[bytes[at + 4]] | begins[bytes[at + 5]] | begins[bytes[at + 6]] | begins[bytes[at + 7]])
            break;
    while (at < text.len && !begins[bytes[at]])
        at++;
    return at;
}

/* The leftmost, there the longest token at or after `at`; index of its record. */
static uint32_t next_token(const struct matcher *matcher, struct str text, size_t at, size_t *from, size_t *len)
{
    if (!matcher->trie.units)
        return BYTE_TRIE_NONE;
    for (at = next_candidate(matcher, text, at); at < text.len; at = next_candidate(matcher, text, at + 1)) {
        uint32_t found = byte_trie_longest(&matcher->trie, str_slice(text, at, text.len), len);
        *from = at;
        if (found != BYTE_TRIE_NONE)
            return found;
    }
    return BYTE_TRIE_NONE;
}

static uint32_t character_before(struct str text, size_t at, size_t *len)
{
    size_t from = at - 1;
    while (from > 0 && at - from < 4 && ((unsigned char)text.data[from] & 0xC0) == 0x80)
        from--;
    *len = at - from;
    size_t taken;
    return utf8_decode(str_slice(text, from, at), &taken);
}

static bool word_before(struct str text, size_t at)
{
    size_t len;
    return at > 0 && unicode_is_word(character_before(text, at, &len));
}

static bool word_after(struct str text, size_t at)
{
    size_t len;
    return at < text.len && unicode_is_word(utf8_decode(str_slice(text, at, text.len), &len));
}

static size_t skip_space_back(struct str text, size_t at, size_t least)
{
    size_t len;
    while (at > least && unicode_is_whitespace(character_before(text, at, &len)))
        at -= len;
    return at > least ? at : least;
}

static size_t skip_space(struct str text, size_t at)
{
    size_t len;
    while (at < text.len && unicode_is_whitespace(utf8_decode(str_slice(text, at, text.len), &len)))
        at += len;
    return at;
}

static bool accepts(const struct added_record *record, struct str text, size_t from, size_t to, bool plain)
{
    if (plain && (record->flags & ADDED_SPECIAL))
        return false;
    return !(record->flags & ADDED_SINGLE_WORD) || !(word_before(text, from) || word_after(text, to));
}

/* The first token from `at` on that is wanted, if it begins before `end`; what is not wanted is passed over whole. */
static const struct added_record *next_wanted(const struct added_tokens *added, const struct matcher *matcher,
                                              struct str text, struct added_match *match, size_t end, bool plain)
{
    size_t longest = added->head->longest, len = 0;
    struct str near = str_slice(text, 0, text.len - end > longest ? end + longest : text.len);
    for (size_t at = match->from; at < end; at = match->from + len) {
        uint32_t found = next_token(matcher, near, at, &match->from, &len);
        if (found == BYTE_TRIE_NONE || match->from >= end)
            return NULL;
        match->to = match->from + len;
        if (accepts(&added->records[found], text, match->from, match->to, plain))
            return &added->records[found];
    }
    return NULL;
}

/* Where a token that takes along the white space behind it ends: before a token that begins inside that space. One that
 * lies in it whole and would take space before it finds nothing left, and is lost. */
static size_t end_of_space(const struct added_tokens *added, const struct matcher *matcher, struct str text, size_t at,
                           bool plain)
{
    size_t end = skip_space(text, at);
    struct added_match next = {.from = at, .to = at};
    for (const struct added_record *record; next.to < end; next.from = next.to) {
        record = next_wanted(added, matcher, text, &next, end, plain);
        if (!record)
            return end;
        if (!(record->flags & ADDED_LSTRIP) || next.to > end)
            return next.from;
    }
    return end;
}

bool added_tokens_next(const struct added_tokens *added, struct str text, size_t at, bool normalized, bool plain,
                       struct added_match *match)
{
    const struct matcher *matcher = &added->matchers[normalized];
    struct added_match found = {.from = at};
    const struct added_record *record = next_wanted(added, matcher, text, &found, text.len, plain);
    if (!record)
        return false;
    found.id = record->id;
    if (record->flags & ADDED_LSTRIP)
        found.from = skip_space_back(text, found.from, at);
    if (record->flags & ADDED_RSTRIP)
        found.to = end_of_space(added, matcher, text, found.to, plain);
    *match = found;
    return true;
}

bool added_tokens_at(const struct added_tokens *added, uint32_t id, struct str *content, bool *special)
{
    uint32_t low = 0, high = added->head->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (added->records[middle].id <= id)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0 || added->records[low - 1].id != id)
        return false;
    const struct added_record *record = &added->records[low - 1]; /* the last of those that share the id */
    *content = str_make(added->texts + record->text, record->text_len);
    if (special)
        *special = record->flags & ADDED_SPECIAL;
    return true;
}

/* Tokens that are looked for in normalized text count only where nothing normalizes: there, what is cut out first and
 * what second makes no difference but for a token of the first kind inside one of the second. */
bool added_tokens_begin_anew(const struct added_tokens *added, struct str text)
{
    size_t len = 0, from, taken;
    const struct matcher *raw = &added->matchers[false], *second = &added->matchers[true];
    uint32_t found = raw->trie.units ? byte_trie_longest(&raw->trie, text, &len) : BYTE_TRIE_NONE;
    if (found != BYTE_TRIE_NONE)
        return added->records[found].flags & ADDED_ANEW;
    if (added->head->normalizes || !second->trie.units)
        return false;
    found = byte_trie_longest(&second->trie, text, &len);
    if (found == BYTE_TRIE_NONE || !(added->records[found].flags & ADDED_ANEW))
        return false;
    struct added_match match;
    if (next_token(raw, str_slice(text, 0, len), 0, &from, &taken) != BYTE_TRIE_NONE)
        return false;
    size_t margin = len + added->head->longest < text.len ? len + added->head->longest : text.len;
    return !added_tokens_next(added, str_slice(text, 0, margin), 0, false, false, &match) || match.from >= len;
}
