/* The result of a run as JSON: design, "Result". */
#include "agent/result.h"

#include "engine/internal.h"
#include "protocol/profile.h"
#include "protocol/transcript.h"

#include <stdio.h>
#include <stdlib.h>

const char *run_started_at(const struct run *run, char out[RUN_TIME_SIZE])
{
    struct tm utc;
    char seconds[RUN_TIME_SIZE];
    gmtime_r(&run->started_at.tv_sec, &utc);
    strftime(seconds, sizeof seconds, "%Y-%m-%dT%H:%M:%S", &utc);
    snprintf(out, RUN_TIME_SIZE, "%.30s.%03dZ", seconds, (int)(run->started_at.tv_nsec / 1000000 % 1000));
    return out;
}

static json_t *str_or_null(struct str text)
{
    return text.len > 0 ? json_from_str(text) : json_null();
}

void run_put_model(json_t *object, const struct run *run)
{
    const struct model_client *model = engine_model(run->engine, MODEL_AGENT);
    const char *name = model && model->model && *model->model ? model->model : model ? model->name : NULL;
    json_put(object, "model", str_or_null(str_of(name)));
}

json_t *run_sampling_json(const struct sampling *sampling)
{
    json_t *object = json_object();
    if (sampling->has_temperature)
        json_put(object, "temperature", json_real(sampling->temperature));
    if (sampling->has_top_p)
        json_put(object, "top_p", json_real(sampling->top_p));
    if (sampling->has_top_k)
        json_put(object, "top_k", json_integer(sampling->top_k));
    if (sampling->has_min_p)
        json_put(object, "min_p", json_real(sampling->min_p));
    if (sampling->has_seed)
        json_put(object, "seed", json_integer(sampling->seed));
    if (sampling->has_presence_penalty)
        json_put(object, "presence_penalty", json_real(sampling->presence_penalty));
    if (sampling->has_repetition_penalty)
        json_put(object, "repetition_penalty", json_real(sampling->repetition_penalty));
    return object;
}

static json_t *messages_json(const struct transcript *transcript)
{
    json_t *messages = json_array();
    struct buf text;
    buf_init(&text, BUF_UNBOUNDED);
    for (size_t i = 0; transcript && i < transcript_count(transcript); i++) {
        buf_reset(&text);
        if (transcript_read(transcript, i, &text) != STATUS_OK)
            abort(); /* the buffer has no cap */
        json_t *message = json_object();
        json_put_str(message, "role", str_of(message_role_name(transcript_at(transcript, i)->role)));
        json_put_str(message, "content", buf_str(&text));
        json_push(messages, message);
    }
    buf_finish(&text);
    return messages;
}

static json_t *tool_calls_json(const struct result *result)
{
    json_t *object = json_object();
    for (size_t i = 0; i < result->n_tool_calls; i++)
        json_put(object, result->tool_calls[i].name, json_integer(result->tool_calls[i].calls));
    return object;
}

static int64_t counted(int64_t tokens)
{
    return tokens > 0 ? tokens : 0;
}

static json_t *tokens_json(const struct run *run, const struct result *result)
{
    int64_t prompt = 0, completion = 0, cached = 0;
    json_t *by_role = json_object();
    for (size_t i = 0; i < MODEL_ROLE_COUNT; i++) {
        const struct usage *usage = &result->role_usage[i];
        json_t *role = json_object();
        json_put(role, "calls", json_integer(result->role_calls[i]));
        json_put(role, "prompt", json_integer(counted(usage->prompt)));
        json_put(role, "completion", json_integer(counted(usage->completion)));
        json_put(role, "cached", json_integer(counted(usage->cached)));
        json_put(role, "reasoning", json_integer(counted(usage->reasoning)));
        json_put(by_role, model_role_name((enum model_role)i), role);
        prompt += counted(usage->prompt);
        completion += counted(usage->completion);
        cached += counted(usage->cached);
    }
    json_t *tokens = json_object();
    json_put(tokens, "context", json_integer(result->context_tokens));
    json_put(tokens, "prompt", json_integer(prompt));
    json_put(tokens, "completion", json_integer(completion));
    json_put(tokens, "cached", json_integer(cached));
    json_put_str(tokens, "method", str_of(result->count_method ? result->count_method : "estimate"));
    json_put(tokens, "by_role", by_role);
    json_put(tokens, "largest_difference", run->counts.compared > 0 ? json_integer(run->counts.largest) : json_null());
    return tokens;
}

static json_t *finish_reasons_json(const struct result *result)
{
    json_t *reasons = json_array();
    for (size_t i = 0; i < result->n_finish_reasons; i++)
        json_push(reasons, json_string(finish_reason_name(result->finish_reasons[i])));
    return reasons;
}

static json_t *sources_json(const struct result *result)
{
    json_t *sources = json_array();
    for (size_t i = 0; i < result->n_sources; i++) {
        const struct result_source *source = &result->sources[i];
        json_t *object = json_object();
        json_put_str(object, "url", source->url);
        json_put_str(object, "title", source->title);
        json_put(object, "first_seen_round", json_integer(source->first_seen_round));
        json_put(object, "cited", json_boolean(source->cited));
        json_push(sources, object);
    }
    return sources;
}

/* The error without what a result may not hold; the person at the terminal has read it in full. */
static json_t *error_json(const struct run *run, const struct error *error)
{
    if (error->status == STATUS_OK)
        return json_null();
    char text[sizeof error->place + sizeof error->message + 32];
    struct buf copy, outer;
    buf_init(&copy, BUF_UNBOUNDED);
    buf_init(&outer, BUF_UNBOUNDED);
    struct str whole = redact_secrets(run->engine->redaction, str_of(error_text(error, text, sizeof text)), &copy);
    redact_places(run->engine->redaction, whole, &outer);
    json_t *json = json_from_str(buf_str(&outer));
    buf_finish(&copy);
    buf_finish(&outer);
    return json;
}

static void put_outcome(json_t *object, const struct run *run, const struct result *result)
{
    json_put_str(object, "run_id", str_of(run->id));
    json_put(object, "id", str_or_null(run->options.row_id));
    json_put(object, "rollout", run->options.rollout > 0 ? json_integer(run->options.rollout) : json_null());
    json_put_str(object, "question", run->options.question);
    json_put(object, "answer", str_or_null(run->options.reference_answer));
    json_put_str(object, "prediction", result->prediction);
    json_put_str(object, "termination", str_of(termination_name(result->termination)));
    json_put(object, "answered", json_boolean(result->answered));
    json_put(object, "error", error_json(run, &result->error));
    json_put(object, "messages", messages_json(result->transcript));
}

static void put_counts(json_t *object, const struct run *run, const struct result *result)
{
    json_put(object, "rounds", json_integer(result->rounds));
    json_put(object, "model_calls", json_integer(result->model_calls));
    json_put(object, "tool_calls", tool_calls_json(result));
    json_put(object, "tool_failures", json_integer(result->tool_failures));
    json_put(object, "tokens", tokens_json(run, result));
    json_put(object, "finish_reasons", finish_reasons_json(result));
    json_put(object, "truncated_responses", json_integer(result->truncated_responses));
    json_put(object, "truncated_observations", json_integer(result->truncated_observations));
    json_put(object, "messages_trimmed", json_integer(result->messages_trimmed));
    json_put(object, "format_repairs", json_integer(result->format_repairs));
    json_put(object, "quotes", json_integer(result->quotes));
    json_put(object, "unfound_quotes", json_integer(result->unfound_quotes));
}

static void put_origin(json_t *object, const struct run *run, const struct result *result)
{
    const struct profile *profile = run->options.config.profile;
    json_put_str(object, "version", str_of(FATHOM_VERSION));
    run_put_model(object, run);
    json_put(object, "served_model", str_or_null(result->served_model));
    json_put_str(object, "profile", str_of(profile->name));
    json_put(object, "sampling", run_sampling_json(&run->sampling));
    json_put_str(object, "prompts_hash", str_of(profile->hash));
    json_put(object, "config_hash", str_or_null(str_of(run->config_hash)));
}

json_t *run_result_json(const struct run *run, const struct result *result)
{
    char started_at[RUN_TIME_SIZE];
    json_t *object = json_object();
    put_outcome(object, run, result);
    put_counts(object, run, result);
    json_put_str(object, "started_at", str_of(run_started_at(run, started_at)));
    json_put(object, "elapsed_ms", json_integer(result->elapsed_ms));
    json_put(object, "model_ms", json_integer(result->model_ms));
    json_put(object, "tool_ms", json_integer(result->tool_ms));
    json_put(object, "cost_usd", result->cost_usd < 0 ? json_null() : json_real(result->cost_usd));
    json_put(object, "sources", sources_json(result));
    put_origin(object, run, result);
    return object;
}
