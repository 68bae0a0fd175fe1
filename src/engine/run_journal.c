/* Events and effects as the journal's rows. */
#include "agent/token_meter.h"
#include "core/hash.h"
#include "engine/internal.h"
#include "protocol/profile.h"
#include "protocol/template_learn.h"
#include "text/tokenizer/tokenizer.h"

#include <stdlib.h>

const char *run_event_name(enum event_kind kind)
{
    switch (kind) {
    case EVENT_STARTED:
        return "started";
    case EVENT_DELTA:
        return "delta";
    case EVENT_RESTARTED:
        return "restarted";
    case EVENT_GENERATED:
        return "generated";
    case EVENT_GENERATE_ERROR:
        return "generate_error";
    case EVENT_TOOL_DONE:
        return "tool_done";
    case EVENT_ANSWERED:
        return "answered";
    case EVENT_TOOLS_CHANGED:
        return "tools_changed";
    case EVENT_WINDOW:
        return "window";
    case EVENT_CLOCK:
        return "clock";
    case EVENT_INTERRUPTED:
        return "interrupted";
    }
    return "";
}

const char *run_effect_name(enum effect_kind kind)
{
    switch (kind) {
    case EFFECT_GENERATE:
        return "generate";
    case EFFECT_START_TOOL:
        return "start_tool";
    case EFFECT_CANCEL:
        return "cancel";
    case EFFECT_ASK:
        return "ask";
    case EFFECT_WAKE:
        return "wake";
    case EFFECT_NOTIFY:
        return "notify";
    case EFFECT_FINISH:
        return "finish";
    }
    return "";
}

static json_t *usage_json(const struct usage *usage)
{
    json_t *object = json_object();
    json_put(object, "prompt", json_integer(usage->prompt));
    json_put(object, "completion", json_integer(usage->completion));
    json_put(object, "cached", json_integer(usage->cached));
    json_put(object, "reasoning", json_integer(usage->reasoning));
    return object;
}

static json_t *limits_json(const struct session_limits *limits)
{
    json_t *object = json_object();
    json_put(object, "max_calls", json_integer(limits->max_calls));
    json_put(object, "context_tokens", json_integer(limits->context_tokens));
    json_put(object, "window_tokens", json_integer(limits->window_tokens));
    json_put(object, "time_ms", json_integer(limits->time_ms));
    json_put(object, "grace_ms", json_integer(limits->grace_ms));
    json_put(object, "max_tokens", json_integer(limits->max_tokens));
    json_put(object, "total_tokens", json_integer(limits->total_tokens));
    json_put(object, "max_cost_usd", json_real(limits->max_cost_usd));
    json_put(object, "observation_tokens", json_integer(limits->observation_tokens));
    json_put(object, "answer_tries", json_integer(limits->answer_tries));
    return object;
}

static json_t *price_json(const struct model_price *price)
{
    return json_pack("[f, f, f]", price->prompt, price->completion, price->cached);
}

static json_t *config_json(const struct session_config *config)
{
    json_t *object = json_object();
    json_put_str(object, "date", config->date);
    json_put(object, "limits", limits_json(&config->limits));
    json_put(object, "reopen_thought", json_boolean(config->reopen_thought));
    json_put(object, "sampling", run_sampling_json(&config->sampling));
    json_t *prices = json_array();
    for (size_t role = 0; role < MODEL_ROLE_COUNT; role++)
        json_push(prices, price_json(&config->price[role]));
    json_put(object, "prices", prices);
    json_put(object, "message_tokens", json_integer(config->message_tokens));
    json_put(object, "prompt_tokens", json_integer(config->prompt_tokens));
    json_put(object, "chat_template", config->chat_template ? template_to_json(config->chat_template) : json_null());
    json_put(object, "completions", json_boolean(config->completions));
    json_put(object, "template_bos", json_boolean(config->template_bos));
    const struct tokenizer *tokenizer = config->counter ? config->counter->tokenizer : NULL;
    json_put(object, "tokenizer_hash", tokenizer ? json_string(tokenizer_hash(tokenizer)) : json_null());
    return object;
}

static json_t *prompts_json(const struct profile *profile)
{
    json_t *object = json_object();
    for (size_t id = 0; id < PROMPT_COUNT; id++)
        json_put_str(object, profile_prompt_name((enum prompt_id)id), profile_prompt_text(profile, (enum prompt_id)id));
    return object;
}

/* All that the session's decisions rest on, so that a run can go on under another installation of the program. */
static json_t *started_json(const struct run *run)
{
    const struct session_config *config = &run->options.config;
    json_t *object = json_object();
    json_put(object, "logic_version", json_integer(RUN_LOGIC_VERSION));
    json_put_str(object, "version", str_of(FATHOM_VERSION));
    json_put_str(object, "question", run->options.question);
    json_put(object, "config", config_json(config));
    json_put_str(object, "config_hash", str_of(run->config_hash));
    json_put_str(object, "profile", str_of(config->profile->name));
    json_put_str(object, "prompts_hash", str_of(config->profile->hash));
    json_put(object, "prompts", prompts_json(config->profile));
    json_t *tools = json_array();
    for (size_t i = 0; i < run->options.n_tools; i++)
        json_push(tools, json_incref(run->tools[i]->signature->json));
    json_put(object, "tools", tools);
    return object;
}

static json_t *tool_done_json(const struct event *event)
{
    const struct tool_facts *facts = event->tool.facts;
    json_t *object = json_object();
    json_put(object, "status", json_integer(event->tool.status));
    json_put(object, "truncated", json_boolean(facts->truncated));
    json_put(object, "quotes", json_integer(facts->quotes));
    json_put(object, "unfound_quotes", json_integer(facts->unfound_quotes));
    json_put(object, "elapsed_ms", json_integer(facts->elapsed_ms));
    json_t *sources = json_array(), *usage = json_array(), *calls = json_array();
    for (size_t i = 0; i < facts->n_sources; i++) {
        json_t *source = json_object();
        json_put_str(source, "url", facts->sources[i].url);
        json_put_str(source, "title", facts->sources[i].title);
        json_push(sources, source);
    }
    for (size_t role = 0; role < MODEL_ROLE_COUNT; role++) {
        json_push(usage, usage_json(&facts->role_usage[role]));
        json_push(calls, json_integer(facts->role_calls[role]));
    }
    json_put(object, "sources", sources);
    json_put(object, "role_usage", usage);
    json_put(object, "role_calls", calls);
    return object;
}

static json_t *tools_changed_json(const struct event *event)
{
    json_t *object = json_object(), *tools = json_array(), *early = json_array();
    for (size_t i = 0; i < event->tools.n_tools; i++) {
        json_push(tools, json_incref(event->tools.tools[i]->json));
        json_push(early, json_boolean(event->tools.early_start[i]));
    }
    json_put(object, "tools", tools);
    json_put(object, "early_start", early);
    return object;
}

static json_t *event_json(const struct run *run, const struct event *event)
{
    json_t *object;
    switch (event->kind) {
    case EVENT_STARTED:
        return started_json(run);
    case EVENT_GENERATED:
        object = json_object();
        json_put(object, "usage", usage_json(&event->generated.usage));
        json_put_str(object, "reason", str_of(finish_reason_name(event->generated.reason)));
        json_put(object, "thought_field", json_boolean(event->generated.thought_field));
        json_put_str(object, "served_model", event->generated.served_model);
        return object;
    case EVENT_GENERATE_ERROR:
        object = json_object();
        json_put(object, "failure", json_integer(event->failed.failure));
        json_put(object, "window", json_integer(event->failed.window));
        json_put(object, "status", json_integer(event->failed.error->status));
        json_put_str(object, "message", str_of(event->failed.error->message));
        return object;
    case EVENT_TOOL_DONE:
        return tool_done_json(event);
    case EVENT_TOOLS_CHANGED:
        return tools_changed_json(event);
    case EVENT_WINDOW:
        object = json_object();
        json_put(object, "window", json_integer(event->window));
        return object;
    case EVENT_DELTA:
    case EVENT_RESTARTED:
    case EVENT_ANSWERED:
    case EVENT_CLOCK:
    case EVENT_INTERRUPTED:
        return NULL;
    }
    return NULL;
}

static char *take_text(json_t *object)
{
    if (!object)
        return NULL;
    char *text = json_to_text(object);
    json_decref(object);
    return text;
}

char *run_event_data(const struct run *run, const struct event *event)
{
    return take_text(event_json(run, event));
}

/* The prompt as count and digest: its text follows from the events. */
static void put_prompt(json_t *object, const struct prompt_view *view)
{
    struct hash *hash = hash_begin();
    for (size_t i = 0; i < view->count; i++) {
        hash_add_field(hash, str_of(message_role_name(view->messages[i].role)));
        hash_add_field(hash, view->messages[i].wire_thought);
        hash_add_field(hash, view->messages[i].wire);
    }
    char digest[HASH_HEX_SIZE];
    hash_end(hash, digest);
    json_put(object, "messages", json_integer((json_int_t)view->count));
    json_put_str(object, "sha256", str_of(digest));
}

char *run_effect_data(const struct run *run, const struct effect *effect)
{
    json_t *object;
    switch (effect->kind) {
    case EFFECT_GENERATE:
        object = json_object();
        json_put(object, "forced", json_boolean(effect->generate.forced));
        json_put(object, "max_tokens", json_integer(effect->generate.max_tokens));
        put_prompt(object, session_prompt(run->session));
        return take_text(object);
    case EFFECT_START_TOOL:
        object = json_object();
        json_put_str(object, "name", str_of(effect->tool.signature->name));
        json_put(object, "arguments", json_incref((json_t *)(uintptr_t)effect->tool.arguments));
        json_put_str(object, "code", effect->tool.code);
        return take_text(object);
    case EFFECT_CANCEL:
    case EFFECT_ASK:
    case EFFECT_WAKE:
    case EFFECT_NOTIFY:
    case EFFECT_FINISH:
        return NULL;
    }
    return NULL;
}
