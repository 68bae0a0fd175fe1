#include <arpa/inet.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "net/guard.h"
#include "net/http_internal.h"
#include "net/url.h"

#define MAX_ADDRESS_BYTES ((size_t)2048) /* of all peers; ten redirects need a quarter */

/* ---- one hop ---- */

static void forget_hop(struct http_request *request)
{
    request->result = CURLE_OK;
    request->head_complete = request->streaming = request->redirected = false;
    request->sockets_refused = request->sockets_opened = 0;
    request->no_descriptors = false;
    request->sent = 0;
    request->header_bytes = 0;
    request->ignored_body = 0;
    request->curl_message[0] = '\0';
}

/* The target's addresses are known; a proxy will connect. All of them must do, since the proxy chooses. */
static void resolved(void *user, const struct addrinfo *addresses)
{
    struct http_request *request = user;
    request->resolve = NULL;
    bool allowed = true;
    for (const struct addrinfo *each = addresses; each; each = each->ai_next) {
        char numeric[INET6_ADDRSTRLEN + 20];
        allowed = allowed && guard_address_allowed(request->client->guard, each->ai_addr) &&
                  getnameinfo(each->ai_addr, each->ai_addrlen, numeric, sizeof numeric, NULL, 0, NI_NUMERICHOST) == 0;
        if (allowed)
            http_transfer_note_address(request, numeric);
    }
    if (request->queued)
        return;
    if (addresses && allowed) {
        http_transfer_enter(request, PHASE_CONNECTING);
        http_client_add(request);
        return;
    }
    if (!addresses)
        request->result = CURLE_COULDNT_RESOLVE_HOST;
    request->refused = addresses;
    http_outcome_decide(request);
    http_client_queue(request);
}

static void connect_hop(struct http_request *request, const char *host)
{
    if (!request->guarded || !request->client->proxy) {
        http_transfer_enter(request, PHASE_CONNECTING);
        http_client_add(request);
        return;
    }
    http_transfer_enter(request, PHASE_RESOLVING);
    request->resolve = resolve_start(request->client->loop, host, resolved, request);
    if (!request->resolve) {
        request->result = CURLE_COULDNT_RESOLVE_HOST;
        http_outcome_decide(request);
    }
}

static void name_target(struct http_request *request, const struct url *url)
{
    bool usual = url->port == (strcmp(url->scheme, "https") == 0 ? 443 : 80);
    free(request->target);
    request->target = usual ? mem_strdup(url->host) : mem_printf("%s:%d", url->host, url->port);
    free(request->effective_url);
    request->effective_url = url_without_credentials(str_of(request->url));
    request->response.effective_url = request->effective_url;
}

/* Puts the URL into the form in which it is sent. */
static enum status write_url(struct http_request *request)
{
    char *url = NULL;
    if (request->guarded) /* what is in front of an @ is there to deceive */
        url = mem_strdup(request->effective_url);
    else if (url_join((struct str){0}, str_of(request->url), &url, &request->response.error) != STATUS_OK)
        return STATUS_INVALID;
    free(request->url);
    request->url = url;
    return STATUS_OK;
}

/* Begins the hop to request->url. Sets the response's status when that cannot be done. */
static void start_hop(struct http_request *request)
{
    struct http_response *response = &request->response;
    struct url url;
    forget_hop(request);
    request->hop_started_ms = loop_now_ms(request->client->loop);
    response->status = url_parse(str_of(request->url), &url, &response->error);
    if (response->status != STATUS_OK)
        return;
    name_target(request, &url);
    if (strcmp(url.scheme, "http") != 0 && strcmp(url.scheme, "https") != 0)
        response->status = error_set(&response->error, STATUS_REFUSED, "%s: only http and https addresses are fetched",
                                     request->effective_url);
    if (response->status == STATUS_OK && request->check)
        response->status = request->check(request->user, request->effective_url, &response->error);
    if (response->status == STATUS_OK)
        response->status = write_url(request);
    if (response->status == STATUS_OK) {
        http_transfer_prepare(request, url.host);
        connect_hop(request, url.host);
    }
    url_finish(&url);
}

/* ---- redirects ---- */

static bool is_header(const char *line, const char *name)
{
    size_t len = strlen(name);
    return str_starts_with_nocase(str_of(line), str_make(name, len)) && (line[len] == ':' || line[len] == ';');
}

/* Drops the headers named, a list that ends in NULL. */
static void drop_headers(struct http_request *request, const char *const *names)
{
    struct curl_slist *kept = NULL;
    for (struct curl_slist *each = request->headers; each; each = each->next) {
        bool drop = false;
        for (size_t i = 0; names[i]; i++)
            drop = drop || is_header(each->data, names[i]);
        if (!drop)
            kept = curl_slist_append(kept, each->data);
    }
    curl_slist_free_all(request->headers);
    request->headers = kept;
}

/* Makes the place that the response named the next hop. */
static enum status follow(struct http_request *request)
{
    static const char *const secrets[] = {"Authorization", "Cookie", "Proxy-Authorization", NULL};
    static const char *const body_headers[] = {"Content-Type", "Content-Encoding", "Content-Language", NULL};
    struct http_response *response = &request->response;
    if (response->redirects >= request->max_redirects)
        return error_set(&response->error, STATUS_NETWORK, "%s redirects more than %d times: the page is not reached",
                         request->target, request->max_redirects);
    char *next = NULL;
    enum status status = url_join(str_of(request->url), str_of(http_outcome_header(request, "location")), &next, NULL);
    if (status != STATUS_OK)
        return error_set(&response->error, STATUS_NETWORK, "%s redirects to something that is no URL", request->target);
    if (!url_same_origin(str_of(request->url), str_of(next)))
        drop_headers(request, secrets);
    bool is_post = request->method ? strcmp(request->method, "POST") == 0 : request->reader.length > 0;
    bool is_head = request->method && strcmp(request->method, "HEAD") == 0;
    if ((response->code == 303 && !is_head) || ((response->code == 301 || response->code == 302) && is_post)) {
        free(request->method);
        request->method = NULL; /* RFC 9110, 15.4: go on with GET */
        request->reader.length = 0;
        drop_headers(request, body_headers);
    }
    free(request->url);
    request->url = next;
    response->redirects++;
    request->hop_due = true;
    return STATUS_OK;
}

/* ---- life ---- */

static void unlink_request(struct http_request *request)
{
    struct http_client *client = request->client;
    if (request->previous)
        request->previous->next = request->next;
    else
        client->requests = request->next;
    if (request->next)
        request->next->previous = request->previous;
    client->n_requests--;
}

static void finish(struct http_request *request)
{
    loop_timer_stop(request->timer);
    resolve_cancel(request->resolve);
    request->response.timing.total_ms = loop_now_ms(request->client->loop) - request->started_ms;
    request->queued = true; /* so that a cancel inside done changes nothing */
    unlink_request(request);
    request->response.addresses = request->addresses.data ? request->addresses.data : "";
    request->done(request->user, &request->response);

    loop_timer_destroy(request->timer);
    curl_easy_cleanup(request->easy);
    curl_slist_free_all(request->headers);
    buf_finish(&request->response.body);
    buf_finish(&request->body);
    buf_finish(&request->addresses);
    free(request->url);
    free(request->target);
    free(request->method);
    free(request->effective_url);
    free(request);
}

void http_request_settle(struct http_request *request)
{
    struct http_response *response = &request->response;
    http_client_remove(request);
    if (request->canceled || (response->status == STATUS_OK && !request->hop_due)) {
        http_outcome_decide(request);
        if (response->status == STATUS_OK && request->redirected)
            response->status = follow(request);
    }
    if (response->status == STATUS_OK && request->hop_due) {
        request->hop_due = false;
        start_hop(request);
        if (response->status == STATUS_OK)
            return;
    }
    finish(request);
}

static size_t read_bytes(void *user, uint64_t offset, char *out, size_t size)
{
    const struct http_request *request = user;
    memcpy(out, request->body.data + offset, size);
    return size;
}

static bool is_token(const char *text)
{
    for (const char *c = text; *c; c++)
        if (!ascii_is_alnum(*c) && !strchr("!#$%&'*+-.^_`|~", *c))
            return false;
    return *text;
}

static bool is_field_value(const char *text)
{
    for (; *text; text++)
        if (((unsigned char)*text < 0x20 && *text != '\t') || *text == 0x7f)
            return false;
    return true;
}

static void add_header(struct http_request *request, const char *name, const char *value)
{
    char *line = !value   ? mem_printf("%s:", name)
                 : *value ? mem_printf("%s: %s", name, value)
                          : mem_printf("%s;", name);
    struct curl_slist *grown = curl_slist_append(request->headers, line);
    if (!grown)
        abort();
    request->headers = grown;
    free(line);
}

static enum status take_headers(struct http_request *request, const struct http_options *options, struct error *error)
{
    bool has_type = false;
    for (size_t i = 0; i < options->n_headers; i++) {
        const struct http_header *header = &options->headers[i];
        if (!is_token(header->name) || (header->value && !is_field_value(header->value)))
            return error_set(error, STATUS_INVALID, "the header \"%.60s\" has characters that a header cannot have",
                             header->name);
        has_type = has_type || str_equal_ascii_nocase(str_of(header->name), STR("Content-Type"));
        add_header(request, header->name, header->value);
    }
    add_header(request, "Expect", NULL); /* a round trip for nothing */
    if (!has_type)
        add_header(request, "Content-Type", NULL); /* curl would claim a form */
    if (options->method && !is_token(options->method))
        return error_set(error, STATUS_INVALID, "\"%.60s\" is no HTTP method", options->method);
    return STATUS_OK;
}

static void take_body(struct http_request *request, const struct http_options *options)
{
    if (options->reader) {
        request->reader = *options->reader;
    } else if (options->body.len > 0) {
        buf_init(&request->body, options->body.len);
        if (buf_append_str(&request->body, options->body) != STATUS_OK)
            abort();
        request->reader = (struct http_body){.length = options->body.len, .read = read_bytes, .user = request};
    }
}

struct http_request *http_request_start(struct http_client *client, const struct http_options *options,
                                        http_done_fn done, void *user)
{
    struct http_request *request = mem_alloc(sizeof *request);
    *request = (struct http_request){
        .client = client,
        .lane = &client->lanes[options->traffic],
        .next = client->requests,
        .hop_due = true,
        .url = mem_strdup(options->url),
        .target = mem_strdup("the server"),
        .method = mem_strdup_or_null(options->method),
        .connect_timeout_ms =
            options->connect_timeout_ms > 0 ? options->connect_timeout_ms : HTTP_DEFAULT_CONNECT_TIMEOUT_MS,
        .first_byte_timeout_ms = options->first_byte_timeout_ms,
        .stall_timeout_ms = options->stall_timeout_ms,
        .total_timeout_ms = options->total_timeout_ms,
        .max_redirects = options->max_redirects,
        .guarded = options->traffic == HTTP_GUARDED,
        .accept_encoding = options->accept_encoding,
        .check = options->check,
        .max_body_of = options->max_body_of,
        .on_headers = options->on_headers,
        .on_data = options->on_data,
        .done = done,
        .user = user,
        .timer = loop_timer_create(client->loop, http_transfer_check_deadline, request),
        .started_ms = loop_now_ms(client->loop),
        .effective_url = url_without_credentials(str_of(options->url)),
    };
    struct http_response *response = &request->response;
    response->request = request;
    response->effective_url = request->effective_url;
    response->timing.first_byte_ms = -1;
    buf_init(&response->body, options->max_body ? options->max_body : HTTP_DEFAULT_MAX_BODY);
    buf_init(&request->addresses, MAX_ADDRESS_BYTES);
    take_body(request, options);
    response->status = take_headers(request, options, &response->error);

    if (client->requests)
        client->requests->previous = request;
    client->requests = request;
    client->n_requests++;
    http_client_queue(request);
    return request;
}

void http_request_cancel(struct http_request *request)
{
    request->canceled = true;
    http_client_queue(request);
}
