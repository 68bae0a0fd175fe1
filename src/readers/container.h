/* src/readers/container.h
 *
 * Archives through libarchive: a walk over entries, and office packages as parts by name. Every byte that comes out is
 * counted against the limits of the reading; names are only names.
 */
#ifndef FATHOM_READERS_CONTAINER_H
#define FATHOM_READERS_CONTAINER_H

#include "readers/internal.h"
#include "readers/xml.h"

struct container;

struct container_entry {
    const char *name; /* UTF-8, as it is stored ("../x" included); borrowed until the next entry */
    int64_t size;     /* unpacked, as declared; -1 unknown */
    bool is_file, encrypted;
};

enum container_set {
    CONTAINER_ZIP,     /* ZIP alone, for packages */
    CONTAINER_ARCHIVE, /* every archive, compressed or not */
    CONTAINER_STREAM,  /* one compressed file that is no archive */
};

/* Opens a document, which must outlive the container. STATUS_SYNTAX when it is no such archive. */
enum status container_open(struct reading *reading, const struct document *document, enum container_set set,
                           struct container **out, struct error *error) STATUS_CHECKED;
void container_close(struct container *container); /* NULL is allowed */

/* Goes to the next entry. STATUS_NOT_FOUND at the end; STATUS_SYNTAX when the archive is damaged from here on;
 * STATUS_TOO_BIG when there are more entries than max_entries; STATUS_CANCELED, STATUS_TIMEOUT. */
enum status container_next(struct container *container, struct container_entry *entry,
                           struct error *error) STATUS_CHECKED;

/* More bytes of the entry: 0 at its end, -1 after a failure, which container_status tells. Of the form of xml_read_fn.
 */
ssize_t container_read(void *container, char *out, size_t size);

/* STATUS_OK, or why the last container_read failed: STATUS_SYNTAX (damaged), STATUS_DENIED (encrypted), a limit
 * (STATUS_TOO_BIG, STATUS_REFUSED), STATUS_CANCELED, STATUS_TIMEOUT. */
enum status container_status(const struct container *container, struct error *error);

/* Appends the whole entry. *cut is set when it is larger than the cap of `out`, whose beginning it then holds. */
enum status container_load(struct container *container, struct buf *out, bool *cut, struct error *error) STATUS_CHECKED;

/* ---- packages: ZIP files of XML parts ---- */

struct package_part {
    char *name; /* without a leading slash, slashes forward */
    struct buf bytes;
    bool loaded; /* false: known by name alone */
};

struct package {
    struct reading *reading;
    const struct document *document;
    struct package_part *parts;
    size_t n_parts, capacity;
    size_t *by_name; /* indexes of parts, sorted by name */
};

/* Whether a part is to be loaded by package_open. Others can be streamed. */
typedef bool (*package_wants_fn)(struct str name);

/* Reads the list of parts and those that are wanted, 64 MB at most. STATUS_DENIED when parts are encrypted. */
enum status package_open(struct reading *reading, const struct document *document, package_wants_fn wants,
                         struct package *out, struct error *error) STATUS_CHECKED;
void package_close(struct package *package);

/* The bytes of a loaded part; a name that is not there, or was not loaded, gives the empty one. Letters' case does not
 * count (ECMA-376 part 2, 6.2.2.3). */
struct str package_part(const struct package *package, struct str name);
bool package_has(const struct package *package, struct str name);

/* Parses a part, from memory when it was loaded, else from the archive. A missing part is STATUS_NOT_FOUND; damage is
 * noted in the reading. */
enum status package_parse(const struct package *package, struct str name, const struct xml_handler *handler, void *user,
                          struct error *error) STATUS_CHECKED;

/* Resolves a target of a part ("../media/x.png", "/xl/y.xml") against the folder of the part it stands in. Fresh. */
char *package_resolve(struct str part, struct str target);

/* ---- relationships of an OPC part ---- */

struct relation {
    char *id, *type, *target; /* type: what stands behind the last slash; target: resolved unless external */
    bool external;
};

struct relations {
    struct relation *items;
    size_t count, capacity;
};

/* Those of `part` ("" for the package's own). A part without any has none. */
enum status relations_load(const struct package *package, struct str part, struct relations *out,
                           struct error *error) STATUS_CHECKED;
void relations_finish(struct relations *relations);
const struct relation *relations_by_id(const struct relations *relations, struct str id);
const struct relation *relations_by_type(const struct relations *relations, const char *type); /* the first */

/* Title, author, language and dates of docProps/core.xml or meta.xml into `out`, those that are not set. */
enum status package_properties(const struct package *package, struct str part, struct reader_text *out,
                               struct error *error) STATUS_CHECKED;

#endif
