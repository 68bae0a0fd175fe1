/* Splitters written by hand beside the same patterns on PCRE2: the first byte chooses the pattern, the rest is made
 * valid UTF-8 and split by both. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/utf8.h"
#include "text/tokenizer/splitter_internal.h"

#define PATTERNS_MOST 32

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct splitter *by_hand[PATTERNS_MOST], *by_pcre2[PATTERNS_MOST];

static void check(bool holds)
{
    if (!holds)
        abort();
}

static size_t create_all(void)
{
    const struct splitter_known *known;
    size_t count = 0;
    for (; (known = splitter_known_at(count)); count++) {
        struct spec_pattern pattern = {str_of(known->pattern), true, known->tiktoken_only};
        check(count < PATTERNS_MOST);
        check(splitter_create(pattern, SPLITTER_AUTO, &by_hand[count], NULL) == STATUS_OK);
        check(splitter_create(pattern, SPLITTER_PCRE2, &by_pcre2[count], NULL) == STATUS_OK);
    }
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
    size_t which = data[0] % patterns;
    compare(by_hand[which], by_pcre2[which], buf_str(&text));
    buf_finish(&text);
    return 0;
}
