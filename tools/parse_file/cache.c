/* Texts of files, the last used ones, so that asking for the next part of a long file does not read it again (which may
 * cost a minute, or money where a model looked at it). */
#include "core/mem.h"
#include "tools/parse_file/internal.h"

#include <stdlib.h>

struct cached_text {
    struct cached_text *next; /* the one used before it */
    uint64_t device, inode;
    int64_t size, modified_ns;
    struct file_text text;
    int holders;
    bool listed; /* in the cache's list */
};

struct text_cache {
    struct cached_text *first; /* used last */
    size_t bytes, max_bytes;
};

struct text_cache *text_cache_create(size_t max_bytes)
{
    struct text_cache *cache = mem_zalloc(sizeof *cache);
    cache->max_bytes = max_bytes;
    return cache;
}

static void free_text(struct cached_text *text)
{
    file_text_finish(&text->text);
    free(text);
}

static void unlist(struct text_cache *cache, struct cached_text *text)
{
    struct cached_text **link = &cache->first;
    while (*link != text)
        link = &(*link)->next;
    *link = text->next;
    text->listed = false;
    cache->bytes -= text->text.markdown.len;
}

static void list(struct text_cache *cache, struct cached_text *text)
{
    text->next = cache->first;
    cache->first = text;
    text->listed = true;
    cache->bytes += text->text.markdown.len;
}

static struct cached_text *last_of(const struct text_cache *cache)
{
    struct cached_text *text = cache->first;
    while (text && text->next)
        text = text->next;
    return text;
}

/* Takes a text off the list; it lives on while somebody holds it. */
static void forget(struct text_cache *cache, struct cached_text *text)
{
    unlist(cache, text);
    if (text->holders == 0)
        free_text(text);
}

void text_cache_destroy(struct text_cache *cache)
{
    if (!cache)
        return;
    while (cache->first)
        forget(cache, cache->first);
    free(cache);
}

struct cached_text *text_cache_find(struct text_cache *cache, const struct found_file *file)
{
    struct cached_text *text = cache->first;
    while (text && (text->device != file->device || text->inode != file->inode || text->size != file->size ||
                    text->modified_ns != file->modified_ns))
        text = text->next;
    if (!text)
        return NULL;
    unlist(cache, text);
    list(cache, text);
    text->holders++;
    return text;
}

struct cached_text *text_cache_put(struct text_cache *cache, const struct found_file *file, struct file_text *text)
{
    struct cached_text *cached = mem_zalloc(sizeof *cached);
    *cached = (struct cached_text){.device = file->device,
                                   .inode = file->inode,
                                   .size = file->size,
                                   .modified_ns = file->modified_ns,
                                   .text = *text,
                                   .holders = 1};
    *text = (struct file_text){0};
    list(cache, cached);
    while (cache->bytes > cache->max_bytes && last_of(cache) != cached)
        forget(cache, last_of(cache));
    return cached;
}

struct cached_text *cached_text_alone(struct file_text *text)
{
    struct cached_text *alone = mem_zalloc(sizeof *alone);
    alone->text = *text;
    alone->holders = 1;
    *text = (struct file_text){0};
    return alone;
}

void text_cache_give(struct text_cache *cache, struct cached_text *text)
{
    (void)cache;
    if (text && --text->holders == 0 && !text->listed)
        free_text(text);
}

const struct file_text *cached_text(const struct cached_text *text)
{
    return &text->text;
}
