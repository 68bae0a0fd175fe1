#include "tools/common/web_answer.h"

#include "core/lenient_json.h"
#include "core/mem.h"
#include "core/utf8.h"
#include "net/retry.h"
#include "tools/common/line.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { WORDS_BYTES = 200, MAX_WINDOWS = 4, FEW_REQUESTS = 10 };

/* ---- what a service says ---- */

static struct str words_at(const json_t *object, const char *key)
{
    static const char *const inner[] = {"message", "detail", "error", "error_message", "reason", "info", "code"};
    const json_t *value = json_object_get(object, key);
    struct str words = json_get_str(object, key);
    if (json_is_array(value))
        value = json_array_get(value, 0);
    if (words.len == 0 && json_is_string(value))
        words = str_make(json_string_value(value), json_string_length(value));
    for (size_t i = 0; words.len == 0 && i < sizeof inner / sizeof inner[0]; i++)
        words = json_get_str(value, inner[i]);
    return words;
}

struct str web_answer_words(const json_t *root)
{
    static const char *const keys[] = {"message", "error", "errors", "detail", "title"};
    struct str words = {0};
    for (size_t i = 0; words.len == 0 && i < sizeof keys / sizeof keys[0]; i++)
        words = words_at(root, keys[i]);
    return words;
}

static bool mention(struct str words, const char *const *any)
{
    while (*any && str_find_nocase(words, str_of(*any), 0) == STR_NONE)
        any++;
    return *any;
}

static bool mention_quota(struct str words)
{
    static const char *const any[] = {"credit", "quota", "usage limit", "insufficient balance", "payment", NULL};
    return mention(words, any);
}

/* ---- rate limits ---- */

/* The whole numbers of "1, 1419704", or of "1;w=1, 2000;w=2592000" behind `mark` (";w="), -1 where there is none. */
static size_t read_windows(const char *value, const char *mark, int64_t out[MAX_WINDOWS])
{
    struct str rest = str_of(value), part;
    size_t count = 0;
    while (count < MAX_WINDOWS && str_split_next(&rest, ',', &part)) {
        size_t from = mark ? str_find(part, str_of(mark), 0) : 0;
        part =
            from == STR_NONE ? (struct str){0} : str_trim(str_slice(part, from + (mark ? strlen(mark) : 0), part.len));
        size_t digits = 0;
        while (digits < part.len && ascii_is_digit(part.data[digits]))
            digits++;
        if (!str_to_int64(str_slice(part, 0, digits), &out[count]))
            out[count] = -1;
        count++;
    }
    return count;
}

/* Seconds until the windows that are full are open again, by X-RateLimit-Remaining and X-RateLimit-Reset (seconds, or
 * seconds since 1970); -1 where the server does not say. */
static int64_t reset_seconds(const struct http_response *response)
{
    int64_t reset[MAX_WINDOWS], left[MAX_WINDOWS], longest = -1, now = (int64_t)time(NULL);
    const char *resets = http_response_header(response, "X-RateLimit-Reset");
    const char *remaining = http_response_header(response, "X-RateLimit-Remaining");
    size_t count = resets ? read_windows(resets, NULL, reset) : 0,
           known = remaining ? read_windows(remaining, NULL, left) : 0;
    for (size_t i = 0; i < count; i++) {
        int64_t seconds = reset[i] > now / 2 ? reset[i] - now : reset[i];
        if ((i >= known || left[i] == 0) && seconds > longest)
            longest = seconds;
    }
    return longest;
}

static int64_t retry_after_ms(const struct http_response *response)
{
    int64_t named = retry_after_parse(http_response_header(response, "Retry-After"), time(NULL));
    int64_t reset = named < 0 ? reset_seconds(response) : -1;
    return reset < 0 ? named : reset < RETRY_AFTER_MAX_MS / 1000 ? reset * 1000 : RETRY_AFTER_MAX_MS;
}

/* Learns from "X-RateLimit-Policy: 1;w=1, …" how far apart requests should be, from windows of up to a minute. Where a
 * window holds more than a call sends at once, nothing is to be kept apart. */
static void learn_gap(struct chain_backend *backend, const struct http_response *response)
{
    int64_t limit[MAX_WINDOWS], window[MAX_WINDOWS];
    const char *policy = http_response_header(response, "X-RateLimit-Policy");
    size_t count = policy ? read_windows(policy, NULL, limit) : 0;
    if (count == 0 || read_windows(policy, ";w=", window) != count)
        return;
    for (size_t i = 0; i < count; i++) {
        if (limit[i] <= 0 || limit[i] > FEW_REQUESTS || window[i] <= 0 || window[i] > 60)
            continue;
        int64_t gap = window[i] * 1000 / limit[i];
        backend->gap_ms = gap > backend->gap_ms ? gap : backend->gap_ms;
    }
}

/* ---- faults in words ---- */

static void word_fault(struct chain *chain, const struct web_service *service, enum web_fault fault, const char *code,
                       const char *words)
{
    switch (fault) {
    case WEB_FINE:
        break;
    case WEB_DENIED:
        chain_fail(chain,
                   "the search service refused access. Searching will not work in this run; go on with pages you "
                   "already know.",
                   "%s refused access%s: %s%s", service->name, code, service->denied, words);
        break;
    case WEB_USED_UP:
        chain_fail(chain, "the quota of the search service is used up. Go on with pages you already know.",
                   "%s: the quota is used up%s: %s%s", service->name, code, service->used_up, words);
        break;
    case WEB_BUSY:
        chain_fail(chain,
                   "the search service takes no more requests at the moment. Try again later, or go on with pages you "
                   "already know.",
                   "%s takes no more requests%s: %s%s", service->name, code, service->busy, words);
        break;
    case WEB_BROKEN:
        chain_fail(chain,
                   "the search service has a fault of its own. Try again later, or go on with pages you already know.",
                   "%s failed%s%s", service->name, code, words);
        break;
    case WEB_ROBOT:
        chain_fail(chain,
                   "the search service takes no requests from programs at the moment. Go on with pages you already "
                   "know.",
                   "%s wants proof that a human asks%s: %s%s", service->name, code, service->robot, words);
        break;
    case WEB_NOWHERE:
        chain_fail(chain, "the search service is not set up correctly. Go on with pages you already know.",
                   "%s has nothing at this address%s: check it%s", service->name, code, words);
        break;
    case WEB_REJECTED:
        chain_fail(chain, "the search service did not accept the query. Ask in other words.",
                   "%s did not accept the query%s%s", service->name, code, words);
        break;
    }
}

void web_answer_fault(struct chain *chain, const struct http_response *response, const struct web_service *service,
                      const char *key, enum web_fault fault, struct str words)
{
    char code[32] = "", *said = NULL, *line = line_make(words, WORDS_BYTES);
    if (response->code != 200)
        snprintf(code, sizeof code, " (HTTP %d)", response->code);
    bool names_key = key && *key && (strstr(line, key) || str_find(words, str_of(key), 0) != STR_NONE);
    bool repeatable = *line && !names_key; /* also where only the key's beginning was left of it */
    said = repeatable ? mem_printf("; it says \"%s\"", line) : mem_strdup("");
    word_fault(chain, service, fault, code, said);
    struct chain_failure *failure = &chain->failure;
    failure->may_pass = fault == WEB_BUSY || fault == WEB_BROKEN;
    failure->rests = fault == WEB_DENIED || fault == WEB_USED_UP || fault == WEB_ROBOT;
    failure->retry_after_ms = retry_after_ms(response);
    free(said);
    free(line);
    chain_failed(chain);
}

static void fail_transport(struct chain *chain, const struct http_response *response, const char *service)
{
    const char *why = response->error.message;
    if (response->status == STATUS_TIMEOUT)
        chain_fail(chain, "the search service did not answer in time. Ask again, perhaps with fewer queries.",
                   "%s did not answer in time: %s", service, why);
    else if (response->status == STATUS_TOO_BIG)
        chain_fail(chain, "the search service sent far too much. Ask in other words.", "%s sent more than %zu MB",
                   service, WEB_MAX_RESPONSE >> 20);
    else if (response->status == STATUS_REFUSED || response->status == STATUS_INVALID)
        chain_fail(chain, "the search service is not set up correctly. Go on with pages you already know.",
                   "%s cannot be asked: %s; check its address", service, why);
    else
        chain_fail(chain, "the search service could not be reached. Ask again, or go on with pages you already know.",
                   "%s could not be reached: %s", service, why);
    chain->failure.may_pass = response->status == STATUS_TIMEOUT || response->status == STATUS_NETWORK;
    chain_failed(chain);
}

void web_answer_unreadable(struct chain *chain, const struct web_service *service, bool may_pass, const char *what)
{
    chain_fail(chain,
               "the search service sent something that is no list of results. Try again later, or go on with pages "
               "you already know.",
               "%s sent %s", service->name, what);
    chain->failure.may_pass = may_pass;
    chain_failed(chain);
}

/* ---- judging ---- */

static enum web_fault judge_code(int code, struct str words)
{
    switch (code) {
    case 200:
        return WEB_FINE;
    case 401:
        return WEB_DENIED;
    case 403:
        return mention_quota(words) ? WEB_USED_UP : WEB_DENIED;
    case 402:
        return WEB_USED_UP;
    case 404:
        return WEB_NOWHERE;
    case 429:
        return WEB_BUSY;
    case 400:
        return mention_quota(words) ? WEB_USED_UP : WEB_REJECTED;
    case 408:
    case 425:
        return WEB_BROKEN;
    default:
        return code >= 500 || code < 300 ? WEB_BROKEN : WEB_REJECTED;
    }
}

static bool is_filled(const json_t *value)
{
    if (json_is_string(value))
        return json_string_length(value) > 0;
    return json_is_true(value) || json_object_size(value) > 0 || json_array_size(value) > 0;
}

/* Whether an object in a 200 reports an error and brings nothing else: some services, and gateways before them, say
 * everything with 200. */
static bool is_error_object(const json_t *root)
{
    const char *key;
    json_t *value;
    if (!is_filled(json_object_get(root, "error")) && !is_filled(json_object_get(root, "errors")))
        return false;
    json_object_foreach ((json_t *)(uintptr_t)root, key, value) {
        if (strcmp(key, "errors") != 0 && json_array_size(value) > 0)
            return false;
    }
    return true;
}

static enum web_fault judge_words(struct str words)
{
    static const char *const busy[] = {"rate limit", "ratelimit", "too many requests", "throttl", NULL};
    static const char *const denied[] = {"api key",     "apikey",         "unauthorized", "forbidden",
                                         "invalid key", "authentication", "token",        NULL};
    if (mention(words, busy))
        return WEB_BUSY;
    if (mention_quota(words))
        return WEB_USED_UP;
    return mention(words, denied) ? WEB_DENIED : WEB_BROKEN;
}

/* True when a response came and is no fault as far as code and JSON body (NULL where it is none) tell; else the try is
 * ended. */
static bool passes(struct chain *chain, const struct http_response *response, const struct web_service *service,
                   const char *key, const json_t *root)
{
    learn_gap(chain_backend(chain), response);
    struct str words = web_answer_words(root);
    enum web_fault fault = judge_code(response->code, words);
    if (fault == WEB_FINE && is_error_object(root))
        fault = judge_words(words);
    if (fault == WEB_BUSY && retry_after_ms(response) >= RETRY_AFTER_MAX_MS)
        fault = WEB_USED_UP; /* no matter of waiting */
    if (service->judge)
        fault = service->judge(response, root, fault);
    if (fault != WEB_FINE)
        web_answer_fault(chain, response, service, key, fault, words);
    return fault == WEB_FINE;
}

/* A new reference, or NULL. Texts from all over the web go through the services: half a surrogate pair, a NUL or a byte
 * that is no UTF-8 in one of them must not cost the others. What is cut off stays unread. */
static json_t *read_json(struct str body)
{
    json_t *value = NULL;
    struct lenient_result result;
    if (json_parse(body, &value, NULL) == STATUS_OK || body.len == 0 || body.data[0] != '{')
        return value;
    struct buf valid;
    buf_init(&valid, BUF_UNBOUNDED); /* by the body, which is bounded */
    if (utf8_append_valid(&valid, body) != STATUS_OK)
        abort();
    if (lenient_json_parse(buf_str(&valid), LENIENT_NO_COMPLETION, &value, &result, NULL) == STATUS_OK &&
        result.consumed < valid.len) {
        json_decref(value);
        value = NULL;
    }
    buf_finish(&valid);
    return value;
}

bool web_answer_json(struct chain *chain, const struct http_response *response, const struct web_service *service,
                     const char *key, json_t **root)
{
    if (tool_canceled(chain->options.run))
        return false;
    if (response->status != STATUS_OK) {
        fail_transport(chain, response, service->name);
        return false;
    }
    struct str body = str_trim(buf_str(&response->body));
    json_t *value = read_json(body);
    bool parsed = json_is_object(value);
    if (!passes(chain, response, service, key, parsed ? value : NULL)) {
        json_decref(value);
        return false;
    }
    if (parsed) {
        *root = value;
        return true;
    }
    json_decref(value);
    if (body.len == 0)
        web_answer_unreadable(chain, service, true, "an empty answer");
    else if (body.data[0] == '<')
        web_answer_unreadable(chain, service, false,
                              "a web page instead of JSON: check its address, and whether a login or a captcha "
                              "stands before it");
    else
        web_answer_unreadable(chain, service, true, "an answer that is no JSON");
    return false;
}

bool web_answer_text(struct chain *chain, const struct http_response *response, const struct web_service *service,
                     const char *key, struct str *body)
{
    if (tool_canceled(chain->options.run))
        return false;
    if (response->status != STATUS_OK) {
        fail_transport(chain, response, service->name);
        return false;
    }
    struct str text = str_trim(buf_str(&response->body));
    json_t *value = NULL;
    if (text.len > 0 && text.data[0] == '{' && json_parse(text, &value, NULL) != STATUS_OK)
        value = NULL;
    bool fine = passes(chain, response, service, key, value);
    json_decref(value);
    if (fine && text.len == 0) {
        web_answer_unreadable(chain, service, true, "an empty answer");
        fine = false;
    }
    if (fine)
        *body = text;
    return fine;
}

void web_answer_no_key(struct chain *chain, const char *name, const char *remedy)
{
    if (tool_canceled(chain->options.run))
        return;
    chain_fail(chain, "searching is not set up. Go on with pages you already know.", "%s needs a key: %s", name,
               remedy);
    chain->failure.rests = true;
    chain_failed(chain);
}
