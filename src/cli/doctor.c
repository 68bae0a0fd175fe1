/* src/cli/doctor.c: fathom doctor, what is configured, what works, and what to do about the rest. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "api/config.h"
#include "api/setup.h"
#include "cli/cli.h"
#include "cli/interrupt.h"
#include "cli/progress.h"
#include "cli/terminal.h"
#include "engine/tool.h"
#include "engine/tool_call.h"
#include "loop/loop.h"
#include "model/client.h"
#include "model/openai.h"
#include "model/transcription.h"
#include "protocol/profile.h"
#include "protocol/prompt_view.h"
#include "protocol/template.h"

#define MAX_VALUE_COLUMNS 200

enum check_status { CHECK_OK, CHECK_NOTE, CHECK_FAILED };

struct doctor {
    struct cli *cli;
    struct setup *setup;
    json_t *checks; /* [{"area", "name", "status", "text", "remedy"}] */
    bool failed;

    /* the completion or call under way */
    struct model_call *completion;
    struct tool_run *call;
    bool ended;
    struct buf reply;
    size_t n_deltas;
    struct model_result result;
    bool tool_worked;
    struct buf tool_text;
};

static const char *status_name_of(enum check_status status)
{
    switch (status) {
    case CHECK_OK:
        return "ok";
    case CHECK_NOTE:
        return "note";
    case CHECK_FAILED:
        return "failed";
    }
    return "";
}

/* Adds a finding; `remedy` may be NULL. */
static void add(struct doctor *doctor, const char *area, const char *name, enum check_status status, const char *text,
                const char *remedy)
{
    json_t *check = json_object();
    json_put_str(check, "area", str_of(area));
    json_put_str(check, "name", str_of(name));
    json_put_str(check, "status", str_of(status_name_of(status)));
    json_put_str(check, "text", str_of(text));
    json_put(check, "remedy", remedy != NULL ? json_from_str(str_of(remedy)) : NULL);
    json_push(doctor->checks, check);
    doctor->failed = doctor->failed || status == CHECK_FAILED;
}

/* ---- configuration ---- */

static json_t *configuration(const struct config *config)
{
    json_t *list = json_array();
    for (int i = 0; i < OPTION_COUNT; i++) {
        enum option_id id = (enum option_id)i;
        if (!config_is_set(config, id))
            continue;
        char origin[300];
        struct buf value;
        buf_init(&value, BUF_UNBOUNDED);
        config_describe(config, id, &value);
        json_t *entry = json_object();
        json_put_str(entry, "name", str_of(option_spec(id)->name));
        json_put_str(entry, "value", buf_str(&value));
        json_put_str(entry, "origin", str_of(config_origin(config, id, origin, sizeof origin)));
        json_push(list, entry);
        buf_finish(&value);
    }
    return list;
}

static void check_configuration(struct doctor *doctor)
{
    const struct config *config = doctor->cli->config;
    size_t count;
    const char *file = config_file(config);
    const char *const *unused = config_unused_variables(config, &count);
    add(doctor, "configuration", "file", CHECK_OK, file != NULL ? file : "none; flags, environment and defaults only",
        NULL);
    for (size_t i = 0; i < count; i++)
        add(doctor, "configuration", unused[i], CHECK_NOTE, "is set, but this version has no use for it", NULL);
}

/* ---- models ---- */

static void on_delta(void *user, struct str text)
{
    struct doctor *doctor = user;
    doctor->n_deltas++;
    if (buf_append_str(&doctor->reply, text) != STATUS_OK)
        model_call_cancel(doctor->setup->models[MODEL_AGENT], doctor->completion);
}

static bool on_restart(void *user)
{
    struct doctor *doctor = user;
    buf_reset(&doctor->reply);
    doctor->n_deltas = 0;
    return true;
}

static void on_completed(void *user, const struct model_result *result)
{
    struct doctor *doctor = user;
    doctor->result = *result;
    doctor->ended = true;
    doctor->completion = NULL;
    loop_stop(doctor->setup->loop);
}

/* Asks for a few tokens: only a completion shows that key, model and streaming work. */
static void try_completion(struct doctor *doctor, struct model_client *client)
{
    struct prompt_view view;
    static const struct model_handlers handlers = {.delta = on_delta, .restart = on_restart, .done = on_completed};
    prompt_view_init(&view);
    prompt_view_add(&view, MESSAGE_USER, STR("Reply with the word ok."));
    const struct model_request request = {
        .prompt = &view, .max_tokens = 16, .deadline_ms = loop_now_ms(doctor->setup->loop) + 60000, .one_shot = true};
    buf_reset(&doctor->reply);
    doctor->n_deltas = 0;
    doctor->ended = false;
    int64_t began_ms = loop_now_ms(doctor->setup->loop);
    doctor->completion = model_start(client, &request, &handlers, doctor);
    while (!doctor->ended)
        loop_run(doctor->setup->loop);
    double seconds = (double)(loop_now_ms(doctor->setup->loop) - began_ms) / 1000;
    struct buf text;
    buf_init(&text, BUF_UNBOUNDED);
    char error[800];
    if (doctor->result.failure != MODEL_OK) {
        add(doctor, "model", "completion", CHECK_FAILED, error_text(&doctor->result.error, error, sizeof error),
            "see the message; then run fathom doctor again");
    } else if (doctor->result.reason == FINISH_CANCELED) {
        add(doctor, "model", "completion", CHECK_FAILED, "none came within a minute",
            "look at the server's load; --first-byte-timeout lets runs wait longer");
    } else {
        buf_addf(&text, "answered in %.1f s, %s", seconds, doctor->n_deltas > 1 ? "streaming" : "in one piece");
        add(doctor, "model", "completion", CHECK_OK, text.data, NULL);
    }
    buf_finish(&text);
    prompt_view_finish(&view);
}

static void check_endpoint(struct doctor *doctor, const char *area, const struct openai_endpoint_info *info)
{
    struct buf text;
    char error[800];
    buf_init(&text, BUF_UNBOUNDED);
    if (!info->answered) {
        /* Some servers have no list of models; the completion below has the last word. */
        add(doctor, area, info->base_url, CHECK_NOTE,
            info->error != NULL ? error_text(info->error, error, sizeof error) : "gives no list of models",
            "check the address: it usually ends in /v1");
        buf_finish(&text);
        return;
    }
    buf_addf(&text, "%s, model %s, window ", info->server != NULL ? info->server : "an OpenAI-compatible server",
             info->model != NULL ? info->model : "unknown");
    if (info->window > 0)
        buf_addf(&text, "%lld tokens", (long long)info->window);
    else
        buf_addf(&text, "unknown: %lld tokens are assumed (--context-window sets it)",
                 (long long)SESSION_DEFAULT_WINDOW);
    if (info->model_listed || info->n_models == 0) {
        add(doctor, area, info->base_url, CHECK_OK, text.data, NULL);
    } else {
        struct buf remedy;
        buf_init(&remedy, BUF_UNBOUNDED);
        buf_add_text(&remedy, "the server lists ");
        for (size_t i = 0; i < info->n_models && i < 8; i++)
            buf_addf(&remedy, "%s%s", i > 0 ? ", " : "", info->models[i]);
        buf_add_text(&remedy, "; choose with --model");
        buf_addf(&text, "; the server does not list this model");
        add(doctor, area, info->base_url, CHECK_NOTE, text.data, remedy.data);
        buf_finish(&remedy);
    }
    buf_finish(&text);
}

static void check_endpoints(struct doctor *doctor, const char *area, const struct model_client *client)
{
    for (size_t i = 0; i < openai_endpoint_count(client); i++) {
        struct openai_endpoint_info info;
        openai_endpoint_info(client, i, &info);
        check_endpoint(doctor, area, &info);
    }
}

static void check_models(struct doctor *doctor)
{
    struct model_client *agent = doctor->setup->models[MODEL_AGENT], *summary = doctor->setup->models[MODEL_SUMMARY];
    if (agent->builtin) {
        bool wanted = config_is_set(doctor->cli->config, OPTION_MODEL);
        add(doctor, "model", "builtin", wanted ? CHECK_OK : CHECK_NOTE,
            "the extractive reader, which is no language model",
            wanted ? NULL : "for a real model give --base-url URL --model NAME, or set OPENAI_API_KEY");
    } else {
        check_endpoints(doctor, "model", agent);
        try_completion(doctor, agent);
    }
    if (summary != NULL)
        check_endpoints(doctor, "summary", summary);
    add(doctor, "model", "profile", CHECK_OK, doctor->setup->profile->name, NULL);
    if (doctor->setup->transcription != NULL)
        add(doctor, "model", "transcription", CHECK_NOTE, transcription_client_name(doctor->setup->transcription),
            "not tried: nothing tells of it but sound that is sent there");
    if (doctor->setup->models[MODEL_VISION] != NULL)
        check_endpoints(doctor, "vision", doctor->setup->models[MODEL_VISION]);
}

/* ---- tokens ---- */

static const char *template_origin(const struct token_setup *tokens)
{
    switch (tokens->template_choice) {
    case TEMPLATE_NAMED:
        return "as configured";
    case TEMPLATE_DETECTED:
        return "which the tokenizer's files hold";
    case TEMPLATE_FALLBACK:
        return "for want of another: --template chooses";
    case TEMPLATE_UNKNOWN:
        return "as the server writes prompts";
    }
    return "";
}

static bool templates_differ(const struct model_client *agent)
{
    struct openai_rendering rendering = {0};
    if (agent != NULL && !agent->builtin)
        openai_rendering(agent, &rendering);
    return rendering.differ;
}

static void check_template(struct doctor *doctor)
{
    const struct token_setup *tokens = &doctor->setup->tokens;
    const struct chat_template *chat_template = setup_chat_template(doctor->setup);
    struct buf text;
    if (chat_template == NULL) {
        add(doctor, "tokens", "chat template", CHECK_NOTE,
            templates_differ(doctor->setup->models[MODEL_AGENT]) ? "the servers write chats in different ways"
            : tokens->unknown_template
                ? "the tokenizer's files hold one that is not known here, and the server does not tell"
                : "neither the tokenizer's files nor the server tell it",
            "--chat-template NAME counts what stands around messages exactly too; without it the server's own counts "
            "serve");
        return;
    }
    buf_init(&text, BUF_UNBOUNDED);
    buf_addf(&text, "%s, %s", template_name(chat_template), template_origin(tokens));
    add(doctor, "tokens", "chat template", CHECK_OK, text.data, NULL);
    buf_finish(&text);
}

static void check_tokens(struct doctor *doctor)
{
    struct buf text;
    if (doctor->setup->tokens.tokenizer == NULL) {
        add(doctor, "tokens", "tokenizer", CHECK_NOTE,
            "none: tokens are estimated, rather too high, until the server reports how many there were",
            "--tokenizer PATH counts them exactly: the tokenizer.json of the model's folder");
        return;
    }
    buf_init(&text, BUF_UNBOUNDED);
    token_setup_describe(&doctor->setup->tokens, &text);
    add(doctor, "tokens", "tokenizer", CHECK_OK, text.data, NULL);
    buf_finish(&text);
    const char *notice = token_setup_notice(&doctor->setup->tokens);
    if (notice != NULL)
        add(doctor, "tokens", "cache", CHECK_NOTE, notice, "XDG_CACHE_HOME names another folder for caches");
    if (!doctor->setup->models[MODEL_AGENT]->builtin)
        check_template(doctor);
}

/* ---- tools ---- */

static void on_tool_done(void *user, const struct tool_call_outcome *outcome)
{
    struct doctor *doctor = user;
    doctor->tool_worked = outcome->status == OUTCOME_OK;
    buf_add(&doctor->tool_text, outcome->text);
}

static void on_tool_released(void *user)
{
    struct doctor *doctor = user;
    doctor->ended = true;
    doctor->call = NULL;
    loop_stop(doctor->setup->loop);
}

/* Only a query shows that a search service answers. */
static void try_search(struct doctor *doctor, struct tool *tool)
{
    json_t *arguments = json_object(), *queries = json_array();
    json_push(queries, json_string("weather"));
    json_put(arguments, "query", queries);
    const struct tool_call_options options = {.tool = tool,
                                              .profile = doctor->setup->profile,
                                              .arguments = arguments,
                                              .timeout_ms = 30000,
                                              .done = on_tool_done,
                                              .released = on_tool_released,
                                              .user = doctor};
    doctor->ended = false;
    buf_reset(&doctor->tool_text);
    doctor->call = tool_call_start(doctor->setup->engine, &options);
    while (!doctor->ended)
        loop_run(doctor->setup->loop);
    if (doctor->tool_worked)
        add(doctor, "tools", "search answers", CHECK_OK, "a query was answered", NULL);
    else
        add(doctor, "tools", "search answers", CHECK_FAILED, doctor->tool_text.len > 0 ? doctor->tool_text.data : "no",
            "check address and key of the search service, or use a corpus: --corpus FILE.db");
    json_decref(arguments);
}

static void check_corpus_file(struct doctor *doctor)
{
    const char *path = config_text(doctor->cli->config, OPTION_CORPUS);
    struct stat info;
    struct buf text;
    if (path == NULL)
        return;
    buf_init(&text, BUF_UNBOUNDED);
    if (stat(path, &info) == 0) {
        buf_addf(&text, "%s, ", path);
        progress_add_bytes(&text, (size_t)info.st_size);
        add(doctor, "tools", "corpus", CHECK_OK, text.data, NULL);
    } else {
        buf_addf(&text, "%s does not exist", path);
        add(doctor, "tools", "corpus", CHECK_FAILED, text.data, "make it with fathom index DIR --into FILE.db");
    }
    buf_finish(&text);
}

static void check_tool(struct doctor *doctor, struct tool *tool)
{
    const char *name = tool->signature->name;
    struct buf line;
    buf_init(&line, BUF_UNBOUNDED);
    bool works = tool->check == NULL || tool->check(tool, &line);
    bool search = strcmp(name, "search") == 0;
    add(doctor, "tools", name, works ? CHECK_OK : CHECK_FAILED, line.len > 0 ? line.data : "ready",
        works    ? NULL
        : search ? "give what is missing, or --corpus FILE.db (made by fathom index), SEARXNG_URL, or --search "
                   "wikipedia,duckduckgo, which need nothing; or --tools visit"
                 : "see the message");
    if (works && search)
        try_search(doctor, tool);
    buf_finish(&line);
}

/* ---- the report ---- */

static void print_configuration(const json_t *list)
{
    size_t i;
    json_t *entry;
    cli_print("Configuration\n");
    if (json_array_size(list) == 0)
        cli_print("  nothing is set: defaults only\n");
    json_array_foreach (list, i, entry) {
        struct buf line;
        buf_init(&line, BUF_UNBOUNDED);
        buf_addf(&line, "  %s: ", json_get_string(entry, "name"));
        terminal_fit(&line, str_of(json_get_string(entry, "value")), MAX_VALUE_COLUMNS);
        buf_addf(&line, " (%s)\n", json_get_string(entry, "origin"));
        cli_print_text(buf_str(&line));
        buf_finish(&line);
    }
}

static void print_check(const json_t *check)
{
    const char *status = json_get_string(check, "status"), *remedy = json_get_string(check, "remedy");
    const char *color = "", *reset = terminal_output_has_color() ? "\x1b[0m" : "";
    if (terminal_output_has_color())
        color = strcmp(status, "ok") == 0 ? "\x1b[32m" : strcmp(status, "note") == 0 ? "\x1b[33m" : "\x1b[31m";
    struct buf raw, clean, text;
    buf_init(&raw, BUF_UNBOUNDED);
    buf_init(&clean, BUF_UNBOUNDED);
    buf_init(&text, BUF_UNBOUNDED);
    buf_addf(&raw, "%s: %s", json_get_string(check, "name"), json_get_string(check, "text"));
    terminal_clean(&clean, buf_str(&raw), true);
    terminal_wrap(&text, buf_str(&clean), 79, 9);
    if (remedy != NULL) {
        buf_reset(&clean);
        terminal_clean(&clean, str_of(remedy), true);
        buf_add_text(&text, "\n         ");
        terminal_wrap(&text, buf_str(&clean), 79, 9);
    }
    cli_print("  %s%-6s%s %s\n", color, status, reset, text.data);
    buf_finish(&text);
    buf_finish(&clean);
    buf_finish(&raw);
}

static void print_checks(const json_t *checks)
{
    const char *area = "";
    size_t i;
    json_t *check;
    json_array_foreach (checks, i, check) {
        const char *next = json_get_string(check, "area");
        if (strcmp(next, "configuration") == 0 && i == 0)
            area = next;
        if (strcmp(next, area) != 0) {
            cli_print("\n%c%s\n", next[0] - 'a' + 'A', next + 1);
            area = next;
        }
        print_check(check);
    }
}

static void report(struct doctor *doctor)
{
    json_t *list = configuration(doctor->cli->config);
    if (doctor->cli->json) {
        json_t *object = json_object();
        json_put(object, "ok", json_boolean(!doctor->failed));
        json_put_str(object, "version", str_of(FATHOM_VERSION));
        json_put(object, "configuration", json_incref(list));
        json_put(object, "checks", json_incref(doctor->checks));
        cli_print_json(object);
        json_decref(object);
    } else {
        print_configuration(list);
        print_checks(doctor->checks);
        cli_print("\n%s\n", doctor->failed ? "Something that is needed does not work; see above." : "Ready.");
    }
    json_decref(list);
}

static void on_interrupt(void *user)
{
    struct doctor *doctor = user;
    if (doctor->completion != NULL)
        model_call_cancel(doctor->setup->models[MODEL_AGENT], doctor->completion);
    else if (doctor->call != NULL)
        tool_call_cancel(doctor->call);
    else
        setup_interrupt(doctor->setup);
}

static void check_extras(struct doctor *doctor)
{
    for (size_t i = 0; i < setup_extra_count(doctor->setup); i++) {
        struct buf line, name;
        buf_init(&line, BUF_UNBOUNDED);
        buf_init(&name, BUF_UNBOUNDED);
        bool works = setup_extra_describe(doctor->setup, i, &name, &line);
        add(doctor, "tools", name.data, works ? CHECK_OK : CHECK_FAILED, line.data,
            works ? NULL : "see the message, or take it out of the configuration");
        buf_finish(&line);
        buf_finish(&name);
    }
}

static void examine(struct doctor *doctor)
{
    check_models(doctor);
    check_tokens(doctor);
    check_corpus_file(doctor);
    for (size_t i = 0; i < doctor->setup->n_tools && !interrupt_came(); i++)
        check_tool(doctor, doctor->setup->tools[i]);
    check_extras(doctor);
    if (doctor->setup->n_tools == 0)
        add(doctor, "tools", "none", CHECK_NOTE, "the model answers from memory alone", NULL);
}

static int run(struct cli *cli)
{
    struct doctor doctor = {.cli = cli, .checks = json_array()};
    struct error error = {0};
    const struct setup_options options = {.parts = SETUP_MODEL | SETUP_TOOLS, .any_corpus = true};
    buf_init(&doctor.reply, 65536);
    buf_init(&doctor.tool_text, BUF_UNBOUNDED);
    check_configuration(&doctor);
    enum status status = setup_create(cli->config, &options, &doctor.setup, &error);
    if (status == STATUS_OK) {
        interrupt_install(doctor.setup->loop, on_interrupt, &doctor);
        status = setup_prepare(doctor.setup, &error);
    }
    int code = CLI_USAGE;
    if (status == STATUS_OK) {
        examine(&doctor);
        code = doctor.failed ? CLI_FAILED : CLI_OK;
    } else if (status != STATUS_CANCELED) {
        char text[800];
        add(&doctor, "configuration", "settings", CHECK_FAILED, error_text(&error, text, sizeof text),
            "correct the value where it comes from");
    }
    if (interrupt_came())
        code = CLI_INTERRUPTED;
    else
        report(&doctor);
    interrupt_remove();
    setup_destroy(doctor.setup);
    buf_finish(&doctor.reply);
    buf_finish(&doctor.tool_text);
    json_decref(doctor.checks);
    return code;
}

const struct cli_command cli_doctor = {
    .name = "doctor",
    .arguments = "",
    .summary = "Check configuration, model servers and tools, and say what to do",
    .about =
        "Shows every value that is set and where it comes from, asks the model for a few tokens and the search service "
        "for one query. The exit code is 1 when something that a run needs does not work.",
    .groups = OPTION_GROUPS_ALL,
    .max_arguments = 0,
    .run = run,
};
