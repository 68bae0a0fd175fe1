#include "protocol/completion.h"

#include <stdlib.h>

#include "core/mem.h"

static const struct completion_options default_options = {.parser = {.thought_expected = true}};

/* What becomes of a completion while it is parsed. */
struct reading {
    const struct call_options *calls;
    json_t *list;
    json_t *answer; /* NULL while there is none */
    uint32_t repairs;
};

static json_t *string_or_null(const char *text)
{
    return text ? json_from_str(str_of(text)) : NULL;
}

static json_t *error_json(const struct call *call)
{
    if (call->error.status == STATUS_OK)
        return NULL;
    char message[sizeof call->error.message + sizeof call->error.place + 64];
    return json_from_str(str_of(error_text(&call->error, message, sizeof message)));
}

static void add_call(struct reading *reading, const struct call *call)
{
    json_t *object = json_object();
    json_put(object, "name", string_or_null(call->name));
    json_put(object, "arguments", call->arguments ? json_incref(call->arguments) : NULL);
    json_put(object, "code", call->code ? json_from_str(str_make(call->code, call->code_len)) : NULL);
    json_put(object, "error", error_json(call));
    json_push(reading->list, object);
    reading->repairs |= call->error.status == STATUS_OK ? call->repairs : 0;
}

static void read_event(void *user, const struct tag_event *event)
{
    struct reading *reading = user;
    if (event->kind == TAG_ANSWER)
        reading->answer = json_from_str(event->text);
    if (event->kind != TAG_CALL)
        return;
    struct call_text text = {
        .json = event->json, .code = event->code, .has_code = event->has_code, .closed = event->closed};
    struct call_list list;
    call_decode(&text, reading->calls, &list);
    for (size_t i = 0; i < list.count; i++)
        add_call(reading, &list.items[i]);
    call_list_finish(&list);
}

static enum status parse(struct str text, const struct completion_options *options, tag_event_fn emit, void *user,
                         struct tag_parser **parser)
{
    *parser = tag_parser_create(&options->parser, emit, user);
    enum status status = tag_parser_feed(*parser, text);
    return status == STATUS_OK ? tag_parser_end(*parser, options->end) : status;
}

/* The text of all thoughts, trimmed, with a blank line between them; NULL when there was no thought at all. */
static json_t *thought_json(struct str text, const struct tag_outcome *outcome)
{
    struct buf joined;
    if (!outcome->thought_seen)
        return NULL;
    buf_init(&joined, BUF_UNBOUNDED);
    for (size_t i = 0; i < outcome->n_thoughts; i++) {
        struct str piece = str_trim(str_slice(text, outcome->thoughts[i].text_start, outcome->thoughts[i].text_end));
        if (piece.len > 0 && joined.len > 0)
            buf_add_text(&joined, "\n\n");
        buf_add(&joined, piece);
    }
    json_t *value = json_from_str(buf_str(&joined));
    buf_finish(&joined);
    return value;
}

static json_t *repairs_json(const struct reading *reading, const struct tag_outcome *outcome)
{
    json_t *names = json_array(), *of_calls = call_repairs_json(reading->repairs);
    for (unsigned rest = outcome->repairs; rest; rest &= rest - 1)
        json_push(names, json_string(tag_repair_name(rest)));
    json_array_extend(names, of_calls);
    json_decref(of_calls);
    return names;
}

enum status completion_to_json(struct str text, const struct completion_options *options, json_t **out,
                               struct error *error)
{
    options = options ? options : &default_options;
    struct reading reading = {.calls = &options->calls, .list = json_array()};
    struct tag_parser *parser;
    enum status status = parse(text, options, read_event, &reading, &parser);
    if (status != STATUS_OK) {
        error_set(error, status, "a call or answer in the completion is larger than the parser's cap");
        json_decref(reading.list);
        json_decref(reading.answer);
    } else {
        const struct tag_outcome *outcome = tag_parser_outcome(parser);
        *out = json_object();
        json_put(*out, "think", thought_json(text, outcome));
        json_put(*out, "calls", reading.list);
        json_put(*out, "answer", reading.answer);
        json_put(*out, "cut_at_tool_response", json_boolean(outcome->cut));
        json_put(*out, "repairs", repairs_json(&reading, outcome));
    }
    tag_parser_destroy(parser);
    return status;
}

/* What is not plain text: calls and answers, in order, with the thoughts put among them afterwards. */
struct spans {
    struct tag_range *items;
    size_t count, capacity;
};

static void add_span(struct spans *spans, size_t start, size_t end)
{
    spans->items = mem_grow(spans->items, spans->count, &spans->capacity, sizeof *spans->items);
    spans->items[spans->count++] = (struct tag_range){.start = start, .end = end};
}

static void note_span(void *user, const struct tag_event *event)
{
    if (event->kind == TAG_CALL || event->kind == TAG_ANSWER)
        add_span(user, event->start, event->end);
}

static int compare_start(const void *a, const void *b)
{
    const struct tag_range *x = a, *y = b;
    return x->start < y->start ? -1 : x->start > y->start;
}

enum status completion_plain_text(struct str text, const struct completion_options *options, struct buf *out)
{
    options = options ? options : &default_options;
    struct spans spans = {0};
    struct tag_parser *parser;
    struct buf joined;
    buf_init(&joined, BUF_UNBOUNDED); /* part of the text */
    enum status status = parse(text, options, note_span, &spans, &parser);
    if (status == STATUS_OK) {
        const struct tag_outcome *outcome = tag_parser_outcome(parser);
        for (size_t i = 0; i < outcome->n_thoughts; i++)
            add_span(&spans, outcome->thoughts[i].start, outcome->thoughts[i].end);
        add_span(&spans, outcome->length, outcome->length);
        qsort(spans.items, spans.count, sizeof *spans.items, compare_start);
        size_t from = 0;
        for (size_t i = 0; i < spans.count; i++) {
            buf_add(&joined, str_slice(text, from, spans.items[i].start));
            from = spans.items[i].end;
        }
        status = buf_append_str(out, str_trim(buf_str(&joined)));
    }
    buf_finish(&joined);
    free(spans.items);
    tag_parser_destroy(parser);
    return status;
}
