/* A page's last copy in the Internet Archive. Its availability API (https://archive.org/help/wayback_api.php), GET
 * /wayback/available?url=URL&timestamp=YYYYMMDD, answers {"archived_snapshots": {"closest": {"available": true, "url":
 * "http://web.archive.org/web/20230501120000/URL", "timestamp": "20230501120000", "status": "200"}}}, or with an empty
 * object where there is none; without a timestamp it sometimes knows of no copy although there are some. With "id_"
 * behind the time the copy comes as it was, without the archive's own banner and links.
 *
 * The API is asked as a configured service. The copy's address is its answer, so the copy is fetched like any page. */
#include "core/json.h"
#include "core/mem.h"
#include "net/url.h"
#include "tools/visit/internal.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MAX_ANSWER_BYTES = 256 * 1024 };

#define API_TIMEOUT_MS 15000

/* The address of the copy as it was. NULL where the answer names none. */
static char *copy_address(struct str answer)
{
    json_t *root = NULL;
    if (json_parse(answer, &root, NULL) != STATUS_OK)
        return NULL;
    const json_t *closest = json_object_get(json_object_get(root, "archived_snapshots"), "closest");
    struct str status = json_get_str(closest, "status"), time;
    struct str url = json_get_str(closest, "url"), original = visit_archived(url, &time);
    bool usable = original.len > 0 && time.len >= 8 && !json_is_false(json_object_get(closest, "available")) &&
                  (status.len == 0 || status.data[0] == '2');
    char *copy = NULL;
    if (usable) {
        struct str front = str_make(url.data, (size_t)(time.data - url.data));
        /* The API still says http:// of an archive that has long spoken https:// */
        bool plain = str_starts_with(front, STR("http://web.archive.org/"));
        if (plain)
            front = str_slice(front, strlen("http://"), front.len);
        copy =
            mem_printf("%s%.*s%.*sid_/%.*s", plain ? "https://" : "", STR_ARG(front), STR_ARG(time), STR_ARG(original));
    }
    json_decref(root);
    return copy;
}

static const char *why_unusable(const struct http_response *response)
{
    if (response->status == STATUS_TIMEOUT)
        return "the Internet Archive did not answer in time";
    if (response->status != STATUS_OK)
        return "the Internet Archive could not be reached";
    if (response->code == 429)
        return "the Internet Archive takes no more requests at the moment";
    return response->code == 200 ? NULL : "the Internet Archive could not say whether it has a copy";
}

static void on_answer(void *user, struct http_response *response)
{
    struct visit_page *page = user;
    if (visit_page_over(page))
        return;
    const char *why = why_unusable(response);
    char *copy = why ? NULL : copy_address(buf_str(&response->body));
    if (copy) {
        free(page->target);
        page->target = copy;
        visit_fetch(page);
        return;
    }
    visit_page_lost(page, VISIT_FAULT_BLOCKED, why ? why : "the Internet Archive has no copy of it",
                    "it cannot be read, and the Internet Archive has no copy to offer.");
}

static void ask(struct visit_page *page)
{
    const struct visit_tool *tool = page->call->tool;
    struct str base = str_of(tool->archive_url);
    while (str_ends_with(base, STR("/")))
        base.len--;
    char day[16] = "", *target = NULL;
    time_t now = time(NULL);
    struct tm parts;
    if (gmtime_r(&now, &parts))
        strftime(day, sizeof day, "%Y%m%d", &parts);
    if (url_canonical(str_of(page->target), &target, NULL) != STATUS_OK) {
        visit_page_failed(page, NULL, "this is not a web address that can be opened.");
        return;
    }
    struct buf url;
    buf_init(&url, BUF_UNBOUNDED);
    buf_addf(&url, "%.*s/wayback/available", STR_ARG(base));
    if (url_add_query(&url, STR("url"), str_of(target)) != STATUS_OK ||
        url_add_query(&url, STR("timestamp"), str_of(day)) != STATUS_OK)
        abort(); /* the buffer has no cap */
    static const struct http_header headers[] = {{"Accept", "application/json"}};
    const struct http_options options = {
        .traffic = HTTP_CONFIGURED,
        .url = url.data,
        .headers = headers,
        .n_headers = 1,
        .total_timeout_ms = tool->page_timeout_ms < API_TIMEOUT_MS ? tool->page_timeout_ms : API_TIMEOUT_MS,
        .max_body = MAX_ANSWER_BYTES,
        .accept_encoding = true,
    };
    tool_request(page->call->run, &options, on_answer, page);
    buf_finish(&url);
    free(target);
}

void visit_fetch_archive(struct visit_page *page)
{
    visit_ask_outside(page, page->call->tool->archive_url, ask);
}
