#include "api/setup_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/mem.h"
#include "engine/redact.h"
#include "engine/runner.h"
#include "engine/tool.h"
#include "loop/loop.h"
#include "model/client.h"
#include "model/openai.h"
#include "model/probe.h"
#include "model/transcription.h"
#include "net/http.h"
#include "protocol/profile.h"
#include "tools/common/document.h"

void setup_say(struct setup *setup, const char *format, ...)
{
    const struct setup_private *private = setup->private;
    if (private->options.say == NULL)
        return;
    va_list arguments;
    struct buf sentence, copy;
    buf_init(&sentence, BUF_UNBOUNDED);
    buf_init(&copy, BUF_UNBOUNDED);
    va_start(arguments, format);
    buf_addv(&sentence, format, arguments);
    va_end(arguments);
    /* Made anew, since secrets still come in; sentences are few. What a program wrote to its stderr may hold one. */
    struct redaction *redaction = redaction_create(private->secrets, private->n_secrets, NULL, 0);
    char *clean = str_dup(redact_secrets(redaction, buf_str(&sentence), &copy));
    private->options.say(private->options.user, clean);
    free(clean);
    redaction_destroy(redaction);
    buf_finish(&copy);
    buf_finish(&sentence);
}

void setup_add_secret(struct setup *setup, const char *secret)
{
    struct setup_private *private = setup->private;
    if (secret == NULL)
        return;
    private->secrets =
        mem_grow(private->secrets, private->n_secrets, &private->secrets_capacity, sizeof *private->secrets);
    private->secrets[private->n_secrets++] = secret;
}

void setup_add_tool(struct setup *setup, struct tool *tool)
{
    setup->tools = mem_grow(setup->tools, setup->n_tools, &setup->private->tools_capacity, sizeof *setup->tools);
    setup->tools[setup->n_tools++] = tool;
}

enum status setup_blame(const struct setup *setup, enum option_id id, enum status status, struct error *error)
{
    char origin[300];
    error_at(error, config_origin(setup->config, id, origin, sizeof origin), 0, 0);
    return status;
}

static enum status create_guard(struct setup *setup, struct error *error)
{
    size_t count;
    const char *const *networks = config_list(setup->config, OPTION_ALLOW_ADDRESS, &count);
    for (size_t i = 0; i < count; i++) {
        enum status status = guard_allow(&setup->guard, str_of(networks[i]), error);
        if (status != STATUS_OK)
            return setup_blame(setup, OPTION_ALLOW_ADDRESS, status, error);
    }
    return STATUS_OK;
}

static void set_date(struct setup *setup)
{
    const char *date = config_text(setup->config, OPTION_DATE);
    time_t now = time(NULL);
    struct tm local;
    if (date != NULL)
        snprintf(setup->private->date, sizeof setup->private->date, "%s", date);
    else if (localtime_r(&now, &local) != NULL)
        strftime(setup->private->date, sizeof setup->private->date, "%Y-%m-%d", &local);
}

enum status setup_load_profile(struct setup *setup, const char *model, struct error *error)
{
    if (setup->profile != NULL)
        return STATUS_OK;
    const struct profile_source source = {.prompts_dir = config_text(setup->config, OPTION_PROMPTS)};
    const char *name = config_text(setup->config, OPTION_PROFILE);
    char *chosen = NULL;
    enum status status = STATUS_OK;
    if (name == NULL) {
        status = profile_name_for_model(model != NULL ? model : "", &source, &chosen, error);
        if (status != STATUS_OK)
            return status;
        setup->profile_by_model = true;
    }
    status = profile_load(name != NULL ? name : chosen, &source, &setup->profile, error);
    free(chosen);
    return status;
}

enum status setup_create(const struct config *config, const struct setup_options *options, struct setup **out,
                         struct error *error)
{
    struct setup *setup = mem_zalloc(sizeof *setup);
    setup->private = mem_zalloc(sizeof *setup->private);
    setup->private->options = *options;
    setup->config = config;
    setup->loop = loop_create();
    guard_init(&setup->guard);
    config_hash(config, setup->config_hash);
    setup_find_secrets(setup);
    set_date(setup);
    enum status status = create_guard(setup, error);
    if (status == STATUS_OK) {
        const struct http_client_options http = {.guard = &setup->guard,
                                                 .proxy = config_text(config, OPTION_PROXY),
                                                 .ca_file = config_text(config, OPTION_CA_FILE)};
        setup->http = http_client_create(setup->loop, &http);
    }
    if (status == STATUS_OK && config_is_set(config, OPTION_PROFILE))
        status = setup_load_profile(setup, NULL, error);
    if (status == STATUS_OK && (options->parts & SETUP_MODEL) != 0)
        status = token_setup_open(config, &setup->tokens, error);
    if (status == STATUS_OK && (options->parts & SETUP_MODEL) != 0)
        status = setup_create_models(setup, error);
    if (status == STATUS_OK && (options->parts & SETUP_TOOLS) != 0)
        status = setup_create_tools(setup, error);
    if (status != STATUS_OK) {
        setup_destroy(setup);
        return status;
    }
    *out = setup;
    return STATUS_OK;
}

void setup_wait(struct setup *setup)
{
    while (setup->private->waiting > 0 && !setup->private->interrupted)
        loop_run(setup->loop);
}

void setup_interrupt(struct setup *setup)
{
    setup->private->interrupted = true;
    loop_stop(setup->loop);
}

/* The sampling of a role as far as it is configured. */
static void set_sampling(const struct setup *setup, enum model_role role, struct sampling *out)
{
    const struct config *config = setup->config;
    bool agent = role == MODEL_AGENT;
    enum option_id temperature = agent ? OPTION_TEMPERATURE : OPTION_SUMMARY_TEMPERATURE;
    enum option_id top_p = agent ? OPTION_TOP_P : OPTION_SUMMARY_TOP_P;
    enum option_id top_k = agent ? OPTION_TOP_K : OPTION_SUMMARY_TOP_K;
    enum option_id seed = agent ? OPTION_SEED : OPTION_SUMMARY_SEED;
    *out = (struct sampling){.has_temperature = config_is_set(config, temperature),
                             .temperature = config_number(config, temperature),
                             .has_top_p = config_is_set(config, top_p),
                             .top_p = config_number(config, top_p),
                             .has_top_k = config_is_set(config, top_k),
                             .top_k = config_integer(config, top_k),
                             .has_seed = config_is_set(config, seed),
                             .seed = config_integer(config, seed)};
    if (!agent)
        return;
    out->has_min_p = config_is_set(config, OPTION_MIN_P);
    out->min_p = config_number(config, OPTION_MIN_P);
    out->has_presence_penalty = config_is_set(config, OPTION_PRESENCE_PENALTY);
    out->presence_penalty = config_number(config, OPTION_PRESENCE_PENALTY);
    out->has_repetition_penalty = config_is_set(config, OPTION_REPETITION_PENALTY);
    out->repetition_penalty = config_number(config, OPTION_REPETITION_PENALTY);
}

/* The learnt parts of how the agent's server writes chats; zeroes where nothing was. */
static void get_rendering(const struct setup *setup, struct openai_rendering *out)
{
    const struct model_client *agent = setup->models[MODEL_AGENT];
    *out = (struct openai_rendering){0};
    if (agent != NULL && !agent->builtin)
        openai_rendering(agent, out);
}

const struct chat_template *setup_chat_template(const struct setup *setup)
{
    struct openai_rendering rendering;
    if (setup->models[MODEL_AGENT] == NULL || setup->models[MODEL_AGENT]->builtin)
        return NULL;
    get_rendering(setup, &rendering);
    return setup->tokens.chat_template != NULL ? setup->tokens.chat_template : rendering.chat_template;
}

/* A tokenizer alone does not count a prompt. */
static void say_tokens(struct setup *setup)
{
    const char *notice = token_setup_notice(&setup->tokens);
    if (notice != NULL)
        setup_say(setup, "%s; it is compiled at every start.", notice);
    const struct model_client *agent = setup->models[MODEL_AGENT];
    struct openai_rendering rendering;
    if (setup->tokens.tokenizer == NULL || agent == NULL || agent->builtin || setup_chat_template(setup) != NULL)
        return;
    get_rendering(setup, &rendering);
    if (rendering.differ) {
        setup_say(setup, "The servers write chats in different ways: texts are counted exactly, what a server writes "
                         "around them by its own reports. --chat-template NAME counts as those do that write it so.");
        return;
    }
    setup_say(setup,
              "%s, and the server does not tell it: texts are counted exactly, what the server writes around them by "
              "its own reports. --chat-template NAME says which it is.",
              setup->tokens.unknown_template ? "The chat template in the tokenizer's files is none that is known here"
                                             : "The tokenizer's files hold no chat template");
}

enum status setup_prepare(struct setup *setup, struct error *error)
{
    struct setup_private *private = setup->private;
    enum status status = STATUS_OK;
    if ((private->options.parts & SETUP_MODEL) != 0) {
        if (setup->models[MODEL_AGENT] == NULL)
            status = setup_find_model(setup, error);
        if (status != STATUS_OK)
            return status;
        if (!private->interrupted)
            setup_prepare_models(setup);
    }
    if (!private->interrupted) {
        setup_start_mcp(setup);
        setup_wait(setup);
    }
    if (private->interrupted)
        return error_set(error, STATUS_CANCELED, "interrupted");
    status = setup_publish_mcp(setup, error);
    if (status != STATUS_OK)
        return status;
    say_tokens(setup);
    const struct model_client *agent = setup->models[MODEL_AGENT];
    status = setup_load_profile(setup, agent != NULL ? agent->model : config_text(setup->config, OPTION_MODEL), error);
    if (status != STATUS_OK)
        return status;
    if (private->needs_search)
        setup_say(setup,
                  "There is nothing to search in, so every search will fail. Give a local corpus (--corpus FILE.db, "
                  "made by fathom index), a key (SERPER_API_KEY, BRAVE_API_KEY, TAVILY_API_KEY), a SearXNG server "
                  "(SEARXNG_URL), or services that need neither (--search wikipedia,duckduckgo); --tools visit goes "
                  "without.");
    struct engine_options engine = {
        .loop = setup->loop,
        .http = setup->http,
        .models = {setup->models[MODEL_AGENT], setup->models[MODEL_SUMMARY], setup->models[MODEL_VISION]},
        .transcription = setup->transcription,
        .vision_max_tokens = config_integer(setup->config, OPTION_VISION_MAX_TOKENS),
        .summary_max_tokens = config_integer(setup->config, OPTION_SUMMARY_MAX_TOKENS),
        .summary_counter = setup->tokens.summary_counter,
        .secrets = private->secrets,
        .n_secrets = private->n_secrets,
        .places = (const char *const *)private->places,
        .n_places = private->n_places};
    set_sampling(setup, MODEL_SUMMARY, &engine.summary_sampling);
    setup->engine = engine_create(&engine);
    return STATUS_OK;
}

void setup_destroy(struct setup *setup)
{
    if (setup == NULL)
        return;
    engine_destroy(setup->engine);
    setup_end_mcp(setup);
    for (size_t i = 0; i < setup->n_tools; i++)
        tool_destroy(setup->tools[i]);
    free(setup->tools);
    for (size_t i = 0; i < MODEL_ROLE_COUNT; i++)
        model_client_destroy(setup->models[i]);
    transcription_client_destroy(setup->transcription);
    token_setup_close(&setup->tokens);
    documents_destroy(setup->private->documents);
    http_client_destroy(setup->http);
    loop_destroy(setup->loop);
    guard_finish(&setup->guard);
    profile_destroy(setup->profile);
    setup_forget_secrets(setup);
    free(setup->private->runs);
    for (size_t i = 0; i < setup->private->n_left_out; i++)
        free(setup->private->left_out[i]);
    free(setup->private->left_out);
    own_config_finish(&setup->private->own);
    mcp_config_finish(&setup->private->mcp);
    free(setup->private);
    free(setup);
}

/* ---- runs ---- */

static double number_or(const struct config *config, enum option_id id, double fallback)
{
    return config_is_set(config, id) ? config_number(config, id) : fallback;
}

static void set_prices(const struct setup *setup, struct model_price price[MODEL_ROLE_COUNT])
{
    const struct config *config = setup->config;
    price[MODEL_AGENT] = (struct model_price){.prompt = number_or(config, OPTION_PRICE_PROMPT, -1),
                                              .completion = number_or(config, OPTION_PRICE_COMPLETION, -1),
                                              .cached = number_or(config, OPTION_PRICE_CACHED, -1)};
    /* Another server or model has prices of its own, or unknown ones. */
    struct model_price inherited = price[MODEL_AGENT];
    if (setup->models[MODEL_SUMMARY] != NULL)
        inherited = (struct model_price){-1, -1, -1};
    price[MODEL_SUMMARY] =
        (struct model_price){.prompt = number_or(config, OPTION_SUMMARY_PRICE_PROMPT, inherited.prompt),
                             .completion = number_or(config, OPTION_SUMMARY_PRICE_COMPLETION, inherited.completion),
                             .cached = number_or(config, OPTION_SUMMARY_PRICE_CACHED, inherited.cached)};
    price[MODEL_VISION] = (struct model_price){.prompt = number_or(config, OPTION_VISION_PRICE_PROMPT, -1),
                                               .completion = number_or(config, OPTION_VISION_PRICE_COMPLETION, -1),
                                               .cached = -1};
    price[MODEL_TRANSCRIPTION] =
        (struct model_price){.prompt = number_or(config, OPTION_TRANSCRIPTION_PRICE_PROMPT, -1),
                             .completion = number_or(config, OPTION_TRANSCRIPTION_PRICE_COMPLETION, -1),
                             .cached = -1};
}

static void set_limits(const struct setup *setup, struct session_limits *limits)
{
    const struct config *config = setup->config;
    const struct model_client *agent = setup->models[MODEL_AGENT];
    session_limits_init(limits);
    limits->max_calls = config_integer(config, OPTION_MAX_CALLS);
    limits->context_tokens = config_integer(config, OPTION_CONTEXT_LIMIT);
    limits->window_tokens = config_integer(config, OPTION_CONTEXT_WINDOW);
    if (limits->window_tokens == 0 && agent != NULL)
        limits->window_tokens = model_window(agent);
    limits->time_ms = config_integer(config, OPTION_TIME_LIMIT);
    limits->grace_ms = config_integer(config, OPTION_GRACE);
    limits->max_tokens = config_integer(config, OPTION_MAX_TOKENS);
    limits->total_tokens = config_integer(config, OPTION_TOTAL_TOKENS);
    limits->max_cost_usd = config_number(config, OPTION_MAX_COST);
    limits->observation_tokens = config_integer(config, OPTION_OBSERVATION_TOKENS);
}

/* How the session counts its prompts. */
static void set_counting(const struct setup *setup, struct session_config *session)
{
    const struct model_client *agent = setup->models[MODEL_AGENT];
    struct openai_rendering rendering;
    session->counter = setup->tokens.counter;
    if (agent == NULL || agent->builtin)
        return;
    get_rendering(setup, &rendering);
    session->chat_template = setup_chat_template(setup);
    session->completions = strcmp(config_text(setup->config, OPTION_PROTOCOL), "completions") == 0;
    if (session->completions)
        session->reopen_thought = setup->profile->thought == THOUGHT_OPENED;
    if (session->chat_template == NULL) {
        session->message_tokens = rendering.message_tokens;
        session->prompt_tokens = rendering.prompt_tokens;
    }
}

void setup_run_options(const struct setup *setup, struct run_options *out)
{
    *out = (struct run_options){.tools = setup->tools,
                                .n_tools = setup->n_tools,
                                .tool_timeout_ms = config_integer(setup->config, OPTION_TOOL_TIMEOUT),
                                .config_hash = str_of(setup->config_hash)};
    struct session_config *session = &out->config;
    session->date = str_of(setup->private->date);
    session->profile = setup->profile;
    set_limits(setup, &session->limits);
    set_sampling(setup, MODEL_AGENT, &session->sampling);
    set_prices(setup, session->price);
    set_counting(setup, session);
}
