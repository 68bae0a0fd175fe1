/* One cache file: a head that says which tokenizer's files it was made from, and the image. */
#include "store/tokenizer_store_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/mem.h"
#include "text/tokenizer/tokenizer_internal.h"

#define HEAD_MAGIC   "fathtkc"
#define HEAD_VERSION 2
#define HEAD_BYTES   512 /* so that the image begins where it must */

struct cache_head {
    char magic[8];
    uint32_t version, parts;
    int64_t looked_at_ns; /* when the sources looked like this */
    uint64_t image_len;
    struct source_identity sources[SOURCE_PARTS];
    uint64_t check; /* the hash of all that stands before it */
};
_Static_assert(sizeof(struct cache_head) <= HEAD_BYTES, "the head has room");

static uint64_t check_of(const struct cache_head *head)
{
    return tokenizer_quick_hash(str_make((const char *)head, offsetof(struct cache_head, check)), 0);
}

/* ---- where ---- */

/* After the name it was given by, for that may tell what it is; links among its folders do not count. Two tokenizers
 * that got the same name by chance would replace each other's file, never use it. */
char *cache_file_path(const char *folder, const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    char *above = slash ? str_dup(str_make(path, (size_t)(slash - path + 1))) : mem_strdup(".");
    char *resolved = realpath(above, NULL);
    free(above);
    if (!resolved)
        return NULL;
    char *whole = mem_printf("%s/%s", resolved, name);
    unsigned long long first = tokenizer_quick_hash(str_of(whole), 1), second = tokenizer_quick_hash(str_of(whole), 2);
    free(resolved);
    free(whole);
    return mem_printf("%s/%016llx%016llx.image", folder, first, second);
}

static void make_folders(const char *path)
{
    char *folder = mem_strdup(path);
    for (char *slash = strchr(folder + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(folder, 0700);
        *slash = '/';
    }
    free(folder);
}

/* ---- reading ---- */

/* An image is used without a look at every number in it, so it must be this user's own. */
static bool is_ours(const struct stat *info)
{
    return S_ISREG(info->st_mode) && info->st_uid == geteuid() && (info->st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/* A change that falls into the same tick of the file system's clock as the look at the file would not show. Times
 * without a fraction come from clocks that tick by the second, or two. */
static bool is_settled(const struct cache_head *head)
{
    for (size_t i = 0; i < SOURCE_PARTS; i++) {
        const struct source_identity *source = &head->sources[i];
        int64_t last = source->modified_ns > source->changed_ns ? source->modified_ns : source->changed_ns;
        int64_t tick = source->changed_ns % 1000000000 ? 50000000 : 2000000000;
        if (source->inode && last + tick > head->looked_at_ns)
            return false;
    }
    return true;
}

static bool read_head(struct cache_mapping *mapping)
{
    struct cache_head head;
    memcpy(&head, mapping->at, sizeof head);
    if (memcmp(head.magic, HEAD_MAGIC, sizeof head.magic) != 0 || head.version != HEAD_VERSION ||
        head.parts != SOURCE_PARTS || head.check != check_of(&head) || head.image_len != mapping->len - HEAD_BYTES)
        return false;
    memcpy(mapping->sources, head.sources, sizeof head.sources);
    mapping->settled = is_settled(&head);
    mapping->image = str_make((const char *)mapping->at + HEAD_BYTES, (size_t)head.image_len);
    return true;
}

void cache_file_map(struct cache_mapping *mapping, const char *path)
{
    struct stat info;
    memset(mapping, 0, sizeof *mapping);
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW);
    if (descriptor < 0)
        return;
    if (fstat(descriptor, &info) == 0 && is_ours(&info) && info.st_size > HEAD_BYTES) {
        mapping->len = (size_t)info.st_size;
        mapping->at = mmap(NULL, mapping->len, PROT_READ, MAP_PRIVATE | MAP_POPULATE, descriptor, 0);
        if (mapping->at == MAP_FAILED)
            mapping->at = NULL;
    }
    close(descriptor);
    if (mapping->at && !read_head(mapping))
        cache_mapping_finish(mapping);
}

void cache_mapping_copy(struct cache_mapping *mapping, struct str image)
{
    memset(mapping, 0, sizeof *mapping);
    mapping->at = mmap(NULL, image.len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapping->at == MAP_FAILED)
        abort();
    mapping->len = image.len;
    memcpy(mapping->at, image.data, image.len);
    mprotect(mapping->at, mapping->len, PROT_READ);
    mapping->image = str_make(mapping->at, image.len);
}

void cache_mapping_finish(struct cache_mapping *mapping)
{
    if (mapping->at)
        munmap(mapping->at, mapping->len);
    memset(mapping, 0, sizeof *mapping);
}

/* ---- writing ---- */

static struct cache_head make_head(const struct source_files *files, size_t image_len)
{
    struct cache_head head;
    struct timespec now;
    memset(&head, 0, sizeof head);
    clock_gettime(CLOCK_REALTIME, &now);
    memcpy(head.magic, HEAD_MAGIC, sizeof head.magic);
    head.version = HEAD_VERSION;
    head.parts = SOURCE_PARTS;
    head.looked_at_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
    head.image_len = image_len;
    for (size_t i = 0; i < SOURCE_PARTS; i++)
        head.sources[i] = files->parts[i].identity;
    head.check = check_of(&head);
    return head;
}

static bool write_all(int descriptor, struct str bytes)
{
    while (bytes.len) {
        ssize_t put = write(descriptor, bytes.data, bytes.len);
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return false;
        bytes = str_slice(bytes, (size_t)put, bytes.len);
    }
    return true;
}

enum status cache_file_write(const char *path, const struct source_files *files, struct str image, struct error *why)
{
    struct cache_head head = make_head(files, image.len);
    char bytes[HEAD_BYTES] = {0};
    memcpy(bytes, &head, sizeof head);
    make_folders(path);
    char *temporary = mem_printf("%s.XXXXXX", path);
    int descriptor = mkostemp(temporary, O_CLOEXEC);
    enum status status = descriptor < 0 ? STATUS_IO : STATUS_OK;
    if (status == STATUS_OK) {
        bool written = write_all(descriptor, str_make(bytes, sizeof bytes)) && write_all(descriptor, image);
        if (close(descriptor) != 0 || !written || rename(temporary, path) != 0)
            status = STATUS_IO;
    }
    if (status != STATUS_OK) {
        error_set(why, status, "%s", strerror(errno));
        error_at(why, path, 0, 0);
        if (descriptor >= 0)
            unlink(temporary);
    }
    free(temporary);
    return status;
}

/* In place: whoever reads half of the old and half of the new head goes by the contents of the sources. */
void cache_file_renew(const char *path, const struct source_files *files)
{
    struct stat info;
    int descriptor = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW);
    if (descriptor < 0)
        return;
    if (fstat(descriptor, &info) == 0 && is_ours(&info) && info.st_size > HEAD_BYTES) {
        struct cache_head head = make_head(files, (size_t)info.st_size - HEAD_BYTES);
        ssize_t put = pwrite(descriptor, &head, sizeof head, 0);
        (void)put;
    }
    close(descriptor);
}
