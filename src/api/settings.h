/* src/api/settings.h
 *
 * Reads an object of settings from a configuration, member by member, where the option table does not reach: own tools
 * and MCP servers. Every problem names its place ("own-tools.weather.timeout"). The first one is kept, and what is read
 * after it gives nothing, so that a reader checks once, at the end.
 *
 * Names are written with dashes here; in the configuration underscores count as dashes.
 */
#ifndef FATHOM_API_SETTINGS_H
#define FATHOM_API_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/json.h"
#include "core/status.h"
#include "core/str.h"

/* Memory of strings and lists that live as long as what was read from a configuration. A zeroed one is empty. */
struct settings_memory {
    void **pieces;
    size_t count, capacity;
    const char **secrets; /* values that nobody may see: what came for a variable, and what is called a key */
    size_t n_secrets, secrets_capacity;
};

void settings_memory_finish(struct settings_memory *memory);

/* Takes a piece of the heap over; returns it. */
void *settings_keep(struct settings_memory *memory, void *piece);

struct settings {
    const json_t *object;
    const char *place;  /* "own-tools.weather", borrowed */
    const char *folder; /* relative paths count from here; absolute */
    bool foreign;       /* another program's file: members that are not known are nobody's mistake */
    bool no_variables;  /* "${NAME}" is refused */
    struct settings_memory *memory;
    enum status status;
    struct error *error; /* NULL is allowed */
};

/* Refuses members that are none of `names`, with the nearest one as a suggestion. Also a value that is no object. */
void settings_check_names(struct settings *settings, const char *const *names, size_t n_names);

/* The member, or NULL where there is none (null counts as none). */
const json_t *settings_get(const struct settings *settings, const char *name);

/* Notes a problem of a member; `name` NULL: of the whole object. */
void settings_refuse(struct settings *settings, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Each gives the fallback where there is no such member, or a problem. What they give lives as long as `memory`. */

/* A text that is not empty; "${NAME}" and "${NAME:-else}" are replaced by variables of the environment. */
const char *settings_text(struct settings *settings, const char *name);
bool settings_flag(struct settings *settings, const char *name, bool fallback);
int64_t settings_integer(struct settings *settings, const char *name, int64_t minimum, int64_t fallback);

/* Milliseconds, at least 1. Where `foreign`, a bare number says nothing, since programs differ in its unit. */
int64_t settings_duration(struct settings *settings, const char *name, int64_t fallback);

/* The index of the member's value in `choices`. */
size_t settings_choice(struct settings *settings, const char *name, const char *const *choices, size_t n_choices,
                       size_t fallback);

/* A list of texts, or a lone text; ends in NULL. NULL where there is no such member. */
const char *const *settings_list(struct settings *settings, const char *name, size_t *count);

/* The same, each made an absolute path. */
const char *const *settings_paths(struct settings *settings, const char *name, size_t *count);
const char *settings_path(struct settings *settings, const char *name);

/* An object of texts as "name<separator>value" strings; numbers and booleans count as they are written. Ends in NULL.
 * Values of variables, and those whose name sounds like a key, are kept among the secrets. */
const char *const *settings_pairs(struct settings *settings, const char *name, char separator, size_t *count);

/* `path` as an absolute one below `folder`; "~/" is the home. In `memory`. */
const char *settings_absolute(struct settings_memory *memory, const char *folder, const char *path);

#endif
