#include "api/config_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/file.h"
#include "core/hash.h"
#include "core/log.h"
#include "core/mem.h"
#include "net/url.h"

#define MAX_FILE_BYTES ((size_t)1024 * 1024)

/* Variables that other programs of this kind read and that this one has no use for yet. */
static const char *const foreign_variables[] = {"SANDBOX_FUSION_ENDPOINT"};

struct config *config_create(void)
{
    return mem_zalloc(sizeof(struct config));
}

void config_destroy(struct config *config)
{
    if (config == NULL)
        return;
    for (size_t id = 0; id < OPTION_COUNT; id++) {
        for (size_t source = 0; source < CONFIG_SOURCE_COUNT; source++) {
            struct config_value *value = &config->values[id][source];
            for (size_t i = 0; i < value->count; i++)
                free(value->texts[i]);
            free(value->texts);
            free(value->origin);
            json_decref(value->json);
        }
    }
    free(config->file);
    free(config->openai_base_url);
    free(config);
}

/* ---- putting in ---- */

enum status config_load_text(struct config *config, const char *name, struct str text, struct error *error)
{
    return config_read_yaml(config, name, text, error);
}

enum status config_load_file(struct config *config, const char *path, struct error *error)
{
    struct buf text;
    buf_init(&text, MAX_FILE_BYTES);
    enum status status = file_read(path, &text, error);
    if (status == STATUS_OK)
        status = config_read_yaml(config, path, buf_str(&text), error);
    buf_finish(&text);
    if (status == STATUS_OK) {
        free(config->file);
        config->file = mem_strdup(path);
    }
    return status;
}

enum status config_load_usual_file(struct config *config, struct error *error)
{
    if (access("fathom.yaml", F_OK) == 0) {
        config->file_was_found = true;
        return config_load_file(config, "fathom.yaml", error);
    }
    const char *base = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    char *path = NULL;
    if (base != NULL && base[0] == '/')
        path = mem_printf("%s/fathom/config.yaml", base);
    else if (home != NULL && home[0] == '/')
        path = mem_printf("%s/.config/fathom/config.yaml", home);
    enum status status = STATUS_OK;
    if (path != NULL && access(path, F_OK) == 0)
        status = config_load_file(config, path, error);
    free(path);
    return status;
}

/* The value of a variable in a list like environ, NULL when it is unset or empty. */
static const char *variable(const char *const *environment, const char *name)
{
    size_t length = strlen(name);
    for (; *environment != NULL; environment++) {
        if (strncmp(*environment, name, length) == 0 && (*environment)[length] == '=')
            return (*environment)[length + 1] != '\0' ? *environment + length + 1 : NULL;
    }
    return NULL;
}

/* The first variable of the option that is set: its value, and its name in `name`. */
static const char *find_variable(const struct option_spec *spec, const char *const *environment, char *name,
                                 size_t size)
{
    const char *value = variable(environment, option_environment_name(spec, name, size));
    struct str rest = str_of(spec->environment), other;
    while (value == NULL && str_split_next(&rest, ' ', &other)) {
        snprintf(name, size, "%.*s", STR_ARG(other));
        value = variable(environment, name);
    }
    /* A name this common counts only beside the address it belongs to. */
    if (value != NULL && strcmp(name, "API_KEY") == 0 && variable(environment, "API_BASE") == NULL)
        return NULL;
    return value;
}

/* Says which FATHOM_… variables have no meaning: most likely they are misspelt. */
static void warn_of_unknown_variables(const char *const *environment)
{
    for (; *environment != NULL; environment++) {
        struct str entry = str_of(*environment);
        struct str name = str_slice(entry, 0, str_find_char(entry, '=', 0));
        char lower[80];
        if (!str_starts_with(name, STR("FATHOM_")) || str_equal(name, STR("FATHOM_CONFIG")) || name.len >= sizeof lower)
            continue;
        struct str rest = str_slice(name, 7, name.len);
        for (size_t i = 0; i < rest.len; i++)
            lower[i] = rest.data[i] == '_' ? '-' : ascii_lower(rest.data[i]);
        struct str option = str_make(lower, rest.len);
        const struct option_spec *spec = option_find(option);
        if (spec != NULL && !str_starts_with(option, STR("agent-")))
            continue;
        const char *nearest = option_suggest(option, OPTION_GROUPS_ALL);
        char variable_name[80] = "";
        if (nearest != NULL)
            option_environment_name(option_find(str_of(nearest)), variable_name, sizeof variable_name);
        log_message(LOG_WARNING, "config", "%.*s is no setting and changes nothing%s%s%s", STR_ARG(name),
                    nearest != NULL ? "; did you mean " : "", variable_name, nearest != NULL ? "?" : "");
    }
}

enum status config_load_environment(struct config *config, const char *const *environment, struct error *error)
{
    for (int id = 0; id < OPTION_COUNT; id++) {
        const struct option_spec *spec = option_spec((enum option_id)id);
        char name[80];
        const char *value = find_variable(spec, environment, name, sizeof name);
        if (value == NULL)
            continue;
        enum status status = config_put(config, spec->id, CONFIG_ENVIRONMENT, str_of(value), name, error);
        if (status != STATUS_OK) {
            error_at(error, name, 0, 0);
            return status;
        }
    }
    free(config->openai_base_url);
    config->openai_base_url = mem_strdup_or_null(variable(environment, "OPENAI_BASE_URL"));
    config->n_unused = 0;
    for (size_t i = 0; i < sizeof foreign_variables / sizeof foreign_variables[0]; i++) {
        if (variable(environment, foreign_variables[i]) != NULL)
            config->unused[config->n_unused++] = foreign_variables[i];
    }
    warn_of_unknown_variables(environment);
    return STATUS_OK;
}

enum status config_set(struct config *config, enum option_id id, struct str value, struct error *error)
{
    char place[80];
    snprintf(place, sizeof place, "--%s", option_spec(id)->name);
    enum status status = config_put(config, id, CONFIG_FLAG, value, place, error);
    if (status != STATUS_OK)
        error_at(error, place, 0, 0);
    return status;
}

/* ---- settling ---- */

static enum status at_origin(const struct config *config, enum option_id id, enum status status, struct error *error)
{
    char origin[300];
    error_at(error, config_origin(config, id, origin, sizeof origin), 0, 0);
    return status;
}

/* Appends an address as it will be asked for, where it has a place for a language. */
static void fill_language(struct buf *out, struct str text)
{
    size_t at = str_find(text, STR("{language}"), 0);
    buf_add(out, str_slice(text, 0, at));
    if (at != STR_NONE) {
        buf_add_text(out, "en");
        buf_add(out, str_slice(text, at + strlen("{language}"), text.len));
    }
}

static enum status check_urls(const struct config *config, enum option_id id, struct error *error)
{
    size_t count;
    const char *const *urls = config_list(config, id, &count);
    for (size_t i = 0; i < count; i++) {
        struct url url;
        struct error inner;
        struct str text = str_of(urls[i]);
        bool known = str_starts_with_nocase(text, STR("http://")) || str_starts_with_nocase(text, STR("https://"));
        if (!known && str_find(text, STR("://"), 0) == STR_NONE) {
            error_set(error, STATUS_INVALID, "\"%s\" is no address: it must begin with http:// or https://", urls[i]);
            return at_origin(config, id, STATUS_INVALID, error);
        }
        struct buf sample;
        buf_init(&sample, BUF_UNBOUNDED);
        fill_language(&sample, text);
        enum status status = url_parse(buf_str(&sample), &url, &inner);
        buf_finish(&sample);
        if (status != STATUS_OK) {
            error_set(error, STATUS_INVALID, "%s", inner.message);
            return at_origin(config, id, STATUS_INVALID, error);
        }
        url_finish(&url);
        if (!known && id != OPTION_PROXY) {
            error_set(error, STATUS_INVALID, "an address must begin with http:// or https://");
            return at_origin(config, id, STATUS_INVALID, error);
        }
    }
    return STATUS_OK;
}

static enum status check_date(const struct config *config, struct error *error)
{
    static const int days[] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    const char *date = config_text(config, OPTION_DATE);
    if (date == NULL)
        return STATUS_OK;
    int year = 0, month = 0, day = 0, end = 0;
    bool form = strlen(date) == 10 && strspn(date, "0123456789-") == 10 &&
                sscanf(date, "%4d-%2d-%2d%n", &year, &month, &day, &end) == 3 && end == 10;
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    if (form && month >= 1 && month <= 12 && day >= 1 && day <= days[month - 1] && (month != 2 || day < 29 || leap))
        return STATUS_OK;
    error_set(error, STATUS_INVALID, "\"%.40s\" is not a date: write it as 2026-03-01", date);
    return at_origin(config, OPTION_DATE, STATUS_INVALID, error);
}

static enum status check_headers(const struct config *config, enum option_id id, struct error *error)
{
    size_t count;
    const char *const *headers = config_list(config, id, &count);
    for (size_t i = 0; i < count; i++) {
        size_t name = strcspn(headers[i], ":");
        static const char token[] = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
        if (name == 0 || headers[i][name] == '\0' || strspn(headers[i], token) != name) {
            error_set(error, STATUS_INVALID, "a header is written 'Name: value'");
            return at_origin(config, id, STATUS_INVALID, error);
        }
        struct str given = str_make(headers[i], name);
        if (str_equal_ascii_nocase(given, STR("Content-Length")) ||
            str_equal_ascii_nocase(given, STR("Transfer-Encoding"))) {
            error_set(error, STATUS_INVALID, "%.*s is set by the request itself", STR_ARG(given));
            return at_origin(config, id, STATUS_INVALID, error);
        }
    }
    return STATUS_OK;
}

static enum status check_extra_body(const struct config *config, enum option_id id, struct error *error)
{
    static const char *const reserved[] = {"messages", "prompt"};
    const json_t *body = config_json(config, id);
    for (size_t i = 0; i < sizeof reserved / sizeof reserved[0]; i++) {
        if (json_object_get(body, reserved[i])) {
            error_set(error, STATUS_INVALID, "it may not have \"%s\": that is the conversation itself", reserved[i]);
            return at_origin(config, id, STATUS_INVALID, error);
        }
    }
    return STATUS_OK;
}

static enum status check_search(const struct config *config, struct error *error)
{
    size_t count;
    const char *const *names = config_list(config, OPTION_SEARCH, &count);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(names[i], "auto") == 0 && count > 1)
            error_set(error, STATUS_INVALID, "auto stands alone: it takes everything that is configured");
        else if (strcmp(names[i], "corpus") == 0 && config_text(config, OPTION_CORPUS) == NULL)
            error_set(error, STATUS_INVALID, "searching a corpus needs one: --corpus FILE.db, made by fathom index");
        else
            continue;
        return at_origin(config, OPTION_SEARCH, STATUS_INVALID, error);
    }
    return STATUS_OK;
}

static enum status check_together(const struct config *config, struct error *error)
{
    const char *model = config_text(config, OPTION_MODEL);
    bool builtin = model != NULL && strcmp(model, "builtin") == 0;
    if (config_number(config, OPTION_MAX_COST) > 0 && !builtin &&
        (!config_is_set(config, OPTION_PRICE_PROMPT) || !config_is_set(config, OPTION_PRICE_COMPLETION))) {
        error_set(error, STATUS_INVALID, "a limit on cost needs prices: set price-prompt and price-completion too");
        return at_origin(config, OPTION_MAX_COST, STATUS_INVALID, error);
    }
    return check_search(config, error);
}

enum status config_resolve(struct config *config, struct error *error)
{
    static const enum option_id addresses[] = {OPTION_BASE_URL,        OPTION_SUMMARY_BASE_URL,
                                               OPTION_SEARCH_URL,      OPTION_SERPER_URL,
                                               OPTION_BRAVE_URL,       OPTION_TAVILY_URL,
                                               OPTION_SEARXNG_URL,     OPTION_WIKIPEDIA_URL,
                                               OPTION_DUCKDUCKGO_URL,  OPTION_JINA_URL,
                                               OPTION_ARCHIVE_URL,     OPTION_PROXY,
                                               OPTION_VISION_BASE_URL, OPTION_TRANSCRIPTION_BASE_URL};
    static const enum option_id headers[] = {OPTION_HEADER, OPTION_SUMMARY_HEADER, OPTION_VISION_HEADER,
                                             OPTION_TRANSCRIPTION_HEADER};
    for (int id = 0; id < OPTION_COUNT; id++) {
        const struct option_spec *spec = option_spec((enum option_id)id);
        const char *text = spec->fallback, *origin = "default";
        if (text == NULL)
            continue;
        if (id == OPTION_PROTOCOL && config_is_set(config, OPTION_TEMPLATE)) {
            text = "completions"; /* a template means nothing to a chat endpoint */
            origin = "implied by template";
        }
        enum status status = config_put(config, spec->id, CONFIG_DEFAULT, str_of(text), origin, error);
        if (status != STATUS_OK)
            return status;
    }
    enum status status = STATUS_OK;
    for (size_t i = 0; status == STATUS_OK && i < sizeof addresses / sizeof addresses[0]; i++)
        status = check_urls(config, addresses[i], error);
    for (size_t i = 0; status == STATUS_OK && i < sizeof headers / sizeof headers[0]; i++)
        status = check_headers(config, headers[i], error);
    if (status == STATUS_OK)
        status = check_extra_body(config, OPTION_EXTRA_BODY, error);
    if (status == STATUS_OK)
        status = check_extra_body(config, OPTION_SUMMARY_EXTRA_BODY, error);
    if (status == STATUS_OK)
        status = check_extra_body(config, OPTION_VISION_EXTRA_BODY, error);
    if (status == STATUS_OK)
        status = check_date(config, error);
    if (status == STATUS_OK)
        status = check_together(config, error);
    return status;
}

/* ---- reading ---- */

const struct config_value *config_value(const struct config *config, enum option_id id)
{
    for (int source = CONFIG_SOURCE_COUNT - 1; source >= 0; source--) {
        if (config->values[id][source].set)
            return &config->values[id][source];
    }
    return NULL;
}

bool config_is_set(const struct config *config, enum option_id id)
{
    return config_source(config, id) != CONFIG_DEFAULT;
}

const char *config_text(const struct config *config, enum option_id id)
{
    const struct config_value *value = config_value(config, id);
    return value != NULL && value->count > 0 ? value->texts[0] : NULL;
}

int64_t config_integer(const struct config *config, enum option_id id)
{
    const struct config_value *value = config_value(config, id);
    return value != NULL ? value->integer : 0;
}

double config_number(const struct config *config, enum option_id id)
{
    const struct config_value *value = config_value(config, id);
    return value != NULL ? value->number : 0;
}

const json_t *config_json(const struct config *config, enum option_id id)
{
    const struct config_value *value = config_value(config, id);
    return value != NULL ? value->json : NULL;
}

const char *const *config_list(const struct config *config, enum option_id id, size_t *count)
{
    const struct config_value *value = config_value(config, id);
    *count = value != NULL ? value->count : 0;
    return value != NULL ? (const char *const *)value->texts : NULL;
}

enum config_source config_source(const struct config *config, enum option_id id)
{
    for (int source = CONFIG_SOURCE_COUNT - 1; source > 0; source--) {
        if (config->values[id][source].set)
            return (enum config_source)source;
    }
    return CONFIG_DEFAULT;
}

const char *config_origin(const struct config *config, enum option_id id, char *out, size_t size)
{
    const struct config_value *value = config_value(config, id);
    snprintf(out, size, "%s", value != NULL ? value->origin : "default");
    return out;
}

void config_describe(const struct config *config, enum option_id id, struct buf *out)
{
    const struct option_spec *spec = option_spec(id);
    const struct config_value *value = config_value(config, id);
    if (value == NULL || value->count == 0) {
        buf_add_text(out, "not set");
        return;
    }
    if (spec->secret) {
        buf_add_text(out, "set");
        return;
    }
    for (size_t i = 0; i < value->count; i++) {
        if (i > 0)
            buf_add_text(out, ", ");
        if (spec->argument != NULL && strcmp(spec->argument, "URL") == 0) {
            char *shown = url_without_credentials(str_of(value->texts[i]));
            buf_add_text(out, shown);
            free(shown);
        } else {
            buf_add_text(out, value->texts[i]);
        }
    }
}

bool config_is_found(const struct config *config, enum option_id id)
{
    return config->file_was_found && config_source(config, id) == CONFIG_FILE;
}

const char *config_file(const struct config *config)
{
    return config->file;
}

const char *const *config_unused_variables(const struct config *config, size_t *count)
{
    *count = config->n_unused;
    return config->unused;
}

/* A value in one spelling, whatever was written: "2h" and "120m" are the same time. */
static void add_canonical(struct buf *out, const struct option_spec *spec, const struct config_value *value)
{
    switch (spec->type) {
    case OPTION_INTEGER:
    case OPTION_DURATION:
    case OPTION_TOKENS:
    case OPTION_SIZE:
    case OPTION_FLAG:
        buf_addf(out, "%lld", (long long)value->integer);
        break;
    case OPTION_NUMBER:
        buf_addf(out, "%.17g", value->number);
        break;
    case OPTION_JSON: {
        char *text = json_dumps(value->json, JSON_COMPACT | JSON_SORT_KEYS);
        buf_add_text(out, text);
        free(text);
        break;
    }
    case OPTION_TEXT:
    case OPTION_CHOICE:
        for (size_t i = 0; i < value->count; i++)
            buf_addf(out, "%s%s", i > 0 ? "\n" : "", value->texts[i]);
        break;
    }
}

void config_hash(const struct config *config, char out[65])
{
    struct hash *hash = hash_begin();
    for (int id = 0; id < OPTION_COUNT; id++) {
        const struct option_spec *spec = option_spec((enum option_id)id);
        const struct config_value *value = config_value(config, spec->id);
        if (spec->secret || value == NULL)
            continue;
        struct buf text;
        buf_init(&text, BUF_UNBOUNDED);
        add_canonical(&text, spec, value);
        hash_add_field(hash, str_of(spec->name));
        hash_add_field(hash, buf_str(&text));
        buf_finish(&text);
    }
    hash_end(hash, out);
}
