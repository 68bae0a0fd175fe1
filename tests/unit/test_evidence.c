/* Which sentences are quoted, and how much of a question they are said to have. */
#include "core/mem.h"
#include "text/evidence.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

static struct evidence_source source(const char *title, const char *text)
{
    return (struct evidence_source){.text = str_of(text), .title = str_of(title), .trust = 1};
}

static size_t find(const struct evidence_source *sources, size_t count, const char *terms, enum answer_kind kind,
                   struct evidence *out, size_t limit)
{
    const struct evidence_query query = {.terms = str_of(terms), .kind = kind};
    return evidence_find(sources, count, &query, out, limit);
}

static void assert_first(const struct evidence_source *sources, size_t count, const char *terms, enum answer_kind kind,
                         const char *expected)
{
    struct evidence best[4];
    size_t found = find(sources, count, terms, kind, best, 4);
    if (!found || str_find(best[0].quote, str_of(expected), 0) == STR_NONE)
        fail_msg("for \"%s\": \"%.*s\"", terms, found ? (int)best[0].quote.len : 0, found ? best[0].quote.data : "");
    assert_true(best[0].score > 0 && best[0].coverage > 0 && best[0].coverage <= 1.0001);
}

static void evidence__counts_what_a_sentence_stands_in(void **state)
{
    (void)state;
    const struct evidence_source sources[] = {
        source("turn(2) - turn things around",
               "# RETURN VALUE\n\nOn success the new angle is returned. On error, minus one is returned.\n\n"
               "# ERRORS\n\n**EDIZZY**\n: The thing has been turned too often.\n\n: It needs rest now and then.\n\n"
               "**ESTUCK**\n: The thing is stuck in its frame.\n"),
        source("push(2) - push things", "# RETURN VALUE\n\nOn success the new place is returned.\n"),
    };
    assert_first(sources, COUNT(sources), "turn return success", ANSWER_ANY, "the new angle");
    assert_first(sources, COUNT(sources), "push return success", ANSWER_ANY, "the new place");
    struct evidence best[2];
    assert_true(find(sources, COUNT(sources), "thing stuck", ANSWER_NAME, best, 2) > 0);
    assert_true(str_equal(best[0].term, STR("**ESTUCK**")));
    assert_true(str_equal(best[0].quote, STR("The thing is stuck in its frame.")));
    assert_true(find(sources, COUNT(sources), "needs rest", ANSWER_ANY, best, 2) > 0);
    assert_true(str_equal(best[0].term, STR("**EDIZZY**"))); /* the second paragraph of a definition */
}

static void evidence__prefers_the_kind_that_is_asked_for(void **state)
{
    (void)state;
    const struct evidence_source page =
        source("Queues", "A queue has a limit on messages, which an administrator sets. "
                         "By default the limit on messages of a queue is 37 for each user. "
                         "The limit on messages of a queue came with Linux 3.5 in a patch. "
                         "The limit on messages of a queue stands in /proc/queue/limit for everybody.");
    assert_first(&page, 1, "limit messages queue", ANSWER_NUMBER, "is 37");
    assert_first(&page, 1, "limit messages queue", ANSWER_TIME, "Linux 3.5");
    assert_first(&page, 1, "limit messages queue", ANSWER_FILE, "/proc/queue/limit");
}

static void evidence__knows_families_compounds_and_identifiers(void **state)
{
    (void)state;
    const struct evidence_source sources[] = {
        source("a", "An interruption of the call is possible at any time. A filesystem may be mounted twice over. "
                    "The function do_open_by_name takes one handle of a file. "
                    "The function open_by_name takes one handle of a file too."),
    };
    assert_first(sources, 1, "interrupted call", ANSWER_ANY, "interruption");
    assert_first(sources, 1, "file system twice", ANSWER_ANY, "filesystem");
    assert_first(sources, 1, "open_by_name handle", ANSWER_ANY, "function open_by_name");
}

static void evidence__reads_languages_without_blanks(void **state)
{
    (void)state;
    const struct evidence_source sources[] = {
        source("黄河", "黄河是中国第二长河，全长约5464公里。黄河流经九个省区。"),
        source("长江", "长江是中国第一长河，全长约6300公里。长江流经十一个省区。"),
    };
    assert_first(sources, COUNT(sources), "长江全长公里", ANSWER_NUMBER, "6300");
    assert_first(sources, COUNT(sources), "黄河流经省区", ANSWER_NUMBER, "九个省区");
}

static void evidence__tells_how_much_is_covered(void **state)
{
    (void)state;
    const struct evidence_source page = source("pipe(7)", "A pipe has a limited capacity. A system has one user.");
    struct evidence best[2];
    assert_true(find(&page, 1, "pipe capacity", ANSWER_ANY, best, 2) > 0);
    assert_true(best[0].coverage > 0.95);
    assert_true(find(&page, 1, "planet solar system moons", ANSWER_ANY, best, 2) > 0);
    assert_true(best[0].coverage < 0.35);
    assert_int_equal(find(&page, 1, "walrus", ANSWER_ANY, best, 2), 0);
    assert_int_equal(find(&page, 1, "", ANSWER_ANY, best, 2), 0);
    assert_int_equal(find(NULL, 0, "pipe", ANSWER_ANY, best, 2), 0);
}

static void evidence__quotes_nothing_idle_and_nothing_twice(void **state)
{
    (void)state;
    const struct evidence_source sources[] = {
        source("a", "# Pipes and capacity\n\npipe(2), fifo(7), capacity(3), splice(2)\n\n"
                    "The capacity of a pipe is limited by the system.\n"),
        source("b", "The capacity of a pipe is limited by the system.\n\n```\nint capacity;\n```\n"),
    };
    struct evidence best[8];
    size_t found = find(sources, COUNT(sources), "capacity pipe", ANSWER_ANY, best, 8);
    size_t prose = 0;
    for (size_t i = 0; i < found; i++) {
        prose += str_starts_with(best[i].quote, STR("The capacity"));
        assert_int_equal(str_find(best[i].quote, STR("fifo"), 0), STR_NONE);
        assert_int_equal(str_find(best[i].quote, STR("Pipes and"), 0), STR_NONE);
    }
    assert_int_equal(prose, 1);
}

/* Code that opens a definition is closed by its fence: what follows is prose again. */
static void evidence__goes_on_behind_code_in_a_definition(void **state)
{
    (void)state;
    const struct evidence_source page = source(
        "a", "/proc/version\n: ```\n  Linux version 1.0.9\n  ```\n\nThe kernel version is shown to everybody.\n");
    assert_first(&page, 1, "kernel version shown", ANSWER_ANY, "The kernel version is shown to everybody.");
}

static void evidence__survives_any_text(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "\n: \n: \n",
        "```",
        ": ```\n",
        "# \n#\n",
        "\xff\xfe capacity \x80",
        "| | |\n|---|\n| capacity |",
        "capacity\n: capacity",
        ",,,,,,,,",
        "capacity (capacity capacity_",
    };
    struct evidence best[3];
    for (size_t i = 0; i < COUNT(texts); i++)
        for (size_t k = 0; k < COUNT(texts); k++) {
            char *text = mem_printf("%s%s", texts[i], texts[k]);
            const struct evidence_source page = source(text, text);
            assert_true(find(&page, 1, text, ANSWER_NAME, best, 3) <= 3);
            assert_true(find(&page, 1, "capacity capacity_of(x)", ANSWER_FILE, best, 3) <= 3);
            free(text);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(evidence__counts_what_a_sentence_stands_in),
        cmocka_unit_test(evidence__prefers_the_kind_that_is_asked_for),
        cmocka_unit_test(evidence__knows_families_compounds_and_identifiers),
        cmocka_unit_test(evidence__reads_languages_without_blanks),
        cmocka_unit_test(evidence__tells_how_much_is_covered),
        cmocka_unit_test(evidence__quotes_nothing_idle_and_nothing_twice),
        cmocka_unit_test(evidence__goes_on_behind_code_in_a_definition),
        cmocka_unit_test(evidence__survives_any_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
