/* Brave Search: GET with the key in X-Subscription-Token; answers {"web": {"results": [{"title", "url", "description",
 * "age", "page_age", "profile": {"name"}, "extra_snippets": […]}]}, "query": {"altered"}}. A query has at most 400
 * characters and 50 words. What is wrong is told as {"error": {"code", "detail"}}: SUBSCRIPTION_TOKEN_INVALID comes as
 * 422, SUBSCRIPTION_NOT_FOUND as 404, and 429 is RATE_LIMITED (each plan has a rate a second, told in X-RateLimit-…) or
 * QUOTA_LIMITED, that of the month. A plan without the further passages may refuse to be asked for them, with
 * OPTION_NOT_IN_PLAN (https://api-dashboard.search.brave.com/api-reference/web/search/get). */
#include "core/utf8.h"
#include "text/plain.h"
#include "tools/search/internal.h"

#include <stdio.h>
enum { MAX_CHARACTERS = 400, MAX_WORDS = 50, MAX_COUNT = 20, SNIPPET_BYTES = 6000 };

static struct str error_code(const json_t *root)
{
    struct str code = json_get_str(json_object_get(root, "error"), "code");
    return code.len > 0 ? code : json_get_str(json_array_get(json_object_get(root, "errors"), 0), "code");
}

static enum web_fault judge(const struct http_response *response, const json_t *root, enum web_fault usual)
{
    (void)response;
    struct str code = error_code(root);
    if (str_starts_with(code, STR("SUBSCRIPTION_")) || str_equal(code, STR("OPTION_NOT_IN_PLAN")))
        return WEB_DENIED;
    if (str_equal(code, STR("QUOTA_LIMITED")))
        return WEB_USED_UP;
    return str_equal(code, STR("RATE_LIMITED")) ? WEB_BUSY : usual;
}

static const struct web_service service = {
    .name = "Brave Search",
    .denied = "check BRAVE_API_KEY, and that the key's plan includes web search",
    .used_up = "the plan's requests are gone until the next month begins",
    .busy = "the plan allows few requests a second",
    .judge = judge,
};

/* Marks are switched off in the request, but entities stay. The further passages that some plans give are joined to
 * the description. */
static void add_snippet(struct buf *out, const json_t *result)
{
    size_t index;
    json_t *extra;
    bool fits = plain_from_markup(out, json_get_str(result, "description")) == STATUS_OK;
    json_array_foreach (json_object_get(result, "extra_snippets"), index, extra) {
        struct str text = str_make(json_string_value(extra), json_string_length(extra));
        if (fits && text.len > 0)
            fits = buf_append_str(out, STR(" … ")) == STATUS_OK && plain_from_markup(out, text) == STATUS_OK;
    }
}

/* "2024-03-01T09:00:00" is a day to a reader; "2 days ago" needs one who knows today. */
static struct str date_of(const json_t *result)
{
    struct str page_age = json_get_str(result, "page_age");
    return page_age.len > 0 ? str_slice(page_age, 0, str_find_char(page_age, 'T', 0)) : json_get_str(result, "age");
}

static void add_result(struct search_query *query, const json_t *result)
{
    struct buf title, snippet;
    buf_init(&title, SNIPPET_BYTES);
    buf_init(&snippet, SNIPPET_BYTES);
    if (plain_from_markup(&title, json_get_str(result, "title")) == STATUS_TOO_BIG)
        buf_truncate(&title, utf8_floor(buf_str(&title), title.len));
    add_snippet(&snippet, result);
    const struct web_item item = {
        .title = buf_str(&title),
        .url = json_get_str(result, "url"),
        .date = date_of(result),
        .source = json_get_str(json_object_get(result, "profile"), "name"),
        .snippet = buf_str(&snippet),
    };
    web_results_add(&query->results, &item);
    buf_finish(&snippet);
    buf_finish(&title);
}

/* Whether the plan refuses the further passages. Not to be asked for again. */
static bool asks_too_much(struct search_query *query, const struct http_response *response)
{
    struct search_tool *tool = query->call->tool;
    bool refused = query->brave_extras && response->status == STATUS_OK && response->code >= 400 &&
                   str_find(buf_str(&response->body), STR("\"OPTION_NOT_IN_PLAN\""), 0) != STR_NONE;
    tool->brave_plain = tool->brave_plain || refused;
    return refused;
}

static void on_response(void *user, struct http_response *response)
{
    struct search_query *query = user;
    json_t *root, *result;
    size_t index;
    if (tool_canceled(query->call->run))
        return;
    if (asks_too_much(query, response)) {
        search_brave_ask(query);
        return;
    }
    if (!web_answer_json(&query->base.chain, response, &service, query->call->tool->key[SEARCH_BRAVE], &root))
        return;
    json_array_foreach (json_object_get(json_object_get(root, "web"), "results"), index, result)
        add_result(query, result);
    struct str altered = json_get_str(json_object_get(root, "query"), "altered");
    if (altered.len > 0) {
        buf_add_text(&query->notice, "Brave searched for: ");
        line_add(&query->notice, altered, 300);
    }
    json_decref(root);
    search_answered(query);
}

static void make_url(struct buf *url, const struct search_query *query)
{
    const struct search_tool *tool = query->call->tool;
    const struct search_locale *locale = search_locale(str_of(query->base.text));
    char count[24];
    snprintf(count, sizeof count, "%zu", tool->n_results < MAX_COUNT ? tool->n_results : (size_t)MAX_COUNT);
    buf_add_text(url, tool->url[SEARCH_BRAVE]);
    search_add_parameter(url, "q", search_text(query, MAX_CHARACTERS, MAX_WORDS));
    search_add_parameter(url, "count", str_of(count));
    search_add_parameter(url, "result_filter", STR("web"));
    search_add_parameter(url, "text_decorations", STR("false"));
    if (query->brave_extras)
        search_add_parameter(url, "extra_snippets", STR("true"));
    if (locale)
        search_add_parameter(url, "country", str_of(locale->brave_country));
    if (locale && locale->brave_language)
        search_add_parameter(url, "search_lang", str_of(locale->brave_language));
}

void search_brave_ask(void *user)
{
    struct search_query *query = user;
    struct buf url;
    if (!search_has_key(query, SEARCH_BRAVE))
        return;
    query->brave_extras = !query->call->tool->brave_plain;
    buf_init(&url, BUF_UNBOUNDED);
    make_url(&url, query);
    const struct http_header headers[] = {{"Accept", "application/json"},
                                          {"X-Subscription-Token", query->call->tool->key[SEARCH_BRAVE]}};
    struct http_options options = {.url = url.data, .headers = headers, .n_headers = 2};
    search_request(query, &options, on_response);
    buf_finish(&url);
}
