/* A page through Jina Reader: GET https://r.jina.ai/URL, with "Accept: application/json" answers {"code": 200, "data":
 * {"title", "url", "content", "publishedTime", "warning"}} (https://github.com/jina-ai/reader). */
#include "core/json.h"
#include "core/mem.h"
#include "net/url.h"
#include "tools/visit/internal.h"

#include <stdlib.h>
#include <string.h>

static const char *why_unusable(const struct http_response *response)
{
    if (response->status == STATUS_TIMEOUT)
        return "did not answer in time";
    if (response->status != STATUS_OK)
        return "could not be reached";
    if (response->code == 401 || response->code == 403)
        return "refused the key (check JINA_API_KEY)";
    if (response->code == 402)
        return "says that the account has no tokens left";
    if (response->code == 429)
        return "takes no more requests at the moment";
    return response->code == 200 ? NULL : "could not read the page";
}

/* "Target URL returned error 404: Not Found": what came is the error's page. */
static int target_error(struct str warning)
{
    struct str mark = STR("returned error ");
    size_t at = str_find(warning, mark, 0);
    int64_t code;
    if (at == STR_NONE || !str_to_int64(str_slice(warning, at + mark.len, at + mark.len + 3), &code))
        return 0;
    return code >= 400 && code <= 599 ? (int)code : 0;
}

static void lose(struct visit_page *page, const char *why)
{
    char *detail = mem_printf("Jina Reader %s", why);
    visit_page_lost(page, VISIT_FAULT_BLOCKED, detail, "the service that reads pages could not read it.");
    free(detail);
}

static bool take_data(struct visit_page *page, const json_t *data)
{
    struct str content = json_get_str(data, "content");
    if (str_trim(content).len == 0)
        return false;
    struct str date = json_get_str(data, "publishedTime");
    page->title = line_make(json_get_str(data, "title"), 300);
    page->date = date.len > 0 ? line_make(date, 40) : NULL;
    page->base_url = mem_strdup(page->target);
    buf_reset(&page->body);
    page->is_text = true;
    return buf_append_str(&page->body, content) == STATUS_OK;
}

/* What the job makes of a reply, which may be megabytes of JSON. */
struct reply {
    struct visit_page *page;
    int error;       /* the site's, as the service tells it; 0: none */
    const char *why; /* it is of no use; NULL where the page has its text */
};

static void read_reply(void *user)
{
    struct reply *reply = user;
    json_t *root = NULL;
    reply->why = "sent no JSON";
    if (json_parse(buf_str(&reply->page->body), &root, NULL) != STATUS_OK)
        return;
    const json_t *data = json_object_get(root, "data");
    reply->error = target_error(json_get_str(data, "warning"));
    reply->why = reply->error == 0 && take_data(reply->page, data) ? NULL : "found no text";
    json_decref(root);
}

static void on_read(void *user)
{
    struct reply reply = *(struct reply *)user;
    free(user);
    if (visit_page_over(reply.page))
        return;
    if (reply.error > 0)
        visit_page_lost(reply.page, reply.error == 404 || reply.error == 410 ? VISIT_FAULT_GONE : VISIT_FAULT_BLOCKED,
                        NULL, "the site gave no page (HTTP %d).", reply.error);
    else if (reply.why)
        lose(reply.page, reply.why);
    else
        visit_page_fetched(reply.page);
}

static void on_response(void *user, struct http_response *response)
{
    struct visit_page *page = user;
    if (visit_page_over(page))
        return;
    const char *why = why_unusable(response);
    if (why) {
        lose(page, why);
        return;
    }
    struct reply *reply = mem_zalloc(sizeof *reply);
    reply->page = page;
    buf_finish(&page->body);
    page->body = response->body;
    response->body = (struct buf){0};
    tool_work(page->call->run, read_reply, on_read, reply);
}

static void ask_reader(struct visit_page *page)
{
    struct visit_tool *tool = page->call->tool;
    char *target = NULL;
    if (url_canonical(str_of(page->target), &target, NULL) != STATUS_OK) {
        visit_page_failed(page, NULL, "this is not a web address that can be opened.");
        return;
    }
    struct str base = str_of(tool->jina_url);
    while (str_ends_with(base, STR("/")))
        base.len--;
    char *url = mem_printf("%.*s/%s", STR_ARG(base), target);
    char *authorization = tool->jina_key ? mem_printf("Bearer %s", tool->jina_key) : NULL;
    const struct http_header headers[] = {{"Accept", "application/json"}, {"Authorization", authorization}};
    const struct http_options options = {
        .traffic = HTTP_CONFIGURED,
        .url = url,
        .headers = headers,
        .n_headers = authorization ? 2 : 1,
        .total_timeout_ms = tool->page_timeout_ms,
        .max_body = tool->max_bytes,
        .accept_encoding = true,
    };
    tool_request(page->call->run, &options, on_response, page);
    free(authorization);
    free(url);
    free(target);
}

void visit_fetch_jina(struct visit_page *page)
{
    visit_ask_outside(page, page->call->tool->jina_url, ask_reader);
}
