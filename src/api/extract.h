/* src/api/extract.h
 *
 * What a page says, in the forms that `fathom extract` and fathom_extract give it.
 *
 * Bytes go through the readers (readers/reader.h) without confinement: web pages, and other text (feeds, tables, mail
 * …) as Markdown. PDF, office files and the like are refused by name. Pure but for the clock; any thread.
 */
#ifndef FATHOM_API_EXTRACT_H
#define FATHOM_API_EXTRACT_H

#include "core/json.h"
#include "readers/reader.h"

/* The most that a page may have, and the most of its Markdown that is given. */
#define EXTRACT_MAX_BYTES ((size_t)32 << 20)

enum extract_format {
    EXTRACT_MARKDOWN,
    EXTRACT_TEXT,
    EXTRACT_JSON, /* an object with both, and with what the page says about itself */
};

/* All borrowed. Zeroed is the default: the main part as Markdown with its links. */
struct extract_options {
    struct str name;         /* of the file, or the URL's path: for its ending; empty: a web page is assumed */
    struct str content_type; /* value of the HTTP header; may be empty */
    struct str url;          /* the page's address, against which links are resolved; may be empty */
    struct str input;        /* what an object calls the input, in "input"; empty: that is left out */
    enum extract_format format;
    bool whole_page, comments, drop_links;
};

/* Appends what `bytes` say, and a newline where there is any text. For EXTRACT_JSON that is one line with the object
 * {"url", "title", "author", "date", "modified", "site", "language", "canonical", "description", "kind", "charset",
 * "bytes", "characters", "tokens", "truncated", "markdown", "text"}; what is unknown is null. `empty` (may be NULL)
 * says whether there is no text. As reader_read where it fails; STATUS_TOO_BIG above EXTRACT_MAX_BYTES. */
enum status extract_page(struct str bytes, const struct extract_options *options, struct buf *out, bool *empty,
                         struct error *error) STATUS_CHECKED;

/* The object for something that was read already; of the options input and url count. `text` is its plain text, `bytes`
 * its size; 0: unknown. A new reference. */
json_t *extract_object(const struct reader_text *read, const struct extract_options *options, struct str text,
                       size_t bytes);

#endif
