#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "core/file.h"
#include "core/mem.h"
#include "core/utf8.h"
#include "tools/scholar/internal.h"

#include <libxml/parser.h>
#include <stdlib.h>
#include <string.h>

#define MAX_FILE ((size_t)1 << 20)

static struct papers read_json(const char *file, void (*read)(struct papers *, const json_t *))
{
    struct papers papers;
    struct error error;
    json_t *root;
    char *path = mem_printf("%s/scholar/%s", TEST_DATA, file);
    assert_int_equal(json_parse_file(path, MAX_FILE, &root, &error), STATUS_OK);
    papers_init(&papers, 10);
    read(&papers, root);
    json_decref(root);
    free(path);
    return papers;
}

static struct papers read_text(const char *json, void (*read)(struct papers *, const json_t *))
{
    struct papers papers;
    struct error error;
    json_t *root;
    assert_int_equal(json_parse(str_of(json), &root, &error), STATUS_OK);
    papers_init(&papers, 10);
    read(&papers, root);
    json_decref(root);
    return papers;
}

static void check(const struct papers *papers, size_t index, const struct paper *wanted)
{
    assert_true(index < papers->count);
    const struct paper *paper = &papers->items[index];
    assert_string_equal(paper->title, wanted->title);
    assert_string_equal(paper->url, wanted->url);
    assert_string_equal(paper->pdf, wanted->pdf);
    assert_string_equal(paper->authors, wanted->authors);
    assert_string_equal(paper->venue, wanted->venue);
    assert_string_equal(paper->publication, wanted->publication);
    assert_string_equal(paper->year, wanted->year);
    assert_string_equal(paper->citations, wanted->citations);
    assert_string_equal(paper->abstract, wanted->abstract);
    assert_string_equal(paper->key, wanted->key);
}

static void scholar_papers__serper(void **state)
{
    (void)state;
    struct papers papers = read_json("serper.json", papers_read_serper);
    assert_int_equal(papers.count, 3);
    check(&papers, 0,
          &(struct paper){
              .title = "Stepped lenses for coastal lights",
              .url = "https://journals.example.org/optics/12/3/45",
              .pdf = "https://repository.example.edu/oswin98.pdf",
              .authors = "M Oswin, J Kell, P Färber…",
              .venue = "Journal of Coastal Optics",
              .publication = "M Oswin, J Kell, P Färber… - Journal of Coastal Optics, 1998 - journals.example.org",
              .year = "1998",
              .citations = "214",
              .abstract = "… a stepped lens gathers more of the light than a mirror of the same weight …",
              .key = "journals.example.org/optics/12/3/45",
          });
    check(&papers, 1,
          &(struct paper){
              .title = "Lamps and their keepers",
              .url = "https://books.example.com/books?id=LK1&pg=PA1",
              .pdf = "",
              .authors = "A Ferris",
              .venue = "",
              .publication = "A Ferris - 2010 - books.example.com",
              .year = "2010",
              .citations = "",
              .abstract = "… the keepers of the northern cape …",
              .key = "books.example.com/books?id=LK1&pg=PA1",
          });
    assert_string_equal(papers.items[2].url, "");
    assert_string_equal(papers.items[2].venue, "Harbour Studies");
    papers_finish(&papers);
}

static void scholar_papers__openalex(void **state)
{
    (void)state;
    struct papers papers = read_json("openalex.json", papers_read_openalex);
    assert_int_equal(papers.count, 2);
    check(&papers, 0,
          &(struct paper){
              .title = "Stepped lenses for coastal lights",
              .url = "https://doi.org/10.5555/coast.1998.45",
              .pdf = "https://repository.example.edu/oswin98.pdf",
              .authors = "Maria Oswin, Jonas Kell",
              .venue = "Journal of Coastal Optics",
              .publication = "Maria Oswin, Jonas Kell - Journal of Coastal Optics, 1998",
              .year = "1998",
              .citations = "198",
              .abstract = "A stepped lens gathers more light than a lens alone.",
              .key = "doi:10.5555/coast.1998.45",
          });
    check(&papers, 1,
          &(struct paper){
              .title = "A report without a home",
              .url = "https://openalex.org/W99",
              .pdf = "",
              .authors = "",
              .venue = "",
              .publication = "",
              .year = "",
              .citations = "0",
              .abstract = "",
              .key = "openalex.org/W99",
          });
    papers_finish(&papers);
}

static void scholar_papers__semantic_scholar(void **state)
{
    (void)state;
    struct papers papers = read_json("semantic_scholar.json", papers_read_semantic_scholar);
    assert_int_equal(papers.count, 3);
    check(&papers, 0,
          &(struct paper){
              .title = "Stepped lenses for coastal lights",
              .url = "https://doi.org/10.5555/coast.1998.45",
              .pdf = "https://repository.example.edu/oswin98.pdf",
              .authors = "Maria Oswin, Jonas Kell",
              .venue = "Journal of Coastal Optics",
              .publication = "Maria Oswin, Jonas Kell - Journal of Coastal Optics, 1998",
              .year = "1998",
              .citations = "205",
              .abstract = "A stepped lens gathers more light than a lens alone.",
              .key = "doi:10.5555/coast.1998.45",
          });
    check(&papers, 1,
          &(struct paper){
              .title = "Counting lamps from orbit",
              .url = "https://arxiv.org/abs/2106.15928",
              .pdf = "",
              .authors = "",
              .venue = "",
              .publication = "",
              .year = "",
              .citations = "0",
              .abstract = "",
              .key = "doi:10.48550/arxiv.2106.15928",
          });
    assert_string_equal(papers.items[2].url,
                        "https://www.semanticscholar.org/paper/1111111111111111111111111111111111111111");
    papers_finish(&papers);
}

static void scholar_papers__crossref(void **state)
{
    (void)state;
    struct papers papers = read_json("crossref.json", papers_read_crossref);
    assert_int_equal(papers.count, 2); /* what has no title is no paper */
    check(&papers, 0,
          &(struct paper){
              .title = "Stepped lenses for coastal lights & beacons",
              .url = "https://doi.org/10.5555/coast.1998.45",
              .pdf = "https://journals.example.org/coast/45.pdf",
              .authors = "Maria Oswin, Kell, Lights Consortium",
              .venue = "Journal of Coastal Optics",
              .publication = "Maria Oswin, Kell, Lights Consortium - Journal of Coastal Optics, 1998",
              .year = "1998",
              .citations = "187",
              .abstract = "A stepped lens gathers more light (p < 0.05) than CO2 lamps.",
              .key = "doi:10.5555/coast.1998.45",
          });
    check(&papers, 1,
          &(struct paper){
              .title = "Keepers of the lamp",
              .url = "https://doi.org/10.5555/book.7",
              .pdf = "",
              .authors = "Ada Ferris",
              .venue = "Example Press",
              .publication = "Ada Ferris - Example Press",
              .year = "",
              .citations = "0",
              .abstract = "",
              .key = "doi:10.5555/book.7",
          });
    papers_finish(&papers);
}

static enum status read_atom(struct str atom, struct papers *papers, struct error *error)
{
    papers_init(papers, 10);
    return papers_read_arxiv(papers, atom, error);
}

static enum status read_atom_file(const char *file, struct papers *papers, struct error *error)
{
    struct buf text;
    char *path = mem_printf("%s/scholar/%s", TEST_DATA, file);
    buf_init(&text, MAX_FILE);
    assert_int_equal(file_read(path, &text, error), STATUS_OK);
    enum status status = read_atom(buf_str(&text), papers, error);
    buf_finish(&text);
    free(path);
    return status;
}

static void scholar_papers__arxiv(void **state)
{
    (void)state;
    struct papers papers;
    struct error error;
    assert_int_equal(read_atom_file("arxiv.xml", &papers, &error), STATUS_OK);
    assert_int_equal(papers.count, 2);
    check(&papers, 0,
          &(struct paper){
              .title = "Counting lamps & buoys from orbit",
              .url = "http://arxiv.org/abs/2106.15928v2",
              .pdf = "http://arxiv.org/pdf/2106.15928v2",
              .authors = "Ada Ferris, Tomás Mora",
              .venue = "Coast. Surv. 31 (2022) 17-29",
              .publication = "Ada Ferris, Tomás Mora - Coast. Surv. 31 (2022) 17-29, 2021",
              .year = "2021",
              .citations = "",
              .abstract = "We count lamps whose brightness is < 3 candela, and compare them with the charts.",
              .key = "doi:10.5555/orbit.3",
          });
    check(&papers, 1,
          &(struct paper){
              .title = "Muons in a lighthouse",
              .url = "http://arxiv.org/abs/hep-ex/0307015v1",
              .pdf = "http://arxiv.org/pdf/hep-ex/0307015v1?from=api&n=1",
              .authors = "Kell Collaboration",
              .venue = "arXiv (hep-ex)",
              .publication = "Kell Collaboration - arXiv (hep-ex), 2003",
              .year = "2003",
              .citations = "",
              .abstract = "Muons were counted.",
              .key = "doi:10.48550/arxiv.hep-ex/0307015",
          });
    papers_finish(&papers);
}

static void scholar_papers__arxiv_says_what_was_wrong(void **state)
{
    (void)state;
    struct papers papers;
    struct error error;
    assert_int_equal(read_atom_file("arxiv_error.xml", &papers, &error), STATUS_UNSUPPORTED);
    assert_string_equal(error.message, "max_results must be non-negative");
    assert_int_equal(papers.count, 0);
    papers_finish(&papers);
}

#define FEED "<feed xmlns='http://www.w3.org/2005/Atom'>"

static void scholar_papers__arxiv_bears_what_is_no_feed(void **state)
{
    (void)state;
    static const struct {
        struct str text;
        enum status status;
        size_t count;
    } cases[] = {
        {STR(""), STATUS_SYNTAX, 0},
        {STR("Rate exceeded."), STATUS_SYNTAX, 0},
        {STR("<html><body>Down</body></html>"), STATUS_SYNTAX, 0},
        {STR("<feed><entry><title>No namespace</title></entry></feed>"), STATUS_SYNTAX, 0},
        {STR(FEED "<entry><title>Cut off"), STATUS_SYNTAX, 0},
        {STR(FEED "<entry><title>a\0b</title></entry></feed>"), STATUS_SYNTAX, 0},
        {STR(FEED "<entry><title>&#0;</title></entry></feed>"), STATUS_SYNTAX, 0},
        {STR(FEED "<entry><title>&undefined;</title></entry></feed>"), STATUS_SYNTAX, 0},
        {STR(FEED "<entry><title>\xff\xfe</title></entry></feed>"), STATUS_SYNTAX, 0},
        {STR("\xff\xfe<\0f\0e\0e\0d\0>\0"), STATUS_SYNTAX, 0},
        {STR(FEED "</feed>"), STATUS_OK, 0},
        {STR(FEED "<entry/><entry><title/></entry><entry><link/><author/><title> </title></entry></feed>"), STATUS_OK,
         0},
        {STR(FEED "<entry><title>Error</title></entry></feed>"), STATUS_OK, 1}, /* somebody's title */
        {STR(FEED "<entry><title>T</title><link rel='alternate' href='javascript:alert(1)'/>"
                  "<link title='pdf' href='file:///etc/passwd'/><published>soon</published></entry></feed>"),
         STATUS_OK, 1},
        /* Bombs: entities that grow, entities in attributes, a file, and a declaration behind another encoding's. */
        {STR("<!DOCTYPE feed [<!ENTITY a 'aaaaaaaaaa'><!ENTITY b '&a;&a;&a;&a;&a;&a;&a;&a;'>]>" FEED
             "<entry><title>&b;</title></entry></feed>"),
         STATUS_SYNTAX, 0},
        {STR("<!DOCTYPE feed [<!ENTITY x SYSTEM 'file:///etc/passwd'>]>" FEED
             "<entry><title>&x;</title></entry></feed>"),
         STATUS_SYNTAX, 0},
        {STR("<!DOCTYPE feed SYSTEM 'http://127.0.0.1:1/x.dtd'>" FEED "</feed>"), STATUS_SYNTAX, 0},
        {STR("<?xml version='1.0' encoding='UTF-7'?>+ADw-!DOCTYPE feed+AD4-" FEED "</feed>"), STATUS_SYNTAX, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct papers papers;
        struct error error;
        enum status status = read_atom(cases[i].text, &papers, &error);
        if (status != cases[i].status || papers.count != cases[i].count)
            fail_msg("case %zu: status %d, %zu papers", i, (int)status, papers.count);
        for (size_t j = 0; j < papers.count; j++) {
            assert_string_equal(papers.items[j].url, "");
            assert_string_equal(papers.items[j].pdf, "");
            assert_string_equal(papers.items[j].year, "");
        }
        papers_finish(&papers);
    }
}

static void scholar_papers__arxiv_bears_depth_and_length(void **state)
{
    (void)state;
    struct papers papers;
    struct error error;
    struct buf text;
    buf_init(&text, BUF_UNBOUNDED);
    buf_add_text(&text, FEED);
    for (int i = 0; i < 100000; i++)
        buf_add_text(&text, "<entry>");
    assert_int_equal(read_atom(buf_str(&text), &papers, &error), STATUS_SYNTAX);
    papers_finish(&papers);

    buf_reset(&text);
    buf_add_text(&text, FEED "<entry><title>");
    for (int i = 0; i < 100000; i++)
        buf_add_text(&text, "long ");
    buf_add_text(&text, "</title></entry></feed>");
    assert_int_equal(read_atom(buf_str(&text), &papers, &error), STATUS_OK);
    assert_int_equal(papers.count, 1);
    assert_true(strlen(papers.items[0].title) < 320);
    papers_finish(&papers);
    buf_finish(&text);
}

/* Answers in which everything is wrong that can be: nothing to show, nothing to crash on. */
static void scholar_papers__bear_hostile_answers(void **state)
{
    (void)state;
    static void (*const readers[])(struct papers *, const json_t *) = {
        papers_read_serper, papers_read_openalex, papers_read_semantic_scholar, papers_read_crossref};
    static const char *const answers[] = {
        "[]",
        "{}",
        "{\"organic\": 1, \"results\": \"x\", \"data\": {}, \"message\": []}",
        "{\"message\": {\"items\": [null, 1, \"x\", [], {}]}, \"organic\": [null, 1, \"x\", [], {}], "
        "\"results\": [null, 1, \"x\", [], {}], \"data\": [null, 1, \"x\", [], {}]}",
        "{\"organic\": [{\"title\": 5, \"link\": [], \"year\": {}, \"publicationInfo\": 1}],"
        " \"results\": [{\"display_name\": [], \"authorships\": {}, \"abstract_inverted_index\": [1, 2]}],"
        " \"data\": [{\"title\": null, \"authors\": \"x\", \"externalIds\": 3}],"
        " \"message\": {\"items\": [{\"title\": \"not a list\", \"issued\": 3}]}}",
    };
    for (size_t i = 0; i < sizeof readers / sizeof readers[0]; i++) {
        for (size_t j = 0; j < sizeof answers / sizeof answers[0]; j++) {
            struct papers papers = read_text(answers[j], readers[i]);
            assert_int_equal(papers.count, 0);
            papers_finish(&papers);
        }
    }
}

static void scholar_papers__keep_a_paper_with_wrong_members(void **state)
{
    (void)state;
    struct papers papers = read_text(
        "{\"results\": [{\"display_name\": \"T\\u0000\\u0007 \\n two\", \"doi\": \"10.1/x y\", \"publication_year\": "
        "-5, "
        "\"cited_by_count\": 1.5, \"authorships\": [null, {\"author\": 3}, {\"author\": {\"display_name\": \"  \"}}], "
        "\"primary_location\": {\"landing_page_url\": \"ftp://x.example/\", \"pdf_url\": \"https://x.example/a b\", "
        "\"source\": []}, \"abstract_inverted_index\": {\"late\": [9000000000000000000], \"x\": [\"1\", null, 0.5], "
        "\"early\": [-1], \"y\": 7}}]}",
        papers_read_openalex);
    assert_int_equal(papers.count, 1);
    check(&papers, 0,
          &(struct paper){
              .title = "T two",
              .url = "",
              .pdf = "",
              .authors = "",
              .venue = "",
              .publication = "",
              .year = "",
              .citations = "",
              .abstract = "early late",
              .key = "",
          });
    papers_finish(&papers);
}

static void scholar_papers__are_listed_once(void **state)
{
    (void)state;
    struct papers papers;
    static const struct paper_draft drafts[] = {
        {.title = STR("one"), .url = STR("https://publisher.example/1"), .doi = STR("10.5555/ABC")},
        {.title = STR("the same"), .doi = STR("https://doi.org/10.5555/abc")},
        {.title = STR("the same"), .url = STR("http://dx.doi.org/10.5555/Abc")},
        {.title = STR("the same"), .doi = STR("doi: 10.5555/abc")},
        {.title = STR("two"), .url = STR("https://arxiv.org/abs/2106.15928v3")},
        {.title = STR("the same"), .url = STR("http://arxiv.org/pdf/2106.15928.pdf")},
        {.title = STR("the same"), .arxiv = STR("2106.15928"), .url = STR("https://mirror.example/2106.15928")},
        {.title = STR("the same"), .doi = STR("10.48550/arXiv.2106.15928")},
        {.title = STR("three"), .url = STR("https://www.site.example/paper/")},
        {.title = STR("the same"), .url = STR("http://site.example/paper#abstract")},
        {.title = STR("four"), .doi = STR("10.5555")}, /* no DOI, no address: only itself */
        {.title = STR("five"), .doi = STR("not a doi")},
        {.title = STR("  "), .doi = STR("10.5555/untitled")},
    };
    papers_init(&papers, 20);
    for (size_t i = 0; i < sizeof drafts / sizeof drafts[0]; i++)
        papers_add(&papers, &drafts[i]);
    static const char *const wanted[] = {"one", "two", "three", "four", "five"};
    assert_int_equal(papers.count, 5);
    for (size_t i = 0; i < 5; i++)
        assert_string_equal(papers.items[i].title, wanted[i]);
    papers_finish(&papers);

    papers_init(&papers, 1);
    papers_add(&papers, &drafts[0]);
    papers_add(&papers, &drafts[4]);
    assert_int_equal(papers.count, 1);
    papers_finish(&papers);
}

/* Title and addresses are shown as Markdown links, out of which nothing may break. */
static void scholar_papers__stay_within_their_links(void **state)
{
    (void)state;
    static const struct {
        struct paper_draft draft;
        const char *title, *url, *pdf;
    } cases[] = {
        {{.title = STR("a](https://evil.example) [b"), .url = STR("https://a.example/x)y"), .pdf = STR("https://a/(")},
         "a] (https://evil.example) [b",
         "https://a.example/x%29y",
         "https://a/%28"},
        {{.title = STR("Lancet"), .doi = STR("10.1016/S0140-6736(20)30183-5")},
         "Lancet",
         "https://doi.org/10.1016/S0140-6736(20)30183-5",
         ""},
        {{.title = STR("Wiley"), .doi = STR("10.1002/(SICI)1097<1661::AID>3.0.CO;2-2")},
         "Wiley",
         "https://doi.org/10.1002/(SICI)1097%3C1661::AID%3E3.0.CO;2-2",
         ""},
        {{.title = STR("odd"), .doi = STR("https://doi.org/10.5555/a%3Cb#c?d%")},
         "odd",
         "https://doi.org/10.5555/a%3Cb%23c%3Fd%25",
         ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct papers papers;
        papers_init(&papers, 1);
        papers_add(&papers, &cases[i].draft);
        assert_int_equal(papers.count, 1);
        assert_string_equal(papers.items[0].title, cases[i].title);
        assert_string_equal(papers.items[0].url, cases[i].url);
        assert_string_equal(papers.items[0].pdf, cases[i].pdf);
        papers_finish(&papers);
    }
}

static void scholar_papers__have_fields_of_bounded_size(void **state)
{
    (void)state;
    struct buf big, names;
    size_t count = 0;
    struct papers papers;
    buf_init(&big, BUF_UNBOUNDED);
    buf_init(&names, BUF_UNBOUNDED);
    for (int i = 0; i < 200000; i++)
        buf_add_text(&big, "é\xff");
    for (int i = 0; i < 1000; i++)
        paper_add_author(&names, &count, STR("Ada Ferris"));
    assert_true(str_ends_with(buf_str(&names), STR("Ada Ferris, …")));
    assert_int_equal(names.len, 8 * strlen("Ada Ferris, ") + strlen("…"));
    papers_init(&papers, 1);
    const struct str text = buf_str(&big);
    papers_add(&papers, &(struct paper_draft){.title = text,
                                              .url = text,
                                              .pdf = text,
                                              .authors = text,
                                              .venue = text,
                                              .publication = text,
                                              .year = text,
                                              .abstract = text,
                                              .doi = text,
                                              .citations = INT64_MAX});
    assert_int_equal(papers.count, 1);
    const struct paper *paper = &papers.items[0];
    const char *const fields[] = {paper->title, paper->authors, paper->venue, paper->publication, paper->abstract};
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        assert_in_range(strlen(fields[i]), 100, 720);
        assert_true(utf8_is_valid(str_of(fields[i])));
    }
    assert_string_equal(paper->url, "");
    assert_string_equal(paper->citations, "9223372036854775807");
    papers_finish(&papers);
    buf_finish(&big);
    buf_finish(&names);
}

static void scholar_papers__arxiv_terms(void **state)
{
    (void)state;
    static const struct {
        const char *query, *terms;
    } cases[] = {
        {"electron", "all:electron"},
        {"Fresnel lens, 1998", "all:Fresnel AND all:lens AND all:1998"},
        {"the history of the lighthouse", "all:history AND all:lighthouse"},
        {"\"attention is all you need\" Vaswani", "all:\"attention is all you need\" AND all:Vaswani"},
        {"au:(Oswin OR \"x\") ANDNOT all:%22", "all:au AND all:Oswin AND all:\"x\" AND all:ANDNOT AND all:22"},
        {"\"unclosed phrase", "all:\"unclosed phrase\""},
        {"\"\" \"  \"", ""},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct buf terms;
        buf_init(&terms, BUF_UNBOUNDED);
        scholar_arxiv_terms(&terms, str_of(cases[i].query));
        assert_string_equal(terms.data ? terms.data : "", cases[i].terms);
        buf_finish(&terms);
    }
}

int main(void)
{
    xmlInitParser();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scholar_papers__serper),
        cmocka_unit_test(scholar_papers__openalex),
        cmocka_unit_test(scholar_papers__semantic_scholar),
        cmocka_unit_test(scholar_papers__crossref),
        cmocka_unit_test(scholar_papers__arxiv),
        cmocka_unit_test(scholar_papers__arxiv_says_what_was_wrong),
        cmocka_unit_test(scholar_papers__arxiv_bears_what_is_no_feed),
        cmocka_unit_test(scholar_papers__arxiv_bears_depth_and_length),
        cmocka_unit_test(scholar_papers__bear_hostile_answers),
        cmocka_unit_test(scholar_papers__keep_a_paper_with_wrong_members),
        cmocka_unit_test(scholar_papers__are_listed_once),
        cmocka_unit_test(scholar_papers__stay_within_their_links),
        cmocka_unit_test(scholar_papers__have_fields_of_bounded_size),
        cmocka_unit_test(scholar_papers__arxiv_terms),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    xmlCleanupParser();
    return failed;
}
