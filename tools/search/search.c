#include "tools/search/search.h"

#include "core/embed.h"
#include "core/mem.h"
#include "tools/search/internal.h"

#include <stdlib.h>
#include <string.h>

const struct search_kind search_kinds[SEARCH_BACKENDS] = {
    [SEARCH_SERPER] = {"serper", SEARCH_SERPER_URL, "SERPER_API_KEY", search_serper_ask},
    [SEARCH_BRAVE] = {"brave", SEARCH_BRAVE_URL, "BRAVE_API_KEY", search_brave_ask},
    [SEARCH_TAVILY] = {"tavily", SEARCH_TAVILY_URL, "TAVILY_API_KEY", search_tavily_ask},
    [SEARCH_SEARXNG] = {"searxng", NULL, NULL, search_searxng_ask},
    [SEARCH_WIKIPEDIA] = {"wikipedia", SEARCH_WIKIPEDIA_URL, NULL, search_wikipedia_ask},
    [SEARCH_DUCKDUCKGO] = {"duckduckgo", SEARCH_DUCKDUCKGO_URL, NULL, search_duckduckgo_ask},
    [SEARCH_CORPUS] = {"corpus", NULL, NULL, search_corpus_ask},
};

const char *search_backend_name(enum search_backend backend)
{
    return search_kinds[backend].name;
}

bool search_backend_find(const char *name, enum search_backend *backend)
{
    for (enum search_backend id = 0; id < SEARCH_BACKENDS; id++) {
        if (strcmp(search_kinds[id].name, name) == 0) {
            *backend = id;
            return true;
        }
    }
    return false;
}

/* ---- what doctor says ---- */

static bool check_corpus(struct search_tool *tool, struct buf *line)
{
    struct corpus *corpus;
    struct error error;
    char text[sizeof error.message + sizeof error.place + 32];
    if (corpus_pool_take(tool->corpus, &corpus, &error) != STATUS_OK) {
        buf_addf(line, "corpus: %s; make one with \"fathom index DIR --into FILE.db\"",
                 error_text(&error, text, sizeof text));
        return false;
    }
    corpus_pool_give(tool->corpus, corpus);
    buf_add_text(line, "corpus: opens");
    return true;
}

static bool check_backend(struct search_tool *tool, enum search_backend backend, struct buf *line)
{
    const struct search_kind *kind = &search_kinds[backend];
    if (backend == SEARCH_CORPUS)
        return check_corpus(tool, line);
    if (kind->key_name && !tool->key[backend]) {
        buf_addf(line, "%s: no key; set %s", kind->name, kind->key_name);
        return false;
    }
    const char *state = kind->key_name ? "has a key" : kind->url ? "needs no key" : "has an address";
    bool elsewhere = kind->url && strcmp(kind->url, tool->url[backend]) != 0;
    buf_addf(line, "%s: %s%s", kind->name, state, elsewhere ? ", at an address of yours" : "");
    return true;
}

static bool search_check(struct tool *self, struct buf *line)
{
    struct search_tool *tool = (struct search_tool *)self;
    bool works = true;
    for (size_t i = 0; i < tool->n_backends; i++) {
        buf_add_text(line, i > 0 ? "; then " : "");
        works = check_backend(tool, (enum search_backend)(tool->order[i] - tool->backends), line) && works;
    }
    return works;
}

/* ---- the tool ---- */

static void search_destroy(struct tool *self)
{
    struct search_tool *tool = (struct search_tool *)self;
    signature_finish(&tool->signature);
    corpus_pool_destroy(tool->corpus);
    for (size_t i = 0; i < SEARCH_BACKENDS; i++) {
        free(tool->url[i]);
        free(tool->key[i]);
    }
    free(tool);
}

static enum status check_options(const struct search_options *options, struct error *error)
{
    bool named[SEARCH_BACKENDS] = {false};
    if (options->n_backends == 0 || options->n_backends > SEARCH_BACKENDS)
        return error_set(error, STATUS_INVALID, "search needs one to %d back ends", SEARCH_BACKENDS);
    for (size_t i = 0; i < options->n_backends; i++) {
        enum search_backend backend = options->backends[i];
        if (named[backend])
            return error_set(error, STATUS_INVALID, "%s is named twice", search_kinds[backend].name);
        if (backend == SEARCH_SEARXNG && !options->url[backend])
            return error_set(error, STATUS_INVALID, "search through SearXNG needs its address: --searxng-url");
        if (backend == SEARCH_CORPUS && !options->corpus_path)
            return error_set(error, STATUS_INVALID, "search in a corpus needs its file: --corpus");
        named[backend] = true;
    }
    return STATUS_OK;
}

static void copy_options(struct search_tool *tool, const struct search_options *options)
{
    for (enum search_backend id = 0; id < SEARCH_BACKENDS; id++) {
        tool->url[id] = mem_strdup_or_null(options->url[id] ? options->url[id] : search_kinds[id].url);
        tool->key[id] = mem_strdup_or_null(options->key[id]);
        tool->backends[id] = (struct chain_backend){.name = search_kinds[id].name, .ask = search_kinds[id].ask};
    }
    for (size_t i = 0; i < options->n_backends; i++)
        tool->order[tool->n_backends++] = &tool->backends[options->backends[i]];
    if (options->corpus_path)
        tool->corpus = corpus_pool_create(options->corpus_path);
    int results = options->results > 0 ? options->results : SEARCH_DEFAULT_RESULTS;
    tool->n_results = (size_t)(results < WEB_MAX_RESULTS ? results : WEB_MAX_RESULTS);
    tool->tell_backend = options->tell_backend;
    tool->tries = options->tries > 0 ? (unsigned)options->tries : 3;
    tool->request_timeout_ms = options->request_timeout_ms > 0 ? options->request_timeout_ms : 20000;
}

enum status search_tool_create(const struct search_options *options, struct tool **out, struct error *error)
{
    struct str text = options->signature;
    enum status status = check_options(options, error);
    if (status != STATUS_OK)
        return status;
    if (text.len == 0 && !embed_find("tools/search/signature.json", &text))
        return error_set(error, STATUS_NOT_FOUND, "the program was built without the signature of search");
    struct search_tool *tool = mem_zalloc(sizeof *tool);
    status = signature_load(text, &tool->signature, error);
    if (status != STATUS_OK) {
        free(tool);
        return status;
    }
    copy_options(tool, options);
    tool->tool = (struct tool){
        .signature = &tool->signature,
        .idempotent = true,
        .timeout_ms = options->timeout_ms > 0 ? options->timeout_ms : 60000,
        .start = search_start,
        .check = search_check,
        .destroy = search_destroy,
    };
    *out = &tool->tool;
    return STATUS_OK;
}
