/* Which files make a tokenizer, and reading them. */
#include "store/tokenizer_store_internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/file.h"
#include "core/mem.h"

#define MAX_BYTES      ((size_t)256 << 20)
#define MAX_CHAT_BYTES ((size_t)4 << 20)

static enum status fail(struct error *error, enum status status, const char *path, const char *message)
{
    error_set(error, status, "%s", message);
    error_at(error, path, 0, 0);
    return status;
}

static enum status cannot_open(struct error *error, const char *path)
{
    return fail(error, errno == ENOENT || errno == ENOTDIR ? STATUS_NOT_FOUND : STATUS_IO, path, strerror(errno));
}

static int64_t nanoseconds(struct timespec time)
{
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static struct source_identity identity_of(const struct stat *info)
{
    return (struct source_identity){
        .device = (uint64_t)info->st_dev,
        .inode = (uint64_t)info->st_ino,
        .size = (uint64_t)info->st_size,
        .modified_ns = nanoseconds(info->st_mtim),
        .changed_ns = nanoseconds(info->st_ctim),
    };
}

/* ---- finding ---- */

/* A file of a folder, which may be written with slashes at its end. */
static char *in_folder(const char *folder, const char *name)
{
    size_t length = strlen(folder);
    while (length > 0 && folder[length - 1] == '/')
        length--;
    return mem_printf("%.*s/%s", (int)length, folder, name);
}

/* The rank file of a folder without a tokenizer.json. Two of them would be a choice that is not ours. */
static enum status find_rank_file(const char *folder, char **out, struct error *error)
{
    DIR *listing = opendir(folder);
    struct dirent *entry;
    char *found = NULL;
    size_t count = 0;
    if (!listing)
        return cannot_open(error, folder);
    while ((entry = readdir(listing)) != NULL)
        if (str_ends_with(str_of(entry->d_name), STR(".tiktoken"))) {
            free(found);
            found = in_folder(folder, entry->d_name);
            count++;
        }
    closedir(listing);
    if (count > 1) {
        free(found);
        return fail(error, STATUS_INVALID, folder, "several .tiktoken files are in this folder; name one of them");
    }
    *out = found;
    return STATUS_OK;
}

static enum status find_in_folder(const char *folder, char **out, struct error *error)
{
    char *path = in_folder(folder, "tokenizer.json");
    if (access(path, F_OK) != 0) {
        free(path);
        path = NULL;
        enum status status = find_rank_file(folder, &path, error);
        if (status != STATUS_OK)
            return status;
    }
    if (!path)
        path = in_folder(folder, "tokenizer.model");
    if (access(path, F_OK) != 0) {
        free(path);
        return fail(error, STATUS_NOT_FOUND, folder,
                    "no tokenizer.json, .tiktoken file or tokenizer.model is in this folder");
    }
    *out = path;
    return STATUS_OK;
}

/* Other .json files often lie with those of other models in one folder. */
static bool has_neighbours(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    return strcmp(name, "tokenizer.json") == 0 || !str_ends_with(str_of(name), STR(".json"));
}

static char *neighbour(const char *path, const char *name)
{
    const char *slash = strrchr(path, '/');
    return slash ? mem_printf("%.*s%s", (int)(slash - path + 1), path, name) : mem_strdup(name);
}

static enum status look_at_main(struct source_file *file, struct error *error)
{
    struct stat info;
    if (stat(file->path, &info) != 0)
        return cannot_open(error, file->path);
    if (!S_ISREG(info.st_mode))
        return fail(error, STATUS_INVALID, file->path, "neither a file nor a folder");
    if (info.st_size == 0)
        return fail(error, STATUS_SYNTAX, file->path, "empty");
    file->identity = identity_of(&info);
    return STATUS_OK;
}

static void look_at_neighbour(struct source_file *file)
{
    struct stat info;
    if (file->path && stat(file->path, &info) == 0 && S_ISREG(info.st_mode)) {
        file->identity = identity_of(&info);
        return;
    }
    free(file->path);
    file->path = NULL;
}

enum status source_files_find(struct source_files *files, const char *path, struct error *error)
{
    struct stat info;
    memset(files, 0, sizeof *files);
    for (size_t i = 0; i < SOURCE_PARTS; i++)
        buf_init(&files->parts[i].contents, i == SOURCE_CHAT_TEMPLATE ? MAX_CHAT_BYTES : MAX_BYTES);
    if (!path || !path[0])
        return error_set(error, STATUS_INVALID, "no tokenizer is named");
    if (stat(path, &info) != 0)
        return cannot_open(error, path);
    struct source_file *main = &files->parts[SOURCE_MAIN];
    enum status status = STATUS_OK;
    if (S_ISDIR(info.st_mode))
        status = find_in_folder(path, &main->path, error);
    else
        main->path = mem_strdup(path);
    if (status == STATUS_OK)
        status = look_at_main(main, error);
    if (status == STATUS_OK && has_neighbours(main->path)) {
        files->parts[SOURCE_CONFIG].path = neighbour(main->path, "tokenizer_config.json");
        files->parts[SOURCE_CHAT_TEMPLATE].path = neighbour(main->path, "chat_template.jinja");
        look_at_neighbour(&files->parts[SOURCE_CONFIG]);
        look_at_neighbour(&files->parts[SOURCE_CHAT_TEMPLATE]);
    }
    return status;
}

/* ---- reading ---- */

/* The file may have been replaced since it was looked at, by a pipe too: nothing here waits. */
static enum status read_file(struct source_file *file, struct error *error)
{
    struct stat info;
    enum status status = STATUS_OK;
    int descriptor = open(file->path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (descriptor < 0)
        return cannot_open(error, file->path);
    if (fstat(descriptor, &info) != 0)
        status = cannot_open(error, file->path);
    else if (!S_ISREG(info.st_mode))
        status = fail(error, STATUS_INVALID, file->path, "not a regular file");
    else if ((uint64_t)info.st_size > file->contents.cap)
        status = fail(error, STATUS_TOO_BIG, file->path, "larger than any tokenizer; is it the model itself?");
    if (status == STATUS_OK) {
        file->identity = identity_of(&info);
        buf_reset(&file->contents);
        status = file_read_descriptor(descriptor, file->path, &file->contents, error);
    }
    close(descriptor);
    return status;
}

enum status source_files_read(struct source_files *files, struct error *error)
{
    enum status status = STATUS_OK;
    for (size_t i = 0; i < SOURCE_PARTS && status == STATUS_OK; i++)
        if (files->parts[i].path)
            status = read_file(&files->parts[i], error);
    return status;
}

void source_files_finish(struct source_files *files)
{
    for (size_t i = 0; i < SOURCE_PARTS; i++) {
        free(files->parts[i].path);
        buf_finish(&files->parts[i].contents);
    }
    memset(files, 0, sizeof *files);
}
