/* What a web back end's response means, and what the model and the user are told when it is none. */
#include "net/retry.h"
#include "tools/search/internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <time.h>

static const char to_model_later[] = "Try again later, or go on with pages you already know.";

void search_fail(struct search_query *query, bool may_pass, const char *model, const char *person, ...)
{
    struct search_failure *failure = &query->failure;
    failure->may_pass = may_pass;
    failure->retry_after_ms = -1;
    snprintf(failure->model, sizeof failure->model, "%s", model);
    va_list arguments;
    va_start(arguments, person);
    vsnprintf(failure->person, sizeof failure->person, person, arguments);
    va_end(arguments);
}

static void judge_transport(struct search_query *query, const struct http_response *response, const char *service)
{
    const char *why = response->error.message;
    if (response->status == STATUS_TIMEOUT)
        search_fail(query, true, "the search service did not answer in time. Ask again, perhaps with fewer queries.",
                    "%s did not answer in time: %s", service, why);
    else if (response->status == STATUS_TOO_BIG)
        search_fail(query, false, "the search service sent far too much. Ask in other words.",
                    "%s sent more than %zu MB", service, SEARCH_MAX_RESPONSE >> 20);
    else if (response->status == STATUS_REFUSED || response->status == STATUS_INVALID)
        search_fail(query, false, "the search service is not set up correctly. Go on with pages you already know.",
                    "%s cannot be asked: %s; check its address", service, why);
    else
        search_fail(query, true,
                    "the search service could not be reached. Ask again, or go on with pages you already know.",
                    "%s could not be reached: %s", service, why);
}

/* Serper says 400 with these words when the account is used up. */
static bool says_no_credits(const struct http_response *response)
{
    return str_find_nocase(buf_str(&response->body), STR("not enough credits"), 0) != STR_NONE;
}

static void judge_code(struct search_query *query, const struct http_response *response,
                       const struct search_service *service)
{
    int code = response->code;
    if (code == 401 || code == 403)
        search_fail(query, false,
                    "the search service refused access. Searching will not work in this run; go on with pages "
                    "you already know.",
                    "%s refused access (HTTP %d): %s", service->name, code, service->denied);
    else if (code == 402 || (code == 400 && says_no_credits(response)))
        search_fail(query, false, "the quota of the search service is used up. Go on with pages you already know.",
                    "%s: the account has no credits left (HTTP %d)", service->name, code);
    else if (code == 429)
        search_fail(query, true,
                    "the search service takes no more requests at the moment. Try again later, or go on with pages "
                    "you already know.",
                    "%s takes no more requests (HTTP 429): %s", service->name, service->quota);
    else if (code >= 500)
        search_fail(query, true, to_model_later, "%s failed (HTTP %d)", service->name, code);
    else if (code == 404)
        search_fail(query, false, "the search service is not set up correctly. Go on with pages you already know.",
                    "%s has nothing at this address (HTTP 404): check it", service->name);
    else
        search_fail(query, false, "the search service did not accept the query. Ask in other words.",
                    "%s did not accept the query (HTTP %d)", service->name, code);
    if (code >= 500)
        snprintf(query->failure.model, sizeof query->failure.model, "the search service has a fault of its own. %s",
                 to_model_later);
    query->failure.retry_after_ms = retry_after_parse(http_response_header(response, "Retry-After"), time(NULL));
}

/* True when the response is a JSON object, a new reference in *root; else the query's failure is set. */
static bool read_response(struct search_query *query, const struct http_response *response,
                          const struct search_service *service, json_t **root)
{
    if (response->status != STATUS_OK) {
        judge_transport(query, response, service->name);
        return false;
    }
    if (response->code != 200) {
        judge_code(query, response, service);
        return false;
    }
    struct str body = str_trim(buf_str(&response->body));
    struct error error;
    json_t *value = NULL;
    if (json_parse(body, &value, &error) == STATUS_OK && json_is_object(value)) {
        *root = value;
        return true;
    }
    json_decref(value);
    static const char unreadable[] = "the search service sent something that is no list of results. Try again later, "
                                     "or go on with pages you already know.";
    if (body.len == 0)
        search_fail(query, true, unreadable, "%s sent an empty answer", service->name);
    else if (body.data[0] == '<')
        search_fail(query, false, unreadable,
                    "%s sent a web page instead of JSON: check its address, and whether a login or a "
                    "captcha stands before it",
                    service->name);
    else
        search_fail(query, true, unreadable, "%s sent an answer that is no JSON", service->name);
    return false;
}

void search_take_response(struct search_query *query, const struct http_response *response,
                          const struct search_service *service)
{
    json_t *root, *item;
    size_t index;
    if (tool_canceled(query->call->run))
        return;
    if (!read_response(query, response, service, &root)) {
        search_failed(query);
        return;
    }
    json_array_foreach (json_object_get(root, service->list), index, item) {
        search_results_add_json(&query->results, item, &service->fields);
    }
    service->note(query, root);
    json_decref(root);
    search_answered(query);
}
