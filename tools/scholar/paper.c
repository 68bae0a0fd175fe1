#include "tools/scholar/paper.h"

#include "core/mem.h"
#include "core/utf8.h"
#include "net/url.h"
#include "text/plain.h"
#include "tools/common/line.h"
#include "tools/common/web_results.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum {
    TITLE_BYTES = 300,
    NAME_BYTES = 80,
    AUTHORS_BYTES = 400,
    MOST_AUTHORS = 8,
    VENUE_BYTES = 160,
    DOI_BYTES = 200,
    ABSTRACT_BYTES = 700,
};

void papers_init(struct papers *papers, size_t limit)
{
    *papers = (struct papers){.items = mem_calloc(limit, sizeof *papers->items), .limit = limit};
}

static void paper_finish(struct paper *paper)
{
    free(paper->title);
    free(paper->url);
    free(paper->pdf);
    free(paper->authors);
    free(paper->venue);
    free(paper->publication);
    free(paper->year);
    free(paper->citations);
    free(paper->abstract);
    free(paper->key);
}

void papers_reset(struct papers *papers)
{
    for (size_t i = 0; i < papers->count; i++)
        paper_finish(&papers->items[i]);
    papers->count = 0;
}

void papers_finish(struct papers *papers)
{
    papers_reset(papers);
    free(papers->items);
    *papers = (struct papers){0};
}

/* ---- addresses and identifiers ---- */

/* An address on the web, or empty. */
static struct str web_link(struct str url)
{
    url = str_trim(url);
    return web_is_link(url) && str_starts_with_nocase(url, STR("http")) ? url : STR("");
}

/* The DOI in a text that is one or a resolver's address of one (https://www.doi.org/the-identifier/resources/handbook):
 * "10.", a registrant, a slash and a suffix. Empty when it is none. */
static struct str find_doi(struct str text)
{
    static const char *const prefixes[] = {"https://", "http://", "dx.", "www.", "doi.org/", "doi:"};
    text = str_trim(text);
    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++) {
        if (str_starts_with_nocase(text, str_of(prefixes[i])))
            text = str_trim_start(str_slice(text, str_of(prefixes[i]).len, text.len));
    }
    if (!str_starts_with(text, STR("10.")) || text.len > DOI_BYTES || !utf8_is_valid(text))
        return STR("");
    size_t slash = str_find_char(text, '/', 0);
    if (slash == STR_NONE || slash < 4 || slash + 1 == text.len)
        return STR("");
    for (size_t i = 0; i < text.len; i++) {
        if ((unsigned char)text.data[i] <= ' ' || text.data[i] == 0x7f)
            return STR("");
    }
    return text;
}

/* The identifier in an address of arXiv, or in itself, without a version: "1706.03762", "hep-ex/0307015". */
static struct str find_arxiv(struct str url)
{
    static const char *const places[] = {"://arxiv.org/abs/", "://arxiv.org/pdf/", "://export.arxiv.org/abs/",
                                         "://www.arxiv.org/abs/", "://www.arxiv.org/pdf/"};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        size_t at = str_find_nocase(url, str_of(places[i]), 0);
        if (at == STR_NONE || at > 5)
            continue;
        struct str id = str_slice(url, at + str_of(places[i]).len, url.len);
        if (str_ends_with(id, STR(".pdf")))
            id.len -= 4;
        size_t digits = id.len;
        while (digits > 0 && ascii_is_digit(id.data[digits - 1]))
            digits--;
        if (digits > 0 && digits < id.len && id.data[digits - 1] == 'v')
            id.len = digits - 1;
        return id;
    }
    return STR("");
}

/* A fresh key. arXiv's papers have a DOI of a known form (https://info.arxiv.org/help/doi.html), whatever address they
 * are known by. */
static char *make_key(struct str doi, struct str arxiv, struct str url)
{
    struct buf key;
    buf_init(&key, BUF_UNBOUNDED);
    if (doi.len == 0)
        doi = find_doi(url);
    if (arxiv.len == 0)
        arxiv = find_arxiv(url);
    if (doi.len > 0)
        buf_addf(&key, "doi:%.*s", STR_ARG(doi));
    else if (arxiv.len > 0)
        buf_addf(&key, "doi:10.48550/arxiv.%.*s", STR_ARG(arxiv));
    for (size_t i = 0; i < key.len; i++)
        key.data[i] = ascii_lower(key.data[i]);
    if (key.len > 0)
        return buf_take(&key);
    return url_identity(url);
}

/* The resolver's address of a DOI, whose suffix may hold anything
 * (https://www.doi.org/the-identifier/resources/handbook, "Encoding"); some services have it encoded already. */
static void add_resolver(struct buf *out, struct str doi)
{
    static const char unsafe[] = "\"#%<>?[\\]^`{|}";
    buf_add_text(out, "https://doi.org/");
    for (size_t i = 0; i < doi.len; i++) {
        char c = doi.data[i];
        bool encoded = c == '%' && i + 2 < doi.len && isxdigit((unsigned char)doi.data[i + 1]) &&
                       isxdigit((unsigned char)doi.data[i + 2]);
        if (strchr(unsafe, c) && !encoded)
            buf_addf(out, "%%%02X", (unsigned)c);
        else
            buf_add_char(out, c);
    }
}

static char *make_url(const struct paper_draft *draft, struct str doi)
{
    struct str url = web_link(draft->url);
    struct buf out;
    buf_init(&out, BUF_UNBOUNDED);
    if (url.len > 0) {
        buf_add(&out, url);
    } else if (doi.len > 0) {
        add_resolver(&out, doi);
    } else {
        buf_add(&out, web_link(draft->pdf));
    }
    return buf_take(&out);
}

/* ---- papers ---- */

/* Both take over an earlier form. */
static char *as_title(char *line)
{
    char *title = web_make_title(str_of(line));
    free(line);
    return title;
}

static char *as_link(char *url)
{
    char *link = web_make_link(str_of(url));
    free(url);
    return link;
}

static char *make_line(struct str text, bool markup, size_t max_bytes)
{
    if (!markup)
        return line_make(text, max_bytes);
    struct buf plain;
    buf_init(&plain, BUF_UNBOUNDED);
    if (plain_from_markup(&plain, text) != STATUS_OK)
        abort(); /* the buffer has no cap */
    char *line = line_make(buf_str(&plain), max_bytes);
    buf_finish(&plain);
    return line;
}

/* "authors - venue, year", of what there is. */
static char *make_publication(const struct paper *paper)
{
    struct buf out;
    buf_init(&out, BUF_UNBOUNDED);
    buf_add_text(&out, paper->authors);
    if (out.len > 0 && (*paper->venue || *paper->year))
        buf_add_text(&out, " - ");
    buf_add_text(&out, paper->venue);
    if (*paper->venue && *paper->year)
        buf_add_text(&out, ", ");
    buf_add_text(&out, paper->year);
    return buf_take(&out);
}

/* The four digits that a date begins with, where they can be a year. */
static char *make_year(struct str date)
{
    date = str_slice(str_trim(date), 0, 4);
    for (size_t i = 0; i < date.len; i++) {
        if (!ascii_is_digit(date.data[i]))
            return mem_strdup("");
    }
    return date.len == 4 && date.data[0] != '0' ? str_dup(date) : mem_strdup("");
}

static bool is_known(const struct papers *papers, const char *key)
{
    for (size_t i = 0; i < papers->count; i++) {
        if (str_equal(str_of(papers->items[i].key), str_of(key)))
            return true;
    }
    return false;
}

void papers_add(struct papers *papers, const struct paper_draft *draft)
{
    if (papers->count == papers->limit)
        return;
    struct str doi = find_doi(draft->doi);
    struct paper paper = {
        .title = as_title(make_line(draft->title, draft->markup, TITLE_BYTES)),
        .url = make_url(draft, doi),
        .pdf = web_make_link(web_link(draft->pdf)),
        .authors = line_make(draft->authors, AUTHORS_BYTES),
        .venue = make_line(draft->venue, draft->markup, VENUE_BYTES),
        .year = make_year(draft->year),
        .citations = draft->citations >= 0 ? mem_printf("%lld", (long long)draft->citations) : mem_strdup(""),
        .abstract = make_line(draft->abstract, draft->markup, ABSTRACT_BYTES),
    };
    paper.key = make_key(doi, draft->arxiv, str_of(paper.url));
    paper.url = as_link(paper.url);
    paper.publication =
        draft->publication.len > 0 ? line_make(draft->publication, AUTHORS_BYTES) : make_publication(&paper);
    if (!*paper.title || (*paper.key && is_known(papers, paper.key))) {
        paper_finish(&paper);
        return;
    }
    papers->items[papers->count++] = paper;
}

void paper_add_author(struct buf *authors, size_t *count, struct str name)
{
    if (str_trim(name).len == 0 || *count > MOST_AUTHORS)
        return;
    buf_add_text(authors, *count > 0 ? ", " : "");
    if ((*count)++ == MOST_AUTHORS)
        buf_add_text(authors, "…");
    else
        line_add(authors, name, NAME_BYTES);
}
