/* src/core/schema.h
 *
 * Checks a JSON value against a JSON Schema and bends it where the meaning is plain.
 *
 * The schema language is draft 2020-12 (https://json-schema.org/draft/2020-12): all keywords of its applicator,
 * validation and unevaluated vocabularies, with `$ref` and `$dynamicRef` to places inside the document ("#", "#/…",
 * "#anchor", or the literal `$id` of a part). What draft 7 and before spelled otherwise is read as well, since most
 * tool servers still write it: `items` as a list with `additionalItems`, `definitions`, `dependencies`,
 * `exclusiveMinimum` and `exclusiveMaximum` as flags, OpenAPI's `nullable`, and, where
 * `$schema` names such a draft, a `$ref` that stands alone. true and false are schemas. `format`, `content…` and
 * unknown keywords are annotations. Other documents are never fetched: a reference to one takes everything, as does a
 * pattern that cannot be compiled and a type that is none; schema_validate names them all.
 *
 * Patterns are ECMA-262 as PCRE2 understands it, unanchored, with a bounded number of steps.
 *
 * What is bent (each is reported):
 * - a lone value where an array is asked is wrapped, when the items' schema takes it, bent or not; an array of one item
 *   where that item is asked is unwrapped;
 * - an array or object written as a JSON string is read;
 * - "5" and "5.0" for a number or integer, 5.0 for an integer, "true", 1 and 0 for a boolean, "null" for null, a number
 *   or boolean for a string;
 * - a word in other case than the one word of an enum, or the const, that it means;
 * - null or a blank string for a member that need not be there and takes no such thing: the member goes.
 * Nothing is bent that fits as it stands.
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
 *                 was expected. Parts may have been bent already
 * STATUS_TOO_BIG  schema or value are nested deeper than 200, or comparing them takes more than a million steps */
enum status schema_check(const json_t *schema, json_t **value, bool *bent, struct error *error) STATUS_CHECKED;

/* The same without bending: whether the value fits as it stands. */
enum status schema_fits(const json_t *schema, const json_t *value, struct error *error) STATUS_CHECKED;

/* Whether a schema means what its author thinks: keywords have values of the right types, references lead somewhere
 * inside the document, patterns compile. STATUS_INVALID with the place as a JSON pointer ("/properties/query/type");
 * STATUS_TOO_BIG when nested deeper than 200. */
enum status schema_validate(const json_t *schema, struct error *error) STATUS_CHECKED;

#endif
