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
} makers[] = {{"search", create_search},
              {"visit", create_visit},
              {"google_scholar", setup_create_scholar},
              {"parse_file", setup_create_parse_file},
              {"PythonInterpreter", setup_create_python}};

/* The names of the tools there are, NULL at the end. */
static const char *const *tool_names(void)
{
    static const char *names[sizeof makers / sizeof makers[0] + 1];
    for (size_t i = 0; i < sizeof makers / sizeof makers[0]; i++)
        names[i] = makers[i].name;
    return names;
}

const char *setup_service_key(struct setup *setup, enum option_id key, enum option_id address, const char *url)
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

/* Where a search service is configured; 0 (a model's option) where it has no such setting. */
static const struct {
    enum option_id url, key;
} search_settings[SEARCH_BACKENDS] = {
    [SEARCH_SERPER] = {OPTION_SERPER_URL, OPTION_SERPER_KEY}, [SEARCH_BRAVE] = {OPTION_BRAVE_URL, OPTION_BRAVE_KEY},
    [SEARCH_TAVILY] = {OPTION_TAVILY_URL, OPTION_TAVILY_KEY}, [SEARCH_SEARXNG] = {.url = OPTION_SEARXNG_URL},
    [SEARCH_WIKIPEDIA] = {.url = OPTION_WIKIPEDIA_URL},       [SEARCH_DUCKDUCKGO] = {.url = OPTION_DUCKDUCKGO_URL},
};

/* Takes a back end with its address, which --search-url gives where `named` (it stands for this one), and the key that
 * may go there. */
static void add_backend(struct setup *setup, struct search_options *options, enum search_backend backend, bool named)
{
    const struct config *config = setup->config;
    enum option_id address = search_settings[backend].url, key = search_settings[backend].key;
    options->backends[options->n_backends++] = backend;
    if (backend == SEARCH_CORPUS)
        return;
    if (named && config_is_set(config, OPTION_SEARCH_URL))
        address = OPTION_SEARCH_URL;
    options->url[backend] = config_text(config, address);
    if (key != 0)
        options->key[backend] = setup_service_key(setup, key, address, options->url[backend]);
}

/* What is configured, best first. A corpus stands alone: who searches local documents does not want the queries to
 * leave. */
static void choose_backends(struct setup *setup, struct search_options *options)
{
    const struct config *config = setup->config;
    if (options->corpus_path != NULL) {
        add_backend(setup, options, SEARCH_CORPUS, false);
        return;
    }
    for (enum search_backend backend = 0; backend < SEARCH_BACKENDS; backend++) {
        enum option_id key = search_settings[backend].key;
        if (key != 0 && config_is_set(config, key))
            add_backend(setup, options, backend, false);
    }
    if (config_is_set(config, OPTION_SEARCH_URL) || config_is_set(config, OPTION_SEARXNG_URL))
        add_backend(setup, options, SEARCH_SEARXNG, true);
    if (options->n_backends == 0) {
        setup->private->needs_search = true;
        add_backend(setup, options, SEARCH_SERPER, false); /* its calls fail with the remedy */
    }
}

/* What a service that was asked for by name lacks, is an error of the configuration. */
static enum status check_backend(const struct search_options *options, enum search_backend backend, struct error *error)
{
    if (backend == SEARCH_SEARXNG && options->url[backend] == NULL)
        return error_set(error, STATUS_INVALID, "SearXNG needs an address: set SEARXNG_URL or give --searxng-url");
    enum option_id key = search_settings[backend].key;
    if (key == 0 || options->key[backend] != NULL || options->url[backend] != NULL)
        return STATUS_OK; /* an address of the user's own may need no key; without one its calls say so */
    const char *variable = option_spec(key)->environment;
    return error_set(error, STATUS_INVALID, "%s needs a key: set %.*s", search_backend_name(backend),
                     (int)strcspn(variable, " "), variable);
}

static enum status name_backends(struct setup *setup, struct search_options *options, struct error *error)
{
    size_t count;
    const char *const *names = config_list(setup->config, OPTION_SEARCH, &count);
    enum status status = STATUS_OK;
    for (size_t i = 0; status == STATUS_OK && i < count; i++) {
        enum search_backend backend;
        if (i == SEARCH_BACKENDS || !search_backend_find(names[i], &backend))
            return error_set(error, STATUS_INVALID, "search names more services than there are");
        add_backend(setup, options, backend, count == 1 || backend == SEARCH_SEARXNG);
        status = check_backend(options, backend, error);
    }
    return status;
}

static enum status create_search(struct setup *setup, struct str signature, struct tool **out, struct error *error)
{
    const struct config *config = setup->config;
    struct search_options options = {.corpus_path = config_text(config, OPTION_CORPUS),
                                     .signature = signature,
                                     .tell_backend = setup->private->options.tools != NULL,
                                     .results = (int)config_integer(config, OPTION_SEARCH_RESULTS)};
    enum status status = STATUS_OK;
    if (strcmp(config_text(config, OPTION_SEARCH), "auto") == 0)
        choose_backends(setup, &options);
    else
        status = name_backends(setup, &options, error);
    if (status == STATUS_OK)
        status = search_tool_create(&options, out, error);
    return status == STATUS_OK ? status : setup_blame(setup, OPTION_SEARCH, status, error);
}

/* Where fetched pages are kept: as configured, or the usual place (XDG base directories). A fresh string; NULL for
 * nowhere. */
static char *cache_path(struct setup *setup)
{
    const struct config *config = setup->config;
    const char *named = config_text(config, OPTION_CACHE);
    const char *folder = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (config_integer(config, OPTION_NO_CACHE) != 0)
        return NULL;
    if (named != NULL && !config_is_found(config, OPTION_CACHE))
        return mem_strdup(named);
    if (named != NULL) /* what is no cache would be moved aside */
        setup_say(setup, "The cache that ./fathom.yaml names is not used, since nobody named that file; --config "
                         "fathom.yaml says that you trust it.");
    if (folder != NULL && folder[0] == '/')
        return mem_printf("%s/fathom/pages.db", folder);
    return home != NULL && home[0] == '/' ? mem_printf("%s/.cache/fathom/pages.db", home) : NULL;
}

/* How pages are fetched. `path` is cache_path's. */
static void set_network(struct setup *setup, const char *path, struct visit_options *options)
{
    const struct config *config = setup->config;
    options->cache_path = path;
    options->cache_bytes = config_integer(config, OPTION_CACHE_SIZE);
    options->cache_age_ms = config_integer(config, OPTION_CACHE_AGE);
    options->site_parallel = (int)config_integer(config, OPTION_SITE_PARALLEL);
    options->site_gap_ms = config_integer(config, OPTION_SITE_GAP);
    if (config_is_set(config, OPTION_SITE_GAP) && options->site_gap_ms == 0)
        options->site_gap_ms = -1;
    options->robots = config_integer(config, OPTION_ROBOTS) != 0;
    options->documents = setup_documents(setup);
}

/* What is asked for pages that cannot be read directly, in the order that the user gave. */
static enum status set_fallbacks(struct setup *setup, struct visit_options *options, struct error *error)
{
    size_t count;
    const char *const *names = config_list(setup->config, OPTION_FALLBACK, &count);
    bool jina = options->reader == VISIT_READER_JINA;
    for (size_t i = 0; i < count; i++) {
        bool reader = strcmp(names[i], "jina") == 0, repeated = false;
        if (strcmp(names[i], "none") == 0 && count > 1) {
            error_set(error, STATUS_INVALID, "none stands alone");
            return setup_blame(setup, OPTION_FALLBACK, STATUS_INVALID, error);
        }
        for (size_t k = 0; k < i; k++)
            repeated = repeated || strcmp(names[k], names[i]) == 0;
        if (repeated || strcmp(names[i], "none") == 0)
            continue;
        options->fallbacks[options->n_fallbacks++] = reader ? VISIT_FALLBACK_JINA : VISIT_FALLBACK_ARCHIVE;
        jina = jina || reader;
    }
    if (jina)
        options->jina_key = setup_service_key(setup, OPTION_JINA_KEY, OPTION_JINA_URL, options->jina_url);
    return STATUS_OK;
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
        .archive_url = config_text(config, OPTION_ARCHIVE_URL),
        .guard = &setup->guard,
        .corpus_path = config_text(config, OPTION_CORPUS),
        .signature = signature,
        .take = setup->private->options.take_page,
        .take_user = setup->private->options.take_user,
    };
    enum status status = set_fallbacks(setup, &options, error);
    if (status != STATUS_OK)
        return status;
    char *cache = cache_path(setup);
    set_network(setup, cache, &options);
    status = visit_tool_create(&options, out, error);
    free(cache);
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
    struct tool *tool = NULL;
    buf_init(&signature, MAX_SIGNATURE_BYTES);
    enum status status = read_signature(setup, makers[maker].name, &signature, error);
    if (status == STATUS_OK)
        status = makers[maker].create(setup, buf_str(&signature), &tool, error);
    if (status == STATUS_OK && tool != NULL)
        setup_add_tool(setup, tool);
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
        error_set(error, STATUS_INVALID,
                  "there is no tool \"%.60s\"; there are search, visit, google_scholar, "
                  "PythonInterpreter and parse_file",
                  name);
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

/* Whether a user means this tool: one name is long. */
static bool is_called(const char *tool, const char *name)
{
    return strcmp(tool, name) == 0 || (strcmp(name, "python") == 0 && strcmp(tool, "PythonInterpreter") == 0);
}

/* The built-in tools of the list. */
static enum status create_built_in(struct setup *setup, const char *const *names, size_t count, struct error *error)
{
    for (size_t i = 0; i < count; i++) {
        size_t maker = 0;
        while (maker < sizeof makers / sizeof makers[0] && !is_called(makers[maker].name, names[i]))
            maker++;
        bool built_in = maker < sizeof makers / sizeof makers[0];
        if (!built_in && !setup_names_own(setup, names[i]))
            return unknown_tool(setup, names[i], error);
        if (!built_in || has_tool(setup, makers[maker].name))
            continue;
        enum status status = create_tool(setup, maker, error);
        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}

/* Whether searches stay in the local corpus. */
static bool is_local(const struct config *config)
{
    size_t count;
    const char *const *backends = config_list(config, OPTION_SEARCH, &count);
    bool local = config_is_set(config, OPTION_CORPUS);
    for (size_t i = 0; i < count; i++)
        local = local && (strcmp(backends[i], "auto") == 0 || strcmp(backends[i], "corpus") == 0);
    return local;
}

/* What a run gets when nobody says otherwise: everything that can work. Who searches local documents alone does not
 * want the queries to leave, and the built-in reader only searches and visits. */
static size_t choose_tools(const struct setup *setup, const char *names[sizeof makers / sizeof makers[0]])
{
    const struct config *config = setup->config;
    const char *model = config_text(config, OPTION_MODEL);
    size_t count = 0;
    names[count++] = "search";
    names[count++] = "visit";
    if (model != NULL && strcmp(model, "builtin") == 0)
        return count;
    if (!is_local(config) || config_is_set(config, OPTION_SCHOLAR))
        names[count++] = "google_scholar";
    names[count++] = "PythonInterpreter";
    return count;
}

/* Tools of MCP servers come later; their servers have a permission of their own. */
static enum status take_consent(struct setup *setup, struct error *error)
{
    size_t count;
    const char *const *names = config_list(setup->config, OPTION_CONSENT, &count);
    for (size_t i = 0; i < count; i++) {
        bool known = false;
        for (size_t j = 0; j < sizeof makers / sizeof makers[0]; j++)
            known = known || is_called(makers[j].name, names[i]);
        for (size_t j = 0; j < setup->n_tools; j++) {
            if (!is_called(setup->tools[j]->signature->name, names[i]))
                continue;
            setup->tools[j]->permission = TOOL_ASK_FIRST;
            known = true;
        }
        if (!known) {
            error_set(error, STATUS_INVALID, "there is no tool \"%.60s\" to ask for consent to", names[i]);
            return setup_blame(setup, OPTION_CONSENT, STATUS_INVALID, error);
        }
    }
    return STATUS_OK;
}

enum status setup_create_tools(struct setup *setup, struct error *error)
{
    const char *chosen[sizeof makers / sizeof makers[0]];
    size_t count;
    enum status status = STATUS_OK;
    const char *const *names = config_list(setup->config, OPTION_TOOLS, &count);
    if (setup->private->options.tools != NULL) {
        names = setup->private->options.tools;
        count = setup->private->options.n_tools;
    }
    if (count == 1 && strcmp(names[0], "none") == 0)
        return STATUS_OK;
    if (count == 1 && strcmp(names[0], "auto") == 0) {
        count = choose_tools(setup, chosen);
        names = chosen;
    }
    bool all = setup->private->options.tools == NULL; /* a command that wants one tool wants no other */
    if (all)
        status = setup_read_own(setup, error);
    if (status == STATUS_OK)
        status = create_built_in(setup, names, count, error);
    /* Files that are handed over are there to be read. */
    static const char *const parse_file = "parse_file";
    if (status == STATUS_OK && all && setup_has_files(setup))
        status = create_built_in(setup, &parse_file, 1, error);
    if (status == STATUS_OK)
        status = check_corpus(setup, error);
    if (status == STATUS_OK && all)
        status = setup_create_own(setup, error);
    if (status == STATUS_OK && all)
        status = take_consent(setup, error);
    setup->private->n_owned = setup->n_tools;
    return status;
}
