/* What the model reads: the profile's wording over what the pages say. */
#include "net/url.h"
#include "protocol/profile.h"
#include "tools/visit/internal.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void render(const struct profile *profile, enum prompt_id id, const struct prompt_value *values, size_t count,
                   struct buf *out)
{
    if (profile_render(profile, id, values, count, out) != STATUS_OK)
        abort(); /* the buffer has no cap */
}

static void add_piece(struct buf *note, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add_piece(struct buf *note, const char *format, ...)
{
    va_list arguments;
    if (note->len > 0)
        buf_add_text(note, "; ");
    va_start(arguments, format);
    buf_addv(note, format, arguments);
    va_end(arguments);
}

/* Why the page itself could not be read, without the full stop. */
static struct str why(const struct visit_page *page)
{
    struct str problem = str_of(page->problem);
    while (str_ends_with(problem, STR(".")))
        problem.len--;
    return problem;
}

static void add_lead(const char *address, struct buf *note)
{
    char *bare = url_without_credentials(str_of(address));
    add_piece(note, "it leads to %s", bare);
    free(bare);
}

/* Where a redirect led to another site. Inner addresses are not told. */
static void add_redirect(const struct visit_page *page, struct buf *note)
{
    char *asked = url_host(str_of(page->target)), *came = page->base_url ? url_host(str_of(page->base_url)) : NULL;
    if (asked && came && strcmp(asked, came) != 0 && !visit_is_inside(str_of(page->base_url)))
        add_lead(page->base_url, note);
    free(asked);
    free(came);
}

/* How the page came to be read, where that was not by its own address. */
static void add_way(const struct visit_page *page, struct buf *note)
{
    bool first = page->way == 0;
    switch (page->ways[page->way]) {
    case VISIT_WAY_READABLE:
        add_piece(note, "read at %s", page->target);
        break;
    case VISIT_WAY_DIRECT:
        if (strcmp(page->address, page->url) != 0)
            add_lead(page->address, note);
        else
            add_redirect(page, note);
        break;
    case VISIT_WAY_JINA:
        if (!first)
            add_piece(note, "read through Jina Reader, since %.*s", STR_ARG(why(page)));
        break;
    case VISIT_WAY_ARCHIVE:
        add_piece(note, "read from the Internet Archive's copy of %s, since %.*s",
                  page->archive_day[0] ? page->archive_day : "an unknown day", STR_ARG(why(page)));
        break;
    }
}

/* That it may have changed since. */
static void add_age(const struct visit_page *page, struct buf *note)
{
    char day[32] = "an earlier day";
    time_t then = (time_t)page->copied_at;
    struct tm parts;
    if (gmtime_r(&then, &parts))
        strftime(day, sizeof day, "%Y-%m-%d", &parts);
    add_piece(note, "read from a copy kept on %s, since its site gave no newer one", day);
}

static void make_note(const struct visit_page *page, struct buf *note)
{
    if (page->kind == VISIT_WEB && page->target)
        add_way(page, note);
    if (page->outdated)
        add_age(page, note);
    if (page->text_passages > page->part_passages && !page->by_words)
        add_piece(note, "too long to be read whole: %zu of its %zu passages were, those that bear on the goal",
                  page->part_passages, page->text_passages);
    else if (page->truncated && page->text_passages == 0)
        add_piece(note, "too long to be read whole: only its beginning was");
    if (page->n_unfound_quotes > 0)
        add_piece(note, "%zu of %zu quotations below do not occur in the page and are marked %s",
                  page->n_unfound_quotes, page->n_quotes, VISIT_UNFOUND_MARK);
}

/* "2024-03-01T10:00:00Z" as a day; else as the page writes it. */
static struct str day_of(const char *date)
{
    struct str text = str_of(date);
    bool iso =
        text.len > 10 && text.data[4] == '-' && text.data[7] == '-' && (text.data[10] == 'T' || text.data[10] == ' ');
    return iso ? str_slice(text, 0, 10) : text;
}

static void render_page(const struct visit_page *page, struct buf *out)
{
    const struct profile *profile = tool_profile(page->call->run);
    struct buf note, links;
    buf_init(&note, BUF_UNBOUNDED);
    buf_init(&links, BUF_UNBOUNDED);
    if (profile->observations == OBSERVATION_GENERIC) {
        make_note(page, &note);
        if (page->links.len > 0)
            buf_addf(&links, "\n%s", page->links.data);
    }
    const struct prompt_value values[] = {
        {.name = "url", .text = str_of(page->url)},
        {.name = "title", .text = str_of(page->title)},
        {.name = "author", .text = str_of(page->author)},
        {.name = "date", .text = day_of(page->date)},
        {.name = "note", .text = buf_str(&note)},
        {.name = "goal", .text = page->call->goal},
        {.name = "evidence", .text = buf_str(&page->evidence)},
        {.name = "summary", .text = str_trim(buf_str(&page->summary))},
        {.name = "links", .text = buf_str(&links)},
    };
    render(profile, PROMPT_VISIT_PAGE, values, sizeof values / sizeof values[0], out);
    tool_report_source(page->call->run, str_of(page->url), str_of(page->title));
    if (page->truncated)
        tool_report_truncated(page->call->run);
    buf_finish(&links);
    buf_finish(&note);
}

/* What else was tried in vain, for who may choose what to do next. */
static void add_tried(const struct visit_page *page, struct buf *problem)
{
    static const char *const services[] = {
        [VISIT_WAY_JINA] = "Jina Reader", [VISIT_WAY_ARCHIVE] = "the Internet Archive"};
    size_t count = 0;
    for (size_t i = 1; i < page->n_ways; i++) {
        enum visit_way way = page->ways[i];
        if (way != VISIT_WAY_JINA && way != VISIT_WAY_ARCHIVE)
            continue;
        if (page->tried >> way & 1)
            buf_addf(problem, "%s%s", count++ == 0 ? " It could not be had from " : " or ", services[way]);
    }
    if (count > 0)
        buf_add_text(problem, " either.");
}

static void render_failure(const struct visit_page *page, struct buf *out)
{
    const struct profile *profile = tool_profile(page->call->run);
    struct buf problem;
    buf_init(&problem, BUF_UNBOUNDED);
    buf_add_text(&problem, page->problem);
    if (profile->observations == OBSERVATION_GENERIC)
        add_tried(page, &problem);
    const struct prompt_value values[] = {
        {.name = "url", .text = str_of(page->url)},
        {.name = "goal", .text = page->call->goal},
        {.name = "problem", .text = buf_str(&problem)},
    };
    render(profile, PROMPT_VISIT_FAILED, values, sizeof values / sizeof values[0], out);
    buf_finish(&problem);
}

void visit_render(struct visit_call *call, struct buf *out)
{
    for (size_t i = 0; i < call->n_pages; i++) {
        const struct visit_page *page = &call->pages[i];
        if (i > 0)
            buf_add_text(out, tool_profile(call->run)->visit_separator);
        if (page->state == PAGE_DONE)
            render_page(page, out);
        else
            render_failure(page, out);
    }
}
