#include "model/probe.h"

#include <stdbool.h>
#include <stdlib.h>

#include "core/json.h"
#include "core/mem.h"
#include "loop/loop.h"
#include "net/http.h"

#define MAX_ANSWER ((size_t)4 * 1024 * 1024)

struct probed {
    struct probe *probe;
    char *server, *base_url, *model;
    struct http_request *request;
};

struct probe {
    struct probed *targets;
    size_t n_targets, pending;
    probe_done_fn done;
    void *user;
};

const struct probe_target *probe_default_targets(size_t *count)
{
    static const struct probe_target targets[] = {
        {"vLLM", "http://127.0.0.1:8000/v1"},    {"llama.cpp", "http://127.0.0.1:8080/v1"},
        {"Ollama", "http://127.0.0.1:11434/v1"}, {"LM Studio", "http://127.0.0.1:1234/v1"},
        {"SGLang", "http://127.0.0.1:30000/v1"},
    };
    *count = sizeof targets / sizeof *targets;
    return targets;
}

static void probe_end(struct probe *probe)
{
    struct probe_found *found = mem_calloc(probe->n_targets, sizeof *found);
    size_t n_found = 0;
    for (size_t i = 0; i < probe->n_targets; i++)
        if (probe->targets[i].model)
            found[n_found++] =
                (struct probe_found){probe->targets[i].server, probe->targets[i].base_url, probe->targets[i].model};
    probe->done(probe->user, found, n_found);
    free(found);
    for (size_t i = 0; i < probe->n_targets; i++) {
        free(probe->targets[i].server);
        free(probe->targets[i].base_url);
        free(probe->targets[i].model);
    }
    free(probe->targets);
    free(probe);
}

/* A program that happens to listen on the port does not answer with a list of models. */
static void answered(void *user, struct http_response *response)
{
    struct probed *probed = user;
    json_t *answer = NULL;
    probed->request = NULL;
    if (response->status == STATUS_OK && response->code == 200 &&
        json_parse(buf_str(&response->body), &answer, NULL) == STATUS_OK) {
        const char *model = json_get_string(json_array_get(json_object_get(answer, "data"), 0), "id");
        if (model && *model)
            probed->model = mem_strdup(model);
        json_decref(answer);
    }
    if (--probed->probe->pending == 0)
        probe_end(probed->probe);
}

struct probe *probe_start(struct loop *loop, struct http_client *http, const struct probe_options *options,
                          probe_done_fn done, void *user)
{
    static const struct probe_options defaults;
    (void)loop;
    if (!options)
        options = &defaults;
    size_t count = options->n_targets;
    const struct probe_target *targets = options->targets ? options->targets : probe_default_targets(&count);
    int64_t timeout = options->timeout_ms > 0 ? options->timeout_ms : PROBE_DEFAULT_TIMEOUT_MS;
    struct probe *probe = mem_zalloc(sizeof *probe);
    *probe = (struct probe){.targets = mem_calloc(count, sizeof *probe->targets), .n_targets = count, .pending = count};
    probe->done = done;
    probe->user = user;
    for (size_t i = 0; i < count; i++) {
        struct probed *probed = &probe->targets[i];
        *probed = (struct probed){probe, mem_strdup(targets[i].server), mem_strdup(targets[i].base_url), NULL, NULL};
        char *url = mem_printf("%s/models", probed->base_url);
        struct http_options request = {.traffic = HTTP_CONFIGURED,
                                       .url = url,
                                       .connect_timeout_ms = timeout,
                                       .total_timeout_ms = timeout,
                                       .max_body = MAX_ANSWER};
        probed->request = http_request_start(http, &request, answered, probed);
        free(url);
    }
    return probe;
}

void probe_cancel(struct probe *probe)
{
    for (size_t i = 0; i < probe->n_targets; i++)
        if (probe->targets[i].request)
            http_request_cancel(probe->targets[i].request);
}
