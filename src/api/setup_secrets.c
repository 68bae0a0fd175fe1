/* src/api/setup_secrets.c: what a configuration names that must not be shown. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "api/setup_internal.h"
#include "core/base64.h"
#include "core/mem.h"
#include "net/url.h"

/* Names under which keys go. */
static bool names_secret(struct str name)
{
    static const char *const parts[] = {"key",  "token",  "secret",  "pass",    "pwd", "auth",
                                        "cred", "cookie", "session", "private", "sign"};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        if (str_find_nocase(name, str_of(parts[i]), 0) != STR_NONE)
            return true;
    }
    return false;
}

/* Whether a value looks made by a machine: long, or letters and digits together. "production", "application/json" and
 * the like say nothing, and to take such words out of all that a model reads would be worse. */
static bool looks_made(const char *value)
{
    bool letter = false, digit = false;
    for (const char *c = value; *c; c++) {
        letter = letter || ascii_is_alpha(*c);
        digit = digit || ascii_is_digit(*c);
    }
    return (letter && digit) || strlen(value) >= 32;
}

static void add_value(struct setup *setup, struct str name, const char *value)
{
    if (!names_secret(name) && !looks_made(value))
        return;
    bool bearer = strncasecmp(value, "Bearer ", 7) == 0, basic = strncasecmp(value, "Basic ", 6) == 0;
    setup_add_secret(setup, value + (bearer ? 7 : basic ? 6 : 0));
}

/* Headers may hold keys under any name. */
static void add_header_secrets(struct setup *setup, enum option_id id)
{
    size_t count;
    const char *const *headers = config_list(setup->config, id, &count);
    for (size_t i = 0; i < count; i++) {
        const char *colon = strchr(headers[i], ':');
        const char *value = colon ? colon + 1 : headers[i];
        struct str name = str_slice(str_of(headers[i]), 0, colon ? (size_t)(colon - headers[i]) : 0);
        add_value(setup, name, value + strspn(value, " \t"));
    }
}

static void own_secret(struct setup *setup, char *secret)
{
    struct setup_private *private = setup->private;
    private->owned_secrets = mem_grow(private->owned_secrets, private->n_owned_secrets, &private->owned_capacity,
                                      sizeof *private->owned_secrets);
    private->owned_secrets[private->n_owned_secrets++] = secret;
    setup_add_secret(setup, secret);
}

static void add_place(struct setup *setup, const char *place)
{
    struct setup_private *private = setup->private;
    private->places = mem_grow(private->places, private->n_places, &private->places_capacity, sizeof *private->places);
    private->places[private->n_places++] = mem_strdup(place);
}

/* "?apiKey=…": the values of parameters by whose names one is known, as they stand there. */
static void add_query_secrets(struct setup *setup, struct str query)
{
    struct str parameter;
    while (str_split_next(&query, '&', &parameter)) {
        size_t equals = str_find_char(parameter, '=', 0);
        if (equals != STR_NONE && names_secret(str_slice(parameter, 0, equals)))
            own_secret(setup, str_dup(str_slice(parameter, equals + 1, parameter.len)));
    }
}

/* "http://someone:password@searcher/": the password, as it stands there and as a request carries it; keys among the
 * parameters; and the host, where it has a name of the inner network. */
static void add_address(struct setup *setup, const char *address)
{
    struct url url;
    struct buf pair, encoded;
    if (address == NULL || url_parse(str_of(address), &url, NULL) != STATUS_OK)
        return;
    buf_init(&pair, BUF_UNBOUNDED);
    buf_init(&encoded, BUF_UNBOUNDED);
    if (url.password != NULL) {
        buf_addf(&pair, "%s:%s", url.user != NULL ? url.user : "", url.password);
        if (base64_append(&encoded, buf_str(&pair)) != STATUS_OK)
            abort(); /* the buffer has no cap */
        own_secret(setup, mem_strdup(url.password));
        own_secret(setup, buf_take(&encoded));
    }
    if (url.query != NULL)
        add_query_secrets(setup, str_of(url.query));
    if (strchr(url.host, '.') == NULL)
        add_place(setup, url.host);
    buf_finish(&pair);
    buf_finish(&encoded);
    url_finish(&url);
}

/* What own tools and MCP servers are given to identify themselves: the texts in these members, however deep, and what
 * the addresses of servers hold. */
static void add_json_secrets(struct setup *setup, const json_t *value, bool secret)
{
    const char *key;
    json_t *member;
    json_object_foreach ((json_t *)(uintptr_t)value, key, member) {
        bool names = strcmp(key, "env") == 0 || strcmp(key, "environment") == 0 || strcmp(key, "headers") == 0;
        if (json_is_string(member) && secret)
            add_value(setup, str_of(key), json_string_value(member));
        else if (json_is_string(member) && strcmp(key, "url") == 0)
            add_address(setup, json_string_value(member));
        add_json_secrets(setup, member, secret || names);
    }
}

static void add_addresses(struct setup *setup, enum option_id id)
{
    size_t count;
    const char *const *addresses = config_list(setup->config, id, &count);
    for (size_t i = 0; i < count; i++)
        add_address(setup, addresses[i]);
}

static void add_folders(struct setup *setup)
{
    char folder[4096];
    const char *home = getenv("HOME");
    if (getcwd(folder, sizeof folder) != NULL && folder[0] == '/')
        add_place(setup, folder);
    if (home != NULL && home[0] == '/')
        add_place(setup, home);
}

void setup_find_secrets(struct setup *setup)
{
    for (enum option_id id = 0; id < OPTION_COUNT; id++) {
        const struct option_spec *spec = option_spec(id);
        bool address = spec->type == OPTION_TEXT && spec->argument != NULL && strcmp(spec->argument, "URL") == 0;
        if (spec->type == OPTION_JSON)
            add_json_secrets(setup, config_json(setup->config, id), false);
        else if (spec->secret && spec->list)
            add_header_secrets(setup, id);
        else if (spec->secret)
            setup_add_secret(setup, config_text(setup->config, id));
        else if (address && config_is_set(setup->config, id))
            add_addresses(setup, id);
    }
    add_folders(setup);
}

void setup_forget_secrets(struct setup *setup)
{
    struct setup_private *private = setup->private;
    for (size_t i = 0; i < private->n_owned_secrets; i++)
        free(private->owned_secrets[i]);
    for (size_t i = 0; i < private->n_places; i++)
        free(private->places[i]);
    free(private->owned_secrets);
    free(private->places);
    free(private->secrets);
}
