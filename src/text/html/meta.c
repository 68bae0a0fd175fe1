#include "text/html/meta.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/utf8.h"
#include "text/html/meta_internal.h"
#include "text/script.h"

#define NEAR_HEADING 40 /* nodes */

/* ---- fields ---- */

struct str meta_value(const struct meta *meta, enum meta_field field)
{
    return str_of(meta->values[field]);
}

/* English of the United States and the like write the month first. */
bool meta_day_comes_first(const struct meta *meta)
{
    static const char *const month_first[] = {"en", "en-us", "fil", "en-ph"};
    struct str language = meta_value(meta, META_LANGUAGE);
    if (!language.len)
        return false;
    for (size_t i = 0; i < sizeof month_first / sizeof month_first[0]; i++)
        if (str_equal_ascii_nocase(language, str_of(month_first[i])))
            return false;
    return true;
}

static void set(struct meta *meta, enum meta_field field, unsigned rank, char *value)
{
    free(meta->values[field]);
    meta->values[field] = value;
    meta->ranks[field] = rank;
}

void meta_withdraw(struct meta *meta, enum meta_field field)
{
    free(meta->values[field]);
    meta->values[field] = NULL;
}

static void offer_author(struct meta *meta, unsigned rank, struct str value)
{
    struct buf list;
    buf_init(&list, BUF_UNBOUNDED); /* two fields */
    if (meta->values[META_AUTHOR] && meta->ranks[META_AUTHOR] == rank)
        buf_add_text(&list, meta->values[META_AUTHOR]);
    if (list.len + value.len < META_MAX_BYTES)
        meta_add_author(value, &list);
    if (list.len)
        set(meta, META_AUTHOR, rank, buf_take(&list));
    buf_finish(&list);
}

static void offer_date(struct meta *meta, enum meta_field field, unsigned rank, struct str value)
{
    char date[40];
    if (meta_date(value, rank < RANK_TIME, meta_day_comes_first(meta), date))
        set(meta, field, rank, mem_strdup(date));
}

/* Keeps what day a source for machines gives, also when a better one is known. */
static void note_stated(struct meta *meta, struct str value)
{
    char date[40];
    if (meta->n_stated == META_MAX_STATED || !meta_date(value, true, meta_day_comes_first(meta), date))
        return;
    snprintf(meta->stated[meta->n_stated++], sizeof meta->stated[0], "%.10s", date);
}

void meta_offer(struct meta *meta, enum meta_field field, unsigned rank, struct str value)
{
    if (field == META_PUBLISHED && rank < RANK_BYLINE)
        note_stated(meta, value);
    bool several = field == META_AUTHOR || field == META_KEYWORDS;
    bool same = meta->ranks[field] == rank && several && rank < RANK_BYLINE;
    if (!value.len || (meta->values[field] && meta->ranks[field] <= rank && !same))
        return;
    struct buf line;
    buf_init(&line, BUF_UNBOUNDED); /* META_MAX_BYTES */
    meta_clean(value, META_MAX_BYTES, &line);
    if (!line.len) {
        buf_finish(&line);
        return;
    }
    if (field == META_AUTHOR) {
        offer_author(meta, rank, buf_str(&line));
    } else if (field == META_PUBLISHED || field == META_MODIFIED) {
        offer_date(meta, field, rank, buf_str(&line));
    } else if (same && meta->values[field]) {
        size_t room = strlen(meta->values[field]) + line.len;
        if (room < META_MAX_BYTES)
            set(meta, field, rank, mem_printf("%s, %s", meta->values[field], line.data));
    } else {
        set(meta, field, rank, buf_take(&line));
    }
    buf_finish(&line);
}

static bool is_beside(const struct meta *meta, uint32_t index)
{
    static const char *const words[] = {"comment", "related",  "sidebar",    "footer", "recommend", "recirc",
                                        "popular", "trending", "newsletter", "cookie", "menu",      "widget-area",
                                        "widget_", "latest",   "read-next",  NULL};
    const struct html_node *node = &meta->tree->nodes[index];
    if (index < meta->heading && meta->heading < node->end)
        return false; /* what the heading is in is the content, whatever its name */
    static const char *const own[] = {"meta", "author", "byline", "date", "entry", "post-info", NULL};
    struct str class = html_tree_attribute(meta->tree, node, HTML_ATTRIBUTE_CLASS);
    bool right_below = meta->heading && index > meta->heading && index < meta->heading + NEAR_HEADING;
    if (node->element != HTML_NAV && (html_flags(node->element) & ELEMENT_FURNITURE) &&
        (meta_mentions(class, own) || (node->element == HTML_ASIDE && right_below)))
        return false; /* an article's own footer, or its line of author and date */
    if ((html_flags(node->element) & (ELEMENT_FURNITURE | ELEMENT_SILENT)))
        return node->element != HTML_HEAD && node->element != HTML_BUTTON;
    if (node->element == HTML_BODY || node->element == HTML_HTML || node->n_attributes == 0)
        return false;
    return meta_mentions(class, words) ||
           meta_mentions(html_tree_attribute(meta->tree, node, HTML_ATTRIBUTE_ID), words);
}

bool meta_is_aside(const struct meta *meta, uint32_t node)
{
    uint8_t answer = 1;
    uint32_t top = node;
    for (unsigned n = 0; top && n < META_MAX_UP && answer == 1; top = meta->tree->nodes[top].parent, n++) {
        bool hidden = meta->marks && (meta->marks[top] & MARK_HIDDEN);
        if (meta->aside[top])
            answer = meta->aside[top];
        else if (hidden || is_beside(meta, top))
            answer = 2;
        if (meta->aside[top] || answer == 2)
            break;
    }
    for (; node != top; node = meta->tree->nodes[node].parent)
        meta->aside[node] = answer;
    meta->aside[top] = answer;
    return answer == 2;
}

/* ---- the results ---- */

static void find_base(const struct meta *meta, struct html_base *base)
{
    struct str href = {0};
    for (uint32_t i = 0; i < meta->tree->count && !href.len; i++)
        if (meta->tree->nodes[i].element == HTML_BASE)
            href = html_tree_attribute(meta->tree, &meta->tree->nodes[i], HTML_ATTRIBUTE_HREF);
    html_base_init(base, meta->page_url, href);
}

/* Whether an address has a path or a query. */
static bool is_deep(struct str address)
{
    size_t scheme = str_find(address, STR("://"), 0);
    size_t path = scheme == STR_NONE ? STR_NONE : str_find_char(address, '/', scheme + 3);
    return path != STR_NONE && path + 1 < address.len && address.data[path + 1] != '#';
}

/* Absolute, and not the site's front page for a page inside it. */
static char *settle_canonical(struct meta *meta)
{
    struct str written = meta_value(meta, META_CANONICAL);
    struct html_base base;
    struct buf out;
    if (!written.len)
        return NULL;
    buf_init(&out, BUF_UNBOUNDED); /* HTML_MAX_ADDRESS bounds it */
    find_base(meta, &base);
    enum html_link kind = html_base_resolve(&base, written, &out);
    if (kind == LINK_WITHIN && base.page) {
        buf_reset(&out);
        buf_add_text(&out, base.page);
        kind = LINK_ADDRESS;
    }
    bool sane = kind == LINK_ADDRESS && out.len && (is_deep(buf_str(&out)) || !is_deep(meta->page_url));
    html_base_finish(&base);
    char *address = sane ? buf_take(&out) : NULL;
    buf_finish(&out);
    return address;
}

static char *settle_language(struct meta *meta)
{
    const struct html_tree *tree = meta->tree;
    struct str own = {0};
    for (uint32_t i = 0; i < tree->count && i < 10 && !own.len; i++) {
        if (tree->nodes[i].element != HTML_HTML && tree->nodes[i].element != HTML_BODY)
            continue;
        own = str_trim(html_tree_attribute(tree, &tree->nodes[i], HTML_ATTRIBUTE_LANG));
        if (!own.len)
            own = str_trim(html_tree_attribute(tree, &tree->nodes[i], HTML_ATTRIBUTE_XML_LANG));
    }
    if (own.len && own.len < 36)
        meta_offer(meta, META_LANGUAGE, RANK_LD, own);
    char *language = meta->values[META_LANGUAGE];
    for (char *c = language; c && *c; c++) {
        if (*c == '_')
            *c = '-';
        if (*c == ',' || *c == ' ' || *c == ';')
            *c = '\0';
    }
    if (language && *language) {
        meta->values[META_LANGUAGE] = NULL;
        return language;
    }
    meta_withdraw(meta, META_LANGUAGE);
    const struct script_locale *locale = script_locale(meta_value(meta, META_TITLE_ELEMENT));
    return locale ? mem_strdup(locale->language) : NULL;
}

static char *take(struct meta *meta, enum meta_field field)
{
    char *value = meta->values[field];
    meta->values[field] = NULL;
    return value;
}

bool meta_is_article(const struct meta *meta)
{
    static const char *const words[] = {"article", "posting", "report", "question", NULL};
    return meta_mentions(meta_value(meta, META_OG_TYPE), words) || meta_mentions(meta_value(meta, META_TYPES), words);
}

bool meta_is_discussion(const struct meta *meta)
{
    static const char *const words[] = {"forum", "question", "qapage", NULL};
    return meta_mentions(meta_value(meta, META_TYPES), words);
}

/* Whether the author is the site itself, or the name that somebody logs in with where articles are written; what a
 * reader sees is better then. */
static bool is_weak_author(const struct meta *meta)
{
    struct str name = meta_value(meta, META_AUTHOR);
    bool login = name.len > 0;
    for (size_t i = 0; i < name.len; i++)
        login &=
            name.data[i] != ' ' && !(name.data[i] >= 'A' && name.data[i] <= 'Z') && (unsigned char)name.data[i] < 0x80;
    if (login && !meta_is_discussion(meta))
        return true;
    return meta_is_site(meta, name);
}

/* A page is not written after it was changed: then one of both is wrong, and the earlier is what it had first. */
static void settle_dates(struct meta *meta, struct html_meta *out)
{
    char address[40];
    if (!meta->values[META_PUBLISHED] || meta->ranks[META_PUBLISHED] > RANK_ADDRESS) {
        struct str canonical = meta_value(meta, META_CANONICAL);
        if (meta_date_in_address(meta->page_url, address) || meta_date_in_address(canonical, address))
            set(meta, META_PUBLISHED, RANK_ADDRESS, mem_strdup(address));
    }
    out->date = take(meta, META_PUBLISHED);
    out->modified = take(meta, META_MODIFIED);
    if (out->date && out->modified && strncmp(out->modified, out->date, 10) < 0) {
        free(out->modified);
        out->modified = NULL;
    }
}

void html_meta_read(const struct html_tree *tree, const uint8_t *marks, struct str page_url, struct html_meta *out)
{
    struct meta meta = {.tree = tree, .marks = marks, .page_url = page_url};
    struct ld ld;
    meta.aside = mem_calloc(tree->count + 1, 1);
    ld_init(&ld);
    meta_read_elements(&meta, &ld);
    out[0] = (struct html_meta){0};
    out->language = settle_language(&meta);
    meta.values[META_LANGUAGE] = mem_strdup_or_null(out->language);
    meta_read_ld(&meta, &ld);
    meta_read_properties(&meta);
    bool weak = is_weak_author(&meta);
    if (weak)
        meta.ranks[META_AUTHOR] = RANK_LAST;
    meta_read_byline(&meta);
    struct str author = meta_value(&meta, META_AUTHOR);
    if (weak && meta.ranks[META_AUTHOR] == RANK_LAST && !meta_is_article(&meta) && meta_is_site(&meta, author) &&
        !meta_is_person(author))
        meta_withdraw(&meta, META_AUTHOR);
    ld_finish(&ld);
    meta_settle_shown(&meta);
    settle_dates(&meta, out);
    out->site_name = take(&meta, META_SITE);
    out->title = meta_choose_title(&meta, &out->site_name);
    out->author = take(&meta, META_AUTHOR);
    out->canonical_url = settle_canonical(&meta);
    if (!out->language)
        out->language = take(&meta, META_LANGUAGE);
    out->description = take(&meta, META_DESCRIPTION);
    out->section = take(&meta, META_SECTION);
    out->keywords = take(&meta, META_KEYWORDS);
    out->body = take(&meta, META_BODY);
    const char *og = meta.values[META_OG_TYPE], *types = meta.values[META_TYPES];
    if (og || types)
        out->types = mem_printf("%s%s%s", og ? og : "", og && types ? " " : "", types ? types : "");
    free(meta.aside);
    for (size_t i = 0; i < META_FIELDS; i++)
        free(meta.values[i]);
}

void html_meta_finish(struct html_meta *meta)
{
    if (!meta)
        return;
    char *const all[] = {meta->title,     meta->author,   meta->date,          meta->modified,
                         meta->site_name, meta->language, meta->canonical_url, meta->description,
                         meta->section,   meta->keywords, meta->types,         meta->body};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        free(all[i]);
    *meta = (struct html_meta){0};
}
