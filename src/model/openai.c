#include "model/openai_internal.h"

#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "net/retry.h"
#include "protocol/template.h"
#include "protocol/template_learn.h"

static void fill_defaults(struct openai_options *options)
{
    if (options->max_tries <= 0)
        options->max_tries = OPENAI_DEFAULT_TRIES;
    if (options->first_byte_timeout_ms <= 0)
        options->first_byte_timeout_ms = OPENAI_DEFAULT_FIRST_BYTE_TIMEOUT_MS;
    if (options->stall_timeout_ms <= 0)
        options->stall_timeout_ms = OPENAI_DEFAULT_STALL_TIMEOUT_MS;
    if (options->max_in_flight == 0)
        options->max_in_flight = OPENAI_DEFAULT_IN_FLIGHT;
    if (options->discovery_timeout_ms <= 0)
        options->discovery_timeout_ms = 3000;
    if (options->recovery_interval_ms <= 0)
        options->recovery_interval_ms = 1000;
    if (options->down_wait_ms == 0 && options->n_endpoints > 1)
        options->down_wait_ms = OPENAI_DEFAULT_DOWN_WAIT_MS;
    if (!options->retry_delay)
        options->retry_delay = retry_delay_ms;
    if (options->completions && !options->chat_template)
        options->chat_template = template_find(STR("chatml"));
    if (!options->completions)
        options->chat_template = NULL;
}

/* Keeps a copy of a header's value or a key for the life of the client; errors and notices never show one. */
static const char *keep_text(struct openai_client *client, const char *text)
{
    client->texts = mem_grow(client->texts, client->n_texts, &client->texts_capacity, sizeof *client->texts);
    client->texts[client->n_texts] = mem_strdup(text);
    return client->texts[client->n_texts++];
}

static enum status check_options(const struct openai_options *options, struct error *error)
{
    if (options->n_endpoints == 0)
        return error_set(error, STATUS_INVALID, "no address of a model server is given");
    if (!options->extra_body)
        return STATUS_OK;
    if (!json_is_object(options->extra_body))
        return error_set(error, STATUS_INVALID, "the extra body must be a JSON object");
    static const char *const reserved[] = {"messages", "prompt"};
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++)
        if (json_object_get(options->extra_body, reserved[i]))
            return error_set(error, STATUS_INVALID,
                             "the extra body may not have \"%s\": that is the conversation itself", reserved[i]);
    return STATUS_OK;
}

static void set_name(struct openai_client *client)
{
    free(client->name);
    const char *model = client->model ? client->model : "the served model";
    client->name = client->n_endpoints == 1 ? mem_printf("%s at %s", model, client->endpoints[0].shown_url)
                                            : mem_printf("%s at %s and %zu more", model, client->endpoints[0].shown_url,
                                                         client->n_endpoints - 1);
    client->base.name = client->name;
    client->base.model = client->model ? client->model : "";
}

/* ---- preparing ---- */

static void tell_waiters(void *user)
{
    struct openai_client *client = user;
    struct prepare_waiter *waiters = client->waiters;
    size_t count = client->n_waiters;
    client->waiters = NULL;
    client->n_waiters = client->waiters_capacity = 0;
    for (size_t i = 0; i < count; i++)
        waiters[i].done(waiters[i].user);
    free(waiters);
}

static void prepared(void *user)
{
    struct openai_client *client = user;
    client->prepared = PREPARE_DONE;
    for (size_t i = 0; !client->model && i < client->n_endpoints; i++)
        client->model = mem_strdup_or_null(client->endpoints[i].model);
    set_name(client);
    for (struct model_call *call = client->calls, *next; call; call = next) {
        next = call->next;
        if (call->state == CALL_PREPARING) {
            call_tell_window(call);
            pool_acquire(call);
        }
    }
    tell_waiters(client);
}

static void look_done(struct endpoint *endpoint)
{
    struct openai_client *client = endpoint->client;
    if (--client->looks_pending == 0)
        loop_defer(client->loop, prepared, client);
}

void client_start_preparing(struct openai_client *client)
{
    if (client->prepared != PREPARE_NOT)
        return;
    client->prepared = PREPARE_RUNNING;
    client->looks_pending = client->n_endpoints;
    for (size_t i = 0; i < client->n_endpoints; i++)
        endpoint_look(&client->endpoints[i], look_done);
}

static void openai_prepare(struct model_client *base, void (*done)(void *user), void *user)
{
    struct openai_client *client = (struct openai_client *)base;
    client->waiters = mem_grow(client->waiters, client->n_waiters, &client->waiters_capacity, sizeof *client->waiters);
    client->waiters[client->n_waiters++] = (struct prepare_waiter){done, user};
    client_start_preparing(client);
    if (client->prepared == PREPARE_DONE)
        loop_defer(client->loop, tell_waiters, client);
}

/* ---- what is known ---- */

struct fault_scene endpoint_scene(const struct endpoint *endpoint, const json_t *sent)
{
    const struct openai_client *client = endpoint->client;
    return (struct fault_scene){
        .host = endpoint->host,
        .model = endpoint->model,
        .sent = sent,
        .key_sent = endpoint->authorization != NULL,
        .secrets = (const char *const *)client->texts,
        .n_secrets = client->n_texts,
        .models = (const char *const *)endpoint->models,
        .n_models = endpoint->n_models,
    };
}

/* The smallest window of the pool, since a session may have to move; what the user says, unless a server knew better.
 */
static int64_t openai_window(const struct model_client *base)
{
    const struct openai_client *client = (const struct openai_client *)base;
    int64_t window = client->options.context_window;
    for (size_t i = 0; i < client->n_endpoints; i++) {
        const struct endpoint *endpoint = &client->endpoints[i];
        bool counts = endpoint->window > 0 && (client->options.context_window <= 0 || endpoint->window_is_learnt);
        if (counts && (window <= 0 || endpoint->window < window))
            window = endpoint->window;
    }
    return window;
}

void openai_rendering(const struct model_client *base, struct openai_rendering *rendering)
{
    const struct openai_client *client = (const struct openai_client *)base;
    *rendering = (struct openai_rendering){0};
    for (size_t i = 0; i < client->n_endpoints; i++) {
        const struct openai_rendering *told = &client->endpoints[i].rendering;
        if (!rendering->chat_template)
            rendering->chat_template = told->chat_template;
        else if (told->chat_template && !template_equal(told->chat_template, rendering->chat_template))
            rendering->differ = true;
        if (told->message_tokens > rendering->message_tokens)
            rendering->message_tokens = told->message_tokens;
        if (told->prompt_tokens > rendering->prompt_tokens)
            rendering->prompt_tokens = told->prompt_tokens;
    }
    if (rendering->differ)
        rendering->chat_template = NULL;
}

size_t openai_endpoint_count(const struct model_client *client)
{
    return ((const struct openai_client *)client)->n_endpoints;
}

void openai_endpoint_info(const struct model_client *client, size_t index, struct openai_endpoint_info *info)
{
    const struct endpoint *endpoint = &((const struct openai_client *)client)->endpoints[index];
    *info = (struct openai_endpoint_info){
        .base_url = endpoint->shown_url,
        .server = endpoint->server,
        .answered = endpoint->answered,
        .models = (const char *const *)endpoint->models,
        .n_models = endpoint->n_models,
        .model = endpoint->model,
        .model_listed = endpoint->model_listed,
        .window = endpoint->window,
        .error = endpoint->answered ? NULL : &endpoint->error,
    };
}

/* ---- life ---- */

static void openai_destroy(struct model_client *base)
{
    struct openai_client *client = (struct openai_client *)base;
    loop_defer_cancel(client->loop, prepared, client);
    loop_defer_cancel(client->loop, tell_waiters, client);
    for (size_t i = 0; i < client->n_endpoints; i++)
        endpoint_finish(&client->endpoints[i]);
    free(client->endpoints);
    for (size_t i = 0; i < client->n_texts; i++)
        free(client->texts[i]);
    free(client->texts);
    for (size_t i = 0; i < client->n_headers; i++)
        free((char *)client->headers[i].name);
    free(client->headers);
    free(client->waiters);
    json_decref(client->extra_body);
    free(client->model);
    free(client->name);
    free(client);
}

static void copy_headers(struct openai_client *client, const struct openai_options *options)
{
    client->headers = mem_calloc(options->n_headers ? options->n_headers : 1, sizeof *client->headers);
    for (size_t i = 0; i < options->n_headers; i++) {
        const struct http_header *header = &options->headers[i];
        client->headers[i].name = mem_strdup(header->name);
        client->headers[i].value = header->value ? keep_text(client, header->value) : NULL;
    }
    client->n_headers = options->n_headers;
}

enum status openai_client_create(const struct openai_options *options, struct model_client **out, struct error *error)
{
    enum status status = check_options(options, error);
    if (status != STATUS_OK)
        return status;
    struct openai_client *client = mem_zalloc(sizeof *client);
    client->base = (struct model_client){.prepare = openai_prepare,
                                         .start = openai_start,
                                         .cancel = openai_cancel,
                                         .window = openai_window,
                                         .destroy = openai_destroy};
    client->loop = options->loop;
    client->calls_end = &client->calls;
    client->http = options->http;
    client->options = *options;
    fill_defaults(&client->options);
    client->options.endpoints = NULL;
    client->options.headers = NULL;
    client->options.model = NULL;
    client->extra_body = options->extra_body ? json_deep_copy(options->extra_body) : NULL;
    client->options.extra_body = client->extra_body;
    client->chance =
        options->chance_seed ? options->chance_seed : (uint64_t)loop_now_ms(options->loop) * 0x9e3779b97f4a7c15u;
    client->model_given = options->model && *options->model;
    client->model = client->model_given ? mem_strdup(options->model) : NULL;
    copy_headers(client, options);
    client->endpoints = mem_calloc(options->n_endpoints, sizeof *client->endpoints);
    for (size_t i = 0; i < options->n_endpoints && status == STATUS_OK; i++) {
        if (options->endpoints[i].api_key && *options->endpoints[i].api_key)
            keep_text(client, options->endpoints[i].api_key);
        status = endpoint_init(&client->endpoints[i], client, &options->endpoints[i], error);
        client->n_endpoints += status == STATUS_OK;
    }
    if (status != STATUS_OK) {
        openai_destroy(&client->base);
        return status;
    }
    set_name(client);
    *out = &client->base;
    return STATUS_OK;
}
