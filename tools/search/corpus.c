/* The local corpus, on a thread of the pool. */
#include "tools/search/internal.h"

static void take_hits(struct search_query *query, const struct corpus_results *found)
{
    struct buf snippet;
    buf_init(&snippet, BUF_UNBOUNDED);
    for (size_t i = 0; i < found->count; i++) {
        const struct corpus_hit *hit = &found->hits[i];
        buf_reset(&snippet);
        if (hit->headings && *hit->headings)
            buf_addf(&snippet, "%s: ", hit->headings);
        buf_add_text(&snippet, hit->snippet ? hit->snippet : "");
        const struct web_item item = {
            .title = str_of(hit->title), .url = str_of(hit->url), .snippet = buf_str(&snippet)};
        web_results_add(&query->found, &item);
    }
    buf_finish(&snippet);
}

/* On the pool. What of the query a job uses belongs to it until on_searched. */
static void search(void *user)
{
    struct search_query *query = user;
    struct search_tool *tool = query->call->tool;
    struct corpus *corpus;
    struct corpus_results found;
    query->corpus_status = corpus_pool_take(tool->corpus, &corpus, &query->corpus_error);
    if (query->corpus_status != STATUS_OK)
        return;
    query->corpus_status =
        corpus_search(corpus, str_of(query->base.text), tool->n_results, &found, &query->corpus_error);
    if (query->corpus_status == STATUS_OK) {
        take_hits(query, &found);
        corpus_results_finish(&found);
    }
    corpus_pool_give(tool->corpus, corpus);
}

static void on_searched(void *user)
{
    struct search_query *query = user;
    if (tool_canceled(query->call->run))
        return;
    if (query->corpus_status == STATUS_OK) {
        web_results_finish(&query->results);
        query->results = query->found;
        query->found = (struct web_results){0};
        search_answered(query);
        return;
    }
    char text[sizeof query->base.chain.failure.person];
    chain_fail(&query->base.chain,
               "the local collection of documents could not be read. Go on with what you already know.",
               "the corpus could not be searched: %s", error_text(&query->corpus_error, text, sizeof text));
    query->base.chain.failure.may_pass = query->corpus_status == STATUS_TIMEOUT;
    chain_failed(&query->base.chain);
}

void search_corpus_ask(void *user)
{
    struct search_query *query = user;
    buf_reset(&query->notice);
    web_results_finish(&query->found);
    search_results_init(query, &query->found);
    tool_work(query->call->run, search, on_searched, query);
}
