/* A page through the guarded HTTP client: by way of the cache, robots.txt and the site's queue (network.h). */
#include "core/mem.h"
#include "net/retry.h"
#include "tools/visit/network.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CONNECT_TIMEOUT_MS 15000
#define GUESS_TIMEOUT_MS   5000 /* where the scheme was our guess, and another is left to try */

static void send_request(struct visit_page *page);
static void wait_for_turn(struct visit_page *page);

/* ---- a copy in place of the page ---- */

static void say_outdated(struct visit_page *page, const char *why)
{
    char day[32] = "";
    time_t then = (time_t)page->fetching->copy.stored_at;
    struct tm parts;
    if (gmtime_r(&then, &parts))
        strftime(day, sizeof day, "%Y-%m-%d %H:%M UTC", &parts);
    tool_report_notice(page->call->run, "%s: the copy of %s is used, since %s", page->url, day, why);
}

/* Whether the page's old copy is taken where the site gives none. */
static bool use_outdated(struct visit_page *page, const char *why)
{
    if (!visit_copy_may_do(page))
        return false;
    say_outdated(page, why);
    visit_copy_use(page, true);
    visit_page_fetched(page);
    return true;
}

/* ---- trying again ---- */

static void fetch_again(void *user)
{
    struct visit_page *page = user;
    if (!visit_page_over(page))
        wait_for_turn(page);
}

static bool is_busy(const struct http_response *response)
{
    return response->status == STATUS_OK && (response->code == 429 || response->code == 503);
}

static bool is_fault(int code)
{
    return code >= 500 && code <= 599;
}

/* Whether a refusal is a check for browsers or a captcha: a person would get in. By headers that some of these services
 * set, and by scripts that they load. */
static bool is_challenge(const struct http_response *response)
{
    static const char *const marks[] = {
        "challenges.cloudflare.com",
        "/cdn-cgi/challenge-platform/",
        "captcha-delivery.com",
        "px-captcha",
        "_incapsula_resource",
        "hcaptcha.com/",
        "google.com/recaptcha",
        "awswafintegration",
        "ddos-guard",
        "/.within.website/x/cmd/anubis",
    };
    struct str body = str_slice(buf_str(&response->body), 0, 65536);
    if (http_response_header(response, "cf-mitigated") || http_response_header(response, "x-amzn-waf-action"))
        return true;
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++) {
        if (str_find_nocase(body, str_of(marks[i]), 0) != STR_NONE)
            return true;
    }
    return false;
}

/* How long to wait before the page is asked for again, as the server wants it or as is usual. */
static int64_t choose_delay(struct visit_page *page, const struct http_response *response)
{
    const char *named = response->status == STATUS_OK ? http_response_header(response, "Retry-After") : NULL;
    return retry_delay_ms(page->tries, retry_after_parse(named, time(NULL)), retry_chance(&page->call->tool->chance));
}

/* A fault that may pass is tried once more, soon. A busy site is left alone by all of its pages meanwhile. */
static bool try_again(struct visit_page *page, const struct http_response *response)
{
    struct visit_tool *tool = page->call->tool;
    bool may_pass = response->status == STATUS_NETWORK ||
                    (response->status == STATUS_OK && (response->code == 429 || is_fault(response->code)));
    if (!may_pass || (is_busy(response) && is_challenge(response))) /* it will not let us in later either */
        return false;
    int64_t delay = choose_delay(page, response);
    if (is_busy(response))
        site_pause(tool->network, response->effective_url, delay);
    if (page->tries >= tool->tries || delay > LONGEST_PAUSE_MS ||
        delay + page->call->margin_ms >= tool_time_left_ms(page->call->run))
        return false;
    if (is_busy(response) && delay >= 1000)
        tool_report_notice(page->call->run, "%s: the site is busy (HTTP %d); it is asked again in %lld s", page->url,
                           response->code, (long long)(delay + 999) / 1000);
    tool_wait(page->call->run, delay, fetch_again, page);
    return true;
}

/* https:// was our guess; an old site may speak http alone. */
static bool try_plain(struct visit_page *page, const struct http_response *response)
{
    bool silent = response->status == STATUS_TIMEOUT && response->code == 0;
    if (!page->assumed_scheme || (response->status != STATUS_NETWORK && !silent))
        return false;
    visit_page_use_plain(page);
    visit_fetch(page);
    return true;
}

/* ---- what did not work ---- */

static void fail_robots(struct visit_page *page, enum robots_verdict verdict)
{
    if (verdict == ROBOTS_UNREADABLE)
        visit_page_failed(page, NULL, "the site's robots.txt could not be read, which counts as a no to programs.");
    else
        visit_page_failed(page, NULL, "the site's robots.txt forbids programs to read it.");
}

static void fail_transport(struct visit_page *page, const struct http_response *response)
{
    const char *detail = response->error.message;
    if (page->fetching->robots_verdict != ROBOTS_ALLOW)
        fail_robots(page, page->fetching->robots_verdict);
    else if (response->status == STATUS_REFUSED)
        visit_page_failed(
            page, detail,
            "it is not on the public web (its address, or one it redirects to, is internal or not allowed).");
    else if (response->status == STATUS_INVALID)
        visit_page_failed(page, detail, "this is not a web address that can be opened.");
    else if (use_outdated(page, response->status == STATUS_TIMEOUT ? "the server took too long"
                                                                   : "the server could not be reached"))
        return;
    else if (response->status == STATUS_TIMEOUT)
        visit_page_lost(page, VISIT_FAULT_BLOCKED, detail, "the server took too long to send it.");
    else
        visit_page_lost(page, VISIT_FAULT_BLOCKED, detail, "the server could not be reached, or the connection broke.");
}

static void fail_code(struct visit_page *page, const struct http_response *response)
{
    int code = response->code;
    bool refused = code == 401 || code == 402 || code == 403 || code == 451 || code == 999; /* as LinkedIn says it */
    if (code == 404 || code == 410)
        visit_page_lost(page, VISIT_FAULT_GONE, NULL, "there is no such page (HTTP %d); check the address.", code);
    else if ((code == 429 || is_fault(code)) && use_outdated(page, "the server has a fault or is busy"))
        return;
    else if ((refused || code == 429 || code == 503) && is_challenge(response))
        visit_page_lost(page, VISIT_FAULT_BLOCKED, NULL,
                        "the site wants proof that a person is reading, and does not let this program in (HTTP %d).",
                        code);
    else if (refused)
        visit_page_lost(page, VISIT_FAULT_BLOCKED, NULL, "the site does not let this program in (HTTP %d).", code);
    else if (code == 429)
        visit_page_lost(page, VISIT_FAULT_BLOCKED, NULL, "the site takes no more requests at the moment (HTTP 429).");
    else if (is_fault(code))
        visit_page_lost(page, VISIT_FAULT_BLOCKED, NULL, "the server has a fault of its own (HTTP %d).", code);
    else
        visit_page_lost(page, VISIT_FAULT_BLOCKED, NULL, "the server gave no page (HTTP %d).", code);
}

/* ---- what came ---- */

static void take_page(struct visit_page *page, struct http_response *response)
{
    const char *type = http_response_header(response, "Content-Type");
    visit_copy_note(page, response);
    page->content_type = mem_strdup(type ? type : "");
    page->base_url = mem_strdup(response->effective_url);
    buf_finish(&page->body);
    page->body = response->body;
    response->body = (struct buf){0};
    visit_page_fetched(page);
}

/* 304: the copy still holds. Not where nothing was asked, and not of another page than the copy's. */
static bool take_confirmation(struct visit_page *page, const struct http_response *response)
{
    struct fetching *fetching = page->fetching;
    if (response->status != STATUS_OK || response->code != 304 || !fetching->conditional)
        return false;
    if (strcmp(fetching->copy.final_url, response->effective_url) != 0) {
        page_entry_finish(&fetching->copy); /* a redirect has changed: asked once more, without a condition */
        fetching->has_copy = false;
        wait_for_turn(page);
        return true;
    }
    visit_copy_note(page, response);
    visit_copy_use(page, false);
    visit_page_fetched(page);
    return true;
}

/* A redirect led to an origin whose robots.txt is not known: it is asked, and the page begun anew. */
static bool learn_robots(struct visit_page *page)
{
    struct fetching *fetching = page->fetching;
    if (!fetching->robots_missing || fetching->robots_stops++ >= page->call->tool->max_redirects)
        return false;
    char *url = fetching->robots_missing;
    fetching->robots_missing = NULL;
    page->tries--;
    visit_robots_ask(page, url);
    free(url);
    return true;
}

static void on_response(void *user, struct http_response *response)
{
    struct visit_page *page = user;
    site_turn_end(page->call->tool->network, &page->fetching->turn);
    if (visit_page_over(page) || learn_robots(page) || take_confirmation(page, response) || try_plain(page, response) ||
        try_again(page, response))
        return;
    /* Of a page that is too long its beginning is better than nothing. */
    page->truncated = response->status == STATUS_TOO_BIG && response->body.len > 0;
    if (response->status != STATUS_OK && !page->truncated)
        fail_transport(page, response);
    else if (response->code < 200 || response->code > 299)
        fail_code(page, response);
    else if (response->body.len == 0)
        visit_page_lost(page, VISIT_FAULT_BLOCKED, NULL, "it holds no text: the server sent nothing (HTTP %d).",
                        response->code);
    else
        take_page(page, response);
}

/* ---- the steps ---- */

/* Documents may be larger than pages. What does not say what it is may be one. */
static size_t max_body_of(void *user, const struct http_response *head)
{
    const struct visit_page *page = user;
    const struct visit_tool *tool = page->call->tool;
    struct str type = str_of(http_response_header(head, "Content-Type"));
    type = str_trim(str_slice(type, 0, str_find_char(type, ';', 0)));
    bool is_text = str_starts_with_nocase(type, STR("text/")) || str_ends_with(type, STR("json")) ||
                   str_ends_with(type, STR("xml")) || str_ends_with(type, STR("javascript"));
    return is_text ? tool->max_bytes : tool->network->max_document_bytes;
}

/* Redirects lead to other origins, whose robots.txt counts as well. */
static enum status check_hop(void *user, const char *url, struct error *error)
{
    struct visit_page *page = user;
    struct fetching *fetching = page->fetching;
    struct network *network = page->call->tool->network;
    enum robots_verdict verdict = network->robots ? visit_robots_verdict(network, url) : ROBOTS_ALLOW;
    if (verdict == ROBOTS_ALLOW)
        return STATUS_OK;
    if (verdict == ROBOTS_UNKNOWN) {
        free(fetching->robots_missing);
        fetching->robots_missing = mem_strdup(url);
    }
    fetching->robots_verdict = verdict;
    return error_set(error, STATUS_REFUSED, "robots.txt has to be asked, or forbids it");
}

static void send_request(struct visit_page *page)
{
    struct visit_tool *tool = page->call->tool;
    struct http_header headers[4] = {
        {"Accept", "text/html,application/xhtml+xml,text/markdown,text/plain;q=0.9,application/json;q=0.8,"
                   "application/xml;q=0.8,*/*;q=0.1"},
        {"Accept-Language", "en,*;q=0.5"},
    };
    size_t n_headers = 2 + visit_copy_conditions(page, headers + 2);
    size_t document = tool->network->max_document_bytes;
    const struct http_options options = {
        .traffic = HTTP_GUARDED,
        .url = page->target,
        .headers = headers,
        .n_headers = n_headers,
        .connect_timeout_ms = page->assumed_scheme ? GUESS_TIMEOUT_MS : CONNECT_TIMEOUT_MS,
        .total_timeout_ms = tool->page_timeout_ms,
        .max_body = document > tool->max_bytes ? document : tool->max_bytes,
        .max_body_of = max_body_of,
        .max_redirects = tool->max_redirects,
        .accept_encoding = true,
        .check = check_hop,
    };
    page->fetching->robots_verdict = ROBOTS_ALLOW;
    page->tries++;
    tool_request(page->call->run, &options, on_response, page);
}

static void on_turn(void *user)
{
    struct visit_page *page = user;
    struct site_turn *turn = &page->fetching->turn;
    if (visit_page_over(page)) {
        site_turn_end(page->call->tool->network, turn);
    } else if (turn->refused_ms > 0) {
        if (use_outdated(page, "the site asked for a pause"))
            return;
        visit_page_lost(page, VISIT_FAULT_BLOCKED, NULL, "the site has asked not to be asked again for another %lld s.",
                        (long long)(turn->refused_ms + 999) / 1000);
    } else {
        send_request(page);
    }
}

static void wait_for_turn(struct visit_page *page)
{
    struct site_turn *turn = &page->fetching->turn;
    turn->come = on_turn;
    turn->user = page;
    site_turn_start(page->call->tool->network, turn, page->call, page->target);
}

void visit_fetch_after_robots(struct visit_page *page)
{
    struct network *network = page->call->tool->network;
    enum robots_verdict verdict = visit_robots_verdict(network, page->target);
    if (verdict == ROBOTS_UNREADABLE && page->assumed_scheme) { /* https:// was our guess */
        visit_page_use_plain(page);
        visit_fetch(page);
    } else if (verdict == ROBOTS_FORBID || verdict == ROBOTS_UNREADABLE) {
        fail_robots(page, verdict);
    } else {
        wait_for_turn(page);
    }
}

static void looked_up(struct visit_page *page)
{
    if (visit_copy_is_fresh(page)) {
        visit_copy_use(page, false);
        visit_page_fetched(page);
    } else if (page->call->tool->network->robots) {
        visit_robots_ask(page, page->target);
    } else {
        wait_for_turn(page);
    }
}

void visit_fetch(struct visit_page *page)
{
    visit_fetching_begin(page);
    visit_copy_find(page, looked_up);
}
