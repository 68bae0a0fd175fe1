/* What the model reads: the profile's wording over what was found. */
#include "protocol/profile.h"
#include "tools/scholar/internal.h"

#include <stdio.h>
#include <stdlib.h>

static void render(const struct profile *profile, enum prompt_id id, const struct prompt_value *values, size_t count,
                   struct buf *out)
{
    if (profile_render(profile, id, values, count, out) != STATUS_OK)
        abort(); /* the buffer has no cap */
}

/* Whether an earlier query of the call shows the paper already. */
static bool shown_before(const struct scholar_query *query, const char *key)
{
    for (const struct scholar_query *earlier = query->call->queries; earlier != query; earlier++) {
        for (size_t i = 0; i < earlier->papers.count && earlier->base.chain.state == CHAIN_FOUND; i++) {
            if (str_equal(str_of(earlier->papers.items[i].key), str_of(key)))
                return true;
        }
    }
    return false;
}

static void render_paper(const struct scholar_query *query, size_t index, struct buf *out)
{
    const struct profile *profile = tool_profile(query->call->run);
    const struct paper *paper = &query->papers.items[index];
    bool merge = profile->observations == OBSERVATION_GENERIC && *paper->key && shown_before(query, paper->key);
    char number[24];
    snprintf(number, sizeof number, "%zu", index + 1);
    const struct prompt_value values[] = {
        {.name = "number", .text = str_of(number)},
        {.name = "title", .text = str_of(paper->title)},
        {.name = "url", .text = *paper->url ? str_of(paper->url) : STR("no link")},
        {.name = "pdf", .text = merge ? STR("") : str_of(paper->pdf)},
        {.name = "authors", .text = merge ? STR("") : str_of(paper->authors)},
        {.name = "venue", .text = merge ? STR("") : str_of(paper->venue)},
        {.name = "publication", .text = merge ? STR("") : str_of(paper->publication)},
        {.name = "year", .text = merge ? STR("") : str_of(paper->year)},
        {.name = "citations", .text = merge ? STR("") : str_of(paper->citations)},
        {.name = "abstract", .text = merge ? STR("(listed above)") : str_of(paper->abstract)},
    };
    enum prompt_id id = *paper->pdf ? PROMPT_SCHOLAR_RESULT : PROMPT_SCHOLAR_CLOSED;
    render(profile, id, values, sizeof values / sizeof values[0], out);
}

static void report_source(struct scholar_query *query, const struct paper *paper)
{
    const char *const urls[] = {paper->url, paper->pdf};
    for (size_t i = 0; i < 2; i++) {
        if (*urls[i])
            tool_report_source(query->call->run, str_of(urls[i]), str_of(paper->title));
    }
}

static void render_block(struct scholar_query *query, struct buf *out)
{
    const struct profile *profile = tool_profile(query->call->run);
    struct buf results, notice;
    buf_init(&results, BUF_UNBOUNDED);
    buf_init(&notice, BUF_UNBOUNDED);
    for (size_t i = 0; i < query->papers.count; i++) {
        if (i > 0)
            buf_add_text(&results, profile->result_separator);
        render_paper(query, i, &results);
        report_source(query, &query->papers.items[i]);
    }
    if (profile->observations == OBSERVATION_GENERIC)
        chain_tell(&query->base.chain, &notice);
    char count[24];
    snprintf(count, sizeof count, "%zu", query->papers.count);
    const struct prompt_value values[] = {
        {.name = "query", .text = str_of(query->base.text)},
        {.name = "count", .text = str_of(count)},
        {.name = "results", .text = buf_str(&results)},
        {.name = "notice", .text = buf_str(&notice)},
    };
    render(profile, PROMPT_SCHOLAR_BLOCK, values, sizeof values / sizeof values[0], out);
    buf_finish(&results);
    buf_finish(&notice);
}

static void render_query(struct scholar_query *query, struct buf *out)
{
    const struct profile *profile = tool_profile(query->call->run);
    const struct prompt_value values[] = {
        {.name = "query", .text = str_of(query->base.text)},
        {.name = "problem", .text = str_of(query->base.chain.failure.model)},
    };
    switch (query->base.chain.state) {
    case CHAIN_FOUND:
        render_block(query, out);
        break;
    case CHAIN_EMPTY:
        render(profile, PROMPT_SEARCH_EMPTY, values, 1, out);
        break;
    case CHAIN_ASKING:
    case CHAIN_FAILED:
        render(profile, PROMPT_SEARCH_FAILED, values, 2, out);
        break;
    }
}

void scholar_render(struct scholar_call *call, struct buf *out)
{
    for (size_t i = 0; i < call->asked.count; i++) {
        if (i > 0)
            buf_add_text(out, tool_profile(call->run)->search_separator);
        render_query(&call->queries[i], out);
    }
}
