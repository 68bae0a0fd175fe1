/* The named chat templates, compared byte for byte with what the models' published templates give. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "core/buf.h"
#include "core/json.h"
#include "protocol/template.h"
#include "protocol/transcript.h"

/* Renders the messages that the transcript has and returns the prompt as plain text. */
static char *render(const char *name, const struct transcript *transcript, struct template_options options,
                    enum thought_history thought)
{
    struct prompt_view view;
    prompt_view_init(&view);
    prompt_view_build(&view, transcript, &(struct prompt_view_options){.thought = thought});
    struct template_pieces pieces;
    template_pieces_init(&pieces);
    const struct chat_template *chat_template = template_find(str_of(name));
    assert_non_null(chat_template);
    template_render(chat_template, &view, &options, &pieces);
    struct buf wire, text;
    buf_init(&wire, BUF_UNBOUNDED);
    buf_init(&text, BUF_UNBOUNDED);
    for (size_t i = 0; i < pieces.count; i++)
        buf_add(&wire, pieces.pieces[i]);
    assert_int_equal(json_unescape(&text, buf_str(&wire)), STATUS_OK);
    buf_finish(&wire);
    template_pieces_finish(&pieces);
    prompt_view_finish(&view);
    return buf_take(&text);
}

static struct transcript *conversation(void)
{
    struct transcript *t = transcript_create(1 << 20);
    assert_int_equal(transcript_append(t, MESSAGE_SYSTEM, STR("Sys \"q\".")), STATUS_OK);
    assert_int_equal(transcript_append(t, MESSAGE_USER, STR(" Hi\n")), STATUS_OK);
    struct str reply = STR("<think>\nhm\n</think>\n\nYo ");
    struct thought_range thought = thought_range_find(reply);
    assert_int_equal(transcript_append_assistant(t, reply, &thought), STATUS_OK);
    assert_int_equal(transcript_append(t, MESSAGE_USER, STR("Bye")), STATUS_OK);
    return t;
}

static void template__writes_what_the_published_ones_give(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        bool bos, open_think;
        const char *expected;
    } cases[] = {
        {"chatml", true, false,
         "<|im_start|>system\nSys \"q\".<|im_end|>\n<|im_start|>user\n Hi\n<|im_end|>\n"
         "<|im_start|>assistant\nYo <|im_end|>\n<|im_start|>user\nBye<|im_end|>\n<|im_start|>assistant\n"},
        {"chatml", false, true,
         "<|im_start|>system\nSys \"q\".<|im_end|>\n<|im_start|>user\n Hi\n<|im_end|>\n"
         "<|im_start|>assistant\nYo <|im_end|>\n<|im_start|>user\nBye<|im_end|>\n<|im_start|>assistant\n<think>\n"},
        {"llama3", true, false,
         "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nSys \"q\".<|eot_id|>"
         "<|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|>"
         "<|start_header_id|>assistant<|end_header_id|>\n\nYo<|eot_id|>"
         "<|start_header_id|>user<|end_header_id|>\n\nBye<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n"},
        {"mistral", true, false, "<s> [INST] Sys \"q\".\n\n Hi\n [/INST] Yo </s> [INST] Bye [/INST]"},
        {"mistral-v3", true, false, "<s>[INST]  Hi\n[/INST] Yo</s>[INST] Sys \"q\".\n\nBye[/INST]"},
        {"mistral-tekken", false, false, "[INST] Hi\n[/INST]Yo </s>[INST]Sys \"q\".\n\nBye[/INST]"},
        {"mistral-v7", true, false,
         "<s>[SYSTEM_PROMPT]Sys \"q\".[/SYSTEM_PROMPT][INST] Hi\n[/INST]Yo </s>[INST]Bye[/INST]"},
        {"gemma", true, false,
         "<bos><start_of_turn>user\nSys \"q\".\n\nHi<end_of_turn>\n<start_of_turn>model\nYo<end_of_turn>\n"
         "<start_of_turn>user\nBye<end_of_turn>\n<start_of_turn>model\n"},
        {"plain", true, false, "Sys \"q\".\n\nUser:\nHi\n\nAssistant:\nYo\n\nUser:\nBye\n\nAssistant:\n"},
    };
    struct transcript *t = conversation();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct template_options options = {.bos = cases[i].bos, .open_think = cases[i].open_think};
        char *prompt = render(cases[i].name, t, options, THOUGHT_DROP);
        assert_string_equal(prompt, cases[i].expected);
        free(prompt);
    }
    transcript_destroy(t);
}

#define IM(role, text) "<|im_start|>" role "\n" text "<|im_end|>\n"
#define RESULT         "<tool_response>\nr\n</tool_response>"
#define LLAMA(role)    "<|start_header_id|>" role "<|end_header_id|>\n\n"

/* Two rounds with tools, then a question, then one more. */
static struct transcript *long_conversation(void)
{
    static const char *const users[] = {"Q", RESULT, "Why?", RESULT};
    static const char *const replies[] = {"<think>\nt1\n</think>\n\na1", "t2\n</think>\n\n\na2",
                                          "<think>\n\nt3\n</think>a3"};
    struct transcript *t = transcript_create(1 << 20);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(transcript_append(t, MESSAGE_USER, str_of(users[i])), STATUS_OK);
        if (i == 3)
            break;
        struct thought_range thought = thought_range_find(str_of(replies[i]));
        assert_int_equal(transcript_append_assistant(t, str_of(replies[i]), &thought), STATUS_OK);
    }
    return t;
}

static void template__writes_what_chat_servers_make_of_thought(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        bool thought_field;
        const char *expected;
    } cases[] = {
        {"qwen3", false,
         IM("user", "Q") IM("assistant", "a1") IM("user", RESULT) IM("assistant", "a2") IM("user", "Why?")
             IM("assistant", "<think>\nt3\n</think>\n\na3") IM("user", RESULT) "<|im_start|>assistant\n"},
        {"qwen3-thinking", true,
         IM("user", "Q") IM("assistant", "a1") IM("user", RESULT) IM("assistant", "a2") IM("user", "Why?")
             IM("assistant", "<think>\nt3\n</think>\n\na3") IM("user", RESULT) "<|im_start|>assistant\n<think>\n"},
        {"chatml", true,
         IM("user", "Q") IM("assistant", "a1") IM("user", RESULT) IM("assistant", "a2") IM("user", "Why?")
             IM("assistant", "a3") IM("user", RESULT) "<|im_start|>assistant\n"},
        {"qwen1.5", false,
         IM("system", "You are a helpful assistant") IM("user", "Q") IM("assistant", "<think>\nt1\n</think>\n\na1")
             IM("user", RESULT) IM("assistant", "t2\n</think>\n\n\na2") IM("user", "Why?")
                 IM("assistant", "<think>\n\nt3\n</think>a3") IM("user", RESULT) "<|im_start|>assistant\n"},
        {"deepseek-r1", false,
         "<｜begin▁of▁sentence｜><｜User｜>Q<｜Assistant｜>\n\na1<｜end▁of▁sentence｜><｜User｜>" RESULT
         "<｜Assistant｜>\n\n\na2<｜end▁of▁sentence｜><｜User｜>Why?<｜Assistant｜>a3<｜end▁of▁sentence｜><"
         "｜User｜>" RESULT "<｜Assistant｜><think>\n"},
        {"glm4.5", false,
         "[gMASK]<sop><|user|>\nQ<|assistant|>\n<think></think>\na1<|user|>\n" RESULT
         "<|assistant|>\n<think></think>\na2<|user|>\nWhy?<|assistant|>\n<think></think>\na3<|user|>\n" RESULT
         "<|assistant|>"},
        {"llama3.2", true,
         "<|begin_of_text|>" LLAMA("system") "Cutting Knowledge Date: December 2023\nToday Date: 01 Mar "
                                             "2026\n\n<|eot_id|>" LLAMA("user") "Q<|eot_id|>" LLAMA(
                                                 "assistant") "a1<|eot_id|>" LLAMA("user") RESULT
         "<|eot_id|>" LLAMA("assistant") "a2<|eot_id|>" LLAMA("user") "Why?<|eot_id|>" LLAMA(
             "assistant") "a3<|eot_id|>" LLAMA("user") RESULT "<|eot_id|>" LLAMA("assistant")},
    };
    struct transcript *t = long_conversation();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct template_options options = {
            .chat = true, .thought_field = cases[i].thought_field, .date = STR("2026-03-01")};
        char *prompt = render(cases[i].name, t, options, THOUGHT_INLINE);
        assert_string_equal(prompt, cases[i].expected);
        free(prompt);
    }
    transcript_destroy(t);
}

static void template__says_its_own_day_where_none_is_given(void **state)
{
    (void)state;
    static const struct {
        const char *date, *expected;
    } cases[] = {{"", "Date: 26 Jul 2024\n"},
                 {"2026-12-31", "Date: 31 Dec 2026\n"},
                 {"2026-13-01", "Date: 2026-13-01\n"},
                 {"yesterday", "Date: 26 Jul 2024\n"}};
    struct transcript *t = conversation();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct template_options options = {.date = str_of(cases[i].date)};
        char *prompt = render("llama3.2", t, options, THOUGHT_DROP);
        assert_non_null(strstr(prompt, cases[i].expected));
        free(prompt);
    }
    transcript_destroy(t);
}

static void template__keeps_thought_inline_or_writes_its_field_as_tags(void **state)
{
    (void)state;
    struct transcript *t = conversation();
    for (enum thought_history thought = THOUGHT_INLINE; thought <= THOUGHT_FIELD; thought++) {
        char *prompt = render("chatml", t, (struct template_options){0}, thought);
        assert_non_null(strstr(prompt, "assistant\n<think>\nhm\n</think>\n\nYo <|im_end|>"));
        free(prompt);
    }
    transcript_destroy(t);
}

static void template__a_system_prompt_alone_has_no_user_to_move_into(void **state)
{
    (void)state;
    struct transcript *t = transcript_create(1000);
    assert_int_equal(transcript_append(t, MESSAGE_SYSTEM, STR("S")), STATUS_OK);
    char *prompt = render("gemma", t, (struct template_options){0}, THOUGHT_DROP);
    assert_string_equal(prompt, "S\n\n<start_of_turn>model\n");
    free(prompt);
    transcript_destroy(t);
}

static void template__trims_escaped_white_space_but_no_backslashes(void **state)
{
    (void)state;
    static const struct {
        const char *text, *trimmed;
    } cases[] = {
        {"\n\t \r\f\v x \v\f\r \t\n", "x"},
        {"\\n", "\\n"}, /* a backslash and an n */
        {"x\\\n", "x\\"},
        {"x\\\\n", "x\\\\n"},
        {"\"", "\""},
        {"\xC2\xA0\xE3\x80\x80\xE4\xB8\xAD\xE2\x80\x89", "\xE4\xB8\xAD"},
        {" \n ", ""},
        {"\x1C\x01\x1F", "\x01"},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct transcript *t = transcript_create(1000);
        assert_int_equal(transcript_append(t, MESSAGE_USER, str_of(cases[i].text)), STATUS_OK);
        char *prompt = render("gemma", t, (struct template_options){0}, THOUGHT_DROP);
        char expected[100];
        snprintf(expected, sizeof expected, "<start_of_turn>user\n%s<end_of_turn>\n<start_of_turn>model\n",
                 cases[i].trimmed);
        assert_string_equal(prompt, expected);
        free(prompt);
        transcript_destroy(t);
    }
}

static void template__is_found_by_name_alone(void **state)
{
    (void)state;
    assert_null(template_find(STR("")));
    assert_null(template_find(STR("chat")));
    assert_null(template_find(STR("ChatML")));
    assert_true(template_count() >= 8);
    for (size_t i = 0; i < template_count(); i++) {
        const struct chat_template *found = template_find(str_of(template_name_at(i)));
        assert_non_null(found);
        const char *const *stops;
        assert_true(template_stops(found, &stops) >= 1);
        assert_true(template_message_tokens(found) > 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(template__writes_what_the_published_ones_give),
        cmocka_unit_test(template__writes_what_chat_servers_make_of_thought),
        cmocka_unit_test(template__says_its_own_day_where_none_is_given),
        cmocka_unit_test(template__keeps_thought_inline_or_writes_its_field_as_tags),
        cmocka_unit_test(template__a_system_prompt_alone_has_no_user_to_move_into),
        cmocka_unit_test(template__trims_escaped_white_space_but_no_backslashes),
        cmocka_unit_test(template__is_found_by_name_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
