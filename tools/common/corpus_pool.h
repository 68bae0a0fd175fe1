/* tools/common/corpus_pool.h
 *
 * Handles of one corpus for the threads of the pool: a handle serves one thread at a time, so each job takes one and
 * gives it back. Opened when first needed. Any thread, but for create and destroy.
 */
#ifndef FATHOM_TOOLS_COMMON_CORPUS_POOL_H
#define FATHOM_TOOLS_COMMON_CORPUS_POOL_H

#include "core/status.h"
#include "store/corpus.h"

struct corpus_pool;

/* `path` is copied. Nothing is opened yet. */
struct corpus_pool *corpus_pool_create(const char *path);

/* All handles must have been given back. NULL is allowed. */
void corpus_pool_destroy(struct corpus_pool *pool);

/* A handle for this thread, to be given back. Errors as of corpus_open. */
enum status corpus_pool_take(struct corpus_pool *pool, struct corpus **out, struct error *error) STATUS_CHECKED;
void corpus_pool_give(struct corpus_pool *pool, struct corpus *corpus);

#endif
