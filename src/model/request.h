/* src/model/request.h
 *
 * The body of a completion request: a few fixed bytes around text borrowed from the prompt view, read through a body
 * reader, so that half a megabyte of prompt is neither copied nor escaped again. It can be read again from the start.
 */
#ifndef FATHOM_MODEL_REQUEST_H
#define FATHOM_MODEL_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/json.h"
#include "core/str.h"
#include "net/http.h"
#include "protocol/template.h"

struct model_request;

/* What an endpoint takes; learnt from its refusals. */
struct request_habits {
    json_t *dropped;      /* set of parameters it does not take, as an object; NULL for none */
    bool completion_name; /* max_completion_tokens instead of max_tokens */
    bool fold_system;     /* the system message goes to the head of the first user message */
    bool repeat_penalty;  /* llama.cpp's name for repetition_penalty */
    bool thought_field;   /* its replies have thought in a field of their own: earlier thought goes back in it */
    bool reasoning_name;  /* that field is `reasoning`, not `reasoning_content` */
    int64_t max_tokens;   /* the most it writes; 0 unknown */
};

struct request_form {
    const char *model;                         /* NULL: no model is named */
    const struct chat_template *chat_template; /* NULL: chat messages */
    struct template_options template_options;
    const json_t *extra_body; /* NULL or an object */
};

struct request_body {
    json_t *
        fields; /* what was sent beside messages or prompt; the field of earlier thought, when used, is in it as true */
    char *head; /* the request up to messages or prompt */
    struct template_pieces pieces;
    uint64_t *ends; /* of each piece, counted from the start of the body */
    size_t at;      /* piece of the last read */
};

/* Builds the body. Text of the prompt is borrowed until request_body_finish. */
void request_body_init(struct request_body *body, const struct request_form *form, const struct request_habits *habits,
                       const struct model_request *request);
/* Whether earlier thought is sent in a field of its own to a server with these habits. */
bool request_splits_thought(const struct request_habits *habits);

void request_body_finish(struct request_body *body); /* NULL and zeroed are allowed */

uint64_t request_body_length(const struct request_body *body);

/* For http_options.reader; the body must not move until the request is done. */
struct http_body request_body_reader(struct request_body *body);

/* Writes the bytes from `offset` on, at most `size`; the `read` of the above. */
size_t request_body_read(void *body, uint64_t offset, char *out, size_t size);

#endif
