#include "support/http_run.h"

#include <stdlib.h>
#include <string.h>

#include "core/mem.h"

void http_run_done(void *user, struct http_response *response)
{
    struct http_result *result = user;
    result->done++;
    result->status = response->status;
    result->code = response->code;
    result->version = response->version;
    result->redirects = response->redirects;
    result->received = response->received;
    result->body_len = response->body.len;
    result->body = buf_take(&response->body);
    result->effective_url = mem_strdup_or_null(response->effective_url);
    result->addresses = mem_strdup_or_null(response->addresses);
    result->location = mem_strdup_or_null(http_response_header(response, "Location"));
    result->content_type = mem_strdup_or_null(http_response_header(response, "Content-Type"));
    result->timing = response->timing;
    if (response->status != STATUS_OK)
        memcpy(result->message, response->error.message, sizeof result->message);
    if (result->loop)
        loop_stop(result->loop);
}

void http_run_forget(struct http_result *result)
{
    free(result->body);
    free(result->effective_url);
    free(result->addresses);
    free(result->location);
    free(result->content_type);
    *result = (struct http_result){0};
}

struct http_result http_run(struct loop *loop, struct http_client *client, const struct http_options *options)
{
    struct http_result result = {.loop = loop};
    http_request_start(client, options, http_run_done, &result);
    loop_run(loop);
    return result;
}
