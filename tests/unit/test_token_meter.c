/* The meter, against a server whose tokens are known: one token for each letter, so every number can be reckoned. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "agent/token_meter.h"
#include "core/buf.h"

/* Counts a token for each byte; `least` 0.8 of it. */
static int64_t count_bytes(const struct token_counter *counter, struct str text, int64_t *least)
{
    (void)counter;
    *least = (int64_t)text.len * 8 / 10;
    return (int64_t)text.len;
}

static size_t fit_bytes(const struct token_counter *counter, struct str text, int64_t tokens)
{
    (void)counter;
    return tokens < (int64_t)text.len ? (size_t)tokens : text.len;
}

static const struct token_counter bytes = {"estimate", false, count_bytes, fit_bytes, NULL, NULL};
static const struct token_counter exact_bytes = {"tokenizer", true, count_bytes, fit_bytes, NULL, NULL};

#define PER_MESSAGE 5
#define PER_PROMPT  3

/* A text of `len` bytes, from one static line. */
static struct str text_of(size_t len)
{
    static char letters[100001];
    memset(letters, 'a', sizeof letters - 1);
    return str_make(letters, len);
}

static void begin(struct token_meter *meter, const struct token_counter *counter, bool without_thought)
{
    token_meter_init(meter, counter, PER_MESSAGE, PER_PROMPT, without_thought);
    token_meter_append(meter, text_of(1000));
    token_meter_append(meter, text_of(100));
}

static void report(struct token_meter *meter, int64_t prompt, int64_t cached)
{
    token_meter_asked(meter);
    token_meter_reported(meter, &(struct usage){.prompt = prompt, .completion = 10, .cached = cached, .reasoning = -1});
}

static void token_meter__begins_with_the_estimate_and_the_template(void **state)
{
    (void)state;
    struct token_meter meter;
    begin(&meter, &bytes, false);
    assert_int_equal(token_meter_prompt(&meter), 1100 + 2 * PER_MESSAGE + PER_PROMPT);
    assert_string_equal(token_meter_method(&meter), "estimate");
    token_meter_append_completion(&meter, text_of(50), text_of(30), -1);
    assert_int_equal(token_meter_prompt(&meter), 1180 + 3 * PER_MESSAGE + PER_PROMPT);
}

static void token_meter__takes_the_servers_word_for_what_was_sent(void **state)
{
    (void)state;
    struct token_meter meter;
    begin(&meter, &bytes, false);
    report(&meter, 1050, -1);
    assert_int_equal(token_meter_prompt(&meter), 1050);
    assert_string_equal(token_meter_method(&meter), "server");
    token_meter_append_completion(&meter, text_of(100), text_of(100), 177);
    assert_int_equal(token_meter_prompt(&meter), 1050 + 177 + PER_MESSAGE);
    token_meter_append(&meter, text_of(1000));
    int64_t prompt = token_meter_prompt(&meter);
    assert_true(prompt > 1050 + 177 + 940 && prompt <= 1050 + 177 + 2 * PER_MESSAGE + 1000);
    report(&meter, 2200, -1);
    assert_int_equal(token_meter_prompt(&meter), 2200);
}

static void token_meter__learns_the_ratio_and_errs_high(void **state)
{
    (void)state;
    static const struct {
        int64_t reported, low, high; /* for 10,000 own tokens; then what 1,000 more are taken for */
    } cases[] = {
        {10013, 1000, 1030}, /* the same vocabulary */
        {13013, 1300, 1350}, /* a smaller one */
        {9013, 900, 960},    /* a larger one: half trusted */
        {40013, 2900, 3001}, /* bounded */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct token_meter meter;
        token_meter_init(&meter, &bytes, PER_MESSAGE, PER_PROMPT, false);
        token_meter_append(&meter, text_of(9000));
        token_meter_append(&meter, text_of(1000));
        report(&meter, cases[i].reported, -1);
        int64_t count = token_meter_count(&meter, text_of(1000));
        assert_in_range(count, cases[i].low, cases[i].high);
        size_t fits = token_meter_fit(&meter, text_of(100000), 1000);
        assert_true(token_meter_count(&meter, text_of(fits)) <= 1000);
        assert_true(token_meter_count(&meter, text_of(fits + 2)) > 999);
    }
}

static void token_meter__an_exact_counter_is_not_scaled(void **state)
{
    (void)state;
    struct token_meter meter;
    begin(&meter, &exact_bytes, false);
    assert_string_equal(token_meter_method(&meter), "tokenizer");
    report(&meter, 1013, -1);
    assert_int_equal(token_meter_count(&meter, text_of(1000)), 1000);
    assert_string_equal(token_meter_method(&meter), "server");
}

static void token_meter__finds_out_that_thought_is_dropped(void **state)
{
    (void)state;
    struct token_meter meter;
    begin(&meter, &bytes, false);
    report(&meter, 1113, -1);
    token_meter_append_completion(&meter, text_of(900), text_of(100), 1000);
    token_meter_append(&meter, text_of(500));
    assert_true(token_meter_prompt(&meter) > 2500); /* as if it were kept */
    report(&meter, 1723, -1);                       /* 1113 + 100 + 500 + 10: it was not */
    assert_false(token_meter_is_cut(&meter, NULL, NULL));
    assert_int_equal(token_meter_prompt(&meter), 1723);
    token_meter_append_completion(&meter, text_of(900), text_of(100), 1000);
    assert_true(token_meter_prompt(&meter) < 1723 + 120);

    begin(&meter, &bytes, false); /* and that it is kept */
    report(&meter, 1113, -1);
    token_meter_append_completion(&meter, text_of(900), text_of(100), 1000);
    token_meter_append(&meter, text_of(500));
    report(&meter, 2623, -1);
    token_meter_append_completion(&meter, text_of(900), text_of(100), 1000);
    assert_int_equal(token_meter_prompt(&meter), 2623 + 1000 + PER_MESSAGE);
}

static void token_meter__a_view_without_thought_counts_none(void **state)
{
    (void)state;
    struct token_meter meter;
    begin(&meter, &bytes, true);
    report(&meter, 1113, -1);
    token_meter_append_completion(&meter, text_of(900), text_of(100), 1000);
    assert_in_range(token_meter_prompt(&meter), 1113 + 100, 1113 + 110);
}

static void token_meter__sees_a_prompt_that_was_cut(void **state)
{
    (void)state;
    struct token_meter meter;
    int64_t own = 0, server = 0;
    begin(&meter, &bytes, false);
    report(&meter, 1113, -1);
    token_meter_append_completion(&meter, (struct str){0}, text_of(100), 100);
    token_meter_append(&meter, text_of(9000));
    report(&meter, 4096, -1);
    assert_true(token_meter_is_cut(&meter, &own, &server));
    assert_int_equal(server, 4096);
    assert_true(own > 10000);

    token_meter_init(&meter, &bytes, PER_MESSAGE, PER_PROMPT, false); /* at once */
    token_meter_append(&meter, text_of(1000));
    token_meter_append(&meter, text_of(5000));
    assert_false(token_meter_is_cut(&meter, &own, &server));
    report(&meter, 2048, -1);
    assert_true(token_meter_is_cut(&meter, &own, &server));

    begin(&meter, &bytes, false); /* a window that fills up slowly */
    int64_t reported = 1113;
    for (int round = 0; round < 20 && !token_meter_is_cut(&meter, NULL, NULL); round++) {
        report(&meter, reported > 8192 ? 8192 : reported, -1);
        token_meter_append_completion(&meter, (struct str){0}, text_of(100), 100);
        token_meter_append(&meter, text_of(800));
        reported += 910;
    }
    assert_true(token_meter_is_cut(&meter, NULL, NULL));
    assert_true(reported < 15000);
}

static void token_meter__a_richer_vocabulary_is_no_cut(void **state)
{
    (void)state;
    struct token_meter meter;
    begin(&meter, &bytes, false);
    int64_t reported = 730;
    for (int round = 0; round < 20; round++) { /* 0.66 of our count, all along */
        report(&meter, reported, -1);
        assert_false(token_meter_is_cut(&meter, NULL, NULL));
        token_meter_append_completion(&meter, (struct str){0}, text_of(100), 66);
        token_meter_append(&meter, text_of(2000));
        reported += 66 + 1320 + 10;
    }
}

static void token_meter__a_rough_guess_of_the_server_is_no_cut(void **state)
{
    (void)state;
    struct token_meter meter;
    for (int step = 50; step < 3000; step += step) { /* three quarters of our count, in small and large steps */
        begin(&meter, &bytes, false);
        int64_t own = 1113;
        for (int round = 0; round < 40; round++) {
            report(&meter, own * 3 / 4, -1);
            assert_false(token_meter_is_cut(&meter, NULL, NULL));
            token_meter_append_completion(&meter, (struct str){0}, text_of(20), 15);
            token_meter_append(&meter, text_of((size_t)step));
            own += 20 + step + 2 * PER_MESSAGE;
        }
    }

    begin(&meter, &bytes, false); /* the same number every time, too small for any window */
    for (int round = 0; round < 10; round++) {
        report(&meter, 100, -1);
        assert_false(token_meter_is_cut(&meter, NULL, NULL));
        token_meter_append_completion(&meter, (struct str){0}, text_of(20), 15);
        token_meter_append(&meter, text_of(2000));
    }
    assert_true(token_meter_prompt(&meter) > 20000);
}

static void token_meter__knows_servers_that_leave_the_cache_out(void **state)
{
    (void)state;
    struct token_meter meter;
    begin(&meter, &bytes, false); /* prompt_tokens and cached_tokens counted apart */
    report(&meter, 1113, 0);
    token_meter_append_completion(&meter, (struct str){0}, text_of(1000), 1000);
    token_meter_append(&meter, text_of(3000));
    report(&meter, 3010, 2113);
    assert_false(token_meter_is_cut(&meter, NULL, NULL));
    assert_int_equal(token_meter_prompt(&meter), 5123);

    begin(&meter, &bytes, false); /* only what was not cached, and no word of it */
    report(&meter, 1113, -1);
    int64_t whole = 1113;
    for (int round = 0; round < 10; round++) {
        token_meter_append_completion(&meter, (struct str){0}, text_of(1000), 1000);
        token_meter_append(&meter, text_of(3000));
        whole += 4000 + 2 * PER_MESSAGE;
        report(&meter, 3008, -1);
        assert_false(token_meter_is_cut(&meter, NULL, NULL));
        assert_in_range(token_meter_prompt(&meter), whole, whole + whole / 20);
        assert_string_equal(token_meter_method(&meter), "estimate");
    }

    begin(&meter, &bytes, false); /* a system prompt that was cached before the run */
    report(&meter, 108, -1);
    assert_false(token_meter_is_cut(&meter, NULL, NULL));
    assert_int_equal(token_meter_prompt(&meter), 1113);
}

static void token_meter__follows_a_message_that_is_rewritten(void **state)
{
    (void)state;
    struct token_meter meter;
    begin(&meter, &exact_bytes, false);
    report(&meter, 1113, -1);
    token_meter_append_completion(&meter, (struct str){0}, text_of(100), 100);
    token_meter_append(&meter, text_of(9000));
    token_meter_replace_last(&meter, text_of(2000));
    assert_int_equal(token_meter_prompt(&meter), 1113 + 100 + 2000 + 2 * PER_MESSAGE);
    report(&meter, 3223, -1);
    token_meter_replace_last(&meter, text_of(500)); /* after it was sent */
    assert_int_equal(token_meter_prompt(&meter), 3223 - 1500);
    report(&meter, 1723, -1);
    assert_int_equal(token_meter_prompt(&meter), 1723);
}

static void token_meter__reports_of_dropped_completions_count_the_prompt(void **state)
{
    (void)state;
    struct token_meter meter;
    begin(&meter, &bytes, false);
    report(&meter, 1100, -1);
    report(&meter, 1100, -1); /* the same prompt again */
    assert_int_equal(token_meter_prompt(&meter), 1100);
    report(&meter, -1, -1); /* no usage */
    report(&meter, 0, -1);
    assert_int_equal(token_meter_prompt(&meter), 1100);
}

static void token_meter__the_estimate_is_a_counter(void **state)
{
    (void)state;
    const struct token_counter *counter = token_counter_estimate();
    int64_t least = 0;
    struct str text = STR("The estimate counts words, and the meter asks it for every message once.");
    int64_t count = counter->count(counter, text, &least);
    assert_in_range(count, 15, 18);
    assert_true(least > 0 && least < count);
    assert_int_equal(counter->fit(counter, text, count), text.len);
    assert_false(counter->exact);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(token_meter__begins_with_the_estimate_and_the_template),
        cmocka_unit_test(token_meter__takes_the_servers_word_for_what_was_sent),
        cmocka_unit_test(token_meter__learns_the_ratio_and_errs_high),
        cmocka_unit_test(token_meter__an_exact_counter_is_not_scaled),
        cmocka_unit_test(token_meter__finds_out_that_thought_is_dropped),
        cmocka_unit_test(token_meter__a_view_without_thought_counts_none),
        cmocka_unit_test(token_meter__sees_a_prompt_that_was_cut),
        cmocka_unit_test(token_meter__a_richer_vocabulary_is_no_cut),
        cmocka_unit_test(token_meter__a_rough_guess_of_the_server_is_no_cut),
        cmocka_unit_test(token_meter__knows_servers_that_leave_the_cache_out),
        cmocka_unit_test(token_meter__follows_a_message_that_is_rewritten),
        cmocka_unit_test(token_meter__reports_of_dropped_completions_count_the_prompt),
        cmocka_unit_test(token_meter__the_estimate_is_a_counter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
