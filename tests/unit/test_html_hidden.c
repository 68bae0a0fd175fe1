/* What a page hides from a person is not in its text, whatever way it is hidden, and pages that show nothing are taken
 * from what they tell. */
#include "text/html/html.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/mem.h"
#include "text/html/visible.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])
#define WALK         "The river rises in the hills above the old mill, and whoever walks along it in summer sees herons. "
#define SHOWN        "<h1>The river</h1><p>" WALK WALK WALK "</p><p>" WALK WALK "</p>"

static char *convert(const char *html, struct html_options options)
{
    struct html_page page;
    assert_int_equal(html_to_markdown(str_of(html), &options, &page, NULL), STATUS_OK);
    char *text = buf_take(&page.markdown);
    html_page_finish(&page);
    return text;
}

/* In all the ways a page can be read. */
static void assert_hidden(const char *before, const char *hidden)
{
    static const struct html_options ways[] = {
        {.whole_page = false}, {.whole_page = true}, {.comments = true}, {.plain_text = true}};
    char *html = mem_printf("<body>%s<main>" SHOWN "%s<p>" WALK WALK "</p></main>", before, hidden);
    for (size_t i = 0; i < COUNT(ways); i++) {
        char *text = convert(html, ways[i]);
        if (strstr(text, "SECRET"))
            fail_msg("shown in way %zu: %.200s", i, hidden);
        assert_non_null(strstr(text, "whoever walks"));
        free(text);
    }
    free(html);
}

static void html_hidden__style_hides(void **state)
{
    (void)state;
    static const char *const hiding[] = {
        "display:none",
        "DISPLAY : NONE",
        "display\n:\tnone",
        "color:red;display: none!important",
        "display:none ! important;",
        "dis/* */play:/**/none",
        "display:no/*x*/ne",
        "d\\69splay:none",
        "\\64 isplay:n\\6fne",
        "dis\\play:none",
        "background:url(a;b);display:none",
        "content:\"/*\";display:none",
        "background:url(//x/*);display:none",
        "content:'/*';dis/**/play:none",
        "content:'\n;display:none",
        "display:none;display:foo",
        ";;;display:none",
        "visibility:hidden",
        "visibility: collapse",
        "content-visibility:hidden",
        "opacity:0",
        "opacity:.0",
        "opacity:0.00",
        "opacity: 0%",
        "opacity:1e-9",
        "opacity:-1",
        "opacity:0.01",
        "opacity:0;transform:none",
        "filter: opacity(0)",
        "font-size:0",
        "font-size: 0px",
        "font-size:0.1px",
        "font-size:1px",
        "font-size:0.01em",
        "font-size:calc(0px)",
        "font:0/0 a",
        "font: italic 0px/1 serif",
        "zoom:0",
        "transform:scale(0)",
        "transform: translateX(2px) scale(0, 0)",
        "clip:rect(0,0,0,0)",
        "clip: rect(0 0 0 0)",
        "clip: rect(1px, 1px, 1px, 1px)",
        "clip-path:inset(100%)",
        "clip-path: inset(50%)",
        "clip-path:circle(0)",
        "position:absolute;left:-9999px",
        "position:fixed;top:-200em",
        "left:-9999px;position:absolute",
        "margin-left:-99999px",
        "text-indent:-9999px",
        "height:0;overflow:hidden",
        "overflow:hidden;max-height:0px",
        "width:1px;height:1px;overflow:hidden",
    };
    for (size_t i = 0; i < COUNT(hiding); i++) {
        if (html_look_of_style(str_of(hiding[i]), false) == HTML_LOOK_SHOWN)
            fail_msg("not hidden: %s", hiding[i]);
        char *element = mem_printf("<div style=\"%s\">SECRET</div>", hiding[i]);
        if (!strchr(hiding[i], '"'))
            assert_hidden("", element);
        free(element);
    }
}

static void html_hidden__style_does_not_hide(void **state)
{
    (void)state;
    static const char *const showing[] = {
        "",
        "display:block",
        "display:none-of-it",
        "--x-display:none",
        "opacity:1",
        "opacity:0.5",
        "font-size:10px",
        "font-size:1em",
        "font:400 16px/1.5 serif",
        "font:bold 0.9em serif",
        "height:0",
        "height:10px;overflow:hidden",
        "overflow:hidden;width:100%",
        "position:absolute;left:-20px",
        "left:0;position:absolute",
        "clip:rect(0,100px,100px,0)",
        "clip:auto",
        "clip-path:inset(1px)",
        "margin-left:-15px",
        "transform:scale(0.5)",
        "visibility:visible",
        "zoom:1",
        "display",
        ":none",
        "\\",
        "/*",
        "/* display:none */color:red",
    };
    for (size_t i = 0; i < COUNT(showing); i++) {
        enum html_look look = html_look_of_style(str_of(showing[i]), false);
        bool in_doubt = strstr(showing[i], "/* display") != NULL;
        if (look != HTML_LOOK_SHOWN && !in_doubt)
            fail_msg("hidden: %s", showing[i]);
    }
    assert_int_equal(html_look_of_style(STR("opacity:0;transform:translateY(9px)"), false), HTML_LOOK_APPEARS);
    assert_int_equal(html_look_of_style(STR("opacity:0"), true), HTML_LOOK_APPEARS);
}

static void html_hidden__elements_and_attributes_hide(void **state)
{
    (void)state;
    static const char *const hidden[] = {
        "<div hidden>SECRET</div>",
        "<div hidden=until-found>SECRET</div>",
        "<div HIDDEN=no>SECRET</div>",
        "<div hidden id='S:0'>SECRET " WALK "</div>",
        "<div style='opacity:0;transform:translateY(20px)'>SECRET</div>",
        "<article style='opacity:0'>SECRET</article>",
        "<div popover>SECRET</div>",
        "<p aria-hidden=' TRUE '>SECRET</p>",
        "<template>SECRET</template>",
        "<noscript><p>SECRET " WALK "</noscript>",
        "<dialog>SECRET</dialog>",
        "<!-- SECRET -->",
        "<!SECRET>",
        "<?SECRET?>",
        "<progress>SECRET</progress>",
        "<canvas>SECRET</canvas>",
        "<object>SECRET</object>",
        "<audio>SECRET</audio>",
        "<svg><desc>SECRET</desc></svg>",
        "<p><math><mi>x</mi><annotation encoding=application/x-tex>" WALK "SECRET</annotation></math></p>",
        "<p><math alttext='" WALK "SECRET'><mi>x</mi></math></p>",
        "<input value=SECRET><input type=hidden value=SECRET>",
        "<p title=SECRET data-x=SECRET>x</p>",
        "<table><tr style='display:none'><td>SECRET</table>",
        "<ul><li hidden>SECRET</ul>",
        "<p>x <a href=/y style='display:none'>SECRET</a></p>",
    };
    for (size_t i = 0; i < COUNT(hidden); i++)
        assert_hidden("", hidden[i]);
}

static char *repeated(const char *text, size_t times)
{
    struct buf out;
    buf_init(&out, BUF_UNBOUNDED);
    for (size_t i = 0; i < times; i++)
        buf_add_text(&out, text);
    return buf_take(&out);
}

static void html_hidden__long_attributes_hide(void **state)
{
    (void)state;
    char *blanks = repeated(" color:red;", 2000);
    char *style = mem_printf("<div style='%sdisplay:none'>SECRET</div>", blanks);
    char *attribute = mem_printf("<div hidden='%s'>SECRET</div>", blanks);
    assert_hidden("", style);
    assert_hidden("", attribute);
    free(attribute);
    free(style);
    free(blanks);
}

/* Elements that lie too deep, or behind too many others, have no node in the tree. */
static void html_hidden__elements_without_a_node_hide(void **state)
{
    (void)state;
    static const char *const hidden[] = {
        "<div hidden>a<div>SECRET</div>SECRET</div>",
        "<p style='display:none'>SECRET<p>",
        "<template><b>SECRET</b></template>",
        "<dialog>SECRET</dialog>",
        "<svg>SECRET</svg>",
        "<script>SECRET</script>",
        "<textarea>SECRET</textarea>",
    };
    char *deep = repeated("<i>", 600), *wide = repeated("<b></b>", 1000001);
    for (size_t i = 0; i < COUNT(hidden); i++) {
        char *page = mem_printf("%s%s<p>seen</p>" SHOWN, deep, hidden[i]);
        char *text = convert(page, (struct html_options){.whole_page = true});
        assert_null(strstr(text, "SECRET"));
        assert_non_null(strstr(text, "seen"));
        free(text);
        free(page);
        page = mem_printf("<p>" SHOWN "%s%s<p>seen</p>", wide, hidden[i]);
        text = convert(page, (struct html_options){.whole_page = true});
        assert_null(strstr(text, "SECRET"));
        assert_non_null(strstr(text, "seen"));
        free(text);
        free(page);
    }
    free(deep);
    free(wide);
}

static void html_hidden__characters_without_a_shape_go(void **state)
{
    (void)state;
    char *text = convert("<p>a\U000E0041\U000E007F\u202E\u2066\u200B\uFE01\U000E0101\u3164\U000F0000b \u2764\uFE0F</p>",
                         (struct html_options){0});
    assert_string_equal(text, "ab \u2764\uFE0F\n");
    free(text);
    text = convert("<p>x <img src=/i alt='a\U000E0041\u202E \u00E9*'>", (struct html_options){.whole_page = true});
    assert_string_equal(text, "x ![a \u00E9\\*](/i)\n");
    free(text);
}

/* What is about to come into view is the page where it is a good part of it. */
static void html_hidden__pages_that_appear_are_read(void **state)
{
    (void)state;
    static const char *const pages[] = {
        "<nav>Menu</nav><p>A short note in front.</p><div hidden id=S:0><p>" WALK WALK WALK "</p></div>",
        "<p>A short note in front.</p><div style='opacity:0;transform:scale(.9)'><p>" WALK WALK WALK "</p></div>",
        "<p>A short note in front.</p><section hidden=until-found><p>" WALK WALK WALK "</p></section>",
        "<main style='opacity:0'><p>" WALK WALK WALK "</p></main>",
    };
    for (size_t i = 0; i < COUNT(pages); i++) {
        char *text = convert(pages[i], (struct html_options){0});
        assert_non_null(strstr(text, "whoever walks"));
        free(text);
    }
}

#define LONG WALK WALK WALK WALK

/* Panels that a button, a tab or a summary in sight opens are read, by the names that both sides have for each other.
 */
static void html_hidden__panels_with_a_control_are_read(void **state)
{
    (void)state;
    static const char *const read[] = {
        "<button aria-controls=p1>Why?</button><div id=p1 role=region hidden><p>PANEL " WALK "</p></div>",
        "<h3><button id=b1>Why?</button></h3><section aria-labelledby=b1 aria-hidden=true><p>PANEL " WALK
        "</p></section>",
        "<ul><li role=tab aria-controls='x p2'>Size</li></ul><div id=p2 role=tabpanel "
        "style='display:none'><p>PANEL " WALK "</p></div>",
        "<div role=button id=b2><i></i><b>More</b></div><div role=region aria-labelledby='x b2' style='height:0;"
        "overflow:hidden'><p>PANEL " WALK "</p></div>",
        "<details><summary>Why?</summary><div aria-hidden=true><p>PANEL " WALK "</p></div></details>",
        "<button aria-controls=p1>Out</button><div id=p1 role=region hidden><p>" WALK "</p><button aria-controls=p3>In"
        "</button><div id=p3 role=region hidden><p>PANEL " WALK "</p></div></div>",
    };
    for (size_t i = 0; i < COUNT(read); i++) {
        char *html = mem_printf("<main>" SHOWN "%s<p>" WALK WALK "</p></main>", read[i]);
        char *text = convert(html, (struct html_options){.whole_page = true});
        if (!strstr(text, "PANEL"))
            fail_msg("not read: %s", read[i]);
        free(text);
        free(html);
    }
}

static void html_hidden__panels_without_a_control_hide(void **state)
{
    (void)state;
    static const char *const hidden[] = {
        "<div id=p1 role=region hidden>SECRET</div>",
        "<div id=p1 role=region hidden>SECRET</div><button aria-controls=p1>Why?</button>",
        "<button aria-controls=p1></button><div id=p1 role=region hidden>SECRET</div>",
        "<button aria-controls=p1 hidden>Why?</button><div id=p1 role=region hidden>SECRET</div>",
        "<p aria-controls=p1 id=b1>Why?</p><div id=p1 role=region aria-labelledby=b1 hidden>SECRET</div>",
        "<button aria-controls=p1>Why?</button><div id=p1 hidden>SECRET</div>",
        "<button aria-controls=p1 id=b1>Why?</button><div id=p1 role=menu aria-labelledby=b1 hidden>SECRET</div>",
        "<button aria-controls=''>Why?</button><div id='' role=region aria-labelledby='' hidden>SECRET</div>",
        "<nav><button aria-controls=p1>Menu</button><div id=p1 role=region hidden>SECRET</div></nav>",
        "<button aria-controls=p1>Why?</button><div id=p1 role=region hidden>x<p hidden>SECRET</p></div>",
        "<details><summary>Why?</summary><p>x<i hidden>SECRET</i></p></details>",
    };
    for (size_t i = 0; i < COUNT(hidden); i++)
        assert_hidden("", hidden[i]);
}

/* A main element of which nothing is to be seen is the page behind its cover, unless there is other text. */
static void html_hidden__covered_main_parts_are_read(void **state)
{
    (void)state;
    static const char *const covers[] = {
        "<nav>Shop</nav><main><div style='display:none'>Sorry.</div><div style='display:none'><p>" LONG
        "</p><p hidden>SECRET</p></div></main><p>Cart</p>",
        "<nav>Shop</nav><div role=main hidden><p>" LONG "</p><p hidden>SECRET</p></div><p>Cart</p>",
    };
    for (size_t i = 0; i < COUNT(covers); i++) {
        char *text = convert(covers[i], (struct html_options){0});
        assert_non_null(strstr(text, "whoever walks"));
        assert_null(strstr(text, "SECRET"));
        assert_null(strstr(text, "Sorry"));
        free(text);
    }
    char *text = convert("<p>" LONG "</p><main hidden><p>SECRET " LONG "</p></main>", (struct html_options){0});
    assert_null(strstr(text, "SECRET"));
    free(text);
    text = convert("<main><p>Here.</p><div hidden><p>SECRET " LONG "</p></div></main>", (struct html_options){0});
    assert_null(strstr(text, "SECRET"));
    free(text);
}

/* A visible text that only stands in furniture is no reason to look at a hidden one that is not much longer. */
static void html_hidden__visible_asides_are_the_page(void **state)
{
    (void)state;
    char *text = convert("<aside><p>" WALK WALK WALK "</p></aside><div style='display:none'><p>SECRET " WALK WALK WALK
                         "</p></div>",
                         (struct html_options){0});
    assert_null(strstr(text, "SECRET"));
    assert_non_null(strstr(text, "whoever walks"));
    free(text);
}

#define LD(object) "<script type=application/ld+json>" object "</script><script>run()</script><div id=app></div>"

static void html_hidden__empty_pages_give_what_they_tell(void **state)
{
    (void)state;
    static const struct {
        const char *html, *text;
    } cases[] = {
        {LD("{\"@type\":\"NewsArticle\",\"articleBody\":\"One *star*.\\n\\n# Two <b>bold</b> &amp; <i "
            "style='display:none'>SECRET</i>\"}"),
         "One \\*star\\*.\n\n\\# Two **bold** &\n"},
        {LD("{\"@type\":\"DiscussionForumPosting\",\"headline\":\"H\",\"text\":\"What is it?\"}"), "What is it?\n"},
        {LD("{\"@type\":\"QAPage\",\"mainEntity\":{\"@type\":\"Question\",\"name\":\"Q\",\"text\":\"Why "
            "so?\",\"acceptedAnswer\":{\"@type\":\"Answer\",\"text\":\"<p>Because.</p>\"},\"suggestedAnswer\":[{"
            "\"@type\":\"Answer\",\"text\":\"Or not.\"}]}}"),
         "Why so?\n\nBecause.\n\nOr not.\n"},
        {LD("{\"@type\":\"Product\",\"name\":\"A cup\",\"description\":\"It holds tea.\"}"), "It holds tea.\n"},
        {"<meta name=description content='What it is about.'><script>run()</script><div id=app></div>",
         "What it is about.\n"},
        {"<meta name=description content='What the page is about.'><p>Loading", "Loading\n\nWhat the page is about.\n"},
        {"<meta name=description content='Loading, says the page.'><p>Loading", "Loading, says the page.\n"},
        {"<p>nothing told", "nothing told\n"},
        {"<footer><p>Imprint</p></footer>", "Imprint\n"},
        {"<noscript>Scripts are needed.</noscript><footer><p>Imprint</p></footer>", "Imprint\n"},
        {"<meta name=description content='What it is about.'><footer><p>Imprint</p></footer>", "What it is about.\n"},
        {"<noscript>Scripts are needed.</noscript><div id=app></div><script>run()</script>", ""},
        {"<noscript>Read without scripts.</noscript>", "Read without scripts.\n"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char *text = convert(cases[i].html, (struct html_options){0});
        assert_string_equal(text, cases[i].text);
        free(text);
    }
    char *text = convert(cases[0].html, (struct html_options){.max_text_bytes = 5});
    assert_true(strlen(text) <= 5);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(html_hidden__style_hides),
        cmocka_unit_test(html_hidden__style_does_not_hide),
        cmocka_unit_test(html_hidden__elements_and_attributes_hide),
        cmocka_unit_test(html_hidden__long_attributes_hide),
        cmocka_unit_test(html_hidden__elements_without_a_node_hide),
        cmocka_unit_test(html_hidden__characters_without_a_shape_go),
        cmocka_unit_test(html_hidden__pages_that_appear_are_read),
        cmocka_unit_test(html_hidden__panels_with_a_control_are_read),
        cmocka_unit_test(html_hidden__panels_without_a_control_hide),
        cmocka_unit_test(html_hidden__covered_main_parts_are_read),
        cmocka_unit_test(html_hidden__visible_asides_are_the_page),
        cmocka_unit_test(html_hidden__empty_pages_give_what_they_tell),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
