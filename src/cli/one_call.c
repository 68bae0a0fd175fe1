#include "cli/one_call.h"

#include "api/config.h"
#include "api/setup.h"
#include "cli/asking.h"
#include "cli/interrupt.h"
#include "core/lenient_json.h"
#include "core/mem.h"
#include "core/schema.h"
#include "engine/tool.h"
#include "engine/tool_call.h"
#include "loop/loop.h"
#include "protocol/signature.h"

#include <stdlib.h>

struct call {
    struct cli *cli;
    struct setup *setup;
    const char *tool;
    json_t *arguments;
    struct str code, question;
    struct tool_run *run; /* NULL before the start and after the release */
    bool released, succeeded;
    bool silent; /* nothing is printed */
};

static void on_say(void *user, const char *sentence)
{
    cli_say(user, "%s", sentence);
}

static void on_tool_notice(void *user, struct str text)
{
    struct call *call = user;
    cli_say(call->cli, "%.*s", STR_ARG(text));
}

static void on_interrupt(void *user)
{
    struct call *call = user;
    if (call->run != NULL)
        tool_call_cancel(call->run);
    else
        setup_interrupt(call->setup);
}

static void on_released(void *user)
{
    struct call *call = user;
    call->released = true;
    call->run = NULL;
    loop_stop(call->setup->loop);
}

static void print_structured(const struct call *call, const struct tool_call_outcome *outcome)
{
    json_t *object = json_object(), *sources = json_array();
    for (size_t i = 0; i < outcome->facts->n_sources; i++) {
        json_t *source = json_object();
        json_put_str(source, "url", outcome->facts->sources[i].url);
        json_put_str(source, "title", outcome->facts->sources[i].title);
        json_push(sources, source);
    }
    json_put_str(object, "tool", str_of(call->tool));
    json_put(object, "arguments", json_incref(call->arguments));
    json_put_str(object, "status", str_of(tool_outcome_name(outcome->status)));
    json_put_str(object, "text", outcome->text);
    json_put(object, "sources", sources);
    json_put(object, "truncated", json_boolean(outcome->facts->truncated));
    json_put(object, "quotes", json_integer(outcome->facts->quotes));
    json_put(object, "unfound_quotes", json_integer(outcome->facts->unfound_quotes));
    json_put(object, "elapsed_ms", json_integer(outcome->facts->elapsed_ms));
    cli_print_json(object);
    json_decref(object);
}

static void on_done(void *user, const struct tool_call_outcome *outcome)
{
    struct call *call = user;
    call->succeeded = outcome->status == OUTCOME_OK;
    if (call->silent)
        return;
    if (call->cli->json) {
        print_structured(call, outcome);
    } else {
        cli_print_text(outcome->text);
        cli_print("\n");
    }
}

static int carry_out(struct call *call, struct tool *tool)
{
    const struct tool_call_options options = {
        .tool = tool,
        .profile = call->setup->profile,
        .arguments = call->arguments,
        .code = call->code,
        .question = call->question,
        .timeout_ms = config_integer(call->cli->config, OPTION_TOOL_TIMEOUT),
        .done = on_done,
        .notice = on_tool_notice,
        .released = on_released,
        .user = call,
    };
    struct asking *asking = asking_create(call->cli, call->setup->loop, call->setup->engine, NULL, NULL);
    call->run = tool_call_start(call->setup->engine, &options);
    while (!call->released)
        loop_run(call->setup->loop);
    asking_destroy(asking);
    if (interrupt_came())
        return CLI_INTERRUPTED;
    return call->succeeded ? CLI_OK : CLI_FAILED;
}

static struct tool *only_tool(struct call *call)
{
    return call->setup->tools[0];
}

static const struct tool_signature *find_signature(const struct setup *setup, const char *name)
{
    const struct tool_signature **all = mem_calloc(setup->n_tools + 1, sizeof(struct tool_signature *));
    for (size_t i = 0; i < setup->n_tools; i++)
        all[i] = setup->tools[i]->signature;
    const struct tool_signature *found = signature_find(all, setup->n_tools, str_of(name), NULL);
    free(all);
    return found;
}

static struct tool *no_such_tool(const struct call *call)
{
    struct buf names;
    buf_init(&names, BUF_UNBOUNDED);
    for (size_t i = 0; i < call->setup->n_tools; i++)
        buf_addf(&names, "%s%s", i > 0 ? ", " : "", call->setup->tools[i]->signature->name);
    cli_fail(call->cli, "there is no tool \"%s\"; there are: %s (--tools names others)", call->tool,
             names.len > 0 ? names.data : "none");
    buf_finish(&names);
    return NULL;
}

/* The tool that `call->tool` names, once its arguments fit; NULL after having said why not. */
static struct tool *named_tool(struct call *call)
{
    const struct tool_signature *signature = find_signature(call->setup, call->tool);
    struct error error;
    if (signature == NULL)
        return no_such_tool(call);
    if (schema_check(signature->parameters, &call->arguments, NULL, &error) != STATUS_OK) {
        cli_fail(call->cli, "the arguments do not fit %s: %s%s%s", signature->name, error.place,
                 error.place[0] != '\0' ? ": " : "", error.message);
        return NULL;
    }
    for (size_t i = 0; i < call->setup->n_tools; i++) {
        if (call->setup->tools[i]->signature == signature)
            return call->setup->tools[i];
    }
    return NULL;
}

/* Sets up, calls the tool that `choose` gives, and takes everything down again. */
static int run_call(struct call *call, const struct setup_options *options, struct tool *(*choose)(struct call *call))
{
    struct error error = {0};
    int code = CLI_USAGE;
    enum status status = setup_create(call->cli->config, options, &call->setup, &error);
    if (status == STATUS_OK) {
        interrupt_install(call->setup->loop, on_interrupt, call);
        status = setup_prepare(call->setup, &error);
    }
    struct tool *tool = status == STATUS_OK ? choose(call) : NULL;
    if (tool != NULL)
        code = carry_out(call, tool);
    else if (status == STATUS_CANCELED)
        code = CLI_INTERRUPTED;
    if (status != STATUS_OK)
        cli_fail_error(call->cli, &error);
    interrupt_remove();
    setup_destroy(call->setup);
    json_decref(call->arguments);
    return code;
}

int one_call(struct cli *cli, const char *tool, json_t *arguments, bool with_model)
{
    struct call call = {.cli = cli, .tool = tool, .arguments = arguments};
    const struct setup_options options = {.parts = SETUP_TOOLS | (with_model ? (unsigned)SETUP_MODEL : 0),
                                          .tools = &tool,
                                          .n_tools = 1,
                                          .say = on_say,
                                          .user = cli};
    return run_call(&call, &options, only_tool);
}

int one_call_files(struct cli *cli, json_t *arguments, const char *const *files, size_t n_files, struct str question)
{
    static const enum option_id media[] = {OPTION_VISION_MODEL, OPTION_VISION_BASE_URL, OPTION_TRANSCRIPTION_MODEL,
                                           OPTION_TRANSCRIPTION_BASE_URL};
    struct call call = {.cli = cli, .tool = "parse_file", .arguments = arguments, .question = question};
    struct setup_options options = {.parts = SETUP_TOOLS,
                                    .tools = &call.tool,
                                    .n_tools = 1,
                                    .files = files,
                                    .n_files = n_files,
                                    .no_probe = true,
                                    .say = cli->verbose > 0 ? on_say : NULL,
                                    .user = cli};
    for (size_t i = 0; i < sizeof media / sizeof media[0]; i++) {
        if (config_is_set(cli->config, media[i]))
            options.parts |= SETUP_MODEL;
    }
    return run_call(&call, &options, only_tool);
}

int one_call_pages(struct cli *cli, json_t *arguments, visit_take_fn take, void *user)
{
    struct call call = {.cli = cli, .tool = "visit", .arguments = arguments, .silent = true};
    const struct setup_options options = {.parts = SETUP_TOOLS,
                                          .tools = &call.tool,
                                          .n_tools = 1,
                                          .take_page = take,
                                          .take_user = user,
                                          .no_probe = true,
                                          .say = cli->verbose > 0 ? on_say : NULL,
                                          .user = cli};
    return run_call(&call, &options, only_tool);
}

int one_call_named(struct cli *cli, const char *name, struct str arguments, struct str code)
{
    struct call call = {.cli = cli, .tool = name, .code = code};
    const struct setup_options options = {.parts = SETUP_TOOLS | SETUP_MODEL, .say = on_say, .user = cli};
    struct lenient_result unused;
    struct error error;
    if (lenient_json_parse(arguments, 0, &call.arguments, &unused, &error) != STATUS_OK)
        return cli_wrong_usage(cli, "the arguments are no JSON object: %s", error.message);
    if (!json_is_object(call.arguments)) {
        json_decref(call.arguments);
        return cli_wrong_usage(cli, "the arguments are no JSON object");
    }
    return run_call(&call, &options, named_tool);
}

int one_call_queries(struct cli *cli, const char *tool)
{
    json_t *arguments = json_object(), *queries = json_array();
    for (size_t i = 0; i < cli->n_arguments; i++) {
        struct str query = str_trim(str_of(cli->arguments[i]));
        if (query.len == 0) {
            json_decref(queries);
            json_decref(arguments);
            return cli_wrong_usage(cli, "a query is empty");
        }
        json_push(queries, json_from_str(query));
    }
    json_put(arguments, "query", queries);
    return one_call(cli, tool, arguments, false);
}
