#include "tools/parse_file/files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/mem.h"
#include "core/utf8.h"
#include "tools/common/line.h"

#define MAX_DEPTH     16
#define MAX_LISTED    5000 /* files that are looked at for a list or a near miss */
#define MAX_SUGGESTED 3

#define OPEN_TO_READ (O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)

struct root {
    char *name; /* stands in front of its files where there are several roots */
    int descriptor;
};

struct single {
    char *name;
    int descriptor;
};

struct files {
    struct single *singles;
    size_t n_singles, singles_capacity;
    struct root *roots;
    size_t n_roots, roots_capacity;
    bool by_hand;
};

struct files *files_create(void)
{
    return mem_zalloc(sizeof(struct files));
}

void files_destroy(struct files *files)
{
    if (!files)
        return;
    for (size_t i = 0; i < files->n_singles; i++) {
        close(files->singles[i].descriptor);
        free(files->singles[i].name);
    }
    for (size_t i = 0; i < files->n_roots; i++) {
        close(files->roots[i].descriptor);
        free(files->roots[i].name);
    }
    free(files->singles);
    free(files->roots);
    free(files);
}

void files_walk_by_hand(struct files *files)
{
    files->by_hand = true;
}

/* ---- what the user hands over ---- */

static enum status cannot_open(const char *path, struct error *error)
{
    enum status status = errno == ENOENT || errno == ENOTDIR ? STATUS_NOT_FOUND : STATUS_IO;
    error_set(error, status, "%s", strerror(errno));
    error_at(error, path, 0, 0);
    return status;
}

static struct str base_name(struct str path)
{
    while (path.len > 1 && path.data[path.len - 1] == '/')
        path = str_slice(path, 0, path.len - 1);
    size_t slash = str_rfind_char(path, '/');
    return slash == STR_NONE ? path : str_slice(path, slash + 1, path.len);
}

static bool single_is_known(const struct files *files, const char *name)
{
    for (size_t i = 0; i < files->n_singles; i++)
        if (strcmp(files->singles[i].name, name) == 0)
            return true;
    return false;
}

/* "report.pdf", or "report-2.pdf" where that is taken. */
static char *free_name(const struct files *files, struct str base)
{
    char *name = line_make(base, 255);
    size_t dot = str_rfind_char(base, '.');
    for (int number = 2; single_is_known(files, name); number++) {
        free(name);
        struct str stem = str_slice(base, 0, dot), ending = str_slice(base, dot == STR_NONE ? base.len : dot, base.len);
        name = mem_printf("%.*s-%d%.*s", STR_ARG(stem), number, STR_ARG(ending));
    }
    return name;
}

/* A regular file behind a descriptor of any kind, opened for reading; -1 with errno. What is no file is not touched:
 * opening a device may rewind a tape. */
static int open_regular(int place)
{
    struct stat what;
    char path[64];
    if (place < 0)
        return -1;
    if (fstat(place, &what) != 0 || !S_ISREG(what.st_mode)) {
        errno = S_ISDIR(what.st_mode) ? EISDIR : EINVAL;
        return -1;
    }
    snprintf(path, sizeof path, "/proc/self/fd/%d", place);
    return open(path, OPEN_TO_READ);
}

enum status files_add_file(struct files *files, const char *path, struct error *error)
{
    int place = open(path, O_PATH | O_CLOEXEC);
    int descriptor = open_regular(place);
    int cause = errno;
    if (place >= 0)
        close(place);
    errno = cause;
    if (descriptor < 0 && (cause == EISDIR || cause == EINVAL)) {
        error_set(error, STATUS_INVALID,
                  cause == EISDIR ? "it is a folder: give it with --file-root" : "it is no regular file");
        error_at(error, path, 0, 0);
        return STATUS_INVALID;
    }
    if (descriptor < 0)
        return cannot_open(path, error);
    files->singles = mem_grow(files->singles, files->n_singles, &files->singles_capacity, sizeof *files->singles);
    files->singles[files->n_singles] =
        (struct single){.name = free_name(files, base_name(str_of(path))), .descriptor = descriptor};
    files->n_singles++;
    return STATUS_OK;
}

enum status files_add_root(struct files *files, const char *path, struct error *error)
{
    int descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0 && errno == ENOTDIR) {
        error_set(error, STATUS_INVALID, "it is no folder: give it with --file");
        error_at(error, path, 0, 0);
        return STATUS_INVALID;
    }
    if (descriptor < 0)
        return cannot_open(path, error);
    char *real = realpath(path, NULL); /* so that "." has a name */
    struct buf name;
    buf_init(&name, BUF_UNBOUNDED);
    line_add(&name, base_name(str_of(real ? real : path)), 255);
    for (size_t i = 0; i < files->n_roots; i++)
        if (strcmp(files->roots[i].name, name.data ? name.data : "") == 0)
            buf_addf(&name, "-%zu", files->n_roots + 1);
    free(real);
    files->roots = mem_grow(files->roots, files->n_roots, &files->roots_capacity, sizeof *files->roots);
    files->roots[files->n_roots++] = (struct root){.name = buf_take(&name), .descriptor = descriptor};
    buf_finish(&name);
    return STATUS_OK;
}

/* ---- opening below a folder ---- */

/* Whether a path has only steps that lead down, none of them hidden. */
static bool leads_down(const char *path)
{
    struct str rest = str_of(path), step;
    if (!*path || *path == '/')
        return false;
    while (str_split_next(&rest, '/', &step))
        if (step.len > 0 && step.data[0] == '.')
            return false;
    return true;
}

/* Each step by itself, without following links. */
static int walk(int root, const char *path)
{
    struct str rest = str_of(path), step;
    int at = fcntl(root, F_DUPFD_CLOEXEC, 3);
    while (at >= 0 && str_split_next(&rest, '/', &step)) {
        if (step.len == 0)
            continue;
        char *name = str_dup(step);
        int next = openat(at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC | (rest.len > 0 ? O_DIRECTORY : 0));
        int cause = errno;
        free(name);
        close(at);
        at = next;
        errno = cause;
    }
    struct stat what;
    if (at >= 0 && fstat(at, &what) == 0 && S_ISLNK(what.st_mode)) {
        close(at);
        errno = ELOOP;
        return -1;
    }
    return at;
}

static int open_below(const struct files *files, int root, const char *path)
{
    const struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS};
    long place = -1;
    bool lacks = files->by_hand;
    for (int tries = 0; !lacks && tries < 8; tries++) {
        place = syscall(SYS_openat2, root, path, &how, sizeof how);
        if (place >= 0 || errno != EAGAIN) /* something was moved while the kernel looked */
            break;
    }
    lacks = lacks || (place < 0 && (errno == ENOSYS || errno == EPERM));
    if (lacks)
        place = walk(root, path);
    int descriptor = open_regular((int)place), cause = errno;
    if (place >= 0)
        close((int)place);
    errno = cause;
    return descriptor;
}

/* ---- listing ---- */

struct entry {
    char *name; /* as it is shown */
    int64_t size;
};

struct listing {
    struct entry *entries;
    size_t count, capacity;
    bool cut;
};

static void add_entry(struct listing *listing, char *name, int64_t size)
{
    listing->entries = mem_grow(listing->entries, listing->count, &listing->capacity, sizeof *listing->entries);
    listing->entries[listing->count++] = (struct entry){name, size};
}

static void list_folder(struct listing *listing, int folder, const char *before, int depth)
{
    DIR *stream = folder >= 0 ? fdopendir(folder) : NULL;
    if (!stream && folder >= 0)
        close(folder);
    for (struct dirent *item; stream && (item = readdir(stream)) != NULL;) {
        struct stat what;
        listing->cut = listing->cut || listing->count >= MAX_LISTED;
        if (item->d_name[0] == '.' || listing->cut ||
            fstatat(dirfd(stream), item->d_name, &what, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        char *name = mem_printf("%s%s", before, item->d_name);
        if (S_ISDIR(what.st_mode) && depth < MAX_DEPTH) {
            char *inside = mem_printf("%s/", name);
            list_folder(listing, openat(dirfd(stream), item->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC),
                        inside, depth + 1);
            free(inside);
        }
        bool shown = S_ISREG(what.st_mode) && utf8_is_valid(str_of(name));
        if (shown)
            add_entry(listing, name, what.st_size);
        else
            free(name);
    }
    if (stream)
        closedir(stream);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct entry *)a)->name, ((const struct entry *)b)->name);
}

static void listing_init(struct listing *listing, const struct files *files)
{
    *listing = (struct listing){0};
    for (size_t i = 0; i < files->n_singles; i++) {
        struct stat what = {0};
        fstat(files->singles[i].descriptor, &what);
        add_entry(listing, mem_strdup(files->singles[i].name), what.st_size);
    }
    size_t singles = listing->count;
    for (size_t i = 0; i < files->n_roots; i++) {
        char *before = files->n_roots > 1 ? mem_printf("%s/", files->roots[i].name) : mem_strdup("");
        /* A description of its own: the place in a folder belongs to it. */
        list_folder(listing, openat(files->roots[i].descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), before, 1);
        free(before);
    }
    if (listing->count > singles)
        qsort(listing->entries + singles, listing->count - singles, sizeof *listing->entries, by_name);
}

static void listing_finish(struct listing *listing)
{
    for (size_t i = 0; i < listing->count; i++)
        free(listing->entries[i].name);
    free(listing->entries);
}

static void add_size(struct buf *out, int64_t size)
{
    if (size < 1000)
        buf_addf(out, "%lld bytes", (long long)size);
    else if (size < 1000000)
        buf_addf(out, "%.1f KB", (double)size / 1e3);
    else if (size < 1000000000)
        buf_addf(out, "%.1f MB", (double)size / 1e6);
    else
        buf_addf(out, "%.1f GB", (double)size / 1e9);
}

size_t files_list(const struct files *files, size_t limit, const char *before, struct buf *out)
{
    struct listing listing;
    listing_init(&listing, files);
    for (size_t i = 0; i < listing.count && i < limit; i++) {
        buf_add_text(out, before);
        line_add(out, str_of(listing.entries[i].name), FILES_MAX_NAME);
        buf_add_text(out, " (");
        add_size(out, listing.entries[i].size);
        buf_add_text(out, ")\n");
    }
    if (listing.count > limit)
        buf_addf(out, "%sand %zu more%s\n", before, listing.count - limit, listing.cut ? ", and others" : "");
    size_t count = listing.count;
    listing_finish(&listing);
    return count;
}

/* ---- finding ---- */

static enum status take_descriptor(int descriptor, const char *name, struct found_file *out, struct error *error)
{
    struct stat what;
    if (descriptor < 0 || fstat(descriptor, &what) != 0) {
        int cause = errno;
        if (descriptor >= 0)
            close(descriptor);
        return error_set(error, STATUS_IO, "it cannot be read (%s)", strerror(cause));
    }
    *out = (struct found_file){.name = line_make(str_of(name), FILES_MAX_NAME),
                               .descriptor = descriptor,
                               .device = what.st_dev,
                               .inode = what.st_ino,
                               .size = what.st_size,
                               .modified_ns = (int64_t)what.st_mtim.tv_sec * 1000000000 + what.st_mtim.tv_nsec};
    return STATUS_OK;
}

static const struct single *find_single(const struct files *files, struct str name)
{
    for (size_t i = 0; i < files->n_singles; i++)
        if (str_equal(str_of(files->singles[i].name), name))
            return &files->singles[i];
    return NULL;
}

static enum status open_single(const struct single *single, struct found_file *out, struct error *error)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", single->descriptor);
    int descriptor = open(path, OPEN_TO_READ); /* with a place of its own in the file */
    if (descriptor < 0)
        descriptor = fcntl(single->descriptor, F_DUPFD_CLOEXEC, 3);
    return take_descriptor(descriptor, single->name, out, error);
}

/* Below one of the folders; STATUS_NOT_FOUND where none has it, STATUS_REFUSED where one has what is no file. */
static enum status open_in_roots(const struct files *files, const char *name, struct found_file *out,
                                 struct error *error)
{
    enum status status = STATUS_NOT_FOUND;
    for (size_t i = 0; i < files->n_roots; i++) {
        const struct root *root = &files->roots[i];
        struct str inside = str_of(name), front = str_of(root->name);
        if (str_starts_with(inside, front) && inside.len > front.len && inside.data[front.len] == '/' &&
            files->n_roots > 1)
            inside = str_slice(inside, front.len + 1, inside.len);
        char *path = str_dup(inside);
        bool may_be = leads_down(path);
        int descriptor = may_be ? open_below(files, root->descriptor, path) : -1;
        int cause = may_be ? errno : ENOENT;
        free(path);
        if (descriptor >= 0)
            return take_descriptor(descriptor, name, out, error);
        if (cause == EXDEV || cause == ELOOP)
            status = error_set(error, STATUS_REFUSED, "it leads outside of what was handed over");
        else if (cause == EISDIR || cause == EINVAL)
            status = error_set(error, STATUS_REFUSED, cause == EISDIR ? "it is a folder" : "it is no regular file");
        else if (cause == EACCES)
            status = error_set(error, STATUS_IO, "it may not be read");
    }
    return status;
}

static enum status open_listed(const struct files *files, const char *name, struct found_file *out, struct error *error)
{
    const struct single *single = find_single(files, str_of(name));
    return single ? open_single(single, out, error) : open_in_roots(files, name, out, error);
}

/* The one listed name that `matches`; NULL for none or several. */
static const char *only_match(const struct listing *listing, struct str name,
                              bool (*matches)(struct str entry, struct str name))
{
    const char *found = NULL;
    for (size_t i = 0; i < listing->count; i++) {
        if (!matches(str_of(listing->entries[i].name), name))
            continue;
        if (found)
            return NULL;
        found = listing->entries[i].name;
    }
    return found;
}

static bool same_but_case(struct str entry, struct str name)
{
    return str_equal_ascii_nocase(entry, name);
}

static bool same_base(struct str entry, struct str name)
{
    return str_equal_ascii_nocase(base_name(entry), base_name(name));
}

/* How alike two names are, by the pairs of letters both have: 0 to 1. Good enough for "did you mean". */
static double likeness(struct str a, struct str b)
{
    size_t shared = 0;
    if (a.len < 2 || b.len < 2 || a.len > 300 || b.len > 300)
        return 0;
    for (size_t i = 0; i + 1 < a.len; i++) {
        for (size_t j = 0; j + 1 < b.len; j++) {
            if (ascii_lower(a.data[i]) == ascii_lower(b.data[j]) &&
                ascii_lower(a.data[i + 1]) == ascii_lower(b.data[j + 1])) {
                shared++;
                break;
            }
        }
    }
    return 2 * (double)shared / (double)(a.len + b.len - 2);
}

static void suggest(const struct listing *listing, struct str name, struct error *error)
{
    struct buf words;
    buf_init(&words, BUF_UNBOUNDED);
    const char *told[MAX_SUGGESTED] = {0};
    for (size_t n = 0; n < MAX_SUGGESTED; n++) {
        double best = 0.5;
        for (size_t i = 0; i < listing->count; i++) {
            const char *entry = listing->entries[i].name;
            bool known = false;
            for (size_t k = 0; k < n; k++)
                known = known || told[k] == entry;
            double alike = known ? 0 : likeness(base_name(str_of(entry)), base_name(name));
            if (alike > best) {
                best = alike;
                told[n] = entry;
            }
        }
        if (!told[n])
            break;
        buf_addf(&words, "%s\"%.120s\"", n > 0 ? " or " : "; did you mean ", told[n]);
    }
    error_set(error, STATUS_NOT_FOUND, "there is no such file%s%s", words.data ? words.data : "",
              words.data ? "?" : "");
    buf_finish(&words);
}

/* Names that come near: another case, or a whole path whose file was handed over by itself. */
static enum status open_near(const struct files *files, struct str name, struct found_file *out, struct error *error)
{
    struct listing listing;
    listing_init(&listing, files);
    const char *match = only_match(&listing, name, same_but_case);
    bool is_path = name.data[0] == '/' || str_starts_with_nocase(name, STR("file:"));
    if (!match && (is_path || str_find_char(name, '/', 0) == STR_NONE)) {
        /* The base name tells which one is meant; what is opened is what is listed. */
        match = only_match(&listing, name, same_base);
    }
    enum status status = STATUS_NOT_FOUND;
    if (match)
        status = open_listed(files, match, out, error);
    else
        suggest(&listing, name, error);
    listing_finish(&listing);
    return status;
}

static struct str tidy_name(struct str name)
{
    name = str_trim(name);
    while (name.len > 1 && strchr("\"'`<", name.data[0]) && strchr("\"'`>", name.data[name.len - 1]))
        name = str_trim(str_slice(name, 1, name.len - 1));
    while (str_starts_with(name, STR("./")))
        name = str_slice(name, 2, name.len);
    return name;
}

static bool has_step_up(struct str name)
{
    struct str rest = name, step;
    while (str_split_next(&rest, '/', &step))
        if (str_equal(step, STR("..")))
            return true;
    return false;
}

enum status files_open(const struct files *files, struct str name, struct found_file *out, struct error *error)
{
    name = tidy_name(name);
    if (name.len == 0)
        return error_set(error, STATUS_NOT_FOUND, "no name is given");
    if (name.len > FILES_MAX_NAME)
        return error_set(error, STATUS_NOT_FOUND, "the name is longer than any file's");
    if (str_find_char(name, '\0', 0) != STR_NONE || !utf8_is_valid(name))
        return error_set(error, STATUS_REFUSED, "the name holds what no name may hold");
    if (has_step_up(name))
        return error_set(error, STATUS_REFUSED, "it leads outside of what was handed over");
    char *copy = str_dup(name);
    error_set(error, STATUS_OK, "%s", "");
    enum status status = open_listed(files, copy, out, error);
    if (status == STATUS_NOT_FOUND)
        status = open_near(files, name, out, error);
    free(copy);
    return status;
}

void found_file_finish(struct found_file *file)
{
    if (!file || !file->name)
        return;
    close(file->descriptor);
    free(file->name);
    *file = (struct found_file){0};
}
