/* The next completion: a search, a visit of what was found, perhaps once more of both, and the answer in sentences of
 * the pages. What stands in it of others' text is quoted, and no quotation can open or close a tag. */
#include "model/builtin_internal.h"

#include <stdlib.h>
#include <string.h>

#include "core/json.h"
#include "core/mem.h"
#include "core/utf8.h"
#include "text/markdown.h"
#include "text/rank.h"

#define MAX_SEARCHES    2
#define MAX_VISITS      2
#define PAGES_PER_VISIT 3
#define MAX_SENTENCES   12  /* ranked */
#define MAX_QUOTES      4   /* shown */
#define WEAK_SCORE      0.6 /* of the best sentence's; below, a sentence is not shown */
#define QUOTE_BYTES     700
#define GOOD_COVERAGE   0.6 /* share of the question's words in the best sentences, from which on no more is read */
#define ENOUGH_COVERAGE 0.25

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
struct source {
    struct str url, title;
    size_t from, to; /* in the collected text */
};

struct findings {
    struct buf text;
    struct source *sources;
    size_t n_sources;
    struct ranked_sentence best[MAX_SENTENCES];
    size_t n_best;
    double coverage;
};

static void findings_finish(struct findings *findings)
{
    buf_finish(&findings->text);
    free(findings->sources);
}

static struct str title_of(const struct reader *reader, const struct reader_page *page)
{
    if (page->title.len)
        return page->title;
    for (size_t i = 0; i < reader->n_results; i++)
        if (str_equal(reader->results[i].url, page->url))
            return reader->results[i].title;
    return page->url;
}

static struct source *begin_source(struct findings *findings, struct str url, struct str title)
{
    struct source *source = &findings->sources[findings->n_sources++];
    *source = (struct source){.url = url, .title = title, .from = findings->text.len};
    return source;
}

/* Evidence without the lines that only say where a passage stands ("[Options > Output]") or that something is left out:
 * no sentence goes across them. */
static void add_evidence(struct buf *out, struct str evidence)
{
    struct str rest = evidence, line;
    while (str_split_next(&rest, '\n', &line)) {
        struct str bare = str_trim(line);
        bool place = str_starts_with(bare, STR("[")) && str_ends_with(bare, STR("]"));
        if (!place && !str_equal(bare, STR("…")))
            buf_add(out, line);
        buf_add_char(out, '\n');
    }
}

static void collect_pages(const struct reader *reader, struct findings *findings)
{
    for (size_t i = 0; i < reader->n_pages; i++) {
        const struct reader_page *page = &reader->pages[i];
        struct source *source = begin_source(findings, page->url, title_of(reader, page));
        add_evidence(&findings->text, page->evidence.len ? page->evidence : page->summary);
        buf_add_text(&findings->text, "\n\n");
        source->to = findings->text.len;
    }
}

static void collect_snippets(const struct reader *reader, struct findings *findings)
{
    for (size_t i = 0; i < reader->n_results; i++) {
        const struct reader_result *result = &reader->results[i];
        struct source *source = begin_source(findings, result->url, result->title);
        buf_add(&findings->text, result->snippet);
        buf_add_text(&findings->text, "\n\n");
        source->to = findings->text.len;
    }
}

static const struct source *source_at(const struct findings *findings, size_t offset)
{
    for (size_t i = 0; i < findings->n_sources; i++)
        if (offset >= findings->sources[i].from && offset < findings->sources[i].to)
            return &findings->sources[i];
    return NULL;
}

/* A bullet is no term, and a definition is none either. */
static bool is_term(struct str term)
{
    bool word = false;
    for (size_t i = 0; i < term.len; i++)
        word |= ascii_is_alnum(term.data[i]);
    return term.len < 80 && (word || term.len > 3) && !str_starts_with(term, STR(": "));
}

/* The term that a definition explains, for a sentence inside one ("term\n: text\n  more text"): without it the sentence
 * says nothing of what it is about. */
static struct str defined_term(struct str text, size_t at)
{
    for (int lines = 0; lines < 40 && at > 0; lines++) {
        size_t start = at;
        while (start > 0 && text.data[start - 1] != '\n')
            start--;
        struct str line = str_slice(text, start, text.len);
        if (str_starts_with(line, STR(": "))) {
            size_t end = start ? start - 1 : 0, from = end;
            while (from > 0 && text.data[from - 1] != '\n')
                from--;
            struct str term = str_trim(str_slice(text, from, end));
            return is_term(term) ? term : (struct str){0};
        }
        if (start == 0 || !(str_starts_with(line, STR("  ")) || str_starts_with(line, STR("\n"))))
            return (struct str){0};
        at = start - 1;
    }
    return (struct str){0};
}

/* Splits a sentence that begins with the term it defines; the term of one that stands further inside its definition is
 * looked for above it. Empty when there is none. */
static struct str split_term(struct str text, const struct sentence *sentence, struct str *rest)
{
    *rest = str_slice(text, sentence->from, sentence->to);
    size_t split = str_find(*rest, STR("\n: "), 0);
    if (split != STR_NONE && split < 80) {
        struct str term = str_trim(str_slice(*rest, 0, split));
        *rest = str_slice(*rest, split + 3, rest->len);
        return is_term(term) ? term : (struct str){0};
    }
    struct str term = defined_term(text, sentence->from);
    if (str_starts_with(*rest, STR(": ")))
        *rest = str_slice(*rest, 2, rest->len);
    return term;
}

/* The names of the question that a page has in its title or address speak for its sentences. */
static double favour(const struct reader *reader, const struct source *source)
{
    struct buf about;
    buf_init(&about, BUF_UNBOUNDED);
    buf_add(&about, source->title);
    buf_add_char(&about, ' ');
    buf_add(&about, source->url);
    double covered = query_coverage(reader->question, buf_str(&about));
    buf_finish(&about);
    return 1 + covered;
}

static int by_score(const void *a, const void *b)
{
    const struct ranked_sentence *x = a, *y = b;
    if (x->score != y->score)
        return x->score < y->score ? 1 : -1;
    return x->sentence.from < y->sentence.from ? -1 : x->sentence.from > y->sentence.from;
}

/* Takes the best sentences of everything that was read; of what searches showed, when nothing was. */
static void find_best(struct reader *reader, struct findings *findings)
{
    *findings = (struct findings){0};
    buf_init(&findings->text, BUF_UNBOUNDED);
    findings->sources = mem_calloc(READER_MAX_PAGES + READER_MAX_RESULTS, sizeof *findings->sources);
    collect_pages(reader, findings);
    if (!findings->n_sources)
        collect_snippets(reader, findings);
    struct str text = buf_str(&findings->text);
    findings->n_best = rank_sentences(text, reader->question, findings->best, MAX_SENTENCES);
    for (size_t i = 0; i < findings->n_best; i++) {
        const struct source *source = source_at(findings, findings->best[i].sentence.from);
        findings->best[i].score *= source ? favour(reader, source) : 0;
        struct str quote, term = split_term(text, &findings->best[i].sentence, &quote);
        if (term.len) /* a definition of what is asked about */
            findings->best[i].score *= 1 + 0.8 * query_coverage(term, reader->question);
    }
    qsort(findings->best, findings->n_best, sizeof *findings->best, by_score);
    struct buf words;
    buf_init(&words, BUF_UNBOUNDED);
    for (size_t i = 0; i < findings->n_best && i < 3; i++) {
        const struct source *source = source_at(findings, findings->best[i].sentence.from);
        if (source)
            buf_add(&words, source->title);
        buf_add_char(&words, ' ');
        buf_add(&words, str_slice(text, findings->best[i].sentence.from, findings->best[i].sentence.to));
        buf_add_char(&words, '\n');
    }
    findings->coverage = query_coverage(reader->question, buf_str(&words));
    buf_finish(&words);
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

static void add_sentence(struct buf *out, struct str text, const struct sentence *sentence)
{
    struct buf line;
    buf_init(&line, QUOTE_BYTES);
    struct str quote, term = split_term(text, sentence, &quote);
    bool fits = true;
    if (term.len)
        fits = markdown_to_line(term, &line) == STATUS_OK && buf_append_str(&line, STR(": ")) == STATUS_OK;
    fits = fits && markdown_to_line(quote, &line) == STATUS_OK;
    add_quoted(out, buf_str(&line));
    if (!fits)
        buf_add_text(out, " …");
    buf_finish(&line);
}

/* Whether a sentence says what one that is shown says, or is a line of a program. */
static bool is_idle(const struct findings *findings, struct str quote, const size_t *shown, size_t n_shown)
{
    struct str text = buf_str(&findings->text), words = quote;
    size_t blanks = 0;
    for (size_t at = 0; (at = str_find_char(words, ' ', at)) != STR_NONE; at++)
        blanks++;
    bool spaced = quote.len > 0 && (unsigned char)quote.data[0] < 0x80;
    bool ended = quote.len > 0 && strchr(".!?:)\"'", quote.data[quote.len - 1]);
    if (str_ends_with(quote, STR(";")) || str_ends_with(quote, STR("{")) || (spaced && blanks < (ended ? 2 : 6)))
        return true;
    for (size_t i = 0; i < n_shown; i++) {
        const struct sentence *other = &findings->best[shown[i]].sentence;
        struct str earlier = str_slice(text, other->from, other->to);
        if (str_find(earlier, quote, 0) != STR_NONE || str_find(quote, earlier, 0) != STR_NONE)
            return true;
    }
    return false;
}

/* Writes the sentences, each with the link of its page. Returns how many. */
static size_t write_quotes(const struct findings *findings, struct buf *out)
{
    struct str text = buf_str(&findings->text);
    size_t shown[MAX_QUOTES], n_shown = 0;
    for (size_t i = 0; i < findings->n_best && n_shown < MAX_QUOTES; i++) {
        const struct ranked_sentence *ranked = &findings->best[i];
        const struct source *source = source_at(findings, ranked->sentence.from);
        struct str quote = str_slice(text, ranked->sentence.from, ranked->sentence.to);
        bool weak = n_shown && ranked->score < findings->best[shown[0]].score * WEAK_SCORE;
        if (!source || weak || is_idle(findings, quote, shown, n_shown))
            continue;
        add_sentence(out, text, &ranked->sentence);
        buf_add_text(out, " (");
        add_quoted(out, source->url);
        buf_add_text(out, ")\n\n");
        shown[n_shown++] = i;
    }
    return n_shown;
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

static void write_answer(const struct reader *reader, struct findings *findings, struct buf *out)
{
    bool found = findings->n_best > 0 && findings->coverage >= ENOUGH_COVERAGE;
    buf_add_text(out, "<think>\nThis is the built-in extractive reader; no language model is at work. ");
    if (found)
        buf_addf(
            out,
            "Of %zu pages read and %zu results listed, the sentences that share most with the question are quoted.",
            reader->n_pages, reader->n_results);
    else
        buf_add_text(out, "Nothing that was found bears on the question.");
    buf_add_text(out, "\n</think>\n<answer>\n");
    if (found && write_quotes(findings, out) > 0) {
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
    queries_make(reader->question, &queries);
    bool possible = queries.count > 0;
    if (possible)
        write_search(
            &queries,
            "This is the built-in extractive reader: no language model, it finds sentences and quotes them. First a "
            "search with the question's words of content, its names, and the question itself; then the best pages are "
            "read, and what they say is answered with.",
            out);
    queries_finish(&queries);
    return possible;
}

static bool try_wider_search(struct reader *reader, struct buf *out)
{
    struct queries queries;
    queries_widen(reader, &queries);
    bool possible = queries.count > 0;
    if (possible)
        write_search(
            &queries,
            "What was found so far has too few of the question's words. One more search, with its names and with words "
            "that the results have in common.",
            out);
    queries_finish(&queries);
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
