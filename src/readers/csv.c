/* A table as text: all of it as a Markdown table where that fits, else its first rows, the number of rows, and what
 * each column holds. The file is streamed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/utf8.h"
#include "readers/internal.h"
#include "readers/table.h"
#include "readers/writer.h"
#include "text/charset.h"

#define CHUNK          262144
#define HEAD_BYTES     ((size_t)256 << 10) /* of the table when not all of it fits */
#define SUMMARY_ROWS   50                  /* a table with more than that gets a summary of its columns */
#define SUMMARY_ROOM   ((size_t)64 << 10)
#define MAX_CELL_BYTES 2000
#define SHORT_MS       1500 /* less time than that is kept for the answer */

struct csv {
    struct reading *reading;
    struct buf rows; /* the Markdown table */
    size_t head_end; /* behind the last whole row within HEAD_BYTES */
    uint64_t head_rows, n_rows;
    bool cut;
    struct table_column *columns;
    size_t n_columns;
};

static void write_cell(struct buf *out, struct str text)
{
    struct str all = str_trim(text);
    text = str_slice(all, 0, utf8_floor(all, MAX_CELL_BYTES));
    for (size_t i = 0; i < text.len; i++) {
        char c = text.data[i];
        if (c == '\r')
            continue;
        if (c == '|')
            buf_add_text(out, "\\|");
        else if (c == '\n')
            buf_add_text(out, "<br>");
        else
            buf_add_char(out, c);
    }
    if (text.len < all.len)
        buf_add_text(out, " …");
}

/* Appends a row; once the cap is reached, none any more. */
static void write_row(struct csv *csv, const struct table_record *record)
{
    struct buf line;
    if (csv->cut)
        return;
    buf_init(&line, BUF_UNBOUNDED);
    buf_add_char(&line, '|');
    size_t width = record->n_fields > csv->n_columns ? record->n_fields : csv->n_columns;
    for (size_t i = 0; i < width; i++) {
        buf_add_char(&line, ' ');
        if (i < record->n_fields)
            write_cell(&line, record->fields[i]);
        buf_add_text(&line, " |");
    }
    buf_add_char(&line, '\n');
    csv->cut = buf_append_str(&csv->rows, buf_str(&line)) != STATUS_OK;
    if (!csv->cut && csv->rows.len <= HEAD_BYTES) {
        csv->head_end = csv->rows.len;
        csv->head_rows = csv->n_rows;
    }
    buf_finish(&line);
}

static void take_head(struct csv *csv, const struct table_record *record)
{
    struct buf line;
    buf_init(&line, BUF_UNBOUNDED);
    csv->n_columns = record->n_fields;
    csv->columns = mem_calloc(csv->n_columns, sizeof *csv->columns);
    buf_add_char(&line, '|');
    for (size_t i = 0; i < csv->n_columns; i++) {
        struct str name = str_trim(record->fields[i]);
        csv->columns[i].name = str_dup(str_slice(name, 0, utf8_floor(name, 200)));
        buf_add_text(&line, " --- |");
    }
    buf_add_char(&line, '\n');
    write_row(csv, record);
    csv->cut = csv->cut || buf_append_str(&csv->rows, buf_str(&line)) != STATUS_OK;
    csv->head_end = csv->rows.len;
    buf_finish(&line);
}

static void on_record(void *user, const struct table_record *record)
{
    struct csv *csv = user;
    if (!csv->columns) {
        take_head(csv, record);
        return;
    }
    csv->n_rows++;
    for (size_t i = 0; i < record->n_fields && i < csv->n_columns; i++)
        table_column_add(&csv->columns[i], record->fields[i]);
    write_row(csv, record);
}

/* ---- the stream ---- */

struct stream {
    const struct document *document;
    struct charset_found charset;
    struct buf piece; /* bytes not yet decoded */
    struct buf text;
    uint64_t offset;
};

/* How many of the bytes can be decoded by themselves: up to a line's end, or to an even count in UTF-16. */
static size_t whole_part(const struct stream *stream, bool last)
{
    if (last)
        return stream->piece.len;
    if (strncmp(stream->charset.name, "utf-16", 6) == 0)
        return stream->piece.len & ~(size_t)1;
    size_t end = str_rfind_char(buf_str(&stream->piece), '\n');
    return end == STR_NONE ? stream->piece.len - utf8_incomplete_tail(buf_str(&stream->piece)) : end + 1;
}

/* The next piece of text; *end at the end. */
static enum status next_text(struct stream *stream, struct str *out, bool *end, struct error *error)
{
    char *room = buf_reserve(&stream->piece, CHUNK);
    ssize_t count = document_read_at(stream->document, stream->offset, room, CHUNK);
    if (count < 0)
        return error_set(error, STATUS_IO, "the file cannot be read");
    buf_commit(&stream->piece, (size_t)count);
    bool first = stream->offset == 0;
    stream->offset += (uint64_t)count;
    *end = count == 0;
    if (first) {
        stream->charset = charset_find(buf_str(&stream->piece), stream->document->content_type, false);
        const char *mark;
        buf_consume(&stream->piece, charset_mark(buf_str(&stream->piece), &mark));
    }
    size_t whole = whole_part(stream, *end);
    buf_reset(&stream->text);
    enum status status =
        charset_convert(stream->charset.name, str_slice(buf_str(&stream->piece), 0, whole), &stream->text);
    buf_consume(&stream->piece, whole);
    *out = buf_str(&stream->text);
    return status;
}

/* Excel's own first line, `sep=;`, says the delimiter. */
static char take_separator_line(struct str *text)
{
    if (!str_starts_with_nocase(*text, STR("sep=")) || text->len < 6 ||
        (text->data[5] != '\n' && text->data[5] != '\r'))
        return 0;
    char delimiter = text->data[4];
    *text = str_trim_start(str_slice(*text, 5, text->len));
    return delimiter;
}

static enum status stream_rows(struct csv *csv, const struct document *document, struct error *error)
{
    struct stream stream = {.document = document};
    struct table_parser *parser = mem_zalloc(sizeof *parser);
    buf_init(&stream.piece, BUF_UNBOUNDED);
    buf_init(&stream.text, BUF_UNBOUNDED);
    enum status status = STATUS_OK;
    bool end = false, first = true;
    while (status == STATUS_OK && !end) {
        if (csv->n_rows && csv->reading->deadline_ms - reading_now_ms() < SHORT_MS) {
            reading_note(csv->reading, "Time was up after %llu MB of %llu; rows behind that are not counted.",
                         (unsigned long long)stream.offset / 1000000, (unsigned long long)document->size / 1000000);
            csv->cut = true;
            break;
        }
        struct str text = {0};
        status = reading_check(csv->reading, error);
        if (status == STATUS_OK)
            status = next_text(&stream, &text, &end, error);
        if (status != STATUS_OK)
            break;
        if (first) {
            char said = take_separator_line(&text);
            table_parser_init(parser, said ? said : table_guess_delimiter(text), on_record, csv);
        }
        first = false;
        table_parser_feed(parser, text);
    }
    if (status == STATUS_OK)
        table_parser_end(parser);
    if (parser->broken)
        reading_note(csv->reading, "A quote in the table is not closed for a megabyte or more, so rows may be joined "
                                   "that are not one.");
    table_parser_finish(parser);
    free(parser);
    buf_finish(&stream.piece);
    buf_finish(&stream.text);
    return status;
}

/* ---- the answer ---- */

static void write_summary(const struct csv *csv, struct buf *out)
{
    buf_addf(out, "%llu rows, %zu columns.\n\n", (unsigned long long)csv->n_rows, csv->n_columns);
    if (csv->n_rows <= SUMMARY_ROWS)
        return;
    buf_add_text(out, "| column | filled | kind | values |\n| --- | --- | --- | --- |\n");
    for (size_t i = 0; i < csv->n_columns && out->len < SUMMARY_ROOM - 2000; i++) {
        buf_add_text(out, "| ");
        write_cell(out, str_of(csv->columns[i].name));
        buf_addf(out, " | %llu | ", (unsigned long long)csv->columns[i].filled);
        table_column_describe(&csv->columns[i], out);
        buf_add_text(out, " |\n");
    }
    buf_add_char(out, '\n');
}

enum status table_read(struct reading *reading, const struct document *document, struct reader_text *out,
                       struct error *error)
{
    struct csv csv = {.reading = reading};
    struct buf summary;
    size_t cap = out->markdown.cap;
    buf_init(&csv.rows, cap > 2 * SUMMARY_ROOM ? cap - SUMMARY_ROOM : cap / 2);
    buf_init(&summary, BUF_UNBOUNDED);
    enum status status = stream_rows(&csv, document, error);
    if (status == STATUS_OK) {
        struct writer writer;
        writer_init(&writer, &out->markdown);
        write_summary(&csv, &summary);
        writer_raw(&writer, buf_str(&summary));
        if (csv.cut) {
            writer_rawf(&writer, "The first %llu rows:\n\n", (unsigned long long)csv.head_rows);
            buf_truncate(&csv.rows, csv.head_end);
        }
        writer_raw(&writer, buf_str(&csv.rows));
        out->truncated = out->truncated || csv.cut || writer.full;
    }
    for (size_t i = 0; i < csv.n_columns; i++)
        table_column_finish(&csv.columns[i]);
    free(csv.columns);
    buf_finish(&csv.rows);
    buf_finish(&summary);
    return status;
}
