/* Completions that tools ask for: one user message, perhaps with an image, to the model of a role, its text without
 * thought back. */
#include "agent/token_meter.h"
#include "core/base64.h"
#include "core/mem.h"
#include "engine/tool_run.h"
#include "protocol/transcript.h"

#include <stdlib.h>

#define MAX_REPLY_BYTES ((size_t)4 * 1024 * 1024)

/* What a template and the count may add to the estimate of a prompt. */
#define PROMPT_SLACK_TOKENS 256

/* What an image counts for in a prompt where the server does not say. */
#define IMAGE_TOKENS 1000

struct completion_task {
    struct tool_task task;
    tool_complete_fn done;
    void *user;
    enum model_role role;
    struct model_client *model;
    struct model_call *call;
    struct buf wire, text, base64;
    char *media_type;
    struct model_image image;
    struct prompt_view view;
    int64_t prompt_tokens;
    bool waits, overflow;
    struct error error; /* of one that was not begun */
};

static void finish_task(struct completion_task *completion)
{
    prompt_view_finish(&completion->view);
    buf_finish(&completion->wire);
    buf_finish(&completion->text);
    buf_finish(&completion->base64);
    free(completion->media_type);
    free(completion);
}

static void set_waits(struct completion_task *completion, bool waits)
{
    if (completion->waits == waits)
        return;
    completion->waits = waits;
    tool_run_waits(completion->task.run, waits);
}

static void on_delta(void *user, struct str text)
{
    struct completion_task *completion = user;
    if (completion->overflow || buf_append_str(&completion->text, text) == STATUS_OK)
        return;
    completion->overflow = true;
    model_call_cancel(completion->model, completion->call);
}

static bool on_restart(void *user)
{
    struct completion_task *completion = user;
    buf_reset(&completion->text);
    return true;
}

static void on_notice(void *user, const struct model_notice *notice)
{
    struct completion_task *completion = user;
    struct tool_run *run = completion->task.run;
    if (run->over)
        return;
    switch (notice->kind) {
    case MODEL_NOTICE_WAITING:
        set_waits(completion, true);
        break;
    case MODEL_NOTICE_RESUMED:
        set_waits(completion, false);
        break;
    case MODEL_NOTICE_RETRY:
    case MODEL_NOTICE_PARAMETER_DROPPED:
        tool_report_notice(run, "%s model: %s", model_role_name(completion->role), notice->text);
        break;
    case MODEL_NOTICE_WINDOW:
    case MODEL_NOTICE_SERVED_MODEL:
        break;
    }
}

static int64_t at_least_0(int64_t tokens)
{
    return tokens > 0 ? tokens : 0;
}

static const struct token_counter *counter_of(const struct completion_task *completion)
{
    const struct tool_run *run = completion->task.run;
    const struct token_counter *summary = run->engine->options.summary_counter;
    if (completion->role == MODEL_SUMMARY && summary)
        return summary;
    return completion->model == engine_model(run->engine, MODEL_AGENT) ? tool_run_counter(run)
                                                                       : token_counter_estimate();
}

static int64_t count_tokens(const struct completion_task *completion, struct str text)
{
    const struct token_counter *counter = counter_of(completion);
    int64_t least;
    return counter->count(counter, text, &least);
}

static void count_usage(struct completion_task *completion, const struct model_result *result)
{
    struct tool_facts *facts = &completion->task.run->facts;
    bool ended = result->failure == MODEL_OK;
    const struct usage *reported = &result->usage;
    if (!ended && reported->prompt <= 0)
        return; /* refused before any work was done */
    struct usage *sum = &facts->role_usage[completion->role];
    sum->prompt += reported->prompt > 0 ? reported->prompt : completion->prompt_tokens;
    sum->completion +=
        reported->completion > 0 ? reported->completion : count_tokens(completion, buf_str(&completion->text));
    sum->cached += at_least_0(reported->cached);
    sum->reasoning += at_least_0(reported->reasoning);
    facts->role_calls[completion->role]++;
}

static enum status status_of(const struct tool_run *run, const struct model_result *result)
{
    if (run->over)
        return STATUS_CANCELED;
    switch (result->failure) {
    case MODEL_OK:
        return STATUS_OK;
    case MODEL_CONTEXT_TOO_LONG:
    case MODEL_PROMPT_CUT:
        return STATUS_TOO_BIG;
    case MODEL_REJECTED:
        return STATUS_DENIED;
    case MODEL_UNAVAILABLE:
        return STATUS_NETWORK;
    }
    return STATUS_NETWORK;
}

static void on_done(void *user, const struct model_result *result)
{
    struct completion_task *completion = user;
    struct tool_run *run = completion->task.run;
    set_waits(completion, false);
    count_usage(completion, result);
    struct str text = buf_str(&completion->text);
    struct thought_range thought = thought_range_find(text);
    struct tool_completion outcome = {
        .status = status_of(run, result),
        .text = str_trim(str_slice(text, thought.rest, text.len)),
        .cut = result->reason != FINISH_STOP || completion->overflow,
    };
    if (outcome.status != STATUS_OK) {
        completion->error = result->error;
        if (completion->error.status == STATUS_OK)
            error_set(&completion->error, outcome.status, "the model could not be asked");
        outcome.error = &completion->error;
    }
    tool_task_remove(&completion->task);
    completion->done(completion->user, &outcome);
    finish_task(completion);
    tool_run_check(run);
}

static const struct model_handlers handlers = {
    .delta = on_delta,
    .restart = on_restart,
    .notice = on_notice,
    .done = on_done,
};

/* The prompt cannot fit, there is no model, or the call is over. */
static void on_not_begun(void *user)
{
    struct completion_task *completion = user;
    if (completion->task.run->over)
        error_set(&completion->error, STATUS_CANCELED, "the call is over");
    const struct tool_completion outcome = {.status = completion->error.status, .error = &completion->error};
    completion->done(completion->user, &outcome);
    finish_task(completion);
}

static void cancel(struct tool_task *task)
{
    struct completion_task *completion = (struct completion_task *)task;
    set_waits(completion, false);
    model_call_cancel(completion->model, completion->call);
}

static bool can_ask(const struct tool_run *run, enum model_role role)
{
    const struct model_client *model = engine_model(run->engine, role);
    return model && !model->builtin;
}

bool tool_can_complete(const struct tool_run *run)
{
    return can_ask(run, MODEL_SUMMARY);
}

bool tool_can_see(const struct tool_run *run)
{
    return can_ask(run, MODEL_VISION);
}

static bool may_begin(struct completion_task *completion, int64_t max_tokens)
{
    struct tool_run *run = completion->task.run;
    if (run->over)
        return false;
    if (!can_ask(run, completion->role)) {
        error_set(&completion->error, STATUS_UNSUPPORTED, "there is no %s to ask",
                  completion->role == MODEL_VISION ? "model that sees images" : "language model");
        return false;
    }
    int64_t window = model_window(completion->model);
    if (window > 0 && completion->prompt_tokens + max_tokens + PROMPT_SLACK_TOKENS > window) {
        error_set(&completion->error, STATUS_TOO_BIG, "the prompt does not fit the model's window of %lld tokens",
                  (long long)window);
        return false;
    }
    return true;
}

static struct completion_task *create_task(struct tool_run *run, enum model_role role, struct str prompt)
{
    struct completion_task *completion = mem_zalloc(sizeof *completion);
    completion->task.run = run;
    completion->role = role;
    completion->model = engine_model(run->engine, role);
    completion->prompt_tokens = count_tokens(completion, prompt);
    buf_init(&completion->wire, BUF_UNBOUNDED);
    buf_init(&completion->text, MAX_REPLY_BYTES);
    buf_init(&completion->base64, BUF_UNBOUNDED);
    prompt_view_init(&completion->view);
    if (json_escape(&completion->wire, prompt) != STATUS_OK)
        abort(); /* the buffer has no cap */
    return completion;
}

static void start_task(struct completion_task *completion, const struct sampling *sampling, int64_t max_tokens)
{
    struct tool_run *run = completion->task.run;
    if (!may_begin(completion, max_tokens)) {
        tool_wait(run, 0, on_not_begun, completion);
        return;
    }
    prompt_view_add(&completion->view, MESSAGE_USER, buf_str(&completion->wire));
    const struct model_request request = {
        .prompt = &completion->view,
        .image = completion->media_type ? &completion->image : NULL,
        .sampling = *sampling,
        .max_tokens = max_tokens,
        .server_stops = false, /* stop strings belong to the tag protocol, which a page summary does not speak */
        .session = run->options.session,
        .one_shot = true,
    };
    tool_task_add(run, &completion->task, cancel);
    completion->call = model_start(completion->model, &request, &handlers, completion);
}

void tool_complete(struct tool_run *run, struct str prompt, int64_t max_tokens, tool_complete_fn done, void *user)
{
    const struct engine_options *options = &run->engine->options;
    struct completion_task *completion = create_task(run, MODEL_SUMMARY, prompt);
    completion->done = done;
    completion->user = user;
    if (max_tokens <= 0)
        max_tokens = options->summary_max_tokens > 0 ? options->summary_max_tokens : ENGINE_SUMMARY_MAX_TOKENS;
    start_task(completion, &options->summary_sampling, max_tokens);
}

void tool_see(struct tool_run *run, struct str prompt, const struct tool_image *image, tool_complete_fn done,
              void *user)
{
    const struct engine_options *options = &run->engine->options;
    struct completion_task *completion = create_task(run, MODEL_VISION, prompt);
    completion->done = done;
    completion->user = user;
    completion->prompt_tokens += IMAGE_TOKENS;
    completion->media_type = str_dup(image->media_type);
    if (base64_append(&completion->base64, image->bytes) != STATUS_OK)
        abort(); /* the buffer has no cap */
    completion->image = (struct model_image){str_of(completion->media_type), buf_str(&completion->base64)};
    start_task(completion, &options->vision_sampling,
               options->vision_max_tokens > 0 ? options->vision_max_tokens : ENGINE_SUMMARY_MAX_TOKENS);
}
