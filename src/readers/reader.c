#include "readers/reader.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/json.h"
#include "core/mem.h"
#include "core/utf8.h"
#include "readers/internal.h"
#include "readers/kind_text.h"
#include "readers/writer.h"
#include "text/charset.h"
#include "text/html/html.h"
#include "text/markdown.h"

#define DEFAULT_CAP        ((size_t)10 << 20)
#define DEFAULT_UNPACKED   ((size_t)1 << 30)
#define DEFAULT_DEPTH      4
#define DEFAULT_ENTRIES    10000
#define DEFAULT_OCR_PAGES  20
#define DEFAULT_TIMEOUT_MS 60000
#define MAX_TITLE_LINE     250 /* bytes */
#define MAX_XML_LINE       2000

/* ---- text ---- */

static enum status read_html(const struct reading *reading, struct str text, struct reader_text *out,
                             struct error *error)
{
    const struct reader_source *source = reading->source;
    struct html_options options = {
        .base_url = source->url,
        .whole_page = source->whole_page,
        .drop_links = source->drop_links,
        .comments = source->comments,
        .plain_text = source->plain_text,
        .max_input_bytes = BUF_UNBOUNDED, /* was checked when it was read */
        .max_text_bytes = out->markdown.cap,
        .cancel = source->cancel,
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
    out->modified = page.modified;
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

/* XML in one line is no text to cut passages from, so it is broken between its elements. */
static void read_xml(struct str text, struct reader_text *out)
{
    struct buf broken;
    size_t lines = 0, from = 0;
    for (size_t i = 0; i < text.len; i++)
        lines += text.data[i] == '\n';
    if (text.len / (lines + 1) < MAX_XML_LINE) {
        take_text(text, out);
        return;
    }
    buf_init(&broken, BUF_UNBOUNDED);
    for (size_t i = 1; i < text.len; i++)
        if (text.data[i] == '<' && text.data[i - 1] == '>') {
            buf_add(&broken, str_slice(text, from, i));
            buf_add_char(&broken, '\n');
            from = i;
        }
    buf_add(&broken, str_slice(text, from, text.len));
    take_text(buf_str(&broken), out);
    buf_finish(&broken);
}

static enum status read_text(struct reading *reading, const struct document *document, struct str text,
                             struct reader_text *out, struct error *error)
{
    out->kind = text_kind_of(text, base_name(document->name), document->content_type);
    if (out->kind == READER_HTML)
        return read_html(reading, text, out, error);
    if (out->kind == READER_MAN)
        return man_read(reading, text, document->name, out, error);
    if (out->kind == READER_FEED)
        return feed_read(reading, text, out, error);
    if (out->kind == READER_NOTEBOOK && notebook_read(text, out) == STATUS_OK)
        return STATUS_OK;
    if (out->kind == READER_JSON || out->kind == READER_NOTEBOOK)
        read_json(text, out);
    else if (out->kind == READER_XML)
        read_xml(text, out);
    else
        take_text(text, out);
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

enum status decode_text(struct str bytes, struct str content_type, bool markup, struct buf *out)
{
    enum status status = charset_to_utf8(bytes, content_type, markup, out, NULL);
    drop_controls(out);
    return status;
}

/* Whether the beginning of such a file is of use without the rest. */
static bool may_be_cut(enum reader_kind kind)
{
    return kind == READER_TEXT || kind == READER_MARKDOWN || kind == READER_JSON_LINES;
}

/* A text document as a whole, or, from a descriptor, as much of it as may be held. */
static enum status load_and_read(struct reading *reading, const struct document *document, enum reader_kind kind,
                                 struct reader_text *out, struct error *error)
{
    struct buf scratch = {0}, text;
    struct str bytes;
    struct document part = *document;
    struct charset_found charset = {0};
    bool cut = document->from_descriptor && document->size > reading->cap && may_be_cut(kind);
    if (cut)
        part.size = reading->cap;
    enum status status = document_load(&part, reading->cap, &scratch, &bytes, error);
    buf_init(&text, BUF_UNBOUNDED); /* at most three times the input, which is capped */
    if (status == STATUS_OK) {
        bool markup =
            !reader_is_man_name(document->name) && str_find_char(str_slice(bytes, 0, 4096), '<', 0) != STR_NONE;
        if (cut)
            bytes.len -= utf8_incomplete_tail(bytes);
        status = charset_to_utf8(bytes, document->content_type, markup, &text, &charset);
        drop_controls(&text);
    }
    buf_finish(&scratch);
    if (status == STATUS_OK)
        status = read_text(reading, document, buf_str(&text), out, error);
    buf_finish(&text);
    if (status == STATUS_OK) {
        out->truncated = out->truncated || cut;
        memcpy(out->charset, charset.name, sizeof out->charset);
    }
    return status;
}

/* ---- any document ---- */

/* A gzip file where only text may be read: the text in it. */
static enum status read_gzip(struct reading *reading, const struct document *document, struct reader_text *out,
                             struct error *error)
{
    struct buf scratch = {0}, unpacked;
    struct str bytes;
    buf_init(&unpacked, reading->cap);
    enum status status = document_load(document, reading->cap, &scratch, &bytes, error);
    if (status == STATUS_OK)
        status = gzip_decompress(bytes, &unpacked, error);
    if (status == STATUS_OK) {
        struct document inner = {.bytes = buf_str(&unpacked),
                                 .size = unpacked.len,
                                 .name = document->name,
                                 .content_type = document->content_type};
        reading->depth_left--;
        status = read_document(reading, &inner, out, error);
        reading->depth_left++;
    }
    buf_finish(&scratch);
    buf_finish(&unpacked);
    return status;
}

static enum status read_kind(struct reading *reading, const struct document *document, enum reader_kind kind,
                             struct str head, struct reader_text *out, struct error *error)
{
    const char *name;
    out->kind = kind;
    switch (kind) {
    case READER_TEXT:
    case READER_MARKDOWN:
    case READER_HTML:
    case READER_JSON:
    case READER_JSON_LINES:
    case READER_XML:
    case READER_FEED:
    case READER_NOTEBOOK:
    case READER_MAN:
        return load_and_read(reading, document, kind, out, error);
    case READER_TABLE:
        return table_read(reading, document, out, error);
    case READER_MAIL:
        return mail_read(reading, document, out, error);
    case READER_PDF:
        return pdf_read(reading, document, out, error);
    case READER_DOCX:
    case READER_PPTX:
    case READER_XLSX:
    case READER_ODT:
    case READER_ODS:
    case READER_ODP:
    case READER_EPUB:
        return zip_read(reading, document, out, error);
    case READER_ARCHIVE:
        return str_starts_with(head, STR("PK")) ? zip_read(reading, document, out, error)
                                                : archive_read_document(reading, document, out, error);
    case READER_OFFICE:
        return soffice_read(reading, document, out, error);
    case READER_IMAGE:
        return image_read(reading, document, out, error);
    case READER_AUDIO:
    case READER_VIDEO:
        return error_set(error, STATUS_UNSUPPORTED, "%s needs a transcription model to be read", binary_name(head));
    case READER_BINARY:
        name = binary_name(head);
        return error_set(error, STATUS_UNSUPPORTED, "%s is not read here", name ? name : "a binary file");
    }
    return STATUS_OK;
}

enum status read_document(struct reading *reading, const struct document *document, struct reader_text *out,
                          struct error *error)
{
    struct buf scratch = {0};
    struct reader_text result = {0};
    struct str head = document_head(document, &scratch);
    bool packed = gzip_is(head);
    enum reader_kind kind = reader_kind_of(head, document->name, document->content_type);
    enum status status = reading_check(reading, error);
    buf_init(&result.markdown, reading->cap);
    if (status == STATUS_OK && reading->depth_left < 0)
        status = error_set(error, STATUS_TOO_BIG, "archives in archives are nested too deep");
    else if (status == STATUS_OK && kind >= READER_PDF && !reading->source->confined)
        status = error_set(error, STATUS_UNSUPPORTED, "%s is not read here",
                           packed || !binary_name(head) ? "a compressed file" : binary_name(head));
    else if (status == STATUS_OK && packed && reading->source->confined && !reader_is_man_name(document->name))
        status = archive_read_document(reading, document, &result, error);
    else if (status == STATUS_OK && packed)
        status = read_gzip(reading, document, &result, error);
    else if (status == STATUS_OK)
        status = read_kind(reading, document, kind, head, &result, error);
    buf_finish(&scratch);
    if (status == STATUS_OK)
        *out = result;
    else
        reader_text_finish(&result);
    return status;
}

/* ---- the call ---- */

static void name_untitled(struct reader_text *out, struct str name)
{
    if (out->title && out->title[0])
        return;
    free(out->title);
    out->title = NULL;
    if (out->kind == READER_HTML || out->kind == READER_MARKDOWN || out->kind == READER_DOCX ||
        out->kind == READER_ODT || out->kind == READER_NOTEBOOK || out->kind == READER_EPUB)
        out->title = first_heading(buf_str(&out->markdown));
    else if (out->kind == READER_TEXT)
        out->title = first_line(buf_str(&out->markdown));
    if (!out->title)
        out->title = str_dup(base_name(name));
}

/* Foreign parsers and programs may give bytes that are no UTF-8. */
static void make_valid(struct buf *text)
{
    if (utf8_is_valid(buf_str(text)))
        return;
    struct buf valid;
    buf_init(&valid, text->cap);
    bool cut = utf8_append_valid(&valid, buf_str(text)) != STATUS_OK;
    size_t fits = utf8_floor(buf_str(&valid), valid.len);
    buf_truncate(&valid, cut ? fits : valid.len);
    buf_finish(text);
    *text = valid;
}

static enum status set_document(const struct reader_source *source, struct document *document, struct error *error)
{
    struct stat info;
    *document = (struct document){.bytes = source->bytes,
                                  .size = source->bytes.len,
                                  .from_descriptor = source->from_descriptor,
                                  .descriptor = source->descriptor,
                                  .name = source->name,
                                  .content_type = source->content_type};
    if (!source->from_descriptor)
        return STATUS_OK;
    if (fstat(source->descriptor, &info) != 0 || !S_ISREG(info.st_mode))
        return error_set(error, STATUS_IO, "it is no regular file");
    document->bytes = (struct str){0};
    document->size = (uint64_t)info.st_size;
    return STATUS_OK;
}

enum status reader_read(const struct reader_source *source, struct reader_text *out, struct error *error)
{
    struct document document;
    struct reader_text result = {0};
    enum status status = set_document(source, &document, error);
    if (status != STATUS_OK)
        return status;
    struct reading reading = {
        .source = source,
        .cap = source->max_bytes ? source->max_bytes : DEFAULT_CAP,
        .deadline_ms = reading_now_ms() + (source->timeout_ms > 0 ? source->timeout_ms : DEFAULT_TIMEOUT_MS),
        .packed = (size_t)document.size,
        .max_unpacked = source->max_unpacked ? source->max_unpacked : DEFAULT_UNPACKED,
        .entries_left = source->max_entries > 0 ? source->max_entries : DEFAULT_ENTRIES,
        .depth_left = source->max_depth > 0 ? source->max_depth : DEFAULT_DEPTH,
        .ocr_pages_left = source->max_ocr_pages ? source->max_ocr_pages : DEFAULT_OCR_PAGES,
    };
    buf_init(&reading.notice, BUF_UNBOUNDED);
    status = read_document(&reading, &document, &result, error);
    if (status == STATUS_OK) {
        make_valid(&result.markdown);
        name_untitled(&result, source->name);
        if (result.kind != READER_TEXT && result.kind != READER_JSON && result.kind != READER_XML)
            sections_find(&result);
        result.notice = reading.notice.len ? buf_take(&reading.notice) : NULL;
        *out = result;
    }
    buf_finish(&reading.notice);
    return status;
}

void reader_text_finish(struct reader_text *text)
{
    if (!text)
        return;
    buf_finish(&text->markdown);
    free(text->title);
    free(text->author);
    free(text->date);
    free(text->modified);
    free(text->site_name);
    free(text->language);
    free(text->description);
    free(text->canonical_url);
    free(text->notice);
    for (size_t i = 0; i < text->n_sections; i++)
        free(text->sections[i].title);
    free(text->sections);
    *text = (struct reader_text){0};
}
