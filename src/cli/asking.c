#include "cli/asking.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/config.h"
#include "cli/question.h"
#include "cli/terminal.h"
#include "core/mem.h"
#include "engine/ask.h"
#include "loop/loop.h"

#define MAX_LINE ((size_t)64 * 1024)

struct waiting {
    struct waiting *next;
    struct ask *ask;
};

struct asking {
    struct engine *engine;
    struct loop_watch *input;
    struct waiting *first; /* its question is the one that is shown */
    struct question question;
    struct buf line; /* typed so far */
    void (*hush)(void *user, bool quiet);
    void *user;
};

static void say_lines(const struct buf *text)
{
    struct str rest = buf_str(text), line;
    while (str_split_next(&rest, '\n', &line))
        terminal_line(line);
}

static void prompt(const struct asking *asking)
{
    struct buf text;
    buf_init(&text, BUF_UNBOUNDED);
    question_prompt(&asking->question, &text);
    terminal_prompt(buf_str(&text));
    buf_finish(&text);
}

static void show_first(struct asking *asking)
{
    struct buf text;
    buf_init(&text, BUF_UNBOUNDED);
    question_init(&asking->question, ask_question(asking->first->ask));
    question_show(&asking->question, &text);
    say_lines(&text);
    prompt(asking);
    loop_watch_set(asking->input, LOOP_READABLE);
    buf_finish(&text);
}

/* Takes the first question off the list and goes on with the next. */
static void drop_first(struct asking *asking)
{
    struct waiting *over = asking->first;
    asking->first = over->next;
    free(over);
    question_finish(&asking->question);
    if (asking->first) {
        show_first(asking);
        return;
    }
    loop_watch_set(asking->input, 0);
    if (asking->hush)
        asking->hush(asking->user, false);
}

static void answer_first(struct asking *asking, enum ask_outcome outcome)
{
    ask_answer(asking->first->ask, outcome, buf_str(&asking->question.answer));
    drop_first(asking);
}

static void take_line(struct asking *asking, struct str line)
{
    struct buf complaint;
    buf_init(&complaint, BUF_UNBOUNDED);
    switch (question_take(&asking->question, line, &complaint)) {
    case QUESTION_AGAIN:
        if (complaint.len > 0)
            say_lines(&complaint);
        prompt(asking);
        break;
    case QUESTION_MORE:
        prompt(asking);
        break;
    case QUESTION_DONE:
        answer_first(asking, ASK_ANSWERED);
        break;
    case QUESTION_DECLINED:
        answer_first(asking, ASK_DECLINED);
        break;
    }
    buf_finish(&complaint);
}

/* Whoever closes the terminal's input will not answer any more. */
static void end_of_input(struct asking *asking)
{
    engine_set_asker(asking->engine, NULL);
    while (asking->first)
        answer_first(asking, ASK_DECLINED);
}

static void on_input(void *user, int events)
{
    struct asking *asking = user;
    char bytes[4096];
    (void)events;
    ssize_t count = read(STDIN_FILENO, bytes, sizeof bytes);
    if (count < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (count <= 0) {
        end_of_input(asking);
        return;
    }
    if (buf_append(&asking->line, bytes, (size_t)count) != STATUS_OK)
        buf_reset(&asking->line); /* no person types so much */
    for (;;) {
        size_t end = str_find_char(buf_str(&asking->line), '\n', 0);
        if (end == STR_NONE || !asking->first)
            return;
        char *line = str_dup(str_slice(buf_str(&asking->line), 0, end));
        buf_consume(&asking->line, end + 1);
        terminal_typed();
        take_line(asking, str_of(line));
        free(line);
    }
}

/* ---- the engine's side ---- */

static void on_ask(void *user, struct ask *ask)
{
    struct asking *asking = user;
    struct waiting *waiting = mem_zalloc(sizeof *waiting), **link = &asking->first;
    waiting->ask = ask;
    while (*link)
        link = &(*link)->next;
    *link = waiting;
    if (asking->first != waiting)
        return;
    if (asking->hush)
        asking->hush(asking->user, true);
    show_first(asking);
}

static void on_withdraw(void *user, struct ask *ask)
{
    struct asking *asking = user;
    if (asking->first->ask == ask) {
        terminal_live(STR(""));
        terminal_line(STR("(no answer is needed any more)"));
        drop_first(asking);
        return;
    }
    for (struct waiting **link = &asking->first; *link; link = &(*link)->next) {
        struct waiting *waiting = *link;
        if (waiting->ask != ask)
            continue;
        *link = waiting->next;
        free(waiting);
        return;
    }
}

struct asking *asking_create(const struct cli *cli, struct loop *loop, struct engine *engine,
                             void (*hush)(void *user, bool quiet), void *user)
{
    if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO) ||
        strcmp(config_text(cli->config, OPTION_ASK_USER), "never") == 0)
        return NULL;
    struct asking *asking = mem_zalloc(sizeof *asking);
    asking->engine = engine;
    asking->hush = hush;
    asking->user = user;
    buf_init(&asking->line, MAX_LINE);
    asking->input = loop_watch_create(loop, STDIN_FILENO, on_input, asking);
    const struct asker asker = {.ask = on_ask, .withdraw = on_withdraw, .user = asking};
    engine_set_asker(engine, &asker);
    return asking;
}

void asking_destroy(struct asking *asking)
{
    if (asking == NULL)
        return;
    engine_set_asker(asking->engine, NULL);
    loop_watch_destroy(asking->input);
    buf_finish(&asking->line);
    free(asking);
}
