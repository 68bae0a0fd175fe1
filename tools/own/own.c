#include "tools/own/own.h"

#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "loop/loop.h"

#define MAX_OUTPUT     ((size_t)1024 * 1024) /* far more than an observation may hold */
#define MAX_ERRORS     ((size_t)64 * 1024)
#define MAX_LAST_WORDS 300

struct own_tool {
    struct tool tool; /* first, so that a struct tool * is one of these */
    struct tool_signature signature;
    struct program *program;
};

/* One call; its own memory, freed when the process has gone. */
struct own_call {
    struct own_tool *own;
    struct tool_run *run;
    struct tool_hold *hold;
    struct process *process;
};

bool own_tool_name_is_valid(struct str name)
{
    if (name.len == 0 || name.len > 64 || !ascii_is_alpha(name.data[0]))
        return false;
    for (size_t i = 0; i < name.len; i++) {
        char c = name.data[i];
        if (!ascii_is_alnum(c) && c != '_' && c != '-' && c != '.')
            return false;
    }
    return true;
}

/* ---- the end ---- */

/* What the model is told besides the output, and the person of why. */
static void finish(struct own_call *call, const struct child_result *result)
{
    const char *name = call->own->signature.name;
    struct buf text, words;
    enum tool_status status = TOOL_OK;
    buf_init(&text, BUF_UNBOUNDED);
    buf_init(&words, BUF_UNBOUNDED);
    program_last_words(buf_str(&result->errors), MAX_LAST_WORDS, &words);
    const char *colon = words.len > 0 ? ": " : "", *said = words.len > 0 ? words.data : "";
    if (result->status == STATUS_TOO_BIG) {
        tool_report_truncated(call->run);
        tool_report_notice(call->run, "%s was stopped: it wrote more than %zu KB", name, MAX_OUTPUT / 1024);
        buf_addf(&text, "[%s wrote more than %zu KB and was stopped; this is the beginning.]\n", name,
                 MAX_OUTPUT / 1024);
    } else if (result->status != STATUS_OK) {
        status = TOOL_FAILED;
        tool_report_notice(call->run, "%s did not run: %s%s%s", name, result->error.message, colon, said);
        buf_addf(&text, "%s failed: %s Try again with other arguments, or go on without it.\n", name,
                 result->signal_number != 0 ? "it crashed." : "it could not do its work.");
    } else if (result->exit_code != 0) {
        status = TOOL_FAILED;
        tool_report_notice(call->run, "%s ended with exit code %d%s%s", name, result->exit_code, colon, said);
        buf_addf(&text, "%s failed (exit code %d). Try again with other arguments, or go on without it.\n", name,
                 result->exit_code);
    } else if (words.len > 0) {
        tool_report_notice(call->run, "%s says: %s", name, words.data);
    }
    if (str_trim(buf_str(&result->output)).len > 0)
        buf_add(&text, buf_str(&result->output));
    tool_finish(call->run, status, buf_str(&text));
    buf_finish(&words);
    buf_finish(&text);
}

static void process_over(void *user, struct child_result *result)
{
    struct own_call *call = user;
    call->process = NULL;
    finish(call, result); /* nothing happens when the call was cancelled or late */
    tool_hold_end(call->hold);
    free(call);
}

static void cancel(void *user)
{
    struct own_call *call = user;
    if (call->process != NULL)
        process_cancel(call->process);
}

/* ---- the beginning ---- */

static void start(struct tool *self, struct tool_run *run)
{
    struct own_tool *own = (struct own_tool *)self;
    struct own_call *call = mem_zalloc(sizeof *call);
    json_t *arguments = json_deep_copy(tool_arguments(run));
    if (own->signature.takes_code)
        json_put_str(arguments, "code", tool_code(run));
    char *text = json_to_text(arguments);
    json_decref(arguments);
    call->own = own;
    call->run = run;
    const struct child_options options = {.input = str_of(text), .max_output = MAX_OUTPUT, .max_errors = MAX_ERRORS};
    call->process = program_start(own->program, tool_loop(run), &options, process_over, call);
    call->hold = tool_hold_begin(run, cancel, call);
    free(text);
}

static void destroy(struct tool *self)
{
    struct own_tool *own = (struct own_tool *)self;
    program_destroy(own->program);
    signature_finish(&own->signature);
    free(own);
}

static bool take_flag(json_t *object, const char *key)
{
    bool set = json_is_true(json_object_get(object, key));
    json_object_del(object, key);
    return set;
}

/* Reads signature.json, also in the two forms that are written elsewhere: {"type": "function", "function": {…}} of
 * completion servers, and "inputSchema" with "annotations" of MCP. What is for us alone is not shown to the model. */
static enum status load_signature(struct own_tool *own, struct str text, struct error *error)
{
    json_t *whole = NULL;
    enum status status = json_parse(text, &whole, error);
    if (status != STATUS_OK)
        return status;
    json_t *function = json_object_get(whole, "function");
    json_t *signature = json_is_object(function) ? function : whole,
           *schema = json_object_get(signature, "inputSchema");
    const json_t *hints = json_object_get(signature, "annotations");
    own->tool.idempotent =
        json_is_true(json_object_get(hints, "idempotentHint")) || json_is_true(json_object_get(hints, "readOnlyHint"));
    own->tool.idempotent = take_flag(signature, "idempotent") || own->tool.idempotent;
    own->tool.serial = take_flag(signature, "serial");
    if (schema != NULL && json_object_get(signature, "parameters") == NULL) {
        json_put(signature, "parameters", json_incref(schema));
        json_object_del(signature, "inputSchema");
    }
    json_object_del(signature, "annotations");
    char *plain = json_to_text(signature);
    status = signature_load(str_of(plain), &own->signature, error);
    free(plain);
    json_decref(whole);
    return status;
}

/* The name in the configuration takes the place of the signature's, also in what the model is shown. */
static void rename_signature(struct tool_signature *signature, const char *name)
{
    if (name == NULL || strcmp(signature->name, name) == 0)
        return;
    free(signature->name);
    signature->name = mem_strdup(name);
    json_put_str(signature->json, "name", str_of(name));
}

enum status own_tool_create(const struct own_tool_options *options, struct tool **out, struct error *error)
{
    struct own_tool *own = mem_zalloc(sizeof *own);
    enum status status = load_signature(own, options->signature, error);
    if (status == STATUS_OK) {
        rename_signature(&own->signature, options->name);
        if (!own_tool_name_is_valid(str_of(own->signature.name)))
            status = error_set(error, STATUS_INVALID,
                               "a tool's name begins with a letter and has at most 64 letters, digits, _ - .");
    }
    if (status == STATUS_OK)
        status = program_create(&options->program, &own->program, error);
    if (status != STATUS_OK) {
        destroy(&own->tool);
        return status;
    }
    own->tool = (struct tool){
        .signature = &own->signature,
        .idempotent = options->idempotent || own->tool.idempotent,
        .serial = options->serial || own->tool.serial,
        .permission = options->permission,
        .timeout_ms = options->timeout_ms > 0 ? options->timeout_ms : OWN_DEFAULT_TIMEOUT_MS,
        .max_output_tokens = options->max_output_tokens,
        .start = start,
        .destroy = destroy,
    };
    *out = &own->tool;
    return STATUS_OK;
}
