#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "core/buf.h"
#include "text/quote_check.h"

#include <string.h>
#include <time.h>

struct quote_case {
    const char *page, *quote;
    size_t missing; /* of the sentences of `quote` */
};

static void check_table(const struct quote_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct quotes quotes;
        quote_check(str_of(cases[i].page), str_of(cases[i].quote), &quotes);
        if (quotes.n_missing != cases[i].missing || quotes.count == 0)
            fail_msg("%zu of %zu missing, not %zu: \"%s\" in \"%s\"", quotes.n_missing, quotes.count, cases[i].missing,
                     cases[i].quote, cases[i].page);
        quotes_finish(&quotes);
    }
}

#define CHECK(cases) check_table(cases, sizeof(cases) / sizeof(cases)[0])

static void quote_check__overlooks_how_it_is_set(void **state)
{
    (void)state;
    static const struct quote_case cases[] = {
        {"The tower was built in 1857.", "The tower was built in 1857.", 0},
        {"The  tower\nwas\tbuilt in\u00a01857.", "The tower was built in 1857.", 0},
        {"The tower was built in 1857.", "The tower\nwas built in 1857", 0},
        /* hyphens at the ends of lines, soft hyphens, ligatures, full-width forms */
        {"An exam-\nple of a light-\nhouse.", "An example of a lighthouse.", 0},
        {"A well-known tower.", "A well-\nknown tower.", 0},
        {"The light\u00adhouse.", "The lighthouse.", 0},
        {"The \ufb01rst e\ufb03cient of\ufb01ce", "The first efficient office", 0},
        {"built in \uff11\uff18\uff15\uff17", "built in 1857", 0},
        {"caf\u00e9", "cafe\u0301", 0},
        /* quote marks and dashes */
        {"She said: \u201cIt\u2019s the keeper\u2019s house\u201d.", "She said: \"It's the keeper's house\".", 0},
        {"\u00abLe phare\u00bb", "\"Le phare\"", 0},
        {"the tower \u2014 34 metres high \u2014 stands", "the tower - 34 metres high -- stands", 0},
        {"the tower\u2014tall and white\u2014stands", "the tower - tall and white - stands", 0},
        {"from 1857\u20131860", "from 1857-1860", 0},
        {"from 1857 -1860", "from 1857 - 1860", 0},
        /* Markdown and HTML */
        {"The **tower** of [Kell](https://kell.example/a_(b)) was `built` in _1857_.",
         "The tower of Kell was built in 1857.", 0},
        {"The tower of Kell was built.", "The **tower** of [Kell](https://kell.example/) was built.", 1},
        {"[Kell](https://kell.example/)'s tower", "[Kell](https://kell.example/)'s tower", 0},
        {"It was built[\\[12\\]](#note-12) in 1857.[3] Ships", "It was built in 1857. Ships", 0},
        {"It was built in 1857.", "It was built [12] in 1857.", 0},
        {"| Built | 1857 |\n| --- | --- |\n| Height | 34 m |", "Height: 34 m", 0},
        {"- built in 1857\n- 34 metres high", "* built in 1857\n* 34 metres high", 0},
        {"1. built in 1857\n2. 34 metres high", "- built in 1857\n- 34 metres high", 0},
        {"> built in 1857\n> by Oswin", "built in 1857 by Oswin", 0},
        {"1857\\. AT&amp;T &#39;built&#x27; R&D &lt;it&gt;", "AT&T 'built' R&D", 0},
        {"Caf&eacute; in M&uuml;nchen, 10&nbsp;m &mdash; R&D; &nothing; &#0;", "Caf\u00e9 in M\u00fcnchen, 10 m", 0},
        {"H<sub>2</sub>O is water", "H2O is water", 0},
        {"H\u2082O is water", "H2O is water", 0},
        {"10\u00b2 metres", "10^2 metres", 0},
        {"![a ship](https://a.example/s.png) The tower", "The tower", 0},
        {"snake\\_case\\_name 3\\.5", "snake_case_name 3.5", 0},
        /* scripts without blanks */
        {"这座灯塔建于1857年，\n高34米。", "这座灯塔建于1857年，高34米。", 0},
        {"这座灯塔建于1857年，高34米。", "灯塔建于1857年", 0},
        {"「この灯台は1857年に建てられた。」", "この灯台は1857年に建てられた。", 0},
        {"서울은 대한민국의 수도이다.", "서울은 대한민국의 수도이다.", 0},
    };
    CHECK(cases);
}

static void quote_check__flags_what_is_not_there(void **state)
{
    (void)state;
    static const struct quote_case cases[] = {
        /* a digit, a sign, a separator, a cut number */
        {"The tower was built in 1857.", "The tower was built in 1858.", 1},
        {"The tower was built in 1857.", "The tower was built in 185", 1},
        {"The tower was built in 1857.", "in 1857 and", 1},
        {"11857 ships", "1857 ships", 1},
        {"about 3.5 million", "about 35 million", 1},
        {"about 3.5 million", "about 3.6 million", 1},
        {"12 3", "1 23", 1},
        {"12 3", "123", 1},
        {"it was -5 degrees", "it was 5 degrees", 1},
        {"it was \u22125 degrees", "it was -5 degrees", 0},
        {"it cost $5", "it cost \u20ac5", 1},
        {"p < 0.05", "p > 0.05", 1},
        {"p &lt; 0.05", "p<0.05", 0},
        {"10\u00b2 metres", "102 metres", 1},
        {"from 1857\u20131860", "from 1857\u20131861", 1},
        {"这座灯塔建于1857年，高34米。", "这座灯塔建于1858年，高34米。", 1},
        {"这座灯塔建于1857年，高34米。", "这座灯塔建于1857年，高34尺。", 1},
        {"这座灯塔建于1857年。", "建于185", 1},
        /* words */
        {"The tower was built in 1857.", "The tower was not built in 1857.", 1},
        {"The tower was built in 1857.", "The Tower was built in 1857.", 1},
        {"The keeper was a rapist", "The keeper was a therapist", 1},
        {"Maria Oswin", "Mario Oswin", 1},
        {"caf\u00e9", "cafe", 1},
        {"a tower", "tow", 1},
        {"", "anything", 1},
        {"The tower was built in 1857.", "Built in 1857.", 0}, /* quoted as a sentence */
        {"Über die Brücke", "über die Brücke", 0},
        /* partly invented */
        {"It was built in 1857 by Maria Oswin.", "It was built in 1857 by Maria Oswin. She died in 1901.", 1},
        {"It was built in 1857 by Maria Oswin.", "It was built in 1857 by Maria Oswin, a famous engineer.", 1},
        {"One. Two. Three.", "One.\n\nFour.\n\n- Three\n- Five", 2},
        {"It was built. It is white.", "It is white. It was built.", 0},
        /* addresses */
        {"See [Kell](https://kell.example/a).", "See Kell: https://kell.example/a", 0},
        {"See [Kell](https://kell.example/a).", "See Kell: https://kell.example/b", 1},
        {"See https://kell.example/a.", "https://kell.example/a", 0},
    };
    CHECK(cases);
}

static void quote_check__takes_ellipses_for_gaps(void **state)
{
    (void)state;
    static const char page[] = "The tower of Kell, which is white, was built in the year 1857 by Maria Oswin.";
    static const struct quote_case cases[] = {
        {page, "The tower of Kell \u2026 was built", 0},
        {page, "The tower of Kell... was built...by Maria Oswin.", 0},
        {page, "The tower of Kell [...] was built [\u2026] 1857", 0},
        {page, "The tower of Kell (...) in the year 1857", 0},
        {page, "\u2026was built in the year 1857\u2026", 0},
        {page, "was built \u2026 The tower of Kell", 1}, /* the other way round */
        {page, "The tower of Kell \u2026 was torn down", 1},
        {page, "The tower of Kell \u2026 185", 1},
        {"灯塔是白色的，建于1857年。", "灯塔……建于1857年", 0},
        {"Wait... what?", "Wait... what?", 0},
        /* the first place where a part stands is not always the one that is meant */
        {"Kell is an island. Kell is small. Kell has a tower.", "Kell \u2026 has a tower", 0},
    };
    CHECK(cases);
    struct buf far;
    struct quotes quotes;
    buf_init(&far, BUF_UNBOUNDED);
    buf_add_text(&far, "The tower ");
    for (int i = 0; i < 6000; i++)
        buf_add_text(&far, "word ");
    buf_add_text(&far, "was built.");
    quote_check(buf_str(&far), STR("The tower \u2026 was built."), &quotes);
    assert_int_equal(quotes.n_missing, 1);
    quotes_finish(&quotes);
    buf_finish(&far);
}

static void quote_check__says_where(void **state)
{
    (void)state;
    static const char evidence[] = "[Kell > Tower]\nIt was built in 1857. It is red.\n\n---\n\n- It is 34 metres high.";
    struct quotes quotes;
    quote_check(STR("It was built in 1857.\n\nIt is 34 metres high."), STR(evidence), &quotes);
    assert_int_equal(quotes.count, 3);
    assert_int_equal(quotes.n_missing, 1);
    assert_true(quotes.items[0].found && !quotes.items[1].found && quotes.items[2].found);
    assert_memory_equal(evidence + quotes.items[1].from, "It is red.", 10);
    assert_int_equal(quotes.items[1].to - quotes.items[1].from, 10);
    assert_memory_equal(evidence + quotes.items[2].from, "It is 34", 8);
    quotes_finish(&quotes);
    quote_check(STR("text"), STR("--- \n\n\u2026 []"), &quotes);
    assert_int_equal(quotes.count, 0);
    quotes_finish(&quotes);
}

/* Text made to be slow: repetitions, brackets that never close, and quotations that almost occur everywhere. */
static void quote_check__stays_linear(void **state)
{
    (void)state;
    static const char *const patterns[] = {"a",   "a ", "[",      "![", "](", "\\[1",
                                           "<a ", "&",  "ab... ", "1,", "中", "\xff"};
    for (size_t i = 0; i < sizeof patterns / sizeof patterns[0]; i++) {
        struct buf page, evidence;
        struct quotes quotes;
        buf_init(&page, BUF_UNBOUNDED);
        buf_init(&evidence, BUF_UNBOUNDED);
        while (page.len < 200000)
            buf_add_text(&page, patterns[i]);
        for (int line = 0; line < 20; line++) {
            for (int n = 0; n < 200; n++)
                buf_add_text(&evidence, patterns[i]);
            buf_addf(&evidence, "b%d\n\n", line);
        }
        clock_t before = clock();
        quote_check(buf_str(&page), buf_str(&evidence), &quotes);
        assert_true((double)(clock() - before) / CLOCKS_PER_SEC < 2);
        quotes_finish(&quotes);
        buf_finish(&evidence);
        buf_finish(&page);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quote_check__overlooks_how_it_is_set),
        cmocka_unit_test(quote_check__flags_what_is_not_there),
        cmocka_unit_test(quote_check__takes_ellipses_for_gaps),
        cmocka_unit_test(quote_check__says_where),
        cmocka_unit_test(quote_check__stays_linear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
