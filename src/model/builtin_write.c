/* The next completion: a search, a visit of what was found, perhaps once more of both, and the answer in sentences of
 * the pages. What stands in it of others' text is quoted, and no quotation can open or close a tag. */
#include "model/builtin_internal.h"

#include <stdlib.h>
#include <string.h>

#include "core/json.h"
#include "core/mem.h"
#include "core/utf8.h"
#include "text/evidence.h"
#include "text/markdown.h"

#define MAX_SEARCHES    2
#define MAX_VISITS      2
#define PAGES_PER_VISIT 6
#define QUESTION_WORDS  200
#define MAX_SENTENCES   12  /* ranked */
#define MAX_QUOTES      4   /* shown */
#define WEAK_SCORE      0.6 /* of the best sentence's; below, a sentence is not shown */
#define QUOTE_BYTES     700
#define GOOD_COVERAGE   0.75 /* share of the question in the best sentences, from which on no more is read */
#define SNIPPET_ENOUGH  0.2  /* the coverage to answer with where only snippets are known, which hold little */

/* ---- writing ---- */

/* Text of others inside our own: one line, with tags made harmless. */
static void add_quoted(struct buf *out, struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.data[i], next = i + 1 < text.len ? text.data[i + 1] : ' ';
        if (c == '<' && (next == '/' || ascii_is_alpha(next) || next == '|'))
            buf_add_text(out, "&lt;");
        else
            buf_add_char(out, c == '\n' || c == '\r' || c == '\t' ? ' ' : c);
    }
}

static void add_json_string(struct buf *out, struct str text)
{
    struct buf escaped;
    buf_init(&escaped, BUF_UNBOUNDED);
    if (json_escape(&escaped, text) != STATUS_OK)
        abort();
    buf_add_char(out, '"');
    for (size_t i = 0; i < escaped.len; i++) {
        if (escaped.data[i] == '<')
            buf_add_text(out, "\\u003c");
        else
            buf_add_char(out, escaped.data[i]);
    }
    buf_add_char(out, '"');
    buf_finish(&escaped);
}

static void begin_call(struct buf *out, const char *tool, const char *argument)
{
    buf_addf(out, "<tool_call>\n{\"name\": \"%s\", \"arguments\": {\"%s\": [", tool, argument);
}

static void write_search(const struct queries *queries, const char *thought, struct buf *out)
{
    buf_addf(out, "<think>\n%s\n</think>\n", thought);
    begin_call(out, "search", "query");
    for (size_t i = 0; i < queries->count; i++) {
        buf_add_text(out, i ? ", " : "");
        add_json_string(out, str_of(queries->items[i]));
    }
    buf_add_text(out, "]}}\n</tool_call>");
}

/* ---- what was found ---- */

/* Sentences and where they come from: pages that were read, or what the searches showed of them. */
struct findings {
    struct buf *texts; /* of the sources, where they are not the reader's own */
    struct evidence_source *sources;
    struct str *urls;
    size_t n_sources;
    struct evidence best[MAX_SENTENCES];
    size_t n_best;
    double coverage;
    size_t n_words; /* of the question, that matter */
};

static void findings_finish(struct findings *findings)
{
    for (size_t i = 0; i < findings->n_sources; i++)
        buf_finish(&findings->texts[i]);
    free(findings->texts);
    free(findings->sources);
    free(findings->urls);
}

static const struct reader_result *result_of(const struct reader *reader, struct str url)
{
    for (size_t i = 0; i < reader->n_results; i++)
        if (str_equal(reader->results[i].url, url))
            return &reader->results[i];
    return NULL;
}

static double best_weight(const struct reader *reader)
{
    double best = 0;
    for (size_t i = 0; i < reader->n_results; i++)
        best = reader->results[i].weight > best ? reader->results[i].weight : best;
    return best;
}

/* Evidence without the lines that only say that something is left out, and with those that say where a passage stands
 * ("[Options > Output]") as the headings they are: no sentence goes across them. */
static void add_evidence(struct buf *out, struct str evidence)
{
    struct str rest = evidence, line;
    bool in_code = false;
    while (str_split_next(&rest, '\n', &line)) {
        struct str bare = str_trim(line);
        bool place = str_starts_with(bare, STR("[")) && str_ends_with(bare, STR("]"));
        bool gap = str_equal(bare, STR("…"));
        if (gap && in_code) { /* a passage that ends within code */
            buf_add_text(out, "```\n");
            in_code = false;
        }
        in_code ^= str_starts_with(bare, STR("```")) || str_starts_with(bare, STR(": ```"));
        if (place && !in_code) {
            buf_add_text(out, "\n# ");
            buf_add(out, str_slice(bare, 1, bare.len - 1));
        } else if (!gap) {
            buf_add(out, line);
        }
        buf_add_char(out, '\n');
    }
}

static struct buf *begin_source(struct findings *findings, struct str url, struct str title, double trust)
{
    size_t index = findings->n_sources++;
    findings->urls[index] = url;
    findings->sources[index] = (struct evidence_source){.title = title, .trust = trust};
    buf_init(&findings->texts[index], BUF_UNBOUNDED);
    return &findings->texts[index];
}

static void collect_pages(const struct reader *reader, struct findings *findings)
{
    double best = best_weight(reader);
    for (size_t i = 0; i < reader->n_pages; i++) {
        const struct reader_page *page = &reader->pages[i];
        const struct reader_result *result = result_of(reader, page->url);
        struct str title = page->title.len ? page->title : result ? result->title : page->url;
        double trust = result && best > 0 ? result->weight / best : 0;
        struct buf *text = begin_source(findings, page->url, title, trust);
        add_evidence(text, page->evidence.len ? page->evidence : page->summary);
    }
}

static void collect_snippets(const struct reader *reader, struct findings *findings)
{
    double best = best_weight(reader);
    for (size_t i = 0; i < reader->n_results; i++) {
        const struct reader_result *result = &reader->results[i];
        buf_add(begin_source(findings, result->url, result->title, result->weight / best), result->snippet);
    }
}

/* Takes the best sentences of everything that was read; of what searches showed, when nothing was. */
static void find_best(const struct reader *reader, struct findings *findings)
{
    *findings = (struct findings){0};
    findings->texts = mem_calloc(READER_MAX_PAGES + READER_MAX_RESULTS, sizeof *findings->texts);
    findings->sources = mem_calloc(READER_MAX_PAGES + READER_MAX_RESULTS, sizeof *findings->sources);
    findings->urls = mem_calloc(READER_MAX_PAGES + READER_MAX_RESULTS, sizeof *findings->urls);
    collect_pages(reader, findings);
    if (!findings->n_sources)
        collect_snippets(reader, findings);
    for (size_t i = 0; i < findings->n_sources; i++)
        findings->sources[i].text = buf_str(&findings->texts[i]);
    struct buf terms;
    buf_init(&terms, BUF_UNBOUNDED);
    findings->n_words = query_content_words(reader->question, QUESTION_WORDS, &terms);
    struct evidence_query query = {.terms = buf_str(&terms),
                                   .type = query_answer_type(reader->question),
                                   .kind = query_answer_kind(reader->question)};
    findings->n_best = evidence_find(findings->sources, findings->n_sources, &query, findings->best, MAX_SENTENCES);
    for (size_t i = 0; i < findings->n_best && i < MAX_QUOTES; i++)
        if (findings->best[i].coverage > findings->coverage)
            findings->coverage = findings->best[i].coverage;
    buf_finish(&terms);
}

/* ---- visiting ---- */

struct candidate {
    const struct reader_result *result;
    double score;
    size_t order;
};

static int by_candidate(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    if (x->score != y->score)
        return x->score < y->score ? 1 : -1;
    return x->order < y->order ? -1 : x->order > y->order;
}

/* The results that are worth reading and have not been read, best first: where they stood in the lists, and how well
 * title and snippet fit the question. Returns how many. */
static size_t choose_pages(const struct reader *reader, struct candidate *out, size_t limit)
{
    struct candidate *all = mem_calloc(READER_MAX_RESULTS, sizeof *all);
    size_t count = 0;
    for (size_t i = 0; i < reader->n_results; i++) {
        const struct reader_result *result = &reader->results[i];
        if (reader_was_visited(reader, result->url))
            continue;
        struct buf about;
        buf_init(&about, BUF_UNBOUNDED);
        buf_add(&about, result->title);
        buf_add_char(&about, ' ');
        buf_add(&about, result->snippet);
        double title = query_coverage(reader->question, result->title);
        double fit = query_coverage(reader->question, buf_str(&about));
        all[count++] = (struct candidate){result, result->weight + 0.6 * fit + 0.4 * title, i};
        buf_finish(&about);
    }
    qsort(all, count, sizeof *all, by_candidate);
    count = count < limit ? count : limit;
    memcpy(out, all, count * sizeof *out);
    free(all);
    return count;
}

static bool write_visit(const struct reader *reader, struct buf *out)
{
    struct candidate chosen[PAGES_PER_VISIT];
    size_t count = choose_pages(reader, chosen, PAGES_PER_VISIT);
    if (!count)
        return false;
    buf_addf(
        out,
        "<think>\nThe searches listed %zu different pages. The most promising ones, by the question's words in title "
        "and snippet and by their place in the lists, are read now.\n</think>\n",
        reader->n_results);
    begin_call(out, "visit", "url");
    for (size_t i = 0; i < count; i++) {
        buf_add_text(out, i ? ", " : "");
        add_json_string(out, chosen[i].result->url);
    }
    buf_add_text(out, "], \"goal\": ");
    add_json_string(out, str_slice(reader->question, 0, utf8_floor(reader->question, 1000)));
    buf_add_text(out, "}}\n</tool_call>");
    return true;
}

/* ---- answering ---- */

static void add_quote(struct buf *out, const struct evidence *evidence)
{
    struct buf line;
    buf_init(&line, QUOTE_BYTES);
    bool fits = true;
    if (evidence->term.len)
        fits = markdown_to_line(evidence->term, &line) == STATUS_OK && buf_append_str(&line, STR(": ")) == STATUS_OK;
    fits = fits && markdown_to_line(evidence->quote, &line) == STATUS_OK;
    add_quoted(out, buf_str(&line));
    if (!fits)
        buf_add_text(out, " …");
    buf_finish(&line);
}

/* Writes the sentences, each with the link of its page. */
static void write_quotes(const struct findings *findings, struct buf *out)
{
    for (size_t i = 0; i < findings->n_best && i < MAX_QUOTES; i++) {
        const struct evidence *evidence = &findings->best[i];
        if (evidence->score < findings->best[0].score * WEAK_SCORE)
            break;
        add_quote(out, evidence);
        buf_add_text(out, " (");
        add_quoted(out, findings->urls[evidence->source]);
        buf_add_text(out, ")\n\n");
    }
}

static void write_nothing(const struct reader *reader, struct buf *out)
{
    if (!reader->has_search && !reader->has_visit) {
        buf_add_text(
            out, "No passage found: this run has no tool to search or read with, and the built-in reader knows nothing "
                 "by itself.");
        return;
    }
    buf_add_text(out, "No passage found that bears on the question.");
    if (reader->n_queries) {
        buf_add_text(out, " Searched for: ");
        for (size_t i = 0; i < reader->n_queries; i++) {
            buf_add_text(out, i ? "; " : "");
            add_quoted(out, str_of(reader->queries[i]));
        }
        buf_addf(out, ". Results: %zu; pages read: %zu.", reader->n_results, reader->n_pages);
    }
}

/* The coverage below which nothing was found. One word of three stands in some sentence by chance, three of ten do not;
 * measured on questions that the pages cannot answer. */
static double enough_coverage(const struct reader *reader, const struct findings *findings)
{
    double enough = 0.7 - 0.05 * (double)findings->n_words;
    enough = enough < 0.25 ? 0.25 : enough > 0.5 ? 0.5 : enough;
    return reader->n_pages ? enough : SNIPPET_ENOUGH;
}

static void write_answer(const struct reader *reader, const struct findings *findings, struct buf *out)
{
    bool found = findings->n_best > 0 && findings->coverage >= enough_coverage(reader, findings);
    buf_add_text(out, "<think>\nThis is the built-in extractive reader; no language model is at work. ");
    if (found)
        buf_addf(
            out,
            "Of %zu pages read and %zu results listed, the sentences that share most with the question are quoted; "
            "they and what they stand in hold %.0f of 100 parts of it.",
            reader->n_pages, reader->n_results, 100 * findings->coverage);
    else
        buf_addf(out, "Nothing that was found bears on the question: the best sentence holds %.0f of 100 parts of it.",
                 100 * findings->coverage);
    buf_add_text(out, "\n</think>\n<answer>\n");
    if (found) {
        write_quotes(findings, out);
        buf_add_text(out, "Quoted word for word by the built-in extractive reader, without a language model.");
    } else {
        write_nothing(reader, out);
    }
    buf_add_text(out, "\n</answer>");
}

/* ---- deciding ---- */

static bool try_first_search(struct reader *reader, struct buf *out)
{
    struct queries queries;
    reader_queries_make(reader->question, &queries);
    bool possible = queries.count > 0;
    if (possible)
        write_search(
            &queries,
            "This is the built-in extractive reader: no language model, it finds sentences and quotes them. First a "
            "search with the question's words of content, its names, and the question itself; then the best pages are "
            "read, and what they say is answered with.",
            out);
    reader_queries_finish(&queries);
    return possible;
}

static bool try_wider_search(struct reader *reader, struct buf *out)
{
    struct queries queries;
    reader_queries_widen(reader, &queries);
    bool possible = queries.count > 0;
    if (possible)
        write_search(
            &queries,
            "What was found so far has too few of the question's words. One more search, with its names and with words "
            "that the results have in common.",
            out);
    reader_queries_finish(&queries);
    return possible;
}

/* Without a search tool, addresses in the question can still be read. */
static void take_addresses(struct reader *reader)
{
    struct str rest = reader->question, word;
    while (reader->n_results < 10 && str_split_next(&rest, ' ', &word)) {
        word = str_trim(word);
        while (word.len && strchr(".,;?!)\"'", word.data[word.len - 1]))
            word.len--;
        bool address = str_starts_with(word, STR("http://")) || str_starts_with(word, STR("https://")) ||
                       str_starts_with(word, STR("corpus://"));
        if (address)
            reader->results[reader->n_results++] =
                (struct reader_result){.url = word, .title = word, .found = 1, .weight = 1};
    }
}

static bool write_call(struct reader *reader, const struct findings *findings, struct buf *out)
{
    if (reader->demanded)
        return false;
    if (reader->has_visit && !reader->n_visits && !reader->n_searches)
        take_addresses(reader);
    if (reader->has_search && !reader->n_searches && !(reader->n_results && reader->has_visit))
        return try_first_search(reader, out);
    if (findings->coverage >= GOOD_COVERAGE && reader->n_pages > 0)
        return false;
    bool visit_is_due = reader->n_visits < reader->n_searches || !reader->n_visits;
    if (reader->has_visit && visit_is_due && reader->n_visits < MAX_VISITS && write_visit(reader, out))
        return true;
    if (reader->has_search && reader->n_searches < MAX_SEARCHES)
        return try_wider_search(reader, out);
    return false;
}

void reader_write(struct reader *reader, struct buf *out)
{
    struct findings findings;
    find_best(reader, &findings);
    if (!write_call(reader, &findings, out))
        write_answer(reader, &findings, out);
    findings_finish(&findings);
}
