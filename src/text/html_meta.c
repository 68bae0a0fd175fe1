/* What a page says about itself: meta elements (plain, Dublin Core, OpenGraph), JSON-LD, and the places where it is
 * shown. */
#include <stdlib.h>
#include <string.h>

#include "core/json.h"
#include "core/mem.h"
#include "core/utf8.h"
#include "text/html_internal.h"

#define MAX_FIELD_BYTES 1000
#define MAX_JSON_NODES  20000 /* of one page's JSON-LD that are looked at */

enum field { FIELD_TITLE, FIELD_AUTHOR, FIELD_DATE, FIELD_SITE, FIELD_DESCRIPTION, FIELD_LANGUAGE, FIELD_COUNT };

/* Names of meta elements, better ones first; JSON-LD ranks between the first and the rest. */
static const struct {
    enum field field;
    const char *name;
} meta_names[] = {
    {FIELD_TITLE, "og:title"},
    {FIELD_TITLE, "citation_title"},
    {FIELD_TITLE, "twitter:title"},
    {FIELD_TITLE, "dc.title"},
    {FIELD_AUTHOR, "author"},
    {FIELD_AUTHOR, "citation_author"},
    {FIELD_AUTHOR, "dc.creator"},
    {FIELD_AUTHOR, "parsely-author"},
    {FIELD_AUTHOR, "sailthru.author"},
    {FIELD_AUTHOR, "article:author"},
    {FIELD_DATE, "article:published_time"},
    {FIELD_DATE, "datepublished"},
    {FIELD_DATE, "og:published_time"},
    {FIELD_DATE, "citation_publication_date"},
    {FIELD_DATE, "parsely-pub-date"},
    {FIELD_DATE, "sailthru.date"},
    {FIELD_DATE, "dc.date"},
    {FIELD_DATE, "pubdate"},
    {FIELD_DATE, "date"},
    {FIELD_SITE, "og:site_name"},
    {FIELD_SITE, "application-name"},
    {FIELD_DESCRIPTION, "og:description"},
    {FIELD_DESCRIPTION, "description"},
    {FIELD_DESCRIPTION, "twitter:description"},
    {FIELD_LANGUAGE, "content-language"},
    {FIELD_LANGUAGE, "dc.language"},
    {FIELD_LANGUAGE, "og:locale"},
};

struct meta {
    char *values[FIELD_COUNT];
    size_t ranks[FIELD_COUNT]; /* how good the value is; smaller is better */
};

/* Takes a value over when it is not empty and none as good is known. */
static void offer(struct meta *meta, enum field field, size_t rank, struct str value)
{
    value = str_trim(value);
    if (!value.len || (meta->values[field] && meta->ranks[field] <= rank))
        return;
    bool is_address = str_starts_with_nocase(value, STR("http://")) || str_starts_with_nocase(value, STR("https://"));
    if (field == FIELD_AUTHOR && is_address)
        return;
    struct buf line;
    buf_init(&line, BUF_UNBOUNDED);
    value = str_slice(value, 0, utf8_floor(value, MAX_FIELD_BYTES));
    for (size_t i = 0; i < value.len; i++) {
        if (!ascii_is_space(value.data[i]))
            buf_add_char(&line, value.data[i]);
        else if (line.len && line.data[line.len - 1] != ' ')
            buf_add_char(&line, ' ');
    }
    free(meta->values[field]);
    meta->values[field] = buf_take(&line);
    meta->ranks[field] = rank;
}

static void read_meta_element(struct meta *meta, const xmlNode *node)
{
    static const char *const keys[] = {"property", "name", "itemprop", "http-equiv"};
    struct str content = html_attribute(node, "content");
    for (size_t k = 0; k < sizeof keys / sizeof keys[0]; k++) {
        struct str key = html_attribute(node, keys[k]);
        for (size_t i = 0; key.len && i < sizeof meta_names / sizeof meta_names[0]; i++)
            if (str_equal_ascii_nocase(key, str_of(meta_names[i].name)))
                offer(meta, meta_names[i].field, 10 + i, content);
    }
}

/* A JSON-LD value that names somebody: a string, an object with a name, or a list of these. */
static void offer_name(struct meta *meta, enum field field, const json_t *value)
{
    struct buf names;
    buf_init(&names, BUF_UNBOUNDED);
    size_t n = json_is_array(value) ? json_array_size(value) : 1;
    for (size_t i = 0; i < n && i < 20 && names.len < MAX_FIELD_BYTES; i++) {
        const json_t *one = json_is_array(value) ? json_array_get(value, i) : value;
        const char *name = json_is_string(one) ? json_string_value(one) : json_get_string(one, "name");
        if (name && *name)
            buf_addf(&names, "%s%s", names.len ? ", " : "", name);
    }
    offer(meta, field, 9, buf_str(&names));
    buf_finish(&names);
}

/* Whether an object's @type is one of a text's: an article, a page, a posting, a product, a recipe … */
static bool describes_page(const json_t *object)
{
    const json_t *type = json_object_get(object, "@type");
    struct str name = json_is_array(type) && json_is_string(json_array_get(type, 0))
                          ? str_of(json_string_value(json_array_get(type, 0)))
                          : json_get_str(object, "@type");
    static const char *const endings[] = {"Article", "Posting", "Report", "WebPage",
                                          "Recipe",  "Book",    "Review", "Product"};
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++)
        if (str_ends_with(name, str_of(endings[i])))
            return true;
    return false;
}

static void read_json_object(struct meta *meta, const json_t *object)
{
    if (!describes_page(object))
        return;
    offer(meta, FIELD_TITLE, 11, json_get_str(object, "headline"));
    offer(meta, FIELD_DATE, 9, json_get_str(object, "datePublished"));
    offer(meta, FIELD_DESCRIPTION, 60, json_get_str(object, "description"));
    offer(meta, FIELD_LANGUAGE, 60, json_get_str(object, "inLanguage"));
    offer_name(meta, FIELD_AUTHOR, json_object_get(object, "author"));
    offer_name(meta, FIELD_SITE, json_object_get(object, "publisher"));
}

/* Looks at every object of the value, breadth first, without recursion. */
static void read_json(struct meta *meta, json_t *root)
{
    const json_t **queue = mem_calloc(MAX_JSON_NODES, sizeof *queue);
    size_t n = 0;
    queue[n++] = root;
    for (size_t at = 0; at < n; at++) {
        if (json_is_array(queue[at])) {
            for (size_t i = 0; i < json_array_size(queue[at]) && n < MAX_JSON_NODES; i++)
                queue[n++] = json_array_get(queue[at], i);
        } else if (json_is_object(queue[at])) {
            read_json_object(meta, queue[at]);
            const char *key;
            json_t *value;
            json_t *object = (json_t *)(uintptr_t)queue[at]; /* jansson's iterator does not write */
            json_object_foreach (object, key, value) {
                if (n < MAX_JSON_NODES && (json_is_array(value) || json_is_object(value)))
                    queue[n++] = value;
            }
        }
    }
    free(queue);
}

static void read_json_ld(struct meta *meta, struct str json_ld)
{
    struct str piece;
    while (str_split_next(&json_ld, '\0', &piece)) {
        json_t *value;
        if (json_parse(str_trim(piece), &value, NULL) != STATUS_OK)
            continue;
        read_json(meta, value);
        json_decref(value);
    }
}

/* Cuts " - Site" or " | Site" off a title when the page says so itself: its heading, or its site's name. */
static struct str title_alone(struct str title, struct str site)
{
    static const char *const bars[] = {" | ", " - ", " – ", " — ", " :: ", " · "};
    for (size_t i = 0; site.len && i < sizeof bars / sizeof bars[0]; i++) {
        struct str bar = str_of(bars[i]);
        if (title.len > site.len + bar.len &&
            str_equal_ascii_nocase(str_slice(title, title.len - site.len, title.len), site) &&
            str_equal(str_slice(title, title.len - site.len - bar.len, title.len - site.len), bar))
            return str_slice(title, 0, title.len - site.len - bar.len);
    }
    return title;
}

static void read_body_element(struct meta *meta, xmlNode *node, struct buf *text)
{
    static const char *const bylines[] = {"author", "byline", "article-author", "entry-author", "post-author"};
    struct str class = html_attribute(node, "class");
    struct str itemprop = html_attribute(node, "itemprop");
    buf_reset(text);
    if (html_is(node, "h1") && !meta->values[FIELD_TITLE]) {
        html_collect_text(node, MAX_FIELD_BYTES, text);
        offer(meta, FIELD_TITLE, 50, buf_str(text));
    } else if (html_is(node, "time") && !meta->values[FIELD_DATE]) {
        struct str when = html_attribute(node, "datetime");
        if (!when.len) {
            html_collect_text(node, 100, text);
            when = buf_str(text);
        }
        offer(meta, FIELD_DATE, 70, when);
    } else if (!meta->values[FIELD_AUTHOR]) {
        bool is_author = str_equal(itemprop, STR("author")) || str_equal(html_attribute(node, "rel"), STR("author"));
        struct str one;
        while (!is_author && str_split_next(&class, ' ', &one))
            for (size_t i = 0; i < sizeof bylines / sizeof bylines[0]; i++)
                is_author = is_author || str_equal_ascii_nocase(one, str_of(bylines[i]));
        if (is_author) {
            html_collect_text(node, 200, text);
            struct str name = buf_str(text);
            if (str_starts_with_nocase(name, STR("by ")))
                name = str_slice(name, 3, name.len);
            if (name.len < 100)
                offer(meta, FIELD_AUTHOR, 70, name);
        }
    }
}

void html_read_meta(xmlNode *root, struct str json_ld, struct str page_url, struct html_page *out)
{
    struct meta meta = {0};
    struct buf text, shown;
    buf_init(&text, BUF_UNBOUNDED);
    buf_init(&shown, BUF_UNBOUNDED);
    offer(&meta, FIELD_LANGUAGE, 0, html_attribute(root, "lang"));
    read_json_ld(&meta, json_ld);
    for (xmlNode *node = root; node; node = html_next(node, root, false)) {
        if (node->type != XML_ELEMENT_NODE)
            continue;
        if (html_is(node, "meta"))
            read_meta_element(&meta, node);
        else if (html_is(node, "title") && !shown.len)
            html_collect_text(node, MAX_FIELD_BYTES, &shown);
        else if (html_is(node, "link") && !out->canonical_url &&
                 str_equal_ascii_nocase(html_attribute(node, "rel"), STR("canonical")))
            out->canonical_url = html_resolve(page_url, html_attribute(node, "href"));
        else
            read_body_element(&meta, node, &text);
    }
    offer(&meta, FIELD_TITLE, 49, title_alone(buf_str(&shown), str_of(meta.values[FIELD_SITE])));
    buf_finish(&text);
    buf_finish(&shown);
    out->title = meta.values[FIELD_TITLE];
    out->author = meta.values[FIELD_AUTHOR];
    out->date = meta.values[FIELD_DATE];
    out->site_name = meta.values[FIELD_SITE];
    out->description = meta.values[FIELD_DESCRIPTION];
    out->language = meta.values[FIELD_LANGUAGE];
}
