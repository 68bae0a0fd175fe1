/* What pages say about themselves. */
#include "text/html/meta.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "text/html/meta_internal.h"

/* The metadata of a page at https://www.example-site.org/a/b. */
static struct html_meta read_page(const char *html)
{
    struct html_tree tree;
    struct html_meta meta;
    html_tree_parse(str_of(html), &tree);
    html_meta_read(&tree, NULL, STR("https://www.example-site.org/a/b"), &meta);
    html_tree_finish(&tree);
    return meta;
}

static void assert_text(const char *found, const char *expected, const char *html)
{
    if (!expected ? found != NULL : !found || strcmp(found, expected) != 0)
        fail_msg("%s, not %s, of %s", found ? found : "NULL", expected ? expected : "NULL", html);
}

static void meta__title_is_without_the_site(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"<title>A tale of two cities - Example Site</title>", "A tale of two cities"},
        {"<title>Example Site | A tale of two cities</title>", "A tale of two cities"},
        {"<title>A tale of two - Paris and London</title>", "A tale of two - Paris and London"},
        {"<title>A tale – Bücher</title><meta property=og:site_name content=Bücher>", "A tale"},
        {"<meta property='og:title' content='A &amp;amp; B'><title>x</title>", "A & B"},
        {"<title>One thing and another | Some journal</title><h1>One thing and another</h1>", "One thing and another"},
        {"<h1>Example Site</h1><title>A longer tale of it</title>", "A longer tale of it"},
        {"<svg><title>icon</title></svg><title>Real</title>", "Real"},
        /* a word of the host inside a title does not make it the site's name */
        {"<title>Examples of what one can do | A Garden</title><h1>Examples of what one can do</h1>",
         "Examples of what one can do"},
        /* the first part of the title is a better heading than what shares more words with it */
        {"<title>Wood | Some News | Institute of Trees</title>"
         "<h2>Some News | Institute of Trees - The World</h2><h1>Wood</h1>",
         "Wood"},
        /* capitals are for show */
        {"<meta property='og:type' content=article><meta property='og:title' content='How to brew the best tea'>"
         "<title>How to brew the best tea</title>"
         "<h1>HOW TO BREW THE BEST TEA EVER</h1>",
         "How to brew the best tea"},
        {"<meta property='og:type' content=article><title>Shoes for NASA - Shop</title><h1>SHOES</h1>", "SHOES"},
        {"<script type='application/ld+json'>{\"@type\":\"NewsArticle\",\"headline\":\"What it "
         "\\u201csays\\u201d\"}</script>",
         "What it “says”"},
        {"<title> \n </title>", NULL},
        {"<p>no title", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct html_meta meta = read_page(cases[i][0]);
        assert_text(meta.title, cases[i][1], cases[i][0]);
        html_meta_finish(&meta);
    }
}

#define P10      "<p>a<p>a<p>a<p>a<p>a<p>a<p>a<p>a<p>a<p>a"
#define P50      P10 P10 P10 P10 P10
#define FAR      "<h1>T</h1>" P50 P50 P50 P50 P50
#define LD(json) "<script type='application/ld+json'>" json "</script>"

static void meta__authors_are_found_and_cleaned(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"<meta name=author content='By Jane Doe'>", "Jane Doe"},
        {"<meta name=author content='admin'>", NULL},
        {"<meta name=author content='https://x.org/jane'><meta property='article:author' content='Jane Doe'>",
         "Jane Doe"},
        {"<meta name=citation_author content='Doe, J.'><meta name=citation_author content='Roe, R.'>",
         "Doe, J., Roe, R."},
        {LD("{\"@type\":\"Article\",\"author\":\"Jane Doe\"}"), "Jane Doe"},
        {LD("{\"@type\":\"BlogPosting\",\"author\":[{\"name\":\"Jane Doe\"},{\"name\":\"Richard "
            "Roe\"},{\"name\":\"Jane "
            "Doe\"}]}"),
         "Jane Doe, Richard Roe"},
        {LD("{\"@graph\":[{\"@type\":\"Article\",\"author\":{\"@id\":\"#1\"}},{\"@type\":\"Person\",\"@id\":\"#1\","
            "\"name\":\"Jane Doe\"}]}"),
         "Jane Doe"},
        {LD("{\"@graph\":[{\"@type\":\"Article\",\"author\":{\"@id\":\"#1\"}},{\"@id\":\"#1\",\"author\":{\"@id\":\"#"
            "1\"}}]}"),
         "#1"},
        {LD("<!-- \n{\"@type\":[\"Thing\",\"NewsArticle\"],\"headline\":\"a \"b\" c\nd\",\"author\":{\"name\":\"Jane "
            "Doe\",},} //-->"),
         "Jane Doe"},
        {LD("{\"@type\":\"ItemList\",\"itemListElement\":[{\"@type\":\"Article\",\"author\":\"Other\"}]}"), NULL},
        {"<h1>T</h1><div class=byline>By <a href=/jane>Jane Doe</a> and <a href=/roe>Richard Roe</a></div>",
         "Jane Doe, Richard Roe"},
        {"<h1>T</h1><p>By Jane Doe | 4 March 2020</p>", "Jane Doe"},
        {"<h1>T</h1><p>By</p><p><a rel=author href=/x>Jane Doe</a></p>", "Jane Doe"},
        {"<h1>T</h1><p>By and large it is so.</p>", NULL},
        {"<h1>T</h1><div class=comments><span class=author>Troll</span></div>", NULL},
        {"<div itemprop=author itemscope><span itemprop=name>Jane Doe</span> 12 badges</div>", "Jane Doe"},
        {"<meta name=author content='Example Site'><h1>T</h1><span class=author>Jane Doe</span>", "Jane Doe"},
        {"<meta name=author content='Example Site'><meta property='og:type' content=article><h1>T</h1>",
         "Example Site"},
        {"<meta name=author content='example-site.org'><h1>T</h1>", NULL},
        {"<meta name='twitter:label1' content='Written by'><meta name='twitter:data1' content='Jane Doe'>", "Jane Doe"},
        {"<h1>T</h1><aside class=post-author>Jane Doe</aside>", "Jane Doe"},
        {"<h1>T</h1><p class=author>Jane Doe<br>4 August 2010", "Jane Doe"},
        {"<h1>T</h1><a class=author href=/account>My account</a>", NULL},
        /* far from the heading */
        {FAR "<h3>Written by Jane Doe</h3><p>Jane Doe likes tea.</p>", "Jane Doe"},
        {FAR "<p>Written by <a href=/x>Jane Doe</a></p>", "Jane Doe"},
        {FAR "<p>Geschrieben von Jürgen Groß</p>", "Jürgen Groß"},
        {FAR "<p>Written by Jane Doe</p><p>Written by Richard Roe</p>", NULL},
        {FAR "<p>Written by hand in ink</p>", NULL},
        {FAR "<div class=related><p>Written by Jane Doe</p></div>", NULL},
        {"<meta name=author content='Example Site'>" FAR "<p>Written by Jane Doe</p>", "Jane Doe"},
        {"<h1>T</h1><div class='elementor-widget'><p>By Jane Doe</p></div>", "Jane Doe"},
        {"<h1>T</h1><div class='widget widget_posts'><p>By Jane Doe</p></div>", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct html_meta meta = read_page(cases[i][0]);
        if (i == 7) /* a reference to nobody may stay or go, but must end */
            assert_true(!meta.author || strcmp(meta.author, "#1") == 0);
        else
            assert_text(meta.author, cases[i][1], cases[i][0]);
        html_meta_finish(&meta);
    }
}

static void meta__dates_become_iso(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool day_first;
        const char *expected;
    } cases[] = {
        {"2020-03-04", false, "2020-03-04"},
        {"2020-03-04T05:06:07Z", false, "2020-03-04T05:06:07Z"},
        {"2020-03-04T05:06:07.123+0200", false, "2020-03-04T05:06:07+02:00"},
        {"2020-03-04 05:06", false, "2020-03-04T05:06:00"},
        {"Published March 4, 2020 at noon", false, "2020-03-04"},
        {"Mar. 4th, 2020", false, "2020-03-04"},
        {"4 March 2020", false, "2020-03-04"},
        {"the 4th of March 2020", false, "2020-03-04"},
        {"Wed, 04 Mar 2020 10:00:00 GMT", false, "2020-03-04"},
        {"4. März 2020", true, "2020-03-04"},
        {"1er août 2019", true, "2019-08-01"},
        {"4 de marzo de 2020", true, "2020-03-04"},
        {"4 марта 2020 г.", true, "2020-03-04"},
        {"4 marca 2020", true, "2020-03-04"},
        {"2020年3月4日", false, "2020-03-04"},
        {"2020年 3月 4日 10:00", false, "2020-03-04"},
        {"2020년 3월 4일", false, "2020-03-04"},
        {"2020/3/4", false, "2020-03-04"},
        {"2020. 3. 4.", false, "2020-03-04"},
        {"04.03.2020", false, "2020-03-04"},
        {"3/4/2020", false, "2020-03-04"},
        {"4/3/2020", true, "2020-03-04"},
        {"13/4/2020", false, "2020-04-13"},
        {"Sept 5, 2001", false, "2001-09-05"},
        {"29 February 2020", false, "2020-02-29"},
        {"29 February 2019", false, NULL},
        {"2020-13-01", false, NULL},
        {"March 2020", false, NULL},
        {"12345678", false, NULL},
        {"version 1.2.2020", false, "2020-02-01"},
        {"9999-01-01", false, NULL},
        {"", false, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char date[40];
        bool found = meta_date(str_of(cases[i].text), false, cases[i].day_first, date);
        assert_text(found ? date : NULL, cases[i].expected, cases[i].text);
    }
    char date[40];
    assert_true(meta_date(STR("20200304"), true, false, date));
    assert_string_equal(date, "2020-03-04");
    assert_true(meta_date(STR("1583280000"), true, false, date));
    assert_string_equal(date, "2020-03-04");
    assert_true(meta_date_in_address(STR("https://x.org/news/2020/03/04/it-is-so"), date));
    assert_string_equal(date, "2020-03-04");
    assert_true(meta_date_in_address(STR("https://x.org/2020-03-04-it-is-so"), date));
    assert_false(meta_date_in_address(STR("https://x.org/2020/03/it-is-so"), date));
    assert_false(meta_date_in_address(STR("https://x.org/a?d=2020/03/04"), date));
    assert_false(meta_date_in_address(STR("https://x.org/202003041234"), date));
}

#define PUBLISHED "<meta property='article:published_time' content='2020-06-05'>"
#define CHANGED   "<meta property='article:modified_time' content='2021-01-01'>"

static void meta__date_is_from_the_best_source(void **state)
{
    (void)state;
    static const char *const cases[][3] = {
        {"<meta property='article:published_time' content='2020-03-04T05:06:07+00:00'>", "2020-03-04T05:06:07+00:00",
         NULL},
        {"<meta property='article:published_time' content='yesterday'><meta name=date content='2020-03-05'>",
         "2020-03-05", NULL},
        {LD("{\"@type\":\"Article\",\"datePublished\":\"2020-03-04\",\"dateModified\":\"2021-01-01\"}"), "2020-03-04",
         "2021-01-01"},
        {LD("{\"@type\":\"Article\",\"datePublished\":\"2020-03-04\",\"dateModified\":\"2019-01-01\"}"), "2020-03-04",
         NULL},
        {"<h1>T</h1><time datetime='2020-03-04'>long ago</time>", "2020-03-04", NULL},
        {"<h1>T</h1><p>Updated: May 5, 2021</p><p>March 4, 2020</p>", "2020-03-04", "2021-05-05"},
        {"<h1>T</h1><nav><time datetime='2020-03-04'>x</time></nav>", NULL, NULL},
        {"<h1>T</h1><p>In 2020 there were 14 of 28.</p>", NULL, NULL},
        {"<meta name='script:ld+json' content='{\"@type\":\"Article\",\"datePublished\":\"2020-03-04\"}'>",
         "2020-03-04", NULL},
        /* shown before the day that machines are told */
        {PUBLISHED "<h1>T</h1><p>March 4, 2020</p>", "2020-03-04", NULL},
        /* a time zone away */
        {PUBLISHED "<h1>T</h1><p>June 4, 2020</p>", "2020-06-05", NULL},
        /* after it: of something to come, unless the page was changed since */
        {PUBLISHED "<h1>T</h1><p>October 4, 2020</p>", "2020-06-05", NULL},
        {PUBLISHED CHANGED "<h1>T</h1><p>October 4, 2020</p>", "2020-10-04", "2021-01-01"},
        /* a change is none, in any language, unless a source calls it one */
        {PUBLISHED CHANGED "<h1>T</h1><p>Updated January 1, 2021</p>", "2020-06-05", "2021-01-01"},
        {PUBLISHED CHANGED "<h1>T</h1><p>Zuletzt aktualisiert: <time>01.01.2021</time></p>", "2020-06-05",
         "2021-01-01"},
        {PUBLISHED CHANGED LD(
             "{\"@type\":\"Article\",\"datePublished\":\"2018-02-03\"}") "<h1>T</h1><p>Updated June 5, 2020</p>",
         "2020-06-05", "2021-01-01"},
        /* several, a discussion, furniture, a sentence */
        {PUBLISHED "<h1>T</h1><p>March 4, 2020</p><p>March 8, 2020</p>", "2020-06-05", NULL},
        {LD("{\"@type\":\"DiscussionForumPosting\",\"datePublished\":\"2020-06-05\"}") "<h1>T</h1><p>March 4, 2020</p>",
         "2020-06-05", NULL},
        {PUBLISHED "<h1>T</h1><nav>March 4, 2020</nav>", "2020-06-05", NULL},
        {PUBLISHED "<h1>T</h1><p>It all began in a small town on March 4, 2020, when it rained.</p>", "2020-06-05",
         NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct html_meta meta = read_page(cases[i][0]);
        assert_text(meta.date, cases[i][1], cases[i][0]);
        assert_text(meta.modified, cases[i][2], cases[i][0]);
        html_meta_finish(&meta);
    }
}

#define SITE(name) "<meta property='og:site_name' content='" name "'>"

/* Pages whose byline and date are for readers alone, as newsrooms and blogs of each language write them. */
static void meta__speaks_many_languages(void **state)
{
    (void)state;
    static const struct {
        const char *html, *title, *author, *date;
    } cases[] = {
        {"<html lang=en><h1>T</h1><p>Posted on March 4, 2020 by Jane Doe</p>", "T", "Jane Doe", "2020-03-04"},
        {"<html lang=de><title>Der lange Weg – Blatt</title>" SITE(
             "Blatt") "<h1>Der lange Weg</h1><p>Von Jürgen Groß am 4. März 2020</p>",
         "Der lange Weg", "Jürgen Groß", "2020-03-04"},
        {"<html lang=de><h1>T</h1><p>Autor: Jürgen Groß</p><p>Stand: 04.03.2020, 10:15 Uhr</p>", "T", "Jürgen Groß",
         "2020-03-04"},
        {"<html lang=fr><h1>T</h1><p>Publié le 1er août 2019 à 10h15 par Hélène Écuyer</p>", "T", "Hélène Écuyer",
         "2019-08-01"},
        {"<html lang=fr><h1>T</h1><p>Auteur : Hélène Écuyer</p><p>Mis à jour le 5 févr. 2021</p><p>4 déc. 2020</p>",
         "T", "Hélène Écuyer", "2020-12-04"},
        {"<html lang=es><h1>T</h1><p>Por Íñigo Núñez</p><p>Madrid, 4 de septiembre de 2020</p>", "T", "Íñigo Núñez",
         "2020-09-04"},
        {"<html lang=it><h1>T</h1><p>di Niccolò Rossi</p><p>Pubblicato il 4 gen 2020</p>", "T", "Niccolò Rossi",
         "2020-01-04"},
        {"<html lang=it><h1>T</h1><p>A cura di Niccolò Rossi</p><p>4 agosto 2020</p>", "T", "Niccolò Rossi",
         "2020-08-04"},
        {"<html lang=pt><h1>T</h1><p>Escrito por João Gonçalves</p><p>4 de março de 2020 às 10h</p>", "T",
         "João Gonçalves", "2020-03-04"},
        {"<html lang=nl><h1>T</h1><p>Geschreven door Anouk de Wit op 4 mrt. 2020</p>", "T", "Anouk de Wit",
         "2020-03-04"},
        {"<html lang=ru><h1>Т</h1><p>Автор: Анна Петрова</p><p>Опубликовано 4 мая 2020 г.</p>", "Т", "Анна Петрова",
         "2020-05-04"},
        {"<html lang=ru><h1>Т</h1><p>Май 4, 2020</p><p>Текст: Анна Петрова</p>", "Т", "Анна Петрова", "2020-05-04"},
        {"<html lang=pl><h1>T</h1><p>Napisane przez Łukasz Żak</p><p>4 października 2020</p>", "T", "Łukasz Żak",
         "2020-10-04"},
        {"<html lang=tr><h1>T</h1><p>Yazar: Şule Öztürk</p><p>4 Ağu 2020 10:15</p>", "T", "Şule Öztürk", "2020-08-04"},
        {"<html lang=ar><h1>ت</h1><p>بقلم: ليلى حسن</p><p>٤ مارس ٢٠٢٠</p>", "ت", "ليلى حسن", "2020-03-04"},
        {"<html lang=ar><h1>ت</h1><p>الكاتب: ليلى حسن</p><p>4 آذار 2020</p>", "ت", "ليلى حسن", "2020-03-04"},
        {"<html lang=fa><h1>ت</h1><p>۲۰۲۰/۰۳/۰۴</p>", "ت", NULL, "2020-03-04"},
        {"<html lang=hi><h1>त</h1><p>लेखक: मीरा शर्मा</p><p>४ मई २०२०</p>", "त", "मीरा शर्मा", "2020-05-04"},
        {"<html lang=zh><title>山上的塔-某某网</title>" SITE("某某网") "<p>作者：王小明</p><p>2020年03月04日 10:15</p>",
         "山上的塔", "王小明", NULL},
        {"<html lang=zh><title>山上的塔_新闻_某某网</title><h1>山上的塔</h1><p>作者：王小明</p><p>2020年03月04日 "
         "10:15</p>",
         "山上的塔", "王小明", "2020-03-04"},
        {"<html lang=zh-TW><h1>塔</h1><p>文／王小明</p><p>民國109年3月4日</p>", "塔", "王小明", "2020-03-04"},
        {"<html lang=ja><title>山の塔｜某紙</title>" SITE(
             "某紙") "<h1>山の塔</h1><p>執筆者：山田花子</p><p>2020年3月4日（水）</p>",
         "山の塔", "山田花子", "2020-03-04"},
        {"<html lang=ja><h1>塔</h1><p>令和2年3月4日</p>", "塔", NULL, "2020-03-04"},
        {"<html lang=ja><h1>塔</h1><p>令和元年１０月４日</p>", "塔", NULL, "2019-10-04"},
        {"<html lang=ko><title>산 위의 탑 &lt; 사회 &lt; 어느신문</title>" SITE(
             "어느신문") "<h1>산 위의 탑</h1><p>김영희 기자</p><p>입력 2020.03.04 10:15</p>",
         "산 위의 탑", "김영희", "2020-03-04T10:15:00"},
        {"<html lang=ko><h1>탑</h1><p>작성자: 김영희</p><p>2020년 3월 4일</p>", "탑", "김영희", "2020-03-04"},
        {"<html lang=fr><h1>T</h1><p>Par <a href=/x>Hélène Écuyer</a></p>", "T", "Hélène Écuyer", NULL},
        {"<html lang=en><h1>T</h1><p>Door Window Sensor</p>", "T", NULL, NULL},
        {"<html lang=en><h1>T</h1><p>Door</p><p><b>Window Sensor</b></p><p>Text</p><p><b>Large Print</b></p>", "T",
         NULL, NULL},
        {"<h1>T</h1><p>Door and window</p><p>Text Jane Doe</p>", "T", NULL, NULL},
        {"<html lang=de><h1>T</h1><a class=author-link href=/x>Alle Beiträge anzeigen</a>", "T", NULL, NULL},
        {"<meta name='twitter:label1' content='Napisane przez'><meta name='twitter:data1' content='Łukasz "
         "Żak'><h1>T</h1>",
         "T", "Łukasz Żak", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct html_meta meta = read_page(cases[i].html);
        assert_text(meta.title, cases[i].title, cases[i].html);
        assert_text(meta.author, cases[i].author, cases[i].html);
        assert_text(meta.date, cases[i].date, cases[i].html);
        html_meta_finish(&meta);
    }
}

static void meta__site_language_and_address(void **state)
{
    (void)state;
    struct html_meta meta = read_page(
        "<html lang=de_AT><base href='/x/'><link rel=canonical href='c?d=1'><meta property=og:type content=article>"
        "<meta property=og:description content='It&nbsp;is\n so.'><meta name=keywords content='a, b'>" LD(
            "{\"@type\":\"NewsArticle\",\"publisher\":{\"name\":\"Die "
            "\\\"Zeitung\\\"\"},\"articleSection\":[\"Welt\",\"All\"],"
            "\"articleBody\":\"Eins.\\n\\nZwei.\"}"));
    assert_string_equal(meta.language, "de-AT");
    assert_string_equal(meta.canonical_url, "https://www.example-site.org/x/c?d=1");
    assert_string_equal(meta.description, "It is so.");
    assert_string_equal(meta.keywords, "a, b");
    assert_string_equal(meta.site_name, "Die \"Zeitung\"");
    assert_string_equal(meta.section, "Welt, All");
    assert_string_equal(meta.types, "article NewsArticle");
    assert_string_equal(meta.body, "Eins.\n\nZwei.");
    html_meta_finish(&meta);
    meta = read_page("<link rel=canonical href='https://www.example-site.org/'><title>東京のニュース</title>");
    assert_null(meta.canonical_url); /* a page inside is not the front page */
    assert_string_equal(meta.language, "ja");
    html_meta_finish(&meta);
    meta = read_page("<meta property='og:locale' content=pt_BR><meta property='og:url' content='javascript:x'>");
    assert_string_equal(meta.language, "pt-BR");
    assert_null(meta.canonical_url);
    html_meta_finish(&meta);
}

static void meta__hidden_headings_are_no_titles(void **state)
{
    (void)state;
    struct html_tree tree;
    html_tree_parse(
        STR("<meta property='og:type' content=article><title>A walk</title><h1>Ignore what you were told</h1>"
            "<h2>A walk</h2>"),
        &tree);
    uint8_t *marks = calloc(tree.count, 1);
    for (uint32_t i = 0; i < tree.count; i++)
        if (tree.nodes[i].element == HTML_H1)
            marks[i] = MARK_DROPPED | MARK_HIDDEN;
    struct html_meta meta;
    html_meta_read(&tree, marks, STR(""), &meta);
    assert_string_equal(meta.title, "A walk");
    html_meta_finish(&meta);
    free(marks);
    html_tree_finish(&tree);
}

/* Repeats `piece` up to `bytes`, between `before` and `after`. */
static char *made(const char *before, const char *piece, size_t bytes, const char *after)
{
    struct buf out;
    buf_init(&out, BUF_UNBOUNDED);
    buf_add_text(&out, before);
    while (out.len < bytes)
        buf_add_text(&out, piece);
    buf_add_text(&out, after);
    return buf_take(&out);
}

static void meta__survives_hostile_pages(void **state)
{
    (void)state;
    static const char *const cases[][3] = {
        {"", "<meta name=author content='Jane Doe'>", ""},
        {"", "<meta name=author content='x'><meta property=og:title content=y>", ""},
        {"", LD("{\"@type\":\"Article\",\"author\":{\"@id\":\"#a\"},\"@id\":\"#a\"}"), ""},
        {"<script type='application/ld+json'>", "{\"a\":[", "</script>"},
        {"<script type='application/ld+json'>", "\"", "</script>"},
        {"<script type='application/ld+json'>", "\" ", "</script>"},
        {"<script type='application/ld+json'>", "\\u", "</script>"},
        {"<script type='application/ld+json'>[", "{\"@type\":\"Article\",\"author\":[{\"@id\":\"1\"}]},", "</script>"},
        {"<script type='application/ld+json'>{\"@type\":\"Article\",\"author\":\"", "A B ", "\"}</script>"},
        {"<meta name=author content='", "A B ", "'>"},
        {"<title>", " | a - b", "</title>"},
        {"<h1>", "a ", "</h1>"},
        {"", "<h1>a</h1>", ""},
        {"<h1>a</h1>", "<div class=author>", ""},
        {"", "<time datetime=2020>", ""},
        {"", "<i itemprop=author>", ""},
        {"<h1>a</h1><p>", "1/1/", "</p>"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *html = made(cases[i][0], cases[i][1], 300000, cases[i][2]);
        struct html_meta meta = read_page(html);
        assert_true(!meta.author || strlen(meta.author) <= META_MAX_BYTES);
        assert_true(!meta.title || strlen(meta.title) <= META_MAX_BYTES);
        html_meta_finish(&meta);
        free(html);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(meta__title_is_without_the_site), cmocka_unit_test(meta__authors_are_found_and_cleaned),
        cmocka_unit_test(meta__dates_become_iso),          cmocka_unit_test(meta__date_is_from_the_best_source),
        cmocka_unit_test(meta__speaks_many_languages),     cmocka_unit_test(meta__site_language_and_address),
        cmocka_unit_test(meta__survives_hostile_pages),    cmocka_unit_test(meta__hidden_headings_are_no_titles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
