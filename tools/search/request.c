/* What the back ends share that ask over the network. */
#include "core/utf8.h"
#include "net/url.h"
#include "tools/search/internal.h"

#include <stdio.h>
#include <stdlib.h>

void search_request(struct search_query *query, struct http_options *options, http_done_fn done)
{
    web_results_reset(&query->results);
    buf_reset(&query->notice);
    options->traffic = HTTP_CONFIGURED;
    options->total_timeout_ms = query->call->tool->request_timeout_ms;
    options->max_body = WEB_MAX_RESPONSE;
    options->accept_encoding = true;
    tool_request(query->call->run, options, done, query);
}

static void on_no_key(void *user)
{
    struct search_query *query = user;
    struct search_tool *tool = query->call->tool;
    enum search_backend backend = (enum search_backend)(chain_backend(&query->base.chain) - tool->backends);
    const struct search_kind *kind = &search_kinds[backend];
    char remedy[128];
    snprintf(remedy, sizeof remedy, "set %s, or choose another back end with --search", kind->key_name);
    web_answer_no_key(&query->base.chain, kind->name, remedy);
}

bool search_has_key(struct search_query *query, enum search_backend backend)
{
    if (query->call->tool->key[backend])
        return true;
    tool_wait(query->call->run, 0, on_no_key, query);
    return false;
}

void search_take_list(struct search_query *query, const json_t *list, const struct web_fields *fields)
{
    size_t index;
    json_t *item;
    json_array_foreach (list, index, item)
        web_results_add_json(&query->results, item, fields);
}

void search_note_answer(struct search_query *query, struct str answer, struct str link)
{
    if (answer.len == 0)
        return;
    buf_add_text(&query->notice, query->notice.len > 0 ? "\n" : "");
    buf_add_text(&query->notice, "Shown above the results: ");
    line_add(&query->notice, answer, 500);
    if (link.len > 0) {
        buf_add_text(&query->notice, " (");
        line_add(&query->notice, link, 500);
        buf_add_text(&query->notice, ")");
    }
}

struct str search_text(const struct search_query *query, size_t max_characters, size_t max_words)
{
    struct str text = str_of(query->base.text), rest = text;
    size_t characters = 0, words = 1, last_blank = 0, at = 0;
    while (rest.len > 0) {
        size_t length;
        utf8_decode(rest, &length);
        if (rest.data[0] == ' ') {
            last_blank = at;
            words++;
        }
        if (characters == max_characters || words > max_words)
            return str_slice(text, 0, last_blank > at / 2 ? last_blank : at);
        characters++;
        at += length;
        rest = str_slice(rest, length, rest.len);
    }
    return text;
}

void search_add_parameter(struct buf *url, const char *name, struct str value)
{
    if (url_add_query(url, str_of(name), value) != STATUS_OK)
        abort();
}

void search_add_without_bangs(struct buf *out, struct str text)
{
    char before = ' ';
    for (size_t i = 0; i < text.len; i++) {
        if ((text.data[i] == '!' || text.data[i] == '\\') && before == ' ')
            continue;
        before = text.data[i];
        buf_add_char(out, before);
    }
}
