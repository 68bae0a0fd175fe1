/* Archives, and single compressed files: a list of what is inside, then each file that can be read under a heading of
 * its own. What is inside may be an archive again, as deep as max_depth. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/utf8.h"
#include "readers/container.h"
#include "readers/writer.h"

#define MAX_LISTED  2000 /* names; what is beyond is counted */
#define ENTRY_LEVEL 2    /* of the heading of a file */

struct archive_reader {
    struct reading *reading;
    struct writer contents; /* the files' texts, behind the list */
    struct buf contents_text;
    struct buf list;
    int files, listed;
    uint64_t bytes;
    bool full;
};

static void write_size(struct buf *out, uint64_t size)
{
    if (size < 1000)
        buf_addf(out, "%llu bytes", (unsigned long long)size);
    else if (size < 1000000)
        buf_addf(out, "%.1f KB", (double)size / 1e3);
    else
        buf_addf(out, "%.1f MB", (double)size / 1e6);
}

static void list_entry(struct archive_reader *reader, struct str name, uint64_t size, const char *remark)
{
    reader->files++;
    reader->bytes += size;
    if (reader->listed >= MAX_LISTED)
        return;
    reader->listed++;
    buf_add_text(&reader->list, "- ");
    buf_add(&reader->list, name);
    buf_add_text(&reader->list, " (");
    write_size(&reader->list, size);
    if (remark)
        buf_addf(&reader->list, "; %s", remark);
    buf_add_text(&reader->list, ")\n");
}

/* Whether the text is to be shown as it stands and not as Markdown. */
static bool is_verbatim(enum reader_kind kind)
{
    return kind == READER_TEXT || kind == READER_JSON || kind == READER_XML || kind == READER_JSON_LINES;
}

static void write_entry(struct archive_reader *reader, struct str name, const struct reader_text *text)
{
    writer_heading(&reader->contents, ENTRY_LEVEL, name);
    if (is_verbatim(text->kind))
        writer_fence(&reader->contents, STR(""), buf_str(&text->markdown));
    else
        writer_document(&reader->contents, str_trim(buf_str(&text->markdown)), ENTRY_LEVEL);
    writer_break(&reader->contents);
    if (text->truncated)
        writer_paragraph(&reader->contents, STR("(cut here)"));
}

/* Failures that end the whole, and not just one file in it. */
static bool is_fatal(enum status status)
{
    return status == STATUS_CANCELED || status == STATUS_TIMEOUT || status == STATUS_REFUSED;
}

/* Reads one file's bytes. *remark says why there is no text (a fresh string), or is NULL. */
static enum status read_entry(struct archive_reader *reader, struct str bytes, bool cut, struct str name, char **remark,
                              struct error *error)
{
    struct document inner = {.bytes = bytes, .size = bytes.len, .name = name};
    struct reader_text text = {0};
    struct error why;
    enum reader_kind kind = reader_kind_of(str_slice(bytes, 0, SNIFF_BYTES), name, (struct str){0});
    if (cut && kind > READER_TABLE) {
        *remark = mem_strdup("too large to be read");
        return STATUS_OK;
    }
    enum status status = read_document(reader->reading, &inner, &text, &why);
    if (is_fatal(status)) {
        if (error)
            *error = why;
        return status;
    }
    if (status != STATUS_OK) {
        *remark = mem_printf("not read: %s", why.message);
        return STATUS_OK;
    }
    text.truncated = text.truncated || cut;
    write_entry(reader, name, &text);
    reader_text_finish(&text);
    return STATUS_OK;
}

static enum status on_entry(struct archive_reader *reader, struct container *container,
                            const struct container_entry *entry, struct error *error)
{
    struct buf bytes;
    bool cut = false;
    char *remark = NULL;
    struct error why;
    struct str name = str_of(entry->name);
    uint64_t declared = entry->size > 0 ? (uint64_t)entry->size : 0;
    if (!entry->is_file || (name.len && name.data[name.len - 1] == '/' && !declared))
        return STATUS_OK;
    if (reader->contents.full) {
        list_entry(reader, name, declared, "not read: the text is long enough");
        return STATUS_OK;
    }
    buf_init(&bytes, reader->reading->cap);
    enum status status = container_load(container, &bytes, &cut, &why);
    uint64_t size = cut && declared > bytes.len ? declared : bytes.len;
    if (is_fatal(status) || status == STATUS_TOO_BIG) {
        if (error)
            *error = why;
    } else if (status != STATUS_OK) {
        list_entry(reader, name, declared, why.message);
        status = STATUS_OK;
    } else {
        status = read_entry(reader, buf_str(&bytes), cut, name, &remark, error);
        list_entry(reader, name, size, remark);
    }
    free(remark);
    buf_finish(&bytes);
    return status;
}

/* The list, then the texts. */
static void put_together(struct archive_reader *reader, struct str name, struct reader_text *out)
{
    struct writer writer;
    struct buf line;
    writer_init(&writer, &out->markdown);
    buf_init(&line, BUF_UNBOUNDED);
    if (!reader->reading->archives_around) { /* inside another archive the file's heading stands already */
        struct str base = base_name(name);
        writer_heading(&writer, 1, base.len ? base : STR("Archive"));
    }
    buf_addf(&line, "%d file%s, ", reader->files, reader->files == 1 ? "" : "s");
    write_size(&line, reader->bytes);
    buf_add_text(&line, " unpacked:\n\n");
    writer_raw(&writer, buf_str(&line));
    writer_raw(&writer, buf_str(&reader->list));
    if (reader->files > reader->listed)
        writer_rawf(&writer, "- … and %d more\n", reader->files - reader->listed);
    writer_break(&writer);
    writer_raw(&writer, buf_str(&reader->contents_text));
    out->truncated = out->truncated || writer.full || reader->contents.full;
    buf_finish(&line);
}

static enum status walk(struct archive_reader *reader, struct container *container, struct error *error)
{
    struct container_entry entry;
    struct error why;
    enum status status;
    while ((status = container_next(container, &entry, &why)) == STATUS_OK) {
        status = on_entry(reader, container, &entry, &why);
        if (status != STATUS_OK)
            break;
    }
    if (status == STATUS_NOT_FOUND)
        return STATUS_OK;
    if (reader->files && (status == STATUS_SYNTAX || status == STATUS_TOO_BIG)) {
        reading_note(reader->reading, "Not all of the archive was read: %s.", why.message);
        reader->full = true;
        return STATUS_OK;
    }
    if (error)
        *error = why;
    return status;
}

static enum status read_archive(struct reading *reading, const struct document *document, struct container *container,
                                struct reader_text *out, struct error *error)
{
    struct archive_reader reader = {.reading = reading};
    buf_init(&reader.list, BUF_UNBOUNDED);
    buf_init(&reader.contents_text, out->markdown.cap);
    writer_init(&reader.contents, &reader.contents_text);
    reading->depth_left--;
    reading->archives_around++;
    enum status status = walk(&reader, container, error);
    reading->depth_left++;
    reading->archives_around--;
    if (status == STATUS_OK) {
        out->kind = READER_ARCHIVE;
        put_together(&reader, document->name, out);
        out->truncated = out->truncated || reader.full;
    }
    buf_finish(&reader.list);
    buf_finish(&reader.contents_text);
    return status;
}

/* "notes.txt" of "notes.txt.xz" */
static struct str inner_name(struct str name)
{
    static const char *const endings[] = {".gz", ".bz2", ".xz", ".zst", ".lzma", ".Z", NULL};
    for (size_t i = 0; endings[i]; i++)
        if (str_ends_with(name, str_of(endings[i])))
            return str_slice(name, 0, name.len - strlen(endings[i]));
    return name;
}

/* One compressed file: its contents are the document. */
static enum status read_stream(struct reading *reading, const struct document *document, struct reader_text *out,
                               struct error *error)
{
    struct container *container;
    struct container_entry entry;
    struct buf bytes;
    bool cut = false;
    enum status status = container_open(reading, document, CONTAINER_STREAM, &container, error);
    if (status != STATUS_OK)
        return status;
    buf_init(&bytes, reading->cap);
    status = container_next(container, &entry, error);
    if (status == STATUS_OK)
        status = container_load(container, &bytes, &cut, error);
    container_close(container);
    const struct document inner = {.bytes = buf_str(&bytes), .size = bytes.len, .name = inner_name(document->name)};
    if (status == STATUS_OK && cut && reader_kind_of(inner.bytes, inner.name, (struct str){0}) > READER_TABLE)
        status = error_set(error, STATUS_TOO_BIG, "larger than %zu bytes when decompressed", reading->cap);
    reading->depth_left--;
    if (status == STATUS_OK)
        status = read_document(reading, &inner, out, error);
    reading->depth_left++;
    if (status == STATUS_OK)
        out->truncated = out->truncated || cut;
    buf_finish(&bytes);
    return status == STATUS_NOT_FOUND ? error_set(error, STATUS_SYNTAX, "the archive is empty") : status;
}

enum status archive_read_document(struct reading *reading, const struct document *document, struct reader_text *out,
                                  struct error *error)
{
    struct container *container;
    if (reading->depth_left <= 0)
        return error_set(error, STATUS_TOO_BIG, "archives in archives are nested too deep");
    enum status status = container_open(reading, document, CONTAINER_ARCHIVE, &container, error);
    if (status == STATUS_SYNTAX)
        return read_stream(reading, document, out, error);
    if (status != STATUS_OK)
        return status;
    status = read_archive(reading, document, container, out, error);
    container_close(container);
    return status;
}
