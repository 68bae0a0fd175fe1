/* Completions of the agent: EFFECT_GENERATE to the model client, what it reports to events. */
#include "core/mem.h"
#include "engine/internal.h"

#include <stdlib.h>

static void on_delta(void *user, struct str text)
{
    struct generation *generation = user;
    if (!generation->canceled && text.len > 0)
        run_delta(generation->run, generation->id, text);
}

static bool on_restart(void *user)
{
    struct generation *generation = user;
    struct run *run = generation->run;
    if (generation->canceled)
        return false;
    /* The session can judge only what it has seen. Text that is held up behind an event may hold a closed call. */
    if (!run_flush_deltas(run, generation->id) || !session_may_restart(run->session, generation->id))
        return false;
    run_event_queue(run, run_event_create(run, EVENT_RESTARTED, generation->id));
    return true;
}

static void set_waits(struct generation *generation, bool waits)
{
    if (generation->waits == waits)
        return;
    generation->waits = waits;
    run_waits(generation->run, waits);
}

static void on_notice(void *user, const struct model_notice *notice)
{
    struct generation *generation = user;
    struct run *run = generation->run;
    struct str text = str_of(notice->text);
    if (generation->canceled)
        return;
    switch (notice->kind) {
    case MODEL_NOTICE_RETRY:
        run_notice(run, NOTICE_RETRY, "model", text);
        break;
    case MODEL_NOTICE_WAITING:
        set_waits(generation, true);
        run_notice(run, NOTICE_RETRY, "waiting", text);
        break;
    case MODEL_NOTICE_RESUMED:
        set_waits(generation, false);
        run_notice(run, NOTICE_RETRY, "resumed", text);
        break;
    case MODEL_NOTICE_PARAMETER_DROPPED:
        run_notice(run, NOTICE_RETRY, "parameter", text);
        break;
    case MODEL_NOTICE_WINDOW: {
        if (notice->window <= 0)
            break;
        struct run_event *event = run_event_create(run, EVENT_WINDOW, 0);
        event->event.window = notice->window;
        run_event_queue(run, event);
        break;
    }
    case MODEL_NOTICE_SERVED_MODEL:
        /* Comes again with the completion's end, where the session takes it from. */
        break;
    }
}

static void unlink_generation(struct generation *generation)
{
    struct generation **link = &generation->run->generations;
    while (*link != generation)
        link = &(*link)->next;
    *link = generation->next;
}

static void report_end(struct run *run, effect_id id, const struct model_result *result)
{
    bool ended = result->failure == MODEL_OK;
    struct run_event *queued = run_event_create(run, ended ? EVENT_GENERATED : EVENT_GENERATE_ERROR, id);
    struct event *event = &queued->event;
    if (ended) {
        buf_add(&queued->text, str_of(result->served_model));
        event->generated.usage = result->usage;
        event->generated.reason = result->reason;
        event->generated.thought_field = result->thought_field;
        event->generated.served_model = buf_str(&queued->text);
    } else {
        queued->error = result->error;
        event->failed.failure = result->failure;
        event->failed.window = result->window;
        event->failed.error = &queued->error;
    }
    run_event_queue(run, queued);
}

static void on_done(void *user, const struct model_result *result)
{
    struct generation *generation = user;
    struct run *run = generation->run;
    set_waits(generation, false);
    if (!generation->canceled)
        report_end(run, generation->id, result);
    unlink_generation(generation);
    free(generation);
    run_schedule(run);
}

static const struct model_handlers handlers = {
    .delta = on_delta,
    .restart = on_restart,
    .notice = on_notice,
    .done = on_done,
};

void run_generate(struct run *run, const struct effect *effect)
{
    struct generation *generation = mem_zalloc(sizeof *generation);
    generation->run = run;
    generation->id = effect->id;
    generation->next = run->generations;
    run->generations = generation;
    run->sampling = effect->generate.sampling;

    /* No deadline for the client: the session cancels by EVENT_CLOCK, on a clock that leaves waiting out. */
    const struct model_request request = {
        .prompt = session_prompt(run->session),
        .date = run->options.config.date,
        .sampling = effect->generate.sampling,
        .max_tokens = effect->generate.max_tokens,
        .server_stops = effect->generate.server_stops,
        .session = run->session_number,
    };
    generation->call = model_start(engine_model(run->engine, MODEL_AGENT), &request, &handlers, generation);
}

static void cancel(struct generation *generation)
{
    if (generation->canceled)
        return;
    generation->canceled = true;
    set_waits(generation, false);
    model_call_cancel(engine_model(generation->run->engine, MODEL_AGENT), generation->call);
}

bool run_cancel_generation(struct run *run, effect_id id)
{
    for (struct generation *generation = run->generations; generation; generation = generation->next) {
        if (generation->id != id)
            continue;
        cancel(generation);
        return true;
    }
    return false;
}

void run_cancel_generations(struct run *run)
{
    for (struct generation *generation = run->generations; generation; generation = generation->next)
        cancel(generation);
}
