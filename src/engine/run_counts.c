/* The server's count of each prompt beside ours, and whether ours is what it says. */
#include "agent/token_meter.h"
#include "core/utf8.h"
#include "engine/internal.h"
#include "text/tokenizer/tokenizer.h"

#include <stdio.h>

/* A tokenizer that is the server's is right to the token but for what the template adds, which is not always known. */
#define TOLERATED_SHARE  0.02
#define TOLERATED_TOKENS 32

/* Prompts in a row before it is said. */
#define TELLING_PROMPTS 3

#define SHOWN_PATTERN 200 /* bytes */

static void warn(struct run *run, const struct notice *notice)
{
    char text[400];
    snprintf(text, sizeof text,
             "the tokenizer counts %lld tokens where the server counts %lld, so it is not the tokenizer of the model "
             "that is served, or the chat template is another: give the folder of that very model (--tokenizer), or "
             "leave the tokenizer out to go by the server's counts",
             (long long)notice->counted_tokens, (long long)notice->reported_tokens);
    run->counts.warned = true;
    run_notice(run, NOTICE_RETRY, "tokenizer", str_of(text));
}

void run_compare_counts(struct run *run, const struct notice *notice)
{
    struct run_counts *counts = &run->counts;
    int64_t difference = notice->reported_tokens - notice->counted_tokens;
    int64_t distance = difference < 0 ? -difference : difference;
    double tolerated = TOLERATED_SHARE * (double)notice->reported_tokens + TOLERATED_TOKENS;
    counts->compared++;
    if (distance > counts->largest)
        counts->largest = distance;
    const struct token_counter *counter = run->options.config.counter;
    bool off = counter && counter->exact && (double)distance > tolerated;
    counts->off = off ? counts->off + 1 : 0;
    if (counts->off >= TELLING_PROMPTS && !counts->warned)
        warn(run, notice);
}

void run_check_counter(struct run *run)
{
    const struct token_counter *counter = run->options.config.counter;
    struct str pattern;
    if (run->counts.told_inexact || !counter || !counter->tokenizer || !tokenizer_gave_up(counter->tokenizer, &pattern))
        return;
    char text[400];
    snprintf(
        text, sizeof text,
        "the counts are not exact: a pattern of the tokenizer needs too many tries on texts of this process: %.*s%s",
        (int)utf8_floor(pattern, SHOWN_PATTERN), pattern.data, pattern.len > SHOWN_PATTERN ? "\xE2\x80\xA6" : "");
    run->counts.told_inexact = true;
    run_notice(run, NOTICE_RETRY, "tokenizer", str_of(text));
}
