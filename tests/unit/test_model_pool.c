/* Several endpoints, their health and queues; what is found out of a server; servers that are found. */
#include "model/probe.h"
#include "support/model_world.h"

#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#define D(text) "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"" text "\"},\"finish_reason\":null}]}\n\n"
#define END     "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"

static const struct play good_a[] = {{PLAY_SSE, .body = D("a") END}};
static const struct play good_b[] = {{PLAY_SSE, .body = D("b") END}};
static const struct play failing[] = {{PLAY_WHOLE, 500, NULL, "boom"}};
static const struct play denying[] = {{PLAY_WHOLE, 401, NULL, "{}"}};

static void pool__keeps_sessions_at_their_endpoint(void **state)
{
    (void)state;
    struct world world;
    world_init(&world);
    struct world_server *a = world_serve(&world, good_a, 1), *b = world_serve(&world, good_b, 1);
    world_client(&world);
    for (uint64_t session = 1; session <= 16; session++) {
        char first = 0;
        for (int i = 0; i < 3; i++) {
            struct watched watched = {0};
            world_start(&world, &watched, session);
            world_wait(&world);
            assert_int_equal(watched.result.failure, MODEL_OK);
            assert_true(i == 0 || watched.text.data[0] == first);
            first = watched.text.data[0];
            watched_finish(&watched);
        }
    }
    /* both have some of them, and each its own key alone */
    assert_true(server_posts(a) >= 9 && server_posts(b) >= 9);
    assert_string_equal(a->authorization[0], "Bearer sk-test-key-1");
    assert_string_equal(b->authorization[0], "Bearer sk-test-key-2");
    world_finish(&world);
}

static void pool__moves_on_from_an_endpoint_that_fails(void **state)
{
    (void)state;
    static const struct {
        const struct play *plays;
        int tries;
    } cases[] = {{failing, 2}, {denying, 2}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (uint64_t session = 1; session <= 6; session++) {
            struct world world;
            world_init(&world);
            struct world_server *bad = world_serve(&world, cases[i].plays, 1);
            world_serve(&world, good_b, 1);
            world_client(&world);
            struct watched watched = {0};
            world_start(&world, &watched, session);
            world_wait(&world);
            assert_int_equal(watched.result.failure, MODEL_OK);
            assert_string_equal(watched.text.data, "b");
            assert_int_equal(watched.result.tries, 1 + (int)server_posts(bad));
            assert_true(server_posts(bad) <= 1);
            watched_finish(&watched);
            world_finish(&world);
        }
    }
}

static void pool__moves_on_from_an_endpoint_that_is_gone(void **state)
{
    (void)state;
    struct world world;
    world_init(&world);
    struct world_server *a = world_serve(&world, good_a, 1);
    world_serve(&world, good_b, 1);
    world.options.max_tries = 1;
    world_client(&world);
    struct watched watched = world_complete(&world);
    watched_finish(&watched);
    world_server_stop(a);
    for (uint64_t session = 1; session <= 8; session++) {
        struct watched one = {0};
        world_start(&world, &one, session);
        world_wait(&world);
        assert_int_equal(one.result.failure, MODEL_OK);
        assert_string_equal(one.text.data, "b");
        watched_finish(&one);
    }
    world_finish(&world);
}

static void pool__rejects_when_every_endpoint_does(void **state)
{
    (void)state;
    struct world world;
    world_init(&world);
    struct world_server *a = world_serve(&world, denying, 1), *b = world_serve(&world, denying, 1);
    world_client(&world);
    struct watched watched = world_complete(&world);
    assert_int_equal(watched.result.failure, MODEL_REJECTED);
    assert_int_equal(server_posts(a) + server_posts(b), 2);
    watched_finish(&watched);
    world_finish(&world);
}

/* A port of loopback where nothing listens: it was just given back. */
static int closed_port(void)
{
    struct http_stub *stub = http_stub_start(NULL, NULL, NULL);
    int port = http_stub_port(stub);
    http_stub_stop(stub);
    return port;
}

static void pool__waits_for_endpoints_to_come_back(void **state)
{
    (void)state;
    char one[64], two[64];
    snprintf(one, sizeof one, "http://127.0.0.1:%d/v1", closed_port());
    snprintf(two, sizeof two, "http://127.0.0.1:%d/v1", closed_port());
    struct openai_endpoint endpoints[] = {{one, NULL}, {two, NULL}};
    struct world world;
    world_init(&world);
    world.options.endpoints = endpoints;
    world.options.n_endpoints = 2;
    world.options.max_tries = 2;
    world.options.down_wait_ms = 400;
    world_client(&world);
    int64_t began = loop_now_ms(world.loop);
    struct watched watched = world_complete(&world);
    assert_int_equal(watched.result.failure, MODEL_UNAVAILABLE);
    assert_int_equal(watched.notice_count[MODEL_NOTICE_WAITING], 1);
    assert_int_equal(watched.notice_count[MODEL_NOTICE_RETRY], 0); /* no try is burnt */
    assert_true(watched.result.waited_ms >= 300);
    assert_true(loop_now_ms(world.loop) - began < 3000);
    watched_finish(&watched);
    world_finish(&world);
}

/* A server that comes up late: its port is taken from the start, but refuses connections until the thread listens. */
struct late_server {
    int descriptor, port;
    pthread_t thread;
};

static void answer_one(int connection)
{
    char request[4096];
    size_t length = 0;
    while (length < sizeof request - 1) {
        ssize_t got = recv(connection, request + length, sizeof request - 1 - length, 0);
        if (got <= 0)
            break;
        length += (size_t)got;
        request[length] = '\0';
        if (strncmp(request, "GET ", 4) == 0 ? strstr(request, "\r\n\r\n") != NULL : strstr(request, "}]}") != NULL)
            break;
    }
    const char *body = strncmp(request, "GET ", 4) == 0
                           ? "{\"data\":[{\"id\":\"m\"}]}"
                           : "{\"choices\":[{\"message\":{\"content\":\"back\"},\"finish_reason\":\"stop\"}]}";
    dprintf(connection,
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: %zu\r\n\r\n%s",
            strlen(body), body);
    close(connection);
}

static void *come_up_late(void *user)
{
    struct late_server *server = user;
    usleep(150 * 1000);
    listen(server->descriptor, 8);
    for (;;) {
        int connection = accept(server->descriptor, NULL, NULL);
        if (connection < 0)
            return NULL;
        answer_one(connection);
    }
}

static void late_server_start(struct late_server *server)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof address;
    server->descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(server->descriptor, (struct sockaddr *)&address, size), 0);
    assert_int_equal(getsockname(server->descriptor, (struct sockaddr *)&address, &size), 0);
    server->port = ntohs(address.sin_port);
    assert_int_equal(pthread_create(&server->thread, NULL, come_up_late, server), 0);
}

static void late_server_stop(struct late_server *server)
{
    shutdown(server->descriptor, SHUT_RDWR);
    pthread_join(server->thread, NULL);
    close(server->descriptor);
}

static void pool__goes_on_when_one_is_back(void **state)
{
    (void)state;
    struct late_server late;
    char one[64], two[64];
    late_server_start(&late);
    snprintf(one, sizeof one, "http://127.0.0.1:%d/v1", closed_port());
    snprintf(two, sizeof two, "http://127.0.0.1:%d/v1", late.port);
    struct openai_endpoint endpoints[] = {{one, NULL}, {two, NULL}};
    struct world world;
    world_init(&world);
    world.options.endpoints = endpoints;
    world.options.n_endpoints = 2;
    world.options.max_tries = 1;
    world_client(&world);
    struct watched watched = world_complete(&world);
    assert_int_equal(watched.result.failure, MODEL_OK);
    assert_string_equal(watched.text.data, "back");
    assert_int_equal(watched.notice_count[MODEL_NOTICE_WAITING], 1);
    assert_int_equal(watched.notice_count[MODEL_NOTICE_RESUMED], 1);
    assert_int_equal(watched.notice_count[MODEL_NOTICE_RETRY], 0);
    assert_true(watched.result.waited_ms >= 100);
    watched_finish(&watched);
    world_finish(&world);
    late_server_stop(&late);
}

static void pool__passes_over_endpoints_found_down(void **state)
{
    (void)state;
    struct world world;
    world_init(&world);
    struct world_server *server = world_serve(&world, good_a, 1);
    char one[64], two[64];
    snprintf(one, sizeof one, "http://127.0.0.1:%d/v1", closed_port());
    snprintf(two, sizeof two, "http://127.0.0.1:%d/v1", http_stub_port(server->stub));
    struct openai_endpoint endpoints[] = {{one, NULL}, {two, NULL}};
    world.options.endpoints = endpoints;
    world.options.n_endpoints = 2;
    world_client(&world);
    for (uint64_t session = 1; session <= 6; session++) {
        struct watched watched = {0};
        world_start(&world, &watched, session);
        world_wait(&world);
        assert_int_equal(watched.result.failure, MODEL_OK);
        assert_int_equal(watched.result.tries, 1);
        watched_finish(&watched);
    }
    world_finish(&world);
}

static void pool__counts_failed_connections_of_a_single_endpoint(void **state)
{
    (void)state;
    char one[64];
    snprintf(one, sizeof one, "http://127.0.0.1:%d/v1", closed_port());
    struct openai_endpoint endpoint = {one, NULL};
    struct world world;
    world_init(&world);
    world.options.endpoints = &endpoint;
    world.options.n_endpoints = 1;
    world.options.max_tries = 3;
    world_client(&world);
    struct watched watched = world_complete(&world);
    assert_int_equal(watched.result.failure, MODEL_UNAVAILABLE);
    assert_int_equal(watched.result.tries, 3);
    assert_int_equal(watched.notice_count[MODEL_NOTICE_WAITING], 0);
    watched_finish(&watched);
    world_finish(&world);
}

static void pool__caps_requests_in_flight_and_serves_sessions_in_turn(void **state)
{
    (void)state;
    static struct watched watched[12];
    struct world world;
    world_init(&world);
    memset(watched, 0, sizeof watched);
    struct world_server *server = world_serve(&world, good_a, 1);
    server->pause_ms = 30;
    world.options.max_in_flight = 1;
    world_client(&world);
    /* ten of one session are queued before two of others */
    for (size_t i = 0; i < 12; i++)
        world_start(&world, &watched[i], i < 10 ? 1 : i);
    int order[12] = {0}, finished = 0;
    while (world.running) {
        loop_turn(world.loop);
        for (size_t i = 0; i < 12; i++)
            if (watched[i].done && !order[i])
                order[i] = ++finished;
    }
    for (size_t i = 0; i < 12; i++) {
        assert_int_equal(watched[i].result.failure, MODEL_OK);
        assert_true(i >= 10 ? order[i] <= 4 : true);
    }
    assert_true(watched[9].result.waited_ms > 100);
    assert_int_equal(watched[9].notice_count[MODEL_NOTICE_WAITING], 1);
    assert_int_equal(watched[9].notice_count[MODEL_NOTICE_RESUMED], 1);
    assert_int_equal(watched[9].notice_count[MODEL_NOTICE_RETRY], 0);
    for (size_t i = 0; i < 12; i++)
        watched_finish(&watched[i]);
    world_finish(&world);
}

static void pool__cancels_in_the_queue(void **state)
{
    (void)state;
    struct watched first = {0}, second = {0};
    struct world world;
    world_init(&world);
    struct world_server *server = world_serve(&world, good_a, 1);
    server->pause_ms = 50;
    world.options.max_in_flight = 1;
    world_client(&world);
    world_start(&world, &first, 1);
    world_start(&world, &second, 2);
    while (!second.notice_count[MODEL_NOTICE_WAITING] && !first.notice_count[MODEL_NOTICE_WAITING])
        loop_turn(world.loop);
    struct watched *waiting = second.notice_count[MODEL_NOTICE_WAITING] ? &second : &first;
    struct watched *served = waiting == &second ? &first : &second;
    model_call_cancel(world.client, waiting->call);
    world_wait(&world);
    assert_int_equal(waiting->result.reason, FINISH_CANCELED);
    assert_int_equal(served->result.reason, FINISH_STOP);
    assert_int_equal(server_posts(server), 1);
    watched_finish(&first);
    watched_finish(&second);
    world_finish(&world);
}

/* ---- what is found out of a server ---- */

static void prepared(void *user)
{
    loop_stop(user);
}

static void discovery__finds_model_and_window(void **state)
{
    (void)state;
    static const struct {
        const char *models, *path, *body, *given, *server, *model;
        int64_t window;
    } cases[] = {
        {"{\"data\":[{\"id\":\"qwen\",\"owned_by\":\"vllm\",\"max_model_len\":40960}]}", NULL, NULL, NULL, "vLLM",
         "qwen", 40960},
        {"{\"data\":[{\"id\":\"a\",\"max_model_len\":1},{\"id\":\"b\",\"owned_by\":\"sglang\",\"max_model_len\":32768}]"
         "}",
         NULL, NULL, "b", "SGLang", "b", 32768},
        {"{\"data\":[{\"id\":\"g.gguf\",\"owned_by\":\"llamacpp\",\"meta\":{\"n_ctx_train\":131072}}]}", "/props",
         "{\"default_generation_settings\":{\"n_ctx\":8192},\"total_slots\":4}", NULL, "llama.cpp", "g.gguf", 8192},
        {"{\"data\":[{\"id\":\"qwen3:8b\",\"owned_by\":\"library\"},{\"id\":\"x\",\"owned_by\":\"library\"}]}",
         "/api/ps",
         "{\"models\":[{\"name\":\"x\",\"model\":\"x\",\"context_length\":1},{\"name\":\"qwen3:8b\",\"model\":\"qwen3:"
         "8b\",\"context_length\":4096}]}",
         "qwen3:8b", "Ollama", "qwen3:8b", 4096},
        {"{\"data\":[{\"id\":\"qwen3:latest\",\"owned_by\":\"library\"}]}", "/api/show",
         "{\"parameters\":\"top_k                          20\\nnum_ctx                        "
         "16384\",\"model_info\":{\"qwen3.context_length\":40960}}",
         "qwen3", "Ollama", "qwen3", 16384},
        {"{\"data\":[{\"id\":\"text-embedding-nomic\",\"owned_by\":\"organization_owner\"},{\"id\":\"qwen\",\"owned_"
         "by\":\"organization_owner\"}]}",
         "/api/v0/models",
         "{\"data\":[{\"id\":\"qwen\",\"state\":\"loaded\",\"max_context_length\":131072,\"loaded_context_length\":"
         "4096}]}",
         NULL, "LM Studio", "qwen", 4096},
        {"{\"data\":[{\"id\":\"a/b\",\"context_length\":200000,\"top_provider\":{\"context_length\":131072}}]}", NULL,
         NULL, "a/b", NULL, "a/b", 131072},
        {"{\"data\":[{\"id\":\"one\"},{\"id\":\"two\"}]}", NULL, NULL, "other", NULL, "other", 0},
        {"not json", NULL, NULL, "m", NULL, "m", 0},
        {"{\"data\":[]}", NULL, NULL, NULL, NULL, "", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct world world;
        world_init(&world);
        struct world_server *server = world_serve(&world, good_a, 1);
        server->models = cases[i].models;
        server->get_path[0] = cases[i].path;
        server->get_body[0] = cases[i].body;
        world.options.model = cases[i].given;
        world.options.context_window = 0;
        world_client(&world);
        model_prepare(world.client, prepared, world.loop);
        loop_run(world.loop);
        struct openai_endpoint_info info;
        openai_endpoint_info(world.client, 0, &info);
        assert_int_equal(model_window(world.client), cases[i].window);
        assert_string_equal(world.client->model, cases[i].model);
        if (cases[i].server)
            assert_string_equal(info.server, cases[i].server);
        assert_int_equal(info.answered, info.n_models > 0);
        assert_true(info.answered || strstr(info.error->message, "127.0.0.1"));
        assert_non_null(strstr(world.client->name, "http://127.0.0.1:"));
        world_finish(&world);
    }
}

static void discovery__completes_a_bare_origin(void **state)
{
    (void)state;
    struct world world;
    world_init(&world);
    struct world_server *server = world_serve(&world, good_a, 1);
    char url[64];
    snprintf(url, sizeof url, "http://127.0.0.1:%d/", http_stub_port(server->stub));
    struct openai_endpoint endpoint = {url, NULL};
    world.options.endpoints = &endpoint;
    world.options.n_endpoints = 1;
    world.options.model = NULL;
    world_client(&world);
    struct watched watched = world_complete(&world);
    assert_int_equal(watched.result.failure, MODEL_OK);
    assert_string_equal(server->paths[0], "/v1/chat/completions");
    assert_string_equal(server->authorization[0], "");
    assert_string_equal(world.client->model, "m");
    watched_finish(&watched);
    world_finish(&world);
}

static void discovery__tells_the_window_once_ollama_has_loaded(void **state)
{
    (void)state;
    struct world world;
    world_init(&world);
    struct world_server *server = world_serve(&world, good_a, 1);
    server->models = "{\"data\":[{\"id\":\"m\",\"owned_by\":\"library\"}]}";
    server->get_path[0] = "/api/ps";
    server->get_body[0] = "{\"models\":[]}";
    world.options.context_window = 0;
    world_client(&world);
    struct watched watched = world_complete(&world);
    assert_int_equal(model_window(world.client), 0);
    watched_finish(&watched);
    pthread_mutex_lock(&server->lock);
    server->get_body[0] = "{\"models\":[{\"model\":\"m\",\"context_length\":4096}]}";
    pthread_mutex_unlock(&server->lock);
    watched = world_complete(&world);
    watched_finish(&watched);
    for (int i = 0; i < 200 && !model_window(world.client); i++) {
        struct watched more = world_complete(&world);
        watched_finish(&more);
    }
    assert_int_equal(model_window(world.client), 4096);
    world_finish(&world);
}

static void discovery__does_not_hold_up_a_run(void **state)
{
    (void)state;
    static const struct play plays[] = {{PLAY_SSE, .body = D("a") END}};
    struct openai_endpoint endpoint = {"http://192.0.2.1:9/v1", "k"};
    struct world world;
    world_init(&world);
    world_serve(&world, plays, 1);
    world.options.discovery_timeout_ms = 100;
    world.options.endpoints = &endpoint;
    world.options.n_endpoints = 1;
    world_client(&world);
    int64_t began = loop_now_ms(world.loop);
    model_prepare(world.client, prepared, world.loop);
    loop_run(world.loop);
    assert_true(loop_now_ms(world.loop) - began < 2000);
    world_finish(&world);
}

static void client__may_go_while_it_prepares(void **state)
{
    (void)state;
    struct world world;
    world_play(&world, good_a, 1);
    model_prepare(world.client, prepared, world.loop);
    loop_turn(world.loop);
    world_finish(&world);
}

static void client__refuses_bad_options(void **state)
{
    (void)state;
    static const char *const urls[] = {"", "localhost:8000/v1", "ftp://host/v1", "http://"};
    struct world world;
    world_init(&world);
    for (size_t i = 0; i < sizeof urls / sizeof *urls; i++) {
        struct openai_endpoint endpoint = {urls[i], NULL};
        struct openai_options options = {
            .loop = world.loop, .http = world.http, .endpoints = &endpoint, .n_endpoints = 1};
        struct error error;
        struct model_client *client;
        assert_int_not_equal(openai_client_create(&options, &client, &error), STATUS_OK);
        assert_true(error.message[0] != '\0');
    }
    world_finish(&world);
}

/* ---- probing ---- */

struct probing {
    struct loop *loop;
    char found[256];
    int done;
};

static void probed(void *user, const struct probe_found *found, size_t n_found)
{
    struct probing *probing = user;
    probing->done++;
    for (size_t i = 0; i < n_found; i++) {
        size_t used = strlen(probing->found);
        snprintf(probing->found + used, sizeof probing->found - used, "%s:%s ", found[i].server, found[i].model);
    }
    loop_stop(probing->loop);
}

static void probe__finds_what_lists_a_model(void **state)
{
    (void)state;
    struct world world;
    world_init(&world);
    struct world_server *none = world_serve(&world, good_a, 1), *html = world_serve(&world, good_a, 1),
                        *real = world_serve(&world, good_a, 1);
    none->models = "{\"object\":\"list\",\"data\":[]}";
    html->models = "<html>hello</html>";
    char urls[4][64];
    snprintf(urls[0], sizeof urls[0], "http://127.0.0.1:%d/v1", closed_port());
    for (size_t i = 0; i < 3; i++)
        snprintf(urls[i + 1], sizeof urls[0], "http://127.0.0.1:%d/v1", http_stub_port(world.servers[i].stub));
    const struct probe_target targets[] = {
        {"closed", urls[0]}, {"none", urls[1]}, {"html", urls[2]}, {"real", urls[3]}};
    struct probe_options options = {.targets = targets, .n_targets = 4, .timeout_ms = 2000};
    struct probing probing = {.loop = world.loop};
    probe_start(world.loop, world.http, &options, probed, &probing);
    assert_int_equal(probing.done, 0);
    loop_run(world.loop);
    assert_int_equal(probing.done, 1);
    assert_string_equal(probing.found, "real:m ");
    assert_int_equal(real->n_gets, 1);

    /* cancelled: done still comes */
    probing = (struct probing){.loop = world.loop};
    probe_cancel(probe_start(world.loop, world.http, &options, probed, &probing));
    loop_run(world.loop);
    assert_int_equal(probing.done, 1);
    world_finish(&world);

    size_t count;
    const struct probe_target *usual = probe_default_targets(&count);
    assert_int_equal(count, 5);
    assert_string_equal(usual[0].base_url, "http://127.0.0.1:8000/v1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pool__keeps_sessions_at_their_endpoint),
        cmocka_unit_test(pool__moves_on_from_an_endpoint_that_fails),
        cmocka_unit_test(pool__moves_on_from_an_endpoint_that_is_gone),
        cmocka_unit_test(pool__rejects_when_every_endpoint_does),
        cmocka_unit_test(pool__waits_for_endpoints_to_come_back),
        cmocka_unit_test(pool__goes_on_when_one_is_back),
        cmocka_unit_test(pool__passes_over_endpoints_found_down),
        cmocka_unit_test(pool__counts_failed_connections_of_a_single_endpoint),
        cmocka_unit_test(pool__caps_requests_in_flight_and_serves_sessions_in_turn),
        cmocka_unit_test(pool__cancels_in_the_queue),
        cmocka_unit_test(discovery__finds_model_and_window),
        cmocka_unit_test(discovery__completes_a_bare_origin),
        cmocka_unit_test(discovery__tells_the_window_once_ollama_has_loaded),
        cmocka_unit_test(discovery__does_not_hold_up_a_run),
        cmocka_unit_test(client__may_go_while_it_prepares),
        cmocka_unit_test(client__refuses_bad_options),
        cmocka_unit_test(probe__finds_what_lists_a_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
