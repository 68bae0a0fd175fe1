/* src/core/buf.h
 *
 * A growing byte buffer with a mandatory cap, for everything whose size a network, a file or a model decides.
 *
 * The bytes are always followed by a NUL that does not count, so `data` can be used as a C string once something was
 * appended. An append that would pass the cap fails with STATUS_TOO_BIG and changes nothing, except for the functions
 * that say they cut. A zeroed buf is valid, empty and has a cap of 0.
 */
#ifndef FATHOM_CORE_BUF_H
#define FATHOM_CORE_BUF_H

#include <stdarg.h>

#include "core/status.h"
#include "core/str.h"

/* For buffers whose contents our own code bounds: small messages, headers, generated text built from capped parts. */
#define BUF_UNBOUNDED (SIZE_MAX / 2)

struct buf {
    char *data; /* NULL until the first append */
    size_t len; /* bytes, without the NUL */
    size_t allocated;
    size_t cap; /* the most `len` may become */
};

void buf_init(struct buf *buf, size_t cap);

/* Frees the bytes and zeroes the buffer. NULL and zeroed are allowed. */
void buf_finish(struct buf *buf);

/* Forgets the contents, keeps the allocation. */
void buf_reset(struct buf *buf);

/* Hands the bytes over as a NUL-terminated string (never NULL; the caller frees) and leaves the buffer empty with its
 * cap. */
char *buf_take(struct buf *buf);

struct str buf_str(const struct buf *buf);

/* Each: STATUS_OK, or STATUS_TOO_BIG and nothing changed. */
enum status buf_append(struct buf *buf, const void *bytes, size_t len) STATUS_CHECKED;
enum status buf_append_str(struct buf *buf, struct str s) STATUS_CHECKED;
enum status buf_append_char(struct buf *buf, char c) STATUS_CHECKED;

/* The same for buffers made with BUF_UNBOUNDED, where failure is impossible: reaching the cap aborts. */
void buf_add(struct buf *buf, struct str s);
void buf_add_text(struct buf *buf, const char *text);
void buf_add_char(struct buf *buf, char c);
void buf_addf(struct buf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));
void buf_addv(struct buf *buf, const char *format, va_list arguments) __attribute__((format(printf, 2, 0)));

/* Makes room for `more` bytes behind the contents and returns where they begin; after writing them, grow `len` and set
 * the NUL with buf_commit. NULL when the cap would be passed. */
char *buf_reserve(struct buf *buf, size_t more);
void buf_commit(struct buf *buf, size_t written);

/* Cuts to `len` bytes; a larger `len` changes nothing. */
void buf_truncate(struct buf *buf, size_t len);

/* Removes `count` bytes from the front. */
void buf_consume(struct buf *buf, size_t count);

#endif
