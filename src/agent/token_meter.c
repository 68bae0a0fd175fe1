#include "agent/token_meter.h"

#include "agent/prompt_count.h"
#include "core/utf8.h"

/* protocol.md: a server that reports less than this share of our count cuts the prompt. */
#define CUT_SHARE 0.85

/* No server's window is smaller, so a smaller prompt is never cut. */
#define SMALLEST_WINDOW 2000

/* Smaller reports are made up, or count a part only: no server has so small a window. */
#define SMALLEST_REPORT 1024

/* Reports below CUT_SHARE that grow as the prompts do come from another vocabulary (or a rough guess of the server's),
 * not from a cut. What was added must be this much to tell, and the report must have grown by this share of it. */
#define TELLING_TOKENS 200
#define GROWTH_SHARE   0.35

/* A first report has nothing to have grown from: below this share no vocabulary explains it. */
#define FIRST_SHARE 0.45

/* Text that the learnt ratio should rest on, in tokens; and how far it may go. */
#define RATIO_MIN_TEXT 400
#define RATIO_MIN      0.85
#define RATIO_MAX      3.0

void token_meter_init(struct token_meter *meter, const struct token_counter *counter, int64_t message_overhead,
                      int64_t prompt_overhead, bool history_without_thought)
{
    *meter = (struct token_meter){
        .counter = counter,
        .message_overhead = message_overhead,
        .prompt_overhead = prompt_overhead,
        .history_without_thought = history_without_thought,
        .server_prompt = -1,
        .ratio = 1,
        .asked_prompt = -1,
        .compared = -1,
    };
}

void token_meter_count_exactly(struct token_meter *meter, const struct prompt_count_options *options)
{
    meter->exact = prompt_count_create(options);
}

void token_meter_finish(struct token_meter *meter)
{
    prompt_count_destroy(meter->exact);
    meter->exact = NULL;
}

/* Whether earlier thought is in the prompts that the model sees, as far as is known. */
static bool sees_thought(const struct token_meter *meter)
{
    return !meter->history_without_thought && !meter->thought_dropped;
}

static void add(struct token_meter *meter, const struct token_sum *sum)
{
    meter->all.messages += sum->messages;
    meter->all.content += sum->content;
    meter->all.thought += sum->thought;
    meter->all.least_content += sum->least_content;
    meter->all.least_thought += sum->least_thought;
}

/* A message of these bytes is new in the transcript, or `taken` bytes of the last one were replaced. */
static void changed(struct token_meter *meter, size_t taken, size_t bytes, size_t thought_bytes)
{
    meter->bytes += (int64_t)bytes - (int64_t)taken;
    meter->thought_bytes += (int64_t)thought_bytes;
    meter->last_bytes = (int64_t)bytes;
    prompt_count_changed(meter->exact);
}

void token_meter_append(struct token_meter *meter, struct str text)
{
    if (meter->exact) {
        changed(meter, 0, text.len, 0);
        return;
    }
    meter->last = (struct token_sum){.messages = 1};
    meter->last.content = meter->counter->count(meter->counter, text, &meter->last.least_content);
    add(meter, &meter->last);
    meter->since_owned += meter->last.content;
    meter->since_messages++;
}

void token_meter_append_completion(struct token_meter *meter, struct str thought, struct str rest,
                                   int64_t completion_tokens)
{
    if (meter->exact) {
        changed(meter, 0, thought.len + rest.len, thought.len);
        return;
    }
    struct token_sum sum = {.messages = 1};
    sum.content = meter->counter->count(meter->counter, rest, &sum.least_content);
    sum.thought = meter->counter->count(meter->counter, thought, &sum.least_thought);
    meter->last = sum;
    add(meter, &sum);
    meter->since_messages++;
    bool whole = sum.thought == 0 || sees_thought(meter);
    if (whole && completion_tokens >= 0)
        meter->since_exact += completion_tokens;
    else
        meter->since_owned += sum.content + (whole ? sum.thought : 0);
}

void token_meter_replace_last(struct token_meter *meter, struct str text)
{
    if (meter->exact) {
        changed(meter, (size_t)meter->last_bytes, text.len, 0);
        return;
    }
    int64_t before = meter->last.content, least_before = meter->last.least_content;
    meter->last.content = meter->counter->count(meter->counter, text, &meter->last.least_content);
    meter->all.content += meter->last.content - before;
    meter->all.least_content += meter->last.least_content - least_before;
    meter->since_owned += meter->last.content - before;
}

void token_meter_asked(struct token_meter *meter)
{
    meter->asked_prompt = meter->exact ? prompt_count_total(meter->exact) : token_meter_prompt(meter);
    meter->compared = -1;
    meter->asked_bytes = meter->bytes;
    meter->asked_thoughts = meter->thought_bytes;
    meter->asked = meter->all;
    meter->asked_exact = meter->since_exact;
    meter->asked_owned = meter->since_owned;
    meter->asked_messages = meter->since_messages;
}

static int64_t overhead(const struct token_meter *meter, int64_t messages)
{
    return messages * meter->message_overhead + meter->prompt_overhead;
}

static int64_t scaled(const struct token_meter *meter, int64_t tokens)
{
    double product = (double)tokens * meter->ratio;
    return (int64_t)product + (product > (double)(int64_t)product);
}

/* A prompt of everything in `sum`, by our own count. */
static int64_t own_prompt(const struct token_meter *meter, const struct token_sum *sum, bool with_thought)
{
    return overhead(meter, sum->messages) + scaled(meter, sum->content + (with_thought ? sum->thought : 0));
}

static int64_t not_negative(int64_t tokens)
{
    return tokens > 0 ? tokens : 0;
}

int64_t token_meter_prompt(const struct token_meter *meter)
{
    if (meter->exact)
        return not_negative(prompt_count_total(meter->exact) + meter->adjust);
    if (meter->server_prompt < 0)
        return own_prompt(meter, &meter->all, sees_thought(meter));
    int64_t tokens = meter->server_prompt + meter->since_exact + scaled(meter, meter->since_owned) +
                     meter->since_messages * meter->message_overhead;
    return not_negative(tokens);
}

int64_t token_meter_prompt_with_last(const struct token_meter *meter, struct str text)
{
    if (meter->exact)
        return not_negative(prompt_count_with_last(meter->exact, text) + meter->adjust);
    struct token_meter changed = *meter;
    token_meter_replace_last(&changed, text);
    return token_meter_prompt(&changed);
}

bool token_meter_is_exact(const struct token_meter *meter)
{
    return meter->exact != NULL;
}

bool token_meter_compared(const struct token_meter *meter, int64_t *own, int64_t *server)
{
    if (meter->compared < 0)
        return false;
    *own = meter->compared;
    *server = meter->server_prompt;
    return true;
}

static int64_t distance(int64_t a, int64_t b)
{
    return a > b ? a - b : b - a;
}

/* Finds out from a report of `prompt` tokens whether earlier thought was among them. Says nothing while there is too
 * little of it to tell. */
static void learn_thought(struct token_meter *meter, int64_t prompt)
{
    int64_t with = own_prompt(meter, &meter->asked, true), without = own_prompt(meter, &meter->asked, false);
    if (meter->history_without_thought || with - without < 100 || (with - without) * 20 < with)
        return;
    meter->thought_dropped = distance(prompt, without) < distance(prompt, with);
    meter->thought_kept = !meter->thought_dropped;
}

/* The least that a server can report for the prompt that was sent without having cut it. */
static int64_t least_prompt(const struct token_meter *meter)
{
    return meter->asked.least_content + (meter->thought_kept && sees_thought(meter) ? meter->asked.least_thought : 0);
}

static bool is_near(int64_t tokens, int64_t expected)
{
    return distance(tokens, expected) <= 64 + expected / 8;
}

/* Our unscaled count of the text of the prompt that was sent. */
static int64_t own_text(const struct token_meter *meter)
{
    return meter->asked.content + meter->asked.thought;
}

/* Whether a report that is much too small fits what was added since the last prompt, with or without the completion:
 * then the server counts only what its cache did not have. */
static bool is_uncached_part(const struct token_meter *meter, int64_t prompt)
{
    if (meter->server_prompt < 0)
        return false;
    int64_t around = meter->message_overhead + meter->prompt_overhead;
    return is_near(prompt, meter->last.content + around) || is_near(prompt, own_text(meter) - meter->last_own + around);
}

enum judgement { JUDGED_FINE, JUDGED_CUT, JUDGED_LATER };

/* What a report below CUT_SHARE means. */
static enum judgement judge_small_report(const struct token_meter *meter, int64_t prompt, int64_t least)
{
    if (meter->mark_report == 0)
        return (double)prompt < FIRST_SHARE * (double)least ? JUDGED_CUT : JUDGED_FINE;
    int64_t added = own_text(meter) - meter->mark_own;
    if (added < TELLING_TOKENS)
        return JUDGED_LATER;
    return (double)(prompt - meter->mark_report) >= GROWTH_SHARE * (double)added ? JUDGED_FINE : JUDGED_CUT;
}

static void compare(struct token_meter *meter, int64_t prompt)
{
    meter->compared = meter->asked_prompt;
    meter->server_prompt = prompt;
}

/* ---- reports beside an exact count ---- */

/* No more than a template writes that is another than we think, or a line that the server puts in. */
static bool agrees(int64_t tokens, int64_t expected)
{
    return distance(tokens, expected) <= 64 + expected / 64;
}

/* What of the prompt that was sent was thought of earlier turns, by its share of the text. */
static int64_t asked_thought_tokens(const struct token_meter *meter)
{
    if (meter->asked_bytes <= 0)
        return 0;
    return (int64_t)((double)meter->asked_prompt * (double)meter->asked_thoughts / (double)meter->asked_bytes);
}

/* Some servers are sent thought in a field of its own, which nothing but their reports shows. */
static void learn_thought_field(struct token_meter *meter, int64_t prompt)
{
    bool before = prompt_count_thought_field(meter->exact);
    if (prompt == meter->asked_prompt + meter->adjust || prompt_count_total(meter->exact) != meter->asked_prompt)
        return;
    prompt_count_set_thought_field(meter->exact, !before);
    int64_t other = prompt_count_total(meter->exact);
    if (other != meter->asked_prompt && (prompt == other || prompt == other + meter->adjust))
        meter->asked_prompt = other;
    else
        prompt_count_set_thought_field(meter->exact, before);
}

/* Whether a report much below `expected` can be true: the server has left thought out, or counts by another rule. */
static enum judgement judge_exact(const struct token_meter *meter, int64_t prompt, int64_t expected)
{
    int64_t thought = meter->thought_kept ? 0 : asked_thought_tokens(meter);
    if (prompt >= expected - thought - thought / 4 - 64)
        return JUDGED_FINE;
    if (expected < SMALLEST_WINDOW || prompt < SMALLEST_REPORT)
        return JUDGED_LATER;
    if (meter->mark_report == 0)
        return (double)prompt < FIRST_SHARE * (double)(expected - thought) ? JUDGED_CUT : JUDGED_FINE;
    int64_t added = meter->asked_prompt - meter->mark_own;
    if (added < TELLING_TOKENS)
        return JUDGED_LATER;
    return (double)(prompt - meter->mark_report) >= GROWTH_SHARE * (double)added ? JUDGED_FINE : JUDGED_CUT;
}

static bool is_uncached_of_exact(const struct token_meter *meter, int64_t prompt)
{
    int64_t added = meter->asked_prompt - meter->last_own;
    return meter->last_own > 0 && added > 0 && distance(prompt, added) <= 64 + added / 8;
}

/* What a report says of the tokens of the prompt that was sent; 0 when it cannot be used. */
static int64_t usable_of_exact(struct token_meter *meter, const struct usage *usage)
{
    int64_t prompt = usage->prompt, whole = prompt + (usage->cached > 0 ? usage->cached : 0),
            expected = meter->asked_prompt + meter->adjust;
    if (agrees(prompt, expected) || (prompt > expected && !meter->uncached_only))
        return prompt;
    if (agrees(whole, expected))
        return whole; /* the server counts cached tokens apart */
    if (meter->uncached_only || is_uncached_of_exact(meter, prompt)) {
        meter->uncached_only = true;
        return 0;
    }
    enum judgement judgement = judge_exact(meter, prompt, expected);
    if (judgement == JUDGED_CUT) {
        meter->cut_own = meter->asked_prompt;
        meter->cut_server = prompt;
    }
    return judgement == JUDGED_FINE ? prompt : 0;
}

static void report_beside_exact(struct token_meter *meter, const struct usage *usage)
{
    learn_thought_field(meter, usage->prompt);
    int64_t prompt = usable_of_exact(meter, usage), thought = asked_thought_tokens(meter);
    meter->last_own = meter->asked_prompt;
    if (meter->mark_report == 0 || meter->last_own - meter->mark_own >= TELLING_TOKENS) {
        meter->mark_report = usage->prompt;
        meter->mark_own = meter->last_own;
    }
    if (prompt == 0)
        return;
    compare(meter, prompt);
    meter->adjust = prompt - meter->asked_prompt;
    if (thought > 2 * distance(meter->adjust, 0) && thought > 200)
        meter->thought_kept = true;
}

/* ---- reports beside an estimate ---- */

static void learn_ratio(struct token_meter *meter)
{
    int64_t own = meter->asked.content + (sees_thought(meter) ? meter->asked.thought : 0);
    int64_t server = meter->server_prompt - overhead(meter, meter->asked.messages);
    if (meter->counter->exact || own < RATIO_MIN_TEXT)
        return;
    double ratio = (double)server / (double)own;
    /* What comes next may be of another kind than what was measured, so that a gain is only half trusted. */
    ratio = ratio > 1 ? ratio * 1.02 : 1 - (1 - ratio) / 2;
    meter->ratio = ratio < RATIO_MIN ? RATIO_MIN : ratio > RATIO_MAX ? RATIO_MAX : ratio;
}

/* What a report says of the tokens of the prompt that was sent; 0 when it cannot be used. */
static int64_t usable_tokens(struct token_meter *meter, const struct usage *usage)
{
    int64_t prompt = usage->prompt, whole = prompt + (usage->cached > 0 ? usage->cached : 0),
            least = least_prompt(meter);
    if ((double)prompt >= CUT_SHARE * (double)least)
        return meter->uncached_only ? 0 : prompt;
    if ((double)whole >= CUT_SHARE * (double)least)
        return whole; /* the server counts cached tokens apart */
    if (is_uncached_part(meter, prompt)) {
        meter->uncached_only = true;
        return 0;
    }
    if (least < SMALLEST_WINDOW || prompt < SMALLEST_REPORT)
        return 0; /* some of it may have been in the cache before this run */
    enum judgement judgement = judge_small_report(meter, prompt, least);
    if (judgement == JUDGED_CUT) {
        meter->cut_own = own_prompt(meter, &meter->asked, meter->thought_kept);
        meter->cut_server = prompt;
    }
    return judgement == JUDGED_FINE ? prompt : 0;
}

void token_meter_reported(struct token_meter *meter, const struct usage *usage)
{
    if (usage->prompt <= 0 || meter->asked_prompt < 0)
        return;
    if (meter->exact) {
        report_beside_exact(meter, usage);
        return;
    }
    int64_t prompt = usable_tokens(meter, usage);
    meter->last_own = own_text(meter);
    if (meter->mark_report == 0 || meter->last_own - meter->mark_own >= TELLING_TOKENS) {
        meter->mark_report = usage->prompt;
        meter->mark_own = meter->last_own;
    }
    if (prompt == 0)
        return;
    learn_thought(meter, prompt);
    compare(meter, prompt);
    meter->since_exact -= meter->asked_exact;
    meter->since_owned -= meter->asked_owned;
    meter->since_messages -= meter->asked_messages;
    meter->asked_exact = meter->asked_owned = meter->asked_messages = 0;
    learn_ratio(meter);
}

void token_meter_thought_field(struct token_meter *meter)
{
    if (meter->exact)
        prompt_count_set_thought_field(meter->exact, true);
}

const char *token_meter_method(const struct token_meter *meter)
{
    return meter->exact || meter->server_prompt < 0 || meter->uncached_only ? meter->counter->method : "server";
}

bool token_meter_is_cut(const struct token_meter *meter, int64_t *own, int64_t *server)
{
    if (meter->cut_server == 0)
        return false;
    if (own)
        *own = meter->cut_own;
    if (server)
        *server = meter->cut_server;
    return true;
}

int64_t token_meter_count(const struct token_meter *meter, struct str text)
{
    int64_t least;
    return scaled(meter, meter->counter->count(meter->counter, text, &least));
}

size_t token_meter_fit(const struct token_meter *meter, struct str text, int64_t tokens)
{
    if (tokens <= 0)
        return 0;
    size_t fits = meter->counter->fit(meter->counter, text, (int64_t)((double)tokens / meter->ratio));
    return utf8_floor(text, fits);
}
