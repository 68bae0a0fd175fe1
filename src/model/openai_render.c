/* How an endpoint writes a chat: what its template puts around the messages.
 *
 *     POST {root}/tokenize        vLLM (SGLang's takes no messages and refuses): {"model", "messages",
 *                                 "add_generation_prompt"} -> {"count", "max_model_len", "tokens": [ids]}
 *     POST {root}/apply-template  llama.cpp: {"messages"} -> {"prompt"}, without what tokenizing puts in front, for
 * which POST {root}/tokenize        llama.cpp: {"content", "add_special"} -> {"tokens": [ids]}
 *
 * The probes of protocol/template_learn.h are sent, the first by itself, the others all at once when it was answered;
 * from the texts a template is learnt. Ids become text by the model's tokenizer, and count only if it makes the same
 * ids of that text again. Where no template can be learnt, the counts of two conversations say how many tokens it adds.
 *
 * Answers are believed no further than they can be checked, and a server that does not answer is not asked again.
 */
#include "model/openai_internal.h"

#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "protocol/template_learn.h"
#include "text/tokenizer/tokenizer.h"

/* For all questions together. */
#define TALK_MS 2000

/* Probes have some hundred bytes, and templates add a few thousand at most. */
#define MAX_ANSWER ((size_t)512 * 1024)
#define MAX_TEXT   ((size_t)32 * 1024)
#define MAX_TOKENS 32768

/* More than this for one message is no template's. */
#define MAX_MESSAGE_TOKENS 1000

/* What llama.cpp puts in front of every prompt: one token, or none. */
#define MAX_FRONT_TOKENS 4

/* The question about that. */
#define INDEX_FRONT TEMPLATE_PROBE_COUNT

enum way { WAY_TOKENIZE, WAY_APPLY };

enum step {
    STEP_FIRST,  /* the first probe */
    STEP_OTHERS, /* the rest of them */
    STEP_COUNTS, /* the two conversations that are only counted */
};

struct render_talk {
    struct endpoint *endpoint; /* NULL: nobody cares any more */
    void (*done)(void *user);
    void *user;
    struct loop *loop;
    int64_t deadline;
    enum way way;
    bool another_way; /* it is not known which server it is: what does not work by the one way may by the other */
    enum step step;
    int pending;
    struct buf texts[TEMPLATE_PROBE_COUNT]; /* as rendered; empty where the server gave none */
    struct buf front;
    int64_t counts[TEMPLATE_PROBE_COUNT]; /* of the questions of this step; 0 where the server gave none */
};

struct render_question {
    struct render_talk *talk;
    size_t index;
};

/* A word that is one token in every vocabulary, in the shape of our conversations. The system message keeps templates
 * from writing one of their own. */
static struct prompt_message counted_messages[] = {{.role = MESSAGE_SYSTEM, .wire = {"x", 1}},
                                                   {.role = MESSAGE_USER, .wire = {"x", 1}},
                                                   {.role = MESSAGE_ASSISTANT, .wire = {"x", 1}},
                                                   {.role = MESSAGE_USER, .wire = {"x", 1}}};
static const struct prompt_view counted[] = {{.messages = counted_messages, .count = 2},
                                             {.messages = counted_messages, .count = 4}};

#define N_COUNTED (sizeof counted / sizeof *counted)

/* ---- asking ---- */

/* Parameters of the user's that a template sees. */
static void add_parameters(struct buf *body, const json_t *extra_body)
{
    static const char *const names[] = {"chat_template", "chat_template_kwargs", "reasoning_effort"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const json_t *value = json_object_get(extra_body, names[i]);
        if (!value || json_is_null(value))
            continue;
        char *text = json_to_text(value);
        buf_addf(body, ",\"%s\":%s", names[i], text);
        free(text);
    }
}

static void write_body(const struct endpoint *endpoint, const struct prompt_view *view, struct buf *body)
{
    buf_add_text(body, "{");
    if (endpoint->model) {
        buf_add_text(body, "\"model\":\"");
        if (json_escape(body, str_of(endpoint->model)) != STATUS_OK)
            abort(); /* the buffer has no cap */
        buf_add_text(body, "\",");
    }
    buf_add_text(body, "\"messages\":[");
    for (size_t i = 0; i < view->count; i++) {
        buf_addf(body, "%s{\"role\":\"%s\",\"content\":\"", i > 0 ? "," : "",
                 message_role_name(view->messages[i].role));
        buf_add(body, view->messages[i].wire);
        buf_add_text(body, "\"}");
    }
    buf_add_text(body, "],\"add_generation_prompt\":true");
    add_parameters(body, endpoint->client->extra_body);
    buf_add_text(body, "}");
}

static void answered(void *user, struct http_response *response);

static void ask(struct render_talk *talk, const char *path, size_t index, struct str body)
{
    struct endpoint *endpoint = talk->endpoint;
    struct render_question *question = mem_zalloc(sizeof *question);
    int64_t left = talk->deadline - loop_now_ms(talk->loop);
    char *root = endpoint_root_url(endpoint);
    char *url = mem_printf("%s%s", root, path);
    *question = (struct render_question){talk, index};
    const struct http_options options = {
        .traffic = HTTP_CONFIGURED,
        .url = url,
        .headers = endpoint->headers,
        .n_headers = endpoint->n_headers,
        .body = body,
        .connect_timeout_ms = left > 1 ? left : 1,
        .total_timeout_ms = left > 1 ? left : 1,
        .max_body = MAX_ANSWER,
    };
    talk->pending++;
    http_request_start(endpoint->client->http, &options, answered, question);
    free(url);
    free(root);
}

static void ask_chat(struct render_talk *talk, const struct prompt_view *view, size_t index)
{
    struct buf body;
    buf_init(&body, BUF_UNBOUNDED);
    write_body(talk->endpoint, view, &body);
    ask(talk, talk->way == WAY_TOKENIZE ? "/tokenize" : "/apply-template", index, buf_str(&body));
    buf_finish(&body);
}

static void ask_first(struct render_talk *talk, enum way way)
{
    talk->way = way;
    talk->step = STEP_FIRST;
    ask_chat(talk, template_probe(0), 0);
}

static void ask_others(struct render_talk *talk)
{
    talk->step = STEP_OTHERS;
    for (size_t i = 1; i < TEMPLATE_PROBE_COUNT; i++)
        ask_chat(talk, template_probe(i), i);
    if (talk->way == WAY_APPLY && talk->endpoint->client->options.tokenizer)
        ask(talk, "/tokenize", INDEX_FRONT, STR("{\"content\":\"\",\"add_special\":true}"));
}

static void ask_counts(struct render_talk *talk)
{
    talk->step = STEP_COUNTS;
    memset(talk->counts, 0, sizeof talk->counts);
    for (size_t i = 0; i < N_COUNTED; i++)
        ask_chat(talk, &counted[i], i);
}

/* ---- what the answers say ---- */

/* False when it is no list of ids. */
static bool read_ids(const json_t *list, struct token_ids *ids)
{
    size_t i;
    json_t *id;
    ids->ids = mem_calloc(json_array_size(list) + 1, sizeof *ids->ids);
    ids->capacity = json_array_size(list) + 1;
    json_array_foreach (list, i, id) {
        if (!json_is_integer(id) || json_integer_value(id) < 0 || json_integer_value(id) > UINT32_MAX)
            return false;
        ids->ids[ids->count++] = (uint32_t)json_integer_value(id);
    }
    return ids->count > 0;
}

/* The text of the ids, if the tokenizer makes the same ids of it again: then it is the server's, and nothing of the
 * text was lost. */
static void take_ids(struct buf *text, const struct tokenizer *tokenizer, const json_t *list)
{
    struct token_ids ids, again;
    token_ids_init(&ids);
    token_ids_init(&again);
    bool good = read_ids(list, &ids) && tokenizer_decode(tokenizer, ids.ids, ids.count, 0, text, NULL) == STATUS_OK;
    if (good) {
        tokenizer_encode(tokenizer, buf_str(text), 0, &again);
        good = again.count == ids.count && memcmp(again.ids, ids.ids, ids.count * sizeof *ids.ids) == 0;
    }
    if (!good)
        buf_reset(text);
    token_ids_finish(&again);
    token_ids_finish(&ids);
}

static void take_tokens(struct render_talk *talk, size_t index, const json_t *answer)
{
    struct endpoint *endpoint = talk->endpoint;
    const struct tokenizer *tokenizer = endpoint->client->options.tokenizer;
    const json_t *tokens = json_object_get(answer, "tokens");
    int64_t count = json_get_int(answer, "count", 0);
    if (count < 1 || count > MAX_TOKENS || (tokens && json_array_size(tokens) != (size_t)count))
        return;
    talk->counts[index] = count;
    if (endpoint->window <= 0)
        endpoint_set_window(endpoint, json_get_int(answer, "max_model_len", 0));
    if (talk->step != STEP_COUNTS && tokenizer && tokens)
        take_ids(&talk->texts[index], tokenizer, tokens);
}

static void take_prompt(struct render_talk *talk, size_t index, const json_t *answer)
{
    struct str prompt = json_get_str(answer, "prompt");
    if (buf_append_str(&talk->texts[index], prompt) != STATUS_OK)
        buf_reset(&talk->texts[index]); /* no template's */
}

static void take_front(struct render_talk *talk, const json_t *answer)
{
    const json_t *tokens = json_object_get(answer, "tokens");
    if (json_array_size(tokens) > 0 && json_array_size(tokens) <= MAX_FRONT_TOKENS)
        take_ids(&talk->front, talk->endpoint->client->options.tokenizer, tokens);
}

static void take_answer(struct render_talk *talk, size_t index, const json_t *answer)
{
    if (index == INDEX_FRONT)
        take_front(talk, answer);
    else if (talk->way == WAY_TOKENIZE)
        take_tokens(talk, index, answer);
    else
        take_prompt(talk, index, answer);
}

/* ---- learning ---- */

static bool learn(struct render_talk *talk)
{
    struct str rendered[TEMPLATE_PROBE_COUNT];
    struct buf whole[TEMPLATE_PROBE_COUNT];
    for (size_t i = 0; i < TEMPLATE_PROBE_COUNT; i++) {
        buf_init(&whole[i], BUF_UNBOUNDED);
        if (talk->texts[i].len > 0) {
            buf_add(&whole[i], buf_str(&talk->front));
            buf_add(&whole[i], buf_str(&talk->texts[i]));
        }
        rendered[i] = whole[i].len > 0 ? buf_str(&whole[i]) : (struct str){0};
    }
    enum status status = template_learn(rendered, &talk->endpoint->rendering.chat_template, NULL);
    for (size_t i = 0; i < TEMPLATE_PROBE_COUNT; i++)
        buf_finish(&whole[i]);
    return status == STATUS_OK;
}

/* Two messages more make the second conversation longer than the first. What errs, errs high. */
static void take_counts(struct render_talk *talk)
{
    int64_t first = talk->counts[0], more = talk->counts[1] - first;
    int64_t each = (more + 1) / 2 - 1; /* without the word itself */
    if (first <= 0 || talk->counts[1] <= 0 || each < 1 || each > MAX_MESSAGE_TOKENS)
        return;
    int64_t once = first - 2 * (each + 1);
    talk->endpoint->rendering.message_tokens = each;
    talk->endpoint->rendering.prompt_tokens = once > 0 ? once : 0;
}

/* Everything of a step was answered. True when another was begun. */
static bool go_on(struct render_talk *talk)
{
    switch (talk->step) {
    case STEP_FIRST:
        if (talk->texts[0].len > 0)
            ask_others(talk);
        else if (talk->counts[0] > 0)
            ask_counts(talk);
        else if (talk->way == WAY_TOKENIZE && talk->another_way)
            ask_first(talk, WAY_APPLY);
        else
            return false;
        return true;
    case STEP_OTHERS:
        if (learn(talk) || talk->way != WAY_TOKENIZE)
            return false;
        ask_counts(talk);
        return true;
    case STEP_COUNTS:
        take_counts(talk);
        break;
    }
    return false;
}

static void end(struct render_talk *talk)
{
    void (*done)(void *) = talk->done;
    void *user = talk->user;
    if (talk->endpoint)
        talk->endpoint->talk = NULL;
    for (size_t i = 0; i < TEMPLATE_PROBE_COUNT; i++)
        buf_finish(&talk->texts[i]);
    buf_finish(&talk->front);
    free(talk);
    done(user);
}

static void answered(void *user, struct http_response *response)
{
    struct render_question *question = user;
    struct render_talk *talk = question->talk;
    json_t *answer = NULL;
    bool good = response->status == STATUS_OK && response->code == 200;
    if (good && json_parse(buf_str(&response->body), &answer, NULL) != STATUS_OK)
        answer = NULL;
    if (talk->endpoint && answer)
        take_answer(talk, question->index, answer);
    if (response->status == STATUS_TIMEOUT || response->status == STATUS_CANCELED)
        talk->another_way = false;
    json_decref(answer);
    free(question);
    if (--talk->pending == 0 && (!talk->endpoint || !go_on(talk)))
        end(talk);
}

/* ---- beginning and end ---- */

/* By which way to ask. A server that is not known is asked when there is a tokenizer to gain by it, and it is one
 * without TLS, as people run for themselves. */
static bool choose_way(const struct endpoint *endpoint, enum way *way, bool *another_way)
{
    *way = WAY_TOKENIZE;
    *another_way = !endpoint->server;
    if (!endpoint->server)
        return endpoint->client->options.tokenizer && strncmp(endpoint->base_url, "http://", 7) == 0;
    if (strcmp(endpoint->server, "llama.cpp") == 0)
        *way = WAY_APPLY;
    return *way == WAY_APPLY || strcmp(endpoint->server, "vLLM") == 0 || strcmp(endpoint->server, "SGLang") == 0;
}

bool endpoint_ask_rendering(struct endpoint *endpoint, int64_t deadline, void (*done)(void *user), void *user)
{
    const struct openai_client *client = endpoint->client;
    enum way way;
    bool another_way;
    if (!client->options.ask_rendering || client->options.completions || endpoint->asked_rendering ||
        !choose_way(endpoint, &way, &another_way))
        return false;
    endpoint->asked_rendering = true;
    struct render_talk *talk = mem_zalloc(sizeof *talk);
    int64_t own_deadline = loop_now_ms(client->loop) + TALK_MS;
    *talk = (struct render_talk){.endpoint = endpoint,
                                 .done = done,
                                 .user = user,
                                 .loop = client->loop,
                                 .deadline = deadline < own_deadline ? deadline : own_deadline,
                                 .another_way = another_way};
    for (size_t i = 0; i < TEMPLATE_PROBE_COUNT; i++)
        buf_init(&talk->texts[i], MAX_TEXT);
    buf_init(&talk->front, MAX_TEXT);
    endpoint->talk = talk;
    ask_first(talk, way);
    return true;
}

void endpoint_finish_rendering(struct endpoint *endpoint)
{
    if (endpoint->talk)
        endpoint->talk->endpoint = NULL;
    endpoint->talk = NULL;
    template_destroy(endpoint->rendering.chat_template);
    endpoint->rendering = (struct openai_rendering){0};
}
