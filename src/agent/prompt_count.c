#include "agent/prompt_count.h"

#include <stdlib.h>
#include <string.h>

#include "core/buf.h"
#include "core/json.h"
#include "core/mem.h"
#include "protocol/transcript.h"
#include "text/tokenizer/tokenizer.h"

/* What template_variant gives, with and without thought in a field of its own. */
#define VARIANTS              8
#define THOUGHT_FIELD_VARIANT 4

#define UNKNOWN (-1)

/* A part in one variant. Where the tokenizer begins anew at `first`, and for the last time at `last`, only what stands
 * before `first` and behind `last` can merge with the neighbours. */
struct part_form {
    bool measured;
    size_t length, first, last; /* bytes; first is `length` where there is no such place */
    int64_t inner;              /* tokens of [first, last) */
    int64_t tail;               /* tokens of [last, length) with nothing behind it */

    /* The text from the last such place of an earlier part up to `first`. */
    int64_t joined;
    uint64_t joined_key; /* which parts, in which variants, that count is of; 0 for none */
};

struct part {
    struct part_form forms[VARIANTS];
};

struct prompt_count {
    struct prompt_count_options options;
    char *date;
    int64_t frame; /* what the tokenizer puts around a text */
    struct prompt_view view;
    struct part opening, end;
    struct part_form close; /* what is joined up to the end of the prompt */
    struct part *messages;
    size_t n_messages, capacity;
    int64_t total; /* UNKNOWN when something changed */

    struct template_pieces pieces;
    struct buf wire, text; /* of the part at hand */
    struct buf joined;     /* of the text across parts */
    size_t *starts;        /* where the pieces begin in `text` */
    size_t starts_capacity;
};

struct prompt_count *prompt_count_create(const struct prompt_count_options *options)
{
    struct prompt_count *count = mem_zalloc(sizeof *count);
    count->options = *options;
    count->date = str_dup(options->rendering.date);
    count->options.rendering.date.data = count->date;
    if (!options->rendering.chat)
        count->frame = tokenizer_count(options->tokenizer, (struct str){0}, TOKENIZER_FRAMED);
    prompt_view_init(&count->view);
    template_pieces_init(&count->pieces);
    buf_init(&count->wire, BUF_UNBOUNDED); /* all of it is text of the transcript, which has a cap */
    buf_init(&count->text, BUF_UNBOUNDED);
    buf_init(&count->joined, BUF_UNBOUNDED);
    count->total = UNKNOWN;
    return count;
}

void prompt_count_destroy(struct prompt_count *count)
{
    if (!count)
        return;
    free(count->starts);
    buf_finish(&count->joined);
    buf_finish(&count->text);
    buf_finish(&count->wire);
    template_pieces_finish(&count->pieces);
    free(count->messages);
    prompt_view_finish(&count->view);
    free(count->date);
    free(count);
}

static void forget(struct part *part)
{
    memset(part, 0, sizeof *part);
}

static void forget_end(struct prompt_count *count)
{
    forget(&count->end);
    count->close = (struct part_form){0};
    count->total = UNKNOWN;
}

/* As many parts as the transcript has messages. */
static void keep_up(struct prompt_count *count)
{
    while (count->n_messages < transcript_count(count->options.transcript)) {
        count->messages = mem_grow(count->messages, count->n_messages, &count->capacity, sizeof *count->messages);
        forget(&count->messages[count->n_messages++]);
    }
}

void prompt_count_changed(struct prompt_count *count)
{
    keep_up(count);
    if (count->n_messages > 0)
        forget(&count->messages[count->n_messages - 1]);
    forget_end(count);
}

bool prompt_count_thought_field(const struct prompt_count *count)
{
    return count->options.rendering.thought_field;
}

void prompt_count_set_thought_field(struct prompt_count *count, bool thought_field)
{
    if (count->options.rendering.thought_field == thought_field)
        return;
    count->options.rendering.thought_field = thought_field;
    count->total = UNKNOWN;
}

/* ---- one part ---- */

static struct part *part_at(struct prompt_count *count, size_t index)
{
    if (index == 0)
        return &count->opening;
    return index <= count->n_messages ? &count->messages[index - 1] : &count->end;
}

/* Writes a part's plain text into `text`, and where its pieces begin into `starts`; returns how many. */
static size_t write_part(struct prompt_count *count, const struct template_context *context, size_t index)
{
    count->pieces.count = 0;
    template_render_part(context, index, &count->pieces);
    buf_reset(&count->text);
    for (size_t i = 0; i < count->pieces.count; i++) {
        count->starts = mem_grow(count->starts, i, &count->starts_capacity, sizeof *count->starts);
        count->starts[i] = count->text.len;
        if (json_unescape(&count->text, count->pieces.pieces[i]) != STATUS_OK)
            abort(); /* the buffer has no cap, and wire text is well-formed */
    }
    return count->pieces.count;
}

static int64_t count_slice(const struct prompt_count *count, size_t from, size_t to)
{
    return from == to ? 0 : tokenizer_count(count->options.tokenizer, str_slice(buf_str(&count->text), from, to), 0);
}

/* Finds the places of the part where the tokenizer begins anew, and counts what lies between them. */
static void measure(struct prompt_count *count, const struct template_context *context, size_t index,
                    struct part_form *form)
{
    size_t n_pieces = write_part(count, context, index);
    size_t length = count->text.len;
    *form = (struct part_form){.measured = true, .length = length, .first = length, .last = length};
    for (size_t i = 0; i < n_pieces; i++) {
        size_t at = count->starts[i];
        if (at == length ||
            !tokenizer_begins_anew(count->options.tokenizer, str_slice(buf_str(&count->text), at, length)))
            continue;
        form->first = form->first == length ? at : form->first;
        form->last = at;
    }
    form->inner = count_slice(count, form->first, form->last);
    form->tail = count_slice(count, form->last, length);
}

static unsigned variant_of(const struct prompt_count *count, const struct template_context *context, size_t index)
{
    unsigned variant = template_variant(context, index);
    bool is_reply =
        index > 0 && index <= count->view.count && count->view.messages[index - 1].role == MESSAGE_ASSISTANT;
    return is_reply && count->options.rendering.thought_field ? variant + THOUGHT_FIELD_VARIANT : variant;
}

static struct part_form *form_at(struct prompt_count *count, const struct template_context *context, size_t index)
{
    struct part_form *form = &part_at(count, index)->forms[variant_of(count, context, index)];
    if (!form->measured)
        measure(count, context, index, form);
    return form;
}

/* ---- across parts ---- */

/* The text that is being put together: from `last` of the part `from` on, whole parts behind it. */
struct run {
    size_t from;
    bool whole; /* that part from its beginning */
    bool alone; /* nothing but that part's own tail */
    uint64_t key;
};

static void run_begin(struct run *run, size_t from, bool whole)
{
    *run = (struct run){.from = from, .whole = whole, .alone = true, .key = 14695981039346656037u};
}

static void run_add(struct run *run, size_t index, unsigned variant)
{
    run->alone = false;
    run->key = (run->key ^ (index * VARIANTS + variant)) * 1099511628211u; /* FNV-1a */
}

/* Tokens of the run, which ends `head` bytes into the part `to`. Kept in `keeper`. */
static int64_t run_count(struct prompt_count *count, const struct template_context *context, const struct run *run,
                         size_t to, size_t head, struct part_form *keeper)
{
    const struct part_form *from = form_at(count, context, run->from);
    if (run->alone)
        return from->tail;
    uint64_t key = (run->key ^ run->from) | 1;
    if (keeper->joined_key == key)
        return keeper->joined;
    buf_reset(&count->joined);
    for (size_t i = run->from; i <= to; i++) {
        write_part(count, context, i);
        size_t start = i == run->from && !run->whole ? from->last : 0;
        buf_add(&count->joined, str_slice(buf_str(&count->text), start, i == to ? head : count->text.len));
    }
    keeper->joined = tokenizer_count(count->options.tokenizer, buf_str(&count->joined), 0);
    keeper->joined_key = key;
    return keeper->joined;
}

static int64_t add_up(struct prompt_count *count)
{
    struct template_context context;
    template_context_init(&context, count->options.chat_template, &count->view, &count->options.rendering);
    size_t end = count->view.count + 1;
    int64_t total = count->frame;
    struct run run;
    run_begin(&run, 0, true);
    for (size_t i = 0; i <= end; i++) {
        struct part_form *form = form_at(count, &context, i);
        bool open = form->first == form->length;
        if (form->first > 0)
            run_add(&run, i, variant_of(count, &context, i));
        if (open)
            continue;
        if (i > 0 || form->first > 0)
            total += run_count(count, &context, &run, i, form->first, form);
        total += form->inner;
        run_begin(&run, i, false);
    }
    const struct part_form *last = form_at(count, &context, end);
    return total + run_count(count, &context, &run, end, last->length, &count->close);
}

static void show(struct prompt_count *count)
{
    keep_up(count);
    prompt_view_build(&count->view, count->options.transcript, &count->options.shown);
}

int64_t prompt_count_total(struct prompt_count *count)
{
    if (count->total == UNKNOWN) {
        show(count);
        count->total = add_up(count);
    }
    return count->total;
}

int64_t prompt_count_with_last(struct prompt_count *count, struct str text)
{
    show(count);
    if (count->n_messages == 0)
        return prompt_count_total(count);
    struct part *last = &count->messages[count->n_messages - 1];
    struct part kept_last = *last, kept_end = count->end;
    struct part_form kept_close = count->close;
    int64_t kept_total = count->total;
    struct buf wire;
    buf_init(&wire, BUF_UNBOUNDED);
    if (json_escape(&wire, text) != STATUS_OK)
        abort();
    count->view.messages[count->view.count - 1] =
        (struct prompt_message){.role = count->view.messages[count->view.count - 1].role, .wire = buf_str(&wire)};
    forget(last);
    forget_end(count);
    int64_t total = add_up(count);
    buf_finish(&wire);
    *last = kept_last;
    count->end = kept_end;
    count->close = kept_close;
    count->total = kept_total;
    return total;
}
