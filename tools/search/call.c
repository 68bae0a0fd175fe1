/* A call: its queries, each through its back ends, and the end before the deadline. */
#include "core/mem.h"
#include "protocol/profile.h"
#include "tools/search/internal.h"

#include <stdlib.h>

#define MAX_QUERY_BYTES 2000

static void on_settled(void *user)
{
    struct search_query *query = user;
    struct search_call *call = query->call;
    if (call->tool->tell_backend && query->chain.state == CHAIN_FOUND)
        tool_report_notice(call->run, "%s: %zu result%s from %s", query->what, query->results.count,
                           query->results.count == 1 ? "" : "s", chain_backend(&query->chain)->name);
    queries_settled(&call->asked);
}

void search_answered(struct search_query *query)
{
    chain_answered(&query->chain, query->results.count);
}

void search_results_init(const struct search_query *query, struct web_results *results)
{
    web_results_init(results, query->call->tool->n_results);
    results->keep_repeats = tool_profile(query->call->run)->observations != OBSERVATION_GENERIC;
}

static void free_call(void *state)
{
    struct search_call *call = state;
    for (size_t i = 0; i < call->n_queries; i++) {
        struct search_query *query = &call->queries[i];
        free(query->text);
        free(query->what);
        chain_finish(&query->chain);
        web_results_finish(&query->results);
        web_results_finish(&query->found);
        buf_finish(&query->notice);
    }
    free(call->queries);
    free(call);
}

/* Takes over `text`. */
static void add_query(struct search_call *call, char *text)
{
    struct search_tool *tool = call->tool;
    struct search_query *query = &call->queries[call->n_queries++];
    query->call = call;
    query->text = text;
    query->what = mem_printf("search for \"%s\"", text);
    search_results_init(query, &query->results);
    buf_init(&query->notice, BUF_UNBOUNDED);
    const struct chain_options options = {
        .run = call->run,
        .what = query->what,
        .backends = tool->order,
        .n_backends = tool->n_backends,
        .tries = tool->tries,
        .settled = on_settled,
        .user = query,
    };
    chain_init(&query->chain, &options);
}

static void render(void *user, struct buf *out)
{
    search_render(user, out);
}

static struct chain *chain_of(void *user, size_t index)
{
    return &((struct search_call *)user)->queries[index].chain;
}

void search_start(struct tool *self, struct tool_run *run)
{
    struct search_call *call = mem_zalloc(sizeof *call);
    size_t count;
    char **texts = queries_take(json_object_get(tool_arguments(run), "query"), MAX_QUERY_BYTES, &count);
    call->tool = (struct search_tool *)self;
    call->run = run;
    call->queries = mem_calloc(count, sizeof *call->queries);
    for (size_t i = 0; i < count; i++)
        add_query(call, texts[i]);
    free(texts);
    tool_set_state(run, call, free_call);
    call->asked = (struct queries){.run = run, .count = count, .chain_of = chain_of, .render = render, .user = call};
    queries_start(&call->asked);
}
