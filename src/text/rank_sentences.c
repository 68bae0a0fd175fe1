/* The sentences of a text that bear on a question, and a snippet made of them. */
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "text/markdown.h"
#include "text/rank_internal.h"

/* A hash of the terms of a sentence, by which repetitions are found. */
static uint64_t fingerprint(struct str text)
{
    uint64_t hash = 14695981039346656037u;
    struct words words;
    struct word word;
    words_init(&words, text);
    while (words_next(&words, &word))
        for (size_t i = 0; i <= word.length; i++)
            hash = (hash ^ (unsigned char)word.term[i]) * 1099511628211u;
    return hash;
}

/* Sentences are short, so their length counts little: with a high b the shortest would win. */
static struct ranked *rank_list(struct str text, const struct sentence *sentences, size_t n, struct str query,
                                bool prose, size_t *count)
{
    struct ranking ranking;
    ranking_init(&ranking, query, 0.3);
    for (size_t i = 0; i < n; i++) {
        bool wanted = !prose || (sentences[i].kind != SENTENCE_HEADING && sentences[i].kind != SENTENCE_CODE);
        if (wanted)
            ranking_add(&ranking, i, (struct str){0}, str_slice(text, sentences[i].from, sentences[i].to));
    }
    return ranking_finish(&ranking, count);
}

static struct sentence *all_sentences(struct str text, size_t *count)
{
    struct sentences iterator;
    struct sentence *list = NULL, sentence;
    size_t n = 0, capacity = 0;
    sentences_init(&iterator, text);
    while (sentences_next(&iterator, &sentence)) {
        list = mem_grow(list, n, &capacity, sizeof *list);
        list[n++] = sentence;
    }
    *count = n;
    return list;
}

size_t rank_sentences(struct str text, struct str query, struct ranked_sentence *out, size_t limit)
{
    size_t n, count, kept = 0;
    struct sentence *sentences = all_sentences(text, &n);
    struct ranked *ranked = rank_list(text, sentences, n, query, true, &count);
    uint64_t *seen = mem_calloc(limit + 1, sizeof *seen);
    for (size_t i = 0; i < count && kept < limit; i++) {
        const struct sentence *sentence = &sentences[ranked[i].index];
        uint64_t print = fingerprint(str_slice(text, sentence->from, sentence->to));
        bool repeated = false;
        for (size_t k = 0; k < kept; k++)
            repeated = repeated || seen[k] == print;
        if (repeated)
            continue;
        seen[kept] = print;
        out[kept++] = (struct ranked_sentence){*sentence, ranked[i].score};
    }
    free(seen);
    free(ranked);
    free(sentences);
    return kept;
}

enum status rank_snippet(struct str text, struct str query, size_t max_bytes, struct buf *out)
{
    size_t n, count;
    struct sentence *sentences = all_sentences(text, &n);
    struct ranked *ranked = rank_list(text, sentences, n, query, false, &count);
    size_t first = count ? ranked[0].index : 0, last = first;
    free(ranked);
    if (n && sentences[first].kind == SENTENCE_HEADING && first + 1 < n)
        last++;
    while (n) {
        size_t length = sentences[last].to - sentences[first].from;
        if (last + 1 < n && length + (sentences[last + 1].to - sentences[last].to) <= max_bytes)
            last++;
        else if (first > 0 && length + (sentences[first].from - sentences[first - 1].from) <= max_bytes)
            first--;
        else
            break;
    }
    struct buf line;
    buf_init(&line, max_bytes);
    bool cut = false;
    if (n) {
        struct str raw = str_slice(text, sentences[first].from, sentences[last].to);
        /* marks shorten the line, so more than max_bytes are looked at; what is over is cut */
        cut = raw.len > 4 * max_bytes;
        raw = str_slice(raw, 0, 4 * max_bytes);
        cut = markdown_to_line(raw, &line) != STATUS_OK || cut || last + 1 < n;
    }
    enum status status = STATUS_OK;
    if (n && first > 0)
        status = buf_append_str(out, STR("… "));
    if (status == STATUS_OK)
        status = buf_append_str(out, buf_str(&line));
    if (status == STATUS_OK && cut)
        status = buf_append_str(out, STR(" …"));
    buf_finish(&line);
    free(sentences);
    return status;
}
