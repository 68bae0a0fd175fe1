/* src/text/html/meta.h
 *
 * What a page says about itself: title, author, dates, site, language, its canonical address. Read from JSON-LD with
 * schema.org's words (https://schema.org/Article), meta elements (OpenGraph, Dublin Core, Highwire's citation_… and
 * what news sites use), microdata, and where all are silent from what a reader sees around the heading.
 *
 * Sources contradict each other; which one counts is decided by rank and by what others confirm, never by the site.
 * Of what a reader does not see only <head>, scripts with JSON-LD and microdata are read.
 */
#ifndef FATHOM_TEXT_HTML_META_H
#define FATHOM_TEXT_HTML_META_H

#include "text/html/tree.h"

/* Fresh NUL-terminated UTF-8 on one line, NULL where the page does not say. */
struct html_meta {
    char *title;    /* without the site's name */
    char *author;   /* several are joined with ", " */
    char *date;     /* of publication: ISO 8601, a day or a time as precise as the page has it */
    char *modified; /* the same, never before `date` */
    char *site_name;
    char *language;      /* BCP 47, as the page writes it, but with "-" */
    char *canonical_url; /* absolute where the page's address is known */
    char *description;
    char *section;
    char *keywords; /* as the page writes them, or joined with ", " */
    char *types;    /* og:type, then schema.org types of what the page is about, joined with " " */
    char *body;     /* the text that JSON-LD gives, lines and tags kept; about 1 MiB at most */
};

/* Reads what the tree says. `marks` (one byte per node, MARK_HIDDEN counts) may be NULL; `page_url` may be empty. `out`
 * is overwritten and to be given to html_meta_finish. Linear; of JSON-LD at most 4 MiB are read. */
void html_meta_read(const struct html_tree *tree, const uint8_t *marks, struct str page_url, struct html_meta *out);

void html_meta_finish(struct html_meta *meta); /* NULL and zeroed are allowed */

#endif
