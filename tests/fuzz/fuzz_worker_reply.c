/* What a worker writes, which a document may have taken over: whatever is understood lies within bounds, and a reply
 * that is written is read again as it was. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "worker/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
    if (!holds)
        abort();
}

/* The same reply, written as the worker writes it. */
static void check_again(const struct worker_reply *reply, struct str body)
{
    struct reader_text text = {.kind = reply->kind,
                               .sections = reply->sections,
                               .n_sections = reply->n_sections,
                               .pages = reply->pages,
                               .truncated = reply->truncated};
    struct worker_reply again;
    struct buf out;
    struct error error;
    size_t body_at;
    buf_init(&out, BUF_UNBOUNDED);
    buf_init(&text.markdown, BUF_UNBOUNDED);
    buf_add(&text.markdown, body);
    bool good = reply->status == STATUS_OK;
    worker_reply_write(&out, reply->kind, good ? &text : NULL, &reply->error, "limits");
    if (good)
        buf_add(&out, body);
    check(worker_reply_parse(buf_str(&out), &again, &body_at, &error) == STATUS_OK);
    check(again.status == reply->status && again.kind == reply->kind);
    check(!good || (again.n_sections == reply->n_sections && again.length == body.len));
    worker_reply_finish(&again);
    buf_finish(&text.markdown);
    buf_finish(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str bytes = {(const char *)data, size};
    struct worker_reply reply;
    struct error error;
    size_t body_at;
    if (worker_reply_parse(bytes, &reply, &body_at, &error) != STATUS_OK)
        return 0;
    check(body_at + reply.length == size);
    size_t last = 0;
    for (size_t i = 0; i < reply.n_sections; i++) {
        check(reply.sections[i].title && reply.sections[i].offset >= last && reply.sections[i].offset <= reply.length);
        last = reply.sections[i].offset;
    }
    check(reply.status == STATUS_OK || reply.error.message[0] != '\0' || reply.error.status == reply.status);
    check_again(&reply, str_slice(bytes, body_at, bytes.len));
    worker_reply_finish(&reply);
    return 0;
}
