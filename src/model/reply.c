#include "model/reply.h"

#include <stdlib.h>
#include <string.h>

#include "core/lenient_json.h"
#include "core/mem.h"

#define OPEN_TAG  STR("<think>")
#define CLOSE_TAG STR("</think>")

/* A number of tokens above this is made up, and sums of them may not overflow. */
#define MAX_COUNT (INT64_C(1) << 40)

void reply_init(struct reply *reply, void (*text)(void *user, struct str text), void *user)
{
    *reply = (struct reply){.text = text, .user = user, .usage = {-1, -1, -1, -1}};
    buf_init(&reply->held, REPLY_MAX_TEXT);
    reply_frame_init(&reply->frame);
}

void reply_finish(struct reply *reply)
{
    if (!reply)
        return;
    for (size_t i = 0; i < reply->n_calls; i++) {
        free(reply->calls[i].id);
        buf_finish(&reply->calls[i].name);
        buf_finish(&reply->calls[i].arguments);
    }
    free(reply->calls);
    free(reply->served_model);
    json_decref(reply->error);
    buf_finish(&reply->held);
    reply_frame_finish(&reply->frame);
    *reply = (struct reply){0};
}

static void write_text(struct reply *reply, struct str text)
{
    if (!text.len)
        return;
    for (size_t i = 0; i < text.len; i++)
        reply->text_bytes += !ascii_is_space(text.data[i]);
    reply->last = text.data[text.len - 1];
    reply->text(reply->user, text);
}

/* FNV-1a over everything but white space, so that two writings of the same thought agree. */
static void hash_text(uint64_t *hash, uint64_t *bytes, struct str text)
{
    if (!*bytes)
        *hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < text.len; i++) {
        if (ascii_is_space(text.data[i]))
            continue;
        *hash = (*hash ^ (unsigned char)text.data[i]) * 0x100000001b3u;
        ++*bytes;
    }
}

/* Whether `text` could become `tag` when more comes. */
static bool is_partial(struct str text, struct str tag)
{
    return text.len < tag.len && str_starts_with(tag, text);
}

/* ---- thought from a field of its own ---- */

/* Writes thought, but newlines at its end only when more follows: the closing tag brings its own. */
static void write_thought(struct reply *reply, struct str text)
{
    if (reply->state == REPLY_START) {
        while (text.len && (text.data[0] == '\n' || text.data[0] == '\r'))
            text = str_slice(text, 1, text.len);
        if (!text.len)
            return;
        write_text(reply, STR("<think>\n"));
        reply->state = REPLY_THOUGHT;
    }
    hash_text(&reply->hash, &reply->hashed_bytes, text);
    struct str solid = text;
    while (solid.len && solid.data[solid.len - 1] == '\n')
        solid.len--;
    if (solid.len)
        for (; reply->newlines; reply->newlines--)
            write_text(reply, STR("\n"));
    write_text(reply, solid);
    reply->newlines += text.len - solid.len;
}

/* Thought as the field gives it. Some servers leave the tags in it; they would end it early, so they go. */
static void feed_thought(struct reply *reply, struct str text)
{
    if (buf_append_str(&reply->held, text) != STATUS_OK) {
        write_thought(reply, buf_str(&reply->held));
        buf_reset(&reply->held);
        write_thought(reply, text);
        return;
    }
    struct str rest = buf_str(&reply->held);
    for (;;) {
        size_t at = str_find_char(rest, '<', 0);
        write_thought(reply, str_slice(rest, 0, at));
        rest = str_slice(rest, at, rest.len);
        if (!rest.len || is_partial(rest, OPEN_TAG) || is_partial(rest, CLOSE_TAG))
            break;
        size_t skip = str_starts_with(rest, OPEN_TAG)    ? OPEN_TAG.len
                      : str_starts_with(rest, CLOSE_TAG) ? CLOSE_TAG.len
                                                         : 0;
        if (!skip)
            write_thought(reply, str_slice(rest, 0, 1));
        rest = str_slice(rest, skip ? skip : 1, rest.len);
    }
    buf_consume(&reply->held, reply->held.len - rest.len);
}

static void end_thought(struct reply *reply)
{
    write_thought(reply, buf_str(&reply->held));
    buf_reset(&reply->held);
    reply->newlines = 0;
    write_text(reply, STR("\n</think>\n\n"));
    reply->state = REPLY_CONTENT_HEAD;
}

/* ---- content ---- */

static void feed_content(struct reply *reply, struct str text);

/* Content that begins with <think> behind thought from a field: kept back until </think>, and dropped when it is the
 * same. */
static void feed_repeated(struct reply *reply, struct str text)
{
    size_t seen = text.len && reply->held.len > CLOSE_TAG.len ? reply->held.len - CLOSE_TAG.len : 0;
    if (buf_append_str(&reply->held, text) != STATUS_OK) {
        reply->state = REPLY_CONTENT;
        write_text(reply, buf_str(&reply->held));
        buf_reset(&reply->held);
        write_text(reply, text);
        return;
    }
    struct str held = buf_str(&reply->held);
    size_t close = str_find(held, CLOSE_TAG, seen);
    if (close == STR_NONE)
        return;
    uint64_t hash = 0, bytes = 0;
    hash_text(&hash, &bytes, str_slice(held, OPEN_TAG.len, close));
    struct buf all = reply->held;
    buf_init(&reply->held, REPLY_MAX_TEXT);
    if (bytes == reply->hashed_bytes && hash == reply->hash) {
        reply->state = REPLY_CONTENT_HEAD;
        reply->hashed_bytes = 0;
        feed_content(reply, str_slice(held, close + CLOSE_TAG.len, held.len));
    } else {
        reply->state = REPLY_CONTENT;
        write_text(reply, held);
    }
    buf_finish(&all);
}

/* The first bytes of content: white space behind our own </think> goes, and <think> may be a repetition. */
static void feed_content_head(struct reply *reply, struct str text)
{
    if (!reply->held.len)
        text = str_trim_start(text);
    if (buf_append_str(&reply->held, text) != STATUS_OK)
        return;
    struct str held = buf_str(&reply->held);
    if (!held.len || is_partial(held, OPEN_TAG))
        return;
    if (reply->hashed_bytes && str_starts_with(held, OPEN_TAG)) {
        reply->state = REPLY_REPEATED;
        feed_repeated(reply, (struct str){0});
        return;
    }
    reply->state = REPLY_CONTENT;
    reply->content_thought = str_starts_with(held, OPEN_TAG);
    write_text(reply, held);
    buf_reset(&reply->held);
}

static void feed_content(struct reply *reply, struct str text)
{
    if (!text.len)
        return;
    switch (reply->state) {
    case REPLY_THOUGHT:
        if (!str_trim(text).len) /* an empty content field beside the thought, as "\n" */
            return;
        end_thought(reply);
        feed_content_head(reply, text);
        return;
    case REPLY_CONTENT_HEAD:
        feed_content_head(reply, text);
        return;
    case REPLY_REPEATED:
        feed_repeated(reply, text);
        return;
    case REPLY_START:
        /* White space alone does not begin the content: thought may still come. */
        if (buf_append_str(&reply->held, text) != STATUS_OK || !str_trim(buf_str(&reply->held)).len)
            return;
        reply->state = REPLY_CONTENT;
        reply->content_thought = str_starts_with(str_trim_start(buf_str(&reply->held)), OPEN_TAG);
        write_text(reply, buf_str(&reply->held));
        buf_reset(&reply->held);
        return;
    case REPLY_CONTENT:
        write_text(reply, text);
        return;
    }
}

/* ---- the parts of a message ---- */

static void take_thought(struct reply *reply, enum reply_field field, struct str text)
{
    if (!text.len || (reply->field != REPLY_FIELD_NONE && reply->field != field))
        return;
    if (reply->state == REPLY_START) {
        if (reply->field == REPLY_FIELD_NONE)
            buf_reset(&reply->held); /* white space before the thought */
    } else if (reply->state != REPLY_THOUGHT) {
        if (reply->content_thought || reply->state != REPLY_CONTENT)
            return; /* the content has it already */
        reply->state = REPLY_START;
        if (reply->last != '\n')
            write_text(reply, STR("\n"));
    }
    reply->field = field;
    feed_thought(reply, text);
}

/* Text of a list of parts: [{"type": "text", "text": …}, …]. */
static void take_parts(struct reply *reply, const json_t *parts, bool thought)
{
    size_t i;
    json_t *part;
    json_array_foreach (parts, i, part) {
        struct str type = json_get_str(part, "type"), text = json_get_str(part, "text");
        const json_t *thinking = json_object_get(part, "thinking");
        if (json_is_string(part)) /* not in any specification, but cheap to take */
            text = str_make(json_string_value(part), json_string_length(part));
        if (json_is_array(thinking))
            take_parts(reply, thinking, true);
        else if (json_is_string(thinking))
            take_thought(reply, REPLY_PARTS, json_get_str(part, "thinking"));
        else if (thought || str_equal(type, STR("thinking")) || str_equal(type, STR("reasoning")))
            take_thought(reply, REPLY_PARTS, text);
        else
            feed_content(reply, text);
    }
}

static enum reply_field field_of(const char *key)
{
    static const struct {
        const char *key;
        enum reply_field field;
    } fields[] = {
        {"reasoning_content", REPLY_REASONING_CONTENT}, {"reasoning", REPLY_REASONING}, {"thinking", REPLY_THINKING}};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (strcmp(key, fields[i].key) == 0)
            return fields[i].field;
    return REPLY_FIELD_NONE;
}

static void take_thought_fields(struct reply *reply, const json_t *message)
{
    static const char *const keys[] = {"reasoning_content", "reasoning", "thinking"};
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
        take_thought(reply, field_of(keys[k]), json_get_str(message, keys[k]));
    size_t i;
    json_t *detail;
    json_array_foreach (json_object_get(message, "reasoning_details"), i, detail) {
        struct str text = json_get_str(detail, "text");
        take_thought(reply, REPLY_DETAILS, text.len ? text : json_get_str(detail, "summary"));
    }
}

static bool is_whole(const struct reply_tool_call *call)
{
    json_t *arguments;
    bool whole = json_parse(buf_str(&call->arguments), &arguments, NULL) == STATUS_OK;
    if (whole)
        json_decref(arguments);
    return whole;
}

/* Where a piece without an index belongs: a new id begins a new call, and so does a name behind a call that is whole.
 */
static size_t place_of(const struct reply *reply, const json_t *piece, const char *id)
{
    bool named = json_get_str(json_object_get(piece, "function"), "name").len > 0;
    if (!reply->n_calls)
        return 0;
    const struct reply_tool_call *last = &reply->calls[reply->n_calls - 1];
    bool begins = (id && *id && (!last->id || strcmp(id, last->id) != 0)) || (named && is_whole(last));
    return begins ? reply->n_calls : reply->n_calls - 1;
}

/* The call that a piece belongs to. Servers that give index 0 to every call begin a new one with a new id. NULL when
 * there are too many. */
static struct reply_tool_call *find_call(struct reply *reply, const json_t *piece)
{
    int64_t given = json_get_int(piece, "index", -1);
    const char *id = json_get_string(piece, "id");
    size_t index = given >= 0 ? (size_t)given : place_of(reply, piece, id);
    if (index < reply->n_calls && id && *id && reply->calls[index].id && strcmp(id, reply->calls[index].id) != 0) {
        for (index = 0; index < reply->n_calls; index++)
            if (reply->calls[index].id && strcmp(id, reply->calls[index].id) == 0)
                break;
    }
    if (index >= REPLY_MAX_TOOL_CALLS)
        return NULL;
    while (reply->n_calls <= index) {
        reply->calls = mem_grow(reply->calls, reply->n_calls, &reply->calls_capacity, sizeof *reply->calls);
        struct reply_tool_call *call = &reply->calls[reply->n_calls++];
        *call = (struct reply_tool_call){0};
        buf_init(&call->name, 4096);
        buf_init(&call->arguments, REPLY_MAX_TEXT);
    }
    struct reply_tool_call *call = &reply->calls[index];
    call->used = true;
    if (id && *id && !call->id)
        call->id = mem_strdup(id);
    return call;
}

static void take_call(struct reply *reply, const json_t *piece, const json_t *function)
{
    struct reply_tool_call *call = find_call(reply, piece);
    if (!call || !json_is_object(function))
        return;
    const json_t *arguments = json_object_get(function, "arguments");
    enum status status = STATUS_OK;
    struct str name = json_get_str(function, "name");
    if (!str_equal(name, buf_str(&call->name))) /* some servers send the name with every piece */
        status = buf_append_str(&call->name, name);
    if (status == STATUS_OK && json_is_string(arguments))
        status = buf_append_str(&call->arguments, json_get_str(function, "arguments"));
    else if (status == STATUS_OK && json_is_object(arguments))
        status = json_write(&call->arguments, arguments);
    if (status != STATUS_OK)
        reply->end = REPLY_ABORTED;
}

static void take_message(struct reply *reply, const json_t *message)
{
    if (!json_is_object(message))
        return;
    take_thought_fields(reply, message);
    const json_t *content = json_object_get(message, "content");
    if (json_is_array(content))
        take_parts(reply, content, false);
    else
        feed_content(reply, json_get_str(message, "content"));
    feed_content(reply, json_get_str(message, "refusal"));
    size_t i;
    json_t *piece;
    json_array_foreach (json_object_get(message, "tool_calls"), i, piece)
        take_call(reply, piece, json_object_get(piece, "function"));
    if (json_is_object(json_object_get(message, "function_call")))
        take_call(reply, message, json_object_get(message, "function_call"));
}

/* ---- what surrounds it ---- */

static void take_reason(struct reply *reply, const char *word)
{
    static const struct {
        const char *word;
        enum reply_end end;
        enum finish_reason reason;
    } words[] = {
        {"length", REPLY_FINISHED, FINISH_LENGTH},
        {"max_tokens", REPLY_FINISHED, FINISH_LENGTH},
        {"model_length", REPLY_FINISHED, FINISH_LENGTH},
        {"content_filter", REPLY_FINISHED, FINISH_CONTENT_FILTER},
        {"content-filter", REPLY_FINISHED, FINISH_CONTENT_FILTER},
        {"sensitive", REPLY_FINISHED, FINISH_CONTENT_FILTER},
        {"safety", REPLY_FINISHED, FINISH_CONTENT_FILTER},
        {"recitation", REPLY_FINISHED, FINISH_CONTENT_FILTER},
        {"prohibited_content", REPLY_FINISHED, FINISH_CONTENT_FILTER},
        {"abort", REPLY_ABORTED, FINISH_BROKEN},
        {"aborted", REPLY_ABORTED, FINISH_BROKEN},
        {"error", REPLY_ABORTED, FINISH_BROKEN},
        {"cancelled", REPLY_ABORTED, FINISH_BROKEN},
        {"canceled", REPLY_ABORTED, FINISH_BROKEN},
        {"network_error", REPLY_ABORTED, FINISH_BROKEN},
        {"insufficient_system_resource", REPLY_ABORTED, FINISH_BROKEN},
    };
    reply->end = REPLY_FINISHED;
    reply->reason = FINISH_STOP;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (str_equal_ascii_nocase(str_of(word), str_of(words[i].word))) {
            reply->end = words[i].end;
            reply->reason = words[i].reason;
        }
    }
}

/* A later number wins, but not a 0 over a count: some servers send zeroes with every event but one. */
static void take_count(int64_t *count, const json_t *object, const char *key)
{
    int64_t value = json_get_int(object, key, -1);
    if (value > MAX_COUNT)
        return;
    if (value > 0 || (value == 0 && *count < 0))
        *count = value;
}

static void take_usage(struct usage *usage, const json_t *object)
{
    if (!json_is_object(object))
        return;
    take_count(&usage->prompt, object, "prompt_tokens");
    take_count(&usage->prompt, object, "input_tokens");
    take_count(&usage->completion, object, "completion_tokens");
    take_count(&usage->completion, object, "output_tokens");
    take_count(&usage->cached, object, "cached_tokens");
    take_count(&usage->cached, object, "prompt_cache_hit_tokens");
    take_count(&usage->cached, json_object_get(object, "prompt_tokens_details"), "cached_tokens");
    take_count(&usage->cached, json_object_get(object, "input_tokens_details"), "cached_tokens");
    take_count(&usage->reasoning, object, "reasoning_tokens");
    take_count(&usage->reasoning, json_object_get(object, "completion_tokens_details"), "reasoning_tokens");
    take_count(&usage->reasoning, json_object_get(object, "output_tokens_details"), "reasoning_tokens");
}

/* llama.cpp's own counts, for when it gives no usage: cache_n + prompt_n tokens of prompt. */
static void take_timings(struct usage *usage, const json_t *timings)
{
    int64_t prompt = json_get_int(timings, "prompt_n", -1), cached = json_get_int(timings, "cache_n", -1);
    if (usage->prompt >= 0 || prompt < 0 || cached < 0 || prompt > MAX_COUNT || cached > MAX_COUNT)
        return;
    usage->prompt = prompt + cached;
    usage->cached = cached;
    take_count(&usage->completion, timings, "predicted_n");
}

static bool take_error(struct reply *reply, const json_t *holder)
{
    const json_t *error = json_object_get(holder, "error");
    bool is_error = (error && !json_is_null(error) && !json_is_false(error)) ||
                    str_equal(json_get_str(holder, "object"), STR("error")) ||
                    str_equal(json_get_str(holder, "type"), STR("error"));
    if (is_error && !reply->error)
        reply->error = json_deep_copy(holder);
    return is_error;
}

static void take_choice(struct reply *reply, const json_t *choice)
{
    take_message(reply, json_object_get(choice, "delta"));
    take_message(reply, json_object_get(choice, "message"));
    feed_content(reply, json_get_str(choice, "text"));
    take_usage(&reply->usage, json_object_get(choice, "usage"));
    const char *reason = json_get_string(choice, "finish_reason");
    if (reason && *reason)
        take_reason(reply, reason);
}

bool reply_object(struct reply *reply, const json_t *object)
{
    if (!json_is_object(object))
        return false;
    if (take_error(reply, object))
        return true;
    const char *model = json_get_string(object, "model");
    if (model && *model && !reply->served_model)
        reply->served_model = mem_strdup(model);
    take_usage(&reply->usage, json_object_get(object, "usage"));
    take_usage(&reply->usage, json_object_get(json_object_get(object, "x_groq"), "usage"));
    const json_t *choices = json_object_get(object, "choices"), *timings = json_object_get(object, "timings");
    size_t i;
    json_t *choice;
    json_array_foreach (choices, i, choice) {
        if (json_get_int(choice, "index", 0) != 0)
            continue;
        if (take_error(reply, choice))
            return true;
        take_choice(reply, choice);
    }
    take_timings(&reply->usage, timings);
    return json_is_array(choices) || json_object_get(object, "usage") || timings;
}

/* Servers that cut text between tokens, not characters, send halves of them: lone surrogates, stray bytes. Each becomes
 * U+FFFD; any other fault of the JSON is one of the event. */
static bool parse_broken_event(struct str event, json_t **object)
{
    const uint32_t half_characters = LENIENT_BAD_ESCAPE | LENIENT_INVALID_UTF8;
    struct lenient_result result;
    if (lenient_json_parse(event, LENIENT_NO_COMPLETION, object, &result, NULL) != STATUS_OK)
        return false;
    if ((result.repairs & ~half_characters) == 0 && str_trim(str_slice(event, result.consumed, event.len)).len == 0)
        return true;
    json_decref(*object);
    return false;
}

bool reply_event(struct reply *reply, struct str event)
{
    struct str token;
    if (reply->end == REPLY_OPEN && reply_frame_match(&reply->frame, event, &token)) {
        enum reply_field field = field_of(reply->frame.key);
        if (field == REPLY_FIELD_NONE)
            feed_content(reply, token);
        else
            take_thought(reply, field, token);
        return true;
    }
    json_t *object;
    bool strict = json_parse(event, &object, NULL) == STATUS_OK;
    if (!strict && !parse_broken_event(event, &object))
        return false;
    if (reply_object(reply, object) && !reply->error && strict)
        reply_frame_learn(&reply->frame, event, object);
    json_decref(object);
    return true;
}

/* Writes one native call as the model would have written it. A `<` can stand only inside strings of valid JSON; escaped
 * there, no argument can look like a tag. */
static void write_call(struct reply *reply, const struct reply_tool_call *call)
{
    struct buf text;
    buf_init(&text, BUF_UNBOUNDED);
    if (reply->last && reply->last != '\n')
        buf_add_char(&text, '\n');
    buf_add_text(&text, "<tool_call>\n{\"name\": \"");
    if (json_escape(&text, buf_str(&call->name)) != STATUS_OK)
        abort();
    buf_add_text(&text, "\", \"arguments\": ");
    struct str arguments = str_trim(buf_str(&call->arguments));
    json_t *parsed = NULL;
    if (!arguments.len)
        arguments = STR("{}");
    if (json_parse(arguments, &parsed, NULL) == STATUS_OK) {
        for (size_t i = 0; i < arguments.len; i++) {
            if (arguments.data[i] == '<')
                buf_add_text(&text, "\\u003c");
            else
                buf_add_char(&text, arguments.data[i]);
        }
        json_decref(parsed);
    } else {
        buf_add(&text, arguments);
    }
    buf_add_text(&text, "}\n</tool_call>");
    write_text(reply, buf_str(&text));
    buf_finish(&text);
}

void reply_close(struct reply *reply)
{
    bool has_calls = false;
    for (size_t i = 0; i < reply->n_calls; i++)
        has_calls = has_calls || (reply->calls[i].used && reply->calls[i].name.len);
    if (reply->state == REPLY_THOUGHT && has_calls) {
        end_thought(reply);
    } else if (reply->state == REPLY_THOUGHT) {
        write_thought(reply, buf_str(&reply->held));
    } else if (reply->state != REPLY_START) {
        write_text(reply, buf_str(&reply->held));
    }
    buf_reset(&reply->held);
    for (size_t i = 0; i < reply->n_calls; i++)
        if (reply->calls[i].used && reply->calls[i].name.len)
            write_call(reply, &reply->calls[i]);
}
