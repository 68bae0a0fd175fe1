/* src/core/schema_internal.h
 *
 * What the files of the schema check share: schema.c goes through the keywords that apply to any value, schema_types.c
 * through those of one type, schema_bend.c makes values fit, schema_refer.c finds what is referred to and matches
 * patterns, schema_validate.c looks at schemas themselves. Not for others.
 */
#ifndef FATHOM_CORE_SCHEMA_INTERNAL_H
#define FATHOM_CORE_SCHEMA_INTERNAL_H

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "core/schema.h"

#define SCHEMA_MAX_DEPTH 200
#define SCHEMA_MAX_STEPS ((size_t)1000000)
#define SCHEMA_PATTERNS  8

/* Shared by a check and the checks that it makes of alternatives. */
struct schema_work {
    size_t steps; /* schemas applied, members compared or copied: ends what would take exponential time */
    struct {
        const char *text; /* of the schema, so its address is its name */
        pcre2_code *code;
    } patterns[SCHEMA_PATTERNS];
    size_t next_pattern;
};

struct check {
    const json_t *root; /* for references */
    struct schema_work *work;
    bool may_bend, bent;
    bool lone_references; /* $ref hides what stands beside it, as up to draft 7 */
    bool tracks;          /* some part asks what its neighbours have looked at: unevaluatedItems, …Properties */
    int depth;
    char path[256];
    struct error *error; /* NULL for silence */
};

/* Applies a schema. `seen` (NULL where nobody asks) is an object used as a set: on success it gains the names of the
 * members, or the indexes of the items, that the schema looked at. */
enum status schema_apply(struct check *check, const json_t *schema, json_t **value, json_t *seen) STATUS_CHECKED;

/* Whether the value fits as it stands, in silence. */
bool schema_takes(const struct check *check, const json_t *schema, const json_t *value, json_t *seen);

/* Counts steps; false when there were too many, with the error set. */
bool schema_step(struct check *check, size_t count);

/* How many values there are in a value, itself included. */
size_t schema_size(const json_t *value);

/* Reports a misfit at the current place: STATUS_INVALID. */
enum status schema_misfit(struct check *check, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Go one step down in the path; they return the length to cut it back to. */
size_t schema_enter_member(struct check *check, const char *key);
size_t schema_enter_item(struct check *check, size_t index);

/* ---- schema_types.c ---- */

enum status schema_apply_typed(struct check *check, const json_t *schema, json_t *value, json_t *seen) STATUS_CHECKED;
/* Applies what an object's schema says of the member `key`; *known: whether it says anything. */
enum status schema_apply_key(struct check *check, const json_t *schema, json_t *object, const char *key,
                             bool *known) STATUS_CHECKED;
enum status schema_apply_unevaluated(struct check *check, const json_t *schema, json_t *value,
                                     json_t *seen) STATUS_CHECKED;

/* Equal as JSON Schema means it: 1 and 1.0 are. */
bool schema_equal(const json_t *a, const json_t *b);

/* ---- schema_bend.c ---- */

bool schema_is_type(const char *name); /* of the seven; false for NULL */
bool schema_has_type(const json_t *value, const char *type);

/* Checks `type`, bending *value to it where that is allowed. */
enum status schema_apply_type(struct check *check, const json_t *schema, json_t **value) STATUS_CHECKED;

/* Checks `enum` and `const`, bending a word to the one that is meant. */
enum status schema_apply_enum(struct check *check, const json_t *schema, json_t **value) STATUS_CHECKED;

/* Takes away the members that say nothing where nothing need be said. */
void schema_drop_blanks(struct check *check, const json_t *schema, json_t *object);

/* ---- schema_refer.c ---- */

/* The schema that a reference leads to, or NULL. `steps` (NULL allowed) counts what was looked at. */
const json_t *schema_find(const json_t *root, const char *reference, size_t *steps);

/* Whether the pattern matches somewhere in the text. One that cannot be compiled matches everything; one that takes
 * too many steps does not match. */
bool schema_matches(struct check *check, const char *pattern, struct str text);

/* NULL, with `message` filled in, when the pattern cannot be compiled. The caller frees with pcre2_code_free. */
pcre2_code *schema_compile_pattern(const char *pattern, char *message, size_t size);

/* Frees what matching has kept. */
void schema_forget_patterns(struct schema_work *work);

#endif
