/* src/store/tokenizer_store_internal.h
 *
 * What the files of the tokenizer store share: tokenizer_store.c brings source and cache together,
 * tokenizer_source_files.c finds and reads a tokenizer's files, tokenizer_cache_file.c maps and writes cache files. Not
 * for others.
 */
#ifndef FATHOM_STORE_TOKENIZER_STORE_INTERNAL_H
#define FATHOM_STORE_TOKENIZER_STORE_INTERNAL_H

#include <stdint.h>

#include "core/buf.h"
#include "core/status.h"

/* ---- the tokenizer's files ---- */

enum source_part {
    SOURCE_MAIN,
    SOURCE_CONFIG,
    SOURCE_CHAT_TEMPLATE,
    SOURCE_PARTS,
};

/* What tells a file from what it was before. All zero for a file that is not there. */
struct source_identity {
    uint64_t device, inode, size;
    int64_t modified_ns, changed_ns;
};

struct source_file {
    char *path; /* NULL where none may be read */
    struct source_identity identity;
    struct buf contents; /* empty until they are read */
};

struct source_files {
    struct source_file parts[SOURCE_PARTS];
};

/* Finds the files and looks at them, without reading. */
enum status source_files_find(struct source_files *files, const char *path, struct error *error) STATUS_CHECKED;
enum status source_files_read(struct source_files *files, struct error *error) STATUS_CHECKED;
void source_files_finish(struct source_files *files);

/* ---- cache files ---- */

/* A mapped image, from a cache file or from memory. */
struct cache_mapping {
    void *at; /* NULL: none */
    size_t len;
    struct str image;
    struct source_identity sources[SOURCE_PARTS];
    bool settled; /* the sources were last changed well before they were looked at, so that their times tell */
};

/* The path of the cache file for the tokenizer at `path`; fresh memory. NULL when its folder cannot be resolved. */
char *cache_file_path(const char *folder, const char *path);

/* Leaves `mapping` empty where there is no file, or none to be trusted. The image inside is not checked yet. */
void cache_file_map(struct cache_mapping *mapping, const char *path);

/* `why` is filled in on failure. */
enum status cache_file_write(const char *path, const struct source_files *files, struct str image,
                             struct error *why) STATUS_CHECKED;

/* Notes anew what the sources look like; failure is harmless. */
void cache_file_renew(const char *path, const struct source_files *files);

/* A copy of the image in memory of its own. */
void cache_mapping_copy(struct cache_mapping *mapping, struct str image);
void cache_mapping_finish(struct cache_mapping *mapping);

#endif
