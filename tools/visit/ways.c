/* The ways by which a page can be had, one after the other. */
#include "core/mem.h"
#include "net/url.h"
#include "tools/visit/internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* With less time than this before the call ends by itself an outside service is not asked any more. */
#define LEAST_OUTSIDE_MS 2000

static bool has_way(const struct visit_page *page, enum visit_way way)
{
    for (size_t i = 0; i < page->n_ways; i++) {
        if (page->ways[i] == way)
            return true;
    }
    return false;
}

static void add_way(struct visit_page *page, enum visit_way way)
{
    if (!has_way(page, way))
        page->ways[page->n_ways++] = way;
}

/* The archive has no copies of its own copies. */
static bool is_archive(const char *address)
{
    char *host = url_host(str_of(address));
    struct str name = str_of(host);
    bool is = str_equal(name, STR("archive.org")) || str_ends_with(name, STR(".archive.org"));
    free(host);
    return is;
}

void visit_plan_ways(struct visit_page *page)
{
    const struct visit_tool *tool = page->call->tool;
    page->n_ways = 0;
    if (tool->reader == VISIT_READER_JINA)
        add_way(page, VISIT_WAY_JINA);
    if (page->readable)
        add_way(page, VISIT_WAY_READABLE);
    add_way(page, VISIT_WAY_DIRECT);
    for (size_t i = 0; i < tool->n_fallbacks; i++) {
        switch (tool->fallbacks[i]) {
        case VISIT_FALLBACK_JINA:
            add_way(page, VISIT_WAY_JINA);
            break;
        case VISIT_FALLBACK_ARCHIVE:
            if (!is_archive(page->address))
                add_way(page, VISIT_WAY_ARCHIVE);
            break;
        }
    }
}

static void set_target(struct visit_page *page, const char *address)
{
    free(page->target);
    page->target = mem_strdup(address);
    page->tries = 0;
}

/* What a way that failed may have left of a document. */
static void forget_document(struct visit_page *page)
{
    char **const strings[] = {&page->title, &page->author, &page->date, &page->base_url, &page->content_type};
    for (size_t i = 0; i < sizeof strings / sizeof strings[0]; i++) {
        free(*strings[i]);
        *strings[i] = NULL;
    }
    buf_finish(&page->body);
    buf_init(&page->body, BUF_UNBOUNDED);
    buf_reset(&page->text);
    page->is_text = false;
    page->truncated = false;
    page->archive_day[0] = '\0';
}

void visit_start_way(struct visit_page *page)
{
    forget_document(page);
    page->tried |= 1u << page->ways[page->way];
    switch (page->ways[page->way]) {
    case VISIT_WAY_READABLE:
        set_target(page, page->readable);
        visit_fetch(page);
        break;
    case VISIT_WAY_DIRECT:
        set_target(page, page->address);
        visit_fetch(page);
        break;
    case VISIT_WAY_JINA:
        /* not at the other address, where that has just failed */
        set_target(page, page->readable && !(page->tried >> VISIT_WAY_READABLE & 1) ? page->readable : page->address);
        visit_fetch_jina(page);
        break;
    case VISIT_WAY_ARCHIVE:
        set_target(page, page->address);
        visit_fetch_archive(page);
        break;
    }
}

static bool is_outside(enum visit_way way)
{
    return way == VISIT_WAY_JINA || way == VISIT_WAY_ARCHIVE;
}

/* What is gone at the page's own address is gone for whoever asks there; another address may still have it, and the
 * past does. What cannot be read of another address (too large, no text), or of a copy, says nothing of the page. */
static bool may_mend(const struct visit_page *page, enum visit_way next, enum visit_fault fault)
{
    enum visit_way failed = page->ways[page->way];
    switch (fault) {
    case VISIT_FAULT_FINAL:
        if (failed != VISIT_WAY_ARCHIVE && (failed != VISIT_WAY_READABLE || next != VISIT_WAY_DIRECT))
            return false;
        break;
    case VISIT_FAULT_GONE:
        if (next == VISIT_WAY_JINA || (next == VISIT_WAY_DIRECT && failed != VISIT_WAY_READABLE))
            return false;
        break;
    case VISIT_FAULT_BLOCKED:
        break;
    }
    return !is_outside(next) || tool_time_left_ms(page->call->run) > page->call->margin_ms + LEAST_OUTSIDE_MS;
}

static void start_next(void *user)
{
    struct visit_page *page = user;
    if (!visit_page_over(page))
        visit_start_way(page);
}

static bool try_next(struct visit_page *page, enum visit_fault fault)
{
    for (size_t next = page->way + 1; next < page->n_ways; next++) {
        if (!may_mend(page, page->ways[next], fault))
            continue;
        page->way = next;
        tool_wait(page->call->run, 0, start_next, page);
        return true;
    }
    return false;
}

static void lose(struct visit_page *page, enum visit_fault fault, const char *detail, const char *format,
                 va_list arguments) __attribute__((format(printf, 4, 0)));

/* The model is told what the page's own address said, or else of the first failure. Who takes pages is told the detail,
 * and a person then hears it from there. */
static void lose(struct visit_page *page, enum visit_fault fault, const char *detail, const char *format,
                 va_list arguments)
{
    char problem[sizeof page->problem];
    vsnprintf(problem, sizeof problem, format, arguments);
    const char *told = detail && *detail ? detail : problem;
    bool web = page->kind == VISIT_WEB, taken = page->call->tool->take != NULL;
    bool counts = !page->problem[0] || (web && page->ways[page->way] == VISIT_WAY_DIRECT);
    if (counts)
        snprintf(page->problem, sizeof page->problem, "%s", taken ? told : problem);
    bool over = !web || !try_next(page, fault);
    if (!(over && counts && taken))
        tool_report_notice(page->call->run, "%s: %s", page->url, told);
    if (over)
        visit_page_give_up(page);
}

void visit_page_lost(struct visit_page *page, enum visit_fault fault, const char *detail, const char *problem, ...)
{
    va_list arguments;
    va_start(arguments, problem);
    lose(page, fault, detail, problem, arguments);
    va_end(arguments);
}

void visit_page_failed(struct visit_page *page, const char *detail, const char *problem, ...)
{
    va_list arguments;
    va_start(arguments, problem);
    lose(page, VISIT_FAULT_FINAL, detail, problem, arguments);
    va_end(arguments);
}

void visit_page_use_plain(struct visit_page *page)
{
    char **const addresses[] = {&page->url, &page->address, &page->target};
    for (size_t i = 0; i < sizeof addresses / sizeof addresses[0]; i++) {
        struct str address = str_of(*addresses[i]);
        if (!str_starts_with(address, STR("https://")))
            continue;
        char *plain = mem_printf("http://%s", *addresses[i] + strlen("https://"));
        free(*addresses[i]);
        *addresses[i] = plain;
    }
    page->assumed_scheme = false;
    page->tries = 0;
}

void visit_page_fetched(struct visit_page *page)
{
    /* Links of an archived page lead on from where it once stood. */
    struct str time;
    struct str original = visit_archived(str_of(page->base_url), &time);
    if (original.len > 0) {
        char *base = str_dup(original);
        if (time.len >= 8)
            snprintf(page->archive_day, sizeof page->archive_day, "%.4s-%.2s-%.2s", time.data, time.data + 4,
                     time.data + 6);
        free(page->base_url);
        page->base_url = base;
    }
    visit_read(page);
}

void visit_page_read(struct visit_page *page)
{
    bool web = page->kind == VISIT_WEB;
    switch (web ? visit_wall_find(str_of(page->title), buf_str(&page->text)) : VISIT_WALL_NONE) {
    case VISIT_WALL_NONE:
        if (page->call->tool->take) {
            visit_page_hand_over(page);
            visit_page_done(page);
        } else {
            visit_sum_up(page);
        }
        break;
    case VISIT_WALL_PROOF:
        visit_page_lost(page, VISIT_FAULT_BLOCKED, NULL,
                        "the site wants proof that a person is reading, and shows nothing else.");
        break;
    case VISIT_WALL_SCRIPTS:
        visit_page_lost(page, VISIT_FAULT_BLOCKED, NULL,
                        "it is made by scripts, which this program does not run, and shows nothing without them.");
        break;
    }
}
