#include "core/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/file.h"
#include "core/utf8.h"

static size_t skip_digits(struct str text, size_t i)
{
    while (i < text.len && ascii_is_digit(text.data[i]))
        i++;
    return i;
}

/* Where the number that begins at `i` with a minus or a digit ends (RFC 8259, section 6). jansson refuses integers
 * beyond 64 bits and reals beyond a double; those are quoted and parsing is tried again. */
static size_t number_end(struct str text, size_t i)
{
    i = skip_digits(text, i + 1);
    if (i + 1 < text.len && text.data[i] == '.' && ascii_is_digit(text.data[i + 1]))
        i = skip_digits(text, i + 1);
    if (i < text.len && (text.data[i] == 'e' || text.data[i] == 'E')) {
        size_t exponent = i + 1;
        if (exponent < text.len && (text.data[exponent] == '+' || text.data[exponent] == '-'))
            exponent++;
        if (exponent < text.len && ascii_is_digit(text.data[exponent]))
            i = skip_digits(text, exponent);
    }
    return i;
}

static enum json_error_code parse_once(struct str text, json_t **out, json_error_t *problem)
{
    *out = json_loadb(text.data ? text.data : "", text.len, JSON_DECODE_ANY | JSON_ALLOW_NUL, problem);
    if (*out && text.data && memchr(text.data, '\0', text.len)) { /* jansson takes a raw NUL for the end of the text */
        json_decref(*out);
        *out = NULL;
        *problem = (json_error_t){.line = 1, .column = 1, .text = "NUL byte"};
        problem->text[JSON_ERROR_TEXT_LENGTH - 1] = json_error_invalid_syntax;
    }
    return *out ? json_error_unknown : json_error_code(problem);
}

static enum status parse_error(const json_error_t *problem, struct error *error)
{
    bool deep = json_error_code(problem) == json_error_stack_overflow;
    enum status status = deep ? STATUS_TOO_BIG : STATUS_SYNTAX;
    error_set(error, status, "invalid JSON: %s", problem->text);
    error_at(error, NULL, problem->line > 0 ? problem->line : 1, problem->column > 0 ? problem->column : 1);
    return status;
}

enum status json_parse(struct str text, json_t **out, struct error *error)
{
    json_error_t problem;
    json_t *value = NULL;
    enum json_error_code code = parse_once(text, &value, &problem);
    if (value) {
        *out = value;
        return STATUS_OK;
    }
    if (code != json_error_numeric_overflow)
        return parse_error(&problem, error);

    /* Quote every number that is out of range, in one pass over the text: those with 19 digits or more, or an exponent.
     */
    struct buf quoted;
    buf_init(&quoted, BUF_UNBOUNDED);
    bool in_string = false;
    for (size_t i = 0; i < text.len;) {
        char c = text.data[i];
        if (in_string) {
            size_t step = c == '\\' && i + 1 < text.len ? 2 : 1;
            in_string = c != '"';
            buf_add(&quoted, str_slice(text, i, i + step));
            i += step;
        } else if (c == '-' || ascii_is_digit(c)) {
            size_t to = number_end(text, i);
            struct str number = str_slice(text, i, to);
            json_t *checked = NULL;
            json_error_t unused;
            bool overflow = parse_once(number, &checked, &unused) == json_error_numeric_overflow;
            struct str behind = str_trim_start(str_slice(text, to, text.len));
            overflow = overflow && !str_starts_with(behind, STR(":")); /* a number is no key */
            json_decref(checked);
            if (overflow)
                buf_add_char(&quoted, '"');
            buf_add(&quoted, number);
            if (overflow)
                buf_add_char(&quoted, '"');
            i = to;
        } else {
            in_string = c == '"';
            buf_add_char(&quoted, c);
            i++;
        }
    }
    parse_once(buf_str(&quoted), &value, &problem);
    buf_finish(&quoted);
    if (!value)
        return parse_error(&problem, error);
    *out = value;
    return STATUS_OK;
}

enum status json_parse_file(const char *path, size_t max_bytes, json_t **out, struct error *error)
{
    struct buf contents;
    buf_init(&contents, max_bytes);
    enum status status = file_read(path, &contents, error);
    if (status == STATUS_OK) {
        status = json_parse(buf_str(&contents), out, error);
        if (status != STATUS_OK)
            error_at(error, path, error ? error->line : 0, error ? error->column : 0);
    }
    buf_finish(&contents);
    return status;
}

static int dump_to_buf(const char *bytes, size_t size, void *user)
{
    return buf_append(user, bytes, size) == STATUS_OK ? 0 : -1;
}

static bool survives(double real, int digits)
{
    char text[40];
    snprintf(text, sizeof text, "%.*g", digits, real);
    return strtod(text, NULL) == real;
}

/* The digits that every number in `value` needs to be read again as it is: 15, so that 0.6 is written as 0.6, to 17. */
static size_t real_digits(const json_t *value)
{
    size_t digits = 15, i, of_item;
    const char *key;
    json_t *item;
    if (json_is_real(value)) {
        while (digits < 17 && !survives(json_real_value(value), (int)digits))
            digits++;
    } else if (json_is_array(value)) {
        json_array_foreach (value, i, item) {
            of_item = real_digits(item);
            digits = of_item > digits ? of_item : digits;
        }
    } else if (json_is_object(value)) {
        json_object_foreach ((json_t *)(uintptr_t)value, key, item) {
            of_item = real_digits(item);
            digits = of_item > digits ? of_item : digits;
        }
    }
    return digits;
}

enum status json_write(struct buf *out, const json_t *value)
{
    size_t start = out->len;
    if (!value)
        return buf_append_str(out, STR("null"));
    size_t flags = JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(real_digits(value));
    if (json_dump_callback(value, dump_to_buf, out, flags) == 0)
        return STATUS_OK;
    buf_truncate(out, start);
    return STATUS_TOO_BIG;
}

char *json_to_text(const json_t *value)
{
    struct buf text;
    buf_init(&text, BUF_UNBOUNDED);
    if (json_write(&text, value) != STATUS_OK)
        abort();
    return buf_take(&text);
}

const char *json_get_string(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

struct str json_get_str(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_string(value) ? str_make(json_string_value(value), json_string_length(value)) : (struct str){0};
}

int64_t json_get_int(const json_t *object, const char *key, int64_t fallback)
{
    const json_t *value = json_object_get(object, key);
    if (json_is_integer(value))
        return json_integer_value(value);
    if (json_is_real(value)) {
        double real = json_real_value(value);
        if (real >= -9e15 && real <= 9e15 && real == (double)(int64_t)real)
            return (int64_t)real;
    }
    return fallback;
}

double json_get_number(const json_t *object, const char *key, double fallback)
{
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : fallback;
}

static json_t *checked_value(json_t *value)
{
    if (!value) {
        fputs("fathom: out of memory in JSON\n", stderr);
        abort();
    }
    return value;
}

json_t *json_from_str(struct str text)
{
    json_t *value = json_stringn(text.data ? text.data : "", text.len);
    if (value)
        return value;
    struct buf valid;
    buf_init(&valid, BUF_UNBOUNDED);
    if (utf8_append_valid(&valid, text) != STATUS_OK)
        abort();
    value = json_stringn(valid.data ? valid.data : "", valid.len);
    buf_finish(&valid);
    return checked_value(value);
}

void json_put(json_t *object, const char *key, json_t *value)
{
    if (json_object_set_new_nocheck(object, key, value ? value : json_null()) != 0)
        checked_value(NULL);
}

void json_put_str(json_t *object, const char *key, struct str text)
{
    json_put(object, key, json_from_str(text));
}

void json_push(json_t *array, json_t *value)
{
    if (json_array_append_new(array, value ? value : json_null()) != 0)
        checked_value(NULL);
}
