/* Placeholders: which a prompt may use, and putting values in their place. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/json.h"
#include "core/utf8.h"
#include "protocol/profile_internal.h"
#include "protocol/signature.h"

static const struct {
    const char *name;
    const char *placeholders; /* separated and surrounded by blanks */
} specs[PROMPT_COUNT] = {
    [PROMPT_SYSTEM] = {"system", " tools tool_names tool_notes date "},
    [PROMPT_QUESTION] = {"question", " question tools tool_names tool_notes date "},
    [PROMPT_NOTICE_CALL] = {"notice-call", " problem example tool_names "},
    [PROMPT_NOTICE_TOOL] = {"notice-tool", " name tool_names "},
    [PROMPT_NOTICE_NOTHING] = {"notice-nothing", " tool_names "},
    [PROMPT_NOTICE_REPEATED] = {"notice-repeated", " tool_names "},
    [PROMPT_NOTICE_FAILED] = {"notice-failed", " tool problem "},
    [PROMPT_NOTICE_TIMEOUT] = {"notice-timeout", " tool seconds "},
    [PROMPT_NOTICE_INTERRUPTED] = {"notice-interrupted", " tool "},
    [PROMPT_NOTICE_CUT] = {"notice-cut", " omitted total "},
    [PROMPT_NOTICE_TOOLS] = {"notice-tools", " tools tool_names "},
    [PROMPT_NOTICE_EMPTY] = {"notice-empty", " tool "},
    [PROMPT_WARNING] = {"warning", " what used limit "},
    [PROMPT_DEMAND_CALLS] = {"demand-calls", " question "},
    [PROMPT_DEMAND_CONTEXT] = {"demand-context", " question "},
    [PROMPT_DEMAND_TIME] = {"demand-time", " question "},
    [PROMPT_DEMAND_COST] = {"demand-cost", " question "},
    [PROMPT_DEMAND_STUCK] = {"demand-stuck", " question "},
    [PROMPT_SEARCH_BLOCK] = {"search-block", " query count results notice "},
    [PROMPT_SEARCH_RESULT] = {"search-result", " number title url date source snippet "},
    [PROMPT_SEARCH_EMPTY] = {"search-empty", " query "},
    [PROMPT_SEARCH_FAILED] = {"search-failed", " query problem "},
    [PROMPT_SCHOLAR_BLOCK] = {"scholar-block", " query count results notice "},
    [PROMPT_SCHOLAR_RESULT] = {"scholar-result",
                               " number title url pdf authors venue publication year citations abstract "},
    [PROMPT_SCHOLAR_CLOSED] = {"scholar-closed",
                               " number title url pdf authors venue publication year citations abstract "},
    [PROMPT_VISIT_PAGE] = {"visit-page", " url title author date note goal evidence summary links "},
    [PROMPT_VISIT_FAILED] = {"visit-failed", " url goal problem "},
    [PROMPT_PAGE_SUMMARY] = {"page-summary", " url goal content webpage_content "},
    [PROMPT_FILE_BLOCK] = {"file-block", " files count tokens "},
    [PROMPT_FILE_WHOLE] = {"file-whole", " name about content "},
    [PROMPT_FILE_PIECE] = {"file-piece", " name about content what "},
    [PROMPT_FILE_OVERVIEW] = {"file-overview", " name about content contents tokens parts "},
    [PROMPT_FILE_FAILED] = {"file-failed", " name problem "},
    [PROMPT_IMAGE_TEXT] = {"image-text", " name question "},
    [PROMPT_PYTHON_STREAM] = {"python-stream", " stream text "},
    [PROMPT_PYTHON_LEFT_OUT] = {"python-left-out", " bytes "},
    [PROMPT_PYTHON_SILENT] = {"python-silent", " "},
    [PROMPT_PYTHON_RAISED] = {"python-raised", " exception line "},
    [PROMPT_PYTHON_RAISED_NOWHERE] = {"python-raised-nowhere", " exception "},
    [PROMPT_PYTHON_EXIT] = {"python-exit", " code "},
    [PROMPT_PYTHON_CRASHED] = {"python-crashed", " signal "},
    [PROMPT_PYTHON_TIMEOUT] = {"python-timeout", " seconds "},
    [PROMPT_PYTHON_MEMORY] = {"python-memory", " megabytes "},
    [PROMPT_PYTHON_CPU] = {"python-cpu", " seconds "},
    [PROMPT_PYTHON_PROCESSES] = {"python-processes", " "},
    [PROMPT_PYTHON_FLOOD] = {"python-flood", " megabytes "},
    [PROMPT_PYTHON_NOT_RUN] = {"python-not-run", " problem "},
    [PROMPT_PYTHON_STATE_LOST] = {"python-state-lost", " "},
};

const char *profile_prompt_name(enum prompt_id id)
{
    return specs[id].name;
}

enum prompt_id profile_prompt_find(struct str name)
{
    int id = 0;
    while (id < PROMPT_COUNT && !str_equal(name, str_of(specs[id].name)))
        id++;
    return (enum prompt_id)id;
}

static bool is_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || c == '_';
}

/* The next placeholder of SYNTAX_FATHOM in `text` at or after `from`: sets its ends, braces included, and its name. */
static bool next_placeholder(struct str text, size_t from, size_t *start, size_t *end, struct str *name)
{
    for (size_t open = from; (open = str_find_char(text, '{', open)) != STR_NONE; open++) {
        size_t close = open + 1;
        while (close < text.len && is_name_char(text.data[close]))
            close++;
        if (close == open + 1 || close == text.len || text.data[close] != '}')
            continue;
        *start = open;
        *end = close + 1;
        *name = str_slice(text, open + 1, close);
        return true;
    }
    return false;
}

static bool is_allowed(enum prompt_id id, struct str name)
{
    struct str list = str_of(specs[id].placeholders);
    for (size_t at = 0; (at = str_find(list, name, at)) != STR_NONE; at++) {
        if (list.data[at - 1] == ' ' && list.data[at + name.len] == ' ')
            return true;
    }
    return false;
}

static enum status placeholder_error(enum prompt_id id, struct str text, size_t at, struct str what,
                                     struct error *error)
{
    int line = 1;
    size_t start = 0;
    for (size_t i = 0; i < at; i++) {
        if (text.data[i] == '\n') {
            line++;
            start = i + 1;
        }
    }
    error_set(error, STATUS_INVALID, "\"%.*s\" is no placeholder of the prompt \"%s\", which knows:%s", STR_ARG(what),
              specs[id].name, specs[id].placeholders);
    error_at(error, NULL, line, (int)(at - start) + 1);
    return STATUS_INVALID;
}

static enum status check_fathom(enum prompt_id id, struct str text, struct error *error)
{
    size_t start, end = 0;
    struct str name;
    while (next_placeholder(text, end, &start, &end, &name)) {
        if (!is_allowed(id, name))
            return placeholder_error(id, text, start, str_slice(text, start, end), error);
    }
    return STATUS_OK;
}

/* One step through a text for str.format: the length of what stands at `at`; `name` is set for a placeholder and empty
 * otherwise. 0 for what str.format refuses or does more with than inserting. */
static size_t python_step(struct str text, size_t at, struct str *name)
{
    char c = text.data[at];
    *name = (struct str){0};
    if (c != '{' && c != '}')
        return 1;
    if (at + 1 < text.len && text.data[at + 1] == c)
        return 2;
    size_t start, end;
    if (c == '{' && next_placeholder(text, at, &start, &end, name) && start == at)
        return end - start;
    return 0;
}

static enum status check_python(enum prompt_id id, struct str text, struct error *error)
{
    for (size_t at = 0; at < text.len;) {
        struct str name;
        size_t length = python_step(text, at, &name);
        if (length == 0 || (name.len && !is_allowed(id, name)))
            return placeholder_error(id, text, at, str_slice(text, at, at + (length ? length : 12)), error);
        at += length;
    }
    return STATUS_OK;
}

enum status profile_check_placeholders(enum prompt_id id, const struct prompt_text *text, struct error *error)
{
    struct str body = str_make(text->text, text->len);
    enum status status = STATUS_OK;
    switch (text->syntax) {
    case SYNTAX_FATHOM:
        status = check_fathom(id, body, error);
        break;
    case SYNTAX_PYTHON:
        status = check_python(id, body, error);
        break;
    case SYNTAX_VERBATIM:
        break;
    }
    return status == STATUS_OK ? check_fathom(id, str_of(text->append), error) : status;
}

struct values {
    const struct prompt_value *values;
    size_t count;
};

static struct str value_of(const struct values *values, struct str name)
{
    if (str_equal(name, STR("webpage_content")))
        name = STR("content");
    for (size_t i = 0; i < values->count; i++) {
        if (str_equal(name, str_of(values->values[i].name)))
            return values->values[i].text;
    }
    return (struct str){0};
}

/* Whether a line has placeholders and all of them are empty: such a line goes. */
static bool line_vanishes(struct str line, const struct values *values)
{
    size_t start, end = 0, seen = 0;
    struct str name;
    for (; next_placeholder(line, end, &start, &end, &name); seen++) {
        if (value_of(values, name).len > 0)
            return false;
    }
    return seen > 0;
}

static enum status render_line(struct str line, const struct values *values, struct buf *out)
{
    size_t start, end = 0, from = 0;
    struct str name;
    enum status status = STATUS_OK;
    while (status == STATUS_OK && next_placeholder(line, end, &start, &end, &name)) {
        status = buf_append_str(out, str_slice(line, from, start));
        if (status == STATUS_OK)
            status = buf_append_str(out, value_of(values, name));
        from = end;
    }
    return status == STATUS_OK ? buf_append_str(out, str_slice(line, from, line.len)) : status;
}

static enum status render_fathom(struct str text, const struct values *values, struct buf *out)
{
    size_t begin = out->len;
    bool vanished = false; /* the line before went */
    for (size_t at = 0; at < text.len;) {
        size_t newline = str_find_char(text, '\n', at);
        size_t end = newline == STR_NONE ? text.len : newline + 1;
        struct str line = str_slice(text, at, end);
        at = end;
        bool after_gap = out->len == begin || (out->len >= begin + 2 && str_ends_with(buf_str(out), STR("\n\n")));
        if (vanished && after_gap && str_equal(line, STR("\n")))
            continue;
        vanished = line_vanishes(line, values);
        enum status status = vanished ? STATUS_OK : render_line(line, values, out);
        if (status != STATUS_OK)
            return status;
    }
    while (vanished && out->len > begin && out->data[out->len - 1] == '\n')
        buf_truncate(out, out->len - 1);
    return STATUS_OK;
}

static enum status render_python(struct str text, const struct values *values, struct buf *out)
{
    enum status status = STATUS_OK;
    for (size_t at = 0; at < text.len && status == STATUS_OK;) {
        struct str name;
        size_t length = python_step(text, at, &name);
        if (name.len)
            status = buf_append_str(out, value_of(values, name));
        else
            status = buf_append_char(out, text.data[at]);
        at += length;
    }
    return status;
}

enum status profile_render(const struct profile *profile, enum prompt_id id, const struct prompt_value *values,
                           size_t count, struct buf *out)
{
    const struct prompt_text *text = &profile->prompts->texts[id];
    const struct values all = {values, count};
    struct str body = str_make(text->text, text->len);
    size_t begin = out->len;
    enum status status = STATUS_OK;
    switch (text->syntax) {
    case SYNTAX_FATHOM:
        status = render_fathom(body, &all, out);
        break;
    case SYNTAX_PYTHON:
        status = render_python(body, &all, out);
        break;
    case SYNTAX_VERBATIM:
        status = buf_append_str(out, body);
        break;
    }
    if (status == STATUS_OK && text->append)
        status = render_line(str_of(text->append), &all, out);
    if (status != STATUS_OK)
        buf_truncate(out, begin);
    return status;
}

static int dump(const char *bytes, size_t len, void *user)
{
    buf_add(user, str_make(bytes, len));
    return 0;
}

/* JSON with blanks behind commas and colons, as chat templates' tojson writes it; indented by two when `pretty`. */
static void add_json(struct buf *out, const json_t *value, bool pretty)
{
    json_dump_callback(value, dump, out, JSON_ENCODE_ANY | (pretty ? JSON_INDENT(2) : 0));
}

static void add_list_entry(struct buf *out, const struct tool_signature *tool)
{
    buf_addf(out, "- %s(", tool->name);
    const char *key;
    json_t *schema;
    const char *comma = "";
    json_object_foreach (json_object_get(tool->parameters, "properties"), key, schema) {
        const char *type = json_get_string(schema, "type");
        const char *item = json_get_string(json_object_get(schema, "items"), "type");
        buf_addf(out, "%s%s: %s", comma, key, type ? type : "any");
        if (item)
            buf_addf(out, " of %s", item);
        comma = ", ";
    }
    buf_addf(out, "): %s", tool->description);
}

void profile_render_tools(const struct profile *profile, const struct tool_signature *const *tools, size_t n_tools,
                          struct buf *out)
{
    for (size_t i = 0; i < n_tools; i++) {
        switch (profile->tool_rendering) {
        case TOOLS_JSON_LINES:
            buf_add_text(out, i > 0 ? "\n" : "");
            buf_add_text(out, "{\"type\": \"function\", \"function\": ");
            add_json(out, tools[i]->json, false);
            buf_add_char(out, '}');
            break;
        case TOOLS_JSON_PRETTY:
            buf_add_text(out, i > 0 ? ",\n" : "");
            add_json(out, tools[i]->json, true);
            break;
        case TOOLS_LIST:
            buf_add_text(out, i > 0 ? "\n" : "");
            add_list_entry(out, tools[i]);
            break;
        }
    }
}

static void add_tool_notes(const struct profile *profile, const struct profile_start *start, struct buf *out)
{
    const struct profile_prompts *prompts = profile->prompts;
    for (size_t i = 0; i < start->n_tools; i++) {
        for (size_t k = 0; k < prompts->n_notes; k++) {
            if (strcmp(prompts->notes[k].tool, start->tools[i]->name) != 0)
                continue;
            buf_add_text(out, out->len ? "\n\n" : "");
            buf_add_text(out, prompts->notes[k].text);
        }
    }
}

void profile_render_start(const struct profile *profile, const struct profile_start *start, struct buf *system,
                          struct buf *user)
{
    struct buf tools, names, notes;
    buf_init(&tools, BUF_UNBOUNDED);
    buf_init(&names, BUF_UNBOUNDED);
    buf_init(&notes, BUF_UNBOUNDED);
    profile_render_tools(profile, start->tools, start->n_tools, &tools);
    for (size_t i = 0; i < start->n_tools; i++)
        buf_addf(&names, "%s%s", i > 0 ? ", " : "", start->tools[i]->name);
    add_tool_notes(profile, start, &notes);
    const struct prompt_value values[] = {
        {"tools", buf_str(&tools)}, {"tool_names", buf_str(&names)}, {"tool_notes", buf_str(&notes)},
        {"date", start->date},      {"question", start->question},
    };
    if (profile_render(profile, PROMPT_SYSTEM, values, 5, system) != STATUS_OK ||
        profile_render(profile, PROMPT_QUESTION, values, 5, user) != STATUS_OK)
        abort(); /* the buffers are unbounded */
    buf_finish(&tools);
    buf_finish(&names);
    buf_finish(&notes);
}

/* "900 bytes", "12 KB", "3.4 MB": what a reader, human or model, takes in at once. */
static struct str size_text(size_t bytes, char out[32])
{
    if (bytes < 1000)
        snprintf(out, 32, "%zu bytes", bytes);
    else if (bytes < 1000000)
        snprintf(out, 32, "%zu KB", (bytes + 500) / 1000);
    else
        snprintf(out, 32, "%.1f MB", (double)bytes / 1e6);
    return str_of(out);
}

size_t profile_cut_observation(const struct profile *profile, struct str text, size_t max_bytes, struct buf *out)
{
    if (text.len <= max_bytes) {
        buf_add(out, text);
        return 0;
    }
    size_t keep = utf8_floor(text, max_bytes);
    size_t newline = str_rfind_char(str_slice(text, 0, keep), '\n');
    if (newline != STR_NONE && newline >= keep - keep / 4)
        keep = newline;
    size_t omitted = text.len - keep;
    char omitted_text[32], total_text[32];
    const struct prompt_value values[] = {
        {"omitted", size_text(omitted, omitted_text)},
        {"total", size_text(text.len, total_text)},
    };
    buf_add(out, str_slice(text, 0, keep));
    if (keep > 0)
        buf_add_text(out, "\n\n");
    if (profile_render(profile, PROMPT_NOTICE_CUT, values, 2, out) != STATUS_OK)
        abort(); /* the buffer is unbounded */
    return omitted;
}
