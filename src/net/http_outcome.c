#include <stdlib.h>

#include "net/http_internal.h"
#include "net/url.h"

/* ---- the head ---- */

void http_outcome_read_head(struct http_request *request)
{
    long code = 0, version = 0;
    if (!request->easy)
        return;
    curl_easy_getinfo(request->easy, CURLINFO_RESPONSE_CODE, &code);
    curl_easy_getinfo(request->easy, CURLINFO_HTTP_VERSION, &version);
    request->response.code = (int)code;
    request->response.version = version == CURL_HTTP_VERSION_1_0   ? 10
                                : version == CURL_HTTP_VERSION_1_1 ? 11
                                : version == CURL_HTTP_VERSION_2_0 ? 20
                                : version == CURL_HTTP_VERSION_3   ? 30
                                                                   : 0;
}

const char *http_outcome_header(const struct http_request *request, const char *name)
{
    struct curl_header *header = NULL;
    if (!request->easy || curl_easy_header(request->easy, name, 0, CURLH_HEADER, -1, &header) != CURLHE_OK)
        return NULL;
    return header->value;
}

const char *http_response_header(const struct http_response *response, const char *name)
{
    return http_outcome_header(response->request, name);
}

char *http_response_header_list(const struct http_response *response, const char *name)
{
    struct http_request *request = response->request;
    struct curl_header *header = NULL;
    struct buf list;
    if (!request || !request->easy)
        return NULL;
    buf_init(&list, BUF_UNBOUNDED); /* the head as a whole is capped */
    for (size_t i = 0; i < 100; i++) {
        if (curl_easy_header(request->easy, name, i, CURLH_HEADER, -1, &header) != CURLHE_OK)
            break;
        buf_addf(&list, "%s%s", i > 0 ? ", " : "", header->value);
    }
    return header ? buf_take(&list) : NULL;
}

/* ---- in words ---- */

static enum status say(struct http_request *request, enum status status, const char *what)
{
    return error_set(&request->response.error, status, "%s %s", request->target, what);
}

static int64_t seconds(int64_t ms)
{
    return (ms + 999) / 1000;
}

void http_outcome_timed_out(struct http_request *request, int64_t now_ms)
{
    struct http_response *response = &request->response;
    struct error *error = &response->error;
    http_outcome_read_head(request);
    response->status = STATUS_TIMEOUT;
    if (request->total_timeout_ms > 0 && now_ms >= request->started_ms + request->total_timeout_ms) {
        error_set(error, STATUS_TIMEOUT, "%s did not finish within %lld s", request->target,
                  (long long)seconds(request->total_timeout_ms));
        return;
    }
    switch (request->phase) {
    case PHASE_RESOLVING:
    case PHASE_CONNECTING:
        error_set(error, STATUS_TIMEOUT, "no answer came within %lld s when %s was looked up",
                  (long long)seconds(request->connect_timeout_ms), request->target);
        return;
    case PHASE_WAITING:
        error_set(error, STATUS_TIMEOUT, "%s took the request but sent nothing back for %lld s", request->target,
                  (long long)seconds(request->first_byte_timeout_ms));
        return;
    case PHASE_RECEIVING:
        error_set(error, STATUS_TIMEOUT, "%s stopped sending: no byte came for %lld s", request->target,
                  (long long)seconds(request->stall_timeout_ms));
        return;
    }
}

/* With what curl says, where that holds no address of a guarded target. */
static enum status say_detail(struct http_request *request, enum status status, const char *what)
{
    const char *detail = request->curl_message[0] ? request->curl_message : curl_easy_strerror(request->result);
    return error_set(&request->response.error, status, "%s %s: %s", request->target, what, detail);
}

/* What curl's result means. The usual ones in our own words, so that nothing is said that a guarded target's owner or a
 * model should not read. */
static enum status explain(struct http_request *request)
{
    switch ((int)request->result) {
    case CURLE_OK:
        return STATUS_OK;
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
        if (request->phase < PHASE_WAITING)
            return say(request, STATUS_INVALID, "is part of a URL that cannot be used");
        return say(request, STATUS_NETWORK, "answers, but not in HTTP: check host, port, and http or https");
    case CURLE_WEIRD_SERVER_REPLY:
        return say(request, STATUS_NETWORK, "answers, but not in HTTP: check host, port, and http or https");
    case CURLE_COULDNT_RESOLVE_PROXY:
        return say(request, STATUS_NETWORK, "is not reached: the proxy's name cannot be looked up");
    case CURLE_COULDNT_RESOLVE_HOST:
        return say(request, STATUS_NETWORK, "is not found: check the spelling of the host and the network connection");
    case CURLE_COULDNT_CONNECT:
        return say(request, STATUS_NETWORK, "does not accept connections: check that the server runs there");
    case CURLE_OPERATION_TIMEDOUT:
        return error_set(&request->response.error, STATUS_TIMEOUT, "%s was not reached within %lld s", request->target,
                         (long long)seconds(request->connect_timeout_ms));
    case CURLE_GOT_NOTHING:
        return say(request, STATUS_NETWORK, "closed the connection without an answer");
    case CURLE_PARTIAL_FILE:
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
        return say(request, STATUS_NETWORK, "broke the connection off");
    case CURLE_BAD_CONTENT_ENCODING:
        return say(request, STATUS_NETWORK, "sent a body that does not unpack");
    case CURLE_PEER_FAILED_VERIFICATION:
        return say_detail(request, STATUS_NETWORK, "has a certificate that is not trusted");
    case CURLE_SSL_CONNECT_ERROR:
        return say_detail(request, STATUS_NETWORK, "does not speak TLS as expected, check http and https");
    default:
        return say_detail(request, STATUS_NETWORK, "failed");
    }
}

static enum status decide(struct http_request *request)
{
    if (request->canceled)
        return say(request, STATUS_CANCELED, "was not waited for any longer");
    if (request->refused || (request->sockets_refused > 0 && request->sockets_opened == 0))
        return say(request, STATUS_REFUSED,
                   "is not on the public internet, so it is not fetched (--allow-address permits it)");
    if (request->redirected && !request->guarded)
        return error_set(&request->response.error, STATUS_REFUSED,
                         "%s redirects (HTTP %d) to %.200s; redirects of configured servers are not followed, so that "
                         "keys stay where they belong: configure the final address",
                         request->target, request->response.code, http_outcome_header(request, "location"));
    if (request->redirected)
        return STATUS_OK;
    if (request->too_big)
        return error_set(&request->response.error, STATUS_TOO_BIG, "%s sent more than %zu bytes", request->target,
                         request->response.body.cap);
    if (request->headers_too_big)
        return say(request, STATUS_TOO_BIG, "sent more headers than anybody needs");
    if (request->no_descriptors && request->result == CURLE_COULDNT_CONNECT)
        return say(request, STATUS_IO, "cannot be reached: too many files and connections are open (ulimit -n)");
    if (request->reader_failed)
        return say(request, STATUS_IO, "did not get the request: its body could not be read");
    if (request->result == CURLE_OK && !request->head_complete) /* curl takes a head without its end for a whole one */
        return say(request, STATUS_NETWORK, "closed the connection in the middle of its answer");
    return explain(request);
}

void http_outcome_decide(struct http_request *request)
{
    struct http_response *response = &request->response;
    http_outcome_read_head(request);
    curl_off_t connected_us = 0, secured_us = 0;
    if (request->easy) {
        curl_easy_getinfo(request->easy, CURLINFO_CONNECT_TIME_T, &connected_us);
        curl_easy_getinfo(request->easy, CURLINFO_APPCONNECT_TIME_T, &secured_us);
    }
    response->timing.connect_ms = (secured_us > 0 ? secured_us : connected_us) / 1000;
    response->status = decide(request);
}
