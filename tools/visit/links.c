/* Where to go on from a page: the links of its main text whose words, heading or address bear on the goal. */
#include "core/mem.h"
#include "core/utf8.h"
#include "net/url.h"
#include "text/markdown.h"
#include "text/rank.h"
#include "tools/visit/internal.h"

#include <stdlib.h>
#include <string.h>

enum {
    MAX_PAGE_LINKS = 2000, /* that are looked at */
    MAX_LINKS = 20,        /* that are listed in a call; its pages share them */
    MAX_FULL_TEXTS = 3,
    MAX_URL = 500,
    MAX_LABEL = 120,
    MAX_HEADING = 200,
};

struct link {
    struct str url; /* as the page has it, borrowed from the text */
    char *label;    /* plain text */
    char *identity; /* without a fragment */
    struct str heading;
};

struct links {
    struct link *items;
    size_t count;
};

/* ---- finding them ---- */

/* From the bracket at `middle`, which closes a label, back to what opens it; STR_NONE where that is no label. */
static size_t label_start(struct str text, size_t middle)
{
    size_t depth = 0;
    for (size_t i = middle; i > 0 && middle - i < 400 && text.data[i - 1] != '\n'; i--) {
        bool escaped = i > 1 && text.data[i - 2] == '\\';
        if (text.data[i - 1] == ']' && !escaped)
            depth++;
        else if (text.data[i - 1] == '[' && !escaped && depth-- == 0)
            return i;
    }
    return STR_NONE;
}

/* The address between angle brackets at `open`; its own label. False when it does not end in time. */
static bool bare_link(struct str text, size_t open, size_t *at, struct str *label, struct str *url)
{
    size_t end = open + 1;
    while (end < text.len && end - open < (size_t)2 * MAX_URL && text.data[end] != '>' &&
           !ascii_is_space(text.data[end]))
        end++;
    *at = end;
    *label = *url = str_slice(text, open + 1, end);
    return end < text.len && text.data[end] == '>';
}

/* The next [label](http…) or <http…> at or after *at. */
static bool next_link(struct str text, size_t *at, struct str *label, struct str *url)
{
    for (;;) {
        size_t middle = str_find(text, STR("](http"), *at);
        size_t bare = str_find(str_slice(text, 0, middle), STR("<http"), *at);
        if (bare != STR_NONE && (bare == 0 || text.data[bare - 1] != '\\')) {
            if (bare_link(text, bare, at, label, url))
                return true;
            continue;
        }
        if (middle == STR_NONE)
            return false;
        *at = middle + 2;
        bool escaped = middle > 0 && text.data[middle - 1] == '\\';
        size_t open = escaped ? STR_NONE : label_start(text, middle), end = middle + 2;
        while (end < text.len && end - middle < (size_t)2 * MAX_URL && text.data[end] != ')' &&
               !ascii_is_space(text.data[end]))
            end++;
        bool image = open != STR_NONE && open > 1 && text.data[open - 2] == '!';
        if (open == STR_NONE || image || end == text.len || (text.data[end] != ')' && text.data[end] != ' '))
            continue;
        *label = str_slice(text, open, middle);
        *url = str_slice(text, middle + 2, end);
        return true;
    }
}

/* The last heading before `at`, going on from *line, where a line begins. */
static void follow_headings(struct str text, size_t *line, size_t at, struct str *heading)
{
    while (*line < at) {
        size_t end = str_find_char(text, '\n', *line);
        if (end == STR_NONE)
            end = text.len;
        if (text.data[*line] == '#')
            *heading = str_trim(str_slice(text, *line, end - *line > MAX_HEADING ? *line + MAX_HEADING : end));
        *line = end + 1;
    }
}

/* What every site has and no research wants. */
static bool is_navigation(struct str label)
{
    static const char *const names[] = {
        "edit",
        "edit source",
        "view source",
        "history",
        "talk",
        "discuss",
        "log in",
        "login",
        "sign in",
        "sign up",
        "register",
        "subscribe",
        "share",
        "tweet",
        "print",
        "reply",
        "permalink",
        "home",
        "contact",
        "contact us",
        "about us",
        "privacy",
        "help",
        "privacy policy",
        "terms of use",
        "terms of service",
        "terms",
        "cookie policy",
        "skip to content",
        "skip to main content",
        "back to top",
        "top",
        "menu",
        "search",
        "more",
        "read more",
        "show more",
        "load more",
        "advertisement",
        "jump to content",
        "report",
        "flag",
        "follow",
        "newsletter",
        "编辑",
        "登录",
        "注册",
        "首页",
        "分享",
        "举报",
        "更多",
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (str_equal_ascii_nocase(label, str_of(names[i])))
            return true;
    }
    return false;
}

static bool has_digits_only(struct str label)
{
    for (size_t i = 0; i < label.len; i++) {
        if (!ascii_is_digit(label.data[i]) && !strchr(" .,^#-", label.data[i]))
            return false;
    }
    return true;
}

/* Addresses that do something, or hold nothing to read. */
static bool is_useless(struct str url)
{
    static const char *const parts[] = {"action=edit", "/login",     "/signin",      "/signup",      "/register?",
                                        "/share?",     "sharer.php", "intent/tweet", "/intent/post", "share-offsite",
                                        "veaction=",   "redlink=1",  "/cdn-cgi/",    "add-to-cart",  "replytocom="};
    static const char *const endings[] = {".png", ".jpg", ".jpeg", ".gif", ".svg", ".webp", ".ico", ".css", ".js"};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        if (str_find_nocase(url, str_of(parts[i]), 0) != STR_NONE)
            return true;
    }
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        struct str ending = str_of(endings[i]);
        if (url.len > ending.len && str_equal_ascii_nocase(str_slice(url, url.len - ending.len, url.len), ending))
            return true;
    }
    return false;
}

/* A label as plain text that cannot end the brackets around it. */
static char *plain_label(struct str label)
{
    struct buf line, out;
    buf_init(&line, BUF_UNBOUNDED);
    buf_init(&out, BUF_UNBOUNDED);
    if (markdown_to_line(label, &line) != STATUS_OK)
        abort(); /* the buffer has no cap */
    for (size_t i = 0; i < line.len; i++) {
        if (!strchr("[]`<>\\", line.data[i]))
            buf_add_char(&out, line.data[i]);
    }
    char *plain = line_make(buf_str(&out), MAX_LABEL);
    buf_finish(&line);
    buf_finish(&out);
    return plain;
}

static bool is_known(const struct visit_page *page, const struct links *links, const char *identity)
{
    for (size_t i = 0; i < page->call->n_visited; i++) {
        if (strcmp(page->call->visited[i], identity) == 0)
            return true;
    }
    for (size_t i = 0; i < links->count; i++) {
        if (strcmp(links->items[i].identity, identity) == 0)
            return true;
    }
    return false;
}

/* What is inside a network is of use to nobody else, and mostly refused to us; a page inside may lead on to itself. */
static bool leads_inside(const struct visit_page *page, struct str url)
{
    if (!visit_is_inside(url))
        return false;
    char *there = url_host(url), *here = url_host(str_of(page->address));
    bool same = there && here && strcmp(there, here) == 0;
    free(there);
    free(here);
    return !same;
}

static bool take_link(const struct visit_page *page, struct links *links, struct str label, struct str url,
                      struct str heading)
{
    url = str_slice(url, 0, str_find_char(url, '#', 0));
    if (url.len >= MAX_URL || is_useless(url))
        return false;
    char *plain = plain_label(label), *identity = url_identity(url);
    struct str text = str_of(plain);
    if (has_digits_only(text) || is_navigation(text) || is_known(page, links, identity) || leads_inside(page, url)) {
        free(identity);
        free(plain);
        return false;
    }
    links->items[links->count++] = (struct link){.url = url, .label = plain, .identity = identity, .heading = heading};
    return true;
}

static void collect(const struct visit_page *page, struct links *links)
{
    struct str text = buf_str(&page->text), label, url, heading = STR("");
    char *own = url_identity(str_of(page->base_url ? page->base_url : page->url));
    size_t at = 0, line = 0;
    links->items = mem_calloc(MAX_PAGE_LINKS, sizeof *links->items);
    links->count = 0;
    for (int seen = 0; seen < MAX_PAGE_LINKS && next_link(text, &at, &label, &url); seen++) {
        follow_headings(text, &line, at, &heading);
        if (take_link(page, links, label, url, heading) && strcmp(links->items[links->count - 1].identity, own) == 0) {
            free(links->items[--links->count].label);
            free(links->items[links->count].identity);
        }
    }
    free(own);
}

/* ---- choosing ---- */

/* What a link says about itself. Its label counts more than its heading and address. */
static char *describe(const struct link *link)
{
    size_t path = str_find(link->url, STR("://"), 0);
    path = path == STR_NONE ? STR_NONE : str_find_char(link->url, '/', path + 3);
    struct str tail = path == STR_NONE ? STR("") : str_slice(link->url, path, link->url.len);
    return mem_printf("%s\n%s\n%.*s\n%.*s", link->label, link->label, STR_ARG(link->heading), STR_ARG(tail));
}

/* Where the whole of what a page only sums up can be had. */
static bool is_full_text(const struct link *link)
{
    static const char *const marks[] = {"pdf",         "full text", "full-text", "fulltext",  "full paper",
                                        "full report", "html",      "download",  "next page", "supplement",
                                        "全文",        "下载",      "下一页"};
    struct str label = str_of(link->label);
    for (size_t i = 0; label.len <= 60 && i < sizeof marks / sizeof marks[0]; i++) {
        if (str_find_nocase(label, str_of(marks[i]), 0) != STR_NONE)
            return true;
    }
    return false;
}

/* The address as it can stand between parentheses. */
static void add_url(struct buf *out, struct str url)
{
    for (size_t i = 0; i < url.len; i++) {
        unsigned char c = (unsigned char)url.data[i];
        if (c <= ' ' || c == 0x7f || strchr("()<>[]\"\\`", url.data[i]))
            buf_addf(out, "%%%02X", (unsigned)c);
        else
            buf_add_char(out, url.data[i]);
    }
}

static void add_link(struct buf *out, const struct link *link)
{
    buf_addf(out, "%s- [%s](", out->len > 0 ? "\n" : "", link->label);
    add_url(out, link->url);
    buf_add_text(out, ")");
}

void visit_pick_links(struct visit_page *page)
{
    struct links links;
    struct ranked best[MAX_LINKS];
    size_t limit = MAX_LINKS / page->call->n_pages, full_texts = 0;
    collect(page, &links);
    struct str *texts = mem_calloc(links.count, sizeof *texts);
    bool *listed = mem_calloc(links.count, sizeof *listed);
    for (size_t i = 0; i < links.count; i++)
        texts[i] = str_of(describe(&links.items[i]));
    size_t found = rank_texts(texts, links.count, page->call->goal, best, limit);
    for (size_t i = 0; i < found; i++) {
        listed[best[i].index] = true;
        add_link(&page->links, &links.items[best[i].index]);
    }
    for (size_t i = 0; i < links.count && found < limit && full_texts < MAX_FULL_TEXTS; i++) {
        if (listed[i] || !is_full_text(&links.items[i]))
            continue;
        add_link(&page->links, &links.items[i]);
        full_texts++;
        found++;
    }
    for (size_t i = 0; i < links.count; i++) {
        free((char *)texts[i].data);
        free(links.items[i].label);
        free(links.items[i].identity);
    }
    free(listed);
    free(texts);
    free(links.items);
}
