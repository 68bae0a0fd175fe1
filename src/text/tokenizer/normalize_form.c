#include <endian.h>
#include <stdlib.h>
#include <string.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "core/mem.h"
#include "core/utf8.h"
#include "text/tokenizer/normalize.h"

struct decomposition {
    uint32_t code_point;
    uint16_t at, len; /* in `decomposed` */
};

struct composition {
    uint32_t first, second, composed;
};

#include "text/tokenizer/normalize_table.inc"

/* Bits of form_flags: one for each form whether a character may not be (alone or after another) in that form, and one
 * whether it has a combining class other than 0. */
enum { FLAG_NFC = 1, FLAG_NFD = 2, FLAG_NFKC = 4, FLAG_NFKD = 8, FLAG_CLASSED = 16 };

#define LIMIT   0x30000u /* no code point from here on takes part */
#define L_BASE  0x1100u
#define V_BASE  0x1161u
#define T_BASE  0x11A7u
#define S_BASE  0xAC00u
#define L_COUNT 19u
#define V_COUNT 21u
#define T_COUNT 28u
#define S_COUNT (L_COUNT * V_COUNT * T_COUNT)

#define COUNT(array) (sizeof(array) / sizeof *(array))

struct element {
    uint32_t character;
    uint8_t ccc;
};

/* A stretch of text from one boundary to the next, taken apart. */
struct stretch {
    struct element *elements;
    size_t count, capacity;
    struct element *spare; /* for sorting */
    size_t spare_capacity;
};

static inline uint8_t class_id(uint32_t character)
{
    return character < LIMIT ? form_ids[(size_t)form_blocks[character >> 7] << 7 | (character & 127)] : 0;
}

size_t skip_ascii(struct str text, size_t at)
{
    for (; at + 32 <= text.len; at += 32) {
        uint64_t words[4];
        memcpy(words, text.data + at, sizeof words);
        if ((words[0] | words[1] | words[2] | words[3]) & UINT64_C(0x8080808080808080))
            break;
    }
    for (uint64_t word; at + sizeof word <= text.len; at += sizeof word) {
        memcpy(&word, text.data + at, sizeof word);
        word = le64toh(word) & UINT64_C(0x8080808080808080);
        if (word)
            return at + (size_t)__builtin_ctzll(word) / 8;
    }
    while (at < text.len && (unsigned char)text.data[at] < 0x80)
        at++;
    return at;
}

/* The bytes of the character of more than one byte at `at`, of which there are `left`; 0 where it is no UTF-8. */
static inline size_t take_wide(const unsigned char *at, size_t left, uint32_t *character)
{
    if (at[0] >= 0xE1 && at[0] <= 0xEF && at[0] != 0xED && left >= 3) {
        *character = (at[0] & 0x0Fu) << 12 | (at[1] & 0x3Fu) << 6 | (at[2] & 0x3Fu);
        return (at[1] & 0xC0) == 0x80 && (at[2] & 0xC0) == 0x80 ? 3 : 0;
    }
    if (at[0] >= 0xC2 && at[0] <= 0xDF && left >= 2) {
        *character = (at[0] & 0x1Fu) << 6 | (at[1] & 0x3Fu);
        return (at[1] & 0xC0) == 0x80 ? 2 : 0;
    }
    size_t len;
    *character = utf8_decode(str_make((const char *)at, left), &len);
    return *character == UTF8_INVALID ? 0 : len;
}

#if defined(__SSE2__)
/* One bit for each byte that is one of `count` from `first` on. */
static inline unsigned bits_of(__m128i bytes, unsigned char first, int count)
{
    __m128i shifted = _mm_sub_epi8(bytes, _mm_set1_epi8((char)(first + 128)));
    return (unsigned)_mm_movemask_epi8(_mm_cmplt_epi8(shifted, _mm_set1_epi8((char)(count - 128))));
}
#endif

/* U+4000 to U+9FFF: nothing but ideographs, and hexagrams. */
static inline bool is_plain_ideograph(const unsigned char *at, size_t left)
{
    return at[0] - 0xE4u < 6 && left >= 3 && (at[1] & 0xC0) == 0x80 && (at[2] & 0xC0) == 0x80;
}

/* Bytes of the whole characters at `at`, five at most, that stay in any text and of which Chinese and Japanese mostly
 * are: U+3000 to U+30FF but for marks, U+4000 to U+9FFF, U+FF00 to U+FF3F. */
static inline size_t take_east_asian(const unsigned char *at, size_t left)
{
#if defined(__SSE2__)
    if (at[0] < 0xE3 || left < 16)
        return 0;
    __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)at);
    unsigned kana = bits_of(bytes, 0xE3, 1) & bits_of(bytes, 0x80, 4) >> 1;
    kana &= ~(bits_of(bytes, 0x80, 1) >> 1 & bits_of(bytes, 0xAA, 6) >> 2);
    kana &= ~(bits_of(bytes, 0x82, 1) >> 1 & bits_of(bytes, 0x99, 2) >> 2);
    unsigned full_width = bits_of(bytes, 0xEF, 1) & bits_of(bytes, 0xBC, 1) >> 1;
    unsigned first = (bits_of(bytes, 0xE4, 6) | kana | full_width) & 0x1249;
    unsigned good = first | (bits_of(bytes, 0x80, 64) & 0x6DB6);
    return good == 0x7FFF ? 15 : (unsigned)__builtin_ctz(~good) / 3 * 3;
#else
    (void)at, (void)left;
    return 0;
#endif
}

struct text_look text_look_over(struct str text)
{
    const unsigned char *bytes = (const unsigned char *)text.data;
    struct text_look look = {.composed = text.len};
    size_t at = skip_ascii(text, 0);
    while (at < text.len) {
        uint32_t character;
        size_t len = take_east_asian(bytes + at, text.len - at);
        if (len == 0) {
            len = take_wide(bytes + at, text.len - at, &character);
            if (len == 0)
                return look;
            bool stays = character < 0x300 || !(form_flags[class_id(character)] & (FLAG_NFC | FLAG_CLASSED));
            if (!stays && at < look.composed)
                look.composed = at;
        }
        at += len;
        if (at < text.len && bytes[at] < 0x80)
            at = skip_ascii(text, at);
    }
    look.valid = true;
    return look;
}

static const struct decomposition *find_decomposition(const struct decomposition *table, size_t count,
                                                      uint32_t character)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (table[middle].code_point < character)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && table[low].code_point == character ? &table[low] : NULL;
}

static void push(struct stretch *stretch, uint32_t character)
{
    stretch->elements = mem_grow(stretch->elements, stretch->count, &stretch->capacity, sizeof *stretch->elements);
    stretch->elements[stretch->count++] = (struct element){character, form_ccc[class_id(character)]};
}

static void take_apart(struct stretch *stretch, uint32_t character, bool compatible)
{
    if (character - S_BASE < S_COUNT) {
        uint32_t index = character - S_BASE;
        push(stretch, L_BASE + index / (V_COUNT * T_COUNT));
        push(stretch, V_BASE + index % (V_COUNT * T_COUNT) / T_COUNT);
        if (index % T_COUNT)
            push(stretch, T_BASE + index % T_COUNT);
        return;
    }
    const struct decomposition *found = NULL;
    uint8_t flags = form_flags[class_id(character)];
    if (compatible && (flags & FLAG_NFKD))
        found = find_decomposition(compatible_table, COUNT(compatible_table), character);
    if (!found && (flags & FLAG_NFD))
        found = find_decomposition(canonical_table, COUNT(canonical_table), character);
    if (!found) {
        push(stretch, character);
        return;
    }
    for (size_t i = 0; i < found->len; i++)
        push(stretch, decomposed[found->at + i]);
}

/* Stable, by combining class: by insertion where there are few, else by counting. */
static void sort_marks(struct stretch *stretch, size_t from, size_t to)
{
    struct element *elements = stretch->elements;
    if (to - from <= 16) {
        for (size_t i = from + 1; i < to; i++) {
            struct element element = elements[i];
            size_t at = i;
            for (; at > from && elements[at - 1].ccc > element.ccc; at--)
                elements[at] = elements[at - 1];
            elements[at] = element;
        }
        return;
    }
    size_t starts[257] = {0};
    if (stretch->spare_capacity < to - from) {
        stretch->spare_capacity = to - from;
        stretch->spare = mem_realloc(stretch->spare, to - from, sizeof *stretch->spare);
    }
    memcpy(stretch->spare, elements + from, (to - from) * sizeof *elements);
    for (size_t i = from; i < to; i++)
        starts[elements[i].ccc + 1]++;
    for (size_t class = 1; class < 257; class ++)
        starts[class] += starts[class - 1];
    for (size_t i = 0; i < to - from; i++)
        elements[from + starts[stretch->spare[i].ccc]++] = stretch->spare[i];
}

static void sort_stretch(struct stretch *stretch)
{
    for (size_t i = 0; i < stretch->count;) {
        size_t from = i;
        while (i < stretch->count && stretch->elements[i].ccc)
            i++;
        sort_marks(stretch, from, i);
        while (i < stretch->count && !stretch->elements[i].ccc)
            i++;
    }
}

/* 0 where the two do not compose. */
static uint32_t compose(uint32_t first, uint32_t second)
{
    if (first - L_BASE < L_COUNT && second - V_BASE < V_COUNT)
        return S_BASE + ((first - L_BASE) * V_COUNT + (second - V_BASE)) * T_COUNT;
    if (first - S_BASE < S_COUNT && (first - S_BASE) % T_COUNT == 0 && second - T_BASE - 1 < T_COUNT - 1)
        return first + (second - T_BASE);
    if (!(form_flags[class_id(second)] & FLAG_NFC))
        return 0;
    size_t low = 0, high = COUNT(compositions);
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct composition *at = &compositions[middle];
        if (at->first < first || (at->first == first && at->second < second))
            low = middle + 1;
        else
            high = middle;
    }
    bool found = low < COUNT(compositions) && compositions[low].first == first && compositions[low].second == second;
    return found ? compositions[low].composed : 0;
}

/* A character joins the last starter unless one in between has a class as high as its own. */
static void compose_stretch(struct stretch *stretch)
{
    struct element *elements = stretch->elements;
    size_t kept = 0, starter = SIZE_MAX;
    for (size_t i = 0; i < stretch->count; i++) {
        struct element element = elements[i];
        bool blocked = starter == SIZE_MAX || (kept - 1 > starter && elements[kept - 1].ccc >= element.ccc);
        uint32_t composed = blocked ? 0 : compose(elements[starter].character, element.character);
        if (composed) {
            elements[starter].character = composed;
            continue;
        }
        if (element.ccc == 0)
            starter = kept;
        elements[kept++] = element;
    }
    stretch->count = kept;
}

static void append_stretch(const struct stretch *stretch, struct buf *out)
{
    char *room = buf_reserve(out, stretch->count * 4);
    size_t len = 0;
    for (size_t i = 0; i < stretch->count; i++)
        len += utf8_encode(stretch->elements[i].character, room + len);
    buf_commit(out, len);
}

struct walk {
    struct str text;
    uint8_t flag; /* of the form */
    uint8_t mask; /* flags of characters that are no boundary */
    bool composes, compatible;
    struct stretch stretch;
    struct buf *out;
    size_t copied; /* bytes of the text that `out` stands for, once something changed */
    bool changed;
};

/* Where, from `at` on, something may have to be changed; *boundary is the last boundary before it. */
static size_t next_suspect(const struct walk *walk, size_t at, size_t *boundary)
{
    struct str text = walk->text;
    uint8_t last = 0;
    *boundary = at;
    while (at < text.len) {
        if ((unsigned char)text.data[at] < 0x80) {
            at = skip_ascii(text, at);
            *boundary = at - 1;
            last = 0;
            continue;
        }
        if (is_plain_ideograph((const unsigned char *)text.data + at, text.len - at)) {
            *boundary = at;
            at += 3;
            last = 0;
            continue;
        }
        size_t len;
        uint8_t id = class_id(character_at(text, at, &len));
        if (!(form_flags[id] & walk->mask)) {
            *boundary = at;
            last = 0;
        } else if ((form_flags[id] & walk->flag) || form_ccc[id] < last) {
            return at;
        } else {
            last = form_ccc[id];
        }
        at += len;
    }
    return at;
}

/* Takes apart all from `from` to the first boundary at or after `at`, which it returns. */
static size_t fill_stretch(struct walk *walk, size_t from, size_t at)
{
    walk->stretch.count = 0;
    for (size_t i = from, len; i < walk->text.len; i += len) {
        uint32_t character = character_at(walk->text, i, &len);
        if (i >= at && !(form_flags[class_id(character)] & walk->mask))
            return i;
        take_apart(&walk->stretch, character, walk->compatible);
    }
    return walk->text.len;
}

static void write_stretch(struct walk *walk, size_t from, size_t to)
{
    struct buf *out = walk->out;
    if (!walk->changed)
        buf_reset(out);
    else
        buf_add(out, str_slice(walk->text, walk->copied, from));
    size_t start = out->len;
    append_stretch(&walk->stretch, out);
    struct str written = str_slice(buf_str(out), start, out->len), old = str_slice(walk->text, from, to);
    if (walk->changed || str_equal(written, old)) {
        walk->copied = to;
        return;
    }
    buf_reset(out);
    buf_add(out, str_slice(walk->text, 0, from));
    append_stretch(&walk->stretch, out);
    walk->changed = true;
    walk->copied = to;
}

struct str normalize_form(enum normalizer_kind form, struct str text, struct buf *out)
{
    struct walk walk = {
        .text = text,
        .composes = form == NORMALIZER_NFC || form == NORMALIZER_NFKC,
        .compatible = form == NORMALIZER_NFKC || form == NORMALIZER_NFKD,
        .out = out,
    };
    if (walk.compatible)
        walk.flag = walk.composes ? FLAG_NFKC : FLAG_NFKD;
    else
        walk.flag = walk.composes ? FLAG_NFC : FLAG_NFD;
    walk.mask = walk.flag | FLAG_CLASSED;
    for (size_t at = 0, from; (at = next_suspect(&walk, at, &from)) < text.len;) {
        at = fill_stretch(&walk, from, at);
        sort_stretch(&walk.stretch);
        if (walk.composes)
            compose_stretch(&walk.stretch);
        write_stretch(&walk, from, at);
    }
    free(walk.stretch.elements);
    free(walk.stretch.spare);
    if (!walk.changed)
        return text;
    buf_add(out, str_slice(text, walk.copied, text.len));
    return buf_str(out);
}
