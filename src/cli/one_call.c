#include "cli/one_call.h"

#include "api/config.h"
#include "api/setup.h"
#include "cli/interrupt.h"
#include "engine/tool.h"
#include "engine/tool_call.h"
#include "loop/loop.h"

struct call {
    struct cli *cli;
    struct setup *setup;
    const char *tool;
    json_t *arguments;
    struct tool_run *run; /* NULL before the start and after the release */
    bool released, succeeded;
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
    json_put(object, "elapsed_ms", json_integer(outcome->facts->elapsed_ms));
    cli_print_json(object);
    json_decref(object);
}

static void on_done(void *user, const struct tool_call_outcome *outcome)
{
    struct call *call = user;
    call->succeeded = outcome->status == OUTCOME_OK;
    if (call->cli->json) {
        print_structured(call, outcome);
    } else {
        cli_print_text(outcome->text);
        cli_print("\n");
    }
}

static int carry_out(struct call *call)
{
    const struct tool_call_options options = {
        .tool = call->setup->tools[0],
        .profile = call->setup->profile,
        .arguments = call->arguments,
        .timeout_ms = config_integer(call->cli->config, OPTION_TOOL_TIMEOUT),
        .done = on_done,
        .notice = on_tool_notice,
        .released = on_released,
        .user = call,
    };
    call->run = tool_call_start(call->setup->engine, &options);
    while (!call->released)
        loop_run(call->setup->loop);
    if (interrupt_came())
        return CLI_INTERRUPTED;
    return call->succeeded ? CLI_OK : CLI_FAILED;
}

int one_call(struct cli *cli, const char *tool, json_t *arguments, bool with_model)
{
    struct call call = {.cli = cli, .tool = tool, .arguments = arguments};
    struct error error = {0};
    const struct setup_options options = {.parts = SETUP_TOOLS | (with_model ? (unsigned)SETUP_MODEL : 0),
                                          .tools = &tool,
                                          .n_tools = 1,
                                          .say = on_say,
                                          .user = cli};
    int code = CLI_USAGE;
    enum status status = setup_create(cli->config, &options, &call.setup, &error);
    if (status == STATUS_OK) {
        interrupt_install(call.setup->loop, on_interrupt, &call);
        status = setup_prepare(call.setup, &error);
    }
    if (status == STATUS_OK)
        code = carry_out(&call);
    else
        cli_fail_error(cli, &error);
    if (status == STATUS_CANCELED)
        code = CLI_INTERRUPTED;
    interrupt_remove();
    setup_destroy(call.setup);
    json_decref(arguments);
    return code;
}
