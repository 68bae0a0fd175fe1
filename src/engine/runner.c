#include "core/log.h"
#include "core/mem.h"
#include "engine/internal.h"

#include <stdlib.h>
#include <sys/random.h>

/* A delta's buffer that has grown beyond this is not kept for the next. */
#define DELTA_ROW_KEEP ((size_t)16 * 1024)

/* ---- the engine ---- */

struct engine *engine_create(const struct engine_options *options)
{
    struct engine *engine = mem_zalloc(sizeof *engine);
    engine->options = *options;
    engine->loop = options->loop;
    if (!options->journal)
        engine->own_journal = journal_memory_create(options->loop, false);
    engine->journal = options->journal ? options->journal : engine->own_journal;
    engine->redaction = redaction_create(options->secrets, options->n_secrets, options->places, options->n_places);
    return engine;
}

void engine_destroy(struct engine *engine)
{
    if (!engine)
        return;
    journal_destroy(engine->own_journal);
    redaction_destroy(engine->redaction);
    free(engine);
}

size_t engine_runs(const struct engine *engine)
{
    return engine->n_runs;
}

struct model_client *engine_model(const struct engine *engine, enum model_role role)
{
    struct model_client *model = engine->options.models[role];
    bool any_text_model_will_do = role == MODEL_SUMMARY;
    return model || !any_text_model_will_do ? model : engine->options.models[MODEL_AGENT];
}

void tool_destroy(struct tool *tool)
{
    if (tool && tool->destroy)
        tool->destroy(tool);
}

/* ---- events into the queue ---- */

struct run_event *run_event_create(struct run *run, enum event_kind kind, effect_id id)
{
    struct run_event *queued = mem_zalloc(sizeof *queued);
    queued->run = run;
    queued->event.kind = kind;
    queued->event.id = id;
    queued->event.run_ms = run_now_ms(run);
    buf_init(&queued->text, BUF_UNBOUNDED);
    return queued;
}

static void event_destroy(struct run_event *queued)
{
    for (size_t i = 0; i < queued->facts.n_sources; i++) {
        free((char *)(uintptr_t)queued->sources[i].url.data);
        free((char *)(uintptr_t)queued->sources[i].title.data);
    }
    free(queued->sources);
    free(queued->signatures);
    free(queued->early_start);
    buf_finish(&queued->text);
    free(queued);
}

static void enqueue(struct run *run, struct run_event *queued)
{
    if (run->last)
        run->last->next = queued;
    else
        run->first = queued;
    run->last = queued;
}

static struct run_event *dequeue(struct run *run)
{
    struct run_event *queued = run->first;
    run->first = queued->next;
    if (!run->first)
        run->last = NULL;
    return queued;
}

static void check_journal(struct run *run, enum status status, const struct error *error)
{
    if (status == STATUS_OK || run->journal_failed)
        return;
    /* A run that can no longer be written down ends in order rather than going on unrecorded. */
    run->journal_failed = true;
    log_message(LOG_ERROR, "engine", "run %s: the journal failed: %s", run->id, error->message);
    run_interrupt(run);
}

static void on_event_written(void *user, enum status status, const struct error *error)
{
    struct run_event *queued = user;
    struct run *run = queued->run;
    queued->committed = true;
    run->appends--;
    check_journal(run, status, error);
    run_schedule(run);
}

static void on_deltas_written(void *user, enum status status, const struct error *error)
{
    struct run *run = user;
    run->appends--;
    check_journal(run, status, error);
    run_schedule(run);
}

static void on_effect_written(void *user, enum status status, const struct error *error)
{
    struct run *run = user;
    run->effect_appends--;
    check_journal(run, status, error);
    run_schedule(run);
}

static void write_deltas(struct run *run)
{
    if (run->delta_row.len == 0)
        return;
    const struct journal_record record = {
        .kind = JOURNAL_EVENT,
        .run = run->id,
        .name = run_event_name(EVENT_DELTA),
        .id = run->delta_row_id,
        .run_ms = run->delta_row_ms,
        .text = buf_str(&run->delta_row),
    };
    run->appends++;
    journal_append(run->engine->journal, &record, on_deltas_written, run);
    if (run->delta_row.allocated > DELTA_ROW_KEEP) {
        buf_finish(&run->delta_row);
        buf_init(&run->delta_row, BUF_UNBOUNDED);
    }
    buf_reset(&run->delta_row);
}

void run_event_queue(struct run *run, struct run_event *queued)
{
    if (run->finished) {
        event_destroy(queued);
        return;
    }
    write_deltas(run);
    enqueue(run, queued);
    char *data = run->engine->journal->keeps ? run_event_data(run, &queued->event) : NULL;
    const struct journal_record record = {
        .kind = JOURNAL_EVENT,
        .run = run->id,
        .name = run_event_name(queued->event.kind),
        .id = queued->event.id,
        .run_ms = queued->event.run_ms,
        .data = str_of(data),
        .text = buf_str(&queued->text),
    };
    run->appends++;
    journal_append(run->engine->journal, &record, on_event_written, queued);
    free(data);
}

void run_delta(struct run *run, effect_id id, struct str text)
{
    if (run->finished)
        return;
    struct run_event *queued = run->last;
    if (!queued || queued->event.kind != EVENT_DELTA || queued->event.id != id) {
        queued = run_event_create(run, EVENT_DELTA, id);
        queued->committed = true;
        enqueue(run, queued);
    }
    queued->event.run_ms = run_now_ms(run);
    buf_add(&queued->text, text);
    if (run->engine->journal->keeps) {
        if (run->delta_row_id != id)
            write_deltas(run);
        run->delta_row_id = id;
        run->delta_row_ms = queued->event.run_ms;
        buf_add(&run->delta_row, text);
    }
    run_schedule(run);
}

/* ---- events to the session ---- */

static void hand_over(struct run *run, struct run_event *queued)
{
    if (queued->event.kind == EVENT_DELTA)
        queued->event.delta = buf_str(&queued->text);
    enum status status = session_handle(run->session, &queued->event);
    /* TOO_BIG is the session's own affair: it has cancelled the completion. */
    if (status == STATUS_ORDER)
        log_message(LOG_ERROR, "engine", "run %s: event %s came out of order", run->id,
                    run_event_name(queued->event.kind));
    event_destroy(queued);
}

bool run_flush_deltas(struct run *run, effect_id id)
{
    struct run_event *head = run->first;
    if (head && head->event.kind == EVENT_DELTA && head->event.id == id && !run->held && !run->effects_left) {
        hand_over(run, dequeue(run));
        run->effects_left = true;
        run_schedule(run);
    }
    for (const struct run_event *queued = run->first; queued; queued = queued->next) {
        if (queued->event.kind == EVENT_DELTA && queued->event.id == id)
            return false;
    }
    return true;
}

/* ---- effects ---- */

void run_notice(struct run *run, enum notice_kind kind, const char *name, struct str text)
{
    if (!run->options.observe || run->finished)
        return;
    struct notice notice = run->last_notice;
    notice.kind = kind;
    notice.name = name;
    notice.text = text;
    run->options.observe(run->options.user, run, &notice);
}

static void notify(struct run *run, const struct notice *notice)
{
    run->last_notice = (struct notice){
        .round = notice->round,
        .model_calls = notice->model_calls,
        .context_tokens = notice->context_tokens,
        .context_limit = notice->context_limit,
        .cost_usd = notice->cost_usd,
    };
    if (notice->kind != NOTICE_RUN_STARTED)
        run_check_counter(run);
    if (run->options.observe)
        run->options.observe(run->options.user, run, notice);
    if (notice->count_method)
        run_compare_counts(run, notice);
}

/* Nobody is there to ask: every question is answered with null, which means "as if not asked". */
static void answer_ask(struct run *run, const struct effect *effect)
{
    struct run_event *queued = run_event_create(run, EVENT_ANSWERED, effect->id);
    buf_add_text(&queued->text, "null");
    queued->event.answer = buf_str(&queued->text);
    run_event_queue(run, queued);
}

static void finish(struct run *run)
{
    run->finished = true;
    run_cancel_generations(run);
    run_cancel_tools(run);
    loop_timer_stop(run->timer);
}

static void write_effect(struct run *run, const struct effect *effect)
{
    if (!run->engine->journal->keeps)
        return;
    char *data = run_effect_data(run, effect);
    const struct journal_record record = {
        .kind = JOURNAL_EFFECT,
        .run = run->id,
        .name = run_effect_name(effect->kind),
        .id = effect->id,
        .run_ms = run_now_ms(run),
        .data = str_of(data),
    };
    run->effect_appends++;
    journal_append(run->engine->journal, &record, on_effect_written, run);
    free(data);
}

static void perform(struct run *run, const struct effect *effect)
{
    if (effect->kind != EFFECT_NOTIFY && effect->kind != EFFECT_WAKE)
        write_effect(run, effect);
    switch (effect->kind) {
    case EFFECT_GENERATE:
        run_generate(run, effect);
        break;
    case EFFECT_START_TOOL:
        run_start_tool(run, effect);
        break;
    case EFFECT_CANCEL:
        if (!run_cancel_generation(run, effect->id))
            run_cancel_tool(run, effect->id);
        break;
    case EFFECT_ASK:
        answer_ask(run, effect);
        break;
    case EFFECT_WAKE:
        run_wake_at(run, effect->wake_ms);
        break;
    case EFFECT_NOTIFY:
        notify(run, &effect->notice);
        break;
    case EFFECT_FINISH:
        finish(run);
        break;
    }
}

/* Whether the journal has everything that an effect may follow from. Text is written when an effect needs it, not
 * before. */
static bool is_written(struct run *run)
{
    write_deltas(run);
    return run->appends == 0;
}

/* Carries out what the session wants; false when the next effect has to wait for the journal. */
static bool perform_all(struct run *run)
{
    run->effects_left = false;
    if (run->held) {
        if (!is_written(run))
            return false;
        const struct effect *held = run->held;
        run->held = NULL;
        perform(run, held);
    }
    const struct effect *effect;
    while ((effect = session_next_effect(run->session)) != NULL) {
        if (effect->kind != EFFECT_NOTIFY && effect->kind != EFFECT_WAKE && !is_written(run)) {
            run->held = effect;
            return false;
        }
        perform(run, effect);
    }
    return true;
}

static void destroy_run(struct run *run)
{
    run->engine->n_runs--;
    run_clock_finish(run);
    session_destroy(run->session);
    while (run->first)
        event_destroy(dequeue(run));
    buf_finish(&run->delta_row);
    free(run->question);
    free(run->id);
    free(run->row_id);
    free(run->reference_answer);
    free(run->config_hash);
    free(run->date);
    free(run->tools);
    free(run);
}

static bool is_over(const struct run *run)
{
    return run->finished && !run->generations && !run->run_tools && run->appends == 0 && run->effect_appends == 0;
}

static void pump(void *user)
{
    struct run *run = user;
    run->pump_scheduled = false;
    while (!run->finished && perform_all(run) && !run->finished) {
        if (!run->first || !run->first->committed)
            break;
        hand_over(run, dequeue(run));
    }
    if (!is_over(run) || run->pump_scheduled)
        return;
    run_end_tools(run);
    if (run->options.done)
        run->options.done(run->options.user, run, session_result(run->session));
    destroy_run(run);
}

void run_schedule(struct run *run)
{
    if (run->pump_scheduled)
        return;
    run->pump_scheduled = true;
    loop_defer(run->engine->loop, pump, run);
}

/* ---- a run's beginning ---- */

static char *fresh_id(void)
{
    unsigned char bytes[8];
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        abort(); /* cannot happen for so few bytes (getrandom(2)) */
    uint64_t number = 0;
    for (size_t i = 0; i < sizeof bytes; i++)
        number = number << 8 | bytes[i];
    return mem_printf("run-%016llx", (unsigned long long)number);
}

static void copy_options(struct run *run, const struct run_options *options)
{
    run->options = *options;
    run->question = str_dup(options->question);
    run->id = options->config.run_id.len > 0 ? str_dup(options->config.run_id) : fresh_id();
    run->row_id = str_dup(options->row_id);
    run->reference_answer = str_dup(options->reference_answer);
    run->config_hash = str_dup(options->config_hash);
    run->date = str_dup(options->config.date);
    run->options.config.run_id = str_of(run->id);
    run->options.config.date = str_of(run->date);
    run->options.question = str_make(run->question, options->question.len);
    run->options.row_id = str_make(run->row_id, options->row_id.len);
    run->options.reference_answer = str_make(run->reference_answer, options->reference_answer.len);
    run->options.config_hash = str_of(run->config_hash);
}

struct run *run_start(struct engine *engine, const struct run_options *options)
{
    struct run *run = mem_zalloc(sizeof *run);
    run->engine = engine;
    run->session_number = ++engine->last_session;
    run->last_notice.cost_usd = -1;
    buf_init(&run->delta_row, BUF_UNBOUNDED);
    engine->n_runs++;
    copy_options(run, options);
    run->session = run_create_session(run);
    run_clock_init(run);
    struct run_event *queued = run_event_create(run, EVENT_STARTED, 0);
    queued->event.question = run->options.question;
    run_event_queue(run, queued);
    return run;
}

void run_interrupt(struct run *run)
{
    if (run->interrupted || run->finished)
        return;
    run->interrupted = true;
    run_event_queue(run, run_event_create(run, EVENT_INTERRUPTED, 0));
}

const char *run_id(const struct run *run)
{
    return run->id;
}

int64_t run_elapsed_ms(const struct run *run)
{
    return run_now_ms(run);
}
