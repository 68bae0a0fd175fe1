/* src/api/setup_mcp.c: the MCP servers of a setup: started before the first run, listened to during runs, ended with
 * it.
 */
#include "api/setup_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "engine/runner.h"
#include "engine/tool.h"
#include "loop/loop.h"

struct setup_server {
    struct setup *setup;
    struct mcp_server *server;
    const struct mcp_config_server *config;
    bool known; /* it is ready, or has failed */
    bool failed;
    char why[512];
};

/* ---- names ---- */

static bool has_name(struct tool *const *tools, size_t count, struct str name)
{
    for (size_t i = 0; i < count; i++) {
        const struct tool_signature *one[] = {tools[i]->signature};
        enum signature_match match = SIGNATURE_ALIAS;
        if (signature_find(one, 1, name, &match) != NULL && match != SIGNATURE_ALIAS)
            return true;
    }
    return false;
}

/* Whether the name is that of a tool which is not this server's. */
static bool is_taken(void *user, struct str name)
{
    const struct setup_server *mine = user;
    const struct setup_private *private = mine->setup->private;
    if (has_name(mine->setup->tools, private->n_owned, name))
        return true;
    for (size_t i = 0; i < private->n_servers; i++) {
        size_t count;
        struct tool *const *tools = mcp_server_tools(private->servers[i].server, &count);
        if (&private->servers[i] != mine && has_name(tools, count, name))
            return true;
    }
    return false;
}

/* ---- the list ---- */

/* Puts the servers' tools behind those of our own. */
static void collect(struct setup *setup)
{
    struct setup_private *private = setup->private;
    setup->n_tools = private->n_owned;
    for (size_t i = 0; i < private->n_servers; i++) {
        size_t count;
        struct tool *const *tools = mcp_server_tools(private->servers[i].server, &count);
        for (size_t j = 0; j < count; j++)
            setup_add_tool(setup, tools[j]);
    }
}

static void on_changed(void *user, struct mcp_server *server)
{
    struct setup_server *mine = user;
    struct setup *setup = mine->setup;
    struct setup_private *private = setup->private;
    if (!private->published || !mcp_server_publish(server, is_taken, mine))
        return;
    collect(setup);
    for (size_t i = 0; i < private->n_runs; i++)
        run_set_tools(private->runs[i], setup->tools, setup->n_tools);
}

static void on_say(void *user, struct mcp_server *server, const char *sentence)
{
    struct setup_server *mine = user;
    (void)server;
    setup_say(mine->setup, "%s", sentence);
}

static void on_ready(void *user, struct mcp_server *server, const struct error *error)
{
    struct setup_server *mine = user;
    (void)server;
    mine->known = true;
    mine->failed = error != NULL;
    if (error != NULL)
        snprintf(mine->why, sizeof mine->why, "%s", error->message);
    mine->setup->private->waiting--;
    loop_stop(mine->setup->loop);
}

/* ---- start and end ---- */

void setup_start_mcp(struct setup *setup)
{
    struct setup_private *private = setup->private;
    private->servers = mem_calloc(private->mcp.count + 1, sizeof *private->servers);
    for (size_t i = 0; i < private->mcp.count; i++) {
        struct mcp_config_server *config = &private->mcp.servers[i];
        if (config->left_out)
            continue;
        struct setup_server *mine = &private->servers[private->n_servers++];
        config->options.http = setup->http;
        *mine = (struct setup_server){.setup = setup, .config = config};
        const struct mcp_watcher watcher = {.ready = on_ready, .changed = on_changed, .say = on_say, .user = mine};
        private->waiting++;
        mine->server = mcp_server_start(setup->loop, &config->options, &watcher);
    }
}

enum status setup_publish_mcp(struct setup *setup, struct error *error)
{
    struct setup_private *private = setup->private;
    for (size_t i = 0; i < private->n_servers; i++) {
        struct setup_server *mine = &private->servers[i];
        const char *name = mcp_server_name(mine->server);
        if (mine->failed && mine->config->required) {
            error_set(error, STATUS_UNSUPPORTED, "the MCP server %s is required: %.400s", name, mine->why);
            return setup_blame(setup, OPTION_MCP_SERVERS, STATUS_UNSUPPORTED, error);
        }
        if (mine->failed)
            setup_say(setup, "The MCP server %s is left out: %s.", name, mine->why);
        mcp_server_publish(mine->server, is_taken, mine);
    }
    private->published = true;
    collect(setup);
    return STATUS_OK;
}

static void on_stopped(void *user)
{
    struct setup *setup = user;
    setup->private->stopping--;
    loop_stop(setup->loop);
}

void setup_end_mcp(struct setup *setup)
{
    struct setup_private *private = setup->private;
    for (size_t i = 0; i < private->n_servers; i++) {
        private->stopping++;
        mcp_server_stop(private->servers[i].server, on_stopped, setup);
    }
    while (private->stopping > 0)
        loop_run(setup->loop);
    for (size_t i = 0; i < private->n_servers; i++)
        mcp_server_destroy(private->servers[i].server);
    free(private->servers);
    private->servers = NULL;
    private->n_servers = 0;
    setup->n_tools = private->n_owned;
}

/* ---- for those who look ---- */

size_t setup_extra_count(const struct setup *setup)
{
    return setup->private->n_left_out / 2 + setup->private->n_servers;
}

bool setup_extra_describe(const struct setup *setup, size_t index, struct buf *name, struct buf *line)
{
    const struct setup_private *private = setup->private;
    if (index < private->n_left_out / 2) {
        buf_add_text(name, private->left_out[2 * index]);
        buf_add_text(line, private->left_out[2 * index + 1]);
        return false;
    }
    const struct setup_server *mine = &private->servers[index - private->n_left_out / 2];
    size_t count;
    mcp_server_tools(mine->server, &count);
    buf_addf(name, "mcp-servers.%s", mcp_server_name(mine->server));
    if (mine->failed)
        buf_add_text(line, mine->why);
    else
        buf_addf(line, "%zu tool%s", count, count == 1 ? "" : "s");
    return !mine->failed;
}

/* ---- runs that are told ---- */

void setup_follow(struct setup *setup, struct run *run)
{
    struct setup_private *private = setup->private;
    private->runs = mem_grow(private->runs, private->n_runs, &private->runs_capacity, sizeof *private->runs);
    private->runs[private->n_runs++] = run;
}

void setup_unfollow(struct setup *setup, const struct run *run)
{
    struct setup_private *private = setup->private;
    for (size_t i = 0; i < private->n_runs; i++) {
        if (private->runs[i] == run) {
            private->runs[i] = private->runs[--private->n_runs];
            return;
        }
    }
}
