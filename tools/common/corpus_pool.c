#include "tools/common/corpus_pool.h"

#include "core/mem.h"

#include <pthread.h>
#include <stdlib.h>

struct corpus_pool {
    char *path;
    pthread_mutex_t lock;
    struct corpus **idle;
    size_t n_idle, capacity;
};

struct corpus_pool *corpus_pool_create(const char *path)
{
    struct corpus_pool *pool = mem_zalloc(sizeof *pool);
    pool->path = mem_strdup(path);
    pthread_mutex_init(&pool->lock, NULL);
    return pool;
}

void corpus_pool_destroy(struct corpus_pool *pool)
{
    if (!pool)
        return;
    for (size_t i = 0; i < pool->n_idle; i++)
        corpus_close(pool->idle[i]);
    free(pool->idle);
    pthread_mutex_destroy(&pool->lock);
    free(pool->path);
    free(pool);
}

enum status corpus_pool_take(struct corpus_pool *pool, struct corpus **out, struct error *error)
{
    struct corpus *corpus = NULL;
    pthread_mutex_lock(&pool->lock);
    if (pool->n_idle > 0)
        corpus = pool->idle[--pool->n_idle];
    pthread_mutex_unlock(&pool->lock);
    if (!corpus)
        return corpus_open(pool->path, CORPUS_READ, out, error);
    *out = corpus;
    return STATUS_OK;
}

void corpus_pool_give(struct corpus_pool *pool, struct corpus *corpus)
{
    pthread_mutex_lock(&pool->lock);
    pool->idle = mem_grow(pool->idle, pool->n_idle, &pool->capacity, sizeof *pool->idle);
    pool->idle[pool->n_idle++] = corpus;
    pthread_mutex_unlock(&pool->lock);
}
