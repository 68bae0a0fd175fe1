/* src/readers/internal.h
 *
 * What the files of this room share. Not for others.
 */
#ifndef FATHOM_READERS_INTERNAL_H
#define FATHOM_READERS_INTERNAL_H

#include "readers/reader.h"

/* Appends the decompressed contents of a gzip file (RFC 1952, several members allowed, anything behind the last
 * ignored). STATUS_TOO_BIG at the cap of `out`, STATUS_SYNTAX for a damaged stream. */
enum status gzip_decompress(struct str bytes, struct buf *out, struct error *error) STATUS_CHECKED;
bool gzip_is(struct str bytes);

/* What kind of binary file the bytes are, as "a PDF document"; NULL for text. */
const char *binary_name(struct str bytes);

/* Whether text is the source of a manual page: its first request is .TH or .Dd. */
bool man_is_likely(struct str text);

/* Turns a manual page in UTF-8 into Markdown and a title, "open(2) - open and possibly create a file". `source` gives
 * man_root, name, timeout and cancel. */
enum status man_read(struct str text, const struct reader_source *source, struct reader_text *out,
                     struct error *error) STATUS_CHECKED;

/* The last component of a path, without .gz. */
struct str base_name(struct str path);

#endif
