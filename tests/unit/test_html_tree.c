/* Pages to trees: which elements end which, what becomes of misnested and unclosed ones, character references, contents
 * that are no markup, and pages made to hurt. */
#include "text/html/tree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "text/html/entity.h"

/* The tree as a line: name(contents), text in quotes, attributes not shown. */
static char *drawn(const struct html_tree *tree)
{
    struct buf out;
    buf_init(&out, BUF_UNBOUNDED);
    uint32_t ends[HTML_MAX_DEPTH + 2], depth = 0;
    for (uint32_t i = 1; i < tree->count; i++) {
        const struct html_node *node = &tree->nodes[i];
        while (depth && ends[depth - 1] <= i) {
            buf_add_char(&out, ')');
            depth--;
        }
        if (out.len && out.data[out.len - 1] != '(')
            buf_add_char(&out, ' ');
        if (node->element == HTML_TEXT) {
            buf_addf(&out, "'%.*s'", STR_ARG(node->text));
            continue;
        }
        buf_add_text(&out, node->element == HTML_OTHER ? "?" : html_element_name(node->element));
        if (node->end > i + 1) {
            buf_add_char(&out, '(');
            ends[depth++] = node->end;
        }
    }
    for (; depth; depth--)
        buf_add_char(&out, ')');
    return buf_take(&out);
}

static void assert_drawn(const char *page, const char *expected)
{
    struct html_tree tree;
    html_tree_parse(str_of(page), &tree);
    char *line = drawn(&tree);
    assert_string_equal(line, expected);
    free(line);
    html_tree_finish(&tree);
}

static void html_tree__nests_as_browsers_do(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"", ""},
        {"just text", "'just text'"},
        {"<p>a<p>b", "p('a') p('b')"},
        {"<p>a<div>b</div>c", "p('a') div('b') 'c'"},
        {"<p>a <b>b</b> <i>c</i>", "p('a ' b('b') ' ' i('c'))"},
        {"<ul> <li>a <li>b<ul><li>c</ul> <li>d</ul>e", "ul(li('a ') li('b' ul(li('c'))) li('d')) 'e'"},
        {"<dl><dt>a<dd>b<dd>c<dt>d</dl>", "dl(dt('a') dd('b') dd('c') dt('d'))"},
        {"<table><tr><td>1<td>2<tr><th>3</table>4", "table(tr(td('1') td('2')) tr(th('3'))) '4'"},
        {"<table><tbody><tr><td><table><tr><td>in</table><td>out",
         "table(tbody(tr(td(table(tr(td('in')))) td('out'))))"},
        {"<table><thead><tr><td>h<tbody><tr><td>b", "table(thead(tr(td('h'))) tbody(tr(td('b'))))"},
        {"<table><td>1<td>2<tr><td>3", "table(tr(td('1') td('2')) tr(td('3')))"},
        {"<form>a<form>b</form>c", "form('a' 'b') 'c'"},
        {"<td>loose</td><p>x", "td('loose') p('x')"},
        {"<table><tr><td><p>a</table><p>b", "table(tr(td(p('a')))) p('b')"},
        {"<select><option>a<option>b</select>c", "select(option('a') option('b')) 'c'"},
        {"<h1>a<h2>b</h3>c", "h1('a') h2('b') 'c'"},
        {"<a href=x>a<a href=y>b</a>", "a('a') a('b')"},
        {"<a name=x><div>a<a href=y>b</a></div>", "?(div('a' a('b')))"},
        {"<b><p>a</b>b</p>c", "?(p('a' 'b') 'c')"},
        {"<div><span>a</div>b", "div(span('a')) 'b'"},
        {"</div></p>a</b>", "'a'"},
        {"<x-card><p>a</x-card><p>b", "?(p('a') p('b'))"},
        {"<button>a<p>b<button>c", "button('a' p('b')) button('c')"},
        {"<ruby>a<rt>b<rt>c</ruby>", "ruby('a' rt('b') rt('c'))"},
        {"<html lang=en><head><title>t</title><p>a<body class=x>b<body>c", "head(title('t')) p('a' body('b' 'c'))"},
        {"<head>text", "head 'text'"},
        {"<p>a</p>b</body></html>c<p>d", "p('a') 'b' 'c' p('d')"},
        {"<br>a</br>b", "br 'a' br 'b'"},
        {"<div>a</br/>b<hr/>c<img/>d</div>", "div('a' br 'b' hr 'c' img 'd')"},
        {"<div/>a</div>b", "div('a') 'b'"},
        {"<math><mi/><mo>x</math>a", "math(mi mo('x')) 'a'"},
        {"<pre>\n a\n\n</pre>\n", "pre('\n a\n\n')"},
        {"<pre><b>a</b> <b>b</b></pre>", "pre(b('a') ' ' b('b'))"},
        {"<p>a</p> <!-- x --> <p>b", "p('a') p('b')"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_drawn(cases[i][0], cases[i][1]);
}

static void html_tree__tells_markup_from_characters(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"a < b <3 <", "'a < b <3 <'"},
        {"a<!-- <p> -->b<!---->c<!-->d<!--->e", "'a' 'b' 'c' 'd' 'e'"},
        {"a<!-- never closed <p>b", "'a'"},
        {"<!DOCTYPE html><?xml x?>a</>b</ x>c<![CDATA[d]]>e", "'a' 'b' 'c' 'e'"},
        {"<script>a<b></SCRIPT >c", "script('a<b>') 'c'"},
        {"<script>x</scriptx></script>y", "script('x</scriptx>') 'y'"},
        {"<style>never closed <p>x", "style('never closed <p>x')"},
        {"<title>a &amp; <b></title>c", "title('a & <b>') 'c'"},
        {"<title>never closed <p>x", "title('never closed ' p('x'))"},
        {"<textarea><p></textarea>a", "textarea('<p>') 'a'"},
        {"a<svg><a>x</a><svg></svg></svg>b<svg/>c<svg>d", "'a' 'b' 'c' 'd'"},
        {"<iframe><p>x</iframe>a<noscript><p>b</noscript>", "iframe('<p>x') 'a' noscript(p('b'))"},
        {"<image src=x>", "img"},
        {"<p title='a>b'>c</p title=x>d", "p('c') 'd'"},
        {"<p title=\"never closed>b", "p"},
        {"<", "'<'"},
        {"</", ""},
        {"<p", "p"},
        {"<p a=", "p"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_drawn(cases[i][0], cases[i][1]);
}

static void html_tree__keeps_known_attributes(void **state)
{
    (void)state;
    struct html_tree tree;
    html_tree_parse(STR("<A HREF=\"x&amp;y&copy=1\" onclick='<b>' class = c id=i/ hidden href=z Title=''>t"), &tree);
    const struct html_node *link = &tree.nodes[1];
    assert_int_equal(link->element, HTML_A);
    assert_int_equal(link->n_attributes, 5);
    assert_true(str_equal(html_tree_attribute(&tree, link, HTML_ATTRIBUTE_HREF), STR("x&y&copy=1")));
    assert_true(str_equal(html_tree_attribute(&tree, link, HTML_ATTRIBUTE_CLASS), STR("c")));
    assert_true(str_equal(html_tree_attribute(&tree, link, HTML_ATTRIBUTE_ID), STR("i/")));
    assert_true(html_tree_has(&tree, link, HTML_ATTRIBUTE_HIDDEN));
    assert_true(html_tree_has(&tree, link, HTML_ATTRIBUTE_TITLE));
    assert_non_null(html_tree_attribute(&tree, link, HTML_ATTRIBUTE_TITLE).data);
    assert_null(html_tree_attribute(&tree, link, HTML_ATTRIBUTE_SRC).data);
    html_tree_finish(&tree);
}

static void html_entity__decodes(void **state)
{
    (void)state;
    static const struct {
        const char *text, *outside, *in_attribute;
    } cases[] = {
        {"&amp;&lt;&eacute;", "&<é", "&<é"},
        {"&copy 1&copy=2&copyx", "© 1©=2©x", "© 1&copy=2&copyx"},
        {"&notin;&notit;", "∉¬it;", "∉&notit;"},
        {"&#233;&#xE9;&#XE9&#233", "éééé", "éééé"},
        {"&#0;&#xD800;&#x110000;&#99999999999;", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD",
         "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"},
        {"&#128;&#150;", "€–", "€–"},
        {"&#1;", " ", " "},
        {"& &; &#; &#x; &unknown; &amp", "& &; &#; &#x; &unknown; &", "& &; &#; &#x; &unknown; &"},
        {"&nGt;", "\xE2\x89\xAB\xE2\x83\x92", "\xE2\x89\xAB\xE2\x83\x92"},
        {"&CounterClockwiseContourIntegral;", "∳", "∳"},
        {"&amp;lt;", "&lt;", "&lt;"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct str text = str_of(cases[i].text);
        char room[512];
        assert_true(HTML_DECODED_ROOM(text.len) <= sizeof room);
        size_t length = html_decode(text, false, room);
        assert_true(str_equal(str_make(room, length), str_of(cases[i].outside)));
        length = html_decode(text, true, room);
        assert_true(str_equal(str_make(room, length), str_of(cases[i].in_attribute)));
    }
}

static void html_tree__gives_text_as_a_line(void **state)
{
    (void)state;
    struct html_tree tree;
    html_tree_parse(STR("<div> a <b>b</b>c<p>d<script>x</script></p><br>\n e&eacute;</div>f"), &tree);
    struct buf out;
    buf_init(&out, BUF_UNBOUNDED);
    html_tree_text(&tree, 1, 100, &out);
    assert_string_equal(out.data, "a bc d eé");
    buf_reset(&out);
    html_tree_text(&tree, 1, 9, &out);
    assert_string_equal(out.data, "a bc d e");
    buf_finish(&out);
    html_tree_finish(&tree);
}

/* What holds of every tree. */
static void assert_sound(const struct html_tree *tree)
{
    assert_int_equal(tree->nodes[0].end, tree->count);
    for (uint32_t i = 1; i < tree->count; i++) {
        const struct html_node *node = &tree->nodes[i], *parent = &tree->nodes[node->parent];
        assert_true(node->parent < i && node->end > i && node->end <= parent->end);
        assert_true(node->depth == parent->depth + 1 && node->depth <= HTML_MAX_DEPTH + 1);
    }
}

static void repeat(struct buf *out, const char *piece, size_t times)
{
    for (size_t i = 0; i < times; i++)
        buf_add_text(out, piece);
}

static void html_tree__survives_pages_made_to_hurt(void **state)
{
    (void)state;
    static const struct {
        const char *before, *piece, *between, *after_piece;
    } cases[] = {
        {"", "<div>", "deep", "</div>"},
        {"", "<b>", "deep", "</b>"},
        {"<section><table>", "<b>", "x", "</section>"},
        {"<span>", "<div>", "x", "</span>"},
        {"", "<ul><li>", "x", "</li>"},
        {"<p>", "<i>", "x", "<p>"},
        {"", "<table><tr><td>", "x", "<td>"},
        {"", "<title>", "x", "<script>"},
        {"", "<svg>", "x", "<!--"},
        {"", "<a href='", "x", "&"},
        {"", "<a>", "x", "<div>"},
        {"", "<x-y>", "x", "</x-z>"},
        {"", "<", "x", "&#"},
        {"", "<select><option>", "x", "</p>"},
        {"<pre>", " <b> </b>", "x", "\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct buf page;
        buf_init(&page, BUF_UNBOUNDED);
        buf_add_text(&page, cases[i].before);
        repeat(&page, cases[i].piece, 100000);
        buf_add_text(&page, cases[i].between);
        repeat(&page, cases[i].after_piece, 100000);
        struct html_tree tree;
        html_tree_parse(buf_str(&page), &tree);
        assert_sound(&tree);
        html_tree_finish(&tree);
        buf_finish(&page);
    }
}

static void html_tree__keeps_text_at_any_depth_and_length(void **state)
{
    (void)state;
    struct buf page, text;
    buf_init(&page, BUF_UNBOUNDED);
    buf_init(&text, BUF_UNBOUNDED);
    repeat(&page, "<div>a", 600);
    repeat(&page, "b</div>", 600);
    struct html_tree tree;
    html_tree_parse(buf_str(&page), &tree);
    html_tree_text(&tree, 0, 1 << 20, &text);
    assert_int_equal(text.len, 2 * 1200 - 1 - 1); /* "ab" is one word in the middle */
    html_tree_finish(&tree);

    buf_reset(&page);
    buf_reset(&text);
    repeat(&page, "<p>x", HTML_MAX_NODES);
    html_tree_parse(buf_str(&page), &tree);
    assert_true(tree.flattened);
    assert_sound(&tree);
    assert_true(tree.count <= HTML_MAX_NODES + 2);
    html_tree_text(&tree, 0, 4 << 20, &text);
    assert_int_equal(text.len, 2 * HTML_MAX_NODES - 1);
    html_tree_finish(&tree);
    buf_finish(&page);
    buf_finish(&text);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(html_tree__nests_as_browsers_do),
        cmocka_unit_test(html_tree__tells_markup_from_characters),
        cmocka_unit_test(html_tree__keeps_known_attributes),
        cmocka_unit_test(html_entity__decodes),
        cmocka_unit_test(html_tree__gives_text_as_a_line),
        cmocka_unit_test(html_tree__survives_pages_made_to_hurt),
        cmocka_unit_test(html_tree__keeps_text_at_any_depth_and_length),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
