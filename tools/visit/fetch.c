/* A page through the guarded HTTP client. */
#include "core/mem.h"
#include "net/retry.h"
#include "tools/visit/internal.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A page is not worth waiting longer for when its server says it is busy. */
#define LONGEST_RETRY_MS 5000

#define CONNECT_TIMEOUT_MS 15000
#define GUESS_TIMEOUT_MS   5000 /* where the scheme was our guess, and another is left to try */

static void fetch_again(void *user)
{
    struct visit_page *page = user;
    if (!visit_page_over(page))
        visit_fetch(page);
}

/* A fault that may pass is tried once more, soon. */
static bool try_again(struct visit_page *page, const struct http_response *response)
{
    struct visit_tool *tool = page->call->tool;
    bool may_pass = response->status == STATUS_NETWORK ||
                    (response->status == STATUS_OK && (response->code == 429 || response->code >= 500));
    if (!may_pass || page->tries >= tool->tries)
        return false;
    const char *named = response->status == STATUS_OK ? http_response_header(response, "Retry-After") : NULL;
    int64_t delay = retry_delay_ms(page->tries, retry_after_parse(named, time(NULL)), retry_chance(&tool->chance));
    if (delay > LONGEST_RETRY_MS || delay + page->call->margin_ms >= tool_time_left_ms(page->call->run))
        return false;
    tool_wait(page->call->run, delay, fetch_again, page);
    return true;
}

/* https:// was our guess; an old site may speak http alone. */
static bool try_plain(struct visit_page *page, const struct http_response *response)
{
    bool silent = response->status == STATUS_TIMEOUT && response->code == 0;
    if (!page->assumed_scheme || (response->status != STATUS_NETWORK && !silent))
        return false;
    char *plain = mem_printf("http://%s", page->url + strlen("https://"));
    free(page->url);
    page->url = plain;
    page->assumed_scheme = false;
    page->tries = 0;
    tool_wait(page->call->run, 0, fetch_again, page);
    return true;
}

static void fail_transport(struct visit_page *page, const struct http_response *response)
{
    const char *detail = response->error.message;
    if (response->status == STATUS_REFUSED)
        visit_page_failed(
            page, detail,
            "it is not on the public web (its address, or one it redirects to, is internal or not allowed).");
    else if (response->status == STATUS_TIMEOUT)
        visit_page_failed(page, detail, "the server took too long to send it.");
    else if (response->status == STATUS_INVALID)
        visit_page_failed(page, detail, "this is not a web address that can be opened.");
    else
        visit_page_failed(page, detail, "the server could not be reached, or the connection broke.");
}

static void fail_code(struct visit_page *page, int code)
{
    if (code == 404 || code == 410)
        visit_page_failed(page, NULL, "there is no such page (HTTP %d); check the address.", code);
    else if (code == 401 || code == 402 || code == 403 || code == 451)
        visit_page_failed(page, NULL, "the site does not let this program in (HTTP %d).", code);
    else if (code == 429)
        visit_page_failed(page, NULL, "the site takes no more requests at the moment (HTTP 429).");
    else if (code >= 500)
        visit_page_failed(page, NULL, "the server has a fault of its own (HTTP %d).", code);
    else
        visit_page_failed(page, NULL, "the server gave no page (HTTP %d).", code);
}

static void on_response(void *user, struct http_response *response)
{
    struct visit_page *page = user;
    if (visit_page_over(page) || try_plain(page, response) || try_again(page, response))
        return;
    /* Of a page that is too long its beginning is better than nothing. */
    page->truncated = response->status == STATUS_TOO_BIG && response->body.len > 0;
    if (response->status != STATUS_OK && !page->truncated) {
        fail_transport(page, response);
        return;
    }
    if (response->code < 200 || response->code > 299) {
        fail_code(page, response->code);
        return;
    }
    const char *type = http_response_header(response, "Content-Type");
    page->content_type = mem_strdup(type ? type : "");
    page->base_url = mem_strdup(response->effective_url);
    buf_finish(&page->body);
    page->body = response->body;
    response->body = (struct buf){0};
    visit_page_fetched(page);
}

void visit_fetch(struct visit_page *page)
{
    struct visit_tool *tool = page->call->tool;
    static const struct http_header headers[] = {
        {"Accept", "text/html,application/xhtml+xml,text/markdown,text/plain;q=0.9,application/json;q=0.8,"
                   "application/xml;q=0.8,*/*;q=0.1"},
        {"Accept-Language", "en,*;q=0.5"},
    };
    const struct http_options options = {
        .traffic = HTTP_GUARDED,
        .url = page->url,
        .headers = headers,
        .n_headers = sizeof headers / sizeof headers[0],
        .connect_timeout_ms = page->assumed_scheme ? GUESS_TIMEOUT_MS : CONNECT_TIMEOUT_MS,
        .total_timeout_ms = tool->page_timeout_ms,
        .max_body = tool->max_bytes,
        .max_redirects = tool->max_redirects,
        .accept_encoding = true,
    };
    page->tries++;
    tool_request(page->call->run, &options, on_response, page);
}
