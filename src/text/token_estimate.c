/* A model of how byte-pair tokenizers cut text, in two steps. First the text is cut into pieces as the pre-tokenizer of
 * Qwen (and, but for digits, of Llama 3 and cl100k) does: a word with one character in front of it, a digit, a run of
 * punctuation with a blank in front and newlines behind, a run of white space. A piece that the table knows is one
 * token. Another one is taken apart from the front into the longest parts that the table knows, which is not what
 * byte-pair merging does, but costs nearly as many tokens; what is left is made up for by the prices, which are fitted
 * to real counts. */
#include "text/token_estimate.h"

#include <string.h>
#include <utf8proc.h>

#include "core/utf8.h"

#define ONE 256 /* a token, in the unit of the prices */

/* Llama 3 needs a quarter less than the estimate for programs with much indentation; nothing common needs less. */
#define LEAST_PERCENT 88

#define TABLE_BITS 15 /* of its 64-bit words */

static const uint64_t table[1u << TABLE_BITS] = {
#include "text/token_table.inc"
};

enum price {
    PRICE_KNOWN,   /* a whole piece that is in the table */
    PRICE_LETTERS, /* a part of a word */
    PRICE_LETTER,  /* the same, of one letter */
    PRICE_HAN_ONE, /* parts of Chinese and Japanese words by length */
    PRICE_HAN_TWO,
    PRICE_HAN_LONG,
    PRICE_SCRIPT,   /* a part of a word in another script */
    PRICE_MARKS,    /* a part of a run of punctuation */
    PRICE_RARE_TWO, /* a character that is not in the table, of two, three or four bytes */
    PRICE_RARE_THREE,
    PRICE_RARE_FOUR,
    PRICE_DIGIT,
    PRICE_BLANKS,   /* a run of white space */
    PRICE_MANY,     /* each eighty characters of a longer one */
    PRICE_NEWLINES, /* a run of white space with newlines in it */
    PRICE_NEWLINE,  /* each newline behind the fourth of such a run */
    PRICE_INVALID,  /* a byte that is no UTF-8 */
    PRICE_COUNT
};

#ifdef TOKEN_ESTIMATE_FIT
static void spend(struct token_estimate *e, enum price price, uint32_t count);
#else
/* In 1/256 tokens, as scripts/token-fit gives them: the least squares of the relative error, and 8 % on top so that
 * the estimate errs high. */
static const uint16_t prices[PRICE_COUNT] = {
    [PRICE_KNOWN] = 277,    [PRICE_LETTERS] = 274,    [PRICE_LETTER] = 341,    [PRICE_HAN_ONE] = 279,
    [PRICE_HAN_TWO] = 305,  [PRICE_HAN_LONG] = 322,   [PRICE_SCRIPT] = 290,    [PRICE_MARKS] = 255,
    [PRICE_RARE_TWO] = 387, [PRICE_RARE_THREE] = 521, [PRICE_RARE_FOUR] = 399, [PRICE_DIGIT] = 277,
    [PRICE_BLANKS] = 280,   [PRICE_MANY] = 297,       [PRICE_NEWLINES] = 291,  [PRICE_NEWLINE] = 261,
    [PRICE_INVALID] = 277,
};

static void spend(struct token_estimate *e, enum price price, uint32_t count)
{
    e->total += (uint64_t)prices[price] * count;
}
#endif

enum run {
    RUN_NONE,
    RUN_WORD,  /* letters, with a character in front that is none */
    RUN_MARKS, /* punctuation, with a blank in front and newlines behind */
    RUN_BLANK, /* white space */
    RUN_DIGITS,
};

static uint64_t hash_step(uint64_t hash, uint32_t c)
{
    return (hash ^ c) * 0x9E3779B97F4A7C15u;
}

static bool is_known(uint64_t hash)
{
    hash = (hash ^ hash >> 29) * 0xBF58476D1CE4E5B9u;
    uint64_t bits =
        1ull << (hash >> 16 & 63) | 1ull << (hash >> 22 & 63) | 1ull << (hash >> 28 & 63) | 1ull << (hash >> 34 & 63);
    return (table[hash >> (64 - TABLE_BITS)] & bits) == bits;
}

/* Longer parts are rare, and each look into the table may be wrong. */
#define PART_MAX 12
#define HAN_MAX  4

static bool is_han(uint32_t c)
{
    return c >= 0x3040 && c <= 0x9FFF;
}

/* The price of a part of `length` characters that ends in `last`. */
static enum price price_of(const struct token_estimate *e, uint32_t length, uint32_t last)
{
    if (is_han(last))
        return length == 1 ? PRICE_HAN_ONE : length == 2 ? PRICE_HAN_TWO : PRICE_HAN_LONG;
    if (e->run == RUN_MARKS)
        return PRICE_MARKS;
    if (last >= 0x250)
        return PRICE_SCRIPT;
    return length == 1 ? PRICE_LETTER : PRICE_LETTERS;
}

/* The price of a character that is not in the table by itself. */
static enum price rare_price(uint32_t c)
{
    return c < 0x80 ? PRICE_LETTER : c < 0x800 ? PRICE_RARE_TWO : c < 0xFFFF ? PRICE_RARE_THREE : PRICE_RARE_FOUR;
}

/* Takes the longest known part off the front of the piece. */
static void take_part(struct token_estimate *e)
{
    uint32_t first = e->piece[0], limit = is_han(first) ? HAN_MAX : PART_MAX, best = 0;
    uint64_t hash = 0;
    for (uint32_t i = 0; i < e->length && i < limit; i++) {
        hash = hash_step(hash, e->piece[i]);
        if (is_known(hash))
            best = i + 1;
    }
    if (best == 0) {
        spend(e, rare_price(first), 1);
        best = 1;
    } else {
        enum price price = price_of(e, best, e->piece[best - 1]);
        spend(e, price, 1);
        if (price == PRICE_SCRIPT)
            e->spare += ONE / 2;
    }
    e->length -= best;
    memmove(e->piece, e->piece + best, e->length * sizeof e->piece[0]);
    e->started = true;
}

static void begin(struct token_estimate *e, enum run run)
{
    e->run = run;
    e->hash = 0;
    e->length = 0;
    e->started = false;
    e->newlines = e->tail = 0;
}

static void add_to_piece(struct token_estimate *e, uint32_t c)
{
    if (e->length == TOKEN_ESTIMATE_PIECE)
        take_part(e);
    e->piece[e->length++] = (uint16_t)(c < 0xFFFF ? c : 0xFFFF);
    e->hash = hash_step(e->hash, c);
    e->last = c;
}

static void end_piece(struct token_estimate *e)
{
    if (!e->started && e->length && is_known(e->hash)) {
        spend(e, PRICE_KNOWN, 1);
        return;
    }
    while (e->length)
        take_part(e);
}

/* Ends a run of white space of which the last `kept` characters belong to what follows. */
static void end_blanks(struct token_estimate *e, uint32_t kept)
{
    if (e->newlines) {
        spend(e, PRICE_NEWLINES, 1);
        if (e->newlines > 4)
            spend(e, PRICE_NEWLINE, e->newlines - 4);
    }
    uint32_t blanks = e->tail - kept;
    if (blanks) {
        spend(e, PRICE_BLANKS, 1);
        spend(e, PRICE_MANY, blanks / 80);
    }
    e->run = RUN_NONE;
}

static void end_run(struct token_estimate *e)
{
    switch ((enum run)e->run) {
    case RUN_NONE:
    case RUN_DIGITS:
        break;
    case RUN_WORD:
    case RUN_MARKS:
        end_piece(e);
        break;
    case RUN_BLANK:
        end_blanks(e, 0);
        break;
    }
    e->run = RUN_NONE;
}

static void add_letter(struct token_estimate *e, uint32_t c)
{
    if (e->run != RUN_WORD) {
        bool after_blank = e->run == RUN_BLANK && e->tail > 0;
        bool after_mark = e->run == RUN_MARKS && e->length == 1 && !e->started;
        uint32_t prefix = e->last;
        if (after_blank)
            end_blanks(e, 1);
        else if (!after_mark)
            end_run(e);
        begin(e, RUN_WORD);
        if (after_blank || after_mark)
            add_to_piece(e, prefix);
    }
    add_to_piece(e, c);
}

/* Before what takes no blank in front, the last one of several blanks is a piece of its own. */
static void split_blanks(struct token_estimate *e)
{
    if (e->run != RUN_BLANK || e->tail < 2)
        return;
    end_blanks(e, 1);
    spend(e, PRICE_BLANKS, 1);
}

static void add_digit(struct token_estimate *e, uint32_t c)
{
    split_blanks(e);
    if (e->run != RUN_DIGITS)
        end_run(e);
    if (c < 0x80) {
        spend(e, PRICE_DIGIT, 1);
        e->length = e->run == RUN_DIGITS ? e->length + 1 : 1;
        e->run = RUN_DIGITS;
        if (e->length % 3 != 1)
            e->spare += ONE;
    } else {
        begin(e, RUN_MARKS);
        add_to_piece(e, c);
        end_run(e);
    }
}

static void add_mark(struct token_estimate *e, uint32_t c)
{
    if (e->run != RUN_MARKS || e->newlines) {
        bool after_blank = e->run == RUN_BLANK && e->tail > 0 && e->last == ' ';
        if (after_blank)
            end_blanks(e, 1);
        else
            split_blanks(e);
        end_run(e);
        begin(e, RUN_MARKS);
        if (after_blank)
            add_to_piece(e, ' ');
    }
    add_to_piece(e, c);
}

static void add_newline(struct token_estimate *e, uint32_t c)
{
    if (e->run == RUN_MARKS) {
        add_to_piece(e, c);
    } else if (e->run != RUN_BLANK) {
        end_run(e);
        begin(e, RUN_BLANK);
    }
    e->newlines++;
    e->tail = 0;
    e->last = c;
}

static void add_blank(struct token_estimate *e, uint32_t c)
{
    if (e->run != RUN_BLANK) {
        end_run(e);
        begin(e, RUN_BLANK);
    }
    e->tail++;
    e->last = c;
}

enum kind { KIND_LETTER, KIND_DIGIT, KIND_BLANK, KIND_NEWLINE, KIND_MARK };

#define M KIND_MARK
#define D KIND_DIGIT
#define B KIND_BLANK
#define N KIND_NEWLINE
static const uint8_t ascii_kinds[128] = {
    M, M, M, M, M, M, M, M, M, B, N, B, B, N, M, M, M, M, M, M, M, M, M, M, M, M, M, M, M, M, M, M,
    B, M, M, M, M, M, M, M, M, M, M, M, M, M, M, M, D, D, D, D, D, D, D, D, D, D, M, M, M, M, M, M,
    M, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, M, M, M, M, M,
    M, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, M, M, M, M, M,
};
#undef M
#undef D
#undef B
#undef N

static enum kind kind_of(uint32_t c)
{
    if (c < 0x80)
        return (enum kind)ascii_kinds[c];
    if (c >= 0x4E00 && c <= 0xD7A3)
        return KIND_LETTER;
    switch (utf8proc_category((utf8proc_int32_t)c)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
        return KIND_LETTER;
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO:
        return KIND_DIGIT;
    case UTF8PROC_CATEGORY_ZS:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
        return KIND_BLANK;
    default: /* marks, punctuation, symbols, controls and what is not assigned */
        return c == 0x85 ? KIND_BLANK : KIND_MARK;
    }
}

static void add(struct token_estimate *e, uint32_t c)
{
    switch (kind_of(c)) {
    case KIND_LETTER:
        add_letter(e, c);
        break;
    case KIND_DIGIT:
        add_digit(e, c);
        break;
    case KIND_BLANK:
        add_blank(e, c);
        break;
    case KIND_NEWLINE:
        add_newline(e, c);
        break;
    case KIND_MARK:
        add_mark(e, c);
        break;
    }
}

/* A byte that begins no sequence, or a sequence cut short, which the model sees as a replacement character. */
static void add_invalid(struct token_estimate *e)
{
    end_run(e);
    spend(e, PRICE_INVALID, 1);
    e->missing = 0;
}

/* Decodes leniently: what is no UTF-8 costs, but need not be told apart exactly. */
static void add_wide_byte(struct token_estimate *e, unsigned char byte)
{
    if (e->missing > 0) {
        if ((byte & 0xC0) == 0x80) {
            e->code_point = e->code_point << 6 | (byte & 0x3Fu);
            if (--e->missing == 0)
                add(e, e->code_point);
            return;
        }
        add_invalid(e);
    }
    if (byte >= 0xC2 && byte <= 0xF4) {
        e->missing = byte < 0xE0 ? 1 : byte < 0xF0 ? 2 : 3;
        e->code_point = byte & (0x3Fu >> e->missing);
    } else {
        add_invalid(e);
    }
}

void token_estimate_init(struct token_estimate *estimate)
{
    memset(estimate, 0, sizeof *estimate);
}

/* Adds the ASCII letters at the start of `bytes` to the word under way, as far as there is room, and returns how many.
 */
static size_t add_letters(struct token_estimate *e, struct str bytes)
{
    uint64_t hash = e->hash;
    size_t room = TOKEN_ESTIMATE_PIECE - e->length, count = 0, limit = bytes.len < room ? bytes.len : room;
    for (; count < limit; count++) {
        unsigned char c = (unsigned char)bytes.data[count];
        if (c >= 0x80 || ascii_kinds[c] != KIND_LETTER)
            break;
        e->piece[e->length + count] = c;
        hash = hash_step(hash, c);
    }
    e->hash = hash;
    e->length += (uint32_t)count;
    return count;
}

void token_estimate_feed(struct token_estimate *estimate, struct str bytes)
{
    for (size_t i = 0; i < bytes.len; i++) {
        unsigned char byte = (unsigned char)bytes.data[i];
        if (byte >= 0x80) {
            add_wide_byte(estimate, byte);
            continue;
        }
        if (estimate->missing > 0)
            add_invalid(estimate);
        add(estimate, byte);
        if (estimate->run == RUN_WORD)
            i += add_letters(estimate, str_slice(bytes, i + 1, bytes.len));
    }
}

int64_t token_estimate_count(const struct token_estimate *estimate)
{
    struct token_estimate whole = *estimate;
    if (whole.missing > 0)
        add_invalid(&whole);
    end_run(&whole);
    return (int64_t)((whole.total + ONE - 1) / ONE);
}

/* How many bytes of `text` may follow what `estimate` has seen. The count of a longer prefix can be smaller by a token,
 * when a word becomes known with its last letters; that is near enough, and what is returned fits. */
static size_t fit_piece(const struct token_estimate *estimate, struct str text, int64_t tokens)
{
    size_t low = 0, high = text.len;
    while (low < high) {
        size_t middle = low + (high - low + 1) / 2;
        struct token_estimate tried = *estimate;
        token_estimate_feed(&tried, str_slice(text, 0, utf8_floor(text, middle)));
        if (token_estimate_count(&tried) <= tokens)
            low = middle;
        else
            high = middle - 1;
    }
    return utf8_floor(text, low);
}

size_t token_estimate_fit(struct str text, int64_t tokens)
{
    enum { CHUNK = 4096 };
    struct token_estimate estimate;
    token_estimate_init(&estimate);
    size_t done = 0;
    while (done < text.len) {
        size_t end = utf8_floor(text, done + CHUNK);
        struct token_estimate next = estimate;
        token_estimate_feed(&next, str_slice(text, done, end));
        if (token_estimate_count(&next) > tokens)
            return done + fit_piece(&estimate, str_slice(text, done, end), tokens);
        estimate = next;
        done = end;
    }
    return text.len;
}

int64_t token_estimate_least(const struct token_estimate *estimate)
{
    struct token_estimate whole = *estimate;
    end_run(&whole);
    return (int64_t)((whole.total - whole.spare) / ONE) * LEAST_PERCENT / 100;
}

int64_t token_estimate_text(struct str text)
{
    struct token_estimate estimate;
    token_estimate_init(&estimate);
    token_estimate_feed(&estimate, text);
    return token_estimate_count(&estimate);
}
