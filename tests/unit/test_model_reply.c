/* Replies of model servers turned into text of the tag protocol. */
#include "core/mem.h"
#include "model/reply.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void collect(void *user, struct str text)
{
    buf_add(user, text);
}

/* Feeds the objects of a JSON array one by one and returns the text. */
static char *replied(const char *objects, struct reply *reply, struct buf *text)
{
    json_t *list;
    assert_int_equal(json_parse(str_of(objects), &list, NULL), STATUS_OK);
    buf_init(text, BUF_UNBOUNDED);
    reply_init(reply, collect, text);
    size_t i;
    json_t *object;
    json_array_foreach (list, i, object)
        reply_object(reply, object);
    reply_close(reply);
    json_decref(list);
    return text->data ? text->data : "";
}

static void check(const char *objects, const char *expected)
{
    struct reply reply;
    struct buf text;
    assert_string_equal(replied(objects, &reply, &text), expected);
    reply_finish(&reply);
    buf_finish(&text);
}

#define DELTA(members)   "{\"choices\":[{\"index\":0,\"delta\":{" members "},\"finish_reason\":null}]}"
#define MESSAGE(members) "[{\"choices\":[{\"index\":0,\"message\":{" members "},\"finish_reason\":\"stop\"}]}]"
#define END(reason)      "{\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"" reason "\"}]}"

static void reply__puts_thought_before_content(void **state)
{
    (void)state;
    static const struct {
        const char *objects, *text;
    } cases[] = {
        /* plain, with and without tags of its own */
        {"[" DELTA("\"role\":\"assistant\",\"content\":\"\"") "," DELTA("\"content\":\"He\"") "," DELTA(
             "\"content\":\"llo\"") "]",
         "Hello"},
        {"[" DELTA("\"content\":\"<think>a</think>b\"") "]", "<think>a</think>b"},
        {MESSAGE("\"content\":\"  leading\""), "  leading"},
        /* a field of its own, in every name it has */
        {"[" DELTA("\"reasoning_content\":\"first, \"") "," DELTA("\"reasoning_content\":\"then\"") "," DELTA(
             "\"content\":\"answer\"") "]",
         "<think>\nfirst, then\n</think>\n\nanswer"},
        {MESSAGE("\"content\":\"answer\",\"reasoning\":\"why\""), "<think>\nwhy\n</think>\n\nanswer"},
        {MESSAGE("\"content\":\"answer\",\"thinking\":\"why\""), "<think>\nwhy\n</think>\n\nanswer"},
        {MESSAGE("\"content\":\"answer\",\"reasoning_details\":[{\"type\":\"reasoning.text\",\"text\":\"why\"}]"),
         "<think>\nwhy\n</think>\n\nanswer"},
        {MESSAGE("\"content\":[{\"type\":\"thinking\",\"thinking\":[{\"type\":\"text\",\"text\":\"why\"}]},{"
                 "\"type\":\"text\",\"text\":\"answer\"}]"),
         "<think>\nwhy\n</think>\n\nanswer"},
        /* once, though two fields come, in one object or in turn */
        {"[" DELTA("\"reasoning\":\"why\",\"reasoning_content\":\"why\"") "," DELTA("\"content\":\"answer\"") "]",
         "<think>\nwhy\n</think>\n\nanswer"},
        {"[" DELTA("\"reasoning\":\"why\",\"reasoning_details\":[{\"text\":\"why\"}]") "," DELTA(
             "\"content\":\"answer\"") "]",
         "<think>\nwhy\n</think>\n\nanswer"},
        {"[" DELTA("\"reasoning\":\"wh\"") "," DELTA("\"reasoning_content\":\"wh\"") "," DELTA(
             "\"reasoning\":"
             "\"y\"") "," DELTA("\"reasoning_content\":\"y\"") "," DELTA("\"content\":\"answer\"") "]",
         "<think>\nwhy\n</think>\n\nanswer"},
        /* once, though the content has it again; white space does not make it another thought */
        {MESSAGE("\"content\":\"<think>\\nwhy\\n</think>\\n\\nanswer\",\"reasoning_content\":\"why\""),
         "<think>\nwhy\n</think>\n\nanswer"},
        {"[" DELTA("\"reasoning_content\":\"why so\"") "," DELTA("\"content\":\"<thi\"") "," DELTA(
             "\"content\":\"nk>why\\n\"") "," DELTA("\"content\":\"so</thi\"") "," DELTA("\"content\":\"nk>"
                                                                                         "answer\"") "]",
         "<think>\nwhy so\n</think>\n\nanswer"},
        {MESSAGE("\"content\":\"<think>other</think>answer\",\"reasoning_content\":\"why\""),
         "<think>\nwhy\n</think>\n\n<think>other</think>answer"},
        {"[" DELTA("\"content\":\"<think>why</think>\"") "," DELTA("\"reasoning\":\"why\"") "," DELTA(
             "\"content\":\"answer\"") "]",
         "<think>why</think>answer"},
        /* no content: the thought was never closed */
        {"[" DELTA("\"reasoning_content\":\"cut sho\"") "," END("length") "]", "<think>\ncut sho"},
        {MESSAGE("\"content\":\"\",\"reasoning_content\":\"only\""), "<think>\nonly"},
        {MESSAGE("\"content\":null,\"reasoning_content\":\"only\""), "<think>\nonly"},
        {"[" DELTA("\"reasoning_content\":\"a\"") "," DELTA("\"content\":\"\\n\"") "," DELTA(
             "\"reasoning_content\":\"b\"") "]",
         "<think>\nab"},
        /* tags left in the field would close it early */
        {MESSAGE("\"content\":\"c\",\"reasoning_content\":\"<think>\\na</think>b</think>\\n\""),
         "<think>\nab\n</think>\n\nc"},
        {"[" DELTA("\"reasoning_content\":\"a </th\"") "," DELTA("\"reasoning_content\":\"ink>b < c\"") "," DELTA(
             "\"content\":\"d\"") "]",
         "<think>\na b < c\n</think>\n\nd"},
        /* white space first, thought later */
        {"[" DELTA("\"content\":\"\\n\"") "," DELTA("\"reasoning\":\"why\"") "," DELTA(
             "\"content\":\"\\n\\nanswer\"") "]",
         "<think>\nwhy\n</think>\n\nanswer"},
        /* thought between content, as models with interleaved thinking write it */
        {"[" DELTA("\"content\":\"one\"") "," DELTA("\"reasoning\":\"why\"") "," DELTA("\"content\":\"two\"") "]",
         "one\n<think>\nwhy\n</think>\n\ntwo"},
        /* completions, refusals, other choices */
        {"[{\"choices\":[{\"text\":\"raw \"}]},{\"choices\":[{\"text\":\"text\",\"finish_reason\":\"stop\"}]}]",
         "raw text"},
        {MESSAGE("\"content\":null,\"refusal\":\"I cannot\""), "I cannot"},
        {"[{\"choices\":[{\"index\":1,\"delta\":{\"content\":\"no\"}},{\"index\":0,\"delta\":{\"content\":\"yes\"}}"
         "]}]",
         "yes"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check(cases[i].objects, cases[i].text);
}

static void reply__gives_the_same_thought_for_any_pieces(void **state)
{
    (void)state;
    const char *thought = "<think>\nfirst line\n\nsecond </think> line\n",
               *content = "<think>first line\nsecond line</think>\n\nthe answer";
    for (size_t size = 1; size < 20; size++) {
        json_t *list = json_array();
        for (int part = 0; part < 2; part++) {
            struct str text = str_of(part ? content : thought);
            for (size_t at = 0; at < text.len; at += size) {
                json_t *delta = json_object();
                json_put_str(delta, part ? "content" : "reasoning_content", str_slice(text, at, at + size));
                json_push(list, json_pack("{s:[{s:o}]}", "choices", "delta", delta));
            }
        }
        char *objects = json_to_text(list);
        check(objects, "<think>\nfirst line\n\nsecond  line\n</think>\n\nthe answer");
        free(objects);
        json_decref(list);
    }
}

static void reply__writes_native_calls_as_tags(void **state)
{
    (void)state;
    static const struct {
        const char *objects, *text;
    } cases[] = {
        {MESSAGE("\"content\":null,\"tool_calls\":[{\"id\":\"a\",\"type\":\"function\",\"function\":{\"name\":"
                 "\"search\",\"arguments\":\"{\\\"query\\\": [\\\"x\\\"]}\"}}]"),
         "<tool_call>\n{\"name\": \"search\", \"arguments\": {\"query\": [\"x\"]}}\n</tool_call>"},
        /* in pieces, two at once, behind content and thought */
        {"[" DELTA("\"reasoning_content\":\"hm\"") "," DELTA(
             "\"tool_calls\":[{\"index\":0,\"id\":\"a\","
             "\"function\":{\"name\":\"search\",\"arguments\":"
             "\"\"}}]") "," DELTA("\"tool_calls\":[{\"index\":1,\"id\":\"b\",\"function\":{\"name\":\"visit\","
                                  "\"arguments\":\"{"
                                  "\\\"url\\\":\"}}]") "," DELTA("\"tool_calls\":[{\"index\":0,\"function\":{"
                                                                 "\"arguments\":\"{"
                                                                 "\\\"query\\\":[1]}\"}}]") "," DELTA("\"tool_"
                                                                                                      "calls\":["
                                                                                                      "{\"index"
                                                                                                      "\":1,"
                                                                                                      "\"functio"
                                                                                                      "n\":{"
                                                                                                      "\"argumen"
                                                                                                      "ts\":"
                                                                                                      "\"[2]}\"}"
                                                                                                      "}]") "," END("to"
                                                                                                                    "ol"
                                                                                                                    "_"
                                                                                                                    "ca"
                                                                                                                    "ll"
                                                                                                                    "s") "]",
         "<think>\nhm\n</think>\n\n<tool_call>\n{\"name\": \"search\", \"arguments\": "
         "{\"query\":[1]}}\n</tool_call>\n<tool_call>\n{\"name\": "
         "\"visit\", \"arguments\": {\"url\":[2]}}\n</tool_call>"},
        {"[" DELTA("\"content\":\"Let me see.\"") "," DELTA(
             "\"tool_calls\":[{\"index\":0,\"function\":{\"name\":\"a\",\"arguments\":{\"k\":1}}}]") "]",
         "Let me see.\n<tool_call>\n{\"name\": \"a\", \"arguments\": {\"k\":1}}\n</tool_call>"},
        /* every call with index 0, told apart by its id */
        {"[" DELTA("\"tool_calls\":[{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"x\",\"arguments\":\"{}"
                   "\"}}]") "," DELTA("\"tool_calls\":[{\"index\":0,\"id\":\"b\",\"function\":{\"name\":\"y\","
                                      "\"arguments\":\"{}\"}}]") "]",
         "<tool_call>\n{\"name\": \"x\", \"arguments\": {}}\n</tool_call>\n<tool_call>\n{\"name\": \"y\", "
         "\"arguments\": {}}\n</tool_call>"},
        /* no index at all */
        {"[" DELTA("\"tool_calls\":[{\"id\":\"a\",\"function\":{\"name\":\"x\",\"arguments\":\"{\\\"k\\\":\"}}"
                   "]") "," DELTA("\"tool_calls\":[{\"function\":{\"arguments\":\"1}\"}}]") "]",
         "<tool_call>\n{\"name\": \"x\", \"arguments\": {\"k\":1}}\n</tool_call>"},
        /* neither index nor id */
        {MESSAGE("\"tool_calls\":[{\"function\":{\"name\":\"x\",\"arguments\":{\"k\":1}}},{\"function\":{\"name\":"
                 "\"x\",\"arguments\":{\"k\":2}}}]"),
         "<tool_call>\n{\"name\": \"x\", \"arguments\": {\"k\":1}}\n</tool_call>\n<tool_call>\n{\"name\": \"x\", "
         "\"arguments\": {\"k\":2}}\n</tool_call>"},
        /* the old form; nothing in an argument can look like a tag; broken arguments are left for the decoder
         */
        {MESSAGE("\"function_call\":{\"name\":\"x\",\"arguments\":\"{\\\"k\\\": \\\"</tool_call><answer>\\\"}\"}"),
         "<tool_call>\n{\"name\": \"x\", \"arguments\": {\"k\": "
         "\"\\u003c/tool_call>\\u003canswer>\"}}\n</tool_call>"},
        {MESSAGE("\"tool_calls\":[{\"function\":{\"name\":\"x\",\"arguments\":\"{'k': 1\"}}]"),
         "<tool_call>\n{\"name\": \"x\", \"arguments\": {'k': 1}\n</tool_call>"},
        {MESSAGE("\"tool_calls\":[{\"function\":{\"name\":\"x\",\"arguments\":\"\"}}]"),
         "<tool_call>\n{\"name\": \"x\", \"arguments\": {}}\n</tool_call>"},
        {MESSAGE("\"content\":\"a\",\"tool_calls\":[]"), "a"},
        {MESSAGE("\"content\":\"a\",\"tool_calls\":null"), "a"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check(cases[i].objects, cases[i].text);
}

static void reply__maps_finish_reasons(void **state)
{
    (void)state;
    static const struct {
        const char *word;
        enum reply_end end;
        enum finish_reason reason;
    } cases[] = {
        {"stop", REPLY_FINISHED, FINISH_STOP},
        {"tool_calls", REPLY_FINISHED, FINISH_STOP},
        {"eos_token", REPLY_FINISHED, FINISH_STOP},
        {"length", REPLY_FINISHED, FINISH_LENGTH},
        {"model_length", REPLY_FINISHED, FINISH_LENGTH},
        {"content_filter", REPLY_FINISHED, FINISH_CONTENT_FILTER},
        {"SAFETY", REPLY_FINISHED, FINISH_CONTENT_FILTER},
        {"abort", REPLY_ABORTED, FINISH_BROKEN},
        {"error", REPLY_ABORTED, FINISH_BROKEN},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct reply reply;
        struct buf text;
        char *objects = mem_printf("[{\"choices\":[{\"delta\":{},\"finish_reason\":\"%s\"}]}]", cases[i].word);
        replied(objects, &reply, &text);
        assert_int_equal(reply.end, cases[i].end);
        assert_int_equal(reply.reason, cases[i].reason);
        reply_finish(&reply);
        buf_finish(&text);
        free(objects);
    }
}

static void reply__reports_usage_as_given(void **state)
{
    (void)state;
    static const struct {
        const char *objects;
        struct usage usage;
    } cases[] = {
        {MESSAGE("\"content\":\"a\""), {-1, -1, -1, -1}},
        {"[{\"choices\":[],\"usage\":null}]", {-1, -1, -1, -1}},
        {"[{\"choices\":[],\"usage\":{\"prompt_tokens\":10,\"completion_tokens\":2,\"prompt_tokens_details\":{\"cached_"
         "tokens\":8},"
         "\"completion_tokens_details\":{\"reasoning_tokens\":1}}}]",
         {10, 2, 8, 1}},
        {"[{\"choices\":[],\"usage\":{\"prompt_tokens\":10,\"completion_tokens\":0}},{\"choices\":[],\"usage\":{"
         "\"prompt_tokens\":10,"
         "\"completion_tokens\":5}},{\"choices\":[],\"usage\":{\"prompt_tokens\":0,\"completion_tokens\":0}}]",
         {10, 5, -1, -1}},
        {"[{\"choices\":[],\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":1,\"prompt_tokens_details\":null,"
         "\"prompt_cache_hit_tokens\":4}}]",
         {7, 1, 4, -1}},
        {"[{\"choices\":[{\"delta\":{},\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":1}}]}]", {7, 1, -1, -1}},
        {"[{\"choices\":[],\"timings\":{\"cache_n\":6,\"prompt_n\":1,\"predicted_n\":3}}]", {7, 3, 6, -1}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct reply reply;
        struct buf text;
        replied(cases[i].objects, &reply, &text);
        assert_memory_equal(&reply.usage, &cases[i].usage, sizeof reply.usage);
        reply_finish(&reply);
        buf_finish(&text);
    }
}

/* Streams read as text, where events that differ in their token alone go a shorter way, say what they say as objects.
 */
static void reply__reads_events_as_it_reads_objects(void **state)
{
    (void)state;
#define FRAME(members, reason)                                                                        \
    "{\"id\":\"c-1\",\"model\":\"m \\\"content\\\": \",\"choices\":[{\"index\":0,\"delta\":{" members \
    "},\"finish_reason\":" reason "}]}"
    static const char *const events[] = {
        FRAME("\"role\":\"assistant\",\"content\":\"\"", "null"),
        FRAME("\"reasoning_content\":\"we\"", "null"),
        FRAME("\"reasoning_content\":\"ll </th\"", "null"),
        FRAME("\"reasoning_content\":\"ink> ok\"", "null"),
        FRAME("\"content\":\"a\"", "null"),
        FRAME("\"content\":\" b\"", "null"),
        FRAME("\"content\":\"中 文\"", "null"),
        FRAME("\"content\":\"\\n\\\"q\\\"\"", "null"),
        FRAME("\"content\": \"spaced\"", "null"),
        FRAME("\"content\":\"x\",\"tool_calls\":[{\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]", "null"),
        FRAME("\"content\":\"c\"", "null"),
        FRAME("\"content\":\"d\",\"reasoning\":\"late\"", "null"),
        FRAME("\"content\":\"end\"", "\"length\""),
        FRAME("\"content\":\"tail\"", "null"),
        "{\"choices\":[],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":2}}",
    };
    struct reply one, other;
    struct buf first, second;
    buf_init(&first, BUF_UNBOUNDED);
    buf_init(&second, BUF_UNBOUNDED);
    reply_init(&one, collect, &first);
    reply_init(&other, collect, &second);
    for (size_t i = 0; i < sizeof events / sizeof *events; i++) {
        json_t *object;
        assert_int_equal(json_parse(str_of(events[i]), &object, NULL), STATUS_OK);
        reply_object(&one, object);
        json_decref(object);
        assert_true(reply_event(&other, str_of(events[i])));
    }
    reply_close(&one);
    reply_close(&other);
    assert_string_equal(second.data, first.data);
    assert_int_equal(other.reason, FINISH_LENGTH);
    assert_int_equal(other.usage.prompt, 3);
    /* what only looks like the frame is still checked */
    assert_false(reply_event(&other, STR("{\"choices\":[{\"delta\":{\"content\":\"a\nb\"}}]}")));
    reply_finish(&one);
    reply_finish(&other);
    buf_finish(&first);
    buf_finish(&second);
}

static void reply__takes_halves_of_characters(void **state)
{
    (void)state;
    static const char *const events[] = {DELTA("\"content\":\"a\\ud83d\""), DELTA("\"content\":\"\\ude00b\""),
                                         DELTA("\"content\":\"\xf0\x9f c\""), DELTA("\"content\":\"d\"")};
    struct reply reply;
    struct buf text;
    buf_init(&text, BUF_UNBOUNDED);
    reply_init(&reply, collect, &text);
    for (size_t i = 0; i < sizeof events / sizeof *events; i++)
        assert_true(reply_event(&reply, str_of(events[i])));
    assert_false(reply_event(&reply, STR("{choices: []}")));
    assert_false(reply_event(&reply, STR("{\"choices\":[]")));
    reply_close(&reply);
    assert_string_equal(text.data, "a\xef\xbf\xbd\xef\xbf\xbd"
                                   "b\xef\xbf\xbd cd");
    reply_finish(&reply);
    buf_finish(&text);
}

static void frame__takes_tokens_alone(void **state)
{
    (void)state;
#define EVENT(token) "{\"choices\":[{\"delta\":{\"content\":\"" token "\"}}]}"
    static const struct {
        const char *event;
        const char *token; /* NULL: no match */
    } cases[] = {
        {EVENT("b"), "b"},     {EVENT("\xe4\xb8\xad"), "\xe4\xb8\xad"},
        {EVENT("a\\n"), NULL}, {EVENT("a\"},\"finish_reason\":\"stop\"},{\"x\":{\"y\":\""), NULL},
        {EVENT("\xff"), NULL}, {EVENT("\t"), NULL},
        {EVENT(""), NULL},     {"{\"choices\":[{\"delta\":{\"content\":\"b\"}}]} ", NULL},
        {"{", NULL},
    };
    struct reply_frame frame;
    struct str token;
    json_t *object;
    reply_frame_init(&frame);
    assert_false(reply_frame_match(&frame, str_of(cases[0].event), &token));
    assert_int_equal(json_parse(STR(EVENT("first")), &object, NULL), STATUS_OK);
    reply_frame_learn(&frame, STR(EVENT("first")), object);
    json_decref(object);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(reply_frame_match(&frame, str_of(cases[i].event), &token), cases[i].token != NULL);
        if (cases[i].token)
            assert_true(str_equal(token, str_of(cases[i].token)));
    }
    reply_frame_finish(&frame);
}

static void reply__keeps_errors_apart(void **state)
{
    (void)state;
    static const char *const errors[] = {
        "[{\"error\":{\"message\":\"no\"}}]",
        "[{\"error\":\"no\"}]",
        "[{\"object\":\"error\",\"message\":\"no\"}]",
        "[{\"type\":\"error\",\"error\":{\"message\":\"no\"}}]",
        "[{\"choices\":[{\"delta\":{\"content\":\"\"},\"finish_reason\":\"error\",\"error\":{\"code\":502,\"message\":"
        "\"no\"}}]}]",
    };
    struct reply reply;
    struct buf text;
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        replied(errors[i], &reply, &text);
        assert_non_null(reply.error);
        reply_finish(&reply);
        buf_finish(&text);
    }
    replied("[{\"error\":null,\"model\":\"m\",\"choices\":[{\"delta\":{\"content\":\"a\"}}]}]", &reply, &text);
    assert_null(reply.error);
    assert_string_equal(reply.served_model, "m");
    reply_finish(&reply);
    buf_finish(&text);
}

static void reply__refuses_what_is_no_completion(void **state)
{
    (void)state;
    static const char *const garbage[] = {"[]", "1", "{}", "{\"choices\":\"a\"}", "{\"type\":\"ping\"}"};
    for (size_t i = 0; i < sizeof garbage / sizeof *garbage; i++) {
        json_t *object;
        struct reply reply;
        struct buf text;
        buf_init(&text, BUF_UNBOUNDED);
        reply_init(&reply, collect, &text);
        assert_int_equal(json_parse(str_of(garbage[i]), &object, NULL), STATUS_OK);
        assert_false(reply_object(&reply, object));
        json_decref(object);
        reply_finish(&reply);
        buf_finish(&text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reply__puts_thought_before_content),
        cmocka_unit_test(reply__gives_the_same_thought_for_any_pieces),
        cmocka_unit_test(reply__writes_native_calls_as_tags),
        cmocka_unit_test(reply__maps_finish_reasons),
        cmocka_unit_test(reply__reports_usage_as_given),
        cmocka_unit_test(reply__reads_events_as_it_reads_objects),
        cmocka_unit_test(reply__takes_halves_of_characters),
        cmocka_unit_test(frame__takes_tokens_alone),
        cmocka_unit_test(reply__keeps_errors_apart),
        cmocka_unit_test(reply__refuses_what_is_no_completion),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
