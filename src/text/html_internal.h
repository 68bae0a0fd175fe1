/* src/text/html_internal.h
 *
 * What the files of the page reader share: html_tame.c makes tag soup safe to parse, html_meta.c reads what a page says
 * about itself, html_main.c marks what is not content and finds the main part, html_write.c writes Markdown. Not for
 * other modules.
 */
#ifndef FATHOM_TEXT_HTML_INTERNAL_H
#define FATHOM_TEXT_HTML_INTERNAL_H

#include <libxml/tree.h>

#include "core/buf.h"
#include "text/html.h"

/* ---- html_tame.c ---- */

/* Appends to `out` the same page with what costs a parser more than linear time taken out: nesting is held below a
 * fixed depth, end tags that close nothing go, and so do comments, scripts, styles and all attributes but those that
 * are read here, each once. The contents of JSON-LD scripts are appended to `json_ld`, each followed by a NUL. Both
 * buffers are to be made with BUF_UNBOUNDED; they get at most six times the input. Linear. */
void html_tame(struct str html, struct buf *out, struct buf *json_ld);

/* ---- names and attributes ---- */

enum element_flag {
    ELEMENT_BLOCK = 1,      /* begins on a line of its own */
    ELEMENT_VOID = 2,       /* has no contents */
    ELEMENT_DROPPED = 4,    /* never part of a text: scripts, controls, embedded things */
    ELEMENT_HEADING = 8,    /* h1 to h6 */
    ELEMENT_FURNITURE = 16, /* nav, footer, aside: around the content, not of it */
};

/* The flags of an element's name in lower case, 0 for one that is inline or unknown. */
unsigned html_element_flags(struct str name);

/* Whether the node is an element of that name (lower case). */
bool html_is(const xmlNode *node, const char *name);

/* The value of an attribute, empty when there is none. Borrowed from the tree. */
struct str html_attribute(const xmlNode *node, const char *name);

/* The node after `node` in document order within `root`; `skip` leaves out what is inside `node`. NULL at the end. */
xmlNode *html_next(xmlNode *node, const xmlNode *root, bool skip);

/* Appends the text in `node` as one line, white space collapsed, at most `max_bytes` of it. */
void html_collect_text(xmlNode *node, size_t max_bytes, struct buf *out);

/* ---- html_meta.c ---- */

/* Fills everything of `out` but its Markdown. */
void html_read_meta(xmlNode *root, struct str json_ld, struct str page_url, struct html_page *out);

/* The absolute form of `reference` in a page whose base is `base` (empty: unknown). A fresh string; NULL when it is not
 * a link to follow: a script, data, a mail address, or a place in the same page. */
char *html_resolve(struct str base, struct str reference);

/* The base for links of this page: <base href> over its address. A fresh string, perhaps "". */
char *html_base(xmlNode *root, struct str page_url);

/* ---- html_main.c ---- */

/* What is known of an element; node->_private points to it. Lengths count characters that are not white space. */
struct node_info {
    uint32_t text;      /* in the element */
    uint32_t link_text; /* of that, in links */
    uint32_t own_text;  /* of that, in no block inside the element */
    uint32_t own_link;
    uint32_t good;        /* of that, in blocks of running text */
    bool has_block;       /* a block is inside */
    bool dropped;         /* it and all in it is left out */
    bool settled;         /* it stays so, whatever is decided about the rest */
    bool in_data_table;   /* a cell that is written as one of a table */
    uint32_t next_number; /* of an ordered list, while it is written; 0 before */
};

/* Marks what is left out and returns the element whose contents are the page's text. `infos` is the memory behind the
 * marks, to be freed when the tree is no longer used. */
xmlNode *html_find_main(xmlNode *root, bool whole_page, struct node_info **infos);

static inline struct node_info *html_info(const xmlNode *node)
{
    return node->_private;
}

/* ---- html_write.c ---- */

/* Writes the contents of `main`, as marked, to `out`. False when the cap was reached. */
bool html_write(xmlNode *main, struct str base, bool drop_links, struct buf *out);

#endif
