/* src/text/html/blocks.h
 *
 * A page cut into blocks: runs of text within one block element and not interrupted by another, so a paragraph, a
 * heading, a cell, or the bare text between two paragraphs. They are what is kept or left out as the page's content.
 *
 * Blocks stand in document order, so those inside an element are a range, and sums over it come from running totals.
 * What a reader would not see is not part of any block.
 */
#ifndef FATHOM_TEXT_HTML_BLOCKS_H
#define FATHOM_TEXT_HTML_BLOCKS_H

#include "text/html/names.h"
#include "text/html/tree.h"

/* What surrounds a node: bits for the elements (and roles) it is inside of, itself included. */
enum html_place {
    PLACE_LINK = 1 << 0,
    PLACE_STRONG = 1 << 1,
    PLACE_HEADING = 1 << 2,
    PLACE_NAV = 1 << 3,
    PLACE_ASIDE = 1 << 4,
    PLACE_FOOTER = 1 << 5,
    PLACE_HEADER = 1 << 6,
    PLACE_MAIN = 1 << 7,
    PLACE_ARTICLE = 1 << 8,
    PLACE_FORM = 1 << 9,
    PLACE_LIST = 1 << 10,
    PLACE_TABLE = 1 << 11,
    PLACE_FIGURE = 1 << 12,
    PLACE_BUTTON = 1 << 13,
    PLACE_DEFINITIONS = 1 << 14,
    PLACE_QUOTE = 1 << 15,
    PLACE_DETAILS = 1 << 16,
    PLACE_NOSCRIPT = 1 << 17,
    PLACE_CODE = 1 << 18,
    PLACE_DIALOG = 1 << 19,
    PLACE_BODY_PROPERTY = 1 << 20, /* itemprop articleBody, text, description, reviewBody */
    PLACE_PROPERTY = 1 << 21,      /* any other itemprop */
    PLACE_SECTION = 1 << 22,
    PLACE_TIME = 1 << 23,
    PLACE_LABEL = 1 << 24,
    PLACE_SUMMARY = 1 << 25,
    PLACE_OWN_HEADER = 1 << 26, /* a header inside an article or main */
    PLACE_COMMENT = 1 << 27,    /* itemprop or itemtype says it is a comment */
};

enum html_block_flag {
    BLOCK_ENDS_SENTENCE = 1,
    BLOCK_ENDS_COLON = 2,
    BLOCK_PRICE = 4,
    BLOCK_COPYRIGHT = 8,
    BLOCK_TIME = 16,
    BLOCK_HEADING_INSIDE = 32,
    BLOCK_RUNNING = 64, /* running text: long enough, mostly not links, not a heading */
    BLOCK_PLAIN = 128,  /* nothing around it says that it is furniture of the page */
};

/* Lengths are in characters that are not white space; those of scripts that say as much in fewer count double. */
struct html_block {
    uint32_t first, last; /* nodes of its first and last text */
    uint32_t element;     /* the nearest block element */
    uint32_t length, link_length, strong_length;
    uint32_t words, capitals, sentences, commas, bars, digits, links, breaks;
    uint32_t title_words, body_words, description_words; /* found in the title, JSON-LD bodies, descriptions */
    uint32_t hash;
    uint32_t same;       /* blocks of the page with the same text, itself included */
    uint32_t first_same; /* index of the first of those */
    uint8_t flags;
};

/* Running totals before a block. */
struct html_totals {
    uint32_t length, link_length, plain, running, running_blocks, sentences, headings;
};

struct html_blocks {
    const struct html_tree *tree;
    struct html_block *items;
    uint32_t count;
    struct html_totals *totals; /* count + 1 */
    /* One per node, and one behind the last. */
    uint32_t *before; /* blocks that begin before the node */
    /* One per node. */
    uint32_t *place;     /* bits of enum html_place */
    uint32_t *names;     /* bits of enum html_name of its own class and id */
    uint32_t *all_names; /* those, and of all it is in */
    uint32_t *block;     /* the nearest block element, itself included */
    uint32_t *signature; /* of element and class; 0 for text */
    uint32_t title_size; /* different words in the title */
    uint32_t body_size;  /* how much JSON-LD tells of the text */
    float comments;      /* share of the running text that is in comments, kept or not */
    unsigned kinds;      /* of page: bits of enum html_page_kind (hints.h) */
};

/* Cuts the page. Sets `marks` of what is hidden, never text, or readers' comments to MARK_DROPPED (hidden: and
 * MARK_HIDDEN); everything else is left as it is. Linear.
 *
 * Where a reader sees no text but furniture, nothing or a banner over the rest, what is hidden counts as visible, and
 * so do what covers all of the main element and what a control in sight opens (panels.h), but in navigation and forms.
 * What is in <noscript> is hidden unless most of the text is there.
 * Comments go, unless they are to be kept, where the page says it is an article, and elsewhere when the page has enough
 * other text: in a forum everything may be named so. */
void html_blocks_init(const struct html_tree *tree, bool keep_comments, uint8_t *marks, struct html_blocks *out);

void html_blocks_finish(struct html_blocks *blocks);

/* The sums over the blocks inside a block element. */
struct html_totals html_blocks_inside(const struct html_blocks *blocks, uint32_t node);

#endif
