/* Terms, the stemmer (against SQLite's), and ranking of passages and sentences. */
#include "text/rank.h"
#include "text/words.h"

#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/utf8.h"

static void assert_terms(struct str text, const char *expected)
{
    struct buf terms;
    buf_init(&terms, BUF_UNBOUNDED);
    struct words words;
    struct word word;
    words_init(&words, text);
    while (words_next(&words, &word)) {
        assert_int_equal(strlen(word.term), word.length);
        assert_true(word.length > 0 && word.length <= WORD_MAX_BYTES);
        assert_true(word.from < word.to && word.to <= text.len);
        buf_addf(&terms, "%s%s", terms.len ? " " : "", word.term);
    }
    assert_string_equal(terms.data ? terms.data : "", expected);
    buf_finish(&terms);
}

static void words__make_terms(void **state)
{
    (void)state;
    assert_terms(STR("The Quick foxes' jumping, and O_EXCL!"), "quick fox jump o excl");
    assert_terms(STR("Straße CAFÉ ｆｕｌｌ"), "strass cafe full");
    assert_terms(STR("up-regulated"), "regul upregul");
    assert_terms(STR("IL-2"), "il 2 il2");
    assert_terms(STR("TNF-α"), "tnf alpha tnfalpha");
    assert_terms(STR("don't John's"), "john");
    assert_terms(STR("東京都 大"), "東京 京都 大");
    assert_terms(STR("Linux内核x"), "linux 内核 x");
    assert_terms(STR("สวัสดี"), "สว วั ัส สด ดี");
    assert_terms(STR("Привет, МИР"), "привет мир");
    assert_terms(STR("a\0b \xFF\xC3 c++"), "b c");
    assert_terms(STR(" .,;!? "), "");
    assert_terms(STR(""), "");
}

static void words__cut_what_is_too_long(void **state)
{
    (void)state;
    char text[3000];
    for (size_t i = 0; i < sizeof text; i += 2)
        memcpy(text + i, "\xD0\x90", 2);
    struct words words;
    struct word word;
    words_init(&words, str_make(text, sizeof text));
    assert_true(words_next(&words, &word));
    assert_int_equal(word.length, WORD_MAX_BYTES);
    assert_true(utf8_is_valid(str_make(word.term, word.length)));
    assert_false(words_next(&words, &word));
}

/* SQLite has another implementation of the same algorithm. */
static void stem_english__agrees_with_sqlite(void **state)
{
    (void)state;
    static const char text[] =
        "caresses ponies ties caress cats feed agreed plastered bled motoring sing conflated troubled sized hopping "
        "tanned falling hissing fizzed failing filing happy sky relational conditional rational valenci hesitanci "
        "digitizer conformabli radicalli differentli vileli analogousli vietnamization predication operator feudalism "
        "decisiveness hopefulness callousness formaliti sensitiviti sensibiliti triplicate formative formalize "
        "electriciti electrical hopeful goodness revival allowance inference airliner gyroscopic adjustable defensible "
        "irritant replacement adjustment dependent adoption homologou communism activate angulariti homologous "
        "effective bowdlerize probate rate cease controll roll generalizations oscillators boundary layers "
        "aerodynamically heating flows supersonic buckling cylinders equations stability vibration approximation "
        "hypersonic viscous turbulent skin friction transfer studies proteins expression mutations cells signaling "
        "pathways activation inhibits regulated receptor binding induced mechanisms cancer tumor patients treatment "
        "therapy clinical disease genes genome sequencing transcription factors yes yyy syzygy toys employed playing "
        "biology psychology archaeology possibly ably university universal knightly knives mice wolves news skies "
        "dying lying tying early only singly proceed succeed inning outing canning herring";
    sqlite3 *db;
    sqlite3_stmt *statement;
    assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db,
                                  "CREATE VIRTUAL TABLE f USING fts5 (x, tokenize = 'porter ascii');"
                                  "CREATE VIRTUAL TABLE v USING fts5vocab (f, 'instance');",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, "INSERT INTO f VALUES (?1)", -1, &statement, NULL), SQLITE_OK);
    sqlite3_bind_text(statement, 1, text, -1, SQLITE_STATIC);
    assert_int_equal(sqlite3_step(statement), SQLITE_DONE);
    sqlite3_finalize(statement);
    assert_int_equal(sqlite3_prepare_v2(db, "SELECT term FROM v ORDER BY offset", -1, &statement, NULL), SQLITE_OK);
    struct str rest = STR(text), piece;
    while (str_split_next(&rest, ' ', &piece)) {
        char word[64];
        memcpy(word, piece.data, piece.len);
        word[stem_english(word, piece.len)] = '\0';
        assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
        assert_string_equal(word, (const char *)sqlite3_column_text(statement, 0));
    }
    sqlite3_finalize(statement);
    sqlite3_close(db);
}

static const char text[] =
    "# Opening files\n\n" /* one passage a section: each is long enough */
    "The open call opens a file. It takes a path and flags. Flags say how the file is used by the caller, and whether "
    "it is made when it is missing. Many programs use it, directly or through a library, and so does every shell "
    "script. It has been part of the system from the start.\n\n"
    "# Exclusive creation\n\n"
    "The flag O_EXCL makes the call fail when the file already exists. Together with O_CREAT it makes sure that this "
    "call creates the file. Lock files are made in this way, since only one process can succeed. Others see an error "
    "and try again later, or give up with a message for the user.\n\n"
    "# Closing\n\n"
    "The close call gives the descriptor back. It may report an error of an earlier write, which is often forgotten. "
    "After it the number can be used again for something else, so closing twice is a defect that shows only under "
    "load, when another thread was given the same number in between.\n";

static void rank_passages__finds_the_one_that_bears_on_it(void **state)
{
    (void)state;
    struct passages passages;
    passages_cut(STR(text), 60, &passages);
    struct ranked best[8];
    size_t n = rank_passages(STR(text), &passages, STR("Which flag makes open fail when a file exists?"), best, 8);
    assert_true(n >= 2 && n <= passages.count);
    assert_string_equal(passages.items[best[0].index].headings, "Exclusive creation");
    for (size_t i = 1; i < n; i++)
        assert_true(best[i - 1].score >= best[i].score && best[i].score > 0);
    assert_int_equal(rank_passages(STR(text), &passages, STR("zebra"), best, 8), 0);
    assert_int_equal(rank_passages(STR(text), &passages, STR("what is the"), best, 8), 0);
    assert_int_equal(rank_passages(STR(text), &passages, STR(""), best, 8), 0);
    assert_int_equal(rank_passages(STR(text), &passages, STR("file"), best, 0), 0);
    passages_finish(&passages);
}

/* Ranks passages that are given as they are, "\n\n" between them, without their being cut by size. */
static size_t rank_pieces(const char *pieces, const char *question, struct ranked *best, size_t limit)
{
    struct passage items[16];
    struct passages passages = {.items = items};
    struct str whole = str_of(pieces);
    for (size_t at = 0; at < whole.len && passages.count < 16;) {
        size_t end = str_find(whole, STR("\n\n"), at);
        end = end == STR_NONE ? whole.len : end;
        items[passages.count++] = (struct passage){.from = at, .to = end};
        at = end + 2;
    }
    return rank_passages(whole, &passages, str_of(question), best, limit);
}

static void rank_passages__prefers_words_that_stand_together(void **state)
{
    (void)state;
    struct ranked best[4];
    const char *far = "none at all here\n\n"
                      "A timer is a thing. One two three four five six seven eight nine ten eleven twelve thirteen "
                      "fourteen fifteen sixteen seventeen eighteen nineteen twenty thirty. Overflow of it\n\n"
                      "neither here\n\nnor here\n\n"
                      "Timer overflow is a thing. One two three four five six seven eight nine ten eleven twelve "
                      "thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty thirty. Of it\n\nor here";
    assert_int_equal(rank_pieces(far, "overflow of a timer", best, 4), 2);
    assert_int_equal(best[0].index, 4);
}

/* Of equal ones that stands first whose neighbour bears on the question too, and then the one further up. */
static void rank_passages__looks_at_the_neighbours(void **state)
{
    (void)state;
    struct ranked best[8];
    assert_int_equal(
        rank_pieces("v\n\nv\n\nred apple\n\nx\n\ny\n\nz\n\nred apple\n\nred pear\n\nw", "apple red", best, 8), 3);
    assert_int_equal(best[0].index, 6);
    assert_int_equal(best[1].index, 2);
    assert_true(best[0].score > best[1].score);
    assert_int_equal(rank_pieces("x\n\nred apple\n\ny\n\nz\n\nred apple\n\nw", "red apple", best, 8), 2);
    assert_int_equal(best[0].index, 1);
}

static void rank_passages__does_not_read_addresses(void **state)
{
    (void)state;
    struct ranked best[4];
    const char *links =
        "See [this](https://example.org/timer/overflow) page\n\nnone\n\n[timer](x) and overflow\n\nnone";
    assert_int_equal(rank_pieces(links, "timer overflow", best, 4), 1);
    assert_int_equal(best[0].index, 2);
    assert_int_equal(rank_pieces("](timer overflow\n\nnone", "timer", best, 4), 1);
}

/* What is asked for is in the words that mean something, not in "how does one", "のは", "ですか". */
static void rank_passages__looks_past_the_words_of_asking(void **state)
{
    (void)state;
    struct ranked best[4];
    assert_int_equal(rank_pieces("one way or someone else\n\nthe timer\n\nx", "How does one set a timer?", best, 4), 1);
    assert_int_equal(best[0].index, 1);
    assert_int_equal(rank_pieces("one way\n\nthe timer\n\nx", "one", best, 4), 1);
    assert_int_equal(
        rank_pieces("これはですか、なのはですか\n\n上限は千です\n\n別の文章\n\n他の話", "上限なのはですか", best, 4),
        2);
    assert_int_equal(best[0].index, 1);
}

/* Megabytes of any shape, with any question. */
static void rank_passages__stands_hostile_text(void **state)
{
    (void)state;
    static const char *const units[] = {"a", "timer ", "](", "[x](", "上限", "# timer\n\n", "\x80", "timer-timer-"};
    static const char *const questions[] = {"timer", "上限上", "a b c d e f g h i j k l m n o p q r s t u v w x y z"};
    for (size_t u = 0; u < sizeof units / sizeof units[0]; u++) {
        struct buf whole;
        struct passages passages;
        struct ranked best[10];
        buf_init(&whole, BUF_UNBOUNDED);
        while (whole.len < 2 << 20)
            buf_add_text(&whole, units[u]);
        passages_cut(buf_str(&whole), 0, &passages);
        for (size_t q = 0; q < sizeof questions / sizeof questions[0]; q++)
            assert_true(rank_passages(buf_str(&whole), &passages, str_of(questions[q]), best, 10) <= 10);
        passages_finish(&passages);
        buf_finish(&whole);
    }
}

static void rank_texts__keeps_order_among_equals(void **state)
{
    (void)state;
    const struct str texts[] = {STR("none"), STR("red apple"), STR("red apple"),
                                STR("apple pie with more words in it")};
    struct ranked best[4];
    assert_int_equal(rank_texts(texts, 4, STR("red apple"), best, 4), 3);
    assert_int_equal(best[0].index, 1);
    assert_int_equal(best[1].index, 2);
    assert_true(best[0].score == best[1].score);
    assert_int_equal(best[2].index, 3);
}

static void rank_sentences__picks_and_does_not_repeat(void **state)
{
    (void)state;
    struct ranked_sentence best[3];
    assert_int_equal(rank_sentences(STR(text), STR("flag that makes it fail if the file exists"), best, 1), 1);
    assert_true(
        str_starts_with(str_slice(STR(text), best[0].sentence.from, best[0].sentence.to), STR("The flag O_EXCL")));
    size_t n =
        rank_sentences(STR("A cat sat. A dog ran.\n\n- a cat sat\n\n# cat\n\n```\ncat\n```\n"), STR("cat"), best, 3);
    assert_int_equal(n, 1);
}

static void rank_snippet__is_one_bounded_line(void **state)
{
    (void)state;
    struct buf out;
    buf_init(&out, 1000);
    assert_int_equal(rank_snippet(STR(text), STR("exclusive O_EXCL exists"), 200, &out), STATUS_OK);
    assert_non_null(strstr(out.data, "O_EXCL makes the call fail"));
    assert_true(out.len < 220);
    assert_null(strchr(out.data, '\n'));
    assert_null(strchr(out.data, '#'));
    buf_reset(&out);
    assert_int_equal(rank_snippet(STR("First words. Then others."), STR("zebra"), 200, &out), STATUS_OK);
    assert_string_equal(out.data, "First words. Then others.");
    buf_reset(&out);
    assert_int_equal(rank_snippet(STR(""), STR("zebra"), 200, &out), STATUS_OK);
    assert_int_equal(out.len, 0);
    buf_finish(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words__make_terms),
        cmocka_unit_test(words__cut_what_is_too_long),
        cmocka_unit_test(stem_english__agrees_with_sqlite),
        cmocka_unit_test(rank_passages__finds_the_one_that_bears_on_it),
        cmocka_unit_test(rank_passages__prefers_words_that_stand_together),
        cmocka_unit_test(rank_passages__looks_at_the_neighbours),
        cmocka_unit_test(rank_passages__does_not_read_addresses),
        cmocka_unit_test(rank_passages__looks_past_the_words_of_asking),
        cmocka_unit_test(rank_passages__stands_hostile_text),
        cmocka_unit_test(rank_texts__keeps_order_among_equals),
        cmocka_unit_test(rank_sentences__picks_and_does_not_repeat),
        cmocka_unit_test(rank_snippet__is_one_bounded_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
