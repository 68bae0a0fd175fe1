/* Splitters written by hand beside the same patterns on PCRE2: the first byte chooses the pattern, the rest is made
 * valid UTF-8 and split by both. One choice more is three patterns that follow each other and have a splitter together,
 * beside the three on PCRE2 one after the other. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/utf8.h"
#include "text/tokenizer/splitter_internal.h"

#define PATTERNS_MOST 32

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define JOINED 3

static struct splitter *by_hand[PATTERNS_MOST], *by_pcre2[PATTERNS_MOST];
static const struct splitter *joined, *one_by_one[JOINED]; /* one_by_one: on PCRE2 */

static void check(bool holds)
{
    if (!holds)
        abort();
}

static size_t create_all(void)
{
    const struct splitter_known *known;
    const struct splitter *parts[JOINED];
    size_t count = 0, n_parts = 0;
    for (; (known = splitter_known_at(count)); count++) {
        struct spec_pattern pattern = {str_of(known->pattern), true, known->tiktoken_only};
        check(count < PATTERNS_MOST);
        check(splitter_create(pattern, SPLITTER_AUTO, &by_hand[count], NULL) == STATUS_OK);
        check(splitter_create(pattern, SPLITTER_PCRE2, &by_pcre2[count], NULL) == STATUS_OK);
        if (known->covers_all || n_parts == JOINED)
            continue;
        parts[n_parts] = by_hand[count];
        one_by_one[n_parts++] = by_pcre2[count];
    }
    joined = splitter_join(parts, n_parts);
    check(joined);
    return count;
}

static void compare(const struct splitter *hand, const struct splitter *pcre2, struct str text)
{
    struct split_piece ours[SPLITTER_BATCH], theirs[SPLITTER_BATCH];
    struct split_walk hand_walk, pcre2_walk;
    size_t count, at = 0;
    split_walk_begin(&hand_walk, hand, text);
    split_walk_begin(&pcre2_walk, pcre2, text);
    do {
        count = split_walk_next(&hand_walk, ours);
        check(split_walk_next(&pcre2_walk, theirs) == count);
        check(memcmp(ours, theirs, count * sizeof *ours) == 0);
        for (size_t i = 0; i < count; at = ours[i++].to)
            check(splitter_covers_all(hand) ? ours[i].from == at : ours[i].from >= at);
    } while (count);
    check(!splitter_covers_all(hand) || at == text.len);
    split_walk_end(&hand_walk);
    split_walk_end(&pcre2_walk);
}

/* The pieces of the joined splitter, as far as they are compared. */
struct follower {
    struct split_walk walk;
    struct split_piece pieces[SPLITTER_BATCH];
    size_t count, next;
};

static void follow(struct follower *follower, size_t from, size_t to)
{
    if (follower->next == follower->count) {
        follower->count = split_walk_next(&follower->walk, follower->pieces);
        follower->next = 0;
        check(follower->count);
    }
    const struct split_piece *piece = &follower->pieces[follower->next++];
    check(piece->from == from && piece->to == to);
}

/* Cuts a text, which begins at `base` of the whole, by the patterns from `which` on, into matches and what lies between
 * them. */
static void cut(size_t which, struct str text, size_t base, struct follower *follower)
{
    if (!text.len)
        return;
    if (which == JOINED) {
        follow(follower, base, base + text.len);
        return;
    }
    struct split_piece matches[SPLITTER_BATCH];
    struct split_walk walk;
    size_t at = 0;
    split_walk_begin(&walk, one_by_one[which], text);
    for (size_t n; (n = split_walk_next(&walk, matches)) > 0;)
        for (size_t i = 0; i < n; at = matches[i++].to) {
            cut(which + 1, str_slice(text, at, matches[i].from), base + at, follower);
            cut(which + 1, str_slice(text, matches[i].from, matches[i].to), base + matches[i].from, follower);
        }
    split_walk_end(&walk);
    cut(which + 1, str_slice(text, at, text.len), base + at, follower);
}

static void compare_joined(struct str text)
{
    struct follower follower = {0};
    split_walk_begin(&follower.walk, joined, text);
    cut(0, text, 0, &follower);
    check(follower.next == follower.count);
    check(!split_walk_next(&follower.walk, follower.pieces));
    split_walk_end(&follower.walk);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static size_t patterns;
    if (!patterns)
        patterns = create_all();
    if (!size)
        return 0;
    struct buf text;
    buf_init(&text, BUF_UNBOUNDED);
    check(utf8_append_valid(&text, str_make((const char *)data + 1, size - 1)) == STATUS_OK);
    /* Alone in its memory, so that a sanitizer sees what is read behind it. */
    char *alone = malloc(text.len + !text.len);
    check(alone);
    if (text.len)
        memcpy(alone, text.data, text.len);
    struct str whole = str_make(alone, text.len);
    size_t which = data[0] % (patterns + 1);
    if (which < patterns)
        compare(by_hand[which], by_pcre2[which], whole);
    else
        compare_joined(whole);
    free(alone);
    buf_finish(&text);
    return 0;
}
