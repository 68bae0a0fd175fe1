/* What counts texts for the token meter: an estimate, or a tokenizer. */
#include <stdlib.h>

#include "agent/token_meter.h"
#include "core/mem.h"
#include "text/token_estimate.h"
#include "text/tokenizer/tokenizer.h"

static int64_t estimate_count(const struct token_counter *counter, struct str text, int64_t *least)
{
    (void)counter;
    struct token_estimate estimate;
    token_estimate_init(&estimate);
    token_estimate_feed(&estimate, text);
    *least = token_estimate_least(&estimate);
    return token_estimate_count(&estimate);
}

static size_t estimate_fit(const struct token_counter *counter, struct str text, int64_t tokens)
{
    (void)counter;
    return token_estimate_fit(text, tokens);
}

const struct token_counter *token_counter_estimate(void)
{
    static const struct token_counter counter = {"estimate", false, estimate_count, estimate_fit, NULL, NULL};
    return &counter;
}

static int64_t tokenizer_counter_count(const struct token_counter *counter, struct str text, int64_t *least)
{
    return *least = tokenizer_count(counter->tokenizer, text, 0);
}

static size_t tokenizer_counter_fit(const struct token_counter *counter, struct str text, int64_t tokens)
{
    return tokenizer_fit(counter->tokenizer, text, 0, tokens);
}

static void tokenizer_counter_destroy(struct token_counter *counter)
{
    free(counter);
}

struct token_counter *token_counter_create(const struct tokenizer *tokenizer)
{
    struct token_counter *counter = mem_zalloc(sizeof *counter);
    *counter = (struct token_counter){
        "tokenizer", true, tokenizer_counter_count, tokenizer_counter_fit, tokenizer_counter_destroy, tokenizer};
    return counter;
}

void token_counter_destroy(struct token_counter *counter)
{
    if (counter && counter->destroy)
        counter->destroy(counter);
}
