/* src/protocol/call.h
 *
 * From the text of a <tool_call> to a name, arguments and a program: protocol.md, "Decoding a call". Each way of
 * writing a call beyond strict JSON is a counted repair. Nothing is invented: a value that is not in the text is not in
 * the call; text that was cut in the middle of a value is refused.
 */
#ifndef FATHOM_PROTOCOL_CALL_H
#define FATHOM_PROTOCOL_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/json.h"
#include "core/status.h"
#include "core/str.h"
#include "protocol/signature.h"

/* Repairs, a set; the numbers are not stable, the names are. */
enum call_repair {
    CALL_REPAIR_JSON5,          /* comments, single quotes, unquoted keys, trailing commas, JSON5 numbers */
    CALL_REPAIR_PYTHON,         /* True False None, tuples, adjacent and triple-quoted strings */
    CALL_REPAIR_XML,            /* <function=…>, <arg_key>… */
    CALL_REPAIR_RAW_CONTROL,    /* raw newlines and tabs in strings */
    CALL_REPAIR_BAD_ESCAPE,     /* \d, \upcite; lone surrogates */
    CALL_REPAIR_QUOTES,         /* typographic quotes, quotes inside strings, missing ones */
    CALL_REPAIR_BRACKETS,       /* missing, extra or mixed-up brackets; missing commas and colons */
    CALL_REPAIR_TRAILING_TEXT,  /* text before or after the object */
    CALL_REPAIR_FENCE,          /* a Markdown fence around the object or the program */
    CALL_REPAIR_ARGUMENTS_FORM, /* arguments as a JSON string, a list of one object, or beside the name */
    CALL_REPAIR_KEYS,           /* other words for name or arguments; nesting in {"function": {…}} */
    CALL_REPAIR_LIST,           /* a list of calls in one element */
    CALL_REPAIR_NAME,           /* another spelling or an alias of the tool's name */
    CALL_REPAIR_CODE,           /* the program stood in the arguments */
    CALL_REPAIR_COERCED,        /* a value was wrapped, read or converted to fit the schema */
    CALL_REPAIR_ENCODING,       /* invalid UTF-8 */
    CALL_REPAIR_COUNT,
};

/* For example "json5", "python-literals", "brackets". */
const char *call_repair_name(enum call_repair repair);

/* One call. With `error.status` STATUS_OK name and arguments are there. Otherwise the call cannot be carried out:
 * `error` says what is wrong, `line` and `column` (of the element's text, from 1; 0 unknown) where, `expected` what
 * should stand there, and `example` is one correct call. name, arguments and code are then what could be read, NULL
 * where nothing. */
struct call {
    char *name;                             /* the signature's where there is one */
    json_t *arguments;                      /* an object */
    char *code;                             /* NULL where there is no program */
    size_t code_len;                        /* bytes without the NUL */
    const struct tool_signature *signature; /* borrowed; NULL when decoding without signatures or on an unknown name */
    uint32_t repairs;                       /* bits 1 << enum call_repair */
    struct error error;
    char expected[160];
    char *example; /* NULL without an error */
};

struct call_list {
    struct call *items;
    size_t count;
};

/* What tag_parser reported. */
struct call_text {
    struct str json; /* before <code> */
    struct str code;
    bool has_code;
    bool closed; /* false: nothing may be completed at its end */
};

struct call_options {
    const struct tool_signature *const *tools; /* NULL: any name is taken, and no schema is applied */
    size_t n_tools;
};

/* Decodes one element. Always gives at least one call; what cannot be decoded is a call with an error, so the status of
 * the single calls is what counts. Runaway text that repeats further objects on lines of their own gives the first
 * only; a JSON list gives all, at most 64. `options` NULL is as zeroed. */
void call_decode(const struct call_text *text, const struct call_options *options, struct call_list *out);

/* Frees the calls and zeroes the list. NULL and zeroed are allowed. */
void call_list_finish(struct call_list *list);

/* The names of a set of repairs as a new JSON array. */
json_t *call_repairs_json(uint32_t repairs);

#endif
