#include "tools/common/chain.h"

#include "loop/loop.h"
#include "net/retry.h"
#include "tools/common/line.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* So long a query waits for one back end while there is another one to ask. */
#define PATIENCE_MS 3000

/* What must be left of a call's time for another try to make sense. */
#define TRY_MS 1000

static int64_t now_ms(const struct chain *chain)
{
    return loop_now_ms(tool_loop(chain->options.run));
}

/* The first back end at or after `from` that is not at rest; the number of back ends when there is none. */
static size_t find_awake(const struct chain *chain, size_t from)
{
    int64_t now = now_ms(chain);
    while (from < chain->options.n_backends && chain->backends[from]->rest_until_ms > now)
        from++;
    return from;
}

static bool has_next(const struct chain *chain)
{
    return find_awake(chain, chain->current + 1) < chain->options.n_backends;
}

static void pass(struct chain *chain, const struct chain_backend *backend, const char *what)
{
    buf_addf(&chain->passed, "%s%s %s", chain->passed.len > 0 ? ", " : "", backend->name, what);
}

static void settle(struct chain *chain, enum chain_state state)
{
    chain->state = state;
    chain->options.settled(chain->options.user);
}

/* ---- asking ---- */

static void ask_now(void *user)
{
    struct chain *chain = user;
    if (!tool_canceled(chain->options.run))
        chain_backend(chain)->ask(chain->options.user);
}

static void fail_for_turn(void *user)
{
    struct chain *chain = user;
    if (tool_canceled(chain->options.run))
        return;
    chain_fail(chain,
               "too many searches are waiting for their turn at the service. Try again later, or go on with pages you "
               "already know.",
               "so many requests wait for %s, which takes one every %.1f s, that time is up first",
               chain_backend(chain)->name, (double)chain_backend(chain)->gap_ms / 1000);
    chain_failed(chain);
}

/* Asks the current back end, in its turn. A turn that would come when the call is over is not taken: those who ask
 * later could not use it either, and where more ask than a service takes nobody would ever get an answer. */
static void ask(struct chain *chain)
{
    struct chain_backend *backend = chain_backend(chain);
    int64_t now = now_ms(chain), turn = backend->free_ms > now ? backend->free_ms : now;
    chain->tries++;
    if (chain->tries == 1)
        chain->began_ms = now;
    if (turn > now && turn - now + TRY_MS >= tool_time_left_ms(chain->options.run)) {
        tool_wait(chain->options.run, 0, fail_for_turn, chain);
        return;
    }
    backend->free_ms = turn + backend->gap_ms;
    if (turn > now)
        tool_wait(chain->options.run, turn - now, ask_now, chain);
    else
        ask_now(chain);
}

static void ask_again(void *user)
{
    struct chain *chain = user;
    if (!tool_canceled(chain->options.run))
        ask(chain);
}

/* Asks the first back end from `from` on that is awake, and notes those that are not. False when there is none. */
static bool ask_from(struct chain *chain, size_t from)
{
    size_t awake = find_awake(chain, from);
    if (awake == chain->options.n_backends)
        return false;
    for (size_t i = from; i < awake; i++)
        pass(chain, chain->backends[i], "failed");
    chain->current = awake;
    chain->tries = 0;
    ask(chain);
    return true;
}

/* ---- what came of it ---- */

void chain_answered(struct chain *chain, size_t n_results)
{
    if (n_results > 0) {
        settle(chain, CHAIN_FOUND);
        return;
    }
    chain->empty = true;
    pass(chain, chain_backend(chain), "found nothing");
    if (!ask_from(chain, chain->current + 1))
        settle(chain, CHAIN_EMPTY);
}

void chain_fail(struct chain *chain, const char *model, const char *person, ...)
{
    struct chain_failure *failure = &chain->failure;
    struct buf text;
    va_list arguments;
    buf_init(&text, BUF_UNBOUNDED);
    va_start(arguments, person);
    buf_addv(&text, person, arguments);
    va_end(arguments);
    char *line = line_make(buf_str(&text), sizeof failure->person - sizeof "…");
    *failure = (struct chain_failure){.retry_after_ms = -1};
    snprintf(failure->model, sizeof failure->model, "%s", model);
    snprintf(failure->person, sizeof failure->person, "%s", line);
    free(line);
    buf_finish(&text);
}

/* Waits for another try of the same back end, if that is worth it: while another one could be asked, not for long. */
static bool try_again(struct chain *chain)
{
    const struct chain_failure *failure = &chain->failure;
    if (!failure->may_pass || chain->tries >= chain->options.tries)
        return false;
    int64_t delay = retry_delay_ms(chain->tries, failure->retry_after_ms, retry_chance(&chain->chance));
    if (delay + TRY_MS >= tool_time_left_ms(chain->options.run))
        return false;
    if (now_ms(chain) - chain->began_ms + delay > PATIENCE_MS && has_next(chain))
        return false;
    tool_wait(chain->options.run, delay, ask_again, chain);
    return true;
}

void chain_failed(struct chain *chain)
{
    if (try_again(chain))
        return;
    struct chain_backend *backend = chain_backend(chain);
    if (chain->failure.rests)
        backend->rest_until_ms = now_ms(chain) + CHAIN_REST_MS;
    tool_report_notice(chain->options.run, "%s: %s", chain->options.what, chain->failure.person);
    pass(chain, backend, "failed");
    if (!ask_from(chain, chain->current + 1))
        settle(chain, chain->empty ? CHAIN_EMPTY : CHAIN_FAILED);
}

void chain_give_up(struct chain *chain)
{
    if (chain->state != CHAIN_ASKING)
        return;
    const char *name = chain_backend(chain)->name;
    chain_fail(chain, "there was no answer in time. Ask again, perhaps with fewer queries.",
               "%s did not answer in time", name);
    tool_report_notice(chain->options.run, "%s: %s", chain->options.what, chain->failure.person);
    settle(chain, CHAIN_FAILED);
}

/* ---- the rest ---- */

void chain_init(struct chain *chain, const struct chain_options *options)
{
    *chain = (struct chain){.options = *options, .chance = (uint64_t)(uintptr_t)chain};
    memcpy(chain->backends, options->backends, options->n_backends * sizeof chain->backends[0]);
    chain->options.backends = NULL; /* lives in chain->backends from now on */
    buf_init(&chain->passed, BUF_UNBOUNDED);
}

void chain_finish(struct chain *chain)
{
    if (chain)
        buf_finish(&chain->passed);
}

void chain_start(struct chain *chain)
{
    if (!ask_from(chain, 0))
        ask(chain);
}

struct chain_backend *chain_backend(const struct chain *chain)
{
    return chain->backends[chain->current];
}

void chain_tell(const struct chain *chain, struct buf *out)
{
    if (chain->state == CHAIN_FOUND && chain->passed.len > 0)
        buf_addf(out, "(%s; these results come from %s.)", chain->passed.data, chain_backend(chain)->name);
}
