#include "net/sse.h"

#include <string.h>

void sse_parser_init(struct sse_parser *parser, size_t max_event, sse_event_fn on_event, void *user)
{
    *parser = (struct sse_parser){.on_event = on_event, .user = user, .max_event = max_event, .retry_ms = -1};
    buf_init(&parser->line, max_event);
    buf_init(&parser->data, max_event + 1); /* and the newline that dispatch cuts off */
    buf_init(&parser->type, max_event);
    buf_init(&parser->id, max_event);
}

void sse_parser_finish(struct sse_parser *parser)
{
    if (!parser)
        return;
    buf_finish(&parser->line);
    buf_finish(&parser->data);
    buf_finish(&parser->type);
    buf_finish(&parser->id);
    *parser = (struct sse_parser){.stopped = true};
}

static void report(struct sse_parser *parser, enum sse_kind kind, struct str data)
{
    struct sse_event event = {
        .kind = kind,
        .type = parser->type.len > 0 && kind == SSE_MESSAGE ? buf_str(&parser->type) : STR("message"),
        .data = data,
        .id = buf_str(&parser->id),
    };
    if (!parser->on_event(parser->user, &event))
        parser->stopped = true;
}

static void dispatch(struct sse_parser *parser)
{
    if (parser->has_data)
        report(parser, SSE_MESSAGE, str_slice(buf_str(&parser->data), 0, parser->data.len - 1));
    buf_reset(&parser->data);
    buf_reset(&parser->type);
    parser->has_data = false;
}

static enum status set(struct buf *field, struct str value)
{
    buf_reset(field);
    return buf_append_str(field, value);
}

static enum status take_field(struct sse_parser *parser, struct str name, struct str value)
{
    if (str_equal(name, STR("data"))) {
        parser->has_data = true;
        if (buf_append_str(&parser->data, value) != STATUS_OK)
            return STATUS_TOO_BIG;
        return buf_append_char(&parser->data, '\n');
    }
    if (str_equal(name, STR("event")))
        return set(&parser->type, value);
    if (str_equal(name, STR("id")))
        return memchr(value.data ? value.data : "", '\0', value.len) ? STATUS_OK : set(&parser->id, value);
    if (str_equal(name, STR("retry"))) {
        int64_t ms = 0;
        bool digits = value.len > 0 && ascii_is_digit(value.data[0]) && str_to_int64(value, &ms);
        parser->retry_ms = digits ? ms : parser->retry_ms;
    }
    return STATUS_OK;
}

/* One whole line without its end. */
static enum status take_line(struct sse_parser *parser, struct str line)
{
    if (line.len == 0) {
        dispatch(parser);
        return STATUS_OK;
    }
    size_t colon = str_find_char(line, ':', 0);
    if (colon == 0) {
        report(parser, SSE_COMMENT, str_slice(line, 1, line.len));
        return STATUS_OK;
    }
    struct str name = str_slice(line, 0, colon);
    struct str value = colon == STR_NONE ? (struct str){0} : str_slice(line, colon + 1, line.len);
    if (value.len > 0 && value.data[0] == ' ')
        value = str_slice(value, 1, value.len);
    return take_field(parser, name, value);
}

/* Leaves the byte order mark out that may open the stream; until it is known not to be one, it stands in `line`, where
 * it begins the first line otherwise. */
static void skip_mark(struct sse_parser *parser, struct str *bytes)
{
    static const char mark[3] = "\xEF\xBB\xBF";
    while (!parser->bom_checked && bytes->len > 0) {
        bool matches = bytes->data[0] == mark[parser->line.len];
        if (!matches || buf_append_char(&parser->line, bytes->data[0]) != STATUS_OK) {
            parser->bom_checked = true;
            return;
        }
        *bytes = str_slice(*bytes, 1, bytes->len);
        if (parser->line.len == sizeof mark) {
            buf_reset(&parser->line);
            parser->bom_checked = true;
        }
    }
}

static size_t find_line_end(struct str bytes)
{
    for (size_t i = 0; i < bytes.len; i++)
        if (bytes.data[i] == '\n' || bytes.data[i] == '\r')
            return i;
    return STR_NONE;
}

/* Takes the next line, or the rest that is none yet, off the front of *bytes. */
static enum status take_next(struct sse_parser *parser, struct str *bytes)
{
    size_t end = find_line_end(*bytes);
    struct str piece = str_slice(*bytes, 0, end);
    if (end == STR_NONE) {
        *bytes = (struct str){0};
        return buf_append_str(&parser->line, piece);
    }
    parser->after_cr = bytes->data[end] == '\r';
    *bytes = str_slice(*bytes, end + 1, bytes->len);
    if (parser->line.len == 0) /* the usual case: the line lies whole in the chunk and is not copied */
        return piece.len > parser->max_event ? STATUS_TOO_BIG : take_line(parser, piece);
    if (buf_append_str(&parser->line, piece) != STATUS_OK)
        return STATUS_TOO_BIG;
    enum status status = take_line(parser, buf_str(&parser->line));
    buf_reset(&parser->line);
    return status;
}

enum status sse_parser_feed(struct sse_parser *parser, struct str bytes)
{
    skip_mark(parser, &bytes);
    while (bytes.len > 0 && parser->error == STATUS_OK && !parser->stopped) {
        if (parser->after_cr && bytes.data[0] == '\n') {
            parser->after_cr = false;
            bytes = str_slice(bytes, 1, bytes.len);
            continue;
        }
        parser->after_cr = false;
        parser->error = take_next(parser, &bytes);
    }
    return parser->error;
}

bool sse_parser_end(struct sse_parser *parser)
{
    bool cut = parser->line.len > 0;
    buf_reset(&parser->line);
    if (!parser->stopped && parser->error == STATUS_OK)
        dispatch(parser);
    parser->stopped = true;
    return cut;
}
