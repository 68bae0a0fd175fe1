/* Which endpoint serves a call, and when.
 *
 * A session keeps to one endpoint by rendezvous hashing, so that only its own sessions move when an endpoint goes.
 * Endpoints that are down (no connection) or cooling (a failure a moment ago) are passed over while there are better
 * ones. Each has a number of places; who finds none waits in a queue that serves the session with the fewest places
 * first.
 *
 * Waiting for a place, for a Retry-After that another call was told, or for any endpoint to come up, burns no try.
 */
#include "model/openai_internal.h"

#include <limits.h>

static size_t endpoint_index(const struct endpoint *endpoint)
{
    return (size_t)(endpoint - endpoint->client->endpoints);
}

static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* How much a session is drawn to an endpoint; by the address, so that it does not depend on the order of the list. */
static uint64_t attraction(uint64_t session, const struct endpoint *endpoint)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (const char *c = endpoint->base_url; *c; c++)
        hash = (hash ^ (unsigned char)*c) * 0x100000001b3u;
    return mix(hash ^ mix(session));
}

int64_t pool_down_wait_ms(const struct openai_client *client)
{
    return client->options.down_wait_ms > 0 ? client->options.down_wait_ms : 0;
}

#define NEVER INT_MAX

/* What stands against an endpoint; the smallest is chosen, attraction decides between equals. Of two that are as well,
 * the one is better where fewer tries of this call have failed. */
static int objection(const struct model_call *call, const struct endpoint *endpoint, int64_t now)
{
    const struct call_mark *mark = &call->marks[endpoint_index(endpoint)];
    if (mark->final)
        return NEVER;
    int state = (endpoint->down ? 8 : 0) + (endpoint->rejected ? 4 : 0) + (endpoint->rest_until > now ? 2 : 0) +
                (endpoint->cool_until > now ? 1 : 0);
    return state * 1000 + (mark->failures < 1000 ? mark->failures : 999);
}

static struct endpoint *choose(const struct model_call *call)
{
    const struct openai_client *client = call->client;
    int64_t now = loop_now_ms(client->loop);
    struct endpoint *best = NULL;
    int best_objection = NEVER;
    uint64_t best_attraction = 0;
    for (size_t i = 0; i < client->n_endpoints; i++) {
        struct endpoint *endpoint = &client->endpoints[i];
        int against = objection(call, endpoint, now);
        uint64_t drawn = attraction(call->request.session, endpoint);
        if (against < best_objection || (best && against == best_objection && drawn > best_attraction)) {
            best = endpoint;
            best_objection = against;
            best_attraction = drawn;
        }
    }
    return best;
}

bool pool_has_other(const struct model_call *call, const struct endpoint *endpoint)
{
    const struct openai_client *client = call->client;
    int64_t now = loop_now_ms(client->loop);
    int failures = call->marks[endpoint_index(endpoint)].failures;
    for (size_t i = 0; i < client->n_endpoints; i++)
        if (&client->endpoints[i] != endpoint && objection(call, &client->endpoints[i], now) < failures)
            return true;
    return false;
}

/* ---- waiting ---- */

static void look_again_later(struct endpoint *endpoint)
{
    if (!endpoint->down || endpoint->look || loop_timer_active(endpoint->recovery))
        return;
    endpoint->recovery_delay = endpoint->client->options.recovery_interval_ms;
    loop_timer_start(endpoint->recovery, endpoint->recovery_delay);
}

/* Every endpoint is down: the call waits for the first to come back, as long as it has waiting time left. */
static void wait_for_any(struct model_call *call)
{
    struct openai_client *client = call->client;
    int64_t now = loop_now_ms(client->loop);
    if (!call->wait_deadline)
        call->wait_deadline = now + pool_down_wait_ms(client);
    if (now >= call->wait_deadline) {
        struct error error;
        error_set(&error, STATUS_NETWORK, "no model server came back within %lld minutes; the last said: %.300s",
                  (long long)(pool_down_wait_ms(client) / 60000), call->error.message);
        call_finish(call, MODEL_UNAVAILABLE, FINISH_BROKEN, &error);
        return;
    }
    call->state = CALL_WAITING;
    for (size_t i = 0; i < client->n_endpoints; i++)
        look_again_later(&client->endpoints[i]);
    if (!call->wait_began) {
        call_begin_waiting(call);
        call_notice(call, MODEL_NOTICE_WAITING, 0, "all %zu model servers are down; waiting for one to come back",
                    client->n_endpoints);
    }
    loop_timer_start(call->timer, call->wait_deadline - now);
}

static void wait_for_rest(struct model_call *call, const struct endpoint *endpoint, int64_t delay)
{
    call->state = CALL_WAITING;
    if (!call->wait_began) {
        call_begin_waiting(call);
        call_notice(call, MODEL_NOTICE_WAITING, 0, "%s asked for a pause of %.1f s", endpoint->host,
                    (double)delay / 1000);
    }
    loop_timer_start(call->timer, delay);
}

static void enqueue(struct model_call *call, struct endpoint *endpoint)
{
    call->state = CALL_QUEUED;
    call->endpoint = endpoint;
    call->queue_next = NULL;
    struct model_call **end = &endpoint->queue;
    while (*end)
        end = &(*end)->queue_next;
    *end = call;
    if (!call->wait_began) {
        call_begin_waiting(call);
        call_notice(call, MODEL_NOTICE_WAITING, 0, "%s has %zu requests under way; waiting for a place", endpoint->host,
                    endpoint->in_flight);
    }
}

static void take_place(struct model_call *call, struct endpoint *endpoint)
{
    if (call->wait_began) {
        call_end_waiting(call);
        call_notice(call, MODEL_NOTICE_RESUMED, 0, "going on with %s", endpoint->host);
    }
    call->endpoint = endpoint;
    call->state = CALL_TRYING;
    call->served = false;
    call->wait_deadline = 0;
    endpoint->in_flight++;
    try_start(call);
}

void pool_acquire(struct model_call *call)
{
    struct openai_client *client = call->client;
    struct endpoint *endpoint = choose(call);
    int64_t now = loop_now_ms(client->loop);
    if (!endpoint) {
        call_finish(call, MODEL_REJECTED, FINISH_BROKEN, &call->error);
    } else if (endpoint->down && pool_down_wait_ms(client) > 0) {
        if (!call->error.message[0])
            call->error = endpoint->error;
        wait_for_any(call);
    } else if (endpoint->rest_until > now) {
        wait_for_rest(call, endpoint, endpoint->rest_until - now);
    } else if (endpoint->in_flight >= client->options.max_in_flight || (endpoint->queue && !call->served)) {
        enqueue(call, endpoint);
    } else {
        take_place(call, endpoint);
    }
}

/* ---- places ---- */

static size_t places_of(const struct endpoint *endpoint, uint64_t session)
{
    size_t count = 0;
    for (const struct model_call *call = endpoint->client->calls; call; call = call->next)
        count += call->state == CALL_TRYING && call->endpoint == endpoint && call->request.session == session;
    return count;
}

static struct model_call *next_in_queue(const struct endpoint *endpoint)
{
    struct model_call *best = NULL;
    size_t best_places = 0;
    for (struct model_call *call = endpoint->queue; call; call = call->queue_next) {
        size_t places = places_of(endpoint, call->request.session);
        if (!best || places < best_places) {
            best = call;
            best_places = places;
        }
        if (places == 0)
            break;
    }
    return best;
}

void pool_forget(struct model_call *call)
{
    if (call->state != CALL_QUEUED)
        return;
    struct model_call **link = &call->endpoint->queue;
    while (*link != call)
        link = &(*link)->queue_next;
    *link = call->queue_next;
    call->endpoint = NULL;
}

/* Lets the next in the queue find its place anew: its endpoint may have gone down meanwhile. */
static void serve_queue(struct endpoint *endpoint)
{
    struct model_call *call = next_in_queue(endpoint);
    if (!call)
        return;
    pool_forget(call);
    call->served = true;
    call->state = CALL_BACKOFF;
    loop_timer_start(call->timer, 0);
}

void pool_release(struct model_call *call)
{
    struct endpoint *endpoint = call->endpoint;
    endpoint->in_flight--;
    serve_queue(endpoint);
}

/* ---- health ---- */

void pool_endpoint_failed(struct endpoint *endpoint, bool connection, int64_t rest_ms, const struct error *error)
{
    struct openai_client *client = endpoint->client;
    int64_t now = loop_now_ms(client->loop);
    endpoint->failures++;
    endpoint->error = *error;
    endpoint->cool_until = now + client->options.retry_delay(endpoint->failures, rest_ms, 0);
    if (rest_ms > 0)
        endpoint->rest_until = now + rest_ms;
    if (!connection || (client->n_endpoints == 1 && pool_down_wait_ms(client) == 0))
        return;
    endpoint->down = true;
    look_again_later(endpoint);
    while (endpoint->queue) /* they find another endpoint, or wait for this one with the others */
        serve_queue(endpoint);
}

void pool_endpoint_worked(struct endpoint *endpoint)
{
    endpoint->down = false;
    endpoint->failures = 0;
    endpoint->cool_until = 0;
    loop_timer_stop(endpoint->recovery);
    for (struct model_call *call = endpoint->client->calls; call; call = call->next)
        if (call->state == CALL_WAITING)
            loop_timer_start(call->timer, 0);
}
