#include "tools/common/queries.h"

#include <stdlib.h>

#include "core/mem.h"
#include "tools/common/line.h"

static bool is_known(char *const *texts, size_t count, const char *text)
{
    for (size_t i = 0; i < count; i++) {
        if (str_equal(str_of(texts[i]), str_of(text)))
            return true;
    }
    return false;
}

char **queries_take(const json_t *list, size_t max_bytes, size_t *count)
{
    char **texts = mem_calloc(json_array_size(list), sizeof *texts);
    size_t index;
    json_t *item;
    *count = 0;
    json_array_foreach (list, index, item) {
        char *text = line_make(str_make(json_string_value(item), json_string_length(item)), max_bytes);
        if (*text && !is_known(texts, *count, text))
            texts[(*count)++] = text;
        else
            free(text);
    }
    return texts;
}

static void on_nearly_late(void *user)
{
    struct queries *queries = user;
    if (tool_canceled(queries->run))
        return;
    int64_t early = tool_time_left_ms(queries->run) - queries->margin_ms;
    if (early > 0) {
        tool_wait(queries->run, early, on_nearly_late, queries);
        return;
    }
    for (size_t i = 0; i < queries->count; i++)
        chain_give_up(queries->chain_of(queries->user, i)); /* the last one that settles ends the call */
}

static void refuse_empty(void *user)
{
    struct queries *queries = user;
    tool_finish(queries->run, TOOL_FAILED, STR("The search has no query in it: give at least one."));
}

void queries_start(struct queries *queries)
{
    if (queries->count == 0) {
        tool_wait(queries->run, 0, refuse_empty, queries);
        return;
    }
    int64_t left = tool_time_left_ms(queries->run);
    queries->margin_ms = left < 10000 ? left / 10 : 1000;
    tool_wait(queries->run, left - queries->margin_ms, on_nearly_late, queries);
    for (size_t i = 0; i < queries->count; i++)
        chain_start(queries->chain_of(queries->user, i));
}

void queries_settled(struct queries *queries)
{
    struct buf text;
    size_t failed = 0;
    if (++queries->n_settled < queries->count)
        return;
    for (size_t i = 0; i < queries->count; i++)
        failed += queries->chain_of(queries->user, i)->state == CHAIN_FAILED;
    buf_init(&text, BUF_UNBOUNDED);
    queries->render(queries->user, &text);
    tool_finish(queries->run, failed < queries->count ? TOOL_OK : TOOL_FAILED, buf_str(&text));
    buf_finish(&text);
}
