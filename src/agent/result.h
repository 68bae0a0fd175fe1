/* src/agent/result.h
 *
 * What a run came to. The session fills it; the engine adds what only it knows (times of day, models, hashes) when it
 * writes the result as JSON (engine/runner.h).
 */
#ifndef FATHOM_AGENT_RESULT_H
#define FATHOM_AGENT_RESULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/status.h"
#include "core/str.h"
#include "protocol/generation.h"
#include "protocol/transcript.h"

enum termination {
    TERMINATION_ANSWER,
    TERMINATION_CALL_LIMIT,
    TERMINATION_TOKEN_LIMIT,
    TERMINATION_TIME_LIMIT,
    TERMINATION_BUDGET,
    TERMINATION_STUCK,
    TERMINATION_MODEL_ERROR,
    TERMINATION_INTERRUPTED,
    TERMINATION_STOPPED,
};

/* "answer", "call_limit", … as in the result's JSON. */
const char *termination_name(enum termination termination);

struct tool_count {
    const char *name;
    int64_t calls;
};

struct result_source {
    struct str url, title;
    int64_t first_seen_round; /* from 1 */
    bool cited;               /* the prediction names the link */
};

struct result {
    enum termination termination;
    bool answered; /* the prediction came from an <answer> tag */
    struct str prediction;
    struct error error; /* status STATUS_OK where there is none */
    const struct transcript *transcript;
    int64_t rounds, model_calls, tool_failures;
    const struct tool_count *tool_calls; /* in the order of the run's tools; tools never called have 0 */
    size_t n_tool_calls;
    int64_t context_tokens;                    /* of the last prompt */
    bool context_from_server;                  /* counted by the server's usage, else by the counter alone */
    const char *count_method;                  /* "server", "tokenizer" or "estimate" */
    struct usage role_usage[MODEL_ROLE_COUNT]; /* sums; unreported parts are estimated and added */
    int64_t role_calls[MODEL_ROLE_COUNT];
    const enum finish_reason *finish_reasons; /* one a completion */
    size_t n_finish_reasons;
    int64_t truncated_responses, truncated_observations, messages_trimmed, format_repairs;
    int64_t quotes, unfound_quotes; /* of summaries, looked for in their pages; of them not found there */
    int64_t elapsed_ms, model_ms, tool_ms;
    double cost_usd;                     /* negative where no price is set */
    const struct result_source *sources; /* in the order they were first seen */
    size_t n_sources;
    struct str served_model;
};

#endif
