#include "model/fault.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/buf.h"
#include "core/utf8.h"

#define MAX_MESSAGE ((size_t)16 * 1024)

/* ---- patterns ---- */

/* Searches `text` without regard to case and sets *number from the first group when it took part. Compiled anew each
 * time: errors are rare, and there is no state to keep. */
static bool pattern_find(const char *pattern, struct str text, int64_t *number)
{
    int code;
    PCRE2_SIZE offset;
    pcre2_code *compiled =
        pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED, PCRE2_CASELESS | PCRE2_DOTALL, &code, &offset, NULL);
    if (!compiled)
        return false;
    if (!text.data)
        text = STR("");
    pcre2_match_data *match = pcre2_match_data_create_from_pattern(compiled, NULL);
    int count = pcre2_match(compiled, (PCRE2_SPTR)text.data, text.len, 0, 0, match, NULL);
    if (count > 1 && number) {
        const PCRE2_SIZE *ends = pcre2_get_ovector_pointer(match);
        int64_t value = 0;
        for (PCRE2_SIZE i = ends[2]; i < ends[3]; i++)
            if (ascii_is_digit(text.data[i]) && value < INT64_MAX / 100)
                value = value * 10 + (text.data[i] - '0');
        *number = value;
    }
    pcre2_match_data_free(match);
    pcre2_code_free(compiled);
    return count > 0;
}

#define NUMBER "([0-9][0-9,]*)"

/* How servers say that a prompt is too long; the group is the window. Ordered: the ones with a number first. */
static const char *const context_patterns[] = {
    /* OpenAI, Azure, vLLM, DeepSeek, OpenRouter, SGLang */
    "maximum context length (?:is|of) " NUMBER,
    "context length is only " NUMBER,
    /* vLLM before the scheduler, and its checks of one prompt */
    "longer than the maximum model length of " NUMBER,
    "exceeds (?:the )?max_model_len[^0-9]{0,20}" NUMBER,
    "is too long and exceeds limit of " NUMBER,
    /* SGLang */
    "longer than the model.{0,4}s context length \\(" NUMBER,
    "input length \\([0-9,]+ tokens\\) exceeds the maximum allowed length \\(" NUMBER,
    /* llama.cpp, llama-cpp-python */
    "available context size \\(" NUMBER,
    "exceed_context_size_error.*\"n_ctx\": ?" NUMBER,
    "exceed context window of " NUMBER,
    /* LM Studio */
    "n_keep.{0,40}n_ctx:? ?\\(?" NUMBER,
    "loaded with context length of only " NUMBER,
    "reached context length of " NUMBER,
    /* Anthropic and what imitates it */
    "prompt is too long:? [0-9,]+ tokens > " NUMBER,
    "exceed context limit: [0-9,]+ \\+ [0-9,]+ > " NUMBER,
    /* Fireworks, Mistral, TensorRT-LLM */
    "prompt is too long.{0,60}maximum context length:? " NUMBER,
    "too large for model with " NUMBER " maximum context",
    "prompt length \\([0-9,]+\\).{0,20}exceeds? maximum input length \\(" NUMBER,
    /* Gemini */
    "exceeds the maximum number of tokens(?: allowed)? ?\\(?" NUMBER,
    /* TGI */
    "`?inputs`? tokens \\+ `?max_new_tokens`?\\s+must be <= " NUMBER,
    "`?inputs`? must have less than " NUMBER " tokens",
    /* xAI, Copilot, DashScope, Moonshot, Cerebras, Cohere */
    "maximum prompt length is " NUMBER,
    "prompt token count.{0,40}exceeds the limit of " NUMBER,
    "range of input length should be \\[[0-9]+, ?" NUMBER,
    "exceeded model token limit:? " NUMBER,
    "current length is [0-9,]+ while limit is " NUMBER,
    "number of tokens in the prompt cannot exceed " NUMBER,
    /* without a number; the first is what vLLM makes of window - prompt */
    "max_tokens must be at least 1, got -",
    "context_length_exceeded|exceed_context_size|model_context_window_exceeded",
    "maximum context length|exceeds? the (?:available |model.{0,3}s )?context (?:size|window|length)",
    "exceeds? (?:model |the model.{0,3}s )?(?:maximum )?context (?:window|length)|greater than the context length",
    "context window exceeds limit|context (?:length|window|size) (?:was |is |has been )?exceeded",
    "prompt is too long|input is too long for|prompt exceeds max(?:imum)? length",
    "exceeds the maximum number of tokens|exceeded model token limit|n_keep",
    "reduce the length of the (?:messages|prompt)|too many (?:input )?tokens in the (?:prompt|input)",
};

/* Whether `text` says, in any server's words, that the prompt is too long; sets *window (0 when it gives no number). */
static bool is_context(struct str text, int64_t *window)
{
    for (size_t i = 0; i < sizeof context_patterns / sizeof *context_patterns; i++) {
        int64_t number = 0;
        if (pattern_find(context_patterns[i], text, &number)) {
            *window = number;
            return true;
        }
    }
    return false;
}

/* How servers say that the completion cap is too large, whatever the prompt. */
static bool is_cap(struct str text, int64_t *limit)
{
    static const char *const patterns[] = {
        "supports at most " NUMBER " (?:completion|output) tokens",
        "range of `?max_(?:completion_)?tokens`? is \\[[0-9]+, ?" NUMBER,
        "range of max_tokens should be \\[[0-9]+, ?" NUMBER,
        "max_tokens`?: [0-9]+ > " NUMBER,
        "`?max_(?:completion_|new_)?tokens`?.{0,40}(?:must be|should be|less than or equal to|<=|at most|cannot "
        "exceed|maximum is)"
        "(?: less than or equal to| <=| at most)? ?`?" NUMBER,
    };
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++)
        if (pattern_find(patterns[i], text, limit) && *limit > 1)
            return true;
    return false;
}

/* ---- what a body says ---- */

struct said {
    struct buf text;         /* every sentence found, joined by "; " */
    char parameter[64];      /* named in a field of its own */
    char code[64], type[64]; /* words, lower-cased by nobody */
    int64_t n_ctx;
    int64_t number; /* a numeric code between 400 and 599, for errors inside a 200 */
};

static void copy_word(char *out, size_t size, const char *word)
{
    if (word && *word && !*out)
        snprintf(out, size, "%s", word);
}

static void say(struct said *said, struct str text)
{
    text = str_trim(text);
    text = str_slice(text, 0, utf8_floor(text, 4096));
    if (!text.len || str_find(buf_str(&said->text), text, 0) != STR_NONE)
        return;
    if (said->text.len && buf_append_str(&said->text, STR("; ")) != STATUS_OK)
        return;
    if (buf_append_str(&said->text, text) != STATUS_OK)
        return;
}

static void read_value(struct said *said, const json_t *value, int depth);

/* A text that is itself JSON: proxies pass on the error of the server behind them so. */
static void read_text(struct said *said, struct str text, int depth)
{
    json_t *inner;
    struct str trimmed = str_trim(text);
    if (trimmed.len && (trimmed.data[0] == '{' || trimmed.data[0] == '[') && depth < 4 &&
        json_parse(trimmed, &inner, NULL) == STATUS_OK) {
        read_value(said, inner, depth + 1);
        json_decref(inner);
    } else {
        say(said, text);
    }
}

/* pydantic: {"loc": ["body", "top_k"], "msg": …} */
static void read_location(struct said *said, const json_t *location)
{
    size_t i;
    json_t *part;
    const char *last = NULL;
    json_array_foreach (location, i, part)
        if (json_is_string(part))
            last = json_string_value(part);
    copy_word(said->parameter, sizeof said->parameter, last);
}

static void read_object(struct said *said, const json_t *object, int depth)
{
    static const char *const texts[] = {"message", "msg", "detail", "error", "errors", "error_message", "reason"};
    const json_t *code = json_object_get(object, "code");
    copy_word(said->parameter, sizeof said->parameter, json_get_string(object, "param"));
    copy_word(said->code, sizeof said->code, json_get_string(object, "code"));
    copy_word(said->type, sizeof said->type, json_get_string(object, "type"));
    copy_word(said->type, sizeof said->type, json_get_string(object, "error_type"));
    if (json_is_integer(code) && json_integer_value(code) >= 400 && json_integer_value(code) < 600)
        said->number = json_integer_value(code);
    if (json_get_int(object, "n_ctx", 0) > 0)
        said->n_ctx = json_get_int(object, "n_ctx", 0);
    read_location(said, json_object_get(object, "loc"));
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        read_value(said, json_object_get(object, texts[i]), depth + 1);
    const json_t *metadata = json_object_get(object, "metadata"); /* OpenRouter: what the provider said */
    read_value(said, json_object_get(metadata, "raw"), depth + 1);
}

static void read_value(struct said *said, const json_t *value, int depth)
{
    if (!value || depth > 6)
        return;
    if (json_is_string(value)) {
        read_text(said, str_make(json_string_value(value), json_string_length(value)), depth);
    } else if (json_is_object(value)) {
        read_object(said, value, depth);
    } else if (json_is_array(value)) {
        size_t i;
        json_t *item;
        json_array_foreach (value, i, item)
            read_value(said, item, depth + 1);
    }
}

/* A body that is no JSON. Of a page the title says most. */
static void read_body(struct said *said, struct str body)
{
    json_t *value;
    struct str text = str_trim(body);
    if (json_parse(text, &value, NULL) == STATUS_OK) {
        read_value(said, value, 0);
        json_decref(value);
        return;
    }
    if (text.len && text.data[0] == '<') {
        size_t from = str_find_nocase(str_slice(text, 0, 4096), STR("<title>"), 0);
        size_t to = from == STR_NONE ? STR_NONE : str_find_nocase(text, STR("</title>"), from);
        say(said, to == STR_NONE ? STR("a web page") : str_slice(text, from + 7, to));
        return;
    }
    say(said, str_slice(text, 0, utf8_floor(text, 600)));
}

/* ---- secrets ---- */

static bool is_key_char(char c)
{
    return ascii_is_alnum(c) || c == '-' || c == '_' || c == '.' || c == '*';
}

/* Whether a word of a message gives away a key: it holds it, or, being long or starred, begins like it. */
static bool is_secret(const struct fault_scene *scene, struct str word)
{
    for (size_t i = 0; i < scene->n_secrets; i++) {
        struct str secret = str_of(scene->secrets[i]);
        if (secret.len < 4)
            continue;
        if (str_find(word, secret, 0) != STR_NONE)
            return true;
        bool starred = str_find_char(word, '*', 0) != STR_NONE;
        if (word.len >= 8 && str_starts_with(word, str_slice(secret, 0, starred ? 3 : 6)))
            return true;
    }
    return false;
}

void fault_scrub(const struct fault_scene *scene, struct str text, char *out, size_t size)
{
    struct buf line;
    buf_init(&line, BUF_UNBOUNDED);
    if (utf8_append_valid(&line, str_slice(text, 0, MAX_MESSAGE)) != STATUS_OK)
        abort();
    for (size_t i = 0; i < scene->n_secrets; i++) { /* secrets of more than one word: header values */
        struct str secret = str_of(scene->secrets[i]);
        for (size_t at; secret.len >= 4 && (at = str_find(buf_str(&line), secret, 0)) != STR_NONE;)
            memset(line.data + at, '*', secret.len);
    }
    struct buf clean;
    buf_init(&clean, BUF_UNBOUNDED);
    struct str rest = str_trim(buf_str(&line));
    while (rest.len) {
        size_t n = 0;
        while (n < rest.len && is_key_char(rest.data[n]))
            n++;
        if (n) {
            struct str word = str_slice(rest, 0, n);
            buf_add(&clean, is_secret(scene, word) ? STR("***") : word);
        } else {
            n = 1;
            unsigned char c = (unsigned char)rest.data[0];
            if (c > 0x20 && c != 0x7f)
                buf_add_char(&clean, (char)c);
            else if (clean.len && clean.data[clean.len - 1] != ' ')
                buf_add_char(&clean, ' ');
        }
        rest = str_slice(rest, n, rest.len);
    }
    struct str whole = str_trim(buf_str(&clean));
    size_t keep = utf8_floor(whole, size - 1 < 300 ? size - 1 : 300);
    if (keep)
        memcpy(out, whole.data, keep);
    out[keep] = '\0';
    buf_finish(&clean);
    buf_finish(&line);
}

/* ---- refused parameters ---- */

static const char refusal_words[] =
    "unsupported|not supported|unrecognized|unrecognised|unknown|unexpected|extra inputs|not permitted|not allowed|"
    "does not support|doesn't support|not available|forbidden|not implemented|only the "
    "default|cannot|invalid|additional propert|"
    "no longer supported|deprecated|not one of|must not|incompatible|removed|maximum of|too many|"
    "不支持|不允许";

/* What can be left out. The rest of a request is what it is about. */
static bool is_droppable(const char *name)
{
    return strcmp(name, "model") != 0 && strcmp(name, "messages") != 0 && strcmp(name, "prompt") != 0;
}

static bool was_sent(const struct fault_scene *scene, const char *name)
{
    return is_droppable(name) && json_object_get(scene->sent, name) != NULL;
}

/* Whether `text` has `name` as a word of its own, in quotes or backticks when `quoted`. */
static bool names_word(struct str text, const char *name, bool quoted)
{
    struct str word = str_of(name);
    for (size_t at = 0; (at = str_find(text, word, at)) != STR_NONE; at += word.len) {
        char before = at ? text.data[at - 1] : ' ', after = at + word.len < text.len ? text.data[at + word.len] : ' ';
        if (quoted ? strchr("'\"`", before) && strchr("'\"`", after)
                   : !ascii_is_alnum(before) && before != '_' && !ascii_is_alnum(after) && after != '_')
            return true;
    }
    return false;
}

static bool find_parameter(const struct fault_scene *scene, const struct said *said, struct fault *out)
{
    struct str text = buf_str(&said->text);
    const char *dot = strrchr(said->parameter, '.');
    const char *given = dot ? dot + 1 : said->parameter;
    if (*given && was_sent(scene, given)) {
        snprintf(out->parameter, sizeof out->parameter, "%.63s", given);
        return true;
    }
    if (!pattern_find(refusal_words, text, NULL) || !json_is_object(scene->sent))
        return false;
    for (int quoted = 1; quoted >= 0; quoted--) {
        for (void *i = json_object_iter((json_t *)scene->sent); i;
             i = json_object_iter_next((json_t *)scene->sent, i)) {
            const char *name = json_object_iter_key(i);
            if (!is_droppable(name) || strlen(name) >= sizeof out->parameter || (!quoted && strlen(name) < 4))
                continue;
            if (names_word(text, name, quoted)) {
                snprintf(out->parameter, sizeof out->parameter, "%s", name);
                return true;
            }
        }
    }
    /* "streaming is not supported" */
    if (was_sent(scene, "stream") && pattern_find("\\bstreaming\\b", text, NULL)) {
        snprintf(out->parameter, sizeof out->parameter, "stream");
        return true;
    }
    return false;
}

/* ---- putting it together ---- */

static void add_models(const struct fault_scene *scene, char *out, size_t size)
{
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < scene->n_models && i < 5 && used < size; i++) {
        int n = snprintf(out + used, size - used, "%s%s", i ? ", " : "", scene->models[i]);
        used += n > 0 ? (size_t)n : 0;
    }
}

/* The remedy for a status that is final. */
static const char *remedy(const struct fault_scene *scene, int code, char *out, size_t size)
{
    char models[160];
    add_models(scene, models, sizeof models);
    switch (code) {
    case 401:
        return scene->key_sent ? "the key was not accepted; check --api-key, OPENAI_API_KEY or FATHOM_API_KEY"
                               : "it wants a key; set OPENAI_API_KEY, FATHOM_API_KEY or api_key in the configuration";
    case 402:
        return "the account has no credit left; top it up or choose another --base-url";
    case 403:
        return "the key may not use this model or place; choose another --model or key";
    case 404:
        if (*models)
            snprintf(out, size, "check --model (the server has: %s) and --base-url", models);
        else
            snprintf(out, size, "check --model (now \"%s\") and --base-url, which mostly ends in /v1",
                     scene->model ? scene->model : "");
        return out;
    case 405:
        return "check --base-url, which mostly ends in /v1, and --protocol";
    case 413:
        return "the request is larger than the server or a proxy before it takes; raise its limit or lower "
               "--context-limit";
    default:
        return "the server does not take the request as it is; see its words, and --extra-body or --protocol";
    }
}

static void set_error(const struct fault_scene *scene, int code, const struct said *said, struct fault *out)
{
    char words[320], advice[256];
    const char *host = scene->host ? scene->host : "the server";
    fault_scrub(scene, buf_str(&said->text), words, sizeof words);
    const char *colon = *words ? ": " : "";
    enum status status = code == 401 || code == 402 || code == 403 ? STATUS_DENIED
                         : code == 404                             ? STATUS_NOT_FOUND
                                                                   : STATUS_INVALID;
    char answered[32] = "an error";
    if (code)
        snprintf(answered, sizeof answered, "HTTP %d", code);
    switch (out->kind) {
    case FAULT_FINAL:
        error_set(&out->error, status, "%s answered %s%s%s; %s", host, answered, colon, words,
                  remedy(scene, code, advice, sizeof advice));
        return;
    case FAULT_CONTEXT:
        error_set(&out->error, STATUS_TOO_BIG, "the prompt does not fit the context window of %s%s%s", host, colon,
                  words);
        return;
    case FAULT_PARAMETER:
        error_set(&out->error, STATUS_UNSUPPORTED, "%s does not take the parameter %s%s%s", host, out->parameter, colon,
                  words);
        return;
    case FAULT_SYSTEM_ROLE:
        error_set(&out->error, STATUS_UNSUPPORTED, "%s takes no system message%s%s", host, colon, words);
        return;
    case FAULT_CAP:
        error_set(&out->error, STATUS_UNSUPPORTED, "%s writes at most %lld tokens", host, (long long)out->limit);
        return;
    case FAULT_RETRY:
        error_set(&out->error, STATUS_NETWORK, "%s answered %s%s%s", host, answered, colon, words);
        return;
    }
}

/* What a client error means; `code` decides only what the words leave open. */
static void classify(const struct fault_scene *scene, int code, const struct said *said, struct fault *out)
{
    struct str text = buf_str(&said->text);
    bool worded = code == 400 || code == 413 || code == 422 || code >= 500;
    bool too_long = worded && (is_context(text, &out->limit) || is_context(str_of(said->code), &out->limit) ||
                               is_context(str_of(said->type), &out->limit));
    if (too_long) {
        out->kind = FAULT_CONTEXT;
        out->limit = said->n_ctx > 0 ? said->n_ctx : out->limit;
    } else if ((code == 400 || code == 422) && is_cap(text, &out->limit)) {
        out->kind = FAULT_CAP;
    } else if ((worded || code == 405 || code == 415) &&
               pattern_find("system (?:role|message|prompt)s? (?:is |are )?not supported", text, NULL)) {
        out->kind = FAULT_SYSTEM_ROLE;
    } else if ((code == 400 || code == 422 || code == 501) && find_parameter(scene, said, out)) {
        out->kind = FAULT_PARAMETER;
    } else if (code == 429 &&
               (strcmp(said->code, "insufficient_quota") == 0 || strcmp(said->type, "insufficient_quota") == 0)) {
        out->kind = FAULT_FINAL; /* no credit: waiting does not help */
    } else if (code == 408 || code == 409 || code == 425 || code == 429 || code >= 500) {
        out->kind = FAULT_RETRY;
    } else {
        out->kind = FAULT_FINAL;
    }
}

void fault_of_response(const struct fault_scene *scene, int code, struct str body, struct fault *out)
{
    struct said said = {0};
    buf_init(&said.text, MAX_MESSAGE);
    *out = (struct fault){0};
    read_body(&said, body);
    classify(scene, code, &said, out);
    set_error(scene, out->kind == FAULT_FINAL && code == 429 ? 402 : code, &said, out);
    buf_finish(&said.text);
}

void fault_of_object(const struct fault_scene *scene, const json_t *object, struct fault *out)
{
    struct said said = {0};
    buf_init(&said.text, MAX_MESSAGE);
    *out = (struct fault){0};
    read_value(&said, object, 0);
    int code = said.number ? (int)said.number : 500;
    bool denied = code == 401 || code == 402 || code == 403;
    classify(scene, code, &said, out);
    if (out->kind == FAULT_FINAL && !denied)
        out->kind = FAULT_RETRY;
    set_error(scene, (int)said.number, &said, out);
    buf_finish(&said.text);
}
