/* SandboxFusion servers: POST /run_code {"code", "language", "run_timeout", "compile_timeout"} answers {"status":
 * "Success" | "Failed" | "SandboxError", "message", "run_result": {"status": "Finished" | "Error" |
 * "TimeLimitExceeded", "return_code", "stdout", "stderr", "execution_time"}}
 * (https://bytedance.github.io/SandboxFusion/docs/api/run-code). "Failed" is the program's own failure, "SandboxError"
 * the server's. */
#include "tools/python/internal.h"

#include "core/mem.h"
#include "net/url.h"
#include "tools/common/web_answer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TRIES        2
#define HEAD_BYTES   ((size_t)28 * 1024)
#define TAIL_BYTES   ((size_t)12 * 1024)
#define MAX_RESPONSE ((size_t)16 * 1024 * 1024)
#define ANSWER_MS    5000 /* for the server to start the program and to answer, beyond the program's own time */
#define GIVE_UP_MS   500  /* this long before the engine's deadline */

struct fusion_server {
    struct chain_backend backend; /* first: a chain names the server by it */
    char *url;
    char name[32];
};

struct fusion_call {
    struct python_tool *tool;
    struct tool_run *run;
    struct chain chain;
    int64_t timeout_ms;
    json_t *answer; /* of the server that ran the program */
    struct capture output, errors;
};

static const struct web_service service = {
    .name = "SandboxFusion",
    .denied = "check its address in --sandbox-fusion",
    .used_up = "check the account",
    .busy = "give more servers in --sandbox-fusion",
};

/* ---- the end ---- */

static struct str join(struct capture *capture, const json_t *result, const char *key, size_t *head, size_t *left_out)
{
    capture_init(capture, HEAD_BYTES, TAIL_BYTES);
    capture_add(capture, json_get_str(result, key));
    return capture_join(capture, head, left_out);
}

static void on_settled(void *user)
{
    struct fusion_call *call = user;
    struct python_outcome outcome = {.timeout_ms = call->timeout_ms};
    const json_t *result = json_object_get(call->answer, "run_result");
    const char *status = json_get_string(result, "status");
    if (call->chain.state != CHAIN_FOUND) {
        outcome.end = PYTHON_NOT_RUN;
        outcome.problem = "no sandbox server could be reached; go on without it, or try again later";
    } else if (status && strcmp(status, "TimeLimitExceeded") == 0) {
        outcome.end = PYTHON_TIMEOUT;
    }
    outcome.exit_code = json_get_int(result, "return_code", 0);
    outcome.output = join(&call->output, result, "stdout", &outcome.output_head, &outcome.output_left_out);
    outcome.errors = join(&call->errors, result, "stderr", &outcome.errors_head, &outcome.errors_left_out);
    python_show(call->run, &outcome);
}

static void free_call(void *state)
{
    struct fusion_call *call = state;
    chain_finish(&call->chain);
    capture_finish(&call->output);
    capture_finish(&call->errors);
    json_decref(call->answer);
    free(call);
}

/* ---- a try ---- */

static void fail_server(struct fusion_call *call, const char *why, struct str words)
{
    const struct fusion_server *server = (const struct fusion_server *)chain_backend(&call->chain);
    chain_fail(&call->chain, "the sandbox failed", "%s %s%s%.*s", server->name, why, words.len > 0 ? ": " : "",
               STR_ARG(str_slice(words, 0, 200)));
    call->chain.failure.may_pass = true;
    chain_failed(&call->chain);
}

static void on_response(void *user, struct http_response *response)
{
    struct fusion_call *call = user;
    json_t *root;
    if (!web_answer_json(&call->chain, response, &service, NULL, &root))
        return;
    const char *status = json_get_string(root, "status");
    const json_t *result = json_object_get(root, "run_result");
    if (!status || (strcmp(status, "Success") != 0 && strcmp(status, "Failed") != 0)) {
        fail_server(call, "could not run the program", json_get_str(root, "message"));
    } else if (!json_is_object(result)) {
        fail_server(call, "gave no result", json_get_str(root, "message"));
    } else {
        call->answer = json_incref(root);
        chain_answered(&call->chain, 1);
    }
    json_decref(root);
}

static void ask(void *user)
{
    struct fusion_call *call = user;
    const struct fusion_server *server = (const struct fusion_server *)chain_backend(&call->chain);
    int64_t left_ms = tool_time_left_ms(call->run) - GIVE_UP_MS;
    int64_t timeout_ms = call->timeout_ms < left_ms ? call->timeout_ms : left_ms > 1 ? left_ms : 1;
    json_t *question = json_object();
    json_put_str(question, "code", tool_code(call->run));
    json_put_str(question, "language", STR("python"));
    json_put(question, "run_timeout", json_integer((timeout_ms + 999) / 1000));
    char *body = json_to_text(question);
    static const struct http_header headers[] = {{"Content-Type", "application/json"}};
    const struct http_options options = {
        .traffic = HTTP_CONFIGURED,
        .url = server->url,
        .headers = headers,
        .n_headers = 1,
        .body = str_of(body),
        .total_timeout_ms = timeout_ms + ANSWER_MS,
        .max_body = MAX_RESPONSE,
        .accept_encoding = true,
    };
    tool_request(call->run, &options, on_response, call);
    free(body);
    json_decref(question);
}

static void on_nearly_late(void *user)
{
    struct fusion_call *call = user;
    if (tool_canceled(call->run))
        return;
    int64_t early_ms = tool_time_left_ms(call->run) - GIVE_UP_MS;
    if (early_ms > 0)
        tool_wait(call->run, early_ms, on_nearly_late, call);
    else
        chain_give_up(&call->chain);
}

void fusion_run(struct python_tool *tool, struct tool_run *run, int64_t timeout_ms)
{
    struct fusion_call *call = mem_zalloc(sizeof *call);
    struct chain_backend *order[PYTHON_MAX_SERVERS];
    call->tool = tool;
    call->run = run;
    call->timeout_ms = timeout_ms;
    tool_set_state(run, call, free_call);
    for (size_t i = 0; i < tool->n_servers; i++) { /* each call begins with another, so that all share the work */
        size_t at = tool->next_server + i;
        order[i] = &tool->servers[at < tool->n_servers ? at : at - tool->n_servers].backend;
    }
    if (++tool->next_server == tool->n_servers)
        tool->next_server = 0;
    const struct chain_options options = {
        .run = run,
        .what = "the program",
        .backends = order,
        .n_backends = tool->n_servers,
        .tries = tool->n_servers > 1 ? 1 : TRIES,
        .settled = on_settled,
        .user = call,
    };
    chain_init(&call->chain, &options);
    tool_wait(run, tool_time_left_ms(run) - GIVE_UP_MS, on_nearly_late, call);
    chain_start(&call->chain);
}

/* ---- the servers ---- */

static enum status add_server(struct python_tool *tool, const char *address, struct error *error)
{
    struct url parts;
    enum status status = url_parse(str_of(address), &parts, error);
    if (status != STATUS_OK)
        return status;
    url_finish(&parts);
    struct str base = str_of(address);
    while (str_ends_with(base, STR("/")))
        base.len--;
    struct fusion_server *server = &tool->servers[tool->n_servers++];
    const char *path = str_ends_with(base, STR("/run_code")) ? "" : "/run_code";
    server->url = mem_printf("%.*s%s", STR_ARG(base), path);
    snprintf(server->name, sizeof server->name, "sandbox %zu", tool->n_servers);
    server->backend = (struct chain_backend){.name = server->name, .ask = ask};
    return STATUS_OK;
}

enum status fusion_init(struct python_tool *tool, const struct python_options *options, struct error *error)
{
    if (options->n_servers == 0)
        return error_set(error, STATUS_INVALID,
                         "SandboxFusion needs an address: set SANDBOX_FUSION_ENDPOINT or give --sandbox-fusion");
    if (options->n_servers > PYTHON_MAX_SERVERS)
        return error_set(error, STATUS_INVALID, "there can be %d SandboxFusion servers, not %zu", PYTHON_MAX_SERVERS,
                         options->n_servers);
    tool->servers = mem_calloc(options->n_servers, sizeof *tool->servers);
    enum status status = STATUS_OK;
    for (size_t i = 0; status == STATUS_OK && i < options->n_servers; i++)
        status = add_server(tool, options->servers[i], error);
    return status;
}

void fusion_finish(struct python_tool *tool)
{
    for (size_t i = 0; i < tool->n_servers; i++)
        free(tool->servers[i].url);
    free(tool->servers);
}
