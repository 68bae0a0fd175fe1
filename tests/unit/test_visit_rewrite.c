#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tools/visit/internal.h"

#include <stdlib.h>
#include <string.h>

struct pair {
    const char *from, *to; /* to NULL: left alone */
};

static void check(const char *from, const char *expected, char *got)
{
    if (expected ? !got || strcmp(got, expected) != 0 : got != NULL)
        fail_msg("%s gives %s, not %s", from, got ? got : "nothing", expected ? expected : "nothing");
    free(got);
}

static char *readable(const char *from)
{
    struct str url = str_of(from);
    size_t hash = str_find_char(url, '#', 0);
    struct str fragment = hash == STR_NONE ? STR("") : str_slice(url, hash + 1, url.len);
    return visit_readable(str_slice(url, 0, hash), fragment);
}

#define DOCUMENT "https://docs.google.com/document/d/1aB-c_D2eF3gH4"
#define SHEET    "https://docs.google.com/spreadsheets/d/1aB-c_D2eF3gH4"
#define SLIDES   "https://docs.google.com/presentation/d/1aB-c_D2eF3gH4"
#define GIST     "0123456789abcdef0123456789abcdef"
#define REVISION "0123456789abcdef0123456789abcdef01234567"

static void visit_rewrite__finds_readable_forms(void **state)
{
    (void)state;
    static const struct pair cases[] = {
        /* arXiv */
        {"https://arxiv.org/abs/2301.00001", NULL},
        {"http://arxiv.org/abs/2301.00001v2", "https://arxiv.org/abs/2301.00001v2"},
        {"https://www.arxiv.org/abs/2301.00001", "https://arxiv.org/abs/2301.00001"},
        {"https://export.arxiv.org/abs/2301.00001v1", "https://arxiv.org/abs/2301.00001v1"},
        {"https://arxiv.org/pdf/2301.00001", NULL},
        {"https://arxiv.org/pdf/2301.00001.pdf", "https://arxiv.org/pdf/2301.00001"},
        {"https://arxiv.org/pdf/2301.00001v3.pdf", "https://arxiv.org/pdf/2301.00001v3"},
        {"https://arxiv.org/pdf/0704.0001.pdf", "https://arxiv.org/pdf/0704.0001"},
        {"https://de.arxiv.org/pdf/hep-th/9901001", "https://arxiv.org/pdf/hep-th/9901001"},
        {"https://arxiv.org/pdf/math.GT/0309136v1.pdf", "https://arxiv.org/pdf/math.GT/0309136v1"},
        {"http://arxiv.org/abs/hep-th/9901001v2", "https://arxiv.org/abs/hep-th/9901001v2"},
        {"https://arxiv.org/format/2301.00001", "https://arxiv.org/abs/2301.00001"},
        {"https://arxiv.org/html/2301.00001v1", NULL},
        {"https://arxiv.org/pdf/2301.1.pdf", NULL},
        {"https://arxiv.org/pdf/2301.000012.pdf", NULL},
        {"https://arxiv.org/pdf/2301.00001vx.pdf", NULL},
        {"https://arxiv.org/list/cs.CL/recent", NULL},
        {"https://arxiv.org/search/?query=x", NULL},
        {"https://ar5iv.org/abs/2301.00001", "https://ar5iv.labs.arxiv.org/html/2301.00001"},
        {"https://ar5iv.labs.arxiv.org/html/2301.00001", NULL},
        {"https://www.alphaxiv.org/abs/2301.00001v2", "https://arxiv.org/abs/2301.00001v2"},
        /* GitHub */
        {"https://github.com/o/r/blob/main/src/a%20b.c", "https://raw.githubusercontent.com/o/r/main/src/a%20b.c"},
        {"https://github.com/o/r/blob/main/README.md?plain=1#L3",
         "https://raw.githubusercontent.com/o/r/main/README.md"},
        {"http://www.github.com/o/r/blob/feature/x/a.md", "https://raw.githubusercontent.com/o/r/feature/x/a.md"},
        {"https://github.com/o/r/raw/v1.0/data.csv", "https://raw.githubusercontent.com/o/r/v1.0/data.csv"},
        {"https://github.com/o/r/blame/main/a.c", "https://raw.githubusercontent.com/o/r/main/a.c"},
        {"https://github.com/o/r", NULL},
        {"https://github.com/o/r/tree/main/src", NULL},
        {"https://github.com/o/r/blob/main", NULL},
        {"https://github.com/o/r/issues/3", NULL},
        {"https://github.com/o/r/wiki", NULL},
        {"https://docs.github.com/en/blob/a/b/c", NULL},
        {"https://raw.githubusercontent.com/o/r/main/a.c", NULL},
        {"https://raw.github.com/o/r/main/a.c", "https://raw.githubusercontent.com/o/r/main/a.c"},
        {"https://gist.github.com/user/" GIST, "https://gist.githubusercontent.com/user/" GIST "/raw"},
        {"https://gist.github.com/user/" GIST "/" REVISION,
         "https://gist.githubusercontent.com/user/" GIST "/raw/" REVISION},
        {"https://gist.github.com/user", NULL},
        {"https://gist.github.com/user/starred", NULL},
        {"https://colab.research.google.com/github/o/r/blob/main/n.ipynb",
         "https://raw.githubusercontent.com/o/r/main/n.ipynb"},
        {"https://colab.research.google.com/drive/1abc", NULL},
        /* other homes of source */
        {"https://gitlab.com/g/s/p/-/blob/main/a.md?ref_type=heads", "https://gitlab.com/g/s/p/-/raw/main/a.md"},
        {"https://gitlab.example.org/g/p/-/blob/main/a.md", "https://gitlab.example.org/g/p/-/raw/main/a.md"},
        {"https://gitlab.com/g/p/blob/main/a.md", "https://gitlab.com/g/p/raw/main/a.md"},
        {"https://gitlab.com/g/p/-/tree/main/src", NULL},
        {"https://bitbucket.org/o/r/src/main/a.py", "https://bitbucket.org/o/r/raw/main/a.py"},
        {"https://bitbucket.org/o/r/src/main/folder", NULL},
        {"https://codeberg.org/o/r/src/branch/main/a.md", "https://codeberg.org/o/r/raw/branch/main/a.md"},
        {"https://gitee.com/o/r/blob/master/a.md", "https://gitee.com/o/r/raw/master/a.md"},
        {"https://git.sr.ht/~u/r/tree/master/item/src/a.c", "https://git.sr.ht/~u/r/blob/master/src/a.c"},
        {"https://git.kernel.org/pub/scm/linux.git/tree/kernel/fork.c?h=v6.1",
         "https://git.kernel.org/pub/scm/linux.git/plain/kernel/fork.c?h=v6.1"},
        {"https://git.kernel.org/pub/scm/linux.git/tree/kernel", NULL},
        {"https://huggingface.co/o/m/blob/main/README.md", "https://huggingface.co/o/m/resolve/main/README.md"},
        {"https://huggingface.co/datasets/o/d/blob/main/a.csv",
         "https://huggingface.co/datasets/o/d/resolve/main/a.csv"},
        {"https://huggingface.co/gpt2/blob/main/config.json", "https://huggingface.co/gpt2/resolve/main/config.json"},
        {"https://huggingface.co/o/m", NULL},
        {"https://huggingface.co/o/m/tree/main", NULL},
        {"https://huggingface.co/papers/2301.00001", NULL},
        /* documents */
        {DOCUMENT "/edit?usp=sharing", DOCUMENT "/export?format=txt"},
        {DOCUMENT, DOCUMENT "/export?format=txt"},
        {"https://docs.google.com/document/u/0/d/1aB-c_D2eF3gH4/mobilebasic", DOCUMENT "/export?format=txt"},
        {DOCUMENT "/export?format=pdf", NULL},
        {"https://docs.google.com/document/d/e/2PACX-1vAbCdEf/pub", NULL},
        {SHEET "/edit#gid=42", SHEET "/export?format=csv&gid=42"},
        {SHEET "/edit?gid=7#gid=7", SHEET "/export?format=csv&gid=7"},
        {SHEET "/edit", SHEET "/export?format=csv"},
        {SHEET "/edit#gid=4x&y", SHEET "/export?format=csv&gid=4"},
        {SLIDES "/edit#slide=id.p", SLIDES "/export/txt"},
        {"https://docs.google.com/forms/d/1aB-c_D2eF3gH4/viewform", NULL},
        {"https://drive.google.com/file/d/1aB-c_D2eF3gH4/view?usp=sharing",
         "https://drive.google.com/uc?export=download&id=1aB-c_D2eF3gH4"},
        {"https://drive.google.com/open?id=1aB-c_D2eF3gH4",
         "https://drive.google.com/uc?export=download&id=1aB-c_D2eF3gH4"},
        {"https://drive.google.com/drive/folders/1aB-c_D2eF3gH4", NULL},
        {"https://www.dropbox.com/s/abc/a.pdf?dl=0", "https://www.dropbox.com/s/abc/a.pdf?dl=1"},
        {"https://www.dropbox.com/scl/fi/abc/a.pdf?rlkey=k&dl=0",
         "https://www.dropbox.com/scl/fi/abc/a.pdf?rlkey=k&dl=1"},
        {"https://www.dropbox.com/s/abc/a.pdf", "https://www.dropbox.com/s/abc/a.pdf?dl=1"},
        {"https://www.dropbox.com/sh/abc/def?dl=0", NULL},
        {"https://pastebin.com/aB3dE6gH", "https://pastebin.com/raw/aB3dE6gH"},
        {"https://pastebin.com/raw/aB3dE6gH", NULL},
        {"https://pastebin.com/archive", NULL},
        /* encyclopedias and forums */
        {"https://en.m.wikipedia.org/wiki/Kell_(island)?a=b", "https://en.wikipedia.org/wiki/Kell_(island)?a=b"},
        {"https://zh.m.wikipedia.org/zh-cn/%E7%81%AF", "https://zh.wikipedia.org/zh-cn/%E7%81%AF"},
        {"https://commons.m.wikimedia.org/wiki/A", "https://commons.wikimedia.org/wiki/A"},
        {"https://m.wikidata.org/wiki/Q1", "https://www.wikidata.org/wiki/Q1"},
        {"https://en.wikipedia.org/wiki/Kell", NULL},
        {"https://www.wikiwand.com/en/articles/Kell", "https://en.wikipedia.org/wiki/Kell"},
        {"https://www.wikiwand.com/de/Kell", "https://de.wikipedia.org/wiki/Kell"},
        {"https://www.reddit.com/r/x/comments/abc/title/", "https://old.reddit.com/r/x/comments/abc/title/"},
        {"https://np.reddit.com/user/u", "https://old.reddit.com/user/u"},
        {"https://old.reddit.com/r/x/comments/abc/", NULL},
        {"https://www.reddit.com/r/x/s/AbCdEf", NULL},
        {"https://www.redditinc.com/r/x", NULL},
        {"https://mobile.twitter.com/u/status/1", "https://twitter.com/u/status/1"},
        {"https://m.imdb.com/title/tt1/", "https://www.imdb.com/title/tt1/"},
        {"https://www.youtube.com/watch?v=x", NULL},
        /* papers */
        {"https://dx.doi.org/10.1000/182", "https://doi.org/10.1000/182"},
        {"https://doi.org/10.1000/182", NULL},
        {"https://www.ncbi.nlm.nih.gov/pmc/articles/PMC123/pdf/x.pdf", "https://pmc.ncbi.nlm.nih.gov/articles/PMC123/"},
        {"https://pmc.ncbi.nlm.nih.gov/articles/PMC123/", NULL},
        {"https://pmc.ncbi.nlm.nih.gov/articles/PMC123/pdf/x.pdf", "https://pmc.ncbi.nlm.nih.gov/articles/PMC123/"},
        {"https://www.ncbi.nlm.nih.gov/pubmed/123", "https://pubmed.ncbi.nlm.nih.gov/123/"},
        {"https://www.ncbi.nlm.nih.gov/books/NBK1/", NULL},
        {"https://europepmc.org/article/PMC/PMC123",
         "https://www.ebi.ac.uk/europepmc/webservices/rest/PMC123/fullTextXML"},
        {"https://europepmc.org/article/MED/123", NULL},
        {"https://openreview.net/forum?id=aB_c-1&noteId=x", "https://openreview.net/pdf?id=aB_c-1"},
        {"https://openreview.net/pdf?id=aB_c-1", NULL},
        {"https://openreview.net/group?id=ICLR.cc", NULL},
        /* AMP, and copies in the archive */
        {"https://news.example/a?amp=1&x=2", "https://news.example/a?x=2"},
        {"https://news.example/a?amp", "https://news.example/a"},
        {"https://news.example/a?outputType=amp", "https://news.example/a"},
        {"https://news.example/a?amp=12", NULL},
        {"https://web.archive.org/web/20200101000000/https://e.example/a?b=c",
         "https://web.archive.org/web/20200101000000id_/https://e.example/a?b=c"},
        {"https://web.archive.org/web/20200101000000id_/https://e.example/a", NULL},
        {"https://web.archive.org/web/*/https://e.example/", NULL},
        /* nothing to know about */
        {"https://example.org/a/b/blob/c/d", NULL},
        {"https://notgithub.com/o/r/blob/main/a.c", NULL},
        {"https://github.com.evil.example/o/r/blob/main/a.c", NULL},
        {"ftp://github.com/o/r/blob/main/a.c", NULL},
        {"not an address", NULL},
        {"", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        check(cases[i].from, cases[i].to, readable(cases[i].from));
}

static void visit_rewrite__unwraps_links_that_lead_on(void **state)
{
    (void)state;
    static const struct pair cases[] = {
        {"https://www.google.com/url?sa=t&url=https%3A%2F%2Fe.example%2Fa%3Fb%3Dc&usg=x", "https://e.example/a?b=c"},
        {"https://www.google.co.uk/url?q=https://e.example/a#part", "https://e.example/a"},
        {"https://www.google.com/search?q=https://e.example/", NULL},
        {"https://www.google.com/url?q=javascript:alert(1)", NULL},
        {"https://www.google.com/url?q=/relative", NULL},
        {"https://www.google.com/url?q=file:///etc/passwd", NULL},
        {"https://www.google.com/amp/s/e.example/a/b", "https://e.example/a/b"},
        {"https://www.google.com/amp/e.example/a", "http://e.example/a"},
        {"https://e-example.cdn.ampproject.org/c/s/e.example/a?x=1", "https://e.example/a?x=1"},
        {"https://duckduckgo.com/l/?uddg=https%3A%2F%2Fe.example%2Fa&rut=1", "https://e.example/a"},
        {"https://html.duckduckgo.com/l/?uddg=http%3A%2F%2Fe.example%2F", "http://e.example/"},
        {"https://duckduckgo.com/?q=x", NULL},
        {"https://www.bing.com/ck/a?!&&p=1&u=a1aHR0cHM6Ly9lLmV4YW1wbGUvYQ&ntb=1", "https://e.example/a"},
        {"https://www.bing.com/ck/a?u=a1!!!", NULL},
        {"https://l.facebook.com/l.php?u=https%3A%2F%2Fe.example%2Fa&h=x", "https://e.example/a"},
        {"https://www.youtube.com/redirect?event=x&q=https%3A%2F%2Fe.example%2F", "https://e.example/"},
        {"https://eur01.safelinks.protection.outlook.com/?url=https%3A%2F%2Fe.example%2F&data=x", "https://e.example/"},
        {"https://docs.google.com/viewer?url=https%3A%2F%2Fe.example%2Fa.pdf&embedded=true", "https://e.example/a.pdf"},
        {"https://link.zhihu.com/?target=https%3A//e.example/a", "https://e.example/a"},
        {"https://r.search.yahoo.com/_ylt=x/RV=2/RE=1/RO=10/RU=https%3a%2f%2fe.example%2fa/RK=2/RS=y",
         "https://e.example/a"},
        {"https://r.jina.ai/https://e.example/a?b=c", "https://e.example/a?b=c"},
        {"https://r.jina.ai/https%3A%2F%2Fe.example%2Fa", "https://e.example/a"},
        {"https://r.jina.ai/", NULL},
        {"https://htmlpreview.github.io/?https://github.com/o/r/blob/main/a.html",
         "https://github.com/o/r/blob/main/a.html"},
        {"https://webcache.googleusercontent.com/search?q=cache:aBc123:https://e.example/a+words",
         "https://e.example/a"},
        {"https://webcache.googleusercontent.com/search?q=cache:e.example/a", "https://e.example/a"},
        {"https://www-e--x-example.translate.goog/a?_x_tr_sl=de&b=c&_x_tr_tl=en", "https://www.e-x.example/a?b=c"},
        /* one inside the other */
        {"https://www.google.com/url?q=https%3A%2F%2Fl.facebook.com%2Fl.php%3Fu%3Dhttps%253A%252F%252Fe.example%252Fa",
         "https://e.example/a"},
        {"https://example.org/url?q=https://e.example/", NULL},
        {"https://googlex.com/url?q=https://e.example/", NULL},
        {"https://doi.org/10.1000/182", NULL},
        {"nonsense", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        check(cases[i].from, cases[i].to, visit_unwrap(str_of(cases[i].from)));
}

static void visit_rewrite__knows_copies_in_the_archive(void **state)
{
    (void)state;
    static const struct {
        const char *url, *original, *time;
    } cases[] = {
        {"https://web.archive.org/web/20230501120000/https://e.example/a?b", "https://e.example/a?b", "20230501120000"},
        {"http://web.archive.org/web/20230501120000id_/http://e.example/", "http://e.example/", "20230501120000"},
        {"http://127.0.0.1:80/web/2023if_/http://e.example/", "http://e.example/", "2023"},
        {"https://web.archive.org/web/123/https://e.example/", "", ""},
        {"https://web.archive.org/web/202305011200001/https://e.example/", "", ""},
        {"https://web.archive.org/web/2023abcd/https://e.example/", "", ""},
        {"https://web.archive.org/web/2023/ftp://e.example/", "", ""},
        {"https://web.archive.org/web/2023", "", ""},
        {"https://web.archive.org/web/", "", ""},
        {"", "", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct str time, original = visit_archived(str_of(cases[i].url), &time);
        if (!str_equal(original, str_of(cases[i].original)) || !str_equal(time, str_of(cases[i].time)))
            fail_msg("%s gives \"%.*s\" of \"%.*s\"", cases[i].url, STR_ARG(original), STR_ARG(time));
    }
}

static void visit_rewrite__makes_addresses_of_identifiers(void **state)
{
    (void)state;
    static const struct {
        const char *given, *url, *fragment;
        enum visit_address kind;
    } cases[] = {
        {"doi:10.1000/182", "https://doi.org/10.1000/182", NULL, VISIT_WEB},
        {"DOI: 10.1000/182.", "https://doi.org/10.1000/182", NULL, VISIT_WEB},
        {"10.1038/nature12373", "https://doi.org/10.1038/nature12373", NULL, VISIT_WEB},
        {"arXiv:2301.00001v2", "https://arxiv.org/abs/2301.00001v2", NULL, VISIT_WEB},
        {"arxiv: hep-th/9901001", "https://arxiv.org/abs/hep-th/9901001", NULL, VISIT_WEB},
        {"PMID: 12345", "https://pubmed.ncbi.nlm.nih.gov/12345", NULL, VISIT_WEB},
        {"PMC12345", "https://pmc.ncbi.nlm.nih.gov/articles/PMC12345", NULL, VISIT_WEB},
        {"https://e.example/a#gid=4", "https://e.example/a", "gid=4", VISIT_WEB},
        {"10.0.0.1/x", "https://10.0.0.1/x", NULL, VISIT_WEB},
        {"https://alice:hunter2@e.example/a?b#c", "https://e.example/a?b", "c", VISIT_WEB},
        {"alice@e.example/a", "https://e.example/a", NULL, VISIT_WEB},
        {"https://e.example/@alice/a", "https://e.example/@alice/a", NULL, VISIT_WEB},
        {"ftp://alice:hunter2@e.example/a", "ftp://e.example/a", NULL, VISIT_BAD_SCHEME},
        {"arxiv:nonsense", "arxiv:nonsense", NULL, VISIT_BAD_SCHEME},
        {"PMC", "PMC", NULL, VISIT_NO_ADDRESS},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        enum visit_address kind;
        bool assumed;
        char *fragment;
        char *url = visit_address_clean(str_of(cases[i].given), &kind, &assumed, &fragment);
        if (strcmp(url, cases[i].url) != 0 || kind != cases[i].kind)
            fail_msg("%s gives %s, kind %d", cases[i].given, url, (int)kind);
        check(cases[i].given, cases[i].fragment, fragment);
        free(url);
    }
}

static void visit_rewrite__tells_walls_from_pages(void **state)
{
    (void)state;
    static const struct {
        const char *title, *text;
        enum visit_wall wall;
    } cases[] = {
        {"Just a moment...", "Enable JavaScript and cookies to continue", VISIT_WALL_PROOF},
        {"e.example", "Verify you are human by completing the action below.", VISIT_WALL_PROOF},
        {"Access Denied", "You don't have permission to access \"http://e.example/\" on this server.",
         VISIT_WALL_PROOF},
        {"Attention Required! | Cloudflare", "Sorry, you have been blocked", VISIT_WALL_PROOF},
        {"Access denied | e.example", "Error 1020", VISIT_WALL_PROOF},
        {"安全验证", "请完成安全验证后继续访问", VISIT_WALL_PROOF},
        {"App", "You need to enable JavaScript to run this app.", VISIT_WALL_SCRIPTS},
        {"X", "JavaScript is not available. We've detected that JavaScript is disabled in this browser.",
         VISIT_WALL_SCRIPTS},
        {"The lighthouse of Kell", "The lighthouse was built in 1857.", VISIT_WALL_NONE},
        {"Access denied: a film", "Access Denied is a film of 1997 about a bank, directed by a man from Kell.",
         VISIT_WALL_NONE},
        {"", "", VISIT_WALL_NONE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        enum visit_wall wall = visit_wall_find(str_of(cases[i].title), str_of(cases[i].text));
        if (wall != cases[i].wall)
            fail_msg("\"%s\": %d", cases[i].text, (int)wall);
    }
    /* an article about walls is an article */
    struct buf text;
    buf_init(&text, BUF_UNBOUNDED);
    for (int i = 0; i < 40; i++)
        buf_add_text(
            &text,
            "Some sites ask visitors to verify that they are human: \"verify you are human\", enable JavaScript. ");
    assert_int_equal(visit_wall_find(STR("Captchas"), buf_str(&text)), VISIT_WALL_NONE);
    buf_finish(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(visit_rewrite__finds_readable_forms),
        cmocka_unit_test(visit_rewrite__unwraps_links_that_lead_on),
        cmocka_unit_test(visit_rewrite__knows_copies_in_the_archive),
        cmocka_unit_test(visit_rewrite__makes_addresses_of_identifiers),
        cmocka_unit_test(visit_rewrite__tells_walls_from_pages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
