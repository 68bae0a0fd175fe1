/* src/cli/progress.h
 *
 * How a run looks while it goes on, as text: pure functions from what is known to lines of a given width. Tool
 * arguments and results come from models and pages; every line that leaves here is clean (cli/terminal.h).
 */
#ifndef FATHOM_CLI_PROGRESS_H
#define FATHOM_CLI_PROGRESS_H

#include <stddef.h>
#include <stdint.h>

#include "agent/session.h"
#include "core/buf.h"
#include "core/json.h"
#include "core/str.h"

/* Where a run stands. */
struct progress {
    int64_t round;
    int64_t model_calls, max_calls;
    int64_t context_tokens, context_limit;
    int64_t elapsed_ms, time_limit_ms; /* limit 0: none */
    double cost_usd;                   /* negative where no price is set */
    const char *activity;              /* "thinking", "search, visit"; NULL for none */
};

/* Appends the live line, at most `columns` wide: as many of its parts as fit, the least telling go first. */
void progress_line(const struct progress *progress, size_t columns, struct buf *out);

/* Appends "search "first query", "second query"": a call as one line. `arguments` may be NULL. */
void progress_call(const char *name, const json_t *arguments, struct str code, size_t columns, struct buf *out);

/* Appends "search: 20 sources, 3.1 KB in 1.2 s", or how it failed and the first line of what the model was told. */
void progress_result(const struct notice *notice, size_t columns, struct buf *out);

/* Appends 950, 12.3k, 110k, 1.2M (binary multiples); 0:05, 1:23, 2:30:00; 12 B, 3.1 KB. */
void progress_add_tokens(struct buf *out, int64_t tokens);
void progress_add_time(struct buf *out, int64_t milliseconds);
void progress_add_bytes(struct buf *out, size_t bytes);

#endif
