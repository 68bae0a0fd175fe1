/* A call: its queries, each through its back ends, and the end before the deadline. */
#include "core/mem.h"
#include "protocol/profile.h"
#include "tools/search/internal.h"

#include <stdlib.h>

#define MAX_QUERY_BYTES 2000

static void tell_backend(void *user)
{
    struct search_query *query = user;
    if (query->base.chain.state == CHAIN_FOUND)
        tool_report_notice(query->call->run, "%s: %zu result%s from %s", query->base.what, query->results.count,
                           query->results.count == 1 ? "" : "s", chain_backend(&query->base.chain)->name);
}

void search_answered(struct search_query *query)
{
    chain_answered(&query->base.chain, query->results.count);
}

void search_results_init(const struct search_query *query, struct web_results *results)
{
    web_results_init(results, query->call->tool->n_results);
    results->keep_repeats = tool_profile(query->call->run)->observations != OBSERVATION_GENERIC;
}

static void free_call(void *state)
{
    struct search_call *call = state;
    for (size_t i = 0; i < call->asked.count; i++) {
        struct search_query *query = &call->queries[i];
        web_results_finish(&query->results);
        web_results_finish(&query->found);
        buf_finish(&query->notice);
    }
    queries_finish(&call->asked);
    free(call);
}

static void render(void *user, struct buf *out)
{
    search_render(user, out);
}

void search_start(struct tool *self, struct tool_run *run)
{
    struct search_tool *tool = (struct search_tool *)self;
    struct search_call *call = mem_zalloc(sizeof *call);
    const struct queries_options options = {
        .run = run,
        .query_size = sizeof *call->queries,
        .max_bytes = MAX_QUERY_BYTES,
        .what = "search for",
        .backends = tool->order,
        .n_backends = tool->n_backends,
        .tries = tool->tries,
        .settled = tool->tell_backend ? tell_backend : NULL,
        .render = render,
        .user = call,
    };
    call->tool = tool;
    call->run = run;
    queries_init(&call->asked, &options);
    call->queries = call->asked.items;
    for (size_t i = 0; i < call->asked.count; i++) {
        struct search_query *query = &call->queries[i];
        query->call = call;
        search_results_init(query, &query->results);
        buf_init(&query->notice, BUF_UNBOUNDED);
    }
    tool_set_state(run, call, free_call);
    queries_start(&call->asked);
}
