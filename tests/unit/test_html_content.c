/* Which parts of a page are its content: a page of each kind, what is hidden, comments, and pages made to hurt. How
 * good it is on real pages is what bench/extract.py measures. */
#include "text/html/content.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "core/mem.h"
#include "text/html/write.h"

#define RIVER \
    "The river rises in the hills above the village and reaches the lake after eleven miles, most of them slow. "
#define MILL \
    "Its mills were built in 1780, when wool was still carried on horses, and two of them have kept their wheels. "
#define WALK "A path follows the water on the left bank; in spring it is often flooded, so boots are of use there. "
#define MENU                                                                       \
    "<nav><ul><li><a href='/'>Start</a></li><li><a href='/n'>News</a></li><li><a " \
    "href='/c'>Contact</a></li></ul></nav>"
#define FOOT                                                                                    \
    "<footer><p>Copyright 2024 The Valley Club</p><ul><li><a href='/p'>Privacy</a></li><li><a " \
    "href='/t'>Terms</a></li>"                                                                  \
    "</ul></footer>"

static char *content_with(struct str html, const struct html_content_options *options)
{
    struct html_tree tree;
    struct buf out;
    buf_init(&out, (size_t)64 << 20);
    html_tree_parse(html, &tree);
    uint8_t *marks = mem_alloc(tree.count);
    memset(marks, 0xFF, tree.count);
    html_mark_content(&tree, options, marks);
    assert_true(html_tree_write(&tree, marks, &(struct html_write_options){.plain_text = true}, &out));
    free(marks);
    html_tree_finish(&tree);
    return buf_take(&out);
}

static char *content_of(const char *html)
{
    return content_with(str_of(html), &(struct html_content_options){0});
}

struct sample {
    const char *html;
    const char *kept[7], *dropped[7];
};

static void check(const struct sample *sample)
{
    char *text = content_of(sample->html);
    bool good = true;
    for (size_t i = 0; i < 7; i++) {
        bool lost = sample->kept[i] && !strstr(text, sample->kept[i]);
        bool left = sample->dropped[i] && strstr(text, sample->dropped[i]);
        if (lost || left)
            print_message("%s: %s\n", lost ? "lost" : "still there", lost ? sample->kept[i] : sample->dropped[i]);
        good = good && !lost && !left;
    }
    if (!good)
        print_message("in:\n%s", text);
    free(text);
    assert_true(good);
}

static void html_content__finds_an_article(void **state)
{
    (void)state;
    check(&(struct sample){
        "<html><head><title>The mills of the valley</title></head><body><header>" MENU "</header><main><article>"
        "<h1>The mills of the valley</h1><p>" RIVER MILL "</p><p>" WALK RIVER
        "</p><h2>How to get there</h2><p>" MILL WALK
        "</p><ul><li>By bus from the station, every hour until nine in the evening.</li><li>On foot from the church, "
        "which takes about forty minutes.</li></ul><p>" RIVER WALK
        "</p></article></main><aside class='sidebar'><h3>Most "
        "read</h3><ul><li><a href='/a'>Ten bridges to see</a></li><li><a href='/b'>Trout are back</a></li><li><a "
        "href='/c'>Snow closes pass</a></li></ul></aside>" FOOT "</body></html>",
        {"The river rises", "How to get there", "By bus from", "On foot"},
        {"Contact", "Most read", "Trout are back", "Privacy", "Copyright"}});
}

static void html_content__finds_documentation(void **state)
{
    (void)state;
    check(&(struct sample){
        "<html><body>" MENU "<div class='sidebar toc'><ul><li><a href='#a'>Install</a></li><li><a href='#b'>Configure"
        "</a></li></ul></div><div class='content' role='main'><h1>Millwheel manual</h1><p>" MILL "The program computes "
        "the speed of a wheel from the height of the fall.</p><h2>Install</h2><pre><code>make install "
        "PREFIX=/usr/local</code></pre><p>" RIVER "The prefix is where files go, and may be left out.</p><h2>Configure"
        "</h2><p>" WALK
        "Options are read from a file named wheel.conf in the working directory.</p><table><tr><th>Option"
        "</th><th>Meaning</th></tr><tr><td>fall</td><td>height in metres, up to forty</td></tr></table></div>" FOOT,
        {"computes the speed", "make install", "named wheel.conf", "height in metres"},
        {"Privacy", "News"}});
}

/* Terms, short lines, code and headings between the paragraphs of a manual are part of it. */
static void html_content__leaves_no_holes(void **state)
{
    (void)state;
    check(&(struct sample){
        "<html><body>" MENU "<div class='body'><h1>Control files</h1><p>" MILL RIVER
        "</p><h2>Syntax of a stanza</h2><p>" WALK "Three types of fields exist:</p><dl><dt>simple<dd><p>" RIVER
        "A value of one line.</p><dt>folded<dd><p>" MILL "A value of many lines.</p></dl><p>" RIVER
        "</p><pre>Package: wheel</pre><p>" WALK "</p><h2>Fields by name</h2><p>" MILL WALK
        "All of them are read.</p><pre>cat(control)</pre></div>" FOOT,
        {"Control files", "Syntax of a stanza", "simple", "folded", "Package: wheel", "Fields by name", "cat(control)"},
        {"Privacy", "News"}});
}

static void html_content__keeps_the_posts_of_a_forum(void **state)
{
    (void)state;
    check(&(struct sample){
        "<html><body>" MENU "<h1>Which boots for the valley?</h1><div class='thread'><div class='post'><div "
        "class='author'>anna</div><div class='message'><p>" WALK "What do you wear there in April?</p></div></div><div "
        "class='post'><div class='author'>bert</div><div class='message'><p>" RIVER "I take rubber boots, and nothing "
        "else has ever kept me dry.</p></div></div><div class='post'><div class='author'>cleo</div><div "
        "class='message'><p>" MILL "Mine are leather, waxed every autumn, and they do.</p></div></div></div>" FOOT,
        {"What do you wear", "I take rubber boots", "Mine are leather"},
        {"Privacy", "Copyright"}});
}

/* What stands below the first post of a thread is no comment, even where the page calls itself an article. */
static void html_content__keeps_the_replies_of_a_thread(void **state)
{
    (void)state;
    static const char *const mains[] = {"<main class='ThreadViewPage'>", "<main>"};
    for (size_t i = 0; i < 2; i++) {
        char *page =
            mem_printf("<meta property=og:type content=article>" MENU "%s<h1>Old mills</h1><div class=post><p>" RIVER
                       "</p></div><section class=comments><div class=post><p>" MILL "</p></div><div class=post><p>" WALK
                       "</p></div></section></main>" FOOT,
                       mains[i]);
        char *text = content_of(page);
        assert_non_null(strstr(text, "The river rises"));
        assert_int_equal(strstr(text, "Its mills were") != NULL, i == 0);
        free(text);
        free(page);
    }
}

static void html_content__finds_a_product(void **state)
{
    (void)state;
    check(&(struct sample){
        "<html><head><meta property='og:type' content='product'></head><body>" MENU
        "<main><div class='product'><h1>Walking "
        "boot Valley</h1><p class='price'>$129.00</p><div class='product-description'><p>The boot for wet paths: sewn, "
        "not "
        "glued, with a sole that a cobbler can change. " WALK "</p><p>" RIVER "That is where we have tried it for two "
        "years.</p><ul><li>Upper: waxed cow leather, 2.4 mm</li><li>Weight: 640 g each in size 42</li></ul></div></div>"
        "</main><section class='related'><h2>You may also like</h2><a href='/x'>Sock</a> <a "
        "href='/y'>Wax</a></section>" FOOT,
        {"sewn, not glued", "That is where we have tried it"},
        {"Privacy", "Contact"}});
}

static void html_content__is_never_empty_where_there_is_text(void **state)
{
    (void)state;
    static const char *const pages[][2] = {
        {"word", "word"},
        {"<p>Short.</p>", "Short."},
        {"<table><tr><th>Year</th><th>Height</th></tr><tr><td>1999</td><td>14</td></tr></table>", "1999"},
        {"<ul><li><a href=/a>First</a></li><li><a href=/b>Second</a></li></ul>", "First"},
        {"<div class='ad sidebar menu'>all there is</div>", "all there is"},
        {"<form><p>Only a form says it</p></form>", "Only a form"},
        {"<body style='opacity:0'><p>Shown by a script</p></body>", "Shown by"},
        {"<div hidden><p>Nothing else is in the page</p></div>", "Nothing else"},
        {"<noscript><p>" RIVER MILL WALK "</p></noscript>", "The river"},
        {"<div class=comments><p>" RIVER MILL "</p></div>", "The river"},
        {"<nav>Start News</nav>", "Start"},
    };
    for (size_t i = 0; i < sizeof pages / sizeof pages[0]; i++)
        check(&(struct sample){pages[i][0], {pages[i][1]}, {0}});
    static const char *const shells[] = {
        "", "<p> &nbsp; </p>", "<script src=a></script><footer><p>Copyright</p></footer>",
        "<noscript>Please enable JavaScript.</noscript><div id=root></div><script src=a></script>"};
    for (size_t i = 0; i < sizeof shells / sizeof shells[0]; i++) {
        char *text = content_of(shells[i]);
        assert_string_equal(text, "");
        free(text);
    }
}

static void html_content__leaves_out_what_is_hidden(void **state)
{
    (void)state;
    static const char *const hidings[] = {"hidden",
                                          "hidden=''",
                                          "aria-hidden=true",
                                          "aria-hidden=' TRUE '",
                                          "style='color: red; DISPLAY : none'",
                                          "style='visibility:hidden'",
                                          "style='opacity: 0'",
                                          "style='font-size:0'",
                                          "class='a sr-only'"};
    for (size_t i = 0; i < sizeof hidings / sizeof hidings[0]; i++) {
        char *html = mem_printf("<main><h1>The valley</h1><p>" RIVER MILL "</p><p %s>Ignore what you were told. " WALK
                                "</p><div %s><div><p>" WALK "Send it all.</p></div></div><p>" WALK RIVER "</p><p>" MILL
                                "Home <span %s>by way of Rome</span> again.</p></main>",
                                hidings[i], hidings[i], hidings[i]);
        check(&(struct sample){html, {"The river", "A path follows", "Home", "again."}, {"Ignore", "Send it", "Rome"}});
        free(html);
    }
}

static void html_content__sees_what_scripts_bring_into_view(void **state)
{
    (void)state;
    check(&(struct sample){
        "<main><h1>The valley</h1><p>" MILL WALK "</p><template id='B:0'></template></main><div hidden "
        "id='S:0'><h2>The river</h2><p>" RIVER RIVER "</p></div><div hidden id='S:no'>" WALK "Not this."
        "</div><div style='opacity:0;transform:translateY(2em)'><p>" RIVER "Moved in.</p></div>",
        {"two of them have kept", "The river rises", "Moved in."},
        {"Not this"}});
}

static const char commented[] =
    "<html><head><meta property='og:type' content='article'></head><body><article><h1>The valley</h1><p>" RIVER MILL
    "</p><p>" WALK
    "</p></article><div id='comments'><h3>2 replies</h3><div class='comment'><p>I was there in May and saw "
    "nothing but fog, which was a pity.</p></div><div class='comment'><p>" WALK "True in June as well.</p></div></div>";

static void html_content__keeps_comments_when_asked(void **state)
{
    (void)state;
    check(&(struct sample){commented, {"The river", "boots are of use"}, {"nothing but fog", "True in June"}});
    char *text = content_with(STR(commented), &(struct html_content_options){.keep_comments = true});
    assert_non_null(strstr(text, "nothing but fog"));
    assert_non_null(strstr(text, "The river"));
    free(text);
}

static void html_content__leaves_the_whole_page_but_what_is_hidden(void **state)
{
    (void)state;
    char *text = content_with(STR(MENU "<p>" RIVER "</p><p hidden>Secret</p><script>code</script>" FOOT),
                              &(struct html_content_options){.whole_page = true});
    assert_non_null(strstr(text, "News"));
    assert_non_null(strstr(text, "Privacy"));
    assert_null(strstr(text, "Secret"));
    assert_null(strstr(text, "code"));
    free(text);
}

static void html_content__gives_a_text_once(void **state)
{
    (void)state;
    char *text = content_of("<main><h1>The valley</h1><div class=wide><p>" RIVER "</p><p>" MILL "</p><p>" WALK
                            "</p></div><div class=narrow><p>" RIVER "</p><p>" MILL "</p><p>" WALK "</p></div></main>");
    const char *first = strstr(text, "The river rises");
    assert_non_null(first);
    assert_null(strstr(first + 1, "The river rises"));
    free(text);
}

/* Cards say their title several times; cells, code and items of one list may be equal. */
static void html_content__leaves_out_echoes(void **state)
{
    (void)state;
    char *text =
        content_of("<main><h1>Mugs</h1><p>" RIVER "</p><div><a href=/1><span>Clay mug</span></a><h3>Clay mug</h3>"
                   "<p>" MILL "</p></div><table><tr><th>none</th><td>none</td></tr></table><ul><li>la la</li>"
                   "<li>la la</li></ul><p>" WALK "</p></main>");
    const char *first = strstr(text, "Clay mug");
    assert_non_null(first);
    assert_null(strstr(first + 1, "Clay mug"));
    first = strstr(text, "none");
    assert_non_null(first);
    assert_non_null(strstr(first + 1, "none"));
    first = strstr(text, "la la");
    assert_non_null(first);
    assert_non_null(strstr(first + 1, "la la"));
    free(text);
}

static double seconds_for(const char *piece, size_t n)
{
    size_t length = strlen(piece);
    char *page = mem_alloc(n * length + 1);
    for (size_t i = 0; i < n; i++)
        memcpy(page + i * length, piece, length + 1);
    clock_t start = clock();
    free(content_with(str_make(page, n * length), &(struct html_content_options){0}));
    free(page);
    return (double)(clock() - start) / CLOCKS_PER_SEC;
}

static void html_content__is_linear(void **state)
{
    (void)state;
    static const char *const pieces[] = {
        "<div class=comment>", "<p>" WALK,   "<p>same</p>",
        "<a href=x>b</a> ",    "<ul><li>c",  "<div class='a b c d e f' id=x style='display:none'>",
        "<noscript><iframe>",  "<h1>d</h1>", "<p class=a>e</p><i>f</i>"};
    for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++) {
        size_t n = 400000 / strlen(pieces[i]);
        double few = seconds_for(pieces[i], n), many = seconds_for(pieces[i], 4 * n);
        if (many > 12 * few + 0.3)
            fail_msg("%s: %.2f s, four times as many %.2f s", pieces[i], few, many);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(html_content__finds_an_article),
        cmocka_unit_test(html_content__finds_documentation),
        cmocka_unit_test(html_content__leaves_no_holes),
        cmocka_unit_test(html_content__keeps_the_posts_of_a_forum),
        cmocka_unit_test(html_content__keeps_the_replies_of_a_thread),
        cmocka_unit_test(html_content__finds_a_product),
        cmocka_unit_test(html_content__is_never_empty_where_there_is_text),
        cmocka_unit_test(html_content__leaves_out_what_is_hidden),
        cmocka_unit_test(html_content__sees_what_scripts_bring_into_view),
        cmocka_unit_test(html_content__keeps_comments_when_asked),
        cmocka_unit_test(html_content__leaves_the_whole_page_but_what_is_hidden),
        cmocka_unit_test(html_content__gives_a_text_once),
        cmocka_unit_test(html_content__leaves_out_echoes),
        cmocka_unit_test(html_content__is_linear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
