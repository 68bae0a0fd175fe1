#include "tools/common/queries.h"

#include <stdlib.h>

#include "core/json.h"
#include "core/mem.h"
#include "tools/common/line.h"

static struct query *query_at(const struct queries *queries, size_t index)
{
    return (struct query *)(void *)((char *)queries->items + index * queries->options.query_size);
}

static bool is_known(char *const *texts, size_t count, const char *text)
{
    for (size_t i = 0; i < count; i++) {
        if (str_equal(str_of(texts[i]), str_of(text)))
            return true;
    }
    return false;
}

/* A fresh array of *count fresh strings. */
static char **take_texts(const json_t *list, size_t max_bytes, size_t *count)
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

static void end_call(struct queries *queries)
{
    struct buf text;
    size_t failed = 0;
    for (size_t i = 0; i < queries->count; i++)
        failed += query_at(queries, i)->chain.state == CHAIN_FAILED;
    buf_init(&text, BUF_UNBOUNDED);
    queries->options.render(queries->options.user, &text);
    tool_finish(queries->options.run, failed < queries->count ? TOOL_OK : TOOL_FAILED, buf_str(&text));
    buf_finish(&text);
}

static void on_settled(void *user)
{
    struct query *query = user;
    struct queries *queries = query->queries;
    if (queries->options.settled)
        queries->options.settled(query);
    if (++queries->n_settled == queries->count)
        end_call(queries);
}

void queries_init(struct queries *queries, const struct queries_options *options)
{
    const json_t *list = json_object_get(tool_arguments(options->run), "query");
    *queries = (struct queries){.options = *options};
    char **texts = take_texts(list, options->max_bytes, &queries->count);
    queries->items = mem_calloc(queries->count, options->query_size);
    for (size_t i = 0; i < queries->count; i++) {
        struct query *query = query_at(queries, i);
        query->queries = queries;
        query->text = texts[i];
        query->what = mem_printf("%s \"%s\"", options->what, texts[i]);
        const struct chain_options chain = {
            .run = options->run,
            .what = query->what,
            .backends = options->backends,
            .n_backends = options->n_backends,
            .tries = options->tries,
            .settled = on_settled,
            .user = query,
        };
        chain_init(&query->chain, &chain);
    }
    free(texts);
}

void queries_finish(struct queries *queries)
{
    for (size_t i = 0; i < queries->count; i++) {
        struct query *query = query_at(queries, i);
        chain_finish(&query->chain);
        free(query->text);
        free(query->what);
    }
    free(queries->items);
}

static void on_nearly_late(void *user)
{
    struct queries *queries = user;
    if (tool_canceled(queries->options.run))
        return;
    int64_t early = tool_time_left_ms(queries->options.run) - queries->margin_ms;
    if (early > 0) {
        tool_wait(queries->options.run, early, on_nearly_late, queries);
        return;
    }
    for (size_t i = 0; i < queries->count; i++)
        chain_give_up(&query_at(queries, i)->chain); /* the last one that settles ends the call */
}

static void refuse_empty(void *user)
{
    struct queries *queries = user;
    tool_finish(queries->options.run, TOOL_FAILED, STR("The search has no query in it: give at least one."));
}

void queries_start(struct queries *queries)
{
    if (queries->count == 0) {
        tool_wait(queries->options.run, 0, refuse_empty, queries);
        return;
    }
    int64_t left = tool_time_left_ms(queries->options.run);
    queries->margin_ms = left < 10000 ? left / 10 : 1000;
    tool_wait(queries->options.run, left - queries->margin_ms, on_nearly_late, queries);
    for (size_t i = 0; i < queries->count; i++)
        chain_start(&query_at(queries, i)->chain);
}
