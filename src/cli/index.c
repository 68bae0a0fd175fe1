/* src/cli/index.c: fathom index, folders to a corpus file. The work runs on a thread of the pool; what it tells is
 * shown by the loop's thread, which alone writes to the terminal. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/file_reader.h"
#include "cli/cli.h"
#include "cli/interrupt.h"
#include "cli/progress.h"
#include "cli/terminal.h"
#include "loop/loop.h"
#include "store/corpus.h"

#define SHOW_EVERY_MS  150
#define SHOWN_PROBLEMS 20 /* files that could not be read are named up to so many, unless -v */
#define PROBLEM_BYTES  ((size_t)256 * 1024)

struct index_run {
    struct cli *cli;
    struct loop *loop;
    struct loop_timer *timer;
    const char *into;
    atomic_bool cancel;
    int64_t began_ms;

    pthread_mutex_t lock; /* for what the worker tells */
    size_t seen, done;
    struct buf problems; /* lines not shown yet */
    size_t n_problems;

    enum status status;
    struct error error;
    struct corpus_report report;
};

/* On the worker. Files that are simply of another kind are counted, not named. */
static void on_progress(void *user, const struct corpus_progress *progress)
{
    struct index_run *run = user;
    pthread_mutex_lock(&run->lock);
    run->seen = progress->files_seen;
    run->done = progress->files_done;
    if (progress->problem && (run->n_problems++ < SHOWN_PROBLEMS || run->cli->verbose) &&
        run->problems.len < PROBLEM_BYTES)
        buf_addf(&run->problems, "%s: %s\n", progress->file, progress->problem);
    pthread_mutex_unlock(&run->lock);
}

static void work(struct loop_work *job, void *user)
{
    (void)job;
    struct index_run *run = user;
    struct corpus_index_options options = {
        .reader = &file_reader, .progress = on_progress, .user = run, .cancel = &run->cancel};
    struct corpus *corpus;
    run->status = corpus_open(run->into, CORPUS_CREATE, &corpus, &run->error);
    if (run->status != STATUS_OK)
        return;
    run->status = corpus_index(corpus, run->cli->arguments, run->cli->n_arguments, &options, &run->report, &run->error);
    corpus_close(corpus);
}

static void show_problems(struct index_run *run)
{
    pthread_mutex_lock(&run->lock);
    struct str all = buf_str(&run->problems), line;
    while (!run->cli->quiet && str_split_next(&all, '\n', &line)) {
        struct buf clean;
        buf_init(&clean, BUF_UNBOUNDED);
        terminal_clean(&clean, line, true);
        terminal_line(buf_str(&clean));
        buf_finish(&clean);
    }
    buf_reset(&run->problems);
    pthread_mutex_unlock(&run->lock);
}

static void show(void *user)
{
    struct index_run *run = user;
    show_problems(run);
    if (!run->cli->quiet) {
        struct buf line, fitted;
        buf_init(&line, BUF_UNBOUNDED);
        buf_init(&fitted, BUF_UNBOUNDED);
        pthread_mutex_lock(&run->lock);
        buf_addf(&line, "%zu of %zu files, ", run->done, run->seen);
        pthread_mutex_unlock(&run->lock);
        progress_add_time(&line, loop_now_ms(run->loop) - run->began_ms);
        terminal_fit(&fitted, buf_str(&line), (size_t)terminal_width() - 1);
        terminal_live(buf_str(&fitted));
        buf_finish(&line);
        buf_finish(&fitted);
    }
    loop_timer_start(run->timer, SHOW_EVERY_MS);
}

static void on_done(void *user, enum status status)
{
    struct index_run *run = user;
    (void)status;
    loop_stop(run->loop);
}

static void on_interrupt(void *user)
{
    struct index_run *run = user;
    atomic_store(&run->cancel, true);
}

static int64_t file_size(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return 0;
    int64_t size = fseek(file, 0, SEEK_END) == 0 ? ftell(file) : 0;
    fclose(file);
    return size;
}

static void print_json(const struct index_run *run)
{
    const struct corpus_report *report = &run->report;
    json_t *result = json_object();
    json_put(result, "corpus", json_from_str(str_of(run->into)));
    json_put(result, "documents", json_integer((json_int_t)report->documents));
    json_put(result, "passages", json_integer((json_int_t)report->passages));
    json_put(result, "added", json_integer((json_int_t)report->added));
    json_put(result, "changed", json_integer((json_int_t)report->changed));
    json_put(result, "removed", json_integer((json_int_t)report->removed));
    json_put(result, "unchanged", json_integer((json_int_t)report->unchanged));
    json_put(result, "aliases", json_integer((json_int_t)report->aliases));
    json_put(result, "not_text", json_integer((json_int_t)report->not_text));
    json_put(result, "failed", json_integer((json_int_t)report->failed));
    json_put(result, "bytes", json_integer(file_size(run->into)));
    json_put(result, "elapsed_ms", json_integer(report->elapsed_ms));
    cli_print_json(result);
    json_decref(result);
}

static void print_report(const struct index_run *run)
{
    const struct corpus_report *report = &run->report;
    struct buf line;
    buf_init(&line, BUF_UNBOUNDED);
    buf_addf(&line, "%s: %zu documents in %zu passages, ", run->into, report->documents, report->passages);
    progress_add_bytes(&line, (size_t)file_size(run->into));
    buf_addf(&line, "\n%zu added, %zu changed, %zu removed, %zu files unchanged", report->added, report->changed,
             report->removed, report->unchanged);
    if (report->aliases)
        buf_addf(&line, ", %zu other names", report->aliases);
    if (report->not_text)
        buf_addf(&line, ", %zu files not text", report->not_text);
    if (report->failed)
        buf_addf(&line, ", %zu files failed", report->failed);
    buf_add_text(&line, ", in ");
    progress_add_time(&line, report->elapsed_ms);
    buf_add_char(&line, '\n');
    cli_print_text(buf_str(&line));
    buf_finish(&line);
}

static int run(struct cli *cli)
{
    struct index_run run = {.cli = cli, .into = cli_option(cli, "into"), .status = STATUS_CANCELED};
    if (!run.into || !*run.into)
        return cli_wrong_usage(cli, "the corpus file is missing; say --into FILE.db");
    pthread_mutex_init(&run.lock, NULL);
    buf_init(&run.problems, BUF_UNBOUNDED);
    run.loop = loop_create();
    run.began_ms = loop_now_ms(run.loop);
    run.timer = loop_timer_create(run.loop, show, &run);
    loop_timer_start(run.timer, SHOW_EVERY_MS);
    interrupt_install(run.loop, on_interrupt, &run);
    loop_work_start(run.loop, work, on_done, &run);
    loop_run(run.loop);
    interrupt_remove();
    loop_timer_destroy(run.timer);
    loop_destroy(run.loop);
    show_problems(&run);
    terminal_live(STR(""));
    if (run.n_problems > SHOWN_PROBLEMS && !cli->verbose)
        cli_say(cli, "… and %zu more files were not taken; -v names them all", run.n_problems - SHOWN_PROBLEMS);
    buf_finish(&run.problems);
    pthread_mutex_destroy(&run.lock);
    if (run.status != STATUS_OK) {
        cli_fail_error(cli, &run.error);
        return interrupt_came() ? CLI_INTERRUPTED : CLI_FAILED;
    }
    if (cli->json)
        print_json(&run);
    else
        print_report(&run);
    return CLI_OK;
}

static const struct cli_option options[] = {
    {.name = "into",
     .argument = "FILE.db",
     .help = "The corpus file; made when it is missing, brought up to date otherwise"},
};

const struct cli_command cli_index = {
    .name = "index",
    .arguments = "DIR\xE2\x80\xA6",
    .summary = "Make folders of documents searchable",
    .about = "Reads text, Markdown, HTML, JSON Lines and manual pages, also compressed with gzip, into one file for "
             "--corpus. Indexing again reads only what has changed and forgets what is gone.",
    .examples = "  fathom index /usr/share/man --into manuals.db\n"
                "  fathom ask --corpus manuals.db \"When does open(2) fail with EEXIST?\"",
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .min_arguments = 1,
    .max_arguments = SIZE_MAX,
    .run = run,
};
