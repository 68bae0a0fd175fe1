/* src/text/tokenizer/read_scan.h
 *
 * Reads JSON (RFC 8259) from front to back without building values: for the vocabulary and the merges of a
 * tokenizer.json, a million of strings of which some hold U+0000, also as names of members. What is left of the file
 * goes through core/json.h. Not for others than the readers.
 */
#ifndef FATHOM_TEXT_TOKENIZER_READ_SCAN_H
#define FATHOM_TEXT_TOKENIZER_READ_SCAN_H

#include <stdbool.h>

#include "core/buf.h"
#include "core/status.h"
#include "core/str.h"

struct json_scan {
    struct str json;
    size_t at;
    struct buf texts[2]; /* what strings with escapes are put together in, by turns */
    unsigned turn;
    bool closed; /* what json_scan_next came to the end of */
};

/* From `at` on; unlike a whole JSON text, more may follow. */
void json_scan_init(struct json_scan *scan, struct str json, size_t at);
void json_scan_finish(struct json_scan *scan);

/* The next character behind white space, which is passed; NUL at the end. */
char json_scan_peek(struct json_scan *scan);

/* Passes white space and, where it is the next character, `c`. */
bool json_scan_take(struct json_scan *scan, char c);

/* Goes on in a list or object behind its opening bracket: true when an element follows. `first` is true before the
 * first one and is set to false. At the end, passes the closing bracket and sets `closed`. False without that is an
 * error. */
bool json_scan_next(struct json_scan *scan, char closing, bool *first);

/* Each: false when something else stands there. A string is borrowed until the second one after it. */
bool json_scan_string(struct json_scan *scan, struct str *out);
bool json_scan_number(struct json_scan *scan, double *out);

/* Passes any value; of its inside only strings and brackets are looked at. */
bool json_scan_skip(struct json_scan *scan);

/* STATUS_SYNTAX at the place that was reached. */
enum status json_scan_fail(const struct json_scan *scan, const char *message, struct error *error);

#endif
