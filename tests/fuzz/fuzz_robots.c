/* robots.txt and the headers of caching: any bytes are read, and what is promised of the result holds. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "net/freshness.h"
#include "net/robots.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_robots(struct str text, struct str target)
{
    struct robots *robots = robots_parse(text, STR(ROBOTS_PRODUCT));
    robots_allows(robots, target);
    if (!robots_allows(robots, STR("/robots.txt")))
        abort();
    robots_destroy(robots);
}

static void try_freshness(const char *value)
{
    const struct freshness_headers headers = {value, value, value, value, value, value, value};
    const struct freshness_headers directives = {.cache_control = value};
    struct freshness all = freshness_judge(&headers, 784111777), one = freshness_judge(&directives, 784111777);
    if (all.lifetime_s < 0 || all.lifetime_s > FRESHNESS_MAX_S || one.lifetime_s < 0 ||
        one.lifetime_s > FRESHNESS_MAX_S)
        abort();
    if (freshness_is_etag(value) && strlen(value) > FRESHNESS_MAX_VALIDATOR)
        abort();
    freshness_is_date(value, 784111777);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str bytes = {(const char *)data, size};
    size_t cut = str_find_char(bytes, '\0', 0);
    struct str target = str_slice(bytes, cut == STR_NONE ? size : cut + 1, size);
    char *text = str_dup(str_slice(bytes, 0, cut));
    try_robots(str_slice(bytes, 0, cut), target);
    try_freshness(text);
    free(text);
    return 0;
}
