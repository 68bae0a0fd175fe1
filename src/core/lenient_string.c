#include <stdlib.h>
#include <string.h>

#include "core/lenient_reader.h"
#include "core/utf8.h"

/* How far ahead a quote is compared with what may follow a string. Bounds the work for each quote. */
#define LOOK_AHEAD 256

/* The typographic marks that models put for quotes, by what they stand for. */
static const struct {
    const char *mark;
    char plain;
} marks[] = {
    {"\xE2\x80\x9C", '"'},  {"\xE2\x80\x9D", '"'},  {"\xE2\x80\x9E", '"'},  {"\xE2\x80\x9F", '"'},
    {"\xE2\x80\x98", '\''}, {"\xE2\x80\x99", '\''}, {"\xE2\x80\x9A", '\''}, {"\xE2\x80\x9B", '\''},
    {"\xC2\xAB", '"'},      {"\xC2\xBB", '"'},      {"\xEF\xBC\x82", '"'},
};

/* The plain quote that the mark at `i` stands for and its length; 0 when there is none. */
static char quote_at(struct str text, size_t i, size_t *length)
{
    *length = 0;
    if (i >= text.len)
        return 0;
    char c = text.data[i];
    if (c == '"' || c == '\'' || c == '`') {
        *length = 1;
        return c;
    }
    if ((unsigned char)c < 0x80)
        return 0;
    for (size_t k = 0; k < sizeof marks / sizeof marks[0]; k++) {
        size_t n = strlen(marks[k].mark);
        if (text.len - i >= n && memcmp(text.data + i, marks[k].mark, n) == 0) {
            *length = n;
            return marks[k].plain;
        }
    }
    return 0;
}

size_t lenient_quote_length(struct str text, size_t i)
{
    size_t length;
    quote_at(text, i, &length);
    return length;
}

/* A string while it is read. */
struct quoted {
    enum lenient_place place;
    char quote;       /* the plain form of the opening mark */
    bool typographic; /* a mark of either form closes it */
    bool triple, raw;
    size_t start; /* of its first byte */
    size_t comma; /* the last comma with nothing but blanks behind it, or STR_NONE */
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static size_t skip_plain_blank(struct str text, size_t i)
{
    while (i < text.len && is_blank(text.data[i]))
        i++;
    return i;
}

/* The end of the quoted text whose opening quote is at `i`, found without judging, or STR_NONE within `most` bytes. */
static size_t plain_string_end(struct str text, size_t i, size_t most)
{
    size_t limit = text.len - i > most ? i + most : text.len;
    char quote = text.data[i];
    for (size_t k = i + 1; k < limit; k++) {
        if (text.data[k] == '\\')
            k++;
        else if (text.data[k] == quote)
            return k + 1;
    }
    return STR_NONE;
}

static char char_at(struct str text, size_t i)
{
    return i < text.len ? text.data[i] : '\0';
}

/* Whether a key and its colon begin at `i`. One that is too long to tell, or cut, counts. */
static bool is_key_at(struct str text, size_t i)
{
    char c = char_at(text, i);
    size_t length, end = i;
    if (c == '"' || c == '\'') {
        end = plain_string_end(text, i, LOOK_AHEAD);
        if (end == STR_NONE)
            return true;
    } else if (quote_at(text, i, &length)) {
        return true;
    } else {
        while (end < text.len && end - i < LOOK_AHEAD && (ascii_is_alnum(text.data[end]) || text.data[end] == '_'))
            end++;
    }
    size_t next = skip_plain_blank(text, end);
    return end > i && (next >= text.len || text.data[next] == ':');
}

/* Whether what stands at `i`, behind a string's comma, may be the next member. */
static bool is_member_at(const struct lenient_reader *reader, enum lenient_place place, size_t i)
{
    struct str text = reader->text;
    i = skip_plain_blank(text, i);
    char c = char_at(text, i);
    if (i >= text.len || lenient_is_one_of(c, "}]/#"))
        return true;
    if (place == LENIENT_MEMBER)
        return is_key_at(text, i);
    static const char *const words[] = {"true", "false", "null", "True", "False", "None"};
    for (size_t k = 0; k < sizeof words / sizeof words[0]; k++) {
        if (str_starts_with(str_slice(text, i, text.len), str_of(words[k])))
            return true;
    }
    return ascii_is_digit(c) || lenient_is_one_of(c, "-[{(") || lenient_quote_length(text, i) > 0;
}

/* Parentheses are text unless a tuple is open. */
static bool is_closer(const struct lenient_reader *reader, char c)
{
    return c == ']' || c == '}' || (c == ')' && reader->open_parens > 0);
}

/* Whether the closing brackets at `i` end what is open, or lead to another member, the end, or nothing more. */
static bool are_closers_at(const struct lenient_reader *reader, size_t i)
{
    struct str text = reader->text;
    size_t limit = i + LOOK_AHEAD, left = reader->depth;
    for (; i < text.len && i < limit; i++) {
        char c = text.data[i];
        if (is_blank(c))
            continue;
        if (is_closer(reader, c)) {
            if (left > 0 && reader->levels[left - 1].close == c)
                left--;
            if (left == 0)
                return true;
            continue;
        }
        size_t quote = lenient_quote_length(text, i), behind = skip_plain_blank(text, i + quote);
        if (quote && behind < text.len && lenient_is_one_of(text.data[behind], ",]}"))
            continue; /* a stray quote, see drop_stray_quote */
        return c == ',' &&
               is_member_at(reader, reader->levels[left - 1].close == '}' ? LENIENT_MEMBER : LENIENT_ELEMENT, i + 1);
    }
    return true;
}

/* Whether the quote that ends at `i` may close the string. */
static bool may_close(const struct lenient_reader *reader, const struct quoted *string, size_t i)
{
    struct str text = reader->text;
    size_t next = skip_plain_blank(text, i), length;
    char c = char_at(text, next);
    if (string->place == LENIENT_TOP || next >= text.len)
        return true;
    if (str_starts_with(str_slice(text, next, text.len), STR("//")) ||
        str_starts_with(str_slice(text, next, text.len), STR("/*")))
        return true;
    if (string->place == LENIENT_KEY)
        return lenient_is_one_of(c, ":={[,}") || (unsigned char)c == 0xEF ||
               (next > i && lenient_quote_length(text, next));
    if (is_closer(reader, c))
        return are_closers_at(reader, next);
    if (c == ',')
        return is_member_at(reader, string->place, next + 1);
    if (c == '+')
        return lenient_quote_length(text, skip_plain_blank(text, next + 1)) > 0;
    if (!quote_at(text, next, &length))
        return false;
    if (next > i) /* another string, or a member whose comma is missing */
        return string->place == LENIENT_ELEMENT || is_key_at(text, next) ||
               plain_string_end(text, next, LOOK_AHEAD) != STR_NONE;
    size_t behind = skip_plain_blank(text, next + length); /* two quotes in a row: the second one closes */
    return !(behind >= text.len || lenient_is_one_of(text.data[behind], ",]}:"));
}

/* ---- Escapes ---- */

static bool read_hex(struct str text, size_t i, size_t digits, uint32_t *value)
{
    *value = 0;
    if (i + digits > text.len)
        return false;
    for (size_t k = 0; k < digits; k++) {
        char c = ascii_lower(text.data[i + k]);
        if (!ascii_is_digit(c) && (c < 'a' || c > 'f'))
            return false;
        *value = *value * 16 + (uint32_t)(ascii_is_digit(c) ? c - '0' : c - 'a' + 10);
    }
    return true;
}

static bool put_code_point(struct lenient_reader *reader, uint32_t code)
{
    char bytes[4];
    if (code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) {
        reader->repairs |= LENIENT_BAD_ESCAPE;
        code = 0xFFFD;
    }
    struct str s = {bytes, utf8_encode(code, bytes)};
    return json_escape(reader->out, s) == STATUS_OK ||
           lenient_fail(reader, STATUS_TOO_BIG, reader->i, "the repaired text is too long");
}

/* \uXXXX, \uXXXX\uXXXX, \u{…}; anything else keeps its backslash. */
static bool read_unicode_escape(struct lenient_reader *reader)
{
    struct str text = reader->text;
    size_t i = reader->i;
    uint32_t code, low;
    if (read_hex(text, i + 2, 4, &code)) {
        bool high = code >= 0xD800 && code < 0xDC00;
        bool pair = high && char_at(text, i + 6) == '\\' && char_at(text, i + 7) == 'u' &&
                    read_hex(text, i + 8, 4, &low) && low >= 0xDC00 && low < 0xE000;
        size_t length = pair ? 12 : 6;
        reader->i += length;
        if (pair || code < 0xD800 || code >= 0xE000)
            return lenient_put(reader, str_slice(text, i, i + length));
        return put_code_point(reader, code);
    }
    size_t digits = 0;
    while (char_at(text, i + 2) == '{' && digits < 6 && read_hex(text, i + 3 + digits, 1, &code))
        digits++;
    if (digits > 0 && char_at(text, i + 3 + digits) == '}' && read_hex(text, i + 3, digits, &code)) {
        reader->repairs |= LENIENT_JSON5;
        reader->i += digits + 4;
        return put_code_point(reader, code);
    }
    reader->repairs |= LENIENT_BAD_ESCAPE;
    reader->i++;
    return lenient_put(reader, STR("\\\\"));
}

/* A backslash before a line end continues the line: the length of that line end, 0 when there is none. */
static size_t continuation(struct str text, size_t i)
{
    struct str rest = str_slice(text, i, text.len);
    if (str_starts_with(rest, STR("\r\n")))
        return 2;
    if (str_starts_with(rest, STR("\n")) || str_starts_with(rest, STR("\r")))
        return 1;
    return str_starts_with(rest, STR("\xE2\x80\xA8")) || str_starts_with(rest, STR("\xE2\x80\xA9")) ? 3 : 0;
}

/* Reads the escape at the reader. */
static bool read_escape(struct lenient_reader *reader)
{
    struct str text = reader->text;
    size_t i = reader->i, line = continuation(text, i + 1);
    char c = char_at(text, i + 1);
    uint32_t code;
    if (lenient_is_one_of(c, "\"\\/bfnrt")) {
        reader->i += 2;
        return lenient_put(reader, str_slice(text, i, i + 2));
    }
    if (c == 'u')
        return read_unicode_escape(reader);
    if (line || c == '\'' || c == '`' || c == 'v' || (c == '0' && !ascii_is_digit(char_at(text, i + 2)))) {
        reader->repairs |= LENIENT_JSON5;
        reader->i += line ? 1 + line : 2;
        if (line)
            return true;
        return c == 'v' || c == '0' ? put_code_point(reader, c == 'v' ? 0x0B : 0)
                                    : lenient_put(reader, str_slice(text, i + 1, i + 2));
    }
    bool byte = c == 'x' && read_hex(text, i + 2, 2, &code), wide = c == 'U' && read_hex(text, i + 2, 8, &code);
    if (byte || wide) {
        reader->repairs |= byte ? LENIENT_JSON5 : LENIENT_PYTHON;
        reader->i += byte ? 4 : 10;
        return put_code_point(reader, code);
    }
    reader->repairs |= LENIENT_BAD_ESCAPE;
    reader->i++;
    return lenient_put(reader, STR("\\\\"));
}

/* A backslash in a raw string stands for itself and protects a quote behind it. */
static bool read_raw_backslash(struct lenient_reader *reader)
{
    char next = char_at(reader->text, reader->i + 1);
    size_t protects = lenient_is_one_of(next, "\"'\\") ? 1 : 0;
    struct str s = str_slice(reader->text, reader->i, reader->i + 1 + protects);
    reader->i += s.len;
    return json_escape(reader->out, s) == STATUS_OK ||
           lenient_fail(reader, STATUS_TOO_BIG, reader->i, "the repaired text is too long");
}

/* ---- Strings ---- */

/* The length of the closing quote at the reader, 0 when what stands there does not close the string. */
static size_t closing_length(struct lenient_reader *reader, const struct quoted *string)
{
    size_t length;
    char quote = quote_at(reader->text, reader->i, &length);
    if (quote != string->quote || (length > 1 && !string->typographic))
        return 0;
    if (string->triple) {
        const char triple[] = {quote, quote, quote};
        return str_starts_with(str_slice(reader->text, reader->i, reader->text.len), str_make(triple, 3)) ? 3 : 0;
    }
    if (string->typographic || reader->guess_quotes)
        return may_close(reader, string, reader->i + length) ? length : 0;
    return length;
}

/* Takes back blanks, and before them closing brackets, from the end of the text between `start` and `end`: where a
 * string ended whose closing quote is missing. */
static size_t trim_closers(struct str text, size_t start, size_t end)
{
    while (end > start && (is_blank(text.data[end - 1]) || lenient_is_one_of(text.data[end - 1], "]}")))
        end--;
    return end;
}

/* Ends the string at `end`, where a quote is missing. The output is what was written up to there, which holds because
 * such a string has neither quotes nor escapes. */
static bool end_without_quote(struct lenient_reader *reader, const struct quoted *string, size_t end, size_t out_start)
{
    struct str content = str_slice(reader->text, string->start, end);
    if (content.len == 0 || memchr(content.data, '\\', content.len) || memchr(content.data, '"', content.len))
        return false;
    buf_truncate(reader->out, out_start);
    if (json_escape(reader->out, content) != STATUS_OK)
        return lenient_fail(reader, STATUS_TOO_BIG, reader->i, "the repaired text is too long");
    reader->repairs |= LENIENT_QUOTES;
    reader->i = end;
    return true;
}

/* The text is over inside the string. When it ends in exactly the brackets that are open, only the quote before them is
 * missing; otherwise the string was cut. */
static bool end_at_text_end(struct lenient_reader *reader, const struct quoted *string, size_t out_start)
{
    struct str text = reader->text;
    size_t end = trim_closers(text, string->start, text.len), left = reader->depth;
    bool exact = reader->guess_quotes && !string->triple && string->place != LENIENT_KEY;
    for (size_t i = end; exact && i < text.len; i++) {
        if (!is_blank(text.data[i]))
            exact = left > 0 && reader->levels[--left].close == text.data[i];
    }
    for (size_t i = string->start; exact && i < end; i++)
        exact = !lenient_is_one_of(text.data[i], "{}[]\n\"");
    if (exact && left == 0 && end_without_quote(reader, string, end, out_start))
        return true;
    return lenient_fail(reader, STATUS_SYNTAX, string->start - 1, "a string that begins here is never closed");
}

/* An unescaped quote inside the string, or one that opens the next key because this string's own is missing. True when
 * the string ends here. */
static bool ends_before_key(struct lenient_reader *reader, const struct quoted *string, size_t out_start)
{
    struct str text = reader->text;
    if (string->place != LENIENT_MEMBER || string->comma == STR_NONE || !is_key_at(text, reader->i))
        return false;
    return end_without_quote(reader, string, trim_closers(text, string->start, string->comma), out_start);
}

/* Bytes from the reader on that go into the output as they are. */
static size_t plain_run(const struct lenient_reader *reader, const struct quoted *string)
{
    struct str text = reader->text;
    size_t i = reader->i;
    for (; i < text.len; i++) {
        unsigned char c = (unsigned char)text.data[i];
        if (c < 0x20 || c == '"' || c == '\\' || c == (unsigned char)string->quote)
            break;
        if (c >= 0x80 && string->typographic && lenient_quote_length(text, i))
            break;
    }
    return i - reader->i;
}

/* Keeps `comma` up to date for a run of plain bytes. */
static void note_comma(struct quoted *string, struct str run, size_t at)
{
    struct str trimmed = str_trim_end(run);
    if (trimmed.len > 0)
        string->comma = trimmed.data[trimmed.len - 1] == ',' ? at + trimmed.len - 1 : STR_NONE;
}

/* Reads up to and including the closing quote and writes the inside. */
static bool read_inside(struct lenient_reader *reader, struct quoted *string)
{
    struct str text = reader->text;
    size_t out_start = reader->out->len;
    bool ok = true, inner = false;
    while (ok) {
        size_t run = plain_run(reader, string);
        struct str piece = str_slice(text, reader->i, reader->i + run);
        ok = lenient_put(reader, piece);
        note_comma(string, piece, reader->i);
        reader->i += run;
        if (reader->i >= text.len)
            return ok && end_at_text_end(reader, string, out_start);
        char c = text.data[reader->i];
        size_t closing = closing_length(reader, string), length = lenient_quote_length(text, reader->i);
        if (closing) {
            reader->i += closing;
            if (inner && reader->depth > 0 && skip_plain_blank(text, reader->i) >= text.len)
                return lenient_fail(reader, STATUS_SYNTAX, string->start - 1, "a string that begins here is cut");
            return ok;
        }
        if (c == '\\') {
            ok = ok && (string->raw ? read_raw_backslash(reader) : read_escape(reader));
            string->comma = STR_NONE;
            continue;
        }
        bool own = length > 0 && c == string->quote && !string->triple;
        if (own && ends_before_key(reader, string, out_start))
            return true;
        if (own && string->place == LENIENT_ELEMENT && string->comma != STR_NONE && c == '"')
            return lenient_fail(reader, STATUS_SYNTAX, string->start - 1, "a closing quote is missing in a list");
        if (length == 0 && !is_blank(c))
            string->comma = STR_NONE;
        inner |= own; /* then a quote at the very end may be one more of these */
        if (own)
            reader->repairs |= LENIENT_QUOTES;
        if ((unsigned char)c < 0x20 && !string->triple)
            reader->repairs |= LENIENT_RAW_CONTROL;
        size_t step = length ? length : 1;
        ok = ok && json_escape(reader->out, str_slice(text, reader->i, reader->i + step)) == STATUS_OK;
        reader->i += step;
    }
    return lenient_fail(reader, STATUS_TOO_BIG, reader->i, "the repaired text is too long");
}

/* Whether another string follows that belongs to the one just read (Python's adjacent strings, or a plus sign); moves
 * the reader to it. */
static bool next_adjacent(struct lenient_reader *reader, enum lenient_place place)
{
    struct str text = reader->text;
    size_t i = skip_plain_blank(text, reader->i);
    bool plus = char_at(text, i) == '+';
    if (plus)
        i = skip_plain_blank(text, i + 1);
    if (place == LENIENT_KEY || !lenient_is_one_of(char_at(text, i), "\"'"))
        return false;
    size_t end = plain_string_end(text, i, SIZE_MAX); /* that string is read next: no byte is looked at often */
    if (!plus && end == STR_NONE)
        return false;
    char behind = end == STR_NONE ? '\0' : char_at(text, skip_plain_blank(text, end));
    if (!plus && (behind == ':' || !(behind == '\0' || lenient_is_one_of(behind, ",]})+\"'"))))
        return false;
    reader->repairs |= LENIENT_PYTHON;
    reader->i = i;
    return true;
}

bool lenient_read_string(struct lenient_reader *reader, enum lenient_place place, bool raw)
{
    struct str text = reader->text;
    if (!lenient_put(reader, STR("\"")))
        return false;
    do {
        size_t length;
        struct quoted string = {.place = place, .raw = raw, .comma = STR_NONE};
        string.quote = quote_at(text, reader->i, &length);
        string.typographic = length > 1;
        const char triple[] = {string.quote, string.quote, string.quote};
        if (length == 1 && str_starts_with(str_slice(text, reader->i, text.len), str_make(triple, 3))) {
            string.triple = true;
            length = 3;
            reader->repairs |= LENIENT_PYTHON;
        } else if (string.typographic) {
            reader->repairs |= LENIENT_QUOTES;
        } else if (string.quote != '"') {
            reader->repairs |= LENIENT_JSON5;
        }
        reader->i += length;
        string.start = reader->i;
        if (!read_inside(reader, &string))
            return false;
    } while (next_adjacent(reader, place));
    return lenient_put(reader, STR("\""));
}
