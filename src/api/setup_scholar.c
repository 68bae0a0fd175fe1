/* src/api/setup_scholar.c: google_scholar, of a setup. */
#include <string.h>

#include "api/setup_internal.h"
#include "tools/scholar/scholar.h"

/* The services that --scholar names; none for auto. */
static enum status choose_services(const struct setup *setup, struct scholar_options *options, struct error *error)
{
    size_t count;
    const char *const *names = config_list(setup->config, OPTION_SCHOLAR, &count);
    if (count == 1 && strcmp(names[0], "auto") == 0)
        return STATUS_OK;
    for (size_t i = 0; i < count; i++) {
        enum scholar_backend id = SCHOLAR_SERPER;
        while (id < SCHOLAR_BACKENDS && strcmp(scholar_backend_name(id), names[i]) != 0)
            id++;
        if (id == SCHOLAR_BACKENDS || options->n_backends == SCHOLAR_BACKENDS) {
            error_set(error, STATUS_INVALID,
                      id == SCHOLAR_BACKENDS ? "auto stands alone, or not at all" : "a service is named twice");
            return setup_blame(setup, OPTION_SCHOLAR, STATUS_INVALID, error);
        }
        options->backends[options->n_backends++] = id;
    }
    return STATUS_OK;
}

/* A key for Serper that came with an address for searches goes to that one's origin alone. */
static const char *serper_key(struct setup *setup, const char *url)
{
    const struct config *config = setup->config;
    size_t count;
    const char *const *names = config_list(config, OPTION_SEARCH, &count);
    bool named = count == 1 && strcmp(names[0], "serper") == 0 && config_is_set(config, OPTION_SEARCH_URL);
    if (url != NULL)
        return setup_service_key(setup, OPTION_SERPER_KEY, OPTION_SERPER_SCHOLAR_URL, url);
    return setup_service_key(setup, OPTION_SERPER_KEY, named ? OPTION_SEARCH_URL : OPTION_SERPER_URL,
                             SCHOLAR_SERPER_URL);
}

enum status setup_create_scholar(struct setup *setup, struct str signature, struct tool **out, struct error *error)
{
    const struct config *config = setup->config;
    struct scholar_options options = {
        .url = {[SCHOLAR_SERPER] = config_text(config, OPTION_SERPER_SCHOLAR_URL),
                [SCHOLAR_OPENALEX] = config_text(config, OPTION_OPENALEX_URL),
                [SCHOLAR_SEMANTIC_SCHOLAR] = config_text(config, OPTION_SEMANTIC_SCHOLAR_URL),
                [SCHOLAR_CROSSREF] = config_text(config, OPTION_CROSSREF_URL),
                [SCHOLAR_ARXIV] = config_text(config, OPTION_ARXIV_URL)},
        .mailto = config_text(config, OPTION_SCHOLAR_MAILTO),
        .signature = signature,
        .results = (int)config_integer(config, OPTION_SEARCH_RESULTS),
    };
    enum status status = choose_services(setup, &options, error);
    if (status != STATUS_OK)
        return status;
    options.key[SCHOLAR_SERPER] = serper_key(setup, options.url[SCHOLAR_SERPER]);
    options.key[SCHOLAR_OPENALEX] =
        setup_service_key(setup, OPTION_OPENALEX_KEY, OPTION_OPENALEX_URL, options.url[SCHOLAR_OPENALEX]);
    options.key[SCHOLAR_SEMANTIC_SCHOLAR] = setup_service_key(
        setup, OPTION_SEMANTIC_SCHOLAR_KEY, OPTION_SEMANTIC_SCHOLAR_URL, options.url[SCHOLAR_SEMANTIC_SCHOLAR]);
    status = scholar_tool_create(&options, out, error);
    return status == STATUS_OK ? status : setup_blame(setup, OPTION_SCHOLAR, status, error);
}
