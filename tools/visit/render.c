/* What the model reads: the profile's wording over what the pages say. */
#include "protocol/profile.h"
#include "tools/visit/internal.h"

#include <stdlib.h>

static void render(const struct profile *profile, enum prompt_id id, const struct prompt_value *values, size_t count,
                   struct buf *out)
{
    if (profile_render(profile, id, values, count, out) != STATUS_OK)
        abort(); /* the buffer has no cap */
}

static void render_page(const struct visit_page *page, struct buf *out)
{
    const struct profile *profile = tool_profile(page->call->run);
    bool generic = profile->observations == OBSERVATION_GENERIC;
    const struct prompt_value values[] = {
        {.name = "url", .text = str_of(page->url)},
        {.name = "title", .text = str_of(page->title)},
        {.name = "goal", .text = page->call->goal},
        {.name = "evidence", .text = buf_str(&page->evidence)},
        {.name = "summary", .text = str_trim(buf_str(&page->summary))},
        {.name = "links", .text = generic ? buf_str(&page->links) : STR("")},
    };
    render(profile, PROMPT_VISIT_PAGE, values, sizeof values / sizeof values[0], out);
    tool_report_source(page->call->run, str_of(page->url), str_of(page->title));
    if (page->truncated)
        tool_report_truncated(page->call->run);
}

static void render_failure(const struct visit_page *page, struct buf *out)
{
    const struct prompt_value values[] = {
        {.name = "url", .text = str_of(page->url)},
        {.name = "goal", .text = page->call->goal},
        {.name = "problem", .text = str_of(page->problem)},
    };
    render(tool_profile(page->call->run), PROMPT_VISIT_FAILED, values, sizeof values / sizeof values[0], out);
}

void visit_render(struct visit_call *call, struct buf *out)
{
    for (size_t i = 0; i < call->n_pages; i++) {
        const struct visit_page *page = &call->pages[i];
        if (i > 0)
            buf_add_text(out, tool_profile(call->run)->visit_separator);
        if (page->state == PAGE_DONE)
            render_page(page, out);
        else
            render_failure(page, out);
    }
}
