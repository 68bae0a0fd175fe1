/* tests/support/http_run.h
 *
 * Runs HTTP requests to their end and keeps what came of them.
 */
#ifndef FATHOM_TESTS_HTTP_RUN_H
#define FATHOM_TESTS_HTTP_RUN_H

#include "loop/loop.h"
#include "net/http.h"

/* What done was told. The strings are the result's; free with http_run_forget. */
struct http_result {
    struct loop *loop; /* set by the test: stopped at done, unless NULL */
    int done;          /* how often done came */
    enum status status;
    char message[512];
    int code, version, redirects;
    uint64_t received;
    size_t body_len;
    char *body, *effective_url, *addresses;
    char *location, *content_type; /* headers; NULL when absent */
    struct http_timing timing;
};

/* A done callback whose user is a struct http_result. */
void http_run_done(void *user, struct http_response *response);

void http_run_forget(struct http_result *result);

/* Starts the request and runs the loop until it is done. */
struct http_result http_run(struct loop *loop, struct http_client *client, const struct http_options *options);

#endif
