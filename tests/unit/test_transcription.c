/* The transcription client against a scripted service: the form it sends, its tries, and its ends. Base64 and images in
 * a request beside it. */
#include "core/base64.h"
#include "core/mem.h"
#include "loop/loop.h"
#include "model/client.h"
#include "model/request.h"
#include "model/transcription.h"
#include "net/http.h"
#include "protocol/prompt_view.h"
#include "support/http_stub.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define KEY "sk-very-secret-key"

struct answer {
    int code; /* 0: the connection is reset; -1: nothing comes */
    const char *headers, *body;
};

struct world {
    struct loop *loop;
    struct http_client *http;
    struct http_stub *stub;
    struct transcription_client *client;
    const struct answer *answers; /* the last serves all that follow */
    size_t n_answers;
    atomic_int in_flight, most;
    char form[4096], authorization[64], target[64]; /* of the last request */
    size_t done;
};

static void serve(void *user, const struct http_stub_request *request, struct http_stub_script *script)
{
    struct world *world = user;
    size_t index = (size_t)request->number - 1;
    const struct answer *answer = &world->answers[index < world->n_answers ? index : world->n_answers - 1];
    snprintf(world->form, sizeof world->form, "%.*s", STR_ARG(request->body));
    snprintf(world->target, sizeof world->target, "%.*s", STR_ARG(request->target));
    snprintf(world->authorization, sizeof world->authorization, "%.*s",
             STR_ARG(http_stub_header(request, "authorization")));
    if (answer->code == 0)
        http_stub_reset(script);
    else if (answer->code < 0)
        http_stub_hang(script);
    else
        http_stub_reply(script, answer->code, answer->headers, str_of(answer->body));
}

static int64_t at_once(unsigned tries, int64_t retry_after_ms, double chance)
{
    (void)tries;
    (void)chance;
    return retry_after_ms > 0 ? 5 : 1;
}

static void world_init(struct world *world, const struct answer *answers, size_t n_answers)
{
    *world = (struct world){.loop = loop_create(), .answers = answers, .n_answers = n_answers};
    world->http = http_client_create(world->loop, NULL);
    world->stub = http_stub_start(NULL, serve, world);
    char *url = mem_printf("http://127.0.0.1:%d", http_stub_port(world->stub));
    const struct transcription_options options = {.loop = world->loop,
                                                  .http = world->http,
                                                  .base_url = url,
                                                  .api_key = KEY,
                                                  .model = "whisper-1",
                                                  .max_tries = 3,
                                                  .max_in_flight = 1,
                                                  .retry_delay = at_once};
    assert_int_equal(transcription_client_create(&options, &world->client, NULL), STATUS_OK);
    free(url);
}

static void world_finish(struct world *world)
{
    transcription_client_destroy(world->client);
    http_client_destroy(world->http);
    loop_destroy(world->loop);
    http_stub_stop(world->stub);
}

struct outcome {
    struct world *world;
    size_t count;
    enum status status;
    char *text;
    struct error error;
    struct usage usage;
    int tries;
};

static void on_done(void *user, const struct transcription_result *result)
{
    struct outcome *outcome = user;
    outcome->count++;
    outcome->status = result->status;
    outcome->text = str_dup(result->text);
    outcome->error = result->error;
    outcome->usage = result->usage;
    outcome->tries = result->tries;
    outcome->world->done++;
}

static struct transcription_call *start(struct world *world, struct str bytes, struct outcome *outcome)
{
    const struct transcription_sound sound = {bytes, STR("sound.mp3"), STR("audio/mpeg")};
    *outcome = (struct outcome){.world = world};
    return transcription_start(world->client, &sound, on_done, outcome);
}

static void wait_for(struct world *world, size_t count)
{
    int64_t began = loop_now_ms(world->loop);
    while (world->done < count && loop_now_ms(world->loop) - began < 20000) {
        loop_turn(world->loop);
        usleep(500);
    }
    assert_int_equal(world->done, count);
}

static void transcription__sends_a_form_and_reads_the_text(void **state)
{
    (void)state;
    static const struct answer answers[] = {
        {200, NULL,
         "{\"text\": \" Said. \", \"usage\": {\"type\": \"tokens\", \"input_tokens\": 12, \"output_tokens\": 3}}"}};
    struct world world;
    struct outcome outcome;
    world_init(&world, answers, 1);
    start(&world, STR("--sound\r\n--"), &outcome);
    assert_int_equal(outcome.count, 0); /* never from inside */
    wait_for(&world, 1);
    assert_int_equal(outcome.status, STATUS_OK);
    assert_string_equal(outcome.text, " Said. ");
    assert_int_equal(outcome.usage.prompt, 12);
    assert_int_equal(outcome.usage.completion, 3);
    assert_string_equal(world.target, "/v1/audio/transcriptions");
    assert_string_equal(world.authorization, "Bearer " KEY);
    assert_non_null(strstr(world.form, "name=\"model\"\r\n\r\nwhisper-1\r\n"));
    assert_non_null(strstr(world.form, "name=\"response_format\"\r\n\r\njson\r\n"));
    assert_non_null(
        strstr(world.form, "filename=\"sound.mp3\"\r\nContent-Type: audio/mpeg\r\n\r\n--sound\r\n--\r\n--"));
    assert_null(strstr(world.form, "language"));
    free(outcome.text);
    world_finish(&world);
}

static void transcription__judges_what_comes_back(void **state)
{
    (void)state;
    static const struct {
        struct answer answers[3];
        size_t n_answers;
        enum status status;
        int tries;
    } cases[] = {
        {{{503, NULL, "busy"}, {429, "Retry-After: 1\r\n", "{}"}, {200, NULL, "{\"text\":\"x\"}"}}, 3, STATUS_OK, 3},
        {{{0, NULL, NULL}, {200, NULL, "{\"text\":\"x\"}"}}, 2, STATUS_OK, 2},
        {{{500, NULL, "no"}}, 1, STATUS_NETWORK, 3},
        {{{401, NULL, "{\"error\":{\"message\":\"bad key " KEY "\"}}"}}, 1, STATUS_DENIED, 1},
        {{{404, NULL, "{}"}}, 1, STATUS_DENIED, 1},
        {{{413, NULL, "{}"}}, 1, STATUS_TOO_BIG, 1},
        {{{400, NULL, "{\"error\":{\"message\":\"unknown format\"}}"}}, 1, STATUS_DENIED, 1},
        {{{200, NULL, "<html>"}}, 1, STATUS_NETWORK, 1},
        {{{200, NULL, "{\"text\": 7}"}}, 1, STATUS_NETWORK, 1},
        {{{200, NULL, ""}}, 1, STATUS_NETWORK, 1},
        {{{302, "Location: http://127.0.0.1:1/\r\n", ""}}, 1, STATUS_DENIED, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct world world;
        struct outcome outcome;
        world_init(&world, cases[i].answers, cases[i].n_answers);
        start(&world, STR("sound"), &outcome);
        wait_for(&world, 1);
        if (outcome.status != cases[i].status || outcome.tries != cases[i].tries)
            fail_msg("case %zu gives %d after %d tries: %s", i, outcome.status, outcome.tries, outcome.error.message);
        assert_int_equal(outcome.count, 1);
        assert_null(strstr(outcome.error.message, KEY));
        if (outcome.status != STATUS_OK)
            assert_true(outcome.error.message[0] != '\0');
        free(outcome.text);
        world_finish(&world);
    }
}

static void transcription__refuses_what_no_service_takes(void **state)
{
    (void)state;
    static const struct answer answers[] = {{200, NULL, "{\"text\":\"x\"}"}};
    struct world world;
    struct outcome outcome;
    char *large = mem_zalloc(TRANSCRIPTION_MAX_BYTES + 1);
    world_init(&world, answers, 1);
    start(&world, str_make(large, TRANSCRIPTION_MAX_BYTES + 1), &outcome);
    wait_for(&world, 1);
    assert_int_equal(outcome.status, STATUS_TOO_BIG);
    assert_int_equal(http_stub_requests(world.stub), 0);
    free(outcome.text);
    free(large);
    world_finish(&world);
}

static void transcription__is_canceled_wherever_it_is(void **state)
{
    (void)state;
    static const struct answer answers[] = {{-1, NULL, NULL}};
    struct world world;
    struct outcome outcomes[3];
    world_init(&world, answers, 1);
    struct transcription_call *calls[3];
    for (size_t i = 0; i < 3; i++) /* one under way, two in the queue */
        calls[i] = start(&world, STR("sound"), &outcomes[i]);
    transcription_cancel(calls[1]);
    wait_for(&world, 1);
    assert_int_equal(outcomes[1].count, 1);
    for (int i = 0; i < 50 && http_stub_requests(world.stub) == 0; i++) {
        loop_turn(world.loop);
        usleep(2000);
    }
    transcription_cancel(calls[0]);
    transcription_cancel(calls[0]);
    wait_for(&world, 2);
    transcription_cancel(calls[2]);
    wait_for(&world, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(outcomes[i].count, 1);
        assert_int_equal(outcomes[i].status, STATUS_CANCELED);
        free(outcomes[i].text);
    }
    world_finish(&world);
}

static void transcription__knows_addresses(void **state)
{
    (void)state;
    static const struct {
        const char *url, *name; /* NULL: refused */
    } cases[] = {
        {"https://api.example.org", "m at api.example.org/v1"},
        {"https://api.example.org/", "m at api.example.org/v1"},
        {"http://127.0.0.1:8080/openai/v1/", "m at 127.0.0.1:8080"},
        {"https://user:pass@example.org/v1/audio/transcriptions", "m at example.org"},
        {"ftp://example.org/v1", NULL},
        {"example.org", NULL},
        {"", NULL},
    };
    struct loop *loop = loop_create();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct transcription_options options = {.loop = loop, .base_url = cases[i].url, .model = "m"};
        struct transcription_client *client = NULL;
        enum status status = transcription_client_create(&options, &client, NULL);
        assert_int_equal(status, cases[i].name ? STATUS_OK : STATUS_INVALID);
        if (client)
            assert_string_equal(transcription_client_name(client), cases[i].name);
        transcription_client_destroy(client);
    }
    const struct transcription_options no_model = {.loop = loop, .base_url = "http://127.0.0.1/v1"};
    struct transcription_client *client = NULL;
    assert_int_equal(transcription_client_create(&no_model, &client, NULL), STATUS_INVALID);
    loop_destroy(loop);
}

static void base64__is_as_in_the_rfc(void **state)
{
    (void)state;
    static const char *const vectors[][2] = {{"", ""},
                                             {"f", "Zg=="},
                                             {"fo", "Zm8="},
                                             {"foo", "Zm9v"},
                                             {"foob", "Zm9vYg=="},
                                             {"fooba", "Zm9vYmE="},
                                             {"foobar", "Zm9vYmFy"},
                                             {"\xFF\xFE\xFD", "//79"}};
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
        struct buf out;
        buf_init(&out, BUF_UNBOUNDED);
        assert_int_equal(base64_append(&out, str_of(vectors[i][0])), STATUS_OK);
        assert_string_equal(out.data ? out.data : "", vectors[i][1]);
        buf_finish(&out);
    }
    struct buf small;
    buf_init(&small, 3);
    assert_int_equal(base64_append(&small, STR("foo")), STATUS_TOO_BIG);
    assert_int_equal(small.len, 0);
    buf_finish(&small);
}

static void request__shows_an_image_with_the_last_message(void **state)
{
    (void)state;
    struct prompt_view view;
    prompt_view_init(&view);
    prompt_view_add(&view, MESSAGE_SYSTEM, STR("sys"));
    prompt_view_add(&view, MESSAGE_USER, STR("what is \\\"this\\\"?"));
    const struct model_image image = {STR("image/png"), STR("AAEC")};
    for (int folded = 0; folded < 2; folded++) {
        struct model_request request = {.prompt = &view, .image = &image, .max_tokens = 5};
        struct request_form form = {.model = "m"};
        struct request_habits habits = {.fold_system = folded};
        struct request_body body;
        char text[2000];
        request_body_init(&body, &form, &habits, &request);
        size_t length = request_body_read(&body, 0, text, sizeof text);
        json_t *json = NULL;
        assert_int_equal(json_parse(str_make(text, length), &json, NULL), STATUS_OK);
        const json_t *messages = json_object_get(json, "messages");
        const json_t *last = json_array_get(messages, json_array_size(messages) - 1);
        const json_t *words = json_array_get(json_object_get(last, "content"), 0);
        const json_t *shown = json_array_get(json_object_get(last, "content"), 1);
        assert_string_equal(json_get_string(words, "type"), "text");
        assert_string_equal(json_get_string(words, "text"), folded ? "sys\n\nwhat is \"this\"?" : "what is \"this\"?");
        assert_string_equal(json_get_string(shown, "type"), "image_url");
        assert_string_equal(json_get_string(json_object_get(shown, "image_url"), "url"), "data:image/png;base64,AAEC");
        json_decref(json);
        request_body_finish(&body);
    }
    prompt_view_finish(&view);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(transcription__sends_a_form_and_reads_the_text),
        cmocka_unit_test(transcription__judges_what_comes_back),
        cmocka_unit_test(transcription__refuses_what_no_service_takes),
        cmocka_unit_test(transcription__is_canceled_wherever_it_is),
        cmocka_unit_test(transcription__knows_addresses),
        cmocka_unit_test(base64__is_as_in_the_rfc),
        cmocka_unit_test(request__shows_an_image_with_the_last_message),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
