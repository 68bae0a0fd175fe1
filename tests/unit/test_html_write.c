/* The writer of Markdown: every construct, what is escaped, and trees made to hurt. That a CommonMark parser reads the
 * same again is tests/flow/test_page_round_trip.py. */
#include "text/html/write.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/mem.h"
#include "core/utf8.h"

static bool write_page(struct str html, const uint8_t *marks, const struct html_write_options *options, struct buf *out)
{
    struct html_base base;
    struct html_tree tree;
    html_base_init(&base, STR("https://example.org/a/b.html"), STR(""));
    html_tree_parse(html, &tree);
    struct html_write_options chosen = *options;
    chosen.base = &base;
    bool whole = html_tree_write(&tree, marks, &chosen, out);
    html_tree_finish(&tree);
    html_base_finish(&base);
    return whole;
}

static char *written(struct str html, const struct html_write_options *options)
{
    struct buf out;
    buf_init(&out, (size_t)64 << 20);
    assert_true(write_page(html, NULL, options, &out));
    assert_true(utf8_is_valid(buf_str(&out)));
    return buf_take(&out);
}

static void check(const char *const (*cases)[2], size_t n, bool plain)
{
    struct html_write_options options = {.plain_text = plain};
    for (size_t i = 0; i < n; i++) {
        char *text = written(str_of(cases[i][0]), &options);
        if (strcmp(text, cases[i][1]) != 0)
            print_message("of: %s\n", cases[i][0]);
        assert_string_equal(text, cases[i][1]);
        free(text);
    }
}

static void html_write__keeps_lines_and_blocks(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"<p>One\n  two</p><p>three", "One two\n\nthree\n"},
        {"just text", "just text\n"},
        {"a<br>b<br><br>c", "a  \nb\n\nc\n"},
        {"<h2>Title</h2>text", "## Title\n\ntext\n"},
        {"<h1>a<br>b</h1><h3>C# #</h3><h3>#</h3>", "# a b\n\n### C# \\#\n\n### \\#\n"},
        {"<div>a<div>b</div>c</div>", "a\n\nb\n\nc\n"},
        {"<p>a<hr><hr><p>b<hr>", "a\n\n---\n\nb\n"},
        {"<blockquote><p>a</p><p>b</p></blockquote>c", "> a\n>\n> b\n\nc\n"},
        {"<blockquote>a<blockquote>b</blockquote></blockquote><blockquote>c</blockquote>", "> a\n>\n> > b\n\n> c\n"},
        {"<details><summary>s</summary>t</details>", "s\n\nt\n"},
        {"<address>a<br>b</address>", "a  \nb\n"},
        {"", ""},
        {"<p> <b> </b><a href='/x'></a><ul><li></ul><h1></h1>", ""},
        {"<figure><img src='http://x.org/i' alt='a'><figcaption>c</figcaption></figure>",
         "![a](http://x.org/i)\n\nc\n"},
    };
    check(cases, sizeof cases / sizeof cases[0], false);
}

static void html_write__marks_emphasis_that_parses(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"a <b>b</b>, <i> c </i>and <em></em>d", "a **b**, *c* and d\n"},
        {"<b>a</b><b>b</b> <b>c</b>", "**ab c**\n"},
        {"<b>a <strong>b</strong></b>", "**a b**\n"},
        {"x<b>(y)</b>z", "x(**y**)z\n"},
        {"<b>重点。</b>后", "**重点**。后\n"},
        {"中<b>“引”</b>文", "中“**引**”文\n"},
        {"x<b>!</b>y", "x!y\n"},
        {"<s>a</s> <del>b</del> <ins>c</ins> <u>d</u>", "~~a b~~ c d\n"},
        {"<b><p>a</p><p>b</p></b>", "**a**\n\n**b**\n"},
        {"<h2><b>a</b> b</h2>", "## a b\n"},
        {"<i>a<b>b</b></i>c", "*a**b***c\n"},
        {"<q>a</q>, <q></q>b", "\"a\", b\n"},
        {"<b><a href='http://x.org/'>a</a></b>b", "[a](http://x.org/)b\n"},
    };
    check(cases, sizeof cases / sizeof cases[0], false);
}

static void html_write__resolves_links(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"<a href='../c?x=1&amp;y=2'>a</a>", "[a](https://example.org/c?x=1&y=2)\n"},
        {"<a href='#b'>a</a> <a href='javascript:b()'>c</a> <a href='mailto:d@e'>f</a>", "a c f\n"},
        {"<a href='/b(c'>a</a> <a href='/b_(c)'>d</a>",
         "[a](https://example.org/b%28c) [d](https://example.org/b_(c))\n"},
        {"<a href='http://x.org/y'>http://x.org/y</a>", "<http://x.org/y>\n"},
        {"<a href='/b' title='More of it'>a</a> <a href='/b' title='c'>c</a>",
         "[a](https://example.org/b \"More of it\") [c](https://example.org/b)\n"},
        {"<a href='/b'>[a] \\ b</a>", "[\\[a\\] \\ b](https://example.org/b)\n"},
        {"<a href='/b'><h2>a</h2><p>c</p></a>", "## [a](https://example.org/b)\n\nc\n"},
        {"!<a href='/b'>a</a>(c)", "\\![a](https://example.org/b)(c)\n"},
        {"<a href='/b'><img src='/i' alt='a'></a>", "[a](https://example.org/b)\n"},
        {"<img src='/i' alt='a [b]'> <img src='/i' alt=''> <img src='data:,' alt='c'> <img src='data:,' data-src='/j' "
         "alt='d'>",
         "![a \\[b\\]](https://example.org/i) c ![d](https://example.org/j)\n"},
        {"<h2>a<a href='#a'>¶</a></h2>", "## a\n"},
        {"<a href='/b'>a</a><a href='/c'>d</a>e <a id=f></a><a href='/g'>h</a>",
         "[a](https://example.org/b) [d](https://example.org/c)e [h](https://example.org/g)\n"},
    };
    check(cases, sizeof cases / sizeof cases[0], false);
}

static void html_write__keeps_code(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"<code>a`b</code> <code>c</code> <kbd>d</kbd> <tt>e</tt>", "``a`b`` `c` `d` `e`\n"},
        {"<code> a\n b </code>", "`a b`\n"},
        {"<code>`</code>", "`` ` ``\n"},
        {"<code>a</code><code>b</code>", "`ab`\n"},
        {"<code><a href='/x'>a</a></code>", "[`a`](https://example.org/x)\n"},
        {"<pre>a\n  b\n\n</pre>", "```\na\n  b\n```\n"},
        {"<pre>```</pre>", "````\n```\n````\n"},
        {"<pre><code class='language-c'>a</code></pre>", "```c\na\n```\n"},
        {"<pre class='brush: js; toolbar: false'>a</pre>", "```js\na\n```\n"},
        {"<div class='highlight-python notranslate'><div class=highlight><pre>a</pre></div></div>",
         "```python\na\n```\n"},
        {"<div class='highlight highlight-source-shell'><pre>a</pre></div>", "```shell\na\n```\n"},
        {"<pre><code class='hljs rust'>a</code></pre>", "```rust\na\n```\n"},
        {"<pre data-lang=Go>a</pre>", "```go\na\n```\n"},
        {"<pre class='language-none'>a</pre>", "```\na\n```\n"},
        {"<pre><span class=lineno>1</span>a\n<span class=lineno>2</span>b</pre>", "```\na\nb\n```\n"},
        {"<table class=highlighttable><tr><td class=linenos><pre>1\n2</pre></td><td "
         "class=code><pre>a\nb</pre></td></tr></table>",
         "```\na\nb\n```\n"},
        {"<pre class=highlight><code><table><tr><td class='rouge-gutter gl'><pre "
         "class=lineno>1\n2</pre></td><td><pre>a\nb</pre></td></tr></table></code></pre>",
         "```\na\nb\n```\n"},
        {"<pre><div>a</div><div>b<br>c</div></pre>", "```\na\nb\nc\n```\n"},
        {"<ul><li>a<pre>b\n\nc</pre></ul>", "- a\n\n  ```\n  b\n\n  c\n  ```\n"},
        {"<blockquote><pre>a\n\nb</pre></blockquote>", "> ```\n> a\n>\n> b\n> ```\n"},
    };
    check(cases, sizeof cases / sizeof cases[0], false);
}

static void html_write__nests_lists(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"<ul><li>a<li>b<ul><li>c</ul><li>d</ul>", "- a\n- b\n  - c\n- d\n"},
        {"<ol start=9><li>a<li>b<li value=20>c<li>d</ol>", "9. a\n10. b\n20. c\n21. d\n"},
        {"<ol reversed><li>a<li>b</ol>", "2. a\n1. b\n"},
        {"<ul><li><p>a</p><p>b</p></li><li>c</ul>", "- a\n\n  b\n\n- c\n"},
        {"<ul><li>a</ul><ul><li>b</ul><ol><li>c</ol><ol><li>d</ol>", "- a\n\n* b\n\n1. c\n\n1) d\n"},
        {"<ul><li>a</li><ul><li>b</li></ul><li>c</li></ul>", "- a\n  - b\n- c\n"},
        {"<ul><li>a<ol start=3><li>b</ol></ul>", "- a\n\n  3. b\n"},
        {"<ul>a<li>b</li>c</ul>", "a\n\n- b\n\nc\n"},
        {"<li>a<li>b", "- a\n- b\n"},
        {"<ul><li><input type=checkbox checked>a<li><input type=checkbox>b</ul>", "- [x] a\n- [ ] b\n"},
        {"<ul><li><blockquote>a</blockquote><li><h2>b</h2>c</ul>", "- > a\n- ## b\n\n  c\n"},
        {"<ul><li><hr>a<li></li><li>b</ul>", "- a\n- b\n"},
        {"<dl><dt>a<dd>b<dd>c<dt>d<dd><ul><li>e</ul></dl>", "a\n: b\n: c\n\nd\n\n- e\n"},
    };
    check(cases, sizeof cases / sizeof cases[0], false);
}

static void html_write__unrolls_tables(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"<table><tr><th>a<th>b<tr><td>1<td>2|3</table>", "| a | b |\n| --- | --- |\n| 1 | 2\\|3 |\n"},
        {"<table><tr><td>a<td>b<tr><td>c<td>d</table>", "|  |  |\n| --- | --- |\n| a | b |\n| c | d |\n"},
        {"<table><tr><td><b>a</b><td><b>b</b><tr><td>c<td>d</table>", "| a | b |\n| --- | --- |\n| c | d |\n"},
        {"<table><tr><td>name<td>size<tr><td>c<td>1</table>", "| name | size |\n| --- | --- |\n| c | 1 |\n"},
        {"<table><caption>t</caption><thead><tr><td>a<td>b</thead><tr><td>c<br>d<td><p>e<p>f</table>",
         "t\n\n| a | b |\n| --- | --- |\n| c<br>d | e<br>f |\n"},
        {"<table><tr><th>a<th>b<th>c<tr><td rowspan=2>1<td colspan=2>2<tr><td>3<td>4<tr><td colspan=3>5</table>",
         "| a | b | c |\n| --- | --- | --- |\n| 1 | 2 | 2 |\n| 1 | 3 | 4 |\n| 5 |  |  |\n"},
        {"<table><tr><th>a<th>b<tr><td><td><tr><td>c</table>", "| a | b |\n| --- | --- |\n| c |\n"},
        {"<table><tr><td>a</td></tr></table>", "a\n"},
        {"<table role=presentation><tr><td>a<td>b<tr><td>c<td>d</table>", "a b  \nc d\n"},
        {"<table><tr><td><table><tr><th>a<th>b<tr><td>1<td>2</table><td>c<tr><td>d<td>e</table>",
         "| a | b |\n| --- | --- |\n| 1 | 2 |\n\nc  \nd e\n"},
        {"<table><tr><th>a<th>b<tr><td><table><tr><td>c<td>d<tr><td>e</table><td><ul><li>f<li>g</ul><pre>h\ni</pre></"
         "table>",
         "a b\n\n|  |  |\n| --- | --- |\n| c | d |\n| e |\n\n- f\n- g\n\n```\nh\ni\n```\n"},
        {"<ul><li><table><tr><th>a<th>b<tr><td>1<td>2</table></ul>", "- | a | b |\n  | --- | --- |\n  | 1 | 2 |\n"},
    };
    check(cases, sizeof cases / sizeof cases[0], false);
}

static void html_write__escapes_only_marks(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"# a", "\\# a\n"},
        {"#a", "#a\n"},
        {"&gt; a", "\\> a\n"},
        {"- a", "\\- a\n"},
        {"-a", "-a\n"},
        {"+ a", "\\+ a\n"},
        {"1. a", "1\\. a\n"},
        {"1.a", "1.a\n"},
        {"12) a", "12\\) a\n"},
        {"* a", "\\* a\n"},
        {"*a* a*b 2 * 3", "\\*a\\* a\\*b 2 * 3\n"},
        {"_a_ a_b_c __d__", "_a\\_ a_b_c __d\\_\\_\n"},
        {"`a`", "\\`a\\`\n"},
        {"[a](b) [c] [d]: e", "[a]\\(b) [c] [d]\\: e\n"},
        {"<p>[d]: e", "[d]\\: e\n"},
        {"&lt;b> 1 &lt; 2 &lt;", "\\<b> 1 < 2 \\<\n"},
        {"&amp;amp; &amp; a &amp;copy b", "\\&amp; & a &copy b\n"},
        {"a\\b \\* \\", "a\\b \\\\\\* \\\\\n"},
        {"~~a~~ ~5", "\\~\\~a\\~\\~ ~5\n"},
        {"<p>a<br>---<p>a<br>===", "a  \n\\---\n\na  \n\\===\n"},
        {"| a", "\\| a\n"},
        {"***", "\\*\\*\\*\n"},
        {"---", "\\---\n"},
        {"<p>1.&nbsp;a", "1\\. a\n"},
        {"<span>1</span>. a", "1\\. a\n"},
        {"$5 and $6", "$5 and $6\n"},
        {"[ ] a", "\\[ ] a\n"},
        {"$x_1$ \\(a*b\\) \\[c\\] $$d_e$$", "$x_1$ $a*b$ $$c$$ $$d_e$$\n"},
        {"```", "\\`\\`\\`\n"},
    };
    check(cases, sizeof cases / sizeof cases[0], false);
}

static void html_write__collapses_white_space(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"a\n中\n文\n<b>字</b>\n。b", "a 中文**字**。b\n"},
        {"한\n국", "한 국\n"},
        {"a\u00ADb\u200Bc\uFEFFd\u2060e", "abcde\n"},
        {"a&nbsp;b \u3000 c", "a b c\n"},
        {"\U0001F468\u200D\U0001F469 \xEE\x80\x80"
         "x",
         "\U0001F468\u200D\U0001F469 x\n"},
        {"a<wbr>b", "ab\n"},
        {"a\001b", "ab\n"},
        {"<ruby>漢<rp>(</rp><rt>かん</rt><rp>)</rp></ruby>", "漢(かん)\n"},
    };
    check(cases, sizeof cases / sizeof cases[0], false);
}

static void html_write__tells_exponents(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"x<sup>2</sup> 10<sup>-6</sup> x<sup>n+1</sup> 1<sup>st</sup> M<sup>me</sup>", "x^2 10^-6 x^(n+1) 1st Mme\n"},
        {"H<sub>2</sub>O log<sub>2</sub> x<sub>i</sub> <sup>a</sup>", "H2O log_2 x_i a\n"},
        {"10<sup>−6</sup>", "10^−6\n"},
    };
    check(cases, sizeof cases / sizeof cases[0], false);
}

static void html_write__writes_formulas_as_tex(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"<math><mfrac><mi>a</mi><mrow><mi>b</mi><mo>+</mo><mn>1</mn></mrow></mfrac></math>", "$\\frac{a}{b+1}$\n"},
        {"<math display=block><msup><mi>x</mi><mn>2</mn></msup></math>", "$$x^{2}$$\n"},
        {"<math><semantics><mi>y</mi><annotation "
         "encoding='application/x-tex'>\\frac{a}{b}</annotation></semantics></math>",
         "$\\frac{a}{b}$\n"},
        {"<math alttext='{\\displaystyle x}'><mi>y</mi></math>", "$x$\n"},
        {"<span class=katex-display><span class=katex><span class=katex-mathml><math><semantics><mi>x</mi><annotation "
         "encoding='application/x-tex'>x</annotation></semantics></math></span><span class=katex-html "
         "aria-hidden=true>x</span></span></span>",
         "$$x$$\n"},
        {"<span class=MathJax_Preview>p</span><span class=MathJax>q</span><script type='math/tex; "
         "mode=display'>E=mc^2</script>",
         "$$E=mc^2$$\n"},
        {"a <script type='math/tex'>b</script> c", "a $b$ c\n"},
        {"<span><math alttext='{\\displaystyle x}'></math><img class='mwe-math-fallback-image-inline' "
         "alt='{\\displaystyle x}'></span>",
         "$x$\n"},
        {"<img class='mwe-math-fallback-image-inline' alt='{\\displaystyle x}' src='/i'>", "$x$\n"},
        {"<math><msqrt><mi>x</mi></msqrt><mroot><mi>x</mi><mn>3</mn></mroot><msubsup><mi>a</mi><mi>i</mi><mn>2</mn></"
         "msubsup></math>",
         "$\\sqrt{x}\\sqrt[3]{x}a_{i}^{2}$\n"},
        {"<math><munderover><mo>∑</mo><mrow><mi>i</mi><mo>=</mo><mn>1</mn></mrow><mi>n</mi></munderover><mi>α</"
         "mi><mi>x</mi><mover><mi>y</mi><mo>¯</mo></mover><munder><mi>lim</mi><mn>0</mn></munder></math>",
         "$\\sum_{i=1}^{n}\\alpha x\\overline{y}\\lim_{0}$\n"},
        {"<math><mrow><mo>(</mo><mtable><mtr><mtd><mn>1</mn></mtd><mtd><mn>2</mn></mtd></mtr><mtr><mtd><mn>3</mn></"
         "mtd><mtd><mn>4</mn></mtd></mtr></mtable><mo>)</mo></mrow><mi>sin</mi><mi>x</mi><mo>≤</mo><mi>max</"
         "mi><mtext>if y</mtext></math>",
         "$(\\begin{matrix} 1 & 2 \\\\ 3 & 4 \\end{matrix})\\sin x\\le\\max\\text{if y}$\n"},
    };
    check(cases, sizeof cases / sizeof cases[0], false);
}

static void html_write__finds_footnotes(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"a<sup id=r1><a href='#f1'>[1]</a></sup><ol><li id=f1><a href='#r1'>^</a> One<p>two</ol>",
         "a[^1]\n\n[^1]: One\n\n    two\n"},
        {"a<a id=r href='#f'>1</a><p><a id=f href='#r'>1</a> note", "a[^1]\n\n[^1]: note\n"},
        {"a<sup id=c1><a href='#n1'>[5]</a></sup><ul><li id=n1><span class=b>^ <a href='#c1'>a</a></span> note</ul>",
         "a[^5]\n\n[^5]: note\n"},
        {"a<a href='#f'>1</a><p id=f>b", "a1\n\nb\n"},
        {"a<a role=doc-noteref href='#f'>x</a><aside role=doc-footnote id=f>b</aside>", "a[^n1]\n\n[^n1]: b\n"},
        {"<a href='#b'>1</a><h2 id=b><a href='#b'>b</a></h2>", "1\n\n## b\n"},
    };
    check(cases, sizeof cases / sizeof cases[0], false);
}

static void html_write__writes_plain_text(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"<p>a<h2>b<div>c</div></h2><p>d<h3>e</h3>", "a\n\nb c\n\nd\n\ne\n"},
        {"<h1>a</h1><p><b>b</b> <a href='/c'>d</a> *e*<br>f", "a\n\nb d *e*\nf\n"},
        {"<ul><li>a<ul><li>b</ul><li>c</ul><ol><li>d</ol>", "a\n  b\nc\n\nd\n"},
        {"<blockquote>a<pre>b\n c</pre></blockquote>", "a\n\nb\n c\n"},
        {"<table><tr><th>a<th>b<tr><td>1<td>2<br>3</table>", "a | b\n1 | 2 3\n"},
        {"<img src=i alt=a> x<sup>2</sup> <math><mi>x</mi></math>", "x^2 x\n"},
        {"a<sup id=r1><a href='#f1'>1</a></sup><p id=f1>b <a href='#r1'>^</a>", "a[1]\n\n[1] b\n"},
        {"<dl><dt>a<dd>b</dl>", "a\nb\n"},
    };
    check(cases, sizeof cases / sizeof cases[0], true);
}

/* ---- options ---- */

static void html_write__drops_links(void **state)
{
    (void)state;
    struct html_write_options options = {.drop_links = true};
    char *text = written(STR("<p><a href=/b>a <b>c</b></a> <img src=/i alt=d>"), &options);
    assert_string_equal(text, "a **c** d\n");
    free(text);
    options.drop_images = true;
    text = written(STR("<p>a<img src=/i alt=d>"), &options);
    assert_string_equal(text, "a\n");
    free(text);
}

static void html_write__leaves_out_marked_nodes(void **state)
{
    (void)state;
    struct html_tree tree;
    html_tree_parse(STR("<p>a</p><div>b<p>c</p></div><p>d<b>e</b>"), &tree);
    uint8_t *marks = mem_zalloc(tree.count);
    for (uint32_t i = 0; i < tree.count; i++)
        if (tree.nodes[i].element == HTML_DIV || tree.nodes[i].element == HTML_B)
            marks[i] = MARK_DROPPED;
    struct buf out;
    buf_init(&out, 1000);
    assert_true(html_tree_write(&tree, marks, &(struct html_write_options){0}, &out));
    assert_string_equal(out.data, "a\n\nd\n");
    buf_finish(&out);
    free(marks);
    html_tree_finish(&tree);
}

/* Every cap: what fits is there, whole characters, and nothing is read or written beside it. */
static void html_write__stops_at_the_cap(void **state)
{
    (void)state;
    static const char page[] =
        "<h1>Kopf ü #</h1><p>中<b>“重点。”</b>文 <i>a!</i>b <a href='/x(' title='What'>l</a> <a href='http://x.org/'>"
        "http://x.org/</a> <code>a`b</code><ul><li>a<p>b<ol start=3><li><blockquote>c<pre class=language-c>d\n\ne</pre>"
        "</blockquote></ol></ul><hr>x<table><tr><th>a<th>b<tr><td rowspan=2 colspan=2>c|d<tr><td>e</table>"
        "<math><mroot><mi>x</mi><mn>3</mn></mroot></math><sup id=r><a href='#f'>1</a></sup><p id=f>n <a "
        "href='#r'>^</a>";
    struct html_write_options options = {0};
    char *whole = written(str_of(page), &options);
    for (size_t cap = 0; cap <= strlen(whole); cap++) {
        struct buf out;
        buf_init(&out, cap);
        bool all = write_page(str_of(page), NULL, &options, &out);
        assert_int_equal(all, cap == strlen(whole));
        assert_true(out.len <= cap && out.len + 4 > cap);
        assert_true(utf8_is_valid(buf_str(&out)));
        buf_finish(&out);
    }
    free(whole);
}

/* ---- pages made to hurt ---- */

static struct str repeated(struct buf *page, const char *before, const char *text, size_t times, const char *behind)
{
    buf_init(page, BUF_UNBOUNDED);
    buf_add_text(page, before);
    for (size_t i = 0; i < times; i++)
        buf_add_text(page, text);
    buf_add_text(page, behind);
    return buf_str(page);
}

/* What is written stays within a small multiple of the page; that it ends in time is the test's own limit. */
static void html_write__is_bounded(void **state)
{
    (void)state;
    static const struct {
        const char *before, *text;
        size_t times;
        const char *behind;
    } pages[] = {
        {"", "<ul><li>a", 5000, ""},
        {"", "<blockquote>a", 5000, ""},
        {"<table><tr>", "<td>x", 100000, "</table>"},
        {"<table>", "<tr><td>x<td>y", 50000, "</table>"},
        {"<table>", "<tr><td colspan=1000000>x<td>y<td colspan=1000000>z", 5000, "</table>"},
        {"<table>", "<tr><td rowspan=65534 colspan=100>abcdefghijabcdefghij<td>b", 5000, "</table>"},
        {"<table><tr><td rowspan=65534 colspan=100>abcdefghijabcdefghijabcdefghij", "<tr><td>x", 50000, "</table>"},
        {"", "<table><tr><th>a<th>b<tr><td>c<td>", 2000, "x"},
        {"<p>", "a", 3000000, ""},
        {"<table><tr><th>a<th>b<tr><td>", "a", 3000000, "<td>c</table>"},
        {"<p>", "*_~[`", 200000, ""},
        {"<p>", "<b>。</b>a<i>!b!</i>c", 50000, ""},
        {"<p><b>", "<i>x!</i>y", 50000, "!</b>z"},
        {"<p>x<b>", "!", 500000, "</b>y"},
        {"<p>", "<b><i><s>a", 2000, ""},
        {"<p><code>", "`", 200000, "a</code>"},
        {"<pre>", "`", 200000, "</pre>"},
        {"<pre>", "<div><span class=lineno>1</span>x", 20000, "</pre>"},
        {"<p>", "\\(a ", 200000, ""},
        {"<p>", "$a_", 200000, ""},
        {"<math>", "<mfrac><mi>a</mi>", 2000, "</math>"},
        {"<math>", "<mrow><mi>a</mi></mrow>", 50000, "</math>"},
        {"<p>", "<a id=r href='#r'>1</a>", 50000, ""},
        {"<p>", "<a href='#f'>1</a>", 20000, "<p id=f><a href='#f'>1</a>"},
        {"<ruby>", "<rt>", 5000, "x"},
        {"<p>", "a<br>", 100000, ""},
        {"<dl>", "<dt>a<dd>b", 50000, "</dl>"},
    };
    for (size_t i = 0; i < sizeof pages / sizeof pages[0]; i++) {
        for (int plain = 0; plain < 2; plain++) {
            struct buf page;
            struct html_write_options options = {.plain_text = plain};
            struct str html = repeated(&page, pages[i].before, pages[i].text, pages[i].times, pages[i].behind);
            char *text = written(html, &options);
            if (strlen(text) > 6 * html.len)
                print_message("%zu bytes of %zu: %s\n", strlen(text), html.len, pages[i].text);
            assert_true(strlen(text) <= 6 * html.len);
            free(text);
            buf_finish(&page);
        }
    }
}

/* Notes by the thousand, each found by its id. */
static void html_write__finds_many_footnotes(void **state)
{
    (void)state;
    struct buf page;
    buf_init(&page, BUF_UNBOUNDED);
    for (int i = 1; i <= 20000; i++)
        buf_addf(&page, "<sup id=r%d><a href='#f%d'>%d</a></sup> ", i, i, i);
    for (int i = 1; i <= 20000; i++)
        buf_addf(&page, "<p id=f%d>n <a href='#r%d'>^</a>", i, i);
    char *text = written(buf_str(&page), &(struct html_write_options){0});
    assert_non_null(strstr(text, "[^20000]: n\n"));
    free(text);
    buf_finish(&page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(html_write__keeps_lines_and_blocks),
        cmocka_unit_test(html_write__marks_emphasis_that_parses),
        cmocka_unit_test(html_write__resolves_links),
        cmocka_unit_test(html_write__keeps_code),
        cmocka_unit_test(html_write__nests_lists),
        cmocka_unit_test(html_write__unrolls_tables),
        cmocka_unit_test(html_write__escapes_only_marks),
        cmocka_unit_test(html_write__collapses_white_space),
        cmocka_unit_test(html_write__tells_exponents),
        cmocka_unit_test(html_write__writes_formulas_as_tex),
        cmocka_unit_test(html_write__finds_footnotes),
        cmocka_unit_test(html_write__writes_plain_text),
        cmocka_unit_test(html_write__drops_links),
        cmocka_unit_test(html_write__leaves_out_marked_nodes),
        cmocka_unit_test(html_write__stops_at_the_cap),
        cmocka_unit_test(html_write__is_bounded),
        cmocka_unit_test(html_write__finds_many_footnotes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
