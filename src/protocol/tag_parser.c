#include "protocol/tag_parser.h"

#include <stdlib.h>
#include <string.h>

#include "core/buf.h"
#include "core/mem.h"
#include "protocol/tag_scan.h"

enum mode {
    MODE_PLAIN,     /* outside thought, for good or until the next <think> */
    MODE_UNDECIDED, /* thought is expected, no tag has told yet */
    MODE_THOUGHT,
};

enum element {
    ELEMENT_NONE,
    ELEMENT_CALL,
    ELEMENT_CODE, /* a call, behind its <code> */
    ELEMENT_ANSWER,
};

/* A call or answer that waits for the decision whether it is thought. `at` is where its text begins in held_text. */
struct held {
    struct tag_event event; /* the pieces' data are set when it is emitted */
    size_t at, code_at;
};

struct tag_parser {
    struct tag_parser_options options;
    tag_event_fn emit;
    void *user;

    enum mode mode;
    enum element element;
    enum status status;
    bool ended;
    bool replaying; /* bytes that were shown already are read a second time */
    bool
        code_protects; /* </tool_call> inside an open <code> is program text: false once </code> cannot come any more */
    bool string_protects; /* tags inside a call's strings are text: false while a string that never ended is read again
                           */

    size_t offset; /* of the next byte to be decided in the completion */
    char pending[TAG_MAX_BYTES];
    size_t n_pending; /* bytes at the end of the last chunk that may begin a tag */

    struct buf text; /* of the open element, without its opening tag */
    struct call_lexer lexer;
    size_t element_start;   /* offset of its opening tag */
    size_t element_text;    /* offset of text[0] */
    size_t code_open;       /* places in `text`, STR_NONE where there is none: <code>, */
    size_t code_last_close; /* the last </code> behind it, */
    size_t first_close;     /* the first </tool_call> that was taken for program text, */
    size_t nested;          /* the first <tool_call> that was taken for a string's text */
    size_t quoted_thoughts; /* <think> inside it, for which no </think> has come */

    struct held *held;
    size_t n_held, held_capacity;
    struct buf held_text;
    bool blank_since_held;      /* THOUGHT: nothing but white space since the last held element */
    unsigned tentative_repairs; /* of what is held back */
    size_t tentative_empty;
    size_t silent_from; /* offset of a <tool_response> behind which only the tags of thought are heeded, or STR_NONE */

    struct tag_range thought; /* the open one */
    struct tag_range *thoughts;
    size_t thoughts_capacity;
    struct tag_outcome outcome;
};

const char *tag_repair_name(unsigned repairs)
{
    static const char *const names[] = {"unclosed-thought", "unclosed-call", "unclosed-code", "unclosed-answer",
                                        "stray-call-tag"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (repairs & (1u << i))
            return names[i];
    }
    return NULL;
}

static void scan(struct tag_parser *parser, struct str bytes);
static void flush_pending(struct tag_parser *parser);

/* ---- What goes out ---- */

static void show(struct tag_parser *parser, struct str piece)
{
    if (piece.len == 0 || parser->replaying)
        return;
    struct tag_event event = {.kind = parser->mode == MODE_THOUGHT ? TAG_THOUGHT : TAG_TEXT,
                              .text = piece,
                              .start = parser->offset,
                              .end = parser->offset + piece.len};
    parser->emit(parser->user, &event);
}

/* Emits a call or answer that counts. Every answer but the first is dropped. */
static void emit_element(struct tag_parser *parser, const struct tag_event *event)
{
    if (event->kind == TAG_ANSWER) {
        if (parser->outcome.has_answer)
            return;
        parser->outcome.has_answer = true;
    } else {
        parser->outcome.n_calls++;
    }
    parser->outcome.repairs |= event->repairs;
    parser->emit(parser->user, event);
}

static void hold(struct tag_parser *parser, const struct tag_event *event)
{
    struct held held = {.event = *event, .at = parser->held_text.len};
    held.code_at = event->has_code ? held.at + (size_t)(event->code.data - event->text.data) : held.at;
    size_t cap = parser->options.max_element_bytes, kept = parser->n_held * sizeof held;
    if (kept > cap || buf_append_str(&parser->held_text, event->text) != STATUS_OK) {
        if (parser->mode != MODE_THOUGHT) /* in thought it would count only if thought never closed */
            parser->status = STATUS_TOO_BIG;
        return;
    }
    parser->held = mem_grow(parser->held, parser->n_held, &parser->held_capacity, sizeof *parser->held);
    parser->held[parser->n_held++] = held;
    parser->blank_since_held = true;
}

static void drop_held(struct tag_parser *parser)
{
    parser->n_held = 0;
    parser->tentative_repairs = 0;
    parser->tentative_empty = 0;
    buf_reset(&parser->held_text);
}

static void emit_held(struct tag_parser *parser, size_t from)
{
    for (size_t i = from; i < parser->n_held; i++) {
        const struct held *held = &parser->held[i];
        struct tag_event event = held->event;
        event.text.data = event.json.data = parser->held_text.data + held->at;
        event.code.data = parser->held_text.data + held->code_at;
        emit_element(parser, &event);
    }
    parser->outcome.repairs |= parser->tentative_repairs;
    parser->outcome.n_empty_calls += parser->tentative_empty;
    drop_held(parser);
}

static void deliver(struct tag_parser *parser, const struct tag_event *event)
{
    if (parser->mode == MODE_PLAIN)
        emit_element(parser, event);
    else
        hold(parser, event);
}

/* ---- Elements ---- */

static void forget_element(struct tag_parser *parser)
{
    parser->element = ELEMENT_NONE;
    buf_reset(&parser->text);
    parser->lexer = (struct call_lexer){0};
    parser->code_open = parser->code_last_close = parser->first_close = parser->nested = STR_NONE;
    parser->quoted_thoughts = 0;
}

static void open_element(struct tag_parser *parser, enum element element, enum tag tag)
{
    forget_element(parser);
    parser->element = element;
    parser->element_start = parser->offset;
    parser->element_text = parser->offset + tag_text(tag).len;
    parser->blank_since_held = false;
}

/* Adds bytes to the open element. */
static void store(struct tag_parser *parser, struct str piece)
{
    if (parser->element == ELEMENT_NONE) {
        if (parser->n_held && parser->blank_since_held)
            parser->blank_since_held = str_trim(piece).len == 0;
        return;
    }
    if (buf_append_str(&parser->text, piece) != STATUS_OK) {
        if (parser->mode == MODE_THOUGHT)
            forget_element(parser);
        else
            parser->status = STATUS_TOO_BIG;
        return;
    }
    if (parser->element == ELEMENT_CALL)
        call_lexer_feed(&parser->lexer, piece);
}

static void note_repair(struct tag_parser *parser, enum tag_repair repair)
{
    if (parser->mode == MODE_PLAIN)
        parser->outcome.repairs |= repair;
    else
        parser->tentative_repairs |= repair;
}

static void note_empty(struct tag_parser *parser)
{
    if (parser->mode == MODE_PLAIN)
        parser->outcome.n_empty_calls++;
    else
        parser->tentative_empty++;
}

/* Ends the open call at `end` (offset behind its last byte, or behind </tool_call>) and delivers it. */
static void close_call(struct tag_parser *parser, bool closed, size_t end)
{
    struct str text = buf_str(&parser->text);
    struct tag_event event = {
        .kind = TAG_CALL, .text = text, .json = text, .closed = closed, .start = parser->element_start, .end = end};
    if (parser->element == ELEMENT_CODE) {
        size_t from = parser->code_open + tag_text(TAG_CODE_OPEN).len;
        bool code_closed = parser->code_last_close != STR_NONE;
        event.has_code = true;
        event.json = str_slice(text, 0, parser->code_open);
        event.code = str_slice(text, from, code_closed ? parser->code_last_close : text.len);
        event.repairs |= code_closed ? 0 : TAG_REPAIR_UNCLOSED_CODE;
    }
    event.repairs |= closed ? 0 : TAG_REPAIR_UNCLOSED_CALL;
    bool meant = call_text_is_meant(text), whole = !parser->lexer.active || parser->lexer.complete;
    if (closed && str_trim(text).len == 0)
        note_empty(parser);
    else if (!closed && !meant)
        note_repair(parser, TAG_REPAIR_STRAY_CALL_TAG);
    else if (parser->mode != MODE_THOUGHT || (meant && whole))
        deliver(parser, &event);
    forget_element(parser);
}

static void close_answer(struct tag_parser *parser, bool closed, size_t end)
{
    struct tag_event event = {.kind = TAG_ANSWER,
                              .text = str_trim(buf_str(&parser->text)),
                              .closed = closed,
                              .start = parser->element_start,
                              .end = end};
    event.repairs = closed ? 0 : TAG_REPAIR_UNCLOSED_ANSWER;
    if (event.text.len)
        deliver(parser, &event);
    forget_element(parser);
}

/* Reads the open element's text from `from` on once more, as what follows it. The element is closed at `from`, by a
 * </tool_call> of which `from` is the first byte or without one. */
static void replay_from(struct tag_parser *parser, size_t from, bool closed)
{
    size_t skip = closed ? tag_text(TAG_CALL_CLOSE).len : 0, end = parser->element_text + from + skip;
    struct str tail = str_slice(buf_str(&parser->text), from + skip, parser->text.len);
    char *copy = str_dup(tail);
    bool was_replaying = parser->replaying;
    buf_truncate(&parser->text, from);
    close_call(parser, closed, end);
    parser->offset = end;
    parser->replaying = was_replaying || parser->mode == MODE_THOUGHT;
    scan(parser, str_make(copy, tail.len));
    flush_pending(parser);
    parser->replaying = was_replaying;
    free(copy);
}

/* A string that never ended had taken a tag for its text: the element ended before it. */
static void split_at_nested(struct tag_parser *parser)
{
    bool before = parser->string_protects;
    parser->string_protects = false;
    replay_from(parser, parser->nested, false);
    parser->string_protects = before;
}

static bool is_split(const struct tag_parser *parser)
{
    return parser->element == ELEMENT_CALL && parser->nested != STR_NONE && parser->lexer.quote;
}

/* The message ends here: decides what an open <code> or string had kept open. Afterwards an open element is one that
 * really has no end. */
static void settle(struct tag_parser *parser)
{
    if (parser->element == ELEMENT_CODE && parser->code_last_close == STR_NONE) {
        parser->code_protects = false;
        if (parser->first_close != STR_NONE)
            replay_from(parser, parser->first_close, true);
    }
    if (is_split(parser))
        split_at_nested(parser);
}

/* ---- Thought ---- */

static void open_thought(struct tag_parser *parser, size_t text_start)
{
    parser->thought = (struct tag_range){.start = parser->offset, .text_start = text_start};
    parser->mode = MODE_THOUGHT;
    parser->outcome.thought_seen = true;
    parser->outcome.thought_closed = false;
}

static void end_thought(struct tag_parser *parser, size_t text_end, size_t end)
{
    if (parser->outcome.n_thoughts >= parser->options.max_element_bytes / sizeof parser->thought) {
        parser->status = STATUS_TOO_BIG;
        return;
    }
    parser->thought.text_end = text_end;
    parser->thought.end = end;
    parser->thoughts =
        mem_grow(parser->thoughts, parser->outcome.n_thoughts, &parser->thoughts_capacity, sizeof *parser->thoughts);
    parser->thoughts[parser->outcome.n_thoughts++] = parser->thought;
    parser->outcome.thoughts = parser->thoughts;
}

static void cut_message(struct tag_parser *parser, size_t at)
{
    parser->ended = true;
    parser->outcome.cut = true;
    parser->outcome.cut_offset = parser->outcome.length = at;
    struct tag_event event = {.kind = TAG_CUT, .start = at, .end = at};
    parser->emit(parser->user, &event);
}

/* The text so far was not thought. */
static void release(struct tag_parser *parser)
{
    parser->mode = MODE_PLAIN;
    emit_held(parser, 0);
    if (parser->silent_from != STR_NONE)
        cut_message(parser, parser->silent_from);
}

/* True when the tag was one of thought and is dealt with. */
static bool take_think_tag(struct tag_parser *parser, enum tag tag)
{
    bool in_string = parser->element == ELEMENT_CALL && parser->lexer.quote && parser->string_protects;
    bool in_program = parser->element == ELEMENT_CODE && parser->code_last_close == STR_NONE && parser->code_protects;
    if (tag == TAG_THINK_OPEN && parser->mode == MODE_THOUGHT) {
        if (parser->silent_from == STR_NONE && !in_string && !in_program) {
            drop_held(parser);
            forget_element(parser);
            /* The template opened the thought, and so does the text: a server's own reasoning put in front. */
            if (parser->offset == parser->thought.text_start)
                parser->thought.text_start += tag_text(tag).len;
            return true;
        }
        return false;
    }
    if (tag == TAG_THINK_OPEN) {
        if (parser->element != ELEMENT_NONE) {
            parser->quoted_thoughts++;
            return false;
        }
        if (parser->mode == MODE_UNDECIDED)
            release(parser);
        if (!parser->ended)
            open_thought(parser, parser->offset + tag_text(tag).len);
        return true;
    }
    if (parser->mode == MODE_UNDECIDED && parser->quoted_thoughts > 0) {
        parser->quoted_thoughts--; /* the other half of a mention */
        return false;
    }
    /* Without an opening tag everything before is thought, also for a profile without thought, unless something of it
     * has been acted on already. */
    bool late = parser->mode == MODE_PLAIN && !parser->outcome.thought_seen && parser->element == ELEMENT_NONE &&
                parser->outcome.n_calls == 0 && !parser->outcome.has_answer;
    if (parser->mode == MODE_PLAIN && !late)
        return false;
    if (parser->mode != MODE_THOUGHT)
        parser->thought = (struct tag_range){0};
    if (late) {
        parser->outcome.repairs = 0;
        parser->outcome.n_empty_calls = 0;
    }
    drop_held(parser);
    forget_element(parser);
    parser->silent_from = STR_NONE;
    parser->code_protects = true;
    end_thought(parser, parser->offset, parser->offset + tag_text(tag).len);
    parser->mode = MODE_PLAIN;
    parser->outcome.thought_seen = parser->outcome.thought_closed = true;
    return true;
}

/* ---- Tags ---- */

static enum tag_inside inside_of(const struct tag_parser *parser)
{
    if (parser->mode == MODE_THOUGHT)
        return TAG_INSIDE_THOUGHT;
    switch (parser->element) {
    case ELEMENT_NONE:
        return TAG_INSIDE_NOTHING;
    case ELEMENT_CALL:
    case ELEMENT_CODE:
        return TAG_INSIDE_CALL;
    case ELEMENT_ANSWER:
        return TAG_INSIDE_ANSWER;
    }
    return TAG_INSIDE_NOTHING;
}

static void close_unclosed(struct tag_parser *parser)
{
    if (parser->element == ELEMENT_ANSWER)
        close_answer(parser, false, parser->offset);
    else if (parser->element != ELEMENT_NONE)
        close_call(parser, false, parser->offset);
}

/* The model begins to write tool results. Outside thought this ends the message. Inside it is mostly a mention, as is
 * one before any call while thought is undecided: then it ends the message only if no </think> follows. */
static void take_response(struct tag_parser *parser)
{
    settle(parser);
    enum tag_inside inside = inside_of(parser);
    if (parser->mode == MODE_THOUGHT && parser->element == ELEMENT_ANSWER)
        forget_element(parser); /* only a closed answer is taken out of thought */
    close_unclosed(parser);
    if (parser->mode != MODE_THOUGHT)
        parser->outcome.inside = inside;
    bool acted = parser->n_held > 0;
    if (parser->mode == MODE_UNDECIDED && acted)
        release(parser);
    if (parser->mode == MODE_PLAIN)
        cut_message(parser, parser->offset);
    else if (parser->mode == MODE_UNDECIDED || acted)
        parser->silent_from = parser->offset;
    parser->code_protects = true;
}

/* True when the tag begins or ends an element, false when it is text. */
static bool take_element_tag(struct tag_parser *parser, enum tag tag)
{
    bool in_call = parser->element == ELEMENT_CALL, in_code = parser->element == ELEMENT_CODE;
    bool in_answer = parser->element == ELEMENT_ANSWER;
    bool in_string = in_call && parser->lexer.quote && parser->string_protects;
    bool in_program = in_code && parser->code_last_close == STR_NONE && parser->code_protects;
    size_t end = parser->offset + tag_text(tag).len;
    switch (tag) {
    case TAG_CALL_OPEN:
    case TAG_ANSWER_OPEN:
        if (in_string && tag == TAG_CALL_OPEN && parser->nested == STR_NONE)
            parser->nested = parser->text.len;
        if (in_string || in_program || (in_answer && tag == TAG_CALL_OPEN))
            return false;
        if (!in_answer)
            close_unclosed(parser);
        open_element(parser, tag == TAG_CALL_OPEN ? ELEMENT_CALL : ELEMENT_ANSWER, tag);
        return true;
    case TAG_CALL_CLOSE:
        if (is_split(parser)) {
            split_at_nested(parser);
            return take_element_tag(parser, tag);
        }
        if (in_program && parser->first_close == STR_NONE)
            parser->first_close = parser->text.len;
        if (in_program || !(in_call || in_code))
            return false;
        close_call(parser, true, end);
        return true;
    case TAG_CODE_OPEN:
        if (in_call && !in_string) {
            parser->code_open = parser->text.len;
            parser->element = ELEMENT_CODE;
        }
        return false; /* it stays part of the element's text, from which close_call cuts the program */
    case TAG_CODE_CLOSE:
        if (in_code)
            parser->code_last_close = parser->text.len;
        return false;
    case TAG_ANSWER_CLOSE:
        if (in_answer)
            close_answer(parser, true, end);
        return in_answer;
    case TAG_RESPONSE_OPEN:
        take_response(parser);
        return parser->ended || parser->silent_from != STR_NONE;
    case TAG_NONE:
    case TAG_THINK_OPEN:
    case TAG_THINK_CLOSE:
        return false;
    }
    return false;
}

static void take_data(struct tag_parser *parser, struct str piece)
{
    if (piece.len == 0 || parser->ended || parser->status != STATUS_OK)
        return;
    bool silent = parser->silent_from != STR_NONE;
    if (parser->mode == MODE_THOUGHT || (parser->element == ELEMENT_NONE && !silent))
        show(parser, piece);
    if (!silent)
        store(parser, piece);
    parser->offset += piece.len;
}

static void take_tag(struct tag_parser *parser, enum tag tag)
{
    struct str text = tag_text(tag);
    bool in_thought = parser->mode == MODE_THOUGHT, think = tag == TAG_THINK_OPEN || tag == TAG_THINK_CLOSE;
    bool taken = think && take_think_tag(parser, tag);
    if (!taken && parser->silent_from == STR_NONE)
        taken = take_element_tag(parser, tag);
    if (!taken) {
        take_data(parser, text);
    } else {
        if (in_thought && parser->mode == MODE_THOUGHT && parser->offset >= parser->thought.text_start)
            show(parser, text);
        if (!parser->ended)
            parser->offset += text.len;
    }
}

/* ---- Bytes ---- */

static bool is_over(const struct tag_parser *parser)
{
    return parser->ended || parser->status != STATUS_OK;
}

/* Goes on with a tag that the last chunk broke off. Returns how many bytes of `bytes` it took. */
static size_t resume_tag(struct tag_parser *parser, struct str bytes)
{
    char joined[2 * TAG_MAX_BYTES];
    size_t more = bytes.len < TAG_MAX_BYTES ? bytes.len : TAG_MAX_BYTES, before = parser->n_pending;
    memcpy(joined, parser->pending, before);
    memcpy(joined + before, bytes.data, more);
    enum tag tag;
    size_t n = tag_match(str_make(joined, before + more), &tag);
    parser->n_pending = 0;
    if (tag != TAG_NONE) {
        take_tag(parser, tag);
    } else if (n == before + more) { /* more than TAG_MAX_BYTES bytes are never a mere beginning */
        memcpy(parser->pending, joined, n);
        parser->n_pending = n;
    } else {
        take_data(parser, str_make(joined, n));
    }
    return n - before;
}

static void scan(struct tag_parser *parser, struct str bytes)
{
    size_t i = 0;
    if (parser->n_pending && bytes.len)
        i = resume_tag(parser, bytes);
    for (size_t from = i; from < bytes.len && !is_over(parser);) {
        const char *open = memchr(bytes.data + i, '<', bytes.len - i);
        if (!open) {
            take_data(parser, str_slice(bytes, from, bytes.len));
            return;
        }
        i = (size_t)(open - bytes.data);
        enum tag tag;
        size_t n = tag_match(str_slice(bytes, i, bytes.len), &tag);
        if (tag == TAG_NONE && i + n < bytes.len) {
            i += n;
            continue;
        }
        take_data(parser, str_slice(bytes, from, i));
        if (is_over(parser))
            return;
        if (tag == TAG_NONE) {
            memcpy(parser->pending, open, n);
            parser->n_pending = n;
            return;
        }
        take_tag(parser, tag);
        i += n;
        from = i;
    }
}

static void flush_pending(struct tag_parser *parser)
{
    struct str rest = {parser->pending, parser->n_pending};
    parser->n_pending = 0;
    take_data(parser, rest);
}

/* ---- Life cycle ---- */

struct tag_parser *tag_parser_create(const struct tag_parser_options *options, tag_event_fn emit, void *user)
{
    struct tag_parser *parser = mem_zalloc(sizeof *parser);
    if (options)
        parser->options = *options;
    if (parser->options.max_element_bytes == 0)
        parser->options.max_element_bytes = TAG_PARSER_DEFAULT_ELEMENT_BYTES;
    parser->emit = emit;
    parser->user = user;
    buf_init(&parser->text, parser->options.max_element_bytes);
    buf_init(&parser->held_text, parser->options.max_element_bytes);
    tag_parser_reset(parser);
    return parser;
}

void tag_parser_destroy(struct tag_parser *parser)
{
    if (!parser)
        return;
    buf_finish(&parser->text);
    buf_finish(&parser->held_text);
    free(parser->held);
    free(parser->thoughts);
    free(parser);
}

void tag_parser_reset(struct tag_parser *parser)
{
    drop_held(parser);
    forget_element(parser);
    parser->status = STATUS_OK;
    parser->ended = parser->replaying = false;
    parser->code_protects = parser->string_protects = true;
    parser->offset = parser->n_pending = 0;
    parser->silent_from = STR_NONE;
    parser->outcome = (struct tag_outcome){0};
    parser->mode = parser->options.thought_expected ? MODE_UNDECIDED : MODE_PLAIN;
    if (parser->options.thought_open)
        open_thought(parser, 0);
}

enum status tag_parser_feed(struct tag_parser *parser, struct str bytes)
{
    if (!is_over(parser) && bytes.len)
        scan(parser, bytes);
    if (!parser->ended)
        parser->outcome.length = parser->offset + parser->n_pending;
    return parser->status;
}

/* The beginning of an element's own closing tag at the very end was not meant as its text. */
static size_t half_closing_tag(const struct tag_parser *parser)
{
    if (parser->n_pending < 2 || parser->element == ELEMENT_NONE)
        return 0;
    enum tag tag = parser->element == ELEMENT_ANSWER ? TAG_ANSWER_CLOSE : TAG_CALL_CLOSE;
    if (parser->element == ELEMENT_CODE && parser->code_last_close == STR_NONE)
        tag = TAG_CODE_CLOSE;
    return str_starts_with(tag_text(tag), str_make(parser->pending, parser->n_pending)) ? parser->n_pending : 0;
}

/* Thought was never closed: takes what counts according to protocol.md. */
static void take_from_thought(struct tag_parser *parser, enum tag_end how)
{
    size_t end = parser->offset;
    bool silent = parser->silent_from != STR_NONE;
    bool whole = parser->lexer.complete || (parser->element == ELEMENT_CODE && parser->code_last_close != STR_NONE);
    if (how == TAG_END_STOP && whole && !silent)
        close_call(parser, false, end);
    bool all_blank = parser->element == ELEMENT_NONE && parser->blank_since_held;
    bool takes = parser->n_held > 0 && (how == TAG_END_STOP || (how == TAG_END_LENGTH && (all_blank || silent)));
    if (!takes) {
        end_thought(parser, end, end);
        return;
    }
    size_t first = parser->n_held - 1;
    while (first > 0 && parser->held[first].event.kind == TAG_CALL && parser->held[first - 1].event.kind == TAG_CALL)
        first--;
    size_t start = parser->held[first].event.start;
    end_thought(parser, start, start);
    parser->mode = MODE_PLAIN;
    parser->outcome.repairs |= TAG_REPAIR_UNCLOSED_THOUGHT;
    emit_held(parser, first);
    if (silent)
        cut_message(parser, parser->silent_from);
}

enum status tag_parser_end(struct tag_parser *parser, enum tag_end how)
{
    if (is_over(parser))
        return parser->status;
    size_t half = half_closing_tag(parser);
    if (half)
        parser->n_pending = 0;
    flush_pending(parser);
    if (is_over(parser))
        return parser->status;
    settle(parser);
    parser->offset += half;
    if (parser->silent_from == STR_NONE || parser->mode == MODE_THOUGHT)
        parser->outcome.inside = inside_of(parser);
    if (parser->mode == MODE_THOUGHT) {
        take_from_thought(parser, how);
    } else {
        bool open_program = parser->element == ELEMENT_CODE && parser->code_last_close == STR_NONE;
        bool counts = parser->element == ELEMENT_ANSWER || open_program ? how == TAG_END_STOP : how != TAG_END_BROKEN;
        if (counts)
            close_unclosed(parser);
        if (parser->mode == MODE_UNDECIDED && parser->status == STATUS_OK)
            release(parser);
    }
    if (!parser->ended)
        parser->outcome.length = parser->offset;
    parser->ended = true;
    return parser->status;
}

const struct tag_outcome *tag_parser_outcome(const struct tag_parser *parser)
{
    return &parser->outcome;
}
