/* What single elements of a page tell: meta, link, title, headings, scripts with JSON-LD, microdata. */
#include <stdlib.h>
#include <string.h>

#include "text/html/meta_internal.h"

#define MAX_METAS    3000 /* meta elements of a page that are looked at */
#define MAX_HEADINGS 30

static const struct {
    enum meta_field field;
    struct str name;
} names[] = {
#define NAME(field, name) {field, {name, sizeof(name) - 1}},
#include "text/html/meta_names.inc"
#undef NAME
};

/* For microdata, which may stand in hidden places and in <noscript>: whether it belongs to a comment or another page.
 */
static bool is_of_another(const struct meta *meta, uint32_t node)
{
    static const char *const words[] = {"comment", "related", "review", "recommend", NULL};
    static const char *const others[] = {"comment", "related", NULL};
    for (unsigned n = 0; node && n < META_MAX_UP; node = meta->tree->nodes[node].parent, n++) {
        const struct html_node *at = &meta->tree->nodes[node];
        struct str property = html_tree_attribute(meta->tree, at, HTML_ATTRIBUTE_ITEMPROP);
        struct str class = html_tree_attribute(meta->tree, at, HTML_ATTRIBUTE_CLASS);
        if ((html_flags(at->element) & ELEMENT_FURNITURE) || meta_mentions(property, words) ||
            meta_mentions(class, others))
            return true;
    }
    return false;
}

static void read_meta_element(struct meta *meta, const struct html_node *node)
{
    static const enum html_attribute keys[] = {HTML_ATTRIBUTE_PROPERTY, HTML_ATTRIBUTE_NAME, HTML_ATTRIBUTE_ITEMPROP,
                                               HTML_ATTRIBUTE_HTTP_EQUIV};
    struct str content = html_tree_attribute(meta->tree, node, HTML_ATTRIBUTE_CONTENT);
    for (size_t k = 0; content.len && k < sizeof keys / sizeof keys[0]; k++) {
        struct str key = str_trim(html_tree_attribute(meta->tree, node, keys[k]));
        if (key.len > 40)
            continue;
        for (size_t i = 0; key.len && i < sizeof names / sizeof names[0]; i++)
            if (key.len == names[i].name.len && str_equal_ascii_nocase(key, names[i].name))
                meta_offer(meta, names[i].field, RANK_META + (unsigned)i, content);
    }
}

/* Twitter's labelled data: label1 says what data1 is. */
static void read_labelled(struct meta *meta, const struct html_node *node, bool *is_author)
{
    struct str name = html_tree_attribute(meta->tree, node, HTML_ATTRIBUTE_NAME);
    struct str content = str_trim(html_tree_attribute(meta->tree, node, HTML_ATTRIBUTE_CONTENT));
    if (!name.len)
        name = html_tree_attribute(meta->tree, node, HTML_ATTRIBUTE_PROPERTY);
    if (str_starts_with_nocase(name, STR("twitter:label"))) {
        *is_author = meta_by_alone(content) > BY_STRIPPED;
    } else if (*is_author && str_starts_with_nocase(name, STR("twitter:data"))) {
        meta_offer(meta, META_AUTHOR, RANK_MICRODATA - 1, content);
        *is_author = false;
    }
}

static void read_link(struct meta *meta, const struct html_node *node)
{
    struct str rel = str_trim(html_tree_attribute(meta->tree, node, HTML_ATTRIBUTE_REL));
    struct str href = html_tree_attribute(meta->tree, node, HTML_ATTRIBUTE_HREF);
    if (str_equal_ascii_nocase(rel, STR("canonical")))
        meta_offer(meta, META_CANONICAL, RANK_LD, href);
}

/* The element inside one for somebody that has the name; itself without one. */
static uint32_t named_node(const struct meta *meta, uint32_t node)
{
    const struct html_tree *tree = meta->tree;
    for (uint32_t i = node + 1; i < tree->nodes[node].end && i < node + 200; i++)
        if (str_equal(html_tree_attribute(tree, &tree->nodes[i], HTML_ATTRIBUTE_ITEMPROP), STR("name")))
            return i;
    return node;
}

/* A property of schema.org written into the markup. */
static void read_property(struct meta *meta, uint32_t node, struct str property)
{
    static const struct {
        const char *name;
        enum meta_field field;
    } properties[] = {{"headline", META_LD_TITLE},     {"author", META_AUTHOR},
                      {"creator", META_AUTHOR},        {"datePublished", META_PUBLISHED},
                      {"dateCreated", META_PUBLISHED}, {"dateModified", META_MODIFIED}};
    for (size_t i = 0; i < sizeof properties / sizeof properties[0]; i++) {
        if (str_find(property, str_of(properties[i].name), 0) == STR_NONE || is_of_another(meta, node))
            continue;
        if (properties[i].field == META_AUTHOR)
            node = named_node(meta, node);
        const struct html_node *at = &meta->tree->nodes[node];
        struct str value = html_tree_attribute(meta->tree, at, HTML_ATTRIBUTE_CONTENT);
        struct buf text;
        buf_init(&text, BUF_UNBOUNDED); /* at most META_MAX_BYTES */
        if (!value.len)
            value = html_tree_attribute(meta->tree, at, HTML_ATTRIBUTE_DATETIME);
        if (!value.len) {
            html_tree_text(meta->tree, node, META_MAX_BYTES, &text);
            value = buf_str(&text);
        }
        if (properties[i].field != META_AUTHOR || (value.len < 100 && !meta->values[META_AUTHOR]))
            meta_offer(meta, properties[i].field, RANK_MICRODATA + (unsigned)i, value);
        buf_finish(&text);
    }
}

static void read_title_element(struct meta *meta, uint32_t node)
{
    const struct html_node *nodes = meta->tree->nodes;
    struct buf text;
    if (meta->values[META_TITLE_ELEMENT] || nodes[nodes[node].parent].element == HTML_SVG)
        return;
    buf_init(&text, BUF_UNBOUNDED); /* at most META_MAX_BYTES */
    html_tree_text(meta->tree, node, META_MAX_BYTES, &text);
    meta_offer(meta, META_TITLE_ELEMENT, RANK_LD, buf_str(&text));
    buf_finish(&text);
}

/* Whether the type of a script, or the name of a meta element that was meant to be one, is that of JSON-LD. */
static bool is_json_ld(const struct meta *meta, const struct html_node *node, enum html_attribute attribute)
{
    struct str type = html_tree_attribute(meta->tree, node, attribute);
    return type.len && str_find_nocase(str_slice(type, 0, 100), STR("ld+json"), 0) != STR_NONE;
}

#define PART_WORTH 0.9 /* of a heading that is a title but for the site's name or a section's */

/* How well a heading fits what the page says elsewhere of its title. */
static double heading_worth(const struct meta *meta, struct str text)
{
    static const enum meta_field titles[] = {META_OG_TITLE, META_LD_TITLE, META_TITLE_ELEMENT};
    double best = 0;
    for (size_t i = 0; i < sizeof titles / sizeof titles[0]; i++) {
        double like = meta_likeness(text, meta_value(meta, titles[i]));
        if (like < PART_WORTH && meta_is_part(meta_value(meta, titles[i]), text) && !meta_is_site(meta, text))
            like = PART_WORTH;
        if (like > best)
            best = like;
    }
    return best;
}

static bool is_hidden(const struct meta *meta, uint32_t node)
{
    for (unsigned n = 0; meta->marks && node && n < META_MAX_UP; node = meta->tree->nodes[node].parent, n++)
        if (meta->marks[node] & MARK_HIDDEN)
            return true;
    return false;
}

static void choose_heading(struct meta *meta, const uint32_t *headings, size_t n)
{
    double best = -1;
    struct buf text;
    buf_init(&text, BUF_UNBOUNDED); /* at most META_MAX_BYTES */
    for (size_t i = 0; i < n; i++) {
        buf_reset(&text);
        html_tree_text(meta->tree, headings[i], META_MAX_BYTES, &text);
        if (!text.len)
            continue;
        double like = heading_worth(meta, buf_str(&text));
        if (like < 0.6 && is_hidden(meta, headings[i]))
            continue;
        double worth = like + (meta_is_aside(meta, headings[i]) ? 0 : 0.2) +
                       (meta->tree->nodes[headings[i]].element == HTML_H1 ? 0.2 : 0);
        if (worth <= best)
            continue;
        best = worth;
        meta->heading = headings[i];
        meta->ranks[META_HEADING] = RANK_LAST;
        free(meta->values[META_HEADING]);
        meta->values[META_HEADING] = NULL;
        meta_offer(meta, META_HEADING, RANK_LD, buf_str(&text));
    }
    memset(meta->aside, 0, meta->tree->count); /* the heading decides some of it anew */
    buf_finish(&text);
}

void meta_read_elements(struct meta *meta, struct ld *ld)
{
    const struct html_tree *tree = meta->tree;
    uint32_t headings[MAX_HEADINGS];
    size_t n_headings = 0, n_metas = 0, n_ones = 0;
    bool author_is_next = false;
    for (uint32_t i = 0; i < tree->count; i++) {
        const struct html_node *node = &tree->nodes[i];
        if (node->element == HTML_META && n_metas++ < MAX_METAS) {
            read_meta_element(meta, node);
            read_labelled(meta, node, &author_is_next);
            if (is_json_ld(meta, node, HTML_ATTRIBUTE_NAME))
                ld_read(ld, html_tree_attribute(tree, node, HTML_ATTRIBUTE_CONTENT));
        } else if (node->element == HTML_LINK)
            read_link(meta, node);
        else if (node->element == HTML_TITLE)
            read_title_element(meta, i);
        else if (node->element == HTML_SCRIPT && is_json_ld(meta, node, HTML_ATTRIBUTE_TYPE) && node->end > i + 1)
            ld_read(ld, tree->nodes[i + 1].text);
        else if (node->element == HTML_H1 && n_ones++ < MAX_HEADINGS && n_headings < MAX_HEADINGS)
            headings[n_headings++] = i;
        else if (node->element == HTML_H2 && !n_ones && n_headings < 5)
            headings[n_headings++] = i;
    }
    choose_heading(meta, headings, n_headings);
}

void meta_read_properties(struct meta *meta)
{
    const struct html_tree *tree = meta->tree;
    for (uint32_t i = 0, n = 0; i < tree->count && n < 200; i++) {
        if (tree->nodes[i].n_attributes == 0)
            continue;
        struct str property = html_tree_attribute(tree, &tree->nodes[i], HTML_ATTRIBUTE_ITEMPROP);
        struct str type = html_tree_attribute(tree, &tree->nodes[i], HTML_ATTRIBUTE_ITEMTYPE);
        type = str_slice(type, str_rfind_char(type, '/') + 1, type.len); /* behind the last one, or all of it */
        if (type.len && type.len < 60 && !meta->values[META_TYPES] && meta_is_content_type(type))
            meta_offer(meta, META_TYPES, RANK_MICRODATA, type);
        if (!property.len)
            continue;
        read_property(meta, i, str_slice(property, 0, 100));
        n++;
    }
}
