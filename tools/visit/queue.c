/* Whose turn it is at a site: the rules of net/politeness.h on the loop's clock. */
#include "loop/loop.h"
#include "net/politeness.h"
#include "tools/visit/network.h"

static void unlink_turn(struct network *network, struct site_turn *turn)
{
    if (!turn->waiting)
        return;
    if (turn->previous)
        turn->previous->next = turn->next;
    else
        network->waiting = turn->next;
    if (turn->next)
        turn->next->previous = turn->previous;
    turn->waiting = false;
}

static void leave(struct network *network, struct site_turn *turn)
{
    unlink_turn(network, turn);
    politeness_leave(network->politeness, turn->place);
    turn->place = NULL;
}

/* The first of those whose site is in a pause that they cannot wait for. */
static struct site_turn *find_hopeless(const struct network *network, int64_t now)
{
    for (struct site_turn *turn = network->waiting; turn; turn = turn->next) {
        int64_t paused = politeness_paused_ms(turn->place, now);
        if (now + paused > turn->patience_until_ms && paused > 0) {
            turn->refused_ms = paused;
            return turn;
        }
    }
    return NULL;
}

static void pump(void *user)
{
    struct network *network = user;
    struct site_turn *turn;
    int64_t next;
    network->pump_deferred = false;
    /* Each callback may enter or leave, so every look begins anew. */
    while ((turn = find_hopeless(network, loop_now_ms(network->loop))) != NULL) {
        leave(network, turn);
        turn->come(turn->user);
    }
    while ((turn = politeness_next(network->politeness, loop_now_ms(network->loop), &next)) != NULL) {
        unlink_turn(network, turn);
        turn->come(turn->user);
    }
    if (next == INT64_MAX)
        loop_timer_stop(network->timer);
    else
        loop_timer_start(network->timer, next - loop_now_ms(network->loop));
}

static void pump_soon(struct network *network)
{
    if (network->pump_deferred || !network->loop)
        return;
    network->pump_deferred = true;
    loop_defer(network->loop, pump, network);
}

void site_turn_start(struct network *network, struct site_turn *turn, struct visit_call *call, const char *url)
{
    if (!network->loop) {
        network->loop = tool_loop(call->run);
        network->timer = loop_timer_create(network->loop, pump, network);
    }
    int64_t left = tool_time_left_ms(call->run) - call->margin_ms;
    turn->patience_until_ms = loop_now_ms(network->loop) + (left < LONGEST_PAUSE_MS ? left : LONGEST_PAUSE_MS);
    turn->refused_ms = 0;
    turn->place = politeness_enter(network->politeness, str_of(url), turn);
    turn->waiting = true;
    turn->previous = NULL;
    turn->next = network->waiting;
    if (network->waiting)
        network->waiting->previous = turn;
    network->waiting = turn;
    pump_soon(network);
}

void site_turn_end(struct network *network, struct site_turn *turn)
{
    if (!turn->place)
        return;
    leave(network, turn);
    pump_soon(network);
}

void site_turns_stop(struct network *network)
{
    if (!network->loop)
        return;
    loop_defer_cancel(network->loop, pump, network);
    loop_timer_destroy(network->timer);
}

void site_pause(struct network *network, const char *url, int64_t ms)
{
    politeness_pause(network->politeness, str_of(url), loop_now_ms(network->loop), ms);
    pump_soon(network);
}
