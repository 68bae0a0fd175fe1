/* src/text/html/tree.h
 *
 * A page as a tree, in the order it is written.
 *
 * The nodes stand in one array in document order; each knows its parent and where what is inside it ends, so a walk is
 * a loop over the array, the first child of node i is i + 1, and whoever skips a node goes on at its `end`. Nothing in
 * the page reader recurses. Node 0 is the root (HTML_HTML) and holds everything, also what stands outside <html>; there
 * is no synthetic <body>.
 *
 * The tree is built as browsers build theirs in what matters to a text (implied end tags, misnested and unclosed
 * elements, contents of scripts, tables), after the HTML Standard, section 13.2; it differs in that misnested
 * formatting is not cloned but loses its meaning (becomes HTML_OTHER), that text in a table stays where it is written,
 * and that elements nested deeper than HTML_MAX_DEPTH are left out, their contents kept. White space between blocks is
 * left out, and so are attributes of more than HTML_MAX_VALUE bytes: data, not words; those that hide an element stay.
 */
#ifndef FATHOM_TEXT_HTML_TREE_H
#define FATHOM_TEXT_HTML_TREE_H

#include "core/buf.h"
#include "text/html/element.h"

#define HTML_MAX_DEPTH 512
#define HTML_MAX_VALUE 8192
#define HTML_MAX_NODES 1000000 /* what is behind becomes one text */

struct html_node {
    uint8_t element;          /* enum html_element */
    uint8_t n_attributes;     /* known ones; the others are not kept */
    uint16_t depth;           /* of the root: 0 */
    uint32_t parent;          /* 0 for the root itself */
    uint32_t end;             /* the index behind the last node inside; behind itself where nothing is */
    uint32_t first_attribute; /* into tree->attributes */
    struct str text;          /* HTML_TEXT: the characters, valid UTF-8, entities decoded; never empty.
                                 An element: its name as it is written */
};

struct html_attribute_value {
    uint8_t attribute; /* enum html_attribute */
    struct str value;  /* entities decoded; empty where none is written */
};

struct html_tree {
    struct html_node *nodes;
    uint32_t count;
    struct html_attribute_value *attributes;
    uint32_t n_attributes;
    bool flattened; /* HTML_MAX_NODES was reached */
    struct html_arena *arena;
};

/* Parses `html`, valid UTF-8 without NULs, of less than 2 GiB, which must outlive the tree. `tree` is overwritten and
 * to be given to html_tree_finish. Never fails: everything is a page. Linear in time and memory. */
void html_tree_parse(struct str html, struct html_tree *tree);

void html_tree_finish(struct html_tree *tree);

/* The value of an attribute of a node, NULL data when it is not there ({"", 0} when it is empty). Of two of the same
 * name the first counts. */
struct str html_tree_attribute(const struct html_tree *tree, const struct html_node *node,
                               enum html_attribute attribute);

/* Whether the node has it at all. */
bool html_tree_has(const struct html_tree *tree, const struct html_node *node, enum html_attribute attribute);

/* Appends the text inside a node as one line, white space collapsed, blocks apart, at most `max_bytes` of it. Silent
 * elements inside are left out; of a silent element itself (title, script) the text is given. */
void html_tree_text(const struct html_tree *tree, uint32_t node, size_t max_bytes, struct buf *out);

/* What is decided about a node, in an array of one byte per node beside the tree. */
enum html_mark {
    MARK_DROPPED = 1, /* left out with all that is inside */
    MARK_HIDDEN = 2,  /* because a reader does not see it; comes with MARK_DROPPED */
};

#endif
