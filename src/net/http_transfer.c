#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "net/guard.h"
#include "net/http_internal.h"

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

void http_transfer_check_deadline(void *user)
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

void http_transfer_enter(struct http_request *request, enum http_phase phase)
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
    int opened = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
    request->no_descriptors = opened < 0 && (errno == EMFILE || errno == ENFILE);
    return opened;
}

void http_transfer_note_address(struct http_request *request, const char *numeric)
{
    struct buf *list = &request->addresses;
    struct str last =
        str_slice(buf_str(list), str_rfind_char(buf_str(list), ' ') + 1, list->len); /* STR_NONE + 1 is 0 */
    if (str_equal(last, str_of(numeric)))
        return;
    bool fits = (list->len == 0 || buf_append_char(list, ' ') == STATUS_OK) &&
                buf_append_str(list, str_of(numeric)) == STATUS_OK;
    if (!fits) { /* an incomplete list would say too much */
        buf_truncate(list, 0);
        list->cap = 0;
    }
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
    if (!request->client->proxy || !request->guarded)
        http_transfer_note_address(request, remote);
    http_transfer_enter(request, PHASE_WAITING);
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
    if (request->max_body_of) {
        size_t most = request->max_body_of(request->user, &request->response);
        if (most < request->response.body.cap)
            request->response.body.cap = most;
    }
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
        http_transfer_enter(request, PHASE_RECEIVING);
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

/* ---- the handle ---- */

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

void http_transfer_prepare(struct http_request *request, const char *host)
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
