#include "agent/ledger.h"

#include <stdlib.h>

#include "core/mem.h"

void ledger_finish(struct ledger *ledger)
{
    if (!ledger)
        return;
    free(ledger->reasons);
    *ledger = (struct ledger){0};
}

/* Saturates: servers report what they like. */
static void add(int64_t *sum, int64_t tokens)
{
    if (tokens > 0 && __builtin_add_overflow(*sum, tokens, sum))
        *sum = INT64_MAX;
}

void ledger_add(struct ledger *ledger, enum model_role role, const struct usage *usage, int64_t calls)
{
    struct usage *sum = &ledger->role_usage[role];
    add(&sum->prompt, usage->prompt);
    add(&sum->completion, usage->completion);
    add(&sum->cached, usage->cached);
    add(&sum->reasoning, usage->reasoning);
    add(&ledger->role_calls[role], calls);
}

void ledger_add_reason(struct ledger *ledger, enum finish_reason reason)
{
    ledger->reasons = mem_grow(ledger->reasons, ledger->n_reasons, &ledger->reasons_capacity, sizeof *ledger->reasons);
    ledger->reasons[ledger->n_reasons++] = reason;
}

int64_t ledger_tokens(const struct ledger *ledger)
{
    int64_t sum = 0;
    for (size_t role = 0; role < MODEL_ROLE_COUNT; role++) {
        add(&sum, ledger->role_usage[role].prompt);
        add(&sum, ledger->role_usage[role].completion);
    }
    return sum;
}

double ledger_spent(const struct ledger *ledger, const struct model_price *price)
{
    double spent = 0;
    for (size_t role = 0; role < MODEL_ROLE_COUNT; role++) {
        double cost = model_cost(&price[role], &ledger->role_usage[role]);
        if (cost > 0)
            spent += cost;
    }
    return spent;
}

double ledger_cost(const struct ledger *ledger, const struct model_price *price)
{
    for (size_t role = 0; role < MODEL_ROLE_COUNT; role++) {
        bool used = role == MODEL_AGENT || ledger->role_calls[role] > 0 || ledger->role_usage[role].prompt > 0;
        if (used && model_cost(&price[role], &ledger->role_usage[role]) < 0)
            return -1;
    }
    return ledger_spent(ledger, price);
}
