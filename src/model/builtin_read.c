/* Reads question, tools, earlier calls and observations back from the messages, as any model does. Nothing in them is
 * trusted: a page counts as read only under an address that was asked for. */
#include "model/builtin_internal.h"

#include <stdlib.h>
#include <string.h>

#include "core/json.h"
#include "core/mem.h"
#include "protocol/prompt_view.h"

#define MAX_TEXT ((size_t)64 * 1024 * 1024)

/* ---- tools and question ---- */

/* Whether the description of the tools has this one, in any rendering: "name": "search", or - search(…). */
static bool names_tool(struct str text, struct str name)
{
    for (size_t at = 0; (at = str_find(text, name, at)) != STR_NONE; at += name.len) {
        struct str before = str_slice(text, 0, at), after = str_slice(text, at + name.len, text.len);
        bool quoted = str_ends_with(before, STR("\"")) && str_starts_with(after, STR("\""));
        before.len -= quoted;
        before = str_trim_end(before);
        if (quoted && str_ends_with(before, STR(":")) &&
            str_ends_with(str_trim_end(str_slice(before, 0, before.len - 1)), STR("\"name\"")))
            return true;
        if (!quoted && str_ends_with(before, STR("-")) && str_starts_with(after, STR("(")))
            return true;
    }
    return false;
}

static void read_tools(struct reader *reader, struct str message)
{
    reader->has_search |= names_tool(message, STR("search"));
    reader->has_visit |= names_tool(message, STR("visit"));
}

/* The question of the first user message, without the instructions that some profiles write before it. */
static struct str find_question(struct str message)
{
    static const char *const labels[] = {"\n# The question\n", "\nUser: ", "\nQuestion: ", "\nQuestion:\n"};
    bool instructed =
        str_find(message, STR("<tool_call>"), 0) != STR_NONE || str_find(message, STR("<tools>"), 0) != STR_NONE;
    size_t start = 0;
    for (size_t i = 0; instructed && i < sizeof labels / sizeof *labels; i++)
        for (size_t at = 0; (at = str_find(message, str_of(labels[i]), at)) != STR_NONE; at++)
            start = at + strlen(labels[i]) > start ? at + strlen(labels[i]) : start;
    return str_trim(str_slice(message, start, message.len));
}

/* ---- our own calls ---- */

static void keep(char **list, size_t *count, const char *text)
{
    if (text && *count < READER_MAX_CALLS)
        list[(*count)++] = mem_strdup(text);
}

static void read_call(struct reader *reader, struct str text)
{
    json_t *call;
    if (json_parse(str_trim(text), &call, NULL) != STATUS_OK)
        return;
    const char *name = json_get_string(call, "name");
    const json_t *arguments = json_object_get(call, "arguments");
    size_t i;
    json_t *item;
    if (name && strcmp(name, "search") == 0) {
        reader->n_searches++;
        json_array_foreach (json_object_get(arguments, "query"), i, item)
            keep(reader->queries, &reader->n_queries, json_string_value(item));
    } else if (name && strcmp(name, "visit") == 0) {
        reader->n_visits++;
        json_array_foreach (json_object_get(arguments, "url"), i, item)
            keep(reader->visited, &reader->n_visited, json_string_value(item));
    }
    json_decref(call);
}

static void read_own(struct reader *reader, struct str message)
{
    const struct str open = STR("<tool_call>"), close = STR("</tool_call>");
    for (size_t at = 0; (at = str_find(message, open, at)) != STR_NONE;) {
        size_t end = str_find(message, close, at);
        if (end == STR_NONE)
            return;
        read_call(reader, str_slice(message, at + open.len, end));
        at = end;
    }
}

bool reader_was_visited(const struct reader *reader, struct str url)
{
    for (size_t i = 0; i < reader->n_visited; i++)
        if (str_equal(str_of(reader->visited[i]), url))
            return true;
    return false;
}

bool reader_was_asked(const struct reader *reader, struct str query)
{
    for (size_t i = 0; i < reader->n_queries; i++)
        if (str_equal_ascii_nocase(str_of(reader->queries[i]), query))
            return true;
    return false;
}

/* ---- search results ---- */

/* "3. [title](url)". Titles may hold brackets, addresses parentheses. */
static bool read_result_line(struct str line, struct str *title, struct str *url)
{
    size_t digits = 0;
    line = str_trim(line);
    while (digits < line.len && ascii_is_digit(line.data[digits]))
        digits++;
    struct str rest = str_slice(line, digits, line.len);
    if (!digits || !str_starts_with(rest, STR(". [")) || !str_ends_with(rest, STR(")")))
        return false;
    size_t split = STR_NONE;
    for (size_t at = 0; (at = str_find(rest, STR("]("), at)) != STR_NONE; at++)
        split = at;
    if (split == STR_NONE)
        return false;
    *title = str_slice(rest, 3, split);
    *url = str_slice(rest, split + 2, rest.len - 1);
    return url->len > 0 && str_find(*url, STR("://"), 0) != STR_NONE && str_find_char(*url, ' ', 0) == STR_NONE;
}

static struct reader_result *find_result(struct reader *reader, struct str url)
{
    for (size_t i = 0; i < reader->n_results; i++)
        if (str_equal(reader->results[i].url, url))
            return &reader->results[i];
    return NULL;
}

static struct reader_result *add_result(struct reader *reader, struct str url, struct str title, size_t place)
{
    struct reader_result *result = find_result(reader, url);
    if (!result && reader->n_results < READER_MAX_RESULTS) {
        result = &reader->results[reader->n_results++];
        *result = (struct reader_result){.url = url, .title = title, .place = place};
    }
    if (result) {
        result->found++;
        result->weight += 1.0 / (double)(place + 3);
    }
    return result;
}

/* Whether a line within a list of results belongs to none of them. */
static bool ends_results(struct str line)
{
    return str_starts_with(line, STR("---")) || str_starts_with(line, STR("===")) ||
           str_starts_with(line, STR("## ")) || str_starts_with(line, STR("Results for \"")) ||
           str_starts_with(line, STR("A Google search for '"));
}

static void read_results(struct reader *reader, struct str block)
{
    struct reader_result *current = NULL;
    size_t place = 0;
    struct str rest = block, line;
    while (str_split_next(&rest, '\n', &line)) {
        struct str title, url;
        if (read_result_line(line, &title, &url)) {
            current = add_result(reader, url, title, place++);
            continue;
        }
        if (ends_results(line)) {
            current = NULL;
            place = 0;
        }
        line = str_trim(line);
        bool label = str_starts_with(line, STR("Date: ")) || str_starts_with(line, STR("Source: ")) ||
                     str_starts_with(line, STR("Date published: "));
        if (!current || label || !line.len || str_equal(line, STR("(listed above)")))
            continue;
        /* The lines of a snippet stand one behind the other in the block, so one range holds them all. */
        if (!current->snippet.len)
            current->snippet = line;
        else if (line.data > current->snippet.data && (size_t)(line.data - current->snippet.data) < 8192)
            current->snippet.len = (size_t)(line.data + line.len - current->snippet.data);
    }
}

/* ---- pages ---- */

/* The last address before a page's evidence: "Link: URL", or "… of URL for the goal …". Only one that was asked for. */
static bool find_page_url(const struct reader *reader, struct str before, struct str *url)
{
    bool found = false;
    size_t best = 0;
    for (size_t i = 0; i < reader->n_visited; i++) {
        struct str visited = str_of(reader->visited[i]);
        for (size_t at = 0; (at = str_find(before, visited, at)) != STR_NONE; at++) {
            struct str after = str_slice(before, at + visited.len, before.len);
            bool whole = !after.len || ascii_is_space(after.data[0]);
            if (whole && (!found || at >= best)) {
                best = at;
                *url = str_slice(before, at, at + visited.len);
                found = true;
            }
        }
    }
    return found;
}

static struct str line_value(struct str text, const char *label)
{
    struct str rest = text, line, value = {0};
    while (str_split_next(&rest, '\n', &line))
        if (str_starts_with(line, str_of(label)))
            value = str_trim(str_slice(line, strlen(label), line.len));
    return value;
}

static bool is_failure(struct str evidence)
{
    return str_starts_with(evidence, STR("The page could not be read")) ||
           str_starts_with(evidence, STR("The provided webpage content could not be accessed"));
}

static void read_pages(struct reader *reader, struct str block)
{
    const struct str mark = STR("Evidence in page:"), summary_mark = STR("\n\nSummary:");
    size_t at = str_find(block, mark, 0), from = 0;
    while (at != STR_NONE && reader->n_pages < READER_MAX_PAGES) {
        struct str head = str_slice(block, from, at), url;
        size_t next = str_find(block, mark, at + mark.len);
        /* A page may quote the mark; it is another page only when an address of ours stands before it. */
        while (next != STR_NONE && !find_page_url(reader, str_slice(block, at, next), &url))
            next = str_find(block, mark, next + mark.len);
        struct str body = str_slice(block, at + mark.len, next == STR_NONE ? block.len : next);
        size_t split = str_find(body, summary_mark, 0);
        struct str evidence = str_trim(str_slice(body, 0, split));
        struct str summary = split == STR_NONE ? (struct str){0} : str_slice(body, split + summary_mark.len, body.len);
        size_t end = str_find(summary, STR("\n\nLinks on the page:"), 0);
        size_t rule = str_find(summary, STR("\n\n---\n\n"), 0);
        summary = str_trim(str_slice(summary, 0, end < rule ? end : rule));
        if (find_page_url(reader, head, &url) && !is_failure(evidence))
            reader->pages[reader->n_pages++] = (struct reader_page){
                .url = url, .title = line_value(head, "Page: "), .evidence = evidence, .summary = summary};
        from = at + mark.len;
        at = next;
    }
}

/* ---- observations ---- */

/* Whether the program, in its last words, wants the answer now. Looked for at the end of the last message alone: a page
 * that asks for it earlier asks in vain. */
static bool is_demand(struct str block)
{
    static const char *const phrases[] = {
        "no further tool will run", "no further tool call is possible", "answer now",  "stop calling tools",
        "stop making tool calls",   "maximum context length",           "final answer"};
    struct str tail = block;
    if (tail.len > 4000)
        tail = str_slice(tail, tail.len - 4000, tail.len);
    for (size_t i = 0; i < sizeof phrases / sizeof *phrases; i++)
        if (str_find_nocase(tail, str_of(phrases[i]), 0) != STR_NONE)
            return true;
    return false;
}

static void read_observations(struct reader *reader, struct str message, bool last)
{
    const struct str open = STR("<tool_response>"), close = STR("</tool_response>");
    struct str block = message;
    for (size_t at = 0; (at = str_find(message, open, at)) != STR_NONE;) {
        size_t end = str_find(message, close, at);
        block = str_slice(message, at + open.len, end);
        read_results(reader, block);
        read_pages(reader, block);
        if (end == STR_NONE)
            break;
        at = end;
    }
    if (last)
        reader->demanded = is_demand(block);
}

void reader_init(struct reader *reader, const struct prompt_view *prompt)
{
    *reader = (struct reader){0};
    buf_init(&reader->text, MAX_TEXT);
    size_t *ends = mem_calloc(prompt->count + 1, sizeof *ends);
    size_t readable = 0;
    for (; readable < prompt->count; readable++) {
        if (json_unescape(&reader->text, prompt->messages[readable].wire) != STATUS_OK)
            break;
        ends[readable + 1] = reader->text.len;
    }
    struct str all = buf_str(&reader->text);
    bool asked = false;
    for (size_t i = 0; i < readable; i++) {
        struct str message = str_slice(all, ends[i], ends[i + 1]);
        switch (prompt->messages[i].role) {
        case MESSAGE_SYSTEM:
            read_tools(reader, message);
            break;
        case MESSAGE_ASSISTANT:
            read_own(reader, message);
            break;
        case MESSAGE_USER:
            if (asked) {
                read_observations(reader, message, i + 1 == readable);
                break;
            }
            asked = true;
            reader->question = find_question(message);
            read_tools(reader, str_slice(message, 0,
                                         (size_t)(reader->question.data ? reader->question.data - message.data : 0)));
            break;
        }
    }
    free(ends);
}

void reader_finish(struct reader *reader)
{
    for (size_t i = 0; i < reader->n_queries; i++)
        free(reader->queries[i]);
    for (size_t i = 0; i < reader->n_visited; i++)
        free(reader->visited[i]);
    buf_finish(&reader->text);
}
