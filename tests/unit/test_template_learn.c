/* Templates learnt from what a server renders, and told by their Jinja text. What they make of random conversations is
 * compared with Jinja itself in tests/flow/test_templates.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/buf.h"
#include "core/json.h"
#include "protocol/template.h"
#include "protocol/template_learn.h"

static struct buf render(const struct chat_template *chat_template, const struct prompt_view *view)
{
    static const struct template_options options = {.chat = true};
    struct template_pieces pieces;
    struct buf text;
    template_pieces_init(&pieces);
    buf_init(&text, BUF_UNBOUNDED);
    template_render(chat_template, view, &options, &pieces);
    for (size_t i = 0; i < pieces.count; i++)
        assert_int_equal(json_unescape(&text, pieces.pieces[i]), STATUS_OK);
    template_pieces_finish(&pieces);
    return text;
}

/* A server's renderings of the probes. */
struct server {
    struct buf texts[TEMPLATE_PROBE_COUNT];
};

static void server_init(struct server *server, const struct chat_template *chat_template)
{
    for (size_t i = 0; i < TEMPLATE_PROBE_COUNT; i++)
        server->texts[i] = render(chat_template, template_probe(i));
}

static void server_finish(struct server *server)
{
    for (size_t i = 0; i < TEMPLATE_PROBE_COUNT; i++)
        buf_finish(&server->texts[i]);
}

/* Every `old` becomes `new`, as if the server's template said so. */
static void server_replace(struct server *server, const char *old, const char *new)
{
    for (size_t i = 0; i < TEMPLATE_PROBE_COUNT; i++) {
        struct buf changed, *text = &server->texts[i];
        buf_init(&changed, BUF_UNBOUNDED);
        size_t from = 0;
        for (size_t at; (at = str_find(buf_str(text), str_of(old), from)) != STR_NONE; from = at + strlen(old)) {
            buf_add(&changed, str_slice(buf_str(text), from, at));
            buf_add_text(&changed, new);
        }
        buf_add(&changed, str_slice(buf_str(text), from, text->len));
        buf_finish(text);
        *text = changed;
    }
}

static const struct chat_template *learn(const struct server *server)
{
    struct str rendered[TEMPLATE_PROBE_COUNT];
    const struct chat_template *learnt = NULL;
    struct error error = {0};
    for (size_t i = 0; i < TEMPLATE_PROBE_COUNT; i++)
        rendered[i] = buf_str(&server->texts[i]);
    if (template_learn(rendered, &learnt, &error) != STATUS_OK) {
        assert_int_equal(error.status, STATUS_UNSUPPORTED);
        return NULL;
    }
    return learnt;
}

static void assert_gives_back(const struct chat_template *chat_template, const struct server *server)
{
    for (size_t i = 0; i < TEMPLATE_PROBE_COUNT; i++) {
        struct buf text = render(chat_template, template_probe(i));
        assert_string_equal(text.data, server->texts[i].data);
        buf_finish(&text);
    }
}

static void template_learn__knows_the_named_ones_again(void **state)
{
    (void)state;
    for (size_t i = 0; i < template_count(); i++) {
        struct server server;
        const struct chat_template *named = template_find(str_of(template_name_at(i)));
        server_init(&server, named);
        const struct chat_template *learnt = learn(&server);
        assert_non_null(learnt);
        if (learnt != named) /* llama3.2 and others differ in nothing but what no probe shows */
            assert_gives_back(learnt, &server);
        server_finish(&server);
    }
}

static void template_learn__makes_pieces_of_what_is_new(void **state)
{
    (void)state;
    static const struct {
        const char *name, *old, *new;
    } cases[] = {
        {"chatml", "<|im_start|>", "<turn>"},
        {"qwen2.5", "Alibaba", "A \"B\"\nC"},
        {"qwen3", "<|im_start|>", "<turn>\xE2\x82\xAC"},
        {"gemma", "<start_of_turn>", "\x01\\"},
        {"llama3.2", "26 Jul 2024", "01 Mar 2026"},
        {"mistral-v3", "[INST]", "<user>"},
        {"deepseek-r1", "Assistant", "Helper"},
        {"glm4.5", "[gMASK]", "[MASK]"},
        {"qwq", "assistant", "helper"},
        {"gpt-oss", "Reasoning: medium", "Reasoning: high"},
        {"deepseek-v3.1", "<｜User｜>", "\n\nUser: "},
        {"plain", "User:", "U:"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct server server;
        struct error error;
        server_init(&server, template_find(str_of(cases[i].name)));
        server_replace(&server, cases[i].old, cases[i].new);
        const struct chat_template *learnt = learn(&server), *again;
        if (!learnt)
            fail_msg("%s is not learnt", cases[i].name);
        assert_string_equal(template_name(learnt), "learnt");
        assert_gives_back(learnt, &server);
        json_t *json = template_to_json(learnt);
        assert_int_equal(template_from_json(json, &again, &error), STATUS_OK);
        assert_gives_back(again, &server);
        assert_true(template_equal(learnt, again));
        assert_false(template_equal(learnt, template_find(str_of(cases[i].name))));
        json_decref(json);
        template_destroy(again);
        template_destroy(learnt);
        server_finish(&server);
    }
}

static void template_learn__refuses_what_has_no_pieces(void **state)
{
    (void)state;
    static const struct {
        const char *old, *new;
    } cases[] = {
        {"Fqreplyone", ""},                           /* a turn is left out */
        {"Fquserone", "Fquserone Fquserone"},         /* one is written twice */
        {"Fqthoughttwo", "(thought)"},                /* a rule that is not known */
        {"Fquserthree", "Fquserthree again"},         /* what is last is written otherwise */
        {"Fqsystem<|im_end|>", "FqsystemFqreplytwo"}, /* out of order */
        {"</tool_response>", "</result>"},            /* contents are changed */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct server server;
        server_init(&server, template_find(STR("qwen3")));
        server_replace(&server, cases[i].old, cases[i].new);
        const struct chat_template *learnt = learn(&server);
        if (learnt)
            assert_gives_back(learnt, &server); /* it is right all the same */
        template_destroy(learnt);
        server_finish(&server);
    }
    struct str nothing[TEMPLATE_PROBE_COUNT] = {{0}};
    const struct chat_template *learnt = NULL;
    assert_int_equal(template_learn(nothing, &learnt, NULL), STATUS_UNSUPPORTED);
    assert_null(learnt);
}

static void template_learn__is_right_or_refuses_whatever_comes(void **state)
{
    (void)state;
    uint32_t random = 5;
    for (int round = 0; round < 600; round++) {
        struct server server;
        server_init(&server, template_find(str_of(template_name_at((size_t)round % template_count()))));
        for (int change = 0; change < 1 + round % 3; change++) {
            random = random * 1664525u + 1013904223u;
            struct buf *text = &server.texts[random >> 29];
            size_t at = (random >> 3) % (text->len + 1);
            switch (random >> 27 & 3) {
            case 0:
                buf_truncate(text, at);
                break;
            case 1:
                buf_consume(text, at / 8);
                break;
            case 2:
                if (at < text->len)
                    text->data[at] = "\\\n<\xC3"[random >> 11 & 3];
                break;
            default:
                server_replace(&server, "e", "e\xFF\\");
                break;
            }
        }
        const struct chat_template *learnt = learn(&server);
        template_destroy(learnt);
        server_finish(&server);
    }
}

static void template_from_json__refuses_what_is_none(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "\"nobody\"",
        "{}",
        "[]",
        "3",
        "{\"system_place\": 9, \"history\": 0, \"system\": [\"\", \"\", 0], \"user\": [\"\", \"\", 0], \"assistant\": "
        "[\"\", \"\", 0]}",
        "{\"system_place\": 0, \"history\": 0, \"system\": [\"\", \"\", 0], \"user\": [\"\", \"\", 7], \"assistant\": "
        "[\"\", \"\", 0]}",
        "{\"system_place\": 0, \"history\": 0, \"system\": [\"\", \"\", 0], \"user\": [\"\", \"\", 0]}",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        json_t *json = json_loads(texts[i], JSON_DECODE_ANY, NULL);
        const struct chat_template *read = NULL;
        struct error error;
        assert_non_null(json);
        assert_int_equal(template_from_json(json, &read, &error), STATUS_INVALID);
        assert_null(read);
        json_decref(json);
    }
}

static void template_detect__knows_texts_but_for_blanks(void **state)
{
    (void)state;
    static const struct {
        const char *jinja, *name;
    } cases[] = {
        {"{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + "
         "'\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}",
         "chatml"},
        {"{%- for message in messages %}\n  {#- one turn #}\n  {{- \"<|im_start|>\"+message[\"role\"]+\"\\n\" + "
         "message['content'] +'<|im_end|>'+'\\n' }}\n{%- endfor %}\n{%- if  add_generation_prompt %}\n    "
         "{{- '<|im_start|>assistant\\n' }}\n{%- endif %}\n",
         "chatml"},
        {"{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + "
         "'\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|> assistant\n' }}{% endif %}",
         NULL}, /* a blank that counts */
        {"{% for message in messages %} {{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' "
         "+ '\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}",
         NULL},
        {"", NULL},
        {"{", NULL},
        {"{%", NULL},
        {"{{ 'x", NULL},
        {"{#", NULL},
        {"chatml", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct chat_template *found = template_detect(str_of(cases[i].jinja));
        if (cases[i].name) {
            assert_non_null(found);
            assert_string_equal(template_name(found), cases[i].name);
        } else {
            assert_null(found);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(template_learn__knows_the_named_ones_again),
        cmocka_unit_test(template_learn__makes_pieces_of_what_is_new),
        cmocka_unit_test(template_learn__refuses_what_has_no_pieces),
        cmocka_unit_test(template_learn__is_right_or_refuses_whatever_comes),
        cmocka_unit_test(template_from_json__refuses_what_is_none),
        cmocka_unit_test(template_detect__knows_texts_but_for_blanks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
