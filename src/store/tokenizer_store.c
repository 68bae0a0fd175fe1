#include "store/tokenizer_store.h"

#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "store/tokenizer_store_internal.h"
#include "text/tokenizer/tokenizer_internal.h"

struct tokenizer_store {
    char *path;
    char *notice;
    enum tokenizer_origin origin;
    struct cache_mapping mapping;
    struct tokenizer *tokenizer;
};

static bool same_sources(const struct cache_mapping *mapping, const struct source_files *files)
{
    for (size_t i = 0; i < SOURCE_PARTS; i++)
        if (memcmp(&mapping->sources[i], &files->parts[i].identity, sizeof mapping->sources[i]) != 0)
            return false;
    return true;
}

static struct tokenizer_source source_of(const struct source_files *files)
{
    const char *path = files->parts[SOURCE_MAIN].path, *slash = strrchr(path, '/');
    return (struct tokenizer_source){
        .name = str_of(slash ? slash + 1 : path),
        .main = buf_str(&files->parts[SOURCE_MAIN].contents),
        .config = buf_str(&files->parts[SOURCE_CONFIG].contents),
        .chat_template = buf_str(&files->parts[SOURCE_CHAT_TEMPLATE].contents),
    };
}

/* The image in the cache file, opened; false where there is none to be used. */
static bool open_cached(struct tokenizer_store *store, const char *cache_path)
{
    cache_file_map(&store->mapping, cache_path);
    if (store->mapping.at && tokenizer_open(store->mapping.image, &store->tokenizer, NULL) == STATUS_OK)
        return true;
    cache_mapping_finish(&store->mapping);
    return false;
}

static void drop_cached(struct tokenizer_store *store)
{
    tokenizer_destroy(store->tokenizer);
    store->tokenizer = NULL;
    cache_mapping_finish(&store->mapping);
}

/* Says of which file an error is, with its folder. */
static void complete_place(struct error *error, const struct source_files *files)
{
    for (size_t i = 0; i < SOURCE_PARTS && error; i++) {
        const char *path = files->parts[i].path, *slash = path ? strrchr(path, '/') : NULL;
        if (path && strcmp(error->place, slash ? slash + 1 : path) == 0) {
            error_at(error, path, error->line, error->column);
            return;
        }
    }
}

static enum status compile(struct tokenizer_store *store, const struct source_files *files, const char *cache_path,
                           struct error *error)
{
    struct tokenizer_source source = source_of(files);
    struct buf image;
    struct error why;
    buf_init(&image, BUF_UNBOUNDED);
    enum status status = tokenizer_compile(&source, &image, error);
    complete_place(status == STATUS_OK ? NULL : error, files);
    if (status != STATUS_OK)
        goto done;
    if (cache_path && cache_file_write(cache_path, files, buf_str(&image), &why) != STATUS_OK)
        store->notice = mem_printf("the tokenizer is not cached: %s: %s", why.place, why.message);
    store->origin = TOKENIZER_COMPILED;
    /* Another process may have put its file there by now, which is as good. */
    if (cache_path && !store->notice && open_cached(store, cache_path)) {
        char hash[HASH_HEX_SIZE];
        tokenizer_source_hash(&source, hash);
        if (strcmp(hash, tokenizer_hash(store->tokenizer)) == 0)
            goto done;
        drop_cached(store);
    }
    cache_mapping_copy(&store->mapping, buf_str(&image));
    status = tokenizer_open(store->mapping.image, &store->tokenizer, error);
done:
    buf_finish(&image);
    return status;
}

static enum status open_source(struct tokenizer_store *store, struct source_files *files, const char *cache_path,
                               struct error *error)
{
    bool cached = cache_path && open_cached(store, cache_path);
    if (cached && store->mapping.settled && same_sources(&store->mapping, files)) {
        store->origin = TOKENIZER_MAPPED;
        return STATUS_OK;
    }
    enum status status = source_files_read(files, error);
    if (status != STATUS_OK)
        return status;
    if (cached) {
        struct tokenizer_source source = source_of(files);
        char hash[HASH_HEX_SIZE];
        tokenizer_source_hash(&source, hash);
        if (strcmp(hash, tokenizer_hash(store->tokenizer)) == 0) {
            cache_file_renew(cache_path, files);
            store->origin = TOKENIZER_VERIFIED;
            return STATUS_OK;
        }
        drop_cached(store);
    }
    return compile(store, files, cache_path, error);
}

enum status tokenizer_store_open(const char *path, const char *cache_folder, struct tokenizer_store **out,
                                 struct error *error)
{
    struct source_files files;
    enum status status = source_files_find(&files, path, error);
    if (status == STATUS_OK) {
        struct tokenizer_store *store = mem_zalloc(sizeof *store);
        char *cache_path = cache_folder ? cache_file_path(cache_folder, files.parts[SOURCE_MAIN].path) : NULL;
        store->path = mem_strdup(files.parts[SOURCE_MAIN].path);
        status = open_source(store, &files, cache_path, error);
        free(cache_path);
        if (status == STATUS_OK)
            *out = store;
        else
            tokenizer_store_close(store);
    }
    source_files_finish(&files);
    return status;
}

void tokenizer_store_close(struct tokenizer_store *store)
{
    if (!store)
        return;
    drop_cached(store);
    free(store->path);
    free(store->notice);
    free(store);
}

const struct tokenizer *tokenizer_store_tokenizer(const struct tokenizer_store *store)
{
    return store->tokenizer;
}

const char *tokenizer_store_path(const struct tokenizer_store *store)
{
    return store->path;
}

enum tokenizer_origin tokenizer_store_origin(const struct tokenizer_store *store)
{
    return store->origin;
}

const char *tokenizer_store_notice(const struct tokenizer_store *store)
{
    return store->notice;
}
