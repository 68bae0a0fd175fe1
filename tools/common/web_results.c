#include "tools/common/web_results.h"

#include "core/mem.h"
#include "core/utf8.h"
#include "net/url.h"
#include "store/corpus.h"
#include "text/plain.h"
#include "tools/common/line.h"

#include <stdlib.h>

enum { TITLE_BYTES = 300, URL_BYTES = 2048, DATE_BYTES = 64, SOURCE_BYTES = 120, SNIPPET_BYTES = 1500 };

void web_results_init(struct web_results *results, size_t limit)
{
    *results = (struct web_results){.items = mem_calloc(limit, sizeof *results->items), .limit = limit};
}

void web_results_reset(struct web_results *results)
{
    for (size_t i = 0; i < results->count; i++) {
        struct web_result *result = &results->items[i];
        free(result->title);
        free(result->url);
        free(result->date);
        free(result->source);
        free(result->snippet);
        free(result->identity);
    }
    results->count = 0;
}

void web_results_finish(struct web_results *results)
{
    web_results_reset(results);
    free(results->items);
    *results = (struct web_results){0};
}

bool web_is_link(struct str url)
{
    if (url.len == 0 || url.len > URL_BYTES || !utf8_is_valid(url))
        return false;
    for (size_t i = 0; i < url.len; i++) {
        if ((unsigned char)url.data[i] <= ' ' || url.data[i] == 0x7f)
            return false;
    }
    return str_starts_with_nocase(url, STR("http://")) || str_starts_with_nocase(url, STR("https://")) ||
           corpus_is_link(url);
}

/* Whether an address stays within the parentheses of a Markdown link: its own are balanced. */
static bool is_balanced(struct str url)
{
    size_t open = 0;
    for (size_t i = 0; i < url.len; i++) {
        if (url.data[i] == ')' && open == 0)
            return false;
        open += url.data[i] == '(';
        open -= url.data[i] == ')';
    }
    return open == 0;
}

char *web_make_link(struct str url)
{
    struct buf out;
    bool whole = is_balanced(url) || corpus_is_link(url);
    buf_init(&out, BUF_UNBOUNDED);
    for (size_t i = 0; i < url.len; i++) {
        char c = url.data[i];
        if (!whole && (c == '(' || c == ')'))
            buf_add_text(&out, c == '(' ? "%28" : "%29");
        else
            buf_add_char(&out, c);
    }
    return buf_take(&out);
}

char *web_make_title(struct str text)
{
    char *line = line_make(text, TITLE_BYTES);
    struct buf out;
    buf_init(&out, BUF_UNBOUNDED);
    for (const char *c = line; *c; c++) {
        buf_add_char(&out, *c);
        if (c[0] == ']' && c[1] == '(')
            buf_add_char(&out, ' ');
    }
    free(line);
    return buf_take(&out);
}

static bool holds(const struct web_results *results, const char *identity)
{
    for (size_t i = 0; i < results->count; i++) {
        if (str_equal(str_of(results->items[i].identity), str_of(identity)))
            return true;
    }
    return false;
}

void web_results_add(struct web_results *results, const struct web_item *item)
{
    struct str url = str_trim(item->url);
    if (results->count == results->limit || !web_is_link(url))
        return;
    char *identity = url_identity(url);
    if (!results->keep_repeats && holds(results, identity)) {
        free(identity);
        return;
    }
    struct web_result *result = &results->items[results->count++];
    result->identity = identity;
    result->url = web_make_link(url);
    result->title = web_make_title(str_trim(item->title).len > 0 ? item->title : url);
    result->date = line_make(item->date, DATE_BYTES);
    result->source = line_make(item->source, SOURCE_BYTES);
    result->snippet = line_make(item->snippet, SNIPPET_BYTES);
}

static struct str member(const json_t *object, const char *key)
{
    return key ? json_get_str(object, key) : (struct str){0};
}

/* `text` without markup, in `out`, which bounds it: what comes later would be cut anyway. */
static struct str without_markup(struct str text, struct buf *out)
{
    if (plain_from_markup(out, text) == STATUS_TOO_BIG)
        buf_truncate(out, utf8_floor(buf_str(out), out->len));
    return buf_str(out);
}

void web_results_add_json(struct web_results *results, const json_t *object, const struct web_fields *fields)
{
    struct web_item item = {
        .title = member(object, fields->title),
        .url = member(object, fields->url),
        .date = member(object, fields->date),
        .source = member(object, fields->source),
        .snippet = member(object, fields->snippet),
    };
    struct buf title, snippet;
    buf_init(&title, (size_t)4 * TITLE_BYTES);
    buf_init(&snippet, (size_t)4 * SNIPPET_BYTES);
    if (fields->markup) {
        item.title = without_markup(item.title, &title);
        item.snippet = without_markup(item.snippet, &snippet);
    }
    web_results_add(results, &item);
    buf_finish(&snippet);
    buf_finish(&title);
}
