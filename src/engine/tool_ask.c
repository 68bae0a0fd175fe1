/* Questions of a tool call to a person: what the tool asks, and the consent that a call may need. */
#include "core/mem.h"
#include "engine/ask.h"
#include "engine/tool_run.h"

#include <stdlib.h>

struct ask {
    struct tool_task task;
    struct ask_question question;
    json_t *schema;
    char *text;
    tool_ask_fn done;
    void *user;
    bool shown; /* the asker has it */
    bool waits; /* the clocks stand still for it */
    bool settled;
    enum ask_outcome outcome;
    struct buf answer;
};

void engine_set_asker(struct engine *engine, const struct asker *asker)
{
    engine->asker = asker ? *asker : (struct asker){0};
}

const struct ask_question *ask_question(const struct ask *ask)
{
    return &ask->question;
}

static void deliver(void *user)
{
    struct ask *ask = user;
    struct tool_run *run = ask->task.run;
    tool_task_remove(&ask->task);
    if (ask->waits)
        tool_run_waits(run, false);
    ask->done(ask->user, run->over ? ASK_NOBODY : ask->outcome, buf_str(&ask->answer));
    json_decref(ask->schema);
    buf_finish(&ask->answer);
    free(ask->text);
    free(ask);
    tool_run_check(run);
}

static void settle(struct ask *ask, enum ask_outcome outcome, struct str text)
{
    if (ask->settled)
        return;
    ask->settled = true;
    ask->shown = false;
    ask->outcome = outcome;
    if (outcome == ASK_ANSWERED)
        buf_add(&ask->answer, text);
    loop_defer(ask->task.run->engine->loop, deliver, ask);
}

void ask_answer(struct ask *ask, enum ask_outcome outcome, struct str text)
{
    settle(ask, outcome, text);
}

static void cancel_ask(struct tool_task *task)
{
    struct ask *ask = (struct ask *)task;
    const struct asker *asker = &task->run->engine->asker;
    if (ask->shown)
        asker->withdraw(asker->user, ask);
    settle(ask, ASK_NOBODY, (struct str){0});
}

static void tell(const struct tool_run *run, const struct ask_question *question)
{
    if (run->options.asked)
        run->options.asked(run->options.user, question);
}

static void start_ask(struct tool_run *run, const struct ask_question *question, tool_ask_fn done, void *user)
{
    struct ask *ask = mem_zalloc(sizeof *ask);
    const struct asker *asker = &run->engine->asker;
    ask->question = *question;
    ask->text = str_dup(question->text);
    ask->schema = question->schema ? json_deep_copy(question->schema) : NULL;
    ask->question.text.data = ask->text;
    ask->question.schema = ask->schema;
    ask->done = done;
    ask->user = user;
    buf_init(&ask->answer, BUF_UNBOUNDED);
    tool_task_add(run, &ask->task, cancel_ask);
    if (run->over || !asker->ask) {
        settle(ask, ASK_NOBODY, (struct str){0});
        return;
    }
    ask->waits = ask->shown = true;
    tool_run_waits(run, true);
    tell(run, &ask->question);
    asker->ask(asker->user, ask);
}

bool tool_can_ask(const struct tool_run *run)
{
    return run->engine->asker.ask != NULL;
}

void tool_ask(struct tool_run *run, struct str question, const json_t *schema, tool_ask_fn done, void *user)
{
    const struct ask_question asked = {
        .purpose = ASK_FOR_ANSWER,
        .tool = run->options.tool->signature->name,
        .text = question,
        .schema = schema,
    };
    start_ask(run, &asked, done, user);
}

void tool_run_ask_permission(struct tool_run *run, tool_ask_fn done)
{
    const struct ask_question asked = {
        .purpose = ASK_FOR_PERMISSION,
        .tool = run->options.tool->signature->name,
        .arguments = run->arguments,
        .code = run->options.code,
    };
    start_ask(run, &asked, done, run);
}
