#include "store/corpus.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "core/mem.h"
#include "store/corpus_internal.h"
#include "text/words.h"

#define BUSY_TIMEOUT_MS 30000

static enum status pragma(struct corpus *corpus, const char *sql, int64_t *value, struct error *error)
{
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(corpus->db, sql, -1, &statement, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_step(statement);
    if (code == SQLITE_ROW && value)
        *value = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return code == SQLITE_ROW || code == SQLITE_DONE ? STATUS_OK : corpus_failure(corpus, code, error);
}

/* A path as an SQLite URI with `parameters`, for what the flags cannot say. */
static char *as_uri(const char *path, const char *parameters)
{
    struct buf uri;
    buf_init(&uri, BUF_UNBOUNDED);
    buf_add_text(&uri, "file:");
    for (const char *c = path; *c; c++) {
        if (*c == '?' || *c == '#' || *c == '%')
            buf_addf(&uri, "%%%02X", (unsigned char)*c);
        else
            buf_add_char(&uri, *c);
    }
    buf_add_text(&uri, parameters);
    return buf_take(&uri);
}

static enum status open_file(struct corpus *corpus, enum corpus_mode mode, struct error *error)
{
    int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI;
    int code;
    if (mode == CORPUS_CREATE) {
        char *uri = as_uri(corpus->path, "");
        code = sqlite3_open_v2(uri, &corpus->db, flags | SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL);
        free(uri);
        sqlite3_busy_timeout(corpus->db, BUSY_TIMEOUT_MS);
        return code == SQLITE_OK ? STATUS_OK : corpus_failure(corpus, code, error);
    }
    /* A WAL file on read-only media cannot be opened the usual way, since readers too write to the -shm file. */
    static const char *const tries[] = {"?mode=ro", "?immutable=1"};
    for (size_t i = 0; i < 2; i++) {
        char *uri = as_uri(corpus->path, tries[i]);
        code = sqlite3_open_v2(uri, &corpus->db, flags | SQLITE_OPEN_READONLY, NULL);
        free(uri);
        sqlite3_busy_timeout(corpus->db, BUSY_TIMEOUT_MS);
        if (code == SQLITE_OK)
            code = sqlite3_exec(corpus->db, "PRAGMA schema_version", NULL, NULL, NULL);
        if ((code & 0xFF) != SQLITE_CANTOPEN && (code & 0xFF) != SQLITE_READONLY)
            break;
        if (i == 0) {
            sqlite3_close(corpus->db);
            corpus->db = NULL;
        }
    }
    return code == SQLITE_OK ? STATUS_OK : corpus_failure(corpus, code, error);
}

static enum status create_layout(struct corpus *corpus, struct error *error)
{
    char version[16], settings[96];
    snprintf(version, sizeof version, "%d", WORDS_VERSION);
    snprintf(settings, sizeof settings, "PRAGMA application_id = %d", CORPUS_APPLICATION);
    enum status status = corpus_do(corpus, SQL_BEGIN, error);
    if (status != STATUS_OK)
        return status;
    int64_t application = 0; /* another process may have been faster */
    status = pragma(corpus, "PRAGMA application_id", &application, error);
    if (status == STATUS_OK && application != CORPUS_APPLICATION) {
        status = corpus_run_file(corpus, "src/store/corpus_schema.sql", error);
        if (status == STATUS_OK)
            status = pragma(corpus, settings, NULL, error);
        snprintf(settings, sizeof settings, "PRAGMA user_version = %d", CORPUS_FORMAT);
        if (status == STATUS_OK)
            status = pragma(corpus, settings, NULL, error);
        sqlite3_stmt *statement = status == STATUS_OK ? corpus_statement(corpus, SQL_WRITE_META) : NULL;
        corpus_bind_str(statement, 1, STR("words_version"));
        corpus_bind_str(statement, 2, str_of(version));
        if (status == STATUS_OK)
            status = corpus_run(corpus, statement, error);
    }
    if (status == STATUS_OK)
        return corpus_do(corpus, SQL_COMMIT, error);
    sqlite3_exec(corpus->db, "ROLLBACK", NULL, NULL, NULL);
    return status;
}

/* Turns a fresh file to WAL. SQLite's own waiting does not cover this change when another process makes it at the same
 * time. */
static enum status set_wal(struct corpus *corpus, struct error *error)
{
    enum status status;
    for (int waited_ms = 0; (status = pragma(corpus, "PRAGMA journal_mode = WAL", NULL, error)) == STATUS_TIMEOUT &&
                            waited_ms < BUSY_TIMEOUT_MS;
         waited_ms += 20)
        sqlite3_sleep(20);
    return status;
}

/* A corpus is told by its application id; a fresh file has none and no table. */
static enum status check_layout(struct corpus *corpus, struct error *error)
{
    int64_t application = 0, format = 0, tables = 0;
    enum status status = pragma(corpus, "PRAGMA application_id", &application, error);
    if (status == STATUS_OK)
        status = pragma(corpus, "PRAGMA user_version", &format, error);
    if (status == STATUS_OK)
        status = pragma(corpus, "SELECT count(*) FROM sqlite_schema", &tables, error);
    if (status != STATUS_OK)
        return status;
    if (application == 0 && format == 0 && tables == 0 && corpus->writable) {
        status = set_wal(corpus, error);
        return status == STATUS_OK ? create_layout(corpus, error) : status;
    }
    if (application != CORPUS_APPLICATION) {
        error_set(error, STATUS_INVALID, "this is an SQLite database, but not a corpus of this program");
        error_at(error, corpus->path, 0, 0);
        return STATUS_INVALID;
    }
    sqlite3_stmt *statement = corpus_statement(corpus, SQL_READ_META);
    corpus_bind_str(statement, 1, STR("words_version"));
    bool row = false;
    status = corpus_step(corpus, statement, &row, error);
    if (status != STATUS_OK)
        return status;
    bool same_words = row && sqlite3_column_int(statement, 0) == WORDS_VERSION;
    sqlite3_reset(statement);
    if (format == CORPUS_FORMAT && same_words)
        return STATUS_OK;
    error_set(error, STATUS_UNSUPPORTED,
              "the corpus was written by another version of this program; index into a fresh file");
    error_at(error, corpus->path, 0, 0);
    return STATUS_UNSUPPORTED;
}

enum status corpus_open(const char *path, enum corpus_mode mode, struct corpus **out, struct error *error)
{
    if (mode == CORPUS_READ && access(path, F_OK) != 0) {
        error_set(error, STATUS_NOT_FOUND, "there is no corpus; make one with fathom index");
        error_at(error, path, 0, 0);
        return STATUS_NOT_FOUND;
    }
    struct corpus *corpus = mem_zalloc(sizeof *corpus);
    corpus->path = mem_strdup(path);
    corpus->writable = mode == CORPUS_CREATE;
    enum status status = open_file(corpus, mode, error);
    if (status == STATUS_OK && corpus->writable)
        status = pragma(corpus, "PRAGMA synchronous = NORMAL", NULL, error);
    if (status == STATUS_OK)
        status = pragma(corpus, "PRAGMA cache_size = -65536", NULL, error);
    if (status == STATUS_OK)
        status = check_layout(corpus, error);
    if (status != STATUS_OK) {
        corpus_close(corpus);
        return status;
    }
    *out = corpus;
    return STATUS_OK;
}

void corpus_close(struct corpus *corpus)
{
    if (!corpus)
        return;
    for (size_t i = 0; i < SQL_COUNT; i++)
        sqlite3_finalize(corpus->statements[i]);
    sqlite3_close(corpus->db);
    corpus_lengths_finish(&corpus->lengths);
    free(corpus->path);
    free(corpus);
}

/* ---- links ---- */

bool corpus_is_link(struct str url)
{
    return str_starts_with_nocase(url, STR("corpus://"));
}

static void add_encoded(struct str part, bool keep_slash, struct buf *out)
{
    for (size_t i = 0; i < part.len; i++) {
        char c = part.data[i];
        if (ascii_is_alnum(c) || (c && strchr("-._~", c)) || (c == '/' && keep_slash))
            buf_add_char(out, c);
        else
            buf_addf(out, "%%%02X", (unsigned char)c);
    }
}

void corpus_make_link(struct str collection, struct str path, struct str line, struct buf *out)
{
    buf_add_text(out, "corpus://");
    add_encoded(collection, false, out);
    if (path.len) {
        buf_add_char(out, '/');
        add_encoded(path, true, out);
    }
    if (line.len) {
        buf_add_char(out, '/');
        add_encoded(line, false, out);
    }
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9'                             ? c - '0'
           : ascii_lower(c) >= 'a' && ascii_lower(c) <= 'f' ? ascii_lower(c) - 'a' + 10
                                                            : -1;
}

/* The one spelling of a link that the corpus uses: models and people write some characters encoded or not as they like,
 * and add fragments. An encoded slash stays encoded, since it is one inside a name. */
static char *canonical_link(struct str link)
{
    link = str_slice(link, 0, str_find_char(link, '#', 0));
    struct buf out;
    buf_init(&out, BUF_UNBOUNDED);
    buf_add_text(&out, "corpus://");
    for (size_t i = 9; i < link.len; i++) {
        char c = link.data[i];
        bool encoded =
            c == '%' && i + 2 < link.len && hex_digit(link.data[i + 1]) >= 0 && hex_digit(link.data[i + 2]) >= 0;
        if (encoded) {
            c = (char)(hex_digit(link.data[i + 1]) * 16 + hex_digit(link.data[i + 2]));
            i += 2;
        }
        add_encoded(str_make(&c, 1), !encoded, &out);
    }
    while (out.len > 9 && out.data[out.len - 1] == '/')
        buf_truncate(&out, out.len - 1);
    return buf_take(&out);
}

/* ---- documents ---- */

enum status corpus_read_text(struct corpus *corpus, int64_t document, struct buf *out, struct error *error)
{
    sqlite3_stmt *statement = corpus_statement(corpus, SQL_READ_TEXT);
    if (statement)
        sqlite3_bind_int64(statement, 1, document);
    bool row = false;
    enum status status = corpus_step(corpus, statement, &row, error);
    if (status != STATUS_OK)
        return status;
    if (!row) {
        sqlite3_reset(statement);
        return error_set(error, STATUS_NOT_FOUND, "the document has no text");
    }
    int64_t size = sqlite3_column_int64(statement, 0);
    struct str deflated = corpus_column(statement, 1);
    char *end = size >= 0 ? buf_reserve(out, (size_t)size) : NULL;
    if (!end && size) {
        status = error_set(error, STATUS_TOO_BIG, "the document has more than %zu bytes of text", out->cap);
    } else if (size) {
        uLongf got = (uLongf)size;
        if (uncompress((Bytef *)end, &got, (const Bytef *)deflated.data, (uLong)deflated.len) == Z_OK &&
            got == (uLongf)size)
            buf_commit(out, (size_t)size);
        else
            status = error_set(error, STATUS_INVALID, "the corpus is damaged: a document's text cannot be read");
    }
    sqlite3_reset(statement);
    return status;
}

/* Finds a document by a link in canonical form; *alias is what it points to, NULL for one with a text. */
static enum status find_document(struct corpus *corpus, const char *link, int64_t *id, char **title, char **alias,
                                 struct error *error)
{
    sqlite3_stmt *statement = corpus_statement(corpus, SQL_FIND_DOCUMENT);
    corpus_bind_str(statement, 1, str_of(link));
    bool row = false;
    enum status status = corpus_step(corpus, statement, &row, error);
    if (status != STATUS_OK)
        return status;
    if (row) {
        *id = sqlite3_column_int64(statement, 0);
        *title = str_dup(corpus_column(statement, 2));
        *alias = sqlite3_column_type(statement, 3) == SQLITE_NULL ? NULL : str_dup(corpus_column(statement, 3));
    }
    sqlite3_reset(statement);
    return row ? STATUS_OK : error_set(error, STATUS_NOT_FOUND, "the corpus has no document with this link");
}

enum status corpus_document(struct corpus *corpus, struct str link, char **title, char **url, struct buf *markdown,
                            struct error *error)
{
    link = str_trim(link);
    if (!corpus_is_link(link))
        return error_set(error, STATUS_NOT_FOUND, "this is no link into a corpus");
    char *wanted = canonical_link(link), *found_title = NULL, *alias = NULL;
    int64_t id = 0;
    enum status status = STATUS_OK;
    for (int hops = 0; hops < 8; hops++) { /* aliases of aliases: links to links */
        status = find_document(corpus, wanted, &id, &found_title, &alias, error);
        if (status != STATUS_OK || !alias)
            break;
        free(wanted);
        free(found_title);
        wanted = alias;
        alias = found_title = NULL;
    }
    if (status == STATUS_OK && !found_title)
        status = error_set(error, STATUS_NOT_FOUND, "the link leads round in a circle");
    if (status == STATUS_OK)
        status = corpus_read_text(corpus, id, markdown, error);
    if (status != STATUS_OK) {
        free(wanted);
        free(found_title);
        return status;
    }
    *title = found_title;
    *url = wanted;
    return STATUS_OK;
}
