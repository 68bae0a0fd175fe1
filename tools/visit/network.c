#include "tools/visit/network.h"

#include "core/mem.h"
#include "net/politeness.h"
#include "net/url.h"

#include <stdlib.h>

struct network *visit_network_create(const struct visit_options *options)
{
    struct network *network = mem_zalloc(sizeof *network);
    const struct politeness_options politeness = {
        .max_parallel = options->site_parallel > 0 ? options->site_parallel : VISIT_DEFAULT_SITE_PARALLEL,
        .gap_ms = options->site_gap_ms > 0    ? options->site_gap_ms
                  : options->site_gap_ms == 0 ? VISIT_DEFAULT_SITE_GAP_MS
                                              : 0,
        .loopback_too = options->site_parallel > 0 || options->site_gap_ms > 0,
    };
    network->politeness = politeness_create(&politeness);
    network->robots = options->robots;
    network->max_document_bytes =
        options->max_document_bytes > 0 ? options->max_document_bytes : VISIT_DEFAULT_MAX_DOCUMENT_BYTES;
    if (options->cache_path) {
        const struct page_cache_options cache = {
            .path = options->cache_path,
            .max_bytes = options->cache_bytes > 0 ? options->cache_bytes : VISIT_DEFAULT_CACHE_BYTES,
            .max_age_s = (options->cache_age_ms > 0 ? options->cache_age_ms : VISIT_DEFAULT_CACHE_AGE_MS) / 1000,
        };
        network->cache = page_cache_create(&cache);
    }
    return network;
}

void visit_network_destroy(struct network *network)
{
    if (!network)
        return;
    site_turns_stop(network);
    visit_robots_free(network);
    politeness_destroy(network->politeness);
    page_cache_destroy(network->cache);
    free(network);
}

static void forget(struct visit_page *page, struct fetching *fetching)
{
    site_turn_end(page->call->tool->network, &fetching->turn);
    visit_robots_forget(page);
    page_entry_finish(&fetching->copy);
    page_entry_finish(&fetching->entry);
    free(fetching->key);
    free(fetching->cache_notice);
    free(fetching->robots_missing);
    *fetching = (struct fetching){0};
}

struct fetching *visit_fetching_begin(struct visit_page *page)
{
    struct fetching *fetching = page->fetching;
    if (fetching)
        forget(page, fetching);
    else
        fetching = page->fetching = mem_zalloc(sizeof *fetching);
    page->copied_at = 0;
    page->outdated = false;
    if (page->call->tool->network->cache && url_canonical(str_of(page->target), &fetching->key, NULL) != STATUS_OK)
        fetching->key = NULL;
    return fetching;
}

void visit_fetching_free(struct visit_page *page)
{
    if (!page->fetching)
        return;
    forget(page, page->fetching);
    free(page->fetching);
    page->fetching = NULL;
}
