#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "support/visit_world.h"

#include <string.h>

static void visit_summary__asks_the_summary_model(void **state)
{
    (void)state;
    static const char *const replies[] = {
        "{\"rational\": \"r\", \"evidence\": \"Built in 1857.\", \"summary\": \"In 1857.\"}",
        "<think>{\\\"evidence\\\": \\\"no\\\"}</think>\n```json\n{\"evidence\": \"Built in 1857.\", \"summary\": \"In "
        "1857.\"}\n```",
        "Here it is: {'evidence': ['Built in', '1857.'], 'summary': 'In 1857.',}",
        "{}\n{\"evidence\": \"Built in 1857.\n\", \"summary\": \"In 1857.\"} Done.",
    };
    for (size_t i = 0; i < sizeof replies / sizeof replies[0]; i++) {
        const struct fake_reply reply[] = {{.text = replies[i], .piece = 7, .usage = {100, 20, 10, 0}}};
        struct tool_world world;
        visit_world_init(&world, "generic", (struct visit_options){0}, reply, 1);
        const char *text = visit_world_read(&world, "/a");
        assert_int_equal(world.status, OUTCOME_OK);
        assert_holds(text, "Evidence in page:\nBuilt in");
        assert_holds(text, "Summary:\nIn 1857.");
        assert_int_equal(world.completions, 1);
        assert_int_equal(world.usage.prompt, 100);
        assert_int_equal(world.usage.completion, 20);
        assert_holds(world.model.last_prompt.data, "when was the lighthouse built");
        assert_holds(world.model.last_prompt.data, "Maria Oswin");
        tool_world_finish(&world);
    }
}

static void visit_summary__asks_again_with_less(void **state)
{
    (void)state;
    static const struct fake_reply replies[] = {
        {.text = "I cannot do that."},
        {.text = "{\"evidence\": \"cut off", .end = FAKE_LENGTH},
        {.text = "{\"evidence\": \"e\", \"summary\": \"third time\"}"},
    };
    struct tool_world world;
    visit_world_init(&world, "generic", (struct visit_options){.whole_page_tokens = 20000}, replies, 3);
    const char *text = visit_world_read(&world, "/huge");
    assert_holds(text, "third time");
    assert_true(world.truncated);
    assert_int_equal(world.completions, 3);
    assert_true(world.usage.prompt >
                20000); /* estimated, since none was reported; the third prompt is half the first */
    assert_true(world.model.last_prompt.len < 60000);
    tool_world_finish(&world);
}

static void visit_summary__fits_the_window_of_the_summary_model(void **state)
{
    (void)state;
    static const struct fake_reply replies[] = {
        {.text = "", .end = FAKE_FAIL, .failure = MODEL_CONTEXT_TOO_LONG},
        {.text = "{\"evidence\": \"e\", \"summary\": \"fits\"}"},
    };
    struct tool_world world;
    visit_world_init(&world, "generic", (struct visit_options){0}, replies, 2);
    world.model.window = 30000;
    const char *text = visit_world_read(&world, "/huge");
    assert_holds(text, "fits");
    assert_int_equal(world.model.started, 2); /* prompts that cannot fit are not sent at all */
    tool_world_finish(&world);
}

static void visit_summary__picks_where_no_model_helps(void **state)
{
    (void)state;
    static const struct fake_reply useless[] = {{.text = "no JSON at all"}};
    static const struct fake_reply failing[] = {{.text = "", .end = FAKE_FAIL, .failure = MODEL_UNAVAILABLE}};
    struct tool_world world;
    visit_world_init(&world, "generic", (struct visit_options){0}, useless, 1);
    const char *text = visit_world_read(&world, "/a");
    assert_int_equal(world.status, OUTCOME_OK);
    assert_holds(text, "Maria Oswin");
    assert_holds(text, "could not be summed up by a model");
    assert_int_equal(world.model.started, 4);
    tool_world_finish(&world);

    visit_world_init(&world, "generic", (struct visit_options){0}, failing, 1);
    text = visit_world_read(&world, "/a");
    assert_holds(text, "Maria Oswin");
    assert_holds(world.notices.data, "failed on purpose");
    assert_int_equal(world.model.started, 1);
    tool_world_finish(&world);

    visit_world_init(&world, "generic", (struct visit_options){0}, failing, 1);
    world.model.client.builtin = true;
    text = visit_world_read(&world, "/a");
    assert_holds(text, "Maria Oswin");
    assert_lacks(text, "could not be summed up");
    assert_int_equal(world.model.started, 0);
    tool_world_finish(&world);
}

static void visit_summary__picks_when_the_model_is_too_slow(void **state)
{
    (void)state;
    static const struct fake_reply replies[] = {{.text = "{\"evid", .end = FAKE_HOLD}};
    struct tool_world world;
    visit_world_init(&world, "generic", (struct visit_options){0}, replies, 1);
    world.timeout_ms = 3000;
    const char *text = visit_world_read(&world, "/a");
    assert_int_equal(world.status, OUTCOME_OK);
    assert_holds(text, "Maria Oswin");
    assert_holds(text, "could not be summed up by a model");
    assert_int_equal(world.model.canceled, 1);
    tool_world_finish(&world);
}

/* Of a page longer than the budget the model sees its beginning and what bears on the goal. */
static void visit_summary__shows_the_model_what_bears_on_the_goal(void **state)
{
    (void)state;
    static const struct fake_reply replies[] = {
        {.text = "{\"evidence\": \"Its lighthouse was built by Maria Oswin in 1857.\", \"summary\": \"1857\"}"}};
    struct tool_world world;
    visit_world_init(&world, "generic", (struct visit_options){.whole_page_tokens = 6000}, replies, 1);
    const char *text = visit_world_read(&world, "/long");
    assert_int_equal(world.status, OUTCOME_OK);
    assert_true(world.truncated);
    const char *prompt = world.model.last_prompt.data;
    assert_holds(prompt, "This handbook describes every village");
    assert_holds(prompt, "Its lighthouse was built by Maria Oswin in 1857.");
    assert_holds(prompt, "[\xe2\x80\xa6]");
    assert_true(world.model.last_prompt.len < 40000);
    assert_holds(text, "Note: too long to be read whole: ");
    assert_lacks(text, "not found in the page");
    tool_world_finish(&world);
}

static void visit_summary__selects_again_with_less(void **state)
{
    (void)state;
    static const struct fake_reply replies[] = {
        {.text = "no JSON"},
        {.text = "", .end = FAKE_FAIL, .failure = MODEL_CONTEXT_TOO_LONG},
        {.text = "{\"evidence\": \"\", \"summary\": \"third\"}"},
    };
    struct tool_world world;
    visit_world_init(&world, "generic", (struct visit_options){.whole_page_tokens = 6000}, replies, 3);
    const char *text = visit_world_read(&world, "/long");
    assert_holds(text, "third");
    assert_int_equal(world.model.started, 3);
    assert_holds(world.model.last_prompt.data, "Its lighthouse was built by Maria Oswin in 1857.");
    assert_true(world.model.last_prompt.len < 20000);
    tool_world_finish(&world);
}

static void visit_summary__marks_quotations_that_do_not_occur(void **state)
{
    (void)state;
    static const struct fake_reply replies[] = {
        {.text = "{\"evidence\": \"It was built in 1857 by the engineer \\u201cMaria Oswin\\u201d.\\n\\nIt was built "
                 "in 1858.\\n- It is red.\", \"summary\": \"s\"}"}};
    struct tool_world world;
    visit_world_init(&world, "generic", (struct visit_options){0}, replies, 1);
    const char *text = visit_world_read(&world, "/a");
    assert_holds(text, "Evidence in page:\nIt was built in 1857");
    assert_holds(text, "\n[not found in the page] It was built in 1858.\n");
    assert_holds(text, "- [not found in the page] It is red.\n");
    assert_holds(text,
                 "Note: 2 of 3 quotations below do not occur in the page and are marked [not found in the page]\n");
    assert_holds(world.notices.data, "2 of 3 quotations of the summary do not occur in the page");
    tool_world_finish(&world);

    /* a trained format stays as it is; who watches is told */
    visit_world_init(&world, "tongyi", (struct visit_options){0}, replies, 1);
    text = visit_world_read(&world, "/a");
    assert_holds(text, "It was built in 1858.");
    assert_lacks(text, "not found");
    assert_holds(world.notices.data, "2 of 3 quotations");
    tool_world_finish(&world);
}

static void visit_summary__lists_links_worth_following(void **state)
{
    (void)state;
    static const struct fake_reply replies[] = {{.text = "{\"evidence\": \"\", \"summary\": \"s\"}"}};
    for (size_t by_model = 0; by_model < 2; by_model++) {
        struct tool_world world;
        visit_world_init(
            &world, "generic",
            (struct visit_options){.summarizer = by_model ? VISIT_SUMMARY_MODEL : VISIT_SUMMARY_EXTRACTIVE},
            by_model ? replies : NULL, by_model);
        const char *text = tool_world_call(
            &world,
            "{\"url\": [\"%s/links\", \"%s/keeper-of-the-lighthouse\"], \"goal\": \"when was the lighthouse built\"}",
            world.base, world.base);
        const char *links = strstr(text, "Links on the page:\n- [");
        assert_non_null(links);
        assert_holds(links, "- [Plans and drawings](http://e.example/plans)\n"); /* by its heading */
        assert_holds(links, "- [The lighthouse keeper](http://e.example/x9)");   /* by its label */
        assert_holds(links, "- [Part two](http://e.example/who-built-it)");      /* by its address */
        assert_holds(links, "- [Full text (PDF)](http://e.example/files/report)");
        assert_holds(links, "](http://e.example/lighthouse-built)"); /* that is its own label */
        static const char *const lacking[] = {"again",       "Again", "action=edit", "tower.png", "10.1.2.3", "mailto:",
                                              "javascript:", "self",  "ferries",     "login",     "n7"};
        for (size_t i = 0; i < sizeof lacking / sizeof lacking[0]; i++)
            assert_lacks(links, lacking[i]);
        tool_world_finish(&world);
    }
}

static void visit_summary__shares_the_links_among_the_pages(void **state)
{
    (void)state;
    struct tool_world world;
    visit_world_init(&world, "generic", (struct visit_options){.summarizer = VISIT_SUMMARY_EXTRACTIVE}, NULL, 0);
    struct buf pages;
    buf_init(&pages, BUF_UNBOUNDED);
    for (int i = 0; i < 10; i++)
        buf_addf(&pages, "%s\"%s/links?%d\"", i > 0 ? ", " : "", world.base, i);
    const char *text =
        tool_world_call(&world, "{\"url\": [%s], \"goal\": \"when was the lighthouse built\"}", pages.data);
    size_t listed = 0;
    while (text && (text = strstr(text, "Links on the page:"))) {
        text = strchr(text, '\n');
        for (; text && strncmp(text, "\n- [", 4) == 0; text = strchr(text + 1, '\n'))
            listed++;
    }
    assert_int_equal(listed, 20);
    buf_finish(&pages);
    tool_world_finish(&world);
}

/* What a page puts into its title, labels and addresses cannot end the Markdown around it. */
static void visit_summary__keeps_links_and_titles_in_their_places(void **state)
{
    (void)state;
    struct tool_world world;
    visit_world_init_plain(&world);
    const char *text = visit_world_read(&world, "/hostile");
    const char *links = strstr(text, "Links on the page:\n");
    assert_non_null(links);
    assert_lacks(links, "lighthouse)](x");
    assert_lacks(links, "](http://evil.example/");
    struct str rest = str_of(strchr(links, '\n') + 1), line;
    while (str_split_next(&rest, '\n', &line)) {
        assert_true(str_starts_with(line, STR("- [")) && str_ends_with(line, STR(")")));
        size_t middle = str_find(line, STR("]("), 0);
        assert_true(middle != STR_NONE && str_find(line, STR("]("), middle + 1) == STR_NONE);
        assert_true(str_find_char(line, ')', middle) == line.len - 1);
    }
    tool_world_finish(&world);
}

static void visit_summary__shows_author_and_date(void **state)
{
    (void)state;
    struct tool_world world;
    visit_world_init_plain(&world);
    const char *text = visit_world_read(&world, "/a");
    assert_holds(text, "\nAuthor: Ada Kerr\nDate: 2024-03-01\nGoal: ");
    text = visit_world_read(&world, "/plain");
    assert_lacks(text, "Author:");
    assert_lacks(text, "Date:");
    assert_lacks(text, "Note:");
    tool_world_finish(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(visit_summary__asks_the_summary_model),
        cmocka_unit_test(visit_summary__asks_again_with_less),
        cmocka_unit_test(visit_summary__fits_the_window_of_the_summary_model),
        cmocka_unit_test(visit_summary__picks_where_no_model_helps),
        cmocka_unit_test(visit_summary__picks_when_the_model_is_too_slow),
        cmocka_unit_test(visit_summary__shows_the_model_what_bears_on_the_goal),
        cmocka_unit_test(visit_summary__selects_again_with_less),
        cmocka_unit_test(visit_summary__marks_quotations_that_do_not_occur),
        cmocka_unit_test(visit_summary__lists_links_worth_following),
        cmocka_unit_test(visit_summary__shares_the_links_among_the_pages),
        cmocka_unit_test(visit_summary__keeps_links_and_titles_in_their_places),
        cmocka_unit_test(visit_summary__shows_author_and_date),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
