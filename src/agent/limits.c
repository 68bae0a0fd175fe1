#include "agent/limits.h"

/* What a count may be off by, and the template's own tokens; part of SESSION_WINDOW_RESERVE. */
#define WINDOW_SLACK (SESSION_WINDOW_RESERVE - SESSION_MIN_FORCED_TOKENS)

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Stops short of overflow: no window is this large. */
static int64_t doubled(int64_t tokens, int times)
{
    for (; times > 0 && tokens < INT64_MAX / 4; times--)
        tokens *= 2;
    return tokens;
}

void session_limits_init(struct session_limits *limits)
{
    *limits = (struct session_limits){
        .max_calls = SESSION_DEFAULT_MAX_CALLS,
        .context_tokens = SESSION_DEFAULT_CONTEXT_LIMIT,
        .time_ms = SESSION_DEFAULT_TIME_LIMIT_MS,
        .grace_ms = SESSION_DEFAULT_GRACE_MS,
        .observation_tokens = SESSION_DEFAULT_OBSERVATION_TOKENS,
        .answer_tries = SESSION_ANSWER_TRIES,
    };
}

int64_t limits_window(const struct session_limits *limits)
{
    return limits->window_tokens > 0 ? limits->window_tokens : SESSION_DEFAULT_WINDOW;
}

static int64_t wanted_completion(const struct session_limits *limits, int64_t profile_cap)
{
    return limits->max_tokens > 0 ? limits->max_tokens : profile_cap;
}

int64_t limits_completion(const struct session_limits *limits, int64_t profile_cap)
{
    return larger(1, smaller(wanted_completion(limits, profile_cap), limits_window(limits) / 4));
}

int64_t limits_prompt(const struct session_limits *limits, int64_t profile_cap)
{
    int64_t room = limits_window(limits) - limits_completion(limits, profile_cap) - SESSION_WINDOW_RESERVE;
    return smaller(limits->context_tokens, room);
}

int64_t limits_forced_prompt(const struct session_limits *limits)
{
    return smaller(limits->context_tokens, limits_window(limits) - SESSION_WINDOW_RESERVE);
}

bool limits_may_begin(const struct session_limits *limits, int64_t prompt)
{
    return prompt + LIMITS_SMALLEST_COMPLETION <= limits_forced_prompt(limits);
}

int64_t limits_grown_completion(const struct session_limits *limits, int64_t profile_cap, int64_t prompt, int doublings)
{
    int64_t cap = doubled(limits_completion(limits, profile_cap), doublings);
    return larger(1, smaller(cap, limits_window(limits) - prompt - SESSION_WINDOW_RESERVE));
}

int64_t limits_forced_completion(const struct session_limits *limits, int64_t profile_cap, int64_t prompt,
                                 int doublings)
{
    int64_t left = limits_window(limits) - prompt - WINDOW_SLACK;
    int64_t wanted = doubled(larger(wanted_completion(limits, profile_cap), SESSION_MIN_FORCED_TOKENS), doublings);
    return larger(SESSION_MIN_FORCED_TOKENS, smaller(left, wanted));
}

int64_t limits_end_ms(const struct session_limits *limits)
{
    return limits->time_ms > 0 ? limits->time_ms + larger(limits->grace_ms, 0) : 0;
}
