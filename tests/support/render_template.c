/* Writes conversations in named chat templates, for flow tests that compare them with the models' own Jinja templates.
 * Reads lines of JSON: {"template", "date", "thought_field", "messages": [{"role", "content", "reasoning_content"}]},
 * or
 * {"detect": a Jinja text}, or {"learn": [renderings of the probes, null where there is none]}, or {"probes": true}.
 * Writes a line of JSON for each. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/json.h"
#include "core/mem.h"
#include "protocol/template.h"
#include "protocol/template_internal.h"
#include "protocol/template_learn.h"

static struct str escaped(struct str text)
{
    struct buf wire;
    buf_init(&wire, BUF_UNBOUNDED);
    if (json_escape(&wire, text) != STATUS_OK)
        abort();
    size_t len = wire.len;
    return str_make(buf_take(&wire), len);
}

static enum message_role role_of(const char *name)
{
    enum message_role role = MESSAGE_SYSTEM;
    while (strcmp(message_role_name(role), name) != 0)
        role++;
    return role;
}

static json_t *render(const struct chat_template *chat_template, const json_t *messages, struct str date)
{
    struct prompt_view view;
    prompt_view_init(&view);
    size_t index;
    json_t *message;
    json_array_foreach ((json_t *)messages, index, message) {
        prompt_view_add(&view, role_of(json_get_string(message, "role")), escaped(json_get_str(message, "content")));
        view.messages[index].wire_thought = escaped(json_get_str(message, "reasoning_content"));
    }
    const struct template_options options = {.chat = true, .date = date};
    struct template_pieces pieces;
    struct buf text;
    template_pieces_init(&pieces);
    buf_init(&text, BUF_UNBOUNDED);
    template_render(chat_template, &view, &options, &pieces);
    for (size_t i = 0; i < pieces.count; i++)
        if (json_unescape(&text, pieces.pieces[i]) != STATUS_OK)
            abort();
    json_t *answer = json_pack("{s:o}", "text", json_from_str(buf_str(&text)));
    buf_finish(&text);
    template_pieces_finish(&pieces);
    for (size_t i = 0; i < view.count; i++) {
        free((char *)view.messages[i].wire.data);
        free((char *)view.messages[i].wire_thought.data);
    }
    prompt_view_finish(&view);
    return answer;
}

static json_t *detect(struct str jinja)
{
    const struct chat_template *found = template_detect(jinja);
    char fingerprint[24];
    snprintf(fingerprint, sizeof fingerprint, "0x%016llx", (unsigned long long)template_fingerprint(jinja));
    return json_pack("{s:s?, s:s}", "name", found ? template_name(found) : NULL, "fingerprint", fingerprint);
}

static json_t *probes(void)
{
    json_t *answer = json_array();
    for (size_t i = 0; i < TEMPLATE_PROBE_COUNT; i++) {
        const struct prompt_view *view = template_probe(i);
        json_t *messages = json_array();
        for (size_t k = 0; k < view->count; k++) {
            struct buf text;
            buf_init(&text, BUF_UNBOUNDED);
            if (json_unescape(&text, view->messages[k].wire) != STATUS_OK)
                abort();
            json_push(messages, json_pack("{s:s, s:o}", "role", message_role_name(view->messages[k].role), "content",
                                          json_from_str(buf_str(&text))));
            buf_finish(&text);
        }
        json_push(answer, messages);
    }
    return answer;
}

/* Learns a template, sends it through its JSON form and renders the messages with it. */
static json_t *learn(const json_t *request)
{
    struct str texts[TEMPLATE_PROBE_COUNT] = {{0}};
    for (size_t i = 0; i < TEMPLATE_PROBE_COUNT; i++) {
        const json_t *text = json_array_get(json_object_get(request, "learn"), i);
        if (json_is_string(text))
            texts[i] = str_make(json_string_value(text), json_string_length(text));
    }
    const struct chat_template *learnt, *again;
    struct error error;
    if (template_learn(texts, &learnt, &error) != STATUS_OK)
        return json_pack("{s:n, s:s}", "name", "error", error.message);
    json_t *json = template_to_json(learnt);
    if (template_from_json(json, &again, &error) != STATUS_OK)
        abort();
    json_t *answer = render(again, json_object_get(request, "messages"), json_get_str(request, "date"));
    json_put_str(answer, "name", str_of(template_name(again)));
    json_decref(json);
    template_destroy(learnt);
    template_destroy(again);
    return answer;
}

static json_t *answer(const json_t *request)
{
    if (json_object_get(request, "detect"))
        return detect(json_get_str(request, "detect"));
    if (json_object_get(request, "learn"))
        return learn(request);
    if (json_object_get(request, "probes"))
        return probes();
    const struct chat_template *chat_template = template_find(json_get_str(request, "template"));
    return chat_template ? render(chat_template, json_object_get(request, "messages"), json_get_str(request, "date"))
                         : json_pack("{s:n}", "text");
}

int main(void)
{
    char *line = NULL;
    size_t size = 0;
    for (ssize_t len; (len = getline(&line, &size, stdin)) > 0;) {
        json_t *request;
        struct error error;
        if (json_parse(str_make(line, (size_t)len), &request, &error) != STATUS_OK)
            return 2;
        json_t *reply = answer(request);
        char *text = json_to_text(reply);
        puts(text);
        free(text);
        json_decref(reply);
        json_decref(request);
    }
    free(line);
    return 0;
}
