/* How servers are asked what their chat template writes, and what is believed of the answers. */
#include "core/json.h"
#include "core/mem.h"
#include "protocol/template.h"
#include "support/model_world.h"
#include "support/small_tokenizer.h"
#include "text/tokenizer/tokenizer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(array)  (sizeof(array) / sizeof *(array))
#define VLLM          "{\"data\":[{\"id\":\"m\",\"owned_by\":\"vllm\"}]}"
#define LLAMA         "{\"data\":[{\"id\":\"m\",\"owned_by\":\"llamacpp\"}]}"
#define OLLAMA        "{\"data\":[{\"id\":\"m\",\"owned_by\":\"library\"}]}"
#define UNKNOWN       "{\"data\":[{\"id\":\"m\"}]}"
#define MESSAGE_TOKEN 6 /* of a message with one word, as tokenize counts it */
#define PROMPT_TOKEN  3

/* A server that tells how it writes a chat, or does what the test says. */
struct server {
    struct http_stub *stub;
    const char *models;
    bool tokenizes, applies;
    const struct tokenizer *tokenizer; /* /tokenize gives its ids; NULL: it counts words */
    uint32_t other;                    /* added to each: another vocabulary */
    bool begins;                       /* llama.cpp puts a token in front of every prompt */
    int code;                          /* to every question, with `body`, where that is not NULL */
    const char *body;                  /* NULL: it does as said above */
    const char *extra;                 /* header lines */
    bool hangs;
    int later_code; /* to all questions but the first; 0: as the first */

    pthread_mutex_t lock;
    int tokenize_posts, apply_posts, without_key;
    char last[4096];
};

static void write_chat(const json_t *messages, struct buf *out)
{
    size_t i;
    json_t *message;
    json_array_foreach (messages, i, message)
        buf_addf(out, "<|im_start|>%s\n%s<|im_end|>\n", json_get_string(message, "role"),
                 json_get_string(message, "content"));
    buf_add_text(out, "<|im_start|>assistant\n");
}

static json_t *ids_of(const struct server *server, struct str text)
{
    struct token_ids ids;
    json_t *list = json_array();
    token_ids_init(&ids);
    tokenizer_encode(server->tokenizer, text, 0, &ids);
    for (size_t i = 0; i < ids.count; i++)
        json_push(list, json_integer(ids.ids[i] + server->other));
    token_ids_finish(&ids);
    return list;
}

static void tell_tokens(const struct server *server, const json_t *messages, json_t *answer)
{
    struct buf text;
    size_t count = json_array_size(messages) * MESSAGE_TOKEN + PROMPT_TOKEN;
    buf_init(&text, BUF_UNBOUNDED);
    write_chat(messages, &text);
    if (server->tokenizer) {
        json_t *ids = ids_of(server, buf_str(&text));
        count = json_array_size(ids);
        json_put(answer, "tokens", ids);
    }
    json_put(answer, "count", json_integer((json_int_t)count));
    json_put(answer, "max_model_len", json_integer(16384));
    buf_finish(&text);
}

static void tell_prompt(const json_t *messages, json_t *answer)
{
    struct buf text;
    buf_init(&text, BUF_UNBOUNDED);
    write_chat(messages, &text);
    json_put_str(answer, "prompt", buf_str(&text));
    buf_finish(&text);
}

static void tell(const struct server *server, const struct http_stub_request *request, struct http_stub_script *script)
{
    json_t *asked = NULL, *answer = json_object(), *messages = NULL;
    if (json_parse(request->body, &asked, NULL) == STATUS_OK)
        messages = json_object_get(asked, "messages");
    bool tokenize = str_equal(request->target, STR("/tokenize"));
    if (messages && tokenize && server->tokenizes)
        tell_tokens(server, messages, answer);
    else if (messages && !tokenize && server->applies)
        tell_prompt(messages, answer);
    else if (!messages && tokenize && server->applies)
        json_put(answer, "tokens", server->begins ? ids_of(server, STR("<s>")) : json_array());
    char *body = json_to_text(answer);
    http_stub_reply(script, json_object_size(answer) > 0 ? 200 : 404, NULL, str_of(body));
    free(body);
    json_decref(answer);
    json_decref(asked);
}

static void serve(void *user, const struct http_stub_request *request, struct http_stub_script *script)
{
    struct server *server = user;
    pthread_mutex_lock(&server->lock);
    bool first = server->tokenize_posts + server->apply_posts == 0;
    bool tokenize = str_equal(request->target, STR("/tokenize"));
    bool apply = str_equal(request->target, STR("/apply-template"));
    server->tokenize_posts += tokenize;
    server->apply_posts += apply;
    if (tokenize || apply) {
        server->without_key += !str_equal(http_stub_header(request, "Authorization"), STR("Bearer sk-test-key-1"));
        snprintf(server->last, sizeof server->last, "%.*s", STR_ARG(request->body));
    }
    if (str_equal(request->target, STR("/v1/models")))
        http_stub_reply(script, 200, NULL, str_of(server->models));
    else if (!tokenize && !apply)
        http_stub_reply(script, 404, NULL, STR("{}"));
    else if (server->hangs)
        http_stub_hang(script);
    else if (server->later_code && !first)
        http_stub_reply(script, server->later_code, NULL, STR("{}"));
    else if (server->body)
        http_stub_reply(script, server->code ? server->code : 200, server->extra, str_of(server->body));
    else
        tell(server, request, script);
    pthread_mutex_unlock(&server->lock);
}

static void on_prepared(void *user)
{
    loop_stop(user);
}

static void begin_with(struct world *world, struct server *server, const struct tokenizer *tokenizer)
{
    char url[64];
    struct error error;
    world_init(world);
    pthread_mutex_init(&server->lock, NULL);
    server->stub = http_stub_start(NULL, serve, server);
    snprintf(url, sizeof url, "http://127.0.0.1:%d/v1", http_stub_port(server->stub));
    const struct openai_endpoint endpoint = {url, "sk-test-key-1"};
    world->options.endpoints = &endpoint;
    world->options.n_endpoints = 1;
    world->options.context_window = 0;
    world->options.ask_rendering = true;
    world->options.tokenizer = tokenizer;
    assert_int_equal(openai_client_create(&world->options, &world->client, &error), STATUS_OK);
}

static void begin(struct world *world, struct server *server)
{
    begin_with(world, server, NULL);
}

static void end(struct world *world, struct server *server)
{
    world_finish(world);
    http_stub_stop(server->stub);
    pthread_mutex_destroy(&server->lock);
}

static struct openai_rendering prepare(struct world *world)
{
    struct openai_rendering rendering;
    model_prepare(world->client, on_prepared, world->loop);
    loop_run(world->loop);
    openai_rendering(world->client, &rendering);
    return rendering;
}

static void render__counts_give_what_the_template_adds(void **state)
{
    (void)state;
    struct server server = {.models = VLLM, .tokenizes = true};
    struct world world;
    begin(&world, &server);
    struct openai_rendering rendering = prepare(&world);
    assert_null(rendering.chat_template);
    assert_int_equal(rendering.message_tokens, MESSAGE_TOKEN - 1);
    assert_int_equal(rendering.prompt_tokens, PROMPT_TOKEN);
    assert_int_equal(model_window(world.client), 16384);
    assert_int_equal(server.tokenize_posts, 3);
    assert_int_equal(server.apply_posts + server.without_key, 0);
    assert_non_null(strstr(server.last, "\"model\":\"m\",\"messages\":["));
    assert_non_null(strstr(server.last, "\"add_generation_prompt\":true"));

    prepare(&world); /* nothing is asked twice */
    assert_int_equal(server.tokenize_posts, 3);
    end(&world, &server);
}

static const char *learnt(const struct openai_rendering *rendering)
{
    return rendering->chat_template ? template_name(rendering->chat_template) : "";
}

static void render__a_template_is_learnt(void **state)
{
    (void)state;
    struct small_tokenizer small;
    small_tokenizer_init(&small, SMALL_BYTES, true);
    struct server servers[] = {{.models = VLLM, .tokenizes = true, .tokenizer = small.tokenizer},
                               {.models = UNKNOWN, .tokenizes = true, .tokenizer = small.tokenizer},
                               {.models = LLAMA, .applies = true},
                               {.models = UNKNOWN, .applies = true}};
    for (size_t i = 0; i < COUNT(servers); i++) {
        struct world world;
        begin_with(&world, &servers[i], small.tokenizer);
        struct openai_rendering rendering = prepare(&world);
        assert_string_equal(learnt(&rendering), "chatml");
        assert_int_equal(servers[i].without_key, 0);
        assert_int_equal(servers[i].apply_posts, servers[i].applies ? 8 : 0);
        end(&world, &servers[i]);
    }
    small_tokenizer_finish(&small);
}

static void render__what_stands_in_front_belongs_to_it(void **state)
{
    (void)state;
    struct small_tokenizer small;
    small_tokenizer_init(&small, SMALL_BYTES, true);
    struct server server = {.models = LLAMA, .applies = true, .tokenizer = small.tokenizer, .begins = true};
    struct world world;
    begin_with(&world, &server, small.tokenizer);
    struct openai_rendering rendering = prepare(&world);
    assert_non_null(rendering.chat_template);
    struct template_pieces pieces;
    const struct template_options options = {.chat = true};
    template_pieces_init(&pieces);
    template_render(rendering.chat_template, &world.view, &options, &pieces);
    assert_true(str_starts_with(pieces.pieces[0], STR("<s>")));
    template_pieces_finish(&pieces);
    end(&world, &server);
    small_tokenizer_finish(&small);
}

/* Ids of another vocabulary are text, too, but not the text that the server has: nothing is learnt from them. */
static void render__ids_of_another_vocabulary_only_count(void **state)
{
    (void)state;
    struct small_tokenizer small;
    small_tokenizer_init(&small, SMALL_BYTES, true);
    for (uint32_t other = 1; other < 200; other += 66) {
        struct server server = {.models = VLLM, .tokenizes = true, .tokenizer = small.tokenizer, .other = other};
        struct world world;
        begin_with(&world, &server, small.tokenizer);
        struct openai_rendering rendering = prepare(&world);
        assert_null(rendering.chat_template);
        assert_true(rendering.message_tokens > 0);
        end(&world, &server);
    }
    small_tokenizer_finish(&small);
}

static void render__without_a_tokenizer_unknown_servers_are_left_alone(void **state)
{
    (void)state;
    struct server server = {.models = UNKNOWN, .tokenizes = true, .applies = true};
    struct world world;
    begin(&world, &server);
    assert_int_equal(prepare(&world).message_tokens, 0);
    assert_int_equal(server.tokenize_posts + server.apply_posts, 0);
    end(&world, &server);
}

static void render__is_asked_only_where_it_may_help(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        struct server server = {.models = i == 0 ? OLLAMA : VLLM, .tokenizes = true, .applies = true};
        struct world world;
        begin(&world, &server);
        model_client_destroy(world.client);
        char url[64];
        struct error error;
        snprintf(url, sizeof url, "http://127.0.0.1:%d/v1", http_stub_port(server.stub));
        const struct openai_endpoint endpoint = {url, NULL};
        world.options.endpoints = &endpoint;
        world.options.completions = i == 1;
        world.options.ask_rendering = i != 2;
        assert_int_equal(openai_client_create(&world.options, &world.client, &error), STATUS_OK);
        struct openai_rendering rendering = prepare(&world);
        assert_null(rendering.chat_template);
        assert_int_equal(rendering.message_tokens, 0);
        assert_int_equal(server.tokenize_posts + server.apply_posts, 0);
        end(&world, &server);
    }
}

static void render__parameters_of_the_template_are_sent(void **state)
{
    (void)state;
    struct server server = {.models = VLLM, .tokenizes = true};
    struct world world;
    begin(&world, &server);
    model_client_destroy(world.client);
    char url[64];
    struct error error;
    snprintf(url, sizeof url, "http://127.0.0.1:%d/v1", http_stub_port(server.stub));
    const struct openai_endpoint endpoint = {url, "sk-test-key-1"};
    json_t *extra =
        json_pack("{s:{s:b}, s:i, s:n}", "chat_template_kwargs", "enable_thinking", 0, "top_k", 5, "chat_template");
    world.options.endpoints = &endpoint;
    world.options.extra_body = extra;
    assert_int_equal(openai_client_create(&world.options, &world.client, &error), STATUS_OK);
    json_decref(extra);
    prepare(&world);
    assert_non_null(strstr(server.last, ",\"chat_template_kwargs\":{\"enable_thinking\":false}}"));
    assert_null(strstr(server.last, "top_k"));
    assert_null(strstr(server.last, "\"chat_template\":"));
    end(&world, &server);
}

/* Whatever a server answers: the client is prepared soon, knows nothing it should not, and asks no more. */
static void render__bad_answers_harm_nothing(void **state)
{
    (void)state;
    char *huge = mem_zalloc((size_t)2 << 20);
    memset(huge, '[', ((size_t)2 << 20) - 1);
    char *nested = mem_zalloc((size_t)400 << 10); /* below the cap of an answer, so it is read */
    memset(nested, '[', ((size_t)400 << 10) - 1);
    char *long_prompt = mem_zalloc((size_t)100 << 10);
    memset(long_prompt, 'a', ((size_t)100 << 10) - 1);
    memcpy(long_prompt, "{\"prompt\":\"", 11);
    memcpy(long_prompt + ((size_t)100 << 10) - 3, "\"}", 3);
    const struct {
        int code;
        const char *body;
    } cases[] = {
        {404, "no such path"},
        {500, "{\"count\":12}"},
        {422, "{\"detail\":[{\"msg\":\"field required\"}]}"},
        {200, ""},
        {200, "\x01\xff"},
        {200, "[]"},
        {200, "null"},
        {200, "{\"count\":-5}"},
        {200, "{\"count\":0,\"tokens\":[]}"},
        {200, "{\"count\":\"12\"}"},
        {200, "{\"count\":9223372036854775807}"},
        {200, "{\"count\":1e300}"},
        {200, "{\"count\":NaN,\"tokens\":[NaN]}"},
        {200, nested},
        {200, "{\"count\":3,\"tokens\":[1]}"},
        {200, "{\"count\":1,\"tokens\":{\"a\":1}}"},
        {200, "{\"count\":2,\"max_model_len\":-7}"},
        {200, "{\"count\":2,\"tokens\":[1,-1]}"},
        {200, "{\"count\":2,\"tokens\":[1,\"a\"]}"},
        {200, "{\"count\":2,\"tokens\":[1,4294967295]}"},
        {200, "{\"count\":2,\"tokens\":[1.5,null]}"},
        {200, "{\"count\":3,\"tokens\":[104,105,106]}"},
        {200, "{\"prompt\":7}"},
        {200, "{\"prompt\":\"\"}"},
        {200, "{\"prompt\":\"nothing of what was sent\"}"},
        {200, "{\"prompt\":\"a\\u0000b\\ud83d\\ude00\"}"},
        {200, long_prompt},
        {200, huge},
    };
    const char *const models[] = {VLLM, LLAMA, UNKNOWN};
    struct small_tokenizer small;
    small_tokenizer_init(&small, SMALL_BYTES, true);
    for (size_t i = 0; i < COUNT(cases) * COUNT(models); i++) {
        struct server server = {.models = models[i % 3], .code = cases[i / 3].code, .body = cases[i / 3].body};
        struct world world;
        begin_with(&world, &server, small.tokenizer);
        struct openai_rendering rendering = prepare(&world);
        assert_null(rendering.chat_template);
        assert_int_equal(rendering.message_tokens, 0);
        assert_int_equal(model_window(world.client), 0);
        assert_true(server.tokenize_posts <= 10);
        assert_true(server.apply_posts <= 8);
        end(&world, &server);
    }
    small_tokenizer_finish(&small);
    free(long_prompt);
    free(huge);
    free(nested);
}

static void render__later_questions_may_fail(void **state)
{
    (void)state;
    struct server servers[] = {{.models = VLLM, .tokenizes = true, .later_code = 500},
                               {.models = LLAMA, .applies = true, .later_code = 500}};
    for (size_t i = 0; i < COUNT(servers); i++) {
        struct world world;
        begin(&world, &servers[i]);
        struct openai_rendering rendering = prepare(&world);
        assert_int_equal(rendering.message_tokens, 0);
        assert_int_equal(servers[i].without_key, 0);
        end(&world, &servers[i]);
    }
}

static void render__redirects_are_not_followed(void **state)
{
    (void)state;
    struct server other = {.models = VLLM, .tokenizes = true}, server = {.models = VLLM, .code = 307, .body = ""};
    struct world world;
    char location[96];
    pthread_mutex_init(&other.lock, NULL);
    other.stub = http_stub_start("127.0.0.2", serve, &other);
    snprintf(location, sizeof location, "Location: http://127.0.0.2:%d/tokenize\r\n", http_stub_port(other.stub));
    server.extra = location;
    begin(&world, &server);
    assert_int_equal(prepare(&world).message_tokens, 0);
    assert_int_equal(http_stub_requests(other.stub), 0);
    end(&world, &server);
    http_stub_stop(other.stub);
    pthread_mutex_destroy(&other.lock);
}

static void render__a_silent_server_is_not_waited_for(void **state)
{
    (void)state;
    struct server server = {.models = VLLM, .hangs = true};
    struct world world;
    begin(&world, &server);
    int64_t began = loop_now_ms(world.loop);
    assert_int_equal(prepare(&world).message_tokens, 0);
    int64_t took = loop_now_ms(world.loop) - began;
    assert_true(took < 2900);
    assert_int_equal(server.tokenize_posts, 1);
    assert_int_equal(server.apply_posts, 0);
    end(&world, &server);
}

static void on_time(void *user)
{
    loop_stop(user);
}

static void render__the_client_may_go_before_the_answers(void **state)
{
    (void)state;
    struct server server = {.models = VLLM, .hangs = true};
    struct world world;
    begin(&world, &server);
    struct loop_timer *timer = loop_timer_create(world.loop, on_time, world.loop);
    loop_timer_start(timer, 200);
    prepare(&world); /* ended by the timer */
    assert_int_equal(server.tokenize_posts, 1);
    loop_timer_destroy(timer);
    end(&world, &server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(render__counts_give_what_the_template_adds),
        cmocka_unit_test(render__a_template_is_learnt),
        cmocka_unit_test(render__what_stands_in_front_belongs_to_it),
        cmocka_unit_test(render__ids_of_another_vocabulary_only_count),
        cmocka_unit_test(render__without_a_tokenizer_unknown_servers_are_left_alone),
        cmocka_unit_test(render__is_asked_only_where_it_may_help),
        cmocka_unit_test(render__parameters_of_the_template_are_sent),
        cmocka_unit_test(render__bad_answers_harm_nothing),
        cmocka_unit_test(render__later_questions_may_fail),
        cmocka_unit_test(render__redirects_are_not_followed),
        cmocka_unit_test(render__a_silent_server_is_not_waited_for),
        cmocka_unit_test(render__the_client_may_go_before_the_answers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
