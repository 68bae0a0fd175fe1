/* What the model reads: the profile's wording over what was found. */
#include "protocol/profile.h"
#include "tools/search/internal.h"

#include <stdio.h>
#include <stdlib.h>

static void render(const struct profile *profile, enum prompt_id id, const struct prompt_value *values, size_t count,
                   struct buf *out)
{
    if (profile_render(profile, id, values, count, out) != STATUS_OK)
        abort(); /* the buffer has no cap */
}

/* Whether an earlier query of the call shows the page already. */
static bool shown_before(const struct search_query *query, const struct web_result *result)
{
    for (const struct search_query *earlier = query->call->queries; earlier != query; earlier++) {
        for (size_t i = 0; i < earlier->results.count; i++) {
            if (str_equal(str_of(earlier->results.items[i].identity), str_of(result->identity)))
                return true;
        }
    }
    return false;
}

static void render_result(const struct search_query *query, size_t index, struct buf *out)
{
    const struct profile *profile = tool_profile(query->call->run);
    const struct web_result *result = &query->results.items[index];
    bool merge = profile->observations == OBSERVATION_GENERIC && shown_before(query, result);
    char number[24];
    snprintf(number, sizeof number, "%zu", index + 1);
    const struct prompt_value values[] = {
        {.name = "number", .text = str_of(number)},
        {.name = "title", .text = str_of(result->title)},
        {.name = "url", .text = str_of(result->url)},
        {.name = "date", .text = merge ? STR("") : str_of(result->date)},
        {.name = "source", .text = merge ? STR("") : str_of(result->source)},
        {.name = "snippet", .text = merge ? STR("(listed above)") : str_of(result->snippet)},
    };
    render(profile, PROMPT_SEARCH_RESULT, values, sizeof values / sizeof values[0], out);
}

/* Which back end answered where it was not the first, and what else it said; trained formats have no place for it. */
static void make_notice(const struct search_query *query, struct buf *out)
{
    if (tool_profile(query->call->run)->observations != OBSERVATION_GENERIC)
        return;
    chain_tell(&query->base.chain, out);
    if (out->len > 0 && query->notice.len > 0)
        buf_add_char(out, '\n');
    buf_add(out, buf_str(&query->notice));
}

static void render_block(struct search_query *query, struct buf *out)
{
    struct tool_run *run = query->call->run;
    const struct profile *profile = tool_profile(run);
    struct buf results, notice;
    buf_init(&results, BUF_UNBOUNDED);
    buf_init(&notice, BUF_UNBOUNDED);
    make_notice(query, &notice);
    for (size_t i = 0; i < query->results.count; i++) {
        const struct web_result *result = &query->results.items[i];
        if (i > 0)
            buf_add_text(&results, profile->result_separator);
        render_result(query, i, &results);
        tool_report_source(run, str_of(result->url), str_of(result->title));
    }
    char count[24];
    snprintf(count, sizeof count, "%zu", query->results.count);
    const struct prompt_value values[] = {
        {.name = "query", .text = str_of(query->base.text)},
        {.name = "count", .text = str_of(count)},
        {.name = "results", .text = buf_str(&results)},
        {.name = "notice", .text = buf_str(&notice)},
    };
    render(profile, PROMPT_SEARCH_BLOCK, values, sizeof values / sizeof values[0], out);
    buf_finish(&notice);
    buf_finish(&results);
}

static void render_query(struct search_query *query, struct buf *out)
{
    const struct profile *profile = tool_profile(query->call->run);
    const struct prompt_value values[] = {
        {.name = "query", .text = str_of(query->base.text)},
        {.name = "problem", .text = str_of(query->base.chain.failure.model)},
    };
    if (query->base.chain.state == CHAIN_FAILED)
        render(profile, PROMPT_SEARCH_FAILED, values, 2, out);
    else if (query->base.chain.state != CHAIN_FOUND)
        render(profile, PROMPT_SEARCH_EMPTY, values, 1, out);
    else
        render_block(query, out);
}

void search_render(struct search_call *call, struct buf *out)
{
    for (size_t i = 0; i < call->asked.count; i++) {
        if (i > 0)
            buf_add_text(out, tool_profile(call->run)->search_separator);
        render_query(&call->queries[i], out);
    }
}
