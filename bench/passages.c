/* How often the answer to a question about a page stands in the passages that rank first: on the questions of
 * tests/data/questions/passages.jsonl, and in the same run with windows of a fixed size in place of passages. Driven by
 * passages.py, which adds other rankers.
 *
 *   bench_passages [--list HALF] [--dump FILE] [FOLDER [QUESTIONS]]
 *
 *   FOLDER        where scripts/manuals put the pages; build/components/manuals by default
 *   --list HALF   also a line for each question of a half: the place of its answer, how many passages there are and
 *                 how many hold it
 *   --dump FILE   writes every question with its page's Markdown and passages as JSON Lines */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/json.h"
#include "core/mem.h"
#include "support/passage_set.h"
#include "text/rank.h"

#define LIMIT        100
#define WINDOW_BYTES 1200

enum { PLACES = 3 };
static const size_t places[PLACES] = {1, 3, 5};

/* Questions of one kind, and of how many the answer is in the first passages. */
struct tally {
    size_t count, unread, found[PLACES], windows[PLACES];
};

static double now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* The peer's cut: windows of the same size, whatever stands in them; ends lie between characters. */
static void cut_windows(struct str text, struct passages *out)
{
    *out = (struct passages){0};
    for (size_t from = 0; from < text.len;) {
        size_t to = from, size = 0;
        while (to < text.len && (size < WINDOW_BYTES || ((unsigned char)text.data[to] & 0xC0) == 0x80)) {
            unsigned char c = (unsigned char)text.data[to++];
            size += c < 0x80 ? 1 : c < 0xC0 ? 0 : 4;
        }
        out->items = mem_grow(out->items, out->count, &out->capacity, sizeof *out->items);
        out->items[out->count++] = (struct passage){.from = from, .to = to};
        from = to;
    }
}

static void count_place(size_t *found, size_t place)
{
    for (size_t i = 0; i < PLACES; i++)
        found[i] += place > 0 && place <= places[i];
}

static void print_tally(const char *name, const struct tally *tally)
{
    if (!tally->count)
        return;
    printf("  %-28s %4zu ", name, tally->count);
    for (size_t i = 0; i < PLACES; i++)
        printf(" %6.1f", 100.0 * (double)tally->found[i] / (double)tally->count);
    printf("   ");
    for (size_t i = 0; i < PLACES; i++)
        printf(" %6.1f", 100.0 * (double)tally->windows[i] / (double)tally->count);
    printf("\n");
}

struct bench {
    const char *folder, *list;
    FILE *dump;
    double cut_ms, rank_ms;
    size_t bytes, passages;
};

static void dump_question(FILE *file, const struct passage_question *question, struct str text,
                          const struct passages *passages)
{
    json_t *line = json_object(), *texts = json_array(), *answers = json_array();
    json_put_str(line, "half", str_of(question->half));
    json_put_str(line, "language", str_of(question->language));
    json_put_str(line, "page", str_of(question->page));
    json_put_str(line, "question", str_of(question->question));
    for (size_t a = 0; a < question->n_answers; a++) {
        json_t *words = json_array();
        for (size_t w = 0; w < question->answers[a].n_words; w++)
            json_push(words, json_from_str(str_of(question->answers[a].words[w])));
        json_push(answers, words);
    }
    for (size_t i = 0; i < passages->count; i++) {
        const struct passage *passage = &passages->items[i];
        json_push(texts, json_pack("[so]", passage->headings ? passage->headings : "",
                                   json_from_str(str_slice(text, passage->from, passage->to))));
    }
    json_put(line, "answer", answers);
    json_put_str(line, "markdown", text);
    json_put(line, "passages", texts);
    char *bytes = json_to_text(line);
    fprintf(file, "%s\n", bytes);
    free(bytes);
    json_decref(line);
}

static void list_question(const struct passage_question *question, size_t place, struct str text,
                          const struct passages *passages)
{
    size_t holding = 0;
    for (size_t i = 0; i < passages->count; i++)
        holding += passage_question_holds(question, str_slice(text, passages->items[i].from, passages->items[i].to));
    printf("%3zu of %3zu, %2zu hold it  %s  %s\n", place, passages->count, holding, strrchr(question->page, '/') + 1,
           question->question);
}

static void measure_question(struct bench *bench, const struct passage_question *question, struct tally *tally)
{
    struct buf text;
    buf_init(&text, BUF_UNBOUNDED);
    tally->count++;
    if (!passage_set_read(bench->folder, question->page, &text)) {
        tally->unread++;
        fprintf(stderr, "%s cannot be read\n", question->page);
        buf_finish(&text);
        return;
    }
    struct passages passages, windows;
    double begin = now_ms();
    passages_cut(buf_str(&text), 0, &passages);
    double cut = now_ms();
    struct ranked best[3];
    rank_passages(buf_str(&text), &passages, str_of(question->question), best, 3);
    bench->rank_ms += now_ms() - cut;
    bench->cut_ms += cut - begin;
    size_t place = passage_question_place(question, buf_str(&text), &passages, LIMIT);
    bench->bytes += text.len;
    bench->passages += passages.count;
    count_place(tally->found, place);
    cut_windows(buf_str(&text), &windows);
    count_place(tally->windows, passage_question_place(question, buf_str(&text), &windows, LIMIT));
    if (bench->list && strcmp(bench->list, question->half) == 0)
        list_question(question, place, buf_str(&text), &passages);
    if (bench->dump)
        dump_question(bench->dump, question, buf_str(&text), &passages);
    passages_finish(&windows);
    passages_finish(&passages);
    buf_finish(&text);
}

static void add_tally(struct tally *sum, const struct tally *tally)
{
    sum->count += tally->count;
    sum->unread += tally->unread;
    for (size_t i = 0; i < PLACES; i++) {
        sum->found[i] += tally->found[i];
        sum->windows[i] += tally->windows[i];
    }
}

static const char *const languages[] = {"en", "zh", "ja"};
static const char *const kinds[] = {"HTML", "manual pages"};

static size_t measure_half(struct bench *bench, const struct passage_set *set, const char *half)
{
    struct tally all = {0}, groups[3][2] = {0};
    for (size_t i = 0; i < set->count; i++) {
        const struct passage_question *question = &set->items[i];
        if (strcmp(question->half, half) != 0)
            continue;
        size_t language = 0;
        while (language < 2 && strcmp(question->language, languages[language]) != 0)
            language++;
        measure_question(bench, question, &groups[language][passage_question_is_manual(question)]);
    }
    printf("%-30s          passages                windows\n",
           strcmp(half, "check") == 0 ? "check (never tuned on)" : half);
    printf("  %-28s %4s  %6s %6s %6s    %6s %6s %6s\n", "answer in the first, %", "", "1", "3", "5", "1", "3", "5");
    for (size_t language = 0; language < 3; language++) {
        for (size_t kind = 0; kind < 2; kind++) {
            char name[64];
            snprintf(name, sizeof name, "%s, %s", languages[language], kinds[kind]);
            print_tally(name, &groups[language][kind]);
            add_tally(&all, &groups[language][kind]);
        }
    }
    print_tally("all", &all);
    return all.unread;
}

int main(int argc, char **argv)
{
    struct bench bench = {.folder = COMPONENTS "/manuals"};
    const char *questions = TEST_DATA "/questions/passages.jsonl";
    int at = 1;
    for (; at + 1 < argc && strncmp(argv[at], "--", 2) == 0; at += 2) {
        if (strcmp(argv[at], "--list") == 0)
            bench.list = argv[at + 1];
        else if (strcmp(argv[at], "--dump") == 0 && !(bench.dump = fopen(argv[at + 1], "w")))
            return perror(argv[at + 1]), 1;
    }
    if (at < argc)
        bench.folder = argv[at++];
    if (at < argc)
        questions = argv[at];
    struct passage_set set;
    if (!passage_set_load(questions, &set))
        return 1;
    size_t unread = measure_half(&bench, &set, "develop");
    unread += measure_half(&bench, &set, "check");
    printf("%zu passages of %.1f MB: cut %.0f MB/s, ranked %.0f MB/s and %.0f passages/s\n", bench.passages,
           (double)bench.bytes / 1e6, (double)bench.bytes / 1e3 / bench.cut_ms,
           (double)bench.bytes / 1e3 / bench.rank_ms, (double)bench.passages * 1e3 / bench.rank_ms);
    if (unread)
        printf("%zu pages cannot be read: scripts/manuals fetches them\n", unread);
    if (bench.dump)
        fclose(bench.dump);
    passage_set_finish(&set);
    return unread ? 1 : 0;
}
