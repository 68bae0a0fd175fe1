/* What is asked of the model next: the limits are looked at, the prompt is made to fit, the completion is asked for. */
#include <stdlib.h>

#include "agent/session_state.h"

/* A server that finds every prompt too long is asked this often; each time with less. */
#define MAX_REFUSED_PROMPTS 5

/* The tags around a demand that stands in a block of its own, in any vocabulary. */
#define BLOCK_TOKENS 16

/* Lengths that are tried for an observation that has to fit, mostly no more than three. */
#define MAX_FIT_ATTEMPTS 40

/* Tokens that may be left unused then: cuts are made at the ends of lines. */
#define FIT_SLACK 64

/* The least a forced answer may take when a server refuses prompt after prompt. */
#define MIN_COMPLETION 256

int64_t session_prompt_limit(const struct session *session)
{
    return limits_prompt(&session->config.limits, session->profile->max_tokens);
}

void session_learn_window(struct session *session, int64_t window)
{
    if (window > 0)
        session->config.limits.window_tokens = window;
}

/* The plain text of the last message, in a buffer that the caller finishes. */
static struct buf read_last(const struct session *session)
{
    struct buf text;
    buf_init(&text, BUF_UNBOUNDED);
    if (transcript_read(session->transcript, transcript_count(session->transcript) - 1, &text) != STATUS_OK)
        abort();
    return text;
}

void session_count_last(struct session *session)
{
    struct buf text = read_last(session);
    token_meter_append(&session->meter, buf_str(&text));
    buf_finish(&text);
}

static void recount_last(struct session *session)
{
    struct buf text = read_last(session);
    token_meter_replace_last(&session->meter, buf_str(&text));
    buf_finish(&text);
}

/* The prompt's tokens if the observations of the last message were cut to `allowed` bytes. */
static int64_t prompt_if_cut(const struct session *session, size_t allowed)
{
    struct buf text;
    buf_init(&text, BUF_UNBOUNDED);
    transcript_read_shortened(session->transcript, session->profile, allowed, &text);
    int64_t tokens = token_meter_prompt_with_last(&session->meter, buf_str(&text));
    buf_finish(&text);
    return tokens;
}

/* The same with an exact count: as much as fits is left, but for FIT_SLACK. The tokenizer says where the text is to be
 * cut; what the note about it and the cut's rounding add moves that place by a few tokens. */
static void fit_last_exactly(struct session *session, int64_t target)
{
    int64_t over = token_meter_prompt(&session->meter) - target;
    if (over <= 0)
        return;
    struct buf text = read_last(session);
    int64_t tokens = token_meter_count(&session->meter, buf_str(&text)), room = INT64_MAX;
    double bytes_per_token = tokens > 0 ? (double)text.len / (double)tokens : 1;
    size_t fits = 0, high = text.len;
    double guess = (double)token_meter_fit(&session->meter, buf_str(&text), tokens - over);
    buf_finish(&text);
    for (int attempt = 0; high - fits > 1 && room > FIT_SLACK && attempt < MAX_FIT_ATTEMPTS; attempt++) {
        double low = (double)fits + 1, most = (double)high - 1;
        if (attempt % 4 == 3)
            guess = (low + most) / 2; /* so that it ends, whatever the text */
        size_t allowed = (size_t)(guess < low ? low : guess > most ? most : guess);
        int64_t left = target - prompt_if_cut(session, allowed);
        if (left >= 0) {
            fits = allowed;
            room = left;
        } else {
            high = allowed;
        }
        guess = (double)allowed + (double)(left - FIT_SLACK / 2) * bytes_per_token;
    }
    if (transcript_shorten_last(session->transcript, session->profile, fits)) {
        recount_last(session);
        session->result.truncated_observations++;
    }
}

/* Shortens the observations of the last message until the prompt takes at most `target` tokens, or nothing of them is
 * left. Cuts are made in bytes: the first guess takes the message's own ratio of bytes to tokens, the next ones take
 * away what is still too much, in growing steps. */
static void fit_last(struct session *session, int64_t target)
{
    if (token_meter_is_exact(&session->meter)) {
        fit_last_exactly(session, target);
        return;
    }
    size_t allowed = SIZE_MAX;
    bool cut = false;
    for (int attempt = 0; allowed > 0; attempt++) {
        int64_t over = token_meter_prompt(&session->meter) - target;
        if (over <= 0)
            break;
        struct buf text = read_last(session);
        int64_t tokens = token_meter_count(&session->meter, buf_str(&text));
        double bytes_per_token = tokens > 0 ? (double)text.len / (double)tokens : 1;
        double excess = (double)over * bytes_per_token + (double)(64u << (attempt < 16 ? attempt : 16));
        if (allowed > text.len)
            allowed = text.len;
        allowed = excess < (double)allowed ? allowed - (size_t)excess : 0;
        buf_finish(&text);
        if (transcript_shorten_last(session->transcript, session->profile, allowed)) {
            recount_last(session);
            cut = true;
        }
    }
    session->result.truncated_observations += cut;
}

static void put_into_last(struct session *session, struct str text, enum demand_place place)
{
    if (transcript_demand(session->transcript, text, place) == STATUS_OK)
        recount_last(session);
}

static bool last_is_observation(const struct session *session)
{
    const struct transcript_message *last =
        transcript_at(session->transcript, transcript_count(session->transcript) - 1);
    return str_starts_with(last->wire, STR("<tool_response>"));
}

/* Tells the model that its completions were of no use, in a block of its own. In the first round there is no message of
 * blocks yet and no room for another user message, so the block stands behind the question. */
static void say_notice(struct session *session)
{
    struct buf names = session_tool_names(session), notice, block;
    buf_init(&notice, BUF_UNBOUNDED);
    buf_init(&block, BUF_UNBOUNDED);
    const struct prompt_value values[] = {{"tool_names", buf_str(&names)}};
    enum prompt_id id = session->was_repetition ? PROMPT_NOTICE_REPEATED : PROMPT_NOTICE_NOTHING;
    struct str text = session_render(session, id, values, 1, &notice);
    if (!last_is_observation(session)) {
        buf_add_text(&block, "<tool_response>\n");
        buf_add(&block, text);
        buf_add_text(&block, "\n</tool_response>");
        text = buf_str(&block);
    }
    put_into_last(session, text, DEMAND_APPEND);
    session->notice_due = false;
    buf_finish(&block);
    buf_finish(&notice);
    buf_finish(&names);
}

static enum prompt_id demand_prompt(enum termination reason)
{
    switch (reason) {
    case TERMINATION_TIME_LIMIT:
        return PROMPT_DEMAND_TIME;
    case TERMINATION_BUDGET:
        return PROMPT_DEMAND_COST;
    case TERMINATION_TOKEN_LIMIT:
        return PROMPT_DEMAND_CONTEXT;
    case TERMINATION_STUCK:
        return PROMPT_DEMAND_STUCK;
    case TERMINATION_CALL_LIMIT:
    case TERMINATION_ANSWER:
    case TERMINATION_MODEL_ERROR:
    case TERMINATION_INTERRUPTED:
    case TERMINATION_STOPPED:
        break;
    }
    return PROMPT_DEMAND_CALLS;
}

/* What the prompt of the forced answer may take. */
static int64_t forced_target(const struct session *session)
{
    return session->too_long > 0 ? session->ceiling : limits_forced_prompt(&session->config.limits);
}

static bool context_is_full(const struct session *session)
{
    int64_t prompt = token_meter_prompt(&session->meter);
    bool begins = session->result.rounds == 0 && limits_may_begin(&session->config.limits, prompt);
    return session->too_long > 0 || (prompt > session_prompt_limit(session) && !begins);
}

/* Which limit, if any, makes the next completion the last. Where several are reached at once, the one that leaves the
 * least choice is named. */
static bool limit_reached(const struct session *session, enum termination *reason)
{
    const struct session_limits *limits = &session->config.limits;
    if (session_time_is_up(session))
        *reason = TERMINATION_TIME_LIMIT;
    else if (session_budget_is_used(session))
        *reason = TERMINATION_BUDGET;
    else if (session->result.rounds + 1 >= limits->max_calls)
        *reason = TERMINATION_CALL_LIMIT;
    else if (context_is_full(session))
        *reason = TERMINATION_TOKEN_LIMIT;
    else if (session->dropped >= limits->answer_tries)
        *reason = TERMINATION_STUCK;
    else
        return false;
    return true;
}

/* Demands the answer: from here on the only completion that counts is the answer. */
static void force(struct session *session, enum termination reason)
{
    struct buf demand;
    buf_init(&demand, BUF_UNBOUNDED);
    const struct prompt_value values[] = {{"question", session->question_str}};
    struct str text = session_render(session, demand_prompt(reason), values, 1, &demand);
    bool exact = token_meter_is_exact(&session->meter);
    if (session->profile->demand != DEMAND_REPLACE && !exact)
        fit_last(session, forced_target(session) - token_meter_count(&session->meter, text) - BLOCK_TOKENS);
    put_into_last(session, text, session->profile->demand);
    if (exact)
        fit_last(session, forced_target(session)); /* cuts what tools said, never the demand */
    buf_finish(&demand);
    session->forced_by = reason;
    session->state = SESSION_FORCING;
    session_notify(session, NOTICE_LIMIT_REACHED, str_of(termination_name(reason)));
}

static int64_t completion_cap(const struct session *session, int64_t prompt)
{
    const struct session_limits *limits = &session->config.limits;
    int64_t profile_cap = session->profile->max_tokens;
    int doublings = session->round.doublings;
    if (session->state != SESSION_FORCING)
        return limits_grown_completion(limits, profile_cap, prompt, doublings);
    int64_t cap = limits_forced_completion(limits, profile_cap, prompt, doublings);
    for (int i = 1; i < session->too_long && cap / 2 >= MIN_COMPLETION; i++)
        cap /= 2;
    return cap;
}

/* What the user set goes before what the profile says. A fixed seed would only give the dropped completion again, so it
 * moves on with every try. */
static struct sampling make_sampling(const struct session *session)
{
    struct sampling set = session->config.sampling;
    const struct sampling *profile = &session->profile->sampling;
#define TAKE(name)                                \
    if (!set.has_##name && profile->has_##name) { \
        set.has_##name = true;                    \
        set.name = profile->name;                 \
    }
    TAKE(temperature)
    TAKE(top_p)
    TAKE(top_k)
    TAKE(min_p)
    TAKE(seed)
    TAKE(presence_penalty)
    TAKE(repetition_penalty)
#undef TAKE
    if (set.has_seed)
        set.seed = (int64_t)((uint64_t)set.seed + (uint64_t)session->dropped + (uint64_t)session->forced_tries);
    return set;
}

static void generate(struct session *session)
{
    const struct session_config *config = &session->config;
    bool forced = session->state == SESSION_FORCING;
    const struct prompt_view_options options = {.thought = session->profile->history,
                                                .reopen_thought = config->reopen_thought};
    prompt_view_build(&session->view, session->transcript, &options);
    token_meter_asked(&session->meter);

    if (session->announced_round != session->result.rounds + 1) {
        session->announced_round = session->result.rounds + 1;
        session_notify(session, NOTICE_ROUND_STARTED, (struct str){0});
    }
    effect_id id = session_new_id(session);
    session->result.context_tokens = token_meter_prompt(&session->meter);
    session_round_open(session, id);
    struct effect *effect = session_push(session, EFFECT_GENERATE, id);
    effect->generate.forced = forced;
    effect->generate.server_stops = session->round.server_stops;
    effect->generate.max_tokens = completion_cap(session, session->result.context_tokens);
    effect->generate.deadline_run_ms = forced ? limits_end_ms(&config->limits) : config->limits.time_ms;
    effect->generate.sampling = make_sampling(session);
}

void session_ask_next(struct session *session)
{
    enum status status = session_calls_observe(session);
    if (status != STATUS_OK) {
        struct error error;
        error_set(&error, status, "the run has outgrown its memory");
        session_finish(session, TERMINATION_TOKEN_LIMIT, &error);
        return;
    }
    session_calls_clear(session);
    enum termination reason;
    if (session->state == SESSION_FORCING) {
        if (session->too_long > 0)
            fit_last(session, forced_target(session));
    } else {
        session->state = SESSION_GENERATING;
        if (session->notice_due && !limit_reached(session, &reason))
            say_notice(session);
        if (limit_reached(session, &reason))
            force(session, reason);
    }
    generate(session);
}

/* The server found the prompt too long. What it takes is learnt if it said so; in any case the next prompt is smaller
 * than this one, and it demands the answer. Only a run that has hardly begun goes on as it was, when its prompt fits
 * with the smaller completion cap of the window that was learnt. */
void session_prompt_refused(struct session *session, int64_t window)
{
    int64_t known = session->config.limits.window_tokens;
    session_learn_window(session, window);
    int64_t prompt = token_meter_prompt(&session->meter), limit = session_prompt_limit(session);
    bool is_news = window > 0 && window < (known > 0 ? known : SESSION_DEFAULT_WINDOW) / 4 * 3;
    if (session->result.rounds == 0 && session->too_long == 0 && is_news && prompt <= limit) {
        session->due = true;
        return;
    }
    if (session->too_long > 0 || limit >= prompt) /* what it says does not explain the refusal */
        limit = limit < prompt / 4 * 3 ? limit : prompt / 4 * 3;
    session->ceiling = limit;
    session->too_long++;
    if (session->too_long > MAX_REFUSED_PROMPTS) {
        struct error error;
        error_set(&error, STATUS_TOO_BIG, "the server refuses the prompt as too long, and nothing is left to shorten");
        session_finish(session, TERMINATION_TOKEN_LIMIT, &error);
        return;
    }
    session->due = true;
}
