/* src/text/html/parse_internal.h
 *
 * What the files of the parser share: parse.c cuts the page into tags and characters, build.c makes the tree of them.
 * Not for other modules.
 */
#ifndef FATHOM_TEXT_HTML_PARSE_INTERNAL_H
#define FATHOM_TEXT_HTML_PARSE_INTERNAL_H

#include "text/html/tree.h"

struct open_element {
    uint32_t node;
    uint8_t element;
};

struct builder {
    struct html_tree *tree;
    size_t node_capacity, attribute_capacity;
    struct open_element open[HTML_MAX_DEPTH + 1]; /* the innermost last; the first is the root */
    size_t depth;                                 /* index of the innermost */
    size_t too_deep;                              /* elements open inside it that have no node */
    uint8_t unseen;                               /* the hidden element without a node that it is in, 0 for none */
    size_t n_unseen;                              /* how many of its name are open since, itself included */
    uint32_t open_count[HTML_ELEMENTS];           /* how many of each are open */
    bool at_block_edge;                           /* a block has just begun or ended */
    bool blank_is_last;                           /* the last node is white space, and nothing came after it */
    bool body_seen;
    struct buf flat; /* the text behind HTML_MAX_NODES */
};

void build_start(struct builder *builder, struct html_tree *tree);
void build_end(struct builder *builder);

/* A start tag. `attributes` are known ones, no name twice. `self_closing` counts only in MathML. */
void build_open(struct builder *builder, enum html_element element, struct str name,
                const struct html_attribute_value *attributes, size_t n_attributes, bool self_closing);

/* An end tag. */
void build_close(struct builder *builder, enum html_element element, struct str name);

/* Characters, entities decoded, which live as long as the tree. Empty ones are allowed. */
void build_text(struct builder *builder, struct str text);

/* Memory that lives as long as the tree. */
char *tree_alloc(struct html_tree *tree, size_t bytes);

#endif
