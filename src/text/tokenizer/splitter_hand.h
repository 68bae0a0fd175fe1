/* src/text/tokenizer/splitter_hand.h
 *
 * What splitters written by hand are made of: the kinds of characters their patterns tell apart, and runs of them. All
 * of it is inlined with constant arguments. Text is valid UTF-8, so no character reaches past the end.
 */
#ifndef FATHOM_TEXT_TOKENIZER_SPLITTER_HAND_H
#define FATHOM_TEXT_TOKENIZER_SPLITTER_HAND_H

#include <string.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "text/tokenizer/splitter_internal.h"
#include "text/tokenizer/unicode_class.h"
#include "text/tokenizer/unicode_lookup.h"

#define HAND_INLINE static inline __attribute__((always_inline))

enum hand_kind {
    HAND_UPPER = 1, /* [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}] */
    HAND_LOWER = 2, /* [\p{Ll}\p{Lm}\p{Lo}\p{M}] */
    HAND_LETTER = 4,
    HAND_MARK = 8,
    HAND_NUMBER = 16,
    HAND_SPACE = 32,
    HAND_NEWLINE = 64, /* [\r\n] */
    HAND_SYMBOL = 128, /* [\p{P}\p{S}] */
};

#define HAND_KINDS(bits)                                                                             \
    ((((bits) & (UNICODE_LU | UNICODE_LT | UNICODE_LM | UNICODE_LO | UNICODE_M)) ? HAND_UPPER : 0) | \
     (((bits) & (UNICODE_LL | UNICODE_LM | UNICODE_LO | UNICODE_M)) ? HAND_LOWER : 0) |              \
     (((bits)&UNICODE_L) ? HAND_LETTER : 0) | (((bits)&UNICODE_M) ? HAND_MARK : 0) |                 \
     (((bits)&UNICODE_N) ? HAND_NUMBER : 0) | (((bits)&UNICODE_SPACE) ? HAND_SPACE : 0) |            \
     (((bits)&UNICODE_NEWLINE) ? HAND_NEWLINE : 0) | (((bits) & (UNICODE_P | UNICODE_S)) ? HAND_SYMBOL : 0))

#define UNICODE_MASK(bits) HAND_KINDS(UINT64_C(bits)),
static const uint8_t hand_ascii[] = {
#include "text/tokenizer/unicode_ascii.inc"
};
static const uint8_t hand_kinds[] = {
#include "text/tokenizer/unicode_masks.inc"
};
#undef UNICODE_MASK

typedef const unsigned char *hand_at;

/* The code point of more than one byte at `at`. */
HAND_INLINE uint32_t hand_decode_wide(hand_at at, unsigned *len)
{
    if (at[0] < 0xE0) {
        *len = 2;
        return (at[0] & 0x1Fu) << 6 | (at[1] & 0x3Fu);
    }
    if (at[0] < 0xF0) {
        *len = 3;
        return (at[0] & 0x0Fu) << 12 | (at[1] & 0x3Fu) << 6 | (at[2] & 0x3Fu);
    }
    *len = 4;
    return (at[0] & 0x07u) << 18 | (at[1] & 0x3Fu) << 12 | (at[2] & 0x3Fu) << 6 | (at[3] & 0x3Fu);
}

/* U+4E00 to U+9FFF: letters of no case, all of them. */
HAND_INLINE bool hand_is_ideograph(hand_at at)
{
    return ((unsigned)at[0] << 8 | at[1]) - 0xE4B8u < 0xEA00 - 0xE4B8;
}

/* The kinds of the character at `at`, which is not the end. */
HAND_INLINE unsigned hand_kind(hand_at at, unsigned *len)
{
    if (at[0] < 0x80) {
        *len = 1;
        return hand_ascii[at[0]];
    }
    if (hand_is_ideograph(at)) {
        *len = 3;
        return HAND_KINDS(UNICODE_LO);
    }
    return hand_kinds[unicode_class_id(hand_decode_wide(at, len))];
}

/* 0 at the end. */
HAND_INLINE unsigned hand_kind_or_end(hand_at at, hand_at end)
{
    unsigned len;
    return at < end ? hand_kind(at, &len) : 0;
}

/* Behind the characters that are of one of `kinds`. */
HAND_INLINE hand_at hand_skip(hand_at at, hand_at end, unsigned kinds)
{
    unsigned len;
    while (at < end && (hand_kind(at, &len) & kinds))
        at += len;
    return at;
}

/* Behind the characters that are of none of `kinds`. */
HAND_INLINE hand_at hand_skip_others(hand_at at, hand_at end, unsigned kinds)
{
    unsigned len;
    while (at < end && !(hand_kind(at, &len) & kinds))
        at += len;
    return at;
}

HAND_INLINE bool hand_is_ascii_letter(unsigned char c)
{
    return (unsigned char)((c | 0x20) - 'a') < 26;
}

/* Which of the sixteen bytes at `at` are no ASCII letters, or with `fold` 0 no small ones: bit 0 is the first. */
#if defined(__SSE2__)
HAND_INLINE unsigned hand_no_letters(hand_at at, char fold)
{
    __m128i bytes = _mm_or_si128(_mm_loadu_si128((const __m128i *)(const void *)at), _mm_set1_epi8(fold));
    __m128i shifted = _mm_sub_epi8(bytes, _mm_set1_epi8((char)('a' + 128)));
    return (unsigned)_mm_movemask_epi8(_mm_cmplt_epi8(shifted, _mm_set1_epi8(-128 + 26))) ^ 0xFFFF;
}
#endif

/* Behind the ASCII letters, or with `fold` 0 (else 0x20) behind the small ones. */
HAND_INLINE hand_at hand_skip_letters(hand_at at, hand_at end, unsigned char fold)
{
#if defined(__SSE2__)
    for (; end - at >= 16; at += 16) {
        unsigned others = hand_no_letters(at, (char)fold);
        if (others)
            return at + __builtin_ctz(others);
    }
#endif
    while (at < end && (unsigned char)((*at | fold) - 'a') < 26)
        at++;
    return at;
}

HAND_INLINE hand_at hand_skip_ascii_letters(hand_at at, hand_at end)
{
    return hand_skip_letters(at, end, 0x20);
}

/* Behind what (?i:'s|'t|'re|'ve|'m|'ll|'d) matches at `at`, NULL where it does not. Without `any_case` lower case
 * only. A long s (U+017F) is an s in any case. */
HAND_INLINE hand_at hand_contraction(hand_at at, hand_at end, bool any_case)
{
    if (end - at < 2 || at[0] != '\'')
        return NULL;
    unsigned fold = any_case ? 0x20 : 0;
    unsigned first = at[1] | fold, second = end - at > 2 ? at[2] | fold : 0;
    if (first == 's' || first == 't' || first == 'm' || first == 'd')
        return at + 2;
    if (((first == 'r' || first == 'v') && second == 'e') || (first == 'l' && second == 'l'))
        return at + 3;
    return any_case && at[1] == 0xC5 && at[2] == 0xBF ? at + 3 : NULL;
}

/* The piece at `at`, which is white space that nothing else took: up to the last newline in it where `newlines` says so
 * and there is one, else all but the last character before other text, which that may take along. `whole_end` puts
 * white space at the very end into one piece first. */
HAND_INLINE hand_at hand_white_space(hand_at at, hand_at end, bool newlines, bool whole_end)
{
    hand_at p = at, last = at, behind_newline = NULL;
    unsigned len, kind;
    while (p < end && ((kind = hand_kind(p, &len)) & HAND_SPACE)) {
        last = p;
        p += len;
        if (kind & HAND_NEWLINE)
            behind_newline = p;
    }
    if (p == end && whole_end)
        return p;
    if (newlines && behind_newline)
        return behind_newline;
    return p == end || last == at ? p : last;
}

#endif
