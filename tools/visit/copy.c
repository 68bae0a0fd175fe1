/* A page's copy in the page cache. The rules are net/freshness.h's; the address guard's hold for copies, too. */
#include "core/mem.h"
#include "net/freshness.h"
#include "tools/visit/network.h"

#include <stdlib.h>
#include <time.h>

struct look_up {
    struct visit_page *page;
    void (*then)(struct visit_page *page);
};

void visit_copy_say(struct visit_page *page)
{
    struct fetching *fetching = page->fetching;
    if (!fetching || !fetching->cache_notice)
        return;
    tool_report_notice(page->call->run, "%s", fetching->cache_notice);
    free(fetching->cache_notice);
    fetching->cache_notice = NULL;
}

static void take_notice(struct visit_page *page)
{
    if (!page->fetching->cache_notice)
        page->fetching->cache_notice = page_cache_notice(page->call->tool->network->cache);
}

/* ---- looking it up ---- */

/* A copy from an internal network is as internal as the page: every address that it came from must still be one that
 * the guard lets through. */
static bool is_allowed(const struct guard *guard, const char *addresses)
{
    struct str rest = str_of(addresses), address;
    bool any = false;
    while (str_split_next(&rest, ' ', &address)) {
        char *text = str_dup(address);
        bool allowed = guard_text_allowed(guard, text);
        free(text);
        if (!allowed)
            return false;
        any = true;
    }
    return any;
}

static void look(void *user)
{
    struct visit_page *page = ((struct look_up *)user)->page;
    struct fetching *fetching = page->fetching;
    fetching->has_copy =
        page_cache_find(page->call->tool->network->cache, str_of(fetching->key), time(NULL), &fetching->copy);
    take_notice(page);
}

static void on_looked(void *user)
{
    struct look_up *look_up = user;
    struct visit_page *page = look_up->page;
    void (*then)(struct visit_page *) = look_up->then;
    free(look_up);
    if (visit_page_over(page))
        return;
    visit_copy_say(page);
    struct fetching *fetching = page->fetching;
    if (fetching->has_copy && !is_allowed(page->call->tool->guard, fetching->copy.addresses)) {
        page_entry_finish(&fetching->copy);
        fetching->has_copy = false;
    }
    then(page);
}

void visit_copy_find(struct visit_page *page, void (*then)(struct visit_page *page))
{
    struct look_up *look_up = mem_zalloc(sizeof *look_up);
    look_up->page = page;
    look_up->then = then;
    if (page->fetching->key)
        tool_work(page->call->run, look, on_looked, look_up);
    else
        tool_wait(page->call->run, 0, on_looked, look_up);
}

/* ---- using it ---- */

bool visit_copy_is_fresh(const struct visit_page *page)
{
    const struct fetching *fetching = page->fetching;
    int64_t now = time(NULL);
    /* A copy from the future says that one of two clocks is wrong. */
    return fetching->has_copy && now >= fetching->copy.stored_at && now < fetching->copy.fresh_until;
}

bool visit_copy_may_do(const struct visit_page *page)
{
    return page->fetching->has_copy && !page->fetching->copy.must_confirm;
}

void visit_copy_use(struct visit_page *page, bool outdated)
{
    struct page_entry *copy = &page->fetching->copy;
    page->content_type = copy->content_type ? copy->content_type : mem_strdup("");
    page->base_url = copy->final_url;
    buf_finish(&page->body);
    page->body = copy->body;
    copy->content_type = copy->final_url = NULL;
    copy->body = (struct buf){0};
    page->copied_at = copy->stored_at;
    page->outdated = outdated;
    page->truncated = false;
}

size_t visit_copy_conditions(struct visit_page *page, struct http_header *headers)
{
    struct fetching *fetching = page->fetching;
    size_t count = 0;
    if (fetching->has_copy && fetching->copy.etag)
        headers[count++] = (struct http_header){"If-None-Match", fetching->copy.etag};
    if (fetching->has_copy && fetching->copy.last_modified)
        headers[count++] = (struct http_header){"If-Modified-Since", fetching->copy.last_modified};
    fetching->conditional = count > 0;
    return count;
}

/* ---- writing it ---- */

static struct freshness judge(const struct http_response *response, const struct page_entry *copy, int64_t now)
{
    char *cache_control = http_response_header_list(response, "Cache-Control");
    char *vary = http_response_header_list(response, "Vary");
    const struct freshness_headers headers = {
        .cache_control = cache_control,
        .pragma = http_response_header(response, "Pragma"),
        .expires = http_response_header(response, "Expires"),
        .date = http_response_header(response, "Date"),
        .age = http_response_header(response, "Age"),
        .last_modified = http_response_header(response, "Last-Modified"),
        .vary = vary,
    };
    struct freshness freshness = freshness_judge(&headers, now);
    /* Headers that a 304 leaves out stay as they were (RFC 9111, 3.2). */
    if (response->code == 304 && !headers.cache_control && !headers.expires) {
        freshness.lifetime_s = copy->fresh_until > copy->stored_at ? copy->fresh_until - copy->stored_at : 0;
        freshness.must_confirm = copy->must_confirm;
    }
    free(cache_control);
    free(vary);
    return freshness;
}

void visit_copy_note(struct visit_page *page, const struct http_response *response)
{
    struct fetching *fetching = page->fetching;
    int64_t now = time(NULL);
    bool confirmed = response->code == 304, whole = response->code == 200 && !page->truncated;
    if (!fetching->key)
        return;
    struct freshness freshness = judge(response, &fetching->copy, now);
    bool known_origin = confirmed || (response->addresses && *response->addresses);
    page_entry_finish(&fetching->entry);
    if (!freshness.store || !known_origin || !(confirmed || whole)) {
        fetching->write = fetching->has_copy ? COPY_REMOVE : COPY_KEEP;
        return;
    }
    const char *etag = http_response_header(response, "ETag");
    const char *last_modified = http_response_header(response, "Last-Modified");
    const char *type = http_response_header(response, "Content-Type");
    fetching->write = confirmed ? COPY_CONFIRM : COPY_STORE;
    fetching->entry = (struct page_entry){
        .final_url = mem_strdup(response->effective_url),
        .addresses = mem_strdup_or_null(response->addresses),
        .content_type = mem_strdup_or_null(type),
        .etag = freshness_is_etag(etag) ? mem_strdup(etag) : NULL,
        .last_modified = freshness_is_date(last_modified, now) ? mem_strdup(last_modified) : NULL,
        .stored_at = now,
        .fresh_until = now + freshness.lifetime_s,
        .must_confirm = freshness.must_confirm,
    };
}

void visit_copy_write(struct visit_page *page)
{
    struct fetching *fetching = page->fetching;
    if (!fetching || fetching->write == COPY_KEEP)
        return;
    struct page_cache *cache = page->call->tool->network->cache;
    struct str key = str_of(fetching->key);
    switch (fetching->write) {
    case COPY_KEEP:
        break;
    case COPY_STORE:
        fetching->entry.body = page->body; /* borrowed */
        page_cache_store(cache, key, &fetching->entry);
        fetching->entry.body = (struct buf){0};
        break;
    case COPY_CONFIRM:
        page_cache_confirm(cache, key, &fetching->entry);
        break;
    case COPY_REMOVE:
        page_cache_remove(cache, key);
        break;
    }
    fetching->write = COPY_KEEP;
    take_notice(page);
}
