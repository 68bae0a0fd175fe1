#include "api/settings.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "api/config.h"
#include "api/option.h"
#include "core/buf.h"
#include "core/mem.h"

/* ---- memory ---- */

void *settings_keep(struct settings_memory *memory, void *piece)
{
    memory->pieces = mem_grow(memory->pieces, memory->count, &memory->capacity, sizeof *memory->pieces);
    memory->pieces[memory->count++] = piece;
    return piece;
}

static void keep_secret(struct settings_memory *memory, const char *value)
{
    for (size_t i = 0; i < memory->n_secrets; i++) {
        if (strcmp(memory->secrets[i], value) == 0)
            return;
    }
    memory->secrets = mem_grow(memory->secrets, memory->n_secrets, &memory->secrets_capacity, sizeof *memory->secrets);
    memory->secrets[memory->n_secrets++] = value;
}

void settings_memory_finish(struct settings_memory *memory)
{
    for (size_t i = 0; i < memory->count; i++)
        free(memory->pieces[i]);
    free(memory->pieces);
    free(memory->secrets);
    *memory = (struct settings_memory){0};
}

/* ---- members ---- */

static bool same_name(const char *written, const char *name)
{
    for (; *written != '\0' && *name != '\0'; written++, name++) {
        if (*written != *name && !(*written == '_' && *name == '-'))
            return false;
    }
    return *written == *name;
}

const json_t *settings_get(const struct settings *settings, const char *name)
{
    const char *key;
    json_t *member;
    json_object_foreach ((json_t *)(uintptr_t)settings->object, key, member) {
        if (same_name(key, name) && !json_is_null(member))
            return member;
    }
    return NULL;
}

void settings_refuse(struct settings *settings, const char *name, const char *format, ...)
{
    char what[400];
    va_list arguments;
    if (settings->status != STATUS_OK)
        return;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    settings->status = error_set(settings->error, STATUS_INVALID, "%.100s%s%.60s: %s", settings->place,
                                 name != NULL ? "." : "", name != NULL ? name : "", what);
}

void settings_check_names(struct settings *settings, const char *const *names, size_t n_names)
{
    const char *key;
    json_t *member;
    if (!json_is_object(settings->object)) {
        settings_refuse(settings, NULL, "an object of settings is wanted here");
        return;
    }
    json_object_foreach ((json_t *)(uintptr_t)settings->object, key, member) {
        size_t i = 0;
        while (i < n_names && !same_name(key, names[i]))
            i++;
        if (i < n_names || settings->foreign)
            continue;
        const char *nearest = suggest_nearest(str_of(key), names, n_names);
        if (nearest != NULL)
            settings_refuse(settings, NULL, "unknown key \"%.60s\"; did you mean \"%s\"?", key, nearest);
        else
            settings_refuse(settings, NULL, "unknown key \"%.60s\"", key);
    }
}

/* ---- texts ---- */

/* Whether a variable or header of this name is likely to hold a key. */
static bool sounds_secret(const char *name)
{
    static const char *const words[] = {"key", "token", "secret", "passw", "auth", "credential", "cookie"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (str_find_nocase(str_of(name), str_of(words[i]), 0) != STR_NONE)
            return true;
    }
    return false;
}

/* Appends what stands for "${NAME}" or "${NAME:-else}"; `inside` is what is between the braces. */
static void expand_variable(struct settings *settings, const char *name, struct str inside, struct buf *out)
{
    size_t end = str_find(inside, STR(":-"), 0);
    struct str variable = str_slice(inside, 0, end);
    if (str_starts_with(variable, STR("env:")))
        variable = str_slice(variable, 4, variable.len);
    char *key = str_dup(variable);
    const char *value = getenv(key);
    if (settings->no_variables)
        settings_refuse(settings, name, "variables are not given to a file that was merely found in this folder");
    else if (value != NULL && *value != '\0') {
        buf_add_text(out, value);
        if (sounds_secret(key)) /* wherever it goes: an address and an argument may hold a key as well */
            keep_secret(settings->memory, settings_keep(settings->memory, mem_strdup(value)));
    } else if (end != STR_NONE)
        buf_add(out, str_slice(inside, end + 2, inside.len));
    else
        settings_refuse(settings, name, "the variable %.60s is not set", key);
    free(key);
}

/* The text with its variables replaced, in memory; *secret (NULL allowed) says whether there were any. */
static const char *expand(struct settings *settings, const char *name, struct str text, bool *secret)
{
    struct buf out;
    buf_init(&out, BUF_UNBOUNDED);
    while (text.len > 0) {
        size_t at = str_find(text, STR("${"), 0);
        size_t end = at == STR_NONE ? STR_NONE : str_find_char(text, '}', at);
        if (end == STR_NONE) {
            buf_add(&out, text);
            break;
        }
        buf_add(&out, str_slice(text, 0, at));
        expand_variable(settings, name, str_slice(text, at + 2, end), &out);
        if (secret != NULL)
            *secret = true;
        text = str_slice(text, end + 1, text.len);
    }
    return settings_keep(settings->memory, buf_take(&out));
}

/* A member that is a text without NUL; NULL, and a problem, when it is none. */
static const char *text_of(struct settings *settings, const char *name, const json_t *member, bool *secret)
{
    struct str text = {json_string_value(member), json_string_length(member)};
    if (!json_is_string(member) || memchr(text.data, '\0', text.len) != NULL) {
        settings_refuse(settings, name, "a text is wanted here");
        return NULL;
    }
    return expand(settings, name, text, secret);
}

const char *settings_text(struct settings *settings, const char *name)
{
    const json_t *member = settings_get(settings, name);
    const char *text = member != NULL ? text_of(settings, name, member, NULL) : NULL;
    if (text != NULL && *text == '\0')
        settings_refuse(settings, name, "a text is wanted here");
    return settings->status == STATUS_OK ? text : NULL;
}

const char *const *settings_list(struct settings *settings, const char *name, size_t *count)
{
    const json_t *member = settings_get(settings, name);
    *count = 0;
    if (member == NULL)
        return NULL;
    if (!json_is_string(member) && !json_is_array(member)) {
        settings_refuse(settings, name, "a list of texts is wanted here");
        return NULL;
    }
    size_t length = json_is_array(member) ? json_array_size(member) : 1;
    const char **list = settings_keep(settings->memory, mem_calloc(length + 1, sizeof *list));
    for (size_t i = 0; i < length; i++) {
        const json_t *item = json_is_array(member) ? json_array_get(member, i) : member;
        if (json_is_integer(item)) /* "port 8080" of a YAML list */
            list[i] = settings_keep(settings->memory, json_to_text(item));
        else
            list[i] = text_of(settings, name, item, NULL);
    }
    *count = settings->status == STATUS_OK ? length : 0;
    return settings->status == STATUS_OK ? list : NULL;
}

const char *settings_absolute(struct settings_memory *memory, const char *folder, const char *path)
{
    const char *home = getenv("HOME");
    if (strncmp(path, "~/", 2) == 0 && home != NULL)
        return settings_keep(memory, mem_printf("%s/%s", home, path + 2));
    if (path[0] == '/')
        return path;
    while (strncmp(path, "./", 2) == 0)
        path += 2;
    return settings_keep(memory, strcmp(path, ".") == 0 ? mem_strdup(folder) : mem_printf("%s/%s", folder, path));
}

const char *const *settings_paths(struct settings *settings, const char *name, size_t *count)
{
    const char *const *list = settings_list(settings, name, count);
    const char **paths = settings_keep(settings->memory, mem_calloc(*count + 1, sizeof *paths));
    for (size_t i = 0; i < *count; i++)
        paths[i] = settings_absolute(settings->memory, settings->folder, list[i]);
    return list != NULL ? paths : NULL;
}

const char *settings_path(struct settings *settings, const char *name)
{
    const char *text = settings_text(settings, name);
    return text != NULL ? settings_absolute(settings->memory, settings->folder, text) : NULL;
}

static const char *pair(struct settings *settings, const char *name, const char *key, const json_t *value,
                        char separator)
{
    bool secret = sounds_secret(key);
    const char *text = NULL;
    if (json_is_number(value) || json_is_boolean(value))
        text = settings_keep(settings->memory, json_to_text(value));
    else
        text = text_of(settings, name, value, &secret);
    if (*key == '\0' || strchr(key, separator) != NULL || strpbrk(key, "\r\n \t") != NULL)
        settings_refuse(settings, name, "\"%.60s\" is no name", key);
    else if (text != NULL && separator == ':' && strpbrk(text, "\r\n") != NULL)
        settings_refuse(settings, name, "the value of %.60s holds a line break", key);
    if (settings->status != STATUS_OK || text == NULL)
        return NULL;
    char *joined = settings_keep(settings->memory, mem_printf("%s%c%s", key, separator, text));
    if (secret) {
        const char *shown = joined + strlen(key) + 1;
        keep_secret(settings->memory, strncasecmp(shown, "Bearer ", 7) == 0 ? shown + 7 : shown);
    }
    return joined;
}

const char *const *settings_pairs(struct settings *settings, const char *name, char separator, size_t *count)
{
    const json_t *member = settings_get(settings, name);
    const char *key;
    json_t *value;
    *count = 0;
    if (member == NULL)
        return NULL;
    if (!json_is_object(member)) {
        settings_refuse(settings, name, "names with their values are wanted here");
        return NULL;
    }
    const char **pairs = settings_keep(settings->memory, mem_calloc(json_object_size(member) + 1, sizeof *pairs));
    json_object_foreach ((json_t *)(uintptr_t)member, key, value) {
        const char *text = pair(settings, name, key, value, separator);
        if (text != NULL)
            pairs[(*count)++] = text;
    }
    return settings->status == STATUS_OK ? pairs : NULL;
}

/* ---- other values ---- */

bool settings_flag(struct settings *settings, const char *name, bool fallback)
{
    const json_t *member = settings_get(settings, name);
    if (member != NULL && !json_is_boolean(member))
        settings_refuse(settings, name, "true or false is wanted here");
    return json_is_boolean(member) ? json_is_true(member) : fallback;
}

int64_t settings_integer(struct settings *settings, const char *name, int64_t minimum, int64_t fallback)
{
    const json_t *member = settings_get(settings, name);
    if (member == NULL)
        return fallback;
    if (!json_is_integer(member) || json_integer_value(member) < minimum) {
        settings_refuse(settings, name, "a whole number of at least %lld is wanted here", (long long)minimum);
        return fallback;
    }
    return json_integer_value(member);
}

int64_t settings_duration(struct settings *settings, const char *name, int64_t fallback)
{
    const json_t *member = settings_get(settings, name);
    int64_t milliseconds = 0;
    if (member == NULL || (settings->foreign && json_is_number(member)))
        return fallback;
    if (json_is_number(member)) {
        settings_refuse(settings, name, "the unit is missing: \"20s\", \"500ms\", \"2m\"");
    } else if (!json_is_string(member) ||
               !config_parse_duration(str_make(json_string_value(member), json_string_length(member)), &milliseconds)) {
        settings_refuse(settings, name, "a time like \"20s\", \"500ms\" or \"2m\" is wanted here");
    } else if (milliseconds < 1) {
        settings_refuse(settings, name, "a time of more than 0 is wanted here");
    } else {
        return milliseconds;
    }
    return fallback;
}

size_t settings_choice(struct settings *settings, const char *name, const char *const *choices, size_t n_choices,
                       size_t fallback)
{
    const json_t *member = settings_get(settings, name);
    if (member == NULL)
        return fallback;
    for (size_t i = 0; i < n_choices && json_is_string(member); i++) {
        if (strcmp(json_string_value(member), choices[i]) == 0)
            return i;
    }
    struct buf all;
    buf_init(&all, BUF_UNBOUNDED);
    for (size_t i = 0; i < n_choices; i++)
        buf_addf(&all, "%s%s", i == 0 ? "" : i + 1 == n_choices ? " or " : ", ", choices[i]);
    settings_refuse(settings, name, "%s is wanted here", all.data);
    buf_finish(&all);
    return fallback;
}
