/* Going through the parts of a JSON file and complaining about them. */
#include "text/tokenizer/read_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/utf8.h"
#include "text/tokenizer/normalize.h"

/* jansson takes some 100 bytes for a value: these bound what a hostile file can make it take. Gemma 3, among the
 * largest vocabularies there are, has half a million containers and two million values. */
#define MAX_CONTAINERS ((size_t)4 << 20)
#define MAX_VALUES     ((size_t)12 << 20)

struct read_part read_member(const struct read_part *part, const char *key)
{
    struct read_part member = {.value = json_object_get(part->value, key)};
    int length = (int)(sizeof member.place - strlen(key) - 2);
    snprintf(member.place, sizeof member.place, "%.*s%s%s", length, part->place, part->place[0] ? "." : "", key);
    return member;
}

struct read_part read_item(const struct read_part *part, size_t index)
{
    struct read_part item = {.value = json_array_get(part->value, index)};
    snprintf(item.place, sizeof item.place, "%.70s[%zu]", part->place, index);
    return item;
}

enum status read_fail(struct error *error, enum status status, const char *place, const char *format, ...)
{
    char message[420];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    bool placed = place && place[0];
    return error_set(error, status, "%s%s%s", placed ? place : "", placed ? ": " : "", message);
}

const char *read_quote(struct str text, char out[READ_QUOTE_BYTES])
{
    size_t length = utf8_floor(text, READ_QUOTE_BYTES - 4);
    for (size_t i = 0; i < length; i++)
        out[i] = (unsigned char)text.data[i] < 0x20 || text.data[i] == 0x7F ? '?' : text.data[i];
    snprintf(out + length, READ_QUOTE_BYTES - length, "%s", length < text.len ? "..." : "");
    return out;
}

static enum status missing(const struct read_part *part, const char *key, const char *type, struct error *error)
{
    return read_fail(error, STATUS_SYNTAX, part->place, "\"%s\" must be there and be %s", key, type);
}

enum status read_bool(const struct read_part *part, const char *key, int fallback, bool *out, struct error *error)
{
    const json_t *value = json_object_get(part->value, key);
    if (!value && fallback >= 0)
        *out = fallback != 0;
    else if (json_is_boolean(value))
        *out = json_is_true(value);
    else
        return missing(part, key, "true or false", error);
    return STATUS_OK;
}

enum status read_text(const struct read_part *part, const char *key, struct str *out, struct error *error)
{
    if (!json_is_string(json_object_get(part->value, key)))
        return missing(part, key, "a string", error);
    *out = json_get_str(part->value, key);
    return STATUS_OK;
}

enum status read_character(const struct read_part *part, const char *key, struct str *out, struct error *error)
{
    struct str text = json_get_str(part->value, key);
    size_t length = 0;
    if (text.len == 0 || utf8_decode(text, &length) == UTF8_INVALID || length != text.len)
        return missing(part, key, "one character", error);
    *out = text;
    return STATUS_OK;
}

enum status read_count(const struct read_part *part, const char *key, uint32_t *out, struct error *error)
{
    const json_t *value = json_object_get(part->value, key);
    if (!json_is_integer(value) || json_integer_value(value) < 0 || json_integer_value(value) > INT32_MAX)
        return missing(part, key, "a number from 0 up", error);
    *out = (uint32_t)json_integer_value(value);
    return STATUS_OK;
}

enum status read_id(const json_t *value, const char *place, uint32_t *out, struct error *error)
{
    if (!json_is_integer(value) || json_integer_value(value) < 0)
        return read_fail(error, STATUS_SYNTAX, place, "an id must be an integer from 0 up");
    if (json_integer_value(value) >= SPEC_MAX_ID)
        return read_fail(error, STATUS_TOO_BIG, place, "the id %lld is not below %u",
                         (long long)json_integer_value(value), SPEC_MAX_ID);
    *out = (uint32_t)json_integer_value(value);
    return STATUS_OK;
}

size_t read_stand_ins(struct str text, char *out)
{
    size_t count = 0;
    for (size_t i = 0, length; i < text.len; i += length) {
        int byte = byte_level_byte(utf8_decode(str_slice(text, i, text.len), &length));
        if (byte < 0)
            return SIZE_MAX;
        out[count++] = (char)byte;
    }
    return count;
}

enum status read_check_size(struct str json, struct error *error)
{
    size_t containers = 0, values = 0;
    bool in_string = false;
    if (json.len > READ_MAX_FILE_BYTES)
        return error_set(error, STATUS_TOO_BIG, "larger than the %zu MiB allowed here", READ_MAX_FILE_BYTES >> 20);
    for (size_t i = 0; i < json.len; i++) {
        char c = json.data[i];
        if (in_string && c == '\\')
            i++;
        else if (c == '"')
            in_string = !in_string;
        else if (!in_string && (c == '[' || c == '{'))
            containers++;
        else if (!in_string && c == ',')
            values++;
    }
    if (containers > MAX_CONTAINERS || values > MAX_VALUES)
        return error_set(error, STATUS_TOO_BIG, "more values than any tokenizer has: %zu lists and %zu commas",
                         containers, values);
    return STATUS_OK;
}
