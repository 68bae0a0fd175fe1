#include "text/html/visible.h"

#define MAX_STYLE 512 /* bytes of a style that are read */

/* Whether an inline style hides the element. Blanks in it are ignored. What is transparent and moved, or the main part,
 * is about to come into view. */
static bool style_hides(const struct html_node *node, struct str style)
{
    static const char *const hiding[] = {"display:none", "visibility:hidden", "font-size:0;", "font-size:0px"};
    char compact[MAX_STYLE];
    size_t n = 0;
    for (size_t i = 0; i < style.len && n + 1 < sizeof compact; i++)
        if (!ascii_is_space(style.data[i]))
            compact[n++] = ascii_lower(style.data[i]);
    compact[n++] = ';';
    for (size_t i = 0; i < sizeof hiding / sizeof hiding[0]; i++)
        if (str_find((struct str){compact, n}, str_of(hiding[i]), 0) != STR_NONE)
            return true;
    bool appears = node->element == HTML_MAIN || node->element == HTML_ARTICLE ||
                   str_find((struct str){compact, n}, STR("transform:"), 0) != STR_NONE;
    return !appears && str_find((struct str){compact, n}, STR("opacity:0;"), 0) != STR_NONE;
}

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
static bool is_streamed(const struct html_tree *tree, const struct html_node *node)
{
    struct str id = html_tree_attribute(tree, node, HTML_ATTRIBUTE_ID);
    if (node->element != HTML_DIV || !str_starts_with(id, STR("S:")) || id.len < 3)
        return false;
    for (size_t i = 2; i < id.len; i++)
        if (!ascii_is_digit(id.data[i]) && (id.data[i] < 'a' || id.data[i] > 'f'))
            return false;
    return true;
}

static bool is_silent(const struct html_tree *tree, const struct html_node *node)
{
    if (node->element == HTML_DIALOG)
        return !html_tree_has(tree, node, HTML_ATTRIBUTE_OPEN);
    return html_flags(node->element) & ELEMENT_SILENT;
}

static bool is_hidden(const struct html_tree *tree, const struct html_node *node)
{
    const struct html_attribute_value *attribute = tree->attributes + node->first_attribute;
    for (uint32_t k = 0; k < node->n_attributes; k++, attribute++) {
        bool hides = false;
        if (attribute->attribute == HTML_ATTRIBUTE_HIDDEN)
            hides = !str_equal_ascii_nocase(attribute->value, STR("until-found")) && !is_streamed(tree, node);
        else if (attribute->attribute == HTML_ATTRIBUTE_ARIA_HIDDEN)
            hides = str_equal_ascii_nocase(str_trim(attribute->value), STR("true"));
        else if (attribute->attribute == HTML_ATTRIBUTE_STYLE)
            hides = style_hides(node, attribute->value);
        else if (attribute->attribute == HTML_ATTRIBUTE_CLASS)
            hides = is_for_screen_readers(attribute->value);
        if (hides)
            return true;
    }
    return false;
}

uint8_t html_visibility(const struct html_tree *tree, uint32_t node, bool see_hidden)
{
    const struct html_node *at = &tree->nodes[node];
    if (is_silent(tree, at))
        return MARK_DROPPED;
    bool whole = at->element == HTML_BODY || at->element == HTML_HTML; /* hidden until scripts have run */
    if (!whole && at->n_attributes && !see_hidden && is_hidden(tree, at))
        return MARK_DROPPED | MARK_HIDDEN;
    return 0;
}
