#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "cli/question.h"

#include <stdlib.h>
#include <string.h>

static json_t *parse(const char *text)
{
    json_t *value = NULL;
    assert_int_equal(json_parse(str_of(text), &value, NULL), STATUS_OK);
    return value;
}

/* Types the lines (one a line of `typed`) and gives what it came to: "done: ANSWER", "declined", "waits". */
static char *converse(const struct ask_question *asked, const char *typed, struct buf *screen)
{
    struct question question;
    struct buf complaint, result;
    struct str rest = str_of(typed), line;
    buf_init(&complaint, BUF_UNBOUNDED);
    buf_init(&result, BUF_UNBOUNDED);
    question_init(&question, asked);
    question_show(&question, screen);
    buf_add_char(screen, '\n');
    enum question_step step = QUESTION_MORE;
    while ((step == QUESTION_MORE || step == QUESTION_AGAIN) && str_split_next(&rest, '\n', &line)) {
        question_prompt(&question, screen);
        buf_add(screen, line);
        buf_add_char(screen, '\n');
        buf_reset(&complaint);
        step = question_take(&question, line, &complaint);
        buf_addf(screen, "%s%s", complaint.len > 0 ? complaint.data : "", complaint.len > 0 ? "\n" : "");
    }
    if (step == QUESTION_DONE)
        buf_addf(&result, "done: %s", question.answer.data);
    else
        buf_add_text(&result, step == QUESTION_DECLINED ? "declined" : "waits");
    question_finish(&question);
    buf_finish(&complaint);
    return buf_take(&result);
}

#define FORM                                                                                                    \
    "{\"type\": \"object\", \"properties\": {\"name\": {\"type\": \"string\", \"title\": \"Your name\", "       \
    "\"minLength\": 2}, "                                                                                       \
    "\"age\": {\"type\": \"integer\", \"minimum\": 0}, \"news\": {\"type\": \"boolean\", \"default\": false}, " \
    "\"color\": {\"type\": \"string\", \"enum\": [\"red\", \"blue\"]}}, \"required\": [\"name\", \"color\"]}"

static void question__becomes_an_answer(void **state)
{
    static const struct {
        const char *schema, *typed, *result;
    } rows[] = {
        {NULL, "hello", "done: hello"},
        {NULL, "\n\n hello ", "done: hello"},
        {NULL, "-", "declined"},
        {NULL, "", "waits"},
        {"{\"type\": \"object\"}", "\n", "done: {}"},
        {FORM, "Ada\n36\nyes\nred", "done: {\"name\":\"Ada\",\"age\":36,\"news\":true,\"color\":\"red\"}"},
        {FORM, "Ada\n\n\nblue", "done: {\"name\":\"Ada\",\"news\":false,\"color\":\"blue\"}"},
        {FORM, "A\nAda\nold\n-1\n1\nmaybe\nn\ngreen\nred",
         "done: {\"name\":\"Ada\",\"age\":1,\"news\":false,\"color\":\"red\"}"},
        {FORM, "\n\n\n", "waits"},
        {FORM, "Ada\n-", "declined"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        json_t *schema = rows[i].schema ? parse(rows[i].schema) : NULL;
        const struct ask_question asked = {.tool = "quiz", .text = STR("Which?"), .schema = schema};
        struct buf screen;
        buf_init(&screen, BUF_UNBOUNDED);
        char *result = converse(&asked, rows[i].typed, &screen);
        if (strcmp(result, rows[i].result) != 0)
            fail_msg("row %zu: %s instead of %s\n%s", i, result, rows[i].result, screen.data);
        free(result);
        buf_finish(&screen);
        json_decref(schema);
    }
}

static void question__asks_for_consent(void **state)
{
    static const struct {
        const char *typed, *result;
    } rows[] = {{"y", "done: once"}, {"YES", "done: once"},      {"a", "done: always"}, {"n", "declined"},
                {"-", "declined"},   {"\nwhat\nno", "declined"}, {"maybe", "waits"}};
    (void)state;
    json_t *arguments = parse("{\"city\": \"Rome\\u001b[2J\"}");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct ask_question asked = {.purpose = ASK_FOR_PERMISSION, .tool = "weather", .arguments = arguments};
        struct buf screen;
        buf_init(&screen, BUF_UNBOUNDED);
        char *result = converse(&asked, rows[i].typed, &screen);
        assert_string_equal(result, rows[i].result);
        assert_non_null(strstr(screen.data, "weather wants to run with {\"city\":\"Rome"));
        assert_null(strchr(screen.data, '\x1b'));
        free(result);
        buf_finish(&screen);
    }
    json_decref(arguments);
}

static void question__shows_what_is_wanted(void **state)
{
    (void)state;
    json_t *schema = parse(FORM);
    const struct ask_question asked = {.tool = "quiz\x1b[1m", .text = STR("Two\nlines\x07"), .schema = schema};
    struct buf screen;
    buf_init(&screen, BUF_UNBOUNDED);
    free(converse(&asked, "A\nAda\n\n\n", &screen));
    assert_string_equal(screen.data, "quiz\xef\xbf\xbd[1m asks: Two\nlines\xef\xbf\xbd\n(- declines)\n"
                                     "Your name> A\nexpected at least 2 characters, found 1\n"
                                     "Your name> Ada\nage> \nnews (true or false) [false]> \n");
    buf_finish(&screen);
    json_decref(schema);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(question__becomes_an_answer),
        cmocka_unit_test(question__asks_for_consent),
        cmocka_unit_test(question__shows_what_is_wanted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
