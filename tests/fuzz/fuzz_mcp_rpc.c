/* What an MCP server sends: any bytes, and the answers that follow keep to their form. */
#include <stdint.h>
#include <stdlib.h>

#include "tools/mcp/rpc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct world {
    struct mcp_rpc *rpc;
    int replies;
};

static void on_send(void *user, struct str text, int64_t id, const char *method, const json_t *params)
{
    json_t *message = NULL;
    (void)user;
    (void)id;
    (void)method;
    (void)params;
    if (json_parse(text, &message, NULL) != STATUS_OK || str_find_char(text, '\n', 0) != STR_NONE)
        abort();
    json_decref(message);
}

static void on_request(void *user, const char *method, const json_t *params, const json_t *id, int64_t origin)
{
    struct world *world = user;
    (void)method;
    (void)params;
    (void)origin;
    mcp_rpc_refuse(world->rpc, id, MCP_ERROR_METHOD_NOT_FOUND, "no");
}

static void on_notification(void *user, const char *method, const json_t *params, int64_t origin)
{
    (void)user;
    (void)method;
    (void)params;
    (void)origin;
}

static void on_garbage(void *user, const char *what)
{
    (void)user;
    (void)what;
}

static void on_reply(void *user, const struct mcp_reply *reply)
{
    struct world *world = user;
    world->replies++;
    if ((reply->fate == MCP_ANSWERED) != json_is_object(reply->result) || (!reply->result && !reply->message))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct world world = {0};
    const struct mcp_rpc_options options = {.send = on_send,
                                            .on_request = on_request,
                                            .on_notification = on_notification,
                                            .on_garbage = on_garbage,
                                            .user = &world};
    struct str bytes = {(const char *)data, size}, line;
    world.rpc = mcp_rpc_create(&options);
    for (int i = 0; i < 3; i++)
        mcp_rpc_request(world.rpc, "tools/call", NULL, on_reply, &world);
    while (str_split_next(&bytes, '\n', &line))
        mcp_rpc_take(world.rpc, line, 0);
    mcp_rpc_fail_all(world.rpc, MCP_LOST, "gone");
    if (world.replies != 3)
        abort();
    mcp_rpc_destroy(world.rpc);
    return 0;
}
