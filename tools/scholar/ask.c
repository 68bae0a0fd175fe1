/* What each service is asked, and what its failures mean. */
#include "core/mem.h"
#include "net/url.h"
#include "text/words.h"
#include "tools/common/web_answer.h"
#include "tools/scholar/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A service that answers in JSON. */
struct service {
    enum scholar_backend id;
    struct web_service web;
    void (*read)(struct papers *papers, const json_t *root);
};

static const char *key_of(const struct scholar_query *query, enum scholar_backend id)
{
    return query->call->tool->key[id];
}

static void take_answer(struct scholar_query *query, const struct http_response *response,
                        const struct service *service)
{
    json_t *root;
    if (!web_answer_json(&query->base.chain, response, &service->web, key_of(query, service->id), &root))
        return;
    papers_reset(&query->papers);
    service->read(&query->papers, root);
    json_decref(root);
    chain_answered(&query->base.chain, query->papers.count);
}

/* A parameter without a value is left out. */
struct parameter {
    const char *name, *value;
};

static void request(struct scholar_query *query, enum scholar_backend id, const struct parameter *parameters,
                    struct http_options *options, http_done_fn done)
{
    struct scholar_tool *tool = query->call->tool;
    struct buf url;
    buf_init(&url, BUF_UNBOUNDED);
    buf_add_text(&url, tool->url[id]);
    for (const struct parameter *parameter = parameters; parameter->name; parameter++) {
        if (parameter->value && url_add_query(&url, str_of(parameter->name), str_of(parameter->value)) != STATUS_OK)
            abort(); /* the buffer has no cap */
    }
    options->traffic = HTTP_CONFIGURED;
    options->url = url.data;
    options->total_timeout_ms = tool->request_timeout_ms;
    options->max_body = WEB_MAX_RESPONSE;
    options->accept_encoding = true;
    tool_request(query->call->run, options, done, query);
    buf_finish(&url);
}

struct count {
    char digits[24];
};

static const char *count_of(struct count *count, const struct scholar_query *query)
{
    snprintf(count->digits, sizeof count->digits, "%zu", query->call->tool->n_results);
    return count->digits;
}

/* The query with blanks for all characters of `marks`, which mean something to a service; the caller frees it. A last
 * quote without its fellow goes too, as it makes no phrase. */
static char *make_plain(const struct scholar_query *query, const char *marks)
{
    char *text = mem_strdup(query->base.text), *last = NULL;
    bool open = false;
    for (char *c = text; *c; c++) {
        if (strchr(marks, *c))
            *c = ' ';
        last = *c == '"' ? c : last;
        open = open != (*c == '"');
    }
    if (open)
        *last = ' ';
    return text;
}

static bool says(const json_t *root, const char *words)
{
    return str_find_nocase(web_answer_words(root), str_of(words), 0) != STR_NONE;
}

/* ---- Serper: POST {"q"} with the key in X-API-KEY ---- */

/* A used up account is told as 400. */
static enum web_fault judge_serper(const struct http_response *response, const json_t *root, enum web_fault usual)
{
    return response->code == 400 && says(root, "not enough credits") ? WEB_USED_UP : usual;
}

static const struct service serper = {
    .id = SCHOLAR_SERPER,
    .web = {.name = "Serper",
            .denied = "check SERPER_API_KEY",
            .used_up = "the account has no credits left: buy some, or choose other services with --scholar",
            .busy = "wait, or use an account with a higher rate",
            .judge = judge_serper},
    .read = papers_read_serper,
};

static void on_serper(void *user, struct http_response *response)
{
    take_answer(user, response, &serper);
}

static void ask_serper(void *user)
{
    struct scholar_query *query = user;
    json_t *ask = json_object();
    json_put_str(ask, "q", str_of(query->base.text));
    if (query->call->tool->n_results != SCHOLAR_DEFAULT_RESULTS)
        json_put(ask, "num", json_integer((json_int_t)query->call->tool->n_results));
    char *body = json_to_text(ask);
    const struct http_header headers[] = {{"Content-Type", "application/json"},
                                          {"X-API-KEY", key_of(query, SCHOLAR_SERPER)}};
    const struct parameter none[] = {{NULL, NULL}};
    struct http_options options = {.headers = headers, .n_headers = 2, .body = str_of(body)};
    request(query, SCHOLAR_SERPER, none, &options, on_serper);
    free(body);
    json_decref(ask);
}

/* ---- OpenAlex (https://developers.openalex.org/api-reference/authentication) ----
 * "?" and "*" are wildcards there and refused (400) behind short words, so that questions must go without their mark;
 * "~" asks for similar words (https://developers.openalex.org/guides/searching). */

/* 403 is "slow down". 429 is that too, but mostly that the day's allowance is gone: then the header says that nothing
 * remains, or the words name the budget, and Retry-After counts to midnight UTC. */
static enum web_fault judge_openalex(const struct http_response *response, const json_t *root, enum web_fault usual)
{
    if (response->code == 403)
        return WEB_BUSY;
    const char *remaining = http_response_header(response, "X-RateLimit-Remaining");
    bool none_left = remaining && str_equal(str_of(remaining), STR("0"));
    if (response->code == 429 && (none_left || says(root, "budget") || says(root, "daily")))
        return WEB_USED_UP;
    return usual;
}

static const struct service openalex = {
    .id = SCHOLAR_OPENALEX,
    .web = {.name = "OpenAlex",
            .denied = "check OPENALEX_API_KEY",
            .used_up = "the day's allowance is used up until midnight UTC: a free key gives ten times as much "
                       "(OPENALEX_API_KEY, from openalex.org/settings/api)",
            .busy = "it wants fewer requests at once",
            .judge = judge_openalex},
    .read = papers_read_openalex,
};

static void on_openalex(void *user, struct http_response *response)
{
    take_answer(user, response, &openalex);
}

static void ask_openalex(void *user)
{
    struct scholar_query *query = user;
    struct count count;
    char *text = make_plain(query, "?*~!|");
    const struct parameter parameters[] = {
        {"search", text},
        {"per-page", count_of(&count, query)},
        {"select", "id,doi,display_name,publication_year,cited_by_count,authorships,primary_location,best_oa_location,"
                   "abstract_inverted_index"},
        {"mailto", query->call->tool->mailto},
        {"api_key", key_of(query, SCHOLAR_OPENALEX)},
        {NULL, NULL},
    };
    struct http_options options = {0};
    request(query, SCHOLAR_OPENALEX, parameters, &options, on_openalex);
    free(text);
}

/* ---- Semantic Scholar (https://api.semanticscholar.org/api-docs/graph, "paper/search") ----
 * There is no query syntax, and terms with a hyphen match nothing: they are to be sent as two words. */

static const struct service semantic_scholar = {
    .id = SCHOLAR_SEMANTIC_SCHOLAR,
    .web = {.name = "Semantic Scholar",
            .denied = "check SEMANTIC_SCHOLAR_API_KEY",
            .used_up = "the account's allowance is used up",
            .busy = "without a key all users share one rate; SEMANTIC_SCHOLAR_API_KEY gives one of your own"},
    .read = papers_read_semantic_scholar,
};

static void on_semantic_scholar(void *user, struct http_response *response)
{
    take_answer(user, response, &semantic_scholar);
}

static void ask_semantic_scholar(void *user)
{
    struct scholar_query *query = user;
    const char *key = key_of(query, SCHOLAR_SEMANTIC_SCHOLAR);
    struct count count;
    char *text = make_plain(query, "-\"");
    const struct parameter parameters[] = {
        {"query", text},
        {"limit", count_of(&count, query)},
        {"fields", "title,url,abstract,year,venue,authors,citationCount,openAccessPdf,externalIds"},
        {NULL, NULL},
    };
    const struct http_header headers[] = {{"x-api-key", key}};
    struct http_options options = {.headers = headers, .n_headers = key ? 1 : 0};
    request(query, SCHOLAR_SEMANTIC_SCHOLAR, parameters, &options, on_semantic_scholar);
    free(text);
}

/* ---- Crossref (https://www.crossref.org/documentation/retrieve-metadata/rest-api/) ---- */

static const struct service crossref = {
    .id = SCHOLAR_CROSSREF,
    .web = {.name = "Crossref",
            .denied = "it blocks this address: --scholar-mailto tells it whom to write to",
            .used_up = "it takes no more requests of this address",
            .busy = "it gives those a better rate who name a mail address: --scholar-mailto"},
    .read = papers_read_crossref,
};

static void on_crossref(void *user, struct http_response *response)
{
    take_answer(user, response, &crossref);
}

static void ask_crossref(void *user)
{
    struct scholar_query *query = user;
    struct count count;
    const struct parameter parameters[] = {
        {"query", query->base.text},
        {"rows", count_of(&count, query)},
        {"select", "DOI,URL,title,author,editor,container-title,publisher,issued,is-referenced-by-count,abstract,link"},
        {"mailto", query->call->tool->mailto},
        {NULL, NULL},
    };
    struct http_options options = {0};
    request(query, SCHOLAR_CROSSREF, parameters, &options, on_crossref);
}

/* ---- arXiv (https://info.arxiv.org/help/api/user-manual.html) ---- */

static const struct web_service arxiv = {
    .name = "arXiv",
    .denied = "it blocks this address",
    .used_up = "it takes no more requests of this address",
    .busy = "it wants a request every three seconds; other programs at this address count too",
};

static void fail_unreadable(struct chain *chain, const char *why)
{
    chain_fail(chain,
               "the search service sent something that is no list of papers. Try again later, or go on with pages you "
               "already know.",
               "arXiv sent an answer that cannot be read: %s", why);
    chain->failure.may_pass = true;
    chain_failed(chain);
}

static void on_arxiv(void *user, struct http_response *response)
{
    struct scholar_query *query = user;
    struct error error;
    struct str body;
    if (!web_answer_text(&query->base.chain, response, &arxiv, NULL, &body))
        return;
    papers_reset(&query->papers);
    enum status status = papers_read_arxiv(&query->papers, body, &error);
    if (status == STATUS_OK)
        chain_answered(&query->base.chain, query->papers.count);
    else if (status == STATUS_UNSUPPORTED)
        web_answer_fault(&query->base.chain, response, &arxiv, NULL, WEB_REJECTED, str_of(error.message));
    else if (str_starts_with_nocase(str_trim(body), STR("Rate exceeded"))) /* also with 200 */
        web_answer_fault(&query->base.chain, response, &arxiv, NULL, WEB_BUSY, STR(""));
    else
        fail_unreadable(&query->base.chain, error.message);
}

static void add_term(struct buf *out, struct str term, bool phrase)
{
    buf_add_text(out, out->len > 0 ? " AND all:" : "all:");
    buf_add_text(out, phrase ? "\"" : "");
    buf_add(out, term);
    buf_add_text(out, phrase ? "\"" : "");
}

/* Words only: brackets, colons and the like have a meaning in arXiv's syntax. */
static void add_words(struct buf *out, struct str text, bool phrase)
{
    struct words words;
    struct word word;
    struct buf together;
    buf_init(&together, BUF_UNBOUNDED);
    words_init(&words, text);
    words.keep_stop_words = phrase;
    for (size_t end = 0; words_next(&words, &word);) {
        if (word.from < end)
            continue; /* a compound of words that came, or half of a pair of characters */
        end = word.to;
        struct str term = str_slice(text, word.from, word.to);
        if (!phrase) {
            add_term(out, term, false);
            continue;
        }
        buf_add_text(&together, together.len > 0 ? " " : "");
        buf_add(&together, term);
    }
    if (together.len > 0)
        add_term(out, buf_str(&together), true);
    buf_finish(&together);
}

void scholar_arxiv_terms(struct buf *out, struct str query)
{
    bool phrase = false;
    for (struct str piece; str_split_next(&query, '"', &piece); phrase = !phrase)
        add_words(out, piece, phrase);
}

static void ask_arxiv(void *user)
{
    struct scholar_query *query = user;
    struct count count;
    struct buf terms;
    buf_init(&terms, BUF_UNBOUNDED);
    scholar_arxiv_terms(&terms, str_of(query->base.text));
    const struct parameter parameters[] = {
        {"search_query", terms.len > 0 ? terms.data : query->base.text},
        {"start", "0"},
        {"max_results", count_of(&count, query)},
        {"sortBy", "relevance"},
        {"sortOrder", "descending"},
        {NULL, NULL},
    };
    struct http_options options = {0};
    request(query, SCHOLAR_ARXIV, parameters, &options, on_arxiv);
    buf_finish(&terms);
}

/* ---- all of them ---- */

struct chain_backend scholar_service(enum scholar_backend backend, const struct scholar_options *options)
{
    struct chain_backend service = {.name = scholar_backend_name(backend)};
    switch (backend) {
    case SCHOLAR_SERPER:
        service.ask = ask_serper;
        break;
    case SCHOLAR_OPENALEX:
        service.ask = ask_openalex;
        break;
    case SCHOLAR_SEMANTIC_SCHOLAR:
        service.ask = ask_semantic_scholar;
        service.gap_ms = 1000;
        break;
    case SCHOLAR_CROSSREF: /* lists: one a second, three with a mail address */
        service.ask = ask_crossref;
        service.gap_ms = options->mailto ? 350 : 1000;
        break;
    case SCHOLAR_ARXIV:
        service.ask = ask_arxiv;
        service.gap_ms = 3000;
        break;
    case SCHOLAR_BACKENDS:
        break;
    }
    if (service.gap_ms > 0 && options->gap_ms > 0)
        service.gap_ms = options->gap_ms;
    return service;
}
