/* src/agent/limits.h
 *
 * The arithmetic of protocol.md, "Limits": how much a prompt and a completion may take of a window. Pure functions of
 * plain numbers; all in tokens.
 *
 *     |<------------------------------ window ------------------------------>|
 *     |<- prompt, at most limits_prompt ->|<- cap ->|<- forced answer ->| 512 |
 *
 * A prompt at its limit leaves room for one more completion and, behind that, for the forced answer.
 */
#ifndef FATHOM_AGENT_LIMITS_H
#define FATHOM_AGENT_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/config.h"

/* The model's context window: the known one, or what is taken until it is known. */
int64_t limits_window(const struct session_limits *limits);

/* What one completion may take: the run's cap, or the profile's where the run has none, but at most a quarter of the
 * window. */
int64_t limits_completion(const struct session_limits *limits, int64_t profile_cap);

/* What a prompt may take. Not positive when the window has no room for more than a forced answer. */
int64_t limits_prompt(const struct session_limits *limits, int64_t profile_cap);

/* What the prompt of the forced answer may take: no completion follows it, so it may reach into the room of one. */
int64_t limits_forced_prompt(const struct session_limits *limits);

/* Whether a run may begin although its first prompt is above limits_prompt, as in a tiny window: there is room for a
 * completion of LIMITS_SMALLEST_COMPLETION, an observation of some size and the forced answer. */
bool limits_may_begin(const struct session_limits *limits, int64_t prompt);
#define LIMITS_SMALLEST_COMPLETION 1024

/* The completion cap behind a prompt of `prompt` tokens after `doublings` completions were cut inside thought: doubled
 * that often, as far as the window allows. limits_completion where nothing was cut, or less in a tiny window. */
int64_t limits_grown_completion(const struct session_limits *limits, int64_t profile_cap, int64_t prompt,
                                int doublings);

/* What the forced answer may take behind a prompt of `prompt` tokens: what is left of the window, but no more than a
 * completion may take (doubled `doublings` times) and no less than SESSION_MIN_FORCED_TOKENS. */
int64_t limits_forced_completion(const struct session_limits *limits, int64_t profile_cap, int64_t prompt,
                                 int doublings);

/* The time at which the run is over at the latest: the time limit and the grace of the forced answer. 0 for none. */
int64_t limits_end_ms(const struct session_limits *limits);

#endif
