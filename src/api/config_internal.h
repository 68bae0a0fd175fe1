/* src/api/config_internal.h
 *
 * What the files of the configuration share: values by option and source. Not for others.
 */
#ifndef FATHOM_API_CONFIG_INTERNAL_H
#define FATHOM_API_CONFIG_INTERNAL_H

#include "api/config.h"

#define CONFIG_SOURCE_COUNT (CONFIG_FLAG + 1)

/* What one source says of one option. */
struct config_value {
    bool set;
    char **texts; /* as written, lists split */
    size_t count, capacity;
    int64_t integer; /* INTEGER, TOKENS; DURATION in milliseconds, SIZE in bytes; FLAG 0 or 1 */
    double number;
    json_t *json;
    char *origin; /* "--model", "OPENAI_BASE_URL", "fathom.yaml:3:7", "default" */
};

struct config {
    struct config_value values[OPTION_COUNT][CONFIG_SOURCE_COUNT];
    char *file;
    bool file_was_found;   /* ./fathom.yaml that nobody named: see config_secret_for */
    char *openai_base_url; /* OPENAI_BASE_URL, also where another variable took precedence */
    const char *unused[8]; /* names of known variables without a meaning here */
    size_t n_unused;
};

/* Checks `value` against the option's type and range and stores it; a list option appends its parts. The error has no
 * place. */
enum status config_put(struct config *config, enum option_id id, enum config_source source, struct str value,
                       const char *origin, struct error *error) STATUS_CHECKED;

/* The same for an OPTION_JSON that was no text in its source; takes the reference. */
void config_put_json(struct config *config, enum option_id id, enum config_source source, json_t *object,
                     const char *origin);

/* The value that counts, NULL where no source has one. */
const struct config_value *config_value(const struct config *config, enum option_id id);

/* Reads YAML into CONFIG_FILE values: config_yaml.c. */
enum status config_read_yaml(struct config *config, const char *name, struct str text,
                             struct error *error) STATUS_CHECKED;

#endif
