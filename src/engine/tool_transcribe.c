/* Sound that tools have transcribed. */
#include "core/mem.h"
#include "engine/tool_run.h"
#include "model/transcription.h"

#include <stdlib.h>

struct transcribe_task {
    struct tool_task task;
    tool_complete_fn done;
    void *user;
    struct transcription_call *call;
};

bool tool_can_transcribe(const struct tool_run *run)
{
    return run->engine->options.transcription != NULL;
}

static void count_usage(struct tool_run *run, const struct transcription_result *result)
{
    struct usage *sum = &run->facts.role_usage[MODEL_TRANSCRIPTION];
    if (result->status != STATUS_OK)
        return;
    sum->prompt += result->usage.prompt > 0 ? result->usage.prompt : 0;
    sum->completion += result->usage.completion > 0 ? result->usage.completion : 0;
    run->facts.role_calls[MODEL_TRANSCRIPTION]++;
}

static void on_done(void *user, const struct transcription_result *result)
{
    struct transcribe_task *task = user;
    struct tool_run *run = task->task.run;
    count_usage(run, result);
    const struct tool_completion outcome = {
        .status = run->over ? STATUS_CANCELED : result->status,
        .text = str_trim(result->text),
        .error = result->status == STATUS_OK ? NULL : &result->error,
    };
    tool_task_remove(&task->task);
    task->done(task->user, &outcome);
    free(task);
    tool_run_check(run);
}

/* There is no service, or the call is over. */
static void on_not_begun(void *user)
{
    struct transcribe_task *task = user;
    struct error error;
    enum status status = task->task.run->over
                             ? error_set(&error, STATUS_CANCELED, "the call is over")
                             : error_set(&error, STATUS_UNSUPPORTED, "there is no service to transcribe sound");
    task->done(task->user, &(struct tool_completion){.status = status, .error = &error});
    free(task);
}

static void cancel(struct tool_task *task)
{
    transcription_cancel(((struct transcribe_task *)task)->call);
}

void tool_transcribe(struct tool_run *run, const struct tool_sound *sound, tool_complete_fn done, void *user)
{
    struct transcribe_task *task = mem_zalloc(sizeof *task);
    task->done = done;
    task->user = user;
    task->task.run = run;
    if (run->over || !tool_can_transcribe(run)) {
        tool_wait(run, 0, on_not_begun, task);
        return;
    }
    const struct transcription_sound piece = {sound->bytes, sound->name, sound->media_type};
    tool_task_add(run, &task->task, cancel);
    task->call = transcription_start(run->engine->options.transcription, &piece, on_done, task);
}
