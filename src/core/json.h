/* src/core/json.h
 *
 * JSON on top of jansson. Values are jansson's json_t with its reference counts; this header adds what jansson lacks:
 * errors in our form, integers beyond 64 bits (kept as strings, digit for digit), and writing straight into a struct
 * buf.
 */
#ifndef FATHOM_CORE_JSON_H
#define FATHOM_CORE_JSON_H

#include <jansson.h>

#include "core/buf.h"
#include "core/status.h"
#include "core/str.h"

/* Parses one strict JSON text (RFC 8259; any value, UTF-8, no duplicate-key check: the last wins). NUL escapes in
 * strings are allowed. Integers that do not fit 64 bits become strings of their digits; reals beyond the range of a
 * double too. STATUS_OK with a new reference in *out; STATUS_SYNTAX with line and column; STATUS_TOO_BIG when nested
 * deeper than 2,000. */
enum status json_parse(struct str text, json_t **out, struct error *error) STATUS_CHECKED;

/* Reads a whole JSON file of at most `max_bytes`. STATUS_IO, STATUS_NOT_FOUND, STATUS_TOO_BIG, STATUS_SYNTAX. */
enum status json_parse_file(const char *path, size_t max_bytes, json_t **out, struct error *error) STATUS_CHECKED;

/* Appends `text` as the inside of a JSON string: quotes, backslashes and control characters escaped, everything else
 * (also non-ASCII) as it is. Invalid UTF-8 is written as U+FFFD, one for each maximal ill-formed part (Unicode
 * 15, 3.9), so what is written is always valid. No quotes are added. */
enum status json_escape(struct buf *out, struct str text) STATUS_CHECKED;

/* The reverse of json_escape for text that json_escape wrote. */
enum status json_unescape(struct buf *out, struct str wire) STATUS_CHECKED;

/* What one escape that json_escape wrote stands for: a byte. It begins at `*at` with a backslash, which is not the last
 * byte of `wire`; `*at` is moved behind it. */
char json_unescape_one(struct str wire, size_t *at);

/* Appends `value` compactly, keys in insertion order; NULL appends null. */
enum status json_write(struct buf *out, const json_t *value) STATUS_CHECKED;

/* A fresh compact text; the caller frees. */
char *json_to_text(const json_t *value);

/* Borrowed string member of an object: NULL when the object is NULL, no object, or the member is no string. */
const char *json_get_string(const json_t *object, const char *key);
struct str json_get_str(const json_t *object, const char *key); /* the same with its length; empty when absent */

/* Integer or integral real member; `fallback` when absent or of another type. */
int64_t json_get_int(const json_t *object, const char *key, int64_t fallback);
double json_get_number(const json_t *object, const char *key, double fallback);

/* A new JSON string from any bytes (invalid UTF-8 replaced). Never NULL. */
json_t *json_from_str(struct str text);

/* Sets a member, stealing `value`; `value` NULL sets null. Never fails short of memory, which aborts. */
void json_put(json_t *object, const char *key, json_t *value);
void json_put_str(json_t *object, const char *key, struct str text);
void json_push(json_t *array, json_t *value);

#endif
