/* src/store/corpus_internal.h
 *
 * What the corpus's files share. Not for others. corpus.c opens files and reads documents, corpus_sql.c runs the
 * statements of corpus_statements.sql, corpus_scan.c lists files, corpus_parse.c makes a file's documents ready on
 * worker threads, corpus_index.c writes them, corpus_search.c and corpus_score.c answer queries.
 */
#ifndef FATHOM_STORE_CORPUS_INTERNAL_H
#define FATHOM_STORE_CORPUS_INTERNAL_H

#include <sqlite3.h>

#include "core/buf.h"
#include "store/corpus.h"

#define CORPUS_APPLICATION 0x46744D43 /* "FtMC", PRAGMA application_id */
#define CORPUS_FORMAT      1          /* PRAGMA user_version */
#define PASSAGE_BITS       20         /* of a passage's id; the rest is the document's */
#define HASH_BYTES         32

enum statement {
    SQL_BEGIN,
    SQL_COMMIT,
    SQL_ROLLBACK,
    SQL_READ_META,
    SQL_WRITE_META,
    SQL_FIND_COLLECTION,
    SQL_NAME_TAKEN,
    SQL_ADD_COLLECTION,
    SQL_FIND_FILE,
    SQL_LIST_FILES,
    SQL_ADD_FILE,
    SQL_TOUCH_FILE,
    SQL_DELETE_FILE,
    SQL_DOCUMENTS_OF_FILE,
    SQL_FIND_DOCUMENT,
    SQL_DOCUMENT_BY_ID,
    SQL_ADD_DOCUMENT,
    SQL_DELETE_DOCUMENT,
    SQL_ADD_TEXT,
    SQL_READ_TEXT,
    SQL_DELETE_TEXT,
    SQL_ADD_PASSAGE,
    SQL_READ_PASSAGE,
    SQL_PASSAGES_OF_DOCUMENT,
    SQL_DELETE_PASSAGES,
    SQL_INDEX_PASSAGE,
    SQL_UNINDEX_PASSAGE,
    SQL_MERGE_INDEX,
    SQL_PASSAGE_LENGTHS,
    SQL_DOCUMENT_LENGTHS,
    SQL_TERM_INSTANCES,
    SQL_COUNT_DOCUMENTS,
    SQL_COUNT_PASSAGES,
    SQL_DATA_VERSION,
    SQL_COUNT
};

/* Lengths of all documents and passages, in terms, for scoring; kept until the file changes. */
struct corpus_lengths {
    int64_t version; /* data_version when it was read; 0: nothing was read */
    size_t n_documents, n_passages;
    int64_t *document_ids;   /* ascending */
    uint32_t *documents;     /* length of each */
    uint32_t *first_passage; /* of each document, one more at the end */
    uint32_t *passages;      /* length of each, in the order of documents */
    double mean_document, mean_passage;
};

struct corpus {
    sqlite3 *db;
    char *path;
    bool writable;
    sqlite3_stmt *statements[SQL_COUNT]; /* prepared at first use */
    struct corpus_lengths lengths;
};

/* ---- corpus_sql.c ---- */

/* The statement, reset and without values; NULL when it cannot be prepared (the database is damaged). */
sqlite3_stmt *corpus_statement(struct corpus *corpus, enum statement which);

/* Runs a statement that gives no rows to its end and resets it. */
enum status corpus_run(struct corpus *corpus, sqlite3_stmt *statement, struct error *error) STATUS_CHECKED;

/* Steps a statement that gives rows: *row says whether there is one. The caller resets it at the end. */
enum status corpus_step(struct corpus *corpus, sqlite3_stmt *statement, bool *row, struct error *error) STATUS_CHECKED;

/* Begin, commit, rollback and other statements without values. */
enum status corpus_do(struct corpus *corpus, enum statement which, struct error *error) STATUS_CHECKED;

/* Fills `error` after a failed call of SQLite. */
enum status corpus_failure(struct corpus *corpus, int code, struct error *error);

/* Runs all statements of an embedded file. */
enum status corpus_run_file(struct corpus *corpus, const char *path, struct error *error) STATUS_CHECKED;

void corpus_bind_str(sqlite3_stmt *statement, int at, struct str text); /* borrowed until the statement is reset */
void corpus_bind_bytes(sqlite3_stmt *statement, int at, struct str bytes);
struct str corpus_column(sqlite3_stmt *statement, int at); /* borrowed until the next step */

/* ---- corpus.c ---- */

/* Appends the text of a document. STATUS_NOT_FOUND when it has none. */
enum status corpus_read_text(struct corpus *corpus, int64_t document, struct buf *out,
                             struct error *error) STATUS_CHECKED;

/* Appends "corpus://NAME/PATH", percent-encoded; `path` and `line` (the id of a JSON line) may be empty. */
void corpus_make_link(struct str collection, struct str path, struct str line, struct buf *out);

/* ---- corpus_scan.c ---- */

/* A file found below a folder. */
struct corpus_file {
    char *path;   /* to open it */
    char *inside; /* below the folder; "" for a single file */
    char *alias;  /* what a symbolic link points to, below the folder; NULL for a file of its own */
    int64_t size, changed_ns;
};

struct corpus_files {
    struct corpus_file *items;
    size_t count, capacity;
    char **unreadable; /* folders below that could not be listed: what is indexed of them stays */
    size_t n_unreadable, unreadable_capacity;
};

/* Lists the regular files below `root` (absolute, resolved), sorted by path. Hidden ones (a dot in front) are left out.
 */
void corpus_scan(const char *root, struct corpus_files *out);
void corpus_files_finish(struct corpus_files *files);

/* ---- corpus_parse.c ---- */

struct parsed_passage {
    size_t from, to;
    char *headings; /* NULL where there are none */
    char *heading_terms, *body_terms;
    size_t length;
};

struct parsed_document {
    char *title, *title_terms;
    char *line; /* id in a .jsonl file; NULL otherwise */
    struct buf deflated;
    size_t text_size, length;
    unsigned char text_hash[HASH_BYTES];
    struct parsed_passage *passages;
    size_t n_passages;
};

enum parsed_outcome { PARSED_TEXT, PARSED_SAME, PARSED_ALIAS, PARSED_NOT_TEXT, PARSED_FAILED };

struct parsed_file {
    const struct corpus_file *file;
    enum parsed_outcome outcome;
    char *problem; /* when not taken */
    char *alias;   /* PARSED_ALIAS: path of the other below the folder */
    unsigned char hash[HASH_BYTES];
    struct parsed_document *documents;
    size_t n_documents, capacity;
    size_t weight; /* bytes held, roughly */
};

struct parse_options {
    const struct corpus_reader *reader; /* NULL: plain text */
    const char *root;
    size_t max_bytes;
};

/* Reads a file and makes everything about it ready to be written. `known_hash` (NULL for a new file): when the bytes
 * are the same the outcome is PARSED_SAME. Touches no database; any thread. */
void corpus_parse(const struct corpus_file *file, const struct parse_options *options, const unsigned char *known_hash,
                  struct parsed_file *out);
void parsed_file_finish(struct parsed_file *file);

/* Terms of a text separated by spaces; *count is increased by how many. Fresh. */
char *corpus_terms(struct str text, size_t *count);

/* ---- corpus_write.c ---- */

/* What is being written where. */
struct corpus_writer {
    struct corpus *corpus;
    int64_t collection;
    char *collection_name;
    struct corpus_report report; /* counted as it goes */
    struct error *error;
};

/* What the corpus knows of a file. */
struct known_file {
    int64_t id; /* 0: not known */
    int64_t size, changed_ns;
    unsigned char hash[HASH_BYTES];
};

enum status corpus_find_file(struct corpus_writer *writer, const char *inside, struct known_file *out) STATUS_CHECKED;

/* Writes what became of one file, in place of what was there. */
enum status corpus_write_file(struct corpus_writer *writer, const struct parsed_file *parsed) STATUS_CHECKED;

/* Removes a file and its documents; *count is how many those were. */
enum status corpus_remove_file(struct corpus_writer *writer, int64_t file, size_t *count) STATUS_CHECKED;

/* ---- corpus_score.c ---- */

/* Where one document stands for a query. */
struct corpus_candidate {
    size_t document; /* index into the lengths */
    size_t passage;  /* the best one, index within the document */
    double score;
};

/* Reads the lengths when they are not known or have changed. */
enum status corpus_load_lengths(struct corpus *corpus, struct error *error) STATUS_CHECKED;
void corpus_lengths_finish(struct corpus_lengths *lengths);

/* The best documents for `query`, best first; *out is fresh. */
enum status corpus_score(struct corpus *corpus, struct str query, size_t limit, struct corpus_candidate **out,
                         size_t *count, struct error *error) STATUS_CHECKED;

#endif
