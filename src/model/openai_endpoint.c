/* One endpoint: its address and key, the models it lists, and their context window.
 *
 *     GET {base}/models                vLLM, SGLang: max_model_len; OpenRouter: context_length; and what others name it
 *     GET {root}/props                 llama.cpp: default_generation_settings.n_ctx, for one slot
 *     GET {root}/api/ps                Ollama: context_length of a model that is loaded
 *     POST {root}/api/show             Ollama: num_ctx of a model that is not
 *     GET {root}/api/v0/models         LM Studio: loaded_context_length
 *
 * {root} is the base URL without /v1.
 */
#include "model/openai_internal.h"

#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "net/url.h"

#define MAX_ANSWER ((size_t)8 * 1024 * 1024)

enum question { ASK_MODELS, ASK_PROPS, ASK_OLLAMA_LOADED, ASK_OLLAMA_MODEL, ASK_LM_STUDIO };

struct look {
    struct endpoint *endpoint; /* NULL: nobody cares any more */
    void (*done)(struct endpoint *endpoint);
    struct loop *loop;
    int64_t deadline;
    int pending;
    size_t places_asked; /* for the window */
    bool tried_v1;
};

struct asked {
    struct look *look;
    enum question question;
    char *url;
};

/* ---- the address ---- */

static void cut_suffix(char *text, const char *suffix)
{
    size_t length = strlen(text), end = strlen(suffix);
    if (length >= end && strcmp(text + length - end, suffix) == 0)
        text[length - end] = '\0';
}

static char *tidy_url(const char *url)
{
    char *tidy = str_dup(str_trim(str_of(url)));
    cut_suffix(tidy, "/");
    cut_suffix(tidy, "/chat/completions");
    cut_suffix(tidy, "/completions");
    cut_suffix(tidy, "/");
    return tidy;
}

static void set_shown_url(struct endpoint *endpoint)
{
    free(endpoint->shown_url);
    endpoint->shown_url = url_without_credentials(str_of(endpoint->base_url));
}

char *endpoint_root_url(const struct endpoint *endpoint)
{
    char *root = mem_strdup(endpoint->base_url);
    cut_suffix(root, "/v1");
    return root;
}

static void make_headers(struct endpoint *endpoint, const char *key)
{
    struct openai_client *client = endpoint->client;
    bool own_authorization = false;
    for (size_t i = 0; i < client->n_headers; i++)
        own_authorization |= str_equal_ascii_nocase(str_of(client->headers[i].name), STR("authorization"));
    endpoint->headers = mem_calloc(client->n_headers + 4, sizeof *endpoint->headers);
    struct http_header *next = endpoint->headers;
    *next++ = (struct http_header){"Content-Type", "application/json"};
    *next++ = (struct http_header){"Accept", "text/event-stream, application/json"};
    *next++ = (struct http_header){"Expect", NULL};
    if (key && *key && !own_authorization) {
        endpoint->authorization = mem_printf("Bearer %s", key);
        *next++ = (struct http_header){"Authorization", endpoint->authorization};
    }
    for (size_t i = 0; i < client->n_headers; i++)
        *next++ = client->headers[i];
    endpoint->n_headers = (size_t)(next - endpoint->headers);
}

static void recovery_due(void *user);

enum status endpoint_init(struct endpoint *endpoint, struct openai_client *client,
                          const struct openai_endpoint *options, struct error *error)
{
    struct url url;
    char *tidy = tidy_url(options->base_url ? options->base_url : "");
    enum status status = url_parse(str_of(tidy), &url, error);
    if (status != STATUS_OK) {
        free(tidy);
        return status;
    }
    bool web = strcmp(url.scheme, "http") == 0 || strcmp(url.scheme, "https") == 0;
    char *host = mem_printf(url.port && url.port != 80 && url.port != 443 ? "%s:%d" : "%s", url.host, url.port);
    url_finish(&url);
    if (!web) {
        free(host);
        free(tidy);
        return error_set(error, STATUS_INVALID, "a model server's address begins with http:// or https://");
    }
    *endpoint = (struct endpoint){.client = client, .base_url = tidy, .host = host};
    set_shown_url(endpoint);
    make_headers(endpoint, options->api_key);
    endpoint->recovery = loop_timer_create(client->loop, recovery_due, endpoint);
    if (client->model_given)
        endpoint->model = mem_strdup(client->model);
    return STATUS_OK;
}

static void free_models(struct endpoint *endpoint)
{
    for (size_t i = 0; i < endpoint->n_models; i++)
        free(endpoint->models[i]);
    free(endpoint->models);
    endpoint->models = NULL;
    endpoint->n_models = 0;
}

void endpoint_finish(struct endpoint *endpoint)
{
    if (endpoint->look)
        endpoint->look->endpoint = NULL;
    endpoint_finish_rendering(endpoint);
    loop_timer_destroy(endpoint->recovery);
    free_models(endpoint);
    free(endpoint->model);
    free(endpoint->authorization);
    free(endpoint->headers);
    free(endpoint->host);
    free(endpoint->shown_url);
    free(endpoint->base_url);
    json_decref(endpoint->habits.dropped);
    *endpoint = (struct endpoint){0};
}

/* ---- what the answers say ---- */

static bool is_other_kind(const char *id)
{
    static const char *const kinds[] = {"embed", "rerank", "whisper", "tts", "moderation", "dall-e"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (str_find_nocase(str_of(id), str_of(kinds[i]), 0) != STR_NONE)
            return true;
    return false;
}

/* Ollama takes "name" for "name:latest". */
static bool same_model(const char *id, const char *wanted)
{
    size_t length = strlen(wanted);
    return strcmp(id, wanted) == 0 || (strncmp(id, wanted, length) == 0 && strcmp(id + length, ":latest") == 0);
}

static int64_t listed_window(const json_t *model)
{
    static const char *const keys[] = {"max_model_len",     "loaded_context_length", "context_length",
                                       "context_window",    "max_context_length",    "max_input_tokens",
                                       "max_prompt_length", "input_token_limit"};
    int64_t offered = json_get_int(json_object_get(model, "top_provider"), "context_length", 0);
    for (size_t i = 0; offered <= 0 && i < sizeof keys / sizeof *keys; i++)
        offered = json_get_int(model, keys[i], 0);
    if (offered <= 0) /* llama.cpp, where it says more than what the model was trained with */
        offered = json_get_int(json_object_get(model, "meta"), "n_ctx", 0);
    return offered;
}

static const char *server_of(const json_t *model)
{
    static const struct {
        const char *owner, *server;
    } owners[] = {{"vllm", "vLLM"},
                  {"sglang", "SGLang"},
                  {"llamacpp", "llama.cpp"},
                  {"library", "Ollama"},
                  {"organization_owner", "LM Studio"}};
    const char *owner = json_get_string(model, "owned_by");
    for (size_t i = 0; owner && i < sizeof owners / sizeof *owners; i++)
        if (strcmp(owner, owners[i].owner) == 0)
            return owners[i].server;
    return NULL;
}

void endpoint_set_window(struct endpoint *endpoint, int64_t window)
{
    if (window > 0 && !endpoint->window_is_learnt)
        endpoint->window = window;
}

/* {"data": [{"id": …, …}]}; some leave out the frame. False when it is no list with a model in it. */
static bool read_models(struct endpoint *endpoint, const json_t *answer)
{
    const json_t *list = json_is_array(answer) ? answer : json_object_get(answer, "data"), *chosen = NULL;
    size_t i, named = 0;
    json_t *model;
    json_array_foreach (list, i, model)
        named += json_get_string(model, "id") != NULL;
    if (!named)
        return false;
    free_models(endpoint);
    endpoint->models = mem_calloc(named < MAX_LISTED_MODELS ? named : MAX_LISTED_MODELS, sizeof *endpoint->models);
    endpoint->model_listed = false;
    const json_t *first = NULL;
    json_array_foreach (list, i, model) {
        const char *id = json_get_string(model, "id");
        if (!id)
            continue;
        if (endpoint->n_models < MAX_LISTED_MODELS)
            endpoint->models[endpoint->n_models++] = mem_strdup(id);
        if (!first || (is_other_kind(json_get_string(first, "id")) && !is_other_kind(id)))
            first = model;
        if (endpoint->model && !chosen && same_model(id, endpoint->model))
            chosen = model;
    }
    endpoint->model_listed = chosen || !endpoint->client->model_given;
    if (!chosen && (!endpoint->client->model_given || named == 1))
        chosen = first;
    if (!endpoint->client->model_given && chosen) {
        free(endpoint->model);
        endpoint->model = mem_strdup(json_get_string(chosen, "id"));
    }
    endpoint_set_window(endpoint, listed_window(chosen));
    const char *server = server_of(chosen ? chosen : first);
    if (server)
        endpoint->server = server;
    endpoint->answered = true;
    return true;
}

static void read_props(struct endpoint *endpoint, const json_t *answer)
{
    int64_t window = json_get_int(json_object_get(answer, "default_generation_settings"), "n_ctx", 0);
    if (window <= 0)
        return;
    endpoint->server = "llama.cpp";
    endpoint->habits.repeat_penalty = true;
    endpoint_set_window(endpoint, window);
}

static void read_ollama_loaded(struct endpoint *endpoint, const json_t *answer)
{
    size_t i;
    json_t *model;
    const json_t *models = json_object_get(answer, "models");
    if (!json_is_array(models))
        return;
    endpoint->server = "Ollama";
    json_array_foreach (models, i, model) {
        const char *name =
            json_get_string(model, "model") ? json_get_string(model, "model") : json_get_string(model, "name");
        if (name && endpoint->model && same_model(name, endpoint->model))
            endpoint_set_window(endpoint, json_get_int(model, "context_length", 0));
    }
}

/* "parameters" is text: one line for each, "num_ctx    8192". */
static void read_ollama_model(struct endpoint *endpoint, const json_t *answer)
{
    struct str rest = json_get_str(answer, "parameters"), line;
    while (str_split_next(&rest, '\n', &line)) {
        int64_t window;
        line = str_trim(line);
        if (str_starts_with(line, STR("num_ctx ")) && str_to_int64(str_trim(str_slice(line, 8, line.len)), &window))
            endpoint_set_window(endpoint, window);
    }
}

static void read_lm_studio(struct endpoint *endpoint, const json_t *answer)
{
    size_t i;
    json_t *model;
    const json_t *models = json_object_get(answer, "data");
    if (!json_is_array(models))
        return;
    json_array_foreach (models, i, model) {
        const char *id = json_get_string(model, "id");
        if (json_object_get(model, "state"))
            endpoint->server = "LM Studio";
        if (id && endpoint->model && same_model(id, endpoint->model))
            endpoint_set_window(endpoint, json_get_int(model, "loaded_context_length", 0));
    }
}

/* ---- asking ---- */

static void ask(struct look *look, enum question question, const char *base, const char *path, struct str body);

static void look_end(struct look *look)
{
    struct endpoint *endpoint = look->endpoint;
    void (*done)(struct endpoint *) = look->done;
    free(look);
    if (!endpoint)
        return;
    endpoint->look = NULL;
    done(endpoint);
}

bool endpoint_window_is_open(const struct endpoint *endpoint)
{
    return endpoint->window <= 0 && !endpoint->window_is_learnt && endpoint->client->options.context_window <= 0 &&
           endpoint->server && strcmp(endpoint->server, "Ollama") == 0;
}

/* Which of a server's own interfaces may know the window. Where it is not known which server it is, those that take a
 * plain GET are tried when it is one without TLS, as people run for themselves. */
static bool is_worth_asking(const struct endpoint *endpoint, enum question question)
{
    const char *owner = NULL;
    switch (question) {
    case ASK_MODELS:
        return false;
    case ASK_PROPS:
        owner = "llama.cpp";
        break;
    case ASK_OLLAMA_LOADED:
    case ASK_OLLAMA_MODEL:
        owner = "Ollama";
        break;
    case ASK_LM_STUDIO:
        owner = "LM Studio";
        break;
    }
    if (endpoint->server)
        return strcmp(endpoint->server, owner) == 0;
    return question != ASK_OLLAMA_MODEL && strncmp(endpoint->base_url, "http://", 7) == 0;
}

static void ask_ollama_model(struct look *look, const char *root)
{
    struct buf body;
    buf_init(&body, BUF_UNBOUNDED);
    buf_add_text(&body, "{\"model\":\"");
    if (json_escape(&body, str_of(look->endpoint->model)) != STATUS_OK)
        abort();
    buf_add_text(&body, "\"}");
    ask(look, ASK_OLLAMA_MODEL, root, "/api/show", buf_str(&body));
    buf_finish(&body);
}

static void leave(struct look *look)
{
    if (--look->pending == 0)
        look_end(look);
}

static void rendering_told(void *user)
{
    leave(user);
}

/* The list of models did not say how large the window is: asks the next place that may. One after the other, so that
 * one connection serves all, and only until one knows. */
static void ask_window(struct look *look)
{
    static const struct {
        enum question question;
        const char *path;
    } places[] = {{ASK_PROPS, "/props"},
                  {ASK_OLLAMA_LOADED, "/api/ps"},
                  {ASK_OLLAMA_MODEL, "/api/show"},
                  {ASK_LM_STUDIO, "/api/v0/models"}};
    struct endpoint *endpoint = look->endpoint;
    if (endpoint->window > 0 || endpoint->client->options.context_window > 0 || !endpoint->model)
        return;
    while (look->places_asked < sizeof places / sizeof *places) {
        size_t next = look->places_asked++;
        if (!is_worth_asking(endpoint, places[next].question))
            continue;
        char *root = endpoint_root_url(endpoint);
        if (places[next].question == ASK_OLLAMA_MODEL)
            ask_ollama_model(look, root);
        else
            ask(look, places[next].question, root, places[next].path, (struct str){0});
        free(root);
        return;
    }
}

bool no_connection(const struct http_response *response)
{
    return (response->status == STATUS_NETWORK || response->status == STATUS_TIMEOUT) && response->code == 0 &&
           response->timing.connect_ms == 0;
}

/* Why an endpoint gave no list. Many that work have none, so it hinders nothing by itself. */
static void note_silence(struct endpoint *endpoint, struct http_response *response)
{
    if (response->status != STATUS_OK) {
        endpoint->error = response->error;
    } else if (response->code < 200 || response->code > 299) {
        struct fault_scene scene = endpoint_scene(endpoint, NULL);
        struct fault fault;
        fault_of_response(&scene, response->code, buf_str(&response->body), &fault);
        endpoint->error = fault.error;
    } else {
        error_set(&endpoint->error, STATUS_SYNTAX, "%s lists no models; check --base-url, which mostly ends in /v1",
                  endpoint->host);
    }
    endpoint->down = no_connection(response);
}

static void models_answered(struct look *look, const struct asked *asked, struct http_response *response,
                            json_t *answer)
{
    struct endpoint *endpoint = look->endpoint;
    endpoint->down = false;
    if (answer && read_models(endpoint, answer)) {
        if (look->tried_v1) {
            free(endpoint->base_url);
            endpoint->base_url = mem_strdup(asked->url);
            cut_suffix(endpoint->base_url, "/models");
            set_shown_url(endpoint);
        }
        ask_window(look);
        if (endpoint_ask_rendering(endpoint, look->deadline, rendering_told, look))
            look->pending++;
        return;
    }
    char *origin = url_origin(str_of(endpoint->base_url));
    bool bare = origin && strcmp(origin, endpoint->base_url) == 0;
    if (bare && !look->tried_v1 && response->status == STATUS_OK) {
        look->tried_v1 = true;
        ask(look, ASK_MODELS, endpoint->base_url, "/v1/models", (struct str){0});
    } else {
        note_silence(endpoint, response);
        if (response->status == STATUS_OK && !look->tried_v1)
            ask_window(look);
    }
    free(origin);
}

static void take_answer(struct endpoint *endpoint, enum question question, const json_t *answer)
{
    switch (question) {
    case ASK_MODELS:
        break;
    case ASK_PROPS:
        read_props(endpoint, answer);
        break;
    case ASK_OLLAMA_LOADED:
        read_ollama_loaded(endpoint, answer);
        break;
    case ASK_OLLAMA_MODEL:
        read_ollama_model(endpoint, answer);
        break;
    case ASK_LM_STUDIO:
        read_lm_studio(endpoint, answer);
        break;
    }
}

static void answered(void *user, struct http_response *response)
{
    struct asked *asked = user;
    struct look *look = asked->look;
    json_t *answer = NULL;
    bool good = response->status == STATUS_OK && response->code == 200;
    if (good && json_parse(buf_str(&response->body), &answer, NULL) != STATUS_OK)
        answer = NULL;
    if (look->endpoint && asked->question == ASK_MODELS) {
        models_answered(look, asked, response, answer);
    } else if (look->endpoint) {
        take_answer(look->endpoint, asked->question, answer);
        if (response->status == STATUS_OK)
            ask_window(look);
    }
    json_decref(answer);
    free(asked->url);
    free(asked);
    leave(look);
}

static void ask(struct look *look, enum question question, const char *base, const char *path, struct str body)
{
    struct endpoint *endpoint = look->endpoint;
    struct asked *asked = mem_zalloc(sizeof *asked);
    int64_t left = look->deadline - loop_now_ms(look->loop);
    *asked = (struct asked){look, question, mem_printf("%s%s", base, path)};
    struct http_options options = {
        .traffic = HTTP_CONFIGURED,
        .url = asked->url,
        .headers = endpoint->headers,
        .n_headers = endpoint->n_headers,
        .body = body,
        .connect_timeout_ms = left > 1 ? left : 1,
        .total_timeout_ms = left > 1 ? left : 1,
        .max_body = MAX_ANSWER,
    };
    look->pending++;
    http_request_start(endpoint->client->http, &options, answered, asked);
}

void endpoint_look(struct endpoint *endpoint, void (*done)(struct endpoint *endpoint))
{
    struct openai_client *client = endpoint->client;
    struct look *look = mem_zalloc(sizeof *look);
    *look = (struct look){.endpoint = endpoint,
                          .done = done,
                          .loop = client->loop,
                          .deadline = loop_now_ms(client->loop) + client->options.discovery_timeout_ms};
    endpoint->look = look;
    ask(look, ASK_MODELS, endpoint->base_url, "/models", (struct str){0});
}

/* ---- coming back ---- */

static void recovery_looked(struct endpoint *endpoint)
{
    if (!endpoint->down) {
        endpoint->recovery_delay = 0;
        pool_endpoint_worked(endpoint);
        return;
    }
    int64_t next = endpoint->recovery_delay * 2;
    endpoint->recovery_delay = next > 30000 ? 30000 : next;
    loop_timer_start(endpoint->recovery, endpoint->recovery_delay);
}

static void recovery_due(void *user)
{
    struct endpoint *endpoint = user;
    if (endpoint->look || !endpoint->down)
        return;
    if (endpoint->client->calls)
        endpoint_look(endpoint, recovery_looked);
    else
        endpoint->down = false; /* nobody waits: the next call finds out by itself */
}
