#include "cli/display.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/progress.h"
#include "cli/terminal.h"
#include "core/mem.h"
#include "core/utf8.h"
#include "loop/loop.h"

#define REDRAW_MS       200
#define LOG_COLUMNS     160 /* of a line where stderr is no terminal */
#define MIN_COLUMNS     20
#define THOUGHT_MAX     2000
#define MAX_TOOLS_SHOWN 8

#define DIM    "\x1b[2m"
#define YELLOW "\x1b[33m"
#define CYAN   "\x1b[36m"
#define RESET  "\x1b[0m"

struct display {
    const struct cli *cli;
    struct loop *loop;
    struct loop_timer *timer; /* NULL where there is no live line */
    struct progress progress;
    int64_t elapsed_at_ms; /* loop time of the last notice */
    bool ended, interrupting, hushed;
    struct buf thought; /* of the line that is being thought */
    struct {
        effect_id id;
        char name[32];
    } tools[MAX_TOOLS_SHOWN]; /* under way */
    size_t n_tools;
};

static size_t line_columns(void)
{
    int width = terminal_is_live() ? terminal_width() - 1 : LOG_COLUMNS;
    return width < MIN_COLUMNS ? MIN_COLUMNS : (size_t)width;
}

static void set_activity(struct display *display, struct buf *text)
{
    if (display->interrupting) {
        buf_add_text(text, "stopping");
    } else if (display->n_tools == 0) {
        buf_add_text(text, "thinking");
    }
    for (size_t i = 0; !display->interrupting && i < display->n_tools; i++)
        buf_addf(text, "%s%s", i > 0 ? ", " : "", display->tools[i].name);
}

static void redraw(struct display *display)
{
    if (display->timer == NULL || display->ended || display->hushed)
        return;
    struct buf line, activity;
    buf_init(&line, BUF_UNBOUNDED);
    buf_init(&activity, BUF_UNBOUNDED);
    set_activity(display, &activity);
    struct progress now = display->progress;
    now.activity = activity.data;
    now.elapsed_ms += loop_now_ms(display->loop) - display->elapsed_at_ms;
    progress_line(&now, line_columns(), &line);
    terminal_live(buf_str(&line));
    buf_finish(&activity);
    buf_finish(&line);
}

static void on_timer(void *user)
{
    struct display *display = user;
    redraw(display);
    loop_timer_start(display->timer, REDRAW_MS);
}

static void on_resize(void *user)
{
    redraw(user);
}

struct display *display_create(const struct cli *cli, struct loop *loop, int64_t max_calls, int64_t context_limit,
                               int64_t time_limit_ms)
{
    struct display *display = mem_zalloc(sizeof *display);
    display->cli = cli;
    display->loop = loop;
    display->progress = (struct progress){
        .max_calls = max_calls, .context_limit = context_limit, .time_limit_ms = time_limit_ms, .cost_usd = -1};
    display->elapsed_at_ms = loop_now_ms(loop);
    buf_init(&display->thought, BUF_UNBOUNDED);
    if (terminal_is_live() && !cli->quiet) {
        display->timer = loop_timer_create(loop, on_timer, display);
        loop_timer_start(display->timer, REDRAW_MS);
        loop_on_signal(loop, SIGWINCH, on_resize, display);
    }
    return display;
}

void display_destroy(struct display *display)
{
    if (display == NULL)
        return;
    if (display->timer != NULL) {
        loop_on_signal(display->loop, SIGWINCH, NULL, NULL);
        loop_timer_destroy(display->timer);
    }
    terminal_live(STR(""));
    buf_finish(&display->thought);
    free(display);
}

/* One line, coloured where colours are understood. */
static void say_line(const char *color, const char *mark, struct str text)
{
    struct buf line;
    buf_init(&line, BUF_UNBOUNDED);
    bool colored = terminal_has_color() && color != NULL;
    buf_addf(&line, "%s%s", colored ? color : "", mark);
    buf_add(&line, text);
    buf_add_text(&line, colored ? RESET : "");
    terminal_line(buf_str(&line));
    buf_finish(&line);
}

/* A sentence of which parts may come from a server or a model. */
static void say_sentence(const char *color, const char *mark, const char *what, struct str text)
{
    struct buf clean, cut;
    buf_init(&clean, BUF_UNBOUNDED);
    buf_init(&cut, BUF_UNBOUNDED);
    buf_add_text(&clean, what);
    terminal_clean(&clean, text, true);
    terminal_fit(&cut, buf_str(&clean), line_columns() - terminal_columns(str_of(mark)));
    say_line(color, mark, buf_str(&cut));
    buf_finish(&cut);
    buf_finish(&clean);
}

/* ---- thought ---- */

static void flush_thought(struct display *display, size_t bytes)
{
    struct buf clean, wrapped;
    buf_init(&clean, BUF_UNBOUNDED);
    buf_init(&wrapped, BUF_UNBOUNDED);
    terminal_clean(&clean, str_trim(str_slice(buf_str(&display->thought), 0, bytes)), true);
    if (clean.len > 0) {
        terminal_wrap(&wrapped, buf_str(&clean), terminal_is_live() ? line_columns() - 2 : LOG_COLUMNS, 2);
        say_line(DIM, "  ", buf_str(&wrapped));
    }
    buf_consume(&display->thought, bytes);
    buf_finish(&wrapped);
    buf_finish(&clean);
}

static void add_thought(struct display *display, struct str text)
{
    buf_add(&display->thought, text);
    for (;;) {
        size_t end = str_find_char(buf_str(&display->thought), '\n', 0);
        if (end != STR_NONE) {
            flush_thought(display, end + 1);
            continue;
        }
        if (display->thought.len < THOUGHT_MAX)
            return;
        size_t cut = str_rfind_char(str_slice(buf_str(&display->thought), 0, THOUGHT_MAX), ' ');
        flush_thought(display, cut == STR_NONE ? utf8_floor(buf_str(&display->thought), THOUGHT_MAX) : cut + 1);
    }
}

/* ---- notices ---- */

static void tool_started(struct display *display, const struct notice *notice)
{
    struct buf line;
    buf_init(&line, BUF_UNBOUNDED);
    progress_call(notice->name, notice->arguments, notice->code, line_columns() - 2, &line);
    say_line(CYAN, "> ", buf_str(&line));
    buf_finish(&line);
    if (display->n_tools < MAX_TOOLS_SHOWN) {
        display->tools[display->n_tools].id = notice->id;
        snprintf(display->tools[display->n_tools].name, sizeof display->tools[0].name, "%s", notice->name);
        display->n_tools++;
    }
}

static void tool_finished(struct display *display, const struct notice *notice)
{
    struct buf line;
    buf_init(&line, BUF_UNBOUNDED);
    progress_result(notice, line_columns() - 2, &line);
    say_line(notice->status == OUTCOME_OK ? DIM : YELLOW, "< ", buf_str(&line));
    buf_finish(&line);
    for (size_t i = 0; i < display->n_tools; i++) {
        if (display->tools[i].id == notice->id) {
            memmove(&display->tools[i], &display->tools[i + 1], (--display->n_tools - i) * sizeof display->tools[0]);
            break;
        }
    }
}

static void show(struct display *display, const struct notice *notice)
{
    switch (notice->kind) {
    case NOTICE_THINK:
        if (display->cli->verbose > 0)
            add_thought(display, notice->text);
        break;
    case NOTICE_TOOL_STARTED:
        tool_started(display, notice);
        break;
    case NOTICE_TOOL_FINISHED:
        tool_finished(display, notice);
        break;
    case NOTICE_FORMAT_REPAIR:
        if (display->cli->verbose > 0)
            say_sentence(DIM, "~ ", "repaired: ", notice->text);
        break;
    case NOTICE_RETRY:
    case NOTICE_BUDGET_WARNING:
        say_sentence(YELLOW, "! ", "", notice->text);
        break;
    case NOTICE_LIMIT_REACHED:
        say_sentence(YELLOW, "! ", "limit reached, asking for the answer: ", notice->text);
        break;
    case NOTICE_LOOP_DETECTED:
        say_sentence(YELLOW, "! ", "the model repeats itself ", notice->text);
        break;
    case NOTICE_RUN_FINISHED:
        display->ended = true;
        terminal_live(STR(""));
        break;
    case NOTICE_CLARIFICATION: /* who asks shows the question */
    case NOTICE_PERMISSION:
    case NOTICE_RUN_STARTED:
    case NOTICE_ROUND_STARTED:
    case NOTICE_ANSWER:
        break;
    }
}

void display_notice(struct display *display, const struct notice *notice, int64_t elapsed_ms)
{
    struct progress *progress = &display->progress;
    if (display->cli->quiet)
        return;
    progress->round = notice->round > 0 ? notice->round : progress->round;
    progress->model_calls = notice->model_calls > 0 ? notice->model_calls : progress->model_calls;
    progress->context_tokens = notice->context_tokens > 0 ? notice->context_tokens : progress->context_tokens;
    progress->context_limit = notice->context_limit > 0 ? notice->context_limit : progress->context_limit;
    progress->cost_usd = notice->cost_usd;
    progress->elapsed_ms = elapsed_ms;
    display->elapsed_at_ms = loop_now_ms(display->loop);
    if (notice->kind != NOTICE_THINK && display->thought.len > 0)
        flush_thought(display, display->thought.len);
    show(display, notice);
    if (notice->kind != NOTICE_THINK)
        redraw(display);
}

void display_hush(struct display *display, bool quiet)
{
    display->hushed = quiet;
    terminal_live(STR(""));
    redraw(display);
}

void display_interrupting(struct display *display)
{
    display->interrupting = true;
    if (!display->cli->quiet)
        say_line(YELLOW, "! ", STR("stopping; press Ctrl-C again to quit at once"));
    redraw(display);
}
