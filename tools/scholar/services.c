/* The answers of Serper, OpenAlex, Semantic Scholar and Crossref. Members of wrong types count as absent. */
#include "core/mem.h"
#include "tools/scholar/paper.h"

#include <stdio.h>
#include <stdlib.h>

#define MOST_ABSTRACT_WORDS 20000

/* A year or count: an integer, or its digits as a string; -1 for anything else. */
static int64_t read_number(const json_t *value)
{
    int64_t number = -1;
    if (json_is_integer(value))
        return json_integer_value(value);
    if (!str_to_int64(str_make(json_string_value(value), json_string_length(value)), &number))
        return -1;
    return number;
}

static int64_t number_of(const json_t *object, const char *key)
{
    return read_number(json_object_get(object, key));
}

struct year {
    char digits[24];
};

static struct str year_of(struct year *year, int64_t number)
{
    snprintf(year->digits, sizeof year->digits, "%lld", (long long)number);
    return number > 0 ? str_of(year->digits) : STR("");
}

/* ---- Serper ---- */

/* Google's line about a paper is "authors - venue, year - host": takes the next part off its front. The blanks around
 * the dash may be no-break spaces. */
static struct str next_part(struct str *rest)
{
    static const char *const dashes[] = {" - ", "\xc2\xa0- ", " -\xc2\xa0", "\xc2\xa0-\xc2\xa0"};
    size_t first = rest->len, length = 0;
    for (size_t i = 0; i < sizeof dashes / sizeof dashes[0]; i++) {
        size_t at = str_find(*rest, str_of(dashes[i]), 0);
        if (at < first) {
            first = at;
            length = str_of(dashes[i]).len;
        }
    }
    struct str part = str_slice(*rest, 0, first);
    *rest = str_slice(*rest, first + length, rest->len);
    return part;
}

/* "Nature, 2017" without its year; empty where it is the year alone. */
static struct str without_year(struct str venue)
{
    size_t comma = str_rfind_char(venue, ',');
    struct str last = str_trim(comma == STR_NONE ? venue : str_slice(venue, comma + 1, venue.len));
    int64_t year;
    if (last.len != 4 || !str_to_int64(last, &year))
        return venue;
    return comma == STR_NONE ? STR("") : str_slice(venue, 0, comma);
}

void papers_read_serper(struct papers *papers, const json_t *root)
{
    size_t index;
    json_t *item;
    json_array_foreach (json_object_get(root, "organic"), index, item) {
        struct year year;
        struct str publication = json_get_str(item, "publicationInfo"), rest = publication;
        struct str authors = next_part(&rest);
        papers_add(papers, &(struct paper_draft){
                               .title = json_get_str(item, "title"),
                               .url = json_get_str(item, "link"),
                               .pdf = json_get_str(item, "pdfUrl"),
                               .authors = authors,
                               .venue = without_year(next_part(&rest)),
                               .publication = publication,
                               .year = year_of(&year, number_of(item, "year")),
                               .abstract = json_get_str(item, "snippet"),
                               .citations = number_of(item, "citedBy"),
                           });
    }
}

/* ---- OpenAlex ---- */

struct placed_word {
    json_int_t position;
    const char *word;
};

static int by_position(const void *a, const void *b)
{
    json_int_t x = ((const struct placed_word *)a)->position, y = ((const struct placed_word *)b)->position;
    return (x > y) - (x < y);
}

/* {"deep": [1, 7], "A": [0], …} as text. */
static void add_inverted(struct buf *out, const json_t *index)
{
    const char *word;
    json_t *positions, *position;
    size_t i, count = 0, capacity = 0;
    struct placed_word *words = NULL;
    json_object_foreach ((json_t *)index, word, positions) {
        json_array_foreach (positions, i, position) {
            if (!json_is_integer(position) || count == MOST_ABSTRACT_WORDS)
                continue;
            words = mem_grow(words, count, &capacity, sizeof *words);
            words[count++] = (struct placed_word){json_integer_value(position), word};
        }
    }
    if (count > 1)
        qsort(words, count, sizeof *words, by_position);
    for (i = 0; i < count; i++) {
        buf_add_text(out, i > 0 ? " " : "");
        buf_add_text(out, words[i].word);
    }
    free(words);
}

/* A member of the first of several objects that has it. */
static struct str first_of(const json_t *const *objects, size_t count, const char *key)
{
    struct str text = {0};
    for (size_t i = 0; i < count && text.len == 0; i++)
        text = json_get_str(objects[i], key);
    return text;
}

static void read_work(struct papers *papers, const json_t *work)
{
    const json_t *primary = json_object_get(work, "primary_location"),
                 *open = json_object_get(work, "best_oa_location");
    struct buf authors, abstract;
    struct year year;
    size_t i, n_authors = 0;
    json_t *authorship;
    buf_init(&authors, BUF_UNBOUNDED);
    buf_init(&abstract, BUF_UNBOUNDED);
    json_array_foreach (json_object_get(work, "authorships"), i, authorship) {
        struct str name = json_get_str(json_object_get(authorship, "author"), "display_name");
        paper_add_author(&authors, &n_authors, name.len > 0 ? name : json_get_str(authorship, "raw_author_name"));
    }
    add_inverted(&abstract, json_object_get(work, "abstract_inverted_index"));
    struct str title = json_get_str(work, "display_name"), url = json_get_str(primary, "landing_page_url");
    struct str doi = json_get_str(work, "doi");
    papers_add(papers, &(struct paper_draft){
                           .title = title.len > 0 ? title : json_get_str(work, "title"),
                           .url = url.len > 0 || doi.len > 0 ? url : json_get_str(work, "id"),
                           .pdf = first_of((const json_t *[]){open, primary}, 2, "pdf_url"),
                           .authors = buf_str(&authors),
                           .venue = json_get_str(json_object_get(primary, "source"), "display_name"),
                           .year = year_of(&year, number_of(work, "publication_year")),
                           .abstract = buf_str(&abstract),
                           .doi = doi,
                           .citations = number_of(work, "cited_by_count"),
                           .markup = true,
                       });
    buf_finish(&authors);
    buf_finish(&abstract);
}

void papers_read_openalex(struct papers *papers, const json_t *root)
{
    size_t index;
    json_t *work;
    json_array_foreach (json_object_get(root, "results"), index, work)
        read_work(papers, work);
}

/* ---- Semantic Scholar ---- */

/* The service's own page is made for browsers; arXiv's and the publisher's say more to a reader. */
static void add_best_url(struct buf *out, struct str arxiv, struct str doi, struct str own)
{
    if (arxiv.len > 0)
        buf_addf(out, "https://arxiv.org/abs/%.*s", STR_ARG(arxiv));
    else if (doi.len == 0)
        buf_add(out, own);
}

void papers_read_semantic_scholar(struct papers *papers, const json_t *root)
{
    size_t index, i;
    json_t *item, *author;
    json_array_foreach (json_object_get(root, "data"), index, item) {
        struct buf authors, url;
        struct year year;
        size_t n_authors = 0;
        buf_init(&authors, BUF_UNBOUNDED);
        buf_init(&url, BUF_UNBOUNDED);
        json_array_foreach (json_object_get(item, "authors"), i, author)
            paper_add_author(&authors, &n_authors, json_get_str(author, "name"));
        const json_t *ids = json_object_get(item, "externalIds");
        struct str arxiv = json_get_str(ids, "ArXiv"), doi = json_get_str(ids, "DOI");
        add_best_url(&url, arxiv, doi, json_get_str(item, "url"));
        papers_add(papers, &(struct paper_draft){
                               .title = json_get_str(item, "title"),
                               .url = buf_str(&url),
                               .pdf = json_get_str(json_object_get(item, "openAccessPdf"), "url"),
                               .authors = buf_str(&authors),
                               .venue = json_get_str(item, "venue"),
                               .year = year_of(&year, number_of(item, "year")),
                               .abstract = json_get_str(item, "abstract"),
                               .doi = doi,
                               .arxiv = arxiv,
                               .citations = number_of(item, "citationCount"),
                           });
        buf_finish(&authors);
        buf_finish(&url);
    }
}

/* ---- Crossref ---- */

static struct str first_text(const json_t *object, const char *key)
{
    const json_t *text = json_array_get(json_object_get(object, key), 0);
    return str_make(json_string_value(text), json_string_length(text));
}

static void add_crossref_authors(struct buf *out, const json_t *people)
{
    size_t index, count = 0;
    json_t *person;
    json_array_foreach (people, index, person) {
        struct str given = json_get_str(person, "given"), family = json_get_str(person, "family");
        struct buf name;
        buf_init(&name, BUF_UNBOUNDED);
        buf_add(&name, given);
        buf_add_text(&name, given.len > 0 && family.len > 0 ? " " : "");
        buf_add(&name, family);
        paper_add_author(out, &count, name.len > 0 ? buf_str(&name) : json_get_str(person, "name"));
        buf_finish(&name);
    }
}

/* Without the heading that most abstracts begin with: "<jats:title>Abstract</jats:title>". */
static struct str crossref_abstract(const json_t *item)
{
    static const char opening[] = "<jats:title>", closing[] = "</jats:title>";
    struct str text = str_trim(json_get_str(item, "abstract"));
    size_t end = str_starts_with(text, str_of(opening)) ? str_find(text, str_of(closing), 0) : STR_NONE;
    return end == STR_NONE ? text : str_slice(text, end + sizeof closing - 1, text.len);
}

static struct str crossref_pdf(const json_t *item)
{
    size_t index;
    json_t *link;
    json_array_foreach (json_object_get(item, "link"), index, link) {
        if (str_equal(json_get_str(link, "content-type"), STR("application/pdf")))
            return json_get_str(link, "URL");
    }
    return STR("");
}

static int64_t crossref_year(const json_t *item)
{
    const json_t *parts = json_object_get(json_object_get(item, "issued"), "date-parts");
    return read_number(json_array_get(json_array_get(parts, 0), 0));
}

void papers_read_crossref(struct papers *papers, const json_t *root)
{
    size_t index;
    json_t *item;
    json_array_foreach (json_object_get(json_object_get(root, "message"), "items"), index, item) {
        struct buf authors;
        struct year year;
        buf_init(&authors, BUF_UNBOUNDED);
        const json_t *people = json_object_get(item, "author");
        add_crossref_authors(&authors, json_array_size(people) > 0 ? people : json_object_get(item, "editor"));
        struct str venue = first_text(item, "container-title");
        papers_add(papers, &(struct paper_draft){
                               .title = first_text(item, "title"),
                               .url = json_get_str(item, "URL"),
                               .pdf = crossref_pdf(item),
                               .authors = buf_str(&authors),
                               .venue = venue.len > 0 ? venue : json_get_str(item, "publisher"),
                               .year = year_of(&year, crossref_year(item)),
                               .abstract = crossref_abstract(item),
                               .doi = json_get_str(item, "DOI"),
                               .citations = number_of(item, "is-referenced-by-count"),
                               .markup = true,
                           });
        buf_finish(&authors);
    }
}
