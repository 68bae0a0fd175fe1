/* Escapes and bracket expressions. A set of code points is worked out for each, so that nothing depends on what PCRE2
 * takes for a letter. */
#include <string.h>
#include <utf8proc.h>

#include "core/utf8.h"
#include "text/tokenizer/splitter_syntax.h"
#include "text/tokenizer/unicode_class.h"

#define NAME_MOST 64
#define DEEPEST   100

bool pattern_has_case(uint32_t code_point)
{
    utf8proc_int32_t c = (utf8proc_int32_t)code_point;
    return (unicode_class(code_point) & (UNICODE_LU | UNICODE_LL | UNICODE_LT)) || utf8proc_tolower(c) != c ||
           utf8proc_toupper(c) != c;
}

void pattern_add_word(const struct pattern_reader *reader, struct unicode_set *set)
{
    unicode_set_add_classes(set, reader->is_tiktoken ? UNICODE_WORD : UNICODE_ONIG_WORD);
    if (reader->is_tiktoken)
        return;
    /* Below U+0100 Oniguruma asks an older table, which has the numbers among these. */
    unicode_set_add(set, 0xB2, 0xB3);
    unicode_set_add(set, 0xB9, 0xB9);
    unicode_set_add(set, 0xBC, 0xBE);
}

/* Takes a name up to `last` and folds it: lower case, without spaces, hyphens and underscores. */
static bool take_name(struct pattern_reader *reader, uint32_t last, char name[NAME_MOST])
{
    size_t len = 0;
    while (!pattern_at_end(reader) && pattern_peek(reader) != last) {
        uint32_t c = pattern_take(reader);
        if (c >= 0x80 || len + 1 >= NAME_MOST)
            return false;
        if (c != ' ' && c != '-' && c != '_')
            name[len++] = ascii_lower((char)c);
    }
    name[len] = '\0';
    return pattern_take_if(reader, last);
}

/* Behind \p or \P. */
static enum status take_property(struct pattern_reader *reader, bool inverse, bool in_class, struct unicode_set *set,
                                 bool *is_closed)
{
    char name[NAME_MOST];
    bool word = false;
    if (pattern_take_if(reader, '{')) {
        if (pattern_take_if(reader, '^'))
            inverse = !inverse;
        if (!take_name(reader, '}', name))
            return pattern_refused(reader, "this property of characters");
    } else if (reader->is_tiktoken && pattern_peek(reader) < 0x80) {
        name[0] = ascii_lower((char)pattern_take(reader));
        name[1] = '\0';
    } else {
        return pattern_refused(reader, "\\p without braces");
    }
    *is_closed = !name[0] || !name[1];
    if (!reader->is_tiktoken && strcmp(name, "word") == 0) {
        word = true;
    } else if (!reader->is_tiktoken && strcmp(name, "punct") == 0) {
        unicode_set_add_classes(set, UNICODE_P);
    } else if (!pattern_add_category(name, set) && (reader->is_tiktoken || !pattern_add_posix(name, set))) {
        return pattern_refused(reader, "this property of characters");
    }
    if (word && in_class)
        unicode_set_add_classes(set, UNICODE_ONIG_WORD);
    else if (word)
        pattern_add_word(reader, set);
    if (inverse)
        unicode_set_invert(set);
    return STATUS_OK;
}

static int hex_value(uint32_t c)
{
    if (c >= '0' && c <= '9')
        return (int)(c - '0');
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? (int)(c - 'a' + 10) : -1;
}

/* As many digits as there are, `most` at most. */
static unsigned take_digits(struct pattern_reader *reader, unsigned base, unsigned most, uint32_t *value)
{
    unsigned count = 0;
    *value = 0;
    for (; count < most && !pattern_at_end(reader); count++) {
        int digit = hex_value(pattern_peek(reader));
        if (digit < 0 || (unsigned)digit >= base)
            break;
        *value = *value * base + (uint32_t)digit;
        pattern_take(reader);
    }
    return count;
}

/* Behind \x or \u. */
static enum status take_code_point(struct pattern_reader *reader, bool is_x, uint32_t *code_point)
{
    bool braced = pattern_take_if(reader, '{');
    unsigned digits = take_digits(reader, 16, braced ? 8 : is_x ? 2 : 4, code_point);
    if (digits == 0 || (braced && !pattern_take_if(reader, '}')) || (!is_x && !braced && digits != 4))
        return pattern_refused(reader, "this number of a character");
    if (*code_point > 0x10FFFF || (*code_point >= 0xD800 && *code_point < 0xE000))
        return pattern_broken(reader, "this is the number of no character");
    if (is_x && !braced && *code_point >= 0x80 && !reader->is_tiktoken)
        return pattern_refused(reader, "a byte that is no character");
    return STATUS_OK;
}

/* \s, \W and the like; false where `c` is none of them. */
static bool add_shorthand(const struct pattern_reader *reader, uint32_t c, bool in_class, struct unicode_set *set)
{
    switch (c | 0x20) {
    case 's':
        unicode_set_add_classes(set, UNICODE_SPACE);
        break;
    case 'd':
        unicode_set_add_classes(set, UNICODE_ND);
        break;
    case 'h':
        pattern_add_posix("xdigit", set);
        break;
    case 'w':
        if (in_class && !reader->is_tiktoken)
            unicode_set_add_classes(set, UNICODE_ONIG_WORD);
        else
            pattern_add_word(reader, set);
        break;
    default:
        return false;
    }
    if (!(c & 0x20))
        unicode_set_invert(set);
    return true;
}

/* The character that a letter behind a backslash stands for, -1 for none. */
static int control_of(uint32_t letter, bool in_class)
{
    switch (letter) {
    case 't':
        return '\t';
    case 'n':
        return '\n';
    case 'r':
        return '\r';
    case 'f':
        return '\f';
    case 'v':
        return '\v';
    case 'a':
        return '\a';
    case 'e':
        return 0x1B;
    case 'b':
        return in_class ? '\b' : -1;
    default:
        return -1;
    }
}

enum status pattern_escape(struct pattern_reader *reader, bool in_class, struct pattern_item *item)
{
    if (pattern_at_end(reader))
        return pattern_broken(reader, "nothing follows the backslash");
    uint32_t c = pattern_take(reader);
    enum status status = STATUS_OK;
    *item = (struct pattern_item){.set = unicode_set_create(), .is_closed = true};
    int control = control_of(c, in_class);
    if (c < 0x80 && ascii_is_alpha((char)c) && add_shorthand(reader, c, in_class, item->set))
        return STATUS_OK;
    if (c == 'p' || c == 'P') {
        status = take_property(reader, c == 'P', in_class, item->set, &item->is_closed);
        if (status == STATUS_OK)
            return STATUS_OK;
    } else if (control >= 0) {
        item->code_point = (uint32_t)control;
    } else if (c == 'x' || c == 'u') {
        status = take_code_point(reader, c == 'x', &item->code_point);
    } else if (c == '0' && !reader->is_tiktoken) {
        take_digits(reader, 8, 2, &item->code_point);
    } else if (c < 0x80 && ascii_is_alnum((char)c)) {
        status = pattern_refused(reader, ascii_is_digit((char)c) ? "a back reference" : "this escape");
    } else {
        item->code_point = c;
    }
    unicode_set_destroy(item->set);
    item->set = NULL;
    return status;
}

/* [:name:] behind its first bracket; false, nothing taken, where there is none. */
static enum status take_posix(struct pattern_reader *reader, struct unicode_set *set, bool *taken)
{
    char name[NAME_MOST];
    *taken = pattern_take_if(reader, ':');
    if (!*taken)
        return STATUS_OK;
    bool inverse = pattern_take_if(reader, '^');
    struct unicode_set *named = unicode_set_create();
    enum status status = STATUS_OK;
    if (reader->is_tiktoken || !take_name(reader, ':', name) || !pattern_take_if(reader, ']') ||
        !pattern_add_posix(name, named))
        status = pattern_refused(reader, "this class of characters");
    if (inverse)
        unicode_set_invert(named);
    unicode_set_add_set(set, named);
    unicode_set_destroy(named);
    return status;
}

static enum status take_nested(struct pattern_reader *reader, struct unicode_set *set)
{
    bool is_posix;
    enum status status = take_posix(reader, set, &is_posix);
    if (status != STATUS_OK || is_posix)
        return status;
    if (reader->depth >= DEEPEST)
        return pattern_refused(reader, "brackets as deep as this");
    struct unicode_set *inner = unicode_set_create();
    reader->depth++;
    status = pattern_class(reader, false, inner);
    reader->depth--;
    unicode_set_add_set(set, inner);
    unicode_set_destroy(inner);
    return status;
}

/* One character (the first of a range too) or a set. */
static enum status take_single(struct pattern_reader *reader, struct pattern_item *item)
{
    *item = (struct pattern_item){0};
    uint32_t c = pattern_take(reader);
    if (c == '\\')
        return pattern_escape(reader, true, item);
    item->code_point = c;
    return STATUS_OK;
}

/* Behind `from` and a hyphen that is no last character. */
static enum status take_range(struct pattern_reader *reader, uint32_t from, struct unicode_set *set)
{
    struct pattern_item last;
    if (pattern_peek(reader) == '[')
        return pattern_refused(reader, "a hyphen before a bracket");
    enum status status = take_single(reader, &last);
    if (status != STATUS_OK)
        return status;
    if (last.set) {
        unicode_set_destroy(last.set);
        return pattern_broken(reader, "a range ends in a set of characters");
    }
    if (last.code_point < from)
        return pattern_broken(reader, "a range ends before it begins");
    unicode_set_add(set, from, last.code_point);
    return STATUS_OK;
}

static enum status take_member(struct pattern_reader *reader, struct unicode_set *set)
{
    if (pattern_take_if(reader, '['))
        return take_nested(reader, set);
    struct pattern_item item;
    enum status status = take_single(reader, &item);
    if (status != STATUS_OK)
        return status;
    if (item.set) {
        unicode_set_add_set(set, item.set);
        unicode_set_destroy(item.set);
        return STATUS_OK;
    }
    struct pattern_reader hyphen = *reader;
    if (pattern_take_if(&hyphen, '-') && !pattern_at_end(&hyphen) && pattern_peek(&hyphen) != ']') {
        *reader = hyphen;
        return take_range(reader, item.code_point, set);
    }
    unicode_set_add(set, item.code_point, item.code_point);
    return STATUS_OK;
}

/* Adds the other case. What is beyond ASCII and has case is refused: such a class may match two characters for one. */
static enum status fold_class(struct pattern_reader *reader, struct unicode_set *set)
{
    for (uint32_t c = 0x7F; (c = unicode_set_next(set, c + 1)) < 0x110000;)
        if (pattern_has_case(c))
            return pattern_refused(reader, "a class without regard to case");
    for (uint32_t c = 'a'; c <= 'z'; c++)
        if (unicode_set_has(set, c) || unicode_set_has(set, c - 0x20)) {
            unicode_set_add(set, c, c);
            unicode_set_add(set, c - 0x20, c - 0x20);
        }
    if (unicode_set_has(set, 's'))
        unicode_set_add(set, 0x17F, 0x17F);
    if (unicode_set_has(set, 'k'))
        unicode_set_add(set, 0x212A, 0x212A);
    return STATUS_OK;
}

static enum status take_members(struct pattern_reader *reader, struct unicode_set *set)
{
    struct unicode_set *left = unicode_set_create(); /* of the last && */
    enum status status = STATUS_OK;
    bool first = true, intersects = false;
    for (; status == STATUS_OK && (first || pattern_peek(reader) != ']'); first = false) {
        if (pattern_at_end(reader)) {
            status = pattern_broken(reader, "a bracket is not closed");
        } else if (pattern_take_text(reader, "&&")) {
            if (intersects)
                unicode_set_keep(left, set);
            else
                unicode_set_add_set(left, set);
            unicode_set_clear(set);
            intersects = true;
        } else if (reader->is_tiktoken && (pattern_take_text(reader, "--") || pattern_take_text(reader, "~~"))) {
            status = pattern_refused(reader, "this operator of classes");
        } else {
            status = take_member(reader, set);
        }
    }
    pattern_take_if(reader, ']');
    if (intersects)
        unicode_set_keep(set, left);
    unicode_set_destroy(left);
    return status;
}

enum status pattern_class(struct pattern_reader *reader, bool any_case, struct unicode_set *set)
{
    bool inverse = pattern_take_if(reader, '^');
    enum status status = take_members(reader, set);
    if (status == STATUS_OK && any_case)
        status = fold_class(reader, set);
    if (inverse)
        unicode_set_invert(set);
    return status;
}
