/* src/cli/ask.c: fathom ask, one research run. */
#include <stdlib.h>
#include <string.h>

#include "agent/result.h"
#include "agent/session.h"
#include "api/config.h"
#include "api/setup.h"
#include "cli/asking.h"
#include "cli/cli.h"
#include "cli/display.h"
#include "cli/interrupt.h"
#include "cli/record.h"
#include "cli/terminal.h"
#include "core/mem.h"
#include "core/utf8.h"
#include "engine/runner.h"
#include "engine/tool.h"
#include "loop/loop.h"
#include "model/client.h"
#include "protocol/profile.h"

#define MAX_QUESTION_BYTES ((size_t)1024 * 1024)
#define MAX_UNCITED_SHOWN  5

struct ask {
    struct cli *cli;
    struct setup *setup;
    struct display *display;
    struct record record;
    struct run *run; /* NULL before the start and after the end */
    json_t *result;
};

/* ---- the question ---- */

/* The argument, or stdin for "-"; valid UTF-8 without blanks at the ends. False after having said what is wrong. */
static bool read_question(struct cli *cli, struct buf *question)
{
    struct buf raw;
    buf_init(&raw, MAX_QUESTION_BYTES);
    if (strcmp(cli->arguments[0], "-") == 0) {
        buf_finish(&raw);
        if (!cli_read_input(cli, MAX_QUESTION_BYTES, &raw))
            return false;
    } else if (buf_append_str(&raw, str_of(cli->arguments[0])) != STATUS_OK) {
        cli_wrong_usage(cli, "the question is longer than a megabyte");
        return false;
    }
    struct str trimmed = str_trim(buf_str(&raw));
    buf_init(question, BUF_UNBOUNDED);
    enum status status = utf8_append_valid(question, trimmed);
    buf_finish(&raw);
    if (status == STATUS_OK && question->len > 0)
        return true;
    cli_wrong_usage(cli, "the question is empty");
    buf_finish(question);
    return false;
}

/* ---- the run ---- */

static void on_say(void *user, const char *sentence)
{
    cli_say(user, "%s", sentence);
}

static void on_interrupt(void *user)
{
    struct ask *ask = user;
    if (ask->run == NULL) {
        setup_interrupt(ask->setup);
        return;
    }
    display_interrupting(ask->display);
    run_interrupt(ask->run);
}

static void on_notice(void *user, const struct run *run, const struct notice *notice)
{
    struct ask *ask = user;
    struct error error;
    display_notice(ask->display, notice, run_elapsed_ms(run));
    if (ask->record.events < 0)
        return;
    json_t *event = run_event_json(ask->run, notice);
    if (record_event(&ask->record, event, &error) != STATUS_OK)
        cli_fail_error(ask->cli, &error);
    json_decref(event);
}

static void on_done(void *user, struct run *run, const struct result *result)
{
    struct ask *ask = user;
    ask->result = run_result_json(run, result);
    setup_unfollow(ask->setup, run);
    ask->run = NULL;
    loop_stop(ask->setup->loop);
}

static void on_hush(void *user, bool quiet)
{
    struct ask *ask = user;
    display_hush(ask->display, quiet);
}

static void say_start(struct ask *ask, const struct session_limits *limits)
{
    const struct model_client *agent = ask->setup->models[MODEL_AGENT];
    struct buf tools;
    buf_init(&tools, BUF_UNBOUNDED);
    for (size_t i = 0; i < ask->setup->n_tools; i++)
        buf_addf(&tools, "%s%s", i > 0 ? ", " : "", ask->setup->tools[i]->signature->name);
    cli_say(ask->cli, "Model %s; profile %s%s; tools %s.", agent->name, ask->setup->profile->name,
            ask->setup->profile_by_model && !agent->builtin ? " (by the model's name)" : "",
            tools.len > 0 ? tools.data : "none");
    if (limits->window_tokens == 0 && !agent->builtin)
        cli_say(ask->cli,
                "The server does not say how large the context window is: %lld tokens are assumed; "
                "--context-window sets it.",
                (long long)SESSION_DEFAULT_WINDOW);
    buf_finish(&tools);
}

static void run_to_the_end(struct ask *ask, struct str question)
{
    struct run_options options;
    setup_run_options(ask->setup, &options);
    options.question = question;
    options.observe = on_notice;
    options.done = on_done;
    options.user = ask;
    const struct session_limits *limits = &options.config.limits;
    say_start(ask, limits);
    ask->display =
        display_create(ask->cli, ask->setup->loop, limits->max_calls, limits->context_tokens, limits->time_ms);
    struct asking *asking = asking_create(ask->cli, ask->setup->loop, ask->setup->engine, on_hush, ask);
    ask->run = run_start(ask->setup->engine, &options);
    setup_follow(ask->setup, ask->run);
    while (ask->result == NULL)
        loop_run(ask->setup->loop);
    asking_destroy(asking);
    display_destroy(ask->display);
    ask->display = NULL;
}

/* ---- the end ---- */

static void print_source(const char *mark, const json_t *source)
{
    const char *title = json_get_string(source, "title"), *url = json_get_string(source, "url");
    struct buf line, clean;
    buf_init(&line, BUF_UNBOUNDED);
    buf_init(&clean, BUF_UNBOUNDED);
    buf_addf(&line, "%4s ", mark);
    if (title != NULL && title[0] != '\0') {
        terminal_clean(&line, str_of(title), true);
        buf_add_text(&line, "\n     ");
    }
    terminal_clean(&clean, str_of(url), true);
    buf_add(&line, buf_str(&clean));
    buf_add_char(&line, '\n');
    cli_print_text(buf_str(&line));
    buf_finish(&clean);
    buf_finish(&line);
}

/* A source that the answer cites, and where in the answer its link first stands; SIZE_MAX where it is spelled
 * otherwise. */
struct citation {
    const json_t *source;
    size_t place, order;
};

static int by_place(const void *a, const void *b)
{
    const struct citation *x = a, *y = b;
    if (x->place != y->place)
        return x->place < y->place ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

/* The sources that the answer cites, numbered in the order in which it does. Returns how many. */
static size_t print_cited(const json_t *sources, struct str prediction)
{
    struct citation *cited = mem_calloc(json_array_size(sources), sizeof *cited);
    size_t count = 0, i;
    json_t *source;
    json_array_foreach (sources, i, source) {
        if (!json_is_true(json_object_get(source, "cited")))
            continue;
        cited[count] = (struct citation){source, str_find(prediction, json_get_str(source, "url"), 0), count};
        count++;
    }
    qsort(cited, count, sizeof *cited, by_place);
    cli_print(count > 0 ? "\nSources\n" : "");
    for (i = 0; i < count; i++) {
        char mark[32];
        snprintf(mark, sizeof mark, "%zu.", i + 1);
        print_source(mark, cited[i].source);
    }
    free(cited);
    return count;
}

/* Cited sources first, then those that were only seen, up to a number. */
static void print_sources(const json_t *sources, struct str prediction)
{
    size_t cited = print_cited(sources, prediction), seen = 0, i;
    json_t *source;
    json_array_foreach (sources, i, source) {
        if (json_is_true(json_object_get(source, "cited")) || seen++ >= MAX_UNCITED_SHOWN)
            continue;
        if (seen == 1)
            cli_print(cited > 0 ? "\nAlso seen\n" : "\nSeen, but not cited\n");
        print_source("-", source);
    }
    if (seen > MAX_UNCITED_SHOWN)
        cli_print("     and %zu more (--json lists all)\n", seen - MAX_UNCITED_SHOWN);
}

static void print_answer(struct ask *ask)
{
    struct str prediction = json_get_str(ask->result, "prediction");
    if (prediction.len > 0) {
        cli_print_text(prediction);
        cli_print("\n");
        print_sources(json_object_get(ask->result, "sources"), prediction);
    }
}

static void say_end(struct ask *ask)
{
    const char *termination = json_get_string(ask->result, "termination");
    const char *problem = json_get_string(ask->result, "error"),
               *prediction = json_get_string(ask->result, "prediction");
    json_t *tokens = json_object_get(ask->result, "tokens");
    json_t *cost = json_object_get(ask->result, "cost_usd");
    if (problem != NULL && problem[0] != '\0')
        cli_fail(ask->cli, "%s", problem);
    else if (strcmp(termination, "interrupted") == 0)
        cli_fail(ask->cli, "interrupted");
    else if (prediction == NULL || prediction[0] == '\0')
        cli_fail(ask->cli, "no answer was found (%s)", termination);
    struct buf line;
    buf_init(&line, BUF_UNBOUNDED);
    long long rounds = json_get_int(ask->result, "rounds", 0), calls = json_get_int(ask->result, "model_calls", 0);
    buf_addf(&line, "Ended by %s after %lld round%s, %lld model call%s, %.1f s; %lld tokens in, %lld out", termination,
             rounds, rounds == 1 ? "" : "s", calls, calls == 1 ? "" : "s",
             (double)json_get_int(ask->result, "elapsed_ms", 0) / 1000, (long long)json_get_int(tokens, "prompt", 0),
             (long long)json_get_int(tokens, "completion", 0));
    if (json_is_number(cost))
        buf_addf(&line, "; $%.4f", json_number_value(cost));
    cli_say(ask->cli, "%s.", line.data);
    buf_finish(&line);
    if (terminal_is_live() && terminal_output_is_terminal() && !ask->cli->quiet)
        terminal_line(STR("")); /* sets the answer off from what led to it */
}

static int finish(struct ask *ask)
{
    struct error error;
    int code = CLI_OK;
    const char *prediction = json_get_string(ask->result, "prediction");
    if (strcmp(json_get_string(ask->result, "termination"), "interrupted") == 0)
        code = CLI_INTERRUPTED;
    else if (prediction == NULL || prediction[0] == '\0')
        code = CLI_FAILED;
    say_end(ask);
    if (ask->cli->json)
        cli_print_json(ask->result);
    else
        print_answer(ask);
    if (record_result(&ask->record, ask->result, &error) != STATUS_OK) {
        cli_fail_error(ask->cli, &error);
        code = code == CLI_OK ? CLI_FAILED : code;
    }
    return code;
}

static int research(struct ask *ask, struct str question)
{
    struct error error = {0};
    const struct setup_options options = {.parts = SETUP_MODEL | SETUP_TOOLS, .say = on_say, .user = ask->cli};
    if (setup_create(ask->cli->config, &options, &ask->setup, &error) != STATUS_OK) {
        cli_fail_error(ask->cli, &error);
        return CLI_USAGE;
    }
    interrupt_install(ask->setup->loop, on_interrupt, ask);
    enum status status = setup_prepare(ask->setup, &error);
    int code = CLI_USAGE;
    if (status == STATUS_OK) {
        run_to_the_end(ask, question);
        code = finish(ask);
    } else {
        cli_fail_error(ask->cli, &error);
        if (status == STATUS_CANCELED)
            code = CLI_INTERRUPTED;
    }
    interrupt_remove();
    setup_destroy(ask->setup);
    json_decref(ask->result);
    return code;
}

static int run(struct cli *cli)
{
    struct ask ask = {.cli = cli};
    struct error error;
    struct buf question;
    if (!read_question(cli, &question))
        return CLI_USAGE;
    int code = CLI_USAGE;
    if (record_open(&ask.record, cli_option(cli, "events"), cli_option(cli, "output"), &error) != STATUS_OK) {
        cli_fail_error(cli, &error);
    } else {
        code = research(&ask, buf_str(&question));
        record_close(&ask.record);
    }
    buf_finish(&question);
    return code;
}

static const struct cli_option options[] = {
    {.name = "output", .letter = 'o', .argument = "FILE", .help = "write the result there as JSON, too"},
    {.name = "events", .argument = "FILE", .help = "write what happens there, a JSON object a line, as it happens"},
};

const struct cli_command cli_ask = {
    .name = "ask",
    .arguments = "QUESTION",
    .summary = "Research a question and answer it with sources",
    .about =
        "The model searches, reads pages and thinks until it answers or reaches a limit, at which it is asked to "
        "answer with what it has. - as QUESTION reads the question from standard input.\n\n"
        "The exit code is 0 with an answer, 1 without one, 2 for wrong usage or configuration, and 130 after Ctrl-C, "
        "which ends the run in order; a second Ctrl-C ends it at once.",
    .examples = "  fathom ask \"Which system call replaces vfork, and why?\" --corpus manuals.db\n"
                "  fathom ask \"Who discovered argon?\" --base-url http://127.0.0.1:8000/v1\n"
                "  fathom ask - --json --output result.json < question.txt",
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .groups = OPTION_GROUPS_ALL,
    .min_arguments = 1,
    .max_arguments = 1,
    .run = run,
};
