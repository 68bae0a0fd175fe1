/* Measures the characters of blocks. One pass over the text; the classes of ASCII characters come from a table. */
#include "text/html/blocks_internal.h"

enum char_class {
    C_OTHER,
    C_SPACE,
    C_SMALL,
    C_CAPITAL,
    C_DIGIT,
    C_SENTENCE,
    C_COMMA,
    C_COLON,
    C_BAR,
    C_CLOSE,
    C_MONEY
};

static const uint8_t classes[128] = {
    [' '] = C_SPACE,    ['\t'] = C_SPACE,   ['\n'] = C_SPACE,  ['\r'] = C_SPACE,  ['\f'] = C_SPACE,  ['.'] = C_SENTENCE,
    ['!'] = C_SENTENCE, ['?'] = C_SENTENCE, [','] = C_COMMA,   [';'] = C_COMMA,   [':'] = C_COLON,   ['|'] = C_BAR,
    ['>'] = C_BAR,      ['"'] = C_CLOSE,    ['\''] = C_CLOSE,  [')'] = C_CLOSE,   [']'] = C_CLOSE,   ['$'] = C_MONEY,
    ['0'] = C_DIGIT,    ['1'] = C_DIGIT,    ['2'] = C_DIGIT,   ['3'] = C_DIGIT,   ['4'] = C_DIGIT,   ['5'] = C_DIGIT,
    ['6'] = C_DIGIT,    ['7'] = C_DIGIT,    ['8'] = C_DIGIT,   ['9'] = C_DIGIT,   ['A'] = C_CAPITAL, ['B'] = C_CAPITAL,
    ['C'] = C_CAPITAL,  ['D'] = C_CAPITAL,  ['E'] = C_CAPITAL, ['F'] = C_CAPITAL, ['G'] = C_CAPITAL, ['H'] = C_CAPITAL,
    ['I'] = C_CAPITAL,  ['J'] = C_CAPITAL,  ['K'] = C_CAPITAL, ['L'] = C_CAPITAL, ['M'] = C_CAPITAL, ['N'] = C_CAPITAL,
    ['O'] = C_CAPITAL,  ['P'] = C_CAPITAL,  ['Q'] = C_CAPITAL, ['R'] = C_CAPITAL, ['S'] = C_CAPITAL, ['T'] = C_CAPITAL,
    ['U'] = C_CAPITAL,  ['V'] = C_CAPITAL,  ['W'] = C_CAPITAL, ['X'] = C_CAPITAL, ['Y'] = C_CAPITAL, ['Z'] = C_CAPITAL,
    ['a'] = C_SMALL,    ['b'] = C_SMALL,    ['c'] = C_SMALL,   ['d'] = C_SMALL,   ['e'] = C_SMALL,   ['f'] = C_SMALL,
    ['g'] = C_SMALL,    ['h'] = C_SMALL,    ['i'] = C_SMALL,   ['j'] = C_SMALL,   ['k'] = C_SMALL,   ['l'] = C_SMALL,
    ['m'] = C_SMALL,    ['n'] = C_SMALL,    ['o'] = C_SMALL,   ['p'] = C_SMALL,   ['q'] = C_SMALL,   ['r'] = C_SMALL,
    ['s'] = C_SMALL,    ['t'] = C_SMALL,    ['u'] = C_SMALL,   ['v'] = C_SMALL,   ['w'] = C_SMALL,   ['x'] = C_SMALL,
    ['y'] = C_SMALL,    ['z'] = C_SMALL,
};

void block_text_begin(struct block_reader *reader)
{
    *reader = (struct block_reader){.hints = reader->hints};
}

static void end_word(struct block_reader *reader, struct html_block *block)
{
    uint32_t hash = word_reader_end(&reader->words);
    if (!hash)
        return;
    block->words++;
    block->capitals += reader->word_is_capital;
    block->hash = block->hash * 31 + hash;
    reader->word_is_capital = false;
    block->title_words += hint_has(reader->hints->title, HINT_TITLE_BITS, hash);
    uint32_t gram = word_reader_gram(&reader->words);
    if (gram) {
        block->body_words += hint_has(reader->hints->bodies, HINT_GRAM_BITS, gram);
        block->description_words += hint_has(reader->hints->descriptions, HINT_GRAM_BITS, gram);
    }
}

static void end_sentence(struct block_reader *reader, struct html_block *block)
{
    if (reader->after != AFTER_SENTENCE)
        return;
    block->sentences++;
    reader->after = AFTER_COUNTED_SENTENCE;
}

/* A visible character that is no part of a word. */
static void add_mark(struct block_reader *reader, enum char_class class, struct html_block *block)
{
    end_word(reader, block);
    block->length++;
    if (class == C_SENTENCE)
        reader->after = AFTER_SENTENCE;
    else if (class != C_CLOSE)
        reader->after = class == C_COLON ? AFTER_COLON : AFTER_OTHER;
    block->commas += class == C_COMMA;
    block->bars += class == C_BAR;
    if (class == C_MONEY)
        block->flags |= BLOCK_PRICE;
}

struct wide_mark {
    unsigned char bytes[3];
    uint8_t class;
};

/* The class of a mark outside ASCII of `*length` bytes; C_SMALL for what belongs to words. */
static enum char_class class_of_wide(const unsigned char *at, size_t left, size_t *length)
{
    static const struct wide_mark marks[] = {
        {{0xE3, 0x80, 0x82}, C_SENTENCE}, {{0xEF, 0xBC, 0x81}, C_SENTENCE}, {{0xEF, 0xBC, 0x9F}, C_SENTENCE},
        {{0xE2, 0x80, 0xA6}, C_SENTENCE}, {{0xE0, 0xA5, 0xA4}, C_SENTENCE}, {{0xE3, 0x80, 0x81}, C_COMMA},
        {{0xEF, 0xBC, 0x8C}, C_COMMA},    {{0xEF, 0xBC, 0x9B}, C_COMMA},    {{0xEF, 0xBC, 0x9A}, C_COLON},
        {{0xE2, 0x80, 0xA2}, C_BAR},      {{0xE2, 0x80, 0xBA}, C_BAR},      {{0xE2, 0x82, 0xAC}, C_MONEY},
        {{0xE2, 0x82, 0xB9}, C_MONEY},    {{0xE2, 0x80, 0x9D}, C_CLOSE},    {{0xE2, 0x80, 0x99}, C_CLOSE},
        {{0xE3, 0x80, 0x8D}, C_CLOSE},
    };
    *length = at[0] >= 0xF0 ? 4 : at[0] >= 0xE0 ? 3 : at[0] >= 0xC0 ? 2 : 1;
    if (*length > left)
        *length = left;
    if (*length == 2)
        return at[0] != 0xC2                    ? (at[0] == 0xD8 && at[1] == 0x8C ? C_COMMA : C_SMALL)
               : at[1] == 0xA0                  ? C_SPACE
               : at[1] == 0xBB || at[1] == 0xB7 ? C_BAR
               : at[1] == 0xA3 || at[1] == 0xA5 ? C_MONEY
                                                : C_OTHER;
    if (*length != 3 || (at[0] != 0xE2 && at[0] != 0xE3 && at[0] != 0xEF && at[0] != 0xE0))
        return C_SMALL;
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++)
        if (marks[i].bytes[0] == at[0] && marks[i].bytes[1] == at[1] && marks[i].bytes[2] == at[2])
            return (enum char_class)marks[i].class;
    bool other = (at[0] == 0xE2 && at[1] <= 0x82) || (at[0] == 0xE3 && at[1] == 0x80);
    return other ? C_OTHER : C_SMALL;
}

static size_t add_wide(struct block_reader *reader, const unsigned char *at, size_t left, struct html_block *block)
{
    size_t length;
    enum char_class class = class_of_wide(at, left, &length);
    if (class == C_SPACE) {
        end_word(reader, block);
    } else if (class != C_SMALL) {
        add_mark(reader, class, block);
        if (at[0] == 0xC2 && at[1] == 0xA9)
            block->flags |= BLOCK_COPYRIGHT;
        if (at[0] >= 0xE3 && class == C_SENTENCE) { /* no space follows */
            end_sentence(reader, block);
            block->length++;
        }
    } else {
        for (size_t i = 0; i < length; i++)
            word_reader_add(&reader->words, at[i]);
        bool wide = at[0] >= 0xE3 && at[0] < 0xF0;
        block->length += wide ? 2 : 1;
        reader->wide += wide;
        reader->after = AFTER_OTHER;
    }
    return length;
}

static void add_chars(struct block_reader *reader, struct str text, struct html_block *block)
{
    const unsigned char *at = (const unsigned char *)text.data, *end = at + text.len;
    while (at < end) {
        unsigned char c = *at;
        if (c >= 0x80) {
            at += add_wide(reader, at, (size_t)(end - at), block);
            continue;
        }
        at++;
        enum char_class class = (enum char_class)classes[c];
        switch (class) {
        case C_SPACE:
            end_word(reader, block);
            end_sentence(reader, block);
            break;
        case C_CAPITAL:
            if (!reader->words.hash)
                reader->word_is_capital = true;
            c |= 0x20;
            /* fall through */
        case C_SMALL:
        case C_DIGIT:
            word_reader_add(&reader->words, c);
            block->length++;
            block->digits += class == C_DIGIT;
            reader->after = AFTER_OTHER;
            break;
        case C_OTHER:
        case C_SENTENCE:
        case C_COMMA:
        case C_COLON:
        case C_BAR:
        case C_CLOSE:
        case C_MONEY:
            add_mark(reader, class, block);
            break;
        }
    }
}

void block_text_add(struct block_reader *reader, struct str text, uint32_t place, struct html_block *block)
{
    uint32_t before = block->length;
    add_chars(reader, text, block);
    uint32_t added = block->length - before;
    if (place & PLACE_LINK)
        block->link_length += added;
    if (place & PLACE_STRONG)
        block->strong_length += added;
    if (place & PLACE_TIME)
        block->flags |= BLOCK_TIME;
}

void block_text_break(struct block_reader *reader, struct html_block *block)
{
    end_word(reader, block);
    end_sentence(reader, block);
    block->breaks++;
}

void block_text_end(struct block_reader *reader, struct html_block *block)
{
    end_word(reader, block);
    end_sentence(reader, block);
    if (reader->after == AFTER_COUNTED_SENTENCE)
        block->flags |= BLOCK_ENDS_SENTENCE;
    if (reader->after == AFTER_COLON)
        block->flags |= BLOCK_ENDS_COLON;
    block->words += reader->wide / 2;
}
