#include "protocol/prompt_view.h"

#include <stdlib.h>

#include "core/mem.h"
#include "protocol/transcript.h"

void prompt_view_init(struct prompt_view *view)
{
    *view = (struct prompt_view){0};
}

void prompt_view_finish(struct prompt_view *view)
{
    if (!view)
        return;
    free(view->messages);
    *view = (struct prompt_view){0};
}

static struct prompt_message *add(struct prompt_view *view)
{
    view->messages = mem_grow(view->messages, view->count, &view->capacity, sizeof *view->messages);
    return &view->messages[view->count++];
}

static struct prompt_message show(const struct transcript_message *message, const struct prompt_view_options *options)
{
    struct prompt_message shown = {.role = message->role};
    switch (options->thought) {
    case THOUGHT_INLINE:
        shown.wire = options->reopen_thought ? message->reopened : message->wire;
        if (message->thought.len > 0) {
            shown.split_thought = message->thought;
            shown.split_rest = message->rest;
        }
        break;
    case THOUGHT_FIELD:
        shown.wire = message->rest;
        shown.wire_thought = message->thought;
        break;
    case THOUGHT_DROP:
        shown.wire = message->rest;
        break;
    }
    return shown;
}

void prompt_view_build(struct prompt_view *view, const struct transcript *transcript,
                       const struct prompt_view_options *options)
{
    view->count = 0;
    for (size_t i = 0; i < transcript_count(transcript); i++)
        *add(view) = show(transcript_at(transcript, i), options);
}

void prompt_view_add(struct prompt_view *view, enum message_role role, struct str wire)
{
    *add(view) = (struct prompt_message){.role = role, .wire = wire};
}
