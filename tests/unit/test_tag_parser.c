#include "protocol/tag_parser.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/buf.h"
#include "support/recorded.h"

/* Everything a parser says, as one text: pieces joined, so that two ways of cutting the same bytes can be compared. */
struct trace {
    struct buf text;
    enum tag_event_kind last;
    bool any;
};

static void trace_event(void *user, const struct tag_event *event)
{
    struct trace *trace = user;
    bool piece = event->kind == TAG_THOUGHT || event->kind == TAG_TEXT;
    if (trace->any && (trace->last != event->kind || !piece))
        buf_add_text(&trace->text, "]");
    if (!trace->any || trace->last != event->kind || !piece) {
        static const char *const names[] = {"T[", "X[", "C[", "A[", "CUT["};
        buf_add_text(&trace->text, names[event->kind]);
    }
    trace->any = true;
    trace->last = event->kind;
    if (event->kind == TAG_CUT)
        buf_addf(&trace->text, "%zu", event->start);
    else if (event->kind != TAG_CALL)
        buf_add(&trace->text, event->text);
    if (event->kind == TAG_CALL) {
        buf_add(&trace->text, event->json);
        if (event->has_code) {
            buf_add_text(&trace->text, "|");
            buf_add(&trace->text, event->code);
        }
    }
    if (!piece && event->repairs)
        buf_addf(&trace->text, "~%s", tag_repair_name(event->repairs));
    if (!piece)
        buf_addf(&trace->text, "@%zu-%zu", event->start, event->end);
}

static void trace_outcome(struct trace *trace, const struct tag_outcome *outcome)
{
    static const char *const inside[] = {"nothing", "thought", "call", "answer"};
    buf_addf(&trace->text, "%s inside %s", trace->any ? "]" : "", inside[outcome->inside]);
    if (outcome->n_empty_calls)
        buf_addf(&trace->text, " empty %zu", outcome->n_empty_calls);
    for (unsigned rest = outcome->repairs; rest; rest &= rest - 1)
        buf_addf(&trace->text, " ~%s", tag_repair_name(rest));
    for (size_t i = 0; i < outcome->n_thoughts; i++) {
        const struct tag_range *range = &outcome->thoughts[i];
        buf_addf(&trace->text, " (%zu %zu %zu %zu)", range->start, range->text_start, range->text_end, range->end);
    }
    buf_addf(&trace->text, " length %zu", outcome->length);
}

/* Feeds `text` in pieces: all at once for step 0, else `step` bytes at a time, the first of `first` bytes. */
static char *run(const struct tag_parser_options *options, struct str text, enum tag_end how, size_t first, size_t step)
{
    struct trace trace = {0};
    buf_init(&trace.text, BUF_UNBOUNDED);
    struct tag_parser *parser = tag_parser_create(options, trace_event, &trace);
    size_t at = 0;
    for (size_t n = first ? first : step; at < text.len; n = step) {
        size_t to = n && at + n < text.len ? at + n : text.len;
        char *exact = str_dup(str_slice(text, at, to)); /* so that a read beyond the piece is seen */
        assert_int_equal(tag_parser_feed(parser, str_make(exact, to - at)), STATUS_OK);
        free(exact);
        at = to;
    }
    assert_int_equal(tag_parser_end(parser, how), STATUS_OK);
    trace_outcome(&trace, tag_parser_outcome(parser));
    tag_parser_destroy(parser);
    return buf_take(&trace.text);
}

#define CALL "{\"name\": \"a\", \"arguments\": {}}"

static const struct reading {
    const char *name;
    bool expected, open; /* thought */
    enum tag_end how;
    const char *text, *wanted;
} readings[] = {
    {"plain", false, false, TAG_END_STOP, "hello", "X[hello] inside nothing length 5"},
    {"empty", true, false, TAG_END_STOP, "", " inside nothing length 0"},
    {"thought, call", true, false, TAG_END_STOP, "<think>a</think>b<tool_call>" CALL "</tool_call>",
     "T[a]X[b]C[" CALL "@17-70] inside nothing (0 7 8 16) length 70"},
    {"opening tag written by the template", true, true, TAG_END_STOP, "a</think><answer> 42\n</answer>",
     "T[a]A[42@9-30] inside nothing (0 0 1 9) length 30"},
    {"opening tag missing", true, false, TAG_END_STOP, "a</think><answer>42</answer>",
     "X[a]A[42@9-28] inside nothing (0 0 1 9) length 28"},
    {"opening tag missing, calls before it are thought", true, false, TAG_END_STOP,
     "<tool_call>" CALL "</tool_call><answer>1</answer></think><tool_call>b</tool_call>",
     "C[b@79-103] inside nothing (0 0 71 79) length 103"},
    {"opening tag missing, a call is open", true, false, TAG_END_STOP, "use <tool_call> {\"</think><answer>1</answer>",
     "X[use ]A[1@26-44] inside nothing (0 0 18 26) length 44"},
    {"no thought at all where it is expected", true, false, TAG_END_STOP, "<tool_call>" CALL "</tool_call>",
     "C[" CALL "@0-53] inside nothing length 53"},
    {"an answer mentions thought", true, false, TAG_END_STOP, "<answer>1 <think>a</think> 2</answer>",
     "A[1 <think>a</think> 2@0-37] inside nothing length 37"},
    {"an opening tag releases what precedes it", true, false, TAG_END_STOP, "<tool_call>x</tool_call><think>y</think>z",
     "C[x@0-24]T[y]X[z] inside nothing (24 31 32 40) length 41"},
    {"closing tag without thought in the profile", false, false, TAG_END_STOP, "a</think>b",
     "X[ab] inside nothing (0 0 1 9) length 10"},
    {"closing tag after a call without thought in the profile", false, false, TAG_END_STOP,
     "<tool_call>x</tool_call>a</think>b", "C[x@0-24]X[a</think>b] inside nothing length 34"},
    {"stray closing tag", true, false, TAG_END_STOP, "<think>a</think>b</think>c",
     "T[a]X[b</think>c] inside nothing (0 7 8 16) length 26"},
    {"two thoughts", true, false, TAG_END_STOP, "<think>a</think>b<think>c</think>d",
     "T[a]X[b]T[c]X[d] inside nothing (0 7 8 16) (17 24 25 33) length 34"},
    {"tags inside closed thought", true, false, TAG_END_STOP,
     "<think><tool_call>" CALL "</tool_call><answer>1</answer><tool_response></think><answer>2</answer>",
     "T[<tool_call>" CALL
     "</tool_call><answer>1</answer><tool_response>]A[2@101-119] inside nothing (0 7 93 101) length 119"},

    {"thought never closed, call", true, false, TAG_END_STOP, "<think>a<tool_call>" CALL "</tool_call>b",
     "T[a<tool_call>" CALL "</tool_call>b]C[" CALL "@8-61] inside thought ~unclosed-thought (0 7 8 8) length 62"},
    {"thought never closed, answer after the last <think>", true, false, TAG_END_STOP,
     "<think><answer>1</answer><think><answer>2</answer>",
     "T[<answer>1</answer><think><answer>2</answer>]A[2@32-50] inside thought ~unclosed-thought (0 7 32 32) length 50"},
    {"thought never closed, call before the last <think>", true, false, TAG_END_STOP,
     "<think><tool_call>" CALL "</tool_call><think>b",
     "T[<tool_call>" CALL "</tool_call><think>b] inside thought (0 7 68 68) length 68"},
    {"thought never closed, two calls", true, true, TAG_END_STOP,
     "<tool_call>{1}</tool_call>\n<tool_call>{2}</tool_call>",
     "T[<tool_call>{1}</tool_call>\n<tool_call>{2}</tool_call>]C[{1}@0-26]C[{2}@27-53] inside thought "
     "~unclosed-thought (0 0 0 0) length 53"},
    {"thought never closed, an answer behind a call", true, true, TAG_END_STOP,
     "<tool_call>{1}</tool_call><answer>2</answer>",
     "T[<tool_call>{1}</tool_call><answer>2</answer>]A[2@26-44] inside thought ~unclosed-thought (0 0 26 26) length "
     "44"},
    {"thought never closed, only mentions", true, true, TAG_END_STOP,
     "use <tool_call> or <answer></answer>. <tool_call>..",
     "T[use <tool_call> or <answer></answer>. <tool_call>..] inside thought (0 0 51 51) length 51"},
    {"thought never closed, unclosed call with a whole object", true, true, TAG_END_STOP, "<tool_call>{1}",
     "T[<tool_call>{1}]C[{1}~unclosed-call@0-14] inside thought ~unclosed-thought ~unclosed-call (0 0 0 0) length 14"},
    {"thought never closed, unclosed call cut", true, true, TAG_END_STOP, "<tool_call>{1",
     "T[<tool_call>{1] inside thought (0 0 13 13) length 13"},
    {"thought never closed, unclosed answer", true, true, TAG_END_STOP, "<answer>1",
     "T[<answer>1] inside thought (0 0 9 9) length 9"},
    {"thought never closed, results invented", true, true, TAG_END_STOP,
     "<tool_call>{1}</tool_call><tool_response>x</tool_response><think><answer>2</answer>",
     "T[<tool_call>{1}</tool_call><tool_response>x</tool_response><think><answer>2</answer>]C[{1}@0-26]CUT[26@26-26] "
     "inside thought ~unclosed-thought (0 0 0 0) length 26"},
    {"thought cut by length", true, true, TAG_END_LENGTH, "abc", "T[abc] inside thought (0 0 3 3) length 3"},
    {"thought cut by length after a call it only considers", true, true, TAG_END_LENGTH,
     "<tool_call>{1}</tool_call> no,", "T[<tool_call>{1}</tool_call> no,] inside thought (0 0 30 30) length 30"},
    {"thought cut by length right after a call", true, true, TAG_END_LENGTH, "<tool_call>{1}</tool_call> \n",
     "T[<tool_call>{1}</tool_call> \n]C[{1}@0-26] inside thought ~unclosed-thought (0 0 0 0) length 28"},
    {"thought broken off", true, true, TAG_END_BROKEN, "<tool_call>{1}</tool_call>",
     "T[<tool_call>{1}</tool_call>] inside thought (0 0 26 26) length 26"},
    {"thought mentions results", true, false, TAG_END_STOP, "<think>the <tool_response> says</think><answer>1</answer>",
     "T[the <tool_response> says]A[1@39-57] inside nothing (0 7 31 39) length 57"},
    {"thought without opening tag mentions results", true, false, TAG_END_STOP,
     "the <tool_response> says</think><answer>1</answer>", "X[the ]A[1@32-50] inside nothing (0 0 24 32) length 50"},
    {"results invented first, no thought follows", true, false, TAG_END_STOP, "ok <tool_response> <answer>1</answer>",
     "X[ok ]CUT[3@3-3] inside nothing length 3"},
    {"results invented after a call, thought undecided", true, false, TAG_END_STOP,
     "<tool_call>{1}</tool_call>\n<tool_response>x</think><answer>1</answer>",
     "X[\n]C[{1}@0-26]CUT[27@27-27] inside nothing length 27"},

    {"several calls", false, false, TAG_END_STOP, "<tool_call>{1}</tool_call>\n<tool_call>{2}</tool_call>",
     "C[{1}@0-26]X[\n]C[{2}@27-53] inside nothing length 53"},
    {"call and answer", false, false, TAG_END_STOP, "<tool_call>{1}</tool_call><answer>2</answer>",
     "C[{1}@0-26]A[2@26-44] inside nothing length 44"},
    {"the first answer counts", false, false, TAG_END_STOP, "<answer> </answer><answer>1</answer><answer>2</answer>",
     "A[1@18-36] inside nothing length 54"},
    {"an answer begun anew", false, false, TAG_END_STOP, "<answer>the <answer>42</answer></answer>",
     "A[42@12-31]X[</answer>] inside nothing length 40"},
    {"calls inside an answer are its text", false, false, TAG_END_STOP, "<answer>a <tool_call>{1}</tool_call></answer>",
     "A[a <tool_call>{1}</tool_call>@0-45] inside nothing length 45"},
    {"results invented", false, false, TAG_END_STOP, "<tool_call>{1}</tool_call>\n<tool_response>\nx<answer>1</answer>",
     "C[{1}@0-26]X[\n]CUT[27@27-27] inside nothing length 27"},
    {"results invented inside a call", false, false, TAG_END_STOP, "<tool_call>{1}<tool_response>x</tool_call>",
     "C[{1}~unclosed-call@0-14]CUT[14@14-14] inside call ~unclosed-call length 14"},
    {"results invented inside a string", false, false, TAG_END_STOP, "<tool_call>{\"<tool_response>\"}</tool_call>",
     "C[{\"~unclosed-call@0-13]CUT[13@13-13] inside call ~unclosed-call length 13"},
    {"results invented inside an answer", false, false, TAG_END_STOP, "<answer>4\n<tool_response>x</answer>",
     "A[4~unclosed-answer@0-10]CUT[10@10-10] inside answer ~unclosed-answer length 10"},
    {"results invented inside a program", false, false, TAG_END_STOP,
     "<tool_call>{1}<code>p</tool_call><tool_response>x</code></tool_call>",
     "C[{1}|p~unclosed-code@0-33]CUT[33@33-33] inside nothing ~unclosed-code length 33"},
    {"closing tags alone", false, false, TAG_END_STOP, "</tool_call></answer></code></tool_response>",
     "X[</tool_call></answer></code></tool_response>] inside nothing length 44"},

    {"program", false, false, TAG_END_STOP, "<tool_call>\n{1}\n<code>\nx\n</code>\n</tool_call>",
     "C[\n{1}\n|\nx\n@0-45] inside nothing length 45"},
    {"program that prints a closing tag", false, false, TAG_END_STOP,
     "<tool_call>{1}<code>print('</tool_call>')</code></tool_call>z",
     "C[{1}|print('</tool_call>')@0-60]X[z] inside nothing length 61"},
    {"program that speaks of all tags", false, false, TAG_END_STOP,
     "<tool_call>{1}<code><think></think><tool_call><answer></answer><code></code>x</code></tool_call>",
     "C[{1}|<think></think><tool_call><answer></answer><code></code>x@0-96] inside nothing length 96"},
    {"program never closed", false, false, TAG_END_STOP,
     "<tool_call>{1}<code>x</tool_call>a<tool_call>{2}</tool_call><tool_call>{3}<code>y</tool_call>",
     "C[{1}|x~unclosed-code@0-33]X[a]C[{2}@34-60]C[{3}|y~unclosed-code@60-93] inside nothing ~unclosed-code length 93"},
    {"program and call never closed", false, false, TAG_END_STOP, "<tool_call>{1}<code>x",
     "C[{1}|x~unclosed-call@0-21] inside call ~unclosed-call ~unclosed-code length 21"},
    {"program and call never closed, a second call", false, false, TAG_END_STOP,
     "<tool_call>{1}<code>x\n<tool_call>{2}</tool_call>",
     "C[{1}|x\n<tool_call>{2}~unclosed-code@0-48] inside nothing ~unclosed-code length 48"},
    {"program cut by length", false, false, TAG_END_LENGTH, "<tool_call>{1}<code>x", " inside call length 21"},
    {"program closed, call not", false, false, TAG_END_STOP, "<tool_call>{1}<code>x</code>\n<tool_call>{2}</tool_call>",
     "C[{1}|x~unclosed-call@0-29]C[{2}@29-55] inside nothing ~unclosed-call length 55"},
    {"a string speaks of <code>", false, false, TAG_END_STOP,
     "<tool_call>{\"q\": \"the <code> tag\"}</tool_call><tool_call>{2}</tool_call>",
     "C[{\"q\": \"the <code> tag\"}@0-46]C[{2}@46-72] inside nothing length 72"},
    {"a string speaks of <tool_call>", false, false, TAG_END_STOP,
     "<tool_call>{\"q\": \"a <tool_call> b\"}</tool_call>",
     "C[{\"q\": \"a <tool_call> b\"}@0-47] inside nothing length 47"},
    {"a single-quoted string speaks of tags", false, false, TAG_END_STOP,
     "<tool_call>{'q': 'a <tool_call> <think> <answer> b'}</tool_call>",
     "C[{'q': 'a <tool_call> <think> <answer> b'}@0-64] inside nothing length 64"},
    {"a string never closed before the next call", false, false, TAG_END_STOP,
     "<tool_call>{\"q\": \"a\n<tool_call>{\"b\": 1}</tool_call>",
     "C[{\"q\": \"a\n~unclosed-call@0-20]C[{\"b\": 1}@20-51] inside nothing ~unclosed-call length 51"},
    {"a string never closed before the next call, which is not closed either", false, false, TAG_END_STOP,
     "<tool_call>{\"q\": \"a\n<tool_call>{\"b\": 1}",
     "C[{\"q\": \"a\n~unclosed-call@0-20]C[{\"b\": 1}~unclosed-call@20-39] inside call ~unclosed-call length 39"},
    {"the first closing tag ends it, also in a string", false, false, TAG_END_STOP,
     "<tool_call>{\"q\": \"a </tool_call> b\"}</tool_call>",
     "C[{\"q\": \"a @0-32]X[ b\"}</tool_call>] inside nothing length 48"},
    {"tag twice", false, false, TAG_END_STOP, "<tool_call>\n<tool_call>\n{1}</tool_call>\n</tool_call>",
     "C[\n{1}@12-39]X[\n</tool_call>] inside nothing ~stray-call-tag length 52"},
    {"calls without closing tags", false, false, TAG_END_STOP, "<tool_call>{1}\n<tool_call>{2}\n<answer>3</answer>",
     "C[{1}\n~unclosed-call@0-15]C[{2}\n~unclosed-call@15-30]A[3@30-48] inside nothing ~unclosed-call length 48"},
    {"empty call", false, false, TAG_END_STOP, "<tool_call>\n </tool_call>", " inside nothing empty 1 length 25"},
    {"prose is a call when it is closed", false, false, TAG_END_STOP, "<tool_call>I will</tool_call><tool_call>I will",
     "C[I will@0-29] inside call ~stray-call-tag length 46"},
    {"unclosed call at the end", false, false, TAG_END_STOP, "<tool_call>{1}",
     "C[{1}~unclosed-call@0-14] inside call ~unclosed-call length 14"},
    {"unclosed call, half a closing tag", false, false, TAG_END_STOP, "<tool_call>{1}</tool_ca",
     "C[{1}~unclosed-call@0-23] inside call ~unclosed-call length 23"},
    {"unclosed call, dialects", false, false, TAG_END_STOP, "<tool_call>f\n<arg_key>a</arg_key>",
     "C[f\n<arg_key>a</arg_key>~unclosed-call@0-33] inside call ~unclosed-call length 33"},
    {"unclosed call cut by length", false, false, TAG_END_LENGTH, "<tool_call>{1}",
     "C[{1}~unclosed-call@0-14] inside call ~unclosed-call length 14"},
    {"unclosed call broken off", false, false, TAG_END_BROKEN, "<tool_call>{1}</tool_call><tool_call>{2}",
     "C[{1}@0-26] inside call length 40"},
    {"unclosed answer", false, false, TAG_END_STOP, "<answer>42</ans",
     "A[42~unclosed-answer@0-15] inside answer ~unclosed-answer length 15"},
    {"unclosed answer cut by length", false, false, TAG_END_LENGTH, "<answer>42", " inside answer length 10"},
    {"unclosed answer broken off", false, false, TAG_END_BROKEN, "<answer>42", " inside answer length 10"},
    {"other spellings are text", false, false, TAG_END_STOP,
     "<tool_call >a</tool_call><Answer>b</Answer><tool_response",
     "X[<tool_call >a</tool_call><Answer>b</Answer><tool_response] inside nothing length 57"},
    {"less-than signs", false, false, TAG_END_STOP, "<<<think>a<<</think><<tool_call><</tool_call>",
     "X[<<]T[a<<]X[<]C[<@21-45] inside nothing (2 9 12 20) length 45"},
};

static void tag_parser__reads_every_row(void **state)
{
    (void)state;
    bool failed = false;
    for (size_t i = 0; i < sizeof readings / sizeof readings[0]; i++) {
        const struct reading *row = &readings[i];
        struct tag_parser_options options = {.thought_expected = row->expected, .thought_open = row->open};
        char *got = run(&options, str_of(row->text), row->how, 0, 0);
        if (strcmp(got, row->wanted) != 0) {
            print_error("%s\n    got    %s\n    wanted %s\n", row->name, got, row->wanted);
            failed = true;
        }
        free(got);
    }
    assert_false(failed);
}

/* Cuts `text` in two at every place, then into single bytes and small pieces, and compares with the whole. */
static void check_cuts(const struct tag_parser_options *options, struct str text, enum tag_end how, bool every)
{
    char *whole = run(options, text, how, 0, 0);
    for (size_t step = 1; step < 20; step += every ? 1 : 6) {
        char *cut = run(options, text, how, 0, step);
        assert_string_equal(cut, whole);
        free(cut);
    }
    for (size_t first = 1; every && first < text.len; first++) {
        char *cut = run(options, text, how, first, 0);
        assert_string_equal(cut, whole);
        free(cut);
    }
    free(whole);
}

static void tag_parser__any_cut_of_a_row_is_equal(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof readings / sizeof readings[0]; i++) {
        for (unsigned bits = 0; bits < 12; bits++) {
            struct tag_parser_options options = {.thought_expected = bits & 1, .thought_open = bits & 2};
            check_cuts(&options, str_of(readings[i].text), (enum tag_end)(bits / 4), true);
        }
    }
}

static void check_recorded(void *user, struct str text, size_t index)
{
    (void)user;
    static const struct tag_parser_options all[] = {{.thought_expected = true}, {0}, {.thought_open = true}};
    enum tag_end how = (enum tag_end)(index % 3);
    check_cuts(&all[index % 3], text, how, index % 40 == 0 && text.len < 6000);
}

static void tag_parser__any_cut_of_recorded_streams_is_equal(void **state)
{
    (void)state;
    if (!recorded_each_completion(SHARED_DATA "/transcripts/webdancer.jsonl.gz", check_recorded, NULL) ||
        !recorded_each_completion(SHARED_DATA "/transcripts/dirty.jsonl.gz", check_recorded, NULL)) {
        print_message("no recorded transcripts here\n");
        skip();
    }
}

static struct {
    size_t calls, answers, both, thoughts;
} seen;

static void count_event(void *user, const struct tag_event *event)
{
    (void)user;
    seen.calls += event->kind == TAG_CALL;
    seen.answers += event->kind == TAG_ANSWER;
}

static void count_recorded(void *user, struct str text, size_t index)
{
    (void)user;
    (void)index;
    struct tag_parser *parser =
        tag_parser_create(&(struct tag_parser_options){.thought_expected = true}, count_event, NULL);
    assert_int_equal(tag_parser_feed(parser, text), STATUS_OK);
    assert_int_equal(tag_parser_end(parser, TAG_END_STOP), STATUS_OK);
    const struct tag_outcome *outcome = tag_parser_outcome(parser);
    assert_int_equal(outcome->repairs, 0);
    assert_false(outcome->cut);
    seen.thoughts += outcome->n_thoughts;
    seen.both += outcome->has_answer == (outcome->n_calls > 0);
    tag_parser_destroy(parser);
}

static void tag_parser__recorded_trajectories_read_as_they_are(void **state)
{
    (void)state;
    memset(&seen, 0, sizeof seen);
    if (!recorded_each_completion(SHARED_DATA "/transcripts/webdancer.jsonl.gz", count_recorded, NULL)) {
        print_message("no recorded transcripts here\n");
        skip();
    }
    assert_int_equal(seen.calls, 110);
    assert_int_equal(seen.answers, 100);
    assert_int_equal(seen.thoughts, 210);
    assert_int_equal(seen.both, 0);
}

static size_t calls_so_far;

static void note_call(void *user, const struct tag_event *event)
{
    (void)user;
    calls_so_far += event->kind == TAG_CALL;
}

static void tag_parser__a_closed_call_is_seen_at_once_when_thought_is_over(void **state)
{
    (void)state;
    static const struct {
        bool expected;
        const char *text;
        size_t wanted;
    } rows[] = {
        {false, "<tool_call>{1}</tool_call>", 1},
        {true, "<tool_call>{1}</tool_call>", 0},
        {true, "<think>a</think><tool_call>{1}</tool_call>", 1},
        {true, "a</think><tool_call>{1}</tool_call>", 1},
        {true, "<think>a<tool_call>{1}</tool_call>", 0},
        {true, "<tool_call>{1}</tool_call><think>", 1},
        {false, "<tool_call>{1}<code>x</tool_call>", 0},
        {false, "<tool_call>{1}<code>x</code></tool_call>", 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        calls_so_far = 0;
        struct tag_parser *parser =
            tag_parser_create(&(struct tag_parser_options){.thought_expected = rows[i].expected}, note_call, NULL);
        assert_int_equal(tag_parser_feed(parser, str_of(rows[i].text)), STATUS_OK);
        assert_int_equal(calls_so_far, rows[i].wanted);
        tag_parser_destroy(parser);
    }
}

static void ignore_event(void *user, const struct tag_event *event)
{
    (void)user;
    (void)event;
}

static void tag_parser__counts_many_thoughts(void **state)
{
    (void)state;
    struct tag_parser *parser = tag_parser_create(NULL, ignore_event, NULL);
    for (size_t i = 0; i < 20000; i++)
        assert_int_equal(tag_parser_feed(parser, STR("<think>a</think>")), STATUS_OK);
    assert_int_equal(tag_parser_feed(parser, STR("<answer>1</answer>")), STATUS_OK);
    assert_int_equal(tag_parser_end(parser, TAG_END_STOP), STATUS_OK);
    assert_int_equal(tag_parser_outcome(parser)->n_thoughts, 20000);
    assert_true(tag_parser_outcome(parser)->has_answer);
    tag_parser_destroy(parser);
}

static void tag_parser__caps_hold(void **state)
{
    (void)state;
    struct tag_parser_options options = {.max_element_bytes = 1000};
    static const char *const openings[] = {"<tool_call>", "<answer>", "<tool_call>{}<code>"};
    for (size_t i = 0; i < 3; i++) {
        struct tag_parser *parser = tag_parser_create(&options, ignore_event, NULL);
        enum status status = tag_parser_feed(parser, str_of(openings[i]));
        size_t fed = 0;
        for (; status == STATUS_OK && fed < 5000; fed += 10)
            status = tag_parser_feed(parser, STR("0123456789"));
        assert_int_equal(status, STATUS_TOO_BIG);
        assert_in_range(fed, 900, 1010);
        assert_int_equal(tag_parser_feed(parser, STR("</tool_call>")), STATUS_TOO_BIG);
        assert_int_equal(tag_parser_end(parser, TAG_END_STOP), STATUS_TOO_BIG);
        tag_parser_reset(parser);
        assert_int_equal(tag_parser_feed(parser, STR("<tool_call>{}</tool_call>")), STATUS_OK);
        assert_int_equal(tag_parser_end(parser, TAG_END_STOP), STATUS_OK);
        assert_int_equal(tag_parser_outcome(parser)->n_calls, 1);
        tag_parser_destroy(parser);
    }
}

static void tag_parser__long_thought_needs_no_memory(void **state)
{
    (void)state;
    struct tag_parser_options options = {.thought_expected = true, .max_element_bytes = 1000};
    struct tag_parser *parser = tag_parser_create(&options, ignore_event, NULL);
    assert_int_equal(tag_parser_feed(parser, STR("<think>I could write <tool_call>{")), STATUS_OK);
    for (size_t i = 0; i < 20000; i++)
        assert_int_equal(tag_parser_feed(parser, STR("so it goes on and on, ")), STATUS_OK);
    for (size_t i = 0; i < 20000; i++)
        assert_int_equal(tag_parser_feed(parser, STR("<tool_call>{}</tool_call>")), STATUS_OK);
    assert_int_equal(tag_parser_feed(parser, STR("</think><answer>1</answer>")), STATUS_OK);
    assert_int_equal(tag_parser_end(parser, TAG_END_STOP), STATUS_OK);
    assert_true(tag_parser_outcome(parser)->has_answer);
    assert_int_equal(tag_parser_outcome(parser)->n_calls, 0);
    tag_parser_destroy(parser);
}

/* Inputs that make a careless parser go back again and again. Quadratic work on a megabyte would not end in this test.
 */
static void tag_parser__stays_linear(void **state)
{
    (void)state;
    static const char *const units[] = {"<",
                                        "<tool_call",
                                        "<tool_call>",
                                        "</",
                                        "<tool_call>{\"",
                                        "<tool_call>{\\\"",
                                        "<tool_call><code></tool_call>",
                                        "<answer>",
                                        "<think><tool_call>{}",
                                        "<tool_call>{\"<tool_call>",
                                        "<tool_call>{}</tool_call><tool_response",
                                        "<tool_call>{'<code></tool_call>",
                                        "<tool_call>{}<code></tool_call><tool_response>"};
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        for (unsigned bits = 0; bits < 4; bits++) {
            struct tag_parser_options options = {
                .thought_expected = bits & 1, .thought_open = bits & 2, .max_element_bytes = 64u << 20};
            struct tag_parser *parser = tag_parser_create(&options, ignore_event, NULL);
            enum status status = tag_parser_feed(parser, STR("x<tool_call>{\""));
            for (size_t fed = 0; fed < 1 << 20 && status == STATUS_OK; fed += strlen(units[i]))
                status = tag_parser_feed(parser, str_of(units[i]));
            if (status == STATUS_OK)
                status = tag_parser_end(parser, TAG_END_STOP);
            assert_int_equal(status, STATUS_OK);
            tag_parser_destroy(parser);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tag_parser__reads_every_row),
        cmocka_unit_test(tag_parser__any_cut_of_a_row_is_equal),
        cmocka_unit_test(tag_parser__any_cut_of_recorded_streams_is_equal),
        cmocka_unit_test(tag_parser__recorded_trajectories_read_as_they_are),
        cmocka_unit_test(tag_parser__a_closed_call_is_seen_at_once_when_thought_is_over),
        cmocka_unit_test(tag_parser__counts_many_thoughts),
        cmocka_unit_test(tag_parser__caps_hold),
        cmocka_unit_test(tag_parser__long_thought_needs_no_memory),
        cmocka_unit_test(tag_parser__stays_linear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
