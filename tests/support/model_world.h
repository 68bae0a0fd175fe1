/* tests/support/model_world.h
 *
 * A model client, the loop it runs on, and scripted servers for it to speak to.
 */
#ifndef FATHOM_TESTS_MODEL_WORLD_H
#define FATHOM_TESTS_MODEL_WORLD_H

#include <pthread.h>
#include <stdbool.h>

#include "core/buf.h"
#include "loop/loop.h"
#include "model/openai.h"
#include "net/http.h"
#include "protocol/prompt_view.h"
#include "support/http_stub.h"

#define WORLD_MAX_SERVERS  3
#define WORLD_MAX_REQUESTS 64

enum play_mode {
    PLAY_WHOLE, /* `body` with Content-Length; JSON unless `headers` say otherwise */
    PLAY_SSE,   /* `body` as an event stream, chunked, complete */
    PLAY_CUT,   /* the same, but the connection breaks behind `body` */
    PLAY_STALL, /* the same, but nothing follows `body` and the connection stays open */
    PLAY_BYTES, /* the same as PLAY_SSE, one byte at a time */
    PLAY_HANG,  /* no response at all */
    PLAY_RESET, /* the connection is reset */
    PLAY_OPEN,  /* PLAY_SSE without the end of the body: the server does not close */
};

/* One reply to a completion request. */
struct play {
    enum play_mode mode;
    int code; /* 0: 200 */
    const char *headers, *body;
};

struct world_server {
    struct http_stub *stub;
    const struct play *plays; /* in order; the last serves all that follow */
    size_t n_plays;
    const char *models; /* reply to GET …/models; NULL: one model "m" */
    const char *get_path[4], *get_body[4];
    int pause_ms; /* before every reply */

    pthread_mutex_t lock;
    size_t n_posts, n_gets;
    char *bodies[WORLD_MAX_REQUESTS], *paths[WORLD_MAX_REQUESTS];
    char authorization[WORLD_MAX_REQUESTS][64];
    char *get_paths[WORLD_MAX_REQUESTS];
    int in_flight, most_in_flight;
};

/* What a completion came to. */
struct watched {
    struct world *world;
    struct buf text;    /* delivered since the last restart */
    struct buf notices; /* "kind: text\n" */
    int restarts, done, notice_count[8];
    bool keep;        /* refuse restarts */
    int cancel_after; /* deltas; 0: never */
    int deltas;
    struct model_call *call;
    struct model_result result;
    char served_model[64];
};

struct world {
    struct loop *loop;
    struct http_client *http;
    struct world_server servers[WORLD_MAX_SERVERS];
    size_t n_servers;
    struct openai_options options; /* changed by the test before world_client */
    struct model_client *client;
    struct prompt_view view;
    int64_t deadline_ms; /* of every completion, from its start; 0: none */
    int running;         /* completions whose done stops the loop when it reaches 0 */
};

void world_init(struct world *world);
void world_finish(struct world *world);

/* Starts a server that plays `plays`. */
struct world_server *world_serve(struct world *world, const struct play *plays, size_t n_plays);
void world_server_stop(struct world_server *server); /* also forgets nothing of what it saw */

/* Makes the client of all servers (base URL "http://127.0.0.1:PORT/v1"), with waits of 1 ms between tries. */
void world_client(struct world *world);

/* The usual world: world_init, one server with these plays, and its client. */
struct world_server *world_play(struct world *world, const struct play *plays, size_t n_plays);

void world_start(struct world *world, struct watched *watched, uint64_t session);
void world_wait(struct world *world); /* until every started completion is done */

/* Starts one and waits for it. Free with watched_finish. */
struct watched world_complete(struct world *world);
void watched_finish(struct watched *watched);

/* A member of the n-th request (from 0) that a server got: new reference, NULL when absent. */
json_t *server_sent(struct world_server *server, size_t n, const char *key);
size_t server_posts(struct world_server *server);

#endif
