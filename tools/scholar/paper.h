/* tools/scholar/paper.h
 *
 * Papers as the services of scholarly search describe them, each in its own way, made alike: a list of papers, and what
 * turns an answer of each service into one. Pure: no I/O, no loop. Whatever the servers send (wrong types, missing
 * members, markup, hostile addresses), the fields of a paper are single capped lines of valid UTF-8 and its addresses
 * are http or https.
 */
#ifndef FATHOM_TOOLS_SCHOLAR_PAPER_H
#define FATHOM_TOOLS_SCHOLAR_PAPER_H

#include "core/buf.h"
#include "core/json.h"
#include "core/status.h"
#include "core/str.h"

/* Strings are never NULL, and empty where the service did not say. A paper has a title, and `url` unless nobody offers
 * an address of it at all. */
struct paper {
    char *title;
    char *url;         /* its page; the PDF's where only that is known */
    char *pdf;         /* an open PDF */
    char *authors;     /* "A. Vaswani, N. Shazeer, …" */
    char *venue;       /* journal, conference, repository */
    char *publication; /* all of it in one line: "authors - venue, year" */
    char *year;        /* four digits */
    char *citations;   /* how many papers cite it, in digits */
    char *abstract;    /* its beginning, or the passage that the service chose */
    char *key; /* equal for two descriptions of one paper: its DOI in lower case, else url_identity of its page */
};

struct papers {
    struct paper *items;
    size_t count, limit;
};

void papers_init(struct papers *papers, size_t limit);
void papers_finish(struct papers *papers); /* zeroed is allowed */

/* Drops the papers, keeps the limit. */
void papers_reset(struct papers *papers);

/* What a service says of a paper; anything may be empty. With `markup` title, venue and abstract hold tags and entities
 * (text/plain.h). */
struct paper_draft {
    struct str title, url, pdf, authors, venue, publication, year, abstract;
    struct str doi;    /* with or without its resolver's address */
    struct str arxiv;  /* identifier */
    int64_t citations; /* < 0: unknown */
    bool markup;
};

/* Adds a paper made from the draft. What has no title, is in the list already, or passes the limit is left out. */
void papers_add(struct papers *papers, const struct paper_draft *draft);

/* Appends an author to a list under construction; beyond the eighth a single "…". `count` is the caller's, 0 at first.
 */
void paper_add_author(struct buf *authors, size_t *count, struct str name);

/* ---- one for each service: everything of its answer that describes a paper, in its order ---- */

/* https://serper.dev: {"organic": [{"title", "link", "publicationInfo", "snippet", "year", "citedBy", "pdfUrl"}]} */
void papers_read_serper(struct papers *papers, const json_t *root);

/* https://developers.openalex.org/api-reference/works: {"results": [{"display_name", "doi", "publication_year",
 * "cited_by_count", "authorships": [{"author": {"display_name"}}], "primary_location": {"landing_page_url", "pdf_url",
 * "source": {"display_name"}}, "best_oa_location", "abstract_inverted_index": {word: [positions]}}]} */
void papers_read_openalex(struct papers *papers, const json_t *root);

/* https://api.semanticscholar.org/api-docs/graph: {"total", "data": [{"title", "url", "abstract", "year", "venue",
 * "authors": [{"name"}], "citationCount", "openAccessPdf": {"url"}, "externalIds": {"DOI", "ArXiv"}}]} */
void papers_read_semantic_scholar(struct papers *papers, const json_t *root);

/* https://api.crossref.org/swagger-ui: {"message": {"items": [{"title": […], "author": [{"given", "family"}],
 * "container-title": […], "issued": {"date-parts": [[2017, 6]]}, "is-referenced-by-count", "abstract" (JATS), "URL",
 * "DOI", "link": [{"URL", "content-type"}]}]}} */
void papers_read_crossref(struct papers *papers, const json_t *root);

/* https://info.arxiv.org/help/api/user-manual.html: an Atom feed. STATUS_SYNTAX when it is none, or has a document type
 * declaration, which no feed needs and bombs do. STATUS_UNSUPPORTED when it is arXiv's way to say that something was
 * wrong with the request: the error holds its words, from outside. */
enum status papers_read_arxiv(struct papers *papers, struct str atom, struct error *error) STATUS_CHECKED;

#endif
