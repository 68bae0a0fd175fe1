/* src/readers/xml.h
 *
 * XML as a stream of events, for parts of office files, books and feeds. For hostile input: nothing is loaded from
 * anywhere, a document that declares entities or default attributes is refused (nobody needs them here, and they are
 * how a kilobyte becomes gigabytes), any depth of nesting costs linear time. Memory is bounded whatever the size of the
 * part, except for the start tag at hand. Broken XML is read as far as it makes sense.
 */
#ifndef FATHOM_READERS_XML_H
#define FATHOM_READERS_XML_H

#include "readers/internal.h"

/* A start tag. All is borrowed until the callback returns. */
struct xml_element {
    const char *name;  /* local name */
    const char *space; /* namespace's URI, "" when there is none */
    int n_attributes;
    const unsigned char **attributes; /* libxml2's: name, prefix, URI, value, end of value */
};

/* Any callback may be NULL. `name` of an end tag is the local one. Text comes in pieces. */
struct xml_handler {
    void (*start)(void *user, const struct xml_element *element);
    void (*end)(void *user, const char *name);
    void (*text)(void *user, struct str text);
};

/* Gives the next bytes of a part: 0 at the end, -1 after a failure. */
typedef ssize_t (*xml_read_fn)(void *user, char *out, size_t size);

struct xml_source {
    struct str bytes; /* used when `read` is NULL */
    xml_read_fn read;
    void *read_user;
    bool utf8; /* the bytes are UTF-8 whatever the declaration says */
};

/* STATUS_OK also for broken XML: then *damaged is set (may be NULL).
 * STATUS_REFUSED declares entities or attributes; STATUS_IO `read` failed; STATUS_CANCELED, STATUS_TIMEOUT */
enum status xml_parse(const struct reading *reading, const struct xml_source *source, const struct xml_handler *handler,
                      void *user, bool *damaged, struct error *error) STATUS_CHECKED;

/* Value of an attribute by its local name, whatever its namespace; empty when absent. Character references are
 * resolved. */
struct str xml_attribute(const struct xml_element *element, const char *name);

/* The same where the absence matters. */
bool xml_has_attribute(const struct xml_element *element, const char *name);

/* A decimal attribute; `fallback` when absent or no number. */
int64_t xml_integer(const struct xml_element *element, const char *name, int64_t fallback);

/* Attribute of the namespace whose URI ends in `space_end` ("/relationships"). */
struct str xml_attribute_of(const struct xml_element *element, const char *space_end, const char *name);

bool xml_is(const struct xml_element *element, const char *name);

/* Whether the element's namespace ends so ("/wordprocessingml/main"); strict and transitional office namespaces share
 * their ends. */
bool xml_in(const struct xml_element *element, const char *space_end);

#endif
