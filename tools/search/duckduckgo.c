/* DuckDuckGo's page for browsers without scripts, made for people: POST q and kl (a region) to
 * html.duckduckgo.com/html/. Each result is a ".result" with the title in "a.result__a", the text in
 * ".result__snippet" and sometimes a date in ".result__extras"; an advertisement is a ".result--ad" and leads to /y.js.
 * Links lead over //duckduckgo.com/l/?uddg=ADDRESS. Whom it takes for a program gets a page with "anomaly-modal" or
 * a "challenge-form" in it, also with 202; a query of 500 characters or more gets nothing. */
#include "core/mem.h"
#include "net/url.h"
#include "tools/search/internal.h"

#include <libxml/HTMLparser.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_CHARACTERS = 490 };

static bool holds(struct str body, const char *mark)
{
    return str_find(body, str_of(mark), 0) != STR_NONE;
}

static enum web_fault judge(const struct http_response *response, const json_t *root, enum web_fault usual)
{
    (void)root;
    struct str body = buf_str(&response->body);
    bool robot = response->code == 202 || holds(body, "anomaly-modal") || holds(body, "anomaly.js") ||
                 holds(body, "challenge-form");
    return robot && response->code < 500 ? WEB_ROBOT : usual;
}

static const struct web_service service = {
    .name = "DuckDuckGo",
    .denied = "it turns this address away",
    .used_up = "it takes no more requests of this address",
    .busy = "it wants fewer requests at once",
    .robot = "wait some time, or use a search service that is made for programs",
    .judge = judge,
};

/* ---- the page ---- */

/* The value of the class attribute holds `name` as one of its words. */
static bool has_class(const xmlNode *node, const char *name)
{
    const xmlAttr *attribute = node->properties;
    while (attribute && strcmp((const char *)attribute->name, "class") != 0)
        attribute = attribute->next;
    if (!attribute || !attribute->children || !attribute->children->content)
        return false;
    struct str rest = str_of((const char *)attribute->children->content), word;
    while (str_split_next(&rest, ' ', &word)) {
        if (str_equal(word, str_of(name)))
            return true;
    }
    return false;
}

static int hex_value(char c)
{
    c = ascii_lower(c);
    return ascii_is_digit(c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Appends a query value without its percent-escapes. */
static void add_decoded(struct buf *out, struct str value)
{
    for (size_t i = 0; i < value.len; i++) {
        bool room = value.data[i] == '%' && i + 2 < value.len;
        int high = room ? hex_value(value.data[i + 1]) : -1, low = room ? hex_value(value.data[i + 2]) : -1;
        if (high >= 0 && low >= 0) {
            buf_add_char(out, (char)(high * 16 + low));
            i += 2;
        } else {
            buf_add_char(out, value.data[i] == '+' ? ' ' : value.data[i]);
        }
    }
}

/* Appends where a link of the page leads; nothing for advertisements and for what stays with DuckDuckGo. */
static void add_target(struct buf *out, struct str href)
{
    size_t host = str_find(href, STR("duckduckgo.com/"), 0), query = str_find_char(href, '?', 0);
    bool own = host != STR_NONE && (query == STR_NONE || host < query);
    if (!own && str_starts_with(href, STR("//")))
        buf_add_text(out, "https:");
    if (!own) {
        buf_add(out, href);
        return;
    }
    if (!str_starts_with(str_slice(href, host, href.len), STR("duckduckgo.com/l/")) || query == STR_NONE)
        return;
    struct str rest = str_slice(href, query + 1, href.len), parameter;
    while (str_split_next(&rest, '&', &parameter)) {
        if (str_starts_with(parameter, STR("uddg=")))
            add_decoded(out, str_slice(parameter, 5, parameter.len));
    }
}

/* A result as its parts are met. */
struct reading {
    struct web_results *results;
    bool open, known; /* one is under way; the page is one with results, or says that there are none */
    struct buf url, title, snippet, date;
};

static void close_result(struct reading *reading)
{
    const struct web_item item = {
        .title = buf_str(&reading->title),
        .url = buf_str(&reading->url),
        .date = buf_str(&reading->date),
        .snippet = buf_str(&reading->snippet),
    };
    if (reading->open)
        web_results_add(reading->results, &item);
    reading->open = false;
    buf_reset(&reading->url);
    buf_reset(&reading->title);
    buf_reset(&reading->snippet);
    buf_reset(&reading->date);
}

static void add_content(struct buf *out, const xmlNode *node)
{
    xmlChar *content = xmlNodeGetContent(node);
    buf_add_text(out, content ? (const char *)content : "");
    xmlFree(content);
}

/* Takes "2024-03-01" of "2024-03-01T00:00:00.0000000", which stands beside the address of a page that is dated. */
static void take_date(struct reading *reading, const xmlNode *text)
{
    struct str all = str_of((const char *)text->content);
    size_t at = str_find(all, STR("T00:00:00"), 0);
    if (!reading->open || reading->date.len > 0 || at == STR_NONE || at < 10)
        return;
    struct str day = str_slice(all, at - 10, at);
    if (ascii_is_digit(day.data[0]) && day.data[4] == '-' && day.data[7] == '-')
        buf_add(&reading->date, day);
}

/* Looks at one element. Whether there may be more of interest inside. */
static bool visit_element(struct reading *reading, xmlNode *node)
{
    if (has_class(node, "result--ad"))
        return false;
    if (has_class(node, "no-results") || has_class(node, "results"))
        reading->known = true;
    if (has_class(node, "result__a")) {
        close_result(reading);
        reading->open = reading->known = true;
        xmlChar *href = xmlGetProp(node, (const xmlChar *)"href");
        add_target(&reading->url, str_trim(str_of((const char *)href)));
        xmlFree(href);
        add_content(&reading->title, node);
        return false;
    }
    if (!reading->open || !has_class(node, "result__snippet") || reading->snippet.len > 0)
        return true;
    add_content(&reading->snippet, node);
    return false;
}

static void walk(struct reading *reading, xmlNode *root)
{
    for (xmlNode *node = root; node;) {
        bool inside = node->type == XML_ELEMENT_NODE && visit_element(reading, node);
        if (node->type == XML_TEXT_NODE)
            take_date(reading, node);
        if (inside && node->children) {
            node = node->children;
            continue;
        }
        while (node && node != root && !node->next)
            node = node->parent;
        node = node && node != root ? node->next : NULL;
    }
}

/* Takes the results of a page. False when it is no page of results. */
static bool read_page(struct str page, struct web_results *results)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT; /* what libxml2 sets up must not be met by a second thread */
    pthread_once(&once, xmlInitParser);
    struct reading reading = {.results = results};
    int options =
        HTML_PARSE_RECOVER | HTML_PARSE_NOERROR | HTML_PARSE_NOWARNING | HTML_PARSE_NONET | HTML_PARSE_COMPACT;
    htmlDocPtr document = page.len <= INT_MAX ? htmlReadMemory(page.data, (int)page.len, NULL, "UTF-8", options) : NULL;
    if (!document)
        return false;
    struct buf *bufs[] = {&reading.url, &reading.title, &reading.snippet, &reading.date};
    for (size_t i = 0; i < sizeof bufs / sizeof bufs[0]; i++)
        buf_init(bufs[i], BUF_UNBOUNDED); /* by the page, which is bounded */
    walk(&reading, xmlDocGetRootElement(document));
    close_result(&reading);
    for (size_t i = 0; i < sizeof bufs / sizeof bufs[0]; i++)
        buf_finish(bufs[i]);
    xmlFreeDoc(document);
    return reading.known;
}

/* ---- asking ---- */

static void on_response(void *user, struct http_response *response)
{
    struct search_query *query = user;
    struct str page;
    if (!web_answer_text(&query->base.chain, response, &service, NULL, &page))
        return;
    if (read_page(page, &query->results))
        search_answered(query);
    else
        web_answer_unreadable(&query->base.chain, &service, true, "a page without a list of results");
}

void search_duckduckgo_ask(void *user)
{
    struct search_query *query = user;
    const struct search_locale *locale = search_locale(str_of(query->base.text));
    struct buf text, form;
    buf_init(&text, BUF_UNBOUNDED);
    buf_init(&form, BUF_UNBOUNDED);
    search_add_without_bangs(&text, search_text(query, MAX_CHARACTERS, SIZE_MAX));
    search_add_parameter(&form, "q", buf_str(&text));
    search_add_parameter(&form, "b", STR(""));
    search_add_parameter(&form, "kl", str_of(locale && locale->duckduckgo ? locale->duckduckgo : "wt-wt"));
    buf_consume(&form, 1); /* the "?" of an address */
    const char *url = query->call->tool->url[SEARCH_DUCKDUCKGO];
    const struct http_header headers[] = {
        {"Content-Type", "application/x-www-form-urlencoded"},
        {"Accept", "text/html"},
        {"Referer", url}, /* the form stands on the page itself; without it a request looks made up */
    };
    struct http_options options = {.url = url, .headers = headers, .n_headers = 3, .body = buf_str(&form)};
    search_request(query, &options, on_response);
    buf_finish(&form);
    buf_finish(&text);
}
