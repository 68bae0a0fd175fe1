/* Search queries from a question, without understanding it: what is left when the words every question has are taken
 * away, what is spelled like a name, and the question itself. */
#include "model/builtin_internal.h"

#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/utf8.h"
#include "text/words.h"

#define WORDS_PER_QUERY 14
#define LONG_QUESTION   28 /* words; a longer one is asked in parts */
#define MAX_TERMS       4096

/* Words that ask, and words about asking: they say nothing of what is looked for. */
static bool is_asking_word(struct str word)
{
    static const char *const words[] = {
        "what",   "which",    "who",     "whom",     "whose",     "when",    "where",  "why",   "how",      "does",
        "do",     "did",      "is",      "are",      "was",       "were",    "be",     "been",  "the",      "a",
        "an",     "of",       "in",      "on",       "to",        "for",     "and",    "or",    "by",       "with",
        "at",     "from",     "as",      "that",     "this",      "these",   "those",  "it",    "its",      "if",
        "can",    "could",    "will",    "would",    "should",    "has",     "have",   "had",   "there",    "their",
        "they",   "he",       "she",     "his",      "her",       "i",       "me",     "my",    "you",      "your",
        "we",     "our",      "us",      "please",   "tell",      "give",    "name",   "find",  "identify", "know",
        "answer", "question", "explain", "describe", "many",      "much",    "may",    "into",  "than",     "then",
        "also",   "not",      "but",     "about",    "being",     "so",      "such",   "any",   "exactly",  "called",
        "mean",   "means",    "make",    "makes",    "say",       "says",    "used",   "use",   "get",      "need",
        "needs",  "let",      "lets",    "gives",    "given",     "tells",   "keep",   "keeps", "happens",  "happen",
        "nobody", "somebody", "someone", "anybody",  "something", "between", "before",
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (str_equal_ascii_nocase(word, str_of(words[i])))
            return true;
    return false;
}

/* Chinese, Japanese and Korean question words and particles, which stand between words without blanks. */
static size_t asking_phrase(struct str text)
{
    static const char *const phrases[] = {
        /* the longer before those they begin with */
        "是什么时候", "什么时候", "是什么", "为什么", "什么",   "哪一个", "哪一年", "哪一",   "哪个",   "哪些",
        "哪里",       "哪位",     "哪年",   "有多少", "多少",   "有多长", "有多大", "有多高", "有多远", "多长",
        "多大",       "多高",     "多远",   "多久",   "怎么样", "怎么",   "如何",   "请问",   "是谁",   "谁",
        "是否",       "是哪里",   "是哪",   "在哪里", "在哪",   "哪",     "几",     "吗",     "呢",     "请",
        "的",         "何ですか", "ですか", "どの",   "だれ",   "誰",     "무엇",   "어떤"};
    for (size_t i = 0; i < sizeof phrases / sizeof *phrases; i++)
        if (str_starts_with(text, str_of(phrases[i])))
            return strlen(phrases[i]);
    return 0;
}

static bool is_wide_punctuation(uint32_t c)
{
    return (c >= 0x3000 && c <= 0x3020) || (c >= 0xFF00 && c <= 0xFF0F) || (c >= 0xFF1A && c <= 0xFF20) ||
           c == 0x2018 || c == 0x2019 || c == 0x201C || c == 0x201D || c == 0x2026 || c == 0x00BF || c == 0x00A1;
}

/* Whether an ASCII byte belongs into a word as it is searched for: "open(2)", "O_EXCL", "libc.so.6", "C++". */
static bool is_word_byte(char c)
{
    return (unsigned char)c >= 0x80 || ascii_is_alnum(c) || strchr("_-+#./()@:'", c) != NULL;
}

/* Takes marks off the ends of a word: "(fails)" is fails, but "open(2)" stays. */
static struct str strip_marks(struct str word)
{
    while (word.len && strchr("-./(:'@", word.data[0]))
        word = str_slice(word, 1, word.len);
    for (;;) {
        char last = word.len ? word.data[word.len - 1] : 'x';
        bool opened = str_find_char(word, '(', 0) != STR_NONE;
        if (strchr("-./(:'@", last) || (last == ')' && !opened))
            word.len--;
        else
            break;
    }
    if (str_ends_with(word, STR("'s")))
        word.len -= 2;
    return word;
}

/* The next word of `rest`; wide punctuation and question phrases count as blanks. False at the end. */
static bool next_word(struct str *rest, struct str *word)
{
    size_t start = STR_NONE, at = 0;
    while (at < rest->len) {
        size_t length, phrase = 0;
        struct str here = str_slice(*rest, at, rest->len);
        uint32_t c = utf8_decode(here, &length);
        if (c >= 0x80)
            phrase = asking_phrase(here);
        bool inside = c < 0x80 ? is_word_byte((char)c) : c != UTF8_INVALID && !is_wide_punctuation(c) && !phrase;
        if (inside && start == STR_NONE)
            start = at;
        if (!inside && start != STR_NONE)
            break;
        at += phrase ? phrase : length;
    }
    if (start == STR_NONE)
        return false;
    *word = strip_marks(str_slice(*rest, start, at));
    *rest = str_slice(*rest, at, rest->len);
    return true;
}

size_t query_content_words(struct str text, size_t max_words, struct buf *out)
{
    size_t count = 0;
    struct str rest = text, word;
    while (count < max_words && next_word(&rest, &word)) {
        if (!word.len || is_asking_word(word))
            continue;
        if (count)
            buf_add_char(out, ' ');
        buf_add(out, word);
        count++;
    }
    return count;
}

static size_t count_words(struct str text)
{
    size_t count = 0;
    struct str rest = text, word;
    while (next_word(&rest, &word))
        count += word.len > 0;
    return count;
}

/* ---- names ---- */

static bool is_upper(char c)
{
    return c >= 'A' && c <= 'Z';
}

/* Whether a word is spelled as names and identifiers are. A capital at the start of a sentence proves nothing. */
static bool is_name(struct str word, bool sentence_start)
{
    bool digit = false, inner_upper = false, mark = false;
    for (size_t i = 0; i < word.len; i++) {
        digit |= ascii_is_digit(word.data[i]);
        inner_upper |= i > 0 && is_upper(word.data[i]);
        mark |= strchr("_()+#@", word.data[i]) != NULL;
    }
    return word.len > 1 && (digit || inner_upper || mark || (is_upper(word.data[0]) && !sentence_start));
}

static void add_name(struct buf *out, struct str name, size_t *count)
{
    if (*count)
        buf_add_char(out, ' ');
    buf_add(out, name);
    ++*count;
}

/* Text between quotation marks of any kind, as a phrase. */
static void add_quoted(struct str question, struct buf *out, size_t *count)
{
    static const struct {
        const char *open, *close;
    } marks[] = {{"\"", "\""},
                 {"\xE2\x80\x9C", "\xE2\x80\x9D"},
                 {"\xC2\xAB", "\xC2\xBB"},
                 {"\xE3\x80\x8A", "\xE3\x80\x8B"},
                 {"\xE3\x80\x8C", "\xE3\x80\x8D"},
                 {"`", "`"}};
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        size_t open = str_find(question, str_of(marks[i].open), 0);
        while (open != STR_NONE) {
            size_t from = open + strlen(marks[i].open), to = str_find(question, str_of(marks[i].close), from);
            if (to == STR_NONE)
                break;
            if (to > from + 1 && to - from < 120)
                add_name(out, str_slice(question, from, to), count);
            open = str_find(question, str_of(marks[i].open), to + strlen(marks[i].close));
        }
    }
}

static size_t add_names(struct str question, struct buf *out)
{
    size_t count = 0;
    add_quoted(question, out, &count);
    struct str rest = question, word;
    bool start = true;
    while (count < WORDS_PER_QUERY && next_word(&rest, &word)) {
        if (is_name(word, start) && !is_asking_word(word) && str_find(buf_str(out), word, 0) == STR_NONE)
            add_name(out, word, &count);
        start = rest.len > 1 && (rest.data[0] == '.' || rest.data[0] == '?' || rest.data[0] == '!');
    }
    return count;
}

/* ---- queries ---- */

static void add_query(struct queries *out, struct str text)
{
    text = str_trim(text);
    if (!text.len || out->count == QUERIES_MAX)
        return;
    for (size_t i = 0; i < out->count; i++)
        if (str_equal_ascii_nocase(str_of(out->items[i]), text))
            return;
    out->items[out->count++] = str_dup(str_slice(text, 0, utf8_floor(text, 300)));
}

static void add_content(struct queries *out, struct str text)
{
    struct buf words;
    buf_init(&words, BUF_UNBOUNDED);
    if (query_content_words(text, WORDS_PER_QUERY, &words))
        add_query(out, buf_str(&words));
    buf_finish(&words);
}

/* A long question is asked sentence by sentence: one query with all its words would find nothing. */
static void add_sentences(struct queries *out, struct str question)
{
    struct str rest = question;
    while (rest.len && out->count < QUERIES_MAX) {
        size_t end = 0;
        while (end < rest.len && !strchr(".?!;\n", rest.data[end]))
            end++;
        while (end + 1 < rest.len && rest.data[end] == '.' && !ascii_is_space(rest.data[end + 1]))
            for (end++; end < rest.len && !strchr(".?!;\n", rest.data[end]);)
                end++;
        struct str sentence = str_slice(rest, 0, end);
        if (count_words(sentence) >= 3)
            add_content(out, sentence);
        rest = str_slice(rest, end + 1, rest.len);
    }
}

void reader_queries_make(struct str question, struct queries *out)
{
    struct buf names;
    *out = (struct queries){0};
    buf_init(&names, BUF_UNBOUNDED);
    size_t n_names = add_names(question, &names);
    if (count_words(question) > LONG_QUESTION) {
        if (n_names >= 2)
            add_query(out, buf_str(&names));
        add_sentences(out, question);
    } else {
        add_content(out, question);
        if (n_names)
            add_query(out, buf_str(&names));
        add_query(out, str_slice(question, 0, utf8_floor(question, 300)));
    }
    buf_finish(&names);
}

void reader_queries_finish(struct queries *queries)
{
    for (size_t i = 0; i < queries->count; i++)
        free(queries->items[i]);
    *queries = (struct queries){0};
}

/* ---- what is asked for ---- */

/* Whether one of the phrases, divided by '|', stands in the text as whole words; Chinese ones anywhere. */
static bool has_phrase(struct str text, const char *phrases)
{
    struct str rest = str_of(phrases), phrase;
    while (str_split_next(&rest, '|', &phrase)) {
        for (size_t at = 0; (at = str_find_nocase(text, phrase, at)) != STR_NONE; at++) {
            size_t end = at + phrase.len;
            bool wide = (unsigned char)phrase.data[0] >= 0x80;
            bool whole =
                (at == 0 || !ascii_is_alnum(text.data[at - 1])) && (end == text.len || !ascii_is_alnum(text.data[end]));
            if (wide || whole)
                return true;
        }
    }
    return false;
}

enum answer_kind query_answer_kind(struct str question)
{
    static const struct {
        const char *phrases;
        enum answer_kind kind;
        bool at_start; /* further on, the word joins two clauses: "what happens when …" */
    } forms[] = {
        {"when", ANSWER_TIME, true},
        {"where", ANSWER_FILE, true},
        {"version|since when|what year|which year|what date|which date|什么时候|何时|哪一年|哪年|いつ", ANSWER_TIME,
         false},
        {"how many|how much|how long|how large|how big|how far|how fast|how often|how old|how high|how deep|maximum|"
         "minimum|at most|at least|longest|largest|smallest|what size|which size|default size|limit of|capacity|"
         "which values|what range|多少|几|多长|多大|多高|いくつ",
         ANSWER_NUMBER, false},
        {"which file|what file|which header|what header|which path|what path|which directory|what directory|"
         "哪个文件|哪里",
         ANSWER_FILE, false},
        {"which|what|who|whom|谁|哪个|哪些|哪位|誰|どの", ANSWER_NAME, false},
    };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        size_t length = strlen(forms[i].phrases);
        struct str start = str_slice(question, 0, length + 1);
        if (has_phrase(forms[i].at_start ? start : question, forms[i].phrases))
            return forms[i].kind;
    }
    return ANSWER_ANY;
}

struct str query_answer_type(struct str question)
{
    static const char *const askers[] = {"which", "what"};
    struct str rest = question, word;
    while (next_word(&rest, &word)) {
        bool asks = false;
        for (size_t i = 0; i < sizeof askers / sizeof *askers; i++)
            asks |= str_equal_ascii_nocase(word, str_of(askers[i]));
        if (asks && next_word(&rest, &word))
            return is_asking_word(word) ? (struct str){0} : word;
    }
    return (struct str){0};
}

/* ---- terms ---- */

struct term {
    char text[WORD_MAX_BYTES + 1];
    size_t count;
    struct str written;
};

static int by_text(const void *a, const void *b)
{
    return strcmp(((const struct term *)a)->text, ((const struct term *)b)->text);
}

/* The different terms of a text, sorted, each with how often it stands there. */
static size_t collect_terms(struct str text, struct term *terms, size_t max)
{
    struct words words;
    struct word word;
    size_t count = 0, unique = 0;
    words_init(&words, text);
    while (count < max && words_next(&words, &word)) {
        terms[count] = (struct term){.count = 1, .written = str_slice(text, word.from, word.to)};
        memcpy(terms[count].text, word.term, sizeof word.term);
        count++;
    }
    qsort(terms, count, sizeof *terms, by_text);
    for (size_t i = 0; i < count; i++) {
        if (unique && strcmp(terms[unique - 1].text, terms[i].text) == 0) {
            terms[unique - 1].count++;
            if (terms[i].written.data < terms[unique - 1].written.data) /* as it is written first */
                terms[unique - 1].written = terms[i].written;
        } else {
            terms[unique++] = terms[i];
        }
    }
    return unique;
}

double query_coverage(struct str question, struct str text)
{
    struct buf content;
    struct term *asked = mem_calloc(MAX_TERMS, sizeof *asked), *there = mem_calloc(MAX_TERMS, sizeof *there);
    buf_init(&content, BUF_UNBOUNDED);
    query_content_words(question, 200, &content);
    size_t n_asked = collect_terms(buf_str(&content), asked, MAX_TERMS);
    size_t n_there = collect_terms(text, there, MAX_TERMS), hits = 0;
    for (size_t i = 0; i < n_asked; i++)
        hits += bsearch(&asked[i], there, n_there, sizeof *there, by_text) != NULL;
    free(there);
    free(asked);
    buf_finish(&content);
    return n_asked ? (double)hits / (double)n_asked : 0;
}

void reader_queries_widen(const struct reader *reader, struct queries *out)
{
    *out = (struct queries){0};
    struct buf snippets, query;
    buf_init(&snippets, BUF_UNBOUNDED);
    buf_init(&query, BUF_UNBOUNDED);
    for (size_t i = 0; i < reader->n_results && i < 20; i++) {
        buf_add(&snippets, reader->results[i].title);
        buf_add_char(&snippets, '\n');
        buf_add(&snippets, str_slice(reader->results[i].snippet, 0, 600));
        buf_add_char(&snippets, '\n');
    }
    struct term *asked = mem_calloc(MAX_TERMS, sizeof *asked), *there = mem_calloc(MAX_TERMS, sizeof *there);
    size_t n_asked = collect_terms(reader->question, asked, MAX_TERMS);
    size_t n_there = collect_terms(buf_str(&snippets), there, MAX_TERMS);
    size_t used = add_names(reader->question, &query);
    if (!used)
        used = query_content_words(reader->question, 6, &query);
    for (int picked = 0; picked < 2; picked++) {
        struct term *best = NULL;
        for (size_t i = 0; i < n_there; i++) {
            bool known = bsearch(&there[i], asked, n_asked, sizeof *asked, by_text) != NULL;
            if (!known && there[i].count >= 3 && strlen(there[i].text) > 2 && (!best || there[i].count > best->count))
                best = &there[i];
        }
        if (!best)
            break;
        add_name(&query, best->written, &used);
        best->count = 0;
    }
    if (used && !reader_was_asked(reader, str_trim(buf_str(&query))))
        add_query(out, buf_str(&query));
    free(there);
    free(asked);
    buf_finish(&query);
    buf_finish(&snippets);
}
