/* Interpreters on this machine: a child that runs the driver, its program in, its streams and its end out. A session's
 * interpreter stays for the next call; every other ends with its call. */
#include "tools/python/internal.h"

#include "core/embed.h"
#include "core/mem.h"
#include "loop/loop.h"

#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

/* What is kept of long output. Together not more than the cap of an observation holds even of digits, of which two make
 * a token: else the end, where the result stands, would be cut there. */
#define OUTPUT_HEAD ((size_t)28 * 1024)
#define OUTPUT_TAIL ((size_t)12 * 1024)
#define ERRORS_HEAD ((size_t)6 * 1024)
#define ERRORS_TAIL ((size_t)10 * 1024)

/* Time on the processor, in multiples of the time-out: a program may use two cores all the while, a session the same
 * in some calls. */
#define CPU_FACTOR         2
#define SESSION_CPU_FACTOR 20

#define MAX_OPEN_FOLDERS 32

struct interpreter {
    struct interpreter *next;
    struct python_tool *tool; /* NULL once nobody waits for what becomes of it */
    uint64_t session;         /* 0: for one call */
    struct confined *confined;
    struct child *child;  /* unconfined */
    char *folder;         /* the unconfined child's; NULL for a confined one */
    struct tool_run *run; /* the call whose program runs; NULL between calls */
    struct loop_timer *deadline;
    int64_t timeout_ms;
    struct capture output, errors;
    bool dying, timed_out, flooded;
};

static void kill_it(struct interpreter *interpreter)
{
    interpreter->dying = true;
    if (interpreter->confined)
        confine_cancel(interpreter->confined);
    if (interpreter->child)
        child_cancel(interpreter->child);
}

static struct child *child_of(const struct interpreter *interpreter)
{
    return interpreter->confined ? confined_child(interpreter->confined) : interpreter->child;
}

/* ---- sessions whose state is gone ---- */

static void note_lost(struct python_tool *tool, uint64_t session)
{
    tool->lost = mem_grow(tool->lost, tool->n_lost, &tool->lost_capacity, sizeof *tool->lost);
    tool->lost[tool->n_lost++] = session;
}

bool interpreter_was_lost(struct python_tool *tool, uint64_t session)
{
    bool found = false;
    size_t kept = 0;
    for (size_t i = 0; i < tool->n_lost; i++) {
        if (tool->lost[i] == session)
            found = true;
        else
            tool->lost[kept++] = tool->lost[i];
    }
    tool->n_lost = kept;
    return found;
}

/* ---- outcomes ---- */

static void read_report(const struct interpreter *interpreter, json_t **report, struct python_outcome *outcome)
{
    struct error error;
    *report = NULL;
    if (!interpreter->errors.has_report || json_parse(str_of(interpreter->errors.report), report, &error) != STATUS_OK)
        return;
    outcome->exception = json_get_string(*report, "exception");
    outcome->message = json_get_string(*report, "message");
    outcome->line = json_get_int(*report, "line", 0);
    outcome->exit_code = json_get_int(*report, "exit", 0);
}

static enum python_end end_of(enum confine_end end)
{
    switch (end) {
    case CONFINE_END_NONE:
        break;
    case CONFINE_END_MEMORY:
        return PYTHON_MEMORY;
    case CONFINE_END_CPU:
        return PYTHON_CPU;
    case CONFINE_END_PROCESSES:
        return PYTHON_PROCESSES;
    }
    return PYTHON_ENDED;
}

/* How a program ended whose interpreter has ended. */
static void judge(const struct interpreter *interpreter, enum confine_end end, const struct child_result *result,
                  struct python_outcome *outcome)
{
    int signal_number = result->signal_number;
    if (interpreter->confined && result->exit_code > 128 && result->exit_code <= 128 + SIGRTMAX &&
        !interpreter->errors.has_report)
        signal_number = result->exit_code - 128; /* bubblewrap says it so */
    if (interpreter->timed_out)
        outcome->end = PYTHON_TIMEOUT;
    else if (interpreter->flooded)
        outcome->end = PYTHON_FLOOD;
    else if (end != CONFINE_END_NONE)
        outcome->end = end_of(end);
    else if (signal_number == SIGXCPU)
        outcome->end = PYTHON_CPU;
    else if (signal_number > 0)
        outcome->end = PYTHON_CRASHED;
    else if (result->status != STATUS_OK)
        outcome->end = PYTHON_NOT_RUN;
    else if (!interpreter->errors.has_report)
        outcome->exit_code = result->exit_code; /* it left by a way round the driver */
    outcome->signal_number = signal_number;
    outcome->problem = "the sandbox for programs could not be started";
}

static int64_t cpu_seconds(const struct interpreter *interpreter)
{
    const int factor = interpreter->session ? SESSION_CPU_FACTOR : CPU_FACTOR;
    return factor * (1 + interpreter->tool->timeout_ms / 1000);
}

static void show(struct interpreter *interpreter, struct python_outcome *outcome)
{
    struct tool_run *run = interpreter->run;
    json_t *report;
    interpreter->run = NULL;
    loop_timer_stop(interpreter->deadline);
    if (outcome->end == PYTHON_ENDED && !outcome->exit_code)
        read_report(interpreter, &report, outcome);
    else
        report = NULL;
    outcome->timeout_ms = interpreter->timeout_ms;
    outcome->memory = interpreter->tool->memory;
    outcome->cpu_seconds = cpu_seconds(interpreter);
    outcome->output = capture_join(&interpreter->output, &outcome->output_head, &outcome->output_left_out);
    outcome->errors = capture_join(&interpreter->errors, &outcome->errors_head, &outcome->errors_left_out);
    outcome->state_lost |= interpreter_was_lost(interpreter->tool, interpreter->session);
    python_show(run, outcome);
    json_decref(report);
}

/* ---- the child's end ---- */

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *place)
{
    (void)info, (void)kind, (void)place;
    remove(path);
    return 0;
}

static void take_off_list(struct interpreter *interpreter)
{
    struct interpreter **link = &interpreter->tool->interpreters;
    while (*link != interpreter)
        link = &(*link)->next;
    *link = interpreter->next;
}

static void ended(struct interpreter *interpreter, enum confine_end end, const struct child_result *result)
{
    struct python_tool *tool = interpreter->tool;
    if (tool)
        take_off_list(interpreter);
    if (tool && interpreter->run) {
        struct python_outcome outcome = {.state_lost = interpreter->session != 0};
        judge(interpreter, end, result, &outcome);
        if (outcome.end == PYTHON_NOT_RUN)
            tool_report_notice(interpreter->run, "%s", result->error.message);
        show(interpreter, &outcome);
    } else if (tool && interpreter->session) {
        note_lost(tool, interpreter->session);
    }
    if (interpreter->folder)
        nftw(interpreter->folder, remove_entry, MAX_OPEN_FOLDERS, FTW_DEPTH | FTW_PHYS);
    loop_timer_destroy(interpreter->deadline);
    capture_finish(&interpreter->output);
    capture_finish(&interpreter->errors);
    free(interpreter->folder);
    free(interpreter);
}

static void on_confined_ended(void *user, enum confine_end end, struct child_result *result)
{
    ended(user, end, result);
}

static void on_child_ended(void *user, struct child_result *result)
{
    ended(user, CONFINE_END_NONE, result);
}

static void on_deadline(void *user)
{
    struct interpreter *interpreter = user;
    interpreter->timed_out = true;
    kill_it(interpreter);
}

/* ---- the child's streams ---- */

/* The program of a session has ended when both streams say so. */
static void take(struct interpreter *interpreter, struct capture *capture, struct str bytes)
{
    if (!interpreter->run || interpreter->dying)
        return; /* what a session's threads say between calls */
    capture_add(capture, bytes);
    if (interpreter->output.total + interpreter->errors.total > PYTHON_MAX_OUTPUT) {
        interpreter->flooded = true;
        kill_it(interpreter);
    } else if (interpreter->session && interpreter->output.has_report && interpreter->errors.has_report) {
        struct python_outcome outcome = {.end = PYTHON_ENDED};
        show(interpreter, &outcome);
    }
}

static void on_output(void *user, struct str bytes)
{
    struct interpreter *interpreter = user;
    take(interpreter, &interpreter->output, bytes);
}

static void on_errors(void *user, struct str bytes)
{
    struct interpreter *interpreter = user;
    take(interpreter, &interpreter->errors, bytes);
}

/* ---- the beginning ---- */

/* Where the program works when it is not confined: a folder that goes with it. */
static char *make_folder(void)
{
    const char *parent = getenv("TMPDIR");
    char *folder = mem_printf("%s/fathom-python-XXXXXX", parent && *parent ? parent : "/tmp");
    if (mkdtemp(folder))
        return folder;
    free(folder);
    return NULL;
}

static void start_unconfined(struct interpreter *interpreter, struct loop *loop, struct child_options *options)
{
    char home[512];
    const char *path = getenv("PATH");
    char *search_path = mem_printf("PATH=%s", path ? path : "/usr/local/bin:/usr/bin:/bin");
    interpreter->folder = make_folder();
    snprintf(home, sizeof home, "HOME=%s", interpreter->folder ? interpreter->folder : "/");
    const char *const environment[] = {search_path, home, "LANG=C.UTF-8", "MPLBACKEND=Agg", NULL};
    options->environment = environment;
    options->directory = interpreter->folder ? interpreter->folder : "/";
    interpreter->child = child_start(loop, options, on_child_ended, interpreter);
    free(search_path);
}

static void start_confined(struct interpreter *interpreter, struct loop *loop, struct child_options *options)
{
    /* Libraries for numbers start a thread for each core of a large machine unless they are told a number. */
    static const char *const environment[] = {"PATH=/usr/local/bin:/usr/bin:/bin",
                                              "HOME=/tmp",
                                              "LANG=C.UTF-8",
                                              "TZ=UTC",
                                              "MPLBACKEND=Agg",
                                              "MPLCONFIGDIR=/tmp",
                                              "OMP_NUM_THREADS=4",
                                              "OPENBLAS_NUM_THREADS=4",
                                              "MKL_NUM_THREADS=4",
                                              "NUMEXPR_NUM_THREADS=4",
                                              NULL};
    const struct python_tool *tool = interpreter->tool;
    const struct confinement confinement = {
        .limits = {.memory = tool->memory, .cpu_seconds = cpu_seconds(interpreter)},
        .binds = tool->location.binds,
        .n_binds = tool->location.n_binds,
    };
    options->environment = environment;
    interpreter->confined = confine_start(loop, &confinement, options, on_confined_ended, interpreter);
}

static struct interpreter *start(struct python_tool *tool, struct loop *loop, uint64_t session)
{
    struct str driver = {0};
    embed_find("tools/python/driver.py", &driver);
    struct interpreter *interpreter = mem_zalloc(sizeof *interpreter);
    interpreter->tool = tool;
    interpreter->session = session;
    interpreter->deadline = loop_timer_create(loop, on_deadline, interpreter);
    capture_init(&interpreter->output, OUTPUT_HEAD, OUTPUT_TAIL);
    capture_init(&interpreter->errors, ERRORS_HEAD, ERRORS_TAIL);
    interpreter->next = tool->interpreters;
    tool->interpreters = interpreter;

    const char *const argv[] = {tool->location.path,          "-I", "-B", "-X", "utf8", "-c", driver.data,
                                session ? "session" : "once", NULL};
    struct child_options options = {
        .argv = argv,
        .keep_input = true,
        .max_unread = PYTHON_MAX_CODE + 4096,
        .on_output = on_output,
        .on_errors = on_errors,
    };
    if (tool->sandbox == PYTHON_SANDBOX_NONE)
        start_unconfined(interpreter, loop, &options);
    else
        start_confined(interpreter, loop, &options);
    return interpreter;
}

static struct interpreter *find(const struct python_tool *tool, uint64_t session)
{
    struct interpreter *interpreter = tool->interpreters;
    while (interpreter && (interpreter->session != session || interpreter->dying))
        interpreter = interpreter->next;
    return interpreter;
}

/* Sixteen random bytes in hex: what the program prints cannot be taken for the report. */
static void make_token(char out[33])
{
    unsigned char bytes[16];
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        abort(); /* cannot happen for so few bytes (getrandom(2)) */
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(out + 2 * i, 3, "%02x", bytes[i]);
}

static void send_program(struct interpreter *interpreter, struct str code)
{
    char token[33];
    struct buf request;
    struct child *child = child_of(interpreter);
    make_token(token);
    capture_begin(&interpreter->output, token);
    capture_begin(&interpreter->errors, token);
    buf_init(&request, BUF_UNBOUNDED);
    buf_addf(&request, "%s %zu\n", token, code.len);
    buf_add(&request, code);
    /* An interpreter that takes nothing is ending, or ends at the deadline. */
    if (child && child_write(child, buf_str(&request)) != STATUS_OK)
        kill_it(interpreter);
    if (child && !interpreter->session)
        child_close_input(child);
    buf_finish(&request);
}

void interpreter_run(struct python_tool *tool, struct tool_run *run, int64_t timeout_ms)
{
    uint64_t session = tool->session ? tool_session(run) : 0;
    struct interpreter *interpreter = session ? find(tool, session) : NULL;
    if (!interpreter)
        interpreter = start(tool, tool_loop(run), session);
    interpreter->run = run;
    interpreter->timeout_ms = timeout_ms;
    send_program(interpreter, tool_code(run));
    loop_timer_start(interpreter->deadline, timeout_ms);
}

void interpreter_abandon(struct python_tool *tool, struct tool_run *run)
{
    for (struct interpreter *interpreter = tool->interpreters; interpreter; interpreter = interpreter->next) {
        if (interpreter->run != run)
            continue;
        interpreter->run = NULL;
        kill_it(interpreter);
        return;
    }
}

void interpreter_end(struct python_tool *tool, uint64_t session)
{
    struct interpreter **link = &tool->interpreters;
    while (*link) {
        struct interpreter *interpreter = *link;
        if (session && interpreter->session != session) {
            link = &interpreter->next;
            continue;
        }
        *link = interpreter->next;
        interpreter->tool = NULL;
        interpreter->run = NULL;
        kill_it(interpreter);
    }
    interpreter_was_lost(tool, session);
}
