/* src/model/probe.h
 *
 * Looks for a model server on this machine, for people who have configured neither an address nor a key.
 *
 * The usual ports are asked for their models all at once, without a key; a port where nothing listens says so at once.
 * A server counts only when it answers with a valid list of at least one model.
 */
#ifndef FATHOM_MODEL_PROBE_H
#define FATHOM_MODEL_PROBE_H

#include <stddef.h>
#include <stdint.h>

struct http_client;
struct loop;
struct probe;

#define PROBE_DEFAULT_TIMEOUT_MS 300

struct probe_target {
    const char *server;   /* what usually listens there, for people: "vLLM" */
    const char *base_url; /* "http://127.0.0.1:8000/v1" */
};

/* vLLM, llama.cpp, Ollama, LM Studio and SGLang at their usual ports, in the order of preference. Static. */
const struct probe_target *probe_default_targets(size_t *count);

struct probe_options {
    const struct probe_target *targets; /* copied; NULL: the default ones */
    size_t n_targets;
    int64_t timeout_ms; /* for all of them together; 0: PROBE_DEFAULT_TIMEOUT_MS */
};

struct probe_found {
    const char *server;
    const char *base_url;
    const char *model; /* the first it lists */
};

/* `found` are the servers that answered, in the order of the targets: the first is the choice. Borrowed until the
 * callback returns. */
typedef void (*probe_done_fn)(void *user, const struct probe_found *found, size_t n_found);

/* Starts looking; `options` may be NULL. `done` comes exactly once, never from inside this call; the probe is gone when
 * it returns. */
struct probe *probe_start(struct loop *loop, struct http_client *http, const struct probe_options *options,
                          probe_done_fn done, void *user);

/* Ends it early: `done` comes in a later turn with what was found so far. */
void probe_cancel(struct probe *probe);

#endif
