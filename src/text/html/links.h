/* src/text/html/links.h
 *
 * The addresses in a page, made absolute: what a browser would open
 * (https://url.spec.whatwg.org/#concept-basic-url-parser in what web addresses need). White space around and line ends
 * within are dropped, "\" is "/", "." and ".." are resolved, what may not stand in an address is percent-encoded; names
 * of hosts become lower case and are not mapped otherwise; nothing else is changed, no parameter removed.
 */
#ifndef FATHOM_TEXT_HTML_LINKS_H
#define FATHOM_TEXT_HTML_LINKS_H

#include "core/buf.h"
#include "core/str.h"

#define HTML_MAX_ADDRESS 8192 /* bytes of a reference; longer ones are none that anybody could open */

struct html_base {
    char *address;     /* absolute, without a fragment; NULL when nothing is known */
    size_t scheme_end; /* behind ":" */
    size_t host_end;   /* where the path begins */
    size_t folder_end; /* behind the last "/" of the path */
    size_t path_end;   /* where the query begins, or the end */
    size_t length;
    char *page; /* the page's own address without its fragment, NULL when it is not known */
    size_t page_length;
};

/* `page_url` is where the page was found, `href` what its first <base href> says; both may be empty, and what is no
 * http or https address counts as empty. To be given to html_base_finish. */
void html_base_init(struct html_base *base, struct str page_url, struct str href);

void html_base_finish(struct html_base *base); /* NULL and zeroed are allowed */

enum html_link {
    LINK_NONE,   /* nothing that could be read: javascript:, data:, mailto:, no host, too long */
    LINK_WITHIN, /* a place in the page itself: "#note", "", or its own address with a fragment */
    LINK_ADDRESS,
};

/* Appends the address that `reference` means: absolute for LINK_ADDRESS, but where no base is known a relative one
 * stays so, cleaned; "#" and the name of the place for LINK_WITHIN (nothing when it is the page as a whole); nothing
 * for LINK_NONE, which is also the answer when the cap of `out` is reached. Some 100 ns. */
enum html_link html_base_resolve(const struct html_base *base, struct str reference, struct buf *out);

#endif
