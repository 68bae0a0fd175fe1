/* Requests, pool jobs, waits and holds of a tool call. */
#include "core/mem.h"
#include "engine/tool_run.h"

#include <stdlib.h>

/* ---- waits; also the way to end soon what could not begin ---- */

struct wait_task {
    struct tool_task task;
    struct loop_timer *timer;
    void (*done)(void *user);
    void *user;
};

static void wait_cancel(struct tool_task *task)
{
    loop_timer_start(((struct wait_task *)task)->timer, 0);
}

static void on_wait_over(void *user)
{
    struct wait_task *wait = user;
    struct tool_run *run = wait->task.run;
    tool_task_remove(&wait->task);
    wait->done(wait->user);
    loop_timer_destroy(wait->timer);
    free(wait);
    tool_run_check(run);
}

void tool_wait(struct tool_run *run, int64_t delay_ms, void (*done)(void *user), void *user)
{
    struct wait_task *wait = mem_zalloc(sizeof *wait);
    wait->done = done;
    wait->user = user;
    wait->timer = loop_timer_create(run->engine->loop, on_wait_over, wait);
    loop_timer_start(wait->timer, run->over ? 0 : delay_ms);
    tool_task_add(run, &wait->task, wait_cancel);
}

/* ---- requests ---- */

struct request_task {
    struct tool_task task;
    struct http_request *request;
    http_check_fn check;
    http_max_body_fn max_body_of;
    http_headers_fn on_headers;
    http_data_fn on_data;
    http_done_fn done;
    void *user;
};

/* The client knows the task alone; the tool's callbacks get the tool's `user`. */

static enum status on_check(void *user, const char *url, struct error *error)
{
    struct request_task *request = user;
    return request->check(request->user, url, error);
}

static size_t on_max_body(void *user, const struct http_response *head)
{
    struct request_task *request = user;
    return request->max_body_of(request->user, head);
}

static bool on_headers(void *user, const struct http_response *head)
{
    struct request_task *request = user;
    return request->on_headers(request->user, head);
}

static void on_data(void *user, struct str data)
{
    struct request_task *request = user;
    request->on_data(request->user, data);
}

static void request_cancel(struct tool_task *task)
{
    http_request_cancel(((struct request_task *)task)->request);
}

static void on_response(void *user, struct http_response *response)
{
    struct request_task *request = user;
    struct tool_run *run = request->task.run;
    tool_task_remove(&request->task);
    request->done(request->user, response);
    free(request);
    tool_run_check(run);
}

/* There is nobody to send it, or the call is over. */
static void on_unsent(void *user)
{
    struct request_task *request = user;
    bool over = request->task.run->over;
    struct http_response response = {
        .status = over ? STATUS_CANCELED : STATUS_UNSUPPORTED, .effective_url = "", .addresses = ""};
    error_set(&response.error, response.status, over ? "the call is over" : "this program has no network");
    request->done(request->user, &response);
    buf_finish(&response.body);
    free(request);
}

void tool_request(struct tool_run *run, const struct http_options *options, http_done_fn done, void *user)
{
    struct request_task *request = mem_zalloc(sizeof *request);
    request->done = done;
    request->user = user;
    request->task.run = run;
    request->check = options->check;
    request->max_body_of = options->max_body_of;
    request->on_headers = options->on_headers;
    request->on_data = options->on_data;
    if (run->over || !run->engine->options.http) {
        tool_wait(run, 0, on_unsent, request);
        return;
    }
    tool_task_add(run, &request->task, request_cancel);
    struct http_options own = *options;
    own.check = options->check ? on_check : NULL;
    own.max_body_of = options->max_body_of ? on_max_body : NULL;
    own.on_headers = options->on_headers ? on_headers : NULL;
    own.on_data = options->on_data ? on_data : NULL;
    request->request = http_request_start(run->engine->options.http, &own, on_response, request);
}

/* ---- jobs for the pool ---- */

struct work_task {
    struct tool_task task;
    struct loop_work *job;
    void (*work)(void *user);
    void (*done)(void *user);
    void *user;
};

static void work_cancel(struct tool_task *task)
{
    loop_work_cancel(((struct work_task *)task)->job);
}

static void do_work(struct loop_work *job, void *user)
{
    (void)job;
    struct work_task *work = user;
    if (!tool_canceled(work->task.run))
        work->work(work->user);
}

static void on_worked(void *user, enum status status)
{
    (void)status; /* canceled or not, the tool gets its state back */
    struct work_task *work = user;
    struct tool_run *run = work->task.run;
    tool_task_remove(&work->task);
    work->done(work->user);
    free(work);
    tool_run_check(run);
}

void tool_work(struct tool_run *run, void (*work)(void *user), void (*done)(void *user), void *user)
{
    if (run->over) {
        tool_wait(run, 0, done, user);
        return;
    }
    struct work_task *task = mem_zalloc(sizeof *task);
    task->work = work;
    task->done = done;
    task->user = user;
    tool_task_add(run, &task->task, work_cancel);
    task->job = loop_work_start(run->engine->loop, do_work, on_worked, task);
}

/* ---- work of the tool's own ---- */

struct tool_hold {
    struct tool_task task;
    void (*cancel)(void *user);
    void *user;
    bool canceled;
};

static void hold_canceled(void *user)
{
    struct tool_hold *hold = user;
    if (hold->canceled)
        return;
    hold->canceled = true;
    hold->cancel(hold->user);
}

static void hold_cancel(struct tool_task *task)
{
    hold_canceled(task);
}

struct tool_hold *tool_hold_begin(struct tool_run *run, void (*cancel)(void *user), void *user)
{
    struct tool_hold *hold = mem_zalloc(sizeof *hold);
    hold->cancel = cancel;
    hold->user = user;
    tool_task_add(run, &hold->task, hold_cancel);
    if (run->over)
        loop_defer(run->engine->loop, hold_canceled, hold);
    return hold;
}

void tool_hold_end(struct tool_hold *hold)
{
    struct tool_run *run = hold->task.run;
    loop_defer_cancel(run->engine->loop, hold_canceled, hold);
    tool_task_remove(&hold->task);
    free(hold);
    tool_run_check(run);
}
