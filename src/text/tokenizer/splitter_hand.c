/* The patterns of GPT-2 and its descendants, all of one make: words that may take a character along from before them,
 * numbers, other characters with the line ends behind them, white space. One engine reads them all; what differs is in
 * its rules, which are constants where it is inlined. */
#include "text/tokenizer/splitter_hand_block.h"

HAND_INLINE unsigned letters_of(enum word_form word)
{
    return word == WORD_LETTERS ? HAND_LETTER : HAND_LETTER | HAND_MARK;
}

/* [upper]*[lower]+ at `at`, NULL where it fails. The upper run gives back what it must: to its last character that is
 * lower too. `*upper_end` is where that run ends. */
HAND_INLINE hand_at cased_lower(hand_at at, hand_at end, hand_at *upper_end)
{
    hand_at p = at, both = NULL;
    unsigned len, kind = 0;
    while (p < end && ((kind = hand_kind(p, &len)) & HAND_UPPER)) {
        p += len;
        if (kind & HAND_LOWER)
            both = p;
    }
    *upper_end = p;
    return p < end && (kind & HAND_LOWER) ? hand_skip(p, end, HAND_LOWER) : both;
}

/* The word at `at` where `kind` says it begins there, else behind the one character that ends at `behind`. NULL where
 * there is none. In ASCII no letter is of both cases. */
HAND_INLINE hand_at word_cased(hand_at at, hand_at behind, hand_at end, unsigned kind)
{
    hand_at start = kind & HAND_LETTER ? at : behind, upper_end = start;
    while (upper_end < end && (unsigned char)(*upper_end - 'A') < 26)
        upper_end++;
    hand_at found = hand_skip_letters(upper_end, end, 0);
    if (found < end && *found >= 0x80)
        found = cased_lower(start, end, &upper_end);
    else if (found == upper_end)
        found = NULL;
    if (found)
        return found;
    if (kind & HAND_MARK)
        return behind;
    return upper_end > start ? upper_end : NULL;
}

HAND_INLINE hand_at word_plain(hand_at at, hand_at behind, hand_at end, unsigned kind, unsigned letters)
{
    hand_at start = kind & HAND_LETTER ? at : behind;
    hand_at found = hand_skip_ascii_letters(start, end);
    if (found < end && *found >= 0x80)
        found = hand_skip(found, end, letters);
    if (found > start)
        return found;
    return kind & letters ? behind : NULL;
}

HAND_INLINE hand_at word_at(hand_at at, hand_at behind, hand_at end, unsigned kind, struct hand_rules rules)
{
    bool takes_along = rules.space_only ? *at == ' ' : !(kind & (HAND_NUMBER | HAND_NEWLINE));
    if (!(kind & HAND_LETTER) && !takes_along)
        return NULL;
    hand_at found;
    if (rules.word == WORD_CASED)
        found = word_cased(at, behind, end, kind);
    else
        found = word_plain(at, behind, end, kind, letters_of(rules.word));
    if (found && rules.suffixes && found < end && *found == '\'') {
        hand_at suffix = hand_contraction(found, end, rules.any_case);
        return suffix ? suffix : found;
    }
    return found;
}

HAND_INLINE hand_at digits_at(hand_at at, hand_at end, unsigned most)
{
    unsigned len;
    if (!most)
        return hand_skip(at, end, HAND_NUMBER);
    for (unsigned i = 0; i < most && at < end && (hand_kind(at, &len) & HAND_NUMBER); i++)
        at += len;
    return at;
}

HAND_INLINE hand_at symbols_at(hand_at at, hand_at end, unsigned others, struct hand_rules rules)
{
    hand_at p = hand_skip_others(at, end, others);
    while (rules.tail && p < end && (*p == '\r' || *p == '\n' || (rules.slash && *p == '/')))
        p++;
    return p;
}

/* Behind the piece that begins at `at`. */
HAND_INLINE hand_at piece_at(hand_at at, hand_at end, struct hand_rules rules)
{
    const unsigned others = HAND_SPACE | HAND_NUMBER | letters_of(rules.word == WORD_CASED ? WORD_LETTERS : rules.word);
    unsigned len, kind = hand_kind(at, &len);
    hand_at behind = at + len, found;
    if (rules.contractions && *at == '\'' && (found = hand_contraction(at, end, rules.any_case)))
        return found;
    if ((found = word_at(at, behind, end, kind, rules)))
        return found;
    if (kind & HAND_NUMBER)
        return digits_at(at, end, rules.digits);
    if (!(kind & HAND_SPACE))
        return symbols_at(at, end, others, rules);
    if (*at == ' ' && behind < end) {
        unsigned next = hand_kind_or_end(behind, end);
        if (!(next & others))
            return symbols_at(behind, end, others, rules);
        if (rules.space_only && (next & HAND_NUMBER))
            return digits_at(behind, end, rules.digits);
    }
    return hand_white_space(at, end, rules.newlines, rules.whole_end);
}

HAND_INLINE size_t next_pieces(struct split_walk *walk, struct split_piece *pieces, struct hand_rules rules)
{
    hand_at text = (hand_at)walk->text.data, end = text + walk->text.len, at = text + walk->at;
    size_t count = 0;
    while (count < SPLITTER_BATCH && at < end) {
        size_t found = 0;
        if (count <= SPLITTER_BATCH - HAND_BLOCK)
            found = hand_block_pieces(text, &at, end, pieces + count, rules);
        count += found;
        if (found)
            continue;
        hand_at behind = piece_at(at, end, rules);
        pieces[count++] = (struct split_piece){(uint32_t)(at - text), (uint32_t)(behind - text)};
        at = behind;
    }
    walk->at = (size_t)(at - text);
    return count;
}

static size_t gpt2_next(struct split_walk *walk, struct split_piece *pieces)
{
    static const struct hand_rules rules = {.space_only = true, .contractions = true};
    return next_pieces(walk, pieces, rules);
}

#define AFTER_GPT2 .any_case = true, .tail = true, .newlines = true

static size_t cl100k_next(struct split_walk *walk, struct split_piece *pieces)
{
    static const struct hand_rules rules = {.contractions = true, .digits = 3, AFTER_GPT2};
    return next_pieces(walk, pieces, rules);
}

static size_t cl100k_tiktoken_next(struct split_walk *walk, struct split_piece *pieces)
{
    static const struct hand_rules rules = {.contractions = true, .digits = 3, .whole_end = true, AFTER_GPT2};
    return next_pieces(walk, pieces, rules);
}

static size_t qwen2_next(struct split_walk *walk, struct split_piece *pieces)
{
    static const struct hand_rules rules = {.contractions = true, .digits = 1, AFTER_GPT2};
    return next_pieces(walk, pieces, rules);
}

static size_t qwen3_5_next(struct split_walk *walk, struct split_piece *pieces)
{
    static const struct hand_rules rules = {.word = WORD_MARKED, .contractions = true, .digits = 1, AFTER_GPT2};
    return next_pieces(walk, pieces, rules);
}

static size_t o200k_next(struct split_walk *walk, struct split_piece *pieces)
{
    static const struct hand_rules rules = {
        .word = WORD_CASED, .suffixes = true, .digits = 3, .slash = true, AFTER_GPT2};
    return next_pieces(walk, pieces, rules);
}

static size_t tekken_next(struct split_walk *walk, struct split_piece *pieces)
{
    static const struct hand_rules rules = {.word = WORD_CASED, .digits = 1, .slash = true, AFTER_GPT2};
    return next_pieces(walk, pieces, rules);
}

#define CONTRACTION "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
#define BEFORE      "[^\\r\\n\\p{L}\\p{N}]?"
#define UPPER       "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]"
#define LOWER       "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]"
#define SYMBOLS     "| ?[^\\s\\p{L}\\p{N}]+"
#define WHITE_SPACE "\\s+(?!\\S)|\\s+"
#define LINES       "|\\s*[\\r\\n]+|"

static const struct splitter_known known[] = {
    {"'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+" SYMBOLS "|" WHITE_SPACE, gpt2_next, .covers_all = true},
    {"'(?:[sdmt]|ll|ve|re)| ?\\p{L}++| ?\\p{N}++| ?[^\\s\\p{L}\\p{N}]++|\\s++$|\\s+(?!\\S)|\\s", gpt2_next,
     .covers_all = true},
    {CONTRACTION "|" BEFORE "\\p{L}+|\\p{N}{1,3}" SYMBOLS "[\\r\\n]*" LINES WHITE_SPACE, cl100k_next,
     .covers_all = true},
    {"'(?i:[sdmt]|ll|ve|re)|[^\\r\\n\\p{L}\\p{N}]?+\\p{L}++|\\p{N}{1,3}+| ?[^\\s\\p{L}\\p{N}]++[\\r\\n]*+|\\s++$|"
     "\\s*[\\r\\n]|\\s+(?!\\S)|\\s",
     cl100k_tiktoken_next, .tiktoken_only = true, .covers_all = true},
    {CONTRACTION "|" BEFORE "\\p{L}+|\\p{N}" SYMBOLS "[\\r\\n]*" LINES WHITE_SPACE, qwen2_next, .covers_all = true},
    {CONTRACTION "|" BEFORE "[\\p{L}\\p{M}]+|\\p{N}| ?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*" LINES WHITE_SPACE,
     qwen3_5_next, .covers_all = true},
    {BEFORE UPPER "*" LOWER "+" CONTRACTION "?|" BEFORE UPPER "+" LOWER "*" CONTRACTION "?|\\p{N}{1,3}" SYMBOLS
                  "[\\r\\n/]*" LINES WHITE_SPACE,
     o200k_next, .covers_all = true},
    {BEFORE UPPER "*" LOWER "+|" BEFORE UPPER "+" LOWER "*|\\p{N}" SYMBOLS "[\\r\\n/]*" LINES WHITE_SPACE, tekken_next,
     .covers_all = true},
    {"\\p{N}{1,3}", splitter_numbers_next, .covers_all = false},
    {"[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+", splitter_deepseek_cjk_next, .covers_all = false},
    {"[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| "
     "?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|" WHITE_SPACE,
     splitter_deepseek_next, .covers_all = false},
};

const struct splitter_known *splitter_known_at(size_t index)
{
    return index < sizeof known / sizeof *known ? &known[index] : NULL;
}

const struct splitter_known *splitter_known_find(struct spec_pattern pattern)
{
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (str_equal(pattern.text, str_of(known[i].pattern)) && (pattern.is_tiktoken || !known[i].tiktoken_only))
            return &known[i];
    return NULL;
}
