/* The event parser: one chunk, two chunks and single bytes give the same events and the same end. */
#include <stdint.h>
#include <stdlib.h>

#include "net/sse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool write_down(void *user, const struct sse_event *event)
{
    buf_addf(user, "%d|%.*s|%.*s|%.*s\n", (int)event->kind, STR_ARG(event->type), STR_ARG(event->data),
             STR_ARG(event->id));
    return true;
}

/* `step` 0: the whole at once. Returns the status, and through `cut` what the end said. */
static enum status run(struct str bytes, size_t first, size_t step, struct buf *events, bool *cut)
{
    struct sse_parser parser;
    buf_init(events, BUF_UNBOUNDED);
    sse_parser_init(&parser, 64, write_down, events);
    enum status status = sse_parser_feed(&parser, str_slice(bytes, 0, first));
    for (size_t i = first; i < bytes.len; i += step)
        status = sse_parser_feed(&parser, str_slice(bytes, i, i + step));
    *cut = sse_parser_end(&parser);
    sse_parser_finish(&parser);
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    struct str bytes = {(const char *)data + 1, size - 1};
    size_t firsts[3] = {bytes.len, data[0], 0}, steps[3] = {1, bytes.len + 1, 1};
    struct buf events[3];
    enum status status[3];
    bool cut[3];
    for (int i = 0; i < 3; i++)
        status[i] = run(bytes, firsts[i] < bytes.len ? firsts[i] : bytes.len, steps[i], &events[i], &cut[i]);
    for (int i = 1; i < 3; i++)
        if (status[i] != status[0] || (status[0] == STATUS_OK && cut[i] != cut[0]) ||
            !str_equal(buf_str(&events[i]), buf_str(&events[0])))
            abort();
    for (int i = 0; i < 3; i++)
        buf_finish(&events[i]);
    return 0;
}
