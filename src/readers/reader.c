#include "readers/reader.h"

#include <stdlib.h>
#include <string.h>

#include "core/json.h"
#include "core/mem.h"
#include "core/utf8.h"
#include "readers/internal.h"
#include "text/charset.h"
#include "text/html.h"
#include "text/markdown.h"

#define DEFAULT_CAP    ((size_t)10 << 20)
#define MAX_TITLE_LINE 250 /* bytes */

static bool name_ends(struct str name, const char *const *endings)
{
    for (; *endings; endings++) {
        struct str ending = str_of(*endings);
        if (name.len > ending.len && str_equal_ascii_nocase(str_slice(name, name.len - ending.len, name.len), ending))
            return true;
    }
    return false;
}

/* "text/html" of "Text/HTML; charset=x" */
static struct str media_type(struct str content_type)
{
    return str_trim(str_slice(content_type, 0, str_find_char(content_type, ';', 0)));
}

static enum reader_kind kind_of(struct str text, struct str name, struct str content_type)
{
    static const char *const markdown[] = {".md", ".markdown", ".mkd", ".mdx", NULL};
    static const char *const html[] = {".html", ".htm", ".xhtml", ".shtml", NULL};
    static const char *const json[] = {".json", ".jsonld", ".geojson", ".ipynb", NULL};
    static const char *const xml[] = {".xml", ".rss", ".atom", ".xsd", NULL};
    static const char *const plain[] = {".txt", ".text", ".rst", ".log", ".csv", ".tsv", ".jsonl", ".ndjson", NULL};
    struct str type = media_type(content_type);
    bool is_plain = str_equal_ascii_nocase(type, STR("text/plain"));
    if (str_equal_ascii_nocase(type, STR("text/troff")) || str_find_nocase(type, STR("troff-man"), 0) != STR_NONE ||
        reader_is_man_name(name))
        return man_is_likely(text) ? READER_MAN : READER_TEXT;
    if (name_ends(name, markdown) || str_equal_ascii_nocase(type, STR("text/markdown")))
        return str_equal_ascii_nocase(type, STR("text/html")) ? READER_HTML : READER_MARKDOWN;
    if (str_equal_ascii_nocase(type, STR("text/html")) || str_equal_ascii_nocase(type, STR("application/xhtml+xml")))
        return READER_HTML;
    if (name_ends(name, plain) || (is_plain && !html_is_likely(text)))
        return READER_TEXT;
    if (html_is_likely(text) || (!type.len && name_ends(name, html)))
        return READER_HTML;
    if (str_ends_with(type, STR("/json")) || str_ends_with(type, STR("+json")) || name_ends(name, json))
        return READER_JSON;
    if (str_ends_with(type, STR("/xml")) || str_ends_with(type, STR("+xml")) || name_ends(name, xml) ||
        str_starts_with(str_trim_start(text), STR("<?xml")))
        return READER_XML;
    if (!name.len && !type.len && man_is_likely(text))
        return READER_MAN;
    return READER_TEXT;
}

static enum status read_html(struct str text, const struct reader_source *source, struct reader_text *out,
                             struct error *error)
{
    struct html_options options = {
        .base_url = source->url,
        .whole_page = source->whole_page,
        .drop_links = source->drop_links,
        .max_input_bytes = BUF_UNBOUNDED, /* was checked when it was read */
        .max_text_bytes = out->markdown.cap,
    };
    struct html_page page;
    enum status status = html_to_markdown(text, &options, &page, error);
    if (status != STATUS_OK)
        return status;
    buf_finish(&out->markdown);
    out->markdown = page.markdown;
    out->title = page.title;
    out->author = page.author;
    out->date = page.date;
    out->site_name = page.site_name;
    out->language = page.language;
    out->description = page.description;
    out->canonical_url = page.canonical_url;
    out->truncated = page.truncated;
    return STATUS_OK;
}

/* Text as it is, cut at the cap. */
static void take_text(struct str text, struct reader_text *out)
{
    size_t fits = utf8_floor(text, out->markdown.cap);
    out->truncated = fits < text.len;
    if (buf_append(&out->markdown, text.data, fits) != STATUS_OK)
        out->truncated = true;
}

/* JSON on one line is no text to cut passages from, so it is indented; what does not parse stays as it is. */
static void read_json(struct str text, struct reader_text *out)
{
    json_t *value;
    char *dumped = NULL;
    if (json_parse(text, &value, NULL) == STATUS_OK) {
        dumped = json_dumps(value, JSON_INDENT(2) | JSON_ENCODE_ANY);
        const char *title = json_get_string(value, "title");
        out->title = mem_strdup_or_null(title);
        json_decref(value);
    }
    take_text(dumped ? str_of(dumped) : text, out);
    free(dumped);
}

/* The text of the first heading of Markdown, or the title of its front matter; NULL when there is none. */
static char *first_heading(struct str markdown)
{
    struct str rest = str_slice(markdown, 0, 65536), line;
    bool front = str_starts_with(markdown, STR("---\n")), first = true, fence = false;
    struct buf title;
    buf_init(&title, 300);
    while (str_split_next(&rest, '\n', &line)) {
        if (front && !first && str_starts_with(line, STR("---")))
            front = false;
        first = false;
        if (str_starts_with(line, STR("```")))
            fence = !fence;
        struct str found = {0};
        if (front && str_starts_with_nocase(line, STR("title:"))) {
            found = str_trim(str_slice(line, 6, line.len));
            if (found.len > 1 && (found.data[0] == '"' || found.data[0] == '\'') &&
                found.data[found.len - 1] == found.data[0])
                found = str_slice(found, 1, found.len - 1);
        } else if (!front && !fence && line.len && line.data[0] == '#') {
            found = line;
        }
        if (found.len && (markdown_to_line(found, &title) != STATUS_OK || title.len))
            break;
    }
    return title.len ? buf_take(&title) : (buf_finish(&title), NULL);
}

/* A short first line that stands alone is the title of plain text; NULL when there is none. */
static char *first_line(struct str text)
{
    text = str_trim_start(str_slice(text, 0, 4096));
    struct str line = str_trim_end(str_slice(text, 0, str_find_char(text, '\n', 0)));
    struct str below = str_slice(text, line.len, text.len), next;
    if (!line.len || line.len > MAX_TITLE_LINE || !str_split_next(&below, '\n', &next))
        return NULL;
    bool alone = str_split_next(&below, '\n', &next) && (!str_trim(next).len || str_starts_with(next, STR("===")));
    return alone ? str_dup(line) : NULL;
}

static void name_untitled(struct reader_text *out, struct str name)
{
    if (out->title && out->title[0])
        return;
    free(out->title);
    out->title = NULL;
    if (out->kind == READER_HTML || out->kind == READER_MARKDOWN)
        out->title = first_heading(buf_str(&out->markdown));
    else if (out->kind == READER_TEXT)
        out->title = first_line(buf_str(&out->markdown));
    if (!out->title)
        out->title = str_dup(base_name(name));
}

static enum status read_text(struct str text, const struct reader_source *source, struct reader_text *out,
                             struct error *error)
{
    out->kind = kind_of(text, base_name(source->name), source->content_type);
    switch (out->kind) {
    case READER_HTML:
        return read_html(text, source, out, error);
    case READER_MAN:
        return man_read(text, source, out, error);
    case READER_JSON:
        read_json(text, out);
        return STATUS_OK;
    case READER_XML:
    case READER_TEXT:
    case READER_MARKDOWN:
        take_text(text, out);
        return STATUS_OK;
    }
    return STATUS_OK;
}

/* NULs and other control characters that are no white space have no place in text. */
static void drop_controls(struct buf *text)
{
    size_t kept = 0;
    for (size_t i = 0; i < text->len; i++) {
        unsigned char c = (unsigned char)text->data[i];
        if (c == '\r' && i + 1 < text->len && text->data[i + 1] == '\n')
            continue;
        if (c == '\r' || c == '\f' || c == '\v')
            c = '\n';
        if (c >= 32 || c == '\n' || c == '\t')
            text->data[kept++] = (char)c;
    }
    buf_truncate(text, kept);
}

enum status reader_read(const struct reader_source *source, struct reader_text *out, struct error *error)
{
    size_t cap = source->max_bytes ? source->max_bytes : DEFAULT_CAP;
    struct buf unpacked, text;
    buf_init(&unpacked, cap);
    buf_init(&text, BUF_UNBOUNDED); /* at most three times the input, which is capped */
    struct reader_text result = {0};
    buf_init(&result.markdown, cap);
    struct str bytes = source->bytes;
    enum status status = STATUS_OK;
    if (gzip_is(bytes)) {
        status = gzip_decompress(bytes, &unpacked, error);
        bytes = buf_str(&unpacked);
    } else if (bytes.len > cap) {
        status = error_set(error, STATUS_TOO_BIG, "larger than %zu bytes", cap);
    }
    const char *binary = status == STATUS_OK ? binary_name(bytes) : NULL;
    if (binary)
        status = error_set(error, STATUS_UNSUPPORTED, "%s is not read here", binary);
    if (status == STATUS_OK) {
        bool markup =
            !reader_is_man_name(source->name) && str_find_nocase(str_slice(bytes, 0, 4096), STR("<"), 0) != STR_NONE;
        status = charset_to_utf8(bytes, source->content_type, markup, &text, NULL);
    }
    buf_finish(&unpacked);
    if (status == STATUS_OK) {
        drop_controls(&text);
        status = read_text(buf_str(&text), source, &result, error);
    }
    buf_finish(&text);
    if (status != STATUS_OK) {
        reader_text_finish(&result);
        return status;
    }
    name_untitled(&result, source->name);
    *out = result;
    return STATUS_OK;
}

void reader_text_finish(struct reader_text *text)
{
    if (!text)
        return;
    buf_finish(&text->markdown);
    free(text->title);
    free(text->author);
    free(text->date);
    free(text->site_name);
    free(text->language);
    free(text->description);
    free(text->canonical_url);
    *text = (struct reader_text){0};
}
