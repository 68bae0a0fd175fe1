/* DeepSeek V3's patterns: numbers by three, then Chinese and Japanese runs, then words, punctuation and white space.
 * Characters that are none of these, such as controls, are left between the matches. */
#include "text/tokenizer/splitter.h"
#include "text/tokenizer/splitter_hand_block.h"

#define WORD (HAND_LETTER | HAND_MARK)

size_t splitter_numbers_next(struct split_walk *walk, struct split_piece *pieces)
{
    hand_at text = (hand_at)walk->text.data, end = text + walk->text.len, at = text + walk->at;
    size_t count = 0;
    while (count < SPLITTER_BATCH && (at = hand_skip_others(at, end, HAND_NUMBER)) < end) {
        hand_at start = at;
        unsigned len;
        for (int i = 0; i < 3 && at < end && (hand_kind(at, &len) & HAND_NUMBER); i++)
            at += len;
        pieces[count++] = (struct split_piece){(uint32_t)(start - text), (uint32_t)(at - text)};
    }
    walk->at = (size_t)(at - text);
    return count;
}

/* [\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]: all of three bytes, whose order is that of the characters. */
HAND_INLINE bool is_cjk(hand_at at)
{
    if (at[0] < 0xE3 || at[0] > 0xE9)
        return false;
    uint32_t bytes = (uint32_t)at[0] << 16 | (uint32_t)at[1] << 8 | at[2];
    return bytes - 0xE4B880u <= 0xE9BEA5 - 0xE4B880 || bytes - 0xE38180u <= 0xE383BF - 0xE38180;
}

size_t splitter_deepseek_cjk_next(struct split_walk *walk, struct split_piece *pieces)
{
    hand_at text = (hand_at)walk->text.data, end = text + walk->text.len, at = text + walk->at;
    size_t count = 0;
    while (count < SPLITTER_BATCH) {
        while (at < end && !is_cjk(at))
            at++;
        if (at == end)
            break;
        hand_at start = at;
        while (at < end && is_cjk(at))
            at += 3;
        pieces[count++] = (struct split_piece){(uint32_t)(start - text), (uint32_t)(at - text)};
    }
    walk->at = (size_t)(at - text);
    return count;
}

/* Behind the piece at `at`, NULL where nothing matches. */
HAND_INLINE hand_at piece_at(hand_at at, hand_at end)
{
    unsigned len, kind = hand_kind(at, &len);
    hand_at behind = at + len;
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): what has a length has data */
    if ((kind & HAND_SYMBOL) && *at < 0x80 && behind < end && hand_is_ascii_letter(*behind))
        return hand_skip_ascii_letters(behind, end);
    if (!(kind & (HAND_NEWLINE | HAND_SYMBOL))) {
        hand_at start = kind & HAND_LETTER ? at : behind;
        hand_at found = hand_skip_ascii_letters(start, end);
        if (found < end && *found >= 0x80)
            found = hand_skip(found, end, WORD);
        if (found > start)
            return found;
        if (kind & HAND_MARK)
            return behind;
    }
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): the same */
    if ((kind & HAND_SYMBOL) || (*at == ' ' && (hand_kind_or_end(behind, end) & HAND_SYMBOL))) {
        hand_at p = hand_skip(behind, end, HAND_SYMBOL);
        while (p < end && (*p == '\r' || *p == '\n'))
            p++;
        return p;
    }
    return kind & HAND_SPACE ? hand_white_space(at, end, true, false) : NULL;
}

size_t splitter_deepseek_next(struct split_walk *walk, struct split_piece *pieces)
{
    hand_at text = (hand_at)walk->text.data, end = text + walk->text.len, at = text + walk->at;
    size_t count = 0;
    while (count < SPLITTER_BATCH && at < end) {
        hand_at found = piece_at(at, end);
        if (found) {
            pieces[count++] = (struct split_piece){(uint32_t)(at - text), (uint32_t)(found - text)};
            at = found;
        } else {
            unsigned len;
            (void)hand_kind(at, &len);
            at += len;
        }
    }
    walk->at = (size_t)(at - text);
    return count;
}

/* All three at once. The third sees numbers by themselves, of which it takes none, and of the rest the Chinese and
 * Japanese runs (`cjk`) and what lies between them, each as a text of its own; what ends such a text is of one kind. */
#define TAKEN HAND_NUMBER

HAND_INLINE unsigned joined_kind(hand_at at, bool cjk, unsigned *len)
{
    unsigned kind = hand_kind(at, len);
    return is_cjk(at) != cjk ? TAKEN : kind;
}

HAND_INLINE hand_at joined_skip(hand_at at, hand_at end, bool cjk, unsigned kinds)
{
    unsigned len;
    while (at < end && (joined_kind(at, cjk, &len) & kinds))
        at += len;
    return at;
}

/* Behind the ideographs that are of the Chinese and Japanese runs. */
HAND_INLINE hand_at skip_ideographs(hand_at at, hand_at end)
{
    while (at < end && *at >= 0x80 && hand_is_ideograph(at) && is_cjk(at))
        at += 3;
    return at;
}

HAND_INLINE bool is_taken_or_end(hand_at at, hand_at end, bool cjk)
{
    unsigned len;
    return at == end || (joined_kind(at, cjk, &len) & TAKEN);
}

HAND_INLINE hand_at joined_white_space(hand_at at, hand_at end, bool cjk)
{
    hand_at p = at, last = at, behind_newline = NULL;
    unsigned len, kind;
    while (p < end && ((kind = joined_kind(p, cjk, &len)) & HAND_SPACE)) {
        last = p;
        p += len;
        if (kind & HAND_NEWLINE)
            behind_newline = p;
    }
    if (behind_newline)
        return behind_newline;
    return last == at || is_taken_or_end(p, end, cjk) ? p : last;
}

/* As piece_at, of what is not taken. */
HAND_INLINE hand_at joined_piece_at(hand_at at, hand_at end, bool cjk, unsigned kind, hand_at behind)
{
    if ((kind & HAND_SYMBOL) && *at < 0x80 && behind < end && hand_is_ascii_letter(*behind))
        return hand_skip_ascii_letters(behind, end);
    if (!(kind & (HAND_NEWLINE | HAND_SYMBOL))) {
        hand_at start = kind & HAND_LETTER ? at : behind;
        hand_at found = cjk ? skip_ideographs(start, end) : hand_skip_ascii_letters(start, end);
        if (found < end && *found >= 0x80)
            found = joined_skip(found, end, cjk, WORD);
        if (found > start)
            return found;
        if (kind & HAND_MARK)
            return behind;
    }
    unsigned len;
    if ((kind & HAND_SYMBOL) || (*at == ' ' && behind < end && (joined_kind(behind, cjk, &len) & HAND_SYMBOL))) {
        hand_at p = joined_skip(behind, end, cjk, HAND_SYMBOL);
        while (!cjk && p < end && (*p == '\r' || *p == '\n'))
            p++;
        return p;
    }
    return kind & HAND_SPACE ? joined_white_space(at, end, cjk) : NULL;
}

HAND_INLINE hand_at number_at(hand_at at, hand_at end)
{
    unsigned len;
    for (int i = 0; i < 3 && at < end && (hand_kind(at, &len) & HAND_NUMBER); i++)
        at += len;
    return at;
}

/* Behind the piece at `at`. Characters that nothing takes are a piece together. */
HAND_INLINE hand_at joined_piece_or_rest(hand_at at, hand_at end)
{
    hand_at from = at;
    bool cjk = is_cjk(at);
    while (at < end) {
        unsigned len, kind = joined_kind(at, cjk, &len);
        if (kind & TAKEN)
            return at > from ? at : number_at(at, end);
        hand_at found = joined_piece_at(at, end, cjk, kind, at + len);
        if (found)
            return at > from ? at : found;
        at += len;
    }
    return at;
}

/* In ASCII: cl100k's, but for numbers and controls. */
static size_t joined_next(struct split_walk *walk, struct split_piece *pieces)
{
    static const struct hand_rules rules = {.digits = 3, .tail = true, .newlines = true, .apart = true};
    hand_at text = (hand_at)walk->text.data, end = text + walk->text.len, at = text + walk->at;
    size_t count = 0;
    while (count < SPLITTER_BATCH && at < end) {
        size_t found = 0;
        if (count <= SPLITTER_BATCH - HAND_BLOCK)
            found = hand_block_pieces(text, &at, end, pieces + count, rules);
        count += found;
        if (found)
            continue;
        hand_at behind = joined_piece_or_rest(at, end);
        pieces[count++] = (struct split_piece){(uint32_t)(at - text), (uint32_t)(behind - text)};
        at = behind;
    }
    walk->at = (size_t)(at - text);
    return count;
}

const struct splitter *splitter_join(const struct splitter *const *splitters, size_t n)
{
    static const struct splitter joined = {.next = joined_next, .covers_all = true};
    bool known = n == 3 && splitters[0]->next == splitter_numbers_next &&
                 splitters[1]->next == splitter_deepseek_cjk_next && splitters[2]->next == splitter_deepseek_next;
    return known ? &joined : NULL;
}
