/* Pages to Markdown: structure, the main part, what is left out, metadata, and input made to hurt. */
#include "text/html/html.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "core/mem.h"
#include "core/utf8.h"

#define BASE STR("https://example.org/a/b.html")

static char *convert(struct str html, bool whole, bool drop_links)
{
    struct html_options options = {.base_url = BASE, .whole_page = whole, .drop_links = drop_links};
    struct html_page page;
    assert_int_equal(html_to_markdown(html, &options, &page, NULL), STATUS_OK);
    assert_true(utf8_is_valid(buf_str(&page.markdown)));
    char *text = buf_take(&page.markdown);
    html_page_finish(&page);
    return text;
}

static void assert_markdown(const char *html, const char *expected)
{
    char *text = convert(str_of(html), true, false);
    assert_string_equal(text, expected);
    free(text);
}

static void html__obeys_base_elements(void **state)
{
    (void)state;
    assert_markdown("<base href='/dir/'><p>x <a href='y'>y</a>", "x [y](https://example.org/dir/y)\n");
}

/* Text a reader does not see is where instructions to a model are hidden. */
static void html__drops_what_is_not_seen(void **state)
{
    (void)state;
    static const char *const hidden[] = {
        "<div hidden>SECRET</div>",
        "<p style='display: none'>SECRET</p>",
        "<p style='COLOR:red;VISIBILITY : hidden'>SECRET</p>",
        "<span aria-hidden=true>SECRET</span>",
        "<script>SECRET</script>",
        "<style>SECRET</style>",
        "<!-- SECRET -->",
        "<template>SECRET</template>",
        "<textarea>SECRET</textarea>",
        "<select><option>SECRET</select>",
        "<noscript>SECRET</noscript>",
        "<iframe>SECRET</iframe>",
        "<svg><text>SECRET</text></svg>",
        "<span class='sr-only'>SECRET</span>",
    };
    for (size_t i = 0; i < sizeof hidden / sizeof hidden[0]; i++) {
        for (int whole = 0; whole < 2; whole++) {
            char *html = mem_printf("<body><p>Seen text stands here.</p>%s<p>More of it.</p>", hidden[i]);
            char *text = convert(str_of(html), whole, false);
            assert_null(strstr(text, "SECRET"));
            assert_non_null(strstr(text, "Seen text"));
            assert_non_null(strstr(text, "More of it"));
            free(text);
            free(html);
        }
    }
}

static char *article(void)
{
    struct buf page;
    buf_init(&page, BUF_UNBOUNDED);
    buf_add_text(&page,
                 "<html><body><nav><a href=1>Home</a> <a href=2>World</a></nav><div class='cookie-banner'>We value "
                 "your privacy and use cookies, which you may accept here or not.</div><div id=content><h1>Head</h1>");
    for (int i = 0; i < 8; i++)
        buf_addf(&page, "<p>Paragraph %d of the article says something at length, with commas, and stops.</p>", i);
    buf_add_text(&page,
                 "<ul class=related><li><a href=3>Another story you may like</a><li><a href=4>And one more</a></ul>"
                 "</div><aside>An aside about nothing in particular that goes on for quite a while.</aside>"
                 "<footer>Copyright by somebody who keeps all rights reserved for ever.</footer></body></html>");
    return buf_take(&page);
}

static void html__finds_the_main_part(void **state)
{
    (void)state;
    char *html = article();
    char *text = convert(str_of(html), false, false);
    assert_non_null(strstr(text, "Paragraph 0"));
    assert_non_null(strstr(text, "Paragraph 7"));
    static const char *const around[] = {"Home", "privacy", "Another story", "aside", "Copyright"};
    for (size_t i = 0; i < sizeof around / sizeof around[0]; i++)
        assert_null(strstr(text, around[i]));
    free(text);
    text = convert(str_of(html), true, false);
    assert_non_null(strstr(text, "Copyright"));
    free(text);
    free(html);
}

static void html__never_leaves_a_page_with_text_empty(void **state)
{
    (void)state;
    static const char *const pages[] = {
        "<nav>only a menu</nav>",
        "<footer>only a footer</footer>",
        "<form>all inside a form<input></form>",
        "<div class='ad'>called an ad</div>",
        "<noscript>for those without scripts</noscript>",
        "<div class=comments>only comments</div>",
        "<a href=x>only a link</a>",
        "<h1>only a heading</h1>",
        "<body style='display:none'>shown by a script later",
        "<div aria-hidden=true>a page behind a dialog</div>",
    };
    for (size_t i = 0; i < sizeof pages / sizeof pages[0]; i++) {
        char *text = convert(str_of(pages[i]), false, false);
        assert_true(strlen(text) > 5);
        free(text);
    }
}

static void html__reads_metadata(void **state)
{
    (void)state;
    struct html_options options = {.base_url = BASE};
    struct html_page page;
    struct str html =
        STR("<html lang=de><head><title>Der Titel - Die Seite</title><link rel=canonical href='/k'>"
            "<meta property='og:site_name' content='Die Seite'><meta name=description content='Worum  es geht'>"
            "<script type='application/ld+json'>{\"@graph\":[{\"@type\":\"NewsArticle\",\"author\":[{\"name\":\"A. "
            "Autorin\"},"
            "\"B. Autor\"],\"datePublished\":\"2024-02-03\"}]}</script>"
            "<script type='application/ld+json'>{broken</script></head><body><p>Text</body></html>");
    assert_int_equal(html_to_markdown(html, &options, &page, NULL), STATUS_OK);
    assert_string_equal(page.title, "Der Titel");
    assert_string_equal(page.canonical_url, "https://example.org/k");
    assert_string_equal(page.author, "A. Autorin, B. Autor");
    assert_string_equal(page.date, "2024-02-03");
    assert_string_equal(page.site_name, "Die Seite");
    assert_string_equal(page.description, "Worum es geht");
    assert_string_equal(page.language, "de");
    html_page_finish(&page);
    assert_int_equal(html_to_markdown(STR("<p>x"), NULL, &page, NULL), STATUS_OK);
    assert_null(page.title);
    assert_null(page.author);
    html_page_finish(&page);
}

static void html__survives_broken_markup(void **state)
{
    (void)state;
    static const char *const pages[] = {
        "<p>keep<",
        "<p>keep</",
        "<p>keep<!--",
        "<p>keep<!",
        "<p>keep<a href=\"x",
        "<p>keep<script>",
        "<p>keep<a <b",
        "</p></div>keep",
        "<table><tr>keep",
        "<td>keep",
        "<li>keep",
        "keep<svg>",
        "keep<title>",
        "<b><i>keep</b></i>",
        "<p>keep&#xFFFFFFFF;&#0;&nosuch;",
        "<p>keep</p></body></html></body>",
        "< p>keep",
        "<p/>keep<br/>",
        "<>keep",
    };
    for (size_t i = 0; i < sizeof pages / sizeof pages[0]; i++) {
        char *text = convert(str_of(pages[i]), true, false);
        assert_non_null(strstr(text, "keep"));
        free(text);
    }
    char *text = convert(STR("<p>a\0b\xFF\xC3</p>\0<p>c"), true, false);
    assert_string_equal(text, "ab\xEF\xBF\xBD\xEF\xBF\xBD\n\nc\n");
    free(text);
}

/* Repeats `unit` to about `bytes`, between a head and a tail. */
static struct buf repeated(const char *head, const char *unit, size_t bytes, const char *tail)
{
    struct buf page;
    buf_init(&page, BUF_UNBOUNDED);
    buf_add_text(&page, head);
    while (page.len < bytes)
        buf_add_text(&page, unit);
    buf_add_text(&page, tail);
    return page;
}

static void html__takes_hostile_pages_in_linear_time(void **state)
{
    (void)state;
    static const char *const cases[][3] = {
        {"", "<div>", "deep text"},
        {"", "<span><p>", "deep text"},
        {"", "<ul><li>", "deep text"},
        {"", "<blockquote>", "deep text"},
        {"", "<table><tr><td>", "deep text"},
        {"", "<b><i>", "deep text"},
        {"<span>", "<div>x</span>", "deep text"},
        {"<div>", "</span></b>", "deep text"},
        {"<p ", "a=1 b=2 ", ">deep text"},
        {"<p class='", "x y ", "'>deep text"},
        {"", "<p class='x' class='y'>", "deep text"},
        {"", "<!-- -->", "deep text"},
        {"", "&amp;&lt;", "deep text"},
        {"", "<a href=x>", "deep text"},
        {"<pre>", "```\n", "deep text"},
        {"", "< <a", ">deep text"},
        {"<ol>", "<li>", "deep text"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct buf page = repeated(cases[i][0], cases[i][1], 1 << 20, cases[i][2]);
        struct timespec begin, end;
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
        char *text = convert(buf_str(&page), false, false);
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
        assert_non_null(strstr(text, "deep text"));
        assert_true(end.tv_sec - begin.tv_sec < 15); /* quadratic work takes minutes */
        free(text);
        buf_finish(&page);
    }
}

static void html__keeps_its_caps(void **state)
{
    (void)state;
    struct html_page page;
    struct html_options options = {.max_input_bytes = 10};
    struct error error;
    assert_int_equal(html_to_markdown(STR("<p>more than ten"), &options, &page, &error), STATUS_TOO_BIG);
    options = (struct html_options){.max_text_bytes = 5};
    assert_int_equal(html_to_markdown(STR("<p>\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9"), &options, &page, NULL), STATUS_OK);
    assert_true(page.truncated);
    assert_string_equal(page.markdown.data, "éé");
    html_page_finish(&page);
    struct str formula = STR("<math><annotation encoding=tex>\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9</annotation></math>");
    for (size_t cap = 1; cap < 9; cap++) {
        options = (struct html_options){.max_text_bytes = cap, .plain_text = true};
        assert_int_equal(html_to_markdown(formula, &options, &page, NULL), STATUS_OK);
        assert_true(utf8_is_valid(buf_str(&page.markdown)));
        html_page_finish(&page);
    }
}

static void html__stops_when_canceled(void **state)
{
    (void)state;
    const atomic_bool no = false, yes = true;
    struct html_options options = {.cancel = &no};
    struct html_page page;
    assert_int_equal(html_to_markdown(STR("<p>One"), &options, &page, NULL), STATUS_OK);
    assert_string_equal(page.markdown.data, "One\n");
    html_page_finish(&page);
    options.cancel = &yes;
    assert_int_equal(html_to_markdown(STR("<p>One"), &options, &page, NULL), STATUS_CANCELED);
}

static void html__is_recognized(void **state)
{
    (void)state;
    assert_true(html_is_likely(STR("\xEF\xBB\xBF \n<!-- x --><!DOCTYPE HTML>")));
    assert_true(html_is_likely(STR("<?xml version='1.0'?><html xmlns='x'>")));
    assert_false(html_is_likely(STR("<?xml version='1.0'?><rss>")));
    assert_false(html_is_likely(STR("plain <html>")));
    assert_false(html_is_likely(STR("<!-- never closed")));
    assert_false(html_is_likely(STR("")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(html__obeys_base_elements),
        cmocka_unit_test(html__drops_what_is_not_seen),
        cmocka_unit_test(html__finds_the_main_part),
        cmocka_unit_test(html__never_leaves_a_page_with_text_empty),
        cmocka_unit_test(html__reads_metadata),
        cmocka_unit_test(html__survives_broken_markup),
        cmocka_unit_test(html__takes_hostile_pages_in_linear_time),
        cmocka_unit_test(html__keeps_its_caps),
        cmocka_unit_test(html__stops_when_canceled),
        cmocka_unit_test(html__is_recognized),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
