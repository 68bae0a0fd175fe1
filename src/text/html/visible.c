#include "text/html/visible.h"

#include <stdlib.h>
#include <xxhash.h>

#include "core/mem.h"

#define MAX_REVEALED 4096
#define MAX_STYLE    512 /* bytes of a style that are read */

void html_visibility_init(const struct html_tree *tree, bool see_hidden, struct html_visibility *out)
{
    *out = (struct html_visibility){.tree = tree, .see_hidden = see_hidden};
}

void html_visibility_finish(struct html_visibility *visibility)
{
    free(visibility->revealed);
    *visibility = (struct html_visibility){0};
}

/* Whether an inline style hides the element. Blanks in it are ignored. */
static bool style_hides(struct str style)
{
    static const char *const hiding[] = {"display:none", "visibility:hidden", "opacity:0;", "font-size:0;",
                                         "font-size:0px"};
    char compact[MAX_STYLE];
    size_t n = 0;
    for (size_t i = 0; i < style.len && n + 1 < sizeof compact; i++)
        if (!ascii_is_space(style.data[i]))
            compact[n++] = ascii_lower(style.data[i]);
    compact[n++] = ';';
    for (size_t i = 0; i < sizeof hiding / sizeof hiding[0]; i++)
        if (str_find((struct str){compact, n}, str_of(hiding[i]), 0) != STR_NONE)
            return true;
    return false;
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

static int compare_hash(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return left < right ? -1 : left > right;
}

/* Takes the ids out of the calls $RC("B:0","S:0") and $RS("S:1","P:1") of a script. */
static void read_script(struct html_visibility *visibility, struct str script)
{
    for (size_t at = 0; (at = str_find(script, STR("\"S:"), at)) != STR_NONE; at++) {
        size_t end = str_find_char(script, '"', at + 1);
        if (end == STR_NONE || visibility->n_revealed == MAX_REVEALED)
            return;
        visibility->revealed[visibility->n_revealed++] = XXH3_64bits(script.data + at + 1, end - at - 1);
    }
}

static void read_scripts(struct html_visibility *visibility)
{
    const struct html_tree *tree = visibility->tree;
    visibility->scripts_read = true;
    visibility->revealed = mem_calloc(MAX_REVEALED, sizeof *visibility->revealed);
    for (uint32_t i = 0; i + 1 < tree->count; i++)
        if (tree->nodes[i].element == HTML_SCRIPT && tree->nodes[i + 1].element == HTML_TEXT &&
            str_find(tree->nodes[i + 1].text, STR("$R"), 0) != STR_NONE)
            read_script(visibility, tree->nodes[i + 1].text);
    qsort(visibility->revealed, visibility->n_revealed, sizeof *visibility->revealed, compare_hash);
}

static bool is_revealed(struct html_visibility *visibility, const struct html_node *node)
{
    struct str id = html_tree_attribute(visibility->tree, node, HTML_ATTRIBUTE_ID);
    if (!str_starts_with(id, STR("S:")))
        return false;
    if (!visibility->scripts_read)
        read_scripts(visibility);
    uint64_t hash = XXH3_64bits(id.data, id.len);
    return bsearch(&hash, visibility->revealed, visibility->n_revealed, sizeof hash, compare_hash);
}

static bool is_silent(const struct html_tree *tree, const struct html_node *node)
{
    if (node->element == HTML_DIALOG)
        return !html_tree_has(tree, node, HTML_ATTRIBUTE_OPEN);
    return html_flags(node->element) & ELEMENT_SILENT;
}

static bool is_hidden(struct html_visibility *visibility, const struct html_node *node)
{
    const struct html_attribute_value *attribute = visibility->tree->attributes + node->first_attribute;
    for (uint32_t k = 0; k < node->n_attributes; k++, attribute++) {
        bool hides = false;
        if (attribute->attribute == HTML_ATTRIBUTE_HIDDEN)
            hides = !str_equal_ascii_nocase(attribute->value, STR("until-found")) && !is_revealed(visibility, node);
        else if (attribute->attribute == HTML_ATTRIBUTE_ARIA_HIDDEN)
            hides = str_equal_ascii_nocase(str_trim(attribute->value), STR("true"));
        else if (attribute->attribute == HTML_ATTRIBUTE_STYLE)
            hides = style_hides(attribute->value);
        else if (attribute->attribute == HTML_ATTRIBUTE_CLASS)
            hides = is_for_screen_readers(attribute->value);
        if (hides)
            return true;
    }
    return false;
}

uint8_t html_visibility_mark(struct html_visibility *visibility, uint32_t node)
{
    const struct html_node *at = &visibility->tree->nodes[node];
    if (is_silent(visibility->tree, at))
        return MARK_DROPPED;
    bool whole = at->element == HTML_BODY || at->element == HTML_HTML; /* hidden until scripts have run */
    if (!whole && at->n_attributes && !visibility->see_hidden && is_hidden(visibility, at))
        return MARK_DROPPED | MARK_HIDDEN;
    return 0;
}
