#include "engine/tool_call.h"

#include "agent/token_meter.h"
#include "core/mem.h"
#include "engine/tool_run.h"
#include "protocol/clean.h"
#include "protocol/profile.h"

#include "core/utf8.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* More of a tool's text than this is not looked at: no cap in tokens lets so much through. */
#define MAX_RAW_BYTES ((size_t)16 * 1024 * 1024)

/* Kept free under the cap for the note that says how much went. */
#define CUT_NOTE_TOKENS INT64_C(64)

#define MAX_SOURCES 1000

/* ---- tasks and release ---- */

void tool_task_add(struct tool_run *run, struct tool_task *task, void (*cancel)(struct tool_task *task))
{
    task->run = run;
    task->cancel = cancel;
    task->previous = NULL;
    task->next = run->tasks;
    if (run->tasks)
        run->tasks->previous = task;
    run->tasks = task;
}

void tool_task_remove(struct tool_task *task)
{
    if (task->previous)
        task->previous->next = task->next;
    else
        task->run->tasks = task->next;
    if (task->next)
        task->next->previous = task->previous;
}

static void free_run(struct tool_run *run)
{
    if (run->free_state)
        run->free_state(run->state);
    loop_timer_destroy(run->deadline);
    json_decref(run->arguments);
    for (size_t i = 0; i < run->facts.n_sources; i++) {
        free((char *)(uintptr_t)run->sources[i].url.data);
        free((char *)(uintptr_t)run->sources[i].title.data);
    }
    free(run->sources);
    buf_finish(&run->text);
    free(run->question);
    free(run->code);
    free(run);
}

static void deliver(struct tool_run *run)
{
    run->delivered = true;
    if (run->canceled || !run->options.done)
        return;
    run->facts.sources = run->sources;
    const struct tool_call_outcome outcome = {
        .status = run->status,
        .text = buf_str(&run->text),
        .facts = &run->facts,
    };
    run->options.done(run->options.user, &outcome);
}

static void settle(void *user)
{
    struct tool_run *run = user;
    run->release_scheduled = false;
    if (!run->delivered)
        deliver(run);
    if (run->tasks)
        return;
    void (*released)(void *) = run->options.released;
    void *owner = run->options.user;
    free_run(run);
    if (released)
        released(owner);
}

void tool_run_check(struct tool_run *run)
{
    if (!run->over || run->release_scheduled || (run->delivered && run->tasks))
        return;
    run->release_scheduled = true;
    loop_defer(run->engine->loop, settle, run);
}

/* ---- the outcome's text ---- */

static int64_t output_cap(const struct tool_run *run)
{
    int64_t cap = run->options.max_output_tokens, own = run->options.tool->max_output_tokens;
    if (cap <= 0 || (own > 0 && own < cap))
        cap = own;
    return cap > 0 ? cap : SESSION_DEFAULT_OBSERVATION_TOKENS;
}

const struct token_counter *tool_run_counter(const struct tool_run *run)
{
    return run->options.counter ? run->options.counter : token_counter_estimate();
}

static void add_capped(struct tool_run *run, struct str text)
{
    const struct token_counter *counter = tool_run_counter(run);
    int64_t cap = output_cap(run);
    if (counter->fit(counter, text, cap) == text.len) {
        buf_add(&run->text, text);
        return;
    }
    size_t fits = counter->fit(counter, text, cap > 2 * CUT_NOTE_TOKENS ? cap - CUT_NOTE_TOKENS : cap);
    if (profile_cut_observation(run->options.profile, text, fits, &run->text) > 0)
        run->facts.truncated = true;
}

static void set_text(struct tool_run *run, struct str text)
{
    struct buf without_secrets, clean;
    buf_init(&without_secrets, BUF_UNBOUNDED);
    buf_init(&clean, BUF_UNBOUNDED);
    if (text.len > MAX_RAW_BYTES) {
        text = str_slice(text, 0, utf8_floor(text, MAX_RAW_BYTES));
        run->facts.truncated = true;
    }
    text = redact_secrets(run->engine->redaction, text, &without_secrets);
    if (clean_text(&clean, text) != STATUS_OK)
        abort(); /* the buffer has no cap */
    add_capped(run, buf_str(&clean));
    buf_finish(&clean);
    buf_finish(&without_secrets);
}

/* What is said where the tool itself has no words. */
static void set_notice(struct tool_run *run, enum prompt_id id, const char *problem)
{
    char seconds[32];
    snprintf(seconds, sizeof seconds, "%lld", (long long)((run->timeout_ms + 999) / 1000));
    const struct prompt_value values[] = {
        {.name = "tool", .text = str_of(run->options.tool->signature->name)},
        {.name = "seconds", .text = str_of(seconds)},
        {.name = "problem", .text = str_of(problem)},
    };
    if (profile_render(run->options.profile, id, values, sizeof values / sizeof values[0], &run->text) != STATUS_OK)
        abort(); /* the buffer has no cap */
}

/* ---- the end of a call ---- */

static void end(struct tool_run *run, enum tool_outcome_status status)
{
    run->over = true;
    run->status = status;
    run->facts.elapsed_ms = loop_now_ms(run->engine->loop) - run->started_ms;
    loop_timer_stop(run->deadline);
    for (struct tool_task *task = run->tasks, *next; task; task = next) {
        next = task->next;
        task->cancel(task);
    }
    tool_run_check(run);
}

static void on_deadline(void *user)
{
    struct tool_run *run = user;
    struct tool *tool = run->options.tool;
    if (run->over)
        return;
    set_notice(run, PROMPT_NOTICE_TIMEOUT, NULL);
    end(run, OUTCOME_TIMEOUT);
    if (run->started && tool->cancel)
        tool->cancel(tool, run);
}

void tool_finish(struct tool_run *run, enum tool_status status, struct str text)
{
    if (run->over)
        return;
    if (str_trim(text).len > 0)
        set_text(run, text);
    else
        set_notice(run, status == TOOL_OK ? PROMPT_NOTICE_EMPTY : PROMPT_NOTICE_FAILED, "it gave no reason");
    end(run, status == TOOL_OK ? OUTCOME_OK : OUTCOME_FAILED);
}

void tool_call_cancel(struct tool_run *run)
{
    struct tool *tool = run->options.tool;
    run->canceled = true;
    if (run->over)
        return;
    end(run, OUTCOME_INTERRUPTED);
    if (run->started && tool->cancel)
        tool->cancel(tool, run);
}

/* ---- the beginning ---- */

static void begin(struct tool_run *run)
{
    run->started = true;
    run->options.tool->start(run->options.tool, run);
}

static void on_permission(void *user, enum ask_outcome outcome, struct str answer)
{
    struct tool_run *run = user;
    if (run->over)
        return;
    if (outcome == ASK_ANSWERED) {
        if (str_equal(answer, STR("always")))
            run->options.tool->permission = TOOL_PERMITTED;
        begin(run);
        return;
    }
    set_notice(run, PROMPT_NOTICE_FAILED,
               outcome == ASK_DECLINED ? "the user did not allow this call"
                                       : "it runs only with the user's consent, and nobody can be asked in this run");
    end(run, OUTCOME_FAILED);
}

struct tool_run *tool_call_start(struct engine *engine, const struct tool_call_options *options)
{
    struct tool_run *run = mem_zalloc(sizeof *run);
    run->engine = engine;
    run->options = *options;
    run->question = str_dup(options->question);
    run->code = str_dup(options->code);
    run->options.question.data = run->question;
    run->options.code.data = run->code;
    run->arguments = json_incref((json_t *)(uintptr_t)options->arguments);
    run->timeout_ms = options->timeout_ms > 0 ? options->timeout_ms : options->tool->timeout_ms;
    run->started_ms = loop_now_ms(engine->loop);
    buf_init(&run->text, BUF_UNBOUNDED);
    run->deadline = loop_timer_create(engine->loop, on_deadline, run);
    loop_timer_start(run->deadline, run->timeout_ms);
    switch (options->tool->permission) {
    case TOOL_PERMITTED:
        begin(run);
        break;
    case TOOL_ASK_FIRST:
        tool_run_ask_permission(run, on_permission);
        break;
    }
    return run;
}

/* ---- what a tool may ask ---- */

const json_t *tool_arguments(const struct tool_run *run)
{
    return run->arguments;
}

struct str tool_code(const struct tool_run *run)
{
    return run->options.code;
}

struct str tool_question(const struct tool_run *run)
{
    return run->options.question;
}

const struct profile *tool_profile(const struct tool_run *run)
{
    return run->options.profile;
}

struct loop *tool_loop(const struct tool_run *run)
{
    return run->engine->loop;
}

uint64_t tool_session(const struct tool_run *run)
{
    return run->options.session;
}

void tool_set_state(struct tool_run *run, void *state, void (*free_state)(void *state))
{
    run->state = state;
    run->free_state = free_state;
}

void *tool_state(const struct tool_run *run)
{
    return run->state;
}

bool tool_canceled(const struct tool_run *run)
{
    return run->over;
}

const atomic_bool *tool_cancel_flag(const struct tool_run *run)
{
    return &run->over;
}

/* ---- the deadline's clock ---- */

static int64_t time_left(const struct tool_run *run)
{
    int64_t left = run->started_ms + run->timeout_ms - loop_now_ms(run->engine->loop);
    return left > 0 ? left : 0;
}

int64_t tool_time_left_ms(const struct tool_run *run)
{
    if (run->over)
        return 0;
    return run->waits > 0 ? run->left_ms : time_left(run);
}

void tool_run_waits(struct tool_run *run, bool waits)
{
    if (waits && run->waits++ == 0) {
        run->left_ms = time_left(run);
        loop_timer_stop(run->deadline);
    } else if (!waits && --run->waits == 0) {
        /* As if the call had begun later, so that what was left is left again. */
        run->started_ms = loop_now_ms(run->engine->loop) + run->left_ms - run->timeout_ms;
        if (!run->over)
            loop_timer_start(run->deadline, run->left_ms);
    } else {
        return;
    }
    if (run->options.waiting)
        run->options.waiting(run->options.user, waits);
}

/* ---- reports ---- */

void tool_report_source(struct tool_run *run, struct str url, struct str title)
{
    if (run->over || url.len == 0 || run->facts.n_sources == MAX_SOURCES)
        return;
    for (size_t i = 0; i < run->facts.n_sources; i++) {
        if (str_equal(run->sources[i].url, url))
            return;
    }
    struct buf url_copy, title_copy;
    buf_init(&url_copy, BUF_UNBOUNDED);
    buf_init(&title_copy, BUF_UNBOUNDED);
    url = redact_secrets(run->engine->redaction, url, &url_copy);
    title = redact_secrets(run->engine->redaction, title, &title_copy);
    run->sources = mem_grow(run->sources, run->facts.n_sources, &run->sources_capacity, sizeof *run->sources);
    run->sources[run->facts.n_sources++] = (struct tool_source){
        .url = {str_dup(url), url.len},
        .title = {str_dup(title), title.len},
    };
    buf_finish(&url_copy);
    buf_finish(&title_copy);
}

void tool_report_truncated(struct tool_run *run)
{
    run->facts.truncated = true;
}

void tool_report_quotes(struct tool_run *run, size_t checked, size_t unfound)
{
    run->facts.quotes += (int64_t)checked;
    run->facts.unfound_quotes += (int64_t)unfound;
}

void tool_report_notice(struct tool_run *run, const char *format, ...)
{
    if (run->over || !run->options.notice)
        return;
    struct buf message, copy;
    buf_init(&message, BUF_UNBOUNDED);
    buf_init(&copy, BUF_UNBOUNDED);
    va_list arguments;
    va_start(arguments, format);
    buf_addv(&message, format, arguments);
    va_end(arguments);
    for (size_t i = 0; i < message.len; i++) {
        if ((unsigned char)message.data[i] < ' ')
            message.data[i] = ' ';
    }
    run->options.notice(run->options.user, redact_secrets(run->engine->redaction, buf_str(&message), &copy));
    buf_finish(&copy);
    buf_finish(&message);
}
