/* src/model/openai.h
 *
 * The model client for OpenAI-compatible servers: /v1/chat/completions, or /v1/completions under a named template.
 *
 * One client speaks to a pool of endpoints that serve the same model; one endpoint is a pool of one. A session stays
 * with its endpoint (prefix caches), each endpoint has a cap of requests in flight with a queue that is fair between
 * sessions, one that fails is passed over until it has recovered. What a server does not take (a parameter, streaming)
 * is learnt once for each endpoint and left out from then on.
 *
 * Keys go to the origin they were configured with and nowhere else; no error, notice or log line holds one.
 */
#ifndef FATHOM_MODEL_OPENAI_H
#define FATHOM_MODEL_OPENAI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/json.h"
#include "core/status.h"
#include "model/client.h"
#include "net/http.h"

struct chat_template; /* protocol/template.h */
struct loop;
struct tokenizer; /* text/tokenizer/tokenizer.h */

#define OPENAI_DEFAULT_TRIES                 10
#define OPENAI_DEFAULT_IN_FLIGHT             32
#define OPENAI_DEFAULT_FIRST_BYTE_TIMEOUT_MS (600LL * 1000)
#define OPENAI_DEFAULT_STALL_TIMEOUT_MS      (120LL * 1000)
#define OPENAI_DEFAULT_DOWN_WAIT_MS          (30LL * 60 * 1000)

struct openai_endpoint {
    const char *base_url; /* "https://host/v1"; a trailing slash or "/chat/completions" is taken off. A bare origin is
                             completed to ".../v1" when the server answers there */
    const char *api_key;  /* sent as a bearer token; NULL or empty: none */
};

/* Zeroed members take the defaults. Everything is copied but loop and http. */
struct openai_options {
    struct loop *loop;        /* borrowed until destroy */
    struct http_client *http; /* borrowed until destroy */
    const struct openai_endpoint *endpoints;
    size_t n_endpoints;

    const char *model;                         /* NULL or empty: the first that the server lists */
    bool completions;                          /* /v1/completions, with `chat_template`; else /v1/chat/completions */
    const struct chat_template *chat_template; /* NULL with `completions`: chatml */
    bool template_bos, template_open_think;    /* as in struct template_options */

    /* Chat only: ask the servers, while preparing, how they write a chat (openai_rendering). `tokenizer`, borrowed
     * until destroy, is the model's and reads the ids that vLLM answers with; NULL: of those only the count is used. */
    bool ask_rendering;
    const struct tokenizer *tokenizer;

    const json_t *extra_body; /* an object, merged into every request and winning over what is there; null leaves
                                 a parameter out */
    const struct http_header *headers; /* sent with every request, to every endpoint */
    size_t n_headers;

    int64_t context_window;        /* tokens, as the user has it; 0: found out from the servers */
    int max_tries;                 /* HTTP requests for one completion that may fail, over the pool */
    int64_t first_byte_timeout_ms; /* from the request being sent to the first byte of the reply */
    int64_t stall_timeout_ms;      /* without a byte after that */
    int64_t total_timeout_ms;      /* for one try; 0: none */
    size_t max_in_flight;          /* for each endpoint */
    int64_t down_wait_ms;          /* how long a completion waits while every endpoint is down, no tries burnt. 0: the
                                      default with several endpoints; with a single one a failed connection is a failed
                                      try like others. Negative: not at all */
    int64_t discovery_timeout_ms;  /* for preparing; 0: 3 s */
    int64_t recovery_interval_ms;  /* between looks at an endpoint that is down, doubled up to 30 s; 0: 1 s */
    uint64_t chance_seed;          /* of the jitter */

    /* The wait before the next try; NULL: retry_delay_ms of net/retry.h. For tests. */
    int64_t (*retry_delay)(unsigned tries, int64_t retry_after_ms, double chance);
};

/* Creates a client, to be given to model_client_destroy. STATUS_INVALID when there is no endpoint, a base URL is no
 * http or https URL, or extra_body is no object or has `messages` or `prompt`. */
enum status openai_client_create(const struct openai_options *options, struct model_client **out,
                                 struct error *error) STATUS_CHECKED;

/* What is known of an endpoint, for diagnosis; after model_prepare. Everything borrowed until the client goes or makes
 * its next request. */
struct openai_endpoint_info {
    const char *base_url;      /* without user and password */
    const char *server;        /* "vLLM", "llama.cpp", "Ollama", …; NULL when it could not be told */
    bool answered;             /* it gave a list of models */
    const char *const *models; /* the first of them */
    size_t n_models;
    const char *model; /* what requests name; NULL when no name is known */
    bool model_listed;
    int64_t window;            /* tokens; 0 unknown */
    const struct error *error; /* why it did not answer, with the remedy; NULL when it did */
};

/* How the servers write a chat, as far as one of them told it. Servers that write it in different ways have no template
 * in common. */
struct openai_rendering {
    const struct chat_template *chat_template; /* learnt, byte for byte; NULL where none was. Borrowed until the client
                                                  goes */
    bool differ;                               /* they told different ones */
    int64_t message_tokens, prompt_tokens;     /* what the template adds to each message and once to a prompt, by the
                                                  server's count, the largest where they differ; 0 unknown */
};

/* After model_prepare. */
void openai_rendering(const struct model_client *client, struct openai_rendering *rendering);

size_t openai_endpoint_count(const struct model_client *client);
void openai_endpoint_info(const struct model_client *client, size_t index, struct openai_endpoint_info *info);

#endif
