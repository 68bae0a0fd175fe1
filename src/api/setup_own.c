/* src/api/setup_own.c: own tools of a setup, and what the configuration says of MCP servers (setup_mcp.c). */
#include "api/setup_internal.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/mem.h"
#include "engine/tool.h"

/* Where relative paths of an option's value count from: the configuration file's folder, or the current one. */
static char *folder_of(const struct setup *setup, enum option_id id)
{
    const char *file = config_file(setup->config);
    char *path = NULL;
    if (config_source(setup->config, id) == CONFIG_FILE && file != NULL)
        path = realpath(file, NULL);
    char *slash = path != NULL ? strrchr(path, '/') : NULL;
    if (slash == NULL) {
        free(path);
        path = getcwd(NULL, 0);
        return path != NULL ? path : mem_strdup("/");
    }
    slash[slash == path ? 1 : 0] = '\0';
    return path;
}

static enum status read_own(struct setup *setup, struct error *error)
{
    const struct config *config = setup->config;
    const json_t *object = config_json(config, OPTION_OWN_TOOLS);
    size_t count;
    const char *const *folders = config_list(config, OPTION_OWN_TOOL, &count);
    enum status status = STATUS_OK;
    if (object != NULL) {
        char *folder = folder_of(setup, OPTION_OWN_TOOLS);
        const struct config_place where = {.folder = folder, .found = config_is_found(config, OPTION_OWN_TOOLS)};
        status = own_config_read(&setup->private->own, object, &where, error);
        free(folder);
        if (status != STATUS_OK)
            return setup_blame(setup, OPTION_OWN_TOOLS, status, error);
    }
    char *folder = folder_of(setup, OPTION_OWN_TOOL);
    for (size_t i = 0; i < count && status == STATUS_OK; i++) {
        const char *path = settings_absolute(&setup->private->own.memory, folder, folders[i]);
        status = own_config_add_folder(&setup->private->own, path, config_is_found(config, OPTION_OWN_TOOL), error);
    }
    free(folder);
    return status == STATUS_OK ? status : setup_blame(setup, OPTION_OWN_TOOL, status, error);
}

/* A folder may be a stranger's: a file that was merely found in it starts no program that can do harm. */
static bool is_trusted(struct setup *setup, enum option_id id)
{
    if (!config_is_found(setup->config, id))
        return true;
    setup_say(
        setup,
        "%s in fathom.yaml is passed over, since the file was merely found in this folder and would start programs "
        "or send questions elsewhere. --config fathom.yaml says that you trust it.",
        option_spec(id)->name);
    return false;
}

static enum status read_mcp(struct setup *setup, struct error *error)
{
    const struct config *config = setup->config;
    const json_t *object = config_json(config, OPTION_MCP_SERVERS);
    size_t count;
    const char *const *list = config_list(config, OPTION_MCP, &count);
    enum status status = STATUS_OK;
    if (object != NULL && is_trusted(setup, OPTION_MCP_SERVERS)) {
        char *folder = folder_of(setup, OPTION_MCP_SERVERS);
        const struct config_place where = {.folder = folder};
        status = mcp_config_read(&setup->private->mcp, object, &where, error);
        free(folder);
        if (status != STATUS_OK)
            return setup_blame(setup, OPTION_MCP_SERVERS, status, error);
    }
    if (count > 0 && is_trusted(setup, OPTION_MCP)) {
        for (size_t i = 0; i < count && status == STATUS_OK; i++)
            status = mcp_config_add(&setup->private->mcp, list[i], error);
    }
    return status == STATUS_OK ? status : setup_blame(setup, OPTION_MCP, status, error);
}

static void add_secrets_of(struct setup *setup, const struct settings_memory *memory)
{
    for (size_t i = 0; i < memory->n_secrets; i++)
        setup_add_secret(setup, memory->secrets[i]);
}

enum status setup_read_own(struct setup *setup, struct error *error)
{
    enum status status = read_own(setup, error);
    if (status == STATUS_OK)
        status = read_mcp(setup, error);
    add_secrets_of(setup, &setup->private->own.memory);
    add_secrets_of(setup, &setup->private->mcp.memory);
    return status;
}

bool setup_names_own(const struct setup *setup, const char *name)
{
    for (size_t i = 0; i < setup->private->own.count; i++) {
        const char *own = setup->private->own.tools[i].options.name;
        if (own != NULL && strcmp(own, name) == 0)
            return true;
    }
    for (size_t i = 0; i < setup->private->mcp.count; i++) {
        if (strcmp(setup->private->mcp.servers[i].options.name, name) == 0)
            return true;
    }
    return false;
}

/* A tool of the user's stands in for a built-in one of the same name. Two of the user's own are a mistake. */
static enum status take_in(struct setup *setup, const struct own_config_tool *own, struct tool *tool, size_t n_built_in,
                           struct error *error)
{
    for (size_t i = 0; i < setup->n_tools; i++) {
        if (strcmp(setup->tools[i]->signature->name, tool->signature->name) != 0)
            continue;
        if (i >= n_built_in) {
            error_set(error, STATUS_INVALID, "%s: there are two tools of the name %s", own->place,
                      tool->signature->name);
            tool_destroy(tool);
            return setup_blame(setup, OPTION_OWN_TOOLS, STATUS_INVALID, error);
        }
        setup_say(setup, "Your own tool %s takes the place of the built-in one.", tool->signature->name);
        tool_destroy(setup->tools[i]);
        setup->tools[i] = tool;
        return STATUS_OK;
    }
    setup_add_tool(setup, tool);
    return STATUS_OK;
}

void setup_leave_out(struct setup *setup, const char *place, const char *why)
{
    struct setup_private *private = setup->private;
    const char *parts[] = {place, why};
    setup_say(setup, "%s is left out: %s.", place, why);
    for (size_t i = 0; i < 2; i++) {
        private->left_out =
            mem_grow(private->left_out, private->n_left_out, &private->left_out_capacity, sizeof *private->left_out);
        private->left_out[private->n_left_out++] = mem_strdup(parts[i]);
    }
}

enum status setup_create_own(struct setup *setup, struct error *error)
{
    const struct own_config *config = &setup->private->own;
    size_t n_built_in = setup->n_tools;
    for (size_t i = 0; i < config->count; i++) {
        const struct own_config_tool *own = &config->tools[i];
        struct error why = {0};
        struct tool *tool = NULL;
        if (own->denied)
            continue;
        enum status status = own_tool_create(&own->options, &tool, &why);
        if (status == STATUS_UNSUPPORTED) {
            setup_leave_out(setup, own->place, why.message);
            continue;
        }
        if (status != STATUS_OK) {
            error_set(error, STATUS_INVALID, "%s: %s", own->place, why.message);
            return setup_blame(setup, own->options.name != NULL ? OPTION_OWN_TOOLS : OPTION_OWN_TOOL, STATUS_INVALID,
                               error);
        }
        status = take_in(setup, own, tool, n_built_in, error);
        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}
