/* src/store/tokenizer_store.h
 *
 * Tokenizers in files: finds a model's tokenizer, compiles it once and keeps the outcome in a cache file that is mapped
 * the next time (text/tokenizer/tokenizer.h).
 *
 * The cache is a folder with one file for each tokenizer. A file that is damaged, cut short, of another version or not
 * this user's own is made anew; so is one whose tokenizer has changed: what the file system says of the tokenizer's
 * files (device, inode, size, times) is compared first, and where that differs, their contents. Files are written
 * under another name and renamed, so that any number of processes may share a folder. Where it cannot be written,
 * everything works without it.
 *
 * Blocking; may be used from any thread.
 */
#ifndef FATHOM_STORE_TOKENIZER_STORE_H
#define FATHOM_STORE_TOKENIZER_STORE_H

#include <stdbool.h>

#include "core/status.h"
#include "text/tokenizer/tokenizer.h"

struct tokenizer_store;

/* `path` is a tokenizer.json, a .tiktoken rank file or a model's folder, which may hold either, and beside it
 * tokenizer_config.json and chat_template.jinja, which are read too. Symbolic links are followed, as a model hub's
 * folders need. A file of another name than tokenizer.json, but with .json at its end, stands alone.
 * `cache_folder` is created when it is missing; NULL for no cache.
 *
 * STATUS_NOT_FOUND, STATUS_IO and STATUS_INVALID (not a regular file) with the path; STATUS_TOO_BIG; otherwise as
 * tokenizer_compile. */
enum status tokenizer_store_open(const char *path, const char *cache_folder, struct tokenizer_store **out,
                                 struct error *error) STATUS_CHECKED;

/* NULL is allowed. */
void tokenizer_store_close(struct tokenizer_store *store);

/* Borrowed until the store is closed. */
const struct tokenizer *tokenizer_store_tokenizer(const struct tokenizer_store *store);

/* The file that holds the vocabulary. Borrowed. */
const char *tokenizer_store_path(const struct tokenizer_store *store);

/* How the tokenizer came about, for measurements and tests. */
enum tokenizer_origin {
    TOKENIZER_MAPPED,   /* from the cache, without a look at the tokenizer's contents */
    TOKENIZER_VERIFIED, /* from the cache, after a comparison of contents */
    TOKENIZER_COMPILED,
};
enum tokenizer_origin tokenizer_store_origin(const struct tokenizer_store *store);

/* Why the cache could not be used, to be said once; NULL when it could, or none was asked for. Borrowed. */
const char *tokenizer_store_notice(const struct tokenizer_store *store);

#endif
