/* The event log: one JSON object for each notice of a run. */
#include "engine/internal.h"

#include "agent/result.h"
#include "protocol/profile.h"

static const char *type_of(enum notice_kind kind)
{
    switch (kind) {
    case NOTICE_RUN_STARTED:
        return "run_started";
    case NOTICE_ROUND_STARTED:
        return "round_started";
    case NOTICE_THINK:
        return "think";
    case NOTICE_TOOL_STARTED:
        return "tool_started";
    case NOTICE_TOOL_FINISHED:
        return "tool_finished";
    case NOTICE_FORMAT_REPAIR:
        return "format_repair";
    case NOTICE_RETRY:
        return "retry";
    case NOTICE_CLARIFICATION:
        return "clarification";
    case NOTICE_PERMISSION:
        return "permission";
    case NOTICE_BUDGET_WARNING:
        return "budget_warning";
    case NOTICE_LIMIT_REACHED:
        return "limit_reached";
    case NOTICE_LOOP_DETECTED:
        return "loop_detected";
    case NOTICE_ANSWER:
        return "answer";
    case NOTICE_RUN_FINISHED:
        return "run_finished";
    }
    return "";
}

static json_t *cost_json(double cost_usd)
{
    return cost_usd < 0 ? json_null() : json_real(cost_usd);
}

static void put_start(json_t *event, const struct run *run)
{
    const struct session_config *config = &run->options.config;
    json_put_str(event, "question", run->options.question);
    run_put_model(event, run);
    json_put_str(event, "profile", str_of(config->profile->name));
    json_t *tools = json_array();
    for (size_t i = 0; i < run->options.n_tools; i++)
        json_push(tools, json_string(run->tools[i]->signature->name));
    json_put(event, "tools", tools);
    json_put(event, "max_calls", json_integer(config->limits.max_calls));
    json_put(event, "time_limit_ms", json_integer(config->limits.time_ms));
    json_put_str(event, "started_at", str_of(run_started_at(run, (char[RUN_TIME_SIZE]){0})));
}

/* A text for the person at the terminal, without what the event log may not hold. */
static void put_outer_text(json_t *event, const struct run *run, struct str text)
{
    struct buf copy, outer;
    buf_init(&copy, BUF_UNBOUNDED);
    buf_init(&outer, BUF_UNBOUNDED);
    redact_places(run->engine->redaction, redact_secrets(run->engine->redaction, text, &copy), &outer);
    json_put_str(event, "text", buf_str(&outer));
    buf_finish(&copy);
    buf_finish(&outer);
}

/* Where the run stands; the same fields for whatever marks its progress. */
static void put_progress(json_t *event, const struct notice *notice)
{
    json_put(event, "round", json_integer(notice->round));
    json_put(event, "model_calls", json_integer(notice->model_calls));
    json_put(event, "context_tokens", json_integer(notice->context_tokens));
    json_put(event, "context_limit", json_integer(notice->context_limit));
    json_put(event, "cost_usd", cost_json(notice->cost_usd));
}

/* The prompt as we counted it and as the server did. */
static json_t *counts_json(const struct notice *notice)
{
    json_t *counts = json_object();
    json_put(counts, "counted", json_integer(notice->counted_tokens));
    json_put(counts, "reported", json_integer(notice->reported_tokens));
    json_put(counts, "difference", json_integer(notice->reported_tokens - notice->counted_tokens));
    json_put_str(counts, "method", str_of(notice->count_method));
    return counts;
}

static void put_tool(json_t *event, const struct notice *notice)
{
    json_put(event, "round", json_integer(notice->round));
    json_put(event, "id", json_integer((json_int_t)notice->id));
    json_put_str(event, "name", str_of(notice->name));
}

static void put_end(json_t *event, struct run *run, const struct notice *notice)
{
    const struct result *result = session_result(run->session);
    put_progress(event, notice);
    json_put(event, "elapsed_ms", json_integer(run_elapsed_ms(run)));
    if (!result)
        return;
    json_put_str(event, "termination", str_of(termination_name(result->termination)));
    json_put(event, "answered", json_boolean(result->answered));
    json_put(event, "prediction", json_from_str(result->prediction));
}

json_t *run_event_json(struct run *run, const struct notice *notice)
{
    json_t *event = json_object();
    json_put(event, "seq", json_integer(++run->next_seq));
    json_put(event, "at_ms", json_integer(run_elapsed_ms(run)));
    json_put_str(event, "run_id", str_of(run->id));
    json_put_str(event, "type", str_of(type_of(notice->kind)));
    switch (notice->kind) {
    case NOTICE_RUN_STARTED:
        put_start(event, run);
        break;
    case NOTICE_ROUND_STARTED:
    case NOTICE_LOOP_DETECTED:
        put_progress(event, notice);
        break;
    case NOTICE_THINK:
    case NOTICE_FORMAT_REPAIR:
        json_put(event, "round", json_integer(notice->round));
        json_put_str(event, "text", notice->text);
        if (notice->count_method)
            json_put(event, "prompt_tokens", counts_json(notice));
        break;
    case NOTICE_TOOL_STARTED:
        put_tool(event, notice);
        json_put(event, "arguments", json_incref((json_t *)(uintptr_t)notice->arguments));
        if (notice->code.len > 0)
            json_put_str(event, "code", notice->code);
        break;
    case NOTICE_TOOL_FINISHED:
        put_tool(event, notice);
        json_put_str(event, "status", str_of(tool_outcome_name(notice->status)));
        json_put(event, "elapsed_ms", json_integer(notice->elapsed_ms));
        json_put(event, "sources", json_integer((json_int_t)notice->n_sources));
        json_put_str(event, "text", notice->text);
        break;
    case NOTICE_RETRY:
        json_put(event, "round", json_integer(notice->round));
        json_put_str(event, "of", str_of(notice->name));
        put_outer_text(event, run, notice->text);
        break;
    case NOTICE_CLARIFICATION:
    case NOTICE_PERMISSION:
        json_put(event, "round", json_integer(notice->round));
        json_put_str(event, "name", str_of(notice->name));
        json_put_str(event, "text", notice->text);
        break;
    case NOTICE_BUDGET_WARNING:
        put_progress(event, notice);
        json_put_str(event, "text", notice->text);
        break;
    case NOTICE_LIMIT_REACHED:
        put_progress(event, notice);
        json_put_str(event, "limit", notice->text);
        break;
    case NOTICE_ANSWER:
        put_progress(event, notice);
        json_put_str(event, "text", notice->text);
        break;
    case NOTICE_RUN_FINISHED:
        put_end(event, run, notice);
        break;
    }
    return event;
}
