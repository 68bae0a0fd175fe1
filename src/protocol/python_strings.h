/* src/protocol/python_strings.h
 *
 * The string constants of a Python source file: what its top-level assignments give their names, evaluated as CPython
 * does (The Python Language Reference, 2.4.1, string literals, and 2.4.2, concatenation). Nothing is run.
 *
 * Understood: NAME = …, NAME: type = …, NAME += …, where … is made of literals (all quotes, raw, every escape but
 * \N{…}), placed side by side or added with +, names assigned before, parentheses and line continuations. A name whose
 * last assignment is anything else is remembered with the place of what is not understood.
 */
#ifndef FATHOM_PROTOCOL_PYTHON_STRINGS_H
#define FATHOM_PROTOCOL_PYTHON_STRINGS_H

#include "core/status.h"
#include "core/str.h"

struct python_strings;

/* Reads UTF-8 source. Bytes after a syntax error that hides where strings end are not looked at. STATUS_SYNTAX for
 * source that is not UTF-8. */
enum status python_strings_read(struct str source, struct python_strings **out, struct error *error) STATUS_CHECKED;

/* NULL is allowed. */
void python_strings_destroy(struct python_strings *strings);

/* The value of a name, borrowed from `strings`. STATUS_NOT_FOUND when nothing is assigned to it, STATUS_UNSUPPORTED
 * with line and column when its value is not understood. */
enum status python_strings_get(const struct python_strings *strings, const char *name, struct str *value,
                               struct error *error) STATUS_CHECKED;

#endif
