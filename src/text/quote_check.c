#include "text/quote_check.h"

#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#include "core/mem.h"
#include "core/utf8.h"
#include "text/quote_internal.h"
#include "text/sentences.h"

enum { MAX_PARTS = 32, MAX_BEGINNINGS = 64, MAX_ADDRESSES = 16 };

#define HASH_BASE 1099511628211u

/* ---- looking for one run of bytes ---- */

/* Where `part` stands as whole words in the bytes [from, to) of the text, or STR_NONE. A rolling hash finds the places;
 * equal bytes are compared last, so that a text made of repetitions costs no more than another. */
static size_t find_part(struct quote_search *search, struct str part, size_t from, size_t to)
{
    const char *text = search->text.bytes.data;
    if (to > search->text.bytes.len)
        to = search->text.bytes.len;
    if (part.len == 0 || from >= to || to - from < part.len)
        return STR_NONE;
    uint64_t wanted = 0, hash = 0, power = 1;
    for (size_t i = 0; i < part.len; i++) {
        wanted = wanted * HASH_BASE + (unsigned char)part.data[i];
        hash = hash * HASH_BASE + (unsigned char)text[from + i];
        power *= i > 0 ? HASH_BASE : 1;
    }
    size_t found = STR_NONE, at = from;
    for (;; at++) {
        if (hash == wanted && quote_is_edge(&search->text, at) && quote_is_edge(&search->text, at + part.len) &&
            memcmp(text + at, part.data, part.len) == 0) {
            found = at;
            break;
        }
        if (at + part.len >= to)
            break;
        hash = (hash - power * (unsigned char)text[at]) * HASH_BASE + (unsigned char)text[at + part.len];
    }
    search->work += at - from + part.len;
    return found;
}

/* ---- one quotation ---- */

/* The length of an ellipsis at the start of `text`, brackets included; 0 where there is none. */
static size_t ellipsis_length(struct str text)
{
    static const char *const forms[] = {"[…]", "[...]", "(…)", "(...)", "\\[…\\]", "\\[...\\]",
                                        "……",  "…",     "⋯",   "...",   "[. . .]", ". . ."};
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        struct str form = str_of(forms[i]);
        if (!str_starts_with(text, form))
            continue;
        size_t length = form.len;
        while (length < text.len && text.data[length] == '.')
            length++;
        return length;
    }
    return 0;
}

/* The parts between ellipses, in normal form, one behind the other in `bytes`. Returns how many; their ends are in
 * `ends`. */
static size_t cut_parts(struct str quote, struct quote_text *normal, size_t *ends)
{
    size_t count = 0, from = 0, at = 0;
    while (at <= quote.len && count < MAX_PARTS) {
        size_t gap = at < quote.len ? ellipsis_length(str_slice(quote, at, quote.len)) : 0;
        if (gap == 0 && at < quote.len) {
            at++;
            continue;
        }
        size_t before = normal->bytes.len;
        quote_text_add(normal, str_slice(quote, from, count + 1 < MAX_PARTS ? at : quote.len));
        if (normal->bytes.len > before)
            ends[count++] = normal->bytes.len;
        at += gap > 0 ? gap : 1;
        from = at;
    }
    return count;
}

/* Whether parts 1 to `count` follow the first, which ends at `end`. */
static bool rest_follows(struct quote_search *search, struct str bytes, const size_t *ends, size_t count, size_t end)
{
    for (size_t i = 1; i < count; i++) {
        struct str part = str_slice(bytes, ends[i - 1], ends[i]);
        size_t at = find_part(search, part, end, end + QUOTE_MAX_GAP + part.len);
        if (at == STR_NONE)
            return false;
        end = at + part.len;
    }
    return true;
}

static bool find_parts(struct quote_search *search, struct str bytes, const size_t *ends, size_t count)
{
    struct str first = str_slice(bytes, 0, ends[0]);
    size_t from = 0;
    for (int i = 0; i < MAX_BEGINNINGS; i++) {
        size_t at = find_part(search, first, from, search->text.bytes.len);
        if (at == STR_NONE)
            return false;
        if (rest_follows(search, bytes, ends, count, at + first.len))
            return true;
        from = at + 1;
    }
    return false;
}

/* Puts the first letter in the other case; false where there is none. */
static bool flip_first(struct buf *bytes)
{
    size_t length, other_length;
    char other[4];
    if (bytes->len == 0)
        return false;
    utf8proc_int32_t c = (utf8proc_int32_t)utf8_decode(buf_str(bytes), &length);
    utf8proc_int32_t flipped = utf8proc_tolower(c) == c ? utf8proc_toupper(c) : utf8proc_tolower(c);
    if (flipped == c)
        return false;
    other_length = utf8_encode((uint32_t)flipped, other);
    if (other_length != length)
        return false;
    memcpy(bytes->data, other, length);
    return true;
}

/* Whether every address in a quotation stands in the text as it is; `any` says whether there is one. */
static bool find_addresses(struct quote_search *search, struct str quote, bool *any)
{
    size_t at = 0;
    *any = false;
    for (int i = 0; i < MAX_ADDRESSES; i++) {
        size_t begin = str_find(quote, STR("http"), at);
        if (begin == STR_NONE)
            break;
        size_t length = quote_address_length(quote, begin);
        at = begin + (length > 0 ? length : 4);
        if (length == 0)
            continue;
        struct str address = str_slice(quote, begin, begin + length);
        while (address.len > 0 && strchr("/.,;:!?'*_", address.data[address.len - 1]))
            address.len--;
        *any = true;
        search->work += search->raw.len;
        if (str_find(search->raw, address, 0) == STR_NONE)
            return false;
    }
    return true;
}

/* Without "[Shell > Options]" on a line of its own in front: the quoter's own words. */
static struct str without_remark(struct str quote)
{
    if (quote.len == 0 || quote.data[0] != '[' || ellipsis_length(quote) > 0)
        return quote;
    size_t end = str_find_char(quote, ']', 0);
    bool alone = end != STR_NONE && (end + 1 == quote.len || quote.data[end + 1] == '\n');
    return alone ? str_trim_start(str_slice(quote, end + 1, quote.len)) : quote;
}

enum verdict { NOTHING_SAID, FOUND, MISSING };

static enum verdict judge(struct quote_search *search, struct str quote)
{
    struct quote_text normal;
    size_t ends[MAX_PARTS];
    bool any_address = false;
    quote = without_remark(quote);
    quote_text_init(&normal, BUF_UNBOUNDED);
    size_t count = cut_parts(quote, &normal, ends);
    bool found = find_addresses(search, quote, &any_address);
    if (found && count > 0)
        found = find_parts(search, buf_str(&normal.bytes), ends, count) ||
                (flip_first(&normal.bytes) && find_parts(search, buf_str(&normal.bytes), ends, count));
    quote_text_finish(&normal);
    if (count == 0 && !any_address)
        return NOTHING_SAID;
    return found ? FOUND : MISSING;
}

void quote_check(struct str text, struct str evidence, struct quotes *out)
{
    struct quote_search search = {.raw = text};
    struct sentences sentences;
    struct sentence sentence;
    *out = (struct quotes){0};
    quote_text_init(&search.text, BUF_UNBOUNDED);
    quote_text_add(&search.text, text);
    sentences_init(&sentences, evidence);
    while (out->count < QUOTE_MAX_COUNT && search.work < QUOTE_MAX_WORK && sentences_next(&sentences, &sentence)) {
        enum verdict verdict = judge(&search, str_slice(evidence, sentence.from, sentence.to));
        if (verdict == NOTHING_SAID)
            continue;
        out->items = mem_grow(out->items, out->count, &out->capacity, sizeof *out->items);
        out->items[out->count++] = (struct quote){sentence.from, sentence.to, verdict == FOUND};
        out->n_missing += verdict == MISSING;
    }
    quote_text_finish(&search.text);
}

void quotes_finish(struct quotes *quotes)
{
    free(quotes->items);
    *quotes = (struct quotes){0};
}
