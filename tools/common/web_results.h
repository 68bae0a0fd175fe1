/* tools/common/web_results.h
 *
 * What was found, whatever the servers sent: a list of results whose fields are single lines of valid UTF-8, capped.
 * Only what `visit` can open is kept as an address, and neither address nor title can break out of the Markdown link
 * that they are shown as.
 */
#ifndef FATHOM_TOOLS_COMMON_WEB_RESULTS_H
#define FATHOM_TOOLS_COMMON_WEB_RESULTS_H

#include <stdbool.h>

#include "core/json.h"
#include "core/str.h"

#define WEB_MAX_RESULTS 100

/* Fields are empty where unknown, but for `title` (then the address) and `url`. */
struct web_result {
    char *title, *url, *date, *source, *snippet;
    char *identity; /* of the page behind `url`: what url_identity says; the address itself for a corpus */
};

struct web_results {
    struct web_result *items;
    size_t count, limit;
    bool keep_repeats; /* takes pages that are there already, too */
};

/* What is to be added. Borrowed. */
struct web_item {
    struct str title, url, date, source, snippet;
};

void web_results_init(struct web_results *results, size_t limit);
void web_results_finish(struct web_results *results); /* zeroed is allowed */

/* Drops the results, keeps the limit. */
void web_results_reset(struct web_results *results);

/* Takes one result; `url` decides: what is not a web or corpus address, leads to a page that is there already (unless
 * `keep_repeats`), or passes the limit is left out. */
void web_results_add(struct web_results *results, const struct web_item *item);

/* Takes one result from a server's object: the members of these names (NULL for none). Members of wrong types count as
 * absent. With `markup` title and snippet hold HTML tags and entities (text/plain.h). */
struct web_fields {
    const char *title, *url, *date, *source, *snippet;
    bool markup;
};
void web_results_add_json(struct web_results *results, const json_t *object, const struct web_fields *fields);

/* A title as one capped line that cannot be taken for a link of its own. */
char *web_make_title(struct str text);

/* An address as it is shown in a Markdown link: one of the web that would end it early has its parentheses escaped. */
char *web_make_link(struct str url);

/* Whether `visit` could open it: an address of the web or of a corpus, without blanks and control characters. Also for
 * other tools' lists. */
bool web_is_link(struct str url);

#endif
