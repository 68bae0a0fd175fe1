/* Passages and sentences of Markdown and plain text, and Markdown back to a line. */
#include "text/markdown.h"
#include "text/passages.h"
#include "text/sentences.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/buf.h"
#include "core/utf8.h"

static struct buf repeat(const char *unit, size_t times)
{
    struct buf text;
    buf_init(&text, BUF_UNBOUNDED);
    while (times--)
        buf_add_text(&text, unit);
    return text;
}

/* Whatever is not white space lies in exactly one passage, in order, cut at characters, none too large. */
static void assert_covers(struct str text, const struct passages *passages)
{
    size_t at = 0;
    for (size_t i = 0; i < passages->count; i++) {
        const struct passage *p = &passages->items[i];
        assert_true(p->from >= at && p->from < p->to && p->to <= text.len);
        assert_int_equal(str_trim(str_slice(text, at, p->from)).len, 0);
        assert_true(utf8_is_valid(str_slice(text, p->from, p->to)));
        assert_true(p->to - p->from <= 2 * 4 * 300);
        at = p->to;
    }
    assert_int_equal(str_trim(str_slice(text, at, text.len)).len, 0);
}

static void passages__follow_headings(void **state)
{
    (void)state;
    struct buf text;
    buf_init(&text, BUF_UNBOUNDED);
    struct buf body = repeat("Some words that fill the section up. ", 24);
    buf_addf(&text, "# Top\n\n%s\n\n## Inner `code`\n\n%s\n\n```\n# no heading\n```\n\nSetext\n------\n\n%s\n",
             body.data, body.data, body.data);
    struct passages passages;
    passages_cut(buf_str(&text), 0, &passages);
    assert_int_equal(passages.count, 3);
    assert_string_equal(passages.items[0].headings, "Top");
    assert_string_equal(passages.items[1].headings, "Top > Inner code");
    assert_string_equal(passages.items[2].headings, "Top > Setext");
    assert_true(str_starts_with(str_slice(buf_str(&text), passages.items[1].from, text.len), STR("## Inner")));
    assert_covers(buf_str(&text), &passages);
    passages_finish(&passages);
    buf_finish(&body);
    buf_finish(&text);
}

static void passages__cover_every_text(void **state)
{
    (void)state;
    static const struct {
        const char *unit;
        size_t times;
    } cases[] = {
        {"", 1},
        {"one", 1},
        {"   \n\n  ", 3},
        {"word ", 20000},
        {"x", 100000},
        {"\xE4\xB8\xAD", 20000},
        {"\xE4\xB8\xAD\xE3\x80\x82", 20000},
        {"line\n", 20000},
        {"para\n\n", 20000},
        {"# h\n", 5000},
        {"## h\n\ntext\n\n", 3000},
        {"```\n", 4001},
        {"| a | b |\n", 9000},
        {"\xF0\x9F\x98\x80", 9000},
        {"#", 30000},
        {"====\n", 500},
        {"# h\n\n\n\n\n\n\nt\n\n\n\n\n\n\n\n", 3000},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct buf text = repeat(cases[i].unit, cases[i].times);
        struct passages passages;
        passages_cut(buf_str(&text), 0, &passages);
        assert_covers(buf_str(&text), &passages);
        passages_finish(&passages);
        buf_finish(&text);
    }
}

static void passages__are_of_the_size_asked_for(void **state)
{
    (void)state;
    struct buf text = repeat("This is a sentence of a few words. Another one follows it.\n\n", 400);
    struct passages passages;
    passages_cut(buf_str(&text), 0, &passages);
    for (size_t i = 0; i + 1 < passages.count; i++) {
        size_t tokens = (passages.items[i].to - passages.items[i].from) / 4;
        assert_in_range(tokens, 200, 400);
    }
    passages_finish(&passages);
    buf_finish(&text);
}

/* Text that is nearly as long as a passage. */
static struct buf long_section(void)
{
    return repeat("Some words that fill the section up. ", 27);
}

/* Cuts `text` and checks the cut. */
static void cut(struct buf *text, struct passages *passages)
{
    passages_cut(buf_str(text), 0, passages);
    assert_covers(buf_str(text), passages);
}

static bool passage_begins(const struct buf *text, const struct passages *passages, size_t i, const char *with)
{
    return i < passages->count &&
           str_starts_with(str_slice(buf_str(text), passages->items[i].from, passages->items[i].to), str_of(with));
}

/* Small sections share a passage; a heading is never the end of one. */
static void passages__keep_headings_with_their_text(void **state)
{
    (void)state;
    struct buf text, body = long_section();
    struct passages passages;
    buf_init(&text, BUF_UNBOUNDED);
    buf_addf(&text, "# A\n\nShort.\n\n# B\n\nShort too.\n\n# C\n\n## D\n\n%s\n\n## E\n\n%s\n", body.data, body.data);
    buf_add_text(&text, "\nShort.\n\n### F\n\nShort.\n");
    cut(&text, &passages);
    assert_true(passage_begins(&text, &passages, 0, "# A"));
    assert_string_equal(passages.items[0].headings, "A");
    assert_true(passage_begins(&text, &passages, 1, "## E"));
    assert_string_equal(passages.items[1].headings, "C > E");
    for (size_t i = 0; i < passages.count; i++) {
        struct str passage = str_slice(buf_str(&text), passages.items[i].from, passages.items[i].to);
        size_t last = str_rfind_char(passage, '\n');
        assert_false(last != STR_NONE && str_starts_with(str_slice(passage, last + 1, passage.len), STR("#")));
    }
    passages_finish(&passages);
    buf_finish(&text);
    buf_finish(&body);
}

static void passages__keep_a_lead_in_with_its_list(void **state)
{
    (void)state;
    struct buf text, body = long_section();
    struct passages passages;
    buf_init(&text, BUF_UNBOUNDED);
    buf_addf(&text, "%s\n\n## Options\n\nThe options are:\n\n- %s\n\n- %s\n", body.data, body.data, body.data);
    cut(&text, &passages);
    assert_int_equal(passages.count, 3);
    assert_true(passage_begins(&text, &passages, 1, "## Options\n\nThe options are:\n\n- Some"));
    passages_finish(&passages);
    buf_reset(&text);
    buf_addf(&text, "# Long\n\n%s\n\nThis is how:\n\n```\n%s\n```\n", body.data, body.data);
    cut(&text, &passages);
    assert_int_equal(passages.count, 2);
    assert_true(passage_begins(&text, &passages, 1, "This is how:\n\n```"));
    assert_string_equal(passages.items[1].headings, "Long");
    passages_finish(&passages);
    buf_finish(&text);
    buf_finish(&body);
}

/* What is torn, or far from what it belongs to, still says what it is about. */
static void passages__name_the_table_or_term(void **state)
{
    (void)state;
    struct buf text, rows = repeat("| `-x` | makes something of it |\n", 200), body = long_section();
    struct passages passages;
    buf_init(&text, BUF_UNBOUNDED);
    buf_addf(&text, "# Tool\n\n| Option | Meaning |\n| --- | --- |\n%s\nAfter it.\n", rows.data);
    cut(&text, &passages);
    assert_true(passages.count > 4);
    assert_string_equal(passages.items[0].headings, "Tool");
    assert_string_equal(passages.items[1].headings, "Tool > Option | Meaning");
    assert_true(passage_begins(&text, &passages, 1, "| `-x`"));
    passages_finish(&passages);
    buf_reset(&text);
    buf_addf(&text, "# Tool\n\n**--flag** *N*\n: %s\n\n  %s\n\n- %s\n", body.data, body.data, body.data);
    cut(&text, &passages);
    assert_int_equal(passages.count, 3);
    assert_string_equal(passages.items[0].headings, "Tool");
    assert_string_equal(passages.items[1].headings, "Tool > --flag N");
    assert_string_equal(passages.items[2].headings, "Tool");
    passages_finish(&passages);
    buf_finish(&text);
    buf_finish(&rows);
    buf_finish(&body);
}

static void passages__do_not_tear_code_that_fits(void **state)
{
    (void)state;
    struct buf text, body = long_section(), code = repeat("int x;\n\n# no heading\n", 80);
    struct passages passages;
    buf_init(&text, BUF_UNBOUNDED);
    buf_addf(&text, "%s\n\n````c\n```\n%s```\n````\n\n%s\n", body.data, code.data, body.data);
    cut(&text, &passages);
    assert_int_equal(passages.count, 3);
    assert_true(passage_begins(&text, &passages, 1, "````c"));
    assert_true(passage_begins(&text, &passages, 2, "Some words"));
    passages_finish(&passages);
    buf_finish(&text);
    buf_finish(&code);
    buf_finish(&body);
}

/* Megabytes of any shape, in time that grows with them. */
static void passages__stand_hostile_text(void **state)
{
    (void)state;
    static const struct {
        const char *unit;
        size_t times;
    } cases[] = {
        {"x", 10 << 20},
        {"word ", 2 << 20},
        {"# heading\n", 100000},
        {"###### h\n\n", 100000},
        {"| a | b |\n| - | - |\n", 100000},
        {"\xE4\xB8\xAD", 1 << 20},
        {"```\n````\n", 100000},
        {"a:\n\n", 200000},
        {"t\n: d\n\n  e\n\n", 100000},
        {"](", 1 << 20},
        {"\x80", 1 << 20},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct buf text = repeat(cases[i].unit, cases[i].times);
        struct passages passages;
        passages_cut(buf_str(&text), 0, &passages);
        assert_true(passages.count >= text.len / 2400);
        for (size_t k = 0; k < passages.count; k++)
            assert_true(passages.items[k].to - passages.items[k].from <= 2400);
        passages_finish(&passages);
        buf_finish(&text);
    }
}

static void assert_sentences(const char *text, const char *const *expected, size_t n)
{
    struct sentences sentences;
    struct sentence sentence;
    sentences_init(&sentences, str_of(text));
    size_t i = 0;
    for (; sentences_next(&sentences, &sentence); i++) {
        assert_true(i < n);
        char *found = str_dup(str_slice(str_of(text), sentence.from, sentence.to));
        assert_string_equal(found, expected[i]);
        free(found);
    }
    assert_int_equal(i, n);
}

#define ASSERT_SENTENCES(text, ...)                            \
    assert_sentences(text, (const char *const[]){__VA_ARGS__}, \
                     sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

static void sentences__end_where_they_end(void **state)
{
    (void)state;
    ASSERT_SENTENCES("One. Two! Three? Four", "One.", "Two!", "Three?", "Four");
    ASSERT_SENTENCES("Dr. Smith met J. R. Hartley at 3.5 km, e.g. No. 5. Then left.",
                     "Dr. Smith met J. R. Hartley at 3.5 km, e.g. No. 5.", "Then left.");
    ASSERT_SENTENCES("The U.S. Army and www.example.com. Next.", "The U.S. Army and www.example.com.", "Next.");
    ASSERT_SENTENCES("He said \"Go.\" She went.", "He said \"Go.\"", "She went.");
    ASSERT_SENTENCES("wrapped\nover lines. And\non.", "wrapped\nover lines.", "And\non.");
    ASSERT_SENTENCES("\xE4\xBB\x8A\xE6\x97\xA5\xE3\x80\x82\xE6\x98\x8E\xE6\x97\xA5\xEF\xBC\x9F",
                     "\xE4\xBB\x8A\xE6\x97\xA5\xE3\x80\x82", "\xE6\x98\x8E\xE6\x97\xA5\xEF\xBC\x9F");
    ASSERT_SENTENCES("Wait... what? ok", "Wait... what?", "ok");
}

static void sentences__know_markdown(void **state)
{
    (void)state;
    const char *text = "# Head. Line\n\n> Quoted one. Two.\n\n- item. More\n1. first\n\n| a. | b |\n| --- | --- |\n\n"
                       "```c\nint a; // x. y\n```\nEnd.";
    static const enum sentence_kind kinds[] = {SENTENCE_HEADING,   SENTENCE_PROSE,     SENTENCE_PROSE,
                                               SENTENCE_LIST_ITEM, SENTENCE_LIST_ITEM, SENTENCE_LIST_ITEM,
                                               SENTENCE_TABLE_ROW, SENTENCE_CODE,      SENTENCE_PROSE};
    ASSERT_SENTENCES(text, "Head. Line", "Quoted one.", "Two.", "item.", "More", "first", "| a. | b |",
                     "int a; // x. y", "End.");
    /* a fence that opens a definition */
    ASSERT_SENTENCES("term\n: ```\n  code. x\n  ```\n\nProse. More.", "term", "code. x", "Prose.", "More.");
    struct sentences sentences;
    struct sentence sentence;
    sentences_init(&sentences, str_of(text));
    for (size_t i = 0; sentences_next(&sentences, &sentence); i++)
        assert_int_equal(sentence.kind, kinds[i]);
}

static void sentences__come_to_an_end_on_any_text(void **state)
{
    (void)state;
    static const char *const units[] = {".", "a. ", ". ", "\n", "- ", "> ", "x", "```", "\xFF", "1. ", "|", "\"", ".)"};
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        struct buf text = repeat(units[i], 50000);
        struct sentences sentences;
        struct sentence sentence;
        size_t at = 0, n = 0;
        sentences_init(&sentences, buf_str(&text));
        while (sentences_next(&sentences, &sentence)) {
            assert_true(sentence.from >= at && sentence.to >= sentence.from && sentence.to <= text.len);
            at = sentence.to;
            n++;
        }
        assert_true(n <= text.len);
        buf_finish(&text);
    }
}

static void markdown__becomes_one_plain_line(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"## Head\n\n- **bold** and *lean*", "Head bold and lean"},
        {"see [the page](https://x.org/a_(b)) now", "see the page now"},
        {"![alt](i.png) [1] [x", "alt [1] [x"},
        {"| a | b |\n| --- | --- |\n| 1 | 2 |", "a b 1 2"},
        {"> quoted `code` snake_case 2 * 3", "quoted code snake_case 2 * 3"},
        {"a \\# b \\", "a # b \\"},
        {"```c\nint x;\n```", "int x;"},
        {"```c\na = *b_[1](c);\n```\n*d*", "a = *b_[1](c); d"},
        {"a `__b__ *c*` ``d`e`` `f", "a __b__ *c* d`e f"},
        {"<https://x.org/a_b> | a<br>b <c>", "https://x.org/a_b a b <c>"},
        {"[a](https://x.org/ \"b (c\") d", "a d"},
        {"a[^1] b\n\n[^1]: c", "a b c"},
        {"~~a~~ ~5 $x_{1}$ $5 and _6_", "a ~5 $x_{1}$ $5 and 6"},
        {"  \n \t", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct buf out;
        buf_init(&out, 1000);
        assert_int_equal(markdown_to_line(str_of(cases[i][0]), &out), STATUS_OK);
        assert_string_equal(out.data ? out.data : "", cases[i][1]);
        buf_finish(&out);
    }
    struct buf out;
    buf_init(&out, 4);
    assert_int_equal(markdown_to_line(STR("\xC3\xA9\xC3\xA9\xC3\xA9"), &out), STATUS_TOO_BIG);
    assert_string_equal(out.data, "\xC3\xA9\xC3\xA9");
    buf_finish(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(passages__follow_headings),
        cmocka_unit_test(passages__cover_every_text),
        cmocka_unit_test(passages__are_of_the_size_asked_for),
        cmocka_unit_test(passages__keep_headings_with_their_text),
        cmocka_unit_test(passages__keep_a_lead_in_with_its_list),
        cmocka_unit_test(passages__name_the_table_or_term),
        cmocka_unit_test(passages__do_not_tear_code_that_fits),
        cmocka_unit_test(passages__stand_hostile_text),
        cmocka_unit_test(sentences__end_where_they_end),
        cmocka_unit_test(sentences__know_markdown),
        cmocka_unit_test(sentences__come_to_an_end_on_any_text),
        cmocka_unit_test(markdown__becomes_one_plain_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
