/* src/cli/tokens_decode.c: ids back to text. */
#include "cli/tokens_internal.h"

#include <stdio.h>

#include "core/mem.h"
#include "core/utf8.h"

/* Text of tokens; more than any model reads. */
#define MAX_DECODED_BYTES ((size_t)4 << 30)

struct place {
    int line, column; /* from 1; the column in bytes */
};

static struct place place_of(struct str text, size_t at)
{
    struct place place = {1, 1};
    for (size_t i = 0; i < at; i++) {
        place.line += text.data[i] == '\n';
        place.column = text.data[i] == '\n' ? 1 : place.column + 1;
    }
    return place;
}

static bool refuse(const struct tokens *tokens, const char *name, struct place place, struct str word,
                   const char *problem)
{
    cli_fail(tokens->cli, "%s:%d:%d: %.*s %s", name, place.line, place.column,
             STR_ARG(str_slice(word, 0, utf8_floor(word, 40))), problem);
    return false;
}

static bool is_separator(char c)
{
    return ascii_is_space(c) || c == ',' || c == '[' || c == ']';
}

static bool read_ids(const struct tokens *tokens, const char *name, struct str text, struct token_ids *ids)
{
    uint32_t vocabulary = tokenizer_vocabulary(tokens->tokenizer);
    for (size_t at = 0; at < text.len;) {
        size_t from = at;
        uint64_t id = 0;
        if (is_separator(text.data[at])) {
            at++;
            continue;
        }
        while (at < text.len && ascii_is_digit(text.data[at]) && id < UINT32_MAX)
            id = id * 10 + (uint64_t)(text.data[at++] - '0');
        bool number = at > from && (at == text.len || is_separator(text.data[at]));
        size_t end = at;
        while (end < text.len && !is_separator(text.data[end]))
            end++;
        struct str word = str_slice(text, from, end);
        if (!number && id < UINT32_MAX)
            return refuse(tokens, name, place_of(text, from), word, "is no id");
        if (id >= vocabulary) {
            char problem[80];
            snprintf(problem, sizeof problem, "is not in the vocabulary, whose last id is %u", vocabulary - 1);
            return refuse(tokens, name, place_of(text, from), word, problem);
        }
        ids->ids = mem_grow(ids->ids, ids->count, &ids->capacity, sizeof *ids->ids);
        ids->ids[ids->count++] = (uint32_t)id;
    }
    return true;
}

bool tokens_decode(struct tokens *tokens, const char *name, const char *shown, struct str text)
{
    struct token_ids ids;
    struct buf out;
    struct error error;
    token_ids_init(&ids);
    buf_init(&out, MAX_DECODED_BYTES);
    bool worked = read_ids(tokens, name, text, &ids);
    if (worked && tokenizer_decode(tokens->tokenizer, ids.ids, ids.count, tokens->flags, &out, &error) != STATUS_OK) {
        cli_fail(tokens->cli, "%s: %s", name, error.message);
        worked = false;
    }
    if (worked)
        tokens_show_text(tokens, shown, buf_str(&out), (int64_t)ids.count, NULL);
    buf_finish(&out);
    token_ids_finish(&ids);
    return worked;
}
