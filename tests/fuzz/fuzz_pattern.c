/* Regular expressions of tokenizer files: whatever stands before the first NUL is refused or runs over what stands
 * behind it, and its matches lie in order. */
#include <stdint.h>
#include <stdlib.h>

#include "core/utf8.h"
#include "text/tokenizer/splitter.h"

#define PATTERN_MOST 64
#define TEXT_MOST    64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void run(const struct splitter *splitter, struct str text)
{
    struct split_piece pieces[SPLITTER_BATCH];
    struct split_walk walk;
    size_t count, at = 0;
    split_walk_begin(&walk, splitter, text);
    while ((count = split_walk_next(&walk, pieces)) > 0)
        for (size_t i = 0; i < count; at = pieces[i++].to)
            if (pieces[i].from < at || pieces[i].to < pieces[i].from || pieces[i].to > text.len)
                abort();
    split_walk_end(&walk);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str all = {(const char *)data, size};
    size_t end = str_find_char(all, '\0', 0);
    struct spec_pattern pattern = {
        .text = str_slice(all, 0, end < PATTERN_MOST ? end : PATTERN_MOST), .is_regex = true, .is_tiktoken = size % 2};
    struct splitter *splitter;
    struct error error;
    if (splitter_create(pattern, SPLITTER_AUTO, &splitter, &error) != STATUS_OK)
        return 0;
    struct buf text;
    buf_init(&text, BUF_UNBOUNDED);
    struct str rest = str_slice(all, end == STR_NONE ? 0 : end, size);
    if (utf8_append_valid(&text, str_slice(rest, 0, TEXT_MOST)) == STATUS_OK)
        run(splitter, buf_str(&text));
    buf_finish(&text);
    splitter_destroy(splitter);
    return 0;
}
