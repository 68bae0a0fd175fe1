/* Calls of tools: EFFECT_START_TOOL to a tool call, its outcome to an event; calls of a stateful tool one after
 * another. */
#include "core/mem.h"
#include "engine/internal.h"

#include <stdlib.h>

static void start_waiting(struct run *run);

static void on_done(void *user, const struct tool_call_outcome *outcome)
{
    struct run_tool *entry = user;
    struct run *run = entry->run;
    entry->done = true;
    struct run_event *queued = run_event_create(run, EVENT_TOOL_DONE, entry->id);
    buf_add(&queued->text, outcome->text);
    queued->facts = *outcome->facts;
    size_t n_sources = outcome->facts->n_sources;
    queued->sources = mem_calloc(n_sources, sizeof *queued->sources);
    for (size_t i = 0; i < n_sources; i++) {
        const struct tool_source *source = &outcome->facts->sources[i];
        queued->sources[i] = (struct tool_source){
            .url = {str_dup(source->url), source->url.len},
            .title = {str_dup(source->title), source->title.len},
        };
    }
    queued->facts.sources = queued->sources;
    queued->event.tool.status = outcome->status;
    queued->event.tool.text = buf_str(&queued->text);
    queued->event.tool.facts = &queued->facts;
    run_event_queue(run, queued);
    start_waiting(run);
}

static void on_notice(void *user, struct str text)
{
    struct run_tool *entry = user;
    if (!entry->canceled)
        run_notice(entry->run, NOTICE_RETRY, entry->tool->signature->name, text);
}

static void on_waiting(void *user, bool waits)
{
    struct run_tool *entry = user;
    if (entry->waits == waits)
        return;
    entry->waits = waits;
    run_waits(entry->run, waits);
}

static void release(struct run_tool *entry)
{
    struct run *run = entry->run;
    struct run_tool **link = &run->run_tools;
    while (*link != entry)
        link = &(*link)->next;
    *link = entry->next;
    json_decref(entry->arguments);
    free(entry->code);
    free(entry);
}

static void on_released(void *user)
{
    struct run_tool *entry = user;
    struct run *run = entry->run;
    on_waiting(entry, false);
    release(entry);
    start_waiting(run);
    run_schedule(run);
}

static void start(struct run_tool *entry)
{
    struct run *run = entry->run;
    const struct tool_call_options options = {
        .tool = entry->tool,
        .profile = run->options.config.profile,
        .question = str_of(run->question),
        .arguments = entry->arguments,
        .code = str_of(entry->code),
        .timeout_ms = run->options.tool_timeout_ms,
        .max_output_tokens = entry->max_output_tokens,
        .session = run->session_number,
        .done = on_done,
        .notice = on_notice,
        .waiting = on_waiting,
        .released = on_released,
        .user = entry,
    };
    entry->call = tool_call_start(run->engine, &options);
}

/* Whether an earlier call of the same stateful tool is not over yet. "Over" is released: until then work of it may
 * still run, even when its time is up. */
static bool must_wait(const struct run_tool *entry)
{
    if (!entry->tool->serial)
        return false;
    for (const struct run_tool *earlier = entry->run->run_tools; earlier != entry; earlier = earlier->next) {
        if (earlier->tool == entry->tool)
            return true;
    }
    return false;
}

static void start_waiting(struct run *run)
{
    for (struct run_tool *entry = run->run_tools; entry; entry = entry->next) {
        if (!entry->call && !entry->canceled && !must_wait(entry))
            start(entry);
    }
}

static struct tool *find_tool(const struct run *run, const struct tool_signature *signature)
{
    for (size_t i = 0; i < run->options.n_tools; i++) {
        if (run->tools[i]->signature == signature)
            return run->tools[i];
    }
    return NULL;
}

void run_start_tool(struct run *run, const struct effect *effect)
{
    struct run_tool *entry = mem_zalloc(sizeof *entry);
    entry->run = run;
    entry->id = effect->id;
    entry->tool = find_tool(run, effect->tool.signature);
    entry->arguments = json_incref((json_t *)(uintptr_t)effect->tool.arguments);
    entry->code = str_dup(effect->tool.code);
    entry->max_output_tokens = effect->tool.max_output_tokens;
    struct run_tool **link = &run->run_tools;
    while (*link)
        link = &(*link)->next;
    *link = entry;
    if (!must_wait(entry))
        start(entry);
}

/* The list may change under way: an entry that never started goes at once. */
static void cancel(struct run_tool *entry)
{
    if (entry->canceled)
        return;
    entry->canceled = true;
    on_waiting(entry, false);
    if (entry->call)
        tool_call_cancel(entry->call);
    else
        release(entry);
}

bool run_cancel_tool(struct run *run, effect_id id)
{
    for (struct run_tool *entry = run->run_tools; entry; entry = entry->next) {
        if (entry->id != id)
            continue;
        cancel(entry);
        start_waiting(run);
        return true;
    }
    return false;
}

void run_cancel_tools(struct run *run)
{
    struct run_tool *next;
    for (struct run_tool *entry = run->run_tools; entry; entry = next) {
        next = entry->next;
        cancel(entry);
    }
}
