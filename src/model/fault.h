/* src/model/fault.h
 *
 * What it means when a model server refuses: an HTTP status with a body in any of the usual forms, or an error object
 * in place of a completion. Pure.
 */
#ifndef FATHOM_MODEL_FAULT_H
#define FATHOM_MODEL_FAULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/json.h"
#include "core/status.h"
#include "core/str.h"

enum fault_kind {
    FAULT_RETRY,       /* it may pass */
    FAULT_CONTEXT,     /* the prompt does not fit; `limit` is the window in tokens, 0 when the server did not say */
    FAULT_PARAMETER,   /* `parameter` of the request is not taken */
    FAULT_SYSTEM_ROLE, /* the model's template takes no system message */
    FAULT_CAP,         /* the completion cap is more than the `limit` tokens that the server writes */
    FAULT_FINAL,       /* asking again will not help; the error names the remedy */
};

struct fault {
    enum fault_kind kind;
    int64_t limit;
    char parameter[64];
    struct error error;
};

/* What is known where it happened. All may be NULL or empty. */
struct fault_scene {
    const char *host;   /* the endpoint, for people */
    const char *model;  /* what the request named */
    const json_t *sent; /* the request without its messages: only what was sent can be refused */
    bool key_sent;
    const char *const *secrets; /* taken out of every text */
    size_t n_secrets;
    const char *const *models; /* what the server lists */
    size_t n_models;
};

/* Reads a response with the HTTP status `code` that is not in 200..299. */
void fault_of_response(const struct fault_scene *scene, int code, struct str body, struct fault *out);

/* Reads an error object that came with a 200, alone or in an event. */
void fault_of_object(const struct fault_scene *scene, const json_t *object, struct fault *out);

/* Appends `text` (as one line, cut to some 300 bytes) without the secrets and whatever looks like part of one. */
void fault_scrub(const struct fault_scene *scene, struct str text, char *out, size_t size);

#endif
