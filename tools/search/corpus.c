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
        search_results_add(&query->found, str_of(hit->title), str_of(hit->url), (struct str){0}, (struct str){0},
                           buf_str(&snippet));
    }
    buf_finish(&snippet);
}

/* On the pool. The query belongs to this job until on_searched. */
static void search(void *user)
{
    struct search_query *query = user;
    struct search_tool *tool = query->call->tool;
    struct corpus *corpus;
    struct corpus_results found;
    search_results_finish(&query->found);
    search_results_init(&query->found, tool->n_results);
    query->corpus_status = corpus_pool_take(tool->corpus, &corpus, &query->corpus_error);
    if (query->corpus_status != STATUS_OK)
        return;
    query->corpus_status = corpus_search(corpus, str_of(query->text), tool->n_results, &found, &query->corpus_error);
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
        search_results_finish(&query->results);
        query->results = query->found;
        query->found = (struct search_results){0};
        search_answered(query);
        return;
    }
    char text[sizeof query->failure.person];
    search_fail(query, query->corpus_status == STATUS_TIMEOUT,
                "the local collection of documents could not be read. Go on with what you already know.",
                "the corpus could not be searched: %s", error_text(&query->corpus_error, text, sizeof text));
    search_failed(query);
}

void search_corpus_ask(struct search_query *query)
{
    tool_work(query->call->run, search, on_searched, query);
}
