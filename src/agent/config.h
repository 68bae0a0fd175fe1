/* src/agent/config.h
 *
 * What a session is told before it begins: limits, sampling, policy. Plain values; strings are copied by
 * session_create.
 */
#ifndef FATHOM_AGENT_CONFIG_H
#define FATHOM_AGENT_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "core/str.h"
#include "protocol/generation.h"

struct chat_template; /* protocol/template.h */
struct profile;
struct token_counter; /* agent/token_meter.h */

#define SESSION_DEFAULT_MAX_CALLS          100
#define SESSION_DEFAULT_CONTEXT_LIMIT      (110LL * 1024)
#define SESSION_DEFAULT_WINDOW             (128LL * 1024)
#define SESSION_DEFAULT_TIME_LIMIT_MS      (150LL * 60 * 1000)
#define SESSION_DEFAULT_GRACE_MS           (120LL * 1000)
#define SESSION_DEFAULT_OBSERVATION_TOKENS 32000
#define SESSION_MIN_FORCED_TOKENS          4096
#define SESSION_WINDOW_RESERVE             4608 /* the forced answer, and 512 tokens for what the count may be off */
#define SESSION_ANSWER_TRIES               6

struct session_limits {
    int64_t max_calls;          /* accepted completions; the last is the forced answer. >= 1 */
    int64_t context_tokens;     /* prompt limit before the window is looked at */
    int64_t window_tokens;      /* the model's context window; 0 while unknown (then SESSION_DEFAULT_WINDOW) */
    int64_t time_ms;            /* wall time of the run; 0 for none */
    int64_t grace_ms;           /* what the forced answer gets past time_ms */
    int64_t max_tokens;         /* completion cap; 0 takes the profile's */
    int64_t total_tokens;       /* prompt + completion over the run; 0 for none */
    double max_cost_usd;        /* 0 for none */
    int64_t observation_tokens; /* cap of one observation */
    int64_t answer_tries;       /* dropped completions in a row that force the answer; protocol.md: 6 */
};

struct session_config {
    struct str run_id;
    struct str date;               /* "2026-03-01", for the prompt */
    const struct profile *profile; /* must outlive the session */
    struct session_limits limits;
    bool reopen_thought;      /* /v1/completions: our template opens `<think>` (protocol/prompt_view.h) */
    struct sampling sampling; /* what the user set; the profile's values fill the rest */
    struct model_price price[MODEL_ROLE_COUNT]; /* as zeroed: free of charge; negative: unset */
    const struct token_counter *counter;        /* must outlive the session; NULL takes the estimate */
    const struct chat_template *chat_template;  /* how prompts are written: by us for /v1/completions, else by the chat
                                                   server. NULL where that is not known. Must outlive the session. With
                                                   it  and a tokenizer for `counter` prompts are counted exactly */
    bool completions;                      /* /v1/completions: `chat_template` is what our requests are written in */
    bool template_bos;                     /* with `completions`: as in struct template_options */
    int64_t message_tokens, prompt_tokens; /* where there is no exact count, what the template adds:
                                              template_message_tokens, template_prompt_tokens; 0 takes those of
                                              `chat_template`, without it what is safe for a chat server */
};

/* The limits of protocol.md. */
void session_limits_init(struct session_limits *limits);

#endif
