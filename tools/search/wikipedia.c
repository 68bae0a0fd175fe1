/* Wikipedia, or another MediaWiki: its search module, with the site's own word on where its pages are
 * (https://www.mediawiki.org/wiki/API:Search, API:Siteinfo). Answers {"query": {"search": [{"title", "snippet"}],
 * "general": {"server", "articlepath"}}}; what is wrong is told in a 200 as {"error": {"code", "info"}}
 * (API:Errors_and_warnings). Snippets are HTML with the hits in <span class="searchmatch">. A query has at most 300
 * characters. The user agent says what program asks, as the Wikimedia Foundation wishes. */
#include "net/url.h"
#include "tools/search/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_CHARACTERS = 300 };

static enum web_fault judge(const struct http_response *response, const json_t *root, enum web_fault usual)
{
    static const char *const passing[] = {"maxlag", "readonly", "internal_api_error", "cirrussearch", "search-error"};
    struct str code = json_get_str(json_object_get(root, "error"), "code");
    if (response->code != 200 || code.len == 0)
        return usual;
    if (str_equal(code, STR("ratelimited")))
        return WEB_BUSY;
    if (str_equal(code, STR("readapidenied")))
        return WEB_DENIED;
    for (size_t i = 0; i < sizeof passing / sizeof passing[0]; i++) {
        if (str_starts_with(code, str_of(passing[i])))
            return WEB_BROKEN;
    }
    return WEB_REJECTED;
}

static const struct web_service service = {
    .name = "Wikipedia",
    .denied = "it blocks this address, or the wiki is closed to readers without an account",
    .used_up = "it takes no more requests of this address",
    .busy = "it wants fewer requests at once",
    .judge = judge,
};

/* "https://en.wikipedia.org/wiki/$1" as the site says, else from the address that was asked. */
static void make_pattern(struct buf *out, const json_t *general, const char *asked)
{
    struct str server = json_get_str(general, "server"), path = json_get_str(general, "articlepath");
    char *origin = url_origin(str_of(asked));
    bool usable = server.len > 0 && server.len < 256 && path.len < 256 && str_find(path, STR("$1"), 0) != STR_NONE;
    if (usable && str_starts_with(server, STR("//")))
        buf_add_text(out, "https:");
    if (usable)
        buf_add(out, server);
    else
        buf_add_text(out, origin ? origin : "");
    buf_add(out, usable ? path : STR("/wiki/$1"));
    free(origin);
}

/* The page's name as its address has it: blanks are "_", and what separates parts of a title stays readable. */
static void add_name(struct buf *out, struct str title)
{
    for (size_t i = 0; i < title.len; i++) {
        char c = title.data[i] == ' ' ? '_' : title.data[i];
        if (c != '\0' && strchr("/:,", c))
            buf_add_char(out, c);
        else if (url_encode(out, str_make(&c, 1)) != STATUS_OK)
            abort(); /* the buffer has no cap */
    }
}

static void add_result(struct search_query *query, const json_t *hit, struct str pattern)
{
    struct str title = json_get_str(hit, "title");
    size_t at = str_find(pattern, STR("$1"), 0);
    if (title.len == 0 || title.len > 255) /* no longer in any MediaWiki */
        return;
    struct buf url;
    buf_init(&url, BUF_UNBOUNDED);
    buf_add(&url, str_slice(pattern, 0, at));
    add_name(&url, title);
    buf_add(&url, str_slice(pattern, at + 2, pattern.len));
    json_t *item = json_object();
    json_put_str(item, "url", buf_str(&url));
    json_put_str(item, "title", title);
    json_put_str(item, "snippet", json_get_str(hit, "snippet"));
    const struct web_fields fields = {.title = "title", .url = "url", .snippet = "snippet", .markup = true};
    web_results_add_json(&query->results, item, &fields);
    json_decref(item);
    buf_finish(&url);
}

static void on_response(void *user, struct http_response *response)
{
    struct search_query *query = user;
    json_t *root, *hit;
    size_t index;
    if (!web_answer_json(&query->base.chain, response, &service, NULL, &root))
        return;
    struct buf pattern;
    buf_init(&pattern, BUF_UNBOUNDED);
    const json_t *found = json_object_get(root, "query");
    make_pattern(&pattern, json_object_get(found, "general"), response->effective_url);
    json_array_foreach (json_object_get(found, "search"), index, hit)
        add_result(query, hit, buf_str(&pattern));
    buf_finish(&pattern);
    json_decref(root);
    search_answered(query);
}

/* The wiki's api.php: {language} is replaced, and an address of the wiki's folder gets its name. */
static void add_base(struct buf *url, struct str base, const char *language)
{
    static const char mark[] = "{language}";
    size_t at = str_find(base, STR("{language}"), 0);
    buf_add(url, str_slice(base, 0, at));
    if (at != STR_NONE) {
        buf_add_text(url, language);
        buf_add(url, str_slice(base, at + sizeof mark - 1, base.len));
    }
    if (str_find(base, STR(".php"), 0) == STR_NONE)
        buf_add_text(url, str_ends_with(base, STR("/")) ? "api.php" : "/api.php");
}

static void make_url(struct buf *url, const struct search_query *query)
{
    const struct search_tool *tool = query->call->tool;
    const struct search_locale *locale = search_locale(str_of(query->base.text));
    char count[24];
    snprintf(count, sizeof count, "%zu", tool->n_results);
    add_base(url, str_of(tool->url[SEARCH_WIKIPEDIA]), locale ? locale->language : "en");
    search_add_parameter(url, "action", STR("query"));
    search_add_parameter(url, "format", STR("json"));
    search_add_parameter(url, "formatversion", STR("2"));
    search_add_parameter(url, "list", STR("search"));
    search_add_parameter(url, "srsearch", search_text(query, MAX_CHARACTERS, SIZE_MAX));
    search_add_parameter(url, "srlimit", str_of(count));
    search_add_parameter(url, "srprop", STR("snippet"));
    search_add_parameter(url, "meta", STR("siteinfo"));
    search_add_parameter(url, "siprop", STR("general"));
}

void search_wikipedia_ask(void *user)
{
    struct search_query *query = user;
    struct buf url;
    buf_init(&url, BUF_UNBOUNDED);
    make_url(&url, query);
    const struct http_header headers[] = {
        {"Accept", "application/json"},
        {"User-Agent", "fathom/" FATHOM_VERSION " (research program, run by its user) libcurl"},
    };
    struct http_options options = {.url = url.data, .headers = headers, .n_headers = 2};
    search_request(query, &options, on_response);
    buf_finish(&url);
}
