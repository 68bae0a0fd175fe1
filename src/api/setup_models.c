/* src/api/setup_models.c: the models of a setup. */
#include "api/setup_internal.h"

#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "loop/loop.h"
#include "model/builtin.h"
#include "model/client.h"
#include "model/openai.h"
#include "model/probe.h"
#include "net/http.h"
#include "net/url.h"
#include "protocol/profile.h"
#include "protocol/template.h"

/* A role's options: its own ids, and the values that it takes from the agent where it has none. */
struct role_options {
    enum model_role role;
    enum option_id base_url, api_key, model, protocol, chat_template, extra_body, header, context_window, max_in_flight;
};

static const struct role_options roles[MODEL_ROLE_COUNT] = {
    [MODEL_AGENT] = {MODEL_AGENT, OPTION_BASE_URL, OPTION_API_KEY, OPTION_MODEL, OPTION_PROTOCOL, OPTION_TEMPLATE,
                     OPTION_EXTRA_BODY, OPTION_HEADER, OPTION_CONTEXT_WINDOW, OPTION_MAX_IN_FLIGHT},
    [MODEL_SUMMARY] = {MODEL_SUMMARY, OPTION_SUMMARY_BASE_URL, OPTION_SUMMARY_API_KEY, OPTION_SUMMARY_MODEL,
                       OPTION_SUMMARY_PROTOCOL, OPTION_SUMMARY_TEMPLATE, OPTION_SUMMARY_EXTRA_BODY,
                       OPTION_SUMMARY_HEADER, OPTION_SUMMARY_CONTEXT_WINDOW, OPTION_SUMMARY_MAX_IN_FLIGHT},
    /* Images go to /chat/completions alone: OPTION_COUNT stands for no choice. */
    [MODEL_VISION] = {MODEL_VISION, OPTION_VISION_BASE_URL, OPTION_VISION_API_KEY, OPTION_VISION_MODEL, OPTION_COUNT,
                      OPTION_COUNT, OPTION_VISION_EXTRA_BODY, OPTION_VISION_HEADER, OPTION_VISION_CONTEXT_WINDOW,
                      OPTION_VISION_MAX_IN_FLIGHT},
};

/* The role's own option where it is set, else the agent's. */
static enum option_id own_or_agents(const struct setup *setup, enum option_id own, enum option_id agents)
{
    return config_is_set(setup->config, own) ? own : agents;
}

void setup_headers_init(struct setup_headers *headers, const struct setup *setup, enum option_id id)
{
    const char *const *lines = config_list(setup->config, id, &headers->count);
    headers->list = mem_calloc(headers->count, sizeof *headers->list);
    headers->copies = mem_calloc(headers->count, sizeof *headers->copies);
    for (size_t i = 0; i < headers->count; i++) {
        char *copy = mem_strdup(lines[i]), *value = strchr(copy, ':');
        *value++ = '\0'; /* the configuration has checked that there is one */
        headers->copies[i] = copy;
        headers->list[i] = (struct http_header){copy, value + strspn(value, " \t")};
    }
}

void setup_headers_finish(struct setup_headers *headers)
{
    for (size_t i = 0; i < headers->count; i++)
        free(headers->copies[i]);
    free(headers->copies);
    free(headers->list);
}

const char *setup_role_key(struct setup *setup, enum option_id own, enum option_id address, const char *url)
{
    struct buf why;
    buf_init(&why, BUF_UNBOUNDED);
    enum option_id secret = config_is_set(setup->config, own) ? own : OPTION_API_KEY;
    const char *key = NULL;
    if (secret == own || address == OPTION_BASE_URL) {
        key = config_secret_for(setup->config, secret, address, url, &why);
    } else {
        /* The agent's key opens another role's address only at its own origin. */
        size_t count;
        const char *const *urls = config_list(setup->config, OPTION_BASE_URL, &count);
        for (size_t i = 0; i < count && key == NULL; i++) {
            if (url_same_origin(str_of(urls[i]), str_of(url)))
                key = config_secret_for(setup->config, OPTION_API_KEY, OPTION_BASE_URL, url, NULL);
        }
    }
    if (why.len > 0)
        setup_say(setup, "%s.", why.data);
    buf_finish(&why);
    return key;
}

static bool thought_is_opened(struct setup *setup, const char *model, bool completions)
{
    /* The profile settles whether our own template opens thought; a model whose name is not known yet gets the usual.
     */
    struct error ignored;
    if (!completions || (model == NULL && setup->profile == NULL))
        return false;
    if (setup_load_profile(setup, model, &ignored) != STATUS_OK)
        return false; /* said again, and loudly, by setup_prepare */
    return setup->profile->thought == THOUGHT_OPENED;
}

/* A client for a role at these addresses, which option `address` gave. */
static enum status create_client(struct setup *setup, const struct role_options *options, enum option_id address,
                                 const char *const *urls, size_t n_urls, bool with_keys, struct error *error)
{
    const struct config *config = setup->config;
    bool agent = options->role == MODEL_AGENT;
    bool chat_alone = options->protocol == OPTION_COUNT;
    const char *protocol =
        chat_alone ? "chat" : config_text(config, own_or_agents(setup, options->protocol, OPTION_PROTOCOL));
    const char *chat_template =
        chat_alone ? NULL : config_text(config, own_or_agents(setup, options->chat_template, OPTION_TEMPLATE));
    enum option_id header = own_or_agents(setup, options->header, OPTION_HEADER);
    bool own_address = !agent && config_is_set(config, options->base_url);
    struct openai_endpoint *endpoints = mem_calloc(n_urls, sizeof *endpoints);
    for (size_t i = 0; i < n_urls; i++)
        endpoints[i] = (struct openai_endpoint){
            urls[i], with_keys ? setup_role_key(setup, options->api_key, address, urls[i]) : NULL};
    bool completions = strcmp(protocol, "completions") == 0;
    struct setup_headers headers;
    setup_headers_init(&headers, setup, own_address ? options->header : header);
    struct openai_options openai = {
        .loop = setup->loop,
        .http = setup->http,
        .endpoints = endpoints,
        .n_endpoints = n_urls,
        .model = config_text(config, own_address ? options->model : own_or_agents(setup, options->model, OPTION_MODEL)),
        .completions = completions,
        .chat_template = agent && completions ? setup->tokens.chat_template : template_find(str_of(chat_template)),
        .ask_rendering = agent && setup->tokens.chat_template == NULL,
        .tokenizer = agent ? setup->tokens.tokenizer : NULL,
        .extra_body = config_json(config, own_address ? options->extra_body
                                                      : own_or_agents(setup, options->extra_body, OPTION_EXTRA_BODY)),
        .headers = with_keys ? headers.list : NULL,
        .n_headers = with_keys ? headers.count : 0,
        .context_window =
            config_integer(config, own_address ? options->context_window
                                               : own_or_agents(setup, options->context_window, OPTION_CONTEXT_WINDOW)),
        .max_tries = (int)config_integer(config, OPTION_MODEL_TRIES),
        .first_byte_timeout_ms = config_integer(config, OPTION_FIRST_BYTE_TIMEOUT),
        .stall_timeout_ms = config_integer(config, OPTION_STALL_TIMEOUT),
        .total_timeout_ms = config_integer(config, OPTION_COMPLETION_TIMEOUT),
        .max_in_flight =
            (size_t)config_integer(config, own_or_agents(setup, options->max_in_flight, OPTION_MAX_IN_FLIGHT)),
        .chance_seed = (uint64_t)loop_now_ms(setup->loop),
    };
    if (agent)
        openai.template_open_think = thought_is_opened(setup, openai.model, openai.completions);
    enum status status = openai_client_create(&openai, &setup->models[options->role], error);
    if (status != STATUS_OK && error != NULL && error->place[0] == '\0')
        setup_blame(setup, address, status, error);
    setup_headers_finish(&headers);
    free(endpoints);
    return status;
}

/* Whether the summary role differs from the agent's in anything that needs a client of its own. */
static bool summary_differs(const struct setup *setup)
{
    static const enum option_id ids[] = {
        OPTION_SUMMARY_BASE_URL, OPTION_SUMMARY_API_KEY,        OPTION_SUMMARY_MODEL,
        OPTION_SUMMARY_PROTOCOL, OPTION_SUMMARY_TEMPLATE,       OPTION_SUMMARY_EXTRA_BODY,
        OPTION_SUMMARY_HEADER,   OPTION_SUMMARY_CONTEXT_WINDOW, OPTION_SUMMARY_MAX_IN_FLIGHT};
    for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++) {
        if (config_is_set(setup->config, ids[i]))
            return true;
    }
    return false;
}

/* A model is shown images where it was named for that, since few can see. */
static enum status create_vision(struct setup *setup, const char *const *agent_urls, size_t n_agent_urls,
                                 bool with_keys, struct error *error)
{
    size_t count;
    const char *const *urls = config_list(setup->config, OPTION_VISION_BASE_URL, &count);
    if (count > 0)
        return create_client(setup, &roles[MODEL_VISION], OPTION_VISION_BASE_URL, urls, count, true, error);
    if (n_agent_urls == 0 || !config_is_set(setup->config, OPTION_VISION_MODEL))
        return STATUS_OK;
    return create_client(setup, &roles[MODEL_VISION], OPTION_BASE_URL, agent_urls, n_agent_urls, with_keys, error);
}

static enum status create_summary(struct setup *setup, const char *const *agent_urls, size_t n_agent_urls,
                                  bool with_keys, struct error *error)
{
    size_t count;
    const char *const *urls = config_list(setup->config, OPTION_SUMMARY_BASE_URL, &count);
    if (setup->models[MODEL_SUMMARY] != NULL)
        return STATUS_OK; /* made before the agent's was looked for */
    if (count > 0)
        return create_client(setup, &roles[MODEL_SUMMARY], OPTION_SUMMARY_BASE_URL, urls, count, true, error);
    if (n_agent_urls == 0 || !summary_differs(setup))
        return STATUS_OK;
    return create_client(setup, &roles[MODEL_SUMMARY], OPTION_BASE_URL, agent_urls, n_agent_urls, with_keys, error);
}

/* The models of the other roles, as far as the agent's does not serve them. */
static enum status create_others(struct setup *setup, const char *const *agent_urls, size_t n_agent_urls,
                                 bool with_keys, struct error *error)
{
    enum status status = create_summary(setup, agent_urls, n_agent_urls, with_keys, error);
    if (status == STATUS_OK && setup->models[MODEL_VISION] == NULL)
        status = create_vision(setup, agent_urls, n_agent_urls, with_keys, error);
    if (status == STATUS_OK && setup->transcription == NULL)
        status = setup_create_transcription(setup, agent_urls, n_agent_urls, with_keys, error);
    return status;
}

enum status setup_create_models(struct setup *setup, struct error *error)
{
    static const char *const openai_address[] = {SETUP_OPENAI_ADDRESS};
    const struct config *config = setup->config;
    const char *model = config_text(config, OPTION_MODEL);
    size_t count;
    const char *const *urls = config_list(config, OPTION_BASE_URL, &count);
    if (model != NULL && strcmp(model, BUILTIN_MODEL_NAME) == 0) {
        setup->models[MODEL_AGENT] = builtin_client_create(setup->loop);
        setup->model_choice = SETUP_MODEL_BUILTIN;
        return create_others(setup, NULL, 0, true, error);
    }
    if (count == 0 && config_is_set(config, OPTION_API_KEY)) {
        urls = openai_address;
        count = 1;
        if (model == NULL) {
            char origin[300];
            return error_set(error, STATUS_INVALID,
                             "%s without an address means api.openai.com, and that needs a model: --model NAME; for "
                             "another server give --base-url URL",
                             config_origin(config, OPTION_API_KEY, origin, sizeof origin));
        }
    }
    if (count == 0)
        return create_others(setup, NULL, 0, true, error);
    setup->model_choice = SETUP_MODEL_CONFIGURED;
    enum status status = create_client(setup, &roles[MODEL_AGENT], OPTION_BASE_URL, urls, count, true, error);
    return status == STATUS_OK ? create_others(setup, urls, count, true, error) : status;
}

/* ---- looking for one ---- */

struct search_for_model {
    struct setup *setup;
    char *server, *base_url, *model;
};

static void on_probed(void *user, const struct probe_found *found, size_t n_found)
{
    struct search_for_model *search = user;
    if (n_found > 0) {
        search->server = mem_strdup(found[0].server);
        search->base_url = mem_strdup(found[0].base_url);
        search->model = mem_strdup(found[0].model);
    }
    search->setup->private->probe = NULL;
    search->setup->private->waiting--;
    loop_stop(search->setup->loop);
}

static enum status use_builtin(struct setup *setup, struct error *error)
{
    const char *model = config_text(setup->config, OPTION_MODEL);
    if (model != NULL) {
        error_set(error, STATUS_INVALID,
                  "there is no server for the model %s: none answers at the usual local ports; give --base-url URL, or "
                  "OPENAI_API_KEY for api.openai.com",
                  model);
        return setup_blame(setup, OPTION_MODEL, STATUS_INVALID, error);
    }
    setup->models[MODEL_AGENT] = builtin_client_create(setup->loop);
    setup->model_choice = SETUP_MODEL_BUILTIN;
    setup_say(setup,
              "No language model is configured, and no server answers on this machine: using the built-in reader, "
              "which only quotes what it finds. For a real model give --base-url URL --model NAME, or set "
              "OPENAI_API_KEY.");
    return STATUS_OK;
}

enum status setup_find_model(struct setup *setup, struct error *error)
{
    struct search_for_model search = {.setup = setup};
    struct setup_private *private = setup->private;
    if (!private->options.no_probe) {
        private->waiting++;
        private->probe = probe_start(setup->loop, setup->http, NULL, on_probed, &search);
        bool canceled = false;
        while (private->probe != NULL) { /* an interrupt ends it early, but `search` must outlive it */
            if (private->interrupted && !canceled)
                probe_cancel(private->probe);
            canceled = private->interrupted;
            loop_run(setup->loop);
        }
    }
    enum status status = STATUS_OK;
    if (search.base_url == NULL) {
        if (!private->interrupted)
            status = use_builtin(setup, error);
    } else {
        const char *const urls[] = {search.base_url};
        const char *wanted = config_text(setup->config, OPTION_MODEL);
        setup->model_choice = SETUP_MODEL_FOUND;
        status = create_client(setup, &roles[MODEL_AGENT], OPTION_BASE_URL, urls, 1, false, error);
        if (status == STATUS_OK)
            status = create_others(setup, urls, 1, false, error);
        setup_say(setup,
                  "No model server is configured: using %s at %s (%s), found on this machine. --base-url URL and "
                  "--model NAME choose another.",
                  wanted != NULL ? wanted : search.model, search.base_url, search.server);
    }
    free(search.server);
    free(search.base_url);
    free(search.model);
    return status;
}

static void on_prepared(void *user)
{
    struct setup *setup = user;
    setup->private->waiting--;
    loop_stop(setup->loop);
}

void setup_prepare_models(struct setup *setup)
{
    for (size_t i = 0; i < MODEL_ROLE_COUNT; i++) {
        if (setup->models[i] == NULL)
            continue;
        setup->private->waiting++;
        model_prepare(setup->models[i], on_prepared, setup);
    }
    setup_wait(setup);
}
