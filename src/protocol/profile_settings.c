/* Reads profile.yaml with libyaml's events into struct profile, by a table of keys. */
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "core/mem.h"
#include "protocol/profile_internal.h"

struct reader {
    yaml_parser_t parser;
    yaml_event_t event; /* the current one */
    bool has_event;
    struct profile *profile;
    const char *place;
    struct error *error;
};

struct field;
typedef enum status (*field_fn)(struct reader *reader, const struct field *field);

/* A key and how its value is read. `names` are an enum's words in order, NULL at the end; `offset` is where in struct
 * profile the value goes. The reading function finds the value's first event in reader->event. */
struct field {
    const char *key;
    field_fn read;
    size_t offset;
    const char *const *names;
    double min, max;
    size_t flag_offset; /* of the bool that says a sampling value is set */
};

static void *target_of(const struct reader *reader, const struct field *field)
{
    return (char *)reader->profile + field->offset;
}

static enum status fail(const struct reader *reader, const char *format, ...) __attribute__((format(printf, 2, 3)));

static enum status fail(const struct reader *reader, const char *format, ...)
{
    char *message;
    va_list arguments;
    va_start(arguments, format);
    if (vasprintf(&message, format, arguments) < 0)
        abort();
    va_end(arguments);
    error_set(reader->error, STATUS_INVALID, "%s", message);
    error_at(reader->error, reader->place, (int)reader->event.start_mark.line + 1,
             (int)reader->event.start_mark.column + 1);
    free(message);
    return STATUS_INVALID;
}

/* Goes on to the next event. */
static enum status next(struct reader *reader)
{
    if (reader->has_event)
        yaml_event_delete(&reader->event);
    reader->has_event = yaml_parser_parse(&reader->parser, &reader->event) == 1;
    if (reader->has_event) {
        if (reader->event.type == YAML_ALIAS_EVENT)
            return fail(reader, "aliases are not used in profiles");
        return STATUS_OK;
    }
    memset(&reader->event, 0, sizeof reader->event);
    const yaml_parser_t *parser = &reader->parser;
    error_set(reader->error, STATUS_SYNTAX, "invalid YAML: %s", parser->problem ? parser->problem : "out of memory");
    error_at(reader->error, reader->place, (int)parser->problem_mark.line + 1, (int)parser->problem_mark.column + 1);
    return STATUS_SYNTAX;
}

static struct str scalar(const struct reader *reader)
{
    return str_make((const char *)reader->event.data.scalar.value, reader->event.data.scalar.length);
}

static enum status want_scalar(const struct reader *reader, const struct field *field)
{
    if (reader->event.type != YAML_SCALAR_EVENT)
        return fail(reader, "\"%s\" takes a single value", field->key);
    if (memchr(scalar(reader).data, 0, scalar(reader).len))
        return fail(reader, "\"%s\" holds a NUL character", field->key);
    return STATUS_OK;
}

static enum status read_text(struct reader *reader, const struct field *field)
{
    enum status status = want_scalar(reader, field);
    if (status != STATUS_OK)
        return status;
    char **text = target_of(reader, field);
    free(*text);
    *text = str_dup(scalar(reader));
    return STATUS_OK;
}

static enum status choose(const struct reader *reader, const char *key, const char *const *names, int *choice)
{
    struct buf list;
    buf_init(&list, BUF_UNBOUNDED);
    for (int i = 0; names[i]; i++) {
        if (reader->event.type == YAML_SCALAR_EVENT && str_equal(scalar(reader), str_of(names[i]))) {
            *choice = i;
            buf_finish(&list);
            return STATUS_OK;
        }
        buf_addf(&list, "%s%s", i > 0 ? ", " : "", names[i]);
    }
    enum status status = fail(reader, "\"%s\" is one of: %s", key, list.data);
    buf_finish(&list);
    return status;
}

/* All enums of struct profile have the size of an int; the assertions below see to it. */
static enum status read_choice(struct reader *reader, const struct field *field)
{
    return choose(reader, field->key, field->names, target_of(reader, field));
}

static enum status read_number(const struct reader *reader, const struct field *field, double *number)
{
    enum status status = want_scalar(reader, field);
    if (status != STATUS_OK)
        return status;
    if (!str_to_double(scalar(reader), number) || !(*number >= field->min && *number <= field->max))
        return fail(reader, "\"%s\" is a number from %g to %g", field->key, field->min, field->max);
    return STATUS_OK;
}

static void set_flag(struct reader *reader, const struct field *field)
{
    if (field->flag_offset)
        *(bool *)((char *)reader->profile + field->flag_offset) = true;
}

static enum status read_real(struct reader *reader, const struct field *field)
{
    double number;
    enum status status = read_number(reader, field, &number);
    if (status != STATUS_OK)
        return status;
    *(double *)target_of(reader, field) = number;
    set_flag(reader, field);
    return STATUS_OK;
}

static enum status read_whole(struct reader *reader, const struct field *field)
{
    double number;
    enum status status = read_number(reader, field, &number);
    if (status != STATUS_OK)
        return status;
    if (number != (double)(int64_t)number)
        return fail(reader, "\"%s\" is a whole number", field->key);
    *(int64_t *)target_of(reader, field) = (int64_t)number;
    set_flag(reader, field);
    return STATUS_OK;
}

/* Reads a mapping whose keys `fields` knows; the current event begins it. */
static enum status read_mapping(struct reader *reader, const char *what, const struct field *fields, size_t count)
{
    bool seen[32] = {false};
    if (reader->event.type != YAML_MAPPING_START_EVENT)
        return fail(reader, "%s is a mapping of keys to values", what);
    for (;;) {
        enum status status = next(reader);
        if (status != STATUS_OK || reader->event.type == YAML_MAPPING_END_EVENT)
            return status;
        if (reader->event.type != YAML_SCALAR_EVENT)
            return fail(reader, "a key of %s is a word", what);
        size_t i = 0;
        while (i < count && !str_equal(scalar(reader), str_of(fields[i].key)))
            i++;
        if (i == count)
            return fail(reader, "unknown key \"%.*s\" in %s", STR_ARG(scalar(reader)), what);
        if (seen[i])
            return fail(reader, "\"%s\" stands twice in %s", fields[i].key, what);
        seen[i] = true;
        status = next(reader);
        if (status == STATUS_OK)
            status = fields[i].read(reader, &fields[i]);
        if (status != STATUS_OK)
            return status;
    }
}

#define SAMPLING(name)      offsetof(struct profile, sampling.name), NULL
#define SAMPLING_FLAG(name) offsetof(struct profile, sampling.has_##name)

static const struct field sampling_fields[] = {
    {"temperature", read_real, SAMPLING(temperature), 0, 10, SAMPLING_FLAG(temperature)},
    {"top_p", read_real, SAMPLING(top_p), 0, 1, SAMPLING_FLAG(top_p)},
    {"top_k", read_whole, SAMPLING(top_k), -1, 1e9, SAMPLING_FLAG(top_k)},
    {"min_p", read_real, SAMPLING(min_p), 0, 1, SAMPLING_FLAG(min_p)},
    {"presence_penalty", read_real, SAMPLING(presence_penalty), -2, 2, SAMPLING_FLAG(presence_penalty)},
    {"repetition_penalty", read_real, SAMPLING(repetition_penalty), 0.01, 10, SAMPLING_FLAG(repetition_penalty)},
};

/* A profile that samples in its own way takes nothing over from its base. */
static enum status read_sampling(struct reader *reader, const struct field *field)
{
    (void)field;
    reader->profile->sampling = (struct sampling){0};
    return read_mapping(reader, "sampling", sampling_fields, sizeof sampling_fields / sizeof sampling_fields[0]);
}

static enum status read_models(struct reader *reader, const struct field *field)
{
    struct profile_prompts *prompts = reader->profile->prompts;
    if (reader->event.type != YAML_SEQUENCE_START_EVENT)
        return fail(reader, "\"models\" is a list of patterns");
    for (;;) {
        enum status status = next(reader);
        if (status != STATUS_OK || reader->event.type == YAML_SEQUENCE_END_EVENT)
            return status;
        status = want_scalar(reader, field);
        if (status != STATUS_OK)
            return status;
        prompts->models =
            mem_grow(prompts->models, prompts->n_models, &prompts->models_capacity, sizeof *prompts->models);
        prompts->models[prompts->n_models++] = str_dup(scalar(reader));
    }
}

static enum status read_base(struct reader *reader, const struct field *field)
{
    enum status status = want_scalar(reader, field);
    if (status != STATUS_OK)
        return status;
    free(reader->profile->prompts->base);
    reader->profile->prompts->base = str_dup(scalar(reader));
    return STATUS_OK;
}

/* A file of the profile's own folder: no way out of it. */
static bool is_inner_path(struct str path)
{
    return path.len > 0 && path.data[0] != '/' && !str_equal(path, STR("..")) && !str_starts_with(path, STR("../")) &&
           str_find(path, STR("/../"), 0) == STR_NONE && !str_ends_with(path, STR("/.."));
}

static const char *const syntaxes[] = {"fathom", "python", "verbatim", NULL};

const char *profile_syntax_name(enum prompt_syntax syntax)
{
    return syntaxes[syntax];
}

static enum status read_prompt(struct reader *reader, struct prompt_text *prompt)
{
    if (reader->event.type != YAML_MAPPING_START_EVENT)
        return fail(reader, "a prompt is a mapping of \"file\", \"syntax\" and \"append\"");
    for (;;) {
        enum status status = next(reader);
        if (status != STATUS_OK || reader->event.type == YAML_MAPPING_END_EVENT)
            return status;
        bool is_key = reader->event.type == YAML_SCALAR_EVENT;
        bool file = is_key && str_equal(scalar(reader), STR("file"));
        bool append = is_key && str_equal(scalar(reader), STR("append"));
        bool syntax = is_key && str_equal(scalar(reader), STR("syntax"));
        if (!file && !append && !syntax)
            return fail(reader, "a prompt knows \"file\", \"syntax\" and \"append\"");
        status = next(reader);
        if (status != STATUS_OK)
            return status;
        int choice = 0;
        if (syntax) {
            status = choose(reader, "syntax", syntaxes, &choice);
            prompt->syntax = (enum prompt_syntax)choice;
        } else {
            const struct field field = {.key = file ? "file" : "append"};
            status = want_scalar(reader, &field);
            if (status == STATUS_OK && file && !is_inner_path(scalar(reader)))
                status = fail(reader, "\"file\" is a path inside the profile's folder");
            if (status == STATUS_OK) {
                char **text = file ? &prompt->file : &prompt->append;
                free(*text);
                *text = str_dup(scalar(reader));
            }
        }
        if (status != STATUS_OK)
            return status;
    }
}

static enum status read_prompts(struct reader *reader, const struct field *field)
{
    (void)field;
    if (reader->event.type != YAML_MAPPING_START_EVENT)
        return fail(reader, "\"prompts\" is a mapping of prompts");
    for (;;) {
        enum status status = next(reader);
        if (status != STATUS_OK || reader->event.type == YAML_MAPPING_END_EVENT)
            return status;
        enum prompt_id id =
            reader->event.type == YAML_SCALAR_EVENT ? profile_prompt_find(scalar(reader)) : PROMPT_COUNT;
        if (id == PROMPT_COUNT)
            return fail(reader, "there is no prompt of this name");
        struct prompt_text *prompt = &reader->profile->prompts->texts[id];
        free(prompt->file);
        free(prompt->append);
        prompt->file = prompt->append = NULL;
        prompt->syntax = SYNTAX_FATHOM;
        status = next(reader);
        if (status == STATUS_OK)
            status = read_prompt(reader, prompt);
        if (status != STATUS_OK)
            return status;
    }
}

static const struct field separator_fields[] = {
    {.key = "result", .read = read_text, .offset = offsetof(struct profile, result_separator)},
    {.key = "search", .read = read_text, .offset = offsetof(struct profile, search_separator)},
    {.key = "visit", .read = read_text, .offset = offsetof(struct profile, visit_separator)},
};

static enum status read_separators(struct reader *reader, const struct field *field)
{
    return read_mapping(reader, field->key, separator_fields, sizeof separator_fields / sizeof separator_fields[0]);
}

#define CHOICE(member) read_choice, offsetof(struct profile, member)
#define WORDS(...)        \
    (const char *const[]) \
    {                     \
        __VA_ARGS__, NULL \
    }

/* The description comes first: it is not among the settings that profile_settings_to_json gives. */
static const struct field fields[] = {
    {.key = "description", .read = read_text, .offset = offsetof(struct profile, description)},
    {.key = "base", .read = read_base},
    {.key = "models", .read = read_models},
    {"layout", CHOICE(layout), WORDS("system", "user"), 0, 0, 0},
    {"tools", CHOICE(tool_rendering), WORDS("lines", "pretty", "list"), 0, 0, 0},
    {"calls", CHOICE(calls), WORDS("all", "first", "last"), 0, 0, 0},
    {"dialect", CHOICE(dialect), WORDS("json", "xml"), 0, 0, 0},
    {"demand", CHOICE(demand), WORDS("inside", "append", "replace"), 0, 0, 0},
    {"history", CHOICE(history), WORDS("inline", "field", "drop"), 0, 0, 0},
    {"thought", CHOICE(thought), WORDS("none", "expected", "opened"), 0, 0, 0},
    {"observations", CHOICE(observations), WORDS("generic", "trained"), 0, 0, 0},
    {"max_tokens", read_whole, offsetof(struct profile, max_tokens), NULL, 16, 1e9, 0},
    {.key = "sampling", .read = read_sampling},
    {.key = "separators", .read = read_separators},
    {.key = "prompts", .read = read_prompts},
};

_Static_assert(sizeof(enum profile_layout) == sizeof(int) && sizeof(enum thought_history) == sizeof(int),
               "read_choice writes enums as int");

enum status profile_settings_read(struct profile *profile, struct str yaml, const char *place, struct error *error)
{
    struct reader reader = {.profile = profile, .place = place, .error = error};
    if (!yaml_parser_initialize(&reader.parser))
        abort();
    yaml_parser_set_input_string(&reader.parser, (const unsigned char *)(yaml.data ? yaml.data : ""), yaml.len);
    enum status status;
    do
        status = next(&reader);
    while (status == STATUS_OK &&
           (reader.event.type == YAML_STREAM_START_EVENT || reader.event.type == YAML_DOCUMENT_START_EVENT));
    if (status == STATUS_OK && reader.event.type != YAML_STREAM_END_EVENT)
        status = read_mapping(&reader, "profile.yaml", fields, sizeof fields / sizeof fields[0]);
    if (status == STATUS_OK && reader.event.type == YAML_MAPPING_END_EVENT)
        status = next(&reader); /* the document's end */
    if (status == STATUS_OK && reader.event.type == YAML_DOCUMENT_END_EVENT)
        status = next(&reader);
    if (status == STATUS_OK && reader.event.type != YAML_STREAM_END_EVENT)
        status = fail(&reader, "a profile is a single document");
    if (reader.has_event)
        yaml_event_delete(&reader.event);
    yaml_parser_delete(&reader.parser);
    return status;
}

/* Adds what `fields` says of the profile; sampling values only where they are set. */
static void add_fields(json_t *object, const struct profile *profile, const struct field *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct field *field = &list[i];
        const char *target = (const char *)profile + field->offset;
        if (field->flag_offset && !*(const bool *)((const char *)profile + field->flag_offset))
            continue;
        if (field->read == read_choice)
            json_put(object, field->key, json_string(field->names[*(const int *)(const void *)target]));
        else if (field->read == read_text)
            json_put_str(object, field->key, str_of(*(char *const *)(const void *)target));
        else if (field->read == read_real)
            json_put(object, field->key, json_real(*(const double *)(const void *)target));
        else if (field->read == read_whole)
            json_put(object, field->key, json_integer(*(const int64_t *)(const void *)target));
    }
}

json_t *profile_settings_to_json(const struct profile *profile)
{
    json_t *settings = json_object(), *sampling = json_object(), *separators = json_object(), *models = json_array();
    for (size_t i = 0; i < profile->prompts->n_models; i++)
        json_push(models, json_from_str(str_of(profile->prompts->models[i])));
    json_put(settings, "models", models);
    add_fields(settings, profile, fields + 1, sizeof fields / sizeof fields[0] - 1);
    add_fields(sampling, profile, sampling_fields, sizeof sampling_fields / sizeof sampling_fields[0]);
    add_fields(separators, profile, separator_fields, sizeof separator_fields / sizeof separator_fields[0]);
    json_put(settings, "sampling", sampling);
    json_put(settings, "separators", separators);
    return settings;
}
