#include "model/reply_frame.h"

#include <string.h>

#include "core/utf8.h"

void reply_frame_init(struct reply_frame *frame)
{
    *frame = (struct reply_frame){0};
    buf_init(&frame->before, REPLY_FRAME_MAX);
    buf_init(&frame->behind, REPLY_FRAME_MAX);
}

void reply_frame_finish(struct reply_frame *frame)
{
    if (!frame)
        return;
    buf_finish(&frame->before);
    buf_finish(&frame->behind);
    *frame = (struct reply_frame){0};
}

/* Whether a member has nothing to say. */
static bool is_blank(const json_t *value)
{
    return !value || json_is_null(value) || (json_is_string(value) && json_string_length(value) == 0) ||
           (json_is_array(value) && json_array_size(value) == 0);
}

/* The one member of `holder` that says something, when it is a text that streams; NULL otherwise. */
static const char *lone_key(const json_t *holder)
{
    static const char *const keys[] = {"content", "reasoning_content", "reasoning", "text"};
    const char *found = NULL, *key;
    const json_t *value;
    for (void *i = json_object_iter((json_t *)holder); i; i = json_object_iter_next((json_t *)holder, i)) {
        key = json_object_iter_key(i);
        value = json_object_iter_value(i);
        if (is_blank(value) || strcmp(key, "role") == 0)
            continue;
        const char *known = NULL;
        for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
            if (strcmp(key, keys[k]) == 0)
                known = keys[k];
        if (found || !known || !json_is_string(value))
            return NULL;
        found = known;
    }
    return found;
}

/* Whether nothing in the event matters but the token. */
static const char *token_key(const json_t *object, const json_t **holder)
{
    const json_t *choices = json_object_get(object, "choices"), *choice = json_array_get(choices, 0);
    const json_t *delta = json_object_get(choice, "delta");
    bool plain = json_array_size(choices) == 1 && is_blank(json_object_get(object, "error")) &&
                 is_blank(json_object_get(object, "usage")) && !json_object_get(object, "x_groq") &&
                 !json_object_get(object, "timings") && json_get_int(choice, "index", 0) == 0 &&
                 is_blank(json_object_get(choice, "finish_reason")) && is_blank(json_object_get(choice, "error")) &&
                 is_blank(json_object_get(choice, "usage")) && !json_object_get(choice, "message");
    if (!plain)
        return NULL;
    if (delta) {
        *holder = delta;
        return is_blank(json_object_get(choice, "text")) ? lone_key(delta) : NULL;
    }
    *holder = choice;
    return is_blank(json_object_get(choice, "text")) ? NULL : "text";
}

/* Where the text of `"key": "` begins; STR_NONE unless that stands in the event exactly once. */
static size_t find_value(struct str event, const char *key)
{
    size_t found = STR_NONE, length = strlen(key);
    for (size_t at = 0; (at = str_find(event, str_of(key), at)) != STR_NONE; at += length) {
        size_t next = at + length;
        if (!at || event.data[at - 1] != '"' || next >= event.len || event.data[next] != '"')
            continue;
        if (found != STR_NONE)
            return STR_NONE;
        struct str rest = str_trim_start(str_slice(event, next + 1, event.len));
        if (!str_starts_with(rest, STR(":")))
            return STR_NONE;
        rest = str_trim_start(str_slice(rest, 1, rest.len));
        if (!str_starts_with(rest, STR("\"")))
            return STR_NONE;
        found = (size_t)(rest.data - event.data) + 1;
    }
    return found;
}

void reply_frame_learn(struct reply_frame *frame, struct str event, const json_t *object)
{
    const json_t *holder = NULL;
    const char *key = event.len <= REPLY_FRAME_MAX ? token_key(object, &holder) : NULL;
    size_t from = key ? find_value(event, key) : STR_NONE;
    if (from == STR_NONE)
        return;
    /* The token must be written as it is, so that its end is known for certain. */
    struct str token = json_get_str(holder, key), rest = str_slice(event, from, event.len);
    if (!str_starts_with(rest, token) || rest.len <= token.len || rest.data[token.len] != '"')
        return;
    buf_reset(&frame->before);
    buf_reset(&frame->behind);
    frame->key = NULL;
    if (buf_append_str(&frame->before, str_slice(event, 0, from)) == STATUS_OK &&
        buf_append_str(&frame->behind, str_slice(rest, token.len, rest.len)) == STATUS_OK)
        frame->key = key;
}

bool reply_frame_match(const struct reply_frame *frame, struct str event, struct str *token)
{
    struct str before = buf_str(&frame->before), behind = buf_str(&frame->behind);
    if (!frame->key || event.len <= before.len + behind.len || !str_starts_with(event, before) ||
        !str_ends_with(event, behind))
        return false;
    struct str middle = str_slice(event, before.len, event.len - behind.len);
    bool ascii = true;
    for (size_t i = 0; i < middle.len; i++) {
        unsigned char c = (unsigned char)middle.data[i];
        if (c < 0x20 || c == '"' || c == '\\')
            return false;
        ascii &= c < 0x80;
    }
    if (!ascii && !utf8_is_valid(middle))
        return false;
    *token = middle;
    return true;
}
