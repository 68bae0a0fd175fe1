#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "core/mem.h"
#include "engine_world.h"
#include "protocol/prompt_view.h"

#include <stdlib.h>
#include <string.h>

/* ---- the model ---- */

struct model_call {
    struct fake_model *model;
    const struct fake_reply *reply;
    struct model_handlers handlers;
    void *user;
    struct loop_timer *timer;
    size_t at;
    bool canceled, waited, delivered, scheduled;
};

static void step(void *user);

/* Goes on in the next turn; without a timer, whose milliseconds would be all that a test of many steps measures. */
static void schedule(struct model_call *call)
{
    if (call->scheduled)
        return;
    call->scheduled = true;
    loop_defer(call->model->loop, step, call);
}

static const struct fake_reply *next_reply(struct fake_model *model)
{
    size_t index = model->next < model->n_replies ? model->next++ : model->n_replies - 1;
    return &model->replies[index];
}

static void end_call(struct model_call *call, enum model_failure failure, enum finish_reason reason)
{
    struct usage usage = call->reply->usage;
    if (usage.prompt == 0 && usage.completion == 0)
        usage = (struct usage){-1, -1, -1, -1};
    struct model_result result = {
        .failure = failure, .reason = reason, .usage = usage, .tries = 1, .served_model = "fake-served"};
    if (failure != MODEL_OK)
        error_set(&result.error, STATUS_NETWORK, "the fake model failed on purpose");
    call->model->in_flight--;
    call->handlers.done(call->user, &result);
    loop_timer_destroy(call->timer);
    free(call);
}

static void say(struct model_call *call, enum model_notice_kind kind, int64_t window)
{
    const struct model_notice notice = {.kind = kind, .attempt = 1, .window = window, .text = "fake notice"};
    if (call->handlers.notice)
        call->handlers.notice(call->user, &notice);
}

static void begin_reply(struct model_call *call)
{
    call->at = 0;
    call->waited = call->reply->wait_ms == 0;
    if (call->reply->window > 0)
        say(call, MODEL_NOTICE_WINDOW, call->reply->window);
    if (call->waited) {
        schedule(call);
        return;
    }
    say(call, MODEL_NOTICE_WAITING, 0);
    loop_timer_start(call->timer, call->reply->wait_ms);
}

static void end_reply(struct model_call *call)
{
    switch (call->reply->end) {
    case FAKE_STOP:
        end_call(call, MODEL_OK, FINISH_STOP);
        break;
    case FAKE_LENGTH:
        end_call(call, MODEL_OK, FINISH_LENGTH);
        break;
    case FAKE_HOLD:
        break;
    case FAKE_BREAK:
        if (call->delivered && !call->handlers.restart(call->user)) {
            end_call(call, MODEL_OK, FINISH_BROKEN);
            break;
        }
        say(call, MODEL_NOTICE_RETRY, 0);
        call->reply = next_reply(call->model);
        begin_reply(call);
        break;
    case FAKE_FAIL:
        end_call(call, call->reply->failure, FINISH_STOP);
        break;
    }
}

static void step(void *user)
{
    struct model_call *call = user;
    call->scheduled = false;
    if (call->canceled) {
        end_call(call, MODEL_OK, FINISH_CANCELED);
        return;
    }
    if (!call->waited) {
        call->waited = true;
        say(call, MODEL_NOTICE_RESUMED, 0);
    }
    size_t length = strlen(call->reply->text), piece = call->reply->piece;
    if (call->at == length) {
        end_reply(call);
        return;
    }
    if (piece == 0 || piece > length - call->at)
        piece = length - call->at;
    struct str text = {call->reply->text + call->at, piece};
    call->at += piece;
    call->delivered = true;
    schedule(call);
    call->handlers.delta(call->user, text);
}

static struct model_call *fake_start(struct model_client *client, const struct model_request *request,
                                     const struct model_handlers *handlers, void *user)
{
    struct fake_model *model = (struct fake_model *)client;
    struct model_call *call = mem_zalloc(sizeof *call);
    call->model = model;
    call->handlers = *handlers;
    call->user = user;
    call->timer = loop_timer_create(model->loop, step, call);
    call->reply = next_reply(model);
    model->started++;
    model->in_flight++;
    model->last_sampling = request->sampling;
    model->last_max_tokens = request->max_tokens;
    buf_reset(&model->last_prompt);
    buf_add(&model->last_prompt, request->prompt->messages[request->prompt->count - 1].wire);
    begin_reply(call);
    return call;
}

static void fake_cancel(struct model_client *client, struct model_call *call)
{
    ((struct fake_model *)client)->canceled++;
    call->canceled = true;
    loop_timer_stop(call->timer);
    schedule(call);
}

static int64_t fake_window(const struct model_client *client)
{
    return ((const struct fake_model *)client)->window;
}

void fake_model_init(struct fake_model *model, struct loop *loop, const struct fake_reply *replies, size_t n_replies)
{
    *model = (struct fake_model){
        .client = {.name = "fake at nowhere",
                   .model = "fake-model",
                   .start = fake_start,
                   .cancel = fake_cancel,
                   .window = fake_window},
        .loop = loop,
        .replies = replies,
        .n_replies = n_replies,
    };
    buf_init(&model->last_prompt, BUF_UNBOUNDED);
}

void fake_model_finish(struct fake_model *model)
{
    assert_int_equal(model->in_flight, 0);
    buf_finish(&model->last_prompt);
}

/* ---- tools ---- */

struct fake_call {
    struct fake_tool *tool;
    struct tool_run *run;
    const char *query;
};

static void fake_ended(void *user)
{
    struct fake_call *call = user;
    struct fake_tool *tool = call->tool;
    if (tool_canceled(call->run))
        return;
    tool->running--;
    buf_addf(&tool->log, "-%s", call->query);
    tool_finish(call->run, tool->status, str_of(tool->text));
}

static void fake_tool_start(struct tool *self, struct tool_run *run)
{
    struct fake_tool *tool = (struct fake_tool *)self;
    tool->started++;
    tool->session = tool_session(run);
    if (tool->act) {
        tool->act(tool, run);
        return;
    }
    struct fake_call *call = mem_zalloc(sizeof *call);
    call->tool = tool;
    call->run = run;
    call->query = json_string_value(json_array_get(json_object_get(tool_arguments(run), "query"), 0));
    call->query = call->query ? call->query : "?";
    tool_set_state(run, call, free);
    if (++tool->running > tool->most_running)
        tool->most_running = tool->running;
    buf_addf(&tool->log, "+%s", call->query);
    if (tool->delay_ms >= 0)
        tool_wait(run, tool->delay_ms, fake_ended, call);
}

static void fake_tool_cancel(struct tool *self, struct tool_run *run)
{
    struct fake_tool *tool = (struct fake_tool *)self;
    (void)run;
    tool->canceled++;
    tool->running--;
}

static void fake_tool_run_ended(struct tool *self, uint64_t session)
{
    struct fake_tool *tool = (struct fake_tool *)self;
    tool->ended++;
    tool->ended_session = session;
}

void fake_tool_init(struct fake_tool *tool, const char *name, const char *text)
{
    struct error error;
    char *signature =
        mem_printf("{\"name\": \"%s\", \"description\": \"a tool of the tests\", \"parameters\": {\"type\": "
                   "\"object\", \"properties\": {\"query\": {\"type\": \"array\", \"items\": {\"type\": "
                   "\"string\"}}}, \"required\": [\"query\"]}}",
                   name);
    *tool = (struct fake_tool){.text = text};
    assert_int_equal(signature_load(str_of(signature), &tool->signature, &error), STATUS_OK);
    tool->tool = (struct tool){
        .signature = &tool->signature,
        .idempotent = true,
        .timeout_ms = 5000,
        .start = fake_tool_start,
        .cancel = fake_tool_cancel,
        .run_ended = fake_tool_run_ended,
    };
    buf_init(&tool->log, BUF_UNBOUNDED);
    free(signature);
}

void fake_tool_finish(struct fake_tool *tool)
{
    signature_finish(&tool->signature);
    buf_finish(&tool->log);
}

/* ---- the world ---- */

static void observe(void *user, const struct run *run, const struct notice *notice)
{
    struct engine_world *world = user;
    json_push(world->events, run_event_json((struct run *)(uintptr_t)run, notice));
}

static void done(void *user, struct run *run, const struct result *result)
{
    struct engine_world *world = user;
    world->n_done++;
    json_decref(world->result);
    world->result = run_result_json(run, result);
    world->elapsed_ms = run_elapsed_ms(run);
    if (world->run == run)
        world->run = NULL;
}

static void create_engine(struct engine_world *world)
{
    static const char *const secrets[] = {"sk-secret-key-1", "short"};
    const struct engine_options options = {
        .loop = world->loop,
        .journal = world->journal,
        .models = {&world->model.client},
        .secrets = secrets,
        .n_secrets = 2,
    };
    world->engine = engine_create(&options);
}

void engine_world_init(struct engine_world *world, const struct fake_reply *replies, size_t n_replies)
{
    static const char *const names[WORLD_TOOLS] = {"search", "visit", "PythonInterpreter"};
    struct error error;
    *world = (struct engine_world){.loop = loop_create(), .events = json_array()};
    fake_model_init(&world->model, world->loop, replies, n_replies);
    for (size_t i = 0; i < WORLD_TOOLS; i++) {
        fake_tool_init(&world->tools[i], names[i], "what the tool found");
        world->tool_list[i] = &world->tools[i].tool;
    }
    world->tools[2].tool.serial = true;
    world->tools[2].tool.idempotent = false;
    assert_int_equal(profile_load("generic", NULL, &world->profile, &error), STATUS_OK);
    world->options = (struct run_options){
        .config = {.run_id = STR("run-1"), .date = STR("2026-03-01"), .profile = world->profile},
        .tools = world->tool_list,
        .n_tools = WORLD_TOOLS,
        .observe = observe,
        .done = done,
        .user = world,
    };
    session_limits_init(&world->options.config.limits);
    for (size_t i = 0; i < MODEL_ROLE_COUNT; i++)
        world->options.config.price[i] = (struct model_price){-1, -1, -1};
}

void engine_world_finish(struct engine_world *world)
{
    if (world->engine)
        assert_int_equal(engine_runs(world->engine), 0);
    engine_destroy(world->engine);
    journal_destroy(world->journal);
    fake_model_finish(&world->model);
    for (size_t i = 0; i < WORLD_TOOLS; i++)
        fake_tool_finish(&world->tools[i]);
    profile_destroy(world->profile);
    loop_destroy(world->loop);
    json_decref(world->result);
    json_decref(world->events);
}

static void too_late(void *user)
{
    *(bool *)user = true;
}

static void do_nothing(void *user)
{
    (void)user;
}

void engine_world_until(struct engine_world *world, const size_t *flag, size_t value)
{
    bool late = false;
    struct loop_timer *limit = loop_timer_create(world->loop, too_late, &late);
    struct loop_timer *tick = loop_timer_create(world->loop, do_nothing, NULL);
    loop_timer_start(limit, 10000);
    while (*flag < value && !late)
        loop_turn(world->loop);
    loop_timer_destroy(limit);
    loop_timer_destroy(tick);
    assert_false(late);
}

const json_t *engine_world_run(struct engine_world *world, const char *question)
{
    size_t before = world->n_done;
    if (!world->engine)
        create_engine(world);
    world->options.question = str_of(question);
    world->run = run_start(world->engine, &world->options);
    engine_world_until(world, &world->n_done, before + 1);
    return world->result;
}

size_t engine_world_events(const struct engine_world *world, const char *type)
{
    size_t index, count = 0;
    json_t *event;
    json_array_foreach (world->events, index, event) {
        count += strcmp(json_get_string(event, "type"), type) == 0;
    }
    return count;
}

const char *engine_world_message(const struct engine_world *world, int index)
{
    const json_t *messages = json_object_get(world->result, "messages");
    size_t at = index < 0 ? json_array_size(messages) - (size_t)-index : (size_t)index;
    const char *content = json_get_string(json_array_get(messages, at), "content");
    assert_non_null(content);
    return content;
}
