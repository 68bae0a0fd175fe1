#include "text/html/panels.h"

#include <stdlib.h>
#include <xxhash.h>

#include "core/mem.h"

#define LABEL_NODES 16 /* in which a control has its text */

/* What a hash in the table is of. */
enum said { SAID_CONTROLS = 1, SAID_ID = 2 };

static uint64_t hash_of(struct str id, enum said what)
{
    uint64_t hash = XXH3_64bits_withSeed(id.data, id.len, what);
    return hash ? hash : 1;
}

static size_t slot_of(const struct html_panels *panels, uint64_t hash)
{
    size_t slot = hash & (panels->size - 1);
    while (panels->slots[slot] && panels->slots[slot] != hash)
        slot = (slot + 1) & (panels->size - 1);
    return slot;
}

static void grow(struct html_panels *panels)
{
    struct html_panels larger = {.size = panels->size ? 2 * panels->size : 64};
    larger.slots = mem_calloc(larger.size, sizeof *larger.slots);
    for (size_t i = 0; i < panels->size; i++)
        if (panels->slots[i])
            larger.slots[slot_of(&larger, panels->slots[i])] = panels->slots[i];
    larger.count = panels->count;
    free(panels->slots);
    *panels = larger;
}

static void add(struct html_panels *panels, struct str id, enum said what)
{
    if (2 * panels->count >= panels->size)
        grow(panels);
    uint64_t hash = hash_of(id, what);
    uint64_t *slot = &panels->slots[slot_of(panels, hash)];
    panels->count += *slot != hash;
    *slot = hash;
}

static bool has(const struct html_panels *panels, struct str id, enum said what)
{
    return panels->count && panels->slots[slot_of(panels, hash_of(id, what))];
}

/* Takes the next of several names that blanks part. */
static bool next_name(struct str *names, struct str *name)
{
    *names = str_trim_start(*names);
    size_t end = 0;
    while (end < names->len && !ascii_is_space(names->data[end]))
        end++;
    *name = str_slice(*names, 0, end);
    *names = str_slice(*names, end, names->len);
    return name->len;
}

static bool is_control(const struct html_tree *tree, const struct html_node *node)
{
    struct str role = str_trim(html_tree_attribute(tree, node, HTML_ATTRIBUTE_ROLE));
    return node->element == HTML_BUTTON || str_equal_ascii_nocase(role, STR("button")) ||
           str_equal_ascii_nocase(role, STR("tab"));
}

static bool has_label(const struct html_tree *tree, uint32_t node)
{
    uint32_t end = tree->nodes[node].end;
    end = end - node > LABEL_NODES ? node + LABEL_NODES : end;
    for (uint32_t i = node + 1; i < end; i++)
        if (tree->nodes[i].element == HTML_TEXT && str_trim(tree->nodes[i].text).len)
            return true;
    return false;
}

void html_panels_see(struct html_panels *panels, const struct html_tree *tree, uint32_t node)
{
    const struct html_node *at = &tree->nodes[node];
    if (!at->n_attributes || !is_control(tree, at) || !has_label(tree, node))
        return;
    struct str opened = html_tree_attribute(tree, at, HTML_ATTRIBUTE_ARIA_CONTROLS), name;
    struct str id = str_trim(html_tree_attribute(tree, at, HTML_ATTRIBUTE_ID));
    while (next_name(&opened, &name))
        add(panels, name, SAID_CONTROLS);
    if (id.len)
        add(panels, id, SAID_ID);
}

bool html_panels_open(const struct html_panels *panels, const struct html_tree *tree, uint32_t node)
{
    const struct html_node *at = &tree->nodes[node];
    if (node && tree->nodes[at->parent].element == HTML_DETAILS && at->element != HTML_SUMMARY)
        return true;
    struct str role = str_trim(html_tree_attribute(tree, at, HTML_ATTRIBUTE_ROLE));
    struct str labels = html_tree_attribute(tree, at, HTML_ATTRIBUTE_ARIA_LABELLEDBY), name;
    bool panel = str_equal_ascii_nocase(role, STR("tabpanel")) || str_equal_ascii_nocase(role, STR("region"));
    if (panel && has(panels, str_trim(html_tree_attribute(tree, at, HTML_ATTRIBUTE_ID)), SAID_CONTROLS))
        return true;
    if (!panel && role.len)
        return false;
    while (next_name(&labels, &name))
        if (has(panels, name, SAID_ID))
            return true;
    return false;
}

void html_panels_finish(struct html_panels *panels)
{
    free(panels->slots);
    *panels = (struct html_panels){0};
}
