/* A SearXNG server: GET /search?q=…&format=json; answers {"results": [{"url", "title", "content", "publishedDate",
 * "engine"}], "answers": […], "unresponsive_engines": [["google", "timeout"], …]}
 * (https://docs.searxng.org/dev/search_api.html). JSON must be among `search: formats:` of its settings.yml, else it
 * says 403. */
#include "net/url.h"
#include "tools/search/internal.h"

#include <stdlib.h>

static void note_silent_engines(struct search_query *query, const json_t *root)
{
    size_t index, noted = 0;
    json_t *pair;
    json_array_foreach (json_object_get(root, "unresponsive_engines"), index, pair) {
        const char *engine = json_string_value(json_array_get(pair, 0));
        if (!engine || noted == 8)
            continue;
        buf_add_text(&query->notice, noted++ == 0 ? "Engines that did not answer: " : ", ");
        line_add(&query->notice, str_of(engine), 40);
    }
    if (noted > 0 && query->results.count == 0)
        tool_report_notice(query->call->run, "SearXNG found nothing for \"%s\". %s", query->text, query->notice.data);
}

static const struct search_service service = {
    .name = "SearXNG",
    .denied =
        "JSON is probably not switched on: add \"json\" under \"search: formats:\" in the server's settings.yml, or "
        "the limiter keeps programs out",
    .quota = "its limiter counts programs as bots; allow this one in limiter.toml",
    .list = "results",
    .fields = {.title = "title", .url = "url", .date = "publishedDate", .source = "engine", .snippet = "content"},
    .note = note_silent_engines,
};

static void on_response(void *user, struct http_response *response)
{
    search_take_response(user, response, &service);
}

static void make_url(struct buf *url, const struct search_query *query)
{
    struct str base = str_of(query->call->tool->searxng_url);
    bool has_query = str_find_char(base, '?', 0) != STR_NONE; /* "…/search?language=de" */
    while (!has_query && str_ends_with(base, STR("/")))
        base.len--;
    buf_add(url, base);
    if (!has_query && !str_ends_with(base, STR("/search")))
        buf_add_text(url, "/search");
    if (url_add_query(url, STR("q"), str_of(query->text)) != STATUS_OK ||
        url_add_query(url, STR("format"), STR("json")) != STATUS_OK)
        abort(); /* the buffer has no cap */
}

void search_searxng_ask(struct search_query *query)
{
    struct buf url;
    buf_init(&url, BUF_UNBOUNDED);
    make_url(&url, query);
    const struct http_header headers[] = {{"Accept", "application/json"}};
    const struct http_options options = {
        .traffic = HTTP_CONFIGURED,
        .url = url.data,
        .headers = headers,
        .n_headers = sizeof headers / sizeof headers[0],
        .total_timeout_ms = query->call->tool->request_timeout_ms,
        .max_body = SEARCH_MAX_RESPONSE,
        .accept_encoding = true,
    };
    tool_request(query->call->run, &options, on_response, query);
    buf_finish(&url);
}
