/* src/api/setup_tools.c: the tools of a setup. */
#include "api/setup_internal.h"

#include <stdlib.h>
#include <string.h>

#include "core/buf.h"
#include "core/file.h"
#include "core/mem.h"
#include "engine/tool.h"
#include "model/client.h"
#include "store/corpus.h"
#include "tools/search/search.h"
#include "tools/visit/visit.h"

#define MAX_SIGNATURE_BYTES 65536

/* `signature` is empty where the embedded one holds. */
static enum status create_search(struct setup *setup, struct str signature, struct tool **out, struct error *error);
static enum status create_visit(struct setup *setup, struct str signature, struct tool **out, struct error *error);

static const struct {
    const char *name;
    enum status (*create)(struct setup *setup, struct str signature, struct tool **out, struct error *error);
} makers[] = {{"search", create_search}, {"visit", create_visit}};

/* The names of the tools there are, NULL at the end. */
static const char *const *tool_names(void)
{
    static const char *names[sizeof makers / sizeof makers[0] + 1];
    for (size_t i = 0; i < sizeof makers / sizeof makers[0]; i++)
        names[i] = makers[i].name;
    return names;
}

/* A key for a tool's service at `url` (NULL: the provider's own address), and a word about one that stays here. */
static const char *service_key(struct setup *setup, enum option_id key, enum option_id address, const char *url)
{
    if (url == NULL)
        return config_text(setup->config, key);
    struct buf why;
    buf_init(&why, BUF_UNBOUNDED);
    const char *secret = config_secret_for(setup->config, key, address, url, &why);
    if (why.len > 0)
        setup_say(setup, "%s.", why.data);
    buf_finish(&why);
    return secret;
}

static void add_serper(struct setup *setup, struct search_options *options, const char *url)
{
    options->backends[options->n_backends++] = SEARCH_SERPER;
    options->serper_url = url;
    options->serper_key = service_key(setup, OPTION_SERPER_KEY, OPTION_SEARCH_URL, url);
}

static void add_searxng(struct search_options *options, const char *url)
{
    options->backends[options->n_backends++] = SEARCH_SEARXNG;
    options->searxng_url = url;
}

/* What is configured, best first. A corpus stands alone: who searches local documents does not want the queries to
 * leave. */
static void choose_backends(struct setup *setup, struct search_options *options)
{
    const struct config *config = setup->config;
    const char *searxng = config_text(config, OPTION_SEARCH_URL);
    if (searxng == NULL)
        searxng = config_text(config, OPTION_SEARXNG_URL);
    if (options->corpus_path != NULL) {
        options->backends[options->n_backends++] = SEARCH_CORPUS;
        return;
    }
    if (config_is_set(config, OPTION_SERPER_KEY))
        add_serper(setup, options, NULL);
    if (searxng != NULL)
        add_searxng(options, searxng);
    if (options->n_backends == 0) {
        setup->private->needs_search = true;
        add_serper(setup, options, NULL); /* its calls fail with the remedy */
    }
}

static enum status create_search(struct setup *setup, struct str signature, struct tool **out, struct error *error)
{
    const struct config *config = setup->config;
    const char *backend = config_text(config, OPTION_SEARCH), *url = config_text(config, OPTION_SEARCH_URL);
    struct search_options options = {.corpus_path = config_text(config, OPTION_CORPUS),
                                     .signature = signature,
                                     .results = (int)config_integer(config, OPTION_SEARCH_RESULTS)};
    if (strcmp(backend, "auto") == 0) {
        choose_backends(setup, &options);
    } else if (strcmp(backend, "serper") == 0) {
        add_serper(setup, &options, url);
        if (url == NULL && options.serper_key == NULL) {
            error_set(error, STATUS_INVALID, "Serper needs a key: set SERPER_API_KEY");
            return setup_blame(setup, OPTION_SEARCH, STATUS_INVALID, error);
        }
    } else if (strcmp(backend, "searxng") == 0) {
        add_searxng(&options, url != NULL ? url : config_text(config, OPTION_SEARXNG_URL));
        if (options.searxng_url == NULL) {
            error_set(error, STATUS_INVALID, "SearXNG needs an address: set SEARXNG_URL or give --search-url");
            return setup_blame(setup, OPTION_SEARCH, STATUS_INVALID, error);
        }
    } else {
        options.backends[options.n_backends++] = SEARCH_CORPUS;
    }
    enum status status = search_tool_create(&options, out, error);
    return status == STATUS_OK ? status : setup_blame(setup, OPTION_SEARCH, status, error);
}

static enum status create_visit(struct setup *setup, struct str signature, struct tool **out, struct error *error)
{
    const struct config *config = setup->config;
    const char *jina_url = config_text(config, OPTION_JINA_URL);
    const char *summarizer = config_text(config, OPTION_SUMMARIZER);
    bool jina = strcmp(config_text(config, OPTION_READER), "jina") == 0;
    struct visit_options options = {
        .summarizer = strcmp(summarizer, "extractive") == 0 ? VISIT_SUMMARY_EXTRACTIVE : VISIT_SUMMARY_MODEL,
        .reader = jina ? VISIT_READER_JINA : VISIT_READER_OWN,
        .jina_url = jina_url,
        .jina_key = jina ? service_key(setup, OPTION_JINA_KEY, OPTION_JINA_URL, jina_url) : NULL,
        .guard = &setup->guard,
        .corpus_path = config_text(config, OPTION_CORPUS),
        .signature = signature,
    };
    enum status status = visit_tool_create(&options, out, error);
    return status == STATUS_OK ? status : setup_blame(setup, OPTION_READER, status, error);
}

/* Appends what stands for a tool's signature below --prompts; nothing when there is no such file. A wrong one is
 * refused with its own name. */
static enum status read_signature(const struct setup *setup, const char *name, struct buf *out, struct error *error)
{
    const char *folder = config_text(setup->config, OPTION_PROMPTS);
    if (folder == NULL)
        return STATUS_OK;
    char *path = mem_printf("%s/tools/%s/signature.json", folder, name);
    struct tool_signature signature = {0};
    enum status status = file_read(path, out, error);
    if (status == STATUS_OK) {
        status = signature_load(buf_str(out), &signature, error);
        if (status == STATUS_OK && strcmp(signature.name, name) != 0)
            status = error_set(error, STATUS_INVALID, "the tool's name must stay \"%s\"", name);
        if (status != STATUS_OK && error != NULL)
            error_at(error, path, error->line, error->column);
        signature_finish(&signature);
    } else if (status == STATUS_NOT_FOUND) {
        status = STATUS_OK;
    }
    free(path);
    return status;
}

static enum status create_tool(struct setup *setup, size_t maker, struct error *error)
{
    struct buf signature;
    buf_init(&signature, MAX_SIGNATURE_BYTES);
    enum status status = read_signature(setup, makers[maker].name, &signature, error);
    if (status == STATUS_OK)
        status = makers[maker].create(setup, buf_str(&signature), &setup->tools[setup->n_tools], error);
    setup->n_tools += status == STATUS_OK;
    buf_finish(&signature);
    return status;
}

static enum status unknown_tool(const struct setup *setup, const char *name, struct error *error)
{
    size_t count = sizeof makers / sizeof makers[0];
    const char *nearest = suggest_nearest(str_of(name), tool_names(), count);
    if (nearest != NULL)
        error_set(error, STATUS_INVALID, "there is no tool \"%.60s\"; did you mean %s?", name, nearest);
    else
        error_set(error, STATUS_INVALID, "there is no tool \"%.60s\"; there are search and visit", name);
    return setup_blame(setup, OPTION_TOOLS, STATUS_INVALID, error);
}

/* A corpus that cannot be read would only fail the calls of a long run, one after the other. */
static enum status check_corpus(const struct setup *setup, struct error *error)
{
    const char *path = config_text(setup->config, OPTION_CORPUS);
    struct corpus *corpus = NULL;
    if (path == NULL || setup->n_tools == 0 || setup->private->options.any_corpus)
        return STATUS_OK;
    struct error cause = {0};
    enum status status = corpus_open(path, CORPUS_READ, &corpus, &cause);
    corpus_close(corpus);
    if (status == STATUS_OK || status == STATUS_TIMEOUT) /* busy: it will be there when it is asked */
        return STATUS_OK;
    char text[sizeof cause.message + sizeof cause.place + 32];
    error_set(error, status, "%s", error_text(&cause, text, sizeof text));
    return setup_blame(setup, OPTION_CORPUS, status, error);
}

static bool has_tool(const struct setup *setup, const char *name)
{
    for (size_t i = 0; i < setup->n_tools; i++) {
        if (strcmp(setup->tools[i]->signature->name, name) == 0)
            return true;
    }
    return false;
}

enum status setup_create_tools(struct setup *setup, struct error *error)
{
    size_t count;
    const char *const *names = config_list(setup->config, OPTION_TOOLS, &count);
    if (setup->private->options.tools != NULL) {
        names = setup->private->options.tools;
        count = setup->private->options.n_tools;
    }
    if (count == 1 && strcmp(names[0], "none") == 0)
        return STATUS_OK;
    for (size_t i = 0; i < count; i++) {
        size_t maker = 0;
        while (maker < sizeof makers / sizeof makers[0] && strcmp(makers[maker].name, names[i]) != 0)
            maker++;
        if (maker == sizeof makers / sizeof makers[0])
            return unknown_tool(setup, names[i], error);
        if (has_tool(setup, names[i]))
            continue;
        enum status status = create_tool(setup, maker, error);
        if (status != STATUS_OK)
            return status;
    }
    return check_corpus(setup, error);
}
