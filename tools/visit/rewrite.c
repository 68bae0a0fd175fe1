/* Other addresses of the same contents: what a link that only leads on leads to, and where a page is read better than
 * where it is looked at. Each rule knows one site's own scheme of addresses; what does not fit it is left alone. An
 * address that came of a rule and cannot be read is no loss: the page's own is tried next. */
#include "core/mem.h"
#include "net/url.h"
#include "tools/visit/rewrite_internal.h"

#include <stdlib.h>
#include <string.h>

static bool is_arxiv_version(struct str text)
{
    if (text.len == 0)
        return true;
    return text.len > 1 && text.data[0] == 'v' && rewrite_is_digits(str_slice(text, 1, text.len));
}

/* "2301.00001v2", and before April 2007 "math.GT/0309136" (https://info.arxiv.org/help/arxiv_identifier.html). */
bool rewrite_is_arxiv(struct str id)
{
    size_t slash = str_find_char(id, '/', 0), digits = 0;
    struct str number = slash == STR_NONE ? id : str_slice(id, slash + 1, id.len);
    struct str archive = slash == STR_NONE ? STR("") : str_slice(id, 0, slash);
    for (size_t i = 0; i < archive.len; i++) {
        if (!ascii_is_alpha(archive.data[i]) && archive.data[i] != '-' && archive.data[i] != '.')
            return false;
    }
    while (digits < number.len && ascii_is_digit(number.data[digits]))
        digits++;
    if (slash != STR_NONE)
        return archive.len > 1 && digits == 7 && is_arxiv_version(str_slice(number, 7, number.len));
    if (digits != 4 || number.len < 9 || number.data[4] != '.')
        return false;
    size_t end = 5;
    while (end < number.len && ascii_is_digit(number.data[end]))
        end++;
    return (end == 9 || end == 10) && is_arxiv_version(str_slice(number, end, number.len));
}

/* The identifier behind "/abs/", "/pdf/" …; empty where there is none. */
static struct str arxiv_id(const struct rewriting *page)
{
    struct str id = rewrite_rest(page, 1);
    static const char *const endings[] = {"/", ".pdf", ".html"};
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        if (str_ends_with(id, str_of(endings[i])))
            id.len -= strlen(endings[i]);
    }
    return rewrite_is_arxiv(id) ? id : STR("");
}

static bool first_is(const struct rewriting *page, const char *name)
{
    return str_equal(rewrite_segment(page, 0), str_of(name));
}

/* The abstract's page is what an "abs" link names: it has what the paper itself lacks (dates, comments, versions), and
 * leads on to the full text. */
static char *read_arxiv(const struct rewriting *page)
{
    struct str id = arxiv_id(page);
    if (id.len == 0)
        return NULL;
    if (first_is(page, "abs") || first_is(page, "format"))
        return mem_printf("https://arxiv.org/abs/%.*s", STR_ARG(id));
    if (first_is(page, "pdf") || first_is(page, "ps"))
        return mem_printf("https://arxiv.org/pdf/%.*s", STR_ARG(id));
    return first_is(page, "html") ? mem_printf("https://arxiv.org/html/%.*s", STR_ARG(id)) : NULL;
}

static char *read_ar5iv(const struct rewriting *page)
{
    struct str id = arxiv_id(page);
    return id.len > 0 ? mem_printf("https://ar5iv.labs.arxiv.org/html/%.*s", STR_ARG(id)) : NULL;
}

static char *read_alphaxiv(const struct rewriting *page)
{
    struct str id = arxiv_id(page);
    return id.len > 0 ? mem_printf("https://arxiv.org/abs/%.*s", STR_ARG(id)) : NULL;
}

static char *read_openreview(const struct rewriting *page)
{
    char *id = first_is(page, "forum") ? rewrite_parameter(page, "id") : NULL;
    char *address = id ? mem_printf("https://openreview.net/pdf?id=%s", id) : NULL;
    free(id);
    return address;
}

/* ncbi.nlm.nih.gov/pmc/articles/PMC123/…, which has moved, and its PDF: the article's page has the same text. */
static char *read_ncbi(const struct rewriting *page)
{
    struct str id = rewrite_segment(page, 2);
    if (first_is(page, "pmc") && str_starts_with_nocase(id, STR("PMC")))
        return mem_printf("https://pmc.ncbi.nlm.nih.gov/articles/%.*s/", STR_ARG(id));
    id = rewrite_segment(page, 1);
    if (first_is(page, "articles") && page->n == 4 && str_starts_with_nocase(id, STR("PMC")))
        return mem_printf("https://pmc.ncbi.nlm.nih.gov/articles/%.*s/", STR_ARG(id));
    if (first_is(page, "pubmed") && rewrite_is_digits(id))
        return mem_printf("https://pubmed.ncbi.nlm.nih.gov/%.*s/", STR_ARG(id));
    return NULL;
}

/* Europe PMC's pages are made by scripts; its web service has the full text of what is open. */
static char *read_europe_pmc(const struct rewriting *page)
{
    struct str id = rewrite_segment(page, page->n - 1);
    bool article = first_is(page, "article") || first_is(page, "articles");
    struct str number = str_slice(id, 3, id.len);
    if (!article || !str_starts_with_nocase(id, STR("PMC")) || !rewrite_is_digits(number))
        return NULL;
    return mem_printf("https://www.ebi.ac.uk/europepmc/webservices/rest/PMC%.*s/fullTextXML", STR_ARG(number));
}

/* github.com/OWNER/NAME/blob/REF/PATH; REF may hold slashes, which the raw address takes as they are. */
static char *github_raw(const struct rewriting *page, size_t from)
{
    static const char *const views[] = {"blob", "raw", "blame"};
    struct str view = rewrite_segment(page, from + 2), rest = rewrite_rest(page, from + 3);
    for (size_t i = 0; i < sizeof views / sizeof views[0]; i++) {
        if (str_equal(view, str_of(views[i])) && page->n > from + 4)
            return mem_printf("https://raw.githubusercontent.com/%.*s/%.*s/%.*s", STR_ARG(rewrite_segment(page, from)),
                              STR_ARG(rewrite_segment(page, from + 1)), STR_ARG(rest));
    }
    return NULL;
}

static char *read_github(const struct rewriting *page)
{
    return github_raw(page, 0);
}

static char *read_colab(const struct rewriting *page)
{
    return first_is(page, "github") ? github_raw(page, 1) : NULL;
}

/* gist.github.com/USER/ID, with or without a revision; the raw address gives its first file. */
static char *read_gist(const struct rewriting *page)
{
    struct str user = rewrite_segment(page, 0), id = rewrite_segment(page, 1), revision = rewrite_segment(page, 2);
    if (page->n < 2 || page->n > 3 || id.len < 16 || !rewrite_is_hex(id) ||
        (page->n == 3 && (revision.len != 40 || !rewrite_is_hex(revision))))
        return NULL;
    return mem_printf("https://gist.githubusercontent.com/%.*s/%.*s/raw%s%.*s", STR_ARG(user), STR_ARG(id),
                      page->n == 3 ? "/" : "", STR_ARG(revision));
}

/* Puts `to` in the place of segment `at` where that is `from` and a file stands behind it. */
static char *replace_segment(const struct rewriting *page, size_t at, const char *from, const char *to)
{
    if (!str_equal(rewrite_segment(page, at), str_of(from)) || page->n < at + 3)
        return NULL;
    struct buf out;
    buf_init(&out, BUF_UNBOUNDED);
    buf_addf(&out, "%s", page->origin);
    for (size_t i = 0; i < at; i++)
        buf_addf(&out, "/%.*s", STR_ARG(rewrite_segment(page, i)));
    buf_addf(&out, "/%s/%.*s", to, STR_ARG(rewrite_rest(page, at + 1)));
    return buf_take(&out);
}

/* Before "/-/" came in, GitLab's own site had /GROUP/PROJECT/blob/REF/PATH. */
static char *read_gitlab(const struct rewriting *page)
{
    return replace_segment(page, 2, "blob", "raw");
}

/* Where a link to a folder looks like one to a file, only what has an ending is taken for a file. */
static bool names_file(const struct rewriting *page)
{
    struct str last = rewrite_segment(page, page->n - 1);
    size_t dot = str_rfind_char(last, '.');
    return dot != STR_NONE && dot > 0 && last.len - dot <= 8;
}

static char *read_source(const struct rewriting *page)
{
    return names_file(page) ? replace_segment(page, 2, "src", "raw") : NULL;
}

static char *read_gitee(const struct rewriting *page)
{
    return replace_segment(page, 2, "blob", "raw");
}

static char *read_sourcehut(const struct rewriting *page)
{
    /* git.sr.ht/~USER/NAME/tree/REF/item/PATH */
    if (!str_equal(rewrite_segment(page, 2), STR("tree")) || !str_equal(rewrite_segment(page, 4), STR("item")))
        return NULL;
    return mem_printf("%s/%.*s/%.*s/blob/%.*s/%.*s", page->origin, STR_ARG(rewrite_segment(page, 0)),
                      STR_ARG(rewrite_segment(page, 1)), STR_ARG(rewrite_segment(page, 3)),
                      STR_ARG(rewrite_rest(page, 5)));
}

/* "resolve" also follows the pointers of large files, which "raw" shows as they are. */
static char *read_hugging_face(const struct rewriting *page)
{
    bool typed = first_is(page, "datasets") || first_is(page, "spaces");
    size_t at = typed ? 3 : 2;
    char *address = replace_segment(page, at, "blob", "resolve");
    if (!address)
        address = replace_segment(page, at, "raw", "resolve");
    if (!address)
        address = replace_segment(page, at - 1, "blob", "resolve"); /* of the few without an owner: /gpt2/blob/… */
    return address;
}

static char *read_google_docs(const struct rewriting *page)
{
    struct str kind = STR(""), id = STR("");
    for (size_t i = 0; i + 1 < page->n && id.len == 0; i++) {
        if (str_equal(rewrite_segment(page, i), STR("d")))
            id = rewrite_segment(page, i + 1);
        else if (kind.len == 0 || !str_equal(rewrite_segment(page, i), STR("u")))
            kind = rewrite_segment(page, i).len > 4 ? rewrite_segment(page, i) : kind;
    }
    /* "/d/e/…/pub" is a published page of its own, and what is exported already needs nothing */
    if (id.len < 10 || str_equal(rewrite_segment(page, page->n - 1), STR("export")))
        return NULL;
    if (str_equal(kind, STR("document")))
        return mem_printf("https://docs.google.com/document/d/%.*s/export?format=txt", STR_ARG(id));
    if (str_equal(kind, STR("presentation")))
        return mem_printf("https://docs.google.com/presentation/d/%.*s/export/txt", STR_ARG(id));
    if (!str_equal(kind, STR("spreadsheets")))
        return NULL;
    char *sheet = rewrite_parameter(page, "gid");
    struct str number = sheet ? str_of(sheet) : page->fragment;
    if (str_starts_with(number, STR("gid=")))
        number = str_slice(number, 4, number.len);
    size_t end = 0;
    while (end < number.len && ascii_is_digit(number.data[end]))
        end++;
    char *address = mem_printf("https://docs.google.com/spreadsheets/d/%.*s/export?format=csv%s%.*s", STR_ARG(id),
                               end > 0 ? "&gid=" : "", STR_ARG(str_slice(number, 0, end)));
    free(sheet);
    return address;
}

static char *read_google_drive(const struct rewriting *page)
{
    char *given = first_is(page, "open") ? rewrite_parameter(page, "id") : NULL;
    bool file = first_is(page, "file") && str_equal(rewrite_segment(page, 1), STR("d"));
    struct str id = given ? str_of(given) : file ? rewrite_segment(page, 2) : STR("");
    char *address =
        id.len >= 10 ? mem_printf("https://drive.google.com/uc?export=download&id=%.*s", STR_ARG(id)) : NULL;
    free(given);
    return address;
}

/* Single files (/s/…, /scl/fi/…); folders would come as archives. */
static char *read_dropbox(const struct rewriting *page)
{
    bool file = first_is(page, "s") || (first_is(page, "scl") && str_equal(rewrite_segment(page, 1), STR("fi")));
    return file ? rewrite_set_parameter(page, "dl", "1") : NULL;
}

static char *read_pastebin(const struct rewriting *page)
{
    struct str id = rewrite_segment(page, 0);
    for (size_t i = 0; i < id.len; i++) {
        if (!ascii_is_alnum(id.data[i]))
            return NULL;
    }
    return page->n == 1 && id.len == 8 ? mem_printf("https://pastebin.com/raw/%.*s", STR_ARG(id)) : NULL;
}

/* en.m.wikipedia.org: the "m" is the last label before the project's own. */
static char *read_wikimedia(const struct rewriting *page)
{
    struct str host = str_of(page->url.host);
    size_t at = str_find(host, STR(".m."), 0);
    if (at != STR_NONE)
        return mem_printf("https://%.*s%s%s", STR_ARG(str_slice(host, 0, at)), page->url.host + at + 2, page->tail);
    return str_starts_with(host, STR("m.")) ? mem_printf("https://www.%s%s", page->url.host + 2, page->tail) : NULL;
}

static char *read_wikiwand(const struct rewriting *page)
{
    struct str language = rewrite_segment(page, 0);
    size_t at = str_equal(rewrite_segment(page, 1), STR("articles")) ? 2 : 1;
    if (language.len < 2 || language.len > 12 || page->n <= at)
        return NULL;
    return mem_printf("https://%.*s.wikipedia.org/wiki/%.*s", STR_ARG(language), STR_ARG(rewrite_rest(page, at)));
}

/* The old pages hold the comments; the new ones are made by scripts. */
static char *read_reddit(const struct rewriting *page)
{
    static const char *const kinds[] = {"r", "u", "user", "comments", "domain"};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        /* "/r/NAME/s/CODE" is a share link, which only the new site knows */
        if (first_is(page, kinds[i]) && !str_equal(rewrite_segment(page, 2), STR("s")))
            return mem_printf("https://old.reddit.com%s", page->tail);
    }
    return NULL;
}

static char *read_archive(const struct rewriting *page)
{
    struct str time, whole = page->whole, original = visit_archived(whole, &time);
    if (original.len == 0)
        return NULL;
    size_t end = (size_t)(time.data - whole.data) + time.len;
    if (whole.data[end] != '/')
        return NULL; /* with "id_" or another flag the link says itself how it wants to be read */
    return mem_printf("%.*sid_/%.*s", STR_ARG(str_slice(whole, 0, end)), STR_ARG(original));
}

/* The first rule that fits the host counts; "name" covers its subdomains, "=name" only itself. */
static const struct {
    const char *host;
    char *(*read)(const struct rewriting *page);
} sites[] = {
    {"ar5iv.org", read_ar5iv},
    {"ar5iv.labs.arxiv.org", read_ar5iv},
    {"arxiv.org", read_arxiv},
    {"alphaxiv.org", read_alphaxiv},
    {"openreview.net", read_openreview},
    {"ncbi.nlm.nih.gov", read_ncbi},
    {"europepmc.org", read_europe_pmc},
    {"gist.github.com", read_gist},
    {"=github.com", read_github},
    {"=www.github.com", read_github},
    {"=m.github.com", read_github},
    {"=github.dev", read_github},
    {"colab.research.google.com", read_colab},
    {"gitlab.com", read_gitlab},
    {"bitbucket.org", read_source},
    {"codeberg.org", read_source},
    {"gitea.com", read_source},
    {"gitee.com", read_gitee},
    {"git.sr.ht", read_sourcehut},
    {"huggingface.co", read_hugging_face},
    {"hf.co", read_hugging_face},
    {"docs.google.com", read_google_docs},
    {"drive.google.com", read_google_drive},
    {"dropbox.com", read_dropbox},
    {"pastebin.com", read_pastebin},
    {"wikipedia.org", read_wikimedia},
    {"wiktionary.org", read_wikimedia},
    {"wikiquote.org", read_wikimedia},
    {"wikibooks.org", read_wikimedia},
    {"wikinews.org", read_wikimedia},
    {"wikisource.org", read_wikimedia},
    {"wikiversity.org", read_wikimedia},
    {"wikivoyage.org", read_wikimedia},
    {"wikimedia.org", read_wikimedia},
    {"wikidata.org", read_wikimedia},
    {"mediawiki.org", read_wikimedia},
    {"wikiwand.com", read_wikiwand},
    {"=old.reddit.com", NULL},
    {"reddit.com", read_reddit},
    {"=web.archive.org", read_archive},
};

/* Hosts whose pages stand on another one under the same path. */
static const struct {
    const char *from, *to;
} hosts[] = {
    {"dx.doi.org", "doi.org"},
    {"raw.github.com", "raw.githubusercontent.com"},
    {"m.facebook.com", "www.facebook.com"},
    {"touch.facebook.com", "www.facebook.com"},
    {"m.imdb.com", "www.imdb.com"},
    {"m.youtube.com", "www.youtube.com"},
    {"mobile.twitter.com", "twitter.com"},
    {"mobile.x.com", "x.com"},
    {"mobile.nytimes.com", "www.nytimes.com"},
    {"m.bbc.co.uk", "www.bbc.co.uk"},
    {"m.bbc.com", "www.bbc.com"},
    {"amp.theguardian.com", "www.theguardian.com"},
    {"amp.dw.com", "www.dw.com"},
    {"m.dw.com", "www.dw.com"},
    {"m.huffpost.com", "www.huffpost.com"},
    {"m.stackoverflow.com", "stackoverflow.com"},
    {"wapbaike.baidu.com", "baike.baidu.com"},
    {"m.baike.so.com", "baike.so.com"},
};

/* What many sites share because they run the same program. */
static char *read_anywhere(const struct rewriting *page)
{
    struct str path = str_of(page->url.path);
    size_t blob = str_find(path, STR("/-/blob/"), 0); /* GitLab, wherever it runs */
    if (blob != STR_NONE)
        return mem_printf("%s%.*s/-/raw/%s", page->origin, STR_ARG(str_slice(path, 0, blob)),
                          page->url.path + blob + strlen("/-/blob/"));
    size_t tree = str_find(path, STR(".git/tree/"), 0); /* cgit */
    if (tree != STR_NONE && names_file(page))
        return mem_printf("%s%.*s.git/plain/%s%s%s", page->origin, STR_ARG(str_slice(path, 0, tree)),
                          page->url.path + tree + strlen(".git/tree/"), page->url.query ? "?" : "",
                          page->url.query ? page->url.query : "");
    char *amp = rewrite_parameter(page, "amp"), *output = rewrite_parameter(page, "outputType");
    char *address = NULL;
    if (amp && (!*amp || strcmp(amp, "1") == 0 || strcmp(amp, "true") == 0))
        address = rewrite_set_parameter(page, "amp", NULL);
    else if (output && strcmp(output, "amp") == 0)
        address = rewrite_set_parameter(page, "outputType", NULL);
    free(output);
    free(amp);
    return address;
}

static char *read_by_host(const struct rewriting *page)
{
    for (size_t i = 0; i < sizeof hosts / sizeof hosts[0]; i++) {
        if (strcmp(page->url.host, hosts[i].from) == 0)
            return mem_printf("https://%s%s", hosts[i].to, page->tail);
    }
    for (size_t i = 0; i < sizeof sites / sizeof sites[0]; i++) {
        if (rewrite_is_host(page, sites[i].host))
            return sites[i].read ? sites[i].read(page) : NULL;
    }
    return NULL;
}

/* Whether a rule gave another address, and one that is an address. */
static bool is_new(struct str url, const char *address)
{
    char *before = NULL, *after = NULL;
    bool is = url_canonical(str_of(address), &after, NULL) == STATUS_OK &&
              url_canonical(url, &before, NULL) == STATUS_OK && strcmp(before, after) != 0;
    free(before);
    free(after);
    return is;
}

char *visit_readable(struct str url, struct str fragment)
{
    struct rewriting page;
    if (!rewrite_init(&page, url, fragment))
        return NULL;
    char *address = read_by_host(&page);
    if (!address)
        address = read_anywhere(&page);
    rewrite_finish(&page);
    if (address && !is_new(url, address)) {
        free(address);
        address = NULL;
    }
    return address;
}
