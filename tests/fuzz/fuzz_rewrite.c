/* What a model gives as an address: what it is rewritten to is an address of the web, and unlike what it was. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "net/url.h"
#include "tools/visit/internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
    if (!holds)
        abort();
}

static void check_address(const char *address)
{
    struct url parts;
    check(url_parse(str_of(address), &parts, NULL) == STATUS_OK);
    check(strcmp(parts.scheme, "http") == 0 || strcmp(parts.scheme, "https") == 0);
    url_finish(&parts);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str given = {(const char *)data, size}, time;
    enum visit_address kind;
    bool assumed;
    char *fragment, *url = visit_address_clean(given, &kind, &assumed, &fragment);
    if (kind == VISIT_WEB) {
        check_address(url);
        char *inside = visit_unwrap(str_of(url)), *readable = visit_readable(str_of(url), str_of(fragment));
        if (inside)
            check_address(inside);
        if (readable)
            check_address(readable);
        free(readable);
        free(inside);
    }
    struct str original = visit_archived(str_of(url), &time);
    check(original.len == 0 || (time.len >= 4 && time.len <= 14));
    check(visit_wall_find(given, given) <= VISIT_WALL_SCRIPTS);
    free(fragment);
    free(url);
    return 0;
}
