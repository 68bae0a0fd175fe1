/* src/api/own_config.h
 *
 * The options `own-tools` and `own-tool`: from a configuration to what tools/own needs.
 *
 *     own-tools:
 *       weather:
 *         command: [./weather.py]         # or a folder with signature.json and the program
 *         signature: weather.json         # a file, or the object itself
 *         directory: tools/weather
 *         timeout: 20s
 *         max-output-tokens: 4000
 *         confinement: strict             # strict, network, none
 *         permission: allow               # allow, ask, deny
 *         environment: {UNITS: metric}
 *         readable: [data]
 *         writable: [cache]
 *         idempotent: true
 *         serial: false
 *
 * Relative paths count from the folder of the configuration file, those of `command` and `signature` from `directory`
 * where it is given.
 */
#ifndef FATHOM_API_OWN_CONFIG_H
#define FATHOM_API_OWN_CONFIG_H

#include "api/settings.h"
#include "tools/own/own.h"

struct own_config_tool {
    struct own_tool_options options; /* points into the configuration's memory */
    const char *place;               /* "own-tools.weather", for messages */
    bool denied;                     /* permission: deny */
};

struct own_config {
    struct own_config_tool *tools;
    size_t count, capacity;
    struct settings_memory memory;
};

/* Where an object of settings stands. */
struct config_place {
    const char *folder; /* relative paths count from here; absolute */
    bool foreign;       /* another program's file */
    bool found;         /* a file that nobody named: no variables, nothing unconfined, no files but the folder's */
};

/* Reads the object of `own-tools` into a zeroed or earlier filled configuration. STATUS_INVALID; the message begins
 * with the place ("own-tools.weather.timeout: …"). */
enum status own_config_read(struct own_config *config, const json_t *object, const struct config_place *where,
                            struct error *error) STATUS_CHECKED;

/* Adds the tool of a folder with signature.json and one program: the one that is called `run` or like the folder, with
 * any ending, else the only executable file. `found` as above: the folder must lie in the current one. */
enum status own_config_add_folder(struct own_config *config, const char *folder, bool found,
                                  struct error *error) STATUS_CHECKED;

void own_config_finish(struct own_config *config); /* zeroed is allowed */

/* ---- shared with mcp_config.c ---- */

enum { PERMISSION_ALLOW, PERMISSION_ASK, PERMISSION_DENY };
size_t permission_read(struct settings *settings);
enum program_confinement confinement_read(struct settings *settings, enum program_confinement fallback);

#endif
