#include "model/request.h"

#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "model/client.h"
#include "protocol/prompt_view.h"

#define MAX_STOPS 4 /* more are refused by the largest service */

static void put_sampling(json_t *fields, const struct sampling *sampling, const struct request_habits *habits)
{
    if (sampling->has_temperature)
        json_put(fields, "temperature", json_real(sampling->temperature));
    if (sampling->has_top_p)
        json_put(fields, "top_p", json_real(sampling->top_p));
    if (sampling->has_top_k)
        json_put(fields, "top_k", json_integer(sampling->top_k));
    if (sampling->has_min_p)
        json_put(fields, "min_p", json_real(sampling->min_p));
    if (sampling->has_presence_penalty)
        json_put(fields, "presence_penalty", json_real(sampling->presence_penalty));
    if (sampling->has_repetition_penalty)
        json_put(fields, habits->repeat_penalty ? "repeat_penalty" : "repetition_penalty",
                 json_real(sampling->repetition_penalty));
    if (sampling->has_seed)
        json_put(fields, "seed", json_integer(sampling->seed));
}

static void put_stops(json_t *fields, const struct request_form *form, bool protocol_stops)
{
    json_t *stops = json_array();
    if (protocol_stops) {
        json_push(stops, json_string("<tool_response>"));
        json_push(stops, json_string("\n<tool_response>"));
    }
    if (form->chat_template) {
        const char *const *ends;
        size_t count = template_stops(form->chat_template, &ends);
        for (size_t i = 0; i < count && json_array_size(stops) < MAX_STOPS; i++)
            json_push(stops, json_string(ends[i]));
    }
    if (json_array_size(stops))
        json_put(fields, "stop", stops);
    else
        json_decref(stops);
}

static json_t *build_fields(const struct request_form *form, const struct request_habits *habits,
                            const struct model_request *request)
{
    json_t *fields = json_object();
    int64_t cap = request->max_tokens;
    if (habits->max_tokens > 0 && cap > habits->max_tokens)
        cap = habits->max_tokens;
    if (form->model)
        json_put(fields, "model", json_string(form->model));
    json_put(fields, "stream", json_true());
    json_put(fields, "stream_options", json_pack("{s:b}", "include_usage", 1));
    json_put(fields, "max_tokens", json_integer(cap));
    put_sampling(fields, &request->sampling, habits);
    put_stops(fields, form, request->server_stops);
    const char *key;
    json_t *value;
    json_object_foreach ((json_t *)form->extra_body, key, value) {
        if (json_is_null(value))
            json_object_del(fields, key);
        else
            json_object_set(fields, key, value);
    }
    if (habits->completion_name && json_object_get(fields, "max_tokens")) {
        json_object_set(fields, "max_completion_tokens", json_object_get(fields, "max_tokens"));
        json_object_del(fields, "max_tokens");
    }
    json_object_foreach (habits->dropped, key, value)
        json_object_del(fields, key);
    /* Without streaming there is nothing for its options to say, and servers refuse them. */
    if (!json_is_true(json_object_get(fields, "stream")))
        json_object_del(fields, "stream_options");
    return fields;
}

static void add_piece(struct template_pieces *pieces, struct str piece)
{
    if (!piece.len)
        return;
    pieces->pieces = mem_grow(pieces->pieces, pieces->count, &pieces->capacity, sizeof *pieces->pieces);
    pieces->pieces[pieces->count++] = piece;
}

static struct str role_piece(enum message_role role)
{
    switch (role) {
    case MESSAGE_SYSTEM:
        return STR("{\"role\":\"system\",\"content\":\"");
    case MESSAGE_USER:
        return STR("{\"role\":\"user\",\"content\":\"");
    case MESSAGE_ASSISTANT:
        break;
    }
    return STR("{\"role\":\"assistant\",\"content\":\"");
}

/* The message's text and the image as the two parts of its content. */
static void add_image(struct template_pieces *pieces, const struct model_image *image)
{
    add_piece(pieces, STR("\"},{\"type\":\"image_url\",\"image_url\":{\"url\":\"data:"));
    add_piece(pieces, image->media_type);
    add_piece(pieces, STR(";base64,"));
    add_piece(pieces, image->base64);
    add_piece(pieces, STR("\"}}]}"));
}

static bool takes_thought_field(const struct request_habits *habits)
{
    return !habits->dropped ||
           (!json_object_get(habits->dropped, "reasoning_content") && !json_object_get(habits->dropped, "reasoning"));
}

bool request_splits_thought(const struct request_habits *habits)
{
    return habits->thought_field && takes_thought_field(habits);
}

/* Returns the field that thought was sent in, NULL when none was. */
static const char *add_messages(struct template_pieces *pieces, const struct model_request *request,
                                const struct request_habits *habits)
{
    const struct prompt_view *view = request->prompt;
    const char *sent = NULL;
    const char *thought_name = habits->reasoning_name ? "reasoning" : "reasoning_content";
    bool send_thought = takes_thought_field(habits);
    struct str system = {0};
    bool first = true;
    for (size_t i = 0; i < view->count; i++) {
        const struct prompt_message *message = &view->messages[i];
        if (habits->fold_system && message->role == MESSAGE_SYSTEM && i + 1 < view->count) {
            system = message->wire;
            continue;
        }
        add_piece(pieces, first ? (struct str){0} : STR(","));
        first = false;
        bool shows = request->image && i + 1 == view->count && message->role == MESSAGE_USER;
        add_piece(pieces, shows ? STR("{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"")
                                : role_piece(message->role));
        if (system.len) {
            add_piece(pieces, system);
            add_piece(pieces, STR("\\n\\n"));
            system = (struct str){0};
        }
        bool split = request_splits_thought(habits) && message->split_thought.len > 0;
        struct str thought = split ? message->split_thought : message->wire_thought;
        add_piece(pieces, split ? message->split_rest : message->wire);
        if (send_thought && thought.len) {
            add_piece(pieces, habits->reasoning_name ? STR("\",\"reasoning\":\"") : STR("\",\"reasoning_content\":\""));
            add_piece(pieces, thought);
            sent = thought_name;
        }
        if (shows)
            add_image(pieces, request->image);
        else
            add_piece(pieces, STR("\"}"));
    }
    return sent;
}

/* `fields` as an object that is still open, ready for one more member. */
static char *open_object(const json_t *fields)
{
    char *text = json_to_text(fields);
    text[strlen(text) - 1] = '\0';
    return text;
}

void request_body_init(struct request_body *body, const struct request_form *form, const struct request_habits *habits,
                       const struct model_request *request)
{
    *body = (struct request_body){.fields = build_fields(form, habits, request)};
    template_pieces_init(&body->pieces);
    bool empty = json_object_size(body->fields) == 0;
    body->head = open_object(body->fields);

    const char *thought_field = NULL;
    struct template_pieces prompt;
    template_pieces_init(&prompt);
    if (form->chat_template)
        template_render(form->chat_template, request->prompt, &form->template_options, &prompt);
    else
        thought_field = add_messages(&prompt, request, habits);
    if (thought_field)
        json_put(body->fields, thought_field, json_true());
    add_piece(&body->pieces, str_of(body->head));
    add_piece(&body->pieces, empty ? (struct str){0} : STR(","));
    add_piece(&body->pieces, form->chat_template ? STR("\"prompt\":\"") : STR("\"messages\":["));
    for (size_t i = 0; i < prompt.count; i++)
        add_piece(&body->pieces, prompt.pieces[i]);
    add_piece(&body->pieces, form->chat_template ? STR("\"}") : STR("]}"));
    template_pieces_finish(&prompt);

    body->ends = mem_calloc(body->pieces.count, sizeof *body->ends);
    uint64_t end = 0;
    for (size_t i = 0; i < body->pieces.count; i++)
        body->ends[i] = end += body->pieces.pieces[i].len;
}

void request_body_finish(struct request_body *body)
{
    if (!body)
        return;
    json_decref(body->fields);
    free(body->head);
    free(body->ends);
    template_pieces_finish(&body->pieces);
    *body = (struct request_body){0};
}

uint64_t request_body_length(const struct request_body *body)
{
    return body->pieces.count ? body->ends[body->pieces.count - 1] : 0;
}

size_t request_body_read(void *user, uint64_t offset, char *out, size_t size)
{
    struct request_body *body = user;
    if (body->at && offset < body->ends[body->at - 1])
        body->at = 0;
    size_t written = 0;
    while (written < size && body->at < body->pieces.count) {
        uint64_t end = body->ends[body->at];
        if (offset >= end) {
            body->at++;
            continue;
        }
        struct str piece = body->pieces.pieces[body->at];
        size_t from = (size_t)(offset - (end - piece.len)), count = piece.len - from;
        if (count > size - written)
            count = size - written;
        memcpy(out + written, piece.data + from, count);
        written += count;
        offset += count;
    }
    if (body->at == body->pieces.count && body->at)
        body->at--;
    return written;
}

struct http_body request_body_reader(struct request_body *body)
{
    body->at = 0;
    return (struct http_body){request_body_length(body), request_body_read, body};
}
