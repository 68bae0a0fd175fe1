#include "protocol/python_strings.h"

#include <stdlib.h>
#include <string.h>

#include "core/buf.h"
#include "core/mem.h"
#include "core/utf8.h"

struct variable {
    struct str name; /* in the source */
    struct buf value;
    const char *problem; /* static; NULL when the value is known */
    size_t problem_at;
};

struct python_strings {
    struct buf source; /* with newlines as Python sees them */
    struct variable *variables;
    size_t count, capacity;
};

/* Reading position, and what went wrong in the expression that is being read. */
struct reader {
    struct python_strings *strings;
    struct str source;
    size_t at;
    const char *problem;
    size_t problem_at;
};

static char peek(const struct reader *reader, size_t ahead)
{
    size_t at = reader->at + ahead;
    return at < reader->source.len ? reader->source.data[at] : '\0';
}

static bool at_end(const struct reader *reader)
{
    return reader->at >= reader->source.len;
}

static bool fail(struct reader *reader, const char *problem)
{
    reader->problem = problem;
    reader->problem_at = reader->at;
    return false;
}

static bool is_name_start(char c)
{
    return ascii_is_alpha(c) || c == '_' || (unsigned char)c >= 0x80;
}

static struct str read_name(struct reader *reader)
{
    size_t start = reader->at;
    while (is_name_start(peek(reader, 0)) || (reader->at > start && ascii_is_digit(peek(reader, 0))))
        reader->at++;
    return str_slice(reader->source, start, reader->at);
}

/* Skips blanks, comments and continuations; newlines too when `inside` parentheses. */
static void skip_blanks(struct reader *reader, bool inside)
{
    while (!at_end(reader)) {
        char c = peek(reader, 0);
        if (c == ' ' || c == '\t' || c == '\f' || (c == '\n' && inside)) {
            reader->at++;
        } else if (c == '\\' && peek(reader, 1) == '\n') {
            reader->at += 2;
        } else if (c == '#') {
            while (!at_end(reader) && peek(reader, 0) != '\n')
                reader->at++;
        } else {
            return;
        }
    }
}

/* Length of a literal's prefix and quotes when one begins here, else 0. */
static size_t literal_start(const struct reader *reader, bool *raw, bool *formatted, bool *bytes, size_t *quotes)
{
    size_t length = 0;
    *raw = *formatted = *bytes = false;
    *quotes = 0;
    for (; length < 2 && strchr("rRbBuUfF", peek(reader, length)) && peek(reader, length); length++) {
        char c = ascii_lower(peek(reader, length));
        *raw |= c == 'r';
        *formatted |= c == 'f';
        *bytes |= c == 'b';
    }
    char quote = peek(reader, length);
    if (quote != '"' && quote != '\'')
        return 0;
    *quotes = peek(reader, length + 1) == quote && peek(reader, length + 2) == quote ? 3 : 1;
    return length + *quotes;
}

/* Reads `digits` hexadecimal digits; false when there are fewer. */
static bool read_hex(const struct reader *reader, size_t ahead, size_t digits, uint32_t *value)
{
    *value = 0;
    for (size_t i = 0; i < digits; i++) {
        char c = ascii_lower(peek(reader, ahead + i));
        if (!ascii_is_digit(c) && !(c >= 'a' && c <= 'f'))
            return false;
        *value = *value * 16 + (uint32_t)(ascii_is_digit(c) ? c - '0' : c - 'a' + 10);
    }
    return true;
}

static bool add_code_point(struct reader *reader, struct buf *out, uint32_t value, size_t length)
{
    if (value > 0x10FFFF)
        return fail(reader, "an escape is beyond Unicode");
    if (value >= 0xD800 && value <= 0xDFFF)
        return fail(reader, "an escape is a lone surrogate, which no text file can hold");
    char encoded[4];
    buf_add(out, str_make(encoded, utf8_encode(value, encoded)));
    reader->at += length;
    return true;
}

/* Reads the escape that begins here with a backslash. */
static bool read_escape(struct reader *reader, struct buf *out)
{
    static const char letters[] = "\\'\"abfnrtv", values[] = "\\'\"\a\b\f\n\r\t\v";
    char c = peek(reader, 1);
    const char *letter = c ? strchr(letters, c) : NULL;
    uint32_t value = 0;
    if (letter)
        return add_code_point(reader, out, (uint32_t)values[letter - letters], 2);
    if (c == '\n') {
        reader->at += 2;
        return true;
    }
    if (c >= '0' && c <= '7') {
        size_t digits = 0;
        for (; digits < 3 && peek(reader, 1 + digits) >= '0' && peek(reader, 1 + digits) <= '7'; digits++)
            value = value * 8 + (uint32_t)(peek(reader, 1 + digits) - '0');
        return add_code_point(reader, out, value, 1 + digits);
    }
    size_t digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    if (digits)
        return read_hex(reader, 2, digits, &value) ? add_code_point(reader, out, value, 2 + digits)
                                                   : fail(reader, "an escape lacks hexadecimal digits");
    if (c == 'N')
        return fail(reader, "characters named with \\N{…} are not understood here");
    buf_add_char(out, '\\'); /* an unknown escape stands for itself */
    reader->at++;
    return true;
}

/* Reads one literal into `out` (NULL: only passes over it). */
static bool read_literal(struct reader *reader, struct buf *out)
{
    bool raw, formatted, bytes;
    size_t quotes, opening = literal_start(reader, &raw, &formatted, &bytes, &quotes);
    if (out && (formatted || bytes))
        return fail(reader, formatted ? "an f-string is not a constant" : "bytes are not text");
    reader->at += opening;
    char quote = reader->source.data[reader->at - 1];
    while (!at_end(reader)) {
        char c = peek(reader, 0);
        if (c == quote && (quotes == 1 || (peek(reader, 1) == quote && peek(reader, 2) == quote))) {
            reader->at += quotes;
            return true;
        }
        if (c == '\n' && quotes == 1)
            break;
        if (c == '\\' && (raw || !out)) {
            size_t length = reader->at + 1 < reader->source.len ? 2 : 1;
            if (out)
                buf_add(out, str_slice(reader->source, reader->at, reader->at + length));
            reader->at += length;
        } else if (c == '\\') {
            if (!read_escape(reader, out))
                return false;
        } else {
            if (out)
                buf_add_char(out, c);
            reader->at++;
        }
    }
    return fail(reader, "a string is not closed");
}

static struct variable *find(const struct python_strings *strings, struct str name)
{
    for (size_t i = 0; i < strings->count; i++) {
        if (str_equal(strings->variables[i].name, name))
            return &strings->variables[i];
    }
    return NULL;
}

#define MAX_DEPTH 100

static bool read_sum(struct reader *reader, struct buf *out, int depth);

/* A parenthesis, a name, or literals side by side. */
static bool read_atom(struct reader *reader, struct buf *out, int depth)
{
    bool raw, formatted, bytes;
    size_t quotes;
    if (depth > MAX_DEPTH)
        return fail(reader, "parentheses are nested too deep");
    if (peek(reader, 0) == '(') {
        reader->at++;
        if (!read_sum(reader, out, depth + 1))
            return false;
        if (peek(reader, 0) != ')')
            return fail(reader, "the value is not made of constant strings alone");
        reader->at++;
        return true;
    }
    if (literal_start(reader, &raw, &formatted, &bytes, &quotes)) {
        do {
            if (!read_literal(reader, out))
                return false;
            skip_blanks(reader, depth > 0);
        } while (literal_start(reader, &raw, &formatted, &bytes, &quotes));
        return true;
    }
    size_t start = reader->at;
    const struct variable *variable = find(reader->strings, read_name(reader));
    if (variable && !variable->problem) {
        buf_add(out, buf_str(&variable->value));
        return true;
    }
    reader->at = start;
    return fail(reader, "the value is not made of constant strings alone");
}

static bool read_sum(struct reader *reader, struct buf *out, int depth)
{
    for (;;) {
        skip_blanks(reader, depth > 0);
        if (!read_atom(reader, out, depth))
            return false;
        skip_blanks(reader, depth > 0);
        if (peek(reader, 0) != '+')
            return true;
        reader->at++;
    }
}

/* Passes over the rest of the logical line. False when what follows cannot be told apart any more. */
static bool skip_statement(struct reader *reader)
{
    bool raw, formatted, bytes;
    size_t quotes, depth = 0;
    while (!at_end(reader)) {
        skip_blanks(reader, depth > 0);
        char c = peek(reader, 0);
        if (at_end(reader))
            break;
        if (literal_start(reader, &raw, &formatted, &bytes, &quotes)) {
            if (!read_literal(reader, NULL))
                return false;
        } else if (is_name_start(c)) {
            read_name(reader);
        } else {
            depth += c == '(' || c == '[' || c == '{';
            depth -= (c == ')' || c == ']' || c == '}') && depth > 0;
            reader->at++;
            if (c == '\n')
                return true;
        }
    }
    return true;
}

static struct variable *variable_of(struct python_strings *strings, struct str name)
{
    struct variable *variable = find(strings, name);
    if (variable)
        return variable;
    strings->variables = mem_grow(strings->variables, strings->count, &strings->capacity, sizeof *strings->variables);
    variable = &strings->variables[strings->count++];
    *variable = (struct variable){.name = name};
    buf_init(&variable->value, BUF_UNBOUNDED);
    return variable;
}

/* What stands between a name and its value: sets `add` for +=. False when this is no assignment. */
static bool read_assignment(struct reader *reader, bool *add)
{
    skip_blanks(reader, false);
    if (peek(reader, 0) == ':') { /* an annotation, up to the equals sign */
        while (!at_end(reader) && peek(reader, 0) != '=' && peek(reader, 0) != '\n')
            reader->at++;
    }
    *add = peek(reader, 0) == '+' && peek(reader, 1) == '=';
    if (*add)
        reader->at++;
    if (peek(reader, 0) != '=' || peek(reader, 1) == '=')
        return false;
    reader->at++;
    return true;
}

/* Reads a statement that begins in the first column; an assignment to a name is remembered. */
static bool read_statement(struct reader *reader)
{
    bool add;
    size_t start = reader->at;
    struct str name = read_name(reader);
    if (name.len == 0 || !read_assignment(reader, &add)) {
        reader->at = start;
        return skip_statement(reader);
    }
    struct buf value;
    buf_init(&value, BUF_UNBOUNDED);
    struct variable *variable = variable_of(reader->strings, name);
    if (add && !variable->problem)
        buf_add(&value, buf_str(&variable->value));
    size_t value_at = reader->at;
    bool good = read_sum(reader, &value, 0);
    if (good && !at_end(reader) && peek(reader, 0) != '\n' && peek(reader, 0) != ';')
        good = fail(reader, "the value is not made of constant strings alone");
    /* Names in the value were looked up; none was added, so `variable` has not moved. */
    if (good) {
        buf_finish(&variable->value);
        variable->value = value;
        if (!add)
            variable->problem = NULL;
        return skip_statement(reader);
    }
    buf_finish(&value);
    variable->problem = reader->problem;
    variable->problem_at = reader->problem_at;
    reader->at = value_at;
    return skip_statement(reader);
}

static void normalize_newlines(struct str source, struct buf *out)
{
    for (size_t i = 0; i < source.len; i++) {
        bool pair = source.data[i] == '\r' && i + 1 < source.len && source.data[i + 1] == '\n';
        if (!pair)
            buf_add_char(out, source.data[i] == '\r' ? '\n' : source.data[i]);
    }
}

enum status python_strings_read(struct str source, struct python_strings **out, struct error *error)
{
    size_t valid = utf8_valid_prefix(source);
    if (valid < source.len)
        return error_set(error, STATUS_SYNTAX, "not UTF-8 at byte %zu", valid);
    if (str_starts_with(source, STR("\xEF\xBB\xBF")))
        source = str_slice(source, 3, source.len);
    struct python_strings *strings = mem_zalloc(sizeof *strings);
    buf_init(&strings->source, BUF_UNBOUNDED);
    normalize_newlines(source, &strings->source);
    struct reader reader = {.strings = strings, .source = buf_str(&strings->source)};
    bool good = true;
    while (good && !at_end(&reader)) {
        bool first_column = reader.at == 0 || reader.source.data[reader.at - 1] == '\n';
        good = first_column && is_name_start(peek(&reader, 0)) ? read_statement(&reader) : skip_statement(&reader);
    }
    *out = strings;
    return STATUS_OK;
}

void python_strings_destroy(struct python_strings *strings)
{
    if (!strings)
        return;
    for (size_t i = 0; i < strings->count; i++)
        buf_finish(&strings->variables[i].value);
    free(strings->variables);
    buf_finish(&strings->source);
    free(strings);
}

enum status python_strings_get(const struct python_strings *strings, const char *name, struct str *value,
                               struct error *error)
{
    const struct variable *variable = find(strings, str_of(name));
    if (!variable)
        return error_set(error, STATUS_NOT_FOUND, "no top-level assignment to %s", name);
    if (!variable->problem) {
        *value = buf_str(&variable->value);
        return STATUS_OK;
    }
    int line = 1, column = 1;
    for (size_t i = 0; i < variable->problem_at; i++) {
        bool newline = strings->source.data[i] == '\n';
        line += newline;
        column = newline ? 1 : column + 1;
    }
    error_set(error, STATUS_UNSUPPORTED, "%s: %s", name, variable->problem);
    error_at(error, NULL, line, column);
    return STATUS_UNSUPPORTED;
}
