/* What the model reads of a program's end: what was printed, each stream under its name, and how it ended where that
 * cannot be seen from the traceback. The words are the profile's. */
#include "tools/python/internal.h"

#include "protocol/profile.h"
#include "tools/common/line.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_MESSAGE 300
#define MEGABYTE    (INT64_C(1024) * 1024)

struct words {
    const struct profile *profile;
    struct buf text;
};

static void say(struct words *words, enum prompt_id id, const char *name, struct str value)
{
    const struct prompt_value values[] = {{name, value}};
    struct buf text;
    buf_init(&text, BUF_UNBOUNDED);
    if (profile_render(words->profile, id, values, 1, &text) != STATUS_OK)
        abort(); /* the buffer has no cap */
    if (text.len > 0 && words->text.len > 0)
        buf_add_char(&words->text, '\n');
    buf_add(&words->text, buf_str(&text));
    buf_finish(&text);
}

static void say_number(struct words *words, enum prompt_id id, const char *name, int64_t number)
{
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)number);
    say(words, id, name, str_of(text));
}

static void add_stream(struct words *words, const char *name, struct str text, size_t head, size_t left_out)
{
    if (text.len == 0)
        return;
    struct buf shown;
    buf_init(&shown, BUF_UNBOUNDED);
    buf_add(&shown, str_slice(text, 0, head));
    if (left_out > 0) {
        char bytes[24];
        snprintf(bytes, sizeof bytes, "%zu", left_out);
        const struct prompt_value values[] = {{"bytes", str_of(bytes)}};
        if (shown.len > 0 && shown.data[shown.len - 1] != '\n')
            buf_add_char(&shown, '\n');
        if (profile_render(words->profile, PROMPT_PYTHON_LEFT_OUT, values, 1, &shown) != STATUS_OK)
            abort(); /* the buffer has no cap */
        buf_add_char(&shown, '\n');
    }
    buf_add(&shown, str_slice(text, head, text.len));
    const struct prompt_value values[] = {{"stream", str_of(name)}, {"text", str_trim_end(buf_str(&shown))}};
    if (words->text.len > 0)
        buf_add_char(&words->text, '\n');
    if (profile_render(words->profile, PROMPT_PYTHON_STREAM, values, 2, &words->text) != STATUS_OK)
        abort(); /* the buffer has no cap */
    buf_finish(&shown);
}

static void say_exception(struct words *words, const struct python_outcome *outcome)
{
    struct buf what;
    char line[24];
    buf_init(&what, BUF_UNBOUNDED);
    buf_add_text(&what, outcome->exception);
    if (outcome->message && *outcome->message) {
        buf_add_text(&what, ": ");
        line_add(&what, str_of(outcome->message), MAX_MESSAGE);
    }
    snprintf(line, sizeof line, "%lld", (long long)outcome->line);
    const struct prompt_value values[] = {{"exception", buf_str(&what)}, {"line", str_of(line)}};
    enum prompt_id id = outcome->line > 0 ? PROMPT_PYTHON_RAISED : PROMPT_PYTHON_RAISED_NOWHERE;
    if (words->text.len > 0)
        buf_add_char(&words->text, '\n');
    if (profile_render(words->profile, id, values, 2, &words->text) != STATUS_OK)
        abort(); /* the buffer has no cap */
    buf_finish(&what);
}

static void say_signal(struct words *words, int signal_number)
{
    char text[96];
    const char *name = sigabbrev_np(signal_number), *meaning = sigdescr_np(signal_number);
    snprintf(text, sizeof text, "SIG%s%s%s", name ? name : "?", meaning ? ", " : "", meaning ? meaning : "");
    say(words, PROMPT_PYTHON_CRASHED, "signal", str_of(text));
}

/* Trained formats have the traceback alone. */
static void say_own_end(struct words *words, const struct python_outcome *outcome)
{
    bool is_silent = words->text.len == 0;
    bool is_generic = words->profile->observations == OBSERVATION_GENERIC;
    if (outcome->exception && (is_generic || is_silent))
        say_exception(words, outcome);
    else if (outcome->exit_code != 0 && (is_generic || is_silent))
        say_number(words, PROMPT_PYTHON_EXIT, "code", outcome->exit_code);
    else if (is_silent)
        say(words, PROMPT_PYTHON_SILENT, "code", (struct str){0});
}

static void say_end(struct words *words, const struct python_outcome *outcome)
{
    switch (outcome->end) {
    case PYTHON_ENDED:
        say_own_end(words, outcome);
        break;
    case PYTHON_CRASHED:
        say_signal(words, outcome->signal_number);
        break;
    case PYTHON_TIMEOUT:
        say_number(words, PROMPT_PYTHON_TIMEOUT, "seconds", (outcome->timeout_ms + 999) / 1000);
        break;
    case PYTHON_MEMORY:
        say_number(words, PROMPT_PYTHON_MEMORY, "megabytes", outcome->memory / MEGABYTE);
        break;
    case PYTHON_CPU:
        say_number(words, PROMPT_PYTHON_CPU, "seconds", outcome->cpu_seconds);
        break;
    case PYTHON_PROCESSES:
        say(words, PROMPT_PYTHON_PROCESSES, "code", (struct str){0});
        break;
    case PYTHON_FLOOD:
        say_number(words, PROMPT_PYTHON_FLOOD, "megabytes", (int64_t)PYTHON_MAX_OUTPUT / MEGABYTE);
        break;
    case PYTHON_NOT_RUN:
        say(words, PROMPT_PYTHON_NOT_RUN, "problem", str_of(outcome->problem));
        break;
    }
}

void python_show(struct tool_run *run, const struct python_outcome *outcome)
{
    struct words words = {.profile = tool_profile(run)};
    buf_init(&words.text, BUF_UNBOUNDED);
    add_stream(&words, "stdout", outcome->output, outcome->output_head, outcome->output_left_out);
    add_stream(&words, "stderr", outcome->errors, outcome->errors_head, outcome->errors_left_out);
    say_end(&words, outcome);
    if (outcome->state_lost)
        say(&words, PROMPT_PYTHON_STATE_LOST, "code", (struct str){0});
    if (outcome->output_left_out + outcome->errors_left_out > 0)
        tool_report_truncated(run);
    bool is_good = outcome->end == PYTHON_ENDED && !outcome->exception && outcome->exit_code == 0;
    tool_finish(run, is_good ? TOOL_OK : TOOL_FAILED, buf_str(&words.text));
    buf_finish(&words.text);
}
