#include "protocol/tag_scan.h"

#include <string.h>

static const struct str tags[] = {
    [TAG_THINK_OPEN] = {"<think>", 7},
    [TAG_THINK_CLOSE] = {"</think>", 8},
    [TAG_CALL_OPEN] = {"<tool_call>", 11},
    [TAG_CALL_CLOSE] = {"</tool_call>", 12},
    [TAG_CODE_OPEN] = {"<code>", 6},
    [TAG_CODE_CLOSE] = {"</code>", 7},
    [TAG_ANSWER_OPEN] = {"<answer>", 8},
    [TAG_ANSWER_CLOSE] = {"</answer>", 9},
    [TAG_RESPONSE_OPEN] = {"<tool_response>", 15},
};

struct str tag_text(enum tag tag)
{
    return tags[tag];
}

size_t tag_match(struct str s, enum tag *tag)
{
    *tag = TAG_NONE;
    size_t best = 1;
    if (s.len > 1 && !strchr("/tca", s.data[1]))
        return best;
    for (size_t t = TAG_THINK_OPEN; t <= TAG_RESPONSE_OPEN; t++) {
        size_t n = 1;
        while (n < s.len && n < tags[t].len && s.data[n] == tags[t].data[n])
            n++;
        if (n == tags[t].len)
            *tag = (enum tag)t;
        if (n > best)
            best = n;
    }
    return best;
}

static void lex_outside_string(struct call_lexer *lexer, char c)
{
    switch (c) {
    case ' ':
    case '\t':
    case '\n':
    case '\r':
        return;
    case '"':
        lexer->quote = c;
        break;
    case '\'': /* an apostrophe unless a value or key may begin here */
        if (lexer->last && strchr("{[(,:", lexer->last))
            lexer->quote = c;
        break;
    case '{':
    case '[':
    case '(':
        lexer->depth++;
        break;
    case '}':
    case ']':
    case ')':
        if (lexer->depth > 0 && --lexer->depth == 0)
            lexer->complete = true;
        break;
    default:
        break;
    }
    lexer->last = c;
}

void call_lexer_feed(struct call_lexer *lexer, struct str bytes)
{
    size_t i = 0;
    if (!lexer->begun) {
        while (i < bytes.len && ascii_is_space(bytes.data[i]))
            i++;
        if (i == bytes.len)
            return;
        lexer->begun = true;
        lexer->active = bytes.data[i] == '{' || bytes.data[i] == '[';
    }
    if (!lexer->active)
        return;
    for (; i < bytes.len && !lexer->complete; i++) {
        char c = bytes.data[i];
        if (!lexer->quote) {
            lex_outside_string(lexer, c);
        } else if (lexer->escape) {
            lexer->escape = false;
        } else if (c == '\\') {
            lexer->escape = true;
        } else if (c == lexer->quote) {
            lexer->quote = 0;
            lexer->last = c;
        }
    }
}

bool call_text_is_meant(struct str text)
{
    text = str_trim(text);
    if (text.len == 0)
        return false;
    if (strchr("{[<`", text.data[0]))
        return true;
    size_t name = 0;
    while (name < text.len && (ascii_is_alnum(text.data[name]) || strchr("_-.", text.data[name])))
        name++;
    struct str rest = str_trim(str_slice(text, name, text.len));
    return name > 0 && rest.len > 0 && (rest.data[0] == '{' || str_starts_with(rest, STR("<arg_key>")));
}
