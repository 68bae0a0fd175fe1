#include "net/politeness.h"

#include <arpa/inet.h>
#include <libpsl.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "net/url.h"

struct politeness_place {
    struct site *site;
    void *user;
    bool running;
    struct politeness_place *previous, *next; /* in the site's queue, or among those under way */
};

struct places {
    struct politeness_place *first, *last;
    int count;
};

struct site {
    char *name;
    bool unlimited; /* this machine */
    struct places waiting, running;
    bool started;
    int64_t last_start_ms;
    int64_t paused_until_ms;
    struct site *next;
};

struct politeness {
    struct politeness_options options;
    struct site *sites; /* that somebody waits for or uses, or whose last start or pause still counts */
};

/* ---- places in order ---- */

static void append(struct places *places, struct politeness_place *place)
{
    place->previous = places->last;
    place->next = NULL;
    if (places->last)
        places->last->next = place;
    else
        places->first = place;
    places->last = place;
    places->count++;
}

static void take_out(struct places *places, struct politeness_place *place)
{
    if (place->previous)
        place->previous->next = place->next;
    else
        places->first = place->next;
    if (place->next)
        place->next->previous = place->previous;
    else
        places->last = place->previous;
    places->count--;
}

static void free_places(struct places *places)
{
    for (struct politeness_place *place = places->first, *next; place; place = next) {
        next = place->next;
        free(place);
    }
}

/* ---- sites ---- */

static bool is_ipv4(const char *host)
{
    struct in_addr address;
    return inet_pton(AF_INET, host, &address) == 1;
}

char *politeness_site(struct str text, bool *loopback)
{
    struct url url;
    bool here = false;
    char *site;
    if (url_parse(text, &url, NULL) != STATUS_OK) {
        site = mem_strdup("");
    } else {
        bool numeric = url.host[0] == '[' || is_ipv4(url.host);
        here = strcmp(url.host, "localhost") == 0 || strcmp(url.host, "[::1]") == 0 ||
               (numeric && strncmp(url.host, "127.", 4) == 0);
        const char *domain = numeric || here ? NULL : psl_registrable_domain(psl_builtin(), url.host);
        site = here ? mem_printf("%s:%d", url.host, url.port) : mem_strdup(domain ? domain : url.host);
        url_finish(&url);
    }
    if (loopback)
        *loopback = here;
    return site;
}

static void free_site(struct site *site)
{
    free_places(&site->waiting);
    free_places(&site->running);
    free(site->name);
    free(site);
}

static struct site *find_site(const struct politeness *politeness, const char *name)
{
    struct site *site = politeness->sites;
    while (site && strcmp(site->name, name) != 0)
        site = site->next;
    return site;
}

static struct site *need_site(struct politeness *politeness, struct str url)
{
    bool loopback;
    char *name = politeness_site(url, &loopback);
    struct site *site = find_site(politeness, name);
    if (site) {
        free(name);
        return site;
    }
    site = mem_zalloc(sizeof *site);
    site->name = name;
    site->unlimited = loopback && !politeness->options.loopback_too;
    site->next = politeness->sites;
    politeness->sites = site;
    return site;
}

/* When the gap after the last start is over. */
static int64_t gap_ends_ms(const struct politeness *politeness, const struct site *site)
{
    return site->started && !site->unlimited ? site->last_start_ms + politeness->options.gap_ms : INT64_MIN;
}

static bool is_forgotten(const struct politeness *politeness, const struct site *site, int64_t now_ms)
{
    return !site->waiting.first && !site->running.first && site->paused_until_ms <= now_ms &&
           gap_ends_ms(politeness, site) <= now_ms;
}

/* ---- life ---- */

struct politeness *politeness_create(const struct politeness_options *options)
{
    struct politeness *politeness = mem_zalloc(sizeof *politeness);
    politeness->options = *options;
    return politeness;
}

void politeness_destroy(struct politeness *politeness)
{
    if (!politeness)
        return;
    for (struct site *site = politeness->sites, *next; site; site = next) {
        next = site->next;
        free_site(site);
    }
    free(politeness);
}

struct politeness_place *politeness_enter(struct politeness *politeness, struct str url, void *user)
{
    struct politeness_place *place = mem_zalloc(sizeof *place);
    place->site = need_site(politeness, url);
    place->user = user;
    append(&place->site->waiting, place);
    return place;
}

void politeness_leave(struct politeness *politeness, struct politeness_place *place)
{
    (void)politeness;
    if (!place)
        return;
    take_out(place->running ? &place->site->running : &place->site->waiting, place);
    free(place);
}

void *politeness_next(struct politeness *politeness, int64_t now_ms, int64_t *next_ms)
{
    *next_ms = INT64_MAX;
    for (struct site **link = &politeness->sites; *link;) {
        struct site *site = *link;
        if (is_forgotten(politeness, site, now_ms)) {
            *link = site->next;
            free_site(site);
            continue;
        }
        link = &site->next;
        struct politeness_place *first = site->waiting.first;
        if (!first || (!site->unlimited && site->running.count >= politeness->options.max_parallel))
            continue;
        int64_t gap_ends = gap_ends_ms(politeness, site);
        int64_t due = site->paused_until_ms > gap_ends ? site->paused_until_ms : gap_ends;
        if (due > now_ms) {
            *next_ms = due < *next_ms ? due : *next_ms;
            continue;
        }
        take_out(&site->waiting, first);
        append(&site->running, first);
        first->running = true;
        site->started = true;
        site->last_start_ms = now_ms;
        return first->user;
    }
    return NULL;
}

void politeness_pause(struct politeness *politeness, struct str url, int64_t now_ms, int64_t wait_ms)
{
    struct site *site = need_site(politeness, url);
    if (wait_ms > 0 && now_ms + wait_ms > site->paused_until_ms)
        site->paused_until_ms = now_ms + wait_ms;
}

int64_t politeness_paused_ms(const struct politeness_place *place, int64_t now_ms)
{
    int64_t until = place->site->paused_until_ms;
    return until > now_ms ? until - now_ms : 0;
}
