#include "text/html/tree.h"

#include <stdlib.h>

#include "core/mem.h"
#include "core/utf8.h"
#include "text/html/parse_internal.h"

#define CHUNK_BYTES ((size_t)32 << 10)

struct html_arena {
    struct html_arena *next;
    size_t used, size;
    char bytes[];
};

char *tree_alloc(struct html_tree *tree, size_t bytes)
{
    struct html_arena *chunk = tree->arena;
    if (!chunk || chunk->size - chunk->used < bytes) {
        size_t size = bytes > CHUNK_BYTES / 4 ? bytes : CHUNK_BYTES;
        struct html_arena *fresh = mem_alloc(sizeof *fresh + size);
        *fresh = (struct html_arena){.size = size};
        if (chunk && size != CHUNK_BYTES) { /* a large text gets a chunk of its own behind the one in use */
            fresh->next = chunk->next;
            chunk->next = fresh;
        } else {
            fresh->next = chunk;
            tree->arena = fresh;
        }
        chunk = fresh;
    }
    chunk->used += bytes;
    return chunk->bytes + chunk->used - bytes;
}

void html_tree_finish(struct html_tree *tree)
{
    if (!tree)
        return;
    while (tree->arena) {
        struct html_arena *next = tree->arena->next;
        free(tree->arena);
        tree->arena = next;
    }
    free(tree->nodes);
    free(tree->attributes);
    *tree = (struct html_tree){0};
}

static const struct html_attribute_value *find(const struct html_tree *tree, const struct html_node *node,
                                               enum html_attribute attribute)
{
    for (uint32_t i = node->first_attribute; i < node->first_attribute + node->n_attributes; i++)
        if (tree->attributes[i].attribute == attribute)
            return &tree->attributes[i];
    return NULL;
}

struct str html_tree_attribute(const struct html_tree *tree, const struct html_node *node,
                               enum html_attribute attribute)
{
    const struct html_attribute_value *found = find(tree, node, attribute);
    return found ? found->value : (struct str){0};
}

bool html_tree_has(const struct html_tree *tree, const struct html_node *node, enum html_attribute attribute)
{
    return find(tree, node, attribute) != NULL;
}

/* Whether a block that holds node `from` ends at or before node `to`. */
static bool block_ended(const struct html_tree *tree, uint32_t from, uint32_t to)
{
    for (uint32_t i = from; tree->nodes[i].end <= to; i = tree->nodes[i].parent)
        if (html_flags(tree->nodes[i].element) & ELEMENT_BLOCK)
            return true;
    return false;
}

static void add_line(struct buf *out, struct str text, size_t from, bool *space)
{
    for (size_t i = 0; i < text.len; i++) {
        if (ascii_is_space(text.data[i])) {
            *space = true;
            continue;
        }
        if (*space && out->len > from)
            buf_add_char(out, ' ');
        buf_add_char(out, text.data[i]);
        *space = false;
    }
}

void html_tree_text(const struct html_tree *tree, uint32_t node, size_t max_bytes, struct buf *out)
{
    size_t from = out->len, limit = from + max_bytes;
    bool space = false;
    uint32_t last = node;
    for (uint32_t i = node; i < tree->nodes[node].end && out->len < limit;) {
        const struct html_node *at = &tree->nodes[i];
        unsigned flags = html_flags(at->element);
        bool skip = (flags & ELEMENT_SILENT) && i != node;
        space = space || (flags & ELEMENT_BLOCK) || at->element == HTML_BR || block_ended(tree, last, i);
        if (at->element == HTML_TEXT)
            add_line(out, str_slice(at->text, 0, utf8_floor(at->text, limit - out->len)), from, &space);
        last = i;
        i = skip ? at->end : i + 1;
    }
}
