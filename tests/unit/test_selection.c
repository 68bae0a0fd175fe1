#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "text/selection.h"
#include "text/token_estimate.h"

#include <string.h>

/* A handbook of 60 chapters that say the same of different towers; one of them speaks of a keeper. */
static void write_handbook(struct buf *out)
{
    buf_init(out, BUF_UNBOUNDED);
    buf_add_text(out, "# Handbook of towers\n\nThis handbook is about the towers of the coast.\n\n");
    for (int chapter = 0; chapter < 60; chapter++) {
        buf_addf(out, "## Tower %c%c\n\n### Size\n\n", 'A' + chapter / 26, 'a' + chapter % 26);
        for (int line = 0; line < 30; line++)
            buf_add_text(out, "The walls of this tower are thick and white and made of stone from the north. ");
        buf_add_text(out, "\n\n### People\n\n");
        for (int line = 0; line < 20; line++)
            buf_add_text(out, "Nobody has lived in this tower since the lamp was made to work by itself. ");
        if (chapter == 41)
            buf_add_text(out, "Its last keeper, Maria Oswin, left in 1957.");
        buf_add_text(out, "\n\n");
    }
}

static void write_selection(struct str text, struct str question, int64_t max_tokens, struct buf *out,
                            struct selection_facts *facts)
{
    struct selection *selection = selection_create(text, question);
    buf_init(out, BUF_UNBOUNDED);
    selection_write(selection, max_tokens, out, facts);
    selection_destroy(selection);
}

static void selection__takes_what_bears_on_the_question(void **state)
{
    (void)state;
    struct buf text, out;
    struct selection_facts facts;
    write_handbook(&text);
    write_selection(buf_str(&text), STR("who was the last keeper"), 3000, &out, &facts);
    assert_true(token_estimate_text(buf_str(&out)) <= 3000);
    assert_non_null(strstr(out.data, "Maria Oswin"));
    assert_true(strncmp(out.data, "# Handbook of towers", 20) == 0);
    assert_non_null(strstr(out.data, "[…]"));
    assert_true(facts.taken < facts.passages && facts.matching >= 1);
    /* the budget is used, also for what does not rank */
    assert_true(token_estimate_text(buf_str(&out)) > 2000);
    buf_finish(&out);
    buf_finish(&text);
}

static void selection__keeps_the_order_and_names_the_place(void **state)
{
    (void)state;
    struct buf text, out;
    buf_init(&text, BUF_UNBOUNDED);
    buf_add_text(&text, "# Book\n\nAbout.\n\n");
    for (int chapter = 0; chapter < 9; chapter++) {
        buf_addf(&text, "## Chapter %d\n\n", chapter);
        for (int paragraph = 0; paragraph < 6; paragraph++) {
            for (int line = 0; line < 20; line++)
                buf_add_text(&text, "Plain words stand here one after another without much meaning. ");
            if (paragraph == 4 && (chapter == 2 || chapter == 6))
                buf_addf(&text, "Zeppelin number %d.", chapter);
            buf_add_text(&text, "\n\n");
        }
    }
    write_selection(buf_str(&text), STR("zeppelin"), 1600, &out, NULL);
    const char *first = strstr(out.data, "Zeppelin number 2"), *second = strstr(out.data, "Zeppelin number 6");
    assert_true(first && second && first < second);
    assert_non_null(strstr(out.data, "[…]\n\n[Book > Chapter 6]\n\n"));
    buf_finish(&out);
    buf_finish(&text);
}

static void selection__copes_with_any_question_and_budget(void **state)
{
    (void)state;
    static const char *const questions[] = {"", "the of and", "quarterly dividend", "灯塔", "keeper Oswin tower"};
    static const int64_t budgets[] = {0, 1, 100, 1000, 20000, 1000000};
    struct buf text;
    write_handbook(&text);
    for (size_t q = 0; q < sizeof questions / sizeof questions[0]; q++) {
        for (size_t b = 0; b < sizeof budgets / sizeof budgets[0]; b++) {
            struct buf out;
            write_selection(buf_str(&text), str_of(questions[q]), budgets[b], &out, NULL);
            assert_true(out.len > 0);
            if (budgets[b] >= 1000)
                assert_true(token_estimate_text(buf_str(&out)) <= budgets[b]);
            assert_true(strncmp(out.data, "# Handbook of towers", 20) == 0);
            if (budgets[b] == 1000000)
                assert_true(str_equal(buf_str(&out), buf_str(&text)));
            buf_finish(&out);
        }
    }
    buf_finish(&text);
    struct buf out;
    struct selection_facts facts;
    write_selection(STR(""), STR("anything"), 0, &out, &facts);
    assert_int_equal(out.len, 0);
    buf_finish(&out);
}

/* Each budget is chosen for anew. */
static void selection__serves_several_budgets(void **state)
{
    (void)state;
    static const int64_t budgets[] = {20000, 3000, 9000, 3000};
    struct buf text, out[4];
    write_handbook(&text);
    struct selection *selection = selection_create(buf_str(&text), STR("who was the last keeper"));
    for (size_t i = 0; i < 4; i++) {
        buf_init(&out[i], BUF_UNBOUNDED);
        selection_write(selection, budgets[i], &out[i], NULL);
        assert_non_null(strstr(out[i].data, "Maria Oswin"));
    }
    assert_true(out[0].len > out[2].len && out[2].len > out[1].len);
    assert_string_equal(out[1].data, out[3].data);
    for (size_t i = 0; i < 4; i++)
        buf_finish(&out[i]);
    selection_destroy(selection);
    buf_finish(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(selection__takes_what_bears_on_the_question),
        cmocka_unit_test(selection__keeps_the_order_and_names_the_place),
        cmocka_unit_test(selection__copes_with_any_question_and_budget),
        cmocka_unit_test(selection__serves_several_budgets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
