/* tools/own/own.h
 *
 * Own tools: a program of the user's as a tool of the model's.
 *
 * The contract with the program: its stdin is one JSON object, the arguments, which have passed the signature's schema;
 * where the signature takes code, its text is the member "code". What it writes to stdout is the observation, UTF-8 or
 * what can be read as it. Exit code 0 means that it worked. Any other means that it did not: what stands on stdout is
 * still shown to the model, the last lines of stderr go to the person alone. A program that does not read its stdin,
 * that writes without end, ignores signals or leaves processes behind does not hold the run up.
 *
 * The program runs once for each call, in the folder that program.h says.
 */
#ifndef FATHOM_TOOLS_OWN_OWN_H
#define FATHOM_TOOLS_OWN_OWN_H

#include "core/status.h"
#include "core/str.h"
#include "engine/tool.h"
#include "tools/common/program.h"

#define OWN_DEFAULT_TIMEOUT_MS 60000

/* All strings are copied. */
struct own_tool_options {
    const char *name;     /* NULL: the signature's own; else it takes the place of the signature's */
    struct str signature; /* signature.json's contents: protocol/signature.h, and "idempotent" and "serial" as below */
    struct program_options program;
    int64_t timeout_ms;        /* 0: OWN_DEFAULT_TIMEOUT_MS */
    int64_t max_output_tokens; /* 0: the run's cap */
    bool idempotent;           /* may start while the model is still writing, may be asked again after a crash */
    bool serial;               /* the calls of one run come one after another */
    enum tool_permission permission;
};

/* STATUS_SYNTAX, STATUS_INVALID: the signature; else as program_create says. */
enum status own_tool_create(const struct own_tool_options *options, struct tool **out,
                            struct error *error) STATUS_CHECKED;

/* Whether `name` can be a tool's: 1 to 64 letters, digits, "_", "-" and ".", beginning with a letter. */
bool own_tool_name_is_valid(struct str name);

#endif
