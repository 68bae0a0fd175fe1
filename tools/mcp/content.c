/* tools/mcp/content.c: a tools/call result as text. */
#include "tools/mcp/internal.h"

#include <stdlib.h>
#include <string.h>

#include "tools/common/line.h"

/* More than any observation may be; the engine cuts to the exact cap. */
#define MAX_TEXT      ((size_t)4 * 1024 * 1024)
#define MAX_NAMED     ((size_t)200)
#define PRETTY_INDENT JSON_INDENT(2)

/* Appends what fits. */
static void add(struct buf *out, struct str text)
{
    if (out->len < MAX_TEXT)
        buf_add(out, str_slice(text, 0, MAX_TEXT - out->len));
}

static void end_line(struct buf *out)
{
    if (out->len > 0 && out->data[out->len - 1] != '\n')
        buf_add_char(out, '\n');
}

/* "image/png, 12 KB" for base64 of that length. */
static void add_kind(struct buf *out, const json_t *object, struct str base64)
{
    struct str type = json_get_str(object, "mimeType");
    size_t bytes = base64.len / 4 * 3;
    if (type.len > 0) {
        line_add(out, type, MAX_NAMED);
        buf_add_text(out, ", ");
    }
    buf_addf(out, "%zu %s", bytes < 10240 ? bytes : bytes / 1024, bytes < 10240 ? "bytes" : "KB");
}

static void report(struct tool_run *run, struct str uri, struct str title)
{
    if (run != NULL && (str_starts_with_nocase(uri, STR("https://")) || str_starts_with_nocase(uri, STR("http://"))))
        tool_report_source(run, uri, title);
}

static void add_resource(struct buf *out, const json_t *resource, struct tool_run *run)
{
    struct str uri = json_get_str(resource, "uri"), text = json_get_str(resource, "text");
    const json_t *blob = json_object_get(resource, "blob");
    buf_add_text(out, "[Resource ");
    line_add(out, uri.len > 0 ? uri : STR("without a name"), MAX_NAMED);
    if (json_is_string(blob)) {
        buf_add_text(out, ": ");
        add_kind(out, resource, json_get_str(resource, "blob"));
        buf_add_text(out, ", not shown]");
        return;
    }
    buf_add_text(out, "]\n");
    add(out, text);
    report(run, uri, json_get_str(resource, "title"));
}

static void add_link(struct buf *out, const json_t *item, struct tool_run *run)
{
    struct str uri = json_get_str(item, "uri"), description = json_get_str(item, "description");
    struct str title = json_get_str(item, "title");
    if (title.len == 0)
        title = json_get_str(item, "name");
    buf_add_char(out, '[');
    line_add(out, title.len > 0 ? title : STR("Resource"), MAX_NAMED);
    buf_add_text(out, "](");
    line_add(out, uri, 2000);
    buf_add_char(out, ')');
    if (description.len > 0) {
        buf_add_text(out, ": ");
        line_add(out, description, 4 * MAX_NAMED);
    }
    report(run, uri, title);
}

/* An image or a sound by its name, and what is known of an image. */
static void add_unseen(struct buf *out, const json_t *item, const char *kind, const char *caption)
{
    buf_addf(out, "[%s: ", kind);
    add_kind(out, item, json_get_str(item, "data"));
    buf_add_text(out, caption != NULL ? ". A model that sees images describes it thus:]\n" : ", not shown]");
    if (caption != NULL)
        add(out, str_of(caption));
}

static void add_item(struct buf *out, const json_t *item, struct tool_run *run, const char *caption)
{
    const char *type = json_get_string(item, "type");
    if (type == NULL)
        return;
    end_line(out);
    if (strcmp(type, "text") == 0) {
        add(out, json_get_str(item, "text"));
    } else if (strcmp(type, "resource") == 0) {
        add_resource(out, json_object_get(item, "resource"), run);
    } else if (strcmp(type, "resource_link") == 0) {
        add_link(out, item, run);
    } else if (strcmp(type, "image") == 0) {
        add_unseen(out, item, "Image", caption);
    } else if (strcmp(type, "audio") == 0) {
        add_unseen(out, item, "Sound", NULL);
    } else {
        buf_add_text(out, "[Content of the kind ");
        line_add(out, str_of(type), 40);
        buf_add_text(out, ", not shown]");
    }
}

static bool has_text(const json_t *content)
{
    size_t i;
    json_t *item;
    json_array_foreach (content, i, item) {
        const char *type = json_get_string(item, "type");
        if (type != NULL && (strcmp(type, "text") == 0 || strcmp(type, "resource") == 0))
            return true;
    }
    return false;
}

void mcp_content_text(const json_t *result, struct tool_run *run, const struct mcp_images *images, struct buf *out)
{
    const json_t *content = json_object_get(result, "content");
    const json_t *structured = json_object_get(result, "structuredContent");
    size_t i, n_images = 0;
    json_t *item;
    json_array_foreach (content, i, item) {
        const char *type = json_get_string(item, "type");
        bool image = type != NULL && strcmp(type, "image") == 0;
        if (out->len < MAX_TEXT)
            add_item(out, item, run, image ? mcp_images_caption(images, n_images) : NULL);
        n_images += image;
    }
    if (structured != NULL && !json_is_null(structured) && !has_text(content)) {
        char *text = json_dumps(structured, JSON_ENCODE_ANY | PRETTY_INDENT);
        end_line(out);
        add(out, str_of(text));
        free(text);
    }
}
