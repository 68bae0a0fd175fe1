/* src/api/setup_files.c: files that the user hands over, and what reads documents. */
#include "api/setup_internal.h"

#include "tools/common/document.h"
#include "tools/parse_file/parse_file.h"

struct documents *setup_documents(struct setup *setup)
{
    const struct documents_options options = {.worker = config_text(setup->config, OPTION_WORKER)};
    if (setup->private->documents == NULL)
        setup->private->documents = documents_create(&options);
    return setup->private->documents;
}

bool setup_has_files(const struct setup *setup)
{
    return config_is_set(setup->config, OPTION_FILE) || config_is_set(setup->config, OPTION_FILE_ROOT);
}

enum status setup_create_parse_file(struct setup *setup, struct str signature, struct tool **out, struct error *error)
{
    const struct config *config = setup->config;
    struct parse_file_options options = {
        .documents = setup_documents(setup),
        .signature = signature,
        .file_tokens = config_integer(config, OPTION_FILE_TOKENS),
    };
    if (setup->private->options.n_files > 0) {
        options.files = setup->private->options.files;
        options.n_files = setup->private->options.n_files;
    } else {
        options.files = config_list(config, OPTION_FILE, &options.n_files);
        options.roots = config_list(config, OPTION_FILE_ROOT, &options.n_roots);
    }
    return parse_file_tool_create(&options, out, error);
}
