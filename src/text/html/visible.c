#include "text/html/visible.h"

static bool is_for_screen_readers(struct str class)
{
    static const char *const names[] = {"sr-only", "visually-hidden", "visuallyhidden", "screen-reader-text"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        size_t at = str_find(class, str_of(names[i]), 0);
        if (at != STR_NONE && (at == 0 || ascii_is_space(class.data[at - 1])))
            return true;
    }
    return false;
}

/* React streams parts of a page as <div hidden id="S:0"> behind the rest of it and has a script put them in place. */
static bool is_streamed(enum html_element element, struct str id)
{
    if (element != HTML_DIV || !str_starts_with(id, STR("S:")) || id.len < 3)
        return false;
    for (size_t i = 2; i < id.len; i++)
        if (!ascii_is_digit(id.data[i]) && (id.data[i] < 'a' || id.data[i] > 'f'))
            return false;
    return true;
}

static struct str value_of(enum html_attribute which, const struct html_attribute_value *attributes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (attributes[i].attribute == which)
            return attributes[i].value;
    return STR("");
}

enum html_look html_look_of(enum html_element element, const struct html_attribute_value *attributes,
                            size_t n_attributes)
{
    enum html_look look = HTML_LOOK_SHOWN;
    for (size_t i = 0; i < n_attributes && look < HTML_LOOK_HIDDEN; i++) {
        struct str value = attributes[i].value;
        enum html_look one = HTML_LOOK_SHOWN;
        if (attributes[i].attribute == HTML_ATTRIBUTE_HIDDEN) {
            bool appears = str_equal_ascii_nocase(value, STR("until-found")) ||
                           is_streamed(element, value_of(HTML_ATTRIBUTE_ID, attributes, n_attributes));
            one = appears ? HTML_LOOK_APPEARS : HTML_LOOK_HIDDEN;
        } else if (attributes[i].attribute == HTML_ATTRIBUTE_POPOVER) {
            one = HTML_LOOK_HIDDEN;
        } else if (attributes[i].attribute == HTML_ATTRIBUTE_ARIA_HIDDEN) {
            one = str_equal_ascii_nocase(str_trim(value), STR("true")) ? HTML_LOOK_HIDDEN : HTML_LOOK_SHOWN;
        } else if (attributes[i].attribute == HTML_ATTRIBUTE_STYLE) {
            one = html_look_of_style(value, element == HTML_MAIN || element == HTML_ARTICLE);
        } else if (attributes[i].attribute == HTML_ATTRIBUTE_CLASS) {
            one = is_for_screen_readers(value) ? HTML_LOOK_HIDDEN : HTML_LOOK_SHOWN;
        }
        look = one > look ? one : look;
    }
    return look;
}

static enum html_look look_of_node(const struct html_tree *tree, const struct html_node *node)
{
    bool whole = node->element == HTML_BODY || node->element == HTML_HTML; /* hidden until scripts have run */
    if (whole || !node->n_attributes)
        return HTML_LOOK_SHOWN;
    return html_look_of(node->element, tree->attributes + node->first_attribute, node->n_attributes);
}

static bool is_silent(const struct html_tree *tree, const struct html_node *node)
{
    if (node->element == HTML_DIALOG)
        return !html_tree_has(tree, node, HTML_ATTRIBUTE_OPEN);
    return html_flags(node->element) & ELEMENT_SILENT;
}

uint8_t html_visibility(const struct html_tree *tree, uint32_t node, enum html_look seen)
{
    const struct html_node *at = &tree->nodes[node];
    if (is_silent(tree, at))
        return MARK_DROPPED;
    if (seen < HTML_LOOK_HIDDEN && look_of_node(tree, at) > seen)
        return MARK_DROPPED | MARK_HIDDEN;
    return 0;
}

/* Whether anything can be about to appear: most pages have none of it. */
static bool may_appear(const struct html_tree *tree)
{
    for (uint32_t i = 0; i < tree->n_attributes; i++) {
        const struct html_attribute_value *attribute = &tree->attributes[i];
        if (attribute->attribute == HTML_ATTRIBUTE_HIDDEN ||
            (attribute->attribute == HTML_ATTRIBUTE_STYLE &&
             str_find_nocase(attribute->value, STR("opacity"), 0) != STR_NONE))
            return true;
    }
    return false;
}

bool html_text_appears(const struct html_tree *tree)
{
    if (!may_appear(tree))
        return false;
    size_t appearing = 0, shown = 0;
    uint32_t until = 0; /* where the last element that appears ends */
    for (uint32_t i = 0; i < tree->count;) {
        const struct html_node *node = &tree->nodes[i];
        enum html_look look = node->element == HTML_TEXT ? HTML_LOOK_SHOWN : look_of_node(tree, node);
        if (look == HTML_LOOK_HIDDEN || is_silent(tree, node)) {
            i = node->end;
            continue;
        }
        if (look == HTML_LOOK_APPEARS && until < node->end)
            until = node->end;
        if (node->element == HTML_TEXT)
            *(i < until ? &appearing : &shown) += str_trim(node->text).len;
        i++;
    }
    return appearing >= shown / 2;
}

static bool is_main(const struct html_tree *tree, const struct html_node *node)
{
    struct str role = html_tree_attribute(tree, node, HTML_ATTRIBUTE_ROLE);
    return node->element == HTML_MAIN || str_equal_ascii_nocase(str_trim(role), STR("main"));
}

uint32_t html_covered_main(const struct html_tree *tree)
{
    uint32_t main = 1, hidden = 0, cover = 0;
    while (main < tree->count && !is_main(tree, &tree->nodes[main]))
        main++;
    size_t all = 0, inside = 0, most = 0;
    for (uint32_t i = main; main < tree->count && i < tree->nodes[main].end;) {
        const struct html_node *node = &tree->nodes[i];
        bool text = node->element == HTML_TEXT, covered = hidden && i < tree->nodes[hidden].end;
        size_t length = text ? str_trim(node->text).len : 0;
        if (length && !covered)
            return 0;
        if (!text && !covered && look_of_node(tree, node) != HTML_LOOK_SHOWN) {
            hidden = i;
            inside = 0;
        }
        all += length;
        inside += length;
        if (inside > most) {
            most = inside;
            cover = hidden;
        }
        i = !text && is_silent(tree, node) ? node->end : i + 1;
    }
    return most >= all / 5 * 4 ? cover : 0;
}
