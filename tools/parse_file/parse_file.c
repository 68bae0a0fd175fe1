#include "tools/parse_file/parse_file.h"

#include "core/embed.h"
#include "core/mem.h"
#include "protocol/clean.h"
#include "tools/parse_file/internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* What all files of a call may take together, and one at least, in tokens: an observation ends at 32,000. */
enum { CALL_TOKENS = 28000, LEAST_TOKENS = 1500, MAX_DESCRIBED = 40 };

#define CACHE_BYTES ((size_t)64 * 1024 * 1024)

/* ---- files of a call ---- */

bool parse_item_over(const struct parse_item *item)
{
    return tool_canceled(item->call->run) || item->state == ITEM_DONE || item->state == ITEM_FAILED;
}

static void finish_call(struct parse_call *call)
{
    struct buf text;
    bool any = false;
    for (size_t i = 0; i < call->n_items; i++)
        any = any || (call->items[i].state == ITEM_DONE && call->items[i].selection.kind != SELECTION_NOTHING);
    buf_init(&text, BUF_UNBOUNDED);
    parse_file_render(call, &text);
    tool_finish(call->run, any ? TOOL_OK : TOOL_FAILED, buf_str(&text));
    buf_finish(&text);
}

/* Those that waited for this item's file go on by themselves: its text is in the cache now, or they will hear why not.
 */
static void wake_waiting(const struct parse_item *done)
{
    struct parse_call *call = done->call;
    for (size_t i = 0; i < call->n_items && !tool_canceled(call->run); i++) {
        struct parse_item *item = &call->items[i];
        if (item->state == ITEM_WAITING && item->opened.file.inode == done->opened.file.inode &&
            item->opened.file.device == done->opened.file.device)
            parse_item_start(item);
    }
}

static void settle(struct parse_item *item, enum item_state state)
{
    struct parse_call *call = item->call;
    item->state = state;
    if (++call->n_over == call->n_items)
        finish_call(call);
    else
        wake_waiting(item);
}

void parse_item_done(struct parse_item *item)
{
    settle(item, ITEM_DONE);
}

void parse_item_failed(struct parse_item *item, const char *detail, const char *problem, ...)
{
    struct buf text, name;
    buf_init(&text, BUF_UNBOUNDED);
    buf_init(&name, BUF_UNBOUNDED);
    va_list arguments;
    va_start(arguments, problem);
    buf_addv(&text, problem, arguments);
    va_end(arguments);
    item->problem = buf_take(&text);
    line_add(&name, item->opened.file.name ? str_of(item->opened.file.name) : item->given, 200);
    tool_report_notice(item->call->run, "%s: %s", name.data, detail && *detail ? detail : item->problem);
    buf_finish(&name);
    buf_finish(&text);
    settle(item, ITEM_FAILED);
}

/* ---- the deadline ---- */

static void on_nearly_late(void *user)
{
    struct parse_call *call = user;
    if (tool_canceled(call->run))
        return;
    call->hurried = true;
    for (size_t i = 0; i < call->n_items && !tool_canceled(call->run); i++)
        if (!parse_item_over(&call->items[i]))
            parse_item_hurry(&call->items[i]);
}

/* ---- a call ---- */

static void free_item(struct parse_item *item)
{
    sound_destroy(item->sound);
    text_cache_give(item->call->tool->cache, item->text);
    file_text_finish(&item->fresh);
    selection_finish(&item->selection);
    found_file_finish(&item->opening.file);
    found_file_finish(&item->opened.file);
    buf_finish(&item->bytes);
    free(item->problem);
    free(item->remark);
}

static void free_call(void *state)
{
    struct parse_call *call = state;
    for (size_t i = 0; i < call->n_items; i++)
        free_item(&call->items[i]);
    free(call->items);
    free(call);
}

static bool has_item(const struct parse_call *call, struct str given)
{
    for (size_t i = 0; i < call->n_items; i++)
        if (str_equal(call->items[i].given, given))
            return true;
    return false;
}

static void begin(void *user)
{
    struct parse_call *call = user;
    if (call->n_items == 0) {
        tool_finish(call->run, TOOL_FAILED, STR("No file was named: give at least one name."));
        return;
    }
    for (size_t i = 0; i < call->n_items && !tool_canceled(call->run); i++)
        parse_item_start(&call->items[i]);
}

static void parse_file_start(struct tool *self, struct tool_run *run)
{
    struct parse_call *call = mem_zalloc(sizeof *call);
    call->tool = (struct parse_file_tool *)self;
    call->run = run;
    const json_t *list = json_object_get(tool_arguments(run), "files");
    call->items = mem_calloc(json_array_size(list), sizeof *call->items);
    size_t index;
    json_t *entry;
    json_array_foreach (list, index, entry) {
        struct str given = str_make(json_string_value(entry), json_string_length(entry));
        if (!has_item(call, given))
            call->items[call->n_items++] = (struct parse_item){.call = call, .given = given};
    }
    int64_t share = CALL_TOKENS / (call->n_items > 0 ? (int64_t)call->n_items : 1);
    call->budget = share < call->tool->file_tokens ? share : call->tool->file_tokens;
    if (call->budget < LEAST_TOKENS)
        call->budget = LEAST_TOKENS < call->tool->file_tokens ? LEAST_TOKENS : call->tool->file_tokens;
    int64_t left = tool_time_left_ms(run), margin = left < 40000 ? left / 10 : 4000;
    tool_set_state(run, call, free_call);
    tool_wait(run, 0, begin, call);
    tool_wait(run, left - margin, on_nearly_late, call);
}

/* ---- the tool ---- */

static bool parse_file_check(struct tool *self, struct buf *line)
{
    struct parse_file_tool *tool = (struct parse_file_tool *)self;
    struct buf list;
    buf_init(&list, BUF_UNBOUNDED);
    size_t count = files_list(tool->files, 0, "", &list);
    buf_addf(line, "%zu file%s; ", count, count == 1 ? "" : "s");
    buf_finish(&list);
    return documents_check(tool->documents, line);
}

static void parse_file_destroy(struct tool *self)
{
    struct parse_file_tool *tool = (struct parse_file_tool *)self;
    signature_finish(&tool->signature);
    text_cache_destroy(tool->cache);
    files_destroy(tool->files);
    documents_destroy(tool->own_documents);
    free(tool->ffmpeg);
    free(tool);
}

static enum status add_files(struct files *files, const struct parse_file_options *options, struct error *error)
{
    enum status status = STATUS_OK;
    for (size_t i = 0; status == STATUS_OK && i < options->n_files; i++)
        status = files_add_file(files, options->files[i], error);
    for (size_t i = 0; status == STATUS_OK && i < options->n_roots; i++)
        status = files_add_root(files, options->roots[i], error);
    return status;
}

/* The model learns from the description which files there are. */
static void describe_files(struct parse_file_tool *tool)
{
    struct tool_signature *signature = &tool->signature;
    struct buf text, list;
    buf_init(&text, BUF_UNBOUNDED);
    buf_init(&list, BUF_UNBOUNDED);
    buf_addf(&text, "%s\nThe files of this run:\n", signature->description);
    if (files_list(tool->files, MAX_DESCRIBED, "- ", &list) == 0)
        buf_add_text(&list, "- none\n");
    if (clean_text(&text, buf_str(&list)) != STATUS_OK) /* a name may be made to look like a tag */
        abort();                                        /* the buffer has no cap */
    buf_finish(&list);
    buf_truncate(&text, str_trim_end(buf_str(&text)).len);
    json_t *json = json_deep_copy(signature->json);
    json_put_str(json, "description", buf_str(&text));
    json_decref(signature->json);
    signature->json = json;
    free(signature->description);
    signature->description = buf_take(&text);
    buf_finish(&text);
}

enum status parse_file_tool_create(const struct parse_file_options *options, struct tool **out, struct error *error)
{
    struct str signature = options->signature;
    if (signature.len == 0 && !embed_find("tools/parse_file/signature.json", &signature))
        return error_set(error, STATUS_NOT_FOUND, "the signature of parse_file is missing");
    struct parse_file_tool *tool = mem_zalloc(sizeof *tool);
    tool->tool = (struct tool){
        .signature = &tool->signature,
        .idempotent = true,
        .timeout_ms = options->timeout_ms > 0 ? options->timeout_ms : PARSE_FILE_DEFAULT_TIMEOUT_MS,
        .start = parse_file_start,
        .check = parse_file_check,
        .destroy = parse_file_destroy,
    };
    tool->file_tokens = options->file_tokens > 0 ? options->file_tokens : PARSE_FILE_DEFAULT_TOKENS;
    tool->files = files_create();
    tool->cache = text_cache_create(CACHE_BYTES);
    tool->ffmpeg = mem_strdup(options->ffmpeg ? options->ffmpeg : "ffmpeg");
    enum status status = signature_load(signature, &tool->signature, error);
    if (status == STATUS_OK)
        status = add_files(tool->files, options, error);
    if (status != STATUS_OK) {
        parse_file_destroy(&tool->tool);
        return status;
    }
    tool->own_documents = options->documents ? NULL : documents_create(NULL);
    tool->documents = options->documents ? options->documents : tool->own_documents;
    describe_files(tool);
    *out = &tool->tool;
    return STATUS_OK;
}
