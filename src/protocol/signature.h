/* src/protocol/signature.h
 *
 * What a tool is to the model: name, description, JSON Schema of its arguments. Loaded from the signature.json of each
 * tool.
 */
#ifndef FATHOM_PROTOCOL_SIGNATURE_H
#define FATHOM_PROTOCOL_SIGNATURE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/json.h"
#include "core/status.h"
#include "core/str.h"

struct tool_signature {
    char *name;
    char *description;
    json_t *parameters; /* JSON Schema of the arguments, an object */
    bool takes_code;    /* a program follows the object in <code>…</code> */
    json_t *json;       /* the whole file: what the model is shown, with keys in the file's order */
};

/* Reads {"name", "description", "parameters", "takes_code"}; the last may be absent and is not part of `json`.
 * STATUS_SYNTAX for no JSON, STATUS_INVALID for a member that is missing or of the wrong type. */
enum status signature_load(struct str text, struct tool_signature *out, struct error *error) STATUS_CHECKED;

/* Frees the members and zeroes them. NULL and zeroed are allowed. */
void signature_finish(struct tool_signature *signature);

/* How a name was found. */
enum signature_match {
    SIGNATURE_EXACT,
    SIGNATURE_NOCASE, /* case, or "-" and " " for "_", or a "functions." prefix differ */
    SIGNATURE_ALIAS,  /* a documented alias: docs/protocol.md */
};

/* The signature that the model means by `name`, or NULL; `match` (NULL allowed) says how it was found. */
const struct tool_signature *signature_find(const struct tool_signature *const *tools, size_t n_tools, struct str name,
                                            enum signature_match *match);

/* Whether a call of this name is one of the interpreter: by its name alone, alias or not. For calls without signatures.
 */
bool signature_name_takes_code(struct str name);

/* A correct call of the tool as the model should write it, made from the schema: the object, and for takes_code a
 * <code> block, between <tool_call> tags. The caller frees. */
char *signature_example(const struct tool_signature *signature);

#endif
