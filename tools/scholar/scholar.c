#include "tools/scholar/scholar.h"

#include "core/embed.h"
#include "core/mem.h"
#include "tools/scholar/internal.h"

#include <libxml/parser.h>
#include <stdlib.h>

#define MAX_QUERY_BYTES 1000

const char *scholar_backend_name(enum scholar_backend backend)
{
    switch (backend) {
    case SCHOLAR_SERPER:
        return "serper";
    case SCHOLAR_OPENALEX:
        return "openalex";
    case SCHOLAR_SEMANTIC_SCHOLAR:
        return "semantic-scholar";
    case SCHOLAR_CROSSREF:
        return "crossref";
    case SCHOLAR_ARXIV:
        return "arxiv";
    case SCHOLAR_BACKENDS:
        break;
    }
    return "";
}

/* ---- a call ---- */

static void free_call(void *state)
{
    struct scholar_call *call = state;
    for (size_t i = 0; i < call->asked.count; i++)
        papers_finish(&call->queries[i].papers);
    queries_finish(&call->asked);
    free(call);
}

static void render(void *user, struct buf *out)
{
    scholar_render(user, out);
}

static void scholar_start(struct tool *self, struct tool_run *run)
{
    struct scholar_tool *tool = (struct scholar_tool *)self;
    struct scholar_call *call = mem_zalloc(sizeof *call);
    const struct queries_options options = {
        .run = run,
        .query_size = sizeof *call->queries,
        .max_bytes = MAX_QUERY_BYTES,
        .what = "papers for",
        .backends = tool->order,
        .n_backends = tool->n_order,
        .tries = tool->tries,
        .render = render,
        .user = call,
    };
    call->tool = tool;
    call->run = run;
    queries_init(&call->asked, &options);
    call->queries = call->asked.items;
    for (size_t i = 0; i < call->asked.count; i++) {
        call->queries[i].call = call;
        papers_init(&call->queries[i].papers, tool->n_results);
    }
    tool_set_state(run, call, free_call);
    queries_start(&call->asked);
}

/* ---- the tool ---- */

static bool scholar_check(struct tool *self, struct buf *line)
{
    const struct scholar_tool *tool = (const struct scholar_tool *)self;
    for (size_t i = 0; i < tool->n_order; i++) {
        size_t id = (size_t)(tool->order[i] - tool->backends);
        buf_addf(line, "%s%s", i > 0 ? ", then " : "", tool->order[i]->name);
        if (tool->key[id])
            buf_add_text(line, " (has a key)");
    }
    return true;
}

static void scholar_destroy(struct tool *self)
{
    struct scholar_tool *tool = (struct scholar_tool *)self;
    signature_finish(&tool->signature);
    for (size_t i = 0; i < SCHOLAR_BACKENDS; i++) {
        free(tool->url[i]);
        free(tool->key[i]);
    }
    free(tool->mailto);
    free(tool);
}

static enum status check_options(const struct scholar_options *options, struct error *error)
{
    if (options->n_backends > SCHOLAR_BACKENDS)
        return error_set(error, STATUS_INVALID, "google_scholar knows %d services", (int)SCHOLAR_BACKENDS);
    for (size_t i = 0; i < options->n_backends; i++) {
        if (options->backends[i] == SCHOLAR_SERPER && !options->key[SCHOLAR_SERPER])
            return error_set(error, STATUS_INVALID, "Google Scholar through Serper needs a key: set SERPER_API_KEY");
        for (size_t j = 0; j < i; j++) {
            if (options->backends[i] == options->backends[j])
                return error_set(error, STATUS_INVALID, "--scholar names %s twice",
                                 scholar_backend_name(options->backends[i]));
        }
    }
    return STATUS_OK;
}

static void copy_options(struct scholar_tool *tool, const struct scholar_options *options)
{
    static const char *const urls[SCHOLAR_BACKENDS] = {
        [SCHOLAR_SERPER] = SCHOLAR_SERPER_URL,
        [SCHOLAR_OPENALEX] = SCHOLAR_OPENALEX_URL,
        [SCHOLAR_SEMANTIC_SCHOLAR] = SCHOLAR_SEMANTIC_SCHOLAR_URL,
        [SCHOLAR_CROSSREF] = SCHOLAR_CROSSREF_URL,
        [SCHOLAR_ARXIV] = SCHOLAR_ARXIV_URL,
    };
    for (enum scholar_backend id = SCHOLAR_SERPER; id < SCHOLAR_BACKENDS; id++) {
        tool->backends[id] = scholar_service(id, options);
        tool->url[id] = mem_strdup(options->url[id] ? options->url[id] : urls[id]);
        tool->key[id] = mem_strdup_or_null(options->key[id]);
        if (options->n_backends == 0 && (id != SCHOLAR_SERPER || tool->key[id]))
            tool->order[tool->n_order++] = &tool->backends[id];
    }
    for (size_t i = 0; i < options->n_backends; i++)
        tool->order[tool->n_order++] = &tool->backends[options->backends[i]];
    tool->mailto = mem_strdup_or_null(options->mailto);
    int results = options->results > 0 ? options->results : SCHOLAR_DEFAULT_RESULTS;
    tool->n_results = (size_t)(results < SCHOLAR_MAX_RESULTS ? results : SCHOLAR_MAX_RESULTS);
    tool->tries = options->tries > 0 ? (unsigned)options->tries : 3;
    tool->request_timeout_ms = options->request_timeout_ms > 0 ? options->request_timeout_ms : 20000;
}

enum status scholar_tool_create(const struct scholar_options *options, struct tool **out, struct error *error)
{
    struct str text = options->signature;
    enum status status = check_options(options, error);
    if (status != STATUS_OK)
        return status;
    if (text.len == 0 && !embed_find("tools/scholar/signature.json", &text))
        return error_set(error, STATUS_NOT_FOUND, "the program was built without the signature of google_scholar");
    struct scholar_tool *tool = mem_zalloc(sizeof *tool);
    status = signature_load(text, &tool->signature, error);
    if (status != STATUS_OK) {
        free(tool);
        return status;
    }
    xmlInitParser(); /* before threads of the pool may */
    copy_options(tool, options);
    tool->tool = (struct tool){
        .signature = &tool->signature,
        .idempotent = true,
        .timeout_ms = options->timeout_ms > 0 ? options->timeout_ms : 60000,
        .start = scholar_start,
        .check = scholar_check,
        .destroy = scholar_destroy,
    };
    *out = &tool->tool;
    return STATUS_OK;
}
