/* Bodies of completion requests: borrowed text, read in any cut and from the start again. */
#include "core/mem.h"
#include "model/client.h"
#include "model/request.h"
#include "protocol/prompt_view.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define BIG (430 * 1024)

struct fixture {
    struct prompt_view view;
    char *big;
    struct request_body body;
};

static void fixture_init(struct fixture *fixture, bool completions)
{
    *fixture = (struct fixture){.big = mem_alloc(BIG)};
    for (size_t i = 0; i < BIG; i++)
        fixture->big[i] = (char)('a' + i % 26);
    prompt_view_init(&fixture->view);
    prompt_view_add(&fixture->view, MESSAGE_SYSTEM, STR("sys"));
    prompt_view_add(&fixture->view, MESSAGE_USER, STR("quote \\\" and \\u0001"));
    prompt_view_add(&fixture->view, MESSAGE_ASSISTANT, STR(""));
    prompt_view_add(&fixture->view, MESSAGE_USER, str_make(fixture->big, BIG));
    struct model_request request = {.prompt = &fixture->view, .max_tokens = 7};
    struct request_form form = {.model = "m", .chat_template = completions ? template_find(STR("chatml")) : NULL};
    struct request_habits habits = {0};
    request_body_init(&fixture->body, &form, &habits, &request);
}

static void fixture_finish(struct fixture *fixture)
{
    request_body_finish(&fixture->body);
    prompt_view_finish(&fixture->view);
    free(fixture->big);
}

/* The whole body, read in pieces of `size`. */
static char *read_all(struct request_body *body, size_t size)
{
    uint64_t length = request_body_length(body);
    char *all = mem_alloc((size_t)length + 1);
    uint64_t at = 0;
    while (at < length) {
        size_t want = length - at < size ? (size_t)(length - at) : size;
        size_t got = request_body_read(body, at, all + at, want);
        assert_int_equal(got, want);
        at += got;
    }
    all[length] = '\0';
    return all;
}

static void request__is_valid_json_with_every_message(void **state)
{
    (void)state;
    for (int completions = 0; completions < 2; completions++) {
        struct fixture fixture;
        fixture_init(&fixture, completions);
        char *text = read_all(&fixture.body, SIZE_MAX);
        json_t *value;
        assert_int_equal(json_parse(str_of(text), &value, NULL), STATUS_OK);
        assert_int_equal(json_get_int(value, "max_tokens", 0), 7);
        assert_null(json_object_get(value, "temperature"));
        const json_t *messages = json_object_get(value, "messages");
        if (completions) {
            assert_null(messages);
            assert_true(json_get_str(value, "prompt").len > BIG);
        } else {
            assert_null(json_object_get(value, "prompt"));
            assert_int_equal(json_array_size(messages), 4);
            assert_string_equal(json_get_string(json_array_get(messages, 1), "content"), "quote \" and \x01");
            assert_string_equal(json_get_string(json_array_get(messages, 2), "role"), "assistant");
            assert_string_equal(json_get_string(json_array_get(messages, 2), "content"), "");
            assert_int_equal(json_get_str(json_array_get(messages, 3), "content").len, BIG);
        }
        json_decref(value);
        free(text);
        fixture_finish(&fixture);
    }
}

static void request__reads_alike_in_any_cut_and_again(void **state)
{
    (void)state;
    static const size_t sizes[] = {1, 2, 3, 7, 1000, 65536, BIG};
    struct fixture fixture;
    fixture_init(&fixture, false);
    char *whole = read_all(&fixture.body, SIZE_MAX);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char *again = read_all(&fixture.body, sizes[i]); /* from the start: the last read stood at the end */
        assert_string_equal(again, whole);
        free(again);
    }
    /* from the middle to an earlier place, as when a connection breaks */
    uint64_t length = request_body_length(&fixture.body);
    char piece[64];
    for (uint64_t at = length - 1; at > 64; at = at * 2 / 3) {
        size_t got = request_body_read(&fixture.body, at, piece, sizeof piece);
        assert_true(got > 0);
        assert_memory_equal(piece, whole + at, got);
    }
    assert_int_equal(request_body_read(&fixture.body, length, piece, sizeof piece), 0);
    free(whole);
    fixture_finish(&fixture);
}

static void request__borrows_the_prompt(void **state)
{
    (void)state;
    struct fixture fixture;
    fixture_init(&fixture, false);
    bool found = false;
    for (size_t i = 0; i < fixture.body.pieces.count; i++)
        found |= fixture.body.pieces.pieces[i].data == fixture.big;
    assert_true(found);
    fixture_finish(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(request__is_valid_json_with_every_message),
        cmocka_unit_test(request__reads_alike_in_any_cut_and_again),
        cmocka_unit_test(request__borrows_the_prompt),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
