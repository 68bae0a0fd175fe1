#include "protocol/template_learn.h"

#include <stdlib.h>
#include <string.h>

#include "core/json.h"
#include "core/utf8.h"
#include "protocol/template_internal.h"

/* No template writes more around our few words. */
#define MAX_RENDERING (1u << 20)

/* ---- the probes ---- */

#define SYSTEM    "Fqsystem"
#define USER_1    "Fquserone"
#define USER_2    "Fqusertwo"
#define USER_3    "Fquserthree"
#define REPLY_1   "Fqreplyone"
#define REPLY_2   "Fqreplytwo"
#define RESULT_1  "<tool_response>\\n" USER_2 "\\n</tool_response>"
#define RESULT_2  "<tool_response>\\n" USER_3 "\\n</tool_response>"
#define THOUGHT_1 "<think>\\nFqthoughtone\\n</think>\\n\\n"
#define THOUGHT_2 "<think>\\nFqthoughttwo\\n</think>\\n\\n"

#define SAYS(role_, text)                                           \
    {                                                               \
        .role = MESSAGE_##role_, .wire = { text, sizeof(text) - 1 } \
    }

static const struct prompt_message shape[] = {SAYS(SYSTEM, SYSTEM), SAYS(USER, USER_1),       SAYS(ASSISTANT, REPLY_1),
                                              SAYS(USER, USER_2),   SAYS(ASSISTANT, REPLY_2), SAYS(USER, USER_3)};
static const struct prompt_message no_system[] = {SAYS(USER, USER_1), SAYS(ASSISTANT, REPLY_1), SAYS(USER, USER_2)};
static const struct prompt_message blanks[] = {
    SAYS(SYSTEM, " \\n " SYSTEM "\\n \\n"),
    SAYS(USER, " \\n" USER_1 "\\n "),
    SAYS(ASSISTANT, "\\n " REPLY_1 " \\n"),
    SAYS(USER, " \\n" USER_2 "\\n \\n"),
};
static const struct prompt_message results[] = {SAYS(SYSTEM, SYSTEM),
                                                SAYS(USER, USER_1),
                                                SAYS(ASSISTANT, THOUGHT_1 REPLY_1),
                                                SAYS(USER, RESULT_1),
                                                SAYS(ASSISTANT, THOUGHT_2 REPLY_2),
                                                SAYS(USER, RESULT_2)};
static const struct prompt_message questions[] = {SAYS(SYSTEM, SYSTEM),
                                                  SAYS(USER, USER_1),
                                                  SAYS(ASSISTANT, THOUGHT_1 REPLY_1),
                                                  SAYS(USER, USER_2),
                                                  SAYS(ASSISTANT, THOUGHT_2 REPLY_2),
                                                  SAYS(USER, RESULT_2)};
static const struct prompt_message opened[] = {SAYS(SYSTEM, SYSTEM),
                                               SAYS(USER, USER_1),
                                               SAYS(ASSISTANT, "\\nFqthoughtone\\n</think>\\n\\n\\n" REPLY_1 "\\n"),
                                               SAYS(USER, RESULT_1),
                                               SAYS(ASSISTANT, "<think> \\n\\n</think>" REPLY_2),
                                               SAYS(USER, RESULT_2)};
static const struct prompt_message closed_twice[] = {
    SAYS(SYSTEM, SYSTEM), SAYS(USER, USER_1),
    SAYS(ASSISTANT, THOUGHT_1 "Fqmiddle</think>\\n " REPLY_1 "\\n</think><think>\\nFqend"), SAYS(USER, RESULT_1)};
static const struct prompt_message beginning[] = {SAYS(SYSTEM, SYSTEM), SAYS(USER, USER_1)};

/* A view does not change what it shows, but cannot say so. */
#define VIEW(messages)                                                                   \
    {                                                                                    \
        (struct prompt_message *)(messages), sizeof(messages) / sizeof((messages)[0]), 0 \
    }
static const struct prompt_view probes[TEMPLATE_PROBE_COUNT] = {
    VIEW(shape),     VIEW(no_system), VIEW(blanks),       VIEW(results),
    VIEW(questions), VIEW(opened),    VIEW(closed_twice), VIEW(beginning),
};

/* The only one that a template may refuse: every run has a system prompt. */
#define MAY_FAIL 1

const struct prompt_view *template_probe(size_t index)
{
    return &probes[index];
}

/* ---- proof ---- */

/* Whether the template gives all renderings back. */
static bool gives_back(const struct chat_template *chat_template, const struct str rendered[TEMPLATE_PROBE_COUNT])
{
    static const struct template_options options = {.chat = true};
    struct template_pieces pieces;
    template_pieces_init(&pieces);
    bool same = true;
    for (size_t i = 0; i < TEMPLATE_PROBE_COUNT && same; i++) {
        if (!rendered[i].data)
            continue;
        struct str rest = rendered[i];
        template_render(chat_template, &probes[i], &options, &pieces);
        for (size_t k = 0; k < pieces.count && same; k++) {
            same = str_starts_with(rest, pieces.pieces[k]);
            rest = str_slice(rest, pieces.pieces[k].len, rest.len);
        }
        same = same && rest.len == 0;
    }
    template_pieces_finish(&pieces);
    return same;
}

static const struct chat_template *find_named(const struct str rendered[TEMPLATE_PROBE_COUNT])
{
    for (size_t i = 0; i < template_table_count; i++) {
        if (gives_back(&template_table[i], rendered))
            return &template_table[i];
    }
    return NULL;
}

/* ---- pieces ---- */

/* What stands between the words of a rendering: before the first, between, behind the last. */
#define MAX_GAPS 7

struct gaps {
    struct str text[MAX_GAPS];
    size_t order[MAX_GAPS]; /* which message's word stands behind each gap */
    size_t count;           /* of words */
};

/* Finds each message's word; false when one is missing or stands there twice. */
static bool find_gaps(struct str text, const struct prompt_view *view, struct gaps *gaps)
{
    size_t at[MAX_GAPS] = {0};
    gaps->count = view->count;
    for (size_t i = 0; i < view->count; i++) {
        struct str word = view->messages[i].wire;
        at[i] = str_find(text, word, 0);
        if (at[i] == STR_NONE || str_find(text, word, at[i] + 1) != STR_NONE)
            return false;
    }
    size_t from = 0;
    for (size_t n = 0; n < view->count; n++) {
        size_t next = SIZE_MAX, which = 0;
        for (size_t i = 0; i < view->count; i++) {
            if (at[i] >= from && at[i] < next) {
                next = at[i];
                which = i;
            }
        }
        if (next == SIZE_MAX)
            return false;
        gaps->text[n] = str_slice(text, from, next);
        gaps->order[n] = which;
        from = next + view->messages[which].wire.len;
    }
    gaps->text[view->count] = str_slice(text, from, text.len);
    return true;
}

/* The last place up to `at` that is neither inside an escape nor inside a character. */
static size_t wire_floor(struct str s, size_t at)
{
    size_t place = 0;
    while (place < at && place < s.len) {
        size_t length = 2;
        if (s.data[place] != '\\')
            utf8_decode(str_slice(s, place, s.len), &length);
        else if (place + 1 < s.len && s.data[place + 1] == 'u')
            length = 6;
        if (place + length > at)
            break;
        place += length;
    }
    return place;
}

static struct str common_end(struct str a, struct str b)
{
    size_t len = 0;
    while (len < a.len && len < b.len && a.data[a.len - 1 - len] == b.data[b.len - 1 - len])
        len++;
    while (wire_floor(a, a.len - len) != a.len - len || wire_floor(b, b.len - len) != b.len - len)
        len--;
    return str_slice(a, a.len - len, a.len);
}

static struct str common_start(struct str a, struct str b)
{
    size_t len = 0;
    while (len < a.len && len < b.len && a.data[len] == b.data[len])
        len++;
    return str_slice(a, 0, wire_floor(a, len));
}

static struct str without_end(struct str s, size_t len)
{
    return str_slice(s, 0, s.len - len);
}

static bool in_order(const size_t *order, const size_t *expected, size_t count)
{
    return memcmp(order, expected, count * sizeof *order) == 0;
}

/* The pieces that the shape of our conversations and the one without a system prompt show; slices of the renderings. */
static bool take_pieces(const struct str rendered[TEMPLATE_PROBE_COUNT], struct chat_template *out)
{
    static const size_t in_turn[] = {0, 1, 2, 3, 4, 5}, behind[] = {1, 2, 3, 4, 0, 5};
    struct gaps gaps, bare;
    if (!find_gaps(rendered[0], &probes[0], &gaps))
        return false;
    bool has_bare = rendered[MAY_FAIL].data && find_gaps(rendered[MAY_FAIL], &probes[MAY_FAIL], &bare);
    const struct str *gap = gaps.text;
    bool late = in_order(gaps.order, behind, 6);
    if (!late && !in_order(gaps.order, in_turn, 6))
        return false;

    struct turn *system = &out->turns[MESSAGE_SYSTEM], *user = &out->turns[MESSAGE_USER],
                *assistant = &out->turns[MESSAGE_ASSISTANT];
    struct str question = late ? gap[1] : gap[2], again = late ? gap[2] : gap[3];
    user->before = common_end(late ? gap[0] : gap[1], again);
    if (has_bare)
        user->before = common_end(user->before, bare.text[0]);
    user->after = common_start(question, gap[6]);
    assistant->before = str_slice(question, user->after.len, question.len);
    assistant->after = without_end(again, user->before.len);
    out->generation = str_slice(gap[6], user->after.len, gap[6].len);
    if (late) {
        if (!str_starts_with(gap[4], again))
            return false;
        out->system_place = SYSTEM_IN_LAST_USER;
        out->opening = without_end(gap[0], user->before.len);
        system->before = str_slice(gap[4], again.len, gap[4].len);
        system->after = gap[5];
        return true;
    }
    system->before = gap[0];
    system->after = without_end(gap[1], user->before.len);
    if (has_bare)
        out->default_system = without_end(bare.text[0], user->before.len);
    return true;
}

/* Tries what a template may strip and make of thought, until all renderings come out. */
static bool find_rules(const struct str rendered[TEMPLATE_PROBE_COUNT], struct chat_template *out)
{
    static const struct {
        enum history_rule rule;
        const char *writes; /* also where there is no thought: it was taken for a piece */
    } rules[] = {
        {HISTORY_WHOLE, ""},        {HISTORY_BEHIND_LAST, ""}, {HISTORY_STRIPPED, ""},
        {HISTORY_BEHIND_FIRST, ""}, {HISTORY_QWEN3, ""},       {HISTORY_GLM45, "<think></think>\\n"},
    };
    struct turn *turns = out->turns;
    const struct str before = turns[MESSAGE_ASSISTANT].before;
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        struct str writes = str_of(rules[i].writes);
        if (!str_ends_with(before, writes))
            continue;
        out->history = rules[i].rule;
        turns[MESSAGE_ASSISTANT].before = without_end(before, writes.len);
        for (unsigned trims = 0; trims < TRIMS * TRIMS * TRIMS; trims++) {
            turns[MESSAGE_SYSTEM].trim = (enum turn_trim)(trims % TRIMS);
            turns[MESSAGE_USER].trim = (enum turn_trim)(trims / TRIMS % TRIMS);
            turns[MESSAGE_ASSISTANT].trim = (enum turn_trim)(trims / TRIMS / TRIMS);
            if (gives_back(out, rendered))
                return true;
        }
    }
    return false;
}

/* ---- keeping ---- */

static void own(struct str *piece, char **at)
{
    if (piece->len > 0)
        memcpy(*at, piece->data, piece->len);
    piece->data = *at;
    *at += piece->len;
}

/* A copy on the heap that owns its text. */
static const struct chat_template *keep(const struct chat_template *made)
{
    struct chat_template *kept = mem_alloc(sizeof *kept);
    *kept = *made;
    struct str *pieces[] = {
        &kept->bos,
        &kept->opening,
        &kept->default_system,
        &kept->turns[0].before,
        &kept->turns[0].after,
        &kept->turns[1].before,
        &kept->turns[1].after,
        &kept->turns[2].before,
        &kept->turns[2].after,
        &kept->generation,
        &kept->chat_generation,
    };
    size_t len = 1;
    for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++)
        len += pieces[i]->len;
    kept->text = mem_alloc(len);
    char *at = kept->text;
    for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++)
        own(pieces[i], &at);
    kept->name = "learnt";
    kept->message_tokens = template_message_tokens(NULL);
    kept->prompt_tokens = template_prompt_tokens(NULL);
    return kept;
}

static enum status learn(const struct str rendered[TEMPLATE_PROBE_COUNT], const struct chat_template **out,
                         struct error *error)
{
    for (size_t i = 0; i < TEMPLATE_PROBE_COUNT; i++) {
        if (!rendered[i].data && i != MAY_FAIL)
            return error_set(error, STATUS_UNSUPPORTED, "the server did not render probe %zu", i);
    }
    const struct chat_template *named = find_named(rendered);
    if (named) {
        *out = named;
        return STATUS_OK;
    }
    struct chat_template made = {0};
    if (!take_pieces(rendered, &made))
        return error_set(error, STATUS_UNSUPPORTED, "the template does not write every message once and in order");
    if (!find_rules(rendered, &made))
        return error_set(error, STATUS_UNSUPPORTED, "the template has a rule for contents that is not known");
    *out = keep(&made);
    return STATUS_OK;
}

enum status template_learn(const struct str rendered[TEMPLATE_PROBE_COUNT], const struct chat_template **out,
                           struct error *error)
{
    struct buf wires[TEMPLATE_PROBE_COUNT];
    struct str texts[TEMPLATE_PROBE_COUNT];
    enum status status = STATUS_OK;
    for (size_t i = 0; i < TEMPLATE_PROBE_COUNT; i++) {
        buf_init(&wires[i], MAX_RENDERING);
        if (rendered[i].data && status == STATUS_OK)
            status = json_escape(&wires[i], rendered[i]);
        texts[i] = rendered[i].data ? buf_str(&wires[i]) : (struct str){0};
    }
    if (status == STATUS_OK)
        status = learn(texts, out, error);
    else
        error_set(error, STATUS_UNSUPPORTED, "the renderings are too large");
    for (size_t i = 0; i < TEMPLATE_PROBE_COUNT; i++)
        buf_finish(&wires[i]);
    return status == STATUS_OK ? STATUS_OK : STATUS_UNSUPPORTED;
}

/* ---- as JSON ---- */

static const char *const role_keys[] = {"system", "user", "assistant"};

json_t *template_to_json(const struct chat_template *chat_template)
{
    if (!chat_template->text)
        return json_string(chat_template->name);
    json_t *object = json_object();
    json_put_str(object, "opening", chat_template->opening);
    json_put_str(object, "default_system", chat_template->default_system);
    for (size_t role = 0; role < 3; role++) {
        const struct turn *turn = &chat_template->turns[role];
        json_t *array = json_array();
        json_push(array, json_from_str(turn->before));
        json_push(array, json_from_str(turn->after));
        json_push(array, json_integer(turn->trim));
        json_put(object, role_keys[role], array);
    }
    json_put(object, "system_place", json_integer(chat_template->system_place));
    json_put(object, "history", json_integer(chat_template->history));
    json_put_str(object, "generation", chat_template->generation);
    return object;
}

bool template_equal(const struct chat_template *a, const struct chat_template *b)
{
    if (a == b)
        return true;
    json_t *left = template_to_json(a), *right = template_to_json(b);
    bool equal = json_equal(left, right);
    json_decref(left);
    json_decref(right);
    return equal;
}

static struct str text_at(const json_t *array, size_t index)
{
    const json_t *text = json_array_get(array, index);
    return str_make(json_string_value(text), json_string_length(text));
}

enum status template_from_json(const json_t *json, const struct chat_template **out, struct error *error)
{
    if (json_is_string(json)) {
        const struct chat_template *named = template_find(str_of(json_string_value(json)));
        if (!named)
            return error_set(error, STATUS_INVALID, "no such chat template");
        *out = named;
        return STATUS_OK;
    }
    struct chat_template made = {.opening = json_get_str(json, "opening"),
                                 .default_system = json_get_str(json, "default_system"),
                                 .generation = json_get_str(json, "generation")};
    int64_t place = json_get_int(json, "system_place", -1), history = json_get_int(json, "history", -1);
    bool valid = place >= 0 && place <= SYSTEM_IN_LAST_USER && history >= 0 && history < HISTORY_RULES;
    made.system_place = (enum system_place)place;
    made.history = (enum history_rule)history;
    for (size_t role = 0; role < 3 && valid; role++) {
        const json_t *turn = json_object_get(json, role_keys[role]);
        int64_t trim = json_integer_value(json_array_get(turn, 2));
        valid = json_array_size(turn) == 3 && trim >= 0 && trim < TRIMS;
        made.turns[role] = (struct turn){text_at(turn, 0), text_at(turn, 1), (enum turn_trim)trim};
    }
    if (!valid)
        return error_set(error, STATUS_INVALID, "not a chat template");
    *out = keep(&made);
    return STATUS_OK;
}
