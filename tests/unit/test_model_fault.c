/* What the refusals of model servers mean. Wordings are those the servers use. */
#include "model/fault.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static const char *const secrets[] = {"sk-secret-1234567890", "header secret value"};

static struct fault fault_of(int code, const char *body, const json_t *sent)
{
    static const char *const models[] = {"qwen3-8b", "qwen3-32b"};
    struct fault_scene scene = {.host = "host:8000",
                                .model = "qwen",
                                .sent = sent,
                                .key_sent = true,
                                .secrets = secrets,
                                .n_secrets = 2,
                                .models = models,
                                .n_models = 2};
    struct fault fault;
    fault_of_response(&scene, code, str_of(body), &fault);
    return fault;
}

static void fault__learns_the_window_in_every_servers_words(void **state)
{
    (void)state;
    static const struct {
        int code;
        const char *body;
        int64_t window;
    } cases[] = {
        /* OpenAI */
        {400,
         "{\"error\":{\"message\":\"This model's maximum context length is 8192 tokens. However, your messages "
         "resulted in 8545 "
         "tokens. Please reduce the length of the "
         "messages.\",\"type\":\"invalid_request_error\",\"param\":\"messages\",\"code\":"
         "\"context_length_exceeded\"}}",
         8192},
        {400,
         "{\"error\":{\"message\":\"Your input exceeds the context window of this "
         "model.\",\"code\":\"context_length_exceeded\"}}",
         0},
        /* vLLM, old and new */
        {400,
         "{\"object\":\"error\",\"message\":\"This model's maximum context length is 16384 tokens. However, you "
         "requested 19591 tokens (9591 in the messages, 10000 in the completion). Please reduce the length of the "
         "messages or completion.\",\"type\":\"BadRequestError\",\"param\":null,\"code\":400}",
         16384},
        {400,
         "{\"error\":{\"message\":\"'max_tokens' or 'max_completion_tokens' is too large: 10000. This model's maximum "
         "context length is "
         "4096 tokens and your request has 3000 input tokens (10000 > 4096 - "
         "3000).\",\"type\":\"BadRequestError\",\"param\":null,"
         "\"code\":400}}",
         4096},
        {400, "{\"object\":\"error\",\"message\":\"max_tokens must be at least 1, got -186.\",\"code\":400}", 0},
        {400,
         "{\"error\":{\"message\":\"The decoder prompt (length 40001) is longer than the maximum model length of "
         "32768. Make sure that "
         "`max_model_len` is no smaller than the number of text tokens.\"}}",
         32768},
        /* SGLang */
        {400,
         "{\"object\":\"error\",\"message\":\"The input (61709 tokens) is longer than the model's context length "
         "(40960 tokens).\","
         "\"type\":\"BadRequestError\",\"param\":null,\"code\":400}",
         40960},
        {400,
         "{\"object\":\"error\",\"message\":\"Requested token count exceeds the model's maximum context length of "
         "202752 tokens. You "
         "requested a total of 202941 tokens: 170941 tokens from the input messages and 32000 tokens for the "
         "completion.\"}",
         202752},
        /* llama.cpp */
        {400,
         "{\"error\":{\"code\":400,\"message\":\"the request exceeds the available context size. try increasing the "
         "context size or enable context "
         "shift\",\"type\":\"exceed_context_size_error\",\"n_prompt_tokens\":14429,\"n_ctx\":8192}}",
         8192},
        {400,
         "{\"error\":{\"code\":400,\"message\":\"request (14429 tokens) exceeds the available context size (8192 "
         "tokens), try increasing "
         "it\",\"type\":\"exceed_context_size_error\"}}",
         8192},
        {500, "{\"error\":{\"message\":\"Requested tokens (516) exceed context window of 512\"}}", 512},
        /* LM Studio */
        {400, "{\"error\":\"Cannot truncate prompt with n_keep (15028) >= n_ctx (7424)\"}", 7424},
        {400,
         "{\"error\":\"Trying to keep the first 111490 tokens when context the overflows. However, the model is loaded "
         "with context length of only 32768 tokens, which is not enough.\"}",
         32768},
        {400,
         "{\"error\":\"The number of tokens to keep from the initial prompt is greater than the context length.\"}", 0},
        /* Anthropic's words */
        {400,
         "{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"prompt is too long: 213462 "
         "tokens > 200000 maximum\"}}",
         200000},
        {400,
         "{\"error\":{\"message\":\"input length and `max_tokens` exceed context limit: 174167 + 64000 > 200000, "
         "decrease input length\"}}",
         200000},
        /* Gemini, and its habit of a list */
        {400,
         "[{\"error\":{\"code\":400,\"message\":\"The input token count (132478) exceeds the maximum number of tokens "
         "allowed (131072).\",\"status\":\"INVALID_ARGUMENT\"}}]",
         131072},
        /* a proxy's JSON in JSON */
        {400,
         "{\"error\":{\"message\":\"{\\\"error\\\":{\\\"message\\\":\\\"The input token count (9) exceeds the maximum "
         "number of tokens "
         "allowed (8).\\\"}}\",\"code\":400}}",
         8},
        /* TGI, Mistral, xAI, DashScope, Moonshot, Cerebras, Fireworks, Ollama */
        {422,
         "{\"error\":\"Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 4000 "
         "`inputs` tokens and 1024 "
         "`max_new_tokens`\",\"error_type\":\"validation\"}",
         4096},
        {400,
         "{\"object\":\"error\",\"message\":\"Prompt contains 40213 tokens and 0 draft tokens, too large for model "
         "with 32768 maximum "
         "context length\",\"code\":3051}",
         32768},
        {400, "{\"error\":\"This model's maximum prompt length is 131072 but the request contains 537812 tokens.\"}",
         131072},
        {400,
         "{\"error\":{\"message\":\"Range of input length should be [1, "
         "98304]\",\"code\":\"invalid_parameter_error\"}}",
         98304},
        {400, "{\"error\":{\"message\":\"Invalid request: Your request exceeded model token limit: 131072\"}}", 131072},
        {400,
         "{\"message\":\"Please reduce the length of the messages or completion. Current length is 9001 while limit is "
         "8192\"}",
         8192},
        {400, "{\"error\":{\"message\":\"The prompt is too long: 40000, model maximum context length: 32,767\"}}",
         32767},
        {413, "{\"error\":{\"message\":\"prompt is too long\"}}", 0},
        {500, "{\"error\":{\"message\":\"input length exceeds the context length\"}}", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fault fault = fault_of(cases[i].code, cases[i].body, NULL);
        if (fault.kind != FAULT_CONTEXT || fault.limit != cases[i].window)
            print_error("case %zu: kind %d, window %lld: %s\n", i, (int)fault.kind, (long long)fault.limit,
                        cases[i].body);
        assert_int_equal(fault.kind, FAULT_CONTEXT);
        assert_int_equal(fault.limit, cases[i].window);
    }
}

static void fault__names_refused_parameters(void **state)
{
    (void)state;
    static const struct {
        int code;
        const char *body, *parameter;
    } cases[] = {
        {400,
         "{\"error\":{\"message\":\"Unsupported parameter: 'max_tokens' is not supported with this model. Use "
         "'max_completion_tokens' "
         "instead.\",\"type\":\"invalid_request_error\",\"param\":\"max_tokens\",\"code\":\"unsupported_parameter\"}}",
         "max_tokens"},
        {400,
         "{\"error\":{\"message\":\"Unsupported value: 'temperature' does not support 0.6 with this model. Only the "
         "default (1) value is "
         "supported.\",\"param\":\"temperature\",\"code\":\"unsupported_value\"}}",
         "temperature"},
        {400,
         "{\"error\":{\"message\":\"Unrecognized request argument supplied: "
         "top_k\",\"type\":\"invalid_request_error\"}}",
         "top_k"},
        {422,
         "{\"detail\":[{\"type\":\"extra_forbidden\",\"loc\":[\"body\",\"min_p\"],\"msg\":\"Extra inputs are not "
         "permitted\",\"input\":0.1}]}",
         "min_p"},
        {400, "{\"error\":{\"message\":\"property 'repetition_penalty' is unsupported\"}}", "repetition_penalty"},
        {400,
         "{\"error\":{\"message\":\"Invalid JSON payload received. Unknown name \\\"presence_penalty\\\": Cannot find "
         "field.\"}}",
         "presence_penalty"},
        {400, "{\"error\":{\"message\":\"stream_options: unknown field\"}}", "stream_options"},
        {400, "{\"error\":\"streaming is not supported by this backend\"}", "stream"},
        {400, "{\"error\":{\"message\":\"stop is not supported with this model\",\"param\":\"stop\"}}", "stop"},
        {422, "{\"error\":{\"message\":\"Unsupported parameter: seed\"}}", "seed"},
    };
    json_t *sent = json_pack("{s:s,s:i,s:f,s:i,s:f,s:f,s:f,s:b,s:{},s:[],s:i}", "model", "m", "max_tokens", 10,
                             "temperature", 0.6, "top_k", 20, "min_p", 0.1, "repetition_penalty", 1.1,
                             "presence_penalty", 1.1, "stream", 1, "stream_options", "stop", "seed", 1);
    assert_non_null(sent);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fault fault = fault_of(cases[i].code, cases[i].body, sent);
        assert_int_equal(fault.kind, FAULT_PARAMETER);
        assert_string_equal(fault.parameter, cases[i].parameter);
    }
    /* what was not sent cannot have been refused, and the model is not a parameter to drop */
    assert_int_equal(fault_of(400, "{\"error\":{\"message\":\"Unsupported parameter: 'logprobs'\"}}", sent).kind,
                     FAULT_FINAL);
    assert_int_equal(fault_of(400, "{\"error\":{\"message\":\"invalid model\",\"param\":\"model\"}}", sent).kind,
                     FAULT_FINAL);
    json_decref(sent);
}

static void fault__learns_other_limits(void **state)
{
    (void)state;
    static const struct {
        const char *body;
        int64_t cap;
    } caps[] = {
        {"{\"error\":{\"message\":\"max_tokens is too large: 10000. This model supports at most 4096 completion "
         "tokens, whereas you provided "
         "10000.\",\"param\":\"max_tokens\"}}",
         4096},
        {"{\"error\":{\"message\":\"Invalid max_tokens value, the valid range of max_tokens is [1, 8192]\"}}", 8192},
        {"{\"error\":{\"message\":\"max_tokens: 64000 > 32000, which is the maximum allowed number of output "
         "tokens\"}}",
         32000},
        {"{\"error\":\"Input validation error: `max_new_tokens` must be <= 192. Given: 1024\"}", 192},
    };
    for (size_t i = 0; i < sizeof caps / sizeof *caps; i++) {
        struct fault fault = fault_of(400, caps[i].body, NULL);
        assert_int_equal(fault.kind, FAULT_CAP);
        assert_int_equal(fault.limit, caps[i].cap);
    }
    assert_int_equal(fault_of(400, "{\"error\":{\"message\":\"System role not supported\"}}", NULL).kind,
                     FAULT_SYSTEM_ROLE);
}

static void fault__says_what_to_do(void **state)
{
    (void)state;
    static const struct {
        int code;
        const char *body;
        enum fault_kind kind;
        const char *words;
    } cases[] = {
        {401, "{\"error\":{\"message\":\"Incorrect API key\"}}", FAULT_FINAL, "OPENAI_API_KEY"},
        {402, "", FAULT_FINAL, "credit"},
        {403, "{}", FAULT_FINAL, "key may not"},
        {404, "{\"error\":{\"message\":\"The model `x` does not exist\"}}", FAULT_FINAL, "qwen3-8b, qwen3-32b"},
        {413, "<html><head><title>413 Request Entity Too Large</title></head></html>", FAULT_FINAL,
         "413 Request Entity Too Large"},
        {400, "{\"error\":{\"message\":\"something else\"}}", FAULT_FINAL, "something else"},
        {429, "{\"error\":{\"message\":\"Rate limit reached\"}}", FAULT_RETRY, "Rate limit"},
        {429, "{\"error\":{\"message\":\"You exceeded your current quota\",\"code\":\"insufficient_quota\"}}",
         FAULT_FINAL, "credit"},
        {500, "oops", FAULT_RETRY, "oops"},
        {503, "{\"error\":{\"code\":503,\"message\":\"Loading model\",\"type\":\"unavailable_error\"}}", FAULT_RETRY,
         "Loading model"},
        {529, "", FAULT_RETRY, "529"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fault fault = fault_of(cases[i].code, cases[i].body, NULL);
        assert_int_equal(fault.kind, cases[i].kind);
        assert_non_null(strstr(fault.error.message, cases[i].words));
        assert_non_null(strstr(fault.error.message, "host:8000"));
    }
}

static void fault__shows_no_secret(void **state)
{
    (void)state;
    static const char *const bodies[] = {
        "{\"error\":{\"message\":\"bad key sk-secret-1234567890 given\"}}",
        "{\"error\":{\"message\":\"Incorrect API key provided: sk-s****7890. You can find it\"}}",
        "{\"error\":{\"message\":\"header was (header secret value)\"}}",
        "key=sk-secret-1234567890-and-more",
    };
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        struct fault fault = fault_of(401, bodies[i], NULL);
        assert_null(strstr(fault.error.message, "secret"));
        assert_null(strstr(fault.error.message, "7890"));
        assert_null(strstr(fault.error.message, "sk-"));
    }
    /* and the rest of the sentence stays */
    assert_non_null(strstr(fault_of(401, bodies[1], NULL).error.message, "You can find it"));
}

static void fault__reads_error_objects_of_streams(void **state)
{
    (void)state;
    static const struct {
        const char *object;
        enum fault_kind kind;
    } cases[] = {
        {"{\"error\":{\"message\":\"boom\"}}", FAULT_RETRY},
        {"{\"error\":{\"message\":\"upstream\",\"code\":502}}", FAULT_RETRY},
        {"{\"error\":{\"message\":\"bad request\",\"code\":400}}", FAULT_RETRY},
        {"{\"error\":{\"message\":\"no credit\",\"code\":402}}", FAULT_FINAL},
        {"{\"error\":{\"code\":400,\"message\":\"the request exceeds the available context size\",\"n_ctx\":4096}}",
         FAULT_CONTEXT},
    };
    struct fault_scene scene = {.host = "h"};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *object;
        struct fault fault;
        assert_int_equal(json_parse(str_of(cases[i].object), &object, NULL), STATUS_OK);
        fault_of_object(&scene, object, &fault);
        assert_int_equal(fault.kind, cases[i].kind);
        json_decref(object);
    }
}

static void fault__survives_hostile_bodies(void **state)
{
    (void)state;
    static char deep[40000];
    memset(deep, '[', sizeof deep - 1);
    fault_of(400, deep, NULL);
    fault_of(500, "\xff\xfe{\"error\"", NULL);
    fault_of(400,
             "{\"error\":{\"error\":{\"error\":{\"error\":{\"error\":{\"error\":{\"error\":{\"message\":\"x\"}}}}}}}}",
             NULL);
    struct fault fault = fault_of(500, "a\nb\x01\x1b[31mc", NULL);
    assert_null(strchr(fault.error.message, '\n'));
    assert_null(strchr(fault.error.message, '\x1b'));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fault__learns_the_window_in_every_servers_words),
        cmocka_unit_test(fault__names_refused_parameters),
        cmocka_unit_test(fault__learns_other_limits),
        cmocka_unit_test(fault__says_what_to_do),
        cmocka_unit_test(fault__shows_no_secret),
        cmocka_unit_test(fault__reads_error_objects_of_streams),
        cmocka_unit_test(fault__survives_hostile_bodies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
