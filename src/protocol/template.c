#include "protocol/template.h"

#include <stdlib.h>

#include "core/mem.h"
#include "core/utf8.h"

/* Where a template without a turn for the system puts its prompt. */
enum system_place { SYSTEM_TURN, SYSTEM_IN_FIRST_USER, SYSTEM_IN_LAST_USER };

struct turn {
    struct str before, after; /* wire form, like all text here: a newline is written \\n */
    bool trim;                /* the template strips white space around the content */
};

struct chat_template {
    const char *name;
    struct str bos;
    struct turn turns[3]; /* by message_role */
    enum system_place system_place;
    struct str generation; /* what the model continues */
    const char *stops[3];
    int64_t message_tokens, prompt_tokens;
};

#define W(literal)                   \
    {                                \
        literal, sizeof(literal) - 1 \
    }

static const struct chat_template templates[] = {
    {
        .name = "chatml",
        .bos = W(""),
        .turns = {{W("<|im_start|>system\\n"), W("<|im_end|>\\n"), false},
                  {W("<|im_start|>user\\n"), W("<|im_end|>\\n"), false},
                  {W("<|im_start|>assistant\\n"), W("<|im_end|>\\n"), false}},
        .generation = W("<|im_start|>assistant\\n"),
        .stops = {"<|im_end|>", "<|endoftext|>"},
        .message_tokens = 5,
        .prompt_tokens = 3,
    },
    {
        .name = "llama3",
        .bos = W("<|begin_of_text|>"),
        .turns = {{W("<|start_header_id|>system<|end_header_id|>\\n\\n"), W("<|eot_id|>"), true},
                  {W("<|start_header_id|>user<|end_header_id|>\\n\\n"), W("<|eot_id|>"), true},
                  {W("<|start_header_id|>assistant<|end_header_id|>\\n\\n"), W("<|eot_id|>"), true}},
        .generation = W("<|start_header_id|>assistant<|end_header_id|>\\n\\n"),
        .stops = {"<|eot_id|>", "<|end_of_text|>"},
        .message_tokens = 5,
        .prompt_tokens = 5,
    },
    {
        .name = "mistral",
        .bos = W("<s>"),
        .turns = {{W(""), W("\\n\\n"), false}, {W(" [INST] "), W(" [/INST]"), false}, {W(" "), W("</s>"), false}},
        .system_place = SYSTEM_IN_FIRST_USER,
        .generation = W(""),
        .stops = {"</s>"},
        .message_tokens = 9, /* [INST] and [/INST] are ordinary text to V1 */
        .prompt_tokens = 1,
    },
    {
        .name = "mistral-v3",
        .bos = W("<s>"),
        .turns = {{W(""), W("\\n\\n"), false}, {W("[INST] "), W("[/INST]"), false}, {W(" "), W("</s>"), true}},
        .system_place = SYSTEM_IN_LAST_USER,
        .generation = W(""),
        .stops = {"</s>"},
        .message_tokens = 3,
        .prompt_tokens = 1,
    },
    {
        .name = "mistral-tekken",
        .bos = W("<s>"),
        .turns = {{W(""), W("\\n\\n"), false}, {W("[INST]"), W("[/INST]"), false}, {W(""), W("</s>"), false}},
        .system_place = SYSTEM_IN_LAST_USER,
        .generation = W(""),
        .stops = {"</s>"},
        .message_tokens = 2,
        .prompt_tokens = 2,
    },
    {
        .name = "mistral-v7",
        .bos = W("<s>"),
        .turns = {{W("[SYSTEM_PROMPT]"), W("[/SYSTEM_PROMPT]"), false},
                  {W("[INST]"), W("[/INST]"), false},
                  {W(""), W("</s>"), false}},
        .generation = W(""),
        .stops = {"</s>"},
        .message_tokens = 2,
        .prompt_tokens = 1,
    },
    {
        .name = "gemma",
        .bos = W("<bos>"),
        .turns = {{W(""), W("\\n\\n"), false},
                  {W("<start_of_turn>user\\n"), W("<end_of_turn>\\n"), true},
                  {W("<start_of_turn>model\\n"), W("<end_of_turn>\\n"), true}},
        .system_place = SYSTEM_IN_FIRST_USER,
        .generation = W("<start_of_turn>model\\n"),
        .stops = {"<end_of_turn>", "<eos>"},
        .message_tokens = 5,
        .prompt_tokens = 4,
    },
    {
        .name = "plain",
        .bos = W(""),
        .turns = {{W(""), W("\\n\\n"), true},
                  {W("User:\\n"), W("\\n\\n"), true},
                  {W("Assistant:\\n"), W("\\n\\n"), true}},
        .generation = W("Assistant:\\n"),
        .stops = {"\nUser:\n"},
        .message_tokens = 4,
        .prompt_tokens = 3,
    },
};

#define TEMPLATE_COUNT (sizeof templates / sizeof templates[0])

const struct chat_template *template_find(struct str name)
{
    for (size_t i = 0; i < TEMPLATE_COUNT; i++) {
        if (str_equal(name, str_of(templates[i].name)))
            return &templates[i];
    }
    return NULL;
}

size_t template_count(void)
{
    return TEMPLATE_COUNT;
}

const char *template_name_at(size_t index)
{
    return templates[index].name;
}

size_t template_stops(const struct chat_template *chat_template, const char *const **stops)
{
    size_t count = 0;
    while (chat_template->stops[count])
        count++;
    *stops = chat_template->stops;
    return count;
}

void template_pieces_init(struct template_pieces *pieces)
{
    *pieces = (struct template_pieces){0};
}

void template_pieces_finish(struct template_pieces *pieces)
{
    if (!pieces)
        return;
    free(pieces->pieces);
    *pieces = (struct template_pieces){0};
}

static void add(struct template_pieces *pieces, struct str piece)
{
    if (piece.len == 0)
        return;
    pieces->pieces = mem_grow(pieces->pieces, pieces->count, &pieces->capacity, sizeof piece);
    pieces->pieces[pieces->count++] = piece;
}

/* White space as the templates' trim, Python's str.strip, has it. */
static bool is_space(uint32_t c)
{
    return (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20) || c == 0x85 || c == 0xA0 || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

/* The character that an escape of json_escape stands for; only what can be white space matters. */
static uint32_t escaped_value(struct str escape)
{
    switch (escape.data[1]) {
    case 'n':
        return '\n';
    case 't':
        return '\t';
    case 'r':
        return '\r';
    case 'f':
        return '\f';
    case 'u': {
        uint32_t value = 0;
        for (size_t i = 2; i < escape.len; i++) {
            char c = ascii_lower(escape.data[i]);
            value = value * 16 + (uint32_t)(ascii_is_digit(c) ? c - '0' : c - 'a' + 10);
        }
        return value;
    }
    default:
        return 'x';
    }
}

/* Bytes of the wire character at the start of `s` (not empty). */
static size_t first_length(struct str s, uint32_t *value)
{
    size_t length = 1;
    if (s.data[0] == '\\' && s.len >= 2) {
        length = s.data[1] == 'u' && s.len >= 6 ? 6 : 2;
        *value = escaped_value(str_slice(s, 0, length));
    } else {
        *value = utf8_decode(s, &length);
    }
    return length;
}

/* Whether the backslash at `at` begins an escape: it does unless it is the second of a pair. */
static bool begins_escape(struct str s, size_t at)
{
    size_t before = 0;
    while (before < at && s.data[at - 1 - before] == '\\')
        before++;
    return s.data[at] == '\\' && before % 2 == 0;
}

/* Bytes of the wire character at the end of `s` (not empty). */
static size_t last_length(struct str s, uint32_t *value)
{
    for (size_t length = 2; length <= 6; length += 4) {
        if (s.len >= length && (length == 6) == (s.data[s.len - length + 1] == 'u') &&
            begins_escape(s, s.len - length)) {
            *value = escaped_value(str_slice(s, s.len - length, s.len));
            return length;
        }
    }
    size_t length = 1;
    while (length < 4 && length < s.len && ((unsigned char)s.data[s.len - length] & 0xC0) == 0x80)
        length++;
    *value = utf8_decode(str_slice(s, s.len - length, s.len), &length);
    return length;
}

static struct str wire_trim(struct str s)
{
    uint32_t value;
    while (s.len > 0) {
        size_t length = first_length(s, &value);
        if (!is_space(value))
            break;
        s = str_slice(s, length, s.len);
    }
    while (s.len > 0) {
        size_t length = last_length(s, &value);
        if (!is_space(value))
            break;
        s.len -= length;
    }
    return s;
}

static void add_content(struct template_pieces *pieces, const struct turn *turn, const struct prompt_message *message)
{
    struct str wire = message->wire;
    if (message->wire_thought.len) {
        add(pieces, STR("<think>\\n"));
        add(pieces, message->wire_thought);
        add(pieces, STR("\\n</think>\\n\\n"));
    }
    add(pieces, turn->trim ? wire_trim(wire) : wire);
}

/* The user message that takes the system prompt in, or view->count where the system has a turn of its own or there is
 * none. */
static size_t system_host(const struct chat_template *chat_template, const struct prompt_view *view)
{
    size_t host = view->count;
    if (chat_template->system_place == SYSTEM_TURN || view->count == 0 || view->messages[0].role != MESSAGE_SYSTEM)
        return host;
    for (size_t i = 1; i < view->count; i++) {
        if (view->messages[i].role != MESSAGE_USER)
            continue;
        host = i;
        if (chat_template->system_place == SYSTEM_IN_FIRST_USER)
            break;
    }
    return host;
}

void template_render(const struct chat_template *chat_template, const struct prompt_view *view,
                     const struct template_options *options, struct template_pieces *pieces)
{
    pieces->count = 0;
    if (options->bos)
        add(pieces, chat_template->bos);
    size_t host = system_host(chat_template, view);
    for (size_t i = 0; i < view->count; i++) {
        const struct prompt_message *message = &view->messages[i];
        const struct turn *turn = &chat_template->turns[message->role];
        if (message->role == MESSAGE_SYSTEM && host < view->count)
            continue;
        add(pieces, turn->before);
        if (i == host) {
            const struct turn *system = &chat_template->turns[MESSAGE_SYSTEM];
            add(pieces, system->before);
            add_content(pieces, system, &view->messages[0]);
            add(pieces, system->after);
        }
        add_content(pieces, turn, message);
        add(pieces, turn->after);
    }
    add(pieces, chat_template->generation);
    if (options->open_think)
        add(pieces, STR("<think>\\n"));
}

int64_t template_message_tokens(const struct chat_template *chat_template)
{
    return chat_template ? chat_template->message_tokens : 6;
}

int64_t template_prompt_tokens(const struct chat_template *chat_template)
{
    return chat_template ? chat_template->prompt_tokens : 8;
}
