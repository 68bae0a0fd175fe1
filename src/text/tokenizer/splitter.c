#include "text/tokenizer/splitter.h"

#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "text/tokenizer/splitter_internal.h"

struct spec_pattern splitter_gpt2(void)
{
    return (struct spec_pattern){
        .text = STR("'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"),
        .is_regex = true,
    };
}

static size_t literal_next(struct split_walk *walk, struct split_piece *pieces)
{
    struct str needle = {walk->splitter->literal, walk->splitter->literal_len};
    size_t count = 0;
    while (count < SPLITTER_BATCH && needle.len && walk->at < walk->text.len) {
        size_t found = str_find(walk->text, needle, walk->at);
        walk->at = found == STR_NONE ? walk->text.len : found + needle.len;
        if (found != STR_NONE)
            pieces[count++] = (struct split_piece){(uint32_t)found, (uint32_t)walk->at};
    }
    return count;
}

enum status splitter_create(struct spec_pattern pattern, enum splitter_engine engine, struct splitter **out,
                            struct error *error)
{
    struct splitter *splitter = mem_zalloc(sizeof *splitter);
    const struct splitter_known *known = pattern.is_regex ? splitter_known_find(pattern) : NULL;
    enum status status = STATUS_OK;
    splitter->covers_all = known && known->covers_all;
    if (!pattern.is_regex) {
        splitter->next = literal_next;
        splitter->literal = str_dup(pattern.text);
        splitter->literal_len = pattern.text.len;
    } else if (known && engine == SPLITTER_AUTO) {
        splitter->next = known->next;
    } else {
        splitter->next = splitter_regex_next;
        status = splitter_regex_create(pattern, &splitter->regex, error);
    }
    if (status != STATUS_OK)
        splitter_destroy(splitter);
    else
        *out = splitter;
    return status;
}

void splitter_destroy(struct splitter *splitter)
{
    if (!splitter)
        return;
    splitter_regex_destroy(splitter->regex);
    free(splitter->literal);
    free(splitter);
}

bool splitter_covers_all(const struct splitter *splitter)
{
    return splitter->covers_all;
}

bool splitter_gave_up(const struct splitter *splitter)
{
    return splitter->regex && splitter_regex_gave_up(splitter->regex);
}

void split_walk_begin(struct split_walk *walk, const struct splitter *splitter, struct str text)
{
    *walk = (struct split_walk){.splitter = splitter, .text = text.data ? text : STR("")};
}

void split_walk_end(struct split_walk *walk)
{
    splitter_regex_end(walk->state);
    walk->state = NULL;
}

size_t split_walk_next(struct split_walk *walk, struct split_piece pieces[SPLITTER_BATCH])
{
    return walk->splitter->next(walk, pieces);
}
