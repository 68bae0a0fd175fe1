/* What the model reads: the profile's wording over what the files hold. */
#include "core/mem.h"
#include "protocol/profile.h"
#include "text/token_estimate.h"
#include "tools/parse_file/internal.h"

#include <stdio.h>
#include <stdlib.h>

enum { MAX_LISTED = 60, MAX_LABEL = 200 };

static void render(const struct parse_call *call, enum prompt_id id, const struct prompt_value *values, size_t count,
                   struct buf *out)
{
    if (profile_render(tool_profile(call->run), id, values, count, out) != STATUS_OK)
        abort(); /* the buffer has no cap */
}

static void add_fact(struct buf *out, const char *before, const char *fact)
{
    if (!fact || !*fact)
        return;
    buf_add_text(out, before);
    line_add(out, str_of(fact), MAX_LABEL);
}

/* "Excel workbook, “Budget”, by A. Person, 2024-05-01" and what else is worth knowing before one reads it. */
static void describe(const struct parse_item *item, struct buf *out)
{
    const struct file_text *text = cached_text(item->text);
    buf_add_text(out, reader_kind_name(text->kind));
    if (text->title && !str_equal(str_of(text->title), str_of(item->opened.file.name)))
        add_fact(out, ", title: ", text->title);
    add_fact(out, ", author: ", text->author);
    add_fact(out, ", date: ", text->date);
    if (text->notice) {
        buf_add_char(out, '\n');
        line_add(out, str_of(text->notice), 1000);
    }
    if (item->remark) {
        buf_add_char(out, '\n');
        buf_add_text(out, item->remark);
    }
    if (text->truncated)
        buf_add_text(out, "\nThe file is longer than what could be taken in: this is its beginning.");
}

static void render_piece_missing(const struct parse_item *item, struct buf *out)
{
    struct buf problem;
    buf_init(&problem, BUF_UNBOUNDED);
    buf_addf(&problem, "there is no such piece of it: %s.", item->selection.what.data);
    if (item->selection.contents.len > 0) {
        buf_add_text(&problem, "\n");
        buf_add(&problem, str_trim_end(buf_str(&item->selection.contents)));
    }
    const struct prompt_value values[] = {{.name = "name", .text = str_of(item->opened.file.name)},
                                          {.name = "problem", .text = buf_str(&problem)}};
    render(item->call, PROMPT_FILE_FAILED, values, sizeof values / sizeof values[0], out);
    buf_finish(&problem);
}

static void render_text(const struct parse_item *item, struct buf *out)
{
    static const enum prompt_id ids[] = {[SELECTION_WHOLE] = PROMPT_FILE_WHOLE,
                                         [SELECTION_OVERVIEW] = PROMPT_FILE_OVERVIEW,
                                         [SELECTION_PIECE] = PROMPT_FILE_PIECE};
    const struct file_text *text = cached_text(item->text);
    const struct selection *selection = &item->selection;
    struct buf about;
    char tokens[32], parts[32];
    buf_init(&about, BUF_UNBOUNDED);
    describe(item, &about);
    snprintf(tokens, sizeof tokens, "%lld", (long long)text->tokens);
    snprintf(parts, sizeof parts, "%zu", text->n_parts);
    const struct prompt_value values[] = {
        {.name = "name", .text = str_of(item->opened.file.name)},
        {.name = "about", .text = buf_str(&about)},
        {.name = "content", .text = selection->text.len > 0 ? buf_str(&selection->text) : STR("(It holds no text.)")},
        {.name = "contents",
         .text = selection->contents.len > 0 ? str_trim_end(buf_str(&selection->contents)) : STR("(no headings)")},
        {.name = "what", .text = buf_str(&selection->what)},
        {.name = "tokens", .text = str_of(tokens)},
        {.name = "parts", .text = str_of(parts)},
    };
    render(item->call, ids[selection->kind], values, sizeof values / sizeof values[0], out);
    if (selection->kind == SELECTION_OVERVIEW || text->truncated)
        tool_report_truncated(item->call->run);
    buf_finish(&about);
}

static void render_failure(const struct parse_item *item, struct buf *out)
{
    struct buf name;
    buf_init(&name, BUF_UNBOUNDED);
    line_add(&name, item->opened.file.name ? str_of(item->opened.file.name) : str_trim(item->given), MAX_LABEL);
    const struct prompt_value values[] = {{.name = "name", .text = buf_str(&name)},
                                          {.name = "problem", .text = str_of(item->problem)}};
    render(item->call, PROMPT_FILE_FAILED, values, sizeof values / sizeof values[0], out);
    buf_finish(&name);
}

/* Once, behind the files: names that were not found are best answered with those there are. */
static void render_list(const struct parse_call *call, struct buf *out)
{
    bool wanted = false;
    for (size_t i = 0; i < call->n_items; i++)
        wanted = wanted || (call->items[i].state == ITEM_FAILED && call->items[i].lists);
    if (!wanted)
        return;
    buf_add_text(out, "\n\nThe files there are:\n");
    if (files_list(call->tool->files, MAX_LISTED, "- ", out) == 0)
        buf_add_text(out, "- none\n");
    buf_truncate(out, str_trim_end(buf_str(out)).len);
}

void parse_file_render(struct parse_call *call, struct buf *out)
{
    struct buf files;
    char count[32], tokens[32];
    buf_init(&files, BUF_UNBOUNDED);
    for (size_t i = 0; i < call->n_items; i++) {
        const struct parse_item *item = &call->items[i];
        if (i > 0)
            buf_add_text(&files, "\n\n");
        if (item->state != ITEM_DONE)
            render_failure(item, &files);
        else if (item->selection.kind == SELECTION_NOTHING)
            render_piece_missing(item, &files);
        else
            render_text(item, &files);
    }
    render_list(call, &files);
    snprintf(count, sizeof count, "%zu", call->n_items);
    snprintf(tokens, sizeof tokens, "%lld", (long long)token_estimate_text(buf_str(&files)));
    const struct prompt_value values[] = {{.name = "files", .text = buf_str(&files)},
                                          {.name = "count", .text = str_of(count)},
                                          {.name = "tokens", .text = str_of(tokens)}};
    render(call, PROMPT_FILE_BLOCK, values, sizeof values / sizeof values[0], out);
    buf_finish(&files);
}
