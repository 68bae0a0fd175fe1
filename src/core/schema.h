/* src/core/schema.h
 *
 * Checks a JSON value against a JSON Schema (the vocabulary that tool signatures use) and bends it where the meaning is
 * plain.
 *
 * Keywords: type (one or a list), properties, required, additionalProperties, items, enum, const, anyOf, oneOf, allOf,
 * minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf, minLength, maxLength (code points), pattern is not
 * looked at, minItems, maxItems, uniqueItems, minProperties, maxProperties, $ref to "#/…". Others are annotations. true
 * and false are schemas.
 *
 * What is bent (each is reported): a lone value where an array is asked is wrapped, when the items' schema takes it; an
 * array or object written as a JSON string is read; "5" for a number or integer, 5.0 for an integer, "true" for a
 * boolean, a number for a string. Nothing is bent that fits as it stands.
 */
#ifndef FATHOM_CORE_SCHEMA_H
#define FATHOM_CORE_SCHEMA_H

#include <stdbool.h>

#include "core/json.h"
#include "core/status.h"

/* Checks and bends `*value` in place: containers inside are changed, and `*value` itself is replaced (with its
 * reference) when it is bent as a whole. *bent (NULL allowed) says whether anything was. A NULL schema takes
 * everything.
 *
 * STATUS_OK
 * STATUS_INVALID  the value does not fit: `error` names the member in `place` ("query[2]", "" for the whole) and what
 * was expected. Parts may have been bent already STATUS_TOO_BIG  schema or value are nested deeper than 200 */
enum status schema_check(const json_t *schema, json_t **value, bool *bent, struct error *error) STATUS_CHECKED;

#endif
