/* src/readers/reader.h
 *
 * A document's bytes to text: plain text, Markdown, HTML, JSON and XML, manual pages, each also gzip-compressed.
 *
 * reader_read decides by content first (what the bytes are), then by declared type, then by name, converts to UTF-8 and
 * gives Markdown. It blocks, for manual pages on a child process (mandoc, which is killed at the deadline), and keeps
 * no state, so it runs on any thread, also on several at once. What it cannot read it refuses by name.
 */
#ifndef FATHOM_READERS_READER_H
#define FATHOM_READERS_READER_H

#include <stdatomic.h>

#include "core/buf.h"
#include "core/status.h"
#include "core/str.h"

enum reader_kind { READER_TEXT, READER_MARKDOWN, READER_HTML, READER_JSON, READER_XML, READER_MAN };

/* What is to be read. All is borrowed for the call. */
struct reader_source {
    struct str bytes;
    struct str name;           /* file name or URL path, for its endings; may be empty */
    struct str content_type;   /* value of the HTTP header; may be empty */
    struct str url;            /* base of a page's links; may be empty */
    const char *man_root;      /* folder that `.so man2/open.2` is relative to; NULL: such includes are left out */
    bool whole_page;           /* HTML: everything, not the main part alone */
    bool drop_links;           /* HTML: text of links without addresses */
    size_t max_bytes;          /* cap of the decompressed bytes and of the text, each; 0 means 10 MB */
    int64_t timeout_ms;        /* for a child; 0 means 20,000 */
    const atomic_bool *cancel; /* polled; NULL allowed */
};

/* Strings are owned, NUL-terminated UTF-8; NULL where unknown. */
struct reader_text {
    enum reader_kind kind;
    struct buf markdown;
    char *title; /* never NULL after success: the document's own, else its first heading, else its name, else "" */
    char *author, *date, *site_name, *language, *description;
    char *canonical_url;
    bool truncated;
};

/* STATUS_UNSUPPORTED  a kind of file that is not read here; the message names it ("a PDF document")
 * STATUS_TOO_BIG      larger than max_bytes, also after decompression
 * STATUS_SYNTAX       broken beyond reading (a gzip stream with a wrong checksum, …)
 * STATUS_TIMEOUT, STATUS_CANCELED, STATUS_IO (the child could not be started) */
enum status reader_read(const struct reader_source *source, struct reader_text *out,
                        struct error *error) STATUS_CHECKED;

void reader_text_finish(struct reader_text *text);

/* Whether a file of this name is worth reading: text, Markdown, HTML, JSON, XML and manual pages by their endings; also
 * names without an ending (README). False for endings of known binary formats. */
bool reader_wants_name(struct str name);

/* Whether the name is that of a manual page: an ending of a digit 1 to 9 (and letters), perhaps with `.gz`. */
bool reader_is_man_name(struct str name);

/* The folder that the includes of the manual page at `path` are relative to: the one above man1, man2 … A fresh string;
 * NULL when the page does not lie in such a folder. */
char *reader_man_root(const char *path);

/* A manual page that holds nothing but one include (`.so man2/open.2`) is another name of that page: the resolved path
 * of that page's file, compressed or not, as a fresh string. NULL for other pages, and where the file is not there.
 * Looks at the disk. */
char *reader_man_alias(const char *path, struct str bytes);

#endif
