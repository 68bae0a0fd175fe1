/* src/text/html/html.h
 *
 * HTML to Markdown: the main text of a page, or all of it, and what the page says about itself.
 *
 * The page becomes a tree as in a browser (tree.h), what a reader would not see or not want is left out (content.h:
 * scripts, navigation, banners, readers' comments and everything hidden, where instructions to language models like to
 * stand), and the rest is written as Markdown (write.h): headings, paragraphs, nested lists, GFM tables, fenced code
 * with its language, quotes, formulas, footnotes, links made absolute. A page that has any visible text never comes
 * back empty: of one that scripts make the text or description that it tells to search engines is given, and where it
 * tells none the footer. A short note in <noscript>, that its scripts are needed, is no text of a page.
 *
 * Pure: no I/O, no state between calls, any thread. Time is linear in the input, at any depth of nesting.
 */
#ifndef FATHOM_TEXT_HTML_HTML_H
#define FATHOM_TEXT_HTML_HTML_H

#include <stdatomic.h>

#include "core/buf.h"
#include "core/status.h"
#include "core/str.h"

struct html_options {
    struct str
        base_url;    /* the page's address, against which links are resolved; empty: links stay as they are written */
    bool whole_page; /* everything visible, navigation and footers too, not the main part alone */
    bool drop_links; /* write the text of links without their addresses, and no images */
    bool comments;   /* keep what readers wrote below an article */
    bool plain_text; /* text with a line for each block and no marks, in place of Markdown */
    size_t max_input_bytes;    /* more than this is STATUS_TOO_BIG; 0 means 32 MiB */
    size_t max_text_bytes;     /* the Markdown is cut here, at a character; 0 means 32 MiB */
    const atomic_bool *cancel; /* looked at between the steps; NULL: nobody stops it */
};

/* All strings are NUL-terminated UTF-8 owned by the page, and NULL where the page does not say. */
struct html_page {
    struct buf markdown;
    char *title;
    char *canonical_url; /* absolute when base_url was given */
    char *author;
    char *date;     /* of publication: ISO 8601, a day or a time as precise as the page has it */
    char *modified; /* the same */
    char *site_name;
    char *description;
    char *language; /* BCP 47 */
    bool truncated; /* max_text_bytes was reached */
};

/* Converts `html`, which must be UTF-8 (text/charset.h makes it so; invalid bytes become U+FFFD, NULs go). `options`
 * may be NULL for the defaults. On success `out` is to be given to html_page_finish.
 *
 * Anything else than markup is taken for text, so the only failures are
 * STATUS_TOO_BIG    the input is larger than its cap
 * STATUS_CANCELED   it was stopped */
enum status html_to_markdown(struct str html, const struct html_options *options, struct html_page *out,
                             struct error *error) STATUS_CHECKED;

/* Frees what the page owns and zeroes it. NULL and zeroed are allowed. */
void html_page_finish(struct html_page *page);

/* Whether bytes without a declared type look like HTML: an HTML doctype, or a usual first tag, behind white space, a
 * byte order mark, an XML declaration or comments. */
bool html_is_likely(struct str bytes);

#endif
