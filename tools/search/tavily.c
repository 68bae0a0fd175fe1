/* Tavily: POST {"query", "max_results"} with the key as bearer; answers {"results": [{"title", "url", "content",
 * "score", "published_date"}]}. A query has at most 400 characters. What is wrong is told as {"detail": {"error"}}: 401
 * the key, 429 the rate (Retry-After), 432 the plan's limit, 433 the limit of pay-as-you-go
 * (https://docs.tavily.com/documentation/api-reference/endpoint/search). */
#include "core/mem.h"
#include "tools/search/internal.h"

#include <stdlib.h>

enum { MAX_CHARACTERS = 400, MAX_COUNT = 20 };

static enum web_fault judge(const struct http_response *response, const json_t *root, enum web_fault usual)
{
    (void)root;
    return response->code == 432 || response->code == 433 ? WEB_USED_UP : usual;
}

static const struct web_service service = {
    .name = "Tavily",
    .denied = "check TAVILY_API_KEY",
    .used_up = "the plan's limit is reached: raise it, or wait for the next month",
    .busy = "wait, or use a key with a higher rate",
    .judge = judge,
};

static const struct web_fields fields = {
    .title = "title", .url = "url", .date = "published_date", .snippet = "content"};

static void on_response(void *user, struct http_response *response)
{
    struct search_query *query = user;
    json_t *root;
    if (!web_answer_json(&query->base.chain, response, &service, query->call->tool->key[SEARCH_TAVILY], &root))
        return;
    search_take_list(query, json_object_get(root, "results"), &fields);
    json_decref(root);
    search_answered(query);
}

void search_tavily_ask(void *user)
{
    struct search_query *query = user;
    struct search_tool *tool = query->call->tool;
    if (!search_has_key(query, SEARCH_TAVILY))
        return;
    const struct search_locale *locale = search_locale(str_of(query->base.text));
    size_t count = tool->n_results < MAX_COUNT ? tool->n_results : (size_t)MAX_COUNT;
    json_t *ask = json_object();
    json_put_str(ask, "query", search_text(query, MAX_CHARACTERS, SIZE_MAX));
    json_put(ask, "max_results", json_integer((json_int_t)count));
    if (locale && locale->tavily)
        json_put(ask, "country", json_string(locale->tavily));
    char *body = json_to_text(ask), *bearer = mem_printf("Bearer %s", tool->key[SEARCH_TAVILY]);
    const struct http_header headers[] = {{"Content-Type", "application/json"}, {"Authorization", bearer}};
    struct http_options options = {
        .url = tool->url[SEARCH_TAVILY], .headers = headers, .n_headers = 2, .body = str_of(body)};
    search_request(query, &options, on_response);
    free(bearer);
    free(body);
    json_decref(ask);
}
