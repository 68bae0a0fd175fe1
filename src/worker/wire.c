#include "worker/wire.h"

#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/utf8.h"

#define MAX_TITLE_BYTES 300 /* of a section */

/* Names, not numbers, so that a worker of another version is noticed and not misread. */
static const struct {
    enum status status;
    const char *name;
} statuses[] = {
    {STATUS_OK, "ok"},
    {STATUS_INVALID, "invalid"},
    {STATUS_SYNTAX, "syntax"},
    {STATUS_TOO_BIG, "too_big"},
    {STATUS_IO, "io"},
    {STATUS_TIMEOUT, "timeout"},
    {STATUS_REFUSED, "refused"},
    {STATUS_DENIED, "denied"},
    {STATUS_UNSUPPORTED, "unsupported"},
    {STATUS_NETWORK, "network"},
    {STATUS_CANCELED, "canceled"},
    {STATUS_NOT_FOUND, "not_found"},
    {STATUS_ORDER, "order"},
};

static const char *const kinds[] = {
    [READER_TEXT] = "text",     [READER_MARKDOWN] = "markdown", [READER_HTML] = "html",
    [READER_JSON] = "json",     [READER_JSON_LINES] = "jsonl",  [READER_XML] = "xml",
    [READER_FEED] = "feed",     [READER_TABLE] = "table",       [READER_NOTEBOOK] = "notebook",
    [READER_MAIL] = "mail",     [READER_MAN] = "man",           [READER_PDF] = "pdf",
    [READER_DOCX] = "docx",     [READER_PPTX] = "pptx",         [READER_XLSX] = "xlsx",
    [READER_ODT] = "odt",       [READER_ODS] = "ods",           [READER_ODP] = "odp",
    [READER_EPUB] = "epub",     [READER_OFFICE] = "office",     [READER_ARCHIVE] = "archive",
    [READER_IMAGE] = "image",   [READER_AUDIO] = "audio",       [READER_VIDEO] = "video",
    [READER_BINARY] = "binary",
};

#define N_KINDS (sizeof kinds / sizeof kinds[0])

const char *worker_kind_name(enum reader_kind kind)
{
    return (size_t)kind < N_KINDS && kinds[kind] ? kinds[kind] : "unknown";
}

static const char *status_name(enum status status)
{
    for (size_t i = 0; i < sizeof statuses / sizeof statuses[0]; i++)
        if (statuses[i].status == status)
            return statuses[i].name;
    return "io";
}

static bool find_status(const char *name, enum status *out)
{
    for (size_t i = 0; name && i < sizeof statuses / sizeof statuses[0]; i++) {
        if (strcmp(statuses[i].name, name) == 0) {
            *out = statuses[i].status;
            return true;
        }
    }
    return false;
}

static bool find_kind(const char *name, enum reader_kind *out)
{
    for (size_t i = 0; name && i < N_KINDS; i++) {
        if (kinds[i] && strcmp(kinds[i], name) == 0) {
            *out = (enum reader_kind)i;
            return true;
        }
    }
    return false;
}

/* ---- request ---- */

char *worker_request_write(const struct worker_request *request)
{
    json_t *object = json_object();
    json_put_str(object, "version", STR(FATHOM_VERSION));
    json_put_str(object, "name", request->name);
    json_put_str(object, "content_type", request->content_type);
    json_put_str(object, "url", request->url);
    json_put_str(object, "temp_dir", request->temp_dir);
    json_put(object, "whole_page", json_boolean(request->whole_page));
    json_put(object, "namespaced", json_boolean(request->namespaced));
    json_put(object, "max_text", json_integer((json_int_t)request->max_text));
    json_put(object, "timeout_ms", json_integer(request->timeout_ms));
    json_put(object, "memory_bytes", json_integer(request->memory_bytes));
    char *text = json_to_text(object);
    json_decref(object);
    return text;
}

enum status worker_request_parse(struct str json, json_t **owner, struct worker_request *out, struct error *error)
{
    json_t *object = NULL;
    enum status status = json_parse(json, &object, error);
    if (status != STATUS_OK)
        return status;
    const char *version = json_get_string(object, "version");
    if (!version || strcmp(version, FATHOM_VERSION) != 0) {
        json_decref(object);
        return error_set(error, STATUS_INVALID, "the program and its fathom-worker are of different versions");
    }
    *out = (struct worker_request){
        .name = json_get_str(object, "name"),
        .content_type = json_get_str(object, "content_type"),
        .url = json_get_str(object, "url"),
        .temp_dir = json_get_str(object, "temp_dir"),
        .whole_page = json_is_true(json_object_get(object, "whole_page")),
        .namespaced = json_is_true(json_object_get(object, "namespaced")),
        .max_text = (size_t)json_get_int(object, "max_text", 0),
        .timeout_ms = json_get_int(object, "timeout_ms", 0),
        .memory_bytes = json_get_int(object, "memory_bytes", 0),
    };
    *owner = object;
    return STATUS_OK;
}

/* ---- reply ---- */

static void put_text(json_t *object, const char *key, const char *text)
{
    if (text && *text)
        json_put_str(object, key, str_of(text));
}

static json_t *sections_json(const struct reader_text *text)
{
    json_t *list = json_array();
    size_t count = text->n_sections < WORKER_MAX_SECTIONS ? text->n_sections : WORKER_MAX_SECTIONS;
    for (size_t i = 0; i < count; i++) {
        const struct reader_section *section = &text->sections[i];
        json_t *item = json_array();
        struct str title = str_of(section->title);
        json_push(item, json_from_str(str_slice(title, 0, utf8_floor(title, MAX_TITLE_BYTES))));
        json_push(item, json_integer(section->level));
        json_push(item, json_integer((json_int_t)section->offset));
        json_push(list, item);
    }
    return list;
}

void worker_reply_write(struct buf *out, enum reader_kind kind, const struct reader_text *text,
                        const struct error *error, const char *confinement)
{
    json_t *object = json_object();
    json_put_str(object, "status", str_of(status_name(text ? STATUS_OK : error->status)));
    if (!text)
        json_put_str(object, "message", str_of(error->message));
    json_put_str(object, "kind", str_of(worker_kind_name(text ? text->kind : kind)));
    put_text(object, "confinement", confinement);
    if (text) {
        put_text(object, "title", text->title);
        put_text(object, "author", text->author);
        put_text(object, "date", text->date);
        put_text(object, "language", text->language);
        put_text(object, "notice", text->notice);
        json_put(object, "sections", sections_json(text));
        json_put(object, "pages", json_integer(text->pages));
        json_put(object, "truncated", json_boolean(text->truncated));
    }
    json_put(object, "length", json_integer(text ? (json_int_t)text->markdown.len : 0));
    if (json_write(out, object) != STATUS_OK)
        abort(); /* the buffer has no cap */
    buf_add_char(out, '\n');
    json_decref(object);
}

/* False when an entry is no section or lies outside. */
static bool take_sections(const json_t *list, struct worker_reply *reply)
{
    size_t count = json_array_size(list), last = 0;
    if (count > WORKER_MAX_SECTIONS)
        return false;
    reply->sections = mem_calloc(count, sizeof *reply->sections);
    for (size_t i = 0; i < count; i++) {
        const json_t *item = json_array_get(list, i);
        const char *title = json_string_value(json_array_get(item, 0));
        json_int_t level = json_integer_value(json_array_get(item, 1));
        json_int_t offset = json_integer_value(json_array_get(item, 2));
        if (!title || offset < 0 || (size_t)offset < last || (size_t)offset > reply->length)
            return false;
        last = (size_t)offset;
        reply->sections[reply->n_sections++] = (struct reader_section){
            .title = mem_strdup(title), .level = level >= 1 && level <= 6 ? (int)level : 1, .offset = last};
    }
    return true;
}

static bool take_head(const json_t *head, struct worker_reply *reply)
{
    int64_t length = json_get_int(head, "length", -1), pages = json_get_int(head, "pages", 0);
    if (!find_status(json_get_string(head, "status"), &reply->status) ||
        !find_kind(json_get_string(head, "kind"), &reply->kind) || length < 0)
        return false;
    reply->length = (size_t)length;
    reply->pages = pages > 0 && pages < 1000000 ? (int)pages : 0;
    reply->title = json_get_str(head, "title");
    reply->author = json_get_str(head, "author");
    reply->date = json_get_str(head, "date");
    reply->language = json_get_str(head, "language");
    reply->notice = json_get_str(head, "notice");
    reply->confinement = json_get_str(head, "confinement");
    reply->truncated = json_is_true(json_object_get(head, "truncated"));
    if (reply->status != STATUS_OK) {
        const char *message = json_get_string(head, "message");
        error_set(&reply->error, reply->status, "%s", message ? message : "the document could not be read");
    }
    return take_sections(json_object_get(head, "sections"), reply);
}

enum status worker_reply_parse(struct str bytes, struct worker_reply *out, size_t *body_at, struct error *error)
{
    struct worker_reply reply = {0};
    size_t end = str_find_char(str_slice(bytes, 0, WORKER_MAX_HEAD), '\n', 0);
    if (end == STR_NONE)
        return error_set(error, STATUS_SYNTAX, "the worker's reply has no head");
    if (json_parse(str_slice(bytes, 0, end), &reply.owner, NULL) != STATUS_OK || !take_head(reply.owner, &reply) ||
        bytes.len - end - 1 != reply.length) {
        worker_reply_finish(&reply);
        return error_set(error, STATUS_SYNTAX, "the worker's reply cannot be read");
    }
    *body_at = end + 1;
    *out = reply;
    return STATUS_OK;
}

void worker_reply_finish(struct worker_reply *reply)
{
    for (size_t i = 0; i < reply->n_sections; i++)
        free(reply->sections[i].title);
    free(reply->sections);
    json_decref(reply->owner);
    *reply = (struct worker_reply){0};
}
