/* One HTTP request of a call: sends it, reads what comes as it comes, and judges what it came to. */
#include "model/openai_internal.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/mem.h"
#include "net/retry.h"

#define MAX_STREAM     ((size_t)512 * 1024 * 1024) /* bytes of events; some 300 are usual for one token */
#define MAX_EVENT      ((size_t)8 * 1024 * 1024)
#define MAX_JSON       ((size_t)64 * 1024 * 1024)
#define MAX_ERROR_BODY ((size_t)64 * 1024)

/* How long a server may take to close a reply that is whole: after the last event, and after the finish reason, behind
 * which usage may follow. */
#define CLOSE_AFTER_DONE_MS   250
#define CLOSE_AFTER_REASON_MS 5000

static bool is_success(int code)
{
    return code >= 200 && code <= 299;
}

/* ---- reading ---- */

static void take_text(void *user, struct str text)
{
    struct model_call *call = user;
    if (call->canceled || !text.len)
        return;
    call->delivered = true;
    call->handlers.delta(call->user, text);
}

/* Nothing more of this reply is wanted. */
static void stop_reading(struct model_call *call)
{
    if (call->http)
        http_request_cancel(call->http);
}

/* Takes one object of the reply; false when reading is over. */
static bool take_object(struct model_call *call, struct str text)
{
    enum reply_end before = call->reply.end;
    if (!reply_event(&call->reply, text)) {
        call->garbage = true;
        return false;
    }
    if (before == REPLY_OPEN && call->reply.end == REPLY_FINISHED)
        loop_timer_start(call->timer, CLOSE_AFTER_REASON_MS);
    return !call->reply.error && call->reply.end != REPLY_ABORTED && !call->canceled;
}

static bool take_event(void *user, const struct sse_event *event)
{
    struct model_call *call = user;
    struct str data = str_trim(event->data);
    if (event->kind == SSE_COMMENT || !data.len || call->done_event)
        return true;
    if (str_equal(data, STR("[DONE]"))) {
        call->done_event = true;
        loop_timer_start(call->timer, CLOSE_AFTER_DONE_MS);
        return true;
    }
    return take_object(call, data);
}

/* The first byte that is not white space tells what comes, whatever Content-Type says. */
static void find_kind(struct model_call *call, struct str *data)
{
    if (str_starts_with(*data, STR("\xEF\xBB\xBF")))
        *data = str_slice(*data, 3, data->len);
    struct str text = str_trim_start(*data);
    if (!text.len)
        return;
    char first = text.data[0];
    if (first == '{' || first == '[')
        call->body_kind = BODY_JSON;
    else if (first == ':' || (first >= 'a' && first <= 'z'))
        call->body_kind = BODY_EVENTS; /* data, event, id, retry */
    else
        call->body_kind = BODY_OTHER;
}

static bool got_head(void *user, const struct http_response *head)
{
    struct model_call *call = user;
    call->code = head->code;
    return true;
}

static void got_data(void *user, struct str data)
{
    struct model_call *call = user;
    if (call->body_kind == BODY_UNKNOWN && is_success(call->code))
        find_kind(call, &data);
    switch (call->body_kind) {
    case BODY_EVENTS:
        if (sse_parser_feed(&call->sse, data) != STATUS_OK)
            call->garbage = true;
        if (call->garbage || call->reply.error || call->reply.end == REPLY_ABORTED)
            stop_reading(call);
        return;
    case BODY_JSON:
        if (buf_append_str(&call->json, data) != STATUS_OK) {
            call->garbage = true;
            stop_reading(call);
        }
        return;
    case BODY_UNKNOWN:
    case BODY_OTHER:
        data = str_slice(data, 0, MAX_ERROR_BODY - (call->json.len < MAX_ERROR_BODY ? call->json.len : MAX_ERROR_BODY));
        if (buf_append_str(&call->json, data) != STATUS_OK)
            call->garbage = true;
        return;
    }
}

/* ---- judging ---- */

static int64_t retry_after(const struct http_response *response)
{
    int64_t ms;
    const char *exact = http_response_header(response, "retry-after-ms");
    if (exact && str_to_int64(str_of(exact), &ms) && ms >= 0 && ms <= RETRY_AFTER_MAX_MS)
        return ms;
    return retry_after_parse(http_response_header(response, "Retry-After"), (int64_t)time(NULL));
}

static void judge_fault(struct outcome *outcome)
{
    outcome->kind = outcome->fault.kind == FAULT_RETRY ? OUTCOME_FAILED : OUTCOME_REFUSED;
}

/* A reply that ended well but without a finish reason was cut, as a rule; a server that never gives one is believed
 * when it does so twice. */
static bool believe_end(struct endpoint *endpoint)
{
    if (endpoint->gives_reasons)
        return false;
    bool again = endpoint->ended_without;
    endpoint->ended_without = true;
    return again;
}

static void judge_complete(struct model_call *call, struct outcome *outcome)
{
    reply_close(&call->reply);
    outcome->kind = OUTCOME_COMPLETE;
    if (call->reply.text_bytes || call->reply.reason != FINISH_STOP)
        return;
    outcome->kind = OUTCOME_EMPTY;
    error_set(&outcome->fault.error, STATUS_SYNTAX, "%s gave an empty completion", call->endpoint->host);
}

static void judge_unusable(struct model_call *call, const struct http_response *response, struct outcome *outcome)
{
    const char *host = call->endpoint->host;
    struct error *error = &outcome->fault.error;
    char words[200];
    struct fault_scene scene = endpoint_scene(call->endpoint, call->body.fields);
    outcome->kind = OUTCOME_FAILED;
    fault_scrub(&scene, str_slice(buf_str(&call->json), 0, 100), words, sizeof words);
    if (response->status != STATUS_OK && !call->garbage && response->status != STATUS_CANCELED)
        *error = response->error;
    else if (call->garbage && call->body_kind != BODY_OTHER && !*words)
        error_set(error, STATUS_SYNTAX, "%s sent events that cannot be read", host);
    else if (call->reply.text_bytes)
        error_set(error, STATUS_NETWORK, "the reply of %s ended without a finish reason", host);
    else if (call->body_kind == BODY_UNKNOWN && !*words)
        error_set(error, STATUS_SYNTAX, "%s answered with nothing", host);
    else if (*words == '<')
        error_set(error, STATUS_SYNTAX, "%s answered with a web page instead of a completion; check --base-url", host);
    else
        error_set(error, STATUS_SYNTAX, "%s answered with something that is no completion: %s", host, words);
}

static void judge(struct model_call *call, const struct http_response *response, struct outcome *outcome)
{
    struct fault_scene scene = endpoint_scene(call->endpoint, call->body.fields);
    struct reply *reply = &call->reply;
    bool clean = response->status == STATUS_OK || call->done_event;
    *outcome = (struct outcome){.retry_after_ms = retry_after(response)};
    if (call->body_kind == BODY_EVENTS && clean)
        sse_parser_end(&call->sse);
    else if (call->body_kind == BODY_JSON && clean)
        take_object(call, buf_str(&call->json));

    if (call->canceled) {
        outcome->kind = OUTCOME_CANCELED;
    } else if (reply->error) {
        fault_of_object(&scene, reply->error, &outcome->fault);
        judge_fault(outcome);
    } else if (call->code && !is_success(call->code)) {
        fault_of_response(&scene, call->code, buf_str(&call->json), &outcome->fault);
        judge_fault(outcome);
    } else if (reply->end == REPLY_FINISHED) {
        call->endpoint->gives_reasons = true;
        judge_complete(call, outcome);
    } else if (reply->end == REPLY_ABORTED) {
        outcome->kind = OUTCOME_FAILED;
        error_set(&outcome->fault.error, STATUS_NETWORK, "%s gave up in the middle of the completion",
                  call->endpoint->host);
    } else if (response->status == STATUS_INVALID || response->status == STATUS_REFUSED) {
        outcome->kind = OUTCOME_REFUSED;
        outcome->fault = (struct fault){.kind = FAULT_FINAL, .error = response->error};
    } else if (no_connection(response)) {
        outcome->kind = OUTCOME_NO_CONNECTION;
        outcome->fault.error = response->error;
    } else if (clean && reply->text_bytes && !call->garbage && (call->done_event || call->body_kind == BODY_JSON) &&
               believe_end(call->endpoint)) {
        reply->reason = FINISH_STOP;
        judge_complete(call, outcome);
    } else {
        judge_unusable(call, response, outcome);
    }
}

static void try_done(void *user, struct http_response *response)
{
    struct model_call *call = user;
    struct outcome outcome;
    loop_timer_stop(call->timer);
    judge(call, response, &outcome);
    call->http = NULL;
    call_try_ended(call, &outcome);
}

/* ---- sending ---- */

void try_start(struct model_call *call)
{
    struct endpoint *endpoint = call->endpoint;
    const struct openai_options *options = &call->client->options;
    struct request_form form = {
        .model = endpoint->model,
        .chat_template = options->chat_template,
        .template_options = {.bos = options->template_bos,
                             .open_think = options->template_open_think,
                             .date = call->request.date},
        .extra_body = call->client->extra_body,
    };
    request_body_init(&call->body, &form, &endpoint->habits, &call->request);
    reply_init(&call->reply, take_text, call);
    sse_parser_init(&call->sse, MAX_EVENT, take_event, call);
    buf_init(&call->json, MAX_JSON);
    call->body_kind = BODY_UNKNOWN;
    call->done_event = call->garbage = call->delivered = false;
    call->code = 0;
    call->tries++;

    struct http_body reader = request_body_reader(&call->body);
    char *url = mem_printf("%s%s", endpoint->base_url, options->completions ? "/completions" : "/chat/completions");
    struct http_options http = {
        .traffic = HTTP_CONFIGURED,
        .url = url,
        .method = "POST",
        .headers = endpoint->headers,
        .n_headers = endpoint->n_headers,
        .reader = &reader,
        .connect_timeout_ms = options->first_byte_timeout_ms < HTTP_DEFAULT_CONNECT_TIMEOUT_MS
                                  ? options->first_byte_timeout_ms
                                  : HTTP_DEFAULT_CONNECT_TIMEOUT_MS,
        .first_byte_timeout_ms = options->first_byte_timeout_ms,
        .stall_timeout_ms = options->stall_timeout_ms,
        .total_timeout_ms = options->total_timeout_ms,
        .max_body = MAX_STREAM,
        .accept_encoding = true,
        .on_headers = got_head,
        .on_data = got_data,
    };
    call->http = http_request_start(call->client->http, &http, try_done, call);
    free(url);
}

void try_finish(struct model_call *call)
{
    request_body_finish(&call->body);
    reply_finish(&call->reply);
    sse_parser_finish(&call->sse);
    buf_finish(&call->json);
}
