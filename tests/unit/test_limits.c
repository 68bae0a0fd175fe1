/* Budget arithmetic, the ledger and the list of sources. */
#include "agent/ledger.h"
#include "agent/limits.h"
#include "agent/sources.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void limits__have_the_defaults_of_the_protocol(void **state)
{
    (void)state;
    struct session_limits limits;
    session_limits_init(&limits);
    assert_int_equal(limits.max_calls, 100);
    assert_int_equal(limits.context_tokens, 112640);
    assert_int_equal(limits.time_ms, 9000000);
    assert_int_equal(limits.grace_ms, 120000);
    assert_int_equal(limits.observation_tokens, 32000);
    assert_int_equal(limits.answer_tries, 6);
    assert_int_equal(limits_window(&limits), 131072);
    assert_int_equal(limits_end_ms(&limits), 9120000);
    limits.time_ms = 0;
    assert_int_equal(limits_end_ms(&limits), 0);
}

static void limits__share_out_a_window(void **state)
{
    (void)state;
    static const struct {
        int64_t window, context, own_cap, profile_cap, completion, prompt;
    } rows[] = {
        {131072, 112640, 0, 10000, 10000, 112640}, /* the context limit counts */
        {0, 112640, 0, 10000, 10000, 112640},      /* an unknown window is 128 Ki */
        {32768, 112640, 0, 10000, 8192, 19968},    /* a quarter of the window */
        {8192, 112640, 0, 10000, 2048, 1536},
        {65536, 112640, 0, 10000, 10000, 50928},
        {131072, 20000, 0, 10000, 10000, 20000},
        {131072, 112640, 512, 10000, 512, 112640}, /* the run's own cap */
        {40000, 112640, 20000, 10000, 10000, 25392},
        {4096, 112640, 0, 10000, 1024, -1536}, /* no room for anything but an answer */
        {2, 112640, 0, 10000, 1, -4607},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct session_limits limits;
        session_limits_init(&limits);
        limits.window_tokens = rows[i].window;
        limits.context_tokens = rows[i].context;
        limits.max_tokens = rows[i].own_cap;
        assert_int_equal(limits_completion(&limits, rows[i].profile_cap), rows[i].completion);
        assert_int_equal(limits_prompt(&limits, rows[i].profile_cap), rows[i].prompt);
    }
}

static void limits__give_the_forced_answer_what_is_left(void **state)
{
    (void)state;
    static const struct {
        int64_t window, own_cap, prompt;
        int doublings;
        int64_t forced;
    } rows[] = {
        {131072, 0, 20000, 0, 10000}, /* plenty: no more than any completion */
        {131072, 0, 20000, 1, 20000}, /* twice that after one was cut inside thought */
        {131072, 0, 125000, 0, 5560}, /* what is left */
        {131072, 0, 130000, 0, 4096}, /* at least that */
        {8192, 0, 1536, 0, 6144},     /* more than a quarter of the window: nothing comes after */
        {8192, 0, 3584, 0, 4096},     {131072, 512, 20000, 0, 4096}, /* also above the run's own cap */
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct session_limits limits;
        session_limits_init(&limits);
        limits.window_tokens = rows[i].window;
        limits.max_tokens = rows[i].own_cap;
        assert_int_equal(limits_forced_completion(&limits, 10000, rows[i].prompt, rows[i].doublings), rows[i].forced);
    }
}

static void limits__double_a_completion_as_far_as_the_window_allows(void **state)
{
    (void)state;
    struct session_limits limits;
    session_limits_init(&limits);
    assert_int_equal(limits_grown_completion(&limits, 10000, 20000, 0), 10000);
    assert_int_equal(limits_grown_completion(&limits, 10000, 20000, 1), 20000);
    assert_int_equal(limits_grown_completion(&limits, 10000, 20000, 2), 40000);
    assert_int_equal(limits_grown_completion(&limits, 10000, 20000, 60), 131072 - 20000 - 4608);
    assert_int_equal(limits_grown_completion(&limits, 10000, 116464, 3), 10000); /* nothing left to grow into */
    limits.window_tokens = 8192;
    assert_int_equal(limits_grown_completion(&limits, 10000, 1500, 0), 2048);
    assert_int_equal(limits_grown_completion(&limits, 10000, 2000, 0), 1584); /* a tiny window, already full */
    assert_int_equal(limits_grown_completion(&limits, 10000, 9000, 0), 1);
}

static void limits__let_a_run_begin_in_a_tiny_window(void **state)
{
    (void)state;
    struct session_limits limits;
    session_limits_init(&limits);
    assert_int_equal(limits_forced_prompt(&limits), 112640);
    limits.window_tokens = 8192;
    assert_int_equal(limits_forced_prompt(&limits), 3584);
    assert_true(limits_may_begin(&limits, 2560));
    assert_false(limits_may_begin(&limits, 2561));
}

static void ledger__sums_by_role_and_ignores_the_unknown(void **state)
{
    (void)state;
    struct ledger ledger = {0};
    ledger_add(&ledger, MODEL_AGENT, &(struct usage){1000, 50, 400, -1}, 1);
    ledger_add(&ledger, MODEL_AGENT, &(struct usage){2000, -1, -1, 7}, 1);
    ledger_add(&ledger, MODEL_SUMMARY, &(struct usage){300, 30, 0, 0}, 3);
    assert_int_equal(ledger.role_usage[MODEL_AGENT].prompt, 3000);
    assert_int_equal(ledger.role_usage[MODEL_AGENT].completion, 50);
    assert_int_equal(ledger.role_usage[MODEL_AGENT].cached, 400);
    assert_int_equal(ledger.role_usage[MODEL_AGENT].reasoning, 7);
    assert_int_equal(ledger.role_calls[MODEL_SUMMARY], 3);
    assert_int_equal(ledger_tokens(&ledger), 3380);
    ledger_add(&ledger, MODEL_AGENT, &(struct usage){INT64_MAX, INT64_MAX, 0, 0}, 1);
    assert_true(ledger_tokens(&ledger) == INT64_MAX); /* saturates */
    ledger_finish(&ledger);
}

static void ledger__knows_the_cost_only_where_there_are_prices(void **state)
{
    (void)state;
    struct ledger ledger = {0};
    struct model_price price[MODEL_ROLE_COUNT] = {{2, 10, 1}, {-1, -1, -1}};
    ledger_add(&ledger, MODEL_AGENT, &(struct usage){1000000, 100000, 500000, 0}, 1);
    double cost = ledger_cost(&ledger, price);
    assert_true(cost > 2.4999 && cost < 2.5001); /* 0.5 at 2, 0.5 cached at 1, 0.1 at 10 */
    ledger_add(&ledger, MODEL_SUMMARY, &(struct usage){10, 10, 0, 0}, 1);
    assert_true(ledger_cost(&ledger, price) < 0); /* somebody worked for an unknown price */
    assert_true(ledger_spent(&ledger, price) > 2.4999);
    price[MODEL_AGENT].prompt = -1;
    assert_true(ledger_cost(&(struct ledger){0}, price) < 0);
    ledger_finish(&ledger);
}

static void sources__keep_each_page_once_in_order(void **state)
{
    (void)state;
    struct sources *sources = sources_create();
    sources_add(sources, STR("https://www.example.org/Page/#top"), STR(""), 1);
    sources_add(sources, STR("http://EXAMPLE.org/Page"), STR("Title"), 2);
    sources_add(sources, STR("https://example.org/page"), STR("another path"), 2);
    sources_add(sources, STR("corpus://man/1"), STR("ls"), 3);
    sources_add(sources, STR("corpus://man/1/"), STR("not the same"), 3);
    sources_add(sources, STR("  "), STR("nothing"), 3);
    size_t count;
    const struct result_source *list = sources_list(sources, &count);
    assert_int_equal(count, 4);
    assert_true(str_equal(list[0].url, STR("https://www.example.org/Page/#top")));
    assert_true(str_equal(list[0].title, STR("Title")));
    assert_int_equal(list[0].first_seen_round, 1);
    assert_true(str_equal(list[1].url, STR("https://example.org/page")));
    assert_true(str_equal(list[2].title, STR("ls")));
    sources_destroy(sources);
}

static void sources__are_cited_when_the_link_stands_in_the_answer(void **state)
{
    (void)state;
    static const struct {
        const char *url, *prediction;
        bool cited;
    } rows[] = {
        {"https://a.org/x", "see https://a.org/x.", true},
        {"https://a.org/x", "see (https://a.org/x)", true},
        {"https://a.org/x", "see [a](http://www.a.org/x/) there", true},
        {"https://a.org/x", "a.org/x, for one", true},
        {"https://a.org/x/", "https://a.org/x", true},
        {"https://a.org/x#part", "https://a.org/x#other", true},
        {"https://a.org/x", "HTTPS://A.ORG/x", true},
        {"https://a.org/x", "https://a.org/xy", false},
        {"https://a.org/x", "https://a.org/X", false},
        {"https://a.org/x", "https://a.org/x/y", false},
        {"https://a.org/x", "https://a.org/x?q=1", false},
        {"https://a.org/x", "is it https://a.org/x?", true},
        {"https://a.org/x", "https://b.a.org/x", false},
        {"https://a.org/x", "https://ba.org/x", false},
        {"https://a.org/x", "https://web.archive.org/a.org/x", false},
        {"https://a.org/", "https://a.org/other", false},
        {"https://a.org", "at https://a.org/ you find", true},
        {"https://a.org/x.html", "https://a.org/x.htm", false},
        {"https://a.org/x", "https://a.org/x.html", false},
        {"https://a.org/x", "first https://a.org/xy, then https://a.org/x", true},
        {"corpus://man/ls.1", "from corpus://man/ls.1", true},
        {"corpus://man/ls.1", "from corpus://man/ls.10", false},
        {"https://a.org/x", "", false},
        {"https://", "https://a.org/x", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct sources *sources = sources_create();
        sources_add(sources, str_of(rows[i].url), STR(""), 1);
        sources_mark_cited(sources, str_of(rows[i].prediction));
        size_t count;
        const struct result_source *list = sources_list(sources, &count);
        assert_int_equal(count, 1);
        if (list[0].cited != rows[i].cited)
            fail_msg("%s in \"%s\"", rows[i].url, rows[i].prediction);
        sources_destroy(sources);
    }
}

static void sources__are_bounded(void **state)
{
    (void)state;
    struct sources *sources = sources_create();
    char url[64];
    for (int i = 0; i < SOURCES_MAX + 100; i++) {
        snprintf(url, sizeof url, "https://a.org/%d", i);
        sources_add(sources, str_of(url), STR(""), 1);
    }
    char *huge = calloc(1, 100000);
    memset(huge, 'a', 99999);
    sources_add(sources, str_of(huge), STR(""), 1);
    free(huge);
    size_t count;
    sources_list(sources, &count);
    assert_int_equal(count, SOURCES_MAX);
    sources_destroy(sources);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limits__have_the_defaults_of_the_protocol),
        cmocka_unit_test(limits__share_out_a_window),
        cmocka_unit_test(limits__give_the_forced_answer_what_is_left),
        cmocka_unit_test(limits__double_a_completion_as_far_as_the_window_allows),
        cmocka_unit_test(limits__let_a_run_begin_in_a_tiny_window),
        cmocka_unit_test(ledger__sums_by_role_and_ignores_the_unknown),
        cmocka_unit_test(ledger__knows_the_cost_only_where_there_are_prices),
        cmocka_unit_test(sources__keep_each_page_once_in_order),
        cmocka_unit_test(sources__are_cited_when_the_link_stands_in_the_answer),
        cmocka_unit_test(sources__are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
