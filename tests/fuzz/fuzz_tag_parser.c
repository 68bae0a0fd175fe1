/* The tag parser: any cut of the same bytes says the same, offsets are in order, and what is emitted stands in the
 * text. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/buf.h"
#include "protocol/tag_parser.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct trace {
    struct str text;
    struct buf calls, pieces;
    size_t n_calls;
    bool ended, answered;
};

static void check(bool holds)
{
    if (!holds)
        abort();
}

static void note(struct trace *trace, const struct tag_event *event)
{
    check(event->start <= event->end && event->end <= trace->text.len);
    buf_addf(&trace->calls, "%d %zu %zu %d %d %x ", event->kind, event->start, event->end, event->has_code,
             event->closed, event->repairs);
    buf_add(&trace->calls, event->text);
    buf_add_char(&trace->calls, '\n');
    buf_add(&trace->calls, event->json);
    buf_add_char(&trace->calls, '\n');
    buf_add(&trace->calls, event->code);
    buf_add_char(&trace->calls, '\n');
}

static void on_event(void *user, const struct tag_event *event)
{
    struct trace *trace = user;
    switch (event->kind) {
    case TAG_THOUGHT:
    case TAG_TEXT:
        check(!trace->ended && event->end - event->start == event->text.len && event->end <= trace->text.len);
        check(memcmp(trace->text.data + event->start, event->text.data, event->text.len) == 0);
        buf_add(&trace->pieces, event->text);
        return;
    case TAG_CALL:
        check(!trace->ended && event->text.len <= event->end - event->start);
        check(event->json.len + event->code.len <= event->text.len);
        check(memcmp(trace->text.data + event->start + 11, event->text.data, event->text.len) == 0);
        trace->n_calls++;
        break;
    case TAG_ANSWER:
        check(!trace->ended && !trace->answered && event->text.len > 0);
        trace->answered = true;
        break;
    case TAG_CUT:
        check(!trace->ended);
        trace->ended = true;
        break;
    }
    note(trace, event);
}

static void run(struct trace *trace, struct str text, const struct tag_parser_options *options, enum tag_end how,
                uint32_t cuts)
{
    *trace = (struct trace){.text = text};
    buf_init(&trace->calls, BUF_UNBOUNDED);
    buf_init(&trace->pieces, BUF_UNBOUNDED);
    struct tag_parser *parser = tag_parser_create(options, on_event, trace);
    enum status status = STATUS_OK;
    for (size_t at = 0; at < text.len;) {
        size_t step = text.len - at;
        if (cuts) {
            cuts = cuts * 1664525u + 1013904223u;
            size_t wanted = (cuts >> 24) % 9 + 1;
            step = wanted < step ? wanted : step;
        }
        char *exact = str_dup(str_slice(text, at, at + step));
        status = tag_parser_feed(parser, str_make(exact, step));
        free(exact);
        at += step;
    }
    if (status == STATUS_OK)
        status = tag_parser_end(parser, how);
    const struct tag_outcome *outcome = tag_parser_outcome(parser);
    size_t last = 0;
    for (size_t i = 0; i < outcome->n_thoughts; i++) {
        const struct tag_range *range = &outcome->thoughts[i];
        check(last <= range->start && range->start <= range->text_start && range->text_start <= range->text_end &&
              range->text_end <= range->end && range->end <= text.len);
        last = range->end;
    }
    if (status == STATUS_OK)
        check(outcome->n_calls == trace->n_calls && outcome->has_answer == trace->answered &&
              outcome->cut == trace->ended && outcome->length <= text.len);
    if (status != STATUS_OK) { /* how much of the last piece was shown depends on the cut */
        buf_addf(&trace->calls, "%d", status);
        buf_reset(&trace->pieces);
        tag_parser_destroy(parser);
        return;
    }
    buf_addf(&trace->calls, "%d %zu %d %d %zu %zu %d %x", status, outcome->n_thoughts, outcome->thought_seen,
             outcome->thought_closed, outcome->n_empty_calls, outcome->length, outcome->inside, outcome->repairs);
    tag_parser_destroy(parser);
}

static void finish(struct trace *trace)
{
    buf_finish(&trace->calls);
    buf_finish(&trace->pieces);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    struct tag_parser_options options = {
        .thought_expected = data[0] & 1, .thought_open = data[0] & 2, .max_element_bytes = data[0] & 4 ? 64 : 0};
    enum tag_end how = (enum tag_end)((data[0] >> 3) % 3);
    struct str text = {(const char *)data + 2, size - 2};
    struct trace whole, cut;
    run(&whole, text, &options, how, 0);
    run(&cut, text, &options, how, data[1] * 2654435761u + 1);
    check(str_equal(buf_str(&whole.calls), buf_str(&cut.calls)));
    check(str_equal(buf_str(&whole.pieces), buf_str(&cut.pieces)));
    finish(&whole);
    finish(&cut);
    return 0;
}
