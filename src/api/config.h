/* src/api/config.h
 *
 * The configuration of an invocation: flags over environment over a file over defaults, each value with where it came
 * from.
 *
 * config_create gives defaults; config_load_file, config_load_environment and config_set put values in; the order of
 * the calls does not matter, since every value knows its rank. After config_resolve it is read-only and may be used by
 * any thread. Secrets are held like other values, but config_describe never shows them.
 */
#ifndef FATHOM_API_CONFIG_H
#define FATHOM_API_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/option.h"
#include "core/buf.h"
#include "core/json.h"
#include "core/status.h"
#include "core/str.h"

struct config;

/* In rising rank. */
enum config_source { CONFIG_DEFAULT, CONFIG_FILE, CONFIG_ENVIRONMENT, CONFIG_FLAG };

struct config *config_create(void);
void config_destroy(struct config *config); /* NULL is allowed */

/* Reads a YAML file of at most 1 MB. STATUS_NOT_FOUND, STATUS_IO, STATUS_TOO_BIG; STATUS_SYNTAX (no YAML) and
 * STATUS_INVALID (unknown key, wrong value) with file, line and column. */
enum status config_load_file(struct config *config, const char *path, struct error *error) STATUS_CHECKED;

/* The same from memory; `name` stands for the file in messages. */
enum status config_load_text(struct config *config, const char *name, struct str text,
                             struct error *error) STATUS_CHECKED;

/* Loads ./fathom.yaml, else $XDG_CONFIG_HOME/fathom/config.yaml (~/.config without it); STATUS_OK also when there is
 * none. */
enum status config_load_usual_file(struct config *config, struct error *error) STATUS_CHECKED;

/* Reads the variables that the table names. `environment` is a list like environ. An empty variable counts as unset.
 * STATUS_INVALID, the error's place being the variable. */
enum status config_load_environment(struct config *config, const char *const *environment,
                                    struct error *error) STATUS_CHECKED;

/* Sets an option as a flag does: a list grows with each call. STATUS_INVALID with place "--name". */
enum status config_set(struct config *config, enum option_id id, struct str value, struct error *error) STATUS_CHECKED;

/* Settles what depends on several values (which key belongs to which address, which role inherits what) and fills the
 * defaults. STATUS_INVALID when values contradict each other. */
enum status config_resolve(struct config *config, struct error *error) STATUS_CHECKED;

/* ---- reading; all borrowed from the configuration ---- */

/* Whether the value came from anywhere but the defaults. */
bool config_is_set(const struct config *config, enum option_id id);

/* The text of a TEXT or CHOICE; NULL where there is none. Of a list: its first value. */
const char *config_text(const struct config *config, enum option_id id);

/* INTEGER, TOKENS, SIZE: the number; DURATION: milliseconds; FLAG: 1 for yes. 0 where there is none. */
int64_t config_integer(const struct config *config, enum option_id id);
double config_number(const struct config *config, enum option_id id);
const json_t *config_json(const struct config *config, enum option_id id); /* an object or NULL */
const char *const *config_list(const struct config *config, enum option_id id, size_t *count);

enum config_source config_source(const struct config *config, enum option_id id);

/* Whether the value came from a ./fathom.yaml that nobody named: it may be a stranger's. */
bool config_is_found(const struct config *config, enum option_id id);

/* Where a value came from: "--model", "OPENAI_BASE_URL", "fathom.yaml:3:7", "default". */
const char *config_origin(const struct config *config, enum option_id id, char *out, size_t size);

/* Appends the value as a person may see it: "set" for a secret, "not set" where there is none. */
void config_describe(const struct config *config, enum option_id id, struct buf *out);

/* The configuration file that was read, or NULL. */
const char *config_file(const struct config *config);

/* Variables that are set and known but mean nothing to this version, for example SANDBOX_FUSION_ENDPOINT. */
const char *const *config_unused_variables(const struct config *config, size_t *count);

/* SHA-256 in hex over all values that are not secret, in the order of the table: equal configurations have equal
 * hashes, wherever their values came from. */
void config_hash(const struct config *config, char out[65]);

/* ---- which secret goes where ---- */

/* The secret of option `secret` (a key, or for a list its first value) as far as it may be sent to `url`, an address
 * that option `address` gave; NULL when there is none or it must stay here, and then `why` (NULL allowed) gets one
 * sentence with the remedy, or stays empty when there is no secret at all.
 *
 * A secret belongs to the origin it was configured with: where its own source (the same file, or the environment) also
 * names an address, it goes to that origin alone; without one it goes where the user points the program. An address
 * from a ./fathom.yaml that was merely found there gets only secrets from the same file, so that a stranger's folder
 * cannot collect keys. */
const char *config_secret_for(const struct config *config, enum option_id secret, enum option_id address,
                              const char *url, struct buf *why);

/* ---- values, as all sources write them ---- */

/* "90s", "150m", "2h", "1h30m", "500ms", "1.5h", "0"; a bare number other than 0 lacks its unit. False when it is none,
 * is negative, or is beyond 10,000 hours. */
bool config_parse_duration(struct str text, int64_t *milliseconds);

/* "110k", "131072", "1m" (binary multiples). False when it is none or does not fit. */
bool config_parse_tokens(struct str text, int64_t *count);

/* Reads "512MB", "2 GB", "65536": bytes, with powers of 1,024. */
bool config_parse_size(struct str text, int64_t *bytes);

#endif
