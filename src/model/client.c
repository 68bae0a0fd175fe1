#include "model/client.h"

#include <stddef.h>

void model_prepare(struct model_client *client, void (*done)(void *user), void *user)
{
    client->prepare(client, done, user);
}

struct model_call *model_start(struct model_client *client, const struct model_request *request,
                               const struct model_handlers *handlers, void *user)
{
    return client->start(client, request, handlers, user);
}

void model_call_cancel(struct model_client *client, struct model_call *call)
{
    client->cancel(client, call);
}

int64_t model_window(const struct model_client *client)
{
    return client->window(client);
}

void model_client_destroy(struct model_client *client)
{
    if (client)
        client->destroy(client);
}
