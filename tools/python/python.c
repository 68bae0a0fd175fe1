#include "tools/python/python.h"

#include "core/embed.h"
#include "core/mem.h"
#include "tools/python/internal.h"

#include <stdlib.h>

/* A call ends by the program's own deadline, which knows what was printed until then; the engine's is behind it. */
#define ENGINE_GRACE_MS 10000
#define OWN_GRACE_MS    300

static void start_call(struct tool *self, struct tool_run *run)
{
    struct python_tool *tool = (struct python_tool *)self;
    int64_t timeout_ms = tool->timeout_ms, left_ms = tool_time_left_ms(run) - OWN_GRACE_MS;
    if (left_ms < timeout_ms)
        timeout_ms = left_ms > 0 ? left_ms : 1;
    if (tool->sandbox == PYTHON_SANDBOX_FUSION)
        fusion_run(tool, run, timeout_ms);
    else
        interpreter_run(tool, run, timeout_ms);
}

static void say_no_code(void *user)
{
    struct tool_run *run = user;
    struct python_outcome outcome = {.end = PYTHON_NOT_RUN};
    outcome.problem = tool_code(run).len > PYTHON_MAX_CODE
                          ? "the program is longer than 1 MB"
                          : "there is no program: it stands between <code> and </code> behind the arguments";
    python_show(run, &outcome);
}

static void python_start(struct tool *self, struct tool_run *run)
{
    if (str_trim(tool_code(run)).len == 0 || tool_code(run).len > PYTHON_MAX_CODE)
        tool_wait(run, 0, say_no_code, run);
    else
        start_call(self, run);
}

static void python_cancel(struct tool *self, struct tool_run *run)
{
    struct python_tool *tool = (struct python_tool *)self;
    interpreter_abandon(tool, run);
}

static void python_run_ended(struct tool *self, uint64_t session)
{
    struct python_tool *tool = (struct python_tool *)self;
    if (tool->session && session)
        interpreter_end(tool, session);
}

static bool python_check(struct tool *self, struct buf *line)
{
    const struct python_tool *tool = (const struct python_tool *)self;
    switch (tool->sandbox) {
    case PYTHON_SANDBOX_BUBBLEWRAP:
        buf_addf(line, "Python %s, confined by bubblewrap", tool->location.version);
        break;
    case PYTHON_SANDBOX_FUSION:
        buf_addf(line, "programs run on %zu SandboxFusion server%s, not asked now", tool->n_servers,
                 tool->n_servers == 1 ? "" : "s");
        break;
    case PYTHON_SANDBOX_NONE:
        buf_addf(line, "Python %s, NOT CONFINED: programs that a model writes can do what you can",
                 tool->location.version);
        break;
    }
    if (tool->session)
        buf_add_text(line, "; one interpreter for each run");
    return true;
}

static void python_destroy(struct tool *self)
{
    struct python_tool *tool = (struct python_tool *)self;
    interpreter_end(tool, 0);
    fusion_finish(tool);
    python_location_finish(&tool->location);
    signature_finish(&tool->signature);
    free(tool->lost);
    free(tool);
}

static enum status load_signature(struct python_tool *tool, struct str text, struct error *error)
{
    if (text.len == 0 && !embed_find("tools/python/signature.json", &text))
        return error_set(error, STATUS_NOT_FOUND, "the signature of PythonInterpreter is not embedded");
    return signature_load(text, &tool->signature, error);
}

static enum status prepare(struct python_tool *tool, const struct python_options *options, struct error *error)
{
    enum status status = load_signature(tool, options->signature, error);
    if (status != STATUS_OK)
        return status;
    if (options->sandbox == PYTHON_SANDBOX_FUSION)
        return options->session ? error_set(error, STATUS_INVALID, "SandboxFusion keeps no state between programs")
                                : fusion_init(tool, options, error);
    return python_locate(options->interpreter, options->sandbox == PYTHON_SANDBOX_BUBBLEWRAP, &tool->location, error);
}

enum status python_tool_create(const struct python_options *options, struct tool **out, struct error *error)
{
    struct python_tool *tool = mem_zalloc(sizeof *tool);
    tool->sandbox = options->sandbox;
    tool->session = options->session;
    tool->timeout_ms = options->timeout_ms > 0 ? options->timeout_ms : PYTHON_DEFAULT_TIMEOUT_MS;
    tool->memory = options->memory > 0 ? options->memory : PYTHON_DEFAULT_MEMORY;
    tool->tool = (struct tool){
        .signature = &tool->signature,
        .idempotent = !options->session && options->sandbox != PYTHON_SANDBOX_NONE,
        .serial = options->session,
        .timeout_ms = tool->timeout_ms + ENGINE_GRACE_MS,
        .start = python_start,
        .cancel = python_cancel,
        .run_ended = python_run_ended,
        .check = python_check,
        .destroy = python_destroy,
    };
    enum status status = prepare(tool, options, error);
    if (status == STATUS_OK)
        *out = &tool->tool;
    else
        python_destroy(&tool->tool);
    return status;
}
