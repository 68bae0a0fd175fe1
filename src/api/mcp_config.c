#include "api/mcp_config.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/file.h"
#include "core/mem.h"

#define MAX_FILE ((size_t)1024 * 1024)
#define MAX_NAME 40

static const char *const names[] = {
    "command",           "args",        "env",      "environment", "cwd",
    "directory",         "url",         "headers",  "type",        "tools",
    "timeout",           "max-timeout", "roots",    "permission",  "confinement",
    "startup-timeout",   "required",    "disabled", "enabled",     "readable",
    "max-output-tokens", "writable",
};

/* Other clients' names for the address. */
static const char *const address_names[] = {"url", "httpUrl", "serverUrl"};

/* ---- names ---- */

static bool name_is_valid(const char *name)
{
    size_t length = strlen(name);
    for (const char *c = name; *c != '\0'; c++) {
        if (!ascii_is_alnum(*c) && *c != '_' && *c != '-')
            return false;
    }
    return length > 0 && length <= MAX_NAME;
}

/* Other clients allow any text: what cannot stand in a tool's name becomes "_". */
static const char *make_name(struct settings_memory *memory, struct str text)
{
    struct buf name;
    buf_init(&name, BUF_UNBOUNDED);
    for (size_t i = 0; i < text.len && name.len < MAX_NAME; i++) {
        char c = text.data[i];
        if (ascii_is_alnum(c) || c == '-' || c == '_')
            buf_add_char(&name, c);
        else if (name.len > 0 && name.data[name.len - 1] != '_')
            buf_add_char(&name, '_');
    }
    while (name.len > 0 && name.data[name.len - 1] == '_')
        buf_truncate(&name, name.len - 1);
    if (name.len == 0)
        buf_add_text(&name, "server");
    return settings_keep(memory, buf_take(&name));
}

static bool is_known(const struct mcp_config *config, const char *name)
{
    for (size_t i = 0; i < config->count; i++) {
        if (strcmp(config->servers[i].options.name, name) == 0)
            return true;
    }
    return false;
}

/* ---- one server ---- */

static void read_command(struct settings *settings, struct mcp_options *options)
{
    size_t n_command = 0, n_arguments = 0;
    const char *const *command = settings_list(settings, "command", &n_command);
    const char *const *arguments = settings_list(settings, "args", &n_arguments);
    if (command == NULL)
        return;
    const char **words = settings_keep(settings->memory, mem_calloc(n_command + n_arguments + 1, sizeof *words));
    for (size_t i = 0; i < n_command; i++)
        words[i] = command[i];
    for (size_t i = 0; i < n_arguments; i++)
        words[n_command + i] = arguments[i];
    /* A path is meant from the configuration's folder; arguments are the server's own business. */
    if (n_command > 0 && strchr(words[0], '/') != NULL)
        words[0] = settings_absolute(settings->memory, settings->folder, words[0]);
    options->program.command = words;
}

static void read_address(struct settings *settings, struct mcp_options *options)
{
    size_t count, n_names = settings->foreign ? sizeof address_names / sizeof address_names[0] : 1;
    for (size_t i = 0; i < n_names && options->url == NULL; i++)
        options->url = settings_text(settings, address_names[i]);
    const char *const *pairs = settings_pairs(settings, "headers", ':', &count);
    if (options->url != NULL && strncasecmp(options->url, "http://", 7) != 0 &&
        strncasecmp(options->url, "https://", 8) != 0)
        settings_refuse(settings, "url", "an address that begins with http:// or https:// is wanted here");
    if (pairs == NULL)
        return;
    struct http_header *headers = settings_keep(settings->memory, mem_calloc(count + 1, sizeof *headers));
    for (size_t i = 0; i < count; i++) {
        const char *colon = strchr(pairs[i], ':');
        headers[i].name = settings_keep(settings->memory, str_dup(str_make(pairs[i], (size_t)(colon - pairs[i]))));
        headers[i].value = colon + 1;
    }
    options->headers = headers;
    options->n_headers = count;
}

/* What other clients say with "type": only one kind is not understood here. */
static void check_type(struct settings *settings)
{
    const char *type = settings_text(settings, "type");
    static const char *const known[] = {"stdio", "http", "streamable-http", "streamableHttp", "streamable_http"};
    if (type == NULL)
        return;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strcmp(type, known[i]) == 0)
            return;
    }
    if (strcmp(type, "sse") == 0)
        settings_refuse(settings, "type",
                        "the old HTTP+SSE transport is not supported; ask the server's makers for its "
                        "streamable HTTP address");
    else
        settings_refuse(settings, "type", "stdio or http is wanted here");
}

static void read_times(struct settings *settings, struct mcp_options *options)
{
    options->startup_timeout_ms = settings_duration(settings, "startup-timeout", 0);
    options->timeout_ms = settings_duration(settings, "timeout", 0);
    options->max_timeout_ms = settings_duration(settings, "max-timeout", 0);
    options->max_output_tokens = settings_integer(settings, "max-output-tokens", 64, 0);
}

static void read_server(struct settings *settings, struct mcp_config_server *server)
{
    struct mcp_options *options = &server->options;
    size_t count;
    settings_check_names(settings, names, sizeof names / sizeof names[0]);
    if (json_is_object(settings->object)) {
        bool environment = settings_get(settings, "environment") != NULL;
        bool directory = settings_get(settings, "directory") != NULL;
        read_command(settings, options);
        read_address(settings, options);
        check_type(settings);
        options->program.environment = settings_pairs(settings, environment ? "environment" : "env", '=', &count);
        options->program.directory = settings_path(settings, directory ? "directory" : "cwd");
        options->program.confinement = confinement_read(settings, PROGRAM_NONE);
        options->program.readable = settings_paths(settings, "readable", &count);
        options->program.writable = settings_paths(settings, "writable", &count);
        options->roots = settings_paths(settings, "roots", &options->n_roots);
        read_times(settings, options);
    }
    if (!settings->foreign || json_is_array(settings_get(settings, "tools")))
        options->tools = settings_list(settings, "tools", &options->n_tools);
    size_t permission = permission_read(settings);
    options->permission = permission == PERMISSION_ASK ? TOOL_ASK_FIRST : TOOL_PERMITTED;
    server->required = settings_flag(settings, "required", false);
    server->left_out = permission == PERMISSION_DENY || settings_flag(settings, "disabled", false) ||
                       !settings_flag(settings, "enabled", true);
    if ((options->program.command != NULL) == (options->url != NULL))
        settings_refuse(settings, NULL, "either a \"command\" or a \"url\" is wanted here");
}

static struct mcp_config_server *add_server(struct mcp_config *config, const char *name)
{
    config->servers = mem_grow(config->servers, config->count, &config->capacity, sizeof *config->servers);
    struct mcp_config_server *server = &config->servers[config->count++];
    *server = (struct mcp_config_server){.options = {.name = name, .program.confinement = PROGRAM_NONE}};
    return server;
}

enum status mcp_config_read(struct mcp_config *config, const json_t *object, const struct config_place *where,
                            struct error *error)
{
    const char *key;
    json_t *member;
    const json_t *inner = json_object_get(object, "mcpServers");
    if (inner != NULL)
        object = inner;
    if (!json_is_object(object))
        return error_set(error, STATUS_INVALID, "mcp-servers: names of servers with their settings are wanted here");
    json_object_foreach ((json_t *)(uintptr_t)object, key, member) {
        struct settings settings = {.object = member,
                                    .place = settings_keep(&config->memory, mem_printf("mcp-servers.%.60s", key)),
                                    .folder = where->folder,
                                    .foreign = where->foreign || inner != NULL,
                                    .no_variables = where->found,
                                    .memory = &config->memory,
                                    .error = error};
        const char *name = make_name(&config->memory, str_of(key));
        if (!settings.foreign && !name_is_valid(key))
            settings_refuse(&settings, NULL, "a server's name has at most %d letters, digits, _ and -", MAX_NAME);
        if (settings.status == STATUS_OK && is_known(config, name))
            continue;
        read_server(&settings, add_server(config, name));
        if (settings.status != STATUS_OK)
            return settings.status;
    }
    return STATUS_OK;
}

/* ---- --mcp ---- */

static enum status read_file(struct mcp_config *config, const char *path, struct error *error)
{
    json_t *object = NULL;
    enum status status = json_parse_file(path, MAX_FILE, &object, error);
    if (status != STATUS_OK)
        return status;
    char *real = realpath(path, NULL);
    const char *folder = settings_keep(&config->memory, real != NULL ? real : mem_strdup("/"));
    char *slash = strrchr(folder, '/');
    if (slash != NULL && slash != folder)
        *slash = '\0';
    const struct config_place where = {.folder = folder, .foreign = true};
    status = mcp_config_read(config, object, &where, error);
    json_decref(object);
    return status;
}

/* Takes the next word of a command line; quotes of both kinds keep blanks together. False at the end. */
static bool next_word(const char **rest, struct buf *word)
{
    const char *c = *rest + strspn(*rest, " \t");
    char quote = '\0';
    bool any = *c != '\0';
    for (; *c != '\0' && (quote != '\0' || (*c != ' ' && *c != '\t')); c++) {
        if (quote == '\0' && (*c == '"' || *c == '\''))
            quote = *c;
        else if (*c == quote)
            quote = '\0';
        else
            buf_add_char(word, *c);
    }
    *rest = c;
    return any;
}

/* What a server that nobody named is called: by its address's host, else by the last word that looks like a program. */
static const char *name_of_address(struct mcp_config *config, const char *url)
{
    const char *begin = strstr(url, "://") + 3;
    struct str host = str_make(begin, strcspn(begin, "/?#"));
    size_t at = str_rfind_char(host, '@');
    if (at != STR_NONE)
        host = str_slice(host, at + 1, host.len);
    return make_name(&config->memory, host);
}

static const char *name_of_command(struct mcp_config *config, const char *const *words)
{
    static const char *const launchers[] = {"npx", "uvx", "node", "python", "python3", "bunx", "pipx", "deno", "sh"};
    size_t i = 0;
    for (; words[i] != NULL; i++) {
        const char *slash = strrchr(words[i], '/'), *last = slash != NULL ? slash + 1 : words[i];
        bool launcher = words[i][0] == '-' || strcmp(last, "run") == 0;
        for (size_t j = 0; j < sizeof launchers / sizeof launchers[0]; j++)
            launcher = launcher || strcmp(last, launchers[j]) == 0;
        if (!launcher)
            break;
    }
    const char *word = words[i] != NULL ? words[i] : words[0], *slash = strrchr(word, '/');
    struct str name = str_of(slash != NULL ? slash + 1 : word);
    size_t dot = str_rfind_char(name, '.'), version = str_rfind_char(name, '@');
    if (version != STR_NONE && version > 0)
        name = str_slice(name, 0, version);
    else if (dot != STR_NONE && dot > 0)
        name = str_slice(name, 0, dot);
    return make_name(&config->memory, name);
}

/* Takes NAME= off the front, where what stands there can be a name. */
static const char *take_name(struct mcp_config *config, const char **text)
{
    size_t length = strcspn(*text, "= \t/:\"'");
    char *name = str_dup(str_make(*text, length));
    if ((*text)[length] == '=' && name_is_valid(name)) {
        *text += length + 1;
        return settings_keep(&config->memory, name);
    }
    free(name);
    return NULL;
}

/* "everything", "everything_2": nobody has named them, so neither may go missing. */
static const char *unused_name(struct mcp_config *config, const char *name)
{
    const char *chosen = name;
    for (int i = 2; is_known(config, chosen); i++)
        chosen = settings_keep(&config->memory, mem_printf("%s_%d", name, i));
    return chosen;
}

enum status mcp_config_add(struct mcp_config *config, const char *text, struct error *error)
{
    const char *name = take_name(config, &text);
    text += strspn(text, " \t");
    if (strncasecmp(text, "http://", 7) == 0 || strncasecmp(text, "https://", 8) == 0) {
        const char *url = settings_keep(&config->memory, mem_strdup(text));
        name = name != NULL ? name : name_of_address(config, url);
        add_server(config, unused_name(config, name))->options.url = url;
        return STATUS_OK;
    }
    if (name == NULL && str_ends_with(str_of(text), STR(".json")) && strpbrk(text, " \t") == NULL)
        return read_file(config, text, error);
    const char **words = settings_keep(&config->memory, mem_calloc(strlen(text) + 2, sizeof *words));
    size_t count = 0;
    struct buf word;
    buf_init(&word, BUF_UNBOUNDED);
    while (next_word(&text, &word))
        words[count++] = settings_keep(&config->memory, buf_take(&word));
    buf_finish(&word);
    if (count == 0)
        return error_set(error, STATUS_INVALID, "an address, a JSON file or a command is wanted here");
    name = name != NULL ? name : name_of_command(config, words);
    if (strchr(words[0], '/') != NULL) {
        char *here = getcwd(NULL, 0);
        words[0] = settings_absolute(&config->memory, here != NULL ? here : "/", words[0]);
        free(here);
    }
    add_server(config, unused_name(config, name))->options.program.command = words;
    return STATUS_OK;
}

void mcp_config_finish(struct mcp_config *config)
{
    settings_memory_finish(&config->memory);
    free(config->servers);
    *config = (struct mcp_config){0};
}
