#include "support/model_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static int64_t no_delay(unsigned tries, int64_t retry_after_ms, double chance)
{
    (void)tries, (void)chance;
    return retry_after_ms > 0 ? retry_after_ms : 1;
}

void world_init(struct world *world)
{
    *world = (struct world){.loop = loop_create()};
    world->http = http_client_create(world->loop, NULL);
    world->options = (struct openai_options){.loop = world->loop,
                                             .http = world->http,
                                             .model = "m",
                                             .retry_delay = no_delay,
                                             .chance_seed = 1,
                                             .first_byte_timeout_ms = 3000,
                                             .stall_timeout_ms = 3000,
                                             .recovery_interval_ms = 10,
                                             .context_window = 32768};
    prompt_view_init(&world->view);
    prompt_view_add(&world->view, MESSAGE_SYSTEM, STR("be \\\"good\\\""));
    prompt_view_add(&world->view, MESSAGE_USER, STR("question?\\nyes"));
}

void world_server_stop(struct world_server *server)
{
    http_stub_stop(server->stub);
    server->stub = NULL;
}

void world_finish(struct world *world)
{
    model_client_destroy(world->client);
    http_client_destroy(world->http);
    loop_destroy(world->loop);
    prompt_view_finish(&world->view);
    for (size_t i = 0; i < world->n_servers; i++) {
        struct world_server *server = &world->servers[i];
        world_server_stop(server);
        for (size_t k = 0; k < WORLD_MAX_REQUESTS; k++) {
            free(server->bodies[k]);
            free(server->paths[k]);
            free(server->get_paths[k]);
        }
        pthread_mutex_destroy(&server->lock);
    }
}

/* ---- serving ---- */

static void send_chunk(struct http_stub_script *script, struct str bytes)
{
    http_stub_sendf(script, "%zx\r\n", bytes.len);
    http_stub_send(script, bytes);
    http_stub_send(script, STR("\r\n"));
}

static void play_stream(const struct play *play, struct http_stub_script *script)
{
    struct str body = str_of(play->body);
    http_stub_sendf(script,
                    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n%s\r\n",
                    play->headers ? play->headers : "");
    if (play->mode == PLAY_BYTES) {
        for (size_t i = 0; i < body.len; i++)
            send_chunk(script, str_slice(body, i, i + 1));
    } else if (body.len) {
        send_chunk(script, body);
    }
    if (play->mode == PLAY_CUT)
        http_stub_close(script);
    else if (play->mode == PLAY_STALL || play->mode == PLAY_OPEN)
        http_stub_hang(script);
    else
        http_stub_send(script, STR("0\r\n\r\n"));
}

static void play_reply(const struct play *play, struct http_stub_script *script)
{
    switch (play->mode) {
    case PLAY_WHOLE:
        http_stub_reply(script, play->code ? play->code : 200,
                        play->headers ? play->headers : "Content-Type: application/json\r\n", str_of(play->body));
        return;
    case PLAY_SSE:
    case PLAY_CUT:
    case PLAY_STALL:
    case PLAY_BYTES:
    case PLAY_OPEN:
        play_stream(play, script);
        return;
    case PLAY_HANG:
        http_stub_hang(script);
        return;
    case PLAY_RESET:
        http_stub_reset(script);
        return;
    }
}

static void serve_get(struct world_server *server, const struct http_stub_request *request,
                      struct http_stub_script *script)
{
    if (server->n_gets < WORLD_MAX_REQUESTS)
        server->get_paths[server->n_gets++] = str_dup(request->target);
    for (size_t i = 0; i < 4; i++) {
        if (server->get_path[i] && str_equal(request->target, str_of(server->get_path[i]))) {
            http_stub_reply(script, 200, NULL, str_of(server->get_body[i]));
            return;
        }
    }
    if (str_equal(request->target, STR("/v1/models")))
        http_stub_reply(script, 200, NULL,
                        server->models ? str_of(server->models) : STR("{\"data\":[{\"id\":\"m\"}]}"));
    else
        http_stub_reply(script, 404, NULL, STR("{\"error\":{\"message\":\"no such path\"}}"));
}

static void serve(void *user, const struct http_stub_request *request, struct http_stub_script *script)
{
    struct world_server *server = user;
    pthread_mutex_lock(&server->lock);
    bool completion = str_ends_with(request->target, STR("/completions"));
    if (!completion) {
        serve_get(server, request, script);
    } else {
        size_t n = server->n_posts++;
        if (n < WORLD_MAX_REQUESTS) {
            struct str authorization = http_stub_header(request, "Authorization");
            server->bodies[n] = str_dup(request->body);
            server->paths[n] = str_dup(request->target);
            snprintf(server->authorization[n], sizeof server->authorization[n], "%.*s", STR_ARG(authorization));
        }
        if (server->pause_ms)
            http_stub_pause(script, server->pause_ms);
        play_reply(&server->plays[n < server->n_plays ? n : server->n_plays - 1], script);
    }
    pthread_mutex_unlock(&server->lock);
}

struct world_server *world_serve(struct world *world, const struct play *plays, size_t n_plays)
{
    struct world_server *server = &world->servers[world->n_servers++];
    server->plays = plays;
    server->n_plays = n_plays;
    pthread_mutex_init(&server->lock, NULL);
    server->stub = http_stub_start(NULL, serve, server);
    return server;
}

/* ---- asking ---- */

void world_client(struct world *world)
{
    struct openai_endpoint endpoints[WORLD_MAX_SERVERS];
    char urls[WORLD_MAX_SERVERS][64];
    struct error error;
    if (!world->options.endpoints) {
        for (size_t i = 0; i < world->n_servers; i++) {
            snprintf(urls[i], sizeof urls[i], "http://127.0.0.1:%d/v1", http_stub_port(world->servers[i].stub));
            endpoints[i] = (struct openai_endpoint){urls[i], i == 0 ? "sk-test-key-1" : "sk-test-key-2"};
        }
        world->options.endpoints = endpoints;
        world->options.n_endpoints = world->n_servers;
    }
    assert_int_equal(openai_client_create(&world->options, &world->client, &error), STATUS_OK);
    world->options.endpoints = NULL;
}

struct world_server *world_play(struct world *world, const struct play *plays, size_t n_plays)
{
    world_init(world);
    struct world_server *server = world_serve(world, plays, n_plays);
    world_client(world);
    return server;
}

static void on_delta(void *user, struct str text)
{
    struct watched *watched = user;
    buf_add(&watched->text, text);
    if (watched->cancel_after && ++watched->deltas == watched->cancel_after)
        model_call_cancel(watched->world->client, watched->call);
}

static bool on_restart(void *user)
{
    struct watched *watched = user;
    if (watched->keep)
        return false;
    watched->restarts++;
    buf_reset(&watched->text);
    return true;
}

static void on_notice(void *user, const struct model_notice *notice)
{
    struct watched *watched = user;
    watched->notice_count[notice->kind]++;
    buf_addf(&watched->notices, "%d: %s\n", (int)notice->kind, notice->text);
}

static void on_done(void *user, const struct model_result *result)
{
    struct watched *watched = user;
    watched->done++;
    watched->result = *result;
    snprintf(watched->served_model, sizeof watched->served_model, "%s",
             result->served_model ? result->served_model : "");
    watched->result.served_model = NULL;
    if (--watched->world->running == 0)
        loop_stop(watched->world->loop);
}

void world_start(struct world *world, struct watched *watched, uint64_t session)
{
    static const struct model_handlers handlers = {on_delta, on_restart, on_notice, on_done};
    struct model_request request = {
        .prompt = &world->view,
        .max_tokens = 1000,
        .server_stops = true,
        .session = session,
        .sampling = {.has_temperature = true, .temperature = 0.5, .has_top_k = true, .top_k = 20}};
    if (world->deadline_ms)
        request.deadline_ms = loop_now_ms(world->loop) + world->deadline_ms;
    watched->world = world;
    buf_init(&watched->text, BUF_UNBOUNDED);
    buf_init(&watched->notices, BUF_UNBOUNDED);
    world->running++;
    watched->call = model_start(world->client, &request, &handlers, watched);
    assert_int_equal(watched->done, 0);
}

void world_wait(struct world *world)
{
    if (world->running)
        loop_run(world->loop);
}

struct watched world_complete(struct world *world)
{
    struct watched watched = {0};
    world_start(world, &watched, 1);
    world_wait(world);
    assert_int_equal(watched.done, 1);
    return watched;
}

void watched_finish(struct watched *watched)
{
    buf_finish(&watched->text);
    buf_finish(&watched->notices);
}

json_t *server_sent(struct world_server *server, size_t n, const char *key)
{
    json_t *body = NULL;
    pthread_mutex_lock(&server->lock);
    assert_true(n < server->n_posts);
    assert_int_equal(json_parse(str_of(server->bodies[n]), &body, NULL), STATUS_OK);
    pthread_mutex_unlock(&server->lock);
    json_t *value = json_incref(json_object_get(body, key));
    json_decref(body);
    return value;
}

size_t server_posts(struct world_server *server)
{
    pthread_mutex_lock(&server->lock);
    size_t count = server->n_posts;
    pthread_mutex_unlock(&server->lock);
    return count;
}
