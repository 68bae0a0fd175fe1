/* src/cli/tokens_chat.c: chats, written as the prompt that the chat template makes of them. */
#include "cli/tokens_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "api/config.h"
#include "core/mem.h"
#include "protocol/prompt_view.h"
#include "protocol/template.h"

/* Where a chat stands, for messages. */
struct chat_place {
    const struct cli *cli;
    const char *name;
    int line;       /* of JSON Lines; 0 where the whole text is one chat */
    int skipped;    /* bytes of the text's first line that are not read: a byte-order mark */
    size_t message; /* from 1; 0: none in particular */
};

struct chat {
    struct prompt_view view;
    char **wires; /* two a message at most: owned by this */
    size_t n_wires, capacity;
    bool thought_field;
};

static bool refuse(const struct chat_place *place, const char *problem)
{
    struct buf where;
    buf_init(&where, BUF_UNBOUNDED);
    buf_add_text(&where, place->name);
    if (place->line > 0)
        buf_addf(&where, ":%d", place->line);
    if (place->message > 0)
        buf_addf(&where, ": message %zu", place->message);
    cli_fail(place->cli, "%s: %s", where.data, problem);
    buf_finish(&where);
    return false;
}

/* ---- messages ---- */

/* Appends the wire form of a content: a text, or parts that are texts. */
static bool read_content(const struct chat_place *place, const json_t *content, struct buf *wire)
{
    const json_t *part;
    size_t i;
    enum status status = STATUS_OK;
    if (json_is_string(content)) {
        status = json_escape(wire, str_make(json_string_value(content), json_string_length(content)));
    } else if (json_is_array(content)) {
        json_array_foreach (content, i, part) {
            const char *type = json_get_string(part, "type");
            if (type == NULL || strcmp(type, "text") != 0 || json_get_string(part, "text") == NULL)
                return refuse(place, "only parts that are text can be counted");
            status = status == STATUS_OK ? json_escape(wire, json_get_str(part, "text")) : status;
        }
    } else if (content != NULL && !json_is_null(content)) {
        return refuse(place, "the content is neither a text nor a list of parts");
    }
    if (status != STATUS_OK)
        abort(); /* the buffer has no cap */
    return true;
}

static bool read_role(const struct chat_place *place, const json_t *message, enum message_role *out)
{
    const char *role = json_get_string(message, "role");
    for (int i = MESSAGE_SYSTEM; i <= MESSAGE_ASSISTANT && role != NULL; i++) {
        *out = (enum message_role)i;
        if (strcmp(role, message_role_name(*out)) == 0)
            return true;
    }
    char problem[160];
    snprintf(problem, sizeof problem, "%s%.40s%s", role != NULL ? "the role \"" : "there is no role",
             role != NULL ? role : "", role != NULL ? "\" is none of system, user and assistant" : "");
    return refuse(place, problem);
}

static struct str keep(struct chat *chat, struct buf *wire)
{
    size_t length = wire->len;
    chat->wires = mem_grow(chat->wires, chat->n_wires, &chat->capacity, sizeof *chat->wires);
    chat->wires[chat->n_wires] = buf_take(wire);
    return str_make(chat->wires[chat->n_wires++], length);
}

/* Thought in a field of its own, as servers give it. */
static const json_t *thought_of(const json_t *message)
{
    static const char *const fields[] = {"reasoning_content", "reasoning"};
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        const json_t *thought = json_object_get(message, fields[i]);
        if (json_string_length(thought) > 0)
            return thought;
    }
    return NULL;
}

static bool read_message(const struct chat_place *place, const json_t *message, struct chat *chat)
{
    static const char *const unread[] = {"tool_calls", "function_call", "tools", "functions"};
    struct prompt_message read = {0};
    struct buf wire;
    if (!json_is_object(message))
        return refuse(place, "is no object");
    if (!read_role(place, message, &read.role))
        return false;
    for (size_t i = 0; i < sizeof unread / sizeof unread[0]; i++) {
        const json_t *value = json_object_get(message, unread[i]);
        if (json_array_size(value) > 0 || json_object_size(value) > 0)
            return refuse(place, "calls in a field of their own cannot be counted, only those in the text");
    }
    buf_init(&wire, BUF_UNBOUNDED);
    const json_t *thought = read.role == MESSAGE_ASSISTANT ? thought_of(message) : NULL;
    bool read_well = read_content(place, json_object_get(message, "content"), &wire);
    read.wire = keep(chat, &wire);
    if (read_well && thought != NULL) {
        read_well = read_content(place, thought, &wire);
        read.split_thought = keep(chat, &wire);
        read.split_rest = read.wire;
        buf_add_text(&wire, "<think>\\n");
        buf_add(&wire, read.split_thought);
        buf_add_text(&wire, "\\n</think>\\n\\n");
        buf_add(&wire, read.split_rest);
        read.wire = keep(chat, &wire);
        chat->thought_field = true;
    }
    buf_finish(&wire);
    if (read_well) {
        prompt_view_add(&chat->view, read.role, read.wire);
        chat->view.messages[chat->view.count - 1] = read;
    }
    return read_well;
}

/* ---- a chat ---- */

static void finish_chat(struct chat *chat)
{
    prompt_view_finish(&chat->view);
    for (size_t i = 0; i < chat->n_wires; i++)
        free(chat->wires[i]);
    free(chat->wires);
}

/* The prompt as plain text. */
static void render(const struct tokens *tokens, const struct chat *chat, struct buf *out)
{
    char date[11] = "";
    const char *configured = config_text(tokens->cli->config, OPTION_DATE);
    time_t now = time(NULL);
    struct tm local;
    if (configured == NULL && localtime_r(&now, &local) != NULL)
        strftime(date, sizeof date, "%Y-%m-%d", &local);
    const struct template_options options = {.chat = true,
                                             .bos = true,
                                             .thought_field = chat->thought_field,
                                             .date = str_of(configured != NULL ? configured : date)};
    struct template_pieces pieces;
    template_pieces_init(&pieces);
    template_render(tokens->chat_template, &chat->view, &options, &pieces);
    for (size_t i = 0; i < pieces.count; i++) {
        if (json_unescape(out, pieces.pieces[i]) != STATUS_OK)
            abort(); /* the buffer has no cap */
    }
    template_pieces_finish(&pieces);
}

static const json_t *messages_of(const json_t *value)
{
    return json_is_object(value) ? json_object_get(value, "messages") : value;
}

static bool do_chat(struct tokens *tokens, struct chat_place *place, const char *shown, const json_t *value)
{
    const json_t *messages = messages_of(value), *message;
    struct chat chat = {.thought_field = false};
    bool worked = true;
    size_t i;
    if (!json_is_array(messages))
        return refuse(place, "neither a list of messages nor an object with \"messages\"");
    if (json_array_size(messages) == 0)
        return refuse(place, "there are no messages");
    if (json_is_object(value) && json_array_size(json_object_get(value, "tools")) > 0)
        return refuse(place, "tools that the server writes into the prompt cannot be counted");
    prompt_view_init(&chat.view);
    json_array_foreach (messages, i, message) {
        place->message = i + 1;
        worked = worked && read_message(place, message, &chat);
    }
    place->message = 0;
    if (worked) {
        struct buf text;
        json_t *facts = json_object();
        buf_init(&text, BUF_UNBOUNDED);
        render(tokens, &chat, &text);
        if (place->line > 0)
            json_put(facts, "line", json_integer(place->line));
        json_put(facts, "messages", json_integer((json_int_t)json_array_size(messages)));
        json_put_str(facts, "template", str_of(template_name(tokens->chat_template)));
        tokens_show(tokens, shown, buf_str(&text), facts);
        json_decref(facts);
        buf_finish(&text);
    }
    finish_chat(&chat);
    return worked;
}

/* ---- texts of chats ---- */

static bool fail_at(const struct chat_place *place, struct error *error)
{
    int line = place->line > 0 ? place->line : error->line;
    error_at(error, place->name, line, line == 1 ? error->column + place->skipped : error->column);
    cli_fail_error(place->cli, error);
    return false;
}

static bool do_lines(struct tokens *tokens, struct chat_place place, const char *shown, struct str text)
{
    struct str line;
    bool worked = true;
    while (tokens_output_is_open() && str_split_next(&text, '\n', &line)) {
        struct error error;
        json_t *value;
        place.line++;
        if (str_trim(line).len == 0)
            continue;
        if (json_parse(line, &value, &error) != STATUS_OK) {
            worked = fail_at(&place, &error);
            continue;
        }
        worked = do_chat(tokens, &place, shown, value) && worked;
        json_decref(value);
    }
    return worked;
}

/* Whether the text is JSON Lines: its first line is a value by itself, and there is more. */
static bool is_lines(struct str text)
{
    struct str line = {0};
    json_t *value;
    while (str_trim(line).len == 0) {
        if (!str_split_next(&text, '\n', &line))
            return false;
    }
    if (str_trim(text).len == 0 || json_parse(line, &value, NULL) != STATUS_OK)
        return false;
    json_decref(value);
    return true;
}

bool tokens_chats(struct tokens *tokens, const char *name, const char *shown, struct str text)
{
    struct chat_place place = {.cli = tokens->cli, .name = name};
    struct error error;
    json_t *value;
    if (str_starts_with(text, STR("\xEF\xBB\xBF")))
        place.skipped = 3;
    text = str_slice(text, (size_t)place.skipped, text.len);
    if (is_lines(text))
        return do_lines(tokens, place, shown, text);
    if (json_parse(text, &value, &error) != STATUS_OK)
        return fail_at(&place, &error);
    bool worked = do_chat(tokens, &place, shown, value);
    json_decref(value);
    return worked;
}
