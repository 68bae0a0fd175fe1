/* Patterns as PCRE2 has to see them. Sets of characters are written out, the case of letters too, and what the three
 * libraries mean differently: flags in the middle of a group, quantifiers behind quantifiers, what a line and a word
 * is. What is left is common to all of them; what cannot be said is refused. */
#include <stdlib.h>
#include <string.h>

#include "core/utf8.h"
#include "text/tokenizer/splitter_syntax.h"
#include "text/tokenizer/unicode_class.h"

#define DEEPEST        100
#define PATTERN_MOST   (16 * 1024)
#define REWRITTEN_MOST (1024 * 1024)
#define SETS_MOST      256 /* each takes a millisecond */
#define REPEAT_MOST    65535
#define UNLIMITED      UINT32_MAX

struct flags {
    bool any_case; /* (?i) */
    bool dot_all;  /* the dot takes newlines: Oniguruma's (?m), (?s) elsewhere */
};

static enum status rewrite_group(struct pattern_reader *reader, struct flags flags, struct buf *out);

bool pattern_at_end(const struct pattern_reader *reader)
{
    return reader->at >= reader->text.len;
}

uint32_t pattern_peek(const struct pattern_reader *reader)
{
    size_t len;
    return pattern_at_end(reader) ? 0 : utf8_decode(str_slice(reader->text, reader->at, reader->text.len), &len);
}

uint32_t pattern_take(struct pattern_reader *reader)
{
    size_t len = 0;
    if (pattern_at_end(reader))
        return 0;
    uint32_t c = utf8_decode(str_slice(reader->text, reader->at, reader->text.len), &len);
    reader->at += len;
    return c;
}

bool pattern_take_if(struct pattern_reader *reader, uint32_t code_point)
{
    if (pattern_at_end(reader) || pattern_peek(reader) != code_point)
        return false;
    pattern_take(reader);
    return true;
}

bool pattern_take_text(struct pattern_reader *reader, const char *text)
{
    if (!str_starts_with(str_slice(reader->text, reader->at, reader->text.len), str_of(text)))
        return false;
    reader->at += strlen(text);
    return true;
}

enum status pattern_broken(struct pattern_reader *reader, const char *what)
{
    error_set(reader->error, STATUS_SYNTAX, "a pattern is no regular expression: %s: %.*s", what,
              STR_ARG(reader->text));
    error_at(reader->error, NULL, 1, (int)reader->at + 1);
    return STATUS_SYNTAX;
}

enum status pattern_refused(struct pattern_reader *reader, const char *what)
{
    size_t from = reader->at > 12 ? reader->at - 12 : 0;
    while (from > 0 && ((unsigned char)reader->text.data[from] & 0xC0) == 0x80)
        from--;
    struct str place = str_slice(reader->text, from, reader->at);
    error_set(reader->error, STATUS_UNSUPPORTED, "a pattern has what is not supported: %s, at the end of %.*s", what,
              STR_ARG(place));
    error_at(reader->error, NULL, 1, (int)reader->at + 1);
    return STATUS_UNSUPPORTED;
}

static void write_literal(uint32_t c, struct buf *out)
{
    buf_addf(out, "\\x{%x}", (unsigned)c);
}

/* Without regard to case. Oniguruma lets one character stand for two there ("ss" matches ß): refused. */
static enum status write_folded(struct pattern_reader *reader, uint32_t c, struct buf *out)
{
    static const char *const pairs[] = {"ss", "ff", "fi", "fl", "st"};
    uint32_t before = reader->folded;
    if (c >= 0x80) {
        if (pattern_has_case(c) || (unicode_class(c) & (UNICODE_M | UNICODE_LM)))
            return pattern_refused(reader, "this letter without regard to case");
        write_literal(c, out);
        return STATUS_OK;
    }
    char lower = ascii_lower((char)c);
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs && !reader->is_tiktoken; i++)
        if (before == (uint32_t)pairs[i][0] && lower == pairs[i][1])
            return pattern_refused(reader, "these two letters without regard to case");
    reader->folded = (uint32_t)lower;
    if (!ascii_is_alpha((char)c))
        write_literal(c, out);
    else
        buf_addf(out, "[%c%c%s]", lower, lower - 0x20, lower == 's' ? "\\x{17f}" : lower == 'k' ? "\\x{212a}" : "");
    return STATUS_OK;
}

static enum status write_set(struct pattern_reader *reader, const struct unicode_set *set, struct buf *out)
{
    if (reader->n_sets++ == SETS_MOST)
        return pattern_refused(reader, "as many classes of characters as this");
    unicode_set_write(set, out);
    return STATUS_OK;
}

static enum status write_item(struct pattern_reader *reader, struct pattern_item *item, struct flags flags,
                              struct buf *out)
{
    enum status status = STATUS_OK;
    if (item->set && flags.any_case && reader->is_tiktoken && !item->is_closed)
        status = pattern_refused(reader, "this property without regard to case");
    else if (item->set)
        status = write_set(reader, item->set, out);
    else if (flags.any_case)
        status = write_folded(reader, item->code_point, out);
    else
        write_literal(item->code_point, out);
    unicode_set_destroy(item->set);
    return status;
}

static void write_boundary(const struct pattern_reader *reader, bool inverse, struct buf *out)
{
    struct unicode_set *word = unicode_set_create();
    struct buf class;
    buf_init(&class, BUF_UNBOUNDED);
    pattern_add_word(reader, word);
    unicode_set_write(word, &class);
    buf_addf(out, inverse ? "(?:(?<=%s)(?=%s)|(?<!%s)(?!%s))" : "(?:(?<=%s)(?!%s)|(?<!%s)(?=%s))", class.data,
             class.data, class.data, class.data);
    buf_finish(&class);
    unicode_set_destroy(word);
}

/* Behind a backslash: what matches a place, or several characters. False where it is none of these. */
static bool rewrite_place(struct pattern_reader *reader, struct buf *out)
{
    if (pattern_take_if(reader, 'A'))
        buf_add_text(out, "\\A");
    else if (pattern_take_if(reader, 'z'))
        buf_add_text(out, "\\z");
    else if (pattern_take_if(reader, 'b'))
        write_boundary(reader, false, out);
    else if (pattern_take_if(reader, 'B'))
        write_boundary(reader, true, out);
    else if (reader->is_tiktoken)
        return false;
    else if (pattern_take_if(reader, 'Z'))
        buf_add_text(out, "\\Z");
    else if (pattern_take_if(reader, 'G'))
        buf_add_text(out, "\\G");
    else if (pattern_take_if(reader, 'N'))
        buf_add_text(out, "[^\\n]");
    else if (pattern_take_if(reader, 'O'))
        buf_add_text(out, "(?s:.)");
    else if (pattern_take_if(reader, 'R'))
        buf_add_text(out, "(?>\\r\\n|[\\n-\\r\\x{85}\\x{2028}\\x{2029}])");
    else
        return false;
    return true;
}

/* One of i, m, s behind "(?" or a hyphen. */
static bool set_flag(const struct pattern_reader *reader, uint32_t letter, bool on, struct flags *flags)
{
    if (letter == 'i')
        flags->any_case = on;
    else if (letter == (reader->is_tiktoken ? 's' : 'm'))
        flags->dot_all = on;
    else
        return false;
    return true;
}

/* Behind "(?" where flags follow: those of a group, or of all that is left of the group around it. In Oniguruma this
 * rest is a group of its own, alternatives and all. */
static enum status rewrite_flags(struct pattern_reader *reader, struct flags *flags, struct buf *out)
{
    bool on = true;
    for (;;) {
        uint32_t c = pattern_take(reader);
        if (c == '-' && on) {
            on = false;
        } else if (c == ':') {
            buf_add_text(out, "(?:");
            enum status status = rewrite_group(reader, *flags, out);
            buf_add_char(out, ')');
            return status != STATUS_OK || pattern_take_if(reader, ')')
                       ? status
                       : pattern_broken(reader, "a parenthesis is not closed");
        } else if (c == ')') {
            if (reader->is_tiktoken)
                return pattern_refused(reader, "flags that are not those of a group");
            buf_add_text(out, "(?:");
            enum status status = rewrite_group(reader, *flags, out);
            buf_add_char(out, ')');
            return status;
        } else if (!set_flag(reader, c, on, flags)) {
            return pattern_refused(reader, "this kind of group");
        }
    }
}

/* Behind the opening parenthesis. */
static enum status rewrite_parenthesis(struct pattern_reader *reader, struct flags flags, struct buf *out)
{
    static const char *const kinds[] = {"?:", "?=", "?!", "?>", "?<=", "?<!"};
    const char *kind = NULL;
    if (pattern_take_text(reader, "?#")) {
        while (!pattern_at_end(reader) && pattern_peek(reader) != ')')
            if (pattern_take(reader) == '\\')
                pattern_take(reader);
        return pattern_take_if(reader, ')') ? STATUS_OK : pattern_broken(reader, "a parenthesis is not closed");
    }
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds && !kind; i++)
        if (pattern_take_text(reader, kinds[i]))
            kind = kinds[i];
    if (!kind && pattern_take_if(reader, '?'))
        return rewrite_flags(reader, &flags, out);
    if (pattern_peek(reader) == '*')
        return pattern_refused(reader, "this kind of group");
    buf_add_char(out, '(');
    buf_add_text(out, kind ? kind : "?:");
    reader->folded = 0;
    enum status status = rewrite_group(reader, flags, out);
    if (status == STATUS_OK && !pattern_take_if(reader, ')'))
        status = pattern_broken(reader, "a parenthesis is not closed");
    buf_add_char(out, ')');
    reader->folded = 0;
    return status;
}

static enum status rewrite_class(struct pattern_reader *reader, struct flags flags, struct buf *out)
{
    struct unicode_set *set = unicode_set_create();
    enum status status = pattern_class(reader, flags.any_case, set);
    if (status == STATUS_OK)
        status = write_set(reader, set, out);
    unicode_set_destroy(set);
    return status;
}

static enum status rewrite_atom(struct pattern_reader *reader, struct flags flags, struct buf *out)
{
    struct pattern_item item = {0};
    uint32_t folded = reader->folded, c = pattern_take(reader);
    reader->folded = 0;
    switch (c) {
    case '(':
        return rewrite_parenthesis(reader, flags, out);
    case '[':
        return rewrite_class(reader, flags, out);
    case '.':
        buf_add_text(out, flags.dot_all ? "(?s:.)" : "[^\\n]");
        return STATUS_OK;
    case '^':
        buf_add_text(out, reader->is_tiktoken ? "\\A" : "(?m:^)");
        return STATUS_OK;
    case '$':
        buf_add_text(out, reader->is_tiktoken ? "\\z" : "(?m:$)");
        return STATUS_OK;
    case '*':
    case '+':
    case '?':
        return pattern_broken(reader, "nothing to repeat");
    case '\\':
        if (rewrite_place(reader, out))
            return STATUS_OK;
        enum status status = pattern_escape(reader, false, &item);
        if (status != STATUS_OK)
            return status;
        break;
    default:
        item.code_point = c;
        break;
    }
    reader->folded = folded;
    enum status status = write_item(reader, &item, flags, out);
    if (item.set || c >= 0x80)
        reader->folded = 0;
    return status;
}

/* {n}, {n,}, {n,m} or {,m}; false, nothing taken, where it is none of these. */
static bool take_interval(struct pattern_reader *reader, uint32_t *least, uint32_t *most)
{
    struct pattern_reader trial = *reader;
    uint32_t numbers[2] = {0, UNLIMITED};
    bool given[2] = {false, false}, comma = false;
    if (!pattern_take_if(&trial, '{'))
        return false;
    for (int i = 0; i < 2; i++) {
        for (uint32_t value = 0; pattern_peek(&trial) >= '0' && pattern_peek(&trial) <= '9'; given[i] = true) {
            value = value * 10 + (pattern_take(&trial) - '0');
            numbers[i] = value = value > REPEAT_MOST ? REPEAT_MOST + 1 : value;
        }
        if (i == 0 && !(comma = pattern_take_if(&trial, ',')))
            break;
    }
    if (!pattern_take_if(&trial, '}') || (!given[0] && !given[1]))
        return false;
    *least = numbers[0];
    *most = comma ? numbers[1] : numbers[0];
    *reader = trial;
    return true;
}

static void wrap(struct buf *atom)
{
    char *inside = buf_take(atom);
    buf_addf(atom, "(?:%s)", inside);
    free(inside);
}

/* One quantifier behind `atom`, with what makes it lazy or possessive; `*taken` tells whether there was one. */
static enum status rewrite_quantifier(struct pattern_reader *reader, struct buf *atom, bool *taken)
{
    uint32_t least, most, c = pattern_peek(reader);
    bool interval = take_interval(reader, &least, &most), simple = !interval && (c == '*' || c == '+' || c == '?');
    *taken = interval || simple;
    if (simple) {
        buf_add_char(atom, (char)pattern_take(reader));
    } else if (interval) {
        if (least > REPEAT_MOST || (most > REPEAT_MOST && most != UNLIMITED))
            return pattern_refused(reader, "a repetition as often as this");
        if (most < least)
            return pattern_refused(reader, "a repetition from more to less");
        if (most == UNLIMITED)
            buf_addf(atom, "{%u,}", (unsigned)least);
        else
            buf_addf(atom, "{%u,%u}", (unsigned)least, (unsigned)most);
    } else {
        return STATUS_OK;
    }
    /* In Oniguruma {n}? may be left out, and {n,m}+ is repeated. */
    bool fixed = interval && least == most;
    if (!(fixed && !reader->is_tiktoken) && pattern_take_if(reader, '?'))
        buf_add_char(atom, '?');
    else if ((simple || reader->is_tiktoken) && pattern_take_if(reader, '+'))
        buf_add_char(atom, '+');
    return STATUS_OK;
}

static enum status rewrite_repeated(struct pattern_reader *reader, struct flags flags, struct buf *out)
{
    struct buf atom;
    buf_init(&atom, BUF_UNBOUNDED);
    enum status status = rewrite_atom(reader, flags, &atom);
    bool more = status == STATUS_OK && atom.len > 0;
    for (unsigned count = 0; more && status == STATUS_OK; count++) {
        struct buf before;
        buf_init(&before, BUF_UNBOUNDED);
        buf_add(&before, buf_str(&atom));
        if (count)
            wrap(&before);
        status = rewrite_quantifier(reader, &before, &more);
        if (more && count && reader->is_tiktoken)
            status = pattern_refused(reader, "a quantifier behind another");
        if (more) {
            buf_reset(&atom);
            buf_add(&atom, buf_str(&before));
        }
        buf_finish(&before);
    }
    buf_add(out, buf_str(&atom));
    buf_finish(&atom);
    return status;
}

/* Alternatives up to a closing parenthesis, which is left, or the end. */
static enum status rewrite_group(struct pattern_reader *reader, struct flags flags, struct buf *out)
{
    enum status status = STATUS_OK;
    if (++reader->depth > DEEPEST)
        return pattern_refused(reader, "groups as deep as this");
    while (status == STATUS_OK && !pattern_at_end(reader) && pattern_peek(reader) != ')') {
        if (pattern_take_if(reader, '|')) {
            buf_add_char(out, '|');
            reader->folded = 0;
        } else {
            status = rewrite_repeated(reader, flags, out);
        }
        if (status == STATUS_OK && out->len > REWRITTEN_MOST)
            status = pattern_refused(reader, "a pattern as large as this");
    }
    reader->depth--;
    return status;
}

enum status splitter_rewrite(struct spec_pattern pattern, struct buf *out, struct error *error)
{
    struct pattern_reader reader = {.text = pattern.text, .is_tiktoken = pattern.is_tiktoken, .error = error};
    if (!utf8_is_valid(pattern.text))
        return error_set(error, STATUS_SYNTAX, "a pattern is not UTF-8");
    if (pattern.text.len > PATTERN_MOST)
        return error_set(error, STATUS_UNSUPPORTED, "a pattern of more than %d bytes", PATTERN_MOST);
    enum status status = rewrite_group(&reader, (struct flags){0}, out);
    if (status == STATUS_OK && !pattern_at_end(&reader))
        status = pattern_broken(&reader, "a parenthesis that nothing opens");
    return status;
}
