/* tests/support/zip.h
 *
 * Archives and office packages made in tests, and one call that reads them.
 */
#ifndef FATHOM_TESTS_ZIP_H
#define FATHOM_TESTS_ZIP_H

#include "core/buf.h"
#include "readers/reader.h"

struct zip_part {
    const char *name;
    struct str bytes;
};

#define ZIP_PART(name, text)       \
    {                              \
        name,                      \
        {                          \
            text, sizeof(text) - 1 \
        }                          \
    }

/* "zip", "tar", "7z", "tar.gz", "tar.xz", "tar.zst", "tar.bz2"; or "gz", "xz" … with one part. The caller finishes. */
struct buf archive_make(const char *form, const struct zip_part *parts, size_t count);

/* A ZIP without compression whose parts lie one behind the other in the given order. */
struct buf zip_make(const struct zip_part *parts, size_t count);

/* Reads as a confined process would. `text` is to be finished unless the status says that it failed. */
enum status read_confined(struct str bytes, const char *name, struct reader_text *text, struct error *error);

/* Fails the test unless the bytes are read and the Markdown is exactly `expected`, but for white space at its ends. */
void assert_markdown(struct str bytes, const char *name, enum reader_kind kind, const char *expected);

/* Reads what is expected to fail. */
void assert_refused(struct str bytes, const char *name, enum status status, const char *part_of_message);

#endif
