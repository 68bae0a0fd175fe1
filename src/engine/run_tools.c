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

static void on_asked(void *user, const struct ask_question *question)
{
    struct run_tool *entry = user;
    bool permission = question->purpose == ASK_FOR_PERMISSION;
    run_notice(entry->run, permission ? NOTICE_PERMISSION : NOTICE_CLARIFICATION, question->tool, question->text);
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
        .counter = run->options.config.counter,
        .done = on_done,
        .notice = on_notice,
        .asked = on_asked,
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

/* ---- what the run offers ---- */

static bool has_tool(const struct run *run, const struct tool *tool)
{
    for (size_t i = 0; i < run->n_tools; i++) {
        if (run->tools[i] == tool)
            return true;
    }
    return false;
}

/* The list as the session wants it, in two fresh arrays; tools that are new are remembered. */
static void take_tools(struct run *run, struct tool *const *tools, size_t n_tools,
                       const struct tool_signature ***signatures, bool **early_start)
{
    *signatures = mem_calloc(n_tools, sizeof **signatures);
    *early_start = mem_calloc(n_tools, sizeof **early_start);
    for (size_t i = 0; i < n_tools; i++) {
        (*signatures)[i] = tools[i]->signature;
        (*early_start)[i] = tools[i]->idempotent && !tools[i]->serial;
        if (has_tool(run, tools[i]))
            continue;
        run->tools = mem_grow(run->tools, run->n_tools, &run->tools_capacity, sizeof(struct tool *));
        run->tools[run->n_tools++] = tools[i];
    }
}

struct session *run_create_session(struct run *run)
{
    struct session_config *config = &run->options.config;
    const struct tool_signature **signatures;
    bool *early_start;
    if (config->limits.window_tokens == 0)
        config->limits.window_tokens = model_window(engine_model(run->engine, MODEL_AGENT));
    take_tools(run, run->options.tools, run->options.n_tools, &signatures, &early_start);
    struct session *session = session_create(config, signatures, early_start, run->options.n_tools);
    free(early_start);
    free(signatures);
    return session;
}

void run_set_tools(struct run *run, struct tool *const *tools, size_t n_tools)
{
    if (run->finished)
        return;
    struct run_event *queued = run_event_create(run, EVENT_TOOLS_CHANGED, 0);
    take_tools(run, tools, n_tools, &queued->signatures, &queued->early_start);
    queued->event.tools.tools = queued->signatures;
    queued->event.tools.early_start = queued->early_start;
    queued->event.tools.n_tools = n_tools;
    run_event_queue(run, queued);
}

static struct tool *find_tool(const struct run *run, const struct tool_signature *signature)
{
    for (size_t i = 0; i < run->n_tools; i++) {
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

void run_end_tools(struct run *run)
{
    for (size_t i = 0; i < run->n_tools; i++) {
        if (run->tools[i]->run_ended)
            run->tools[i]->run_ended(run->tools[i], run->session_number);
    }
}
