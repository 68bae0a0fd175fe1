/* What was found, whatever the servers sent. */
#include "core/mem.h"
#include "core/utf8.h"
#include "store/corpus.h"
#include "tools/common/line.h"
#include "tools/search/internal.h"

#include <stdlib.h>

enum { TITLE_BYTES = 300, URL_BYTES = 2048, DATE_BYTES = 64, SOURCE_BYTES = 120, SNIPPET_BYTES = 1500 };

void search_results_init(struct search_results *results, size_t limit)
{
    *results = (struct search_results){.items = mem_calloc(limit, sizeof *results->items), .limit = limit};
}

void search_results_finish(struct search_results *results)
{
    for (size_t i = 0; i < results->count; i++) {
        struct search_result *result = &results->items[i];
        free(result->title);
        free(result->url);
        free(result->date);
        free(result->source);
        free(result->snippet);
    }
    free(results->items);
    *results = (struct search_results){0};
}

/* Only what `visit` could open, and nothing that would break out of the parentheses of a Markdown link. */
static bool is_link(struct str url)
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

void search_results_add(struct search_results *results, struct str title, struct str url, struct str date,
                        struct str source, struct str snippet)
{
    url = str_trim(url);
    if (results->count == results->limit || !is_link(url))
        return;
    for (size_t i = 0; i < results->count; i++) {
        if (str_equal(str_of(results->items[i].url), url))
            return;
    }
    struct search_result *result = &results->items[results->count++];
    result->url = str_dup(url);
    result->title = line_make(str_trim(title).len > 0 ? title : url, TITLE_BYTES);
    result->date = line_make(date, DATE_BYTES);
    result->source = line_make(source, SOURCE_BYTES);
    result->snippet = line_make(snippet, SNIPPET_BYTES);
}

static struct str member(const json_t *object, const char *key)
{
    return key ? json_get_str(object, key) : (struct str){0};
}

void search_results_add_json(struct search_results *results, const json_t *object, const struct search_fields *fields)
{
    search_results_add(results, member(object, fields->title), member(object, fields->url),
                       member(object, fields->date), member(object, fields->source), member(object, fields->snippet));
}
