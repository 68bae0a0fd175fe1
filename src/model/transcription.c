#include "model/transcription.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/buf.h"
#include "core/hash.h"
#include "core/json.h"
#include "core/mem.h"
#include "loop/loop.h"
#include "model/fault.h"
#include "net/http.h"
#include "net/retry.h"
#include "net/url.h"

#define MAX_REPLY ((size_t)16 * 1024 * 1024)

struct transcription_client {
    struct loop *loop;
    struct http_client *http;
    char *url, *host, *name, *model, *language;
    char *authorization; /* NULL without a key */
    char **texts;        /* names and values of headers */
    struct http_header *headers;
    size_t n_headers;
    const char *secrets[1];
    int max_tries;
    size_t max_in_flight, in_flight;
    int64_t timeout_ms;
    int64_t (*retry_delay)(unsigned tries, int64_t retry_after_ms, double chance);
    uint64_t chance;
    struct transcription_call *first, *last; /* waiting for a place */
};

struct transcription_call {
    struct transcription_client *client;
    transcription_done_fn done;
    void *user;
    struct transcription_call *next;
    struct buf body; /* the whole request, sent again with every try */
    char boundary[HASH_HEX_SIZE];
    struct http_request *http;
    struct loop_timer *timer; /* before the next try */
    bool queued, placed, canceled, ending;
    struct transcription_result result;
    json_t *reply; /* what result.text points into */
};

/* ---- the client ---- */

/* "https://host/v1/audio/transcriptions" of what people give as the base. */
static char *make_url(const char *base_url, char **host, char **shown, struct error *error)
{
    struct url url;
    struct str base = str_trim(str_of(base_url));
    if (url_parse(base, &url, error) != STATUS_OK)
        return NULL;
    bool web = strcmp(url.scheme, "http") == 0 || strcmp(url.scheme, "https") == 0;
    bool bare = !url.path || strcmp(url.path, "/") == 0 || *url.path == '\0';
    if (!web) {
        error_set(error, STATUS_INVALID,
                  "the address of the transcription service must begin with http:// or https://");
        url_finish(&url);
        return NULL;
    }
    *host =
        url.port && url.port != 80 && url.port != 443 ? mem_printf("%s:%d", url.host, url.port) : mem_strdup(url.host);
    url_finish(&url);
    static const char end[] = "/audio/transcriptions";
    while (str_ends_with(base, STR("/")))
        base = str_slice(base, 0, base.len - 1);
    if (str_ends_with(base, STR(end)))
        base = str_slice(base, 0, base.len - strlen(end));
    *shown = mem_printf("%s%s", *host, bare ? "/v1" : "");
    return mem_printf("%.*s%s%s", STR_ARG(base), bare ? "/v1" : "", end);
}

static void copy_headers(struct transcription_client *client, const struct transcription_options *options)
{
    size_t fixed = 2;
    client->headers = mem_calloc(options->n_headers + fixed, sizeof *client->headers);
    client->texts = mem_calloc(2 * options->n_headers + 1, sizeof *client->texts);
    if (options->api_key && *options->api_key) {
        client->authorization = mem_printf("Bearer %s", options->api_key);
        client->secrets[0] = client->authorization + strlen("Bearer ");
        client->headers[client->n_headers++] = (struct http_header){"Authorization", client->authorization};
    }
    for (size_t i = 0; i < options->n_headers; i++) {
        char *name = client->texts[2 * i] = mem_strdup(options->headers[i].name);
        char *value = client->texts[2 * i + 1] = mem_strdup(options->headers[i].value);
        client->headers[client->n_headers++] = (struct http_header){name, value};
    }
}

enum status transcription_client_create(const struct transcription_options *options, struct transcription_client **out,
                                        struct error *error)
{
    char *host = NULL, *shown = NULL;
    if (!options->model || !*options->model)
        return error_set(error, STATUS_INVALID, "transcription needs the name of a model");
    char *url = make_url(options->base_url, &host, &shown, error);
    if (!url)
        return STATUS_INVALID;
    struct transcription_client *client = mem_zalloc(sizeof *client);
    *client = (struct transcription_client){
        .loop = options->loop,
        .http = options->http,
        .url = url,
        .host = host,
        .name = mem_printf("%s at %s", options->model, shown),
        .model = mem_strdup(options->model),
        .language = mem_strdup_or_null(options->language),
        .max_tries = options->max_tries > 0 ? options->max_tries : TRANSCRIPTION_DEFAULT_TRIES,
        .max_in_flight = options->max_in_flight > 0 ? options->max_in_flight : TRANSCRIPTION_DEFAULT_IN_FLIGHT,
        .timeout_ms = options->timeout_ms > 0 ? options->timeout_ms : TRANSCRIPTION_DEFAULT_TIMEOUT_MS,
        .retry_delay = options->retry_delay ? options->retry_delay : retry_delay_ms,
        .chance = (uint64_t)loop_now_ms(options->loop),
    };
    copy_headers(client, options);
    free(shown);
    *out = client;
    return STATUS_OK;
}

void transcription_client_destroy(struct transcription_client *client)
{
    if (!client)
        return;
    for (size_t i = 0; client->texts[i]; i++)
        free(client->texts[i]);
    free(client->texts);
    free(client->headers);
    free(client->authorization);
    free(client->url);
    free(client->host);
    free(client->name);
    free(client->model);
    free(client->language);
    free(client);
}

const char *transcription_client_name(const struct transcription_client *client)
{
    return client->name;
}

/* ---- the request: multipart/form-data (RFC 7578) ---- */

/* A boundary that the sound cannot hold: it is made of its own hash. */
static void choose_boundary(struct transcription_call *call, struct str bytes)
{
    struct hash *hash = hash_begin();
    hash_add(hash, bytes);
    hash_end(hash, call->boundary);
}

static void add_field(struct transcription_call *call, const char *name, const char *value)
{
    buf_addf(&call->body, "--%s\r\nContent-Disposition: form-data; name=\"%s\"\r\n\r\n%s\r\n", call->boundary, name,
             value);
}

static void build_body(struct transcription_call *call, const struct transcription_sound *sound)
{
    choose_boundary(call, sound->bytes);
    add_field(call, "model", call->client->model);
    add_field(call, "response_format", "json");
    if (call->client->language)
        add_field(call, "language", call->client->language);
    buf_addf(&call->body,
             "--%s\r\nContent-Disposition: form-data; name=\"file\"; filename=\"%.*s\"\r\nContent-Type: %.*s\r\n\r\n",
             call->boundary, STR_ARG(sound->name), STR_ARG(sound->media_type));
    buf_add(&call->body, sound->bytes);
    buf_addf(&call->body, "\r\n--%s--\r\n", call->boundary);
}

static size_t read_body(void *user, uint64_t offset, char *out, size_t size)
{
    const struct transcription_call *call = user;
    size_t left = call->body.len - (size_t)offset;
    size_t count = left < size ? left : size;
    memcpy(out, call->body.data + offset, count);
    return count;
}

/* ---- a call ---- */

static void serve_queue(struct transcription_client *client);
static void try_now(void *user);

static void finish(void *user)
{
    struct transcription_call *call = user;
    struct transcription_client *client = call->client;
    bool placed = call->placed;
    if (placed)
        client->in_flight--;
    call->done(call->user, &call->result);
    loop_timer_destroy(call->timer);
    json_decref(call->reply);
    buf_finish(&call->body);
    free(call);
    if (placed)
        serve_queue(client);
}

static void end(struct transcription_call *call, enum status status)
{
    if (call->ending)
        return;
    call->ending = true;
    call->result.status = status;
    loop_timer_stop(call->timer);
    loop_defer(call->client->loop, finish, call);
}

static void end_canceled(struct transcription_call *call)
{
    end(call, error_set(&call->result.error, STATUS_CANCELED, "the transcription was stopped"));
}

static int64_t token_count(const json_t *usage, const char *name)
{
    return json_get_int(usage, name, -1);
}

static void take_reply(struct transcription_call *call, struct str body)
{
    struct transcription_result *result = &call->result;
    json_t *reply = NULL;
    if (json_parse(body, &reply, NULL) != STATUS_OK || !json_get_string(reply, "text")) {
        json_decref(reply);
        end(call, error_set(&result->error, STATUS_NETWORK, "%s answered with something that is no transcript",
                            call->client->host));
        return;
    }
    const json_t *usage = json_object_get(reply, "usage");
    call->reply = reply;
    result->text = json_get_str(reply, "text");
    result->usage.prompt = token_count(usage, "input_tokens");
    result->usage.completion = token_count(usage, "output_tokens");
    end(call, STATUS_OK);
}

static void try_again(struct transcription_call *call, int64_t retry_after_ms)
{
    struct transcription_client *client = call->client;
    if (call->result.tries >= client->max_tries) {
        end(call, STATUS_NETWORK);
        return;
    }
    loop_timer_start(call->timer,
                     client->retry_delay((unsigned)call->result.tries, retry_after_ms, retry_chance(&client->chance)));
}

static void take_refusal(struct transcription_call *call, const struct http_response *response)
{
    const struct transcription_client *client = call->client;
    const struct fault_scene scene = {.host = client->host,
                                      .model = client->model,
                                      .key_sent = client->authorization != NULL,
                                      .secrets = client->secrets,
                                      .n_secrets = client->authorization ? 1 : 0};
    struct fault fault;
    fault_of_response(&scene, response->code, buf_str(&response->body), &fault);
    call->result.error = fault.error;
    if (response->code == 413)
        end(call, STATUS_TOO_BIG);
    else if (fault.kind == FAULT_RETRY)
        try_again(call, retry_after_parse(http_response_header(response, "Retry-After"), (int64_t)time(NULL)));
    else
        end(call, STATUS_DENIED);
}

static void on_response(void *user, struct http_response *response)
{
    struct transcription_call *call = user;
    call->http = NULL;
    if (call->canceled) {
        end_canceled(call);
    } else if (response->status == STATUS_OK && response->code >= 200 && response->code < 300) {
        take_reply(call, buf_str(&response->body));
    } else if (response->status == STATUS_OK) {
        take_refusal(call, response);
    } else {
        call->result.error = response->error;
        if (response->status == STATUS_NETWORK || response->status == STATUS_TIMEOUT)
            try_again(call, -1);
        else
            end(call, STATUS_DENIED);
    }
}

static void try_now(void *user)
{
    struct transcription_call *call = user;
    struct transcription_client *client = call->client;
    char *type = mem_printf("multipart/form-data; boundary=%s", call->boundary);
    size_t count = client->n_headers + 1;
    struct http_header *headers = mem_calloc(count, sizeof *headers);
    if (client->n_headers > 0)
        memcpy(headers, client->headers, client->n_headers * sizeof *headers);
    headers[client->n_headers] = (struct http_header){"Content-Type", type};
    const struct http_body reader = {call->body.len, read_body, call};
    const struct http_options options = {
        .traffic = HTTP_CONFIGURED,
        .url = client->url,
        .method = "POST",
        .headers = headers,
        .n_headers = count,
        .reader = &reader,
        .total_timeout_ms = client->timeout_ms,
        .max_body = MAX_REPLY,
    };
    call->result.tries++;
    call->http = http_request_start(client->http, &options, on_response, call);
    free(headers);
    free(type);
}

static void serve_queue(struct transcription_client *client)
{
    while (client->first && client->in_flight < client->max_in_flight) {
        struct transcription_call *call = client->first;
        client->first = call->next;
        if (!client->first)
            client->last = NULL;
        call->queued = false;
        call->placed = true;
        client->in_flight++;
        try_now(call);
    }
}

static void take_from_queue(struct transcription_call *call)
{
    struct transcription_client *client = call->client;
    struct transcription_call *before = NULL, **link = &client->first;
    while (*link != call) {
        before = *link;
        link = &before->next;
    }
    *link = call->next;
    if (client->last == call)
        client->last = before;
    call->queued = false;
}

struct transcription_call *transcription_start(struct transcription_client *client,
                                               const struct transcription_sound *sound, transcription_done_fn done,
                                               void *user)
{
    struct transcription_call *call = mem_zalloc(sizeof *call);
    *call = (struct transcription_call){.client = client, .done = done, .user = user};
    call->result.usage = (struct usage){-1, -1, -1, -1};
    call->timer = loop_timer_create(client->loop, try_now, call);
    buf_init(&call->body, BUF_UNBOUNDED);
    if (sound->bytes.len > TRANSCRIPTION_MAX_BYTES) {
        end(call, error_set(&call->result.error, STATUS_TOO_BIG, "more than %zu MB of sound in one request",
                            TRANSCRIPTION_MAX_BYTES >> 20));
        return call;
    }
    build_body(call, sound);
    call->queued = true;
    if (client->last)
        client->last->next = call;
    else
        client->first = call;
    client->last = call;
    serve_queue(client);
    return call;
}

void transcription_cancel(struct transcription_call *call)
{
    if (call->canceled || call->ending)
        return;
    call->canceled = true;
    if (call->queued)
        take_from_queue(call);
    if (call->http)
        http_request_cancel(call->http); /* its end ends the call */
    else
        end_canceled(call);
}
