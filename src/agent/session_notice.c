/* What a session tells whoever watches, with the numbers of the moment. */
#include <stdio.h>

#include "agent/session_state.h"

struct notice *session_notify(struct session *session, enum notice_kind kind, struct str text)
{
    struct notice *notice = &session_push(session, EFFECT_NOTIFY, 0)->notice;
    notice->kind = kind;
    notice->round = session->announced_round;
    notice->model_calls = session->result.model_calls;
    notice->context_tokens = token_meter_prompt(&session->meter);
    notice->context_limit = session_prompt_limit(session);
    notice->cost_usd = ledger_cost(&session->ledger, session->config.price);
    notice->text = text;
    return notice;
}

void session_notify_call(struct session *session, enum notice_kind kind, const struct session_call *call)
{
    struct notice *notice = session_notify(session, kind, (struct str){0});
    notice->id = call->id;
    notice->name = call->call->name;
    notice->arguments = call->call->arguments;
    if (call->call->code)
        notice->code = str_make(call->call->code, call->call->code_len);
    if (call->progress == CALL_OVER) {
        notice->text = buf_str(call->text.len > 0 ? &call->text : &call->notice);
        notice->status = call->status;
        notice->elapsed_ms = call->elapsed_ms;
        notice->n_sources = call->n_sources;
    }
}

static void add_name(struct buf *names, const char *name)
{
    buf_add_text(names, names->len > 0 ? ", " : "");
    buf_add_text(names, name);
}

void session_notify_repairs(struct session *session, unsigned tag_repairs, uint32_t call_repairs)
{
    struct buf names;
    buf_init(&names, BUF_UNBOUNDED);
    for (; tag_repairs != 0; tag_repairs &= tag_repairs - 1)
        add_name(&names, tag_repair_name(tag_repairs));
    for (unsigned repair = 0; repair < CALL_REPAIR_COUNT; repair++)
        if (call_repairs & (uint32_t)1 << repair)
            add_name(&names, call_repair_name((enum call_repair)repair));
    if (names.len > 0)
        session_notify(session, NOTICE_FORMAT_REPAIR, session_keep(session, buf_str(&names)));
    buf_finish(&names);
}

/* Four digits behind the point, and a point in any locale. */
static void add_money(struct buf *out, double usd)
{
    int64_t parts = usd < 9e14 ? (int64_t)(usd * 10000 + 0.5) : INT64_MAX / 2;
    buf_addf(out, "$%lld.%04lld", (long long)(parts / 10000), (long long)(parts % 10000));
}

static void warn(struct session *session, const char *what, const struct buf *used, const struct buf *limit)
{
    struct buf text;
    buf_init(&text, BUF_UNBOUNDED);
    const struct prompt_value values[] = {{"what", str_of(what)}, {"used", buf_str(used)}, {"limit", buf_str(limit)}};
    session_say(session, session_render(session, PROMPT_WARNING, values, 3, &text));
    buf_reset(&text);
    buf_addf(&text, "%s: %s of %s", what, used->data, limit->data);
    session_notify(session, NOTICE_BUDGET_WARNING, session_keep(session, buf_str(&text)));
    buf_finish(&text);
}

static bool is_near(double used, double limit)
{
    return limit > 0 && used >= limit * 0.8;
}

void session_warn_budget(struct session *session)
{
    const struct session_limits *limits = &session->config.limits;
    struct buf used, limit;
    buf_init(&used, BUF_UNBOUNDED);
    buf_init(&limit, BUF_UNBOUNDED);
    int64_t tokens = ledger_tokens(&session->ledger);
    if (!session->warned_tokens && is_near((double)tokens, (double)limits->total_tokens)) {
        session->warned_tokens = true;
        buf_addf(&used, "%lld", (long long)tokens);
        buf_addf(&limit, "%lld", (long long)limits->total_tokens);
        warn(session, "tokens", &used, &limit);
        buf_reset(&used);
        buf_reset(&limit);
    }
    double spent = ledger_spent(&session->ledger, session->config.price);
    if (!session->warned_cost && is_near(spent, limits->max_cost_usd)) {
        session->warned_cost = true;
        add_money(&used, spent);
        add_money(&limit, limits->max_cost_usd);
        warn(session, "cost", &used, &limit);
    }
    buf_finish(&limit);
    buf_finish(&used);
}

bool session_budget_is_used(const struct session *session)
{
    const struct session_limits *limits = &session->config.limits;
    bool tokens = limits->total_tokens > 0 && ledger_tokens(&session->ledger) >= limits->total_tokens;
    double spent = ledger_spent(&session->ledger, session->config.price);
    return tokens || (limits->max_cost_usd > 0 && spent >= limits->max_cost_usd);
}
