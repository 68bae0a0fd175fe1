/* tools/mcp/call.c: one call of a server's tool. */
#include "tools/mcp/internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "tools/common/line.h"

/* What progress the person is told of: one sentence in this time. */
#define PROGRESS_INTERVAL_MS INT64_C(5000)
#define MAX_PROGRESS_BYTES   200

/* So often a server may ask for more before it answers. */
#define MAX_ROUNDS 10

struct mcp_call {
    struct mcp_call *next;
    struct mcp_server *server;
    struct mcp_tool *tool;
    struct tool_run *run;
    struct tool_hold *hold;
    struct loop_timer *idle; /* since the last sign of life; for a server that has failed, the turn to say so */
    int64_t id;              /* the request under way; 0 when there is none */
    bool waits;              /* for the server, which is on its way back: mcp_calls_resume */
    int64_t told_ms;         /* when the person last heard of progress */
    bool again;              /* was sent a second time */
    bool paused;

    /* A stateless server asks inside a result, and the call is made again with the answers. */
    json_t *asked, *answers, *request_state; /* NULL where there is none */
    int rounds;

    /* The result, while its images are looked at. */
    json_t *result;
    struct mcp_images *images;
};

struct tool_run *mcp_call_run(const struct mcp_call *call)
{
    return call->run;
}

static void start_clock(struct mcp_call *call)
{
    if (!call->paused)
        loop_timer_start(call->idle, call->server->options.timeout_ms);
}

void mcp_call_pause(struct mcp_call *call, bool pause)
{
    call->paused = pause;
    if (pause)
        loop_timer_stop(call->idle);
    else
        start_clock(call);
}

/* ---- the end ---- */

/* Tells the server that nobody waits any more. */
static void withdraw(struct mcp_call *call)
{
    struct mcp_server *server = call->server;
    json_t *params = json_object();
    json_put(params, "requestId", json_integer(call->id));
    json_put_str(params, "reason", STR("the call was cancelled"));
    mcp_rpc_forget(server->rpc, call->id);
    /* To a stateless server at an address the end of the stream says it all. */
    if (server->transport != NULL && !(server->stateless && server->options.url != NULL))
        mcp_rpc_notify(server->rpc, "notifications/cancelled", params);
    else
        json_decref(params);
    if (server->transport != NULL)
        server->transport->type->forget(server->transport, call->id);
}

/* The call is over: answered, cancelled or late. */
static void over(void *user)
{
    struct mcp_call *call = user;
    struct mcp_call **at = &call->server->calls;
    while (*at != call)
        at = &(*at)->next;
    *at = call->next;
    mcp_question_forget_call(call->server, call);
    if (call->id > 0)
        withdraw(call);
    loop_timer_destroy(call->idle);
    json_decref(call->asked);
    json_decref(call->answers);
    json_decref(call->request_state);
    json_decref(call->result);
    mcp_images_destroy(call->images);
    tool_hold_end(call->hold);
    free(call);
}

/* Each of these ends in tool_finish, which frees the call. */

static void fail(struct mcp_call *call, const char *words, const char *for_person)
{
    struct buf text;
    buf_init(&text, BUF_UNBOUNDED);
    buf_addf(&text, "%s failed: %s", call->tool->signature.name, words);
    if (for_person != NULL)
        tool_report_notice(call->run, "MCP server %s: %s", call->server->options.name, for_person);
    tool_finish(call->run, TOOL_FAILED, buf_str(&text));
    buf_finish(&text);
}

static void finish(void *user)
{
    struct mcp_call *call = user;
    struct buf text;
    bool failed = json_is_true(json_object_get(call->result, "isError"));
    buf_init(&text, BUF_UNBOUNDED);
    mcp_content_text(call->result, call->run, call->images, &text);
    tool_finish(call->run, failed ? TOOL_FAILED : TOOL_OK, buf_str(&text));
    buf_finish(&text);
}

static void send(struct mcp_call *call);
static void send_when_ready(struct mcp_call *call);

/* Answers the next of the server's questions; when all are answered, the call is made again. */
static void answer_next(struct mcp_call *call)
{
    const char *key;
    json_t *request;
    json_object_foreach (call->asked, key, request) {
        const char *method = json_get_string(request, "method");
        if (json_object_get(call->answers, key) != NULL)
            continue;
        if (method != NULL && strcmp(method, "elicitation/create") == 0 &&
            mcp_question_for_call(call->server, call, json_object_get(request, "params")))
            return; /* mcp_call_answer goes on */
        if (method != NULL && strcmp(method, "roots/list") == 0)
            json_put(call->answers, key, mcp_list_roots(call->server));
        else
            json_put(call->answers, key, json_pack("{s:s}", "action", "decline"));
    }
    send_when_ready(call);
}

void mcp_call_answer(struct mcp_call *call, json_t *answer)
{
    const char *key;
    json_t *request;
    json_object_foreach (call->asked, key, request) {
        if (json_object_get(call->answers, key) == NULL) {
            json_put(call->answers, key, answer);
            answer_next(call);
            return;
        }
    }
    json_decref(answer);
}

/* The result is a question: multi round-trip requests of revision 2026-07-28. */
static void answer_questions(struct mcp_call *call, const json_t *result)
{
    const json_t *asked = json_object_get(result, "inputRequests");
    json_decref(call->asked);
    json_decref(call->answers);
    json_decref(call->request_state);
    call->asked = json_is_object(asked) ? json_deep_copy(asked) : json_object();
    call->answers = json_object();
    call->request_state = json_deep_copy(json_object_get(result, "requestState"));
    start_clock(call);
    answer_next(call);
}

static void take_content(struct mcp_call *call, const json_t *result)
{
    call->result = json_incref((json_t *)(uintptr_t)result);
    call->images = mcp_images_start(result, call->run, finish, call);
    if (call->images != NULL)
        mcp_call_pause(call, true); /* the server has done its part */
    else
        finish(call);
}

static void take_result(struct mcp_call *call, const json_t *result)
{
    const char *type = json_get_string(result, "resultType");
    if (type == NULL || strcmp(type, "complete") == 0)
        take_content(call, result);
    else if (strcmp(type, "input_required") == 0 && call->server->stateless && ++call->rounds <= MAX_ROUNDS)
        answer_questions(call, result);
    else
        fail(call, "its answer is of a kind that is not understood. Go on without it.", NULL);
}

static void reply_came(void *user, const struct mcp_reply *reply)
{
    struct mcp_call *call = user;
    call->id = 0;
    switch (reply->fate) {
    case MCP_ANSWERED:
        take_result(call, reply->result);
        break;
    case MCP_REFUSED:
        fail(call, reply->message, NULL);
        break;
    case MCP_NOT_DELIVERED:
        if (!call->again) {
            call->again = call->waits = true;
            break;
        }
        fail(call, "its server ended the session twice. Try again later, or go on without it.", reply->message);
        break;
    case MCP_LOST:
        fail(call,
             "the connection to its server broke, so whether the call had an effect is not known. Try again, or go on "
             "without it.",
             reply->message);
        break;
    }
}

static void idle_over(void *user)
{
    struct mcp_call *call = user;
    struct buf words;
    if (call->server->state == MCP_FAILED || call->server->state >= MCP_STOPPING) {
        fail(call, "its server is gone. Go on without it.", call->server->failure.message);
        return;
    }
    buf_init(&words, BUF_UNBOUNDED);
    buf_addf(&words, "no sign of life for %lld s. Ask for less at once, or go on without it.",
             (long long)(call->server->options.timeout_ms + 999) / 1000);
    fail(call, words.data, NULL);
    buf_finish(&words);
}

/* ---- the beginning ---- */

static void send(struct mcp_call *call)
{
    struct mcp_server *server = call->server;
    json_t *params = json_object(), *meta = json_object();
    json_put_str(params, "name", str_of(call->tool->remote));
    json_put(params, "arguments", json_deep_copy(tool_arguments(call->run)));
    json_put(meta, "progressToken", json_integer(mcp_rpc_next_id(server->rpc)));
    json_put(params, "_meta", meta);
    if (call->answers != NULL && json_object_size(call->answers) > 0)
        json_put(params, "inputResponses", json_incref(call->answers));
    if (call->request_state != NULL)
        json_put(params, "requestState", json_incref(call->request_state));
    call->id = mcp_request(server, "tools/call", params, reply_came, call);
    start_clock(call);
}

static void send_when_ready(struct mcp_call *call)
{
    enum mcp_state state = call->server->state;
    if (state == MCP_READY) {
        send(call);
        return;
    }
    call->waits = true;
    if (state == MCP_STARTING || state == MCP_RESTING)
        start_clock(call);
    else
        loop_timer_start(call->idle, 0);
}

void mcp_tool_start(struct tool *self, struct tool_run *run)
{
    struct mcp_tool *tool = (struct mcp_tool *)self;
    struct mcp_server *server = tool->server;
    struct mcp_call *call = mem_zalloc(sizeof *call);
    call->server = server;
    call->tool = tool;
    call->run = run;
    call->idle = loop_timer_create(server->loop, idle_over, call);
    call->next = server->calls;
    server->calls = call;
    call->hold = tool_hold_begin(run, over, call);
    send_when_ready(call);
}

void mcp_calls_resume(struct mcp_server *server)
{
    for (struct mcp_call *call = server->calls; call != NULL; call = call->next) {
        if (!call->waits)
            continue;
        call->waits = false;
        send(call);
    }
}

void mcp_calls_refuse(struct mcp_server *server)
{
    for (struct mcp_call *call = server->calls; call != NULL; call = call->next) {
        if (call->waits)
            loop_timer_start(call->idle, 0);
    }
}

/* ---- on the way ---- */

struct mcp_call *mcp_call_find(struct mcp_server *server, int64_t id)
{
    for (struct mcp_call *call = server->calls; call != NULL; call = call->next) {
        if (id > 0 && call->id == id)
            return call;
    }
    return id == 0 && server->calls != NULL && server->calls->next == NULL ? server->calls : NULL;
}

static void tell_progress(struct mcp_call *call, const json_t *params)
{
    int64_t now = loop_now_ms(call->server->loop);
    double done = json_get_number(params, "progress", 0), total = json_get_number(params, "total", 0);
    struct buf text;
    if (call->told_ms > 0 && now - call->told_ms < PROGRESS_INTERVAL_MS)
        return;
    call->told_ms = now;
    buf_init(&text, BUF_UNBOUNDED);
    if (total > 0 && done >= 0 && done <= total)
        buf_addf(&text, "%.0f %%", floor(100 * done / total));
    struct str message = str_trim(json_get_str(params, "message"));
    if (text.len > 0 && message.len > 0)
        buf_add_text(&text, ", ");
    line_add(&text, message, MAX_PROGRESS_BYTES);
    if (text.len > 0)
        tool_report_notice(call->run, "%s is under way: %s", call->tool->signature.name, text.data);
    buf_finish(&text);
}

void mcp_call_progress(struct mcp_server *server, const json_t *params)
{
    int64_t token = json_get_int(params, "progressToken", 0);
    struct mcp_call *call = token > 0 ? mcp_call_find(server, token) : NULL;
    if (call == NULL)
        return;
    start_clock(call);
    tell_progress(call, params);
}
