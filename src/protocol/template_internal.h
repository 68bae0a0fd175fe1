/* src/protocol/template_internal.h
 *
 * What a chat template is made of; for the files template*.c alone. All text is in wire form: a newline is written \\n.
 */
#ifndef FATHOM_PROTOCOL_TEMPLATE_INTERNAL_H
#define FATHOM_PROTOCOL_TEMPLATE_INTERNAL_H

#include "core/mem.h"
#include "protocol/template.h"

/* Where a template without a turn for the system puts its prompt. */
enum system_place { SYSTEM_TURN, SYSTEM_IN_FIRST_USER, SYSTEM_IN_LAST_USER };

/* White space that a template strips from a content. */
enum turn_trim { TRIM_NONE, TRIM_BOTH, TRIM_START, TRIM_END };
#define TRIMS 4

/* What a chat server's template makes of the thought in an assistant's message. */
enum history_rule {
    HISTORY_WHOLE,       /* the content is written as it came */
    HISTORY_BEHIND_LAST, /* what stands behind the last </think> */
    HISTORY_BEHIND_FIRST,
    HISTORY_STRIPPED, /* behind the last </think>, without newlines in front */
    HISTORY_QWEN3,    /* as before up to the last user message that is no tool's result; behind it written anew as
                         <think>\n…\n</think>\n\n */
    HISTORY_GLM45,    /* <think></think> in its place; content stripped, on a line of its own */
    HISTORY_RULES
};

struct turn {
    struct str before, after;
    enum turn_trim trim;
};

/* In static text: the day as "26 Jul 2024", and as "2024-07-26". */
#define DAY_NAMED "\x01"
#define DAY_ISO   "\x02"

struct chat_template {
    const char *name;
    struct str bos;
    struct str opening;        /* behind it */
    struct str default_system; /* the whole turn, where the messages have no system prompt */
    struct turn turns[3];      /* by message_role */
    enum system_place system_place;
    enum history_rule history;
    struct str generation;      /* what the model continues */
    struct str chat_generation; /* what a chat server's template writes behind that */
    const char *stops[3];
    int64_t message_tokens, prompt_tokens;
    char *text; /* of a learnt one: owns all the others */
};

extern const struct chat_template template_table[];
extern const size_t template_table_count;

/* What template_detect compares; 0 for a text that is not Jinja. */
uint64_t template_fingerprint(struct str jinja);

#endif
