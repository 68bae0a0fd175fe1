/* Bringing a corpus up to date. Worker threads read and cut files; the calling thread decides what is to be read and
 * writes the results in batches, each one transaction, so that whatever happens the file holds whole documents. Nothing
 * read before a transaction is trusted inside it: another process may have indexed the same folder in between. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/mem.h"
#include "store/corpus_internal.h"

#define DEFAULT_MAX_FILE ((size_t)64 << 20)
#define BATCH_FILES      400
#define BATCH_WEIGHT     ((size_t)32 << 20)
#define MAX_JOBS         32

/* What the workers and the writer share, under `lock`. */
struct workshop {
    pthread_mutex_t lock;
    pthread_cond_t taken, made; /* a result was taken; a result was made */
    const struct corpus_file **files;
    unsigned char (*known_hashes)[HASH_BYTES];
    bool *known;
    size_t n_files, next;
    struct parsed_file *results; /* waiting for the writer */
    size_t n_results, results_capacity;
    size_t weight; /* of the results */
    size_t under_way;
    bool stop;
    struct parse_options parse;
    const atomic_bool *cancel;
};

struct indexing {
    struct corpus_writer writer;
    const struct corpus_index_options *options;
    struct corpus_progress progress;
};

static bool canceled(const struct indexing *indexing)
{
    return indexing->options->cancel && atomic_load(indexing->options->cancel);
}

static void tell(struct indexing *indexing, const char *file, const char *problem)
{
    indexing->progress.files_done++;
    indexing->progress.file = file;
    indexing->progress.problem = problem;
    if (indexing->options->progress)
        indexing->options->progress(indexing->options->user, &indexing->progress);
}

static void rollback(struct indexing *indexing)
{
    if (!sqlite3_get_autocommit(indexing->writer.corpus->db))
        sqlite3_exec(indexing->writer.corpus->db, "ROLLBACK", NULL, NULL, NULL);
}

static enum status write_batch(struct indexing *indexing, struct parsed_file *batch, size_t n)
{
    enum status status = corpus_do(indexing->writer.corpus, SQL_BEGIN, indexing->writer.error);
    for (size_t i = 0; i < n && status == STATUS_OK; i++)
        status = corpus_write_file(&indexing->writer, &batch[i]);
    if (status == STATUS_OK)
        status = corpus_do(indexing->writer.corpus, SQL_COMMIT, indexing->writer.error);
    if (status != STATUS_OK)
        rollback(indexing);
    for (size_t i = 0; i < n; i++) {
        if (status == STATUS_OK)
            tell(indexing, batch[i].file->path, batch[i].problem);
        parsed_file_finish(&batch[i]);
    }
    return status;
}

/* ---- workers ---- */

static void *work(void *user)
{
    struct workshop *shop = user;
    pthread_mutex_lock(&shop->lock);
    for (;;) {
        while (!shop->stop && shop->weight > 2 * BATCH_WEIGHT)
            pthread_cond_wait(&shop->taken, &shop->lock);
        if (shop->stop || shop->next == shop->n_files || (shop->cancel && atomic_load(shop->cancel)))
            break;
        size_t at = shop->next++;
        shop->under_way++;
        pthread_mutex_unlock(&shop->lock);
        struct parsed_file parsed;
        corpus_parse(shop->files[at], &shop->parse, shop->known[at] ? shop->known_hashes[at] : NULL, &parsed);
        pthread_mutex_lock(&shop->lock);
        shop->under_way--;
        shop->results = mem_grow(shop->results, shop->n_results, &shop->results_capacity, sizeof *shop->results);
        shop->results[shop->n_results++] = parsed;
        shop->weight += parsed.weight;
        pthread_cond_signal(&shop->made);
    }
    pthread_cond_broadcast(&shop->made);
    pthread_mutex_unlock(&shop->lock);
    return NULL;
}

/* Takes results over as a batch once there are enough, or no more will come. False when all is done. */
static bool next_batch(struct workshop *shop, struct parsed_file **batch, size_t *n)
{
    pthread_mutex_lock(&shop->lock);
    while (shop->n_results < BATCH_FILES && shop->weight < BATCH_WEIGHT &&
           (shop->next < shop->n_files || shop->under_way) && !(shop->cancel && atomic_load(shop->cancel)))
        pthread_cond_wait(&shop->made, &shop->lock);
    *batch = shop->results;
    *n = shop->n_results;
    shop->results = NULL;
    shop->n_results = shop->results_capacity = 0;
    shop->weight = 0;
    pthread_cond_broadcast(&shop->taken);
    pthread_mutex_unlock(&shop->lock);
    return *n > 0;
}

static size_t count_jobs(const struct corpus_index_options *options, size_t n_files)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    size_t jobs = options->jobs > 0 ? (size_t)options->jobs : processors > 0 ? (size_t)processors : 1;
    jobs = jobs < MAX_JOBS ? jobs : MAX_JOBS;
    return jobs < n_files ? jobs : n_files;
}

static enum status read_and_write(struct indexing *indexing, struct workshop *shop)
{
    pthread_t threads[MAX_JOBS];
    size_t jobs = count_jobs(indexing->options, shop->n_files), started = 0;
    while (started < jobs && pthread_create(&threads[started], NULL, work, shop) == 0)
        started++;
    enum status status = STATUS_OK;
    if (jobs && !started)
        status = error_set(indexing->writer.error, STATUS_IO, "no thread can be started");
    struct parsed_file *batch = NULL;
    size_t n = 0;
    while (started && status == STATUS_OK && next_batch(shop, &batch, &n)) {
        status = write_batch(indexing, batch, n);
        free(batch);
        if (canceled(indexing))
            break;
    }
    if (status == STATUS_OK && canceled(indexing))
        status = error_set(indexing->writer.error, STATUS_CANCELED, "interrupted; what was finished stays indexed");
    pthread_mutex_lock(&shop->lock);
    shop->stop = true;
    pthread_cond_broadcast(&shop->taken);
    pthread_mutex_unlock(&shop->lock);
    for (size_t i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    for (size_t i = 0; i < shop->n_results; i++)
        parsed_file_finish(&shop->results[i]);
    free(shop->results);
    return status;
}

/* ---- one folder ---- */

/* Chooses what has to be read; what has not changed by size and time, and links, need no worker. */
static enum status choose_work(struct indexing *indexing, const struct corpus_files *files, struct workshop *shop,
                               struct parsed_file *links, size_t *n_links)
{
    for (size_t i = 0; i < files->count; i++) {
        const struct corpus_file *file = &files->items[i];
        struct known_file known;
        enum status status = corpus_find_file(&indexing->writer, file->inside, &known);
        if (status != STATUS_OK)
            return status;
        if (known.id && known.size == file->size && known.changed_ns == file->changed_ns) {
            indexing->writer.report.unchanged++;
            tell(indexing, file->path, NULL);
        } else if (file->alias) {
            links[(*n_links)++] =
                (struct parsed_file){.file = file, .outcome = PARSED_ALIAS, .alias = mem_strdup(file->alias)};
        } else {
            shop->files[shop->n_files] = file;
            shop->known[shop->n_files] = known.id != 0;
            memcpy(shop->known_hashes[shop->n_files++], known.hash, HASH_BYTES);
        }
    }
    return STATUS_OK;
}

static bool is_there(const struct corpus_files *files, const char *inside)
{
    size_t low = 0, high = files->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(files->items[middle].inside, inside);
        if (order == 0)
            return true;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (size_t i = 0; i < files->n_unreadable; i++) { /* not seen is not gone */
        size_t length = strlen(files->unreadable[i]);
        if (length == 0 || (strncmp(inside, files->unreadable[i], length) == 0 && inside[length] == '/'))
            return true;
    }
    return false;
}

static enum status remove_vanished(struct indexing *indexing, const struct corpus_files *files)
{
    int64_t *gone = NULL;
    size_t n = 0, capacity = 0;
    enum status status = corpus_do(indexing->writer.corpus, SQL_BEGIN, indexing->writer.error);
    if (status != STATUS_OK)
        return status;
    sqlite3_stmt *statement = corpus_statement(indexing->writer.corpus, SQL_LIST_FILES);
    if (statement)
        sqlite3_bind_int64(statement, 1, indexing->writer.collection);
    bool row = false;
    while ((status = corpus_step(indexing->writer.corpus, statement, &row, indexing->writer.error)) == STATUS_OK &&
           row) {
        char *inside = str_dup(corpus_column(statement, 1));
        if (!is_there(files, inside)) {
            gone = mem_grow(gone, n, &capacity, sizeof *gone);
            gone[n++] = sqlite3_column_int64(statement, 0);
        }
        free(inside);
    }
    if (statement)
        sqlite3_reset(statement);
    for (size_t i = 0; i < n && status == STATUS_OK; i++) {
        size_t count = 0;
        status = corpus_remove_file(&indexing->writer, gone[i], &count);
        indexing->writer.report.removed += count;
    }
    free(gone);
    if (status == STATUS_OK)
        status = corpus_do(indexing->writer.corpus, SQL_COMMIT, indexing->writer.error);
    if (status != STATUS_OK)
        rollback(indexing);
    return status;
}

static enum status index_files(struct indexing *indexing, const char *root, const struct corpus_files *files)
{
    size_t n = files->count + 1, n_links = 0;
    struct workshop shop = {
        .lock = PTHREAD_MUTEX_INITIALIZER,
        .taken = PTHREAD_COND_INITIALIZER,
        .made = PTHREAD_COND_INITIALIZER,
        .files = mem_calloc(n, sizeof *shop.files),
        .known = mem_calloc(n, sizeof *shop.known),
        .known_hashes = mem_calloc(n, sizeof *shop.known_hashes),
        .parse = {indexing->options->reader, root,
                  indexing->options->max_file_bytes ? indexing->options->max_file_bytes : DEFAULT_MAX_FILE},
        .cancel = indexing->options->cancel,
    };
    struct parsed_file *links = mem_calloc(n, sizeof *links);
    enum status status = choose_work(indexing, files, &shop, links, &n_links);
    if (status == STATUS_OK && shop.n_files)
        status = read_and_write(indexing, &shop);
    if (status == STATUS_OK && n_links) {
        status = write_batch(indexing, links, n_links);
    } else {
        for (size_t i = 0; i < n_links; i++)
            parsed_file_finish(&links[i]);
    }
    if (status == STATUS_OK)
        status = remove_vanished(indexing, files);
    free(links);
    free(shop.known_hashes);
    free(shop.known);
    free(shop.files);
    return status;
}

/* Finds or makes the folder's collection. Its name is fixed when the folder is first seen. */
static enum status open_collection(struct indexing *indexing, const char *root)
{
    struct corpus *corpus = indexing->writer.corpus;
    enum status status = corpus_do(corpus, SQL_BEGIN, indexing->writer.error);
    if (status != STATUS_OK)
        return status;
    sqlite3_stmt *statement = corpus_statement(corpus, SQL_FIND_COLLECTION);
    corpus_bind_bytes(statement, 1, str_of(root));
    bool row = false;
    status = corpus_step(corpus, statement, &row, indexing->writer.error);
    if (status == STATUS_OK && row) {
        indexing->writer.collection = sqlite3_column_int64(statement, 0);
        indexing->writer.collection_name = str_dup(corpus_column(statement, 1));
    }
    if (statement)
        sqlite3_reset(statement);
    const char *slash = strrchr(root, '/');
    const char *base = slash && slash[1] ? slash + 1 : "root";
    for (int n = 1; status == STATUS_OK && !indexing->writer.collection_name; n++) {
        char *name = n == 1 ? mem_strdup(base) : mem_printf("%s-%d", base, n);
        statement = corpus_statement(corpus, SQL_NAME_TAKEN);
        corpus_bind_str(statement, 1, str_of(name));
        status = corpus_step(corpus, statement, &row, indexing->writer.error);
        if (statement)
            sqlite3_reset(statement);
        if (status != STATUS_OK || row) {
            free(name);
            continue;
        }
        statement = corpus_statement(corpus, SQL_ADD_COLLECTION);
        corpus_bind_str(statement, 1, str_of(name));
        corpus_bind_bytes(statement, 2, str_of(root));
        status = corpus_run(corpus, statement, indexing->writer.error);
        indexing->writer.collection = sqlite3_last_insert_rowid(corpus->db);
        indexing->writer.collection_name = name;
    }
    if (status == STATUS_OK)
        status = corpus_do(corpus, SQL_COMMIT, indexing->writer.error);
    if (status != STATUS_OK)
        rollback(indexing);
    return status;
}

static enum status index_folder(struct indexing *indexing, const char *root)
{
    enum status status = open_collection(indexing, root);
    if (status == STATUS_OK) {
        struct corpus_files files;
        corpus_scan(root, &files);
        indexing->progress.files_seen += files.count;
        status = index_files(indexing, root, &files);
        corpus_files_finish(&files);
    }
    free(indexing->writer.collection_name);
    indexing->writer.collection_name = NULL;
    return status;
}

/* ---- all ---- */

static enum status count_rows(struct corpus *corpus, enum statement which, size_t *out, struct error *error)
{
    sqlite3_stmt *statement = corpus_statement(corpus, which);
    bool row = false;
    enum status status = corpus_step(corpus, statement, &row, error);
    if (status == STATUS_OK && row)
        *out = (size_t)sqlite3_column_int64(statement, 0);
    if (status == STATUS_OK)
        sqlite3_reset(statement);
    return status;
}

/* After a large change the index is put into one piece, which makes every search faster. */
static enum status finish(struct indexing *indexing)
{
    struct corpus *corpus = indexing->writer.corpus;
    struct corpus_report *report = &indexing->writer.report;
    corpus->lengths.version = 0;
    enum status status = count_rows(corpus, SQL_COUNT_DOCUMENTS, &report->documents, indexing->writer.error);
    if (status == STATUS_OK)
        status = count_rows(corpus, SQL_COUNT_PASSAGES, &report->passages, indexing->writer.error);
    size_t touched = report->added + report->changed + report->removed;
    if (status == STATUS_OK && touched * 20 > report->documents)
        status = corpus_do(corpus, SQL_MERGE_INDEX, indexing->writer.error);
    if (status == STATUS_OK) /* readers may be in the way; then the next writer does it */
        sqlite3_wal_checkpoint_v2(corpus->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
    return status;
}

static char **resolve_folders(const char *const *folders, size_t n, struct error *error)
{
    char **roots = mem_calloc(n + 1, sizeof *roots);
    for (size_t i = 0; i < n; i++) {
        roots[i] = realpath(folders[i], NULL);
        if (roots[i])
            continue;
        error_set(error, STATUS_NOT_FOUND, "cannot be indexed: %s", strerror(errno));
        error_at(error, folders[i], 0, 0);
        while (i > 0)
            free(roots[--i]);
        free(roots);
        return NULL;
    }
    return roots;
}

enum status corpus_index(struct corpus *corpus, const char *const *folders, size_t n_folders,
                         const struct corpus_index_options *options, struct corpus_report *report, struct error *error)
{
    static const struct corpus_index_options defaults = {0};
    if (!corpus->writable)
        return error_set(error, STATUS_ORDER, "the corpus was opened for reading");
    char **roots = resolve_folders(folders, n_folders, error);
    if (!roots)
        return STATUS_NOT_FOUND;
    struct timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    struct indexing indexing = {.writer = {.corpus = corpus, .error = error}, .options = options ? options : &defaults};
    enum status status = STATUS_OK;
    for (size_t i = 0; i < n_folders && status == STATUS_OK; i++)
        status = index_folder(&indexing, roots[i]);
    struct error first = error ? *error : (struct error){0};
    enum status finished = finish(&indexing);
    if (status == STATUS_OK)
        status = finished;
    else if (error)
        *error = first;
    clock_gettime(CLOCK_MONOTONIC, &end);
    indexing.writer.report.elapsed_ms = (end.tv_sec - begin.tv_sec) * 1000 + (end.tv_nsec - begin.tv_nsec) / 1000000;
    if (report && status == STATUS_OK)
        *report = indexing.writer.report;
    for (size_t i = 0; i < n_folders; i++)
        free(roots[i]);
    free(roots);
    return status;
}
