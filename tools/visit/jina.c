/* A page through Jina Reader: GET https://r.jina.ai/URL, with "Accept: application/json" answers {"code": 200, "data":
 * {"title", "url", "content", "warning"}} (https://github.com/jina-ai/reader).
 *
 * The request goes to a configured address, but the page's address came from a model: it has to pass the guard's rules
 * all the same, since a reader inside our network could reach what the guard keeps from us. */
#include "core/json.h"
#include "core/mem.h"
#include "net/resolve.h"
#include "net/url.h"
#include "tools/visit/internal.h"

#include <netdb.h>
#include <stdlib.h>
#include <string.h>

static const char not_public[] = "it is not on the public web, so it cannot be opened.";

static void fall_back(struct visit_page *page, const char *why)
{
    tool_report_notice(page->call->run, "Jina Reader %s; %s is fetched directly", why, page->url);
    page->not_jina = true;
    visit_fetch(page);
}

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

static bool take_data(struct visit_page *page, const json_t *data)
{
    struct str content = json_get_str(data, "content");
    if (str_trim(content).len == 0)
        return false;
    page->title = line_make(json_get_str(data, "title"), 300);
    buf_reset(&page->body);
    page->is_text = true;
    return buf_append_str(&page->body, content) == STATUS_OK;
}

static void on_response(void *user, struct http_response *response)
{
    struct visit_page *page = user;
    if (visit_page_over(page))
        return;
    const char *why = why_unusable(response);
    json_t *root = NULL;
    if (!why && json_parse(buf_str(&response->body), &root, NULL) != STATUS_OK)
        why = "sent no JSON";
    const json_t *data = json_object_get(root, "data");
    int error = target_error(json_get_str(data, "warning"));
    if (error > 0)
        visit_page_failed(page, NULL, "the site gave no page (HTTP %d).", error);
    else if (why || !take_data(page, data))
        fall_back(page, why ? why : "found no text");
    else
        visit_page_fetched(page);
    json_decref(root);
}

static void ask_reader(struct visit_page *page)
{
    struct visit_tool *tool = page->call->tool;
    char *target = NULL;
    if (url_canonical(str_of(page->url), &target, NULL) != STATUS_OK) {
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

/* Names that mean something only inside a network (RFC 6761, RFC 6762, ICANN's .internal). */
static bool is_inner_name(struct str host)
{
    static const char *const endings[] = {".localhost", ".local",    ".internal", ".lan", ".home",
                                          ".home.arpa", ".intranet", ".corp",     ".test"};
    if (str_find_char(host, '.', 0) == STR_NONE)
        return true;
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        if (str_ends_with(host, str_of(endings[i])))
            return true;
    }
    return false;
}

static void on_lookup(void *user, const struct addrinfo *addresses)
{
    struct visit_page *page = user;
    page->lookup = NULL;
    for (const struct addrinfo *address = addresses; address; address = address->ai_next) {
        if (!guard_address_allowed(page->call->tool->guard, address->ai_addr)) {
            visit_page_failed(page, NULL, "%s", not_public);
            return;
        }
    }
    /* A name that does not resolve here may do so at the service: behind a proxy programs often have no name server. */
    ask_reader(page);
}

void visit_fetch_jina(struct visit_page *page)
{
    char *host = url_host(str_of(page->url));
    bool numeric = host && (host[0] == '[' || strspn(host, "0123456789.") == strlen(host));
    char *bare = host ? mem_strdup(host[0] == '[' ? host + 1 : host) : NULL;
    if (bare && host[0] == '[')
        bare[strcspn(bare, "]")] = '\0';
    if (!host || (numeric ? !guard_text_allowed(page->call->tool->guard, bare) : is_inner_name(str_of(host)))) {
        visit_page_failed(page, NULL, "%s", not_public);
    } else if (numeric) {
        ask_reader(page);
    } else {
        page->lookup = resolve_start(tool_loop(page->call->run), host, on_lookup, page);
        if (!page->lookup)
            fall_back(page, "could not be asked, since no name can be looked up");
    }
    free(bare);
    free(host);
}
