/* Requests, pool jobs and waits of a tool call. */
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
    http_done_fn done;
    void *user;
};

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
    struct http_response response = {.status = over ? STATUS_CANCELED : STATUS_UNSUPPORTED, .effective_url = ""};
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
    if (run->over || !run->engine->options.http) {
        tool_wait(run, 0, on_unsent, request);
        return;
    }
    tool_task_add(run, &request->task, request_cancel);
    request->request = http_request_start(run->engine->options.http, options, on_response, request);
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
