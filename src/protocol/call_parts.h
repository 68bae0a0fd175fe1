/* src/protocol/call_parts.h
 *
 * The steps of decoding that call.c puts together: a JSON value or an XML dialect to raw calls. For call*.c alone.
 */
#ifndef FATHOM_PROTOCOL_CALL_PARTS_H
#define FATHOM_PROTOCOL_CALL_PARTS_H

#include "protocol/call.h"

#define CALL_LIST_MAX 64

/* A name and arguments as they were written, before the name is looked up. With `error` set the rest may be NULL. */
struct raw_call {
    char *name;
    json_t *arguments;
    json_t *beside; /* members beside name and arguments, or NULL */
    uint32_t repairs;
    struct error error;
};

struct raw_calls {
    struct raw_call items[CALL_LIST_MAX];
    size_t count;
};

uint32_t call_repair_bit(enum call_repair repair);
uint32_t call_repairs_of_json(uint32_t lenient_repairs);

/* Finds name and arguments in a decoded value, which may be a list or wrapped. `repairs` are those of reading it. */
void call_normalize(const json_t *value, uint32_t repairs, const struct call_options *options, struct raw_calls *out);

/* Whether `text` is written in one of the XML dialects. */
bool call_is_xml(struct str text);

/* Reads it. Values become what the tool's schema says, else lists and objects are read and all else stays text.
 * `closed` as in struct call_text. */
void call_read_xml(struct str text, bool closed, const struct call_options *options, struct raw_calls *out);

/* Adds a raw call, or returns NULL when there is no room. */
struct raw_call *raw_calls_add(struct raw_calls *calls);
void raw_calls_finish(struct raw_calls *calls);

#endif
