/* Which part of a page is its text. First what is no content is marked as dropped: the invisible, the page's furniture,
 * banners, share buttons, lists of other pages. Then the smallest element that holds nearly all running text is looked
 * for. */
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "text/html_internal.h"

#define RUNNING_TEXT 60 /* characters that make a block one of running text */
#define ARTICLE_TEXT \
    400 /* so much running text makes a page an article; a page with less is a list of links or the like */
#define HOLDS_MAIN(part, whole) ((uint64_t)(part)*4 >= (uint64_t)(whole)*3)
#define IS_HALF(part, whole)    ((uint64_t)(part)*2 >= (uint64_t)(whole))

/* Words in a class or id that tell what surrounds a text. Sorted. */
static const char *const junk_words[] = {
    "ad",       "ads",       "advert",     "advertisement", "advertising",     "breadcrumb",  "breadcrumbs",
    "consent",  "cookie",    "cookies",    "dropdown",      "footer",          "gdpr",        "login",
    "masthead", "menu",      "modal",      "nav",           "navbar",          "navigation",  "newsletter",
    "outbrain", "overlay",   "pager",      "pagination",    "paging",          "popup",       "promo",
    "promoted", "promotion", "recirc",     "recommend",     "recommendations", "recommended", "related",
    "share",    "sharebar",  "sharedaddy", "sharing",       "sidebar",         "signup",      "skip",
    "social",   "sponsor",   "sponsored",  "subscribe",     "subscription",    "taboola",     "toolbar",
    "trending",
};

static int compare_word(const void *key, const void *element)
{
    const char *const *word = element;
    return str_compare(*(const struct str *)key, str_of(*word));
}

/* Whether one of the words of a class or id is among `words`. Words end at anything but a letter, and before a capital.
 */
static bool names_any(struct str names, const char *const *words, size_t n_words)
{
    char word[24];
    size_t length = 0;
    for (size_t i = 0; i <= names.len; i++) {
        char c = i < names.len ? names.data[i] : ' ';
        bool capital = c >= 'A' && c <= 'Z';
        if (!ascii_is_alpha(c) || (capital && i > 0 && names.data[i - 1] >= 'a' && names.data[i - 1] <= 'z')) {
            struct str found = {word, length};
            if (length && length < sizeof word && bsearch(&found, words, n_words, sizeof *words, compare_word))
                return true;
            length = 0;
        }
        if (ascii_is_alpha(c)) {
            if (length < sizeof word)
                word[length++] = ascii_lower(c);
        }
    }
    return false;
}

/* Whether an inline style hides the element. Blanks in it are ignored. */
static bool style_hides(struct str style)
{
    static const char *const hiding[] = {"display:none", "visibility:hidden", "opacity:0;", "font-size:0;",
                                         "font-size:0px"};
    if (!style.len)
        return false;
    char compact[512];
    size_t n = 0;
    for (size_t i = 0; i < style.len && n + 2 < sizeof compact; i++)
        if (!ascii_is_space(style.data[i]))
            compact[n++] = ascii_lower(style.data[i]);
    compact[n++] = ';';
    for (size_t i = 0; i < sizeof hiding / sizeof hiding[0]; i++)
        if (str_find((struct str){compact, n}, str_of(hiding[i]), 0) != STR_NONE)
            return true;
    return false;
}

static bool has_attribute(const xmlNode *node, const char *name)
{
    for (const xmlAttr *attribute = node->properties; attribute; attribute = attribute->next)
        if (strcmp((const char *)attribute->name, name) == 0)
            return true;
    return false;
}

/* Text kept for the blind alone, by the class names that the usual style sheets give it. */
static bool is_for_screen_readers(struct str class)
{
    return str_find(class, STR("sr-only"), 0) != STR_NONE || str_find(class, STR("visually-hidden"), 0) != STR_NONE ||
           str_find(class, STR("visuallyhidden"), 0) != STR_NONE ||
           str_find(class, STR("screen-reader-text"), 0) != STR_NONE;
}

/* How much of a page is taken for visible; the later ones are for pages of which nothing would be left. */
enum visibility { SEE_USUAL, SEE_NOSCRIPT, SEE_HIDDEN };

static bool is_invisible(const xmlNode *node, enum visibility visibility)
{
    if (html_element_flags(str_of((const char *)node->name)) & ELEMENT_DROPPED)
        return visibility == SEE_USUAL || !html_is(node, "noscript");
    if (!node->properties || visibility == SEE_HIDDEN)
        return false;
    return has_attribute(node, "hidden") || str_equal_ascii_nocase(html_attribute(node, "aria-hidden"), STR("true")) ||
           style_hides(html_attribute(node, "style")) || is_for_screen_readers(html_attribute(node, "class"));
}

static bool has_role(const xmlNode *node, const char *const *roles)
{
    struct str role = html_attribute(node, "role");
    for (; role.len && *roles; roles++)
        if (str_equal_ascii_nocase(role, str_of(*roles)))
            return true;
    return false;
}

static bool is_main(const xmlNode *node)
{
    static const char *const roles[] = {"main", NULL};
    return html_is(node, "main") || has_role(node, roles);
}

static bool is_article(const xmlNode *node)
{
    static const char *const roles[] = {"article", NULL};
    return html_is(node, "article") || has_role(node, roles) ||
           str_equal(html_attribute(node, "itemprop"), STR("articleBody"));
}

static bool may_be_furniture(const xmlNode *node)
{
    return !html_is(node, "body") && !html_is(node, "html") && !is_main(node) && !is_article(node);
}

/* Whether the element's name or role says that it stands around a text. */
static bool is_furniture_by_kind(const xmlNode *node)
{
    static const char *const roles[] = {"navigation",  "banner", "contentinfo", "complementary", "search",  "dialog",
                                        "alertdialog", "menu",   "menubar",     "toolbar",       "tablist", NULL};
    return may_be_furniture(node) && ((html_element_flags(str_of((const char *)node->name)) & ELEMENT_FURNITURE) ||
                                      html_is(node, "form") || has_role(node, roles));
}

static bool is_named(const xmlNode *node, const char *const *words, size_t n_words)
{
    return node->properties && may_be_furniture(node) &&
           (names_any(html_attribute(node, "class"), words, n_words) ||
            names_any(html_attribute(node, "id"), words, n_words));
}

/* Whether its class or id does. */
static bool is_furniture_by_name(const xmlNode *node)
{
    return is_named(node, junk_words, sizeof junk_words / sizeof junk_words[0]);
}

static bool is_comments(const xmlNode *node)
{
    static const char *const words[] = {"comment", "commentlist", "comments", "disqus", "respond", "responses"};
    return is_named(node, words, sizeof words / sizeof words[0]);
}

static uint32_t count_visible(const char *text)
{
    uint32_t n = 0;
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c >= 0xE3 && c < 0xF0) /* scripts that say as much in fewer characters */
            n += 2;
        else if ((c & 0xC0) != 0x80 && !ascii_is_space((char)c))
            n++;
    }
    return n;
}

static bool is_block(const xmlNode *node)
{
    return html_element_flags(str_of((const char *)node->name)) & ELEMENT_BLOCK;
}

/* Adds what is known of an element, all of whose children are done, to its parent. */
static void add_to_parent(const xmlNode *node, const struct node_info *info)
{
    struct node_info *parent = node->parent && node->parent->type == XML_ELEMENT_NODE ? html_info(node->parent) : NULL;
    if (!parent || info->dropped)
        return;
    bool block = is_block(node);
    parent->text += info->text;
    parent->link_text += info->link_text;
    parent->good += info->good;
    parent->has_block = parent->has_block || block || info->has_block;
    if (!block) {
        parent->own_text += info->own_text;
        parent->own_link += info->own_link;
    }
}

static void close_element(xmlNode *node)
{
    struct node_info *info = html_info(node);
    if (html_is(node, "a")) {
        info->link_text = info->text;
        info->own_link = info->own_text;
        info->good = 0;
    }
    bool heading = html_element_flags(str_of((const char *)node->name)) & ELEMENT_HEADING;
    if (is_block(node) && !heading && info->own_text >= RUNNING_TEXT && !IS_HALF(info->own_link, info->own_text))
        info->good += info->own_text - info->own_link;
    add_to_parent(node, info);
}

/* Fills in the lengths of everything that is not dropped. */
static void measure(xmlNode *root)
{
    for (xmlNode *node = root; node;) {
        bool element = node->type == XML_ELEMENT_NODE, enter = false;
        if (element) {
            struct node_info *info = html_info(node);
            *info = (struct node_info){.dropped = info->dropped, .settled = info->settled};
            enter = !info->dropped && node->children;
        } else if (node->type == XML_TEXT_NODE && node->parent->type == XML_ELEMENT_NODE) {
            struct node_info *parent = html_info(node->parent);
            uint32_t n = count_visible((const char *)node->content);
            parent->text += n;
            parent->own_text += n;
        }
        if (enter) {
            node = node->children;
            continue;
        }
        if (element)
            close_element(node);
        while (node != root && !node->next) {
            node = node->parent;
            close_element(node);
        }
        node = node == root ? NULL : node->next;
    }
}

/* Decides anew what is dropped for being invisible, and measures the rest. */
static void drop_invisible(xmlNode *root, enum visibility visibility)
{
    for (xmlNode *node = root; node; node = html_next(node, root, false)) {
        if (node->type != XML_ELEMENT_NODE)
            continue;
        struct node_info *info = html_info(node);
        info->dropped = info->settled = node != root && is_invisible(node, visibility);
    }
    measure(root);
}

/* Pages that need scripts often say the same to those without them. */
static void drop_invisible_or_less(xmlNode *root)
{
    drop_invisible(root, SEE_USUAL);
    uint32_t good = html_info(root)->good;
    if (good >= ARTICLE_TEXT)
        return;
    drop_invisible(root, SEE_NOSCRIPT);
    bool better = html_info(root)->good >= 2 * good + RUNNING_TEXT;
    if (!better && html_info(root)->text)
        drop_invisible(root, SEE_USUAL);
    if (!html_info(root)->text)
        drop_invisible(root, SEE_NOSCRIPT);
    if (!html_info(root)->text)
        drop_invisible(root, SEE_HIDDEN);
}

/* Furniture that holds most of the page's text is none, unless `most` says that it may. */
static void drop_furniture_by(xmlNode *root, bool (*is_furniture)(const xmlNode *), bool most)
{
    struct node_info whole = *html_info(root);
    for (xmlNode *node = root; node;) {
        bool skip = false;
        if (node->type == XML_ELEMENT_NODE) {
            struct node_info *info = html_info(node);
            if (!info->dropped && is_furniture(node))
                info->dropped =
                    most || (whole.good ? !IS_HALF(info->good, whole.good) : !IS_HALF(info->text, whole.text));
            skip = info->dropped;
        }
        node = html_next(node, root, skip);
    }
    measure(root);
}

static void undo_drops(xmlNode *root)
{
    for (xmlNode *node = root; node; node = html_next(node, root, false))
        if (node->type == XML_ELEMENT_NODE)
            html_info(node)->dropped = html_info(node)->settled;
    measure(root);
}

/* What is dropped now stays so. */
static void mark_as_settled(xmlNode *root)
{
    for (xmlNode *node = root; node; node = html_next(node, root, false))
        if (node->type == XML_ELEMENT_NODE)
            html_info(node)->settled = html_info(node)->dropped;
}

/* Names are not trusted where believing them leaves little of the page: some site builders call everything a menu or an
 * ad. */
static void drop_furniture(xmlNode *root)
{
    drop_furniture_by(root, is_comments, true); /* often longer than the text they are about */
    if (html_info(root)->good < ARTICLE_TEXT)
        undo_drops(root);
    mark_as_settled(root);
    struct node_info whole = *html_info(root);
    drop_furniture_by(root, is_furniture_by_name, false);
    if (html_info(root)->good * 4 < whole.good || !html_info(root)->text)
        undo_drops(root);
    mark_as_settled(root);
    whole = *html_info(root);
    drop_furniture_by(root, is_furniture_by_kind, false);
    if (html_info(root)->good * 4 < whole.good || !html_info(root)->text)
        undo_drops(root);
}

/* The child element with the most running text. */
static xmlNode *richest_child(const xmlNode *node)
{
    xmlNode *best = NULL;
    for (xmlNode *child = node->children; child; child = child->next)
        if (child->type == XML_ELEMENT_NODE && !html_info(child)->dropped &&
            (!best || html_info(child)->good > html_info(best)->good))
            best = child;
    return best;
}

/* The element marked as main or article with the most running text, NULL when it holds less than half of what `root`
 * does. */
static xmlNode *find_marked(xmlNode *root, bool (*is_marked)(const xmlNode *))
{
    xmlNode *best = NULL;
    for (xmlNode *node = root; node;) {
        bool element = node->type == XML_ELEMENT_NODE, dropped = element && html_info(node)->dropped;
        if (element && !dropped && is_marked(node) && (!best || html_info(node)->good > html_info(best)->good))
            best = node;
        node = html_next(node, root, dropped);
    }
    return best && IS_HALF(html_info(best)->good, html_info(root)->good) && html_info(best)->good ? best : NULL;
}

static xmlNode *choose(xmlNode *root)
{
    xmlNode *node = root, *marked = find_marked(node, is_main);
    if (marked)
        node = marked;
    marked = find_marked(node, is_article);
    if (marked)
        node = marked;
    if (html_info(node)->good < ARTICLE_TEXT)
        return node;
    for (;;) {
        xmlNode *child = richest_child(node);
        if (!child || !is_block(child) || !html_info(child)->has_block ||
            !HOLDS_MAIN(html_info(child)->good, html_info(node)->good))
            return node;
        node = child;
    }
}

/* Whether a block is a list of links and not of the text: more than half of it is links, and none of it runs. */
static bool is_link_list(const xmlNode *node)
{
    const struct node_info *info = html_info(node);
    return is_block(node) && info->text && info->good == 0 && !html_is(node, "p") &&
           !(html_element_flags(str_of((const char *)node->name)) & ELEMENT_HEADING) &&
           IS_HALF(info->link_text, info->text) && info->link_text > 12;
}

static void drop_link_lists(xmlNode *root)
{
    for (xmlNode *node = root; node;) {
        bool skip = false;
        if (node->type == XML_ELEMENT_NODE) {
            if (node != root && is_link_list(node))
                html_info(node)->dropped = true;
            skip = html_info(node)->dropped;
        }
        node = html_next(node, root, skip);
    }
}

static struct node_info *attach_infos(xmlNode *root)
{
    size_t n = 0;
    for (xmlNode *node = root; node; node = html_next(node, root, false))
        n += node->type == XML_ELEMENT_NODE;
    struct node_info *infos = mem_calloc(n, sizeof *infos);
    n = 0;
    for (xmlNode *node = root; node; node = html_next(node, root, false))
        if (node->type == XML_ELEMENT_NODE)
            node->_private = &infos[n++];
    return infos;
}

static xmlNode *find_body(xmlNode *root)
{
    for (xmlNode *child = root->children; child; child = child->next)
        if (html_is(child, "body"))
            return child;
    return root;
}

xmlNode *html_find_main(xmlNode *root, bool whole_page, struct node_info **infos)
{
    *infos = attach_infos(root);
    xmlNode *body = find_body(root);
    drop_invisible_or_less(body);
    if (whole_page || html_info(body)->text == 0)
        return body;
    drop_furniture(body);
    xmlNode *found = choose(body);
    if (html_info(found)->good >= ARTICLE_TEXT)
        drop_link_lists(found);
    return found;
}
