/* What bears on the goal, picked by the words both share: on the pool, without a model. */
#include "core/mem.h"
#include "protocol/profile.h"
#include "text/passages.h"
#include "text/rank.h"
#include "tools/visit/internal.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_PASSAGES = 10, MAX_SENTENCES = 3 };

static void add_passage(struct visit_page *page, const struct passage *passage)
{
    struct str text = str_trim(str_slice(buf_str(&page->text), passage->from, passage->to));
    if (page->evidence.len > 0)
        buf_add_text(&page->evidence, "\n\n…\n\n");
    /* A passage that begins with its heading names it already. */
    if (passage->headings && !str_starts_with(text, STR("#")))
        buf_addf(&page->evidence, "[%s]\n", passage->headings);
    buf_add(&page->evidence, text);
}

/* The best passages that fit, in the order of the page. Returns how many bear on the goal. */
static size_t pick_passages(struct visit_page *page)
{
    struct str text = buf_str(&page->text);
    struct passages passages;
    struct ranked best[MAX_PASSAGES];
    passages_cut(text, 0, &passages);
    size_t found = rank_passages(text, &passages, page->call->goal, best, MAX_PASSAGES);
    bool *taken = mem_calloc(passages.count, sizeof *taken);
    size_t bytes = 0;
    for (size_t i = 0; i < found; i++) {
        const struct passage *passage = &passages.items[best[i].index];
        size_t length = passage->to - passage->from;
        if (bytes > 0 && bytes + length > page->call->evidence_bytes)
            continue;
        bytes += length;
        taken[best[i].index] = true;
    }
    for (size_t i = 0; i < passages.count; i++) {
        /* Where nothing fits the goal, the beginning says at least what the page is about. */
        if (taken[i] || (found == 0 && i == 0))
            add_passage(page, &passages.items[i]);
    }
    free(taken);
    passages_finish(&passages);
    return found;
}

static void pick_sentences(struct visit_page *page)
{
    struct str text = buf_str(&page->text);
    struct ranked_sentence best[MAX_SENTENCES];
    size_t found = rank_sentences(text, page->call->goal, best, MAX_SENTENCES);
    for (size_t i = 0; i < found; i++) {
        if (i > 0)
            buf_add_text(&page->summary, " ");
        line_add(&page->summary, str_slice(text, best[i].sentence.from, best[i].sentence.to), 600);
    }
}

static void pick(void *user)
{
    struct visit_page *page = user;
    buf_reset(&page->evidence);
    buf_reset(&page->summary);
    buf_reset(&page->links);
    size_t found = pick_passages(page);
    if (tool_canceled(page->call->run))
        return;
    if (found == 0) {
        buf_add_text(&page->summary,
                     "No passage of this page shares a word with the goal; what is shown is its beginning.");
    } else {
        pick_sentences(page);
    }
    if (tool_profile(page->call->run)->observations == OBSERVATION_GENERIC && !tool_canceled(page->call->run))
        visit_pick_links(page);
}

static void on_picked(void *user)
{
    struct visit_page *page = user;
    if (visit_page_over(page))
        return;
    if (page->by_words)
        buf_add_text(&page->summary,
                     " (The page could not be summed up by a model; these passages were picked by the words "
                     "they share with the goal.)");
    visit_page_done(page);
}

void visit_pick(struct visit_page *page)
{
    page->state = PAGE_PICKING;
    tool_work(page->call->run, pick, on_picked, page);
}
