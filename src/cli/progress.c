#include "cli/progress.h"

#include <stdbool.h>
#include <stdlib.h>

#include "cli/terminal.h"

#define SEPARATOR " \xC2\xB7 "
#define MAX_PARTS 6
#define MEBI      1048576

/* One decimal below 100, none above or where it is 0. */
static void add_scaled(struct buf *out, double value, const char *unit)
{
    double tenths = (double)(int64_t)(value * 10 + 0.5);
    if (tenths >= 1000 || (int64_t)tenths % 10 == 0)
        buf_addf(out, "%.0f%s", value, unit);
    else
        buf_addf(out, "%.1f%s", tenths / 10, unit);
}

void progress_add_tokens(struct buf *out, int64_t tokens)
{
    if (tokens < 1024)
        buf_addf(out, "%lld", (long long)tokens);
    else if (tokens < MEBI)
        add_scaled(out, (double)tokens / 1024, "k");
    else
        add_scaled(out, (double)tokens / MEBI, "M");
}

void progress_add_time(struct buf *out, int64_t milliseconds)
{
    long long seconds = milliseconds / 1000;
    if (seconds >= 3600)
        buf_addf(out, "%lld:%02lld:%02lld", seconds / 3600, seconds / 60 % 60, seconds % 60);
    else
        buf_addf(out, "%lld:%02lld", seconds / 60, seconds % 60);
}

void progress_add_bytes(struct buf *out, size_t bytes)
{
    if (bytes < 1024)
        buf_addf(out, "%zu B", bytes);
    else if (bytes < MEBI)
        add_scaled(out, (double)bytes / 1024, " KB");
    else
        add_scaled(out, (double)bytes / MEBI, " MB");
}

/* A part of the live line; `rank` 0 goes last. */
struct part {
    struct buf text;
    int rank;
    bool shown;
};

static size_t make_parts(const struct progress *progress, struct part parts[MAX_PARTS])
{
    for (size_t i = 0; i < MAX_PARTS; i++)
        buf_init(&parts[i].text, BUF_UNBOUNDED);
    size_t count = 0;
    parts[count].rank = 1;
    buf_addf(&parts[count++].text, "round %lld", (long long)progress->round);
    parts[count].rank = 4;
    buf_addf(&parts[count++].text, "call %lld/%lld", (long long)progress->model_calls, (long long)progress->max_calls);
    parts[count].rank = 3;
    progress_add_tokens(&parts[count].text, progress->context_tokens);
    buf_add_char(&parts[count].text, '/');
    progress_add_tokens(&parts[count].text, progress->context_limit);
    buf_add_text(&parts[count++].text, " tokens");
    parts[count].rank = 0;
    progress_add_time(&parts[count].text, progress->elapsed_ms);
    if (progress->time_limit_ms > 0) {
        buf_add_char(&parts[count].text, '/');
        progress_add_time(&parts[count].text, progress->time_limit_ms);
    }
    count++;
    if (progress->cost_usd >= 0) {
        parts[count].rank = 2;
        buf_addf(&parts[count++].text, "$%.4f", progress->cost_usd);
    }
    if (progress->activity != NULL) {
        parts[count].rank = 5;
        terminal_clean(&parts[count++].text, str_of(progress->activity), true);
    }
    return count;
}

void progress_line(const struct progress *progress, size_t columns, struct buf *out)
{
    struct part parts[MAX_PARTS] = {0};
    size_t count = make_parts(progress, parts), taken = 0;
    for (int rank = 0; rank < MAX_PARTS; rank++) {
        for (size_t i = 0; i < count; i++) {
            size_t width = terminal_columns(buf_str(&parts[i].text)) + (taken > 0 ? 3 : 0);
            if (parts[i].rank != rank || taken + width > columns)
                continue;
            parts[i].shown = true;
            taken += width;
        }
    }
    bool first = true;
    for (size_t i = 0; i < count; i++) {
        if (parts[i].shown) {
            buf_add_text(out, first ? "" : SEPARATOR);
            buf_add(out, buf_str(&parts[i].text));
            first = false;
        }
    }
    for (size_t i = 0; i < MAX_PARTS; i++)
        buf_finish(&parts[i].text);
}

/* Strings in quotes, lists without brackets, all else as JSON. */
static void add_argument(struct buf *out, const json_t *value)
{
    if (json_is_string(value)) {
        buf_add_char(out, '"');
        buf_add(out, str_make(json_string_value(value), json_string_length(value)));
        buf_add_char(out, '"');
    } else if (json_is_array(value)) {
        for (size_t i = 0; i < json_array_size(value); i++) {
            if (i > 0)
                buf_add_text(out, ", ");
            add_argument(out, json_array_get(value, i));
        }
    } else {
        char *text = json_to_text(value);
        buf_add_text(out, text);
        free(text);
    }
}

void progress_call(const char *name, const json_t *arguments, struct str code, size_t columns, struct buf *out)
{
    struct buf raw, clean;
    buf_init(&raw, BUF_UNBOUNDED);
    buf_init(&clean, BUF_UNBOUNDED);
    buf_add_text(&raw, name);
    void *member = json_object_iter((json_t *)arguments);
    for (bool first = true; member != NULL && raw.len < 4096; first = false) {
        buf_add_text(&raw, first ? " " : "; ");
        if (!first)
            buf_addf(&raw, "%s ", json_object_iter_key(member));
        add_argument(&raw, json_object_iter_value(member));
        member = json_object_iter_next((json_t *)arguments, member);
    }
    if (code.len > 0) {
        buf_add_char(&raw, ' ');
        buf_add(&raw, str_trim(code));
    }
    terminal_clean(&clean, buf_str(&raw), true);
    terminal_fit(out, buf_str(&clean), columns);
    buf_finish(&clean);
    buf_finish(&raw);
}

static void add_first_line(struct buf *out, struct str text)
{
    text = str_trim(text);
    size_t end = str_find_char(text, '\n', 0);
    buf_add(out, str_slice(text, 0, end < 400 ? end : 400));
}

void progress_result(const struct notice *notice, size_t columns, struct buf *out)
{
    struct buf raw, clean;
    buf_init(&raw, BUF_UNBOUNDED);
    buf_init(&clean, BUF_UNBOUNDED);
    buf_add_text(&raw, notice->name);
    switch (notice->status) {
    case OUTCOME_OK:
        buf_add_text(&raw, ": ");
        if (notice->n_sources > 0)
            buf_addf(&raw, "%zu source%s, ", notice->n_sources, notice->n_sources == 1 ? "" : "s");
        progress_add_bytes(&raw, notice->text.len);
        buf_addf(&raw, " in %.1f s", (double)notice->elapsed_ms / 1000);
        break;
    case OUTCOME_FAILED:
        buf_add_text(&raw, " failed: ");
        add_first_line(&raw, notice->text);
        break;
    case OUTCOME_TIMEOUT:
        buf_addf(&raw, " took too long: stopped after %.1f s", (double)notice->elapsed_ms / 1000);
        break;
    case OUTCOME_INTERRUPTED:
        buf_add_text(&raw, " was interrupted");
        break;
    }
    terminal_clean(&clean, buf_str(&raw), true);
    terminal_fit(out, buf_str(&clean), columns);
    buf_finish(&clean);
    buf_finish(&raw);
}
