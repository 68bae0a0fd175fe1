#include "model/builtin_internal.h"

#include <stdlib.h>

#include "core/mem.h"
#include "core/utf8.h"
#include "loop/loop.h"
#include "text/token_estimate.h"

#define PIECE_BYTES 160 /* of one delta, as a server would stream it */

struct builtin_client {
    struct model_client base;
    struct loop *loop;
    struct model_call *calls; /* under way */
    struct waiter {
        struct builtin_client *client;
        struct waiter *next;
        void (*done)(void *user);
        void *user;
    } * waiters;
};

struct model_call {
    struct builtin_client *client;
    struct model_request request;
    struct model_handlers handlers;
    void *user;
    struct model_call *next, **link;
    struct buf text;
    size_t sent;
    bool written, canceled, cut;
};

void builtin_complete(const struct prompt_view *prompt, struct buf *out)
{
    struct reader *reader = mem_alloc(sizeof *reader);
    reader_init(reader, prompt);
    reader_write(reader, out);
    reader_finish(reader);
    free(reader);
}

static void write_text(struct model_call *call)
{
    call->written = true;
    builtin_complete(call->request.prompt, &call->text);
    size_t fitting = token_estimate_fit(buf_str(&call->text), call->request.max_tokens);
    call->cut = fitting < call->text.len;
    buf_truncate(&call->text, fitting);
}

static void end_call(struct model_call *call)
{
    struct model_result result = {.usage = {-1, -1, -1, -1}, .served_model = BUILTIN_MODEL_NAME};
    result.reason = call->canceled ? FINISH_CANCELED : call->cut ? FINISH_LENGTH : FINISH_STOP;
    *call->link = call->next;
    if (call->next)
        call->next->link = call->link;
    call->handlers.done(call->user, &result);
    buf_finish(&call->text);
    free(call);
}

/* One piece in each turn of the loop. */
static void go_on(void *user)
{
    struct model_call *call = user;
    if (!call->canceled && !call->written)
        write_text(call);
    bool late = call->request.deadline_ms > 0 && loop_now_ms(call->client->loop) >= call->request.deadline_ms;
    call->canceled |= late;
    if (call->canceled || call->sent == call->text.len) {
        end_call(call);
        return;
    }
    struct str rest = str_slice(buf_str(&call->text), call->sent, call->text.len);
    struct str piece = str_slice(rest, 0, utf8_floor(rest, PIECE_BYTES));
    call->sent += piece.len;
    loop_defer(call->client->loop, go_on, call);
    call->handlers.delta(call->user, piece);
}

static struct model_call *builtin_start(struct model_client *base, const struct model_request *request,
                                        const struct model_handlers *handlers, void *user)
{
    struct builtin_client *client = (struct builtin_client *)base;
    struct model_call *call = mem_zalloc(sizeof *call);
    *call = (struct model_call){.client = client, .request = *request, .handlers = *handlers, .user = user};
    buf_init(&call->text, BUF_UNBOUNDED);
    call->next = client->calls;
    call->link = &client->calls;
    if (call->next)
        call->next->link = &call->next;
    client->calls = call;
    loop_defer(client->loop, go_on, call);
    return call;
}

static void builtin_cancel(struct model_client *base, struct model_call *call)
{
    (void)base;
    call->canceled = true;
}

static void tell_waiter(void *user)
{
    struct waiter *waiter = user;
    struct waiter **link = &waiter->client->waiters;
    while (*link != waiter)
        link = &(*link)->next;
    *link = waiter->next;
    waiter->done(waiter->user);
    free(waiter);
}

static void builtin_prepare(struct model_client *base, void (*done)(void *user), void *user)
{
    struct builtin_client *client = (struct builtin_client *)base;
    struct waiter *waiter = mem_alloc(sizeof *waiter);
    *waiter = (struct waiter){client, client->waiters, done, user};
    client->waiters = waiter;
    loop_defer(client->loop, tell_waiter, waiter);
}

/* It reads its prompt with an ordinary program: there is no window, and the session's own limit holds. */
static int64_t builtin_window(const struct model_client *base)
{
    (void)base;
    return 0;
}

static void builtin_destroy(struct model_client *base)
{
    struct builtin_client *client = (struct builtin_client *)base;
    for (struct waiter *waiter = client->waiters, *next; waiter; waiter = next) {
        next = waiter->next;
        loop_defer_cancel(client->loop, tell_waiter, waiter);
        free(waiter);
    }
    free(client);
}

struct model_client *builtin_client_create(struct loop *loop)
{
    struct builtin_client *client = mem_zalloc(sizeof *client);
    client->base = (struct model_client){.name = "the built-in extractive reader (no language model)",
                                         .model = BUILTIN_MODEL_NAME,
                                         .builtin = true,
                                         .prepare = builtin_prepare,
                                         .start = builtin_start,
                                         .cancel = builtin_cancel,
                                         .window = builtin_window,
                                         .destroy = builtin_destroy};
    client->loop = loop;
    return &client->base;
}
