#include <arpa/inet.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/mem.h"
#include "net/guard.h"
#include "net/http_internal.h"
#include "net/url.h"

#define MAX_HEADER_BYTES  ((size_t)256 * 1024)
#define MAX_IGNORED_BODY  ((uint64_t)64 * 1024) /* of a redirect; more is not worth keeping the connection */
#define PAGE_BUFFER       16384L                /* curl's own default */
#define STREAM_BUFFER     4096L                 /* a thousand streams are open at once, and tokens are small */
#define UPLOAD_BUFFER     32768L
#define KEEPALIVE_SECONDS 60L

/* ---- deadlines ---- */

static int64_t earlier(int64_t deadline, int64_t from, int64_t timeout_ms)
{
    return timeout_ms > 0 && from + timeout_ms < deadline ? from + timeout_ms : deadline;
}

/* Connecting has no deadline here: curl divides that time among the addresses of a host. */
static int64_t next_deadline(const struct http_request *request)
{
    int64_t deadline = earlier(INT64_MAX, request->started_ms, request->total_timeout_ms);
    switch (request->phase) {
    case PHASE_RESOLVING:
        return earlier(deadline, request->hop_started_ms, request->connect_timeout_ms);
    case PHASE_CONNECTING:
        return deadline;
    case PHASE_WAITING:
        return earlier(deadline, request->last_byte_ms, request->first_byte_timeout_ms);
    case PHASE_RECEIVING:
        return earlier(deadline, request->last_byte_ms, request->stall_timeout_ms);
    }
    return deadline;
}

/* Bytes only move last_byte_ms; the timer finds out when it fires, and is set anew when a phase begins. */
static void set_timer(struct http_request *request)
{
    int64_t deadline = next_deadline(request);
    if (deadline == INT64_MAX)
        loop_timer_stop(request->timer);
    else
        loop_timer_start(request->timer, deadline - loop_now_ms(request->client->loop));
}

static void timer_fired(void *user)
{
    struct http_request *request = user;
    int64_t now = loop_now_ms(request->client->loop);
    if (request->queued)
        return;
    if (now < next_deadline(request)) {
        set_timer(request);
        return;
    }
    http_outcome_timed_out(request, now);
    http_client_queue(request);
}

static void enter(struct http_request *request, enum http_phase phase)
{
    request->phase = phase;
    request->last_byte_ms = loop_now_ms(request->client->loop);
    set_timer(request);
}

/* ---- curl's callbacks ---- */

static curl_socket_t open_socket(void *user, curlsocktype purpose, struct curl_sockaddr *address)
{
    (void)purpose;
    struct http_request *request = user;
    if (request->guarded && !request->client->proxy && !guard_address_allowed(request->client->guard, &address->addr)) {
        request->sockets_refused++;
        return CURL_SOCKET_BAD;
    }
    request->sockets_opened++;
    return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

/* Comes before each request is sent, also on a connection that is used again. */
static int before_sending(void *user, char *remote, char *local, int remote_port, int local_port)
{
    (void)local;
    (void)remote_port;
    (void)local_port;
    struct http_request *request = user;
    if (request->guarded && !request->client->proxy && !guard_text_allowed(request->client->guard, remote)) {
        request->refused = true;
        return CURL_PREREQFUNC_ABORT;
    }
    enter(request, PHASE_WAITING);
    return CURL_PREREQFUNC_OK;
}

static size_t give_body(char *out, size_t size, size_t count, void *user)
{
    struct http_request *request = user;
    uint64_t left = request->reader.length - request->sent;
    size_t room = size * count < left ? size * count : (size_t)left;
    if (room == 0)
        return 0;
    size_t given = request->queued ? 0 : request->reader.read(request->reader.user, request->sent, out, room);
    if (given == 0 || given > room) {
        request->reader_failed = true;
        return CURL_READFUNC_ABORT;
    }
    request->sent += given;
    request->last_byte_ms = loop_now_ms(request->client->loop);
    return given;
}

static int rewind_body(void *user, curl_off_t offset, int origin)
{
    struct http_request *request = user;
    if (origin != SEEK_SET || offset < 0 || (uint64_t)offset > request->reader.length)
        return CURL_SEEKFUNC_CANTSEEK;
    request->sent = (uint64_t)offset;
    return CURL_SEEKFUNC_OK;
}

static bool is_redirect(int code)
{
    return code == 301 || code == 302 || code == 303 || code == 307 || code == 308;
}

static void head_came(struct http_request *request)
{
    http_outcome_read_head(request);
    if (request->response.code / 100 == 1)
        return;
    request->head_complete = true;
    request->redirected = is_redirect(request->response.code) && http_outcome_header(request, "location");
    if (request->redirected)
        return;
    request->streaming = request->on_data;
    if (request->on_headers)
        request->streaming = request->on_headers(request->user, &request->response) && request->on_data;
}

static size_t header_came(char *line, size_t size, size_t count, void *user)
{
    struct http_request *request = user;
    size_t len = size * count;
    request->last_byte_ms = loop_now_ms(request->client->loop);
    if (request->queued)
        return 0;
    request->header_bytes += len;
    if (request->header_bytes > MAX_HEADER_BYTES) {
        request->headers_too_big = true;
        return 0;
    }
    if (request->head_complete) /* trailers */
        return len;
    if (str_starts_with(str_make(line, len), STR("HTTP/")))
        request->response.timing.first_byte_ms = request->last_byte_ms - request->started_ms;
    if (line[0] == '\r' || line[0] == '\n')
        head_came(request);
    return request->queued ? 0 : len;
}

static size_t body_came(char *bytes, size_t size, size_t count, void *user)
{
    struct http_request *request = user;
    struct http_response *response = &request->response;
    struct str data = {bytes, size * count};
    if (request->queued)
        return 0;
    if (request->phase != PHASE_RECEIVING)
        enter(request, PHASE_RECEIVING);
    request->last_byte_ms = loop_now_ms(request->client->loop);
    if (request->redirected) {
        request->ignored_body += data.len;
        return request->ignored_body > MAX_IGNORED_BODY ? 0 : data.len;
    }
    uint64_t room = response->body.cap - response->received;
    request->too_big = data.len > room;
    struct str taken = request->too_big ? str_slice(data, 0, (size_t)room) : data;
    response->received += taken.len;
    if (request->streaming && taken.len > 0)
        request->on_data(request->user, taken);
    else if (!request->streaming && buf_append_str(&response->body, taken) != STATUS_OK)
        request->too_big = true;
    return request->too_big || request->queued ? 0 : data.len;
}

/* ---- one hop ---- */

static bool is_loopback(const char *host)
{
    struct in_addr address;
    struct str name = str_of(host);
    return str_equal(name, STR("localhost")) || str_ends_with(name, STR(".localhost")) ||
           str_equal(name, STR("[::1]")) ||
           (inet_pton(AF_INET, host, &address) == 1 && ntohl(address.s_addr) >> 24 == 127);
}

static void choose_proxy(struct http_request *request, const char *host)
{
    const char *proxy = request->client->proxy;
    if (request->guarded) {
        /* Both set to something: else curl would look into the environment. */
        curl_easy_setopt(request->easy, CURLOPT_PROXY, proxy ? proxy : "");
        curl_easy_setopt(request->easy, CURLOPT_NOPROXY, proxy ? "" : "*");
    } else if (is_loopback(host)) { /* a proxy elsewhere has another loopback */
        curl_easy_setopt(request->easy, CURLOPT_PROXY, "");
    }
}

static void choose_method(struct http_request *request)
{
    CURL *easy = request->easy;
    if (request->reader.length > 0) {
        curl_easy_setopt(easy, CURLOPT_POST, 1L);
        curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->reader.length);
        curl_easy_setopt(easy, CURLOPT_READFUNCTION, give_body);
        curl_easy_setopt(easy, CURLOPT_READDATA, request);
        curl_easy_setopt(easy, CURLOPT_SEEKFUNCTION, rewind_body);
        curl_easy_setopt(easy, CURLOPT_SEEKDATA, request);
        curl_easy_setopt(easy, CURLOPT_UPLOAD_BUFFERSIZE, UPLOAD_BUFFER);
    } else if (request->method && strcmp(request->method, "POST") == 0) {
        curl_easy_setopt(easy, CURLOPT_POSTFIELDS, "");
    } else if (request->method && strcmp(request->method, "HEAD") == 0) {
        curl_easy_setopt(easy, CURLOPT_NOBODY, 1L);
    }
    if (request->method && strcmp(request->method, "HEAD") != 0)
        curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, request->method);
}

static void configure(struct http_request *request, const char *host)
{
    if (!request->easy)
        request->easy = curl_easy_init();
    else
        curl_easy_reset(request->easy);
    CURL *easy = request->easy;
    if (!easy)
        abort();
    struct http_client *client = request->client;
    curl_easy_setopt(easy, CURLOPT_URL, request->url);
    curl_easy_setopt(easy, CURLOPT_PRIVATE, request);
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, request->curl_message);
    curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L); /* never wait for a look-up that is no longer wanted */
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
    curl_easy_setopt(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L); /* a model may think for minutes without a byte */
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPIDLE, KEEPALIVE_SECONDS);
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPINTVL, KEEPALIVE_SECONDS);
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)request->connect_timeout_ms);
    curl_easy_setopt(easy, CURLOPT_USERAGENT, client->user_agent);
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, request->headers);
    curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, request->on_data ? STREAM_BUFFER : PAGE_BUFFER);
    if (client->ca_file)
        curl_easy_setopt(easy, CURLOPT_CAINFO, client->ca_file);
    if (request->accept_encoding)
        curl_easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, "");

    curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, open_socket);
    curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, request);
    curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, before_sending);
    curl_easy_setopt(easy, CURLOPT_PREREQDATA, request);
    curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, header_came);
    curl_easy_setopt(easy, CURLOPT_HEADERDATA, request);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, body_came);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, request);
    choose_method(request);
    choose_proxy(request, host);
}

static void forget_hop(struct http_request *request)
{
    request->result = CURLE_OK;
    request->head_complete = request->streaming = request->redirected = false;
    request->sockets_refused = request->sockets_opened = 0;
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
    for (const struct addrinfo *each = addresses; each; each = each->ai_next)
        allowed = allowed && guard_address_allowed(request->client->guard, each->ai_addr);
    if (request->queued)
        return;
    if (addresses && allowed) {
        enter(request, PHASE_CONNECTING);
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
        enter(request, PHASE_CONNECTING);
        http_client_add(request);
        return;
    }
    enter(request, PHASE_RESOLVING);
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
    if (strcmp(url.scheme, "http") != 0 && strcmp(url.scheme, "https") != 0) {
        response->status = error_set(&response->error, STATUS_REFUSED, "%s: only http and https addresses are fetched",
                                     request->effective_url);
    } else if (request->check) {
        response->status = request->check(request->user, request->effective_url, &response->error);
    }
    if (response->status == STATUS_OK) {
        if (request->guarded) { /* what is in front of an @ is there to deceive */
            free(request->url);
            request->url = mem_strdup(request->effective_url);
        }
        configure(request, url.host);
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
    request->done(request->user, &request->response);

    loop_timer_destroy(request->timer);
    curl_easy_cleanup(request->easy);
    curl_slist_free_all(request->headers);
    buf_finish(&request->response.body);
    buf_finish(&request->body);
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
        .on_headers = options->on_headers,
        .on_data = options->on_data,
        .done = done,
        .user = user,
        .timer = loop_timer_create(client->loop, timer_fired, request),
        .started_ms = loop_now_ms(client->loop),
        .effective_url = url_without_credentials(str_of(options->url)),
    };
    struct http_response *response = &request->response;
    response->request = request;
    response->effective_url = request->effective_url;
    response->timing.first_byte_ms = -1;
    buf_init(&response->body, options->max_body ? options->max_body : HTTP_DEFAULT_MAX_BODY);
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
