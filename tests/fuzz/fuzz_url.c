/* URLs: the canonical form is its own canonical form and has the host that is fetched; whatever is joined is a URL.
 * An identity names itself. Also the small readers of the net room: Retry-After and networks. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "net/guard.h"
#include "net/retry.h"
#include "net/url.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
    if (!holds)
        abort();
}

static void check_canonical(struct str text)
{
    char *once = NULL, *twice = NULL;
    if (url_canonical(text, &once, NULL) != STATUS_OK)
        return;
    check(!strchr(once, '#'));
    check(url_canonical(str_of(once), &twice, NULL) == STATUS_OK && strcmp(once, twice) == 0);
    char *host = url_host(text), *canonical_host = url_host(str_of(once));
    check(host && canonical_host && strcmp(host, canonical_host) == 0);
    check(url_same_origin(text, str_of(once)));
    free(host);
    free(canonical_host);
    free(once);
    free(twice);
}

/* An identity is that of the address that it names. */
static void check_identity(struct str text)
{
    char *once = url_identity(text), *canonical = NULL;
    bool web = str_starts_with_nocase(str_trim(text), STR("http://")) ||
               str_starts_with_nocase(str_trim(text), STR("https://"));
    if (web && url_canonical(text, &canonical, NULL) == STATUS_OK) {
        char *address = mem_printf("https://%s", once), *twice = url_identity(str_of(address));
        check(strcmp(once, twice) == 0);
        free(twice);
        free(address);
    }
    free(canonical);
    free(once);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = {(const char *)data, size};
    char *joined = NULL, *copy = str_dup(text);
    check_canonical(text);
    check_identity(text);
    if (url_join(STR("http://a.org/b/c?d#e"), text, &joined, NULL) == STATUS_OK)
        check_canonical(str_of(joined));
    free(joined);
    free(url_without_credentials(text));

    int64_t wait = retry_after_parse(copy, 1700000000);
    check(wait >= -1 && wait <= RETRY_AFTER_MAX_MS);
    struct guard guard;
    guard_init(&guard);
    if (guard_allow(&guard, text, NULL) != STATUS_OK)
        check(guard.n_exempt == 0);
    guard_finish(&guard);
    free(copy);
    return 0;
}
