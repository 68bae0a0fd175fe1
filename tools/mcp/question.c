/* tools/mcp/question.c: elicitation/create, a question of the server's to the person who started the run. */
#include "tools/mcp/internal.h"

#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/utf8.h"

#define MAX_QUESTION ((size_t)4 * 1024)

struct mcp_question {
    struct mcp_server *server;
    struct mcp_call *call; /* NULL when it is over */
    int64_t connection;    /* the answer goes to the server that asked, not to one that came after it */
    json_t *id;            /* of the server's request; NULL for a question inside a result */
};

static json_t *make_answer(const char *action, json_t *content)
{
    json_t *result = json_object();
    json_put_str(result, "action", str_of(action));
    if (content != NULL)
        json_put(result, "content", content);
    return result;
}

/* What the person wrote as the object it must be, or NULL. */
static json_t *read_content(enum ask_outcome outcome, struct str text)
{
    json_t *content = NULL;
    if (outcome != ASK_ANSWERED || json_parse(text, &content, NULL) != STATUS_OK)
        return NULL;
    if (json_is_object(content))
        return content;
    json_decref(content);
    return NULL;
}

static void answered(void *user, enum ask_outcome outcome, struct str text)
{
    struct mcp_question *question = user;
    struct mcp_server *server = question->server;
    struct mcp_call *call = question->call;
    json_t *content = read_content(outcome, text), *id = question->id;
    json_t *answer = make_answer(content != NULL ? "accept" : outcome == ASK_DECLINED ? "decline" : "cancel", content);
    bool same = server->connection == question->connection && server->transport != NULL;
    server->question = NULL;
    free(question);
    if (call != NULL)
        mcp_call_pause(call, false);
    if (id != NULL && same)
        mcp_rpc_respond(server->rpc, id, answer);
    else if (id == NULL && call != NULL)
        mcp_call_answer(call, answer);
    else
        json_decref(answer);
    json_decref(id);
}

static bool is_form(const json_t *params)
{
    const char *mode = json_get_string(params, "mode");
    return (mode == NULL || strcmp(mode, "form") == 0) && str_trim(json_get_str(params, "message")).len > 0 &&
           json_is_object(json_object_get(params, "requestedSchema"));
}

static void put(struct mcp_server *server, struct mcp_call *call, const json_t *params, const json_t *id)
{
    struct str message = str_trim(json_get_str(params, "message"));
    struct mcp_question *question = mem_zalloc(sizeof *question);
    *question = (struct mcp_question){
        .server = server, .call = call, .connection = server->connection, .id = id != NULL ? json_deep_copy(id) : NULL};
    server->question = question;
    struct buf text;
    buf_init(&text, BUF_UNBOUNDED);
    buf_addf(&text, "The MCP server %s asks: ", server->options.name);
    buf_add(&text, str_slice(message, 0, utf8_floor(message, MAX_QUESTION)));
    mcp_call_pause(call, true);
    tool_ask(mcp_call_run(call), buf_str(&text), json_object_get(params, "requestedSchema"), answered, question);
    buf_finish(&text);
}

void mcp_question_ask(struct mcp_server *server, const json_t *params, const json_t *id, int64_t origin)
{
    struct mcp_call *call = mcp_call_find(server, origin);
    if (!is_form(params))
        mcp_rpc_refuse(server->rpc, id, MCP_ERROR_INVALID_PARAMS, "only questions with a form are supported");
    else if (call == NULL || server->question != NULL || !tool_can_ask(mcp_call_run(call)))
        mcp_rpc_respond(server->rpc, id, make_answer("decline", NULL));
    else
        put(server, call, params, id);
}

bool mcp_question_for_call(struct mcp_server *server, struct mcp_call *call, const json_t *params)
{
    if (!is_form(params) || server->question != NULL || !tool_can_ask(mcp_call_run(call)))
        return false;
    put(server, call, params, NULL);
    return true;
}

void mcp_question_forget_call(struct mcp_server *server, const struct mcp_call *call)
{
    if (server->question != NULL && server->question->call == call)
        server->question->call = NULL;
}
