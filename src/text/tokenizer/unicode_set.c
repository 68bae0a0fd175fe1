/* A set is written as the categories that lie in it as a whole and ranges for the rest, or as that of its complement,
 * whichever is shorter. A category is used only where it lies in the set by both editions, that of the tables and that
 * of PCRE2 10.42; so it is right for the editions between them too. With any other, all is written as ranges. */
#include "text/tokenizer/unicode_set.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "text/tokenizer/unicode_class.h"
#include "text/tokenizer/unicode_runs.inc"

#define CODE_POINTS 0x110000u
#define CATEGORIES  30
#define UNCHANGED   0xFF
#define FEW_PARTS   3 /* of a class: not worth a look at its complement */

/* Each entry of the tables of runs is a first code point, shifted by 8, and a value. */
#define RUN_START(entry) ((entry) >> 8)
#define RUN_VALUE(entry) ((entry)&0xFF)

struct unicode_set {
    uint64_t words[CODE_POINTS / 64];
};

static const char category_names[CATEGORIES][3] = {"Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl",
                                                   "No", "Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po", "Sm", "Sc",
                                                   "Sk", "So", "Zs", "Zl", "Zp", "Cc", "Cf", "Cs", "Co", "Cn"};

static const uint64_t masks[] = {
#define UNICODE_MASK(bits) UINT64_C(bits),
#include "text/tokenizer/unicode_masks.inc"
#undef UNICODE_MASK
};

struct unicode_set *unicode_set_create(void)
{
    return mem_zalloc(sizeof(struct unicode_set));
}

void unicode_set_destroy(struct unicode_set *set)
{
    free(set);
}

bool unicode_set_has(const struct unicode_set *set, uint32_t code_point)
{
    return set->words[code_point / 64] >> (code_point % 64) & 1;
}

/* The bits of a range that lie in word `i`. */
static uint64_t word_mask(uint32_t from, uint32_t to, uint32_t i)
{
    uint64_t mask = UINT64_MAX;
    if (i == from / 64)
        mask <<= from % 64;
    if (i == to / 64)
        mask &= UINT64_MAX >> (63 - to % 64);
    return mask;
}

void unicode_set_add(struct unicode_set *set, uint32_t from, uint32_t to)
{
    for (uint32_t i = from / 64; i <= to / 64; i++)
        set->words[i] |= word_mask(from, to, i);
}

void unicode_set_add_classes(struct unicode_set *set, uint64_t bits)
{
    for (const uint32_t *run = unicode_runs; RUN_START(*run) < CODE_POINTS; run++)
        if (masks[RUN_VALUE(*run)] & bits)
            unicode_set_add(set, RUN_START(run[0]), RUN_START(run[1]) - 1);
}

void unicode_set_add_set(struct unicode_set *set, const struct unicode_set *other)
{
    for (size_t i = 0; i < CODE_POINTS / 64; i++)
        set->words[i] |= other->words[i];
}

void unicode_set_keep(struct unicode_set *set, const struct unicode_set *other)
{
    for (size_t i = 0; i < CODE_POINTS / 64; i++)
        set->words[i] &= other->words[i];
}

void unicode_set_clear(struct unicode_set *set)
{
    memset(set, 0, sizeof *set);
}

void unicode_set_invert(struct unicode_set *set)
{
    for (size_t i = 0; i < CODE_POINTS / 64; i++)
        set->words[i] = ~set->words[i];
}

static bool holds_range(const struct unicode_set *set, uint32_t from, uint32_t to)
{
    for (uint32_t i = from / 64; i <= to / 64; i++)
        if (word_mask(from, to, i) & ~set->words[i])
            return false;
    return true;
}

static uint32_t category_of(uint32_t class_id)
{
    return (uint32_t)__builtin_ctzll(masks[class_id]);
}

/* Whether PCRE2's edition of Unicode is one of those the rule above holds for. */
static bool edition_known(void)
{
    char version[32] = "";
    if (pcre2_config(PCRE2_CONFIG_UNICODE_VERSION, NULL) > (int)sizeof version)
        return false;
    pcre2_config(PCRE2_CONFIG_UNICODE_VERSION, version);
    return atoi(version) >= 14 && atoi(version) <= 16;
}

/* Bits of the categories that lie in the set by every edition. */
static uint32_t whole_categories(const struct unicode_set *set)
{
    uint32_t whole = edition_known() ? (1u << CATEGORIES) - 1 : 0;
    for (const uint32_t *run = unicode_runs; RUN_START(*run) < CODE_POINTS; run++) {
        uint32_t bit = 1u << category_of(RUN_VALUE(*run));
        if ((whole & bit) && !holds_range(set, RUN_START(run[0]), RUN_START(run[1]) - 1))
            whole &= ~bit;
    }
    for (const uint32_t *run = unicode_changed; RUN_START(*run) < CODE_POINTS; run++)
        if (RUN_VALUE(*run) != UNCHANGED && !holds_range(set, RUN_START(run[0]), RUN_START(run[1]) - 1))
            whole &= ~(1u << RUN_VALUE(*run));
    return whole;
}

/* What `categories` leave to be written as ranges: what PCRE2 may not count among them. */
static struct unicode_set *rest_of(const struct unicode_set *set, uint32_t categories)
{
    struct unicode_set *covered = unicode_set_create(), *changed = unicode_set_create();
    unicode_set_add_classes(covered, categories);
    for (const uint32_t *run = unicode_changed; RUN_START(*run) < CODE_POINTS; run++)
        if (RUN_VALUE(*run) != UNCHANGED && !(categories >> RUN_VALUE(*run) & 1))
            unicode_set_add(changed, RUN_START(run[0]), RUN_START(run[1]) - 1);
    unicode_set_invert(changed);
    unicode_set_keep(covered, changed);
    unicode_set_invert(covered);
    unicode_set_keep(covered, set);
    unicode_set_destroy(changed);
    return covered;
}

static void write_code_point(uint32_t code_point, struct buf *out)
{
    buf_addf(out, "\\x{%x}", (unsigned)code_point);
}

static bool is_surrogate(uint32_t code_point)
{
    return code_point >= 0xD800 && code_point < 0xE000;
}

/* The first at or after `from` that is in the set, or is not; CODE_POINTS where there is none. */
static uint32_t next_in(const struct unicode_set *set, uint32_t from, bool in)
{
    for (uint32_t c = from; c < CODE_POINTS; c = (c | 63) + 1) {
        uint64_t word = (in ? set->words[c / 64] : ~set->words[c / 64]) >> (c % 64);
        if (word)
            return c + (uint32_t)__builtin_ctzll(word);
    }
    return CODE_POINTS;
}

uint32_t unicode_set_next(const struct unicode_set *set, uint32_t from)
{
    return next_in(set, from, true);
}

/* No range begins or ends in a surrogate: PCRE2 takes none, and no text has one. */
static size_t write_ranges(const struct unicode_set *set, struct buf *out)
{
    size_t count = 0;
    for (uint32_t c = unicode_set_next(set, 0); c < CODE_POINTS; c = unicode_set_next(set, c)) {
        uint32_t from = is_surrogate(c) ? 0xE000 : c, end = next_in(set, c, false);
        uint32_t to = is_surrogate(end - 1) ? 0xD7FF : end - 1;
        c = end;
        if (from > to)
            continue;
        write_code_point(from, out);
        if (to > from) {
            buf_add_char(out, '-');
            write_code_point(to, out);
        }
        count++;
    }
    return count;
}

static const struct {
    char name;
    uint64_t bits;
} groups[] = {{'L', UNICODE_L}, {'M', UNICODE_M}, {'N', UNICODE_N},
              {'P', UNICODE_P}, {'S', UNICODE_S}, {'Z', UNICODE_Z}};

/* Appends the inside of the brackets; the number of parts. */
static size_t write_parts(const struct unicode_set *set, struct buf *out)
{
    uint32_t whole = whole_categories(set) & ~(uint32_t)UNICODE_CS;
    struct unicode_set *rest = rest_of(set, whole);
    size_t count = 0;
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        if ((whole & groups[i].bits) == groups[i].bits) {
            buf_addf(out, "\\p{%c}", groups[i].name);
            whole &= (uint32_t)~groups[i].bits;
            count++;
        }
    for (uint32_t i = 0; i < CATEGORIES; i++)
        if (whole >> i & 1) {
            buf_addf(out, "\\p{%s}", category_names[i]);
            count++;
        }
    count += write_ranges(rest, out);
    unicode_set_destroy(rest);
    return count;
}

/* Appends what matches a set of more than a few parts; `plain` are those. */
static void write_shorter(const struct unicode_set *set, struct str plain, size_t plain_parts, struct buf *out)
{
    struct unicode_set *others = unicode_set_create();
    struct buf inverse;
    buf_init(&inverse, BUF_UNBOUNDED);
    unicode_set_add_set(others, set);
    unicode_set_invert(others);
    size_t inverse_parts = write_parts(others, &inverse);
    if (!inverse.len)
        buf_add_text(out, "(?s:.)");
    else if (inverse_parts < plain_parts)
        buf_addf(out, "[^%s]", inverse.data);
    else
        buf_addf(out, "[%.*s]", STR_ARG(plain));
    buf_finish(&inverse);
    unicode_set_destroy(others);
}

void unicode_set_write(const struct unicode_set *set, struct buf *out)
{
    struct buf plain;
    buf_init(&plain, BUF_UNBOUNDED);
    size_t parts = write_parts(set, &plain);
    if (!parts)
        buf_add_text(out, "(?!)");
    else if (parts <= FEW_PARTS)
        buf_addf(out, "[%s]", plain.data);
    else
        write_shorter(set, buf_str(&plain), parts, out);
    buf_finish(&plain);
}
