/* src/api/config_yaml.c
 *
 * A configuration file: YAML events straight into the option table. Scalars stay text until the option's own type reads
 * them, so that 150m is a time and not a number; the marks of the events give line and column.
 */
#include "api/config_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "core/utf8.h"

#define MAX_DEPTH 32

struct reading {
    yaml_parser_t parser;
    struct config *config;
    const char *name;
    struct str text;
    struct error *error;
};

/* libyaml counts columns in characters, struct error in bytes. */
static int byte_column(struct str text, size_t line, size_t column)
{
    size_t start = 0;
    for (; line > 0; line--) {
        size_t end = str_find_char(text, '\n', start);
        if (end == STR_NONE)
            break;
        start = end + 1;
    }
    struct str rest = str_slice(text, start, text.len);
    size_t at = 0;
    for (; column > 0 && at < rest.len; column--) {
        size_t length;
        utf8_decode(str_slice(rest, at, rest.len), &length);
        at += length;
    }
    return (int)(at + column + 1);
}

static void at_mark(struct reading *reading, const yaml_mark_t *mark)
{
    error_at(reading->error, reading->name, (int)mark->line + 1, byte_column(reading->text, mark->line, mark->column));
}

static enum status not_yaml(struct reading *reading)
{
    const yaml_parser_t *parser = &reading->parser;
    yaml_mark_t mark = parser->problem_mark;
    error_set(reading->error, STATUS_SYNTAX, "not valid YAML: %s",
              parser->problem != NULL ? parser->problem : "unreadable");
    if (parser->error == YAML_READER_ERROR)
        error_at(reading->error, reading->name, 0, 0);
    else
        at_mark(reading, &mark);
    return STATUS_SYNTAX;
}

static enum status next_event(struct reading *reading, yaml_event_t *event)
{
    if (!yaml_parser_parse(&reading->parser, event))
        return not_yaml(reading);
    if (event->type == YAML_ALIAS_EVENT) {
        error_set(reading->error, STATUS_INVALID, "aliases (*name) are not understood here");
        at_mark(reading, &event->start_mark);
        yaml_event_delete(event);
        return STATUS_INVALID;
    }
    return STATUS_OK;
}

static struct str scalar_text(const yaml_event_t *event)
{
    return str_make((const char *)event->data.scalar.value, event->data.scalar.length);
}

static bool is_plain(const yaml_event_t *event)
{
    return event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
}

static bool is_null(const yaml_event_t *event)
{
    struct str text = scalar_text(event);
    return is_plain(event) && (text.len == 0 || str_equal(text, STR("~")) || str_equal(text, STR("null")) ||
                               str_equal(text, STR("Null")) || str_equal(text, STR("NULL")));
}

/* A scalar by YAML's core schema. */
static json_t *json_scalar(const yaml_event_t *event)
{
    struct str text = scalar_text(event);
    int64_t integer;
    double number;
    if (!is_plain(event))
        return json_from_str(text);
    if (is_null(event))
        return json_null();
    if (str_equal_ascii_nocase(text, STR("true")))
        return json_true();
    if (str_equal_ascii_nocase(text, STR("false")))
        return json_false();
    if (str_to_int64(text, &integer))
        return json_integer(integer);
    if (str_to_double(text, &number) && (ascii_is_digit(text.data[text.len - 1]) || text.data[text.len - 1] == '.')) {
        json_t *real = json_real(number);
        if (real != NULL)
            return real;
    }
    return json_from_str(text);
}

/* The value that begins with `event` as JSON; takes the event. */
static enum status json_value(struct reading *reading, yaml_event_t *event, int depth, json_t **out)
{
    enum status status = STATUS_OK;
    json_t *value = NULL;
    bool mapping = event->type == YAML_MAPPING_START_EVENT;
    yaml_event_type_t end = mapping ? YAML_MAPPING_END_EVENT : YAML_SEQUENCE_END_EVENT;
    if (event->type == YAML_SCALAR_EVENT) {
        *out = json_scalar(event);
        yaml_event_delete(event);
        return STATUS_OK;
    }
    if (depth >= MAX_DEPTH) {
        status = error_set(reading->error, STATUS_INVALID, "nested too deep");
        at_mark(reading, &event->start_mark);
        yaml_event_delete(event);
        return status;
    }
    yaml_event_delete(event);
    value = mapping ? json_object() : json_array();
    for (;;) {
        char *key = NULL;
        json_t *member = NULL;
        status = next_event(reading, event);
        if (status != STATUS_OK)
            break;
        if (event->type == end) {
            yaml_event_delete(event);
            *out = value;
            return STATUS_OK;
        }
        if (mapping) {
            if (event->type != YAML_SCALAR_EVENT) {
                status = error_set(reading->error, STATUS_INVALID, "a key must be a single word or text");
                at_mark(reading, &event->start_mark);
                yaml_event_delete(event);
                break;
            }
            key = str_dup(scalar_text(event));
            yaml_event_delete(event);
            status = next_event(reading, event);
        }
        if (status == STATUS_OK)
            status = json_value(reading, event, depth + 1, &member);
        if (status == STATUS_OK && mapping)
            json_put(value, key, member);
        else if (status == STATUS_OK)
            json_push(value, member);
        free(key);
        if (status != STATUS_OK)
            break;
    }
    json_decref(value);
    return status;
}

/* A key's place, kept while its value is read. */
struct place {
    yaml_mark_t mark;
    char origin[300]; /* "fathom.yaml:3:7" */
};

static void place_of(struct reading *reading, const yaml_mark_t *mark, struct place *place)
{
    place->mark = *mark;
    snprintf(place->origin, sizeof place->origin, "%s:%d:%d", reading->name, (int)mark->line + 1,
             byte_column(reading->text, mark->line, mark->column));
}

static enum status unknown_key(struct reading *reading, struct str path, const struct place *place)
{
    const char *nearest = option_suggest(path, OPTION_GROUPS_ALL);
    if (nearest != NULL)
        error_set(reading->error, STATUS_INVALID, "unknown key \"%.*s\"; did you mean \"%s\"?", STR_ARG(path), nearest);
    else
        error_set(reading->error, STATUS_INVALID, "unknown key \"%.*s\"", STR_ARG(path));
    at_mark(reading, &place->mark);
    return STATUS_INVALID;
}

static enum status put_scalar(struct reading *reading, const struct option_spec *spec, const yaml_event_t *event)
{
    struct place place = {0};
    if (!reading->config->values[spec->id][CONFIG_FILE].set) /* the first of a list is its origin */
        place_of(reading, &event->start_mark, &place);
    enum status status =
        config_put(reading->config, spec->id, CONFIG_FILE, scalar_text(event), place.origin, reading->error);
    if (status != STATUS_OK) {
        char message[512];
        if (reading->error != NULL) {
            snprintf(message, sizeof message, "%s", reading->error->message);
            error_set(reading->error, status, "%s: %s", spec->name, message);
        }
        at_mark(reading, &event->start_mark);
    }
    return status;
}

static enum status wrong_shape(struct reading *reading, const struct option_spec *spec, const yaml_mark_t *mark,
                               const char *wanted)
{
    error_set(reading->error, STATUS_INVALID, "%s: %s is wanted here", spec->name, wanted);
    at_mark(reading, mark);
    return STATUS_INVALID;
}

/* The rest of a sequence; its start has been taken. */
static enum status read_sequence(struct reading *reading, const struct option_spec *spec)
{
    for (;;) {
        yaml_event_t event;
        enum status status = next_event(reading, &event);
        if (status != STATUS_OK)
            return status;
        bool end = event.type == YAML_SEQUENCE_END_EVENT;
        if (!end && event.type != YAML_SCALAR_EVENT)
            status = wrong_shape(reading, spec, &event.start_mark, "a list of single values");
        else if (!end)
            status = put_scalar(reading, spec, &event);
        yaml_event_delete(&event);
        if (end || status != STATUS_OK)
            return status;
    }
}

/* The value of an option; takes the event that begins it. */
static enum status read_option(struct reading *reading, const struct option_spec *spec, yaml_event_t *event,
                               const struct place *place)
{
    enum status status = STATUS_OK;
    if (reading->config->values[spec->id][CONFIG_FILE].set) {
        status = error_set(reading->error, STATUS_INVALID, "%s is given twice, first at %s", spec->name,
                           reading->config->values[spec->id][CONFIG_FILE].origin);
        at_mark(reading, &place->mark);
    } else if (spec->type == OPTION_JSON && event->type == YAML_MAPPING_START_EVENT) {
        json_t *object = NULL;
        status = json_value(reading, event, 0, &object);
        if (status == STATUS_OK)
            config_put_json(reading->config, spec->id, CONFIG_FILE, object, place->origin);
        return status;
    } else if (event->type == YAML_SEQUENCE_START_EVENT && spec->list) {
        yaml_event_delete(event);
        return read_sequence(reading, spec);
    } else if (event->type != YAML_SCALAR_EVENT) {
        status = wrong_shape(reading, spec, &event->start_mark, spec->list ? "a value or a list" : "a single value");
    } else if (!is_null(event)) {
        status = put_scalar(reading, spec, event);
    }
    yaml_event_delete(event);
    return status;
}

/* Whether some option's name continues `path`. */
static bool leads_somewhere(struct str path)
{
    if (str_equal(path, STR("agent")))
        return true;
    for (int i = 0; i < OPTION_COUNT; i++) {
        struct str name = str_of(option_spec((enum option_id)i)->name);
        if (str_starts_with(name, path) && name.len > path.len && name.data[path.len] == '-')
            return true;
    }
    return false;
}

static enum status read_mapping(struct reading *reading, struct str prefix, int depth);

/* Appends a key's whole path, underscores as dashes. */
static enum status read_key(struct reading *reading, struct str prefix, const yaml_event_t *event, struct buf *path)
{
    if (event->type != YAML_SCALAR_EVENT) {
        error_set(reading->error, STATUS_INVALID, "a key must be a single word");
        at_mark(reading, &event->start_mark);
        return STATUS_INVALID;
    }
    buf_add(path, prefix);
    if (prefix.len > 0)
        buf_add_char(path, '-');
    buf_add(path, scalar_text(event));
    for (size_t i = 0; i < path->len; i++) {
        if (path->data[i] == '_')
            path->data[i] = '-';
    }
    return STATUS_OK;
}

/* The value of the key `path`; takes the event that begins it. */
static enum status read_member(struct reading *reading, struct str path, yaml_event_t *event, const struct place *place,
                               int depth)
{
    const struct option_spec *spec = option_find(path);
    bool mapping = event->type == YAML_MAPPING_START_EVENT;
    if (mapping && (spec == NULL || spec->type != OPTION_JSON) && depth < MAX_DEPTH && leads_somewhere(path)) {
        yaml_event_delete(event);
        return read_mapping(reading, path, depth + 1);
    }
    if (spec == NULL) {
        yaml_event_delete(event);
        return unknown_key(reading, path, place);
    }
    return read_option(reading, spec, event, place);
}

/* A mapping's members, each below `prefix`; the mapping's start has been taken. */
static enum status read_mapping(struct reading *reading, struct str prefix, int depth)
{
    for (;;) {
        yaml_event_t event;
        struct place place;
        enum status status = next_event(reading, &event);
        if (status != STATUS_OK)
            return status;
        place_of(reading, &event.start_mark, &place);
        if (event.type == YAML_MAPPING_END_EVENT) {
            yaml_event_delete(&event);
            return STATUS_OK;
        }
        struct buf path;
        buf_init(&path, BUF_UNBOUNDED);
        status = read_key(reading, prefix, &event, &path);
        yaml_event_delete(&event);
        if (status == STATUS_OK)
            status = next_event(reading, &event);
        if (status == STATUS_OK)
            status = read_member(reading, buf_str(&path), &event, &place, depth);
        buf_finish(&path);
        if (status != STATUS_OK)
            return status;
    }
}

/* The document's root, and that nothing follows it. */
static enum status read_stream(struct reading *reading)
{
    bool seen_root = false;
    for (;;) {
        yaml_event_t event;
        enum status status = next_event(reading, &event);
        if (status != STATUS_OK)
            return status;
        yaml_event_type_t type = event.type;
        yaml_mark_t mark = event.start_mark;
        bool empty = type == YAML_SCALAR_EVENT && is_null(&event);
        yaml_event_delete(&event);
        switch (type) {
        case YAML_STREAM_END_EVENT:
            return STATUS_OK;
        case YAML_MAPPING_START_EVENT:
            if (seen_root) {
                error_set(reading->error, STATUS_INVALID, "only one YAML document is understood");
                at_mark(reading, &mark);
                return STATUS_INVALID;
            }
            seen_root = true;
            status = read_mapping(reading, STR(""), 0);
            if (status != STATUS_OK)
                return status;
            break;
        case YAML_SCALAR_EVENT:
        case YAML_SEQUENCE_START_EVENT:
            if (empty)
                break;
            error_set(reading->error, STATUS_INVALID, "the file must hold \"key: value\" lines");
            at_mark(reading, &mark);
            return STATUS_INVALID;
        case YAML_NO_EVENT:
        case YAML_STREAM_START_EVENT:
        case YAML_DOCUMENT_START_EVENT:
        case YAML_DOCUMENT_END_EVENT:
        case YAML_ALIAS_EVENT:
        case YAML_SEQUENCE_END_EVENT:
        case YAML_MAPPING_END_EVENT:
            break;
        }
    }
}

enum status config_read_yaml(struct config *config, const char *name, struct str text, struct error *error)
{
    struct reading reading = {.config = config, .name = name, .text = text, .error = error};
    if (!yaml_parser_initialize(&reading.parser))
        abort();
    yaml_parser_set_encoding(&reading.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&reading.parser, (const unsigned char *)text.data, text.len);
    enum status status = read_stream(&reading);
    yaml_parser_delete(&reading.parser);
    return status;
}
