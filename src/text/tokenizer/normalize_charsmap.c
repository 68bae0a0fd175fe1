#include <string.h>

#include "core/utf8.h"
#include "text/tokenizer/normalize.h"

struct cluster_range {
    uint32_t first, last;
    uint8_t value; /* enum cluster, and CONJUNCT_… above it */
};

#include "text/tokenizer/normalize_cluster.inc"

/* Property Grapheme_Cluster_Break; PICTOGRAPH is Extended_Pictographic where that one is Other. */
enum cluster {
    OTHER,
    CR,
    LF,
    CONTROL,
    EXTEND,
    ZWJ,
    REGIONAL,
    PREPEND,
    SPACING,
    HANGUL_L,
    HANGUL_V,
    HANGUL_T,
    PICTOGRAPH,
    HANGUL_LV,
    HANGUL_LVT,
    CLUSTER_MASK = 15,
};

/* Property Indic_Conjunct_Break. */
enum { CONJUNCT_CONSONANT = 16, CONJUNCT_LINKER = 32, CONJUNCT_EXTEND = 64 };

/* A cluster longer than this is not looked up as a whole. */
#define WHOLE_MAX 5

static unsigned cluster_value(uint32_t character)
{
    if (character < 0x80)
        return character == '\r' ? CR : character == '\n' ? LF : character < 0x20 || character > 0x7E ? CONTROL : OTHER;
    if (character - 0xAC00u < 11172)
        return (character - 0xAC00u) % 28 ? HANGUL_LVT : HANGUL_LV;
    if (character >= 0x3400 && character < 0xA000)
        return OTHER;
    size_t low = 0, high = sizeof clusters / sizeof *clusters;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (clusters[middle].last < character)
            low = middle + 1;
        else
            high = middle;
    }
    return low < sizeof clusters / sizeof *clusters && clusters[low].first <= character ? clusters[low].value : OTHER;
}

/* What of a cluster matters to whether it goes on. */
struct state {
    unsigned last;           /* enum cluster */
    bool odd_regional;       /* an odd number of regional indicators at its end */
    bool pictograph, joined; /* ends in a pictograph with extenders; and a joiner after that */
    bool consonant, linked;  /* ends in a consonant with extenders; and a linker among them */
};

static bool hangul_joins(unsigned last, unsigned next)
{
    switch (last) {
    case HANGUL_L:
        return next == HANGUL_L || next == HANGUL_V || next == HANGUL_LV || next == HANGUL_LVT;
    case HANGUL_V:
    case HANGUL_LV:
        return next == HANGUL_V || next == HANGUL_T;
    case HANGUL_T:
    case HANGUL_LVT:
        return next == HANGUL_T;
    }
    return false;
}

/* Rules GB3 to GB999 in order. */
static bool joins(const struct state *state, unsigned value)
{
    unsigned next = value & CLUSTER_MASK;
    if (state->last == CR && next == LF)
        return true;
    if ((state->last >= CR && state->last <= CONTROL) || (next >= CR && next <= CONTROL))
        return false;
    if (hangul_joins(state->last, next) || next == EXTEND || next == ZWJ || next == SPACING || state->last == PREPEND)
        return true;
    if (state->linked && (value & CONJUNCT_CONSONANT))
        return true;
    if (state->joined && next == PICTOGRAPH)
        return true;
    return state->odd_regional && next == REGIONAL;
}

static void advance(struct state *state, unsigned value)
{
    unsigned next = value & CLUSTER_MASK;
    state->joined = state->pictograph && next == ZWJ;
    state->pictograph = next == PICTOGRAPH || (state->pictograph && next == EXTEND);
    state->odd_regional = next == REGIONAL && !state->odd_regional;
    bool extends = value & (CONJUNCT_LINKER | CONJUNCT_EXTEND);
    state->linked = state->consonant && extends && (state->linked || (value & CONJUNCT_LINKER));
    state->consonant = (value & CONJUNCT_CONSONANT) || (state->consonant && extends);
    state->last = next;
}

size_t cluster_len(struct str text, size_t at)
{
    struct state state = {0};
    size_t len;
    advance(&state, cluster_value(character_at(text, at, &len)));
    size_t end = at + len;
    while (end < text.len) {
        unsigned value = cluster_value(character_at(text, end, &len));
        if (!joins(&state, value))
            break;
        advance(&state, value);
        end += len;
    }
    return end - at;
}

static bool read_unit(const struct charsmap *map, size_t index, uint32_t *unit)
{
    if (index >= map->units.len / 4)
        return false;
    const unsigned char *bytes = (const unsigned char *)map->units.data + index * 4;
    *unit = (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
    return true;
}

static size_t unit_offset(uint32_t unit)
{
    return (size_t)(unit >> 10) << ((unit & (1u << 9)) >> 6);
}

/* The replacement of the shortest key that `text` begins with: it stands for all of `text`. */
static bool look_up(const struct charsmap *map, struct str text, struct str *replacement)
{
    uint32_t unit;
    size_t at = 0;
    if (!read_unit(map, 0, &unit))
        return false;
    at ^= unit_offset(unit);
    for (size_t i = 0; i < text.len && text.data[i]; i++) {
        unsigned char byte = (unsigned char)text.data[i];
        at ^= byte;
        if (!read_unit(map, at, &unit) || (unit & (1u << 31 | 0xFF)) != byte)
            return false;
        at ^= unit_offset(unit);
        if (!(unit & 1u << 8))
            continue;
        size_t from = read_unit(map, at, &unit) ? unit & 0x7FFFFFFF : SIZE_MAX;
        if (from > map->replacements.len)
            return false;
        size_t to = str_find_char(map->replacements, '\0', from);
        *replacement = str_slice(map->replacements, from, to == STR_NONE ? map->replacements.len : to);
        return true;
    }
    return false;
}

bool charsmap_open(struct charsmap *map, struct str bytes)
{
    *map = (struct charsmap){.units = {0}};
    if (bytes.len < 4)
        return false;
    const unsigned char *head = (const unsigned char *)bytes.data;
    size_t len = (size_t)head[0] | (size_t)head[1] << 8 | (size_t)head[2] << 16 | (size_t)head[3] << 24;
    len = len / 4 * 4;
    if (!len || len > bytes.len - 4)
        return false;
    map->units = str_slice(bytes, 4, 4 + len);
    map->replacements = str_slice(bytes, 4 + len, bytes.len);
    if (!utf8_is_valid(map->replacements))
        return false;
    for (int c = 0; c < 128; c++) {
        struct str ignored;
        char byte = (char)c;
        map->ascii[c] = look_up(map, str_make(&byte, 1), &ignored);
    }
    return true;
}

static void replace_characters(const struct charsmap *map, struct rewrite *rewrite, size_t at, size_t end)
{
    struct str replacement;
    for (size_t len; at < end; at += len) {
        character_at(rewrite->text, at, &len);
        if (look_up(map, str_slice(rewrite->text, at, at + len), &replacement))
            rewrite_replace(rewrite, at, at + len, replacement);
    }
}

struct str normalize_charsmap(const struct charsmap *map, struct str text, struct buf *out)
{
    struct rewrite rewrite = {.text = text, .out = out};
    struct str replacement;
    for (size_t at = 0, len; at < text.len; at += len) {
        unsigned char byte = (unsigned char)text.data[at];
        len = 1;
        if (byte < 0x80 && !map->ascii[byte] && at + 1 < text.len && (unsigned char)text.data[at + 1] < 0x80 &&
            byte != '\r')
            continue;
        len = cluster_len(text, at);
        if (len <= WHOLE_MAX && look_up(map, str_slice(text, at, at + len), &replacement))
            rewrite_replace(&rewrite, at, at + len, replacement);
        else
            replace_characters(map, &rewrite, at, at + len);
    }
    return rewrite_end(&rewrite);
}
