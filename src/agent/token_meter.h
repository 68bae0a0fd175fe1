/* src/agent/token_meter.h
 *
 * How many tokens the next prompt has, without ever reading old text again.
 *
 * Every message is counted once, when it is appended, by a token_counter (an estimate, or a tokenizer). When a
 * completion ends and the server says how many tokens prompt and completion had, that number replaces the sum for
 * everything up to there; only what was appended since is counted by ourselves, scaled by the ratio of server to own
 * count that this run has shown. The result errs high.
 *
 * With a tokenizer and a known chat template the count is exact instead: at every point what tokenizing the whole
 * prompt from scratch would give, without reading old text again (agent/prompt_count.h). What the server reports is
 * compared with it, and what it adds beyond the template, such as a line with the date, is learnt from the difference.
 *
 * The meter also finds out what the server's template makes of earlier thought (some drop it), whether a server reports
 * only the tokens it did not have in its cache, and whether it silently cuts prompts that are too long for its window.
 *
 * Plain data on the caller's memory, one thread at a time.
 */
#ifndef FATHOM_AGENT_TOKEN_METER_H
#define FATHOM_AGENT_TOKEN_METER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/str.h"
#include "protocol/generation.h"

struct prompt_count;
struct prompt_count_options;
struct tokenizer;

/* Counts tokens of text. Implementations embed this as their first member. Stateless to its users: message boundaries
 * are special tokens to every model, so messages are counted one by one and summed. */
struct token_counter {
    const char *method; /* "estimate" or "tokenizer", as in the result */
    bool exact;         /* what it says is what the model sees, but for the template: no scaling */

    /* `least` gets what the count may be at the least if the model's vocabulary is another one; the count itself for an
     * exact counter. */
    int64_t (*count)(const struct token_counter *counter, struct str text, int64_t *least);

    size_t (*fit)(const struct token_counter *counter, struct str text, int64_t tokens); /* longest prefix, in bytes */
    void (*destroy)(struct token_counter *counter); /* NULL where nothing is to free */
    const struct tokenizer *tokenizer;              /* NULL for an estimate */
};

/* The estimate of text/token_estimate.h. Static. */
const struct token_counter *token_counter_estimate(void);

/* By a tokenizer, which must outlive the counter. What stands in a text as a special token counts as that token. */
struct token_counter *token_counter_create(const struct tokenizer *tokenizer);

/* NULL and the static estimate are allowed. */
void token_counter_destroy(struct token_counter *counter);

/* Sums over messages, in tokens. */
struct token_sum {
    int64_t messages;
    int64_t content, thought; /* own count, unscaled; thought is that of assistant messages */
    int64_t least_content, least_thought;
};

struct token_meter {
    const struct token_counter *counter;
    int64_t message_overhead, prompt_overhead; /* tokens of the template: per message, and per prompt */
    bool history_without_thought;              /* our own view leaves earlier thought out */

    struct token_sum all;   /* of every message */
    struct token_sum last;  /* of the last one */
    struct token_sum asked; /* `all` when the prompt under way was sent */
    /* What came behind the text that server_prompt covers: tokens counted by the server, by us (unscaled), messages;
     * and the same three when the prompt under way was sent. */
    int64_t since_exact, since_owned, since_messages;
    int64_t asked_exact, asked_owned, asked_messages;

    int64_t last_own;              /* our unscaled count of the text of the prompt that was reported last */
    int64_t mark_report, mark_own; /* a report, usable or not, and our count, that later ones are compared with */
    int64_t server_prompt;         /* the last usable report; -1 before the first */
    double ratio;                  /* server to own count, as learnt, with a margin; 1 at first */
    bool thought_kept;             /* a report has shown that the server's template keeps earlier thought */
    bool thought_dropped;          /* or leaves it out */
    bool uncached_only;            /* it reports only what it had not cached: its numbers are not used */
    int64_t cut_own, cut_server;   /* the counts that showed a silent cut; 0 where there was none */

    int64_t asked_prompt; /* our count of the prompt under way; -1 before the first */
    int64_t compared;     /* the same once `server_prompt` is the report of that prompt, else -1 */

    struct prompt_count *exact;          /* NULL: by the sums above */
    int64_t adjust;                      /* what the server counts beyond it, as reported last */
    int64_t bytes, thought_bytes;        /* of all messages */
    int64_t last_bytes;                  /* of the last one */
    int64_t asked_bytes, asked_thoughts; /* when the prompt under way was sent */
};

/* `counter` must outlive the meter. Overheads as given by protocol/template.h. `history_without_thought`: the prompt
 * view drops thought of earlier turns. */
void token_meter_init(struct token_meter *meter, const struct token_counter *counter, int64_t message_overhead,
                      int64_t prompt_overhead, bool history_without_thought);

/* From now on prompts are counted exactly. Call it before the first message; `counter` is one of token_counter_create.
 */
void token_meter_count_exactly(struct token_meter *meter, const struct prompt_count_options *options);

void token_meter_finish(struct token_meter *meter);

/* Each of the next three is called once the transcript has the message. */

/* A system or user message was appended to the transcript: its plain text. */
void token_meter_append(struct token_meter *meter, struct str text);

/* The model's message was appended: its thought and the rest, plain. `completion_tokens` is the server's count of
 * exactly this text, -1 where it gave none or the text was cut by ourselves. */
void token_meter_append_completion(struct token_meter *meter, struct str thought, struct str rest,
                                   int64_t completion_tokens);

/* The last message, a user's, has another text now (it was shortened, or a demand was put in). */
void token_meter_replace_last(struct token_meter *meter, struct str text);

/* A prompt of all messages so far is being sent. */
void token_meter_asked(struct token_meter *meter);

/* The reply to that prompt reported `usage`. Dropped completions may be reported too: they were prompts all the same.
 */
void token_meter_reported(struct token_meter *meter, const struct usage *usage);

/* From now on requests send thought in a field of its own, which an exact count has to know. */
void token_meter_thought_field(struct token_meter *meter);

/* Tokens of a prompt of all messages so far, generation prompt included. */
int64_t token_meter_prompt(const struct token_meter *meter);

/* The same if the last message, a user's, had another text. */
int64_t token_meter_prompt_with_last(const struct token_meter *meter, struct str text);

/* Whether every count is exact. */
bool token_meter_is_exact(const struct token_meter *meter);

/* Our own count of the prompt that was sent last, as it was before the report, and what the server reported. With an
 * exact count their difference is what the server adds beyond the template, or what is not as we think it is. False
 * while there is no report that can be used. */
bool token_meter_compared(const struct token_meter *meter, int64_t *own, int64_t *server);

/* What that number rests on: "server" where it is a server's report with what came since, else the counter's method.
 * With an exact count it is always the counter's. */
const char *token_meter_method(const struct token_meter *meter);

/* The server reported less than 85 % of what was sent, and neither dropped thought nor a cache explains it: it cuts
 * prompts silently. `own` and `server` (may be NULL) get the counts that showed it. */
bool token_meter_is_cut(const struct token_meter *meter, int64_t *own, int64_t *server);

/* Tokens of a text by this run's scale, without a message around it. */
int64_t token_meter_count(const struct token_meter *meter, struct str text);

/* How many bytes of `text` fit into `tokens`, cut between characters. */
size_t token_meter_fit(const struct token_meter *meter, struct str text, int64_t tokens);

#endif
