/* src/core/status.h
 *
 * How functions report failure.
 *
 * A function that can fail returns enum status; what a person needs to know (message, place) goes into an optional last
 * parameter `struct error *`. The error is a plain value without owned memory: it lives on the caller's stack, is
 * copied freely and needs no destructor. When a function fails its other outputs are untouched.
 */
#ifndef FATHOM_CORE_STATUS_H
#define FATHOM_CORE_STATUS_H

#include <stddef.h>

#define STATUS_CHECKED __attribute__((warn_unused_result))

enum status {
    STATUS_OK = 0,
    STATUS_INVALID,     /* an argument, option or configuration value is wrong */
    STATUS_SYNTAX,      /* text does not follow its format; line and column say where */
    STATUS_TOO_BIG,     /* a cap on size was reached */
    STATUS_NOT_FOUND,   /* a file, key, row, tool or page does not exist */
    STATUS_IO,          /* the operating system refused a read or write */
    STATUS_NETWORK,     /* no connection, or it broke */
    STATUS_TIMEOUT,     /* a deadline passed */
    STATUS_CANCELED,    /* somebody asked for the work to stop */
    STATUS_REFUSED,     /* policy forbids it: the address guard, a block list */
    STATUS_DENIED,      /* the other side forbids it: 401, 402, 403 */
    STATUS_UNSUPPORTED, /* a valid request for something this program or that server does not do */
    STATUS_ORDER,       /* called at the wrong point of a life cycle */
};

/* `message` is one sentence in plain words; `place` is a file, URL or option name, empty where there is none. `line`
 * and `column` count from 1; 0 means unknown. `column` counts bytes. */
struct error {
    enum status status;
    int line, column;
    char place[256];
    char message[512];
};

/* Fills `error` (NULL is allowed) and returns `status`, so that `return error_set(error, STATUS_IO, "…")` reads well. A
 * text too long for its field is cut at a UTF-8 boundary. Place, line and column are cleared. */
enum status error_set(struct error *error, enum status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Adds where it happened to an error that has been set. NULL for `error` or `place` is allowed. */
void error_at(struct error *error, const char *place, int line, int column);

/* Writes "place:line:column: message" (the parts that are known) into `out`, NUL-terminated and cut to `size`. Returns
 * out. */
const char *error_text(const struct error *error, char *out, size_t size);

#endif
