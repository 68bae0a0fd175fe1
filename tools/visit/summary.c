/* What bears on the goal, as the summary model sees it: asked for as JSON, asked again with less of the page when that
 * was too long or the reply is of no use, a bounded number of times; then passages are picked. Of a page that is longer
 * than what is sent, the model is sent what bears on the goal. */
#include "core/lenient_json.h"
#include "protocol/profile.h"
#include "text/selection.h"
#include "tools/visit/internal.h"

#include <stdlib.h>

enum { MAX_REPLIES = 4, MAX_OBJECTS = 8 };

/* A prompt as short as this is not the reason why a model cannot answer. */
#define MIN_SEND_TOKENS 1000

static void ask(struct visit_page *page);

static void pick_instead(struct visit_page *page, const char *why)
{
    tool_report_notice(page->call->run, "%s: no summary from the model (%s); passages are picked instead", page->url,
                       why);
    page->by_words = true;
    visit_pick(page);
}

static void select_part(void *user)
{
    struct visit_page *page = user;
    struct selection_facts facts;
    if (!page->selection)
        page->selection = selection_create(buf_str(&page->text), page->call->goal);
    if (tool_canceled(page->call->run))
        return;
    buf_reset(&page->part);
    selection_write(page->selection, page->send_tokens, &page->part, &facts);
    page->part_passages = facts.taken;
    page->text_passages = facts.passages;
}

static void on_selected(void *user)
{
    struct visit_page *page = user;
    if (visit_page_over(page))
        return;
    if (page->call->hurried) {
        page->by_words = true;
        visit_pick(page);
        return;
    }
    page->state = PAGE_SUMMING;
    ask(page);
}

/* Sends the model as much of the page as `send_tokens` says. */
static void send_part(struct visit_page *page)
{
    if (page->send_tokens >= page->text_tokens) {
        page->state = PAGE_SUMMING;
        ask(page);
        return;
    }
    page->state = PAGE_SELECTING;
    page->truncated = true;
    tool_work(page->call->run, select_part, on_selected, page);
}

static void send_less(struct visit_page *page)
{
    if (page->send_tokens > MIN_SEND_TOKENS)
        page->send_tokens = page->send_tokens * 7 / 10;
    send_part(page);
}

/* Text of a string, or of a list of strings one a line. */
static void add_member(struct buf *out, const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    if (json_is_string(value)) {
        buf_add(out, str_trim(json_get_str(object, key)));
        return;
    }
    size_t index;
    json_t *item;
    json_array_foreach (value, index, item) {
        if (!json_is_string(item))
            continue;
        if (out->len > 0)
            buf_add_char(out, '\n');
        buf_add(out, str_trim(str_make(json_string_value(item), json_string_length(item))));
    }
}

/* The first object with evidence or summary in a reply, which may have words or a fence around it. */
static bool take_reply(struct visit_page *page, struct str reply, bool cut)
{
    size_t at = str_find_char(reply, '{', 0);
    for (int i = 0; i < MAX_OBJECTS && at != STR_NONE; i++) {
        json_t *object = NULL;
        struct lenient_result result;
        if (lenient_json_parse(str_slice(reply, at, reply.len), cut ? LENIENT_NO_COMPLETION : 0, &object, &result,
                               NULL) == STATUS_OK) {
            buf_reset(&page->evidence);
            buf_reset(&page->summary);
            add_member(&page->evidence, object, "evidence");
            add_member(&page->summary, object, "summary");
            json_decref(object);
            if (page->evidence.len > 0 || page->summary.len > 0)
                return true;
        }
        at = str_find_char(reply, '{', at + 1);
    }
    return false;
}

static void on_reply(void *user, const struct tool_completion *completion)
{
    struct visit_page *page = user;
    if (visit_page_over(page) || page->state != PAGE_SUMMING)
        return;
    if (completion->status == STATUS_OK) {
        if (take_reply(page, completion->text, completion->cut))
            visit_check_quotes(page);
        else if (++page->replies == MAX_REPLIES)
            pick_instead(page, "its replies were of no use");
        else
            send_less(page);
    } else if (completion->status == STATUS_TOO_BIG && page->send_tokens > MIN_SEND_TOKENS) {
        send_less(page);
    } else {
        /* The client has tried what there was to try. */
        pick_instead(page, completion->error->message);
    }
}

static void ask(struct visit_page *page)
{
    struct tool_run *run = page->call->run;
    bool whole = page->send_tokens >= page->text_tokens;
    struct buf prompt;
    const struct prompt_value values[] = {
        {.name = "url", .text = str_of(page->url)},
        {.name = "goal", .text = page->call->goal},
        {.name = "content", .text = buf_str(whole ? &page->text : &page->part)},
    };
    buf_init(&prompt, BUF_UNBOUNDED);
    if (profile_render(tool_profile(run), PROMPT_PAGE_SUMMARY, values, sizeof values / sizeof values[0], &prompt) !=
        STATUS_OK)
        abort(); /* the buffer has no cap */
    tool_complete(run, buf_str(&prompt), 0, on_reply, page);
    buf_finish(&prompt);
}

void visit_sum_up(struct visit_page *page)
{
    struct visit_call *call = page->call;
    if (call->tool->summarizer == VISIT_SUMMARY_EXTRACTIVE || !tool_can_complete(call->run)) {
        visit_pick(page);
        return;
    }
    if (call->hurried) {
        page->by_words = true;
        visit_pick(page);
        return;
    }
    page->send_tokens = page->text_tokens;
    if (page->send_tokens > call->tool->whole_page_tokens)
        page->send_tokens = call->tool->whole_page_tokens;
    send_part(page);
}
