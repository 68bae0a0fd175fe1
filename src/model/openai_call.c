/* One completion: its tries, what follows from each, and its end. */
#include "model/openai_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "net/retry.h"

#define MAX_EMPTY_REPLIES 3  /* then the empty completion is handed on */
#define MAX_REFUSALS      32 /* parameters of one call that servers refuse, before that counts as a failure */

/* ---- words to whoever watches ---- */

void call_notice(struct model_call *call, enum model_notice_kind kind, int64_t delay_ms, const char *format, ...)
{
    if (!call->handlers.notice || call->canceled)
        return;
    char text[700];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    struct model_notice notice = {.kind = kind,
                                  .attempt = call->tries,
                                  .delay_ms = delay_ms,
                                  .window = model_window(&call->client->base),
                                  .text = text};
    call->handlers.notice(call->user, &notice);
}

void call_tell_window(struct model_call *call)
{
    int64_t window = model_window(&call->client->base);
    if (window <= 0 || window == call->known_window)
        return;
    call->known_window = window;
    call_notice(call, MODEL_NOTICE_WINDOW, 0, "the context window is %lld tokens", (long long)window);
}

void call_begin_waiting(struct model_call *call)
{
    call->wait_began = loop_now_ms(call->client->loop);
}

void call_end_waiting(struct model_call *call)
{
    if (call->wait_began)
        call->waited_ms += loop_now_ms(call->client->loop) - call->wait_began;
    call->wait_began = 0;
}

/* ---- life ---- */

static void call_end(void *user)
{
    struct model_call *call = user;
    struct model_handlers handlers = call->handlers;
    call->result.served_model = call->served_model;
    *call->link = call->next;
    *(call->next ? &call->next->link : &call->client->calls_end) = call->link;
    handlers.done(call->user, &call->result);
    loop_timer_destroy(call->timer);
    loop_timer_destroy(call->deadline);
    free(call->served_model);
    free(call->marks);
    free(call);
}

void call_finish(struct model_call *call, enum model_failure failure, enum finish_reason reason,
                 const struct error *error)
{
    if (call->state == CALL_ENDING)
        return;
    pool_forget(call);
    call_end_waiting(call);
    call->state = CALL_ENDING;
    loop_timer_stop(call->timer);
    loop_timer_stop(call->deadline);
    if (failure != MODEL_OK)
        call->result.usage = (struct usage){-1, -1, -1, -1};
    call->result.failure = failure;
    call->result.reason = reason;
    call->result.tries = call->tries;
    call->result.waited_ms = call->waited_ms;
    if (failure != MODEL_OK && error)
        call->result.error = *error;
    loop_defer(call->client->loop, call_end, call);
}

static void call_stop(struct model_call *call)
{
    if (call->state == CALL_ENDING || call->canceled)
        return;
    call->canceled = true;
    if (call->http)
        http_request_cancel(call->http); /* the end of the try ends the call */
    else
        call_finish(call, MODEL_OK, FINISH_CANCELED, NULL);
}

static void deadline_passed(void *user)
{
    call_stop(user);
}

static void call_begin(void *user)
{
    struct model_call *call = user;
    if (call->state != CALL_NEW)
        return;
    call->known_window = model_window(&call->client->base);
    if (call->client->prepared == PREPARE_DONE) {
        pool_acquire(call);
    } else {
        call->state = CALL_PREPARING;
        client_start_preparing(call->client);
    }
}

/* The time has come to look for an endpoint (again). */
static void call_timer_fired(void *user)
{
    struct model_call *call = user;
    switch (call->state) {
    case CALL_NEW:
        call_begin(call);
        return;
    case CALL_WAITING:
    case CALL_BACKOFF:
        pool_acquire(call);
        return;
    case CALL_TRYING: /* the reply is whole, but the server does not close it */
        if (call->http)
            http_request_cancel(call->http);
        return;
    case CALL_PREPARING:
    case CALL_QUEUED:
    case CALL_ENDING:
        return;
    }
}

struct model_call *openai_start(struct model_client *base, const struct model_request *request,
                                const struct model_handlers *handlers, void *user)
{
    struct openai_client *client = (struct openai_client *)base;
    struct model_call *call = mem_zalloc(sizeof *call);
    *call = (struct model_call){.client = client, .request = *request, .handlers = *handlers, .user = user};
    if (request->session == 0) /* nobody to keep together: spread them */
        call->request.session = ++client->next_round_robin | (1ULL << 63);
    call->marks = mem_calloc(client->n_endpoints, sizeof *call->marks);
    call->result.usage = (struct usage){-1, -1, -1, -1};
    call->link = client->calls_end;
    *call->link = call;
    client->calls_end = &call->next;
    call->timer = loop_timer_create(client->loop, call_timer_fired, call);
    call->deadline = loop_timer_create(client->loop, deadline_passed, call);
    if (request->deadline_ms > 0)
        loop_timer_start(call->deadline, request->deadline_ms - loop_now_ms(client->loop));
    loop_timer_start(call->timer, 0);
    return call;
}

void openai_cancel(struct model_client *base, struct model_call *call)
{
    (void)base;
    call_stop(call);
}

/* ---- what a try came to ---- */

/* What was delivered is void if the user agrees; else the completion ends here. True when the call goes on. */
static bool take_back(struct model_call *call)
{
    if (!call->delivered)
        return true;
    call->delivered = false;
    if (!call->handlers.restart || call->handlers.restart(call->user))
        return !call->canceled && call->state != CALL_ENDING;
    call->result.usage = call->reply.usage;
    call_finish(call, MODEL_OK, FINISH_BROKEN, NULL);
    return false;
}

/* Puts the call to sleep, or sends it to another endpoint at once. */
static void next_try(struct model_call *call, const struct outcome *outcome, bool counted)
{
    struct openai_client *client = call->client;
    const struct endpoint *endpoint = call->endpoint;
    int64_t delay = 0;
    if (!pool_has_other(call, endpoint) && counted)
        delay = client->options.retry_delay((unsigned)call->failed_tries, outcome->retry_after_ms,
                                            retry_chance(&client->chance));
    if (counted)
        call_notice(call, MODEL_NOTICE_RETRY, delay, "%s; try %d of %d in %.1f s", outcome->fault.error.message,
                    call->failed_tries + 1, client->options.max_tries, (double)delay / 1000);
    call->state = CALL_BACKOFF;
    loop_timer_start(call->timer, delay);
}

static void try_failed(struct model_call *call, const struct outcome *outcome)
{
    struct endpoint *endpoint = call->endpoint;
    struct call_mark *mark = &call->marks[endpoint - call->client->endpoints];
    bool connection = outcome->kind == OUTCOME_NO_CONNECTION;
    call->error = outcome->fault.error;
    mark->failures++;
    if (!outcome->blameless)
        pool_endpoint_failed(endpoint, connection, outcome->retry_after_ms, &call->error);
    if (!take_back(call))
        return;
    bool counted = true;
    if (connection && endpoint->down && pool_down_wait_ms(call->client) > 0 && !mark->excused) {
        mark->excused = true; /* it is down: that is no fault of the call's */
        counted = false;
    }
    call->failed_tries += counted;
    if (call->failed_tries >= call->client->options.max_tries)
        call_finish(call, MODEL_UNAVAILABLE, FINISH_BROKEN, &call->error);
    else
        next_try(call, outcome, counted);
}

static void learn_parameter(struct model_call *call, const char *name)
{
    struct endpoint *endpoint = call->endpoint;
    struct request_habits *habits = &endpoint->habits;
    if (strcmp(name, "max_tokens") == 0 && !habits->completion_name) {
        habits->completion_name = true;
        call_notice(call, MODEL_NOTICE_PARAMETER_DROPPED, 0,
                    "%s does not take max_tokens; max_completion_tokens is sent from now on", endpoint->host);
        return;
    }
    if (!habits->dropped)
        habits->dropped = json_object();
    json_put(habits->dropped, name, json_true());
    call_notice(call, MODEL_NOTICE_PARAMETER_DROPPED, 0, "%s does not take %s; it is left out from now on",
                endpoint->host, name);
}

/* The server named what it does not take: asked again without it, at once and without burning a try. False when that
 * was learnt before and does not help. */
static bool learn(struct model_call *call, const struct fault *fault)
{
    struct request_habits *habits = &call->endpoint->habits;
    if (++call->refusals > MAX_REFUSALS)
        return false;
    switch (fault->kind) {
    case FAULT_PARAMETER:
        learn_parameter(call, fault->parameter);
        return true;
    case FAULT_SYSTEM_ROLE:
        if (habits->fold_system)
            return false;
        habits->fold_system = true;
        call_notice(call, MODEL_NOTICE_PARAMETER_DROPPED, 0,
                    "%s takes no system message; it is sent at the head of the question from now on",
                    call->endpoint->host);
        return true;
    case FAULT_CAP:
        if (habits->max_tokens > 0 && habits->max_tokens <= fault->limit)
            return false;
        habits->max_tokens = fault->limit;
        call_notice(call, MODEL_NOTICE_PARAMETER_DROPPED, 0,
                    "%s writes at most %lld tokens; no more are asked of it from now on", call->endpoint->host,
                    (long long)fault->limit);
        return true;
    case FAULT_RETRY:
    case FAULT_CONTEXT:
    case FAULT_FINAL:
        break;
    }
    return false;
}

static void context_too_long(struct model_call *call, const struct fault *fault)
{
    struct endpoint *endpoint = call->endpoint;
    if (fault->limit > 0) {
        endpoint->window = fault->limit;
        endpoint->window_is_learnt = true;
        call_tell_window(call);
    }
    call->result.window = fault->limit > 0 ? fault->limit : endpoint->window;
    call_finish(call, MODEL_CONTEXT_TOO_LONG, FINISH_BROKEN, &fault->error);
}

/* Final for this endpoint; another one may take the call. */
static void refused_for_good(struct model_call *call, const struct fault *fault)
{
    struct endpoint *endpoint = call->endpoint;
    enum status status = fault->error.status;
    call->marks[endpoint - call->client->endpoints].final = true;
    endpoint->rejected = status == STATUS_DENIED || status == STATUS_NOT_FOUND;
    endpoint->error = fault->error;
    call->error = fault->error;
    call->state = CALL_BACKOFF;
    loop_timer_start(call->timer, 0);
}

static void try_refused(struct model_call *call, const struct outcome *outcome)
{
    const struct fault *fault = &outcome->fault;
    if (!take_back(call))
        return;
    if (fault->kind == FAULT_CONTEXT) {
        context_too_long(call, fault);
    } else if (fault->kind == FAULT_FINAL) {
        refused_for_good(call, fault);
    } else if (learn(call, fault)) {
        call->state = CALL_BACKOFF;
        loop_timer_start(call->timer, 0);
    } else {
        struct fault final = *fault;
        final.error.status = STATUS_UNSUPPORTED;
        refused_for_good(call, &final);
    }
}

static void note_success(struct model_call *call)
{
    struct endpoint *endpoint = call->endpoint;
    const struct reply *reply = &call->reply;
    endpoint->rejected = false;
    endpoint->answered = true;
    pool_endpoint_worked(endpoint);
    if (reply->field != REPLY_FIELD_NONE)
        endpoint->habits.thought_field = true;
    if (reply->field == REPLY_REASONING || reply->field == REPLY_DETAILS)
        endpoint->habits.reasoning_name = true;
    else if (reply->field == REPLY_REASONING_CONTENT)
        endpoint->habits.reasoning_name = false;
    if (reply->served_model && !call->served_model) {
        call->served_model = mem_strdup(reply->served_model);
        call_notice(call, MODEL_NOTICE_SERVED_MODEL, 0, "%s", call->served_model);
    }
}

static void looked_again(struct endpoint *endpoint)
{
    for (struct model_call *call = endpoint->client->calls; call; call = call->next)
        if (call->state != CALL_ENDING)
            call_tell_window(call);
}

static void try_complete(struct model_call *call, const struct outcome *outcome)
{
    const struct reply *reply = &call->reply;
    struct outcome again = {.kind = OUTCOME_FAILED, .retry_after_ms = -1, .blameless = true};
    bool may_retry = call->failed_tries + 1 < call->client->options.max_tries;
    note_success(call);
    if (reply->reason == FINISH_CONTENT_FILTER && !call->filtered && may_retry) {
        call->filtered = true;
        error_set(&again.fault.error, STATUS_REFUSED, "a content filter of %s stopped the completion",
                  call->endpoint->host);
        try_failed(call, &again);
        return;
    }
    if (outcome->kind == OUTCOME_EMPTY && ++call->empty_replies < MAX_EMPTY_REPLIES && may_retry) {
        again.fault.error = outcome->fault.error;
        try_failed(call, &again);
        return;
    }
    /* Cut at once though the cap is far: the prompt fills the window, and the server does not say so. */
    const struct usage *usage = &reply->usage;
    if (reply->reason == FINISH_LENGTH && !reply->text_bytes && usage->prompt > 0 && usage->completion >= 0 &&
        usage->completion <= 1 && call->request.max_tokens > 1) {
        struct fault full = {.kind = FAULT_CONTEXT, .limit = usage->prompt + usage->completion};
        error_set(&full.error, STATUS_TOO_BIG, "the prompt fills the context window of %s", call->endpoint->host);
        context_too_long(call, &full);
        return;
    }
    if (endpoint_window_is_open(call->endpoint) && !call->endpoint->look)
        endpoint_look(call->endpoint, looked_again);
    call->result.usage = reply->usage;
    call->result.thought_field = request_splits_thought(&call->endpoint->habits);
    call_finish(call, MODEL_OK, reply->reason, NULL);
}

void call_try_ended(struct model_call *call, const struct outcome *outcome)
{
    pool_release(call);
    loop_timer_stop(call->timer);
    if (call->canceled) {
        call->result.usage = call->reply.usage;
        call_finish(call, MODEL_OK, FINISH_CANCELED, NULL);
    } else {
        switch (outcome->kind) {
        case OUTCOME_COMPLETE:
        case OUTCOME_EMPTY:
            try_complete(call, outcome);
            break;
        case OUTCOME_FAILED:
        case OUTCOME_NO_CONNECTION:
            try_failed(call, outcome);
            break;
        case OUTCOME_REFUSED:
            try_refused(call, outcome);
            break;
        case OUTCOME_CANCELED:
            call_finish(call, MODEL_OK, FINISH_CANCELED, NULL);
            break;
        }
    }
    try_finish(call);
}
