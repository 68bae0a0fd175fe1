/* src/api/config_value.c: texts to values, the same for flags, variables and files. */
#include "api/config_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/utf8.h"

#define DURATION_MAX_MS (10000LL * 3600 * 1000)

static const struct {
    const char *name;
    int64_t milliseconds;
} units[] = {{"d", 86400000}, {"h", 3600000}, {"m", 60000}, {"min", 60000}, {"s", 1000}, {"ms", 1}};

/* Takes digits with an optional fraction off the front of *rest. */
static bool take_number(struct str *rest, double *out)
{
    size_t end = 0, digits = 0, points = 0;
    while (end < rest->len && (ascii_is_digit(rest->data[end]) || rest->data[end] == '.')) {
        digits += ascii_is_digit(rest->data[end]);
        points += rest->data[end] == '.';
        end++;
    }
    if (digits == 0 || points > 1 || end > 30 || !ascii_is_digit(rest->data[0]) || !ascii_is_digit(rest->data[end - 1]))
        return false;
    if (!str_to_double(str_slice(*rest, 0, end), out))
        return false;
    *rest = str_slice(*rest, end, rest->len);
    return true;
}

bool config_parse_duration(struct str text, int64_t *milliseconds)
{
    struct str rest = str_trim(text);
    if (str_equal(rest, STR("0"))) {
        *milliseconds = 0;
        return true;
    }
    double total = 0;
    int64_t last_unit = INT64_MAX;
    while (rest.len > 0) {
        double amount;
        if (!take_number(&rest, &amount))
            return false;
        size_t end = 0;
        while (end < rest.len && ascii_is_alpha(rest.data[end]))
            end++;
        int64_t unit = 0;
        for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
            if (str_equal(str_slice(rest, 0, end), str_of(units[i].name)))
                unit = units[i].milliseconds;
        }
        if (unit == 0 || unit >= last_unit)
            return false;
        last_unit = unit;
        total += amount * (double)unit;
        rest = str_slice(rest, end, rest.len);
    }
    if (last_unit == INT64_MAX || total > (double)DURATION_MAX_MS)
        return false;
    *milliseconds = llround(total);
    return true;
}

bool config_parse_tokens(struct str text, int64_t *count)
{
    struct str rest = str_trim(text);
    double amount;
    if (!take_number(&rest, &amount))
        return false;
    double factor = 1;
    if (rest.len == 1 && ascii_lower(rest.data[0]) == 'k')
        factor = 1024;
    else if (rest.len == 1 && ascii_lower(rest.data[0]) == 'm')
        factor = 1024.0 * 1024;
    else if (rest.len != 0)
        return false;
    double value = amount * factor;
    if (value > 9e15 || value != floor(value))
        return false;
    *count = (int64_t)value;
    return true;
}

bool config_parse_size(struct str text, int64_t *bytes)
{
    static const struct {
        const char *name;
        double bytes;
    } factors[] = {
        {"", 1},           {"b", 1},          {"k", 1024},          {"kb", 1024},           {"m", 1048576.0},
        {"mb", 1048576.0}, {"g", 1073741824}, {"gb", 1073741824.0}, {"t", 1099511627776.0}, {"tb", 1099511627776.0}};
    struct str rest = str_trim(text);
    double amount;
    if (!take_number(&rest, &amount))
        return false;
    rest = str_trim(rest);
    for (size_t i = 0; i < sizeof factors / sizeof factors[0]; i++) {
        if (!str_equal_ascii_nocase(rest, str_of(factors[i].name)))
            continue;
        double value = amount * factors[i].bytes;
        if (value > 9e15 || value != floor(value))
            return false;
        *bytes = (int64_t)value;
        return true;
    }
    return false;
}

/* A short form of the value for messages, without control characters. */
static const char *quoted(struct str value, char *out, size_t size)
{
    size_t used = 0;
    struct str shown = str_slice(value, 0, utf8_floor(value, 60));
    for (size_t i = 0; i < shown.len && used + 5 < size; i++) {
        unsigned char c = (unsigned char)shown.data[i];
        out[used++] = c < 0x20 || c == 0x7f ? '?' : (char)c;
    }
    if (shown.len < value.len) {
        memcpy(out + used, "\xE2\x80\xA6", 3);
        used += 3;
    }
    out[used] = '\0';
    return out;
}

static bool has_bounds(const struct option_spec *spec)
{
    return spec->minimum < 0 || spec->minimum > 0 || spec->maximum > 0;
}

static enum status check_range(const struct option_spec *spec, double value, const char *shown, struct error *error)
{
    if (has_bounds(spec)) {
        if (value < spec->minimum)
            return error_set(error, STATUS_INVALID, "%s is too small: at least %.15g", shown, spec->minimum);
        if (value > spec->maximum)
            return error_set(error, STATUS_INVALID, "%s is too large: at most %.15g", shown, spec->maximum);
    }
    return STATUS_OK;
}

static enum status read_number(const struct option_spec *spec, struct str value, double *out, struct error *error)
{
    char shown[80];
    quoted(value, shown, sizeof shown);
    double number;
    if (!str_to_double(str_trim(value), &number) || !isfinite(number))
        return error_set(error, STATUS_INVALID, "\"%s\" is not a number", shown);
    if (!has_bounds(spec) && number < 0)
        return error_set(error, STATUS_INVALID, "%s is negative", shown);
    enum status status = check_range(spec, number, shown, error);
    if (status == STATUS_OK)
        *out = number;
    return status;
}

static enum status read_integer(const struct option_spec *spec, struct str value, int64_t *out, struct error *error)
{
    char shown[80];
    quoted(value, shown, sizeof shown);
    int64_t number;
    if (!str_to_int64(str_trim(value), &number))
        return error_set(error, STATUS_INVALID, "\"%s\" is not a whole number", shown);
    enum status status = check_range(spec, (double)number, shown, error);
    if (status == STATUS_OK)
        *out = number;
    return status;
}

static enum status read_tokens(const struct option_spec *spec, struct str value, int64_t *out, struct error *error)
{
    char shown[80];
    quoted(value, shown, sizeof shown);
    int64_t number;
    if (!config_parse_tokens(value, &number))
        return error_set(error, STATUS_INVALID, "\"%s\" is not a count of tokens: write 32000 or 110k", shown);
    enum status status = check_range(spec, (double)number, shown, error);
    if (status == STATUS_OK)
        *out = number;
    return status;
}

static enum status read_duration(const struct option_spec *spec, struct str value, int64_t *out, struct error *error)
{
    char shown[80];
    quoted(value, shown, sizeof shown);
    int64_t milliseconds;
    double bare;
    if (!config_parse_duration(value, &milliseconds)) {
        if (str_to_double(str_trim(value), &bare) && bare > 0)
            return error_set(error, STATUS_INVALID, "\"%s\" lacks a unit: write %ss, %sm or %sh", shown, shown, shown,
                             shown);
        return error_set(error, STATUS_INVALID, "\"%s\" is not a time: write 90s, 150m, 2h or 1h30m", shown);
    }
    enum status status = check_range(spec, (double)milliseconds / 1000, shown, error);
    if (status == STATUS_OK)
        *out = milliseconds;
    return status;
}

static enum status read_size(const struct option_spec *spec, struct str value, int64_t *out, struct error *error)
{
    char shown[80];
    quoted(value, shown, sizeof shown);
    int64_t bytes;
    if (!config_parse_size(value, &bytes))
        return error_set(error, STATUS_INVALID, "\"%s\" is not a size: write 512MB or 2GB", shown);
    enum status status = check_range(spec, (double)bytes, shown, error);
    if (status == STATUS_OK)
        *out = bytes;
    return status;
}

static enum status read_flag(struct str value, int64_t *out, struct error *error)
{
    static const char *const words[] = {"no", "yes", "false", "true", "off", "on", "0", "1"};
    char shown[80];
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (str_equal_ascii_nocase(value, str_of(words[i]))) {
            *out = (int64_t)(i % 2);
            return STATUS_OK;
        }
    }
    return error_set(error, STATUS_INVALID, "\"%s\" is neither yes nor no", quoted(value, shown, sizeof shown));
}

static enum status read_choice(const struct option_spec *spec, struct str value, struct error *error)
{
    const char *names[64];
    char *copy = mem_strdup(spec->choices), *rest = NULL;
    size_t count = 0;
    for (char *name = strtok_r(copy, "|", &rest); name != NULL && count < 64; name = strtok_r(NULL, "|", &rest))
        names[count++] = name;
    bool known = false;
    for (size_t i = 0; i < count; i++)
        known = known || str_equal(value, str_of(names[i]));
    enum status status = STATUS_OK;
    if (!known) {
        char shown[80], list[480] = "";
        for (size_t i = 0; i < count; i++) {
            strncat(list, i == 0 ? "" : i + 1 == count ? " or " : ", ", sizeof list - strlen(list) - 1);
            strncat(list, names[i], sizeof list - strlen(list) - 1);
        }
        status = error_set(error, STATUS_INVALID, "\"%s\" is not one of %s", quoted(value, shown, sizeof shown), list);
    }
    free(copy);
    return status;
}

static enum status read_json(struct str value, json_t **out, struct error *error)
{
    json_t *object = NULL;
    struct error inner;
    if (json_parse(value, &object, &inner) != STATUS_OK)
        return error_set(error, STATUS_INVALID, "not valid JSON: %s (line %d, column %d)", inner.message, inner.line,
                         inner.column);
    if (!json_is_object(object)) {
        json_decref(object);
        return error_set(error, STATUS_INVALID, "must be a JSON object, for example {\"top_k\": 20}");
    }
    *out = object;
    return STATUS_OK;
}

/* Reads one value by its type into *out, whose texts are left alone. */
static enum status read_value(const struct option_spec *spec, struct str value, struct config_value *out,
                              struct error *error)
{
    char shown[80];
    if (value.len == 0)
        return error_set(error, STATUS_INVALID, "the value is empty");
    if (memchr(value.data, '\0', value.len) != NULL || !utf8_is_valid(value))
        return error_set(error, STATUS_INVALID, "the value is not UTF-8 text");
    switch (spec->type) {
    case OPTION_TEXT:
        for (size_t i = 0; i < value.len; i++) {
            if ((unsigned char)value.data[i] < 0x20 || value.data[i] == 0x7f)
                return error_set(error, STATUS_INVALID, "the value \"%s\" holds control characters",
                                 spec->secret ? "\xE2\x80\xA6" : quoted(value, shown, sizeof shown));
        }
        return STATUS_OK;
    case OPTION_INTEGER:
        return read_integer(spec, value, &out->integer, error);
    case OPTION_NUMBER:
        return read_number(spec, value, &out->number, error);
    case OPTION_DURATION:
        return read_duration(spec, value, &out->integer, error);
    case OPTION_TOKENS:
        return read_tokens(spec, value, &out->integer, error);
    case OPTION_CHOICE:
        return read_choice(spec, value, error);
    case OPTION_JSON:
        return read_json(value, &out->json, error);
    case OPTION_SIZE:
        return read_size(spec, value, &out->integer, error);
    case OPTION_FLAG:
        return read_flag(value, &out->integer, error);
    }
    return STATUS_OK;
}

static void forget_texts(struct config_value *value)
{
    for (size_t i = 0; i < value->count; i++)
        free(value->texts[i]);
    value->count = 0;
}

static void add_text(struct config_value *value, struct str text)
{
    value->texts = mem_grow(value->texts, value->count, &value->capacity, sizeof *value->texts);
    value->texts[value->count++] = str_dup(text);
}

enum status config_put(struct config *config, enum option_id id, enum config_source source, struct str text,
                       const char *origin, struct error *error)
{
    const struct option_spec *spec = option_spec(id);
    struct config_value *value = &config->values[id][source];
    struct config_value read = {0};
    enum status status = STATUS_OK;
    text = str_trim(text);
    if (spec->list && !spec->whole && text.len > 0) {
        struct str rest = text, part;
        while (status == STATUS_OK && str_split_next(&rest, ',', &part))
            status = read_value(spec, str_trim(part), &read, error);
    } else {
        status = read_value(spec, text, &read, error);
    }
    if (status != STATUS_OK)
        return status;
    if (!spec->list)
        forget_texts(value);
    if (spec->list && !spec->whole) {
        struct str rest = text, part;
        while (str_split_next(&rest, ',', &part))
            add_text(value, str_trim(part));
    } else {
        add_text(value, text);
    }
    json_decref(value->json);
    value->json = read.json;
    value->integer = read.integer;
    value->number = read.number;
    if (!value->set || !spec->list) {
        free(value->origin);
        value->origin = mem_strdup(origin);
    }
    value->set = true;
    return STATUS_OK;
}

void config_put_json(struct config *config, enum option_id id, enum config_source source, json_t *object,
                     const char *origin)
{
    struct config_value *value = &config->values[id][source];
    forget_texts(value);
    char *text = json_to_text(object);
    add_text(value, str_of(text));
    free(text);
    json_decref(value->json);
    value->json = object;
    free(value->origin);
    value->origin = mem_strdup(origin);
    value->set = true;
}
