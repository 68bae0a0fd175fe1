#include "tools/search/search.h"

#include "core/embed.h"
#include "core/mem.h"
#include "loop/loop.h"
#include "net/retry.h"
#include "tools/search/internal.h"

#include <stdio.h>
#include <stdlib.h>

#define MAX_QUERY_BYTES 2000

static const char *backend_name(enum search_backend backend)
{
    switch (backend) {
    case SEARCH_SERPER:
        return "serper";
    case SEARCH_SEARXNG:
        return "searxng";
    case SEARCH_CORPUS:
        return "corpus";
    }
    return "";
}

/* ---- a query through its back ends ---- */

static enum search_backend backend_of(const struct search_query *query)
{
    return query->call->tool->backends[query->backend];
}

static void ask(struct search_query *query)
{
    query->tries++;
    switch (backend_of(query)) {
    case SEARCH_SERPER:
        search_serper_ask(query);
        break;
    case SEARCH_SEARXNG:
        search_searxng_ask(query);
        break;
    case SEARCH_CORPUS:
        search_corpus_ask(query);
        break;
    }
}

static void finish_call(struct search_call *call)
{
    struct buf text;
    size_t failed = 0;
    for (size_t i = 0; i < call->n_queries; i++)
        failed += call->queries[i].failed;
    buf_init(&text, BUF_UNBOUNDED);
    search_render(call, &text);
    tool_finish(call->run, failed < call->n_queries ? TOOL_OK : TOOL_FAILED, buf_str(&text));
    buf_finish(&text);
}

static void settle(struct search_query *query)
{
    struct search_call *call = query->call;
    query->done = true;
    if (++call->n_done == call->n_queries)
        finish_call(call);
}

void search_answered(struct search_query *query)
{
    settle(query);
}

static void ask_again(void *user)
{
    struct search_query *query = user;
    if (!tool_canceled(query->call->run))
        ask(query);
}

static void ask_next(struct search_query *query)
{
    const char *failed = backend_name(backend_of(query));
    query->backend++;
    query->tries = 0;
    buf_reset(&query->notice);
    buf_addf(&query->notice, "(%s failed; these results come from %s.)", failed, backend_name(backend_of(query)));
    ask(query);
}

void search_failed(struct search_query *query)
{
    struct search_tool *tool = query->call->tool;
    struct tool_run *run = query->call->run;
    const struct search_failure *failure = &query->failure;
    if (failure->may_pass && query->tries < tool->tries) {
        int64_t delay = retry_delay_ms(query->tries, failure->retry_after_ms, retry_chance(&tool->chance));
        if (delay + 1000 < tool_time_left_ms(run)) {
            tool_wait(run, delay, ask_again, query);
            return;
        }
    }
    tool_report_notice(run, "search for \"%s\": %s", query->text, failure->person);
    if (query->backend + 1 < tool->n_backends) {
        ask_next(query);
        return;
    }
    query->failed = true;
    settle(query);
}

/* ---- a call ---- */

static void free_call(void *state)
{
    struct search_call *call = state;
    for (size_t i = 0; i < call->n_queries; i++) {
        free(call->queries[i].text);
        search_results_finish(&call->queries[i].results);
        search_results_finish(&call->queries[i].found);
        buf_finish(&call->queries[i].notice);
    }
    free(call->queries);
    free(call);
}

static bool has_query(const struct search_call *call, const char *text)
{
    for (size_t i = 0; i < call->n_queries; i++) {
        if (str_equal(str_of(call->queries[i].text), str_of(text)))
            return true;
    }
    return false;
}

static void take_queries(struct search_call *call, const json_t *list)
{
    size_t index;
    json_t *item;
    call->queries = mem_calloc(json_array_size(list), sizeof *call->queries);
    json_array_foreach (list, index, item) {
        char *text = line_make(str_make(json_string_value(item), json_string_length(item)), MAX_QUERY_BYTES);
        if (!*text || has_query(call, text)) {
            free(text);
            continue;
        }
        struct search_query *query = &call->queries[call->n_queries++];
        query->call = call;
        query->text = text;
        search_results_init(&query->results, call->tool->n_results);
        buf_init(&query->notice, BUF_UNBOUNDED);
    }
}

static void on_nearly_late(void *user)
{
    struct search_call *call = user;
    if (tool_canceled(call->run))
        return;
    int64_t early = tool_time_left_ms(call->run) - call->margin_ms;
    if (early > 0) {
        tool_wait(call->run, early, on_nearly_late, call);
        return;
    }
    for (size_t i = 0; i < call->n_queries; i++) {
        struct search_query *query = &call->queries[i];
        if (query->done)
            continue;
        query->done = query->failed = true;
        snprintf(query->failure.model, sizeof query->failure.model, "%s",
                 "there was no answer in time. Ask again, perhaps with fewer queries.");
        tool_report_notice(call->run, "search for \"%s\": %s did not answer in time", query->text,
                           backend_name(backend_of(query)));
    }
    finish_call(call);
}

static void refuse_empty(void *user)
{
    struct search_call *call = user;
    tool_finish(call->run, TOOL_FAILED, STR("The search has no query in it: give at least one."));
}

static void search_start(struct tool *self, struct tool_run *run)
{
    struct search_call *call = mem_zalloc(sizeof *call);
    call->tool = (struct search_tool *)self;
    call->run = run;
    tool_set_state(run, call, free_call);
    take_queries(call, json_object_get(tool_arguments(run), "query"));
    if (call->n_queries == 0) {
        tool_wait(run, 0, refuse_empty, call);
        return;
    }
    int64_t left = tool_time_left_ms(run);
    call->margin_ms = left < 10000 ? left / 10 : 1000;
    tool_wait(run, left - call->margin_ms, on_nearly_late, call);
    for (size_t i = 0; i < call->n_queries; i++)
        ask(&call->queries[i]);
}

/* ---- the tool ---- */

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

static bool search_check(struct tool *self, struct buf *line)
{
    struct search_tool *tool = (struct search_tool *)self;
    bool works = true;
    for (size_t i = 0; i < tool->n_backends; i++) {
        buf_add_text(line, i > 0 ? "; " : "");
        switch (tool->backends[i]) {
        case SEARCH_SERPER:
            buf_add_text(line, tool->serper_key ? "serper: has a key" : "serper: no key; set SERPER_API_KEY");
            works = works && tool->serper_key;
            break;
        case SEARCH_SEARXNG:
            buf_add_text(line, "searxng: has an address");
            break;
        case SEARCH_CORPUS:
            works = check_corpus(tool, line) && works;
            break;
        }
    }
    return works;
}

static void search_destroy(struct tool *self)
{
    struct search_tool *tool = (struct search_tool *)self;
    signature_finish(&tool->signature);
    corpus_pool_destroy(tool->corpus);
    free(tool->serper_url);
    free(tool->serper_key);
    free(tool->searxng_url);
    free(tool);
}

static enum status check_options(const struct search_options *options, struct error *error)
{
    if (options->n_backends == 0 || options->n_backends > SEARCH_MAX_BACKENDS)
        return error_set(error, STATUS_INVALID, "search needs one to %d back ends", SEARCH_MAX_BACKENDS);
    for (size_t i = 0; i < options->n_backends; i++) {
        enum search_backend backend = options->backends[i];
        if (backend == SEARCH_SEARXNG && !options->searxng_url)
            return error_set(error, STATUS_INVALID, "search through SearXNG needs its address: --search-url");
        if (backend == SEARCH_CORPUS && !options->corpus_path)
            return error_set(error, STATUS_INVALID, "search in a corpus needs its file: --corpus");
    }
    return STATUS_OK;
}

static void copy_options(struct search_tool *tool, const struct search_options *options)
{
    for (size_t i = 0; i < options->n_backends; i++)
        tool->backends[tool->n_backends++] = options->backends[i];
    tool->serper_url = mem_strdup(options->serper_url ? options->serper_url : SEARCH_SERPER_URL);
    tool->serper_key = mem_strdup_or_null(options->serper_key);
    tool->searxng_url = mem_strdup_or_null(options->searxng_url);
    if (options->corpus_path)
        tool->corpus = corpus_pool_create(options->corpus_path);
    int results = options->results > 0 ? options->results : SEARCH_DEFAULT_RESULTS;
    tool->n_results = (size_t)(results < SEARCH_MAX_RESULTS ? results : SEARCH_MAX_RESULTS);
    tool->tries = options->tries > 0 ? (unsigned)options->tries : 3;
    tool->request_timeout_ms = options->request_timeout_ms > 0 ? options->request_timeout_ms : 20000;
    tool->chance = (uint64_t)(uintptr_t)tool;
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
