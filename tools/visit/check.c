/* Whether what the model gives as evidence stands in the page: on the pool, with the links worth following. */
#include "protocol/profile.h"
#include "text/quote_check.h"
#include "tools/visit/internal.h"

#include <stdlib.h>

/* Writes the evidence anew, with a mark before each quotation that does not occur. */
static void mark_unfound(struct visit_page *page, const struct quotes *quotes)
{
    struct buf marked;
    struct str evidence = buf_str(&page->evidence);
    size_t at = 0;
    buf_init(&marked, BUF_UNBOUNDED);
    for (size_t i = 0; i < quotes->count; i++) {
        if (quotes->items[i].found)
            continue;
        buf_add(&marked, str_slice(evidence, at, quotes->items[i].from));
        buf_add_text(&marked, VISIT_UNFOUND_MARK " ");
        at = quotes->items[i].from;
    }
    buf_add(&marked, str_slice(evidence, at, evidence.len));
    buf_finish(&page->evidence);
    page->evidence = marked;
}

static void check(void *user)
{
    struct visit_page *page = user;
    bool generic = tool_profile(page->call->run)->observations == OBSERVATION_GENERIC;
    struct quotes quotes;
    quote_check(buf_str(&page->text), buf_str(&page->evidence), &quotes);
    page->n_quotes = quotes.count;
    page->n_unfound_quotes = quotes.n_missing;
    /* Formats that models were trained on stay as they are; there the count is all that is kept. */
    if (generic && quotes.n_missing > 0)
        mark_unfound(page, &quotes);
    quotes_finish(&quotes);
    buf_reset(&page->links);
    if (generic && !tool_canceled(page->call->run))
        visit_pick_links(page);
}

static void on_checked(void *user)
{
    struct visit_page *page = user;
    if (visit_page_over(page))
        return;
    tool_report_quotes(page->call->run, page->n_quotes, page->n_unfound_quotes);
    if (page->n_unfound_quotes > 0)
        tool_report_notice(page->call->run, "%s: %zu of %zu quotations of the summary do not occur in the page",
                           page->url, page->n_unfound_quotes, page->n_quotes);
    visit_page_done(page);
}

void visit_check_quotes(struct visit_page *page)
{
    page->state = PAGE_PICKING;
    tool_work(page->call->run, check, on_checked, page);
}
