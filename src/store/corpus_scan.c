/* What files a folder holds. Links to folders are not followed; a link to a file inside is another name of that file,
 * one that leads outside is left out. */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/mem.h"
#include "store/corpus_internal.h"

struct scan {
    const char *root;
    size_t root_length;
    struct corpus_files *out;
    char **folders; /* still to be listed */
    size_t n_folders, capacity;
};

static int64_t changed_ns(const struct stat *info)
{
    return (int64_t)info->st_mtim.tv_sec * 1000000000 + info->st_mtim.tv_nsec;
}

/* The part of an absolute path below the root; NULL when it is not below. */
static const char *below(const struct scan *scan, const char *path)
{
    if (strncmp(path, scan->root, scan->root_length) != 0)
        return NULL;
    const char *rest = path + scan->root_length;
    if (scan->root_length > 1 && *rest != '/' && *rest != '\0')
        return NULL;
    return *rest == '/' ? rest + 1 : rest;
}

static void add_file(struct scan *scan, char *path, const struct stat *info, char *alias)
{
    struct corpus_files *files = scan->out;
    files->items = mem_grow(files->items, files->count, &files->capacity, sizeof *files->items);
    files->items[files->count++] = (struct corpus_file){
        .path = path,
        .inside = mem_strdup(below(scan, path)),
        .alias = alias,
        .size = info->st_size,
        .changed_ns = changed_ns(info),
    };
}

static void add_entry(struct scan *scan, char *path)
{
    struct stat info;
    if (lstat(path, &info) != 0) {
        free(path);
    } else if (S_ISDIR(info.st_mode)) {
        scan->folders = mem_grow(scan->folders, scan->n_folders, &scan->capacity, sizeof *scan->folders);
        scan->folders[scan->n_folders++] = path;
    } else if (S_ISREG(info.st_mode)) {
        add_file(scan, path, &info, NULL);
    } else if (S_ISLNK(info.st_mode)) {
        char *target = realpath(path, NULL);
        struct stat target_info;
        const char *inside = target ? below(scan, target) : NULL;
        if (inside && stat(target, &target_info) == 0 && S_ISREG(target_info.st_mode))
            add_file(scan, path, &info, mem_strdup(inside));
        else
            free(path);
        free(target);
    } else {
        free(path); /* devices, pipes, sockets */
    }
}

static void list_folder(struct scan *scan, const char *folder)
{
    DIR *stream = opendir(folder);
    if (!stream) {
        struct corpus_files *files = scan->out;
        files->unreadable =
            mem_grow(files->unreadable, files->n_unreadable, &files->unreadable_capacity, sizeof *files->unreadable);
        files->unreadable[files->n_unreadable++] = mem_strdup(below(scan, folder));
        return;
    }
    const struct dirent *entry;
    while ((entry = readdir(stream)) != NULL)
        if (entry->d_name[0] != '.')
            add_entry(scan, mem_printf("%s/%s", strcmp(folder, "/") == 0 ? "" : folder, entry->d_name));
    closedir(stream);
}

static int compare_files(const void *a, const void *b)
{
    const struct corpus_file *x = a, *y = b;
    return strcmp(x->inside, y->inside);
}

void corpus_scan(const char *root, struct corpus_files *out)
{
    *out = (struct corpus_files){0};
    struct scan scan = {.root = root, .root_length = strlen(root), .out = out};
    struct stat info;
    if (stat(root, &info) == 0 && S_ISREG(info.st_mode)) {
        add_file(&scan, mem_strdup(root), &info, NULL);
        return;
    }
    add_entry(&scan, mem_strdup(root));
    while (scan.n_folders) {
        char *folder = scan.folders[--scan.n_folders];
        list_folder(&scan, folder);
        free(folder);
    }
    free(scan.folders);
    if (out->count)
        qsort(out->items, out->count, sizeof *out->items, compare_files);
}

void corpus_files_finish(struct corpus_files *files)
{
    for (size_t i = 0; i < files->count; i++) {
        free(files->items[i].path);
        free(files->items[i].inside);
        free(files->items[i].alias);
    }
    for (size_t i = 0; i < files->n_unreadable; i++)
        free(files->unreadable[i]);
    free(files->items);
    free(files->unreadable);
    *files = (struct corpus_files){0};
}
