/* src/protocol/generation.h
 *
 * The words in which a completion is asked for and ends, shared by the session, which decides, and the model clients,
 * which do the talking. Plain values.
 */
#ifndef FATHOM_PROTOCOL_GENERATION_H
#define FATHOM_PROTOCOL_GENERATION_H

#include <stdbool.h>
#include <stdint.h>

enum model_role {
    MODEL_AGENT,
    MODEL_SUMMARY,       /* what a page says, for visit */
    MODEL_VISION,        /* images to text */
    MODEL_TRANSCRIPTION, /* sound to text: no completion, a service of its own (model/transcription.h) */
    MODEL_ROLE_COUNT,
};
const char *model_role_name(enum model_role role); /* "agent", "summary", "vision", "transcription" */

enum finish_reason {
    FINISH_STOP,           /* the model ended by itself or at a stop string */
    FINISH_LENGTH,         /* the completion cap or the window cut it */
    FINISH_CONTENT_FILTER, /* the server refused to go on; after one retry */
    FINISH_BROKEN,         /* the stream broke after a call had started; what came counts */
    FINISH_CANCELED,       /* the program stopped it */
};
const char *finish_reason_name(enum finish_reason reason); /* "stop", "length", … as in the result's finish_reasons */

/* Why a completion could not be had. */
enum model_failure {
    MODEL_OK,
    MODEL_CONTEXT_TOO_LONG, /* the prompt does not fit the server's window */
    MODEL_PROMPT_CUT,       /* the server cuts prompts silently; the error names the remedy */
    MODEL_REJECTED,    /* 401, 402, 403, 404, 413, other 400: final on every endpoint; the error names the remedy */
    MODEL_UNAVAILABLE, /* all tries are used up, or every endpoint stayed down */
};

/* Tokens as the server reported them; -1 where it did not. `cached` is the part of `prompt` from its cache. */
struct usage {
    int64_t prompt, completion, cached, reasoning;
};

/* A value is sent only when its flag is set. */
struct sampling {
    bool has_temperature, has_top_p, has_top_k, has_min_p, has_seed, has_presence_penalty, has_repetition_penalty;
    double temperature, top_p, min_p, presence_penalty, repetition_penalty;
    int64_t top_k, seed;
};

/* Price per million tokens in USD; negative where unset. */
struct model_price {
    double prompt, completion, cached;
};

/* Cost of `usage` in USD, or a negative number where a price it needs is unset. Unreported tokens count as 0; cached
 * tokens cost `cached` when set, else `prompt`. */
double model_cost(const struct model_price *price, const struct usage *usage);

#endif
