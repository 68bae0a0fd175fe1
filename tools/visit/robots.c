/* The robots.txt of sites: fetched once for all pages of an origin, and kept for a day. */
#include "net/robots.h"

#include "core/mem.h"
#include "loop/loop.h"
#include "net/retry.h"
#include "net/url.h"
#include "tools/visit/network.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define KEPT_MS          (INT64_C(24) * 3600 * 1000)
#define UNREADABLE_MS    (INT64_C(10) * 60 * 1000) /* until one that could not be read is tried again */
#define ROBOTS_REDIRECTS 5                         /* RFC 9309, 2.3.1.2 */
#define MAX_FILES        2000
#define TIMEOUT_MS       15000

struct robots_file {
    char *origin;
    int64_t until_ms; /* by the loop's clock; 0: not known */
    bool unreadable;
    struct robots *rules;     /* NULL: everything is allowed */
    struct visit_page *asker; /* whose call fetches it; NULL: nobody's */
    struct visit_page *first; /* of the pages that wait, the asker among them */
    struct robots_file *next;
};

static void begin(struct robots_file *file, struct visit_page *page);

/* ---- the files ---- */

static bool is_known(const struct network *network, const struct robots_file *file)
{
    return file->until_ms > 0 && loop_now_ms(network->loop) < file->until_ms;
}

static void free_file(struct robots_file *file)
{
    robots_destroy(file->rules);
    free(file->origin);
    free(file);
}

void visit_robots_free(struct network *network)
{
    while (network->robots_files) {
        struct robots_file *first = network->robots_files;
        network->robots_files = first->next;
        free_file(first);
    }
}

static struct robots_file *find_file(const struct network *network, const char *origin)
{
    struct robots_file *file = network->robots_files;
    while (file && strcmp(file->origin, origin) != 0)
        file = file->next;
    return file;
}

/* The oldest that nobody waits for makes way. */
static void drop_one(struct network *network)
{
    struct robots_file **oldest = NULL;
    for (struct robots_file **link = &network->robots_files; *link; link = &(*link)->next) {
        if (!(*link)->first)
            oldest = link;
    }
    if (!oldest)
        return;
    struct robots_file *file = *oldest;
    *oldest = file->next;
    free_file(file);
    network->n_robots_files--;
}

static struct robots_file *need_file(struct network *network, const char *origin)
{
    struct robots_file *file = find_file(network, origin);
    if (file)
        return file;
    if (network->n_robots_files >= MAX_FILES)
        drop_one(network);
    file = mem_zalloc(sizeof *file);
    file->origin = mem_strdup(origin);
    file->next = network->robots_files;
    network->robots_files = file;
    network->n_robots_files++;
    return file;
}

static bool allows(const struct robots_file *file, const char *url)
{
    struct url parts;
    if (url_parse(str_of(url), &parts, NULL) != STATUS_OK)
        return true; /* no request comes of it */
    char *target = parts.query ? mem_printf("%s?%s", parts.path, parts.query) : mem_strdup(parts.path);
    bool allowed = robots_allows(file->rules, str_of(target));
    free(target);
    url_finish(&parts);
    return allowed;
}

enum robots_verdict visit_robots_verdict(const struct network *network, const char *url)
{
    char *origin = url_origin(str_of(url));
    if (!origin)
        return ROBOTS_ALLOW; /* the request says what is wrong with it */
    const struct robots_file *file = network->loop ? find_file(network, origin) : NULL;
    free(origin);
    if (!file || !is_known(network, file))
        return ROBOTS_UNKNOWN;
    if (file->unreadable)
        return ROBOTS_UNREADABLE;
    return allows(file, url) ? ROBOTS_ALLOW : ROBOTS_FORBID;
}

/* ---- who waits ---- */

static void stop_waiting(struct visit_page *page)
{
    struct robots_file *file = page->fetching->robots_file;
    struct visit_page **link = &file->first;
    while (*link != page)
        link = &(*link)->fetching->robots_next;
    *link = page->fetching->robots_next;
    page->fetching->robots_file = NULL;
    page->fetching->robots_next = NULL;
}

void visit_robots_forget(struct visit_page *page)
{
    struct robots_file *file = page->fetching->robots_file;
    if (!file)
        return;
    stop_waiting(page);
    if (file->asker != page)
        return;
    /* Somebody else's call goes on with it. */
    file->asker = NULL;
    for (struct visit_page *other = file->first; other; other = other->fetching->robots_next) {
        if (!visit_page_over(other)) {
            begin(file, other);
            return;
        }
    }
}

static void go_on(void *user)
{
    struct visit_page *page = user;
    if (!visit_page_over(page))
        visit_fetch_after_robots(page);
}

/* The file is known: all who wait go on. */
static void conclude(struct robots_file *file, struct loop *loop, int64_t kept_ms)
{
    file->until_ms = loop_now_ms(loop) + kept_ms;
    file->asker = NULL;
    while (file->first) {
        struct visit_page *page = file->first;
        stop_waiting(page);
        tool_wait(page->call->run, 0, go_on, page);
    }
}

/* ---- fetching ---- */

static void take_rules(struct robots_file *file, struct str text)
{
    robots_destroy(file->rules);
    file->rules = robots_parse(text, STR(ROBOTS_PRODUCT));
}

static void on_response(void *user, struct http_response *response)
{
    struct visit_page *page = user;
    struct network *network = page->call->tool->network;
    struct robots_file *file = page->fetching->robots_file;
    site_turn_end(network, &page->fetching->turn);
    if (response->status == STATUS_CANCELED) {
        visit_robots_forget(page);
        return;
    }
    bool answered = response->status == STATUS_OK || response->status == STATUS_TOO_BIG;
    bool busy = answered && (response->code == 429 || response->code >= 500);
    bool endless = response->status == STATUS_NETWORK && response->redirects >= ROBOTS_REDIRECTS;
    /* What the guard refuses for robots.txt it refuses for the page, and says so better. */
    bool pointless = response->status == STATUS_REFUSED || response->status == STATUS_INVALID;
    file->unreadable = busy || (!answered && !endless && !pointless);
    if (response->status == STATUS_OK && (response->code == 429 || response->code == 503))
        site_pause(network, file->origin, retry_after_parse(http_response_header(response, "Retry-After"), time(NULL)));
    bool found = answered && response->code >= 200 && response->code <= 299;
    take_rules(file, found ? buf_str(&response->body) : STR(""));
    conclude(file, network->loop, file->unreadable ? UNREADABLE_MS : KEPT_MS);
}

static void on_turn(void *user)
{
    struct visit_page *page = user;
    struct network *network = page->call->tool->network;
    struct robots_file *file = page->fetching->robots_file;
    if (visit_page_over(page)) {
        site_turn_end(network, &page->fetching->turn);
        visit_robots_forget(page);
        return;
    }
    if (page->fetching->turn.refused_ms > 0) { /* the page's own turn is refused the same way, with the right words */
        file->unreadable = false;
        take_rules(file, STR(""));
        conclude(file, network->loop, page->fetching->turn.refused_ms);
        return;
    }
    char *url = mem_printf("%s/robots.txt", file->origin);
    int64_t own = page->call->tool->page_timeout_ms;
    const struct http_options options = {
        .traffic = HTTP_GUARDED,
        .url = url,
        .total_timeout_ms = own < TIMEOUT_MS ? own : TIMEOUT_MS,
        .max_body = ROBOTS_MAX_BYTES,
        .max_redirects = ROBOTS_REDIRECTS,
        .accept_encoding = true,
    };
    tool_request(page->call->run, &options, on_response, page);
    free(url);
}

static void begin(struct robots_file *file, struct visit_page *page)
{
    struct site_turn *turn = &page->fetching->turn;
    file->asker = page;
    turn->come = on_turn;
    turn->user = page;
    site_turn_start(page->call->tool->network, turn, page->call, file->origin);
}

void visit_robots_ask(struct visit_page *page, const char *url)
{
    struct network *network = page->call->tool->network;
    char *origin = url_origin(str_of(url));
    struct robots_file *file = origin ? need_file(network, origin) : NULL;
    free(origin);
    if (!file || (network->loop && is_known(network, file))) {
        tool_wait(page->call->run, 0, go_on, page);
        return;
    }
    page->fetching->robots_file = file;
    page->fetching->robots_next = file->first;
    file->first = page;
    if (!file->asker)
        begin(file, page);
}
