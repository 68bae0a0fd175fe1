/* bench/parser.c
 *
 * How fast the tag parser reads thought, beside memchr and memcpy on the same bytes in the same run (memchr is what it
 * is made of, memcpy what a reader that keeps the text pays at least), and what its worst inputs cost. Prints one JSON
 * object a line; exits 1 when thought is read below 1 GB/s or an input costs more than 100 ns a byte.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/buf.h"
#include "core/mem.h"
#include "protocol/clean.h"
#include "protocol/repetition.h"
#include "protocol/tag_parser.h"

#define BYTES  ((size_t)32 << 20)
#define ROUNDS 5

struct job {
    const char *name, *head, *unit;
    size_t chunk; /* bytes fed at a time */
    char *text;
    size_t sum; /* so that nothing is optimized away */
};

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void on_event(void *user, const struct tag_event *event)
{
    *(size_t *)user += event->text.len;
}

static void fail(const char *what)
{
    fprintf(stderr, "bench_parser: %s\n", what);
    exit(1);
}

static void parse(struct job *job)
{
    struct tag_parser_options options = {.thought_expected = true, .max_element_bytes = 2 * BYTES};
    struct tag_parser *parser = tag_parser_create(&options, on_event, &job->sum);
    enum status status = tag_parser_feed(parser, str_of(job->head));
    for (size_t at = 0; at < BYTES && status == STATUS_OK; at += job->chunk)
        status = tag_parser_feed(parser, str_slice(str_make(job->text, BYTES), at, at + job->chunk));
    if (status != STATUS_OK || tag_parser_end(parser, TAG_END_STOP) != STATUS_OK)
        fail("the parser refused its input");
    tag_parser_destroy(parser);
}

static void find_bytes(struct job *job)
{
    for (size_t at = 0; at < BYTES; at += job->chunk)
        job->sum += memchr(job->text + at, '<', job->chunk) != NULL;
}

static void copy_bytes(struct job *job)
{
    char *copy = mem_alloc(job->chunk);
    for (size_t at = 0; at < BYTES; at += job->chunk) {
        memcpy(copy, job->text + at, job->chunk);
        job->sum += (unsigned char)copy[at % job->chunk];
    }
    free(copy);
}

static void watch_repetition(struct job *job)
{
    struct repetition *repetition = repetition_create();
    for (size_t at = 0; at < BYTES; at += job->chunk)
        job->sum += repetition_feed(repetition, str_make(job->text + at, job->chunk));
    repetition_destroy(repetition);
}

static void clean(struct job *job)
{
    struct buf out;
    buf_init(&out, BUF_UNBOUNDED);
    if (clean_text(&out, str_make(job->text, BYTES)) != STATUS_OK)
        fail("cleaning failed");
    job->sum += out.len;
    buf_finish(&out);
}

/* Fills the text with the unit, each copy numbered where the unit has a '#', so that it does not repeat itself. */
static void fill(struct job *job)
{
    size_t length = strlen(job->unit), at = 0;
    for (unsigned n = 0; at < BYTES; n++) {
        for (size_t i = 0; i < length && at < BYTES; i++) {
            char c = job->unit[i];
            job->text[at++] = c == '#' ? (char)('a' + (n >> (i % 24)) % 26) : c;
        }
    }
}

/* The best of ROUNDS, in nanoseconds a byte. */
static double measure(struct job *job, void (*work)(struct job *job), const char *what)
{
    double best = 1e9;
    fill(job);
    for (int i = 0; i < ROUNDS; i++) {
        double start = seconds();
        work(job);
        double took = seconds() - start;
        best = took < best ? took : best;
    }
    double ns = best / BYTES * 1e9;
    printf("{\"bench\": \"%s\", \"input\": \"%s\", \"chunk\": %zu, \"gb_per_s\": %.3f, \"ns_per_byte\": %.3f}\n", what,
           job->name, job->chunk, 1 / ns, ns);
    return ns;
}

int main(void)
{
    static const char thought[] =
        "The quick brown fox #### jumps over the lazy dog ####, and then it thinks again ####. ";
    char *text = mem_alloc(BYTES);
    bool missed = false;
    struct job large = {.name = "thought", .head = "<think>", .unit = thought, .chunk = 65536, .text = text};
    struct job token = {
        .name = "thought, a token at a time", .head = "<think>", .unit = thought, .chunk = 4, .text = text};
    measure(&large, find_bytes, "memchr");
    measure(&large, copy_bytes, "memcpy");
    missed |= measure(&large, parse, "parser") > 1.0;
    measure(&token, parse, "parser");
    measure(&large, watch_repetition, "repetition");
    measure(&large, clean, "clean");
    struct job worst[] = {
        {.name = "only <", .head = "", .unit = "<"},
        {.name = "beginnings of tags", .head = "", .unit = "<tool_call"},
        {.name = "calls opened in thought", .head = "<think>", .unit = "<tool_call>{'a'"},
        {.name = "calls opened in a string", .head = "<think></think><tool_call>{\"", .unit = "<tool_call>{\\\""},
        {.name = "programs never closed",
         .head = "<think></think><tool_call>{}<code>",
         .unit = "</tool_call>x = '<code>'\n"},
        {.name = "calls",
         .head = "<think></think>",
         .unit = "<tool_call>{\"name\": \"a\", \"arguments\": {}}</tool_call>\n"},
    };
    for (size_t i = 0; i < sizeof worst / sizeof worst[0]; i++) {
        worst[i].chunk = 65536;
        worst[i].text = text;
        missed |= measure(&worst[i], parse, "parser, worst") > 100.0;
    }
    free(text);
    return missed ? 1 : 0;
}
