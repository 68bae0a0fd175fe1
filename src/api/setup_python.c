/* src/api/setup_python.c: PythonInterpreter. */
#include "api/setup_internal.h"

#include <string.h>

#include "engine/tool.h"
#include "tools/python/python.h"

static enum python_sandbox chosen_sandbox(const struct config *config)
{
    const char *kind = config_text(config, OPTION_PYTHON_SANDBOX);
    if (strcmp(kind, "none") == 0)
        return PYTHON_SANDBOX_NONE;
    if (strcmp(kind, "fusion") == 0 || (strcmp(kind, "auto") == 0 && config_is_set(config, OPTION_SANDBOX_FUSION)))
        return PYTHON_SANDBOX_FUSION;
    return PYTHON_SANDBOX_BUBBLEWRAP;
}

/* Which of the options an error is about. */
static enum option_id blamed_option(const struct python_options *options)
{
    if (options->sandbox != PYTHON_SANDBOX_FUSION)
        return OPTION_PYTHON;
    return options->session ? OPTION_PYTHON_SESSION : OPTION_SANDBOX_FUSION;
}

enum status setup_create_python(struct setup *setup, struct str signature, struct tool **out, struct error *error)
{
    const struct config *config = setup->config;
    struct python_options options = {
        .sandbox = chosen_sandbox(config),
        .session = config_integer(config, OPTION_PYTHON_SESSION) != 0,
        .timeout_ms = config_integer(config, OPTION_PYTHON_TIMEOUT),
        .memory = config_integer(config, OPTION_PYTHON_MEMORY),
        .interpreter = config_text(config, OPTION_PYTHON),
        .signature = signature,
    };
    if (options.sandbox == PYTHON_SANDBOX_FUSION)
        options.servers = config_list(config, OPTION_SANDBOX_FUSION, &options.n_servers);
    struct error why = {0};
    enum status status = python_tool_create(&options, out, &why);
    if (status == STATUS_UNSUPPORTED && !config_is_set(config, OPTION_PYTHON)) {
        setup_leave_out(setup, "PythonInterpreter", why.message);
        *out = NULL;
        return STATUS_OK;
    }
    if (status == STATUS_OK)
        return STATUS_OK;
    if (error != NULL)
        *error = why;
    return setup_blame(setup, blamed_option(&options), status, error);
}
