/* Transcript and prompt view: what is kept, in which form it is shown, and that nothing moves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "core/json.h"
#include "protocol/profile.h"
#include "protocol/prompt_view.h"
#include "protocol/transcript.h"

#define QUESTION "Who \"built\" it?\n\xE4\xB8\xAD\x01"

static char *plain(struct str wire)
{
    struct buf text;
    buf_init(&text, BUF_UNBOUNDED);
    assert_int_equal(json_unescape(&text, wire), STATUS_OK);
    return buf_take(&text);
}

static void assert_wire(struct str wire, const char *expected)
{
    char *text = plain(wire);
    assert_string_equal(text, expected);
    free(text);
}

static void assert_last(const struct transcript *transcript, const char *expected)
{
    const struct transcript_message *last = transcript_at(transcript, transcript_count(transcript) - 1);
    assert_wire(last->wire, expected);
    assert_int_equal(last->text_len, strlen(expected));
}

static struct transcript *begun(void)
{
    struct transcript *t = transcript_create(1 << 20);
    assert_int_equal(transcript_append(t, MESSAGE_SYSTEM, STR("Be brief.")), STATUS_OK);
    assert_int_equal(transcript_append(t, MESSAGE_USER, STR(QUESTION)), STATUS_OK);
    return t;
}

static struct transcript *after_call(void)
{
    struct transcript *t = begun();
    struct str text = STR("<think>\na\n</think>\n\n<tool_call>{}</tool_call>");
    struct thought_range thought = thought_range_find(text);
    assert_int_equal(transcript_append_assistant(t, text, &thought), STATUS_OK);
    return t;
}

static struct profile *generic(void)
{
    struct profile *profile;
    struct error error;
    assert_int_equal(profile_load("generic", NULL, &profile, &error), STATUS_OK);
    return profile;
}

static void transcript__keeps_text_in_wire_form_and_gives_it_back(void **state)
{
    (void)state;
    struct transcript *t = begun();
    assert_int_equal(transcript_count(t), 2);
    struct str wire = transcript_at(t, 1)->wire;
    assert_true(str_equal(wire, STR("Who \\\"built\\\" it?\\n\xE4\xB8\xAD\\u0001")));
    assert_int_equal(transcript_bytes(t), wire.len + strlen("Be brief."));
    struct buf text;
    buf_init(&text, 100);
    assert_int_equal(transcript_read(t, 1, &text), STATUS_OK);
    assert_string_equal(text.data, QUESTION);
    buf_finish(&text);
    transcript_destroy(t);
}

static void transcript__roles_alternate(void **state)
{
    (void)state;
    struct transcript *t = transcript_create(1000);
    assert_int_equal(transcript_append_assistant(t, STR("x"), NULL), STATUS_ORDER);
    assert_int_equal(transcript_append(t, MESSAGE_ASSISTANT, STR("x")), STATUS_ORDER);
    assert_int_equal(transcript_demand(t, STR("x"), DEMAND_APPEND), STATUS_ORDER);
    transcript_destroy(t);
    t = begun();
    assert_int_equal(transcript_append(t, MESSAGE_SYSTEM, STR("x")), STATUS_ORDER);
    assert_int_equal(transcript_append(t, MESSAGE_USER, STR("x")), STATUS_ORDER);
    assert_int_equal(transcript_append_assistant(t, STR("x"), NULL), STATUS_OK);
    assert_int_equal(transcript_append_assistant(t, STR("x"), NULL), STATUS_ORDER);
    assert_int_equal(transcript_demand(t, STR("x"), DEMAND_APPEND), STATUS_ORDER);
    assert_int_equal(transcript_append(t, MESSAGE_SYSTEM, STR("x")), STATUS_ORDER);
    assert_int_equal(transcript_count(t), 3);
    transcript_destroy(t);
}

static void transcript__has_a_cap(void **state)
{
    (void)state;
    struct transcript *t = transcript_create(8);
    assert_int_equal(transcript_append(t, MESSAGE_USER, STR("123456789")), STATUS_TOO_BIG);
    assert_int_equal(transcript_append(t, MESSAGE_USER, STR("\n\n\n\n\n")), STATUS_TOO_BIG);
    assert_int_equal(transcript_append(t, MESSAGE_USER, STR("1234\n")), STATUS_OK);
    assert_int_equal(transcript_append_assistant(t, STR("123"), NULL), STATUS_TOO_BIG);
    assert_int_equal(transcript_append_assistant(t, STR("12"), NULL), STATUS_OK);
    assert_int_equal(transcript_count(t), 2);
    assert_int_equal(transcript_bytes(t), 8);
    transcript_destroy(t);
}

static void transcript__knows_the_thought_of_a_completion(void **state)
{
    (void)state;
    static const struct {
        const char *text, *thought, *rest, *reopened;
    } cases[] = {
        {"<think>\na \"b\"\n</think>\n\nrest", "a \"b\"", "rest", NULL},
        {"\n <think>a</think>rest", "a", "rest", NULL},
        {"a\n</think>\n\nrest", "a", "rest", "<think>\na\n</think>\n\nrest"},
        {"<think>\n\n</think>\n\nrest", "", "rest", NULL},
        {"<think>never closed", "never closed", "", NULL},
        {"no thought", "", "no thought", NULL},
        {"", "", "", NULL},
        {"<think>a</think>b</think>c", "a", "b</think>c", NULL},
        {"say <think> later", "", "say <think> later", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct transcript *t = begun();
        struct str text = str_of(cases[i].text);
        struct thought_range range = thought_range_find(text);
        assert_int_equal(transcript_append_assistant(t, text, &range), STATUS_OK);
        const struct transcript_message *message = transcript_at(t, 2);
        assert_wire(message->wire, cases[i].text);
        assert_wire(message->thought, cases[i].thought);
        assert_wire(message->rest, cases[i].rest);
        assert_wire(message->reopened, cases[i].reopened ? cases[i].reopened : cases[i].text);
        transcript_destroy(t);
    }
}

static void transcript__refuses_a_range_outside_the_text(void **state)
{
    (void)state;
    static const struct thought_range ranges[] = {{0, 2, 5}, {3, 2, 3}, {1, 3, 2}};
    for (size_t i = 0; i < 3; i++) {
        struct transcript *t = begun();
        assert_int_equal(transcript_append_assistant(t, STR("1234"), &ranges[i]), STATUS_INVALID);
        assert_int_equal(transcript_count(t), 2);
        transcript_destroy(t);
    }
}

static void transcript__chunks_stay_where_they_are(void **state)
{
    (void)state;
    struct transcript *t = begun();
    struct str first = transcript_at(t, 0)->wire, second = transcript_at(t, 1)->wire;
    for (int i = 0; i < 300; i++) {
        assert_int_equal(transcript_append_assistant(t, STR("a"), NULL), STATUS_OK);
        assert_int_equal(transcript_append_observations(t, &(struct observation){.text = STR("o")}, 1), STATUS_OK);
    }
    assert_ptr_equal(first.data, transcript_at(t, 0)->wire.data);
    assert_ptr_equal(second.data, transcript_at(t, 1)->wire.data);
    transcript_destroy(t);
}

static void transcript__observations_are_blocks_of_one_message(void **state)
{
    (void)state;
    struct transcript *t = after_call();
    const struct observation observations[] = {
        {STR("one\n"), {0}},
        {STR("two"), STR("Note.")},
        {{0}, STR("Alone.")},
        {{0}, {0}},
    };
    assert_int_equal(transcript_append_observations(t, observations, 4), STATUS_OK);
    assert_last(t, "<tool_response>\none\n\n</tool_response>\n"
                   "<tool_response>\ntwo\n\nNote.\n</tool_response>\n"
                   "<tool_response>\nAlone.\n</tool_response>\n"
                   "<tool_response>\n\n</tool_response>");
    transcript_destroy(t);
}

static void transcript__a_demand_stands_where_the_profile_wants_it(void **state)
{
    (void)state;
    static const struct {
        enum demand_place place;
        const char *expected;
    } cases[] = {
        {DEMAND_INSIDE, "<tool_response>\na\n</tool_response>\n<tool_response>\nb\n\nN\n\nNow!\n</tool_response>"},
        {DEMAND_APPEND, "<tool_response>\na\n</tool_response>\n<tool_response>\nb\n\nN\n</tool_response>\n"
                        "<tool_response>\nNow!\n</tool_response>"},
        {DEMAND_REPLACE, "<tool_response>\nNow!\n</tool_response>"},
    };
    for (size_t i = 0; i < 3; i++) {
        struct transcript *t = after_call();
        const struct observation observations[] = {{STR("a"), {0}}, {STR("b"), STR("N")}};
        assert_int_equal(transcript_append_observations(t, observations, 2), STATUS_OK);
        assert_int_equal(transcript_demand(t, STR("Now!"), cases[i].place), STATUS_OK);
        assert_last(t, cases[i].expected);
        assert_int_equal(transcript_demand(t, STR("Again"), DEMAND_REPLACE), STATUS_OK);
        assert_last(t, "<tool_response>\nAgain\n</tool_response>");
        transcript_destroy(t);
    }
    struct transcript *t = begun();
    assert_int_equal(transcript_demand(t, STR("Now!"), DEMAND_REPLACE), STATUS_OK);
    assert_last(t, QUESTION "\n\nNow!");
    transcript_destroy(t);
}

static void transcript__shortens_the_largest_observations_first(void **state)
{
    (void)state;
    struct profile *profile = generic();
    struct transcript *t = after_call();
    char line[41], *big;
    memset(line, 'x', 39);
    strcpy(line + 39, "\n");
    struct buf text;
    buf_init(&text, BUF_UNBOUNDED);
    for (int i = 0; i < 100; i++)
        buf_add_text(&text, line);
    big = buf_take(&text);
    const struct observation observations[] = {
        {STR("small"), {0}}, {str_of(big), STR("Keep me.")}, {STR("also small"), {0}}, {str_of(big), {0}}};
    assert_int_equal(transcript_append_observations(t, observations, 4), STATUS_OK);
    assert_false(transcript_shorten_last(t, profile, 8015));
    assert_true(transcript_shorten_last(t, profile, 1015));
    struct str wire = transcript_at(t, 3)->wire;
    char *now = plain(wire);
    assert_non_null(strstr(now, "<tool_response>\nsmall\n</tool_response>\n<tool_response>\nxxx"));
    assert_non_null(strstr(now, "<tool_response>\nalso small\n</tool_response>"));
    assert_non_null(strstr(now, "left out.]\n\nKeep me.\n</tool_response>"));
    size_t kept = 0;
    for (const char *c = now; *c; c++)
        kept += *c == 'x';
    assert_true(kept > 600 && kept <= 1000 && kept % 39 == 0); /* whole lines */
    assert_int_equal(transcript_bytes(t), transcript_at(t, 0)->reopened.len + transcript_at(t, 1)->reopened.len +
                                              transcript_at(t, 2)->reopened.len + wire.len);
    free(now);
    free(big);
    transcript_destroy(t);
    profile_destroy(profile);
}

static void transcript__shortens_to_nothing_and_no_further(void **state)
{
    (void)state;
    struct profile *profile = generic();
    struct transcript *t = after_call();
    assert_false(transcript_shorten_last(t, profile, 0)); /* the model's message */
    const struct observation observations[] = {{STR("\xE4\xB8\xAD\xE6\x96\x87"), {0}}};
    assert_int_equal(transcript_append_observations(t, observations, 1), STATUS_OK);
    assert_true(transcript_shorten_last(t, profile, 4));
    assert_last(t, "<tool_response>\n\xE4\xB8\xAD\n\n[Cut here: 3 bytes of 6 bytes left out.]\n</tool_response>");
    transcript_destroy(t);
    profile_destroy(profile);
}

static void prompt_view__shows_thought_as_the_profile_says(void **state)
{
    (void)state;
    struct transcript *t = begun();
    struct str text = STR("a\n</think>\n\nrest");
    struct thought_range range = thought_range_find(text);
    assert_int_equal(transcript_append_assistant(t, text, &range), STATUS_OK);
    static const struct {
        struct prompt_view_options options;
        const char *content, *thought;
    } cases[] = {
        {{THOUGHT_INLINE, false}, "a\n</think>\n\nrest", ""},
        {{THOUGHT_INLINE, true}, "<think>\na\n</think>\n\nrest", ""},
        {{THOUGHT_FIELD, false}, "rest", "a"},
        {{THOUGHT_DROP, true}, "rest", ""},
    };
    struct prompt_view view;
    prompt_view_init(&view);
    for (size_t i = 0; i < 4; i++) {
        prompt_view_build(&view, t, &cases[i].options);
        assert_int_equal(view.count, 3);
        assert_int_equal(view.messages[0].role, MESSAGE_SYSTEM);
        assert_ptr_equal(view.messages[1].wire.data, transcript_at(t, 1)->wire.data); /* borrowed, not copied */
        assert_wire(view.messages[2].wire, cases[i].content);
        assert_wire(view.messages[2].wire_thought, cases[i].thought);
    }
    prompt_view_finish(&view);
    prompt_view_finish(NULL);
    transcript_destroy(t);
    transcript_destroy(NULL);
}

static void prompt_view__takes_single_messages(void **state)
{
    (void)state;
    struct prompt_view view;
    prompt_view_init(&view);
    prompt_view_add(&view, MESSAGE_USER, STR("a\\nb"));
    assert_int_equal(view.count, 1);
    assert_string_equal(message_role_name(view.messages[0].role), "user");
    assert_wire(view.messages[0].wire, "a\nb");
    prompt_view_finish(&view);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(transcript__keeps_text_in_wire_form_and_gives_it_back),
        cmocka_unit_test(transcript__roles_alternate),
        cmocka_unit_test(transcript__has_a_cap),
        cmocka_unit_test(transcript__knows_the_thought_of_a_completion),
        cmocka_unit_test(transcript__refuses_a_range_outside_the_text),
        cmocka_unit_test(transcript__chunks_stay_where_they_are),
        cmocka_unit_test(transcript__observations_are_blocks_of_one_message),
        cmocka_unit_test(transcript__a_demand_stands_where_the_profile_wants_it),
        cmocka_unit_test(transcript__shortens_the_largest_observations_first),
        cmocka_unit_test(transcript__shortens_to_nothing_and_no_further),
        cmocka_unit_test(prompt_view__shows_thought_as_the_profile_says),
        cmocka_unit_test(prompt_view__takes_single_messages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
