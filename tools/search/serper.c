/* Google's results through serper.dev: POST {"q"} with the key in X-API-KEY; answers {"organic": [{"title", "link",
 * "snippet", "date", "source"}], "answerBox": {…}} (https://serper.dev/playground). */
#include "core/utf8.h"
#include "tools/search/internal.h"

#include <stdlib.h>

/* Han without Japanese kana: Google answers such queries better from its Chinese edition. */
static bool is_chinese(struct str text)
{
    bool han = false;
    while (text.len > 0) {
        size_t length;
        uint32_t c = utf8_decode(text, &length);
        if (c >= 0x3040 && c <= 0x30ff)
            return false;
        han = han || (c >= 0x4e00 && c <= 0x9fff);
        text = str_slice(text, length, text.len);
    }
    return han;
}

/* Google's own short answer, where it gave one. */
static void note_answer(struct search_query *query, const json_t *root)
{
    const json_t *box = json_object_get(root, "answerBox");
    struct str answer = json_get_str(box, "answer");
    if (answer.len == 0)
        answer = json_get_str(box, "snippet");
    if (answer.len == 0)
        return;
    buf_add_text(&query->notice, "Shown above the results: ");
    line_add(&query->notice, answer, 500);
    struct str link = json_get_str(box, "link");
    if (link.len > 0) {
        buf_add_text(&query->notice, " (");
        line_add(&query->notice, link, 500);
        buf_add_text(&query->notice, ")");
    }
}

static const struct search_service service = {
    .name = "Serper",
    .denied = "check SERPER_API_KEY",
    .quota = "wait, or use an account with a higher rate",
    .list = "organic",
    .fields = {.title = "title", .url = "link", .date = "date", .source = "source", .snippet = "snippet"},
    .note = note_answer,
};

static void on_response(void *user, struct http_response *response)
{
    search_take_response(user, response, &service);
}

static void on_no_key(void *user)
{
    struct search_query *query = user;
    if (tool_canceled(query->call->run))
        return;
    search_fail(query, false, "searching is not set up. Go on with pages you already know.",
                "Serper needs a key: set SERPER_API_KEY, or choose another back end with --search");
    search_failed(query);
}

void search_serper_ask(struct search_query *query)
{
    struct search_tool *tool = query->call->tool;
    if (!tool->serper_key) {
        tool_wait(query->call->run, 0, on_no_key, query);
        return;
    }
    json_t *ask = json_object();
    json_put_str(ask, "q", str_of(query->text));
    if (tool->n_results != SEARCH_DEFAULT_RESULTS)
        json_put(ask, "num", json_integer((json_int_t)tool->n_results));
    if (is_chinese(str_of(query->text))) {
        json_put(ask, "gl", json_string("cn"));
        json_put(ask, "hl", json_string("zh-cn"));
    }
    char *body = json_to_text(ask);
    const struct http_header headers[] = {{"Content-Type", "application/json"}, {"X-API-KEY", tool->serper_key}};
    const struct http_options options = {
        .traffic = HTTP_CONFIGURED,
        .url = tool->serper_url,
        .headers = headers,
        .n_headers = sizeof headers / sizeof headers[0],
        .body = str_of(body),
        .total_timeout_ms = tool->request_timeout_ms,
        .max_body = SEARCH_MAX_RESPONSE,
        .accept_encoding = true,
    };
    tool_request(query->call->run, &options, on_response, query);
    free(body);
    json_decref(ask);
}
