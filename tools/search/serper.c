/* Google's results through serper.dev: POST {"q"} with the key in X-API-KEY; answers {"organic": [{"title", "link",
 * "snippet", "date", "source"}], "answerBox": {…}}, and {"message", "statusCode"} where something is wrong
 * (https://serper.dev/playground). */
#include "tools/search/internal.h"

#include <stdlib.h>

static const struct web_service service = {
    .name = "Serper",
    .denied = "check SERPER_API_KEY",
    .used_up = "the account has no credits left",
    .busy = "wait, or use an account with a higher rate",
};

static const struct web_fields fields = {
    .title = "title", .url = "link", .date = "date", .source = "source", .snippet = "snippet"};

/* Google's own short answer, where it gave one. */
static void note_answer(struct search_query *query, const json_t *root)
{
    const json_t *box = json_object_get(root, "answerBox");
    struct str answer = json_get_str(box, "answer");
    search_note_answer(query, answer.len > 0 ? answer : json_get_str(box, "snippet"), json_get_str(box, "link"));
}

static void on_response(void *user, struct http_response *response)
{
    struct search_query *query = user;
    json_t *root;
    if (!web_answer_json(&query->base.chain, response, &service, query->call->tool->key[SEARCH_SERPER], &root))
        return;
    search_take_list(query, json_object_get(root, "organic"), &fields);
    note_answer(query, root);
    json_decref(root);
    search_answered(query);
}

void search_serper_ask(void *user)
{
    struct search_query *query = user;
    struct search_tool *tool = query->call->tool;
    if (!search_has_key(query, SEARCH_SERPER))
        return;
    const struct search_locale *locale = search_locale(str_of(query->base.text));
    json_t *ask = json_object();
    json_put_str(ask, "q", str_of(query->base.text));
    if (tool->n_results != SEARCH_DEFAULT_RESULTS)
        json_put(ask, "num", json_integer((json_int_t)tool->n_results));
    if (locale) {
        json_put(ask, "gl", json_string(locale->google_country));
        json_put(ask, "hl", json_string(locale->google_language));
    }
    char *body = json_to_text(ask);
    const struct http_header headers[] = {{"Content-Type", "application/json"},
                                          {"X-API-KEY", tool->key[SEARCH_SERPER]}};
    struct http_options options = {
        .url = tool->url[SEARCH_SERPER], .headers = headers, .n_headers = 2, .body = str_of(body)};
    search_request(query, &options, on_response);
    free(body);
    json_decref(ask);
}
