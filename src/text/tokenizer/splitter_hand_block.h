/* src/text/tokenizer/splitter_hand_block.h
 *
 * The pieces of up to 64 bytes of ASCII at once, for the rules of splitter_hand.c: what kind each byte is becomes one
 * bit of a word for each kind, and where pieces begin is worked out of these words without a jump. What depends on
 * bytes behind the block, or on others than ASCII, is left to the reader of single pieces.
 */
#ifndef FATHOM_TEXT_TOKENIZER_SPLITTER_HAND_BLOCK_H
#define FATHOM_TEXT_TOKENIZER_SPLITTER_HAND_BLOCK_H

#include "text/tokenizer/splitter_hand.h"

enum word_form {
    WORD_LETTERS, /* \p{L}+ */
    WORD_MARKED,  /* [\p{L}\p{M}]+ */
    WORD_CASED,   /* upper case, then lower case, one of them at least */
};

struct hand_rules {
    enum word_form word;
    bool space_only;   /* words and numbers take only a space along, words else anything but letter, number, \r, \n */
    bool contractions; /* 's and the like are pieces of their own, else, for WORD_CASED, the end of a word */
    bool suffixes;
    bool any_case;
    unsigned digits;  /* in a piece at most; 0 any number */
    bool tail, slash; /* symbols take [\r\n]* or [\r\n/]* along */
    bool newlines;    /* \s*[\r\n]+ */
    bool whole_end;   /* \s++$ before that */
    bool apart;       /* numbers are cut out before all else, and controls are no symbols */
};

#define HAND_BLOCK 64

#if defined(__SSE2__)

/* One bit for each byte, the first the lowest. */
struct hand_block {
    uint64_t wide;     /* no ASCII */
    uint64_t controls; /* that are no white space */
    uint64_t letters, upper, numbers, blanks, newlines, spaces, quotes, slashes;
};

HAND_INLINE uint64_t hand_bits(__m128i bytes, int shift)
{
    return (uint64_t)(unsigned)_mm_movemask_epi8(bytes) << shift;
}

/* Those of the bytes that are `count` ones from `first` on. */
HAND_INLINE __m128i hand_range(__m128i bytes, unsigned char first, int count)
{
    __m128i shifted = _mm_sub_epi8(bytes, _mm_set1_epi8((char)(first + 128)));
    return _mm_cmplt_epi8(shifted, _mm_set1_epi8((char)(count - 128)));
}

HAND_INLINE struct hand_block hand_block_read(hand_at at)
{
    struct hand_block block = {0};
    for (int i = 0; i < HAND_BLOCK; i += 16) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)(at + i));
        __m128i newlines =
            _mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('\n')), _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\r')));
        __m128i spaces = _mm_cmpeq_epi8(bytes, _mm_set1_epi8(' '));
        __m128i blanks = _mm_or_si128(hand_range(bytes, '\t', 5), spaces);
        __m128i controls = _mm_or_si128(hand_range(bytes, 0, 0x20), _mm_cmpeq_epi8(bytes, _mm_set1_epi8(0x7F)));
        block.wide |= hand_bits(bytes, i);
        block.controls |= hand_bits(_mm_andnot_si128(blanks, controls), i);
        block.letters |= hand_bits(hand_range(_mm_or_si128(bytes, _mm_set1_epi8(0x20)), 'a', 26), i);
        block.upper |= hand_bits(hand_range(bytes, 'A', 26), i);
        block.numbers |= hand_bits(hand_range(bytes, '0', 10), i);
        block.newlines |= hand_bits(newlines, i);
        block.spaces |= hand_bits(spaces, i);
        block.blanks |= hand_bits(_mm_andnot_si128(newlines, blanks), i);
        block.quotes |= hand_bits(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('\'')), i);
        block.slashes |= hand_bits(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('/')), i);
    }
    return block;
}

HAND_INLINE uint64_t hand_bits_below(unsigned place)
{
    return place < 64 ? (UINT64_C(1) << place) - 1 : UINT64_MAX;
}

HAND_INLINE uint64_t hand_first_of_runs(uint64_t bits)
{
    return bits & ~(bits << 1);
}

/* Behind the last newline of each run of white space, where others follow; and the last blank before other text, but
 * for numbers that are apart. Lines that symbols took along are no part of such a run. */
HAND_INLINE uint64_t hand_block_white_space(const struct hand_block *b, uint64_t symbols, struct hand_rules rules)
{
    uint64_t white = b->blanks | b->newlines, newlines = b->newlines;
    uint64_t last = b->blanks & ~((white | (rules.apart ? b->numbers : 0)) >> 1);
    if (rules.tail) {
        uint64_t taken = newlines & ~(newlines + (newlines & symbols << 1));
        white &= ~taken;
        newlines &= ~taken;
    }
    uint64_t starts = hand_first_of_runs(white);
    if (!rules.newlines)
        return starts | (white & ~((b->blanks | b->newlines) >> 1));
    uint64_t after = b->blanks & newlines << 1;
    for (uint64_t inner = (b->blanks + after) & b->newlines; inner; inner &= inner - 1) {
        uint64_t before = after & ((inner & -inner) - 1);
        after &= ~(UINT64_C(1) << (63 - __builtin_clzll(before)));
    }
    return starts | after | last;
}

/* Pieces that begin with an apostrophe, or words that end with one and what may follow it. */
HAND_INLINE uint64_t hand_block_contractions(const struct hand_block *b, hand_at at, uint64_t starts,
                                             struct hand_rules rules)
{
    uint64_t quotes = b->quotes & starts & b->letters >> 1;
    unsigned last = 0;
    if (rules.suffixes)
        quotes &= b->letters << 1;
    for (; quotes; quotes &= quotes - 1) {
        unsigned place = (unsigned)__builtin_ctzll(quotes);
        hand_at found = hand_contraction(at + place, at + HAND_BLOCK, rules.any_case);
        if (found == NULL || (rules.suffixes && place == last))
            continue;
        last = (unsigned)(found - at);
        starts &= ~(hand_bits_below(last) & ~hand_bits_below(rules.suffixes ? place : place + 1));
        starts |= last < 64 ? UINT64_C(1) << last : 0;
    }
    return starts;
}

HAND_INLINE uint64_t hand_block_numbers(uint64_t numbers, struct hand_rules rules)
{
    if (rules.digits == 1)
        return numbers;
    uint64_t starts = hand_first_of_runs(numbers), next = starts;
    if (rules.digits == 3)
        while ((next = next << 3 & numbers & numbers << 1 & numbers << 2) != 0)
            starts |= next;
    return starts;
}

/* Where pieces begin, at `at` for one, as far as what lies behind the block cannot change it. `*size` is how far; 0
 * where nothing is sure. */
HAND_INLINE uint64_t hand_block_starts(hand_at at, unsigned *size, struct hand_rules rules)
{
    struct hand_block b = hand_block_read(at);
    uint64_t symbols = ~(b.wide | b.letters | b.numbers | b.blanks | b.newlines), stop = b.wide;
    if (rules.apart) {
        symbols &= ~b.controls;
        stop |= b.controls;
    }
    if (rules.slash)
        stop |= b.slashes & b.newlines << 1;
    uint64_t sure = (b.letters << 1 & ~b.letters & ~(rules.suffixes ? b.quotes : 0)) | (b.numbers << 1 & ~b.numbers);
    if (!rules.space_only)
        sure |= hand_first_of_runs(b.numbers);
    sure &= stop ? (stop & -stop) - 1 : UINT64_MAX;
    sure &= ~UINT64_C(1);
    if (!sure) {
        *size = 0;
        return 0;
    }
    *size = 63 - (unsigned)__builtin_clzll(sure);
    uint64_t words = hand_first_of_runs(b.letters), numbers = hand_block_numbers(b.numbers, rules);
    uint64_t others = hand_first_of_runs(symbols) & ~(b.spaces << 1);
    if (rules.space_only) {
        words &= ~(b.spaces << 1);
        numbers &= ~(b.spaces << 1);
    } else {
        words &= ~(b.blanks << 1 | (others & ~(symbols >> 1)) << 1);
    }
    if (rules.word == WORD_CASED)
        words |= b.upper & (b.letters & ~b.upper) << 1;
    uint64_t starts = 1 | words | numbers | (b.numbers << 1 & ~b.numbers) | others;
    starts |= hand_block_white_space(&b, symbols, rules);
    if (rules.contractions || rules.suffixes)
        starts = hand_block_contractions(&b, at, starts, rules);
    return starts & hand_bits_below(*size);
}

#endif

/* The pieces of the block at `at`, as far as they are sure; 0 where it is for the reader of single pieces. */
HAND_INLINE size_t hand_block_pieces(hand_at text, hand_at *at, hand_at end, struct split_piece *pieces,
                                     struct hand_rules rules)
{
#if defined(__SSE2__)
    if (end - *at < HAND_BLOCK || (((*at)[0] | (*at)[1]) & 0x80))
        return 0;
    unsigned size;
    size_t count = 0;
    uint32_t base = (uint32_t)(*at - text);
    for (uint64_t starts = hand_block_starts(*at, &size, rules); starts; count++) {
        uint32_t from = (uint32_t)__builtin_ctzll(starts);
        starts &= starts - 1;
        pieces[count] = (struct split_piece){base + from, base + (starts ? (uint32_t)__builtin_ctzll(starts) : size)};
    }
    *at += size;
    return count;
#else
    (void)text, (void)at, (void)end, (void)pieces, (void)rules;
    return 0;
#endif
}

#endif
