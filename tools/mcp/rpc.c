#include "tools/mcp/rpc.h"

#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/utf8.h"
#include "tools/common/line.h"

#define MAX_ERROR_BYTES 600
#define MAX_VALUES      ((size_t)500000)

/* Numbers that were forgotten and may still be answered: without them a late answer would look like garbage. */
#define N_FORGOTTEN 64

struct waiting {
    int64_t id;
    mcp_reply_fn done;
    void *user;
};

struct mcp_rpc {
    struct mcp_rpc_options options;
    int64_t last_id;
    struct waiting *waiting;
    size_t n_waiting, capacity;
    int64_t forgotten[N_FORGOTTEN]; /* a ring */
    size_t next_forgotten;
};

struct mcp_rpc *mcp_rpc_create(const struct mcp_rpc_options *options)
{
    struct mcp_rpc *rpc = mem_zalloc(sizeof *rpc);
    rpc->options = *options;
    return rpc;
}

void mcp_rpc_destroy(struct mcp_rpc *rpc)
{
    if (rpc == NULL)
        return;
    free(rpc->waiting);
    free(rpc);
}

/* ---- what goes out ---- */

static json_t *message_create(const char *method, json_t *params)
{
    json_t *message = json_object();
    json_put_str(message, "jsonrpc", STR("2.0"));
    if (method != NULL)
        json_put_str(message, "method", str_of(method));
    if (params != NULL)
        json_put(message, "params", params);
    return message;
}

static void send(struct mcp_rpc *rpc, json_t *message, int64_t id, const char *method)
{
    char *text = json_to_text(message);
    rpc->options.send(rpc->options.user, str_of(text), id, method, json_object_get(message, "params"));
    free(text);
    json_decref(message);
}

int64_t mcp_rpc_next_id(const struct mcp_rpc *rpc)
{
    return rpc->last_id + 1;
}

int64_t mcp_rpc_request(struct mcp_rpc *rpc, const char *method, json_t *params, mcp_reply_fn done, void *user)
{
    int64_t id = ++rpc->last_id;
    rpc->waiting = mem_grow(rpc->waiting, rpc->n_waiting, &rpc->capacity, sizeof *rpc->waiting);
    rpc->waiting[rpc->n_waiting++] = (struct waiting){.id = id, .done = done, .user = user};
    json_t *message = message_create(method, params);
    json_put(message, "id", json_integer(id));
    send(rpc, message, id, method);
    return id;
}

void mcp_rpc_notify(struct mcp_rpc *rpc, const char *method, json_t *params)
{
    send(rpc, message_create(method, params), 0, method);
}

static void answer(struct mcp_rpc *rpc, const json_t *id, const char *key, json_t *value)
{
    json_t *message = message_create(NULL, NULL);
    json_put(message, "id", json_deep_copy(id));
    json_put(message, key, value);
    send(rpc, message, 0, NULL);
}

void mcp_rpc_respond(struct mcp_rpc *rpc, const json_t *id, json_t *result)
{
    answer(rpc, id, "result", result);
}

void mcp_rpc_refuse(struct mcp_rpc *rpc, const json_t *id, int code, const char *message)
{
    json_t *error = json_object();
    json_put(error, "code", json_integer(code));
    json_put_str(error, "message", str_of(message));
    answer(rpc, id, "error", error);
}

/* ---- requests that wait ---- */

/* Takes the request off the list; false when it does not wait. */
static bool take_waiting(struct mcp_rpc *rpc, int64_t id, struct waiting *out)
{
    for (size_t i = 0; i < rpc->n_waiting; i++) {
        if (rpc->waiting[i].id != id)
            continue;
        *out = rpc->waiting[i];
        rpc->waiting[i] = rpc->waiting[--rpc->n_waiting];
        return true;
    }
    return false;
}

bool mcp_rpc_waits(const struct mcp_rpc *rpc, int64_t id)
{
    for (size_t i = 0; i < rpc->n_waiting; i++) {
        if (rpc->waiting[i].id == id)
            return true;
    }
    return false;
}

void mcp_rpc_forget(struct mcp_rpc *rpc, int64_t id)
{
    struct waiting unused;
    if (!take_waiting(rpc, id, &unused))
        return;
    rpc->forgotten[rpc->next_forgotten++ % N_FORGOTTEN] = id;
}

static bool was_forgotten(const struct mcp_rpc *rpc, int64_t id)
{
    for (size_t i = 0; i < N_FORGOTTEN; i++) {
        if (rpc->forgotten[i] == id)
            return true;
    }
    return false;
}

void mcp_rpc_fail(struct mcp_rpc *rpc, int64_t id, enum mcp_fate fate, const char *message)
{
    struct waiting request;
    if (!take_waiting(rpc, id, &request))
        return;
    const struct mcp_reply reply = {.fate = fate, .message = message};
    request.done(request.user, &reply);
}

void mcp_rpc_fail_all(struct mcp_rpc *rpc, enum mcp_fate fate, const char *message)
{
    int64_t last = rpc->last_id; /* those that a reply causes are not among them */
    for (size_t i = 0; i < rpc->n_waiting;) {
        if (rpc->waiting[i].id <= last) {
            mcp_rpc_fail(rpc, rpc->waiting[i].id, fate, message);
            i = 0; /* the list may have changed in every way */
        } else {
            i++;
        }
    }
}

/* ---- what comes in ---- */

/* Looks at a text before it is parsed: a parsed value takes many times the memory of "[1,1,1,…", so a message may hold
 * only so many values. NULL when it may be parsed, else what is wrong with it. */
static const char *too_much(struct str text)
{
    size_t depth = 0, values = 0;
    bool in_string = false;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.data[i];
        if (in_string) {
            i += c == '\\';
            in_string = c != '"';
            continue;
        }
        in_string = c == '"';
        values += c == ',' || c == ':' || c == '[' || c == '{';
        depth += c == '[' || c == '{';
        depth -= (c == ']' || c == '}') && depth > 0;
        if (depth > MCP_MAX_DEPTH)
            return "a message that is nested too deep";
    }
    return values > MAX_VALUES || text.len > MCP_MAX_MESSAGE ? "a message that is too large" : NULL;
}

static int64_t leading_number(struct str text)
{
    int64_t number = 0;
    for (size_t i = 0; i < text.len && i < 18 && ascii_is_digit(text.data[i]); i++)
        number = number * 10 + (text.data[i] - '0');
    return number;
}

/* The number of the request that a text would answer, found without parsing it; 0 when that cannot be told. */
static int64_t answered_id(struct str text)
{
    size_t depth = 0;
    int64_t id = 0;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.data[i];
        depth += c == '[' || c == '{';
        depth -= (c == ']' || c == '}') && depth > 0;
        if (c != '"')
            continue;
        struct str rest = str_slice(text, i, text.len);
        if (depth == 1 && str_starts_with(rest, STR("\"method\"")))
            return 0; /* it asks */
        if (depth == 1 && str_starts_with(rest, STR("\"id\""))) {
            struct str value = str_trim_start(str_slice(rest, 4, rest.len));
            if (str_starts_with(value, STR(":")))
                id = leading_number(str_trim_start(str_slice(value, 1, value.len)));
        }
        for (i++; i < text.len && text.data[i] != '"'; i++)
            i += text.data[i] == '\\';
    }
    return id;
}

static void garbage(struct mcp_rpc *rpc, const char *what)
{
    rpc->options.on_garbage(rpc->options.user, what);
}

static void take_answer(struct mcp_rpc *rpc, const json_t *message)
{
    const json_t *id = json_object_get(message, "id"), *result = json_object_get(message, "result");
    const json_t *error = json_object_get(message, "error");
    struct waiting request;
    if (!json_is_integer(id) || !take_waiting(rpc, json_integer_value(id), &request)) {
        if (!json_is_integer(id) || !was_forgotten(rpc, json_integer_value(id)))
            garbage(rpc, json_is_null(id) ? "an error that belongs to no request" : "an answer to no request");
        return;
    }
    struct mcp_reply reply = {.fate = MCP_ANSWERED, .result = result};
    char *text = NULL;
    if (json_is_object(error)) {
        struct str words = json_get_str(error, "message");
        text = line_make(words.len > 0 ? words : STR("it gave no reason"), MAX_ERROR_BYTES);
        reply = (struct mcp_reply){.fate = MCP_REFUSED,
                                   .code = json_get_int(error, "code", 0),
                                   .message = text,
                                   .data = json_object_get(error, "data")};
    } else if (!json_is_object(result)) {
        reply = (struct mcp_reply){.fate = MCP_REFUSED, .message = "its answer is malformed"};
    }
    request.done(request.user, &reply);
    free(text);
}

static void take_message(struct mcp_rpc *rpc, const json_t *message, int64_t origin)
{
    const json_t *id = json_object_get(message, "id"), *params = json_object_get(message, "params");
    const char *method = json_get_string(message, "method"), *version = json_get_string(message, "jsonrpc");
    if (version == NULL || strcmp(version, "2.0") != 0)
        garbage(rpc, "JSON that is no JSON-RPC message");
    else if (!json_is_object(params) && params != NULL)
        garbage(rpc, "a message with malformed parameters");
    else if (method != NULL && (json_is_integer(id) || json_is_string(id)))
        rpc->options.on_request(rpc->options.user, method, params, id, origin);
    else if (method != NULL && id == NULL)
        rpc->options.on_notification(rpc->options.user, method, params, origin);
    else if (method == NULL && id != NULL)
        take_answer(rpc, message);
    else
        garbage(rpc, "a message with a malformed id");
}

void mcp_rpc_take(struct mcp_rpc *rpc, struct str text, int64_t origin)
{
    struct buf repaired;
    buf_init(&repaired, BUF_UNBOUNDED);
    json_t *value = NULL;
    text = str_trim(text);
    const char *problem = too_much(text);
    if (problem != NULL) {
        garbage(rpc, problem);
        mcp_rpc_fail(rpc, answered_id(text), MCP_REFUSED, "its answer is too large. Ask for less at once.");
        return;
    }
    if (!utf8_is_valid(text) && utf8_append_valid(&repaired, text) == STATUS_OK)
        text = buf_str(&repaired);
    if (text.len == 0) {
        /* an empty line between messages is nobody's fault */
    } else if (json_parse(text, &value, NULL) != STATUS_OK) {
        garbage(rpc, "a text that is no JSON");
    } else if (json_is_array(value)) {
        size_t i;
        json_t *message;
        json_array_foreach (value, i, message)
            take_message(rpc, message, origin);
    } else {
        take_message(rpc, value, origin);
    }
    json_decref(value);
    buf_finish(&repaired);
}
