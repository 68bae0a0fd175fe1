#include <stdlib.h>
#include <string.h>

#include "core/embed.h"
#include "store/corpus_internal.h"
#include "store/statements.h"

static const char *const statement_names[SQL_COUNT] = {
    [SQL_BEGIN] = "begin",
    [SQL_COMMIT] = "commit",
    [SQL_ROLLBACK] = "rollback",
    [SQL_READ_META] = "read_meta",
    [SQL_WRITE_META] = "write_meta",
    [SQL_FIND_COLLECTION] = "find_collection",
    [SQL_NAME_TAKEN] = "name_taken",
    [SQL_ADD_COLLECTION] = "add_collection",
    [SQL_FIND_FILE] = "find_file",
    [SQL_LIST_FILES] = "list_files",
    [SQL_ADD_FILE] = "add_file",
    [SQL_TOUCH_FILE] = "touch_file",
    [SQL_DELETE_FILE] = "delete_file",
    [SQL_DOCUMENTS_OF_FILE] = "documents_of_file",
    [SQL_FIND_DOCUMENT] = "find_document",
    [SQL_DOCUMENT_BY_ID] = "document_by_id",
    [SQL_ADD_DOCUMENT] = "add_document",
    [SQL_DELETE_DOCUMENT] = "delete_document",
    [SQL_ADD_TEXT] = "add_text",
    [SQL_READ_TEXT] = "read_text",
    [SQL_DELETE_TEXT] = "delete_text",
    [SQL_ADD_PASSAGE] = "add_passage",
    [SQL_READ_PASSAGE] = "read_passage",
    [SQL_PASSAGES_OF_DOCUMENT] = "passages_of_document",
    [SQL_DELETE_PASSAGES] = "delete_passages",
    [SQL_INDEX_PASSAGE] = "index_passage",
    [SQL_UNINDEX_PASSAGE] = "unindex_passage",
    [SQL_MERGE_INDEX] = "merge_index",
    [SQL_PASSAGE_LENGTHS] = "passage_lengths",
    [SQL_DOCUMENT_LENGTHS] = "document_lengths",
    [SQL_TERM_INSTANCES] = "term_instances",
    [SQL_COUNT_DOCUMENTS] = "count_documents",
    [SQL_COUNT_PASSAGES] = "count_passages",
    [SQL_DATA_VERSION] = "data_version",
};

enum status corpus_failure(struct corpus *corpus, int code, struct error *error)
{
    enum status status = STATUS_IO;
    switch (code & 0xFF) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        status =
            error_set(error, STATUS_TIMEOUT, "another process is writing to the corpus; try again when it is done");
        break;
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT:
        status =
            error_set(error, STATUS_INVALID, "the file is no corpus, or it is damaged: %s", sqlite3_errmsg(corpus->db));
        break;
    case SQLITE_FULL:
        status = error_set(error, STATUS_IO, "the disk is full");
        break;
    case SQLITE_READONLY:
        status = error_set(error, STATUS_IO, "the file or its folder cannot be written to");
        break;
    default: /* SQLite's codes, not ours */
        status = error_set(error, STATUS_IO, "the corpus cannot be used: %s", sqlite3_errmsg(corpus->db));
        break;
    }
    error_at(error, corpus->path, 0, 0);
    return status;
}

sqlite3_stmt *corpus_statement(struct corpus *corpus, enum statement which)
{
    sqlite3_stmt **statement = &corpus->statements[which];
    if (!*statement) {
        struct str text = statement_text("src/store/corpus_statements.sql", statement_names[which]);
        if (sqlite3_prepare_v3(corpus->db, text.data, (int)text.len, SQLITE_PREPARE_PERSISTENT, statement, NULL) !=
            SQLITE_OK)
            return NULL;
    }
    sqlite3_reset(*statement);
    sqlite3_clear_bindings(*statement);
    return *statement;
}

enum status corpus_step(struct corpus *corpus, sqlite3_stmt *statement, bool *row, struct error *error)
{
    if (!statement)
        return corpus_failure(corpus, sqlite3_errcode(corpus->db), error);
    int code = sqlite3_step(statement);
    if (code != SQLITE_ROW && code != SQLITE_DONE) {
        enum status status = corpus_failure(corpus, code, error);
        sqlite3_reset(statement);
        return status;
    }
    *row = code == SQLITE_ROW;
    return STATUS_OK;
}

enum status corpus_run(struct corpus *corpus, sqlite3_stmt *statement, struct error *error)
{
    bool row = false;
    enum status status = corpus_step(corpus, statement, &row, error);
    if (status == STATUS_OK)
        sqlite3_reset(statement);
    return status;
}

enum status corpus_do(struct corpus *corpus, enum statement which, struct error *error)
{
    return corpus_run(corpus, corpus_statement(corpus, which), error);
}

enum status corpus_run_file(struct corpus *corpus, const char *path, struct error *error)
{
    struct str text;
    if (!embed_find(path, &text))
        return error_set(error, STATUS_NOT_FOUND, "%s is not part of this program", path);
    int code = sqlite3_exec(corpus->db, text.data, NULL, NULL, NULL);
    return code == SQLITE_OK ? STATUS_OK : corpus_failure(corpus, code, error);
}

void corpus_bind_str(sqlite3_stmt *statement, int at, struct str text)
{
    if (statement)
        sqlite3_bind_text64(statement, at, text.data ? text.data : "", text.len, SQLITE_STATIC, SQLITE_UTF8);
}

void corpus_bind_bytes(sqlite3_stmt *statement, int at, struct str bytes)
{
    if (statement)
        sqlite3_bind_blob64(statement, at, bytes.data ? bytes.data : "", bytes.len, SQLITE_STATIC);
}

struct str corpus_column(sqlite3_stmt *statement, int at)
{
    const void *bytes = sqlite3_column_blob(statement, at);
    int length = sqlite3_column_bytes(statement, at);
    return bytes ? str_make(bytes, (size_t)length) : (struct str){0};
}
