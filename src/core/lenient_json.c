#include "core/lenient_json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/lenient_reader.h"
#include "core/mem.h"
#include "core/utf8.h"

bool lenient_fail(struct lenient_reader *reader, enum status status, size_t at, const char *message)
{
    if (reader->status == STATUS_OK) {
        reader->status = status;
        reader->error_at = at;
        reader->message = message;
    }
    return false;
}

static bool syntax(struct lenient_reader *reader, const char *message)
{
    return lenient_fail(reader, STATUS_SYNTAX, reader->i, message);
}

bool lenient_is_one_of(char c, const char *set)
{
    return c && strchr(set, c);
}

bool lenient_put(struct lenient_reader *reader, struct str s)
{
    if (buf_append_str(reader->out, s) == STATUS_OK)
        return true;
    return lenient_fail(reader, STATUS_TOO_BIG, reader->i, "the repaired text is too long");
}

/* ---- Blanks ---- */

/* The length of the white space at `i` that JSON5 knows beyond JSON's own: ECMAScript's WhiteSpace, LineTerminator. */
static size_t wide_blank(struct str text, size_t i)
{
    unsigned char c = (unsigned char)text.data[i];
    if (c == '\v' || c == '\f')
        return 1;
    if (c < 0x80)
        return 0;
    size_t length;
    uint32_t code = utf8_decode(str_slice(text, i, text.len), &length);
    bool blank = code == 0xA0 || code == 0xFEFF || code == 0x1680 || (code >= 0x2000 && code <= 0x200B) ||
                 code == 0x2028 || code == 0x2029 || code == 0x202F || code == 0x205F || code == 0x3000;
    return blank ? length : 0;
}

/* The end of the comment at `i`, or `i` when there is none (or one that never ends). */
static size_t comment_end(struct lenient_reader *reader, size_t i)
{
    struct str text = reader->text;
    bool line = text.data[i] == '#' || (text.data[i] == '/' && i + 1 < text.len && text.data[i + 1] == '/');
    while (line && i < text.len && text.data[i] != '\n' && text.data[i] != '\r')
        i++;
    if (line)
        return i;
    if (text.data[i] != '/' || i + 1 >= text.len || text.data[i + 1] != '*' || reader->no_comment_end)
        return i;
    size_t end = str_find(text, STR("*/"), i + 2);
    reader->no_comment_end = end == STR_NONE;
    return end == STR_NONE ? i : end + 2;
}

/* The next byte after white space and comments from `i` on, without moving the reader; text.len at the end. *unusual
 * (NULL allowed) becomes true when there was more than JSON's own white space. */
static size_t after_blank(struct lenient_reader *reader, size_t i, bool *unusual)
{
    struct str text = reader->text;
    while (i < text.len) {
        char c = text.data[i];
        if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
            i++;
            continue;
        }
        size_t next = i + wide_blank(text, i);
        if (next == i)
            next = comment_end(reader, i);
        if (next == i)
            break;
        if (unusual)
            *unusual = true;
        i = next;
    }
    return i;
}

static void skip_blank(struct lenient_reader *reader)
{
    bool unusual = false;
    reader->i = after_blank(reader, reader->i, &unusual);
    if (unusual)
        reader->repairs |= LENIENT_JSON5;
}

static bool at_end(const struct lenient_reader *reader)
{
    return reader->i >= reader->text.len;
}

static char peek(const struct lenient_reader *reader)
{
    return at_end(reader) ? '\0' : reader->text.data[reader->i];
}

/* Takes a separator, plain or full-width (U+FF1A, U+FF0C). */
static bool take_separator(struct lenient_reader *reader, char plain)
{
    struct str rest = str_slice(reader->text, reader->i, reader->text.len);
    struct str wide = plain == ':' ? STR("\xEF\xBC\x9A") : STR("\xEF\xBC\x8C");
    if (peek(reader) == plain && !at_end(reader)) {
        reader->i++;
        return true;
    }
    if (!str_starts_with(rest, wide))
        return false;
    reader->i += wide.len;
    reader->repairs |= LENIENT_SEPARATORS;
    return true;
}

/* ---- Words and numbers ---- */

static bool is_word_byte(char c)
{
    return ascii_is_alnum(c) || c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

static bool put_quoted(struct lenient_reader *reader, struct str s)
{
    return lenient_put(reader, STR("\"")) &&
           (json_escape(reader->out, s) == STATUS_OK ||
            lenient_fail(reader, STATUS_TOO_BIG, reader->i, "the repaired text is too long")) &&
           lenient_put(reader, STR("\""));
}

/* Whether a value may end before `i`. */
static bool is_value_end(struct str text, size_t i)
{
    if (i >= text.len)
        return true;
    char c = text.data[i];
    bool comment = c == '#' || (c == '/' && i + 1 < text.len && lenient_is_one_of(text.data[i + 1], "/*"));
    return lenient_is_one_of(c, " \t\n\r\v\f,]}):") || comment || wide_blank(text, i);
}

/* Digits with single underscores between them (Python) from `i` on. */
static size_t digits_end(struct str text, size_t i, bool *underscores)
{
    while (i < text.len && (ascii_is_digit(text.data[i]) || (text.data[i] == '_' && ascii_is_digit(text.data[i - 1]) &&
                                                             i + 1 < text.len && ascii_is_digit(text.data[i + 1])))) {
        *underscores |= text.data[i] == '_';
        i++;
    }
    return i;
}

static bool put_hexadecimal(struct lenient_reader *reader, size_t from, bool negative)
{
    uint64_t value = 0;
    size_t i = from, digits = 0;
    for (; i < reader->text.len; i++, digits++) {
        char c = ascii_lower(reader->text.data[i]);
        if (!ascii_is_digit(c) && (c < 'a' || c > 'f'))
            break;
        if (value > INT64_MAX / 16)
            return syntax(reader, "a hexadecimal number is too large");
        value = value * 16 + (uint64_t)(ascii_is_digit(c) ? c - '0' : c - 'a' + 10);
    }
    if (digits == 0 || !is_value_end(reader->text, i))
        return syntax(reader, "a hexadecimal number is malformed");
    if (i == reader->text.len && reader->depth > 0)
        return syntax(reader, "the text ends inside a number");
    char decimal[24];
    int length = snprintf(decimal, sizeof decimal, "%s%llu", negative ? "-" : "", (unsigned long long)value);
    reader->repairs |= LENIENT_JSON5;
    reader->i = i;
    return lenient_put(reader, str_make(decimal, (size_t)length));
}

/* Whether a number that ends at `i` is only the beginning of something longer: `4 * 3.14`, `5 kg`. */
static bool begins_expression(struct str text, size_t i)
{
    while (i < text.len && lenient_is_one_of(text.data[i], " \t"))
        i++;
    return i < text.len && (is_word_byte(text.data[i]) || lenient_is_one_of(text.data[i], "+-*/%^"));
}

/* Reads a number; sets *number to false, and takes nothing, when the text at the reader is something else. */
static bool read_number(struct lenient_reader *reader, bool *number)
{
    struct str text = reader->text;
    size_t start = reader->i, i = start;
    bool underscores = false, negative = text.data[i] == '-', plus = text.data[i] == '+';
    *number = true;
    if (negative || plus)
        i++;
    if (i + 1 < text.len && text.data[i] == '0' && ascii_lower(text.data[i + 1]) == 'x')
        return put_hexadecimal(reader, i + 2, negative);
    size_t whole = i;
    i = digits_end(text, i, &underscores);
    size_t whole_end = i, fraction = i, fraction_end = i;
    if (i < text.len && text.data[i] == '.') {
        fraction = i + 1;
        fraction_end = i = digits_end(text, fraction, &underscores);
    }
    bool any = whole_end > whole || fraction_end > fraction;
    size_t exponent = i;
    if (any && i < text.len && ascii_lower(text.data[i]) == 'e') {
        size_t sign = i + 1 < text.len && lenient_is_one_of(text.data[i + 1], "+-") ? 1 : 0;
        size_t end = digits_end(text, i + 1 + sign, &underscores);
        if (end > i + 1 + sign)
            i = end;
    }
    bool zeros = whole_end - whole > 1 && text.data[whole] == '0';
    if (!any || zeros || !is_value_end(text, i) || (reader->guess_quotes && begins_expression(text, i))) {
        *number = false;
        return true;
    }
    if (i == text.len && reader->depth > 0)
        return syntax(reader, "the text ends inside a number");
    bool missing_whole = whole_end == whole, missing_fraction = fraction > whole_end && fraction_end == fraction;
    if (plus || missing_whole || missing_fraction)
        reader->repairs |= LENIENT_JSON5;
    if (underscores)
        reader->repairs |= LENIENT_PYTHON;
    reader->i = i;
    bool ok = true;
    if (missing_whole)
        ok = lenient_put(reader, negative ? STR("-0") : STR("0"));
    else if (negative)
        ok = lenient_put(reader, STR("-"));
    for (size_t k = whole; ok && k < i; k++) {
        if (k == exponent && missing_fraction)
            ok = lenient_put(reader, STR("0"));
        if (ok && text.data[k] != '_')
            ok = lenient_put(reader, str_slice(text, k, k + 1));
    }
    return ok && (!missing_fraction || exponent != i || lenient_put(reader, STR("0")));
}

static const struct literal {
    const char *word, *json;
    uint32_t repair;
} literals[] = {
    {"true", "true", 0},
    {"false", "false", 0},
    {"null", "null", 0},
    {"True", "true", LENIENT_PYTHON},
    {"False", "false", LENIENT_PYTHON},
    {"None", "null", LENIENT_PYTHON},
    {"TRUE", "true", LENIENT_PYTHON},
    {"FALSE", "false", LENIENT_PYTHON},
    {"NULL", "null", LENIENT_PYTHON},
    {"undefined", "null", LENIENT_JSON5},
    {"NaN", "\"NaN\"", LENIENT_NON_FINITE},
    {"+NaN", "\"NaN\"", LENIENT_NON_FINITE},
    {"-NaN", "\"NaN\"", LENIENT_NON_FINITE},
    {"Infinity", "\"Infinity\"", LENIENT_NON_FINITE},
    {"+Infinity", "\"Infinity\"", LENIENT_NON_FINITE},
    {"-Infinity", "\"-Infinity\"", LENIENT_NON_FINITE},
};

/* Reads what is neither string, number nor container: a literal, or an unquoted string, which ends at a comma or
 * bracket and may not touch the end of the text. */
static bool read_word(struct lenient_reader *reader)
{
    struct str text = reader->text;
    size_t start = reader->i, i = start, parens = 0;
    for (; i < text.len; i++) {
        char c = text.data[i];
        if (c == '(')
            parens++;
        if (c == ')' && parens-- == 0)
            break;
        if (lenient_is_one_of(c, ",]}[{\"'`:\n\r") || !c || lenient_quote_length(text, i))
            break;
    }
    struct str word = str_trim(str_slice(text, start, i));
    for (size_t k = 0; k < sizeof literals / sizeof literals[0]; k++) {
        const struct literal *literal = &literals[k];
        struct str name = str_of(literal->word);
        if (!str_starts_with(word, name) || !is_value_end(text, start + name.len))
            continue;
        reader->repairs |= literal->repair;
        reader->i += name.len;
        return lenient_put(reader, str_of(literal->json));
    }
    bool sound = word.len > 0 && (is_word_byte(word.data[0]) || (lenient_is_one_of(word.data[0], "+-.") &&
                                                                 word.len > 1 && is_word_byte(word.data[1])));
    char next = after_blank(reader, i, NULL) < text.len ? text.data[after_blank(reader, i, NULL)] : '\0';
    if (!sound || reader->depth == 0 || i == text.len || (next != ',' && next != ']' && next != '}'))
        return syntax(reader, i == text.len ? "the text ends inside a value" : "expected a value");
    reader->repairs |= LENIENT_BARE_WORDS;
    reader->i = i;
    return put_quoted(reader, word);
}

/* A Python string prefix (r, b, u, f in any combination) before a quote: its length, 0 when there is none. */
static size_t string_prefix(const struct lenient_reader *reader, bool *raw, bool *format)
{
    size_t n = 0;
    for (; n < 2 && reader->i + n < reader->text.len; n++) {
        char c = ascii_lower(reader->text.data[reader->i + n]);
        if (!lenient_is_one_of(c, "rbuf"))
            break;
        *raw |= c == 'r';
        *format |= c == 'f';
    }
    bool quote = reader->i + n < reader->text.len && lenient_is_one_of(reader->text.data[reader->i + n], "'\"");
    return quote ? n : 0;
}

/* ---- Structure ---- */

static size_t *open_count(struct lenient_reader *reader, char close)
{
    return close == '}' ? &reader->open_braces : close == ']' ? &reader->open_brackets : &reader->open_parens;
}

static bool open_level(struct lenient_reader *reader, char close)
{
    if (reader->depth == LENIENT_MAX_DEPTH)
        return lenient_fail(reader, STATUS_TOO_BIG, reader->i, "nested too deeply");
    if (close == ')')
        reader->repairs |= LENIENT_PYTHON;
    reader->levels[reader->depth++] = (struct lenient_level){.close = close, .out_at = reader->out->len};
    (*open_count(reader, close))++;
    reader->i++;
    return lenient_put(reader, close == '}' ? STR("{") : STR("["));
}

static bool close_level(struct lenient_reader *reader)
{
    struct lenient_level *level = &reader->levels[reader->depth - 1];
    if (level->comma_last && level->close != ')')
        reader->repairs |= LENIENT_JSON5;
    reader->depth--;
    (*open_count(reader, level->close))--;
    if (level->close == ')' && level->count == 1 &&
        !level->comma_last) { /* parentheses around one value make no tuple */
        reader->out->data[level->out_at] = ' ';
        return true;
    }
    return lenient_put(reader, level->close == '}' ? STR("}") : STR("]"));
}

static bool starts_member_after_comma(struct lenient_reader *reader, size_t i);

/* Deals with a closing bracket. One that fits a level further out closes those within; one that fits none is dropped.
 * One that would end the whole object although another member follows closes those within alone. */
static bool take_close(struct lenient_reader *reader)
{
    char close = peek(reader);
    size_t target = reader->depth; /* levels that stay open */
    if (reader->levels[target - 1].value_next)
        return syntax(reader, "expected a value after the colon");
    if (*open_count(reader, close) > 0) {
        while (reader->levels[target - 1].close != close)
            target--;
        target--;
        if (target == 0 && close == '}' && starts_member_after_comma(reader, reader->i + 1))
            target = 1;
    }
    if (target + 1 != reader->depth || reader->levels[target].close != close)
        reader->repairs |= LENIENT_BRACKETS;
    reader->i++;
    while (reader->depth > target) {
        if (!close_level(reader))
            return false;
    }
    return true;
}

/* Whether a comma and a key with its colon stand at `i`. */
static bool starts_member_after_comma(struct lenient_reader *reader, size_t i)
{
    struct str text = reader->text;
    i = after_blank(reader, i, NULL);
    if (i >= text.len || text.data[i] != ',')
        return false;
    i = after_blank(reader, i + 1, NULL);
    if (i >= text.len || (text.data[i] != '"' && text.data[i] != '\''))
        return false;
    size_t end = i + 1, limit = i + 128 < text.len ? i + 128 : text.len;
    while (end < limit && (is_word_byte(text.data[end]) || lenient_is_one_of(text.data[end], " -.")))
        end++;
    if (end >= limit || text.data[end] != text.data[i])
        return false;
    end = after_blank(reader, end + 1, NULL);
    return end < text.len && text.data[end] == ':';
}

/* Begins a member: writes the comma that belongs before it. */
static bool begin_member(struct lenient_reader *reader)
{
    struct lenient_level *level = &reader->levels[reader->depth - 1];
    if (level->count > 0 && !level->comma_last) {
        if (!reader->guess_quotes)
            return syntax(reader, level->close == '}' ? "expected a comma or a closing brace"
                                                      : "expected a comma or a closing bracket");
        reader->repairs |= LENIENT_SEPARATORS;
    }
    bool first = level->count++ == 0;
    level->comma_last = false;
    return first || lenient_put(reader, STR(","));
}

/* The length of a \uXXXX at `i` that stands for one character, else 0. */
static size_t key_escape(struct str text, size_t i)
{
    if (text.len - i < 6 || text.data[i] != '\\' || text.data[i + 1] != 'u')
        return 0;
    for (size_t k = i + 2; k < i + 6; k++) {
        if (!ascii_is_digit(text.data[k]) && !lenient_is_one_of(ascii_lower(text.data[k]), "abcdef"))
            return 0;
    }
    bool surrogate = ascii_lower(text.data[i + 2]) == 'd' && !lenient_is_one_of(text.data[i + 3], "01234567");
    return surrogate ? 0 : 6;
}

/* The length of what may stand at `i` in an unquoted key, else 0. */
static size_t key_part(struct str text, size_t i)
{
    if (text.data[i] == '\\')
        return key_escape(text, i);
    bool wide_colon = str_starts_with(str_slice(text, i, text.len), STR("\xEF\xBC\x9A"));
    bool fits = is_word_byte(text.data[i]) || lenient_is_one_of(text.data[i], "-.");
    return fits && !wide_colon && !wide_blank(text, i) && !lenient_quote_length(text, i) ? 1 : 0;
}

static bool read_bare_key(struct lenient_reader *reader)
{
    struct str text = reader->text;
    size_t i = reader->i, part;
    while (i < text.len && (part = key_part(text, i)) > 0)
        i += part;
    struct str word = str_slice(text, reader->i, i);
    if (word.len == 0)
        return syntax(reader, "expected a key in quotes");
    reader->repairs |= LENIENT_JSON5;
    reader->i = i;
    return lenient_put(reader, STR("\"")) && lenient_put(reader, word) && lenient_put(reader, STR("\""));
}

static bool read_key(struct lenient_reader *reader)
{
    if (!begin_member(reader))
        return false;
    bool raw = false, format = false;
    size_t prefix = string_prefix(reader, &raw, &format);
    if (prefix) {
        reader->repairs |= LENIENT_PYTHON;
        reader->i += prefix;
    }
    bool ok = lenient_quote_length(reader->text, reader->i) ? lenient_read_string(reader, LENIENT_KEY, raw)
                                                            : read_bare_key(reader);
    if (!ok)
        return false;
    skip_blank(reader);
    if (!take_separator(reader, ':')) {
        struct str rest = str_slice(reader->text, reader->i, reader->text.len);
        size_t equals = str_starts_with(rest, STR("=>")) ? 2 : str_starts_with(rest, STR("=")) ? 1 : 0;
        bool value = rest.len > 0 && (lenient_is_one_of(rest.data[0], "{[") || lenient_quote_length(rest, 0));
        if (!reader->guess_quotes || (!equals && !value))
            return syntax(reader, "expected a colon after the key");
        reader->repairs |= LENIENT_SEPARATORS;
        reader->i += equals;
    }
    skip_blank(reader);
    while (reader->guess_quotes && take_separator(reader, ':')) {
        reader->repairs |= LENIENT_SEPARATORS;
        skip_blank(reader);
    }
    reader->levels[reader->depth - 1].value_next = true;
    return lenient_put(reader, STR(":"));
}

static bool read_value(struct lenient_reader *reader)
{
    enum lenient_place place = LENIENT_TOP;
    char c = peek(reader);
    if (reader->depth > 0) {
        struct lenient_level *level = &reader->levels[reader->depth - 1];
        place = level->close == '}' ? LENIENT_MEMBER : LENIENT_ELEMENT;
        if (place == LENIENT_ELEMENT && !begin_member(reader))
            return false;
        if (place == LENIENT_MEMBER && lenient_is_one_of(c, ","))
            return syntax(reader, "expected a value after the colon");
        level->value_next = false;
    }
    if (c == '{' || c == '[' || c == '(')
        return open_level(reader, c == '{' ? '}' : c == '[' ? ']' : ')');
    bool raw = false, format = false, number = false;
    size_t prefix = string_prefix(reader, &raw, &format);
    if (prefix) {
        reader->repairs |= LENIENT_PYTHON;
        reader->i += prefix;
        size_t from = reader->out->len;
        if (!lenient_read_string(reader, place, raw))
            return false;
        if (format && memchr(reader->out->data + from, '{', reader->out->len - from))
            return syntax(reader, "a formatted string needs values that are not here");
        return true;
    }
    if (lenient_quote_length(reader->text, reader->i))
        return lenient_read_string(reader, place, false);
    if (ascii_is_digit(c) || lenient_is_one_of(c, "+-.")) {
        if (!read_number(reader, &number))
            return false;
        if (number)
            return true;
    }
    return read_word(reader);
}

/* One quote that neither opens nor closes anything, right before a comma or bracket. */
static bool drop_stray_quote(struct lenient_reader *reader)
{
    size_t length = lenient_quote_length(reader->text, reader->i);
    struct lenient_level *level = &reader->levels[reader->depth - 1];
    if (!reader->guess_quotes || !length || level->count == 0 || level->comma_last || level->value_next)
        return false;
    size_t next = after_blank(reader, reader->i + length, NULL);
    if (next < reader->text.len && !lenient_is_one_of(reader->text.data[next], ",]}"))
        return false;
    reader->repairs |= LENIENT_QUOTES;
    reader->i += length;
    return true;
}

/* One step inside the innermost container: a closing bracket, a comma, or a member. */
static bool read_step(struct lenient_reader *reader)
{
    struct lenient_level *level = &reader->levels[reader->depth - 1];
    char c = peek(reader);
    if (c == ']' || c == '}' || c == ')')
        return take_close(reader);
    if (level->value_next)
        return read_value(reader);
    if (take_separator(reader, ',')) {
        if (level->comma_last || level->count == 0)
            reader->repairs |= LENIENT_SEPARATORS;
        level->comma_last = level->count > 0;
        return true;
    }
    if (drop_stray_quote(reader))
        return true;
    return level->close == '}' ? read_key(reader) : read_value(reader);
}

/* The text is over and containers are open: supplies their brackets where nothing else can be missing. */
static bool complete(struct lenient_reader *reader)
{
    reader->i = reader->text.len;
    if (reader->flags & LENIENT_NO_COMPLETION)
        return syntax(reader, "the text ends before its brackets are closed");
    for (size_t i = 0; i < reader->depth; i++) {
        if (reader->levels[i].value_next && i + 1 == reader->depth)
            return syntax(reader, "the text ends after a colon");
    }
    struct lenient_level *level = &reader->levels[reader->depth - 1];
    if (level->comma_last || level->count == 0)
        return syntax(reader, "the text ends where another member was to come");
    reader->repairs |= LENIENT_BRACKETS;
    while (reader->depth > 0) {
        if (!close_level(reader))
            return false;
    }
    return true;
}

static bool read_all(struct lenient_reader *reader)
{
    skip_blank(reader);
    if (at_end(reader))
        return syntax(reader, "there is no value");
    if (!read_value(reader))
        return false;
    while (reader->depth > 0) {
        skip_blank(reader);
        if (!(at_end(reader) ? complete(reader) : read_step(reader)))
            return false;
    }
    return true;
}

static enum status report(const struct lenient_reader *reader, struct error *error)
{
    int line = 1;
    size_t start = 0;
    for (size_t i = 0; i < reader->error_at && i < reader->text.len; i++) {
        if (reader->text.data[i] == '\n') {
            line++;
            start = i + 1;
        }
    }
    error_set(error, reader->status, "%s", reader->message);
    error_at(error, NULL, line, (int)(reader->error_at - start) + 1);
    return reader->status;
}

enum status lenient_json_repair(struct str text, unsigned flags, struct buf *out, struct lenient_result *result,
                                struct error *error)
{
    struct lenient_reader *reader = mem_zalloc(sizeof *reader);
    struct buf valid;
    size_t before = out->len;
    uint32_t utf8_repair = 0;
    buf_init(&valid, BUF_UNBOUNDED);
    if (!utf8_is_valid(
            text)) { /* `consumed` then counts in the text as it was replaced; nobody looks behind such text */
        if (utf8_append_valid(&valid, text) != STATUS_OK)
            abort();
        utf8_repair = LENIENT_INVALID_UTF8;
        text = buf_str(&valid);
    }
    bool ok = false;
    for (int pass = 0; pass < 2 && !ok; pass++) {
        enum status first_status = reader->status;
        size_t first_error_at = reader->error_at;
        const char *first_message = reader->message;
        reader->text = text;
        reader->i = reader->depth = reader->open_braces = reader->open_brackets = reader->open_parens = 0;
        reader->no_comment_end = false;
        reader->flags = flags;
        reader->guess_quotes = pass == 1;
        reader->out = out;
        reader->repairs = utf8_repair;
        reader->status = STATUS_OK;
        buf_truncate(out, before);
        ok = read_all(reader);
        if (!ok && pass == 1 && first_error_at >= reader->error_at) { /* the reading that came further tells more */
            reader->status = first_status;
            reader->error_at = first_error_at;
            reader->message = first_message;
        }
    }
    enum status status = STATUS_OK;
    if (ok) {
        *result = (struct lenient_result){.repairs = reader->repairs, .consumed = reader->i};
    } else {
        buf_truncate(out, before);
        status = report(reader, error);
    }
    buf_finish(&valid);
    free(reader);
    return status;
}

enum status lenient_json_parse(struct str text, unsigned flags, json_t **out, struct lenient_result *result,
                               struct error *error)
{
    struct buf strict;
    buf_init(&strict, text.len < SIZE_MAX / 16 ? 1024 + text.len * 6 : SIZE_MAX); /* \u00XX for a control character */
    enum status status = lenient_json_repair(text, flags, &strict, result, error);
    if (status == STATUS_OK)
        status = json_parse(buf_str(&strict), out, error);
    buf_finish(&strict);
    return status;
}
