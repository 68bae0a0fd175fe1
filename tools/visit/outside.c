/* What an outside service (a reader, an archive) may be asked for. The request goes to a configured address, but the
 * page's address came from a model: it has to pass the guard's rules all the same, since a service inside our network
 * could reach what the guard keeps from us, and one outside of it must not learn the names of what is inside. */
#include "core/mem.h"
#include "net/resolve.h"
#include "net/url.h"
#include "tools/visit/internal.h"

#include <netdb.h>
#include <stdlib.h>
#include <string.h>

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

/* The numeric address that a host is, fresh and without brackets, or NULL. */
static char *numeric_host(const char *host)
{
    if (host[0] == '[') {
        char *bare = mem_strdup(host + 1);
        bare[strcspn(bare, "]")] = '\0';
        return bare;
    }
    return strspn(host, "0123456789.") == strlen(host) ? mem_strdup(host) : NULL;
}

bool visit_is_inside(struct str url)
{
    char *host = url_host(url);
    char *number = host ? numeric_host(host) : NULL;
    bool inside = host && (number ? !guard_text_allowed(NULL, number) : is_inner_name(str_of(host)));
    free(number);
    free(host);
    return inside;
}

static void refuse(struct visit_page *page)
{
    visit_page_failed(page, NULL, "it is not on the public web, so it cannot be opened.");
}

static void on_lookup(void *user, const struct addrinfo *addresses)
{
    struct visit_page *page = user;
    page->lookup = NULL;
    if (visit_page_over(page))
        return;
    for (const struct addrinfo *address = addresses; address; address = address->ai_next) {
        if (!guard_address_allowed(page->outside_guard, address->ai_addr)) {
            refuse(page);
            return;
        }
    }
    /* A name that does not resolve here may do so at the service: behind a proxy programs often have no name server,
     * and of a site that is gone an archive still has copies. */
    page->outside_ask(page);
}

void visit_ask_outside(struct visit_page *page, const char *service, void (*ask)(struct visit_page *page))
{
    /* A service of the user's own, inside the network, may be asked for what the user exempted. */
    page->outside_guard = visit_is_inside(str_of(service)) ? page->call->tool->guard : NULL;
    page->outside_ask = ask;
    char *host = url_host(str_of(page->target));
    char *number = host ? numeric_host(host) : NULL;
    if (!host || (number ? !guard_text_allowed(page->outside_guard, number) : is_inner_name(str_of(host)))) {
        refuse(page);
    } else if (number) {
        ask(page);
    } else {
        page->lookup = resolve_start(tool_loop(page->call->run), host, on_lookup, page);
        if (!page->lookup)
            visit_page_lost(page, VISIT_FAULT_BLOCKED, "no name can be looked up, since no thread can be started",
                            "no name can be looked up at the moment.");
    }
    free(number);
    free(host);
}
