#include "protocol/template.h"

#include <stdlib.h>

#include "protocol/template_internal.h"
#include "protocol/template_wire.h"

#define THINK_OPEN  STR("<think>")
#define THINK_CLOSE STR("</think>")

const struct chat_template *template_find(struct str name)
{
    for (size_t i = 0; i < template_table_count; i++) {
        if (str_equal(name, str_of(template_table[i].name)))
            return &template_table[i];
    }
    return NULL;
}

size_t template_count(void)
{
    return template_table_count;
}

const char *template_name_at(size_t index)
{
    return template_table[index].name;
}

const char *template_name(const struct chat_template *chat_template)
{
    return chat_template->name;
}

void template_destroy(const struct chat_template *chat_template)
{
    if (!chat_template || !chat_template->text)
        return;
    free(chat_template->text);
    free((struct chat_template *)chat_template);
}

size_t template_stops(const struct chat_template *chat_template, const char *const **stops)
{
    size_t count = 0;
    while (count < 3 && chat_template->stops[count])
        count++;
    *stops = chat_template->stops;
    return count;
}

void template_pieces_init(struct template_pieces *pieces)
{
    *pieces = (struct template_pieces){0};
}

void template_pieces_finish(struct template_pieces *pieces)
{
    if (!pieces)
        return;
    free(pieces->pieces);
    *pieces = (struct template_pieces){0};
}

static void add(struct template_pieces *pieces, struct str piece)
{
    if (piece.len == 0)
        return;
    pieces->pieces = mem_grow(pieces->pieces, pieces->count, &pieces->capacity, sizeof piece);
    pieces->pieces[pieces->count++] = piece;
}

/* ---- static text ---- */

static bool is_date(struct str date)
{
    static const char form[] = "dddd-dd-dd";
    if (date.len != sizeof form - 1)
        return false;
    for (size_t i = 0; i < date.len; i++) {
        if (form[i] == 'd' ? !ascii_is_digit(date.data[i]) : date.data[i] != form[i])
            return false;
    }
    return true;
}

/* A day as two pieces and a static name make it, so that nothing has to be kept. */
static void add_day(struct template_pieces *pieces, struct str date, bool named)
{
    static const char *const months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                         "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    if (!is_date(date))
        date = STR("2024-07-26"); /* what the templates say that cannot know the day */
    int month = (date.data[5] - '0') * 10 + (date.data[6] - '0');
    if (!named || month < 1 || month > 12) {
        add(pieces, date);
        return;
    }
    add(pieces, str_slice(date, 8, 10));
    add(pieces, STR(" "));
    add(pieces, str_of(months[month - 1]));
    add(pieces, STR(" "));
    add(pieces, str_slice(date, 0, 4));
}

static void add_static(struct template_pieces *pieces, struct str text, const struct template_options *options)
{
    size_t from = 0;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.data[i];
        if (c != DAY_NAMED[0] && c != DAY_ISO[0])
            continue;
        add(pieces, str_slice(text, from, i));
        add_day(pieces, options->date, c == DAY_NAMED[0]);
        from = i + 1;
    }
    add(pieces, str_slice(text, from, text.len));
}

/* ---- contents ---- */

static struct str trimmed(struct str text, enum turn_trim trim)
{
    switch (trim) {
    case TRIM_NONE:
        break;
    case TRIM_BOTH:
        return wire_trim(text);
    case TRIM_START:
        return wire_trim_start(text);
    case TRIM_END:
        return wire_trim_end(text);
    }
    return text;
}

static void add_thought(struct template_pieces *pieces, struct str thought)
{
    add(pieces, STR("<think>\\n"));
    add(pieces, thought);
    add(pieces, STR("\\n</think>\\n\\n"));
}

/* What a chat server's template gets of an assistant's message, and what Qwen3's and its kin make of it. */
struct reply_parts {
    struct str content; /* as it was sent */
    struct str thought, rest;
};

static struct reply_parts reply_parts(const struct template_context *context, const struct prompt_message *message)
{
    bool split = context->options->thought_field && message->split_thought.len > 0;
    struct reply_parts parts = {.content = split ? message->split_rest : message->wire,
                                .thought = split ? message->split_thought : message->wire_thought};
    parts.rest = parts.content;
    if (parts.thought.len == 0 && str_find(parts.content, THINK_CLOSE, 0) != STR_NONE) {
        struct str before = wire_strip_newlines_end(wire_before_first(parts.content, THINK_CLOSE));
        parts.thought = wire_strip_newlines_start(wire_behind_last(before, THINK_OPEN));
        parts.rest = wire_strip_newlines_start(wire_behind_last(parts.content, THINK_CLOSE));
    }
    return parts;
}

static bool is_last_message(const struct template_context *context, size_t index)
{
    return index + 1 == context->view->count;
}

static void add_glm_reply(const struct template_context *context, size_t index, const struct reply_parts *parts,
                          struct template_pieces *pieces)
{
    struct str rest = wire_trim(parts->rest);
    add(pieces, STR("<think>"));
    if (index > context->last_user)
        add(pieces, wire_trim(parts->thought));
    add(pieces, THINK_CLOSE);
    add(pieces, rest.len ? STR("\\n") : rest);
    add(pieces, rest);
}

static void add_rewritten(struct template_pieces *pieces, const struct reply_parts *parts)
{
    add_thought(pieces, wire_strip_newlines_start(wire_strip_newlines_end(parts->thought)));
    add(pieces, wire_strip_newlines_start(parts->rest));
}

static void add_chat_reply(const struct template_context *context, size_t index, struct template_pieces *pieces)
{
    const struct reply_parts parts = reply_parts(context, &context->view->messages[index]);
    struct str content = parts.content;
    switch (context->chat_template->history) {
    case HISTORY_WHOLE:
    case HISTORY_RULES:
        break;
    case HISTORY_BEHIND_LAST:
        content = wire_behind_last(content, THINK_CLOSE);
        break;
    case HISTORY_BEHIND_FIRST:
        content = wire_behind_first(content, THINK_CLOSE);
        break;
    case HISTORY_STRIPPED:
        content = is_last_message(context, index) ? content
                                                  : wire_strip_newlines_start(wire_behind_last(content, THINK_CLOSE));
        break;
    case HISTORY_QWEN3:
        if (index > context->last_query && (is_last_message(context, index) || parts.thought.len > 0)) {
            add_rewritten(pieces, &parts);
            return;
        }
        content = parts.rest;
        break;
    case HISTORY_GLM45:
        add_glm_reply(context, index, &parts, pieces);
        return;
    }
    add(pieces, trimmed(content, context->chat_template->turns[MESSAGE_ASSISTANT].trim));
}

static void add_content(const struct template_context *context, size_t index, struct template_pieces *pieces)
{
    const struct prompt_message *message = &context->view->messages[index];
    if (context->options->chat && message->role == MESSAGE_ASSISTANT) {
        add_chat_reply(context, index, pieces);
        return;
    }
    if (message->wire_thought.len && !context->options->chat)
        add_thought(pieces, message->wire_thought);
    add(pieces, trimmed(message->wire, context->chat_template->turns[message->role].trim));
}

/* ---- parts ---- */

static bool has_system(const struct prompt_view *view)
{
    return view->count > 0 && view->messages[0].role == MESSAGE_SYSTEM;
}

static bool is_tool_result(struct str wire)
{
    return str_starts_with(wire, STR("<tool_response>")) && str_ends_with(wire, STR("</tool_response>"));
}

void template_context_init(struct template_context *context, const struct chat_template *chat_template,
                           const struct prompt_view *view, const struct template_options *options)
{
    size_t none = view->count, first_user = none;
    *context = (struct template_context){chat_template, view, options, none, none, none};
    for (size_t i = 0; i < view->count; i++) {
        if (view->messages[i].role != MESSAGE_USER)
            continue;
        context->last_user = i;
        if (first_user == none)
            first_user = i;
        if (!is_tool_result(view->messages[i].wire))
            context->last_query = i;
    }
    if (has_system(view) && chat_template->system_place == SYSTEM_IN_FIRST_USER)
        context->host = first_user;
    else if (has_system(view) && chat_template->system_place == SYSTEM_IN_LAST_USER)
        context->host = context->last_user;
}

unsigned template_variant(const struct template_context *context, size_t part)
{
    const struct prompt_view *view = context->view;
    if (part == 0)
        return has_system(view);
    if (part > view->count)
        return 0;
    size_t index = part - 1;
    enum history_rule history = context->chat_template->history;
    switch (view->messages[index].role) {
    case MESSAGE_SYSTEM:
        return index == 0 && context->host < view->count;
    case MESSAGE_USER:
        return index == context->host;
    case MESSAGE_ASSISTANT:
        break;
    }
    unsigned last = is_last_message(context, index) ? 2 : 0;
    if (history == HISTORY_QWEN3)
        return last + (index > context->last_query);
    if (history == HISTORY_GLM45)
        return index > context->last_user;
    return history == HISTORY_STRIPPED ? last : 0;
}

static void render_opening(const struct template_context *context, struct template_pieces *pieces)
{
    const struct chat_template *chat_template = context->chat_template;
    if (context->options->chat || context->options->bos)
        add(pieces, chat_template->bos);
    add_static(pieces, chat_template->opening, context->options);
    if (!has_system(context->view))
        add_static(pieces, chat_template->default_system, context->options);
}

static void render_message(const struct template_context *context, size_t index, struct template_pieces *pieces)
{
    const struct prompt_view *view = context->view;
    const struct turn *turns = context->chat_template->turns, *turn = &turns[view->messages[index].role];
    if (index == 0 && has_system(view) && context->host < view->count)
        return;
    add_static(pieces, turn->before, context->options);
    if (index == context->host) {
        add_static(pieces, turns[MESSAGE_SYSTEM].before, context->options);
        add_content(context, 0, pieces);
        add_static(pieces, turns[MESSAGE_SYSTEM].after, context->options);
    }
    add_content(context, index, pieces);
    add_static(pieces, turn->after, context->options);
}

void template_render_part(const struct template_context *context, size_t part, struct template_pieces *pieces)
{
    const struct chat_template *chat_template = context->chat_template;
    if (part == 0) {
        render_opening(context, pieces);
    } else if (part <= context->view->count) {
        render_message(context, part - 1, pieces);
    } else {
        add_static(pieces, chat_template->generation, context->options);
        if (context->options->chat)
            add_static(pieces, chat_template->chat_generation, context->options);
        else if (context->options->open_think)
            add(pieces, STR("<think>\\n"));
    }
}

void template_render(const struct chat_template *chat_template, const struct prompt_view *view,
                     const struct template_options *options, struct template_pieces *pieces)
{
    struct template_context context;
    template_context_init(&context, chat_template, view, options);
    pieces->count = 0;
    for (size_t part = 0; part <= view->count + 1; part++)
        template_render_part(&context, part, pieces);
}

int64_t template_message_tokens(const struct chat_template *chat_template)
{
    return chat_template ? chat_template->message_tokens : 6;
}

int64_t template_prompt_tokens(const struct chat_template *chat_template)
{
    return chat_template ? chat_template->prompt_tokens : 8;
}
