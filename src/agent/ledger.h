/* src/agent/ledger.h
 *
 * What a run has used so far: tokens by model role, completions and how they ended, and what that costs.
 *
 * Plain data on the caller's memory. A zeroed ledger is empty.
 */
#ifndef FATHOM_AGENT_LEDGER_H
#define FATHOM_AGENT_LEDGER_H

#include <stddef.h>
#include <stdint.h>

#include "protocol/generation.h"

struct ledger {
    struct usage role_usage[MODEL_ROLE_COUNT]; /* sums */
    int64_t role_calls[MODEL_ROLE_COUNT];
    enum finish_reason *reasons; /* of the agent's completions, in order */
    size_t n_reasons, reasons_capacity;
};

/* NULL and zeroed are allowed. */
void ledger_finish(struct ledger *ledger);

/* Adds `calls` completions of a role with their usage together; what is unknown (-1) counts as 0. */
void ledger_add(struct ledger *ledger, enum model_role role, const struct usage *usage, int64_t calls);

/* Notes how one of the agent's completions ended. */
void ledger_add_reason(struct ledger *ledger, enum finish_reason reason);

/* Prompt and completion tokens of all roles together. */
int64_t ledger_tokens(const struct ledger *ledger);

/* What is known to have been spent, in USD: roles without a price count as nothing. `price` has MODEL_ROLE_COUNT. */
double ledger_spent(const struct ledger *ledger, const struct model_price *price);

/* The cost of the run in USD, or a negative number where a role that was used, or the agent, has no price. */
double ledger_cost(const struct ledger *ledger, const struct model_price *price);

#endif
