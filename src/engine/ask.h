/* src/engine/ask.h
 *
 * Questions to the person who started a run: a tool wants to know something (tool_ask in engine/tool.h), or a tool may
 * only run with consent. Whoever runs the engine says how a person is asked; without that, nobody is there and every
 * question is answered so. Loop thread only.
 */
#ifndef FATHOM_ENGINE_ASK_H
#define FATHOM_ENGINE_ASK_H

#include "core/json.h"
#include "core/str.h"
#include "engine/tool.h"

struct ask; /* a question that waits for its answer */
struct engine;

enum ask_purpose {
    ASK_FOR_ANSWER,     /* `text` is the question; an answer fits `schema` where there is one */
    ASK_FOR_PERMISSION, /* whether the call may run: the answer is "once" or "always"; else it is declined */
};

/* What is asked. Texts come from models, tools and servers: they are to be cleaned before they are shown. Borrowed
 * until the question is answered or withdrawn. */
struct ask_question {
    enum ask_purpose purpose;
    const char *tool;
    struct str text;
    const json_t *schema;    /* NULL: any text */
    const json_t *arguments; /* of the call, for a permission */
    struct str code;
};

struct asker {
    /* Shows a question; ask_answer follows at any time, also from inside. Several may wait at once. */
    void (*ask)(void *user, struct ask *ask);

    /* Nobody waits for the answer any more; the question is gone when this returns. */
    void (*withdraw)(void *user, struct ask *ask);
    void *user;
};

/* Says how a person is asked; copied. NULL: nobody is there (the beginning). Not while a question waits. */
void engine_set_asker(struct engine *engine, const struct asker *asker);

const struct ask_question *ask_question(const struct ask *ask);

/* Ends a question. `text` (copied) counts with ASK_ANSWERED alone. The question is gone. */
void ask_answer(struct ask *ask, enum ask_outcome outcome, struct str text);

#endif
