/* src/store/corpus.h
 *
 * A local corpus: folders of documents made searchable in one SQLite file.
 *
 * Every document has a link that stays the same when the corpus is indexed again: corpus://NAME/PATH, NAME being the
 * folder's last component (made unique with "-2", "-3" where two folders share it) and PATH the file's path in it,
 * percent-encoded. A line of a .jsonl file is a document of its own, corpus://NAME/FILE.jsonl/ID.
 *
 * A handle is used by one thread at a time, not necessarily always the same. Several processes may search while one
 * indexes. All functions block on the disk; run them on a worker.
 */
#ifndef FATHOM_STORE_CORPUS_H
#define FATHOM_STORE_CORPUS_H

#include <stdatomic.h>

#include "core/buf.h"
#include "core/status.h"
#include "core/str.h"

struct corpus;

enum corpus_mode {
    CORPUS_READ,   /* search only; the file must exist; works on read-only media */
    CORPUS_CREATE, /* index and search; the file is made when missing */
};

/* STATUS_NOT_FOUND (CORPUS_READ), STATUS_IO, STATUS_INVALID (no database, damaged, or a database of something else),
 * STATUS_UNSUPPORTED (written by another version of this program: index again into a fresh file). */
enum status corpus_open(const char *path, enum corpus_mode mode, struct corpus **out,
                        struct error *error) STATUS_CHECKED;

/* NULL is allowed. */
void corpus_close(struct corpus *corpus);

/* How far corpus_index is. */
struct corpus_progress {
    size_t files_seen;   /* found so far */
    size_t files_done;   /* read, skipped or refused so far */
    const char *file;    /* the one just done; borrowed for the call */
    const char *problem; /* why it was not taken, NULL when it was */
};
typedef void (*corpus_progress_fn)(void *user, const struct corpus_progress *progress);

/* A file to be read. */
struct corpus_source {
    const char *path;   /* absolute */
    const char *folder; /* the one being indexed, absolute */
    struct str bytes;
    size_t max_bytes; /* of text */
};

/* A file as text. */
struct corpus_text {
    struct buf markdown;
    char *title; /* owned */
    char
        *alias; /* instead of a text: the path of another file in the folder, which this one is only a name of; owned */
};

/* How files are read; the store itself knows plain UTF-8 text alone. Both functions run on worker threads, several at
 * once. */
struct corpus_reader {
    /* Whether a file of this name is worth opening. */
    bool (*wants)(struct str name);

    /* Makes text of a file. `out` is zeroed and, on success, taken over. A .jsonl file is to be given as it is, but
     * decompressed. STATUS_UNSUPPORTED for a kind of file that is not read; any other failure is counted as one. */
    enum status (*read)(const struct corpus_source *source, struct corpus_text *out, struct error *error);
};

struct corpus_index_options {
    const struct corpus_reader *reader; /* NULL: files that are valid UTF-8, as they are */
    int jobs;                           /* documents read at once; 0 means one for each processor */
    size_t max_file_bytes;              /* larger files are refused, also after decompression; 0 means 64 MB */
    corpus_progress_fn progress;        /* called on the calling thread, for every file; NULL allowed */
    void *user;
    const atomic_bool *cancel; /* polled; NULL allowed */
};

struct corpus_report {
    size_t documents; /* in the corpus now */
    size_t passages;  /* in the corpus now */
    size_t added;     /* documents */
    size_t changed;
    size_t unchanged;
    size_t removed;
    size_t aliases;  /* links to, and includes of, another document of the same folder */
    size_t not_text; /* files of a kind that is not read */
    size_t failed;   /* unreadable, damaged, or too big */
    int64_t elapsed_ms;
};

/* Brings the corpus up to date with folders (or single files): new files are read, changed ones (by size and time of
 * change, then by content) read again, vanished ones removed; other folders indexed before stay. Written in batches, so
 * an interruption leaves a valid corpus that holds what was finished. A document that cannot be read is counted and
 * reported through progress, and never fails the whole. Symbolic links are followed only to files inside the same
 * folder. `report` may be NULL.
 *
 * STATUS_NOT_FOUND   a folder does not exist; nothing was changed
 * STATUS_TIMEOUT     another process has been writing to the corpus for 30 seconds
 * STATUS_CANCELED, STATUS_IO (disk full, no right to write), STATUS_ORDER (opened with CORPUS_READ) */
enum status corpus_index(struct corpus *corpus, const char *const *folders, size_t n_folders,
                         const struct corpus_index_options *options, struct corpus_report *report,
                         struct error *error) STATUS_CHECKED;

/* One document found. All strings are owned by the results. */
struct corpus_hit {
    char *url;
    char *title;
    char *headings; /* where in the document the best passage stands, "DESCRIPTION > Flags"; NULL at its beginning */
    char *snippet;  /* one line from the best passage, some 300 bytes */
    double score;   /* > 0; comparable within one search */
};

struct corpus_results {
    struct corpus_hit *hits; /* best first; equal scores by link */
    size_t count;
};

/* The documents that bear on `query` most, at most `limit`. Any bytes are a query; operators have no meaning. A query
 * without a searchable word gives no hit. `out` is to be given to corpus_results_finish.
 *
 * STATUS_IO, STATUS_INVALID   the file is damaged
 * STATUS_TIMEOUT              it is locked */
enum status corpus_search(struct corpus *corpus, struct str query, size_t limit, struct corpus_results *out,
                          struct error *error) STATUS_CHECKED;

void corpus_results_finish(struct corpus_results *results);

/* A document by its link. `title` and `url` (the link it is filed under; another one when `link` is an alias) are fresh
 * strings for the caller to free; the whole text is appended to `markdown`.
 *
 * STATUS_NOT_FOUND   no such document
 * STATUS_TOO_BIG     the text passes the cap of `markdown` */
enum status corpus_document(struct corpus *corpus, struct str link, char **title, char **url, struct buf *markdown,
                            struct error *error) STATUS_CHECKED;

/* Whether `url` is a corpus link. */
bool corpus_is_link(struct str url);

#endif
