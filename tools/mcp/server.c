/* tools/mcp/server.c: the life of a server, from its start over crashes to its end, and what it may ask. */
#include "tools/mcp/internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "core/mem.h"
#include "tools/common/line.h"

#define MAX_RESTARTS     5 /* in a row */
#define FIRST_REST_MS    INT64_C(500)
#define STEADY_MS        INT64_C(60000) /* a server that lasted so long may start afresh */
#define MAX_TALKS        10             /* sentences of one server to the person … */
#define TALK_INTERVAL_MS INT64_C(60000) /* … in this time */
#define MAX_TALK_BYTES   400
#define RELIST_DELAY_MS  100 /* servers change several tools one by one, with a notification for each */

/* ---- words ---- */

void mcp_say(struct mcp_server *server, const char *format, ...)
{
    int64_t now = loop_now_ms(server->loop);
    if (server->state == MCP_STOPPING || server->state == MCP_STOPPED)
        return;
    if (server->n_talks == 0 || now - server->talk_began_ms > TALK_INTERVAL_MS) {
        server->talk_began_ms = now;
        server->n_talks = 0;
    }
    if (++server->n_talks > MAX_TALKS)
        return;
    struct buf words, line;
    va_list arguments;
    buf_init(&words, BUF_UNBOUNDED);
    buf_init(&line, BUF_UNBOUNDED);
    va_start(arguments, format);
    buf_addv(&words, format, arguments);
    va_end(arguments);
    buf_addf(&line, "MCP server %s: ", server->options.name);
    line_add(&line, buf_str(&words), MAX_TALK_BYTES);
    server->watcher.say(server->watcher.user, server, line.data);
    buf_finish(&words);
    buf_finish(&line);
}

/* ---- ready, failed ---- */

static void announce(struct mcp_server *server, const struct error *error)
{
    server->announced = true;
    server->watcher.ready(server->watcher.user, server, error);
}

static void fail_for_good(struct mcp_server *server, const struct error *why)
{
    server->state = MCP_FAILED;
    server->failure = *why;
    loop_timer_stop(server->patience);
    json_decref(server->offered);
    server->offered = json_array();
    mcp_calls_refuse(server);
    if (!server->announced)
        announce(server, &server->failure);
    else
        server->watcher.changed(server->watcher.user, server);
}

void mcp_listed(struct mcp_server *server, bool changed)
{
    if (server->state == MCP_STARTING) {
        server->state = MCP_READY;
        server->ready_at_ms = loop_now_ms(server->loop);
        loop_timer_stop(server->patience);
        mcp_calls_resume(server);
        mcp_subscribe(server);
        if (!server->announced) {
            announce(server, NULL);
            return;
        }
    }
    mcp_subscribe(server);
    if (changed)
        server->watcher.changed(server->watcher.user, server);
}

void mcp_give_up(struct mcp_server *server, enum status status, const char *format, ...)
{
    char why[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(why, sizeof why, format, arguments);
    va_end(arguments);
    if (server->too_late || server->transport == NULL) /* it is broken off already, or has just ended by itself */
        return;
    server->too_late = true;
    error_set(&server->failure, status, "%s", why);
    loop_timer_stop(server->patience);
    server->transport->type->close(server->transport);
}

void mcp_list_failed(struct mcp_server *server, const char *why)
{
    if (server->state == MCP_STARTING)
        mcp_give_up(server, STATUS_NETWORK, "its tools could not be listed: %s", why);
    else
        mcp_say(server, "its new list of tools could not be read (%s); the old one stays", why);
}

/* ---- patience ---- */

static void patience_over(void *user)
{
    struct mcp_server *server = user;
    mcp_give_up(server, STATUS_TIMEOUT, "it did not say its tools within %lld s",
                (long long)((server->options.startup_timeout_ms + 999) / 1000));
}

/* ---- what the server asks ---- */

json_t *mcp_list_roots(const struct mcp_server *server)
{
    json_t *result = json_object(), *roots = json_array();
    for (size_t i = 0; i < server->options.n_roots; i++) {
        json_t *root = json_object();
        struct buf uri;
        buf_init(&uri, BUF_UNBOUNDED);
        buf_add_text(&uri, "file://");
        for (const char *c = server->options.roots[i]; *c != '\0'; c++) {
            if (ascii_is_alnum(*c) || strchr("/-._~", *c) != NULL)
                buf_add_char(&uri, *c);
            else
                buf_addf(&uri, "%%%02X", (unsigned char)*c);
        }
        json_put_str(root, "uri", buf_str(&uri));
        json_push(roots, root);
        buf_finish(&uri);
    }
    json_put(result, "roots", roots);
    return result;
}

static void on_request(void *user, const char *method, const json_t *params, const json_t *id, int64_t origin)
{
    struct mcp_server *server = user;
    if (strcmp(method, "ping") == 0)
        mcp_rpc_respond(server->rpc, id, json_object());
    else if (strcmp(method, "roots/list") == 0)
        mcp_rpc_respond(server->rpc, id, mcp_list_roots(server));
    else if (strcmp(method, "elicitation/create") == 0)
        mcp_question_ask(server, params, id, origin);
    else if (strcmp(method, "sampling/createMessage") == 0)
        mcp_rpc_refuse(server->rpc, id, MCP_ERROR_METHOD_NOT_FOUND, "this client does not offer sampling");
    else
        mcp_rpc_refuse(server->rpc, id, MCP_ERROR_METHOD_NOT_FOUND, "this client does not know the method");
}

static void pass_log_on(struct mcp_server *server, const json_t *params)
{
    static const char *const quiet[] = {"debug", "info", "notice"};
    const char *level = json_get_string(params, "level");
    const json_t *data = json_object_get(params, "data");
    char *text = json_is_string(data) ? str_dup(json_get_str(params, "data")) : json_to_text(data);
    bool loud = level != NULL;
    for (size_t i = 0; loud && i < sizeof quiet / sizeof quiet[0]; i++)
        loud = strcmp(level, quiet[i]) != 0;
    if (loud)
        mcp_say(server, "%s", text);
    free(text);
}

static void on_notification(void *user, const char *method, const json_t *params, int64_t origin)
{
    struct mcp_server *server = user;
    (void)origin;
    if (strcmp(method, "notifications/progress") == 0)
        mcp_call_progress(server, params);
    else if (strcmp(method, "notifications/message") == 0)
        pass_log_on(server, params);
    else if (strcmp(method, "notifications/tools/list_changed") != 0 || server->state != MCP_READY)
        return;
    else if (server->pages != NULL)
        server->list_again = true;
    else if (!loop_timer_active(server->relist))
        loop_timer_start(server->relist, RELIST_DELAY_MS);
}

static void list_anew(void *user)
{
    struct mcp_server *server = user;
    if (server->state == MCP_READY && server->pages == NULL)
        mcp_list_start(server);
}

static void on_garbage(void *user, const char *what)
{
    struct mcp_server *server = user;
    log_message(LOG_INFO, "mcp", "%s sent %s", server->options.name, what);
}

static void on_send(void *user, struct str text, int64_t id, const char *method, const json_t *params)
{
    struct mcp_server *server = user;
    struct mcp_headers headers = {0};
    if (server->transport == NULL)
        return;
    if (server->stateless && server->options.url != NULL && method != NULL)
        mcp_headers_make(server, method, params, &headers);
    const struct mcp_outgoing message = {
        .text = text, .id = id, .method = method, .headers = headers.list, .n_headers = headers.count};
    server->transport->type->send(server->transport, &message);
    mcp_headers_finish(&headers);
}

/* ---- connections ---- */

static void on_message(void *user, struct str text, int64_t origin)
{
    struct mcp_server *server = user;
    if (server->state != MCP_STOPPING && !server->too_late)
        mcp_rpc_take(server->rpc, text, origin);
}

static void on_lost(void *user, int64_t id, enum mcp_fate fate, const char *why)
{
    struct mcp_server *server = user;
    mcp_rpc_fail(server->rpc, id, fate, why);
}

static bool on_waits(void *user, int64_t id)
{
    struct mcp_server *server = user;
    return mcp_rpc_waits(server->rpc, id);
}

/* Rests longer each time, and not for ever: a server that cannot live is said to be gone. */
static void start_again(struct mcp_server *server, const struct error *why)
{
    bool steady = server->ready_at_ms > 0 && loop_now_ms(server->loop) - server->ready_at_ms > STEADY_MS;
    server->restarts = steady ? 1 : server->restarts + 1;
    server->ready_at_ms = 0;
    if (server->restarts > MAX_RESTARTS) {
        mcp_say(server, "%s. It was started %d times in a row and is given up", why->message, MAX_RESTARTS);
        fail_for_good(server, why);
        return;
    }
    server->state = MCP_RESTING;
    if (why->status == STATUS_NOT_FOUND && server->restarts == 1) {
        loop_timer_start(server->rest, 0); /* only the session is over: nothing is wrong with the server */
        return;
    }
    mcp_say(server, "%s. It is started again", why->message);
    loop_timer_start(server->rest, FIRST_REST_MS << (server->restarts - 1));
}

static void on_closed(void *user, const struct error *error)
{
    struct mcp_server *server = user;
    struct error why = *error;
    server->transport->type->destroy(server->transport);
    server->transport = NULL;
    loop_timer_stop(server->patience);
    mcp_list_drop(server);
    if (server->too_late)
        why = server->failure;
    server->too_late = false;
    if (server->state == MCP_STOPPING) {
        mcp_rpc_fail_all(server->rpc, MCP_LOST, "it was stopped");
        server->state = MCP_STOPPED;
        server->stopped(server->stopped_user);
        return;
    }
    /* The state comes first: a call whose request fails may be made again, and must see that it has to wait. */
    if (server->announced)
        start_again(server, &why);
    mcp_rpc_fail_all(server->rpc, MCP_LOST, why.message);
    if (!server->announced)
        fail_for_good(server, &why);
}

static void open_connection(struct mcp_server *server)
{
    const struct mcp_listener listener = {
        .message = on_message, .lost = on_lost, .waits = on_waits, .closed = on_closed, .user = server};
    struct error error = {0};
    server->state = MCP_STARTING;
    server->connection++;
    server->transport = server->options.url != NULL ? mcp_http_open(server->loop, &server->options, &listener)
                                                    : mcp_stdio_open(server->loop, &server->options, &listener, &error);
    if (server->transport == NULL) {
        server->failure = error;
        fail_for_good(server, &error);
        return;
    }
    loop_timer_start(server->patience, server->options.startup_timeout_ms);
    mcp_handshake_start(server);
}

/* The start, the first and every later one, in a turn of its own. */
static void on_rested(void *user)
{
    struct mcp_server *server = user;
    if (server->state == MCP_STOPPING) {
        server->state = MCP_STOPPED;
        server->stopped(server->stopped_user);
    } else {
        open_connection(server);
    }
}

/* ---- options ---- */

static char **copy_list(const char *const *list, size_t count)
{
    char **copy = mem_calloc(count + 1, sizeof *copy);
    for (size_t i = 0; i < count; i++)
        copy[i] = mem_strdup(list[i]);
    return copy;
}

static const char *const *copy_ended(const char *const *list)
{
    size_t count = 0;
    while (list != NULL && list[count] != NULL)
        count++;
    return list != NULL ? (const char *const *)copy_list(list, count) : NULL;
}

static void free_ended(const char *const *list)
{
    for (size_t i = 0; list != NULL && list[i] != NULL; i++)
        free((char *)(uintptr_t)list[i]);
    free((void *)(uintptr_t)list);
}

static int64_t or_default(int64_t value, int64_t fallback)
{
    return value > 0 ? value : fallback;
}

static void copy_options(const struct mcp_options *from, struct mcp_options *to)
{
    *to = *from;
    to->name = mem_strdup(from->name);
    to->url = mem_strdup_or_null(from->url);
    to->program.command = copy_ended(from->program.command);
    to->program.environment = copy_ended(from->program.environment);
    to->program.readable = copy_ended(from->program.readable);
    to->program.writable = copy_ended(from->program.writable);
    to->program.directory = mem_strdup_or_null(from->program.directory);
    to->tools = from->tools != NULL ? (const char *const *)copy_list(from->tools, from->n_tools) : NULL;
    to->roots = (const char *const *)copy_list(from->roots, from->n_roots);
    struct http_header *headers = mem_calloc(from->n_headers + 1, sizeof *headers);
    for (size_t i = 0; i < from->n_headers; i++)
        headers[i] = (struct http_header){mem_strdup(from->headers[i].name), mem_strdup(from->headers[i].value)};
    to->headers = headers;
    to->startup_timeout_ms = or_default(from->startup_timeout_ms, MCP_DEFAULT_STARTUP_TIMEOUT_MS);
    to->timeout_ms = or_default(from->timeout_ms, MCP_DEFAULT_TIMEOUT_MS);
    to->max_timeout_ms = or_default(from->max_timeout_ms, MCP_DEFAULT_MAX_TIMEOUT_MS);
    if (to->max_timeout_ms < to->timeout_ms)
        to->max_timeout_ms = to->timeout_ms;
}

static void finish_options(struct mcp_options *options)
{
    for (size_t i = 0; i < options->n_headers; i++) {
        free((char *)(uintptr_t)options->headers[i].name);
        free((char *)(uintptr_t)options->headers[i].value);
    }
    free((void *)(uintptr_t)options->headers);
    free_ended(options->tools);
    free_ended(options->roots);
    free_ended(options->program.command);
    free_ended(options->program.environment);
    free_ended(options->program.readable);
    free_ended(options->program.writable);
    free((char *)(uintptr_t)options->program.directory);
    free((char *)(uintptr_t)options->name);
    free((char *)(uintptr_t)options->url);
}

/* ---- life ---- */

struct mcp_server *mcp_server_start(struct loop *loop, const struct mcp_options *options,
                                    const struct mcp_watcher *watcher)
{
    struct mcp_server *server = mem_zalloc(sizeof *server);
    server->loop = loop;
    server->watcher = *watcher;
    copy_options(options, &server->options);
    server->offered = json_array();
    server->patience = loop_timer_create(loop, patience_over, server);
    server->rest = loop_timer_create(loop, on_rested, server);
    server->relist = loop_timer_create(loop, list_anew, server);
    const struct mcp_rpc_options rpc = {.send = on_send,
                                        .on_request = on_request,
                                        .on_notification = on_notification,
                                        .on_garbage = on_garbage,
                                        .user = server};
    server->rpc = mcp_rpc_create(&rpc);
    loop_timer_start(server->rest, 0);
    return server;
}

const char *mcp_server_name(const struct mcp_server *server)
{
    return server->options.name;
}

void mcp_server_stop(struct mcp_server *server, void (*stopped)(void *user), void *user)
{
    server->stopped = stopped;
    server->stopped_user = user;
    server->state = MCP_STOPPING;
    loop_timer_stop(server->patience);
    loop_timer_stop(server->relist);
    mcp_calls_refuse(server);
    if (server->transport != NULL)
        server->transport->type->close(server->transport);
    else
        loop_timer_start(server->rest, 0);
}

void mcp_server_destroy(struct mcp_server *server)
{
    if (server == NULL)
        return;
    if (server->transport != NULL)
        server->transport->type->destroy(server->transport);
    mcp_list_drop(server);
    mcp_rpc_destroy(server->rpc);
    loop_timer_destroy(server->patience);
    loop_timer_destroy(server->rest);
    loop_timer_destroy(server->relist);
    for (size_t i = 0; i < server->n_made; i++) {
        signature_finish(&server->made[i]->signature);
        json_decref(server->made[i]->described);
        free(server->made[i]->remote);
        free(server->made[i]);
    }
    free(server->made);
    free(server->published);
    free(server->refusal);
    json_decref(server->offered);
    finish_options(&server->options);
    free(server);
}
