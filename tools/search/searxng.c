/* A SearXNG server, or searx from which it comes: GET /search?q=…&format=json; answers {"results": [{"url", "title",
 * "content", "publishedDate", "engine"}], "answers": ["…"] (of newer versions [{"answer", "url"}]),
 * "unresponsive_engines": [["google", "timeout"], …]} (https://docs.searxng.org/dev/search_api.html). JSON must be
 * among `search: formats:` of its settings.yml, else it says 403. */
#include "tools/search/internal.h"

static const struct web_service service = {
    .name = "SearXNG",
    .denied =
        "JSON is probably not switched on: add \"json\" under \"search: formats:\" in the server's settings.yml, or "
        "the limiter keeps programs out",
    .used_up = "it takes no more requests",
    .busy = "its limiter counts programs as bots; allow this one in limiter.toml",
};

static const struct web_fields fields = {
    .title = "title", .url = "url", .date = "publishedDate", .source = "engine", .snippet = "content"};

static void note_answer(struct search_query *query, const json_t *root)
{
    const json_t *first = json_array_get(json_object_get(root, "answers"), 0);
    struct str text = str_make(json_string_value(first), json_string_length(first));
    search_note_answer(query, json_is_string(first) ? text : json_get_str(first, "answer"), json_get_str(first, "url"));
}

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
        tool_report_notice(query->call->run, "SearXNG found nothing for \"%s\". %s", query->base.text,
                           query->notice.data);
}

static void on_response(void *user, struct http_response *response)
{
    struct search_query *query = user;
    json_t *root;
    if (!web_answer_json(&query->base.chain, response, &service, NULL, &root))
        return;
    search_take_list(query, json_object_get(root, "results"), &fields);
    note_silent_engines(query, root);
    note_answer(query, root);
    json_decref(root);
    search_answered(query);
}

static void make_url(struct buf *url, const struct search_query *query)
{
    struct str base = str_of(query->call->tool->url[SEARCH_SEARXNG]);
    const struct search_locale *locale = search_locale(str_of(query->base.text));
    bool has_query = str_find_char(base, '?', 0) != STR_NONE; /* "…/search?language=de" */
    while (!has_query && str_ends_with(base, STR("/")))
        base.len--;
    buf_add(url, base);
    if (!has_query && !str_ends_with(base, STR("/search")))
        buf_add_text(url, "/search");
    struct buf text;
    buf_init(&text, BUF_UNBOUNDED);
    search_add_without_bangs(&text, str_of(query->base.text));
    search_add_parameter(url, "q", buf_str(&text));
    buf_finish(&text);
    search_add_parameter(url, "format", STR("json"));
    if (locale && str_find(base, STR("language="), 0) == STR_NONE)
        search_add_parameter(url, "language", str_of(locale->language));
}

void search_searxng_ask(void *user)
{
    struct search_query *query = user;
    struct buf url;
    buf_init(&url, BUF_UNBOUNDED);
    make_url(&url, query);
    const struct http_header headers[] = {{"Accept", "application/json"}};
    struct http_options options = {.url = url.data, .headers = headers, .n_headers = 1};
    search_request(query, &options, on_response);
    buf_finish(&url);
}
