#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "core/mem.h"
#include "support/tool_world.h"

#include <stdio.h>
#include <stdlib.h>

void tool_world_init(struct tool_world *world, const char *profile, http_stub_fn handler,
                     const struct fake_reply *replies, size_t n_replies)
{
    struct error error;
    *world = (struct tool_world){.loop = loop_create()};
    guard_init(&world->guard);
    assert_int_equal(guard_allow(&world->guard, STR("127.0.0.1"), &error), STATUS_OK);
    const struct http_client_options client = {.guard = &world->guard};
    world->http = http_client_create(world->loop, &client);
    fake_model_init(&world->model, world->loop, replies, n_replies);
    assert_int_equal(profile_load(profile, NULL, &world->profile, &error), STATUS_OK);
    static const char *const secrets[] = {"KEY-12345678"};
    const struct engine_options options = {
        .loop = world->loop,
        .http = world->http,
        .models = {replies ? &world->model.client : NULL},
        .secrets = secrets,
        .n_secrets = 1,
    };
    world->engine = engine_create(&options);
    if (handler) {
        world->stub = http_stub_start(NULL, handler, world);
        snprintf(world->base, sizeof world->base, "http://127.0.0.1:%d", http_stub_port(world->stub));
    }
    buf_init(&world->notices, BUF_UNBOUNDED);
}

void tool_world_finish(struct tool_world *world)
{
    tool_destroy(world->tool);
    engine_destroy(world->engine);
    http_client_destroy(world->http);
    http_stub_stop(world->stub);
    fake_model_finish(&world->model);
    profile_destroy(world->profile);
    guard_finish(&world->guard);
    loop_destroy(world->loop);
    free(world->text);
    free(world->first_source);
    buf_finish(&world->notices);
}

static void on_done(void *user, const struct tool_call_outcome *outcome)
{
    struct tool_world *world = user;
    world->n_done++;
    world->status = outcome->status;
    free(world->text);
    world->text = str_dup(outcome->text);
    world->truncated = outcome->facts->truncated;
    world->n_sources = outcome->facts->n_sources;
    free(world->first_source);
    world->first_source = world->n_sources > 0 ? str_dup(outcome->facts->sources[0].url) : NULL;
    world->usage = outcome->facts->role_usage[MODEL_SUMMARY];
    world->completions = outcome->facts->role_calls[MODEL_SUMMARY];
}

static void on_notice(void *user, struct str text)
{
    struct tool_world *world = user;
    buf_addf(&world->notices, "%.*s\n", STR_ARG(text));
}

static void on_released(void *user)
{
    ((struct tool_world *)user)->n_released++;
}

struct tool_run *tool_world_start(struct tool_world *world, const char *arguments)
{
    json_t *parsed;
    struct error error;
    assert_int_equal(json_parse(str_of(arguments), &parsed, &error), STATUS_OK);
    const struct tool_call_options options = {
        .tool = world->tool,
        .profile = world->profile,
        .question = STR("What is asked?"),
        .arguments = parsed,
        .code = world->code,
        .session = world->session,
        .timeout_ms = world->timeout_ms,
        .done = on_done,
        .notice = on_notice,
        .released = on_released,
        .user = world,
    };
    buf_reset(&world->notices);
    world->n_done = world->n_released = 0;
    struct tool_run *run = tool_call_start(world->engine, &options);
    json_decref(parsed);
    assert_int_equal(world->n_done, 0);
    return run;
}

static void too_late(void *user)
{
    *(bool *)user = true;
}

void tool_world_until_released(struct tool_world *world)
{
    bool late = false;
    struct loop_timer *limit = loop_timer_create(world->loop, too_late, &late);
    loop_timer_start(limit, 20000);
    while (world->n_released == 0 && !late)
        loop_turn(world->loop);
    loop_timer_destroy(limit);
    assert_false(late);
    assert_int_equal(world->n_released, 1);
}

void tool_world_call_off(struct tool_world *world, const char *arguments, int turns)
{
    struct tool_run *run = tool_world_start(world, arguments);
    for (int i = 0; i < turns; i++)
        loop_turn(world->loop);
    tool_call_cancel(run);
    tool_call_cancel(run);
    tool_world_until_released(world);
    assert_int_equal(world->n_done, 0);
}

const char *tool_world_call(struct tool_world *world, const char *format, ...)
{
    struct buf arguments;
    va_list list;
    buf_init(&arguments, BUF_UNBOUNDED);
    va_start(list, format);
    buf_addv(&arguments, format, list);
    va_end(list);
    tool_world_start(world, arguments.data);
    tool_world_until_released(world);
    assert_int_equal(world->n_done, 1);
    buf_finish(&arguments);
    return world->text;
}
