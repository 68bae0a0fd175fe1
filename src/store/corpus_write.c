/* Rows of the corpus: putting a file's documents in and taking them out. All of it runs inside the caller's
 * transaction. */
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "store/corpus_internal.h"

/* ---- removing ---- */

struct document_id {
    int64_t id;
    char *title;
};

/* Takes a passage's terms out of the index, which wants to be told exactly what it was given. */
static enum status unindex_document(struct corpus_writer *writer, const struct document_id *document, struct str text)
{
    struct corpus *corpus = writer->corpus;
    sqlite3_stmt *passages = corpus_statement(corpus, SQL_PASSAGES_OF_DOCUMENT);
    if (passages) {
        sqlite3_bind_int64(passages, 1, document->id << PASSAGE_BITS);
        sqlite3_bind_int64(passages, 2, (document->id + 1) << PASSAGE_BITS);
    }
    enum status status;
    bool row = false, first = true;
    while ((status = corpus_step(corpus, passages, &row, writer->error)) == STATUS_OK && row) {
        size_t ignored = 0;
        struct str body =
            str_slice(text, (size_t)sqlite3_column_int64(passages, 1), (size_t)sqlite3_column_int64(passages, 2));
        char *title = corpus_terms(first ? str_of(document->title) : STR(""), &ignored);
        char *headings = corpus_terms(corpus_column(passages, 3), &ignored);
        char *terms = corpus_terms(body, &ignored);
        sqlite3_stmt *statement = corpus_statement(corpus, SQL_UNINDEX_PASSAGE);
        if (statement)
            sqlite3_bind_int64(statement, 1, sqlite3_column_int64(passages, 0));
        corpus_bind_str(statement, 2, str_of(title));
        corpus_bind_str(statement, 3, str_of(headings));
        corpus_bind_str(statement, 4, str_of(terms));
        status = corpus_run(corpus, statement, writer->error);
        free(title);
        free(headings);
        free(terms);
        first = false;
        if (status != STATUS_OK)
            break;
    }
    if (passages)
        sqlite3_reset(passages);
    return status;
}

static enum status run_with_id(struct corpus_writer *writer, enum statement which, int64_t id)
{
    sqlite3_stmt *statement = corpus_statement(writer->corpus, which);
    if (statement)
        sqlite3_bind_int64(statement, 1, id);
    return corpus_run(writer->corpus, statement, writer->error);
}

static enum status remove_document(struct corpus_writer *writer, const struct document_id *document)
{
    struct buf text;
    buf_init(&text, BUF_UNBOUNDED);
    enum status status = corpus_read_text(writer->corpus, document->id, &text, writer->error);
    if (status == STATUS_OK)
        status = unindex_document(writer, document, buf_str(&text));
    else if (status == STATUS_NOT_FOUND) /* an alias */
        status = STATUS_OK;
    buf_finish(&text);
    if (status == STATUS_OK) {
        sqlite3_stmt *statement = corpus_statement(writer->corpus, SQL_DELETE_PASSAGES);
        if (statement) {
            sqlite3_bind_int64(statement, 1, document->id << PASSAGE_BITS);
            sqlite3_bind_int64(statement, 2, (document->id + 1) << PASSAGE_BITS);
        }
        status = corpus_run(writer->corpus, statement, writer->error);
    }
    if (status == STATUS_OK)
        status = run_with_id(writer, SQL_DELETE_TEXT, document->id);
    return status == STATUS_OK ? run_with_id(writer, SQL_DELETE_DOCUMENT, document->id) : status;
}

/* Removes a file and its documents; *count is how many those were. */
enum status corpus_remove_file(struct corpus_writer *writer, int64_t file, size_t *count)
{
    struct document_id *documents = NULL;
    size_t n = 0, capacity = 0;
    sqlite3_stmt *statement = corpus_statement(writer->corpus, SQL_DOCUMENTS_OF_FILE);
    if (statement)
        sqlite3_bind_int64(statement, 1, file);
    enum status status;
    bool row = false;
    while ((status = corpus_step(writer->corpus, statement, &row, writer->error)) == STATUS_OK && row) {
        documents = mem_grow(documents, n, &capacity, sizeof *documents);
        documents[n++] = (struct document_id){sqlite3_column_int64(statement, 0), str_dup(corpus_column(statement, 1))};
    }
    if (statement)
        sqlite3_reset(statement);
    for (size_t i = 0; i < n; i++) {
        if (status == STATUS_OK)
            status = remove_document(writer, &documents[i]);
        free(documents[i].title);
    }
    free(documents);
    *count = n;
    return status == STATUS_OK ? run_with_id(writer, SQL_DELETE_FILE, file) : status;
}

/* ---- adding ---- */

enum status corpus_find_file(struct corpus_writer *writer, const char *inside, struct known_file *out)
{
    *out = (struct known_file){0};
    sqlite3_stmt *statement = corpus_statement(writer->corpus, SQL_FIND_FILE);
    if (statement)
        sqlite3_bind_int64(statement, 1, writer->collection);
    corpus_bind_bytes(statement, 2, str_of(inside));
    bool row = false;
    enum status status = corpus_step(writer->corpus, statement, &row, writer->error);
    if (status != STATUS_OK || !row)
        return status;
    out->id = sqlite3_column_int64(statement, 0);
    out->size = sqlite3_column_int64(statement, 1);
    out->changed_ns = sqlite3_column_int64(statement, 2);
    struct str hash = corpus_column(statement, 3);
    if (hash.len == HASH_BYTES)
        memcpy(out->hash, hash.data, HASH_BYTES);
    sqlite3_reset(statement);
    return STATUS_OK;
}

static enum status link_taken(struct corpus_writer *writer, struct str link, bool *taken)
{
    sqlite3_stmt *statement = corpus_statement(writer->corpus, SQL_FIND_DOCUMENT);
    corpus_bind_str(statement, 1, link);
    enum status status = corpus_step(writer->corpus, statement, taken, writer->error);
    if (status == STATUS_OK)
        sqlite3_reset(statement);
    return status;
}

/* The document's link. Of several lines with the same id the later ones get "~2", "~3" behind it. */
static enum status make_link(struct corpus_writer *writer, const struct corpus_file *file, const char *line,
                             struct buf *link)
{
    struct str collection = str_of(writer->collection_name), inside = str_of(file->inside);
    corpus_make_link(collection, inside, str_of(line), link);
    if (!line)
        return STATUS_OK;
    size_t length = link->len;
    for (int n = 2;; n++) {
        bool taken = false;
        enum status status = link_taken(writer, buf_str(link), &taken);
        if (status != STATUS_OK || !taken)
            return status;
        buf_truncate(link, length);
        buf_addf(link, "~%d", n);
    }
}

static enum status add_passages(struct corpus_writer *writer, int64_t id, const struct parsed_document *document)
{
    enum status status = STATUS_OK;
    for (size_t i = 0; i < document->n_passages && status == STATUS_OK; i++) {
        const struct parsed_passage *passage = &document->passages[i];
        int64_t passage_id = (id << PASSAGE_BITS) + (int64_t)i;
        sqlite3_stmt *statement = corpus_statement(writer->corpus, SQL_ADD_PASSAGE);
        if (statement) {
            sqlite3_bind_int64(statement, 1, passage_id);
            sqlite3_bind_int64(statement, 2, (int64_t)passage->from);
            sqlite3_bind_int64(statement, 3, (int64_t)passage->to);
            sqlite3_bind_int64(statement, 4, (int64_t)passage->length);
            if (passage->headings)
                corpus_bind_str(statement, 5, str_of(passage->headings));
        }
        status = corpus_run(writer->corpus, statement, writer->error);
        if (status != STATUS_OK)
            break;
        statement = corpus_statement(writer->corpus, SQL_INDEX_PASSAGE);
        if (statement)
            sqlite3_bind_int64(statement, 1, passage_id);
        corpus_bind_str(statement, 2, str_of(i == 0 ? document->title_terms : ""));
        corpus_bind_str(statement, 3, str_of(passage->heading_terms));
        corpus_bind_str(statement, 4, str_of(passage->body_terms));
        status = corpus_run(writer->corpus, statement, writer->error);
    }
    return status;
}

static enum status add_row(struct corpus_writer *writer, int64_t file, struct str link, struct str title,
                           const char *alias_of, const struct parsed_document *document)
{
    sqlite3_stmt *statement = corpus_statement(writer->corpus, SQL_ADD_DOCUMENT);
    corpus_bind_str(statement, 2, link);
    corpus_bind_str(statement, 3, title);
    if (alias_of)
        corpus_bind_str(statement, 4, str_of(alias_of));
    if (statement) {
        sqlite3_bind_int64(statement, 1, file);
        sqlite3_bind_int64(statement, 5, document ? (int64_t)document->length : 0);
    }
    if (document)
        corpus_bind_bytes(statement, 6, str_make((const char *)document->text_hash, HASH_BYTES));
    return corpus_run(writer->corpus, statement, writer->error);
}

static enum status add_document(struct corpus_writer *writer, const struct corpus_file *file, int64_t file_id,
                                const struct parsed_document *document)
{
    struct buf link;
    buf_init(&link, BUF_UNBOUNDED);
    enum status status = make_link(writer, file, document->line, &link);
    if (status == STATUS_OK)
        status = add_row(writer, file_id, buf_str(&link), str_of(document->title), NULL, document);
    buf_finish(&link);
    if (status != STATUS_OK)
        return status;
    int64_t id = sqlite3_last_insert_rowid(writer->corpus->db);
    sqlite3_stmt *statement = corpus_statement(writer->corpus, SQL_ADD_TEXT);
    if (statement) {
        sqlite3_bind_int64(statement, 1, id);
        sqlite3_bind_int64(statement, 2, (int64_t)document->text_size);
    }
    corpus_bind_bytes(statement, 3, buf_str(&document->deflated));
    status = corpus_run(writer->corpus, statement, writer->error);
    return status == STATUS_OK ? add_passages(writer, id, document) : status;
}

static enum status add_alias(struct corpus_writer *writer, const struct corpus_file *file, int64_t file_id,
                             const char *target)
{
    struct buf link, other;
    buf_init(&link, BUF_UNBOUNDED);
    buf_init(&other, BUF_UNBOUNDED);
    corpus_make_link(str_of(writer->collection_name), str_of(file->inside), (struct str){0}, &link);
    corpus_make_link(str_of(writer->collection_name), str_of(target), (struct str){0}, &other);
    enum status status = add_row(writer, file_id, buf_str(&link), str_of(file->inside), other.data, NULL);
    buf_finish(&link);
    buf_finish(&other);
    return status;
}

static enum status add_file(struct corpus_writer *writer, const struct parsed_file *parsed)
{
    const struct corpus_file *file = parsed->file;
    sqlite3_stmt *statement = corpus_statement(writer->corpus, SQL_ADD_FILE);
    if (statement) {
        sqlite3_bind_int64(statement, 1, writer->collection);
        sqlite3_bind_int64(statement, 3, file->size);
        sqlite3_bind_int64(statement, 4, file->changed_ns);
    }
    corpus_bind_bytes(statement, 2, str_of(file->inside));
    corpus_bind_bytes(statement, 5, str_make((const char *)parsed->hash, HASH_BYTES));
    enum status status = corpus_run(writer->corpus, statement, writer->error);
    if (status != STATUS_OK)
        return status;
    int64_t id = sqlite3_last_insert_rowid(writer->corpus->db);
    if (parsed->outcome == PARSED_ALIAS)
        return add_alias(writer, file, id, parsed->alias);
    for (size_t i = 0; i < parsed->n_documents && status == STATUS_OK; i++)
        status = add_document(writer, file, id, &parsed->documents[i]);
    return status;
}

/* Writes what became of one file, inside a transaction. */
enum status corpus_write_file(struct corpus_writer *writer, const struct parsed_file *parsed)
{
    struct corpus_report *report = &writer->report;
    struct known_file known;
    enum status status = corpus_find_file(writer, parsed->file->inside, &known);
    if (status != STATUS_OK)
        return status;
    if (parsed->outcome == PARSED_SAME && known.id) {
        sqlite3_stmt *statement = corpus_statement(writer->corpus, SQL_TOUCH_FILE);
        if (statement) {
            sqlite3_bind_int64(statement, 1, known.id);
            sqlite3_bind_int64(statement, 2, parsed->file->size);
            sqlite3_bind_int64(statement, 3, parsed->file->changed_ns);
        }
        report->unchanged++;
        return corpus_run(writer->corpus, statement, writer->error);
    }
    size_t removed = 0;
    if (known.id)
        status = corpus_remove_file(writer, known.id, &removed);
    if (status != STATUS_OK)
        return status;
    switch (parsed->outcome) {
    case PARSED_TEXT:
        *(known.id ? &report->changed : &report->added) += parsed->n_documents;
        return add_file(writer, parsed);
    case PARSED_ALIAS:
        report->aliases++;
        return add_file(writer, parsed);
    case PARSED_NOT_TEXT:
        report->not_text++;
        break;
    case PARSED_FAILED:
        report->failed++;
        break;
    case PARSED_SAME: /* the other process that had it removed it meanwhile: the next run reads it */
        break;
    }
    report->removed += removed;
    return STATUS_OK;
}
