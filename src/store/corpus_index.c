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
#include "text/words.h"

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
    struct corpus *corpus;
    const struct corpus_index_options *options;
    struct corpus_report report;
    struct corpus_progress progress;
    int64_t collection;
    char *collection_name;
    struct error *error;
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

/* ---- removing ---- */

struct document_id {
    int64_t id;
    char *title;
};

/* Takes a passage's terms out of the index, which wants to be told exactly what it was given. */
static enum status unindex_document(struct indexing *indexing, const struct document_id *document, struct str text)
{
    struct corpus *corpus = indexing->corpus;
    sqlite3_stmt *passages = corpus_statement(corpus, SQL_PASSAGES_OF_DOCUMENT);
    if (passages) {
        sqlite3_bind_int64(passages, 1, document->id << PASSAGE_BITS);
        sqlite3_bind_int64(passages, 2, (document->id + 1) << PASSAGE_BITS);
    }
    enum status status;
    bool row = false, first = true;
    while ((status = corpus_step(corpus, passages, &row, indexing->error)) == STATUS_OK && row) {
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
        status = corpus_run(corpus, statement, indexing->error);
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

static enum status run_with_id(struct indexing *indexing, enum statement which, int64_t id)
{
    sqlite3_stmt *statement = corpus_statement(indexing->corpus, which);
    if (statement)
        sqlite3_bind_int64(statement, 1, id);
    return corpus_run(indexing->corpus, statement, indexing->error);
}

static enum status remove_document(struct indexing *indexing, const struct document_id *document)
{
    struct buf text;
    buf_init(&text, BUF_UNBOUNDED);
    enum status status = corpus_read_text(indexing->corpus, document->id, &text, indexing->error);
    if (status == STATUS_OK)
        status = unindex_document(indexing, document, buf_str(&text));
    else if (status == STATUS_NOT_FOUND) /* an alias */
        status = STATUS_OK;
    buf_finish(&text);
    if (status == STATUS_OK) {
        sqlite3_stmt *statement = corpus_statement(indexing->corpus, SQL_DELETE_PASSAGES);
        if (statement) {
            sqlite3_bind_int64(statement, 1, document->id << PASSAGE_BITS);
            sqlite3_bind_int64(statement, 2, (document->id + 1) << PASSAGE_BITS);
        }
        status = corpus_run(indexing->corpus, statement, indexing->error);
    }
    if (status == STATUS_OK)
        status = run_with_id(indexing, SQL_DELETE_TEXT, document->id);
    return status == STATUS_OK ? run_with_id(indexing, SQL_DELETE_DOCUMENT, document->id) : status;
}

/* Removes a file and its documents; *count is how many those were. */
static enum status remove_file(struct indexing *indexing, int64_t file, size_t *count)
{
    struct document_id *documents = NULL;
    size_t n = 0, capacity = 0;
    sqlite3_stmt *statement = corpus_statement(indexing->corpus, SQL_DOCUMENTS_OF_FILE);
    if (statement)
        sqlite3_bind_int64(statement, 1, file);
    enum status status;
    bool row = false;
    while ((status = corpus_step(indexing->corpus, statement, &row, indexing->error)) == STATUS_OK && row) {
        documents = mem_grow(documents, n, &capacity, sizeof *documents);
        documents[n++] = (struct document_id){sqlite3_column_int64(statement, 0), str_dup(corpus_column(statement, 1))};
    }
    if (statement)
        sqlite3_reset(statement);
    for (size_t i = 0; i < n; i++) {
        if (status == STATUS_OK)
            status = remove_document(indexing, &documents[i]);
        free(documents[i].title);
    }
    free(documents);
    *count = n;
    return status == STATUS_OK ? run_with_id(indexing, SQL_DELETE_FILE, file) : status;
}

/* ---- adding ---- */

struct known_file {
    int64_t id; /* 0: not known */
    int64_t size, changed_ns;
    unsigned char hash[HASH_BYTES];
};

static enum status find_file(struct indexing *indexing, const char *inside, struct known_file *out)
{
    *out = (struct known_file){0};
    sqlite3_stmt *statement = corpus_statement(indexing->corpus, SQL_FIND_FILE);
    if (statement)
        sqlite3_bind_int64(statement, 1, indexing->collection);
    corpus_bind_bytes(statement, 2, str_of(inside));
    bool row = false;
    enum status status = corpus_step(indexing->corpus, statement, &row, indexing->error);
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

static enum status link_taken(struct indexing *indexing, struct str link, bool *taken)
{
    sqlite3_stmt *statement = corpus_statement(indexing->corpus, SQL_FIND_DOCUMENT);
    corpus_bind_str(statement, 1, link);
    enum status status = corpus_step(indexing->corpus, statement, taken, indexing->error);
    if (status == STATUS_OK)
        sqlite3_reset(statement);
    return status;
}

/* The document's link. Of several lines with the same id the later ones get "~2", "~3" behind it. */
static enum status make_link(struct indexing *indexing, const struct corpus_file *file, const char *line,
                             struct buf *link)
{
    struct str collection = str_of(indexing->collection_name), inside = str_of(file->inside);
    corpus_make_link(collection, inside, str_of(line), link);
    if (!line)
        return STATUS_OK;
    size_t length = link->len;
    for (int n = 2;; n++) {
        bool taken = false;
        enum status status = link_taken(indexing, buf_str(link), &taken);
        if (status != STATUS_OK || !taken)
            return status;
        buf_truncate(link, length);
        buf_addf(link, "~%d", n);
    }
}

static enum status add_passages(struct indexing *indexing, int64_t id, const struct parsed_document *document)
{
    enum status status = STATUS_OK;
    for (size_t i = 0; i < document->n_passages && status == STATUS_OK; i++) {
        const struct parsed_passage *passage = &document->passages[i];
        int64_t passage_id = (id << PASSAGE_BITS) + (int64_t)i;
        sqlite3_stmt *statement = corpus_statement(indexing->corpus, SQL_ADD_PASSAGE);
        if (statement) {
            sqlite3_bind_int64(statement, 1, passage_id);
            sqlite3_bind_int64(statement, 2, (int64_t)passage->from);
            sqlite3_bind_int64(statement, 3, (int64_t)passage->to);
            sqlite3_bind_int64(statement, 4, (int64_t)passage->length);
            if (passage->headings)
                corpus_bind_str(statement, 5, str_of(passage->headings));
        }
        status = corpus_run(indexing->corpus, statement, indexing->error);
        if (status != STATUS_OK)
            break;
        statement = corpus_statement(indexing->corpus, SQL_INDEX_PASSAGE);
        if (statement)
            sqlite3_bind_int64(statement, 1, passage_id);
        corpus_bind_str(statement, 2, str_of(i == 0 ? document->title_terms : ""));
        corpus_bind_str(statement, 3, str_of(passage->heading_terms));
        corpus_bind_str(statement, 4, str_of(passage->body_terms));
        status = corpus_run(indexing->corpus, statement, indexing->error);
    }
    return status;
}

static enum status add_row(struct indexing *indexing, int64_t file, struct str link, struct str title,
                           const char *alias_of, const struct parsed_document *document)
{
    sqlite3_stmt *statement = corpus_statement(indexing->corpus, SQL_ADD_DOCUMENT);
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
    return corpus_run(indexing->corpus, statement, indexing->error);
}

static enum status add_document(struct indexing *indexing, const struct corpus_file *file, int64_t file_id,
                                const struct parsed_document *document)
{
    struct buf link;
    buf_init(&link, BUF_UNBOUNDED);
    enum status status = make_link(indexing, file, document->line, &link);
    if (status == STATUS_OK)
        status = add_row(indexing, file_id, buf_str(&link), str_of(document->title), NULL, document);
    buf_finish(&link);
    if (status != STATUS_OK)
        return status;
    int64_t id = sqlite3_last_insert_rowid(indexing->corpus->db);
    sqlite3_stmt *statement = corpus_statement(indexing->corpus, SQL_ADD_TEXT);
    if (statement) {
        sqlite3_bind_int64(statement, 1, id);
        sqlite3_bind_int64(statement, 2, (int64_t)document->text_size);
    }
    corpus_bind_bytes(statement, 3, buf_str(&document->deflated));
    status = corpus_run(indexing->corpus, statement, indexing->error);
    return status == STATUS_OK ? add_passages(indexing, id, document) : status;
}

static enum status add_alias(struct indexing *indexing, const struct corpus_file *file, int64_t file_id,
                             const char *target)
{
    struct buf link, other;
    buf_init(&link, BUF_UNBOUNDED);
    buf_init(&other, BUF_UNBOUNDED);
    corpus_make_link(str_of(indexing->collection_name), str_of(file->inside), (struct str){0}, &link);
    corpus_make_link(str_of(indexing->collection_name), str_of(target), (struct str){0}, &other);
    enum status status = add_row(indexing, file_id, buf_str(&link), str_of(file->inside), other.data, NULL);
    buf_finish(&link);
    buf_finish(&other);
    return status;
}

static enum status add_file(struct indexing *indexing, const struct parsed_file *parsed)
{
    const struct corpus_file *file = parsed->file;
    sqlite3_stmt *statement = corpus_statement(indexing->corpus, SQL_ADD_FILE);
    if (statement) {
        sqlite3_bind_int64(statement, 1, indexing->collection);
        sqlite3_bind_int64(statement, 3, file->size);
        sqlite3_bind_int64(statement, 4, file->changed_ns);
    }
    corpus_bind_bytes(statement, 2, str_of(file->inside));
    corpus_bind_bytes(statement, 5, str_make((const char *)parsed->hash, HASH_BYTES));
    enum status status = corpus_run(indexing->corpus, statement, indexing->error);
    if (status != STATUS_OK)
        return status;
    int64_t id = sqlite3_last_insert_rowid(indexing->corpus->db);
    if (parsed->outcome == PARSED_ALIAS)
        return add_alias(indexing, file, id, parsed->alias);
    for (size_t i = 0; i < parsed->n_documents && status == STATUS_OK; i++)
        status = add_document(indexing, file, id, &parsed->documents[i]);
    return status;
}

/* Writes what became of one file, inside a transaction. */
static enum status write_file(struct indexing *indexing, const struct parsed_file *parsed)
{
    struct corpus_report *report = &indexing->report;
    struct known_file known;
    enum status status = find_file(indexing, parsed->file->inside, &known);
    if (status != STATUS_OK)
        return status;
    if (parsed->outcome == PARSED_SAME && known.id) {
        sqlite3_stmt *statement = corpus_statement(indexing->corpus, SQL_TOUCH_FILE);
        if (statement) {
            sqlite3_bind_int64(statement, 1, known.id);
            sqlite3_bind_int64(statement, 2, parsed->file->size);
            sqlite3_bind_int64(statement, 3, parsed->file->changed_ns);
        }
        report->unchanged++;
        return corpus_run(indexing->corpus, statement, indexing->error);
    }
    size_t removed = 0;
    if (known.id)
        status = remove_file(indexing, known.id, &removed);
    if (status != STATUS_OK)
        return status;
    switch (parsed->outcome) {
    case PARSED_TEXT:
        *(known.id ? &report->changed : &report->added) += parsed->n_documents;
        return add_file(indexing, parsed);
    case PARSED_ALIAS:
        report->aliases++;
        return add_file(indexing, parsed);
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

static void rollback(struct indexing *indexing)
{
    if (!sqlite3_get_autocommit(indexing->corpus->db))
        sqlite3_exec(indexing->corpus->db, "ROLLBACK", NULL, NULL, NULL);
}

static enum status write_batch(struct indexing *indexing, struct parsed_file *batch, size_t n)
{
    enum status status = corpus_do(indexing->corpus, SQL_BEGIN, indexing->error);
    for (size_t i = 0; i < n && status == STATUS_OK; i++)
        status = write_file(indexing, &batch[i]);
    if (status == STATUS_OK)
        status = corpus_do(indexing->corpus, SQL_COMMIT, indexing->error);
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
        status = error_set(indexing->error, STATUS_IO, "no thread can be started");
    struct parsed_file *batch = NULL;
    size_t n = 0;
    while (started && status == STATUS_OK && next_batch(shop, &batch, &n)) {
        status = write_batch(indexing, batch, n);
        free(batch);
        if (status == STATUS_OK && canceled(indexing))
            status = error_set(indexing->error, STATUS_CANCELED, "interrupted; what was finished stays indexed");
    }
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
        enum status status = find_file(indexing, file->inside, &known);
        if (status != STATUS_OK)
            return status;
        if (known.id && known.size == file->size && known.changed_ns == file->changed_ns) {
            indexing->report.unchanged++;
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
    enum status status = corpus_do(indexing->corpus, SQL_BEGIN, indexing->error);
    if (status != STATUS_OK)
        return status;
    sqlite3_stmt *statement = corpus_statement(indexing->corpus, SQL_LIST_FILES);
    if (statement)
        sqlite3_bind_int64(statement, 1, indexing->collection);
    bool row = false;
    while ((status = corpus_step(indexing->corpus, statement, &row, indexing->error)) == STATUS_OK && row) {
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
        status = remove_file(indexing, gone[i], &count);
        indexing->report.removed += count;
    }
    free(gone);
    if (status == STATUS_OK)
        status = corpus_do(indexing->corpus, SQL_COMMIT, indexing->error);
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
    struct corpus *corpus = indexing->corpus;
    enum status status = corpus_do(corpus, SQL_BEGIN, indexing->error);
    if (status != STATUS_OK)
        return status;
    sqlite3_stmt *statement = corpus_statement(corpus, SQL_FIND_COLLECTION);
    corpus_bind_bytes(statement, 1, str_of(root));
    bool row = false;
    status = corpus_step(corpus, statement, &row, indexing->error);
    if (status == STATUS_OK && row) {
        indexing->collection = sqlite3_column_int64(statement, 0);
        indexing->collection_name = str_dup(corpus_column(statement, 1));
    }
    if (statement)
        sqlite3_reset(statement);
    const char *slash = strrchr(root, '/');
    const char *base = slash && slash[1] ? slash + 1 : "root";
    for (int n = 1; status == STATUS_OK && !indexing->collection_name; n++) {
        char *name = n == 1 ? mem_strdup(base) : mem_printf("%s-%d", base, n);
        statement = corpus_statement(corpus, SQL_NAME_TAKEN);
        corpus_bind_str(statement, 1, str_of(name));
        status = corpus_step(corpus, statement, &row, indexing->error);
        if (statement)
            sqlite3_reset(statement);
        if (status != STATUS_OK || row) {
            free(name);
            continue;
        }
        statement = corpus_statement(corpus, SQL_ADD_COLLECTION);
        corpus_bind_str(statement, 1, str_of(name));
        corpus_bind_bytes(statement, 2, str_of(root));
        status = corpus_run(corpus, statement, indexing->error);
        indexing->collection = sqlite3_last_insert_rowid(corpus->db);
        indexing->collection_name = name;
    }
    if (status == STATUS_OK)
        status = corpus_do(corpus, SQL_COMMIT, indexing->error);
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
    free(indexing->collection_name);
    indexing->collection_name = NULL;
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
    struct corpus *corpus = indexing->corpus;
    struct corpus_report *report = &indexing->report;
    corpus->lengths.version = 0;
    enum status status = count_rows(corpus, SQL_COUNT_DOCUMENTS, &report->documents, indexing->error);
    if (status == STATUS_OK)
        status = count_rows(corpus, SQL_COUNT_PASSAGES, &report->passages, indexing->error);
    size_t touched = report->added + report->changed + report->removed;
    if (status == STATUS_OK && touched * 20 > report->documents)
        status = corpus_do(corpus, SQL_MERGE_INDEX, indexing->error);
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
    struct indexing indexing = {.corpus = corpus, .options = options ? options : &defaults, .error = error};
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
    indexing.report.elapsed_ms = (end.tv_sec - begin.tv_sec) * 1000 + (end.tv_nsec - begin.tv_nsec) / 1000000;
    if (report && status == STATUS_OK)
        *report = indexing.report;
    for (size_t i = 0; i < n_folders; i++)
        free(roots[i]);
    free(roots);
    return status;
}
